"""Other functions of the same cost with shorter formulas: rounds of a loop in another order, and a few light functions
in place of each long or odd one.

Where several functions solve a sketch, a search ends with any of them: what the kernel does with a value may make no
difference. That the answer is the shortest is claimed only of the cost `terms` (`solving/costs/counted.py`), which
looks at every filling.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np
from msgspec.structs import replace

from swizzle.solving.costs.cost import BoundedCost
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.many import Many, Values
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.readback import Reading
from swizzle.solving.search.screening import Agreeing
from swizzle.solving.search.trying import FunctionTable, every_function
from symbolic.ir.program import Const, HoleCall, Var
from symbolic.ir.walk import own_expressions, subexpressions, within_loops
from symbolic.machine.launch_shape import LaunchShape
from templates.chooser import Choice
from templates.formula import length_of
from templates.holes import kind_of
from templates.registry import template
from templates.template import Template

SHORT: Final = 5  # terms, as `(lane + k) % 32` has them: nothing is tried for a formula that has no more
FUNCTIONS: Final = 9  # `0`, `k`, `i`, `i + k` and the like: what is tried for one hole
THREADS: Final = 1 << 14  # that run for one hole at most
SCREENED: Final = 1 << 20  # that run on numbers for one hole at most


def with_shorter_formulas(reading: Reading, best: Candidate, cost: BoundedCost) -> Candidate:
    """Return a filling that costs no more, with shorter formulas where a few tries find some."""
    problem = reading.problem
    many = Many(problem)
    best = _with_rounds_in_order(reading, many, best, cost)
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
        for choice in itertools.islice(_plainest(light), fits):
            some = np.broadcast_to(np.asarray(light.apply(choice, arguments)), len(values[number]))
            others.setdefault(some.astype(np.int64).tobytes(), (*values[:number], some, *values[number + 1 :]))
        others |= {some[number].astype(np.int64).tobytes(): some for some in _agreeing(reading, number, values)}
        costs = many.costs(list(others.values()), cost.of_copies)
        for other, costing in zip(others.values(), costs, strict=True):
            own = reading.choice_of(best.space, number, other[number].tolist()) if costing == best.cost else None
            if own is not None:
                choices = (*best.choices[:number], own, *best.choices[number + 1 :])
                candidate = Candidate(best.space, choices, best.cost, other)
                if length_of(reading.formulas(candidate)[number]) < length:
                    best, length = candidate, length_of(reading.formulas(candidate)[number])
    return best


def _with_rounds_in_order(reading: Reading, many: Many, best: Candidate, cost: BoundedCost) -> Candidate:
    """Return a filling whose loops go through what a hole reads from first to last, if formulas are shorter by that.

    Where the order of rounds makes no difference, a search ends with any: all holes of a loop read in round k what they
    read in round p(k). So p is taken back, in all of them together, for each hole that it shows in.
    """
    problem = reading.problem
    values = many.chosen(problem.templates(best.space), best.choices)
    others = list(_orders(problem, many, values))
    length = reading.length(best)
    for other, costing in zip(others, many.costs(others, cost.of_copies), strict=True):
        if costing != best.cost:
            continue
        own = [
            choice if new is old else reading.choice_of(best.space, number, new.tolist())
            for number, (choice, new, old) in enumerate(zip(best.choices, other, values, strict=True))
        ]
        choices = tuple(choice for choice in own if choice is not None)
        if len(choices) == len(own):
            candidate = Candidate(best.space, choices, best.cost, other)
            shorter = reading.length(candidate)
            best, length = (candidate, shorter) if shorter < length else (best, length)
    return best


def _orders(problem: Problem, many: Many, values: Values) -> Iterator[Values]:
    """Yield what the holes give with the rounds of a loop in the order in which one of its holes counts up."""
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
