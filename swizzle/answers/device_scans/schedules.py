"""The kernel that looks back, run on the CPU under schedules that are meant to break it.

Blocks take turns at their looks, few or all of them at once, and some are held back while the others go far ahead. What
they store for each other becomes visible late and in any order that fences allow, and what they read may be old.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from cuda_out.emulate.emulate import EmulationError, emulate
from swizzle.answers.device_scans.device import DeviceScan
from swizzle.answers.device_scans.kernels import THREADS, TILE, Level, PassKernel
from swizzle.answers.device_scans.look_back import look_back_source
from swizzle.operators.loop import Loop
from swizzle.operators.samples import random_rows
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.elements import DType, wrapped

PARTS: Final = 40
"""More than a warp looks at at once."""
SCHEDULES: Final = tuple((order, resident) for resident in (3, PARTS) for order in range(6))
"""An order of turns, and how many blocks there are at once."""
CLOSE: Final = 1e-3
"""Sums of single precision, added up in another order."""


def tried(
    kernel: PassKernel,
    given: Sequence[Any],
    wanted: Sequence[Any],
    schedules: Sequence[tuple[int, int]] = SCHEDULES,
    text: str = "",
    backward: bool = False,
) -> Iterator[str]:
    """Run the kernel made of a linked one, or another text of it, on arrays of whole parts; yield what goes wrong, and
    in which schedule.

    The words of all parts, which the kernel stores for what is left over, are compared with those of the operator.
    """
    source, stored = look_back_source(kernel, backward=backward), kernel.level.made
    parts, last = len(given[0]) // TILE, _words_of_all(kernel.level, [each[:: -1 if backward else 1] for each in given])
    for order, resident in schedules:
        made: list[Any] = [np.zeros(len(given[0]), NUMPY_DTYPES[dtype]) for dtype in stored.values()]
        spoken = [np.zeros(1, np.uint32), np.zeros(parts, NUMPY_DTYPES[source.told])]
        spoken += [np.full(parts, 77, NUMPY_DTYPES[dtype]) for dtype in source.handed]
        spoken += [np.zeros(1, NUMPY_DTYPES[dtype]) for dtype in source.words]
        arguments = [*given, *made, *spoken]
        where = f"order {order}, {resident} blocks at once: "
        try:
            emulate(
                text or source.text, source.entry, (parts, 1, 1), (THREADS, 1, 1), arguments, order=order,
                resident=resident,
            )  # fmt: skip
        except EmulationError as error:
            yield where + str(error)
            continue
        for name, got, want in zip(stored, made, wanted, strict=True):
            same = _same(got, want)
            if not same.all():
                at = int(np.argmin(same))
                yield f"{where}{name}[{at}] is {got[at]}, the loop returns {want[at]}"
                break
        else:
            for name, got, want in zip(kernel.level.operator.words, spoken[-len(last) :], last, strict=True):
                if not _same(got, want).all():
                    yield f"{where}{name} of all parts, for what is left over, is {got[0]}, and must be {want[0]}"
                    break


def _same(got: Any, want: Any) -> Any:
    return np.isclose(got, want, CLOSE, CLOSE, equal_nan=True) if got.dtype.kind == "f" else got == want


def _words_of_all(level: Level, given: Sequence[Any]) -> list[Any]:
    """Return the words of all elements, each as an array of one; neighbours are put together first."""
    operator, size = level.operator, len(given[0])
    with np.errstate(all="ignore"):
        found: list[Any] = [
            np.broadcast_to(np.asarray(word, NUMPY_DTYPES[dtype]), (size,))
            for word, dtype in zip(operator.several(operator.lift(*given)), operator.words.values(), strict=True)
        ]
        while (size := len(found[0])) > 1:
            pairs = [[word[side : size // 2 * 2 : 2] for word in found] for side in (0, 1)]
            joined = operator.several(operator.combine(*pairs[0], *pairs[1]))
            found = [
                np.concatenate([np.broadcast_to(np.asarray(word, old.dtype), (size // 2,)), old[size // 2 * 2 :]])
                for word, old in zip(joined, found, strict=True)
            ]
    return found


def random_run(scan: DeviceScan, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Return random elements of whole parts that meet what the loop promises, and for each what it returns after it,
    or, in a scan that goes backward, after it and all behind it.

    Elements of floating-point types are small, so that sums and products of many are numbers. Most elements are not 0,
    and most conditions are false, so that what a part gives depends on the parts before it.
    """
    loop, rng = scan.found.loop, random.Random(seed)
    parts = PARTS if loop.range.length is None else min(PARTS, loop.range.length // TILE)
    rows = random_rows(loop, rng, parts * TILE)
    floats = [place for place, dtype in enumerate(loop.elements.values()) if dtype.is_float]
    small = [row for row in rows if all(abs(row[place]) <= 1 for place in floats)] or rows
    kept = [row for row in small if all((not each) == (each is False) for each in row)] or small
    rows = [rng.choice(small if rng.random() < 1 / (2 * TILE) else kept) for _ in range(parts * TILE)]
    results = _from_the_end(scan, rows) if scan.backward else list(_after_each(loop, rows))
    made = scan.levels[0].made.values()
    return _arrays(rows, scan.operator.elements.values()), _arrays(results, made)


def _after_each(loop: Loop, rows: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    state = loop.start()
    for row in rows:
        state = loop.after([row], state)
        yield loop.finished(state)
        state = tuple(_wrapped(each, dtype) for each, dtype in zip(state, loop.state.values(), strict=True))


def _from_the_end(scan: DeviceScan, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    carrier, results = scan.found.carrier, list[tuple[Any, ...]]()
    assert carrier is not None
    words: tuple[Any, ...] | None = None
    for row in rows[::-1]:
        words = carrier.lifted(row) if words is None else carrier.joined(carrier.lifted(row), words)
        words = tuple(_wrapped(each, dtype) for each, dtype in zip(words, carrier.words.values(), strict=True))
        results.append(carrier.finished(words))
    return results[::-1]


def _wrapped(value: Any, dtype: DType) -> Any:
    """Return a number of the state as a word of its type has it; an infinity, a condition or a float as it is."""
    if dtype.is_float or not isinstance(value, int) or isinstance(value, bool):
        return value
    return wrapped(value, dtype)


def _arrays(rows: Sequence[Sequence[Any]], dtypes: Iterable[DType]) -> list[Any]:
    columns = zip(zip(*rows, strict=True), dtypes, strict=True)
    return [
        np.array(
            [float(each) if dtype.is_float else _wrapped(int(each), dtype) for each in column], NUMPY_DTYPES[dtype]
        )
        for column, dtype in columns
    ]
