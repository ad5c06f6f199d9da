"""From a loop to a proved operator: deduction, then what else there is; whichever gives the fewest words."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as replaced
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from swizzle.operators.carrier import GUESSED, Carrier, of_the_loop_itself, spelled
from swizzle.operators.clamps_and_fractions import clamped, fractions_of
from swizzle.operators.decomposition import composed, part_of
from swizzle.operators.divisors import divided
from swizzle.operators.known import ITSELF, known_carriers, updated
from swizzle.operators.linear import deduced
from swizzle.operators.linear_machine import NotFound
from swizzle.operators.loop import BOOL, Domain, Loop
from swizzle.operators.neighbours import with_answers, with_values
from swizzle.operators.places import WITH_PLACES, with_places
from swizzle.operators.proof import LawProof, Proofs, Prover
from swizzle.operators.ranges import OverflowProof, ranges_of
from swizzle.operators.reading import numbers_of, too_deep
from swizzle.operators.residues import by_residues
from swizzle.operators.work import share
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import FALSE, TRUE, Expression, subexpressions
from symbolic.expressions.formulas import Verdict, decide, in_vain
from symbolic.expressions.text import text_of
from symbolic.solve.engines import fresh_contexts

SECONDS = 0.5
"""For looking for fewer words than were found."""
SEARCHED: Final = 3.0
HALF: Final = 0.5
"""Seconds of work of all searches for a loop, and how much of what is left those for a part of it have."""
UNANSWERED: Final = 2.5
"""Seconds of effort for all the questions that a solver does not answer."""

MOST_WRONG: Final = 3
"""So many sets of helpers are given up before a search ends."""
MANY: Final = 4
"""With more words than that, the step itself is the shorter text, and says what the identity is."""

COMPARISONS: Final = ("<", "<=", "==")
GIVEN: Final = "a function of two values"
"""How an operator was found that somebody wrote down."""


class Found(Struct, frozen=True):
    """What was found of a loop: its operator with the proofs of its laws; or what was tried, and two splits whose parts
    have the same words while the whole inputs have not (`mixed_up`)."""

    loop: Loop
    domain: Domain
    carrier: Carrier | None
    proofs: Proofs | None
    seconds: float
    tried: tuple[str, ...] = ()
    mixed_up: str = ""
    ranges: OverflowProof | None = None
    undecided: bool = False
    divisors: tuple[str, ...] = ()
    """What parts that have elements may divide by although it may be zero: the laws hold wherever it is not."""

    @property
    def written_down(self) -> bool:
        """Whether it is a function of the user's, which need not be shown."""
        return self.carrier is not None and self.carrier.how == GIVEN

    @property
    def status(self) -> Verdict:
        """Whether the operator is proved; 'unknown' where none was found, as there may be one of other words."""
        if self.proofs is None:
            return "unknown"
        if self.ranges is None or self.proofs.status != "proved" or not self.needs_ranges:
            return self.proofs.status  # a word that may overflow refutes no law of words that wrap
        return self.ranges.verdict

    @property
    def needs_ranges(self) -> bool:
        """Whether the laws need words that do not wrap: integers beside real numbers have no width in their proofs."""
        return self.domain == "words" and self.carrier is not None and self.loop.mixed and _ordered(self.carrier)

    @property
    def witness(self) -> str:
        """What refutes it: numbers; '' where nothing does. Where no operator was found, two inputs that show that the
        loop's own words are not enough."""
        if self.status == "proved":
            return ""
        overflow = self.ranges.reason if self.ranges is not None and self.ranges.verdict == "refuted" else ""
        return (self.proofs.witness if self.proofs is not None else self.mixed_up) or overflow

    @property
    def overflow(self) -> str:
        """Which word may overflow, as far as is known, where that is why nothing is proved; '' where it is not."""
        unknown = self.status != "proved" and self.ranges is not None and self.ranges.verdict == "unknown"
        return self.ranges.reason if unknown and self.ranges is not None else ""

    @property
    def next_step(self) -> str:
        """What a user may do about it."""
        if self.undecided:
            return (
                "write it without divisions of integers, and without loops whose length is not known; docs/extend.md "
                "says what is tried on numbers"
            )
        if self.carrier is None:
            return "write what the loop computes with fewer words of state, or give the operator: @operator"
        if not self.loop.state:
            return "an operator that gives the same whichever way its values are grouped"
        if self.domain == "words" and self.ranges is not None:
            arguments = ", ".join(self.loop.elements)
            promise = (
                "a range" if self.loop.range.where is TRUE or self.loop.range.length is None else "a smaller range"
            )
            return f"promise {promise}, @serial(length=..., where=lambda {arguments}: ...), or --domain integers"
        return "see docs/from-a-loop-to-a-scan.md"

    @property
    def with_identity(self) -> Carrier:
        """The operator with the identity that was proved on both sides, if there is one."""
        assert self.carrier is not None and self.proofs is not None
        sides = {self.proofs.laws[name].verdict for name in ("left_identity", "right_identity")}
        return replaced(self.carrier, identity=self.proofs.identity if sides == {"proved"} else None)

    @property
    def empty(self) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """The results for no element, of the identity's words and of the loop, where there is one and they differ."""
        words = None if self.carrier is None or self.proofs is None else self.with_identity.identity
        if self.carrier is None or words is None or not self.loop.state:
            return None
        ours = _result(self.carrier.finished, [each.value for each in words.values()])
        own = _result(self.loop.finished, self.loop.start())
        return None if ours == own else (ours, own)

    def source(self) -> str:
        """Return the operator as Python functions."""
        return "" if self.carrier is None or self.proofs is None else self.with_identity.source()

    @property
    def domain_text(self) -> str:
        """What numbers are."""
        kinds = {each.kind: each for each in self.loop.sorts(self.domain).values() if each.kind != "truth"}
        bits = {str(each.bits) for each in self.loop.sorts(self.domain).values() if each.kind == "word"}
        names = {"integer": "integers", "real": "reals", "word": f"wrapping {' and '.join(sorted(bits))} bits"}
        return ", ".join(names[kind] for kind in sorted(kinds)) or "conditions"


