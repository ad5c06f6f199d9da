"""Answers in files and as text, from Python: what `swizzle solve -o` writes as NAME.json, and back; and a solution's
text, with the comment at its top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from cuda_out.c.printer import CudaSource
from swizzle.answers.emit.calling import solution_sizes
from swizzle.answers.emit.emitters import FILE_KINDS, Sizes, about_sizes, cuda_source, provenance
from swizzle.answers.emit.files import write_whole
from swizzle.language.specs.verify import verify
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.in_words import cost_text
from swizzle.solving.solution.saved import load_saved, saved_text
from swizzle.solving.solution.solution import Result, Solution
from symbolic.errors import SwizzleError
from symbolic.ir.index import cell_name


def save(result: Result, path: str | Path) -> Path:
    """Write the best solution of a result; return the path. Raises SwizzleError as `Result.save` says."""
    path, sketch = Path(path), result.posed
    if path.suffix != ".json":
        raise SwizzleError(
            f"{path} is not a file name for a solution", expected="a file that ends in .json",
            fix=f"result.save({str(path.with_suffix('.json'))!r}); the kernel's text is result.best.to_cuda()",
        )  # fmt: skip
    best = result.best
    file = Path(sketch.place.file) if sketch is not None else None
    if sketch is None or file is None or not file.is_file():
        raise SwizzleError(
            f"{best.program.name} stands in no file, which a saved solution would name",
            place=None if sketch is None else sketch.place,
            expected="the result of a sketch in a .py or .swz file", fix="put the sketch into a file of its own",
        )  # fmt: skip
    write_whole(path, saved_text(result, file, sketch.parameters, path.parent))
    return path


def load_solution(
    path: str | Path,
    sketch: Sketch | None = None,
    *,
    overrides: Mapping[str, int] | None = None,
    trust: bool = False,
) -> Solution:
    """Return the solution in a file that `Result.save` or `swizzle solve -o` wrote, verified again.

    Its sketch is `sketch`, where that is given. Else the file that the solution names is read again, with the saved
    parameters or those of `overrides`; a Python file is run only where this user solved it here, or with `trust`.

    Raises SwizzleError if the file is no solution, if the sketch has changed, so that the solution fills other holes or
    does not give the specification's values, or if a Python file would have to be run.
    """
    posed, solution = load_saved(Path(path), overrides or {}, trust=trust, sketch=sketch)
    program = solution.program
    found = verify(program, posed.spec)
    if found.violations:
        raise found.violations[0].error()
    if found.mismatches:
        wrong = found.mismatches[0]
        (shape,) = (p.shape for p in program.parameters if p.name == wrong.array)
        raise SwizzleError(
            f"{path} does not solve {posed.name}: {cell_name(wrong.array, shape, wrong.address)} is not what the "
            "specification says",
            place=posed.place, expected="the sketch and the parameters that were solved",
            fix=f"solve it again: swizzle solve {posed.place.file}",
        )  # fmt: skip
    return replace(solution, posed=posed)


def text_of(solution: Solution, emitter: Literal["cuda", "header", "numba"]) -> str:
    """Return the text of one of the FILE_KINDS; for arrays of any length if that is shown."""
    return FILE_KINDS[emitter].text(solution.program, *_head_and_sizes(solution))


def source_of(solution: Solution) -> CudaSource:
    """Return the text of the `.cu` file, with the places in the sketch that its lines come from."""
    return cuda_source(solution.program, *_head_and_sizes(solution))


def _head_and_sizes(solution: Solution) -> tuple[Sequence[str], Sizes]:
    sizes, posed = solution_sizes(solution), solution.posed
    claims = [] if posed is None else ["Verified for all inputs against the specification."]
    claims.append(f"Cost: {cost_text(solution.cost)}.")
    head = provenance(solution, claims, posed.parameters if posed else None)
    return [*head, *about_sizes(solution.program, sizes)], sizes
