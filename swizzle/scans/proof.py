"""That an algorithm is a scan at every size: how far elements reach, in closed form, and the induction over the steps.

Before each step of a loop, element i reaches as far as an expression over i, d and N says. It is read off a few sizes,
as conditions and sources are, and then proved for all N up to 2^30 that leave no loop empty, and all i < N:

1. *start*: in the beginning every element reaches itself.
2. *legal*: who takes another takes an element of the array, its neighbour's.
3. *step*: what a step does to how far elements reach is what the expression says of the next step, or round.
4. *next loop*: so is what the last round of a loop leaves behind.
5. *end*: the last loop leaves every element with everything.

Where the base is 2, i, d and N are words of 32 bits, as in the kernel, and each of these is one question. In other
bases they are integers, and each is a question for each d. The few smaller sizes are run.

An element that a tree leaves unfinished at a level reaches as far as that level's last block: how far is its number of
elements without their lowest digit that is not 0. Words have bits for that. In other bases it is a name, `cleared`, of
which the induction needs no more than what it is for an element whose digits below d are 0, and that at d is not.

What the induction says of elements before a step: one end of what each holds, or both; as numbers and expressions.

In a scan in place an element's words reach from itself to one side, so the other end says it all. Where elements drop
their words, both ends are open; `nothing` is from where to where the identity reaches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct

from swizzle.scans.algorithm import DISTANCE, ELEMENT, SIZE, Algorithm, ScanLoop, ScanStep, sizes
from swizzle.scans.bank import Column, IndexTerm, LoopPoints, Mask
from swizzle.scans.network import HeldRanges
from symbolic.expressions import expression as e
from symbolic.expressions.columns import on_columns
from symbolic.expressions.expression import ONE, TRUE, ZERO, Expression, rewritten, substituted
from symbolic.expressions.formulas import INTEGER, Sort, decide

CLEARED: Final = e.number_name("cleared")
"""How many elements there are up to element i (in a backward scan from it on), in the base and without the lowest digit
that is not 0."""
OF_SOURCE: Final = e.number_name("cleared_of_source")
"""The same of the element that is taken."""
Held = tuple[Expression, ...]
"""The ends of what an element holds, over i, d and N."""


def exists(element: Expression) -> Expression:
    """Return that an element is one of the array."""
    return e.both(e.less_equal(ZERO, element), e.less(element, SIZE))


class OneEnd(Struct, frozen=True):
    """How far each element reaches in a scan in place."""

    backward: bool

    @property
    def start(self) -> Held:
        """What is held in the beginning."""
        return (ELEMENT,)

    @property
    def whole(self) -> Held:
        """What is held in the end."""
        return (e.subtract(SIZE, ONE) if self.backward else ZERO,)

    def legal(self, step: ScanStep, held: Held) -> Expression:
        """Return that a step keeps the rules, given what is held before it."""
        neighbour = e.add(held[0], ONE if self.backward else e.constant(-1))
        return e.either(e.negation(step.when), e.both(exists(step.source), e.equal(step.source, neighbour)))

    def after(self, step: ScanStep, held: Held) -> Held:
        """Return what is held behind a step."""
        return (e.select(step.when, substituted(held[0], {"i": step.source, CLEARED.value: OF_SOURCE}), held[0]),)

    def of(self, held: HeldRanges) -> tuple[Column, ...]:
        """Return the same in numbers."""
        return (held.high - 1 if self.backward else held.low,)


class BothEnds(Struct, frozen=True):
    """From where to where elements hold the input, behind the last one, where some drop what they hold."""

    backward: bool
    exclusive: bool

    @property
    def start(self) -> Held:
        """What is held in the beginning."""
        return ELEMENT, e.add(ELEMENT, ONE)

    @property
    def whole(self) -> Held:
        """What is held in the end."""
        cut = e.add(ELEMENT, ONE) if self.backward == self.exclusive else ELEMENT
        return (cut, SIZE) if self.backward else (ZERO, cut)

    def legal(self, step: ScanStep, held: Held) -> Expression:
        """Return that a step keeps the rules, given what is held before it."""
        claims, earlier, (low, high) = [], list[Expression](), held
        for move in step.moves:
            if move.how != "nothing":
                first, last = _of_source(move, held)
                beside = e.equal(last, low) if move.how == "before" else e.equal(high, first)
                fits = [] if move.how == "instead" else [e.either(e.equal(low, high), e.equal(first, last), beside)]
                claims.append(e.either(e.negation(move.when), *earlier, e.both(exists(move.source), *fits)))
            earlier.append(move.when)
        return e.both(*claims)

    def after(self, step: ScanStep, held: Held) -> Held:
        """Return what is held behind a step."""
        low, high = held
        alone = e.equal(low, high)
        for move in reversed(list(step.moves)):
            if move.how == "nothing":
                nothing = SIZE if self.backward else ZERO
                ends = nothing, nothing
            else:
                first, last = ends = _of_source(move, held)
                none = e.equal(first, last)
                if move.how == "before":
                    ends = e.select(alone, first, e.select(none, held[0], first)), e.select(alone, last, held[1])
                elif move.how == "behind":
                    ends = e.select(alone, first, held[0]), e.select(alone, last, e.select(none, held[1], last))
            low, high = (e.select(move.when, end, own) for end, own in zip(ends, (low, high), strict=True))
        return low, high

    def of(self, held: HeldRanges) -> tuple[Column, ...]:
        """Return the same in numbers."""
        return held.low, held.high


def _of_source(move: ScanStep, held: Held) -> tuple[Expression, Expression]:
    assert CLEARED.value not in held[0].names | held[1].names, "of this element, not of the source"
    low, high = (substituted(each, {"i": move.source}) for each in held)
    return low, high


def ends_of(algorithm: Algorithm) -> OneEnd | BothEnds:
    """Return which ends are needed of an algorithm."""
    return OneEnd(algorithm.backward) if algorithm.in_place else BothEnds(algorithm.backward, algorithm.exclusive)


def reached(algorithm: Algorithm, number: int, points: LoopPoints) -> list[tuple[Column, ...]]:
    """Return the ends of what is held before each step of a loop, at its points."""
    ends, loop = ends_of(algorithm), algorithm.loops[number]
    found = [[tuple(np.zeros(0, np.int64) for _ in ends.start)] for _ in loop.steps]
    for size in dict.fromkeys(size for size, _ in points.rounds):
        first, behind = (
            sum(len(each.distances(size)) * len(each.steps) for each in algorithm.loops[:until])
            for until in (number, number + 1)
        )
        for at, held in enumerate(itertools.islice(algorithm.held(size), first, behind)):
            assert not isinstance(held, str), held
            found[at % len(loop.steps)].append(ends.of(held))
    return [tuple(map(np.concatenate, zip(*rows, strict=True))) for rows in found]


LARGEST: Final = 1 << 30
"""The size up to which an algorithm is proved."""
SECONDS: Final = 5.0
"""For one question."""
PARTS: Final = 300
"""Terms that are put together with light ones; of three times as many, two are put together by a condition."""
LIGHT: Final = 3
PAIRS: Final = 400
CHOICES: Final = 20
"""Conditions by which one of the same two is chosen."""
FORMS: Final = 500
"""Expressions that are right at the sizes at which they are looked for, and are tried at larger ones."""
WIDE: Final = 256
"""The largest of these."""
LEVELS: Final = 2
"""In bases other than 2, N is d times one of so many powers, or a multiple of d times the next one."""


class Proof(Struct, frozen=True):
    """What is known of an algorithm: proved for all sizes up to `largest`, or only run at some.

    `reaches` is how far elements reach before each step; `missing` says what was not proved.
    """

    proved: bool
    largest: int
    reaches: tuple[Expression, ...] = ()
    questions: int = 0
    missing: str = ""


def prove(algorithm: Algorithm, points: Sequence[Sequence[LoopPoints]], tried: int) -> Proof:
    """Prove an algorithm that is a scan at all sizes up to `tried`, given points for each of its loops."""
    shapes: list[Expression] = []
    for number, some in enumerate(points):
        wide = _wider(some[0], tried)
        columns, farther = (itertools.chain.from_iterable(reached(algorithm, number, each)) for each in (some[0], wide))
        for wanted, beyond in zip(columns, farther, strict=True):
            forms = (form for each in some for form in closed_forms(each, wanted, backward=algorithm.backward))
            if not algorithm.in_place:  # nothing is known of the digits of several sources
                forms = (form for form in forms if CLEARED.value not in form.names)
            few = itertools.islice(forms, FORMS)
            shape = next((form for form in few if _fits(form, wide, beyond, backward=algorithm.backward)), None)
            if shape is None:
                missing = f"no closed form of how far elements reach in loop {number + 1}"
                return Proof(False, tried, tuple(shapes), missing=missing)
            shapes.append(shape)
    assert all(_smallest(loop) <= tried for loop in algorithm.loops)
    asked = 0
    for name, premises, claims, sorts in _questions(algorithm, shapes):
        answer = decide(claims, sorts, premises, effort=SECONDS)
        asked += 1
        if answer.verdict != "proved":
            values = ", ".join(f"{each} = {value}" for each, value in answer.values.items())
            missing = f"{name}: {answer.verdict}, {values or answer.reason}"
            return Proof(False, tried, tuple(shapes), asked, missing)
    return Proof(True, LARGEST, tuple(shapes), asked)


# ---- how far elements reach ------------------------------------------------------------------------------------------


def _wider(points: LoopPoints, tried: int) -> LoopPoints:
    """Return the same loop at larger sizes."""
    base, seen = points.base, max((size for size, _ in points.rounds), default=1)
    return LoopPoints(points.skeleton, base, [n for n in sizes(base, min(WIDE, tried)) if n > seen], with_size=False)


def _fits(form: Expression, points: LoopPoints, want: Column, *, backward: bool) -> bool:
    """Tell whether an expression has these values, too."""
    names = {"i": points.element, "d": points.distance, "N": points.size}
    if CLEARED.value in form.names:
        names[CLEARED.value] = _cleared(points, backward=backward)
    return bool((on_columns(form, names) == want).all())


def closed_forms(points: LoopPoints, want: Column, *, backward: bool = False) -> Iterator[Expression]:
    """Yield expressions with these values: terms, the greater or lesser of two, then one of two by a condition."""
    if points.mirrored:
        for found in _of_columns(points, points.size - want, backward=backward):
            yield e.subtract(SIZE, found)
    else:
        yield from _of_columns(points, want, backward=backward)


def _of_columns(points: LoopPoints, want: Column, *, backward: bool) -> Iterator[Expression]:
    columns, terms = points.terms.rows, points.terms.made
    if points.base != 2:
        left = _cleared(points, backward=backward)
        columns = np.concatenate([columns, (points.size - 1 - left if backward else left)[None]])
        terms = [*terms, IndexTerm(LIGHT + 1, "", (), _reach_of(CLEARED, backward=backward))]
    own = np.array([term.weight for term in terms])
    right = columns == want
    for each in np.nonzero(right.all(axis=1))[0].tolist():
        yield terms[each].expression
    light = np.nonzero(own <= LIGHT)[0]
    some = _telling(right, own, PARTS)
    rows, weights = [right], [own]
    for function in (np.maximum, np.minimum):
        for b in light:
            rows.append(function(columns[some], columns[b][None]) == want)
            weights.append(own[some] + own[b] + 1)
    right, weight = np.concatenate(rows), np.concatenate(weights)

    def built(at: int) -> Expression:
        if at < len(terms):
            return terms[at].expression
        pair, a = divmod(at - len(terms), len(some))
        lesser, b = divmod(pair, len(light))
        return (e.minimum if lesser else e.maximum)(terms[some[a]].expression, terms[light[b]].expression)

    whole = np.nonzero(right.all(axis=1))[0]
    for each in whole[np.argsort(weight[whole], kind="stable")].tolist():
        if each >= len(terms):
            yield built(each)
    chosen = _telling(right, weight, 3 * PARTS)
    chosen = chosen[np.argsort(weight[chosen], kind="stable")]
    wrong = (~right[chosen]).astype(np.float32)
    first, second = np.nonzero(wrong @ wrong.T == 0)
    lightest = np.argsort(weight[chosen[first]] + weight[chosen[second]], kind="stable")[:PAIRS]
    masks = points.conditions.masks.astype(np.float32)
    for a, b in zip(first[lightest], second[lightest], strict=True):
        fits = np.nonzero((masks @ wrong[a] == 0) & ((1 - masks) @ wrong[b] == 0))[0]
        for each in fits[:CHOICES].tolist():
            yield e.select(points.conditions.expression(each), built(int(chosen[a])), built(int(chosen[b])))


def _cleared(points: LoopPoints, *, backward: bool) -> Column:
    return cleared(points.size - points.element if backward else points.element + 1, points.base)


def cleared(numbers: Column, base: int) -> Column:
    """Return numbers above 0 without their lowest digit that is not 0: 45, which is 1200 in base 3, becomes 27."""
    found, power = numbers, 1
    while power <= numbers.max(initial=0):
        below = numbers % (base * power)
        found = np.where((below != 0) & (below % power == 0), numbers - below, found)
        power *= base
    return found


def _reach_of(number: Expression, *, backward: bool) -> Expression:
    return e.subtract(e.subtract(SIZE, ONE), number) if backward else number


def _telling(right: Mask, weights: Column, most: int) -> Column:
    """Return the candidates that are right at the most points, of those right at the same ones the lightest."""
    order = np.argsort(weights, kind="stable")
    order = order[right[order].any(axis=1)]
    packed = np.ascontiguousarray(np.packbits(right[order], axis=1))
    _, first = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True)
    lightest = order[np.sort(first)]
    return lightest[np.argsort(-right[lightest].sum(axis=1), kind="stable")][:most]


# ---- the questions ---------------------------------------------------------------------------------------------------

Question = tuple[str, list[Expression], list[tuple[Expression, Expression]], dict[str, Sort]]


Claim = tuple[str, Expression, Sequence[Expression]]


def _questions(algorithm: Algorithm, reaches: Sequence[Expression]) -> Iterator[Question]:
    bounds = [e.less_equal(ZERO, ELEMENT), e.less(ELEMENT, SIZE)]
    claims = list(_claims(algorithm, reaches))
    if algorithm.base == 2:
        for name, claim, premises in claims:
            given = [*premises, *bounds, e.less_equal(SIZE, e.constant(LARGEST)), _power(SIZE), _power(DISTANCE)]
            yield (
                name,
                [masked(each) for each in given],
                [(masked(claim), TRUE)],
                dict.fromkeys("idN", Sort("word", 32)),
            )
        return
    names = dict.fromkeys(("i", "N", CLEARED.value, OF_SOURCE.value), INTEGER)
    for power in [1, *sizes(algorithm.base, LARGEST)]:
        multiples = [power * algorithm.base**level for level in range(LEVELS)]
        larger = e.multiply(e.constant(multiples[-1] * algorithm.base), SIZE)  # which N is, or one of these
        for (name, claim, premises), size in itertools.product(claims, (*map(e.constant, multiples), larger)):
            values = {"d": e.constant(power), "N": size}
            given = [_without_multiples(substituted(each, values)) for each in (*premises, *bounds)]
            if not any(each.constant and not each.value for each in given):
                yield (
                    f"{name}, d = {power}",
                    [*given, e.less(ZERO, SIZE)],
                    [(_without_multiples(substituted(claim, values)), TRUE)],
                    names,
                )


def _without_multiples(expression: Expression) -> Expression:
    """Return an expression whose remainders are of sums without multiples of what divides them."""

    def without(node: Expression, inner: list[Expression]) -> Expression | None:
        if node.operator != "%" or not inner[1].constant or inner[0].operator != "+":
            return None
        rest = [each for each in inner[0].arguments if not _multiple(each, inner[1].value)]
        return e.modulo(e.add(*rest), inner[1])

    return rewritten(expression, without)


def _multiple(node: Expression, number: Any) -> bool:
    """Tell whether an expression is written as a multiple of a number."""
    factors = node.arguments if node.operator == "*" else (node,)
    return any(bool(each.constant) and each.value % number == 0 for each in factors)


def _power(number: Expression) -> Expression:
    return e.both(e.less(ZERO, number), e.equal(e.bits("&", number, e.subtract(number, ONE)), ZERO))


def masked(expression: Expression) -> Expression:
    """Return an expression over words with remainders of powers of two as masks."""

    def mask(node: Expression, inner: list[Expression]) -> Expression | None:
        if node.operator == "//" and inner[1].constant and _two_to(inner[1]):
            return e.bits(">>", inner[0], e.constant(inner[1].value.bit_length() - 1))
        return e.bits("&", inner[0], e.subtract(inner[1], ONE)) if node.operator == "%" and _two_to(inner[1]) else None

    return rewritten(expression, mask)


def _two_to(number: Expression) -> bool:
    """Tell whether a number is a power of two as it stands: d, N, and their multiples by such."""
    if number.constant:
        return bool(number.value > 0 and number.value & (number.value - 1) == 0)
    return number in (DISTANCE, SIZE) or (number.operator == "*" and all(map(_two_to, number.arguments)))


def _claims(algorithm: Algorithm, reaches: Sequence[Expression]) -> Iterator[Claim]:
    """Yield the claims of the induction: a name, the claim, its premises.

    Where one loop ends and the next begins, d is a fraction of N of which all their distances are multiples.
    """
    ends, places = ends_of(algorithm), iter(reaches)
    shapes = [[tuple(next(places) for _ in ends.start) for _ in loop.steps] for loop in algorithm.loops]
    least = max(_smallest(loop) for loop in algorithm.loops)
    large = e.less_equal(e.constant(least), SIZE)
    parts = max(loop.base**loop.most for loop in algorithm.loops)
    share = [large, e.equal(e.multiply(e.constant(parts), DISTANCE), SIZE), *_below(parts)]
    before, known = ends.start, tuple[Expression, ...]()
    own_facts = digits_known(algorithm, ELEMENT, CLEARED)
    for number, (loop, own) in enumerate(zip(algorithm.loops, shapes, strict=True), 1):
        first, last = _ends(loop, parts)
        yield f"start of loop {number}", _same(before, _at(own[0], first)), [*share, *known, *_at(own_facts, first)]
        within = [e.less_equal(e.constant(loop.base**loop.least), DISTANCE)]
        within += _below(loop.base**loop.most)
        if loop.way == "first":
            within = [e.equal(DISTANCE, first)]
        elif loop.way == "last":
            within += [e.equal(e.multiply(e.constant(loop.base**loop.most), DISTANCE), SIZE)]
        for step, (held, following) in zip(loop.steps, zip(own, [*own[1:], None], strict=True), strict=True):
            facts = [*own_facts, *digits_known(algorithm, step.source, OF_SOURCE)]
            yield f"legal in loop {number}", ends.legal(step, held), [large, *within, *facts]
            after = ends.after(step, held)
            if following is not None:
                yield f"step of loop {number}", _same(after, following), [large, *within, *facts]
        if loop.way == "up":
            more = e.less(e.multiply(e.constant(loop.base**loop.most), DISTANCE), SIZE)
            following = _at(own[0], e.multiply(e.constant(loop.base), DISTANCE))
            yield f"round of loop {number}", _same(after, following), [large, *within, more, *facts]
        elif loop.way == "down":
            larger = e.multiply(e.constant(loop.base), DISTANCE)
            given = [e.less_equal(e.constant(loop.base**loop.least), DISTANCE)]
            given += _below(loop.base ** (loop.most + 1))
            yield f"round of loop {number}", _same(_at(after, larger), own[0]), [large, *given, *_at(facts, larger)]
        before, known = _at(after, last), _at(facts, last)
    yield "end", _same(before, ends.whole), [*share, *known]


def digits_known(algorithm: Algorithm, element: Expression, without: Expression) -> list[Expression]:
    """Return what is known of how many elements there are up to one, without their lowest digit, by what it is at d.

    Of an element that does not exist, as the source of one that takes none may not, nothing is said.
    """
    if algorithm.base == 2:
        return []
    count = _count(algorithm, element)
    larger = e.multiply(e.constant(algorithm.base), DISTANCE)
    below, whole = e.modulo(count, DISTANCE), e.modulo(count, larger)
    lower = e.both(e.less(ZERO, below), e.less_equal(e.subtract(count, below), without), e.less(without, count))
    lowest = e.both(e.equal(below, ZERO), e.less(ZERO, whole), e.equal(without, e.subtract(count, whole)))
    higher = e.both(e.equal(whole, ZERO), e.less_equal(ZERO, without), e.less_equal(without, e.subtract(count, larger)))
    return [e.either(e.negation(exists(element)), lower, lowest, higher)]


def _count(algorithm: Algorithm, element: Expression) -> Expression:
    """Return how many elements there are up to one; from it on, in a backward scan."""
    return e.subtract(SIZE, element) if algorithm.backward else e.add(element, ONE)


def _at(some: Sequence[Expression], distance: Expression) -> tuple[Expression, ...]:
    return tuple(substituted(each, {"d": distance}) for each in some)


def _same(some: Held, others: Held) -> Expression:
    return e.both(*map(e.equal, some, others))


def _smallest(loop: ScanLoop) -> int:
    """Return the least size at which a loop has a round."""
    return next(size for size in sizes(loop.base, LARGEST) if loop.distances(size))


def _ends(loop: ScanLoop, parts: int) -> tuple[Expression, Expression]:
    """Return a loop's first and last distance, where d is N divided by so many."""
    low = e.constant(loop.base**loop.least)
    high = e.multiply(e.constant(parts // loop.base**loop.most), DISTANCE)
    return {"up": (low, high), "down": (high, low), "first": (low, low), "last": (high, high)}[loop.way]


def _below(parts: int) -> list[Expression]:
    """Return that d is at most N divided by a power of the base, also of words, which wrap to 0 or below."""
    whole = e.multiply(e.constant(parts), DISTANCE)
    return [e.less(ZERO, whole), e.less_equal(whole, SIZE)]
