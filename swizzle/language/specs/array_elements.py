"""What NumPy's functions of elements are of data, which is symbolic, a residue or an unsigned number that wraps.

An array of data is an array of objects and its `kind`, the type that NumPy would give it: what `astype`, an assignment
and `&` do depends on it. Python's numbers have no type of NumPy's: of them the kind is Python's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from symbolic.algebra.canonical import Canonical, Ids, apply_pairs, apply_rows
from symbolic.algebra.choices import is_choice
from symbolic.algebra.datum import MOST_FACTORS, DataComparison, Datum, pick
from symbolic.algebra.numbers import CONVERT, NUMPY_DTYPES
from symbolic.algebra.terms import Terms
from symbolic.elements import is_exact
from symbolic.errors import SwizzleError
from symbolic.ir.functions import FUNCTIONS, ChoiceFunction, External, Gather, applied, row_of
from symbolic.ir.functions import where as where_row
from symbolic.ir.program import DType

Kind: TypeAlias = Any
"""A type of NumPy's, or `int`, `float`, `bool` of a number of Python's."""
Objects: TypeAlias = npt.NDArray[Any]
PAGE: Final = "docs/specifications.md"
_NUMBERS: Final = (int, float, bool)
NEVER_WRAPS: Final = frozenset({
    "maximum", "minimum", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "bitwise_and",
    "bitwise_or", "bitwise_xor",
})  # fmt: skip
"""What gives the same in any type that has its operands."""


def is_data(value: object) -> bool:
    """Say whether an element is no plain number: data, or a comparison of data."""
    return hasattr(type(value), "reduce_with")


def objects(value: Any) -> Objects:
    """Return an array of objects without a view of ours; a number or data as an array without dimensions."""
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray).astype(object, copy=False)
    made = np.empty((), object)
    made[()] = value.item() if isinstance(value, np.generic) else without_type(value)
    return made


def plain_numbers(some: Objects) -> Objects:
    """Return an array of objects with Python's numbers in the place of NumPy's."""
    return objects(np.frompyfunc(lambda value: value.item() if isinstance(value, np.generic) else value, 1, 1)(some))


def has_data(some: Objects) -> bool:
    """Say whether an array of objects has an element that is no number."""
    return any(type(value) not in _NUMBERS for value in some.reshape(-1).tolist())


# -- types ----------------------------------------------------------------------------------------------------------


def kind_of_type(dtype: DType) -> np.dtype[Any]:
    """Return NumPy's type of an input's elements; integers of 8 and 16 bits are computed with as `int32`."""
    return np.dtype(np.int32 if dtype.is_narrow else NUMPY_DTYPES[dtype])


def type_of_kind(kind: Kind) -> DType:
    """Return the element type of a type of NumPy's."""
    for dtype, numpy in NUMPY_DTYPES.items():
        if dtype.is_data and dtype is not DType.BF16 and np.dtype(numpy) == kind:
            return dtype
    raise SwizzleError(
        f"the specification converts data to {np.dtype(kind).name}",
        expected=f"one of {', '.join(sorted({np.dtype(each).name for each in NUMPY_DTYPES.values()}))}",
        fix="leave the conversion out: floats are real numbers to the proof",
    )


def is_float(kind: Kind) -> bool:
    return kind is float or (isinstance(kind, np.dtype) and kind.kind == "f")


def is_bool(kind: Kind) -> bool:
    return kind is bool or (isinstance(kind, np.dtype) and kind.kind == "b")


def _is_narrow(kind: Kind) -> bool:
    return isinstance(kind, np.dtype) and kind.kind in "iu" and kind.itemsize < 4


def kind_of(value: Any) -> Kind:
    """Return the kind of a number, of data or of an array of numbers."""
    if isinstance(value, DataComparison):
        return np.dtype(bool)
    if isinstance(value, Datum):
        return _kind_of_datum(value) if value.own is None else value.own
    if is_data(value):
        own = getattr(value, "kind", None)
        return value.value.dtype if own is None and hasattr(value, "lift") else kind_of_type(own or DType.F64)
    if type(value) in _NUMBERS:
        return type(value)
    return np.asarray(value).dtype


