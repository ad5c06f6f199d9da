"""What a hole that says where threads store must be like, whatever the other holes are.

A value of such a hole, for one thread and one of its stores, says which output element the thread stores, and so which
term it must have by then. Where data is only moved, that says what other holes give at some points (`chains.py`). Two
values for the same thread that say different things of one point exclude each other. And an output element that only
one store can reach, with one value of the hole, must be stored by one of the threads.

That often decides what is left of a hole's functions, or that nothing is, before anything is searched. It is known of
all threads at once, without clauses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.chains import Chains, NotOnlyMoved, Ways
from symbolic.machine.memory import Diffuse, Snapshot
from symbolic.values.vector import Deferred, HoleQuestion, Lanes
from templates.chooser import Allowed, Functions, Places
from templates.xform_functions import Xforms
from templates.xor_functions import AffineMaps

PAIRS = 1 << 25  # of values of one thread that are compared


class Storing(Struct, frozen=True):
    """What is known of a hole, from some stores by some threads that ask it at different points.

    `places` are the points of each store (lines) and thread. `apart` says, of two stores and a thread, which values
    exclude each other: `apart[a, b][t, v, u]`. Of a store, `needed` says which values one of the threads must take.
    """

    hole: int
    places: Places
    apart: Mapping[tuple[int, int], npt.NDArray[np.bool_]]
    needed: Allowed

    def left(self, functions: Functions) -> Functions:
        """Return functions of the hole's template without some that are wrong whatever the other holes are."""
        if isinstance(functions, AffineMaps):
            return functions.within(self._differences(functions))
        if not isinstance(functions, Xforms):
            return functions
        functions = self._storing(functions, slice(0, 1))  # leaves few, whose pairs of values are soon looked at
        for thread, places in enumerate(self.places.T.tolist()):
            if functions.count:
                pairs = {(places[a], places[b]): apart[thread] for (a, b), apart in self.apart.items()}
                functions = functions.agreeing(pairs)
        return self._storing(functions, slice(1, None))

    def _storing(self, functions: Xforms, stores: slice) -> Xforms:
        """Return the functions with which one of the threads takes each value that is needed, at these stores."""
        for places, needed in zip(self.places[stores], self.needed[stores], strict=True):
            for value in np.flatnonzero(needed).tolist():
                if not functions.count:
                    return functions
                functions = functions.keep_any(places, np.arange(len(needed))[None] == np.full((len(places), 1), value))
        return functions

    def _differences(self, maps: AffineMaps) -> Mapping[int, Allowed]:
        """Return the differences (by exclusive or) that values may have, by those of their points' features.

        All threads have the same. So one is out where a value that some thread must take would exclude, for every
        thread, what the difference makes of it.
        """
        found: dict[int, Allowed] = {}
        values = np.arange(self.needed.shape[1])
        other = values[:, None] ^ values  # of a value (lines), with each difference
        features = np.array([maps.at[place] for place in self.places.reshape(-1).tolist()], object)
        features = features.reshape(self.places.shape)
        for (a, b), apart in self.apart.items():
            apart_for_all: Allowed = np.logical_and.reduce(apart, axis=0)
            difference, *more = set((features[a] ^ features[b]).tolist())
            if more or not difference:
                continue
            out = (self.needed[a, :, None] & apart_for_all[values[:, None], other]).any(axis=0)
            out |= (self.needed[b, :, None] & apart_for_all[other, values[:, None]]).any(axis=0)
            found[difference] = found.get(difference, True) & ~out
        return found


def storing(problem: Problem) -> Iterator[Storing]:
    """Yield what is known of holes that say where threads store."""
    if problem.branches or problem.by_items:
        return
    chains = Chains(problem)
    for name, seen in problem.finals.items():
        stores = list(_plain(seen))
        if not stores or len(stores) < len(seen.diffuse) or len(problem.final_writes(name)) < len(seen.diffuse):
            continue
        for hole in dict.fromkeys(store.question.hole for store in stores):
            try:
                known = _known(
                    problem, chains, name, [store for store in stores if store.question.hole == hole], stores
                )
            except NotOnlyMoved:
                continue
            if known is not None:
                yield known


class _Store(Struct, frozen=True, eq=False):
    """A store at an address that a hole decides, for all threads that are on."""

    write: Diffuse
    question: HoleQuestion
    table: Lanes


def _plain(seen: Snapshot) -> Iterator[_Store]:
    for write in seen.diffuse:
        address, on = write.address, write.mask
        if isinstance(on, np.ndarray) and on.all() and isinstance(address, Deferred) and address.question is not None:
            yield _Store(write, address.question, address.table)


