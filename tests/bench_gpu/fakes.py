"""A GPU that is none: the driver's calls go to tests/fake_gpu/driver.cpp, kernels to the CPU emulation.

Time is counted in launches. What these give are made-up samples: tests keep them in folders of their own.
"""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bench.gpu.__main__ as command
from bench.gpu import device
from bench.gpu.driver import Driver
from bench.gpu.kernels import Kernel
from bench.gpu.missing import Missing
from bench.gpu.problem import Case
from tests.fake_gpu.library import ON_LAUNCH, opened, run_on_cpu

needs_toolkit = pytest.mark.skipif(
    shutil.which("nvcc") is None or not (shutil.which("g++") or shutil.which("clang++")),
    reason="the fake driver needs nvcc, for its cuda.h, and a C++ compiler",
)


class FakeGpu(device.Gpu):
    """The GPU of `device.py` over the fake driver. `refuse` gives the status of a launch that fails.

    With a `case`, launches of its contenders are answered by its specification, which takes no time; what compares
    their results is emulated as ever.
    """

    def __init__(self, library: Path, cache: Path, refuse: Callable[[str], int] = lambda entry: 0) -> None:
        self.library = opened(library)
        self.current: Kernel
        self.launched = 0
        self.case: Case | None = None
        self.refuse, self.programs = refuse, cache / "programs"
        self._callback = ON_LAUNCH(self._launched)  # kept: the library calls it
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
        if status := self.refuse(kernel.entry):
            return status
        if self.case is not None and not kernel.origin.endswith(("tools.cu", "multiply.cu")):
            return self._answer(self.case, kernel, arguments)
        return run_on_cpu(self.library, kernel.text, kernel.entry, grid, block, arguments, self.programs)

    def _answer(self, case: Case, kernel: Kernel, arguments: Any) -> int:
        """Write what the specification says of a launch's inputs into its output."""
        if kernel.origin.endswith("roofline.cu"):
            return 0
        lengths = kernel.lengths
        addresses = {name: ctypes.c_uint64.from_address(arguments[at]).value for at, name in enumerate(kernel.pointers)}
        numbers = [ctypes.c_int64.from_address(arguments[len(addresses) + at]).value for at in range(len(lengths))]
        problem = case.problem(dict(zip(lengths, numbers, strict=True)))
        arrays = {}
        for array in problem.arrays:
            address, size = addresses[array.name], 4 * array.words
            assert self.library.fake_size(address) == size, f"{kernel.entry}: {array.name} has another size"
            memory = (ctypes.c_char * size).from_address(address)
            arrays[array.name] = np.frombuffer(memory, array.dtype).reshape(array.shape)
        arrays[problem.output.name][...] = case.expected(arrays).reshape(problem.output.shape)
        return 0


class _Named:
    """A loaded kernel that says which one it is before it is launched: entries of many texts have one name."""

    def __init__(self, loaded: Any, kernel: Kernel, gpu: FakeGpu) -> None:
        self.loaded, self.kernel, self.gpu, self.about = loaded, kernel, gpu, loaded.about

    def __call__(self, grid: Any, arguments: Any) -> None:
        self.gpu.current = self.kernel
        self.loaded(grid, arguments)


def run(tmp_path: Path, *words: str) -> int:
    """Run the benchmarks' command with tiny inputs, its results in a folder of the test's own."""
    folders = ["--results", str(tmp_path / "results"), "--docs", str(tmp_path / "docs")]
    return command.main(["--bytes", "8192", "--runs", "3", *folders, *words])
