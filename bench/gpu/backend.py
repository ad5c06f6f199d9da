"""What a benchmark asks of a device, and the CPU emulation behind the same questions.

The emulation runs every line of the benchmarks but those that time: with it the results of all kernels are checked on
a machine without a GPU, and a measurement is rehearsed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from bench.gpu.kernels import Kernel, Shape3
from bench.gpu.missing import Missing
from cuda_out.c.kernel_text import parameters
from cuda_out.emulate.emulate import emulate

Buffer: TypeAlias = Any
"""An array of a device: has `shape` and `dtype`, and where it is on a GPU `__cuda_array_interface__`."""
Argument: TypeAlias = "Buffer | np.generic"


class Loaded(Protocol):
    """A kernel that is ready to run; `about` has what is known of it: registers, local memory, blocks per SM."""

    about: Mapping[str, Any]

    def __call__(self, grid: Shape3, arguments: Sequence[Argument]) -> None: ...


class Backend(Protocol):
    """A device, or what stands for one."""

    on_gpu: bool

    def facts(self) -> dict[str, Any]:
        """Say which device it is: name, memory, driver."""

    def free_bytes(self) -> int:
        """Say how much memory is left for arrays."""

    def empty(self, shape: Sequence[int], dtype: str) -> Buffer: ...

    def upload(self, values: npt.NDArray[Any]) -> Buffer: ...

    def release(self, buffer: Buffer) -> None: ...

    def download(self, buffer: Buffer) -> npt.NDArray[Any]: ...

    def poison(self, buffer: Buffer) -> None:
        """Fill a buffer with what no result is: every byte 0xFF."""

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Start a copy on the device."""

    def prepare(self, kernels: Sequence[Kernel]) -> None:
        """Compile what `load` will be asked for, at the same time where there are many cores."""

    def load(self, kernel: Kernel) -> Loaded: ...

    def milliseconds(
        self, action: Callable[[], None], runs: int, before: Callable[[], None] = lambda: None
    ) -> list[float]:
        """Run an action so often, each time after `before`, and return how long the device took for it alone.

        A backend that is no device runs it once and returns nothing.
        """


@dataclass(slots=True)
class EmulatedKernel:
    kernel: Kernel
    cache: Path | None
    about: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, grid: Shape3, arguments: Sequence[Argument]) -> None:
        text, entry = self.kernel.text, self.kernel.entry
        declared = parameters(text, entry)
        emulate(
            text, entry, grid, self.kernel.block, list(map(_as_declared, arguments, declared)), cache_dir=self.cache
        )


def _as_declared(argument: Argument, declaration: str) -> Argument:
    """Show 32-bit words as the kernel declares them: a device's memory has no types, the emulation's has."""
    if not isinstance(argument, np.ndarray) or argument.dtype.kind == "f":
        return argument
    return argument.view(np.uint32 if "unsigned" in declaration else np.int32)


@dataclass(slots=True)
class Emulation:
    """The CPU emulation; buffers are NumPy arrays. `cache` keeps compiled programs."""

    cache: Path | None = None
    on_gpu: bool = False

    def facts(self) -> dict[str, Any]:
        return {"name": "CPU emulation"}

    def free_bytes(self) -> int:
        return 1 << 30

    def empty(self, shape: Sequence[int], dtype: str) -> Buffer:
        return np.empty(shape, dtype)

    def upload(self, values: npt.NDArray[Any]) -> Buffer:
        return values.copy()

    def release(self, buffer: Buffer) -> None:
        pass

    def download(self, buffer: Buffer) -> npt.NDArray[Any]:
        return np.array(buffer)

    def poison(self, buffer: Buffer) -> None:
        buffer.view(np.uint8)[...] = 0xFF

    def copy(self, source: Buffer, target: Buffer) -> None:
        target[...] = source

    def prepare(self, kernels: Sequence[Kernel]) -> None:
        pass

    def load(self, kernel: Kernel) -> Loaded:
        if kernel.includes is not None:
            raise Missing("needs headers that the CPU emulation does not have")
        return EmulatedKernel(kernel, self.cache)

    def milliseconds(
        self, action: Callable[[], None], runs: int, before: Callable[[], None] = lambda: None
    ) -> list[float]:
        before()
        action()
        return []
