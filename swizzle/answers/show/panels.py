"""The picture before it is drawn: which strips of cells stand under which, panel by panel, and how large they are, so
that no text meets another.

A panel is one iteration of the sketch's own loops, one call of a load or store helper, or a straight run of statements.
Time runs downward through its strips, one column a lane. A strip is a row of the trace, or one register of a local
array as it stands there: the array is shown before it is read, and once more at the end where the panel has changed it.
A shuffle stands under what it shuffles, so that its arrows join neighbours.

In a cell stands a short label of a term, with a tone; the whole term is shown on hover, or as a title. A label is a few
short lines: `x17` for x[17], `w2` over `·x17` for a product, `Σ3` for a sum of three.

The facts themselves are rows, one for each step, with what every lane had there and from where.
"""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import replace

from symbolic.algebra.operator_laws import LAWS, find_law
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.errors import Place, SwizzleError
from symbolic.ir.index import cell_name, unflattened
from symbolic.ir.program import DeclareArray, Program
from symbolic.machine.accesses import BANKS, WarpAccess
from symbolic.machine.launch_shape import LaunchShape

Lanes: TypeAlias = npt.NDArray[np.int64]
Kind: TypeAlias = Literal["load", "shuffle", "compute", "store", "accumulate", "result"]


class LaneSource(Struct, frozen=True):
    """Where the lanes of a warp have a value from: a row, and the thread of the block that had it there.

    -1 is nowhere: the lane has nothing from here, or it has an input as it is.
    """

    row: Lanes
    thread: Lanes


class Row(Struct, frozen=True):
    """What the lanes of one warp, or the threads of one block, did at one step.

    `terms` are the values: of what was read, made or stored.

    `loops` are the sketch's own loops around it, with the values of their variables; `place` is in the sketch.
    `helper` says that it is part of what a call such as `warp_load` stands for. For an accumulate or a result,
    `accumulator` is the reduction's name, with its index where it has one.
    """

    number: int
    kind: Kind
    title: str
    place: Place
    loops: tuple[tuple[str, int], ...]
    helper: bool
    on: npt.NDArray[np.bool_]
    terms: Lanes
    sources: tuple[LaneSource, ...]
    holes: tuple[int, ...] = ()
    access: WarpAccess | None = None
    accumulator: str = ""


class Trace(Struct, frozen=True):
    """All rows of one warp. `lanes` is how many it has, `first` the number in the block of its lane 0.

    `asked` has for each hole the points at which the grid asks it, with its value there; `wrong` has the output cells
    that are not what the specification says, with what it says.
    """

    program: Program
    terms: Terms
    block: int
    warp: int
    first: int
    lanes: int
    rows: tuple[Row, ...]
    asked: tuple[Mapping[tuple[int, ...], int], ...]
    wrong: Mapping[tuple[str, int], int]


