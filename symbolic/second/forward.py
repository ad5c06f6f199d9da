"""A second reading of a program: forward, thread by thread, in plain formulas over what holes are open.

This is not how the search works, on purpose: it shares no code with the machine's deferred values, unions and
guards, so that what the two agree on does not rest on either. A steering value is its *cases*: each value it may
have, with a PySMT formula that says when. What data is, is the business of a `DataValues`. Everything is computed for
one thread at a time, when it is asked for, and kept. It is slow and simple.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace
from pysmt.environment import get_env
from pysmt.fnode import FNode
from typing_extensions import assert_never

from symbolic.elements import is_exact
from symbolic.ir import program as ir
from symbolic.ir.functions import ChoiceFunction, Gather, defined_with, gathered
from symbolic.ir.index import BINARY, COMPARE, LOGIC, UNARY
from symbolic.ir.matrices import MatrixProduct
from symbolic.ir.program import LANES, DType, Expr, Program, Stmt
from symbolic.ir.sites import Sites
from symbolic.ir.walk import never_read_back
from symbolic.ir.warp_meaning import row_operand
from symbolic.machine.launch_shape import LaunchShape
from symbolic.second.copies import CopyGroups
from symbolic.second.formulas import Cases, both, combine, grouped, no, some_of


class NotCovered(Exception):
    """The program does something that this reading does not follow."""


class Lazy:
    """A value for each thread, computed once when it is asked for."""

    def __init__(self, compute: Callable[[int], Any]) -> None:
        self._compute = compute
        self._known: dict[int, Any] = {}

    def __call__(self, t: int) -> Any:
        if t not in self._known:
            self._known[t] = self._compute(t)
        return self._known[t]


class DataValues(Protocol):
    """What data is; `whole` says whether integers count as numbers of any size."""

    whole: bool

    def atom(self, array: str, index: int) -> Any: ...
    def number(self, value: Any, dtype: DType) -> Any: ...
    def unwritten(self) -> Any: ...
    def is_unwritten(self, value: Any) -> FNode: ...

    def choose(self, cases: Sequence[tuple[FNode, Any]]) -> Any:
        """Return the value whose formula holds; the formulas are exclusive and exhaustive."""

    def apply(self, op: str, operands: Sequence[Any], dtype: DType) -> Any: ...
    def cast(self, value: Any, source: DType, target: DType) -> Any: ...

    def total(self, declared: ir.DeclareAccumulator, entries: Sequence[tuple[FNode, Sequence[Any]]]) -> Any:
        """Return an accumulator's value: what runs under which formula."""


class _Write(Struct, frozen=True):
    mask: Lazy
    address: Lazy
    value: Lazy


class _Memory:
    """An array: every write, in order. `sharers(t)` are the threads that reach the same instance as t."""

    def __init__(
        self, values: DataValues, shape: tuple[int, ...], sharers: Callable[[int], range], initial: str | None
    ) -> None:
        self.values, self.shape, self.sharers, self.initial = values, shape, sharers, initial
        self.writes: list[_Write] = []
        self._known: dict[tuple[int, int, int], Any] = {}
        self._hits: dict[tuple[int, int], dict[int, list[tuple[int, FNode]]]] = {}

    def read(self, t: int, cell: int, after: int) -> Any:
        """Return what thread t reads from a cell after that many writes."""
        key = (self.sharers(t).start, cell, after)
        if key not in self._known:
            self._known[key] = self._read(t, cell, after)
        return self._known[key]

    def _read(self, t: int, cell: int, after: int) -> Any:
        found: list[tuple[FNode, Any]] = []
        alive = get_env().formula_manager.TRUE()
        for number in range(after - 1, -1, -1):
            for u, hit in self.hits(t, number).get(cell, ()):
                found.append((both(alive, hit), self.writes[number].value(u)))
                alive = both(alive, no(hit))
            if alive.is_false():
                return self.values.choose(found)
        before = self.values.unwritten() if self.initial is None else self.values.atom(self.initial, cell)
        return self.values.choose([*found, (alive, before)])

    def hits(self, t: int, number: int) -> dict[int, list[tuple[int, FNode]]]:
        """Return, for each cell, the threads that a write may let write to it, each with its condition."""
        key = (self.sharers(t).start, number)
        if key not in self._hits:
            hits = self._hits[key] = {}
            write = self.writes[number]
            for u in self.sharers(t):
                if not write.mask(u).is_false():
                    for cell, formula in write.address(u).items():
                        if cell >= 0:
                            hits.setdefault(cell, []).append((u, both(write.mask(u), formula)))
        return self._hits[key]


