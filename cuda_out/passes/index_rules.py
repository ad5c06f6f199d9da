"""Rules of index arithmetic: sums as terms with factors, of which equal ones are collected, products, and above all
division and remainder by a constant.

A product stays together: `(i - lane) * 7` is one term. In a block of one dimension the thread's index is
`warpid * warpsize + laneid`, so `threadIdx.x - laneid` is the warp's first thread.

Every rule holds in Python's integers, where `//` and `%` round down: for n > 0, (a * n + b) // n is a + b // n, and (a
* n + b) % n is b % n, whatever the signs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import assert_never

from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, range_of
from symbolic.ir.program import DType, Expr
from symbolic.ir.walk import same


class ScaledAtom(Struct, frozen=True):
    """`factor * atom`; the atom is no sum, no negation, no constant and no product with one."""

    factor: int
    atom: Expr


def terms_of(expr: Expr, factor: int = 1) -> Iterator[ScaledAtom | int]:
    """Yield what is added up, in the order of the text, constants as plain ints."""
    match expr:
        case ir.Const(value=value):
            yield factor * int(value)
        case ir.Binary(op="+", left=left, right=right):
            yield from terms_of(left, factor)
            yield from terms_of(right, factor)
        case ir.Binary(op="-", left=left, right=right):
            yield from terms_of(left, factor)
            yield from terms_of(right, -factor)
        case ir.Unary(op="-", operand=operand):
            yield from terms_of(operand, -factor)
        case ir.Binary(op="*", left=left, right=ir.Const(value=value)) if not _is_sum(left):
            yield from terms_of(left, factor * int(value))
        case ir.Binary(op="*", left=left, right=ir.Const(value=value)):
            yield ScaledAtom(factor * int(value), left)
        case _:
            yield ScaledAtom(factor, expr)


def _is_sum(expr: Expr) -> bool:
    return isinstance(expr, ir.Binary) and expr.op in ("+", "-")


def collected(expr: Expr, facts: Facts) -> Expr:
    """Return the sum with its terms collected, or unchanged if an intermediate value might then overflow."""
    terms: list[ScaledAtom] = []
    shift = 0
    for each in terms_of(expr):
        if isinstance(each, int):
            shift += each
            continue
        for at, term in enumerate(terms):
            if same(term.atom, each.atom):
                terms[at] = ScaledAtom(term.factor + each.factor, term.atom)
                break
        else:
            terms.append(each)
    terms = _warps(terms, facts)
    found = sum_of([term for term in terms if term.factor], shift, expr.place)
    return found if _is_safe(found, facts) or not _is_safe(expr, facts) else expr


def _is_safe(expr: Expr, facts: Facts) -> bool:
    """Say whether every partial sum stays within an int, as far as the ranges say."""
    while _is_sum(expr):
        assert isinstance(expr, ir.Binary)
        if not range_of(expr, facts).within(-(2**31), 2**31 - 1):
            return False
        expr = expr.left
    return True


def _warps(terms: list[ScaledAtom], facts: Facts) -> list[ScaledAtom]:
    """Replace `threadIdx.x - laneid`, in a block of one dimension, by the warp's first thread."""
    size = facts.get("warpsize.x")
    flat = all((known := facts.get(f"blockDim.{axis}")) is not None and known.value == 1 for axis in "yz")
    if size is None or size.value is None or not flat:
        return terms

    def find(name: str) -> ScaledAtom | None:
        return next((t for t in terms if isinstance(t.atom, ir.Coordinate) and t.atom.name == name), None)

    thread, lane = find("threadIdx"), find("laneid")
    if thread is None or lane is None or thread.factor != -lane.factor:
        return terms
    warp = ir.Coordinate("warpid", "x", lane.atom.place)
    first = ScaledAtom(thread.factor * size.value if range_of(warp, facts).value != 0 else 0, warp)
    return [first if term is thread else term for term in terms if term is not lane]


