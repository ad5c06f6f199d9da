"""Sketches with an `exchange`: each of its homes makes a program of its own, and the cheapest is the answer.

What goes where is worked out first (`solving/homes`). Homes are tried in the order of what they take at least, and one
that takes at least as much as the best costs is not tried.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.specs.specification import Meaning
from swizzle.sketches.hole_formula import HoleFormula
from swizzle.sketches.sketch import Sketch
from swizzle.solving.front import on_front
from swizzle.solving.homes.programs import lowered
from swizzle.solving.homes.sources import NoSources, Sources, reads_only, sources_of
from swizzle.solving.homes.ways import ACROSS, Floor, Home, Way, best_sources, floor_of, way_of
from swizzle.solving.solution.solution import Limits, Listener, Result, SketchSolver, Solution, Status
from symbolic.errors import SwizzleError
from symbolic.ir.program import Accumulate, Expr, Hole
from symbolic.ir.walk import statements
from symbolic.limits import Interruption, limited
from templates.formula import binary, fill_some, number, parameters
from templates.holes import HOME, kind_of

CLOCKS: Final = "clocks"
NOT_TRIED: Final = "not tried"
MOST_LIGHT: Final = 27  # light functions of all other holes together
ALIKE: Final = frozenset({"accumulates", "sectors", "terms"})
"""Costs that no home changes."""
OTHERS: Final = "of the holes beside an exchange, one filling is looked at for each home"
PREFERRED: Final[tuple[Home, ...]] = ("shuffle", "vector", "shared")
"""The order of homes that take the same at least: registers need no barrier, vectors fewer instructions."""


class _Choice(Struct, frozen=True):
    """A home for each exchange, and what they take at least together; None: there is none."""

    homes: tuple[Home, ...]
    floors: tuple[Floor, ...]
    least: int | None

    @property
    def name(self) -> str:
        return ", ".join(self.homes)


class _Ready(Struct, frozen=True):
    """A choice with its programs, the clocks that these take by themselves, and what is said about it."""

    choice: _Choice
    ways: tuple[Way, ...]
    clocks: int
    about: dict[str, Any]


def solve_homes(sketch: Sketch, limits: Limits, progress: Listener | None, solve: SketchSolver) -> Result:
    """Solve a sketch for its exchanges' homes; return the answer with the lowest costs, the last of them clocks.

    `limits.timeout` bounds the whole. Raises SwizzleError for a sketch with holes of other kinds that move no elements.
    """
    holes, started = sketch.exchanges, time.monotonic()
    others = _others(sketch)
    until = None if limits.timeout is None else started + limits.timeout
    if limits.cost == Limits().cost and not any(isinstance(s, Accumulate) for s in statements(sketch.program.body)):
        limits = replace(limits, cost=(CLOCKS,))
    names = [each if isinstance(each, str) else each.name for each in limits.cost]
    limits = limits if CLOCKS in names else replace(limits, cost=(*limits.cost, CLOCKS))
    names = names if CLOCKS in names else [*names, CLOCKS]
    every = limits.all_solutions or limits.pareto
    prunes = ALIKE.issuperset(names[: names.index(CLOCKS)]) and not every
    search = _Homes(sketch, holes, prunes, names[-1] == CLOCKS, alone=not others)
    reason = ""
    try:
        with limited(until, limits.memory):
            found = _sources(sketch, others)
            if isinstance(found, NoSources):
                return _answer_without(sketch, started, found)
            for choice in search.choices(found):
                search.prepare(choice, found)
            for program in sorted(search.ready, key=lambda each: each.clocks):
                here = replace(limits, pareto=False, all_solutions=False)
                if until is not None:
                    here = replace(here, timeout=max(0.001, until - time.monotonic()))
                search.take(program, partial(_solved, solve, here, progress))
    except (KeyboardInterrupt, Interruption) as stopped:
        late = f"timeout after {limits.timeout:g} s" if limits.timeout is not None else "interrupted"
        reason = str(stopped) or late
    return search.answer(limits, names, reason, started)


def _solved(solve: SketchSolver, limits: Limits, progress: Listener | None, posed: Sketch) -> Result:
    return solve(posed, limits, progress)


def _others(sketch: Sketch) -> dict[int, Hole]:
    """Return the open holes beside exchanges by their numbers; each must say whence an element comes or goes."""
    others = {place: hole for place, hole in enumerate(sketch.program.holes) if hole.kind != HOME}
    for hole in others.values():
        if not kind_of(hole).moves:
            raise SwizzleError(
                f"{hole.name} is open beside an exchange",
                place=hole.place,
                expected="no other holes but sw_xform and sw_index: what is exchanged is worked out from the "
                "specification, with all else known",
                fix=f"write out what {kind_of(hole).call(hole)} is, or solve it in a sketch of its own (filled_from=)",
            )
    return others


def _sources(sketch: Sketch, others: Mapping[int, Hole]) -> list[Sources] | NoSources:
    """Return what the exchanges bring where, of the first light functions of other holes for which that is known.

    The other holes stay open, so what is found is no proof: with other functions, an exchange may bring other elements.
    Functions with which all outputs can be right come first, then those with which all can that have something of an
    exchange. If there are none, holes that only read parameters read what suits.
    """
    meaning = Meaning.of(sketch.program, sketch.spec)
    homes = [[home for home in PREFERRED if home in hole.families] for hole in sketch.exchanges]
    if not others:
        return best_sources(sources_of(sketch.program, meaning), homes)
    why = ""
    fillings = _fillings(others)
    readers = {place for place in others if reads_only(sketch.program, place)}
    tried = list(itertools.product((False, True), fillings))
    if readers:
        tried += [(True, some) for some in _fillings({n: hole for n, hole in others.items() if n not in readers})]
    for others_open, formulas in tried:
        try:
            filled = fill_some(sketch.program, formulas)
            found = best_sources(sources_of(filled, meaning, others_open=others_open), homes)
        except SwizzleError as error:  # an index out of bounds, say
            why = why or error.found
            continue
        if not isinstance(found, NoSources):
            return found
        why = why or found.why
    names = " and ".join(hole.name for hole in others.values())
    return NoSources(f"with light functions of {names}, what the exchange must bring is not known: {why}", False)


def _fillings(others: Mapping[int, Hole]) -> list[dict[int, Expr]]:
    every = itertools.product(*map(_light, others.values()))
    return [dict(zip(others, formulas, strict=True)) for formulas in itertools.islice(every, MOST_LIGHT)]


def _light(hole: Hole) -> list[Expr]:
    """Return formulas of the lightest functions of a hole: its index as it is, and turned by its k either way."""
    i, *more = parameters(hole.arguments)
    turned = [binary(sign, i, k) for k in more[:1] for sign in ("+", "-")]
    return [i, *(binary("%", each, number(hole.size, hole.place)) for each in turned)]


def _answer_without(sketch: Sketch, started: float, found: NoSources) -> Result:
    """Return 'none' where no exchange gives what is asked for, and 'unknown' where that is not clear."""
    spent = {"total": time.monotonic() - started}
    status: Status = "unsat" if found.proved else "unknown"
    size = sketch.program.warp_size
    return Result(sketch.name, status, None, False, (), size, spent, reason=found.why, posed=sketch)


class _Homes:
    """What is known of the homes: which was tried, and what it costs."""

    def __init__(self, sketch: Sketch, holes: Sequence[Hole], prunes: bool, last: bool, *, alone: bool) -> None:
        """`alone` says that no other holes are open, so that each exchange brings what it must bring."""
        self.sketch, self.holes, self.prunes, self.last, self.alone = sketch, holes, prunes, last, alone
        self.ways: dict[tuple[int, Home], Way | None] = {}
        self.said: list[dict[str, Any]] = []
        self.results: list[tuple[tuple[int, ...], Result]] = []
        self.ready: list[_Ready] = []
        self.least: int | None = None
        self.impossible = False

    def choices(self, sources: Sequence[Sources]) -> Iterator[_Choice]:
        """Yield a home for each exchange, those that take the least first."""
        floors = [
            {home: floor_of(home, each, single=len(sources) == 1) for home in PREFERRED if home in hole.families}
            for hole, each in zip(self.holes, sources, strict=True)
        ]
        found = []
        for homes in itertools.product(*floors):
            some = tuple(floor[home] for floor, home in zip(floors, homes, strict=True))
            clocks = [each.clocks for each in some]
            whole = sum(c * each.times for c, each in zip(clocks, sources, strict=True) if c is not None)
            found.append(_Choice(homes, some, None if None in clocks else ceil(whole)))
        found.sort(key=lambda each: (each.least is None, each.least or 0))
        decided = self.alone and all(each.decided for each in sources)
        self.least = found[0].least if decided else None
        self.impossible = decided and all(any(floor.why == ACROSS for floor in each.floors) for each in found)
        yield from found

    def prepare(self, choice: _Choice, sources: Sequence[Sources]) -> None:
        """Make the programs of a choice, unless it cannot be the best."""
        about: dict[str, Any] = {"homes": list(choice.homes), "least": choice.least}
        self.said.append(about)
        if choice.least is None:
            about["why"] = next(floor.why for floor in choice.floors if floor.clocks is None)
            return
        about["because"] = "; ".join(floor.why for floor in choice.floors)
        if self._is_beaten(choice.least, min((each.clocks for each in self.ready), default=None)):
            about["why"] = NOT_TRIED
            return
        ways = []
        for hole, (home, each) in enumerate(zip(choice.homes, sources, strict=True)):
            if (hole, home) not in self.ways:
                self.ways[hole, home] = way_of(home, each, alone=len(self.holes[hole].families) == 1)
            way = self.ways[hole, home]
            if way is None:
                about["why"] = f"no program of it is found for {self.holes[hole].name}"
                return
            ways.append(way)
        about["how"] = "; ".join(way.words for way in ways)
        pipes = [
            [clocks * each.times for clocks in way.pipes(each.bits)] for way, each in zip(ways, sources, strict=True)
        ]
        clocks = ceil(max(map(sum, zip(*pipes, strict=True))))
        self.ready.append(_Ready(choice, tuple(ways), clocks, about))

    def _is_beaten(self, clocks: int, best: int | None) -> bool:
        """Say whether what takes so many clocks or more is not better than what there is."""
        return self.prunes and best is not None and clocks + self.last > best

    def take(self, program: _Ready, solve: Callable[[Sketch], Result]) -> None:
        """Solve the kernel with the programs of a choice, unless they take too long by themselves."""
        about, ways = program.about, program.ways
        if self._is_beaten(program.clocks, min((found.best.cost[CLOCKS] for _, found in self.results), default=None)):
            about |= {"why": NOT_TRIED, "expected": program.clocks}
            return
        result = solve(_posed(self.sketch, ways))
        if not result.solutions:
            about["why"] = result.reason or "its program is not the specification's"
            return
        about[CLOCKS] = result.best.cost[CLOCKS]
        solutions = tuple(replace(each, holes=self._became(program.choice, each.holes)) for each in result.solutions)
        rank = (*result.best.cost.values(), sum(way.instructions for way in ways))
        self.results.append((rank, replace(result, solutions=solutions)))

    def _became(self, choice: _Choice, others: Sequence[HoleFormula]) -> tuple[HoleFormula, ...]:
        became = {hole.name: hole for hole in others}
        for hole, home in zip(self.holes, choice.homes, strict=True):
            became[hole.name] = HoleFormula(hole.name, hole.kind, hole.place, home, {})
        return tuple(became[hole.name] for hole in (self.sketch.opened or self.sketch.program).holes)

    def answer(self, limits: Limits, names: Sequence[str], reason: str, started: float) -> Result:
        """Return the best, with what is known of the others."""
        spent = time.monotonic() - started
        if not self.results:
            size = self.sketch.program.warp_size
            why = reason or "; ".join(f"{', '.join(each['homes'])}: {each['why']}" for each in self.said)
            status: Status = "unsat" if self.impossible and not reason else "unknown"
            return Result(
                self.sketch.name, status, None, False, (), size, {"total": spent}, reason=why, posed=self.sketch
            )
        ranked = [result for _, result in sorted(self.results, key=lambda each: each[0])]
        best = ranked[0]
        certificate = {**best.certificate, "homes": self.said}
        every = limits.all_solutions or limits.pareto
        if every and not self.alone:
            certificate |= {"left_out": OTHERS}
        seconds = {**best.seconds, "total": spent}
        proved = self._proved(best, names, reason)
        found = replace(
            best, reason=reason or best.reason, certificate=certificate, seconds=seconds, proved=proved,
            optimal=all(proved.values()),
        )  # fmt: skip
        if not every:
            return found
        solutions: list[Solution] = [solution for result in ranked for solution in result.solutions]
        if limits.pareto:
            return on_front(found, solutions, len(solutions), not reason and self.alone)
        return replace(found, solutions=tuple(solutions))

    def _proved(self, best: Result, names: Sequence[str], reason: str) -> Mapping[str, bool]:
        """Say of each cost whether no program of these homes costs less: clocks are at the least that any takes."""
        at_least = self.least is not None and best.best.cost[CLOCKS] <= self.least
        before = names[: names.index(CLOCKS)]
        alike = ALIKE.issuperset(before)
        found = {name: value == 0 for name, value in best.best.cost.items()}
        found |= {
            name: found[name] or (alike and self.alone and best.proved.get(name, best.optimal)) for name in before
        }
        return found | {CLOCKS: at_least or found[CLOCKS]}


def refilled(sketch: Sketch, homes: Sequence[str]) -> Sketch:
    """Return a sketch whose exchanges have these homes; ValueError where that is not possible."""
    found = _sources(sketch, _others(sketch))
    if isinstance(found, NoSources):
        raise ValueError(found.why)
    ways = []
    for hole, text, each in zip(sketch.exchanges, homes, found, strict=True):
        home = next((home for home in PREFERRED if home == text and home in hole.families), None)
        known = home is not None and floor_of(home, each).clocks is not None
        way = way_of(home, each, alone=len(hole.families) == 1) if home is not None and known else None
        if way is None:
            raise ValueError(f"{hole.name} cannot be {text}")
        ways.append(way)
    return _posed(sketch, ways)


def _posed(sketch: Sketch, ways: Sequence[Way]) -> Sketch:
    opened = None if sketch.opened is None else lowered(sketch.opened, ways)
    return replace(sketch, program=lowered(sketch.program, ways), opened=opened)
