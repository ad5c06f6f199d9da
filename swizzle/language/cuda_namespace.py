"""The `cuda` namespace of a kernel: numba.cuda's names for coordinates, memories, barriers and shuffles.

Device functions: what `@cuda.jit(device=True)` makes of a function. Its text is read at each call in a kernel.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any, Final, Literal, NoReturn, TypeVar, cast, overload

from msgspec import Struct

from swizzle.language.element_types import VECTOR_TYPES, ElementType, VectorType, caller_place, kernel_only
from swizzle.language.external import external
from swizzle.language.host_arrays import device_array
from swizzle.language.source.kernel_source import KernelSource, kernel_source
from symbolic.errors import SwizzleError
from symbolic.ir.program import CoordinateName


class DeviceFunction(Struct, frozen=True, eq=False):
    """A function that kernels, and other device functions, call."""

    kernel: KernelSource

    @property
    def name(self) -> str:
        return self.kernel.definition.name

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(argument.arg for argument in self.kernel.definition.args.args)

    @property
    def result(self) -> ast.expr | None:
        """What the last statement returns, if it is a `return` with a value."""
        last = self.kernel.definition.body[-1]
        return last.value if isinstance(last, ast.Return) else None

    def __call__(self, *_: Any, **__: Any) -> Any:
        kernel_only(f"the device function {self.name}")


def device_function(kernel: KernelSource) -> DeviceFunction:
    """Make a device function from its text; raises `SwizzleError` for parameters that are not plain names."""
    a = kernel.definition.args
    if a.vararg or a.kwarg or a.kwonlyargs or a.posonlyargs or a.defaults:
        kernel.source.mistake(
            kernel.definition,
            f"the parameters of {kernel.definition.name} have `*`, `/` or defaults",
            f"plain names: def {kernel.definition.name}(a, b, k):",
            "give every argument at each call",
        )
    return DeviceFunction(kernel)


Function = TypeVar("Function", bound=Callable[..., Any])


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
    """`threadIdx`, `blockIdx`, `blockDim`, `gridDim`: an index along each of `x`, `y`, `z`, 0 or 1 where unused."""

    __slots__ = ("coordinate", "x", "y", "z")

    def __init__(self, coordinate: CoordinateName) -> None:
        self.coordinate: CoordinateName = coordinate
        self.x: int = KernelOnly(coordinate)  # type: ignore[assignment]
        self.y: int = KernelOnly(coordinate)  # type: ignore[assignment]
        self.z: int = KernelOnly(coordinate)  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"cuda.{self.coordinate}"


def _local_array(shape: int | tuple[int, ...], dtype: ElementType | VectorType) -> Any:
    """Declare an array that each thread has for itself, in registers: `mine = cuda.local.array(2, f32)`.

    `shape` is an int or up to three, known before the kernel runs. Only at the top of a kernel. An element has no value
    before it is written; reading it then is an error.
    """
    kernel_only("cuda.local.array")


def _shared_array(shape: int | tuple[int, ...], dtype: ElementType | VectorType) -> Any:
    """Declare an array that the threads of a block share: `tile = cuda.shared.array((32, 33), f32)`.

    `shape` is an int or up to three, known before the kernel runs. All arrays of a block together have at most 227 KiB;
    more than 48 KiB are printed as dynamic shared memory, of which older GPUs have less. Only at the top of a kernel.
    If two threads use an element without a barrier between them, and one of them writes it, that is a race, which is an
    error.
    """
    kernel_only("cuda.shared.array")


def _atomic_add(array: Any, index: int | tuple[int, ...], value: Any) -> None:
    """Add to an element that other threads add to, in any order: `cuda.atomic.add(total, 0, v)`. It gives no value.

    `array` is an inout parameter or a shared array of f32, f64, i32, u32 or u64; between barriers, nothing else may use
    the element. Sums of floats round differently in each order, and so from run to run.
    """
    kernel_only("cuda.atomic.add")


def _atomic_min(array: Any, index: int | tuple[int, ...], value: Any) -> None:
    """Keep the least of an element and of what threads give, in any order; integers of 32 or 64 bits."""
    kernel_only("cuda.atomic.min")


def _atomic_max(array: Any, index: int | tuple[int, ...], value: Any) -> None:
    """Keep the greatest of an element and of what threads give, in any order; integers of 32 or 64 bits."""
    kernel_only("cuda.atomic.max")


def _atomic_and(array: Any, index: int | tuple[int, ...], value: Any) -> None:
    """Keep the bits that an element and all that threads give have; of i32, u32 or u64."""
    kernel_only("cuda.atomic.and_")


def _atomic_or(array: Any, index: int | tuple[int, ...], value: Any) -> None:
    """Set the bits in an element that threads give; of i32, u32 or u64."""
    kernel_only("cuda.atomic.or_")


def _atomic_xor(array: Any, index: int | tuple[int, ...], value: Any) -> None:
    """Change the bits in an element that threads give, each as often; of i32, u32 or u64."""
    kernel_only("cuda.atomic.xor")


def _dp4a(a: Any, b: Any, c: int) -> Any:
    """Return c and the products of four pairs of bytes: `c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w`.

    `a` and `b` are of `cuda.char4`, with `c` of i32, or of `cuda.uchar4`, with `c` of u32. Compilers make one
    instruction of it.
    """
    kernel_only("cuda.dp4a")


def _fragment(operand: str, product: str, dtype: ElementType, shape: int | tuple[int, ...] = ()) -> Any:
    """Declare a lane's part of a matrix that `mma` multiplies: `a = cuda.fragment("A", "m16n8k16", f16, shape=2)`.

    `operand` is "A" (M x K), "B" (K x N) or "C" (M x N, to which products are added). "A" and "B" are arrays of
    registers, "C" an array of accumulators; `shape` makes several of them, `a[0]`, `a[1]`. docs/tensor-cores.md has a
    picture of each: which element of the matrix is in which register of which lane.
    """
    kernel_only("cuda.fragment")


def _mma(product: str, a: Any, b: Any, c: Any) -> None:
    """Let the warp add the product of two matrices to a third: `cuda.mma("m16n8k16", a, b, c)`.

    `a`, `b` and `c` are fragments, or one of several: `a[m]`. `c` are accumulators, or registers that have a value. All
    lanes of the warp must get here. f32 factors are truncated to tf32, by the hardware.
    """
    kernel_only("cuda.mma")


def _ldmatrix(fragments: Any, row: Any, trans: bool = False) -> None:
    """Load 1, 2 or 4 matrices of 8 rows of 16 bytes from a shared array: `cuda.ldmatrix(a, tile[r, c])`.

    Lane 8 * j + i names where row i of matrix j begins, which is at a multiple of 16 bytes; of other lanes it does not
    matter. Lane l gets 4 bytes of row l // 4 of each matrix, the (l % 4)-th ones; with `trans`, the elements of column
    l // 4 in the rows 2 * (l % 4) and the next one. `fragments` is one, or a tuple of them, one matrix after the other.
    """
    kernel_only("cuda.ldmatrix")


def _stmatrix(fragments: Any, row: Any, trans: bool = False) -> None:
    """Store 1, 2 or 4 matrices to a shared array, as `ldmatrix` loads them: `cuda.stmatrix(a, tile[r, c])`."""
    kernel_only("cuda.stmatrix")


def _movmatrix(target: Any, source: Any) -> None:
    """Transpose a matrix of 8 x 8 elements of 16 bits, of which each lane has two: `cuda.movmatrix(t, s)`."""
    kernel_only("cuda.movmatrix")


class _Atomic:
    add = staticmethod(_atomic_add)
    min = staticmethod(_atomic_min)
    max = staticmethod(_atomic_max)
    and_ = staticmethod(_atomic_and)
    or_ = staticmethod(_atomic_or)
    xor = staticmethod(_atomic_xor)

    def __repr__(self) -> str:
        return "cuda.atomic"


class _Local:
    array = staticmethod(_local_array)


class _Shared:
    array = staticmethod(_shared_array)


def _syncthreads() -> None:
    """Wait for all threads of the block. All must get here: under an `if` that only some take, it is an error."""
    kernel_only("cuda.syncthreads")


def _syncwarp(mask: int = 0xFFFFFFFF) -> None:
    """Wait for all lanes of the warp. All must get here. `mask` names every lane: `cuda.FULL_MASK`."""
    kernel_only("cuda.syncwarp")


def _copy_async(dst: Any, src: Any, count: int = 1) -> None:
    """Copy an element of a parameter to a shared array, without waiting: `cuda.copy_async(tile[i], x[j])`.

    `tile[i]` has no value until this thread has waited for the copy (`cuda.wait_copies`); other threads see it after a
    barrier behind the wait. Until then the source must stay as it is. 4, 8 or 16 bytes are copied: one element or
    vector, or `count` neighbours, whose places are multiples of it. `x[j] if j < n else 0` fills in zeros.
    """
    kernel_only("cuda.copy_async")


def _commit_copies() -> None:
    """Make a group of the copies that this thread has issued since its last group."""
    kernel_only("cuda.commit_copies")


def _wait_copies(n: int = 0) -> None:
    """Wait until at most `n`, a constant, of this thread's groups of copies are under way: the last ones."""
    kernel_only("cuda.wait_copies")


