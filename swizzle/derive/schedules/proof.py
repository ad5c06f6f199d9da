"""Proofs of schedules: at small lengths, which the tiles divide, and for every length."""

from __future__ import annotations

import hashlib

from msgspec import Struct

from cuda_out.tiling.tiling import Tiling
from swizzle.answers.emit.any_length.conditions import FixedSize, any_length
from swizzle.answers.emit.any_length.reductions import along_loops
from swizzle.derive.schedules.barriers import BARRIER
from swizzle.derive.schedules.candidates import Assignment
from swizzle.derive.schedules.schedule_space import MOST_WORK, ScheduleSpace
from swizzle.language.specs.verify import Verification, verify
from swizzle.sketches.loading import SketchFile
from swizzle.sketches.sketch import Sketch


class ScheduleProof(Struct, frozen=True):
    """A proof of a schedule at some lengths.

    Attributes:
        sketch: the kernel.
        lengths: the parameters that are its loops' lengths.
        found: whether it equals its specification; None where it executes too much to be run on terms.
    """

    sketch: Sketch | None
    lengths: dict[str, int]
    found: Verification | None

    @property
    def equal(self) -> bool:
        """Whether it is proved."""
        return self.found is not None and self.found.equal


def sketch_of(text: str, name: str) -> Sketch:
    """Return the kernel of a text that is in no file."""
    file = f"<{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}>.py"
    (sketch,) = SketchFile(file, text).load(name, {})
    return sketch


def prove_schedule(space: ScheduleSpace, assignment: Assignment, text: str | None = None) -> ScheduleProof:
    """Prove a schedule, or another text of it, at small lengths.

    A violation or a mismatch is a rule that the space lacks.
    """
    lengths = space.proof_lengths(assignment)
    if space.nests(assignment, lengths).work > MOST_WORK:
        return ScheduleProof(None, lengths, None)
    sketch = sketch_of(space.text(assignment) if text is None else text, space.name)
    return ScheduleProof(sketch, lengths, verify(sketch.program, sketch.spec))


class ScheduleLengths(Struct, frozen=True):
    """Along which lengths a proved schedule is right at every value, and not only where its tiles divide it.

    Attributes:
        sizes: the tiling of its printed text; why it keeps its sizes, if it does.
        free: the parameters that may have any value.
        kept: the others.
    """

    sizes: Tiling | FixedSize
    free: tuple[str, ...]
    kept: tuple[str, ...]

    def __str__(self) -> str:
        if isinstance(self.sizes, FixedSize):
            return f"proved at one size: {self.sizes}"
        kept = f"; {' and '.join(self.kept)} kept{': ' + self.sizes.kept if self.sizes.kept else ''}"
        return f"proved for every {' and '.join(self.free)}{kept if self.kept else ''}"


def every_length(space: ScheduleSpace, proof: ScheduleProof) -> ScheduleLengths:
    """Prove a schedule for every length: of its grid by moving blocks, of a loop by an induction over its trips.

    The conditions are those of printed kernels (`swizzle/answers/emit/any_length`): each block does what block 0 does,
    moved, and each trip what the first one does; trips share only sums; ends that cut a tile are run.
    """
    assert proof.equal and proof.sketch is not None, "a schedule is proved at some lengths first"
    program, spec = proof.sketch.program, proof.sketch.spec
    sizes = along_loops(program, spec, any_length(program, spec))
    free: dict[str, None] = {}
    if isinstance(sizes, Tiling):
        for name, spans in sizes.spans.items():
            written = space.backbone.arguments[name].partition("[")[2].rstrip("]").split(", ")
            free |= {length: None for length, span in zip(written, spans, strict=True) if span} if spans else {}
    lengths = tuple(proof.lengths)
    return ScheduleLengths(sizes, tuple(n for n in lengths if n in free), tuple(n for n in lengths if n not in free))


def least_barriers(space: ScheduleSpace, assignment: Assignment) -> tuple[str, int, bool]:
    """Return the text of a schedule of whose barriers none can be left out, how many there are, and whether this holds.

    A barrier is left out where the kernel is proved equal, and without a race, all the same. Where a loop is too long
    for a proof of two trips, one trip would not show what the next one overwrites, and all of them are kept.
    """
    lines = space.text(assignment).split("\n")
    kept = [number for number, line in enumerate(lines) if line.strip() == BARRIER]
    lengths, nests = space.proof_lengths(assignment), space.nests(assignment)
    shown = all(lengths[name] > (space.unit(name, nests) or 0) for name in lengths)
    for number in reversed(kept) if shown else ():
        fewer = [line for at, line in enumerate(lines) if at != number]
        if prove_schedule(space, assignment, "\n".join(fewer)).equal:
            lines = fewer
    return "\n".join(lines), sum(line.strip() == BARRIER for line in lines), shown or not kept
