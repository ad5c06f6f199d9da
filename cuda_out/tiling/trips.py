"""Loops over a length: which loops of a kernel take an array chunk by chunk, and the same loops at any length.

    for k in range(4): acc += x[32 * k + lane]      x has 128 elements, a chunk 32: this is 'x along k'

At another length the loop runs as often as there are chunks. What reaches behind the end in the last one is masked: a
statement that only adds to something, or stores there, is left out (`if 32 * k + lane < length`); in others, a load
gives a number instead. Whether the kernel is right at other lengths is checked elsewhere.

Where a loop accumulates states, word by word: statements that are one update of several variables.

    t_0 = combine_0(s_0, s_1, new_0, new_1)
    t_1 = combine_1(s_0, s_1, new_0, new_1)
    s_0 = t_0
    s_1 = t_1

A state of one word is `s = combine(s, new)`. Such an update only puts a state behind those that are there.

Where a loop keeps several chunks under way, in stages of an array that take turns (`tile[k % 3]`), trips are alike in
groups of as many: `period`. What it begins to fetch for a later trip it does while there is one, `if k + 2 < 4`, which
is asked of the length instead: `(k + 2) * 32 < length`.

From a kernel of fixed size to what each of its blocks runs, ready for the passes and the printer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import lcm
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import assert_never

from cuda_out.passes.simplify import inline_finals
from cuda_out.tiling.tiling import AXES, Masks, TiledAxis, Tiling, endless, first_block, uses_blocks
from cuda_out.tiling.translation import Ends, NotTranslated, Translated, translated
from symbolic.algebra.operator_laws import law_of
from symbolic.ir import program as ir
from symbolic.ir.copies import copy_of_one, stores_of
from symbolic.ir.functions import Joined, joined_of
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    assigned_in,
    bodies,
    map_bodies,
    map_own,
    names_in,
    own_expressions,
    rebuild,
    same,
    statements,
    subexpressions,
)

MOST_STAGES: Final = 8


class StateUpdate(Struct, frozen=True):
    """The statements, the names of the words, the state that is put behind theirs, and how words are combined."""

    statements: Body
    words: tuple[str, ...]
    state: tuple[Expr, ...]
    joined: Joined

    @property
    def of_any_length(self) -> bool:
        """Whether the laws hold however many states there are: no number of elements is promised."""
        return self.joined.lifted is None or self.joined.of_any is not None


def state_updates(body: Body) -> Iterator[StateUpdate]:
    """Yield the updates of states in a body, those of the bodies in it too."""
    for place, stmt in enumerate(body):
        found = _update_at(body, place)
        if found is not None:
            yield found
        for inner in bodies(stmt):
            yield from state_updates(inner)


def _update_at(body: Body, place: int) -> StateUpdate | None:
    """Return the update that begins at a statement."""
    first = body[place]
    if not isinstance(first, ir.Assign) or not isinstance(first.value, ir.Apply):
        return None
    joined = joined_of(first.value.function)
    if joined is None:
        return None
    count, given = joined.words, first.value.operands
    some = tuple(each for each in body[place : place + (2 * count if count > 1 else 1)] if isinstance(each, ir.Assign))
    targets = some[-count:]
    if len(some) < count + len(targets) * (count > 1) or not targets[0].accumulates:
        return None
    for number, (kept, target) in enumerate(zip(some, targets, strict=False)):
        made = kept.value
        own = joined_of(made.function) if isinstance(made, ir.Apply) else None
        if own is None or (own.operator, own.word) != (joined.operator, number) or not _same(made, first.value):
            return None
        if not _is_variable(given[number], target.name) or (count > 1 and not _is_variable(target.value, kept.name)):
            return None
    words, state = tuple(target.name for target in targets), given[count:]
    if any(names_in(each) & {*words} for each in state):
        return None
    return StateUpdate(some, words, state, joined)


def _same(one: Expr, other: Expr) -> bool:
    """Say whether two functions have the same operands."""
    assert isinstance(one, ir.Apply) and isinstance(other, ir.Apply)
    return len(one.operands) == len(other.operands) and all(map(same, one.operands, other.operands))


def _is_variable(expr: Expr, name: str) -> bool:
    return isinstance(expr, ir.Var) and expr.name == name


Dimension: TypeAlias = tuple[str, int]
"""An array and one of its dimensions."""


class ChunkLoop(Struct, frozen=True):
    """A loop that takes `chunk` elements of each of these dimensions each trip, until all `declared` ones are taken.

    Trips are alike in groups of `period`."""

    loop: ir.For
    chunk: int
    declared: int
    along: tuple[Dimension, ...]
    period: int = 1

    @property
    def of_variable(self) -> int:
        """How many elements a step of the variable by one is."""
        return self.chunk // _number(self.loop.step)


def period_of(loop: ir.For) -> int:
    """Return the number of trips in which a loop's indices take turns: `k % 3`."""
    found = 1
    for stmt in statements(loop.body):
        for part in (part for expr in own_expressions(stmt) for part in subexpressions(expr)):
            match part:
                case ir.Binary(op="%", left=left, right=ir.Const(value=value)) if loop.variable in names_in(left):
                    found = lcm(found, abs(int(value)) or 1)
                case _:
                    pass
    return found if found <= MOST_STAGES else 1


