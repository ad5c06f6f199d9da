"""Every rule is proved on its own code, every side condition is needed, every lemma holds by induction."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from symbolic.expressions.formulas import Answered
from symbolic.patterns.reading import read_pattern, read_type
from symbolic.patterns.terms import (
    Lambda,
    PatternNode,
    Variable,
    canonical,
    children,
    free,
    substitute,
    term,
    with_children,
)
from symbolic.patterns.types import Typing
from symbolic.rewriting.claims import CLAIMS, OPAQUE, WITHOUT, RuleClaim
from symbolic.rewriting.derivation import arguments_of
from symbolic.rewriting.evidence import difference, evidence, rules_in_order
from symbolic.rewriting.induction import lemmas
from symbolic.rewriting.proof import prove_equal
from symbolic.rewriting.rule import RULES, Surroundings

FIGURES = {"3a", "3b", "3c", "3d", "3e", "3f", "4a", "4b", "4c", "4d", "4e"}


def test_every_rule_of_the_figures_is_there() -> None:
    """Each part of Figures 3 and 4 has a rule, and each rule has claims, and a case for each condition."""
    order = rules_in_order()
    assert {rule.figure for rule in order if rule.figure[0] in "34"} == FIGURES
    assert CLAIMS.keys() == RULES.keys()
    assert WITHOUT.keys() == {(rule.name, condition) for rule in order for condition in rule.conditions}


@pytest.mark.parametrize("name", CLAIMS)
def test_rule_is_proved_and_its_conditions_are_needed(name: str) -> None:
    """The rule's own code keeps values at all lengths; without a condition it would not, in the case that is shown."""
    found = evidence(name)
    assert [each.equality.why for each in found.claims if not each.equality.proved] == []
    assert [each.condition for each in found.conditions if not each.wrong] == []
    assert found.status == "proved"


@pytest.mark.parametrize("lemma", lemmas(), ids=lambda lemma: lemma.name)
def test_lemma_holds_by_induction(lemma: object) -> None:
    """Base and step are proved, and not without a law that they use."""
    assert lemma.proved  # type: ignore[attr-defined]


POOL = ["a", "b", "c", "p", "q", "r", "s", "v", "w", "acc", "tile", "row", "xs", "y"]
"""Names that rules use themselves, among others."""


def renamed(node: PatternNode, rng: random.Random) -> PatternNode:
    """Return a term with other names for what it binds, often those of names around it that it does not use."""
    node = with_children(node, [renamed(each, rng) for each in children(node)])
    if isinstance(node, Lambda):
        used = free(node)
        names = rng.sample([name for name in POOL if name not in used], len(node.parameters))
        body = substitute(node.body, dict(zip(node.parameters, map(Variable, names), strict=True)))
        return replace(node, parameters=tuple(names), body=body)
    return node


@pytest.mark.parametrize("name", CLAIMS)
def test_rule_does_not_depend_on_bound_names(name: str) -> None:
    """However parameters are called, a rule makes the same: it catches no name."""
    rule, rng = RULES[name], random.Random(name)
    for claim in CLAIMS[name]:
        inputs = {each: read_type(text) for each, text in claim.inputs.items()}
        before = read_pattern(claim.text, opaque=OPAQUE)

        def applied(node: PatternNode, claim: RuleClaim = claim, inputs: Any = inputs) -> PatternNode:
            proved = Answered("proved")
            here = Surroundings(inputs, claim.nest, Typing(opaque=OPAQUE), lambda *_: proved)
            return rule.apply(term(node), here, **arguments_of(rule, claim.arguments))

        wanted = canonical(applied(before))
        for _ in range(12):
            other = renamed(before, rng)
            assert canonical(other) == canonical(before)
            assert canonical(applied(other)) == wanted, other


OP = "op = lambda a, b: pow(a, b)\n"
EVERY = ("associative", "commutative", "neutral")
UNEQUAL = [
    ("map(lambda v: sqrt(v)) o x", "join o transpose o map(map(lambda v: sqrt(v))) o split(s) o x", "f32[s * s]", ()),
    ("slide(3, 1) o x", "join o map(slide(3, 1)) o slide(s + 1, s) o x", "f32[m * s + 2]", EVERY),
    (OP + "reduce(op, z) o x", OP + "reduce(op, z) o part_red(op, z, m) o x", "f32[m * s]", ("associative",)),
    (OP + "reduce(op, z) o x", OP + "reduce(op, z) o part_red(op, z, m) o x", "f32[m * s]", ("neutral",)),
    (OP + "reduce(op, z) o x", OP + "reduce(op, z) o reorder o x", "f32[n]", ("associative", "neutral")),
    (OP + "reduce(op, z) o x", "reduce(lambda a, b: pow(b, a), z) o x", "f32[n]", ("commutative",)),
    ("x", "reorder_stride(s) o x", "f32[m * s]", EVERY),
    ("map(lambda v: sqrt(v) - z) o x", "map(lambda v: z - sqrt(v)) o x", "f32[n]", EVERY),
    (OP + "scan(op, z) o x", OP + "map(lambda v: at(reduce(op, z) o x, 0)) o x", "f32[n]", EVERY),
    ("map(lambda v: at(x, 0)) o x", "map(lambda v: at(x, 1)) o x", "f32[n]", EVERY),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "kind", "laws"), UNEQUAL)
def test_what_is_not_equal_is_not_proved(first: str, second: str, kind: str, laws: tuple[str, ...]) -> None:
    """Expressions that differ somewhere are not proved equal, whatever laws there are but the missing one."""
    inputs = {"x": read_type(kind), "z": read_type("f32")}
    terms = read_pattern(first), read_pattern(second)
    assert not prove_equal(*terms, inputs, laws, ("s",)).proved


def test_differences_are_seen() -> None:
    """Values, types and nesting count."""
    inputs = {"x": read_type("f32[6]")}
    same = read_pattern("map(lambda v: v + v) o x")
    assert difference(same, read_pattern("map_seq(lambda v: 2 * v) o x"), inputs) == ""
    assert difference(same, read_pattern("map(lambda v: v * v) o x"), inputs).startswith(
        "[16, 9, 1, 36, 4, 4] where [-8, 6,"
    )
    assert difference(same, read_pattern("split(2) o x"), inputs) == "f32[3, 2] where f32[6] was"
    assert difference(same, read_pattern("map_lane(lambda v: 2 * v) o x"), inputs) == "map_lane outside map_warp"
