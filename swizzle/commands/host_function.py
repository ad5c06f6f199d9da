"""The host function of a printed text, in both forms: does it launch what it must, and refuse what it must?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from cuda_out.c.kernel_text import code, parameters
from cuda_out.compile.children import refused
from cuda_out.compile.toolchain import CompileError
from cuda_out.emulate.building import missing_compiler
from cuda_out.emulate.compared import calls_compared
from cuda_out.emulate.host import NoHostFunction, NotRun, calls, calls_named, keeps_state, wrong_calls
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
    source, standard = text.source, list(calls(text.source))
    forms = [(source.text, "host function", text.printed)]
    if parameters(text.header, source.entry) == parameters(
        source.text, source.entry
    ):  # a text may be for one size only
        forms.append((text.header, "host function of the header form", text.printed_header))
    count_of_calls = 0
    for form, what, printed in forms:
        try:
            # What is as printed knows no other lengths than those that cut its blocks.
            edited = code(form) != code(printed)
            own = [*calls_named(source, form, printed), *calls_compared(source, form)] if edited else []
            tried = [*standard, *own, *standard]  # twice: what a call leaves behind, the next one may find
            wrong = wrong_calls(source, form, tried)
            kept = keeps_state(source, form, printed)
        except NoHostFunction as error:
            return Host(DONE, (f"{what}: {error}",))
        except (NotRun, CompileError) as error:
            return Host(UNDECIDED, (f"{what}: not run: {str(error).splitlines()[0]}",))
        count_of_calls = max(count_of_calls, len(tried))
        if wrong:
            said = f"{what}: wrong in {len(wrong)} of {count(len(tried), 'call')}"
            return Host(NO, (said, *_shown(wrong)), len(tried))
        if kept:
            said = f"{what}: right in {count(len(tried), 'call')}, and not known of others: it is no function of its"
            return Host(UNDECIDED, (f"{said} arguments alone, by {kept!r}",), len(tried))
    said = "grid, block, stream, arguments and errors are right"
    both = ", in both forms" if len(forms) > 1 else ""
    return Host(DONE, (f"host function{both}: {said} in {count(count_of_calls, 'call')}",), count_of_calls)


def _shown(wrong: Sequence[str]) -> list[str]:
    more = [f"  and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    return [f"  {each}" for each in wrong[:SHOWN]] + more
