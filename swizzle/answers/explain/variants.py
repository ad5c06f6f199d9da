"""Sketches that are a little larger or otherwise, as changes that may help: one more register, iteration, accumulate or
barrier, and other arguments of holes in a loop that goes on with what it has put together.

Each is a program of its own, to be solved like any other; nothing is claimed about it here.

Programs in which one statement, found by its identity, is replaced.

A reduction or a scan in log2(n) rounds moves by `1 << k` or by `n >> (k + 1)`. No template makes such a step out of `k`
alone, and whether some other function of `k` does may take minutes to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from swizzle.answers.explain.explanation import TrialKind
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Hole, Program, Stmt
from symbolic.ir.sites import walk
from symbolic.ir.walk import (
    assigned_in,
    bodies,
    map_bodies,
    names_in,
    own_expressions,
    rewrite_statement,
    statements,
    subexpressions,
    trips_of,
    within_loops,
)
from templates.holes import kind_of


def swap(body: tuple[Stmt, ...], old: Stmt, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return a body with one statement, found by identity, replaced."""
    found: list[Stmt] = []
    for node in body:
        found += new if node is old else (map_bodies(node, lambda inner: swap(inner, old, new)),)
    return tuple(found)


def replace_accumulate(body: tuple[Stmt, ...], number: int, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return a body with its accumulate of this number, in the order of the text, replaced."""
    accumulates = [s for s, _ in within_loops(body) if isinstance(s, ir.Accumulate)]
    return swap(body, accumulates[number], new)


def list_with_accumulate(body: tuple[Stmt, ...], number: int) -> tuple[Stmt, ...]:
    """Return the list of statements that contains the accumulate of this number."""
    wanted = [s for s, _ in within_loops(body) if isinstance(s, ir.Accumulate)][number]
    blocks = [body, *(inner for node in statements(body) for inner in bodies(node))]
    return next(block for block in blocks if any(node is wanted for node in block))


AGAIN: Final = "_again"
"""What the names of a copied accumulate's variables end in."""


class Variant(Struct, frozen=True):
    """A changed program, and the change in words."""

    kind: TrialKind
    change: str
    program: Program


def variants(program: Program) -> Iterator[Variant]:
    """Yield the programs that are one register, one iteration or one accumulate larger."""
    yield from _more_registers(program)
    yield from _more_iterations(program)
    yield from _more_accumulates(program)


# ---- registers -------------------------------------------------------------------------------------------------


def _more_registers(program: Program) -> Iterator[Variant]:
    for array in program.body:
        if (
            not isinstance(array, ir.DeclareArray)
            or array.memory != "local"
            or array.name not in _indexed_by_hole(program)
        ):
            continue
        for axis, extent in enumerate(array.shape):
            grown = _grow(program, array, axis)
            if grown is not None:
                where = f" along dimension {axis}" if len(array.shape) > 1 else ""
                change = f"one more register in {array.name}{where}, {extent + 1} instead of {extent}"
                yield Variant("register", f"{change} (line {array.place.line}), filled by one more round", grown)


def _indexed_by_hole(program: Program) -> set[str]:
    """Return the arrays of which a hole chooses an element."""
    found = set()
    for _, node in walk(program):
        if isinstance(node, ir.Load) and any(isinstance(i, ir.HoleCall) for i in node.indices):
            found.add(node.array)
    return found


def _grow(program: Program, array: ir.DeclareArray, axis: int) -> Program | None:
    """Return the program with one more element along an axis: filled, and within reach of the holes that choose."""
    extent, filled = array.shape[axis], False

    def statement(node: Stmt) -> tuple[Stmt, ...]:
        nonlocal filled
        if isinstance(node, ir.For) and node.stop == ir.Const(extent, DType.INDEX, node.stop.place) and _counts(node):
            variable = node.variable
            stores = [s for s, _ in within_loops(node.body) if isinstance(s, ir.Store) and s.array == array.name]
            if any(isinstance(s.indices[axis], ir.Var) and s.indices[axis].name == variable for s in stores):  # type: ignore[union-attr]
                filled = True
                return (replace(node, stop=replace(node.stop, value=extent + 1)),)
        return (node,)

    body = [s for node in program.body for s in statement(node)]
    if not filled and array.shape == (1,):
        body = _second_round(program, array)
        filled = len(body) > len(program.body)
    if not filled:
        return None
    body = [replace(s, shape=_longer(array.shape, axis)) if s is array else s for s in body]
    holes = list(program.holes)
    for _, node in walk(program):
        if isinstance(node, ir.Load) and node.array == array.name:
            index = node.indices[axis]
            if (
                isinstance(index, ir.HoleCall)
                and holes[index.hole].size == extent
                and kind_of(holes[index.hole]).gives is DType.INDEX
            ):
                holes[index.hole] = replace(holes[index.hole], size=extent + 1)
    return replace(program, body=tuple(body), holes=tuple(holes))


def _counts(loop: ir.For) -> bool:
    return [isinstance(e, ir.Const) and e.value for e in (loop.start, loop.step)] == [0, 1]


def _longer(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], shape[axis] + 1, *shape[axis + 1 :])


