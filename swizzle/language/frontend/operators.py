"""Typed construction of expressions: what each operator takes and gives, and the folding of constants.

A float literal takes the dtype of the data beside it, so until then it is a `FloatLiteral`; an int literal is an
INDEX constant that becomes data beside data. Nothing else converts by itself.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.element_types import VectorType
from symbolic.algebra.numbers import float_limits
from symbolic.algebra.operator_laws import LAWS, find_law
from symbolic.elements import limits
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    DType,
    Expr,
    Load,
    Logic,
    OperatorName,
    Select,
    Unary,
    UnaryOp,
)


class FloatLiteral(Struct, frozen=True):
    """A float that has no dtype yet."""

    value: float
    place: Place


Value: TypeAlias = Expr | FloatLiteral


class VectorValue(Struct, frozen=True):
    """A vector as a value: `parts`, its numbers, or `at`, which gives the number of any lane (an INDEX expression)."""

    type: VectorType
    place: Place
    parts: tuple[Expr, ...] = ()
    at: Callable[[Expr], Expr] | None = None

    def number(self, lane: int) -> Expr:
        """Return the number of one lane."""
        return self.parts[lane] if self.at is None else self.at(Const(lane, DType.INDEX, self.place))


INDEX, BOOL = DType.INDEX, DType.BOOL
INTEGER_RANGES: Final[dict[DType, tuple[int, int]]] = {
    d: limits(d) for d in DType if d not in (BOOL, DType.STATE) and not d.is_float
}
_INTEGER_ONLY: Final = frozenset(("//", "%", "<<", ">>"))
_FOLD: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "-": operator.sub,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
} | {symbol: law.fold for symbol, law in LAWS.items()}
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def fail(place: Place, found: str, expected: str, fix: str) -> NoReturn:
    """Raise the user's mistake at `place`."""
    raise SwizzleError(found, place=place, expected=expected, fix=fix)


def describe(value: Value) -> str:
    """Say what kind of value this is, for an error."""
    if isinstance(value, FloatLiteral):
        return f"the float {value.value!r}"
    match value.dtype:
        case DType.INDEX:
            return "an index"
        case DType.BOOL:
            return "a condition"
        case DType.STATE:
            return "a state"
        case dtype:
            return f"{dtype.value} data"


def coerce(value: Value, dtype: DType, what: str) -> Expr:
    """Return `value` as `dtype`; `what` names its use in errors, as in 'an index' or 'the condition of if'."""
    if isinstance(value, FloatLiteral):
        return _float_as(value, dtype, what)
    if dtype is DType.STATE and not (isinstance(value, Expr) and value.dtype is dtype):
        fail(value.place, f"{what} is {describe(value)}", "a state", "make one of an element: s = op.lift(x[i])")
    if isinstance(value, Const) and value.dtype is INDEX and dtype is not BOOL:
        return _int_as(value, dtype, what)
    if value.dtype is dtype:
        return value
    if value.dtype is BOOL:
        fail(value.place, f"{what} is a condition", f"{_noun(dtype)}", "write `1 if ... else 0`")
    if dtype is BOOL and value.dtype is INDEX:
        fail(value.place, f"{what} is an index", "a condition", "compare it, as in `... != 0`")
    if not dtype.is_data:
        fail(
            value.place,
            f"data-dependent control: {what} is {value.dtype.value} data",
            f"{_noun(dtype)} made of thread coordinates, loop variables, constants and holes",
            f"a number that steers is a constant: {value.array}=64 in @sketch(...), or a parameter of the file"
            if isinstance(value, Load) and not value.indices
            else "read a read-only array at an index that is data with gather(x, c), c=i32.below(64)[...]"
            if what.startswith("an index of ") and not value.dtype.is_float
            else "data may be computed with, but it cannot steer; compute the indices and conditions without it",
        )
    fix = "take what is wanted of it: op.result(s)" if value.dtype is DType.STATE else f"convert it: {dtype.value}(...)"
    fail(value.place, f"{what} is {describe(value)}", _noun(dtype), fix)


def _noun(dtype: DType) -> str:
    return "an index" if dtype is INDEX else "a condition" if dtype is BOOL else f"{dtype.value} data"


def _float_as(value: FloatLiteral, dtype: DType, what: str) -> Expr:
    if dtype.is_float:
        return _float_constant(value.value, dtype, value.place, what)
    if dtype is BOOL:
        fix = "compare it, as in `... != 0`"
    else:
        fix = f"write {int(value.value)}" if float(value.value).is_integer() else "write an int"
    fail(value.place, f"{what} is {describe(value)}", _noun(dtype), fix)


