"""Print a program without holes as a Python module for numba.cuda: one `@cuda.jit` kernel and a function to launch it.

It prints the same program as the CUDA printer, after the same passes. Its register arrays have static indices once
loops are unrolled, by NVVM or in the text. Arrays keep their dimensions and their strides. A kernel for any length
reads its lengths from the arrays' shapes.

Unrolled in the text are loops that NVVM would unroll too late, because numba.cuda has no `#pragma unroll`: if two
threads of a warp read different elements of a register array, NVVM merges the two loads into one with a dynamic index,
unless it already knows both indices. It then knows constants, but not values that depend on a loop's variable.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import assert_never

from cuda_out.analysis.placement import MOST_STATIC, DeclarationPoint, Path, declarations, dynamic_shared, placements
from cuda_out.analysis.registers import is_static, loops_to_unroll, register_arrays, static_names
from cuda_out.c.emitter import different_names
from cuda_out.c.expressions import CText
from cuda_out.numba.expressions import (
    NUMBA_TYPE,
    PRIMARY,
    NumbaExpressions,
    PythonLines,
    first_comment,
    python_name,
    python_names,
)
from cuda_out.passes.shuffles import legal_shuffles
from cuda_out.passes.simplify import drop_dead, inline_finals, simplify
from cuda_out.tiling.length_text import TileText, tile_text
from cuda_out.tiling.tiling import AXES, Tiling
from symbolic.algebra.states import word_functions_of
from symbolic.errors import SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.facts import LONGEST, Facts, after, decide, facts_where, launch_facts, loop_facts
from symbolic.ir.functions import WordFunction
from symbolic.ir.program import Axis, DType, Expr, OperatorName, Parameter, Program, Stmt
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    bodies,
    children,
    map_bodies,
    map_own,
    names_in,
    operators_of,
    own_expressions,
    statements,
    subexpressions,
    substitute,
    trips_of,
    warp_instructions,
)
from symbolic.machine.launch_shape import require_hardware_warp


class NumbaStatements:
    """The state of printing one kernel: declarations that are still to come, and the lines."""

    def __init__(self, program: Program, out: PythonLines, expressions: NumbaExpressions, fresh: FreshNames) -> None:
        self.program, self.out, self.expressions, self.fresh = program, out, expressions, fresh
        self.names = expressions.names
        self.scalars, self.arrays = placements(program)
        self.declared = declarations(program)
        self.accumulators: dict[str, ir.DeclareAccumulator] = {}

    def kernel_body(self) -> None:
        self._body(self.program.body, (), launch_facts(self.program))

    def _body(self, body: Body, path: Path, facts: Facts) -> None:
        for index, stmt in enumerate(body):
            self._declare_before(path, index)
            self._statement(stmt, path, index, facts)
            facts = after(stmt, facts)

    def _declare_before(self, path: Path, index: int) -> None:
        """Print what the statements to come need before them; a scalar's first value says what type it has."""
        site = DeclarationPoint(path, index, False)
        for name, scalar in self.scalars.items():
            if scalar.site == site:
                start = self.expressions.literal(0, scalar.dtype, self.program.body[0])
                self.out.line(f"{self.names[name]} = {start}")
        for name, place in self.arrays.items():
            if place == site:
                self._declare(self.declared[name])

    def _declare(self, stmt: ir.DeclareArray | ir.DeclareAccumulator) -> None:
        if not stmt.shape:
            self.out.line(f"{self.names[stmt.name]} = {self.expressions.literal(0, stmt.dtype, stmt)}")
            return
        memory = stmt.memory if isinstance(stmt, ir.DeclareArray) else "local"
        shape = str(stmt.shape[0] if len(stmt.shape) == 1 else stmt.shape)
        dtype = self.expressions.type_name(stmt.dtype, stmt)
        self.out.line(f"{self.names[stmt.name]} = cuda.{memory}.array({shape}, {dtype})")

    def _statement(self, stmt: Stmt, path: Path, index: int, facts: Facts) -> None:
        here = DeclarationPoint(path, index, True)
        text = self.expressions.text
        match stmt:
            case ir.Assign(name=name, value=value):
                self.out.line(f"{self.names[name]} = {text(value, facts)}")
            case ir.Store():
                self._store(stmt, facts)
            case ir.DeclareArray(name=name):
                if self.arrays[name] == here:
                    self._declare(stmt)
            case ir.DeclareAccumulator():
                self._accumulator(stmt, self.arrays[stmt.name] == here)
            case ir.Accumulate():
                self._accumulate(stmt, facts)
            case ir.For():
                with self.out.nested(self._loop_head(stmt, facts)):
                    self._body(stmt.body, (*path, (index, "for")), loop_facts(stmt, facts))
            case ir.If():
                self._branch(stmt, path, index, facts)
            case ir.Barrier(scope=scope):
                self.out.line("cuda.syncthreads()" if scope == "block" else "cuda.syncwarp()")
            case ir.WarpInstruction(row=row):
                raise AssertionError(f"{row.name} was refused before")
            case ir.CopyAsync() | ir.CopyGroup():
                raise SwizzleError(
                    "numba.cuda has no asynchronous copies",
                    place=stmt.place,
                    expected="stores and barriers",
                    fix="take the CUDA text instead: --emit cuda, to_cuda()",
                )
            case _:
                assert_never(stmt)

    def _store(self, stmt: ir.Store, facts: Facts) -> None:
        element = self.expressions.element(stmt.array, stmt.indices, facts)
        value = self.expressions.text(stmt.value, facts)
        inside = self.expressions.inside(stmt.array, stmt.indices, facts)
        if stmt.atomic:
            name, _, index = element.partition("[")
            at = index.removesuffix("]")
            function = {"+": "add", "&": "and_", "|": "or_", "^": "xor"}.get(stmt.joins, stmt.joins)
            self.out.line(f"cuda.atomic.{function}({name}, {f'({at})' if len(stmt.indices) > 1 else at}, {value})")
            return
        if inside and any(isinstance(part, ir.Shuffle) for part in subexpressions(stmt.value)):
            # All lanes shuffle, also those whose element is out of range.
            self.out.line(f"{(name := self.fresh.take('stored'))} = {value}")
            value = name
        if inside:
            with self.out.nested(f"if {inside}:"):
                self.out.line(f"{element} = {value}")
        else:
            self.out.line(f"{element} = {value}")

    def _accumulator(self, stmt: ir.DeclareAccumulator, here: bool) -> None:
        self.accumulators[stmt.name] = stmt
        name, start = self.names[stmt.name], self.expressions.start(stmt)
        if not stmt.shape:
            self.out.line(f"{name} = {start}")
            return
        if here:
            self._declare(stmt)
        self._fill(name, stmt.shape, (), start)

    def _fill(self, name: str, shape: tuple[int, ...], at: tuple[str, ...], start: str) -> None:
        """Set every element of an array of accumulators."""
        if not shape:
            self.out.line(f"{name}[{', '.join(at)}] = {start}")
            return
        variable = self.fresh.take("ijklmn"[len(at)])
        with self.out.nested(f"for {variable} in range({shape[0]}):"):
            self._fill(name, shape[1:], (*at, variable), start)

    def _accumulate(self, stmt: ir.Accumulate, facts: Facts) -> None:
        declared = self.accumulators[stmt.accumulator]
        decided = None if stmt.condition is None else decide(stmt.condition, {})
        if decided is False:
            return
        value = stmt.operands[0]
        for operand in stmt.operands[1:]:
            assert declared.inner is not None, "several operands need an inner operator"
            value = ir.Binary(declared.inner, value, operand, declared.dtype, stmt.place)
        held = ir.AccumulatorValue(stmt.accumulator, stmt.indices, declared.dtype, stmt.place)
        reduced = ir.Binary(declared.outer, held, value, declared.dtype, stmt.place)
        target = self.expressions.element(stmt.accumulator, stmt.indices, facts)
        if stmt.condition is not None and decided is None:
            with self.out.nested(f"if {self.expressions.text(stmt.condition, facts)}:"):
                self._update(target, reduced, facts_where(stmt.condition, True, facts))
        else:
            self._update(target, reduced, facts)

    def _update(self, target: str, reduced: ir.Binary, facts: Facts) -> None:
        if reduced.dtype.is_float and reduced.op in ("+", "*"):
            self.out.line(f"{target} {reduced.op}= {self.expressions.text(reduced.right, facts)}")
        else:
            self.out.line(f"{target} = {self.expressions.text(reduced, facts)}")

    def _loop_head(self, stmt: ir.For, facts: Facts) -> str:
        start, stop, step = (self.expressions.text(bound, facts) for bound in (stmt.start, stmt.stop, stmt.step))
        bounds = [start, stop, step] if step != "1" else [start, stop] if start != "0" else [stop]
        return f"for {self.names[stmt.variable]} in range({', '.join(bounds)}):"

    def _branch(self, stmt: ir.If, path: Path, index: int, facts: Facts) -> None:
        word, where = "if", (*path, (index, "then"))
        while True:
            condition = self.expressions.text(stmt.condition, facts)
            with self.out.nested(f"{word} {condition}:"):
                self._body(stmt.then, where, facts_where(stmt.condition, True, facts))
            facts = facts_where(stmt.condition, False, facts)
            otherwise, where = stmt.otherwise, (*where[:-1], (where[-1][0], "else"))
            if not (len(otherwise) == 1 and isinstance(otherwise[0], ir.If)) or self._declares_in(where):
                break
            stmt, word, where = otherwise[0], "elif", (*where, (0, "then"))
        if otherwise:
            with self.out.nested("else:"):
                self._body(otherwise, where, facts)

    def _declares_in(self, path: Path) -> bool:
        sites = [scalar.site for scalar in self.scalars.values()] + list(self.arrays.values())
        return any(site.path == path and not site.here for site in sites)


