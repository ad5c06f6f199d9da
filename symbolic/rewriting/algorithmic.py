"""The algorithmic rules: Figure 3 of the paper, a to f, with the side conditions that it leaves out.

`part_red` is deterministic here: each part is a reduction of neighbours. So the rules that reorder what is reduced
stand at the reduction of the parts, where the order does not matter, and not at the partial reduction alone.
"""

from __future__ import annotations

from msgspec.structs import replace

from symbolic.expressions.expression import ONE, Expression, multiply, power
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import length_text, normal, quotient, same_length
from symbolic.patterns.terms import PatternNode, Term, canonical, label_of
from symbolic.patterns.types import ArrayOf, VectorOf
from symbolic.rewriting.rule import Surroundings, another, inlined, labelled, parameter, rule


def in_chunks(node: t.Map, suffix: str, inner: Term, chunk: str, array: Term) -> t.Map:
    """Return a map of what is made of each chunk, where a map of elements was."""
    return t.Map(t.Lambda((chunk,), inner), array, label=labelled(node, suffix))


@rule(
    "3a", "iterate(m + n, f) = iterate(m, f) o iterate(n, f)",
    shorter="the rounds are split in two parts",
)  # fmt: skip
def iterate_split(term: Term, here: Surroundings, times: int) -> Term:
    """Split an iteration into `times` rounds after the others."""
    if not isinstance(term, t.Iterate):
        another("iterate")
    here.require("shorter", 0 < times < term.times, f"{times} of {term.times} rounds")
    first = t.Iterate(term.times - times, term.function, term.array, labelled(term, "first"))
    return t.Iterate(times, term.function, first, term.label)


@rule("3b", "map(f) o reorder = reorder o map(f)")
def map_of_reorder(term: Term, here: Surroundings) -> Term:
    """Map first, reorder then."""
    match term:
        case t.Map(array=t.Reorder(inner)):
            return t.Reorder(replace(term, array=inner))
    another("map o reorder")


@rule("3b", "reorder o map(f) = map(f) o reorder")
def reorder_of_map(term: Term, here: Surroundings) -> Term:
    """Reorder first, map then."""
    match term:
        case t.Reorder(t.Map() as inner):
            return replace(inner, array=t.Reorder(inner.array))
    another("reorder o map")


@rule("3c", "map(f) = join o map(map(f)) o split(size)", "divides")
def split_join(term: Term, here: Surroundings, size: Expression) -> Term:
    """Map chunk by chunk. The new outer map is called as the old one, with `_chunks`."""
    if not isinstance(term, t.Map) or term.kind != "map":
        another("map")
    here.divides(size, here.array(term.array).length)
    chunk = parameter(term.function)
    inner = replace(term, array=t.Variable(chunk))
    return t.JoinChunks(in_chunks(term, "chunks", inner, chunk, t.Split(size, term.array)))


@rule(
    "3d", "reduce(f, z) = reduce(f, z) o part_red(f, z, parts)", "associative", "neutral", "divides",
)  # fmt: skip
def reduce_part(term: Term, here: Surroundings, parts: Expression) -> Term:
    """Reduce as many parts first. The partial reduction is called as the reduction, with `_part`."""
    if not isinstance(term, t.Reduce) or term.kind != "reduce":
        another("reduce")
    here.law("associative", term.operator, term.array)
    here.law("neutral", term.operator, term.array, term.start)
    here.divides(parts, here.array(term.array).length)
    return replace(term, array=t.PartialReduce(term.operator, term.start, term.array, parts, labelled(term, "part")))


@rule("3d", "part_red(f, z, 1) = reduce(f, z)", one="there is one part")
def part_reduce(term: Term, here: Surroundings) -> Term:
    """Reduce to one element."""
    if not isinstance(term, t.PartialReduce):
        another("part_red")
    here.require("one", term.parts is ONE, f"{length_text(term.parts)} parts")
    return t.Reduce(term.operator, term.start, term.array, label=term.label)


@rule(
    "3d", "reduce(f, z) o part_red(f, z, m) = reduce(f, z) o part_red(f, z, m) o reorder", "associative", "commutative",
    same="both reduce by the same operator",
)  # fmt: skip
def part_reorder(term: Term, here: Surroundings) -> Term:
    """Reduce the elements in any order."""
    match term:
        case t.Reduce(kind="reduce", array=t.PartialReduce() as part):
            here.require("same", canonical_same(term, part), "two operators, or two starts")
            here.law("associative", part.operator, part.array)
            here.law("commutative", part.operator, part.array)
            return replace(term, array=replace(part, array=t.Reorder(part.array)))
    another("reduce o part_red")


@rule("3d", "reduce(f, z) = reduce(f, z) o reorder", "associative", "commutative")
def reduce_reorder(term: Term, here: Surroundings) -> Term:
    """Reduce the elements in any order: the partial reduction to one element."""
    if not isinstance(term, t.Reduce) or term.kind != "reduce":
        another("reduce")
    here.law("associative", term.operator, term.array)
    here.law("commutative", term.operator, term.array)
    return replace(term, array=t.Reorder(term.array))


@rule("3d", "part_red(f, z, m) = join o map(part_red(f, z, k)) o split(size), k = m * size / n", "divides")
def part_split(term: Term, here: Surroundings, size: Expression) -> Term:
    """Reduce chunk by chunk; each chunk has as many parts as all have, in proportion."""
    if not isinstance(term, t.PartialReduce):
        another("part_red")
    n = here.array(term.array).length
    here.divides(size, n)
    here.divides(quotient(n, term.parts), size)
    chunk = parameter(term.operator, term.start)
    inner = replace(term, array=t.Variable(chunk), parts=quotient(multiply(term.parts, size), n))
    return t.JoinChunks(t.Map(t.Lambda((chunk,), inner), t.Split(size, term.array), label=labelled(term, "chunks")))