def _float_constant(value: float, dtype: DType, place: Place, what: str) -> Const:
    """Return a number as a constant of a float type; one that the type would have as 0 or infinity is refused."""
    if math.isinf(value) or math.isnan(value) or value == 0:
        return Const(float(value), dtype, place)
    bounds = float_limits(dtype)
    vanishing, infinite = bounds.tiny / 2, bounds.max / (2 - bounds.eps) * (2 - bounds.eps / 2)
    if not vanishing < abs(value) < infinite:
        fail(
            place,
            f"{what} is {value:g}, which rounds to {'0' if abs(value) <= vanishing else 'infinity'} in {dtype.value}",
            f"0, or a number between {bounds.tiny:.3g} and {bounds.max:.6g}",
            fix="write a number in this range, or compute in a wider type",
        )
    return Const(float(value), dtype, place)


def _int_as(value: Const, dtype: DType, what: str) -> Expr:
    if dtype.is_float:
        return _float_constant(value.value, dtype, value.place, what)
    low, high = INTEGER_RANGES[dtype]
    if not low <= value.value <= high:
        fail(
            value.place,
            f"{what} is {value.value}",
            f"a number from {low} to {high}",
            fix="write a number in this range",
        )
    return replace(value, dtype=dtype)


def settled(value: Value) -> Expr:
    """Return a value that needs no dtype from its surroundings."""
    if isinstance(value, FloatLiteral):
        fail(
            value.place,
            f"{describe(value)} has no dtype here",
            "a dtype that its use gives it",
            f"write f32({value.value!r}), or another dtype",
        )
    return coerce(value, value.dtype, "the value")


def binary(op: BinaryOp, left: Value, right: Value, place: Place) -> Value:
    """Build `left op right`, folding constants."""
    if op in ("&", "|") and dtype_of(left) is BOOL and dtype_of(right) is BOOL:
        return logic("and" if op == "&" else "or", coerce(left, BOOL, ""), coerce(right, BOOL, ""), place)
    if _is_number(left) and _is_number(right):
        return _fold(op, left, right, place)
    if op in ("<<", ">>") and (dtype_of(left) or INDEX).is_data and dtype_of(right) is INDEX and not _is_number(right):
        left, right = settled(left), settled(right)
        _check_width(left.dtype, f"`{op}`", place)
        _check_operator(op, left.dtype, place)
        return Binary(op, left, Cast(right, left.dtype, right.place), left.dtype, place)  # which the machine checks
    dtype = common_dtype(left, right, f"`{op}`", place)
    refuse_state(dtype, f"`{op}`", place)
    _check_operator(op, dtype, place)
    if op in ("<<", ">>") and dtype.is_data:
        _check_shift(op, right, dtype)
    a, b = coerce(left, dtype, f"an operand of `{op}`"), coerce(right, dtype, f"an operand of `{op}`")
    if op in ("//", "%") and isinstance(b, Const) and b.value == 0:
        fail(place, "a division by zero", "a divisor that is not 0", "guard it with `if`, or check the sizes")
    return Binary(op, a, b, dtype, place)


def refuse_state(dtype: DType, what: str, place: Place) -> None:
    """Refuse to compute with a state as if it were a number."""
    if dtype is DType.STATE:
        fail(
            place, f"{what} of states", "an operator of states, or numbers",
            "write op.combine(s, t), or take what is wanted of it: op.result(s)",
        )  # fmt: skip


def _check_shift(op: BinaryOp, amount: Value, dtype: DType) -> None:
    """Refuse a shift of data that C++ leaves undefined, or may for some data."""
    bits = INTEGER_RANGES[dtype][1].bit_length() + (INTEGER_RANGES[dtype][0] < 0)
    if not isinstance(amount, Const):
        fail(
            amount.place,
            f"`{op}` of {dtype.value} data by {describe(amount)}",
            f"a constant or an index, from 0 to {bits - 1}",
            "write a number, or multiply or divide by a power of two",
        )
    if not 0 <= amount.value < bits:
        fail(amount.place, f"`{op}` of {dtype.value} data by {amount.value}", f"an amount from 0 to {bits - 1}", _SHIFT)


