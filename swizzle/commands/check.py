"""`swizzle check`: verify a kernel that has no holes, and on request its printed text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import indent
from typing import Any, TextIO

from msgspec import Struct, field

from swizzle.commands.arithmetic import CANCELS
from swizzle.commands.bounds import Bounds
from swizzle.commands.difference import KINDS, numeric_difference
from swizzle.commands.emitted import check_emitted
from swizzle.commands.exit_status import DONE, NO, UNDECIDED
from swizzle.commands.hosts import check_host
from swizzle.commands.target import FilledKernel, Target
from swizzle.language.specs.verify import explain_mismatch, verify
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.words import assumed, count
from symbolic.errors import SwizzleError


class CheckArguments(Struct, frozen=True):
    """`swizzle check`."""

    target: str
    overrides: Mapping[str, int] = field(default_factory=dict)
    emitted: bool = False
    mutate: bool = False
    json_object: bool = False
    quiet: bool = False
    trust: bool = False
    timeout: float | None = None
    memory: int | None = None


def check(arguments: CheckArguments, out: TextIO, err: TextIO) -> int:
    """Verify a kernel without holes, or a saved solution, for all inputs; on request try its printed text too."""

    if arguments.mutate and not arguments.emitted:
        raise SwizzleError(
            "--mutate without --emitted", expected="both: it is the printed text that is mutated",
            fix=f"swizzle check {arguments.target} --emitted --mutate",
        )  # fmt: skip
    with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
        target = Target.of(arguments.target, arguments.overrides)
        hosts, alone = target.hosts()
        if alone and len(hosts) == 1:
            if arguments.mutate:
                raise SwizzleError(
                    f"--mutate of {hosts[0].name}, a host function", expected="one of its kernels",
                    fix="give the kernel a specification of its own, and name it: FILE:NAME",
                )  # fmt: skip
            return check_host(hosts[0], out, emitted=arguments.emitted, json_object=arguments.json_object)
        filled = target.kernel(trust=arguments.trust)
        if isinstance(filled, Sketch):
            raise SwizzleError(
                f"{filled.name} has {count(len(filled.program.holes), 'hole')}",
                place=filled.program.holes[0].place,
                expected="a kernel without holes, or a saved solution (NAME.json)",
                fix=f"swizzle solve {arguments.target} -o DIR, then swizzle check DIR/{filled.name}.json",
            )
        verdict = verify(filled.program, filled.spec)
        name = filled.program.name
        if not verdict.equal:
            lines = explain_mismatch(filled.program, filled.spec)
            status, text = _unequal(filled, lines, broken=bool(verdict.violations))
            return _answer(arguments, out, name, status, text, {"findings": lines})
        covered = f"{count(verdict.elements, 'output')} of {count(verdict.blocks, 'block')}"
        text = f"{name}: equal to its specification, verified for all inputs ({covered})\n"
        text += "".join(f"  assumes {each}\n" for each in assumed(filled.program))
        text += f"  assumes real numbers: {CANCELS}\n" if verdict.cancels else ""
        status, details = DONE, dict[str, Any](outputs=verdict.elements, blocks=verdict.blocks, cancels=verdict.cancels)
        if arguments.emitted:
            saved = Path(arguments.target) if arguments.target.endswith(".json") else None
            found = check_emitted(
                filled, None if arguments.overrides else saved, mutate=arguments.mutate, trust=arguments.trust
            )
            status, details = found.status, {**details, "emitted": found.json}
            text += "".join(f"  {line}\n" for line in found.lines)
        return _answer(arguments, out, name, status, text, details)


def _answer(
    arguments: CheckArguments, out: TextIO, name: str, status: int, text: str, details: Mapping[str, Any]
) -> int:
    if arguments.json_object:
        word = {DONE: "equal", NO: "different", UNDECIDED: "unknown"}[status]
        text = json.dumps({"kernel": name, "status": word, **details}, indent=2) + "\n"
    out.write(text)
    return status


def _unequal(filled: FilledKernel, lines: Sequence[str], *, broken: bool) -> tuple[int, str]:
    """Say how a kernel differs from its specification; different terms alone leave it undecided."""

    name = filled.program.name
    found = None if broken else numeric_difference(filled.program, filled.spec)
    if found is None and not broken:
        agree = f"the numbers agree on {count(len(KINDS), 'random input')}, but the terms differ"
        text = f"{name}: not shown equal: {agree}:\n"
    else:
        text = f"{name}: not equal to its specification\n"
    text += "".join(indent(line, "  ") + "\n" for line in ([str(found)] if found else []) + list(lines))
    return (NO if found or broken else UNDECIDED), text
