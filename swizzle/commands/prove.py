"""`swizzle prove`: somebody's kernel against a specification, or against another kernel, for all inputs."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final, TextIO

from msgspec import Struct

from swizzle.answers.emit.files import check_folder
from swizzle.commands.bounds import Bounds
from swizzle.commands.output import DONE, NO, UNDECIDED
from swizzle.strangers.proving.prove import prove as proved
from symbolic.errors import SwizzleError, printable

STATUSES: Final = {"equal": DONE, "different": NO, "race": NO, "undefined": NO, "undecided": UNDECIDED}


class ProveArguments(Struct, frozen=True):
    """`swizzle prove`."""

    target: str
    specification: str | None = None
    against: str | None = None
    kernel: tuple[str, ...] = ()
    launch: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    output: Path | None = None
    json_object: bool = False
    trust: bool = False
    quiet: bool = False
    timeout: float | None = None
    memory: int | None = None


def prove(arguments: ProveArguments, out: TextIO, err: TextIO) -> int:
    """Say whether a kernel is equal to its specification or to another kernel, and what is wrong where it is not."""
    try:
        return _prove(arguments, out, err)
    except SwizzleError as error:
        if arguments.json_object:
            place = f"{error.place.file}:{error.place.line}:{error.place.column}" if error.place else None
            said = {"found": error.found, "place": place, "expected": error.expected, "fix": error.fix}
            kernel = ", ".join(arguments.kernel) or None
            out.write(json.dumps({"kernel": kernel, "verdict": "undecided", "error": said}, indent=2) + "\n")
        raise


def _prove(arguments: ProveArguments, out: TextIO, err: TextIO) -> int:
    if arguments.output is not None:
        check_folder(arguments.output)
    with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
        found = proved(
            arguments.target, arguments.specification, against=arguments.against, kernel=arguments.kernel,
            launch=arguments.launch, args=arguments.args, includes=arguments.includes,
            defines=arguments.defines, output=arguments.output,
            trust=arguments.trust,
        )  # fmt: skip
    if arguments.json_object:
        out.write(json.dumps(found.as_json(), indent=2) + "\n")
    else:
        first, *more = found.lines()
        out.write("".join(f"{line}\n" for line in (first, *(f"  {line}" for line in more))))
        out.write("".join(f"  written   {printable(file)}\n" for file in found.files))
    return STATUSES[found.verdict]