def sum_of(terms: Sequence[ScaledAtom], shift: int, place: Place) -> Expr:
    """Return the sum, a positive term (or constant) first if there is one."""
    ordered = list(terms)
    found: Expr | None = None
    positive = next((term for term in ordered if term.factor > 0), None)
    if positive is not None and ordered[0].factor < 0:
        ordered.remove(positive)
        ordered.insert(0, positive)
    if positive is None and shift > 0 and ordered:
        found, shift = ir.Const(shift, DType.INDEX, place), 0
    for term in ordered:
        scaled = _scaled(term, place)
        if found is None:
            found = scaled if term.factor > 0 else ir.Unary("-", scaled, DType.INDEX, place)
        else:
            found = ir.Binary("+" if term.factor > 0 else "-", found, scaled, DType.INDEX, place)
    if found is None:
        return ir.Const(shift, DType.INDEX, place)
    if shift:
        constant = ir.Const(abs(shift), DType.INDEX, place)
        found = ir.Binary("+" if shift > 0 else "-", found, constant, DType.INDEX, place)
    return found


def _scaled(term: ScaledAtom, place: Place) -> Expr:
    """Return |factor| * atom."""
    size = abs(term.factor)
    return term.atom if size == 1 else ir.Binary("*", term.atom, ir.Const(size, DType.INDEX, place), DType.INDEX, place)


