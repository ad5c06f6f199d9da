"""Accumulators in which contributions cancel: the search finds every filling that is right, and no other one.

Brute force runs the concrete machine on every filling; the second reading, which shares no code, confirms that there
are no more.
"""

import itertools
from typing import Any

import pytest

from swizzle.answers.explain.explain import explain
from swizzle.commands.output import UNDECIDED
from swizzle.commands.report import as_text
from swizzle.commands.solve import exit_status
from swizzle.solving.cache.solve import is_final
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.algebra import orders
from symbolic.machine import contributions
from symbolic.values import data
from tests.differential.random_sketches import what_runs
from tests.differential.test_search_against_brute_force import functions
from tests.sketches import accumulates_of, kernel
from tests.slow_cases import slow_unless

PARITY = """
i = cuda.laneid
a = accumulator(i32, outer="^")
a.accumulate(x[i])
a.accumulate(x[?sw_xform(i, 4)], when=?sw_cond(i))
a.accumulate(x[?sw_xform(i, 4)])
y[i] = a.value
"""
THREE = """
i = cuda.laneid
a = accumulator(i32, outer="^")
a.accumulate(x[?sw_xform(i, 4)], when=?sw_cond(i))
a.accumulate(x[?sw_xform(i, 4)], when=?sw_cond(i))
a.accumulate(x[?sw_xform(i, 4)], when=?sw_cond(i))
y[i] = a.value
"""
MASKED = """
i = cuda.laneid
a = accumulator(i32, outer="^", inner="&")
for k in range(2):
    a.accumulate(x[?sw_xform({of})], x[k])
a.accumulate(x[?sw_xform(i, 4)], x[1], when=?sw_cond(i))
y[i] = a.value
"""
LINEAR = """
i = cuda.laneid
a = accumulator(i32, outer="+")
a.accumulate(x[i])
a.accumulate({second}, when=?sw_cond(i))
a.accumulate({third})
y[i] = a.value
"""
WEIGHTED = """
i = cuda.laneid
a = accumulator(i32, outer="+", inner="*"{final})
for k in range(2):
    a.accumulate(x[?sw_xform(i, 4, k)], i32(2 * k - 1))
a.accumulate(x[i], x[1], when=?sw_cond(i))
y[i] = a.value
"""


def compare(body: str, spec: str, space: Any) -> str:
    """Compare the solutions found with those of brute force; return the status, or 'undecided'."""
    sketch = kernel(body, spec=spec, arguments="x=i32[4], y=i32.out[4]", block=4, warp_size=4)
    problem = Problem.of(sketch.program, sketch.spec)
    made = problem.templates(space)
    each = [functions(t, p) for t, p in zip(made, problem.points, strict=True)]
    right = {}
    for choices in itertools.product(*each):
        run, wrong = problem.candidate(made, choices)
        if not run.violations and not wrong:
            right[what_runs(sketch.program, made, choices)] = accumulates_of(run)
    found = solve(sketch, Limits(space=space, all_solutions=True, certify=True))
    assert len(found.solutions) == len(right)
    assert found.status == ("sat" if right else "unsat")
    assert sorted(s.cost["accumulates"] for s in found.solutions) == sorted(right.values())
    assert {c["verdict"] for c in found.certificate.get("confirmed", ())} <= {"confirmed"}
    best = solve(sketch, Limits(space=space))
    if best.status == "unknown" and not right:  # only the second opinion told that there is none
        assert "cancel" in best.reason
        return "undecided"
    assert best.status == found.status
    if right:
        assert best.optimal and best.best.cost["accumulates"] == min(right.values())
    return found.status


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ("[v for v in x]", "sat"),  # what is not wanted comes in twice
        pytest.param("[0 for v in x]", "sat", marks=pytest.mark.slow),
        ("[x[0], x[1], x[1] ^ x[2], x[3]]", "unsat"),
        pytest.param("[x[i] ^ x[3 - i] ^ x[0] for i in range(4)]", "sat", marks=pytest.mark.slow),
        ("[x[i] + x[0] for i in range(4)]", "unsat"),
    ],
)
def test_parities(spec: str, status: str) -> None:
    """An item counts if it comes in an odd number of times."""
    assert compare(PARITY, spec, "1") == status


