"""Answers to questions over guards (`symbolic.solve.guard_solver`): values, never exceptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from symbolic.solve.answer import Unknown
from symbolic.values.guard import Guard

Holds: TypeAlias = Callable[[Guard], bool]
Clauses: TypeAlias = Sequence[Sequence[Guard]]


class Possible(Struct, frozen=True):
    """Some choice is possible; `holds` tells which guards hold under it."""

    holds: Holds


class Excluded(Struct, frozen=True):
    """No choice is possible; `core` holds the assumptions that already exclude all of them."""

    core: frozenset[Guard]


Verdict: TypeAlias = Possible | Excluded | Unknown
