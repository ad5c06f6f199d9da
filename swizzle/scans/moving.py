"""Loops of networks in which elements drop their words, as Blelloch's, given an example.

Whom an element takes in a scan in place is decided by how far it reaches. Whoever drops its words may take anyone, and
an element's neighbours may be several. So sources are looked for as conditions are: terms that agree with the example,
the lightest first. In a step elements move in up to four ways (`How`), each under a condition of its own. What all
elements hold at all sizes is run along; a choice that breaks a rule ends there, and so does one after which elements
hold what they held after another one, from which no scan was found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from swizzle.scans.algorithm import Algorithm, How, ScanLoop, ScanStep, sizes
from swizzle.scans.bank import Column, LoopPoints, Mask
from swizzle.scans.network import IDLE, HeldRanges, Network
from swizzle.scans.scan_sketch import LoopSketch, ReadScan, StepSketch
from swizzle.scans.search import CONDITIONS, TRIED, Candidate, Known, Search
from symbolic.expressions.expression import FALSE, ZERO, Expression

SOURCES: Final = 8
"""Terms for a source that agree with the example."""
COMBINED: Final = 4000
"""Ways to fill a round that are tried, the lightest."""
MORE: Final = (0, 2, 5, 10, 30)
"""How much heavier than the lightest all expressions together may be: tried one after the other."""
RUNS: Final = 5_000
"""At most so many loops are run for an example."""


class Move(NamedTuple):
    """One way to move, with its values at the points of a loop."""

    weight: int
    when: Expression
    source: Expression
    how: How
    on: Mask
    sources: Column


class MovingSearch(Search):
    """The fillings of loops that are the example at its size, and scans at every size that is tried."""

    def __init__(self, sketch: ReadScan, example: Network, known: Known | None = None) -> None:
        super().__init__(sketch, example, known)
        self.network = example
        self.ways = _ways(example)
        self.failed = dict[tuple[object, ...], int]()

    def found(self) -> Iterator[tuple[Algorithm, list[list[LoopPoints]]]]:
        """Yield the algorithms, with the points at which each loop's expressions were looked for."""
        start = [HeldRanges.start(size) for size in self.among]
        ways = [each for each in (self.backward, not self.backward) if self._possible(each)]
        for more, with_size in itertools.product(MORE, ways):
            for loops in self._fillings(self.sketch.loops, 0, start, with_size, more):
                algorithm = Algorithm(loops, self.backward, self.network.exclusive)
                agrees = algorithm.network(self.network.size) == self.network
                if agrees and not any(algorithm.wrong(size) for size in sizes(self.sketch.base, TRIED)):
                    yield algorithm, [self.points(loop) for loop in self.sketch.loops]

    def _possible(self, with_size: bool) -> bool:
        """Tell whether there is a candidate for all that is moved in any loop."""
        at = 0
        for loop in self.sketch.loops:
            points = self._points(loop, with_size)
            if not all(moves for _, moves in self._choices_of(loop, points, at)):
                return False
            at += len(points.of(self.network)) * len(loop.steps)
        return True

    def _fillings(
        self, loops: Sequence[LoopSketch], at: int, held: list[HeldRanges], with_size: bool, more: int
    ) -> Iterator[tuple[ScanLoop, ...]]:
        """Yield fillings of some loops from a step of the example on, up to so much heavier than the lightest."""
        if not loops:
            if self._whole(held):
                yield ()
            return
        key = (len(loops), with_size, *(end.tobytes() for each in held for end in each))
        if self.failed.get(key, -1) >= more:
            return
        loop, *others = loops
        points, shape = self._points(loop, with_size), loop.skeleton
        behind = at + len(points.of(self.network)) * shape.steps
        none = True
        for heavier, moves in self._rounds(loop, points, at, more):
            self.known.runs += 1
            if self.known.runs > RUNS:
                return
            after = self._after(points, moves, held)
            if after is None:
                continue
            steps = tuple(map(_step, moves))
            made = ScanLoop(shape.way, self.sketch.base, shape.least, shape.most, steps)
            for rest in self._fillings(others, behind, after, with_size, more - heavier):
                none = False
                yield (made, *rest)
        if none:
            self.failed[key] = more

    def _rounds(
        self, loop: LoopSketch, points: LoopPoints, at: int, more: int
    ) -> Iterator[tuple[int, list[list[Move]]]]:
        """Yield ways to move in each step of a round, and by how much each is heavier than the lightest."""
        some = self._choices_of(loop, points, at)
        least = sum(moves[0].weight for _, moves in some)
        cut = int(COMBINED ** (1 / max(1, len(some))))
        light = [[move for move in moves[:cut] if move.weight <= moves[0].weight + more] for _, moves in some]
        weighed = [(sum(move.weight for move in chosen) - least, chosen) for chosen in itertools.product(*light)]
        for heavier, chosen in sorted(weighed, key=lambda each: each[0]):
            if heavier > more:
                return
            paired = list(zip(some, chosen, strict=True))
            yield heavier, [[move for (own, _), move in paired if own == at] for at in range(len(loop.steps))]

    def _choices_of(self, loop: LoopSketch, points: LoopPoints, at: int) -> list[tuple[int, list[Move]]]:
        """Return for all that is moved in a round the step, and the candidates."""
        found, steps = list[tuple[int, list[Move]]](), len(loop.steps)
        for number, step in enumerate(loop.steps):
            turns = range(at + number, at + number + len(points.of(self.network)) * steps, steps)
            key = (points.skeleton, points.with_size, at, number, step)
            if key not in self.known.moves:
                self.known.moves[key] = self._moves(step, points, turns)
            found += [(number, moves) for moves in self.known.moves[key]]
        return found

    def _moves(self, step: StepSketch, points: LoopPoints, turns: Sequence[int]) -> list[list[Move]]:
        """Return how elements move in some steps of the example: for each way the candidates."""
        ways = [self.ways[turn] for turn in turns]
        sides: list[How] = ["behind", "before"] if self.backward else ["before", "behind"]
        side = next((how for how in sides if any(each[how].any() for each in ways)), sides[0])
        if step.how is not None:
            given = [(move.how or side, move) for move in step.moves]
            side = next((how for how, _ in given if how in sides), side)
        masks = {how: [each[how] | each[None] if how == side else each[how] for each in ways] for how in _HOWS}
        if step.how is None:
            given = [(how, StepSketch(None, None)) for how in _HOWS if any(mask.any() for mask in masks[how])]
        return [list(self._agreeing(points, turns, how, masks[how], move)) for how, move in given]

    def _agreeing(
        self, points: LoopPoints, turns: Sequence[int], how: How, masks: list[Mask], move: StepSketch
    ) -> Iterator[Move]:
        """Yield conditions with sources that agree with the example in some steps, the lightest first."""
        own = points.size == self.network.size
        want, source = np.zeros(len(points.element), bool), np.full(len(points.element), IDLE)
        for turn, mask, place in zip(turns, masks, points.of(self.network), strict=True):
            want[place], source[place] = mask, self.network.steps[turn]
        conditions: Iterable[Candidate] = itertools.islice(points.conditions.matching(own, want), CONDITIONS)
        if move.when is not None:
            conditions = [(0, move.when, points.values(move.when).astype(bool))]
        if how == "nothing":
            terms = [(0, ZERO, np.full(len(want), IDLE))]
        elif move.source is not None:
            terms = [(0, move.source, points.values(move.source))]
        else:
            fits = np.nonzero((points.terms.rows[:, want] == source[want]).all(axis=1))[0][:SOURCES].tolist()
            made = [(points.terms.made[each], points.terms.rows[each]) for each in fits]
            terms = [(term.weight, term.expression, column) for term, column in made]
        seen = set[bytes]()
        both = sorted(itertools.product(conditions, terms), key=lambda pair: pair[0][0] + pair[1][0])
        for (weight, when, on), (more, taken, column) in both:
            values = np.where(on, column, IDLE)
            known = np.stack([on, values]).tobytes()
            if known not in seen:
                seen.add(known)
                yield Move(weight + more, when, taken, how, on, values)

    def _after(
        self, points: LoopPoints, steps: Sequence[Sequence[Move]], held: list[HeldRanges]
    ) -> list[HeldRanges] | None:
        """Return what elements hold behind a loop at every size; None if it breaks a rule."""
        after = list(held)
        moved = [_together(moves, len(points.element)) for moves in steps]
        for place, (size, _) in zip(points.slices, points.rounds, strict=True):
            where = self.among.index(size)
            for sources, taking, gone, behind in moved:
                own = sources[place]
                if (taking[place] & ((own < 0) | (own >= size))).any():
                    return None
                after[where], before, back = after[where].step(own, gone[place], size if self.backward else 0)
                if not np.where(behind[place], back, before).all():
                    return None
        return after

    def _whole(self, held: Sequence[HeldRanges]) -> bool:
        """Tell whether every element holds what it does behind a scan."""
        whole = (HeldRanges.whole(n, backward=self.backward, exclusive=self.network.exclusive) for n in self.among)
        return not any(len(a.unlike(b)) for a, b in zip(held, whole, strict=True))