@pytest.mark.parametrize(
    ("of", "spec"),
    slow_unless(
        (
            (of, f"[{value} for i in range(4)]")
            for of in ("i, 4", "i, 4, k")
            for value in ("x[i] & x[1]", "x[0] & x[3]", "x[1]")
        ),
        lambda case: case[0] == "i, 4" and "x[i]" in case[1],
    ),
)
def test_parities_of_conjunctions(of: str, spec: str) -> None:
    """Products cancel as wholes."""
    compare(MASKED.format(of=of), spec, "1")


@pytest.mark.parametrize(("constant", "status", "limit"), [("1", "sat", 64), ("2", "unsat", 64), ("1", "unknown", 0)])
def test_parities_with_numbers(constant: str, status: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers fold with one another, so each item is asked apart, also those that cancel: `x[i]` here."""
    monkeypatch.setattr(data, "OTHERS_LIMIT", limit)
    body = """
i = cuda.laneid
acc = accumulator(i32, outer="xor", inner="xor", init=0)
acc.accumulate(x[?sw_xform(i, 4)], i32(1), when=?sw_cond(i, 2))
acc.accumulate(x[3], x[i])
y[i] = acc.value
"""
    spec = f"[x[i] ^ x[3] if i < 2 else {constant} ^ x[3] for i in range(4)]"
    sketch = kernel(body, spec=spec, arguments="x=i32[4], y=i32.out[4]", block=4, warp_size=4)
    assert solve(sketch, Limits(space="1")).status == status


def test_too_many_contributions_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cancelling is too much to be looked at, what is found is right, and 'none' is not claimed."""
    monkeypatch.setattr(contributions, "OFFERS_LIMIT", 2)
    arguments = "x=i32[4], y=i32.out[4]"
    plain = kernel(PARITY, spec="[x[i] ^ x[3 - i] for i in range(4)]", arguments=arguments, block=4, warp_size=4)
    found = solve(plain, Limits(space="1"))
    assert found.optimal and found.certificate["floor"] and "cancelling" not in found.certificate
    plain = kernel(THREE, spec="[x[max(i, 1)] for i in range(4)]", arguments=arguments, block=4, warp_size=4)
    found = solve(plain, Limits(space="1"))
    assert found.status == "sat" and found.solutions
    assert found.certificate["proved"][0]["claim"].startswith("no filling that was looked at")
    assert not found.optimal and exit_status(found) == UNDECIDED and is_final(found)
    said = as_text(found, [])
    assert "2 accumulates, proved minimal in Space 1, of the fillings that were looked at\n" in said
    assert "  open    whether one costs less in which terms cancel" in said
    every = solve(plain, Limits(space="1", all_solutions=True))
    assert "there may be more, in which terms cancel" in as_text(every, [], all_solutions=True)
    sure = solve(plain, Limits(space="1", certify=True))  # the second reading looks at all of them
    assert sure.optimal and "cancelling" not in sure.certificate and "  open" not in as_text(sure, [])
    assert {c["verdict"] for c in sure.certificate["confirmed"]} == {"confirmed"}
    cancels = kernel(PARITY, spec="[0 for v in x]", arguments=arguments, block=4, warp_size=4)
    found = solve(cancels, Limits(space="1"))
    assert found.status == "unknown" and "cancel" in found.reason
    explained = explain(cancels, Limits(space="1"))
    assert explained.status == "unknown" and "terms cancel, or are" in str(explained)
    refuted = solve(cancels, Limits(space="1", certify=True))
    assert refuted.status == "unknown" and [c["verdict"] for c in refuted.certificate["confirmed"]] == [
        "not confirmed: there is one that was not looked at"
    ]


HOLE = "x[?sw_xform(i, 4)]"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("second", "third", "spec", "status"),
    [
        (f"-{HOLE}", HOLE, "[v for v in x]", "sat"),
        pytest.param(f"-{HOLE}", HOLE, "[2 * v for v in x]", "sat", marks=pytest.mark.slow),
        (f"-{HOLE}", HOLE, "[x[i] - x[0] + x[3 - i] for i in range(4)]", "sat"),
        (f"2 * {HOLE}", f"-{HOLE}", "[v for v in x]", "unsat"),
        pytest.param(f"2 * {HOLE}", f"-{HOLE}", "[2 * v for v in x]", "sat", marks=pytest.mark.slow),
        pytest.param(f"2 * {HOLE}", f"{HOLE}", "[4 * v for v in x]", "sat", marks=pytest.mark.slow),
        pytest.param(f"2 * {HOLE}", f"3 * {HOLE}", "[4 * v for v in x]", "sat", marks=pytest.mark.slow),
        pytest.param(f"({HOLE} - x[0])", f"-{HOLE}", "[0 for v in x]", "sat", marks=pytest.mark.slow),
        (f"({HOLE} + x[0])", f"-{HOLE}", "[x[0] + x[i] for i in range(4)]", "sat"),
    ],
)
def test_linear_forms(second: str, third: str, spec: str, status: str) -> None:
    """An item counts with the sum of its coefficients."""
    assert compare(LINEAR.format(second=second, third=third), spec, "1") == status


