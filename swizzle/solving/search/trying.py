"""All fillings are tried side by side, where outputs are asked item by item and the holes have few functions.

What is asked of an output is a guard, and a guard is worked out for tens of thousands of fillings at once
(`symbolic.values.guard_columns`). Each hole is looked at by itself first, with the others open: most of its functions
bring some item nowhere, or bring it where it must not be, whatever the other holes do. What is left of two holes is put
together and looked at again, until all holes are. So a proof that there is no filling is one by exhaustion, and what is
found is run by the machine. Questions are counterexamples: what a filling that is left gets wrong is asked of all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.solving.audit.certificate import EngineName
from swizzle.solving.costs.cost import BoundedCost, floor_of
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.many import Many, Values
from swizzle.solving.problem.problem import Content, Demand, Problem
from symbolic.algebra.orders import accumulation
from symbolic.ir.program import DType
from symbolic.limits import look
from symbolic.solve.interrupt import gc_paused
from symbolic.values.guard import FALSE, TRUE
from symbolic.values.guard_columns import FewLeft, Outcomes
from symbolic.values.union import Union
from symbolic.values.vector import Encoding
from templates.chooser import Choice, ColumnChooser
from templates.either import Either
from templates.holes import SPACES, Point, Space, kind_of
from templates.template import Template

# Each of these is varied by an experiment: python bench/tuned.py trying.FUNCTIONS 20_000 50_000 200_000
FUNCTIONS: Final = 50_000
"""Choices of one hole's constants."""
VALUES: Final = 40_000_000
"""Of one hole, at all points together."""
FILLINGS: Final = 1_000_000_000_000
"""Of all holes, before any is asked: what many holes leave of more is still too many."""
PARTS: Final = 12
"""Parts of `AT_ONCE` fillings that are asked a question, until it is too long for what it may save."""
TOGETHER: Final = 2_000_000
"""Fillings of several holes that are looked at together."""
LIGHTEST: Final = 1_000
"""Functions of each family, where a space has too many for all."""
AT_ONCE: Final = 1 << 15
"""Fillings of which guards are worked out at once."""
QUESTIONS: Final = 24
"""That are asked of fillings of some holes, with the others open."""
IN_VAIN: Final = 3
"""Questions in a row that rule nothing out, after which no more are asked while holes are open."""
FEW: Final = 64
"""Fillings that are run by the machine at once."""
SHARE: Final = 64
"""A question of which it is known that at most one filling in so many gets it right is not worked out further."""
MOST_RUN: Final = 4_096
"""Right fillings that are run to find the cheapest."""

_Rows = npt.NDArray[np.int32]


class FunctionTable(Struct, frozen=True):
    """The functions of a hole: a line each, with its value at each point, and the constants of each line."""

    values: npt.NDArray[np.int16]
    choice: Callable[[int], Choice]


class _Group:
    """Fillings of some holes, and how many questions they were asked."""

    def __init__(self, rows: dict[int, _Rows]) -> None:
        self.rows, self.asked, self.in_vain = rows, 0, 0

    @property
    def size(self) -> int:
        return _size(self.rows)

    def asks(self, demands: Sequence[Demand]) -> bool:
        """Say whether another question may rule some out."""
        return self.size > 1 and self.in_vain < IN_VAIN and self.asked < len(demands)


class TooMany(Exception):
    """There are too many fillings to try them all."""


