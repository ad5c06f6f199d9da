"""The search: order of spaces, least cost, all solutions, what is claimed and when it is not."""

from typing import Any

import pytest

from swizzle.commands.report import as_text
from swizzle.language.specs.verify import verify
from swizzle.sketches.sketch import Sketch
from swizzle.solving.search import cegis
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits, Progress
from symbolic.errors import SwizzleError
from tests.sketches import kernel

ROTATE = "i = cuda.grid(1)\nlane = cuda.laneid\ny[i] = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(lane, 4))"
SUM = """
i = cuda.grid(1)
lane = cuda.laneid
v = x[i]
a = accumulator(i32, outer="+")
for k in range(4):
    s = cuda.shfl_sync(cuda.FULL_MASK, v, (lane + k) % 4)
    a.accumulate(s, when=?sw_cond(lane, k))
    a.accumulate(s, when=?sw_cond(lane, k))
y[i] = a.value
"""
PREFIX = "[sum(x[w * 4 + j] for j in range({})) for w in range(2) for t in range(4)]"


TWICE = "[sum(x[w * 4 + j] for j in range(4 if t == 0 else t)) for w in range(2) for t in range(4)]"


def rotate(amount: str) -> Sketch:
    return kernel(ROTATE, spec=f"[x[w * 4 + ({amount})] for w in range(2) for t in range(4)]")


def test_the_first_space_with_an_answer_wins() -> None:
    """A rotation is in Space 1; a fan that is not co-prime is in Space 3."""
    plain, fanned = solve(rotate("(t + 3) % 4")), solve(rotate("t % 2 * 2 + t // 2"))
    assert (plain.status, plain.space, plain.best.holes[0].formula) == ("sat", "1", "(lane + 3) % 4")
    assert (fanned.status, fanned.space) == ("sat", "3")
    assert [claim["space"] for claim in fanned.certificate["proved"]][:1] == ["1"]


def test_a_named_space_is_the_only_one_searched() -> None:
    """`--space 1` on a sketch that needs Space 3 is a proof about Space 1."""
    found = solve(rotate("t % 2 * 2 + t // 2"), Limits(space="1"))
    assert (found.status, found.space, found.solutions) == ("unsat", "1", ())
    assert found.certificate["proved"][0]["claim"] == "no filling exists"


def test_no_solution_in_any_space() -> None:
    """Clamping is in no space of sw_xform; every space says so."""
    found = solve(rotate("min(t, 2)"))
    assert found.status == "unsat" and not found.optimal
    assert {claim["space"] for claim in found.certificate["proved"]} == {"1", "3", "4"}


def test_the_cost_is_lowered_to_a_proof() -> None:
    """Two accumulates are sketched; where one would be enough by counting, but no condition fits, that is proved."""
    found = solve(kernel(SUM, spec=TWICE))
    assert found.status == "sat" and found.optimal and found.best.cost == {"accumulates": 2}
    assert found.certificate["proved"][-1]["claim"] == "no filling costs 1 or less"


def test_the_floor_needs_no_proof() -> None:
    """Two accumulates are sketched, one is enough, and by counting none is not."""
    found = solve(kernel(SUM, spec=PREFIX.format(4)))
    assert found.status == "sat" and found.optimal and found.best.cost == {"accumulates": 1}
    assert "False" in [hole.formula for hole in found.best.holes]
    assert found.certificate["proved"] == []
    assert found.certificate["floor"] == "accumulates that no filling can do without, by counting: 1"


def test_all_solutions_are_distinct_functions_and_right() -> None:
    """`--all` lists each filling once, the cheapest first; every one verifies."""
    sketch = kernel(SUM, spec=PREFIX.format(4))
    found = solve(sketch, Limits(space="1", all_solutions=True))
    texts = [tuple(h.formula for h in s.holes) for s in found.solutions]
    assert len(texts) == len(set(texts)) > 2
    costs = [s.cost["accumulates"] for s in found.solutions]
    assert costs == sorted(costs) and set(costs) == {1, 2}
    assert all(verify(s.program, sketch.spec).equal for s in found.solutions)
    assert found.certificate["proved"][-1]["claim"] == f"no filling besides those found: {len(texts)}"