_HOWS: Final[tuple[How, ...]] = ("before", "behind", "instead", "nothing")


def _ways(network: Network) -> list[dict[How | None, Mask]]:
    """Return for each step of a network which elements move in which way; None is of those that may go either side."""
    found = list[dict[How | None, Mask]]()
    held = HeldRanges.start(network.size)
    for step, dropped in zip(network.steps, network.dropped, strict=True):
        sources, gone = np.array(step), np.isin(np.arange(network.size), list(dropped))
        held, before, behind = held.step(sources, gone)
        taking = sources != IDLE
        sides: dict[How | None, Mask] = {None: before & behind, "before": ~behind, "behind": ~before}
        found.append({how: taking & ~gone & side for how, side in sides.items()})
        found[-1] |= {"instead": taking & gone, "nothing": ~taking & gone}
    return found


def _together(moves: Sequence[Move], points: int) -> tuple[Column, Mask, Mask, Mask]:
    """Return whom elements take at the points, whether they do, who drops its words, who puts others behind its own."""
    left, sources = np.ones(points, bool), np.full(points, IDLE)
    taking, gone, behind = ~left, ~left, ~left
    for move in moves:
        on = left & move.on
        sources = np.where(on, move.sources, sources)
        taking = taking | (on & (move.how != "nothing"))
        gone = gone | (on & (move.how in ("instead", "nothing")))
        behind = behind | (on & (move.how == "behind"))
        left = left & ~on
    return sources, taking, gone, behind


def _step(moves: Sequence[Move]) -> ScanStep:
    """Return ways to move as a step; where nobody moves, one that nobody does."""
    made: ScanStep | None = None
    for move in reversed(moves):
        made = ScanStep(move.when, move.source, move.how, made)
    return made or ScanStep(FALSE, ZERO)