def _shfl_sync(mask: int, value: Any, src_lane: int, width: int = 32) -> Any:
    """Return the value that lane `src_lane` (modulo the warp size) of the same warp passes to this shuffle.

    Every lane of the warp must get here, and `mask` must name them all (`cuda.FULL_MASK`, or -1). The source lane
    evaluates `value`. Needs a block of whole warps. With a `width`, a power of two, each part of so many lanes keeps to
    itself. A constant `mask` of some lanes is for an `if` that just these take.
    """
    kernel_only("cuda.shfl_sync")


def _shfl_up_sync(mask: int, value: Any, delta: int, width: int = 32) -> Any:
    """Return the value of the lane `delta` below; the lowest `delta` lanes get their own. Same rules as shfl_sync."""
    kernel_only("cuda.shfl_up_sync")


def _shfl_down_sync(mask: int, value: Any, delta: int, width: int = 32) -> Any:
    """Return the value of the lane `delta` above; the highest `delta` lanes get their own. Same rules as shfl_sync."""
    kernel_only("cuda.shfl_down_sync")


def _shfl_xor_sync(mask: int, value: Any, lane_mask: int, width: int = 32) -> Any:
    """Return the value of lane `laneid ^ lane_mask`: pairs of lanes swap. Same rules as shfl_sync."""
    kernel_only("cuda.shfl_xor_sync")


