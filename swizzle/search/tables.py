"""Search by function tables: every function of every hole side by side, values ruled out by propagation.

What is required of a few threads becomes clauses over 'this hole has this value at this point', with no template
behind them. Unit propagation rules out values; of each hole only the functions stay that avoid what is ruled out;
what no function that is left can give is ruled out in turn. Where nothing follows any more, the search tries the
values of one point, the one with the fewest. No solver takes part, so this is also the second opinion on what a
solver claims.

It decides problems whose cost no filling changes: it finds a filling, or all, or proves that there is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from swizzle.search.cegis import Candidate
from swizzle.search.problem import Problem, live_accumulates
from swizzle.search.shown import Shown
from symbolic.guard import Guard, Guards, OutOfTime
from symbolic.propagate import Propagation
from symbolic.union import Union
from templates.functions import Functions, Rows, functions
from templates.holes import Point, Space

Allowed: TypeAlias = npt.NDArray[np.bool_]
VALUES_AT_ONCE = 50_000  # values of functions computed in one step to see which ones are left
NARROW = 2  # counterexamples after which a whole block is looked at rather than a few threads
WIDEST = 64  # threads


class TooManyFunctions(Exception):
    """A hole has more functions than fit side by side."""


class TooManyNodes(Exception):
    """The search met its limit on nodes."""


class _TooNarrow(Exception):
    """A few threads do not say enough."""


@dataclass(slots=True)
class _Node:
    """A part of the search space: what is ruled out, and which functions each hole is left with.

    `tables` are the functions as they were told apart when the node was made, by the points known then: `allowed`
    has a line for each of them.
    """

    ruled_out: list[Guard]
    allowed: list[Allowed]
    tables: list[Functions]
    rows: list[Rows]

    def copy(self) -> _Node:
        return _Node(list(self.ruled_out), [a.copy() for a in self.allowed], self.tables, list(self.rows))


class Tables:
    """The search in one space; a context manager."""

    def __init__(
        self,
        problem: Problem,
        space: Space,
        deadline: float | None,
        news: Callable[[str], None],
        node_limit: int | None = None,
    ) -> None:
        """Raises `TooManyFunctions` where the tables would be too large."""
        self.problem, self.space, self.deadline, self.news = problem, space, deadline, news
        self.nodes, self.node_limit = 0, node_limit
        self.counterexamples = 0
        self.holes = problem.program.holes
        self.templates = problem.templates(space)
        self.sizes = [2 if h.kind == "cond" else h.size for h in self.holes]
        self._found: set[tuple[bytes, ...]] = set()
        self._open(narrow=True)

    def _open(self, narrow: bool) -> None:
        """Look at a few threads, or at a block."""
        self._narrow = narrow
        self.points: list[list[Point]] = [[] for _ in self.holes]
        self._made: dict[tuple[int, int], Functions] = {}
        self._unions: dict[tuple[int, Point], Union] = {}
        self._atoms: dict[Guard, tuple[int, int, int]] = {}
        self._atom_lines = np.zeros((0, 3), np.int32)
        self._guards = Guards(self.deadline)
        self._propagation = Propagation()
        block = self.problem.run.shape.block_threads
        few = {t for t in (0, 1, block // 2, block - 1) if t < block}
        wide = set(np.linspace(0, block - 1, min(block, WIDEST), dtype=int).tolist())
        self.shown = Shown(self.problem, self._guards, self._hole, self.problem.demands_of(few if narrow else wide))

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *exc: object) -> None:
        self._propagation.close()

    def candidates(self) -> Iterator[Candidate]:
        """Yield every filling that is right, once as a function on the points that run; then there are no more.

        Raises `OutOfTime` past the deadline, `TooManyNodes` past the limit on nodes before any
        was found, `TooManyFunctions`.
        """
        try:
            for candidate in self._search(self._root()):
                self._found.add(self._key(candidate))
                yield candidate
        except _TooNarrow:
            self._propagation.close()
            self._open(narrow=False)
            for candidate in self._search(self._root()):
                if self._key(candidate) not in self._found:
                    self._found.add(self._key(candidate))
                    yield candidate

    def _root(self) -> _Node:
        return _Node([], [np.ones((0, n), np.bool_) for n in self.sizes], [], [])

    def _key(self, candidate: Candidate) -> tuple[bytes, ...]:
        """Return what tells the functions of a candidate from others, on the points that run."""
        found = []
        for made, points, choice in zip(self.templates, self.problem.points, candidate.choices, strict=True):
            if not points:
                continue
            columns = [np.array(c, np.int64) for c in zip(*points, strict=True)]
            found.append(np.broadcast_to(np.asarray(made.apply(choice, columns)), (len(points),)).tobytes())
        return tuple(found)

    # -- atoms ----------------------------------------------------------------------------------------------

    def _hole(self, number: int, point: Point) -> Union:
        """Return the union of all values at a point: one guard each, tied by no template."""
        found = self._unions.get((number, point))
        if found is None:
            if self.holes[number].kind == "cond":
                yes = self._guards.fresh()
                found = Union({False: -yes, True: yes})
            elif self.sizes[number] == 1:
                found = Union.single(0)
            else:
                found = Union({v: self._guards.fresh() for v in range(self.sizes[number])})
                self._guards.exactly_one(list(found.values.values()))
            self._unions[number, point] = found
            place = len(self.points[number])
            self.points[number].append(point)
            for value, guard in found.values.items():
                self._atoms[guard] = (number, place, int(value))
        return found

    def _lookup(self) -> npt.NDArray[np.int32]:
        """Return (hole, place, value) of every guard, a negative one counted from the end; -1 where it is no atom."""
        size = 2 * self._guards.variables + 1
        if len(self._atom_lines) != size:
            self._atom_lines = np.full((size, 3), -1, np.int32)
            for guard, atom in self._atoms.items():
                self._atom_lines[guard] = atom
        return self._atom_lines

    # -- search ---------------------------------------------------------------------------------------------

    def _search(self, node: _Node) -> Iterator[Candidate]:
        """Yield the right fillings of a node."""
        self.nodes += 1
        if self.node_limit is not None and self.nodes > self.node_limit and not self._found:
            raise TooManyNodes
        if not node.tables and not self._refresh(node):
            return
        while self._propagate(node):
            split = self._widest_gap(node)
            if split is not None:
                number, place = split
                for value in np.flatnonzero(node.allowed[number][place]).tolist():
                    child = node.copy()
                    guard = self._unions[number, self.points[number][place]].values[value]
                    child.ruled_out.append(guard)
                    yield from self._search(child)
                return
            if not self._is_fresh(node):
                if not self._refresh(node):
                    return
                continue
            candidate = self._check(node)
            if candidate is not None:
                apart = self._point_apart(node)
                if apart is None:
                    yield candidate
                    return
                self._hole(*apart)  # now a point to search on

    def _widest_gap(self, node: _Node) -> tuple[int, int] | None:
        """Return the point with the fewest values, but more than one, of the hole with the fewest functions there."""
        best: tuple[tuple[int, int], tuple[int, int]] | None = None
        for number, allowed in enumerate(node.allowed):
            counts = allowed.sum(axis=1)
            counts[counts < 2] = np.iinfo(counts.dtype).max
            if len(counts) and counts.min() <= self.sizes[number]:
                place = int(counts.argmin())
                key = (int(counts[place]), len(node.rows[number]))
                if best is None or key < best[0]:
                    best = key, (number, place)
        return None if best is None else best[1]

    def _check(self, node: _Node) -> Candidate | None:
        """Run the function that is left of each hole for all threads; show what is wrong with it, if anything."""
        choices = tuple(f.choice(int(rows[0])) for f, rows in zip(node.tables, node.rows, strict=True))
        run, wrong = self.problem.candidate(self.templates, choices)
        if self.shown.refute(run, [(m.array, m.address) for m in wrong]):
            self.counterexamples += 1
            if self._narrow and self.counterexamples > NARROW:
                raise _TooNarrow
            self.news("looking for a filling")
            return None
        return Candidate(self.space, choices, len(live_accumulates(run)))

    def _point_apart(self, node: _Node) -> tuple[int, Point] | None:
        """Return a hole and a point at which functions that are alike so far differ, if there is one."""
        for number, points in enumerate(self.problem.points):
            if len(self.points[number]) == len(points):
                continue
            whole = self._functions(number, points)
            rows = self._fitting(whole, number, node.allowed[number])
            step = max(1, VALUES_AT_ONCE // len(rows))
            for start in range(0, len(points), step):
                values = whole.values(points[start : start + step], rows)
                differ = np.flatnonzero((values != values[:, :1]).any(axis=1))
                if len(differ):
                    return number, points[start + int(differ[0])]
        return None

    # -- tables ---------------------------------------------------------------------------------------------

    def _functions(self, number: int, points: Sequence[Point]) -> Functions:
        """Return the functions of a hole, told apart by some points."""
        key = (number, len(points))
        if key not in self._made:
            found = functions(self.templates[number], points)
            if found is None:
                raise TooManyFunctions
            self._made[key] = found
        return self._made[key]

    def _fitting(self, hole: Functions, number: int, allowed: Allowed) -> Rows:
        """Return the functions that have an allowed value at every point with a line."""
        rows = np.arange(hole.count, dtype=np.int32)
        counts = allowed.sum(axis=1)
        for place in np.argsort(counts, kind="stable").tolist():
            if counts[place] < self.sizes[number]:
                rows = rows[allowed[place][hole.values([self.points[number][place]], rows)[0]]]
        return rows

    def _is_fresh(self, node: _Node) -> bool:
        """Say whether a node's functions are told apart by all points that are known."""
        return all(len(a) == len(p) for a, p in zip(node.allowed, self.points, strict=True))

    def _refresh(self, node: _Node) -> bool:
        """Tell a node's functions apart by all points that are known; False where a hole has none left."""
        node.tables = [self._functions(number, points) for number, points in enumerate(self.points)]
        node.rows = [
            self._fitting(hole, number, allowed)
            for number, (hole, allowed) in enumerate(zip(node.tables, node.allowed, strict=True))
        ]
        for number, points in enumerate(self.points):
            fresh = np.ones((len(points) - len(node.allowed[number]), self.sizes[number]), np.bool_)
            node.allowed[number] = np.concatenate([node.allowed[number], fresh])
        return all(len(rows) for rows in node.rows)

    # -- propagation ----------------------------------------------------------------------------------------

    def _propagate(self, node: _Node) -> bool:
        """Rule out values until nothing follows any more; False where nothing is left."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime
        self._propagation.add(self._guards.take())
        seen = [0] * len(node.rows)  # with how many rows the values of a hole were looked at
        while True:
            implied = self._propagation.implied(node.ruled_out)
            if implied is None:
                return False
            ruled_out = self._lookup()[np.negative(implied)]
            before = len(node.ruled_out)
            for number, allowed in enumerate(node.allowed):
                here = ruled_out[(ruled_out[:, 0] == number) & (ruled_out[:, 1] < len(allowed))]
                left = allowed.copy()
                left[here[:, 1], here[:, 2]] = False
                if not self._filter(node, number, left, seen):
                    return False
            if len(node.ruled_out) == before:
                return True

    def _filter(self, node: _Node, number: int, allowed: Allowed, seen: list[int]) -> bool:
        """Keep the functions of a hole that are allowed everywhere; rule out what none of them gives."""
        rows, hole = node.rows[number], node.tables[number]
        points = self.points[number][: len(allowed)]
        changed = np.flatnonzero((allowed != node.allowed[number]).any(axis=1))
        if not len(changed) and len(rows) == seen[number]:
            return True
        node.allowed[number] = allowed
        if len(rows) * len(changed) > VALUES_AT_ONCE:
            for place in changed[np.argsort(allowed[changed].sum(axis=1), kind="stable")].tolist():
                rows = rows[allowed[place][hole.values([points[place]], rows)[0]]]
            changed = changed[:0]
        if len(rows):
            rows = self._rule_out(node, number, rows, changed)
        seen[number] = len(rows)
        node.rows[number] = rows
        return len(rows) > 0

    def _rule_out(self, node: _Node, number: int, rows: Rows, changed: npt.NDArray[np.intp]) -> Rows:
        """Keep the rows that are allowed at the changed points; rule out values that none of them has anywhere."""
        allowed, points = node.allowed[number], self.points[number]
        counts = allowed.sum(axis=1)
        counts[counts < 2] = allowed.shape[1] + 1  # settled
        counts[changed] = 0
        open_places = np.argsort(counts, kind="stable")[: int((counts <= allowed.shape[1]).sum())]
        places = open_places[: max(len(changed), VALUES_AT_ONCE // len(rows))]
        if not len(places):
            return rows
        here = allowed[places]
        lines = np.arange(len(places))[:, None]
        values = node.tables[number].values([points[place] for place in places.tolist()], rows)
        keep = here[lines, values].all(axis=0)
        given = np.zeros_like(here)
        given[lines, values[:, keep]] = True
        for line, value in np.argwhere(here & ~given).tolist():
            union = self._unions[number, points[places[line]]]
            node.ruled_out.append(-union.values[value])
        allowed[places] = here & given
        return rows[keep]
