"""Scans from the end: kernels whose arrays of elements and results are read and stored from their ends.

The kernels are those of a scan that goes forward, verified and printed as such, but for vector accesses: what they
take for element j of an array is its element n - 1 - j. So one that scans `x[n - 1], ..., x[0]` by `reversed(op)` has
for each element the words of all from it to the end, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from msgspec.structs import replace

from cuda_out.c.kernel_text import kernel_extent
from cuda_out.c.printer import CudaSource
from cuda_out.tiling.tiling import Tiling
from swizzle.answers.device_scans.kernels import PassKernel
from swizzle.answers.emit.emitters import cuda_source

VIEW: Final = """\
/// An array from its end: element 0 is the last one.
template <typename T>
struct FromTheEnd {
  T* last;
  __device__ T& operator[](long long i) const { return last[-i]; }
  __device__ void operator+=(long long by) { last -= by; }
};
"""


def backward_source(kernel: PassKernel, tiling: Tiling | None, form: Literal["cu", "header"] = "cu") -> CudaSource:
    """Return the printed text of a kernel of elements, which goes through them from their ends."""
    source = cuda_source(kernel.program, (), tiling, form=form, vectors=False)
    lengths = {}
    for parameter in kernel.program.parameters:
        if parameter.name in (*kernel.level.given, *kernel.level.made):
            span = tiling.spans[parameter.name][0] if tiling is not None else None
            if span is None or not source.length_names:
                lengths[parameter.name] = str(parameter.shape[0])
            else:
                assert span.halo == 0
                lengths[parameter.name] = f"{span.scale} * {source.length_names[0]}"
    opening = f"namespace {source.namespace} {{\n"
    text = _from_the_end(source.text, source.entry, lengths)
    return replace(source, text=text.replace(opening, f"{opening}\n{VIEW}", 1))


def _from_the_end(text: str, entry: str, lengths: Mapping[str, str]) -> str:
    """Return a text whose kernel has views of some arrays, of these lengths, under their names."""
    start, end = kernel_extent(text, entry)
    kernel, views = text[start:end], ""
    for name, length in lengths.items():
        memory = f"{name}_memory"
        while re.search(rf"\b{memory}\b", kernel):
            memory += "_"
        declared = re.search(rf"([\w ]+)\* __restrict__ {name}\b", kernel)
        assert declared is not None, "the kernel has no such array"
        kernel = kernel.replace(declared[0], f"{declared[1]}* __restrict__ {memory}", 1)
        views += f"  FromTheEnd<{declared[1].strip()}> {name}{{{memory} + ({length}) - 1}};\n"
    body = re.search(r"\) \{[^\n]*\n", kernel)
    assert body is not None and "reinterpret_cast" not in kernel
    return text[:start] + kernel[: body.end()] + views + kernel[body.end() :] + text[end:]
