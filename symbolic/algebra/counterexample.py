"""Laws tried on numbers: is an operator what its row says?

Each law is tried on edge numbers and on random ones of every type that the operator takes, the same in every run. What
is found here is wrong; what is not found is not proved.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from symbolic.algebra.numbers import NUMPY_DTYPES, Lanes, as_numbers, float_limits, on_arrays
from symbolic.algebra.operator_laws import Law
from symbolic.elements import limits
from symbolic.ir.functions import WordFunction
from symbolic.ir.program import DType

PAIRS: Final = 200
"""Random pairs, and random triples, of each type."""
MOST_EDGES: Final = 8
"""Edge numbers of which all triples are tried."""
FLOATS: Final = (0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 1000.0, 0.001)
SLACK: Final = 1e-9
"""Floats count as real numbers: what rounding changes by no more, relative to the numbers, is no difference."""


def counterexample(law: Law) -> str:
    """Return numbers that a law does not hold for, in words; '' where none were found."""
    for dtype in DType:
        if law.takes(dtype):
            found = next(_wrong(law, dtype), "")
            if found:
                return found if found.endswith(f" is no {dtype.value}") else f"{found} ({dtype.value})"
    return ""


def edges(dtype: DType) -> tuple[Any, ...]:
    """Return numbers of a type at which operators are likely to go wrong, the likeliest first."""
    if dtype.is_float:
        return FLOATS
    least, greatest = limits(dtype)
    small = (0, 1, greatest, least, -1, 6, 4, greatest - 1, 2, least + 1, 3, 10, (greatest + 1) // 2, -6, 12, 35)
    return tuple(dict.fromkeys(n for n in small if least <= n <= greatest))


def samples(dtype: DType, count: int, size: int) -> list[tuple[Any, ...]]:
    """Return tuples of random numbers of a type, of all magnitudes: the same in every run."""
    rng = random.Random(f"{dtype.value} {size}")
    if dtype.is_float:
        return [tuple(rng.choice((1, 100)) * rng.uniform(-1, 1) for _ in range(size)) for _ in range(count)]
    least, greatest = limits(dtype)
    bits, signs = greatest.bit_length(), (1, -1 if least else 1)
    numbers = (rng.getrandbits(rng.randint(1, bits)) * rng.choice(signs) for _ in range(count * size))
    return list(zip(*[numbers] * size, strict=True))


def tried(dtype: DType) -> list[tuple[Any, Any]]:
    """Return the pairs of numbers that an operator is tried on."""
    return [*itertools.product(edges(dtype), repeat=2), *samples(dtype, PAIRS, 2)]


def tried_columns(dtype: DType) -> tuple[Lanes, Lanes]:
    """Return the pairs that an operator is tried on, as two arrays of the type."""
    left, right = zip(*tried(dtype), strict=True)
    return as_numbers(left, dtype), as_numbers(right, dtype)


def first_difference(law: Law, dtype: DType, found: Sequence[Any]) -> str:
    """Return for which pair of `tried` something gives another number than the law's function; '' for none."""
    for a, b, got in zip(*(column.tolist() for column in tried_columns(dtype)), found, strict=True):
        want = law.fold(a, b)
        slack = 64 * float_limits(dtype).eps * max(1.0, abs(a), abs(b), abs(want)) if dtype.is_float else 0
        if got != want and not abs(got - want) <= slack:
            return f"{law.symbol}({a}, {b}) is {want}, and here {got}"
    return ""


