"""Data that is only moved: in which ways an output may come about, and what holes give then.

In a transposition by three shuffles, the function of the last one determines the two before, point by point: an output
element wants one input element, and the last function says in which lane and register it has to be before. All outputs
are followed back at once (NumPy), and without a solver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.solving.problem.problem import Problem
from symbolic.limits import look
from symbolic.machine.memory import Read, Snapshot
from symbolic.values.data import DataVector
from symbolic.values.moved import Gathered, Selected, Shuffled
from symbolic.values.vector import Deferred, HoleQuestion, Lanes, Vector

Places: TypeAlias = npt.NDArray[np.int64]
NOWHERE = -2  # no cell, and not OUTSIDE, either
_FACTOR = np.int64(0x1E3779B97F4A7C15)
# Each of these is varied by an experiment: python bench/tuned.py chains.DENSE 0 4 16
ROWS = 1 << 22  # ways
AT_ONCE = 1 << 18  # ways that are looked at together
PAIRS = 1 << 25  # cells times terms
DENSE = 4  # times as many places as points are looked up


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
        """Return some of them, by a condition or by their numbers."""
        if some.dtype == np.bool_ and some.all():
            return self
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

    def __init__(self, table: Places) -> None:
        self.table = table
        some = table if len(table) else np.zeros((1, table.shape[1]), np.int64)
        self.least = some.min(axis=0)
        self.spans = some.max(axis=0) - self.least + 1
        numbers, cells = self._number(self.table.T), prod(self.spans.tolist())
        self.order = np.argsort(numbers)
        self.numbers = numbers[self.order]
        self.place_of: Places | None = None  # where points lie close to each other
        if cells <= DENSE * len(table):
            self.place_of = np.full(cells, -1)
            self.place_of[numbers] = np.arange(len(table))

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
        if self.place_of is not None:
            return self.place_of[numbers] if inside.all() else np.where(inside, self.place_of[numbers * inside], -1)
        where = np.searchsorted(self.numbers, numbers).clip(0, len(self.numbers) - 1)
        return np.where(inside & (self.numbers[where] == numbers), self.order[where], -1)


class Chains:
    """The outputs of one problem, followed back to the inputs."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        holes = problem.program.holes
        some = zip(holes, problem.points, strict=True)
        self.points = [_Points(points.table.reshape(-1, len(hole.arguments))) for hole, points in some]
        self.complete = True  # no way was left out as a thread that is off would have to ask a hole
        self._fixed: Mapping[int, Places] = {}
        self.count = len(self._wanted[1])
        self._holders: dict[Snapshot, _Holders | None] = {}
        self._known: dict[int, tuple[Vector, bool]] = {}

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
        wanted = {name: self.problem.wanted[name] for name in self.problem.finals}
        count = [len(some) for some in wanted.values()]
        array = np.repeat(np.arange(len(count)), count)
        address = np.concatenate([np.arange(some) for some in count])
        return list(wanted), array, address, np.concatenate([np.array(some, np.int64) for some in wanted.values()])

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
        if self._is_known(vector):
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
            found = table.take(ways.thread[start : start + step], axis=1)
            holders = None if seen is None else self._holders_in(seen)
            if holders is None:
                line, number = np.nonzero(np.ones_like(found, np.bool_))
            else:
                line, number = np.nonzero(holders.may(found, ways.term[start : start + step]))
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

    def _holders_in(self, seen: Snapshot) -> _Holders | None:
        """Return what says which cells may hold a term; None if that takes too long to find out."""
        if seen not in self._holders:
            self._holders[seen] = self._newly_found(seen)
        return self._holders[seen]

    def _newly_found(self, seen: Snapshot) -> _Holders | None:
        """Find what cells may hold, where each term comes straight from a known cell."""
        count = len(self.problem.terms.nodes)
        if seen.diffuse:
            return None
        cells = np.flatnonzero(seen.written)
        version = seen.version[cells]
        if (version < 0).all() and len(np.unique(seen.data[cells])) == len(cells):
            owner = np.full(count, NOWHERE)
            owner[seen.data[cells]] = cells
            return _Holders(owner)
        row, rows = np.full(len(seen.data) + 1, -1), list[Places]()  # of cells; the last one is OUTSIDE
        for number in np.unique(version).tolist():
            own = cells[version == number]
            terms = seen.data[own][None] if number < 0 else _plain_terms(seen.values[number], seen.writer[own])
            if terms is None:
                return None
            alike, first = _alike_columns(terms)
            row[own] = alike + sum(some.shape[1] for some in rows)
            rows.append(terms[:, first])
        total = sum(some.shape[1] for some in rows)
        if count * total > PAIRS:
            return None
        found = np.zeros((total + 1, count), np.bool_)  # the last row is that of cells that hold nothing
        start = 0
        for some in rows:
            found[np.arange(start, start + some.shape[1]), some] = True
            start += some.shape[1]
        return _Holders(None, found.reshape(-1), np.where(row < 0, total, row) * count)

    def _is_known(self, vector: Deferred) -> bool:
        """Say whether a vector is the same for all values of its hole, as a bound is that no value breaks."""
        known = self._known.get(id(vector))
        if known is None:
            table = vector.table
            known = self._known[id(vector)] = vector, bool((table == table[0]).all())
        return known[1]


class _Holders(Struct, frozen=True):
    """Which cells may hold a term: the only one for each, or `pairs` of cells and terms.

    Cells that may hold the same have one row of pairs; `row` says where it begins.
    """

    owner: Places | None
    pairs: npt.NDArray[np.bool_] | None = None
    row: Places | None = None

    def may(self, cells: Places, terms: Places) -> npt.NDArray[np.bool_]:
        """Say which of these cells may hold a term, a column for each."""
        if self.owner is not None:
            return np.asarray(cells == self.owner[terms])
        assert self.pairs is not None and self.row is not None
        return self.pairs.take(self.row.take(cells, mode="wrap") + terms)


def _alike_columns(terms: Lanes) -> tuple[Places, Places]:
    """Return of each column the number of the first one that it equals, among these, and where these are."""
    mixed = terms * _FACTOR
    marks = ((mixed ^ mixed >> 29) * _FACTOR).sum(axis=0)
    _, first, alike = np.unique(marks, return_index=True, return_inverse=True)
    if (terms == terms[:, first[alike]]).all():
        return alike, first
    every = np.arange(terms.shape[1])
    return every, every


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