def test_the_count_of_all_solutions_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first filling is told at once; later ones are, where the time between two has passed."""
    sketch, limits = kernel(SUM, spec=PREFIX.format(4)), Limits(space="1", all_solutions=True)

    def counts(between: float) -> list[str]:
        told: list[Progress] = []
        monkeypatch.setattr("swizzle.solving.search.metasketch.BETWEEN_COUNTS", between)
        found = solve(sketch, limits, told.append)
        assert len(found.solutions) > 2
        return [progress.doing for progress in told if progress.doing.startswith("fillings so far")]

    assert counts(0)[:3] == [f"fillings so far: {count}" for count in (1, 2, 3)]
    assert counts(3600) in (["fillings so far: 1"], [])  # none on a machine that was started within the hour


def test_space_all_proves_the_optimum_over_every_space() -> None:
    """`--space all` goes on after the first answer until the last space is done or nothing cheaper can be."""
    assert solve(kernel(SUM, spec=TWICE), Limits(space="3")).best.cost == {"accumulates": 2}
    found = solve(kernel(SUM, spec=TWICE), Limits(space="all"))  # two conditions at once save an accumulate
    assert found.optimal and found.best.cost == {"accumulates": 1}
    assert {claim["space"] for claim in found.certificate["proved"]} >= {"1", "2"}


@pytest.mark.slow  # pairs of conditions have many solutions
def test_all_solutions_over_every_space() -> None:
    """`--space all --all` reads each solution in the space it was found in."""
    found = solve(kernel(SUM, spec=PREFIX.format(4)), Limits(space="all", all_solutions=True))
    assert found.status == "sat" and found.best.cost == {"accumulates": 1}
    assert len(found.solutions) == len({tuple(h.formula for h in s.holes) for s in found.solutions})


LARGEST = """
i = cuda.laneid
a = accumulator(i32, outer="max")
{}y[i] = a.value
"""


def test_a_cost_that_varies_is_lowered_in_a_large_space_too() -> None:
    """Any filling that looks at the element and leaves the others alone is right; one accumulate is enough."""
    each = "a.accumulate(x[?sw_xform(i, 4)], when=?sw_cond(i))\n"
    sketch = kernel(
        LARGEST.format(4 * each),
        spec="[x[i % 2 * 2 + i // 2] for i in range(4)]",
        arguments="x=i32[4], y=i32.out[4]",
        block=4,
    )
    found = solve(sketch, Limits(space="3"))
    assert found.optimal and found.best.cost == {"accumulates": 1}


def test_all_solutions_of_the_last_space_are_those_of_the_ones_before_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `--space all --all` ends in Space 2, it gives what Space 2 alone gives, though functions are forbidden."""
    monkeypatch.setattr(cegis, "MATCHING_LIMIT", 0)  # by their values, not by their constants
    each = "a.accumulate(x[i], when=?sw_part(2, i) == 0)\n"
    sketch = kernel(
        LARGEST.format(2 * each), spec="[x[i] for i in range(4)]", arguments="x=i32[4], y=i32.out[4]", block=4
    )
    alone, last = (solve(sketch, Limits(space=space, all_solutions=True)) for space in ("2", "all"))
    assert len(solve(sketch, Limits(space="1", all_solutions=True)).solutions) < len(alone.solutions)
    assert sorted(s.cost["accumulates"] for s in last.solutions) == sorted(
        s.cost["accumulates"] for s in alone.solutions
    )


