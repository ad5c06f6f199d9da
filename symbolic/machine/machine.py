"""The machine: all threads of the grid, in lockstep, one statement at a time (paper, sections 4 and 6.1).

One interpreter serves every use. What data is, is the algebra's business (`symbolic.algebra.numbers`); what a hole
gives, the caller's (`HoleFunction`): lanes for a chosen function, a deferred vector for an open hole. With numbers and
no open hole this is the definition of the language: printed CUDA, PTX and every symbolic run must agree with it.

What must hold at run time (indices in bounds, no read of an unwritten cell, all lanes present at a shuffle, no
races) is looked at for all threads. Where it fails for certain, there is a `Violation`. Where it depends on open
holes it is kept in `Run.obligations`, under the same key that a concrete run of the same program would report, so
that a counterexample found concretely can be ruled out symbolically.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from typing_extensions import assert_never

from symbolic.algebra.canonical import Canonical
from symbolic.algebra.conversions import conversion
from symbolic.algebra.numbers import Algebra
from symbolic.elements import is_exact
from symbolic.errors import SwizzleError
from symbolic.ir.functions import ChoiceFunction, Gather, StateFunction, defined_with, gathered, joined_of
from symbolic.ir.index import BINARY, COMPARE, LOGIC, UNARY, looked_up
from symbolic.ir.matrices import MatrixProduct
from symbolic.ir.program import (
    Accumulate,
    AccumulatorValue,
    Apply,
    Assign,
    Barrier,
    Binary,
    Cast,
    Compare,
    Const,
    Coordinate,
    CopyAsync,
    CopyGroup,
    DeclareAccumulator,
    DeclareArray,
    DType,
    Expr,
    For,
    FunctionName,
    HoleCall,
    If,
    Load,
    Logic,
    Lookup,
    Program,
    Select,
    Shuffle,
    Stmt,
    Store,
    Unary,
    Var,
    WarpInstruction,
)
from symbolic.ir.sites import Sites
from symbolic.ir.walk import never_read_back
from symbolic.ir.warp_meaning import row_operand
from symbolic.limits import look
from symbolic.machine.accumulators import Reduced
from symbolic.machine.arrays import LaunchArrays, specified_types, steers
from symbolic.machine.contributions import Entry
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.memory import Memory
from symbolic.machine.rules import Rules
from symbolic.machine.run import Accumulated, Run
from symbolic.machine.shuffles import LaneShuffles
from symbolic.values.data import Data, DataVector
from symbolic.values.mapped import CastIndex, Mapped, WordOf, state_of
from symbolic.values.moved import Selected, either
from symbolic.values.vector import Deferred, Lanes, Vector, conjunction, lift, negation

HoleFunction: TypeAlias = Callable[[int, tuple[Vector, ...], Vector], Vector]
_BOUND = ("loop bound", "loop to the largest bound and put the thread's own bound in an `if`")
_SLOT = ("accumulator index", "loop over the accumulators, and choose among them with when=, or among their values")
Value: TypeAlias = "Vector | Data"


class Machine:
    """An interpreter for one launch of one program."""

    def __init__(
        self,
        program: Program,
        algebra: Algebra,
        inputs: Mapping[str, Lanes],
        hole: HoleFunction | None = None,
        violation_limit: int = 32,
        copies: int = 1,
        read_later: Collection[str] = (),
    ) -> None:
        """`inputs` are flat arrays for the in, const and inout parameters, of the algebra's data.

        With `copies`, that many launches run side by side, each with parameters of its own. `read_later` are outputs
        that another kernel reads.
        """
        self.program, self.algebra, self.hole = program, algebra, hole
        self.shape = LaunchShape.of(program, copies)
        self.all = np.ones(self.shape.count, np.bool_)
        self.outputs = never_read_back(program).difference(read_later)
        self.wide = specified_types(program) if isinstance(algebra, Canonical) else {}
        self.scalars: dict[str, Value] = {}
        self._read: dict[Expr, tuple[Vector, Value]] | None = None
        self._known: dict[object, Lanes] = {}  # numbers and coordinates
        self.memories: dict[str, Memory] = {}
        self.accumulators: dict[str, tuple[DeclareAccumulator, list[list[Accumulated]]]] = {}
        self.result = Run(self.shape, self.memories, [], [], {})
        self.rules = Rules(Sites.in_program(program), self.shape, self.result, violation_limit)
        self.shuffles = LaneShuffles(self.shape, program.warp_size, self.rules)
        self.arrays = LaunchArrays(algebra, self.rules)
        for parameter in program.parameters:
            self.arrays.pass_in(parameter, inputs, copies)

    def run(self) -> Run:
        """Run the whole grid."""
        for statement in self.program.body:
            self.execute(statement, self.all)
        self.rules.finish()
        return self.result

    # -- statements -----------------------------------------------------------------------------------------

    def execute(self, statement: Stmt, mask: Vector) -> None:
        """Run one statement for the lanes in `mask`."""
        look()
        match statement:
            case Assign(name, value):
                new = self.value(value, mask)
                old = self.scalars.get(name)
                self._counted(statement, mask)
                self.scalars[name] = new if old is None or mask is self.all else self._select(mask, new, old, value)
            case Store():
                data = self.data(self._said(statement), mask)
                self._counted(statement, mask)
                self.arrays.store(statement, self._indices(statement, mask), data, mask)
            case DeclareArray():
                self.arrays.declare(statement)
            case DeclareAccumulator(name):
                size = int(np.prod(statement.shape, dtype=np.int64))
                self.accumulators[name] = (statement, [[] for _ in range(size)])
            case Accumulate():
                self._accumulate(statement, mask)
            case For():
                self._loop(statement, mask)
            case If(condition, then, otherwise):
                chosen = self.index(condition, mask)
                self._branch(then, conjunction(mask, chosen))
                self._branch(otherwise, conjunction(mask, negation(chosen)))
            case Barrier(scope):
                self._barrier(statement, scope, mask)
            case WarpInstruction():
                self._together(statement, mask)
            case CopyAsync():
                self._copy(statement, mask)
            case CopyGroup():
                self.arrays.copies.passed(statement, mask)
            case _:
                assert_never(statement)

    def _copy(self, node: CopyAsync, mask: Vector) -> None:
        source = node.source
        chosen = self.index(source.condition, mask) if isinstance(source, Select) else self.all

        def filled(value: DataVector) -> DataVector:
            if not isinstance(source, Select):
                return value
            found = self._select(chosen, value, self.data(source.otherwise, mask), source)
            assert not isinstance(found, Deferred)
            return found

        given = self._indices(node.load, conjunction(mask, chosen))
        self.arrays.copy(node, self._indices(node, mask), given, mask, chosen, filled)

    def _branch(self, body: tuple[Stmt, ...], mask: Vector) -> None:
        if isinstance(mask, np.ndarray) and not mask.any():
            return
        for statement in body:
            self.execute(statement, mask)

    def _loop(self, loop: For, mask: Vector) -> None:
        bounds = [self._uniform(e, mask) for e in (loop.start, loop.stop, loop.step)]
        if bounds[2] == 0:
            raise SwizzleError(
                "the step of this range is 0",
                place=loop.step.place,
                expected="a step other than 0",
                fix="write 1, or -1 to count down",
            )
        outer = self.rules.loops
        for i in range(*bounds):
            self.rules.loops = (*outer, i)
            self.scalars[loop.variable] = np.full(self.shape.count, i, np.int64)
            for statement in loop.body:
                self.execute(statement, mask)
        self.rules.loops = outer

    def _uniform(self, node: Expr, mask: Vector, what: tuple[str, str] = _BOUND) -> int:
        """Return the value that all threads agree on; `what` names it in the error for threads that do not."""
        value = self.index(node, mask)
        lanes = value if isinstance(value, np.ndarray) else None
        active = lanes[mask] if lanes is not None and isinstance(mask, np.ndarray) else lanes
        if active is None or (len(active) and (active != active[0]).any()):
            raise SwizzleError(
                f"this {what[0]} is not the same for every thread",
                place=node.place,
                expected="one made of constants, sizes and outer loop variables",
                fix=what[1],
            )
        return int(active[0]) if len(active) else 0

    def _barrier(self, statement: Barrier, scope: Literal["block", "warp"], mask: Vector) -> None:
        groups = self.shape.block_of if scope == "block" else self.shape.convergence_base
        self.rules.all_present(
            statement, mask, groups, "threads of the block" if scope == "block" else "lanes of the warp"
        )
        self.rules.passed(scope, mask)

    def _together(self, node: WarpInstruction, mask: Vector) -> None:
        """Run what an instruction of a whole warp means."""
        before = len(self.result.violations)
        self.rules.all_present(node, mask, self.shape.convergence_base, "lanes of the warp")
        if len(self.result.violations) > before:
            return
        if isinstance(node.row, MatrixProduct) and isinstance(self.algebra, Canonical) and node.row.rounds:
            self.algebra.terms.unrounded.setdefault(("product", node.row), node.row.rounds)
        row = row_operand(node)
        if row is not None:
            self.arrays.note_row(node, row, self._indices(row, mask), mask)
        self.arrays.together = True
        for statement in self.rules.sites.meaning(node):
            self.execute(statement, mask)
        self.arrays.together = False

    def _said(self, node: Store) -> Expr:
        """Return what a store says in terms: an output of 8 or 16 bits holds as much of an i32 and of a number of
        so few bits, whoever cuts it off, and one of floats rounds.

        The specification computes with such numbers and says no conversion. Such outputs are never read again.
        """
        value = node.value
        if not (isinstance(value, Cast) and node.array in self.outputs) or node.atomic or self.algebra.rounds:
            return value
        target = value.dtype
        if target.is_float and value.operand.dtype.is_float and not is_exact(value.operand.dtype, target):
            return value.operand
        while isinstance(value, Cast) and target.is_narrow and isinstance(self.algebra, Canonical):
            source, to = value.operand.dtype, value.dtype
            if to.is_float or to.bits < target.bits or not (source is DType.I32 or source.is_narrow):
                break
            value = value.operand
        return value

    # -- accumulators ---------------------------------------------------------------------------------------

    def _slot(self, name: str, indices: tuple[Expr, ...], mask: Vector) -> list[Accumulated]:
        declared, slots = self.accumulators[name]
        linear = 0
        for extent, node in zip(declared.shape, indices, strict=True):
            i = self._uniform(node, mask, _SLOT)
            if not 0 <= i < extent:
                raise SwizzleError(
                    f"accumulator index {i} is out of bounds: {name} has shape {declared.shape}",
                    place=node.place,
                    expected="an index inside the shape",
                    fix="guard the access with `if`, or make the shape larger",
                )
            linear = linear * extent + i
        return slots[linear]

    def _accumulate(self, node: Accumulate, mask: Vector) -> None:
        slot = self._slot(node.accumulator, node.indices, mask)
        predicate = self.all if node.condition is None else self.index(node.condition, mask)
        on = conjunction(mask, predicate)
        if isinstance(on, np.ndarray) and not on.any():
            return
        operands = tuple(self.data(o, on) for o in node.operands)
        entry = Accumulated(node, self.rules.sites.of(node), on, operands, self.rules.loops)
        slot.append(entry)
        self.result.accumulated.append(entry)

    def _counted(self, node: Assign | Store, mask: Vector) -> None:
        """Note that a state was accumulated."""
        if node.accumulates and not (isinstance(mask, np.ndarray) and not mask.any()):
            self.result.accumulated.append(Accumulated(node, self.rules.sites.of(node), mask, (), self.rules.loops))

    def _accumulator_value(self, node: AccumulatorValue, mask: Vector) -> Value:
        declared, _ = self.accumulators[node.accumulator]
        entries = tuple(self._slot(node.accumulator, node.indices, mask))
        total = self._reduce(declared, entries)
        if declared.final is None:
            return total
        outer = self.scalars.get(declared.final.parameter)
        self.scalars[declared.final.parameter] = total
        found = self.value(declared.final.body, mask)
        if outer is None:
            del self.scalars[declared.final.parameter]
        else:
            self.scalars[declared.final.parameter] = outer
        return found

    def _reduce(self, declared: DeclareAccumulator, entries: tuple[Accumulated, ...]) -> DataVector:
        init = None if declared.init is None else declared.init.value
        inner, dtype = declared.inner, declared.dtype
        if any(isinstance(v, Deferred | Data) for e in entries for v in (e.mask, *e.operands)):
            terms = self._canonical().terms
            start = None if init is None else terms.const(init)
            open_entries = [Entry(e.mask, e.operands, e) for e in entries]
            return Reduced(terms, declared.outer, inner, open_entries, start, declared.place)
        values: list[Any] = []
        for entry in entries:
            value: Any = entry.operands[0]
            for operand in entry.operands[1:]:
                value = self.algebra.binary(inner or "", value, operand, dtype)  # type: ignore[arg-type]
            values.append(value)
        masks: list[Any] = [e.mask for e in entries]
        total = self.algebra.reduce(declared.outer, masks, values, init, dtype)
        return np.broadcast_to(total, self.all.shape).copy()

    # -- expressions ----------------------------------------------------------------------------------------

    def index(self, node: Expr, mask: Vector) -> Vector:
        """Evaluate an expression that steers."""
        found = self.value(node, mask)
        assert not isinstance(found, Data)
        return found

    def _indices(self, node: Load | Store | CopyAsync, mask: Vector) -> list[Vector]:
        return [self.index(i, mask) for i in node.indices]

    def data(self, node: Expr, mask: Vector) -> DataVector:
        """Evaluate an expression of data."""
        found = self.value(node, mask)
        assert not isinstance(found, Deferred)
        return found

    def value(self, node: Expr, mask: Vector) -> Value:
        """Evaluate an expression for all threads; only lanes in `mask` are answerable for what it touches."""
        match node:
            case Const(value, dtype):
                if dtype is DType.INDEX:
                    return self._always(value, lambda: np.broadcast_to(np.int64(value), self.shape.count))
                return np.full(
                    self.shape.count, np.bool_(value) if dtype is DType.BOOL else self.algebra.constant(value, dtype)
                )
            case Var(name):
                return self.scalars[name]
            case Coordinate(name, axis):
                return self._always((name, axis), lambda: self.shape.coordinate(node))
            case Unary(op, operand, dtype):
                if not dtype.is_data:
                    return lift(*UNARY[op], self.index(operand, mask))
                return self._data(op, node, self.value(operand, mask))
            case Binary():
                return self._binary(node, mask)
            case Apply(function, operands):
                if isinstance(function.row, Gather):
                    return self._gather(node, function.row, mask)
                compares = isinstance(function.row, ChoiceFunction)
                steering = 2 if compares else 0
                asked = (*map(self._leaving, operands[:steering]), *operands[steering:])
                if packs := isinstance(function.row, StateFunction) and function.row.word is None:
                    self._read = {}
                values = [self.value(operand, mask) for operand in asked]
                self._read = None if packs else self._read
                compared = [value for value in values[:2] if isinstance(value, np.ndarray)]
                if compares and isinstance(self.algebra, Canonical):
                    self.algebra.compare(operands[0].dtype, compared)
                found = defined_with(partial(self._built, node), function.row, values)
                return found  # type: ignore[no-any-return]
            case Compare(op, left, right):
                return lift(*COMPARE[op], self.index(left, mask), self.index(right, mask))
            case Logic(op, left, right):
                return lift(*LOGIC[op], self.index(left, mask), self.index(right, mask))
            case Select(condition, then, otherwise):
                chosen = self.index(condition, mask)
                yes = self.value(then, conjunction(mask, chosen))
                return self._select(chosen, yes, self.value(otherwise, conjunction(mask, negation(chosen))), node)
            case Lookup(entries, index):
                return lift(*looked_up(entries), self.index(index, mask))
            case Cast(operand, dtype):
                operand = self._leaving(operand) if dtype.is_float else operand
                inner = self.value(operand, mask)
                source = operand.dtype
                if isinstance(inner, np.ndarray):
                    return self.algebra.cast(inner, source, dtype)
                terms = self._canonical().terms
                if isinstance(inner, Deferred):
                    return CastIndex(inner, terms.const)
                for convert in conversion(source, dtype):
                    inner = Mapped(terms, convert, (inner,), node.place)
                return inner
            case Load():
                return self._once(node, mask, self.arrays.load(node, self._indices(node, mask), mask))
            case Shuffle():
                return self._once(node, mask, self._shuffle(node, mask))
            case HoleCall(hole, args):
                assert self.hole is not None, "a program with open holes needs a hole function"
                return self.hole(hole, tuple(self.index(a, mask) for a in args), mask)
            case AccumulatorValue():
                return self._accumulator_value(node, mask)
            case _:
                assert_never(node)

    def _once(self, node: Expr, mask: Vector, value: Value) -> Value:
        """Return what words of a state read: one value where expression and lanes are the same."""
        known = (mask, value) if self._read is None else self._read.setdefault(node, (mask, value))
        return known[1] if known[0] is mask else value

    def _always(self, key: object, made: Callable[[], Lanes]) -> Lanes:
        """Return what is the same wherever it is asked for."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = made()
        return found

    def _binary(self, node: Binary, mask: Vector) -> Value:
        if node.dtype.is_data:
            if node.op in ("<<", ">>") and steers(node.right):
                self._within(node, self.index(node.right.operand, mask), mask)
            return self._data(node.op, node, self.value(node.left, mask), self.value(node.right, mask))
        left, right = self.index(node.left, mask), self.index(node.right, mask)
        scalar, lanes = BINARY[node.op]
        if node.op in ("//", "%", "<<", ">>") and not (isinstance(node.right, Const) and node.right.value > 0):
            if isinstance(right, Deferred):
                raise SwizzleError(
                    f"the right side of `{node.op}` depends on a hole",
                    place=node.right.place,
                    expected="a divisor or shift made of constants and coordinates",
                    fix="put the hole around the whole index instead",
                )
            wrong = right == 0 if node.op in ("//", "%") else right < 0
            if (isinstance(mask, Deferred) and wrong.any()) or (isinstance(mask, np.ndarray) and (wrong & mask).any()):
                t = int(np.flatnonzero(wrong if isinstance(mask, Deferred) else wrong & mask)[0])
                what = "division by zero" if node.op in ("//", "%") else "shift by a negative amount"
                raise SwizzleError(
                    f"{what} ({self.shape.describe(t)})",
                    place=node.place,
                    expected="a divisor other than 0, a shift of at least 0, for every thread that gets here",
                    fix="guard it with `if`",
                )
            right = np.where(wrong, 1, right)
        return lift(scalar, lanes, left, right)

    def _within(self, node: Binary, amount: Vector, mask: Vector) -> None:
        """Require that data is shifted by fewer bits than it has."""
        bits = node.dtype.bits
        wrong = lift(lambda n: not 0 <= n < bits, lambda n: (n < 0) | (n >= bits), amount)
        on = conjunction(wrong, mask)
        if isinstance(on, Deferred) or on.any():
            t = 0 if isinstance(on, Deferred) else int(np.flatnonzero(on)[0])
            by = "what a hole decides" if isinstance(amount, Deferred) else int(amount[t])
            where = "" if isinstance(on, Deferred) else f" ({self.shape.describe(t)})"
            raise SwizzleError(
                f"`{node.op}` of {node.dtype.value} data by {by}{where}",
                place=node.right.place,
                expected=f"an amount from 0 to {bits - 1}, for every thread that gets here",
                fix="guard it with `if`; of what a hole decides, take the remainder by a number, or a table's entry"
                if isinstance(on, Deferred)
                else "guard it with `if`, or shift by a remainder",
            )

    def _built(self, node: Apply, op: str, *operands: Any) -> DataVector:
        """Apply an operator, or a function that nothing defines."""
        if not isinstance(op, FunctionName):
            return self._data(op, node, *operands)
        if all(isinstance(o, np.ndarray) for o in operands):
            return self.algebra.apply(op, operands, node.dtype)
        if (joined := joined_of(op)) is not None:
            raise SwizzleError(
                f"the words that {joined.operator} combines depend on a hole",
                place=node.place,
                expected="states behind holes: all words of an operator as one value",
                fix="keep the words together: s = op.lift(x[i]), op.combine(s, t)"
                if joined.words > 1
                else "use an operator on one number, such as `+`, or an @operator of your own",
            )
        terms = self._canonical().terms
        if not isinstance(op.row, StateFunction):
            return Mapped(terms, op, operands, node.place)
        if op.row.word is not None:
            return WordOf(terms, op, operands, node.place)
        return state_of(terms, op, operands, self.shape.count, node.place)

    def _leaving(self, operand: Expr) -> Expr:
        """Return an integer that is compared, an index or made a float, as what it is in the specification's type.

        A specification computes an output of 64 bits in them, and a kernel's integers of 32 have wrapped before.
        """
        wide = self.wide.get(operand.dtype)
        return operand if wide is None else Cast(operand, wide, operand.place)

    def _gather(self, node: Apply, row: Gather, mask: Vector) -> DataVector:
        """Read elements of a read-only array by data; in terms that is a function of the place in it, row-major.

        Data is within the extents, which the front end sees to; the indices among the operands are checked here.
        """
        memory = self.memories[row.array]
        steered: list[Vector] = [np.zeros(self.shape.count, np.int64) for _ in row.shape]
        total: DataVector | None = None
        for axis, operand in enumerate(node.operands):
            if steers(operand):
                steered[axis] = self.index(operand.operand, mask)
                continue
            operand = self._leaving(operand)
            stride = Const(prod(row.shape[axis + 1 :]), operand.dtype, node.place)
            moved = Binary("*", operand, stride, operand.dtype, node.place)
            value = self.data(operand, mask)
            if stride.value != 1:
                many = np.full(self.shape.count, self.algebra.constant(stride.value, stride.dtype))
                value = self._data("*", moved, value, many)
            total = value if total is None else self._data("+", moved, total, value)
        assert total is not None, "without data among the indices it is a load"
        offset = self.arrays.offset(node, memory, steered, mask)
        if isinstance(offset, Deferred):
            total = self._data("+", moved, total, CastIndex(offset, self._canonical().terms.const))
        elif offset.any():
            total = self._data("+", moved, total, self.algebra.cast(offset, DType.INDEX, moved.dtype))
        if isinstance(total, np.ndarray):
            return self.algebra.gather(row.array, memory.data, memory.base, total)
        return Mapped(self._canonical().terms, gathered(row.array), (total,), node.place)

    def _data(self, op: str, node: Unary | Binary | Apply, *operands: Value) -> DataVector:
        data: Any = operands
        if all(isinstance(o, np.ndarray) for o in operands):
            if len(operands) == 1:
                return self.algebra.unary(op, data[0], node.dtype)
            return self.algebra.binary(op, data[0], data[1], node.dtype)
        terms = self._canonical().terms
        if op == "-":
            minus = np.full(self.shape.count, terms.const(-1))
            negative = Mapped(terms, "*", (minus, data[-1]), node.place)
            return negative if len(data) == 1 else Mapped(terms, "+", (data[0], negative), node.place)
        return Mapped(terms, op, data, node.place)

    def _select(self, chosen: Vector, yes: Any, no: Any, node: Expr) -> Value:
        if isinstance(chosen, np.ndarray) and isinstance(yes, np.ndarray) and isinstance(no, np.ndarray):
            return np.where(chosen, yes, no)
        return Selected(chosen, yes, no) if node.dtype.is_data else either(chosen, yes, no)

    def _shuffle(self, node: Shuffle, mask: Vector) -> Value:
        given, lane = self.value(node.value, mask), self.index(node.lane, mask)
        named = None if node.mask is None else self.index(node.mask, mask)
        return self.shuffles.received(node, given, lane, named, mask)

    def _canonical(self) -> Canonical:
        assert isinstance(self.algebra, Canonical), "open holes need canonical data"
        return self.algebra
