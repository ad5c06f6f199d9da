"""From what a search has found to its answer: solutions that are verified, and what is proved of the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from swizzle.solving.audit.certificate import Claim, confirm, confirm_equal
from swizzle.solving.audit.second_count import extra_turns, touched_sectors
from swizzle.solving.costs.cost import Cost
from swizzle.solving.costs.counted import Conflicts, Sectors
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.search.state import SearchState
from swizzle.solving.solution.in_words import assumed
from swizzle.solving.solution.solution import Result, Solution, SpaceName, Status
from symbolic.ir.program import Assign, Hole, HoleCall, Program
from symbolic.ir.walk import names_in, own_expressions, statements, subexpressions
from symbolic.limits import Interruption, OutOfTime
from templates import table
from templates.holes import SPACES
from templates.registry import register
from templates.template import HolePoints, Point

NARROWED = "fillings in which terms cancel, or are multiples of other terms, are too many to be looked at"


def result_of(state: SearchState, last: SpaceName, optimal: bool) -> Result:
    """Return the answer; `last` is the space that was searched last, `optimal` says that nothing is left to search."""
    started = time.monotonic()
    candidates: list[Candidate] = []
    certificate: dict[str, Any] = {"proved": [claim.as_json() for claim in state.claims]}
    if assumptions := assumed(state.sketch.program):
        certificate["assumed"] = assumptions
    if state.best is not None and state.ranking is not None:
        candidates = [state.best]
        if state.all and state.limits.all_solutions:
            dearer = state.ranking.of(state.best) < state.ranking.of(state.all[0])
            candidates = [state.best, *state.all] if dearer else state.all
        if least := state.ranking.least(state.best):
            certificate["floor"] = least
        if state.left_out:
            certificate["left_out"] = state.said_left_out
        if state.left_open:
            certificate["left_open"] = list(state.left_open)
    if state.evident is not None:
        certificate["evident"] = state.evident.output
    if state.problem is not None and (unused := _unused(state.problem.program, state.problem.points)):
        certificate["unused"] = unused
    solutions, verified = _read(state, candidates) if candidates else ((), {})
    if solutions:
        certificate["verified"] = verified
    state.seconds["verify"] = time.monotonic() - started
    if state.limits.certify and state.reason == "":
        certificate |= _certified(state, solutions, last)
    partly = state.narrowed and (state.limits.all_solutions or not state.at_floor())
    if partly and solutions:
        certificate["cancelling"] = NARROWED
    elif partly:
        state.reason = state.reason or NARROWED
    if not solutions and state.problem is not None:
        asked = zip(state.problem.program.holes, state.problem.points, strict=True)
        tables = {hole.name: _no_table(hole, points) for hole, points in asked}
        if tables := {name: why for name, why in tables.items() if why}:
            certificate["no_table"] = tables
    status: Status = "sat" if solutions else ("unknown" if state.reason else "unsat")
    state.seconds["total"] = time.monotonic() - state.started
    proved: Mapping[str, bool] = {}
    if state.best is not None and state.ranking is not None:
        lowered = bool(state.goal.counted) and state.lowered and state.limits.space != "all"
        done = optimal and not state.reason
        proved = state.ranking.proved(state.best, lowered and not partly, done and not partly)
    return Result(
        sketch=state.sketch.name,
        status=status,
        space=_space_of_best(state, last),
        optimal=bool(proved) and all(proved.values()),
        solutions=solutions,
        warp_size=state.sketch.program.warp_size,
        seconds=dict(state.seconds),
        certificate=certificate,
        reason=state.reason,
        proved=proved if len(proved) > 1 else {},
        posed=state.sketch,
        families=register(state.limits.families),
    )


def _unused(program: Program, points: Sequence[Sequence[Point]]) -> list[str]:
    """Return the holes that are never asked, or whose values no other expression reads."""
    whole = [(stmt, own) for stmt in statements(program.body) for own in own_expressions(stmt)]
    read = frozenset[str]().union(*(names_in(own) for _, own in whole))
    used = {
        part.hole
        for stmt, own in whole
        if not isinstance(stmt, Assign) or stmt.name in read
        for part in subexpressions(own)
        if isinstance(part, HoleCall)
    }
    asked = zip(program.holes, points, strict=True)
    return [hole.name for number, (hole, some) in enumerate(asked) if number not in used or not some]


def _no_table(hole: Hole, points: Sequence[Point]) -> dict[str, int]:
    """Return what the smallest table of a hole that asks for one would need, if it is too large to be looked at."""
    if table.NAME not in hole.families or table.CONSTANT_NAME in hole.families:
        return {}
    asked = hole.size, len(hole.arguments), HolePoints.of(points)
    if size := table.too_large(*asked):
        return {"bytes": size, "most": table.MOST_BYTES}
    values = table.too_many(*asked)
    return {"values": values, "most": table.MOST_CHOICES} if values else {}


def _certified(state: SearchState, solutions: Sequence[Solution], last: SpaceName) -> dict[str, Any]:
    """Return what a second route says of the claims and of the solutions.

    What it confirms is true of fillings in which something cancels, too.
    """
    assert state.problem is not None
    claims = [*state.claims, *_counted(state, last)]
    found: dict[str, Any] = {"confirmed": confirm(state.problem, claims, state.deadline)}
    state.narrowed &= any(
        claim.narrowed and each["verdict"] != "confirmed"
        for claim, each in zip(claims, found["confirmed"], strict=True)
    )
    if solutions and state.goal.counted:
        verdicts = {cost.name: _counted_again(cost, solutions) for cost in state.goal.counted}
        again = {name: verdict for name, verdict in verdicts.items() if verdict}
        found |= {"counted_again": again} if again else {}
        found |= {"counted_once": once} if (once := [name for name in verdicts if name not in again]) else {}
    if solutions and state.limits.canonical:
        found["tried"] = confirm_equal(state.problem, solutions, state.sketch.spec)
    return found


def _counted_again(cost: Cost, solutions: Sequence[Solution]) -> str:
    """Return what a second count says of a cost, '' where there is none; a wrong count is a bug of ours."""
    count: Callable[[Program], int]
    if type(cost) is Conflicts:
        count = partial(extra_turns, banks=cost.banks, word=cost.word)
    elif type(cost) is Sectors:
        count = touched_sectors
    else:
        return ""
    try:
        for solution in solutions:
            found, said = count(solution.program), solution.cost[cost.name]
            assert found == said, f"{cost.name} are {said}, and {found} when they are counted again"
    except KeyboardInterrupt:
        return "not confirmed: interrupted"
    except OutOfTime:
        return "not confirmed: not done in time"
    return "confirmed"


def _read(state: SearchState, candidates: Sequence[Candidate]) -> tuple[tuple[Solution, ...], Mapping[str, Any]]:
    """Return candidates as solutions, and what was verified of them; cut short, those that were read, or one."""
    assert state.reading is not None
    solutions: list[Solution] = []
    verified: Mapping[str, Any] = {}
    try:
        for some, about in state.reading.solutions(candidates):
            solutions, verified = [*solutions, *some], about
    except (KeyboardInterrupt, Interruption) as stopped:
        if isinstance(stopped, Interruption):
            state.stopped(stopped)
        state.reason = state.reason or "interrupted"
        if not solutions:
            some, verified = next(state.reading.solutions(candidates[:1]))
            solutions += some
    return tuple(solutions), verified


def _space_of_best(state: SearchState, last: SpaceName) -> SpaceName:
    """Return the space that the answer speaks of: the one asked for, or where the best was found."""
    return last if state.best is None or state.limits.space in SPACES else state.best.space


def _widest(state: SearchState) -> SpaceName:
    """Return the last space: 3 where no hole has anything more in Space 4."""
    assert state.plan is not None
    return max("3", *state.plan.spaces)


def _counted(state: SearchState, last: SpaceName) -> list[Claim]:
    """Return the claim that counting makes: nothing costs less than the best."""
    floor = state.ranking.floors[0] if state.ranking is not None else 0
    if not state.at_floor() or not floor:
        return []
    space = _widest(state) if state.limits.space == "all" else _space_of_best(state, last)
    return [Claim(space, floor - 1, (), "counting", {}, state.goal.lowered.name)]
