"""Other functions of the same cost with shorter formulas: rounds of a loop in another order, what a thread accumulates
dealt anew among statements and rounds, and a few light functions in place of each long or odd one.

Where several functions solve a sketch, a search ends with any of them: what the kernel does with a value may make no
difference. That the answer is the shortest is claimed only of the cost `terms` (`solving/costs/counted.py`), which
looks at every filling.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from swizzle.language.specs.verify import run_canonical
from swizzle.solving.costs.cost import BoundedCost
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.many import Many, Values
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.readback import Reading
from swizzle.solving.search.screening import Agreeing
from swizzle.solving.search.trying import FUNCTIONS as CHOICES
from swizzle.solving.search.trying import FunctionTable, every_function, light_functions
from symbolic.ir.program import Accumulate, Assign, Const, Expr, HoleCall, Program, Var
from symbolic.ir.python_text import python_text
from symbolic.ir.walk import own_expressions, rewrite_expression, subexpressions, within_loops
from symbolic.limits import look
from symbolic.machine.launch_shape import LaunchShape
from symbolic.values.vector import Vector
from templates.chooser import Choice
from templates.formula import length_of
from templates.holes import kind_of
from templates.registry import template
from templates.template import Template

SHORT: Final = 5  # terms, as `(lane + k) % 32` has them: nothing is tried for a formula that has no more
FUNCTIONS: Final = 9  # `0`, `k`, `i`, `i + k` and the like: what is tried for one hole
THREADS: Final = 1 << 14  # that run for one hole at most
SCREENED: Final = 1 << 20  # that run on numbers for one hole at most
DEALT: Final = 1 << 24  # rounds, threads and functions that are compared for one statement at most
ITEMS: Final = 1 << 12  # rounds and threads of one statement
TRIED: Final = 6  # functions of one statement, those that take most of what is left
NODES: Final = 64  # statements that are dealt to, until no more is tried
STATEMENTS: Final = 8  # of one accumulator
DEALS: Final = 16  # of which the one with the shortest formulas is taken
_Places: TypeAlias = npt.NDArray[np.intp]
_Items: TypeAlias = Sequence[Counter[tuple[int, ...]]]  # of each thread: the items that it has yet to accumulate


def with_shorter_formulas(reading: Reading, best: Candidate, cost: BoundedCost) -> Candidate:
    """Return a filling that costs no more, with shorter formulas where a few tries find some."""
    problem = reading.problem
    many = Many(problem)
    values = many.chosen(problem.templates(best.space), best.choices)
    best = _shortest(reading, many, best, values, cost, list(_orders(problem, many, values)))
    best = _with_items_dealt_anew(reading, many, best, cost)
    fits = min(FUNCTIONS, THREADS // LaunchShape.of(problem.program).count)
    for number, hole in enumerate(problem.program.holes):
        formula = reading.formulas(best)[number]
        length = length_of(formula)
        plain = {0, 1, hole.size}
        odd = any(isinstance(part, Const) and part.value not in plain for part in subexpressions(formula))
        if not problem.points[number] or not kind_of(hole).moves or (length <= SHORT and not odd):
            continue
        light = _light(problem, number)
        values = many.chosen(problem.templates(best.space), best.choices)
        arguments = list(many.points[number].table.T)
        others: dict[bytes, Values] = {}
        plainest = (light.apply(choice, arguments) for choice in itertools.islice(_plainest(light), fits))
        for given in (*plainest, *(some[number] for some in _agreeing(reading, number, values))):
            some = np.broadcast_to(np.asarray(given), len(values[number]))
            others.setdefault(some.astype(np.int64).tobytes(), (*values[:number], some, *values[number + 1 :]))
        best = _shortest(reading, many, best, values, cost, list(others.values()))
    return best


def _shortest(
    reading: Reading, many: Many, best: Candidate, values: Values, cost: BoundedCost, others: Sequence[Values]
) -> Candidate:
    """Return the filling with the shortest formulas, of the best, which has these values, and others at its cost."""
    found = [best]
    for other, costing in zip(others, many.costs(others, cost.of_copies), strict=True):
        own = [
            choice if new is old else reading.choice_of(best.space, number, new.tolist())
            for number, (choice, new, old) in enumerate(zip(best.choices, other, values, strict=True))
            if costing == best.cost
        ]
        choices = tuple(choice for choice in own if choice is not None)
        if len(choices) == len(values):
            found.append(Candidate(best.space, choices, best.cost, other))
    return min(found, key=reading.length)


def _orders(problem: Problem, many: Many, values: Values) -> Iterator[Values]:
    """Yield what the holes give with the rounds of a loop in the order in which one of its holes counts up.

    Where the order of rounds makes no difference, a search ends with any: all holes of a loop read in round k what they
    read in round p(k). So p is taken back, in all of them together, for each hole that it shows in.
    """
    columns: dict[tuple[str, int], list[tuple[int, int]]] = {}  # of a loop: its holes, and which argument it is
    for stmt, loops in within_loops(problem.program.body):
        variables = {loop.variable: number for number, loop in enumerate(loops)}
        for part in (part for own in own_expressions(stmt) for part in subexpressions(own)):
            match part:
                case HoleCall(hole=hole, args=arguments):
                    for place, argument in enumerate(arguments):
                        if isinstance(argument, Var) and argument.name in variables:
                            key = argument.name, id(loops[variables[argument.name]])
                            columns.setdefault(key, []).append((hole, place))
    for uses in columns.values():
        tables = {hole: many.points[hole].table for hole, _ in uses}
        for hole, place in uses:
            if values[hole].dtype == np.bool_:
                continue
            first = np.delete(tables[hole], place, axis=1)
            row = (first == first[0]).all(axis=1)
            rounds, given = tables[hole][row, place], values[hole][row] - values[hole][row].min()
            order = dict(zip(given.tolist(), rounds.tolist(), strict=True))
            if order.keys() != set(rounds.tolist()) or all(a == b for a, b in order.items()):
                continue
            moved = list(values)
            for other, column in uses:
                asked = tables[other].copy()
                asked[:, column] = [order.get(k, k) for k in asked[:, column].tolist()]
                at = {tuple(point): number for number, point in enumerate(tables[other].tolist())}
                moved[other] = values[other][[at.get(tuple(point), -1) for point in asked.tolist()]]
            yield moved  # where a point is missing, any value: what is wrong is found when it runs


class _Statement(NamedTuple):
    """An accumulate: the holes that say which item, and the one that says whether; where each is asked among its
    points, by rounds and threads; and what functions of the first hole give there, a line each."""

    moves: tuple[int, ...]
    when: int | None
    places: dict[int, _Places]
    given: npt.NDArray[np.int16]


def _with_items_dealt_anew(reading: Reading, many: Many, best: Candidate, cost: BoundedCost) -> Candidate:
    """Return a filling whose threads accumulate the same items in other statements and rounds, by shorter formulas.

    Which of them accumulates an item makes no difference, so a search ends with any: a neighbour to the left in one
    lane, a neighbour above in the next.
    """
    problem, templates = reading.problem, reading.problem.templates(best.space)
    lengths = [length_of(formula) for formula in reading.formulas(best)]
    long = {
        number
        for number, hole in enumerate(problem.program.holes)
        if kind_of(hole).moves and lengths[number] > SHORT and not problem.branches
    }
    values = many.chosen(templates, best.choices)
    for group in _alike(problem, many, values) if long else ():
        if len(group) > STATEMENTS or not any(long & set(statement.moves) for statement in group):
            continue
        left, slots = _left(group, values), sum(map(_rounds, group))
        likely = [_likely(problem, statement, left, slots - _rounds(statement)) for statement in group]
        others: list[Values] = []
        for dealt in itertools.islice(_deals(problem, likely, left, iter(range(NODES))), DEALS):
            found = ((number, reading.choice_of(best.space, number, given)) for number, given in dealt.items())
            own = {number: choice for number, choice in found if choice is not None}
            if len(own) == len(dealt):
                made = many.chosen(templates, [own.get(number, choice) for number, choice in enumerate(best.choices)])
                others.append([made[number] if number in own else old for number, old in enumerate(values)])
        best = _shortest(reading, many, best, values, cost, others)
        values = many.chosen(templates, best.choices)
    return best


def _left(group: Sequence[_Statement], values: Values) -> _Items:
    """Return what each thread accumulates by these statements."""
    left: list[Counter[tuple[int, ...]]] = [Counter() for _ in group[0].places[group[0].moves[0]][0]]
    for moves, when, places, _ in group:
        items = np.stack([values[number][places[number]] for number in moves], axis=-1)
        on = np.ones(items.shape[:2], np.bool_) if when is None else values[when][places[when]]
        for round, thread in np.argwhere(on).tolist():
            left[thread][tuple(items[round, thread].tolist())] += 1
    return left


def _alike(problem: Problem, many: Many, values: Values) -> Iterator[list[_Statement]]:
    """Yield groups of statements that accumulate the same of an item, in one accumulator, whatever the round is."""
    program, groups = problem.program, dict[str, list[_Statement]]()
    asked: dict[int, list[_Places | None]] = {number: [] for number in range(len(values))}
    answer = many.by_tables([some[None] for some in values], 1)

    def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
        lanes = [argument for argument in args if isinstance(argument, np.ndarray)]
        on = np.asarray(mask)
        asked[number].append(many.points[number].places(lanes, on) if on.all() else None)
        return answer(number, args, mask)

    run_canonical(program, problem.terms, hole)
    for stmt, loops in within_loops(program.body):
        if not isinstance(stmt, Accumulate):
            continue
        operands = [_written_out(program, operand) for operand in stmt.operands]
        condition = stmt.condition and _written_out(program, stmt.condition)
        calls = [part for operand in operands for part in subexpressions(operand) if isinstance(part, HoleCall)]
        moves, when = tuple(call.hole for call in calls), condition.hole if isinstance(condition, HoleCall) else None
        holes = moves if when is None else (*moves, when)
        rounds = {len(asked[number]) for number in holes}
        shape = [*stmt.indices, *(rewrite_expression(operand, _item) for operand in operands)]
        names = {part.name for expr in shape for part in subexpressions(expr) if isinstance(part, Var)}
        if (
            moves
            and len(set(holes)) == len(holes)
            and len(rounds) == 1
            and rounds != {0}
            and not any(places is None for number in holes for places in asked[number])
            and all(kind_of(program.holes[number]).moves for number in moves)
            and (condition is None) == (when is None)
            and names.isdisjoint(loop.variable for loop in loops)
        ):
            places = {number: np.stack([some for some in asked[number] if some is not None]) for number in holes}
            key = " ".join([stmt.accumulator, *map(python_text, shape)])
            groups.setdefault(key, []).append(_Statement(moves, when, places, np.zeros((0, 0, 0), np.int16)))
    yield from groups.values()


def _written_out(program: Program, expr: Expr) -> Expr:
    """Return an expression with the values of names that are assigned once in place of the names."""
    values: dict[str, list[Expr]] = {}
    for stmt, _ in within_loops(program.body):
        if isinstance(stmt, Assign):
            values.setdefault(stmt.name, []).append(stmt.value)

    def rule(node: Expr) -> Expr:
        known = values.get(node.name, []) if isinstance(node, Var) else []
        return rewrite_expression(known[0], rule) if len(known) == 1 else node

    return rewrite_expression(expr, rule)


def _item(node: Expr) -> Expr:
    """Put a number in place of a hole: which item it is."""
    return Const(0, node.dtype, node.place) if isinstance(node, HoleCall) else node


def _rounds(statement: _Statement) -> int:
    return len(statement.places[statement.moves[0]])


def _likely(problem: Problem, statement: _Statement, left: _Items, spare: int) -> _Statement:
    """Return a statement with the functions of Space 1, or the lightest, that fit where it is dealt first."""
    first = statement.moves[0]
    points, places = problem.points[first], statement.places[first]
    if places.size > ITEMS:
        return statement
    whole = template(replace(problem.program.holes[first], kind="xform", families=()), points, "1")
    few = whole.size() > CHOICES or whole.size() * places.size > DEALT // STATEMENTS
    functions = (light_functions if few else every_function)(whole, points).values[:, places]
    return statement._replace(given=functions[_fitting(problem, statement._replace(given=functions), left, spare)[0]])


def _fitting(
    problem: Problem, statement: _Statement, left: _Items, spare: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return which of a statement's functions give items that are left, those that give most first, and where they do.

    Where they do is said by a condition on what the statement's condition is asked with, and the others have `spare`
    rounds for what is left then.
    """
    given, when = statement.given, statement.when
    counts = np.zeros((len(left), problem.program.holes[statement.moves[0]].size), np.int64)
    for thread, items in enumerate(left):
        for item, count in items.items():
            counts[thread, item[0]] += count
    taken = np.zeros(given.shape, np.bool_)
    for round in range(given.shape[1]):
        before = (taken[:, :round] & (given[:, :round] == given[:, round, None])).sum(axis=1)
        taken[:, round] = counts[np.arange(len(left)), given[:, round]] > before
    rows = np.flatnonzero((counts.sum(axis=1) - taken.sum(axis=1) <= spare).all(axis=1))
    if when is None:
        rows = rows[taken[rows].all(axis=(1, 2))]
    else:
        asked = np.eye(len(problem.points[when]), dtype=np.float32)[statement.places[when].reshape(-1)]
        on = taken[rows].reshape(len(rows), len(asked)).astype(np.float32) @ asked
        rows = rows[((on == 0) | (on == asked.sum(axis=0))).all(axis=1)]
    rows = rows[np.argsort(-taken[rows].sum(axis=(1, 2)), kind="stable")]
    return rows, taken[rows]


