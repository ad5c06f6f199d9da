"""What the instructions of PTX compute on terms: one value for each distinct row of operands.

A value is a pair of bits and a term: term 0 says that the bits are known, a negative one that nothing was ever put
there. An operation without a reading here is an opaque operator of its operands, which is sound: it is a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, TypeAlias

from cuda_out.ptx.instructions.concrete import Operation
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import is_float, width
from symbolic.algebra.terms import Term
from symbolic.ir.program import FunctionName, OperatorName

Value: TypeAlias = tuple[int, Term]
Summand: TypeAlias = "tuple[Operation, tuple[Value | None, ...], Term | None]"
"""A sum of which None stands for an operand that is another one, and what all of it is multiplied by."""
Ring: TypeAlias = tuple[str, bool, int]
"""Sums that may be taken together: the operator, whether of floats, and of how many bits."""


def evaluate(normal: Normal, operation: Operation, row: tuple[Value, ...], rounds: str | None = None) -> Value:
    """Return what an operation that is no sum gives for its operands; `rounds` is the type of which a conversion's
    number is, the one with fewer bits."""
    if operation.name == "selp":
        kind = operation.result
        if any(term and normal.is_real(term) for _, term in row[:2]) and not is_float(kind):
            kind = f"f{width(kind)}"
        yes, no = (of_value(normal, kind, value) for value in row[:2])
        return _result(normal, kind, normal.select(kind, of_value(normal, "pred", row[2]), yes, no))
    values = [of_value(normal, kind, value) for kind, value in zip(operation.sources, row, strict=True)]
    if rounds and operation.name != "bf16.number":  # which reads bits
        values[0] = normal.rounded(rounds, values[0])
    found = _apply(normal, operation, values)
    if rounds and operation.name == "bf16.number":
        found = normal.rounded(rounds, found)
    return _result(normal, operation.result, found)


_SUMMANDS: Final[dict[str, tuple[int, ...]]] = {"xor": (0, 1), "add": (0, 1), "sub": (0,), "mad": (2,)}
"""The operands of a sum that count as they are."""


@cache
def ring(operation: Operation) -> Ring | None:
    """Return which sums an instruction is one of, and may be a summand of; None if it is no sum."""
    if operation.name not in _SUMMANDS:
        return None
    kind = operation.result
    return "^" if operation.name == "xor" else "+", is_float(kind), width(kind)


def summands(operation: Operation) -> tuple[int, ...]:
    """Return the places of a sum's operands that count as they are."""
    return _SUMMANDS.get(operation.name, ())


def evaluate_sum(normal: Normal, sums: Sequence[Summand]) -> Value:
    """Return what sums of one ring come to together."""
    kind, parts = sums[0][0].result, list[Term]()
    for operation, row, by in sums:
        v = [None if value is None else of_value(normal, kind, value) for value in row]
        if operation.name in ("mad", "mul"):
            v[:2] = [None] if v[0] is None or v[1] is None else [normal.multiply(kind, v[0], v[1])]
        elif operation.name == "sub":
            assert v[1] is not None
            v[1] = normal.scaled(kind, -1, v[1])
        parts += [term if by is None else normal.multiply(kind, term, by) for term in v if term is not None]
    total = normal.exclusive_or(kind, *parts) if sums[0][0].name == "xor" else normal.add(kind, *parts)
    return _result(normal, kind, total)


def of_value(normal: Normal, kind: str, value: Value) -> Term:
    """Return a value as a term of a type."""
    bits, term = value
    return normal.of_kind(kind, term) if term else normal.lifted(kind, bits)


def _result(normal: Normal, kind: str, term: Term) -> Value:
    known = normal.bits(kind, term)
    return (0, term) if known is None else (known, 0)


_APPROXIMATED: Final = {"ex2": "exp2", "lg2": "log2"}
"""The functions that instructions approximate which have another name."""


