"""The CUDA driver's own calls, by ctypes: every machine with an NVIDIA GPU has them, whatever Python packages.

Names and types are those of cuda.h; the driver exports the current versions under names that end in _v2.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from typing import Any, Final

ATTRIBUTES: Final = {
    "multiprocessors": 16,
    "clock_khz": 13,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "threads_per_multiprocessor": 39,
    "threads_per_block": 1,
    "shared_bytes_per_block": 8,
    "major": 75,
    "minor": 76,
}
"""CUdevice_attribute, by what is read."""
FUNCTION_ATTRIBUTES: Final = {"shared_bytes": 1, "local_bytes": 3, "registers": 4}
"""CUfunction_attribute, by what is read."""

_SIGNATURES: Final[dict[str, Sequence[Any]]] = {
    "cuInit": [c_uint],
    "cuDriverGetVersion": [POINTER(c_int)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDeviceGetName": [POINTER(c_char), c_int, c_int],
    "cuDeviceGetAttribute": [POINTER(c_int), c_int, c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuCtxSynchronize": [],
    "cuMemGetInfo_v2": [POINTER(c_size_t), POINTER(c_size_t)],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemcpyHtoD_v2": [c_uint64, c_void_p, c_size_t],
    "cuMemcpyDtoH_v2": [c_void_p, c_uint64, c_size_t],
    "cuMemcpyDtoDAsync_v2": [c_uint64, c_uint64, c_size_t, c_void_p],
    "cuMemsetD8Async": [c_uint64, c_ubyte, c_size_t, c_void_p],
    "cuModuleLoadData": [POINTER(c_void_p), c_char_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuFuncGetAttribute": [POINTER(c_int), c_int, c_void_p],
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": [POINTER(c_int), c_void_p, c_int, c_size_t],
    "cuLaunchKernel": [c_void_p, *[c_uint] * 7, c_void_p, POINTER(c_void_p), POINTER(c_void_p)],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventElapsedTime": [POINTER(c_float), c_void_p, c_void_p],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
}


REFUSALS: Final = frozenset({1, 2, 200, 209, 218, 500, 701})
"""What leaves the context as it was: a value, memory, an image, a name, or resources that are not there."""


class DriverError(RuntimeError):
    """A call of the driver failed; the message has its name and CUDA's name of the error."""


class Refused(DriverError):
    """A call that was not carried out: the device goes on."""


class Driver:
    """The driver, with the primary context of device 0 current: the one that PyTorch, CuPy and numba work in too."""

    def __init__(self, library: str = "libcuda.so.1") -> None:
        loaded = ctypes.CDLL(library)
        self._calls = {}
        for name, types in _SIGNATURES.items():
            call = getattr(loaded, name, None) or getattr(loaded, f"{name}_v2")
            call.argtypes, call.restype = list(types), c_int
            self._calls[name] = call
        device, context = c_int(), c_void_p()
        self("cuInit", 0)
        self("cuDeviceGet", byref(device), 0)
        self.device = device.value
        self("cuDevicePrimaryCtxRetain", byref(context), self.device)
        self("cuCtxSetCurrent", context)

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call the driver; raise DriverError unless it says success."""
        status = self._calls[name](*arguments)
        if status:
            text = c_char_p()
            self._calls["cuGetErrorName"](status, byref(text))
            kind = Refused if status in REFUSALS else DriverError
            raise kind(f"{name}: {(text.value or b'an error without a name').decode()} ({status})")

    # ---- the device --------------------------------------------------------------------------------------------

    def version(self) -> int:
        """Return the newest CUDA that the driver runs: 13000 is CUDA 13.0."""
        found = c_int()
        self("cuDriverGetVersion", byref(found))
        return found.value

    def name(self) -> str:
        found = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", found, 256, self.device)
        return found.value.decode()

    def attribute(self, name: str) -> int:
        found = c_int()
        self("cuDeviceGetAttribute", byref(found), ATTRIBUTES[name], self.device)
        return found.value

    def memory(self) -> tuple[int, int]:
        """Return the bytes that are free, and all of them."""
        free, total = c_size_t(), c_size_t()
        self("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def synchronize(self) -> None:
        self("cuCtxSynchronize")

    # ---- memory ------------------------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """Return the address of so many bytes, a multiple of 256."""
        found = c_uint64()
        self("cuMemAlloc_v2", byref(found), max(size, 1))
        return found.value

    def free(self, address: int) -> None:
        self("cuMemFree_v2", address)

    def to_device(self, address: int, source: int, size: int) -> None:
        self("cuMemcpyHtoD_v2", address, source, size)

    def to_host(self, target: int, address: int, size: int) -> None:
        self("cuMemcpyDtoH_v2", target, address, size)

    def copy(self, target: int, source: int, size: int) -> None:
        self("cuMemcpyDtoDAsync_v2", target, source, size, None)

    def fill(self, address: int, byte: int, size: int) -> None:
        self("cuMemsetD8Async", address, byte, size, None)

    # ---- kernels -----------------------------------------------------------------------------------------------

    def function(self, cubin: bytes, entry: str) -> int:
        """Load a compiled text and return the handle of its kernel."""
        module, found = c_void_p(), c_void_p()
        self("cuModuleLoadData", byref(module), cubin)
        self("cuModuleGetFunction", byref(found), module, entry.encode())
        assert found.value is not None, "a function without a handle"
        return found.value

    def function_attribute(self, function: int, name: str) -> int:
        found = c_int()
        self("cuFuncGetAttribute", byref(found), FUNCTION_ATTRIBUTES[name], function)
        return found.value

    def blocks_per_multiprocessor(self, function: int, threads: int) -> int:
        found = c_int()
        self("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(found), function, threads, 0)
        return found.value

    def launch(self, function: int, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any]) -> None:
        """Start a kernel on the default stream; arguments are ctypes numbers."""
        places = (c_void_p * max(len(arguments), 1))(*(ctypes.addressof(argument) for argument in arguments))
        self("cuLaunchKernel", function, *grid, *block, 0, None, places, None)

    # ---- time --------------------------------------------------------------------------------------------------

    def event(self) -> int:
        found = c_void_p()
        self("cuEventCreate", byref(found), 0)
        assert found.value is not None, "an event without a handle"
        return found.value

    def record(self, event: int) -> None:
        self("cuEventRecord", event, None)

    def elapsed_ms(self, first: int, second: int) -> float:
        """Return the milliseconds between two recorded events; both have happened."""
        found = c_float()
        self("cuEventElapsedTime", byref(found), first, second)
        return found.value
