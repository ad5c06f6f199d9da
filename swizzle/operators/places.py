"""Where the greatest is: loops that keep, beside a maximum, what was there when it was found.

A number and what goes with it are one number of an order in which the first decides before the second: `BIG * key +
place`, with a number that is larger than any place. So the place of the best run is a loop of such numbers that is
linear over (max, +), if the best run is one without its place. Its operator is deduced of a BIG that is a number, and
taken apart again: a maximum of pairs is a choice by their keys, and among equal ones by their places. What comes out is
proved of the loop as it stands, like any other operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias

from swizzle.operators.carrier import Carrier
from swizzle.operators.linear import deduced
from swizzle.operators.linear_machine import NotFound, NotLinear
from swizzle.operators.loop import BOOL, Domain, Loop, name_of
from swizzle.operators.samples import random_parts
from symbolic.bottom_up import bottom_up, reached
from symbolic.expressions import expression as e
from symbolic.expressions.expression import BUILDERS, GREATEST, LEAST, ZERO, Expression, substituted
from symbolic.expressions.formulas import decide
from symbolic.ir.program import DType

BIG: Final = 1 << 40
FINE: Final = 1 << 10
"""Keys are multiples of one in so many."""
WITH_PLACES: Final = "of numbers with their places"
"""How an operator was found that is one of pairs."""
MOST_WORDS: Final = 6
SECONDS: Final = 0.5
PLACE: Final = "_place"
PlacePair: TypeAlias = tuple[Expression, Expression]


@dataclass(frozen=True)
class PlaceRecord:
    """Two words of a loop: the greatest of keys, or where `sign` is below 0 the least, and what goes with it; `last`
    tells whether the last one of equal keys counts."""

    key: str
    place: str
    candidate: PlacePair
    sign: int
    last: bool


def with_places(loop: Loop, domain: Domain) -> Iterator[Carrier]:
    """Yield operators of a loop that keeps the place of an extreme, or something else that goes with it."""
    for record in _records(loop, domain):
        for floors in (not record.last, record.last):  # the last place is above what it was at first
            with suppress(NotLinear, NotFound, ArithmeticError):
                yield _Packing(loop, record).carrier(domain, floors)


def _records(loop: Loop, domain: Domain) -> Iterator[PlaceRecord]:
    """Yield the pairs of words of which the second one changes with the first one only."""
    for place in loop.live:
        step, own = loop.step[place], name_of(place, loop.state[place])
        if step.operator != "select" or own.truth or own not in step.arguments[1:] or loop.initial[place].infinite:
            continue
        test, yes, no = step.arguments
        changes, new = (test, yes) if no is own else (negation_of(test), no)
        parts = changes.arguments if changes.operator == "and" else (changes,)
        for compared in parts:
            if compared.operator not in ("<", "<="):
                continue
            for sign, (old, key) in ((1, compared.arguments), (-1, compared.arguments[::-1])):
                name = old.value if old.operator == "name" else None
                rest = e.both(*(each for each in parts if each is not compared))
                if name not in loop.live or {name, place} & (key.names | rest.names | (new.names - {place})):
                    continue
                candidate = e.select(rest, key, LEAST if sign > 0 else GREATEST)
                claim = loop.step[name], (e.maximum if sign > 0 else e.minimum)(old, candidate)
                if decide([claim], loop.sorts(_of_numbers(domain)), effort=SECONDS).verdict == "proved":
                    yield PlaceRecord(name, place, (candidate, new), sign, compared.operator == "<=")


def negation_of(test: Expression) -> Expression:
    """Return the negation, of a disjunction as a conjunction."""
    if test.operator == "or":
        return e.both(*map(negation_of, test.arguments))
    return BUILDERS["not"](test)


def _of_numbers(domain: Domain) -> Domain:
    return "integers" if domain == "words" else domain


@dataclass
class _Packing:
    """A loop of pairs, as one of numbers."""

    loop: Loop
    record: PlaceRecord
    names: dict[PlacePair, str] = field(default_factory=dict)
    """The words of the new loop: what their keys and their places are of the old state, without numbers."""

    def __post_init__(self) -> None:
        self._sign = self.record.sign
        self._of_place = 1 if self.record.last else -1  # the greatest place, or the least one

    def carrier(self, domain: Domain, floors: bool) -> Carrier:
        """Return the operator of the loop."""
        loop, record = self.loop, self.record
        key, place = (name_of(name, loop.state[name]) for name in (record.key, record.place))
        self.names[self._oriented(key), place] = record.key
        steps = {record.key: e.maximum(e.number_name(record.key), self._pair(self._oriented(record.candidate[0]),
                                                                          record.candidate[1]))}  # fmt: skip
        others = [name for name in loop.live if name not in (record.key, record.place)]
        flags = [name for name in others if loop.state[name] is BOOL]
        while len(self.names) > len(steps) or (missing := self._missing(others)) is not None:
            if len(self.names) == len(steps):
                assert missing is not None
                self._word(self._oriented(name_of(missing, loop.state[missing])), ZERO)
            (keys, places), name = next((pair, name) for pair, name in self.names.items() if name not in steps)
            steps[name] = self._pair(*(substituted(each, loop.step) for each in (keys, places)))
        steps |= {name: loop.step[name] for name in flags}
        initial = {name: self._number(*(substituted(each, loop.initial) for each in pair))
                   for pair, name in self.names.items()}  # fmt: skip
        real = any(dtype.is_float for dtype in (*loop.elements.values(), *loop.state.values()))
        types = dict.fromkeys(self.names.values(), DType.F64 if real else DType.I64) | dict.fromkeys(flags, BOOL)
        packed = replace(
            loop, state=types, initial=initial | {name: loop.initial[name] for name in flags}, step=steps,
            result=tuple(name_of(name, dtype) for name, dtype in types.items()), run=None, stands_for=None,
        )  # fmt: skip
        return self._apart(deduced(packed, list(types), _of_numbers(domain), floors=floors)[0])

    def _oriented(self, key: Expression) -> Expression:
        return key if self._sign > 0 else e.negate(key)

    def _number(self, key: Expression, place: Expression) -> Expression:
        """Return a pair as a number, its key oriented so that the greatest counts."""
        if key.infinite:
            return key
        return e.add(e.multiply(e.constant(BIG), key), e.multiply(e.constant(self._of_place), place))

    def _missing(self, others: list[str]) -> str | None:
        return next((name for name in others if self.loop.state[name] is not BOOL and not self._said(name)), None)

    def _said(self, name: str) -> tuple[str, str] | None:
        """Return which word of the new loop says an old one, and whether by its 'key' or its 'place'."""
        own = name_of(name, self.loop.state[name])
        for (key, place), word in self.names.items():
            if key is self._oriented(own) or place is own:
                return word, "place" if place is own else "key"
        return None

    # -- from the loop to one of numbers -------------------------------------------------------------------------

    def _word(self, key: Expression, place: Expression) -> Expression:
        """Return the word of the new loop that a pair of sums of the old state is."""
        if key is ZERO and place is ZERO:
            return ZERO
        if (key, place) not in self.names:
            if len(self.names) == MOST_WORDS:
                raise NotLinear
            of = sorted((key if key is not ZERO else place).names)[0]
            while of in self.names.values():
                of += "_"
            self.names[key, place] = of
        return e.number_name(self.names[key, place])

    def _pair(self, key: Expression, place: Expression) -> Expression:
        """Return a pair of the old state as a number over the words of the new loop."""
        if key.infinite:
            return key
        for coefficient, what in e.terms(key):
            rest = e.add(key, e.multiply(e.constant(-coefficient), what))
            if what.operator == "select":
                return self._chosen(what.arguments[0], [
                    (e.add(rest, e.multiply(e.constant(coefficient), side)) if not side.infinite else side, place)
                    for side in what.arguments[1:]
                ])  # fmt: skip
            if what.operator in ("max", "min"):
                if (what.operator == "max") is not (coefficient > 0):
                    raise NotLinear
                return e.maximum(*(
                    self._pair(e.add(rest, e.multiply(e.constant(coefficient), each)), _where_it_is(place, what, each))
                    for each in what.arguments
                ))  # fmt: skip
        for coefficient, what in e.terms(place):
            if what.operator == "select":
                rest = e.add(place, e.multiply(e.constant(-coefficient), what))
                sides = [(key, e.add(rest, e.multiply(e.constant(coefficient), side))) for side in what.arguments[1:]]
                return self._chosen(what.arguments[0], sides)
        (keys, more), (places, besides) = self._split(key), self._split(place)
        return e.add(self._word(keys, places), self._number(more, besides))

    def _chosen(self, test: Expression, sides: list[PlacePair]) -> Expression:
        """Return a choice between pairs: by a test of elements and flags, or by the greater key."""
        yes, no = (self._pair(*(e.decided(each, test, holds) for each in side))
                   for side, holds in zip(sides, (True, False), strict=True))  # fmt: skip
        state = test.names & self.loop.state.keys()
        return e.select(test, yes, no) if all(self.loop.state[each] is BOOL for each in state) else e.maximum(yes, no)

    def _split(self, sum_of: Expression) -> PlacePair:
        """Return a sum as what it is of the old state, and what else."""
        old = self.loop.state.keys()
        state, rest = list[Expression](), list[Expression]()
        for coefficient, what in e.terms(sum_of):
            if what.names & old and what.operator != "name":
                raise NotLinear
            (state if what.names & old else rest).append(e.multiply(e.constant(coefficient), what))
        return e.add(*state), e.add(*rest)

    # -- and back ------------------------------------------------------------------------------------------------

    def _apart(self, found: Carrier) -> Carrier:
        """Return an operator of numbers as one of pairs."""
        loop, record = self.loop, self.record
        numbers = [word for word, dtype in found.words.items() if dtype is not BOOL]
        places = {word: f"{word}{PLACE}" for word in numbers}
        words = {each: dtype for word, dtype in found.words.items() for each, dtype in (
            ((word, loop.state[record.key]), (places[word], loop.state[record.place])) if word in places
            else ((word, dtype),)
        )}  # fmt: skip
        infinite = dict.fromkeys(found.infinite, -self._sign)
        unpack = _Unpacking(self._sign, self._of_place, places, frozenset(infinite)).unpacked

        def parted(some: Mapping[str, Expression]) -> dict[str, Expression]:
            made: dict[str, Expression] = {}
            for word, each in some.items():
                key, place = unpack(each)
                made |= {word: key} if word not in places else {word: key, places[word]: place}
            return made

        state: dict[str, Expression] = {}
        for name in loop.live:
            word, part = self._said(name) or (name, "key")
            state[name] = unpack(found.state[word])[part == "place"]
        within = [e.either(e.less(LEAST, name_of(word, words[word])) if self._sign > 0 else
                         e.less(name_of(word, words[word]), GREATEST), e.equal(e.number_name(places[word]), ZERO))
                  for word in infinite]  # fmt: skip
        made = Carrier(
            loop, words, parted(found.lift), parted(found.combine), state,
            tuple(substituted(each, state) for each in loop.result), f"{found.how}, {WITH_PLACES}",
            infinite, e.both(found.within, *within),
        )  # fmt: skip
        return _without_repetitions(made)


def _where_it_is(place: Expression, extreme: Expression, one: Expression) -> Expression:
    """Return what goes with an extreme where it is one of its numbers."""
    for other in (each for each in extreme.arguments if each is not one):
        a, b = (one, other) if extreme.operator == "min" else (other, one)  # a is below b
        place = e.decided(e.decided(place, e.less(a, b), True), e.less(b, a), False)
    return e.replaced(place, {extreme: one})


@dataclass(frozen=True)
class _Unpacking:
    """Numbers as pairs."""

    sign: int
    of_place: int
    places: Mapping[str, str]
    infinite: frozenset[str]

    def unpacked(self, node: Expression) -> PlacePair:
        """Return the key and the place that a number is; of a condition, twice itself."""
        return bottom_up(node, lambda node: () if node.truth else node.arguments, self._made)

    def _made(self, node: Expression, inner: list[PlacePair]) -> PlacePair:
        if node.truth:
            return node, node
        match node.operator:
            case "name":
                side, dot, word = node.value.rpartition(".")
                known = self.places.get(word)
                return (ZERO, e.multiply(e.constant(self.of_place), node)) if known is None else (
                    node, e.number_name(f"{side}{dot}{known}")
                )  # fmt: skip
            case "constant":
                return self._constant(node.value)
            case "*" if node.arguments[0].constant:
                (key, place), rest = self._constant(node.arguments[0].value), e.multiply(*node.arguments[1:])
                return e.multiply(key, rest), e.multiply(place, rest)
            case "+":
                key, place = e.add(*(each for each, _ in inner)), e.add(*(each for _, each in inner))
                if key.infinite or {name.rpartition(".")[2] for name in key.names} & self.infinite:
                    place = e.select(e.equal(key, LEAST if self.sign > 0 else GREATEST), ZERO, place)
                return key, place
            case "select":
                (test, _), (key, place), (other, its) = inner
                return e.select(test, key, other), e.select(test, place, its)
            case "max":
                found = inner[0]
                for each in inner[1:]:
                    found = self._better(found, each)
                return found
        raise NotLinear

    def _constant(self, value: Any) -> PlacePair:
        if isinstance(value, float) and math.isinf(value):
            return (LEAST if self.sign > 0 else GREATEST), ZERO
        key = Fraction(round(Fraction(value) * FINE / BIG), FINE)
        place = value - key * BIG
        return e.constant(self.sign * key), e.constant(self.of_place * place)

    def _better(self, a: PlacePair, b: PlacePair) -> PlacePair:
        """Return the pair of the better key; of equal keys that of the better place."""
        above: Callable[[Expression, Expression], Expression] = e.less if self.sign < 0 else lambda p, q: e.less(q, p)
        choose, extreme = (e.maximum if each > 0 else e.minimum for each in (self.of_place, self.sign))
        tie = choose(a[1], b[1])
        return extreme(a[0], b[0]), e.select(above(a[0], b[0]), a[1], e.select(above(b[0], a[0]), b[1], tie))


def _without_repetitions(carrier: Carrier) -> Carrier:
    """Return an operator without words that are one number, or another word, in all parts that are tried."""
    columns = list(zip(*(words for words, _ in random_parts(carrier)), strict=True))
    values: dict[str, Expression] = {}
    first: dict[tuple[Any, ...], str] = {}
    for (word, dtype), column in zip(carrier.words.items(), columns, strict=True):
        if len({*column}) == 1 and word not in carrier.infinite:
            values[word] = e.constant(column[0])
        elif dtype is not BOOL:
            other = first.setdefault(column, word)
            if other != word:
                values[word] = name_of(other, carrier.words[other])
    sides = {f"{side}.{word}": each if each.constant else name_of(f"{side}.{each.value}", carrier.words[each.value])
             for side in "ab" for word, each in values.items()}  # fmt: skip
    needed = {name for each in carrier.state.values() for name in substituted(each, values).names}
    combine = {word: substituted(each, sides) for word, each in carrier.combine.items() if word not in values}
    needed = set(reached(needed, lambda word: {name.rpartition(".")[2] for name in combine[word].names}))
    state = {name: substituted(each, values) for name, each in carrier.state.items()}
    return replace(
        carrier, words={word: each for word, each in carrier.words.items() if word in needed},
        lift={word: each for word, each in carrier.lift.items() if word in needed},
        combine={word: each for word, each in combine.items() if word in needed}, state=state,
        result=tuple(substituted(each, state) for each in carrier.loop.result),
        infinite={word: sign for word, sign in carrier.infinite.items() if word in needed},
        within=_of_words(substituted(carrier.within, values), needed),
    )  # fmt: skip


def _of_words(condition: Expression, words: set[str]) -> Expression:
    """Return what a condition says of some words alone."""
    parts = condition.arguments if condition.operator == "and" else (condition,)
    return e.both(*(each for each in parts if each.names <= words))
