"""Rules that real kernels need and the paper does not list: copies, fusion into a zip, fission, interchange, map over
join, reductions in chunks, windows cut into tiles that overlap."""

from __future__ import annotations

from msgspec.structs import replace

from symbolic.expressions.expression import ONE, Expression, add, constant, subtract
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import length_text, normal
from symbolic.patterns.terms import (
    IDENTITY,
    PatternNode,
    Term,
    applied,
    free,
    fresh_name,
    label_of,
    number,
    walk,
    with_children,
)
from symbolic.patterns.terms import children as parts_of
from symbolic.patterns.types import ArrayOf, same_type
from symbolic.rewriting.algorithmic import fold_with_map
from symbolic.rewriting.nesting import faults
from symbolic.rewriting.rule import Surroundings, another, inlined, labelled, parameter, rule


@rule("copy", "x = map(id) o x")
def copy(term: Term, here: Surroundings) -> Term:
    """Copy an array; Figure 9 has it, and no rule of the paper introduces it."""
    here.array(term)
    if isinstance(term, t.Map) and term.function.body == t.Variable(term.function.parameters[0]):
        another("array that is no copy")
    return t.Map(IDENTITY, term, label=labelled(term, "copy") or "copy")


@rule("copy", "map(id) o x = x")
def no_copy(term: Term, here: Surroundings) -> Term:
    """Leave out a copy."""
    if not isinstance(term, t.Map) or term.function.body != t.Variable(term.function.parameters[0]):
        another("map(id)")
    return term.array


@rule("zip", "map(f) o zip(map(g) o x, y) = map(lambda p: f((g(p[0]), p[1]))) o zip(x, y)")
def zip_fusion(term: Term, here: Surroundings) -> Term:
    """Map what is zipped when it is used."""
    match term:
        case t.Map(array=t.Zip(arrays)):
            mapped = [each if isinstance(each, t.Map) and each.kind in ("map", term.kind) else None for each in arrays]
            if term.function.width or not any(mapped) or any(each and each.function.width for each in mapped):
                another("map in the zip")
            pair = parameter(term.function, *arrays, like="p")
            items = tuple(
                applied(each.function, t.Item(t.Variable(pair), place)) if each else t.Item(t.Variable(pair), place)
                for place, each in enumerate(mapped)
            )
            body = inlined(term.function, **{term.function.parameters[0]: t.Tupled(items)})
            inner = t.Zip(tuple(each.array if each else array for each, array in zip(mapped, arrays, strict=True)))
            label = label_of(term)
            for each in filter(None, mapped):
                label = "+".join(name for name in (label, label_of(each)) if name)
            return replace(term, function=t.Lambda((pair,), body), array=inner, label=label)
    another("map o zip")


@rule(
    "scan", "scan(f, z) o map_seq(g) = scan(lambda acc, x: f(acc, g(x)), z)", alike="g makes elements of their own type"
)
def scan_map_fusion(term: Term, here: Surroundings) -> Term:
    """Map each element when it is scanned. The scan keeps its name, or gets the map's."""
    match term:
        case t.PrefixScan(array=t.Map() as first):
            given, made = here.array(first.array).element, here.array(first).element
            here.require("alike", same_type(given, made), f"{made} of {given}")
            return fold_with_map(term, first)
    another("scan o map_seq")


@rule(
    "scan", "scan(f, z) = join o map(lambda p: map(lambda v: f(p[0], v)) o scan(f, z) o p[1]) o "
    "zip(scan_before(f, z) o map(lambda c: at(reduce(f, z) o c, 0)) o split(size), split(size))",
    "associative", "neutral", "divides",
)  # fmt: skip
def scan_chunks(term: Term, here: Surroundings, size: Expression) -> Term:
    """Scan each chunk, then combine with what all chunks before it come to."""
    if not isinstance(term, t.PrefixScan) or term.kind != "scan":
        another("scan")
    if any(isinstance(each, t.Reorder) for each in walk(term.array)):
        another("scan of elements whose order is known: it is used twice")
    here.law("associative", term.operator, term.array)
    here.law("neutral", term.operator, term.array, term.start)
    here.divides(size, here.array(term.array).length)
    chunk, pair, element = (parameter(term.operator, term.start, like=like) for like in ("c", "p", "v"))
    chunks, name = t.Split(size, term.array), t.Variable(chunk)
    total = t.Reduce(term.operator, term.start, name, label=labelled(term, "total"))
    totals = t.Map(t.Lambda((chunk,), t.Indexed(total, number(0))), chunks, label=labelled(term, "totals"))
    before = replace(term, array=totals, kind="before", label=labelled(term, "before"))
    first, second = term.operator.parameters
    given: dict[str, Term] = {first: t.Item(t.Variable(pair), 0), second: t.Variable(element)}
    both = inlined(term.operator, **given)
    each = replace(term, array=t.Item(t.Variable(pair), 1), label=labelled(term, "chunk"))
    moved = t.Map(t.Lambda((element,), both), each, label=labelled(term, "moved"))
    return t.JoinChunks(t.Map(t.Lambda((pair,), moved), t.Zip((before, chunks)), label=labelled(term, "chunks")))


