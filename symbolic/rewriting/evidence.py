"""The evidence for the rules: each proved once, for all lengths; each side condition shown to be needed.

A rule's own function is run on the expressions that are claimed of it (`claims.py`), and both sides are proved equal
(`proof.py`), with no law of the operator but those that the rule has asked for. Without a condition the same function
is run on a case that does not meet it: what comes out has another value, none, or an illegal nesting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from symbolic.errors import SwizzleError
from symbolic.expressions.formulas import Answered
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import needed
from symbolic.patterns.meaning import Values, value_of_term
from symbolic.patterns.reading import read_pattern, read_type
from symbolic.patterns.terms import PatternNode, Term, children, substitute, term
from symbolic.patterns.text import pattern_text
from symbolic.patterns.types import ArrayOf, TupleOf, Typing, ValueType, array_of, same_type
from symbolic.rewriting.claims import CLAIMS, OPAQUE, SIZES, WITHOUT, RuleClaim
from symbolic.rewriting.derivation import arguments_of
from symbolic.rewriting.induction import proved_lemmas
from symbolic.rewriting.laws import OperatorLaw
from symbolic.rewriting.nesting import faults
from symbolic.rewriting.proof import Equality, follows, prove_equal, prove_order
from symbolic.rewriting.rule import RULES, NotApplicable, RewriteRule, Surroundings


class ProvedClaim(Struct, frozen=True):
    """An expression, what the rule makes of it, and whether they were proved equal."""

    before: str
    after: str
    equality: Equality


class NeededCondition(Struct, frozen=True):
    """A side condition, a case without it, and what goes wrong there; '' where nothing does."""

    condition: str
    before: str
    after: str
    wrong: str


class RuleEvidence(Struct, frozen=True):
    """All evidence for a rule."""

    rule: RewriteRule
    claims: tuple[ProvedClaim, ...]
    conditions: tuple[NeededCondition, ...]

    @property
    def status(self) -> Literal["proved", "not proved"]:
        """Whether the rule is proved, and each of its conditions needed."""
        proved = self.claims and all(each.equality.proved for each in self.claims)
        needed = {each.condition for each in self.conditions if each.wrong} == self.rule.conditions.keys()
        return "proved" if proved and needed and proved_lemmas().issuperset(self.lemmas) else "not proved"

    @property
    def lemmas(self) -> tuple[str, ...]:
        """The lemmas that its proof uses."""
        found = {lemma for each in self.claims for lemma in each.equality.lemmas}
        return tuple(sorted(found | ({"iterate"} if self.rule.name == "iterate_split" else set())))


def proved_claims(rule: RewriteRule) -> Iterator[ProvedClaim]:
    """Prove a rule on all that is claimed of it."""
    for claim in CLAIMS[rule.name]:
        inputs = {name: read_type(text) for name, text in claim.inputs.items()}
        before = read_pattern(claim.text, opaque=OPAQUE)
        asked: set[str] = set()

        here = Surroundings(inputs, claim.nest, Typing(opaque=OPAQUE), partial(_assumed, asked))
        after = rule.apply(before, here, **arguments_of(rule, claim.arguments))
        yield compared(before, after, inputs, asked)
        if isinstance(after, t.Iterate) and rule.name == "part_iterate" and not isinstance(before, t.Iterate):
            yield from _rounds(after, inputs, asked)


def _assumed(asked: set[str], operator: t.Lambda, law: OperatorLaw, start: Term | None, element: ValueType) -> Answered:
    """Say that an operator has a law, and note that it was asked for."""
    asked.add(law)
    return Answered("proved")


def compared(before: Term, after: Term, inputs: Mapping[str, ValueType], laws: set[str]) -> ProvedClaim:
    """Compare two expressions: their types, and their values."""
    first, second = Typing(opaque=OPAQUE), Typing(opaque=OPAQUE)
    texts = pattern_text(before, inputs), pattern_text(after, inputs)
    try:
        kinds = first.type_of(before, inputs), second.type_of(after, inputs)
    except SwizzleError as error:
        return ProvedClaim(*texts, Equality(False, (), error.found))
    more = [fact for fact in needed(second.facts) if not follows(fact, first.facts, SIZES)]
    if more:
        return ProvedClaim(*texts, Equality(False, (), f"nobody says that {more[0]}"))
    if not same_type(*kinds):
        return ProvedClaim(*texts, Equality(False, (), f"{kinds[1]} where {kinds[0]} is"))
    if isinstance(before, t.Reorder) and not is_open(after):  # any order will do
        return ProvedClaim(*texts, prove_order(before.array, after, dict(inputs), SIZES))
    return ProvedClaim(*texts, prove_equal(before, after, dict(inputs), laws, SIZES))


def is_open(node: PatternNode) -> bool:
    """Tell whether an expression has an order that is left open."""
    return isinstance(node, t.Reorder) or any(map(is_open, children(node)))


def _rounds(after: t.Iterate, inputs: Mapping[str, ValueType], laws: set[str]) -> Iterator[ProvedClaim]:
    """Prove one more round, whatever the rounds before it have reduced: so it holds of any number of rounds."""
    (name,) = after.function.parameters
    for text, start in (("part_red(add, z, m) o x", "part_red(add, z, m * s) o x"), ("x", "part_red(add, z, n) o x")):
        operator = "add = lambda a, b: op(a, b)\n"
        before = read_pattern(operator + text, opaque=OPAQUE)
        started = read_pattern(operator + start, opaque=OPAQUE)
        body = started if text == "x" else term(substitute(after.function.body, {name: started}))
        kinds = {**inputs, "x": read_type("f32[n]" if text == "x" else "f32[m * s * p]")}
        yield compared(before, body, kinds, laws)


def needed_conditions(rule: RewriteRule) -> Iterator[NeededCondition]:
    """Show what goes wrong without each side condition of a rule."""
    for condition in rule.conditions:
        claim = WITHOUT[rule.name, condition]
        yield without(rule, condition, claim)


def without(rule: RewriteRule, condition: str, claim: RuleClaim) -> NeededCondition:
    """Run a rule without a condition on a case that does not meet it."""
    inputs = {name: read_type(text) for name, text in claim.inputs.items()}
    before = read_pattern(claim.text)
    arguments = arguments_of(rule, claim.arguments)
    shown = pattern_text(before, inputs)
    try:
        rule.apply(before, Surroundings(inputs), **arguments)
        return NeededCondition(condition, shown, "", "")
    except NotApplicable as refused:
        if refused.condition != condition:
            return NeededCondition(condition, shown, "", "")
    after = rule.apply(before, Surroundings(inputs, dropped=frozenset({condition})), **arguments)
    return NeededCondition(condition, shown, pattern_text(after, inputs), difference(before, after, inputs))


def difference(before: Term, after: Term, inputs: Mapping[str, ValueType]) -> str:
    """Return in which way an expression is not another one, on small data; '' where no difference is seen."""
    for _, why in faults(after):
        return why
    try:
        kinds = [Typing().type_of(each, inputs) for each in (before, after)]
    except SwizzleError as error:
        return error.found
    if not same_type(*kinds):
        return f"{kinds[1]} where {kinds[0]} was"
    for seed in range(8):
        data = {name: sample(kind, at + seed) for at, (name, kind) in enumerate(inputs.items())}
        for order in (np.arange, evens_first):
            try:
                first, second = value_of_term(before, data, {}), value_of_term(after, data, {}, order)
            except SwizzleError as error:
                return f"no value: {error.found}"
            if not same_values(first, second):
                return f"{_text(second)} where {_text(first)} was, of {_text(next(iter(data.values())))}"
    return ""


def sample(kind: ValueType, at: int = 0) -> Values:
    """Return small whole numbers of a type: an input whose lengths are numbers."""
    shape: list[int] = []
    inner = kind
    while isinstance(inner, ArrayOf):
        shape.append(inner.length.value)
        inner = inner.element
    if isinstance(inner, TupleOf):
        return tuple(sample(array_of(each, *shape), at + 1 + place) for place, each in enumerate(inner.items))
    count = int(np.prod(shape, initial=1))
    step = (7, 3, 5, 2, 8, 6, 4, 9)[at % 8]
    return ((np.arange(count) * step + 3 * at) % 11 - 4.0).reshape(shape)


def same_values(a: Values, b: Values) -> bool:
    """Tell whether two values are the same numbers."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return isinstance(a, tuple) and isinstance(b, tuple) and all(map(same_values, a, b))
    return bool(np.shape(a) == np.shape(b) and np.array_equal(a, b, equal_nan=True))


def evens_first(count: int) -> Any:
    """Return an order of so many elements that is not the one that they have: every other one, then the others."""
    return np.r_[0:count:2, 1:count:2]


def _text(value: Values) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    written: Any = {"all": lambda number: f"{number:g}"}
    return " ".join(np.array2string(np.asarray(value) + 0, separator=", ", threshold=8, formatter=written).split())


def rules_in_order() -> list[RewriteRule]:
    """Return all rules: those of Figure 3, those of Figure 4, and later ones."""
    return sorted(RULES.values(), key=lambda rule: rule.figure if rule.figure[0] in "34" else "5")


def evidence(name: str) -> RuleEvidence:
    """Return all evidence for a rule, made anew."""
    rule = RULES[name]
    return RuleEvidence(rule, tuple(proved_claims(rule)), tuple(needed_conditions(rule)))