def _known(
    problem: Problem, chains: Chains, name: str, own: Sequence[_Store], every: Sequence[_Store]
) -> Storing | None:
    """Return what is known of the hole of some stores to an array, which `every` one of goes to."""
    seen, size = problem.finals[name], len(own[0].table)
    count = own[0].table.shape[1]
    places = np.array([chains.points_of(store.question, np.arange(count)) for store in own])
    threads = np.sort(np.unique(places, axis=1, return_index=True)[1])  # of those that ask the same, one
    if (places < 0).any() or len(own) ** 2 * len(threads) * size**2 > PAIRS:
        return None
    facts = _Facts(problem, chains, name, own, threads)
    if not chains.complete:
        return None
    apart = {(a, b): facts.apart(a, b) for b in range(len(own)) for a in range(b)}
    needed = _needed(problem, name, seen, own, every, threads)
    return Storing(own[0].question.hole, places[:, threads], apart, needed)


class _Facts:
    """What each value of a hole says of other holes' points, by the store, the thread and the value.

    `said` has, of each hole and how often it is asked on the way, the numbers of its point and its value, -1 where
    nothing is said; `impossible` says where no way leads to what is wanted.
    """

    def __init__(self, problem: Problem, chains: Chains, name: str, own: Sequence[_Store], threads: Places) -> None:
        wanted, seen = np.array(problem.wanted[name]), problem.finals[name]
        self.shape = (len(own), len(threads), len(own[0].table))
        total = int(np.prod(self.shape))
        numbers, parts, asked = np.arange(total).reshape(self.shape), list[Ways](), np.zeros(total, np.bool_)
        for store, own_numbers in zip(own, numbers, strict=True):
            cells = store.table[:, threads].T
            there = cells >= 0
            there[there] = seen.number[cells[there]] < store.write.number
            asked[own_numbers[there]] = True
            who = np.broadcast_to(threads[:, None], cells.shape)[there]
            parts.append(chains.ways_of(store.write.value, own_numbers[there], wanted[cells[there]], who))
        ways = Ways.joined(parts)
        number_of_ways = np.bincount(ways.output, minlength=total)
        self.impossible = (asked & (number_of_ways == 0)).reshape(self.shape)
        alone = ways.take(number_of_ways[ways.output] == 1)
        self.said: dict[tuple[int, int], tuple[Places, Places]] = {}
        for key, columns in alone.asked.items():
            said = np.full((2, total), -1)
            said[:, alone.output] = columns
            point, value = said.reshape(2, *self.shape)
            self.said[key] = point, value

    def apart(self, a: int, b: int) -> npt.NDArray[np.bool_]:
        """Say, of each thread, which values at two stores exclude each other."""
        found: npt.NDArray[np.bool_] = self.impossible[a][:, :, None] | self.impossible[b][:, None, :]
        for (hole, _), (points, values) in self.said.items():
            for (other, _), (others, theirs) in self.said.items():
                if hole == other:
                    same = (points[a][:, :, None] == others[b][:, None, :]) & (points[a] >= 0)[:, :, None]
                    found |= same & (values[a][:, :, None] != theirs[b][:, None, :])
        return found


def _needed(
    problem: Problem, name: str, seen: Snapshot, own: Sequence[_Store], every: Sequence[_Store], threads: Places
) -> Allowed:
    """Say of each store which values one of some threads must take, as nothing else stores an output element."""
    found = np.zeros((len(own), len(own[0].table)), np.bool_)
    must = np.zeros(len(seen.data), np.bool_)
    must[[cell for array, cell in problem.must_store() if array == name]] = True
    must &= ~seen.written
    one_of = np.zeros(int(threads.max()) + 1, np.bool_)
    one_of[threads] = True
    reached = np.zeros(len(must), np.int64)  # by how many stores with how many values
    beyond = np.zeros(len(must), np.bool_)  # by other threads
    by: list[tuple[int, int, Lanes]] = []
    for store in every:
        for value, cells in enumerate(store.table):
            there = cells >= 0
            reached[np.unique(cells[there])] += 1
            outside = there.copy()
            outside[: len(one_of)] &= ~one_of
            beyond[cells[outside]] = True
            if store in own:
                by.append((own.index(store), value, cells[there]))
    only = must & (reached == 1) & ~beyond
    for store_number, value, cells in by:
        found[store_number, value] = bool(only[cells].any())
    return found
