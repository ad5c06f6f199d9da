"""Which templates a hole has in a space, and which template a solution's constants belong to.

The table of holes (`templates/holes.py`) names families of templates; here the names get their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, Literal

from msgspec import Struct

from symbolic.errors import SwizzleError, near
from symbolic.extensions import extension, extension_names
from symbolic.ir.program import Hole
from templates import column_major, comparison, compose, cond, naive, pad, table, xform, xor
from templates.chooser import Choice
from templates.either import Either
from templates.formula import atom
from templates.holes import HOLE_KINDS, SPACES, Point, Space
from templates.template import HolePoints, Template, TemplateFamily
from templates.users import made_by, read_by
from templates.xform import RotateXform

FAMILIES: Final[dict[str, TemplateFamily]] = {
    family.name: family
    for family in (
        xform.FAMILY,
        cond.PART,
        cond.FAMILY,
        xor.FAMILY,
        comparison.REMAINDER,
        comparison.SCALED,
        cond.BOTH,
        naive.FAMILY,
        xform.ROTATE,
        pad.FAMILY,
        column_major.FAMILY,
        compose.FAMILY,
        table.FAMILY,
        table.CONSTANT,
    )
}
ON_REQUEST: Final = (column_major.FAMILY.name, compose.FAMILY.name, table.CONSTANT.name)
"""Families of ours that are in no space unless they are named: too many functions for a proof that there is none."""
TABLES: Final = (table.FAMILY.name, table.CONSTANT.name)
"""The last resort, in this order: they are in the last space only."""


def template(
    hole: Hole,
    points: Sequence[Point],
    space: Space,
    depth: Literal[0, 1, 2] = 0,
    families: tuple[TemplateFamily, ...] = (),
    on_request: bool = True,
) -> Template:
    """Return the template of a hole for the points at which it is asked; holes that are alike share it.

    `depth` is that of the naive template, 0 for the families of the space; `families` join the last space. Unless
    `on_request`, families that have too many functions for a search are left out.
    """
    named = hole.families
    if not on_request:
        left_out = requested(hole, points, space)
        assert not named or set(left_out) < set(named), "a hole of families on request only needs them"
        families = tuple(family for family in families if family.name not in ON_REQUEST)
        named = tuple(name for name in named if name not in left_out)
    named = in_space(named, space)
    last = any(name in TABLES for name in named)
    if depth and hole.kind == naive.FAMILY.kind:
        return naive.naive_xform(hole, tuple(points), depth)
    return _template(
        hole.kind,
        hole.size,
        len(hole.arguments),
        HolePoints.of(points),
        space if not named or last else SPACES[0],  # what such a hole may be is the same in all spaces, but for a table
        families if space == SPACES[-1] and not named else (),
        named,
    )


def in_space(named: tuple[str, ...], space: Space) -> tuple[str, ...]:
    """Return the families that a hole may be of in a space, of those that it names: tables end the last one."""
    formulas = tuple(name for name in named if name not in TABLES)
    if space != SPACES[-1]:
        return formulas or ("rotate",) * bool(named)
    return formulas + tuple(name for name in TABLES if name in named)


def requested(
    hole: Hole, points: Sequence[Point], space: Space, families: Sequence[TemplateFamily] = ()
) -> tuple[str, ...]:
    """Return the families on request that a hole may be of: it names them, or they join the space, and they have
    functions for the points at which it is asked."""
    names = in_space(hole.families, space) or tuple(
        f.name for f in families if f.kind == HOLE_KINDS[hole.kind].family_kind
    )
    some = tuple(name for name in names if name in ON_REQUEST)
    return tuple(name for name in some if _has_functions(name, hole.size, len(hole.arguments), HolePoints.of(points)))


@lru_cache(maxsize=256)
def _has_functions(name: str, size: int, arity: int, points: tuple[Point, ...]) -> bool:
    return FAMILIES[name].make(size, arity, points, SPACES[-2]) is not None


@lru_cache(maxsize=256)
def _template(
    kind: str,
    size: int,
    arity: int,
    points: tuple[Point, ...],
    space: Space,
    families: tuple[TemplateFamily, ...],
    named: tuple[str, ...],
) -> Template:
    if named:
        parts = [(name, FAMILIES[name].make(size, arity, points, SPACES[-2])) for name in named]
        there = [(name, part) for name, part in parts if part is not None] or [
            ("rotate", RotateXform(size, points, SPACES[-2]))
        ]
        return Either([name for name, _ in there], [part for _, part in there])
    names = HOLE_KINDS[kind].spaces
    if space != SPACES[-1]:
        (own,) = names[space]
        made = FAMILIES[own].make(size, arity, points, space)
        assert made is not None, f"a {kind} has no template in Space {space}"
        return made
    before = SPACES[-2]
    some = [FAMILIES[name] for name in names[space] if name not in names[before]]
    found = [(family.name, family.make(size, arity, points, space)) for family in some]
    for family in families:
        if family.kind == kind:
            make = family.make if family.name in ON_REQUEST else partial(made_by, family)
            found.append((family.name, make(size, arity, points, space)))
    more = [(name, made) for name, made in found if made is not None]
    whole = _template(kind, size, arity, points, before, (), ())
    if not more:
        return whole
    return Either([*names[before], *(name for name, _ in more)], [whole, *(made for _, made in more)])


# ---- users' own families ---------------------------------------------------------------------------------------

_USERS: dict[str, TemplateFamily] = {}
"""Those that were solved with: constants are read back by them, in this process."""


def register(families: str | TemplateFamily | Sequence[str | TemplateFamily]) -> tuple[TemplateFamily, ...]:
    """Make families known by their names, and return them; a later one of the same name takes the place of another.

    A name stands for what was registered before, or what an installed package calls so. Raises SwizzleError for a name
    that nobody has, for what is no family, and for a family with a name or a kind that it cannot have.
    """
    some = families if isinstance(families, Iterable) and not isinstance(families, str) else [families]
    found = [family_named(family) if isinstance(family, str) else _checked(family) for family in some]
    names = [family.name for family in found]
    if len(set(names)) < len(names):
        raise SwizzleError(
            f"two families of the same name: {', '.join(names)}",
            expected="each of them once",
            fix="name each family once",
        )
    _USERS.update({family.name: family for family in found if family.name not in FAMILIES})
    return tuple(found)


def family_named(name: str) -> TemplateFamily:
    """Return a family that can be asked for; SwizzleError for a name that was not registered and is not installed."""
    if name in ON_REQUEST:
        return FAMILIES[name]
    if name in FAMILIES:
        raise SwizzleError(
            f"the family {name!r} is Swizzle's own",
            expected="names of families that users or packages add to Space 4",
            fix="leave it out: it is searched in its spaces anyway",
        )
    family = _USERS.get(name) or extension("families", name)
    if family is None:
        known = sorted({*ON_REQUEST, *_USERS, *extension_names("families")})
        raise SwizzleError(
            f"there is no family {name!r}",
            expected=f"one of {', '.join(known)}, or a family of an installed package (docs/extend.md)",
            fix=near(name, known) or f"install the package that has {name} in this Python's environment",
        )
    if getattr(family, "name", name) != name:
        raise SwizzleError(
            f"the family {name!r} calls itself {family.name!r}",
            expected="one name, by which a saved solution finds its family again",
            fix=f"write {family.name} = ... under swizzle.families in the package's metadata",
        )
    return _checked(family)


def _checked(family: Any) -> TemplateFamily:
    """Return a family that can be registered."""
    if not isinstance(family, TemplateFamily):
        raise SwizzleError(
            f"{family!r} is not a family of templates",
            expected="a templates.template.TemplateFamily, or the name of one",
            fix="see docs/extend.md",
        )
    if FAMILIES.get(family.name) is family and family.name in ON_REQUEST:
        return family
    if family.name in FAMILIES or not family.name.isidentifier():
        raise SwizzleError(
            f"a family is called {family.name!r}", expected="a name of its own, without spaces", fix="rename it"
        )
    kinds = [name for name, kind in HOLE_KINDS.items() if kind.like is None]  # another names its families itself
    if family.kind not in kinds:
        raise SwizzleError(
            f"the family {family.name} is for holes of the kind {family.kind!r}",
            expected=f"one of {', '.join(kinds)}",
            fix=near(family.kind, kinds),
        )
    return family


def _known(name: str) -> TemplateFamily | None:
    return FAMILIES.get(name) or _USERS.get(name)


# ---- from constants back to functions --------------------------------------------------------------------------

_SOME_POINT: Final[tuple[Point, ...]] = ((0, -1),)


def function_of(hole: Hole, constants: Mapping[str, Any]) -> tuple[Template, Choice]:
    """Return a hole's function, given its constants.

    Raises ValueError for constants that are no function of the hole.
    """
    own = _own(hole.kind)
    family = _family_of(hole.kind, constants)
    try:
        made = _reading(hole.kind, hole.size, len(hole.arguments), _SOME_POINT, family)
        return made, made.parse(constants)
    except ValueError as error:
        found = [extension("families", name) for name in constants] if family is own else []
        if register([some for some in found if isinstance(some, TemplateFamily)]):
            return function_of(hole, constants)
        raise ValueError(str(error).replace("the hole", hole.name)) from None


def _family_of(kind: str, constants: Mapping[str, Any]) -> TemplateFamily:
    """Return the family that constants belong to, of those that are known: the kind's own unless they name another."""
    own = _own(kind)
    return next((f for name in constants if (f := _known(name)) is not None and f.kind == own.kind), own)


def _own(kind: str) -> TemplateFamily:
    """Return the family whose constants stand without its name."""
    return FAMILIES[HOLE_KINDS[HOLE_KINDS[kind].family_kind].spaces["1"][0]]


def users_family(kind: str, constants: Mapping[str, Any]) -> str | None:
    """Return the name of the user's family that a found function's constants belong to, None where it is no user's."""
    name = _family_of(kind, constants).name
    return None if name in FAMILIES else name


@lru_cache(maxsize=256)
def _reading(kind: str, size: int, arity: int, points: tuple[Point, ...], family: TemplateFamily) -> Template:
    made = (family.reading if family.name in FAMILIES else partial(read_by, family))(size, arity, points)
    if made is None:
        raise ValueError(f"{family.name} has no functions for the hole, of size {size}")
    return made


class FilledHole(Struct, frozen=True):
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
