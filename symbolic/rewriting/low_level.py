"""The rules that lead to the hardware: Figure 4 of the paper, a to e. They say how a value is computed, and keep it."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from symbolic.expressions.expression import Expression, constant
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import length, quotient
from symbolic.patterns.terms import PARALLEL, Axis, MapKind, MemorySpace, PatternNode, Term, children, label_of
from symbolic.patterns.types import NumberOf
from symbolic.rewriting.algorithmic import canonical_same
from symbolic.rewriting.nesting import faults
from symbolic.rewriting.rule import Surroundings, another, rule

WIDTHS: Final = (2, 4)
"""How many numbers a vector may have."""


@rule("4a", "map(f) = map_block(f), map_local(f), map_global(f), map_warp(f), map_lane(f), map_seq(f)", "nesting")
def lower_map(term: Term, here: Surroundings, kind: MapKind, axis: Axis = "x") -> Term:
    """Decide who computes a map: blocks, threads, or one after the other."""
    if not isinstance(term, t.Map) or term.kind != "map":
        another("map")
    made = replace(term, kind=kind, axis=axis if kind in PARALLEL else "x")
    wrong = next((why for _, why in faults(made, here.nest)), "")
    here.require("nesting", not wrong, wrong)
    return made


@rule("4b", "reduce(f, z) = reduce_seq(f, z)")
def lower_reduce(term: Term, here: Surroundings) -> Term:
    """Reduce one element after the other."""
    if not isinstance(term, t.Reduce) or term.kind != "reduce":
        another("reduce")
    return replace(term, kind="seq")


@rule("4c", "reorder = id")
def reorder_id(term: Term, here: Surroundings) -> Term:
    """Keep the order that there is."""
    if not isinstance(term, t.Reorder):
        another("reorder")
    return term.array


@rule("4c", "reorder = reorder_stride(stride)", "divides")
def reorder_stride(term: Term, here: Surroundings, stride: Expression) -> Term:
    """Take elements that are `stride` apart one after the other."""
    if not isinstance(term, t.Reorder):
        another("reorder")
    here.divides(stride, here.array(term.array).length)
    return t.ReorderStride(stride, term.array)


@rule("4d", "map_local(f) = toGlobal o map_local(f) = toShared o map_local(f) = toRegisters o map_local(f)", "nesting")
def to_memory(term: Term, here: Surroundings, memory: MemorySpace) -> Term:
    """Keep a result in a memory."""
    if not isinstance(term, t.Map | t.Reduce) or (isinstance(term, t.Map) and term.kind == "map"):
        another("map whose kind is decided, or reduce")
    made = t.ToMemory(memory, term)
    wrong = next((why for _, why in faults(made, here.nest)), "")
    here.require("nesting", not wrong, wrong)
    return made


def _arithmetic(node: PatternNode) -> bool:
    return isinstance(node, t.Formula | t.ElementaryCall | t.Variable) and all(map(_arithmetic, children(node)))


def _check_vectors(term: t.Map | t.PartialReduce, called: t.Lambda, here: Surroundings, width: int) -> None:
    """Check that a function can be vectorised: arithmetic alone, on numbers, with a width that vectors have."""
    if width not in WIDTHS:
        another(f"vectors of {width} numbers: they have 2 or 4")
    if called.width or not _arithmetic(called.body):
        another("function that is arithmetic")
    if not isinstance(here.array(term.array).element, NumberOf):
        another("array of numbers")


@rule("4e", "map(f) = asScalar o map(vect(width, f)) o asVector(width)", "divides")
def vectorise(term: Term, here: Surroundings, width: int) -> Term:
    """Compute several elements at once."""
    if not isinstance(term, t.Map):
        another("map")
    _check_vectors(term, term.function, here, width)
    here.divides(constant(width), here.array(term.array).length)
    called = replace(term.function, width=width)
    return t.AsScalar(replace(term, function=called, array=t.AsVector(width, term.array), label=label_of(term)))


@rule(
    "4e", "reduce(f, z) o part_red(f, z, m) = reduce(f, z) o asScalar o part_red(vect(w, f), z, m / w) o asVector(w)",
    "associative", "commutative", "divides", same="both reduce by the same operator",
)  # fmt: skip
def vectorise_part(term: Term, here: Surroundings, width: int) -> Term:
    """Reduce vectors: Figure 9 has it, and no rule of the paper gives it. What is combined are no neighbours."""
    match term:
        case t.Reduce(kind="reduce", array=t.PartialReduce() as part):
            _check_vectors(part, part.operator, here, width)
            here.require("same", canonical_same(term, part), "two operators, or two starts")
            here.law("associative", part.operator, part.array)
            here.law("commutative", part.operator, part.array)
            here.divides(constant(width), part.parts)
            called = replace(part.operator, width=width)
            vectors = t.AsVector(width, part.array)
            parts = quotient(part.parts, length(width))
            made = replace(part, operator=called, array=vectors, parts=parts, label=label_of(part))
            return replace(term, array=t.AsScalar(made))
    another("reduce o part_red")
