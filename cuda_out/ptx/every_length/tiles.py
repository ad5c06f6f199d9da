"""Translation validation of a kernel for any length: every block of every length, in one run.

What a block does depends on a length only by how much of it is left for the block, up to what it accesses at most. So
one run holds a block for each such remainder, and one with more behind it, along each tiled axis; what is left open are
the block's number, and how long the array is behind an inner block. Both are variables of index values
(`cuda_out.ptx.instructions.indices`), without bounds but those of a launch. Each array is seen through a `Window`, the
block's own part and what it reads around it: an address must be the beginning of that part plus an index that depends
on the thread alone, whatever the variables are. What a block leaves in its part must be the specification's terms for
block 0, moved. Where blocks ask how much is before them, the first ones are looked at apart from the others, and told
what to leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from cuda_out.ptx.columns import NEVER, is_data, is_index, is_known, is_unwritten
from cuda_out.ptx.every_length.windows import (
    MOST_BLOCKS,
    Cut,
    NotMoved,
    NotTiled,
    Window,
    block_of,
    length_of,
    remainders,
)
from cuda_out.ptx.instructions.indices import Case, Indices, Value, at_case
from cuda_out.ptx.instructions.operation import InstructionForm, Operation
from cuda_out.ptx.instructions.polynomials import Polynomial, plus, show
from cuda_out.ptx.instructions.table import form
from cuda_out.ptx.kinds import KIND_OF, Bits, width
from cuda_out.ptx.running.arguments import LaunchArgument, LaunchArray, LaunchScalar
from cuda_out.ptx.running.async_copies import AsyncCopies
from cuda_out.ptx.running.branches import BranchingMachine
from cuda_out.ptx.running.machine import of_one_length
from cuda_out.ptx.running.memory import Broken, Lanes, Region
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.running.operators import recognised
from cuda_out.ptx.running.registers import Register, Registers
from cuda_out.ptx.running.run import kernel_of
from cuda_out.ptx.running.transfers import Transfers
from cuda_out.ptx.running.validate import SHOWN, Validation, WrittenOut, alignments, elements_of, output_difference
from cuda_out.ptx.syntax import Address, Group, Instruction, Kernel, Name, NotInterpreted, Operand
from cuda_out.tiling.tiling import TiledAxis, Tiling
from symbolic.algebra.terms import Term, Terms
from symbolic.ir.index import cell_name, flat_index
from symbolic.ir.program import LANES, Axis, Parameter, Program
from symbolic.machine.launch_shape import LaunchShape

MOST_THREADS: Final = 1 << 21
"""Threads that all runs may have, for all remainders together."""
AT_ONCE: Final = 1 << 16
"""Threads of one run, which holds as many blocks."""


Said: TypeAlias = Callable[
    [Mapping[Axis, Cut], str, tuple[int, ...], Terms, Callable[[str, tuple[int, ...]], Term]], Term
]
"""From a block's cut along each axis, an output and an index in its part to a term over elements counted from there."""