class Forward:
    """One program, executed: its memories, its accumulates, and what must hold for each thread."""

    def __init__(self, program: Program, values: DataValues, hole: Callable[[int, tuple[int, ...]], Cases]) -> None:
        self.program, self.values, self.hole = program, values, hole
        self._outputs, self._sites = never_read_back(program), Sites.in_program(program)
        self.shape = LaunchShape.of(program)
        self.count, block = self.shape.count, self.shape.block_threads
        self.true, self.false = get_env().formula_manager.TRUE(), get_env().formula_manager.FALSE()
        self.must: list[Lazy] = []
        self.active: list[tuple[Stmt, Lazy]] = []
        self._groups = CopyGroups[tuple[_Memory, _Write]](self.count)
        self._scalars: dict[str, Lazy] = {}
        self._coordinates: dict[Any, Any] = {}
        self._accumulators: dict[str, tuple[ir.DeclareAccumulator, dict[int, list[Any]]]] = {}
        everyone = range(self.count)
        self._blocks = [range(b * block, (b + 1) * block) for b in range(self.shape.blocks)]
        self.memories = {
            p.name: _Memory(values, p.shape, lambda _: everyone, None if p.role == "out" else p.name)
            for p in program.parameters
        }
        for statement in program.body:
            self._run(statement, Lazy(lambda _: self.true))

    def output(self, array: str, cell: int) -> Any:
        """Return what an output element is in the end."""
        memory = self.memories[array]
        return memory.read(0, cell, len(memory.writes))

    # -- statements -----------------------------------------------------------------------------------------

    def _run(self, statement: Stmt, mask: Lazy) -> None:
        if isinstance(statement, ir.Assign | ir.Store) and statement.accumulates:
            self.active.append((statement, mask))
        match statement:
            case ir.Assign(name, value):
                self._assign(name, self._value(value, mask), mask, value.dtype)
            case ir.Store(atomic=True):
                raise NotCovered("an atomic addition")
            case ir.Store(array, indices, value):
                self._store(array, indices, value, mask)
            case ir.DeclareArray():
                block = self.shape.block_threads
                local = statement.memory == "local"
                own = lambda t: range(t, t + 1) if local else self._blocks[t // block]  # noqa: E731
                self.memories[statement.name] = _Memory(self.values, statement.shape, own, None)
            case ir.DeclareAccumulator(name):
                self._accumulators[name] = (statement, {})
            case ir.Accumulate():
                self._accumulate(statement, mask)
            case ir.For():
                self._loop(statement, mask)
            case ir.If(condition, then, otherwise):
                chosen = self._value(condition, mask)
                for body, side in ((then, True), (otherwise, False)):
                    inner = Lazy(lambda t, side=side: self._narrow(mask(t), chosen, side, t))  # type: ignore[misc]
                    for each in body:
                        self._run(each, inner)
            case ir.Barrier(scope):
                block = self.shape.block_threads
                self._together(mask, block if scope == "block" else max(self.shape.warp_size, LANES))
            case ir.WarpInstruction():
                self._whole_warp(statement, mask)
            case ir.CopyAsync():
                self._copy(statement, mask)
            case ir.CopyGroup(left):
                self._passed(left, mask)
            case _:
                assert_never(statement)

    def _whole_warp(self, statement: ir.WarpInstruction, mask: Lazy) -> None:
        """Run what an instruction means; the rows that lanes name begin at multiples of 16 bytes."""
        self._together(mask, LANES)
        row = row_operand(statement)
        if row is not None and not isinstance(statement.row, MatrixProduct):
            flat = self._address(self.memories[row.array], row.indices, mask)
            elements, naming = 16 * 8 // row.dtype.bits, 8 * statement.row.count
            lanes = self.shape.lane.tolist()

            def aligned(t: int) -> FNode:
                return no(some_of(f for cell, f in flat(t).items() if cell >= 0 and cell % elements))

            self.must.append(Lazy(lambda t: self._if(mask, t, lambda: aligned(t)) if lanes[t] < naming else self.true))
        for inner in self._sites.meaning(statement):
            self._run(inner, mask)

    # -- asynchronous copies --------------------------------------------------------------------------------

    def _copy(self, statement: ir.CopyAsync, mask: Lazy) -> None:
        """Begin a copy: its cells hold nothing until it arrives."""
        memory, load, source = self.memories[statement.array], statement.load, statement.source
        nothing, wanted = Lazy(lambda _: self.values.unwritten()), mask
        if isinstance(source, ir.Select):
            condition = self._value(source.condition, mask)
            wanted = Lazy(lambda t: self._narrow(mask(t), condition, True, t))
        self._even(self._address(self.memories[load.array], load.indices, wanted), statement.width, wanted)
        for place in range(statement.width):

            def further(indices: tuple[Expr, ...], place: int = place) -> tuple[Expr, ...]:
                step = ir.Const(place, DType.INDEX, statement.place)
                return (*indices[:-1], ir.Binary("+", indices[-1], step, DType.INDEX, statement.place))

            element = replace(load, indices=further(load.indices))
            chosen = replace(source, then=element) if isinstance(source, ir.Select) else element
            value, address = self._value(chosen, mask), self._address(memory, further(statement.indices), mask)
            if not place:
                self._even(address, statement.width, mask)
            memory.writes.append(_Write(mask, address, nothing))
            self._groups.begin((memory, _Write(mask, address, value)))

    def _passed(self, left: int | None, mask: Lazy) -> None:
        """Commit copies, or let those arrive that are waited for."""
        on = [t for t in range(self.count) if not mask(t).is_false()]
        if not all(mask(t).is_true() for t in on):
            raise NotCovered("a group of copies under a condition that depends on a hole")
        if left is None:
            self._groups.commit(on)
            return
        for (memory, write), threads in self._groups.wait(left, on):
            there = Lazy(lambda t, w=write, some=threads: w.mask(t) if t in some else self.false)  # type: ignore[misc]
            memory.writes.append(replace(write, mask=there))

    def _even(self, address: Lazy, width: int, mask: Lazy) -> None:
        """Demand that an address is a multiple of how much is moved at once."""

        def compute(t: int) -> FNode:
            return self._if(mask, t, lambda: no(some_of([f for a, f in address(t).items() if a >= 0 and a % width])))

        self.must.append(Lazy(compute))

    def _narrow(self, on: FNode, chosen: Lazy, side: bool, t: int) -> FNode:
        return on if on.is_false() else both(on, chosen(t).get(side, self.false))

    def _assign(self, name: str, new: Lazy, mask: Lazy, dtype: DType) -> None:
        old = self._scalars.get(name)

        def compute(t: int) -> Any:
            on = mask(t)
            if on.is_true() or old is None:
                return new(t)
            return old(t) if on.is_false() else self._choose(dtype, [(on, new(t)), (no(on), old(t))])

        self._scalars[name] = Lazy(compute)

    def _choose(self, dtype: DType, cases: Sequence[tuple[FNode, Any]]) -> Any:
        """Return the data or the steering value whose formula holds."""
        cases = [(f, v) for f, v in cases if not f.is_false()]
        if len(cases) == 1:
            return cases[0][1]
        if dtype.is_data:
            return self.values.choose(cases)
        return grouped((value, both(f, g)) for f, some in cases for value, g in some.items())

    def _store(self, array: str, indices: tuple[Expr, ...], value: Expr, mask: Lazy) -> None:
        if array in self._outputs and isinstance(value, ir.Cast) and self.values.whole:
            # an output is what the specification says, as far as it has room for it
            target = value.dtype
            if target.is_float and value.operand.dtype.is_float and not is_exact(value.operand.dtype, target):
                value = value.operand
            while isinstance(value, ir.Cast) and target.is_narrow:
                source, to = value.operand.dtype, value.dtype
                if to.is_float or to.bits < target.bits or not (source is DType.I32 or source.is_narrow):
                    break
                value = value.operand
        memory, new = self.memories[array], self._value(value, mask)
        address = self._address(memory, indices, mask)
        memory.writes.append(_Write(mask, address, new))

    def _address(self, memory: _Memory, indices: tuple[Expr, ...], mask: Lazy) -> Lazy:
        address = self._flat(memory, indices, mask)
        self.must.append(Lazy(lambda t: self._if(mask, t, lambda: no(address(t).get(-1, self.false)))))
        return address

    def _flat(self, memory: _Memory, indices: tuple[Expr, ...], mask: Lazy) -> Lazy:
        """Return each thread's place in an array, row by row, -1 where it is out of bounds."""
        parts = [self._value(i, mask) for i in indices]

        def compute(t: int) -> Cases:
            total: Cases = {0: self.true}
            for extent, part in zip(memory.shape, parts, strict=True):

                def step(a: int, i: int, extent: int = extent) -> int:
                    return a * extent + i if a >= 0 and 0 <= i < extent else -1

                total = combine(step, total, part(t))
            return total

        return Lazy(compute)

    def _unwrapped(self, operand: Expr) -> Expr:
        """Return a word of 32 bits whose number counts as one of 64, if the specification computes outputs in these."""
        if self.values.whole and operand.dtype in (DType.I32, DType.U32):
            for parameter in self.program.parameters:
                if parameter.role in ("out", "inout") and is_exact(operand.dtype, parameter.dtype):
                    wide = DType.I64 if parameter.dtype.is_float else parameter.dtype
                    return ir.Cast(operand, wide, operand.place)
        return operand

    def _gather(self, node: ir.Apply, row: Gather, mask: Lazy) -> Lazy:
        """Return an element that data chooses: a function of the element's place in the array, row-major."""
        values = self.values
        zero = ir.Const(0, DType.INDEX, node.place)
        whole = [isinstance(o, ir.Cast) and not o.operand.dtype.is_data for o in node.operands]
        pairs = list(zip(node.operands, whole, strict=True))
        steered = tuple(o.operand if index and isinstance(o, ir.Cast) else zero for o, index in pairs)
        pairs = [(o if index else self._unwrapped(o), index) for o, index in pairs]
        kind = next(o.dtype for o, index in pairs if not index)
        strides = [prod(row.shape[place + 1 :]) for place in range(len(row.shape))]
        chosen = [(self._value(o, mask), n) for (o, index), n in zip(pairs, strides, strict=True) if not index]
        offset = self._address(self.memories[row.array], steered, mask)

        def compute(t: int) -> Any:
            total = values.choose([(f, values.number(place, kind)) for place, f in offset(t).items()])
            for value, stride in chosen:
                scaled = values.apply("*", [values.number(stride, kind), value(t)], kind)
                total = values.apply("+", [total, scaled], kind)
            return values.apply(gathered(row.array), [total], node.dtype)

        return Lazy(compute)

    def _if(self, mask: Lazy, t: int, then: Callable[[], FNode]) -> FNode:
        on = mask(t)
        return self.true if on.is_false() else some_of((no(on), then()))

    def _together(self, mask: Lazy, size: int) -> None:
        """Demand that where one thread of a group is active, all are."""
        block = self.shape.block_threads

        def compute(t: int) -> FNode:
            first = t - t % block % size
            members = range(first, min(first + size, t - t % block + block))
            return both(*(some_of((no(mask(t)), mask(u))) for u in members if u != t))

        self.must.append(Lazy(compute))

    def _among(self, node: ir.Shuffle, named: int, mask: Lazy, lane: Lazy) -> None:
        """Demand that where a lane is on, just those are which a mask names, and that they ask each other."""
        own, base = self.shape.lane.tolist(), self.shape.warp_base.tolist()
        inside = {t: bool(named >> own[t] & 1) for t in range(self.count)}

        def compute(t: int) -> FNode:
            wrong = [mask(u) if not inside[u] else no(mask(u)) for u in range(base[t], base[t] + LANES)]
            asked = [f for i, f in lane(t).items() if not named >> self._source(node, own[t], i) & 1]
            return self._if(mask, t, lambda: no(some_of([*wrong, *asked])))

        self.must.append(Lazy(compute))

    def _source(self, node: ir.Shuffle, own: int, i: int) -> int:
        """Return the lane that a lane asks, in a warp of the hardware."""
        moved = {"idx": i % LANES, "up": own - i, "down": own + i, "xor": own ^ i}[node.mode]
        return moved if 0 <= moved < LANES else own

    def _accumulate(self, statement: ir.Accumulate, mask: Lazy) -> None:
        slot = self._slot(statement.accumulator, statement.indices, mask)
        condition = None if statement.condition is None else self._value(statement.condition, mask)
        on = mask if condition is None else Lazy(lambda t: self._narrow(mask(t), condition, True, t))
        slot.append((on, [self._value(o, on) for o in statement.operands]))
        self.active.append((statement, on))

    def _slot(self, name: str, indices: tuple[Expr, ...], mask: Lazy) -> list[Any]:
        declared, slots = self._accumulators[name]
        place = 0
        for extent, index in zip(declared.shape, indices, strict=True):
            place = place * extent + (self._uniform(index, mask) or 0)
        return slots.setdefault(place, [])

    def _loop(self, loop: ir.For, mask: Lazy) -> None:
        start, stop, step = (self._uniform(e, mask) for e in (loop.start, loop.stop, loop.step))
        if start is None or stop is None or step is None:
            return
        for i in range(start, stop, step):
            self._scalars[loop.variable] = Lazy(lambda _, i=i: {i: self.true})  # type: ignore[misc]
            for statement in loop.body:
                self._run(statement, mask)

    def _uniform(self, node: Expr, mask: Lazy) -> int | None:
        """Return a value that is the same for all threads that are on, None if none is."""
        value = self._value(node, mask)
        for t in range(self.count):
            if not mask(t).is_false():
                ((only, _),) = value(t).items()
                return int(only)
        return None

    # -- expressions ----------------------------------------------------------------------------------------

    def _value(self, node: Expr, mask: Lazy) -> Lazy:
        """Return an expression's value: cases where it steers, data where it is data."""
        match node:
            case ir.Const(value, dtype):
                found = self.values.number(value, dtype) if dtype.is_data else {value: self.true}
                return Lazy(lambda _: found)
            case ir.Var(name):
                return self._scalars[name]
            case ir.Coordinate():
                lanes = self._coordinates.setdefault((node.name, node.axis), self.shape.coordinate(node).tolist())
                return Lazy(lambda t: {lanes[t]: self.true})
            case ir.Unary(op, operand, dtype):
                inner = self._value(operand, mask)
                if dtype.is_data:
                    return Lazy(lambda t: self.values.apply(op, [inner(t)], dtype))
                return Lazy(lambda t: grouped((UNARY[op][0](v), f) for v, f in inner(t).items()))
            case ir.Binary(op, left, right, dtype):
                a, b = self._value(left, mask), self._value(right, mask)
                if dtype.is_data:
                    return Lazy(lambda t: self.values.apply(op, [a(t), b(t)], dtype))
                scalar = BINARY[op][0]
                if op in ("//", "%", "<<", ">>"):  # what is wrong for threads that are off does no harm
                    divides = op in ("//", "%")

                    def safe(x: int, y: int) -> int:
                        return scalar(x, 1 if (y == 0 if divides else y < 0) else y)

                    return Lazy(lambda t: combine(safe, a(t), b(t)))
                return Lazy(lambda t: combine(scalar, a(t), b(t)))
            case ir.Apply(function, operands):
                if isinstance(function.row, Gather):
                    return self._gather(node, function.row, mask)
                compared = 2 if isinstance(function.row, ChoiceFunction) else 0
                operands = (*map(self._unwrapped, operands[:compared]), *operands[compared:])
                values = [self._value(operand, mask) for operand in operands]

                def built(op: str, *of: Lazy) -> Lazy:
                    return Lazy(lambda t: self.values.apply(op, [one(t) for one in of], node.dtype))

                made: Lazy = defined_with(built, function.row, values)
                return made
            case ir.Compare(op, left, right):
                return self._steered(COMPARE[op][0], left, right, mask)
            case ir.Logic(op, left, right):
                return self._steered(LOGIC[op][0], left, right, mask)
            case ir.Select(condition, then, otherwise, dtype):
                return self._select(condition, then, otherwise, dtype, mask)
            case ir.Lookup(entries, index):
                at, last = self._value(index, mask), len(entries) - 1
                return Lazy(lambda t: grouped((entries[min(max(v, 0), last)], f) for v, f in at(t).items()))
            case ir.Cast(operand, dtype):
                operand = self._unwrapped(operand) if dtype.is_float else operand
                inner = self._value(operand, mask)
                if operand.dtype.is_data:
                    return Lazy(lambda t: self.values.cast(inner(t), operand.dtype, dtype))
                number = self.values.number
                return Lazy(lambda t: self.values.choose([(f, number(v, dtype)) for v, f in inner(t).items()]))
            case ir.Load(array, indices):
                return self._load(self.memories[array], indices, mask)
            case ir.Shuffle():
                return self._shuffle(node, mask)
            case ir.HoleCall(hole, args):
                return self._hole(hole, [self._value(a, mask) for a in args])
            case ir.AccumulatorValue(name, indices):
                return self._accumulated(name, tuple(self._slot(name, indices, mask)), mask)
            case _:
                assert_never(node)

    def _steered(self, function: Callable[[Any, Any], Any], left: Expr, right: Expr, mask: Lazy) -> Lazy:
        a, b = self._value(left, mask), self._value(right, mask)
        return Lazy(lambda t: combine(function, a(t), b(t)))

    def _select(self, condition: Expr, then: Expr, otherwise: Expr, dtype: DType, mask: Lazy) -> Lazy:
        chosen = self._value(condition, mask)
        yes = self._value(then, Lazy(lambda t: self._narrow(mask(t), chosen, True, t)))
        other = self._value(otherwise, Lazy(lambda t: self._narrow(mask(t), chosen, False, t)))

        def compute(t: int) -> Any:
            sides = [(f, yes if side else other) for side, f in chosen(t).items() if not f.is_false()]
            return self._choose(dtype, [(f, side(t)) for f, side in sides])

        return Lazy(compute)

    def _load(self, memory: _Memory, indices: tuple[Expr, ...], mask: Lazy) -> Lazy:
        address, after = self._address(memory, indices, mask), len(memory.writes)

        def compute(t: int) -> Any:
            cells = [(f, cell) for cell, f in address(t).items() if not f.is_false()]
            nothing = self.values.unwritten
            return self.values.choose([(f, memory.read(t, c, after) if c >= 0 else nothing()) for f, c in cells])

        found = Lazy(compute)
        self.must.append(Lazy(lambda t: self._if(mask, t, lambda: no(self.values.is_unwritten(found(t))))))
        return found

    def _shuffle(self, node: ir.Shuffle, mask: Lazy) -> Lazy:
        value, lane, size = self._value(node.value, mask), self._value(node.lane, mask), self.shape.warp_size
        named = None if node.mask is None else self._uniform(node.mask, mask)
        if named is None or named & (1 << LANES) - 1 == (1 << LANES) - 1:
            self._together(mask, max(size, LANES))
        else:
            self._among(node, named, mask, lane)
        own, base = self.shape.lane.tolist(), self.shape.warp_base.tolist()

        def source(t: int, i: int) -> int:
            match node.mode:
                case "idx":
                    return base[t] + i % size  # type: ignore[no-any-return]
                case "up":
                    moved = own[t] - i
                case "down":
                    moved = own[t] + i
                case _:
                    moved = own[t] ^ i
            return base[t] + (moved if 0 <= moved < size else own[t])  # type: ignore[no-any-return]

        def compute(t: int) -> Any:
            givers = grouped((source(t, i), f) for i, f in lane(t).items())
            return self._choose(node.dtype, [(f, value(u)) for u, f in givers.items()])

        return Lazy(compute)

    def _hole(self, number: int, arguments: Sequence[Lazy]) -> Lazy:
        def compute(t: int) -> Cases:
            points = itertools.product(*(argument(t).items() for argument in arguments))
            cases = ((tuple(int(value) for value, _ in point), both(*(f for _, f in point))) for point in points)
            found = ((value, both(when, f)) for point, when in cases if not when.is_false()
                     for value, f in self.hole(number, point).items())  # fmt: skip
            return grouped(found)

        return Lazy(compute)

    def _accumulated(self, name: str, entries: tuple[Any, ...], mask: Lazy) -> Lazy:
        declared, _ = self._accumulators[name]

        def compute(t: int) -> Any:
            running = [(on(t), operands) for on, operands in entries if not on(t).is_false()]
            return self.values.total(declared, [(on, [o(t) for o in operands]) for on, operands in running])

        total = Lazy(compute)
        if declared.final is None:
            return total
        outer = self._scalars.get(declared.final.parameter)
        self._scalars[declared.final.parameter] = total
        found = self._value(declared.final.body, mask)
        del self._scalars[declared.final.parameter]
        if outer is not None:
            self._scalars[declared.final.parameter] = outer
        return found
