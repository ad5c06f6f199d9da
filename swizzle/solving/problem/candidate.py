"""What an engine answers: a filling that is right, or that there is none."""

from __future__ import annotations

from dataclasses import dataclass, field

from swizzle.solving.problem.many import Values
from templates.chooser import Choice
from templates.holes import Space


@dataclass(frozen=True, slots=True)
class Candidate:
    """A verified filling: one choice for each hole, of a space's templates, and its cost.

    If `values` says what each hole gives at its points, the choices are those with the simplest formulas.
    """

    space: Space
    choices: tuple[Choice, ...]
    cost: int
    values: Values | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NoFilling:
    """There is no filling of at most that cost."""


@dataclass(slots=True)
class Stats:
    """What a search did."""

    queries: int = 0
    counterexamples: int = 0
