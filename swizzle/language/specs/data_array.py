"""An array of data as NumPy's: what a specification of a Python file is given, and what NumPy makes of it there.

It is an `ndarray` of objects, so that all that only moves elements is NumPy's own. What computes with them goes through
NumPy's two protocols: functions of elements to `array_elements`, the others to `FUNCTIONS`, which `array_functions`
fills. What is in neither is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from swizzle.language.specs.array_elements import (
    NEVER_WRAPS,
    Kind,
    Objects,
    common_kind,
    converted,
    has_data,
    is_data,
    kind_of,
    kind_of_type,
    note_widened,
    objects,
    on_elements,
    plain_numbers,
    reduced_rows,
    refused,
    settled,
    with_type,
)
from symbolic.algebra.datum import DataComparison, Datum
from symbolic.algebra.terms import Terms
from symbolic.errors import SwizzleError
from symbolic.ir.functions import ChoiceFunction, Gather, StateFunction, applied, gathered
from symbolic.ir.program import DType, FunctionName

FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {}
"""What NumPy's functions of arrays are of arrays of data, or of data; by name, methods of functions of elements."""


def known(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say of which of NumPy's functions the one below is the meaning."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(functions, function))
        return function

    return note


WRITING: Final = (np.copyto, np.fill_diagonal)
"""What changes its first argument."""
_PLAIN: Final[tuple[type, ...]] = (int, float, bool)
_UNSET: Final = object()


def _method(name: str) -> Callable[..., Any]:
    def method(self: DataArray, *arguments: Any, **named: Any) -> Any:
        return getattr(np, name)(self, *arguments, **named)

    return method


def _refused_method(name: str) -> Callable[..., Any]:
    def method(self: DataArray, *arguments: Any, **named: Any) -> Any:
        raise refused(f"ndarray.{name}", "data has no bits; write x.astype(...) for a conversion")

    return method


class DataArray(np.ndarray[Any, Any]):
    """An array of data and numbers. `kind` is the type that NumPy would give its elements, `label` the name of the
    input that it is a part of, if any. Integers that are `exact` are converted, not rounded, where floats are made of
    them."""

    kind: np.dtype[Any]
    label: str
    exact: bool

    def __array_finalize__(self, of: Any) -> None:
        self.kind = getattr(of, "kind", np.dtype(object))
        self.label = getattr(of, "label", "")
        self.exact = getattr(of, "exact", False)

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self.kind

    def __repr__(self) -> str:
        return f"data({self.tolist()}, {self.kind})"

    __str__ = __repr__

    # -- elements ---------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        simple = type(key) is int or (type(key) is tuple and all(type(part) is int for part in key))
        if not simple:
            parts = tuple(map(index_for, key)) if isinstance(key, tuple) else (index_for(key),)
            if any(isinstance(part, DataArray) for part in parts):
                return self._gathered(parts)
            key = parts if isinstance(key, tuple) else parts[0]
        try:
            found = super().__getitem__(key)
        except IndexError as error:
            raise self._out_of_bounds(key, error) from None
        if type(found) in _PLAIN:
            return self.kind.type(found)
        if type(found) is Datum:
            note_widened([self])
        return with_type(found, self.kind) if self.kind.kind in "iu" else found

    def _out_of_bounds(self, key: Any, error: IndexError) -> IndexError:
        for part, size in zip(key if isinstance(key, tuple) else (key,), self.shape, strict=False):
            if self.label and isinstance(part, int) and not -size <= part < size:
                return IndexError(f"index {part} is out of bounds for {self.label} with size {size}")
        return error

    def __setitem__(self, key: Any, value: Any) -> None:
        parts = tuple(map(index_for, key)) if isinstance(key, tuple) else (index_for(key),)
        taken = self._taken(value)
        if not any(isinstance(part, DataArray) for part in parts):
            super().__setitem__(parts if isinstance(key, tuple) else parts[0], taken if taken.ndim else taken[()])
            return
        (mask,) = parts if len(parts) == 1 else (None,)
        if mask is None or mask.kind.kind != "b" or mask.shape != self.shape or taken.ndim:
            raise SwizzleError(
                "the specification writes to places that data decides",
                expected="a mask of the array's own shape, and one value: y[y < 0] = 0",
                fix="write np.where(mask, value, y), with values of the same shape",
            )
        chosen = FUNCTIONS[np.where](mask, made(taken, self.kind), self)
        super().__setitem__(..., cells(chosen))

    def _taken(self, value: Any) -> Objects:
        """Return what is written into the array, as its type has it."""
        some = cells(value)
        if self.kind == np.float64 and type(value) is Datum:  # a running sum is written once for each of its items
            return some
        return converted(some, kind_of_array(value, some), self.kind, explicit=False)

    def _gathered(self, parts: tuple[Any, ...]) -> Any:
        """Return the elements of an input at indices that are data."""
        if any(isinstance(part, DataArray) and part.kind.kind == "b" for part in parts):
            raise SwizzleError(
                "the specification selects elements by a mask that data decides",
                expected="arrays whose shapes do not depend on data",
                fix="write np.where(mask, x, 0), whose shape is that of x",
            )
        for part in parts:
            if isinstance(part, DataArray) and part.kind.kind == "f":
                raise SwizzleError(
                    f"the specification indexes with the data {part}, which are no whole numbers",
                    expected="an index of a type of whole numbers",
                    fix="convert it: i.astype(np.int32)",
                )
        places = np.arange(self.size).reshape(self.shape)
        first, rest = parts[0], parts[1:]
        if isinstance(first, DataArray) and not any(isinstance(part, DataArray | np.ndarray) for part in rest):
            below = places[(0, *rest)]
            strides = [prod(self.shape[1:])]
            at = cells(first).reshape((*first.shape, *[1] * np.ndim(below))) * strides[0] + np.asarray(below, object)
        elif len(parts) == self.ndim and all(isinstance(p, DataArray | np.ndarray | int | np.integer) for p in parts):
            at = np.zeros((), object)
            for axis, part in enumerate(parts):
                index = cells(part)
                if not isinstance(part, DataArray):
                    index = objects(np.arange(self.shape[axis])[part])
                at = at + index * prod(self.shape[axis + 1 :])
        else:
            raise SwizzleError(
                "the specification reads at an index that is data, among slices",
                expected="x[index], x[index, 3], or an index for each dimension: x[np.arange(n), index]",
                fix="give each dimension an index, of shapes that broadcast",
            )
        table, name, offset = self.source("reads at an index that is data")
        read = gathered(name)
        found = np.frompyfunc(lambda place: _read(self, table, read, offset, place), 1, 1)(at)
        return made(objects(found), self.kind) if np.ndim(found) else with_type(found, self.kind)

    def gather(self, indices: Sequence[Any]) -> Any:
        """Return the element at an index for each dimension, data or not."""
        table, name, offset = self.source("gathers from")
        place: Any = 0
        for at, index in enumerate(indices):
            index = settled(cells(index), kind_of(index))[()] if is_data(index) else index
            if not is_data(index) and not 0 <= index < self.shape[at]:
                raise IndexError(f"index {index} is out of bounds for {name} with size {self.shape[at]}")
            place = place + index * prod(self.shape[at + 1 :])
        return with_type(_read(self, table, gathered(name), offset, place), self.kind)

    def source(self, does: str) -> tuple[Terms, str, int]:
        """Return the table, the input and the place of the first element, if this is an input or a part of one."""
        flat = cells(self).reshape(-1).tolist()
        first = flat[0] if flat else None
        if isinstance(first, Datum):
            op, args = first.terms.nodes[first.term]
            if op == "atom" and all(
                isinstance(value, Datum) and value.terms.nodes[value.term] == ("atom", (args[0], args[1] + at))
                for at, value in enumerate(flat)
            ):
                return first.terms, args[0], args[1]
        raise SwizzleError(
            f"the specification {does} an array that it has computed",
            expected="an input array, or rows of one that follow each other",
            fix="read the inputs at the index, and compute with what is read",
        )

    def __bool__(self) -> bool:
        if self.size == 1 or not has_data(cells(self)):
            return bool(self.plain() if self.size != 1 else cells(self).reshape(-1)[0])
        raise SwizzleError(
            "the specification takes the truth value of an array of data",
            expected="a specification that treats data as opaque: only arithmetic on it",
            fix="choose between values with np.where(a < b, x, y), np.minimum and np.maximum; branch on integers only",
        )

    def plain(self) -> Any:
        """Return the array of numbers that it is."""
        return cells(self).astype(self.kind)

    # -- what functions of the house ask of data --------------------------------------------------------------------

    def apply_function(self, function: FunctionName, arguments: Sequence[Any]) -> DataArray:
        """Return a function of mathematics of arrays, element by element."""
        row = function.row
        assert not isinstance(row, Gather | StateFunction), "elements of arrays and states are not computed from values"
        results = arguments[-2:] if isinstance(row, ChoiceFunction) else arguments
        kind = common_kind([kind_of_array(result, cells(result)) for result in results])
        elements: Any = np.frompyfunc(lambda *values: applied(row, list(values)), len(arguments), 1)(
            *map(cells, arguments)
        )
        return made(elements, kind)

    def converted_to(self, target: DType) -> DataArray:
        """Return the elements as a type has them."""
        return made(np.frompyfunc(lambda v: v.converted_to(target), 1, 1)(cells(self)), kind_of_type(target))

    # -- NumPy's protocols ------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        return _called(ufunc, method, inputs, named)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in WRITING and "out" not in kwargs and not _mentions(args, kwargs):
            exact = list[bool]()

            def plain(value: Any) -> Any:
                exact.append(isinstance(value, DataArray) and value.exact)
                return value.plain() if isinstance(value, DataArray) else value

            named = {name: each_array(value, plain) for name, value in kwargs.items()}
            found = func(*each_array(args, plain), **named)
            return each_array(found, _exact_or_constant if any(exact) else constants)
        note_widened(args)
        found = FUNCTIONS.get(func)
        if found is None:
            module = func.__module__.removeprefix("numpy").lstrip(".")
            raise refused(f"{module}.{func.__name__}" if module in ("linalg", "fft") else func.__name__)
        return found(*args, **kwargs)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> DataArray:
        """Return the elements as a type has them."""
        target = np.dtype(dtype)
        return made(converted(cells(self).copy(), self.kind, target, explicit=True), target)

    def tolist(self) -> Any:
        """Return nested lists; what were integers of Python's have 64 bits where types are followed."""
        return _scalars(self, cells(self)).tolist()

    def item(self, *place: Any) -> Any:
        """Return an element as `tolist` does."""
        return made(objects(cells(self).item(*place)), self.kind).tolist()

    def copy(self, order: Any = "C") -> DataArray:
        """Return an array of its own."""
        return made(cells(self).copy(), self.kind)

    def fill(self, value: Any) -> None:
        """Write one value to all elements."""
        self[...] = value

    @property
    def flat(self) -> Any:
        """All elements, row-major."""
        return self.reshape(-1) if self.flags.c_contiguous else self.copy().reshape(-1)


_METHODS: Final = (
    "sum prod mean var std max min argmax argmin any all cumsum cumprod clip round dot trace take repeat compress sort "
    "argsort partition argpartition searchsorted nonzero put choose resize"
)
for _name in _METHODS.split():
    setattr(DataArray, _name, _method(_name))
for _name in ("view", "byteswap", "tobytes", "tofile", "setfield", "getfield"):
    setattr(DataArray, _name, _refused_method(_name))


def _mentions(arguments: Sequence[Any], named: dict[str, Any]) -> bool:
    """Say whether one of a function's arguments has data in it."""
    return any(map(_mentions_data, (*arguments, *named.values())))


def _mentions_data(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_mentions_data, value))
    if isinstance(value, DataArray):
        return has_data(cells(value))
    return is_data(value) or (isinstance(value, np.ndarray) and value.dtype == object)


