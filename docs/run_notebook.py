"""A notebook as a page: its cells are run as Jupyter runs them, and the page has what they print and show."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
from typing import Any


def as_page(notebook: str) -> str:
    """Run the cells of a notebook (`.ipynb`, JSON), and return it in Markdown, with outputs."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    for number, cell in enumerate(json.loads(notebook)["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = run(source, number, scope)
        parts.append(_fenced("python", source))
        if printed.getvalue():
            parts.append(_fenced("text", printed.getvalue()))
        if hasattr(value, "_repr_html_"):
            parts.append(_fenced("{raw} html", value._repr_html_()))
        elif value is not None:
            parts.append(_fenced("python", repr(value)))
    return "\n\n".join(parts) + "\n"


def run(source: str, number: int, scope: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: its text is kept for `inspect`, and its last expression is what it shows."""
    file = f"<cell {number}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = ast.parse(source, file)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), scope)
    return eval(compile(ast.Expression(last.value), file, "eval"), scope) if isinstance(last, ast.Expr) else None


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"