def one_trip(program: Program, loop: ir.For, chunk: int = 0, period: int = 1) -> Translated | NotTranslated:
    """Follow how a loop's body moves from trip to trip, as blocks do along an axis that the kernel does not use.

    With a `chunk`, which is what the length is asked for more each trip, nothing may depend on which trip it is.
    So many trips at once may differ from each other: a `period`.
    """
    sizes = zip(AXES, program.grid, strict=True)
    free = [axis for axis, size in sizes if size == 1 and not uses_blocks(program, axis)]
    if not free:
        return NotTranslated("the kernel uses all axes of the grid", loop.place)
    trip = ir.Coordinate("blockIdx", free[-1], loop.place)

    def binary(op: ir.BinaryOp, left: Expr, right: Expr) -> Expr:
        return ir.Binary(op, left, right, DType.INDEX, loop.place)

    def number(value: int) -> Expr:
        return ir.Const(value, DType.INDEX, loop.place)

    ahead = binary("*", trip, number(chunk * period))

    def at_trip(body: Body, moved: Expr) -> Body:
        def change(expr: Expr) -> Expr:
            if isinstance(expr, ir.Compare) and is_length(expr.right) and chunk:
                return replace(expr, left=change(expr.left), right=ahead)
            return moved if isinstance(expr, ir.Var) and expr.name == loop.variable else rebuild(expr, change)

        return tuple(map_bodies(map_own(stmt, change), lambda inner: at_trip(inner, moved)) for stmt in body)

    first = trip if period == 1 else binary("*", trip, number(period))
    trips = [first, *(binary("+", first, number(each)) for each in range(1, period))]
    declared = tuple(s for s in statements(program.body) if isinstance(s, ir.DeclareArray | ir.DeclareAccumulator))
    every = (at_trip(loop.body, binary("+", loop.start, binary("*", each, loop.step))) for each in trips)
    body = (*declared, *(stmt for some in every for stmt in some))
    return translated(replace(program, body=body), free[-1], bounds=not chunk)


def is_length(expr: Expr) -> bool:
    """Tell whether an expression is the length that loops run along."""
    return isinstance(expr, ir.Coordinate) and expr.name == "left" and expr.axis == "k"