def _any_sync(mask: int, predicate: Any) -> Any:
    """Tell whether a lane of the warp says yes. Of a predicate made of indices it is a condition, which may steer; of a
    comparison of data it is data: an i32, 0 or 1. Same rules as shfl_sync."""
    kernel_only("cuda.any_sync")


def _all_sync(mask: int, predicate: Any) -> Any:
    """Tell whether all lanes of the warp say yes, as `cuda.any_sync` does."""
    kernel_only("cuda.all_sync")


def _ballot_sync(mask: int, predicate: Any) -> Any:
    """Return a u32 with a bit for each lane of the warp, set where it says yes. `cuda.popc` of a ballot on indices is
    an index."""
    kernel_only("cuda.ballot_sync")


def _popc(value: Any) -> Any:
    """Return how many of 32 bits are set: an index of an index, which is not negative, an i32 of data."""
    kernel_only("cuda.popc")


def _clz(value: int) -> int:
    """Return how many of the 32 bits of an index are 0 above its highest; 32 for 0."""
    kernel_only("cuda.clz")


def _brev(value: Any) -> Any:
    """Return 32 bits in the other order: `cuda.brev(k) >> 27` of a lane `k`; of data a u32."""
    kernel_only("cuda.brev")


def _jit(*given: Any, device: bool = False, **other: Any) -> Callable[[Function], Function]:
    """Mark a function that kernels call: `@cuda.jit(device=True)` above its `def`.

    It takes indices, conditions, data, arrays and accumulators, may have holes, and may return values in its last
    statement. Its text is read again for each call, and never run: parameters have the types of the arguments in that
    call.
    """
    if given or other or device is not True:
        raise SwizzleError(
            "@cuda.jit with other arguments than device=True" if given or other else "@cuda.jit without device=True",
            place=caller_place(),
            expected="@cuda.jit(device=True) for a function that kernels call, @sketch(...) for a kernel",
            fix="leave out signatures and options: the types come from the call"
            if given or other
            else "write @cuda.jit(device=True)",
        )

    def decorate(function: Function) -> Function:
        if not isinstance(function, types.FunctionType):
            raise SwizzleError(
                f"@cuda.jit(device=True) on a {type(function).__name__}",
                place=caller_place(),
                expected="a function defined with `def`",
                fix="write it above one `def`",
            )
        return cast("Function", device_function(kernel_source(function, ("device",), "device function")))

    return decorate


