"""`swizzle operator`: from a serial loop to the operator of a scan or reduction, with the laws that were proved."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

from msgspec import Struct, field

from swizzle.answers.emit.files import check_folder, write_all
from swizzle.answers.status import worst
from swizzle.commands.bounds import Bounds
from swizzle.commands.output import DONE, NO, UNDECIDED
from swizzle.commands.target import split_target
from swizzle.language.operators import Operator, TypedOperator
from swizzle.operators import DerivedOperator, Found, found_of
from swizzle.operators.carrier import spelled
from swizzle.operators.loop import Domain
from swizzle.operators.proof import LawProof
from swizzle.operators.serial import Serial
from swizzle.sketches.loading import load_names
from swizzle.solving.solution.in_words import count
from swizzle.solving.solution.version import __version__
from symbolic.errors import SwizzleError, near, printable
from symbolic.expressions.formulas import MORE
from symbolic.expressions.text import text_of

STATUSES: Final = {"proved": DONE, "refuted": NO, "unknown": UNDECIDED}
TITLES: Final = {
    "step": "step", "associative": "associative", "left_identity": "left identity",
    "right_identity": "right identity", "commutative": "commutative", "idempotent": "idempotent",
    "self_inverse": "self-inverse",
}  # fmt: skip
ByName: TypeAlias = Serial | Operator | TypedOperator | DerivedOperator


class OperatorArguments(Struct, frozen=True):
    """`swizzle operator`."""

    target: str
    overrides: Mapping[str, int] = field(default_factory=dict)
    domain: Domain = "words"
    emit: tuple[str, ...] | None = None
    output: Path | None = None
    json_object: bool = False
    quiet: bool = False
    timeout: float | None = None
    memory: int | None = None
    effort: float = 1.0


def operator(arguments: OperatorArguments, out: TextIO, err: TextIO) -> int:
    """Find the operators of a file's serial loops, judge its own operators, and prove their laws."""
    if arguments.emit and arguments.output is None:
        raise SwizzleError("--emit without -o", expected="a folder to write to", fix="-o DIR")
    if arguments.output is not None:
        check_folder(arguments.output)
    with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
        MORE.set(arguments.effort)
        statuses = []
        for given in given_names(arguments.target, arguments.overrides, arguments.json_object):
            found = found_of(given, arguments.domain)
            files = _written(found, arguments)
            if arguments.json_object:
                out.write(json.dumps({**as_json(found), "files": files}, indent=2) + "\n")
            else:
                said = [f"  written        {printable(file)}\n" for file in files]
                if arguments.output is not None and not files:
                    said = [f"  not written    {_why_not_written(found)}\n"]
                out.write(report(found) + "".join(said))
            statuses.append(STATUSES[found.status])
    return worst(statuses)


def _written(found: Found, arguments: OperatorArguments) -> list[str]:
    """Write a proved operator of a loop into the output folder, and return the files."""
    if arguments.output is None or found.status != "proved" or found.written_down:
        return []
    from swizzle.operators.cub import cub
    from swizzle.operators.python_texts import DIALECTS, python_text

    head = [f"The operator of {found.loop.name}, found and proved by swizzle {__version__}: {found.domain_text}."]
    head += [f"{title}: {said}" for title, said in beside(found)]
    head += found.source().splitlines()
    contents: dict[Path, str] = {}
    for kind in arguments.emit or ("cub",):
        if kind in DIALECTS:
            path = arguments.output / f"{found.loop.name}_{kind}.py"
            contents[path] = python_text(found.with_identity, kind, head)
        else:
            contents[arguments.output / f"{found.loop.name}.cuh"] = cub(found.with_identity, head)
    write_all(contents)
    return list(map(str, contents))


def _why_not_written(found: Found) -> str:
    if found.status != "proved":
        return f"{found.loop.name} is not proved"
    return "an @operator is your own function; `swizzle scan` writes kernels of it"


