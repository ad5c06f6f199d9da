"""Derivations as data: an expression, and numbered steps that each apply a rule at a position with a name.

    d = PatternDerivation(expression, inputs)
    d.apply("reduce_part", parts="n / s").apply("part_split", at="add_part", size="s")

A position is named by a label, or by what the user calls a function. A rule is applied where it stands, or else inside
it, or else around it; where several places are left, the step says which. After each step the type is the same, and no
parallel map stands where it may not. A derivation is saved as JSON and replayed, and refused at a step that does not
hold any more.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from symbolic.errors import SwizzleError, near, shown
from symbolic.expressions.expression import Expression
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import facts_text, length, length_text, needed
from symbolic.patterns.reading import read_length, read_pattern, read_type
from symbolic.patterns.terms import (
    Applying,
    PatternNode,
    Term,
    canonical,
    children,
    fresh_name,
    label_of,
    operands,
    term,
    with_children,
)
from symbolic.patterns.text import pattern_text
from symbolic.patterns.types import Typing, ValueType, same_type
from symbolic.rewriting import algorithmic, later, low_level
from symbolic.rewriting.laws import AskLaw, prove_law
from symbolic.rewriting.nesting import Nest, faults, with_map
from symbolic.rewriting.rule import RULES, NotApplicable, RewriteRule, Surroundings

assert algorithmic and low_level and later  # they fill the table

MOST: Final = 64
"""No rule is told a larger count of rounds, width of vectors or place in a tuple."""

Path: TypeAlias = tuple[int, ...]


class Position(Struct, frozen=True):
    """A term inside an expression, the way to it, and what is around it."""

    path: Path
    term: Term
    names: Mapping[str, ValueType]
    nest: Nest


RulePlace: TypeAlias = tuple[Position, Term, list[str]]
"""Where a rule applies, what it makes there, and the facts that it uses."""


class DerivationStep(Struct, frozen=True):
    """A step: what was applied where, the facts that it uses, and which part it has changed."""

    number: int
    rule: str
    at: str
    arguments: Mapping[str, Any]
    facts: tuple[str, ...]
    path: Path
    changed: Term
    kept: tuple[Term, ...]

    @property
    def figure(self) -> str:
        """The rule's figure."""
        return RULES[self.rule].figure


def positions(
    whole: Term, names: Mapping[str, ValueType], typing: Typing | None = None, only: Path | None = None
) -> Iterator[Position]:
    """Yield every term in an expression, each before what it is made of, or the one that a path leads to."""
    typing = typing or Typing()
    waiting: list[tuple[PatternNode, Path, Mapping[str, ValueType], Nest]] = [(whole, (), names, ())]
    while waiting:
        node, path, names, nest = waiting.pop()
        if not isinstance(node, t.Lambda) and only in (None, path):
            yield Position(path, node, names, nest)
        inner = []
        for place, each in enumerate(children(node)):
            if only is not None and only[: len(path) + 1] != (*path, place):
                continue
            inside = names if isinstance(node, t.Lambda) else typing.inner_names(node, place, names)
            inner.append((each, (*path, place), inside, with_map(nest, node) if isinstance(each, t.Lambda) else nest))
        waiting += reversed(inner)


def replaced_at(node: PatternNode, path: Path, made: Term) -> PatternNode:
    """Return an expression with another term at a position."""
    if not path:
        return made
    first, *rest = path
    inner = list(children(node))
    inner[first] = replaced_at(inner[first], tuple(rest), made)
    return with_children(node, inner)


