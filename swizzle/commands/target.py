"""What FILE[:SKETCH] names: sketches, kernels without holes, saved solutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from swizzle.emit.emitters import Sizes, origin, provenance
from swizzle.sketches.host import HostSketch
from swizzle.sketches.loading import load, load_hosts
from swizzle.sketches.sketch import Sketch
from swizzle.solution.saved import load_saved
from swizzle.specs.specification import Remembered
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program


class FilledKernel(Struct, frozen=True):
    """A kernel without holes, its specification, the comment at the head of its `.cu`, and where else it may run."""

    program: Program
    spec: Callable[..., Any]
    head: tuple[str, ...]
    sizes: Sizes = None


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
            f"{path} is not a sketch; a solution file holds what was solved",
            expected="a .py or a .swz file",
            fix=f"swizzle check {path}, or swizzle run {path}; solve the sketch that it names",
        )
    return load(path, selector, overrides)


def hosts_of(target: str, overrides: Mapping[str, int]) -> tuple[list[HostSketch], bool]:
    """Return the host functions that FILE[:NAME] names, and whether it names no sketch beside them."""
    path, selector = split_target(target)
    return load_hosts(path, selector, overrides)


def load_one(target: str, overrides: Mapping[str, int]) -> Sketch:
    sketches = load_all(target, overrides)
    if len(sketches) == 1:
        return sketches[0]
    names = ", ".join(sketch.name for sketch in sketches)
    raise SwizzleError(
        f"{target} holds {len(sketches)} sketches: {names}",
        expected="one sketch",
        fix=f"name it: {target}:{sketches[0].name}",
    )


def load_kernel(target: str, overrides: Mapping[str, int], *, trust: bool = False) -> FilledKernel | Sketch:
    """Load what FILE[:SKETCH] names: a sketch with holes stays a sketch."""
    if target.endswith(".json"):
        sketch, solution = load_saved(Path(target), overrides, trust=trust)
        head = provenance(solution, ["Read from a solution file."], sketch.parameters)
        return _filled(solution.program, sketch, head)
    sketch = load_one(target, overrides)
    if sketch.program.holes:
        return sketch
    head = origin(sketch.program, sketch.parameters)
    return _filled(sketch.program, sketch, head)


def _filled(program: Program, sketch: Sketch, head: Sequence[str]) -> FilledKernel:
    spec = Remembered(sketch.spec)
    from swizzle.emit.sizes import sizes_of

    return FilledKernel(program, spec, tuple(head), sizes_of(program, sketch, spec))