class Exhaustion:
    """All fillings of a space."""

    def __init__(self, problem: Problem, space: Space, cost: BoundedCost, light: bool = False) -> None:
        """Raises `TooMany` where a hole has too many functions, unless those of `light` formulas will do: then the
        engine is not `complete`."""
        self.problem, self.space, self.cost = problem, space, cost
        self.narrowed = self.unsigned = False
        self.asked = self._parts = 0
        self.templates = problem.templates(space)
        self._places = [{point: at for at, point in enumerate(points)} for points in problem.points]
        self._many = Many(problem)
        self._questions = list(itertools.islice(self._demands(), QUESTIONS))
        whole = [
            t.size() <= FUNCTIONS and t.size() * len(p) <= VALUES
            for t, p in zip(self.templates, problem.points, strict=True)
        ]
        self.complete = all(whole)
        if not self._questions or not (self.complete or light):
            raise TooMany
        if self.complete and math.prod(t.size() for t in self.templates) > FILLINGS:
            raise TooMany
        make = [every_function if some else light_functions for some in whole]
        self._tables = [m(t, p) for m, t, p in zip(make, self.templates, problem.points, strict=True)]

    @property
    def name(self) -> EngineName:
        """The engine's name in a certificate."""
        return "exhaustion"

    def evidence(self) -> dict[str, int]:
        """Return how large a proof was."""
        return {"looked_at": self.asked, "fillings": math.prod(len(table.values) for table in self._tables)}

    def candidates(self) -> list[Candidate]:
        """Return right fillings, all of them where some cost less than others; none where there is none.

        Raises `TooMany`.
        """
        if not all(len(table.values) for table in self._tables):
            return []
        groups = [_Group({hole: np.arange(len(t.values), dtype=np.int32)}) for hole, t in enumerate(self._tables)]
        demands = self._questions
        while len(groups) > 1:
            groups.sort(key=lambda group: group.size)
            two, others = groups[:2], [group for group in groups if group.asks(demands)]
            together = two[0].size * two[1].size
            if together <= AT_ONCE or not others:
                if together > TOGETHER:
                    raise TooMany
                groups[:2] = [_Group(_product(two[0].rows, two[1].rows))]
                continue
            group = max(others, key=lambda group: group.size / (1 + group.asked))
            self._ask(group, demands[group.asked], [other for other in groups if other is not group])
            if not group.size:
                return []
        return self._settled(groups[0])

    def _ask(self, group: _Group, demand: Demand, others: Sequence[_Group]) -> None:
        """Keep the fillings of a group that may be right, with the holes of the other groups open."""
        before = group.size
        group.rows = self._left(group.rows, demand, [other.rows for other in others])
        group.asked += 1
        group.in_vain = group.in_vain + 1 if group.size == before else 0

    def _demands(self) -> Iterator[Demand]:
        """Yield questions about items, far from each other."""
        problem = self.problem
        for array, op in problem.reductions.items():
            own = [output for output in problem.outputs if output.array == array]
            questions = dict.fromkeys(
                question
                for output in (own[-1], own[0], own[len(own) // 2])
                for question in accumulation(problem.terms, op).questions(output.term)
            )
            some = list(questions)
            step = next(s for s in (7, 5, 3, 2, 1) if len(some) % s or s == 1)
            yield from (Content(array, some[at * step % len(some)]) for at in range(len(some)))

    def _left(
        self, group: dict[int, _Rows], demand: Demand, others: Sequence[dict[int, _Rows]] = ()
    ) -> dict[int, _Rows]:
        """Return the fillings of a group that a question does not rule out."""
        self.asked += 1
        parts = [
            self._left_of({hole: rows[start : start + AT_ONCE] for hole, rows in group.items()}, demand, others)
            for start in range(0, _size(group), AT_ONCE)
        ]
        return {hole: np.concatenate([part[hole] for part in parts]) for hole in group}

    def _left_of(self, group: dict[int, _Rows], demand: Demand, others: Sequence[dict[int, _Rows]]) -> dict[int, _Rows]:
        look()
        self._parts += 1
        if self._parts > PARTS:
            raise TooMany
        guards = Outcomes(_size(group), few=0 if others else _size(group) // SHARE)
        known: dict[tuple[int, Point], Union] = {}
        elsewhere = {hole: rows for other in others for hole, rows in other.items()}

        def hole(number: int, point: Point) -> Union:
            found = known.get((number, point))
            if found is None:
                rows = group.get(number)
                column = self._tables[number].values[:, self._places[number][point]]
                if rows is None:
                    found = self._open(guards, number, _distinct(column[elsewhere[number]]))
                else:
                    column = column[rows]
                    found = self._decided(guards, number, column)
                known[number, point] = found
            return found

        encoding = Encoding(guards, self.problem.terms, hole, signed=self.problem.signed)
        try:
            with gc_paused():
                self.problem.require(encoding, demand)
        except FewLeft:
            pass
        left = guards.left
        self.narrowed |= encoding.narrowed
        self.unsigned |= encoding.unsigned
        return {number: rows[left] for number, rows in group.items()}

    def _is_condition(self, number: int) -> bool:
        hole = self.problem.program.holes[number]
        return kind_of(hole).gives is DType.BOOL

    def _decided(self, guards: Outcomes, number: int, column: npt.NDArray[np.int16]) -> Union:
        if self._is_condition(number):
            yes = guards.known(column != 0)
            return Union({True: yes, False: -yes}) if yes not in (TRUE, FALSE) else Union.single(yes == TRUE)
        found = {int(value): guards.known(column == value) for value in _distinct(column)}
        return Union({value: guard for value, guard in found.items() if guard != FALSE})

    def _open(self, guards: Outcomes, number: int, values: npt.NDArray[np.intp]) -> Union:
        if len(values) == 1:
            return Union.single(bool(values[0]) if self._is_condition(number) else int(values[0]))
        if self._is_condition(number):
            yes = guards.fresh()
            return Union({True: yes, False: -yes})
        return Union({int(value): guards.fresh() for value in values})

    def _settled(self, last: _Group) -> list[Candidate]:
        """Return the fillings that the machine finds right, of those that are left; some of them are run first."""
        right: list[Candidate] = []
        asked = set(self._questions[:1])
        last.rows = self._left(last.rows, self._questions[0])
        while last.size:
            drawn = np.zeros(last.size, np.bool_)
            drawn[:: max(1, last.size // FEW)] = True
            drawn &= np.cumsum(drawn) <= FEW
            some = {hole: rows[drawn] for hole, rows in last.rows.items()}
            last.rows = {hole: rows[~drawn] for hole, rows in last.rows.items()}
            values = [self._values(some, place) for place in range(_size(some))]
            costs = self._many.costs(values, self.cost.of_copies)
            for place, cost in enumerate(costs):
                if cost is not None:
                    right.append(self._candidate(self._choices(some, place), cost, values[place]))
            if right and self._costs_alike:
                break
            if last.size > FEW and None in costs:
                demand = self._wrong(some, costs.index(None), asked)
                if demand is not None:
                    asked.add(demand)
                    last.rows = self._left(last.rows, demand)
            elif last.size > MOST_RUN:
                raise TooMany
        return right

    def _candidate(self, choices: tuple[Choice, ...], cost: int, values: Values) -> Candidate:
        """Return a right filling, in the space before where each function is one of that space."""
        before, own = SPACES[SPACES.index(self.space) - 1], list(choices)
        for number, template in enumerate(self.templates):
            if isinstance(template, Either):
                part, own[number] = template.of(choices[number])
                if part is not template.parts[0]:
                    return Candidate(self.space, choices, cost, values)
        return Candidate(self.space if self.complete else before, tuple(own), cost, values)

    @cached_property
    def _costs_alike(self) -> bool:
        """Whether no filling changes the cost."""
        return floor_of(self.cost, self.problem) == self.cost.most(self.problem)

    def _wrong(self, some: dict[int, _Rows], place: int, asked: set[Demand]) -> Demand | None:
        """Return a question that was not asked, which a wrong filling answers wrongly."""
        problem = self.problem
        run, wrong = problem.candidate(self.templates, self._choices(some, place))
        for each in wrong:
            found: Sequence[Demand] = (
                problem.contents(each)
                if each.array in problem.reductions
                else [problem.demand_for(run, each.array, each.address)]
            )
            for demand in found:
                if demand not in asked:
                    return demand
        return None

    def _values(self, group: dict[int, _Rows], place: int) -> Values:
        found: list[Any] = []
        for number, table in enumerate(self._tables):
            found.append(self._many.typed(number, table.values[group[number][place]]))
        return found

    def _choices(self, group: dict[int, _Rows], place: int) -> tuple[Choice, ...]:
        return tuple(table.choice(int(group[number][place])) for number, table in enumerate(self._tables))


def _size(group: dict[int, _Rows]) -> int:
    return len(next(iter(group.values())))


def _product(one: dict[int, _Rows], other: dict[int, _Rows]) -> dict[int, _Rows]:
    """Return every filling of one group with every filling of another one."""
    left, right = _size(one), _size(other)
    return {
        **{hole: np.repeat(rows, right) for hole, rows in one.items()},
        **{hole: np.tile(rows, left) for hole, rows in other.items()},
    }


def _distinct(column: npt.NDArray[np.int16]) -> npt.NDArray[np.intp]:
    return np.flatnonzero(np.bincount(column))


def every_function(template: Template, points: Sequence[Point]) -> FunctionTable:
    """Return all functions of a template, each once."""
    every = ColumnChooser.everything(template.components)
    values = np.zeros((len(every), max(1, len(points))), np.int16)
    for at, point in enumerate(points):
        column = template.at(every, point)
        values[:, at] = np.array([int(value) for value in column.values], np.int16)[column.codes]
    first = _first_of_each(values)
    kept = ColumnChooser(every.components, [rows[first] for rows in every.rows])
    return FunctionTable(values[first], kept.choice)


def light_functions(template: Template, points: Sequence[Point]) -> FunctionTable:
    """Return the lightest functions of each part of a template, each once; there may be none."""
    if isinstance(template, Either):
        found = [
            template.whole(number, choice)
            for number, part in enumerate(template.parts)
            for choice in itertools.islice(part.lightest(), LIGHTEST)
        ]
    else:
        found = list(itertools.islice(template.lightest(), LIGHTEST))
    if not points:
        return FunctionTable(np.zeros((1, 1), np.int16), found.__getitem__)
    columns = list(np.array(points, np.int64).T)
    lines = [np.broadcast_to(np.asarray(template.apply(choice, columns)), len(points)) for choice in found]
    values = np.array(lines, np.int16).reshape(len(found), len(points))
    first = _first_of_each(values)
    return FunctionTable(values[first], [found[row] for row in first.tolist()].__getitem__)


def _first_of_each(values: npt.NDArray[np.int16]) -> npt.NDArray[np.intp]:
    """Return the places of the lines that are like none before."""
    lines = np.ascontiguousarray(values).view(f"V{values.shape[1] * values.itemsize}")
    return np.sort(np.unique(lines, return_index=True)[1])
