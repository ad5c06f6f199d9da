"""A host function as text, as CUDA C++ and as a Python module for numba.cuda: its kernels, each as any kernel is
printed, and a function that launches them.

`scratch_bytes()` says how much device memory `launch_NAME` needs for what the kernels hand on. It allocates none and
waits for nothing. Where the kernels take any length, both take the lengths, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from cuda_out.c.emitter import c_name, c_names
from cuda_out.c.printer import CudaSource
from cuda_out.c.types import C_TYPE
from cuda_out.numba.expressions import NUMBA_TYPE, first_comment, python_name, python_names
from cuda_out.numba.printer import NumbaSource
from cuda_out.tiling.length_text import linear_text
from cuda_out.tiling.tiling import Span, Tiling
from swizzle.answers.emit.any_length.conditions import FixedSize
from swizzle.answers.emit.emitters import cuda_source, numba_source
from swizzle.answers.hosts.lengths import FilledHost, HostTiling
from symbolic.errors import SwizzleError
from symbolic.ir.facts import LONGEST
from symbolic.ir.program import Axis, Parameter
from symbolic.ir.walk import FreshNames

ROOM: Final = 256
"""Arrays in scratch memory begin at multiples of so many bytes."""


HostSizes: TypeAlias = HostTiling | FixedSize | None
"""At which lengths a host function may run, as far as that was asked."""


def kernel_sources(
    filled: FilledHost, sizes: HostSizes = None, form: Literal["cu", "header"] = "cu"
) -> Mapping[str, CudaSource]:
    """Return the text of each kernel, by its name."""
    tilings = sizes.kernels if isinstance(sizes, HostTiling) else {}
    return {
        name: cuda_source(filled.programs[name], (), tilings.get(name), form=form)
        for name in (kernel.name for kernel in filled.host.kernels)
    }


def length_names(filled: FilledHost, tiling: Tiling) -> dict[Axis, str]:
    """Return what the text calls the lengths: `n`, or `n_x` and `n_y`, unless an array has that name."""
    host, several = filled.host, len(tiling.axes) > 1
    fresh = FreshNames({p.name for p in (*host.parameters, *host.scratch)})
    return {axis.axis: fresh.take(f"n_{axis.axis}" if several else "n") for axis in tiling.axes}


def host_text(
    filled: FilledHost, head: Sequence[str], form: Literal["cu", "header"] = "cu", sizes: HostSizes = None
) -> str:
    """Return a host function as one file; `head` are the lines of its first comment."""
    lines = ["// SPDX-License-Identifier: MIT-0", *(f"// {line}".rstrip() for line in head)]
    lines += ["#pragma once"] if form == "header" else []
    sources = kernel_sources(filled, sizes, form)
    for source in sources.values():
        own = source.text.splitlines()
        lines += [line for line in own if line not in ("// SPDX-License-Identifier: MIT-0", "#pragma once")]
    return "\n".join([*lines, "", *_host(filled, sources, sizes), ""])


class HostLengths(Struct, frozen=True):
    """The lengths of a host function in a text: `n`, `n + 2`, or nothing where its sizes are fixed."""

    sizes: HostSizes
    names: Mapping[Axis, str]

    @staticmethod
    def of(filled: FilledHost, sizes: HostSizes) -> HostLengths:
        return HostLengths(sizes, length_names(filled, sizes.tiling) if isinstance(sizes, HostTiling) else {})

    def extents(self, parameter: Parameter) -> list[str]:
        if not isinstance(self.sizes, HostTiling):
            return list(map(str, parameter.shape))
        spans = self.sizes.tiling.spans[parameter.name]
        return [
            str(extent) if span is None else linear_text(span.scale, self.names[span.axis], span.halo)
            for extent, span in zip(parameter.shape, spans, strict=True)
        ]

    def room(self, parameter: Parameter) -> str:
        """Return the bytes that an array takes in scratch memory."""
        extents, item = self.extents(parameter), parameter.dtype.bits // 8
        fixed = item * prod(int(each) for each in extents if each.isdigit())
        grown = [each if each.isidentifier() else f"({each})" for each in extents if not each.isdigit()]
        if not grown:
            return str(-(-fixed // ROOM) * ROOM)
        return f"({' * '.join([*grown, str(fixed)])} + {ROOM - 1}) / {ROOM} * {ROOM}"

    def of_launch(self, number: int, source: CudaSource) -> list[str]:
        """Return the lengths that a kernel's launch function is given."""
        if source.tiling is None or not isinstance(self.sizes, HostTiling):
            return []
        own = self.sizes.launches[number]
        lengths = [own[axis.axis] for axis in source.tiling.axes]
        return [linear_text(each.scale, self.names[each.axis], each.add) for each in lengths]

    def wrong(self) -> str:
        """Return the condition that a length is none."""
        axes = self.sizes.tiling.axes if isinstance(self.sizes, HostTiling) else ()
        found = []
        for axis in axes:
            name = self.names[axis.axis]
            if axis.axis == "k":
                found.append(f"{name} < {axis.least} || {name} > {LONGEST}")
                continue
            found.append(f"{name} < 0" + (f" || {name} % {axis.step} != 0" if axis.step > 1 else ""))
        return " || ".join(found)


