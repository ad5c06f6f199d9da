"""How much is looked at and asked: it is counted, all together for a loop, and never timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from swizzle.operators import found_of
from swizzle.operators.find import SEARCHED
from swizzle.operators.invariants import inductive
from swizzle.operators.work import Work
from swizzle.sketches.loading import load_names
from symbolic.expressions.expression import ONE, TRUE, add, constant, less_equal, modulo, number_name
from symbolic.expressions.formulas import INTEGER, MORE, STEPS, Sort, decide, in_vain
from symbolic.solve.answer import Unknown
from symbolic.solve.solver import Solver

CROSSING = """from swizzle import f32, serial
@serial
def crossing(x: f32):
    s, t, n = 0, 0, 0
    for v in x:
        s = s + v if t < v else s - t
        t = max(t - 1, v)
        n = n + 1 if s > t else n
    return n
"""


def test_all_searches_for_a_loop_share_their_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those for parts of it, too; each spends what it looks at, choices in each other among it."""
    spent: list[float] = []
    spend = Work.spend

    def noted(self: Work, operations: float, nanoseconds: float) -> None:
        if self._whole is None:
            spent.append(operations * nanoseconds / 1e9)
        spend(self, operations, nanoseconds)

    monkeypatch.setattr(Work, "spend", noted)
    (tmp_path / "loops.py").write_text(CROSSING)
    token = MORE.set(0.1)
    try:
        found = found_of(load_names(tmp_path / "loops.py")["crossing"])  # type: ignore[arg-type]
    finally:
        MORE.reset(token)
    assert found.status == "unknown" and "search" in found.tried[-1]
    assert 0.05 * SEARCHED < sum(spent) < 0.15 * SEARCHED + max(spent)


def test_what_is_not_answered_is_limited_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second question has what the first one left, and the third is not asked; what is answered costs nothing."""
    p = number_name("p")
    claim = [(less_equal(p, constant(3)), TRUE)]
    with in_vain(2.0):
        assert [decide(claim, {"p": INTEGER}, effort=1.0).verdict for _ in range(5)] == ["refuted"] * 5
        asked: list[int | None] = []

        def check(self: Solver, *_: object) -> Unknown:
            asked.append(self._work)
            return Unknown("gave up")

        monkeypatch.setattr(Solver, "check", check)
        assert {decide(claim, {"p": INTEGER}, effort=5.0).verdict for _ in range(5)} == {"unknown"}
    assert len(asked) == 2 and asked[0] is not None and asked[1] is not None and asked[0] > 5 * asked[1]
    decide(claim, {"p": INTEGER}, effort=5.0)
    assert len(asked) == 3


def test_what_steps_keep_does_not_depend_on_which_is_lost_first() -> None:
    """A chain of bounds, each of which needs the one before, is kept whole, or lost from where it breaks."""
    names = [f"p{place}" for place in range(6)]
    bounds = [less_equal(number_name(name), constant(9)) for name in names]
    step = {name: number_name(other) for name, other in zip(names[1:], names, strict=False)}
    sorts = dict.fromkeys(names, INTEGER)
    whole = [({**step, "p0": number_name("p0")}, lambda each: each)]
    broken = [({**step, "p2": add(number_name("p2"), ONE), "p0": number_name("p0")}, lambda each: each)]
    for some in (bounds, bounds[::-1]):
        assert inductive(some, whole, sorts) == some
        assert inductive(some, broken, sorts) == [each for each in some if each in bounds[:2]]
        assert (
            inductive(some, [({}, lambda _: TRUE), *whole], sorts, [less_equal(number_name("p0"), ONE)]) == bounds[:1]
        )


TOP_TWO = """from math import inf
from swizzle import f32, i32, serial
@serial
def top_two(x: f32, k: i32):
    a, b, at, bt = -inf, -inf, -1, -1
    for v, i in zip(x, k):
        if v > a:
            a, b, at, bt = v, a, i, at
        elif v > b:
            b, bt = v, i
    return a, b, at, bt
"""


@pytest.mark.slow
def test_a_guess_with_places_that_is_wrong_refutes_nothing(tmp_path: Path) -> None:
    """There is an operator of the two greatest with their places, though not the one that was guessed."""
    (tmp_path / "loops.py").write_text(TOP_TWO)
    found = found_of(load_names(tmp_path / "loops.py")["top_two"])  # type: ignore[arg-type]
    assert found.status == "unknown" and any("places" in each for each in found.tried)


def test_remainders_of_words_have_fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step takes longer in their circuits, wherever in a claim they are."""
    given: list[int | None] = []

    def check(self: Solver, *_: object) -> Unknown:
        given.append(self._work)
        return Unknown("resource limit")

    monkeypatch.setattr(Solver, "check", check)
    p, word = number_name("p"), {"p": Sort("word", 64)}
    for side in (add(p, ONE), add(modulo(p, constant(1000)), ONE)):
        decide([(side, p)], word, effort=1.0)
    assert given == [STEPS["words"], STEPS["divided words"]]
    assert STEPS["divided words"] < STEPS["words"] / 2
