"""Translation validation of a kernel for any length: every block of every length, in one run.

What a block does depends on a length only by how much of it is left for the block, up to what it accesses at most. So
one run holds a block for each such remainder, and one with more behind it, along each tiled axis; what is left open are
the block's number, and how long the array is behind an inner block. Both are variables of index values
(`cuda_out.ptx.indices`), without bounds but those of a launch. Each array is seen through a window, the block's own
part and what it reads behind it: an address must be the beginning of that part plus an index that depends on the thread
alone, whatever the variables are. What a block leaves in its part must be the specification's terms for block 0, moved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.ptx.concrete import Operation
from cuda_out.ptx.forms import InstructionForm, form
from cuda_out.ptx.indices import INDEX, Indices, Polynomial, Total, Value, plus, product, show, variable
from cuda_out.ptx.kinds import KIND_OF, Bits, width
from cuda_out.ptx.machine import MATRICES, LaunchArray, LaunchScalar, PtxMachine
from cuda_out.ptx.memory import UNWRITTEN as NEVER
from cuda_out.ptx.memory import Broken, Lanes, Region
from cuda_out.ptx.notes import Notes
from cuda_out.ptx.operators import recognised
from cuda_out.ptx.registers import Register, Registers
from cuda_out.ptx.run import kernel_of
from cuda_out.ptx.syntax import Address, Group, Instruction, Kernel, Name, NotInterpreted, Operand
from cuda_out.ptx.transfers import Transfers
from cuda_out.ptx.validate import SHOWN, Validation, WrittenOut, alignments, output_difference
from cuda_out.tiling.tiling import Span, TiledAxis, Tiling
from symbolic.algebra.terms import Term
from symbolic.ir.layout import cell_name, flat_index
from symbolic.ir.program import Axis, Parameter, Program
from symbolic.machine.launch_shape import HARDWARE_WARP, LaunchShape

MOST_BLOCKS: Final[Mapping[Axis, int]] = {"x": 2**31 - 1, "y": 65535, "z": 65535}
"""Blocks that a launch may have along each axis."""
MOST_THREADS: Final = 1 << 18
"""Threads that one run may have, for all remainders together."""
_PITCH: Final = 16
"""Rows of a window begin at a multiple of so many elements, as far as vectors are wide."""


class Cut(Struct, frozen=True):
    """One remainder along one axis: so many units are left from the block's beginning on, or, with `more`, at least.

    `narrow` tells whether the length is one of the axis's narrow ones, where that is told apart.
    """

    axis: TiledAxis
    left: int
    more: bool = False
    narrow: bool | None = None

    @property
    def own(self) -> int:
        return min(self.left, self.axis.tile)

    def length(self) -> Polynomial:
        name, tile = self.axis.axis, self.axis.tile
        found = plus({(): self.left}, {(f"block {name}",): tile})
        return plus(found, variable(f"rest {name}")) if self.more else found

    def total(self) -> Total | None:
        """Return between what the length is, as far as its variables say."""
        names = (f"block {self.axis.axis}", f"rest {self.axis.axis}" if self.more else "")
        if self.narrow is None:
            return None
        border = self.axis.narrow - self.left
        return Total(*names, self.axis.tile, *((0, border) if self.narrow else (border + 1, None)))

    def __str__(self) -> str:
        size = "" if self.narrow is None else f" of a length {'up to' if self.narrow else 'above'} {self.axis.narrow}"
        return f"{self.left}{' or more' if self.more else ''} left along {self.axis.axis}{size}"


def remainders(axis: TiledAxis) -> list[Cut]:
    """Return what may be left for a block: up to its tile, or to its reach, and more."""
    most = max(axis.tile, axis.reach)
    found = [*(Cut(axis, left) for left in range(axis.step, most + 1, axis.step)), Cut(axis, most, more=True)]
    if not axis.narrow:
        return found
    return [
        replace(each, narrow=told) for each in found for told in (True, False) if each.left <= axis.narrow or not told
    ]


class NotTiled(Exception):
    """A kernel that cannot be looked at in this way, and why."""


class Window:
    """One array as each block sees it: dimensions one by one while rows have varying lengths, then the rest as one.

    A block sees as far as its reach, or to the end of its tile's inputs. `sizes` are the extents in the window, in
    elements. For each remainder `bounds` says how many there are, and whether the array ends there, `own` how many are
    the block's, `strides` how far one is from the next, and `begins` where the window begins.
    """

    def __init__(self, parameter: Parameter, tiling: Tiling, cuts: Sequence[Mapping[Axis, Cut]]) -> None:
        self.parameter, self.spans = parameter, tiling.spans[parameter.name]
        varying = [number for number, span in enumerate(self.spans) if span is not None and number > 0]
        self.levels = max(varying, default=0) + 1
        tiles = {each.axis: each.tile for each in tiling.axes}
        seen = {each.axis: max(each.tile, each.reach) for each in tiling.axes}
        pairs = list(zip(parameter.shape, self.spans, strict=True))
        self.shape = tuple(extent if s is None else s.scale * seen[s.axis] + s.halo for extent, s in pairs)
        if any(s is not None and s.scale * tiles[s.axis] + s.halo > extent for extent, s in pairs):
            raise NotTiled(f"{parameter.name} of the sketch is smaller than what one block sees")
        if parameter.role != "in" and any(s is not None and s.halo for s in self.spans) and parameter.role != "const":
            raise NotTiled(f"{parameter.name} has elements that belong to no block")
        self.sizes = self._levels(self.shape)
        self.pitched = tuple(-(-size // _PITCH) * _PITCH if place else size for place, size in enumerate(self.sizes))
        self.bounds: list[list[tuple[int, bool]]] = []
        self.own: list[tuple[int, ...]] = []
        self.strides: list[list[Polynomial]] = []
        self.begins: list[Polynomial] = []
        for cut in cuts:
            self._see(pairs, cut)

    def _levels(self, extents: Sequence[int]) -> tuple[int, ...]:
        return *extents[: self.levels - 1], prod(extents[self.levels - 1 :])

    def _see(self, pairs: Sequence[tuple[int, Span | None]], cut: Mapping[Axis, Cut]) -> None:
        """Add what is seen for one remainder along each axis."""
        extents, begins = list[Polynomial](), list[Polynomial]()
        bounds, own = list[tuple[int, bool]](), list[int]()
        for extent, span in pairs:
            if span is None:
                extents.append({(): extent})
                bounds.append((extent, True))
                own.append(extent)
                begins.append({})
            else:
                here = cut[span.axis]
                extents.append(plus({(): span.halo}, here.length(), span.scale))
                bounds.append((span.scale * here.left + span.halo, not here.more))
                own.append(span.scale * here.own)
                begins.append({(f"block {span.axis}",): span.scale * here.axis.tile})
        rest = prod(self.parameter.shape[self.levels :])
        strides: list[Polynomial] = [{(): 1}]
        for place in range(self.levels - 1, 0, -1):
            row = product(extents[place], {(): rest}) if place == self.levels - 1 else extents[place]
            strides.insert(0, product(strides[0], row))
        begin: Polynomial = {}
        for place, stride in enumerate(strides):
            of_row = product(begins[place], {(): rest}) if place == self.levels - 1 else begins[place]
            begin = plus(begin, product(of_row, stride))
        last = bounds[self.levels - 1]
        self.bounds.append([*bounds[: self.levels - 1], (last[0] * rest, last[1])])
        self.own.append(self._levels(own))
        self.strides.append(strides)
        self.begins.append(begin)

    @property
    def cells(self) -> int:
        return prod(self.pitched)

    def cell(self, index: Sequence[int]) -> int:
        """Return where an element stands in the window."""
        flat = flat_index(self.shape[self.levels - 1 :], tuple(index[self.levels - 1 :]))
        found: int = flat_index(self.pitched, (*index[: self.levels - 1], flat))
        return found

    def owned(self, cut: Mapping[Axis, Cut]) -> Iterator[tuple[int, ...]]:
        """Yield the elements that are a block's own, and within the array."""
        pairs = zip(self.shape, self.spans, strict=True)
        return itertools.product(*(range(e if s is None else s.scale * cut[s.axis].own) for e, s in pairs))

    def locate(self, offset: Polynomial, cut: int, count: int, *, writes: bool) -> int:
        """Return the cell at an offset in elements, and of the next `count`; raise NotInterpreted for one that is none
        of the block's part, Broken for one behind the array's end."""
        rest, found = plus(offset, self.begins[cut], -1), []
        for stride in self.strides[cut][:-1]:
            leading = max((m for m in stride if m), key=lambda m: (len(m), m))
            number, more = divmod(rest.get(leading, 0), stride[leading])
            rest = plus(rest, stride, -number)
            found.append(number)
            if more:
                break
        if any(rest):
            raise NotInterpreted(f"the element {show(offset)} of {self.parameter.name}, not moved with its block")
        found.append(rest.get((), 0))
        for place, number in enumerate(found):
            end = number + (count if place == len(found) - 1 else 1)
            bound, ends = self.bounds[cut][place]
            if number < 0 or end > bound or (writes and end > self.own[cut][place]):
                where = f"element {found} of a block's part of {self.parameter.name}"
                if place == 0 and ends and end > bound:
                    raise Broken(f"{where}, which has {bound} there, out of bounds")
                raise NotInterpreted(f"{where}, which is not in it")
        cell: int = flat_index(self.pitched, tuple(found))
        return cell


