"""Data that is only moved: one hole's function is tried, and the outputs then say what the other holes must be.

In a transposition by three shuffles, the function of the last one determines the two before, point by point: an output
element wants one input element, and the last function says in which lane and register it has to be before. So nothing
needs to be searched but the functions of one hole, and whether the others' values are those of a function is asked of
their templates. All outputs are followed back at once (NumPy), and without a solver. It finds fillings, which the
machine then judges like any other; it proves nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.problem.problem import Problem
from symbolic.limits import look
from symbolic.machine.memory import Read, Snapshot
from symbolic.values.data import DataVector
from symbolic.values.moved import Gathered, Selected, Shuffled
from symbolic.values.vector import Deferred, HoleQuestion, Lanes, Vector
from templates.chooser import Choice
from templates.holes import Point, kind_of
from templates.template import Template

Places: TypeAlias = npt.NDArray[np.int64]
# Each of these is varied by an experiment: python bench/tuned.py chains.TRIED 200 1_000 5_000
TRIED = 1_000  # functions of the hole that is tried
FIRST, TOGETHER = 8, 64  # of them at once, when the search begins and later
ROWS = 1 << 22  # ways
AT_ONCE = 1 << 18  # ways that are looked at together
SAMPLE = 64  # outputs by which functions are sieved at first
COMPETING = 4096  # outputs among which those are looked for
PAIRS = 1 << 25  # cells times terms
SIEVE = 256  # outputs by which functions are sieved at most, with those that clashed


class NotOnlyMoved(Exception):
    """The kernel does more than move data, or holes decide what is written where."""


class Ways(Struct, frozen=True):
    """Ways in which outputs come about: which output wants which term, of which thread's value, if holes give what.

    `asked` has, of each hole and how often it was asked on the way before, the numbers of its point and its value; -1
    where it was not asked.
    """

    output: Places
    term: Places
    thread: Places
    asked: Mapping[tuple[int, int], tuple[Places, Places]]

    def take(self, some: Any) -> Ways:
        """Return some of them."""
        asked = {key: (point[some], value[some]) for key, (point, value) in self.asked.items()}
        return Ways(self.output[some], self.term[some], self.thread[some], asked)

    def at(self, thread: Places) -> Ways:
        """Return them with other threads."""
        return Ways(self.output, self.term, thread, self.asked)

    @staticmethod
    def joined(parts: Sequence[Ways]) -> Ways:
        """Return all of some ways."""
        if len(parts) == 1:
            return parts[0]
        keys = dict.fromkeys(key for part in parts for key in part.asked)

        def column(key: tuple[int, int], which: int) -> Places:
            nothing = [np.full(len(part.output), -1) for part in parts]
            some = [part.asked[key][which] if key in part.asked else nothing[n] for n, part in enumerate(parts)]
            return np.concatenate(some)

        return Ways(
            np.concatenate([part.output for part in parts]),
            np.concatenate([part.term for part in parts]),
            np.concatenate([part.thread for part in parts]),
            {key: (column(key, 0), column(key, 1)) for key in keys},
        )


Followed: TypeAlias = "tuple[DataVector | None, Ways]"  # to the value that decides next; None at the end


class _Points:
    """The points of a hole of some arguments, found by their coordinates; a hole that no thread asks has none."""

    def __init__(self, points: Sequence[Point], arity: int) -> None:
        self.table = np.array(points, np.int64).reshape(len(points), arity)
        some = self.table if points else np.zeros((1, arity), np.int64)
        self.least = some.min(axis=0)
        self.spans = some.max(axis=0) - self.least + 1
        numbers = self._number(self.table.T)
        self.order = np.argsort(numbers)
        self.numbers = numbers[self.order]

    def _number(self, columns: Sequence[Places] | Places) -> Places:
        found: Places = np.zeros(len(columns[0]), np.int64)
        for column, least, span in zip(columns, self.least, self.spans, strict=True):
            found = found * span + (column - least)
        return found

    def places(self, columns: Sequence[Places]) -> Places:
        """Return the numbers of points, -1 where there is none."""
        if not len(self.table):
            return np.full(len(columns[0]), -1)
        inside = np.ones(len(columns[0]), np.bool_)
        for column, least, span in zip(columns, self.least, self.spans, strict=True):
            inside &= (column >= least) & (column < least + span)
        numbers = self._number(columns)
        where = np.searchsorted(self.numbers, numbers).clip(0, len(self.numbers) - 1)
        return np.where(inside & (self.numbers[where] == numbers), self.order[where], -1)


class Chains:
    """The outputs of one problem, followed back to the inputs."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        holes = problem.program.holes
        self.points = [_Points(points, len(h.arguments)) for h, points in zip(holes, problem.points, strict=True)]
        self.complete = True  # no way was left out as a thread that is off would have to ask a hole
        self._fixed: Mapping[int, Places] = {}
        self._holders: dict[Snapshot, npt.NDArray[np.bool_] | None] = {}

    def ways(self, outputs: Places, fixed: Mapping[int, Places]) -> Ways:
        """Return all ways in which some outputs, by their numbers, get what they want.

        `fixed` are the values of some holes at their points. Raises `NotOnlyMoved`.
        """
        self._fixed = fixed
        return self._followed(self._from_outputs(outputs))

    def ways_of(self, value: DataVector, numbers: Places, terms: Places, threads: Places) -> Ways:
        """Return all ways in which a value is, for some threads, what is wanted there; `numbers` tell these apart."""
        self._fixed = {}
        start = Ways(numbers, terms, threads.astype(np.int64), {})
        return self._followed([(value, start)])

    def _followed(self, steps: Iterable[Followed]) -> Ways:
        """Follow ways to their ends; those that have come to one value go on together."""
        empty = np.zeros(0, np.int64)
        found = [Ways(empty, empty, empty, {})]
        while steps:
            open_values = dict[int, tuple[DataVector, list[Ways]]]()
            for value, ways in steps:
                if value is None:
                    found.append(ways)
                else:
                    open_values.setdefault(id(value), (value, []))[1].append(ways)
            steps = [step for value, parts in open_values.values() for step in self._value(value, Ways.joined(parts))]
        return Ways.joined(found)

    @cached_property
    def _wanted(self) -> tuple[list[str], Places, Places, Places]:
        """The arrays, and of each output its array's number, its address and its term."""
        names = list(dict.fromkeys(output.array for output in self.problem.outputs))
        number = {name: n for n, name in enumerate(names)}
        table = [(number[output.array], output.address, output.term) for output in self.problem.outputs]
        array, address, term = np.array(table, np.int64).reshape(-1, 3).T
        return names, array, address, term

    def _from_outputs(self, outputs: Places) -> Iterator[Followed]:
        names, array, address, term = self._wanted
        for number, name in enumerate(names):
            some = outputs[array[outputs] == number]
            if len(some):
                start = Ways(some, term[some], np.zeros(len(some), np.int64), {})
                yield from self._cells(self.problem.finals[name], start, address[some])

    def _cells(self, seen: Snapshot, ways: Ways, cells: Places) -> Iterator[Followed]:
        """Follow ways on to what cells hold."""
        if seen.diffuse:
            raise NotOnlyMoved
        there = cells >= 0
        there[there] = seen.written[cells[there]]
        ways, cells = ways.take(there), cells[there]
        version = seen.version[cells]
        settled = (version < 0) & (seen.data[cells] == ways.term)
        if settled.any():
            yield None, ways.take(settled)
        for number in np.unique(version[version >= 0]).tolist():
            some = version == number
            yield seen.values[number], ways.take(some).at(seen.writer[cells[some]].astype(np.int64))

    def _value(self, value: DataVector, ways: Ways) -> Iterator[Followed]:
        """Follow ways one step on to where a value comes from."""
        match value:
            case np.ndarray():
                yield None, ways.take(value[ways.thread] == ways.term)
            case Gathered():
                yield value.value, ways.at(value.giver[ways.thread])
            case Read():
                ways, cells = self._asked(value.address, ways, value.seen)
                yield from self._cells(value.seen, ways, cells)
            case Shuffled():
                ways, lanes = self._asked(value.source, ways)
                yield value.value, ways.at(value.base[ways.thread] + lanes)
            case Selected():
                ways, chosen = self._asked(value.chosen, ways)
                yield value.yes, ways.take(chosen)
                yield value.no, ways.take(~chosen)
            case _:
                raise NotOnlyMoved

    def _asked(self, vector: Vector, ways: Ways, seen: Snapshot | None = None) -> tuple[Ways, Any]:
        """Return ways with a steering value for each; one for each value that the hole behind it may give.

        `seen` is the memory of which the values are cells: those that cannot hold the term are left out.
        """
        look()
        if isinstance(vector, np.ndarray):
            return ways, vector[ways.thread]
        if vector.question is None:
            raise NotOnlyMoved
        question, table = vector.question, vector.table
        if (table == table[0]).all():  # as a bound is that no value breaks
            return ways, table[0, ways.thread]
        points = self.points_of(question, ways.thread)
        self.complete &= bool((points >= 0).all())
        ways, points = ways.take(points >= 0), points[points >= 0]
        if question.hole in self._fixed:
            value = self._fixed[question.hole][points]
            found = table[value, ways.thread]
        else:
            value, which = self._possible(table, ways, seen)
            found, points, ways = table[value, ways.thread[which]], points[which], ways.take(which)
        turn = sum(hole == question.hole for hole, _ in ways.asked)
        apart = np.zeros(len(points), np.bool_)
        for (hole, _), (before, taken) in ways.asked.items():
            if hole == question.hole:
                apart |= (before == points) & (taken != value)
        asked = {**ways.asked, (question.hole, turn): (points, value)}
        return Ways(ways.output, ways.term, ways.thread, asked).take(~apart), found[~apart]

    def _possible(self, table: Lanes, ways: Ways, seen: Snapshot | None) -> tuple[Places, Places]:
        """Return the lines of a table that may be right, each with the number of its way; some ways at once."""
        lines, numbers, count = list[Places](), list[Places](), 0
        step = max(1, AT_ONCE // len(table))
        for start in range(0, len(ways.thread), step):
            look()
            found = table[:, ways.thread[start : start + step]]
            keep = self._may_hold(seen, found, ways.term[start : start + step])
            line, number = np.nonzero(np.ones_like(found, np.bool_) if keep is None else keep)
            lines.append(line)
            numbers.append(number + start)
            count += len(line)
            if count > ROWS:
                raise NotOnlyMoved
        empty = np.zeros(0, np.int64)
        return np.concatenate([empty, *lines]), np.concatenate([empty, *numbers])

    def points_of(self, question: HoleQuestion, threads: Places) -> Places:
        """Return the numbers of the points at which threads ask, -1 where no thread that is on does."""
        return self.points[question.hole].places([argument[threads] for argument in question.arguments])

    # -- what cells may hold ----------------------------------------------------------------------------------

    def _may_hold(self, seen: Snapshot | None, cells: Places, term: Places) -> Any:
        """Say which of these cells may hold a term, a column for each; None if that takes too long to find out."""
        if seen is None:
            return None
        if seen not in self._holders:
            self._holders[seen] = self._pairs(seen)
        pairs = self._holders[seen]
        return None if pairs is None else pairs[cells.clip(0) * len(self.problem.terms.nodes) + term] & (cells >= 0)

    def _pairs(self, seen: Snapshot) -> npt.NDArray[np.bool_] | None:
        """Say of each cell and term if the one may hold the other, where each comes straight from a known cell."""
        count = len(self.problem.terms.nodes)
        if seen.diffuse or count * len(seen.data) > PAIRS:
            return None
        found = np.zeros(count * len(seen.data), np.bool_)
        cells = np.flatnonzero(seen.written)
        version = seen.version[cells]
        found[cells[version < 0] * count + seen.data[cells[version < 0]]] = True
        for number in np.unique(version[version >= 0]).tolist():
            own = cells[version == number]
            terms = _plain_terms(seen.values[number], seen.writer[own])
            if terms is None:
                return None
            found[own * count + terms] = True
        return found


def _plain_terms(value: DataVector, threads: Lanes) -> Lanes | None:
    """Return the terms that a value may be, a column for each thread, if it is taken from where nothing is open."""
    terms: Lanes
    match value:
        case np.ndarray():
            terms = value[None, threads]
            return terms
        case Selected(yes=yes, no=no):
            sides = [_plain_terms(yes, threads), _plain_terms(no, threads)]
            return None if any(side is None for side in sides) else np.concatenate([s for s in sides if s is not None])
        case Read(seen=seen, address=Deferred(question=HoleQuestion()) as address):
            cells = address.table[:, threads]
            if seen.diffuse or (seen.version >= 0).any():
                return None
            terms = np.where(cells >= 0, seen.data[cells.clip(0)], 0)
            return terms
        case Shuffled(value=np.ndarray() as offered, source=Deferred(question=HoleQuestion()) as source):
            terms = offered[value.base[threads] + source.table[:, threads]]
            return terms
    return None


# ---- the search ------------------------------------------------------------------------------------------------


def fillings(problem: Problem, templates: Sequence[Template]) -> Iterator[tuple[Choice, ...]]:
    """Yield fillings that give every output what it wants; perhaps none, although there are some."""
    if problem.branches or problem.by_items or not all(problem.points):
        return
    chains, outputs = Chains(problem), np.arange(len(problem.outputs))
    try:
        some = chains.ways(outputs[-1:], {})
        asked = list(dict.fromkeys(hole for hole, _ in some.asked))
        if len(asked) < len(templates):
            return
        if len(some.output) == 1:
            yield from _filled(chains, templates, chains.ways(outputs, {}), {})
            return
        for hole in asked:
            yield from _trying(problem, templates, chains, hole)
    except NotOnlyMoved:
        return


def _trying(problem: Problem, templates: Sequence[Template], chains: Chains, hole: int) -> Iterator[tuple[Choice, ...]]:
    """Yield fillings by trying functions of one hole."""
    outputs = np.arange(len(problem.outputs))
    columns = list(chains.points[hole].table.T)
    size, some = len(columns[0]), _competing(problem, chains, hole)
    sieve = chains.ways(some, {})
    choices, together = itertools.islice(templates[hole].lightest(), TRIED), FIRST
    while batch := list(itertools.islice(choices, together)):
        together = min(TOGETHER, 2 * together)
        tables = [np.broadcast_to(np.asarray(templates[hole].apply(choice, columns)), size) for choice in batch]
        values = np.array(tables, np.int64)
        alive = _sieved(sieve, hole, values)
        for number in range(len(batch)):
            if not alive[number]:
                continue
            ways = chains.ways(outputs, {hole: values[number]})
            clash = _clash(ways)
            if clash is None:
                yield from _filled(chains, templates, ways, {hole: batch[number]})
            elif len(some) < SIEVE:
                some = np.union1d(some, clash)
                sieve = chains.ways(some, {})
                alive[number:] &= _sieved(sieve, hole, values[number:])


def _competing(problem: Problem, chains: Chains, hole: int) -> Places:
    """Return a few outputs that want different values of the same hole at the same point, if a hole gives the same."""
    every = np.arange(len(problem.outputs))
    outputs = every[:: -(-len(every) // COMPETING)]
    middle = len(kind_of(problem.program.holes[hole]).values(problem.program.holes[hole])) // 2
    ways = chains.ways(outputs, {hole: np.full(len(problem.points[hole]), middle)})
    found: list[Places] = [every[:: -(-len(every) // (SAMPLE // 2))]]
    for (other, _), (points, _) in ways.asked.items():
        if other != hole and len(points):
            there, count = np.unique(points, return_counts=True)
            for point in there[np.argsort(-count, kind="stable")][: 1 if count.max() > 1 else 0]:
                found.append(ways.output[points == point][:SAMPLE])
    return np.unique(np.concatenate(found))


def _sieved(ways: Ways, hole: int, values: Places) -> npt.NDArray[np.bool_]:
    """Say which functions of a hole, a line of values each, leave some outputs a way without contradictions."""
    fits = np.ones((len(values), len(ways.output)), np.bool_)
    for (which, _), (points, wanted) in ways.asked.items():
        if which == hole:
            fits &= (values[:, points] == wanted) | (points < 0)
    names, output = np.unique(ways.output, return_inverse=True)
    function, row = np.nonzero(fits)
    count = np.bincount(function * len(names) + output[row], minlength=len(values) * len(names))
    found = np.asarray((count.reshape(-1, len(names)) > 0).all(axis=1))
    alone = count[function * len(names) + output[row]] == 1
    function, row = function[alone], row[alone]
    for (which, _), (points, wanted) in ways.asked.items():
        if which != hole:
            there = points[row] >= 0
            at, point, value = function[there], points[row][there], wanted[row][there]
            table = np.full((len(values), int(points.max(initial=0)) + 1), -1)
            table[at, point] = value
            np.logical_and.at(found, at, table[at, point] == value)
    return found


def _clash(ways: Ways) -> Places | None:
    """Return outputs that want different values of a hole at the same point; None if there are none."""
    for points, values in ways.asked.values():
        there = points >= 0
        table = np.full(int(points.max(initial=0)) + 1, -1)
        table[points[there]] = values[there]
        apart = np.flatnonzero(there & (table[points] != values))
        if len(apart):
            clash: Places = ways.output[points == points[apart[0]]]
            return clash
    return None


def _filled(
    chains: Chains, templates: Sequence[Template], ways: Ways, known: Mapping[int, Choice]
) -> Iterator[tuple[Choice, ...]]:
    """Yield the filling in which some holes have functions that are known, and the others the values of the ways."""
    problem = chains.problem
    if len(ways.output) != len(problem.outputs) or len(np.unique(ways.output)) != len(problem.outputs):
        return
    found = dict(known)
    for hole, template in enumerate(templates):
        if hole in found:
            continue
        table = np.full(len(problem.points[hole]), -1)
        asked = [some for key, some in ways.asked.items() if key[0] == hole]
        for points, values in asked:
            table[points[points >= 0]] = values[points >= 0]
        if any((table[points] != values)[points >= 0].any() for points, values in asked):
            return
        choice = template.recognised(chains.points[hole].table, table)
        if choice is None:
            return
        found[hole] = choice
    yield tuple(found[hole] for hole in range(len(templates)))
