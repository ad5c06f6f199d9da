"""The text around a tiled kernel: its lengths, where a block's part of each array begins, and how much is left of it.

The kernel's statements are those of block 0. Where offsets of 32 bits may do, indices count from where the block's part
begins, `x[begin + i]`, as that is one multiplication and addition for an address. Elsewhere every pointer is first
moved to the block's own part, so that indices stay small numbers. `left` says how many units of the length the block
has: all of `tile`, or fewer at the end. It is computed where the bounds are, as blocks that are whole do not ask for
it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from math import gcd, prod

from msgspec import Struct

from cuda_out.analysis.registers import is_static, static_names
from cuda_out.tiling.tiling import Span, TiledAxis, Tiling
from symbolic.ir.facts import Range
from symbolic.ir.program import Axis, Binary, Const, Coordinate, Expr, Load, Parameter, Program, Store
from symbolic.ir.walk import FreshNames, own_expressions, statements, subexpressions


def linear_text(scale: int, name: str, add: int) -> str:
    """Return `scale * name + add` as text.

    >>> linear(1, "n", 2), linear(3, "n", 0), linear(2, "n", -1)
    ('n + 2', '3 * n', '2 * n - 1')
    """
    product = name if scale == 1 else f"{scale} * {name}"
    return product if not add else f"{product} {'+' if add > 0 else '-'} {abs(add)}"


class TileText(Struct, frozen=True):
    """The names for the tiled axes of one kernel: `lengths` are its arguments, `begins` and `lefts` are local to it.

    `moved` has the arrays whose pointers are moved to the block's own part; indices of others count from where it
    begins."""

    tiling: Tiling
    program: Program
    names: Mapping[str, str]
    lengths: Mapping[Axis, str]
    begins: Mapping[Axis, str]
    lefts: Mapping[Axis, str]
    befores: Mapping[Axis, str]
    pitches: Mapping[tuple[str, int], str]
    compute: str
    whole: str
    moved: frozenset[str]

    def filler_of(self, array: str) -> int:
        """Return what stands for an element beyond an array's end: of index data a number in its range."""
        return filler(self.program, next(p for p in self.program.parameters if p.name == array))

    @property
    def taken(self) -> tuple[str, ...]:
        """All names that were added to the program's."""
        names = (*self.lengths.values(), *self.begins.values(), *self.lefts.values(), *self.befores.values())
        return (*names, *self.pitches.values(), self.compute, self.whole)

    def span(self, array: str, dimension: int) -> Span | None:
        return self.tiling.spans[array][dimension]

    def extent_text(self, parameter: Parameter, dimension: int) -> str:
        """Return an extent in terms of the lengths: `n + 2`."""
        span = self.span(parameter.name, dimension)
        if span is None:
            return str(parameter.shape[dimension])
        return linear_text(span.scale, self.lengths[span.axis], span.halo)

    def shape(self, parameter: Parameter) -> tuple[int | str, ...]:
        """Return the extents from which addresses are computed: names where the extents vary."""
        return tuple(
            self.pitches.get((parameter.name, dimension), extent) for dimension, extent in enumerate(parameter.shape)
        )

    def bound(self, array: str, dimension: int, index: Expr, known: Range) -> str:
        """Return what an index must be less than, or '' if it always is."""
        span = self.span(array, dimension)
        if span is None or span.axis == "k":  # along which the program asks itself
            return ""
        axis = self._axis(span.axis)
        if known.hi < span.scale * axis.step + span.halo or _clamped(index, span):
            return ""
        if axis.step == axis.tile and not axis.edges:  # blocks are whole
            return str(span.scale * axis.tile + span.halo)
        return linear_text(span.scale, self.lefts[span.axis], span.halo)

    def covered(self, array: str, dimension: int, index: Range) -> bool:
        """Say whether an index is in bounds wherever the axis has its reach before it."""
        span = self.span(array, dimension)
        return span is not None and index.hi < span.scale * self._axis(span.axis).reach + span.halo

    def in_reach(self, axes: Container[Axis], *, narrow: bool) -> str:
        """Return the condition that a block finds all that it accesses along these axes, with `narrow` by 32 bits."""
        found, alone = [], narrow and self.tiling.narrow_offsets
        for each in self.tiling.axes:
            length = self.lengths[each.axis]
            if each.axis in axes:
                if each.before:
                    found.append(f"{self.begins[each.axis]} >= {each.before}")
                has = f"{length} - {self.begins[each.axis]}"
                found.append(f"{f'int({has})' if alone else has} >= {each.reach}")
            if narrow and each.narrow:
                found.append(f"{length} <= {each.narrow}")
        return " && ".join(found)

    def narrow(self) -> list[str]:
        """Return the distances between rows, and where a block begins, that have 32 bits where lengths are in reach."""
        found = list(self.begins.values()) if len(self.moved) < len(self.program.parameters) else []
        for (array, dimension), name in self.pitches.items():
            span = self.span(array, dimension)
            if span is not None and self.tiling.pitched(array) == dimension and self._axis(span.axis).narrow:
                found.append(name)
        return found

    def coordinates(self) -> dict[tuple[str, str], str]:
        """Return what the program's questions how much is before a block, or left for it, are printed as."""
        kinds = {"left": self.lefts, "before": self.befores}
        return {(kind, axis): name for kind, names in kinds.items() for axis, name in names.items()}

    def _axis(self, axis: Axis) -> TiledAxis:
        return next(each for each in self.tiling.axes if each.axis == axis)

    def step(self, array: str) -> int:
        """Return a number that divides the distance of a block's part from the array's start; 0 if that is 0.

        The number is 1 if the distance between rows varies, because rows may then begin anywhere.
        """
        found = 0
        for dimension, span in enumerate(self.tiling.spans[array]):
            if span is not None and span.axis != "k":
                fixed = self._parameter(array).shape[dimension + 1 :]
                found = gcd(found, span.scale * self._axis(span.axis).tile * prod(fixed))
        return 1 if any(name == array for name, _ in self.pitches) else found

    def _parameter(self, array: str) -> Parameter:
        return next(each for each in self.program.parameters if each.name == array)

    def preamble(self, body: str) -> list[str]:
        """Return the statements before a body: where its block begins, and in each array; the distances of rows that
        are used, which those of a single row are not."""
        moves = []
        for parameter in self.program.parameters:
            if parameter.name in self.moved and (moved := self.offset(parameter.name)):
                moves.append(f"{self.names[parameter.name]} += {moved};")
        used = "\n".join([body, *moves])
        lines = []
        for axis in self.tiling.of_grid:
            lines.append(f"const long long {self.begins[axis.axis]} = blockIdx.{axis.axis} * {axis.tile}ll;")
        for parameter in self.program.parameters:
            for dimension in range(1, len(parameter.shape)):
                if (name := self.pitches.get((parameter.name, dimension))) and _mentions(used, name):
                    lines.append(f"const long long {name} = {self.extent_text(parameter, dimension)};")
        return lines + moves

    def remainders(self, body: str, whole: bool) -> list[str]:
        """Return the statements that say how much of the lengths a body's block has, but only those that it uses.

        With `whole`, the body has a name for whether its block has all of that along each axis.
        """
        lines, either = [], f"{self.whole} || " if whole else ""
        for axis in self.tiling.axes:
            if axis.axis == "k":
                if _mentions(body, self.lefts["k"]):
                    lines.append(f"const int {self.lefts['k']} = int({self.lengths['k']});")
                continue
            left, rest = self.lefts[axis.axis], f"{self.lengths[axis.axis]} - {self.begins[axis.axis]}"
            if axis.edges:
                before, begin = self.befores[axis.axis], self.begins[axis.axis]
                if _mentions(body, before):
                    lines.append(
                        f"const int {before} = {either}{begin} >= {axis.before} ? {axis.before} : int({begin});"
                    )
                if _mentions(body, left):
                    lines.append(f"const int {left} = {either}{rest} >= {axis.reach} ? {axis.reach} : int({rest});")
            elif _mentions(body, left):
                lines.append(f"const int {left} = {rest} < {axis.tile} ? int({rest}) : {axis.tile};")
        return lines

    def offset(self, array: str) -> str:
        """Return how far a block's part of an array is from its beginning: `begin_y * x_1 + begin_x`."""
        parameter, terms = self._parameter(array), []
        for dimension, span in enumerate(self.tiling.spans[parameter.name]):
            if span is None or span.axis == "k":
                continue
            factors = [] if span.scale == 1 else [str(span.scale)]
            factors.append(self.begins[span.axis])
            factors += [str(extent) for extent in self.shape(parameter)[dimension + 1 :] if extent != 1]
            terms.append(" * ".join(factors))
        return " + ".join(terms)