def _kind_of_datum(value: Datum) -> np.dtype[Any]:
    """Return NumPy's type of data: of its elements and conversions, a float where it is a quotient or a function."""
    terms, kinds = value.terms, set[np.dtype[Any]]()
    parts, at = list[int](), value
    while at._chain is not None:  # the term of a sum that still grows is not asked for
        parts.append(at._chain[2])
        at = at._chain[1]
    waiting = [*parts, at.term]
    seen = set(waiting)
    while waiting:
        op, args = terms.nodes[waiting.pop()]
        row = row_of(op)
        array = row.array if isinstance(row, Gather) else args[0] if op == "atom" else ""
        if array:
            kinds.add(kind_of_type(terms.types.get(array, DType.F64)))
        elif op == "const":
            kinds |= set() if args[0] == args[0] // 1 else {np.dtype(float)}
        elif op.startswith(("to_", "widen_to_")):
            kinds.add(np.dtype(NUMPY_DTYPES[DType(op.rpartition("_")[2])]))
        else:
            if op == "/" or not (row is None or isinstance(row, ChoiceFunction | External)):
                kinds.add(np.dtype(np.float16))
            new = [arg for arg in (args[2:] if is_choice(op) else args) if isinstance(arg, int) and arg not in seen]
            waiting += new
            seen.update(new)
    return np.result_type(*kinds) if kinds else np.dtype(np.int64)


def _one_of(kind: Kind) -> Any:
    return np.ones((), kind) if isinstance(kind, np.dtype) else kind(1)


@lru_cache(maxsize=1024)
def resulting(ufunc: np.ufunc, kinds: tuple[Kind, ...]) -> tuple[np.dtype[Any], ...]:
    """Return the types of a function's results; raises what NumPy raises of operands of these types."""
    with np.errstate(all="ignore"):
        found = ufunc(*map(_one_of, kinds))
    return tuple(np.asarray(each).dtype for each in (found if ufunc.nout > 1 else (found,)))


def common_kind(kinds: Sequence[Kind]) -> np.dtype[Any]:
    """Return the type of an array that has elements of all these."""
    return np.result_type(*map(_one_of, kinds))


def converted(some: Objects, source: Kind, target: Kind, explicit: bool) -> Objects:
    """Return elements as a type has them: of `astype`, or (not `explicit`) of what is written into an array, where
    nothing is rounded or cut off that the type has anyway."""
    if isinstance(source, np.dtype) and source.kind in "iu" and source != target:
        target = np.dtype(target)
        wider = target.kind not in "iu" or target.itemsize > source.itemsize
        if _follows_types(some):
            some = settled(some, source) if wider else some
            if target.kind in "iu":
                return settled(some, target)
    if is_bool(target):
        return np.asarray(np.frompyfunc(as_condition, 1, 1)(some), object)
    if is_bool(source):
        return np.asarray(np.frompyfunc(as_number, 1, 1)(some), object)
    dtype, floats = type_of_kind(np.dtype(target)), is_float(target)
    if source == target:
        return some
    if not explicit:
        if floats and isinstance(source, np.dtype) and np.can_cast(source, target):
            return some
        if not (floats or is_float(source) or _is_narrow(target)):  # integers of 32 and 64 bits have no widths here
            return some

    def one(value: Any) -> Any:
        if not is_data(value):
            found = None if value is None else CONVERT.get()(value, dtype)
            return found.item() if isinstance(found, np.generic) else found
        if not explicit and floats and isinstance(value, Datum):
            types = value._types(value.term) | ({value.kind} if value.kind else set())
            if all(each is dtype or is_exact(each, dtype) for each in types):
                return value
        if isinstance(value, Datum) and value.kind is None:
            table, types = value.terms, value._types(value.term)
            if table.is_const(value.term):
                return np.asarray(float(table.nodes[value.term][1][0])).astype(target).item()
            if {each.is_float for each in types} != {is_float(source)} or len(types) > 1:
                cast = Canonical(table).cast(np.array([value.term]), type_of_kind(np.dtype(source)), dtype)
                return Datum(table, int(cast[0]), None, dtype if floats else None)  # a quotient, a count, a mixture
        return value.converted_to(dtype)

    with np.errstate(all="ignore"):
        return np.asarray(np.frompyfunc(one, 1, 1)(some), object)


