"""The space of a backbone: what may be decided of its statements and loops, and what makes decisions a kernel.

These are Listings 6 to 13 of the paper, with three differences. The level of a thread dimension is a value of its
kind, so that which dimensions share a level needs no relation between pairs. Kinds are nested in one order, blocks
around loops around threads around unrolled loops around vectors: other nestings of these give the same kernels.
And what several rules say of the same few choices is one table, which propagation sees through while orders are open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial, reduce
from itertools import pairwise
from operator import or_
from typing import Final

from msgspec import Struct

from swizzle.derive.schedules.backbone import Backbone, LoopLevel, Statement
from swizzle.sketches.declaration import MAX_BLOCK
from symbolic.choices.conditions import ChoiceOf, Condition, GenericChoice, ObjectSet, Value, holds
from symbolic.choices.space import ChoiceSpace

BEFORE, AFTER, INNER, OUTER, MERGED = ORDERS = ("BEFORE", "AFTER", "INNER", "OUTER", "MERGED")
BLOCK, LOOP, UNROLL, VECTOR = "BLOCK", "LOOP", "UNROLL", "VECTOR"
THREADS: Final = ("THREAD.x", "THREAD.y", "THREAD.z")
"""A dimension of the hardware's threads; lanes of a warp follow each other along the first one."""
UNROLLED: Final = (UNROLL, VECTOR)
_DEPTH: Final = {BLOCK: 0, LOOP: 1, **dict.fromkeys(THREADS, 2), UNROLL: 3, VECTOR: 4}
REGISTER, SHARED = "REGISTER", "SHARED"
PLAIN, PADDED = "PLAIN", "PADDED"
"""Rows of a shared tile follow each other, or their pitch is a hole."""

ANY: Final = frozenset(ORDERS)
COMPOSED: Final[Mapping[tuple[Value, Value], Iterable[Value]]] = {
    (BEFORE, BEFORE): {BEFORE},
    (BEFORE, AFTER): ANY,
    (BEFORE, INNER): {BEFORE, INNER},
    (BEFORE, OUTER): {BEFORE},
    (BEFORE, MERGED): {BEFORE},
    (AFTER, BEFORE): ANY,
    (AFTER, AFTER): {AFTER},
    (AFTER, INNER): {AFTER, INNER},
    (AFTER, OUTER): {AFTER},
    (AFTER, MERGED): {AFTER},
    (INNER, BEFORE): {BEFORE},
    (INNER, AFTER): {AFTER},
    (INNER, INNER): {INNER},
    (INNER, OUTER): ANY,
    (INNER, MERGED): {INNER},
    (OUTER, BEFORE): {BEFORE, OUTER},
    (OUTER, AFTER): {AFTER, OUTER},
    (OUTER, INNER): {INNER, OUTER, MERGED},
    (OUTER, OUTER): {OUTER},
    (OUTER, MERGED): {OUTER},
    (MERGED, BEFORE): {BEFORE},
    (MERGED, AFTER): {AFTER},
    (MERGED, INNER): {INNER},
    (MERGED, OUTER): {OUTER},
    (MERGED, MERGED): {MERGED},
}
"""What x and z may be to each other where x is to y, and y to z, as the two values say: nests are a forest."""


class KernelLimits(Struct, frozen=True):
    """What a kernel may use.

    Attributes:
        threads: of a block, at least and at most.
        along: threads of a block along each hardware dimension, at most.
        shared_floats: elements of all shared tiles together; each has an equal part.
        unrolled: copies of a statement in the text, and so the registers of its value.
    """

    threads: tuple[int, int] = (1, 1024)
    along: tuple[int, int, int] = MAX_BLOCK
    shared_floats: int = 12288
    unrolled: int = 256


class LoopDimension(Struct, frozen=True):
    """A level of a loop in the nest of a statement: what decisions about kinds and orders are about."""

    statement: str
    tile: str

    def __repr__(self) -> str:
        return f"{self.statement}.{self.tile}"


class ScheduleChoices(Struct, frozen=True):
    """The declared space of a backbone, and the choices by which assignments are looked up.

    Attributes:
        space: the declaration.
        size: of a level that has sizes, by name.
        kind: of a dimension.
        order: of two statements or dimensions.
        memory: of a copy.
        layout: of a copy's tile in shared memory.
        threads: how many there are along a hardware dimension.
    """

    space: ChoiceSpace
    size: GenericChoice
    kind: GenericChoice
    order: GenericChoice
    memory: GenericChoice
    layout: GenericChoice
    threads: GenericChoice


