"""Statements as Python text for numba.cuda: the kernel's body."""

from __future__ import annotations

from typing_extensions import assert_never

from cuda_out.analysis.placement import DeclarationPoint, Path, declarations, placements
from cuda_out.numba.expressions import NumbaExpressions
from cuda_out.numba.lines import PythonLines
from symbolic.errors import SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, after, decide, facts_where, launch_facts, loop_facts
from symbolic.ir.program import Program, Stmt
from symbolic.ir.walk import Body, FreshNames, subexpressions


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
