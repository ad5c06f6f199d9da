"""How the blocks of a kernel are related along one axis of the grid: is block b the same as block 0, shifted?

Every index value is followed as `its value in block 0, plus blockIdx * shift`, with one integer shift for all threads
and iterations. If that is possible, all accesses to a global array shift by one stride for each dimension, whatever the
number of blocks. A condition that compares values of different shifts (`i < 128`) is a bound. It has the same value in
all blocks but those at the end, and is replaced by its value far from the end. Whether the kernel is still right
without its bounds is checked elsewhere.

Where arrays have *edges*, such comparisons stay, and so do clamps (`max(i - 1, 0)`): block 0's program asks how much of
the length is before the block and left for it (`before`, `left`). Which end a comparison is about is read off the
declared size; whether that is right is checked elsewhere, too.

    i = blockIdx.x * 64 + threadIdx.x     shift 64
    i // 32, i % 32                       shifts 2 and 0
    i < 128                               a bound: true
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import assert_never

from cuda_out.passes.simplify import inline_finals, simplify
from cuda_out.tiling.tiling import coordinates, endless
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.facts import ANY, Facts, Range, after, launch_facts, loop_facts, range_of
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, map_own


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
_Pair = TypeVar("_Pair", ir.Binary, ir.Compare, ir.Select)


class Ends(Struct, frozen=True):
    """What is known of an axis whose comparisons stay: its blocks, and a block's tile and the length as declared."""

    blocks: int
    tile: int = 1
    declared: int = 0


class _Stop(Exception):
    def __init__(self, why: str, place: Place) -> None:
        self.found = NotTranslated(why, place)


def translated(
    program: Program, axis: ir.Axis, ends: Ends | None = None, *, bounds: bool = True
) -> Translated | NotTranslated:
    """Find how the accesses of a program without holes shift along one axis of the grid, for any number of blocks.

    Along the other axes the program keeps the grid that it has. With `ends`, comparisons with them stay.
    Without `bounds`, nothing may be one.
    """
    for part in coordinates(program):
        if part.name == "gridDim" and part.axis == axis:
            return NotTranslated(f"gridDim.{axis} changes with the number of blocks", part.place)
    simple = simplify(endless(inline_finals(program), (axis,)))
    walk = _Walk(simple, axis, ends, bounds)
    try:
        body, _ = walk.body(simple.body, {})
    except _Stop as stop:
        return stop.found
    strides = {p.name: walk.strides.get(p.name, (0,) * len(p.shape)) for p in program.parameters}
    return Translated(axis, strides, replace(simple, body=body, grid=program.grid))


