"""Users' own families: their templates are tried when they are made, and what they raise is a mistake with a place.

A template says one thing several times: `apply` is the oracle of `at`, and `expression` and the constants that `parse`
reads back must agree with both. A few choices are compared at a few points, so that what does not fit together is said
before a search runs into it; and a choice whose formula is asked for is compared at many points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, NoReturn, TypeVar, get_args

import numpy as np

from symbolic.errors import Place, SwizzleError, definition_place, users_code
from symbolic.ir.program import DType, Expr
from templates.chooser import Choice, Chooser, Functions, OneChoice
from templates.formula import parameters, values_of
from templates.holes import HOLE_KINDS, Point, Space
from templates.template import Template, TemplateFamily

T = TypeVar("T")
_NOWHERE: Final = Place("", 0, 0)
CHOICES: Final = 16  # that are compared
POINTS: Final = 16
PRINTED: Final = 256  # points at which a choice is compared whose formula is asked for
REQUIRED: Final = ("at", "apply", "expression", "constants", "parse", "words")


def made_by(family: TemplateFamily, size: int, arity: int, points: tuple[Point, ...], space: Space) -> Template | None:
    """Return the template that a user's family makes for a hole, None where it has none.

    Raises SwizzleError where the family fails, makes no template, or makes one that contradicts itself.
    """
    with _calling(family, "make", family.make):
        made = family.make(size, arity, points, space)
    template = _checked(family, made)
    if template is not None:
        template.compare(points, 2 if HOLE_KINDS[family.kind].gives is DType.BOOL else size)
    return template


def read_by(family: TemplateFamily, size: int, arity: int, points: tuple[Point, ...]) -> Template | None:
    """Return the template that reads a user's family's constants back; SwizzleError where the family fails."""
    with _calling(family, "saved" if family.saved else "make", family.saved or family.make):
        made = family.reading(size, arity, points)
    return _checked(family, made)


def _calling(family: TemplateFamily, name: str, called: Callable[..., Any]) -> AbstractContextManager[None]:
    return users_code(
        f"`{name}` of the family {family.name}", called, "a template, or None for holes that it has none for"
    )


def _checked(family: TemplateFamily, made: Any) -> UsersTemplate | None:
    """Return what a family made, if it is a template."""
    if made is None:
        return None
    missing = [name for name in REQUIRED if getattr(type(made), name, None) is getattr(Template, name)]
    components = getattr(made, "components", None)
    if not isinstance(made, Template):
        found, expected = f"the family {family.name} makes {made!r}", "a templates.template.Template, or None"
        fix = "return a template from `make`"
    elif missing:
        found = f"{type(made).__name__} of the family {family.name} has no method `{missing[0]}`"
        expected = f"a template with {', '.join(f'`{name}`' for name in REQUIRED)} (docs/extend.md)"
        fix = f"write the method in {type(made).__name__}"
    elif not isinstance(components, tuple) or not all(isinstance(some, tuple) and some for some in components):
        found = f"the components of {type(made).__name__} of the family {family.name} are {components!r}"
        expected = "a tuple with a tuple of constants for each component"
        fix = "assign it to self.components"
    else:
        return UsersTemplate(family.name, made)
    raise SwizzleError(found, place=_place(family.make), expected=expected, fix=fix)


def _place(called: Callable[..., Any]) -> Place | None:
    code = getattr(called, "__code__", None)
    return definition_place(code) if code else None


class UsersTemplate(Template):
    """A template of a user's family; what its methods raise is a mistake of the family."""

    def __init__(self, family: str, own: Template) -> None:
        self.family, self.own, self.components = family, own, own.components
        self._points: Sequence[Point] = ()
        self._values = 0
        self._printed: set[Choice] = set()

    def _in(self, name: str) -> AbstractContextManager[None]:
        title = f"`{name}` of {type(self.own).__name__}, of the family {self.family},"
        return users_code(title, getattr(self.own, name), "a method that works for every choice and every point")

    def at(self, chooser: Chooser[T], point: Point) -> T:
        with self._in("at"):
            return self.own.at(chooser, point)

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        with self._in("apply"):
            return self.own.apply(choice, arguments)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        with self._in("expression"):
            found = self.own.expression(choice, arguments, place)
        if choice not in self._printed:
            self._compare_choice(choice, PRINTED)
            self._printed.add(choice)
        return found

    def constants(self, choice: Choice) -> Mapping[str, int]:
        with self._in("constants"):
            return self.own.constants(choice)

    def parse(self, constants: Mapping[str, object]) -> Choice:
        try:
            return self.own.parse(constants)
        except ValueError:  # the constants are none of its own
            raise
        except Exception:
            with self._in("parse"):
                raise

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        with self._in("words"):
            return self.own.words(choice, names)

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        with self._in("weight"):
            return self.own.weight(choice)

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        if type(self.own).simplest is Template.simplest:
            return super().simplest(points, values)
        with self._in("simplest"):
            return self.own.simplest(points, values)

    def functions(self, points: Sequence[Point]) -> Functions | None:
        if type(self.own).functions is Template.functions:
            return super().functions(points)
        with self._in("functions"):
            return self.own.functions(points)

    # -- what is said more than once ------------------------------------------------------------------------

    def compare(self, points: Sequence[Point], values: int) -> None:
        """Compare what the methods say of a few choices at a few points; `values` is how many the hole may give."""
        self._points, self._values = points, values
        for choice in self._some_choices():
            self._compare_choice(choice, POINTS)

    def _compare_choice(self, choice: Choice, most: int) -> None:
        """Compare what the methods say of one choice, at so many points."""
        some = list(self._points[:: -(-len(self._points) // most)]) if self._points else []
        if not some or not some[0]:
            return
        lanes = [np.array(column, np.int64) for column in zip(*some, strict=True)]
        wanted = [self.at(OneChoice(choice), point) for point in some]
        for point, value in zip(some, wanted, strict=True):
            if not isinstance(value, int | np.integer | np.bool_) or not 0 <= value < self._values:
                within, fix = f"a value of the hole: 0 to {self._values - 1}", "correct `at`, or offer fewer constants"
                self._refuse("at", choice, f"{value!r} at {point}", within, fix)
        try:
            again = self.parse(self.constants(choice))
        except ValueError as error:
            expected = "the choice that `constants` was asked for"
            self._refuse("parse", choice, f"{error}", expected, "correct `constants` or `parse`")
        said: dict[str, Callable[[], Any]] = {
            "apply": partial(self.apply, choice, lanes),
            "expression": partial(self._values_of_expression, choice, lanes),
            "parse": partial(self.apply, again, lanes),
        }
        for name, says in said.items():
            with self._in(name):
                found = np.broadcast_to(np.asarray(says()), len(some)).tolist()
            for point, value, other in zip(some, wanted, found, strict=True):
                if value != other:
                    both = f"{other!r} at {point}, and `at` {value!r}"
                    fix = f"correct {'`constants` or `parse`' if name == 'parse' else f'`{name}` or `at`'}"
                    self._refuse(name, choice, both, "one function, however it is said", fix)

    def _values_of_expression(self, choice: Choice, lanes: Sequence[Any]) -> Any:
        found = self.own.expression(choice, parameters([""] * len(lanes)), _NOWHERE)
        if not isinstance(found, get_args(Expr)):
            expected, fix = "an index expression, or a condition", "build it with the functions of templates/formula.py"
            self._refuse("expression", choice, repr(found), expected, fix)
        return values_of(found, lanes)

    def _some_choices(self) -> list[Choice]:
        """Return a few choices: each component goes through its constants at a pace of its own."""
        paces = (1, 3, 5, 7, 11, 13)
        return list(
            dict.fromkeys(
                tuple(c[step * pace % len(c)] for c, pace in zip(self.components, itertools.cycle(paces)))
                for step in range(CHOICES)
            )
        )

    def _refuse(self, name: str, choice: Choice, found: str, expected: str, fix: str) -> NoReturn:
        raise SwizzleError(
            f"`{name}` of {type(self.own).__name__}, of the family {self.family}, says of the choice {choice}: {found}",
            place=_place(getattr(self.own, name)),
            expected=expected,
            fix=fix,
        )