def _second_round(program: Program, array: ir.DeclareArray) -> list[Stmt]:
    """Fill a second register where a load helper fills the only one: with the elements one warp further on."""
    found: list[Stmt] = []
    before: Stmt | None = None
    for node in program.body:
        found.append(node)
        helper = isinstance(node, ir.Store) and node.array == array.name and isinstance(before, ir.Assign)
        if helper and before is not None and before.place == node.place:
            assert isinstance(node, ir.Store) and isinstance(before, ir.Assign)
            place = node.place
            further = ir.Binary("+", before.value, ir.Const(program.warp_size, DType.INDEX, place), DType.INDEX, place)
            found.append(ir.Assign(before.name + AGAIN, further, place))
            renamed = rewrite_statement(node, _renaming({before.name}))
            assert isinstance(renamed, ir.Store)
            found.append(replace(renamed, indices=(ir.Const(1, DType.INDEX, place),)))
        before = node
    return found


# ---- iterations ------------------------------------------------------------------------------------------------


def _more_iterations(program: Program) -> Iterator[Variant]:
    """One more iteration of each loop that accumulates; what is accumulated gets a condition of its own."""
    for loop in [s for s, _ in within_loops(program.body) if isinstance(s, ir.For)]:
        inside = _accumulates_in(loop)
        trips = trips_of(loop)
        if not inside or not trips:
            continue
        holes = list(program.holes)
        longer = _wrapped(loop, trips, holes)
        body = longer.body
        for number, (statement, around) in enumerate(_accumulates_in(longer)):
            again = _conditional(statement, (loop, *around), holes)
            body = replace_accumulate(body, number, (again,))
        longer = replace(longer, body=body)
        change = f"one more iteration of the loop over {loop.variable} (line {loop.place.line})"
        lines = sorted({s.place.line for s, _ in inside})
        change += f", its accumulate (line {lines[0]}) with when=?sw_cond({', '.join(holes[-1].arguments)})"
        yield Variant(
            "iteration", change, replace(program, body=swap(program.body, loop, (longer,)), holes=tuple(holes))
        )