class _Walk:
    """Follows shifts through one program; `strides` are those of the global arrays, as far as they are known."""

    def __init__(self, program: Program, axis: ir.Axis, ends: Ends | None = None, bounds: bool = True) -> None:
        self.axis, self.ends, self.bounds = axis, ends, bounds
        self.facts = launch_facts(program)
        self.first: Facts = {**self.facts, f"blockIdx.{axis}": Range(0, 0)}  # what holds in block 0, where the walk is
        self.parameters = {parameter.name for parameter in program.parameters}
        self.strides: dict[str, tuple[int, ...]] = {}

    # -- statements -----------------------------------------------------------------------------------------

    def body(self, body: Body, scope: Shifts) -> tuple[Body, Shifts]:
        found: list[Stmt] = []
        for stmt in body:
            entry = self.first
            stmts, scope = self.statement(stmt, scope)
            self.first = after(stmt, entry)
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
            case ir.CopyAsync(array=array, indices=indices):
                moved = self._access(array, indices, scope, stmt.place)
                changed = map_own(stmt, lambda expr: expr if expr in indices else self.expr(expr, scope)[0])
                assert isinstance(changed, ir.CopyAsync)
                return (replace(changed, indices=moved),), scope
            case ir.DeclareArray() | ir.DeclareAccumulator() | ir.Barrier() | ir.CopyGroup():
                return (stmt,), scope
            case ir.WarpInstruction():
                return (
                    map_own(stmt, lambda index: self._fixed(index, scope, "the index of a fragment or row")),
                ), scope
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
                entry = self.first
                yes, after_yes = self.body(then, scope)
                first_yes, self.first = self.first, entry
                no, after_no = self.body(otherwise, scope)
                if self.ends:
                    yes, after_yes = self._levelled(yes, after_yes, first_yes, after_no, self.first, stmt.place)
                    no, after_no = self._levelled(no, after_no, self.first, after_yes, first_yes, stmt.place)
                return (replace(stmt, condition=when, then=yes, otherwise=no),), _join(after_yes, after_no, stmt.place)
            case _:
                assert_never(stmt)

    def _loop(self, stmt: ir.For, scope: Shifts) -> tuple[Body, Shifts]:
        start, stop, step = (
            self._fixed(bound, scope, "the loop's bound") for bound in (stmt.start, stmt.stop, stmt.step)
        )
        entry: Shifts = {**scope, stmt.variable: 0}
        outer = self.first
        while True:  # ends: each round but the last makes one more name unclear
            self.first = loop_facts(stmt, outer)
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
                if self.ends and expr.op in ("min", "max") and first != second:
                    return self._clamped(new, first, second)
                return new, self._binary(new, first, second)
            case ir.Compare():
                return self._compare(expr, scope)
            case ir.Logic():
                return self._logic(expr, scope)
            case ir.Select():
                return self._select(expr, scope)
            case ir.Lookup(index=index):
                return replace(expr, index=self._fixed(index, scope, "a place in a table")), 0
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
            case "abs" if self.ends and shift:
                return self._clamped(
                    ir.Binary("max", operand, _negative(operand), expr.dtype, expr.place), shift, -shift
                )
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
        if self.ends:
            return self._level(new, first, second)[0], 0
        if not self.bounds:
            return new, self._unclear(expr)
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
        if self.ends and isinstance(first, int) and isinstance(second, int) and first != second:
            return self._level(new, first, second)
        return new, first if first == second else self._unclear(expr)

    # -- what stays of comparisons with the ends ------------------------------------------------------------

    def _clamped(self, expr: ir.Binary, left: Shift, right: Shift) -> tuple[Expr, Shift]:
        """Return a minimum or maximum of two that move differently, as it moves far from the end that it is about."""
        for shift in (left, right):
            if isinstance(shift, NotTranslated):
                return expr, shift
        assert isinstance(left, int) and isinstance(right, int)
        found, faster = self._level(expr, left, right)
        if (expr.op == "max") != self._at_end(expr.left, expr.right, left - right):
            return found, faster
        slower = min(left, right)  # which is the one that counts far from this end
        return self._moved(found, faster - slower, self._at_end(expr.left, expr.right, left - right)), slower

    def _levelled(
        self, body: Body, scope: Shifts, first: Facts, other: Shifts, first_other: Facts, place: Place
    ) -> tuple[Body, Shifts]:
        """Return one of two paths with its variables as they move on the other path, where they do so faster.

        So after `if j < 0: j = 0`, j moves with its block.
        """
        for name in scope.keys() & other.keys():
            own, faster = scope[name], other[name]
            if not (isinstance(own, int) and isinstance(faster, int) and own < faster):
                continue
            variable = ir.Var(name, DType.INDEX, place)
            end = self._between(first.get(name, ANY) - first_other.get(name, ANY), faster - own, place)
            levelled = ir.Assign(name, self._moved(variable, own - faster, end), place)
            body, scope = (*body, levelled), {**scope, name: faster}
        return body, scope

    def _level(self, expr: _Pair, left: int, right: int) -> tuple[_Pair, int]:
        """Return an operation on two that move differently, both as the faster one moves, and its shift."""
        first, second = (expr.then, expr.otherwise) if isinstance(expr, ir.Select) else (expr.left, expr.right)
        end, faster = self._at_end(first, second, left - right), max(left, right)
        assert self.ends is not None
        if isinstance(expr, ir.Compare) and (left - right) % self.ends.tile:  # as of blockIdx.x == 0
            times = ir.Const(self.ends.tile, DType.INDEX, expr.place)
            first, second = (ir.Binary("*", each, times, DType.INDEX, expr.place) for each in (first, second))
            left, right, faster = (self.ends.tile * shift for shift in (left, right, faster))
        first, second = self._moved(first, left - faster, end), self._moved(second, right - faster, end)
        if isinstance(expr, ir.Select):
            return replace(expr, then=first, otherwise=second), faster
        return replace(expr, left=first, right=second), faster

    def _at_end(self, left: Expr, right: Expr, difference: int) -> bool:
        """Tell whether two values that move differently meet near the end of the arrays, or else near their start."""
        apart = range_of(right, self.first) - range_of(left, self.first)
        return self._between(-apart if difference < 0 else apart, abs(difference), left.place)

    def _between(self, apart: Range, difference: int, place: Place) -> bool:
        """Tell whether what moves by `difference` is, so far apart in the first block, met near the end."""
        assert self.ends is not None
        if math.isinf(apart.lo) or math.isinf(apart.hi):
            raise _Stop(f"nothing says near which end of blockIdx.{self.axis} this is", place)
        return apart.lo + apart.hi > difference * self.ends.blocks

    def _moved(self, expr: Expr, by: int, end: bool) -> Expr:
        """Return what a value and `by` for each block before this one come to: of blocks in full, or near the end."""
        ends = self.ends
        assert ends is not None
        if by == 0:
            return expr
        scale, rest = divmod(by, ends.tile)
        if rest:
            raise _Stop(
                f"this compares what moves by {abs(by)} with blockIdx.{self.axis}, in tiles of {ends.tile}", expr.place
            )
        known = ir.Coordinate("left" if end else "before", self.axis, expr.place)
        times = ir.Const(-scale if end else scale, DType.INDEX, expr.place)
        size = replace(times, value=abs(times.value))
        moved: Expr = known if size.value == 1 else ir.Binary("*", size, known, DType.INDEX, expr.place)
        sign: Literal["+", "-"] = "-" if times.value < 0 else "+"
        constant = ir.Const(scale * ends.declared if end else 0, DType.INDEX, expr.place)
        own = ir.Binary("+", expr, constant, DType.INDEX, expr.place) if constant.value else expr
        if isinstance(expr, ir.Const):
            own = ir.Const(expr.value + constant.value, DType.INDEX, expr.place)
            if not own.value:
                return moved if sign == "+" else ir.Unary("-", moved, DType.INDEX, expr.place)
        return ir.Binary(sign, own, moved, DType.INDEX, expr.place)


def _negative(expr: Expr) -> Expr:
    if isinstance(expr, ir.Binary) and expr.op == "-":
        return replace(expr, left=expr.right, right=expr.left)
    return ir.Unary("-", expr, expr.dtype, expr.place)


def _join(left: Shifts, right: Shifts, place: Place) -> Shifts:
    """Return what is known where two paths meet."""
    found: dict[str, Shift] = {**right, **left}
    for name in left.keys() & right.keys():
        if left[name] != right[name] and not isinstance(left[name], NotTranslated):
            found[name] = NotTranslated(f"{name} moves differently on two paths", place)
    return found
