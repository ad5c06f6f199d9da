"""`swizzle derive`: the rewrite rules of patterns, and the kernels that a file derives by them.

`--rules` lists every rewrite rule with its law and its proof, made anew.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Final, TextIO

from msgspec import Struct, field
from msgspec.structs import replace

from swizzle.answers.emit.files import check_folder, write_all
from swizzle.answers.status import worst
from swizzle.commands.bounds import Bounds
from swizzle.commands.output import DONE, MISTAKE, NO
from swizzle.commands.report import MISMATCH
from swizzle.commands.solve import SolveArguments, solve
from swizzle.commands.target import split_target
from swizzle.derive.patterns.continuing import goes_on, goes_on_lines
from swizzle.derive.patterns.declared import DeclaredDerivation
from swizzle.derive.patterns.deriving import (
    DerivedAnswer,
    LoweredDerivation,
    derivations_of,
    lowered,
    replayed,
    solved,
)
from swizzle.derive.patterns.search import PatternSearch, searched
from swizzle.solving.solution.in_words import cost_text, count
from symbolic.errors import SwizzleError, printable
from symbolic.patterns.text import pattern_text
from symbolic.rewriting.evidence import RuleEvidence, evidence, rules_in_order
from symbolic.rewriting.induction import Lemma, lemmas


def show_rules(json_object: bool, out: TextIO) -> int:
    """Prove all rules and print what is known of each; the status says whether each is proved."""
    started = time.perf_counter()
    found = [evidence(rule.name) for rule in rules_in_order()]
    proved = all(each.status == "proved" for each in found) and all(lemma.proved for lemma in lemmas())
    seconds = time.perf_counter() - started
    if json_object:
        said = {
            "rules": [_rule_data(each) for each in found], "lemmas": [_lemma_data(each) for each in lemmas()],
            "status": "proved" if proved else "not proved", "seconds": round(seconds, 3),
        }  # fmt: skip
        out.write(json.dumps(said, indent=2) + "\n")
    else:
        out.write("\n\n".join([*map(_rule_text, found), *map(_lemma_text, lemmas())]) + "\n\n")
        out.write(
            f"{count(len(found), 'rule')} and {count(len(lemmas()), 'lemma')}: "
            f"{'all proved' if proved else 'not all proved'} in {seconds:.1f} s\n"
        )
    return DONE if proved else NO


def _rule_text(found: RuleEvidence) -> str:
    rule = found.rule
    arguments = ", ".join(rule.arguments)
    lines = [
        f"{rule.figure}  {rule.name}{f'({arguments})' if arguments else ''}: {found.status}",
        f"    {rule.law}",
    ]
    how = "element by element" + (f", by {', '.join(found.lemmas)}" if found.lemmas else "")
    lines.append(f"    {count(len(found.claims), 'claim')} at all lengths, {how}")
    lines += [
        f"    not proved: {_line(each.before)} = {_line(each.after)}: {each.equality.why}"
        for each in found.claims
        if not each.equality.proved
    ]
    for each in found.conditions:
        wrong = each.wrong or "nothing goes wrong"
        lines.append(f"    if {rule.conditions[each.condition]}; without: {_line(each.before)} gives {wrong}")
    return "\n".join(lines)


def _lemma_text(lemma: Lemma) -> str:
    said = {"neutral": "has a neutral start"}
    laws = (
        f", where the operator {' and '.join(said.get(law, f'is {law}') for law in lemma.laws)}" if lemma.laws else ""
    )
    return "\n".join([
        f"lemma  {lemma.name}: {'proved' if lemma.proved else 'not proved'} by induction",
        f"    {lemma.statement}{laws}",
    ])  # fmt: skip


def _line(text: str) -> str:
    return text.splitlines()[-1]


def _rule_data(found: RuleEvidence) -> dict[str, Any]:
    return {
        "name": found.rule.name, "figure": found.rule.figure, "law": found.rule.law,
        "arguments": list(found.rule.arguments), "status": found.status, "lemmas": list(found.lemmas),
        "claims": [
            {"before": each.before, "after": each.after, "proved": each.equality.proved, "why": each.equality.why}
            for each in found.claims
        ],
        "conditions": [
            {
                "name": each.condition, "means": found.rule.conditions[each.condition], "before": each.before,
                "after": each.after, "wrong": each.wrong,
            }
            for each in found.conditions
        ],
    }  # fmt: skip


def _lemma_data(lemma: Lemma) -> dict[str, Any]:
    return {
        "name": lemma.name, "statement": lemma.statement, "laws": lemma.laws,
        "steps": [{"name": step.name, "status": step.status()} for step in lemma.steps],
    }  # fmt: skip


VERDICTS: Final = {DONE: "proved", NO: "refuted"}
"""What an exit status of the solver says of a derived kernel; of others, it is undecided."""


class DeriveArguments(Struct, frozen=True):
    """`swizzle derive`."""

    target: str | None = None
    overrides: Mapping[str, int] = field(default_factory=dict)
    script: Path | None = None
    rules: bool = False
    search: int | None = None
    output: Path | None = None
    json_object: bool = False
    quiet: bool = False
    timeout: float | None = None
    memory: int | None = None


def derive(arguments: DeriveArguments, out: TextIO, err: TextIO) -> int:
    """Prove the rewrite rules, and show them; or derive the kernels of a file, solve and prove them, and write them."""
    if arguments.rules:
        with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
            return show_rules(arguments.json_object, out)
    if arguments.target is None:
        raise SwizzleError(
            "nothing to derive", expected="a file with derivations, or --rules",
            fix="swizzle derive FILE, or swizzle derive --rules",
        )  # fmt: skip
    if arguments.output is not None:
        check_folder(arguments.output)
    path, selector = split_target(arguments.target)
    statuses, mistakes = list[int](), list[SwizzleError]()
    bounds = Bounds(arguments.timeout, arguments.memory)
    with redirect_stdout(err), bounds.hold(), _beside(path):
        declared = derivations_of(str(path), selector, arguments.overrides, mistakes)
        if len(declared) > 1 and (arguments.json_object or arguments.script or arguments.search):
            raise SwizzleError(
                f"{path} holds {count(len(declared), 'derivation')}: {', '.join(each.name for each in declared)}",
                expected="one, for one JSON object, script or search", fix=f"name it: {path}:{declared[0].name}",
            )  # fmt: skip
        if arguments.search and declared:
            return _searched(declared[0], arguments, out, err)
        made: list[LoweredDerivation] = []
        for one in declared:
            with _kept(mistakes):
                made.append(lowered(one, _progress(one, arguments)))
        for each in made:
            with _kept(mistakes):
                statuses.append(_told(each, solved(each, _solver(arguments, err, each.progress.holes)), arguments, out))
    for mistake in mistakes:
        print(mistake, file=err)
    return MISTAKE if mistakes else worst(statuses)


@contextmanager
def _kept(mistakes: list[SwizzleError]) -> Iterator[None]:
    """Keep the mistake of one derivation for later, and go on with the others."""
    try:
        yield
    except SwizzleError as mistake:
        mistakes.append(mistake)


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Find modules beside a file, from which its specification may import; Swizzle's own come first."""
    folder = str(path.resolve().parent)
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _told(
    made: LoweredDerivation, answer: DerivedAnswer, arguments: DeriveArguments, out: TextIO,
    search: PatternSearch | None = None,
) -> int:  # fmt: skip
    files = _written(made, answer, arguments.output)
    out.write(_as_json(made, answer, files, search) if arguments.json_object else _report(made, answer, files, search))
    return answer.status


