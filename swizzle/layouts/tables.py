"""Tables: where each vector lies, listed, so that every phase takes its least turns.

A shorter vector, or a cell, lies at a fixed place of the longest vector that holds it. So what lanes want at once are
sets of longest vectors, one for each place, and a phase takes as many turns as the most vectors of such a set that lie
in the same banks. Where the sets fall into two sides, so that no two of a side share a vector, each vector is an edge
between a set and a set, and an edge colouring spreads every set evenly over the banks (`symbolic.solve.edge_colours`;
of sets with more vectors than there are places in the banks, D. de Werra, Equitable colorations of graphs, 1971).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from swizzle.layouts.requests import Requests
from symbolic.solve.edge_colours import Ints, edge_colours


class Vectors(Struct, frozen=True):
    """The longest vectors of a tile, each of which fills one of `groups` groups of banks.

    `members` are the cells of each, (vectors, unit); of each cell, `home` is its vector, -1 for none, and `place` its
    place there.
    """

    members: Ints
    home: Ints
    place: Ints
    groups: int

    @staticmethod
    def of(requests: Requests) -> Vectors | None:
        """Return them; None where elements outside of them are accessed, or a vector is no whole number of words."""
        words, spare = divmod(requests.bits * requests.unit, 8 * requests.word)
        if spare or words > requests.banks:
            return None
        longest = [each for each in requests.phases if each.width == requests.unit]
        some = [np.unique(p.cells[p.cells >= 0])[:, None] + np.arange(p.width) * p.stride for p in longest]
        cells = int(np.prod(requests.shape))
        members = np.arange(cells)[:, None] if requests.unit == 1 else np.unique(np.concatenate(some), axis=0)
        home, place = np.full(cells, -1, np.int64), np.zeros(cells, np.int64)
        home[members], place[members] = np.arange(len(members))[:, None], np.arange(requests.unit)
        alone = any((home[each.cells[each.cells >= 0]] < 0).any() for each in requests.phases)
        return None if alone else Vectors(members, home, place, requests.banks // words)

    def addresses(self, groups: Ints) -> Ints:
        """Return the address of each cell where each vector lies in the group given; cells in no vector lie last."""
        order = np.argsort(groups, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order)) - np.searchsorted(groups[order], np.arange(self.groups))[groups[order]]
        unit = self.members.shape[1]
        found = np.full(len(self.home), -1, np.int64)
        found[self.members] = ((rank * self.groups + groups) * unit)[:, None] + np.arange(unit)
        never = np.flatnonzero(found < 0)
        found[never] = found.max() + 1 + np.arange(len(never))
        return found

    def wanted(self, requests: Requests) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
        """Yield of each phase its least turns, and the sets of vectors that it wants: one for each place in them."""
        for each in requests.phases:
            size = max(each.width * requests.bits, 8 * requests.word)
            for cells, least in zip(each.cells, each.least.tolist(), strict=True):
                on = cells[cells >= 0]
                homes, places = self.home[on], self.place[on] * requests.bits // size
                sets = [set(homes[places == place].tolist()) for place in set(places.tolist())]
                yield least, sorted(tuple(sorted(some)) for some in sets if len(some) > least)


def spread_evenly(requests: Requests) -> Ints | None:
    """Return the address of each cell, by its number; None where the sets of vectors have no two sides."""
    vectors = Vectors.of(requests)
    if vectors is None:
        return None
    sides = _sides(_sets(requests, vectors), len(vectors.members))
    if sides is None:
        return None
    left, right = (_ends(side, len(vectors.members), vectors.groups) for side in sides)
    groups = edge_colours(left, right, vectors.groups)
    assert groups is not None, "no end has more vectors than there are groups"
    return vectors.addresses(groups)


def _sets(requests: Requests, vectors: Vectors) -> list[Ints]:
    """Return the sets of vectors that are wanted at once, without those that another one speaks for."""
    turns: dict[tuple[int, ...], int] = {}
    for least, sets in vectors.wanted(requests):
        for some in sets:
            turns[some] = min(least, turns.get(some, least))
    kept: list[Ints] = []
    within: dict[int, list[tuple[set[int], int]]] = {}
    for some in sorted(turns, key=lambda one: (-len(one), one)):
        if not any(most <= turns[some] and other.issuperset(some) for other, most in within.get(some[0], [])):
            kept.append(np.array(some))
            both = set(some), turns[some]
            for vector in some:
                within.setdefault(vector, []).append(both)
    return kept


def _sides(sets: Sequence[Ints], count: int) -> tuple[list[Ints], list[Ints]] | None:
    """Put sets on two sides, of each of which no two share a vector; None where that cannot be."""
    of: list[list[int]] = [[] for _ in range(count)]
    for number, some in enumerate(sets):
        for vector in some.tolist():
            of[vector].append(number)
    if max(map(len, of), default=0) > 2:
        return None
    side: dict[int, int] = {}
    for start in range(len(sets)):
        if start in side:
            continue
        side[start], waiting = 0, [start]
        while waiting:
            one = waiting.pop()
            for other in {each for vector in sets[one].tolist() for each in of[vector]} - {one}:
                if other not in side:
                    side[other] = 1 - side[one]
                    waiting.append(other)
                elif side[other] == side[one]:
                    return None
    first, second = ([some for number, some in enumerate(sets) if side[number] == k] for k in (0, 1))
    return first, second


def _ends(sets: Sequence[Ints], count: int, groups: int) -> Ints:
    """Return an end for each vector, at most `groups` for each: large sets are cut, and small ones put together."""
    pieces = [some[k : k + groups] for some in sets for k in range(0, len(some), groups)]
    ends, used = np.full(count, -1, np.int64), 0
    with_room: list[list[int]] = [[] for _ in range(groups + 1)]
    for piece in sorted(pieces, key=len, reverse=True):
        room = next((room for room in range(len(piece), groups) if with_room[room]), groups)
        end = with_room[room].pop() if with_room[room] else used
        used = max(used, end + 1)
        ends[piece] = end
        with_room[room - len(piece)].append(end)
    alone = np.flatnonzero(ends < 0)
    spare = np.array([end for room, some in enumerate(with_room) for end in some for _ in range(room)], np.int64)
    ends[alone] = np.concatenate([spare, used + np.arange(len(alone)) // groups])[: len(alone)]
    return ends
