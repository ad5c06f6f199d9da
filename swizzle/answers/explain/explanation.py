"""What an explanation contains: data only, with its forms as JSON and as text, and the names in it.

Named are parts of a sketch: threads, cells, terms, points of holes, statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import Struct, field

from swizzle.solving.problem.problem import Output, Problem
from swizzle.solving.solution.solution import Result, SpaceName, Status
from symbolic.algebra.terms import Term, Terms
from symbolic.bottom_up import reached
from symbolic.errors import Place
from symbolic.ir.index import cell_name, with_indices
from symbolic.ir.program import Accumulate, Expr, For, Stmt, Store
from symbolic.ir.sites import Site, Sites
from symbolic.ir.walk import within_loops
from templates.holes import Point, kind_of

TrialKind: TypeAlias = Literal[
    "space",
    "hole",
    "arguments",
    "holes",
    "step",
    "register",
    "iteration",
    "accumulate",
    "barrier",
    "parameter",
    "specification",
]
Verdict: TypeAlias = Literal["solvable", "does not help", "not decided"]


class Unproducible(Struct, frozen=True):
    """An output element that cannot be right, with the value it should have; `thread` stores it, at `place`."""

    cell: str
    array: str
    address: int
    thread: str | None
    place: Place | None
    wanted: str


class Blamed(Struct, frozen=True):
    """What helps to forbid the outputs: a hole that is a function of its template, a hole that is any function of
    its arguments and of nothing else, or a rule that is kept."""

    kind: Literal["hole", "arguments", "rule"]
    name: str
    place: Place
    text: str
    example: str = ""


class Trial(Struct, frozen=True):
    """A change of the sketch that was really solved, in so many seconds; `detail` says what the result was."""

    kind: TrialKind
    change: str
    verdict: Verdict
    seconds: float
    detail: str = ""


class Explanation(Struct, frozen=True):
    """Why a sketch has no solution, or what its solution is.

    `outputs` cannot be produced together: no filling of the holes makes all of them right. `minimal`: without any one
    of them, the others can be produced. `smallest`: no smaller set of outputs has this property. `blamed` forbid them
    together: if any one of them is given up, and everything that is not blamed is free, the outputs can be produced. If
    nothing is blamed, no function of the holes' arguments produces them. `reasons` say why, in words; `trials` are the
    changes that were tried.
    """

    sketch: str
    result: Result
    space: SpaceName | None
    outputs: tuple[Unproducible, ...] = ()
    minimal: bool = False
    smallest: bool = False
    whatever: bool = False
    blamed: tuple[Blamed, ...] = ()
    reasons: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()
    cut_short: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        return self.result.status

    @property
    def changed_and_solved(self) -> bool:
        """Whether a change was found with which the sketch is solved."""
        return any(trial.verdict == "solvable" for trial in self.trials)

    def __str__(self) -> str:
        return _as_text(self)

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as one JSON object."""
        holes = self.result.best.holes if self.result.solutions else ()
        return {
            "sketch": self.sketch,
            "status": self.status,
            "space": self.space,
            "outputs": [_fields(output, "cell thread place wanted") for output in self.outputs],
            "minimal": self.minimal,
            "smallest": self.smallest,
            "blamed": [_fields(part, "kind name place text example") for part in self.blamed],
            "reasons": list(self.reasons),
            "tried": [_fields(trial, "kind change verdict seconds detail") for trial in self.trials],
            "holes": [_fields(hole, "name place formula") for hole in holes],
            "reason": self.cut_short or self.result.reason,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
        }


def _fields(record: object, names: str) -> dict[str, Any]:
    """Return some fields of a record as JSON has them: places as texts, seconds rounded."""
    values = {name: getattr(record, name) for name in names.split()}
    return {
        name: str(value) if isinstance(value, Place) else round(value, 3) if isinstance(value, float) else value
        for name, value in values.items()
    }


# ---- as text ---------------------------------------------------------------------------------------------------


def _as_text(explanation: Explanation) -> str:
    """Return the explanation, the headline first."""
    name, result = explanation.sketch, explanation.result
    if explanation.status == "sat":
        lines = [f"{name}: has a solution, so there is nothing to explain"]
        lines += [f"    {hole.name} = {hole.formula}   at {hole.place}" for hole in result.best.holes]
    elif explanation.status == "unknown":
        helps = explanation.changed_and_solved
        lines = [f"{name}: undecided, {'but solved with a change' if helps else 'so there is nothing to explain yet'}"]
        lines += _body(explanation)
    else:
        where = f" in Space {explanation.space}" if explanation.space else ""
        lines = [f"{name}: no filling{where} gives the specification's terms"]
        if not _has_holes(explanation):
            lines = [f"{name}: has no holes, and its terms are not the specification's"]
        lines += _body(explanation)
    reason = explanation.cut_short or result.reason
    if reason:
        lines.append(f"  note: {reason}")
    return "\n".join(lines) + "\n"


