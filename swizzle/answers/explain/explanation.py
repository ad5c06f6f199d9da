"""What an explanation contains: data only, with its forms as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from swizzle.solving.solution.solution import Result, SpaceName, Status
from symbolic.errors import Place

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
        return {
            "sketch": self.sketch,
            "status": self.status,
            "space": self.space,
            "outputs": [
                {
                    "cell": o.cell,
                    "thread": o.thread,
                    "place": None if o.place is None else str(o.place),
                    "wanted": o.wanted,
                }
                for o in self.outputs
            ],
            "minimal": self.minimal,
            "smallest": self.smallest,
            "blamed": [
                {"kind": b.kind, "name": b.name, "place": str(b.place), "text": b.text, "example": b.example}
                for b in self.blamed
            ],
            "reasons": list(self.reasons),
            "tried": [
                {
                    "kind": t.kind,
                    "change": t.change,
                    "verdict": t.verdict,
                    "seconds": round(t.seconds, 3),
                    "detail": t.detail,
                }
                for t in self.trials
            ],
            "holes": _holes(self.result),
            "reason": self.cut_short or self.result.reason,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
        }


def _holes(result: Result) -> Sequence[dict[str, str]]:
    if not result.solutions:
        return []
    return [{"name": h.name, "place": str(h.place), "formula": h.formula} for h in result.best.holes]


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
