"""`swizzle scan`: from a serial loop to a device-wide scan, whose kernels and their composition are checked."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final, TextIO

from msgspec import Struct, field

from cuda_out.c.printer import CudaSource
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.emulate import missing_compiler
from cuda_out.ptx.running.validate import Validation
from swizzle.answers.checking.emitted import NO_COMPILER
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.device_scans.cuda_text import text_of
from swizzle.answers.device_scans.device import Checked, DeviceScan, Form, device_scan
from swizzle.answers.device_scans.kernels import TILE
from swizzle.answers.device_scans.schedules import SCHEDULES, random_run, tried
from swizzle.answers.emit.emitters import PTX_ARCH, cuda_source
from swizzle.answers.emit.files import check_folder, write_all
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.status import CheckStatus, worst
from swizzle.commands.bounds import Bounds
from swizzle.commands.operator import STATUSES, as_json, beside, given_names, report
from swizzle.operators import found_of
from swizzle.solving.solution.in_words import count
from swizzle.solving.solution.version import __version__
from symbolic.errors import printable

SHOWN: Final = 300
"""Letters of a finding that are shown."""


class ScanArguments(Struct, frozen=True):
    """`swizzle scan`."""

    target: str
    overrides: Mapping[str, int] = field(default_factory=dict)
    output: Path | None = None
    emitted: bool = False
    json_object: bool = False
    quiet: bool = False
    timeout: float | None = None
    memory: int | None = None
    form: Form = "three-pass"
    backward: bool = False


def scan(arguments: ScanArguments, out: TextIO, err: TextIO) -> int:
    """Make scans of a file's serial loops, or by its operators, check their kernels, and write them."""
    if arguments.output is not None:
        check_folder(arguments.output)
    with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
        return worst(
            _scanned(given, arguments, out)
            for given in given_names(arguments.target, arguments.overrides, arguments.json_object)
        )


def _scanned(given: Any, arguments: ScanArguments, out: TextIO) -> int:
    started = time.perf_counter()
    found = found_of(given)
    if found.status != "proved":
        details: dict[str, Any] = {
            "scan": found.loop.name,
            "status": found.status,
            "operator": as_json(found),
            "files": [],
        }
        out.write(json.dumps(details, indent=2) + "\n" if arguments.json_object else report(found))
        return STATUSES[found.status]
    made = device_scan(found, arguments.form, backward=arguments.backward)
    validations = _validated(made) if arguments.emitted else {}
    status = worst(map(_status, validations.values()))
    if arguments.emitted and not validations:
        status = CheckStatus.UNDECIDED
    details = _as_json(made, validations, arguments.emitted)
    if arguments.emitted and made.form == "look-back":
        schedules = details["schedules"] = _schedules(made)
        in_order = CheckStatus.EQUAL if schedules["tried"] else CheckStatus.UNDECIDED
        status = worst([status, CheckStatus.DIFFERENT if schedules["findings"] else in_order])
    details["status"] = {
        CheckStatus.EQUAL: "proved",
        CheckStatus.DIFFERENT: "refuted",
        CheckStatus.UNDECIDED: "unknown",
    }[status]
    details["seconds"] = round(time.perf_counter() - started, 3)
    files = _files(made, details) if arguments.output is not None and status == CheckStatus.EQUAL else {}
    paths = {arguments.output / name: text for name, text in files.items()} if arguments.output is not None else {}
    write_all(paths)
    details["files"] = [str(path) for path in paths]
    if arguments.json_object:
        out.write(json.dumps(details, indent=2) + "\n")
    else:
        out.write(_report(made, validations, arguments.emitted, details))
    return status


def _files(made: DeviceScan, details: Mapping[str, Any]) -> dict[str, str]:
    head = [
        f"{made.name}, a scan of any length, made by swizzle {__version__} from the serial loop {made.name}.",
        "Each kernel was verified for all inputs against its specification, on words in order, at every length.",
        *_form_said(made),
        "That their words fit together is proved for every length.",
        f"The operator, found and proved ({made.found.domain_text}):",
        *(f"  {line}" for line in made.found.source().splitlines()),
        *(f"{title}: {said}" for title, said in beside(made.found)),
    ]
    return {
        f"{made.name}_scan.json": json.dumps(details, indent=2) + "\n",
        f"{made.name}_scan.cuh": text_of(made, head, "header"),
        f"{made.name}_scan.cu": text_of(made, head),
    }


def _form_said(made: DeviceScan) -> list[str]:
    lines = ["It goes backward: the kernels' arrays begin with the last element."] if made.backward else []
    if made.form != "look-back":
        return lines
    return [
        *lines,
        "Of the one that looks back, this is what a block does with its part; what blocks hand each other is tested.",
    ]


