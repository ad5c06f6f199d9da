"""Rows of work on bits: logic, shifts, fields, tables and permutations of bytes, and counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from cuda_out.ptx.instructions.indices import Indices, Value, not_of_blocks
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import Compute, InstructionRow, Operation
from cuda_out.ptx.instructions.polynomials import Polynomial, plus, product_of
from cuda_out.ptx.kinds import KINDS, Typed, width
from symbolic.algebra.terms import Term

_LOGIC: Final = r"\.(?P<t>pred|b16|b32|b64)"
TermOf: TypeAlias = Callable[[Operation, Normal, list[Term]], Term]


def _steered(data: int, reading: Callable[..., Term | None]) -> TermOf:
    """Return the reading of an instruction whose operands behind the first ones say, where they are known, what it
    does with those; None stands for what is no term but its own."""

    def term(o: Operation, n: Normal, v: list[Term]) -> Term:
        nodes = [n.terms.nodes[each] for each in v[data:]]
        known = all(op == "const" for op, _ in nodes)
        found = reading(o, n, v, *(int(args[0]) & (1 << 32) - 1 for _, args in nodes)) if known else None
        return o.opaque(n, v) if found is None else found

    return term


def _logic_index(o: Operation, t: Indices, v: list[Polynomial], row: Sequence[Value]) -> Value:
    if o.result != "pred":
        return t.value(t.bitwise(o.name, o.size, v, row), o.size)
    if o.name in ("xor", "not"):
        raise not_of_blocks(o.name)
    return t.joined(int(o.name == "or"), row)


def _not_index(o: Operation, t: Indices, v: list[Polynomial], row: Sequence[Value]) -> Value:
    if o.result == "pred":
        raise not_of_blocks(o.name)
    return t.value(plus({(): -1}, v[0], -1), o.size)


# -- shifts --------------------------------------------------------------------------------------------------------


def _number(o: Operation) -> str:
    return o.result.replace("b", "u")


def _moved_up(o: Operation, a: Typed, by: Typed) -> Typed:
    moved: Typed = a << np.minimum(by, o.size - 1).astype(a.dtype)
    return np.where(by >= o.size, np.zeros_like(a), moved)


def _moved_down(o: Operation, a: Typed, by: Typed) -> Typed:
    moved: Typed = a >> np.minimum(by, o.size - 1).astype(a.dtype)
    return moved if o.result[0] == "s" else np.where(by >= o.size, np.zeros_like(a), moved)


def _moved_index(o: Operation, t: Indices, v: list[Polynomial], row: Sequence[Value]) -> Value:
    by, unknown = row[1]
    if unknown:
        raise not_of_blocks(o.name)
    if o.says("op") == "shl":
        return t.value(product_of(v[0], {(): 1 << by}) if by < o.size else {}, o.size)
    return t.value(t.floored(t.integer(v[0], _number(o)), min(by, o.size)), o.size)


def _funnel(o: Operation, low: Typed, high: Typed, amount: Typed) -> Typed:
    both = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
    by = (amount & 31 if o.says("mode") == "wrap" else np.minimum(amount, 32)).astype(np.uint64)
    moved: Typed = both >> by if o.says("way") == "r" else (both << by) >> np.uint64(32)
    return moved.astype(low.dtype)


def _funnel_term(o: Operation, n: Normal, v: list[Term], amount: int) -> Term | None:
    if o.says("mode") == "clamp":
        return None
    left = amount & 31 if o.says("way") == "l" else -amount & 31
    if left == 0:
        return v[1] if o.says("way") == "l" else v[0]
    return n.exclusive_or(o.result, n.shifted_left(o.result, v[1], left), n.shifted_right("u32", v[0], 32 - left))


# -- fields, tables, bytes -----------------------------------------------------------------------------------------


def _by_integers(one: Callable[..., int]) -> Compute:
    """Lift a function of an operation and of Python's integers, none of them negative, to lanes."""

    def compute(o: Operation, *values: Typed) -> Typed:
        rows = zip(*(value.view(f"u{value.itemsize}").tolist() for value in values), strict=True)
        return np.array([one(o, *row) & (1 << o.size) - 1 for row in rows], f"u{o.size // 8}").view(KINDS[o.result])

    return compute