CERTAIN = """
i = cuda.laneid
a = accumulator(i32, outer="+"{init})
a.accumulate(x[?sw_xform(i, 4)])
a.accumulate(-x[?sw_xform(i, 4)])
y[i] = a.value
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("init", "spec", "status"),
    [
        ("", "[0 for v in x]", "sat"),
        ("", "[x[i] - x[3 - i] for i in range(4)]", "sat"),
        (", init=3", "[3 for v in x]", "sat"),
        (", init=3", "[x[i] - x[3 - i] + 3 for i in range(4)]", "sat"),
        (", init=3", "[x[i] - x[3 - i] for i in range(4)]", "unsat"),
        (", init=3", "[x[i] + 3 for i in range(4)]", "unsat"),
    ],
)
def test_what_always_joins_cancels_too(init: str, spec: str, status: str) -> None:
    """No condition decides whether anything joins; what an accumulator begins with counts like the rest."""
    assert compare(CERTAIN.format(init=init), spec, "1") == status


NEGATIVE = """
i = cuda.laneid
a = accumulator(i32, outer="+")
a.accumulate(-{first}, when=?sw_cond(i))
a.accumulate(-{second})
y[i] = a.value
"""


@pytest.mark.parametrize(
    ("first", "second", "spec", "status"),
    [
        (HOLE, HOLE, "[-x[i] - x[3 - i] for i in range(4)]", "sat"),
        pytest.param(f"2 * {HOLE}", HOLE, "[-3 * v for v in x]", "sat", marks=pytest.mark.slow),
        (f"2 * {HOLE}", HOLE, "[-4 * v for v in x]", "unsat"),
    ],
)
def test_what_is_only_taken_off(first: str, second: str, spec: str, status: str) -> None:
    """Where all coefficients are negative, nothing cancels either."""
    assert compare(NEGATIVE.format(first=first, second=second), spec, "1") == status


def test_where_sums_are_too_many_one_contribution_brings_each_item(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such fillings are found, and their minimum is not claimed to be one of all; what is not wanted stays away."""
    monkeypatch.setattr(orders, "SUMS_LIMIT", 1)
    body = LINEAR.format(second=f"2 * {HOLE}", third=f"-{HOLE}")
    spec = "[x[i] - x[(i + 2) % 4] for i in range(4)]"
    sketch = kernel(body, spec=spec, arguments="x=i32[4], y=i32.out[4]", block=4, warp_size=4)
    found = solve(sketch, Limits(space="1", all_solutions=True))
    assert len(found.solutions) == 1 and "there may be more" in as_text(found, [], all_solutions=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("final", "spec", "status"),
    [
        ("", "[x[(i + 1) % 4] - x[i] + x[1] * x[i] for i in range(4)]", "sat"),
        pytest.param("", "[x[1] * x[i] for i in range(4)]", "sat", marks=pytest.mark.slow),
        (", final=lambda s: 2 * s + 1", "[2 * (x[(i + 1) % 4] - x[i]) + 2 * x[1] * x[i] + 1 for i in range(4)]", "sat"),
        (", final=lambda s: 2 * s", "[x[1] * x[i] for i in range(4)]", "unsat"),
    ],
)
def test_weighted_sums(final: str, spec: str, status: str) -> None:
    """Products with numbers are coefficients; what follows is taken off the linear form."""
    assert compare(WEIGHTED.format(final=final), spec, "1") == status
