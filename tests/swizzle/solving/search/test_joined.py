"""Two large holes whose functions are compared by sorting, against the tables that try values point by point."""

from __future__ import annotations

from random import Random

import pytest

from swizzle.sketches.sketch import Sketch
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits, Result
from tests.sketches import kernel

SHARED = """
t = cuda.threadIdx.x
s = cuda.shared.array({n}, i32)
s[?sw_xform(t, {n})] = x[t]
cuda.syncthreads()
y[t] = s[?sw_xform(t, {n})]
"""
TWICE = """
t = cuda.threadIdx.x
s = cuda.shared.array({n}, i32)
for k in range(2):
    s[?sw_xform(t, {n}, k)] = x[t] + i32(k)
    cuda.syncthreads()
    y[k * {n} + t] = s[?sw_xform(t, {n}, k)]
    cuda.syncthreads()
"""
APART = """
t = cuda.threadIdx.x
y[t] = x[?sw_xform(t, {n})]
z[?sw_xform(t, {n})] = x[t]
"""


def posed(body: str, n: int, spec: str, rounds: int = 1, outputs: str = "") -> Sketch:
    arguments = f"x=i32[{n}], y=i32.out[{rounds * n}]{outputs}"
    return kernel(body.format(n=n), spec=spec, block=n, warp_size=2, arguments=arguments)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every size count as large."""
    monkeypatch.setattr("swizzle.solving.search.tables.WORD", 1)
    monkeypatch.setattr("templates.xform.WORD", 1)
    monkeypatch.setattr("symbolic.machine.memory.MANY", 1)


def answer(sketch: Sketch) -> tuple[str, set[tuple[str, ...]]]:
    found: Result = solve(sketch, Limits(space="3", all_solutions=True))
    assert found.status != "unknown"
    return found.status, {tuple(hole.formula for hole in each.holes) for each in found.solutions}


def permutations(n: int) -> list[list[int]]:
    """Some that are within reach, and some that are not."""
    random, found = Random(n), [[(5 * i + 1) % n for i in range(n)], [i // 2 * 2 + 1 - i % 2 for i in range(n)]]
    for _ in range(2):
        found.append(random.sample(range(n), n))
    return [*found, [i * i % n for i in range(n)], [min(i, n - 2) for i in range(n)]]


CASES = [(n, wanted) for n in (6, 8) for wanted in permutations(n)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("n", "wanted"), CASES)
def test_functions_that_agree_are_those_that_a_search_finds(
    n: int, wanted: list[int], request: pytest.FixtureRequest
) -> None:
    """All solutions of an exchange through shared memory, and none where there is none."""
    sketch = posed(SHARED, n, f"[x[{wanted}[i]] for i in range({n})]")
    before = answer(sketch)
    request.getfixturevalue("large")
    assert answer(sketch) == before


@pytest.mark.parametrize("steps", [(1, 0), (3, 2), (1, 4)])
def test_several_rounds(steps: tuple[int, int], request: pytest.FixtureRequest) -> None:
    """With a k, which has a different exchange in each round."""
    a, b = steps
    sketch = posed(TWICE, 6, f"[x[(i + {a} * k + {b}) % 6] + k for k in range(2) for i in range(6)]", 2)
    before = answer(sketch)
    request.getfixturevalue("large")
    assert answer(sketch) == before


FLAT = """
t = cuda.threadIdx.x
s = cuda.shared.array(6, i32)
for j in range(3):
    s[?sw_xform(j * 2 + t, 6)] = x[j * 2 + t]
cuda.syncthreads()
for j in range(3):
    y[j * 2 + t] = s[?sw_xform(j * 2 + t, 6)]
"""


@pytest.mark.parametrize(
    "wanted", ["x[j * 2 + t] for t in range(2) for j in range(3)", "x[min(i, 4)] for i in range(6)"]
)
def test_a_thread_that_writes_several_cells(wanted: str, request: pytest.FixtureRequest) -> None:
    """One after the other: it may overwrite its own, which is no race."""
    sketch = kernel(FLAT, spec=f"[{wanted}]", block=2, warp_size=2, arguments="x=i32[6], y=i32.out[6]")
    before = answer(sketch)
    request.getfixturevalue("large")
    assert answer(sketch) == before


def test_holes_that_have_nothing_to_do_with_each_other(large: None) -> None:
    """Then every function of the one goes with every function of the other."""
    spec = "[x[(i + 1) % 6] for i in range(6)], [x[(i + 2) % 6] for i in range(6)]"
    status, solutions = answer(posed(APART, 6, spec, outputs=", z=i32.out[6]"))
    assert status == "sat" and len(solutions) == 1


@pytest.mark.parametrize(("step", "status"), [("7 * i + 3", "sat"), ("i * i", "unsat")])
def test_an_exchange_of_a_hundred_threads(step: str, status: str) -> None:
    """Some thousands of functions of each hole: seconds, and less than a second for the proof that there is none."""
    sketch = posed(SHARED, 100, f"[x[({step}) % 100] for i in range(100)]")
    assert solve(sketch, Limits(space="3", timeout=100)).status == status
