"""The host function of a printed text, in both forms: does it launch what it must, and refuse what it must?

What is run is the printed text. That a file's host function is the same is found by comparing them (`on_disk`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from cuda_out.compile.children import refused
from cuda_out.compile.toolchain import CompileError
from cuda_out.emulate.building import missing_compiler
from cuda_out.emulate.host import NotRun, calls, wrong_calls
from swizzle.commands.exit_status import DONE, NO, UNDECIDED
from swizzle.commands.on_disk import KernelText
from swizzle.solving.solution.words import count

SHOWN = 3
"""How many wrong calls are reported."""


class Host(Struct, frozen=True):
    """What was found out about the host function: an exit status, and lines for the user; the first one sums up."""

    status: int
    lines: tuple[str, ...]
    calls: int = 0

    def as_json(self) -> dict[str, Any]:
        word = {DONE: "equal", NO: "different", UNDECIDED: "unknown"}[self.status]
        return {"status": word, "calls": self.calls, "findings": [line.strip() for line in self.lines[1:]]}


def try_host_function(text: KernelText) -> Host:
    """Run the printed host function of a text and of its header form, with launches that are noted only; of a file in
    which something else stands nothing is known."""
    if text.unlike:
        return Host(UNDECIDED, ("host function: not known, as a file is not what is printed",))
    if why := missing_compiler():
        return Host(UNDECIDED if refused() else DONE, (f"host function: not run: {why}",))
    source, standard = text.source, list(calls(text.source))
    tried = [*standard, *standard]  # twice: what a call leaves behind, the next one may find
    for form, what in ((text.printed, "host function"), (text.printed_header, "host function of the header form")):
        try:
            wrong = wrong_calls(source, form, tried)
        except (NotRun, CompileError) as error:
            return Host(UNDECIDED, (f"{what}: not run: {str(error).splitlines()[0]}",))
        if wrong:
            said = f"{what}: wrong in {len(wrong)} of {count(len(tried), 'call')}"
            return Host(NO, (said, *_shown(wrong)), len(tried))
    said = f"grid, block, stream, arguments and errors are right in {count(len(tried), 'call')}"
    return Host(DONE, (f"host function, in both forms: {said}",), len(tried))


def _shown(wrong: Sequence[str]) -> list[str]:
    more = [f"  and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    return [f"  {each}" for each in wrong[:SHOWN]] + more
