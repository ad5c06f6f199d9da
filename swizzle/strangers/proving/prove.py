"""The proof that somebody's kernel computes a specification, or what another kernel does, for all inputs."""

from __future__ import annotations

import time
import types
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from cuda_out.compile.children import confined
from cuda_out.compile.toolchain import Tool
from cuda_out.ptx.columns import NEVER
from cuda_out.ptx.instructions.roundings import few_units
from cuda_out.ptx.running.arguments import MOST_STATIC
from cuda_out.ptx.running.arithmetic import assumptions
from cuda_out.ptx.running.machine import STEPS
from cuda_out.ptx.running.validate import OutputDifference
from swizzle.language.specs.spec import Spec
from swizzle.language.specs.specification import own_types
from swizzle.sketches.loading import load_names
from swizzle.strangers.proving.launched import LaunchedKernel, chain_of
from swizzle.strangers.proving.lengths import equal_lengths, every_length
from swizzle.strangers.proving.proof import Counterexample, KernelProof, ProofFinding, apart
from swizzle.strangers.proving.reference import KernelReference, ProofReference, SpecificationReference
from swizzle.strangers.proving.reproducer import write_reproducer
from swizzle.strangers.proving.running import ChainRun, Undefined, run_chain, with_indices
from swizzle.strangers.proving.subject import Subject, fitted, subject_of
from swizzle.strangers.proving.trying import WORST, OneTry, counterexample, float_errors
from swizzle.strangers.reading.compiled import Undecided, own_name
from swizzle.strangers.reading.files import cuda_text
from swizzle.strangers.reading.launch import said_chain, said_flags
from swizzle.strangers.reading.text import CudaText
from symbolic.errors import SwizzleError, near
from symbolic.ir.index import cell_name
from symbolic.ir.program import LANES

SHOWN: Final = 3
"""As many outputs that differ are told."""
REGISTERS: Final = 65536
"""The registers of a multiprocessor, which a warp takes so many at once of:"""
REGISTERS_AT_ONCE: Final = 256
REALS: Final = "floats are real numbers, and inputs finite: what the kernel's own floats lose is measured"


