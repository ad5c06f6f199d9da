"""From a program without holes to its `.cu`: the passes, the printer, and the comment that says where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from swizzle.commands.report import cost_text, optimality
from swizzle.solution import Result, Solution
from swizzle.version import __version__
from symbolic.program import Program

if TYPE_CHECKING:
    from cuda_out.printer import CudaSource


def cuda_source(program: Program, head: Sequence[str] = ()) -> CudaSource:
    """Return the CUDA C++ of a program without holes; `head` is the comment at its top."""
    from cuda_out.passes import optimize
    from cuda_out.printer import print_cuda

    return print_cuda(optimize(program), head)


def origin(program: Program) -> list[str]:
    """Return the lines that say what was printed, from which file and for which launch."""
    return [
        f"{program.name}, made by swizzle {__version__} from {PurePath(program.place.file).name}",
        f"for block {_shape(program.block)}, grid {_shape(program.grid)}, warp size {program.warp_size}.",
    ]


def provenance(solution: Solution, claims: Sequence[str]) -> list[str]:
    """Return the lines that say what was solved, what the holes became, and what is claimed of it."""
    lines = origin(solution.program)
    if solution.holes:
        lines += ["", "Solution:"]
        lines += [f"  {hole.name} = {hole.formula}  (line {hole.place.line})" for hole in solution.holes]
    return [*lines, "", *claims]


def proved(result: Result, every_space: bool) -> list[str]:
    """Return what is claimed of a result's best solution; `every_space` says that all spaces were searched."""
    cost = f"Cost: {cost_text(result.best.cost)}, {optimality(result, every_space)}."
    return ["Verified for all inputs against the specification.", cost]


def _shape(shape: tuple[int, int, int]) -> str:
    used = max(axis for axis in range(3) if axis == 0 or shape[axis] > 1) + 1
    return " x ".join(str(size) for size in shape[:used])
