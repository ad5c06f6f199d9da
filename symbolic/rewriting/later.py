"""Rules that real kernels need and the paper does not list: copies, fusion into a zip, fission, interchange, map over
join, reductions in chunks, windows cut into tiles that overlap."""

from __future__ import annotations

from msgspec.structs import replace

from symbolic.expressions.expression import ONE, Expression, add, constant, subtract
from symbolic.patterns.lengths import length_text, normal
from symbolic.patterns.terms import (
    IDENTITY,
    Indexed,
    Item,
    JoinChunks,
    Lambda,
    Let,
    Map,
    Reduce,
    Slide,
    Split,
    Term,
    Transpose,
    Tupled,
    Variable,
    Zip,
    applied,
    free,
    label_of,
    number,
    with_children,
)
from symbolic.patterns.terms import children as parts_of
from symbolic.rewriting.rule import Surroundings, another, inlined, labelled, parameter, rule


@rule("copy", "x = map(id) o x")
def copy(term: Term, here: Surroundings) -> Term:
    """Copy an array; Figure 9 has it, and no rule of the paper introduces it."""
    here.array(term)
    if isinstance(term, Map) and term.function.body == Variable(term.function.parameters[0]):
        another("array that is no copy")
    return Map(IDENTITY, term, label=labelled(term, "copy") or "copy")


@rule("copy", "map(id) o x = x")
def no_copy(term: Term, here: Surroundings) -> Term:
    """Leave out a copy."""
    if not isinstance(term, Map) or term.function.body != Variable(term.function.parameters[0]):
        another("map(id)")
    return term.array


@rule("zip", "map(f) o zip(map(g) o x, y) = map(lambda p: f((g(p[0]), p[1]))) o zip(x, y)")
def zip_fusion(term: Term, here: Surroundings) -> Term:
    """Map what is zipped when it is used."""
    match term:
        case Map(array=Zip(arrays)):
            mapped = [each if isinstance(each, Map) and each.kind in ("map", term.kind) else None for each in arrays]
            if term.function.width or not any(mapped) or any(each and each.function.width for each in mapped):
                another("map in the zip")
            pair = parameter(term.function, *arrays, like="p")
            items = tuple(
                applied(each.function, Item(Variable(pair), place)) if each else Item(Variable(pair), place)
                for place, each in enumerate(mapped)
            )
            body = inlined(term.function, **{term.function.parameters[0]: Tupled(items)})
            inner = Zip(tuple(each.array if each else array for each, array in zip(mapped, arrays, strict=True)))
            label = label_of(term)
            for each in filter(None, mapped):
                label = "+".join(name for name in (label, label_of(each)) if name)
            return replace(term, function=Lambda((pair,), body), array=inner, label=label)
    another("map o zip")


@rule("join", "map(f) o join = join o map(map(f))")
def map_of_join(term: Term, here: Surroundings) -> Term:
    """Map chunk by chunk what is in chunks already."""
    match term:
        case Map(array=JoinChunks(inner)):
            chunk = parameter(term.function)
            function = Lambda((chunk,), replace(term, array=Variable(chunk)))
            return JoinChunks(Map(function, inner, label=labelled(term, "chunks")))
    another("map o join")


@rule("fission", "map(f o g) = map(f) o map(g)", first="f uses the element in what g makes of it and nowhere else")
def map_fission(term: Term, here: Surroundings) -> Term:
    """Map twice: what is outermost in the function, a pattern, after the rest."""
    if not isinstance(term, Map) or term.function.width:
        another("map")
    (name,), body = term.function.parameters, term.function.body
    inner = getattr(body, "array", None)
    if isinstance(body, Indexed) or inner is None or inner == Variable(name):
        another("map of a composition")
    others = frozenset().union(*(free(each) for each in parts_of(body) if each is not inner))
    here.require("first", name not in others, f"{name} outside")
    made = parameter(term.function, like="r")
    outer = with_children(body, [Variable(made) if each is inner else each for each in parts_of(body)])
    assert not isinstance(outer, Lambda)
    first = replace(term, function=Lambda((name,), inner), label=labelled(term, "first"))
    return replace(term, function=Lambda((made,), outer), array=first, label=label_of(term))


@rule(
    "interchange",
    "map(lambda a: map(lambda b: f(a, b)) o y) o x = transpose o map(lambda b: map(lambda a: f(a, b)) o x) o y",
    independent="y does not depend on a",
)
def interchange(term: Term, here: Surroundings) -> Term:
    """Exchange two maps, one inside the other."""
    match term:
        case Map(kind="map", function=Lambda((outer,), Map(kind="map") as inner)) if not term.function.width:
            here.require("independent", outer not in free(inner.array), "the inner array depends on the outer element")
            if inner.function.width or outer not in free(inner.function):
                another("map in a map")
            fresh = parameter(term.array, term.function, inner.function, like=inner.function.parameters[0])
            body = inlined(inner.function, **{inner.function.parameters[0]: Variable(fresh)})
            first = replace(term, function=Lambda((outer,), body), label=label_of(term))
            return Transpose(replace(inner, function=Lambda((fresh,), first), label=label_of(inner)))
    another("map in a map")