def given_names(target: str, overrides: Mapping[str, int], single: bool) -> list[ByName]:
    """Return the serial loops and operators that FILE[:NAME] names; one, where only a `single` one will do."""
    path, selector = split_target(target)
    refused: dict[str, SwizzleError] = {}
    everything = load_names(path, overrides, refused)
    for name, error in refused.items():
        if selector in (None, name):
            raise error
    named = {name: each for name, each in everything.items() if isinstance(each, ByName)}
    if not named:
        raise SwizzleError(
            f"{path} has no serial loop, and no operator",
            expected="@serial or @operator above a function, at the file's top level",
            fix="docs/from-a-loop-to-a-scan.md begins with one",
        )
    if selector is not None and selector not in named:
        raise SwizzleError(
            f"{path} has no serial loop or operator {selector}",
            expected=f"one of {', '.join(named)}",
            fix=near(selector, named) or f"write {path}:{next(iter(named))}",
        )
    chosen = list(named.values()) if selector is None else [named[selector]]
    if single and len(chosen) > 1:
        raise SwizzleError(
            f"{path} holds {len(chosen)} serial loops and operators: {', '.join(named)}",
            expected="one, for one JSON object",
            fix=f"name it: {path}:{next(iter(named))}",
        )
    return chosen


# ---- what is said ------------------------------------------------------------------------------------------------


def as_json(found: Found) -> dict[str, Any]:
    """Return what was found as JSON has it."""
    laws = {} if found.proofs is None else found.proofs.laws
    return {
        "operator": found.loop.name,
        "status": found.status,
        "words": 0 if found.carrier is None else len(found.carrier.words),
        "laws": {name: laws[name].verdict if name in laws else None for name in TITLES},
        "domain": found.domain_text,
        "witness": found.witness or None,
        "overflow": found.overflow or None,
        "divisors": list(found.divisors),
        "cancelled": {name: list(some) for name, some in found.loop.cancelled.items()},
        "compared_apart": found.loop.compared_apart,
        "witnesses": {name: law.witness for name, law in laws.items() if law.witness},
        "seconds": round(found.seconds, 3),
        "kind": "" if found.carrier is None else found.carrier.how,
        "source": "" if found.carrier is None else found.source(),
    }


def report(found: Found) -> str:
    """Return what was found as a text."""
    loop, carrier, proofs = found.loop, found.carrier, found.proofs
    state = ", ".join(f"{name}: {dtype.value}" for name, dtype in loop.state.items())
    stated = [f"  state          {state}"] if state else []
    if carrier is None or proofs is None:
        what = "not decided" if found.undecided else "no operator was found"
        lines = [f"{loop.name}: {what}, {found.seconds:.2f} s", *stated]
        lines += [f"  tried          {each}" for each in found.tried]
        lines += [f"  witness        {found.witness}"] if found.witness else []
        return "\n".join([*lines, f"  next           {found.next_step}", ""])
    size = count(len(carrier.words), "word")
    lines = [f"{loop.name}: {found.status}, {size}, {found.domain_text}, {found.seconds:.2f} s", *stated]
    if not found.written_down:
        lines += [f"  found          {carrier.how}", textwrap.indent(found.source(), "    ")]
    lines += [f"  {title:14} {_law(proofs.laws[name])}" for name, title in TITLES.items() if name in proofs.laws]
    lines += [f"  {title:14} {said}" for title, said in beside(found)]
    if found.empty is not None:
        ours, own = (", ".join(map(str, each)) for each in found.empty)
        lines.append(f"  no element     the result is {ours}, and the loop's {own}: for one element or more")
    if found.written_down and proofs.identity is not None:
        lines.append(f"  identity       {', '.join(repr(each) for each in proofs.identity.values())}")
    if found.ranges is not None and found.ranges.verdict == "proved":
        lines.append(f"  no overflow    {'; '.join(found.ranges.bounds)}")
    elif found.status != "proved":
        lines += [f"  witness        {found.witness}"] if found.witness else []
        lines += [f"  overflow       {found.overflow}"] if found.overflow else []
        lines.append(f"  next           {found.next_step}")
    return "\n".join([*lines, ""])


def beside(found: Found) -> Iterator[tuple[str, str]]:
    """Yield what laws over real numbers leave out of floating-point ones, each with its title."""
    for name, some in found.loop.cancelled.items():
        step = found.loop.step.get(name)
        what = f"{name} is {text_of(step)}" if step is not None and step.constant else name
        yield "rounding", f"{what}: what it leaves of {', '.join(map(spelled, some))}, which cancel, is dropped"
    if found.loop.compared_apart:
        comparisons = count(found.loop.compared_apart, "comparison")
        yield "tests of NaN", f"not all tests before {comparisons} were looked at; --effort looks at more"
    if found.divisors:
        yield "divides by", f"{'; '.join(found.divisors)}: proved wherever it is not 0"


def _law(law: LawProof) -> str:
    if law.verdict == "proved":
        return "proved" + (", of words that elements make" if law.on_carrier else "")
    about = law.witness or law.reason
    return f"{law.verdict}: {about}" if about else law.verdict
