"""What the instructions of PTX compute on terms: one value for each distinct row of operands.

A value is a pair of bits and a term: term 0 says that the bits are known, a negative one that nothing was ever put
there. An operation without a reading here is an opaque operator of its operands, which is sound: it is a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from cuda_out.ptx.columns import is_known, is_unwritten
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.kinds import is_float
from symbolic.algebra.terms import Term

Value: TypeAlias = tuple[int, Term]
Summand: TypeAlias = "tuple[Operation, tuple[Value | None, ...], Term | None]"
"""A sum of which None stands for an operand that is another one, and what all of it is multiplied by."""


def evaluate(normal: Normal, operation: Operation, row: tuple[Value, ...], rounds: str | None = None) -> Value:
    """Return what an operation that is no sum gives for its operands; `rounds` is the type of which a conversion's
    number is, the one with fewer bits."""
    kinds, result = operation.read_as(normal, row)
    values = [of_value(normal, kind, value) for kind, value in zip(kinds, row, strict=True)]
    if rounds and is_float(kinds[0]):
        values[0] = normal.rounded(rounds, values[0])
    found = operation.term(normal, values)
    if rounds and not is_float(kinds[0]):  # what reads the bits of a number
        found = normal.rounded(rounds, found)
    return _result(normal, result, found)


def evaluate_sum(
    normal: Normal, first: Operation, sums: Sequence[Summand], products: Sequence[tuple[Term, Term]] = ()
) -> Value:
    """Return what sums of one ring come to together, of which `first` is one, and with them products of two elements
    of arrays of floats each, in order."""
    parts = list[Term]()
    kind = first.result
    for operation, row, by in sums:
        assert operation.row.parts is not None
        kinds = zip(operation.sources, row, strict=True)
        v = [None if value is None else of_value(normal, source, value) for source, value in kinds]
        added = (term for term in operation.row.parts(operation, normal, v) if term is not None)
        parts += [term if by is None else normal.multiply(kind, term, by) for term in added]
    if products:
        return _result(normal, kind, normal.dot_product(kind, products, parts))
    join = normal.exclusive_or if first.row.ring == "^" else normal.add
    return _result(normal, kind, join(kind, *parts))


def of_value(normal: Normal, kind: str, value: Value) -> Term:
    """Return a value as a term of a type."""
    bits, term = value
    return normal.of_kind(kind, term) if term else normal.lifted(kind, bits)


def _result(normal: Normal, kind: str, term: Term) -> Value:
    known = normal.bits(kind, term)
    return (0, term) if known is None else (known, 0)


def pack(normal: Normal, parts: tuple[Value, ...], size: int) -> Value:
    """Put values of `size` bits side by side, the first one lowest."""
    for _, term in parts:
        if is_unwritten(term):
            return 0, term
    if not any(term for _, term in parts):
        return sum((bits & (1 << size) - 1) << place * size for place, (bits, _) in enumerate(parts)), 0
    whole = normal.joined(size, [of_value(normal, f"b{size}", value) for value in parts])
    return _result(normal, f"b{size * len(parts)}", whole)


def unpack(normal: Normal, value: Value, size: int, count: int) -> tuple[Value, ...]:
    """Take a value apart into `count` pieces of `size` bits."""
    bits, term = value
    if is_known(term):
        return tuple((bits >> place * size & (1 << size) - 1, 0) for place in range(count))
    if is_unwritten(term):
        return ((0, term),) * count
    return tuple(_result(normal, f"b{size}", piece) for piece in normal.split(size, count, term))