def without_remainders(expr: Expr, n: int) -> Expr:
    """Return a sum that is equal modulo n, with `y % m` replaced by y where its factor times m is a multiple of n.

    In `y // m`, what counts is y modulo m times as many as there are different multiples of its factor.
    """
    terms: list[ScaledAtom] = []
    shift = 0
    changed = False
    for each in terms_of(expr):
        if isinstance(each, int):
            shift += each
            continue
        match each.atom:
            case ir.Binary(op="%", left=left, right=ir.Const(value=m)) if int(m) > 0 and each.factor * int(m) % n == 0:
                inner = left
            case ir.Binary(op="&", left=left, right=ir.Const(value=m)) if (
                _is_mask(int(m)) and each.factor * (int(m) + 1) % n == 0
            ):
                inner = left
            case ir.Binary(op="//", left=left, right=ir.Const(value=m)) if int(m) > 0:
                reduced = _reduced(left, int(m) * (n // math.gcd(n, each.factor)))
                changed |= reduced is not left
                terms.append(each if reduced is left else replace(each, atom=replace(each.atom, left=reduced)))
                continue
            case _:
                terms.append(each)
                continue
        changed = True
        for part in terms_of(inner, each.factor):
            if isinstance(part, int):
                shift += part
            else:
                terms.append(part)
    return sum_of(terms, shift, expr.place) if changed else expr


def _reduced(expr: Expr, n: int) -> Expr:
    """Return a sum that is equal modulo n, without remainders and multiples that do not count."""
    bare = without_remainders(expr, n)
    terms = list(terms_of(bare))
    kept = [each for each in terms if not isinstance(each, int) and each.factor % n]
    shift = sum(each for each in terms if isinstance(each, int)) % n
    numbers = [each for each in terms if isinstance(each, int)]
    if len(kept) + len(numbers) == len(terms) and numbers in ([], [shift]):
        return bare
    return sum_of(kept, shift, expr.place)


def _is_mask(value: int) -> bool:
    return value > 0 and value & (value + 1) == 0


Simplify: TypeAlias = Callable[[Expr], Expr]  # what simplifies a rewritten part anew

_FOLD: Mapping[ir.BinaryOp, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "min": min, "max": max,
}  # fmt: skip


def constant(value: int, place: Place) -> Expr:
    return ir.Const(value, DType.INDEX, place)


def simplify_binary(expr: ir.Binary, facts: Facts, again: Simplify) -> Expr:
    """Return a simpler form of an operation whose operands are already simplified."""
    left, right, place = expr.left, expr.right, expr.place
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        folded = _fold(expr.op, int(left.value), int(right.value))
        return expr if folded is None else constant(folded, place)
    match expr.op:
        case "+" | "-":
            return collected(expr, facts)
        case "*":
            return _product(expr)
        case "//" | "%":
            return _division(expr, facts, again)
        case "min" | "max":
            a, b = range_of(left, facts), range_of(right, facts)
            if a.hi <= b.lo or same(left, right):
                return left if expr.op == "min" else right
            if b.hi <= a.lo:
                return right if expr.op == "min" else left
            return expr
        case "<<" | ">>":
            return left if _is(right, 0) else expr
        case "&":
            if isinstance(right, ir.Const) and _covers(int(right.value), facts, left):
                return left
            return right if _is(right, 0) else left if same(left, right) else expr
        case "|" | "^":
            if _is(right, 0):
                return left
            return right if _is(left, 0) else expr
        case "/" | ir.OperatorName():
            return expr
        case _:
            assert_never(expr.op)


def _fold(op: ir.BinaryOp, left: int, right: int) -> int | None:
    if op == "/" or (op in ("//", "%") and right == 0) or (op in ("<<", ">>") and not 0 <= right < 32):
        return None
    return _FOLD[op](left, right)


def _is(expr: Expr, value: int) -> bool:
    return isinstance(expr, ir.Const) and expr.value == value


def _covers(mask: int, facts: Facts, operand: Expr) -> bool:
    """Say whether `operand & mask` is the operand: the mask is 2**b - 1 and the operand fits."""
    return mask & (mask + 1) == 0 and range_of(operand, facts).within(0, mask)


def _product(expr: ir.Binary) -> Expr:
    left, right, place = expr.left, expr.right, expr.place
    if isinstance(left, ir.Const):
        left, right = right, left
    if not isinstance(right, ir.Const):
        return expr
    if right.value == 0:
        return constant(0, place)
    if right.value == 1:
        return left
    if right.value == -1:
        return ir.Unary("-", left, DType.INDEX, place)
    if isinstance(left, ir.Binary) and left.op == "*" and isinstance(left.right, ir.Const):
        return replace(left, right=constant(int(left.right.value) * int(right.value), place))
    return replace(expr, left=left, right=right)


def _division(expr: ir.Binary, facts: Facts, again: Simplify) -> Expr:
    """Simplify `a // n` and `a % n`, mostly for a constant n > 0."""
    left, right, place = expr.left, expr.right, expr.place
    if range_of(left, facts).within(0, range_of(right, facts).lo - 1):
        return left if expr.op == "%" else constant(0, place)
    if not isinstance(right, ir.Const) or int(right.value) <= 0:
        return expr
    n = int(right.value)
    if n == 1:
        return left if expr.op == "//" else constant(0, place)
    if expr.op == "%" and (stripped := without_remainders(left, n)) is not left:
        return again(replace(expr, left=stripped))
    multiple, rest = _multiples(left, n, facts)
    if multiple is not None:
        inner = again(replace(expr, left=rest))
        return inner if expr.op == "%" else collected(_plus(multiple, inner), facts)
    match left:
        case ir.Binary(op="//", left=inner, right=ir.Const(value=m)) if expr.op == "//" and int(m) > 0:
            return _division(replace(expr, left=inner, right=constant(int(m) * n, place)), facts, again)
        case _:
            return expr


def _plus(left: Expr, right: Expr) -> Expr:
    return ir.Binary("+", left, right, DType.INDEX, left.place)


def _multiples(expr: Expr, n: int, facts: Facts) -> tuple[Expr | None, Expr]:
    """Split `a * n + b` into (a, b); a is None when no term is a multiple of n. A constant splits by floor."""
    place = expr.place
    multiple: list[ScaledAtom] = []
    rest: list[ScaledAtom] = []
    shift = 0
    for each in terms_of(expr):
        if isinstance(each, int):
            shift += each
        elif each.factor % n == 0:
            multiple.append(ScaledAtom(each.factor // n, each.atom))
        else:
            rest.append(each)
    if not multiple and 0 <= shift < n:
        return None, expr
    found = sum_of(multiple, shift // n, place)
    return collected(found, facts), sum_of(rest, shift % n, place)
