"""The script that plants mutants, on a tree of one module: what is noticed, what is not, and what is kept."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULE = '''"""Two functions that are tested, and one that is not."""


def small(x: int) -> bool:
    return x < 10


def drained(x: list[int]) -> list[int]:
    while x:
        x = x[1:]
    return x


def untested(x: int) -> int:
    assert x < 7, "messages and assertions are left alone"
    return x - 3
'''
TESTS = """from package.module import drained, small


def test_small():
    assert small(9) and not small(10)


def test_drained():
    assert drained([1, 2]) == []
"""


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "bench"))
        import mutants

        yield mutants
    for name in ("mutants", "planting", "covering"):
        del sys.modules[name]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {"setup.cfg": "[tool:pytest]\naddopts = --import-mode=importlib\nmarkers = slow\n"}
    files |= {"package/module.py": MODULE, "tests/package/test_module.py": TESTS}
    for name, text in files.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree"


@pytest.mark.slow
def test_survivors_are_found_and_explained(
    script: ModuleType, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An endless loop is killed; what no test runs is said; what is explained, or was met before, is not met again."""
    report, known = tmp_path / "build" / "report.json", tmp_path / "known.json"
    options = ["--root", str(tree), "--folders", "package", "--tests", "tests", "--patience", "15"]
    options += ["--report", str(report), "--known", str(known)]
    assert script.main(options) == 1
    found = {key: about["outcome"] for key, about in json.loads(report.read_text()).items()}
    survivor = "package/module.py drained: x = x[1:] => x = x[2:]"
    assert {key for key, outcome in found.items() if outcome == "survived"} == {survivor}
    uncovered = {key for key, outcome in found.items() if outcome == "not covered"}
    assert uncovered == {
        f"package/module.py untested: return x - 3 => return {x}" for x in ("(x + 3)", "(3 - x)", "x - 4", "x - 2")
    }
    killed = {key.split(": ", 1)[1] for key, outcome in found.items() if outcome == "killed"}
    assert {"x = x[1:] => x = x[0:]", "while x: => while (not x):", "return x < 10 => return (x <= 10)"} <= killed
    assert len(found) == len(killed) + 5 and (tree / "package" / "module.py").read_text() == MODULE
    printed = capsys.readouterr().out
    assert "package/module.py:10 in drained (survived)\n- x = x[1:]\n+ x = x[2:]\n" in printed

    known.write_text(
        json.dumps({survivor: "two words at a time drain an even list, too"} | dict.fromkeys(uncovered, ""))
    )
    before = report.read_text()
    assert script.main([*options, "--resume"]) == 0
    assert "5 equivalent" in capsys.readouterr().out
    assert report.read_text() == before.replace('"survived"', '"equivalent"').replace('"not covered"', '"equivalent"')


def test_mutants_are_programs_of_their_own(script: ModuleType) -> None:
    """Each can be parsed, differs from the module and from the others, has its name."""
    for path in (ROOT / "templates" / "pad.py", ROOT / "symbolic" / "machine" / "accesses.py"):
        found = script.mutants(path.relative_to(ROOT).as_posix(), path.read_text())
        trees = {ast.dump(ast.parse(mutant.source)) for mutant in found[:60]}
        assert len(trees) == len(found[:60]) and ast.dump(ast.parse(path.read_text())) not in trees
        assert len({mutant.key for mutant in found}) == len(found)


def test_a_sample_is_the_same_each_time(script: ModuleType) -> None:
    """By its seed; `--only` takes every mutant of a line instead."""
    one, again, other = (
        [
            mutant.key
            for mutant in script.sample(
                script.arguments(["--count", "9", "--seed", seed, "--folders", "swizzle/solving/costs"])
            )
        ]
        for seed in ("1", "1", "2")
    )
    assert one == again != other and len(one) == 9
    line = next(
        i for i, text in enumerate((ROOT / "templates/xform.py").read_text().splitlines(), 1) if "gs // d_f" in text
    )
    of_line = script.sample(script.arguments(["--folders", "templates", "--only", f"templates/xform.py:{line}"]))
    assert of_line and {(mutant.file, mutant.line) for mutant in of_line} == {("templates/xform.py", line)}
