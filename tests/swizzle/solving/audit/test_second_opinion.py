"""The independent route: its reading and its verdicts against brute force; wrong claims are refuted."""

import itertools
import time
from random import Random
from typing import Any, Literal

import numpy as np
import pytest

from swizzle.solving.audit.certificate import Claim, confirm, confirm_equal
from swizzle.solving.audit.random_check import disagreement
from swizzle.solving.audit.second_opinion import SecondOpinion
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.errors import SwizzleError
from symbolic.second.forward import NotCovered
from symbolic.solve.answer import Unsat
from templates.naive import NaiveXform
from tests.differential.random_sketches import RandomSketch, functions, specification_of, what_runs, without_question
from tests.sketches import accumulates_of, kernel

SUM = """
i = cuda.laneid
a = accumulator(i32, outer="+")
for k in range(2):
    a.accumulate(x[i], when=?sw_cond(i, k))
    a.accumulate(x[(i + 1) % 8], when=?sw_cond(i, k))
y[i] = a.value
"""


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 100), marks=pytest.mark.slow)])
def test_verdicts_agree_with_brute_force(seeds: range) -> None:
    """On random sketches: whether there is a filling, the least cost, and that all fillings are all."""
    outcomes = [_compare(seed, "123"[seed % 3]) for seed in seeds]
    assert outcomes.count("sat") >= 2
    assert outcomes.count("unsat") >= 1


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 160), marks=pytest.mark.slow)])
@pytest.mark.parametrize("depth", [1, 2])
def test_verdicts_on_the_naive_template_agree_with_brute_force(depth: Any, seeds: range) -> None:
    """The same of random sketches whose `?sw_xform` is any small expression."""
    outcomes = [_compare(seed, "1", depth) for seed in seeds]
    assert outcomes.count("sat") >= 2
    assert outcomes.count("unsat") >= 1


def _compare(seed: int, space: Any, naive: Literal[0, 1, 2] = 0) -> str:
    random = Random(seed)
    sketch = RandomSketch(random).sketch()
    program = sketch.program
    try:
        probe = without_question(program)
    except SwizzleError:
        return "refused"
    if naive and not any(h.kind == "xform" for h in program.holes):
        return "no matter"
    probe.naive = naive
    made = probe.templates(space)
    each = [functions(t, p) for t, p in zip(made, probe.points, strict=True)]
    if not program.holes or np.prod([len(e) for e in each]) > 40:
        return "passed over"
    fillings = list(itertools.product(*each))
    truth = random.choice([f for f in fillings if not probe.candidate(made, f)[0].violations] or fillings)
    problem = Problem.of(program, specification_of(program, made, truth, random), naive=naive)
    distinct = {}  # fillings that run alike are one
    for choices in fillings:
        run, wrong = problem.candidate(made, choices)
        if not run.violations and not wrong:
            distinct[what_runs(program, made, choices)] = accumulates_of(run), choices
    right = list(distinct.values())
    known = [
        tuple(lambda arguments, t=t, c=c: t.apply(c, arguments) for t, c in zip(made, choices, strict=True))
        for _, choices in right
    ]
    try:
        assert isinstance(_find(problem, space, None), Unsat) is not bool(right)
        assert isinstance(_find(problem, space, None, known), Unsat)
        assert not right or not isinstance(_find(problem, space, None, known[1:]), Unsat)
        if right and (least := min(cost for cost, _ in right)):
            assert isinstance(_find(problem, space, least - 1), Unsat)
            assert not isinstance(_find(problem, space, least), Unsat)
    except NotCovered:
        return "not covered"
    return "sat" if right else "unsat"


def _find(problem: Problem, space: Any, at_most: int | None, known: Any = ()) -> Any:
    with SecondOpinion(problem, space, "z3", time.monotonic() + 60) as opinion:
        return opinion.find(at_most, known)


def claims_about(spec: str) -> tuple[Problem, Any, tuple[Candidate, ...]]:
    sketch = kernel(SUM, spec=spec, block=8, warp_size=8)
    problem = Problem.of(sketch.program, sketch.spec)
    return problem, sketch, ()


