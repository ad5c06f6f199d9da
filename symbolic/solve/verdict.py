"""What is answered to a question over guards (`symbolic.solve.guard_solver`): values, never exceptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from symbolic.solve.answer import Unknown
from symbolic.values.guard import Guard

Holds: TypeAlias = Callable[[Guard], bool]
Clauses: TypeAlias = Sequence[Sequence[Guard]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """There is a choice; `holds` tells which guards hold under it."""

    holds: Holds = field(repr=False)


@dataclass(frozen=True, slots=True)
class Excluded:
    """There is none; `core` are assumptions that already exclude all."""

    core: frozenset[Guard]


Verdict: TypeAlias = Chosen | Excluded | Unknown
