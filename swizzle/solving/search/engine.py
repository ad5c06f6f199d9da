"""What looks for fillings in one space: the interface of all searches."""

from __future__ import annotations

from typing import Protocol

from swizzle.solving.audit.certificate import EngineName
from swizzle.solving.problem.candidate import Candidate, NoFilling
from symbolic.solve.answer import Unknown
from templates.holes import Space


class Engine(Protocol):
    """A search in one space, kept between questions."""

    @property
    def space(self) -> Space: ...

    @property
    def name(self) -> EngineName:
        """The engine's name in a certificate."""

    @property
    def narrowed(self) -> bool:
        """Say whether the engine leaves out fillings that may be right, so that 'none' is no proof."""

    def find(self, at_most: int | None = None) -> Candidate | NoFilling | Unknown:
        """Find a filling of at most this cost that was not forbidden, or say that none exists."""

    def forbid(self, candidate: Candidate) -> None:
        """Rule out all fillings that run like a candidate."""

    def evidence(self) -> dict[str, int]:
        """Return how large a proof was."""

    def close(self) -> None:
        """Free what the engine holds; may be called more than once."""
