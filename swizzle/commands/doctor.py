"""`swizzle doctor`: bank conflicts in a kernel of somebody's own, the layout that mends them, and its proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

from msgspec import Struct

from cuda_out.compile.children import confined
from swizzle.answers.emit.files import check_folder, write_all
from swizzle.commands.bounds import Bounds
from swizzle.commands.output import DONE, NO, UNDECIDED
from swizzle.layouts.answer import plural
from swizzle.layouts.layout import Layout, side_by_side
from swizzle.strangers.doctor.accesses import LineAccess
from swizzle.strangers.doctor.diagnosis import ArrayFindings, Diagnosis, Doctor
from swizzle.strangers.doctor.mends import Mend
from swizzle.strangers.doctor.patch import difference
from swizzle.strangers.reading.files import cuda_text
from swizzle.strangers.reading.text import CudaText
from symbolic.errors import Place, SwizzleError, printable
from symbolic.machine.accesses import BANKS

STATUSES: Final = {"clean": DONE, "mended": DONE, "none": NO, "race": NO, "undecided": UNDECIDED}
_SKETCHES: Final = (".py", ".swz", ".json")


class DoctorArguments(Struct, frozen=True):
    """`swizzle doctor`."""

    target: str
    kernel: str | None = None
    launch: str | None = None
    args: str | None = None
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    output: Path | None = None
    json_object: bool = False
    trust: bool = False
    quiet: bool = False
    timeout: float | None = None
    memory: int | None = None


class _Given(Struct, frozen=True):
    """A text to look at: under which name it is written, its flags, and for a sketch the place of each line."""

    text: CudaText
    name: str
    kernel: str | None
    launch: str | None
    args: str | None
    origins: tuple[Place | None, ...] = ()

    def place(self, line: int) -> str:
        """Return where a line of the text comes from: `FILE:LINE`."""
        origin = self.origins[line - 1] if 0 < line <= len(self.origins) else None
        return f"{origin.file}:{origin.line}" if origin is not None else f"{self.text.path}:{line or '?'}"


class PrintedKernel(Struct, frozen=True):
    """A printed kernel: its text, the place of each line in the sketch, and the flags that it is looked at with."""

    name: str
    text: str
    entry: str
    launch: str
    args: str
    origins: tuple[Place | None, ...]


Printed: TypeAlias = Callable[[str, bool], PrintedKernel]
"""Prints a kernel without open holes (`printed.py`): that is handed in, as it is slow to load."""


def doctor(arguments: DoctorArguments, printed: Printed, out: TextIO, err: TextIO) -> int:
    """Say what a kernel's accesses to memory cost, line by line, and mend its bank conflicts."""
    try:
        return _doctor(arguments, printed, out, err)
    except SwizzleError as error:
        if arguments.json_object:
            place = f"{error.place.file}:{error.place.line}:{error.place.column}" if error.place else None
            said = {"found": error.found, "place": place, "expected": error.expected, "fix": error.fix}
            out.write(json.dumps({"kernel": arguments.kernel, "verdict": "none", "error": said}, indent=2) + "\n")
        raise


def _doctor(arguments: DoctorArguments, printed: Printed, out: TextIO, err: TextIO) -> int:
    if arguments.output is not None:
        check_folder(arguments.output)
    with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
        given = _given(arguments, printed)
        _check_elsewhere(given, arguments.output)
        with confined(not arguments.trust):
            examined = Doctor(given.text, given.kernel, given.launch, given.args)
            found = examined.diagnose()
        files = _written(found, given, arguments.output)
    if arguments.json_object:
        out.write(json.dumps({**as_json(found, given), "files": files}, indent=2) + "\n")
    else:
        out.write("".join(f"{line}\n" for line in report(found, given)))
        out.write("".join(f"  written   {printable(file)}\n" for file in files))
    return STATUSES[found.verdict]


# ---- what is looked at -------------------------------------------------------------------------------------------


def _given(arguments: DoctorArguments, printed: Printed) -> _Given:
    path = Path(arguments.target)
    if Path(arguments.target.rpartition(":")[0] or arguments.target).suffix in _SKETCHES or path.suffix in _SKETCHES:
        flags: list[tuple[str, object]]
        flags = [("--kernel", arguments.kernel), ("--launch", arguments.launch), ("--args", arguments.args)]
        flags += [("-I", arguments.includes or None), ("-D", arguments.defines or None)]
        if more := [name for name, value in flags if value is not None]:
            raise SwizzleError(
                f"{more[0]} for a sketch, which says this itself", expected="no such flag",
                fix=f"swizzle doctor {arguments.target}",
            )  # fmt: skip
        made = printed(arguments.target, arguments.trust)
        shown = CudaText(f"{made.name}.cu", made.text)
        return _Given(shown, shown.path, made.entry, made.launch, made.args, made.origins)
    read = cuda_text(
        path, arguments.includes, arguments.defines, expected="a CUDA file, or a sketch without open holes",
        fix="swizzle doctor kernel.cu --launch 2x2,32x8 --args 'f32[64,64],f32.out[64,64]'",
    )  # fmt: skip
    return _Given(read, path.name, arguments.kernel, arguments.launch, arguments.args)


