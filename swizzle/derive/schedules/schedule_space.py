"""The schedules of a kernel with loops, as a space of candidates."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from cuda_out.devices.device import Device
from swizzle.derive.schedules.backbone import Backbone
from swizzle.derive.schedules.bound import ScheduleBound
from swizzle.derive.schedules.candidates import Assignment, LowerBound
from swizzle.derive.schedules.decisions import KernelLimits, ScheduleChoices, choices_of
from swizzle.derive.schedules.lowering import kernel_text
from swizzle.derive.schedules.nests import Nests
from swizzle.derive.schedules.reading import Sizes, backbone_of, constants_of
from swizzle.language.source.kernel_source import Source, parse, split_lines
from swizzle.language.specs.verify import explain_mismatch
from swizzle.sketches.loading import SketchFile
from symbolic.choices.conditions import GenericChoice, Value
from symbolic.choices.grounding import GroundSpace, ground
from symbolic.choices.propagation import PartialAssignment, Propagator
from symbolic.errors import SwizzleError

USUAL_WORK: Final = 1_500_000
"""What a proof at two tiles of each loop runs at most, in about half a second; beyond that it is at fewer tiles."""
MOST_WORK: Final = 24 * USUAL_WORK
"""What a proof runs at most, in about ten seconds."""


class ScheduleSpace:
    """All schedules of a kernel within some limits.

    A text declares the lengths of the computation as parameters. Their defaults are a few tiles, at which it can be
    proved; the printed kernel takes any length. Bounds are at the lengths that are asked for.

    Attributes:
        backbone: what the kernel computes.
        choices: the declared space.
        space: the same for the kernel's loops and statements.
    """

    def __init__(
        self,
        file: SketchFile,
        name: str | None = None,
        overrides: Mapping[str, int] | None = None,
        lengths: Mapping[str, int] | None = None,
        sizes: Sizes | None = None,
        limits: KernelLimits | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """Read a kernel and declare its space.

        Args:
            file, name: the kernel with loops.
            overrides: values of the file's parameters.
            lengths: of loops by the parameters that are their lengths, where they are greater than a sketch can be.
            sizes: of the inner levels of loops by name, in place of the usual ones.
            limits: what a kernel may use.
            without: rules that are left out, for tests.
        """
        self.file, self.overrides = file, dict(overrides or {})
        (self.sketch,) = file.load(name, self.overrides)[:1]
        self.text_before = file.text
        self.tree = parse(file.text, file.path)
        source = Source(file.path, split_lines(file.text))
        (self.definition,) = (
            node for node in self.tree.body if isinstance(node, ast.FunctionDef) and node.name == self.sketch.name
        )
        self.backbone: Backbone = backbone_of(
            self.sketch, source, self.definition, {**self.sketch.parameters, **(lengths or {})},
            constants_of(self.tree), sizes,
        )  # fmt: skip
        self.choices: ScheduleChoices = choices_of(self.backbone, limits, without)
        self.space: GroundSpace = ground(self.choices.space)
        self.bounds: dict[str, ScheduleBound] = {}

    @staticmethod
    def of(path: str | Path, name: str | None = None, **given: object) -> ScheduleSpace:
        """Return the schedules of a kernel in a file."""
        return ScheduleSpace(SketchFile.read(path), name, **given)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.backbone.name

    @cached_property
    def hash(self) -> str:
        """What says that two spaces hold the same texts: the file's text and the space's choices and rules."""
        names = [self.space.label(n) for n in range(len(self.space.names))]
        shown = repr((self.text_before, self.sketch.parameters, names, self.space.values, len(self.space.clauses)))
        return hashlib.sha256(shown.encode()).hexdigest()[:16]

    def unlike_specification(self) -> list[str]:
        """Return how the kernel, as it is written, differs from its specification where its loops are short.

        Empty where it does not, and where it is no kernel at such lengths: then its schedules are asked one by one.
        """
        loops = {loop.length for loop in self.backbone.loops.values()}
        declared = self.file.instance(self.overrides).parameters.declared
        short = {
            name: next((size for size in declared[name].domain if size >= 2 + at), declared[name].value)
            for at, name in enumerate(sorted(loops & declared.keys()))
        }
        try:
            (sketch,) = self.file.load(self.sketch.name, {**self.overrides, **short})
            return explain_mismatch(sketch.program, sketch.spec)
        except SwizzleError:
            return []

    @cached_property
    def variables(self) -> list[int]:
        """The variables in the order of section 5.4: sizes, kinds, threads, memory, layouts, orders."""
        weight = {"size": 0, "kind": 1, "threads": 2, "memory": 3, "layout": 4, "order": 5}
        about = [choice.name for choice, _ in self.space.names if isinstance(choice, GenericChoice)]
        return sorted(range(self.space.choices), key=lambda number: weight[about[number]])

    @cached_property
    def decisions(self) -> dict[str, int]:
        """All but the orders, of which there are too many for a person to look at; the text shows them."""
        return {self.space.label(n): n for n in self.variables if self.space.names[n][0] is not self.choices.order}

    def decide(
        self, propagation: Propagator, candidate: PartialAssignment, decisions: Mapping[str, Value]
    ) -> PartialAssignment:
        """Return a candidate with some decisions taken, by name; ContradictionError where they do not go together."""
        for name, value in decisions.items():
            variable = self.decisions[name]
            candidate = propagation.decide(candidate, variable, 1 << self.space.values[variable].index(value))
        return candidate

    def nests(self, assignment: Assignment, lengths: Mapping[str, int] | None = None) -> Nests:
        """Return what an assignment says of loops and statements, at some lengths in place of those that are asked."""
        loops = {
            name: replace(loop, extent=(lengths or {}).get(loop.length, loop.extent))
            for name, loop in self.backbone.loops.items()
        }
        return Nests(replace(self.backbone, loops=loops), self.choices, assignment)

    def proof_lengths(self, assignment: Assignment) -> dict[str, int]:
        """Return lengths at which a schedule is proved.

        They are two tiles of each loop, so that blocks are told apart and a trip finds what the one before it left;
        but one where two would be too much, of loops that are summed along last.
        """
        nests = self.nests(assignment)
        units = {name: self.unit(name, nests) for name in self.sketch.parameters}
        lengths = {name: 2 * unit for name, unit in units.items() if unit is not None}
        summed = {
            self.backbone.loops[loop].length
            for statement in self.backbone.statements
            for loop in self.backbone.reduced(statement)
        }
        for name in sorted(lengths, key=lambda name: (name in summed, name)):
            if self.nests(assignment, lengths).work > USUAL_WORK:
                lengths[name] //= 2
        return lengths

    def text(self, assignment: Assignment) -> str:
        """Return the file with the kernel of an assignment in place of the given one."""
        nests, lengths = self.nests(assignment), self.proof_lengths(assignment)
        spec = next(
            ast.unparse(keyword.value)
            for decorator in self.definition.decorator_list
            if isinstance(decorator, ast.Call)
            for keyword in decorator.keywords
            if keyword.arg == "spec"
        )
        kernel = kernel_text(nests, spec)
        made = [line + "\n" for line in split_lines(self.text_before)]
        changes = [(self.definition.decorator_list[0].lineno, self.definition.end_lineno or 0, kernel)]
        for node in self.tree.body:
            match node:
                case ast.Assign([ast.Name()], ast.Call(ast.Name("parameter"), [ast.Constant(str(name)), *_])):
                    if (unit := self.unit(name, nests)) is not None:
                        default = lengths[name]
                        target = ast.unparse(node.targets[0])
                        line = f'{target} = parameter("{name}", {default}, domain=range({unit}, 1 << 27, {unit}))\n'
                        changes.append((node.lineno, node.end_lineno or 0, line))
                case ast.ImportFrom("swizzle", names):
                    known = {name.asname or name.name for name in names}
                    added = {name for name in ("cuda", "sw_pad") if f"{name}." in kernel or f"{name}(" in kernel}
                    wanted = sorted({*(ast.unparse(name) for name in names), *(added - known)})
                    line = f"from swizzle import {', '.join(wanted)}\n"
                    changes.append((node.lineno, node.end_lineno or 0, line))
        for first, last, text in sorted(changes, reverse=True):
            made[first - 1 : last] = [text]
        return "".join(made).rstrip("\n") + "\n"

    def unit(self, name: str, nests: Nests) -> int | None:
        """Return what divides a parameter that is the length of loops; None for any other one."""
        loops = [loop for loop in self.backbone.loops.values() if loop.length == name and loop.open_ended]
        if not loops:
            return None
        product = 1
        for loop in loops:
            product = max(product, nests.stride(loop.tiles[0].name))
        return product

    def bound(self, candidate: PartialAssignment, device: Device) -> LowerBound:
        """Return a time that no implementation of a candidate falls below, at the lengths that are asked for."""
        if device.hash not in self.bounds:
            self.bounds[device.hash] = ScheduleBound(self.backbone, self.choices, self.space, device)
        return self.bounds[device.hash](candidate)
