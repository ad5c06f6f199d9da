"""A complete assignment as nests: which loops are fused, what is inside what, and what runs on which hardware."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TypeAlias

from swizzle.derive.schedules.backbone import Backbone, LoopLevel, Statement
from swizzle.derive.schedules.candidates import Assignment
from swizzle.derive.schedules.decisions import (
    BEFORE,
    BLOCK,
    MERGED,
    OUTER,
    PADDED,
    SHARED,
    THREADS,
    UNROLLED,
    LoopDimension,
    ScheduleChoices,
)
from symbolic.choices.conditions import ChoiceOf, Value

NestNode: TypeAlias = "LoopDimension | str"
"""A loop, by the first of the dimensions that are fused in it, or a statement by name."""


class Nests:
    """What an assignment says of each loop and statement."""

    def __init__(self, backbone: Backbone, choices: ScheduleChoices, assignment: Assignment) -> None:
        self.backbone, self.choices, self.assignment = backbone, choices, assignment
        self.tiles = {tile.name: tile for loop in backbone.loops.values() for tile in loop.tiles}
        self.leader: dict[LoopDimension, LoopDimension] = {}
        for dim in self.dimensions:
            same = (other for other in self.leader.values() if self.order(other, dim) == MERGED)
            self.leader[dim] = next(same, dim)
        loops = list(dict.fromkeys(self.leader.values()))
        self.nodes: list[NestNode] = [*loops, *(statement.name for statement in backbone.statements)]
        self.around: dict[NestNode, list[LoopDimension]] = {
            node: [loop for loop in loops if loop != node and self.order(loop, node) == OUTER] for node in self.nodes
        }
        """The loops around each loop and statement, the outermost first."""
        for loops_around in self.around.values():
            loops_around.sort(key=lambda loop: len(self.around[loop]) if loop in self.around else 0)

    @cached_property
    def dimensions(self) -> list[LoopDimension]:
        """The dimensions of all statements."""
        return [LoopDimension(s.name, tile.name) for s in self.backbone.statements for tile in self.backbone.tiles(s)]

    def value(self, chosen: ChoiceOf) -> Value:
        """Return what was decided."""
        value = self.assignment[chosen.choice, chosen.objects]
        return chosen.choice.opposite[value] if chosen.turned and chosen.choice.opposite else value

    def order(self, a: NestNode, b: NestNode) -> Value:
        """Return what two different loops or statements are to each other."""
        return MERGED if a == b else self.value(self.choices.order(a, b))

    def kind(self, dim: LoopDimension) -> str:
        """Return what a dimension became."""
        return str(self.value(self.choices.kind(dim)))

    def size(self, tile: str) -> int:
        """Return the extent of a level; of an outermost one it is what the others leave of the declared length."""
        if self.tiles[tile].sizes:
            return int(self.value(self.choices.size(tile)))
        loop = self.backbone.loops[self.tiles[tile].loop]
        return loop.extent // self.stride(tile)

    def stride(self, tile: str) -> int:
        """Return by how much a loop's value grows where a level's grows by 1."""
        levels = self.backbone.loops[self.tiles[tile].loop].tiles
        inner = levels[[level.name for level in levels].index(tile) + 1 :]
        product = 1
        for level in inner:
            product *= self.size(level.name)
        return product

    def children(self, node: NestNode | None) -> list[NestNode]:
        """Return what is directly in a loop, or in none, in the order of execution."""
        depth = 0 if node is None else len(self.around[node]) + 1
        inside = [
            other
            for other in self.nodes
            if len(self.around[other]) == depth and (node is None or node in self.around[other])
        ]
        earlier = {one: sum(one != other and self.order(other, one) == BEFORE for other in inside) for one in inside}
        return sorted(inside, key=earlier.__getitem__)

    @cached_property
    def threads(self) -> tuple[int, ...]:
        """How many threads there are along each dimension of the hardware that is used, x first."""
        counts = [int(self.value(self.choices.threads(axis))) for axis in THREADS]
        while len(counts) > 1 and counts[-1] == 1:
            counts.pop()
        return tuple(counts)

    @cached_property
    def blocks(self) -> list[LoopDimension]:
        """The loops that are dimensions of the grid: the innermost is x."""
        found = [node for node in self.around if isinstance(node, LoopDimension) and self.kind(node) == BLOCK]
        return sorted(found, key=lambda node: -len(self.around[node]))

    def in_shared(self, copy: str) -> bool:
        """Say whether a copy is taken from shared memory."""
        return self.value(self.choices.memory(copy)) == SHARED

    def is_padded(self, copy: str) -> bool:
        """Say whether the pitch of a copy's shared tile is a hole."""
        return self.value(self.choices.layout(copy)) == PADDED

    def stored_by(self, load: Statement) -> str | None:
        """Return the copy that takes a load's value from shared memory; None where it stays in registers."""
        copies = (user.name for user in self.backbone.users(load.name) if user.kind == "copy")
        return next((copy for copy in copies if self.in_shared(copy)), None)

    def source(self, statement: Statement) -> Statement:
        """Return the statement in whose registers a statement's value is."""
        if statement.kind == "copy" and not self.in_shared(statement.name):
            return self.backbone.statement(statement.reads[0])
        if statement.kind == "accumulate":
            return next(s for s in map(self.backbone.statement, statement.reads) if s.kind == "begin")
        return statement

    def register_cells(self, statement: Statement) -> list[LoopLevel]:
        """Return the levels along which a thread keeps several values of a statement at once."""
        unrolled = [
            tile
            for tile in self.backbone.tiles(statement)
            if self.size(tile.name) > 1 and self.kind(LoopDimension(statement.name, tile.name)) in UNROLLED
        ]
        if statement.kind == "begin":
            return unrolled
        takers = [
            (maker, user)
            for maker in self.backbone.statements
            if self.source(maker) == statement
            for user in self.backbone.users(maker.name)
            if self.source(user) != statement
        ]
        return [
            tile
            for tile in unrolled
            if any(
                self.order(LoopDimension(maker.name, tile.name), LoopDimension(user.name, tile.name)) != MERGED
                for maker, user in takers
            )
        ]

    def shared_cells(self, copy: Statement) -> list[LoopLevel]:
        """Return the levels of which a shared tile has an element each."""
        return [
            tile
            for tile in self.backbone.tiles(copy)
            if tile.sizes
            and self.size(tile.name) > 1
            and self.order(LoopDimension(copy.reads[0], tile.name), LoopDimension(copy.name, tile.name)) != MERGED
        ]

    def missing_axes(self, statement: Statement) -> list[str]:
        """Return the dimensions of the hardware of which a statement is executed by all threads alike."""
        own = {self.kind(LoopDimension(statement.name, tile.name)) for tile in self.backbone.tiles(statement)}
        return [axis for axis, count in zip(THREADS, self.threads, strict=False) if count > 1 and axis not in own]

    @cached_property
    def work(self) -> int:
        """How much a proof runs: the statements of all threads, and a hundred more for each step of the machine."""
        grid = math.prod(self.size(loop.tile) for loop in self.blocks)
        hardware = (BLOCK, *THREADS)
        serial = [
            math.prod(self.size(loop.tile) for loop in self.around[statement.name] if self.kind(loop) not in hardware)
            for statement in self.backbone.statements
        ]
        return (grid * math.prod(self.threads) + 100) * sum(serial)