class BlockTrace(Struct, frozen=True):
    """All rows of one block, over all its threads; `warp` gives those of one warp."""

    program: Program
    terms: Terms
    block: int
    rows: tuple[Row, ...]
    asked: tuple[Mapping[tuple[int, ...], int], ...]
    wrong: Mapping[tuple[str, int], int]

    @property
    def warps(self) -> int:
        """How many warps a block has; the last one may be short."""
        return -(-LaunchShape.of(self.program).block_threads // self.program.warp_size)

    def warp(self, number: int) -> Trace:
        """Return what one warp of the block does."""
        require_number("warp", number, self.warps)
        size, threads = self.program.warp_size, LaunchShape.of(self.program).block_threads
        lanes = slice(number * size, min((number + 1) * size, threads))
        rows = tuple(_lanes_of(row, lanes) for row in self.rows)
        count = lanes.stop - lanes.start
        return Trace(self.program, self.terms, self.block, number, lanes.start, count, rows, self.asked, self.wrong)


def _lanes_of(row: Row, lanes: slice) -> Row:
    sources = (LaneSource(source.row[lanes], source.thread[lanes]) for source in row.sources)
    access = row.access and replace(row.access, cells=row.access.cells[lanes])
    given = tuple(source for source in sources if (source.row >= 0).any())
    return replace(row, on=row.on[lanes], terms=row.terms[lanes], sources=given, access=access)


def require_number(what: str, number: int, count: int) -> None:
    if not 0 <= number < count:
        one = f"the only one is {what} 0"
        raise SwizzleError(
            f"there is no {what} {number}",
            expected=one if count == 1 else f"0 to {count - 1}",
            fix="leave it out, or give a number in this range",
        )


SIGNS = {symbol: law.sign for symbol, law in LAWS.items() if law.sign}
_ELEMENT = re.compile(r"(\w+)\[(\d+)\]")
LONGEST_NAME = 4
LONGEST_LINE = 7
STACKED = 3
FIRST_HUE, ARC = 20.0, 300.0


class Tone(Struct, frozen=True):
    """A colour before its lightness is known: a hue in degrees, and whether it is a pale one."""

    hue: float
    pale: bool


class Labels:
    """Labels and tones of the terms of one kernel."""

    def __init__(self, program: Program, terms: Terms, seen: set[Term]) -> None:
        """`seen` are the terms that the picture shows: the elements among them share out the hues of their array."""
        self.terms = terms
        self.shapes = {parameter.name: parameter.shape for parameter in program.parameters}
        self.shapes |= {array.name: array.shape for array in program.body if isinstance(array, DeclareArray)}
        self.names = _short_names(list(self.shapes))
        self.main = {
            parameter.name for parameter in program.parameters if parameter.role != "const" and parameter.shape
        }
        self._lines: dict[Term, tuple[str, ...]] = {}
        self.ranks: dict[str, dict[int, float]] = {}
        for name in self.shapes:
            met = sorted({i for t in seen for array, i in self._elements(t) if array == name})
            self.ranks[name] = {index: rank / max(1, len(met)) for rank, index in enumerate(met)}

    def lines(self, term: Term) -> tuple[str, ...]:
        """Return the label, at most three lines of at most seven characters."""
        if term not in self._lines:
            self._lines[term] = self._spelled(term)
        return self._lines[term]

    def _spelled(self, term: Term) -> tuple[str, ...]:
        op, args = self.terms.nodes[term]
        match op:
            case "unwritten":
                return ("·",)
            case "const":
                return (_clipped(f"{float(args[0]):g}" if isinstance(args[0], (float, Fraction)) else str(args[0])),)
            case "atom":
                return self._element(*args)
        if (law := find_law(op)) is not None and law.commutes:
            args = tuple(sorted(args, key=self.terms.reading_order))
        parts = [self.lines(arg) for arg in args]
        if (op in SIGNS or op in ("/", "-")) and len(parts) <= STACKED and all(len(p) == 1 for p in parts):
            sign = "·" if op == "*" else op
            if op in ("*", "&") or len(parts) == 2:
                ordered = [p[0] for p in parts]
                return (ordered[0], *(_clipped(sign + text) for text in ordered[1:]))
        if op in SIGNS:
            return (f"{SIGNS[op]}{len(args)}",)
        return (_clipped(f"{op}{len(args)}" if find_law(op) is not None else f"{op}()"),)

    def place(self, array: str, index: int) -> str:
        """Return where in an array a cell is: `17`, `1,3`."""
        return ",".join(map(str, unflattened(self.shapes[array], index)))

    def full(self, term: Term) -> str:
        """Return the whole term, each element with an index for each dimension."""
        if term == UNWRITTEN:
            return "not written"
        return _ELEMENT.sub(self._unravelled, self.terms.show(term))

    def _unravelled(self, match: re.Match[str]) -> str:
        return cell_name(match[1], self.shapes[match[1]], int(match[2])) if match[1] in self.shapes else match[0]

    def tone(self, term: Term) -> Tone | None:
        """Return the tone of an element, or of what is made of one input element; None for anything else."""
        found = {element for element in self._elements(term) if element[0] in self.main}
        if not found:
            found = set(self._elements(term))
        if len(found) != 1:
            return None
        ((array, index),) = found
        return Tone(round(self.ranks.get(array, {}).get(index, 0.0) * ARC + FIRST_HUE, 1), array not in self.main)

    def _elements(self, term: Term) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        seen, waiting = {term}, [term]
        while waiting:
            op, args = self.terms.nodes[waiting.pop()]
            if op == "atom":
                found.append((args[0], args[1]))
            elif op in SIGNS and len(args) > STACKED:
                found += (("", n) for n in range(2))  # many: no tone of its own
            elif op not in ("const", "unwritten"):
                waiting += (new := [arg for arg in dict.fromkeys(args) if isinstance(arg, int) and arg not in seen])
                seen.update(new)
        return found

    def _element(self, array: str, index: int) -> tuple[str, ...]:
        name, place = self.names[array], self.place(array, index)
        whole = f"{name}{place}"
        return (whole,) if len(whole) <= LONGEST_LINE else (name, _clipped(place))


def _short_names(names: list[str]) -> dict[str, str]:
    """Return names of at most four letters, all different."""
    short: dict[str, str] = {}
    for name in names:
        wish, number = name[:LONGEST_NAME], 2
        while wish in short.values():
            wish, number = f"{name[: LONGEST_NAME - 1]}{number}", number + 1
        short[name] = wish
    return short


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"


WHOLE_ARRAY = 8  # registers: a larger local array is shown where it is touched


class Strip(Struct, frozen=True):
    """One line of cells. `row` is the row of the trace, -1 for a register; `again` marks a row shown before, `starts`
    the first register of an array.

    `terms` has a term for each lane, -1 where there is none. `writers` (of a register) are the rows that wrote it;
    `read` and `written` mark the lanes that touch it in this panel. `asked` (of a shuffle) has the lane, in the strip
    above, that each lane reads; `cells` (of a store) the element of `array` that each lane writes.
    """

    title: str
    row: int
    terms: tuple[int, ...]
    again: bool = False
    starts: bool = False
    writers: tuple[int, ...] = ()
    read: frozenset[int] = frozenset()
    written: frozenset[int] = frozenset()
    asked: tuple[int, ...] = ()
    cells: tuple[int, ...] = ()
    array: str = ""


class Panel(Struct, frozen=True):
    """One step of the picture. `accesses` are its rows that touch memory, `rows` all rows that it stands for: its own,
    and those before it that only other warps take part in."""

    title: str
    place: Place
    strips: tuple[Strip, ...]
    rows: tuple[int, ...]
    accesses: tuple[int, ...]


class _Registers(Struct):
    """A local array of the warp, as it stands now."""

    shape: tuple[int, ...]
    terms: Lanes
    writers: Lanes
    shown: bool = False
    read: dict[int, set[int]] = field(default_factory=dict)
    written: dict[int, set[int]] = field(default_factory=dict)


def panels(trace: Trace) -> tuple[Panel, ...]:
    """Lay out a trace."""
    return tuple(_Layout(trace).panels())


class _Layout:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.files: dict[str, _Registers] = {}
        self.strips: list[Strip] = []

    def panels(self) -> Iterator[Panel]:
        def key(row: Row) -> tuple[object, ...]:
            return (row.loops, row.place if row.helper else None)

        elsewhere: tuple[int, ...] = ()
        for _, some in itertools.groupby(self.trace.rows, key):
            rows = list(some)
            self.strips = []
            for file in self.files.values():
                file.shown, file.read, file.written = False, {}, {}
            self._panel(rows)
            touching = tuple(r.number for r in rows if r.access and r.access.memory != "local" and r.on.any())
            elsewhere += tuple(row.number for row in rows)
            if self.strips:
                yield Panel(_title(rows), rows[0].place, tuple(self.strips), elsewhere, touching)
                elsewhere = ()

    def _panel(self, rows: Sequence[Row]) -> None:
        for row, later in zip(rows, [*rows[1:], None], strict=True):
            access = row.access
            if access and access.memory == "local":
                if access.writes:
                    self._write(row, access)
                    continue
                self._read(row, access, rows)
            if later is None or not _only_moved(row, later):
                self._show(row)
        for name, file in self.files.items():
            if file.written and not file.shown:
                self._show_file(name, file, range(len(file.terms)) if len(file.terms) <= WHOLE_ARRAY else file.written)

    def _show(self, row: Row) -> None:
        if not row.on.any():
            return
        asked: tuple[int, ...] = ()
        if row.kind == "shuffle":
            asked = self._asked(row)
        stored = row.access if row.access and row.access.writes else None
        cells, array = (stored.cells, stored.array) if stored else ((), "")
        self.strips.append(Strip(row.title, row.number, _terms(row), asked=asked, cells=cells, array=array))

    def _asked(self, row: Row) -> tuple[int, ...]:
        """Return whom each lane asks, after seeing to it that what was offered stands above."""
        (source,) = row.sources
        given = int(source.row.max())
        if not self.strips or self.strips[-1].row != given:
            offered = self.trace.rows[given]
            self.strips.append(Strip(offered.title, given, _terms(offered), again=True))
        return tuple(np.where(source.row >= 0, source.thread - self.trace.first, -1).tolist())

    # -- registers ------------------------------------------------------------------------------------------

    def _file(self, access: WarpAccess) -> _Registers:
        if access.array not in self.files:
            size = (int(np.prod(access.shape, dtype=np.int64)), self.trace.lanes)
            self.files[access.array] = _Registers(access.shape, np.full(size, -1), np.full(size, -1))
        return self.files[access.array]

    def _write(self, row: Row, access: WarpAccess) -> None:
        file = self._file(access)
        for lane, cell in enumerate(access.cells):
            if cell >= 0:
                file.terms[cell, lane], file.writers[cell, lane] = row.terms[lane], row.number
                file.written.setdefault(cell, set()).add(lane)
        file.shown = False

    def _read(self, row: Row, access: WarpAccess, rows: Sequence[Row]) -> None:
        """Show the array as it stands, with marks for all reads up to its next change."""
        file = self._file(access)
        if file.shown:
            return
        file.read = {}
        for other in itertools.dropwhile(lambda r: r is not row, rows):
            if other.access and other.access.array == access.array:
                if other.access.writes:
                    break
                for lane, cell in enumerate(other.access.cells):
                    if cell >= 0:
                        file.read.setdefault(cell, set()).add(lane)
        size = len(file.terms)
        self._show_file(access.array, file, range(size) if size <= WHOLE_ARRAY else {*file.read, *file.written})

    def _show_file(self, name: str, file: _Registers, cells: range | set[int] | dict[int, set[int]]) -> None:
        for number, cell in enumerate(sorted(cells)):
            self.strips.append(
                Strip(
                    cell_name(name, file.shape, cell),
                    -1,
                    tuple(file.terms[cell].tolist()),
                    starts=number == 0,
                    writers=tuple(file.writers[cell].tolist()),
                    read=frozenset(file.read.get(cell, ())),
                    written=frozenset(file.written.get(cell, ())),
                )
            )
        file.shown, file.read, file.written = True, {}, {}


def _terms(row: Row) -> tuple[int, ...]:
    return tuple(np.where(row.on, row.terms, -1).tolist())


def _only_moved(row: Row, later: Row) -> bool:
    """Tell whether a read does nothing but fill registers at the next row, which will show them."""
    into_registers = later.access is not None and later.access.memory == "local" and later.access.writes
    return row.kind == "load" and into_registers and len(later.sources) == 1 and _comes_from(later, row)


def _comes_from(later: Row, row: Row) -> bool:
    (source,) = later.sources
    return bool((source.row[source.row >= 0] == row.number).all() and (row.terms == later.terms)[source.row >= 0].all())


def _title(rows: Sequence[Row]) -> str:
    """Return `k = 2` for an iteration, the call for a helper, the lines for statements in a row."""
    first = rows[0]
    if first.loops:
        return ", ".join(f"{name} = {value}" for name, value in first.loops)
    lines = sorted({row.place.line for row in rows})
    if lines[0] != lines[-1]:
        return f"lines {lines[0]} to {lines[-1]}"
    text = linecache.getline(first.place.file, lines[0]).strip()
    return f"line {lines[0]}: {text}" if text else f"line {lines[0]}"


CHARACTER = 6.3  # of a fixed-width font of 10 px, rounded up
LINE_HEIGHT = 12
PADDING = 3
LEAST_CELL = 20
LONGEST_TITLE = 38
GAP, REGISTER_GAP, ARROW_GAP = 4, 0, 44
MEMORY_WORD, MEMORY_LINE, MOST_LINES = 15, 14, 32


class Geometry(Struct, frozen=True):
    """Widths that a whole picture has in common."""

    title: float
    cell: float
    lanes: int

    @property
    def width(self) -> float:
        return self.title + self.lanes * self.cell


def geometry(panels: tuple[Panel, ...], labels: Labels, lanes: int) -> Geometry:
    """Return widths that fit every label and, up to a limit, every title of the panels."""
    strips = [strip for panel in panels for strip in panel.strips]
    longest = max((len(line) for strip in strips for lines in strip_lines(strip, labels) for line in lines), default=1)
    titles = max((min(len(strip.title), LONGEST_TITLE) for strip in strips), default=4)
    return Geometry(
        round(max(titles, 4) * CHARACTER + 14), max(LEAST_CELL, round(longest * CHARACTER + 2 * PADDING)), lanes
    )


def strip_lines(strip: Strip, labels: Labels) -> list[tuple[str, ...]]:
    """Return what each cell of a strip says, line by line; a store also says where it goes."""
    found: list[tuple[str, ...]] = [labels.lines(term) if term >= 0 else () for term in strip.terms]
    if not strip.cells:
        return found
    targets = [labels.place(strip.array, cell) if cell >= 0 else "" for cell in strip.cells]
    return [
        (*lines, f"\N{RIGHTWARDS ARROW}{target}") if lines else () for lines, target in zip(found, targets, strict=True)
    ]


def strip_height(strip: Strip, labels: Labels) -> int:
    """Return the height of a strip's cells."""
    return max([1, *(len(lines) for lines in strip_lines(strip, labels))]) * LINE_HEIGHT + 2 * PADDING


def space_above(strip: Strip, before: Strip | None) -> int:
    """Return the room between a strip and the one above it."""
    if before is None:
        return 0
    if strip.asked:
        return ARROW_GAP
    return REGISTER_GAP if strip.row < 0 and not strip.starts else GAP


def clipped(text: str, most: int = LONGEST_TITLE) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def memory_lines(access: WarpAccess) -> list[tuple[int, dict[int, list[int]]]]:
    """Return the 128-byte lines (or rows of banks) that an access touches: which lanes want each of the 32 words."""
    lines: dict[int, dict[int, list[int]]] = {}
    for lane, cell in enumerate(access.cells):
        if cell < 0:
            continue
        for word in access.words(cell):
            lines.setdefault(word // BANKS, {}).setdefault(word % BANKS, []).append(lane)
    return sorted(lines.items())
