"""Walk all references to register arrays in a body, with what is known of their indices, and replace some of them.

A variable has one name in each body that assigns it before it reads it (`separate_names`). Coordinates get one name
each, and values are read from the variables that already hold them: `plain_coordinates` undoes `lane = cuda.laneid`, so
that index arithmetic sees how coordinates are related. `reuse_names` finds every use of a value that a variable holds,
and reads the variable instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.analysis.registers import is_static, static_names
from cuda_out.analysis.values import is_computable
from cuda_out.passes.index_rules import ScaledAtom, sum_of, terms_of
from cuda_out.passes.rotation import Loops
from cuda_out.passes.share import operation_count
from cuda_out.passes.simplify import simplify_expression
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, after, facts_where, launch_facts, loop_facts, trip_range
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    assigned_in,
    bodies,
    map_bodies,
    map_own,
    names_in,
    own_expressions,
    rebuild,
    same,
    statements,
    subexpressions,
    substitute,
    trips_of,
)
from symbolic.ir.warp_meaning import row_operand

Definitions: TypeAlias = dict[str, Expr]  # the value of a variable, where it has not changed since

LARGEST: Final = 400  # parts of an expression, once its variables are spelled out


class At(Struct, frozen=True):
    """Where a reference stands: facts, the static loops around it, all definitions and those made in this walk."""

    facts: Facts
    loops: Loops
    known: Definitions
    inside: Definitions

    def spelled_out(self, expr: Expr) -> tuple[Expr, Expr]:
        """Return the expression with every variable replaced that was defined in this walk or whose value is known."""
        return _expand(expr, self.inside), _expand(expr, self.known)


# What a reference becomes: given array, indices, whether it is written, and where; the array and the new indices.
Visitor: TypeAlias = Callable[[str, tuple[Expr, ...], bool, At], tuple[str, tuple[Expr, ...]]]


def _expand(expr: Expr, known: Definitions) -> Expr:
    def change(part: Expr) -> Expr:
        if isinstance(part, ir.Var) and part.name in known:
            return known[part.name]
        return rebuild(part, change)

    found = change(expr)
    return found if sum(1 for _ in subexpressions(found)) <= LARGEST else expr


def update_definitions(stmt: Stmt, known: Definitions, facts: Facts) -> None:
    """Bring the definitions up to date with what a statement assigns."""
    match stmt:
        case ir.Assign(name=name, value=value):
            spelled = _expand(value, known)
            forget(known, frozenset({name}))
            if name not in names_in(spelled) and is_computable(spelled, facts):
                known[name] = spelled
        case _:
            forget(known, assigned_in((stmt,)))


def forget(known: Definitions, changed: frozenset[str]) -> None:
    """Drop what no longer holds once these variables have changed."""
    for name in [name for name, value in known.items() if name in changed or names_in(value) & changed]:
        del known[name]


def walk_references(body: Body, facts: Facts, known: Definitions, static: frozenset[str], visit: Visitor) -> Body:
    """Return the body with `visit` applied to every reference to an array, in program order."""
    return _Walk(static, visit).body(body, facts, (), dict(known), {})


class _Walk:
    def __init__(self, static: frozenset[str], visit: Visitor) -> None:
        self._static, self._visit = static, visit

    def body(self, body: Body, facts: Facts, loops: Loops, known: Definitions, inside: Definitions) -> Body:
        found: list[Stmt] = []
        for stmt in body:
            at = At(facts, loops, dict(known), dict(inside))
            changed = map_own(stmt, lambda expr, at=at: self._expression(expr, at))  # type: ignore[misc]
            match changed:
                case ir.For(variable=variable, body=inner):
                    for definitions in (known, inside):
                        forget(definitions, assigned_in((stmt,)))
                    around = (*loops, (variable, _values(changed, facts))) if variable in self._static else loops
                    inner = self.body(inner, loop_facts(changed, facts), around, dict(known), dict(inside))
                    changed = replace(changed, body=inner)
                case ir.If(condition=condition, then=then, otherwise=otherwise):
                    sides = [
                        self.body(side, facts_where(condition, truth, facts), loops, dict(known), dict(inside))
                        for side, truth in ((then, True), (otherwise, False))
                    ]
                    changed = replace(changed, then=sides[0], otherwise=sides[1])
                case ir.Store(array=array, indices=indices):
                    array, indices = self._visit(array, indices, True, at)
                    changed = replace(changed, array=array, indices=indices)
                case _:
                    pass
            for definitions in (known, inside):
                update_definitions(stmt, definitions, facts)
            found.append(changed)
            facts = after(stmt, facts)
        return tuple(found)

    def _expression(self, expr: Expr, at: At) -> Expr:
        if isinstance(expr, ir.Select):
            return replace(
                expr,
                condition=self._expression(expr.condition, at),
                then=self._expression(expr.then, replace(at, facts=facts_where(expr.condition, True, at.facts))),
                otherwise=self._expression(
                    expr.otherwise, replace(at, facts=facts_where(expr.condition, False, at.facts))
                ),
            )
        expr = rebuild(expr, lambda child: self._expression(child, at))
        if isinstance(expr, ir.Load):
            array, indices = self._visit(expr.array, expr.indices, False, at)
            return replace(expr, array=array, indices=indices)
        return expr


def _values(stmt: ir.For, facts: Facts) -> tuple[int, ...]:
    """Return the values that a static loop's variable may have; none when the loop never runs."""
    trips, trip = trips_of(stmt), trip_range(stmt, facts)
    if trips is not None:
        return tuple(trips)
    if trip is None or trip.hi - trip.lo >= LARGEST:
        return ()
    return tuple(range(int(trip.lo), int(trip.hi) + 1))


