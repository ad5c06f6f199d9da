"""NumPy's products of arrays on arrays of data: a result is one sum of products, not a chain of additions."""

from __future__ import annotations

import string
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from swizzle.language.specs.array_elements import refused, resulting, summed_products
from swizzle.language.specs.data_array import array_of, called, cells, constants, kind_of_array, known, result


def _ones(array: Any) -> Any:
    return np.broadcast_to(np.ones(()), array.shape)


@known(np.matmul)
def _matmul(left: Any, right: Any, **named: Any) -> Any:
    """Return a product of matrices or vectors."""
    a, b = array_of(left), array_of(right)
    np.matmul(_ones(a), _ones(b), **named)  # what is wrong, NumPy says
    if named:
        raise refused(f"matmul with {min(named)}=", "write a @ b, with axes in their places")
    rows, columns = a if a.ndim > 1 else a[None], b if b.ndim > 1 else b[:, None]
    found = sum_of_products(rows[..., :, None, :], np.swapaxes(columns, -1, -2)[..., None, :, :])
    found = found[..., 0] if b.ndim == 1 else found
    return found if a.ndim > 1 else found[0] if b.ndim == 1 else found[..., 0, :]


def sum_of_products(a: Any, b: Any) -> Any:
    """Return the sums of products of two arrays over their last axes, with what broadcasts."""
    kinds = kind_of_array(a, cells(a)), kind_of_array(b, cells(b))
    left, right = np.broadcast_arrays(cells(a), cells(b))
    if left.shape[-1] == 0:
        return constants(np.zeros(left.shape[:-1], resulting(np.multiply, kinds)[0]))
    return result(*summed_products(left, right, kinds))


@known(np.dot)
def _dot(a: Any, b: Any, out: Any = None) -> Any:
    left, right = array_of(a), array_of(b)
    if not left.ndim or not right.ndim:
        return left * right
    np.dot(*map(_ones, (left, right)))  # what is wrong, NumPy says
    if right.ndim == 1:
        return sum_of_products(left, right)
    columns = np.moveaxis(right, -2, -1)
    return sum_of_products(np.reshape(left, (*left.shape[:-1], *[1] * (right.ndim - 1), left.shape[-1])), columns)


@known(np.vdot)
def _vdot(a: Any, b: Any) -> Any:
    return _dot(np.ravel(array_of(a)), np.ravel(array_of(b)))


@known(np.inner)
def _inner(a: Any, b: Any) -> Any:
    left, right = array_of(a), array_of(b)
    return left * right if not left.ndim or not right.ndim else np.tensordot(left, right, axes=(-1, -1))


@known(np.outer)
def _outer(a: Any, b: Any, out: Any = None) -> Any:
    return np.ravel(array_of(a))[:, None] * np.ravel(array_of(b))[None, :]


@known(np.tensordot)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    left, right = array_of(a), array_of(b)
    np.tensordot(_ones(left), _ones(right), axes=axes)  # what is wrong, NumPy says
    if isinstance(axes, int):
        axes = list(range(left.ndim - axes, left.ndim)), list(range(axes))
    mine, theirs = (
        [at % each.ndim for at in np.atleast_1d(some).tolist()] for some, each in zip(axes, (left, right), strict=True)
    )
    letters = iter(string.ascii_letters)
    names = [next(letters) for _ in range(left.ndim)]
    others = [names[mine[theirs.index(at)]] if at in theirs else next(letters) for at in range(right.ndim)]
    kept = [n for at, n in enumerate(names) if at not in mine] + [n for at, n in enumerate(others) if at not in theirs]
    return np.einsum(f"{''.join(names)},{''.join(others)}->{''.join(kept)}", left, right)


@known(np.einsum)
def _einsum(subscripts: Any, *operands: Any, out: Any = None, **named: Any) -> Any:
    """Return Einstein's sum: from left to right, a letter is summed over with the last operand that has it."""
    if not isinstance(subscripts, str):
        raise refused("einsum with lists of axes", "write its subscripts as a string: 'ij,jk->ik'")
    arrays = [array_of(each) for each in operands]
    shown = np.einsum(subscripts, *map(_ones, arrays))  # what is wrong, NumPy says
    terms, goal = _letters(subscripts.replace(" ", ""), arrays)
    some = [_of_diagonals(array, term) for array, term in zip(arrays, terms, strict=True)]
    array, names = some[0]
    for number, (other, theirs) in enumerate(some[1:], start=1):
        later = {letter for _, after in some[number + 1 :] for letter in after} | set(goal)
        summed = [letter for letter in dict.fromkeys([*names, *theirs]) if letter not in later]
        kept = [letter for letter in dict.fromkeys([*names, *theirs]) if letter in later]
        both = [_aligned(each, own, [*kept, *summed]) for each, own in ((array, names), (other, theirs))]
        if summed:
            shape = np.broadcast_shapes(*(each.shape for each in both))
            sizes = shape[: len(kept)], prod(shape[len(kept) :])
            flat = [np.broadcast_to(each, (*each.shape[: len(kept)], *shape[len(kept) :])) for each in both]
            flat = [np.reshape(each, (*each.shape[: len(kept)], sizes[1])) for each in flat]
            array = array_of(sum_of_products(*flat))
        else:
            array = array_of(both[0] * both[1])
        names = kept
    rest = [at for at, letter in enumerate(names) if letter not in goal]
    array = array.sum(axis=tuple(rest), dtype=array.dtype) if rest else array
    names = [letter for letter in names if letter in goal]
    found = np.transpose(array, [names.index(letter) for letter in goal]) if len(goal) > 1 else array
    assert np.shape(found) == np.shape(shown), "einsum"
    if out is not None:
        out[...] = found
    return found