def choices_of(
    backbone: Backbone, limits: KernelLimits | None = None, without: frozenset[str] = frozenset()
) -> ScheduleChoices:
    """Declare the space of a backbone.

    Args:
        backbone: what is computed.
        limits: what a kernel may use.
        without: rules that are left out, by their words, for tests of what the rules are good for.
    """
    return _Declaration(backbone, limits or KernelLimits(), without).made()


class _Declaration:
    def __init__(self, backbone: Backbone, limits: KernelLimits, without: frozenset[str]) -> None:
        self.backbone, self.limits, self.without = backbone, limits, without
        self.statements = {statement.name: statement for statement in backbone.statements}
        self.tile = {tile.name: tile for loop in backbone.loops.values() for tile in loop.tiles}
        self.dims = [
            LoopDimension(statement.name, tile.name)
            for statement in backbone.statements
            for tile in backbone.tiles(statement)
        ]
        self.known = set(self.dims)
        space = self.space = ChoiceSpace(backbone.name)
        self.D = space.set("dimensions", self.dims)
        self.S = space.set("statements", [*self.dims, *self.statements])
        self.T = space.set("levels", [tile.name for tile in self.tile.values() if tile.sizes])
        self.C = space.set("copies", [s.name for s in backbone.statements if s.kind == "copy"])
        self.H = space.set("hardware dimensions", THREADS)
        effects = [s for s in backbone.statements if s.kind in ("begin", "accumulate", "store")]
        shared = [loop for loop in backbone.loops if all(loop in s.loops for s in effects)]
        self.parallel = {backbone.loops[loop].tiles[0].name for loop in shared if backbone.loops[loop].open_ended}
        self.size = space.integer("size", [self.T], lambda name: self.tile[name].sizes)
        self.kind = space.enum("kind", [self.D], tuple(_DEPTH))
        self.memory = space.enum("memory", [self.C], (REGISTER, SHARED))
        self.layout = space.enum("layout", [self.C], (PLAIN, PADDED))
        widths = sorted({1, *(size for tile in self.tile.values() for size in tile.sizes)})
        most = {axis: min(limits.threads[1], along) for axis, along in zip(THREADS, limits.along, strict=True)}
        self.threads = space.integer("threads", [self.H], lambda axis: tuple(w for w in widths if w <= most[axis]))
        self.order = space.enum("order", [self.S, self.S], ORDERS, {BEFORE: AFTER, INNER: OUTER})

    def require(self, why: str, condition: Condition | bool) -> None:
        """Demand a condition of given objects."""
        if why not in self.without:
            self.space.require(why, [], lambda: condition)

    def counter(self, why: str, group: ObjectSet, *counted: Callable[..., object], **bounds: float) -> None:
        """Bound a sum, or a product, over some objects: of what is counted, and when."""
        if why not in self.without:
            value, when = counted if len(counted) == 2 else (*counted, None)
            self.space.counter(why, [group], value, when=when, **bounds)  # type: ignore[arg-type]

    def for_all(self, why: str, sets: list[ObjectSet], condition: object) -> None:
        if why not in self.without:
            self.space.require(why, sets, condition)  # type: ignore[arg-type]

    def made(self) -> ScheduleChoices:
        if "orders fit together" not in self.without:
            self.space.algebra(self.order, COMPOSED)
        self.nests()
        self.kinds()
        for statement in self.backbone.statements:
            for name in statement.reads:
                self.taken(self.statements[name], statement)
        for statement in self.backbone.statements:
            self.once(statement)
            if statement.kind == "copy":
                rows = holds(_has_rows, self.memory(statement.name), self.layout(statement.name))
                self.require("only shared tiles have a pitch", rows)
        self.blocks()
        self.hardware_threads()
        self.resources()
        return ScheduleChoices(self.space, self.size, self.kind, self.order, self.memory, self.layout, self.threads)

    # What may be decided of one dimension, and of two.

    def sizes(self, dim: LoopDimension) -> LoopLevel:
        return self.tile[dim.tile]

    def kinds_of(self, dim: LoopDimension) -> tuple[str, ...]:
        """Return what a dimension may become."""
        statement, tile = self.statements[dim.statement], self.sizes(dim)
        if not tile.sizes:
            return (LOOP, BLOCK) if tile.name in self.parallel else (LOOP,)
        if tile.loop in self.backbone.reduced(statement):
            return (LOOP, UNROLL)
        last = self.backbone.loops[tile.loop].tiles[-1]
        side_by_side = bool(statement.index) and statement.index[-1] == tile.loop and tile == last
        return (LOOP, *THREADS, UNROLL, *((VECTOR,) if side_by_side and statement.kind in ("load", "store") else ()))

    def kinds(self) -> None:
        for dim in self.dims:
            self.require("kinds of a dimension", self.kind(dim).is_(*self.kinds_of(dim)))
            if self.sizes(dim).sizes:
                size = self.size(dim.tile)
                self.require(
                    "a vector has two or four elements, and one trip is no decision",
                    holds(_fits_kind, self.kind(dim), size),
                )
        for loop in self.backbone.loops.values():
            inner = [tile.name for tile in loop.tiles if tile.sizes]
            if loop.open_ended and len(inner) > 1:
                divides = partial(_divides, loop.extent)
                self.require("tiles divide a loop", holds(divides, *map(self.size, inner)))

    def nests(self) -> None:
        """What may be inside what."""

        def pair(a: object, b: object) -> Condition | bool:
            order = self.order(a, b)
            if not isinstance(a, LoopDimension) and not isinstance(b, LoopDimension):
                return order.is_(BEFORE, AFTER)
            if not isinstance(a, LoopDimension):
                return True  # said of the pair the other way round
            if not isinstance(b, LoopDimension):
                return order.is_(OUTER) if a.statement == b else order.is_(BEFORE, AFTER, OUTER)
            outermost = not self.sizes(a).sizes
            if a.statement == b.statement:
                same = self.sizes(a).loop == self.sizes(b).loop
                return order.is_(OUTER) if same and outermost else order.is_(INNER, OUTER)
            return a.tile == b.tile or order.is_not(MERGED)

        self.for_all("what a nest is", [self.S, self.S], pair)

        def kinds(a: LoopDimension, b: LoopDimension) -> Condition | bool:
            if repr(a) > repr(b):
                return True
            return holds(_nested, self.kind(a), self.kind(b), self.order(a, b))

        self.for_all("kinds are nested in one order", [self.D, self.D], kinds)

    # What goes from statement to statement.

    def taken(self, maker: Statement, user: Statement) -> None:
        """A value is there when it is used, for each value of the loops that both have."""
        self.require("values are made before they are used", self.order(maker.name, user.name).is_(BEFORE))
        for loop in self.backbone.result_loops(maker):
            if loop in user.loops:
                for tile in self.backbone.loops[loop].tiles:
                    self.point_to_point(LoopDimension(maker.name, tile.name), LoopDimension(user.name, tile.name), user)

    def point_to_point(self, a: LoopDimension, b: LoopDimension, user: Statement) -> None:
        """What is made at a value of one dimension is used at the same value of the other (section 4.4)."""
        order = self.order(a, b)
        if not self.sizes(a).sizes:
            self.require("outermost levels are fused", order.is_(MERGED))
            return
        if user.kind == "copy":
            memory = self.memory(user.name)
            self.require("loops of one trip are fused", holds(_single, self.size(a.tile), order))
            self.require("a copy in registers is its load", holds(_in_registers, memory, order))
            self.require(
                "shared memory holds what threads and unrolled loops make",
                holds(_in_shared, memory, order, self.kind(a)),
            )
        else:
            self.require("values go point to point", holds(_point_to_point, self.kind(a), self.kind(b), order))

    def once(self, statement: Statement) -> None:
        """What is around a statement is its own; of a value that is made again, it may be around those that take it."""
        users = [user.name for user in self.backbone.users(statement.name)]
        effect = statement.kind in ("begin", "accumulate", "store")
        for dim in self.dims:
            own = LoopDimension(statement.name, dim.tile)
            around = self.order(dim, statement.name) if dim.statement != statement.name else None
            if around is None or (dim.statement in users and not effect and own not in self.known):
                continue
            if own in self.known:
                self.require(f"a {statement.kind} is done once", holds(_alone, around, self.order(dim, own)))
            elif effect:
                self.require(f"a {statement.kind} is done once", around.is_not(OUTER))
            else:
                there = (self.order(dim, user).is_(OUTER) for user in users)
                self.require("what is made again is used there", reduce(or_, there, around.is_not(OUTER)))

    # What the hardware has.

    def blocks(self) -> None:
        """Blocks are around everything; so those of one loop are one dimension, as stores are done once."""
        for dim in self.dims:
            if dim.tile not in self.parallel:
                continue
            for name in self.statements:
                if name == dim.statement:
                    continue
                whole = holds(_whole, self.kind(dim), self.order(dim, name))
                self.require("blocks are around all statements", whole)
        (*_, store) = [s for s in self.backbone.statements if s.kind == "store"]
        outer = [
            LoopDimension(store.name, tile.name) for tile in self.backbone.tiles(store) if tile.name in self.parallel
        ]
        grid = self.space.set("block dimensions", outer)
        self.counter("a grid has three dimensions", grid, lambda _: 1, lambda dim: self.kind(dim).is_(BLOCK), most=3)

    def hardware_threads(self) -> None:
        """The threads of a block, and which dimensions they are."""
        same = self.mapped_together()
        for axis in THREADS:
            threads = self.threads(axis)
            used: dict[LoopDimension, Condition] = {}
            for dim in self.dims:
                if axis in self.kinds_of(dim):
                    of = self.kind(dim), self.size(dim.tile), threads
                    self.require("a hardware dimension has one extent", holds(_EXTENT[axis], *of))
                    used[same[dim]] = holds(_USED[axis], *of)
            self.require("a hardware dimension is used", reduce(or_, used.values(), threads.is_(1)))
        for before, after in pairwise(THREADS):
            packed = holds(_packed, self.threads(before), self.threads(after))
            self.require("x is used before y, and y before z", packed)
        least, most = self.limits.threads
        self.counter("threads of a block", self.H, self.threads, product=True, least=least, most=most)

    def mapped_together(self) -> dict[LoopDimension, LoopDimension]:
        """Return for each dimension a first one of those that are on one hardware dimension with it, if on any."""
        same = {dim: dim for dim in self.dims}
        for user in self.backbone.statements:
            for name in user.reads if user.kind != "copy" else ():
                for tile in self.backbone.tiles(user):
                    maker, taker = LoopDimension(name, tile.name), LoopDimension(user.name, tile.name)
                    if maker in same:
                        first, other = same[maker], same[taker]
                        same |= {dim: first for dim, leader in same.items() if leader == other}
        return same

    def resources(self) -> None:
        """Registers and shared memory."""
        share = self.limits.shared_floats // max(len(self.C.objects), 1)

        def size(dim: LoopDimension) -> ChoiceOf:
            return self.size(dim.tile)

        def unrolled(dim: LoopDimension) -> Condition:
            return self.kind(dim).is_(*UNROLLED)

        for statement in self.backbone.statements:
            tiles = [tile for tile in self.backbone.tiles(statement) if tile.sizes]
            group = self.space.set(
                f"inner levels of {statement.name}", [LoopDimension(statement.name, t.name) for t in tiles]
            )
            self.counter("unrolled statements", group, size, unrolled, product=True, most=self.limits.unrolled)
            if statement.kind == "copy":
                apart = partial(self.apart, statement.reads[0])
                self.counter("shared memory", group, size, apart, product=True, most=share)

    def apart(self, load: str, dim: LoopDimension) -> Condition:
        """Say that a level of a copy is not fused with its load's."""
        return self.order(LoopDimension(load, dim.tile), dim).is_not(MERGED)