@rule("transpose", "transpose o transpose = id")
def transpose_twice(term: Term, here: Surroundings) -> Term:
    """Leave out what transposes twice."""
    match term:
        case Transpose(Transpose(inner)):
            return inner
    another("transpose o transpose")


@rule("transpose", "map(map(f)) o transpose = transpose o map(map(f))")
def map_of_transpose(term: Term, here: Surroundings) -> Term:
    """Map each element first, transpose then."""
    match term:
        case Map(function=Lambda((name,), Map(array=Variable(inner)) as each), array=Transpose(array)):
            if name == inner and name not in free(each.function):
                return Transpose(replace(term, array=array))
    another("map(map) o transpose")


@rule(
    "chunks",
    "reduce(f, z) = reduce(f, z) o join o map(reduce(f, z)) o split(size)",
    "associative",
    "neutral",
    "divides",
)
def reduce_chunks(term: Term, here: Surroundings, size: Expression) -> Term:
    """Reduce each chunk, then what that gives."""
    if not isinstance(term, Reduce) or term.kind != "reduce":
        another("reduce")
    here.law("associative", term.operator, term.array)
    here.law("neutral", term.operator, term.array, term.start)
    here.divides(size, here.array(term.array).length)
    chunk = parameter(term.operator, term.start)
    each = replace(term, array=Variable(chunk), label=labelled(term, "chunk"))
    chunks = Map(Lambda((chunk,), each), Split(size, term.array), label=labelled(term, "chunks"))
    return replace(term, array=JoinChunks(chunks))


@rule(
    "chunks", "reduce_seq(f, z) = reduce_seq(lambda acc, c: at(reduce_seq(f, acc) o c, 0), z) o split(size)", "divides"
)
def reduce_seq_chunks(term: Term, here: Surroundings, size: Expression) -> Term:
    """Reduce chunk after chunk, each beginning with what the one before gave; no law of the operator is needed."""
    if not isinstance(term, Reduce) or term.kind != "seq":
        another("reduce_seq")
    here.divides(size, here.array(term.array).length)
    accumulated, chunk = (parameter(term.operator, like=like) for like in ("acc", "c"))
    each = replace(term, start=Variable(accumulated), array=Variable(chunk), label=labelled(term, "chunk"))
    operator = Lambda((accumulated, chunk), Indexed(each, number(0)))
    return replace(term, operator=operator, array=Split(size, term.array), label=labelled(term, "chunks"))


@rule("chunks", "reduce_seq(f, z) o join = reduce_seq(lambda acc, c: at(reduce_seq(f, acc) o c, 0), z)")
def reduce_seq_of_join(term: Term, here: Surroundings) -> Term:
    """Reduce chunk after chunk what is in chunks already."""
    match term:
        case Reduce(kind="seq", array=JoinChunks(inner)):
            accumulated, chunk = (parameter(term.operator, like=like) for like in ("acc", "c"))
            each = replace(term, start=Variable(accumulated), array=Variable(chunk), label=labelled(term, "chunk"))
            operator = Lambda((accumulated, chunk), Indexed(each, number(0)))
            return replace(term, operator=operator, array=inner, label=labelled(term, "chunks"))
    another("reduce_seq o join")


@rule("tiles", "slide(size, 1) = join o map(slide(size, 1)) o slide(tile + size - 1, tile)", "divides",
      one="windows begin at every element")  # fmt: skip
def slide_tiles(term: Term, here: Surroundings, tile: Expression) -> Term:
    """Cut the array into tiles that overlap, each with the windows that begin in it."""
    if not isinstance(term, Slide):
        another("slide")
    here.require("one", term.step is ONE, f"windows every {length_text(term.step)} elements")
    n = here.array(term.array).length
    here.divides(tile, normal(add(subtract(n, term.size), ONE)))
    name = parameter()
    tiles = Slide(normal(add(tile, term.size, constant(-1))), tile, term.array)
    return JoinChunks(Map(Lambda((name,), Slide(term.size, ONE, Variable(name))), tiles, label="tiles"))


@rule("slide", "slide(size, step) o map(f) = map(map(f)) o slide(size, step)")
def slide_of_map(term: Term, here: Surroundings) -> Term:
    """Map each window's elements."""
    match term:
        case Slide(array=Map() as inner):
            window = parameter(inner.function, like="w")
            each = replace(inner, array=Variable(window))
            windows = replace(term, array=inner.array)
            return replace(inner, function=Lambda((window,), each), array=windows, label=labelled(inner, "windows"))
    another("slide o map")


@rule("let", "x = let(x, id)")
def share(term: Term, here: Surroundings, name: str) -> Term:
    """Give a part a name, under which it is computed once."""
    if isinstance(term, Variable | Let):
        another("array without a name")
    here.array(term)
    return Let(parameter(term, like=name), term, Variable(parameter(term, like=name)))
