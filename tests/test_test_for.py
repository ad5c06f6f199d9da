"""Which tests `make test-for FILE=...` runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "bench"))
        import test_for

        yield test_for
    for name in ("test_for", "covering"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_without_a_map_the_mirrored_file_comes_first_and_what_imports_the_module_follows(script: ModuleType) -> None:
    tests = script.tests_for("symbolic/ir/facts.py", {})
    assert tests[0] == "tests/symbolic/ir/test_facts.py"
    assert len(tests) > 1
    for test in tests[1:]:
        assert "symbolic.ir.facts" in script.imported(ROOT / test), test


@pytest.mark.slow
def test_with_a_map_the_tests_that_run_its_functions_are_chosen(script: ModuleType) -> None:
    name = "tests/symbolic/ir/test_facts.py"
    about = {
        "test_it": {"seconds": 1, "functions": ["symbolic/ir/facts.py:facts_of"]},
        "test_other": {"seconds": 1, "functions": ["symbolic/ir/walk.py:walk"]},
    }
    known = {name: {"digest": script.stale.__globals__["digest"](ROOT / name), "tests": about}}
    tests = script.tests_for("symbolic/ir/facts.py", known)
    assert f"{name}::test_it" in tests
    assert name not in tests
    assert f"{name}::test_other" not in tests


def test_a_module_that_no_test_imports_has_the_tests_of_its_room(script: ModuleType) -> None:
    assert all(test.startswith("tests/symbolic/ir/") for test in script.tests_for("symbolic/ir/nowhere.py", {}))


def test_a_file_that_is_not_there_is_a_mistake(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        script.main(["symbolic/nowhere.py"])
    assert "symbolic/nowhere.py is no file of" in capsys.readouterr().err
