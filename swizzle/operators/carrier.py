"""What takes the place of a loop's state where parts of its input are gone through apart: words that combine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from swizzle.operators.loop import Domain, Loop, name_of, sort_in
from symbolic.expressions.expression import TRUE, Expression, subexpressions, substituted
from symbolic.expressions.formulas import Sort
from symbolic.expressions.meaning import function_of
from symbolic.expressions.text import text_of
from symbolic.ir.program import DType

Values = Mapping[str, Expression]
GUESSED = "found by search"
"""How an operator was found that fits examples."""


@dataclass(frozen=True)
class Carrier:
    """A loop as an operator: `lift` makes words of one element, `combine` of the words of two parts those of both.

    `combine` is over the names `a.WORD` and `b.WORD`, the part that comes first and the one behind it; `state` and
    `result` are the loop's, over words. `infinite` are the words that may be an infinity, with its sign. All words that
    elements make meet `within`. `identity` are the words of no element, where there are such. `how` says where it comes
    from.
    """

    loop: Loop
    words: Mapping[str, DType]
    lift: Values
    combine: Values
    state: Values
    result: tuple[Expression, ...]
    how: str
    infinite: Mapping[str, int] = field(default_factory=dict)
    within: Expression = TRUE
    identity: Values | None = None

    @property
    def exact(self) -> bool:
        """Whether what it computes has the same laws on words that wrap: no sum is compared, and none is infinite."""
        if self.infinite:
            return False
        nodes = [node for each in self.combine.values() for node in subexpressions(each)]
        compared = [node for node in nodes if node.operator in ("max", "min", "<", "<=")]
        return not any(inner.operator in ("+", "*") for node in compared for inner in subexpressions(node))

    def part(self, side: str) -> dict[str, Expression]:
        """Return the words of one part, as `combine` names them."""
        return {word: name_of(f"{side}.{word}", dtype) for word, dtype in self.words.items()}

    def combined(self, first: Values, second: Values) -> dict[str, Expression]:
        """Return the words of two parts together."""
        values = {f"a.{word}": each for word, each in first.items()}
        values |= {f"b.{word}": each for word, each in second.items()}
        return {word: substituted(each, values) for word, each in self.combine.items()}

    def sorts(self, domain: Domain, sides: Sequence[str]) -> dict[str, Sort]:
        """Return the sorts of the words of some parts, and of an element."""
        found = self.loop.sorts(domain)
        for word, dtype in self.words.items():
            found |= {f"{side}.{word}": sort_in(domain, dtype, mixed=self.loop.mixed) for side in sides}
        return found

    def infinities(self, sides: Sequence[str]) -> dict[str, int]:
        """Return which words of some parts may be an infinity."""
        return {f"{side}.{word}": sign for side in sides for word, sign in self.infinite.items()}

    # -- in Python's numbers -------------------------------------------------------------------------------------

    @cached_property
    def _lifted(self) -> Callable[..., tuple[Any, ...]]:
        return function_of(list(self.loop.elements), list(self.lift.values()))

    @cached_property
    def _combined(self) -> Callable[..., tuple[Any, ...]]:
        names = [f"{side}.{word}" for side in "ab" for word in self.words]
        return function_of(names, list(self.combine.values()))

    @cached_property
    def _finished(self) -> Callable[..., tuple[Any, ...]]:
        return function_of(list(self.words), self.result)

    def lifted(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """Return the words of one element."""
        return self._lifted(*row)

    def joined(self, first: Sequence[Any], second: Sequence[Any]) -> tuple[Any, ...]:
        """Return the words of two parts together."""
        return self._combined(*first, *second)

    def finished(self, words: Sequence[Any]) -> tuple[Any, ...]:
        """Return the loop's result of words."""
        return self._finished(*words)

    # -- as a text -----------------------------------------------------------------------------------------------

    def source(self) -> str:
        """Return lift, combine, identity and result as Python functions of named words."""
        words = list(self.words)
        lines = [f"def lift({', '.join(self.loop.elements)}):", f"    return {_tuple(self.lift.values())}", ""]
        lines += ["def combine(a, b):"]
        if words:
            lines += [f"    {_targets(words, side)} = {side}" for side in "ab"]
            lines += [
                "    return (",
                *(f"        {_text(self.combine[word])},  # {word}" for word in words),
                "    )",
                "",
            ]
        else:
            lines += ["    return ()", ""]
        if self.identity is not None:
            lines += [f"identity = {_tuple(self.identity.values())}", ""]
        lines += ["def result(words):"]
        lines += [f"    {', '.join(words)}{',' * (len(words) == 1)} = words"] if words else []
        lines += [f"    return {', '.join(map(text_of, self.result))}"]
        return "\n".join(lines)


def renamed(carrier: Carrier, names: Mapping[str, str]) -> Carrier:
    """Return an operator whose words have other names."""
    own = {word: name_of(names[word], dtype) for word, dtype in carrier.words.items()}
    sides = {
        f"{side}.{word}": name_of(f"{side}.{names[word]}", dtype)
        for side in "ab" for word, dtype in carrier.words.items()
    }  # fmt: skip

    def keyed(values: Mapping[str, Any]) -> dict[str, Any]:
        return {names[word]: each for word, each in values.items()}

    return replace(
        carrier, words=keyed(carrier.words), lift=keyed(carrier.lift),
        combine=keyed({word: substituted(each, sides) for word, each in carrier.combine.items()}),
        state={name: substituted(each, own) for name, each in carrier.state.items()},
        result=tuple(substituted(each, own) for each in carrier.result), infinite=keyed(carrier.infinite),
        within=substituted(carrier.within, own),
        identity=None if carrier.identity is None else keyed(carrier.identity),
    )  # fmt: skip


def of_the_loop_itself(carrier: Carrier) -> Carrier:
    """Return the operator of a loop in other words as that of the loop that these stand for."""
    while carrier.loop.stands_for is not None:
        known = carrier.loop.stands_for
        state = {name: substituted(each, carrier.state) for name, each in known.words.items()}
        carrier = replace(carrier, loop=known.loop, state=state)
    return carrier


def spelled(name: str) -> str:
    """Return what a text calls a word of a part, `a.WORD`."""
    side, dot, word = name.partition(".")
    return f"{word}_{side}" if dot else name


def _text(expression: Expression) -> str:
    return text_of(expression, spelled)


def _tuple(some: Any) -> str:
    texts = [text_of(each) for each in some]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _targets(words: Sequence[str], side: str) -> str:
    return ", ".join(f"{word}_{side}" for word in words) + "," * (len(words) == 1)
