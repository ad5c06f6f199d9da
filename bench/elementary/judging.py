"""The laws of elementary operators at full width: each proved, or refuted with numbers, checked in plain arithmetic."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from msgspec import Struct

from bench.elementary.enumeration import NEUTRAL, corners
from bench.elementary.integers import equal_as_integers
from bench.elementary.orders import associative_by_order, commutative_by_order
from swizzle.operators.elementary import TYPES, Elementary, neutral
from swizzle.operators.equations import prove
from swizzle.operators.scan_operators import on_arrays
from symbolic.expressions.expression import (
    FALSE,
    TRUE,
    Expression,
    number_name,
    rebuilt,
    substituted,
)
from symbolic.expressions.formulas import Sort, Verdict
from symbolic.expressions.meaning import value_of
from symbolic.ir.program import DType

SECONDS: Final = 2.0
SAMPLES: Final = 2000
MOST_NAMES: Final = 8
Values = Mapping[str, Expression]


class Judged(Struct, frozen=True):
    """One law: whether it holds; where it does not, numbers for which it fails, in words."""

    verdict: Verdict
    witness: str = ""


def parts(words: int) -> list[dict[str, Expression]]:
    """Return the words of three parts: x0, y0, z0 and so on."""
    return [{f"{side}{place}": number_name(f"{side}{place}") for place in range(words)} for side in "xyz"]


def combined(combine: Sequence[Expression], first: Values, second: Values) -> dict[str, Expression]:
    """Return the words of two parts together, named as those of the first are."""
    values = {f"x{name[1:]}": each for name, each in first.items()}
    values |= {f"y{name[1:]}": each for name, each in second.items()}
    return {f"x{place}": substituted(each, values) for place, each in enumerate(combine)}


def _sides(combine: Sequence[Expression]) -> tuple[list[Expression], list[Expression]]:
    x, y, z = parts(len(combine))
    left = combined(combine, combined(combine, x, y), z)
    right = combined(combine, x, combined(combine, y, z))
    return list(left.values()), list(right.values())


def _decided(left: Sequence[Expression], right: Sequence[Expression], sort: Sort, seconds: float) -> Judged:
    """Prove that two tuples are equal for all numbers, or say for which they are not: those near the limits first."""
    names = sorted({name for each in (*left, *right) for name in each.names})
    sorts = dict.fromkeys(names, sort)
    values: Mapping[str, Any] | None = _unequal(left, right, names, sort)
    if values is None:
        if sort.kind == "word" and equal_as_integers(left, right, sort, seconds):
            return Judged("proved")
        found = prove(list(zip(left, right, strict=True)), sorts, seconds=seconds)
        if found.verdict != "refuted":
            return Judged(found.verdict)
        values = found.values
    return Judged("refuted", _told(left, right, {name: values[name] for name in names}, sorts))


def _unequal(
    left: Sequence[Expression], right: Sequence[Expression], names: Sequence[str], sort: Sort
) -> dict[str, Any] | None:
    """Return numbers for which two tuples are not equal, of those that are tried on arrays, and then in plain
    arithmetic."""
    if len(names) > MOST_NAMES:
        return None
    dtype = DType.F64 if sort.kind == "real" else DType(f"{'i' if sort.signed else 'u'}{sort.bits}")
    columns, types = dict(zip(names, corners(sort, SAMPLES), strict=False)), dict.fromkeys(names, dtype)
    differ = np.zeros(SAMPLES, bool)
    with np.errstate(all="ignore"):
        for one, other in zip(left, right, strict=True):
            differ |= on_arrays(one, dtype, columns, types) != on_arrays(other, dtype, columns, types)
    sorts = dict.fromkeys(names, sort)
    for place in np.flatnonzero(differ)[:3]:
        number = Fraction if sort.kind == "real" else int
        values = {name: number(columns[name][place].item()) for name in names}
        sides = [[value_of(each, values, sorts) for each in side] for side in (left, right)]
        if sides[0] != sides[1]:
            return values
    return None


def _told(
    left: Sequence[Expression], right: Sequence[Expression], values: Mapping[str, Any], sorts: Mapping[str, Sort]
) -> str:
    one, other = ([value_of(each, values, sorts) for each in side] for side in (left, right))
    if one == other:
        raise AssertionError("a solver refuted what plain arithmetic confirms")
    shown = [", ".join(map(str, side)) for side in (one, other)]
    return f"{', '.join(f'{name} = {value}' for name, value in values.items())}: ({shown[0]}) and ({shown[1]})"


def tried(combine: Sequence[Expression], sort: Sort, seed: int = 1, count: int = 300) -> Judged | None:
    """Return numbers that refute associativity, if random ones do."""
    left, right = _sides(combine)
    names = sorted({name for each in (*left, *right) for name in each.names})
    sorts = dict.fromkeys(names, sort)
    rng = random.Random(seed)
    low, high = sort.limits if sort.kind == "word" else (-9, 9)
    for _ in range(count):
        few = [rng.choice((rng.randint(low, high), low, high, high - 1, *range(max(low, -3), 4))) for _ in range(4)]
        values = {name: rng.choice(few) for name in names}
        one, other = ([value_of(each, values, sorts) for each in side] for side in (left, right))
        if one != other:
            return Judged("refuted", _told(left, right, values, sorts))
    return None


def associative(combine: Sequence[Expression], sort: Sort, seconds: float = SECONDS) -> Judged:
    """Prove `f(f(x, y), z) = f(x, f(y, z))` for all numbers of a sort, the constant k among them."""
    if len(combine) == 1 and associative_by_order(combine[0], _of_k(sort)):
        return Judged("proved")
    left, right = _sides(combine)
    return _decided(left, right, sort, seconds)


def _of_k(sort: Sort) -> Callable[[Expression], bool | None]:
    """Return what tells whether a condition on k always holds, or never."""

    def told(condition: Expression) -> bool | None:
        for holds in (TRUE, FALSE):
            if _decided([condition], [holds], sort, 0.3).verdict == "proved":
                return holds is TRUE
        return None

    return told


def commutative(combine: Sequence[Expression], sort: Sort, seconds: float = SECONDS) -> Judged:
    """Prove that the order of two parts does not matter."""
    if len(combine) == 1 and commutative_by_order(combine[0], _of_k(sort)):
        return Judged("proved")
    x, y, _ = parts(len(combine))
    return _decided(
        list(combined(combine, x, y).values()), list(combined(combine, y, x).values()), sort, seconds
    )  # fmt: skip


def identity(
    combine: Sequence[Expression], words: Sequence[str], sort: Sort, side: str, seconds: float = SECONDS
) -> Judged:
    """Prove that an identity on one side changes nothing."""
    x = parts(len(combine))[0]
    none = {f"x{place}": neutral(what, sort) for place, what in enumerate(words)}
    try:
        found = combined(combine, none, x) if side == "left" else combined(combine, x, none)
    except ArithmeticError:  # of both infinities
        return Judged("unknown")
    return _decided(list(found.values()), list(x.values()), sort, seconds)


def elementary(
    combine: Sequence[Expression],
    identities: Sequence[tuple[str, ...]],
    types: Sequence[str],
    seconds: float = SECONDS,
    law: Judged | None = None,
) -> tuple[Elementary | None, Judged]:
    """Judge a candidate for one type: the operator, if it is one with an identity, and whether it is associative, which
    may be known."""
    (name,) = types
    sort = TYPES[name]
    law = law or associative(combine, sort, seconds)
    if law.verdict != "proved":
        return None, law
    best: tuple[int, tuple[str, ...], bool, bool] | None = None
    for words in sorted(identities, key=lambda each: [NEUTRAL.index(what) for what in each]):
        left, right = (identity(combine, words, sort, side, seconds).verdict == "proved" for side in ("left", "right"))
        score = 2 * left + right
        if score and (best is None or score > best[0]):
            best = (score, words, left, right)
        if score == 3:
            break
    if best is None:
        return None, law
    commutes = commutative(combine, sort, seconds).verdict == "proved"
    return Elementary(tuple(map(as_lists, combine)), best[1], best[2], best[3], commutes, (name,)), law


def swapped(combine: Sequence[Expression]) -> tuple[Expression, ...]:
    """Return a pair with its words in the other order."""
    return tuple(renamed(each, lambda name: f"{name[0]}{1 - int(name[1:])}" if name != "k" else name)
                 for each in reversed(combine))  # fmt: skip


def other_way_round(combine: Sequence[Expression]) -> tuple[Expression, ...]:
    """Return the operator on its parts in the other order: it is associative if the operator is."""
    sides = {"x": "y", "y": "x"}
    return tuple(renamed(each, lambda name: sides.get(name[0], name[0]) + name[1:]) for each in combine)


def renamed(node: Expression, spelled: Callable[[str], str]) -> Expression:
    """Return an expression with other names."""
    return rebuilt(node, lambda leaf: number_name(spelled(leaf.value)) if leaf.operator == "name" else leaf)


def as_lists(node: Expression) -> Any:
    """Return an expression as nested lists, which JSON has: an operator and what it is of."""
    if node.operator == "name":
        return node.value
    if node.constant:
        return node.value
    return [node.operator, *map(as_lists, node.arguments)]
