"""A serial loop as data: words of state, a step, a result, all of them expressions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from symbolic.bottom_up import reached
from symbolic.errors import Place
from symbolic.expressions import expression as e
from symbolic.expressions.expression import GREATEST, LEAST, TRUE, Expression, decided, subexpressions, substituted
from symbolic.expressions.formulas import INTEGER, REALS, TRUTH, Sort
from symbolic.expressions.meaning import function_of
from symbolic.ir.program import DType

Domain: TypeAlias = Literal["words", "integers", "reals"]
"""What numbers are: words of their type, which wrap, or integers; floating-point numbers are real ones in both. With
'reals', all are."""

BOOL: Final = DType.BOOL
BITWISE: Final = ("&", "|", "^", "<<", ">>")


def name_of(name: str, dtype: DType) -> Expression:
    """Return the name of a number or a condition."""
    return e.truth_name(name) if dtype is BOOL else e.number_name(name)


def sort_in(domain: Domain, dtype: DType, *, mixed: bool = False) -> Sort:
    """Return what a word of a type is in a domain; integers that are `mixed` with real numbers are no words."""
    if dtype is BOOL:
        return TRUTH
    if dtype.is_float or domain == "reals":
        return REALS
    if domain == "integers" or mixed:
        return INTEGER
    return Sort("word", int(dtype.value[1:]), dtype.value[0] == "i")


def unused(wish: str, taken: Container[str], first: int = 1) -> str:
    """Return a name that is not taken: the one that is wished for, or it with the first number that makes one."""
    wishes = itertools.chain([wish], (f"{wish}_{number}" for number in itertools.count(first)))
    return next(name for name in wishes if name not in taken)


class Promise(Struct, frozen=True):
    """What is promised of a loop's data: at most so many elements, each of which meets a condition."""

    length: int | None = None
    where: Expression = TRUE


class StandsFor(Struct, frozen=True):
    """What a loop in other words was: the loop, what its words are in the new ones, and what numbers are in the proof
    that both do the same."""

    loop: Loop
    words: Mapping[str, Expression]
    domain: Domain


@dataclass(frozen=True, eq=False)
class Loop:
    """State before, one element after the other, a result.

    `elements` and `state` are names with their types; `initial` is the state before the loop, constants; `step` and
    `result` are expressions over the state and, in a step, an element. `run` is the plain Python loop, which takes a
    list for each array.
    """

    name: str
    place: Place | None
    elements: Mapping[str, DType]
    state: Mapping[str, DType]
    initial: Mapping[str, Expression]
    step: Mapping[str, Expression]
    result: tuple[Expression, ...]
    range: Promise = field(default_factory=Promise)
    run: Callable[..., Any] | None = None
    cancelled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What words add and take away again: over real numbers nothing is left, and what rounding leaves is dropped."""
    stands_for: StandsFor | None = None
    compared_apart: int = 0
    """So many comparisons were not looked at under all the tests before them: one of NaN may be among these."""

    @cached_property
    def live(self) -> tuple[str, ...]:
        """The words of the state that the result depends on."""
        asked = {name for each in self.result for name in each.names}
        found = set(reached(asked, lambda word: self.step[word].names & self.state.keys()))
        return tuple(name for name in self.state if name in found)

    @cached_property
    def begun(self) -> dict[str, Expression]:
        """The state after one element, which is no infinity."""
        found = {name: substituted(step, self.initial) for name, step in self.step.items()}
        for name, each in found.items():
            for node in list(subexpressions(each)):
                if node.operator in ("<", "<="):
                    a, b = node.arguments
                    if (a.infinite or b.infinite) and node.names <= self.elements.keys():
                        found[name] = decided(found[name], node, a is LEAST or b is GREATEST)
        return found

    @property
    def types(self) -> dict[str, DType]:
        """The types of all names."""
        return {**self.elements, **self.state}

    @cached_property
    def mixed(self) -> bool:
        """Whether integers and real numbers meet in an operation."""
        whole = {name for name, dtype in self.types.items() if dtype is not BOOL and not dtype.is_float}
        real = {name for name, dtype in self.types.items() if dtype.is_float}
        nodes = (node for each in self.step.values() for node in subexpressions(each))
        return any(
            node.names & whole and node.names & real and not node.truth and node.operator not in ("select", "name")
            for node in nodes
        )  # fmt: skip

    @cached_property
    def has_bits(self) -> bool:
        """Whether a step computes with the bits of words."""
        nodes = (node for each in self.step.values() for node in subexpressions(each))
        return any(node.operator in BITWISE for node in nodes)

    def sorts(self, domain: Domain) -> dict[str, Sort]:
        """Return what each name stands for in a domain."""
        return {name: sort_in(domain, dtype, mixed=self.mixed) for name, dtype in self.types.items()}

    @cached_property
    def _stepped(self) -> Callable[..., tuple[Any, ...]]:
        return function_of([*self.state, *self.elements], list(self.step.values()))

    @cached_property
    def _finished(self) -> Callable[..., tuple[Any, ...]]:
        return function_of(list(self.state), self.result)

    def start(self) -> tuple[Any, ...]:
        """Return the numbers of the state before the loop."""
        return tuple(each.value for each in self.initial.values())

    def after(self, rows: Iterable[Sequence[Any]], state: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """Return the state after elements, in Python's numbers; from the start unless another state is given."""
        found = self.start() if state is None else tuple(state)
        for row in rows:
            found = self._stepped(*found, *row)
        return found

    def finished(self, state: Sequence[Any]) -> tuple[Any, ...]:
        """Return the result of a state, in Python's numbers."""
        return self._finished(*state)
