"""A complete assignment as the text of a kernel. Nothing is decided here: each line follows from a decision."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence

from swizzle.derive.schedules.backbone import Backbone, LoopLevel, Statement
from swizzle.derive.schedules.barriers import KernelItem, KernelLine, NestedLines, rendered, with_barriers
from swizzle.derive.schedules.decisions import BLOCK, THREADS, UNROLLED, LoopDimension
from swizzle.derive.schedules.nests import NestNode, Nests
from swizzle.derive.schedules.reading import substituted


def kernel_text(nests: Nests, spec: str) -> str:
    """Return the definition of a kernel with its decorator and the name of its specification, as a person would."""
    return _Lowering(nests).text(spec)


class _Lowering:
    def __init__(self, nests: Nests) -> None:
        self.nests: Nests = nests
        self.backbone: Backbone = nests.backbone
        self.accumulators: dict[NestNode, list[Statement]] = {}
        for statement in self.backbone.statements:
            if statement.kind == "begin":
                unrolled = [loop for loop in nests.around[statement.name] if nests.kind(loop) in UNROLLED]
                self.accumulators.setdefault(unrolled[0] if unrolled else statement.name, []).append(statement)

    def text(self, spec: str) -> str:
        nests, backbone = self.nests, self.backbone
        lines = rendered(with_barriers(self.items(None, {})))
        used = "\n".join(lines)
        names = []
        for letter, coordinate in (("b", "blockIdx"), ("t", "threadIdx")):
            mentioned = [axis for axis in "xyz" if _mentions(used, letter + axis)]
            left = ", ".join(letter + axis for axis in mentioned)
            names += [f"{left} = {', '.join(f'cuda.{coordinate}.{axis}' for axis in mentioned)}"] if mentioned else []
        block = nests.threads[0] if len(nests.threads) == 1 else nests.threads
        grid = [self.extent(dim.tile) for dim in nests.blocks] or ["1"]
        arguments = "".join(f", {name}={kind}" for name, kind in backbone.arguments.items())
        of_grid = grid[0] if len(grid) == 1 else f"({', '.join(grid)})"
        return "\n".join(
            [
                *self.pitches(),
                f"@sketch(spec={spec}, block={block}, grid={of_grid}{arguments})",
                f"def {backbone.name}({', '.join(backbone.arguments)}):",
                *("    " + line for line in [*self.arrays(), *names]),
                *lines,
                "",
            ]
        )

    # Loops and indices.

    def extent(self, tile: str) -> str:
        """Return the extent of a level as text."""
        loop = self.backbone.loops[self.nests.tiles[tile].loop]
        if not loop.open_ended and len(loop.tiles) == 1:
            return loop.length
        if self.nests.tiles[tile].sizes:
            return str(self.nests.size(tile))
        stride = self.nests.stride(tile)
        return loop.length if stride == 1 else f"{loop.length} // {stride}"

    def variable(self, dim: LoopDimension, names: dict[LoopDimension, str]) -> str:
        """Return what the value of a dimension is in the text: a coordinate, or the variable of the loop."""
        leader = self.nests.leader[dim]
        kind = self.nests.kind(leader)
        if kind in THREADS:
            return f"t{kind[-1]}"
        if kind == BLOCK:
            return f"b{'xyz'[self.nests.blocks.index(leader)]}"
        return names[leader]

    def at(
        self, statement: Statement, loop: str, names: dict[LoopDimension, str], tiles: Sequence[LoopLevel] | None = None
    ) -> str:
        """Return a loop's value at a statement, or the place in a tile that only has some of its levels."""
        nests = self.nests
        levels = [tile for tile in self.backbone.loops[loop].tiles if tiles is None or tile in tiles]
        parts = []
        for position, tile in enumerate(levels):
            if not tile.sizes or nests.size(tile.name) > 1:
                stride = (
                    nests.stride(tile.name)
                    if tiles is None
                    else math.prod(nests.size(t.name) for t in levels[position + 1 :])
                )
                variable = self.variable(LoopDimension(statement.name, tile.name), names)
                parts.append(variable if stride == 1 else f"{variable} * {stride}")
        return " + ".join(parts) or "0"

    def indices(self, statement: Statement, names: dict[LoopDimension, str]) -> str:
        loops = {loop: self.at(statement, loop, names) for loop in statement.loops}
        return ", ".join(substituted(index, loops) for index in statement.index)

    # Where values are.

    def in_registers(self, owner: Statement, user: Statement, names: dict[LoopDimension, str]) -> str:
        """Return the register of a value for a user of it."""
        cells = self.nests.register_cells(owner)
        name = owner.array if owner.kind == "begin" else self.register(owner)
        if not cells:
            return name
        return f"{name}[{', '.join(self.variable(LoopDimension(user.name, tile.name), names) for tile in cells)}]"

    def register(self, statement: Statement) -> str:
        if statement.kind == "compute":
            return statement.name.removeprefix("make_") + "_value"
        return f"{statement.name.removeprefix('load_').removeprefix('copy_')}_value"

    def shared(self, copy: Statement) -> str:
        return f"{copy.name.removeprefix('copy_')}_tile"

    def shape(self, statement: Statement, cells: Sequence[LoopLevel]) -> list[tuple[str, int]]:
        """Return the loops along which a tile has several elements, with how many."""
        load = self.backbone.statement(statement.reads[0])
        order = sorted(statement.loops, key=lambda loop: [loop in _names(index) for index in load.index].index(True))
        sizes = [(loop, math.prod(self.nests.size(tile.name) for tile in cells if tile.loop == loop)) for loop in order]
        return [(loop, size) for loop, size in sizes if size > 1] or [("", 1)]

    def in_shared(self, copy: Statement, user: Statement, names: dict[LoopDimension, str]) -> str:
        cells = self.nests.shared_cells(copy)
        shape = self.shape(copy, cells)
        places = [
            self.at(user, loop, names, [t for t in cells if t.loop == loop]) if loop else "0" for loop, _ in shape
        ]
        return f"{self.shared(copy)}[{', '.join(places)}]"

    def arrays(self) -> list[str]:
        made = []
        for statement in self.backbone.statements:
            if statement.kind == "copy" and self.nests.in_shared(statement.name):
                shape: list[int | str] = [size for _, size in self.tile_shape(statement)]
                if self.has_pitch(statement):
                    shape[-1] = self.pitch(statement)
                made.append(f"{self.shared(statement)} = cuda.shared.array({_shape(shape)}, {statement.dtype})")
            registers = statement.dtype and self.nests.source(statement) == statement and not self.is_stored(statement)
            if registers and (cells := self.nests.register_cells(statement)):
                shape = [self.nests.size(tile.name) for tile in cells]
                made.append(f"{self.register(statement)} = cuda.local.array({_shape(shape)}, {statement.dtype})")
        return made

    def tile_shape(self, copy: Statement) -> list[tuple[str, int]]:
        return self.shape(copy, self.nests.shared_cells(copy))

    def has_pitch(self, copy: Statement) -> bool:
        """Say whether the distance between rows of a shared tile is a hole."""
        return self.nests.is_padded(copy.name) and len(self.tile_shape(copy)) > 1

    def pitch(self, copy: Statement) -> str:
        return f"{copy.name.removeprefix('copy_').upper()}_PITCH"

    def pitches(self) -> list[str]:
        """Return the lines above the kernel that declare holes in shapes."""
        copies = [s for s in self.backbone.statements if s.kind == "copy" and self.nests.in_shared(s.name)]
        lines = [f"{self.pitch(s)} = sw_pad({self.tile_shape(s)[-1][1]})" for s in copies if self.has_pitch(s)]
        return [*lines, "", ""] if lines else []

    def is_stored(self, statement: Statement) -> bool:
        return statement.kind == "load" and self.nests.stored_by(statement) is not None

    # Statements.

    def items(self, node: NestNode | None, names: dict[LoopDimension, str]) -> list[KernelItem]:
        """Return what is in a loop, or at the top."""
        made: list[KernelItem] = []
        for child in self.nests.children(node):
            made += [KernelLine(self.accumulator(begin)) for begin in self.accumulators.get(child, ())]
            if isinstance(child, str):
                made += self.lines(self.backbone.statement(child), names)
            elif not self.is_written(child):
                made += self.items(child, names)
            else:
                variable = child.tile
                while variable in names.values():
                    variable += "_"
                if body := self.items(child, {**names, child: variable}):
                    made.append(NestedLines(f"for {variable} in range({self.extent(child.tile)}):", tuple(body)))
        return made

    def is_written(self, loop: LoopDimension) -> bool:
        """Say whether there is a loop in the text: hardware runs the others, or they have one trip."""
        hardware = self.nests.kind(loop) in (BLOCK, *THREADS)
        return not hardware and not (self.nests.tiles[loop.tile].sizes and self.nests.size(loop.tile) == 1)

    def accumulator(self, begin: Statement) -> str:
        shape = [self.nests.size(tile.name) for tile in self.nests.register_cells(begin)]
        call = begin.text if not shape else f"{begin.text[:-1]}, shape={_shape(shape)})"
        return f"{begin.array} = {call}"

    def lines(self, statement: Statement, names: dict[LoopDimension, str]) -> Sequence[KernelItem]:
        """Return the line of a statement; there is none where its value is in registers already."""
        nests = self.nests
        match statement.kind:
            case "begin":
                return []
            case "load":
                element = f"{statement.array}[{self.indices(statement, names)}]"
                if (name := nests.stored_by(statement)) is not None:
                    copy = self.backbone.statement(name)
                    tile = self.in_shared(copy, statement, names)
                    return self.guarded(
                        statement, KernelLine(f"{tile} = {element}", stores=frozenset({self.shared(copy)}))
                    )
                return [KernelLine(f"{self.in_registers(statement, statement, names)} = {element}")]
            case "copy":
                if nests.source(statement) != statement:
                    return []
                tile = self.in_shared(statement, statement, names)
                value = self.in_registers(statement, statement, names)
                return [KernelLine(f"{value} = {tile}", loads=frozenset({self.shared(statement)}))]
            case "compute":
                return [
                    KernelLine(f"{self.in_registers(statement, statement, names)} = {self.computed(statement, names)}")
                ]
            case "accumulate":
                total = self.in_registers(nests.source(statement), statement, names)
                operands = ast.parse(self.computed(statement, names), mode="eval").body
                given = operands.elts if isinstance(operands, ast.Tuple) else [operands]
                return [KernelLine(f"{total}.accumulate({', '.join(map(ast.unparse, given))})")]
            case "store":
                element = f"{statement.array}[{self.indices(statement, names)}]"
                return self.guarded(statement, KernelLine(f"{element} = {self.computed(statement, names)}"))

    def guarded(self, statement: Statement, line: KernelLine) -> list[KernelItem]:
        """Return a store that one thread does of those that have the same value."""
        missing = [f"t{axis[-1]} == 0" for axis in self.nests.missing_axes(statement)]
        return [NestedLines(f"if {' and '.join(missing)}:", (line,))] if missing else [line]

    def computed(self, statement: Statement, names: dict[LoopDimension, str]) -> str:
        """Return what a statement computes."""
        meaning = {loop: self.at(statement, loop, names) for loop in statement.loops}
        for read in statement.reads:
            maker = self.backbone.statement(read)
            if maker.kind != "begin":
                taken = self.in_registers(self.nests.source(maker), statement, names)
                meaning[read] = taken + ".value" if maker.kind == "accumulate" else taken
        return substituted(statement.text, meaning)


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _shape(shape: Sequence[int | str]) -> str:
    return str(shape[0]) if len(shape) == 1 else f"({', '.join(map(str, shape))})"