@rule("join", "map(f) o join = join o map(map(f))")
def map_of_join(term: Term, here: Surroundings) -> Term:
    """Map chunk by chunk what is in chunks already."""
    match term:
        case t.Map(array=t.JoinChunks(inner)):
            chunk = parameter(term.function)
            function = t.Lambda((chunk,), replace(term, array=t.Variable(chunk)))
            return t.JoinChunks(t.Map(function, inner, label=labelled(term, "chunks")))
    another("map o join")


@rule("fission", "map(f o g) = map(f) o map(g)", first="f uses the element in what g makes of it and nowhere else")
def map_fission(term: Term, here: Surroundings) -> Term:
    """Map twice: what is outermost in the function, a pattern, after the rest."""
    if not isinstance(term, t.Map) or term.function.width:
        another("map")
    (name,), body = term.function.parameters, term.function.body
    inner = getattr(body, "array", None)
    if isinstance(body, t.Indexed) or inner is None or inner == t.Variable(name):
        another("map of a composition")
    others = frozenset().union(*(free(each) for each in parts_of(body) if each is not inner))
    here.require("first", name not in others, f"{name} outside")
    made = parameter(term.function, like="r")
    outer = with_children(body, [t.Variable(made) if each is inner else each for each in parts_of(body)])
    assert not isinstance(outer, t.Lambda)
    first = replace(term, function=t.Lambda((name,), inner), label=labelled(term, "first"))
    return replace(term, function=t.Lambda((made,), outer), array=first, label=label_of(term))


@rule(
    "interchange",
    "map(lambda a: map(lambda b: f(a, b)) o y) o x = transpose o map(lambda b: map(lambda a: f(a, b)) o x) o y",
    independent="y does not depend on a",
)
def interchange(term: Term, here: Surroundings) -> Term:
    """Exchange two maps, one inside the other."""
    match term:
        case t.Map(kind="map", function=t.Lambda((outer,), t.Map(kind="map") as inner)) if not term.function.width:
            here.require("independent", outer not in free(inner.array), "the inner array depends on the outer element")
            if inner.function.width or outer not in free(inner.function):
                another("map in a map")
            fresh = parameter(term.array, term.function, inner.function, like=inner.function.parameters[0])
            body = inlined(inner.function, **{inner.function.parameters[0]: t.Variable(fresh)})
            first = replace(term, function=t.Lambda((outer,), body), label=label_of(term))
            return t.Transpose(replace(inner, function=t.Lambda((fresh,), first), label=label_of(inner)))
    another("map in a map")


@rule("transpose", "transpose o transpose = id")
def transpose_twice(term: Term, here: Surroundings) -> Term:
    """Leave out what transposes twice."""
    match term:
        case t.Transpose(t.Transpose(inner)):
            return inner
    another("transpose o transpose")


@rule("transpose", "map(map(f)) o transpose = transpose o map(map(f))")
def map_of_transpose(term: Term, here: Surroundings) -> Term:
    """Map each element first, transpose then."""
    match term:
        case t.Map(function=t.Lambda((name,), t.Map(array=t.Variable(inner)) as each), array=t.Transpose(array)):
            if name == inner and name not in free(each.function):
                return t.Transpose(replace(term, array=array))
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
    if not isinstance(term, t.Reduce) or term.kind != "reduce":
        another("reduce")
    here.law("associative", term.operator, term.array)
    here.law("neutral", term.operator, term.array, term.start)
    here.divides(size, here.array(term.array).length)
    chunk = parameter(term.operator, term.start)
    each = replace(term, array=t.Variable(chunk), label=labelled(term, "chunk"))
    chunks = t.Map(t.Lambda((chunk,), each), t.Split(size, term.array), label=labelled(term, "chunks"))
    return replace(term, array=t.JoinChunks(chunks))


