"""The machine, recording: it runs a program on canonical terms and keeps a row for each step of one block, or of one
warp of it, with the leaves from which each thread takes a value.

Nothing is computed twice, except an index that the machine does not return, which is computed again by the machine. To
find out which lane a shuffle asks, the threads' own numbers are shuffled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import assert_never

from cuda_out.passes.printed_accesses import Spot, printed_widths
from swizzle.answers.show.panels import BlockTrace, Kind, Lanes, LaneSource, Row, Trace, require_number
from swizzle.language.specs.specification import postcondition, symbolic_inputs
from swizzle.language.specs.verify import compare, run_canonical
from swizzle.solving.solution.answered import WrittenHole
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.terms import Terms
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.copies import has_copies, synchronous
from symbolic.ir.index import flat_index
from symbolic.ir.matrices import MATRIX_ROWS, ROW_BYTES, MatrixMove
from symbolic.ir.program import Expr, Program, Stmt
from symbolic.ir.python_text import python_text
from symbolic.ir.sites import Site
from symbolic.ir.walk import children, rewrite_expression
from symbolic.ir.warp_meaning import row_operand
from symbolic.machine.accesses import MemoryKind, WarpAccess, bytes_of
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.machine import HoleFunction, Machine
from symbolic.values.vector import Vector
from templates.registry import FilledHole


class Threads(Struct, frozen=True):
    """Where each thread of the block has a value from: a row and a thread; -1 is nowhere."""

    row: Lanes
    thread: Lanes

    def where(self, on: npt.NDArray[np.bool_]) -> Threads:
        return Threads(np.where(on, self.row, -1), self.thread)

    def over(self, old: Threads | None) -> Threads:
        """Return this where it is somewhere, and the old elsewhere."""
        if old is None:
            return self
        new = self.row >= 0
        return Threads(np.where(new, self.row, old.row), np.where(new, self.thread, old.thread))


class Top(Struct, frozen=True):
    """One data expression of a statement: what it gave each thread, and the rows that it took its values from."""

    node: Expr
    value: Lanes
    on: npt.NDArray[np.bool_]
    leaves: list[Threads]


def same(a: LaneSource, b: LaneSource) -> bool:
    return bool((a.row == b.row).all() and (a.thread == b.thread).all())


def alias(top: Top) -> Threads | None:
    """Return the one row that an expression takes over as it is, lane by lane, or None where it computes."""
    if not top.leaves or not _is_choice(top.node):
        return None
    merged = top.leaves[0]
    for leaf in top.leaves[1:]:
        merged = leaf.over(merged)
    return merged if (merged.row >= 0)[top.on].all() else None


def _is_choice(node: Expr) -> bool:
    match node:
        case ir.Select(then=then, otherwise=otherwise):
            return _is_choice(then) and _is_choice(otherwise)
        case _:
            return isinstance(node, ir.Var | ir.Load | ir.Shuffle | ir.AccumulatorValue)


_HELPER: Final = "helper "  # begins the name of a loop that the sketch does not spell out
_THREAD: Final = "thread number"  # a variable that no sketch can have: what a shuffle of it gives is who was asked


class Tracer(Machine):
    """The machine on canonical terms, keeping rows for all threads of one block."""

    def __init__(self, program: Program, terms: Terms, hole: HoleFunction | None, block: int) -> None:
        super().__init__(program, Canonical(terms), symbolic_inputs(program, terms), hole)
        shape = self.shape
        self.own = slice(block * shape.block_threads, (block + 1) * shape.block_threads)
        self.threads = np.arange(shape.block_threads)
        self.rows: list[Row] = []
        self.loop_names: list[str] = []
        self.variables: dict[str, Threads] = {}
        self.writers: dict[str, Threads] = {}
        self.added: dict[str, list[Threads]] = {}
        self.leaves: list[Threads] = []
        self.tops: list[Top] = []
        self.found: dict[Site, Any] = {}
        self.depth = 0
        self.names_rows_of, self.rows_named = "", list[WarpAccess]()
        self.kinds = memory_kinds(program)
        self.steered: dict[str, tuple[int, ...]] = {}
        self.scalars[_THREAD] = shape.thread

    # -- statements -----------------------------------------------------------------------------------------

    def execute(self, statement: Stmt, mask: Vector) -> None:
        self.tops = []
        before = len(self.rows)
        match statement:
            case ir.For(variable):
                self.loop_names.append(_HELPER + variable if is_helper(statement) else variable)
                super().execute(statement, mask)
                self.loop_names.pop()
            case ir.Assign(name, value) if value.dtype.is_data:
                super().execute(statement, mask)
                (top,) = self.tops
                new = alias(top)
                if new is None:
                    title = f"{name} = {self._text(value)}"
                    new = self._row("compute", title, statement.place, [top], top.value, top.on, [value])
                elif len(self.rows) > before and (new.row[top.on] == len(self.rows) - 1).all():
                    self.rows[-1] = replace(self.rows[-1], title=f"{name} = {self.rows[-1].title}")
                self.variables[name] = new.over(self.variables.get(name))
            case ir.Assign(name, value):
                super().execute(statement, mask)
                self.steered[name] = self._holes([value])
            case ir.Store():
                super().execute(statement, mask)
                self._stored(statement, mask)
            case ir.Accumulate():
                added = len(self.result.accumulated)
                super().execute(statement, mask)
                if len(self.result.accumulated) > added:
                    self._accumulated(statement, self.result.accumulated[-1].mask)
            case _:
                super().execute(statement, mask)

    def _stored(self, node: ir.Store, mask: Vector) -> None:
        (top,) = self.tops
        access, address = self._access(node, mask, writes=True)
        title = f"{self._cell(node)} = {self._text(node.value)}"
        made = self._row(
            "store", title, node.place, [top], top.value, self._mine(mask), [*node.indices, node.value], access
        )
        on = np.flatnonzero(self._mine(mask) & (address >= 0))
        writers = self._writers(node.array)
        writers.row[address[on]] = made.row[on]
        writers.thread[address[on]] = made.thread[on]

    def _accumulated(self, node: ir.Accumulate, on: Vector) -> None:
        declared, _ = self.accumulators[node.accumulator]
        total: Any = self.tops[0].value
        for top in self.tops[1:]:
            assert declared.inner is not None, "several operands need an inner operator"
            total = self.algebra.binary(declared.inner, total, top.value, declared.dtype)
        name = self._accumulator(node.accumulator, node.indices, on)
        operands = f" {declared.inner} ".join(self._text(operand) for operand in node.operands)
        when = "" if node.condition is None else f" when {self._text(node.condition)}"
        made = self._row(
            "accumulate",
            f"{name} {declared.outer}= {operands}{when}",
            node.place,
            self.tops,
            total,
            self._mine(on),
            [*node.operands] if node.condition is None else [*node.operands, node.condition],
            accumulator=name,
        )
        self.added.setdefault(name, []).append(made)

    # -- expressions ----------------------------------------------------------------------------------------

    def value(self, node: Expr, mask: Vector) -> Any:
        if not node.dtype.is_data:
            return super().value(node, mask)
        self.depth += 1
        match node:
            case ir.Load(indices=()):  # a scalar parameter, which nothing moves
                found = super().value(node, mask)
            case ir.Var() | ir.Load() | ir.Shuffle() | ir.AccumulatorValue():
                found, leaf = self._leaf(node, mask)
                self.leaves += [leaf] if leaf else []
            case _:
                found = super().value(node, mask)
        self.depth -= 1
        self.found[self.rules.sites.of(node)] = found
        if self.depth == 0:
            self.tops.append(Top(node, self._mine(found), self._mine(mask), self.leaves))
            self.leaves = []
        return found

    def _leaf(
        self, node: ir.Var | ir.Load | ir.Shuffle | ir.AccumulatorValue, mask: Vector
    ) -> tuple[Any, Threads | None]:
        """Evaluate what a row stands for, and make the row."""
        on = self._mine(mask)
        saved, self.leaves = self.leaves, []
        found = super().value(node, mask)
        inner, self.leaves = self.leaves, saved
        match node:
            case ir.Var(name):
                known = self.variables.get(name)
                return found, None if known is None else known.where(on)
            case ir.Load(array):
                access, address = self._access(node, mask, writes=False)
                writers, cell = self._writers(array), np.maximum(address, 0)
                inner = [Threads(writers.row[cell], writers.thread[cell]).where(on)]
                return found, self._row_of("load", node, inner, found, on, access)
            case ir.Shuffle(value=value):
                # Shuffled themselves, the threads' numbers say whom each thread asks.
                asking = replace(node, value=ir.Var(_THREAD, node.dtype, node.place))
                self.rules.sites.stand_in(asking, node)
                self.rules.sites.stand_in(asking.value, value)
                asked = super().value(asking, mask)
                giver = self._mine(asked) - self.own.start
                top = Top(value, self._mine(self.found[self.rules.sites.of(value)]), on, inner)
                offered = alias(top)
                if offered is None or (offered.row != offered.row[0]).any() or (offered.thread != self.threads).any():
                    offered = self._row("compute", self._text(value), value.place, [top], top.value, on, [value])
                inner = [Threads(offered.row[giver], giver).where(on)]
                return found, self._row_of("shuffle", node, inner, found, on)
            case ir.AccumulatorValue():
                name = self._accumulator(node.accumulator, node.indices, mask)
                inner = [some.where(on) for some in self.added.get(name, [])]
                return found, self._row_of("result", node, inner, found, on, accumulator=name)
            case _:
                assert_never(node)

    # -- rows -----------------------------------------------------------------------------------------------

    def _mine(self, lanes: Any) -> Any:
        """Return what is the block's of lanes over the grid."""
        return np.asarray(lanes)[self.own]

    def _row_of(
        self, kind: Kind, node: Expr, inner: list[Threads], found: Any, on: Any, *more: Any, **rest: Any
    ) -> Threads:
        top = Top(node, self._mine(found), on, inner)
        return self._row(kind, self._text(node), node.place, [top], top.value, on, children(node), *more, **rest)

    def _row(
        self,
        kind: Kind,
        title: str,
        place: Place,
        tops: Sequence[Top],
        value: Lanes,
        on: npt.NDArray[np.bool_],
        nodes: Sequence[Expr],
        access: WarpAccess | None = None,
        accumulator: str = "",
    ) -> Threads:
        """Keep a row and return it as a source for others."""
        number = len(self.rows)
        sources: list[LaneSource] = []
        for leaf in (leaf for top in tops for leaf in top.leaves):
            source = LaneSource(np.where(on, leaf.row, -1), np.where(on, leaf.thread, -1))
            if (source.row >= 0).any() and not any(same(source, other) for other in sources):
                sources.append(source)
        running = list(zip(self.loop_names, self.rules.loops, strict=True))
        loops = tuple(pair for pair in running if not pair[0].startswith(_HELPER))
        helper = [(name.removeprefix(_HELPER), value) for name, value in running if name.startswith(_HELPER)]
        note = "".join(f", {name} = {value}" for name, value in helper)
        self.rows.append(
            Row(
                number,
                kind,
                title + note,
                place,
                loops,
                bool(helper),
                on,
                value,
                tuple(sources),
                self._holes(nodes),
                access,
                accumulator,
            )
        )
        return Threads(np.where(on, number, -1), self.threads)

    def _together(self, node: ir.WarpInstruction, mask: Vector) -> None:
        """Run an instruction of a whole warp; what it takes of shared memory are the rows that lanes name."""
        row = row_operand(node)
        if row is not None:
            assert isinstance(node.row, MatrixMove), "a product names no rows"
            naming = self.shape.lane < MATRIX_ROWS * node.row.count
            found, _ = self._access(row, mask, writes=node.row.kind == "stmatrix")
            assert found is not None
            cells = np.where(self._mine(naming), np.array(found.cells), -1)
            self.rows_named = [replace(found, cells=tuple(cells.tolist()), width=ROW_BYTES // found.size)]
            self.names_rows_of = row.array
        super()._together(node, mask)
        self.names_rows_of = ""

    def _access(self, node: ir.Load | ir.Store, mask: Vector, *, writes: bool) -> tuple[WarpAccess | None, Lanes]:
        """Return the block's access, and the address of each thread of the block (-1 where it is off).

        Of an instruction that names rows, the first element has the access, and the others none.
        """
        memory = self.memories[node.array]
        indices = tuple(self.index(i, mask) for i in node.indices)
        cells: Any = np.where(self._mine(mask), self._mine(flat_index(memory.shape, indices)), -1)
        address = np.where(cells >= 0, cells + self._mine(memory.base), -1)
        if node.array == self.names_rows_of:
            return self.rows_named.pop() if self.rows_named else None, address
        found = WarpAccess(
            node.array,
            self.kinds[node.array],
            writes,
            memory.shape,
            bytes_of(memory.dtype),
            tuple(cells.tolist()),
        )
        return found, address

    def _writers(self, array: str) -> Threads:
        """Return, for each address of an array, the row and the thread that wrote it."""
        size = len(self.memories[array].written)
        if array not in self.writers:
            self.writers[array] = Threads(np.full(size, -1), np.full(size, -1))
        return self.writers[array]

    def _holes(self, nodes: Sequence[Expr]) -> tuple[int, ...]:
        """Return the holes that steer what these expressions do themselves, by variables too; not inner rows'."""
        found: list[int] = []
        for node in nodes:
            match node:
                case ir.HoleCall(hole=hole):
                    found.append(hole)
                case ir.Var(name=name):
                    found += self.steered.get(name, ())
            if not isinstance(node, ir.Load | ir.Shuffle | ir.AccumulatorValue):
                found += self._holes(children(node))
        return tuple(dict.fromkeys(found))

    def _accumulator(self, name: str, indices: tuple[Expr, ...], mask: Vector) -> str:
        """Return `out` or `out[2]`."""
        if not indices:
            return name
        return f"{name}[{', '.join(str(self._uniform(i, mask)) for i in indices)}]"

    def _cell(self, node: ir.Store) -> str:
        return self._text(ir.Load(node.array, node.indices, node.value.dtype, node.place))

    def _text(self, node: Expr) -> str:
        """Return an expression as text in which a hole goes by its name."""
        text = python_text(rewrite_expression(node, self._named))
        return text.replace("cuda.shfl_", "shfl_").replace("cuda.FULL_MASK, ", "")

    def _named(self, node: Expr) -> Expr:
        if isinstance(node, ir.HoleCall):
            return ir.Var(self.program.holes[node.hole].name, node.dtype, node.place)
        return node


def is_helper(loop: ir.For) -> bool:
    """Tell whether a loop stands for a helper such as `warp_load`: its body is at the place of its head."""
    return all(statement.place == loop.place for statement in loop.body)


def memory_kinds(program: Program) -> dict[str, MemoryKind]:
    """Return where each array of a program lives."""
    kinds: dict[str, MemoryKind] = {parameter.name: "global" for parameter in program.parameters}
    for statement in program.body:  # an array is declared at the top of a kernel
        if isinstance(statement, ir.DeclareArray):
            kinds[statement.name] = statement.memory
    return kinds


def trace(
    program: Program,
    spec: Callable[..., Any] | None = None,
    fillings: Sequence[FilledHole | WrittenHole] = (),
    block: int = 0,
    warp: int = 0,
) -> Trace:
    """Return what one warp moves: `block_trace` says how."""
    return block_trace(program, spec, fillings, block, warp).warp(warp)


def block_trace(
    program: Program,
    spec: Callable[..., Any] | None = None,
    fillings: Sequence[FilledHole | WrittenHole] = (),
    block: int = 0,
    warp: int = 0,
    printed: Program | None = None,
) -> BlockTrace:
    """Run a kernel and return what one block moves; `fillings` say what each hole became.

    `printed` is the kernel without holes: then accesses are as wide as the vectors that are printed.

    Raises SwizzleError for a block or a warp that is not there, before it runs anything, and for a kernel that breaks a
    rule of the language.
    """
    shape = LaunchShape.of(program)
    require_number("block", block, shape.blocks)
    require_number("warp", warp, -(-shape.block_threads // program.warp_size))
    assert len(fillings) == len(program.holes), "each hole has its filling"
    terms = Terms()
    asked: list[dict[tuple[int, ...], int]] = [{} for _ in fillings]

    def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
        lanes: Any = args
        values = np.broadcast_to(np.asarray(fillings[number].apply(lanes)), (shape.count,))
        on = np.asarray(mask)
        points = np.stack([*(a[on] for a in lanes), values[on].astype(np.int64)], axis=1)
        for *point, value in np.unique(points, axis=0).tolist():
            asked[number][tuple(point)] = value
        return values

    tracer = Tracer(synchronous(program), terms, hole, block)
    runs = [tracer.run()]
    if has_copies(program):
        runs.insert(0, run_canonical(program, Terms(), hole))
    for run in runs:
        if run.violations:
            raise run.violations[0].error()
    rows = tuple(tracer.rows if printed is None else _as_wide_as(printed_widths(printed), tracer.rows))
    wrong: dict[tuple[str, int], int] = {}
    if spec is not None:
        wanted = postcondition(program, spec, terms)
        wrong = {(bad.array, bad.address): bad.wanted for bad in compare(program, run, wanted)}
    return BlockTrace(program, terms, block, rows, tuple(asked), wrong)


def _as_wide_as(widths: Mapping[Spot, int], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows whose accesses move as many elements at once as is printed."""
    for row in rows:
        width = widths.get((row.access.array, row.access.writes, row.place), 1) if row.access else 1
        yield replace(row, access=replace(row.access, width=width)) if row.access and width > 1 else row
