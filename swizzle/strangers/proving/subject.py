"""What is proved of a chain of kernels: its arrays and numbers as one program, of which a specification is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.specs.spec import Spec, spec
from swizzle.strangers.proving.launched import LaunchedKernel
from swizzle.strangers.reading.launch import KINDS, GivenArgument, number_of
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType, Parameter, Program

_DTYPES: Final = {ptx: DType(name) for name, ptx in KINDS.items()}


class Subject(Struct, frozen=True):
    """A chain of kernels and the program that it is to a specification: open numbers and arrays that are given, in the
    specification's order, then outputs in the kernels'. `hidden` are arrays of its own, which one kernel leaves for a
    later one."""

    kernels: tuple[LaunchedKernel, ...]
    program: Program
    hidden: tuple[str, ...]

    @property
    def name(self) -> str:
        return ", ".join(each.name for each in self.kernels)

    @property
    def launch(self) -> str:
        return "; ".join(str(each.launch) for each in self.kernels)

    @property
    def inputs(self) -> list[Parameter]:
        return [each for each in self.program.parameters if each.role != "out"]

    @property
    def outputs(self) -> list[Parameter]:
        return [each for each in self.program.parameters if each.role in ("out", "inout")]


def subject_of(kernels: Sequence[LaunchedKernel]) -> Subject:
    """Return what a chain of kernels is to a specification; raises SwizzleError where its arrays do not fit."""
    first, last = kernels[0], kernels[-1]
    known, roles, limits = dict[str, GivenArgument](), dict[str, list[str]](), dict[str, int]()
    for kernel in kernels:
        for each in kernel.given:
            if each.value is not None:
                continue
            before = known.setdefault(each.name, each)
            if (before.kind, before.size) != (each.kind, each.size):
                raise SwizzleError(
                    f"{each.name} is {_words(before)} in one kernel and {_words(each)} in {kernel.name}",
                    place=kernel.text.place(kernel.kernel.begin), expected="one array of this name",
                    fix=f"name another one in --args: other:{_words(each)}",
                )  # fmt: skip
            roles.setdefault(each.name, []).append(each.role)
            if each.below:
                limits[each.name] = min(each.below, limits.get(each.name, each.below))
    place, parameters, hidden = first.text.place(first.kernel.begin), [], []
    for name, each in known.items():
        mine = roles[name]
        if mine[0] == "out" and mine[-1] in ("in", "const"):
            hidden.append(name)
            continue
        writes = any(role in ("out", "inout") for role in mine)
        role = "out" if mine[0] == "out" else "inout" if writes else "in"
        below = limits.get(name, 0)
        parameters.append(Parameter(name, _DTYPES[each.kind], each.shape, role, place, below))  # type: ignore[arg-type]
    if not any(each.role in ("out", "inout") for each in parameters):
        raise SwizzleError(
            f"{last.name} has no output", place=last.text.place(last.kernel.begin),
            expected="an array with .out or .inout in --args", fix="write f32.out[...] for what the kernel writes",
        )  # fmt: skip
    parameters.sort(key=lambda each: each.role == "out")
    program = Program(first.name, tuple(parameters), (), (), first.launch.block, first.launch.grid, 32, place)
    return Subject(tuple(kernels), program, tuple(hidden))


def _words(argument: GivenArgument) -> str:
    shape = f"[{','.join(map(str, argument.shape))}]" if argument.shape else ""
    return f"{_DTYPES[argument.kind].value}{shape}"


def fitted(subject: Subject, given: Spec | Callable[..., Any]) -> tuple[Subject, Spec]:
    """Return the subject with its inputs in a specification's order, and the specification, with numbers of the launch
    that it names; raises SwizzleError where the two do not fit."""
    said = given if isinstance(given, Spec) else spec(given)
    numbers = {
        each.name: each.value if isinstance(each.value, int) else float(number_of(each))
        for kernel in subject.kernels
        for each in kernel.given
        if each.value is not None
    }
    inputs = {each.name: each for each in subject.inputs}
    constants = {name: numbers[name] for name in said.parameters if name in numbers and name not in inputs}
    asked = [name for name in said.parameters if name not in constants]
    others = iter([each for name, each in inputs.items() if name not in asked])
    if len(asked) != len(inputs):
        words = ", ".join(f"{each.name} {_shape(each)}" for each in inputs.values()) or "nothing"
        raise SwizzleError(
            f"the specification {said.name} takes {', '.join(said.parameters) or 'nothing'}", place=said.place,
            expected=f"a parameter for each of: {words}",
            fix="by name, or in this order; numbers of --args may be named, too",
        )  # fmt: skip
    ordered = [inputs[name] if name in inputs else next(others) for name in asked]
    outputs = [each for each in subject.program.parameters if each.role == "out"]
    program = replace(subject.program, parameters=(*ordered, *outputs))
    if constants:
        named: Mapping[str, Any] = {**said.constants, **constants}
        said = Spec(said.name, said.function, tuple(asked), said.place, named)
    return replace(subject, program=program), said


def _shape(parameter: Parameter) -> str:
    return parameter.dtype.value + (f"[{','.join(map(str, parameter.shape))}]" if parameter.shape else "")
