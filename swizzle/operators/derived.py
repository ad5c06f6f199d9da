"""Operators made of operators: `segmented(op)`, `reversed(op)`, `product(op, other)`; laws are proved once, for all.

A construction is written down once, over whatever joins two values and chooses between two. On the words of an
operator it gives the operator that is made. On letters, where joining is writing one after the other, it is proved:
nothing is known of letters but that joining them is associative, so what holds there holds for every operator.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replaced
from functools import lru_cache
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.element_types import caller_place
from swizzle.language.operators import Operator, TypedOperator
from swizzle.operators.carrier import Carrier, Values
from swizzle.operators.find import Found, operator_of
from swizzle.operators.judge import judged
from swizzle.operators.loop import BOOL, Domain, Loop, Promise, name_of, unused
from swizzle.operators.proof import LawProof, Proofs, Prover
from swizzle.operators.serial import Serial
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import FALSE, TRUE, Expression, both, either, select, substituted
from symbolic.expressions.formulas import Verdict

Joins: TypeAlias = Callable[[Any, Any], Any]
Chooses: TypeAlias = Callable[[Any, Any, Any], Any]


class DerivedOperator(Struct, frozen=True, eq=False):
    """An operator that is made of others, as `segmented` and its like return it; found when it is asked for.

    It is equal to one that is made in the same way of the same."""

    name: str
    make: Callable[..., Found]
    of: tuple[Given, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DerivedOperator) or self.make is not other.make:
            return False
        return all(
            mine is its or (isinstance(mine, DerivedOperator) and mine == its)
            for mine, its in zip(self.of, other.of, strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.make))

    def found(self, domain: Domain) -> Found:
        """Find the operators that it is made of, and make it."""
        what = self.make.__name__.lstrip("_")
        return self.make(*(_proved(each, domain, what) for each in self.of))

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


Given: TypeAlias = Serial | Operator | TypedOperator | DerivedOperator | Found
"""What an operator is found of, or judged."""


def found_of(given: Given, domain: Domain = "words") -> Found:
    """Return the operator of a serial loop, or what was judged of an operator."""
    match given:
        case Found():
            return given
        case Serial():
            return operator_of(given.loop, domain)
        case DerivedOperator():
            started = time.perf_counter()
            found = given.found(domain)
            return replace(found, seconds=time.perf_counter() - started)
        case _:
            return judged(given, domain)


# ---- constructions -----------------------------------------------------------------------------------------------


def _segments(join: Joins, choose: Chooses, a: Any, b: Any) -> Any:
    """Of parts with a flag, whether a segment begins in them: what came before the last such place does not count."""
    (begins, first), (again, then) = a, b
    return either(begins, again), choose(again, then, join(first, then))


def _backwards(join: Joins, choose: Chooses, a: Any, b: Any) -> Any:
    """The same operator for an input that is gone through from its end."""
    return join(b, a)


@lru_cache(maxsize=8)
def associative_on_letters(construction: Callable[..., Any], flagged: bool) -> bool:
    """Prove a construction associative for every associative operator: on letters, for all flags."""

    def combine(a: Any, b: Any) -> Any:
        return construction(lambda x, y: x + y, lambda c, x, y: x if c is not FALSE else y, a, b)

    def parts(flags: Sequence[Expression]) -> list[Any]:
        letters = [(letter,) for letter in "abc"]
        return list(zip(flags, letters, strict=True)) if flagged else list(letters)

    every = [parts(flags) for flags in itertools.product((FALSE, TRUE), repeat=3)]
    return all(combine(combine(a, b), c) == combine(a, combine(b, c)) for a, b, c in every)


# ---- segments ----------------------------------------------------------------------------------------------------


def segmented(given: Given) -> DerivedOperator:
    """Return an operator for inputs of several segments, which do not see each other.

    There is one array more, behind those of the elements: conditions that say where a segment begins.
    """
    return DerivedOperator(f"segmented_{_name(given)}", _segmented, (given,))


def _segmented(found: Found) -> Found:
    assert associative_on_letters(_segments, True)
    assert found.carrier is not None and found.proofs is not None
    carrier, loop, laws = found.carrier, found.loop, found.proofs.laws
    begins = unused("begins", [*loop.elements, *loop.state, *carrier.words])
    here = name_of(begins, BOOL)
    step = {name: select(here, loop.begun[name], each) for name, each in loop.step.items()} if loop.state else {}
    made = Loop(
        f"segmented_{loop.name}", loop.place, {**loop.elements, begins: BOOL}, loop.state, loop.initial,
        step or loop.step, loop.result, loop.range,
    )  # fmt: skip
    flags = [name_of(f"{side}.{begins}", BOOL) for side in "ab"]
    begun, words = _segments(
        carrier.combined,
        lambda again, then, joined: {word: select(again, then[word], joined[word]) for word in carrier.words},
        (flags[0], carrier.part("a")),
        (flags[1], carrier.part("b")),
    )
    identity = None if found.proofs.identity is None else {begins: FALSE, **found.proofs.identity}
    whole = Carrier(
        made, {begins: BOOL, **carrier.words}, {begins: here, **carrier.lift}, {begins: begun, **words},
        carrier.state, carrier.result, f"{carrier.how}, in segments", carrier.infinite, carrier.within, identity,
    )  # fmt: skip
    kept = {name: laws[name] for name in ("step", "associative", "left_identity", "right_identity") if name in laws}
    kept["commutative"] = Prover(whole, found.proofs.domain).commutative()
    return _found(found, made, whole, kept, identity)


# ---- from the end ------------------------------------------------------------------------------------------------


def reversed(given: Given) -> DerivedOperator:
    """Return the operator whose parts come from the end of the input: `combine(a, b)` is `combine(b, a)`."""
    return DerivedOperator(f"reversed_{_name(given)}", _reversed, (given,))


def _reversed(found: Found) -> Found:
    assert associative_on_letters(_backwards, False)
    assert found.carrier is not None and found.proofs is not None
    carrier, loop, laws = found.carrier, found.loop, found.proofs.laws
    made = _without_state(f"reversed_{loop.name}", loop)
    combine = _backwards(carrier.combined, _never, carrier.part("a"), carrier.part("b"))
    whole = replaced(carrier, loop=made, combine=combine, state={}, how=f"{carrier.how}, from the end")
    kept = {name: laws[name] for name in ("associative", "commutative") if name in laws}
    kept |= {one: laws[other] for one, other in (_SIDES, _SIDES[::-1]) if other in laws}
    return _found(found, made, whole, kept, found.proofs.identity)


_SIDES: Final = ("left_identity", "right_identity")


def _never(condition: Any, yes: Any, no: Any) -> Any:
    raise AssertionError("nothing is chosen")


# ---- side by side ------------------------------------------------------------------------------------------------


def product(given: Given, other: Given) -> DerivedOperator:
    """Return two operators side by side: the arrays of the first, then those of the other, and the results of both."""
    return DerivedOperator(f"{_name(given)}_and_{_name(other)}", _product, (given, other))


def _product(first: Found, other: Found) -> Found:
    assert first.carrier is not None and first.proofs is not None
    other = _renamed(other, [*first.loop.elements, *first.loop.state, *first.carrier.words])
    assert other.carrier is not None and other.proofs is not None
    one, two, loops = first.carrier, other.carrier, (first.loop, other.loop)
    range_ = Promise(
        min((each.range.length for each in loops if each.range.length is not None), default=None),
        both(*(each.range.where for each in loops)),
    )
    stateful = all(each.state for each in loops)
    made = Loop(
        f"{first.loop.name}_and_{other.loop.name}", first.loop.place,
        {**first.loop.elements, **other.loop.elements},
        {**first.loop.state, **other.loop.state} if stateful else {},
        {**first.loop.initial, **other.loop.initial} if stateful else {},
        {**first.loop.step, **other.loop.step} if stateful else {},
        (*first.loop.result, *other.loop.result) if stateful else (), range_,
    )  # fmt: skip
    identities = first.proofs.identity, other.proofs.identity
    identity = {**identities[0], **identities[1]} if identities[0] is not None and identities[1] is not None else None
    whole = Carrier(
        made, {**one.words, **two.words}, {**one.lift, **two.lift}, {**one.combine, **two.combine},
        {**one.state, **two.state} if stateful else {}, (*one.result, *two.result), f"{one.how}; {two.how}",
        {**one.infinite, **two.infinite}, both(one.within, two.within), identity,
    )  # fmt: skip
    kept = {}
    for name in ("step", "associative", *_SIDES, "commutative"):
        laws = [
            each.proofs.laws[name] for each in (first, other) if each.proofs is not None and name in each.proofs.laws
        ]
        if len(laws) == 2 and (stateful or name != "step"):
            kept[name] = _worse(*laws)
    return _found(first, made, whole, kept, identity, other)


def _worse(a: LawProof, b: LawProof) -> LawProof:
    order: Sequence[Verdict] = ("proved", "unknown", "refuted")
    worse = max(a, b, key=lambda law: order.index(law.verdict))
    return LawProof(worse.verdict, a.on_carrier or b.on_carrier, worse.witness, worse.reason)


def _renamed(found: Found, taken: Sequence[str]) -> Found:
    """Return an operator whose words and elements have names of their own."""
    assert found.carrier is not None
    carrier, loop = found.carrier, found.loop
    own = [*loop.elements, *loop.state, *carrier.words]
    names = {name: unused(name, [*taken, *(each for each in own if each != name)]) for name in dict.fromkeys(own)}
    types = {**loop.elements, **loop.state, **carrier.words}
    plain = {name: name_of(new, types[name]) for name, new in names.items()}
    parts = {
        f"{side}.{word}": name_of(f"{side}.{names[word]}", d) for side in "ab" for word, d in carrier.words.items()
    }

    def keys(values: Mapping[str, Any]) -> dict[str, Any]:
        return {names[name]: each for name, each in values.items()}

    def moved(values: Values) -> dict[str, Expression]:
        return {names[name]: substituted(each, {**plain, **parts}) for name, each in values.items()}

    made = Loop(
        loop.name, loop.place, keys(loop.elements), keys(loop.state), keys(loop.initial), moved(loop.step),
        tuple(substituted(each, plain) for each in loop.result),
        Promise(loop.range.length, substituted(loop.range.where, plain)),
    )  # fmt: skip
    whole = replaced(
        carrier, loop=made, words=keys(carrier.words), lift=moved(carrier.lift), combine=moved(carrier.combine),
        state=moved(carrier.state), result=tuple(substituted(each, plain) for each in carrier.result),
        infinite=keys(carrier.infinite), within=substituted(carrier.within, plain),
    )  # fmt: skip
    assert found.proofs is not None
    identity = None if found.proofs.identity is None else keys(found.proofs.identity)
    cancelled = {names.get(name, name): tuple(names.get(each.rpartition(".")[2], each) for each in some)
                 for name, some in loop.cancelled.items()}  # fmt: skip
    named = replace(found, loop=replaced(loop, cancelled=cancelled))
    return _found(named, made, whole, found.proofs.laws, identity)


# ---- what they have in common ------------------------------------------------------------------------------------


def _name(given: Given) -> str:
    if not isinstance(given, Given):
        raise SwizzleError(
            f"an operator is made of {given!r}",
            place=caller_place(),
            expected="a serial loop, or an operator: what @serial or @operator made",
            fix="write @serial above the loop, and pass its name",
        )
    return given.loop.name if isinstance(given, Found) else given.name


def _proved(given: Given, domain: Domain, what: str) -> Found:
    """Return a proved operator; raises SwizzleError for one that is not."""
    found = found_of(given, domain)
    if found.status != "proved":
        raise SwizzleError(
            f"{what} of {found.loop.name}, of which no operator is proved: {found.witness or found.status}",
            place=found.loop.place,
            expected="an operator whose laws are proved",
            fix=f"see `swizzle operator`: {found.next_step}",
        )
    return found


def _found(
    of: Found, loop: Loop, carrier: Carrier, laws: Mapping[str, LawProof], identity: Values | None,
    other: Found | None = None,
) -> Found:  # fmt: skip
    """Return an operator that is made of one or two, with what is said beside their laws."""
    assert of.proofs is not None
    made_of = [each for each in (of, other) if each is not None]
    cancelled: dict[str, tuple[str, ...]] = {}
    for name, some in (item for each in made_of for item in each.loop.cancelled.items()):
        cancelled[name] = (*cancelled.get(name, ()), *some)
    apart = sum(each.loop.compared_apart for each in made_of)
    carrier = replaced(carrier, loop=replaced(loop, cancelled=cancelled, compared_apart=apart))
    divisors = tuple(text for each in made_of for text in each.divisors)
    needed = tuple(name for name in ("step", "associative") if name in laws)
    ranges = of.ranges if of.ranges is not None or other is None else other.ranges
    proofs = Proofs(of.proofs.domain, laws, identity, (), needed)
    return Found(carrier.loop, of.domain, carrier, proofs, 0.0, ranges=ranges, divisors=divisors)


def _without_state(name: str, loop: Loop) -> Loop:
    return Loop(name, loop.place, loop.elements, {}, {}, {}, (), loop.range)
