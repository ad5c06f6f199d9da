"""The bank conflicts that no filling avoids, by counting: what each access to shared memory takes at least.

Whatever the holes are, a lane's word is one of few. Three counts follow for each phase of an access, and the largest
holds: lanes whose words are known take the turns that they take; lanes for which a hole is asked at one point move
together, so the best of its values says what they take; and lanes that surely want different words need a bank each,
of those that they can reach (a flow).

    tile[lane, k]                      32 x 32 words, no hole: 32 turns
    tile[lane, sw_index(k, 32)]        one point, so one column, whichever: 32 turns
    tile[lane, 2 * sw_index(k, 16, lane)]  16 banks for 32 lanes in 32 rows: 2 turns

What is counted is the printed kernel, where the passes drop what nothing reads and make vectors of neighbouring words.
So an access counts only if it is there whatever the holes become (`kept_accesses`), and no loop around it can become a
vector access: no two rounds lie side by side.

Which accesses to shared memory does the printed kernel have, whatever the holes become?

The passes drop stores to names that nothing reads, and sides of choices that a filling decides. A name is *kept* if
what no filling drops reads it: a store to a parameter, or a statement that writes a kept name, if it runs for certain.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cuda_out.passes.vectors import LONGEST
from swizzle.solving.problem.problem import Problem
from symbolic.ir import program as ir
from symbolic.ir.matrices import ROW_BYTES
from symbolic.ir.program import Expr
from symbolic.ir.sites import Site, Sites, walk
from symbolic.ir.walk import Body, bodies, children, statements, trips_of
from symbolic.limits import look
from symbolic.machine.accesses import bytes_of, lanes_at_once, turns
from symbolic.machine.arrays import NamedRows
from symbolic.machine.launch_shape import LaunchShape
from symbolic.values.vector import Deferred, Lanes, Vector, reach

_Writing: TypeAlias = ir.Assign | ir.Store | ir.Accumulate


class KeptAccess(Struct, frozen=True):
    """An access that every filling's kernel has. `maybe_vectors` are those of the loops around it, by their places from
    outside inward, that may become vector accesses."""

    node: ir.Load | ir.Store
    site: Site
    maybe_vectors: tuple[int, ...]

    @property
    def writes(self) -> bool:
        """Whether it is a store."""
        return isinstance(self.node, ir.Store)


def kept_accesses(problem: Problem) -> Iterator[KeptAccess]:
    """Yield the accesses to shared memory that no filling drops, atomic ones excepted."""
    program = problem.program
    sites, often = Sites.in_program(program), Counter(id(node) for _, node in walk(program))
    shared = {s.name for s in statements(program.body) if isinstance(s, ir.DeclareArray) and s.memory == "shared"}
    runs = {key[0] for key, (mask, *_) in problem.run.accesses.items() if isinstance(mask, np.ndarray) and mask.any()}
    certain = [
        (stmt, loops)
        for stmt, loops, surely in _writing(program.body, (), True)
        if often[id(stmt)] == 1 and (surely or sites.of(stmt) in runs)
    ]
    kept = {parameter.name for parameter in program.parameters}
    while read := {name for stmt, _ in certain if _target(stmt) in kept for name in _read(stmt)} - kept:
        kept |= read
    for stmt, loops in certain:
        if _target(stmt) in kept:
            maybe = tuple(place for place, loop in enumerate(loops) if _may_be_vector(loop))
            for node in _own(stmt):
                if isinstance(node, ir.Load | ir.Store) and node.array in shared and often[id(node)] == 1:
                    yield KeptAccess(node, sites.of(node), maybe)


def _writing(
    body: Body, loops: tuple[ir.For, ...], certain: bool
) -> Iterator[tuple[_Writing, tuple[ir.For, ...], bool]]:
    """Yield what writes a name, with the loops around it, and whether it runs as often as it looks."""
    for stmt in body:
        match stmt:
            case ir.For():
                yield from _writing(stmt.body, (*loops, stmt), certain and bool(trips_of(stmt)))
            case ir.If():
                for side in bodies(stmt):
                    yield from _writing(side, loops, False)
            case ir.Accumulate(condition=condition):
                yield stmt, loops, certain and condition is None
            case ir.Assign():
                yield stmt, loops, certain
            case ir.Store(atomic=False):
                yield stmt, loops, certain
            case _:
                pass


def _target(stmt: _Writing) -> str:
    match stmt:
        case ir.Assign(name=name) | ir.Store(array=name) | ir.Accumulate(accumulator=name):
            return name


def _own(stmt: _Writing) -> Iterator[ir.Stmt | Expr]:
    """Yield a statement and the data that it computes in any case: without the sides of choices."""
    yield stmt
    waiting = list(stmt.operands) if isinstance(stmt, ir.Accumulate) else [stmt.value]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, ir.Select):
            waiting += [child for child in children(part) if child.dtype.is_data]


def _read(stmt: _Writing) -> Iterator[str]:
    for part in _own(stmt):
        match part:
            case ir.Var(name=name) | ir.Load(array=name) | ir.AccumulatorValue(accumulator=name):
                yield name
            case _:
                pass


def _may_be_vector(loop: ir.For) -> bool:
    """Say whether the passes may put rounds of a loop together (`cuda_out.passes.vectors`)."""
    rounds = trips_of(loop)
    return rounds is None or (
        rounds.start == 0 and rounds.step == 1 and 2 <= len(rounds) <= LONGEST and not len(rounds) % 2
    )


Words: TypeAlias = npt.NDArray[np.int64]
Rounds: TypeAlias = Mapping[tuple[int, ...], tuple[Vector, Vector]]
"""Of an access, the masks and addresses of its executions, by the values of the loops around it."""
MOST_WORDS: Final = 1 << 23  # that lanes may want, in all accesses together: what is beyond is not counted
WITNESSES: Final = 64  # threads whose rounds are looked at


def least_conflicts(problem: Problem, banks: int, word: int) -> int:
    """Return how many turns beyond the minimum every filling's accesses to shared memory take, at least."""
    if problem.posed is not problem.program:  # states, which are printed as the words that they are made of
        return 0
    every: dict[object, dict[tuple[int, ...], tuple[Vector, Vector]]] = defaultdict(dict)
    for (site, loops, _), (mask, address, _) in problem.run.accesses.items():
        every[site][loops] = mask, address
    found, left = 0, MOST_WORDS
    for access in kept_accesses(problem):
        rounds = every[access.site]
        if not all(_never_side_by_side(rounds, place) for place in access.maybe_vectors):
            continue
        counted = _Phases(problem, access, banks, word)
        for mask, address in rounds.values():
            look()
            left -= counted.size(address)
            if isinstance(mask, np.ndarray) and left >= 0:
                found += counted.beyond(mask, address)
    return found + sum(_beyond_one(rows, banks, word) for rows in problem.rows)


