"""Which outputs no filling makes right, and a smallest set of holes and rules that rules them out.

Holes may be given more arguments to find out whether these are what is missing: the thread, the block and the loops
around them. With what is blamed, changes that may help are planned: each as an attempt that is still to be made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from swizzle.answers.explain.conflicts import Conflict
from swizzle.answers.explain.explanation import TrialKind
from swizzle.answers.explain.relaxed import Ignores, Kept, Obeys, Relaxed, Requirement, Right, smallest_of
from swizzle.sketches.sketch import Sketch, SketchFamily
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits, SpaceName
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Axis, Const, Coordinate, DType, Expr, For, HoleCall, If, Program, Stmt, Var
from symbolic.ir.walk import (
    own_expressions,
    rewrite_expression,
    rewrite_program,
    rewrite_statement,
    subexpressions,
    within_loops,
)
from symbolic.limits import OutOfTime, limited
from symbolic.solve.engines import SolverName

AXES: Final[tuple[Axis, ...]] = ("x", "y", "z")
THREAD: Final = tuple(f"{name}.{axis}" for name in ("threadIdx", "blockIdx") for axis in AXES)


def with_thread_and_loops(program: Program) -> Program:
    """Return the program whose holes also have the thread, the block and the loop variables as arguments."""
    calls, holes = 0, list(program.holes)

    def extend(place: Place, around: Sequence[For]) -> Callable[[Expr], Expr]:
        def rule(node: Expr) -> Expr:
            nonlocal calls
            if not isinstance(node, HoleCall):
                return node
            calls += 1
            names = (*THREAD, *(loop.variable for loop in around), "use")
            holes[node.hole] = replace(holes[node.hole], arguments=(*program.holes[node.hole].arguments, *names))
            where: list[Expr] = [Coordinate("threadIdx", axis, place) for axis in AXES]
            where += [Coordinate("blockIdx", axis, place) for axis in AXES]
            where += [Var(loop.variable, DType.INDEX, place) for loop in around]
            where.append(Const(calls, DType.INDEX, place))
            return replace(node, args=(*node.args, *where))

        return rule

    def go(body: tuple[Stmt, ...], around: tuple[For, ...]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for node in body:
            match node:
                case For():
                    found.append(replace(node, body=go(node.body, (*around, node))))
                case If():
                    condition = rewrite_expression(node.condition, extend(node.place, around))
                    then, otherwise = go(node.then, around), go(node.otherwise, around)
                    found.append(replace(node, condition=condition, then=then, otherwise=otherwise))
                case _:
                    found.append(rewrite_statement(node, extend(node.place, around)))
        return tuple(found)

    body = go(program.body, ())
    return replace(program, body=body, holes=tuple(holes))


def with_loops(program: Program, number: int) -> Program | None:
    """Return the program in which a hole also sees the loops around it; None if it sees them, or there are none.

    It sees them as other holes do, by what these are given that depends on nothing else (`1 << k`), or by their
    variables.
    """
    around = _around(program, number)
    hole = program.holes[number]
    others: dict[str, Expr] = {}
    seen: set[str] = set()
    for node in _calls(program):
        named = list(zip(program.holes[node.hole].arguments, node.args, strict=True))
        for name, given in named:
            used = _variables(given)
            if used and used <= around:
                if node.hole == number:
                    seen |= used
                else:
                    others[name] = given
    missing = around - seen
    more = {name: given for name, given in others.items() if _variables(given) <= missing}
    shown = {variable for given in more.values() for variable in _variables(given)}
    more |= {variable: Var(variable, DType.INDEX, hole.place) for variable in sorted(missing - shown)}
    if not more:
        return None

    def rule(node: Expr) -> Expr:
        if not isinstance(node, HoleCall) or node.hole != number:
            return node
        return replace(node, args=(*node.args, *more.values()))

    holes = list(program.holes)
    holes[number] = replace(hole, arguments=(*hole.arguments, *more))
    return replace(rewrite_program(program, rule), holes=tuple(holes))


def _around(program: Program, number: int) -> set[str]:
    """Return the variables of the loops that are around every call of a hole."""
    found: list[set[str]] = []
    for statement, loops in within_loops(program.body):
        for expr in own_expressions(statement):
            if any(isinstance(part, HoleCall) and part.hole == number for part in subexpressions(expr)):
                found.append({loop.variable for loop in loops})
    return set.intersection(*found) if found else set()


def _calls(program: Program) -> list[HoleCall]:
    some = (expr for statement, _ in within_loops(program.body) for expr in own_expressions(statement))
    return [part for expr in some for part in subexpressions(expr) if isinstance(part, HoleCall)]


def _variables(expr: Expr) -> set[str]:
    return {part.name for part in subexpressions(expr) if isinstance(part, Var)}


LOOK_FOR_OUTPUTS: Final = 3
"""Sets of outputs are proved smallest up to this size."""
LOOK_FOR_HOLES: Final = 6


class Blame(Struct, frozen=True):
    """A smallest conflict: these outputs cannot be right while these holes obey and these rules are kept.

    A hole obeys if it is a function of its template. `ignoring` are holes that conflict with the outputs even as any
    functions of their own arguments; None where that was not looked at, or not decided.

    `all_needed`: without any one of the outputs, the others can be right. `proved_smallest`: no fewer outputs conflict.
    Without `holes`, both are said of any functions of the holes' arguments. `complete`: each hole and rule was shown to
    be needed.
    """

    outputs: tuple[int, ...]
    holes: tuple[int, ...]
    rules: tuple[Kept, ...]
    all_needed: bool
    proved_smallest: bool
    complete: bool
    ignoring: tuple[int, ...] | None = None

    @property
    def requirements(self) -> frozenset[Requirement]:
        return frozenset((*map(Right, self.outputs), *map(Obeys, self.holes), *self.rules))

    @property
    def whatever(self) -> bool:
        """Whether it is proved that the outputs cannot be right whatever value a hole has at each of its uses."""
        return not self.holes and self.ignoring == ()


def find_outputs(relaxed: Relaxed, deadline: float, some_by: float | None = None) -> Conflict[Requirement] | None:
    """Find a smallest set of outputs that cannot be right together; None if there is none, or it takes too long.

    The holes are `free` or `tight`. Until `some_by` it looks for any such set, then for a smallest one. Rules that the
    last proof needed are among the parts.
    """
    whole = relaxed.solve((), some_by or deadline)
    if not isinstance(whole, Conflict):
        assert whole is None or not relaxed.tight, "a sketch without a solution has one"
        return None
    found = smallest_of(relaxed, Right, frozenset(), whole.parts, deadline, LOOK_FOR_OUTPUTS)
    last = relaxed.check(found.parts, deadline)
    rules = last.parts if isinstance(last, Conflict) else frozenset[Requirement](relaxed.violations)
    return replace(found, parts=found.parts | frozenset(r for r in rules if isinstance(r, Kept)))


def find(relaxed: Relaxed, conflict: Conflict[Requirement], deadline: float) -> Blame:
    """Find what forbids outputs that cannot be right together: a smallest set of holes, then of rules.

    `conflict` is the result of `find_outputs`. What is not decided in time stays blamed.
    """
    outputs = frozenset(r for r in conflict.parts if isinstance(r, Right))
    holes = smallest_of(relaxed, Obeys, outputs, relaxed.holes, deadline, LOOK_FOR_HOLES)
    last = relaxed.check(holes.parts | outputs, deadline)
    known = last.parts if isinstance(last, Conflict) else conflict.parts
    rules = smallest_of(relaxed, Kept, holes.parts | outputs, known, deadline, LOOK_FOR_HOLES, rules=False)
    return Blame(
        tuple(sorted(r.output for r in outputs)),
        tuple(sorted(r.hole for r in holes.parts if isinstance(r, Obeys))),
        tuple(sorted((r for r in rules.parts if isinstance(r, Kept)), key=lambda r: rule_place(relaxed, r))),
        conflict.needed,
        conflict.smallest,
        holes.needed and rules.needed,
    )


def find_ignoring(extended: Relaxed, blame: Blame, deadline: float) -> tuple[int, ...] | None:
    """Return a smallest set of holes whose own arguments are not enough for the outputs, for any function of them.

    It is empty if more arguments would not help either, and None if that was not decided.
    """
    given = frozenset(map(Right, blame.outputs))
    whole = extended.check(given | extended.ignoring, deadline)
    if not isinstance(whole, Conflict):
        return None
    found = smallest_of(extended, Ignores, given, whole.parts, deadline, LOOK_FOR_HOLES)
    return tuple(sorted(r.hole for r in found.parts if isinstance(r, Ignores)))


def with_more_arguments(problem: Problem, spec: Callable[..., Any], deadline: float) -> Problem | None:
    """Return the problem whose holes also have the thread and the loops as arguments, unless it is too large."""
    try:
        with limited(deadline):
            return Problem.of(with_thread_and_loops(problem.posed), spec)
    except (SwizzleError, OutOfTime):
        return None


def rule_place(relaxed: Relaxed, rule: Kept) -> tuple[str, int, int]:
    """Return where a rule was seen to be broken, as a key for sorting."""
    place = relaxed.violations[rule].place
    return (place.file, place.line, place.column)


SECONDS: Final = 5.0
"""The longest time that one change may take."""
SECONDS_MORE: Final = 2.0
"""The same once a change has helped."""

Attempt: TypeAlias = "Callable[[float], tuple[bool | None, str]]"


class Job(Struct, frozen=True):
    """What is to be changed: the sketch, the space in which it has no solution, and how to make the sketch again.

    `family` gives the sketch for other values of its parameters, if it has any.
    """

    sketch: Sketch
    problem: Problem
    space: SpaceName
    limits: Limits
    solver: SolverName
    blame: Blame | None
    family: SketchFamily[Sketch] | None


def _never(other: Planned) -> bool:
    return False


class Planned(Struct, frozen=True):
    """A change that is still to be tried: `attempt(seconds)` returns whether it helps, if decided, and a detail.

    It is left out if a change that helped makes it superfluous.
    """

    kind: TrialKind
    change: str
    attempt: Attempt
    hole: int | None = None
    unless: Callable[[Planned], bool] = _never


def solving(sketch: Sketch, limits: Limits) -> Attempt:
    """Return the attempt to solve a changed sketch; the solution need not be the cheapest of all spaces."""
    space = None if limits.space == "all" else limits.space

    def attempt(seconds: float) -> tuple[bool | None, str]:
        result = solve(sketch, replace(limits, space=space, timeout=seconds, all_solutions=False, certify=False))
        if result.status == "sat":
            return True, f"solvable in Space {result.space}"
        if result.reason == "interrupted":
            raise KeyboardInterrupt
        return (None if result.status == "unknown" else False), ""

    return attempt
