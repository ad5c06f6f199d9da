"""Any length along a loop: row sums, dot products, the k of a matrix product, the rows of a softmax.

1. Every trip of a loop does what its first does, moved by one chunk (`cuda_out.tiling.trips.one_trip`). It asks only
   whether elements exist.
2. Trips share nothing but what they add to: a variable, an accumulator or an element of an array to which the loop only
   applies one operator that commutes, or puts states behind each other in the order of trips. What else a trip computes
   in, it has written before, and nobody reads later. Where chunks are fetched ahead, in stages that take turns, trips
   are alike in groups of as many as there are stages, and a trip reads nothing that was written more trips before.
3. At lengths of less than one chunk, one, a few, and more than the sketch has, the kernel is its specification.

By 1 and 2, after T trips a thread holds what each trip alone would give it, put together by an operator for which the
order does not matter, and a trip's part is that of the first trip, of elements T chunks further on. What follows the
loop does not know T. So a kernel at T + 1 trips is the kernel at T trips with as many more items in the same places,
and 3 says that these are the specification's. That the specification goes on in this way is compared, not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import inf, lcm
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec.structs import replace

from cuda_out.passes.simplify import inline_finals
from cuda_out.tiling.tiling import Masks, Span, TiledAxis, Tiling
from cuda_out.tiling.translation import NotTranslated
from cuda_out.tiling.trips import (
    ChunkLoop,
    chunk_loops,
    is_length,
    one_trip,
    period_of,
    state_updates,
    update_of,
    with_length,
)
from swizzle.answers.emit.any_length.conditions import Fixed, FixedSize, any_length
from swizzle.language.specs.specification import Meaning, symbolic_inputs
from swizzle.language.specs.verify import run_canonical, verify
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.operator_laws import find_law
from symbolic.algebra.terms import Terms
from symbolic.errors import SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, launch_facts, range_of, rewrite
from symbolic.ir.functions import Gather
from symbolic.ir.index import unflattened
from symbolic.ir.program import Axis, Expr, Program, Stmt
from symbolic.ir.walk import (
    Body,
    bodies,
    functions_of,
    map_bodies,
    names_in,
    own_expressions,
    statements,
    subexpressions,
)
from symbolic.machine.machine import Machine
from symbolic.machine.run import Run
from symbolic.values.vector import Vector


def run_with_few_trips(program: Program, loop: ir.For, scratch: tuple[str, ...], period: int) -> Run:
    """Run a program in whose loop a trip finds nothing in the `scratch` arrays that was written `period` or more trips
    before, what was written before the loop counting as of the trips just before; nor does what follows the loop."""
    terms = Terms()
    return _FewTrips(program, terms, loop, scratch, period).run()


class _FewTrips(Machine):
    def __init__(self, program: Program, terms: Terms, loop: ir.For, scratch: tuple[str, ...], period: int) -> None:
        super().__init__(program, Canonical(terms), symbolic_inputs(program, terms))
        self.scratch, self.period, self.loop = scratch, period, loop

    def execute(self, statement: ir.Stmt, mask: Vector) -> None:
        if not (isinstance(statement, ir.For) and (statement.place, statement.variable) == self._name):
            super().execute(statement, mask)
            return
        start, stop, step = (self._uniform(each, mask) for each in (statement.start, statement.stop, statement.step))
        outer, written = self.rules.loops, [self._writes()]
        for number in range(start, stop, step):
            if len(written) > self.period - 1:
                self._forget(written[-self.period])
            self.rules.loops = (*outer, number)
            self.scalars[statement.variable] = np.full(self.shape.count, number, np.int64)
            for inner in statement.body:
                self.execute(inner, mask)
            written.append(self._writes())
        self.rules.loops = outer
        self._forget(written[-1])

    @property
    def _name(self) -> tuple[object, str]:
        return self.loop.place, self.loop.variable

    def _writes(self) -> dict[str, int]:
        return {name: self.memories[name].writes for name in self.scratch}

    def _forget(self, until: dict[str, int]) -> None:
        """Take away what was written up to then."""
        for name, number in until.items():
            self.memories[name].forget(number)


SpecFunction: TypeAlias = Callable[..., Any]
FILLERS: Final = (0, -inf, inf, 1)
MOST: Final = 1 << 16
"""Elements of a chunk: the numbers of those behind the greatest length have 31 bits."""
EVERY: Final = 64
"""Chunks up to this size are cut at every element, others at some."""


def along_loops(program: Program, spec: SpecFunction, sizes: Tiling | FixedSize) -> Tiling | FixedSize:
    """Find the length along which a verified kernel's loops may run as far as they like, beside those of its grid."""
    tiling = sizes if isinstance(sizes, Tiling) else None
    if tiling is not None and any(axis.edges for axis in tiling.axes):
        return sizes
    loops = chunk_loops(inline_finals(program))
    reason = ""
    for declared in dict.fromkeys(each.declared for each in loops):
        group = [each for each in loops if each.declared == declared]
        try:
            return LoopLengths(program, spec, tiling, group).check()
        except Fixed as no:
            reason = reason or f"{declared} stays: {no}"
    if not reason:
        return sizes
    if isinstance(sizes, Tiling):
        return replace(sizes, kept=reason)
    return FixedSize(f"{sizes.why}, and {reason}", sizes.place)