@rule(
    "chunks", "reduce_seq(f, z) = reduce_seq(lambda acc, c: at(reduce_seq(f, acc) o c, 0), z) o split(size)", "divides"
)
def reduce_seq_chunks(term: Term, here: Surroundings, size: Expression) -> Term:
    """Reduce chunk after chunk, each beginning with what the one before gave; no law of the operator is needed."""
    if not isinstance(term, t.Reduce) or term.kind != "seq":
        another("reduce_seq")
    here.divides(size, here.array(term.array).length)
    return _in_order(term, t.Split(size, term.array))


@rule("chunks", "reduce_seq(f, z) o join = reduce_seq(lambda acc, c: at(reduce_seq(f, acc) o c, 0), z)")
def reduce_seq_of_join(term: Term, here: Surroundings) -> Term:
    """Reduce chunk after chunk what is in chunks already."""
    match term:
        case t.Reduce(kind="seq", array=t.JoinChunks(inner)):
            return _in_order(term, inner)
    another("reduce_seq o join")


def _in_order(term: t.Reduce, chunks: Term) -> Term:
    """Return a reduction of chunks, one after the other."""
    accumulated, chunk = (parameter(term.operator, like=like) for like in ("acc", "c"))
    each = replace(term, start=t.Variable(accumulated), array=t.Variable(chunk), label=labelled(term, "chunk"))
    operator = t.Lambda((accumulated, chunk), t.Indexed(each, number(0)))
    return replace(term, operator=operator, array=chunks, label=labelled(term, "chunks"))


@rule(
    "chunks",
    "map(lambda v: at(reduce_seq(f, z) o g(v), 0)) o x = at(reduce_seq(lambda acc, c: map(f) o zip(acc, c), "
    "map(lambda v: z) o x) o transpose o map(g) o x, 0)",
)
def map_of_reduce(term: Term, here: Surroundings) -> Term:
    """Reduce all elements' arrays side by side, in place of one after the other."""
    match term:
        case t.Map(kind="map", function=t.Lambda((name,), t.Indexed(t.Reduce(kind="seq") as each, t.Formula()))):
            if name in free(each.operator) | free(each.start):
                another("map of a reduction whose operator does not depend on the element")
            here.array(t.Map(term.function, term.array))
            step = _side_by_side(each.operator, label_of(term), each.start)
            starts = t.Map(t.Lambda((name,), each.start), term.array)
            columns = t.Transpose(t.Map(t.Lambda((name,), each.array), term.array, label=labelled(term, "rows")))
            return t.Indexed(replace(each, operator=step, start=starts, array=columns, label=label_of(each)), number(0))
    another("map of a reduce_seq")


def _side_by_side(operator: t.Lambda, label: str, start: Term) -> t.Lambda:
    """Return an operator on arrays that combines each element by one on elements."""
    accumulated, column, pair = (parameter(operator, start, like=like) for like in ("acc", "c", "p"))
    own, other = operator.parameters
    body = inlined(operator, **{own: t.Item(t.Variable(pair), 0), other: t.Item(t.Variable(pair), 1)})
    both = t.Zip((t.Variable(accumulated), t.Variable(column)))
    return t.Lambda((accumulated, column), t.Map(t.Lambda((pair,), body), both, label=label))