class TileRegisters(Registers):
    """Registers that may hold index values with variables, as terms from INDEX on."""

    indices: Indices
    totals: Lanes

    def numbers(self, value: Register) -> tuple[Bits, npt.NDArray[np.bool_]]:
        bits, terms = value
        steers = terms >= INDEX
        if steers.any():
            each, place = np.unique(terms[steers], return_inverse=True)
            parts = [self.indices.polynomial((0, number)).get((), 0) for number in each.tolist()]
            bits = bits.copy()
            bits[steers] = np.array(parts, np.int64).astype(np.uint64)[place]
        return bits, (terms != 0) & ~steers

    def read(self, operand: Operand, kind: str, at: Lanes) -> Register:
        if isinstance(operand, Name) and operand.text.startswith("%ctaid."):
            bits, number = self.indices.value(variable(f"block {operand.text[-1]}"), 32)
            if f"block {operand.text[-1]}" in self.indices.most:
                return np.full(len(at), bits, np.uint64), np.full(len(at), number, np.int64)
            return np.zeros(len(at), np.uint64), np.zeros(len(at), np.int64)
        if isinstance(operand, Name) and operand.text.startswith("%nctaid."):
            raise NotInterpreted("the number of blocks")
        return super().read(operand, kind, at)

    def known(self, instruction: Instruction, value: Register, at: Lanes, what: str) -> Bits:
        self.no_index(value, f"{instruction}: {what}")
        return super().known(instruction, value, at, what)

    def no_index(self, value: Register, what: str) -> None:
        """Refuse a value that depends on which block it is in."""
        if (value[1] >= INDEX).any():
            number = int(value[1][value[1] >= INDEX][0])
            raise NotInterpreted(f"{what} that is {show(self.indices.polynomial((0, number)))}")

    def computed(self, operation: Operation, values: list[Register], at: Lanes) -> Register:
        steers = np.zeros(len(at), np.bool_)
        for _, terms in values:
            steers |= terms >= INDEX
        if not steers.any() or (operation.name == "selp" and not values[2][1].any()):
            return super().computed(operation, values, at)
        if operation.name == "selp":
            self.no_index(values[2], "a choice by a predicate")
        bits, found = np.zeros(len(at), np.uint64), np.zeros(len(at), np.int64)
        if not steers.all():
            some = [(b[~steers], t[~steers]) for b, t in values]
            bits[~steers], found[~steers] = super().computed(operation, some, at[~steers])
        columns = []
        for b, t in values:
            if ((t[steers] != 0) & (t[steers] < INDEX)).any():
                raise NotInterpreted(f"{operation.name} of data and a block's number")
            columns.append(zip(b[steers].tolist(), t[steers].tolist(), strict=True))
        cuts = self.totals[at[steers]].tolist()
        rows = [self.indices.evaluate(operation, row, cut) for *row, cut in zip(*columns, cuts, strict=True)]
        bits[steers], found[steers] = [b for b, _ in rows], [t for _, t in rows]
        return bits, found

    def packed(self, parts: list[Register], size: int) -> Register:
        for part in parts:
            self.no_index(part, "a half of a register")
        return super().packed(parts, size)

    def unpacked(self, value: Register, size: int, count: int) -> list[Register]:
        self.no_index(value, "a register taken apart")
        return super().unpacked(value, size, count)


