"""A sketch's family: other values of its parameters, each made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from swizzle import SwizzleError, load
from swizzle.sketches.loading import family_of

PYTHON = """
from pathlib import Path
from swizzle import cuda, f32, parameter, sketch, spec

RUNS = Path(__file__).with_suffix(".runs")
RUNS.write_text((RUNS.read_text() if RUNS.exists() else "") + "run\\n")
N = parameter("N", 4, domain=(2, 4, 8))
TWICE = parameter("TWICE", 2 * N, domain=range(1, 100))


@spec
def same(x):
    return x


@sketch(spec=same, block=4, warp_size=4, x=f32[TWICE], y=f32.out[TWICE])
def copy(x, y):
    for i in range(TWICE):
        y[i] = x[i]


other_name = copy
"""
SWZ = """
N = parameter("N", 4, domain=(2, 4, 8))

@spec
def same(x):
    return x


@sketch(spec=same, block=4, warp_size=4, x=f32[N], y=f32.out[N])
def copy(x, y):
    for i in range(N):
        y[i] = x[i]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "copies.py"
    path.write_text(PYTHON)
    return path


def runs(path: Path) -> int:
    return path.with_suffix(".runs").read_text().count("run")


def test_a_file_runs_once_for_each_set_of_values(path: Path) -> None:
    """However often an instance is asked for, also by its own family."""
    (sketch,) = load(path)
    family = sketch.family
    assert family is not None and runs(path) == 1
    larger = family.at({"N": 8})
    assert larger.program.parameters[0].shape == (16,), "what was a default is a default"
    assert family.at({"N": 8}) is larger and larger.family is not None
    assert family.at({}) is sketch
    assert runs(path) == 2
    assert larger.family.at({"TWICE": 5}).parameters == {"N": 8, "TWICE": 5}
    assert runs(path) == 3


@pytest.mark.parametrize("values", [{"N": 3}, {"K": 1}])
def test_values_that_a_family_does_not_have(path: Path, values: dict[str, int]) -> None:
    """A value outside of the domain and an unknown name are mistakes, as with -D."""
    (sketch,) = load(path)
    assert sketch.family is not None
    with pytest.raises(SwizzleError):
        sketch.family.at(values)


def test_a_swz_file_has_families_too(tmp_path: Path) -> None:
    """What is read and not run is asked in the same way."""
    path = tmp_path / "copies.swz"
    path.write_text(SWZ)
    (sketch,) = load(path)
    assert sketch.family is not None and list(sketch.family.declared["N"].domain) == [2, 4, 8]
    path.unlink()  # the text is read once: what happens to the file makes no difference
    assert sketch.family.at({"N": 8}).program.parameters[0].shape == (8,)


def test_a_sketch_that_python_imported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no family of its own; its file is asked."""
    monkeypatch.syspath_prepend(path.parent)
    import copies  # type: ignore[import-not-found]

    assert copies.copy.family is None
    family = family_of(copies.copy)
    assert family is not None and family.at({"N": 2}).parameters["N"] == 2