def each_array(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return an argument with its arrays changed, those in lists and tuples too."""
    if isinstance(value, list | tuple):
        return type(value)(each_array(part, change) for part in value)
    return change(value)


def _read(array: DataArray, table: Terms, read: FunctionName, offset: int, place: Any) -> Any:
    total = place + offset
    if isinstance(total, Datum):
        return total.apply_function(read, [total])
    return cells(array).reshape(-1)[total - offset]


def index_for(part: Any) -> Any:
    """Return an index for NumPy: numbers of ours as numbers; of data, an array of ours."""
    if isinstance(part, list):
        part = array_of(part) if any(map(has_arrays, part)) else np.array(part)
    if isinstance(part, Datum | DataComparison):
        part = array_of(part)
    if not isinstance(part, DataArray):
        return part
    return made(settled(cells(part), part.kind), part.kind) if has_data(cells(part)) else part.plain()


def made(some: Objects, kind: Kind, label: str = "") -> DataArray:
    """Return an array of objects as one of data."""
    found = np.ndarray.view(some, DataArray)
    found.kind, found.label = np.dtype(kind), label
    return found


def result(some: Objects, kind: Kind) -> Any:
    """Return an array of data, or the element that one without dimensions has."""
    if some.ndim:
        return made(some, kind)
    value = some[()]
    return np.dtype(kind).type(value) if type(value) in _PLAIN else with_type(value, kind)


def cells(value: Any) -> Objects:
    """Return the elements of an array, a nested list, data or a number, as objects."""
    if isinstance(value, DataArray):
        return np.ndarray.view(value, np.ndarray)
    if isinstance(value, list | tuple):
        return cells(array_of(value))
    return objects(value)


def kind_of_array(value: Any, some: Objects) -> Kind:
    """Return the kind of a value whose elements these are."""
    if isinstance(value, DataArray):
        return value.kind
    if isinstance(value, list | tuple) and isinstance(whole := array_of(value), DataArray):
        return whole.kind
    if (isinstance(value, np.ndarray) and value.dtype == object) or isinstance(value, list | tuple):
        return common_kind([kind_of(each) for each in some.reshape(-1).tolist()] or [float])
    return kind_of(value)


def has_arrays(value: Any) -> bool:
    """Say whether there are data, or arrays of data or numbers of ours, in nested lists."""
    if isinstance(value, list | tuple):
        return any(map(has_arrays, value))
    return isinstance(value, DataArray) or is_data(value)


def array_of(value: Any) -> Any:
    """Return a nested list with data in it, or data, as an array of data; numbers as NumPy does."""
    if isinstance(value, DataArray):
        return value
    if not has_arrays(value):
        if isinstance(value, np.ndarray) and value.dtype == object:
            value = plain_numbers(value)
            return made(value, kind_of_array(value, value)) if has_data(value) else np.array(value.tolist())
        return np.asarray(value)
    if not isinstance(value, list | tuple):
        return made(objects(value), kind_of(value))
    note_widened(value)
    parts = [array_of(part) for part in value]
    if len({part.shape for part in parts}) > 1:
        raise ValueError(
            f"setting an array element with a sequence: the parts have the shapes {[part.shape for part in parts]}"
        )
    some = np.empty((len(parts), *parts[0].shape), object)
    for at, part in enumerate(parts):
        own = settled(cells(part), kind_of_array(part, cells(part)))
        some[at] = own if part.ndim else own[()]
    return made(some, common_kind([kind_of_array(part, cells(part)) for part in parts]))


# -- functions of elements ------------------------------------------------------------------------------------------


def called(ufunc: np.ufunc, *operands: Any) -> Any:
    """Return a function of elements of arrays, data or numbers."""
    return _called(ufunc, "__call__", operands, {})


def _called(ufunc: np.ufunc, method: str, inputs: Sequence[Any], named: dict[str, Any]) -> Any:
    """Return a call of a function of elements, or of one of its methods, of arrays or data."""
    if ufunc.__name__ not in NEVER_WRAPS:
        note_widened(inputs)
    given = [array_of(each) if isinstance(each, list | tuple) or is_data(each) else each for each in inputs]
    given = [array_of(each) if isinstance(each, np.ndarray) and each.dtype == object else each for each in given]
    if method != "at":
        plain = [each.plain() if isinstance(each, DataArray) and not has_data(cells(each)) else each for each in given]
        if not any(isinstance(each, DataArray) for each in [*plain, *(named.get("out") or ())]):
            exact = any(isinstance(each, DataArray) and each.exact for each in given)
            found = getattr(ufunc, method)(*plain, **named)
            if not exact or isinstance(found, tuple):
                return tuple(map(constants, found)) if isinstance(found, tuple) else constants(found)
            if found.dtype.kind != "f":
                return _exact_or_constant(found)
            given = [_as_floats(each) for each in given]
    out, dtype = named.pop("out", None), named.pop("dtype", None)
    kept = named.pop("where", True)
    named = {name: value for name, value in named.items() if name not in ("casting", "order", "subok")}
    if method == "__call__":
        found = _of_elements(ufunc, given, named)
        if dtype is not None:
            found = found.astype(dtype)
        if kept is not True:
            if out is None:
                raise refused(f"{ufunc.__name__} with where= and no out=", "write np.where(mask, value, other)")
            found = FUNCTIONS[np.where](kept, found, out[0])
    elif method == "reduce":
        found = _reduced(ufunc, array_of(given[0]), *given[1:], **{"dtype": dtype, "where": kept, **named})
    elif method == "accumulate":
        found = FUNCTIONS["accumulate"](ufunc, given[0], *given[1:], **{"dtype": dtype, **named})
    elif method == "outer":
        a, b = (np.asanyarray(each) for each in given)
        found = _called(ufunc, "__call__", (np.reshape(a, (*a.shape, *[1] * b.ndim)), b), {})
    else:
        return FUNCTIONS[method](ufunc, *given, **named)
    return _written(ufunc, out, found)


def exact_integers(value: Any) -> DataArray:
    """Return integers of which floats are made without rounding."""
    found = made(objects(value), np.asarray(value).dtype)
    found.exact = True
    return found


def _exact_or_constant(value: Any) -> Any:
    return exact_integers(value) if getattr(value, "dtype", np.dtype(float)).kind in "iu" else constants(value)


def _as_floats(value: Any) -> Any:
    return value.astype(np.float64) if isinstance(value, DataArray) and value.exact else value


def constants(value: Any) -> Any:
    """Return an array of numbers as one that data can be written into."""
    if isinstance(value, np.ndarray) and not isinstance(value, DataArray) and value.dtype.kind in "iufb":
        return made(value.astype(object), value.dtype)
    return value


def _written(ufunc: np.ufunc, out: Any, found: Any) -> Any:
    if out is None:
        return found
    for target, value in zip(out, found if isinstance(found, tuple) else (found,), strict=True):
        if not isinstance(target, DataArray):
            raise SwizzleError(
                "the specification writes data into an array of numbers",
                expected="an array that np.zeros, np.empty or np.full has made in the specification itself",
                fix="write np.zeros_like(x), or y = y + x in the place of y += x",
            )
        source = kind_of_array(value, cells(value))
        if isinstance(source, np.dtype) and not np.can_cast(source, target.kind, "same_kind"):
            raise TypeError(
                f"Cannot cast ufunc '{ufunc.__name__}' output from {source!r} to {target.kind!r} with casting rule "
                "'same_kind'"
            )
        target[...] = value
    return out[0] if len(out) == 1 else out


def _of_elements(ufunc: np.ufunc, given: Sequence[Any], named: dict[str, Any]) -> Any:
    if ufunc.signature is not None:  # a product
        if ufunc not in FUNCTIONS:
            raise refused(ufunc.__name__, "write a @ b")
        return FUNCTIONS[ufunc](*given, **named)
    if named:
        raise refused(f"{ufunc.__name__} with {min(named)}=")
    if ufunc is np.divmod:
        return _called(np.floor_divide, "__call__", given, {}), _called(np.remainder, "__call__", given, {})
    some = [cells(each) for each in given]
    if all(set(types) <= set("O->") for types in ufunc.types):  # a user's, of np.vectorize or np.frompyfunc
        return array_of(ufunc(*map(_scalars, given, some)))
    return result(
        *on_elements(ufunc, some, [kind_of_array(each, part) for each, part in zip(given, some, strict=True)])
    )


def _scalars(array: Any, some: Objects) -> Objects:
    """Return elements as Python's numbers, of which integers have 64 bits where types are followed."""
    whole = kind_of_array(array, some)
    if not (isinstance(whole, np.dtype) and whole.kind in "iu"):
        return some
    found = np.frompyfunc(lambda value: with_type(value, np.int64), 1, 1)(settled(some, whole))
    return np.asarray(found, object)


def ones_like(array: DataArray) -> Any:
    return np.broadcast_to(np.ones((), array.kind), array.shape)


def _reduced(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = _UNSET, where: Any = True,
) -> Any:  # fmt: skip
    """Return a reduction: what NumPy says of ones has its shape, its type and its mistakes."""
    start = {} if initial is _UNSET or initial is None else {"initial": initial}
    if not isinstance(array, DataArray):
        array = constants(array)
    like: dict[str, Any] = {"initial": 1} if start else {}
    shown = ufunc.reduce(ones_like(array), axis=axis, dtype=dtype, keepdims=keepdims, **like)
    kind = np.asarray(shown).dtype
    if where is not True:
        neutral = start.get("initial", ufunc.identity)
        if neutral is None:
            raise ValueError(f"reduction operation '{ufunc.__name__}' needs initial= with where=")
        array = FUNCTIONS[np.where](where, array, neutral)
    if ufunc.__name__ in ("add", "multiply", "logical_and", "logical_or") or dtype is not None:
        array = (
            array if array.kind == kind else made(converted(cells(array), array.kind, kind, dtype is not None), kind)
        )
    axes = tuple(range(array.ndim)) if axis is None or not array.ndim else tuple(np.atleast_1d(axis).tolist())
    kept = [at for at in range(array.ndim) if at not in {each % array.ndim for each in axes}]
    size = prod(array.shape[each] for each in axes)
    rows = cells(array).transpose(*kept, *axes).reshape(-1, size)
    if start:
        rows = np.concatenate([np.broadcast_to(cells(start["initial"]), (len(rows), 1)), rows], axis=1)
    if not rows.shape[1]:
        return constants(shown)
    return result(reduced_rows(ufunc, rows, array.kind).reshape(np.shape(shown)), kind)
