"""A layout of a tile: where each cell lies, as a table, as formulas, and as what CuTe and TMA call it; and those that
somebody has already, by their usual names and numbers.

`Layout.formula` is made from the steps symbolically, with `>>`, `&` and `^` where sizes are powers of two; what it
computes is compared with the steps at every cell before a search answers.

A tile is drawn with its banks as colours: cells of one colour that are wanted at once wait for each other. So are
distributions, with the lane that holds a cell for the bank; nobody holds cells of -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from cuda_out.c.emitter import is_c_name
from swizzle.layouts.access import is_int, mistake
from swizzle.layouts.steps import Addresses, FlipBits, FlipRun, Listed, Pad, Rotate, Step, swizzle
from symbolic.errors import Place
from symbolic.ir.index import lanes_of
from symbolic.ir.program import Binary, Const, DType, Expr, Load, Var
from symbolic.ir.python_text import python_text
from symbolic.ir.walk import names_in
from symbolic.machine.accesses import BANKS, WORD
from templates.formula import binary, number
from templates.xor import Matrix

_CELL, _MOST, _GAP = 16, 64, 24

Banks = npt.NDArray[np.int64]


def svg(banks: Banks, title: str, count: int) -> str:
    """Return the banks of a tile's cells as an SVG figure; of a large tile, its upper left corner."""
    cells = _corner(banks)
    return _figure(cells.shape[1] * _CELL, cells.shape[0] * _CELL, title, _cells(cells, count, 0, 0))


def side_by_side(tiles: Sequence[tuple[str, Banks]], title: str, count: int) -> str:
    """Return several tiles beside each other, each under its name."""
    parts: list[str] = []
    left, height = 0, 0
    for name, banks in tiles:
        cells = _corner(banks)
        parts.append(f'<text x="{left}" y="12" font-size="12" text-anchor="start">{escape(name)}</text>')
        parts += _cells(cells, count, left, _GAP)
        left += max(cells.shape[1] * _CELL, 8 * len(name)) + _GAP
        height = max(height, cells.shape[0] * _CELL + _GAP)
    return _figure(left - _GAP, height, title, parts)


def with_text(text: str, figure: str) -> str:
    """Return a notebook's output: what an object says of itself, and a figure."""
    return f"<pre>{escape(text)}</pre>{figure}"


def _corner(banks: Banks) -> Banks:
    rows = banks.reshape(-1, banks.shape[-1])
    if len(rows) == 1 and rows.size > _MOST:  # a long row, as shared memory has it
        rows = rows[:, : rows.size // 32 * 32].reshape(-1, 32)
    return rows[:_MOST, :_MOST]


def _figure(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-size="8" '
        f'font-family="monospace" text-anchor="middle"><title>{escape(title)}</title>'
    )
    return "".join([head, *parts, "</svg>"])


def _cells(cells: Banks, count: int, left: int, top: int) -> list[str]:
    parts = []
    for (r, c), bank in np.ndenumerate(cells):
        if bank < 0:
            continue
        x, y, colour = left + c * _CELL, top + r * _CELL, f"hsl({int(bank) * 360 // count},70%,78%)"
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{colour}"/>'
            f'<text x="{x + _CELL // 2}" y="{y + 11}">{int(bank)}</text>'
        )
    return parts


_NOWHERE = Place("", 0, 0)
TMA_MODES = {32: (1, "32B"), 64: (2, "64B"), 128: (3, "128B")}
"""By the bytes of a box's row: B of Swizzle<B, 4, 3> over bytes, and TMA's name for it."""


