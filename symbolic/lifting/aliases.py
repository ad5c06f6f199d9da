"""Lists and records that several names hold: what a change of one does to all who hold it.

A list is a value with a name (`Mutable.names`). Where a list is changed that others hold, too, its new version takes
the place of the old one in all that the state holds. A change of a list that was there before a function was called is
kept in the state under a `KeptList`, until the function has returned and its caller does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from msgspec.structs import replace

from symbolic.core.structures import is_record, mapped
from symbolic.errors import SwizzleError
from symbolic.lifting.environment import Closure
from symbolic.lifting.merging import merge
from symbolic.lifting.values import Alternatives, Mutable, list_names


class KeptList:
    """The key under which a state has the newest version of a list that was there before its function was called."""

    __slots__ = ("number", "original")

    def __init__(self, number: int, original: Any) -> None:
        self.number = number
        self.original = original

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeptList) and other.number == self.number

    def __hash__(self) -> int:
        return hash((KeptList, self.number))


def only_name(value: Any, *, of_those_that_change: bool = False) -> int | None:
    """Return the name of the one list or record that a value is, in whatever version, or is where it is any of those
    that change; None where it may be several, or none."""
    parts = [part for _, part in value.parts] if isinstance(value, Alternatives) else [value]
    if of_those_that_change:
        parts = [part for part in parts if isinstance(part, Mutable)]
    if not all(isinstance(part, Mutable) for part in parts):
        return None
    names = frozenset[int]().union(*(part.names for part in parts))
    return next(iter(names)) if len(names) == 1 else None


def replaced(value: Any, versions: Mapping[int, Any], met: dict[int, Any] | None = None) -> Any:
    """Return a value in which lists have other versions; SwizzleError where one may be one of several lists.

    What is at several places is made once, and is in `met`.
    """
    if list_names(value).isdisjoint(versions):
        return value
    met = {} if met is None else met
    if id(value) not in met:
        met[id(value)] = _replaced(value, versions, met)
    return met[id(value)]


def _replaced(value: Any, versions: Mapping[int, Any], met: dict[int, Any]) -> Any:
    match value:
        case Mutable():
            if value.names.isdisjoint(versions):
                return value.like((replaced(item, versions, met) for item in value.items), value.names)
            name = only_name(value)
            return versions[name] if name is not None else _ambiguous()
        case Alternatives():
            return merge((guard, replaced(part, versions, met)) for guard, part in value.parts)
        case dict():
            return {key: replaced(item, versions, met) for key, item in value.items()}
        case Closure():
            captured: dict[str, Any] = {}
            met[id(value)] = made = replace(value, captured=captured, defaults={
                name: replaced(each, versions, met) for name, each in value.defaults.items()
            })  # fmt: skip
            captured |= {name: replaced(each, versions, met) for name, each in value.captured.items()}
            return made
    assert isinstance(value, tuple) or is_record(value)
    return mapped(lambda item: replaced(item, versions, met), value)


def _ambiguous() -> NoReturn:
    raise SwizzleError(
        "a list changes, and a value that may be this list or another would change with it",
        expected="a list of which it is known who holds it", fix="xs = list(xs), before it is changed",
    )  # fmt: skip


def refreshed(original: Any, versions: Mapping[int, Any]) -> Any:
    """Return a list with the newest versions of what is in it."""
    if isinstance(original, Alternatives):
        return merge((guard, refreshed(part, versions)) for guard, part in original.parts)
    if original.inner.isdisjoint(versions):
        return original
    return original.like((replaced(item, versions) for item in original.items), original.names)


def with_all_kept(states: Iterable[dict[Any, Any]], kept: Iterable[KeptList]) -> None:
    """Let each state that did not change a list have it as it was, with the newest versions of what is in it."""
    kept = list(kept)
    for names in states:
        versions = {each.number: names[each] for each in kept if each in names}
        missing = [each for each in kept if each not in names]
        inside = versions | {each.number: each.original for each in missing}
        for each in missing:
            names[each] = refreshed(each.original, {n: v for n, v in inside.items() if n != each.number})