def _wrapped(loop: ir.For, trips: range, holes: Sequence[Hole]) -> ir.For:
    """Return a loop with one more iteration; where a hole wants the variable itself, it starts again."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, ir.HoleCall) and kind_of(holes[node.hole]).moves:
            first = node.args[0]
            if isinstance(first, ir.Var) and first.name == loop.variable and trips.stop >= holes[node.hole].size:
                size = ir.Const(holes[node.hole].size, DType.INDEX, node.place)
                return replace(node, args=(ir.Binary("%", first, size, DType.INDEX, node.place), *node.args[1:]))
        return node

    made = rewrite_statement(loop, rule)
    assert isinstance(made, ir.For) and isinstance(loop.stop, ir.Const)
    return replace(made, stop=replace(loop.stop, value=trips.stop + trips.step))


def _accumulates_in(loop: ir.For) -> list[tuple[ir.Accumulate, tuple[ir.For, ...]]]:
    return [(s, around) for s, around in within_loops(loop.body) if isinstance(s, ir.Accumulate)]


def _conditional(statement: ir.Accumulate, loops: Sequence[ir.For], holes: list[Hole]) -> ir.Accumulate:
    """Return an accumulate under a new condition over the lane and the loop variables; the hole is added."""
    place = statement.place
    lane: Expr = ir.Coordinate("laneid", "x", place)
    arguments = (lane, *(ir.Var(loop.variable, DType.INDEX, place) for loop in loops))
    names = ("lane", *(loop.variable for loop in loops))
    condition: Expr = ir.HoleCall(len(holes), arguments, DType.BOOL, place)
    number = 1 + sum(hole.kind == "cond" for hole in holes)
    holes.append(Hole(f"cond{number}", "cond", 2, names, place))
    if statement.condition is not None:
        condition = ir.Logic("and", statement.condition, condition, place)
    return replace(statement, condition=condition)


# ---- accumulates -----------------------------------------------------------------------------------------------


def _more_accumulates(program: Program) -> Iterator[Variant]:
    """A second accumulate beside each one, with holes of its own and a condition."""
    for number, (statement, around) in enumerate(
        (s, around) for s, around in within_loops(program.body) if isinstance(s, ir.Accumulate)
    ):
        holes = list(program.holes)
        block = list_with_accumulate(program.body, number)
        fed = _fed_by(block, statement)
        renaming = _renaming({a.name for a in fed})
        copies = [
            _own_holes(replace(renamed, name=a.name + AGAIN), holes)
            for a in fed
            if isinstance(renamed := rewrite_statement(a, renaming), ir.Assign)
        ]
        twin = _own_holes(rewrite_statement(statement, renaming), holes)
        assert isinstance(twin, ir.Accumulate)
        twin = _conditional(twin, around, holes)
        change = f"one more accumulate like the one at line {statement.place.line}, with holes of its own"
        change += f" and when=?sw_cond({', '.join(holes[-1].arguments)})"
        body = replace_accumulate(program.body, number, (statement, *copies, twin))
        yield Variant("accumulate", change, replace(program, body=body, holes=tuple(holes)))


def _fed_by(block: Sequence[Stmt], statement: ir.Accumulate) -> list[ir.Assign]:
    """Return the assignments before an accumulate, in its own block, that its operands are made of."""
    wanted = _variables(statement)
    found: list[ir.Assign] = []
    for node in reversed(block[: _position(block, statement)]):
        if isinstance(node, ir.Assign) and node.name in wanted:
            found.append(node)
            wanted |= _variables(node)
    return found[::-1]


def _position(block: Sequence[Stmt], statement: Stmt) -> int:
    return next(i for i, node in enumerate(block) if node is statement)


def _variables(statement: Stmt) -> set[str]:
    return {name for each in statements([statement]) for expr in own_expressions(each) for name in names_in(expr)}


def _renaming(names: set[str]) -> Callable[[Expr], Expr]:
    def rule(node: Expr) -> Expr:
        return replace(node, name=node.name + AGAIN) if isinstance(node, ir.Var) and node.name in names else node

    return rule


def _own_holes(statement: Stmt, holes: list[Hole]) -> Stmt:
    """Return a statement whose holes are new ones."""
    new: dict[int, int] = {}

    def rule(node: Expr) -> Expr:
        if not isinstance(node, ir.HoleCall):
            return node
        if node.hole not in new:
            new[node.hole] = len(holes)
            holes.append(replace(holes[node.hole], name=holes[node.hole].name + AGAIN))
        return replace(node, hole=new[node.hole])

    return rewrite_statement(statement, rule)


class SharedUse(Struct, frozen=True):
    """A statement of one body, and where in it a shared array is written or read."""

    array: str
    writes: bool
    place: Place
    statement: Stmt


class Unfenced(Struct, frozen=True):
    """Two uses of one array, of which one writes, and no barrier between; the second may be in a loop's next round."""

    first: SharedUse
    second: SharedUse
    next_round: bool

    def __str__(self) -> str:
        done = ["written" if use.writes else "read" for use in (self.first, self.second)]
        return (
            f"{self.first.array} is {done[0]} at line {self.first.place.line} and {done[1]} at line "
            f"{self.second.place.line}{' in the next round' if self.next_round else ''}, "
            "and no cuda.syncthreads() is between"
        )


