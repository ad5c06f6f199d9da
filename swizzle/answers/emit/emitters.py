"""From a program without holes to the files that a project uses, and the comment that says where they come from.

The table FILE_KINDS lists what `swizzle solve --emit` offers: a new kind of file is one entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct

from cuda_out.analysis.registers import by_value_at_run_time
from cuda_out.tiling.length_text import linear_text
from cuda_out.tiling.tiling import Tiling
from swizzle.sketches.hole_formula import HoleFormula
from swizzle.solving.solution.in_words import assumed, optimality
from swizzle.solving.solution.solution import Result, Solution
from swizzle.solving.solution.version import __version__
from symbolic.errors import SwizzleError, printable
from symbolic.ir.program import Program

if TYPE_CHECKING:
    from cuda_out.c.printer import CudaSource
    from cuda_out.numba.printer import NumbaSource
    from swizzle.answers.emit.any_length.conditions import FixedSize

Sizes: TypeAlias = "Tiling | FixedSize | None"
"""At which lengths a kernel may run, as far as that was asked."""
WIDTH: Final = 110
PTX_ARCH: Final = "sm_75"
"""The oldest architecture that today's CUDA compiles for: its PTX runs on every later one."""


class FileKind(Struct, frozen=True):
    """A kind of file: its suffix, what it is, and a function from a program, a comment and sizes to its text."""

    suffix: str
    what: str
    text: Callable[[Program, Sequence[str], Sizes], str]


def cuda_source(
    program: Program, head: Sequence[str] = (), sizes: Sizes = None, *, form: Literal["cu", "header"] = "cu",
    vectors: bool = True,
) -> CudaSource:  # fmt: skip
    """Return the CUDA C++ of a program without holes; `head` is the comment at its top.

    If `sizes` is a tiling, the kernel takes arrays of any length. Without `vectors` it accesses element by element.
    Raises SwizzleError where an array by value has an index that no pass has made a constant.
    """
    from cuda_out.c.printer import print_cuda
    from cuda_out.passes.distribute import LARGEST

    printed, tiling = _printed(program, sizes)
    if (load := next(by_value_at_run_time(printed), None)) is not None:
        raise SwizzleError(
            f"{load.array} is passed by value, and which element is read here is known at run time only",
            place=load.place,
            expected=f"indices that are constants once loops are unrolled, or at most {LARGEST} elements",
            fix=f"declare {load.array} with .const, which is read through a pointer",
        )
    return print_cuda(printed, head, tiling=tiling, form=form, vectors=vectors)


def _printed(program: Program, sizes: Sizes) -> tuple[Program, Tiling | None]:
    """Return the program that is printed, after the passes, and how its blocks tile arrays of any length."""

    tiling = sizes if isinstance(sizes, Tiling) else None
    return _optimized(program, tiling), tiling


@lru_cache(maxsize=8)  # the text, the comment in it and what is said of it each ask for the same
def _optimized(program: Program, tiling: Tiling | None) -> Program:
    from cuda_out.passes.pipeline import optimize
    from cuda_out.tiling.trips import one_tile

    return optimize(program if tiling is None else one_tile(program, tiling))


def numba_source(program: Program, head: Sequence[str] = (), sizes: Sizes = None) -> NumbaSource:
    """Return the module for numba.cuda of a program without holes, as `cuda_source` returns the CUDA C++."""
    from cuda_out.numba.printer import print_numba

    printed, tiling = _printed(program, sizes)
    return print_numba(printed, head, tiling=tiling)


def _ptx(program: Program, head: Sequence[str], sizes: Sizes) -> str:
    from cuda_out.compile.toolchain import compile_cuda, least_architecture

    source = cuda_source(program, head, sizes)
    comment = "".join(f"// {line}".rstrip() + "\n" for line in ["SPDX-License-Identifier: MIT-0", *head])
    least, why = least_architecture(source.text)
    comment += f"// Needs {least} or later: {why}.\n" if why else ""
    return comment + compile_cuda(source.text, least, name=f"{source.name}.cu").ptx


FILE_KINDS: Final[Mapping[str, FileKind]] = {
    "cuda": FileKind(
        ".cu",
        'an extern "C" kernel and its launch function',
        lambda program, head, sizes: cuda_source(program, head, sizes).text,
    ),
    "header": FileKind(
        ".cuh",
        "the same to be included, by any number of translation units",
        lambda program, head, sizes: cuda_source(program, head, sizes, form="header").text,
    ),
    "numba": FileKind(
        "_numba.py",
        "the same kernel as a Python module for numba.cuda, with its launch function",
        lambda program, head, sizes: numba_source(program, head, sizes).text,
    ),
    "ptx": FileKind(".ptx", f'the extern "C" kernel compiled for {PTX_ARCH} and later', _ptx),
}


