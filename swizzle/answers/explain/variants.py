"""Sketches that are a little larger: one more register, one more iteration, one more accumulate.

Each is a program of its own, to be solved like any other; nothing is claimed about it here.

Programs in which one statement, found by its identity, is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from swizzle.answers.explain.explanation import TrialKind
from symbolic.ir.program import (
    Accumulate,
    Assign,
    Binary,
    Const,
    Coordinate,
    DeclareArray,
    DType,
    Expr,
    For,
    Hole,
    HoleCall,
    If,
    Load,
    Logic,
    Program,
    Stmt,
    Store,
    Var,
)
from symbolic.ir.sites import walk
from symbolic.ir.walk import rewrite_statement, trips_of, within_loops
from templates.holes import kind_of


def swap(body: tuple[Stmt, ...], old: Stmt, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return a body with one statement, found by identity, replaced."""
    found: list[Stmt] = []
    for node in body:
        if node is old:
            found += new
        elif isinstance(node, For):
            found.append(replace(node, body=swap(node.body, old, new)))
        elif isinstance(node, If):
            then, otherwise = swap(node.then, old, new), swap(node.otherwise, old, new)
            found.append(replace(node, then=then, otherwise=otherwise))
        else:
            found.append(node)
    return tuple(found)


def replace_accumulate(body: tuple[Stmt, ...], number: int, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return a body with its accumulate of this number, in the order of the text, replaced."""
    accumulates = [s for s, _ in within_loops(body) if isinstance(s, Accumulate)]
    return swap(body, accumulates[number], new)


def list_with_accumulate(body: tuple[Stmt, ...], number: int) -> tuple[Stmt, ...]:
    """Return the list of statements that contains the accumulate of this number."""
    wanted = [s for s, _ in within_loops(body) if isinstance(s, Accumulate)][number]
    if any(node is wanted for node in body):
        return body
    for node, _ in within_loops(body):
        for inner in (getattr(node, "body", ()), getattr(node, "then", ()), getattr(node, "otherwise", ())):
            if any(s is wanted for s in inner):
                found: tuple[Stmt, ...] = inner
                return found
    raise AssertionError("an accumulate stands in no block")


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
            not isinstance(array, DeclareArray)
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
        if isinstance(node, Load) and any(isinstance(i, HoleCall) for i in node.indices):
            found.add(node.array)
    return found


def _grow(program: Program, array: DeclareArray, axis: int) -> Program | None:
    """Return the program with one more element along an axis: filled, and within reach of the holes that choose."""
    extent, filled = array.shape[axis], False

    def statement(node: Stmt) -> tuple[Stmt, ...]:
        nonlocal filled
        if isinstance(node, For) and node.stop == Const(extent, DType.INDEX, node.stop.place) and _counts(node):
            variable = node.variable
            stores = [s for s, _ in within_loops(node.body) if isinstance(s, Store) and s.array == array.name]
            if any(isinstance(s.indices[axis], Var) and s.indices[axis].name == variable for s in stores):  # type: ignore[union-attr]
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
        if isinstance(node, Load) and node.array == array.name:
            index = node.indices[axis]
            if (
                isinstance(index, HoleCall)
                and holes[index.hole].size == extent
                and kind_of(holes[index.hole]).gives is DType.INDEX
            ):
                holes[index.hole] = replace(holes[index.hole], size=extent + 1)
    return replace(program, body=tuple(body), holes=tuple(holes))


def _counts(loop: For) -> bool:
    return [isinstance(e, Const) and e.value for e in (loop.start, loop.step)] == [0, 1]


def _longer(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], shape[axis] + 1, *shape[axis + 1 :])


def _second_round(program: Program, array: DeclareArray) -> list[Stmt]:
    """Fill a second register where a load helper fills the only one: with the elements one warp further on."""
    found: list[Stmt] = []
    before: Stmt | None = None
    for node in program.body:
        found.append(node)
        helper = isinstance(node, Store) and node.array == array.name and isinstance(before, Assign)
        if helper and before is not None and before.place == node.place:
            assert isinstance(node, Store) and isinstance(before, Assign)
            place = node.place
            further = Binary("+", before.value, Const(program.warp_size, DType.INDEX, place), DType.INDEX, place)
            found.append(Assign(before.name + AGAIN, further, place))
            renamed = rewrite_statement(node, _renaming({before.name}))
            assert isinstance(renamed, Store)
            found.append(replace(renamed, indices=(Const(1, DType.INDEX, place),)))
        before = node
    return found


# ---- iterations ------------------------------------------------------------------------------------------------


def _more_iterations(program: Program) -> Iterator[Variant]:
    """One more iteration of each loop that accumulates; what is accumulated gets a condition of its own."""
    for loop in [s for s, _ in within_loops(program.body) if isinstance(s, For)]:
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


def _wrapped(loop: For, trips: range, holes: Sequence[Hole]) -> For:
    """Return a loop with one more iteration; where a hole wants the variable itself, it starts again."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, HoleCall) and kind_of(holes[node.hole]).moves:
            first = node.args[0]
            if isinstance(first, Var) and first.name == loop.variable and trips.stop >= holes[node.hole].size:
                size = Const(holes[node.hole].size, DType.INDEX, node.place)
                return replace(node, args=(Binary("%", first, size, DType.INDEX, node.place), *node.args[1:]))
        return node

    made = rewrite_statement(loop, rule)
    assert isinstance(made, For) and isinstance(loop.stop, Const)
    return replace(made, stop=replace(loop.stop, value=trips.stop + trips.step))


def _accumulates_in(loop: For) -> list[tuple[Accumulate, tuple[For, ...]]]:
    return [(s, around) for s, around in within_loops(loop.body) if isinstance(s, Accumulate)]


def _conditional(statement: Accumulate, loops: Sequence[For], holes: list[Hole]) -> Accumulate:
    """Return an accumulate under a new condition over the lane and the loop variables; the hole is added."""
    place = statement.place
    lane: Expr = Coordinate("laneid", "x", place)
    arguments = (lane, *(Var(loop.variable, DType.INDEX, place) for loop in loops))
    names = ("lane", *(loop.variable for loop in loops))
    condition: Expr = HoleCall(len(holes), arguments, DType.BOOL, place)
    number = 1 + sum(hole.kind == "cond" for hole in holes)
    holes.append(Hole(f"cond{number}", "cond", 2, names, place))
    if statement.condition is not None:
        condition = Logic("and", statement.condition, condition, place)
    return replace(statement, condition=condition)


# ---- accumulates -----------------------------------------------------------------------------------------------


def _more_accumulates(program: Program) -> Iterator[Variant]:
    """A second accumulate beside each one, with holes of its own and a condition."""
    for number, (statement, around) in enumerate(
        (s, around) for s, around in within_loops(program.body) if isinstance(s, Accumulate)
    ):
        holes = list(program.holes)
        block = list_with_accumulate(program.body, number)
        fed = _fed_by(block, statement)
        renaming = _renaming({a.name for a in fed})
        copies = [
            _own_holes(replace(renamed, name=a.name + AGAIN), holes)
            for a in fed
            if isinstance(renamed := rewrite_statement(a, renaming), Assign)
        ]
        twin = _own_holes(rewrite_statement(statement, renaming), holes)
        assert isinstance(twin, Accumulate)
        twin = _conditional(twin, around, holes)
        change = f"one more accumulate like the one at line {statement.place.line}, with holes of its own"
        change += f" and when=?sw_cond({', '.join(holes[-1].arguments)})"
        body = replace_accumulate(program.body, number, (statement, *copies, twin))
        yield Variant("accumulate", change, replace(program, body=body, holes=tuple(holes)))


def _fed_by(block: Sequence[Stmt], statement: Accumulate) -> list[Assign]:
    """Return the assignments before an accumulate, in its own block, that its operands are made of."""
    wanted = _variables(statement)
    found: list[Assign] = []
    for node in reversed(block[: _position(block, statement)]):
        if isinstance(node, Assign) and node.name in wanted:
            found.append(node)
            wanted |= _variables(node)
    return found[::-1]


def _position(block: Sequence[Stmt], statement: Stmt) -> int:
    return next(i for i, node in enumerate(block) if node is statement)


def _variables(statement: Stmt) -> set[str]:
    found: set[str] = set()

    def rule(node: Expr) -> Expr:
        if isinstance(node, Var):
            found.add(node.name)
        return node

    rewrite_statement(statement, rule)
    return found


def _renaming(names: set[str]) -> Callable[[Expr], Expr]:
    def rule(node: Expr) -> Expr:
        return replace(node, name=node.name + AGAIN) if isinstance(node, Var) and node.name in names else node

    return rule


def _own_holes(statement: Stmt, holes: list[Hole]) -> Stmt:
    """Return a statement whose holes are new ones."""
    new: dict[int, int] = {}

    def rule(node: Expr) -> Expr:
        if not isinstance(node, HoleCall):
            return node
        if node.hole not in new:
            new[node.hole] = len(holes)
            holes.append(replace(holes[node.hole], name=holes[node.hole].name + AGAIN))
        return replace(node, hole=new[node.hole])

    return rewrite_statement(statement, rule)