def with_barriers(program: Program) -> tuple[Variant, tuple[Unfenced, ...]] | None:
    """Return the program with a barrier at each place that may lack one, and why; None where there is no such place."""
    shared = {node.name for node in program.body if isinstance(node, ir.DeclareArray) and node.memory == "shared"}
    found = tuple(_in_body(program.body, shared))
    if not found:
        return None
    body, lines = program.body, []
    for each in reversed(found):  # those of a loop come before what is around it, which is changed first
        use, where = (each.first, "behind") if each.next_round else (each.second, "before")
        barrier = ir.Barrier("block", use.place)
        pair = (use.statement, barrier) if each.next_round else (barrier, use.statement)
        body = swap(body, use.statement, pair)
        line = use.place.line if each.next_round else use.statement.place.line
        lines.append(f"{where} line {line}")
    change = f"cuda.syncthreads() {' and '.join(reversed(lines))}"
    return Variant("barrier", change, replace(program, body=body)), found


def _in_body(body: Sequence[Stmt], shared: set[str]) -> Iterator[Unfenced]:
    since: list[SharedUse] = []  # the last barrier
    for node in body:
        if isinstance(node, ir.For):
            yield from _in_loop(node, shared)
        now = list(_ahead(node, shared))
        meeting = _meeting(since, now)
        if meeting is not None:
            yield Unfenced(*meeting, next_round=False)
            since = []
        since = list(_behind(node, shared)) if _has_barrier(node) else since + now


def _in_loop(loop: ir.For, shared: set[str]) -> Iterator[Unfenced]:
    inside = list(_in_body(loop.body, shared))
    yield from inside
    fenced = {id(each.second.statement) for each in inside}
    first = next((i for i, n in enumerate(loop.body) if _has_barrier(n) or id(n) in fenced), len(loop.body))
    last = next((i for i in reversed(range(len(loop.body))) if _has_barrier(loop.body[i])), -1)
    last = max([last, *(i - 1 for i, n in enumerate(loop.body) if id(n) in fenced)])
    ahead = [use for node in loop.body[:first] for use in _uses(node, shared)]
    behind = [use for node in loop.body[last + 1 :] for use in _uses(node, shared)]
    meeting = _meeting(behind[::-1], ahead)
    if meeting is not None and meeting[0].statement is not meeting[1].statement:
        yield Unfenced(*meeting, next_round=True)


def _ahead(node: Stmt, shared: set[str]) -> Iterator[SharedUse]:
    """Yield the uses of a statement before its first barrier, if it has any."""
    return _up_to_barrier(node, shared, 1)


def _behind(node: Stmt, shared: set[str]) -> Iterator[SharedUse]:
    """Yield the uses of a statement behind its last barrier."""
    return _up_to_barrier(node, shared, -1)


def _up_to_barrier(node: Stmt, shared: set[str], step: int) -> Iterator[SharedUse]:
    if not _has_barrier(node):
        yield from _uses(node, shared)
    elif isinstance(node, ir.For):
        for each in node.body[::step]:
            yield from (replace(use, statement=node) for use in _up_to_barrier(each, shared, step))
            if _has_barrier(each):
                return


def _meeting(before: Sequence[SharedUse], after: Sequence[SharedUse]) -> tuple[SharedUse, SharedUse] | None:
    """Return the first two uses of one array of which one writes and the other reads."""
    pairs = ((a, b) for b in after for a in before)
    return next(((a, b) for a, b in pairs if a.array == b.array and a.writes != b.writes), None)


