"""A search that is stopped at any of its looks says nothing that is wrong, and keeps what it had found."""

from __future__ import annotations

import pytest

import swizzle
from swizzle.sketches.sketch import Sketch
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits, Progress
from symbolic.limits import OutOfMemory, limited
from tests.sketches import kernel

SUM = """
i = cuda.laneid
a = accumulator(i32, outer="+")
a.accumulate(x[?sw_xform(i, 4)], when=?sw_cond(i))
a.accumulate(x[?sw_xform(i, 4)])
y[i] = a.value
"""
MOVED = "y[cuda.laneid] = x[?sw_xform(cuda.laneid, 4)]"
ONE = "[x[(i + 1) % 4] for i in range(4)]"
TWO = "[x[i] + x[(i + 1) % 4] for i in range(4)]"
NONE = "[x[i] + x[(i + 1) % 4] + x[(i + 2) % 4] for i in range(4)]"


class Looks:
    """A clock by which the time is over from the n-th look on."""

    def __init__(self, last: int) -> None:
        self.last, self.count = last, 0

    def __call__(self) -> float:
        self.count += 1
        return 2.0 if self.count > self.last else 0.0


def posed(body: str, spec: str) -> Sketch:
    return kernel(body, arguments="x=i32[4], y=i32.out[4]", spec=spec, block=4)


@pytest.mark.parametrize(("body", "spec", "truth"), [(SUM, TWO, "sat"), (SUM, NONE, "unsat"), (MOVED, ONE, "sat")])
def test_stopped_at_any_look(body: str, spec: str, truth: str) -> None:
    """The answer is open, or what was found; the whole time gives the truth."""
    sketch = posed(body, spec)
    whole = Looks(10**9)
    with limited(1.0, clock=whole):
        assert solve(sketch, Limits()).status == truth
    statuses = set()
    for last in range(0, whole.count, max(1, whole.count // 40)):
        with limited(1.0, clock=Looks(last)):
            found = solve(sketch, Limits())
        assert found.status in ("unknown", truth)
        if found.status == "unknown":
            assert "timeout" in found.reason and not found.optimal and not found.solutions
        if found.solutions:
            assert found.certificate["verified"]
        statuses.add(found.status)
    assert "unknown" in statuses


# The limit may stop the reading of the memory itself, between opening a file and the `with` that closes it.
@pytest.mark.filterwarnings("ignore:Exception ignored in.*statm:pytest.PytestUnraisableExceptionWarning")
def test_memory_is_a_limit_of_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too little for Python itself is said to be the reason."""
    monkeypatch.setattr("swizzle.solving.search.metasketch.Problem.of", out_of_memory)
    found = swizzle.solve(posed(SUM, TWO), memory="16M", timeout=60)
    assert (found.status, found.reason) == ("unknown", "out of memory: more than 16 MiB")


COUNTED = """
lane = cuda.laneid
n = i32(0)
for k in range(32):
    n += where(x[?sw_xform(k, 32)] == i32(lane), 1, 0)
h[lane] = n
"""


@pytest.mark.slow
def test_short_formulas_are_found_where_all_are_counted() -> None:
    """A histogram may read its elements in any order: the shortest formula is looked for before all are."""
    counts = "[sum(where(x[i] == b, 1, 0) for i in range(32)) for b in range(32)]"
    sketch = kernel(COUNTED, spec=counts, arguments="x=i32[32], h=i32.out[32]", block=32, warp_size=32)
    costs = Limits(cost=("accumulates", "terms"))
    whole = solve(sketch, costs)
    assert whole.best is not None and whole.best.holes[0].formula == "k" and whole.optimal


def test_what_was_found_is_verified_before_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """All fillings are to be counted, which takes long: the first one is read and verified when it is found."""
    monkeypatch.setattr("swizzle.solving.search.metasketch._Search._tell_count", out_of_memory)
    monkeypatch.setattr("swizzle.solving.search.readback.verify", out_of_memory)
    stopped = solve(posed(MOVED, ONE), Limits(cost=("accumulates", "terms")), timeout=600)
    assert stopped.status == "sat" and stopped.reason.startswith("out of memory") and not stopped.optimal


def test_space_and_progress_of_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    """What is asked for most needs no object of limits; a step of a search reads as a line."""
    found = swizzle.solve(posed(SUM, TWO), space="2", progress=print)
    assert found.space == "2"
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" s  Space 1: interpreting the sketch")
    assert lines[-1].endswith(": looking for a filling")
    assert (
        str(Progress("2", "looking", {"accumulates": 3}, 0, 61.25)) == "  61.2 s  Space 2: looking, best 3 accumulates"
    )
    with pytest.raises(swizzle.SwizzleError, match="a space of '5'"):
        swizzle.solve(posed(SUM, TWO), space="5")  # type: ignore[arg-type]


def out_of_memory(*_: object) -> None:
    raise OutOfMemory("out of memory: more than 16 MiB")