def _has_holes(explanation: Explanation) -> bool:
    posed = explanation.result.posed
    return posed is not None and bool(posed.program.holes)


def _body(explanation: Explanation) -> list[str]:
    lines = []
    if explanation.outputs:
        many = len(explanation.outputs) > 1
        made = "cannot be produced" if _has_holes(explanation) else "is not produced"
        lines.append(f"  {made}{' together' if many else ''}{_extent(explanation)}")
        lines += [f"    {_output(output)}" for output in explanation.outputs]
    elif explanation.blamed:
        lines.append("  no filling keeps the rules, whatever the outputs are")
    if explanation.reasons:
        lines.append("  because")
        lines += [f"    {reason}" for reason in explanation.reasons]
    if explanation.blamed:
        lines.append(f"  forbidden by{' these together' if len(explanation.blamed) > 1 else ''}")
        for part in explanation.blamed:
            lines.append(f"    {part.text}   at {part.place}")
            if part.example:
                lines.append(f"      {part.example}")
    elif explanation.outputs and _has_holes(explanation):
        what = "by the statements without holes, whatever values the holes have"
        lines.append(
            f"  forbidden {what if explanation.whatever else 'whatever functions of their arguments holes are'}"
        )
    if explanation.trials:
        lines.append("  tried")
        lines += [f"    {line}" for line in _tried(explanation.trials)]
    return lines


def _extent(explanation: Explanation) -> str:
    if len(explanation.outputs) < 2:
        return ""
    templates = any(part.kind == "hole" for part in explanation.blamed) or not _has_holes(explanation)
    how = "" if templates else " by some functions of the holes' arguments"
    if explanation.smallest:
        return f", though any fewer can{how}"
    return f", though without any one of them the others can{how}" if explanation.minimal else " (fewer may do)"


def _output(output: Unproducible) -> str:
    who = f" of {output.thread}" if output.thread else ""
    where = f"   at {output.place}" if output.place else ""
    return f"{output.cell}{who}, which should be {output.wanted}{where}"


def _tried(trials: Sequence[Trial]) -> list[str]:
    """Return one line a trial that helps or is not decided; those of one kind that do not help share a line."""
    lines = []
    for trial in trials:
        note = " (another specification)" if trial.kind == "specification" else ""
        detail = trial.detail or "solvable"
        if trial.verdict == "solvable":
            lines.append(f"{trial.change}{note}: {detail if detail.startswith('solvable') else f'solvable, {detail}'}")
    lines += [f"{trial.change}: {trial.detail}" for trial in trials if trial.verdict == "not decided"]
    idle = [trial for trial in trials if trial.verdict == "does not help"]
    for kind in dict.fromkeys(trial.kind for trial in idle):
        changes = [trial.change for trial in idle if trial.kind == kind]
        lines.append(f"{'; '.join(changes)}: {'does' if len(changes) == 1 else 'do'} not help")
    return lines


MOST_SHOWN: Final = 6
"""Parts of an enumeration that are spelled out."""
LONGEST_TERM: Final = 100
"""Characters of a term."""