def _wrong(law: Law, dtype: DType) -> Iterator[str]:
    pairs, some = tried(dtype), edges(dtype)
    triples = [*itertools.product(some[:MOST_EDGES], repeat=3), *samples(dtype, PAIRS, 3)]
    for what, number in (("identity", law.identity), ("absorber", law.absorber)):
        if number is not None and not _is_of(law.start(dtype) if what == "identity" else number, dtype):
            yield f"the {what} {number} is no {dtype.value}"
    yield from _not_closed(law, dtype, pairs)
    name, f = law.symbol, law.fold
    for a, b in pairs:
        if law.commutes and not _same(f(a, b), f(b, a)):
            yield f"not commutative: {name}({a}, {b}) is {f(a, b)}, {name}({b}, {a}) is {f(b, a)}"
    for a in dict.fromkeys(itertools.chain.from_iterable(pairs)):
        for what, number, left in (("identity", law.identity, a), ("absorber", law.absorber, law.absorber)):
            if number is None:
                continue
            number = law.start(dtype) if what == "identity" else number
            for x, y in ((a, number), (number, a)):
                if not _same(f(x, y), left):
                    yield f"{number} is no {what}: {name}({x}, {y}) is {f(x, y)}"
        if law.order == "set" and not _same(f(a, a), a):
            yield f"not idempotent, as a set asks for: {name}({a}, {a}) is {f(a, a)}"
        if law.order == "parity" and not _same(f(a, a), law.start(dtype)):
            yield f"two of a kind do not cancel, as a parity asks for: {name}({a}, {a}) is {f(a, a)}"
    for a, b, c in triples:
        left, right = f(f(a, b), c), f(a, f(b, c))
        if not _same(left, right):
            yield (
                f"not associative: {name}({name}({a}, {b}), {c}) is {left}, {name}({a}, {name}({b}, {c})) is {right}"
            )
    yield from _unlike_numpy(law, dtype)


def _not_closed(law: Law, dtype: DType, pairs: Sequence[tuple[Any, Any]]) -> Iterator[str]:
    for a, b in pairs:
        try:
            found = law.fold(a, b)
        except Exception as error:  # whatever the user's function raises
            yield f"{law.symbol}({a}, {b}) fails: {type(error).__name__}: {error}"
            return
        if not _is_of(found, dtype):
            yield f"{law.symbol}({a}, {b}) is {found!r}, which is no {dtype.value}"


def _is_of(value: Any, dtype: DType) -> bool:
    if dtype.is_float:
        return isinstance(value, int | float)
    return isinstance(value, int) and limits(dtype)[0] <= value <= limits(dtype)[1]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return bool(a == b) or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= SLACK * max(1.0, abs(a), abs(b))


def _unlike_numpy(law: Law, dtype: DType) -> Iterator[str]:
    left, right = tried_columns(dtype)
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(on_arrays(law)(left, right))
            assert found.shape == left.shape, f"it gives the shape {found.shape} for arrays of shape {left.shape}"
            found = found.astype(left.dtype)
    except Exception as error:  # whatever the user's function raises
        yield f"its NumPy meaning fails: {type(error).__name__}: {error}"
        return
    differs = first_difference(law, dtype, found.tolist())
    if differs:
        yield f"its NumPy meaning differs: {differs}"


# ---- functions on words ------------------------------------------------------------------------------------------


def word_columns(row: WordFunction) -> list[Lanes]:
    """Return the words that a function on words is tried on: edge numbers in a random order, then random ones."""
    rng, found = random.Random(row.symbol), list[Lanes]()
    for place, dtype in enumerate(row.given):
        some = edges(dtype)
        numbers = [rng.choice(some) for _ in range(2 * PAIRS)]
        numbers += [n for (n,) in samples(dtype, PAIRS * (place + 2), 1)[-PAIRS:]]
        found.append(np.array(numbers, NUMPY_DTYPES[dtype]))
    return found


def first_word_difference(row: WordFunction, given: Sequence[Lanes], found: Lanes) -> str:
    """Return for which words something gives another number than a function on words; '' for none."""
    wanted = np.asarray(row.on_numbers(list(given)))
    with np.errstate(all="ignore"):
        if row.result.is_float:
            scale = np.maximum.reduce([np.abs(wanted), np.ones(len(wanted)), *(np.abs(a) for a in given)])
            slack = 4096 * float(np.finfo(wanted.dtype).eps) * scale
            same = (np.abs(found - wanted) <= slack) | (found == wanted) | ~np.isfinite(wanted)
        else:
            same = found == wanted
    if same.all():
        return ""
    at = int(np.argmin(same))
    shown = ", ".join(f"{name} = {column[at]}" for name, column in zip(row.operands, given, strict=True))
    return f"of {shown} it is {found[at]}, not {wanted[at]}"
