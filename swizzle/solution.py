"""What a solve job gives back: data only, no solver behind it.

A `Result` is sat, unsat or unknown. A sat result holds solutions; each is a program without holes, ready for
`cuda_out`, and says what each hole became.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from symbolic.errors import Place
from symbolic.program import HoleKind, Program

if TYPE_CHECKING:
    from swizzle.explain.explanation import Explanation
    from swizzle.show.picture import Picture
    from swizzle.sketch import Sketch
    from swizzle.tables import HoleValues

Status: TypeAlias = Literal["sat", "unsat", "unknown"]
SpaceName: TypeAlias = Literal["1", "2", "3"]
TemplateName: TypeAlias = Literal["paper", "naive-1", "naive-2"]
SolverChoice: TypeAlias = Literal["auto", "z3", "cvc5", "cadical", "glucose", "portfolio"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a solve job may look at: `space` None means metasketch order, the first space with an answer wins;
    'all' goes on to Space 3 and proves the optimum there. `timeout` in seconds of wall time, None for none.
    `solver` 'auto' is Glucose where python-sat is installed, else z3. `light` tries the constants of most kernels
    first where there are many. `template` is what a `?sw_xform` becomes: the paper's equation 5, or equation 1 to a
    depth of 1 or 2; without `canonical` a solver decides whether data is equal (docs/solving.md, 'The paper's
    comparison')."""

    space: Literal["1", "2", "3", "all"] | None = None
    all_solutions: bool = False
    timeout: float | None = None
    solver: SolverChoice = "auto"
    certify: bool = False
    light: bool = True
    template: TemplateName = "paper"
    canonical: bool = True


@dataclass(frozen=True, slots=True)
class Progress:
    """One line of news from a running search."""

    space: SpaceName
    doing: str
    best_cost: int | None
    counterexamples: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HoleFormula:
    """What a hole became. `formula` is Python over the sketch's own spelling of the hole's arguments;
    `constants` are the template's letters (gs, c_f, d_f, c_r, d_r, c, wrap for sw_xform). `found_in` names the sketch
    whose solution it was taken from, '' where it was found here."""

    name: str
    kind: HoleKind
    place: Place
    formula: str
    constants: Mapping[str, int]
    found_in: str = ""


@dataclass(frozen=True, slots=True)
class Solution:
    """One filled sketch: `program` has no holes. `cost["accumulates"]` counts the accumulate statements whose
    predicate is not statically false (paper, section 4.3). `sketch` is the program as it was, holes open; `posed` is
    the sketch with its specification, where `solve` made the solution."""

    program: Program
    holes: tuple[HoleFormula, ...]
    cost: Mapping[str, int]
    sketch: Program | None = field(default=None, repr=False)
    posed: Sketch | None = field(default=None, repr=False, compare=False)
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sketches whose solutions some of the holes were taken from."""
        return tuple(dict.fromkeys(hole.found_in for hole in self.holes if hole.found_in))

    def __call__(self, *arrays: Any, stream: Any = None) -> None:
        """Run the kernel on arrays, in the order of its parameters; outputs are written in place.

        All are NumPy arrays, or all device arrays of numba, CuPy, PyTorch or whatever has `__cuda_array_interface__`.
        Device arrays are used where they lie, on `stream` (numba's, cuda.core's, or a handle); with one, the call
        returns before the kernel has run. NumPy arrays go through the GPU, or where there is none through the
        emulation on the CPU. Other sizes than the sketch's are taken where the kernel is shown to be right at them.
        """
        from swizzle.calling import call

        call(self, arrays, stream)

    def to_cuda(self, form: Literal["cu", "header"] = "cu") -> str:
        """Return the kernel as CUDA C++: the `.cu` or the header that `swizzle solve -o` writes."""
        from swizzle.texts import text_of

        return text_of(self, "cuda" if form == "cu" else "header")

    def to_numba(self) -> str:
        """Return the kernel as a Python module for numba.cuda."""
        from swizzle.texts import text_of

        return text_of(self, "numba")

    def tables(self) -> dict[str, HoleValues]:
        """Return, for each hole, the values of its chosen function wherever the kernel asks it, as NumPy arrays."""
        from swizzle.tables import hole_values

        return hole_values(self)

    def show(self, *, block: int = 0, warp: int = 0, colour: Literal["element", "lane"] = "element") -> Picture:
        """Draw what one warp moves: a figure (`.svg`), a page to explore (`.html`), `.save(path)`; in a notebook, both
        a solution and its picture show themselves."""
        from swizzle.show.picture import picture_of

        return picture_of(self, block=block, warp=warp, colour=colour)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a solve job.

    `space` is where the best solution was found (or the last space searched); `optimal` says that no cheaper
    solution exists in that space (or, for `--space all`, in any). `seconds` has total, interpret, search, verify.
    `certificate` says in words and numbers what was proved and how; `posed` is the sketch that was solved.
    `cached`: no search ran, an earlier one had.
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
    posed: Sketch | None = field(default=None, repr=False, compare=False)

    def explain(self, *, timeout: float | None = None) -> Explanation:
        """Say why there is no solution: what cannot be produced, what forbids it, what would help (docs/explain.md).

        `timeout` in seconds bounds the whole answer. Only the result of `solve` can be explained.
        """
        from swizzle.explain.explain import explain_result

        return explain_result(self, timeout)

    @property
    def best(self) -> Solution:
        """The cheapest solution; only a sat result has one."""
        assert self.solutions, f"a {self.status} result has no solution"
        return self.solutions[0]
