"""What warps ask of a tile: an access is a set of warp-wide instructions, each lane of which moves neighbouring cells.

An access of one's own is a Python function from a lane (and whatever counts the instructions) to the cell that its
vector begins at, or None where the lane is off. `swizzle/layouts/patterns.py` has those that everybody makes.
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import prod
from numbers import Integral
from types import FrameType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.errors import Place, SwizzleError

Coordinates = npt.NDArray[np.int64]
"""Of shape (instructions, lanes, axes): the cell at which a lane's vector begins; -1 in each axis where it is off."""


class Asked(Struct, frozen=True):
    """What an access asks of one tile: where vectors begin, how many elements they have, and along which axis."""

    starts: Coordinates
    width: int
    along: int


class Access(Struct, frozen=True):
    """A pattern: its name, and what it asks of a tile of a shape whose elements have so many bits.

    `holds` is the cell in each slot of each lane after a load, of shape (slots, lanes, axes), where the addresses that
    lanes give do not say it.
    """

    name: str
    of: Callable[[tuple[int, ...], int], Asked]
    holds: Callable[[tuple[int, ...], int], Coordinates] | None = None

    def __repr__(self) -> str:
        return self.name


def mistake(found: str, expected: str, fix: str) -> NoReturn:
    """Raise the user's error, at the line outside of this package that called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("swizzle.layouts"):
        frame = frame.f_back
    place = None
    if frame is not None:
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).rstrip()
        start = len(text) - len(text.lstrip()) + 1
        place = Place(frame.f_code.co_filename, frame.f_lineno, start, len(text) + 1)
    raise SwizzleError(found, place=place, expected=expected, fix=fix)


def is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def axis_of(along: object, axes: int, name: str) -> int:
    """Return an axis as a number from 0, or raise the user's error."""
    if not is_int(along) or not -axes <= int(along) < axes:  # type: ignore[call-overload]
        mistake(
            f"{name} runs along axis {along!r} of a tile with {axes} axes",
            f"an axis from {-axes} to {axes - 1}",
            fix="count axes from 0; the last is -1",
        )
    return int(along) % axes  # type: ignore[call-overload, no-any-return]


def access(
    cell: Callable[..., Any],
    *,
    width: int = 1,
    along: int = -1,
    lanes: int = 32,
    name: str = "",
    **instructions: int | Iterable[int],
) -> Access:
    """Return an access given by a function: `access(lambda lane, k: (lane, k), k=32)` is 32 columns of 32 cells.

    `cell(lane, ...)` is where a lane's vector begins: a tuple with a coordinate for each axis, or None where the lane
    is off. A vector has `width` elements along the axis `along`. Each further parameter counts instructions: it is
    given as a number, for 0, 1, ..., or as the values that it takes, and all combinations are made. A parameter with a
    default may be left out. Raises SwizzleError at the caller's line.
    """
    if getattr(cell, "__module__", "") == "swizzle.layouts.patterns":
        name = cell.__name__
        mistake(f"the access is the function {name} itself", "what it returns", f"layouts.{name}(...)")
    if not callable(cell):
        mistake(f"an access is {cell!r}", "a function from a lane to a cell, or a pattern", "lambda lane: (lane, 0)")
    if not is_int(width) or width < 1:
        mistake(
            f"the width of an access is {width!r}",
            "how many elements a lane moves, an int from 1",
            fix="width=4 moves four elements a lane; leave it out for 1",
        )
    if not is_int(lanes) or not 1 <= lanes <= 32:
        mistake(
            f"an access has {lanes!r} lanes",
            "an int from 1 to 32, the lanes of a warp",
            fix="leave lanes= out for a whole warp",
        )
    own = name or getattr(cell, "__name__", "access").replace("<lambda>", "lambda")
    ranges = {key: _range(own, key, value) for key, value in instructions.items()}
    _check_parameters(cell, own, ranges)

    def of(shape: tuple[int, ...], bits: int) -> Asked:
        axis = axis_of(along, len(shape), own)
        starts = np.full((prod(map(len, ranges.values())), lanes, len(shape)), -1, np.int64)
        for row, values in zip(starts, product(*ranges.values()), strict=True):
            counted = dict(zip(ranges, values, strict=True))
            for lane in range(lanes):
                found = cell(lane, **counted)
                if found is not None:
                    row[lane] = _checked(found, shape, f"{own} at {_point(lane, counted)}")
        return Asked(starts, int(width), axis)

    return Access(own, of)


def _range(name: str, key: str, value: Any) -> list[int]:
    values = list(range(value)) if is_int(value) else list(value) if isinstance(value, Iterable) else None
    if values is None or not values or not all(is_int(each) for each in values):
        mistake(f"{key} of {name} is {value!r}", "a number from 1, or the values that it takes", f"{key}=8")
    return [int(each) for each in values]


def _check_parameters(cell: Callable[..., Any], name: str, ranges: dict[str, list[int]]) -> None:
    try:
        inspect.signature(cell).bind(0, **dict.fromkeys(ranges, 0))
    except TypeError as error:
        names = ", ".join(["lane", *ranges])
        mistake(
            f"{name} cannot be called with ({names}): {error}",
            "a function of the lane, and of each parameter that counts instructions",
            "access(lambda lane, k: (lane, k), k=32)",
        )


def _point(lane: int, counted: dict[str, int]) -> str:
    return ", ".join([f"lane {lane}", *(f"{key} = {value}" for key, value in counted.items())])


def _checked(found: Any, shape: tuple[int, ...], where: str) -> Sequence[int]:
    one = (found,) if is_int(found) and len(shape) == 1 else found
    if not isinstance(one, tuple | list) or len(one) != len(shape) or not all(is_int(each) for each in one):
        mistake(
            f"{where} gives {found!r}",
            f"a cell, {f'a tuple of {len(shape)} ints' if len(shape) > 1 else 'an int'}, or None where the lane is off",
            fix="return the cell's indices, or None",
        )
    if not all(0 <= each < size for each, size in zip(one, shape, strict=True)):
        mistake(
            f"{where} gives the cell {tuple(one)}, which is outside of the tile",
            " and ".join(f"0 <= {each} < {size}" for each, size in zip(_names(len(shape)), shape, strict=True)),
            "return None where a lane is off",
        )
    return one


def _names(axes: int) -> Sequence[str]:
    return ("r", "c") if axes == 2 else [f"axis {k}" for k in range(axes)]