# ---- what is said ------------------------------------------------------------------------------------------------


def as_json(found: Diagnosis, given: _Given) -> dict[str, Any]:
    """Return what was found as JSON has it."""
    shared = [each for each in found.accesses if each.space == "shared"]
    names = {each.region: each for each in found.arrays}
    return {
        "kernel": found.kernel,
        "launch": found.launch and str(found.launch),
        "accesses": [
            {
                "array": names[each.array].name,
                "place": given.place(each.line),
                "kind": each.kind,
                "bits": each.bits,
                "passes": each.passes(),
                "least": names[each.array].asked.least_of(each),
            }
            for each in shared
        ],
        "sectors": [
            {
                "array": each.array,
                "place": given.place(each.line),
                "kind": each.kind,
                "bits": each.bits,
                "sectors": each.sectors,
                "least": each.least_sectors,
            }
            for each in found.accesses
            if each.space == "global"
        ],
        "mends": [_mend_as_json(array, mend) for array in found.arrays for mend in array.mends],
        "verdict": "none" if found.verdict == "undecided" else found.verdict,
        "why": found.why or "; ".join(f"{each.name}: {each.why}" for each in found.arrays if each.why) or None,
        "example": found.example or None,
        "not_run": [given.place(line) for line in found.not_run],
        "not_read": given.text.own_headers_left_out,
        "patch": difference(given.text, found.patched, given.name) if found.patched else None,
    }


def _mend_as_json(array: ArrayFindings, mend: Mend) -> dict[str, Any]:
    return {
        "array": array.name,
        "kind": mend.kind,
        "formula": mend.layout.formula,
        "passes": array.turns_of(mend),
        "bytes": mend.bytes,
        "operations": mend.operations,
        "proved": {"same": mend.kind in array.proved, "least": array.is_fewest(mend)},
        "chosen": mend is array.chosen,
    }


def report(found: Diagnosis, given: _Given) -> list[str]:
    """Return what was found as lines of text."""
    lines = [f"{found.kernel}: {_verdict(found)}"]
    if found.launch is not None:
        touched = (
            f"; nothing says the {found.launch.dynamic} bytes, as many as it touches" if found.launch.touched else ""
        )
        lines.append(
            f"  launch    {found.launch}" + (f", from {found.launch.said}" if found.launch.said else "") + touched
        )
    if found.example:
        lines.append(f"  example   all of this is said of one example, random numbers: {found.example}")
    if left_out := given.text.own_headers_left_out:
        lines.append(f"  not read  {', '.join(left_out)}: all of this is said of the file without it")
    if found.not_run:
        places = ", ".join(map(given.place, found.not_run))
        lines.append(
            f"  not run   {places}: no thread of this launch accesses shared memory there; nothing is said of it"
        )
    names = {each.region: each for each in found.arrays}
    rows = []
    for each in found.accesses:
        name = names[each.array].name if each.space == "shared" else each.array
        cost = _turns(each, names[each.array]) if each.space == "shared" else _sectors(each)
        rows.append((given.place(each.line), f"{each.kind} {each.bits} bits", name, cost))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines += [
        "    " + "  ".join((*(f"{part:{w}}" for part, w in zip(row, widths, strict=False)), row[3])) for row in rows
    ]
    for array in found.arrays:
        if array.mends:
            lines.append(f"  mends of {array.name}, which takes {plural(array.passes, 'turn')}")
            lines += [f"    {_mend(array, mend)}" for mend in array.mends]
        if array.why:
            lines.append(f"  {array.name} is not mended: {array.why}")
    if found.patched:
        lines += [f"  proved    {PROOF[0]}", f"            {PROOF[1]}"]
        lines.append("  patch")
        lines += difference(given.text, found.patched, given.name).splitlines()
    return [printable(line) for line in lines]


PROOF: Final = (
    "compiled and run again, for all inputs of this launch: every access is the one that it was, at the place",
    "that the layout gives; vectors are whole, no two cells share a place, the outputs are the same, no race",
)


