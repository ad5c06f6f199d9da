"""What a solve job returns: data only, without a solver behind it.

A `Result` is sat, unsat or unknown. A sat result has solutions. Each solution is a program without holes, ready for
`cuda_out`, and says what each hole became.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from math import isnan
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from swizzle.language.element_types import caller_place
from swizzle.sketches.hole_formula import HoleFormula
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.abilities import HANDED_IN
from symbolic.errors import SwizzleError, shown
from symbolic.ir.program import Program
from templates.holes import SPACES, Space

if TYPE_CHECKING:
    from swizzle.solving.solution.hole_values import HoleValues
    from templates.template import TemplateFamily
else:  # what `help` reads in the annotations: these classes are loaded where they are needed
    HoleValues = TemplateFamily = Any

Status: TypeAlias = Literal["sat", "unsat", "unknown"]
SpaceName: TypeAlias = Space
TemplateName: TypeAlias = Literal["paper", "naive-1", "naive-2"]
SolverChoice: TypeAlias = Literal["auto", "z3", "cvc5", "cadical", "glucose", "portfolio"]


class Named(Protocol):
    """A cost given as an object, not by its name: `swizzle.solving.costs.cost.Cost`."""

    name: str


class Limits(Struct, frozen=True):
    """What a solve job may look at, and how.

    - `space`: None goes through the spaces from small to large and stops at the first with an answer; 'all' goes on to
      the last space and proves the optimum there.
    - `all_solutions`: list every solution of that space, too.
    - `pareto`: list the solutions of that space that none equals or beats in every cost, instead of the cheapest.
    - `timeout`: seconds of wall time, or None.
    - `memory`: the bytes that the process may hold; None is three quarters of what is free.
    - `solver`: 'auto' is Glucose.
    - `certify`: check the answer by an independent route (docs/solving.md).
    - `light`: try simple constants (0, 1, -1, the sizes) first, if a space has many.
    - `template`: what a `?sw_xform` becomes, the paper's equation 5, or equation 1 to a depth of 1 or 2.
    - `canonical`: if False, a solver decides whether data is equal (docs/solving.md, 'The paper's comparison').
    - `cost`: the costs to minimize, the most important first: names, or costs of your own (docs/extend.md).
    - `families`: your own families of templates, which join Space 4 (docs/extend.md).
    """

    space: SpaceName | Literal["all"] | None = None
    all_solutions: bool = False
    timeout: float | None = None
    solver: SolverChoice = "auto"
    certify: bool = False
    light: bool = True
    template: TemplateName = "paper"
    canonical: bool = True
    cost: tuple[str | Named | type[Named], ...] = ("accumulates",)
    families: tuple[str | TemplateFamily, ...] = ()
    memory: int | None = None
    pareto: bool = False

    def __post_init__(self) -> None:
        if self.timeout is not None and not _is_time(self.timeout):
            raise SwizzleError(f"a timeout of {shown(self.timeout)}", expected="seconds, a number", fix="timeout=60")
        if self.memory is not None and type(self.memory) is not int:
            raise SwizzleError(
                f"a memory limit of {shown(self.memory)}", expected="bytes, an int", fix="memory=4 << 30"
            )
        choices = {
            "space": (None, "all", *SPACES),
            "solver": get_args(SolverChoice),
            "template": get_args(TemplateName),
        }
        for name, known in choices.items():
            if (given := getattr(self, name)) not in known:
                raise SwizzleError(
                    f"a {name} of {given!r:.60}", expected=f"one of {', '.join(map(repr, known))}",
                    fix=f"{name}={known[-1]!r}",
                )  # fmt: skip

    def after(self, seconds: float) -> Limits:
        """Return what is left of them after so many seconds."""
        return self if self.timeout is None else replace(self, timeout=max(0.001, self.timeout - seconds))


def _is_time(seconds: object) -> bool:
    if isinstance(seconds, bool) or not isinstance(seconds, Real):
        return False
    with suppress(OverflowError):
        return not isnan(seconds)
    return False


class Progress(Struct, frozen=True):
    """What a running search is doing; `best_cost` is that of the best solution so far, most important cost first."""

    space: SpaceName
    doing: str
    best_cost: Mapping[str, int] | None
    counterexamples: int
    seconds: float

    def __str__(self) -> str:
        best = ", ".join(f"{cost} {name}" for name, cost in (self.best_cost or {}).items())
        return f"{self.seconds:6.1f} s  Space {self.space}: {self.doing}{f', best {best}' if best else ''}"


Listener: TypeAlias = Callable[[Progress], None]
"""What is told of a search while it runs."""


class Solution(Struct, frozen=True):
    """One filled sketch: `program` has no holes.

    `cost` has the costs that were asked for, by name: `accumulates` counts the accumulate statements whose predicate is
    not statically false (paper, section 4.3). `sketch` is the program as it was, with open holes. `posed` is the sketch
    with its specification, if `solve` made the solution.
    """

    program: Program
    holes: tuple[HoleFormula, ...]
    cost: Mapping[str, int]
    sketch: Program | None = None
    posed: Sketch | None = None
    _made: dict[str, Any] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """Tell whether two solutions fill the same holes in the same way, wherever they come from."""
        if not isinstance(other, Solution):
            return NotImplemented
        return self._said == other._said

    def __hash__(self) -> int:
        return hash((self.program, self.holes))

    @property
    def _said(self) -> tuple[object, ...]:
        return self.program, self.holes, self.cost, self.sketch

    def __repr__(self) -> str:
        holes = ", ".join(f"{hole.name} = {hole.formula}" for hole in self.holes)
        return f"<solution of {self.program.name}: {holes or 'no holes'}>"

    @property
    def sources(self) -> tuple[str, ...]:
        """The sketches whose solutions some of the holes were taken from."""
        return tuple(dict.fromkeys(hole.found_in for hole in self.holes if hole.found_in))

    def __call__(self, *arrays: Any, stream: Any = None) -> None:
        """Run the kernel on arrays, in the order of its parameters; outputs are written in place.

        Either all are NumPy arrays, or all are device arrays of numba, CuPy, PyTorch or anything else with
        `__cuda_array_interface__`. Device arrays are used in place, on `stream` (numba's, cuda.core's, or a handle); if
        it is given, the call returns before the kernel has run. NumPy arrays go through the GPU, or through the
        emulation on the CPU if there is no GPU. Sizes other than the sketch's are accepted if the kernel is shown to be
        right at them.
        """
        abilities().call(self, arrays, stream)

    def check(self, *, emitted: bool = True) -> CheckOutcome:
        """Check the kernel against its specification; with `emitted`, what is printed of it too (`swizzle.check`)."""
        return abilities().check(self, emitted)

    def to_cuda(self, form: Literal["cu", "header"] = "cu") -> str:
        """Return the kernel as CUDA C++: the `.cu` or the header that `swizzle solve -o` writes."""
        return abilities().text(self, "cuda" if form == "cu" else "header")

    def to_numba(self) -> str:
        """Return the kernel as a Python module for numba.cuda."""
        return abilities().text(self, "numba")

    def tables(self) -> dict[str, HoleValues]:
        """Return, for each hole, the values of its chosen function wherever the kernel asks it, as NumPy arrays."""
        return abilities().tables(self)

    def show(self, *, block: int = 0, warp: int = 0, colour: Literal["element", "lane"] = "element") -> Drawn:
        """Draw what one warp moves: a figure (`.svg`), a page to explore (`.html`), `.save(path)`.

        In a notebook, solutions and pictures display themselves.
        """
        return abilities().picture(self, block=block, warp=warp, colour=colour)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()


class Result(Struct, frozen=True):
    """The answer to a solve job.

    `space` is where the best solution was found (or the last space searched). `optimal` says that no cheaper solution
    exists in that space (or, for `--space all`, in any). With several costs, `proved` says it of each, among the
    solutions that are best in the costs before it. `seconds` has total, interpret, search, verify. `certificate` says
    in words and numbers what was proved and how. `posed` is the sketch that was solved. `families` are the user's own
    that were searched, too. `cached`: the answer comes from the cache, and no search ran.
    """

    sketch: str
    status: Status
    space: SpaceName | None
    optimal: bool
    solutions: tuple[Solution, ...]
    warp_size: int
    seconds: Mapping[str, float]
    certificate: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    cached: bool = False
    proved: Mapping[str, bool] = field(default_factory=dict)
    posed: Sketch | None = None
    families: tuple[TemplateFamily, ...] = ()

    def __eq__(self, other: object) -> bool:
        """Tell whether two results say the same."""
        if not isinstance(other, Result):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in SAID)

    __hash__ = None  # type: ignore[assignment]  # a certificate is a dictionary

    def __repr__(self) -> str:
        lines = [f"<{self.status}: {self.sketch}>", *map(repr, self.solutions[:3])]
        if not self.solutions and self.reason:
            lines.append(self.reason)
        return "\n    ".join([*lines, f"and {len(self.solutions) - 3} more"] if len(self.solutions) > 3 else lines)

    def _repr_html_(self) -> str:
        text = f"<pre>{escape(repr(self))}</pre>"
        return text + self.best._repr_html_() if self.solutions else text

    def explain(self, *, timeout: float | None = None) -> Explained:
        """Say why there is no solution: what cannot be produced, what forbids it, what would help (docs/explain.md).

        `timeout` in seconds bounds the whole answer. Only a result of `solve` can be explained.
        """
        return abilities().explanation(self, timeout)

    def save(self, path: str | Path) -> Path:
        """Write the best solution to a file, NAME.json, as `swizzle solve -o` does; return the path.

        `swizzle check`, `run` and `show` take it, and `swizzle.load_solution` reads it. It names the sketch's file.
        Raises SwizzleError where there is no solution, or the sketch is in no file.
        """
        return abilities().save(self, path)

    def because(self) -> tuple[str, ...]:
        """Return why there is no solution in any space, where that is evident at once; else nothing."""
        return abilities().evidence(self) if "evident" in self.certificate else ()

    @property
    def best(self) -> Solution:
        """The cheapest solution. Raises SwizzleError where there is none: only a sat result has one."""
        if not self.solutions:
            raise SwizzleError(
                f"{self.sketch} is {self.status}: there is no solution to take",
                place=caller_place(),
                expected="a result whose status is 'sat'",
                fix="its .reason says why; a larger timeout may help"
                if self.status == "unknown"
                else "ask .explain() why there is none",
            )
        return self.solutions[0]


SketchSolver: TypeAlias = Callable[[Sketch, Limits, Listener | None], Result]
"""What answers for a sketch within limits: a search, or one with a cache."""

SAID: Final = tuple(name for name in Result.__struct_fields__ if name not in ("posed", "families"))
"""What results are compared by."""

# ---- what one can do with a solution ---------------------------------------------------------------------------


class CheckOutcome(Protocol):
    """What came of a check: true where it says equal, text by `str()`, one object by `as_json()`."""

    @property
    def lines(self) -> Sequence[str]: ...
    def __bool__(self) -> bool: ...
    def as_json(self) -> dict[str, Any]: ...


class Drawn(Protocol):
    """A picture: a figure for a paper, one self-contained page to explore, and either on file."""

    @property
    def svg(self) -> str: ...
    @property
    def html(self) -> str: ...
    def save(self, path: str | Path) -> Path: ...
    def _repr_html_(self) -> str: ...


class Explained(Protocol):
    """Why there is no solution: text by `str()`, one object by `as_json()`."""

    @property
    def outputs(self) -> Sequence[Any]: ...
    @property
    def blamed(self) -> Sequence[Any]: ...
    @property
    def reasons(self) -> Sequence[str]: ...
    @property
    def trials(self) -> Sequence[Any]: ...
    def as_json(self) -> dict[str, Any]: ...


class Abilities(Protocol):
    """What the rooms above this one do with solutions; the package's public face hands it in (`swizzle/__init__`)."""

    def call(self, solution: Solution, arrays: Sequence[Any], stream: Any) -> None: ...
    def check(self, solution: Solution, emitted: bool) -> CheckOutcome: ...
    def text(self, solution: Solution, emitter: Literal["cuda", "header", "numba"]) -> str: ...
    def tables(self, solution: Solution) -> dict[str, HoleValues]: ...
    def picture(self, solution: Solution, *, block: int, warp: int, colour: Literal["element", "lane"]) -> Drawn: ...
    def explanation(self, result: Result, timeout: float | None) -> Explained: ...
    def evidence(self, result: Result) -> tuple[str, ...]: ...
    def save(self, result: Result, path: str | Path) -> Path: ...
    def with_homes(self, sketch: Sketch, homes: Sequence[str]) -> Sketch: ...


def abilities() -> Abilities:
    """Return them."""
    handed_in: Abilities
    (handed_in,) = HANDED_IN
    return handed_in