# -- NumPy's own integer types ----------------------------------------------------------------------------------------


def with_type(value: Any, kind: Kind) -> Any:
    """Return a scalar that knows NumPy's type of it, where such types are followed."""
    if type(value) is Datum and value.terms.whole is not None:
        return Datum(value.terms, value.term, None, value.kind, np.dtype(kind))
    return value


def without_type(value: Any) -> Any:
    """Return a scalar as an element of an array, which knows the type."""
    return Datum(value.terms, value.term, None, value.kind) if type(value) is Datum and value.own is not None else value


def _follows_types(some: Objects) -> bool:
    return any(type(value) is Datum and value.terms.whole is not None for value in some.reshape(-1).tolist())


def settled(some: Objects, kind: Kind) -> Objects:
    """Return integers as their type has them, where NumPy's types are followed: what may be beyond it is cut off.

    Sums, products and bits of a type need it at the end only, before something that wrapping does not commute with.
    """
    if not (isinstance(kind, np.dtype) and kind.kind in "iu") or not _follows_types(some):
        return some
    dtype = type_of_kind(kind)

    def one(value: Any) -> Any:
        if type(value) is not Datum or value.terms.whole is None or value.terms.whole.fits(value.term, dtype):
            return value
        terms = value.terms
        if terms.is_const(value.term):
            return np.array(int(terms.nodes[value.term][1][0]) & (1 << 64) - 1, np.uint64).astype(kind).item()
        return Datum(terms, terms.apply(f"to_{dtype.value}", (value.term,)))

    return np.asarray(np.frompyfunc(one, 1, 1)(some), object)


_COMMUTES: Final = frozenset({
    "add", "subtract", "multiply", "negative", "positive", "conjugate", "square", "invert", "left_shift",
    "bitwise_and", "bitwise_or", "bitwise_xor",
})  # fmt: skip
"""What may be computed of integers that have not been cut off to their type yet."""


def _operands(name: str, some: Sequence[Objects], kinds: Sequence[Kind], kind: Kind) -> list[Objects]:
    """Return the operands of a function, cut off where it is more than sums, products and bits in their own type."""
    return [
        each if name in _COMMUTES and own == kind else settled(each, own) for each, own in zip(some, kinds, strict=True)
    ]


# -- functions of elements ------------------------------------------------------------------------------------------


def _where(op: str, a: Any, b: Any, then: Any, otherwise: Any) -> Any:
    return applied(where_row(op), [a, b, then, otherwise])


