"""Sums of index expressions as terms with factors: equal terms are collected, brackets disappear, constants go last.

A product stays together: `(i - lane) * 7` is one term. In a block of one dimension the thread's index is
`warpid * warpsize + laneid`, so `threadIdx.x - laneid` is the warp's first thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

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
    """Return a sum that is equal modulo n, with `y % m` replaced by y where its factor times m is a multiple of n."""
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


def _is_mask(value: int) -> bool:
    return value > 0 and value & (value + 1) == 0
