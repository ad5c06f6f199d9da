"""A GPU behind the questions of `backend.py`: memory, kernels and events of the CUDA driver."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.gpu.backend import Argument, Loaded
from bench.gpu.driver import ATTRIBUTES, FUNCTION_ATTRIBUTES, Driver, Refused
from bench.gpu.kernels import Kernel, Shape3
from bench.gpu.missing import Missing
from cuda_out.compile.toolchain import CompileError, compile_cuda
from symbolic.errors import SwizzleError

_NUMBERS = {"float32": ctypes.c_float, "int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64}


@dataclass(slots=True)
class DeviceBuffer:
    """An array in the device's memory, in C order, for whoever reads `__cuda_array_interface__`."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "stream": 1,  # the legacy default stream
            "version": 3,
        }


@dataclass(slots=True)
class DeviceKernel:
    driver: Driver
    function: int
    block: Shape3
    about: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, grid: Shape3, arguments: Sequence[Argument]) -> None:
        numbers = [
            ctypes.c_uint64(each.address) if isinstance(each, DeviceBuffer) else _NUMBERS[each.dtype.name](each.item())
            for each in arguments
        ]
        self.driver.launch(self.function, grid, self.block, numbers)


class Gpu:
    """Device 0. Everything runs on the legacy default stream, in order with PyTorch's and CuPy's work.

    `cache` keeps what was compiled, so that the next run on such a device starts at once.
    """

    on_gpu = True

    def __init__(self, cache: Path, driver: Driver | None = None) -> None:
        self.driver = driver or Driver()
        self.cache = cache
        self.arch = f"sm_{self.driver.attribute('major')}{self.driver.attribute('minor')}"
        self._loaded: dict[Kernel, DeviceKernel] = {}
        self._events: list[int] = []

    def facts(self) -> dict[str, Any]:
        driver = self.driver
        return {
            "name": driver.name(),
            "arch": self.arch,
            "memory_bytes": driver.memory()[1],
            "driver": driver.version(),
            **{name: driver.attribute(name) for name in ATTRIBUTES},
        }

    def free_bytes(self) -> int:
        return self.driver.memory()[0]

    # ---- arrays ------------------------------------------------------------------------------------------------

    def empty(self, shape: Sequence[int], dtype: str) -> DeviceBuffer:
        wanted = np.dtype(dtype)
        return DeviceBuffer(self.driver.allocate(prod(shape) * wanted.itemsize), tuple(shape), wanted)

    def upload(self, values: npt.NDArray[Any]) -> DeviceBuffer:
        """Copy an array in C order to the device."""
        found = self.empty(values.shape, values.dtype.name)
        self.driver.to_device(found.address, values.ctypes.data, values.nbytes)
        return found

    def release(self, buffer: DeviceBuffer) -> None:
        self.driver.synchronize()
        self.driver.free(buffer.address)

    def download(self, buffer: DeviceBuffer) -> npt.NDArray[Any]:
        found = np.empty(buffer.shape, buffer.dtype)
        self.driver.synchronize()
        self.driver.to_host(found.ctypes.data, buffer.address, buffer.nbytes)
        return found

    def poison(self, buffer: DeviceBuffer) -> None:
        self.driver.fill(buffer.address, 0xFF, buffer.nbytes)

    def copy(self, source: DeviceBuffer, target: DeviceBuffer) -> None:
        self.driver.copy(target.address, source.address, source.nbytes)

    # ---- kernels -----------------------------------------------------------------------------------------------

    def prepare(self, kernels: Sequence[Kernel]) -> None:
        """Compile on all cores; what does not compile is found out when it is loaded."""

        compile_all(kernels, self.arch, self.cache)

    def load(self, kernel: Kernel) -> Loaded:
        if kernel not in self._loaded:
            try:
                function = self.driver.function(compiled(kernel, self.arch, self.cache), kernel.entry)
            except Refused:  # kept from another machine, by a compiler that is too new for this driver
                cached(kernel, self.arch, self.cache).unlink()
                function = self.driver.function(compiled(kernel, self.arch, self.cache), kernel.entry)
            about = {name: self.driver.function_attribute(function, name) for name in FUNCTION_ATTRIBUTES}
            about["blocks_per_sm"] = self.driver.blocks_per_multiprocessor(function, prod(kernel.block))
            self._loaded[kernel] = DeviceKernel(self.driver, function, kernel.block, about)
        return self._loaded[kernel]

    # ---- time --------------------------------------------------------------------------------------------------

    def milliseconds(
        self, action: Callable[[], None], runs: int, before: Callable[[], None] = lambda: None
    ) -> list[float]:
        """Time by events around each run. The work before it keeps the device busy while the run is handed over, so
        that what a launch costs on the host is not counted."""
        while len(self._events) < 2 * runs:
            self._events.append(self.driver.event())
        events = list(zip(self._events[:runs], self._events[runs : 2 * runs], strict=True))
        for first, second in events:
            before()
            self.driver.record(first)
            action()
            self.driver.record(second)
        self.driver.synchronize()
        return [self.driver.elapsed_ms(first, second) for first, second in events]


# ---- compiling -------------------------------------------------------------------------------------------------


def compile_all(kernels: Sequence[Kernel], arch: str, cache: Path) -> dict[Kernel, Exception]:
    """Compile kernels on all cores and keep them; return why, for those that do not compile."""

    def attempt(kernel: Kernel) -> Exception | None:
        try:
            compiled(kernel, arch, cache)
        except (CompileError, Missing, SwizzleError) as why:
            return why
        return None

    distinct = list(dict.fromkeys(kernels))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        reasons = list(pool.map(attempt, distinct))
    return {kernel: why for kernel, why in zip(distinct, reasons, strict=True) if why is not None}


def cached(kernel: Kernel, arch: str, cache: Path) -> Path:
    """Return where a kernel's cubin is kept: its name follows from its text and the folders of headers."""
    key = hashlib.sha256("\0".join([kernel.text, arch, *(kernel.includes or ())]).encode()).hexdigest()[:24]
    return cache / f"{kernel.entry}-{arch}-{key}.cubin"


def compiled(kernel: Kernel, arch: str, cache: Path) -> bytes:
    """Return a kernel's cubin, from the cache where it was compiled before.

    Raises CompileError for a text of ours, Missing for somebody else's that cannot be compiled here.
    """
    path = cached(kernel, arch, cache)
    if path.exists():
        return path.read_bytes()
    cubin = compile_cuda(kernel.text, arch).cubin if kernel.includes is None else with_headers(kernel, arch)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=cache, delete=False) as new:
        new.write(cubin)
    os.replace(new.name, path)
    return cubin


def with_headers(kernel: Kernel, arch: str) -> bytes:
    """Compile a text that includes other people's headers; nvcc brings CUDA's own, CUB among them."""
    if shutil.which("nvcc") is None:
        raise Missing("no nvcc on this machine, which its headers need")
    with tempfile.TemporaryDirectory(prefix="swizzle-gpu-") as scratch:
        source, made = Path(scratch, "kernel.cu"), Path(scratch, "kernel.cubin")
        source.write_text(kernel.text, encoding="utf-8")
        includes = [f"-I{folder}" for folder in kernel.includes or ()]
        command = ["nvcc", "-std=c++17", f"-arch={arch}", "-w", "-cubin", *includes, "-o", str(made), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=scratch)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "nvcc failed")
            raise Missing(f"does not compile here: {first.replace(f'{scratch}/', '').strip()[:200]}")
        return made.read_bytes()
