"""Is a kernel without holes what its specification says? For `swizzle check`, `Solution.check` and `swizzle.check`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from msgspec import Struct, field

from swizzle.answers.checking.emitted import check_emitted
from swizzle.answers.checking.on_disk import CANCELS
from swizzle.answers.checking.validator import KINDS, numeric_difference
from swizzle.answers.emit.emitters import origin, provenance
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.status import CheckStatus
from swizzle.language.specs.verify import Verification, explain_mismatch, verify
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.in_words import assumed, count
from swizzle.solving.solution.solution import Solution
from symbolic.errors import SwizzleError


class Check(Struct, frozen=True):
    """What came of a check: true where the kernel equals its specification, and `str()` says what was found.

    `details` has what `swizzle check --json` says beside the kernel's name and the verdict.
    """

    kernel: str
    status: CheckStatus
    lines: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.status == CheckStatus.EQUAL

    def __str__(self) -> str:
        return "\n".join((self.lines[0], *(indent(line, "  ") for line in self.lines[1:])))

    __repr__ = __str__

    def as_json(self) -> dict[str, Any]:
        """Return the object that `swizzle check --json` prints."""
        return {"kernel": self.kernel, "status": self.status.word, **self.details}


def check_kernel(
    filled: FilledKernel, saved: Path | None = None, *, emitted: bool, mutate: bool = False, trust: bool = False
) -> Check:
    """Verify a kernel without holes for all inputs; with `emitted`, check its printed text, too.

    The text is that of the files beside a `saved` solution, if it is given. Raises SwizzleError as `check_emitted`.
    """
    verification, name = verify(filled.program, filled.spec), filled.program.name
    if not verification.equal:
        return _unequal(filled, verification)
    covered = f"{count(verification.elements, 'output')} of {count(verification.blocks, 'block')}"
    lines = [f"{name}: equal to its specification, verified for all inputs ({covered})"]
    lines += [f"assumes {each}" for each in assumed(filled.program)]
    real = (*([CANCELS] if verification.cancels else []), *verification.unrounded)
    lines += [f"assumes real numbers: {each}" for each in real]
    details: dict[str, Any] = {
        "outputs": verification.elements, "blocks": verification.blocks, "cancels": verification.cancels,
        "unrounded": list(verification.unrounded),
    }  # fmt: skip
    if not emitted:
        return Check(name, CheckStatus.EQUAL, tuple(lines), details)
    text = check_emitted(filled, saved, mutate=mutate, trust=trust)
    return Check(name, text.status, (*lines, *text.lines), {**details, "emitted": text.json})


def _unequal(filled: FilledKernel, verification: Verification) -> Check:
    """Say how a kernel differs from its specification; different terms alone leave it undecided."""
    name, findings = filled.program.name, explain_mismatch(filled.program, filled.spec)
    broken = bool(verification.violations)
    difference = None if broken else numeric_difference(filled.program, filled.spec)
    if broken or difference:
        said = [f"{name}: not equal to its specification", *([str(difference)] if difference else [])]
        return Check(name, CheckStatus.DIFFERENT, (*said, *findings), {"findings": findings})
    agree = f"the numbers agree on {count(len(KINDS), 'random input')}, but the terms differ"
    return Check(name, CheckStatus.UNDECIDED, (f"{name}: not shown equal: {agree}:", *findings), {"findings": findings})


def check(kernel: Sketch | Solution, *, emitted: bool = True) -> Check:
    """Check a kernel against its specification: a solution, or a sketch without open holes.

    It is verified for all inputs. With `emitted`, the CUDA text that is printed of it is compiled, its PTX is validated
    for all inputs, and it runs on the CPU, as far as there are compilers (docs/checking.md). The result is true where
    all of that says equal, so that a test may `assert swizzle.check(kernel)`.

    Raises SwizzleError for a sketch with open holes, and for a solution without its sketch.
    """
    if isinstance(kernel, Sketch):
        if kernel.program.holes:
            raise SwizzleError(
                f"{kernel.name} has {count(len(kernel.program.holes), 'hole')}",
                place=kernel.program.holes[0].place, expected="a kernel without holes, or a solution",
                fix="solve it: swizzle.check(swizzle.solve(sketch).best)",
            )  # fmt: skip
        sketch, program, head = kernel, kernel.program, origin(kernel.program, kernel.parameters)
    elif kernel.posed is None:
        raise SwizzleError(
            f"the solution of {kernel.program.name} has no specification with it",
            expected="a solution that `solve` or `load_solution` returned", fix="solve the sketch again",
        )  # fmt: skip
    else:
        sketch, program = kernel.posed, kernel.program
        head = provenance(kernel, ["Verified for all inputs against the specification."], sketch.parameters)
    return check_kernel(FilledKernel.of(program, sketch, head, printed=emitted), emitted=emitted)