def _verdict(found: Diagnosis) -> str:
    now, least = (sum(getattr(each, part) for each in found.arrays) for part in ("passes", "least"))
    why = f": {found.why}" if found.why else ""
    match found.verdict:
        case "clean":
            return "no bank conflicts" if found.arrays else "no shared memory"
        case "race":
            conflicts = f"; {plural(now, 'turn')}, at least {least} are needed" if now > least else ""
            return f"a {found.why}{conflicts}; nothing is changed"
        case "mended":
            after = sum(each.mended_passes for each in found.arrays)
            fewest = all(
                each.is_fewest(each.chosen) if each.chosen else each.passes == each.least for each in found.arrays
            )
            best = "and no layout takes fewer" if fewest else f"at least {least} are needed"
            if any(each.chosen and each.chosen.apart for each in found.arrays):
                best = f"where {least} are needed if vectors stay whole"
            return f"bank conflicts: {now} turns become {after}, {best}"
        case "none":
            return f"bank conflicts: {plural(now, 'turn')}, which no layout that was tried makes fewer"
        case _ if not found.accesses:
            return f"undecided: {found.why}"
        case _ if all(each.passes == each.phases for each in found.arrays) and found.why:
            return f"undecided: {found.why}; no bank conflicts"
        case _ if all(each.passes == each.phases for each in found.arrays):
            return "undecided: no bank conflicts on an example of data"
        case _:
            return f"{plural(now, 'turn')}, at least {least} are needed; nothing is changed{why}"


def _turns(access: LineAccess, array: ArrayFindings) -> str:
    passes, phases, least = access.passes(), len(access.phases()), array.asked.least_of(access)
    if passes == phases:
        return f"{plural(passes, 'turn')}, no conflict"
    whole = " of whole elements" if array.asked.parts > 1 else ""
    best = f"as few as any layout{whole} takes" if passes == least else f"at best {least}"
    return f"{plural(passes, 'turn')} of {plural(phases, 'phase')}, {best}"


def _sectors(access: LineAccess) -> str:
    sectors, least = access.sectors, access.least_sectors
    return (
        f"{plural(sectors, 'sector')} of 32 bytes, {'as few as possible' if sectors == least else f'at best {least}'}"
    )


def _mend(array: ArrayFindings, mend: Mend) -> str:
    fewest = "the fewest of any layout" if mend.least else f"at least {array.least} are needed"
    if mend.apart:
        fewest = f"{array.least} are needed if vectors stay whole"
    more = f"{plural(mend.bytes, 'byte')} more" if mend.bytes >= 0 else f"{plural(-mend.bytes, 'byte')} less"
    tried = mend.kind in array.refused or array.chosen is None
    state = "proved" if mend.kind in array.proved else "not proved" if tried else "not tried"
    if mend.apart:
        state += ", elements instead of vectors"
    if (again := array.turns_of(mend) - mend.passes) > 0:
        state += f"; {plural(again, 'turn')} more for what the compiler loads once more, or no longer as a vector"
    what = f"{mend.kind:7}{mend.layout.formula}: {plural(mend.passes, 'turn')}, {fewest}"
    table = f", in a table that takes {plural(mend.waits, 'turn')} itself" if mend.layout.table_bytes else ""
    return f"{what}; {more}{table}, {plural(mend.operations, 'operation')}; {state}"


# ---- files -------------------------------------------------------------------------------------------------------


def _check_elsewhere(given: _Given, output: Path | None) -> None:
    """Raise SwizzleError where the mended file would overwrite the one that is looked at."""
    mended = None if output is None else output / given.name
    if mended is not None and mended.exists() and Path(given.text.path).exists() and mended.samefile(given.text.path):
        raise SwizzleError(
            f"{mended} is the file itself", expected="another folder for the mended file", fix="-o mended"
        )


def _written(found: Diagnosis, given: _Given, output: Path | None) -> list[str]:
    """Write the mended file, and a picture of each array that was mended."""
    if output is None or not found.patched:
        return []
    mended = output / given.name
    contents = {mended: found.patched}
    for array in found.arrays:
        if array.chosen is not None:
            layout = array.chosen.layout
            plain = Layout(layout.shape, layout.bits, layout.order)
            tiles = [("before", plain.banks()), (f"after, {array.chosen.kind}", layout.banks())]
            title = f"the banks of {array.name} in {found.kernel}"
            contents[output / f"{mended.stem}.{array.name}.svg"] = side_by_side(tiles, title, BANKS)
    write_all(contents)
    return [str(path) for path in contents]
