"""Filling a scan sketch: conditions and sources, the smallest first, loop by loop; with an example of one size or none.

An example fixes the conditions at its own size. Every expression that agrees with it there is a candidate; what it does
at other sizes decides. An element that takes another has no choice whom: it takes its neighbour, so a source is wanted
at every size as soon as the conditions are chosen. So the search is over conditions, loop by loop, and a chain of
choices ends where a step at some size is illegal, has no source, or leaves an element unfinished.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from swizzle.scans.algorithm import Algorithm, ScanLoop, ScanStep, sizes
from swizzle.scans.bank import Column, LoopPoints, Mask, Skeleton
from swizzle.scans.network import IDLE, Ends, Network
from swizzle.scans.scan_sketch import LoopSketch, ReadScan, StepSketch
from symbolic.expressions.expression import Expression, constant

TRIED: Final = 4096
"""Every found algorithm is run at all sizes up to this one."""
CONDITIONS: Final = 60
"""Candidates for a condition that an example fixes at its size."""
BLIND: Final = 20_000
"""Candidates for one that nothing fixes."""
RUNS: Final = 60_000
"""At most so many loops are run for a sketch."""
Candidate = tuple[int, Expression, Mask]


class Known:
    """What searches for the same example share: the points of loops, and the candidates for their conditions."""

    def __init__(self) -> None:
        self.points: dict[tuple[Skeleton, bool], LoopPoints] = {}
        self.candidates: dict[tuple[Skeleton, bool, int, int], list[Candidate]] = {}
        self.moves: dict[tuple[object, ...], list[list[Any]]] = {}
        self.runs = 0


class Search:
    """The fillings of a sketch that are scans at every size that is tried."""

    def __init__(self, sketch: ReadScan, example: Network | None, known: Known | None = None) -> None:
        self.sketch, self.example, self.backward = sketch, example, sketch.backward
        self.known = known or Known()
        base = sketch.base
        given = 0 if example is None else example.size
        self.among = [size for size in sizes(base, max(32, given)) if size >= min(4, given or 4)]

    def found(self) -> Iterator[tuple[Algorithm, list[list[LoopPoints]]]]:
        """Yield the algorithms, with the points at which each loop's expressions were looked for."""
        start: list[Ends] = [np.arange(size) for size in self.among]
        for with_size in (self.backward, not self.backward):
            if not self._possible(with_size):
                continue
            for loops in self._loops(self.sketch.loops, 0, start, with_size):
                algorithm = Algorithm(loops, self.backward)
                if not any(algorithm.wrong(size) for size in sizes(self.sketch.base, TRIED)):
                    yield algorithm, [self.points(loop) for loop in self.sketch.loops]

    def points(self, loop: LoopSketch) -> list[LoopPoints]:
        """Return the points at which a loop's expressions are asked, without the size among the names and with it.

        Behind these come more of which only a proof asks, where they do not do.
        """
        some = [self._points(loop, with_size) for with_size in (self.backward, True)]
        base, shape = self.sketch.base, loop.skeleton
        some += [LoopPoints(shape, base, self.among, with_size=True, wide=True)] if base == 2 else []
        return some + [LoopPoints(shape, base, self.among, with_size=True, mirrored=True)] * self.backward

    def _loops(
        self, loops: Sequence[LoopSketch], at: int, reach: list[Ends], with_size: bool
    ) -> Iterator[tuple[ScanLoop, ...]]:
        """Yield fillings of some loops, given how far elements reach before them at every size."""
        if not loops:
            yield ()
            return
        loop, *others = loops
        points, shape = self._points(loop, with_size), loop.skeleton
        choices = self._choices(loop, at, with_size)
        for chosen in _by_weight(choices):
            self.known.runs += 1
            if self.known.runs > RUNS:
                return
            run = self._run(points, [mask for _, _, mask in chosen], reach)
            if run is None or (not others and not self._finished(run[1])):
                continue
            steps = []
            for (_, when, mask), sketch, want in zip(chosen, loop.steps, run[0], strict=True):
                source = (
                    points.source(mask, want) if sketch.source is None else self._own(points, sketch.source, mask, want)
                )
                if source is not None:
                    steps.append(ScanStep(when, source, "behind" if self.backward else "before"))
            if len(steps) < len(chosen):
                continue
            made = ScanLoop(shape.way, self.sketch.base, shape.least, shape.most, tuple(steps))
            for rest in self._loops(others, at + len(points.of(self.example)) * len(steps), run[1], with_size):
                yield (made, *rest)

    def _possible(self, with_size: bool) -> bool:
        """Tell whether every condition has a candidate, before any are put together."""
        at = 0
        for loop in self.sketch.loops if self.example is not None else ():
            if not all(self._choices(loop, at, with_size)):
                return False
            at += len(self._points(loop, with_size).of(self.example)) * len(loop.steps)
        return True

    def _choices(self, loop: LoopSketch, at: int, with_size: bool) -> list[list[Candidate]]:
        """Return the candidates for the conditions of a loop that begins at a step of the example."""
        points = self._points(loop, with_size)
        wanted = None if self.example is None else self._wanted(points, loop, at)
        found = []
        for number, step in enumerate(loop.steps):
            key = (loop.skeleton, with_size, at, number)
            if step.when is not None or key not in self.known.candidates:
                some = self._candidates(points, step, None if wanted is None else wanted[number])
                if step.when is None:
                    self.known.candidates[key] = some
            else:
                some = self.known.candidates[key]
            found.append(some)
        return found

    def _wanted(self, points: LoopPoints, loop: LoopSketch, at: int) -> list[Mask]:
        """Return when each step of a loop runs at the example's size."""
        assert self.example is not None
        found = [np.zeros(len(points.element), bool) for _ in loop.steps]
        for turn, place in enumerate(points.of(self.example)):
            for number, want in enumerate(found):
                want[place] = np.array(self.example.steps[at + turn * len(loop.steps) + number]) != IDLE
        return found

    def _candidates(self, points: LoopPoints, step: StepSketch, want: Mask | None) -> list[Candidate]:
        own = np.ones(len(points.element), bool) if self.example is None else points.size == self.example.size
        if step.when is not None:
            mask = points.values(step.when).astype(bool)
            agrees = want is None or (mask[own] == want[own]).all()
            return [(0, step.when, mask)] if agrees else []
        if want is not None:
            return list(itertools.islice(points.conditions.matching(own, want), CONDITIONS))
        conditions = points.conditions
        some = range(min(BLIND, len(conditions.masks)))
        every = (0, constant(True), np.ones(len(points.element), bool))
        return [
            every,
            *((int(conditions.weights[each]), conditions.expression(each), conditions.masks[each]) for each in some),
        ]

    def _own(self, points: LoopPoints, source: Expression, mask: Mask, want: Column) -> Expression | None:
        return source if (points.values(source)[mask] == want[mask]).all() else None

    def _points(self, loop: LoopSketch, with_size: bool) -> LoopPoints:
        key = (loop.skeleton, with_size)
        if key not in self.known.points:
            self.known.points[key] = LoopPoints(loop.skeleton, self.sketch.base, self.among, with_size=with_size)
        return self.known.points[key]

    def _finished(self, reach: Sequence[Ends]) -> bool:
        """Tell whether every element has everything."""
        whole = [size - 1 if self.backward else 0 for size in self.among]
        return all((ends == each).all() for each, ends in zip(whole, reach, strict=True))

    def _run(
        self, points: LoopPoints, masks: Sequence[Mask], reach: list[Ends]
    ) -> tuple[list[Column], list[Ends]] | None:
        """Return the sources that a loop's steps must have, and how far elements reach behind it; None if illegal."""
        sources = [np.zeros(len(points.element), np.int64) for _ in masks]
        after = list(reach)
        for place, (size, _) in zip(points.slices, points.rounds, strict=True):
            where = self.among.index(size)
            ends = after[where]
            for mask, source in zip(masks, sources, strict=True):
                on = mask[place]
                neighbour = ends + 1 if self.backward else ends - 1
                source[place] = neighbour
                if (on & ((neighbour < 0) | (neighbour >= size))).any():
                    return None
                ends = np.where(on, ends[np.where(on, neighbour, 0)], ends)
            after[where] = ends
        return sources, after


def _by_weight(choices: Sequence[Sequence[Candidate]]) -> Iterator[tuple[Candidate, ...]]:
    """Yield the combinations, the lightest first."""
    if len(choices) == 1:
        yield from ((each,) for each in choices[0])
        return
    cut = [some[: CONDITIONS * 4] for some in choices]
    yield from sorted(itertools.product(*cut), key=lambda some: sum(weight for weight, _, _ in some))