@rule(
    "tiles",
    "map(lambda r: map(lambda c: at(reduce_seq(f, z) o zip(r, c), 0)) o y) o x = at(reduce_seq("
    "lambda acc, p: map(lambda q: map(lambda s: at(reduce_seq(f, s[0]) o zip(q[1], s[1]), 0)) o zip(q[0], p[1])) "
    "o zip(acc, p[0]), "
    "z...) o zip(cut(x), cut(y)), 0), cut = transpose o map(split(size))",
    "divides",
    independent="y does not depend on r",
)
def reduce_tiles(term: Term, here: Surroundings, size: Expression) -> Term:
    """Reduce all products of rows and columns in chunks, chunk after chunk, each beginning with what there is.

    No law of the operator is needed. Its sums are kept in an array, and each chunk of rows and columns is used for all.
    """
    match term:
        case t.Map(
            kind="map", array=rows,
            function=t.Lambda((row,), t.Map(kind="map", array=columns, function=t.Lambda((column,), t.Indexed(
                t.Reduce(kind="seq", array=t.Zip((t.Variable(first), t.Variable(second)))) as each, t.Formula()
            ))) as inner),
        ) if (first, second) == (row, column):  # fmt: skip
            if {row, column} & (free(each.operator) | free(each.start)):
                another("reduce_seq whose operator is the same for all rows and columns")
            here.require("independent", row not in free(columns), f"the columns depend on {row}")
            kind = here.array(rows).element
            assert isinstance(kind, ArrayOf)
            here.divides(size, kind.length)
            accumulated, chunks, of_row, of_column, part = (
                parameter(each.operator, rows, columns, like=like) for like in ("acc", "p", "q", "s", "v")
            )  # fmt: skip

            def cut(array: Term) -> Term:
                return t.Transpose(t.Map(t.Lambda((part,), t.Split(size, t.Variable(part))), array))

            def item(name: str, place: int) -> Term:
                return t.Item(t.Variable(name), place)

            chunk = t.Zip((item(of_row, 1), item(of_column, 1)))
            sums = replace(each, start=item(of_column, 0), array=chunk, label=labelled(each, "chunk"))
            made = t.Map(t.Lambda((of_column,), t.Indexed(sums, number(0))), t.Zip((item(of_row, 0), item(chunks, 1))))
            made = replace(made, label=label_of(inner))
            whole = t.Map(
                t.Lambda((of_row,), made), t.Zip((t.Variable(accumulated), item(chunks, 0))), label=label_of(term)
            )
            starts = t.Map(t.Lambda((row,), t.Map(t.Lambda((column,), each.start), columns)), rows)
            tiles = t.Reduce(
                t.Lambda((accumulated, chunks), whole), starts, t.Zip((cut(rows), cut(columns))), "seq",
                labelled(each, "tiles"),
            )  # fmt: skip
            return t.Indexed(tiles, number(0))
    another("map of a map of a reduce_seq of zip(row, column)")


@rule("transpose", "x = transpose o transpose o x")
def transposed(term: Term, here: Surroundings) -> Term:
    """Transpose twice: so a tile can be copied along its columns."""
    if not isinstance(here.array(term).element, ArrayOf) or isinstance(term, t.Transpose):
        another("array of arrays that is no transpose")
    return t.Transpose(t.Transpose(term))


@rule("tiles", "slide(size, 1) = join o map(slide(size, 1)) o slide(tile + size - 1, tile)", "divides",
      one="windows begin at every element")  # fmt: skip
def slide_tiles(term: Term, here: Surroundings, tile: Expression) -> Term:
    """Cut the array into tiles that overlap, each with the windows that begin in it."""
    if not isinstance(term, t.Slide):
        another("slide")
    here.require("one", term.step is ONE, f"windows every {length_text(term.step)} elements")
    n = here.array(term.array).length
    here.divides(tile, normal(add(subtract(n, term.size), ONE)))
    name = parameter()
    tiles = t.Slide(normal(add(tile, term.size, constant(-1))), tile, term.array)
    return t.JoinChunks(t.Map(t.Lambda((name,), t.Slide(term.size, ONE, t.Variable(name))), tiles, label="tiles"))


@rule(
    "tiles",
    "slide2(size, 1) = join o map(map(join) o transpose) o map(map(slide2(size, 1))) o slide2(tile + size - 1, tile), "
    "slide2(s, t) = map(transpose) o slide(s, t) o map(slide(s, t))",
    "divides",
    one="windows begin at every element",
)
def slide_tiles_2d(term: Term, here: Surroundings, tile: Expression) -> Term:
    """Cut an array of two dimensions into square tiles that overlap, each with the windows that begin in it."""
    match term:
        case t.Map(
            kind="map", function=t.Lambda((turned,), t.Transpose(t.Variable(same))),
            array=t.Slide(size, step, t.Map(
                kind="map", function=t.Lambda((row,), t.Slide(own_size, own_step, t.Variable(own))), array=array
            )),
        ) if (turned, row, size, step) == (same, own, own_size, own_step):  # fmt: skip
            here.require("one", step is ONE, f"windows every {length_text(step)} elements")
            kind = here.array(array)
            assert isinstance(kind.element, ArrayOf)
            for each in (kind.length, kind.element.length):
                here.divides(tile, normal(add(subtract(each, size), ONE)))

            def windows(size: Expression, step: Expression, inner: Term) -> t.Map:
                name = parameter(like="w")
                rows = t.Map(t.Lambda((name,), t.Slide(size, step, t.Variable(name))), inner)
                return t.Map(t.Lambda((name,), t.Transpose(t.Variable(name))), t.Slide(size, step, rows))

            part, tiles = parameter(like="t"), parameter(like="q")
            of_tile = t.Lambda((part,), windows(size, ONE, t.Variable(part)))
            outer = windows(normal(add(tile, size, constant(-1))), tile, array)
            each_tile = t.Map(
                t.Lambda((tiles,), t.Map(of_tile, t.Variable(tiles), label="tile_columns")), outer, label="tile_rows"
            )  # fmt: skip
            joined = t.Lambda((part,), t.JoinChunks(t.Variable(part)))
            back = t.Lambda((tiles,), t.Map(joined, t.Transpose(t.Variable(tiles))))
            return t.JoinChunks(t.Map(back, each_tile))
    another("map(transpose) o slide o map(slide)")


