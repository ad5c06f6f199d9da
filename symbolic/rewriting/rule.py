"""What a rule is, where it is applied, and the table of all rules.

A rule is one small function from a term, and where it stands, to the term that takes its place. It raises
`NotApplicable` where the term has another form, or where a side condition does not hold; each side condition has a name
under which it can be dropped, to show that it is needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, Protocol

from msgspec import Struct, field

from symbolic.expressions.expression import Expression
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import LengthFact, dividing, length_text, whole
from symbolic.patterns.terms import (
    PatternNode,
    Term,
    children,
    free,
    fresh_name,
    label_of,
    simplified,
    substitute,
    term,
)
from symbolic.patterns.text import pattern_text
from symbolic.patterns.types import ArrayOf, Typing, ValueType
from symbolic.rewriting.laws import AskLaw, OperatorLaw, prove_law
from symbolic.rewriting.nesting import Nest


class NotApplicable(Exception):
    """A rule does not apply; `condition` is the name of the side condition that does not hold, '' of another form."""

    def __init__(self, why: str, condition: str = "") -> None:
        super().__init__(why)
        self.condition = condition


class Surroundings(Struct):
    """Where a rule is applied: the types of the names around, the parallel maps around, who is asked for laws.

    `facts` are what rules have asked of lengths. Conditions in `dropped` are taken to hold.
    """

    names: Mapping[str, ValueType]
    nest: Nest = ()
    typing: Typing = field(default_factory=Typing)
    ask: AskLaw = prove_law
    dropped: frozenset[str] = frozenset()
    facts: list[str] = field(default_factory=list)

    def require(self, condition: str, holds: bool, why: str) -> None:
        """Refuse the rule where a side condition does not hold."""
        if not holds and condition not in self.dropped:
            raise NotApplicable(why, condition)

    def type_of(self, term: Term) -> ValueType:
        """Return a term's type."""
        return self.typing.type_of(term, self.names)

    def array(self, term: Term) -> ArrayOf:
        """Return the type of a term that is an array."""
        kind = self.type_of(term)
        if not isinstance(kind, ArrayOf):
            raise NotApplicable(f"{kind} is no array")
        return kind

    def divides(self, size: Expression, length: Expression) -> None:
        """Require that a size divides a length, for all values of its names or by a fact that is noted."""
        for fact in (whole(size), dividing(size, length)):
            if fact is False:
                self.require("divides", False, f"{length_text(size)} does not divide {length_text(length)}")
            if isinstance(fact, LengthFact):
                self.facts.append(str(fact))

    def law(self, law: OperatorLaw, operator: t.Lambda, array: Term, start: Term | None = None) -> None:
        """Require a law of an operator on the elements of an array, and note that it was proved."""
        if law in self.dropped:
            return
        shown = operator.name or pattern_text(operator.body, ())
        what = f"{pattern_text(start, ())} is neutral to {shown}" if start is not None else f"{shown} is {law}"
        said = self.ask(operator, law, start, self.array(array).element)
        if said.verdict == "proved":
            self.facts.append(what)
            return
        why = ", ".join(f"{name} = {value}" for name, value in sorted(said.values.items())) or said.reason
        doubt = "is not so" if said.verdict == "refuted" else "is not proved"
        raise NotApplicable(f"that {what} {doubt}{f': {why}' if why else ''}", law)


class RuleFunction(Protocol):
    """What a rule makes of a term."""

    def __call__(self, term: Term, here: Surroundings, **arguments: Any) -> Term: ...


class RewriteRule(Struct, frozen=True):
    """A rule: its figure, its law in the paper's notation, its side conditions by name, and its one function.

    `arguments` are what it is told: the names and the kinds of its function's parameters.
    """

    name: str
    figure: str
    law: str
    conditions: Mapping[str, str]
    apply: RuleFunction
    arguments: Mapping[str, str]


RULES: Final[dict[str, RewriteRule]] = {}
"""All rules by name, in the order of the figures; the modules of rules fill it."""

CONDITIONS: Final[Mapping[str, str]] = {
    "associative": "the operator is associative",
    "commutative": "the operator is commutative",
    "neutral": "the start is neutral to the operator",
    "divides": "lengths divide",
    "nesting": "the maps around it and inside it allow it",
}
"""Side conditions that several rules have."""


def rule(figure: str, law: str, *conditions: str, **own: str) -> Callable[[Callable[..., Term]], Callable[..., Term]]:
    """Enter a function into the table: the figure, the law, names of common side conditions, and its own ones."""

    def entered(function: Callable[..., Term]) -> Callable[..., Term]:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())[2:]
        kinds = {each.name: getattr(each.annotation, "__name__", str(each.annotation)) for each in parameters}
        said = {name: CONDITIONS[name] for name in conditions} | own
        RULES[function.__name__] = RewriteRule(function.__name__, figure, law, said, function, kinds)
        return function

    return entered


def another(wanted: str) -> NoReturn:
    """Refuse a term that has another form."""
    raise NotApplicable(f"no {wanted}")


# ---- functions put into others -----------------------------------------------------------------------------------


def inlined(called: t.Lambda, **values: Term) -> Term:
    """Return a function's body with values for some of its parameters.

    What would be computed several times is computed once, under a name (`Let`): so an order that is left open is one
    order.
    """
    body, lets = called.body, list[tuple[str, Term]]()
    taken = free(body).union(*(free(each) for each in values.values())) | {*called.parameters}

    def kept(value: Term, uses: int, name: str) -> Term:
        nonlocal taken
        if uses <= 1 or _cheap(value):
            return value
        fresh = fresh_name(f"{name}1", taken)
        taken |= {fresh}
        lets.append((fresh, value))
        return t.Variable(fresh)

    chosen: dict[str, Term] = {}
    for name, value in values.items():
        whole = _uses(body, name, None)
        if isinstance(value, t.Tupled) and not whole:
            items = (kept(each, _uses(body, name, place), name) for place, each in enumerate(value.items))
            chosen[name] = t.Tupled(tuple(items))
        else:
            chosen[name] = kept(value, whole + sum(_uses(body, name, place) for place in range(8)), name)
    made = simplified(term(substitute(body, chosen)))
    for fresh, value in reversed(lets):
        made = t.Let(fresh, value, made)
    return made


def _cheap(value: Term) -> bool:
    return isinstance(value, t.Variable | t.Item | t.Formula) and all(
        _cheap(each) for each in children(value) if not isinstance(each, t.Lambda)
    )


def _uses(node: PatternNode, name: str, place: int | None) -> int:
    """Return how often an item of a name is computed with, or else the name as a whole; inside a function, often."""
    if name not in free(node):
        return 0
    if isinstance(node, t.Variable):
        return int(place is None)
    if isinstance(node, t.Item) and node.of == t.Variable(name):
        return int(node.place == place)
    found = sum(_uses(each, name, place) for each in children(node))
    return 2 * found if isinstance(node, t.Lambda) else found


def labelled(node: PatternNode, suffix: str) -> str:
    """Return the label of a new position beside one, '' where that has no name."""
    name = label_of(node)
    return f"{name}_{suffix}" if name else ""


def parameter(*around: PatternNode, like: str = "c") -> str:
    """Return a name for a parameter that is free in none of some terms."""
    return fresh_name(like, frozenset().union(*map(free, around)))
