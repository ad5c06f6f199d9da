"""How Sphinx makes the site of these pages: `make docs`, into build/docs; warnings are errors, nothing is fetched."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pygments.lexers.python import PythonLexer
from pygments.token import Name
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from run_notebook import as_page  # noqa: E402

from swizzle.solving.solution import solution  # noqa: E402
from swizzle.solving.solution.version import __version__  # noqa: E402
from templates.template import TemplateFamily  # noqa: E402

solution.TemplateFamily = TemplateFamily  # signatures are read with types that the module itself imports for mypy only

project = "Swizzle"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
INSIDE = ("benchmarks", "contributing", "dependencies", "design", "not-done-yet")
"""Pages for whoever works on Swizzle: they are read in the tree, and are no part of the site."""
exclude_patterns = ["examples", *(f"{name}.md" for name in INSIDE)]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types in signatures are those of other packages, too
myst_heading_anchors = 4
default_role = "code"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "Swizzle"
html_css_files = ["site.css"]
html_static_path = ["_static"]
html_show_copyright = html_copy_source = html_show_sourcelink = False
copybutton_exclude = ".linenos, .gp, .go"


class SwzLexer(PythonLexer):
    """Colours Python with holes such as `?sw_xform`."""

    name = "Swizzle"
    aliases = ("swz",)
    filenames = ("*.swz",)
    url = version_added = ""
    tokens = {**PythonLexer.tokens, "expr": [(r"\?(sw_\w+)?", Name.Decorator), *PythonLexer.tokens["expr"]]}  # noqa: RUF012


def with_outputs(app: Sphinx, name: str, source: list[str]) -> None:
    """Show a notebook with what its cells print and show today."""
    if app.env.doc2path(name).suffix == ".ipynb":
        source[0] = as_page(source[0])


def links_of_the_site(app: Sphinx, name: str, source: list[str]) -> None:
    """Name a page by its title, and keep the text of a link that leads to no page: the site holds the pages alone."""
    nowhere = rf"(?:\.\./|examples/|(?:{'|'.join(INSIDE)})\.md)"
    source[0] = re.sub(rf"\[([^\]]+)\]\({nowhere}[^)]*\)", r"\1", source[0])
    source[0] = re.sub(r"\[[a-z-]+\.md\]\(([a-z-]+\.md)\)", r"[](\1)", source[0])


def setup(app: Sphinx) -> None:
    """Make Sphinx know holes, which stand in the pages' Python too."""
    for language in ("swz", "python"):
        app.add_lexer(language, SwzLexer)
    app.connect("source-read", with_outputs)
    app.connect("source-read", links_of_the_site)
