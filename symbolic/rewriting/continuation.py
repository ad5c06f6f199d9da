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

from symbolic.expressions.expression import ZERO, Expression, add, constant, multiply, number_name
from symbolic.patterns.lengths import length, normal
from symbolic.patterns.terms import Term
from symbolic.patterns.types import ArrayOf, TupleOf, Typing, ValueType
from symbolic.rewriting.elements import DataElement, ElementArray, Elementwise, Ranges, rejoined
from symbolic.rewriting.proof import Equality, EqualityProver


class MovedInput(Struct, frozen=True):
    """How far an input is moved from one block to the next: so many elements along an axis, the outermost being 0."""

    axis: int
    size: int


def prove_continues(
    term: Term, inputs: Mapping[str, ValueType], moved: Mapping[str, MovedInput], block: int | tuple[int, ...]
) -> Equality:
    """Prove that every block of a result is the first one of inputs that are moved along.

    A block is so many elements of the result along its outermost axis, for each result where there are several. Inputs
    that are not in `moved` are the same for all blocks. No law of any operator is used.

    >>> from symbolic.patterns.reading import read_pattern, read_type
    >>> sums = read_pattern("map(lambda w: at(reduce(lambda a, b: a + b, 0) o w, 0)) o slide(3, 1) o x")
    >>> prove_continues(sums, {"x": read_type("f32[n]")}, {"x": MovedInput(0, 128)}, 128).proved
    True
    """
    prover = EqualityProver()
    number = number_name("block'")
    here = {name: _data(prover.ranges, name, kind, None, ZERO) for name, kind in inputs.items()}
    there = {name: _data(prover.ranges, name, kind, moved.get(name), number) for name, kind in inputs.items()}
    evaluator = Elementwise(prover.ranges)
    kind = Typing().type_of(term, inputs)
    several = isinstance(kind, TupleOf)
    blocks = block if isinstance(block, tuple) else (block,)

    def compare(whole: Any, first: Any) -> None:
        results = zip(whole, first, blocks, strict=True) if several else [(whole, first, *blocks)]
        for one, other, size in results:
            assert isinstance(one, ElementArray) and isinstance(other, ElementArray)
            i = prover.ranges.index(constant(size))
            k = add(multiply(number, constant(size)), i)
            prover.given = [prover.below(k, one.length)]
            prover.equal(one.at(k), other.at(i))

    return prover.attempt(lambda: compare(evaluator.value(term, here), evaluator.value(term, there)))


def _data(ranges: Ranges, name: str, kind: ValueType, moved: MovedInput | None, block: Expression) -> Any:
    """Return an input that is moved some blocks along; its elements are those of the whole input."""

    def inner(kind: ValueType, name: str, indices: tuple[Expression, ...]) -> Any:
        match kind:
            case ArrayOf():
                shift = ZERO
                if moved is not None and moved.axis == len(indices):
                    shift = multiply(block, length(moved.size))
                element = kind.element
                return ElementArray(
                    kind.length, lambda i: inner(element, name, (*indices, rejoined(normal(add(i, shift)))))
                )
            case TupleOf():
                return tuple(inner(each, f"{name}.{place}", indices) for place, each in enumerate(kind.items))
        return DataElement(name, indices)

    return inner(kind, name, ())
