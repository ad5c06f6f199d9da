"""A search that goes on in a wider space says what a search says that starts there."""

import pytest

from swizzle.sketches.loading import load
from swizzle.solving.problem.candidate import Candidate, NoFilling
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.cegis import Cegis
from swizzle.solving.search.metasketch import solve
from symbolic.solve.engines import quickest_boolean
from tests.sketches import kernel
from tests.test_case_studies import CASES

SHIFTED = """
i = cuda.grid(1)
lane = cuda.laneid
part = cuda.local.array(3, i32)
for r in range(3):
    part[r] = x[i] * i32(r + 2)
y[i] = part[?sw_part(3, lane)]
"""
COUNTED = """
i = cuda.grid(1)
lane = cuda.laneid
a = accumulator(i32, outer="+")
for k in range(4):
    a.accumulate(x[i // 4 * 4 + k], when=?sw_cond(lane, k))
    a.accumulate(x[i // 4 * 4 + k], when=?sw_cond(lane, k))
y[i] = a.value
"""
GROUPED = """
i = cuda.grid(1)
a = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(cuda.laneid, 4))
y[i] = a - cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(cuda.laneid, 4))
"""
PARTS = "[x[4 * w + t] * ({}) for w in range(2) for t in range(4)]"
SUMS = "[sum(x[4 * w + k] for k in range(4) if {}) for w in range(2) for t in range(4)]"
SPECS = {
    "parts by a number": (SHIFTED, PARTS.format("2 if t < 2 else 3 if t < 3 else 4")),
    "no parts": (SHIFTED, PARTS.format("(3, 2, 4, 2)[t]")),
    "one part": (SHIFTED, PARTS.format("3")),
    "a condition of Space 1": (COUNTED, SUMS.format("k <= t")),
    "a condition with a number": (COUNTED, SUMS.format("k <= t + 1")),
    "two conditions": (COUNTED, SUMS.format("k == t + 2 or k == t - 1")),
    "lanes in groups": (GROUPED, "[x[4 * w + t // 2 * 2] - x[4 * w + t] for w in range(2) for t in range(4)]"),
    "no lanes": (GROUPED, "[x[4 * w + (0, 1, 3, 2)[t]] - x[4 * w] for w in range(2) for t in range(4)]"),
    "three conditions": (COUNTED, SUMS.format("k == (1, 3, 0, 5)[t]")),
}


def cheapest(search: Cegis) -> int | None:
    """Return the least cost of a filling, None where there is none."""
    best: int | None = None
    while best != 0 and isinstance(answer := search.find(None if best is None else best - 1), Candidate):
        best = answer.cost
    assert best == 0 or isinstance(answer, NoFilling)
    return best


def opened(problem: Problem, space: str, *wider: str) -> Cegis:
    return Cegis(problem, space, quickest_boolean(), None, lambda _: None, wider=wider)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SPECS)
def test_a_wider_space_is_searched_as_if_it_were_the_first(name: str) -> None:
    """Whether there is a filling, its least cost, and how many functions there are: Space 1, Space 2, then Space 3."""
    body, spec = SPECS[name]
    sketch = kernel(body, spec=spec)
    problem = Problem.of(sketch.program, sketch.spec)
    for spaces in (("1", "2", "3"), ("1", "3")):
        with opened(problem, *spaces) as going_on:
            for space in spaces:
                if space != "1":
                    going_on.widen()
                with opened(problem, space) as afresh:
                    assert going_on.space == space and cheapest(going_on) == cheapest(afresh)
                    for _ in range(8 if space == spaces[-1] else 0):
                        answers = going_on.find(), afresh.find()
                        assert isinstance(answers[0], Candidate) == isinstance(answers[1], Candidate)
                        for search, answer in zip((going_on, afresh), answers, strict=True):
                            if isinstance(answer, Candidate):
                                assert answer.space == space
                                search.forbid(answer)


def test_specifications_tell_the_spaces_apart() -> None:
    """Of the specifications above, some need Space 2, some do not, and some have no filling in either."""
    found = {name: solve(kernel(body, spec=spec)) for name, (body, spec) in SPECS.items()}
    assert found["one part"].space == found["a condition of Space 1"].space == "1"
    assert found["parts by a number"].space == found["a condition with a number"].space == "2"
    assert found["lanes in groups"].space == "3"
    assert found["no parts"].status == "unsat"


def test_each_space_makes_its_own_claim() -> None:
    """What is proved of Space 1 counts its own queries; Space 2 has what was looked at before, and more."""
    sketch = kernel(SHIFTED, spec=SPECS["no parts"][1])
    first, second = solve(sketch).certificate["proved"][:2]
    assert (first["space"], first["claim"]) == ("1", "no filling exists")
    assert (second["space"], second["claim"]) == ("2", "no filling exists")
    assert first["queries"] >= 1 and second["queries"] >= 1
    assert second["looked_at"] >= first["looked_at"] and second["clauses"] > first["clauses"]


def test_a_case_study_that_needs_space_2() -> None:
    """A convolution whose patch has three rows: none in Space 1, and the right cost in Space 2."""
    (sketch,) = load(str(CASES / "conv2d.py"), None, {"K": 5, "warp_size": 8})
    problem = Problem.of(sketch.program, sketch.spec)
    with opened(problem, "1", "2") as both, opened(problem, "1") as first:
        assert isinstance(first.find(), NoFilling) and isinstance(both.find(), NoFilling)
        both.widen()
        answer = both.find()
        assert isinstance(answer, Candidate) and (answer.space, answer.cost) == ("2", 1)
