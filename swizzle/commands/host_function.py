"""The host function of a printed text, in both forms: does it launch what it must, and refuse what it must?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from cuda_out.c.kernel_text import parameters
from cuda_out.compile.children import refused
from cuda_out.compile.toolchain import CompileError
from cuda_out.emulate.building import missing_compiler
from cuda_out.emulate.host import NoHostFunction, NotRun, calls, wrong_calls
from swizzle.commands.exit_status import DONE, NO, UNDECIDED
from swizzle.commands.on_disk import KernelText
from swizzle.solution.words import count

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
    """Run the host function of a text and of its header form, with launches that are noted only."""
    if why := missing_compiler():
        return Host(UNDECIDED if refused() else DONE, (f"host function: not run: {why}",))
    source, tried = text.source, list(calls(text.source))
    forms = [(source.text, "host function")]
    if parameters(text.header, source.entry) == parameters(
        source.text, source.entry
    ):  # a text may be for one size only
        forms.append((text.header, "host function of the header form"))
    for form, what in forms:
        try:
            wrong = wrong_calls(source, form, tried)
        except NoHostFunction as error:
            return Host(DONE, (f"{what}: {error}",))
        except (NotRun, CompileError) as error:
            return Host(UNDECIDED, (f"{what}: not run: {str(error).splitlines()[0]}",))
        if wrong:
            said = f"{what}: wrong in {len(wrong)} of {count(len(tried), 'call')}"
            return Host(NO, (said, *_shown(wrong)), len(tried))
    said = "grid, block, stream, arguments and errors are right"
    both = ", in both forms" if len(forms) > 1 else ""
    return Host(DONE, (f"host function{both}: {said} in {count(len(tried), 'call')}",), len(tried))


def _shown(wrong: Sequence[str]) -> list[str]:
    more = [f"  and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    return [f"  {each}" for each in wrong[:SHOWN]] + more
