"""Words of no element, and divisors, in floating-point numbers: what laws over real numbers leave out.

Laws of quotients are proved wherever no divisor is zero, and those of words of no element with words that elements
make. Two parts without elements, as in a tree that is filled up, may divide by zero where no part of elements does:
Welford's divisor is the number of elements of both. Or they take one infinity from another: the maxima of two empty
sums of exponentials. Both are NaN. So a division by what may be zero gives zero there, and a part whose infinity says
that it is empty gives the other one, in every text. The words of no element are taken for such only if together they
are themselves. Divisors that may be zero of parts that have elements are said (`Divided.divisors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import Struct

from swizzle.operators.carrier import Carrier, Values
from swizzle.operators.invariants import holding, inductive, orders
from swizzle.operators.loop import BOOL, Domain, name_of
from swizzle.operators.samples import random_parts
from symbolic.expressions import expression as e
from symbolic.expressions.divisors import divisors_in
from symbolic.expressions.expression import FALSE, TRUE, ZERO, Expression, rewritten, substituted
from symbolic.expressions.formulas import REALS, decide

SECONDS: Final = 2.0
"""For a divisor that is shown to be other than zero."""


class Divided(Struct, frozen=True):
    """An operator whose divisions by what may be zero give zero, and what these divisors are of parts that have
    elements; `empty` says whether the words of no element, together with themselves, are themselves."""

    carrier: Carrier
    divisors: Sequence[Expression] = ()
    empty: bool = True


def divided(carrier: Carrier, domain: Domain, identity: Values | None, *, fixed: bool = False) -> Divided:
    """Return an operator with its divisions looked after; of one that is `fixed` nothing is changed."""
    divisors = divisors_in([*carrier.lift.values(), *carrier.combine.values()])
    nonzero = _nonzero(carrier, domain, divisors)
    left = [each for each in divisors if each not in nonzero]
    left += _of_the_loop(carrier, domain, left)
    if fixed:
        return Divided(carrier, left, identity is None or _is_itself(carrier, identity))
    if identity is not None and not _is_itself(carrier, identity):
        nonzero = set()  # of parts that have elements
    lift, combine = (
        {word: _guarded(each, nonzero) for word, each in some.items()} for some in (carrier.lift, carrier.combine)
    )
    made = replace(carrier, lift=lift, combine=combine)
    if identity is None or _is_itself(made, identity):
        return Divided(made, left)
    for word, number in identity.items():
        if number.infinite:  # as it is of no part that has elements
            empty, others = e.equal(name_of(f"a.{word}", carrier.words[word]), number), made.part("b")
            chosen = replace(made, combine={w: e.select(empty, others[w], each) for w, each in combine.items()})
            if _is_itself(chosen, identity):
                kept = {w: each if _is_itself(made, identity, w) else chosen.combine[w] for w, each in combine.items()}
                return Divided(replace(made, combine=kept), left)
    return Divided(made, left, False)


def _is_itself(carrier: Carrier, identity: Values, word: str | None = None) -> bool:
    """Tell whether the words of no element, or one of them, are themselves together, in floating-point numbers."""
    numbers = [each.value for each in identity.values()]
    try:
        together = carrier.joined(numbers, numbers)
    except (ArithmeticError, ValueError):
        return False
    return all(
        one == other for name, one, other in zip(carrier.words, together, numbers, strict=True) if word in (None, name)
    )


def _of_the_loop(carrier: Carrier, domain: Domain, said: Sequence[Expression]) -> list[Expression]:
    """Return the divisors of a loop's own steps that may be zero and are none of the operator's, for one element."""
    state = {word: substituted(each, carrier.part("a")) for word, each in carrier.state.items()}
    element = {f"b.{word}": each for word, each in carrier.lift.items()}
    own = divisors_in(carrier.loop.step[word] for word in carrier.state)
    asked = {substituted(each, state): each for each in own}
    known = {substituted(each, element) for each in said}
    conditions = {each: substituted(own[node], state) for each, node in asked.items() if each not in known}
    nonzero = _nonzero(carrier, domain, conditions)
    return [asked[each] for each in conditions if each not in nonzero]


def _guarded(expression: Expression, nonzero: set[Expression]) -> Expression:
    def guarded(node: Expression, inner: list[Expression]) -> Expression | None:
        fine = node.operator != "/" or node.arguments[1] in nonzero
        return None if fine else e.select(e.equal(inner[1], ZERO), ZERO, e.divide(*inner))

    return rewritten(expression, guarded)


def _nonzero(carrier: Carrier, domain: Domain, divisors: Mapping[Expression, Expression]) -> set[Expression]:
    """Return the divisors that are shown to be other than zero where each is asked, of elements and of words that
    elements make."""
    if not divisors:
        return set()
    sorts, infinite = carrier.sorts(domain, "ab"), carrier.infinities("ab")
    of = {side: carrier.part(side) for side in "ab"}

    def of_both(each: Expression) -> Expression:
        return e.both(*(substituted(each, part) for part in of.values()))

    unknown: dict[Expression, Expression] = {}
    after = [{word: _opened(each, unknown) for word, each in some.items()}
             for some in (carrier.lift, carrier.combined(of["a"], of["b"]))]  # fmt: skip
    sorts |= {each.value: REALS for each in unknown.values()}
    premises = [carrier.loop.range.where, of_both(carrier.within)]
    steps = list(zip(after, (lambda _: TRUE, of_both), strict=True))
    known = [of_both(each) for each in inductive(_likely(carrier), steps, sorts, premises, infinite)]

    def is_nonzero(each: Expression) -> bool:
        zero = e.both(_opened(divisors[each], unknown), e.equal(_opened(each, unknown), ZERO))
        both_sides = dict.fromkeys(zero.names, REALS) | sorts
        return (
            decide([(zero, FALSE)], both_sides, [*premises, *known], infinite=infinite, effort=SECONDS).verdict
            == "proved"
        )

    return set(filter(is_nonzero, divisors))


def _opened(expression: Expression, unknown: dict[Expression, Expression]) -> Expression:
    """Return an expression with any numbers for its quotients, as a solver takes no divisor for zero."""

    def opened(node: Expression, inner: list[Expression]) -> Expression | None:
        return unknown.setdefault(node, e.number_name(f"quotient {len(unknown)}")) if node.operator == "/" else None

    return rewritten(expression, opened)


def _likely(carrier: Carrier) -> list[Expression]:
    """Return what random parts suggest of words: the sign of each, and their orders."""
    names = {word: name_of(word, dtype) for word, dtype in carrier.words.items()}
    samples = [words for words, _ in random_parts(carrier)]
    numbers = [names[word] for word, dtype in carrier.words.items() if dtype is not BOOL]
    signs = [sign for each in numbers for sign in (e.less(ZERO, each), e.less(each, ZERO))]
    return [*holding(signs, names, samples), *orders(carrier.words, samples, names)]
