"""A GPU that is none: the driver's calls go to fake_driver.cpp, kernels to the CPU emulation, time is counted in launches.

What these give are made-up samples: tests keep them in folders of their own.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu import device
from bench.gpu.driver import Driver
from bench.gpu.kernels import Kernel
from bench.gpu.problem import Missing
from cuda_out.emulate import EmulationError, emulate
from cuda_out.kernel_text import parameters

HERE = Path(__file__).parent
ILLEGAL_ADDRESS = 700
TYPES = {"float4": "f4", "float": "f4", "unsigned long long": "u8", "long long": "i8", "unsigned": "u4", "int": "i4"}
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_void_p),
)


def build(folder: Path) -> Path:
    """Compile the fake driver against the toolkit's cuda.h."""
    library = folder / "libfake_cuda.so"
    command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", "-cudart", "none", "-o", str(library)]
    subprocess.run([*command, str(HERE / "fake_driver.cpp")], check=True)
    return library


def element(declaration: str) -> np.dtype[Any]:
    """Return the type of a declared parameter, or of what it points to."""
    words = declaration.replace("const ", "").replace("__restrict__", "")
    return np.dtype(next(code for name, code in TYPES.items() if words.startswith(name)))


class FakeGpu(device.Gpu):
    """The GPU of `device.py` over the fake driver. `refuse` makes a launch fail as an illegal access does."""

    def __init__(self, library: Path, cache: Path, refuse: Callable[[str], bool] = lambda entry: False) -> None:
        self.library = ctypes.CDLL(str(library))
        self.library.fake_size.argtypes, self.library.fake_size.restype = [ctypes.c_uint64], ctypes.c_size_t
        self.library.fake_allocations.restype = ctypes.c_size_t
        self.current: Kernel
        self.launched = 0
        self.refuse, self.programs = refuse, cache / "programs"
        self._callback = _CALLBACK(self._launched)  # kept: the library calls it
        self.library.fake_on_launch(self._callback)
        super().__init__(cache, Driver(str(library)))

    def load(self, kernel: Kernel) -> Any:
        loaded = super().load(kernel)
        if kernel.includes is not None:
            raise Missing("the emulation behind the fake driver has no headers")
        return _Named(loaded, kernel, self)

    def _launched(self, entry: bytes, grid: Any, block: Any, arguments: Any) -> int:
        kernel, self.launched = self.current, self.launched + 1
        assert entry.decode() == kernel.entry and tuple(block[:3]) == kernel.block
        if self.refuse(kernel.entry):
            return ILLEGAL_ADDRESS
        given: list[Any] = []
        for position, declaration in enumerate(parameters(kernel.text, kernel.entry)):
            dtype, place = element(declaration), arguments[position]
            if "*" not in declaration:
                given.append(np.frombuffer(ctypes.string_at(place, dtype.itemsize), dtype)[0])
                continue
            address = ctypes.c_uint64.from_address(place).value
            size = self.library.fake_size(address)
            assert size, f"{kernel.entry}: {declaration} is no allocation"
            words = (ctypes.c_char * size).from_address(address)
            given.append(np.frombuffer(words, dtype, size // dtype.itemsize))
        try:
            emulate(kernel.text, kernel.entry, tuple(grid[:3]), kernel.block, given, cache_dir=self.programs)
        except EmulationError as error:
            self.refused = str(error)
            return ILLEGAL_ADDRESS
        return 0


class _Named:
    """A loaded kernel that says which one it is before it is launched: entries of many texts have one name."""

    def __init__(self, loaded: Any, kernel: Kernel, gpu: FakeGpu) -> None:
        self.loaded, self.kernel, self.gpu, self.about = loaded, kernel, gpu, loaded.about

    def __call__(self, grid: Any, arguments: Any) -> None:
        self.gpu.current = self.kernel
        self.loaded(grid, arguments)
