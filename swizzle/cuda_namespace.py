"""The `cuda` namespace of a kernel: numba.cuda's names for coordinates, memories, barriers and shuffles."""

from __future__ import annotations

from typing import Any, Final, Literal, NoReturn

from swizzle.element_types import ElementType, kernel_only
from symbolic.program import CoordinateName


class KernelOnly:
    """A thread coordinate: a number in a kernel, and an error anywhere else."""

    __slots__ = ("coordinate",)

    def __init__(self, coordinate: CoordinateName) -> None:
        self.coordinate: CoordinateName = coordinate

    def _refuse(self, *_: object) -> NoReturn:
        kernel_only(f"cuda.{self.coordinate}")

    __bool__ = __index__ = __int__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __floordiv__ = __mod__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


class Dim3:
    """`threadIdx`, `blockIdx`, `blockDim`, `gridDim`: three coordinates."""

    __slots__ = ("coordinate", "x", "y", "z")

    def __init__(self, coordinate: CoordinateName) -> None:
        self.coordinate: CoordinateName = coordinate
        self.x: Any = KernelOnly(coordinate)
        self.y: Any = KernelOnly(coordinate)
        self.z: Any = KernelOnly(coordinate)


def _local_array(shape: int | tuple[int, ...], dtype: ElementType) -> Any:
    """An array of each thread's own (registers)."""
    kernel_only("cuda.local.array")


def _shared_array(shape: int | tuple[int, ...], dtype: ElementType) -> Any:
    """An array that the threads of a block share."""
    kernel_only("cuda.shared.array")


class _Local:
    array = staticmethod(_local_array)


class _Shared:
    array = staticmethod(_shared_array)


def _grid(ndim: Literal[1, 2, 3]) -> Any:
    """The thread's position in the whole grid: an int, or a tuple of 2 or 3."""
    kernel_only("cuda.grid")


def _gridsize(ndim: Literal[1, 2, 3]) -> Any:
    """The number of threads in the whole grid: an int, or a tuple of 2 or 3."""
    kernel_only("cuda.gridsize")


def _syncthreads() -> None:
    """Wait for all threads of the block."""
    kernel_only("cuda.syncthreads")


def _syncwarp(mask: int = 0xFFFFFFFF) -> None:
    """Wait for all lanes of the warp."""
    kernel_only("cuda.syncwarp")


def _shfl_sync(mask: int, value: Any, src_lane: int) -> Any:
    """The value that lane `src_lane` offers."""
    kernel_only("cuda.shfl_sync")


def _shfl_up_sync(mask: int, value: Any, delta: int) -> Any:
    """The value of the lane `delta` below; the lowest lanes get their own."""
    kernel_only("cuda.shfl_up_sync")


def _shfl_down_sync(mask: int, value: Any, delta: int) -> Any:
    """The value of the lane `delta` above; the highest lanes get their own."""
    kernel_only("cuda.shfl_down_sync")


def _shfl_xor_sync(mask: int, value: Any, lane_mask: int) -> Any:
    """The value of lane `laneid ^ lane_mask`."""
    kernel_only("cuda.shfl_xor_sync")


class Cuda:
    """What numba.cuda calls these things, plus `warpid`."""

    FULL_MASK: Final = 0xFFFFFFFF
    threadIdx = Dim3("threadIdx")
    blockIdx = Dim3("blockIdx")
    blockDim = Dim3("blockDim")
    gridDim = Dim3("gridDim")
    laneid: Any = KernelOnly("laneid")
    warpid: Any = KernelOnly("warpid")
    warpsize: Any = KernelOnly("warpsize")
    local = _Local()
    shared = _Shared()
    grid = staticmethod(_grid)
    gridsize = staticmethod(_gridsize)
    syncthreads = staticmethod(_syncthreads)
    syncwarp = staticmethod(_syncwarp)
    shfl_sync = staticmethod(_shfl_sync)
    shfl_up_sync = staticmethod(_shfl_up_sync)
    shfl_down_sync = staticmethod(_shfl_down_sync)
    shfl_xor_sync = staticmethod(_shfl_xor_sync)


cuda: Final = Cuda()
NAMESPACES: Final = (Cuda, Dim3, _Local, _Shared, ElementType)
"""The types whose attributes a kernel may name."""

CUDA_NAMES: Final[dict[int, str]] = {
    **{id(value): f"cuda.{name}" for name, value in vars(Cuda).items() if isinstance(value, Dim3 | KernelOnly)},
    **{id(value.__func__): f"cuda.{name}" for name, value in vars(Cuda).items() if isinstance(value, staticmethod)},
    id(_local_array): "cuda.local.array",
    id(_shared_array): "cuda.shared.array",
}
"""The name of each object of the namespace, by identity."""
