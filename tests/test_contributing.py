"""The lists of docs/contributing.md are what the code says: who has to know a node, and what `solve` needs."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from symbolic.ir import program as ir
from tests.test_packaging import DOOR, PACKAGES, ROOT, SEARCHING, TEXT_OF_TILES

PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")


def exhaustive(source: str, nodes: set[str]) -> bool:
    """Say whether a `match` of the source names all of these nodes and ends in `assert_never`."""
    for match in ast.walk(ast.parse(source)):
        if isinstance(match, ast.Match) and "assert_never" in ast.unparse(match.cases[-1]):
            patterns = (pattern for case in match.cases for pattern in ast.walk(case.pattern))
            named = {ast.unparse(p.cls).split(".")[-1] for p in patterns if isinstance(p, ast.MatchClass)}
            if nodes <= named:
                return True
    return False


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("union, begin, end", [(ir.Expr, "3. ", "\n4. "), (ir.Stmt, "4. ", "\n5. ")])
def test_the_list_of_a_node_is_complete(union: Any, begin: str, end: str) -> None:
    """It names each module that tells all expressions, or all statements, apart, and no other."""
    nodes = {node.__name__ for node in get_args(union)}
    section = PAGE[PAGE.index("### A node of the IR") :]
    start = section.index("\n" + begin)
    listed = re.findall(r"`([\w/]+\.py)`", section[start : section.index(end, start)])
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in modules()}
    assert sorted(listed) == sorted(
        path for path, text in sources.items() if "assert_never" in text and exhaustive(text, nodes)
    )


def names_bf16(source: str) -> bool:
    """Say whether code, and no docstring, names the type."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "BF16")
        or (isinstance(node, ast.Constant) and node.value == "bf16")
        or (isinstance(node, ast.alias | ast.Name) and getattr(node, "name", getattr(node, "id", "")) == "bf16")
        for node in ast.walk(ast.parse(source))
    )


def test_the_list_of_an_element_type_is_complete() -> None:
    """It names each module that names bf16, which no other type of elements is like, and no other module."""
    section = PAGE[PAGE.index("### An element type") : PAGE.index("### A function of mathematics")]
    listed = {name for name in re.findall(r"`([\w/]+\.py)`", section) if not name.startswith("tests/")}
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in modules()}
    assert listed == {path for path, text in sources.items() if "bf16" in text.lower() and names_bf16(text)}


def test_what_solve_needs_can_be_read() -> None:
    """The rooms of the table have at most 55,000 lines, and `solve` loads no room that the section does not name."""
    section = PAGE[PAGE.index("## What to read for `solve`") : PAGE.index("## Tests")]
    rooms = re.findall(r"`([\w/]+)`", "\n".join(line for line in section.splitlines() if line.startswith("| `")))
    counted = [path for room in rooms for path in (ROOT / room).glob("*.py")]
    assert len(set(rooms)) == len(rooms) and all((ROOT / room / "__init__.py").exists() for room in rooms)
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in counted) <= 55_000
    loaded = {name.replace(".", "/") for name in DOOR | SEARCHING | TEXT_OF_TILES if name.split(".")[0] in PACKAGES}
    named = set(re.findall(r"`([\w/]+)`", section))
    assert loaded - {"swizzle", "cuda_out"} <= named  # the public face, and a folder without files