def _host(filled: FilledHost, sources: Mapping[str, CudaSource], sizes: HostSizes) -> Iterator[str]:
    host = filled.host
    lengths = HostLengths.of(filled, sizes)
    name, space = c_name(f"launch_{host.name}"), f"swizzle_{c_name(host.name)}"
    while space in {source.namespace for source in sources.values()}:
        space += "_"
    names = c_names(
        [p.name for p in (*host.parameters, *host.scratch)],
        taken=["scratch", "room", "stream", "error", "bytes", "scratch_bytes", name, *lengths.names.values()],
    )
    arguments = [f"long long {each}" for each in lengths.names.values()]
    yield f"namespace {space} {{"
    yield from ("", "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)")
    if host.scratch:
        yield f"/// Bytes of device memory that {name}() needs for what its kernels hand on."
        rooms = list(map(lengths.room, host.scratch))
        fixed, grown = sum(int(each) for each in rooms if each.isdigit()), [r for r in rooms if not r.isdigit()]
        total = " + ".join(grown + [str(fixed)] * (fixed > 0))
        yield f"inline size_t scratch_bytes({', '.join(arguments)}) {{\n  return {total};\n}}"
    yield f"/// Launches {', '.join(launch.kernel.name for launch in host.launches)}, one after the other."
    given = f"scratch_bytes({', '.join(lengths.names.values())})"
    yield "/// All pointers are device pointers, to arrays apart from each other" + (
        f".\n/// scratch has {given} bytes, at a multiple of {ROOM}." if host.scratch else "."
    )
    yield f"inline cudaError_t {name}("
    for p in host.parameters:
        const = "const " if p.role in ("in", "const") else ""
        kind = C_TYPE[p.dtype]
        shape = f"[{', '.join(lengths.extents(p))}]" if p.shape else ""
        declared = f"{const}{kind}* {names[p.name]}" if p.shape else f"{kind} {names[p.name]}"
        yield f"    {declared},  // {p.role} {p.dtype.value}{shape}"
    for axis in lengths.names:
        found = next(a for a in sizes.tiling.axes if a.axis == axis)  # type: ignore[union-attr]
        every = "any" if found.step == 1 else f"any multiple of {found.step}"
        if axis == "k":
            every = f"any from {found.least} to {LONGEST}"
        yield f"    long long {lengths.names[axis]},  // {every}"
    if host.scratch:
        yield "    void* scratch,"
    yield "    cudaStream_t stream = nullptr) {"
    if wrong := lengths.wrong():
        yield f"  if ({wrong}) return cudaErrorInvalidValue;"
    if host.scratch:
        yield "  char* room = static_cast<char*>(scratch);"
    for number, p in enumerate(host.scratch):
        kind = C_TYPE[p.dtype]
        shape = f"[{', '.join(lengths.extents(p))}]"
        yield f"  {kind}* const {names[p.name]} = reinterpret_cast<{kind}*>(room);  // {p.dtype.value}{shape}"
        if number < len(host.scratch) - 1:
            yield f"  room += {lengths.room(p)};"
    yield "  cudaError_t error = cudaSuccess;"
    for number, launch in enumerate(host.launches):
        source = sources[launch.kernel.name]
        handed = ", ".join([*(names[a] for a in launch.arrays), *lengths.of_launch(number, source), "stream"])
        yield f"  if (error == cudaSuccess) error = {source.namespace}::{source.launcher}({handed});"
    yield "  return error;\n}"
    yield from ("#endif", "", f"}}  // namespace {space}")


IMPORT = re.compile(r"(?:import|from) .*")


