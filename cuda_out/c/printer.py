"""Print a program without holes as one readable CUDA C++ file (paper, section 6.3).

The file has a comment on where the kernel comes from, the kernel in a namespace of its own, and a host function that
launches it on a stream. It needs nothing but the CUDA headers, and no header under NVRTC (except cuda_fp16.h if the
kernel computes in half precision). In a `.cu` the kernel is an `extern "C"` symbol, which can be loaded by name. In a
header it is a template, which any number of translation units may include.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from cuda_out.c.emitter import Emitter, c_name, kernel_name
from cuda_out.c.expressions import external_name, function_name
from cuda_out.c.helpers import external_text, helper_text, operator_text, word_function_text
from cuda_out.c.statements import StatementPrinter
from cuda_out.c.types import C_TYPE, HALF_HEADER, TABLE_TYPES
from cuda_out.c.warp_text import function_of, function_text
from cuda_out.passes.shuffles import legal_shuffles
from cuda_out.passes.simplify import inline_finals
from cuda_out.tiling.tiling import AXES, Tiling
from symbolic.algebra.states import named_apart, word_functions_of
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.facts import LONGEST
from symbolic.ir.functions import External
from symbolic.ir.program import Axis, DType, Parameter, Program
from symbolic.ir.walk import functions_of, operators_of, own_expressions, statements, subexpressions, warp_instructions
from symbolic.machine.launch_shape import require_hardware_warp

Form: TypeAlias = Literal["cu", "header"]
MAX_LENGTH: Final = LONGEST
"""The greatest length that loops run along."""
MAX_BLOCKS: Mapping[Axis, int] = {"x": 2**31 - 1, "y": 65535, "z": 65535}


class CudaSource(Struct, frozen=True):
    """A printed kernel.

    `entry` is the exported symbol; in C++, it is in `namespace`, together with the host function `launcher`.
    `arguments` are the parameters' names, in the order in which the kernel takes their pointers; `scalars` has the
    types of those that it takes by value, `by_value` the bytes of the structures that arrays by value are. `block` and
    `grid` are the launch shape that it was printed for.

    A kernel with a `tiling` takes its lengths after the pointers, one `long long` for each tiled axis, and its grid
    follows from them; `length_names` are their names. `alignment` holds, for each array, the number of bytes of which
    its address must be a multiple. `origins` has, for each line, the place in the sketch that it comes from.
    `shared_bytes` is the size of its dynamic shared memory, which the launch gives.
    """

    text: str
    name: str
    entry: str
    launcher: str
    namespace: str
    arguments: tuple[str, ...]
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    tiling: Tiling | None = None
    length_names: tuple[str, ...] = ()
    alignment: tuple[int, ...] = ()
    origins: tuple[Place | None, ...] = ()
    scalars: Mapping[str, DType] = {}
    shared_bytes: int = 0
    by_value: Mapping[str, int] = {}

    def lengths(self, wanted: Mapping[Axis, int] | None = None) -> tuple[int, ...]:
        """Return the arguments after the pointers: the given lengths, or else those of the sketch."""
        if self.tiling is None:
            return ()
        wanted = wanted or self.tiling.declared
        return tuple(wanted[axis.axis] for axis in self.tiling.axes)


def print_cuda(
    program: Program,
    provenance: Sequence[str] = (),
    *,
    namespace: str = "",
    tiling: Tiling | None = None,
    form: Form = "cu",
    vectors: bool = True,
) -> CudaSource:
    """Return the program as CUDA C++ text, with the provenance lines as its first comment.

    Without `vectors` each element is accessed by itself.

    The program has no holes. It is printed as it stands, so apply `cuda_out.passes.pipeline.optimize` first to keep its
    arrays in registers. With a `tiling`, the program must be what block 0 runs
    (`cuda_out.tiling.translation.first_block`). Raises SwizzleError if the program cannot be written in C++.
    """
    assert not program.holes, "only programs without holes are printed"
    require_hardware_warp(program)
    program, _ = named_apart(legal_shuffles(inline_finals(program)))
    return _File(program, tiling, form, vectors).source(provenance, namespace)


class _File:
    """One file: everything around the kernel's statements."""

    def __init__(self, program: Program, tiling: Tiling | None, form: Form, vectors: bool) -> None:
        self.program, self.tiling, self.form, self.vectors = program, tiling, form, vectors
        self.entry = kernel_name(program.name)
        self.operators = operators_of(program)
        self.externals = [function.row for function, _ in functions_of(program) if isinstance(function.row, External)]
        self.functions = word_functions_of(program)
        self.given = [parameter for parameter in program.parameters if parameter.by_value]
        self.body, self.statements = self._statements(whole=True)
        if not self.statements.expressions.guarded:
            self.body, self.statements = self._statements(whole=False)
        self.names = self.statements.names
        self.tiles = self.statements.expressions.tiles

    def _statements(self, *, whole: bool) -> tuple[Emitter, StatementPrinter]:
        """Print the kernel's body; with `whole`, as a lambda that is told whether its block is whole."""
        functions = [function_name(*operator) for operator in self.operators]
        functions += map(function_of, warp_instructions(self.program.body))
        functions += [*map(external_name, self.externals), *(row.spelled for row in self.functions)]
        body = Emitter(depth=2 if whole else 1)
        taken = (self.entry, f"launch_{self.entry}", "known", *functions, *map(self._structure, self.given))
        printer = StatementPrinter(self.program, body, taken, self.tiling, whole=whole, vectors=self.vectors)
        printer.kernel_body()
        if printer.expressions.guarded:
            printer.expressions.helpers.add("known")
        return body, printer

    def source(self, provenance: Sequence[str], namespace: str) -> CudaSource:
        program, entry = self.program, self.entry
        kernel, origins = self._kernel()  # first, because it finds out which helpers are used
        out = Emitter()
        out.line("// SPDX-License-Identifier: MIT-0")
        for line in "\n".join(provenance).splitlines():
            # A backslash at the end of a line would draw the next line into the comment.
            out.line(f"// {line.rstrip()}{' .' if line.rstrip().endswith(chr(92)) else ''}".rstrip())
        if self.form == "header":
            out.line("#pragma once")
        out.line()
        if headers := [f"#include <{header}>" for dtype, header in HALF_HEADER.items() if self._uses(dtype)]:
            for header in headers:
                out.line(header)
            out.line()
        space = namespace or f"swizzle_{entry.strip('_')}"
        out.line(f"namespace {space} {{")
        out.line()
        own = [operator_text(op, dtype, program) for op, dtype in self.operators]
        own += map(external_text, self.externals)
        own += map(word_function_text, self.functions)
        own += dict.fromkeys(map(function_text, warp_instructions(program.body)))
        helpers = self.statements.expressions.helpers.union(*(row.helpers for row in self.functions))
        for helper in (*helper_text(frozenset(helpers)), *own):
            for line in helper.splitlines():
                out.line(line)
            out.line()
        for entries, name in self.statements.expressions.tables.items():
            kind = next(kind for kind, most in TABLE_TYPES.items() if max(entries) <= most)
            out.line(f"static __constant__ const {kind} {name}[{len(entries)}] = {{{', '.join(map(str, entries))}}};")
            out.line()
        for parameter in self.given:
            out.line(f"/// What the kernel takes for {self.names[parameter.name]}: its elements, row-major.")
            with out.block(f"struct {self._structure(parameter)}", end="};"):
                out.line(f"{C_TYPE[parameter.dtype]} at[{math.prod(parameter.shape)}];")
            out.line()
        for line, out.origin in zip(kernel.splitlines(), origins, strict=True):
            out.line(line)
        out.origin = None
        out.line()
        self._launcher(out)
        out.line()
        out.line(f"}}  // namespace {space}")
        arguments = tuple(parameter.name for parameter in program.parameters)
        grid = self.tiling.grid(program, self.tiling.declared) if self.tiling else program.grid
        return CudaSource(
            out.text(),
            program.name,
            entry,
            f"launch_{entry}",
            space,
            arguments,
            program.block,
            grid,
            self.tiling,
            tuple(name for name, _ in self._lengths()),
            tuple(map(self.statements.alignment, arguments)),
            tuple(out.origins),
            {parameter.name: parameter.dtype for parameter in program.parameters if parameter.is_scalar},
            self.statements.dynamic.bytes,
            {parameter.name: math.prod(parameter.shape) * parameter.dtype.bits // 8 for parameter in self.given},
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

    def _structure(self, parameter: Parameter) -> str:
        """Return the name of the type that a parameter by value has."""
        return f"{self.entry}_{c_name(parameter.name)}"

    def _parameter(self, parameter: Parameter) -> str:
        if parameter.by_value:
            return f"const {self._structure(parameter)} {self.names[parameter.name]}"
        if parameter.is_scalar:
            return f"{C_TYPE[parameter.dtype]} {self.names[parameter.name]}"
        const = "const " if parameter.role in ("in", "const") else ""
        return f"{const}{C_TYPE[parameter.dtype]}* __restrict__ {self.names[parameter.name]}"

    def _shape(self, parameter: Parameter) -> str:
        if self.tiles is None:
            return ", ".join(map(str, parameter.shape))
        return ", ".join(self.tiles.extent_text(parameter, dimension) for dimension in range(len(parameter.shape)))

    def _says(self, parameter: Parameter) -> str:
        """Return the comment on a parameter: its role, type, shape, and alignment if it must have any."""
        if parameter.is_scalar:
            return f"scalar {parameter.dtype.value}"
        aligned = self.statements.alignment(parameter.name)
        note = f", aligned to {aligned} bytes" if aligned > 1 else ""
        note += f", each from 0 to {parameter.below - 1}" if parameter.below else ""
        role = "by value:" if parameter.by_value else parameter.role
        return f"{role} {parameter.dtype.value}[{self._shape(parameter)}]{note}"

    def _kernel(self) -> tuple[str, list[Place | None]]:
        """Return the kernel's text, and where in the sketch each line comes from."""
        program, out = self.program, Emitter()
        bounds = str(math.prod(program.block)) + (f", {program.min_blocks}" if program.min_blocks else "")
        if self.form == "header":
            out.line("/// A template only so that several translation units may include it.")
            out.line("template <typename = void>")
        exported = 'extern "C" ' if self.form == "cu" else ""
        out.line(f"{exported}__global__ void __launch_bounds__({bounds}) {self.entry}(")
        given = [(self._parameter(p), self._says(p)) for p in program.parameters] + [
            (f"long long {name}", says) for name, says in self._lengths()
        ]
        for number, (parameter, says) in enumerate(given):
            end = ") {" if number == len(given) - 1 else ","
            out.line(f"    {parameter}{end}  // {says}")
        if not given:
            out.line("    ) {")
        body, after = self.body.text(), Emitter(depth=1)
        with out.nested():
            shared = self.statements.shared.text()
            for line in self.tiles.preamble(shared + body) if self.tiles else ():
                out.line(line)
            guarded = self.statements.expressions.guarded
            remainders = self.tiles.remainders(body, bool(guarded)) if self.tiles else []
            if guarded:
                assert self.tiles is not None
                compute = self.tiles.compute
                for line in shared.splitlines():
                    out.line(line.strip())
                out.line("// Only blocks in which an array ends ask where.")
                strides = [name for name in self.tiles.narrow() if re.search(rf"\b{name}\b", body)]
                parameters = ", ".join(f"const auto {name}" for name in (self.tiles.whole, *strides))
                out.line(f"const auto {compute} = [&]({parameters}) {{")
                remainders = [f"  {line}" for line in remainders]
                after.line("};")
                whole = ", ".join(["known<true>()", *(f"int({name})" for name in strides)])
                after.line(f"if ({self.tiles.in_reach(guarded, narrow=bool(strides))}) {compute}({whole});")
                after.line(f"else {compute}({', '.join(['known<false>()', *strides])});")
            for line in remainders:
                out.line(line)
        origins = [*out.origins, *self.body.origins, *after.origins, None]
        return out.text() + body + after.text() + "}\n", origins

    def _lengths(self) -> list[tuple[str, str]]:
        """Return the name of each length and what it may be."""
        found = []
        for axis in self.tiling.axes if self.tiling else ():
            assert self.tiles is not None
            every = "any" if axis.step == 1 else f"any multiple of {axis.step}"
            every += f", at least {axis.least}" if axis.least > 1 else ""
            if axis.axis == "k":
                found.append(
                    (self.tiles.lengths["k"], f"any from {axis.least} to {LONGEST}; loops take {axis.tile} each trip")
                )
                continue
            found.append((self.tiles.lengths[axis.axis], f"{every}; a block takes {axis.tile}"))
        return found

    def _launcher(self, out: Emitter) -> None:
        program, entry = self.program, self.entry
        block = ", ".join(map(str, program.block))
        lengths = [name for name, _ in self._lengths()]
        names = ", ".join([*(self.names[parameter.name] for parameter in program.parameters), *lengths])
        parameters = [
            f"const {self._structure(parameter)}& {self.names[parameter.name]}"
            if parameter.by_value
            else self._parameter(parameter).replace(" __restrict__", "")
            for parameter in program.parameters
        ]
        out.line("#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)")
        what = (
            "with as many blocks as the lengths take"
            if self.tiling and self.tiling.of_grid
            else "on the grid that it was made for"
        )
        out.line(f"/// Launches the kernel {what}; all pointers are device pointers.")
        parameters += [f"long long {name}" for name in lengths]
        parameters.append("cudaStream_t stream = nullptr")
        with out.block(f"inline cudaError_t launch_{entry}({', '.join(parameters)})"):
            for parameter in program.parameters:
                if (bytes_ := self.statements.alignment(parameter.name)) > 1:
                    address = f"reinterpret_cast<size_t>({self.names[parameter.name]})"
                    out.line(f"if ({address} % {bytes_} != 0) return cudaErrorMisalignedAddress;")
            grid = self._grid(out)
            template = "<>" if self.form == "header" else ""
            if shared := self.statements.dynamic.bytes:
                attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
                kernel = f"reinterpret_cast<const void*>(&{entry}{template})"
                out.line(f"const cudaError_t allowed = cudaFuncSetAttribute({kernel}, {attribute}, {shared});")
                out.line("if (allowed != cudaSuccess) return allowed;")
            out.line(f"{entry}{template}<<<dim3({grid}), dim3({block}), {shared}, stream>>>({names});")
            out.line("return cudaGetLastError();")
        out.line("#endif")

    def _grid(self, out: Emitter) -> str:
        """Print what the host checks of the lengths; return the grid."""
        if self.tiling is None or self.tiles is None:
            return ", ".join(map(str, self.program.grid))
        wrong, empty, many, blocks = list[str](), list[str](), list[str](), dict[Axis, str]()
        for axis in self.tiling.axes:
            name = self.tiles.lengths[axis.axis]
            if axis.axis == "k":
                wrong.append(f"{name} < {axis.least} || {name} > {LONGEST}")
                continue
            wrong.append(f"{name} < 0")
            if axis.step > 1:
                wrong.append(f"{name} % {axis.step} != 0")
            if axis.least > 1:
                wrong.append(f"({name} > 0 && {name} < {axis.least})")
            empty.append(f"{name} == 0")
            count = f"blocks_{axis.axis}"
            blocks[axis.axis] = count
            many.append(f"{count} > {MAX_BLOCKS[axis.axis]}")
        out.line(f"if ({' || '.join(wrong)}) return cudaErrorInvalidValue;")
        if empty:
            out.line(f"if ({' || '.join(empty)}) return cudaSuccess;")
        for axis in self.tiling.of_grid:
            name = self.tiles.lengths[axis.axis]
            out.line(f"const long long {blocks[axis.axis]} = ({name} - 1) / {axis.tile} + 1;")
        if many:
            out.line(f"if ({' || '.join(many)}) return cudaErrorInvalidConfiguration;")
        sizes = zip(AXES, self.program.grid, strict=True)
        return ", ".join(f"unsigned({blocks[axis]})" if axis in blocks else str(size) for axis, size in sizes)