def _deals(
    problem: Problem, group: Sequence[_Statement], left: _Items, budget: Iterator[int]
) -> Iterator[dict[int, list[Any]]]:
    """Yield what the holes of these statements give at their points (None is free), so that nothing is left."""
    look()
    if not group:
        yield from [] if any(map(Counter.total, left)) else [{}]
        return
    (moves, when, places, given), others = group[0], group[1:]
    rows, taken = _fitting(problem, group[0], left, sum(map(_rounds, others)))
    for row, takes, _ in zip(rows[:TRIED].tolist(), taken, budget, strict=False):
        now, right = [Counter(items) for items in left], True
        said: dict[int, list[Any]] = {number: [None] * len(problem.points[number]) for number in places}
        for round, thread in np.ndindex(takes.shape):
            first, on = int(given[row, round, thread]), bool(takes[round, thread])
            item: tuple[int | None, ...] = (first, *[None] * (len(moves) - 1))
            if on:
                item = some = next(item for item, n in now[thread].items() if n and item[0] == first)
                now[thread][some] -= 1
            for number, value in [*zip(moves, item, strict=True), *([] if when is None else [(when, on)])]:
                if value is not None:
                    at = places[number][round, thread]
                    right &= said[number][at] in (None, value)
                    said[number][at] = value
        if right:
            for more in _deals(problem, others, now, budget):
                yield {**said, **more}


def _agreeing(reading: Reading, number: int, values: Values) -> Iterator[Values]:
    """Yield fillings that agree with the specification on numbers, with other functions of Space 1 for one hole."""
    problem, points = reading.problem, reading.problem.points[number]
    whole = template(problem.program.holes[number], points, "1")
    threads = LaunchShape.of(problem.program).count
    if whole.size() <= SCREENED // threads and not problem.branches:
        tables = [FunctionTable(some[None], lambda place: ()) for some in values]
        tables[number] = every_function(whole, points)
        agreeing = Agreeing(problem, reading.sketch.spec)
        for row in next(agreeing.rows(tables), []):
            yield agreeing.values(tables, row)


def _light(problem: Problem, number: int) -> Template:
    """Return the light functions of Space 1 at a hole's points, of which one that names its families may have some."""
    hole = replace(problem.program.holes[number], kind="xform", families=())
    return template(hole, problem.points[number], "1").restricted(strides=bool(problem.reductions))


def _plainest(template: Template) -> Iterator[Choice]:
    """Yield the choices of a template of Space 1, those without an offset first."""
    shapes, rates, offsets = template.components
    for offset, shape, rate in itertools.product(offsets, shapes, rates):
        yield shape, rate, offset
