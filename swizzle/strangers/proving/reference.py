"""What kernels are compared with: a specification, or another chain of kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from msgspec.structs import replace

from cuda_out.ptx.running.validate import (
    OutputDifference,
    WrittenOut,
    differences,
    different_output,
    output_term,
    same_output,
)
from swizzle.answers.checking.validator import in_doubles
from swizzle.language.specs.spec import Spec
from swizzle.language.specs.specification import Meaning, numbers
from swizzle.strangers.proving.launched import LaunchedKernel
from swizzle.strangers.proving.running import Array, ChainRun, on_numbers, run_chain
from swizzle.strangers.proving.subject import Subject, subject_of
from swizzle.strangers.reading.launch import GivenArgument
from symbolic.algebra.numbers import CONVERT, as_numbers
from symbolic.algebra.terms import Terms
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType, Parameter, Program

_SHOWN: Final = 72


class ProofReference(Protocol):
    """What outputs are compared with; `says` is how it is called in what is told."""

    name: str
    says: str

    def written(self) -> WrittenOut:
        """Return the table of terms in which both sides are written out."""

    def differences(self, ran: ChainRun) -> Iterator[OutputDifference]:
        """Yield the outputs of a run on variables that are not what they should be."""

    def assumed(self) -> list[str]:
        """Return what counts as what it is not, in words."""

    def widths(self) -> list[str]:
        """Return what is computed in more or fewer bits than the kernel may have, in words."""

    def numbers(self, given: Mapping[str, Array]) -> dict[str, Array]:
        """Return what the outputs must be for some inputs; floats of specifications in double precision."""

    def in_floats(self, given: Mapping[str, Array], *, halves: bool) -> dict[str, Array] | None:
        """Return the same as NumPy computes it in the parameters' own floats, or in halves; None for what is computed
        in them anyway."""


def written_out(terms: Terms, program: Program) -> WrittenOut:
    """Return a table of terms written out, of finite inputs. Where no array holds doubles, a kernel computes in them to
    lose less, and that they are rounded to floats in the end counts as no more than that floats are rounded."""
    written = WrittenOut(terms, program.parameters)
    if not any(each.dtype is DType.F64 for each in program.parameters):
        written.normal.unrounded = frozenset(("f32",))
    written.normal.finite = True
    return written


class SpecificationReference:
    """A specification, whose inputs are in the subject's order."""

    says = "the specification"

    def __init__(self, subject: Subject, spec: Spec) -> None:
        self.subject, self.spec, self.name = subject, spec, spec.name
        self.meaning = Meaning.of(subject.program, spec)
        self._written = written_out(self.meaning.terms, subject.program)

    def written(self) -> WrittenOut:
        return self._written

    def differences(self, ran: ChainRun) -> Iterator[OutputDifference]:
        for parameter in self.subject.outputs:
            wanted = self.meaning.wanted[parameter.name]
            yield from differences(ran.machine(parameter.name), self._written, parameter, wanted)

    def assumed(self) -> list[str]:
        whole = self.meaning.terms.whole
        some = " and ".join(whole.widened if whole is not None else ())
        said = f"{some} of 8 and 16 bits are int32 in the specification, and do not wrap as NumPy's do"
        return [said] if some else []

    def widths(self) -> list[str]:
        whole = self.meaning.terms.whole
        for shown, kind in whole.wide.items() if whole is not None else ():
            name = f"{'u' * (kind[0] == 'u')}int{kind[1:]}"
            said = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
            return [
                f"the specification computes {said} in {name}: compute in {name} in the kernel too, or write "
                ".astype(np.int32) or .astype(np.uint32) where it should wrap"
            ]
        return []

    def in_floats(self, given: Mapping[str, Array], *, halves: bool) -> dict[str, Array] | None:
        if not halves:
            return numbers(self.subject.program, self.spec, given)
        parameters = self.subject.program.parameters
        narrow = replace(
            self.subject.program,
            parameters=tuple(replace(p, dtype=DType.F16) if p.dtype.is_float else p for p in parameters),
        )
        with np.errstate(all="ignore"):
            less = {p.name: np.asarray(given[p.name]).astype(np.float16) if p.dtype.is_float else given[p.name]
                    for p in self.subject.inputs}  # fmt: skip
        return numbers(narrow, self.spec, less)

    def numbers(self, given: Mapping[str, Array]) -> dict[str, Array]:
        program = in_doubles(self.subject.program)
        wide = {p.name: np.asarray(given[p.name]).astype(np.float64) if p.dtype.is_float else given[p.name]
                for p in self.subject.inputs}  # fmt: skip
        token = CONVERT.set(lambda value, target: as_numbers(value, DType.F64 if target.is_float else target))
        try:
            return numbers(program, self.spec, wide)
        finally:
            CONVERT.reset(token)