class TileRegisters(Registers):
    """Registers that may hold index values with variables, as terms from INDEX on."""

    indices: Indices
    case_of: Lanes
    blocks: Mapping[str, Polynomial]
    """The number of a block along each tiled axis."""
    counts: Mapping[str, Bits]
    """For each case how many blocks there are along each tiled axis, where that is a number."""

    def numbers(self, value: Register) -> tuple[Bits, npt.NDArray[np.bool_]]:
        bits, terms = value
        steers = is_index(terms)
        if steers.any():
            each, place = np.unique(terms[steers], return_inverse=True)
            parts = [self.indices.polynomial((0, number)).get((), 0) for number in each.tolist()]
            bits = bits.copy()
            bits[steers] = np.array(parts, np.int64).astype(np.uint64)[place]
        return bits, ~is_known(terms) & ~steers

    def read(self, operand: Operand, kind: str, at: Lanes) -> Register:
        if isinstance(operand, Name) and operand.text.startswith("%ctaid."):
            if (own := self.blocks.get(operand.text[-1])) is not None:
                bits, number = self.indices.value(own, 32)
                return np.full(len(at), bits, np.uint64), np.full(len(at), number, np.int64)
            return np.zeros(len(at), np.uint64), np.zeros(len(at), np.int64)
        if isinstance(operand, Name) and operand.text.startswith("%nctaid."):
            if (counts := self.counts.get(operand.text[-1])) is not None:
                return counts[self.case_of[at]], np.zeros(len(at), np.int64)
            raise NotInterpreted("the number of blocks")
        return super().read(operand, kind, at)

    def known(self, instruction: Instruction, value: Register, at: Lanes, what: str) -> Bits:
        return super().known(instruction, self.no_index(value, at, f"{instruction}: {what}"), at, what)

    def no_index(self, value: Register, at: Lanes, what: str) -> Register:
        """Return a value in the case of each thread; refuse one that depends on which block it is in."""
        value = self.settled(value, at)
        self._refuse(value, what)
        return value

    def _refuse(self, value: Register, what: str) -> None:
        if is_index(value[1]).any():
            number = int(value[1][is_index(value[1])][0])
            raise NotInterpreted(f"{what} that is {show(self.indices.polynomial((0, number)))}")

    def settled(self, value: Register, at: Lanes) -> Register:
        """Return a value in the case of each thread."""
        steers = is_index(value[1])
        if not steers.any():
            return value
        bits, terms = value[0].copy(), value[1].copy()
        places, rows, cases = self._by_case([(bits[steers], terms[steers])], at[steers])
        each = [self.indices.settled(row[0], case) for row, case in zip(rows, cases, strict=True)]
        bits[steers] = np.array([b for b, _ in each], np.uint64)[places]
        terms[steers] = np.array([t for _, t in each], np.int64)[places]
        return bits, terms

    def computed(self, operation: Operation, values: list[Register], at: Lanes) -> Register:
        steers = np.zeros(len(at), np.bool_)
        for _, terms in values:
            steers |= is_index(terms)
        if not steers.any() or (operation.name == "selp" and not values[2][1].any()):
            return super().computed(operation, values, at)
        if operation.name == "selp":
            self.no_index(values[2], at, "a choice by a predicate")
        bits, found = np.zeros(len(at), np.uint64), np.zeros(len(at), np.int64)
        if not steers.all():
            bits[~steers], found[~steers] = super().computed(operation, _at(values, ~steers), at[~steers])
        some = np.flatnonzero(steers)
        rows, places = _distinct(_at(values, steers))
        data = [any(is_data(term) or is_unwritten(term) for _, term in row) for row in rows]
        results = [
            None if mixed else self.indices.of_all(operation, row) for mixed, row in zip(data, rows, strict=True)
        ]
        apart = np.array([each is None for each in results])
        bits[some] = np.array([each[0] if each else 0 for each in results], np.uint64)[places]
        found[some] = np.array([each[1] if each else 0 for each in results], np.int64)[places]
        some = some[apart[places]]
        if len(some):
            bits[some], found[some] = self._of_cases(operation, _at(values, some), at[some])
        return bits, found

    def _of_cases(self, operation: Operation, values: list[Register], at: Lanes) -> Register:
        """Compute an operation in the case of each thread."""
        values = [self.settled(value, at) for value in values]
        steers, data = np.zeros(len(at), np.bool_), np.zeros(len(at), np.bool_)
        for _, terms in values:
            steers |= is_index(terms)
            data |= is_data(terms) | is_unwritten(terms)
        if (steers & data).any():
            raise NotInterpreted(f"{operation.name} of data and a block's number")
        bits, found = np.zeros(len(at), np.uint64), np.zeros(len(at), np.int64)
        if not steers.all():
            bits[~steers], found[~steers] = super().computed(operation, _at(values, ~steers), at[~steers])
        if steers.any():
            places, rows, cases = self._by_case(_at(values, steers), at[steers])
            each = [self.indices.evaluate(operation, row, case) for row, case in zip(rows, cases, strict=True)]
            bits[steers] = np.array([b for b, _ in each], np.uint64)[places]
            found[steers] = np.array([t for _, t in each], np.int64)[places]
        return bits, found

    def _by_case(self, values: list[Register], at: Lanes) -> tuple[Lanes, list[tuple[Value, ...]], list[int]]:
        """Return the distinct rows of values, each with a case that says what is said of its variables, and for each
        thread the place of its own."""
        rows, places = _distinct(values)
        cases = self.case_of[at]
        of_row = [self.indices.variables(row) for row in rows]
        kinds = {each: number for number, each in enumerate(dict.fromkeys(of_row))}
        alike = np.array([self.indices.alike(each) for each in kinds], np.int64)
        cases = alike[np.array([kinds[each] for each in of_row])[places], cases]
        _, first, found = np.unique(places * len(self.indices.cases) + cases, return_index=True, return_inverse=True)
        return found.reshape(-1), [rows[place] for place in places[first].tolist()], cases[first].tolist()

    def packed(self, parts: list[Register], size: int) -> Register:
        for part in parts:
            self._refuse(part, "a half of a register")
        return super().packed(parts, size)

    def unpacked(self, value: Register, size: int, count: int) -> list[Register]:
        self._refuse(value, "a register taken apart")
        return super().unpacked(value, size, count)