def _letters(subscripts: str, arrays: Sequence[Any]) -> tuple[list[str], str]:
    """Return the letters of each operand, and of the result; those of `...` are capital letters that are free."""
    given, arrow, goal = subscripts.partition("->")
    terms = given.split(",")
    free = [letter for letter in reversed(string.ascii_letters) if letter not in subscripts]
    longest = ""
    for at, (term, array) in enumerate(zip(terms, arrays, strict=True)):
        if "..." in term:
            own = "".join(reversed(free[: array.ndim - len(term) + 3]))
            terms[at] = term.replace("...", own)
            longest = max(longest, own, key=len)
    if not arrow:
        letters = [letter for letter in "".join(terms) if letter not in longest]
        goal = longest + "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    return terms, goal.replace("...", longest)


def _of_diagonals(array: Any, term: str) -> tuple[Any, list[str]]:
    """Return an operand without letters that are there twice: its diagonal."""
    letters = list(term)
    for letter in dict.fromkeys(term):
        while letters.count(letter) > 1:
            first, second = [at for at, each in enumerate(letters) if each == letter][:2]
            array = np.diagonal(array, axis1=first, axis2=second)
            letters = [each for at, each in enumerate(letters) if at not in (first, second)] + [letter]
    return array, letters


def _aligned(array: Any, names: Sequence[str], wanted: Sequence[str]) -> Any:
    """Return an array with an axis for each letter that is wanted, of one element where it has none."""
    order = [letter for letter in wanted if letter in names]
    moved = np.transpose(array, [names.index(letter) for letter in order]) if order else array
    sizes = iter(moved.shape)
    return np.reshape(moved, [next(sizes) if letter in names else 1 for letter in wanted])


@known(np.kron)
def _kron(a: Any, b: Any) -> Any:
    left, right = array_of(a), array_of(b)
    most = max(left.ndim, right.ndim)
    sizes = [(1,) * (most - each.ndim) + each.shape for each in (left, right)]
    spread = [size for pair in zip(sizes[0], [1] * most, strict=True) for size in pair]
    inner = [size for pair in zip([1] * most, sizes[1], strict=True) for size in pair]
    return (left.reshape(spread) * right.reshape(inner)).reshape([x * y for x, y in zip(*sizes, strict=True)])


@known(np.cross)
def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = np.moveaxis(array_of(a), axisa, -1), np.moveaxis(array_of(b), axisb, -1)
    if left.shape[-1] != 3 or right.shape[-1] != 3:
        raise refused("cross of vectors that are not of three components")
    parts = [left[..., i] * right[..., j] - left[..., j] * right[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.stack([array_of(part) for part in parts], axis=axisc)


@known(np.trace)
def _trace(array: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return np.diagonal(array, offset, axis1, axis2).sum(axis=-1, dtype=dtype)


@known(np.convolve)
def _convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    left, right = array_of(a), array_of(v)
    np.convolve(_ones(left), _ones(right), mode)  # what is wrong, NumPy says
    if right.size > left.size:
        left, right = right, left
    length, more = left.size, right.size
    full = [
        _dot(left[max(0, at - more + 1) : at + 1], right[::-1][max(0, more - 1 - at) : more - max(0, at - length + 1)])
        for at in range(length + more - 1)
    ]
    first = {"full": 0, "same": (more - 1) // 2, "valid": more - 1}[mode]
    size = {"full": length + more - 1, "same": length, "valid": length - more + 1}[mode]
    return array_of(full[first : first + size])


@known(np.correlate)
def _correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    left, right = array_of(a), array_of(v)
    if right.size > left.size:
        return _convolve(right, left[::-1], mode)[::-1]
    return _convolve(left, right[::-1], mode)


@known(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    some = constants(array_of(x))
    some = some if some.kind.kind == "f" else some * 1.0
    axes = axis if isinstance(axis, tuple) else None if axis is None else (axis,)
    of_vectors = len(axes) == 1 if axes is not None else some.ndim == 1
    size = called(np.abs, some)
    if ord in (None, "fro") or (ord == 2 and of_vectors):
        return called(np.sqrt, array_of((some * some).sum(axis=axes, keepdims=keepdims)))
    if of_vectors and ord in (1, np.inf, -np.inf):
        reduce: Any = {1: np.sum, np.inf: np.max, -np.inf: np.min}[ord]
        return reduce(size, axis=axes, keepdims=keepdims)
    raise refused(f"linalg.norm with ord={ord!r}", "write it with np.abs, sums and np.sqrt")


@known(np.linalg.matrix_power)
def _matrix_power(a: Any, n: int) -> Any:
    if n < 0:
        raise refused("linalg.matrix_power with a negative exponent", "solve for the inverse in another way")
    if not n:
        return np.eye(len(a), dtype=a.dtype)
    found = a
    for _ in range(n - 1):
        found = found @ a
    return found


@known(np.linalg.multi_dot)
def _multi_dot(arrays: Any, *, out: Any = None) -> Any:
    found = array_of(arrays[0])
    for each in arrays[1:]:
        found = found @ array_of(each)
    return found


@known(np.polyval)
def _polyval(p: Any, x: Any) -> Any:
    some, at = array_of(p), array_of(x)
    found = at * 0
    for factor in some:
        found = found * at + factor
    return found


@known(np.vander)
def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    some = array_of(x)
    powers = range(len(some) if N is None else N)
    return np.stack([some**power for power in (powers if increasing else reversed(powers))], axis=1)
