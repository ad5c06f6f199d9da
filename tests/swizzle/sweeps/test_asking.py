"""What a sweep asks: ranges, lines of JSON, and the texts that go with a job."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from swizzle.sweeps.asking import jobs_of, together, values_of
from swizzle.sweeps.files import with_files
from swizzle.sweeps.job import SweepJob
from symbolic.errors import SwizzleError


def no_names(file: str, do: str) -> Sequence[str]:
    return []


def jobs(*asked: object, **values: Sequence[int]) -> list[SweepJob]:
    return list(jobs_of(asked, no_names, do="solve", values=values, choices={}))


@pytest.mark.parametrize(
    ("word", "values"),
    [("N=1..4", [1, 2, 3, 4]), ("N=8..32..8", [8, 16, 24, 32]), ("N=4", [4]), ("N=-2..0,5,5", [-2, -1, 0, 5])],
)
def test_ranges(word: str, values: list[int]) -> None:
    """Both ends are in a range, a value is asked once."""
    assert values_of(word) == ("N", values)


@pytest.mark.parametrize("word", ["N", "N=", "=1", "N=a", "N=4..1", "N=1..2..0", "N=1...4", "1N=2", "N=1..99999999"])
def test_what_is_no_range(word: str) -> None:
    """One error says what a range looks like."""
    if word == "N=1..2..0":
        assert values_of(word) == ("N", [1])
        return
    with pytest.raises(SwizzleError, match="--set "):
        values_of(word)


def test_values_of_one_name_come_together() -> None:
    """Each once; a million of them in no time."""
    assert together([("N", [1, 2]), ("K", [True]), ("N", [2, 3])]) == {"N": [1, 2, 3], "K": [True]}
    assert len(together([values_of("N=1..1000000"), ("N", [7])])["N"]) == 1_000_000


def test_all_combinations(tmp_path: Path) -> None:
    """Of two parameters and an option; a line's own values stay."""
    (tmp_path / "a.swz").write_text("x")
    (tmp_path / "j.jsonl").write_text('{"target": "a.swz:x", "set": {"K": 9}}\n\n{"target": "a.swz", "do": "check"}\n')
    found = list(
        jobs_of([tmp_path / "j.jsonl"], no_names, do="solve", values={"N": [1, 2]}, choices={"space": ["1", "all"]})
    )
    assert [(job.do, job.target, job.set, job.options["space"]) for job in found[:3]] == [
        ("solve", "a.swz:x", {"K": 9, "N": 1}, "1"), ("solve", "a.swz:x", {"K": 9, "N": 1}, "all"),
        ("solve", "a.swz:x", {"K": 9, "N": 2}, "1"),
    ]  # fmt: skip
    assert len(found) == 8
    assert len({job.key for job in found}) == 8
    assert found[4].do == "check"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no job: Input data was truncated"),
        ('{"target": "a.swz", "space": 2}', "no job: Object contains unknown field `space`"),
        ('{"target": "a.swz", "set": {"N": "2"}}', "no job: Expected `int`, got `str` - at `$.set[...]`"),
        ('{"target": "b.swz"}', "b.swz is not there"),
        ('{"do": "solve"}', "no job: it names no target"),
        ('{"target": "a.swz", "timeout": 0}', "no job: Expected `float` > 0.0 - at `$.timeout`"),
        ('{"target": "a.swz", "memory": -5}', "no job: Expected `int` >= 1 - at `$.memory`"),
        ('{"target": "."}', ". is a folder"),
    ],
)
def test_a_line_that_is_no_job(tmp_path: Path, line: str, message: str) -> None:
    """The error has its place; nothing is run."""
    (tmp_path / "a.swz").write_text("x")
    (tmp_path / "j.jsonl").write_text(f'{{"target": "a.swz"}}\n{line}\n')
    with pytest.raises(SwizzleError) as error:
        jobs(tmp_path / "j.jsonl")
    assert error.value.found == message
    assert str(error.value.place) == f"{tmp_path / 'j.jsonl'}:2:1"


