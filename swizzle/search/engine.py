"""The contract of an engine: what looks for fillings in one space, whatever it is made of."""

from __future__ import annotations

from typing import Protocol

from swizzle.audit.certificate import EngineName
from swizzle.problem.candidate import Candidate, NoFilling
from symbolic.solve.answer import Unknown
from templates.holes import Space


class Engine(Protocol):
    """A search in one space, kept between questions."""

    @property
    def space(self) -> Space: ...

    @property
    def name(self) -> EngineName:
        """What a certificate calls it."""

    @property
    def narrowed(self) -> bool:
        """Say whether a filling may be right that the engine does not look at, so that 'none' is no proof."""

    def find(self, at_most: int | None = None) -> Candidate | NoFilling | Unknown:
        """Find a filling of at most this cost that was not forbidden, or say that none exists."""

    def forbid(self, candidate: Candidate) -> None:
        """Rule out all fillings that run like a candidate."""

    def evidence(self) -> dict[str, int]:
        """Return how much a proof took."""

    def close(self) -> None:
        """Free what it holds; more than once is fine."""
