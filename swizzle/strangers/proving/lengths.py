"""Whether what is proved at one launch holds at every length: numbers of the launch that arrays and the grid follow.

Which of the kernel's numbers are lengths is guessed from the launch: a number is one along an axis of the grid if that
has as many blocks as some tile asks for, and dimensions of arrays follow it. Nothing rests on the guess: for each the
kernel's PTX is validated for every block of every length (`cuda_out.ptx.every_length.tiles`), the launch being as many
blocks as cover the lengths.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.ptx.columns import INDEX
from cuda_out.ptx.every_length.tiles import TileMachine, TileRegisters, TileTransfers, TileValidator
from cuda_out.ptx.every_length.windows import MOST_BLOCKS, Cut, NotTiled, length_of, remainders
from cuda_out.ptx.instructions.indices import Indices, Value
from cuda_out.ptx.instructions.operation import InstructionForm
from cuda_out.ptx.instructions.polynomials import Polynomial, plus, product_of, show
from cuda_out.ptx.kinds import KIND_OF, width
from cuda_out.ptx.running.arguments import LaunchArgument, LaunchArray
from cuda_out.ptx.running.memory import Broken, Lanes
from cuda_out.ptx.running.operators import recognised
from cuda_out.ptx.running.run import kernel_of
from cuda_out.ptx.syntax import Instruction, Kernel, NotInterpreted
from cuda_out.tiling.tiling import AXES, Span, TiledAxis, Tiling
from swizzle.answers.checking.trial import LaunchSize
from swizzle.answers.checking.validator import tile_validators
from swizzle.answers.emit.any_length.continuation import MeaningAt, NearEnds, NotEven, SharedTerms, by_block, meaning_at
from swizzle.answers.emit.filled import FilledKernel
from swizzle.language.specs.spec import Spec
from swizzle.strangers.proving.launched import LaunchedKernel
from swizzle.strangers.proving.reference import written_out
from swizzle.strangers.proving.subject import Subject
from swizzle.strangers.reading.launch import GivenArgument, number_of
from symbolic.algebra.terms import UNWRITTEN, Terms
from symbolic.errors import SwizzleError
from symbolic.ir.program import Axis, Parameter, Program

MOST_ELEMENTS: Final = 1 << 28
"""Elements along one length up to which it is proved: sums of a few and small multiples of them fit into 31 bits."""
MOST_THREADS: Final = 1 << 17
"""So many threads the blocks of all remainders may have together."""
MOST_CELLS: Final = 1 << 22
"""So many elements of an array the blocks may have together on which a guess is tried."""
_HALO: Final = 8
_SCALES: Final = (1, 2, 3, 4, 8, 16)
_TILES: Final = (1, 2, 4, 8, 16)
_EQUAL_GUESSES: Final = 6
_EQUAL: Final = "every length"
"""The variable of a number that is the length along several axes."""


class EveryLength(Struct, frozen=True):
    """The lengths for which a kernel is proved, and what is taken for granted of them."""

    covers: str
    assumed: tuple[str, ...]


class _Length(Struct, frozen=True):
    """A length along an axis of the grid: the number that a launch is given for it, '' for none, and its tile."""

    axis: Axis
    name: str
    value: int
    tile: int


def every_length(subject: Subject, spec: Spec) -> EveryLength | None:
    """Return for which lengths a kernel is proved to be its specification; None where that is not shown for any."""
    (kernel, *more) = subject.kernels
    if more or any(each.fields for each in kernel.arguments):
        return None
    for lengths in _guesses(subject, kernel):
        every = list(_spans(subject, lengths))
        if len({each.value for each in lengths}) < len(lengths):
            every = [spans for spans in every if _runs(subject, kernel, lengths, spans)]
        for cut, spans in itertools.product((True, False), every):
            with suppress(NotTiled, NotEven, SwizzleError, NotInterpreted):
                tried = _Tried(subject, kernel, spec, lengths, spans, cut=cut)
                if tried.is_proved():
                    return tried.told()
    return None


def equal_lengths(subject: Subject) -> str:
    """Return in words which numbers of a launch, each the extent of an array, cannot be told apart, '' for none."""
    extents = {extent for each in subject.program.parameters for extent in each.shape}
    names = dict[int, dict[str, None]]()
    for each in (each for kernel in subject.kernels for each in kernel.arguments):
        if isinstance(each.value, int) and each.value > 1 and each.value in extents:
            names.setdefault(each.value, {})[each.name] = None
    alike, value = next(((list(found), value) for value, found in names.items() if len(found) > 1), ([], 0))
    return f"{' and '.join(alike)} are {value}, and only different values tell lengths apart" if alike else ""


# ---- guesses -----------------------------------------------------------------------------------------------------


def _guesses(subject: Subject, kernel: LaunchedKernel) -> Iterator[tuple[_Length, ...]]:
    """Yield which numbers may be the lengths along the axes of the grid."""
    grid, block = kernel.launch.grid, kernel.launch.block
    numbers = {e.name: e.value for e in kernel.arguments if isinstance(e.value, int) and e.value > 1}
    extents = {extent for each in subject.program.parameters for extent in each.shape}
    choices, equal = [], 0
    for axis, blocks in zip(AXES, grid, strict=True):
        if blocks == 1 and not any(-(-value // size) == 1 for value in numbers.values() for size in block if size > 1):
            continue
        sizes = dict.fromkeys(size * times for size in (block[AXES.index(axis)], *block) for times in _TILES)
        found = [
            _Length(axis, name, value, tile)
            for tile in (*sizes, 1)
            for name, value in numbers.items()
            if -(-value // tile) == blocks and any(scale * value in extents for scale in _SCALES)
        ]
        found += [
            _Length(axis, "", blocks * tile, tile)
            for scale in _SCALES
            for tile in (*sizes, 1)
            if blocks > 1 and scale * blocks * tile in extents
        ]
        if not found:
            if blocks > 1:
                return
            continue
        choices.append([*found, *([None] if blocks == 1 else [])])
    for chosen in itertools.islice(itertools.product(*choices), 24):
        lengths = tuple(each for each in chosen if each is not None)
        values = [each.value for each in lengths]
        alike = [each.name for each in lengths if values.count(each.value) > 1]
        equal += bool(alike)
        if lengths and (not alike or (equal <= _EQUAL_GUESSES and all(alike))):
            yield lengths


def _spans(subject: Subject, lengths: Sequence[_Length]) -> Iterator[dict[str, tuple[Span | None, ...]]]:
    """Yield how the dimensions of arrays may follow the lengths, those of outputs each one: so many times, or with a
    few elements more. Of lengths that are one number an array's last dimension follows the first axis, or, of outputs
    that are transposed, the last one."""
    equal = len({each.value for each in lengths}) < len(lengths)
    for transposed, halo in itertools.product((False, True) if equal else (False,), (0, _HALO)):
        found = {
            each.name: _along(each, lengths[::-1] if transposed and each.role != "in" else lengths, halo)
            for each in subject.program.parameters
        }
        axes = sorted(each.axis for each in lengths)
        if all(sorted(s.axis for s in found[each.name] if s) == axes for each in subject.outputs):
            yield found


def _along(parameter: Parameter, lengths: Sequence[_Length], halo: int) -> tuple[Span | None, ...]:
    found, rest = list[Span | None](), list(lengths)
    for extent in reversed(parameter.shape):
        found.insert(0, _span(parameter, extent, [*rest, *lengths], halo))
        rest = [each for each in rest if found[0] is None or each.axis != found[0].axis]
    return tuple(found)


def _span(parameter: Parameter, extent: int, lengths: Sequence[_Length], halo: int) -> Span | None:
    for scale in _SCALES:
        for each in lengths:
            if extent == scale * each.value:
                return Span(each.axis, scale, 0)
    for each in lengths:
        if parameter.role == "in" and 0 < extent - each.value <= halo:
            return Span(each.axis, 1, extent - each.value)
    return None


# ---- proofs ------------------------------------------------------------------------------------------------------


def _runs(
    subject: Subject, kernel: LaunchedKernel, lengths: Sequence[_Length], spans: Mapping[str, tuple[Span | None, ...]]
) -> bool:
    """Tell whether blocks that have others about them can be run: of most wrong guesses about equal lengths they
    cannot, and no specification is asked at many lengths."""
    far = [(each, max(each.tile, _HALO)) for each in lengths]
    axes = [TiledAxis(e.axis, e.tile, e.tile, e.tile, e.tile + more, edges=True, before=more) for e, more in far]
    tiling = Tiling(tuple(axes), spans)
    program, first = tiling.at(subject.program, tiling.declared), dict.fromkeys(tiling.declared, False)
    written, entry = written_out(Terms(), program), kernel_of(kernel.ptx, kernel.entry.name)
    with suppress(NotTiled, NotInterpreted, Broken):
        validator = _RunsValidator(program, tiling, {}, written, None, lambda *_: UNWRITTEN, first)
        validator.takes(kernel, lengths)
        cuts, known = np.arange(len(validator.cuts)), recognised(entry, program)
        _StrangersMachine(entry, validator, cuts, written.deferred, known, kernel.launch.dynamic).run()
        return True
    return False


class _Tried:
    """One guess: which lengths there are, and how arrays follow them."""

    def __init__(
        self, subject: Subject, kernel: LaunchedKernel, spec: Spec, lengths: Sequence[_Length],
        spans: Mapping[str, tuple[Span | None, ...]], *, cut: bool,
    ) -> None:  # fmt: skip
        self.subject, self.kernel, self.lengths, self.cut = subject, kernel, lengths, cut
        self.spec = _at_lengths(spec, subject, lengths, spans)
        axes = tuple(
            TiledAxis(e.axis, e.tile, 1 if cut else e.tile, 2 * e.tile + 1 if cut else e.tile) for e in lengths
        )
        self.tiling = Tiling(axes, spans)
        self.assumed: dict[str, None] = {}

    def is_proved(self) -> bool:
        tiling = self._with_ends()
        size = LaunchSize(FilledKernel(self._program(tiling), self.spec, ()), tuple(tiling.declared.values()))
        written = written_out(size.meaning.terms, size.filled.program)
        for validator in tile_validators(size, tiling, written, None, kind=_StrangersValidator):
            assert isinstance(validator, _StrangersValidator)
            validator.takes(self.kernel, self.lengths)
            found = validator.validate(self.kernel.ptx, self.kernel.entry.name, self.kernel.launch.dynamic)
            if found.verdict != "equal":
                return False
            self.assumed |= validator.assuming.assumed
        return True

    def _program(self, tiling: Tiling) -> Program:
        return tiling.at(self.subject.program, tiling.declared)

    def _with_ends(self) -> Tiling:
        """Return the tiling with what blocks see of arrays, where the specification says something else near the ends;
        raise NotEven where it does not go on."""
        tiling = self.tiling
        halo = max((s.halo for spans in tiling.spans.values() for s in spans if s), default=0)
        if self.cut:
            try:
                said = NearEnds(tiling, self._program(tiling), self.spec)
            except NotEven as error:
                if str(error):
                    raise
            else:
                axes = [
                    replace(
                        each, edges=True, before=max(1, said.low[each.axis]), least=said.least[each.axis],
                        reach=each.tile + max(1, said.high[each.axis]),
                    )
                    for each in tiling.axes
                ]  # fmt: skip
                return self._bounded(replace(tiling, axes=tuple(axes)))
        tiling = replace(tiling, axes=tuple(replace(e, declared=e.tile, reach=e.tile + halo) for e in tiling.axes))
        self._check_goes_on(tiling)
        return self._bounded(tiling)

    def _bounded(self, tiling: Tiling) -> Tiling:
        ways = prod(max(e.tile, e.reach) // e.step + 1 for e in tiling.axes)
        if ways * prod(self.kernel.launch.block) * (4 if tiling.axes[0].edges else 1) > MOST_THREADS:
            raise NotTiled(f"its blocks may be cut in {ways} ways")
        return tiling

    def _check_goes_on(self, tiling: Tiling) -> None:
        """Compare what a specification says of each block with what it says of the first one, at several lengths."""
        shared, program = SharedTerms(), self.subject.program
        first: dict[object, object] = {}
        for lengths in self._compared(tiling):
            source = meaning_at(tiling, program, self.spec, lengths)
            if source is None:
                raise NotEven(f"the specification gives nothing at {lengths}")
            assert isinstance(source, MeaningAt)
            for name, _, local, term in by_block(tiling, source, shared):
                if term is None or first.setdefault((name, local), term) != term:
                    raise NotEven("the specification does not say the same of each block")

    def _compared(self, tiling: Tiling) -> Iterator[dict[Axis, int]]:
        one = {each.axis: each.tile for each in tiling.axes}
        yield one
        for each in tiling.axes:
            for length in (each.step, each.tile - each.step, each.tile + each.step, 2 * each.tile, 3 * each.tile):
                if length > 0:
                    yield {**one, each.axis: length}
        yield {each.axis: 2 * each.tile + each.step for each in tiling.axes}

    def told(self) -> EveryLength:
        """Return what is proved in words."""
        names = list(dict.fromkeys(self._name(each.axis) for each in self.lengths))
        rest = [
            f"{each.name} = {each.value}"
            for each in self.kernel.arguments
            if isinstance(each.value, int) and each.value > 1 and each.name not in names
        ]
        tiles = [each.tile for each in self.lengths]
        every = "every length" if self.cut or set(tiles) == {1} else f"every multiple of {tiles[0]}"
        if not self.cut and len(set(tiles)) > 1:
            every = "every multiple of " + ", of ".join(
                f"{each.tile} of {self._name(each.axis)}" for each in self.lengths
            )
        elif rest or len(names) > 1:
            every += f" of {' and '.join(names)}"
        covers = every + (f" at {', '.join(rest)}" if rest else "")
        grid = "grid " + ", ".join(
            f"{each.axis} = "
            + (f"ceil({self._name(each.axis)} / {each.tile})" if each.tile > 1 else self._name(each.axis))
            for each in self.lengths
        )
        shapes = [
            f"{name}[{', '.join(map(self._extent, self.tiling.spans[name], shape))}]" for name, shape in self._shapes()
        ]
        assumed = [f"{self._longest()}, in as many blocks as cover them: {grid}; {', '.join(shapes)}"]
        if self.assumed:
            assumed.append("indices that are products of lengths fit into 32 bits where the kernel computes them in 32")
        assumed.append("the specification goes on with the lengths as it does at those at which it was compared")
        return EveryLength(covers, tuple(assumed))

    def _longest(self) -> str:
        """Return up to which lengths it is proved."""
        longest = dict[str, int]()
        for each in self.lengths:
            name, most = self._name(each.axis), _longest(self.tiling, self.subject.program, each.axis)
            longest[name] = min(most, longest.get(name, most))
        return ", ".join(f"{name} <= {most}" for name, most in longest.items())

    def _name(self, axis: Axis) -> str:
        """Return what a length is called: as the number of the launch is, else a name that is no argument's."""
        given = next((each.name for each in self.lengths if each.axis == axis), "")
        taken = {each.name for each in self.kernel.arguments}
        return given or next(
            name for name in (f"n{axis}", f"length_{axis}", f"length along {axis}") if name not in taken
        )

    def _shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(each.name, each.shape) for each in self.subject.program.parameters if each.shape]

    def _extent(self, span: Span | None, extent: int) -> str:
        if span is None:
            return str(extent)
        name = self._name(span.axis)
        return (f"{span.scale} * {name}" if span.scale > 1 else name) + (f" + {span.halo}" if span.halo else "")