def separate_names(program: Program) -> Program:
    """Return the same program, in which bodies that only happen to use one name for a variable have a name each.

    Each of them assigns the variable before it reads it, so what one assigns no other one reads. A variable that is
    assigned once is declared where that is, and words beside each other are found although their indices have names.
    """
    fresh, body = FreshNames(all_names(program)), program.body
    for name, count in sorted(variable_counts(body)[0].items()):
        if count > 1:
            body = _separated(body, name, chain([name], map(fresh.take, repeat(name)))) or body
    return replace(program, body=body)


def _separated(body: Body, name: str, names: Iterator[str]) -> Body | None:
    """Return a body with the next name wherever it assigns a variable first; None where it reads it before that."""
    found: list[Stmt] = []
    for at, stmt in enumerate(body):
        if isinstance(stmt, ir.Assign) and stmt.name == name and name not in names_in(stmt.value):
            return (*found, *_renamed(body[at:], name, next(names)))
        if any(name in names_in(expr) for expr in own_expressions(stmt)) or name in _assigned_by(stmt):
            return None
        inner = [_separated(nested, name, names) for nested in bodies(stmt)]
        if None in inner:
            return None
        sides = iter(inner)
        found.append(map_bodies(stmt, lambda _, sides=sides: next(sides)))  # type: ignore[misc]
    return tuple(found)


def _assigned_by(stmt: Stmt) -> frozenset[str]:
    """Return what a statement assigns itself."""
    match stmt:
        case ir.Assign(name=name) | ir.For(variable=name):
            return frozenset({name})
        case _:
            return frozenset()


def _renamed(body: Body, name: str, new: str) -> Body:
    def change(expr: Expr) -> Expr:
        return replace(expr, name=new) if isinstance(expr, ir.Var) and expr.name == name else rebuild(expr, change)

    def renamed(stmt: Stmt) -> Stmt:
        stmt = map_bodies(map_own(stmt, change), lambda inner: _renamed(inner, name, new))
        match stmt:
            case ir.Assign() if stmt.name == name:
                return replace(stmt, name=new)
            case ir.For() if stmt.variable == name:
                return replace(stmt, variable=new)
            case _:
                return stmt

    return body if name == new else tuple(renamed(stmt) for stmt in body)


def plain_coordinates(program: Program) -> Program:
    """Return the same program with variables that only name a coordinate replaced by the coordinate.

    In a block of one warp and one dimension, lane and thread are the same; the lane is kept if the program uses it.
    """
    times, _ = variable_counts(program.body)
    aliases = {
        stmt.name: stmt.value
        for stmt in program.body
        if isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Coordinate) and times[stmt.name] == 1
    }
    one_warp = math.prod(program.block) == program.block[0] <= program.warp_size
    one_warp &= any(
        isinstance(part, ir.Coordinate) and part.name == "laneid"
        for stmt in statements(program.body)
        for expr in own_expressions(stmt)
        for part in subexpressions(expr)
    )

    def change(expr: Expr) -> Expr:
        match expr:
            case ir.Var(name=name) if name in aliases:
                return change(aliases[name])
            case ir.Coordinate(name="threadIdx", axis="x") if one_warp:
                return replace(expr, name="laneid")
            case _:
                return rebuild(expr, change)

    return replace(program, body=mapped(program.body, change))


