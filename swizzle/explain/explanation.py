"""What an explanation holds: data only, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from swizzle.solution import Result, SpaceName, Status
from symbolic.errors import Place

TrialKind: TypeAlias = Literal[
    "space", "hole", "arguments", "holes", "register", "iteration", "accumulate", "parameter", "specification"
]
Verdict: TypeAlias = Literal["solvable", "does not help", "not decided"]


@dataclass(frozen=True, slots=True)
class Unproducible:
    """An output element that cannot be right, with what it should be; `thread` stores it, at `place`."""

    cell: str
    array: str
    address: int
    thread: str | None
    place: Place | None
    wanted: str


@dataclass(frozen=True, slots=True)
class Blamed:
    """What helps to forbid the outputs: a hole that is a function of its template, a hole that is any function of
    its arguments and of nothing else, or a rule that is kept."""

    kind: Literal["hole", "arguments", "rule"]
    name: str
    place: Place
    text: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """A change of the sketch that was really solved, for so many seconds; `detail` says what came of it."""

    kind: TrialKind
    change: str
    verdict: Verdict
    seconds: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a sketch has no solution, or what its solution is.

    `outputs` cannot be produced together: no filling of the holes makes all of them right. `minimal`: leaving out any
    one of them makes that possible; `smallest`: no fewer outputs are like that. `blamed` forbid them together: with
    any one of them given up, and all that is not blamed free, they can be produced; nothing blamed means that no
    function of the holes' arguments does it. `reasons` say why, in words; `trials` are the changes that were tried.
    """

    sketch: str
    result: Result
    space: SpaceName | None
    outputs: tuple[Unproducible, ...] = ()
    minimal: bool = False
    smallest: bool = False
    blamed: tuple[Blamed, ...] = ()
    reasons: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()
    cut_short: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        return self.result.status

    def __str__(self) -> str:
        from swizzle.explain.text import as_text

        return as_text(self)

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
