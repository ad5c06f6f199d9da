"""NumPy's functions of arrays on arrays of data: what moves elements is NumPy's own, the rest is written out here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from swizzle.language.specs.array_elements import (
    Objects,
    as_number,
    choose,
    common_kind,
    converted,
    has_data,
    is_data,
    objects,
    on_elements,
    plain_numbers,
    refused,
    settled,
)
from swizzle.language.specs.data_array import (
    FUNCTIONS,
    DataArray,
    array_of,
    called,
    cells,
    constants,
    each_array,
    index_for,
    kind_of_array,
    known,
    made,
    ones_like,
    result,
)

_UNSET: Final = object()


def _moving(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return NumPy's own function on elements of any kind, which it moves only, or adds and multiplies."""

    def moved(*arguments: Any, **named: Any) -> Any:
        kinds = list[Any]()

        def plain(value: Any) -> Any:
            if isinstance(value, DataArray):
                kinds.append(value.kind)
                return settled(cells(value), value.kind) if has_data(cells(value)) else value.plain()
            if is_data(value):
                array = array_of(value)
                kinds.append(array.kind)
                return cells(array)
            if isinstance(value, np.ndarray):
                kinds.append(value.dtype)
            return value

        found = function(
            *each_array(arguments, plain), **{name: each_array(value, plain) for name, value in named.items()}
        )
        return each_array(found, lambda value: _wrapped(value, kinds))

    return moved


def _wrapped(value: Any, kinds: Sequence[Any]) -> Any:
    if not isinstance(value, np.ndarray) or isinstance(value, DataArray):
        return value
    return made(value, common_kind(kinds)) if value.dtype == object else constants(value)


_ONE: Final = (
    "reshape ravel transpose swapaxes moveaxis rollaxis squeeze expand_dims broadcast_to broadcast_arrays atleast_1d "
    "atleast_2d atleast_3d split array_split vsplit hsplit dsplit unstack tile repeat roll flip fliplr flipud rot90 "
    "take_along_axis delete tril triu diag diagonal diagflat compress extract choose "
    "meshgrid copy resize matrix_transpose permute_dims"
)
"""What moves the elements of one array, or of several by themselves."""
for _name in _ONE.split():
    if hasattr(np, _name):
        FUNCTIONS[getattr(np, _name)] = _moving(getattr(np, _name))
FUNCTIONS[np.lib.stride_tricks.sliding_window_view] = _moving(np.lib.stride_tricks.sliding_window_view)

_MENDS: Final = {
    "sort": "write the network of np.minimum and np.maximum that the kernel has",
    "argsort": "write the comparisons that the kernel makes, with np.where",
    "median": "write the network of np.minimum and np.maximum that the kernel has",
    "unique": "shapes do not depend on data here; compute with all elements",
    "nonzero": "shapes do not depend on data here; write np.where(mask, x, 0)",
    "argwhere": "shapes do not depend on data here; write np.where(mask, x, 0)",
    "searchsorted": "write (sorted[None, :] < x[:, None]).sum(axis=1)",
    "histogram": "write (x[:, None] == np.arange(bins)).sum(axis=0)",
    "nansum": "write x.sum(): there is no NaN to the proof",
    "nanmax": "write x.max(): there is no NaN to the proof",
    "nanmin": "write x.min(): there is no NaN to the proof",
    "nanmean": "write x.mean(): there is no NaN to the proof",
    "array_equal": "a specification returns arrays, and decides nothing by data",
    "allclose": "a specification returns arrays, and decides nothing by data",
    "isclose": "write np.abs(x - y) < tolerance",
    "put": "write y[indices] = values",
    "interp": "write the interpolation that the kernel has",
}


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise refused(name, _MENDS.get(name, ""))

    return refuse


for _name in (*_MENDS, "partition", "argpartition"):
    FUNCTIONS[getattr(np, _name)] = _refusing(_name)


# -- what several arrays make ---------------------------------------------------------------------------------------


