"""Which candidate is tried next: threshold ascent on the tree of decisions, branch and bound, or at random.

A search is asked for a complete candidate and told what it costs. A cost is never below the candidate's bound, so that
a partial candidate whose bound is not below the best cost is cut: nothing in it can be better. Where all that is left
has been tried or cut, the search says so, and the best is the optimum of the model that bounds and costs come from.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from symbolic.choices.propagation import ContradictionError, PartialAssignment, Propagator
from symbolic.choices.search import bits_of, children, fewest_values

TOP: Final = 20
"""How many of the best costs so far are a success (the paper on TAG: a few)."""
CONFIDENCE: Final = 0.5
VAIN: Final = 1000
"""Descents in a row that end in nothing new, after which a random search gives up."""

Bound = Callable[[PartialAssignment], float]


class CandidateSearch:
    """What all searches share.

    Attributes:
        best: the least cost so far, T of the paper.
        cut: partial candidates that were left out for their bounds.
        dead: descents that ended in a contradiction.
        finished: whether nothing is left that might be better than `best`.
    """

    def __init__(
        self, propagation: Propagator, root: PartialAssignment, first: list[int], bound: Bound, seed: int = 0
    ) -> None:
        self.propagation, self.root, self.first, self.bound = propagation, root, first, bound
        self.chooser = random.Random(seed)
        self.best, self.cut, self.dead, self.finished = math.inf, 0, 0, False
        self.costs: dict[PartialAssignment, float] = {}

    def ask(self) -> PartialAssignment | None:
        """Return a complete candidate that was not asked about before; None where nothing is left."""
        raise NotImplementedError

    def tell(self, leaf: PartialAssignment, cost: float) -> None:
        """Learn what a complete candidate costs; infinity for one that is not right."""
        self.costs[leaf] = cost
        self.best = min(self.best, cost)

    def hopeful(self, bound: float) -> bool:
        """Say whether something with this bound may be better than the best."""
        return bound < self.best * (1 - 1e-9) if self.best < math.inf else bound < math.inf

    def next_variable(self, candidate: PartialAssignment) -> int | None:
        """Return the next choice to decide: those that weigh most first, then the one with the fewest values."""
        masks = candidate.masks
        open_ = set(self.propagation.open_variables(candidate))
        for variable in self.first:
            if variable in open_ and masks[variable] & (masks[variable] - 1):
                return variable
        return fewest_values(self.propagation, candidate) if open_ else None

    def children(self, candidate: PartialAssignment, variable: int) -> list[PartialAssignment]:
        return [child for _, child in children(self.propagation, candidate, variable)]

    def descend(self, start: PartialAssignment, *, weighted: bool) -> PartialAssignment | None:
        """Decide one choice after the other at random, with p ~ max(T - bound, 0) if `weighted`.

        None where nothing is left, by a contradiction or because nothing left has a chance to be better.
        """
        at: PartialAssignment | None = start
        while at is not None and (variable := self.next_variable(at)) is not None:
            at = self._drawn(at, variable, self._weight(at) if weighted else 1.0, weighted=weighted)
        return at

    def _drawn(self, at: PartialAssignment, variable: int, most: float, *, weighted: bool) -> PartialAssignment | None:
        """Return a child by the weights; None where all are 0.

        A value is drawn, and kept with the probability that its weight is of its parent's, which is no less: most
        values never have to be propagated. Where all are known, one is drawn by the weights.
        """
        bits, known = bits_of(at.masks[variable]), dict[int, tuple[PartialAssignment | None, float]]()
        while len(known) < len(bits):
            bit = self.chooser.choice(bits)
            if bit not in known:
                known[bit] = self._child(at, variable, bit, weighted=weighted)
            child, weight = known[bit]
            if weight and self.chooser.random() * most <= weight:
                return child
        if not any(weight for _, weight in known.values()):
            self.dead += all(child is None for child, _ in known.values())
            return None
        ((child, _),) = self.chooser.choices(list(known.values()), [weight for _, weight in known.values()])
        return child

    def _child(
        self, at: PartialAssignment, variable: int, bit: int, *, weighted: bool
    ) -> tuple[PartialAssignment | None, float]:
        try:
            child = self.propagation.decide(at, variable, bit)
        except ContradictionError:
            return None, 0.0
        return child, self._weight(child) if weighted else 1.0

    def _weight(self, candidate: PartialAssignment) -> float:
        bound = self.bound(candidate)
        if not self.hopeful(bound):
            return 0.0
        return self.best - bound if self.best < math.inf else 1.0


class RandomSearch(CandidateSearch):
    """Descents in which each value that is left is as likely as any other: what the others are compared with."""

    def ask(self) -> PartialAssignment | None:
        for _ in range(VAIN):
            leaf = self.descend(self.root, weighted=False)
            if leaf is not None and leaf not in self.costs:
                return leaf
        return None


class BranchAndBound(CandidateSearch):
    """Depth first, the child with the least bound first; it ends with the optimum."""

    def __init__(
        self, propagation: Propagator, root: PartialAssignment, first: list[int], bound: Bound, seed: int = 0
    ) -> None:
        super().__init__(propagation, root, first, bound, seed)
        self.waiting = [(bound(root), root)]

    def ask(self) -> PartialAssignment | None:
        while (leaf := next(self.steps(), None)) is None and self.waiting:
            pass
        self.finished = leaf is None
        return leaf

    def steps(self) -> Iterator[PartialAssignment | None]:
        """Look at one candidate after the other; yield a complete one, None after each that is not."""
        while self.waiting:
            bound, at = self.waiting.pop()
            if not self.hopeful(bound):
                self.cut += 1
                yield None
                continue
            variable = self.next_variable(at)
            if variable is None:
                yield at
                continue
            found = [(self.bound(child), child) for child in self.children(at, variable)]
            self.dead += not found
            self.waiting += sorted(found, key=lambda each: -each[0])
            yield None


class _Node(Struct):
    """A partial candidate of the tree: its bound, what was seen below it, and whether nothing is left to see."""

    at: PartialAssignment
    bound: float
    parent: _Node | None
    below: list[_Node] | None = None
    visits: int = 0
    costs: list[float] = []
    closed: bool = False


class ThresholdAscent(CandidateSearch):
    """Threshold ascent on the tree (TAG, de Mesmay et al. 2009), as in section 5.1 of the paper on partial candidates.

    From the root, the child is taken that most likely gives one of the best few costs, down to a node without children,
    which gets them; from there a weighted descent makes a complete candidate. Children that cannot be better than the
    best are left out. A node is closed when all of its candidates were tried or cut. So the search ends where a space
    is small, and where the best cost is the root's bound: then p is 0 everywhere, and nothing can be better.
    """

    def __init__(
        self, propagation: Propagator, root: PartialAssignment, first: list[int], bound: Bound, seed: int = 0
    ) -> None:
        super().__init__(propagation, root, first, bound, seed)
        self.tree = _Node(root, bound(root), None)
        self._asked: dict[PartialAssignment, _Node] = {}

    def ask(self) -> PartialAssignment | None:
        while not self.tree.closed and self.hopeful(self.tree.bound):
            node = self._selected()
            if node is None:
                continue
            if node.below is None and not self._expand(node):
                if node.at not in self.costs:  # complete, and not tried
                    self._asked[node.at] = node
                    return node.at
                self._close(node)
                continue
            leaf = self.descend(node.at, weighted=True)
            if leaf is None:
                self._count(node, math.inf)
            elif leaf in self.costs:
                self._count(node, self.costs[leaf])
            else:
                self._asked[leaf] = node
                return leaf
        self.finished = True
        return None

    def tell(self, leaf: PartialAssignment, cost: float) -> None:
        super().tell(leaf, cost)
        node = self._asked.pop(leaf, None)
        if node is not None:
            self._count(node, cost)
            if node.at == leaf:
                self._close(node)

    def _selected(self) -> _Node | None:
        """Return the node from which the next descent starts; None where one was closed on the way."""
        node = self.tree
        threshold = sorted(self.costs.values())[:TOP][-1] if self.costs else math.inf
        while node.below is not None:
            live = []
            for child in node.below:
                if not child.closed and not self.hopeful(child.bound):
                    child.closed = True
                    self.cut += 1
                if not child.closed:
                    live.append(child)
            if not live:
                self._close(node)
                return None
            scores = [self._score(child, node.visits, len(live), threshold) for child in live]
            best = max(scores)
            node = self.chooser.choice([child for child, score in zip(live, scores, strict=True) if score == best])
        return node

    def _score(self, node: _Node, visits: int, arms: int, threshold: float) -> float:
        """Return an upper bound of the chance that a descent from here is a success."""
        if not node.visits:
            return math.inf
        good = sum(cost <= threshold for cost in node.costs)
        alpha = math.log(2 * max(2, visits) * arms / CONFIDENCE)
        return (good + alpha + math.sqrt(2 * good * alpha + alpha * alpha)) / node.visits

    def _expand(self, node: _Node) -> bool:
        """Give a node its children; False for a complete one."""
        variable = self.next_variable(node.at)
        if variable is None:
            return False
        node.below = [_Node(child, self.bound(child), node) for child in self.children(node.at, variable)]
        self.dead += not node.below
        return True

    def _count(self, node: _Node, cost: float) -> None:
        at: _Node | None = node
        while at is not None:
            at.visits += 1
            at.costs = [*at.costs, cost]
            at = at.parent

    def _close(self, node: _Node) -> None:
        """Close a node, and those above it of which all is closed."""
        at: _Node | None = node
        while at is not None and (at is node or all(child.closed for child in at.below or ())):
            at.closed = True
            at = at.parent


SEARCHES: Final[dict[str, type[CandidateSearch]]] = {
    "tag": ThresholdAscent,
    "bound": BranchAndBound,
    "random": RandomSearch,
}