def _has_barrier(node: Stmt) -> bool:
    return any(isinstance(each, ir.Barrier) and each.scope == "block" for each in statements((node,)))


def _uses(node: Stmt, shared: set[str]) -> Iterator[SharedUse]:
    for each in statements((node,)):
        for expression in own_expressions(each):
            for part in subexpressions(expression):
                if isinstance(part, ir.Load) and part.array in shared:
                    yield SharedUse(part.array, False, part.place, node)
        if isinstance(each, ir.Store) and each.array in shared:
            yield SharedUse(each.array, True, each.place, node)


MOST_ROUNDS: Final = 10
"""A block has 1024 threads at most, so no step is longer than 1 << 9."""


def doubled_steps(program: Program) -> Iterator[tuple[str, Program]]:
    """Yield a change and its program: holes take a step that doubles, or one that halves, not a loop's variable."""
    for halves in (False, True):
        changed, words = program, list[str]()
        for number in range(len(_loops(program))):
            loop = _loops(changed)[number]
            if _rounds(loop) and _goes_on(changed, loop):
                changed, said = _with_steps(changed, loop, halves=halves)
                words += said
        if words:
            yield "; ".join(words), changed


def _with_steps(program: Program, loop: ir.For, *, halves: bool) -> tuple[Program, list[str]]:
    """Return the program whose holes in a loop take a step instead of the loop's variable, and this in words."""
    first, op = (1 << (_rounds(loop) - 1), ">>") if halves else (1, "<<")
    step = f"{first} {op} {loop.variable}"
    holes, given = list(program.holes), dict[str, None]()

    def rule(node: Expr) -> Expr:
        if not isinstance(node, ir.HoleCall):
            return node
        hole = holes[node.hole]
        arguments, names = list(node.args), list(hole.arguments)
        for position in range(1 if kind_of(hole).moves else 0, len(arguments)):
            argument = arguments[position]
            if isinstance(argument, ir.Var) and argument.name == loop.variable:
                start = ir.Const(first, DType.INDEX, node.place)
                arguments[position] = ir.Binary(op, start, argument, DType.INDEX, node.place)  # type: ignore[arg-type]
                names[position] = step
                given[f"{hole.name} (line {hole.place.line})"] = None
        holes[node.hole] = replace(hole, arguments=tuple(names))
        return replace(node, args=tuple(arguments))

    changed = rewrite_statement(loop, rule)
    words = [f"{step} in place of {loop.variable} in {' and '.join(given)}"] if given else []
    return replace(program, body=swap(program.body, loop, (changed,)), holes=tuple(holes)), words


def _loops(program: Program) -> list[ir.For]:
    return [node for node in statements(program.body) if isinstance(node, ir.For)]


def _rounds(loop: ir.For) -> int:
    """Return how often a loop over `range(n)` runs, 0 where that is no number of rounds for a step that doubles."""
    bounds = [bound.value for bound in (loop.start, loop.stop, loop.step) if isinstance(bound, ir.Const)]
    return int(bounds[1]) if bounds[::2] == [0, 1] and 2 <= bounds[1] <= MOST_ROUNDS else 0


def _goes_on(program: Program, loop: ir.For) -> bool:
    """Tell whether a loop's rounds read what the rounds before have left in a variable or in an array."""
    inside = list(statements(loop.body))
    read = [part for node in inside for expr in own_expressions(node) for part in subexpressions(expr)]
    within = {node.name for node in inside if isinstance(node, ir.DeclareArray)}
    arrays = {node.array for node in inside if isinstance(node, ir.Store)} - within
    if arrays & {part.array for part in read if isinstance(part, ir.Load)}:
        return True
    own = {id(node) for node in inside}
    before = {node.name for node in statements(program.body) if isinstance(node, ir.Assign) and id(node) not in own}
    names = assigned_in(loop.body) & before
    return bool(names & {part.name for part in read if isinstance(part, ir.Var)})
