"""Ranges of whole numbers at each point of a program: abstract interpretation over intervals (`Range`).

`Facts` maps the name of a scalar variable, or of a coordinate such as "threadIdx.x", to its range; "x[]" are the
elements of an array, and "?0" is the first hole. A name that is not in it can have any value of its type. Facts are
never changed in place. The statements below follow variables alone; who knows what arrays hold says so in the facts.

A range is a closed interval, an open end of which is infinite. The range of a result holds all values that it may have,
in Python's unbounded integers, and possibly more.

    >>> Range(0, 31).floor_mod(Range(8, 8))
    Range(lo=0, hi=7)
    >>> Range(-3, 5).floor_div(Range(4, 4))
    Range(lo=-1, hi=1)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import assert_never

from symbolic.elements import limits
from symbolic.ir import program as ir
from symbolic.ir.functions import ChoiceFunction, Gather
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, assigned_in

Bound: TypeAlias = int | float  # an int, or one of the two infinities


def _times(a: Bound, b: Bound) -> Bound:
    return 0 if a == 0 or b == 0 else a * b


def _floor_div(a: Bound, b: Bound) -> Bound:
    if math.isinf(b):
        return 0 if a == 0 or (a > 0) == (b > 0) else -1
    return a * (1 if b > 0 else -1) if math.isinf(a) else a // b


class Range(Struct, frozen=True):
    """All integers from lo to hi, both included; an end without a bound is infinite. Only `NOTHING` has none."""

    lo: Bound
    hi: Bound

    def __post_init__(self) -> None:
        assert self.lo <= self.hi or self.lo == -self.hi == math.inf, f"empty range {self.lo}..{self.hi}"

    @property
    def value(self) -> int | None:
        """The only member, or None."""
        return int(self.lo) if self.lo == self.hi else None

    def within(self, lo: Bound, hi: Bound) -> bool:
        return lo <= self.lo and self.hi <= hi

    def join(self, other: Range) -> Range:
        return Range(min(self.lo, other.lo), max(self.hi, other.hi))

    def meet(self, lo: Bound, hi: Bound) -> Range:
        """Narrow to lo..hi; if nothing is left (unreachable code), return the range unchanged."""
        low, high = max(self.lo, lo), min(self.hi, hi)
        return Range(low, high) if low <= high else self

    def __add__(self, other: Range) -> Range:
        return Range(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self) -> Range:
        return Range(-self.hi, -self.lo)

    def __sub__(self, other: Range) -> Range:
        return self + -other

    def __mul__(self, other: Range) -> Range:
        return self._corners(other, _times)

    def _corners(self, other: Range, op: Callable[[Bound, Bound], Bound]) -> Range:
        values = [op(a, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Range(min(values), max(values))

    def _without_zero(self) -> Range:
        if self.lo == 0 < self.hi:
            return Range(1, self.hi)
        return Range(self.lo, -1) if self.lo < 0 == self.hi else self

    def floor_div(self, divisor: Range) -> Range:
        divisor = divisor._without_zero()
        if divisor.lo <= 0 <= divisor.hi:
            largest = max(abs(self.lo), abs(self.hi))
            return Range(-largest, largest)
        return self._corners(divisor, _floor_div)

    def floor_mod(self, divisor: Range) -> Range:
        divisor = divisor._without_zero()
        if divisor.lo > 0 and self.within(0, divisor.lo - 1):
            return self
        n = divisor.value
        if n and not math.isinf(self.lo) and not math.isinf(self.hi) and self.lo // n == self.hi // n:
            ends = (self.lo % n, self.hi % n)
            return Range(min(ends), max(ends))
        result = Range(min(divisor.lo + 1, 0), max(divisor.hi - 1, 0))
        return result.meet(0, self.hi) if divisor.lo > 0 and self.lo >= 0 else result

    def shift_left(self, amount: Range) -> Range:
        return self * Range(2**amount.lo, 2**amount.hi) if amount.within(0, 64) else ANY

    def shift_right(self, amount: Range) -> Range:
        return self.floor_div(Range(2**amount.lo, 2**amount.hi)) if amount.within(0, 64) else ANY

    def bit_and(self, other: Range) -> Range:
        tops = [side.hi for side in (self, other) if side.lo >= 0]
        return Range(0, min(tops)) if tops else self._signed(other)

    def bit_or(self, other: Range) -> Range:
        filled = self.bit_xor(other)
        return filled.meet(max(self.lo, other.lo), math.inf) if filled.lo == 0 else filled

    def bit_xor(self, other: Range) -> Range:
        if self.lo < 0 or other.lo < 0:
            return self._signed(other)
        top = max(self.hi, other.hi)
        return Range(0, math.inf if math.isinf(top) else (1 << int(top).bit_length()) - 1)

    def _signed(self, other: Range) -> Range:
        """Return what so many bits, one of them for the sign, can hold."""
        ends = (self.lo, self.hi, other.lo, other.hi)
        if any(math.isinf(end) for end in ends):
            return ANY
        bits = max(int(end if end >= 0 else ~int(end)).bit_length() for end in ends)
        return Range(-(1 << bits), (1 << bits) - 1)

    def minimum(self, other: Range) -> Range:
        return Range(min(self.lo, other.lo), min(self.hi, other.hi))

    def maximum(self, other: Range) -> Range:
        return Range(max(self.lo, other.lo), max(self.hi, other.hi))

    def absolute(self) -> Range:
        if self.lo >= 0:
            return self
        return -self if self.hi <= 0 else Range(0, max(-self.lo, self.hi))


ANY = Range(-math.inf, math.inf)
NOTHING = Range(math.inf, -math.inf)
"""No integer; it joins with any range, and is no operand."""


Facts: TypeAlias = Mapping[str, Range]

FARTHEST: Final = 1 << 22
"""How much of a length a block asks for at most."""
LONGEST: Final = 2**31 - 2**20
"""The greatest length that loops run along: the elements of a chunk behind it still have numbers of 31 bits."""

INVERSE: Mapping[ir.CompareOp, ir.CompareOp] = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
MIRROR: Mapping[ir.CompareOp, ir.CompareOp] = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def launch_facts(program: Program) -> Facts:
    """Return the ranges of all coordinates of the program's launch shape."""
    threads = math.prod(program.block)
    facts = {
        "laneid.x": Range(0, min(program.warp_size, threads) - 1),
        "warpid.x": Range(0, (threads - 1) // program.warp_size),
        "warpsize.x": Range(program.warp_size, program.warp_size),
    }
    facts["left.k"] = Range(1, LONGEST)
    for axis, block, grid in zip("xyz", program.block, program.grid, strict=True):
        facts[f"threadIdx.{axis}"] = Range(0, block - 1)
        facts[f"blockIdx.{axis}"] = Range(0, grid - 1)
        facts[f"blockDim.{axis}"] = Range(block, block)
        facts[f"gridDim.{axis}"] = Range(grid, grid)
        facts[f"before.{axis}"], facts[f"left.{axis}"] = Range(0, FARTHEST), Range(1, FARTHEST)
    return facts


def leaf(expr: Expr) -> str | None:
    """Return the name that a variable or a coordinate has in `Facts`; None for any other expression."""
    match expr:
        case ir.Var(name=name):
            return name
        case ir.Coordinate(name=name, axis=axis):
            return f"{name}.{axis}"
        case _:
            return None


def numbers_of(dtype: DType) -> Range:
    """Return the numbers of a type; an INDEX has no bounds, and of floats and states nothing is known."""
    if dtype is DType.BOOL:
        return Range(0, 1)
    if dtype in (DType.INDEX, DType.STATE) or dtype.is_float:
        return ANY
    return Range(*limits(dtype))


def range_of(expr: Expr, facts: Facts) -> Range:
    """Return a range that holds every value of an expression: of a float all numbers, of integer data what is left of
    them where they wrap."""
    whole = numbers_of(expr.dtype)
    if expr.dtype in (DType.BOOL, DType.STATE) or expr.dtype.is_float:
        return whole
    found = _before_wrapping(expr, facts, whole)
    return found if found == NOTHING or found.within(whole.lo, whole.hi) else whole


def _before_wrapping(expr: Expr, facts: Facts, whole: Range) -> Range:
    match expr:
        case ir.Const(value=value):
            return Range(int(value), int(value))
        case ir.Var() | ir.Coordinate():
            return facts.get(leaf(expr) or "", whole)
        case ir.Unary(op=op, operand=operand):
            return _unary(op, range_of(operand, facts))
        case ir.Binary(op=op, left=left, right=right):
            return _binary(op, range_of(left, facts), range_of(right, facts), expr.dtype)
        case ir.Select(condition, then, otherwise):
            chosen = decide(condition, facts)
            if chosen is not None:
                return range_of(then if chosen else otherwise, facts)
            return range_of(then, facts_where(condition, True, facts)).join(
                range_of(otherwise, facts_where(condition, False, facts))
            )
        case ir.Lookup(entries=entries):
            return Range(min(entries), max(entries))
        case ir.Shuffle(value=value):
            return range_of(value, facts)
        case ir.Cast(operand=operand):
            return range_of(operand, facts)
        case ir.Load(array=array):
            return facts.get(f"{array}[]", whole)
        case ir.HoleCall(hole=hole):
            return facts.get(f"?{hole}", whole)
        case ir.Apply(function=function, operands=operands):
            match function.row:
                case ChoiceFunction():
                    return range_of(operands[2], facts).join(range_of(operands[3], facts))
                case Gather(array=array):
                    return facts.get(f"{array}[]", whole)
            return whole
        case ir.AccumulatorValue() | ir.Compare() | ir.Logic():
            return whole
        case _:
            assert_never(expr)


def _unary(op: ir.UnaryOp, operand: Range) -> Range:
    if operand == NOTHING:
        return NOTHING
    match op:
        case "-":
            return -operand
        case "~":
            return -operand - Range(1, 1)
        case "abs":
            return operand.absolute()
        case "not":
            return ANY
        case _:
            assert_never(op)


def _binary(op: ir.BinaryOp, left: Range, right: Range, dtype: DType) -> Range:
    if NOTHING in (left, right):
        return NOTHING
    if dtype.is_data and (
        (op in ("//", "%") and right.lo <= 0) or (op in ("<<", ">>") and not right.within(0, dtype.bits - 1))
    ):
        return ANY  # of an index these are mistakes; data may be anything
    return binary_range(op, left, right)


_BINARY: Final[Mapping[ir.BinaryOp, Callable[[Range, Range], Range]]] = {
    "+": Range.__add__, "-": Range.__sub__, "*": Range.__mul__, "//": Range.floor_div, "%": Range.floor_mod,
    "<<": Range.shift_left, ">>": Range.shift_right, "&": Range.bit_and, "|": Range.bit_or, "^": Range.bit_xor,
    "min": Range.minimum, "max": Range.maximum, "/": lambda _, __: ANY,
}  # fmt: skip


def binary_range(op: ir.BinaryOp, left: Range, right: Range) -> Range:
    """Return the range of `left op right`, with Python's floor for `//` and `%`."""
    return ANY if isinstance(op, ir.OperatorName) else _BINARY[op](left, right)


def decide(condition: Expr, facts: Facts) -> bool | None:
    """Return the condition's value if the ranges decide it, else None."""
    match condition:
        case ir.Const(value=value):
            return bool(value)
        case ir.Unary(op="not", operand=operand):
            inner = decide(operand, facts)
            return None if inner is None else not inner
        case ir.Logic(op=op, left=left, right=right):
            first, second = decide(left, facts), decide(right, facts)
            strong = op == "or"
            if first is strong or second is strong:
                return strong
            return None if first is None or second is None else not strong
        case ir.Select(condition=inner_condition, then=then, otherwise=otherwise):
            chosen = decide(inner_condition, facts)
            if chosen is not None:
                return decide(then if chosen else otherwise, facts)
            first, second = decide(then, facts), decide(otherwise, facts)
            return first if first is second else None
        case ir.Compare(op=op, left=left, right=right):
            return _compare(op, range_of(left, facts), range_of(right, facts))
        case _:
            return None


def _compare(op: ir.CompareOp, left: Range, right: Range) -> bool | None:
    match op:
        case "<":
            return True if left.hi < right.lo else False if left.lo >= right.hi else None
        case "<=":
            return True if left.hi <= right.lo else False if left.lo > right.hi else None
        case ">" | ">=":
            return _compare(MIRROR[op], right, left)
        case "==":
            if left.value is not None and left == right:
                return True
            return False if left.hi < right.lo or right.hi < left.lo else None
        case "!=":
            equal = _compare("==", left, right)
            return None if equal is None else not equal
        case _:
            assert_never(op)


def facts_where(condition: Expr, truth: bool, facts: Facts) -> Facts:
    """Return the facts that hold where the condition has this truth value."""
    match condition:
        case ir.Unary(op="not", operand=operand):
            return facts_where(operand, not truth, facts)
        case ir.Logic(op=op, left=left, right=right) if (op == "and") is truth:
            return facts_where(right, truth, facts_where(left, truth, facts))
        case ir.Compare(op=op, left=left, right=right):
            op = op if truth else INVERSE[op]
            return _narrow(right, MIRROR[op], range_of(left, facts), _narrow(left, op, range_of(right, facts), facts))
        case _:
            return facts


def _narrow(expr: Expr, op: ir.CompareOp, other: Range, facts: Facts) -> Facts:
    """Narrow a variable or coordinate, knowing that `expr op something in other`."""
    key = leaf(expr)
    if key is None or expr.dtype is not DType.INDEX:
        return facts
    known = facts.get(key, ANY)
    match op:
        case "<":
            known = known.meet(-math.inf, other.hi - 1)
        case "<=":
            known = known.meet(-math.inf, other.hi)
        case ">":
            known = known.meet(other.lo + 1, math.inf)
        case ">=":
            known = known.meet(other.lo, math.inf)
        case "==":
            known = known.meet(other.lo, other.hi)
        case "!=" if other.value is not None:
            known = known.meet(known.lo + (known.lo == other.lo), known.hi - (known.hi == other.hi))
        case _:
            pass
    return {**facts, key: known}


def trip_range(stmt: ir.For, facts: Facts) -> Range | None:
    """Return the range of a loop's variable inside its body, or None when the body never runs."""
    start, stop, step = (range_of(bound, facts) for bound in (stmt.start, stmt.stop, stmt.step))
    if step.lo > 0:
        if stop.hi <= start.lo:
            return None
        last = stop.hi - 1
        if start.value is not None and step.value is not None and not math.isinf(last):
            last -= (last - start.value) % step.value
        return Range(start.lo, last)
    if step.hi < 0:
        if stop.lo >= start.hi:
            return None
        last = stop.lo + 1
        if start.value is not None and step.value is not None and not math.isinf(last):
            last += (start.value - last) % -step.value
        return Range(last, start.hi)
    return start.join(stop)


def loop_facts(stmt: ir.For, facts: Facts) -> Facts:
    """Return what holds at the start of every iteration: a fixed point, where ends that keep moving become infinite."""
    trip = trip_range(stmt, facts)
    if trip is None:
        return facts
    changing = assigned_in(stmt.body)
    entry: Facts = {**facts, stmt.variable: trip}
    for widen in (False, False, True, True):
        end = after_body(stmt.body, entry)
        grown = dict(entry)
        for name in changing - {stmt.variable}:
            if name not in entry:
                continue
            old, new = entry[name], entry[name].join(end.get(name, ANY))
            if widen and new != old:
                new = Range(new.lo if new.lo == old.lo else -math.inf, new.hi if new.hi == old.hi else math.inf)
            grown[name] = new
        if grown == entry:
            return entry
        entry = grown
    return {name: known for name, known in entry.items() if name == stmt.variable or name not in changing}


def after_body(body: Body, facts: Facts) -> Facts:
    """Return what holds after a body, for facts that hold before it."""
    for stmt in body:
        facts = after(stmt, facts)
    return facts


def after(stmt: Stmt, facts: Facts) -> Facts:
    """Return what holds after one statement, for the lanes that run it."""
    match stmt:
        case ir.Assign(name=name, value=value):
            return {**facts, name: range_of(value, facts)}
        case ir.For():
            if trip_range(stmt, facts) is None:
                return facts
            end = after_body(stmt.body, loop_facts(stmt, facts))
            known = _join(facts, end)
            return {name: found for name, found in known.items() if name != stmt.variable}
        case ir.If(condition=condition, then=then, otherwise=otherwise):
            chosen = decide(condition, facts)
            if chosen is not None:
                return after_body(then if chosen else otherwise, facts)
            first = after_body(then, facts_where(condition, True, facts))
            return _join(first, after_body(otherwise, facts_where(condition, False, facts)))
        case ir.Store() | ir.DeclareArray() | ir.DeclareAccumulator() | ir.Accumulate() | ir.Barrier():
            return facts
        case ir.WarpInstruction() | ir.CopyAsync() | ir.CopyGroup():
            return facts
        case _:
            assert_never(stmt)


def _join(left: Facts, right: Facts) -> Facts:
    return {name: left[name].join(right[name]) for name in left.keys() & right.keys()}


def rewrite(body: Body, facts: Facts, visit: Callable[[Stmt, Facts], Body]) -> Body:
    """Return the body with `visit` applied to each statement, after the bodies nested in it have been rewritten."""
    found: list[Stmt] = []
    for stmt in body:
        changed: Stmt
        match stmt:
            case ir.For(body=inner):
                changed = replace(stmt, body=rewrite(inner, loop_facts(stmt, facts), visit))
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                changed = replace(
                    stmt,
                    then=rewrite(then, facts_where(condition, True, facts), visit),
                    otherwise=rewrite(otherwise, facts_where(condition, False, facts), visit),
                )
            case _:
                changed = stmt
        found += visit(changed, facts)
        facts = after(stmt, facts)
    return tuple(found)