def _joining(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that puts arrays together, which may be lists and numbers."""
    moving = _moving(function)

    def joined(arrays: Any, *arguments: Any, **named: Any) -> Any:
        dtype = named.pop("dtype", None)
        found = moving([array_of(part) for part in arrays], *arguments, **named)
        return found if dtype is None else found.astype(dtype)

    return joined


for _name in ("concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack"):
    if hasattr(np, _name):
        FUNCTIONS[getattr(np, _name)] = _joining(getattr(np, _name))


@known(np.block)
def _block(arrays: Any) -> Any:
    def nested(part: Any) -> Any:
        return [nested(each) for each in part] if isinstance(part, list) else array_of(part)

    return _moving(np.block)(nested(arrays))


@known(np.append)
def _append(array: Any, values: Any, axis: Any = None) -> Any:
    parts = [array_of(array), array_of(values)]
    return np.concatenate([np.ravel(part) for part in parts] if axis is None else parts, axis=axis or 0)


@known(np.insert)
def _insert(array: Any, at: Any, values: Any, axis: Any = None) -> Any:
    taken: Any = constants(array_of(array))
    taken = taken if axis is not None else np.ravel(taken)
    return _moving(np.insert)(taken, at, constants(array_of(values)).astype(taken.kind), axis=axis or 0)


@known(np.pad)
def _pad(array: Any, pad_width: Any, mode: Any = "constant", **named: Any) -> Any:
    """Pad an array; the constants are of its own type."""
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap", "empty"):
        raise refused(f"pad with mode={mode!r}", "write np.concatenate of what is on each side")
    some = {
        name: constants(array_of(value)).astype(array.kind)
        for name, value in named.items()
        if name == "constant_values"
    }
    found = _moving(np.pad)(array, pad_width, mode=mode, **{**named, **some})
    return made(plain_numbers(cells(found)), array.kind)


@known(np.take)
def _take(array: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    some = constants(array_of(array))
    if axis is None and some.ndim > 1:
        some, axis = some.reshape(-1), 0
    if mode != "raise":
        return _moving(np.take)(some, indices, axis=axis, mode=mode)
    return some[(*[slice(None)] * ((axis or 0) % some.ndim), array_of(indices))]


# -- reductions -----------------------------------------------------------------------------------------------------


def _reducing(ufunc: np.ufunc) -> Callable[..., Any]:
    def reduced(array: Any, axis: Any = None, dtype: Any = None, out: Any = None, **named: Any) -> Any:
        if ufunc is not np.add and ufunc is not np.multiply and dtype is not None:
            dtype, out = None, dtype  # those that compare have no dtype
        given = {name: value for name, value in named.items() if value is not np._NoValue}
        found = ufunc.reduce(constants(array_of(array)), axis=axis, dtype=dtype, **given)
        if out is None:
            return found
        out[...] = found
        return out

    return reduced


for _ufunc, _names in {
    np.add: (np.sum,), np.multiply: (np.prod,), np.maximum: (np.max, np.amax), np.minimum: (np.min, np.amin),
    np.logical_or: (np.any,), np.logical_and: (np.all,),
}.items():  # fmt: skip
    known(*_names)(_reducing(_ufunc))


@known(np.count_nonzero)
def _count_nonzero(array: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return (array_of(array) != 0).sum(axis=axis, keepdims=keepdims)


def _count(array: Any, axis: Any) -> int:
    axes = range(array.ndim) if axis is None or not array.ndim else np.atleast_1d(axis).tolist()
    return prod(array.shape[each] for each in axes)


@known(np.mean)
def _mean(
    array: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    some = constants(array_of(array))
    if where is not True and where is not np._NoValue:
        raise refused("mean with where=", "write np.where(mask, x, 0).sum() / count")
    total = some.sum(axis=axis, dtype=dtype, keepdims=_flag(keepdims))
    found = total / _count(some, axis)
    if out is not None:
        out[...] = found
    return found


def _flag(value: Any) -> bool:
    return False if value is np._NoValue else bool(value)


def _variance(root: bool) -> Callable[..., Any]:
    def variance(
        array: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
        *, where: Any = True, mean: Any = None, correction: Any = None,
    ) -> Any:  # fmt: skip
        some = constants(array_of(array))
        if where is not True and where is not np._NoValue:
            raise refused("var with where=", "write it out with np.where(mask, x, 0).sum()")
        middle = _mean(some, axis, dtype, keepdims=True) if mean is None or mean is np._NoValue else mean
        apart = some - middle
        less = ddof if correction is None or correction is np._NoValue else correction
        found = (apart * apart).sum(axis=axis, keepdims=_flag(keepdims)) / (_count(some, axis) - less)
        found = called(np.sqrt, array_of(found)) if root else found
        if out is not None:
            out[...] = found
        return found

    return variance


known(np.var)(_variance(False))
known(np.std)(_variance(True))


@known(np.ptp)
def _ptp(array: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    some = array_of(array)
    apart = some.max(axis=axis, keepdims=True) - some.min(axis=axis, keepdims=True)
    shape = np.max(np.zeros(some.shape), axis=axis, keepdims=_flag(keepdims)).shape
    return result(cells(apart).reshape(shape), apart.dtype)


@known(np.average)
def _average(
    array: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    some = array_of(array)
    if returned:
        raise refused("average with returned=", "write the two sums")
    if weights is None:
        return _mean(some, axis, keepdims=keepdims)
    heavy = array_of(weights)
    if heavy.ndim == 1 and some.ndim > 1:
        heavy = heavy.reshape([-1 if at == axis % some.ndim else 1 for at in range(some.ndim)])
    total = np.broadcast_to(heavy, some.shape).sum(axis=axis, keepdims=_flag(keepdims))
    return (some * heavy).sum(axis=axis, keepdims=_flag(keepdims)) / total


def _arg(sign: str) -> Callable[..., Any]:
    """Return where the first of the largest or smallest is, by a choice for each element after the first."""

    def arg(array: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        some = array_of(array)
        np.argmax(np.zeros(some.shape), axis=axis)  # what is wrong, NumPy says
        flat = some.reshape(-1) if axis is None or not some.ndim else some
        rows = np.moveaxis(settled(cells(flat), some.dtype), axis or 0, 0)
        best, at = objects(rows[0]), np.frompyfunc(lambda _: 0, 1, 1)(rows[0])

        def better(x: Any, y: Any) -> Any:
            x, y = as_number(x), as_number(y)
            return x > y if sign == ">" else x < y

        for place, row in enumerate(rows[1:], start=1):
            more = np.frompyfunc(better, 2, 1)(row, best)
            at = np.frompyfunc(choose, 3, 1)(more, place, at)
            best = np.frompyfunc(choose, 3, 1)(more, row, best)
        found = result(objects(at), np.int64)
        if not _flag(keepdims):
            return found
        shape = [1] * some.ndim if axis is None else list(some.shape)
        if axis is not None:
            shape[axis] = 1
        return array_of(found).reshape(shape)

    return arg


known(np.argmax)(_arg(">"))
known(np.argmin)(_arg("<"))


def _accumulating(ufunc: np.ufunc) -> Callable[..., Any]:
    def accumulated(array: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        some = constants(array_of(array))
        if axis is None:
            some, axis = some.reshape(-1), 0
        if dtype is None:
            dtype = ufunc.reduce(np.ones(1, some.kind)).dtype
            dtype = None if dtype == some.kind else dtype
        found = ufunc.accumulate(some if dtype is None else made(cells(some), some.kind), axis=axis, dtype=dtype)
        if out is not None:
            out[...] = found
        return found

    return accumulated


known(np.cumsum)(_accumulating(np.add))
known(np.cumprod)(_accumulating(np.multiply))


@known(np.diff)
def _diff(array: Any, n: int = 1, axis: int = -1, prepend: Any = _UNSET, append: Any = _UNSET) -> Any:
    some = array_of(array)
    shape = [1 if at == axis % some.ndim else size for at, size in enumerate(some.shape)]
    parts = [prepend, some, append]
    given = [
        np.broadcast_to(each, shape) if np.ndim(each) == 0 else each
        for each in parts
        if each is not _UNSET and each is not np._NoValue
    ]
    some = np.concatenate(given, axis=axis) if len(given) > 1 else some
    for _ in range(n):
        rows = np.moveaxis(some, axis, 0)
        apart = np.not_equal if some.dtype == bool else np.subtract
        some = np.moveaxis(apart(rows[1:], rows[:-1]), 0, axis)
    return some


@known(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    rows = np.moveaxis(array_of(y), axis, -1)
    width = dx if x is None else np.diff(x) if np.ndim(x) == 1 else np.moveaxis(np.diff(x, axis=axis), axis, -1)
    return (width * (rows[..., 1:] + rows[..., :-1]) / 2.0).sum(axis=-1)


# -- choices and elements -------------------------------------------------------------------------------------------


@known(np.where)
def _where(condition: Any, x: Any = _UNSET, y: Any = _UNSET) -> Any:
    if x is _UNSET or y is _UNSET:
        raise refused("where with a condition only", "write np.where(mask, x, y): shapes do not depend on data here")
    some = [cells(each) for each in (condition, x, y)]
    some = [settled(part, kind_of_array(each, part)) for each, part in zip((condition, x, y), some, strict=True)]
    kind = common_kind([kind_of_array(x, some[1]), kind_of_array(y, some[2])])
    if kind.kind != "b":
        some[1:] = [np.asarray(np.frompyfunc(as_number, 1, 1)(each), object) for each in some[1:]]
    return result(objects(np.frompyfunc(choose, 3, 1)(*some)), kind)


@known(np.select)
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    found = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        found = _where(condition, choice, found)
    return found


@known(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (first if first is not None else second for first, second in ((a_min, min), (a_max, max)))
    low, high = (None if each is np._NoValue else each for each in (low, high))
    found = array_of(a)
    found = found if low is None else called(np.maximum, found, low)
    found = found if high is None else called(np.minimum, found, high)
    if out is None:
        return found
    out[...] = found
    return out


@known(np.round, np.around)
def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    some = array_of(a)
    if some.dtype.kind != "f":
        if decimals < 0:
            raise refused("round of integers with negative decimals", "write it with //")
        return some
    return called(np.rint, some * 10.0**decimals) / 10.0**decimals if decimals else called(np.rint, some)


@known(np.fix)
def _fix(x: Any, out: Any = None) -> Any:
    return called(np.trunc, x)


@known(np.nan_to_num, np.real)
def _unchanged(x: Any, *_: Any, **__: Any) -> Any:
    return array_of(x)


@known(np.copyto)
def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, DataArray):
        raise refused("copyto into an array of numbers", "write np.zeros_like(x) where it is made")
    dst[...] = src if where is True else _where(where, src, dst)


@known(np.fill_diagonal)
def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    at = np.arange(min(a.shape))
    a[(at,) * a.ndim] = val


@known(np.bincount)
def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    places = constants(array_of(x))
    if has_data(cells(places)):
        raise refused("bincount of data", "write (x[:, None] == np.arange(n)).sum(axis=0)")
    some = array_of(weights)
    found = np.zeros(max(int(minlength), int(places.plain().max(initial=-1)) + 1))
    total = made(objects(found), np.float64)
    np.add.at(total, places.plain(), some)
    return total


@known(np.apply_along_axis)
def _apply_along_axis(func1d: Any, axis: int, arr: Any, *arguments: Any, **named: Any) -> Any:
    rows = np.moveaxis(arr, axis, -1)
    parts = [array_of(func1d(rows[at], *arguments, **named)) for at in np.ndindex(rows.shape[:-1])]
    whole = np.stack(parts).reshape(*rows.shape[:-1], *parts[0].shape)
    return np.moveaxis(whole, range(rows.ndim - 1, whole.ndim), range(axis % arr.ndim, axis % arr.ndim + parts[0].ndim))


# -- shapes, types and new arrays -----------------------------------------------------------------------------------


def filled(shape: Any, value: Any, kind: Any) -> DataArray:
    """Return a new array that data can be written into."""
    found = np.empty(shape, object)
    found[...] = value
    return made(found, np.dtype(kind))


def _like(value: Any) -> Callable[..., Any]:
    def like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any) -> Any:
        kind = np.dtype(a.dtype if dtype is None else dtype)
        number = None if value is None else kind.type(value).item()
        return filled(a.shape if shape is None else shape, number, kind)

    return like


for _function, _value in {np.zeros_like: 0, np.ones_like: 1, np.empty_like: None}.items():
    FUNCTIONS[_function] = _like(_value)


@known(np.full_like)
def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    found = _like(0)(a, dtype, shape=shape)
    found[...] = fill_value
    return found


@known(np.result_type)
def _result_type(*arrays: Any) -> Any:
    return np.result_type(*(each.dtype if isinstance(each, DataArray) else each for each in arrays))


for _function in (np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.may_share_memory, np.shares_memory):
    FUNCTIONS[_function] = _moving(_function)


@known("accumulate")
def _accumulated(ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None) -> Any:
    kind = ufunc.accumulate(ones_like(array), axis=axis, dtype=dtype).dtype
    if array.kind != kind:
        array = made(converted(cells(array), array.kind, kind, dtype is not None), kind)
    rows, found = np.moveaxis(cells(array), axis, 0), list[Objects]()
    for row in rows:
        found.append(on_elements(ufunc, (found[-1], objects(row)), (kind, kind))[0] if found else objects(row))
    stacked = np.stack(found) if found else rows
    return made(np.moveaxis(stacked, 0, axis), kind)


@known("reduceat")
def _reduced_at(ufunc: np.ufunc, array: Any, indices: Any, axis: int = 0) -> Any:
    shown = ufunc.reduceat(ones_like(array), index_for(indices), axis=axis)
    rows, places = np.moveaxis(array, axis, 0), [*map(int, index_for(indices))]
    parts = []
    for at, first in enumerate(places):
        last = places[at + 1] if at + 1 < len(places) else len(rows)
        parts.append(ufunc.reduce(rows[first : max(last, first + 1)]))
    return made(np.moveaxis(cells(array_of(parts)), 0, axis), shown.dtype)


@known("at")
def _changed_at(ufunc: np.ufunc, array: Any, indices: Any, *operands: Any) -> None:
    """Change an array at constant indices, one after the other."""
    places = index_for(indices) if not isinstance(indices, tuple) else tuple(map(index_for, indices))
    if not isinstance(array, DataArray) or isinstance(places, DataArray):
        raise refused(
            f"{ufunc.__name__}.at at indices that are data", "write np.where(index == i, x, 0).sum() for each i"
        )
    order = np.arange(array.size).reshape(array.shape)[places]
    values = [np.broadcast_to(cells(each), order.shape) for each in operands]
    for number, place in enumerate(order.reshape(-1).tolist()):
        at = np.unravel_index(place, array.shape)
        array[at] = called(ufunc, array[at], *(each.reshape(-1)[number] for each in values))