def choose(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return one of two elements by a condition, which may compare data."""
    condition = as_condition(condition)
    if not isinstance(condition, DataComparison):
        return then if condition else otherwise
    if isinstance(then, DataComparison) or isinstance(otherwise, DataComparison):
        return (condition & then) | (~condition & otherwise)
    return pick(_where, condition, then, otherwise)


def as_number(value: Any) -> Any:
    """Return a truth value as 0 or 1, anything else as it is."""
    if isinstance(value, DataComparison):
        return pick(_where, value, 1, 0)
    return int(value) if type(value) is bool else value


def as_condition(value: Any) -> Any:
    """Return an element as a condition: whether it is not 0."""
    if isinstance(value, DataComparison):
        return value
    return value != 0 if is_data(value) else bool(value)


def negated(value: Any) -> Any:
    return ~value if isinstance(value, DataComparison) else not value


def _same(a: Any, b: Any) -> Any:
    """Return whether two truth values are the same."""
    if not isinstance(a, DataComparison):
        a, b = b, a
    return (a & b) | (~a & negated(b)) if isinstance(b, DataComparison) else a if b else ~a


def _extreme(op: str) -> Callable[[Any, Any], Any]:
    def extreme(a: Any, b: Any) -> Any:
        first, second = (a, b) if is_data(a) else (b, a)
        return first.reduce_with(op, second)

    return extreme


_MAXIMUM, _MINIMUM = _extreme("max"), _extreme("min")


def function(name: str) -> Callable[..., Any]:
    """Return a function of mathematics on elements."""
    row = FUNCTIONS[name]
    return lambda *values: applied(row, list(values))


def power(x: Any, y: Any) -> Any:
    """Return a power: a product where the exponent is a whole number, a root, or the function `pow`."""
    if is_data(y):
        return function("pow")(x, y)
    if y == 0.5:
        return function("sqrt")(x)
    if y < 0:
        return 1 / power(x, -y)
    if float(y).is_integer():
        if y > MOST_FACTORS:
            return x ** int(y)  # which data refuses
        return reduce(operator.mul, [x] * (int(y) - 1), x) if y else 1
    return function("pow")(x, float(y))


def _sign(x: Any) -> Any:
    return choose(x > 0, 1, choose(x < 0, -1, 0))


def _xlogy(x: Any, y: Any) -> Any:
    return choose(x == 0, 0, x * function("log")(y))


def _fmod(x: Any, y: Any) -> Any:
    return x - y * function("trunc")(x / y)


_TO_RADIANS: Final = np.pi / 180
_ELEMENTS: Final[dict[str, Callable[..., Any]]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "fmod": _fmod, "power": power, "float_power": power,
    "negative": operator.neg, "positive": lambda x: x, "conjugate": lambda x: x, "absolute": abs, "fabs": abs,
    "maximum": _MAXIMUM, "fmax": _MAXIMUM, "minimum": _MINIMUM, "fmin": _MINIMUM,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "invert": operator.invert,
    "left_shift": operator.lshift, "right_shift": operator.rshift,
    "logical_and": lambda a, b: as_condition(a) & as_condition(b),
    "logical_or": lambda a, b: as_condition(a) | as_condition(b),
    "logical_xor": lambda a, b: negated(_same(as_condition(a), as_condition(b))),
    "logical_not": lambda a: negated(as_condition(a)),
    "sign": _sign, "square": lambda x: x * x, "reciprocal": lambda x: 1 / x, "heaviside": lambda x, h: choose(
        x > 0, 1, choose(x < 0, 0, h)), "copysign": lambda x, y: choose(y < 0, -abs(x), abs(x)),
    "hypot": lambda x, y: function("sqrt")(x * x + y * y),
    "logaddexp": lambda x, y: function("log")(function("exp")(x) + function("exp")(y)),
    "logaddexp2": lambda x, y: function("log2")(function("exp2")(x) + function("exp2")(y)),
    "tan": lambda x: function("sin")(x) / function("cos")(x),
    "cosh": lambda x: (function("exp")(x) + function("exp")(-x)) / 2,
    "radians": lambda x: x * _TO_RADIANS, "deg2rad": lambda x: x * _TO_RADIANS,
    "degrees": lambda x: x / _TO_RADIANS, "rad2deg": lambda x: x / _TO_RADIANS,
    "expit": lambda x: 1 / (1 + function("exp")(-x)), "xlogy": _xlogy,
    "arcsin": function("asin"), "arccos": function("acos"), "arctan": function("atan"),
    **{name: function(name) for name in FUNCTIONS if name not in ("pow", "fma", "rsqrt", "asin", "acos", "atan")},
}  # fmt: skip
"""By the names of NumPy's functions, and SciPy's; each has data among its operands."""
_OF_TRUTH: Final[dict[str, Callable[..., Any]]] = {
    "add": lambda a, b: a | b, "multiply": lambda a, b: a & b, "maximum": lambda a, b: a | b,
    "minimum": lambda a, b: a & b, "fmax": lambda a, b: a | b, "fmin": lambda a, b: a & b,
    "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: negated(_same(a, b)), "equal": _same, "not_equal": lambda a, b: negated(_same(a, b)),
    "invert": negated, "absolute": lambda a: a, "conjugate": lambda a: a,
}  # fmt: skip
"""Those of truth values only."""
_WHOLE: Final = frozenset({"floor", "ceil", "trunc"})
"""Of integers, they change nothing."""
_WRAPPING: Final = frozenset({
    "add", "subtract", "multiply", "negative", "left_shift", "power", "square", "absolute", "floor_divide",
})  # fmt: skip
"""What leaves a type of 8 or 16 bits."""
_MENDS: Final = {
    "isnan": "leave it out: there is no NaN to the proof",
    "isfinite": "leave it out: data is finite to the proof",
    "isinf": "leave it out: data is finite to the proof",
    "fmod": "write x % y, or x - y * (x // y)",
    "reciprocal": "write 1 / x",
    "divmod": "write x // y and x % y",
    "cbrt": "write np.power(x, 1 / 3)",
    "arctan2": "write np.arctan(y / x) with what its sign adds, by np.where",
}


def refused(name: str, fix: str = "") -> SwizzleError:
    """Return the mistake that a function of NumPy's is of data."""
    return SwizzleError(
        f"{name if name.startswith('ndarray') else f'np.{name}'} of data in a specification",
        expected=f"a function of the list in {PAGE}",
        fix=fix or _MENDS.get(name) or "write it with arithmetic, np.where, np.maximum and np.minimum",
    )


def element_function(ufunc: np.ufunc, kinds: Sequence[Kind]) -> tuple[Callable[..., Any], np.dtype[Any]]:
    """Return what a function is of elements, one of which is data at least, and the type of the result."""
    name = ufunc.__name__
    (kind,) = resulting(ufunc, tuple(kinds)) if ufunc.nout == 1 else (None,)
    if name not in _ELEMENTS or kind is None or (name in ("fmod", "reciprocal") and not is_float(kind)):
        raise refused(name)
    found = _ELEMENTS[name]
    if all(map(is_bool, kinds)) and name in _OF_TRUTH:
        return _OF_TRUTH[name], kind
    if name in _WHOLE and not is_float(kind):
        return lambda x: x, kind
    if any(map(is_bool, kinds)) and not name.startswith("logical_"):
        of_numbers = found
        found = lambda *values: of_numbers(*map(as_number, values))  # noqa: E731
    if name in _WRAPPING and _is_narrow(kind):
        unbounded, dtype = found, type_of_kind(kind)
        found = lambda *values: _wrapped(unbounded(*values), dtype)  # noqa: E731
    return found, kind


def on_elements(ufunc: np.ufunc, some: Sequence[Objects], kinds: Sequence[Kind]) -> tuple[Objects, np.dtype[Any]]:
    """Return a function of arrays, element by element: where no operand is data, NumPy's own."""
    found, kind = element_function(ufunc, kinds)
    some = _operands(ufunc.__name__, some, kinds, kind)

    def one(*values: Any) -> Any:
        for value in values:
            if type(value) not in _NUMBERS:
                return found(*values)
        given = (k.type(v) if isinstance(k, np.dtype) else v for v, k in zip(values, kinds, strict=True))
        return ufunc(*given).item()

    plain = found in (operator.add, operator.sub, operator.mul)
    with np.errstate(all="ignore"):
        made = ufunc(*some, dtype=object) if plain else np.frompyfunc(one, len(some), 1)(*some)
    return (made if isinstance(made, np.ndarray) else objects(made)), kind


# -- reductions -----------------------------------------------------------------------------------------------------

_SYMBOLS: Final = {
    "add": "+", "multiply": "*", "maximum": "max", "minimum": "min", "fmax": "max", "fmin": "min",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip
_HALVED: Final = frozenset({"logical_and", "logical_or", "logaddexp"})
"""They are put together two by two, so that they are not nested as deeply as they are long."""


def ids_of(values: Sequence[Any]) -> tuple[Terms, list[int]] | None:
    """Return the terms of elements, all of them symbolic or numbers; None where one is of a converted type."""
    table = next((value.terms for value in values if type(value) is Datum), None)
    if table is None:
        return None
    found, const = list[int](), table.const
    for value in values:
        if type(value) is Datum:
            if value.kind is not None:
                return None
            found.append(value.term)
        elif type(value) in (int, float):
            found.append(const(value))
        else:
            return None
    return table, found


def data_of(table: Terms, ids: Ids) -> Objects:
    """Return an array of terms as data."""
    made = np.empty(ids.size, object)
    made[:] = [Datum(table, term) for term in ids.reshape(-1).tolist()]
    return made.reshape(ids.shape)


def _cut(some: Objects, name: str, kind: Kind) -> Objects:
    """Return sums or products of 8 or 16 bits, which wrap at the end as they would at each step."""
    if name not in _WRAPPING or not _is_narrow(kind):
        return some
    dtype = type_of_kind(kind)
    return objects(np.frompyfunc(lambda value: _wrapped(value, dtype), 1, 1)(some))


def _wrapped(value: Any, dtype: DType) -> Any:
    """Return data as a type of 8 or 16 bits has it, a number where it is one."""
    if isinstance(value, Datum) and value.terms.is_const(value.term):
        value = int(value.terms.nodes[value.term][1][0])
    return value.converted_to(dtype) if is_data(value) else np.asarray(value).astype(NUMPY_DTYPES[dtype]).item()


def reduced_rows(ufunc: np.ufunc, rows: Objects, kind: Kind) -> Objects:
    """Return what a function of two makes of each row, which has an element at least."""
    name = ufunc.__name__
    found, result = element_function(ufunc, (kind, kind))
    (rows,) = _operands(name, [rows], [kind], result)
    several = rows.shape[1] > 1
    if several and name in _SYMBOLS and not is_bool(kind):
        given = ids_of(rows.reshape(-1).tolist())
        if given is not None:
            ids = np.array(given[1], np.int64).reshape(rows.shape)
            return _cut(data_of(given[0], apply_rows(given[0], _SYMBOLS[name], ids)), name, result)

    def pair(a: Any, b: Any) -> Any:
        if is_data(a) or is_data(b):
            return found(a, b)
        return ufunc(kind.type(a), kind.type(b)).item()

    def halved(row: list[Any]) -> Any:
        while len(row) > 1:
            rest = row[len(row) & ~1 :]
            row = [pair(a, b) for a, b in zip(row[::2], row[1::2], strict=False)] + rest
        return row[0]

    combine = halved if name in _HALVED or is_bool(kind) else lambda row: reduce(pair, row)
    made = np.empty(len(rows), object)
    made[:] = [combine(row) for row in rows.tolist()]
    return made


def summed_products(a: Objects, b: Objects, kinds: tuple[Kind, Kind]) -> tuple[Objects, np.dtype[Any]]:
    """Return the sums of the products of two arrays of one shape, over the last axis, which is not empty."""
    (kind,) = resulting(np.multiply, kinds)
    a, b = _operands("multiply", [a, b], kinds, kind)
    if not any(map(is_bool, kinds)):
        sides = [_base(each) for each in (a, b)]
        given = ids_of([*sides[0].reshape(-1).tolist(), *sides[1].reshape(-1).tolist()])
        if given is not None:
            table, ids = given[0], np.array(given[1], np.int64)
            parts = ids[: sides[0].size].reshape(sides[0].shape), ids[sides[0].size :].reshape(sides[1].shape)
            pairs = [np.broadcast_to(part, a.shape).reshape(-1) for part in parts]
            rows = apply_pairs(table, "*", *pairs).reshape(-1, a.shape[-1])
            sums = data_of(table, apply_rows(table, "+", rows)).reshape(a.shape[:-1])
            return _cut(sums, "add", kind), kind
    products, kind = on_elements(np.multiply, (a, b), kinds)
    made = reduced_rows(np.add, products.reshape(-1, products.shape[-1]), kind)
    return made.reshape(a.shape[:-1]), kind


def _base(array: Objects) -> Objects:
    """Return the elements of a broadcast array, each once: along what was repeated, the first."""
    return array[tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)]


def note_widened(values: Sequence[Any]) -> None:
    """Note inputs of 8 and 16 bits with which is computed as they are, so not in NumPy's type of them."""
    for value in values:
        if isinstance(value, list | tuple):
            note_widened(value)
        if not getattr(value, "label", "") or not value.size:
            continue
        first = np.ndarray.view(value, np.ndarray).reshape(-1)[0]
        whole = first.terms.whole if type(first) is Datum else None
        if whole is not None and first.terms.types[value.label].is_narrow:
            whole.widened[value.label] = None
