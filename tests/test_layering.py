"""The house keeps its folder arrows: who may import whom, read off the syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

ALLOWED = {
    "symbolic": {"symbolic"},
    "templates": {"symbolic", "templates"},
    "cuda_out": {"symbolic", "cuda_out"},
    "swizzle": {"symbolic", "templates", "cuda_out", "swizzle"},
    "case_studies": {"swizzle"},
}
FIRST_PARTY = {*ALLOWED, "tests", "bench"}
SOLVERS = {"pysmt", "z3", "cvc5", "pysat"}


def imports(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of everything imported, also inside functions and by `import_module("name")`.

    `package` is the dotted path of the package that holds the module, against which relative imports resolve.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield node.lineno, alias.name
            case ast.ImportFrom(module=module, level=0) if module:
                yield node.lineno, module
            case ast.ImportFrom(module=module, names=names, level=level) if level:
                base = package[: len(package) - level + 1]
                for alias in names:
                    yield node.lineno, ".".join((*base, *(module or alias.name).split(".")))
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if ast.unparse(function).split(".")[
                -1
            ] in ("import_module", "__import__"):
                yield node.lineno, name


def violations(path: str, source: str) -> list[str]:
    """Return what is wrong with the imports of one module; `path` is relative to the root of the tree."""
    *package, _ = Path(path).parts
    folder = package[0]
    wrong = []
    for line, name in imports(ast.parse(source), tuple(package)):
        top = name.split(".")[0]
        if top in FIRST_PARTY and top not in ALLOWED[folder]:
            wrong.append(f"{path}:{line}: {folder}/ may not import {name}")
        if top in SOLVERS and folder != "symbolic":
            wrong.append(f"{path}:{line}: only symbolic/ may import {name}")
        if folder == "case_studies" and top not in {"swizzle", "__future__"}:
            wrong.append(f"{path}:{line}: a case study imports swizzle and nothing else, not {name}")
    return wrong


def modules() -> list[Path]:
    return sorted(path for folder in ALLOWED for path in (ROOT / folder).rglob("*.py"))


def test_the_tree_has_modules_to_check() -> None:
    """The check below looks at real files."""
    assert {path.relative_to(ROOT).parts[0] for path in modules()} >= {"symbolic", "templates", "cuda_out", "swizzle"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_folder_arrows(path: Path) -> None:
    """No module imports from a folder that it must not know about."""
    assert violations(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("symbolic/a.py", "import templates.holes"),
        ("symbolic/a.py", "from cuda_out import printer"),
        ("symbolic/a.py", "def f():\n    from swizzle.solution import Result"),
        ("symbolic/a.py", "import tests.test_layering"),
        ("templates/a.py", "from cuda_out.printer import print_cuda"),
        ("templates/deep/a.py", "from z3 import Solver"),
        ("cuda_out/a.py", "import numpy, templates"),
        ("cuda_out/passes/a.py", "from swizzle import sketch"),
        ("cuda_out/a.py", "import importlib\nimportlib.import_module('pysmt.shortcuts')"),
        ("swizzle/a.py", "import case_studies.conv1d"),
        ("swizzle/a.py", "if True:\n    import pysat.solvers"),
        ("swizzle/a.py", "__import__('cvc5')"),
        ("case_studies/a.py", "from symbolic.program import Program"),
        ("case_studies/a.py", "import os"),
    ],
)
def test_a_bad_module_is_found(path: str, source: str) -> None:
    """Every arrow that must not be there is reported."""
    assert violations(path, source) != []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("symbolic/a.py", "import pysmt.shortcuts\nfrom symbolic.program import Program\nfrom . import errors"),
        ("templates/a.py", "from symbolic.program import Program\nfrom .holes import Hole"),
        ("cuda_out/passes/a.py", "from ..emitter import Emitter\nfrom symbolic import program"),
        ("swizzle/a.py", "import templates, cuda_out.printer, symbolic.machine, numpy"),
        ("case_studies/a.py", "from __future__ import annotations\nfrom swizzle import sketch"),
    ],
)
def test_a_good_module_is_not_blamed(path: str, source: str) -> None:
    """The arrows that the house is built on are free."""
    assert violations(path, source) == []
