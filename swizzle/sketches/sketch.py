"""A sketch as data: the kernel as a `Program`, its specification, and the parameters with which it was made.

It is solved or checked, never run. `declaration.py` makes one of what is written above a kernel.

A sketch for all values of its file's declared parameters: what is asked for other sizes, and for other choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from msgspec import Struct

from swizzle.language.element_types import caller_place
from swizzle.language.host_arrays import LAUNCHES, SeenLaunch
from swizzle.language.parameters import Declared, Parameters
from swizzle.language.specs.own_meaning import OwnMeaning
from swizzle.language.specs.spec import Spec
from swizzle.sketches.hole_formula import HoleFormula
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Hole, Program
from templates.holes import HOME

S = TypeVar("S")


class SketchFamily(Struct, Generic[S], frozen=True, eq=False):
    """The sketches that one definition makes, by the values of the parameters that its file declares.

    `parameters` are those of the sketch at hand; `make` gives the sketch for other values. A file is read once and
    runs once for each set of values, however often they are asked for.
    """

    parameters: Parameters
    make: Callable[[Mapping[str, int]], S]

    @property
    def declared(self) -> Mapping[str, Declared]:
        """The parameters with their values here and their domains."""
        return self.parameters.declared

    def at(self, values: Mapping[str, int]) -> S:
        """Return the sketch with other values of some parameters.

        Of the others, choices stay as they are, and those that have their defaults here have them there too. Raises
        SwizzleError for a value outside of its domain, a name that is not declared, and wherever the definition fails
        with these values.
        """
        chosen = {each.name: each.value for each in self.declared.values() if each.choice or each.value != each.default}
        return self.make(chosen | dict(values))


class ScanExample(Struct, frozen=True, eq=False):
    """What a sketch of a scan is told beside its text: an example at one size, or the sketch of another scan.

    `like` is what `swizzle.scans.network` takes, or None.
    """

    like: Any
    relaxed_from: Sketch | None
    place: Place


class Sketch(Struct, frozen=True, eq=False):
    """A kernel with its specification, ready to be solved (or checked, when it has no holes).

    `spec` takes the `in`, `const` and `inout` arrays in the kernel's order. It returns the `out` and `inout` arrays:
    one array, a tuple in the kernel's order, or a dict by name. `parameters` are the declared parameters' values.

    `filled_from` are sketches whose solutions fill holes of this one: the holes of device functions that both call.
    Once they are solved, these holes are in `filled` and no longer in `program`; `opened` is the program with all holes
    (`swizzle.solving.solution.filling`). `example` is for holes of a scan, which are filled in the same way
    (`swizzle.scans.filling`). `family` makes the sketch for other values of the parameters; it is None if there is
    no file to load again.
    """

    name: str
    program: Program
    spec: Spec
    parameters: Mapping[str, int]
    place: Place
    filled_from: tuple[Sketch, ...] = ()
    filled: tuple[HoleFormula, ...] = ()
    opened: Program | None = None
    family: SketchFamily[Sketch] | None = None
    example: ScanExample | None = None

    def __repr__(self) -> str:
        count = len(self.program.holes)
        return f"<sketch {self.name} at {self.place}: {count} {'hole' if count == 1 else 'holes'}>"

    @property
    def exchanges(self) -> list[Hole]:
        """Its open holes that are homes of an `exchange`, for each of which a program is made (`solving/homes`)."""
        return [hole for hole in self.program.holes if hole.kind == HOME]

    @property
    def is_specified(self) -> bool:
        """Whether it has a specification of its own; a kernel that only host functions launch needs none."""
        return not isinstance(self.spec.function, OwnMeaning)

    def __call__(self, *arrays: Any, **named: Any) -> None:
        """Launch it, in a host function; anywhere else this is a mistake."""
        launches, place = LAUNCHES.get(), caller_place()
        if launches is None:
            raise SwizzleError(
                f"the sketch {self.name} is not run directly",
                place=place,
                expected="a solution of it",
                fix=f"solve it: solve({self.name}), or `swizzle solve FILE:{self.name}`",
            )
        names = [p.name for p in self.program.parameters]
        if named:
            arrays = (*arrays, *(named[name] for name in names[len(arrays) :] if name in named))
        launches.launches.append(SeenLaunch(self, arrays, place))

    def __getitem__(self, shape: Any) -> NoReturn:
        raise SwizzleError(
            f"{self.name}[...] with a launch shape",
            place=caller_place(),
            expected=f"{self.name}(...): the sketch declares its grid and block",
            fix="leave out the brackets",
        )


def no_specification(name: str, place: Place | None, kind: str = "sketch") -> SwizzleError:
    """Say that a sketch, or a host function, has none."""
    decorator, what = ("sketch", "kernel computes") if kind == "sketch" else ("host", "kernels compute")
    return SwizzleError(
        f"the {kind} {name} has no specification",
        place=place,
        expected=f"spec=, the function that says what the {what}",
        fix=f"write a function marked @spec above it, and @{decorator}(spec=its_name, ...)",
    )


def not_a_sketch(given: Any) -> SwizzleError:
    """Say what to give `solve` instead: users give a file's name, or all sketches of a file."""
    if isinstance(given, str | Path):
        found, fix = f"solve({str(given)!r}), which is the name of a file", f"write solve(load({str(given)!r})[0])"
    elif isinstance(given, list | tuple):
        found, fix = (
            f"solve of a {type(given).__name__}",
            "solve one after the other: [solve(each) for each in load(FILE)]",
        )
    elif hasattr(given, "launches"):
        found = f"solve of the host function {given.name}"
        fix = f"write host_function({given.name}), which solves its kernels and proves what they compute together"
    else:
        found, fix = f"solve of a {type(given).__name__}", "write @sketch(spec=..., ...) above the function"
    return SwizzleError(found, place=caller_place(3), expected="a sketch", fix=fix)