class TileTransfers(Transfers):
    """Loads and stores by way of windows; `cut_of` is the remainder that each thread's block has."""

    windows: Mapping[str, tuple[Window, Region]]
    cut_of: Lanes

    def addresses(self, instruction: Instruction, operand: Operand, at: Lanes) -> Lanes:
        how = form(instruction.op)
        assert how is not None and isinstance(operand, Address)
        if how.space not in (None, "global") or operand.base in self.registers.symbols:
            return super().addresses(instruction, operand, at)
        bits, terms = self.registers.read(Name(operand.base), "u64", at)
        if ((terms != 0) & (terms < INDEX)).any():
            return super().addresses(instruction, operand, at)
        rows = list(zip(bits.tolist(), terms.tolist(), self.cut_of[at].tolist(), strict=True))
        known = {row: self._located(instruction, row[:2], row[2], operand.offset, how) for row in set(rows)}
        return np.array([known[row] for row in rows], np.int64)

    def _located(self, instruction: Instruction, value: Value, cut: int, add: int, how: InstructionForm) -> int:
        """Return an address as one of a window's copy; one that is in no window stays what it is."""
        assert isinstance(self.registers, TileRegisters)
        address = plus(self.registers.indices.polynomial(value), {(): add})
        for window, region in self.windows.values():
            offset = plus(address, {(): -region.base})
            if abs(offset.get((), 0)) < 1 << 39:
                size = width(how.kind) // 8
                if any(each % (size * how.count) for each in offset.values()):
                    raise Broken(f"{instruction}: {show(offset)} bytes into {region.name}, which is not a multiple")
                if size % region.cell:
                    raise NotInterpreted(f"{instruction}, an access to a part of an element of {region.name}")
                elements = {monomial: each // region.cell for monomial, each in offset.items()}
                count, writes = size * how.count // region.cell, instruction.op[0] == "st"
                try:
                    return region.base + region.cell * window.locate(elements, cut, count, writes=writes)
                except (Broken, NotInterpreted) as error:
                    raise type(error)(f"{instruction}: {error}") from None
        if any(address):
            raise NotInterpreted(f"{instruction}, an address that is {show(address)}")
        return address.get((), 0)

    def store(self, instruction: Instruction, place: int, at: Lanes) -> None:
        assert isinstance(self.registers, TileRegisters)
        source = instruction.operands[1]
        for item in source.items if isinstance(source, Group) else (source,):
            self.registers.no_index(self.registers.read(item, "b64", at), f"{instruction}: a value")
        super().store(instruction, place, at)


class TileMachine(PtxMachine):
    """One run of a block for each remainder."""

    def __init__(
        self, kernel: Kernel, tiles: TileValidator, deferred: Notes, operators: Mapping[str, Operation], dynamic: int
    ) -> None:  # fmt: skip
        self.tiles = tiles
        lengths = [0 for _ in tiles.tiling.axes]
        super().__init__(kernel, tiles.shape, [*tiles.arguments, *lengths], deferred, operators, dynamic)
        symbols = self.registers.symbols
        registers = TileRegisters(self.shape, self.memory, deferred, kernel.registers)
        registers.symbols, registers.indices = symbols, tiles.indices
        if whole := [each for each in self.kernel.instructions if each.op[0] in (*MATRICES, "cp")]:
            raise NotInterpreted(f"{whole[0]}, for every length")
        self.registers, self.transfers = registers, TileTransfers(registers, self.parameters, self.kinds)
        self.transfers.cut_of = self.shape.block_of
        registers.totals = np.array(tiles.totals)[self.shape.block_of]
        self.transfers.windows = {name: (window, self.arrays[name]) for name, window in tiles.windows.items()}
        for (name, _), axis in zip(kernel.parameters[len(tiles.arguments) :], tiles.tiling.axes, strict=True):
            values = [tiles.indices.value(cut[axis.axis].length()) for cut in tiles.cuts]
            bits, terms = (np.array(column)[self.shape.block_of] for column in zip(*values, strict=True))
            self.parameters[name] = bits.astype(np.uint64), terms.astype(np.int64)

    def _place(self, argument: LaunchArray) -> int:
        cell = width(argument.kind) // 8
        copies = self.shape.blocks if argument.writable else 1
        bits = np.tile(argument.bits, copies)
        terms = np.tile(argument.terms if argument.filled else np.full(len(argument.bits), NEVER), copies)
        region = self.memory.add(
            argument.name, "global", len(argument.bits) * cell, cell, bits, terms, argument.writable,
            of_block=argument.writable, align=argument.align,
        )  # fmt: skip
        self.arrays[argument.name] = region
        return region.base


class TileValidator:
    """Validates kernels for any length against what a specification says of the sketch's own lengths.

    That the specification says the same of every block, moved, is shown elsewhere (`swizzle.emit.any_length`). Raises
    NotTiled where a kernel cannot be looked at in this way.
    """

    def __init__(
        self,
        program: Program,
        tiling: Tiling,
        wanted: Mapping[str, Sequence[Term]],
        written: WrittenOut,
        alignment: Sequence[int] | None = None,
    ) -> None:
        self.program, self.tiling, self.wanted, self.written = program, tiling, wanted, written
        axes = {each.axis for each in tiling.axes}
        if any(size > 1 for axis, size in zip("xyz", program.grid, strict=True) if axis not in axes):
            raise NotTiled("its grid has several blocks along an axis that is not tiled")
        cuts = list(map(remainders, tiling.axes))
        count = prod(map(len, cuts))
        self.shape = LaunchShape(program.block, (count, 1, 1), HARDWARE_WARP)
        if self.shape.count > MOST_THREADS:
            raise NotTiled(f"its blocks may be cut in {count} ways")
        self.cuts = [{cut.axis.axis: cut for cut in each} for each in itertools.product(*cuts)]
        most = {f"block {each.axis}": MOST_BLOCKS[each.axis] - 1 for each in tiling.axes}
        most |= {f"rest {each.axis}": each.tile * MOST_BLOCKS[each.axis] for each in tiling.axes}
        totals = [tuple(total for cut in each.values() if (total := cut.total())) for each in self.cuts]
        self.indices = Indices(most, list(dict.fromkeys(totals)))
        self.totals = list(map(self.indices.totals.index, totals))
        self.windows = {p.name: Window(p, tiling, self.cuts) for p in program.parameters if not p.is_scalar}
        pairs = zip(program.parameters, alignments(program, alignment), strict=True)
        self.arguments = [self._argument(parameter, align) for parameter, align in pairs]

    def _argument(self, parameter: Parameter, align: int) -> LaunchArray | LaunchScalar:
        if parameter.is_scalar:
            return LaunchScalar(KIND_OF[parameter.dtype], self.written.terms.atom(parameter.name, 0))
        window, given = self.windows[parameter.name], parameter.role != "out"
        atoms = np.full(window.cells, NEVER, np.int64)
        for index in itertools.product(*map(range, window.shape)) if given else ():
            declared = all(i < extent for i, extent in zip(index, parameter.shape, strict=True))
            cell = window.cell(index)  # what the sketch has not is an element that its outputs do not have either
            flat = flat_index(parameter.shape, index) if declared else prod(parameter.shape) + cell
            atoms[cell] = self.written.terms.atom(parameter.name, flat)
        bits, writable = np.zeros(window.cells, np.uint64), parameter.role in ("out", "inout")
        return LaunchArray(parameter.name, KIND_OF[parameter.dtype], bits, atoms, given, writable, align)

    def validate(self, ptx: str, entry: str, shared_bytes: int = 0) -> Validation:
        """Compare the kernel `entry` of a PTX module, which takes the program's parameters, then its lengths, and so
        many bytes of dynamic shared memory."""
        outputs = sum(p.role in ("out", "inout") for p in self.program.parameters)
        try:
            kernel = kernel_of(ptx, entry)
            known = recognised(kernel, self.program)
            machine = TileMachine(kernel, self, self.written.deferred, known, shared_bytes)
            machine.run()
        except NotInterpreted as error:
            return Validation("unknown", outputs, (f"not interpreted: {error}",))
        except Broken as error:
            return Validation("different", outputs, (str(error),), broken=True)
        if races := tuple(machine.races()):
            return Validation("different", outputs, races[:SHOWN], broken=True)
        findings = list(itertools.islice(self._differences(machine), SHOWN))
        return Validation("different" if findings else "equal", outputs, tuple(findings), everywhere=True)

    def _differences(self, machine: TileMachine) -> Iterator[str]:
        for parameter in self.program.parameters:
            if parameter.role not in ("out", "inout"):
                continue
            window, (bits, terms) = self.windows[parameter.name], machine.contents(parameter.name)
            for number, cut in enumerate(self.cuts):
                for index in window.owned(cut):
                    cell = number * window.cells + window.cell(index)
                    address = flat_index(parameter.shape, index)
                    want = self.wanted[parameter.name][address]
                    found = output_difference(machine, self.written, parameter, int(bits[cell]), int(terms[cell]), want)
                    if found:
                        name = cell_name(parameter.name, parameter.shape, address)
                        yield f"of a block with {', '.join(map(str, cut.values()))}, {name} {found}"