def arguments_of(rule: RewriteRule, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule's arguments as it takes them; sizes may be numbers or texts."""
    if unknown := [name for name in given if name not in rule.arguments]:
        raise SwizzleError(
            f"{rule.name} has no argument `{unknown[0]}`", expected=", ".join(rule.arguments) or "none",
            fix=near(unknown[0], rule.arguments) or "leave it out",
        )  # fmt: skip
    found = dict(given)
    kinds = {name: each.annotation for name, each in inspect.signature(rule.apply, eval_str=True).parameters.items()}
    for name, value in given.items():
        kind = kinds[name]
        some = tuple(get_args(kind))
        if kind is Expression and not isinstance(value, Expression):
            if type(value) is not int or value < 1:
                if not isinstance(value, str):
                    raise _wrong(rule, name, value, "a whole number that is at least 1, or a text such as n / 4")
                found[name] = read_length(value)
            else:
                found[name] = length(value)
        elif some and value not in some:
            raise _wrong(rule, name, value, f"one of {', '.join(map(str, some))}")
        elif kind is int and (type(value) is not int or not 0 <= value <= MOST):
            raise _wrong(rule, name, value, f"a whole number from 0 to {MOST}")
        elif isinstance(kind, type) and not isinstance(value, kind):
            raise _wrong(rule, name, value, "a text" if kind is str else "True or False")
    return found


def _wrong(rule: RewriteRule, name: str, value: object, expected: str) -> SwizzleError:
    return SwizzleError(f"{rule.name} with {name}={shown(value)}", expected=expected, fix=f"give it another {name}")


class PatternDerivation(Struct):
    """An expression, the types of its inputs, and the steps that have led from it to `now`."""

    start: Term
    inputs: Mapping[str, ValueType]
    ask: AskLaw = prove_law
    steps: list[DerivationStep] = field(default_factory=list)
    expressions: list[Term] = field(default_factory=list)
    typing: Typing = field(default_factory=Typing)
    """The types of all expressions, with the facts that they need."""
    _inside: Typing = field(default_factory=Typing)
    _positions: list[Position] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.typing.type_of(self.start, self.inputs)
        self.expressions = self.expressions or [self.start]

    def copy(self) -> PatternDerivation:
        """Return the same derivation, which may go on otherwise."""
        typing = Typing()
        typing.facts = dict(self.typing.facts)
        return PatternDerivation(self.start, self.inputs, self.ask, [*self.steps], [*self.expressions], typing)

    @property
    def now(self) -> Term:
        """The expression that the steps have led to."""
        return self.expressions[-1]

    @property
    def facts(self) -> list[str]:
        """What the lengths must meet."""
        return facts_text(needed(self.typing.facts))

    def positions(self) -> list[Position]:
        """Return every term in what the steps have led to, each before what it is made of."""
        if not self._positions or self._positions[0].term is not self.now:
            self._positions = list(positions(self.now, self.inputs, self._inside))
        return self._positions

    def places(self, rule: str, at: str = "", **arguments: Any) -> list[RulePlace]:
        """Return where a rule applies, at a name, inside or around it."""
        known = _rule(rule)
        return self._places(known, at, arguments_of(known, arguments), self.positions())[0]

    def apply(self, rule: str, at: str = "", nth: int | None = None, **arguments: Any) -> PatternDerivation:
        """Apply a rule at a position; raises SwizzleError where it does not apply, or at several places."""
        known = _rule(rule)
        given = arguments_of(known, arguments)
        found, why = self._places(known, at, given, self.positions())
        where = f" at {at}" if at else ""
        if not found:
            raise SwizzleError(
                f"{rule} ({known.figure}) does not apply{where}{f': {why}' if why else ''}", expected=known.law,
                fix="another position, or other arguments",
            )  # fmt: skip
        if len(found) > 1 and nth is None:
            names = ", ".join(label_of(position.term) or type(position.term).__name__ for position, _, _ in found)
            raise SwizzleError(
                f"{rule} ({known.figure}) applies at {len(found)} places{where}: {names}", expected="one",
                fix="name the position (at=...), or say which of them (nth=0)",
            )  # fmt: skip
        if nth is not None and not 0 <= nth < len(found):
            raise SwizzleError(f"nth={nth} of {len(found)} places", expected="one that there is", fix="nth=0")
        self._add(known, at, given, found[nth or 0])
        return self

    def apply_first(self, some: Iterable[Position], rule: str, named: bool = False, **arguments: Any) -> None:
        """Apply a rule at the first of some positions where it applies; raises NotApplicable, of a condition if any.

        The step is said to be where the position is `named`.
        """
        known = _rule(rule)
        given = arguments_of(known, arguments)
        refused: list[NotApplicable] = []
        for position in some:
            if (found := self._applied(known, position, given, refused)) is not None:
                at = label_of(position.term).split("+")[0] if named else ""
                return self._add(known, at, given, found)
        raise next((each for each in refused if each.condition), refused[0] if refused else NotApplicable(""))

    def apply_at(self, path: Path, rule: str, **arguments: Any) -> None:
        """Apply a rule at one position; raises SwizzleError where it does not apply."""
        try:
            self.apply_first(positions(self.now, self.inputs, self._inside, path), rule, **arguments)
        except NotApplicable as why:
            raise SwizzleError(
                f"{rule} does not apply there: {why}", expected=RULES[rule].law, fix="another position"
            ) from None

    def _applied(
        self, rule: RewriteRule, position: Position, arguments: Mapping[str, Any], refused: list[NotApplicable]
    ) -> RulePlace | None:
        """Return what a rule makes at a position; what it is refused for is noted."""
        here = Surroundings(position.names, position.nest, self._inside, self.ask)
        try:
            return position, rule.apply(position.term, here, **arguments), here.facts
        except NotApplicable as why:
            refused.append(why)
            return None

    def _places(
        self, rule: RewriteRule, at: str, arguments: Mapping[str, Any], every: list[Position]
    ) -> tuple[list[RulePlace], str]:
        """Return where a rule applies, at a name, inside or around it; else why it does not."""
        refused: list[NotApplicable] = []
        for tier in _tiers(every, at):
            some = (self._applied(rule, position, arguments, refused) for position in tier)
            if found := [each for each in some if each is not None]:
                return found, ""
        if at and not any(_tiers(every, at)):
            names = sorted({name for each in every for name in label_of(each.term).split("+")} - {""})
            return [], f"there is no `{at}`; there are {', '.join(names) or 'no names'}"
        return [], next((str(each) for each in refused if each.condition), "")

    def _nth(self, step: DerivationStep, before: Term) -> int | None:
        """Return which it is of the places at its name where a step's rule applies; None where it is the only one."""
        rule = RULES[step.rule]
        every = list(positions(before, self.inputs, self._inside))
        found, _ = self._places(rule, step.at, arguments_of(rule, step.arguments), every)
        paths = [position.path for position, _, _ in found]
        return paths.index(step.path) if len(paths) > 1 else None

    def _add(self, rule: RewriteRule, at: str, given: Mapping[str, Any], found: RulePlace) -> None:
        position, made, facts = found
        made = term(_told_apart(made, _labels(self.now), _labels(position.term)))
        whole = term(replaced_at(self.now, position.path, made))
        was, before = self.typing.type_of(self.now, self.inputs), dict(self.typing.facts)
        try:
            kind = self.typing.type_of(whole, self.inputs)
            if not same_type(kind, was):
                raise SwizzleError(f"{rule.name} gives {kind}", expected=f"{was}, as before", fix="another position")
            for _, wrong in faults(whole):
                raise SwizzleError(
                    wrong, expected="maps as the grid's hierarchy nests them", fix="another position, or kind"
                )
        except SwizzleError:
            self.typing = Typing()
            self.typing.facts = before
            raise
        new = [str(each) for each in needed(self.typing.facts) if each not in before]
        shown = {name: length_text(value) if isinstance(value, Expression) else value for name, value in given.items()}
        used = tuple(dict.fromkeys([*facts, *new]))
        number = len(self.steps) + 1
        kept = tuple(operands(position.term))
        self.steps.append(DerivationStep(number, rule.name, at, shown, used, position.path, made, kept))
        self.expressions.append(whole)

    # -- saved and shown ---------------------------------------------------------------------------------------------

    def as_data(self) -> dict[str, Any]:
        """Return the derivation as data for JSON."""
        return {
            "inputs": {name: str(kind) for name, kind in self.inputs.items()},
            "expression": pattern_text(self.start, self.inputs),
            "steps": [
                {
                    "number": step.number, "rule": step.rule, "figure": step.figure, "at": step.at,
                    "nth": self._nth(step, before), "arguments": dict(step.arguments), "facts": list(step.facts),
                    "expression": pattern_text(after, self.inputs),
                }
                for step, (before, after) in zip(self.steps, pairwise(self.expressions), strict=True)
            ],
        }  # fmt: skip

    def text(self) -> str:
        """Return the steps as text: of each the figure, the expression with the changed part marked, and the facts."""
        lines = [f"     {_last(pattern_text(self.start, self.inputs))}"]
        for step, after in zip(self.steps, self.expressions[1:], strict=True):
            marked = _last(pattern_text(after, self.inputs, step.changed, step.kept))
            said = "".join(f", {name}={value}" for name, value in step.arguments.items())
            facts = f"; {', '.join(step.facts)}" if step.facts else ""
            lines += [
                f"{step.number:3}. {marked}",
                f"     {step.figure}: {step.rule}{f' at {step.at}' if step.at else ''}{said}{facts}",
            ]
        return "\n".join(lines)


def replay(data: str | Mapping[str, Any], ask: AskLaw = prove_law) -> PatternDerivation:
    """Return a saved derivation, each step taken again; raises SwizzleError at one that does not hold any more."""
    saved = json.loads(data) if isinstance(data, str) else data
    try:
        inputs = {name: read_type(text) for name, text in saved["inputs"].items()}
        made = PatternDerivation(read_pattern(saved["expression"]), inputs, ask)
        for step in saved["steps"]:
            try:
                made.apply(step["rule"], step["at"], step["nth"], **step["arguments"])
            except SwizzleError as error:
                raise SwizzleError(
                    f"step {step['number']} does not hold any more: {error.found}",
                    expected=error.expected,
                    fix=error.fix,
                ) from None
            wanted = step.get("expression")
            if wanted and canonical(read_pattern(wanted)) != canonical(made.now):
                raise SwizzleError(
                    f"step {step['number']} does not hold any more: {step['rule']} gives "
                    f"{_last(pattern_text(made.now, inputs))}",
                    expected=_last(wanted), fix="derive it again",
                )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SwizzleError(
            f"a derivation without {error}", expected="inputs, expression, steps", fix="save one with as_data()"
        ) from None
    return made


def _rule(name: str) -> RewriteRule:
    if name not in RULES:
        raise SwizzleError(f"no rule is called `{name}`", expected=", ".join(RULES), fix=near(name, RULES) or "another")
    return RULES[name]


def _labels(node: PatternNode) -> frozenset[str]:
    own = frozenset(label_of(node).split("+")) - {""}
    return own.union(*map(_labels, children(node)))


def _told_apart(node: PatternNode, known: frozenset[str], own: frozenset[str]) -> PatternNode:
    """Return what a rule has made with other labels for new positions that are called as one is already."""
    old = children(node)
    new = [_told_apart(each, known, own) for each in old]
    made = node if all(a is b for a, b in zip(new, old, strict=True)) else with_children(node, new)
    if not isinstance(made, Applying) or not made.label:
        return made
    names = [fresh_name(name, known) if name in known and name not in own else name for name in made.label.split("+")]
    label = "+".join(names)
    return made if label == made.label else replace(made, label=label)


def _last(text: str) -> str:
    return text.splitlines()[-1]


def _tiers(every: list[Position], at: str) -> Iterator[list[Position]]:
    """Yield the positions of a name; what stands inside them; what stands around them."""
    if not at:
        yield every
        return
    own = [each for each in every if at in label_of(each.term).split("+")]
    inside = {each.path for each in own}
    yield own
    yield [
        each for each in every
        if each.path not in inside and any(each.path[: len(path)] == path for path in inside)
    ]  # fmt: skip
    yield [
        each for each in reversed(every)
        if each.path not in inside and any(path[: len(each.path)] == each.path for path in inside)
    ]  # fmt: skip