def _apply(normal: Normal, operation: Operation, v: list[Term]) -> Term:
    if isinstance(operation.name, OperatorName | FunctionName):
        return normal.terms.apply(operation.name, v)
    if operation.name.startswith("external "):
        return normal.terms.apply(operation.name, v)
    head, _, rest = operation.name.partition(".")
    kind = operation.result
    match head:
        case "math" | "sqrt":
            return normal.function_of(f"{rest if head == 'math' else head}:f64", v, kind)
        case "ex2" | "lg2" | "rsqrt" | "sin" | "cos" | "tanh":
            return normal.function_of(f"{_APPROXIMATED.get(head, head)}:f64", v, kind)
        case "mul" if not rest:
            return normal.multiply(kind, v[0], v[1])
        case "mul" | "mad" if rest.startswith("wide."):
            source = rest[5:]
            product = normal.multiply(kind, normal.extended(source, v[0]), normal.extended(source, v[1]))
            return normal.add(kind, product, *v[2:])
        case "mul" if rest.startswith("hi.u"):
            product = _opaque(normal, operation, v)
            return normal.quotient(width(kind), product, 0) or product
        case "bf16":
            return normal.bf16_number(v[0]) if rest == "number" else normal.bf16_bits(v[0])
        case "neg":
            return normal.scaled(kind, -1, v[0])
        case "and":
            return normal.conjunction(kind, v[0], v[1])
        case "or":
            return normal.disjunction(kind, v[0], v[1])
        case "not":
            return normal.inverted(kind, v[0])
        case "min" | "max":
            return normal.extreme(head, kind, v[0], v[1])
        case "abs":
            return normal.absolute(kind, v[0])
        case "rcp":
            return normal.inverse(kind, v[0])
        case "div" if is_float(kind):
            return normal.multiply(kind, v[0], normal.inverse(kind, v[1]))
        case "div" if kind[0] == "u":
            return normal.floor_divide(kind, v[0], v[1])
        case "rem" if kind[0] == "u":
            return normal.modulo(kind, v[0], v[1])
        case "setp":
            return _compare(normal, rest, v)
        case "cvt":
            return _convert(normal, operation, v[0])
        case "shl" | "shr" | "shf" | "bfe" | "bfi" | "lop3" | "prmt":
            return _bits(normal, operation, v)
        case "dp4a" | "dp2a":
            wide, places, first = (8, 4, 0) if head == "dp4a" else (16, 2, 2 * rest.startswith("hi"))
            parts = normal.split(wide, places, v[0]), normal.split(8, 4, v[1])[first : first + places]
            sides = zip(*parts, strict=True)
            kinds = [f"{operation.sources[0][0]}{wide}", f"{operation.sources[1][0]}8"]
            products = (
                [normal.extended(k, normal.of_kind(k, side)) for k, side in zip(kinds, pair, strict=True)]
                for pair in sides
            )
            return normal.add("s32", v[2], *(normal.multiply("s32", x, y) for x, y in products))
        case _:
            return _opaque(normal, operation, v)


def _opaque(normal: Normal, operation: Operation, v: list[Term]) -> Term:
    return normal.terms.apply(f"{operation.name}:{operation.result}", tuple(v))


def _compare(normal: Normal, rest: str, v: list[Term]) -> Term:
    compare, kind, *more = rest.split(".")
    a, b = v[0], v[1]
    if compare in ("nan", "num"):  # real numbers are numbers
        if not (normal.is_ordered(a) and normal.is_ordered(b)):
            return normal.unknown_outcome(a, b)
        return normal.terms.const(0 if compare == "nan" else -1)
    match compare:
        case "eq" | "ne":
            found = normal.equal(kind, a, b)
        case "lt" | "ge":
            found = normal.less(kind, a, b)
        case _:
            found = normal.less(kind, b, a)
    if compare in ("ne", "le", "ge"):
        found = normal.inverted("pred", found)
    match more:
        case ["and"]:
            return normal.conjunction("pred", found, v[2])
        case ["or"]:
            return normal.disjunction("pred", found, v[2])
        case ["xor"]:
            return normal.exclusive_or("pred", found, v[2])
        case _:
            return found


_ROUNDED: Final = {"rmi": "floor:f64", "rpi": "ceil:f64", "rni": "rint:f64", "rzi": "trunc:f64"}
"""The functions of mathematics that conversions round by."""


def _convert(normal: Normal, operation: Operation, a: Term) -> Term:
    (source,), target = operation.sources, operation.result
    mode = operation.name.split(".")[1]
    if is_float(source):
        if mode == "rzi" and not is_float(target):
            return normal.terms.apply(f"trunc.{target}", (a,))
        if mode in _ROUNDED and (not is_float(target) or target == source):
            whole = normal.terms.apply(_ROUNDED[mode], (a,))
            return whole if is_float(target) else normal.terms.apply(f"trunc.{target}", (whole,))
        return a if is_float(target) and mode == target else _opaque(normal, operation, [a])
    if is_float(target):
        return normal.rounded(target, normal.real_of(source, a))
    if width(target) <= width(source):
        return normal.narrowed(target, a)
    return normal.distance(source, target, a) or normal.extended(source, a)


