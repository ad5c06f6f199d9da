"""What a proof says: a verdict, what it covers and assumes, and what was found wrong, with numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct, field

from symbolic.errors import printable

ProofVerdict = Literal["equal", "different", "race", "undefined", "undecided"]
_SHORT: Final = 96
_MOST_SUMMANDS: Final = 3
MOST_LISTED: Final = 64
"""So many elements of an array are listed one by one."""


class ProofFinding(Struct, frozen=True):
    """Something wrong: the array element, the line of the file (0: not known), the thread, what was found there and
    what should be; of undefined behaviour `found` says all, and nothing is wanted."""

    where: str
    line: int
    thread: str
    found: str
    wanted: str

    def __str__(self) -> str:
        if not self.wanted:
            return f"line {self.line}: {self.found}" if self.line else self.found
        parts = [f"{self.where} is {self.found}", f"wanted {self.wanted}"]
        place = ", ".join([*([f"line {self.line}"] if self.line else []), *([self.thread] if self.thread else [])])
        return "; ".join(parts) + (f" ({place})" if place else "")


class Counterexample(Struct, frozen=True):
    """Inputs on which an output element is not what it should be: arrays by name as nested lists, and the element."""

    inputs: Mapping[str, Any]
    where: str
    found: Any
    wanted: Any
    line: int = 0
    thread: str = ""
    reference: str = "the specification"

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {_shown(name, value)}" for name, value in self.inputs.items())
        return f"{given or 'no inputs'}: {self.where} is {self.found}, {self.reference} says {self.wanted}"


class FloatError(Struct, frozen=True):
    """How far floats are off at some inputs: the largest error relative to the largest output, and how many outputs are
    infinite or no number where they should be one. `far`: too far, where the specification in the same floats is near.
    What is not `plain` is told where it is worse."""

    inputs: str
    plain: bool
    scale: float
    error: float
    lost: int = 0
    far: bool = False

    def __str__(self) -> str:
        lost = f" ({self.lost} outputs are lost to infinity or NaN)" if self.lost else ""
        return f"{self.error:.1e} at {self.inputs}{lost}"


class KernelProof(Struct, frozen=True):
    """Whether a kernel is equal to its specification, or to another kernel, for all inputs: true where it is.

    `covers` says of which launches; `assumed` what was taken for granted; `why` why nothing is decided, or no more than
    one launch is covered.
    """

    kernel: str
    against: str
    verdict: ProofVerdict
    outputs: int
    launch: str
    covers: str = "launch"
    findings: tuple[ProofFinding, ...] = ()
    numbers: Counterexample | None = None
    assumed: tuple[str, ...] = ()
    errors: tuple[FloatError, ...] = ()
    why: str = ""
    seconds: float = 0.0
    files: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        return self.verdict == "equal"

    def __repr__(self) -> str:
        """Return the verdict and what was found first, in one line: pytest shows no more of an object."""
        found = self.lines()
        return found[0] if self else "; ".join(found[:2])

    def __str__(self) -> str:
        return self.explained()

    def explained(self) -> str:
        """Return the verdict and why, each in a line: `assert proof, proof.explained()`."""
        return "\n  ".join(self.lines())

    def lines(self) -> list[str]:
        """Return the verdict and why as lines of text."""
        found = [f"{self.kernel}: {self._verdict()}"]
        found += [f"{each}" for each in self.findings]
        if self.numbers is not None:
            found.append(f"numbers   {self.numbers}")
        if self.errors:
            usual = max(each.error for each in self.errors if each.plain)
            told = [each for each in self.errors if each.plain or each.far or each.lost or each.error > 4 * usual]
            found.append(f"floats    off by at most, of the largest output: {', '.join(map(str, told))}")
        if self.verdict == "equal" and self.covers != "launch":
            found.append(f"covers    {self.covers}")
        elif self.verdict == "equal" and self.why:
            found.append(f"covers    this launch: {self.why}")
        found += [f"assumes   {each}" for each in self.assumed]
        return [printable(line) for line in found]

    def _verdict(self) -> str:
        at = f"at the launch {self.launch}"
        match self.verdict:
            case "equal":
                count = f"{self.outputs} output{'s' * (self.outputs != 1)}"
                return f"equal to {self.against}, proved for all inputs {at} ({count})"
            case "different":
                return f"not equal to {self.against}, {at}"
            case "race":
                return f"a race, {at}"
            case "undefined":
                return f"undefined behaviour, {at}"
            case _:
                return f"undecided: {self.why}"

    def as_json(self) -> dict[str, Any]:
        """Return the object that `swizzle prove --json` prints."""
        numbers = self.numbers
        return {
            "kernel": self.kernel, "against": self.against, "verdict": self.verdict, "outputs": self.outputs,
            "launch": self.launch, "covers": self.covers,
            "findings": [
                {"where": each.where, "line": each.line or None, "thread": each.thread, "found": each.found,
                 "wanted": each.wanted}
                for each in self.findings
            ],
            "numbers": numbers and {
                "inputs": {name: _compact(value) for name, value in numbers.inputs.items()},
                "where": numbers.where, "found": numbers.found, "wanted": numbers.wanted,
            },
            "assumed": list(self.assumed),
            "errors": [
                {"inputs": each.inputs, "scale": each.scale, "error": each.error, "lost": each.lost}
                for each in self.errors
            ],
            "why": self.why or None, "seconds": round(self.seconds, 3), "files": list(self.files),
        }  # fmt: skip


def _compact(value: Any) -> Any:
    """Return an array as JSON has it: of many elements its shape, and those that are not 0, each with its index."""
    if not isinstance(value, list) or len(flat := list(_elements(value))) <= MOST_LISTED:
        return value
    shape = [1 + at for at in flat[-1][0]]
    return {"shape": shape, "not_zero": [[list(at), number] for at, number in flat if number]}


def apart(found: str, wanted: str) -> tuple[str, str]:
    """Return two terms as a person reads them: of sums what they do not have in common, of long lists their ends.

    >>> apart("a[0]*b[0] + a[1]*b[1] + a[2]*b[2] + a[3]*b[3]", "a[0]*b[0] + a[1]*b[1] + a[2]*b[1] + a[3]*b[3]")
    ('a[2]*b[2] + ...', 'a[2]*b[1] + ...')
    >>> apart("max(x[0], x[1], x[2], x[3], x[4], x[5])", "1")
    ('max(x[0], ..., x[5])', '1')
    """
    sums = [Counter(_summands(each)) for each in (found, wanted)]
    if min(map(len, sums)) > 3 and (same := sums[0] & sums[1]):
        found, wanted = (" + ".join([*list(each - same)[:_MOST_SUMMANDS], "..."]) for each in sums)
    return _short(found), _short(wanted)


def _summands(text: str) -> list[str]:
    """Return the parts between sums that stand in no bracket."""
    found, depth = [""], 0
    for word in re.split(r"( \+ )", text):
        if word == " + " and depth == 0:
            found.append("")
        else:
            found[-1] += word
            depth += word.count("(") - word.count(")")
    return found


def _short(text: str) -> str:
    text = re.sub(r"([^\s,()]+)(?:, [^\s,()]+){3,}, ([^\s,()]+)", r"\1, ..., \2", text)
    return text if len(text) <= 2 * _SHORT else f"{text[:_SHORT]} ... {text[-_SHORT:]}"


def _shown(name: str, value: Any) -> str:
    """Return an array's elements in words: all of a few, of many those that are not 0."""
    if not isinstance(value, list):
        return str(value)
    flat = list(_elements(value))
    if len(flat) <= 8:
        return str(value)
    numbers = {number for _, number in flat}
    if len(numbers) == 1:
        return f"all {flat[0][1]}"
    some = [(at, number) for at, number in flat if number]
    shown = ", ".join(f"[{', '.join(map(str, at))}] {number}" for at, number in some[:6])
    more = f", and {len(some) - 6} more" if len(some) > 6 else ""
    return f"0 but for {shown}{more}"


def _elements(value: Any, at: tuple[int, ...] = ()) -> Any:
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _elements(each, (*at, number))
    else:
        yield at, value