class KernelReference:
    """Other kernels, whose arrays have the subject's names."""

    def __init__(self, subject: Subject, kernels: Sequence[LaunchedKernel]) -> None:
        self.subject = subject
        self.other = _renamed(subject, subject_of(kernels))
        self.name = self.other.name
        self.says = self.name
        self._written = written_out(Terms(), subject.program)

    def written(self) -> WrittenOut:
        return self._written

    def differences(self, ran: ChainRun) -> Iterator[OutputDifference]:
        """Yield what differs; raises Undefined and Undecided of the other kernels."""
        written, normal = self._written, self._written.deferred.normal
        other = run_chain(self.other.kernels, written.deferred)
        for parameter in self.subject.outputs:
            mine, theirs = ran.machine(parameter.name), other.machine(parameter.name)
            (bits, terms), (goal_bits, goals) = (each.elements(parameter.name) for each in (mine, theirs))
            unlike = np.flatnonzero((terms != goals) | ((terms == 0) & (bits != goal_bits)))
            if not len(unlike):
                continue
            forms, goal_forms = mine.forms(parameter.name), theirs.forms(parameter.name)
            for cell in unlike.tolist():
                if terms[cell] < 0 or goals[cell] < 0:
                    found = mine.memory.account(int(terms[cell])) if terms[cell] < 0 else "written"
                    wanted = theirs.memory.account(int(goals[cell])) if goals[cell] < 0 else "a value"
                    yield different_output(mine, parameter, cell, f"is {found}, {self.says} says {wanted}")
                    continue
                got, goal = (
                    [output_term(written, parameter, int(b[cell]), int(t[cell])) for b, t in some]
                    for some in (forms, goal_forms)
                )
                if not any(same_output(written, parameter, a, b) for a in got for b in goal):
                    show = normal.terms.show
                    yield different_output(
                        mine, parameter, cell, f"is {show(got[0])}, {self.says} says {show(goal[0])}"
                    )

    def assumed(self) -> list[str]:
        return []

    def widths(self) -> list[str]:
        return []

    def in_floats(self, given: Mapping[str, Array], *, halves: bool) -> dict[str, Array] | None:
        return None

    def numbers(self, given: Mapping[str, Array]) -> dict[str, Array]:
        found, _ = on_numbers(self.other, given)
        return found


def _renamed(subject: Subject, other: Subject) -> Subject:
    """Return other kernels with the subject's names: by name where all names agree, else in the kernels' order."""
    ours, theirs = (
        [[p for p in each.program.parameters if (p.role == role)] for role in ("in", "inout", "out")]
        for each in (subject, other)
    )
    names: dict[str, str] = {}
    for mine, its in zip(ours, theirs, strict=True):
        if {each.name for each in mine} == {each.name for each in its}:
            mine = sorted(mine, key=lambda each: [p.name for p in its].index(each.name))
        for one, its_own in zip(mine, its, strict=len(mine) == len(its)):
            if (one.dtype, one.shape) == (its_own.dtype, its_own.shape):
                names[its_own.name] = one.name
    if len(names) != len(subject.program.parameters) or len(names) != len(other.program.parameters):
        raise SwizzleError(
            f"{other.name} takes {_listed(other.program)}", place=other.program.place,
            expected=f"the arrays of {subject.name}: {_listed(subject.program)}",
            fix="give both the same arrays and open numbers in --args, in the same order",
        )  # fmt: skip
    unique = {**names, **{name: f"{name} of {other.name}" for name in other.hidden}}

    def renamed(argument: GivenArgument) -> GivenArgument:
        return replace(
            argument, name=unique.get(argument.name, argument.name), fields=tuple(map(renamed, argument.fields))
        )

    kernels = [replace(each, arguments=tuple(map(renamed, each.arguments))) for each in other.kernels]
    return replace(subject_of(kernels), program=subject.program)


def _listed(program: Program) -> str:
    return ", ".join(_word(each) for each in program.parameters)


def _word(each: Parameter) -> str:
    role = "" if each.role == "in" else f".{each.role}"
    return f"{each.name} {each.dtype.value}{role}" + (f"[{','.join(map(str, each.shape))}]" if each.shape else "")
