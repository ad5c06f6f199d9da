"""That no word overflows, from what is promised of a loop's data: so that words that wrap are as good as integers.

Of every word that is an integer a bound is sought that grows with the number of elements at most: `-1000 * length <=
here <= 1000 * length`. Bounds are guessed from the numbers that the loop's text names, and kept where a solver proves
that lifted elements have them and that `combine` keeps them. Where words of both parts are multiplied, a bound may also
be a power, `m <= 3 ** length`. Then every sum and product that is computed, of at most as many elements as are
promised, must be within its type; what stands for an infinity is the type's own limit, which none of them may be.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from swizzle.operators.carrier import Carrier
from swizzle.operators.invariants import holding, inductive
from swizzle.operators.loop import BOOL
from swizzle.operators.samples import random_parts, random_rows
from swizzle.operators.types import computed_in, infinity_signs, result_types, whole_infinities
from symbolic.elements import limits
from symbolic.expressions import expression as e
from symbolic.expressions.expression import GREATEST, LEAST, ONE, TRUE, Expression, subexpressions, substituted
from symbolic.expressions.formulas import INTEGER, Sort, Verdict, decide
from symbolic.expressions.meaning import function_of
from symbolic.expressions.text import text_of
from symbolic.ir.program import DType

LENGTH = "length"
SECONDS = 5.0
LARGEST = 1 << 200


class OverflowProof(Struct, frozen=True):
    """Whether no word overflows, the bounds that say so, or what may overflow."""

    verdict: Verdict
    bounds: Sequence[str] = ()
    reason: str = ""


def ranges_of(carrier: Carrier) -> OverflowProof:
    """Prove that no word of a carrier overflows; its laws are proved of integers."""
    whole = [word for word, dtype in carrier.words.items() if dtype is not BOOL and not dtype.is_float]
    length = carrier.loop.range.length
    bounds = _bounds(carrier, whole)
    power = _power(carrier)
    sorts = {**carrier.sorts("integers", "ab"), **{f"{side}.{LENGTH}": INTEGER for side in "ab"}}
    given = [carrier.loop.range.where, *(substituted(carrier.within, carrier.part(side)) for side in "ab")]
    given += [_on(carrier, each, side) for each in bounds for side in "ab"]
    total = e.add(*(e.number_name(f"{side}.{LENGTH}") for side in "ab"))
    given += [e.less_equal(ONE, e.number_name(f"{side}.{LENGTH}")) for side in "ab"]
    if length is not None:
        given.append(e.less_equal(total, e.constant(length)))
    if power is not None:
        powers = power.bounds(carrier, whole, bounds)
        bounds = [*bounds, *powers]
        sorts |= power.sorts
        given += [*power.facts, *(power.on(carrier, each, side) for each in powers for side in "ab")]
        both_parts = {**power.together(carrier), LENGTH: total}
        given += [substituted(each, both_parts) for each in bounds]
    state = {name: substituted(each, carrier.part("a")) for name, each in carrier.state.items()}
    computed: list[tuple[str, Expression, DType]] = []
    for word, dtype in carrier.words.items():
        computed += [(word, each, dtype) for each in (carrier.lift[word], carrier.combine[word])]
    computed += [(name, each, carrier.loop.state[name]) for name, each in state.items()]
    loop, reached = carrier.loop, state
    while True:  # the loop itself, a round more, and those that it stands for
        for before in (reached, {name: loop.initial[name] for name in reached}):
            computed += [(name, substituted(loop.step[name], before), loop.state[name]) for name in reached]
        if loop.stands_for is None:
            break
        reached = {name: substituted(each, reached) for name, each in loop.stands_for.words.items()}
        loop = loop.stands_for.loop
    types = {f"{side}.{word}": dtype for side in "ab" for word, dtype in carrier.words.items()}
    types |= carrier.loop.elements
    computed += [
        ("the result", substituted(each, carrier.part("a")), dtype)
        for each, dtype in zip(carrier.result, result_types(carrier), strict=True)
    ]
    if any(_names(each) - types.keys() for _, each, _ in computed):
        return OverflowProof("unknown", reason="the operator's words do not say all that the loop computes with")
    claims: dict[Expression, str] = {}
    infinite = whole_infinities(carrier, "ab")
    for word, each, dtype in computed:
        reserved = f"a.{word}" in infinite or bool(infinity_signs(each, infinite))
        for node, kind, own in _arithmetic(each, dtype, types, infinite, reserved=reserved):
            claims.setdefault(_fits(node, kind, infinite=own), word)
    found = decide(
        [(claim, TRUE) for claim in claims], sorts, given, infinite=carrier.infinities("ab"),
        effort=SECONDS if power is None else 2 * SECONDS,
    )  # fmt: skip
    if found.verdict == "proved":
        return OverflowProof("proved", [text_of(each) for each in bounds])
    if found.verdict == "unknown":
        return OverflowProof("unknown", reason=f"whether a word overflows is not known: {found.reason}")
    return _overflowing(carrier) or OverflowProof("unknown", reason=_missing(carrier, found.values, claims, bounds))


class _Power(Struct, frozen=True):
    """The largest number of a promise to the length of a part: of two parts together it is the product."""

    base: int
    length: int

    @property
    def name(self) -> str:
        return f"{self.base} ** {LENGTH}"

    @property
    def sides(self) -> list[Expression]:
        return [e.number_name(f"{side}.{self.name}") for side in "ab"]

    @property
    def sorts(self) -> dict[str, Sort]:
        return {side.value: INTEGER for side in self.sides}

    @property
    def facts(self) -> list[Expression]:
        """What is true of two parts of an input."""
        most = e.constant(self.base**self.length)
        least = [e.less_equal(e.constant(self.base), side) for side in self.sides]
        return [*least, *(e.less_equal(e.multiply(e.constant(self.base), side), most) for side in self.sides),
                e.less_equal(e.multiply(*self.sides), most)]  # fmt: skip

    def on(self, carrier: Carrier, bound: Expression, side: str) -> Expression:
        """Return a bound of a part."""
        return substituted(bound, {**carrier.part(side), self.name: e.number_name(f"{side}.{self.name}")})

    def together(self, carrier: Carrier) -> dict[str, Expression]:
        """Return the words and the power of two parts together."""
        return {**carrier.combined(carrier.part("a"), carrier.part("b")), self.name: e.multiply(*self.sides)}

    def bounds(self, carrier: Carrier, whole: Sequence[str], known: Sequence[Expression]) -> list[Expression]:
        """Return bounds of words that every part has, beside those that are known."""
        most = e.number_name(self.name)
        names = [e.number_name(word) for word in whole if word not in carrier.infinite]
        likely = [
            bound for name in names for bound, above in (
                (e.less_equal(name, most), True), (e.less_equal(e.negate(most), name), False)
            ) if (name.value, above) not in _sides(known, whole)
        ]  # fmt: skip
        samples = [(*words, self.base**count) for words, count in random_parts(carrier)]
        likely = holding(likely, [*carrier.words, self.name], samples)
        steps = [
            ({**carrier.lift, self.name: e.constant(self.base)}, lambda _: TRUE),
            (self.together(carrier), lambda each: e.both(self.on(carrier, each, "a"), self.on(carrier, each, "b"))),
        ]
        premises = [carrier.loop.range.where, *(e.less_equal(e.constant(self.base), each) for each in self.sides)]
        premises += [substituted(carrier.within, carrier.part(side)) for side in "ab"]
        lengths = {f"{side}.{LENGTH}": INTEGER for side in "ab"}
        premises += [_on(carrier, each, side) for each in known for side in "ab"]
        premises += [e.less_equal(ONE, e.number_name(name)) for name in lengths]
        sorts = {**carrier.sorts("integers", "ab"), **self.sorts, **lengths}
        return inductive(likely, steps, sorts, premises, carrier.infinities("ab"))


def _power(carrier: Carrier) -> _Power | None:
    """Return what may bound products of words of both parts, where there are such, of a length that is promised."""
    length = carrier.loop.range.length
    nodes = (node for each in carrier.combine.values() for node in subexpressions(each))
    sides = ({name[:2] for factor in node.arguments for name in factor.names} for node in nodes if node.operator == "*")
    if length is None or not any({"a.", "b."} <= each for each in sides):
        return None
    base = max([2, *_limits_of(carrier.loop.range.where)])
    return _Power(base, length) if length * base.bit_length() <= LARGEST.bit_length() else None


def _missing(
    carrier: Carrier, values: Mapping[str, Any], claims: Mapping[Expression, str], bounds: Sequence[Expression]
) -> str:
    holds = function_of(list(values), list(claims))(*values.values())
    claim, word = next(each for each, fits in zip(claims.items(), holds, strict=True) if not fits)
    about = {word} if word in carrier.words else {name.partition(".")[2] for name in claim.names}
    known = [text_of(each) for each in bounds if about & each.names]
    length = carrier.loop.range.length
    reason = " and ".join(known) if known else "no bound was found that grows with the length"
    return f"{word} may overflow: {reason}, of {'any length' if length is None else f'at most {length} elements'}"


def _overflowing(carrier: Carrier) -> OverflowProof | None:
    """Return that a word overflows of an input that is one element over and over."""
    loop = carrier.loop
    length = loop.range.length or 1 << 40
    for row in random_rows(loop, random.Random(4), 60):
        try:
            words, count, power = carrier.lifted(row), 1, carrier.lifted(row)
            for place in range(length.bit_length()):
                if place:
                    power = carrier.joined(power, power)
                if any(abs(value) > LARGEST for value in power if not isinstance(value, float)):
                    break  # a floating-point word, which no type here limits
                many = [(power, 1 << place)] if 1 << place <= length else []
                if length - 1 >> place & 1:
                    words, count = carrier.joined(words, power), count + (1 << place)
                    many.append((words, count))
                for some, elements in many:
                    for (word, dtype), value in zip(carrier.words.items(), some, strict=True):
                        if dtype is not BOOL and not dtype.is_float and not _in_type(value, dtype):
                            shown = ", ".join(f"{name} = {each}" for name, each in zip(loop.elements, row, strict=True))
                            size = f"{float(value):.3g}" if abs(value) > 10**15 else value
                            return OverflowProof(
                                "refuted", reason=f"of {elements} elements {shown}, {word} is {size}: no {dtype.value}"
                            )
        except (ArithmeticError, ValueError):
            continue
    return None


def _in_type(value: Any, dtype: DType) -> bool:
    low, high = limits(dtype)
    return isinstance(value, float) or low <= value <= high


def _on(carrier: Carrier, bound: Expression, side: str) -> Expression:
    return substituted(bound, {**carrier.part(side), LENGTH: e.number_name(f"{side}.{LENGTH}")})


def _bounds(carrier: Carrier, whole: Sequence[str]) -> list[Expression]:
    """Return bounds of words that every part has."""
    loop = carrier.loop
    promised = sorted(_limits_of(loop.range.where))
    texts = [*loop.step.values(), *loop.initial.values(), *loop.result]
    numbers = {abs(node.value) for each in texts for node in subexpressions(each) if _whole(node)}
    sizes = sorted({*[0, 1, *promised][:8], *sorted(numbers)[: max(0, 6 - len(promised))]})
    length = e.number_name(LENGTH)
    likely: list[Expression] = []
    for word in whole:
        name = e.number_name(word)
        for size in sizes:
            factors = [ONE, length, e.add(length, e.constant(-1))] if size else [ONE]
            for factor in factors:
                for bound, sign in (
                    (e.less_equal(name, e.multiply(e.constant(size), factor)), 1),
                    (e.less_equal(e.multiply(e.constant(-size), factor), name), -1),
                ):
                    limit = LEAST if sign < 0 else GREATEST
                    likely.append(
                        e.either(bound, e.equal(name, limit)) if carrier.infinite.get(word) == sign else bound
                    )
    samples = [(*words, count) for words, count in random_parts(carrier)]
    likely = holding(likely, [*carrier.words, LENGTH], samples)
    sides = {side: e.number_name(f"{side}.{LENGTH}") for side in "ab"}
    together = {**carrier.combined(carrier.part("a"), carrier.part("b")), LENGTH: e.add(*sides.values())}
    steps = [
        ({**carrier.lift, LENGTH: ONE}, lambda _: TRUE),
        (together, lambda each: e.both(_on(carrier, each, "a"), _on(carrier, each, "b"))),
    ]
    sorts = {**carrier.sorts("integers", "ab"), **{f"{side}.{LENGTH}": INTEGER for side in "ab"}}
    premises = [loop.range.where, *(e.less_equal(ONE, each) for each in sides.values())]
    premises += [substituted(carrier.within, carrier.part(side)) for side in "ab"]
    kept = inductive(likely, steps, sorts, premises, carrier.infinities("ab"))
    return _sharpest(kept, whole)


def _whole(node: Expression) -> bool:
    return node.constant and not node.truth and isinstance(node.value, int)


def _limits_of(where: Expression) -> set[int]:
    """Return how large a promise lets numbers be: of `-8 < v <= 9` these are 7 and 9."""
    found = {abs(node.value) for node in subexpressions(where) if _whole(node)}
    for low, high in (node.arguments for node in subexpressions(where) if node.operator == "<"):
        found |= {abs(low.value + 1)} if _whole(low) else set()
        found |= {abs(high.value - 1)} if _whole(high) else set()
    return found


def _sharpest(kept: Sequence[Expression], whole: Sequence[str]) -> list[Expression]:
    """Return the first bound of each word on each side: one that does not grow, if there is one."""
    return list(_sides(sorted(kept, key=lambda bound: LENGTH in bound.names), whole).values())


def _sides(bounds: Sequence[Expression], whole: Sequence[str]) -> dict[tuple[str, bool], Expression]:
    """Return the first bound of each word, from above and from below."""
    found: dict[tuple[str, bool], Expression] = {}
    for each in bounds:
        bound = next(node for node in subexpressions(each) if node.operator == "<=")
        word = next(name for name in bound.names if name in whole)
        found.setdefault((word, bound.arguments[0].names == {word}), each)
    return found


def _arithmetic(
    expression: Expression, dtype: DType, types: Mapping[str, DType], infinite: Mapping[str, int], *, reserved: bool
) -> list[tuple[Expression, DType, bool]]:
    """Return the whole numbers that are computed for an expression of a type, and what its conditions compare.

    Each comes with the type that it is computed in: a comparison has its own, which may be a narrower one. A word is
    among them where that type has not all of its own numbers. With each stands whether the limits of the type are
    `reserved` there, since they stand for an infinity; `infinite` are the names that may be one.
    """
    seen: dict[tuple[Expression, DType, bool], None] = {}

    def walk(node: Expression, dtype: DType, reserved: bool) -> None:
        if (node, dtype, reserved) in seen:
            return
        seen[node, dtype, reserved] = None
        if node.operator in ("<", "<=", "=="):
            dtype = computed_in(types, *node.arguments)
            reserved = any(infinity_signs(each, infinite) for each in node.arguments if not each.truth)
        for each in node.arguments:
            if not (each.constant and node.operator in ("+", "*")):  # a coefficient is any number that wraps
                walk(each, dtype, reserved or bool(infinity_signs(each, infinite)))

    walk(expression, dtype, reserved)
    return [
        (node, kind, own) for node, kind, own in seen
        if not node.truth and not kind.is_float and kind is not BOOL
        and not (node.operator == "name" and _holds(kind, types[node.value]))
    ]  # fmt: skip


def _names(expression: Expression) -> set[str]:
    """Return the names that stand in an expression."""
    return {str(node.value) for node in subexpressions(expression) if node.operator == "name"}


def _holds(dtype: DType, other: DType) -> bool:
    """Tell whether a type has all numbers of another one."""
    (low, high), (least, greatest) = limits(dtype), limits(other)
    return low <= least and greatest <= high


def _fits(node: Expression, dtype: DType, *, infinite: bool) -> Expression:
    low, high = limits(dtype)
    inside = e.both(e.less_equal(e.constant(low + infinite), node), e.less_equal(node, e.constant(high - infinite)))
    return e.either(inside, e.equal(node, LEAST), e.equal(node, GREATEST)) if infinite else inside