def listing(parts: Sequence[str], limit: int = MOST_SHOWN) -> str:
    """Return 'a', 'a and b', 'a, b and c'; of too many parts only the first ones.

    >>> listing(["a", "b", "c"]), listing(list("abcdefgh"), limit=3)
    ('a, b and c', 'a, b, c and 5 more')
    """
    shown = [*parts[:limit], f"{len(parts) - limit} more"] if len(parts) > limit else list(parts)
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return numbers as spans from a first to a last.

    >>> spans([4, 0, 1, 2, 5])
    [(0, 2), (4, 5)]
    """
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


class PartNames:
    """The names of one problem's parts."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.program, self.terms = problem, problem.program, problem.terms
        self._shapes = {p.name: p.shape for p in problem.program.parameters}

    @cached_property
    def nodes(self) -> dict[Site, Stmt | Expr]:
        """Every statement and expression of the program by its site; executions are named by sites."""
        return Sites.in_program(self.program).nodes

    @cached_property
    def loops(self) -> dict[Site, tuple[For, ...]]:
        """The loops around each accumulate."""
        sites = Sites.in_program(self.program)
        return {sites.of(s): around for s, around in within_loops(self.program.body) if isinstance(s, Accumulate)}

    def thread(self, t: int) -> str:
        """Return 'lane 3', with its warp and block if there are several."""
        shape = self.problem.run.shape
        lane, inner = int(shape.lane[t]), t % shape.block_threads
        text = f"lane {lane}"
        if shape.block_threads > shape.warp_size:
            text += f" of warp {inner // shape.warp_size}"
        if shape.blocks > 1:
            block = tuple(t // shape.block_threads // int(np.prod(shape.grid[:a])) % shape.grid[a] for a in range(3))
            text += f" of block {block[0] if shape.grid[1] == shape.grid[2] == 1 else block}"
        return text

    def cell(self, array: str, address: int) -> str:
        return cell_name(array, self._shapes[array], address)

    def term(self, term: Term) -> str:
        """Return a term with the sketch's own indices; a long term is shortened."""
        text = with_indices(self.terms.show(term), self._shapes)
        if len(text) <= LONGEST_TERM:
            return text
        cut = text.rfind(" ", 0, LONGEST_TERM - 4)
        return text[: cut if cut > 0 else LONGEST_TERM - 4] + " ..."

    def atoms(self, terms: Iterable[Term]) -> str:
        """Return what some input elements are, in spans: 'x[0] to x[31] and w[0]'."""
        by_array: dict[str, list[int]] = {}
        for term in terms:
            array, index = self.terms.nodes[term][1]
            by_array.setdefault(array, []).append(index)
        parts: list[str] = []
        for array, indices in by_array.items():
            for first, last in spans(indices):
                ends = self.cell(array, first), self.cell(array, last)
                parts += [ends[0]] if first == last else [f"{ends[0]} to {ends[1]}"] if last > first + 1 else ends
        return listing(parts) if parts else "no input element"

    def point(self, hole: int, point: Point, only: Sequence[int] | None = None) -> str:
        """Return 'lane = 3, k = 0' for a point of a hole; `only` some of its arguments."""
        names = self.program.holes[hole].arguments
        chosen = range(len(point)) if only is None else only
        named = [(names[i], point[i]) for i in chosen if not names[i].isdigit()]
        return ", ".join(f"{name} = {value}" for name, value in named)

    def points(self, hole: int, points: Sequence[Point], varying: Sequence[int]) -> str:
        """Return 'k = 0 to 7' for points that differ in one argument, or list what differs."""
        if len(varying) != 1:
            return listing([f"({self.point(hole, p, varying)})" for p in points])
        (place,) = varying
        runs = [
            f"{a} to {b}" if b > a + 1 else str(a) if a == b else f"{a} and {b}"
            for a, b in spans(p[place] for p in points)
        ]
        return f"{self.program.holes[hole].arguments[place]} = {listing(runs)}"

    def hole(self, number: int) -> str:
        """Return a hole as the sketch spells it: '?sw_xform(lane, 32, k)'."""
        hole = self.program.holes[number]
        return kind_of(hole).call(hole)

    def arguments(self, number: int) -> list[str]:
        """Return the arguments of which a hole is a function."""
        return [name for name in self.program.holes[number].arguments if not name.isdigit()]

    def iteration(self, statement: Accumulate, loops: tuple[int, ...]) -> str:
        """Return 'line 36 with k = 2'."""
        around = self.loops[Sites.in_program(self.program).of(statement)]
        values = ", ".join(f"{loop.variable} = {i}" for loop, i in zip(around, loops, strict=False))
        return f"line {statement.place.line}" + (f" with {values}" if values else "")

    def store_of(self, output: Output) -> Place | None:
        """Return where an output is stored last, if that is certain."""
        found = None
        for key, (mask, address, _) in self.problem.run.accesses.items():
            node = self.nodes[key[0]]
            if not isinstance(node, Store) or node.array != output.array:
                continue
            known = isinstance(mask, np.ndarray) and isinstance(address, np.ndarray)
            if not known or np.any(np.asarray(mask) & (np.asarray(address) == output.address)):
                found = node.place
        return found


def atoms_of(terms: Terms, *some: Term) -> frozenset[Term]:
    """Return the input elements in some terms; each part of them is looked at once."""

    def parts(term: Term) -> Sequence[Term]:
        op, args = terms.nodes[term]
        return () if op in ("atom", "const", "unwritten") else args

    return frozenset(term for term in reached(some, parts) if terms.nodes[term][0] == "atom")
