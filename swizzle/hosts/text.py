"""A host function as CUDA C++: its kernels, each as any kernel is printed, and a function that launches them.

`scratch_bytes()` says how much device memory `launch_NAME` needs for what the kernels hand on. It allocates none and
waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final, Literal

from cuda_out.c.identifiers import c_name, c_names
from cuda_out.c.printer import CudaSource
from cuda_out.c.types import C_TYPE
from swizzle.emit.emitters import cuda_source
from swizzle.hosts.composition import FilledHost
from symbolic.ir.program import Parameter

ROOM: Final = 256
"""Arrays in scratch memory begin at multiples of so many bytes."""


def kernel_sources(filled: FilledHost, form: Literal["cu", "header"] = "cu") -> Mapping[str, CudaSource]:
    """Return the text of each kernel, by its name."""
    return {kernel.name: cuda_source(filled.programs[kernel.name], (), form=form) for kernel in filled.host.kernels}


def host_text(filled: FilledHost, head: Sequence[str], form: Literal["cu", "header"] = "cu") -> str:
    """Return a host function as one file; `head` are the lines of its first comment."""
    lines = ["// SPDX-License-Identifier: MIT-0", *(f"// {line}".rstrip() for line in head)]
    lines += ["#pragma once"] if form == "header" else []
    sources = kernel_sources(filled, form)
    for source in sources.values():
        own = source.text.splitlines()
        lines += [line for line in own if line not in ("// SPDX-License-Identifier: MIT-0", "#pragma once")]
    return "\n".join([*lines, "", *_host(filled, sources), ""])


def scratch_room(parameter: Parameter) -> int:
    """Return the bytes that an array takes in scratch memory."""
    size = prod(parameter.shape) * parameter.dtype.bits // 8
    return -(-size // ROOM) * ROOM


def _host(filled: FilledHost, sources: Mapping[str, CudaSource]) -> Iterator[str]:
    host = filled.host
    name, space = c_name(f"launch_{host.name}"), f"swizzle_{c_name(host.name)}"
    while space in {source.namespace for source in sources.values()}:
        space += "_"
    names = c_names(
        [p.name for p in (*host.parameters, *host.scratch)], taken=["scratch", "stream", "error", "bytes", name]
    )
    rooms, starts = [scratch_room(each) for each in host.scratch], dict[str, int]()
    for each, room in zip(host.scratch, rooms, strict=True):
        starts[each.name] = sum(rooms[: len(starts)])
        assert room % ROOM == 0
    yield f"namespace {space} {{"
    yield from ("", "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)")
    if host.scratch:
        yield f"/// Bytes of device memory that {name}() needs for what its kernels hand on."
        yield f"inline size_t scratch_bytes() {{\n  return {sum(rooms)};\n}}"
    yield f"/// Launches {', '.join(launch.kernel.name for launch in host.launches)}, one after the other."
    yield "/// All pointers are device pointers, to arrays apart from each other" + (
        ".\n/// scratch has scratch_bytes() bytes, at a multiple of 256." if host.scratch else "."
    )
    yield f"inline cudaError_t {name}("
    for p in host.parameters:
        const = "const " if p.role in ("in", "const") else ""
        kind = C_TYPE[p.dtype]
        shape = f"[{', '.join(map(str, p.shape))}]" if p.shape else ""
        declared = f"{const}{kind}* {names[p.name]}" if p.shape else f"{kind} {names[p.name]}"
        yield f"    {declared},  // {p.role} {p.dtype.value}{shape}"
    if host.scratch:
        yield "    void* scratch,"
    yield "    cudaStream_t stream = nullptr) {"
    for p in host.scratch:
        kind = C_TYPE[p.dtype]
        at = f" + {starts[p.name]}" if starts[p.name] else ""
        yield f"  {kind}* const {names[p.name]} = reinterpret_cast<{kind}*>(static_cast<char*>(scratch){at});"
    yield "  cudaError_t error = cudaSuccess;"
    for launch in host.launches:
        source = sources[launch.kernel.name]
        given = ", ".join([*(names[array] for array in launch.arrays), "stream"])
        yield f"  if (error == cudaSuccess) error = {source.namespace}::{source.launcher}({given});"
    yield "  return error;\n}"
    yield from ("#endif", "", f"}}  // namespace {space}")
