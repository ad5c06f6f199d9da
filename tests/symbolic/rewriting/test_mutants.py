"""Rules made wrong: what a rule constructs is changed in one place, and the proof is asked again.

A mutant is refused by its type, or it is not proved and has other values, or it is proved and has the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from symbolic.errors import SwizzleError
from symbolic.expressions.expression import Expression, add, constant, equal, multiply, number_name, select
from symbolic.expressions.formulas import Answered
from symbolic.patterns.lengths import length_at, normal
from symbolic.patterns.meaning import value_of_term
from symbolic.patterns.reading import read_pattern, read_type
from symbolic.patterns.terms import (
    ElementaryCall,
    Formula,
    Item,
    Iterate,
    JoinChunks,
    PartialReduce,
    PatternNode,
    PrefixScan,
    Reduce,
    Reorder,
    ReorderStride,
    Slide,
    Split,
    Term,
    Transpose,
    Tupled,
    Zip,
    children,
    formula,
    number,
    operand,
    with_children,
)
from symbolic.patterns.types import ArrayOf, TupleOf, Typing, ValueType, array_of, length_names, same_type
from symbolic.rewriting.claims import CLAIMS, OPAQUE
from symbolic.rewriting.derivation import arguments_of
from symbolic.rewriting.evidence import compared, evens_first, is_open, same_values, sample
from symbolic.rewriting.laws import OperatorLaw
from symbolic.rewriting.rule import RULES, Surroundings


def mutants(node: PatternNode) -> Iterator[PatternNode]:
    """Yield a node with one change in it, or in what it is made of."""
    yield from changes(node)
    inner = children(node)
    for place, each in enumerate(inner):
        for changed in mutants(each):
            yield with_children(node, [changed if at == place else one for at, one in enumerate(inner)])


def changes(node: PatternNode) -> Iterator[PatternNode]:
    """Yield what a node is changed to."""
    array = operand(node)
    if array is not None:
        yield array  # left out
        below = operand(array)
        if below is not None and type(array) is not type(node):  # two patterns the other way round
            yield replace(array, array=replace(node, array=below))  # type: ignore[call-arg, type-var]
        yield Transpose(node)  # type: ignore[arg-type]
        yield ReorderStride(number_name("s"), node)  # type: ignore[arg-type]
    for name in ("size", "step", "stride", "parts"):
        size = getattr(node, name, None)
        if isinstance(size, Expression):
            for other in (
                add(size, constant(1)),
                multiply(size, constant(2)),
                number_name("m"),
                number_name("s"),
                constant(1),
            ):
                if other is not size:
                    yield replace(node, **{name: normal(other)})  # type: ignore[type-var]
    match node:
        case Iterate():
            yield replace(node, times=node.times + 1)
            yield replace(node, times=node.times - 1)
        case Reduce() | PartialReduce() | PrefixScan():
            for start in (number(0), number(1)):
                yield replace(node, start=start)
            a, b = node.operator.parameters
            yield replace(node, operator=replace(node.operator, parameters=(b, a)))
        case ElementaryCall() | Zip() | Tupled():
            some = node.arrays if isinstance(node, Zip) else node.items if isinstance(node, Tupled) else node.arguments
            if len(some) > 1:
                yield with_children(node, some[::-1])
            if isinstance(node, ElementaryCall):
                yield some[0]
        case Item():
            yield replace(node, place=1 - node.place)
        case JoinChunks():
            yield JoinChunks(Transpose(node.array))
        case Split() | Slide():
            yield replace(node, array=ReorderStride(number_name("s"), node.array))
        case Formula():
            yield formula(add(node.expression, constant(1)), node.arguments)


FUNCTIONS = {"f": (2, 1), "g": (5, -2), "h": (-7, 4)}
X0, X1 = number_name("x0"), number_name("x1")
OPERATORS: dict[str, tuple[Expression, float, set[str]]] = {
    "add": (add(X0, X1), 0.0, {"associative", "commutative", "neutral"}),
    "mul": (multiply(X0, X1), 1.0, {"associative", "commutative", "neutral"}),
    "last": (select(equal(X1, constant(0)), X0, X1), 0.0, {"associative", "neutral"}),
    "line": (add(X0, multiply(constant(2), X1)), 0.0, set()),
}
"""Operators, what is neutral to them, and their laws."""


def made_concrete(node: PatternNode, operator: str, lengths: Mapping[str, int]) -> Any:
    """Return an expression with numbers for lengths, and functions for those of which nothing is known."""
    inner = [made_concrete(each, operator, lengths) for each in children(node)]
    if isinstance(node, ElementaryCall) and node.function in OPAQUE:
        names = [number_name(f"x{place}") for place in range(len(inner))]
        if node.function == "op":
            return formula(OPERATORS[operator][0], inner)
        scale, shift = FUNCTIONS[node.function]
        terms = [multiply(constant(scale + 2 * place), name) for place, name in enumerate(names)]
        return formula(add(constant(shift), multiply(names[0], names[-1]), *terms), inner)
    changed = {
        name: constant(length_at(value, lengths))
        for name in ("size", "step", "stride", "parts")
        if isinstance(value := getattr(node, name, None), Expression)
    }
    return with_children(replace(node, **changed) if changed else node, inner)  # type: ignore[type-var]


def at_lengths(kind: ValueType, lengths: Mapping[str, int]) -> ValueType:
    """Return a type with numbers for its lengths."""
    if isinstance(kind, ArrayOf):
        return array_of(at_lengths(kind.element, lengths), length_at(kind.length, lengths))
    if isinstance(kind, TupleOf):
        return TupleOf(tuple(at_lengths(each, lengths) for each in kind.items))
    return kind


def values_differ(before: Term, after: Term, inputs: Mapping[str, ValueType], laws: set[str], refined: bool) -> bool:
    """Tell whether two expressions differ somewhere, at small lengths, by operators that have the laws."""
    names = sorted({name for kind in inputs.values() for name in length_names(kind)} | {"m", "s"})
    for count, (operator, (_, neutral, has)) in product((2, 3, 1), OPERATORS.items()):
        if not laws <= has:
            continue
        lengths = {name: count + at % 3 for at, name in enumerate(names)}
        data = {name: sample(at_lengths(kind, lengths), at + 1) for at, (name, kind) in enumerate(inputs.items())}
        if operator == "mul":  # products that no rounding changes
            data = {name: np.where(value > 0, 2.0, np.where(value < 0, -1.0, 0.5)) for name, value in data.items()}
        if operator == "last":  # what is 0 is passed over: the second half of all
            data = {
                name: np.where(np.arange(value.size) < (value.size + 1) // 2, value.ravel(), 0).reshape(value.shape)
                for name, value in data.items()
            }
        if "z" in data:
            data["z"] = np.asarray(neutral if "neutral" in laws else 3.0)
        for order in (np.arange, evens_first):
            try:
                first, second = (made_concrete(each, operator, lengths) for each in (before, after))
                for each in (first, second):  # an unknown function takes arrays, too
                    Typing().type_of(each, {name: at_lengths(kind, lengths) for name, kind in inputs.items()})
                wanted, found = (value_of_term(each, data, {}, order) for each in (first, second))
            except SwizzleError:
                return True
            if not (same_values(np.sort(wanted), np.sort(found)) if refined else same_values(wanted, found)):
                return True
    return False


UNDECIDED = {
    "part_reorder": 6, "reduce_reorder": 2, "reorder_stride": 1, "vectorise_part": 8,
}  # fmt: skip
"""Mutants that are equal, which is not proved: a commutative operator the other way round; a reorder of a reorder."""


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)], ids=["quick", "slow"])
@pytest.mark.parametrize("name", CLAIMS)
def test_no_wrong_rule_is_proved(name: str, every: int) -> None:
    """Whatever is changed in what a rule makes, a proof says that values are the same only where they are."""
    rule, tally = RULES[name], Counter[str]()
    for claim in CLAIMS[name]:
        inputs = {each: read_type(text) for each, text in claim.inputs.items()}
        before = read_pattern(claim.text, opaque=OPAQUE)
        asked: set[str] = set()

        def assumed(operator: Any, law: OperatorLaw, start: Any, element: Any, asked: set[str] = asked) -> Any:
            asked.add(law)
            return Answered("proved")

        here = Surroundings(inputs, claim.nest, Typing(opaque=OPAQUE), assumed)
        after = rule.apply(before, here, **arguments_of(rule, claim.arguments))
        for mutant in islice(mutants(after), 0, None, every):
            try:
                kinds = [Typing(opaque=OPAQUE).type_of(each, inputs) for each in (before, mutant)]  # type: ignore[arg-type]
            except SwizzleError:
                tally["ill-typed"] += 1
                continue
            if not same_type(*kinds):
                tally["ill-typed"] += 1
                continue
            proved = compared(before, mutant, inputs, asked).equality  # type: ignore[arg-type]
            if proved.why.startswith("nobody says that"):
                tally["needs more of lengths"] += 1
                continue
            refined = isinstance(before, Reorder) and not is_open(mutant)
            differs = values_differ(before, mutant, inputs, asked, refined)  # type: ignore[arg-type]
            said = f"{claim.text} -> {mutant}"
            assert not (proved.proved and differs), said
            tally["equal" if proved.proved else "other values" if differs else "not proved"] += 1
            if not proved.proved and not differs:
                print("UNDECIDED", said, proved.why)
    print(name, dict(tally))
    assert tally["not proved"] <= UNDECIDED.get(name, 0)
