"""Low-level expressions with one thing wrong: refused with a reason, or not equal, or equal and of the same value.

Nothing else: no crash, and nothing wrong is accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from msgspec.structs import replace

from swizzle import SwizzleError, f32
from swizzle.derive.patterns import derivation
from swizzle.derive.patterns.declared import DeclaredDerivation
from swizzle.derive.patterns.launches import kernels
from swizzle.derive.patterns.written import file_text, spec_text
from symbolic.expressions.expression import constant
from symbolic.patterns.meaning import value_of_term
from symbolic.patterns.terms import (
    Iterate,
    Map,
    PatternNode,
    Reduce,
    ReorderStride,
    Split,
    Term,
    ToMemory,
    children,
    operand,
    term,
    with_children,
)
from symbolic.patterns.types import Typing
from symbolic.rewriting.evidence import same_values, sample
from symbolic.rewriting.nesting import faults
from tests.swizzle.derive.patterns.test_paper import convolved_kernel, dot, is_equal, scal_kernel, tiled_kernel


@derivation(spec=dot, u=f32["n"], v=f32["n"], n=64)
def tree(d):
    d.at("dot").strided(16).chunks(32).to_blocks()
    d.at("dot_chunk").chunks(4).to_threads().shared()
    d.at("dot_chunk").tree()


def mutants(node: PatternNode) -> Iterator[PatternNode]:
    """Yield a node with one decision changed: a kind, an axis, a memory, a size, a stride, a round; or left out."""
    inner = children(node)
    match node:
        case Map():
            yield from (replace(node, kind=kind) for kind in ("map", "seq", "global", "block", "local", "warp", "lane"))
            yield replace(node, axis="y")
        case Reduce():
            yield replace(node, kind="seq" if node.kind == "reduce" else "reduce")
        case ToMemory():
            yield from (replace(node, memory=memory) for memory in ("shared", "global", "registers"))
            yield node.array
        case Split():
            yield from (replace(node, size=constant(size)) for size in (2, 8, 16, 64))
        case ReorderStride():
            yield from (replace(node, stride=constant(stride)) for stride in (2, 8, 32))
        case Iterate():
            yield replace(node, times=node.times - 1)
    array = operand(node)
    if array is not None and not isinstance(node, ToMemory):
        yield array
    for place, each in enumerate(inner):
        for changed in mutants(each):
            yield with_children(node, [changed if at == place else one for at, one in enumerate(inner)])


def told(declared: DeclaredDerivation, made: Term, right: Term) -> str:
    """Say what becomes of an expression: refused, different, or equal; AssertionError where that is wrong."""
    asked = declared.request(declared.derived())
    try:
        kind = Typing().type_of(made, asked.types)
        if list(faults(made)):
            return "nested wrongly"
        of = declared.function
        name, text = spec_text(of, Typing().type_of(right, asked.types), [declared.name])
        text = file_text("a mutant", of, text, kernels(replace(asked, term=made), name))
        equal = is_equal(declared.name, text)
    except SwizzleError:
        return "refused"
    if not equal:
        return "different"
    data = {each: sample(own, at + 1) for at, (each, own) in enumerate(asked.types.items())}
    assert kind is not None
    assert same_values(value_of_term(made, data, asked.types), value_of_term(right, data, asked.types)), (
        "wrong, accepted"
    )
    return "equal"


CASES = (tree, scal_kernel, convolved_kernel, tiled_kernel)


@pytest.mark.parametrize("declared", [pytest.param(each, marks=pytest.mark.slow, id=each.name) for each in CASES])
def test_no_mutant_is_accepted_wrongly(declared: DeclaredDerivation) -> None:
    tally = Counter[str]()
    right = declared.request(declared.derived()).term
    for made in mutants(right):
        with np.errstate(all="ignore"):
            tally[told(declared, term(made), right)] += 1
    assert tally["equal"] and tally["different"] + tally["refused"] and tally["nested wrongly"], tally
    print(declared.name, dict(tally))
