"""Search by function tables: every function of every hole side by side, and values ruled out by propagation.

What is required of a few threads becomes clauses over 'this hole has this value at this point', without templates. Unit
propagation rules out values. Of each hole, only the functions that avoid these values are kept, and a value that none
of them gives is ruled out in turn. When nothing more follows, the search tries the values of one point: a point with
few values, at which it failed often. How long that takes depends on luck. So the search starts again after some
failures, a little later each time, and remembers as clauses what it has searched. It uses no solver, so it also serves
as a second opinion on what a solver claims.

It decides problems in which no filling changes the cost. It finds a filling, or all, or proves that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.solving.costs.accumulates import ACCUMULATES
from swizzle.solving.costs.cost import BoundedCost
from swizzle.solving.problem.candidate import Candidate, NoFilling
from swizzle.solving.problem.demands import Examples
from swizzle.solving.problem.many import Many
from swizzle.solving.problem.problem import Demand, Problem
from swizzle.solving.search.bit_maps import matched
from swizzle.solving.search.differing import WORTH_IT, Differing, differing
from swizzle.solving.search.joined import TIED, HolePoint, Join, ListedFunctions, listed
from swizzle.solving.search.point_values import PointValue, PointValues
from swizzle.solving.search.storing import storing
from symbolic.limits import Interruption, look
from symbolic.values.guard import Guard
from templates.chooser import FIRST_PLACES, Choice, Functions, Places
from templates.holes import Point, Space, kind_of
from templates.template import Template
from templates.xform_functions import WORD, Xforms
from templates.xform_lists import ListedXforms

# Each of these is varied by an experiment: python bench/tuned.py tables.FEW 2 4 8 16
TOGETHER = 64  # leaves that are run at once
FIRST_FAILURES, MORE_FAILURES = 40, 1.3  # after which the search starts afresh, and how much later each time
STORES = 32  # of a thread, beyond which one thread is looked at first, and not four
FEW = 8  # functions that are tried one by one
MANY = 1 << 32  # functions, as only maps of bits have: their hulls say little, so that other holes are tried first
OF_HOLE = 0.05  # how much a failure counts at the hole's other points


class TooManyFunctions(Exception):
    """A hole has more functions than fit side by side."""


class TooManyNodes(Exception):
    """The search reached its limit on nodes."""


class _Afresh(Exception):
    """So much failed that the search starts afresh."""


class _Node(Struct):
    """A part of the search space: what was tried and is ruled out, and which functions each hole is left with.

    `allowed` says of each value at each point, as `Tables` numbers them, whether it is still possible.
    """

    holds: list[Guard]
    allowed: npt.NDArray[np.bool_]
    left: list[Functions]

    def copy(self) -> _Node:
        return _Node(list(self.holds), self.allowed.copy(), list(self.left))


class _Split(Struct, frozen=True):
    """A hole, and the line of one of its points."""

    hole: int
    line: int


def _impossible() -> None:
    raise AssertionError("a candidate fails on something that the search was told of")


class Tables:
    """The search; a context manager. What is required of threads is kept from one space to the next."""

    def __init__(
        self,
        problem: Problem,
        deadline: float | None,
        report: Callable[[str], None],
        cost: BoundedCost = ACCUMULATES,
    ) -> None:
        self.problem, self.deadline, self.report, self.cost = problem, deadline, report, cost
        self.nodes = self._reached = self.counterexamples = 0  # in this space; of nodes, those that are leaves
        self.holes = problem.program.holes
        self._many = Many(problem)
        sizes = [len(kind_of(hole).values(hole)) for hole in self.holes]
        self._large = len(sizes) == 2 and min(sizes) > WORD
        self._values = PointValues(problem, related=self._large)
        self._here = self._values.guards.fresh()  # 'in this space', of which alone what was learnt is true
        self._one_of: list[list[PointValue]] = []  # of a hole, of which it must take one
        self._functions: dict[tuple[int, Template], tuple[Functions, int]] = {}  # that take one of so many of these
        self._none: list[Template] | None = None  # of each hole, when they were searched together and had no filling
        block = problem.run.shape.block_threads
        few = {t for t in (0, 1, block // 2, block - 1) if t < block}
        if len(problem.outputs) > STORES * problem.run.shape.count:
            few = {block - 1}
        first = _far_apart(problem, TIED) if self._large else problem.demands_of(few)
        self.examples = Examples(problem, self._values.guards, self._values.union, first, self._learn)

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the engines that propagate; may be called more than once."""
        self._values.close()

    @property
    def values(self) -> int:
        """How many values the points have that clauses speak of."""
        return self._values.count

    def engine(self, space: Space, node_limit: int | None = None) -> TablesOfSpace:
        """Return the search of one space; the search of the space before has ended."""
        return TablesOfSpace(self, space, node_limit)

    def candidates(self, space: Space, node_limit: int | None = None) -> Iterator[Candidate]:
        """Yield every right filling in a space, once for each function on the points that run.

        Raises `OutOfTime` past the deadline, `TooManyNodes` past the limit on nodes before any filling was found, and
        `TooManyFunctions` if a hole has too many.
        """
        self.space, self.node_limit = space, node_limit
        self.templates = self.problem.templates(space)
        self.nodes = self._reached = self.counterexamples = 0
        self._here = self._values.guards.fresh()
        for asked in self._values.asked:
            asked.failures[:] = 0
        self._found: set[tuple[bytes, ...]] = set()
        self._simplest: list[dict[bytes, Choice]] = [{} for _ in self.holes]
        for number, made in enumerate(self.templates):
            for part in made.parts:
                if (number, part) not in self._functions:
                    every = part.functions(self.problem.points[number])
                    if every is None:
                        raise TooManyFunctions
                    self._functions[number, part] = self._differing(number, every), 0
        self._matched: dict[int, Functions] | None = (
            None  # of some holes in one way: those that a map of bits goes with
        )
        self._leaves, self._together = list[Sequence[Functions]](), 1
        self._shown = 0  # counterexamples when the first of the leaves was reached
        ways = self._ways()
        if None not in ways:
            self._leave_out()
        for first in ways:
            self._here = self._values.guards.fresh()
            self._matched = None
            failures = float(FIRST_FAILURES)
            while (root := self._root(first)) is not None:
                self._failures_left = failures = failures * MORE_FAILURES
                try:
                    if (tables := self._two_lists(root)) is not None:
                        yield from self._joined(root, tables)
                        break
                    yield from self._search(root, (-self._here,))
                    break
                except _Afresh:
                    continue
                except Interruption:
                    yield from self._settle()
                    raise
        yield from self._settle()
        if not self._found:
            self._none = self.templates

    def _differing(self, number: int, functions: Functions) -> Functions:
        """Return functions of a hole without some that have equal values where these must differ."""
        if isinstance(functions, Xforms) and functions.count > WORTH_IT:
            for known in self._differ:
                if known.hole == number and functions.count:
                    functions = functions.differing(known.places)
        return functions

    @cached_property
    def _differ(self) -> list[Differing]:
        return differing(self.problem)

    def _ways(self) -> Sequence[int | None]:
        """Return how a space is cut up: None if it is searched as a whole.

        Where the holes' first parts are a space that was searched and has no filling, some hole is not of its first
        part. The space is cut up by the number of the first such hole.
        """
        known = [made.parts[0] for made in self.templates] == self._none
        return [n for n, made in enumerate(self.templates) if len(made.parts) > 1] if known else [None]

    def _leave_out(self) -> None:
        """Leave out functions of holes that say where threads store, where they are wrong whatever the others are."""
        for known in storing(self.problem):
            for part in self.templates[known.hole].parts:
                functions, taken = self._functions[known.hole, part]
                self._functions[known.hole, part] = known.left(functions), taken

    def _learn(self) -> None:
        """Take the clauses of a demand, and what they ask of one hole alone."""
        clauses = self._values.flush()
        if not self._large:
            self._one_of += self._values.projector.projections(clauses)

    def _root(self, first: int | None) -> _Node | None:
        """Return what is to be searched, None if nothing is left: all, or what has a hole first not of its first part.

        Functions that lack what is asked of their hole alone are left out before anything else.
        """
        left, known = list[Functions](), self._matched or {}
        for number, made in enumerate(self.templates):
            if number in known:
                left.append(known[number])
                continue
            some = range(len(made.parts))
            if first is not None:
                some = some[:1] if number < first else some[1:] if number == first else some
            found = [(part, self._taking(number, made.parts[part])) for part in some]
            if not any(functions.count for _, functions in found):
                return None
            left.append(made.together({part: functions for part, functions in found if functions.count}))
        node = _Node([self._here], np.ones(1, np.bool_), left)
        if not self._propagate(node):
            return None
        if self._matched is None:
            self._matched = matched(self._values, node.allowed, node.left)
            node.left = [self._matched.get(number, some) for number, some in enumerate(node.left)]
        return node if all(some.count for some in node.left) else None

    def _taking(self, number: int, part: Template) -> Functions:
        """Return the functions of a part of a hole's template that have what is asked of the hole alone."""
        functions, known = self._functions[number, part]
        for spots in self._one_of[known:]:
            if spots[0].hole == number and functions.count:
                lines = sorted({spot.line for spot in spots})
                allowed = np.zeros((len(lines), self._values.sizes[number]), np.bool_)
                for spot in spots:
                    allowed[lines.index(spot.line), spot.value] = True
                functions = functions.keep_any(self._values.asked[number].places[lines], allowed)
        self._functions[number, part] = functions, len(self._one_of)
        return functions

    # -- two holes that must agree --------------------------------------------------------------------------

    def _two_lists(self, root: _Node) -> tuple[ListedFunctions, ListedFunctions] | None:
        """Return the functions of both holes one by one, if there are two, and large ones."""
        if not self._large:
            return None
        some = [
            listed(left, lambda line, asked=asked: int(asked.places[line]))  # type: ignore[misc]
            for left, asked in zip(root.left, self._values.asked, strict=True)
        ]
        return (some[0], some[1]) if some[0] is not None and some[1] is not None else None

    def _joined(self, root: _Node, tables: tuple[ListedFunctions, ListedFunctions]) -> Iterator[Candidate]:
        """Yield the right fillings of two holes, of whose functions those are compared that agree."""
        join, tried = Join(tables), set[tuple[Choice, ...]]()
        self._relate(join, self._values.lines())
        while True:
            for pair in join.pairs():
                look()
                left = [table.functions.only([row]) for table, row in zip(tables, pair, strict=True)]
                if (key := _choices(left)) in tried or not self._agrees(left):
                    continue
                tried.add(key)
                self._count_node()
                yield from self._reach([_alike(some, every) for some, every in zip(left, root.left, strict=True)])
                if some := self._values.spoken_of():
                    self._relate(join, some)
                    break
            else:
                return

    def _relate(self, join: Join, lines: Sequence[HolePoint]) -> None:
        """Tell a join what the values at some points exclude."""
        self._values.relate()
        tied = set[HolePoint]()
        for line in lines:
            if line not in tied:
                look()
                for relation in self._values.relations_of(line):
                    join.add(relation)
                    if relation.is_permutation:
                        tied.add(relation.other)

    def _agrees(self, left: Sequence[ListedXforms]) -> bool:
        """Say whether a function of each hole agrees with all clauses, as far as propagation goes."""
        holds = [self._here]
        for asked, functions in zip(self._values.asked, left, strict=True):
            (values,) = functions.values(asked.places)
            holds += asked.guards[np.arange(len(values)), values].tolist()
        return self._values.implied(holds) is not None

    # -- search ---------------------------------------------------------------------------------------------

    def _search(self, node: _Node, unless: tuple[Guard, ...]) -> Iterator[Candidate]:
        """Yield the right fillings of a node, under which none of the guards `unless` holds.

        Raises `_Afresh` after too many failures; the parts that were searched until then are excluded by clauses.
        """
        self._count_node()
        while self._propagate(node):
            split = self._split(node)
            if split is not None:
                searched: list[tuple[Guard, ...]] = []
                try:
                    for value in self._possible(node, split):
                        child = node.copy()
                        child.holds.append(value)
                        self._take(child, split, value)
                        before = self.nodes, self._reached
                        yield from self._search(child, (*unless, -value))
                        searched.append((*unless, -value))
                        if (self.nodes - 1, self._reached) == before:
                            self._values.asked[split.hole].failures[split.line] += 1
                            self._failures_left -= 1
                        if self._failures_left < 0:
                            raise _Afresh
                except _Afresh:
                    self._values.exclude(searched)
                    raise
                return
            apart = self._point_apart(node)
            if apart is None:
                yield from self._reach(node.left)
                return
            if self._cost(_choices(node.left)) is not None:
                self._values.union(*apart)  # now a point to search on

    def _count_node(self) -> None:
        self.nodes += 1
        if self.node_limit is not None and self.nodes > self.node_limit and not self._found:
            raise TooManyNodes

    def _split(self, node: _Node) -> _Split | None:
        """Return the point to try values of; None where every point has one value only.

        A hole with few functions left is tried function by function: at the point where they differ most.
        """
        best: tuple[tuple[bool, float, int], _Split] | None = None
        for hole, (asked, left) in enumerate(zip(self._values.asked, node.left, strict=True)):
            values = node.allowed[asked.numbers].sum(axis=1)
            several = np.flatnonzero(values > 1)
            if not len(several):
                continue
            if left.count <= FEW:
                return _Split(hole, int(several[values[several].argmax()]))
            merit = values[several] / (1 + asked.failures[several] + OF_HOLE * asked.failures.sum())
            line = int(merit.argmin())
            key = (left.count > MANY, float(merit[line]), left.count)
            if best is None or key < best[0]:
                best = key, _Split(hole, int(several[line]))
        return None if best is None else best[1]

    def _possible(self, node: _Node, split: _Split) -> list[Guard]:
        """Return the guards of the values that are left at a point."""
        asked = self._values.asked[split.hole]
        found: list[Guard] = asked.guards[split.line][node.allowed[asked.numbers[split.line]]].tolist()
        return found

    def _take(self, node: _Node, split: _Split, value: Guard) -> None:
        """Keep, of the hole that is split, the functions that have a value, before anything else follows from it."""
        self._grow(node)
        asked = self._values.asked[split.hole]
        line = asked.numbers[[split.line]]
        node.allowed[line] = asked.guards[[split.line]] == value
        node.left[split.hole] = node.left[split.hole].keep(asked.places[[split.line]], node.allowed[line])
        self._rule_out(node, split.hole, np.flatnonzero(node.allowed[asked.numbers].sum(axis=1) > 1))

    def _cost(self, choices: tuple[Choice, ...]) -> int | None:
        """Run a filling for all threads; return its cost, None if it is wrong, which is shown then."""
        run, wrong = self.problem.candidate(self.templates, choices)
        if not self.examples.refute(run, wrong, _impossible):
            return self.cost.of_copies(run, 1)[0]
        self.counterexamples += 1
        self.report("looking for a filling")
        return None

    def _reach(self, leaf: Sequence[Functions]) -> Iterator[Candidate]:
        """Take a leaf; settle those that were reached if they are enough."""
        self._reached += 1
        if not self._leaves:
            self._shown = self.counterexamples
        self._leaves.append(leaf)
        if len(self._leaves) >= self._together:
            yield from self._settle()

    def _settle(self) -> Iterator[Candidate]:
        """Run the leaves that were reached, all at once; yield those that are right, once each.

        There are more of them the next time, as long as they are right. One that is wrong is shown if it was alone, and
        nothing was shown since it was reached: what is wrong with others may be known by now.
        """
        leaves, self._leaves = self._leaves, []
        fillings = [self._many.chosen(self.templates, _choices(left)) for left in leaves]
        alone = len(leaves) == 1 and self._shown == self.counterexamples
        costs = [self._cost(_choices(leaves[0]))] if alone else self._many.costs(fillings, self.cost.of_copies)
        self._together = 1 if None in costs else min(TOGETHER, 2 * len(leaves))
        for left, values, cost in zip(leaves, fillings, costs, strict=True):
            key = tuple(some.tobytes() for some in values)
            if cost is not None and key not in self._found:
                self._found.add(key)
                for known, some, function in zip(self._simplest, key, left, strict=True):
                    if some not in known:
                        known[some] = function.simplest()
                choices = tuple(known[some] for known, some in zip(self._simplest, key, strict=True))
                yield Candidate(self.space, choices, cost, values)

    def _point_apart(self, node: _Node) -> tuple[int, Point] | None:
        """Return a hole and a point at which functions that are alike so far differ, if there is one."""
        for number, (left, points) in enumerate(zip(node.left, self.problem.points, strict=True)):
            if len(self._values.asked[number].points) == len(points) or left.count == 1:
                continue
            every = np.ones((len(points), self._values.sizes[number]), np.bool_)
            several = np.flatnonzero(left.given(np.arange(len(points)), every).sum(axis=1) > 1)
            if len(several):
                return number, points[several[0]]
        return None

    # -- propagation ----------------------------------------------------------------------------------------

    def _propagate(self, node: _Node) -> bool:
        """Rule out values until nothing follows any more; False where nothing is left."""
        look()
        self._values.flush()
        self._grow(node)
        while True:
            implied = self._values.implied(node.holds)
            if implied is None:
                return False
            before, tried = node.allowed, len(node.holds)
            node.allowed = before.copy()
            node.allowed[self._values.numbers()[-np.fromiter(implied, np.int32, len(implied))]] = False
            node.allowed[0] = True  # where guards are that stand for no value
            changed = before != node.allowed
            for number, asked in enumerate(self._values.asked):
                lines = np.flatnonzero(changed[asked.numbers].any(axis=1))
                if len(lines):
                    allowed = node.allowed[asked.numbers[lines]]
                    node.left[number] = node.left[number].keep(asked.places[lines], allowed)
                    if not node.left[number].count:
                        return False
                    self._rule_out(node, number, np.flatnonzero(node.allowed[asked.numbers].sum(axis=1) > 1))
            if len(node.holds) == tried:
                return True

    def _grow(self, node: _Node) -> None:
        """Make a node know the points that came since it was looked at."""
        known = len(node.allowed)
        if known <= self._values.count:
            node.allowed = np.append(node.allowed, np.ones(self._values.count + 1 - known, np.bool_))
            for number, asked in enumerate(self._values.asked):
                if len(fresh := np.flatnonzero(asked.numbers[:, 0] >= known)):
                    self._rule_out(node, number, fresh)

    def _rule_out(self, node: _Node, number: int, lines: Places) -> None:
        """Rule out the values that no function left of a hole has at some of its points."""
        if not len(lines):
            return
        asked = self._values.asked[number]
        values = asked.numbers[lines]
        allowed = node.allowed[values]
        given = node.left[number].given(asked.places[lines], allowed)
        node.holds += (-asked.guards[lines][allowed & ~given]).tolist()
        node.allowed[values] = given


