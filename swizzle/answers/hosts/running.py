"""A host function as a callable of Python: `host_function(softmax)(x, y)`, on NumPy's arrays or on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from swizzle.answers.emit.calling import call, lengths_of, views_of
from swizzle.answers.hosts.along_loops import host_lengths
from swizzle.answers.hosts.composition import Composition, FilledHost, composed
from swizzle.answers.hosts.lengths import HostTiling
from swizzle.answers.hosts.texts import HostSizes, host_numba, host_text, length_names
from swizzle.language.specs.specification import Remembered
from swizzle.sketches.host import HostSketch
from swizzle.sketches.sketch import Sketch
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits, Solution
from swizzle.solving.solution.version import __version__
from symbolic.algebra.numbers import STORED
from symbolic.errors import SwizzleError
from symbolic.ir.program import Axis, Parameter, Program


def filled_host(host: HostSketch, fill: Callable[[Sketch], Program]) -> FilledHost:
    """Return a host function with its kernels' holes filled, by `fill` where there are some."""
    programs = {kernel.name: fill(kernel) if kernel.program.holes else kernel.program for kernel in host.kernels}
    return FilledHost(host, programs, Remembered(host.spec))


class HostFunction(Struct, frozen=True, eq=False):
    """A checked host function: call it on its arrays, all of NumPy or all on a GPU; it fills its outputs."""

    filled: FilledHost
    composition: Composition
    solutions: Mapping[str, Solution]
    sizes: HostSizes

    @property
    def name(self) -> str:
        return self.filled.host.name

    def __repr__(self) -> str:
        return f"<host function {self.name}: {len(self.filled.host.launches)} launches, verified for all inputs>"

    def to_cuda(self) -> str:
        """Return the text of a `.cu` file: the kernels, and a host function that launches them."""
        return host_text(self.filled, [f"{self.name}, made by swizzle {__version__}."], sizes=self.sizes)

    def to_numba(self) -> str:
        """Return the text of a Python module for numba.cuda, in the same form."""
        return host_numba(self.filled, [f"{self.name}, made by swizzle {__version__}."], self.sizes)

    def __call__(self, *arrays: Any, stream: Any = None) -> None:
        """Launch the kernels on arrays, in the order of the host function's parameters.

        Raises SwizzleError for arrays that do not fit.
        """
        host, face = self.filled.host, self.filled.host.face
        views = views_of(face, arrays)  # one kernel may overwrite what another one is yet to read
        lengths: Mapping[Axis, int] = {}
        if isinstance(self.sizes, HostTiling):
            tiling = self.sizes.tiling
            names = tuple(length_names(self.filled, tiling).values())
            shapes = [views[p].shape if p in views else () for p in face.parameters]
            lengths = lengths_of(face, tiling, shapes, names)
        given = dict(zip((p.name for p in host.parameters), arrays, strict=True))
        like = next(array for array, p in zip(arrays, host.parameters, strict=True) if not p.is_scalar)
        for p in host.scratch:
            shape = self.sizes.tiling.shape(p, lengths) if isinstance(self.sizes, HostTiling) else p.shape
            given[p.name] = _device_array(replace(p, shape=shape), like)
        for launch in host.launches:
            call(self.solutions[launch.kernel.name], [given[name] for name in launch.arrays], stream)


def _device_array(parameter: Parameter, like: Any) -> Any:
    dtype = STORED[parameter.dtype]
    if isinstance(like, np.ndarray):
        return np.zeros(parameter.shape, dtype)
    from numba import cuda

    return cuda.device_array(parameter.shape, dtype)


def host_function(host: HostSketch, limits: Limits | None = None) -> HostFunction:
    """Solve the kernels of a host function, prove that together they compute its specification; return a callable.

    Raises SwizzleError where a kernel has no solution, or the kernels compute something else.
    """

    def fill(kernel: Sketch) -> Program:
        result = solve(kernel, limits or Limits())
        if result.status != "sat":
            raise SwizzleError(
                f"{kernel.name}, a kernel of {host.name}, is {result.status}", place=kernel.place,
                expected="a solution of each kernel", fix="see `swizzle explain`",
            )  # fmt: skip
        return result.best.program

    filled = filled_host(host, fill)
    found = composed(filled)
    if found.findings:
        raise SwizzleError(
            f"{host.name} does not compute its specification: {found.findings[0]}", place=host.place,
            expected="kernels that do, one after the other",
            fix=f"swizzle check FILE:{host.name} shows where they differ",
        )  # fmt: skip
    sizes = host_lengths(filled)
    tilings = sizes.kernels if isinstance(sizes, HostTiling) else {}
    solutions = {
        name: Solution(program, (), {}, None, None, {"sizes": tilings.get(name)})
        for name, program in filled.programs.items()
    }
    return HostFunction(filled, found, solutions, sizes)