def _extracted(o: Operation, value: int, start: int, length: int) -> int:
    start, length = start & 255, length & 255
    field = value >> start & (1 << length) - 1
    negative = o.result[0] == "s" and length and value >> min(start + length - 1, o.size - 1) & 1
    return field | -1 << max(min(length, o.size - start), 0) if negative else field


def _extracted_term(o: Operation, n: Normal, v: list[Term], start: int, length: int) -> Term | None:
    if o.result[0] == "s" or start + length > o.size:
        return None
    return n.conjunction(o.result, n.shifted_right(o.result, v[0], start), n.terms.const((1 << length) - 1))


def _inserted(o: Operation, new: int, old: int, start: int, length: int) -> int:
    mask = ((1 << (length & 255)) - 1) << (start & 255)
    return old & ~mask | new << (start & 255) & mask


def _inserted_term(o: Operation, n: Normal, v: list[Term], start: int, length: int) -> Term | None:
    if start + length > o.size:
        return None
    mask, kind = n.terms.const(((1 << length) - 1) << start), o.result
    new = n.conjunction(kind, n.shifted_left(kind, v[0], start), mask)
    return n.exclusive_or(kind, new, n.conjunction(kind, v[1], n.inverted(kind, mask)))


def _truth_table(o: Operation, a: Typed, b: Typed, c: Typed, table: Typed) -> Typed:
    found = np.zeros_like(a)
    for row in range(8):
        on = table >> row & 1 == 1
        term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        found = np.where(on, found | term, found)
    return found


def _truth_table_term(o: Operation, n: Normal, v: list[Term], table: int) -> Term:
    kind, total = o.result, n.terms.const(0)
    for row in (row for row in range(8) if table >> row & 1):
        a, b, c = (v[p] if row >> (2 - p) & 1 else n.inverted(kind, v[p]) for p in range(3))
        total = n.exclusive_or(kind, total, n.conjunction(kind, n.conjunction(kind, a, b), c))
    return total