def mapped(body: Body, change: Callable[[Expr], Expr]) -> Body:
    return tuple(map_bodies(map_own(stmt, change), lambda inner: mapped(inner, change)) for stmt in body)


def reuse_names(program: Program) -> Program:
    """Return the same program, in which every value that a variable holds is read from that variable."""
    return replace(program, body=_Reuse(program).body(program.body, {}))


class _Reuse:
    """Knows how often each variable is assigned and read."""

    def __init__(self, program: Program) -> None:
        self._assigned, self._read = variable_counts(program.body)
        self._static = static_names(program)

    def _offered(self, stmt: Stmt, known: Definitions) -> Definitions:
        """Return the values that a statement may read from variables: not those that `steady_first` has taken apart."""
        if not isinstance(stmt, ir.CopyAsync | ir.WarpInstruction):
            return dict(known)
        return {
            name: value
            for name, value in known.items()
            if is_static(value, self._static) or not names_in(value) & self._static
        }

    def body(self, body: Body, known: Definitions) -> Body:
        found: list[Stmt] = []
        rest = list(body)
        while rest:
            stmt = rest.pop(0)
            offered = self._offered(stmt, known)
            changed = map_own(stmt, lambda expr, offered=offered: _named(expr, offered))  # type: ignore[misc]
            forget(known, assigned_in((stmt,)))
            changed = map_bodies(changed, lambda inner: self.body(inner, dict(known)))
            match stmt, changed:
                case ir.Assign(name=name), ir.Assign(value=ir.Var() as value) if self._is_alias(name, value, rest):
                    rest = list(mapped(tuple(rest), lambda expr, n=name, v=value: substitute(expr, n, v)))  # type: ignore[misc]
                    continue
                case ir.Assign(name=name, value=value), _ if _is_worth_a_name(value) and name not in names_in(value):
                    known[name] = value
                case _:
                    pass
            found.append(changed)
        return tuple(found)

    def _is_alias(self, name: str, value: ir.Var, rest: list[Stmt]) -> bool:
        """Say whether a variable is but another name for one that never changes, wherever it is read."""
        once = self._assigned[name] == 1 == self._assigned[value.name]
        return once and variable_counts(tuple(rest))[1][name] == self._read[name]


def see_through_names(program: Program) -> Program:
    """Return the same program, in which a variable is divided as what it holds, where that is simpler.

    With `row = 16 * m + lane % 16`, `row // 2 % 4` is `lane // 2 % 4`, which a loop over m does not change. The
    variable of a loop counts as a multiple of its step, where its start is one.
    """

    def change(stmt: Stmt, facts: Facts, known: Definitions) -> Stmt:
        return map_own(stmt, lambda expr: _divided(expr, facts, known))

    return replace(program, body=_seen_through(program.body, launch_facts(program), {}, change, _stepped))


def steady_first(program: Program) -> Program:
    """Return the same program, in which the indices of what is copied, and of rows that lanes name, are sums of what no
    loop changes that compilers unroll, and behind it, of what only such loops do."""
    static = static_names(program)

    def apart(index: Expr, known: Definitions) -> Expr:
        moves = {name: value for name, value in known.items() if names_in(value) & static and name not in static}
        terms = list(_summands(_expand(index, moves)))
        scaled = [each for each in terms if not isinstance(each, int)]
        moved = [each for each in scaled if is_static(each.atom, static)]
        if len(moved) in (0, len(scaled)):
            return index
        steady = sum_of([each for each in scaled if each not in moved], 0, index.place)
        behind = sum_of(moved, sum(each for each in terms if isinstance(each, int)), index.place)
        return ir.Binary("+", steady, behind, DType.INDEX, index.place)

    def change(stmt: Stmt, facts: Facts, known: Definitions) -> Stmt:
        def loaded(expr: Expr) -> Expr:
            if isinstance(expr, ir.Load):
                return replace(expr, indices=tuple(apart(index, known) for index in expr.indices))
            return rebuild(expr, loaded)

        match stmt:
            case ir.CopyAsync(source=source):
                return replace(stmt, source=loaded(source))
            case ir.WarpInstruction(operands=operands):
                row = row_operand(stmt)
                return replace(stmt, operands=tuple(loaded(each) if each is row else each for each in operands))
            case _:
                return stmt

    return replace(program, body=_seen_through(program.body, launch_facts(program), {}, change, lambda _: {}))


