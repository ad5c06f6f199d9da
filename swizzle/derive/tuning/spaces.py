"""What `swizzle tune` searches: the choices of a sketch file, or the schedules of a kernel with loops, in one form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Protocol

from cuda_out.devices.device import Device
from swizzle.derive.schedules.candidates import Assignment, LowerBound
from swizzle.derive.schedules.nests import Nests
from swizzle.derive.schedules.proof import least_barriers
from swizzle.derive.schedules.schedule_space import MOST_WORK, ScheduleSpace
from swizzle.language.gpu import tuning_for
from swizzle.sketches.choices import FileChoices
from swizzle.sketches.loading import SketchFile
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.seal import digest
from symbolic.choices.conditions import GenericChoice, Value
from symbolic.choices.grounding import GroundSpace
from symbolic.choices.propagation import PartialAssignment, Propagator
from symbolic.errors import SwizzleError
from symbolic.machine.accesses import bytes_of


class Tunable(Protocol):
    """A space whose complete assignments are sketches.

    Attributes:
        name: the kernel's name.
        space: the choices and what they have to fulfil, ground; `Propagator(space)` searches it.
        decisions: the choices that a person takes, as variables of the space by name, the weightiest first. What
            else there is follows from them, or only helps propagation.
        hash: what says that two spaces hold the same texts.
        per_output: whether candidates compute different numbers of outputs, so that times are of one output.
    """

    @property
    def name(self) -> str: ...
    @property
    def space(self) -> GroundSpace: ...
    @property
    def decisions(self) -> Mapping[str, int]: ...
    @property
    def hash(self) -> str: ...
    @property
    def per_output(self) -> bool: ...

    def bound(self, candidate: PartialAssignment, device: Device) -> LowerBound:
        """Return a time that no implementation of a candidate falls below; it only grows as choices are decided."""

    def sketch(self, assignment: Assignment) -> Sketch:
        """Return the sketch of a complete assignment; raises SwizzleError where its file makes none."""

    def target(self, assignment: Assignment) -> tuple[str, Mapping[str, int]]:
        """Return the file of a complete assignment, FILE or FILE:NAME, and values of its parameters."""

    def scale(self, assignment: Assignment) -> float:
        """Return by what the time of that sketch is to be multiplied."""


class ParameterSpace:
    """The choices of a sketch file, for one of its sketches."""

    per_output = True

    def __init__(self, file: SketchFile, selector: str | None, overrides: Mapping[str, int], device: Device) -> None:
        self._file, self._overrides, self._device = file, overrides, device
        with tuning_for(device):
            self.choices: FileChoices = file.choices(overrides)
            self.choices.require_known()
            self.space: GroundSpace = self.choices.space()
            self.selector = selector
            self.require_one(self.choices.first())
        names = [choice for choice, _ in self.space.names]
        self.decisions = {each.name: at for at, each in enumerate(names) if isinstance(each, GenericChoice)}
        self.hash = digest(repr((file.text, selector, sorted(overrides.items()), device.hash)))[:16]

    @cached_property
    def name(self) -> str:
        return self.selector or Path(self._file.path).stem

    def target(self, assignment: Assignment) -> tuple[str, Mapping[str, int]]:
        values = {choice.name: int(value) for (choice, _), value in assignment.items()}
        return self._file.path + (f":{self.selector}" if self.selector else ""), {**self._overrides, **values}

    def sketch(self, assignment: Assignment) -> Sketch:
        with tuning_for(self._device):
            return self._one(self._file.alone().load(self.selector, self.target(assignment)[1]))

    def _one(self, sketches: list[Sketch]) -> Sketch:
        if len(sketches) > 1:
            raise SwizzleError(
                f"{self._file.path} holds {len(sketches)} sketches: {', '.join(each.name for each in sketches)}",
                expected="one sketch to tune", fix=f"name it: {self._file.path}:{sketches[0].name}",
            )  # fmt: skip
        return sketches[0]

    def require_one(self, first: Mapping[str, int]) -> None:
        """Refuse a file in which no sketch, or several, are meant, by its first candidate where that is a sketch."""
        values = {**self._overrides, **first}
        try:
            refused = self._file.instance(values).parameters.refused or {}
        except SwizzleError:
            return  # the search says of each candidate why its file does not run
        if not refused or self.selector not in (None, *refused):
            self._one(self._file.load(self.selector, values))

    def scale(self, assignment: Assignment) -> float:
        return 1.0

    def bound(self, candidate: PartialAssignment, device: Device) -> LowerBound:
        """Return what a complete candidate has to write; before that there is no sketch, and nothing is known."""
        propagation = Propagator(self.space, ())
        if propagation.open_variables(candidate):
            return LowerBound(0.0, "nothing is known of a sketch before all its parameters are chosen")
        try:
            program = self.sketch(propagation.assignment(candidate)).program
        except SwizzleError:
            return LowerBound(0.0, "there is no sketch with these values")
        written = [p for p in program.parameters if p.role in ("out", "inout")]
        size = sum(prod(p.shape) * bytes_of(p.dtype) for p in written)
        outputs = sum(prod(p.shape) for p in written)
        rate = device.dram_bytes_per_second
        return LowerBound(
            size / rate / outputs, f"{size / outputs:g} bytes to write for each output, at {rate / 1e9:,.0f} GB/s"
        )


class ProofTooLargeError(SwizzleError):
    """A schedule that repeats so much that its proof is not tried: whether it is right, nobody says."""


class ScheduledKernels:
    """The schedules of a kernel with loops: the text of each is a file in a folder, and is proved at a few tiles."""

    per_output = False

    def __init__(self, schedules: ScheduleSpace, folder: Path) -> None:
        self.schedules, self.folder = schedules, folder
        self.name, self.space, self.hash = schedules.name, schedules.space, schedules.hash
        self.decisions = schedules.decisions

    def bound(self, candidate: PartialAssignment, device: Device) -> LowerBound:
        return self.schedules.bound(candidate, device)

    def target(self, assignment: Assignment) -> tuple[str, Mapping[str, int]]:
        lengths = self.schedules.proof_lengths(assignment)
        if (work := self.schedules.nests(assignment, lengths).work) > MOST_WORK:
            raise ProofTooLargeError(
                f"its proof would run {work:,} statements, more than {MOST_WORK:,}",
                expected="a schedule that repeats less", fix="fix other decisions, or smaller tiles",
            )  # fmt: skip
        return f"{self._written(self.schedules.text(assignment))}:{self.name}", {}

    def _written(self, text: str) -> Path:
        path = self.folder / f"{self.name}_{digest(text)[:12]}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def sketch(self, assignment: Assignment) -> Sketch:
        path, _, name = self.target(assignment)[0].rpartition(":")
        (found,) = SketchFile.read(path).load(name, {})
        return found

    def with_least_barriers(self, assignment: Assignment) -> tuple[Sketch, str]:
        """Return the sketch of a complete assignment without the barriers that a proof can do without, and the words
        for those that are left."""
        text, count, shown = least_barriers(self.schedules, assignment)
        (found,) = SketchFile.read(self._written(text)).load(self.name, {})
        if not count:
            return found, "none is needed"
        why = "without one the proof fails" if shown else "one trip is proved, which does not show what the next needs"
        return found, f"{count}, {'the least set' if shown else 'as the text asks for them'}: {why}"

    def scale(self, assignment: Assignment) -> float:
        """Return how many more statements all threads execute at the lengths asked for than where it is proved."""
        proved = self.schedules.proof_lengths(assignment)
        return _executed(self.schedules.nests(assignment)) / _executed(self.schedules.nests(assignment, proved))


def _executed(nests: Nests) -> float:
    threads = prod(nests.size(loop.tile) for loop in nests.blocks) * prod(nests.threads)
    return threads * nests.work / (threads + 100)


def decided(space: Tunable, candidate: PartialAssignment) -> dict[str, Value]:
    """Return the values that are decided of the choices that a person takes, by name."""
    values = space.space.values
    masks = {name: candidate.masks[variable] for name, variable in space.decisions.items()}
    single = {name: mask for name, mask in masks.items() if not mask & (mask - 1)}
    return {name: values[space.decisions[name]][mask.bit_length() - 1] for name, mask in single.items()}
