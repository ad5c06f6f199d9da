"""What the instructions of PTX compute on numbers.

`decode` turns an instruction's name into an `Operation`: the types that it reads and gives, a plain name for the
symbolic reading, and the function on NumPy lanes. A fused multiply-add rounds once, by way of double precision (f64:
twice); approximations (`rcp.approx`, `div.approx`) are the true quotients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.ptx.kinds import KINDS, Typed, is_float, width
from cuda_out.ptx.syntax import NotInterpreted

Compute: TypeAlias = Callable[..., Typed]


class Operation(Struct, frozen=True):
    """One pure instruction: `compute` maps values of the `sources` types to values of the `result` type."""

    name: str
    sources: tuple[str, ...]
    result: str
    compute: Compute


_ROUNDING: Final = frozenset(("sat", "rn", "rni", "rz", "rzi", "rm", "rmi", "rp", "rpi"))
_IGNORED: Final = frozenset(("ftz", "approx", "full", "lo", "rn", "noftz"))
_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_PLAIN: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "not": np.invert, "neg": np.negative, "abs": np.abs,
}  # fmt: skip
_APPROXIMATED: Final[dict[str, Callable[[Any], Any]]] = {
    "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "rsqrt": lambda a: np.float32(1) / np.sqrt(a),
}  # fmt: skip
_ARITY: Final = {"not": 1, "neg": 1, "abs": 1, "mad": 3, "fma": 3, "rcp": 1, "sqrt": 1, "popc": 1, "clz": 1, "brev": 1}


@cache
def decode(op: tuple[str, ...]) -> Operation:
    """Return what a pure instruction does; raise NotInterpreted for one that is not known here."""
    head, kind = op[0], op[-1]
    if (halves := _of_halves(op)) is not None:
        return halves
    extra = [part for part in op[1:-1] if part not in _IGNORED]
    if kind not in KINDS:
        raise NotInterpreted(".".join(op))
    found: Operation | None = None
    match head:
        case "setp":
            found = _comparison(op)
        case "selp":
            found = Operation("selp", (kind, kind, "pred"), kind, _select)
        case "cvt":
            found = _conversion(op)
        case "mul" | "mad" if extra in (["wide"], ["hi"]):
            found = _long_product(head, extra[0], kind)
        case "fma" | "add" | "sub" | "mul" if extra == ["rz"] and kind == "f32":
            found = Operation(f"{head}.rz", (kind,) * _ARITY.get(head, 2), kind, _toward_zero(head))
        case "fma" if extra in (["rm"], ["rp"]) and kind == "f32":
            found = Operation(f"fma.{extra[0]}", (kind,) * 3, kind, _to_one_side(extra[0]))
        case _ if head in _APPROXIMATED and not extra and kind == "f32":
            found = Operation(f"{head}.{kind}", (kind,), kind, _APPROXIMATED[head])
        case "mad" | "fma" if not extra:
            found = Operation("mad", (kind,) * 3, kind, _fused(kind))
        case "shl" | "shr" if not extra:
            found = Operation(f"{head}.{kind}", (kind, "u32"), kind, _shift(head, kind))
        case "bfe" if not extra:
            found = Operation(f"bfe.{kind}", (kind, "u32", "u32"), kind, _extract(kind))
        case "bfi" if not extra:
            found = Operation(f"bfi.{kind}", (kind, kind, "u32", "u32"), kind, _insert(kind))
        case "lop3" if not extra:
            found = Operation("lop3", (kind, kind, kind, "u32"), kind, _table)
        case "prmt" if not extra:
            found = Operation("prmt", (kind, kind, "u32"), kind, _permute)
        case "dp4a" if op[1:] and op[1] in ("s32", "u32") and kind in ("s32", "u32"):
            found = Operation(f"dp4a.{op[1]}.{kind}", (op[1], kind, "s32"), "s32", _bytes_product(op[1], kind))
        case "dp2a" if len(op) == 4 and op[1] in ("lo", "hi") and op[2] in ("s32", "u32") and kind in ("s32", "u32"):
            sources = (op[2], kind, "s32")
            found = Operation(f"dp2a.{op[1]}.{op[2]}.{kind}", sources, "s32", _halves_product(op[1], op[2], kind))
        case "shf" if extra in (["l", "wrap"], ["r", "wrap"], ["l", "clamp"], ["r", "clamp"]):
            found = Operation(".".join(op), (kind, kind, "u32"), kind, _funnel(*extra))
        case "bfind" if extra in ([], ["shiftamt"]):
            name = ".".join([head, *extra])
            found = Operation(f"{name}.{kind}", (kind,), "u32", _counting(name, kind))
        case "popc" | "clz" | "brev" if not extra:
            found = Operation(f"{head}.{kind}", (kind,), "u32" if head != "brev" else kind, _counting(head, kind))
        case "div" | "rem" if not extra:
            found = Operation(f"{head}.{kind}", (kind, kind), kind, _division(head, kind))
        case "min" | "max" if not extra:
            pick = {"min": np.fmin, "max": np.fmax} if is_float(kind) else {"min": np.minimum, "max": np.maximum}
            found = Operation(f"{head}.{kind}", (kind, kind), kind, pick[head])
        case "rcp" if not extra and is_float(kind):
            found = Operation(f"rcp.{kind}", (kind,), kind, lambda a: np.divide(KINDS[kind](1), a))
        case "sqrt" if not extra and is_float(kind):
            found = Operation(f"sqrt.{kind}", (kind,), kind, np.sqrt)
        case "copysign" if not extra:
            found = Operation(f"copysign.{kind}", (kind, kind), kind, lambda a, b: np.copysign(b, a))
        case _ if head in _PLAIN and not extra:
            name = f"abs.{kind}" if head == "abs" else head
            found = Operation(name, (kind,) * _ARITY.get(head, 2), kind, _PLAIN[head])
    if found is None:
        raise NotInterpreted(".".join(op))
    return found


def _of_halves(op: tuple[str, ...]) -> Operation | None:
    """Return an instruction on pairs of halves or on types that NumPy lacks: a function of its operands, no more."""
    kinds = {"f16x2": "b32", "bf16x2": "b32", "bf16": "b16", "tf32": "b32"}
    given = next((part for part in op[1:] if part in kinds), None)
    if given is None:
        return None
    if op[0] == "cvt":
        sources = ("f32",) * (2 if given.endswith("x2") else 1)
    else:
        sources = (kinds[given],) * (3 if op[0] == "fma" else 2)

    def compute(*values: Typed) -> Typed:
        raise NotInterpreted(f"{'.'.join(op)} on numbers")

    return Operation("halves." + "_".join(op), sources, kinds[given], compute)


def _comparison(op: tuple[str, ...]) -> Operation | None:
    """setp.CMP[.and|.or|.xor].TYPE; the `u` at the end of a float comparison: true also where one is no number."""
    compare, kind = op[1], op[-1]
    rest = [part for part in op[2:-1] if part != "ftz"]
    if is_float(kind) and compare in ("nan", "num") and not rest:
        return Operation(f"setp.{compare}.{kind}", (kind, kind), "pred", _number_test(compare))
    unordered = is_float(kind) and compare.endswith("u")
    plain = compare.rstrip("u") if unordered else compare
    if plain not in _COMPARE or len(rest) > 1 or any(part not in ("and", "or", "xor") for part in rest):
        return None

    def test(a: Typed, b: Typed, *more: Typed) -> Typed:
        found: Typed = _COMPARE[plain](a, b)
        if unordered:
            found = found | np.isnan(a) | np.isnan(b)
        return _PLAIN[rest[0]](found, more[0]) if rest else found

    name = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(plain, plain)
    sources = (kind, kind, "pred") if rest else (kind, kind)
    return Operation(".".join(["setp", name, kind, *rest]), sources, "pred", test)


def _number_test(compare: str) -> Compute:
    def test(a: Typed, b: Typed) -> Typed:
        found: Typed = (np.isnan(a) | np.isnan(b)) == (compare == "nan")
        return found

    return test


def _select(a: Typed, b: Typed, condition: Typed) -> Typed:
    found: Typed = np.where(condition, a, b)
    return found


def _conversion(op: tuple[str, ...]) -> Operation | None:
    target, source = op[-2], op[-1]
    modes = [part for part in op[1:-2] if part != "ftz"]
    if target not in KINDS or len(modes) > 1 or any(mode not in _ROUNDING for mode in modes):
        return None
    mode = modes[0] if modes else ""
    rounders: dict[str, Callable[..., Any]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
    name = f"cvt.{target}.{source}"
    if mode == "sat" and target == source == "f32":
        return Operation("cvt.sat.f32.f32", (source,), target, _saturated)
    if is_float(source) and mode in rounders:
        name = f"cvt.{mode}.{target}.{source}"
    elif mode not in ("", "rn"):
        return None

    def convert(a: Typed) -> Typed:
        if not is_float(source):
            return a.astype(KINDS[target])
        if mode in rounders:
            a = rounders[mode](a)
        if is_float(target):
            return a.astype(KINDS[target])
        limits = np.iinfo(KINDS[target])
        wide = np.nan_to_num(a.astype(np.float64), nan=0.0, posinf=float(limits.max), neginf=float(limits.min))
        inside = np.clip(wide, float(limits.min), float(limits.max))
        found: Typed = np.array([min(max(int(v), limits.min), limits.max) for v in inside.tolist()], KINDS[target])
        return found

    return Operation(name, (source,), target, convert)


def _long_product(head: str, part: str, kind: str) -> Operation | None:
    size = width(kind)
    if is_float(kind) or (part == "wide" and size > 32):
        return None
    result = f"{kind[0]}{2 * size}" if part == "wide" else kind

    def compute(a: Typed, b: Typed, *c: Typed) -> Typed:
        if size < 64:
            long = f"{'i' if kind[0] == 's' else 'u'}{size // 4}"
            product = a.astype(long) * b.astype(long)
        else:
            product = a.astype(object) * b.astype(object)
        if part == "hi":
            product = product >> size
            if size == 64:
                product = np.array([int(v) & (1 << 64) - 1 for v in product], np.uint64).view(KINDS[kind])
        found: Typed = product.astype(KINDS[result])
        return found + c[0] if c else found

    sources = (kind, kind, result) if head == "mad" else (kind, kind)
    return Operation(f"{head}.{part}.{kind}", sources, result, compute)


def _fused(kind: str) -> Compute:
    if kind in ("f16", "f32"):
        return lambda a, b, c: (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(KINDS[kind])
    return lambda a, b, c: a * b + c


def _toward_zero(head: str) -> Compute:
    def compute(*values: Typed) -> Typed:
        a, b, *c = (value.astype(np.float64) for value in values)
        exact: Typed = a * b + c[0] if c else _PLAIN[head](a, b)
        near = exact.astype(np.float32)
        found: Typed = np.where(np.abs(near) > np.abs(exact), np.nextafter(near, np.float32(0)), near)
        return found

    return compute


def _to_one_side(mode: str) -> Compute:
    """Round a product and sum down (rm) or up (rp)."""
    lowest = np.float32(-np.inf if mode == "rm" else np.inf)

    def compute(a: Typed, b: Typed, c: Typed) -> Typed:
        exact = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
        near = exact.astype(np.float32)
        beyond = near > exact if mode == "rm" else near < exact
        found: Typed = np.where(beyond, np.nextafter(near, lowest), near)
        return found

    return compute


def _saturated(a: Typed) -> Typed:
    """Return a number between 0 and 1; what is no number is 0."""
    found: Typed = np.nan_to_num(np.clip(a, np.float32(0), np.float32(1)), nan=0.0)
    return found


def _shift(head: str, kind: str) -> Compute:
    size = width(kind)

    def compute(a: Typed, amount: Typed) -> Typed:
        small = np.minimum(amount, size - 1).astype(a.dtype)
        moved: Typed = a >> small if head == "shr" else a << small
        gone = (amount >= size) & (head == "shl" or kind[0] != "s")
        return np.where(gone, np.zeros_like(a), moved)

    return compute


def _extract(kind: str) -> Compute:
    size = width(kind)

    def one(value: int, start: int, length: int) -> int:
        start, length = start & 255, length & 255
        field = (value & (1 << size) - 1) >> start & (1 << length) - 1
        if kind[0] == "s" and length:
            sign = (value & (1 << size) - 1) >> min(start + length - 1, size - 1) & 1
            present = max(min(length, size - start), 0)
            if sign:
                field |= -1 << present
        return field & (1 << size) - 1

    return _each(one, kind)


def _insert(kind: str) -> Compute:
    size = width(kind)

    def one(new: int, old: int, start: int, length: int) -> int:
        start, length = start & 255, length & 255
        mask = ((1 << length) - 1) << start & (1 << size) - 1
        return (old & ~mask | new << start & mask) & (1 << size) - 1

    return _each(one, kind)


def _each(one: Callable[..., int], kind: str) -> Compute:
    """Lift a function on Python integers (its result unsigned) to lanes."""
    unsigned = f"u{width(kind) // 8}"

    def compute(*values: Typed) -> Typed:
        rows = zip(*(value.tolist() for value in values), strict=True)
        found: Typed = np.array([one(*row) for row in rows], unsigned).view(KINDS[kind])
        return found

    return compute


def _table(a: Typed, b: Typed, c: Typed, table: Typed) -> Typed:
    found = np.zeros_like(a)
    for row in range(8):
        on = table >> row & 1 == 1
        term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        found = np.where(on, found | term, found)
    return found


def _permute(a: Typed, b: Typed, control: Typed) -> Typed:
    both = b.astype(np.uint64) << np.uint64(32) | a.astype(np.uint64)
    found = np.zeros(len(both), np.uint64)
    for place in range(4):
        chosen = control.astype(np.uint64) >> np.uint64(4 * place) & np.uint64(15)
        byte = both >> (chosen & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        sign = np.where(byte >> np.uint64(7) != 0, np.uint64(255), np.uint64(0))
        found |= np.where(chosen & np.uint64(8) != 0, sign, byte) << np.uint64(8 * place)
    return found.astype(a.dtype)


def _bytes_product(first: str, second: str) -> Compute:
    """The products of four bytes each, and a sum with a third number."""
    return _products(first, second, 8, [(place, place) for place in range(4)])


def _halves_product(mode: str, first: str, second: str) -> Compute:
    """The products of the two halves of a number with two bytes of another, and a sum with a third."""
    return _products(first, second, 16, [(place, place + 2 * (mode == "hi")) for place in range(2)])


def _products(first: str, second: str, wide: int, places: Sequence[tuple[int, int]]) -> Compute:
    """The products of parts of one number with bytes of another, and a sum with a third number."""

    def part(kind: str, number: Typed, bits: int, place: int) -> Typed:
        found: Typed = number.astype(np.int64) >> bits * place & (1 << bits) - 1
        return found - (found >> bits - 1 << bits) if kind == "s32" else found

    def compute(a: Typed, b: Typed, c: Typed) -> Typed:
        with np.errstate(all="ignore"):
            total = c.astype(np.int64)
            for x, y in places:
                total = total + part(first, a, wide, x) * part(second, b, 8, y)
            found: Typed = total.astype(np.int32)
            return found

    return compute


def _funnel(direction: str, mode: str) -> Compute:
    def compute(low: Typed, high: Typed, amount: Typed) -> Typed:
        both = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
        by = (amount & 31 if mode == "wrap" else np.minimum(amount, 32)).astype(np.uint64)
        moved: Typed = both >> by if direction == "r" else (both << by) >> np.uint64(32)
        return moved.astype(low.dtype)

    return compute


def _counting(head: str, kind: str) -> Compute:
    size = width(kind)
    count: dict[str, Callable[[int], int]] = {
        "popc": lambda value: value.bit_count(),
        "clz": lambda value: size - value.bit_length(),
        "bfind": lambda value: value.bit_length() - 1 & 0xFFFFFFFF,
        "bfind.shiftamt": lambda value: size - value.bit_length() if value else 0xFFFFFFFF,
        "brev": lambda value: int(f"{value:0{size}b}"[::-1], 2),
    }
    return _each(lambda value: count[head](value & (1 << size) - 1), kind if head == "brev" else "u32")


def _division(head: str, kind: str) -> Compute:
    """Integer division rounds toward zero, its remainder has the dividend's sign."""
    if is_float(kind):
        return np.divide

    def compute(a: Typed, b: Typed) -> Typed:
        floored = a // b
        quotient = floored + ((floored * b != a) & ((a < 0) != (b < 0)))
        found: Typed = quotient if head == "div" else a - quotient * b
        return found.astype(KINDS[kind])

    return compute