@rule(
    "3d", "part_red(f, z, m) = iterate(times, join o map(reduce(f, z)) o split(size)), n = m * size ** times",
    "associative", "neutral", powers="the elements are as many as the parts times the power",
)  # fmt: skip
def part_iterate(term: Term, here: Surroundings, times: int, size: Expression) -> Term:
    """Reduce in rounds, each of which reduces chunks of `size`."""
    parts = ONE if isinstance(term, t.Reduce) and term.kind == "reduce" else None
    if isinstance(term, t.PartialReduce):
        parts = term.parts
    if parts is None or not isinstance(term, t.Reduce | t.PartialReduce):
        another("part_red, or reduce")
    here.law("associative", term.operator, term.array)
    here.law("neutral", term.operator, term.array, term.start)
    n, wanted = here.array(term.array).length, normal(multiply(parts, power(size, times)))
    here.require("powers", same_length(n, wanted), f"{length_text(n)} elements where {length_text(wanted)} are reduced")
    around, chunk = parameter(term.operator, term.start, like="a"), parameter(term.operator, term.start)
    inner = t.Reduce(term.operator, term.start, t.Variable(chunk), label=term.label)
    each = t.Map(t.Lambda((chunk,), inner), t.Split(size, t.Variable(around)), label=labelled(term, "round"))
    return t.Iterate(times, t.Lambda((around,), t.JoinChunks(each)), term.array, labelled(term, "rounds"))


@rule("3e", "split(size) o join = id, join o split(size) = id", chunks="the chunks that are joined have that size")
def split_join_id(term: Term, here: Surroundings) -> Term:
    """Leave out what splits and joins again."""
    match term:
        case t.Split(size, t.JoinChunks(inner)):
            chunk = here.array(inner).element
            assert isinstance(chunk, ArrayOf)
            same = same_length(chunk.length, size)
            here.require("chunks", same, f"split({length_text(size)}) o join of chunks of {length_text(chunk.length)}")
            return inner
        case t.JoinChunks(t.Split(array=inner)):
            return inner
    another("split o join, or join o split")


@rule("3e", "asVector(w) o asScalar = id, asScalar o asVector(w) = id", width="the vectors have that width")
def vector_scalar_id(term: Term, here: Surroundings) -> Term:
    """Leave out what makes vectors and numbers again."""
    match term:
        case t.AsVector(width, t.AsScalar(inner)):
            kind = here.array(inner).element
            assert isinstance(kind, VectorOf)
            here.require("width", kind.width == width, f"asVector({width}) o asScalar of vectors of {kind.width}")
            return inner
        case t.AsScalar(t.AsVector(array=inner)):
            return inner
    another("asVector o asScalar, or asScalar o asVector")


@rule("3f", "map(f) o map(g) = map(f o g)")
def map_fusion(term: Term, here: Surroundings) -> Term:
    """Map once. The new map has the names of both."""
    match term:
        case t.Map(array=t.Map() as first):
            f, g = term.function, first.function
            if (term.kind, term.axis, f.width) != (first.kind, first.axis, g.width):
                another("map o map of one kind")
            return replace(term, function=after(f, g), array=first.array, label=both_labels(term, first))
    another("map o map")


@rule("3f", "reduce_seq(f, z) o map_seq(g) = reduce_seq(lambda acc, x: f(acc, g(x)), z)")
def reduce_map_fusion(term: Term, here: Surroundings) -> Term:
    """Map each element when it is reduced. The reduction keeps its name, or gets the map's."""
    match term:
        case t.Reduce(kind="seq", array=t.Map() as first):
            return fold_with_map(term, first)
    another("reduce_seq o map_seq")


def fold_with_map(term: t.Reduce | t.PrefixScan, first: t.Map) -> Term:
    """Return a fold of what a map makes as one whose operator maps."""
    f, g = term.operator, first.function
    if first.kind not in ("seq", "map") or f.width != g.width:
        another("fold o map_seq")
    accumulated = parameter(f, g, like=f.parameters[0])
    element = parameter(f, g, t.Variable(accumulated), like=g.parameters[0])
    mapped = inlined(g, **{g.parameters[0]: t.Variable(element)})
    body = inlined(f, **{f.parameters[0]: t.Variable(accumulated), f.parameters[1]: mapped})
    made = t.Lambda((accumulated, element), body, width=f.width)
    return replace(term, operator=made, array=first.array, label=both_labels(term, first))


def after(f: t.Lambda, g: t.Lambda) -> t.Lambda:
    """Return the composition f o g."""
    name = parameter(f, g, like=g.parameters[0])
    first = inlined(g, **{g.parameters[0]: t.Variable(name)})
    return t.Lambda((name,), inlined(f, **{f.parameters[0]: first}), width=f.width)


def both_labels(second: PatternNode, first: PatternNode) -> str:
    """Return the label of what two positions become: it answers to both names."""
    return "+".join(name for name in (label_of(second), label_of(first)) if name)


def canonical_same(a: t.Reduce, b: t.PartialReduce) -> bool:
    """Tell whether two reductions have the same operator and the same start."""
    pairs = ((a.operator, b.operator), (a.start, b.start))
    return all(canonical(one) == canonical(other) for one, other in pairs)
