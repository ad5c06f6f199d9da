"""What a launch is given: arrays, numbers, and structures of these by value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.ptx.kinds import Bits, width
from cuda_out.ptx.running.memory import Lanes
from cuda_out.ptx.syntax import PtxVariable


class LaunchArray(Struct, frozen=True):
    """An array that a launch is given: element type, bits, and terms where the elements are not numbers.

    `filled` False: its elements count as unwritten. Cells of `terms` that are 0 are the numbers in `bits`. `align`: the
    array stands at any address that is a multiple of so many bytes; 0: at one that the run knows.
    """

    name: str
    kind: str
    bits: Bits
    terms: Lanes
    filled: bool
    writable: bool
    align: int = 0


class LaunchScalar(Struct, frozen=True):
    """A number that a launch is given by value and that is a term: element type, term."""

    kind: str
    term: int


class LaunchRecord(Struct, frozen=True):
    """A structure that a launch is given by value: its size, and at which byte each of its parts begins."""

    size: int
    parts: tuple[tuple[int, LaunchArray | LaunchScalar | np.generic], ...]


LaunchArgument: TypeAlias = LaunchArray | LaunchScalar | LaunchRecord | int | np.generic


def record_of(elements: Sequence[LaunchScalar | np.generic], item: int) -> LaunchArgument:
    """Return what a launch is given for a structure of equal elements, `item` bytes each; PTX has one as a number."""
    if len(elements) == 1 and item > 1:
        return elements[0]
    return LaunchRecord(len(elements) * item, tuple((n * item, each) for n, each in enumerate(elements)))


def as_variable(argument: LaunchArgument, variable: PtxVariable) -> LaunchArray:
    """Return what a variable of the module holds that is given an array or one number."""
    if not isinstance(argument, LaunchArray):
        assert not isinstance(argument, LaunchRecord)
        kind, term = (argument.kind, argument.term) if isinstance(argument, LaunchScalar) else ("", 0)
        bits = 0 if kind else int(np.array(argument).view(f"u{variable.size}"))
        one = np.array([bits], np.uint64), np.array([term], np.int64)
        argument = LaunchArray(variable.name, kind or f"b{8 * variable.size}", *one, True, False)
    return replace(argument, align=variable.align)


def bits_of(argument: LaunchArgument) -> int:
    """Return the bits of an argument that is no structure; addresses and lengths have 64."""
    if isinstance(argument, np.generic):
        return 8 * argument.itemsize
    return width(argument.kind) if isinstance(argument, LaunchScalar) else 64


def parts_of(argument: LaunchArgument) -> Iterator[LaunchArgument]:
    """Yield the parts of a structure, or what is no structure."""
    if isinstance(argument, LaunchRecord):
        yield from (part for _, part in argument.parts)
    else:
        yield argument
