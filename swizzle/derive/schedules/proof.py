"""Proofs of schedules: at small lengths, which the tiles divide, and for every length."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Mapping

from msgspec import Struct

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


def sketch_of(text: str, name: str, lengths: Mapping[str, int]) -> Sketch:
    """Return the kernel of a text that is in no file."""
    file = f"<{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}>.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        (sketch,) = SketchFile(file, text).load(name, lengths)
    finally:
        del linecache.cache[file]
    return sketch


def prove_schedule(space: ScheduleSpace, assignment: Assignment, barriers: bool = True) -> ScheduleProof:
    """Prove a schedule at small lengths. A violation or a mismatch is a rule that the space lacks."""
    lengths = space.proof_lengths(assignment)
    if space.nests(assignment, lengths).work > MOST_WORK:
        return ScheduleProof(None, lengths, None)
    sketch = sketch_of(space.text(assignment, barriers), space.name, {})
    return ScheduleProof(sketch, lengths, verify(sketch.program, sketch.spec))