def test_wrong_claims_are_refuted() -> None:
    """A planted fault, 'no filling', 'none cheaper' or 'these are all', ends in an assertion that names the claim."""
    problem, sketch, _ = claims_about("[x[i] + x[(i + 1) % 8] for i in range(8)]")
    result = solve(sketch, Limits(space="1", all_solutions=True, certify=True))
    assert {c["verdict"] for c in result.certificate["confirmed"]} == {"confirmed"}
    least = result.best.cost["accumulates"]

    def claim(at_most: int | None, known: tuple[Candidate, ...] = ()) -> Claim:
        return Claim("1", at_most, known, "cadical", {})

    assert confirm(problem, [claim(least - 1)], None)[0]["verdict"] == "confirmed"
    with pytest.raises(AssertionError, match="the second opinion refutes 'no filling exists' in Space 1"):
        confirm(problem, [claim(None)], None)
    with pytest.raises(AssertionError, match=f"refutes 'no filling costs {least} or less'"):
        confirm(problem, [claim(least)], None)
    made = problem.templates("1")
    each = [functions(t, p) for t, p in zip(made, problem.points, strict=True)]
    right = [c for c in itertools.product(*each) if not problem.candidate(made, c)[1]]
    assert len(right) == len(result.solutions) > 1
    known = tuple(Candidate("1", c, least) for c in right)
    assert confirm(problem, [claim(None, known)], None)[0]["verdict"] == "confirmed"
    with pytest.raises(AssertionError, match=f"refutes 'no filling besides those found: {len(known) - 1}'"):
        confirm(problem, [claim(None, known[1:])], None)


@pytest.mark.parametrize(("mode", "by", "moved"), [("up", 1, "t - 1"), ("down", 2, "t + 2"), ("xor", 3, "t ^ 3")])
def test_shuffles_stay_in_their_warp(mode: str, by: int, moved: str) -> None:
    """A lane that would look outside its warp keeps its own value; so it is in the second warp of a block, too."""
    value = f"cuda.shfl_{mode}_sync(cuda.FULL_MASK, a, {by})"
    text = f"a = x[cuda.grid(1)]\ny[cuda.grid(1)] = {value} if ?sw_cond(i, 0) else a"
    source = f"(({moved}) if 0 <= ({moved}) < 4 else t)"
    spec = f"[x[w * 4 + {source}] for w in range(2) for t in range(4)]"
    sketch = kernel(f"i = cuda.laneid\n{text}", spec=spec, block=8, grid=1, warp_size=4)
    result = solve(sketch, Limits(space="1", all_solutions=True, certify=True))
    assert result.status == "sat"
    assert [claim["verdict"] for claim in result.certificate["confirmed"]] == ["confirmed"]
    problem = Problem.of(sketch.program, sketch.spec)
    with pytest.raises(AssertionError, match="the second opinion refutes 'no filling exists' in Space 1"):
        confirm(problem, [Claim("1", None, (), "cadical", {})], None)


def test_a_search_that_errs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A floor that is one too high ends the search at a filling that is not the cheapest; `--certify` says so."""
    _, sketch, _ = claims_about("[x[i] + x[(i + 1) % 8] for i in range(8)]")
    monkeypatch.setattr("swizzle.solving.costs.accumulates.floor", lambda problem: 3)
    monkeypatch.setattr("swizzle.solving.search.metasketch._Search.at_floor", lambda self: self.best is not None)
    with pytest.raises(AssertionError, match="the second opinion refutes"):
        solve(sketch, Limits(space="1", certify=True))


PAIRED = "y[cuda.laneid] = x[?sw_xform(cuda.laneid, 8)]"
REVERSED_BITS = "[x[i % 2 * 4 + i // 2 % 2 * 2 + i // 4] for i in range(8)]"
FOLDED = "[x[i % 4 + i // 4] for i in range(8)]"  # of depth 2


def test_the_naive_template_is_certified() -> None:
    """'None', 'all' and 'cheapest' are confirmed of either depth."""
    sketch = kernel(PAIRED, spec=REVERSED_BITS, warp_size=8)
    for depth in ("naive-1", "naive-2"):
        none = solve(sketch, Limits(template=depth, certify=True))  # type: ignore[arg-type]
        assert [(c["claim"], c["verdict"]) for c in none.certificate["confirmed"]] == [
            ("no filling exists", "confirmed")
        ]
    sketch = kernel(SUM.replace("x[i]", "x[?sw_xform(i, 8)]"), spec="[x[7 - i] for i in range(8)]", warp_size=8)
    cheapest = solve(sketch, Limits(template="naive-1", certify=True, space="1"))
    assert [c["verdict"] for c in cheapest.certificate["confirmed"]] == ["confirmed"]
    every = solve(sketch, Limits(template="naive-1", certify=True, space="1", all_solutions=True))
    assert len(every.solutions) > 1
    assert {c["verdict"] for c in every.certificate["confirmed"]} == {"confirmed"}


def test_wrong_claims_about_the_naive_template_are_refuted() -> None:
    """What depth 1 has not and depth 2 has is told apart."""
    sketch = kernel(PAIRED, spec=FOLDED, warp_size=8)
    claim = Claim("1", None, (), "glucose", {})
    problem = Problem.of(sketch.program, sketch.spec, naive=1)
    assert confirm(problem, [claim], None)[0]["verdict"] == "confirmed"
    problem = Problem.of(sketch.program, sketch.spec, naive=2)
    with pytest.raises(AssertionError, match="the second opinion refutes 'no filling exists' in Space 1"):
        confirm(problem, [claim], None)
    assert confirm(problem, [claim], time.monotonic())[0]["verdict"] == "not confirmed: not done within 0 s"


def test_a_naive_template_without_an_operator_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that forgets remainders finds nothing; `--certify` does."""
    sketch = kernel(PAIRED, spec="[x[i % 4] for i in range(8)]", warp_size=8)
    assert solve(sketch, Limits(template="naive-1", certify=True)).status == "sat"
    monkeypatch.setattr("templates.naive._BY_CONSTANT", ("*", "//"))
    monkeypatch.setattr("templates.naive.naive_xform", NaiveXform)  # not what was kept of the whole template
    with pytest.raises(AssertionError, match="the second opinion refutes 'no filling exists'"):
        solve(sketch, Limits(template="naive-1", certify=True))


