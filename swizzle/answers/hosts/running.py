"""A host function as a callable of Python: `host_function(softmax)(x, y)`, on NumPy's arrays or on a GPU.

Here is also decided whether the loops of its kernels may run along a length of its inputs, whatever that is.

For example a sum of all elements: blocks take turns at a vector, and a last block adds up what they leave. What the
kernels hand on keeps its size. Trips of a kernel's loops are alike, and share only what they add to, as in one kernel
alone (`answers.emit.any_length.reductions`). So at another length the kernels do the same with more items in the same
places, and at the lengths that cut a chunk, at a few chunks, and at more than the sketch has, what they leave together
is compared with the specification. That it goes on in this way is compared, not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.passes.simplify import inline_finals
from cuda_out.tiling.tiling import Span, Tiling
from cuda_out.tiling.trips import ChunkLoop, chunk_loops
from swizzle.answers.emit.any_length.conditions import Fixed, FixedSize
from swizzle.answers.emit.any_length.reductions import LoopLengths
from swizzle.answers.emit.calling import call, lengths_of, views_of
from swizzle.answers.hosts.lengths import Composition, FilledHost, HostTiling, LaunchLength, composed, lengths_of_grids
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

Growing: TypeAlias = frozenset[tuple[str, int]]
"""Dimensions of a host function's inputs."""


def host_lengths(filled: FilledHost) -> HostTiling | FixedSize:
    """Find the lengths that a verified host function may have: those of its kernels' grids, or one along loops."""
    of_grids, reason = lengths_of_grids(filled), ""
    if isinstance(of_grids, HostTiling):
        return of_grids
    for declared in dict.fromkeys(extent for p in _inputs(filled) for extent in p.shape):
        loops = {name: _loops(filled, name, declared) for name in filled.programs}
        if any(loops.values()):
            try:
                return _Together(filled, loops).checked()
            except Fixed as no:
                reason = reason or f"{declared} stays: {no}"
    return replace(of_grids, why=f"{of_grids.why}, and {reason}") if reason else of_grids


def _inputs(filled: FilledHost) -> Iterator[Parameter]:
    return (p for p in filled.host.parameters if p.role in ("in", "const"))


def _loops(filled: FilledHost, kernel: str, declared: int) -> list[ChunkLoop]:
    """Return the loops of a kernel that take inputs of the host function, of so many elements, in every launch."""
    inputs = {p.name for p in _inputs(filled)}
    launches = [launch for launch in filled.host.launches if launch.kernel.name == kernel]
    names = [p.name for p in filled.programs[kernel].parameters]
    given = {own for at, own in enumerate(names) if all(launch.arrays[at] in inputs for launch in launches)}
    found = chunk_loops(inline_finals(filled.programs[kernel]))
    return [loop for loop in found if loop.declared == declared and all(name in given for name, _ in loop.along)]


class _Together:
    """Checks the loops of all kernels along one length; the methods raise Fixed."""

    def __init__(self, filled: FilledHost, loops: Mapping[str, list[ChunkLoop]]) -> None:
        self.filled = filled
        self.kernels = {
            name: LoopLengths(filled.programs[name], None, None, each) for name, each in loops.items() if each
        }
        self.growing = self._growing()

    def _growing(self) -> Growing:
        """Return the dimensions that grow, if every kernel that takes such an array has its loops along it."""
        pairs = [
            (launch.kernel.name, array, at, span is not None)
            for launch in self.filled.host.launches
            for own, array in zip(self.filled.programs[launch.kernel.name].parameters, launch.arrays, strict=True)
            for at, span in enumerate(self._spans(launch.kernel.name, own))
        ]
        growing = frozenset((array, at) for _, array, at, grows in pairs if grows)
        for kernel, array, at, grows in pairs:
            if (array, at) in growing and not grows:
                raise Fixed(f"{kernel} takes {array}, too, and no loop of it goes along it")
        return growing

    def _spans(self, kernel: str, own: Parameter) -> tuple[Span | None, ...]:
        return self.kernels[kernel].tiling.spans[own.name] if kernel in self.kernels else (None,) * len(own.shape)

    def checked(self) -> HostTiling:
        for kernel in self.kernels.values():
            kernel.trips_apart()
        self._choose()
        lengths = sorted({length for kernel in self.kernels.values() for length in kernel.lengths()})
        lengths = [n for n in lengths if all(n >= kernel.axis.least for kernel in self.kernels.values())]
        for length in lengths:
            self._right_at(length)
        first, *others = (kernel.axis for kernel in self.kernels.values())
        axis = replace(first, least=max(each.least for each in (first, *others)))
        host = self.filled.host
        spans = {
            p.name: tuple(Span("k", 1, 0) if (p.name, at) in self.growing else None for at in range(len(p.shape)))
            for p in (*host.parameters, *host.scratch)
        }
        tiling = Tiling((axis,), spans, tuple((length,) for length in dict.fromkeys([axis.declared, *lengths])))
        own = {name: replace(kernel.tiling, evidence=tiling.evidence) for name, kernel in self.kernels.items()}
        along: Mapping[Axis, LaunchLength] = {"k": LaunchLength("k", 1, 0)}
        launches = tuple(along if launch.kernel.name in own else {} for launch in host.launches)
        return HostTiling(tiling, own, launches)

    def _choose(self) -> None:
        """Choose what stands for elements behind the end, in all kernels."""
        reasons = []
        for chosen in product(*(kernel.masked() for kernel in self.kernels.values())):
            pairs = list(zip(self.kernels.values(), chosen, strict=True))
            for kernel, tiling in pairs:
                kernel.choose(tiling)
            try:
                for length in {length for kernel, tiling in pairs for length in kernel.telling(tiling)}:
                    self._right_at(length)
            except Fixed as no:
                reasons.append(str(no))
                continue
            return
        raise Fixed(reasons[0])

    def _right_at(self, length: int) -> None:
        """Require that the kernels together are the specification at a length."""
        host = self.filled.host
        parameters = tuple(
            replace(p, shape=tuple(length if (p.name, at) in self.growing else n for at, n in enumerate(p.shape)))
            for p in host.parameters
        )
        programs = {name: kernel.at(length) for name, kernel in self.kernels.items()}
        at = replace(
            self.filled, host=replace(host, parameters=parameters), programs={**self.filled.programs, **programs}
        )
        try:
            found = composed(at)
        except SwizzleError as error:
            raise Fixed(f"at length {length}, {error.found}") from None
        if found.findings:
            first = found.findings[0]
            wrong = first if found.broken else f"{first.partition(' is ')[0]} would be wrong"
            raise Fixed(f"at length {length}, {wrong}")


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
