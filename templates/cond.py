"""`?sw_cond(v, ...)`: one comparison of two indices, or of one and a number (paper, section 5.1); and what is made of
it.

Two conditions that both hold, or of which one holds, are what the border of a tile needs. `?sw_part(n, v, ...)` is: if
?sw_cond then 0 elif ?sw_cond then 1 ... else n - 1 (paper, section 5.2).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Final, Literal, TypeVar

import numpy as np
from msgspec import Struct

from symbolic.errors import Place
from symbolic.ir.program import Compare, Const, DType, Expr, Logic, Select
from templates.chooser import Choice, Chooser, ColumnChooser
from templates.formula import binary, number, sum_of, total
from templates.template import Point, Shifted, Template, TemplateFamily, columns_of, distinct_rows, integers

T = TypeVar("T")
CONSTANTS = ("left", "sign", "right", "equal", "negated", "threshold")


class CondChoice(Struct, frozen=True):
    """One `?sw_cond`: `(left + sign * right) relation threshold`, negated or not.

    `left` and `right` number the hole's arguments; left == right with sign -1 is the constant 0.
    """

    left: int
    sign: int
    right: int
    relation: Literal["<=", "=="]
    negated: bool
    threshold: int

    def holds(self, arguments: Sequence[Any]) -> Any:
        """Return whether the condition holds, for ints or for lanes of them."""
        value = arguments[self.left] + self.sign * arguments[self.right]
        raw = value <= self.threshold if self.relation == "<=" else value == self.threshold
        return raw != self.negated

    @property
    def weight(self) -> tuple[Any, ...]:
        """Order conditions by their terms; of equally long ones, comparisons without a number come first."""
        constant = self.left == self.right and self.sign < 0
        single = self.left == self.right and self.sign > 0
        shown = self.threshold + (self.threshold == -1 and self.relation == "<=")
        long = 0 if constant else 1 if single or (self.sign < 0 and shown == 0) else 2  # of 1, 3 and 5 terms
        return (long, shown != 0, not single, self.relation == "==", self.sign, abs(shown), self.negated)


_TESTS_OF_SPACE_1: tuple[tuple[Literal["<=", "=="], bool, int], ...] = (
    ("<=", False, 0),
    ("<=", True, 0),
    ("<=", False, -1),
    ("<=", True, -1),
    ("==", False, 0),
    ("==", True, 0),
)


class Cond(Template):
    """`?sw_cond(v, ...)`: `v cmp (I + v')` or `v cmp (I - v')`.

    Space 1: I is 0. Later spaces: I is every integer that makes a difference. The six comparisons are
    `<=` and `==`, negated or not, with I shifted by one for the strict ones. Space 1 is so small that its distinct
    functions are its only component.
    """

    def __init__(self, arity: int, points: Sequence[Point], space: str) -> None:
        self.space, self.arity = space, arity
        self.sizes = {max(values) + 1 for values in zip(*points, strict=True)}
        forms = [(a, -1, b) for a, b in itertools.combinations(range(arity), 2)]
        forms += [(a, 1, a) for a in range(arity)] + [(a, 1, b) for a, b in itertools.combinations(range(arity), 2)]
        if arity:
            forms.append((0, -1, 0))
        columns = columns_of(points, arity)
        kept = distinct_rows(forms, lambda some: np.stack([_linear(form, columns) for form in some]))
        if space == "1":
            functions = [
                CondChoice(left, way, right, relation, negated, bound)
                for left, way, right in kept
                for relation, negated, bound in _TESTS_OF_SPACE_1
            ]
            functions.sort(key=lambda function: function.weight)
            shortest = distinct_rows(functions, lambda some: np.stack([f.holds(columns) for f in some]))
            by_form = sorted(shortest, key=lambda function: (function.weight[0] > 0, *function.weight[1:]))
            self.components = (tuple(by_form),)  # how long solvers take depends on the order
        else:
            reach = [end for form in kept if points for end in _ends(_linear(form, columns))] or [0]
            self.components = (
                kept,
                tuple(itertools.product(("<=", "=="), (False, True))),
                tuple(range(min(reach) - 1, max(reach) + 1)),
            )

    def restricted(self, strides: bool = False) -> Cond:
        if self.space == "1":
            return self
        found = copy(self)
        forms, relations, thresholds = self.components
        powers = [1 << bit for bit in range(max(self.sizes, default=0).bit_length() + 1)] if strides else []
        near = {size + step for size in (0, *self.sizes, *powers) for step in (-1, 0, 1)}
        found.components = (forms, relations, tuple(t for t in thresholds if t in near or -t in near))
        return found

    def at(self, chooser: Chooser[T], point: Point) -> T:
        if self.space == "1":
            return chooser.pick(0, lambda function: function.holds(point))
        value = chooser.pick(0, lambda form: _linear(form, point))
        stands = chooser.compare(value, 2)
        return chooser.both(
            lambda s, r: ((s <= 0) if r[0] == "<=" else (s == 0)) != r[1], stands, chooser.pick(1, lambda r: r)
        )

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        return self.named(choice).holds(arguments)

    def named(self, choice: Choice) -> CondChoice:
        if self.space == "1":
            (function,) = choice
            assert isinstance(function, CondChoice)
            return function
        (left, way, right), (relation, negated), threshold = choice
        return CondChoice(left, way, right, relation, negated, threshold)

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        return self.named(choice).weight

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        named = self.named(choice)
        relation = {"equal": int(named.relation == "=="), "negated": int(named.negated), "threshold": named.threshold}
        return {"left": named.left, "sign": named.sign, "right": named.right, **relation}

    def parse(self, constants: Mapping[str, object]) -> Choice:
        """Return the choice in the form of Space 3, in which it is read."""
        return self.parsed(constants, CONSTANTS)

    def parsed(self, constants: Mapping[str, object], names: Sequence[str]) -> Choice:
        """Return the choice whose constants have these names."""
        left, sign, right, equal, negated, threshold = integers(constants, names)
        arity = max(1, self.arity)
        if not (0 <= left < arity and 0 <= right < arity and sign in (-1, 1)):
            raise ValueError(f"arguments {left} and {right}, sign {sign} in the hole, which takes {arity}")
        return ((left, sign, right), ("==" if equal else "<=", bool(negated)), threshold)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        named = self.named(choice)
        left, right, bound = arguments[named.left], arguments[named.right], named.threshold
        equal = named.relation == "=="
        if named.left == named.right:
            if named.sign < 0:
                return Const((bound == 0 if equal else bound >= 0) != named.negated, DType.BOOL, place)
            if equal and bound % 2:
                return Const(named.negated, DType.BOOL, place)
            return _compare(left, named, number(0, place), bound // 2, place)
        if named.sign > 0:
            return _compare(binary("+", left, right), named, number(0, place), bound, place)
        return _compare(left, named, right, bound, place)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        when = self.when(choice, names)
        return when if when in ("always", "never") else f"keep when {when}"

    def when(self, choice: Choice, names: Sequence[str]) -> str:
        """Return a comparison, or 'always' or 'never'."""
        named = self.named(choice)
        equal, bound = named.relation == "==", named.threshold
        left = names[named.left] if names else "0"
        if named.left == named.right:
            if named.sign < 0 or not names:
                return "always" if (bound == 0 if equal else bound >= 0) != named.negated else "never"
            if equal and bound % 2:
                return "always" if named.negated else "never"
            terms, bound = [], bound // 2
        else:
            terms = [(-named.sign, names[named.right])]
        if equal:
            return f"{left} {'!=' if named.negated else '=='} {sum_of(terms, bound)}"
        # below a sum, and below or at a difference or a number, whichever has the rounder number
        if named.sign > 0 or bound == -1:
            return f"{left} {'>=' if named.negated else '<'} {sum_of(terms, bound + 1)}"
        return f"{left} {'>' if named.negated else '<='} {sum_of(terms, bound)}"


def _linear(form: tuple[int, int, int], arguments: Sequence[Any]) -> Any:
    left, way, right = form
    return arguments[left] + way * arguments[right]


def _ends(values: Any) -> tuple[int, int]:
    return int(values.min()), int(values.max())


def _compare(left: Expr, named: CondChoice, right: Expr, bound: int, place: Place) -> Expr:
    """Return `left relation right + bound`; `<= -1` reads as `< 0`."""
    if named.relation == "==":
        return Compare("!=" if named.negated else "==", left, total([right], place, bound), place)
    strict = bound == -1 and not (isinstance(right, Const) and right.value != 0)
    if strict:
        return Compare(">=" if named.negated else "<", left, right, place)
    return Compare(">" if named.negated else "<=", left, total([right], place, bound), place)


FAMILY = TemplateFamily(
    "cond",
    "cond",
    lambda size, arity, points, space: Cond(arity, points, space),
    saved=lambda size, arity, points: Cond(arity, (), "3"),
)


MOST: Final = 700  # different conditions, of which two are taken
LARGE: Final = 200_000  # points, times the largest argument: beyond it there is no such template


class Both(Template):
    """`c and c'`, or `c or c'`: conditions of `templates/cond.py`, told apart by what they are at the points.

    They are comparisons by `<=` and its like, and those by `==` too where these are few.
    """

    def __init__(self, arity: int, points: Sequence[Point], conditions: Sequence[CondChoice]) -> None:
        self.single = Cond(arity, (), "3")
        self.components = (tuple(conditions), tuple(conditions), ("and", "or"))

    def at(self, chooser: Chooser[T], point: Point) -> T:
        first, second = (chooser.pick(place, lambda one: bool(one.holds(point))) for place in (0, 1))
        held = chooser.both(lambda a, b: a + b, first, second)
        return chooser.both(lambda held, word: held > (word == "and"), held, chooser.pick(2, lambda word: word))

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        first, second, word = choice
        held = first.holds(arguments), second.holds(arguments)
        return np.logical_and(*held) if word == "and" else np.logical_or(*held)

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        first, second, word = choice
        long = first.weight[0] + second.weight[0]
        return (long, sorted((first.weight, second.weight)), word, first.weight)

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        first, second, word = choice
        found = {"both": 1, "or": int(word == "or")}
        for place, one in enumerate((first, second)):
            own = self.single.constants(_parts(one))
            found |= {f"{name}_{place}": value for name, value in own.items()}
        return found

    def parse(self, constants: Mapping[str, object]) -> Choice:
        (word,) = integers(constants, ("or",))
        some = [self.single.parsed(constants, [f"{name}_{place}" for name in CONSTANTS]) for place in (0, 1)]
        return (*map(self.single.named, some), "or" if word else "and")

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        first, second, word = choice
        left, right = (self.single.expression(_parts(one), arguments, place) for one in (first, second))
        return Logic(word, left, right, place)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        first, second, word = choice
        return f"keep when {f' {word} '.join(self.single.when(_parts(one), names) for one in (first, second))}"


def _parts(one: CondChoice) -> Choice:
    return (one.left, one.sign, one.right), (one.relation, one.negated), one.threshold


def make_both(size: int, arity: int, points: tuple[Point, ...], space: str) -> Both | None:
    """Return the template; where too many conditions differ there is none."""
    if not points or not points[0] or len(points) * (1 + max(abs(v) for point in points for v in point)) > LARGE:
        return None
    every = Cond(arity, points, "3")
    rows = ColumnChooser.everything(every.components)
    held = np.stack([np.array(c.values)[c.codes] for c in (every.at(rows, point) for point in points)])
    varied = np.flatnonzero(held.any(axis=0) & ~held.all(axis=0)).tolist()
    lines = [line.tobytes() for line in np.packbits(held, axis=0).T]
    for relations in (("<=", "=="), ("<=",)):
        found: dict[bytes, CondChoice] = {}
        for row in varied:
            one, line = every.named(rows.choice(row)), lines[row]
            if one.relation in relations and (line not in found or one.weight < found[line].weight):
                found[line] = one
        if len(found) <= MOST:
            some = sorted(found.values(), key=lambda one: one.weight)
            return Both(arity, points, some) if len(some) > 1 else None
    return None


BOTH = TemplateFamily("both", "cond", make_both, saved=lambda size, arity, points: Both(arity, (), []))


class Part(Template):
    """`?sw_part(n, v, ...)`: n - 1 conditions, of which the first that holds decides."""

    def __init__(self, n: int, arity: int, points: Sequence[Point], space: str) -> None:
        self.n = n
        self._set(Cond(arity, points, space))

    def _set(self, condition: Cond) -> None:
        self.conditions = [condition] * (self.n - 1)
        self.components = condition.components * (self.n - 1) or ((None,),)

    def restricted(self, strides: bool = False) -> Template:
        if not self.conditions:
            return self
        found = copy(self)
        found._set(self.conditions[0].restricted(strides))
        return found

    def slices(self) -> list[slice]:
        """Return where each condition's components stand among all."""
        width = len(self.conditions[0].components) if self.conditions else 0
        return [slice(j * width, (j + 1) * width) for j in range(len(self.conditions))]

    def at(self, chooser: Chooser[T], point: Point) -> T:
        if not self.conditions:
            return chooser.pick(0, lambda _: 0)
        value: T | None = None
        for j, (condition, part) in reversed(list(enumerate(zip(self.conditions, self.slices(), strict=True)))):
            chosen = condition.at(Shifted(chooser, part.start), point)
            if value is None:
                value = chooser.both(lambda c, _, j=j: j if c else j + 1, chosen, chosen)  # type: ignore[misc]
            else:
                value = chooser.both(lambda c, rest, j=j: j if c else rest, chosen, value)  # type: ignore[misc]
        assert value is not None
        return value

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        value: Any = self.n - 1
        for j, part in reversed(list(enumerate(self.slices()))):
            value = np.where(self.conditions[j].apply(choice[part], arguments), j, value)
        return value

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        if not self.conditions:
            return (None,)
        choice: Choice = ()
        for j, condition in enumerate(self.conditions):
            wanted = [None if v is None or v < j else v == j for v in values]
            found = condition.simplest(points, wanted)
            if found is None:
                return None
            choice += found
        return choice

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        return {
            f"{name}_{j}": value
            for j, (condition, part) in enumerate(zip(self.conditions, self.slices(), strict=True))
            for name, value in condition.constants(choice[part]).items()
        }

    def parse(self, constants: Mapping[str, object]) -> Choice:
        choice: Choice = ()
        for j, condition in enumerate(self.conditions):
            choice += condition.parsed(constants, [f"{name}_{j}" for name in CONSTANTS])
        return choice

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        value: Expr = number(self.n - 1, place)
        for j, part in reversed(list(enumerate(self.slices()))):
            condition = self.conditions[j].expression(choice[part], arguments, place)
            if isinstance(condition, Const):
                value = number(j, place) if condition.value else value
            elif not (isinstance(value, Const) and value.value == j):
                value = Select(condition, number(j, place), value, DType.INDEX, place)
        return value

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        """Return `0 when lane >= k, else 1`, or `always 1`."""
        parts: list[str] = []
        last = len(self.conditions)
        for j, (condition, part) in enumerate(zip(self.conditions, self.slices(), strict=True)):
            when = condition.when(choice[part], names)
            if when == "always":
                last = j
                break
            if when != "never":
                parts.append(f"{j} when {when}")
        return ", else ".join([*parts, str(last)]) if parts else f"always {last}"


PART = TemplateFamily(
    "part",
    "part",
    lambda size, arity, points, space: Part(size, arity, points, space),
    saved=lambda size, arity, points: Part(size, arity, (), "3"),
)
