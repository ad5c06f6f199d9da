"""One expression of low-level patterns as one kernel: what is read is a view, what is written has a destination.

The expression has decided what is spread over blocks and threads, what is kept in which memory, and in which order
sums are made. The lowering decides nothing, and nobody trusts it: its text is a sketch like any other, solved and
proved against the specification. It knows where barriers go (behind what fills shared memory, and at the end of a loop
that does), that what stands outside of all maps over threads is stored by one of them, and that a sum of arrays is made
in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from swizzle.derive.patterns.keeping import KeptPatterns
from swizzle.derive.patterns.scope import OWNED, PatternScope, element_of, extents, kinds_of, level_of, only_moves
from swizzle.derive.patterns.views import ArrayCell, PatternValue, PatternView, VectorView, number, tuple_of, view_of
from symbolic.expressions.expression import constant
from symbolic.ir.program import Expr
from symbolic.patterns import terms as t
from symbolic.patterns.terms import Term, operand_of, operands
from symbolic.patterns.types import ArrayOf, TupleOf, ValueType, VectorOf


class LoweredKernel(KeptPatterns):
    """Writes one kernel."""

    # -- what is written ---------------------------------------------------------------------------------------------

    def write(self, term: Term, out: PatternValue, scope: PatternScope) -> None:
        """Emit statements that compute a term into a destination."""
        match term:
            case t.Map() if only_moves(term) and not isinstance(term.array, t.Variable):
                self.write(term.array, self._behind(term, out, scope), scope)
            case t.Map(kind="map" | "seq", array=t.PrefixScan() as inner):
                into = view_of(out)
                self._scan(inner, lambda i, made: self._write_element(term, made, into.at(i), scope), scope)
            case t.Map():
                asked = "exchange" in self.holes and term.kind in OWNED and _in_registers(term.array)
                source = self.exchanged(term, scope) if asked else view_of(self.value(term.array, scope))
                into = view_of(out)
                self.over(term, source.length, lambda i: self._write_element(term, source.at(i), into.at(i), scope))
            case t.JoinChunks() | t.Split() | t.Transpose() | t.AsScalar() | t.ReorderStride() | t.Reorder() if (
                not isinstance(term.array, t.Variable)
            ):
                self.write(term.array, self._behind(term, out, scope), scope)
            case t.Let():
                self.write(term.body, out, self._with_let(term, scope))
            case t.ToMemory(memory="global"):
                self.write(term.array, out, scope)
            case t.Tupled() if isinstance(out, tuple) and all(isinstance(each, ArrayCell) for each in out):
                self.assign(out, self.value(term, scope))
            case t.Tupled():
                for each, place in zip(term.items, tuple_of(out), strict=True):
                    self.write(each, place, scope)
            case t.Iterate() if term.times > 0:
                before = self.iterated(term, scope, term.times - 1)
                kind = self.type_of(replace(term, times=term.times - 1), scope)
                self.write(term.function.body, out, scope.bind(term.function.parameters, [before], [kind]))
            case t.PrefixScan():
                into, kind = view_of(out), self._parameter_types(term, scope)[0]
                self._scan(term, lambda i, made: self.copy(into.at(i), made, kind, []), scope)
            case t.Indexed(array=t.Reduce() as inner, index=t.Formula()) if self._in_place(inner, out, scope):
                source = view_of(self.value(inner.array, scope))
                kinds = self._parameter_types(inner, scope)
                if isinstance(kinds[0], ArrayOf):
                    self._sum_into(out, inner, source, scope, kinds)
                else:
                    self._each(source, lambda i: self._accumulate(out, inner, source.at(i), scope))
            case t.Indexed(array=t.Reduce() as inner) if isinstance(self._parameter_types(inner, scope)[0], ArrayOf):
                value = view_of(self.value(inner, scope)).at(number(0))
                self.copy(out, value, self.type_of(term, scope), kinds_of(inner.operator.body))
            case t.Reduce() if isinstance(self._parameter_types(term, scope)[0], ArrayOf):
                self.write(t.Indexed(term, t.Formula(constant(0))), view_of(out).at(number(0)), scope)
            case _:
                self.copy(out, self.value(term, scope), self.type_of(term, scope), [])

    def _write_element(self, term: t.Map, given: PatternValue, out: PatternValue, scope: PatternScope) -> None:
        if term.function.width:
            kind = element_of(self.type_of(term, scope))
            self.copy(out, self._applied([given], term, scope), kind, [])
            return
        inner = scope.bind(term.function.parameters, [given], self._parameter_types(term, scope))
        self.write(term.function.body, out, inner)

    def _in_place(self, term: t.Reduce, out: PatternValue, scope: PatternScope) -> bool:
        """Tell whether a sequential reduction begins with what its destination holds."""
        if not isinstance(term.start, t.Variable | t.Item):
            return False
        start = self.value(term.start, scope)
        return self._first(start) == self._first(out)

    def _first(self, value: PatternValue) -> object:
        """Return what tells arrays apart: the element in the place that the thread has."""
        while isinstance(value, PatternView):
            value = value.at(number(0)) if value.length == 1 else value.at(self.indices.name("\x00", value.length))
        return value.text if isinstance(value, ArrayCell) else value

    def _scan(self, term: t.PrefixScan, store: Callable[[Expr, PatternValue], None], scope: PatternScope) -> None:
        source = view_of(self.value(term.array, scope))
        acc = self._started(self.value(term.start, scope), self._parameter_types(term, scope)[0])

        def step(i: Expr) -> None:
            if term.kind == "before":
                store(i, acc)
            self._accumulate(acc, term, source.at(i), scope)
            if term.kind == "scan":
                store(i, acc)

        self.out.loop(source.length, step)

    def over(self, term: t.Map, count: int, body: Callable[[Expr], None]) -> None:
        """Emit what a map does to each element, by the loop, the blocks or the threads of its kind."""
        if term.kind in ("map", "seq"):
            self.out.loop(count, body)
            return
        if term.kind == "global":
            axis = term.axis
            levels = (f"block.{axis}", f"local.{axis}")
            block, local = map(self.out.coordinate, levels)
            index = self.indices.row(block, self.out.shape.extent(levels[1]), local)
            with self.out.binding(*levels):
                self.out.guarded(index, count, body)
            return
        level = level_of(term)
        threads, mine = self.out.shape.extent(level), self.out.coordinate(level)
        with self.out.binding(level):
            if term.kind == "block" or count == threads:
                assert count == threads, "the grid was made so"
                body(mine)
            elif count < threads:
                self.out.guarded(mine, count, body)
            else:
                rounds = -(-count // threads)

                def one(r: Expr) -> None:
                    index = self.indices.row(r, threads, mine)
                    self.out.guarded(index, count, body)

                self.out.loop(rounds, one)

    def copy(self, out: PatternValue, value: PatternValue, kind: ValueType, maps: Sequence[t.Map]) -> None:
        """Emit the copy of a value to a destination; elements that threads have, each copies itself."""
        if isinstance(kind, TupleOf) and isinstance(out, tuple):
            for into, each, inner in zip(out, tuple_of(value), kind.items, strict=True):
                self.copy(into, each, inner, maps)
            return
        if isinstance(kind, ArrayOf):
            into, of = view_of(out), view_of(value)

            def one(i: Expr) -> None:
                self.copy(into.at(i), of.at(i), kind.element, maps[1:])

            if maps and maps[0].kind in OWNED:
                self.over(maps[0], of.length, one)
            else:
                self.out.loop(of.length, one)
            return
        if isinstance(out, VectorView):
            self._store_vector(out, value)
            return
        self.assign(out, value)

    def _store_vector(self, out: VectorView, value: PatternValue) -> None:
        if out.cell is None:
            self.assign(out, value)
            return
        if isinstance(value, VectorView) and value.cell is not None:
            self.out.store(out.cell, value.cell.text)
            return
        texts = self.out.numbers.texts(self._places(value, out.width))
        self.out.store(out.cell, f"cuda.float{out.width}({', '.join(texts)})")

    def _behind(self, term: Term, out: PatternValue, scope: PatternScope) -> PatternValue:
        """Return where the elements go that a pattern moves, or a map that only moves, if what it makes goes to `out`.

        That is what the pattern that moves them back makes of `out`.
        """
        into, kind = view_of(out), self.type_of(term, scope)
        if isinstance(term, t.Map):
            inner = scope.bind(term.function.parameters, [()], self._parameter_types(term, scope))
            body = term.function.body
            return PatternView(into.length, lambda i: self._origin(body, into.at(i), inner))
        inside = self.type_of(operand_of(term), scope)
        match term:
            case t.JoinChunks():
                return self.moved(t.Split(constant(extents(inside)[1]), term), into, kind)
            case t.Split():
                return self.moved(t.JoinChunks(term), into, kind)
            case t.AsScalar():
                vector = element_of(inside)
                assert isinstance(vector, VectorOf)
                return self.moved(t.AsVector(vector.width, term), into, kind)
            case t.ReorderStride():
                return self.moved(t.ReorderStride(constant(into.length // int(term.stride.value)), term), into, kind)
        return self.moved(term, into, kind)

    def _origin(self, term: Term, out: PatternValue, scope: PatternScope) -> PatternValue:
        if isinstance(term, t.Variable):
            return out
        return self._origin(operand_of(term), self._behind(term, out, scope), scope)


def _in_registers(term: Term) -> bool:
    """Tell whether a term is what threads have in registers, moved."""
    moved = [term, *operands(term)]
    return any(isinstance(each, t.ToMemory) and each.memory == "registers" for each in moved)