def test_the_key_is_of_all_that_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text, what it imports beside it, values and options; not the folder, not the limits."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "one"), str(tmp_path / "two")])
    made = {}
    for folder in ("one", "two"):
        (tmp_path / folder / "shapes").mkdir(parents=True)
        (tmp_path / folder / "shapes" / "__init__.py").write_text("")
        (tmp_path / folder / "shapes" / "tiles.py").write_text("from . import sizes\nfrom .sizes import N\n")
        (tmp_path / folder / "shapes" / "sizes.py").write_text("N = 4")
        (tmp_path / folder / "a.py").write_text("import numpy, swizzle\nfrom shapes import tiles\n")
    made["same"] = SweepJob("solve", "one/a.py")
    monkeypatch.setattr(sys, "path", [*sys.path[:-2], str(tmp_path / "one")])
    first = with_files(SweepJob("solve", "one/a.py:x"), tmp_path)
    assert first.target == "a.py:x"
    assert sorted(first.files) == ["a.py", "shapes/__init__.py", "shapes/sizes.py", "shapes/tiles.py"]
    assert first.path == (".",)
    monkeypatch.setattr(sys, "path", [*sys.path[:-1], str(tmp_path / "two")])
    again = with_files(SweepJob("solve", "two/a.py:x", timeout=3, memory=1 << 30), tmp_path)
    assert again.key == first.key
    others = [
        with_files(SweepJob("check", "two/a.py:x"), tmp_path),
        with_files(SweepJob("solve", "two/a.py:y"), tmp_path),
        with_files(SweepJob("solve", "two/a.py:x", {"N": 1}), tmp_path),
        with_files(SweepJob("solve", "two/a.py:x", options={"space": "1"}), tmp_path),
    ]
    (tmp_path / "two" / "shapes" / "sizes.py").write_text("N = 5")
    others.append(with_files(SweepJob("solve", "two/a.py:x"), tmp_path))
    assert len({first.key, *(job.key for job in others)}) == 6


def test_a_kernel_takes_its_headers_and_what_options_name(tmp_path: Path) -> None:
    """Names are from the folder that holds all of them, in options, too."""
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "include").mkdir()
    (tmp_path / "src" / "k.cu").write_text('#include "deep/one.cuh"\n#include "two.h"\n__global__ void k() {}\n')
    (tmp_path / "src" / "deep" / "one.cuh").write_text("// one\n")
    (tmp_path / "include" / "two.h").write_text("// two\n")
    (tmp_path / "spec.py").write_text("def doubled(x): return [2 * x[0]]\n")
    options = {"specification": "spec.py:doubled", "I": ["include"], "kernel": ["k"]}
    job = with_files(SweepJob("prove", "src/k.cu", options=options), tmp_path)
    assert job.target == "src/k.cu"
    assert sorted(job.files) == ["include/two.h", "spec.py", "src/deep/one.cuh", "src/k.cu"]
    assert job.options == options


def test_options_that_name_no_file_are_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a file or a folder has that name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "cuda").mkdir()
    (tmp_path / "all").write_text("a file")
    (tmp_path / "sub" / "a.swz").write_text("x")
    (job,) = jobs_of(["sub/a.swz"], no_names, do="solve", values={}, choices={"space": ["all"], "emit": ["cuda"]})
    assert (job.target, job.options) == ("a.swz", {"space": "all", "emit": "cuda"})
    assert sorted(job.files) == ["a.swz"]


def test_files_travel_with_a_text_and_with_options_of_the_command_line(tmp_path: Path) -> None:
    """A text takes the place of one file; options name others, in a line or for all jobs."""
    (tmp_path / "spec.py").write_text("def doubled(x): return [2 * x[0]]\n")
    (tmp_path / "j.jsonl").write_text('{"do": "prove", "target": "k.cu", "text": "// k"}\n')
    choices = {"specification": ["spec.py:doubled"]}
    (job,) = jobs_of([tmp_path / "j.jsonl"], no_names, do="solve", values={}, choices=choices)
    assert job.files == {"k.cu": "// k", "spec.py": "def doubled(x): return [2 * x[0]]\n"}
    assert (job.target, job.options) == ("k.cu", {"specification": "spec.py:doubled"})


def test_modules_beside_a_file_travel(tmp_path: Path) -> None:
    """For a file that puts its own folder on Python's path; a job doesn't do that by itself."""
    (tmp_path / "a.py").write_text("import sys\nsys.path.insert(0, __file__[:-5])\nfrom sizes import N\n")
    (tmp_path / "sizes.py").write_text("N = 4\n")
    job = with_files(SweepJob("solve", "a.py"), tmp_path)
    assert (sorted(job.files), job.path) == (["a.py", "sizes.py"], ())


def test_a_saved_solution_is_no_job(tmp_path: Path) -> None:
    """Its seal does not travel."""
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(SwizzleError, match=r"a\.json is a saved solution"):
        jobs(tmp_path / "a.json")
