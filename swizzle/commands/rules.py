"""`swizzle derive --rules`: every rewrite rule with its law and its proof, made anew."""

from __future__ import annotations

import json
import time
from typing import Any, TextIO

from swizzle.commands.output import DONE, NO
from swizzle.solving.solution.in_words import count
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
