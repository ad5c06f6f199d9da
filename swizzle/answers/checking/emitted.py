"""`swizzle check --emitted`: the printed text itself, compiled, validated down to PTX, and run on the CPU or a GPU; its
host function, in both forms; and users' operators in it, each run on the CPU.

The text is the one that `swizzle solve` writes; where it takes any length, it is tried at several. Three witnesses that
share little: the compiler's own PTX interpreted over symbolic data (translation validation), the text compiled by the
host's C++ compiler (emulation), and, on request, mutants that both must see.

What is run is the printed text. That a file's host function is the same is found by comparing them (`on_disk`).

Mutants show that a change of one swizzle does not go unnoticed. Every mutant of the text (`cuda_out.c.mutate`) is given
to translation validation and to the emulation on random data. One whose PTX is proved equal to the specification
changes nothing; each other one must be seen by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from cuda_out.analysis.placement import MOST_SHARED
from cuda_out.c.expressions import function_name
from cuda_out.c.kernel_text import instantiated
from cuda_out.c.mutate import Mutant, host_mutants, mutants, together
from cuda_out.c.printer import CudaSource
from cuda_out.c.types import C_TYPE
from cuda_out.compile.children import confined, refused
from cuda_out.compile.every_compiler import CompilerReading, Form, first_readings, other_readings
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.report import NO_DISASSEMBLER, Report, report
from cuda_out.compile.toolchain import (
    CompileError,
    Tool,
    available_tools,
    compile_both_forms,
    compile_to_ptx,
    least_architecture,
)
from cuda_out.emulate.emulate import EmulationError, emulate, missing_compiler
from cuda_out.emulate.host import NotRun, calls, wrong_calls, wrong_mutants
from cuda_out.ptx.reading.parse import parse
from cuda_out.ptx.running.validate import Validation
from cuda_out.ptx.syntax import NotInterpreted
from swizzle.answers.checking.numba_text import try_numba_text
from swizzle.answers.checking.on_disk import CANCELS, KernelText, arithmetic_differences, text_beside, text_to_check
from swizzle.answers.checking.trial import (
    Array,
    Arrays,
    Compared,
    LaunchSize,
    Runner,
    arguments,
    compare,
    first_wrong_trial,
    most_ragged,
    on_cpu,
    on_ptx,
    sizes_to_try,
)
from swizzle.answers.checking.validator import SizesValidator, settled
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.status import CheckStatus, worst
from swizzle.solving.solution.in_words import count
from symbolic.algebra.counterexample import first_difference, tried_columns
from symbolic.errors import SwizzleError
from symbolic.ir.functions import External, Gather
from symbolic.ir.program import DType, OperatorName, Program
from symbolic.ir.walk import functions_of, operators_of


class MutationOutcome(Struct, frozen=True):
    """`unseen` are the mutants that one check let pass, with what each check says of them."""

    killed: int
    same: tuple[Mutant, ...]
    unseen: tuple[tuple[Mutant, str], ...]

    @property
    def complete(self) -> bool:
        return not self.unseen

    def lines(self) -> list[str]:
        """Return what `check --mutate` prints."""
        total = self.killed + len(self.same) + len(self.unseen)
        found = [
            f"{count(total, 'mutant')} of the printed text: {self.killed} seen by translation validation and by the "
            f"emulation, {len(self.same)} proved to change nothing, {len(self.unseen)} unseen"
        ]
        found += [f"  changes nothing: {mutant}" for mutant in self.same]
        return found + [f"  unseen: {mutant} ({why})" for mutant, why in self.unseen]

    def as_json(self) -> dict[str, Any]:
        return {
            "killed": self.killed,
            "same": [str(mutant) for mutant in self.same],
            "unseen": [{"mutant": str(mutant), "why": why} for mutant, why in self.unseen],
        }


def try_mutants(
    source: CudaSource, sizes: Sequence[LaunchSize], at_most: int | None = None, printed: str = ""
) -> MutationOutcome:
    """Try both checks on the mutants of a printed text that has passed them at these sizes: on all, or on an even
    choice of them. A check sees a mutant if it does so at one size. The host function is that of the `printed` text,
    where the kernel's own was edited."""
    given = sizes[0].filled.program.parameters
    extents = [prod(p.shape) for p in given if p.shape and not p.by_value]
    variants = mutants(source.text, source.entry, extents)
    if at_most is not None and len(variants) > at_most:
        variants = tuple(variants[number * len(variants) // at_most] for number in range(at_most))
    if not variants:
        return MutationOutcome(0, (), ())
    killed, same, unseen = 0, [], []
    rounds = any(
        not isinstance(name.row, Gather) for name, _ in functions_of(sizes[0].filled.program)
    )  # then no numbers are exact
    text, names = together(source.text, source.entry, variants, dispatch=False)
    ptx, validator = compile_to_ptx(with_opaque_calls(text)), SizesValidator(sizes, source)
    differences = _differences(source, sizes, variants, (ptx, names))
    for mutant, name, difference in zip(variants, names, differences, strict=True):
        validation, told = validator.validate(ptx, name), bool(difference) or (mutant.slight and rounds)
        if validation.verdict == "equal" and not difference:
            same.append(mutant)
        elif (validation.verdict == "different" and told) or (mutant.rare and validation.verdict != "equal"):
            killed += 1
        else:
            said = "; ".join(validation.findings[:1]) or "equal"
            unseen.append((mutant, f"translation validation: {said}; emulation: {difference or 'equal'}"))
    for mutant, wrong in _host_mutants(replace(source, text=printed or source.text), at_most):
        if wrong:
            killed += 1
        else:
            unseen.append((mutant, "the host function does what it must at all calls"))
    return MutationOutcome(killed, tuple(same), tuple(unseen))


def _host_mutants(source: CudaSource, at_most: int | None) -> Iterator[tuple[Mutant, bool]]:
    """Yield the mutants of the host function, each with whether it does something wrong."""
    variants = host_mutants(source.text, source.launcher) if not missing_compiler() else ()
    if at_most is not None and len(variants) > at_most:
        variants = tuple(variants[number * len(variants) // at_most] for number in range(at_most))
    if variants:
        found = wrong_mutants(source, source.text, [each.text for each in variants], list(calls(source)))
        yield from zip(variants, found, strict=True)


def _differences(
    source: CudaSource, sizes: Sequence[LaunchSize], variants: Sequence[Mutant], compiled: tuple[str, Sequence[str]]
) -> Iterator[str]:
    """Yield what a run of each mutant shows: undefined behaviour, wrong numbers, or '' for nothing.

    The emulation runs them, or, where there is no C++ compiler, the interpreter their PTX.
    """
    missing = missing_compiler()
    text, _ = together(source.text, source.entry, variants, dispatch=True)
    memo: dict[tuple[int, bytes], Arrays] = {}

    def specification(size: LaunchSize, inputs: Arrays) -> Arrays:
        key = id(size), b"".join(array.tobytes() for array in inputs.values())
        if key not in memo:
            memo[key] = size.numbers(inputs)
        return memo[key]

    def emulated(number: int, size: LaunchSize, arrays: list[Array]) -> None:
        given = [*arguments(size, arrays), np.int32(number)]
        emulate(text, source.entry, size.filled.program.grid, source.block, given, shared_bytes=source.shared_bytes)

    def interpreted(number: int, size: LaunchSize, arrays: list[Array]) -> None:
        ptx, names = compiled
        on_ptx(replace(source, entry=names[number]), ptx).run(size, arrays)

    run = interpreted if missing else emulated
    for number in range(len(variants)):
        found = ""
        for size in sizes:
            if found:
                break
            try:
                wanted, runner = partial(specification, size), partial(run, number, size)
                found = first_wrong_trial(size.filled.program, wanted, runner, 0, size.rounding)
            except EmulationError as error:
                found = str(error)
        yield found


SHOWN = 3
"""How many wrong calls are reported."""


class Host(Struct, frozen=True):
    """What was found out about the host function: an exit status, and lines for the user; the first one sums up."""

    status: CheckStatus
    lines: tuple[str, ...]
    calls: int = 0

    def as_json(self) -> dict[str, Any]:
        return {"status": self.status.word, "calls": self.calls, "findings": [line.strip() for line in self.lines[1:]]}


def try_host_function(text: KernelText) -> Host:
    """Run the printed host function of a text and of its header form, with launches that are noted only; of a file in
    which something else stands nothing is known."""
    if text.unlike:
        return Host(CheckStatus.UNDECIDED, ("host function: not known, as a file is not what is printed",))
    if why := missing_compiler():
        return Host(CheckStatus.UNDECIDED if refused() else CheckStatus.EQUAL, (f"host function: not run: {why}",))
    source, standard = text.source, list(calls(text.source))
    tried = [*standard, *standard]  # twice: what a call leaves behind, the next one may find
    for form, what in ((text.printed, "host function"), (text.printed_header, "host function of the header form")):
        try:
            wrong = wrong_calls(source, form, tried)
        except (NotRun, CompileError) as error:
            return Host(CheckStatus.UNDECIDED, (f"{what}: not run: {str(error).splitlines()[0]}",))
        if wrong:
            said = f"{what}: wrong in {len(wrong)} of {count(len(tried), 'call')}"
            return Host(CheckStatus.DIFFERENT, (said, *_shown(wrong)), len(tried))
    said = f"grid, block, stream, arguments and errors are right in {count(len(tried), 'call')}"
    return Host(CheckStatus.EQUAL, (f"host function, in both forms: {said}",), len(tried))


def _shown(wrong: Sequence[str]) -> list[str]:
    more = [f"  and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    return [f"  {each}" for each in wrong[:SHOWN]] + more


ENTRY = "swizzle_try_operator"


class Tried(Struct, frozen=True):
    """A function of a printed text: `wrong` says for which numbers it is not the operator, '' where for none tried;
    it is None where the text has no such function of two numbers."""

    name: str
    operator: str
    pairs: int
    wrong: str | None

    def __str__(self) -> str:
        if self.wrong is None:
            return f"{self.name}: no function of two numbers in the text, and not tried as the operator {self.operator}"
        if self.wrong:
            return f"{self.name} is not the operator {self.operator}: {self.wrong}"
        return f"{self.name}: the operator {self.operator} on {self.pairs} pairs of numbers (tried, not proved)"


def try_functions(program: Program, source: CudaSource) -> Iterator[Tried]:
    """Run the function of each operator of a program, as a printed text has it; needs a C++ compiler."""
    for op, dtype in operators_of(program):
        try:
            wrong: str | None = _difference(source, op, dtype)
        except CompileError:
            wrong = None
        yield Tried(function_name(op, dtype), str(op), len(tried_columns(dtype)[0]), wrong)


def _difference(source: CudaSource, op: OperatorName, dtype: DType) -> str:
    left, right = tried_columns(dtype)
    given, kind = np.zeros_like(left), C_TYPE[dtype]
    called = f"{source.namespace}::{function_name(op, dtype)}(a[i], b[i])"
    text = (
        f'{source.text}\nextern "C" __global__ void {ENTRY}(const {kind}* a, const {kind}* b, {kind}* c) {{\n'
        f"  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);\n  if (i < {len(left)}) c[i] = {called};\n}}\n"
    )
    try:
        emulate(text, ENTRY, (-(-len(left) // 32), 1, 1), (32, 1, 1), (left, right, given))
    except EmulationError as error:
        return str(error)
    return first_difference(op.law, dtype, given.tolist())


_WHOSE: Final = {"nvcc": "nvcc's", "nvrtc": "NVRTC's"}
NO_COMPILER = "not compiled for a GPU: no NVRTC and no nvcc on this machine"


class Emitted(Struct):
    """What was found out about a printed text; `status` is the worst of it."""

    status: CheckStatus = CheckStatus.EQUAL
    lines: list[str] = field(default_factory=list)
    json: dict[str, Any] = field(default_factory=dict)

    def settle(self, status: CheckStatus) -> None:
        """Keep the worse status: 'not equal' before 'undecided' before 'equal'."""
        self.status = worst([self.status, status])


def check_emitted(
    filled: FilledKernel, saved: Path | None = None, *, mutate: bool = False, trust: bool = False
) -> Emitted:
    """Check the printed text of a kernel that has been verified: the file beside its saved solution, if there is one.

    An edited file is compiled and run in a sandbox, or its PTX is interpreted, unless the user says to `trust` it.
    Raises SwizzleError where an edited file does not compile.
    """
    text = text_to_check(filled, saved)
    with confined(text.strangers and not trust):
        return _checked(filled, text, saved, mutate=mutate, trust=trust)


def _checked(filled: FilledKernel, text: KernelText, saved: Path | None, *, mutate: bool, trust: bool) -> Emitted:
    source = text.source
    found = Emitted(CheckStatus.UNDECIDED if text.unlike else CheckStatus.EQUAL, [*text.lines, *text.unlike])
    found.json["text"] = {
        "file": text.file and str(text.file),
        "edited": text.edited,
        "any_length": bool(source.tiling),
        "unlike": list(text.unlike),
    }
    sizes = sizes_to_try(filled, source)
    validator = SizesValidator(sizes, source)
    reports: tuple[Report, ...] = ()
    if available_tools():
        reports, readings = _compile(found, filled.program, text)
        _validate(found, text, validator, readings)
    else:
        found.lines.append(NO_COMPILER)
    if text.ptx is not None:
        _validate_file(found, text, text.ptx, validator)
    _run(found, text, sizes, reports)
    host = try_host_function(text)
    found.lines += host.lines
    found.settle(host.status)
    found.json["host"] = host.as_json()
    if mutate:
        ragged = most_ragged(sizes, source)
        outcome = try_mutants(source, sizes[:1] if ragged is None else (sizes[0], ragged), printed=text.printed)
        found.lines += outcome.lines()
        found.json["mutation"] = outcome.as_json()
        found.settle(CheckStatus.EQUAL if outcome.complete else CheckStatus.DIFFERENT)
    if saved is not None and (module := try_numba_text(filled, saved, sizes, trust=trust)) is not None:
        found.lines += module.lines
        found.settle(module.status)
        found.json["numba"] = module.json
    return found


# ---- compilers -------------------------------------------------------------------------------------------------


def _compile(found: Emitted, program: Program, text: KernelText) -> tuple[tuple[Report, ...], list[CompilerReading]]:
    source = text.source
    try:
        reports, missing = report(source.text, source.entry)
        readings = first_readings(reports, source.entry)
        if reports:
            used = instantiated(text.header, source.entry, source.namespace)
            compile_to_ptx(used, reports[-1].architecture)
            if "nvcc" in available_tools():
                compile_both_forms(source.text, text.header, source.namespace, reports[0].architecture)
            edited: dict[Form, str] = {"source": source.text} if text.edited else {}
            edited |= {"header": used} if text.edited_header else {}
            readings += other_readings(available_tools(), reports, edited, source.entry, source.namespace)
    except CompileError as error:
        own = [name.row.symbol for name, _ in functions_of(program) if isinstance(name.row, External)]
        if own and not text.edited:
            raise SwizzleError(
                f"the text of cuda.external does not compile without warnings:\n{error}",
                expected="CUDA C++ without warnings", fix=f"fix the text of {', '.join(own)}",
            ) from None  # fmt: skip
        if not text.edited:
            raise
        raise SwizzleError(
            f"{text.file} does not compile without warnings:\n{error}", expected="CUDA C++ without warnings",
            fix="fix the file, or print it again with `swizzle solve -o`",
        ) from None  # fmt: skip
    found.lines += [str(each) for each in reports] + missing
    least, why = least_architecture(source.text)
    found.lines += [f"needs {least} or later: {why}"] if why else []
    found.json["least_architecture"] = least
    if reports and (shared := source.shared_bytes):
        small = ", ".join(arch for arch, most in MOST_SHARED.items() if shared > most)
        less = f"; a block of {small} has less" if small else ""
        found.lines.append(f"{shared} bytes of dynamic shared memory{less}")
    if reports:
        found.lines.append("header form: compiles without warnings")
        if "nvcc" in available_tools():
            found.lines.append("both forms, host functions included: nvcc compiles them without warnings")
    if reports and (why := refused()):
        found.lines.append(f"nvcc does not compile an edited text: {why}; --trust lets it")
    if any(each.instructions is None for each in reports):
        found.lines.append(NO_DISASSEMBLER)
    found.json["architectures"] = [_report_as_json(each) for each in reports]
    found.json["not_compiled"] = missing
    return reports, readings


def _report_as_json(each: Report) -> dict[str, Any]:
    return {
        "architecture": each.architecture,
        "compiler": each.tool,
        **asdict(each.resources),
        "constant_bytes": each.constant_bytes,
        "local_memory": each.local_memory,
        "instructions": each.counts() or None,
    }


# ---- translation validation ------------------------------------------------------------------------------------


def _validate(found: Emitted, text: KernelText, validator: SizesValidator, readings: Sequence[CompilerReading]) -> None:
    """Say of each compiler's PTX whether it gives the specification's terms; alike ones on one line."""
    memo: dict[str, Validation] = {}
    groups: dict[Validation, list[CompilerReading]] = {}
    for each in readings:
        if each.kernel not in memo:
            memo[each.kernel] = validator.validate(each.ptx, each.entry)
        groups.setdefault(memo[each.kernel], []).append(each)
    found.json["translation_validation"] = []
    for validation, alike in groups.items():
        for readers, architectures in _by_readers(alike).items():
            tools, forms = list(dict.fromkeys(tool for tool, _ in readers)), {form for _, form in readers}
            of = "both forms: " if len(forms) > 1 else "header form: " if "header" in forms else ""
            what = f"{of}{' and '.join(_WHOSE[tool] for tool in tools)} PTX for {', '.join(architectures)}"
            said = _tell(found, what, text, validation, validator.sizes, alike[0])
            found.json["translation_validation"].append(
                {"architectures": architectures, "compilers": tools, "forms": sorted(forms), **said}
            )


def _by_readers(readings: Sequence[CompilerReading]) -> dict[tuple[tuple[Tool, Form], ...], list[str]]:
    """Return for which architectures the same compilers read the same forms, which are all of both where possible."""
    readers: dict[str, list[tuple[Tool, Form]]] = {}
    for each in readings:
        readers.setdefault(each.architecture, []).append((each.tool, each.form))
    found: dict[tuple[tuple[Tool, Form], ...], list[str]] = {}
    for architecture, pairs in readers.items():
        tools, forms = {tool for tool, _ in pairs}, {form for _, form in pairs}
        together = [tuple(pairs)] if len(pairs) == len(tools) * len(forms) else [(pair,) for pair in pairs]
        for pairs_together in together:
            found.setdefault(pairs_together, []).append(architecture)
    return found


def _validate_file(found: Emitted, text: KernelText, path: Path, validator: SizesValidator) -> None:
    """Validate the PTX beside a saved solution, which a project loads as it stands."""
    ptx = text_beside(path)
    validation = validator.validate(ptx, text.source.entry)
    said = _tell(found, str(path), text, validation, validator.sizes, ptx)
    if validation.verdict == "equal" and not parse(ptx)[text.source.entry].visible:
        found.lines.append(
            f"  not shown equal: its entry is not .visible, so that none is found as {text.source.entry}"
        )
        found.settle(CheckStatus.UNDECIDED)
        said["status"] = CheckStatus.UNDECIDED.word
    found.json["ptx"] = {"file": str(path), **said}


def _tell(
    found: Emitted, what: str, text: KernelText, validation: Validation, sizes: Sequence[LaunchSize],
    read: CompilerReading | str,
) -> dict[str, Any]:  # fmt: skip
    """Add a verdict of what a compiler made, or of a PTX that stands alone, to what was found; return it as JSON."""
    ptx, entry, tool = (read, text.source.entry, None) if isinstance(read, str) else (read.ptx, read.entry, read.tool)
    status, said = settled(validation, text.source, sizes, ptx)
    found.settle(status)
    found.lines.append(f"{what}: {said}")
    found.lines += [f"  {finding}" for finding in validation.findings]
    differs = arithmetic_differences(text, sizes[0], ptx, entry, tool) if validation.verdict == "equal" else ()
    if differs:
        found.lines.append(f"  as real numbers; from the printed text it differs in: {'; '.join(differs)}")
    if validation.cancels:
        found.lines.append(f"  as real numbers; {CANCELS}")
    return {
        "status": status.word,
        "outputs": validation.outputs,
        "lengths": [list(size.lengths) for size in sizes if size.lengths],
        "every_length": validation.everywhere,
        "far_blocks": list(validation.far),
        "every_block_at": validation.every_block_at,
        "long_loops": list(validation.long),
        "findings": list(validation.findings),
        "arithmetic": list(differs),
        "cancels": validation.cancels,
    }


# ---- numbers ---------------------------------------------------------------------------------------------------


def _run(found: Emitted, text: KernelText, sizes: Sequence[LaunchSize], reports: Sequence[Report]) -> None:
    """Run the text on the CPU; where that cannot be compiled, its PTX."""
    why, how = missing_compiler(), "emulation"
    tried: Compared | None = None
    if not why:
        try:
            tried = compare(sizes, on_cpu(text.source), 0)
        except CompileError as error:
            if not text.edited:
                raise
            why = f"the emulation does not compile it: {str(error).splitlines()[0]}"
    if tried is None:
        how = "PTX" if reports else "nothing"
        tried = _run_ptx(text, sizes, reports, why)
    found.lines += tried.lines
    found.settle(tried.status)
    found.json["run"] = {"how": how, "status": tried.status.word, "findings": list(tried.lines)}
    if how == "emulation":
        _try_functions(found, text, sizes)


def _try_functions(found: Emitted, text: KernelText, sizes: Sequence[LaunchSize]) -> None:
    """Run the functions that users' operators are in the text, each by itself."""
    tried = list(try_functions(sizes[0].filled.program, text.source))
    for each in tried:
        found.lines.append(str(each))
        found.settle(
            CheckStatus.DIFFERENT if each.wrong else CheckStatus.UNDECIDED if each.wrong is None else CheckStatus.EQUAL
        )
    if tried:
        found.json["operators"] = [asdict(each) for each in tried]


def _run_ptx(text: KernelText, sizes: Sequence[LaunchSize], reports: Sequence[Report], why: str) -> Compared:
    if not reports:
        return Compared(CheckStatus.UNDECIDED, (f"not run: {why}",))
    first = f"running its PTX for {reports[0].architecture} instead of the text: {why}"
    runner: Runner = on_ptx(text.source, reports[0].ptx)
    try:
        tried = compare(sizes, runner, 0)
    except NotInterpreted as error:
        return Compared(CheckStatus.UNDECIDED, (first, f"not run: not interpreted: {error}"))
    return Compared(tried.status, (first, *tried.lines))
