"""What is compared: a case is a problem at any size, and contenders are the ways to solve it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from bench.gpu.kernels import Kernel, Lengths

if TYPE_CHECKING:
    from bench.gpu.backend import Backend, Buffer
    from bench.gpu.solved import Sketch

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array of a problem. Inputs are filled with arbitrary words, or with small whole numbers where they are floats:
    their sums are exact in any order, so that results are compared bit for bit."""

    name: str
    dtype: Literal["float32", "uint32"]
    shape: tuple[int, ...]
    role: Literal["in", "out"]

    @property
    def words(self) -> int:
        return int(np.prod(self.shape))


@dataclass(frozen=True, slots=True)
class Problem:
    """A case at one size. `operations` are those that the schoolbook way cannot do without, by the name of a measured
    rate: with the least traffic, every array once, they make the floor. `items` is what a user counts per second.
    `largest` bounds results of floats, for those who do not add up exactly; `tolerance` is what even the exact may
    differ by."""

    lengths: Lengths
    arrays: tuple[ArraySpec, ...]
    items: int
    operations: Mapping[str, int] = field(default_factory=dict)
    largest: float = 0.0
    tolerance: float = 0.0

    @property
    def bytes(self) -> int:
        return 4 * sum(array.words for array in self.arrays)

    @property
    def output(self) -> ArraySpec:
        (found,) = (array for array in self.arrays if array.role == "out")
        return found


@dataclass(frozen=True, slots=True)
class Bound:
    """A variant tied to its arrays: `run` is what is timed; `finish` brings the result into the output, untimed;
    `release` gives back what was allocated for it."""

    run: Callable[[], None]
    finish: Callable[[], None] = lambda: None
    release: Callable[[], None] = lambda: None
    about: Mapping[str, Any] = field(default_factory=dict)


class Variant(Protocol):
    """One way of a contender, such as a block size: the fastest of its variants stands in the table."""

    @property
    def label(self) -> str: ...

    @property
    def kernels(self) -> Sequence[Kernel]: ...

    def bind(self, backend: Backend, problem: Problem, buffers: Mapping[str, Buffer]) -> Bound: ...


@dataclass(frozen=True, slots=True)
class OneKernel:
    """A kernel that takes the problem's own arrays."""

    label: str
    kernel: Kernel

    @property
    def kernels(self) -> Sequence[Kernel]:
        return (self.kernel,)

    def bind(self, backend: Backend, problem: Problem, buffers: Mapping[str, Buffer]) -> Bound:
        kernel, loaded = self.kernel, backend.load(self.kernel)
        arguments = [buffers[name] for name in kernel.pointers]
        lengths = [np.int64(problem.lengths[axis]) for axis in kernel.lengths]
        grid = kernel.grid(problem.lengths)
        return Bound(lambda: loaded(grid, [*arguments, *lengths]), about=loaded.about)


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to solve a case. `missing` is why there is no variant, or why some are not there; `exact`: sums of whole
    numbers come out as such."""

    name: str
    ours: bool
    variants: Sequence[Variant]
    missing: str = ""
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the tables: a problem at any length. The first contender is the plainest, what others are compared with.

    `at` is the size that is plotted, `full` gives the lengths for so many bytes, `small` are lengths for NumPy, odd
    ones among them. `sketches` are those to be solved for it, by contender. `unit` is what `items` counts.
    """

    group: str
    at: int
    problem: Callable[[Lengths], Problem]
    expected: Callable[[Mapping[str, Array]], Array]
    small: tuple[Lengths, ...]
    full: Callable[[int], Lengths]
    sketches: Callable[[], Mapping[str, Sequence[Sketch]]]
    contenders: Callable[[], Sequence[Contender]]
    unit: str

    @property
    def name(self) -> str:
        return f"{self.group}, {self.at}"