def test_out_of_time_is_no_verdict() -> None:
    """What could not be confirmed in time is named, with the time."""
    problem, _, _ = claims_about("[x[i] for i in range(8)]")
    (found,) = confirm(problem, [Claim("1", 0, (), "z3", {})], time.monotonic())
    assert (found["verdict"], found["solver"]) == ("not confirmed: not done within 0 s", "cvc5")


TWO_TAPS = """
i = cuda.laneid
a = accumulator({dtype}, outer="+", inner="*"{final})
for k in range(2):
    a.accumulate(x[i + k], w[k])
y[i] = a.value
"""


@pytest.mark.parametrize(("dtype", "final", "after"), [("f32", ", final=lambda s: s / 3", " / 3"), ("u32", "", "")])
def test_random_numbers_find_what_is_wrong(dtype: str, final: str, after: str) -> None:
    """A kernel that is right agrees on floats modulo a prime and on whole numbers; another one does not."""
    body, arrays = TWO_TAPS.format(dtype=dtype, final=final), f"x={dtype}[9], w={dtype}.const[2], y={dtype}.out[8]"
    for taps, cell in (("x[i] * w[0] + w[1] * x[i + 1]", ""), ("x[i] * w[0] + w[1] * x[i]", "y[0]")):
        sketch = kernel(body, spec=f"[({taps}){after} for i in range(8)]", arguments=arrays, warp_size=8)
        assert disagreement(sketch.program, sketch.spec) == cell


def test_a_wrong_solution_is_caught() -> None:
    """A solution of another sketch fails on random numbers."""
    sketch = kernel("y[cuda.laneid] = x[?sw_xform(cuda.laneid, 8)]", spec="[x[7 - i] for i in range(8)]", warp_size=8)
    problem, solutions = Problem.of(sketch.program, sketch.spec), solve(sketch).solutions
    assert confirm_equal(problem, solutions, sketch.spec)["verdict"] == "confirmed on random numbers"
    with pytest.raises(AssertionError, match=r"differs from its specification on random numbers, at y\[0\]"):
        confirm_equal(problem, solutions, lambda x: [x[i] for i in range(8)])


def test_constants_are_the_numbers_that_they_are() -> None:
    """0.1 + 0.2 is exact in a term, and not what Python makes of it; the same sum in the specification is the same."""
    body = "i = cuda.laneid\nv = x[?sw_xform(i, 8)]\ny[i] = v + 0.1 + 0.2"
    arrays = "x=f64[8], y=f64.out[8]"
    sketch = kernel(body, spec="[x[i] + (0.1 + 0.2) for i in range(8)]", arguments=arrays, warp_size=8)
    assert solve(sketch, Limits(space="1")).status == "unsat"
    sketch = kernel(body, spec="[x[i] + 0.2 + 0.1 for i in range(8)]", arguments=arrays, warp_size=8)
    result = solve(sketch, Limits(certify=True))
    assert result.certificate["tried"]["verdict"] == "confirmed on random numbers"
