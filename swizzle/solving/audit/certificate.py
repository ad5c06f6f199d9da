"""Certificates: the claims of a search, and their confirmation by an independent route (`--certify`).

A claim is negative ('no filling exists', 'none costs 5 or less', 'these are all'), so a solution cannot show it.
`confirm` asks about each claim again through `solving.audit.second_opinion`. It uses the same machine as the search,
but other templates, another encoding and another solver. `solving.audit.random_check` runs solutions on random numbers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from swizzle.solving.audit.random_check import INPUTS, SMALL_INPUTS, disagreement, small_difference
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.problem import Problem
from swizzle.solving.solution.solution import Solution, SpaceName
from symbolic.algebra.residues import PRIME
from symbolic.algebra.states import word_functions_of
from symbolic.limits import OutOfTime
from symbolic.solve.answer import Unknown, Unsat
from symbolic.solve.engines import SolverName, quickest_boolean

EngineName: TypeAlias = "SolverName | Literal['tables', 'counting', 'exhaustion']"  # the latter three use no solver
SECONDS = 300.0  # for each claim, where the caller sets no limit


class Claim(Struct, frozen=True):
    """No filling in this space costs `at_most` or less (None: none exists at all), besides those `known`.

    `cost` is what the bound is about; a `narrowed` claim leaves out fillings in which terms cancel, or are multiples of
    others.
    """

    space: SpaceName
    at_most: int | None
    known: tuple[Candidate, ...]
    solver: EngineName
    evidence: Mapping[str, int]
    cost: str = "accumulates"
    narrowed: bool = False

    def text(self) -> str:
        """Return the claim in words."""
        some = "no filling" if not self.narrowed else "no filling that was looked at"
        some = some if self.at_most is None else f"{some} costs {self.at_most} or less"
        if self.known:
            return f"{some}{' ' if self.at_most is None else ', '}besides those found: {len(self.known)}"
        return f"{some} exists" if self.at_most is None else some

    def as_json(self) -> dict[str, Any]:
        return {"space": self.space, "claim": self.text(), "solver": self.solver, **self.evidence}


def second_solver(solver: EngineName) -> SolverName:
    """Return the quickest solver whose search shares no code with the one that was used."""
    if solver in ("tables", "counting", "exhaustion"):
        return quickest_boolean()
    if solver == "glucose":
        return "cadical"
    return "cvc5" if solver == "z3" else "z3"


def confirm(problem: Problem, claims: Sequence[Claim], deadline: float | None) -> list[dict[str, Any]]:
    """Ask the second opinion about every claim; say for each whether it was confirmed, or why not."""
    return [_confirm(problem, claim, deadline) for claim in claims]


def _confirm(problem: Problem, claim: Claim, deadline: float | None) -> dict[str, Any]:
    solver, started = second_solver(claim.solver), time.monotonic()
    last = started + SECONDS if deadline is None else min(deadline, started + SECONDS)
    doubt = _doubt(problem, claim, solver, last)
    return {
        "space": claim.space,
        "claim": replace(claim, narrowed=False).text(),
        "solver": solver,
        "verdict": f"not confirmed: {doubt}" if doubt else "confirmed",
        "seconds": round(time.monotonic() - started, 2),
    }


def _doubt(problem: Problem, claim: Claim, solver: SolverName, deadline: float) -> str:
    """Return why a claim is not confirmed, '' where it is; a claim that is wrong is a bug of ours.

    The second opinion leaves out no filling: one that a narrowed claim leaves out does not refute it.
    """
    if claim.at_most is not None and claim.cost != "accumulates":
        return f"a bound on {claim.cost} is not followed"
    from swizzle.solving.audit.second_opinion import Lacking, SecondOpinion
    from symbolic.second.forward import NotCovered

    templates = problem.templates
    known = [
        tuple(
            lambda arguments, made=made, choice=choice: made.apply(choice, arguments)
            for made, choice in zip(templates(candidate.space), candidate.choices, strict=True)
        )
        for candidate in claim.known
    ]
    started = time.monotonic()
    try:
        with SecondOpinion(problem, claim.space, solver, deadline) as opinion:
            answer = opinion.find(claim.at_most, known)
    except NotCovered as reason:
        return f"{reason} is not followed"
    except Lacking:
        assert problem.families, "the second description of a family of ours lacks a function that was found"
        return "the second description of a family lacks a filling that was found"
    except KeyboardInterrupt:
        return "interrupted"
    except OutOfTime:
        answer = Unknown("out of time")
    if claim.narrowed and not isinstance(answer, Unsat | Unknown):
        return "there is one that was not looked at"
    assert isinstance(answer, Unsat | Unknown), f"the second opinion refutes '{claim.text()}' in Space {claim.space}"
    return "" if isinstance(answer, Unsat) else f"not done within {max(0.0, time.monotonic() - started):.0f} s"


def confirm_equal(problem: Problem, solutions: Sequence[Solution], spec: Any) -> dict[str, Any]:
    """Run every solution and the specification on random numbers; a solution that differs is a bug of ours.

    If constants are fractions, folding them rounds, and exact numbers show that: then a difference settles nothing.
    """

    found = {
        "claim": "equal to the specification for all inputs",
        "how": f"whole numbers of full size, floats as numbers modulo {PRIME}, no terms",
        "inputs": INPUTS,
    }
    if any(word_functions_of(each.program) for each in solutions):  # which are associative of words, not of residues
        differs = next((cell for each in solutions if (cell := small_difference(each.program, spec))), "")
        found |= {"how": "small whole numbers, floats to five digits, no terms", "inputs": SMALL_INPUTS}
        verdict = (
            f"not confirmed: {differs} differs on small whole numbers, which may not be what is promised of elements"
        )
        return found | {"verdict": verdict if differs else "confirmed on random numbers"}
    rounds = any(op == "const" and args[0] % 1 for op, args in problem.terms.nodes)
    verdict = "confirmed on random numbers"
    for solution in solutions:
        cell = disagreement(solution.program, spec)
        assert rounds or not cell, f"a solution differs from its specification on random numbers, at {cell}"
        if cell:
            verdict = f"not confirmed: {cell} differs on random numbers, by what rounding does to constants, or more"
    return found | {"verdict": verdict}
