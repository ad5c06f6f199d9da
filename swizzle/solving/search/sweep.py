"""A search that is one of many: what their answers say is tried first (`bench/sweeps.py`; no command opens a sweep)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from symbolic.ir.program import Expr, Hole
from templates.chooser import Choice
from templates.shortest import Shortest
from templates.template import PointTable, Template


class Sweep(Protocol):
    """What a search asks of the searches before it, and tells the next; each of `holes` by its number."""

    def guesses(self, holes: Sequence[Hole], templates: Sequence[Template]) -> Iterator[tuple[int, Choice]]:
        """Yield holes, each with a function that it may become."""

    def learn(self, holes: Sequence[Hole], hole: int, constants: Mapping[str, int]) -> None:
        """Take in what a hole became in a right filling."""

    def recognised(
        self, holes: Sequence[Hole], hole: int, template: Template, points: PointTable, values: PointTable
    ) -> Choice | None:
        """Return a function that has these values at points, -1 where they are free."""

    def formula(self, holes: Sequence[Hole], hole: int, shortest: Shortest, own: Expr, values: PointTable) -> Expr:
        """Return a formula with these values at a hole's points, no longer than `own`, which has them."""


_SWEEP: ContextVar[Sweep | None] = ContextVar("_SWEEP", default=None)


def sweep_around() -> Sweep | None:
    """Return the sweep that a search is part of, if there is one."""
    return _SWEEP.get()


@contextmanager
def sweeping(sweep: Sweep) -> Iterator[None]:
    """Make the searches within this one sweep."""
    token = _SWEEP.set(sweep)
    try:
        yield
    finally:
        _SWEEP.reset(token)