def _permuted(o: Operation, a: Typed, b: Typed, control: Typed) -> Typed:
    both = b.astype(np.uint64) << np.uint64(32) | a.astype(np.uint64)
    found = np.zeros(len(both), np.uint64)
    for place in range(4):
        chosen = control.astype(np.uint64) >> np.uint64(4 * place) & np.uint64(15)
        byte = both >> (chosen & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        sign = np.where(byte >> np.uint64(7) != 0, np.uint64(255), np.uint64(0))
        found |= np.where(chosen & np.uint64(8) != 0, sign, byte) << np.uint64(8 * place)
    return found.astype(a.dtype)


def _permuted_term(o: Operation, n: Normal, v: list[Term], control: int) -> Term | None:
    """Bytes of two words in some order; the highest may repeat the sign of the one below them."""
    chosen = [control >> 4 * place & 15 for place in range(4)]
    taken = [number for number in chosen if number < 8]
    if len(taken) == 4:
        return _moved_bytes(o.result, n, v, taken)
    if len(taken) not in (1, 2) or chosen != taken + [taken[-1] | 8] * (4 - len(taken)):
        return None
    pieces, kind = (*n.split(8, 4, v[0]), *n.split(8, 4, v[1])), f"s{8 * len(taken)}"
    low = pieces[taken[0]] if len(taken) == 1 else n.joined(8, [pieces[number] for number in taken])
    return n.extended(kind, n.of_kind(kind, low))


def _moved_bytes(kind: str, n: Normal, v: list[Term], taken: list[int]) -> Term:
    """Bytes of two words in some order; neighbours that stay neighbours move together, as they may be one element."""
    parts, place = list[Term](), 0
    while place < 4:
        first, count = taken[place], 1
        while place + count < 4 and taken[place + count] == first + count and (first + count) % 4:
            count += 1
        mask = n.terms.const((1 << 8 * count) - 1)
        low = n.conjunction(kind, n.shifted_right("u32", v[first // 4], first % 4 * 8), mask)
        parts.append(n.shifted_left(kind, low, 8 * place))
        place += count
    return n.exclusive_or(kind, *parts)


_COUNTS: Final[dict[str, Callable[[int, int], int]]] = {
    "popc": lambda value, size: value.bit_count(),
    "clz": lambda value, size: size - value.bit_length(),
    "bfind": lambda value, size: value.bit_length() - 1,
    "bfind.shiftamt": lambda value, size: size - value.bit_length() if value else -1,
    "brev": lambda value, size: int(f"{value:0{size}b}"[::-1], 2),
}
"""How many bits are set, how many are 0 above the highest, which is the highest; and all in the other order."""


BITS: Final = (
    InstructionRow(
        ((rf"and{_LOGIC}", "=t t t"),),
        name="and",
        numbers=lambda o, a, b: a & b,
        term=lambda o, n, v: n.conjunction(o.result, v[0], v[1]),
        index=_logic_index,
        commutes=True,
    ),
    InstructionRow(
        ((rf"or{_LOGIC}", "=t t t"),),
        name="or",
        numbers=lambda o, a, b: a | b,
        term=lambda o, n, v: n.disjunction(o.result, v[0], v[1]),
        index=_logic_index,
        commutes=True,
    ),
    InstructionRow(
        ((rf"xor{_LOGIC}", "=t t t"),),
        name="xor",
        numbers=lambda o, a, b: a ^ b,
        parts=lambda o, n, v: v,
        index=_logic_index,
        ring="^", summands=(0, 1), commutes=True,
    ),
    InstructionRow(
        ((rf"not{_LOGIC}", "=t t"),),
        name="not",
        numbers=lambda o, a: ~a,
        term=lambda o, n, v: n.inverted(o.result, v[0]),
        index=_not_index,
    ),
    InstructionRow(
        ((r"shl\.(?P<t>b(?:16|32|64))", "=t t u32"),),
        numbers=_moved_up,
        term=_steered(1, lambda o, n, v, by: n.shifted_left(o.result, v[0], by)),
        index=_moved_index,
    ),
    InstructionRow(
        ((r"shr\.(?P<t>[bus](?:16|32|64))", "=t t u32"),),
        numbers=_moved_down,
        term=_steered(1, lambda o, n, v, by: n.shifted_right(_number(o), v[0], by)),
        index=_moved_index,
    ),
    InstructionRow(
        ((r"shf\.(?P<way>[lr])\.(?P<mode>wrap|clamp)\.(?P<t>b32)", "=t t t u32"),),
        name="shf.{way}.{mode}.{t}",
        numbers=_funnel,
        term=_steered(2, _funnel_term),
    ),
    InstructionRow(
        ((r"bfe\.(?P<t>[us](?:32|64))", "=t t u32 u32"),),
        numbers=_by_integers(_extracted),
        term=_steered(1, _extracted_term),
    ),
    InstructionRow(
        ((r"bfi\.(?P<t>b(?:32|64))", "=t t t u32 u32"),),
        numbers=_by_integers(_inserted),
        term=_steered(2, _inserted_term),
    ),
    InstructionRow(
        ((r"lop3\.(?P<t>b32)", "=t t t t literal"),),
        name="lop3",
        numbers=_truth_table,
        term=_steered(3, _truth_table_term),
    ),
    InstructionRow(
        ((r"prmt\.(?P<t>b32)", "=t t t u32"),), name="prmt", numbers=_permuted, term=_steered(2, _permuted_term)
    ),
    InstructionRow(
        (
            (r"(?:popc|clz)\.(?P<t>b(?:32|64))", "=u32 t"),
            (r"bfind(?P<mode>\.shiftamt)?\.(?P<t>u(?:32|64))", "=u32 t"),
            (r"brev\.(?P<t>b(?:32|64))", "=t t"),
        ),
        name="{op}{mode}.{t}",
        numbers=_by_integers(lambda o, value: _COUNTS[o.says("op") + o.says("mode")](value, width(o.sources[0]))),
    ),
)  # fmt: skip