MOST = 4096  # statements that one loop may become


def unrolled_for_numba(program: Program) -> Program:
    """Return the same program without loops whose variables index a read that only some lanes make."""
    static, arrays = static_names(program), register_arrays(program)
    chosen = {
        loop
        for loop in loops_to_unroll(program)
        if _trips(loop) is not None and any(_reads(loop.body, False, static, arrays))
    }
    if not chosen:
        return program
    return drop_dead(simplify(replace(program, body=_unrolled(program.body, frozenset(chosen)))))


def _trips(loop: ir.For) -> range | None:
    """Return a loop's values where they are constants, and few enough."""
    values = trips_of(loop)
    return values if values is not None and len(values) * len(list(statements(loop.body))) <= MOST else None


def _reads(body: Body, chosen: bool, static: frozenset[str], arrays: frozenset[str]) -> Iterator[bool]:
    """Say of each read of a register array whether only some lanes make it, at an index that loops decide."""
    for stmt in body:
        own = [(expr, chosen) for expr in own_expressions(stmt)]
        while own:
            expr, some = own.pop()
            match expr:
                case ir.Select(condition=condition):
                    some = some or not is_static(condition, static)
                case ir.Load(array=array, indices=indices) if array in arrays:
                    yield some and any(names_in(index) & static for index in indices)
                case _:
                    pass
            own += [(child, some) for child in children(expr)]
        inside = chosen or (isinstance(stmt, ir.If) and not is_static(stmt.condition, static))
        for inner in bodies(stmt):
            yield from _reads(inner, inside, static, arrays)


