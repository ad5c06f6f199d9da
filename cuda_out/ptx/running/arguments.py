"""What a launch is given: arrays, numbers, and structures of these by value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.ptx.kinds import Bits, width
from cuda_out.ptx.running.memory import Broken, Lanes
from cuda_out.ptx.syntax import Kernel, NotInterpreted, PtxVariable, names_of
from symbolic.machine.launch_shape import LaunchShape

MOST_STATIC: Final = 48 * 1024
"""So many bytes of shared memory ptxas allows with their sizes, on every architecture."""
MOST_SHARED: Final = 227 * 1024
"""As many a block has on any architecture, with those that the launch gives."""


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


def check_shared(kernel: Kernel, dynamic: int) -> None:
    """Raise Broken for more shared memory than ptxas or a launch allows: of that which the kernel's code names."""
    bodies = [kernel, *kernel.functions.values()]
    named = {name for body in bodies for i in body.instructions for part in i.operands for name in names_of(part)}
    static = 0
    for array in dict.fromkeys(array for body in bodies for array in body.arrays):
        if array.space == "shared" and array.size and array.name in named:
            static = -(-static // array.align) * array.align + array.size
    if static > MOST_STATIC:
        raise Broken(f"{static} bytes of static shared memory: ptxas allows {MOST_STATIC}")
    if static + dynamic > MOST_SHARED:
        raise Broken(f"{static + dynamic} bytes of shared memory: no block has more than {MOST_SHARED}")


def check_block(kernel: Kernel, shape: LaunchShape) -> None:
    """Raise Broken where the driver would refuse to launch the kernel with blocks of this shape."""
    if kernel.most_threads is not None and shape.block_threads > kernel.most_threads:
        raise Broken(f"a block of {shape.block_threads} threads: .maxntid allows {kernel.most_threads}")
    if kernel.block is not None and shape.block != kernel.block:
        raise Broken(f"a block of the shape {shape.block}: .reqntid asks for {kernel.block}")


def check_promised(name: str, promised: int, argument: LaunchArgument) -> None:
    """Raise NotInterpreted where a parameter is said to be an address with more zeros than the argument's has."""
    align = argument.align or promised if isinstance(argument, LaunchArray) else 1
    if promised and align % promised:
        raise NotInterpreted(
            f"the parameter {name} is said to be a multiple of {promised} (.ptr): it is one of {align}"
        )