# ---- validation ---------------------------------------------------------------------------------------------------


def _validated(made: DeviceScan) -> dict[str, Validation]:
    """Validate the PTX of each kernel, for every block of every length."""
    if not available_tools():
        return {}
    return {each.name: _validation(each, _source(made, each)) for each in made.distinct}


def _schedules(made: DeviceScan) -> dict[str, Any]:
    """Run the kernel that looks back under schedules that are meant to break it."""
    length = made.found.loop.range.length
    why = missing_compiler() or (
        "the loop promises fewer elements than two parts" if (length or TILE**2) < 2 * TILE else ""
    )
    if why:
        return {"tried": 0, "why": f"not tried: {why}", "findings": []}
    found = tried(made.kernels[True, "linked"].kernel, *random_run(made), backward=made.backward)
    return {"tried": len(SCHEDULES), "findings": [each[:SHOWN] for each in found]}


def _status(validation: Validation) -> CheckStatus:
    """Other terms are not other numbers yet; what is undefined, or a wrong function, is."""
    return (
        CheckStatus.EQUAL
        if validation.verdict == "equal"
        else CheckStatus.DIFFERENT
        if validation.broken
        else CheckStatus.UNDECIDED
    )


def _source(made: DeviceScan, checked: Checked) -> CudaSource:
    """Return the text of a kernel that was verified: the part of one that looks back, what goes forward."""
    return cuda_source(checked.kernel.program, (), checked.tiling, vectors=not made.backward)


def _validation(checked: Checked, source: CudaSource) -> Validation:
    filled = FilledKernel(checked.kernel.program, checked.spec, (), checked.tiling)
    sizes = sizes_to_try(filled, source)[:1]  # the others are among the lengths that are proved at once
    ptx = compile_to_ptx(with_opaque_calls(source.text), PTX_ARCH)
    return SizesValidator(sizes, source).validate(ptx, source.entry)


# ---- what is said -------------------------------------------------------------------------------------------------


def _as_json(made: DeviceScan, validations: Mapping[str, Validation], emitted: bool) -> dict[str, Any]:
    kernels = []
    for each in made.distinct:
        says: dict[str, Any] = {"name": each.name, "status": "verified", "outputs": each.outputs}
        says["any_length"] = each.tiling is not None
        if each.name in validations:
            validation = validations[each.name]
            says["ptx"] = {
                "status": validation.verdict,
                "every_length": validation.everywhere,
                "findings": [each[:SHOWN] for each in validation.findings],
            }
        kernels.append(says)
    return {
        "scan": made.name,
        "status": "",
        "form": made.form,
        "backward": made.backward,
        "operator": as_json(made.found),
        "arrays": {name: dtype.value for name, dtype in (*made.levels[0].given.items(), *made.levels[0].made.items())},
        "kernels": kernels,
        "composition": dict(made.composition),
        "seconds": 0.0,
    }


def _report(made: DeviceScan, validations: Mapping[str, Validation], emitted: bool, details: Mapping[str, Any]) -> str:
    level = made.levels[0]
    given = ", ".join(f"{name}: {dtype.value}" for name, dtype in level.given.items())
    stored = ", ".join(f"{name}: {dtype.value}" for name, dtype in level.made.items())
    words = count(len(made.operator.words), "word")
    lines = [f"{made.name}: a scan of any length, {words}, {made.found.domain_text}, {details['seconds']:.2f} s"]
    lines += [f"  arrays         {given} -> {stored}"]
    lines += [f"  {title:14} {said}" for title, said in beside(made.found)]
    for each in made.distinct:
        sizes = "of one part behind others" if each.tiling is None else "at every length"
        said = f"verified for all inputs {sizes} ({count(each.outputs, 'output')} compared)"
        if each.name in validations:
            said += f"; {_told(validations[each.name])}"
        lines.append(f"  {each.name}: {said}")
    lines.append(f"  composition    {count(len(made.composition), 'claim')} on words, proved for every length")
    if "schedules" in details:
        found = details["schedules"]
        said = f"no difference in {found['tried']}" if not found["findings"] else "; ".join(found["findings"])
        lines.append(f"  schedules      {said if found['tried'] else found['why']}")
    if emitted and not validations:
        lines.append(f"  {NO_COMPILER}")
    elif not emitted:
        lines.append("  PTX            not validated: --emitted compiles the kernels and does")
    lines += [f"  written        {printable(file)}" for file in details["files"]]
    return "\n".join([*lines, ""])


def _told(validation: Validation) -> str:
    if validation.verdict == "equal":
        where = ", every block of every length" if validation.everywhere else ""
        return f"PTX equal to its specification{where}"
    return f"PTX {validation.verdict}: {'; '.join(each[:SHOWN] for each in validation.findings)}"