def _summands(expr: Expr, factor: int = 1) -> Iterator[ScaledAtom | int]:
    """Yield what is added up, products of sums taken apart."""
    for each in terms_of(expr, factor):
        if isinstance(each, int) or not isinstance(each.atom, ir.Binary) or each.atom.op not in ("+", "-"):
            yield each
        else:
            yield from _summands(each.atom, each.factor)


def _seen_through(
    body: Body,
    facts: Facts,
    known: Definitions,
    change: Callable[[Stmt, Facts, Definitions], Stmt],
    of_loop: Callable[[ir.For], Definitions],
) -> Body:
    """Return the body with each statement changed by the definitions that hold there, and those of loops around."""
    found: list[Stmt] = []
    for stmt in body:
        changed = change(stmt, facts, known)
        match changed:
            case ir.For(body=inner):
                forget(known, assigned_in((stmt,)))
                within = {**known, **of_loop(changed)}
                changed = replace(
                    changed, body=_seen_through(inner, loop_facts(changed, facts), within, change, of_loop)
                )
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                sides = [
                    _seen_through(side, facts_where(condition, truth, facts), dict(known), change, of_loop)
                    for side, truth in ((then, True), (otherwise, False))
                ]
                changed = replace(changed, then=sides[0], otherwise=sides[1])
            case _:
                pass
        update_definitions(stmt, known, facts)
        facts = after(stmt, facts)
        found.append(changed)
    return tuple(found)


TRIP: Final = "trip of "
"""Begins the name of what a loop's variable is its step times: no program has such a name."""


def _stepped(loop: ir.For) -> Definitions:
    match loop:
        case ir.For(start=ir.Const(value=start), step=ir.Const(value=step)) if step > 1 and start % step == 0:
            trip = ir.Var(TRIP + loop.variable, DType.INDEX, loop.place)
            return {loop.variable: ir.Binary("*", trip, loop.step, DType.INDEX, loop.place)}
        case _:
            return {}


def _divided(expr: Expr, facts: Facts, known: Definitions) -> Expr:
    match expr:
        case ir.Binary(op="//" | "%" | ">>" | "&", right=ir.Const(), dtype=DType.INDEX) if (
            names_in(expr) & known.keys()
        ):
            seen = simplify_expression(_as_divisions(_expand(expr, known)), facts)
            counts_trips = any(name.startswith(TRIP) for name in names_in(seen))
            if not counts_trips and operation_count(seen) <= operation_count(expr):
                return seen
        case _:
            pass
    return rebuild(expr, lambda child: _divided(child, facts, known))


def _as_divisions(expr: Expr) -> Expr:
    """Return an expression with `//` for shifts to the right, and `%` for masks."""
    expr = rebuild(expr, _as_divisions)
    match expr:
        case ir.Binary(op=">>", right=ir.Const(value=by)) if 0 <= by < 32:
            return replace(expr, op="//", right=replace(expr.right, value=1 << int(by)))
        case ir.Binary(op="&", right=ir.Const(value=mask)) if mask >= 0 and not int(mask) & int(mask) + 1:
            return replace(expr, op="%", right=replace(expr.right, value=int(mask) + 1))
        case _:
            return expr


def _is_worth_a_name(value: Expr) -> bool:
    trivial = isinstance(value, ir.Const | ir.Var)
    return not trivial and not value.dtype.is_data and is_computable(value, {})


def variable_counts(body: Body) -> tuple[Counter[str], Counter[str]]:
    """Count how often each variable is assigned, and how often it is read."""
    assigned: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for stmt in statements(body):
        assigned.update(_assigned_by(stmt))
        for expr in own_expressions(stmt):
            read.update(part.name for part in subexpressions(expr) if isinstance(part, ir.Var))
    return assigned, read


def _named(expr: Expr, known: Definitions) -> Expr:
    if not expr.dtype.is_data:
        for name, value in known.items():
            if same(expr, value):
                return ir.Var(name, expr.dtype, expr.place)
    return rebuild(expr, lambda child: _named(child, known))