# ---- the comment -----------------------------------------------------------------------------------------------


def origin(program: Program, parameters: Mapping[str, int] | None = None) -> list[str]:
    """Return the lines that say what was printed, from which file and for which launch."""
    lines = [f"{program.name}, made by swizzle {__version__} from {printable(PurePath(program.place.file).name)}"]
    if digest := _digest(program.place.file):
        lines.append(f"(sha256 of that file: {digest})")
    if parameters:
        lines += wrap(f"with {', '.join(f'{name}={value}' for name, value in parameters.items())}", WIDTH)
    lines.append(f"for block {_shape(program.block)}, grid {_shape(program.grid)}, warp size {program.warp_size}.")
    return lines


def _digest(file: str) -> str:
    """Return the hash of a sketch's file, '' where the sketch was typed in."""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""


def provenance(solution: Solution, claims: Sequence[str], parameters: Mapping[str, int] | None = None) -> list[str]:
    """Return the lines that say what was solved, what the holes became, and what is claimed of it."""
    lines = origin(solution.program, parameters)
    if solution.holes:
        lines += ["", "Solution:"]
        lines += [f"  {hole.name} = {hole.shown}  ({_whence(hole, solution.program)})" for hole in solution.holes]
    claims = [*claims, *(f"Assumed: {each}." for each in assumed(solution.program))]
    return [*lines, "", *claims, *_about_division(solution.program)]


def _about_division(program: Program) -> list[str]:
    """Return the line that says how divisions by constants are printed, where there are any."""
    from cuda_out.c.types import products

    if next(products(program), None) is None:
        return []
    said = (
        "Divisions of floats by a constant are products with its reciprocal, within 1.5 units in the last place "
        "(@sketch(..., ieee_division=True) keeps them)."
    )
    return wrap(said, WIDTH)


def _whence(hole: HoleFormula, program: Program) -> str:
    """Say where a hole stands, and in which sketch its formula was found."""
    file = printable(PurePath(hole.place.file).name)
    where = f"line {hole.place.line}" + ("" if hole.place.file == program.place.file else f" of {file}")
    return f"{where}, found in {printable(hole.found_in)}" if hole.found_in else where


def proved(result: Result, every_space: bool) -> list[str]:
    """Return what is claimed of a result's best solution; `every_space` says that all spaces were searched."""
    cost = f"Cost: {'; '.join(optimality(result, every_space))}."
    return ["Verified for all inputs against the specification.", cost]


def about_sizes(program: Program, sizes: Sizes, named: Sequence[str] = ()) -> list[str]:
    """Return the lines of the comment that say for which lengths a kernel is right, and why.

    The lengths are `named`, or else as the kernel's own text calls them.
    """
    if sizes is None:
        return []
    if not isinstance(sizes, Tiling):
        return ["", *wrap(f"For the sizes below only: {sizes}.", WIDTH)]
    names = " x ".join(named or _length_names(program, sizes))
    arrays = [p for p in program.parameters if not p.is_scalar]
    shapes = ", ".join(f"{p.name} {p.dtype.value}[{', '.join(map(str, p.shape))}]" for p in arrays)
    compared = ", ".join(in_runs([lengths_text(each) for each in sizes.evidence]))
    if any(axis.edges for axis in sizes.axes):
        places = "In all these places"
        if sizes.tried:
            left = " and ".join(", ".join(map(str, each)) for each in sizes.tried)
            places = f"With nothing or something before it, and {left} left (not all was tried),"
        said = (
            f"Any length: proved in full for {shapes}. A block asks how much of each length is before it and left for "
            f"it, up to what matters. {places} it leaves what the specification says near the ends of the arrays and "
            "between them; that the specification goes on like this at every length was compared at "
            f"{names} = {compared}."
        )
        return ["", *wrap(said, WIDTH)]
    if sizes.of_loops is not None:
        return ["", *wrap(_about_loops(sizes, names, shapes, compared), WIDTH)]
    said = (
        f"Any length: proved in full for {shapes}. At every length each block does what block 0 does, moved, and what "
        "it loads past the end of an array reaches no output that is inside; both are proved for any number of blocks. "
        f"That the specification too says the same of every block, moved, was compared at {names} = {compared}; at "
        "these lengths the kernel is equal to it, and at any other to what goes on in that way."
    )
    return ["", *wrap(said, WIDTH)]


