"""Rows of comparisons, and of what gives one of its operands: choices, minima, absolute values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from cuda_out.ptx.instructions.indices import Indices, Value, not_of_blocks
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import FTZ, INTEGERS, Compute, Forms, InstructionRow, Operation
from cuda_out.ptx.instructions.polynomials import Polynomial, show
from cuda_out.ptx.kinds import Typed, is_float
from cuda_out.ptx.syntax import NotInterpreted
from symbolic.algebra.terms import Term

_COMPARE: Final[dict[str, Compute]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "nan": lambda a, b: np.isnan(a) | np.isnan(b), "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
}  # fmt: skip
_JOIN: Final = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_UNSIGNED: Final = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _comparisons() -> Forms:
    order, unordered = "eq|ne|lt|le|gt|ge", "equ|neu|ltu|leu|gtu|geu|num|nan"
    return tuple(
        (rf"setp\.(?P<compare>{compare}){join}{ftz}\.(?P<t>{kind})", operands)
        for join, operands in (("", "=pred t t"), (r"\.(?P<join>and|or|xor)", "=pred t t condition"))
        for compare, ftz, kind in (
            ("eq|ne", "", "b(?:16|32|64)"),
            (order, "", "s(?:16|32|64)"),
            (f"{order}|lo|ls|hi|hs", "", "u(?:16|32|64)"),
            (f"{order}|{unordered}", FTZ, "f16|f32|f64"),
        )
    )


def _says(o: Operation) -> tuple[str, bool]:
    """Return a comparison, and whether it holds of what is no number: with a `u` at the end."""
    says = o.says("compare")
    unordered = is_float(o.sources[0]) and says.endswith("u")
    return says[:-1] if unordered else _UNSIGNED.get(says, says), unordered


def _compared(o: Operation, a: Typed, b: Typed, *more: Typed) -> Typed:
    compare, unordered = _says(o)
    found: Typed = _COMPARE[compare](a, b)
    if unordered:
        found = found | np.isnan(a) | np.isnan(b)
    return _JOIN[o.says("join")](found, more[0]) if more else found


def _compared_term(o: Operation, n: Normal, v: list[Term]) -> Term:
    (compare, _), kind, (a, b) = _says(o), o.sources[0], v[:2]
    if compare in ("nan", "num"):  # real numbers are numbers
        known = n.is_ordered(a) and n.is_ordered(b)
        found = n.terms.const(0 if compare == "nan" else -1) if known else n.unknown_outcome(a, b)
    elif compare in ("eq", "ne"):
        found = n.equal(kind, a, b)
    else:
        found = n.less(kind, a, b) if compare in ("lt", "ge") else n.less(kind, b, a)
    found = n.inverted("pred", found) if compare in ("ne", "le", "ge") else found
    joins: dict[str, Callable[..., Term]] = {"and": n.conjunction, "or": n.disjunction, "xor": n.exclusive_or}
    return joins[o.says("join")]("pred", found, v[2]) if len(v) > 2 else found


def _distance_and_summand(o: Operation, n: Normal, v: list[Term]) -> Term:
    greater, less = (n.extreme(op, o.result, v[0], v[1]) for op in ("max", "min"))
    return n.add(o.result, greater, n.scaled(o.result, -1, less), v[2])


def _compared_index(o: Operation, t: Indices, v: list[Polynomial], row: Sequence[Value]) -> Value:
    kind, join = o.sources[0].replace("b", "u"), o.says("join")
    try:
        answer = t.answer(_says(o)[0], *(t.integer(each, kind) for each in v[:2]))
        if join and row[2][1]:
            raise NotInterpreted(f"{join} of a predicate that is {show(t.polynomial(row[2], 8))}")
        return int(_JOIN[join](answer, row[2][0] != 0) if join else answer), 0
    except NotInterpreted as error:  # a compiler compares before it knows that the answer matters
        return t.undecided(str(error))


def _selected_term(o: Operation, n: Normal, v: list[Term]) -> Term:
    real = any(map(n.is_real, v[:2]))
    return n.select(f"f{o.size}" if real else o.result, v[2], v[0], v[1])


def _selected_index(o: Operation, t: Indices, v: list[Polynomial], row: Sequence[Value]) -> Value:
    if row[2][1]:
        raise not_of_blocks(o.name)
    return t.value(v[0] if row[2][0] else v[1], o.size)


def _extreme(o: Operation, a: Typed, b: Typed) -> Typed:
    """Of a number and what is none, the number is given."""
    pick = (np.fmin, np.fmax) if is_float(o.result) else (np.minimum, np.maximum)
    found: Typed = pick[o.says("op") == "max"](a, b)
    return found


def _extreme_index(o: Operation, t: Indices, v: list[Polynomial], row: Sequence[Value]) -> Value:
    try:
        a, b = (t.integer(each, o.result) for each in v)
    except NotInterpreted:  # a compiler computes it before it knows that it matters
        what = f"undecided: {o.name} of {show(v[0])} and {show(v[1])}"
        return t.value(t.new(what, (1 << o.size) - 1), o.size)
    low, high = t.apart(a, b)
    if low < 0 < high:
        return t.value(t.between(o.says("op"), a, b), o.size)
    return t.value(a if (high <= 0) == (o.says("op") == "min") else b, o.size)


SELECT: Final = InstructionRow(
    ((r"selp\.(?P<t>[bus](?:16|32|64)|f32|f64)", "=t t t pred"),),
    name="selp",
    numbers=lambda o, a, b, condition: np.where(condition, a, b),
    term=_selected_term,
    index=_selected_index,
    chooses=True, moves=True,
)  # fmt: skip

CHOICES: Final = (
    InstructionRow(
        ((rf"sad\.(?P<t>{INTEGERS})", "=t t t t"),),
        numbers=lambda o, a, b, c: np.maximum(a, b) - np.minimum(a, b) + c,
        term=_distance_and_summand,
        commutes=True,
    ),
    InstructionRow(
        _comparisons(),
        name="setp.{compare}.{t}{joined}",
        numbers=_compared,
        term=_compared_term,
        index=_compared_index,
    ),
    SELECT,
    InstructionRow(
        ((rf"(?:min|max)\.(?P<t>{INTEGERS})", "=t t t"), (rf"(?:min|max){FTZ}\.(?P<t>f16|f32|f64)", "=t t t")),
        numbers=_extreme,
        term=lambda o, n, v: n.extreme(o.says("op"), o.result, v[0], v[1]),
        index=_extreme_index,
        chooses=True, commutes=True,
    ),
    InstructionRow(
        ((r"abs\.(?P<t>s(?:16|32|64))", "=t t"), (rf"abs{FTZ}\.(?P<t>f16|f32|f64)", "=t t")),
        numbers=lambda o, a: np.abs(a),
        term=lambda o, n, v: n.absolute(o.result, v[0]),
        chooses=True,
    ),
    InstructionRow(((r"copysign\.(?P<t>f32|f64)", "=t t t"),), numbers=lambda o, a, b: np.copysign(b, a)),
)  # fmt: skip
