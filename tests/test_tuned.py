"""Every tuned number of the search has its experiment, which really sets it."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bench import tuned

ROOT = Path(__file__).resolve().parent.parent
FILES = ["swizzle/solving/search", "swizzle/solving/problem", "templates/chooser.py", "templates/template.py"]
FILES += ["templates/xform_functions.py", "templates/xform_lists.py", "templates/xor_functions.py"]


def numbers_in(path: Path) -> set[str]:
    """Return the module's constants that are numbers, each with the module's name."""
    module, found = ".".join(path.relative_to(ROOT).with_suffix("").parts), set[str]()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
            values = [getattr(importlib.import_module(module), name) for name in names if name.isupper()]
            found |= {f"{module}.{n}" for n, v in zip(names, values, strict=False) if isinstance(v, int | float)}
    return found


def test_every_number_has_an_experiment() -> None:
    """Whoever adds a number to the search says which values it was compared with."""
    paths = [p for name in FILES for p in (sorted((ROOT / name).glob("*.py")) if "." not in name else [ROOT / name])]
    known = {f"{module}.{name}" for module, names in tuned.NUMBERS.items() for name in names}
    assert set().union(*map(numbers_in, paths)) - set(tuned.FIXED) == known


def test_the_value_today_is_among_those_compared() -> None:
    """The experiment compares what the code has with something else."""
    for module, names in tuned.NUMBERS.items():
        for name, values in names.items():
            assert getattr(importlib.import_module(module), name) in values and len(set(values)) > 1, (module, name)
            assert tuned.where(f"{module}.{name}") == (module, name)


def test_a_number_is_set_wherever_it_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """`from chooser import MOST_ROWS` is a copy of its own; a number of the same name elsewhere is left alone."""
    functions, template = (importlib.import_module(f"templates.{name}") for name in ("chooser", "template"))
    before = functions.MOST_ROWS
    monkeypatch.setattr(functions, "MOST_ROWS", before)
    monkeypatch.setattr(template, "MOST_ROWS", before)
    stranger = ModuleType("stranger")
    stranger.MOST_ROWS = before  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "stranger", stranger)
    tuned.set_everywhere("templates.chooser", "MOST_ROWS", 7)
    assert [module.MOST_ROWS for module in (functions, template, stranger)] == [7, 7, before]


def test_the_experiment_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each question, one column for each value, the one of today marked."""
    assert tuned.main(["tables.FEW", "4", "8", "--questions", "conv1d | 1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| swizzle.solving.search.tables.FEW | 4 | *8* |" and lines[2].startswith("| conv1d, Space 1 | ")
    assert lines[2].count(" s |") == 2