def _clamped(index: Expr, span: Span) -> bool:
    """Tell whether an index is the lesser of something and what is left of a length: `min(i + 1, left - 1)`."""
    match index:
        case Binary(op="min", left=one, right=two):
            return _clamped(one, span) or _clamped(two, span)
        case Binary(op="-", left=Coordinate(name="left", axis=axis), right=Const(value=less)):
            return axis == span.axis and span.scale == 1 and less > -span.halo
        case _:
            return False


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def filler(program: Program, parameter: Parameter) -> int:
    """Return what a load out of range gives: 0, of index data a number in its range, and 1 if the kernel divides
    integers, so that no lane divides by a missing element."""
    divides = any(
        isinstance(part, Binary) and part.op in ("//", "%") and part.dtype.is_data
        for stmt in statements(program.body)
        for expr in own_expressions(stmt)
        for part in subexpressions(expr)
    )
    return min(int(divides), parameter.below - 1) if parameter.below else int(divides)


def _moved(tiling: Tiling, program: Program) -> frozenset[str]:
    """Return the arrays whose pointers are moved to the block's own part.

    Others are those in which a block's threads take their own elements along the axis. Where all threads take the same
    ones, constants are what is added to the beginning, and a pointer with constant offsets takes fewer instructions.
    """
    every = frozenset(parameter.name for parameter in program.parameters)
    if not tiling.narrow_offsets:
        return every
    static = static_names(program)

    def own(array: str, indices: tuple[Expr, ...]) -> bool:
        pairs = zip(indices, tiling.spans.get(array, ()), strict=False)
        return any(span is not None and not is_static(index, static) for index, span in pairs)

    stmts = list(statements(program.body))
    accesses = [(stmt.array, stmt.indices) for stmt in stmts if isinstance(stmt, Store)]
    parts = (part for stmt in stmts for expr in own_expressions(stmt) for part in subexpressions(expr))
    accesses += [(part.array, part.indices) for part in parts if isinstance(part, Load)]
    return every - {array for array, indices in accesses if own(array, indices)}


def tile_text(
    tiling: Tiling, program: Program, names: Mapping[str, str], taken: Iterable[str], *, whole: bool = False
) -> TileText:
    """Choose names that the program does not use; `whole` says that there is a text for whole blocks."""
    fresh = FreshNames({*names.values(), *taken})
    several = len(tiling.axes) > 1

    def each(wish: str) -> dict[Axis, str]:
        return {axis.axis: fresh.take(f"{wish}_{axis.axis}" if several else wish) for axis in tiling.axes}

    lengths, begins, lefts, befores = each("n"), each("begin"), each("left"), each("before")
    pitches = {
        (parameter.name, dimension): fresh.take(f"{names[parameter.name]}_{dimension}")
        for parameter in program.parameters
        for dimension, span in enumerate(tiling.spans[parameter.name])
        if span is not None and dimension > 0
    }
    if tiling.of_loops:
        lefts["k"] = fresh.take("length")
    compute = fresh.take("compute")
    moved = _moved(tiling, program) if whole else frozenset(parameter.name for parameter in program.parameters)
    of_whole = fresh.take("whole")
    return TileText(tiling, program, names, lengths, begins, lefts, befores, pitches, compute, of_whole, moved)