def _unrolled(body: Body, chosen: frozenset[ir.For]) -> Body:
    """Return the body with the chosen loops written out."""
    found: list[Stmt] = []
    for stmt in body:
        inner = map_bodies(stmt, lambda each: _unrolled(each, chosen))
        values = _trips(stmt) if isinstance(stmt, ir.For) and stmt in chosen else None
        if values is None:
            found.append(inner)
            continue
        assert isinstance(inner, ir.For)
        for value in values:
            constant = ir.Const(value, DType.INDEX, stmt.place)
            found += [_replaced(each, inner.variable, constant) for each in inner.body]
        if values:
            found.append(ir.Assign(inner.variable, ir.Const(values[-1], DType.INDEX, stmt.place), stmt.place))
    return tuple(found)


def _replaced(stmt: Stmt, name: str, value: Expr) -> Stmt:
    changed = map_own(stmt, lambda expr: substitute(expr, name, value))
    return map_bodies(changed, lambda body: tuple(_replaced(each, name, value) for each in body))


def word_function_lines(row: WordFunction, name: str) -> list[str]:
    """Return the device function of a function on words, under a name."""
    return [f"# {row.symbol}.", *_device_function(ast.parse(row.python), name)]


def operator_lines(op: OperatorName, program: Program) -> list[str]:
    """Return the device function of a user's operator; raises SwizzleError if the operator has no text."""
    tree = ast.parse(op.law.python)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not functions:
        raise SwizzleError(
            f"the operator {op} has no text for numba.cuda",
            place=program.place,
            expected="a `def` that numba compiles, for a kernel that is printed",
            fix='write @operator(..., numba="def f(a, b): ...")',
        )
    return [f"# The operator {op}.", *_device_function(tree, python_name(op))]


