"""Run a printed kernel on a GPU, with the packages that numba-cuda installs.

numba allocates memory and owns the context. cuda.core, on which numba-cuda is built, compiles and launches the text. No
solver is imported, and no CUDA package before it is needed.

The shape of a launch: what a grid and a block may be, on a GPU and in the emulation.

Find the qualified name of a kernel in a CUDA C++ text: the name by which code outside its namespace calls it.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.compile.toolchain import include_directories
from symbolic.errors import SwizzleError

Shape3: TypeAlias = tuple[int, int, int]
MOST_BLOCKS: Final = (2**31 - 1, 65535, 65535)
"""As many blocks may a grid have along x, y and z, as CUDA's guide says (compute capabilities)."""
MOST_IN_Z: Final = 64
"""As many threads may a block have along z; along x and y as many as in all."""


def check_shapes(grid: Shape3, block: Shape3) -> None:
    """Raise SwizzleError unless grid and block have three positive sizes within CUDA's limits and a block at most 1024
    threads."""
    if len(grid) != 3 or len(block) != 3 or min(*grid, *block) < 1:
        raise SwizzleError(
            f"grid {grid} and block {block}",
            expected="three positive sizes each",
            fix="write 1 along an axis that is not used",
        )
    if block[0] * block[1] * block[2] > 1024:
        raise SwizzleError(
            f"a block of {block} threads",
            expected="at most 1024 threads in a block",
            fix="launch smaller blocks, and more of them",
        )
    if block[2] > MOST_IN_Z:
        raise SwizzleError(
            f"a block of {block} threads",
            expected=f"at most {MOST_IN_Z} threads along z: CUDA launches no more",
            fix="count them along x or y",
        )
    for axis, blocks, most in zip("xyz", grid, MOST_BLOCKS, strict=True):
        if blocks > most:
            raise SwizzleError(
                f"a grid of {blocks} blocks along {axis}",
                expected=f"at most {most} blocks along {axis}: CUDA launches no more",
                fix="count them along x" if axis != "x" else "give each block more elements",
            )


_TOKEN = re.compile(
    r"""
      //[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'    # comments and literals: skipped
    | \bnamespace\b\s*(?P<namespace>[\w:]*)\s*(?=\{)
    | \b__global__\b(?:\s*__launch_bounds__\s*\([^()]*\)|[\s\w*&:])*?\b(?P<kernel>\w+)\s*\(
    | (?P<brace>[{}])
    """,
    re.VERBOSE | re.DOTALL,
)


def kernels_of(text: str) -> list[str]:
    """List the kernels that the text defines or declares, qualified, templates without arguments.

    >>> kernels_of('namespace a { extern "C" __global__ void __launch_bounds__(32) k(int* x) { *x = 1; } }')
    ['a::k']
    """
    found: list[str] = []
    scopes: list[str] = []  # one entry for each open brace, '' where it opens no named namespace
    opening = ""
    for token in _TOKEN.finditer(text):
        if token["namespace"] is not None:
            opening = token["namespace"]
        elif token["brace"] == "{":
            scopes.append(opening)
            opening = ""
        elif token["brace"] == "}":
            del scopes[-1:]
        elif token["kernel"] is not None:
            name = "::".join([*filter(None, scopes), token["kernel"]])
            found += [name] * (name not in found)
    return found


def qualified(text: str, kernel: str) -> str:
    """Return the kernel's name from outside: an exported symbol gets its namespace, template arguments stay.

    Raises SwizzleError if the text has no such kernel, or two of that name in different namespaces.

        >>> qualified("namespace a { template <class T> __global__ void k(T* x) {} }", "k<float>")
        'a::k<float>'
    """
    name, angle, template_arguments = kernel.partition("<")
    kernels = kernels_of(text)
    found = [known for known in kernels if known == name] or [known for known in kernels if known.endswith(f"::{name}")]
    if len(found) != 1:
        raise SwizzleError(
            f"{len(found) or 'no'} kernels named {name!r} in the text",
            expected=f"one of {', '.join(kernels)}" if kernels else "a `__global__` function",
            fix="name one of the text's kernels, with its namespaces",
        )
    return found[0] + angle + template_arguments