class KernelProver:
    """Proves one chain of kernels against one reference."""

    def __init__(self, subject: Subject, reference: Callable[[Subject], tuple[Subject, ProofReference]]) -> None:
        self.subject, self.reference = reference(subject)
        self.tried: OneTry | None = None

    def prove(self) -> KernelProof:
        """Return the verdict; raises SwizzleError where the specification fails."""
        began = time.process_time()
        found = self._proved()
        return replace(found, seconds=time.process_time() - began)

    def _proof(self, **said: Any) -> KernelProof:
        subject = self.subject
        outputs = sum(prod(each.shape) for each in subject.outputs)
        return KernelProof(subject.name, self.reference.name, outputs=outputs, launch=subject.launch, **said)

    def _proved(self) -> KernelProof:
        try:
            ran = run_chain(self.subject.kernels, self.reference.written().deferred)
        except Undefined as error:
            return self._proof(verdict="race" if error.race else "undefined", findings=(error.finding,))
        except Undecided as error:
            return self._by_numbers(str(error), ())
        try:
            different = list(islice(self.reference.differences(ran), SHOWN))
        except Undefined as error:
            return self._proof(verdict="undecided", why=f"{self.reference.name} is no reference: {error}")
        except Undecided as error:
            return self._by_numbers(f"{self.reference.name}: {error}", ())
        if different:
            return self._different(ran, different)
        return self._equal(ran)

    # -- terms that differ -------------------------------------------------------------------------------------------

    def _different(self, ran: ChainRun, different: Sequence[OutputDifference]) -> KernelProof:
        findings = tuple(self._finding(ran, each) for each in different)
        why = "the terms differ"
        if constants := self._constants(ran):
            why = f"the terms differ in constants only, by few units in the last place: {constants}"
        return self._by_numbers(why, findings)

    def _constants(self, ran: ChainRun) -> str:
        """Return which constants differ where all outputs are the same but for their last digits, '' elsewhere."""
        with few_units() as pairs:
            if any(True for _ in self.reference.differences(ran)):
                return ""
        shown = [f"{float(value)!r} for {float(said)!r}" for value, said in dict.fromkeys(pairs)]
        return ", ".join(shown[:SHOWN]) + (", ..." if len(shown) > SHOWN else "")

    def _finding(self, ran: ChainRun, each: OutputDifference) -> ProofFinding:
        kernel = self.subject.kernels[ran.last[each.parameter.name]]
        found, _, wanted = each.found.removeprefix("is ").partition(f", {self.reference.says} says ")
        thread = each.thread or "no thread stores it"
        shapes = {each.name: each.shape for each in self.subject.program.parameters}
        found, wanted = (with_indices(text, shapes) for text in (found, wanted))
        return ProofFinding(each.name, kernel.line(each.writer), thread, *apart(kernel.in_words(found), wanted))

    def _by_numbers(self, why: str, findings: tuple[ProofFinding, ...]) -> KernelProof:
        """Return 'different' with numbers, or why nothing is decided."""
        try:
            shown = counterexample(self.subject, self.reference)
        except Undefined as error:  # which it is not for all inputs: so does an index that is data
            return self._proof(verdict="undecided", why=f"{why}; on some numbers {error}", findings=findings)
        except Undecided as error:
            more = str(error)
            return self._proof(verdict="undecided", why=why if more in why else f"{why}; on numbers: {more}",
                               findings=findings)  # fmt: skip
        if shown is None:
            why = f"{why}, and the numbers that were tried agree up to rounding" if findings else why
            why = "; ".join([why, *self.reference.widths()])
            return self._proof(verdict="undecided", why=why, findings=findings)
        return self._shown(*shown, findings)

    def _shown(self, numbers: Counterexample, tried: OneTry, findings: tuple[ProofFinding, ...] = ()) -> KernelProof:
        self.tried = tried
        if not findings:
            findings = (
                ProofFinding(numbers.where, numbers.line, numbers.thread, str(numbers.found), str(numbers.wanted)),
            )
        return self._proof(verdict="different", findings=findings, numbers=numbers)

    # -- terms that are equal ----------------------------------------------------------------------------------------

    def _equal(self, ran: ChainRun) -> KernelProof:
        try:
            if (shown := counterexample(self.subject, self.reference, whole_numbers=True)) is not None:
                return self._shown(*shown)
            errors = float_errors(self.subject, self.reference)
        except Undefined as error:
            return self._proof(verdict="undecided", why=f"equal where it is defined; on some numbers {error}")
        except Undecided as error:
            why = f"equal as real numbers; not run in floats: {error}"
            return self._proof(verdict="undecided", why=why)
        if why := self._not_launched():
            return self._proof(verdict="undecided", why=why)
        assumed = self._assumed(ran)
        far = [each.inputs for each in errors if each.far]
        if errors[0].lost or errors[0].error > WORST:
            far = list(dict.fromkeys([errors[0].inputs, *far]))
        if far:
            why = f"equal as real numbers, and in the kernel's own floats far off at {', at '.join(far)}"
            return self._proof(verdict="undecided", why=why, errors=errors, assumed=assumed)
        covers = why = ""
        if isinstance(self.reference, SpecificationReference):
            every = every_length(self.subject, self.reference.spec)
            if every is not None:
                covers, assumed = every.covers, (*assumed, *every.assumed)
            else:
                why = equal_lengths(self.subject)
        told = errors if REALS in assumed else ()
        return self._proof(verdict="equal", errors=told, assumed=assumed, covers=covers or "launch", why=why)

    def _given_data(self) -> list[str]:
        """Return the module's variables that kernels use, which have an initialiser."""
        used = [
            own_name(array.name)
            for kernel in self.subject.kernels
            for array in kernel.entry.arrays
            if array.space in ("global", "const") and array.name in kernel.used - kernel.set_by_host
        ]
        return list(dict.fromkeys(used))

    def _not_launched(self) -> str:
        """Return why ptxas or a launch would refuse a kernel, '' where they do not."""
        for each in self.subject.kernels:
            try:
                taken = each.assembled()
            except Undecided as error:
                return f"equal as PTX; {error}"
            warps = -(-prod(each.launch.block) // LANES)
            registers = -(-taken.registers * LANES // REGISTERS_AT_ONCE) * REGISTERS_AT_ONCE * warps
            if registers > REGISTERS:
                return (
                    f"equal as PTX; a block of {each.name} takes {registers} registers, {taken.registers} a thread, "
                    f"and there are {REGISTERS}"
                )
        return ""

    def _assumed(self, ran: ChainRun) -> tuple[str, ...]:
        parameters = [*self.subject.inputs, *self.subject.outputs]
        found = [REALS] if any(each.dtype.is_float for each in parameters) else []
        arrays = [each for each in parameters if each.shape]
        if len({each.name for each in arrays}) > 1:
            found.append("no two arrays overlap")
        found += [f"0 <= {each.name} < {each.below}" for each in self.subject.inputs if each.below]
        for each in arrays:
            if (size := ran.widest.get(each.name, 0)) > each.dtype.bits // 8:
                found.append(f"the address of {each.name} is a multiple of {size}")
        for each in self.subject.outputs:
            if len(left := np.flatnonzero(ran.machine(each.name).elements(each.name)[1] == NEVER)):
                first = cell_name(each.name, each.shape, int(left[0]))
                more = f" and {len(left) - 1} more" if len(left) > 1 else ""
                found.append(f"nobody reads {first}{more}, which neither side writes")
        if any(kernel.jumps for kernel in self.subject.kernels):
            found.append("where a comparison or a rounding to a whole number jumps, rounding may choose the other side")
        found += [said for kernel in self.subject.kernels for said in kernel.other_signs]
        if any(machine.left_out for machine in ran.machines):
            found.append("barriers do not wait for threads that have returned, as from sm_70 on")
        for machine in ran.machines:
            written = [name for name, region in machine.arrays.items() if region.writable]
            found += [each for each in assumptions(machine, written) if each not in found]
        found += self.reference.assumed()
        found += [
            f"the host allows {each.name} so many bytes, by cudaFuncSetAttribute: "
            f"cudaFuncAttributeMaxDynamicSharedMemorySize is {each.launch.dynamic}"
            for each in self.subject.kernels if each.static_shared + each.launch.dynamic > MOST_STATIC
        ]  # fmt: skip
        found += [f"{name} holds what the file says, and the host sets nothing else" for name in self._given_data()]
        found.append("the PTX is what the kernel is: what a compiler leaves out of undefined C++ is not seen")
        return tuple(dict.fromkeys(found))


def prove(
    file: str | Path,
    specification: Spec | Callable[..., Any] | str | None = None,
    *,
    against: str | Path | None = None,
    kernel: str | Sequence[str] | None = None,
    launch: str | Sequence[str] | None = None,
    args: str | Sequence[str] | None = None,
    includes: Sequence[str] = (),
    defines: Sequence[str] = (),
    output: str | Path | None = None,
    trust: bool = False,
    compiler: Tool | None = None,
    steps: int = STEPS,
) -> KernelProof:
    """Prove that a kernel of a CUDA file is equal to a specification, or `against` another kernel, for all inputs.

    The specification is a function, or names one, `"SPEC.py:NAME"`; the other kernel is `"REF.cu:KERNEL"`, or one of a
    file that has no other. The other words are those of the command line, several for a chain of kernels, and last
    those of the other kernel. Inputs on which the two differ are written into the folder `output`. The file is read by
    one `compiler`, or whichever there is; a kernel that executes more than so many `steps`, an instruction of all its
    threads each, counts as one that does not end. What is returned is true where they are equal, and `explained()` says
    why not. Raises SwizzleError for a mistake in what is given.
    """
    if (specification is None) == (against is None):
        raise SwizzleError(
            "nothing to compare with" if against is None else "a specification, and --against as well",
            expected="a specification, or --against with another kernel", fix=f"swizzle prove {file} SPEC.py",
        )  # fmt: skip
    __tracebackhide__ = True  # pytest shows the test's own frame
    names, launches, arguments = (_words(each) for each in (kernel, launch, args))
    try:
        text = _text(Path(file), includes, defines)
        text.tool = compiler
        return _proof_of(text, specification, against, names, launches, arguments, output, trust, steps)
    except SwizzleError as error:
        raise error.with_traceback(None) from None


def _proof_of(
    text: CudaText, specification: Spec | Callable[..., Any] | str | None, against: str | Path | None,
    names: Sequence[str], launches: Sequence[str], arguments: Sequence[str], output: str | Path | None, trust: bool,
    steps: int,
) -> KernelProof:  # fmt: skip
    called = names or [each.flags["--kernel"] for each in said_chain(text)] or [each.name for each in text.kernels()]
    with confined(not trust), own_types():
        try:
            reference: Callable[[Subject], tuple[Subject, ProofReference]]
            if against is not None:
                kernels, others = _both(text, str(against), names, launches, arguments)
                reference = lambda one: (one, KernelReference(one, others))  # noqa: E731
            else:
                assert specification is not None
                reference = partial(_by_specification, _specified(specification, called))
                kernels = chain_of(text, names, launches, arguments)
            prover = KernelProver(subject_of([replace(each, steps=steps) for each in kernels]), reference)
        except Undecided as error:
            return KernelProof(
                ", ".join(called), str(against or specification), "undecided", 0, "; ".join(launches), why=str(error)
            )
        found = prover.prove()
    if output is not None and found.numbers is not None and prover.tried is not None:
        files = write_reproducer(Path(output), prover.subject, prover.tried, found.numbers)
        found = replace(found, files=tuple(map(str, files)))
    return found


def _text(path: Path, includes: Sequence[str], defines: Sequence[str]) -> CudaText:
    return cuda_text(path, includes, defines, expected="a CUDA file", fix="swizzle prove kernel.cu spec.py")


def _words(given: str | Sequence[str] | None) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else list(given)


def _by_specification(given: Spec | Callable[..., Any], subject: Subject) -> tuple[Subject, ProofReference]:
    subject, said = fitted(subject, given)
    return subject, SpecificationReference(subject, said)


def _specified(given: Spec | Callable[..., Any] | str, kernels: Sequence[str]) -> Spec | Callable[..., Any]:
    return specification_of(given, kernels) if isinstance(given, str) else given


def _both(
    text: CudaText, against: str, kernels: Sequence[str], launches: Sequence[str], args: Sequence[str]
) -> tuple[list[LaunchedKernel], list[LaunchedKernel]]:  # fmt: skip
    """Return kernels and those that they are compared with, of whose words the last ones are."""
    path, _, name = against.rpartition(":") if not Path(against).exists() else (against, "", "")
    other = _text(Path(path or against), text.includes, text.defines)
    count = max(1, len(kernels or said_chain(text)))
    own = chain_of(text, kernels, launches[:count], args[:count])
    theirs = (launches[count:], args[count:])
    if not theirs[1] and not said_flags(other):
        theirs = (theirs[0] or [str(own[0].launch)], args[:1])
    return own, chain_of(other, [name] if name and path else [], *theirs)


def specification_of(target: str, kernels: Sequence[str]) -> Spec | Callable[..., Any]:
    """Return the specification that FILE[:NAME] names: what has @spec, or else a plain function of the file; without a
    name the only one, or the one that is called as one of the kernels is."""
    head, colon, name = target.rpartition(":")
    path, selector = (head, name) if colon and name.isidentifier() and not Path(target).exists() else (target, None)
    names = load_names(path)
    marked = {key: each for key, each in names.items() if isinstance(each, Spec)}
    plain = {
        key: each for key, each in names.items()
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == str(path) and key[0] != "_"
    }  # fmt: skip
    known: dict[str, Spec | Callable[..., Any]] = {**plain, **marked}
    if selector is not None and selector not in known:
        raise SwizzleError(
            f"{path} has no specification {selector}",
            expected=f"one of {', '.join(known)}" if known else "a function that gives the outputs",
            fix=near(selector, known) or f"define {selector}",
        )
    if selector is not None:
        return known[selector]
    some = marked or plain
    chosen = list(some) if len(some) == 1 else [key for key in some if key in kernels]
    if len(chosen) != 1:
        raise SwizzleError(
            f"{path} has {len(some)} specifications{': ' if some else ''}{', '.join(some)}",
            expected="one, or one with the kernel's name",
            fix=f"name it: {path}:{next(iter(some), 'NAME')}",
        )
    return some[chosen[0]]