def _device_function(tree: ast.Module, name: str) -> list[str]:
    """Return a text whose last function is one of the device, under a name."""
    *_, function = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    function.name = name
    function.decorator_list = [ast.parse("cuda.jit(device=True)", mode="eval").body]
    return ast.unparse(tree).splitlines()


class NumbaSource(Struct, frozen=True):
    """A printed module: its text, and the names of its kernel, of the function that launches it, and of those that the
    kernel calls."""

    text: str
    kernel: str
    launcher: str
    device: tuple[str, ...] = ()


def print_numba(program: Program, provenance: Sequence[str] = (), *, tiling: Tiling | None = None) -> NumbaSource:
    """Return the program as Python text, with the provenance lines as its first comment.

    The program has no holes; apply `cuda_out.passes.pipeline.optimize` to it first. With a `tiling`, it is what block 0
    runs. Raises SwizzleError if the program cannot be written for numba.cuda.
    """
    assert not program.holes, "only programs without holes are printed"
    require_hardware_warp(program)
    return _Module(unrolled_for_numba(legal_shuffles(inline_finals(program))), tiling).source(provenance)


class _Module:
    """One module: what stands around the kernel's statements."""

    def __init__(self, program: Program, tiling: Tiling | None) -> None:
        if shared := dynamic_shared(program).bytes:
            raise SwizzleError(
                f"{shared} bytes of shared memory in a module for numba.cuda",
                place=program.place,
                expected=f"at most {MOST_STATIC}: what is larger needs an attribute that numba does not set",
                fix="take the .cu file or the header: --emit cuda, --emit header",
            )
        for stmt in warp_instructions(program.body):
            raise SwizzleError(
                f"{stmt.row.name} in a module for numba.cuda",
                place=stmt.place,
                expected="a kernel without instructions on matrices, which numba.cuda does not have",
                fix="take the .cu file or the header: --emit cuda, --emit header",
            )
        self.program, self.tiling = program, tiling
        self.kernel = python_name(program.name)
        self.launcher = f"launch_{self.kernel}"
        operators = dict.fromkeys(op for op, _ in operators_of(program))
        self.device = {python_name(op): operator_lines(op, program) for op in operators}
        rows = {row.name: row for row in word_functions_of(program)}
        words = different_names(
            rows,
            lambda function: python_name(rows[function].spelled),
            (self.kernel, self.launcher, *self.device),
        )
        self.device |= {name: word_function_lines(rows[function], name) for function, name in words.items()}
        self.names = python_names(sorted(all_names(program)), (self.kernel, self.launcher, *self.device))
        self.tiles: TileText | None = None
        if tiling is not None:
            self.tiles = tile_text(tiling, program, self.names, (self.kernel, self.launcher))
        taken = {*self.names.values(), self.kernel, self.launcher, *(self.tiles.taken if self.tiles else ())}
        self.expressions = NumbaExpressions(
            names=self.names,
            shapes={parameter.name: parameter.shape for parameter in program.parameters},
            coordinates=coordinate_text(program)
            | {key: CText(name, PRIMARY) for key, name in (self.tiles.coordinates() if self.tiles else {}).items()},
            warp_size=program.warp_size,
            functions=words,
            tiles=self.tiles,
        )
        self.body = PythonLines(depth=1)
        self.statements = NumbaStatements(program, self.body, self.expressions, FreshNames(taken))

    def source(self, provenance: Sequence[str]) -> NumbaSource:
        for parameter in self.program.parameters:
            self.expressions.require(parameter.dtype, parameter.place)
            if parameter.is_scalar:
                self.expressions.type_name(parameter.dtype, parameter)
        self.statements.kernel_body()
        body, out = self.body.text(), PythonLines()
        for line in first_comment(["SPDX-License-Identifier: MIT-0", *provenance]):
            out.line(line)
        out.line()
        if "math" in self.expressions.modules:
            out.line("import math")
        constants = self.expressions.used & {"inf", "nan"}
        if constants:
            out.line(f"from math import {', '.join(sorted(constants))}")
        if constants or "math" in self.expressions.modules:
            out.line()
        out.line(f"from numba import {', '.join(['cuda', *sorted(self.expressions.used - constants)])}")
        if "libdevice" in self.expressions.modules:
            out.line("from numba.cuda import libdevice")
        out.line()
        out.line()
        for lines in self.device.values():
            for line in lines:
                out.line(line)
            out.line()
            out.line()
        out.line(f"@cuda.jit(max_registers={registers})" if (registers := self._most_registers()) else "@cuda.jit")
        given = ", ".join(self.names[parameter.name] for parameter in self.program.parameters)
        with out.nested(f"def {self.kernel}({given}):"):
            for parameter in self.program.parameters:
                out.line(f"# {self._says(parameter)}")
            for line in self._preamble(body):
                out.line(line)
            if not body:
                out.line("pass")
        launcher = PythonLines()
        self._launcher(launcher, given)
        text = f"{out.text()}{body}\n\n{launcher.text()}"
        return NumbaSource(text, self.kernel, self.launcher, tuple(self.device))

    def _most_registers(self) -> int:
        """Return how many registers a thread may have if as many blocks are to be resident as the program says.

        A multiprocessor has 65536, which its warps take in units of 256.
        """
        warps = -(-prod(self.program.block) // 32) * self.program.min_blocks
        return min(255, 65536 // warps // 256 * 256 // 32) if warps else 0

    def _shape(self, parameter: Parameter) -> list[str]:
        if self.tiles is None:
            return [str(extent) for extent in parameter.shape]
        return [self.tiles.extent_text(parameter, dimension) for dimension in range(len(parameter.shape))]

    def _says(self, parameter: Parameter) -> str:
        role = {"in": "", "by_value": "const "}.get(parameter.role, f"{parameter.role} ")
        dtype = NUMBA_TYPE[parameter.dtype]
        if parameter.is_scalar:
            return f"{self.names[parameter.name]}: {dtype}, one number"
        return f"{self.names[parameter.name]}: {role}{dtype}[{', '.join(self._shape(parameter))}]"

    def _length(self, axis: Axis) -> str:
        """Return a length, read off the shape of an output."""
        tiling = self.tiling
        assert tiling is not None
        places = [
            (parameter.role not in ("out", "inout"), self.names[parameter.name], dimension, span)
            for parameter in self.program.parameters
            for dimension, span in enumerate(tiling.spans[parameter.name])
            if span is not None and span.axis == axis
        ]
        _, name, dimension, span = min(places, key=lambda place: place[0])
        extent = f"{name}.shape[{dimension}]"
        if span.halo:
            extent += f" {'-' if span.halo > 0 else '+'} {abs(span.halo)}"
        if span.scale == 1:
            return extent
        return f"({extent}) // {span.scale}" if span.halo else f"{extent} // {span.scale}"

    def _preamble(self, body: str) -> list[str]:
        """Return where the block begins along each tiled axis, and how much is left of the arrays."""
        tiles, lines = self.tiles, []
        for axis in self.tiling.axes if self.tiling else ():
            assert tiles is not None
            length, begin, left = (names[axis.axis] for names in (tiles.lengths, tiles.begins, tiles.lefts))
            if axis.axis == "k":
                lines.append(f"{left} = {self._length(axis.axis)}")
                continue
            lines.append(f"{begin} = cuda.blockIdx.{axis.axis} * {axis.tile}")
            before = tiles.befores[axis.axis]
            if re.search(rf"\b{before}\b", body):
                lines.append(f"{before} = min({begin}, {axis.before})")
            if re.search(rf"\b{left}\b", body):
                lines.append(f"{length} = {self._length(axis.axis)}")
                lines.append(f"{left} = min({length} - {begin}, {axis.reach if axis.edges else axis.tile})")
        return lines

    def _launcher(self, out: PythonLines, given: str) -> None:
        program, tiles = self.program, self.tiles
        axes = self.tiling.axes if self.tiling else ()
        names = [self.names[parameter.name] for parameter in program.parameters]
        lengths = [tiles.lengths[axis.axis] for axis in axes] if tiles else []
        with out.nested(f"def {self.launcher}({', '.join([*names, 'stream=0'])}):"):
            out.line('"""Launch the kernel on arrays with __cuda_array_interface__: numba, CuPy, PyTorch."""')
            for name, parameter in zip(names, program.parameters, strict=True):
                convert = NUMBA_TYPE[parameter.dtype] if parameter.is_scalar else "cuda.as_cuda_array"
                out.line(f"{name} = {convert}({name})")
            for axis, length in zip(axes, lengths, strict=True):
                out.line(f"{length} = {self._length(axis.axis)}")
            with out.nested("checks = ("):
                for name, parameter in zip(names, program.parameters, strict=True):
                    if parameter.is_scalar:
                        continue
                    shape = ", ".join(self._shape(parameter)) + ("," if len(parameter.shape) == 1 else "")
                    out.line(f'("{name}", {name}, "{NUMBA_TYPE[parameter.dtype]}", ({shape})),')
            out.line(")")
            with (
                out.nested("for name, array, dtype, shape in checks:"),
                out.nested("if array.dtype != dtype or array.shape != shape:"),
            ):
                out.line('found = f"{name} is {array.dtype} of shape {array.shape}"')
                out.line('raise ValueError(f"{found}, expected {dtype} of shape {shape}")')
            for axis, length in zip(axes, lengths, strict=True):
                if axis.axis == "k":
                    with out.nested(f"if not {axis.least} <= {length} <= {LONGEST}:"):
                        said = f"{length} is {{{length}}}, not from {axis.least} to {LONGEST}"
                        out.line(f'raise ValueError(f"{said}")')
                    continue
                if axis.least > 1:
                    with out.nested(f"if 0 < {length} < {axis.least}:"):
                        said = f"{length} is {{{length}}}, not at least {axis.least}"
                        out.line(f'raise ValueError(f"{said}")')
                if axis.step > 1:
                    with out.nested(f"if {length} % {axis.step}:"):
                        out.line(f'raise ValueError(f"{{{length}}} is not a multiple of {axis.step}")')
            of_grid = [(axis, length) for axis, length in zip(axes, lengths, strict=True) if axis.axis != "k"]
            if of_grid:
                with out.nested(f"if {' or '.join(f'{length} <= 0' for _, length in of_grid)}:"):
                    out.line("return")
            blocks = {axis.axis: f"({length} - 1) // {axis.tile} + 1" for axis, length in of_grid}
            grid = ", ".join(blocks.get(axis, str(size)) for axis, size in zip(AXES, program.grid, strict=True))
            out.line(f"{self.kernel}[({grid}), {program.block}, stream]({', '.join(names)})")


def coordinate_text(program: Program) -> dict[tuple[str, str], CText]:
    """Return the text of each coordinate of the launch; lane and warp are computed from the linear thread."""
    found: dict[tuple[str, str], CText] = {
        (name, axis): CText(f"cuda.{name}.{axis}", PRIMARY)
        for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")
        for axis in AXES
    }
    terms, stride = [], 1
    for axis, size in zip(AXES, program.block, strict=True):
        if size > 1:
            terms.append(f"cuda.threadIdx.{axis}" if stride == 1 else f"{stride} * cuda.threadIdx.{axis}")
        stride *= size
    linear = CText(" + ".join(terms) or "0", 10 if len(terms) > 1 else 11 if "*" in "".join(terms) else PRIMARY)
    warp = program.warp_size
    found["laneid", "x"] = linear if stride <= warp else CText(f"{linear.at(11)} % {warp}", 11, "%")
    found["warpid", "x"] = CText("0", PRIMARY) if stride <= warp else CText(f"{linear.at(11)} // {warp}", 11, "//")
    found["warpsize", "x"] = CText(str(warp), PRIMARY)
    return found