def common_dtype(left: Value, right: Value, what: str, place: Place, *, moves: bool = False) -> DType:
    """Return the dtype that two operands meet in: that of the data among them, else their own.

    What only `moves` them takes integers of 8 and 16 bits, too.
    """
    dtypes = [dtype_of(v) for v in (left, right)]
    for value in (left, right):
        if dtype_of(value) is BOOL:
            fail(value.place, f"{what} is given a condition", "indices or data", "write `1 if ... else 0`")
    data = [d for d in dtypes if d is not None and d.is_data]
    if len(data) == 2 and data[0] is not data[1]:
        fail(
            place,
            f"{what} mixes {data[0].value} data and {data[1].value} data",
            "operands of one dtype",
            f"convert one of them: {data[0].value}(...) or {data[1].value}(...)",
        )
    for value in (left, right):
        if data and dtype_of(value) is INDEX and not isinstance(value, Const):
            fail(
                value.place,
                f"{what} mixes an index and {data[0].value} data",
                "operands of one dtype",
                f"convert the index: {data[0].value}(...)",
            )
    if data and not moves:
        _check_width(data[0], what, place)
    return data[0] if data else INDEX


def _check_width(dtype: DType, what: str, place: Place) -> None:
    """Refuse to compute with integers of 8 and 16 bits: what they wrap at would be in question."""
    if dtype.is_narrow:
        wide = "i32(...) or u32(...)" if dtype.value[0] == "u" else "i32(...)"
        fail(
            place,
            f"{what} on {dtype.value} data",
            "data of 32 or 64 bits: integers of 8 and 16 bits are loaded, moved, converted and stored",
            f"convert the operands: {wide}, and the result: {dtype.value}(...)",
        )


def _check_operator(op: BinaryOp, dtype: DType, place: Place) -> None:
    if op == "/" and not dtype.is_float:
        fail(place, f"`/` on {_kind(dtype)}", "floor division", "write `//`")
    law = find_law(op)
    if law is not None and law.own and not law.takes(dtype):
        takes = " ".join(each.value for each in DType if law.takes(each))
        fail(place, f"`{op}` on {_kind(dtype)}", f"data of a type that it takes: {takes}", "convert it, as in u32(...)")
    if dtype.is_float and (op in _INTEGER_ONLY or (law is not None and not law.takes(dtype))):
        with_floats = {
            "//": "write math.floor(x / y)", "%": "write x - y * math.floor(x / y)", "<<": "write x * 4 for x << 2",
            ">>": "write x / 4 for x >> 2",
        }  # fmt: skip
        fail(
            place, f"`{op}` on {dtype.value} data", "integers", with_floats.get(op, "float data takes + - * / min max")
        )


def _kind(dtype: DType) -> str:
    return "indices" if dtype is INDEX else f"{dtype.value} data"


def dtype_of(value: Value) -> DType | None:
    """Return the value's dtype, or None for a float literal."""
    return None if isinstance(value, FloatLiteral) else value.dtype


def _is_number(value: Value) -> bool:
    return isinstance(value, FloatLiteral) or (isinstance(value, Const) and value.dtype is INDEX)


def _fold(op: BinaryOp, left: Value, right: Value, place: Place) -> Value:
    assert isinstance(left, Const | FloatLiteral) and isinstance(right, Const | FloatLiteral)
    floats = isinstance(left, FloatLiteral) or isinstance(right, FloatLiteral)
    _check_operator(op, DType.F64 if floats else INDEX, place)
    result = fold(op, left.value, right.value, place)
    return FloatLiteral(result, place) if isinstance(result, float) else Const(result, INDEX, place)


_SHIFT: Final = "C++ leaves other amounts undefined; shift the other way, or write 0"


def fold(op: BinaryOp, left: Any, right: Any, place: Place) -> Any:
    """Compute `left op right` on Python numbers, within the bounds of 64 bits."""
    if op in ("/", "//", "%") and right == 0:
        fail(place, "a division by zero", "a divisor that is not 0", "guard it with `if`, or check the sizes")
    if op in ("<<", ">>") and not 0 <= right < 64:
        fail(place, f"a shift by {right}", "a shift by 0 to 63", _SHIFT)
    result = (op.law.fold if isinstance(op, OperatorName) else _FOLD[op])(left, right)
    if isinstance(result, int) and abs(result) >= 2**64:
        fail(
            place,
            "a constant of more than 64 bits",
            "a number that fits into the kernel's integers",
            fix="write a smaller number",
        )
    return result


