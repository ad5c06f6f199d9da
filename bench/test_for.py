"""Run the tests of one module: `make test-for FILE=swizzle/layouts/best.py`.

The tests that are known to run a function of the module come from the map that `python bench/mutants.py` keeps in
build/mutants-map.json. A test file that the map does not know as it is now is run whole where it mirrors the module or
imports it. Where there is none, the tests of the module's room are run.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from covering import stale

ROOT = Path(__file__).parents[1]
MAP = Path("build/mutants-map.json")


def main(given: Sequence[str] | None = None) -> int:
    """Read the command line, print which tests are run, and return pytest's exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", metavar="FILE", help="a module, as its path from the project's folder")
    parser.add_argument("--list", action="store_true", help="print the tests, one a line, and run nothing")
    options, rest = parser.parse_known_args(given)
    if not (ROOT / options.file).is_file():
        parser.error(f"{options.file} is no file of {ROOT}; write its path from there, as in symbolic/ir/walk.py")
    path = ROOT / MAP
    tests = tests_for(options.file, json.loads(path.read_text()) if path.exists() else {})
    if options.list or not tests:
        print("\n".join(tests) or f"no test imports {options.file}, and {MAP} knows of none")
        return 0 if tests else 1
    files = len({test.partition("::")[0] for test in tests})
    print(f"{options.file}: {len(tests)} tests or whole files, of {files} test files", flush=True)
    return int(pytest.main([*rest, *(str(ROOT / test) for test in tests)]))


def tests_for(file: str, known: dict[str, Any]) -> list[str]:
    """Return the tests of a module, those of its mirrored test file first.

    Args:
        file: the module's path from the project's folder.
        known: the map of `covering.py`: for each test file its digest and the functions that its tests run.
    """
    files = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    unknown = set(stale(known, ROOT, files))
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    mirrored = f"tests/{Path(file).parent.as_posix()}/test_{Path(file).name}"
    tests: list[str] = []
    for name in sorted(files, key=lambda name: name != mirrored):
        if name in unknown:
            if name == mirrored or module in imported(ROOT / name):
                tests.append(name)
        else:
            for test, about in known[name]["tests"].items():
                if any(function.startswith(f"{file}:") for function in about["functions"]):
                    tests.append(f"{name}::{test}")
    room = Path("tests") / Path(file).parent
    return tests or [name for name in files if Path(name).is_relative_to(room)]


def imported(path: Path) -> set[str]:
    """Return the modules that a test file imports, and the names `module.name` of what it takes out of them."""
    return set(_imported(ast.parse(path.read_text())))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


if __name__ == "__main__":
    sys.exit(main())
