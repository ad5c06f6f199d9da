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
from swizzle.answers.checking.on_disk import KernelText
from swizzle.answers.status import CheckStatus
from swizzle.solving.solution.in_words import count

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