def _result(finished: Callable[[Sequence[Any]], tuple[Any, ...]], words: Sequence[Any]) -> tuple[Any, ...]:
    """Return the results of words; what they are where they are no numbers."""
    try:
        return finished(words)
    except (ArithmeticError, ValueError) as error:
        return (f"none ({error})",)


def with_divisors(found: Found) -> Found:
    """Return a proved operator with its divisions by what may be zero looked after, and without words of no element
    that divide by zero together."""
    if found.status != "proved" or found.carrier is None or found.proofs is None:
        return found
    looked = divided(found.carrier, found.proofs.domain, found.with_identity.identity, fixed=found.written_down)
    proofs = found.proofs
    if not looked.empty:
        none = LawProof("unknown", reason="together with themselves they are not themselves")
        proofs = replace(proofs, laws={**proofs.laws, "left_identity": none, "right_identity": none}, identity=None)
    said = tuple(text_of(each, spelled) for each in looked.divisors)
    return replace(found, carrier=looked.carrier, proofs=proofs, divisors=said)


def operator_of(loop: Loop, domain: Domain = "words") -> Found:
    """Find the operator of a serial loop, and prove its laws."""
    try:
        with fresh_contexts(), share(SEARCHED), in_vain(UNANSWERED):
            return _with_cancelled(with_divisors(_operator_of(loop, domain, time.perf_counter())))
    except RecursionError:
        raise too_deep(loop.name, loop.place) from None


def _with_cancelled(found: Found) -> Found:
    """Return what was found, with a word on elements that a loop computes with and a proved operator does not."""
    if found.status != "proved" or found.carrier is None:
        return found
    loop = found.loop
    computed = {name for word in loop.live for name in numbers_of(loop.step[word])}
    kept = {name for each in found.carrier.lift.values() for name in each.names}
    said = {name for some in loop.cancelled.values() for name in some}
    gone = tuple(name for name, dtype in loop.elements.items() if dtype.is_float and name in computed - kept - said)
    cancelled = {**loop.cancelled, "the result": (*loop.cancelled.get("the result", ()), *gone)}
    return replace(found, loop=replaced(loop, cancelled=cancelled)) if gone else found


