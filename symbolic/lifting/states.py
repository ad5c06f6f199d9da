"""States of a running function: what variables hold on the paths that are not joined yet, and what must hold there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from msgspec import Struct

from symbolic.core.obligations import Here, Obligation, note
from symbolic.core.value_types import Boolean
from symbolic.errors import Place, SwizzleError
from symbolic.lifting.aliases import KeptList, with_all_kept
from symbolic.lifting.budget import UNLIMITED, Budget
from symbolic.lifting.conditions import conditions
from symbolic.lifting.merging import merge
from symbolic.values.guard import FALSE, TRUE, Guard


class Dead(Exception):
    """No input goes on from here, so that what follows is not run."""


class _Unset:
    """What a name holds on paths that have not assigned it."""

    def __repr__(self) -> str:
        return "nothing"


UNSET: Final = _Unset()


class PathSite(Struct, frozen=True):
    """A path at a place in the text, and what work its text may still ask for."""

    path: Guard
    where: Callable[[], Place]
    budget: Budget = UNLIMITED

    def narrowed(self, guard: Guard) -> PathSite:
        """Return the part of the path on which a guard holds."""
        return self if guard == TRUE else PathSite(conditions().both(self.path, guard), self.where, self.budget)

    def require(self, guard: Guard, text: str, *, demanded: bool = True) -> None:
        """Note that a guard must hold on this path; SwizzleError where it cannot on any."""
        if guard == TRUE:
            return
        wrong = conditions().both(self.path, -guard)
        if wrong == FALSE:
            return
        if wrong == TRUE and self.budget.limited:
            raise SwizzleError(
                text, place=self.where(), expected=self.budget.part, fix="compute with numbers and array elements"
            )
        if wrong == TRUE:
            raise SwizzleError(
                f"{text}, whatever the inputs are", place=self.where(), expected="inputs for which it does not",
                fix="a test before it, or other arguments",
            )  # fmt: skip
        holds = Boolean(conditions().formula(-wrong))
        note(Obligation(holds, demanded, text, self.where()))

    def fail(self, text: str) -> NoReturn:
        """Note that this path must not be taken, and leave it."""
        self.require(FALSE, text)
        raise Dead

    @property
    def here(self) -> Here:
        """The path and the place for what is called from this site."""
        return Here(lambda: conditions().formula(self.path), self.where())


class State(Struct):
    """The condition of some paths, and what the names hold on them; values never change, so a copy is shallow."""

    path: Guard
    names: dict[Any, Any]

    def on(self, guard: Guard) -> State | None:
        """Return the state of the paths on which a guard holds; None where there are none."""
        if guard == FALSE:
            return None
        path = self.path if guard == TRUE else conditions().both(self.path, guard)
        return None if path == FALSE else State(path, dict(self.names))

    def leave(self, around: State) -> None:
        """Note that these paths, a part of the surrounding state's, fail; raises `Dead` where they are all of them."""
        if self.path == around.path:
            raise Dead


def join(states: Sequence[State | None]) -> State | None:
    """Return the one state of paths that meet, given in the order of their tests; None where none is alive."""
    alive = [state for state in states if state is not None]
    if len(alive) < 2:
        return alive[0] if alive else None
    table = conditions()
    guards = table.apart(state.path for state in alive)
    names = dict.fromkeys(name for state in alive for name in state.names)
    kept = [name for name in names if type(name) is KeptList]
    if kept:
        with_all_kept((state.names for state in alive), kept)
    return State(
        table.any(state.path for state in alive),
        {
            name: merge((guard, state.names.get(name, UNSET)) for guard, state in zip(guards, alive, strict=True))
            for name in names
        },
    )