def _bits(normal: Normal, operation: Operation, v: list[Term]) -> Term:
    """Shifts, fields and tables, where their steering operands are known."""
    nodes, kind = normal.terms.nodes, operation.result
    steering = v[{"shl": 1, "shr": 1, "shf": 2, "bfe": 1, "bfi": 2, "lop": 3, "prm": 2}[operation.name[:3]] :]
    if any(nodes[s][0] != "const" for s in steering):
        return _opaque(normal, operation, v)
    numbers = [int(nodes[s][1][0]) & (1 << 32) - 1 for s in steering]
    constant = normal.terms.const
    unsigned = f"{'u' if kind[0] == 'b' else kind[0]}{kind[1:]}"
    match operation.name[:3]:
        case "shl":
            return normal.shifted_left(kind, v[0], numbers[0])
        case "shr":
            return normal.shifted_right(unsigned, v[0], numbers[0])
        case "shf" if operation.name.split(".")[2] == "wrap":
            left = numbers[0] & 31 if ".l." in operation.name else -numbers[0] & 31
            if left == 0:
                return v[1] if ".l." in operation.name else v[0]
            high, low = normal.shifted_left(kind, v[1], left), normal.shifted_right("u32", v[0], 32 - left)
            return normal.exclusive_or(kind, high, low)
        case "bfe" if kind[0] == "u" and numbers[1] > 0 and numbers[0] + numbers[1] <= width(kind):
            moved = normal.shifted_right(kind, v[0], numbers[0])
            return normal.conjunction(kind, moved, constant((1 << numbers[1]) - 1))
        case "bfi" if numbers[0] + numbers[1] <= width(kind):
            mask = constant(((1 << numbers[1]) - 1) << numbers[0])
            new = normal.conjunction(kind, normal.shifted_left(kind, v[0], numbers[0]), mask)
            return normal.exclusive_or(kind, new, normal.conjunction(kind, v[1], normal.inverted(kind, mask)))
        case "prm":
            return _permuted(normal, operation, v, [numbers[0] >> 4 * place & 15 for place in range(4)])
        case "lop":
            total = constant(0)
            for row in range(8):
                if numbers[0] >> row & 1:
                    literals = [v[p] if row >> (2 - p) & 1 else normal.inverted(kind, v[p]) for p in range(3)]
                    product = normal.conjunction(kind, normal.conjunction(kind, literals[0], literals[1]), literals[2])
                    total = normal.exclusive_or(kind, total, product)
            return total
        case _:
            return _opaque(normal, operation, v)


def _permuted(normal: Normal, operation: Operation, v: list[Term], chosen: list[int]) -> Term:
    """Bytes of two words in some order; the highest may repeat the sign of the one below them."""
    pieces = (*normal.split(8, 4, v[0]), *normal.split(8, 4, v[1]))
    taken = [number for number in chosen if number < 8]
    if len(taken) == 4:
        return _moved_bytes(normal, operation.result, v, taken)
    if len(taken) not in (1, 2) or chosen != taken + [taken[-1] | 8] * (4 - len(taken)):
        return _opaque(normal, operation, v)
    kind = f"s{8 * len(taken)}"
    low = pieces[taken[0]] if len(taken) == 1 else normal.joined(8, [pieces[number] for number in taken])
    return normal.extended(kind, normal.of_kind(kind, low))


def _moved_bytes(normal: Normal, kind: str, v: list[Term], taken: list[int]) -> Term:
    """Bytes of two words in some order; neighbours that stay neighbours move together, as they may be one element."""
    parts, place = list[Term](), 0
    while place < 4:
        first, count = taken[place], 1
        while place + count < 4 and taken[place + count] == first + count and (first + count) % 4:
            count += 1
        mask = normal.terms.const((1 << 8 * count) - 1)
        low = normal.conjunction(kind, normal.shifted_right("u32", v[first // 4], first % 4 * 8), mask)
        parts.append(normal.shifted_left(kind, low, 8 * place))
        place += count
    return normal.exclusive_or(kind, *parts)


def pack(normal: Normal, parts: tuple[Value, ...], size: int) -> Value:
    """Put values of `size` bits side by side, the first one lowest."""
    for _, term in parts:
        if term < 0:
            return 0, term
    if not any(term for _, term in parts):
        return sum((bits & (1 << size) - 1) << place * size for place, (bits, _) in enumerate(parts)), 0
    whole = normal.joined(size, [of_value(normal, f"b{size}", value) for value in parts])
    return _result(normal, f"b{size * len(parts)}", whole)


def unpack(normal: Normal, value: Value, size: int, count: int) -> tuple[Value, ...]:
    """Take a value apart into `count` pieces of `size` bits."""
    bits, term = value
    if term == 0:
        return tuple((bits >> place * size & (1 << size) - 1, 0) for place in range(count))
    if term < 0:
        return ((0, term),) * count
    return tuple(_result(normal, f"b{size}", piece) for piece in normal.split(size, count, term))
