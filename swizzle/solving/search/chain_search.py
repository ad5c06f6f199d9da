"""Data that is only moved: one hole's function is tried, and the outputs then say what the other holes must be.

So nothing needs to be searched but the functions of one hole, and whether the others' values are those of a function is
asked of their templates (`chains.py`). It finds fillings, which the machine then judges like any other; it proves
nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.chains import Chains, NotOnlyMoved, Places, Ways
from swizzle.solving.search.sweep import sweep_around
from templates.chooser import Choice
from templates.holes import kind_of
from templates.template import Template

# Each of these is varied by an experiment: python bench/tuned.py chain_search.TRIED 200 1_000 5_000
TRIED = 1_000  # functions of the hole that is tried
FIRST, TOGETHER = 8, 64  # of them at once, when the search begins and later
SAMPLE = 64  # outputs by which functions are sieved at first
COMPETING = 4096  # outputs among which those are looked for
SIEVE = 256  # outputs by which functions are sieved at most, with those that clashed


def fillings(problem: Problem, templates: Sequence[Template]) -> Iterator[tuple[Choice, ...]]:
    """Yield fillings that give every output what it wants; perhaps none, although there are some."""
    if problem.branches or problem.by_items or not all(problem.points):
        return
    chains = Chains(problem)
    outputs = np.arange(chains.count)
    try:
        sweep = sweep_around()
        for hole, choice in () if sweep is None else sweep.guesses(problem.program.holes, templates):
            yield from _with(chains, templates, hole, choice)[0]
        some = chains.ways(outputs[-1:], {})
        asked = list(dict.fromkeys(hole for hole, _ in some.asked))
        if len(some.output) == 1:
            yield from _filled(chains, templates, chains.ways(outputs, {}), {})
            return
        if len(asked) < len(templates):
            return
        for hole in asked:
            yield from _trying(problem, templates, chains, hole)
    except NotOnlyMoved:
        return


def _with(
    chains: Chains, templates: Sequence[Template], hole: int, choice: Choice
) -> tuple[Iterator[tuple[Choice, ...]], Places | None]:
    """Return the filling in which a hole has a known function, if there is one, or else outputs that clash."""
    (values,) = templates[hole].tables([choice], list(chains.points[hole].table.T))
    ways = chains.ways(np.arange(chains.count), {hole: values})
    clash = _clash(ways)
    return _filled(chains, templates, ways, {hole: choice}) if clash is None else iter(()), clash


def _trying(problem: Problem, templates: Sequence[Template], chains: Chains, hole: int) -> Iterator[tuple[Choice, ...]]:
    """Yield fillings by trying functions of one hole."""
    table, some = chains.points[hole].table, _competing(problem, chains, hole)
    sieve = _Sieve(chains.ways(some, {}), hole)
    choices, together = itertools.islice(templates[hole].lightest(), TRIED), FIRST
    while batch := list(itertools.islice(choices, together)):
        together = TOGETHER
        alive = sieve.lets(templates[hole], batch, table)
        for number, choice in enumerate(batch):
            if not alive[number]:
                continue
            found, clash = _with(chains, templates, hole, choice)
            yield from found
            if clash is not None and len(some) < SIEVE:
                some = np.union1d(some, clash)
                sieve = _Sieve(chains.ways(some, {}), hole)
                alive[number:] &= sieve.lets(templates[hole], batch[number:], table)


def _competing(problem: Problem, chains: Chains, hole: int) -> Places:
    """Return a few outputs that want different values of the same hole at the same point, if a hole gives the same."""
    every = np.arange(chains.count)
    outputs = every[:: -(-len(every) // COMPETING)]
    middle = len(kind_of(problem.program.holes[hole]).values(problem.program.holes[hole])) // 2
    ways = chains.ways(outputs, {hole: np.full(len(problem.points[hole]), middle)})
    found: list[Places] = [every[-1:], every[:: -(-len(every) // (SAMPLE // 2))]]
    for (other, _), (points, _) in ways.asked.items():
        if other != hole and len(points):
            there, count = np.unique(points, return_counts=True)
            for point in there[np.argsort(-count, kind="stable")][: 1 if count.max() > 1 else 0]:
                found.append(ways.output[points == point][:SAMPLE])
    return np.unique(np.concatenate(found))


class _Sieve:
    """Ways of some outputs, to leave out functions of a hole by."""

    def __init__(self, ways: Ways, hole: int) -> None:
        self.ways, self.hole = ways, hole
        self.names, self.output = np.unique(ways.output, return_inverse=True)
        first, *self.later = (asked for (which, _), asked in ways.asked.items() if which == hole)
        points, wanted = first
        self.width = int(wanted.max(initial=0)) + 2  # the last one stands for values that no way wants
        asks = self.output * (int(points.max(initial=0)) + 2) + points + 1
        _, some, ask = np.unique(asks, return_index=True, return_inverse=True)
        self.points, codes = points[some], ask * self.width + np.where(points >= 0, wanted, 0)
        self.order = np.argsort(codes, kind="stable")
        self.codes = codes[self.order]

    def lets(self, template: Template, choices: Sequence[Choice], points: Places) -> npt.NDArray[np.bool_]:
        """Say which choices, a hole's functions at these points, leave the outputs a way without contradictions."""
        every = [self.points, *(some for some, _ in self.later)]
        places = np.unique(np.concatenate(every).clip(0))
        values = template.tables(choices, list(points[places].T))
        function, row = self._ways_of(values[:, np.searchsorted(places, self.points.clip(0))])
        for some, wanted in self.later:
            keep = (values[function, np.searchsorted(places, some[row].clip(0))] == wanted[row]) | (some[row] < 0)
            function, row = function[keep], row[keep]
        return self._without_contradictions(len(choices), function, row)

    def _ways_of(self, values: Places) -> tuple[Places, Places]:
        """Return the ways that are right if a hole has values, a line for each function, where it is asked first."""
        wanted = np.where(self.points >= 0, values.clip(max=self.width - 1), 0)
        codes = (np.arange(len(self.points)) * self.width + wanted).reshape(-1)
        begin, end = np.searchsorted(self.codes, codes, "left"), np.searchsorted(self.codes, codes, "right")
        count = end - begin
        function = np.repeat(np.arange(len(values)), count.reshape(len(values), -1).sum(axis=1))
        ends = np.cumsum(count)
        within = np.arange(len(function)) - np.repeat(ends - count, count)
        return function, self.order[np.repeat(begin, count) + within]

    def _without_contradictions(self, functions: int, function: Places, row: Places) -> npt.NDArray[np.bool_]:
        """Say which functions have a way for each output, none of which contradicts another that is the only one."""
        of_output = function * len(self.names) + self.output[row]
        count = np.bincount(of_output, minlength=functions * len(self.names))
        found = np.asarray((count.reshape(-1, len(self.names)) > 0).all(axis=1))
        alone = (count[of_output] == 1) & found[function]
        function, row = function[alone], row[alone]
        for (which, _), (points, wanted) in self.ways.asked.items():
            if which != self.hole and len(row):
                some, own, value = points[row], function, wanted[row]
                if (some < 0).any():
                    some, own, value = some[some >= 0], own[some >= 0], value[some >= 0]
                table = np.full((functions, int(points.max(initial=0)) + 1), -1)
                table[own, some] = value
                found[own[table[own, some] != value]] = False
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
    problem, sweep = chains.problem, sweep_around()
    if len(ways.output) != chains.count or len(np.unique(ways.output)) != chains.count:
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
        points = chains.points[hole].table
        if sweep is None:
            choice = template.recognised(points, table)
        else:
            choice = sweep.recognised(problem.program.holes, hole, template, points, table)
        if choice is None:
            return
        found[hole] = choice
    if sweep is not None:
        for hole, choice in known.items():
            sweep.learn(problem.program.holes, hole, templates[hole].constants(choice))
    yield tuple(found[hole] for hole in range(len(templates)))