class TablesOfSpace:
    """The engine of one space; it finds each filling once, whether it is forbidden or not."""

    name: Final = "tables"

    def __init__(self, tables: Tables, space: Space, node_limit: int | None) -> None:
        self.space, self._tables = space, tables
        self._candidates = tables.candidates(space, node_limit)

    @property
    def narrowed(self) -> bool:
        """Say whether a filling may be right that the tables do not look at."""
        return self._tables.examples.encoding.narrowed

    def find(self, at_most: int | None = None) -> Candidate | NoFilling:
        """Return the next filling of at most this cost; raises what `Tables.candidates` does."""
        for candidate in self._candidates:
            if at_most is None or candidate.cost <= at_most:
                return candidate
        return NoFilling()

    def forbid(self, candidate: Candidate) -> None:
        """Do nothing: a filling that was found is not found again."""

    def evidence(self) -> dict[str, int]:
        """Return how large a proof was."""
        return {"looked_at": len(self._tables.examples.demands), "nodes": self._tables.nodes}

    def close(self) -> None:
        """Do nothing: the tables are kept for the next space."""


def _far_apart(problem: Problem, number: int) -> list[Demand]:
    """Return a few demands, on outputs that are far from each other."""
    outputs = problem.outputs
    some = (outputs[place * (len(outputs) - 1) // (number - 1)] for place in range(number))
    demands = {problem.thread_of(o): problem.demands_of({problem.thread_of(o)}) for o in some}
    return list(dict.fromkeys(own[place % len(own)] for place, own in enumerate(demands.values())))


def _alike(function: ListedXforms, every: Functions) -> Functions:
    """Return all of some functions that have the values of one, at all points."""
    places = np.arange(len(function.of.index))
    (values,) = function.values(places)
    step = max(1, len(places) // FIRST_PLACES)  # a few points leave little for the others to be compared with
    some = every.keep(places[::step], values[::step, None] == np.arange(function.of.n))
    return some.keep(places, values[:, None] == np.arange(function.of.n))


def _choices(left: Sequence[Functions]) -> tuple[Choice, ...]:
    """Return a function of each hole."""
    return tuple(some.choice() for some in left)
