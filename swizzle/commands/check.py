"""`swizzle check`: verify a kernel that has no holes, and on request its printed text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO

from msgspec import Struct, field

from swizzle.answers.checking.checked import check_kernel
from swizzle.commands.bounds import Bounds
from swizzle.commands.hosts import check_host
from swizzle.commands.target import Target
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.in_words import count
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
        filled = target.kernel(trust=arguments.trust, printed=arguments.emitted)
        if isinstance(filled, Sketch):
            raise SwizzleError(
                f"{filled.name} has {count(len(filled.program.holes), 'hole')}",
                place=filled.program.holes[0].place,
                expected="a kernel without holes, or a saved solution (NAME.json)",
                fix=f"swizzle solve {arguments.target} -o DIR, then swizzle check DIR/{filled.name}.json",
            )
        saved = Path(arguments.target) if arguments.target.endswith(".json") and not arguments.overrides else None
        found = check_kernel(filled, saved, emitted=arguments.emitted, mutate=arguments.mutate, trust=arguments.trust)
        out.write(json.dumps(found.as_json(), indent=2) + "\n" if arguments.json_object else f"{found}\n")
        return found.status