class DeviceArray(Struct, frozen=True):
    """Device memory that another library owns: PyTorch, CuPy, JAX, numba. `stream` is the stream its owner works on."""

    pointer: int
    stream: int | None


def launch(
    text: str,
    kernel: str,
    grid: Shape3,
    block: Shape3,
    arguments: Sequence[Any],
    *,
    shared_bytes: int = 0,
    stream: Any = None,
    alignment: Sequence[int] = (),
) -> None:
    """Run `kernel` of the CUDA C++ `text` on the current GPU.

    `kernel` may be qualified and instantiated: `ns::scale<float, 3>`; a namespace may be left out. Arguments are NumPy
    arrays (copied to the device, and back unless read-only), objects with `__cuda_array_interface__` (used in place)
    and NumPy scalars of exactly the kernel's types, structures as `structure` makes them. `stream` is a numba or
    cuda.core stream or a handle; with a stream, and without NumPy arrays, the call returns before the kernel has run.
    `shared_bytes` is the size of an `extern __shared__` array. `alignment` is for kernels that load and store vectors:
    it holds, for each argument, the number of bytes of which a device array's address must be a multiple.

    Raises SwizzleError if there is no GPU or an argument does not fit.
    """
    check_shapes(grid, block)
    given = [_argument(position, argument) for position, argument in enumerate(arguments)]
    for position, (value, bytes_) in enumerate(zip(given, alignment, strict=False)):
        if isinstance(value, DeviceArray) and value.pointer % bytes_:
            raise SwizzleError(
                f"argument {position} starts at an address that is not a multiple of {bytes_} bytes",
                expected="an array whose address is aligned, as this kernel loads or stores vectors",
                fix="copy the slice or view into an array of its own",
            )
    handle = _stream_handle(stream)
    available, reason = gpu_available()
    if not available:
        raise SwizzleError(reason, expected="an NVIDIA GPU", fix="run on the CPU instead: `swizzle run --device cpu`")

    from cuda.core import LaunchConfig, Stream
    from cuda.core import launch as launch_kernel
    from numba import cuda

    major, minor = cuda.get_current_device().compute_capability
    cuda.current_context()  # makes numba's context current on this thread
    name = qualified(text, kernel)
    compiled = compile_for(text, name, f"sm_{major}{minor}").get_kernel(name)
    copies = {i: cuda.to_device(value) for i, value in enumerate(given) if isinstance(value, np.ndarray)}
    foreign = any(isinstance(value, DeviceArray) and value.stream not in (None, handle) for value in given)
    if copies or foreign:
        cuda.synchronize()  # the copies have arrived, and work that other streams have in hand is done
    values: list[Any] = []
    for position, value in enumerate(given):
        if isinstance(value, np.ndarray):
            values.append(copies[position].__cuda_array_interface__["data"][0])
        else:
            values.append(value.pointer if isinstance(value, DeviceArray) else value)
    if shared_bytes:
        _allow_shared(compiled.handle, cuda.get_current_device().id, shared_bytes)
    if any(isinstance(value, np.void) for value in values):
        _launch_with_structures(compiled.handle, grid, block, shared_bytes, handle, values)
    else:
        config = LaunchConfig(grid=grid, block=block, shmem_size=shared_bytes)
        launch_kernel(Stream.from_handle(handle), config, compiled, *values)
    if copies or stream is None:
        cuda.synchronize()
    for position, copy in copies.items():
        if arguments[position].flags.writeable:
            copy.copy_to_host(arguments[position])


def structure(array: np.ndarray[Any, Any]) -> np.void:
    """Return the structure by which an array is passed by value: its elements, row-major."""
    made = np.zeros((), np.dtype([("at", array.dtype, array.shape)]))
    made["at"] = array
    found: Any = made[()]
    assert isinstance(found, np.void)
    return found


def _launch_with_structures(
    kernel: Any, grid: Shape3, block: Shape3, shared_bytes: int, stream: int, values: Sequence[Any]
) -> None:
    """Launch a kernel that takes structures, which cuda.core does not pass on."""
    from cuda.bindings import driver

    given = [
        np.frombuffer(value.tobytes() if isinstance(value, np.generic) else int(value).to_bytes(8, "little"), np.uint8)
        for value in values
    ]
    places = np.array([each.ctypes.data for each in given], np.uint64)
    function = driver.CUfunction(int(kernel))
    (status,) = driver.cuLaunchKernel(function, *grid, *block, shared_bytes, stream, places.ctypes.data, 0)
    if status:
        raise RuntimeError(f"the launch failed: {status.name}")


