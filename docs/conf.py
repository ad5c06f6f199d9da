"""How Sphinx makes the site of these pages: `make docs`, into build/docs; warnings are errors, nothing is fetched."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pygments.lexers.python import PythonLexer
from pygments.token import Name
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from swizzle.solution.version import __version__  # noqa: E402

project = "Swizzle"
version = release = __version__
extensions = ["myst_parser"]
exclude_patterns = ["examples"]
nitpicky = True
myst_heading_anchors = 4

html_theme = "alabaster"
html_theme_options = {
    "description": "GPU kernels with holes, filled and proved",
    "page_width": "1240px",
    "font_family": "system-ui, sans-serif",
    "font_size": "16px",
    "code_font_size": "13px",
}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_show_copyright = html_copy_source = html_show_sourcelink = False


class SwzLexer(PythonLexer):
    """Colours Python with holes such as `?sw_xform`."""

    name = "Swizzle"
    aliases = ("swz",)
    filenames = ("*.swz",)
    url = version_added = ""
    tokens = {**PythonLexer.tokens, "expr": [(r"\?(sw_\w+)?", Name.Decorator), *PythonLexer.tokens["expr"]]}  # noqa: RUF012


def without_links_to_the_tree(app: Sphinx, name: str, source: list[str]) -> None:
    """Keep the text of a link that leads to no page: the site holds the pages, not the rest of the repository."""
    source[0] = re.sub(r"\[([^\]]+)\]\((?:\.\./|examples/)[^)]*\)", r"\1", source[0])


def setup(app: Sphinx) -> None:
    """Make Sphinx know holes, which stand in the pages' Python too."""
    for language in ("swz", "python"):
        app.add_lexer(language, SwzLexer)
    app.connect("source-read", without_links_to_the_tree)
