"""`swizzle check --emitted`: the printed text itself, compiled, validated down to PTX, and run on the CPU.

Three witnesses that share little: the compiler's own PTX interpreted over symbolic data (translation validation), the
text compiled by the host's C++ compiler (emulation), and, on request, mutants that both must see.
"""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass, field
from typing import Any

from cuda_out.ptx.memory import Broken
from cuda_out.ptx.parse import NotInterpreted
from cuda_out.ptx.validate import Validation, Validator
from cuda_out.report import NO_DISASSEMBLER, Report, report
from cuda_out.toolchain import available_tools
from swizzle.commands.console import count
from swizzle.commands.emit import cuda_source
from swizzle.commands.exit_status import DONE, NO, UNDECIDED
from swizzle.commands.run import try_kernel
from swizzle.commands.target import Filled
from swizzle.commands.trial import Array, Arrays, Trial, trials
from symbolic.errors import SwizzleError
from symbolic.terms import Terms

_WORDS = {DONE: "equal", NO: "different", UNDECIDED: "unknown"}
NO_COMPILER = "not compiled for a GPU: no NVRTC and no nvcc on this machine"


@dataclass(slots=True)
class Emitted:
    """What was found out about a printed text; `status` is the worst of it."""

    status: int = DONE
    lines: list[str] = field(default_factory=list)
    json: dict[str, Any] = field(default_factory=dict)

    def settle(self, status: int) -> None:
        """Keep the worse status: 'not equal' before 'undecided' before 'equal'."""
        order = (DONE, UNDECIDED, NO)
        self.status = max(self.status, status, key=order.index)


def check_emitted(filled: Filled, *, mutate: bool = False) -> Emitted:
    """Check the printed text of a kernel that has been verified."""
    found = Emitted()
    source = cuda_source(filled.program, filled.head)
    reports: tuple[Report, ...] = ()
    if available_tools():
        reports, missing = report(source.text, source.entry)
        found.lines += [str(each) for each in reports] + missing
        if any(each.instructions is None for each in reports):
            found.lines.append(NO_DISASSEMBLER)
        found.json["architectures"] = [_report_as_json(each) for each in reports]
        found.json["not_compiled"] = missing
        _validate(found, filled, source.entry, reports)
    else:
        found.lines.append(NO_COMPILER)
    _run(found, filled, source.entry, reports)
    if mutate:
        from swizzle.commands.mutation import try_mutants

        outcome = try_mutants(filled, source)
        found.lines += outcome.lines()
        found.json["mutation"] = outcome.as_json()
        found.settle(DONE if outcome.complete else NO)
    return found


def _report_as_json(each: Report) -> dict[str, Any]:
    return {
        "architecture": each.architecture,
        "compiler": each.tool,
        **asdict(each.resources),
        "constant_bytes": each.constant_bytes,
        "local_memory": each.local_memory,
        "instructions": each.counts() or None,
    }


def _validate(found: Emitted, filled: Filled, entry: str, reports: tuple[Report, ...]) -> None:
    """Say of each architecture's PTX whether it gives the specification's terms; alike ones on one line."""
    from swizzle.search.specification import postcondition

    terms = Terms()
    validator = Validator(filled.program, postcondition(filled.program, filled.spec, terms), terms)
    groups: dict[Validation, list[Report]] = {}
    for each in reports:
        groups.setdefault(validator.validate(each.ptx, entry), []).append(each)
    verdicts = []
    for validation, alike in groups.items():
        names = [each.architecture for each in alike]
        status, text = _settled(validation, filled, entry, alike[0].ptx)
        found.settle(status)
        found.lines.append(f"PTX for {', '.join(names)}: {text}")
        found.lines += [f"  {finding}" for finding in validation.findings]
        verdicts.append(
            {
                "architectures": names,
                "status": _WORDS[status],
                "outputs": validation.outputs,
                "findings": list(validation.findings),
            }
        )
    found.json["translation_validation"] = verdicts


def _settled(validation: Validation, filled: Filled, entry: str, ptx: str) -> tuple[int, str]:
    if validation.verdict == "equal":
        return DONE, f"equal to the specification, validated for all inputs ({count(validation.outputs, 'output')})"
    if validation.broken:
        return NO, "not equal to the specification"
    wrong = _wrong_numbers(filled, entry, ptx)
    if wrong:
        return NO, f"not equal to the specification: {wrong}"
    why = "terms differ" if validation.verdict == "different" else "not everything in it is interpreted"
    return UNDECIDED, f"not shown equal: the numbers agree on random inputs, but {why}:"


def _on_numbers(filled: Filled, entry: str, ptx: str) -> tuple[Trial, ...]:
    """Run PTX on random numbers."""
    from cuda_out.ptx.run import interpret
    from swizzle.search.specification import numbers

    program = filled.program

    def specification(inputs: Arrays) -> Arrays:
        return numbers(program, filled.spec, inputs)

    def on_ptx(arrays: list[Array]) -> None:
        interpret(ptx, entry, program.grid, program.block, arrays)

    return trials(program, specification, on_ptx, 0)


def _wrong_numbers(filled: Filled, entry: str, ptx: str) -> str:
    """Return what is wrong on random numbers, '' where nothing is or where that too is not known."""
    try:
        return "; ".join(str(trial) for trial in _on_numbers(filled, entry, ptx) if not trial.equal)
    except Broken as error:
        return str(error)
    except NotInterpreted:
        return ""


def _run(found: Emitted, filled: Filled, entry: str, reports: tuple[Report, ...]) -> None:
    """Run the text on the CPU; where there is no C++ compiler, its PTX."""
    out = io.StringIO()
    try:
        status = try_kernel(filled, "cpu", "", 0, out)
        lines, how = [line.strip() for line in out.getvalue().splitlines()[1:]], "emulation"
    except SwizzleError as error:
        if "no C++ compiler" not in error.found:
            raise
        status, lines, how = _run_ptx(filled, entry, reports, error.found)
    found.lines += lines
    found.settle(status)
    found.json["run"] = {"how": how, "status": _WORDS[status], "findings": lines}


def _run_ptx(filled: Filled, entry: str, reports: tuple[Report, ...], why: str) -> tuple[int, list[str], str]:
    if not reports:
        return UNDECIDED, [f"not run: {why}"], "nothing"
    lines = [f"running its PTX for {reports[0].architecture} instead of the text: {why}"]
    try:
        tried = _on_numbers(filled, entry, reports[0].ptx)
    except Broken as error:
        return NO, [*lines, f"not equal: {error}"], "PTX"
    except NotInterpreted as error:
        return UNDECIDED, [*lines, f"not run: not interpreted: {error}"], "PTX"
    status = DONE if all(trial.equal for trial in tried) else NO
    return status, [*lines, *map(str, tried)], "PTX"
