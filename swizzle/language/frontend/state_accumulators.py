"""Accumulators of operators on several words, as variables and arrays of states that are combined.

Nothing behind the front end knows them: `out.accumulate(s)` is `out = op.combine(out, s)`. An operator without words of
no element has a variable beside each accumulator, which says whether anything is in it yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce

from msgspec.structs import replace

from symbolic.algebra.states import StateLaw, packing
from symbolic.errors import Place
from symbolic.ir.program import (
    Accumulate,
    AccumulatorValue,
    Apply,
    Assign,
    Binary,
    Compare,
    Const,
    DeclareAccumulator,
    DeclareArray,
    DType,
    Expr,
    For,
    If,
    Load,
    OperatorName,
    Program,
    Select,
    Stmt,
    Store,
    Var,
)
from symbolic.ir.walk import Body, FreshNames, all_names, map_bodies, rewrite_program, statements


def with_combined_states(program: Program) -> Program:
    """Return the program with variables and arrays of states in the place of accumulators of states."""
    found = {
        stmt.name: stmt
        for stmt in statements(program.body)
        if isinstance(stmt, DeclareAccumulator) and combines_words(stmt)
    }
    return _Lowered(program, found).program() if found else program


def combines_words(stmt: DeclareAccumulator) -> bool:
    """Say whether an accumulator is one of words of a scan's operator."""
    return isinstance(stmt.outer, OperatorName) and isinstance(stmt.outer.law, StateLaw)


class _Lowered:
    def __init__(self, program: Program, found: dict[str, DeclareAccumulator]) -> None:
        self.whole, self.found = program, found
        fresh = FreshNames(all_names(program))
        given = {s.accumulator for s in statements(program.body) if isinstance(s, Accumulate) and s.begins}
        begun = (name for name, each in found.items() if _empty(each) is None and name not in given)
        self.begun = {name: fresh.take(f"{name}_begun") for name in begun}
        self.loops = {name: [fresh.take(f"{name}_{axis}") for axis in "ijk"] for name in found}

    def program(self) -> Program:
        arrays = tuple(
            DeclareArray(name, "local", each.shape, each.dtype, each.place)
            for name, each in self.found.items()
            if each.shape
        )
        body = (*arrays, *self._body(self.whole.body))
        return rewrite_program(replace(self.whole, body=body), self._value)

    def _value(self, expr: Expr) -> Expr:
        if isinstance(expr, AccumulatorValue) and expr.accumulator in self.found:
            return self._read(self.found[expr.accumulator], expr.indices, expr.place)
        return expr

    @staticmethod
    def _read(declared: DeclareAccumulator, indices: tuple[Expr, ...], place: Place) -> Expr:
        if declared.shape:
            return Load(declared.name, indices, declared.dtype, place)
        return Var(declared.name, declared.dtype, place)

    @staticmethod
    def _written(declared: DeclareAccumulator, indices: tuple[Expr, ...], value: Expr, place: Place) -> Assign | Store:
        return Store(declared.name, indices, value, place) if declared.shape else Assign(declared.name, value, place)

    def _body(self, body: Body) -> Body:
        return tuple(each for stmt in body for each in self._statement(stmt))

    def _statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case DeclareAccumulator(name=name) if name in self.found:
                yield self._emptied(stmt)
                if name in self.begun:
                    yield Assign(self.begun[name], Const(0, DType.INDEX, stmt.place), stmt.place)
            case Accumulate(accumulator=name, operands=(state,), begins=True):
                yield self._everywhere(self.found[name], state, stmt.place)
            case Accumulate(accumulator=name) if name in self.found:
                found = tuple(self._accumulated(stmt))
                yield from found if stmt.condition is None else (If(stmt.condition, found, (), stmt.place),)
            case _:
                yield map_bodies(stmt, self._body)

    def _emptied(self, stmt: DeclareAccumulator) -> Stmt:
        law, place = stmt.outer.law, stmt.place  # type: ignore[union-attr]
        numbers = _empty(stmt) or (0,) * len(law.kinds)
        words = tuple(Const(value, kind, place) for value, kind in zip(numbers, law.kinds, strict=True))
        assert isinstance(stmt.outer, OperatorName)
        state = words[0] if len(words) == 1 else Apply(packing(stmt.outer), words, DType.STATE, place)
        return self._everywhere(stmt, state, place)

    def _everywhere(self, stmt: DeclareAccumulator, state: Expr, place: Place) -> Stmt:
        """Return what gives a state to each of an array of accumulators, or to the only one."""
        counters = self.loops[stmt.name][: len(stmt.shape)]
        found: Stmt = self._written(stmt, tuple(Var(each, DType.INDEX, place) for each in counters), state, place)
        for counter, extent in reversed(list(zip(counters, stmt.shape, strict=True))):
            start, stop, step = (Const(value, DType.INDEX, place) for value in (0, extent, 1))
            found = For(counter, start, stop, step, (found,), place)
        return found

    def _accumulated(self, stmt: Accumulate) -> Iterator[Stmt]:
        declared, place = self.found[stmt.accumulator], stmt.place
        operand = reduce(partial(_joined, declared, place), stmt.operands)
        joined = _joined(declared, place, self._read(declared, stmt.indices, place), operand)
        begun = self.begun.get(stmt.accumulator)
        if begun is not None:
            here = Compare("==", Var(begun, DType.INDEX, place), Const(1, DType.INDEX, place), place)
            joined = Select(here, joined, operand, declared.dtype, place)
        written = self._written(declared, stmt.indices, joined, place)
        if begun is None:
            yield replace(written, accumulates=True)
        else:
            yield written
            yield Assign(begun, Const(1, DType.INDEX, place), place, accumulates=True)


def _joined(declared: DeclareAccumulator, place: Place, first: Expr, then: Expr) -> Expr:
    """Return what an accumulator's operator makes of two states."""
    assert isinstance(declared.outer, OperatorName)
    if declared.dtype is DType.STATE:
        return Binary(declared.outer, first, then, DType.STATE, place)
    return Apply(declared.outer.law.combine[0], (first, then), declared.dtype, place)


def _empty(stmt: DeclareAccumulator) -> tuple[int | float, ...] | None:
    found: tuple[int | float, ...] | None = stmt.outer.law.empty  # type: ignore[union-attr]
    return found