class Layout(Struct, frozen=True):
    """A tile of `shape`, whose elements have `bits` bits, in an order of its axes and after some steps.

    `order` lists the axes from the slowest to the fastest: (0, 1) is row-major. An address counts elements from the
    start of the array, which begins at a multiple of `alignment` bytes.
    """

    shape: tuple[int, ...]
    bits: int
    order: tuple[int, ...]
    steps: tuple[Step, ...] = field(default=())

    def table(self) -> Addresses:
        """Return the address of each cell, an array of the tile's shape."""
        x = linear(self.shape, self.order)
        for step in self.steps:
            x = step.of(x)
        return x

    def cell(self, *coordinates: int) -> int:
        """Return the address of a cell."""
        return int(self.table()[coordinates])

    @property
    def kind(self) -> str:
        """What the layout is, in a word or two."""
        names = {Pad: "pad", Rotate: "rotate", FlipBits: "xor", FlipRun: "xor", Listed: "table"}
        if self.steps:
            return " + ".join(names[type(step)] for step in self.steps)
        if len(self.shape) == 2:
            return "row major" if self.order == (0, 1) else "column major"
        return "linear"

    @property
    def bytes(self) -> int:
        """How much shared memory the tile takes, up to the end of its last element."""
        return -(-(int(self.table().max()) + 1) * self.bits // 8)

    @property
    def table_bytes(self) -> int:
        """How many bytes of constants the index needs beside: two or four for each cell of a table, otherwise none."""
        tables = [step for step in self.steps if isinstance(step, Listed)]
        return sum(len(table.values) * (2 if max(table.values) < 1 << 16 else 4) for table in tables)

    @property
    def alignment(self) -> int:
        """The bytes that the array must begin at a multiple of, for its vectors and for flipped bits."""
        flipped = [column for step in self.steps if isinstance(step, FlipBits) for column in step.columns]
        top = max((column.bit_length() for column in flipped), default=0)
        return max(128, (1 << top) * self.bits // 8)

    # -- as text ---------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coordinates in formulas: r and c of a tile with two axes."""
        return {1: ("x",), 2: ("r", "c")}.get(len(self.shape), tuple("ijklmn"[: len(self.shape)]))

    def expression(self) -> Expr:
        """Return the address as an index expression over the coordinates."""
        split = _Split.of(self)
        for step in self.steps:
            split = split.after(step)
        return split.whole()

    @property
    def formula(self) -> str:
        """The address as Python, over r and c: `r*33 + c`; of a table, `TABLE[...]`."""
        return python_text(self.expression())

    @property
    def c(self) -> str:
        """The address as C, over unsigned r and c."""
        return self.formula.replace("//", "/")

    def cuda(self, name: str = "cell") -> str:
        """Return a device function that gives the address of a cell, with its table where it has one."""
        if not is_c_name(name):
            mistake(f"the function's name is {name!r}", "a name in C++", "cell")
        arguments = ", ".join(f"unsigned {each}" for each in self.names)
        text, formula = "", self.c
        for step in self.steps:
            if isinstance(step, Listed):
                word = "unsigned short" if max(step.values) < 1 << 16 else "unsigned"
                values = ", ".join(map(str, step.values))
                text += f"__constant__ {word} {name}_table[{len(step.values)}] = {{{values}}};\n\n"
                formula = formula.replace("TABLE", f"{name}_table")
        unused = "".join(f"    (void){each};\n" for each in self.names if each not in names_in(self.expression()))
        head = f"__device__ __forceinline__ unsigned {name}({arguments})"
        return f"{text}{head} {{\n{unused}    return {formula};\n}}\n"

    @property
    def instructions(self) -> int:
        """What the index costs, in integer instructions of a GPU (`instructions_of`)."""
        return instructions_of(self.expression())

    @property
    def cute(self) -> str | None:
        """The layout as CuTe writes it, where strides and one Swizzle over elements make it up; else None."""
        pads, strides = [step for step in self.steps if isinstance(step, Pad)], dict.fromkeys(self.order, 1)
        rest = self.steps[len(pads) :]
        pitch = self.shape[self.order[-1]]
        if len(pads) > 1 or len(rest) > 1 or self.steps[: len(pads)] != tuple(pads):
            return None
        if pads and (pads[0].every != pitch or len(self.order) > 2):
            return None
        stride = 1
        for axis in reversed(self.order):
            strides[axis] = stride
            stride *= self.shape[axis] + (pads[0].by if pads and axis == self.order[-1] else 0)
        shape, steps = (
            f"{name}<{','.join(f'_{value}' for value in values)}>"
            for name, values in (("Shape", self.shape), ("Stride", [strides[a] for a in range(len(self.shape))]))
        )
        plain = f"Layout<{shape},{steps}>"
        if not rest:
            return plain
        bms = rest[0].bms if isinstance(rest[0], FlipBits) else None
        return f"composition(Swizzle<{bms[0]},{bms[1]},{bms[2]}>{{}}, {plain}{{}})" if bms else None

    @property
    def tma(self) -> str | None:
        """TMA's mode that stores a box in this layout: NONE, 32B, 64B or 128B; None where no mode does.

        The box is the tile, its rows along the fastest axis as long as the mode's width (Tensor Map, CUDA Driver API).
        """
        row = self.shape[self.order[-1]] * self.bits // 8
        if not self.steps:
            return "NONE" if row % 16 == 0 else None
        step = self.steps[0]
        bms = step.bms if len(self.steps) == 1 and isinstance(step, FlipBits) else None
        if bms is None or row not in TMA_MODES or self.bits not in (8, 16, 32, 64):
            return None
        b, name = TMA_MODES[row]
        scale = (self.bits // 8).bit_length() - 1
        return name if bms == (b, 4 - scale, 3) else None

    def banks(self, banks: int = BANKS, word: int = WORD) -> Addresses:
        """Return the bank that each cell begins in, an array of the tile's shape."""
        found: Addresses = self.table() * self.bits // 8 // word % banks
        return found

    def __repr__(self) -> str:
        size = "x".join(map(str, self.shape))
        return f"<Layout {size} of {self.bits} bits, {self.kind}: {self.formula}>"

    def _repr_html_(self) -> str:
        return svg(self.banks(), repr(self), BANKS)


def linear(shape: Sequence[int], order: Sequence[int]) -> Addresses:
    """Return each cell's address in an order of the axes, without any step; an array of the tile's shape."""
    x = np.arange(prod(shape), dtype=np.int64).reshape([shape[axis] for axis in order])
    return x.transpose(np.argsort(order))


def agrees(layout: Layout) -> bool:
    """Say whether the printed formula gives what the steps give at every cell, and no two cells share an address."""
    table = layout.table()
    if any(isinstance(step, Listed) for step in layout.steps):
        printed = table  # it is printed as it is
    else:
        coordinates = dict(zip(layout.names, np.indices(layout.shape), strict=True))
        printed = np.broadcast_to(lanes_of(layout.expression(), coordinates), layout.shape)
    return bool((printed == table).all() and table.min() >= 0 and len(np.unique(table)) == table.size)


# ---- formulas ------------------------------------------------------------------------------------------------------


class _Split(Struct, frozen=True):
    """An address as row * pitch + column, with column < pitch; or, where `pitch` is 0, as the column alone.

    `every` is how many elements a row has before it was padded, which later steps count in; `rows` how many rows.
    """

    row: Expr
    column: Expr
    pitch: int
    rows: int
    size: int

    @staticmethod
    def of(layout: Layout) -> _Split:
        variables = [Var(name, DType.INDEX, _NOWHERE) for name in layout.names]
        *slow, fast = layout.order
        row: Expr = number(0, _NOWHERE)
        for axis in slow:
            row = _sum(_product(row, layout.shape[axis]), variables[axis])
        rows = prod(layout.shape[axis] for axis in slow)
        return _Split(row, variables[fast], layout.shape[fast], rows, prod(layout.shape))

    def whole(self) -> Expr:
        return _sum(_product(self.row, self.pitch), self.column)

    def after(self, step: Step) -> _Split:
        match step:
            case Pad(every, by) if self.pitch and every % self.pitch == 0:
                size = self.size + (self.size - 1) // every * by
                if every == self.pitch:
                    return _Split(self.row, self.column, every + by, self.rows, self.rows * (every + by))
                gap = _product(_quotient(self.row, every // self.pitch), by)
                return _one(_sum(self.whole(), gap), size)
            case Pad(every, by):
                x = self.whole()
                return _one(_sum(x, _product(_quotient(x, every), by)), self.size + (self.size - 1) // every * by)
            case Rotate(n, by, per, unit):
                assert n == self.pitch, "rows are turned before they are taken apart"
                turn = _product(self.row, by)
                if per:
                    turn = _sum(turn, _product(_quotient(self.row, per), unit))
                return _Split(self.row, _remainder(_sum(self.column, turn), n), n, self.rows, self.size)
            case FlipBits(columns):
                return self._flipped(columns)
            case FlipRun(shift, ones):
                x, row = self.whole(), (1 << shift) - 1
                run = binary("^", x, binary("+" if ones else "-", x, number(1, _NOWHERE)))
                flipped = binary("&", binary("&", binary(">>", x, number(shift, _NOWHERE)), run), number(row, _NOWHERE))
                return _one(binary("^", x, flipped), (self.size + row) // (row + 1) * (row + 1))
            case Listed():
                return _one(Load("TABLE", (self.whole(),), DType.INDEX, _NOWHERE), max(step.values) + 1)

    def _flipped(self, columns: tuple[int, ...]) -> _Split:
        bits = self.pitch.bit_length() - 1
        by_row = self.pitch == 1 << bits and not any(columns[:bits])
        if by_row and all(column < self.pitch for column in columns):
            flipped = _flip(self.column, columns[bits:], self.row, self.rows)
            return _Split(self.row, flipped, self.pitch, self.rows, self.size)
        x = self.whole()
        return _one(_flip(x, columns, x, self.size), 1 << max(self.size - 1, *columns, 0).bit_length())


def _one(x: Expr, size: int) -> _Split:
    return _Split(number(0, _NOWHERE), x, 0, 1, size)


def _flip(x: Expr, columns: tuple[int, ...], by: Expr, size: int) -> Expr:
    """Return x with the bits flipped that each bit of `by`, which is below `size`, flips."""
    bits = max(0, size - 1).bit_length()
    used = (columns + (0,) * bits)[:bits]  # as many as `by` has bits, so that no mask is left out
    if not any(used):
        return x
    for term in Matrix(used).terms(by):
        x = binary("^", x, term)
    return x


def _sum(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and left.value == 0:
        return right
    return left if isinstance(right, Const) and right.value == 0 else binary("+", left, right)


def _product(x: Expr, factor: int) -> Expr:
    if factor == 1 or (isinstance(x, Const) and x.value == 0):
        return x
    return number(0, _NOWHERE) if factor == 0 else binary("*", x, number(factor, _NOWHERE))


def _quotient(x: Expr, divisor: int) -> Expr:
    if divisor & (divisor - 1):
        return binary("//", x, number(divisor, _NOWHERE))
    return x if divisor == 1 else binary(">>", x, number(divisor.bit_length() - 1, _NOWHERE))


def _remainder(x: Expr, divisor: int) -> Expr:
    if divisor & (divisor - 1):
        return binary("%", x, number(divisor, _NOWHERE))
    return binary("&", x, number(divisor - 1, _NOWHERE)) if divisor > 1 else number(0, _NOWHERE)


def instructions_of(node: Expr) -> int:
    """Return how many instructions an index takes: what is written twice is computed once.

    One for each operator; `a*k + b` is one (IMAD), so is `a ^ b & k` (LOP3). A quotient or a remainder by a number that
    is no power of two takes two and three (multiply high, shift, multiply and subtract), a load from a table one.
    """
    seen: set[Expr] = set()

    def cost(node: Expr) -> int:
        if node in seen or isinstance(node, Const | Var):
            return 0
        seen.add(node)
        match node:
            case Load(_, indices):
                return 1 + sum(cost(each) for each in indices)
            case Binary(op, left, right):
                own = {"//": 2, "%": 3}.get(op, 1)
                joined = {"+": "*", "^": "&"}.get(op)
                parts = 0
                for part in (left, right):
                    if own and joined and isinstance(part, Binary) and part.op == joined and part not in seen:
                        seen.add(part)
                        parts += cost(part.left) + cost(part.right)
                        joined = None  # one instruction takes one of them in
                    else:
                        parts += cost(part)
                return own + parts
        raise AssertionError(node)

    return cost(node)


def row_major(shape: Sequence[int], bits: int = 32) -> Layout:
    """Return the tile in row-major order, the last axis the fastest."""
    return Layout(checked_shape(shape), checked_bits(bits), tuple(range(len(shape))))


def column_major(shape: Sequence[int], bits: int = 32) -> Layout:
    """Return the tile in column-major order, the first axis the fastest."""
    return Layout(checked_shape(shape), checked_bits(bits), tuple(reversed(range(len(shape)))))


def padded(shape: Sequence[int], pitch: int, bits: int = 32) -> Layout:
    """Return the tile in row-major order whose rows begin `pitch` elements apart: `float tile[32][33]` is pitch 33."""
    plain = row_major(shape, bits)
    n = plain.shape[-1]
    if not is_int(pitch) or pitch < n:
        mistake(f"the pitch is {pitch!r}", f"at least the {n} elements of a row", fix=f"write {n} or more")
    return plain if pitch == n else Layout(plain.shape, bits, plain.order, (Pad(n, pitch - n),))


def rotated(shape: Sequence[int], by: int = 1, bits: int = 32) -> Layout:
    """Return the tile in row-major order with row r turned by `by * r`: r * n + (c + by * r) % n."""
    plain = row_major(shape, bits)
    n = plain.shape[-1]
    if not is_int(by):
        mistake(
            f"rows are turned by {by!r}",
            "an int",
            fix="write by how many elements each row is turned further than the one before",
        )
    return Layout(plain.shape, bits, plain.order, (Rotate(n, by % n),))


def swizzled(shape: Sequence[int], b: int, m: int, s: int, bits: int = 32) -> Layout:
    """Return the tile in row-major order under CuTe's Swizzle<B, M, S>, which counts elements."""
    if not all(is_int(each) and each >= 0 for each in (b, m, s)) or s < b:
        mistake(
            f"the swizzle is <{b!r}, {m!r}, {s!r}>", "B, M, S from 0, with S at least B", "swizzled(shape, 3, 3, 3)"
        )
    plain = row_major(shape, bits)
    return Layout(plain.shape, bits, plain.order, (swizzle(b, m, s),))


def xored(shape: Sequence[int], columns: Sequence[int], bits: int = 32) -> Layout:
    """Return the tile in row-major order where bit j of an address flips the bits of `columns[j]`, all below bit j."""
    if not all(is_int(column) and 0 <= column < 1 << j for j, column in enumerate(columns)):
        mistake(
            f"the columns are {columns!r}",
            "for each bit of the address the bits below that it flips",
            fix="write a mask for each bit, 0 for none",
        )
    plain = row_major(shape, bits)
    return Layout(plain.shape, bits, plain.order, (FlipBits(tuple(columns)),))


def checked_shape(shape: Any, example: str = "row_major((32, 32))") -> tuple[int, ...]:
    """Return a tile's shape, or raise the user's error, with an example of what was called."""
    if not isinstance(shape, tuple | list) or not shape or not all(is_int(n) and n >= 1 for n in shape):
        mistake(f"the shape is {shape!r}", "a tuple of ints from 1", example)
    return tuple(int(n) for n in shape)


def checked_bits(bits: Any) -> int:
    """Return how many bits an element has, or raise the user's error."""
    if bits not in (8, 16, 32, 64, 128):
        mistake(f"an element has {bits!r} bits", "8, 16, 32, 64 or 128 bits", "bits=16 for f16 and bf16")
    return int(bits)
