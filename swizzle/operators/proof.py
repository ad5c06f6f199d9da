"""The laws of an operator, each proved, refuted or unknown.

What is proved of a carrier is enough for any way of going through an input in parts, by induction on the parts:

1. *Step*: the words of one element give the loop's state after it, and the words of a part combined with those of one
   element more give the state that the loop's step makes of the part's state.
2. *Associative*: `combine(combine(a, b), c)` is `combine(a, combine(b, c))`. So every bracketing of the lifted
   elements is the one from the left, whose state is, by 1, the loop's.
3. *Identities*: `combine(e, a)` and `combine(a, e)` are `a`, so that parts may be empty.
4. *Commutative*: `combine(a, b)` is `combine(b, a)`, so that parts may be taken in any order.

A law is proved of all words, or, where that fails, of those that meet an invariant that lifted elements have and
`combine` keeps: 'on the carrier'. An equation is proved by writing out its polynomials, which holds in every ring,
words that wrap among them, or else by a solver. What is refuted comes with numbers: elements where there are such,
since words that no input has prove nothing.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from swizzle.operators.carrier import Carrier, Values
from swizzle.operators.equations import SECONDS, cases, few_values, multiplies, prove
from swizzle.operators.invariants import implied, inductive, orders
from swizzle.operators.loop import BOOL, Domain, name_of
from swizzle.operators.samples import random_parts, random_rows
from symbolic.expressions import expression as e
from symbolic.expressions.divisors import divisors_in
from symbolic.expressions.expression import TRUE, ZERO, Expression, subexpressions, substituted
from symbolic.expressions.formulas import Meaningless, Sort, Verdict
from symbolic.expressions.meaning import function_of, value_of

QUICK: Final = 0.3
"""Seconds for an equation that is hardly to be proved, but for luck."""
ELEMENTS: Final = 1.5
"""Seconds for elements that refute one."""


WORK: Final = 1_000_000
"""So many operations are computed for words of no element."""
MOST_INVARIANTS: Final = 100
MOST_IMPLIED: Final = 40
MANY_PARTS: Final = 600
"""Random parts that suggest what goes with what."""
PAIRS: Final = 12
"""Random elements of which neighbours are tried in either order."""


class LawProof(Struct, frozen=True):
    """Whether a law holds: of all words, or on the carrier; with the numbers that refute it, in words."""

    verdict: Verdict
    on_carrier: bool = False
    witness: str = ""
    reason: str = ""


class Proofs(Struct, frozen=True):
    """The laws of an operator in a domain."""

    domain: Domain
    laws: Mapping[str, LawProof]
    identity: Values | None = None
    invariant: Sequence[Expression] = ()
    needed: Sequence[str] = ("step", "associative")
    """The laws without which the operator is none."""

    @property
    def status(self) -> Verdict:
        """Whether all the laws are proved that are needed."""
        verdicts = {self.laws[name].verdict for name in self.needed}
        return "refuted" if "refuted" in verdicts else "unknown" if "unknown" in verdicts else "proved"

    @property
    def witness(self) -> str:
        """What refutes it."""
        return next((self.laws[name].witness for name in self.needed if self.laws[name].witness), "")


@dataclass
class Prover:
    """Proves the laws of a carrier in a domain."""

    carrier: Carrier
    domain: Domain
    thorough: bool = True
    """Whether invariants are looked for."""

    def __post_init__(self) -> None:
        self.loop = self.carrier.loop
        self._seconds = SECONDS if self.thorough else QUICK
        self._samples = [words for words, _ in random_parts(self.carrier)]
        self._invariant: list[Expression] | None = None if self.thorough else []

    def proofs(self) -> Proofs:
        """Return all laws."""
        laws = {"step": self.step()}
        if laws["step"].verdict == "refuted":
            self._invariant = []  # not worth looking for
        laws["associative"] = self.associative()
        identity = self.identity()
        laws |= {"left_identity": identity[1], "right_identity": identity[2]}
        laws["commutative"] = self.commutative()
        return Proofs(self.domain, laws, identity[0], self._invariant or [])

    # -- what is asked -----------------------------------------------------------------------------------------

    def _of(self, condition: Expression, side: str) -> Expression:
        """Return a condition on words as one on those of a part."""
        return substituted(condition, self.carrier.part(side))

    def invariant(self) -> list[Expression]:
        """Return what holds of all words that elements make."""
        if self._invariant is None:
            carrier = self.carrier
            named = {word: name_of(word, dtype) for word, dtype in carrier.words.items()}
            firsts = {word: each for word, each in self.loop.initial.items() if not each.infinite and not each.truth}
            self._invariant = self._kept(orders(carrier.words, self._samples, named, firsts, carrier.infinite))
        return self._invariant

    def _kept(self, likely: Sequence[Expression]) -> list[Expression]:
        """Return what of all that is likely holds of one element, and of two parts of which it holds."""
        carrier = self.carrier
        steps = [
            (dict(carrier.lift), lambda _: TRUE),
            (carrier.combined(carrier.part("a"), carrier.part("b")),
             lambda each: e.both(self._of(each, "a"), self._of(each, "b"))),
        ]  # fmt: skip
        premises = [self.loop.range.where, self._of(carrier.within, "a"), self._of(carrier.within, "b")]
        return inductive(likely, steps, carrier.sorts(self.domain, "ab"), premises, carrier.infinities("ab"))

    def _without(self, values: Mapping[str, Any], sides: str) -> bool:
        """Tell whether the invariant could be made one that words of some parts do not meet."""
        carrier = self.carrier
        if self._invariant is None or len(self._invariant) > MOST_INVARIANTS:
            return False
        named = {word: name_of(word, dtype) for word, dtype in carrier.words.items()}
        samples = [words for words, _ in random_parts(carrier, MANY_PARTS)]
        likely = [
            each for side in sides
            for each in implied(carrier.words, samples, named, [values[f"{side}.{word}"] for word in carrier.words])
        ]  # fmt: skip
        before = self._invariant
        self._invariant = self._kept([*before, *likely[:MOST_IMPLIED]])
        holds = function_of(list(carrier.words), self._invariant or [TRUE])
        return not all(all(holds(*(values[f"{side}.{word}"] for word in carrier.words))) for side in sides)

    def law(self, claims: Sequence[tuple[Expression, Expression]], sides: str, *more: Expression) -> LawProof:
        """Prove an equation of all words of some parts, or on the carrier."""
        carrier = self.carrier
        sorts, infinite = carrier.sorts(self.domain, sides), carrier.infinities(sides)
        given = [*more, *(self._of(carrier.within, side) for side in sides)]
        found = prove(claims, sorts, given, infinite, self._seconds)
        if found.verdict == "proved":
            return LawProof("proved", carrier.within is not TRUE)
        if found.verdict == "unknown" and not any(map(multiplies, itertools.chain(*claims))):
            return LawProof("unknown", reason=found.reason)
        known = self.invariant()
        if found.verdict == "unknown" and not known:
            return LawProof("unknown", reason=found.reason)
        while known:
            on_carrier = [*given, *(self._of(each, side) for each in known for side in sides)]
            again = prove(claims, sorts, on_carrier, infinite, self._seconds)
            if again.verdict == "proved":
                return LawProof("proved", True)
            if again.verdict == "unknown":
                return LawProof("unknown", reason=again.reason)
            if not self._without(again.values, sides):
                break
            known = self.invariant()
        return LawProof(
            "unknown", reason="it does not hold of all words, and no invariant was found of those that occur"
        )

    # -- laws --------------------------------------------------------------------------------------------------

    def step(self) -> LawProof:
        """One element, and one element more."""
        carrier, loop = self.carrier, self.loop
        where = loop.range.where
        once = loop.begun
        lifted = [(substituted(each, carrier.lift), once[name]) for name, each in carrier.state.items()]
        found = self._on_elements(lifted, 1, where)
        if found.verdict != "proved":
            return found
        before = {name: substituted(each, carrier.part("a")) for name, each in carrier.state.items()}
        words = carrier.combined(carrier.part("a"), carrier.lift)
        claims = [
            (substituted(each, words), substituted(loop.step[name], before)) for name, each in carrier.state.items()
        ]
        proved = self.law(claims, "a", where)
        if proved.verdict == "proved":
            return proved
        two = self._after_two(where)
        return two if two.verdict == "refuted" else proved

    def _after_two(self, where: Expression) -> LawProof:
        """Compare the loop after two and three elements with their words combined, to refute the law."""
        for count in (2, 3):
            elements = [self._element(place) for place in range(count)]
            words = dict(self._lift(elements[0]))
            state = {name: substituted(self.loop.step[name], {**self.loop.initial, **elements[0]})
                     for name in self.loop.live}  # fmt: skip
            for element in elements[1:]:
                words = self.carrier.combined(words, self._lift(element))
                state = {name: substituted(self.loop.step[name], {**state, **element}) for name in self.loop.live}
            claims = [(substituted(each, words), state[name]) for name, each in self.carrier.state.items()]
            found = self._on_elements(claims, count, where)
            if found.verdict == "refuted":
                return found
        return found

    def _element(self, place: int) -> dict[str, Expression]:
        return {name: name_of(f"{name}[{place}]", dtype) for name, dtype in self.loop.elements.items()}

    def _lift(self, element: Values) -> dict[str, Expression]:
        return {word: substituted(each, element) for word, each in self.carrier.lift.items()}

    def _on_elements(self, claims: Sequence[tuple[Expression, Expression]], count: int, where: Expression) -> LawProof:
        """Prove an equation of elements, or refute it with some."""
        own = self.loop.sorts(self.domain)
        if count == 1:
            sorts, given = own, [where]
        else:
            sorts = {f"{name}[{place}]": own[name] for name in self.loop.elements for place in range(count)}
            given = [substituted(where, self._element(place)) for place in range(count)]
        found = prove(claims, sorts, given, seconds=max(self._seconds, ELEMENTS))
        divisors = divisors_in([*itertools.chain(*claims), *given])
        if found.verdict == "refuted" and divisors:  # by numbers with which nothing is divided by zero
            given += [e.negation(e.both(asked, e.equal(each, ZERO))) for each, asked in divisors.items()]
            found = prove(claims, sorts, given, seconds=max(self._seconds, ELEMENTS))
            if found.verdict == "proved":
                return LawProof("unknown", reason="it is not known where something is divided by zero")
        if found.verdict == "refuted":
            return LawProof("refuted", witness=self._two_ways(claims, found.values, sorts, count))
        return LawProof(found.verdict, reason=found.reason)

    def _on_samples(self, claims: Sequence[tuple[Expression, Expression]], count: int) -> LawProof | None:
        """Refute an equation of so many elements, if random ones do."""
        own, rows = self.loop.sorts(self.domain), random_rows(self.loop, random.Random(1), PAIRS)
        sorts = {f"{name}[{place}]": own[name] for name in self.loop.elements for place in range(count)}
        for some in zip(*(rows[place:] for place in range(count)), strict=False) if claims else ():
            values = {
                f"{n}[{at}]": v for at, row in enumerate(some) for n, v in zip(self.loop.elements, row, strict=True)
            }
            try:
                same = _close(*([value_of(each, values, sorts) for each in side] for side in zip(*claims, strict=True)))
            except (Meaningless, ArithmeticError):
                continue
            if not same:
                return LawProof("refuted", witness=self._two_ways(claims, values, sorts, count))
        return None

    def _two_ways(
        self, claims: Sequence[tuple[Expression, Expression]], values: Mapping[str, Any], sorts: Mapping[str, Sort],
        count: int,
    ) -> str:  # fmt: skip
        names = [
            ", ".join(f"{name} = {values[name if count == 1 else f'{name}[{place}]']}" for name in self.loop.elements)
            for place in range(count)
        ]

        def number(each: Expression) -> Any:
            try:
                return value_of(each, values, sorts)
            except Meaningless:  # the same both ways, so that it was not asked
                return "..."

        sides = [[number(each) for each in some] for some in zip(*claims, strict=True)]
        shown = [f"({', '.join(map(str, side))})" for side in sides]
        return f"of the elements {'; '.join(names)}: {shown[0]} one way and {shown[1]} the other"

    def associative(self) -> LawProof:
        """Three parts, both ways."""
        carrier = self.carrier
        a, b, c = (carrier.part(side) for side in "abc")
        left, right = _both_ways(carrier, a, b, c)
        found = self.law(list(zip(left.values(), right.values(), strict=True)), "abc")
        if found.verdict == "proved":
            return found
        left, right = _both_ways(carrier, *(self._lift(self._element(place)) for place in range(3)))
        claims = list(zip(left.values(), right.values(), strict=True))
        refuted = self._on_elements(claims, 3, self.loop.range.where)
        if refuted.verdict == "unknown" and any(
            node.operator in ("exp", "log") for side in itertools.chain(*claims) for node in subexpressions(side)
        ):
            refuted = self._on_samples(claims, 3) or refuted
        return refuted if refuted.verdict == "refuted" else found

    def commutative(self) -> LawProof:
        """Two parts, in either order."""
        carrier = self.carrier
        one = carrier.combined(carrier.part("a"), carrier.part("b"))
        other = carrier.combined(carrier.part("b"), carrier.part("a"))
        claims = list(zip(one.values(), other.values(), strict=True))
        first, second = (self._lift(self._element(place)) for place in range(2))
        one, other = carrier.combined(first, second), carrier.combined(second, first)
        lifted = list(zip(one.values(), other.values(), strict=True))
        refuted = self._on_samples(lifted, 2) or self._on_elements(lifted, 2, self.loop.range.where)
        return refuted if refuted.verdict == "refuted" else self.law(claims, "ab")

    def repeated(self, result: Values) -> LawProof:
        """An element with itself, whose words are to be the result: the element's, or those of no element."""
        once = self._lift({})
        twice = self.carrier.combined(once, once)
        return self._on_elements([(twice[word], result[word]) for word in once], 1, self.loop.range.where)

    # -- the words of no element -------------------------------------------------------------------------------

    def identity(self, said: Values | None = None) -> tuple[Values | None, LawProof, LawProof]:
        """Find the words of no element, or take those that are said, and prove that they change nothing."""
        none = LawProof("unknown", reason="each of the words that were tried changes some part")
        best: tuple[Values | None, LawProof, LawProof] = (None, none, none)
        for candidate in [said] if said is not None else itertools.islice(self._identities(), 6):
            left = self._neutral(candidate, first=True)
            right = self._neutral(candidate, first=False)
            if left.verdict == right.verdict == "proved" or said is not None:
                return candidate, left, right
            if best[0] is None and "proved" in (left.verdict, right.verdict):
                best = (candidate, left, right)
        return best

    def _neutral(self, identity: Values, *, first: bool) -> LawProof:
        part = self.carrier.part("a")
        words = self.carrier.combined(identity, part) if first else self.carrier.combined(part, identity)
        found = self.law([(words[word], part[word]) for word in part], "a")
        if found.verdict == "proved":
            return found
        none = tuple(each.value for each in identity.values())
        for sample in self._samples:
            try:
                together = self.carrier.joined(none, sample) if first else self.carrier.joined(sample, none)
            except (ArithmeticError, ValueError):
                continue
            if not _close(together, sample):
                shown = ", ".join(map(str, none)), ", ".join(map(str, sample)), ", ".join(map(str, together))
                one, other = shown[:2] if first else shown[1::-1]
                return LawProof("refuted", witness=f"({one}) and ({other}) are ({shown[2]}) together")
        return found

    def likely_identity(self) -> Values | None:
        """Return words of no element that were tried on samples, on both sides."""
        for each in itertools.islice(self._identities(), 6):
            none = tuple(value.value for value in each.values())
            try:
                pairs = [pair for sample in self._samples for pair in ((sample, none), (none, sample))]
                wanted = [sample for sample in self._samples for _ in range(2)]
                if all(_close(self.carrier.joined(*pair), want) for pair, want in zip(pairs, wanted, strict=True)):
                    return each
            except (ArithmeticError, ValueError):
                continue
        return None

    def _identities(self) -> Iterable[Values]:
        """Yield words that change no sample on one side or the other: first of all the state before the loop."""
        carrier, sorts = self.carrier, self.carrier.sorts(self.domain, "a")
        before = {word: self.loop.initial[word] for word in carrier.words if word in self.loop.initial}
        if len(before) == len(carrier.words) > 4 and not any(each.infinite for each in before.values()):
            yield before  # of so many words not all combinations are tried
        yield from _of_automaton(carrier)
        options: list[list[Any]] = []
        for word, dtype in carrier.words.items():
            if dtype is BOOL:
                options.append([False, True])
                continue
            sort = sorts[f"a.{word}"]
            limits = list(sort.limits) if sort.kind == "word" else [float("-inf"), float("inf")]
            firsts = [each.value for each in self.loop.initial.values() if not each.truth and not each.infinite]
            own = self.loop.initial.get(word)
            firsts = [own.value, *firsts] if own is not None and (sort.kind != "word" or not own.infinite) else firsts
            seen = {sample[len(options)] for sample in self._samples}
            options.append(list(dict.fromkeys([*firsts, 0, 1, *(sorted(seen) if len(seen) < 6 else []), -1, *limits])))
        if len(options) == 1:  # of a + b - c it is c
            nodes = [node for each in carrier.combine.values() for node in subexpressions(each)]
            numbers = [node.value for node in nodes if node.constant and not node.truth and not node.infinite]
            options[0] = list(dict.fromkeys([*options[0], *numbers, *(-number for number in numbers)]))
        size = sum(1 for each in carrier.combine.values() for _ in subexpressions(each))
        if carrier.infinite:
            for place, word in enumerate(carrier.words):
                if word in carrier.infinite:
                    options[place].append(carrier.infinite[word] * float("inf"))
        for chosen in itertools.islice(itertools.product(*options), min(20_000, WORK // size)):
            try:
                if all(_close(carrier.joined(chosen, sample), sample) for sample in self._samples):
                    found = {word: e.constant(value) for word, value in zip(carrier.words, chosen, strict=True)}
                    carrier.combined(found, carrier.part("a")), carrier.combined(carrier.part("a"), found)
                    yield found
            except (ArithmeticError, ValueError):
                continue


def _of_automaton(carrier: Carrier) -> Iterable[Values]:
    """Yield the words by which each word of a second part is looked up, where they have few values."""
    values, found = few_values([carrier.within]), dict[str, Expression]()
    of_first = {f"a.{word}": values[word] for word in carrier.words if word in values}
    for word, each in carrier.combine.items():
        own = name_of(f"b.{word}", carrier.words[word])
        case = next((case for case in cases(each.names, of_first) if substituted(each, case) is own), {})
        if f"a.{word}" in case:
            found[word] = case[f"a.{word}"]
    if found.keys() == carrier.words.keys():
        yield found


def _close(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Tell whether numbers are equal but for rounding."""
    return all(x == y or (isinstance(x, float) and math.isclose(x, y, rel_tol=1e-9)) for x, y in zip(a, b, strict=True))


def _both_ways(
    carrier: Carrier, a: Values, b: Values, c: Values
) -> tuple[dict[str, Expression], dict[str, Expression]]:
    return carrier.combined(carrier.combined(a, b), c), carrier.combined(a, carrier.combined(b, c))