def _searched(declared: DeclaredDerivation, arguments: DeriveArguments, out: TextIO, err: TextIO) -> int:
    """Rank candidates of a specification, and prove the best that can be proved."""
    assert arguments.search is not None
    found = searched(declared, arguments.search)
    for each in found.ranked:
        answer = solved(each.made, _solver(arguments, err, ()))
        if answer.status == DONE:
            return _told(each.made, answer, arguments, out, found)
    if not found.ranked:
        raise SwizzleError(
            f"none of {count(found.tried, 'candidate')} can be lowered", place=declared.place,
            expected="lengths that chunks divide, and maps or reductions", fix="try more, or write a derivation",
        )  # fmt: skip
    best = found.ranked[0].made
    return _told(best, solved(best, _solver(arguments, err, ())), arguments, out, found)


def _progress(declared: DeclaredDerivation, arguments: DeriveArguments) -> Any:
    if arguments.script is None:
        return declared.derived()
    try:
        script = json.loads(arguments.script.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SwizzleError(
            f"{arguments.script} cannot be read: {error}", expected="a derivation that `swizzle derive -o` wrote",
            fix="write it again",
        ) from None  # fmt: skip
    return replayed(declared, script, str(arguments.script))


def _solver(arguments: DeriveArguments, err: TextIO, holes: Collection[str]) -> Any:
    def run(target: str, folder: Path) -> tuple[int, str]:
        out = StringIO()
        asked = SolveArguments(
            target,
            output=folder if arguments.output else None,
            json_object=True,
            quiet=True,
            timeout=arguments.timeout,
            memory=arguments.memory,
            cost=("conflicts",) if "layout" in holes else ("accumulates",),
        )
        status = solve(asked, out, err)
        solved = json.loads(out.getvalue()).get("status") == "sat"  # at the least cost or not
        return DONE if solved else status, out.getvalue()

    return run


def _written(made: LoweredDerivation, answer: DerivedAnswer, folder: Path | None) -> list[str]:
    if folder is None or answer.status == NO:
        return []
    contents = {folder / name: text for name, text in answer.files.items()}
    write_all(contents)
    return [str(path) for path in contents]


def _as_json(made: LoweredDerivation, answer: DerivedAnswer, files: list[str], search: PatternSearch | None) -> str:
    derivation = made.progress.derivation
    return json.dumps({
        "derivation": made.declared.name,
        "steps": [
            {"number": each.number, "rule": each.rule, "figure": each.figure, "at": each.at, "facts": list(each.facts)}
            for each in derivation.steps
        ],
        "expression": pattern_text(derivation.now, list(derivation.inputs)),
        "kernels": list(made.kernels.names),
        "verdict": VERDICTS.get(answer.status, "undecided"),
        "specification_goes_on": {
            own: {"of": "the traced expression", "block": block, "proved": proved}
            for own, (block, proved) in _goes_on(made, answer.said).items()
        },
        "solution": answer.said,
        "files": files,
    }, indent=2) + "\n"  # fmt: skip


def _report(made: LoweredDerivation, answer: DerivedAnswer, files: list[str], search: PatternSearch | None) -> str:
    said, name, steps = answer.said, made.declared.name, made.progress.derivation.steps
    verdict = VERDICTS.get(answer.status, "undecided")
    proved = "equal to its specification, verified for all inputs" if verdict == "proved" else verdict
    kernels = f" ({' then '.join(made.kernels.names)})" if made.kernels.host else ""
    lines = [f"{name}: derived in {count(len(steps), 'step')}, {proved}{kernels}"]
    if search is not None:
        sizes = ", ".join(f"{own} = {value}" for own, value in made.declared.lengths.items())
        some = f"{search.structures} structures of {count(len(search.explored.reached), 'expression')}"
        lines.append(f"  search  {some}, {count(search.candidates, 'candidate')}; {search.tried} tried")
        lines.append(f"          {search.refused} refused; the best of the rest, by what warps move, has {sizes}")
    width = max((len(each.rule) for each in steps), default=0)
    for each in steps:
        given = ", ".join(f"{own}={value}" for own, value in each.arguments.items())
        more = [f"at {each.at}" if each.at else "", given, "; ".join(each.facts)]
        lines.append(
            "  ".join([f"  {each.number:3}", f"{each.figure:11}", f"{each.rule:{width}}", *filter(None, more)]).rstrip()
        )
    lines += [f"  {hole['name']} = {hole['formula']}" for hole in _holes(said)]
    lines += [
        f"  cost    {cost_text({own: cost})}, {'' if said['proved'].get(own) else 'not '}proved minimal"
        for own, cost in said.get("cost", {}).items() if own in ("conflicts", "clocks")
    ]  # fmt: skip
    lines += [f"  {line}" for line in said.get("certificate", {}).get(MISMATCH, ()) if verdict == "refuted"]
    lines += [f"  {finding}" for finding in said.get("findings", ())]
    lines += [f"  wrote   {printable(file)}" for file in files]
    if sizes := _sizes(said):
        lines.append(f"  sizes   {sizes}")
    spec = made.declared.function.name
    lines += [f"          {line}" for line in goes_on_lines(spec, _goes_on(made, said))]
    return "\n".join(lines) + "\n"


def _holes(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    holes = said.get("holes") or []
    return [each for own in holes.values() for each in own] if isinstance(holes, dict) else list(holes)


def _goes_on(made: LoweredDerivation, said: Mapping[str, Any]) -> Mapping[str, tuple[int, bool]]:
    found = _found_sizes(said)
    specification, _ = replace(made.declared, start=None).traced()
    return goes_on(specification, made.declared.types, found) if found.get("any_length") else {}


def _found_sizes(said: Mapping[str, Any]) -> Mapping[str, Any]:
    return said.get("sizes") or said.get("certificate", {}).get("sizes") or {}


def _sizes(said: Mapping[str, Any]) -> str:
    """Return the line of a kernel's lengths."""
    found = _found_sizes(said)
    if not found:
        return ""
    if not found["any_length"]:
        return f"fixed: {found['why']}"
    arrays = ", ".join(f"{name}[{', '.join(extents)}]" for name, extents in found["shapes"].items() if extents)
    more = [
        f"{name} a multiple of {own['multiple_of']}" for name, own in found["lengths"].items() if own["multiple_of"] > 1
    ]
    more += [
        f"{name} at least {own['at_least']}"
        for name, own in found["lengths"].items() if own["at_least"] > own["multiple_of"]
    ]  # fmt: skip
    return f"any length: {arrays}" + (f"; {', '.join(more)}" if more else "")
