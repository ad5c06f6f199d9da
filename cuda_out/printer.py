"""Print a program without holes as one readable CUDA C++ file (paper, section 6.3).

The file holds a comment on where the kernel comes from, the kernel as an `extern "C"` symbol in a namespace of its
own, and a host function that launches it on a stream. It needs nothing but the CUDA headers, and under NVRTC none
(cuda_fp16.h where the kernel computes in half precision).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cuda_out.c_statements import StatementPrinter
from cuda_out.c_types import C_TYPE
from cuda_out.emitter import Emitter
from cuda_out.helpers import helper_text
from cuda_out.names import kernel_name
from cuda_out.passes import inline_finals, legal_shuffles
from cuda_out.walk import own_expressions, statements, subexpressions
from symbolic import program as ir
from symbolic.errors import Place
from symbolic.program import DType, Parameter, Program


@dataclass(frozen=True, slots=True)
class CudaSource:
    """A printed kernel.

    `entry` is the exported symbol; C++ code finds it, and the host function `launcher`, in `namespace`. `arguments`
    are the parameters' names, in the order in which the kernel takes their pointers; `block` and `grid` are the
    launch shape that it was printed for. `origins` has for each line the place in the sketch that it comes from.
    """

    text: str
    name: str
    entry: str
    launcher: str
    namespace: str
    arguments: tuple[str, ...]
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    origins: tuple[Place | None, ...] = ()


def print_cuda(program: Program, provenance: Sequence[str] = (), *, namespace: str = "") -> CudaSource:
    """Return the program as CUDA C++ text, with the provenance lines as its first comment.

    The program has no holes. It is printed as it stands: `cuda_out.passes.optimize` it first for a kernel that keeps
    its arrays in registers. Raises SwizzleError where a program cannot be said in C++.
    """
    assert not program.holes, "only programs without holes are printed"
    return _File(legal_shuffles(inline_finals(program))).source(provenance, namespace)


class _File:
    """One file: what stands around the kernel's statements."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.entry = kernel_name(program.name)
        self.kernel = Emitter()
        self.statements = StatementPrinter(program, self.kernel, (self.entry, f"launch_{self.entry}"))
        self.names = self.statements.names

    def source(self, provenance: Sequence[str], namespace: str) -> CudaSource:
        program, entry = self.program, self.entry
        body = self._kernel()  # first, because it finds out which helpers are used
        out = Emitter()
        out.line("// SPDX-License-Identifier: MIT-0")
        for line in "\n".join(provenance).splitlines():
            # A backslash at the end of a line would draw the next line into the comment.
            out.line(f"// {line.rstrip()}{' .' if line.rstrip().endswith(chr(92)) else ''}".rstrip())
        out.line()
        if self._uses(DType.F16):
            out.line("#include <cuda_fp16.h>")
            out.line()
        space = namespace or f"swizzle_{entry.strip('_')}"
        out.line(f"namespace {space} {{")
        out.line()
        for helper in helper_text(frozenset(self.statements.expressions.helpers)):
            for line in helper.splitlines():
                out.line(line)
            out.line()
        for line, out.origin in zip(body.splitlines(), self.kernel.origins, strict=True):
            out.line(line)
        out.origin = None
        out.line()
        self._launcher(out)
        out.line()
        out.line(f"}}  // namespace {space}")
        arguments = tuple(parameter.name for parameter in program.parameters)
        launcher, origins = f"launch_{entry}", tuple(out.origins)
        return CudaSource(
            out.text(), program.name, entry, launcher, space, arguments, program.block, program.grid, origins
        )

    def _uses(self, dtype: DType) -> bool:
        stmts = list(statements(self.program.body))
        return (
            any(parameter.dtype is dtype for parameter in self.program.parameters)
            or any(isinstance(stmt, ir.DeclareArray | ir.DeclareAccumulator) and stmt.dtype is dtype for stmt in stmts)
            or any(
                part.dtype is dtype for stmt in stmts for expr in own_expressions(stmt) for part in subexpressions(expr)
            )
        )

    def _parameter(self, parameter: Parameter) -> str:
        const = "const " if parameter.role in ("in", "const") else ""
        return f"{const}{C_TYPE[parameter.dtype]}* __restrict__ {self.names[parameter.name]}"

    def _kernel(self) -> str:
        program, out = self.program, self.kernel
        threads = math.prod(program.block)
        out.line(f'extern "C" __global__ void __launch_bounds__({threads}) {self.entry}(')
        for number, parameter in enumerate(program.parameters):
            end = ") {" if number == len(program.parameters) - 1 else ","
            shape = ", ".join(map(str, parameter.shape))
            out.line(f"    {self._parameter(parameter)}{end}  // {parameter.role} {parameter.dtype.value}[{shape}]")
        if not program.parameters:
            out.line("    ) {")
        with out.nested():
            self.statements.kernel_body()
        out.line("}")
        return out.text()

    def _launcher(self, out: Emitter) -> None:
        program, entry = self.program, self.entry
        grid, block = (", ".join(map(str, shape)) for shape in (program.grid, program.block))
        names = ", ".join(self.names[parameter.name] for parameter in program.parameters)
        parameters = [self._parameter(parameter).replace(" __restrict__", "") for parameter in program.parameters]
        out.line("#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)")
        out.line("/// Launches the kernel on the grid that it was made for; all pointers are device pointers.")
        parameters.append("cudaStream_t stream = nullptr")
        with out.block(f"inline cudaError_t launch_{entry}({', '.join(parameters)})"):
            out.line(f"{entry}<<<dim3({grid}), dim3({block}), 0, stream>>>({names});")
            out.line("return cudaGetLastError();")
        out.line("#endif")