def _beyond_one(rows: NamedRows, banks: int, word: int) -> int:
    """Return the turns beyond one for each matrix, of rows that no hole decides; no pass drops such instructions."""
    if not (isinstance(rows.cells, np.ndarray) and isinstance(rows.naming, np.ndarray)):
        return 0
    words = np.where(rows.naming, rows.cells * bytes_of(rows.row.dtype) // word, -1)
    found = turns(words.reshape(-1, lanes_at_once(ROW_BYTES, banks, word)), max(1, ROW_BYTES // word), banks)
    return int((found - 1).clip(min=0).sum())


def _never_side_by_side(rounds: Rounds, place: int) -> bool:
    """Say whether some thread's elements in the first two rounds of a loop are no neighbours, whatever the holes are:
    then the loop is no vector access."""
    for loops, (mask, address) in rounds.items():
        after = rounds.get((*loops[:place], 1, *loops[place + 1 :]))
        if loops[place] != 0 or after is None:
            continue
        if isinstance(mask, np.ndarray) and isinstance(after[0], np.ndarray):
            for thread in np.flatnonzero(mask & after[0])[:WITNESSES].tolist():
                if not {cell + 1 for cell in reach(address, thread) if cell >= 0} & reach(after[1], thread):
                    return True
    return False


class _Phases:
    """The phases of an access, and the fewest turns of each."""

    def __init__(self, problem: Problem, access: KeptAccess, banks: int, word: int) -> None:
        memory, self.shape = problem.run.memories[access.node.array], problem.run.shape
        self.bytes, self.base, self.banks, self.word = bytes_of(memory.dtype), memory.base, banks, word
        self.writes = access.writes
        self.wide = max(1, self.bytes // word)  # words of an element
        self.per = max(1, word // self.bytes)  # elements of a word
        self.groups = max(1, banks // self.wide)  # of banks, each for one element
        at_once = lanes_at_once(self.bytes, banks, word)
        self._lanes = lanes_of_phases(self.shape, problem.program.warp_size, at_once)
        self._known: dict[bytes, int] = {}

    def size(self, address: Vector) -> int:
        """Return how many words the threads may want, all together."""
        if isinstance(address, np.ndarray):
            return self.shape.count
        return self.shape.count * (MOST_WORDS if address.question is None else len(address.question.values))

    def beyond(self, mask: Lanes, address: Vector) -> int:
        """Return how many turns more than one each the phases of one execution take, at least."""
        if isinstance(address, np.ndarray):
            return self._of_known(np.where(mask & (address >= 0), address - self.base, -1))
        table = np.where(address.table >= 0, address.table - self.base, -1)
        return sum(self._least(lanes, table, address) - 1 for each in self._lanes if len(lanes := each[mask[each]]))

    def _of_known(self, cells: Lanes) -> int:
        phases = self._lanes
        rows = np.full((len(phases), max(map(len, phases))), -1, np.int64)
        for row, lanes in zip(rows, phases, strict=True):
            row[: len(lanes)] = cells[lanes]
        return int((self._turns(rows[(rows >= 0).any(axis=1)]) - 1).sum())

    def _turns(self, cells: Words) -> Words:
        """Return the turns of phases, of shape (phases, lanes), whose lanes want cells, -1 where they are off."""
        return turns(np.where(cells >= 0, cells * self.bytes // self.word, -1), self.wide, self.banks)

    def _least(self, lanes: Lanes, table: Words, address: Deferred) -> int:
        """Return the fewest turns of a phase whose lanes want what a table says for each value of a hole."""
        assert address.question is not None
        cells = table[:, lanes]
        points = np.array([column[lanes] for column in address.question.arguments], np.int64)
        key = cells.tobytes() + points.tobytes()
        if key not in self._known:
            together = [self._together(cells[:, place]) for place in _alike(points)]
            self._known[key] = max(*together, self._apart(cells))
        return self._known[key]

    def _together(self, cells: Words) -> int:
        """Return the fewest turns of lanes for which a hole is asked at one point."""
        possible = cells[(cells >= 0).all(axis=1)]
        return int(self._turns(possible).min()) if len(possible) and cells.shape[1] > 1 else 1

    def _apart(self, cells: Words) -> int:
        """Return the fewest turns of lanes of which each may want one of a column, where these differ for certain: two
        lanes must not write one cell, and of lanes that read, those count whose words are in no other's column."""
        wanted = cells if self.writes else cells * self.bytes // self.word // self.wide
        columns = [set(column[column >= 0].tolist()) for column in wanted.T]
        if not self.writes:
            columns = _disjoint(columns)
        per, groups = (self.per, self.groups * self.per) if self.writes else (1, self.groups)
        reached = [{each % groups // per for each in column} for column in columns if column]
        return _fullest(reached, per)


def lanes_of_phases(shape: LaunchShape, warp: int, at_once: int) -> list[Lanes]:
    """Return the threads that shared memory serves together, phase by phase."""
    threads = shape.block_threads
    return [
        np.arange(first, min(first + at_once, start + warp, block + threads))
        for block in range(0, shape.count, threads)
        for start in range(block, block + threads, warp)
        for first in range(start, min(start + warp, block + threads), at_once)
    ]


def _alike(points: Words) -> list[npt.NDArray[np.bool_]]:
    """Return which lanes have each point, of one column for each lane."""
    _, number = np.unique(points, axis=1, return_inverse=True)
    return [number.reshape(-1) == each for each in range(int(number.max()) + 1)]


def _disjoint(columns: Sequence[set[int]]) -> list[set[int]]:
    """Return some sets, small ones first, of which no two have anything in common."""
    found, taken = list[set[int]](), set[int]()
    for column in sorted(columns, key=len):
        if not column & taken:
            found.append(column)
            taken |= column
    return found


def _fullest(reached: Sequence[set[int]], per: int) -> int:
    """Return how many turns lanes take at least that reach some banks each, where a bank serves `per` of them a turn.

    It is a flow from lanes to banks, by augmenting paths, with one turn more where a lane finds no place.
    """
    held: dict[int, list[int]] = defaultdict(list)  # lanes by banks
    most = 1

    def placed(lane: int, seen: set[int]) -> bool:
        for bank in reached[lane] - seen:
            seen.add(bank)
            if len(held[bank]) < most * per:
                held[bank].append(lane)
                return True
            for place, other in enumerate(held[bank]):
                if placed(other, seen):
                    held[bank][place] = lane
                    return True
        return False

    for lane in range(len(reached)):
        while not placed(lane, set()):
            most += 1
    return most
