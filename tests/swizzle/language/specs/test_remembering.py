"""A command runs no specification twice on symbols for the same shapes."""

from __future__ import annotations

from swizzle import cuda, f32, sketch, spec
from swizzle.language.specs.specification import Meaning, remembered, remembering
from swizzle.solving.search.metasketch import solve
from symbolic.algebra.datum import Datum

RUNS = list[int]()


@spec
def twice(x):  # type: ignore[no-untyped-def]
    RUNS.append(len(x) if isinstance(x[0], Datum) else 0)
    return [v + v for v in x]


@sketch(spec=twice, block=32, x=f32[32], y=f32.out[32])
def double(x, y):  # type: ignore[no-untyped-def]
    y[cuda.laneid] = 2 * x[cuda.laneid]


def test_a_specification_is_run_once() -> None:
    """By whatever asks for its meaning within the command, and again after it."""
    RUNS.clear()
    with remembering():
        first = Meaning.of(double.program, double.spec)
        assert solve(double).status == "sat"
        assert remembered(double.spec, double.program).meaning(double.program) is first
        assert RUNS == [32]
    assert Meaning.of(double.program, double.spec) is not first
    assert RUNS == [32, 32]