def _operator_of(loop: Loop, domain: Domain, started: float) -> Found:
    _check_promise(loop, domain)
    try:
        _ = loop.begun
    except ArithmeticError as error:
        reason = f"the state after one element: {error}"
        return Found(loop, domain, None, None, time.perf_counter() - started, (reason,))
    tried = Attempts()
    best: Found | None = None
    for carrier in _ways(loop, domain, tried):
        try:
            found = _of_the_loop_itself(_judged(carrier.loop, domain, carrier), loop)
        except ArithmeticError as error:  # of infinities, which no law can be stated of
            tried.ways.append(f"{carrier.how}: {error}")
            continue
        guessed = GUESSED in carrier.how or WITH_PLACES in carrier.how
        if found.status == "refuted" and guessed and _is_wrong(found):
            tried.ways.append(f"{carrier.how}: {found.witness}")
            continue
        if best is None or (found.status == "proved" and best.status != "proved"):
            best = found
        if found.status == "proved":
            break
    seconds = time.perf_counter() - started
    if best is None:
        return Found(loop, domain, None, None, seconds, tuple(tried.ways), tried.mixed_up)
    return replace(best, seconds=seconds)


def _check_promise(loop: Loop, domain: Domain) -> None:
    """Raise SwizzleError where no element meets what is promised of each."""
    where = loop.range.where
    if where is TRUE or decide([(where, FALSE)], loop.sorts(domain), effort=SECONDS).verdict != "proved":
        return
    raise SwizzleError(
        f"no element meets the promise of {loop.name}: {text_of(where)}",
        place=loop.place,
        expected="a condition that some element meets",
        fix="another where=",
    )


class Attempts(Struct):
    """What was tried in vain, and two splits that a loop's own words mix up."""

    ways: list[str] = field(default_factory=list)
    mixed_up: str = ""


def _ways(loop: Loop, domain: Domain, tried: Attempts) -> Iterator[Carrier]:
    """Yield operators that fit a loop, likely ones first; what takes long comes where nothing before was proved."""
    from swizzle.operators.reformed import reformed, without_settled

    settled = without_settled(loop, domain)
    if settled is not None:
        yield from _ways(settled, domain, tried)
        return
    try:
        carriers = deduced(loop, loop.live, domain)
        yield from _with_fewer_words(loop, len(carriers[0].words))
        yield from carriers
        yield from _written(loop)  # matrices are right of numbers, the step itself of words
        return
    except NotFound as error:
        tried.ways.append(f"matrices over a semiring: {error}")
    found = clamped(loop)
    carriers = [found] if found is not None else list(known_carriers(loop))
    yield from carriers
    if carriers:
        return
    yield from _written(loop)
    fractions = fractions_of(loop)
    if fractions is not None:
        yield fractions
        return
    tried.ways.append("clamped sums, known operators, and the table of elementary operators: none of them fits")
    for other in reformed(loop, domain):
        yield from _ways(other, domain, Attempts())
    residues = by_residues(loop, lambda part: _first(part, domain))
    if residues is not None:
        yield residues
        return
    whole = composed(loop, lambda part: _first(part, domain))
    if whole is not None:
        yield whole
    yield from with_places(loop, domain)
    if loop.has_bits:
        tried.ways.append("search: it knows no operators on bits")
        return
    if any(node.operator in ("exp", "log") for each in loop.step.values() for node in subexpressions(each)):
        return
    from swizzle.operators.search import searched

    neighbours = with_values(loop, lambda part: _first(part, domain))
    if neighbours is not None:
        yield neighbours
    inner = _of_what_others_read(loop, domain)
    wrong: list[tuple[str, ...]] = []
    result = searched(loop, inner=inner)
    while result.carrier is not None:
        yield result.carrier
        wrong.append(result.helpers)
        if len(wrong) == MOST_WRONG:
            return
        result = searched(loop, inner=inner, wrong=wrong)
    if inner is not None and not wrong:
        result = searched(loop)
        if result.carrier is not None:
            yield result.carrier
            return
    neighbours = with_answers(loop, lambda part: _first(part, domain))
    if neighbours is not None:
        yield neighbours
    tried.ways.append(f"search: no expressions combine two parts, of {result.tried} sets of words")
    if result.undetermined is not None:
        tried.mixed_up = result.undetermined.text


def _of_what_others_read(loop: Loop, domain: Domain) -> Carrier | None:
    """Return the operator of the words that other words of a loop read, where there are others."""
    read = {name for word in loop.live for name in loop.step[word].names if name != word}
    kept = [word for word in loop.live if word in read]
    return _first(part_of(loop, kept), domain) if 0 < len(kept) < len(loop.live) else None