def chunk_loops(program: Program) -> list[ChunkLoop]:
    """Find the loops of a program without final functions that take all of a dimension chunk by chunk."""
    shapes = {parameter.name: parameter.shape for parameter in program.parameters}
    by_value = {parameter.name for parameter in program.parameters if parameter.by_value}  # which cannot grow
    found: list[ChunkLoop] = []
    for loop in statements(program.body):
        if not isinstance(loop, ir.For) or not all(isinstance(e, ir.Const) for e in (loop.start, loop.stop, loop.step)):
            continue
        start, stop, step = _number(loop.start), _number(loop.stop), _number(loop.step)
        if step < 1 or start < 0 or start % step:
            continue
        period = period_of(loop)
        moves = one_trip(program, loop, period=period)
        if isinstance(moves, NotTranslated):
            continue
        steps = {(name, place): n for name, each in moves.strides.items() for place, n in enumerate(each) if n}
        if any(n % period for n in steps.values()):
            continue
        by = {dimension: n // period for dimension, n in steps.items()}
        whole = all(
            n > 0 and n % step == 0 and -(-shapes[name][place] // (n // step)) == stop
            for (name, place), n in by.items()
        )
        extents = {shapes[name][place] for name, place in by}
        if by and whole and by_value.isdisjoint(name for name, _ in by) and len(extents) == len(set(by.values())) == 1:
            found.append(ChunkLoop(loop, min(by.values()), extents.pop(), tuple(by), period))
    return found


def with_length(program: Program, tiling: Tiling, length: int | None = None) -> Program:
    """Return the program as it runs along its loops' length: a number, or else as it asks for it (`left` along k)."""
    axis = tiling.of_loops
    if axis is None:
        return program
    along = {(n, at) for n, spans in tiling.spans.items() for at, span in enumerate(spans) if span and span.axis == "k"}
    plain = inline_finals(program)
    loops = [each for each in chunk_loops(plain) if along.issuperset(each.along) and each.declared == axis.declared]
    left = ir.Coordinate("left", "k", program.place)
    known = left if length is None else ir.Const(length, DType.INDEX, program.place)
    return replace(plain, body=_Masked(plain, loops, along, axis.declared, known, tiling.masks).body(plain.body))


class _Masked:
    """Rewrites a program's body for one length."""

    def __init__(
        self,
        program: Program,
        loops: list[ChunkLoop],
        along: set[Dimension],
        declared: int,
        length: Expr,
        masks: Masks,
    ) -> None:
        self.loops = {id(each.loop): each for each in loops}
        self.along, self.declared, self.length, self.masks = along, declared, length, masks
        self.parameters = {parameter.name for parameter in program.parameters}
        self.updates = {id(each.statements[0]): each for each in state_updates(program.body)}
        self.fresh = FreshNames(all_names(program))
        self.guards: tuple[Expr, ...] = ()
        self.inside: set[str] = set()  # variables that number elements one by one
        self.of: Mapping[str, tuple[Expr, ...]] = {}  # variables of data: where they are made of elements that exist

    def body(self, body: Body) -> Body:
        found: list[Stmt] = []
        waiting = list(body)
        while waiting:
            update = self.updates.get(id(waiting[0]))
            some = update.statements if update else tuple(waiting[:1])
            found += self._update(update) if update else self._statement(waiting[0])
            del waiting[: len(some)]
            gone = assigned_in(some)
            if update or not isinstance(some[0], ir.Assign):
                self.of = {name: each for name, each in self.of.items() if name not in gone}
            self.of = {n: e for n, e in self.of.items() if not any(names_in(condition) & gone for condition in e)}
        return tuple(found)

    def _statement(self, stmt: Stmt) -> Body:
        guards = self.guards
        match stmt:
            case ir.For():
                return (self._loop(stmt),)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                asked = self._expr(condition)
                self.guards = (*guards, asked)
                yes = self.body(then)
                self.guards = guards
                return (replace(stmt, condition=asked, then=yes, otherwise=self.body(otherwise)),)
            case ir.DeclareAccumulator(outer=outer, init=None, dtype=dtype) if law_of(outer).bound and dtype.is_float:
                start = law_of(outer).start(dtype)  # which is what the text begins with, and a short length leaves it
                return (replace(stmt, init=ir.Const(start, dtype, stmt.place)),)
            case ir.DeclareArray() | ir.DeclareAccumulator() | ir.Barrier() | ir.CopyGroup():
                return (stmt,)
            case ir.WarpInstruction():
                return (self._filled(stmt),)
            case ir.CopyAsync():
                return self._copied(stmt)
            case ir.Store(array=array) if array in self.parameters:
                return self._store(stmt)
            case ir.Assign() | ir.Store() | ir.Accumulate():
                return self._computed(stmt)
            case _:
                assert_never(stmt)

    def _loop(self, stmt: ir.For) -> Stmt:
        chunks, before, inside = self.loops.get(id(stmt)), self.of, set(self.inside)
        self.of = {n: e for n, e in self.of.items() if n not in assigned_in(stmt.body)}
        if chunks is None:
            changed = map_own(stmt, self._expr)
            assert isinstance(changed, ir.For)
            return replace(changed, body=self.body(stmt.body))
        each = chunks.of_variable
        stop = self.length
        if each == 1:
            self.inside.add(stmt.variable)
        else:
            more = ir.Binary("+", stop, ir.Const(each - 1, DType.INDEX, stmt.place), DType.INDEX, stmt.place)
            stop = ir.Binary("//", more, ir.Const(each, DType.INDEX, stmt.place), DType.INDEX, stmt.place)
        found = replace(stmt, stop=stop, body=self.body(stmt.body))
        self.of, self.inside = before, inside
        return found

    def _store(self, stmt: ir.Store) -> Body:
        """Return a store to global memory, which is left out behind the end."""
        conditions = self._missing(stmt.array, stmt.indices)
        if not conditions:
            return (self._filled(stmt),)
        if not any(isinstance(part, ir.Shuffle) for part in subexpressions(stmt.value)):
            return self._only(conditions, stmt)
        name = self.fresh.take("stored")
        kept = ir.Assign(name, stmt.value, stmt.place)
        return (
            self._filled(kept),
            *self._only(conditions, replace(stmt, value=ir.Var(name, stmt.value.dtype, stmt.place))),
        )

    def _copied(self, stmt: ir.CopyAsync) -> Body:
        """Return a copy, which fills in what stands for elements behind the end; where a copy may begin before the end
        and end behind it, a copy for each element as well."""
        load = stmt.load
        if stmt.width > 1 and self._missing(load.array, load.indices[-1:], len(load.indices) - 1):
            last = ir.Const(stmt.width - 1, DType.INDEX, stmt.place)
            ends = ir.Binary("+", load.indices[-1], last, DType.INDEX, stmt.place)
            (whole,) = self._missing(load.array, (ends,), len(load.indices) - 1)
            guards, self.guards = (
                self.guards,
                (*self.guards, whole, *self._missing(load.array, load.indices[-1:], len(load.indices) - 1)),
            )
            found = self._copied(stmt)
            self.guards = guards
            if len(load.indices) > 1:  # rows begin where copies may
                width, zero = (ir.Const(number, DType.INDEX, stmt.place) for number in (stmt.width, 0))
                rest = ir.Binary("%", self.length, width, DType.INDEX, stmt.place)
                whole = ir.Logic("and", ir.Compare("==", rest, zero, stmt.place), whole, stmt.place)
            e = ir.Var(self.fresh.loop_variable("e"), DType.INDEX, stmt.place)
            start, stop, step = (ir.Const(number, DType.INDEX, stmt.place) for number in (0, stmt.width, 1))
            one = self._copied(copy_of_one(stmt, e))
            return (ir.If(whole, found, (ir.For(e.name, start, stop, step, one, stmt.place),), stmt.place),)
        asked = list(self._missing(load.array, load.indices))
        if isinstance(stmt.source, ir.Select):
            asked.insert(0, self._expr(stmt.source.condition))
        indices = tuple(map(self._expr, load.indices))
        source: Expr = replace(load, indices=indices)
        to = tuple(map(self._expr, stmt.indices))
        if asked:
            condition = asked[0]
            for more in asked[1:]:
                condition = ir.Logic("and", condition, more, stmt.place)
            zero = ir.Const(self._filler(load.dtype), load.dtype, stmt.place)
            if zero.value and not isinstance(stmt.source, ir.Select):
                copied = replace(stmt, indices=to, source=source)
                stores = tuple(replace(each, value=zero) for each in stores_of(copied))
                return (ir.If(condition, (copied,), stores, stmt.place),)
            zero = replace(zero, value=type(zero.value)(0))
            source = ir.Select(condition, source, zero, load.dtype, stmt.place)
        return (replace(stmt, indices=to, source=source),)

    def _update(self, update: StateUpdate) -> Body:
        """Return an update of a state, which is left out where something that it is made of does not exist."""
        conditions = self._needed([part for expr in update.state for part in subexpressions(expr)])
        return self._only(conditions, *update.statements) if conditions else tuple(map(self._filled, update.statements))

    def _computed(self, stmt: ir.Assign | ir.Store | ir.Accumulate) -> Body:
        parts = [part for expr in own_expressions(stmt) for part in subexpressions(expr)]
        shuffles = any(isinstance(part, ir.Shuffle) for part in parts)
        conditions = () if shuffles else self._needed(parts)
        if conditions and update_of(stmt) is not None:
            return self._only(conditions, stmt)
        if isinstance(stmt, ir.Assign):
            self.of = {**self.of, stmt.name: conditions}
        return (self._filled(stmt),)

    def _only(self, conditions: tuple[Expr, ...], *some: Stmt) -> Body:
        """Return statements that run only where all of this is true."""
        guards, self.guards = self.guards, (*self.guards, *conditions)
        found = tuple(map(self._filled, some))
        self.guards = guards
        asked, place = conditions[0], some[0].place
        for more in conditions[1:]:
            asked = ir.Logic("and", asked, more, place)
        return (ir.If(asked, found, (), place),)

    def _filled(self, stmt: Stmt) -> Stmt:
        return map_own(stmt, self._expr)

    def _needed(self, parts: list[Expr]) -> tuple[Expr, ...]:
        """Return what must be true for all elements that a statement is made of to exist."""
        found: list[Expr] = []
        for part in parts:
            match part:
                case ir.Load(array=array, indices=indices):
                    wanted = self._missing(array, indices)
                case ir.Var(name=name):
                    wanted = self.of.get(name, ())
                case _:
                    wanted = ()
            found += [each for each in wanted if not any(same(each, known) for known in (*found, *self.guards))]
        return tuple(found)

    def _missing(self, array: str, indices: tuple[Expr, ...], first: int = 0) -> tuple[Expr, ...]:
        """Return what must be true for an element to exist, as far as that is not known; of its indices from `first`
        on."""
        found: list[Expr] = []
        for place, index in enumerate(indices, first):
            if (array, place) not in self.along or (isinstance(index, ir.Var) and index.name in self.inside):
                continue
            asked = ir.Compare("<", self._expr(index), self.length, index.place)
            if not any(same(asked, known) for known in (*found, *self.guards)):
                found.append(asked)
        return tuple(found)

    def _expr(self, expr: Expr) -> Expr:
        match expr:
            case ir.Const(value=value, dtype=dtype) if dtype.is_data and self.masks.counts and value == self.declared:
                return ir.Cast(self.length, dtype, expr.place)
            case ir.Compare(op="<" | ">=", left=left, right=ir.Const(value=value)) if chunk := self._ahead(
                left, int(value)
            ):
                ahead = ir.Binary("-", chunk.loop.stop, expr.right, DType.INDEX, expr.place)
                trips = ir.Binary("+", self._expr(left), ahead, DType.INDEX, expr.place)
                size = ir.Const(chunk.of_variable, DType.INDEX, expr.place)
                return replace(expr, left=ir.Binary("*", trips, size, DType.INDEX, expr.place), right=self.length)
            case ir.Compare(left=left, right=right) if left.dtype is DType.INDEX:
                sides = [self.length if _is(side, self.declared) else self._expr(side) for side in (left, right)]
                return replace(expr, left=sides[0], right=sides[1])
            case ir.Load(array=array, indices=indices) if array in self.parameters:
                found: Expr = rebuild(expr, self._expr)
                for asked in reversed(self._missing(array, indices)):
                    filler = ir.Const(self._filler(expr.dtype), expr.dtype, expr.place)
                    found = ir.Select(asked, found, filler, expr.dtype, expr.place)
                return found
            case _:
                return rebuild(expr, self._expr)

    def _ahead(self, left: Expr, value: int) -> ChunkLoop | None:
        """Return the loop that a comparison asks for a later trip of: `k < 3`, or `k + 1 < 4`, of four trips."""
        for chunk in self.loops.values():
            if chunk.period > 1 and chunk.loop.variable in names_in(left) and self.declared not in (value,):
                stop, step = _number(chunk.loop.stop), _number(chunk.loop.step)
                if 0 <= stop - value <= chunk.period * step:
                    return chunk
        return None

    def _filler(self, dtype: DType) -> int | float:
        return float(self.masks.filler) if dtype.is_float else int(self.masks.filler)


def update_of(stmt: Stmt) -> tuple[str, str] | None:
    """Return what a statement only adds to, and by which operator it does: `v = v + ...`, `a[i] = a[i] * ...`.

    An accumulator's operator is '', as it is declared, and that of `v = v - ...` is '+'. None where it does more.
    """
    match stmt:
        case ir.Accumulate(accumulator=name, operands=operands, condition=condition):
            asked = operands if condition is None else (*operands, condition)
            return None if any(name in names_in(each) for each in asked) else (name, "")
        case ir.Assign(name=name, value=ir.Binary(op=op, left=left, right=right)):
            sides = [(left, right), (right, left)]
            for number, (own, other) in enumerate(sides):
                if isinstance(own, ir.Var) and own.name == name and name not in names_in(other):
                    return name, "+" if op == "-" and number == 0 else op
        case ir.Store(array=name, indices=indices, value=ir.Binary(op=op, left=left, right=right)):
            sides, own = [(left, right), (right, left)], ir.Load(name, indices, stmt.value.dtype, stmt.place)
            for number, (element, other) in enumerate(sides):
                if same(element, own) and name not in names_in(other):
                    return name, "+" if op == "-" and number == 0 else op
    return None


def _number(expr: Expr) -> int:
    assert isinstance(expr, ir.Const)
    return int(expr.value)


def _is(expr: Expr, value: int) -> bool:
    return isinstance(expr, ir.Const) and expr.value == value


def ends_of(axis: TiledAxis) -> Ends:
    """Return what translation is told of an axis with edges."""
    return Ends(axis.blocks(axis.declared), axis.tile, axis.declared)


def without_bounds(program: Program, tiling: Tiling) -> Program:
    """Return the program without comparisons with the arrays' lengths, on a grid without end.

    Along axes with edges, they ask how much is before a block and left for it.
    """
    program = endless(with_length(program, tiling), [axis.axis for axis in tiling.of_grid])
    for axis in tiling.of_grid:
        moves = translated(program, axis.axis, ends_of(axis) if axis.edges else None)
        assert not isinstance(moves, NotTranslated), "a tiling has axes along which blocks are moved copies"
        program = moves.program
    return program


def one_tile(program: Program, tiling: Tiling) -> Program:
    """Return what block 0 runs where no array ends inside it."""
    return first_block(without_bounds(program, tiling), [axis.axis for axis in tiling.of_grid])