def _fits_kind(kind: str, size: int) -> bool:
    if size == 1:
        return kind == LOOP
    return kind != VECTOR or size in (2, 4)


def _point_to_point(maker: str, user: str, order: str) -> bool:
    """Fused, kept in registers of unrolled loops, or made and used by one thread (section 4.4)."""
    if order == MERGED:
        return maker == user
    return (maker in UNROLLED and user in UNROLLED) or (maker == user and maker in THREADS)


def _has_rows(memory: str, layout: str) -> bool:
    return memory == SHARED or layout == PLAIN


def _in_registers(memory: str, order: str) -> bool:
    return memory == SHARED or order == MERGED


def _in_shared(memory: str, order: str, kind: str) -> bool:
    return memory == REGISTER or order != MERGED or kind in (LOOP, BLOCK)


def _nested(kind: str, other: str, order: str) -> bool:
    """Deeper kinds are inside, and of threads those that follow each other faster; what is fused is of one kind."""
    if order == INNER:
        return _nested(other, kind, OUTER)
    if order == OUTER:
        return _DEPTH[kind] <= _DEPTH[other] and (kind not in THREADS or other not in THREADS or kind > other)
    return order != MERGED or kind == other


def _single(size: int, order: str) -> bool:
    return size > 1 or order == MERGED


def _alone(around: str, order: str) -> bool:
    return around != OUTER or order == MERGED


def _whole(kind: str, order: str) -> bool:
    return kind != BLOCK or order in (OUTER, MERGED, INNER)


def _packed(first: int, second: int) -> bool:
    return second == 1 or first > 1


def _divides(extent: int, *sizes: int) -> bool:
    return extent % math.prod(sizes) == 0


def _has_extent(axis: str, kind: str, size: int, threads: int) -> bool:
    return kind != axis or size == threads


def _is_used(axis: str, kind: str, size: int, threads: int) -> bool:
    return kind == axis and size == threads


_USED: Final = {axis: partial(_is_used, axis) for axis in THREADS}
_EXTENT: Final = {axis: partial(_has_extent, axis) for axis in THREADS}
