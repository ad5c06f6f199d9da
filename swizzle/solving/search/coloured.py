"""A layout hole that may become a table: the table under which its accesses have no bank conflicts, if there is one.

The hole says where elements of a shared array lie: a point of the hole is an element, its value a cell of those that
the element may lie in. In a phase of an access all elements must lie in different banks, and no two elements in one
cell. Where entries say by how much a row is turned, or which bits of it are flipped, that is a question about pairs of
entries, for a SAT solver. Where they say each cell by itself and every phase is one of two accesses, it is one about
colours of edges (`symbolic.solve.edge_colours`): a bank is a colour, an element an edge between its two phases.

What is found is judged as any filling is, so nothing rests on this model being complete.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.solving.costs.counted import Conflicts
from swizzle.solving.costs.unavoidable import lanes_of_phases
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.problem import Problem
from symbolic.ir.program import DeclareArray, Load, Store
from symbolic.ir.sites import walk
from symbolic.ir.walk import statements
from symbolic.limits import look
from symbolic.machine.accesses import bytes_of, lanes_at_once
from symbolic.solve.edge_colours import edge_colours
from symbolic.solve.sat import SatSolver
from symbolic.values.vector import Deferred
from templates.either import Either
from templates.holes import SPACES
from templates.table import EitherTable, TableForm, TableTemplate

Ints = npt.NDArray[np.int64]
Phase = tuple[int, ...]
# Each of these is varied by an experiment: python bench/tuned.py coloured.CONFLICTS 2_000 20_000
CONFLICTS: Final = 20_000  # of a SAT solver
PAIRS: Final = 1 << 26  # of values that two points may have, in all phases together


class _Tile(Struct, frozen=True):
    """What a hole's accesses ask of a shared array.

    A point lies `first` cells behind the array's beginning, and its value further. `groups` are the points that share
    cells, `phases` those that are wanted at once. An element of a cell is in one of `banks` groups of banks.
    """

    points: Ints
    values: Ints
    first: Ints
    phases: Sequence[Phase]
    banks: int

    @property
    def groups(self) -> list[Phase]:
        """The points that share cells, group by group."""
        found = defaultdict[int, list[int]](list)
        for point, first in enumerate(self.first.tolist()):
            found[first].append(point)
        return [tuple(group) for group in found.values()]


def candidates(problem: Problem, cost: Conflicts) -> Iterator[Candidate]:
    """Yield fillings of a problem with one hole in which the hole is a table that avoids conflicts, small tables first;
    perhaps none, although there are some."""
    (template,) = problem.templates(SPACES[-1])
    tile = _tile(problem, cost)
    if tile is None or not isinstance(template, Either):
        return
    known: dict[TableForm, Ints | None] = {}
    for number, part in enumerate(template.parts):
        for which, table in enumerate(part.parts if isinstance(part, EitherTable) else ()):
            assert isinstance(part, EitherTable) and isinstance(table, TableTemplate)
            if table.form not in known:
                look()
                alone = table.form.way == "value" and len(table.places) == len(tile.points)
                known[table.form] = _by_colours(tile) if alone else _by_pairs(tile, table.form)
            if (values := known[table.form]) is not None:
                own = table.simplest(problem.points[0], values.tolist())
                assert own is not None, "a table has the values that its entries were chosen for"
                yield Candidate(SPACES[-1], (template.whole(number, part.whole(which, own)),), 0, (values,))


# ---- what is asked ---------------------------------------------------------------------------------------------


def _tile(problem: Problem, cost: Conflicts) -> _Tile | None:
    """Return what the hole's accesses ask of a shared array; None where they do not just ask for elements of one."""
    nodes = dict(walk(problem.program))
    asked = [
        (nodes[site], mask, address)
        for (site, _, _), (mask, address, _) in problem.run.accesses.items()
        if isinstance(address, Deferred)
    ]
    arrays = {node.array for node, _, _ in asked if isinstance(node, Load | Store)}
    shared = {s.name for s in statements(problem.program.body) if isinstance(s, DeclareArray) and s.memory == "shared"}
    if len(arrays) != 1 or not arrays <= shared:
        return None
    memory = problem.run.memories[arrays.pop()]
    size = bytes_of(memory.dtype)
    if size < cost.word or size > cost.banks * cost.word:
        return None
    points, values = problem.points[0].table.astype(np.int64), np.arange(problem.program.holes[0].size)
    numbers = {point: number for number, point in enumerate(map(tuple, points.tolist()))}
    first, phases = np.full(len(points), -1, np.int64), dict[Phase, None]()
    together = lanes_of_phases(problem.run.shape, problem.program.warp_size, lanes_at_once(size, cost.banks, cost.word))
    for _, mask, address in asked:
        if address.question is None or not isinstance(mask, np.ndarray):
            return None
        on = np.flatnonzero(mask)
        where = address.table[:, on] - memory.base[on]
        if (address.table[:, on] < 0).any() or (where != where[0] + values[:, None]).any():
            return None
        number = np.full(len(mask), -1, np.int64)
        columns = [column[on].tolist() for column in address.question.arguments]
        number[on] = [numbers[point] for point in zip(*columns, strict=True)]
        known = first[number[on]]
        if ((known >= 0) & (known != where[0])).any():
            return None
        first[number[on]] = where[0]
        if (first[number[on]] != where[0]).any():
            return None
        for lanes in together:
            phases[tuple(sorted({point for point in number[lanes].tolist() if point >= 0}))] = None
    starts = np.unique(first)
    if (first < 0).any() or (np.diff(starts) < len(values)).any():
        return None
    return _Tile(points, values, first, [phase for phase in phases if len(phase) > 1], cost.banks * cost.word // size)


# ---- entries that turn rows, or flip bits --------------------------------------------------------------------------


def _by_pairs(tile: _Tile, form: TableForm) -> Ints | None:
    """Return each point's value by a table of a form; None where there is none, or it is not found."""
    keys = [form.place(point) for point in tile.points.tolist()]
    names = {key: number for number, key in enumerate(sorted(set(keys)))}
    of = np.array([names[key] for key in keys])
    entries = np.arange(form.n)
    values = np.array([form.value(entries, point[0]) for point in tile.points.tolist()])
    banks, cells = (tile.first[:, None] + values) % tile.banks, tile.first[:, None] + values
    apart = [(banks, pair) for phase in tile.phases for pair in itertools.combinations(phase, 2)]
    if len(apart) * form.n**2 > PAIRS:
        return None
    apart += [(cells, pair) for group in tile.groups for pair in itertools.combinations(group, 2)]
    if len(apart) * form.n**2 > PAIRS:
        return None
    wrong: dict[tuple[int, int], npt.NDArray[np.bool_]] = {}
    for table, (p, q) in apart:
        clash = table[p][:, None] == table[q]
        key = (int(of[p]), int(of[q]))
        wrong[key] = wrong[key] | clash if key in wrong else clash
    chosen = _chosen(len(names), form.n, wrong)
    return None if chosen is None else values[np.arange(len(values)), chosen[of]]


def _chosen(keys: int, n: int, wrong: Mapping[tuple[int, int], npt.NDArray[np.bool_]]) -> Ints | None:
    """Return a number below n for each key, no two of which are wrong together; None where none is found."""
    solver = SatSolver("glucose")
    solver.add([range(key * n + 1, key * n + n + 1) for key in range(keys)])
    for (a, b), clash in wrong.items():
        rows, columns = np.nonzero(clash if a != b else np.diag(np.diag(clash)))
        solver.add(np.stack([-(a * n + rows + 1), -(b * n + columns + 1)], axis=1).tolist())
    found = solver.check([], None, CONFLICTS)
    model = np.array(solver.model()).reshape(keys, n) > 0 if found else None
    solver.close()
    return None if model is None else model.argmax(axis=1)


# ---- entries that say cells by themselves ----------------------------------------------------------------------


def _by_colours(tile: _Tile) -> Ints | None:
    """Return each point's value so that no two of a phase, or of a group's cells, meet; None where none is found."""
    count, n = len(tile.points), len(tile.values)
    if n % tile.banks:
        return None
    sets = [*tile.phases, *(tile.groups if n == tile.banks else ())]
    ends, used = [np.full(count, -1, np.int64) for _ in range(2)], [0, 0]
    for some in _maximal(sets):
        side = next((side for side in (0, 1) if (ends[side][list(some)] < 0).all()), None)
        if side is None:
            return None
        ends[side][list(some)] = used[side]
        used[side] += 1
    for side in (0, 1):
        alone = np.flatnonzero(ends[side] < 0)
        ends[side][alone] = used[side] + np.arange(len(alone)) // tile.banks
    banks = edge_colours(ends[0], ends[1], tile.banks)
    if banks is None:
        return None
    found = np.zeros(count, np.int64)
    for group in tile.groups:
        free = defaultdict[int, list[int]](list)
        for value in reversed(tile.values.tolist()):
            free[int(tile.first[group[0]] + value) % tile.banks].append(value)
        for point in group:
            if not free[int(banks[point])]:
                return None
            found[point] = free[int(banks[point])].pop()
    return found


def _maximal(sets: Sequence[Phase]) -> list[Phase]:
    """Return the sets that are part of no other, large ones first."""
    kept: list[Phase] = []
    within = defaultdict[int, list[set[int]]](list)
    for some in sorted(set(sets), key=lambda each: (-len(each), each)):
        if not any(other.issuperset(some) for other in within[some[0]]):
            kept.append(some)
            members = set(some)
            for point in some:
                within[point].append(members)
    return kept