def host_numba(filled: FilledHost, head: Sequence[str], sizes: HostSizes) -> str:
    """Return a host function as one module; `head` are the lines of its first comment."""
    tilings = sizes.kernels if isinstance(sizes, HostTiling) else {}
    programs = {kernel.name: filled.programs[kernel.name] for kernel in filled.host.kernels}
    sources = {name: numba_source(program, (), tilings.get(name)) for name, program in programs.items()}
    found, parts, functions = dict[str, set[str]](), list[str](), dict[str, ast.FunctionDef]()
    for source in sources.values():
        lines = source.text.splitlines()
        for line in filter(IMPORT.fullmatch, lines):
            module, _, names = line.removeprefix("from ").partition(" import ")
            found.setdefault(module, set()).update(filter(None, names.split(", ")))
        for node in ast.parse(source.text).body:
            if isinstance(node, ast.FunctionDef) and ast.dump(functions.setdefault(node.name, node)) != ast.dump(node):
                raise SwizzleError(
                    f"two functions {node.name} in one module for numba.cuda",
                    place=filled.host.place,
                    expected="operators whose names differ",
                    fix="rename one of them",
                )
        body = [line for line in lines if not IMPORT.fullmatch(line) and not line.startswith("#")]
        parts.append("\n".join(body).strip("\n"))
    imports = [
        f"from {module} import {', '.join(sorted(names))}" if names else module for module, names in found.items()
    ]
    comment = "\n".join(first_comment(["SPDX-License-Identifier: MIT-0", *head]))
    parts.append("\n".join(_launcher(filled, sources, sizes)))
    return "\n\n\n".join(["\n".join([comment, "", *sorted(imports, reverse=True)]), *parts]) + "\n"


def _launcher(filled: FilledHost, sources: Mapping[str, NumbaSource], sizes: HostSizes) -> Iterator[str]:
    host, lengths = filled.host, HostLengths.of(filled, sizes)
    taken = ["cuda", "stream", "checks", "array", "dtype", "shape", "found", *lengths.names.values()]
    taken += [name for source in sources.values() for name in (source.kernel, source.launcher)]
    names = python_names([p.name for p in (*host.parameters, *host.scratch)], taken)
    own = python_name(f"launch_{host.name}")
    yield f"def {own}({', '.join([*(names[p.name] for p in host.parameters), 'stream=0'])}):"
    order = ", ".join(launch.kernel.name for launch in host.launches)
    yield f'    """Launch {order}, one after the other, on arrays with __cuda_array_interface__."""'
    for p in host.parameters:
        convert = NUMBA_TYPE[p.dtype] if p.is_scalar else "cuda.as_cuda_array"
        yield f"    {names[p.name]} = {convert}({names[p.name]})"
    for each, name in lengths.names.items():
        assert isinstance(sizes, HostTiling)
        spans = ((p, at, span) for p in host.parameters for at, span in enumerate(sizes.tiling.spans[p.name]) if span)
        p, at, span = min(
            (found for found in spans if found[2].axis == each), key=lambda found: found[0].role not in ("out", "inout")
        )
        yield f"    {name} = {_length(f'{names[p.name]}.shape[{at}]', span)}"
    yield "    checks = ("
    for p in host.parameters:
        if not p.is_scalar:
            name, shape = names[p.name], _shape(lengths.extents(p))
            yield f'        ("{name}", {name}, "{NUMBA_TYPE[p.dtype]}", {shape}),'
    yield "    )"
    yield "    for name, array, dtype, shape in checks:"
    yield "        if array.dtype != dtype or array.shape != shape:"
    yield '            found = f"{name} is {array.dtype} of shape {array.shape}"'
    yield '            raise ValueError(f"{found}, expected {dtype} of shape {shape}")'
    for axis in sizes.tiling.axes if isinstance(sizes, HostTiling) else ():
        if axis.step > 1:
            yield f"    if {lengths.names[axis.axis]} % {axis.step}:"
            yield f'        raise ValueError(f"{{{lengths.names[axis.axis]}}} is not a multiple of {axis.step}")'
    if lengths.names and empty_together(filled, sizes):
        yield f"    if {' or '.join(f'{name} <= 0' for name in lengths.names.values())}:"
        yield "        return"
    for p in host.scratch:
        shape = _shape(lengths.extents(p))
        yield f'    {names[p.name]} = cuda.device_array({shape}, "{NUMBA_TYPE[p.dtype]}", stream=stream)'
    for launch in host.launches:
        handed = ", ".join([*(names[array] for array in launch.arrays), "stream"])
        yield f"    {sources[launch.kernel.name].launcher}({handed})"


def empty_together(filled: FilledHost, sizes: HostSizes) -> bool:
    """Tell whether the outputs have no elements where a length is 0."""
    if isinstance(sizes, HostTiling) and sizes.tiling.of_loops:
        return False
    spans = sizes.tiling.spans if isinstance(sizes, HostTiling) else {}
    written = [p for p in filled.host.parameters if p.role in ("out", "inout")]
    return all(not span.halo for p in written for span in spans[p.name] if span)


def _shape(extents: Sequence[str]) -> str:
    return f"({', '.join(extents)}{',' * (len(extents) == 1)})"


def _length(extent: str, span: Span) -> str:
    """Return a length in terms of an extent: `(x.shape[0] - 4) // 2`."""
    if span.halo:
        extent = f"({extent} {'-' if span.halo > 0 else '+'} {abs(span.halo)})"
    return extent if span.scale == 1 else f"{extent} // {span.scale}"
