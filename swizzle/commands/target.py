"""What FILE[:SKETCH] names: sketches, kernels without holes, saved solutions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from swizzle.answers.emit.emitters import origin, provenance
from swizzle.answers.emit.filled import FilledKernel
from swizzle.sketches.host import HostSketch
from swizzle.sketches.loading import SketchFile
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.in_words import count
from swizzle.solving.solution.saved import load_saved
from symbolic.errors import SwizzleError

Named = TypeVar("Named", Sketch, HostSketch, Sketch | HostSketch)


def split_target(target: str) -> tuple[Path, str | None]:
    """Return FILE and SKETCH of FILE[:SKETCH]; a file whose own name holds a colon is taken at its word.

    >>> split_target("sketches/conv1d.py:conv1d")[1]
    'conv1d'
    """
    path, colon, name = target.rpartition(":")
    with suppress(UnicodeError):  # in a locale without these letters, they came in as bytes
        name = os.fsencode(name).decode()
    if not colon or Path(target).exists() or not name.isidentifier():
        return Path(target), None
    return Path(path), name


class Target(Struct, frozen=True):
    """What a command is given, FILE[:NAME] with values of its parameters; a file is read and run once."""

    text: str
    path: Path
    selector: str | None
    overrides: Mapping[str, int]
    file: SketchFile | None

    @staticmethod
    def of(text: str, overrides: Mapping[str, int]) -> Target:
        path, selector = split_target(text)
        return Target(text, path, selector, overrides, None if path.suffix == ".json" else SketchFile.read(path))

    def hosts(self) -> tuple[list[HostSketch], bool]:
        """Return the host functions that it names, and whether it names no sketch beside them."""
        return self.file.load_hosts(self.selector, self.overrides) if self.file is not None else ([], False)

    def sketches(self) -> list[Sketch]:
        if self.file is None:
            raise SwizzleError(
                f"{self.path} is not a sketch; a solution file holds what was solved",
                expected="a .py or a .swz file",
                fix=f"swizzle check {self.path}, or swizzle run {self.path}; solve the sketch that it names",
            )
        return self.file.load(self.selector, self.overrides)

    def sketch(self) -> Sketch:
        """Return the only sketch that it names; raises SwizzleError where there are several."""
        return self._one(self.sketches())

    def require_one(self) -> None:
        """Raise SwizzleError unless it names one sketch or one host function: a JSON object is of one."""
        hosts, alone = self.hosts()
        self._one(list[Sketch | HostSketch]([*([] if alone else self.sketches()), *hosts]))

    def kernel(self, *, trust: bool = False, printed: bool = True) -> FilledKernel | Sketch:
        """Return the kernel that it names, which may be `printed`: a sketch with holes stays a sketch."""
        if self.file is None:
            sketch, solution = load_saved(self.path, self.overrides, trust=trust)
            head = provenance(solution, ["Read from a solution file."], sketch.parameters)
            return FilledKernel.of(solution.program, sketch, head, printed=printed)
        sketch = self.sketch()
        if sketch.program.holes:
            return sketch
        head = origin(sketch.program, sketch.parameters)
        return FilledKernel.of(sketch.program, sketch, head, printed=printed)

    def _one(self, found: Sequence[Named]) -> Named:
        if len(found) == 1:
            return found[0]
        hosts = sum(isinstance(each, HostSketch) for each in found)
        parts = [
            (number, what) for number, what in ((len(found) - hosts, "sketch"), (hosts, "host function")) if number
        ]
        raise SwizzleError(
            f"{self.text} holds {' and '.join(count(*part) for part in parts)}: {', '.join(e.name for e in found)}",
            expected=" or ".join(f"one {what}" for _, what in parts),
            fix=f"name it: {self.text}:{found[0].name}",
        )