def _longest(tiling: Tiling, program: Program, axis: Axis) -> int:
    """Return the length at which as many elements follow it as are proved for, of the array that has most."""
    most = 1
    for each in program.parameters:
        for span in tiling.spans[each.name]:
            if span is not None and span.axis == axis:
                fixed = [e for e, s in zip(each.shape, tiling.spans[each.name], strict=True) if s is None]
                most = max(most, span.scale * prod(fixed))
    tile = next(each.tile for each in tiling.axes if each.axis == axis)
    return min(MOST_ELEMENTS // most, MOST_BLOCKS[axis] * tile)


def _at_lengths(
    spec: Spec, subject: Subject, lengths: Sequence[_Length], spans: Mapping[str, tuple[Span | None, ...]]
) -> Spec:
    """Return a specification that is asked at several lengths: numbers of a launch that it names follow its arrays."""
    named = {each.name: each.axis for each in lengths if each.name in spec.constants}
    if not named:
        return spec
    pairs = [
        (name, place, dimension, span)
        for name, axis in named.items()
        for place, each in enumerate(subject.inputs)
        for dimension, span in enumerate(spans[each.name])
        if span is not None and span.axis == axis
    ]

    def asked(*arrays: Any) -> Any:
        found = {
            name: (np.shape(arrays[place])[dimension] - span.halo) // span.scale
            for name, place, dimension, span in pairs
        }
        return replace(spec, constants={**spec.constants, **found})(*arrays)

    return Spec(spec.name, asked, spec.parameters, spec.place)


# ---- the machine -------------------------------------------------------------------------------------------------


class _Assuming(Indices):
    """Products of lengths of 32 bits do not wrap: what is assumed is kept, to be told with the verdict.

    It is an upper bound of lengths, which short ones keep: nothing is assumed that could be wrong of all.
    """

    def __init__(self, of: Indices) -> None:
        self.__dict__.update(of.__dict__)
        self.assumed: dict[str, None] = {}
        self.equal: list[Polynomial] = []
        """The lengths that one number is."""

    def evaluate(self, operation: Any, row: Sequence[Value], case: int = 0) -> Value:
        """Return what an instruction gives; of a number that is several lengths, with any one of them in its place."""
        undecided, why = None, None
        for by in ([], *([each] for each in self.equal if self._has_equal(row))):
            try:
                found = super().evaluate(operation, [self.of_lengths(each, by) for each in row], case)
            except NotInterpreted as error:
                why = why or error
                continue
            if operation.result != "pred" or not found[1]:
                return found
            undecided = undecided or found
        if undecided is None:
            assert why is not None
            raise why
        return undecided

    def variables(self, row: Sequence[Value]) -> frozenset[str]:
        """Return the variables of some registers, and of the lengths that a number may be, of which a case says
        something."""
        names = (
            {name for length in self.equal for factors in length for name in factors} if self._has_equal(row) else {}
        )
        return super().variables(row) | (self._fixed | self._bounded).intersection(names)

    def _has_equal(self, row: Sequence[Value]) -> bool:
        return any(_EQUAL in self._variables[number - INDEX] for _, number in row if number >= INDEX)

    def of_lengths(self, value: Value, lengths: Sequence[Polynomial]) -> Value:
        """Return a register with lengths in the place of the number that is all of them, in powers the first ones."""
        if not lengths or not self._has_equal([value]):
            return value
        found: Polynomial = {}
        for factors, c in self.polynomial(value).items():
            times = factors.count(_EQUAL)
            part: Polynomial = {tuple(each for each in factors if each != _EQUAL): c}
            for number in range(times):
                part = product_of(part, lengths[min(number, len(lengths) - 1)])
            found = plus(found, part)
        return self.value(found)

    def integer(self, found: Polynomial, kind: str) -> Polynomial:
        try:
            return super().integer(found, kind)
        except NotInterpreted:
            products = [c for monomial, c in found.items() if len(monomial) > 1]
            least = -(1 << width(kind) - 1) if kind[0] == "s" else 0
            if width(kind) != 32 or self._of_all or not products or min(products) < 0:
                raise
            if self.bounds(found)[0] < least:
                raise
            self.assumed[show(found)] = None
            return found


class _StrangersTransfers(TileTransfers):
    """Accesses at indices that are products of a number which is several lengths: those along an array's rows."""

    lengths: Mapping[Axis, Polynomial]

    def _located(self, instruction: Instruction, value: Value, cuts: Lanes, add: int, how: InstructionForm) -> Lanes:
        assert isinstance(self.registers, TileRegisters)
        indices = self.registers.indices
        assert isinstance(indices, _Assuming)
        base = indices.polynomial(value).get((), 0) + add
        for window, region in self.windows.values() if indices.equal else ():
            if abs(base - region.base) < 1 << 39:
                axes = [span.axis for span in reversed(window.spans) if span is not None]
                value = indices.of_lengths(value, [self.lengths[axis] for axis in axes])
                break
        return super()._located(instruction, value, cuts, add, how)


class _StrangersMachine(TileMachine):
    """A run of a kernel whose lengths stand anywhere among its parameters, of any width."""

    parts = TileRegisters, _StrangersTransfers

    def __init__(self, kernel: Kernel, tiles: TileValidator, *given: Any) -> None:
        assert isinstance(tiles, _StrangersValidator)
        named = {each.name: each for each in tiles.lengths if each.name}
        own_entry = tiles.launched.entry
        kernel = replace(kernel, parameters=own_entry.parameters, arrays=own_entry.arrays)
        pairs = list(zip(kernel.parameters, tiles.launched.arguments, strict=True))
        own = {argument.name: place for place, argument in pairs}
        first = [own[each.name] for each in tiles.program.parameters]
        lengths, numbers = list[tuple[str, str]](), list[tuple[tuple[str, str], GivenArgument]]()
        for axis in tiles.taken:
            name = next((each.name for each in tiles.lengths if each.axis == axis.axis), "")
            register = own[name][0] if name and (own[name][0], "u64") not in lengths else f"no length {axis.axis}"
            lengths.append((register, "u64"))
        for place, argument in pairs:
            if argument.value is not None and argument.name not in named:
                numbers.append((place, argument))
        tiles.trailing = tuple(number_of(argument) for _, argument in numbers)
        ordered = (*first, *lengths, *(place for place, _ in numbers))
        super().__init__(replace(kernel, parameters=tuple(ordered)), tiles, *given)
        self.early_returns = True
        assert isinstance(self.transfers, _StrangersTransfers)
        self.transfers.lengths = {each.axis: length_of(each, tiles.is_first(each)) for each in tiles.taken}
        for axis, (name, _) in zip(tiles.taken, lengths, strict=True):
            kind, equal = dict(kernel.parameters).get(name), bool(tiles.equal) and name == own[tiles.equal][0]
            if kind is not None and (width(kind) < 64 or equal):
                length: Polynomial = {(_EQUAL,): 1} if equal else self.transfers.lengths[axis.axis]
                bits, term = tiles.indices.value(length, width(kind))
                count = self.shape.count
                self.parameters[name] = np.full(count, bits, np.uint64), np.full(count, term, np.int64)
                if width(kind) < 64:
                    self.transfers.whole = frozenset(self.transfers.whole) - {name}


class _StrangersValidator(TileValidator):
    """Validates a stranger's kernel for every length up to `_longest`."""

    machine = _StrangersMachine
    launched: LaunchedKernel
    lengths: Sequence[_Length]
    equal: str = ""
    """The argument that is the length along several axes."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.indices = self.assuming = _Assuming(self.indices)

    def takes(self, launched: LaunchedKernel, lengths: Sequence[_Length]) -> None:
        """Say which kernel is validated, and which of its numbers are lengths."""
        self.launched, self.lengths = launched, lengths
        names = [each.name for each in lengths if each.name]
        self.equal = next((name for name in names if names.count(name) > 1), "")
        axes = [each.axis for each in lengths if each.name == self.equal] if self.equal else []
        self.assuming.equal = [length_of(each, self.is_first(each)) for each in self.taken if each.axis in axes]
        most = [_longest(self.tiling, self.program, each) for each in axes]
        self.assuming.most[_EQUAL] = min(most, default=0)

    def _remainders(self, axis: TiledAxis) -> list[Cut]:
        narrow = replace(axis, narrow=_longest(self.tiling, self.program, axis.axis))
        return [replace(each, axis=narrow, narrow=True) for each in remainders(axis, self.is_first(axis))]


class _RunsValidator(_StrangersValidator):
    """Runs a kernel whose arrays are one variable all over."""

    def _argument(self, parameter: Parameter, align: int) -> LaunchArgument:
        if parameter.name in self.windows and self.windows[parameter.name].cells * len(self.cuts) > MOST_CELLS:
            raise NotTiled(f"{parameter.name} has too many elements about a block")
        if parameter.is_scalar or parameter.by_value or parameter.role == "out":
            return super()._argument(parameter, align)
        cells, term = self.windows[parameter.name].cells, self.written.terms.atom(parameter.name, 0)
        bits, terms = np.zeros(cells, np.uint64), np.full(cells, term, np.int64)
        return LaunchArray(
            parameter.name, KIND_OF[parameter.dtype], bits, terms, True, parameter.role == "inout", align
        )
