"""The ceilings of the device, measured in the same run as everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from bench.gpu.backend import Backend
from bench.gpu.kernels import Kernel, by_hand, text_of
from bench.gpu.problem import Problem

RATES = {
    "multiply-adds": ("rate_fma", np.float32(0.5), np.float32(1.0)),
    "and-xors": ("rate_logic", np.uint32(1), np.uint32(3)),
    "integer multiply-adds": ("rate_multiply", np.uint32(5), np.uint32(3)),
    "shuffles": ("rate_shuffle", np.uint32(1), np.uint32(3)),
}
"""Operations by name: the kernel that does nothing else, and its two numbers."""
OPERATIONS_PER_LOOP = 64


@dataclass(frozen=True, slots=True)
class Roofline:
    """Bytes per second of a copy, read and written added up, and operations per second of all threads."""

    copy_kernel: float
    copy_call: float
    rates: Mapping[str, float]

    @property
    def bandwidth(self) -> float:
        """The better of the two copies."""
        return max(self.copy_kernel, self.copy_call)

    def floor_s(self, problem: Problem) -> tuple[float, str]:
        """Return the least time of a problem in seconds, and what sets it: 'bytes' or an operation."""
        times = {"bytes": problem.bytes / self.bandwidth}
        times |= {name: count / self.rates[name] for name, count in problem.operations.items()}
        bound = max(times, key=lambda name: times[name])
        return times[bound], bound

    def as_json(self) -> dict[str, float]:
        return {"copy kernel, bytes/s": self.copy_kernel, "copy call, bytes/s": self.copy_call} | {
            f"{name}/s": rate for name, rate in self.rates.items()
        }


def copy_kernel() -> Kernel:
    return by_hand("roofline.cu", "copy_words", 256, "xy", (1024,), LOOPS=1)


def rate_kernel(entry: str, loops: int) -> Kernel:
    return Kernel(
        text_of("roofline.cu", LOOPS=loops), entry, (256, 1, 1), ("y",), "", (), "bench/gpu/texts/roofline.cu"
    )


def measure_roofline(backend: Backend, bytes_: int, runs: int, *, blocks: int, loops: int) -> Roofline | None:
    """Measure the ceilings with arrays of so many bytes; None where the backend takes no time."""
    quads = max(bytes_ // 16, 2)
    found: dict[str, list[float]] = {}
    for name, (entry, *numbers) in RATES.items():
        kernel = rate_kernel(entry, loops)
        loaded = backend.load(kernel)
        sums = backend.empty((blocks * 256,), "float32" if entry == "rate_fma" else "uint32")

        def action(loaded=loaded, sums=sums, numbers=numbers) -> None:  # type: ignore[no-untyped-def]
            loaded((blocks, 1, 1), [sums, *numbers])

        backend.milliseconds(action, 2 * runs)  # also wakes the device up
        found[name] = backend.milliseconds(action, runs)
        backend.release(sums)
    source, target = (backend.empty((quads * 4,), "float32") for _ in range(2))
    copy = backend.load(copy_kernel())
    grid = copy_kernel().grid({"x": quads})
    backend.poison(source)
    for name, copying in {
        "kernel": lambda: copy(grid, [source, target, np.int64(quads)]),
        "call": lambda: backend.copy(source, target),
    }.items():
        backend.milliseconds(copying, 2)
        found[name] = backend.milliseconds(copying, runs)
    backend.release(source)
    backend.release(target)
    if not all(found.values()):
        return None
    seconds = {name: median(times) / 1000 for name, times in found.items()}
    moved, done = 2 * 16 * quads, blocks * 256 * loops * OPERATIONS_PER_LOOP
    return Roofline(moved / seconds["kernel"], moved / seconds["call"], {name: done / seconds[name] for name in RATES})
