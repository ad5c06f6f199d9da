"""A host function as a Python module for numba.cuda: its kernels, and a function that launches them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from cuda_out.numba.lines import NUMBA_TYPE, first_comment, python_name, python_names
from cuda_out.numba.printer import NumbaSource
from cuda_out.tiling.tiling import Span
from swizzle.answers.emit.emitters import numba_source
from swizzle.answers.hosts.composition import FilledHost
from swizzle.answers.hosts.cuda_text import HostLengths, HostSizes
from swizzle.answers.hosts.lengths import HostTiling
from symbolic.errors import SwizzleError

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
