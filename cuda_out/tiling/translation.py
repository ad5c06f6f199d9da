"""How the blocks of a kernel are related along one axis of the grid: is block b the same as block 0, shifted?

Every index value is followed as `its value in block 0, plus blockIdx * shift`, with one integer shift for all threads
and iterations. If that is possible, all accesses to a global array shift by one stride for each dimension, whatever the
number of blocks. A condition that compares values of different shifts (`i < 128`) is a bound. It has the same value in
all blocks but those at the end, and is replaced by its value far from the end. Whether the kernel is still right
without its bounds is checked elsewhere.

    i = blockIdx.x * 64 + threadIdx.x     shift 64
    i // 32, i % 32                       shifts 2 and 0
    i < 128                               a bound: true
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import assert_never

from cuda_out.analysis.facts import launch_facts, range_of
from cuda_out.passes.finals import inline_finals
from cuda_out.passes.simplify import simplify
from cuda_out.tiling.blocks import coordinates, endless
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body


class NotTranslated(Struct, frozen=True):
    """Why blocks are not copies of block 0: one sentence without its full stop, and the place that it is about."""

    why: str
    place: Place


class Translated(Struct, frozen=True):
    """Blocks along `axis` are copies of block 0: an access shifts by `strides` from one block to the next.

    `program` has no bounds. It computes the same in every block that no bound of the original program affects.
    """

    axis: ir.Axis
    strides: Mapping[str, tuple[int, ...]]
    program: Program


Shift: TypeAlias = "int | NotTranslated"
Shifts: TypeAlias = Mapping[str, Shift]


class _Stop(Exception):
    def __init__(self, why: str, place: Place) -> None:
        self.found = NotTranslated(why, place)


def translated(program: Program, axis: ir.Axis) -> Translated | NotTranslated:
    """Find how the accesses of a program without holes shift along one axis of the grid, for any number of blocks.

    Along the other axes the program keeps the grid that it has.
    """
    for part in coordinates(program):
        if part.name == "gridDim" and part.axis == axis:
            return NotTranslated(f"gridDim.{axis} changes with the number of blocks", part.place)
    simple = simplify(endless(inline_finals(program), (axis,)))
    walk = _Walk(simple, axis)
    try:
        body, _ = walk.body(simple.body, {})
    except _Stop as stop:
        return stop.found
    strides = {p.name: walk.strides.get(p.name, (0,) * len(p.shape)) for p in program.parameters}
    return Translated(axis, strides, replace(simple, body=body, grid=program.grid))


class _Walk:
    """Follows shifts through one program; `strides` are those of the global arrays, as far as they are known."""

    def __init__(self, program: Program, axis: ir.Axis) -> None:
        self.axis = axis
        self.facts = launch_facts(program)
        self.parameters = {parameter.name for parameter in program.parameters}
        self.strides: dict[str, tuple[int, ...]] = {}

    # -- statements -----------------------------------------------------------------------------------------

    def body(self, body: Body, scope: Shifts) -> tuple[Body, Shifts]:
        found: list[Stmt] = []
        for stmt in body:
            stmts, scope = self.statement(stmt, scope)
            found += stmts
        return tuple(found), scope

    def statement(self, stmt: Stmt, scope: Shifts) -> tuple[Body, Shifts]:
        match stmt:
            case ir.Assign(name=name, value=value):
                new, shift = self.expr(value, scope)
                return (replace(stmt, value=new),), {**scope, name: shift}
            case ir.Store(array=array, indices=indices, value=value):
                moved = self._access(array, indices, scope, stmt.place)
                return (replace(stmt, indices=moved, value=self.expr(value, scope)[0]),), scope
            case ir.DeclareArray() | ir.DeclareAccumulator() | ir.Barrier():
                return (stmt,), scope
            case ir.Accumulate(indices=indices, operands=operands, condition=condition):
                at = tuple(self._fixed(index, scope, "the accumulator's index") for index in indices)
                values = tuple(self.expr(operand, scope)[0] for operand in operands)
                when = None if condition is None else self._condition(condition, scope)
                if isinstance(when, ir.Const):
                    if not when.value:
                        return (), scope
                    when = None
                return (replace(stmt, indices=at, operands=values, condition=when),), scope
            case ir.For():
                return self._loop(stmt, scope)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                when = self._condition(condition, scope)
                if isinstance(when, ir.Const):
                    return self.body(then if when.value else otherwise, scope)
                yes, after_yes = self.body(then, scope)
                no, after_no = self.body(otherwise, scope)
                return (replace(stmt, condition=when, then=yes, otherwise=no),), _join(after_yes, after_no, stmt.place)
            case _:
                assert_never(stmt)

    def _loop(self, stmt: ir.For, scope: Shifts) -> tuple[Body, Shifts]:
        start, stop, step = (
            self._fixed(bound, scope, "the loop's bound") for bound in (stmt.start, stmt.stop, stmt.step)
        )
        entry: Shifts = {**scope, stmt.variable: 0}
        while True:  # ends: each round but the last makes one more name unclear
            inner, end = self.body(stmt.body, entry)
            joined = _join(entry, end, stmt.place)
            if all(joined[name] == shift for name, shift in entry.items()):
                return (replace(stmt, start=start, stop=stop, step=step, body=inner),), joined
            entry = {**joined, stmt.variable: 0}

    # -- where values end up --------------------------------------------------------------------------------

    def _fixed(self, expr: Expr, scope: Shifts, what: str) -> Expr:
        """Require that an index is the same in every block."""
        new, shift = self.expr(expr, scope)
        if isinstance(shift, NotTranslated):
            raise _Stop(shift.why, shift.place)
        if shift:
            raise _Stop(f"{what} depends on blockIdx.{self.axis}", expr.place)
        return new

    def _condition(self, expr: Expr, scope: Shifts) -> Expr:
        return self._fixed(expr, scope, "the condition")

    def _access(self, array: str, indices: tuple[Expr, ...], scope: Shifts, place: Place) -> tuple[Expr, ...]:
        if array not in self.parameters:
            return tuple(self._fixed(index, scope, f"the index of {array}") for index in indices)
        found, shifts = [], []
        for index in indices:
            new, shift = self.expr(index, scope)
            if isinstance(shift, NotTranslated):
                raise _Stop(shift.why, shift.place)
            found.append(new)
            shifts.append(shift)
        known = self.strides.setdefault(array, tuple(shifts))
        if known != tuple(shifts):
            moves = " and ".join(str(each if len(each) > 1 else each[0]) for each in (known, tuple(shifts)))
            raise _Stop(
                f"accesses to {array} move by different distances from block to block along {self.axis}, {moves}", place
            )
        return tuple(found)

    # -- expressions ----------------------------------------------------------------------------------------

    def expr(self, expr: Expr, scope: Shifts) -> tuple[Expr, Shift]:
        """Return an expression without bounds and, of an index or a condition, how it moves."""
        match expr:
            case ir.Const():
                return expr, 0
            case ir.Var(name=name, dtype=dtype):
                return expr, 0 if dtype.is_data else scope.get(name, 0)
            case ir.Coordinate(name=name, axis=axis):
                if axis != self.axis or name not in ("blockIdx", "gridDim"):
                    return expr, 0
                assert name == "blockIdx", "gridDim is refused before"
                return expr, 1
            case ir.Unary():
                return self._unary(expr, scope)
            case ir.Binary():
                (left, first), (right, second) = self.expr(expr.left, scope), self.expr(expr.right, scope)
                new = replace(expr, left=left, right=right)
                if expr.dtype.is_data:
                    return new, 0
                return new, self._binary(new, first, second)
            case ir.Compare():
                return self._compare(expr, scope)
            case ir.Logic():
                return self._logic(expr, scope)
            case ir.Select():
                return self._select(expr, scope)
            case ir.Cast(operand=operand):
                if operand.dtype.is_data:
                    return replace(expr, operand=self.expr(operand, scope)[0]), 0
                return replace(expr, operand=self._fixed(operand, scope, "a number that is made data")), 0
            case ir.Apply(operands=operands):
                return replace(expr, operands=tuple(self.expr(operand, scope)[0] for operand in operands)), 0
            case ir.Load(array=array, indices=indices):
                return replace(expr, indices=self._access(array, indices, scope, expr.place)), 0
            case ir.Shuffle(mask=mask, value=value, lane=lane):
                given, shift = self.expr(value, scope)
                source = self._fixed(lane, scope, "the lane that a shuffle asks")
                lanes = None if mask is None else self._fixed(mask, scope, "the mask of a shuffle")
                return replace(expr, value=given, lane=source, mask=lanes), shift
            case ir.AccumulatorValue(indices=indices):
                at = tuple(self._fixed(index, scope, "the accumulator's index") for index in indices)
                return replace(expr, indices=at), 0
            case ir.HoleCall(hole=hole):
                raise AssertionError(f"hole {hole} is not filled: only solved programs are translated")
            case _:
                assert_never(expr)

    def _unary(self, expr: ir.Unary, scope: Shifts) -> tuple[Expr, Shift]:
        operand, shift = self.expr(expr.operand, scope)
        new = replace(expr, operand=operand)
        if expr.dtype.is_data:
            return new, 0
        if isinstance(shift, NotTranslated):
            return new, shift
        match expr.op:
            case "not" if isinstance(operand, ir.Const):
                return ir.Const(not operand.value, DType.BOOL, expr.place), 0
            case "-" | "~":
                return new, -shift
            case "not" | "abs":
                return new, shift if shift == 0 else self._unclear(expr)
            case _:
                assert_never(expr.op)

    def _unclear(self, expr: Expr) -> NotTranslated:
        return NotTranslated(f"this does not move evenly with blockIdx.{self.axis}", expr.place)

    def _binary(self, expr: ir.Binary, left: Shift, right: Shift) -> Shift:
        if isinstance(left, NotTranslated):
            return left
        if isinstance(right, NotTranslated):
            return right
        if left == right == 0:
            return 0
        by = int(expr.right.value) if isinstance(expr.right, ir.Const) else None
        match expr.op:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                if by is not None:
                    return left * by
                return right * int(expr.left.value) if isinstance(expr.left, ir.Const) else self._unclear(expr)
            case "//" | "%" if by and left % by == 0:
                return left // by if expr.op == "//" else 0
            case "<<" if by is not None and by >= 0:
                return left << by
            case ">>" if by is not None and by >= 0 and left % (1 << by) == 0:
                return left >> by
            case "&" if by is not None and by >= 0 and left % (1 << by.bit_length()) == 0:
                return 0
            case "min" | "max" if left == right:
                return left
            case "|" | "^":
                return self._low_bits(expr, left, right)
            case _:
                return self._unclear(expr)

    def _low_bits(self, expr: ir.Binary, left: int, right: int) -> Shift:
        """Changing bits below those that the shift touches commutes with moving."""
        fixed, shift = (expr.right, left) if right == 0 else (expr.left, right)
        found = range_of(fixed, self.facts)
        small = (left == 0 or right == 0) and found.within(0, 1 << 62)
        return shift if small and shift % (1 << int(found.hi).bit_length()) == 0 else self._unclear(expr)

    def _compare(self, expr: ir.Compare, scope: Shifts) -> tuple[Expr, Shift]:
        (left, first), (right, second) = self.expr(expr.left, scope), self.expr(expr.right, scope)
        new = replace(expr, left=left, right=right)
        if isinstance(first, NotTranslated):
            return new, first
        if isinstance(second, NotTranslated):
            return new, second
        if first == second:
            return new, 0
        # A bound. What it says far from the end: the side that grows faster is the smaller one there.
        decide: Mapping[ir.CompareOp, Callable[[int, int], bool]] = {
            "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
            "==": operator.eq, "!=": operator.ne,
        }  # fmt: skip
        return ir.Const(decide[expr.op](second, first), DType.BOOL, expr.place), 0

    def _logic(self, expr: ir.Logic, scope: Shifts) -> tuple[Expr, Shift]:
        (left, first), (right, second) = self.expr(expr.left, scope), self.expr(expr.right, scope)
        strong = expr.op == "or"
        for side, other, shift in ((left, right, second), (right, left, first)):
            if isinstance(side, ir.Const):
                return (side, 0) if bool(side.value) is strong else (other, shift)
        shift = first if isinstance(first, NotTranslated) else second
        return replace(expr, left=left, right=right), shift

    def _select(self, expr: ir.Select, scope: Shifts) -> tuple[Expr, Shift]:
        when, shift = self.expr(expr.condition, scope)
        if isinstance(when, ir.Const):
            return self.expr(expr.then if when.value else expr.otherwise, scope)
        (then, first), (otherwise, second) = self.expr(expr.then, scope), self.expr(expr.otherwise, scope)
        new = replace(expr, condition=when, then=then, otherwise=otherwise)
        if expr.dtype.is_data:
            if isinstance(shift, NotTranslated):
                raise _Stop(shift.why, shift.place)
            return new, 0
        for part in (shift, first, second):
            if isinstance(part, NotTranslated):
                return new, part
        return new, first if first == second else self._unclear(expr)


def _join(left: Shifts, right: Shifts, place: Place) -> Shifts:
    """Return what is known where two paths meet."""
    found: dict[str, Shift] = {**right, **left}
    for name in left.keys() & right.keys():
        if left[name] != right[name] and not isinstance(left[name], NotTranslated):
            found[name] = NotTranslated(f"{name} moves differently on two paths", place)
    return found