def power(left: Value, right: Value, place: Place) -> Value:
    """Build `left ** right`, for int constants only."""
    match left, right:
        case Const(value=int() as base, dtype=DType.INDEX), Const(value=int() as exponent, dtype=DType.INDEX):
            if 0 <= exponent < 64:
                result = 1
                for _ in range(exponent):
                    result = fold("*", result, base, place)
                return Const(result, INDEX, place)
    data = any(isinstance(each, FloatLiteral) or each.dtype.is_data for each in (left, right))
    fix = (
        "write x * x for x**2, math.sqrt(x) for x**0.5, or math.pow(x, y)"
        if data
        else "write `1 << n` for 2**n, or multiply"
    )
    fail(place, "`**` in a kernel", "`**` of two small int constants", fix)


def unary(op: UnaryOp, operand: Value, place: Place) -> Value:
    """Build `-x`, `~x`, `not x` or `abs(x)`, folding constants."""
    if op == "not":
        value = coerce(operand, BOOL, "the operand of `not`")
        return Const(not value.value, BOOL, place) if isinstance(value, Const) else Unary("not", value, BOOL, place)
    if isinstance(operand, FloatLiteral):
        if op == "~":
            fail(place, "`~` on a float", "integers", fix="convert to an integer first: ~i32(v)")
        return FloatLiteral(-operand.value if op == "-" else abs(operand.value), place)
    if operand.dtype is BOOL:
        fail(operand.place, f"`{op}` is given a condition", "an index or data", "write `not` to negate a condition")
    if operand.dtype.is_float and op == "~":
        fail(place, f"`~` on {operand.dtype.value} data", "integers", fix="convert to an integer first: ~i32(v)")
    if isinstance(operand, Const) and operand.dtype is INDEX:
        number = int(operand.value)
        return Const(-number if op == "-" else ~number if op == "~" else abs(number), INDEX, place)
    _check_width(operand.dtype, f"`{op}`", place)
    refuse_state(operand.dtype, f"`{op}`", place)
    return Unary(op, operand, operand.dtype, place)


def compare(op: CompareOp, left: Value, right: Value, place: Place) -> Expr:
    """Build a comparison of two indices, folding constants."""
    for side in (left, right):
        if (dtype_of(side) or INDEX).is_data:
            fail(
                place,
                f"data-dependent control: `{op}` of {describe(side)} is a condition",
                "a condition made of thread coordinates, loop variables, constants and holes",
                f"data cannot steer; write the comparison where it chooses: where(a {op} b, x, y), which computes "
                "both values",
            )
    a = coerce(left, INDEX, f"an operand of `{op}`")
    b = coerce(right, INDEX, f"an operand of `{op}`")
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(_COMPARE[op](a.value, b.value), BOOL, place)
    return Compare(op, a, b, place)


def logic(op: Any, left: Expr, right: Expr, place: Place) -> Expr:
    """Build `and` / `or` of two conditions; a constant side decides or disappears."""
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Const):
            decided = bool(side.value) is (op == "or")
            return replace(side if decided else other, place=place)
    return Logic(op, left, right, place)


def select(condition: Expr, then: Value, otherwise: Value, place: Place) -> Expr:
    """Build `then if condition else otherwise`; both sides get one dtype."""
    if dtype_of(then) is BOOL and dtype_of(otherwise) is BOOL:
        dtype = BOOL
    else:
        for value in (then, otherwise):
            if isinstance(value, FloatLiteral) and not any((dtype_of(v) or INDEX).is_data for v in (then, otherwise)):
                settled(value)
        dtype = common_dtype(then, otherwise, "`if ... else`", place, moves=True)
    a, b = (coerce(value, dtype, "a branch of `if ... else`") for value in (then, otherwise))
    return Select(condition, a, b, dtype, place)


def cast(value: Value, dtype: DType, place: Place) -> Expr:
    """Build `f32(value)`; a number becomes a constant of that dtype."""
    if _is_number(value):
        return replace(coerce(value, dtype, f"the argument of {dtype.value}(...)"), place=place)
    assert not isinstance(value, FloatLiteral)
    if value.dtype is BOOL:
        fail(place, f"{dtype.value}(...) is given a condition", "an index or data", "write `1 if ... else 0` inside it")
    refuse_state(value.dtype, f"{dtype.value}(...)", place)
    return value if value.dtype is dtype else Cast(value, dtype, place)