def _allow_shared(kernel: Any, device: int, shared_bytes: int) -> None:
    """Let a kernel have so much dynamic shared memory: by itself it has at most 48 KiB."""
    from cuda.bindings import driver

    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    (status,) = driver.cuKernelSetAttribute(attribute, shared_bytes, kernel, device)
    if status:
        raise SwizzleError(
            f"{shared_bytes} bytes of shared memory in a block",
            expected="as many as a block of this GPU may have: 64 KiB before sm_80, from 99 to 227 KiB since",
            fix="use smaller tiles, or another GPU",
        )


def gpu_available() -> tuple[bool, str]:
    """Say whether `launch` can work here, and if not, why; cheap if numba-cuda is not installed."""
    if find_spec("numba_cuda") is None or find_spec("cuda") is None or find_spec("cuda.core") is None:
        return False, "numba-cuda is not installed (pip install 'swizzle-inventor[gpu]')"
    return driver_available()


@lru_cache(maxsize=1)
def driver_available() -> tuple[bool, str]:
    """Ask the driver for its devices without starting numba; say why there is none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False, "no NVIDIA driver on this machine (libcuda.so.1 not found)"
    count = ctypes.c_int(0)
    if (status := driver.cuInit(0)) or (status := driver.cuDeviceGetCount(ctypes.byref(count))):
        return False, f"the NVIDIA driver found no usable GPU (status {status})"
    return (True, "") if count.value else (False, "the NVIDIA driver lists no GPU")


@lru_cache(maxsize=64)
def compile_for(text: str, kernel: str, arch: str) -> Any:
    """Compile the text to a cubin from which `get_kernel(kernel)` can be taken; needs no GPU and no driver.

    It is a cubin and not PTX because NVRTC may be newer than the driver, which then refuses its PTX.
    """
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(arch=arch, std="c++17", name="kernel.cu", include_path=include_directories())
    return Program(text, "c++", options).compile("cubin", name_expressions=(kernel,))


def _argument(position: int, argument: Any) -> DeviceArray | np.ndarray[Any, Any] | np.generic:
    """Check one argument; device arrays are reduced to pointer and stream."""
    if isinstance(argument, np.ndarray):
        if not argument.flags.c_contiguous:
            raise _not_contiguous(position, "np.ascontiguousarray")
        return argument
    if isinstance(argument, np.generic):
        return argument
    interface = getattr(argument, "__cuda_array_interface__", None)
    if interface is None:
        raise SwizzleError(
            f"argument {position} is a {type(argument).__name__}",
            expected="a NumPy array, a device array, or a NumPy scalar such as np.int32(5)",
            fix="convert it: np.asarray(...), np.float32(...)",
        )
    shape, item_bytes = tuple(interface["shape"]), np.dtype(interface["typestr"]).itemsize
    contiguous = tuple(item_bytes * prod(shape[axis + 1 :]) for axis in range(len(shape)))
    if interface.get("strides") is not None and prod(shape) > 1 and tuple(interface["strides"]) != contiguous:
        raise _not_contiguous(position, "its own library's `contiguous` or `ascontiguousarray`")
    return DeviceArray(interface["data"][0], interface.get("stream"))


def _not_contiguous(position: int, remedy: str) -> SwizzleError:
    return SwizzleError(
        f"argument {position} is not contiguous", expected="an array in C order", fix=f"copy it with {remedy}"
    )


def _stream_handle(stream: Any) -> int:
    """Find the handle of a stream of numba's, of cuda.core's, or a bare one; 0 is the default stream."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    handle = getattr(stream, "handle", stream)
    try:
        return int(getattr(handle, "value", handle) or 0)
    except (TypeError, ValueError):
        raise SwizzleError(
            f"stream is a {type(stream).__name__}",
            expected="a CUDA stream or its handle",
            fix="leave it out for the default stream, or pass a stream of numba, CuPy or cuda.core",
        ) from None
