"""What FILE[:SKETCH] names: sketches, kernels without holes, saved solutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swizzle.commands.emit import origin, provenance
from swizzle.loading import load
from swizzle.sketch import Sketch
from symbolic.errors import SwizzleError
from symbolic.program import Program


@dataclass(frozen=True, slots=True)
class Filled:
    """A kernel without holes, its specification, and the comment for the head of its `.cu`."""

    program: Program
    spec: Callable[..., Any]
    head: tuple[str, ...]


def split_target(target: str) -> tuple[Path, str | None]:
    """Return FILE and SKETCH of FILE[:SKETCH]; a file whose own name holds a colon is taken at its word.

    >>> split_target("sketches/conv1d.py:conv1d")[1]
    'conv1d'
    """
    path, colon, name = target.rpartition(":")
    if not colon or Path(target).exists() or not name.isidentifier():
        return Path(target), None
    return Path(path), name


def load_all(target: str, overrides: Mapping[str, int]) -> list[Sketch]:
    path, selector = split_target(target)
    if path.suffix == ".json":
        raise SwizzleError(
            f"{path} is no sketch; a solution file holds what was solved",
            expected="a .py or a .swz file",
            mend=f"swizzle check {path}, or swizzle run {path}; solve the sketch that it names",
        )
    return load(path, selector, overrides)


def load_one(target: str, overrides: Mapping[str, int]) -> Sketch:
    sketches = load_all(target, overrides)
    if len(sketches) == 1:
        return sketches[0]
    names = ", ".join(sketch.name for sketch in sketches)
    raise SwizzleError(
        f"{target} holds {len(sketches)} sketches: {names}",
        expected="one sketch",
        mend=f"name it: {target}:{sketches[0].name}",
    )


def load_kernel(target: str, overrides: Mapping[str, int]) -> Filled | Sketch:
    """Load what FILE[:SKETCH] names: a sketch with holes stays a sketch."""
    if target.endswith(".json"):
        from swizzle.saved import load_saved

        sketch, solution = load_saved(Path(target), overrides)
        return Filled(solution.program, sketch.spec, tuple(provenance(solution, ["Read from a solution file."])))
    sketch = load_one(target, overrides)
    if sketch.program.holes:
        return sketch
    return Filled(sketch.program, sketch.spec, tuple(origin(sketch.program)))
