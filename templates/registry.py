"""Which templates a hole has in a space, and which template a solution's constants belong to.

The table of holes (`templates/holes.py`) names families of templates; here the names get their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from symbolic.errors import SwizzleError
from symbolic.extensions import extension, extension_names
from symbolic.ir.program import Hole
from templates import cond, naive, part, xform, xor
from templates.chooser import Choice
from templates.either import Either
from templates.holes import HOLE_FAMILIES, SPACES, Point, Space
from templates.template import Template, TemplateFamily
from templates.words import atom

FAMILIES: Final[dict[str, TemplateFamily]] = {
    family.name: family for family in (xform.FAMILY, part.FAMILY, cond.FAMILY, xor.FAMILY, naive.FAMILY)
}


def template(
    hole: Hole,
    points: Sequence[Point],
    space: Space,
    depth: Literal[0, 1, 2] = 0,
    families: tuple[TemplateFamily, ...] = (),
) -> Template:
    """Return the template of a hole for the points at which it is asked; holes that are alike share it.

    `depth` is that of the naive template, 0 for the families of the space; `families` join the last space.
    """
    if depth and hole.kind == naive.FAMILY.kind:
        return naive.naive_xform(hole, tuple(points), depth)
    return _template(hole.kind, hole.size, len(hole.arguments), tuple(points), space, families)


@lru_cache(maxsize=256)
def _template(
    kind: str, size: int, arity: int, points: tuple[Point, ...], space: Space, families: tuple[TemplateFamily, ...]
) -> Template:
    names = HOLE_FAMILIES[kind].spaces
    if space != SPACES[-1]:
        (own,) = names[space]
        made = FAMILIES[own].make(size, arity, points, space)
        assert made is not None, f"a {kind} has no template in Space {space}"
        return made
    before = SPACES[-2]
    some = [FAMILIES[name] for name in names[space] if name not in names[before]]
    some += [family for family in families if family.kind == kind]
    more = [(family.name, made) for family in some if (made := family.make(size, arity, points, space)) is not None]
    whole = _template(kind, size, arity, points, before, ())
    if not more:
        return whole
    return Either([*names[before], *(name for name, _ in more)], [whole, *(made for _, made in more)])


# ---- users' own families ---------------------------------------------------------------------------------------

_USERS: dict[str, TemplateFamily] = {}
"""Those that were solved with: constants are read back by them, in this process."""


def register(families: Sequence[TemplateFamily]) -> tuple[TemplateFamily, ...]:
    """Make families known by their names, and return them; a later one of the same name takes the place of another.

    Raises SwizzleError for what is no family, or has a name or a kind that it cannot have.
    """
    for family in families:
        if not isinstance(family, TemplateFamily):
            raise SwizzleError(
                f"{family!r} is no family of templates",
                expected="a templates.template.TemplateFamily",
                mend="see docs/extend.md",
            )
        if family.name in FAMILIES or not family.name.isidentifier():
            raise SwizzleError(
                f"a family is called {family.name!r}", expected="a name of its own, without spaces", mend="rename it"
            )
        if family.kind not in HOLE_FAMILIES:
            raise SwizzleError(
                f"the family {family.name} is for holes of the kind {family.kind!r}",
                expected=f"one of {', '.join(HOLE_FAMILIES)}",
            )
    names = [family.name for family in families]
    if len(set(names)) < len(names):
        raise SwizzleError(f"two families of the same name: {', '.join(names)}", expected="each of them once")
    _USERS.update({family.name: family for family in families})
    return tuple(families)


def families_called(names: Sequence[str]) -> tuple[TemplateFamily, ...]:
    """Return families by what installed packages call them; SwizzleError for a name that none has."""
    found = []
    for name in names:
        family = extension("families", name)
        if family is None:
            known = extension_names("families")
            raise SwizzleError(
                f"no installed package has a family {name!r}",
                expected=f"one of {', '.join(known)}" if known else "a package with the entry point swizzle.families",
                mend="install the package in this Python's environment (docs/extend.md)",
            )
        if getattr(family, "name", name) != name:
            raise SwizzleError(
                f"the family {name!r} calls itself {family.name!r}",
                expected="one name, by which a saved solution finds its family again",
                mend=f"write {family.name} = ... under swizzle.families in the package's metadata",
            )
        found.append(family)
    return register(found)


def _known(name: str) -> TemplateFamily | None:
    return FAMILIES.get(name) or _USERS.get(name)


# ---- from constants back to functions --------------------------------------------------------------------------

ANY_SHIFT: Final[tuple[Point, ...]] = ((0, -1),)


def function_of(hole: Hole, constants: Mapping[str, Any], plain_k: bool = False) -> tuple[Template, Choice]:
    """Return a hole's function, given its constants, and whether `k` alone is in range where it is the formula.

    Raises ValueError for constants that are no function of the hole.
    """
    own = FAMILIES[HOLE_FAMILIES[hole.kind].spaces["1"][0]]
    family = next((f for name in constants if (f := _known(name)) is not None and f.kind == hole.kind), own)
    points = () if plain_k else ANY_SHIFT
    try:
        made = _reading(hole.kind, hole.size, len(hole.arguments), points, family)
        return made, made.parse(constants)
    except ValueError as error:
        found = [extension("families", name) for name in constants] if family is own else []
        if register([some for some in found if isinstance(some, TemplateFamily)]):
            return function_of(hole, constants, plain_k)
        raise ValueError(str(error).replace("the hole", hole.name)) from None


@lru_cache(maxsize=256)
def _reading(kind: str, size: int, arity: int, points: tuple[Point, ...], family: TemplateFamily) -> Template:
    made = family.reading(size, arity, points)
    if made is None:
        raise ValueError(f"{family.name} has no functions for the hole, of size {size}")
    return made


@dataclass(frozen=True, slots=True)
class Filling:
    """What one hole became: `constants` are its template's, by name."""

    hole: Hole
    constants: Mapping[str, int]

    def apply(self, arguments: Sequence[Any]) -> Any:
        """Return the hole's values on lanes of its arguments."""
        made, choice = function_of(self.hole, self.constants)
        return made.apply(choice, arguments)

    def words(self) -> str:
        """Return what the hole does, in words."""
        made, choice = function_of(self.hole, self.constants)
        return made.words(choice, [atom(text) for text in self.hole.arguments])
