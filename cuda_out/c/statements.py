"""Statements as CUDA C++ text: declarations at their sites, loops, branches, accumulators.

A vector access as CUDA C++ text: one load or store of a type such as `float4`, and a register for each word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from typing_extensions import assert_never

from cuda_out.analysis.placement import (
    ALIGNMENT,
    DeclarationPoint,
    Path,
    Scalar,
    declarations,
    dynamic_shared,
    placements,
)
from cuda_out.analysis.registers import loops_to_unroll, static_names
from cuda_out.c.copies import copy_lines
from cuda_out.c.emitter import Emitter, c_names
from cuda_out.c.expressions import (
    PRECEDENCE,
    PRIMARY,
    UNSIGNED,
    WRAPPING,
    CText,
    ExpressionPrinter,
    converted,
    function_name,
    is_wide,
    wide_names,
)
from cuda_out.c.helpers import coordinate_text
from cuda_out.c.types import C_TYPE, HALF_BITS, OF_HALF, TO_HALF, literal
from cuda_out.c.warp_text import function_of
from cuda_out.passes.packed_words import PackedWords, per_word
from cuda_out.passes.simplify import simplify_expression
from cuda_out.passes.vectors import VectorAccess, multiple_of, vector_accesses
from cuda_out.tiling.length_text import tile_text
from cuda_out.tiling.tiling import Tiling
from symbolic.algebra.operator_laws import law_of
from symbolic.errors import Place, SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, after, decide, facts_where, launch_facts, loop_facts, range_of
from symbolic.ir.matrices import ROW_BYTES, MatrixProduct
from symbolic.ir.program import DType, Expr, Program, ReductionOp, Stmt
from symbolic.ir.walk import (
    Body,
    all_names,
    assigned_in,
    names_in,
    own_expressions,
    statements,
    subexpressions,
    warp_instructions,
)
from symbolic.ir.warp_meaning import registers, row_operand

Element = Callable[[str, tuple[Expr, ...]], str]
Stored = Callable[[str, tuple[Expr, ...], str], str]


def vector_lines(vector: VectorAccess, element: Element, value: Element, stored: Stored, name: str) -> Iterator[str]:
    """Yield the lines.

    `element` prints `array[...]` in memory, `value` what a register has, and `stored` the statement that stores a
    text in it; `name` is a new name for the loaded vector.
    """
    address, kind = f"&{element(vector.array, vector.indices)}", vector.type_name
    bits, number = HALF_BITS.get(vector.dtype, ("", ""))
    if vector.is_store:
        registers = [value(each.array, each.indices) for each in vector.registers]
        registers = [f"{bits}({each})" for each in registers] if vector.by_bits else registers
        yield f"*reinterpret_cast<{kind}*>({address}) = {vector.maker}({', '.join(registers)});"
        return
    yield f"const {kind} {name} = *reinterpret_cast<const {kind}*>({address});"
    for register, word in zip(vector.registers, "xyzw", strict=False):
        text = f"{name}.{word}"
        yield stored(register.array, register.indices, f"{number}({text})" if vector.by_bits else text)


def word_lines(vector: VectorAccess, element: Element, words: Sequence[str], name: str) -> Iterator[str]:
    """Yield the lines of a vector whose registers are whole words of several elements each."""
    address = f"&{element(vector.array, vector.indices)}"
    kind = {1: "unsigned int"}.get(len(words), f"uint{len(words)}")
    if vector.is_store:
        value = words[0] if len(words) == 1 else f"make_{kind}({', '.join(words)})"
        yield f"*reinterpret_cast<{kind}*>({address}) = {value};"
    elif len(words) == 1:
        yield f"{words[0]} = *reinterpret_cast<const {kind}*>({address});"
    else:
        yield f"const {kind} {name} = *reinterpret_cast<const {kind}*>({address});"
        for word, part in zip(words, "xyzw", strict=False):
            yield f"{word} = {name}.{part};"


COORDINATE_NAMES: Mapping[str, str] = {
    "threadIdx": "thread", "blockIdx": "block", "blockDim": "block_dim", "gridDim": "grid_dim",
    "laneid": "lane_id", "warpid": "warp_id",
}  # fmt: skip


class StatementPrinter:
    """The state of printing one kernel: names, declarations that are still to come, and the emitter."""

    def __init__(
        self,
        program: Program,
        out: Emitter,
        taken: tuple[str, ...],
        tiling: Tiling | None = None,
        *,
        whole: bool = False,
        vectors: bool = True,
    ) -> None:
        """Prepare to print; with `whole` the text has a name for whether its block is whole, and shared arrays are
        declared apart, as its statements are compiled twice. Without `vectors` each element is accessed by itself.
        """
        self.program = program
        self.names = c_names(sorted(all_names(program)), taken)
        tiles = tile_text(tiling, program, self.names, taken, whole=whole) if tiling else None
        self.taken = (*taken, *tiles.taken) if tiles else taken
        self.scalars, self.arrays = placements(program)
        self.unrolled = loops_to_unroll(program)
        tiled = {parameter.name for parameter in program.parameters}
        given = {parameter.name for parameter in program.parameters if parameter.by_value}
        self.vectors = {
            loop: vector
            for loop, vector in vector_accesses(program).items()
            if vectors and (tiles is None or vector.array not in tiled or tiles.step(vector.array) % vector.width == 0)
        }
        self.vector_names: list[str] = []
        self.words = PackedWords(program)
        self.copies = [stmt for stmt in statements(program.body) if isinstance(stmt, ir.CopyAsync)]
        self.declared = declarations(program)
        self.accumulators: dict[str, ir.DeclareAccumulator] = {}
        self.out = out
        self.within: Place | None = None
        self.shared = Emitter(depth=1)
        self.dynamic = dynamic_shared(program)
        self.memory = "shared_memory"
        while self.memory in {*self.names.values(), *self.taken}:
            self.memory += "_"
        table = "table_"
        while any(name.startswith(table) for name in (*self.names.values(), *self.taken)):
            table += "_"
        self.expressions = ExpressionPrinter(
            table=table,
            names=self.names | {name: f"{self.names[name]}.at" for name in given},
            shapes={p.name: tiles.shape(p) if tiles else p.shape for p in program.parameters},
            coordinates=coordinate_text(program)
            | {key: CText(name, PRIMARY) for key, name in (tiles.coordinates() if tiles else {}).items()},
            warp_size=program.warp_size,
            tiles=tiles,
            wide=wide_names(program),
            ieee_division=program.ieee_division,
            whole=tiles.whole if tiles and whole else "",
            words=self.words.arrays,
            static=static_names(program),
            declared=self.declared,
        )

    def kernel_body(self) -> None:
        """Print the whole kernel, without its braces."""
        if self.dynamic.bytes:
            out = self.shared if self.expressions.whole else self.out
            out.line(f"extern __shared__ __align__({ALIGNMENT}) unsigned char {self.memory}[];")
        self._coordinates()
        self._body(self.program.body, (), launch_facts(self.program))

    def _names_coordinate(self, stmt: ir.Assign, value: ir.Coordinate) -> bool:
        """Say whether a statement of the kernel's own body gives the coordinate a name for good."""
        scalar = self.scalars[stmt.name]
        fixed = scalar.constant and scalar.read and scalar.site.here and scalar.site.path == ()
        return fixed and value.name in COORDINATE_NAMES

    def alignment(self, array: str) -> int:
        """Return how many bytes an array's first element must be aligned to for vector accesses; 1 if it has none."""
        rows = (row_operand(stmt) for stmt in warp_instructions(self.program.body))
        least = ROW_BYTES if any(row is not None and row.array == array for row in rows) else 1
        vectors = [vector.bytes for vector in self.vectors.values() if vector.array == array]
        copies = [copy.bytes for copy in self.copies if copy.width > 1 and array in (copy.array, copy.load.array)]
        return max([least, *vectors, *copies])

    def _named_by_program(self, coordinate: str, axis: str) -> bool:
        """Say whether the first use of a coordinate is a statement that names it: `lane = cuda.laneid`."""
        for stmt in self.program.body:
            used = [
                part
                for inner in statements((stmt,))
                for expr in own_expressions(inner)
                for part in subexpressions(expr)
                if isinstance(part, ir.Coordinate) and (part.name, part.axis) == (coordinate, axis)
            ]
            if used:
                return isinstance(stmt, ir.Assign) and stmt.value is used[0] and self._names_coordinate(stmt, used[0])
        return False

    def _coordinates(self) -> None:
        """Give a name to each coordinate that the kernel uses more than once."""
        uses = Counter(
            (part.name, part.axis)
            for stmt in statements(self.program.body)
            for expr in own_expressions(stmt)
            for part in subexpressions(expr)
            if isinstance(part, ir.Coordinate)
        )
        table = dict(self.expressions.coordinates)
        taken = set(self.names.values()) | set(self.taken)
        for (coordinate, axis), count in sorted(uses.items()):
            if count < 2 or coordinate not in COORDINATE_NAMES or table[coordinate, axis].text == "0":
                continue
            if self._named_by_program(coordinate, axis):
                continue
            name = COORDINATE_NAMES[coordinate] + ("" if coordinate in ("laneid", "warpid") else f"_{axis}")
            while name in taken:
                name += "_"
            self.out.line(f"const int {name} = {table[coordinate, axis].text};")
            table[coordinate, axis] = CText(name, PRIMARY)
        self.expressions.coordinates = table

    def _body(self, body: Body, path: Path, facts: Facts) -> None:
        within = self.within
        for index, stmt in enumerate(body):
            outer, self.out.origin = self.out.origin, stmt.place
            self._say_where(stmt)
            self._declare_before(path, index)
            self._statement(stmt, path, index, facts)
            self.out.origin = outer
            facts = after(stmt, facts)
        self.within = within

    def _say_where(self, stmt: Stmt) -> None:
        """Begin the statements of a device function's call, and what follows them, with a comment.

        Arrays and index variables do not count: passes make and move them.
        """
        place = stmt.place
        moved = isinstance(stmt, ir.DeclareArray) or (isinstance(stmt, ir.Assign) and not stmt.value.dtype.is_data)
        if moved or place.called_from == self.within:
            return
        self.within = place.called_from
        if self.within is None:
            self.out.line(f"// {self.program.name}, line {place.line}")
        else:
            self.out.line(f"// {place.function}, called at line {self.within.line}")

    def _declare_before(self, path: Path, index: int) -> None:
        site = DeclarationPoint(path, index, False)
        for name, scalar in self.scalars.items():
            if scalar.site == site:
                self.out.line(f"{self._scalar_type(name, scalar)} {self.names[name]} = {literal(0, scalar.dtype)};")
        for name, place in self.arrays.items():
            if place == site:
                self._declare(self.declared[name])

    def _index_type(self, name: str) -> str:
        return C_TYPE[DType.I64 if name in self.expressions.wide else DType.INDEX]

    def _scalar_type(self, name: str, scalar: Scalar) -> str:
        unread = "" if scalar.read else "[[maybe_unused]] "
        const = "const " if scalar.constant and scalar.site.here else ""
        dtype = self._index_type(name) if scalar.dtype is DType.INDEX else C_TYPE[scalar.dtype]
        return f"{unread}{const}{dtype}"

    def _declare(self, stmt: ir.DeclareArray | ir.DeclareAccumulator, start: str = "") -> None:
        shared = "__shared__ " if isinstance(stmt, ir.DeclareArray) and stmt.memory == "shared" else ""
        if shared and (bytes_ := self.alignment(stmt.name)) > 1:
            shared += f"__align__({bytes_}) "
        extents = "".join(f"[{extent}]" for extent in stmt.shape)
        if stmt.name in self.words.arrays:
            count = -(-stmt.shape[0] // per_word(stmt.dtype))
            self.out.line(f"unsigned int {self.names[stmt.name]}[{count}] = {{}};")
            return
        unread = "" if self._is_read(stmt.name) else "[[maybe_unused]] "
        out = self.shared if shared and self.expressions.whole else self.out
        if stmt.name in self.dynamic.offsets:
            place, dtype = f"{self.memory} + {self.dynamic.offsets[stmt.name]}", C_TYPE[stmt.dtype]
            found = f"*reinterpret_cast<{dtype} (*){extents}>({place})"
            out.line(f"{unread}{dtype} (&{self.names[stmt.name]}){extents} = {found};")
            return
        out.line(f"{unread}{shared}{C_TYPE[stmt.dtype]} {self.names[stmt.name]}{extents}{start};")

    def _is_read(self, name: str) -> bool:
        return any(name in names_in(expr) for stmt in statements(self.program.body) for expr in own_expressions(stmt))

    def _statement(self, stmt: Stmt, path: Path, index: int, facts: Facts) -> None:
        if id(stmt) in self.words.parts:
            return
        if (move := self.words.moves.get(id(stmt))) is not None:
            self.out.line(f"{self.expressions.word(*move.target, facts)} = {self.expressions.moved(move, facts)};")
            return
        here = DeclarationPoint(path, index, True)
        text = self.expressions.text
        match stmt:
            case ir.Assign(name=name, value=value):
                scalar = self.scalars[name]
                head = f"{self._scalar_type(name, scalar)} " if scalar.site == here else ""
                self.out.line(f"{head}{self.names[name]} = {text(value, facts)};")
                if isinstance(value, ir.Coordinate) and self._names_coordinate(stmt, value):
                    key: tuple[str, str] = (value.name, value.axis)
                    self.expressions.coordinates = {
                        **self.expressions.coordinates,
                        key: CText(self.names[name], PRIMARY),
                    }
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
                self._loop(stmt, path, index, facts)
            case ir.If():
                self._branch(stmt, path, index, facts)
            case ir.Barrier(scope=scope):
                self.out.line("__syncthreads();" if scope == "block" else "__syncwarp();")
            case ir.WarpInstruction():
                self._whole_warp(stmt, facts)
            case ir.CopyAsync() | ir.CopyGroup():
                self._lines(list(copy_lines(stmt, self.expressions, facts)))
            case _:
                assert_never(stmt)

    def _whole_warp(self, stmt: ir.WarpInstruction, facts: Facts) -> None:
        row, fragments = row_operand(stmt), []
        for operand in registers(stmt):
            assert isinstance(operand, ir.Load | ir.AccumulatorValue)
            array = operand.array if isinstance(operand, ir.Load) else operand.accumulator
            outer = "".join(f"[{self.expressions.text(index, facts)}]" for index in operand.indices[:-1])
            fragments.append(f"{self.names[array]}{outer}")
        if isinstance(stmt.row, MatrixProduct):
            fragments = [fragments[-1], *fragments[:-1]]
        elif row is None:
            fragments.reverse()
        else:
            fragments.append(self.expressions.address(row.array, row.indices, facts))
        self.out.line(f"{function_of(stmt)}({', '.join(fragments)});")

    def _store(self, stmt: ir.Store, facts: Facts) -> None:
        value = self.expressions.text(stmt.value, facts)
        inside = self.expressions.inside(stmt.array, stmt.indices, facts)
        if stmt.atomic:
            assert not inside, "a kernel with atomic additions keeps its sizes"
            name = {"+": "Add", "&": "And", "|": "Or", "^": "Xor"}.get(stmt.joins, stmt.joins.capitalize())
            self.out.line(f"atomic{name}(&{self.expressions.element(stmt.array, stmt.indices, facts)}, {value});")
            return
        if inside and any(isinstance(part, ir.Shuffle) for part in subexpressions(stmt.value)):
            # All lanes shuffle, also those whose element is out of range.
            with self.out.block(""):
                name = self._unused("stored")
                self.out.line(f"const {C_TYPE[stmt.value.dtype]} {name} = {value};")
                self.out.line(f"if ({inside}) {self.expressions.stored(stmt.array, stmt.indices, name, facts)}")
            return
        guard = f"if ({inside}) " if inside else ""
        self.out.line(f"{guard}{self.expressions.stored(stmt.array, stmt.indices, value, facts)}")

    def _unused(self, name: str) -> str:
        while name in self.names.values() or name in self.taken:
            name += "_"
        return name

    def _accumulator(self, stmt: ir.DeclareAccumulator, here: bool) -> None:
        self.accumulators[stmt.name] = stmt
        start = literal(law_of(stmt.outer).start(stmt.dtype) if stmt.init is None else stmt.init.value, stmt.dtype)
        name = self.names[stmt.name]
        if not stmt.shape:
            if here:
                self._declare(stmt, f" = {start}")
            else:
                self.out.line(f"{name} = {start};")
            return
        if here:
            self._declare(stmt)
        indices = [f"{name}_{axis}" for axis in "ijklmn"[: len(stmt.shape)]]
        assert len(indices) == len(stmt.shape), "an array of accumulators has at most six dimensions"
        for depth, (variable, extent) in enumerate(zip(indices, stmt.shape, strict=True)):
            self.out.line("#pragma unroll")
            self.out.line(f"for (int {variable} = 0; {variable} < {extent}; ++{variable}) {{")
            self.out.indent(1)
            if depth == len(indices) - 1:
                self.out.line(f"{name}{''.join(f'[{each}]' for each in indices)} = {start};")
        for _ in indices:
            self.out.indent(-1)
            self.out.line("}")

    def _accumulate(self, stmt: ir.Accumulate, facts: Facts) -> None:
        declared = self.accumulators[stmt.accumulator]
        decided = None if stmt.condition is None else decide(stmt.condition, {})
        if decided is False:
            return
        guard = ""
        if stmt.condition is not None and decided is None:
            guard = f"if ({self.expressions.text(stmt.condition, facts)}) "
            facts = facts_where(stmt.condition, True, facts)
        value = stmt.operands[0]
        for operand in stmt.operands[1:]:
            assert declared.inner is not None, "several operands need an inner operator"
            value = ir.Binary(declared.inner, value, operand, declared.dtype, stmt.place)
        target = self.expressions.element(stmt.accumulator, stmt.indices, facts)
        self.out.line(f"{guard}{self._update(target, declared.outer, value, declared.dtype, facts)}")

    def _update(self, target: str, outer: ReductionOp, value: ir.Expr, dtype: DType, facts: Facts) -> str:
        if dtype in UNSIGNED and outer in WRAPPING:
            level = PRECEDENCE[outer]
            held, given = converted(target, UNSIGNED[dtype]), self.expressions.modular(value, facts)
            return f"{target} = {converted(f'{held} {outer} {given.inside(outer, level + 1)}', dtype)};"
        if dtype is DType.BF16 and not isinstance(outer, ir.OperatorName):
            kept = f"{OF_HALF[dtype]}({target})"
            number = self.expressions.print(ir.Cast(value, DType.F32, value.place), facts)
            joined = f"{function_name(outer, DType.F32)}({kept}, {number.text})"
            if law_of(outer).infix:
                joined = f"{kept} {outer} {number.inside(outer, PRECEDENCE[outer] + 1)}"
            return f"{target} = {TO_HALF[dtype]}({joined});"
        if law_of(outer).infix:
            return f"{target} {outer}= {self.expressions.text(value, facts)};"
        return f"{target} = {function_name(outer, dtype)}({target}, {self.expressions.text(value, facts)});"

    def _vector(self, stmt: ir.For, path: Path, index: int, facts: Facts) -> None:
        """Print a loop over neighbouring words as one access."""
        vector = self.vectors[stmt]
        taken = (*self.names.values(), *self.taken, *self.vector_names)
        name = c_names([f"{self.names[vector.array]}_{vector.width}"], taken).popitem()[1]
        if not vector.is_store:
            self.vector_names.append(name)
        lines = self._vector_lines(vector, name, facts)
        inside = self.expressions.inside(vector.array, vector.last, facts)
        if inside:
            self.out.line(f"if ({inside}) {{")
            with self.out.nested():
                self._lines(lines)
            together = inside == self.expressions.inside(vector.array, vector.indices, facts)
            if not (together and vector.is_store):
                self.out.line("} else {")
                with self.out.nested():
                    if together:  # an array of vectors ends between two of them
                        self._lines(self.expressions.filled(vector, facts))
                    else:  # where the array ends within the vector, its words go one by one
                        self._counted(stmt, path, index, facts)
            self.out.line("}")
        else:
            self._lines(lines)

    def _vector_lines(self, vector: VectorAccess, name: str, facts: Facts) -> list[str]:
        printed, words = self.expressions, self._words_of(vector)
        if words:
            texts = [printed.word(array, number, facts) for array, number in words]
            return list(word_lines(vector, lambda array, at: printed.element(array, at, facts), texts, name))
        return list(
            vector_lines(
                vector,
                lambda array, at: printed.element(array, at, facts),
                lambda array, at: printed.text(ir.Load(array, at, vector.dtype, vector.registers[0].place), facts),
                lambda array, at, value: printed.stored(array, at, value, facts),
                name,
            )
        )

    def _words_of(self, vector: VectorAccess) -> list[tuple[str, ir.Expr]]:
        """Return the words that a vector's registers are, if they are whole ones.

        An array that the kernel writes and reads is accessed by its own type only: to a compiler, others are elsewhere.
        """
        registers = [each.indices[0] for each in vector.registers]
        array = vector.registers[0].array
        both = any(
            parameter.name == vector.array and parameter.role == "inout" for parameter in self.program.parameters
        )
        if array not in self.words.arrays or both or vector.array in self.declared:
            return []
        per = per_word(vector.dtype)
        if vector.width % per or multiple_of(registers[0], {}, {}) % per:
            return []
        place = registers[0].place
        by = ir.Const(per, DType.INDEX, place)
        return [
            (array, simplify_expression(ir.Binary("//", index, by, DType.INDEX, place), {}))
            for index in registers[::per]
        ]

    def _lines(self, lines: list[str]) -> None:
        for line in lines:
            self.out.line(line)

    def _loop(self, stmt: ir.For, path: Path, index: int, facts: Facts) -> None:
        if stmt in self.vectors:
            self._vector(stmt, path, index, facts)
        else:
            self._counted(stmt, path, index, facts)

    def _counted(self, stmt: ir.For, path: Path, index: int, facts: Facts) -> None:
        step = range_of(stmt.step, facts)
        if step.lo <= 0 <= step.hi:
            raise SwizzleError(
                "the loop's step may be positive or negative",
                place=stmt.place,
                expected="a step whose sign is known",
                fix="use a constant step",
            )
        changing = assigned_in(stmt.body)
        assert stmt.variable not in changing, f"the loop variable {stmt.variable} is assigned inside its loop"
        name = self.names[stmt.variable]
        bounds = {"stop": stmt.stop, "step": stmt.step}
        texts: dict[str, str] = {}
        for role, bound in bounds.items():
            texts[role] = self.expressions.text(bound, facts, 11)
            if names_in(bound) & (changing | {stmt.variable}):
                # Python evaluates a range once, before the loop.
                fixed = f"{name}_{role}"
                wide = is_wide(bound, facts, self.expressions.wide)
                self.out.line(f"const {C_TYPE[DType.I64 if wide else DType.INDEX]} {fixed} = {texts[role]};")
                texts[role] = fixed
        if stmt in self.unrolled:
            self.out.line("#pragma unroll")
        advance = f"++{name}" if step.value == 1 else f"--{name}" if step.value == -1 else f"{name} += {texts['step']}"
        compare = "<" if step.lo > 0 else ">"
        start = self.expressions.text(stmt.start, facts)
        with self.out.block(
            f"for ({self._index_type(stmt.variable)} {name} = {start}; {name} {compare} {texts['stop']}; {advance})"
        ):
            self._body(stmt.body, (*path, (index, "for")), loop_facts(stmt, facts))

    def _branch(self, stmt: ir.If, path: Path, index: int, facts: Facts) -> None:
        self.out.line(f"if ({self.expressions.text(stmt.condition, facts)}) {{")
        with self.out.nested():
            self._body(stmt.then, (*path, (index, "then")), facts_where(stmt.condition, True, facts))
        otherwise, where = stmt.otherwise, (*path, (index, "else"))
        facts = facts_where(stmt.condition, False, facts)
        while len(otherwise) == 1 and isinstance(otherwise[0], ir.If) and not self._declares_in(where):
            inner = otherwise[0]
            self.out.line(f"}} else if ({self.expressions.text(inner.condition, facts)}) {{")
            with self.out.nested():
                self._body(inner.then, (*where, (0, "then")), facts_where(inner.condition, True, facts))
            otherwise, where = inner.otherwise, (*where, (0, "else"))
            facts = facts_where(inner.condition, False, facts)
        if otherwise:
            self.out.line("} else {")
            with self.out.nested():
                self._body(otherwise, where, facts)
        self.out.line("}")

    def _declares_in(self, path: Path) -> bool:
        sites = [scalar.site for scalar in self.scalars.values()] + list(self.arrays.values())
        return any(site.path == path and not site.here for site in sites)