class Cuda:
    """What numba.cuda calls these things, plus `warpid`."""

    def __repr__(self) -> str:
        return "swizzle.cuda"

    FULL_MASK: Final = 0xFFFFFFFF
    """All lanes of a warp, of whatever size."""
    threadIdx = Dim3("threadIdx")
    """The thread's place in its block, from 0: `.x`, `.y`, `.z`."""
    blockIdx = Dim3("blockIdx")
    """The block's place in the grid, from 0."""
    blockDim = Dim3("blockDim")
    """How many threads a block has along each axis: `block=` of the sketch."""
    gridDim = Dim3("gridDim")
    """How many blocks the grid has along each axis: `grid=` of the sketch."""
    laneid: int = KernelOnly("laneid")  # type: ignore[assignment]
    """The lane in its warp: the linear thread index, x fastest, modulo the warp size."""
    warpid: int = KernelOnly("warpid")  # type: ignore[assignment]
    """The warp in its block: the linear thread index, x fastest, divided by the warp size."""
    warpsize: int = KernelOnly("warpsize")  # type: ignore[assignment]
    """The sketch's `warp_size`, 32 unless given."""
    local = _Local()
    shared = _Shared()
    atomic = _Atomic()
    float2: Final = VECTOR_TYPES["float2"]
    float4: Final = VECTOR_TYPES["float4"]
    double2: Final = VECTOR_TYPES["double2"]
    int2: Final = VECTOR_TYPES["int2"]
    int4: Final = VECTOR_TYPES["int4"]
    uint2: Final = VECTOR_TYPES["uint2"]
    uint4: Final = VECTOR_TYPES["uint4"]
    longlong2: Final = VECTOR_TYPES["longlong2"]
    ulonglong2: Final = VECTOR_TYPES["ulonglong2"]
    short2: Final = VECTOR_TYPES["short2"]
    short4: Final = VECTOR_TYPES["short4"]
    ushort2: Final = VECTOR_TYPES["ushort2"]
    ushort4: Final = VECTOR_TYPES["ushort4"]
    char2: Final = VECTOR_TYPES["char2"]
    char4: Final = VECTOR_TYPES["char4"]
    uchar2: Final = VECTOR_TYPES["uchar2"]
    uchar4: Final = VECTOR_TYPES["uchar4"]
    half2: Final = VECTOR_TYPES["half2"]
    bfloat162: Final = VECTOR_TYPES["bfloat162"]
    jit = staticmethod(_jit)
    external = staticmethod(external)
    device_array = staticmethod(device_array)
    dp4a = staticmethod(_dp4a)
    syncthreads = staticmethod(_syncthreads)
    syncwarp = staticmethod(_syncwarp)
    fragment = staticmethod(_fragment)
    mma = staticmethod(_mma)
    ldmatrix = staticmethod(_ldmatrix)
    stmatrix = staticmethod(_stmatrix)
    movmatrix = staticmethod(_movmatrix)
    copy_async = staticmethod(_copy_async)
    commit_copies = staticmethod(_commit_copies)
    wait_copies = staticmethod(_wait_copies)
    any_sync = staticmethod(_any_sync)
    all_sync = staticmethod(_all_sync)
    ballot_sync = staticmethod(_ballot_sync)
    popc = staticmethod(_popc)
    clz = staticmethod(_clz)
    brev = staticmethod(_brev)
    shfl_sync = staticmethod(_shfl_sync)
    shfl_up_sync = staticmethod(_shfl_up_sync)
    shfl_down_sync = staticmethod(_shfl_down_sync)
    shfl_xor_sync = staticmethod(_shfl_xor_sync)

    @staticmethod
    @overload
    def grid(ndim: Literal[1]) -> int: ...
    @staticmethod
    @overload
    def grid(ndim: Literal[2]) -> tuple[int, int]: ...
    @staticmethod
    @overload
    def grid(ndim: Literal[3]) -> tuple[int, int, int]: ...
    @staticmethod
    def grid(ndim: Literal[1, 2, 3]) -> Any:
        """Return the thread's place in the whole grid: `blockIdx.x * blockDim.x + threadIdx.x` for 1.

        Along (x, y) for 2, (x, y, z) for 3.
        """
        kernel_only("cuda.grid")

    @staticmethod
    @overload
    def gridsize(ndim: Literal[1]) -> int: ...
    @staticmethod
    @overload
    def gridsize(ndim: Literal[2]) -> tuple[int, int]: ...
    @staticmethod
    @overload
    def gridsize(ndim: Literal[3]) -> tuple[int, int, int]: ...
    @staticmethod
    def gridsize(ndim: Literal[1, 2, 3]) -> Any:
        """Return the number of threads of the whole grid along x for 1, along (x, y) for 2, (x, y, z) for 3."""
        kernel_only("cuda.gridsize")


cuda: Final = Cuda()
WARP_INSTRUCTIONS: Final = ("cuda.mma", "cuda.ldmatrix", "cuda.stmatrix", "cuda.movmatrix")
"""Statements that a whole warp runs together, on fragments."""
NAMESPACES: Final = (Cuda, Dim3, _Atomic, _Local, _Shared, ElementType)
"""The types whose attributes a kernel may name."""

CUDA_NAMES: Final[dict[int, str]] = {
    **{id(value): f"cuda.{name}" for name, value in vars(Cuda).items() if isinstance(value, Dim3 | KernelOnly)},
    **{id(value.__func__): f"cuda.{name}" for name, value in vars(Cuda).items() if isinstance(value, staticmethod)},
    **{
        id(value.__func__): f"cuda.atomic.{name}"
        for name, value in vars(_Atomic).items()
        if isinstance(value, staticmethod)
    },
    id(_local_array): "cuda.local.array",
    id(_shared_array): "cuda.shared.array",
}
"""The name of each object of the namespace, by identity."""
