"""That a specification goes on at every length as it begins: what block 0 is, every block is, of inputs moved along.

A kernel is solved at one length. At longer ones every block is to compute of its own part of the inputs what the first
block does of the first part. Of a specification that is an expression of patterns, that is a claim about elements at
symbolic lengths, which is proved: element `b * size + i` of the result is element i of the result of inputs that begin
b blocks later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from symbolic.expressions.expression import (
    ZERO,
    Expression,
    add,
    constant,
    multiply,
    number_name,
    substituted,
    subtract,
)
from symbolic.patterns.lengths import length, normal
from symbolic.patterns.terms import Term
from symbolic.patterns.types import ArrayOf, TupleOf, Typing, ValueType
from symbolic.rewriting.elements import Elementwise
from symbolic.rewriting.proof import Equality, EqualityProver


class MovedInput(Struct, frozen=True):
    """How far an input is moved from one block to the next: so many elements along an axis, the outermost being 0."""

    axis: int
    size: int


def prove_continues(
    term: Term, inputs: Mapping[str, ValueType], moved: Mapping[str, MovedInput], *blocks: MovedInput
) -> Equality:
    """Prove that every block of a result is the first one of inputs that are moved along.

    `blocks` says how many elements of the result a block is, and along which axis, for each result where there are
    several. Inputs that are not in `moved` are the same for all blocks. No law of any operator is used.

    >>> from symbolic.patterns.reading import read_pattern, read_type
    >>> sums = read_pattern("map(lambda w: at(reduce(lambda a, b: a + b, 0) o w, 0)) o slide(3, 1) o x")
    >>> block = MovedInput(0, 128)
    >>> prove_continues(sums, {"x": read_type("f32[n]")}, {"x": block}, block).proved
    True
    """
    prover = EqualityProver()
    number = number_name("block'")
    here = {name: prover.data(name, kind) for name, kind in inputs.items()}
    there = {name: prover.data(name, kind, shift=_shift(moved.get(name), number)) for name, kind in inputs.items()}
    evaluator = Elementwise(prover.ranges)
    several = isinstance(Typing().type_of(term, inputs), TupleOf)

    def compare(whole: Any, first: Any) -> None:
        for one, other, block in zip(whole, first, blocks, strict=True):
            for _ in range(block.axis):
                i = prover.ranges.index(one.length)
                one, other = one.at(i), other.at(i)
            i = prover.ranges.index(constant(block.size))
            k = add(multiply(number, constant(block.size)), i)
            prover.given = [prover.below(k, one.length)]
            prover.equal(one.at(k), other.at(i))

    def both() -> None:
        values = evaluator.value(term, here), evaluator.value(term, there)
        compare(*(values if several else ((each,) for each in values)))

    return prover.attempt(both)


def _shift(moved: MovedInput | None, block: Expression) -> tuple[Expression, ...]:
    """Return by how much the indices of an input that is moved some blocks along are greater."""
    return () if moved is None else (*[ZERO] * moved.axis, multiply(block, length(moved.size)))


def continues_along(term: Term, inputs: Mapping[str, ValueType], name: str, unit: int) -> Equality | None:
    """Prove that a result goes on along a length, `unit` by `unit`; None where no axis of the result grows with it.

    An input is moved along the one axis that grows with the length. Where it has two such axes there is no first block
    that the others could be.
    """
    kind = Typing().type_of(term, inputs)
    results = kind.items if isinstance(kind, TupleOf) else (kind,)
    blocks = [_growing(each, name, unit) for each in results]
    moved = {each: _growing(own, name, unit) for each, own in inputs.items()}
    if not all(len(each) == 1 for each in blocks) or any(len(each) > 1 for each in moved.values()):
        return None
    own = {each: found[0] for each, found in moved.items() if found}
    return prove_continues(term, inputs, own, *(each[0] for each in blocks))


def _growing(kind: ValueType, name: str, unit: int) -> list[MovedInput]:
    """Return the axes of an array that grow with a length, and how far each grows with so many units."""
    found: list[MovedInput] = []
    axis = 0
    while isinstance(kind, ArrayOf):
        longer = substituted(kind.length, {name: add(number_name(name), constant(unit))})
        more = normal(subtract(longer, kind.length))
        if more is not ZERO:
            whole = more.constant and isinstance(more.value, int)
            found += [MovedInput(axis, more.value)] if whole else [MovedInput(axis, 0)] * 2
        kind, axis = kind.element, axis + 1
    return found