def test_what_is_read_in_a_branch_of_a_hole_was_written() -> None:
    """Nothing is made of the value; that lanes 2 and 3 must not read their cells is the rule alone."""
    body = """
i = cuda.laneid
tile = cuda.shared.array(4, i32)
if i < 2:
    tile[i] = x[i]
cuda.syncthreads()
held = cuda.local.array(1, i32)
if ?sw_cond(i):
    held[0] = tile[i]
y[i] = x[i]
"""
    sketch = kernel(body, spec="[v for v in x]", arguments="x=i32[4], y=i32.out[4]", block=4)
    found = solve(sketch, Limits(space="2", all_solutions=True))
    tables = {tuple(next(iter(s.tables().values())).values.tolist()) for s in found.solutions}
    assert tables == {(a, b, False, False) for a in (False, True) for b in (False, True)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("solver", ["z3", "cvc5", "cadical", "glucose", "portfolio"])
def test_every_solver_gives_the_same_answer(solver) -> None:  # type: ignore[no-untyped-def]
    """Status and least cost do not depend on the engine."""
    assert solve(rotate("(t + 1) % 4"), Limits(solver=solver)).best.holes[0].formula == "(lane + 1) % 4"
    assert solve(rotate("min(t, 2)"), Limits(solver=solver)).status == "unsat"


def test_certify_confirms_each_claim_with_another_solver() -> None:
    """Every claim is posed again to a solver that was not used."""
    found = solve(rotate("t % 2 * 2 + t // 2"), Limits(solver="z3", certify=True))
    assert {c["verdict"] for c in found.certificate["confirmed"]} == {"confirmed"}
    assert found.certificate["confirmed"][0]["solver"] == "cvc5"


@pytest.mark.slow
def test_certify_confirms_that_all_solutions_are_all() -> None:
    """The second solver is given the solutions that are known and finds no other."""
    found = solve(kernel(SUM, spec=PREFIX.format(4)), Limits(space="1", solver="z3", all_solutions=True, certify=True))
    assert {c["verdict"] for c in found.certificate["confirmed"]} == {"confirmed"}


def test_a_store_that_is_overwritten_need_not_be_right() -> None:
    """Only the last store to a cell counts, also where holes place both."""
    body = """
i = cuda.grid(1)
y[?sw_xform(i, 8)] = x[0] + x[1]
cuda.syncthreads()
y[?sw_xform(i, 8)] = x[i]
"""
    found = solve(kernel(body, spec="[x[7 - i] for i in range(8)]"))
    assert found.status == "sat" and found.best.holes[1].formula == "7 - i"
    assert len(found.best.holes[0].formula.split()) <= 3  # any would do: not (6 - 3 * i) % 8, which is found first


def test_out_of_time_is_unknown() -> None:
    """A deadline that has passed gives unknown with a reason, never a claim."""
    found = solve(rotate("(t + 1) % 4"), Limits(timeout=0.0))
    assert (found.status, found.reason, found.optimal) == (
        "unknown",
        "timeout: the sequential part was still running, at test.swz:3:5",
        False,
    )
    assert found.certificate["proved"] == []


def test_an_interrupt_keeps_the_best_so_far() -> None:
    """Ctrl-C after the first answer returns it, not proved."""

    def interrupt(news: Progress) -> None:
        if news.best_cost is not None:
            raise KeyboardInterrupt

    found = solve(kernel(SUM, spec=TWICE), progress=interrupt)
    assert (found.status, found.optimal, found.reason) == ("sat", False, "interrupted")


def test_an_interrupt_while_verifying_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C among many solutions to be verified leaves the cheapest one, which is verified all the same."""
    pressed = []

    def once(*arguments: Any) -> Any:
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return verify(*arguments)

    monkeypatch.setattr("swizzle.solving.search.readback.verify", once)
    found = solve(kernel(SUM, spec=PREFIX.format(4)), Limits(space="1", all_solutions=True))
    assert (found.status, found.optimal, found.reason) == ("sat", True, "interrupted")
    assert len(found.solutions) == 1 and found.best.cost == {"accumulates": 1}


def test_an_interrupt_while_verifying_leaves_the_optimum_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while an answer is verified that counting alone does not show to be the cheapest."""
    sketch = kernel(SUM, spec=TWICE)
    assert solve(sketch).optimal
    pressed = []

    def once(*arguments: Any) -> Any:
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return verify(*arguments)

    monkeypatch.setattr("swizzle.solving.search.readback.verify", once)
    found = solve(sketch)
    assert (found.status, found.optimal, found.reason) == ("sat", False, "interrupted")


def test_an_interrupt_while_verifying_keeps_what_was_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C among many solutions to be verified leaves those that were."""
    runs = []

    def third(*arguments: Any) -> Any:
        runs.append(True)
        if len(runs) == 3:
            raise KeyboardInterrupt
        return verify(*arguments)

    monkeypatch.setattr("swizzle.solving.search.readback.TOGETHER", 2)
    monkeypatch.setattr("swizzle.solving.search.readback.verify", third)
    body = (
        "i = cuda.laneid\nj = cuda.grid(1)\nv = cuda.shfl_sync(cuda.FULL_MASK, x[j], ?sw_xform(i, 4))\n"
        "y[j] = cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(i, 4))"
    )
    sketch = kernel(body, spec="[x[i // 4 * 4 + 3 - i % 4] for i in range(8)]")
    found = solve(sketch, Limits(space="3", all_solutions=True))
    assert (found.status, found.optimal, found.reason) == ("sat", True, "interrupted")  # nothing costs less than 0
    assert len(found.solutions) == 3
    monkeypatch.undo()
    whole = solve(sketch, Limits(space="3", all_solutions=True))
    assert whole.optimal and len(whole.solutions) > 4 and whole.solutions[:3] == found.solutions


@pytest.mark.parametrize("all_solutions", [False, True])
@pytest.mark.parametrize("limit", ["MOST_GUARDS", "MOST_CLAUSES"])
def test_a_question_that_is_too_large_is_left_undecided(
    limit: str, all_solutions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is not filled up: the search ends, and says why."""
    monkeypatch.setattr(f"symbolic.values.guard.{limit}", 300)
    body = "t = cuda.threadIdx.x\ns = cuda.shared.array(32, i32)\ns[?sw_xform(t, 32)] = x[t]\ncuda.syncthreads()\n"
    sketch = kernel(
        body + "y[t] = s[?sw_xform(t, 32)]", spec="x", block=32, warp_size=32, arguments="x=i32[32], y=i32.out[32]"
    )
    found = solve(sketch, Limits(space="3", all_solutions=all_solutions, light=False))
    assert (found.status, found.solutions) == ("unknown", ())
    assert found.reason.startswith("too large: ") and found.reason.endswith(" clauses")


SHUFFLED = """
t = cuda.threadIdx.x
s = cuda.shared.array(8, i32)
s[?sw_xform(t, 8)] = x[t]
cuda.syncthreads()
y[t] = s[?sw_xform(t, 8)]
"""
TRANSPOSED, SHIFTED, CLAMPED = "x[t % 2 * 4 + t // 2]", "x[(t + 3) % 8]", "x[min(t, 5)]"


def shuffled(wanted: str) -> Sketch:
    spec = f"[{wanted} for t in range(8)]"
    return kernel(SHUFFLED, spec=spec, arguments="x=i32[8], y=i32.out[8]", block=8, grid=1)


@pytest.mark.parametrize(
    ("wanted", "nodes", "status", "space", "left_open", "claimed"),
    [
        (TRANSPOSED, 100, "sat", "3", ["1"], []),
        (TRANSPOSED, 0, "sat", "3", None, ["1"]),
        (SHIFTED, 0, "sat", "1", None, []),
        (CLAMPED, 100, "unsat", "4", None, ["3", "4"]),
        (CLAMPED, 0, "unsat", "4", None, ["1", "3", "4"]),
    ],
)
def test_a_small_space_whose_proof_is_long_is_left_open(
    monkeypatch: pytest.MonkeyPatch,
    wanted: str,
    nodes: int,
    status: str,
    space: str,
    left_open: list[str] | None,
    claimed: list[str],
) -> None:
    """Space 3 is searched instead; where that gets too long, too, a solver answers for the small space first."""
    monkeypatch.setattr("swizzle.solving.search.plan.LARGE", 1)
    monkeypatch.setattr("swizzle.solving.search.plan.OF_SMALL_SPACE", 1)
    monkeypatch.setattr("swizzle.solving.search.plan.NODE_LIMIT", nodes)
    found = solve(shuffled(wanted), Limits(light=False))
    assert (found.status, found.space, found.certificate.get("left_open")) == (status, space, left_open)
    assert [claim["space"] for claim in found.certificate["proved"]] == claimed
    assert ("  open    whether Space 1 has one of the same cost" in as_text(found, [])) == (left_open is not None)


def test_a_small_space_is_not_left_open_where_all_its_solutions_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--all` lists the solutions of the first space with an answer, so the answer for each space must be known."""
    monkeypatch.setattr("swizzle.solving.search.plan.OF_SMALL_SPACE", 1)
    found = solve(shuffled(TRANSPOSED), Limits(all_solutions=True))
    assert {claim["space"] for claim in found.certificate["proved"]} == {"1", "3"}


def test_a_kernel_without_holes_is_checked() -> None:
    """No holes: sat if it is equal to its specification, unsat if it is not."""
    assert solve(kernel("i = cuda.grid(1)\ny[i] = x[i]", spec="[v for v in x]")).status == "sat"
    assert solve(kernel("i = cuda.grid(1)\ny[i] = x[7 - i]", spec="[v for v in x]")).status == "unsat"


def test_an_index_outside_its_size_is_the_users_mistake() -> None:
    """The first argument of sw_xform must be below its second."""
    body = "i = cuda.grid(1)\ny[i] = x[?sw_xform(i, 4)]"
    with pytest.raises(SwizzleError, match=r"the first argument of this \?sw_xform, i, is 4 somewhere"):
        solve(kernel(body, spec="[v for v in x]"))


def test_stores_that_holes_place_must_not_race() -> None:
    """A scatter has solutions where its addresses are a permutation, and only there."""
    body = "i = cuda.grid(1)\ny[?sw_xform(i, 8)] = x[i]"
    found = solve(kernel(body, spec="[x[7 - i] for i in range(8)]"), Limits(all_solutions=True))
    assert [s.holes[0].formula for s in found.solutions] == ["7 - i"]
    assert solve(kernel(body, spec="[x[0] for i in range(8)]")).status == "unsat"