def _first(loop: Loop, domain: Domain) -> Carrier | None:
    """Return the operator of a part of a loop, the first one that is found."""
    try:
        _ = loop.begun
    except ArithmeticError:
        return None
    with share(SEARCHED, HALF):
        found = next(_ways(loop, domain, Attempts()), None)
    return None if found is None else of_the_loop_itself(found)


def _written(loop: Loop) -> list[Carrier]:
    """Return the operator that a loop's step is itself, or what the table of elementary operators has of it."""
    found = list(updated(loop))
    if found or loop.has_bits or len(loop.live) > 2:
        return found
    from swizzle.operators.elementary import matched

    return list(itertools.islice(matched(loop), 4))


def _with_fewer_words(loop: Loop, words: int) -> list[Carrier]:
    """Return what needs fewer words: an operator of the table on the loop's own, or else what a search finds."""
    if words <= len(loop.live):
        return list(updated(loop)) if words > MANY else []
    written = _written(loop)
    if written or loop.has_bits:
        return written
    from swizzle.operators.search import searched

    found = searched(loop, SECONDS, most=words - len(loop.live) - 1).carrier
    return [found] if found is not None and len(found.words) < words else []


def _judged(loop: Loop, domain: Domain, carrier: Carrier) -> Found:
    """Prove the laws of words as they are, or else of integers, and that no word overflows."""
    if not any(each.kind == "word" for each in loop.sorts(domain).values()):
        found = Found(loop, domain, carrier, Prover(carrier, domain).proofs(), 0.0)
        if not found.needs_ranges or found.proofs is None or found.status != "proved":
            return found
        return replace(found, ranges=ranges_of(replaced(carrier, identity=found.proofs.identity)))
    promised = loop.range.length is not None or loop.range.where is not TRUE
    ranges = None
    if promised:
        whole = Prover(carrier, "integers").proofs()
        ranges = ranges_of(replaced(carrier, identity=whole.identity)) if whole.status == "proved" else None
        if ranges is not None and ranges.verdict == "proved":
            return Found(loop, domain, carrier, whole, 0.0, ranges=ranges)
    proofs = Prover(carrier, domain, thorough=carrier.exact or carrier.how == ITSELF).proofs()
    if proofs.status != "proved" and not promised:
        whole = Prover(carrier, "integers").proofs()
        ranges = ranges_of(replaced(carrier, identity=whole.identity)) if whole.status == "proved" else None
        proofs = whole if ranges is not None and ranges.verdict == "proved" else proofs
    return Found(loop, domain, carrier, proofs, 0.0, ranges=ranges)


def _is_wrong(found: Found) -> bool:
    """Tell whether an operator that was guessed is refuted of numbers, too, and not only of words that wrap."""
    assert found.carrier is not None
    return Prover(found.carrier, "integers").proofs().status == "refuted"


def _of_the_loop_itself(found: Found, loop: Loop) -> Found:
    """Return what was found of a loop in other words as the operator of the loop that it stands for."""
    own = found.loop.stands_for
    if found.loop is loop or own is None or found.carrier is None or found.proofs is None:
        return found
    carrier = of_the_loop_itself(found.carrier)
    if own.domain == "integers" and found.proofs.domain == "words":
        unknown = LawProof("unknown", reason="of integers only it is the same loop in other words")
        found = replace(found, proofs=replace(found.proofs, laws={**found.proofs.laws, "step": unknown}))
    return _of_the_loop_itself(replace(found, loop=own.loop, carrier=carrier), loop)


def _ordered(carrier: Carrier) -> bool:
    """Tell whether integers of parts are compared, or meet real numbers: sums and products wrap as they should.

    So do comparisons of what is computed of integers alone, of elements too.
    """
    types = dict(carrier.loop.state)
    types |= {f"{side}.{word}": dtype for side in "ab" for word, dtype in carrier.words.items()}
    whole = {name for name, dtype in types.items() if dtype is not BOOL and not dtype.is_float}
    real = {name for name, dtype in {**types, **carrier.loop.elements}.items() if dtype.is_float}
    some = (*carrier.combine.values(), *(carrier.loop.step[name] for name in carrier.state))

    def wraps(node: Expression) -> bool:
        if node.names & whole:
            return node.operator in (*COMPARISONS, "max", "min", "/", "exp", "log") or (
                node.operator in ("+", "*") and bool(node.names & real)
            )
        return node.operator in COMPARISONS and any(
            each.arguments and not each.truth and not each.names & real for each in node.arguments
        )

    return any(wraps(node) for each in some for node in subexpressions(each))