@rule("slide", "slide(size, step) o map(f) = map(map(f)) o slide(size, step)")
def slide_of_map(term: Term, here: Surroundings) -> Term:
    """Map each window's elements."""
    match term:
        case t.Slide(array=t.Map() as inner):
            window = parameter(inner.function, like="w")
            each = replace(inner, array=t.Variable(window))
            windows = replace(term, array=inner.array)
            return replace(inner, function=t.Lambda((window,), each), array=windows, label=labelled(inner, "windows"))
    another("slide o map")


@rule(
    "4d",
    "reduce_seq(lambda acc, p: f(acc, p), z) = reduce_seq(lambda acc, p: let(toShared o copy o p[item], "
    "lambda t: f(acc, p with t for p[item])), z)",
    "nesting",
)
def keep_tile(term: Term, here: Surroundings, item: int, turned: bool = False) -> Term:
    """Copy an array of each step to shared memory first, by local threads; `turned`, along its columns."""
    match term:
        case t.Reduce(kind="seq", array=t.Zip(arrays), operator=t.Lambda((accumulated, part), body)) if item < len(
            arrays
        ):
            kind = here.array(arrays[item]).element
            wanted = t.Item(t.Variable(part), item)
            if not isinstance(kind, ArrayOf):
                another("reduce_seq of arrays")
            array: Term = t.Transpose(wanted) if turned else wanted
            kept: Term = t.Map(IDENTITY, array, "local")
            if isinstance(kind.element, ArrayOf):
                row = parameter(body, like="row")
                kept = t.Map(t.Lambda((row,), t.Map(IDENTITY, t.Variable(row), "local")), array, "local", "y")
            kept = t.ToMemory("shared", kept)
            tile = parameter(body, like="tile")
            items = (t.Variable(tile) if at == item else t.Item(t.Variable(part), at) for at in range(len(arrays)))
            inside = inlined(t.Lambda((part,), body), **{part: t.Tupled(tuple(items))})
            made = t.Let(tile, t.Transpose(kept) if turned else kept, inside)
            wrong = next((why for _, why in faults(made, here.nest)), "")
            here.require("nesting", not wrong, wrong)
            return replace(term, operator=t.Lambda((accumulated, part), made), label=label_of(term))
    another("reduce_seq of a zip")


@rule("let", "f(x) = let(x, f)")
def share_name(term: Term, here: Surroundings, of: str, name: str, place: int = -1) -> Term:
    """Give the array that a name stands for, or an item of it, another name: what is done to that is done once."""
    wanted: Term = t.Variable(of) if place < 0 else t.Item(t.Variable(of), place)
    inside = list(walk(term))
    if of not in here.names or wanted not in inside or isinstance(term, t.Variable | t.Item):
        another(f"expression with {of}")
    here.array(wanted)
    bound = (
        each.parameters if isinstance(each, t.Lambda) else (each.name,) if isinstance(each, t.Let) else ()
        for each in inside
    )
    fresh = fresh_name(name, free(term).union(*bound))
    return t.Let(fresh, wanted, _with_other(term, wanted, fresh))


def _with_other(node: Term, old: Term, new: str) -> Term:
    """Return a term with a new name wherever a part of it stands whose names nothing around binds."""
    if node == old:
        return t.Variable(new)
    inner: list[PatternNode] = []
    for place, each in enumerate(parts_of(node)):
        if isinstance(each, t.Lambda):
            hidden = free(old) & {*each.parameters}
            inner.append(each if hidden else replace(each, body=_with_other(each.body, old, new)))
        else:
            bound = isinstance(node, t.Let) and place == 1 and node.name in free(old)
            inner.append(each if bound else _with_other(each, old, new))
    made = with_children(node, inner)
    assert not isinstance(made, t.Lambda)
    return made


@rule("let", "x = let(x, id)")
def share(term: Term, here: Surroundings, name: str) -> Term:
    """Give a part a name, under which it is computed once."""
    if isinstance(term, t.Variable | t.Let):
        another("array without a name")
    here.array(term)
    return t.Let(parameter(term, like=name), term, t.Variable(parameter(term, like=name)))
