"""What is claimed of each rule: expressions over unknown functions at symbolic lengths, and cases without a condition.

`f`, `g` and `h` are functions of which nothing is known, `op` an operator that has the laws that a rule asks for. Every
length that a size divides is a product with that size, so that the input `f32[m * s]` stands for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from symbolic.rewriting.nesting import Nest


class RuleClaim(Struct, frozen=True):
    """An expression that a rule is applied to, the types of its inputs, and the rule's arguments, as texts; and the
    parallel maps that it stands in."""

    text: str
    inputs: Mapping[str, str]
    arguments: Mapping[str, str | int] = {}
    nest: Nest = ()


OPAQUE: Final = ("f", "g", "h", "op")
SIZES: Final = ("s", "t", "p", "r")
"""Bindings of lengths that stand for sizes: they are at least 1, others may be 0."""

_X: Final = {"x": "f32[m * s]"}
_V: Final = {"x": "f32[n]"}
_OP: Final = "add = lambda a, b: op(a, b)\n"

CLAIMS: Final[Mapping[str, tuple[RuleClaim, ...]]] = {
    "iterate_split": tuple(
        RuleClaim(f"iterate({total}, lambda v: f(v)) o x", {"x": "f32"}, {"times": times})
        for total in (2, 3, 5)
        for times in range(1, total)
    ),
    "map_of_reorder": (RuleClaim("map(lambda v: f(v)) o reorder o x", _V),),
    "reorder_of_map": (RuleClaim("reorder o map(lambda v: f(v)) o x", _V),),
    "split_join": (RuleClaim("map(lambda v: f(v)) o x", _X, {"size": "s"}),),
    "reduce_part": (RuleClaim(_OP + "reduce(add, z) o x", {**_X, "z": "f32"}, {"parts": "m"}),),
    "part_reduce": (RuleClaim(_OP + "part_red(add, z, 1) o x", {**_V, "z": "f32"}),),
    "part_reorder": (
        RuleClaim(_OP + "reduce(add, z) o part_red(add, z, m) o x", {**_X, "z": "f32"}),
    ),
    "reduce_reorder": (RuleClaim(_OP + "reduce(add, z) o x", {**_V, "z": "f32"}),),
    "part_split": (
        RuleClaim(_OP + "part_red(add, z, m) o x", {**_X, "z": "f32"}, {"size": "s"}),
        RuleClaim(_OP + "part_red(add, z, m * t) o x", {"x": "f32[m * t * s]", "z": "f32"}, {"size": "t * s"}),
    ),
    "part_iterate": (
        *(
            RuleClaim(_OP + "part_red(add, z, m) o x", {"x": f"f32[m{' * s' * times}]", "z": "f32"},
                      {"times": times, "size": "s"})
            for times in (1, 2, 3)
        ),
        RuleClaim(_OP + "reduce(add, z) o x", {"x": "f32[s * s]", "z": "f32"}, {"times": 2, "size": "s"}),
    ),
    "split_join_id": (
        RuleClaim("split(s) o join o x", {"x": "f32[m, s]"}),
        RuleClaim("join o split(s) o x", _X),
    ),
    "vector_scalar_id": (
        RuleClaim("asVector(4) o asScalar o asVector(4) o x", {"x": "f32[4 * m]"}),
        RuleClaim("asScalar o asVector(4) o x", {"x": "f32[4 * m]"}),
    ),
    "map_fusion": (
        RuleClaim("map(lambda v: f(v)) o map(lambda v: g(v)) o x", _V),
        RuleClaim("map(lambda v: f(v, h(v))) o map(lambda w: g(w, a)) o x", {**_V, "a": "f32"}),
        RuleClaim("map_local(lambda r: map(lambda v: f(v)) o r) o map_local(lambda r: map(lambda v: g(v)) o r) o x",
                  {"x": "f32[n, k]"}),
    ),
    "reduce_map_fusion": (
        RuleClaim(_OP + "reduce_seq(add, z) o map_seq(lambda v: g(v)) o x", {**_V, "z": "f32"}),
        RuleClaim("reduce_seq(lambda a, b: op(a, f(b, b)), z) o map(lambda a: g(a)) o x", {**_V, "z": "f32"}),
    ),
    "scan_map_fusion": (RuleClaim(_OP + "scan(add, z) o map(lambda v: g(v)) o x", {**_V, "z": "f32"}),),
    "scan_chunks": (RuleClaim(_OP + "scan(add, z) o x", {**_X, "z": "f32"}, {"size": "s"}),),
    "lower_map": tuple(
        RuleClaim("map(lambda v: f(v)) o x", _V, {"kind": kind}) for kind in ("global", "block", "seq")
    ),
    "lower_reduce": (RuleClaim(_OP + "reduce(add, z) o x", {**_V, "z": "f32"}),),
    "reorder_id": (RuleClaim("reorder o x", _V),),
    "reorder_stride": (RuleClaim("reorder o x", _X, {"stride": "s"}),),
    "to_memory": (RuleClaim("map_global(lambda v: f(v)) o x", _V, {"memory": "global"}),),
    "vectorise": tuple(
        RuleClaim("map(lambda v: sqrt(v) + a) o x", {"x": f"f32[{width} * m]", "a": "f32"}, {"width": width})
        for width in (2, 4)
    ),
    "vectorise_part": tuple(
        RuleClaim("reduce(lambda a, b: pow(a, b), z) o part_red(lambda a, b: pow(a, b), z, k) o x".replace("k", parts),
                  {"x": f"f32[{parts} * s]", "z": "f32"}, {"width": width})
        for width, parts in ((2, "2 * m"), (4, "4 * m"))
    ),
    "copy": (RuleClaim("x", _V),),
    "no_copy": (RuleClaim("map_seq(lambda v: v) o x", _V),),
    "zip_fusion": (
        RuleClaim("map(lambda q: f(q[0], q[1])) o zip(map(lambda v: g(v)) o x, y)", {**_V, "y": "f32[n]"}),
        RuleClaim("map(lambda q: f(q[0], q[1], q[0])) o zip(map(lambda v: g(v)) o x, map(lambda v: h(v, a)) o y)",
                  {**_V, "y": "f32[n]", "a": "f32"}),
    ),
    "map_of_join": (RuleClaim("map(lambda v: f(v)) o join o x", {"x": "f32[m, s]"}),),
    "map_fission": (
        RuleClaim("map(lambda r: join o map(map(lambda v: f(v))) o split(s) o r) o x", {"x": "f32[n, m * s]"}),
        RuleClaim("map(lambda r: map(lambda v: f(v)) o map(lambda v: g(v)) o r) o x", {"x": "f32[n, k]"}),
        RuleClaim("map(lambda v: map(lambda w: g(w)) o map(lambda w: f(v, w)) o y) o x", {**_V, "y": "f32[k]"}),
    ),
    "interchange": (
        RuleClaim("map(lambda a: map(lambda b: f(a, b)) o y) o x", {**_V, "y": "f32[k]"}),
        RuleClaim("map(lambda b: map(lambda a: f(a, b, c)) o y) o x", {**_V, "y": "f32[k]", "c": "f32"}),
    ),
    "transpose_twice": (RuleClaim("transpose o transpose o x", {"x": "f32[n, k]"}),),
    "map_of_transpose": (RuleClaim("map(map(lambda v: f(v))) o transpose o x", {"x": "f32[n, k]"}),),
    "reduce_chunks": (RuleClaim(_OP + "reduce(add, z) o x", {**_X, "z": "f32"}, {"size": "s"}),),
    "reduce_seq_chunks": (RuleClaim(_OP + "reduce_seq(add, z) o x", {**_X, "z": "f32"}, {"size": "s"}),),
    "reduce_seq_of_join": (RuleClaim(_OP + "reduce_seq(add, z) o join o x", {"x": "f32[m, s]", "z": "f32"}),),
    "map_of_reduce": (
        RuleClaim(_OP + "map(lambda r: at(reduce_seq(add, z) o map(lambda v: f(v)) o r, 0)) o x",
                  {"x": "f32[n, k]", "z": "f32"}),
    ),
    "reduce_tiles": (
        RuleClaim("map(lambda r: map(lambda c: at(reduce_seq(lambda a, p: op(a, f(p[0], p[1])), 0) o zip(r, c), 0)) "
                  "o y) o x", {"x": "f32[n, m * s]", "y": "f32[k, m * s]"}, {"size": "s"}),
    ),
    "keep_tile": tuple(
        RuleClaim("reduce_seq(lambda acc, p: op(acc, f(at(at(p[0], 0), 0), at(at(p[1], 0), 0))), 0) o zip(x, y)",
                  {"x": "f32[m, n, k]", "y": "f32[m, k, n]"}, {"item": item, "turned": turned}, (("block", "x"),))
        for item in (0, 1)
        for turned in (False, True)
    )
    + tuple(
        RuleClaim("reduce_seq(lambda acc, p: at(reduce_seq(lambda acc, p: op(acc, f(p[0], p[1])), acc) o zip(let(p[1], "
                  "lambda tile: tile), p[0]), 0), z) o zip(x, y)",
                  {"x": "f32[m, k]", "y": "f32[m, k]", "z": "f32"}, {"item": item}, (("block", "x"),))
        for item in (0, 1)
    ),
    "transposed": (RuleClaim("x", {"x": "f32[n, k]"}),),
    "slide_tiles": (
        RuleClaim("slide(3, 1) o x", {"x": "f32[m * s + 2]"}, {"tile": "s"}),
        RuleClaim("slide(r, 1) o x", {"x": "f32[m * s + r - 1]"}, {"tile": "s"}),
    ),
    "slide_tiles_2d": (
        RuleClaim("map(transpose) o slide(3, 1) o map(slide(3, 1)) o x",
                  {"x": "f32[m * s + 2, n * s + 2]"}, {"tile": "s"}),
        RuleClaim("map(transpose) o slide(r, 1) o map(slide(r, 1)) o x",
                  {"x": "f32[m * s + r - 1, n * s + r - 1]"}, {"tile": "s"}),
    ),
    "slide_of_map": (RuleClaim("slide(r, t) o map(lambda v: f(v)) o x", {"x": "f32[m * t + r]"}),),
    "share_name": (
        RuleClaim("map(lambda v: f(v, at(x, 0))) o x", _V, {"of": "x", "name": "y"}),
        RuleClaim("map(lambda v: f(v)) o p[0]", {"p": "(f32[n], f32[n])"}, {"of": "p", "name": "y", "place": 0}),
    ),
    "share": (RuleClaim("map(lambda v: f(v)) o x", _V, {"name": "y"}),),
}  # fmt: skip
"""Of each rule, what it is proved on. The functions of vectors have to be arithmetic: `sqrt` and `pow` are as unknown
to the proof as f and op are."""

_ADD: Final = "add = lambda a, b: a + b\n"
_ODD: Final = "odd = lambda a, b: a + b + a * a * b * b\n"
"""0 is neutral, and it commutes, but is not associative."""
_LINE: Final = "line = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])\n"
"""First one line, then the other: associative, (1, 0) is neutral, but does not commute."""
_LINES: Final = {"x": "(f32, f32)[12]"}
_12: Final = {"x": "f32[12]"}
_4: Final = {"x": "f32[4]"}
_6: Final = {"x": "f32[6]"}

WITHOUT: Final[Mapping[tuple[str, str], RuleClaim]] = {
    ("iterate_split", "shorter"): RuleClaim("iterate(3, lambda v: 2 * v) o x", {"x": "f32"}, {"times": 5}),
    ("split_join", "divides"): RuleClaim("map(lambda v: v + 1) o x", _6, {"size": "4"}),
    ("reduce_part", "associative"): RuleClaim(_ODD + "reduce(odd, 0) o x", _4, {"parts": "2"}),
    ("reduce_part", "neutral"): RuleClaim(_ADD + "reduce(add, 1) o x", _12, {"parts": "3"}),
    ("reduce_part", "divides"): RuleClaim(_ADD + "reduce(add, 0) o x", _6, {"parts": "4"}),
    ("part_reduce", "one"): RuleClaim(_ADD + "part_red(add, 0, 2) o x", _6),
    ("part_reorder", "associative"): RuleClaim(_ODD + "reduce(odd, 0) o part_red(odd, 0, 2) o x", _4),
    ("part_reorder", "commutative"): RuleClaim(_LINE + "reduce(line, (1, 0)) o part_red(line, (1, 0), 2) o x", _LINES),
    ("part_reorder", "same"): RuleClaim(
        _ADD + "mul = lambda a, b: a * b\nreduce(add, 0) o part_red(mul, 1, 2) o x", _12),
    ("reduce_reorder", "associative"): RuleClaim(_ODD + "reduce(odd, 0) o x", _4),
    ("reduce_reorder", "commutative"): RuleClaim(_LINE + "reduce(line, (1, 0)) o x", _LINES),
    ("part_split", "divides"): RuleClaim(_ADD + "part_red(add, 0, 2) o x", _12, {"size": "4"}),
    ("part_iterate", "associative"): RuleClaim(_ODD + "part_red(odd, 0, 1) o x", _4, {"times": 2, "size": "2"}),
    ("part_iterate", "neutral"): RuleClaim(_ADD + "part_red(add, 1, 3) o x", _12, {"times": 2, "size": "2"}),
    ("part_iterate", "powers"): RuleClaim(_ADD + "part_red(add, 0, 3) o x", _12, {"times": 1, "size": "2"}),
    ("split_join_id", "chunks"): RuleClaim("split(3) o join o x", {"x": "f32[3, 4]"}),
    ("vector_scalar_id", "width"): RuleClaim("asVector(2) o asScalar o asVector(4) o x", _12),
    ("scan_map_fusion", "alike"): RuleClaim(
        "scan(lambda a, b: a + b, 0) o map(lambda p: p[0] * p[1]) o zip(x, x)", _6
    ),
    ("scan_chunks", "associative"): RuleClaim(_ODD + "scan(odd, 0) o x", _4, {"size": "2"}),
    ("scan_chunks", "neutral"): RuleClaim(_ADD + "scan(add, 1) o x", _12, {"size": "4"}),
    ("scan_chunks", "divides"): RuleClaim(_ADD + "scan(add, 0) o x", _6, {"size": "4"}),
    ("lower_map", "nesting"): RuleClaim("map(lambda v: v + 1) o x", _6, {"kind": "local"}),
    ("to_memory", "nesting"): RuleClaim("map_global(lambda v: v + 1) o x", _6, {"memory": "shared"}),
    ("reorder_stride", "divides"): RuleClaim("reorder o x", _6, {"stride": "4"}),
    ("vectorise", "divides"): RuleClaim("map(lambda v: v + 1) o x", _6, {"width": 4}),
    ("vectorise_part", "associative"): RuleClaim(_ODD + "reduce(odd, 0) o part_red(odd, 0, 2) o x", _4, {"width": 2}),
    ("vectorise_part", "commutative"): RuleClaim(
        "last = lambda a, b: b if b != 0 else a\nreduce(last, 0) o part_red(last, 0, 2) o x", _12, {"width": 2}),
    ("vectorise_part", "divides"): RuleClaim(_ADD + "reduce(add, 0) o part_red(add, 0, 3) o x", _12, {"width": 2}),
    ("vectorise_part", "same"): RuleClaim(
        _ADD + "mul = lambda a, b: a * b\nreduce(add, 0) o part_red(mul, 1, 2) o x", _12, {"width": 2}),
    ("map_fission", "first"): RuleClaim(
        "map(lambda r: map(lambda v: v + at(r, 0)) o map(lambda v: 2 * v) o r) o x", {"x": "f32[3, 4]"}),
    ("interchange", "independent"): RuleClaim("map(lambda r: map(lambda v: v + at(r, 0)) o r) o x", {"x": "f32[3, 4]"}),
    ("reduce_chunks", "associative"): RuleClaim(_ODD + "reduce(odd, 0) o x", _4, {"size": "2"}),
    ("reduce_chunks", "neutral"): RuleClaim(_ADD + "reduce(add, 1) o x", _12, {"size": "4"}),
    ("reduce_chunks", "divides"): RuleClaim(_ADD + "reduce(add, 0) o x", _6, {"size": "4"}),
    ("reduce_seq_chunks", "divides"): RuleClaim(_ADD + "reduce_seq(add, 0) o x", _6, {"size": "4"}),
    ("reduce_tiles", "divides"): RuleClaim(
        "map(lambda r: map(lambda c: at(reduce_seq(lambda a, p: a + p[0] * p[1], 0) o zip(r, c), 0)) o y) o x",
        {"x": "f32[2, 6]", "y": "f32[3, 6]"}, {"size": "4"}),
    ("reduce_tiles", "independent"): RuleClaim(
        "map(lambda r: map(lambda c: at(reduce_seq(lambda a, p: a + p[0] * p[1], 0) o zip(r, c), 0)) o "
        "map(lambda w: map(lambda v: v * at(r, 0)) o w) o y) o x",
        {"x": "f32[2, 6]", "y": "f32[3, 6]"}, {"size": "2"}),
    ("keep_tile", "nesting"): RuleClaim(
        "reduce_seq(lambda acc, p: acc + at(p[0], 0), 0) o zip(x, x)", {"x": "f32[2, 6]"}, {"item": 0}),
    ("slide_tiles", "divides"): RuleClaim("slide(3, 1) o x", _12, {"tile": "4"}),
    ("slide_tiles_2d", "divides"): RuleClaim(
        "map(transpose) o slide(3, 1) o map(slide(3, 1)) o x", {"x": "f32[6, 7]"}, {"tile": "2"}),
    ("slide_tiles_2d", "one"): RuleClaim(
        "map(transpose) o slide(3, 2) o map(slide(3, 2)) o x", {"x": "f32[5, 5]"}, {"tile": "3"}),
    ("slide_tiles", "one"): RuleClaim("slide(3, 2) o x", {"x": "f32[11]"}, {"tile": "3"}),
}  # fmt: skip
"""Of each side condition of each rule, a case in which it does not hold, and the rule would be wrong."""