def _at(values: list[Register], where: npt.NDArray[Any]) -> list[Register]:
    return [(bits[where], terms[where]) for bits, terms in values]


def _distinct(values: list[Register]) -> tuple[list[tuple[Value, ...]], Lanes]:
    """Return the distinct rows of some registers, and for each thread the place of its own."""
    codes = np.zeros(len(values[0][0]), np.int64)
    for column in (column for value in values for column in value):
        if (column != column[:1]).any():
            each, place = np.unique(column, return_inverse=True)
            _, codes = np.unique(codes * len(each) + place.reshape(-1), return_inverse=True)
            codes = codes.reshape(-1)
    _, first = np.unique(codes, return_index=True)
    columns = [zip(bits[first].tolist(), terms[first].tolist(), strict=True) for bits, terms in values]
    return list(zip(*columns, strict=True)), codes


class TileTransfers(Transfers):
    """Loads and stores by way of windows; `cut_of` is the remainder that each thread's block has."""

    atomic_by_data = frozenset(("shared",))
    windows: Mapping[str, tuple[Window, Region]]
    fixed: Sequence[Mapping[str, int]]
    cut_of: Lanes

    def addresses(
        self, instruction: Instruction, operand: Operand, at: Lanes, how: InstructionForm | None = None
    ) -> Lanes:
        how = how or form(instruction.op)
        assert how is not None and isinstance(operand, Address) and isinstance(self.registers, TileRegisters)
        if how.space not in (None, "global") or operand.base in self.registers.symbols:
            return super().addresses(instruction, operand, at)
        bits, terms = self.registers.read(Name(operand.base), "u64", at)
        if (is_data(terms) | is_unwritten(terms)).any():
            return super().addresses(instruction, operand, at)
        rows, places = _distinct([(bits, terms)])
        found = np.zeros(len(at), np.int64)
        order = np.argsort(places, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(places[order])) + 1) if len(at) else []
        for (value,), some in zip(rows, groups, strict=True):
            found[some] = self._located(instruction, value, self.cut_of[at[some]], operand.offset, how)
        return found

    def _located(self, instruction: Instruction, value: Value, cuts: Lanes, add: int, how: InstructionForm) -> Lanes:
        """Return an address, for blocks with some remainders, as those of a window's copy; one that is in no window
        stays what it is."""
        assert isinstance(self.registers, TileRegisters)
        address = plus(self.registers.indices.polynomial(value), {(): add})
        for window, region in self.windows.values():  # noqa: B007
            offset = plus(address, {(): -region.base})
            if abs(offset.get((), 0)) < 1 << 39:
                break
        else:
            known = {cut: at_case(address, self.fixed[cut]) for cut in np.unique(cuts).tolist()}
            for here in known.values():
                if any(here):
                    raise NotInterpreted(f"{instruction}, an address that is {show(here)}")
            return np.array([known[cut].get((), 0) for cut in cuts.tolist()], np.int64)
        size = width(how.kind) // 8
        if size % region.cell:
            raise NotInterpreted(f"{instruction}, an access to a part of an element of {region.name}")
        count, writes = size * how.count // region.cell, instruction.op[0] == "st"

        def located(fixed: Mapping[str, int]) -> tuple[int, ...] | None:
            here = at_case(offset, fixed)
            if any(each % (size * how.count) for each in here.values()):
                return None
            return window.located({monomial: each // region.cell for monomial, each in here.items()}, fixed)

        def apart(these: Lanes) -> Lanes:
            found = {cut: located(self.fixed[cut]) for cut in np.unique(these).tolist()}
            for cut, element in found.items():
                if element is None:
                    here = at_case(offset, self.fixed[cut])
                    if any(part % (size * how.count) for part in here.values()):
                        raise Broken(f"{instruction}: {show(here)} bytes into {region.name}, which is not a multiple")
                    elements = show({monomial: part // region.cell for monomial, part in here.items()})
                    raise NotMoved(f"{instruction}: the element {elements} of {region.name}, not moved with its block")
            return np.array([found[cut] for cut in these.tolist()], np.int64)

        one = located({})
        numbers = apart(cuts) if one is None else np.tile(np.array(one, np.int64), (len(cuts), 1))
        outside = window.outside(numbers, cuts, count, writes=writes)
        if one is not None and outside.any():  # where the length is a number, so is the distance between rows
            numbers[outside] = apart(cuts[outside])
            outside = window.outside(numbers, cuts, count, writes=writes)
        if outside.any():
            bad = int(np.flatnonzero(outside)[0])
            error = window.why_outside(numbers[bad].tolist(), int(cuts[bad]), count)
            there, most = (at_case(each, self.fixed[cuts[bad]]) for each in (offset, window.count))
            if not any((*there, *most)) and not 0 <= there.get((), 0) // region.cell <= most[()] - count:
                element = there.get((), 0) // region.cell
                error = Broken(f"{region.name}[{element}], out of bounds: it has {most[()]} elements")
            raise type(error)(f"{instruction}: {error}")
        cells = np.zeros(len(cuts), np.int64)
        for place, extent in enumerate(window.pitched):
            cells = cells * extent + numbers[:, place] + window.low_levels[place]
        return region.base + region.cell * cells

    def move(self, instruction: Instruction, at: Lanes) -> None:
        _, source = instruction.operands
        if any(isinstance(operand, Group) for operand in instruction.operands):
            self._settle(source, at)
        super().move(instruction, at)

    def store(self, instruction: Instruction, place: int, at: Lanes) -> None:
        assert isinstance(self.registers, TileRegisters)
        for item in self._settle(instruction.operands[1], at):
            self.registers.no_index(self.registers.read(item, "b64", at), at, f"{instruction}: a value")
        super().store(instruction, place, at)

    def _settle(self, operand: Operand, at: Lanes) -> Sequence[Operand]:
        """Make each register of an operand what it is in the case of its thread; return them."""
        assert isinstance(self.registers, TileRegisters)
        items = operand.items if isinstance(operand, Group) else (operand,)
        for item in items:
            if isinstance(item, Name) and item.text in self.registers.registers and not item.negated:
                self.registers.write(item, self.registers.settled(self.registers.read(item, "b64", at), at), at)
        return items


class TileMachine(BranchingMachine):
    """One run of a block for each of some remainders, which `cuts` numbers."""

    parts: tuple[type[TileRegisters], type[TileTransfers]] = TileRegisters, TileTransfers

    def __init__(
        self, kernel: Kernel, tiles: TileValidator, cuts: Lanes, deferred: Notes, operators: Mapping[str, Operation],
        dynamic: int,
    ) -> None:  # fmt: skip
        self.tiles, self.cuts = tiles, cuts
        shape = LaunchShape(tiles.program.block, (len(cuts), 1, 1), LANES)
        lengths = [0 for _ in tiles.taken]
        super().__init__(kernel, shape, [*tiles.arguments, *lengths, *tiles.trailing], deferred, operators, dynamic)
        symbols = self.registers.symbols
        registers = self.parts[0](self.shape, self.memory, deferred, kernel.registers)
        registers.symbols, registers.indices, registers.counts = symbols, tiles.indices, {}
        if warps := [each for each in self.kernel.instructions if of_one_length(each) and each.op[0] != "cp"]:
            raise NotInterpreted(f"{warps[0]}, for every length")
        registers.blocks = {axis.axis: block_of(axis.axis, tiles.is_first(axis)) for axis in tiles.tiling.axes}
        whole = self.transfers.whole
        self.registers, self.transfers = registers, self.parts[1](registers, self.parameters, self.kinds)
        self.copies = AsyncCopies(self.transfers)
        self.transfers.whole = whole  # of which no half is taken: a length stays open
        registers.case_of = self.transfers.cut_of = cuts[self.shape.block_of]
        self.transfers.fixed = [case.fixed for case in tiles.indices.cases]
        self.transfers.windows = {name: (window, self.arrays[name]) for name, window in tiles.windows.items()}
        names = kernel.parameters[len(tiles.arguments) :][: len(tiles.taken)]
        for (name, _), axis in zip(names, tiles.taken, strict=True):
            bits, term = tiles.indices.value(length_of(axis, tiles.is_first(axis)))
            self.parameters[name] = (
                np.full(self.shape.count, bits, np.uint64),
                np.full(self.shape.count, term, np.int64),
            )

    def _place(self, argument: LaunchArray, space: str = "global") -> int:
        cell = width(argument.kind) // 8
        copies = self.shape.blocks if argument.writable else 1
        bits = np.tile(argument.bits, copies)
        terms = np.tile(argument.terms if argument.filled else np.full(len(argument.bits), NEVER), copies)
        region = self.memory.add(
            argument.name, space, len(argument.bits) * cell, cell, bits, terms, argument.writable,
            of_block=argument.writable, align=argument.align,
        )  # fmt: skip
        self.arrays[argument.name] = region
        return region.base


class TileValidator:
    """Validates kernels for any length against what a specification says of the sketch's own lengths.

    That the specification says the same of every block, moved, is shown elsewhere (`answers.emit.any_length`). Where it
    treats the ends of arrays apart, `said` tells what it says of a block, and `first` whether blocks are looked at that
    are the first along each axis. `trailing` are lengths that the kernel takes behind those of its grid, and which are
    numbers here, as one along loops is. Raises NotTiled where a kernel cannot be looked at in this way.
    """

    machine: type[TileMachine] = TileMachine

    def __init__(
        self,
        program: Program,
        tiling: Tiling,
        wanted: Mapping[str, Sequence[Term]],
        written: WrittenOut,
        alignment: Sequence[int] | None = None,
        said: Said | None = None,
        first: Mapping[Axis, bool] | None = None,
        trailing: Sequence[int | np.generic] = (),
    ) -> None:
        self.program, self.tiling, self.wanted, self.written = program, tiling, wanted, written
        self.said, self.first, self.trailing = said, first, trailing
        assert (said is None) == (first is None) == (not any(each.edges for each in tiling.axes)), (
            "edges are told apart"
        )
        self.taken = tiling.axes
        if tiling.of_loops:
            raise NotTiled("its loops run as far as a length says")
        axes = {each.axis for each in tiling.axes}
        if any(size > 1 for axis, size in zip("xyz", program.grid, strict=True) if axis not in axes):
            raise NotTiled("its grid has several blocks along an axis that is not tiled")
        remaining = [self._remainders(each) for each in tiling.axes]
        self.at_once = max(1, AT_ONCE // prod(program.block))
        if (ways := prod(map(len, remaining))) * prod(program.block) > MOST_THREADS:
            raise NotTiled(f"its blocks may be cut in {ways} ways")
        self.cuts = [{cut.axis.axis: cut for cut in each} for each in self._together(remaining)]
        most = {f"block {each.axis}": MOST_BLOCKS[each.axis] - 1 for each in tiling.axes}
        most |= {f"no block {each.axis}": 0 for each in tiling.axes}
        most |= {f"rest {each.axis}": each.tile * MOST_BLOCKS[each.axis] for each in tiling.axes}
        most |= {f"left {each.axis}": max(each.tile, each.reach) for each in tiling.axes}
        self.indices = Indices(most, [self._case(each) for each in self.cuts])
        arrays = [p for p in program.parameters if not p.is_scalar and not p.by_value]
        self.windows = {p.name: Window(p, tiling, self.cuts, first) for p in arrays}
        pairs = zip(program.parameters, alignments(program, alignment), strict=True)
        self.arguments = [self._argument(parameter, align) for parameter, align in pairs]

    def _argument(self, parameter: Parameter, align: int) -> LaunchArgument:
        if parameter.by_value:
            return elements_of(parameter, self.written.terms)
        if parameter.is_scalar:
            return LaunchScalar(KIND_OF[parameter.dtype], self.written.terms.atom(parameter.name, 0))
        window, given = self.windows[parameter.name], parameter.role != "out"
        atoms = np.full(window.cells, NEVER, np.int64)
        for index in window.elements() if given else ():
            atoms[window.cell(index)] = self._atom(parameter.name, index)
        bits, writable = np.zeros(window.cells, np.uint64), parameter.role in ("out", "inout")
        return LaunchArray(parameter.name, KIND_OF[parameter.dtype], bits, atoms, given, writable, align)

    def _together(self, remaining: Sequence[Sequence[Cut]]) -> Iterator[tuple[Cut, ...]]:
        """Yield how blocks are cut along all axes together."""
        return itertools.product(*remaining)

    def _remainders(self, axis: TiledAxis) -> list[Cut]:
        return remainders(axis, self.is_first(axis))

    def _case(self, cuts: Mapping[Axis, Cut]) -> Case:
        fixed = {name: number for cut in cuts.values() for name, number in cut.fixed().items()}
        return Case(fixed, tuple(total for cut in cuts.values() if (total := cut.total())))

    def is_first(self, axis: TiledAxis) -> bool | None:
        return self.first[axis.axis] if self.first else None

    def _atom(self, name: str, index: tuple[int, ...]) -> Term:
        """Return the variable for an element, counted from the beginning of a block's part; or for a number."""
        if name not in self.windows:
            return self.written.terms.atom(name, 0)
        window, shape = self.windows[name], self.windows[name].parameter.shape
        declared = self.said is None and all(i < extent for i, extent in zip(index, shape, strict=True))
        if not all(0 <= i + low < e for i, low, e in zip(index, window.lows, window.shape, strict=True)):
            return self.written.terms.atom(f"{name}, afar,", 0)  # which no kernel can load
        # what the sketch has not is an element that its outputs do not have either
        flat = flat_index(shape, index) if declared else prod(shape) + window.cell(index)
        return self.written.terms.atom(name, flat)

    def validate(self, ptx: str, entry: str, shared_bytes: int = 0) -> Validation:
        """Compare the kernel `entry` of a PTX module, which takes the program's parameters, then its lengths, and so
        many bytes of dynamic shared memory."""
        outputs = sum(p.role in ("out", "inout") for p in self.program.parameters)
        try:
            kernel = kernel_of(ptx, entry)
            known = recognised(kernel, self.program)
            for first in range(0, len(self.cuts), self.at_once):
                cuts = np.arange(first, min(first + self.at_once, len(self.cuts)))
                machine = self.machine(kernel, self, cuts, self.written.deferred, known, shared_bytes)
                machine.run()
                if races := tuple(machine.races()):
                    return Validation("different", outputs, races[:SHOWN], broken=True)
                if findings := tuple(itertools.islice(self._differences(machine), SHOWN)):
                    return Validation("different", outputs, findings, everywhere=True)
        except NotInterpreted as error:
            return self._refused(error, outputs)
        except Broken as error:
            return Validation("different", outputs, (str(error),), broken=True)
        return Validation("equal", outputs, (), everywhere=True)

    def _refused(self, error: NotInterpreted, outputs: int) -> Validation:
        return Validation("unknown", outputs, (f"not interpreted: {error}",))

    def _differences(self, machine: TileMachine) -> Iterator[str]:
        for parameter in self.program.parameters:
            if parameter.role not in ("out", "inout"):
                continue
            window, forms = self.windows[parameter.name], machine.forms(parameter.name)
            most = window.owned.max(axis=0)
            index = np.indices(most).reshape(len(most), -1)
            cells = np.array([window.cell(each) for each in index.T.tolist()], np.int64)
            mine = np.ones((len(machine.cuts), len(cells)), np.bool_)
            for place, along in enumerate(index):
                mine &= along < window.owned[machine.cuts, place][:, None]
            block, element = np.nonzero(mine)
            at = block * window.cells + cells[element]
            apart = block if self.said else 0 * block  # blocks must leave the same, but for what is said of each
            asked = [(bits[at], terms[at]) for bits, terms in forms]
            rows, places = _distinct([*asked, (element.astype(np.uint64), apart)])
            _, first = np.unique(places, return_index=True)
            for (*readings, (number, _)), where in sorted(zip(rows, block[first].tolist(), strict=True), key=_second):
                address = flat_index(parameter.shape, tuple(index[:, number].tolist()))
                if self.said is None:
                    want = self.wanted[parameter.name][address]
                else:
                    local, cuts = tuple(index[:, number].tolist()), self.cuts[int(machine.cuts[where])]
                    want = self.said(cuts, parameter.name, local, self.written.terms, self._atom)
                if found := output_difference(machine, self.written, parameter, readings, want):
                    name = cell_name(parameter.name, parameter.shape, address)
                    cut = self.cuts[int(machine.cuts[where])]
                    yield f"of a block with {', '.join(map(str, cut.values()))}, {name} {found}"


def _second(pair: tuple[Any, int]) -> int:
    return pair[1]