def _about_loops(sizes: Tiling, names: str, shapes: str, compared: str) -> str:
    """Return what is claimed of a kernel whose loops run along a length."""
    assert sizes.of_loops is not None
    moved = ", and each block what block 0 does, moved" if sizes.of_grid else ""
    return (
        f"Any length: proved in full for {shapes}. At every length each trip of the loops along it does what their "
        f"first one does, moved by {sizes.of_loops.tile} elements{moved}; trips share only what they add to, by an "
        "operator for which the order does not matter, and leave out what is past the end. All this is proved for any "
        f"number of trips. With it, the kernel is equal to the specification at {names} = {compared}, and at any other "
        "length to what goes on in that way; that the specification does was compared there."
    )


def in_runs(lengths: Sequence[str]) -> list[str]:
    """Return lengths, five and more that follow each other as one.

    >>> in_runs(["2 x 1", "2 x 2", "2 x 3", "2 x 4", "2 x 5", "2 x 8", "5 x 9"])
    ['2 x 1 to 5', '2 x 8', '5 x 9']
    """
    found: list[tuple[str, int, int]] = []
    for each in lengths:
        front, _, last = each.rpartition(" x ")
        if found and found[-1][0] == front and found[-1][2] + 1 == int(last):
            found[-1] = (front, found[-1][1], int(last))
        else:
            found.append((front, int(last), int(last)))
    texts = []
    for front, low, high in found:
        before = f"{front} x " if front else ""
        texts += [f"{before}{low} to {high}"] if high > low + 3 else [f"{before}{n}" for n in range(low, high + 1)]
    return texts


def lengths_text(lengths: Sequence[int]) -> str:
    """Return '16 x 8'."""
    return " x ".join(map(str, lengths))


def _length_names(program: Program, tiling: Tiling) -> tuple[str, ...]:
    """Return what the printed text calls the lengths: `n`, unless the sketch has an n of its own."""
    return cuda_source(program, (), tiling).length_names


def sizes_text(program: Program, sizes: Sizes, named: Sequence[str] = ()) -> str:
    """Return one line for the console: the extents that go together, or why they are fixed."""
    if not isinstance(sizes, Tiling):
        return f"fixed: {sizes}"
    some = "; not all that may be left for a block at the edges was tried" if sizes.tried else ""
    kept = f"; {sizes.kept}" if sizes.kept else ""
    return f"any length: {allowed_text(program, sizes, named)}{some}{kept}"


def allowed_text(program: Program, sizes: Tiling, named: Sequence[str] = ()) -> str:
    """Return the extents that go together, and which lengths there may be."""
    names = named or _length_names(program, sizes)
    extents = _extents(program, sizes, names)
    arrays = ", ".join(f"{name}[{', '.join(each)}]" for name, each in extents.items())
    steps = [f"{name} a multiple of {axis.step}" for name, axis in zip(names, sizes.axes, strict=True) if axis.step > 1]
    steps += [
        f"{name} at least {axis.least}" for name, axis in zip(names, sizes.axes, strict=True) if axis.least > axis.step
    ]
    return arrays + (f"; {', '.join(steps)}" if steps else "")


def sizes_as_json(program: Program, sizes: Sizes, named: Sequence[str] = ()) -> dict[str, Any]:
    """Return what `--json` says of the sizes."""

    if sizes is None:
        return {}
    if not isinstance(sizes, Tiling):
        return {"any_length": False, "why": sizes.why, "place": str(sizes.place)}
    names = named or _length_names(program, sizes)
    return {
        "any_length": True,
        "lengths": {
            name: {
                "axis": axis.axis,
                "block": axis.tile,
                "multiple_of": axis.step,
                "at_least": axis.least,
                "declared": axis.declared,
            }
            for name, axis in zip(names, sizes.axes, strict=True)
        },
        "shapes": _extents(program, sizes, names),
        "specification_compared_at": [lengths_text(each) for each in sizes.evidence],
        **({"left_tried": dict(zip(names, map(list, sizes.tried), strict=True))} if sizes.tried else {}),
    }


def _extents(program: Program, tiling: Tiling, named: Sequence[str]) -> dict[str, list[str]]:
    """Return each array's shape in terms of the lengths."""
    names = dict(zip([axis.axis for axis in tiling.axes], named, strict=True))
    return {
        parameter.name: [
            str(extent) if span is None else linear_text(span.scale, names[span.axis], span.halo)
            for extent, span in zip(parameter.shape, tiling.spans[parameter.name], strict=True)
        ]
        for parameter in program.parameters
        if not parameter.is_scalar
    }


def _shape(shape: tuple[int, int, int]) -> str:
    return lengths_text(shape[: max(axis for axis in range(3) if axis == 0 or shape[axis] > 1) + 1])
