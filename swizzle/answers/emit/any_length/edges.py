"""Kernels that treat the ends of arrays apart, at any length: padding, clamping, borders.

What such a kernel prints asks how much of the length is before its block, and how much is left for it, each up to what
matters. So there are finitely many things that a block may do, and the machine runs them all: on windows of the arrays
that are the block's own part and what is around it. Each must leave what the specification says there (`near_ends`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from cuda_out.passes.references import plain_coordinates
from cuda_out.passes.simplify import simplify
from cuda_out.tiling.length_text import filler
from cuda_out.tiling.tiling import AXES, TiledAxis, Tiling, coordinates, edge_comparisons, endless, index_ranges
from cuda_out.tiling.translation import NotTranslated, translated
from cuda_out.tiling.trips import ends_of, one_tile
from swizzle.answers.emit.any_length.continuation import Index, NearEnds, NotEven, Rest, cell_at
from swizzle.language.specs.specification import outputs
from swizzle.language.specs.verify import run_canonical
from symbolic.algebra.terms import Term, Terms
from symbolic.errors import SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.facts import FARTHEST, Range
from symbolic.ir.index import flat_index, unflattened
from symbolic.ir.program import Axis, DType, Expr, Parameter, Program, Stmt
from symbolic.ir.walk import Body, map_bodies, map_own, rebuild

MOST_THREADS: Final = 1 << 18
"""Threads of one run of the machine; where all that may be left takes more, some of it is tried."""


class NoEdges(Exception):
    """Why a kernel with edges keeps its sizes: one sentence without its full stop, '' where there are no edges."""


def asks_for_ends(program: Program, tiling: Tiling) -> bool:
    """Tell whether blocks ask how much is before them or left for them; raise NoEdges where that cannot be said."""
    for axis in tiling.axes:
        moves = translated(endless(program, [each.axis for each in tiling.axes]), axis.axis, ends_of(axis))
        if isinstance(moves, NotTranslated):
            raise NoEdges(moves.why)
    return any(part.name in ("before", "left") for part in coordinates(one_tile(program, tiling)))


def with_edges(program: Program, spec: Callable[..., Any], tiling: Tiling) -> Tiling:
    """Return the tiling with what its blocks ask for, where each does what the specification says; or raise NoEdges."""
    changed = next((p for p in program.parameters if p.role == "inout"), None)
    if changed is not None:
        raise NoEdges(f"{changed.name} is overwritten, and near its ends elements are used differently")
    try:
        said = NearEnds(tiling, program, spec)
    except NotEven as error:
        raise NoEdges(str(error)) from None
    axes = [replace(each, least=said.least[each.axis]) for each in tiling.axes]
    block = simplify(plain_coordinates(one_tile(program, tiling)))
    tiling = replace(tiling, axes=_reaches(block, replace(tiling, axes=tuple(axes)), said))
    try:
        return _Cases(block, tiling, said).tried()
    except NoEdges as first:
        return _longer(block, tiling, said, first)


def _longer(block: Program, tiling: Tiling, said: NearEnds, first: NoEdges) -> Tiling:
    """Return the tiling with the least lengths at which the kernel is right, where it is not at lengths at which the
    ends meet; raise what was wrong first if that is not all."""

    def at_least(least: Mapping[Axis, int]) -> Tiling:
        axes = tuple(replace(each, least=least[each.axis]) for each in tiling.axes)
        return _Cases(block, replace(tiling, axes=axes), said).tried()

    least = {a.axis: max(a.least, said.low[a.axis] + said.high[a.axis] + 1) for a in tiling.axes}
    if all(least[each.axis] == each.least for each in tiling.axes):
        raise first
    try:
        found = at_least(least)
    except NoEdges:
        raise first from None
    for each in tiling.axes:
        while least[each.axis] > each.least:
            try:
                found = at_least({**least, each.axis: least[each.axis] - 1})
            except NoEdges:
                break
            least[each.axis] -= 1
    return found


def _reaches(block: Program, tiling: Tiling, said: NearEnds) -> tuple[TiledAxis, ...]:
    """Find how much before a block, and of what is left for it, a block asks for at most."""
    axes = {each.axis: replace(each, reach=each.tile + said.high[each.axis]) for each in tiling.axes}
    while True:
        known: dict[str, Range] = {}
        for name, axis in axes.items():
            known[f"before.{name}"], known[f"left.{name}"] = Range(0, axis.before), Range(1, axis.reach)
        before = {name: axis.before for name, axis in axes.items()}
        reach = {name: axis.reach for name, axis in axes.items()}
        for key, factor, most in edge_comparisons(block, {}):
            kind, _, found = key.partition(".")
            asked = reach if kind == "left" else before
            for name in axes:
                if name == found:
                    asked[name] = max(asked[name], _units(most, factor))
        for array, ranges in index_ranges(block, known).items():
            for here, span in zip(ranges, tiling.spans[array], strict=True):
                if span is not None:
                    before[span.axis] = max(before[span.axis], _units(-here.lo, span.scale))
                    reach[span.axis] = max(reach[span.axis], _units(here.hi + 1 - span.halo, span.scale))
        grown = {  # bounds of indices may be far too wide, so that what is farther than a block is left to the machine
            n: replace(a, before=min(before[n], a.tile), reach=min(reach[n], 2 * a.tile)) for n, a in axes.items()
        }
        if grown == axes:
            return tuple(axes.values())
        axes = grown


def _units(most: float, factor: int) -> int:
    return max(0, math.ceil(min(most, FARTHEST) / factor))


class _Cases:
    """Runs a block in all its places."""

    def __init__(self, block: Program, tiling: Tiling, said: NearEnds) -> None:
        self.block, self.tiling, self.said = block, tiling, said
        self.lefts = {each.axis: self._lefts(each) for each in tiling.axes}

    def _lefts(self, axis: TiledAxis) -> list[int]:
        """Return what may be left for a block: every number, or, of many, those near the ends of its parts."""
        every = list(range(axis.step, axis.reach + 1, axis.step))
        threads = math.prod(self.block.block) * math.prod(each.reach for each in self.tiling.axes)
        if threads <= MOST_THREADS:
            return every
        low, high = self.said.low[axis.axis], self.said.high[axis.axis]
        near = {
            axis.step,
            axis.tile // 2 // axis.step * axis.step,
            *range(axis.tile - high - 1, axis.tile + 2),
            axis.reach,
            low + high,
            low + high + 1,
        }
        return [left for left in every if left in near]

    def tried(self) -> Tiling:
        """Return the tiling with the least steps at which blocks may be cut; raise NoEdges where there are none."""
        wrong: dict[tuple[int, ...], str] = {}
        for first in itertools.product((True, False), repeat=len(self.tiling.axes)):
            wrong |= self._run(dict(zip(self.lefts, first, strict=True)))
        axes = self.tiling.axes
        if not wrong:
            evidence = dict.fromkeys(
                n for n in self.said.evidence if self.tiling.valid(dict(zip(self.lefts, n, strict=True)))
            )
            some = any(len(self.lefts[a.axis]) < a.reach // a.step for a in axes)
            return replace(
                self.tiling, evidence=tuple(evidence), tried=tuple(map(tuple, self.lefts.values())) if some else ()
            )
        choices = [[d for d in range(axis.step, axis.tile + 1) if axis.tile % d == 0] for axis in axes]
        for steps in sorted(itertools.product(*choices), key=math.prod):
            cut = any(all(n % d == 0 for n, d in zip(lefts, steps, strict=True)) for lefts in wrong)
            if not cut and all(axis.declared % d == 0 for axis, d in zip(axes, steps, strict=True)):
                wider = (replace(a, step=d, reach=-(-a.reach // d) * d) for a, d in zip(axes, steps, strict=True))
                return _Cases(self.block, replace(self.tiling, axes=tuple(wider)), self.said).tried()
        raise NoEdges(next(iter(wrong.values())))

    def _run(self, first: Mapping[Axis, bool]) -> dict[tuple[int, ...], str]:
        """Run the block for all that may be left, where along each axis it is the first one or not."""
        before = {each.axis: 0 if first[each.axis] else each.before for each in self.tiling.axes}
        lefts = {  # a first block has the whole length
            axis.axis: [n for n in self.lefts[axis.axis] if not first[axis.axis] or n >= axis.least]
            for axis in self.tiling.axes
        }
        program = _Windowed(self.block, self.tiling, before, lefts).program()
        terms = Terms()
        try:
            run = run_canonical(program, terms)
        except SwizzleError as error:
            raise NoEdges(f"near the ends of the arrays, {error.found}") from None
        if run.violations:
            message = run.violations[0].message.partition(": ")[0]  # the shape is that of a window
            fix = "; have threads beyond the end clamp or skip it" if "out of bounds" in message else ""
            raise NoEdges(f"near the ends of the arrays, counted from a block's beginning, {message}{fix}")
        shapes = {p.name: p.shape for p in program.parameters}

        def atom(name: str, index: Index) -> Term:
            spans = self.tiling.spans[name]
            place = [at + (s.scale * before[s.axis] if s else 0) for at, s in zip(index, spans, strict=True)]
            inside = all(0 <= at < extent for at, extent in zip(place, shapes[name], strict=True))
            return terms.atom(name, flat_index(shapes[name], place)) if inside else terms.atom(f"{name}, afar,", 0)

        wrong: dict[tuple[int, ...], str] = {}
        for parameter in outputs(program):
            memory = run.memories[parameter.name]
            for flat in range(math.prod(parameter.shape)):
                case, *local = unflattened(parameter.shape, flat)
                left = _case(lefts, case)
                owned = self._owned(parameter.name, local, left)
                if owned is None:
                    if memory.written[flat]:
                        wrong[left] = f"a block writes {cell_at(parameter.name, local)}, which belongs to a later block"
                    continue
                for more in self._more(left) if owned else ():
                    rests = {
                        axis: Rest(first[axis], own, further)
                        for axis, own, further in zip(self.lefts, left, more, strict=True)
                    }
                    want = self.said.wanted(rests, parameter.name, tuple(local), terms, atom)
                    if not memory.written[flat] or int(memory.data[flat]) != want:
                        wrong[left] = self._complaint(parameter.name, local, rests)
        return wrong

    def _more(self, lefts: Sequence[int]) -> Iterator[tuple[bool, ...]]:
        """Yield along which axes there may be more than is asked for."""
        yield from itertools.product(
            *(
                (False, True) if left == axis.reach else (False,)
                for left, axis in zip(lefts, self.tiling.axes, strict=True)
            )
        )

    def _owned(self, name: str, local: Sequence[int], lefts: Sequence[int]) -> bool | None:
        """Tell whether an element is the block's; False where the array has ended, None where it is a later block's."""
        left = dict(zip(self.lefts, lefts, strict=True))
        tiles = {each.axis: each.tile for each in self.tiling.axes}
        owned = True
        for at, span in zip(local, self.tiling.spans[name], strict=True):
            if span is not None:
                if at >= span.scale * tiles[span.axis]:
                    return None
                owned &= at < span.scale * left[span.axis]
        return owned

    def _complaint(self, name: str, local: Sequence[int], rests: Mapping[Axis, Rest]) -> str:
        parts = [
            f"{'the first' if rest.first else 'a later'} block along {axis}, {rest.left}{' or more' * rest.more} left"
            for axis, rest in rests.items()
        ]
        return f"{cell_at(name, local)} of {', '.join(parts)} would not be the specification's"


def _case(lefts: Mapping[Axis, Sequence[int]], number: int) -> tuple[int, ...]:
    """Return what is left along each axis in one of the cases."""
    places = unflattened([len(every) for every in lefts.values()], number)
    return tuple(every[at] for every, at in zip(lefts.values(), places, strict=True))


class _Windowed:
    """A program whose blocks are one block with all that may be left for it.

    Arrays begin with what is before the block; elements of outputs are told apart by one more index, the case.
    """

    def __init__(
        self, block: Program, tiling: Tiling, before: Mapping[Axis, int], lefts: Mapping[Axis, Sequence[int]]
    ) -> None:
        self.block, self.place, self.before, self.lefts = block, block.place, before, lefts
        self.spans, self.axes = tiling.spans, {each.axis: each for each in tiling.axes}
        self.written = {p.name for p in block.parameters if p.role in ("out", "inout")}
        self.fillers = {p.name: filler(block, p) for p in block.parameters}
        self.case, self.cases = self._number(0), 1
        for axis, every in lefts.items():
            here = ir.Coordinate("blockIdx", axis, self.place)
            self.case = self._binary("+", self._binary("*", self.case, self._number(len(every))), here)
            self.cases *= len(every)

    def program(self) -> Program:
        known = {f"before.{name}": Range(0, axis.before) for name, axis in self.axes.items()}
        known |= {f"left.{name}": Range(1, axis.reach) for name, axis in self.axes.items()}
        ranges = index_ranges(self.block, known)
        parameters = tuple(self._window(parameter, ranges.get(parameter.name)) for parameter in self.block.parameters)
        sizes = zip(AXES, self.block.grid, strict=True)
        x, y, z = (len(self.lefts[axis]) if axis in self.lefts else size for axis, size in sizes)
        return replace(self.block, body=self._body(self.block.body), grid=(x, y, z), parameters=parameters)

    def _number(self, value: int) -> Expr:
        return ir.Const(value, DType.INDEX, self.place)

    def _binary(self, op: ir.BinaryOp, left: Expr, right: Expr) -> Expr:
        return ir.Binary(op, left, right, DType.INDEX, self.place)

    def _left(self, axis: Axis) -> Expr:
        """Return how much is left along an axis, of the number of the block."""
        every, here = list(self.lefts[axis]), ir.Coordinate("blockIdx", axis, self.place)
        if len(every) > 1 and every == list(range(every[0], every[-1] + 1)):
            return self._binary("+", here, self._number(every[0]))
        found = self._number(every[-1])
        for at in range(len(every) - 2, -1, -1):
            asked = ir.Compare("==", here, self._number(at), self.place)
            found = ir.Select(asked, self._number(every[at]), found, DType.INDEX, self.place)
        return found

    def _moved(self, array: str, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        if array not in self.spans:
            return indices
        if array in self.written:
            return (self.case, *indices)
        return tuple(
            self._binary("+", index, self._number(span.scale * self.before[span.axis])) if span else index
            for index, span in zip(indices, self.spans[array], strict=True)
        )

    def _expr(self, expr: Expr) -> Expr:
        match expr:
            case ir.Coordinate(name="before", axis=axis):
                return self._number(self.before[axis])
            case ir.Coordinate(name="left", axis=axis):
                return self._left(axis)
        expr = rebuild(expr, self._expr)
        if not isinstance(expr, ir.Load) or not any(self.spans.get(expr.array, ())):
            return expr
        found: Expr = replace(expr, indices=self._moved(expr.array, expr.indices))
        for index, span in zip(expr.indices, self.spans[expr.array], strict=True):
            if span is not None:  # as the text does
                scaled = self._binary("*", self._number(span.scale), self._left(span.axis))
                inside = ir.Compare("<", index, self._binary("+", scaled, self._number(span.halo)), self.place)
                filled = ir.Const(self.fillers[expr.array], expr.dtype, self.place)
                found = ir.Select(inside, found, filled, expr.dtype, self.place)
        return found

    def _body(self, body: Body) -> Body:
        return tuple(map_bodies(self._statement(stmt), self._body) for stmt in body)

    def _statement(self, stmt: Stmt) -> Stmt:
        stmt = map_own(stmt, self._expr)
        return replace(stmt, indices=self._moved(stmt.array, stmt.indices)) if isinstance(stmt, ir.Store) else stmt

    def _window(self, parameter: Parameter, ranges: Sequence[Range] | None) -> Parameter:
        """Return an array as large as what is accessed of it, and what is before the block."""
        spans, written = self.spans[parameter.name], parameter.name in self.written
        if not any(spans):
            return parameter
        shape = list[int]()
        far = ranges or [Range(0, 0) for _ in parameter.shape]
        for extent, span, here in zip(parameter.shape, spans, far, strict=True):
            if span is None:
                shape.append(extent)
                continue
            own = max(span.scale * self.axes[span.axis].tile, int(here.hi) + 1)
            shape.append(own if written else own + span.scale * self.before[span.axis])
        return replace(parameter, shape=(self.cases, *shape) if written else tuple(shape))