class LoopLengths:
    """Checks the loops along one length; the methods raise Fixed."""

    def __init__(
        self, program: Program, spec: SpecFunction | None, grid: Tiling | None, loops: list[ChunkLoop]
    ) -> None:
        self.program, self.spec, self.grid = program, spec, grid
        chunk = lcm(*(each.chunk for each in loops))
        self.period = lcm(*(each.period for each in loops))
        along = {dimension for each in loops for dimension in each.along}
        spans: dict[str, tuple[Span | None, ...]] = {}
        for parameter in program.parameters:
            known = grid.spans[parameter.name] if grid else (None,) * len(parameter.shape)
            both = [place for place, span in enumerate(known) if span and (parameter.name, place) in along]
            if both:
                raise Fixed(f"{parameter.name} grows there with the grid, too")
            spans[parameter.name] = tuple(
                Span("k", 1, 0) if (parameter.name, place) in along else span for place, span in enumerate(known)
            )
        if chunk > MOST:
            raise Fixed(f"a chunk of {chunk} elements is more than {MOST}")
        axis = TiledAxis("k", chunk, 1, loops[0].declared)
        axes = tuple(replace(each, narrow=0) for each in grid.axes) if grid else ()
        self.tiling = Tiling((*axes, axis), spans)
        self.axis = axis

    def check(self) -> Tiling:
        self._goes_on()
        self.trips_apart()
        self._rightly_masked()
        lengths = list(self.lengths())
        for length in lengths:
            self._right_at(length)
        self._grid_elsewhere(lengths[-1])
        base = self.grid.evidence if self.grid else ((),)
        blocks = tuple(min(axis.tile, axis.declared) for axis in self.tiling.of_grid)
        evidence = [(*each, self.axis.declared) for each in base if each]
        evidence += [(*blocks, length) for length in lengths]
        return replace(self.tiling, evidence=tuple(dict.fromkeys(evidence)))

    def trips_apart(self) -> None:
        """Require that trips are alike, and share nothing but what they add to (1 and 2)."""
        stored = [s for s in statements(self.program.body) if isinstance(s, ir.Store) and s.atomic]
        if stored:
            raise Fixed(f"line {stored[0].place.line} adds to what other blocks add to")
        for function, _ in functions_of(self.program):
            row = function.row
            if isinstance(row, Gather) and any(
                span and span.axis == "k" for span in self.tiling.spans.get(row.array, ())
            ):
                raise Fixed(f"data whose range is declared chooses elements of {row.array}")
        self._apart()

    # -- at some lengths ------------------------------------------------------------------------------------

    def lengths(self) -> Iterator[int]:
        """Yield the lengths that are tried: all ways to cut one chunk, if they are few, and up to three more."""
        chunk, declared = self.axis.tile, self.axis.declared
        some = {1, 2, 3, chunk // 2, chunk - 1, chunk}
        some |= {size + off for size in (4, 8, 16, 32, 64, 128, 256, 512) for off in (-1, 0, 1)}
        wanted = range(1, chunk + 1) if chunk <= EVERY else sorted(n for n in some if 0 < n <= chunk)
        last = max(declared, (2 * self.period + 1) * chunk if self.period > 1 else 0)
        more = [chunk + 1, 2 * chunk - 1, 2 * chunk, 2 * chunk + 1, 3 * chunk, last + chunk + chunk // 2 + 1]
        more += [trips * chunk + off for trips in range(3, 2 * self.period + 2) for off in (0, 1)]
        yield from dict.fromkeys(length for length in [*wanted, *more] if length >= self.axis.least)

    def at(self, length: int, tiling: Tiling | None = None) -> Program:
        """Return the program at a length, with as few blocks as there can be."""
        tiling = tiling or self.tiling
        lengths: dict[Axis, int] = {each.axis: min(each.tile, each.declared) for each in tiling.of_grid}
        return tiling.at(with_length(self.program, tiling, length), {**lengths, "k": length})

    def _right_at(self, length: int, tiling: Tiling | None = None) -> None:
        assert self.spec is not None
        program = self.at(length, tiling)
        meaning = self._meaning(program, length)
        try:
            found = verify(program, self.spec, meaning)
        except SwizzleError as error:
            raise Fixed(f"at length {length}, {error.found}") from None
        if found.violations:
            raise Fixed(f"at length {length}, {found.violations[0].message}")
        if found.mismatches:
            bad = found.mismatches[0]
            raise Fixed(f"at length {length}, {bad.array}[{bad.address}] would be wrong")

    def _meaning(self, program: Program, length: int) -> Meaning:
        assert self.spec is not None
        try:
            return Meaning.of(program, self.spec)
        except SwizzleError:
            raise Fixed(
                f"the specification gives nothing at length {length}: write it with len(x), not with a number"
            ) from None

    def _goes_on(self) -> None:
        """Require that the specification takes elements of an input behind the declared length where there are some."""
        declared = self.axis.declared
        for length in (self.telling(self.tiling)[0], declared + self.axis.tile):
            program = self.at(length)
            far = {
                parameter.name: (parameter.shape, place)
                for parameter in program.parameters
                for place, span in enumerate(self.tiling.spans[parameter.name])
                if span and span.axis == "k" and parameter.role != "out"
            }
            meaning = self._meaning(program, length)
            for term in meaning.terms.made_of_all(chain.from_iterable(meaning.wanted.values()), ()) if far else ():
                op, args = meaning.terms.nodes[term]
                if op == "atom" and args[0] in far:
                    shape, place = far[args[0]]
                    if unflattened(shape, args[1])[place] >= declared:
                        return
        if far:
            raise Fixed(
                f"the specification takes no more elements at length {length}: write it with len(x), not with a number"
            )

    def _rightly_masked(self) -> None:
        """Choose what stands for elements behind the end, and whether numbers in the kernel are the length."""
        reasons = []
        for tiling in self.masked():
            try:
                for length in self.telling(tiling):
                    self._right_at(length, tiling)
            except Fixed as no:
                reasons.append(str(no))
                continue
            self.choose(tiling)
            return
        raise Fixed(reasons[0])

    def masked(self) -> Iterator[Tiling]:
        """Yield the tilings that may be right, which differ in what stands for elements behind the end."""
        numbers = [
            part
            for stmt in statements(self.program.body)
            for expr in own_expressions(stmt)
            for part in subexpressions(expr)
            if isinstance(part, ir.Const) and part.dtype.is_data and part.value == self.axis.declared
        ]
        types = {parameter.dtype for parameter in self.program.parameters}
        fillers = FILLERS if all(dtype.is_float for dtype in types) else (0, 1)
        for least in (1, self.axis.tile):
            axes = (*self.tiling.of_grid, replace(self.axis, least=least))
            for each in fillers:
                for counts in (False, True) if numbers else (False,):
                    yield replace(self.tiling, axes=axes, masks=Masks(each, counts))

    def telling(self, tiling: Tiling) -> tuple[int, int]:
        """Return lengths at which a wrong choice of these is seen: more than the sketch has, and less than a chunk."""
        assert tiling.of_loops is not None
        half = self.axis.tile // 2
        return self.axis.declared + half + 1, max(half or 1, tiling.of_loops.least)

    def choose(self, tiling: Tiling) -> None:
        assert tiling.of_loops is not None
        self.tiling, self.axis = tiling, tiling.of_loops

    def _grid_elsewhere(self, length: int) -> None:
        """Show that blocks are moved copies of each other at another length along the loops, too."""
        if self.grid is None:
            return
        assert self.spec is not None
        program = self.tiling.at(with_length(self.program, self.tiling, length), {**self.tiling.declared, "k": length})
        found = any_length(program, self.spec)
        ours = [(each.axis, each.tile, each.step) for each in self.grid.axes]
        if isinstance(found, FixedSize) or [(each.axis, each.tile, each.step) for each in found.axes] != ours:
            raise Fixed(f"at length {length}, blocks are not those of other lengths, moved")

    # -- trips by themselves --------------------------------------------------------------------------------

    def _apart(self) -> None:
        program = with_length(self.program, self.tiling)
        loops = [s for s in statements(program.body) if isinstance(s, ir.For) and _asks(s.stop)]
        for loop, after in _with_rest(program.body, ()):
            if not any(loop is each for each in loops):
                continue
            chunk, period = self._chunk_of(program, loop), period_of(loop)
            moves = one_trip(program, loop, chunk, period)
            if isinstance(moves, NotTranslated):
                raise Fixed(f"line {moves.place.line}, in the loop along it, is not the same in each trip")
            self._shares_little(program, loop, after)

        def outside(body: Body) -> Body:
            return tuple(
                replace(s, body=()) if isinstance(s, ir.For) and _asks(s.stop) else map_bodies(s, outside) for s in body
            )

        rewrite(outside(program.body), launch_facts(program), self._settled)

    def _settled(self, stmt: Stmt, facts: Facts) -> Body:
        """Require that what a statement outside the loops asks of the length is the same of all that are not tried."""
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                if isinstance(part, ir.Compare) and (is_length(part.right) or is_length(part.left)):
                    other = part.left if is_length(part.right) else part.right
                    if range_of(other, facts).hi > self.axis.declared + self.axis.tile:
                        raise Fixed(f"line {part.place.line} compares it with more than is tried")
        return (stmt,)

    def _chunk_of(self, program: Program, loop: ir.For) -> int:
        period = period_of(loop)
        moves = one_trip(program, loop, period=period)
        if isinstance(moves, NotTranslated):
            raise Fixed(f"line {moves.place.line}, in the loop along it, is not the same in each trip")
        along = {
            stride // period
            for name, strides in moves.strides.items()
            for stride, span in zip(strides, self.tiling.spans[name], strict=True)
            if span and span.axis == "k" and stride
        }
        others = [
            name
            for name, strides in moves.strides.items()
            for stride, span in zip(strides, self.tiling.spans[name], strict=True)
            if stride and not (span and span.axis == "k")
        ]
        if others:
            raise Fixed(f"{others[0]} is taken along with it, and has another size")
        if len(along) != 1:
            raise Fixed(f"line {loop.place.line} takes it in chunks of different sizes")
        return along.pop()

    def _shares_little(self, program: Program, loop: ir.For, after: frozenset[str]) -> None:
        """Require that trips share nothing but what they add to."""
        declared = {s.name: s.outer for s in statements(program.body) if isinstance(s, ir.DeclareAccumulator)}
        added: dict[str, set[Any]] = {}
        other: dict[str, Stmt] = {}
        mentioned: set[str] = set()
        states = {id(each.statements[0]): each for each in state_updates(loop.body)}
        in_order = {each.joined.operator for each in states.values()}
        parts_of = {id(stmt) for each in states.values() for stmt in each.statements}
        for stmt in statements(loop.body):
            if (state := states.get(id(stmt))) is not None:
                if not state.of_any_length:
                    raise Fixed(f"line {stmt.place.line}: {state.joined.operator} is proved of a number of elements")
                for name in state.words:
                    added.setdefault(name, set()).add(state.joined.operator)
                mentioned |= {name for expr in state.state for name in names_in(expr)}
            if id(stmt) in parts_of:
                continue
            update, own = update_of(stmt), _written(stmt)
            if update is not None and own is not None:
                name, op = update
                added.setdefault(name, set()).add(op or declared[name])
                parts = [n for expr in own_expressions(stmt) for n in _all_names(expr)]
                mentioned |= {n for n in parts if n != name or parts.count(n) > 1}
                continue
            mentioned |= {name for expr in own_expressions(stmt) for name in names_in(expr)}
            if own is not None:
                other.setdefault(own, stmt)
        carried = {
            name
            for name, ops in added.items()
            if len(ops) == 1 and name not in mentioned and name not in other and (ops <= in_order or _commutes(*ops))
        }
        exposed = _exposed(loop.body)
        arrays = {s.name: s for s in statements(program.body) if isinstance(s, ir.DeclareArray)}
        outputs = {parameter.name: parameter for parameter in program.parameters}
        scratch = []
        for name in {*added, *other} - carried:
            line = next(s.place.line for s in statements(loop.body) if _written(s) == name)
            if name in arrays:
                scratch.append(arrays[name])
            elif name in outputs:
                read = any(name in names_in(e) for s in statements(program.body) for e in own_expressions(s))
                if outputs[name].role != "out" or read:
                    raise Fixed(f"{name}, which line {line} stores to, is read as well")
            elif name in exposed:
                raise Fixed(f"{name}, which line {line} sets, is taken from one trip of the loop to the next")
            elif name in after:
                raise Fixed(f"{name}, which line {line} sets, is used behind the loop")
        if scratch:
            self._starts_afresh(program, loop, tuple(scratch))

    def _starts_afresh(self, program: Program, loop: ir.For, scratch: tuple[ir.DeclareArray, ...]) -> None:
        """Run a few trips whose arrays are empty at the beginning of each trip, and behind the loop."""

        def change(body: Body) -> Body:
            found: list[Stmt] = []
            for stmt in body:
                if isinstance(stmt, ir.For) and _same_loop(stmt, loop):
                    found += [replace(stmt, body=(*scratch, *stmt.body)), *scratch]
                else:
                    found.append(map_bodies(stmt, change))
            return tuple(found)

        period = period_of(loop)
        for length in ((period + 2) * self.axis.tile, (period + 1) * self.axis.tile + 1):
            at = self.at(length)
            try:
                if period > 1:
                    run = run_with_few_trips(at, loop, tuple(each.name for each in scratch), period)
                else:
                    run = run_canonical(replace(at, body=change(at.body)), Terms())
            except SwizzleError as error:
                raise Fixed(f"a trip of the loop uses what another one left: {error.found}") from None
            if run.violations:
                raise Fixed(f"a trip of the loop uses what another one left: {run.violations[0].message}")


def _same_loop(stmt: ir.For, loop: ir.For) -> bool:
    return stmt.place == loop.place and stmt.variable == loop.variable


def _asks(expr: Expr) -> bool:
    return any(is_length(part) for part in subexpressions(expr))


def _commutes(op: Any) -> bool:
    law = find_law(op)
    return law is not None and law.commutes


def _written(stmt: Stmt) -> str | None:
    match stmt:
        case ir.Assign(name=name) | ir.Store(array=name) | ir.Accumulate(accumulator=name) | ir.For(variable=name):
            return name
        case ir.CopyAsync(array=name):
            return name
        case ir.DeclareAccumulator(name=name):
            return name
        case _:
            return None


def _all_names(expr: Expr) -> Iterator[str]:
    """Yield the names that an expression reads, as often as it does."""
    for part in subexpressions(expr):
        match part:
            case ir.Var(name=name) | ir.Load(array=name) | ir.AccumulatorValue(accumulator=name):
                yield name
            case _:
                pass


def _exposed(body: Iterable[Stmt], written: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the variables and accumulators that a body may read before it sets them itself."""
    found: frozenset[str] = frozenset()
    known = set(written)
    for stmt in body:
        read = {name for expr in own_expressions(stmt) for name in names_in(expr)}
        match stmt:
            case ir.Accumulate(accumulator=name):
                read.add(name)
            case _:
                pass
        found |= read - known
        inner = known | ({stmt.variable} if isinstance(stmt, ir.For) else set())
        for each in bodies(stmt):
            found |= _exposed(each, frozenset(inner))
        match stmt:
            case ir.Assign(name=name) | ir.DeclareAccumulator(name=name):
                known.add(name)
            case ir.If(then=then, otherwise=otherwise):
                known |= _sets(then) & _sets(otherwise)
            case _:
                pass
    return found


def _sets(body: Body) -> set[str]:
    return {s.name for s in body if isinstance(s, ir.Assign | ir.DeclareAccumulator)}


def _with_rest(body: Body, after: frozenset[str] | tuple[()]) -> Iterator[tuple[ir.For, frozenset[str]]]:
    """Yield every loop, and what is read behind it before it is set again."""
    later = frozenset(after)
    for place, stmt in enumerate(body):
        rest = _exposed(body[place + 1 :]) | (later - _sets(body[place + 1 :]))
        if isinstance(stmt, ir.For):
            yield stmt, rest
            yield from _with_rest(stmt.body, rest | _exposed(stmt.body))
        else:
            for each in bodies(stmt):
                yield from _with_rest(each, rest)
