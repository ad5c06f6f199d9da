"""Write the last part of docs/rewrite-rules.md: every rule with its law, its lemmas and its conditions; the lemmas.

`python docs/make_rules.py` (or `make docs-rules`) writes it; `tests/test_docs_rewrite_rules.py` fails when it is stale.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from symbolic.rewriting.evidence import RuleEvidence, evidence, rules_in_order
from symbolic.rewriting.induction import Lemma, lemmas

PAGE: Final = Path(__file__).resolve().parent / "rewrite-rules.md"
MARK: Final = "<!-- Made by docs/make_rules.py: -->\n"
TITLES: Final = {"3": "Figure 3: algorithmic rules", "4": "Figure 4: rules for the hardware", "": "Later rules"}


def page() -> str:
    """Return the page with its last part made anew."""
    written, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{PAGE} has lost its mark"
    found = [evidence(rule.name) for rule in rules_in_order()]
    parts = [written + mark]
    for prefix, title in TITLES.items():
        some = [each for each in found if (each.rule.figure[0] if each.rule.figure[0] in "34" else "") == prefix]
        parts += [f"## {title}\n", *map(_rule, some)]
    parts += ["## Lemmas\n", *map(_lemma, lemmas())]
    return "\n".join(parts)


def _rule(found: RuleEvidence) -> str:
    rule = found.rule
    left, *right = rule.law.split(" = ", 1)
    arguments = ", ".join(rule.arguments)
    summary = (rule.apply.__doc__ or "").split(". ")[0].strip().rstrip(".")
    lines = [f"### {rule.name}({arguments})" if arguments else f"### {rule.name}", ""]
    lines += [f"Figure {rule.figure}: {summary}." if rule.figure[0] in "34" else f"{summary}.", "", "```text"]
    lines += [left, *(f"  = {part}" for part in (right[0].split(", ") if rule.name in MANY else right)), "```", ""]
    by = f", by the lemmas {_several(found.lemmas)}" if len(found.lemmas) > 1 else ""
    by = f", by the lemma {found.lemmas[0]}" if len(found.lemmas) == 1 else by
    asks = (
        f", if {_several([rule.conditions[each.condition] for each in found.conditions])}" if found.conditions else ""
    )
    lines += [f"**{found.status.capitalize()}** at all lengths{by}{asks}.", ""]
    return "\n".join(lines)


MANY: Final = ("lower_map",)
"""Rules whose right side is a list."""


def _lemma(lemma: Lemma) -> str:
    said = {"neutral": "has a neutral start"}
    laws = " and ".join(said.get(law, f"is {law}") for law in lemma.laws)
    steps = _several([step.name for step in lemma.steps])
    return f"- **{lemma.name}**: {lemma.statement}{f', where the operator {laws}' if laws else ''}. Steps: {steps}.\n"


def _several(some: list[str] | tuple[str, ...]) -> str:
    return ", ".join(some[:-1]) + f" and {some[-1]}" if len(some) > 1 else some[0]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
