"""Certificates: the claims of a search, and their confirmation by a second engine.

A claim is negative ('no filling exists', 'none costs 5 or less', 'these are all'), so a solution cannot show it.
`confirm` poses each claim again from the start: a fresh encoding of the same problem, decided by another solver.
What the two routes share is the machine, the templates and the encoding; what they do not share is any solver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from swizzle.search.cegis import Candidate, Cegis
from swizzle.search.problem import Problem
from swizzle.solution import SpaceName
from symbolic.guard import OutOfTime
from symbolic.solver import SolverName, Unknown, Unsat, quickest_boolean

Engine: TypeAlias = "SolverName | Literal['tables']"  # 'tables' is `swizzle.search.tables`, no solver


@dataclass(frozen=True, slots=True)
class Claim:
    """No filling in this space costs `at_most` or less (None: none exists at all), besides those `known`."""

    space: SpaceName
    at_most: int | None
    known: tuple[Candidate, ...]
    solver: Engine
    evidence: Mapping[str, int]

    def text(self) -> str:
        """Return the claim in words."""
        if self.known:
            return f"no filling besides those found: {len(self.known)}"
        return "no filling exists" if self.at_most is None else f"no filling costs {self.at_most} or less"

    def as_json(self) -> dict[str, Any]:
        return {"space": self.space, "claim": self.text(), "solver": self.solver, **self.evidence}


def second_solver(solver: Engine) -> SolverName:
    """Return a solver that shares no code with the one that was used."""
    return "cvc5" if solver == "z3" else quickest_boolean() if solver == "tables" else "z3"


def confirm(problem: Problem, claims: Sequence[Claim], deadline: float | None) -> list[dict[str, Any]]:
    """Pose every claim again to a second solver; say for each whether it was confirmed, refuted or left open."""
    return [_confirm(problem, claim, deadline) for claim in claims]


def _confirm(problem: Problem, claim: Claim, deadline: float | None) -> dict[str, Any]:
    solver = second_solver(claim.solver)
    try:
        with Cegis(problem, claim.space, solver, deadline, lambda _: None) as cegis:
            for candidate in claim.known:
                cegis.forbid(candidate)
            answer = cegis.find(claim.at_most)
    except OutOfTime:
        answer = Unknown("out of time")
    except KeyboardInterrupt:
        answer = Unknown("interrupted")
    assert not isinstance(answer, Candidate), f"{solver} refutes the claim of {claim.solver}: {claim.text()}"
    verdict = "confirmed" if isinstance(answer, Unsat) else f"open: {answer.reason}"
    return {"space": claim.space, "claim": claim.text(), "solver": solver, "verdict": verdict}
