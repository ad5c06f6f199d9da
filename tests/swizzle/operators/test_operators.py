"""Operators of serial loops: found, proved, and run on random splits against plain Python."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from typing import Any

import pytest

from swizzle import f32, i32, u32
from swizzle.operators import operator_of
from swizzle.operators.carrier import Carrier
from swizzle.operators.cub import cub
from swizzle.operators.equations import prove
from swizzle.operators.samples import random_rows
from swizzle.operators.serial import Serial, serial
from swizzle.operators.splits import Splits
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import ZERO, constant, either, equal, less, multiply, number_name, select
from symbolic.expressions.formulas import INTEGER
from tests.swizzle.operators import loops
from tests.swizzle.operators.found import found_of

WORDS = {
    "total": 1, "product": 1, "least": 1, "average": 2, "segmented_sum": 2, "best_run": 4, "best_suffix": 2,
    "best_prefix": 2, "atoi": 2, "ones": 1, "blocks": 3, "one_zeros_two": 4, "longest_run": 4, "polynomial": 2,
    "recurrence": 2, "smoothed": 3, "automaton": 3, "argmax": 3, "second_largest": 2, "balanced": 2, "is_sorted": 3,
    "line_of_sight": 2, "second_largest_by_order": 2, "clamped": 3, "clamped_by_tests": 3, "softmax": 2,
    "log_sum_exp": 1, "parity": 1, "flags_met": 1, "flags_kept": 2, "seen": 0,
    "softmax_by_swizzles_functions": 2,
    "by_thirteen": 13, "caught": 4, "of_two_words": 14, "furthest": 4, "best_product": 2,
}  # fmt: skip
"""How many words of state each loop needs, at most."""


def in_parts(carrier: Carrier, rows: list[Any], rng: random.Random) -> Any:
    """Return the words of elements, combined in a random bracketing."""
    if len(rows) == 1:
        return carrier.lifted(rows[0])
    cut = rng.randrange(1, len(rows))
    return carrier.joined(in_parts(carrier, rows[:cut], rng), in_parts(carrier, rows[cut:], rng))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", WORDS)
def test_an_operator_is_found_and_proved(name: str) -> None:
    """As few words as are known to be enough; step and associativity proved; 300 random bracketings give the loop's."""
    found, serial, rng = found_of(name), getattr(loops, name), random.Random(name)
    assert isinstance(serial, Serial) and found.carrier is not None and found.proofs is not None
    assert found.status == "proved", found
    assert len(found.carrier.words) <= WORDS[name]
    for count in range(300):
        rows = random_rows(serial.loop, rng, 1 + count % 9)
        wanted = serial(*(list(column) for column in zip(*rows, strict=True)))
        result = found.carrier.finished(in_parts(found.carrier, rows, rng))
        assert result == pytest.approx(wanted if isinstance(wanted, tuple) else (wanted,), rel=1e-9)
    laws, words = found.proofs.laws, in_parts(found.carrier, rows, rng)
    identity = tuple(each.value for each in (found.proofs.identity or {}).values())
    if laws["left_identity"].verdict == "proved":
        assert found.carrier.joined(identity, words) == pytest.approx(words)
    if laws["right_identity"].verdict == "proved":
        assert found.carrier.joined(words, identity) == pytest.approx(words)


def test_equations_by_the_few_values_of_a_part() -> None:
    """Both sides are compared whatever the other parts are, and a value for which they differ is not passed over."""
    a, b, c = (number_name(name) for name in ("a.q", "b.q", "b.p"))
    given = [either(*(equal(a, constant(each)) for each in range(9)))]
    table = select(less(a, constant(5)), select(equal(a, ZERO), b, c), multiply(b, c))
    for wrong in (False, True):
        last = select(equal(a, constant(8)), c, table) if wrong else table
        claims = [(select(less(constant(4), a), multiply(c, b), select(less(ZERO, a), c, b)), last)]
        found = prove(claims, dict.fromkeys(("a.q", "b.q", "b.p"), INTEGER), given)
        assert found.verdict == ("refuted" if wrong else "proved") and (not wrong or found.values["a.q"] == 8)


@pytest.mark.slow
def test_words_that_wrap_are_refuted_with_numbers() -> None:
    """(max, +) is not associative where sums wrap: the elements that say so are checked by hand here."""
    found = found_of("best_run_of_any")
    assert found.status == "refuted" and found.witness
    assert "promise a range" in found.next_step
    if "of the elements" in found.witness:  # within the time that it gets on a busy machine
        first, second = (int(part.split(" = ")[1].split(":")[0]) for part in found.witness.split("; "))
        assert not -(1 << 31) <= first + second < 1 << 31  # it is the sum that wraps


@serial(length=1 << 22, where=lambda v: -1000 <= v <= 1000)
def best_suffix(x: i32):  # type: ignore[no-untyped-def]
    m = 0
    for v in x:
        m = max(0, m + v)
    return m


def test_a_promise_that_is_not_enough_has_an_input_that_says_so() -> None:
    """Four million elements of a thousand are no 32 bits; that refutes the promise, and no law of words that wrap."""
    found = operator_of(best_suffix.loop)
    assert found.status == "unknown" and "of 4194304 elements" in found.witness


def test_no_operator_has_a_reason() -> None:
    """A majority vote: two splits whose parts have the same words, checked with the loop itself."""
    found = found_of("majority")
    assert found.status == "unknown" and found.carrier is None and len(found.tried) == 3
    inputs = re.findall(r"\[[^]]*\]", found.witness)
    a, b, c, d = (json.loads(text) for text in inputs)
    state = loops.majority.loop.after
    assert state([(v,) for v in a]) == state([(v,) for v in c]) and state([(v,) for v in b]) == state([(v,) for v in d])
    assert state([(v,) for v in a + b]) != state([(v,) for v in c + d])


@serial
def velocity(x: f32):  # type: ignore[no-untyped-def]
    s = 0.0
    for v in x:
        s = (s + v) / (1 + s * v)
    return s


def test_rounding_is_no_witness() -> None:
    """An operator exists, though none is found; quotients that are rounded, or made by zero, do not say otherwise."""
    splits = Splits(velocity.loop, (), True, velocity.loop.live)
    assert splits.meaningless.any() and not splits.undetermined()


@serial(where=lambda v: v > 10**6 and v % 104729 == 77)
def rare(x: i32):
    s = 0
    for v in x:
        s = max(s, v)
    return s


def test_random_elements_meet_a_promise_that_few_do() -> None:
    """Where none of a thousand drawn ones is such, a solver says one."""
    rows = random_rows(rare.loop, random.Random(1), 3)
    assert rows and all(v > 10**6 and v % 104729 == 77 for (v,) in rows)


def test_bits_that_no_semiring_has_are_no_operator() -> None:
    """A shift of the state: what was tried is said in words."""
    found = found_of("shifted_bits")
    assert found.status == "unknown" and found.carrier is None and "bits" in found.tried[-1]


def test_a_product_with_an_infinity_is_no_operator() -> None:
    """Where the first step would multiply by an infinity, no operator was found, and why is said."""
    found = operator_of(loops.infinity_times_an_element.loop)
    assert found.status == "unknown" and found.carrier is None and "an infinity" in found.tried[-1]


@serial
def logarithms(x: f32):  # type: ignore[no-untyped-def]
    s = 0
    for v in x:
        s = s + math.log(v)
    return s


def test_logarithms_that_are_no_numbers_are_left_out() -> None:
    """Elements below 0 have none: of samples with such nothing is known, as of those that divide by zero."""
    found = operator_of(logarithms.loop)
    assert found.status == "proved" and found.carrier is not None
    a, b = (found.carrier.lifted((number,)) for number in (2.0, 5.0))
    assert found.carrier.finished(found.carrier.joined(a, b)) == pytest.approx((math.log(10),))


def test_infinities_of_both_signs_are_words() -> None:
    """Only an operator that gives NaN for them would fit if e to NaN were a number: the step itself is one."""
    found = found_of("both_infinities")
    assert found.status == "proved" and found.carrier is not None and found.carrier.how == "the step itself"
    inf = float("inf")
    for count in (1, 2, 5):
        assert found.carrier.loop.after([(1.0,)] * count) == (-inf, inf)
    assert found.carrier.joined((-inf, inf), (-inf, inf)) == (-inf, inf)


def test_an_operator_without_words_is_python() -> None:
    """What is printed of a loop whose result is a constant can be run."""
    names: dict[str, Any] = {}
    exec(found_of("seen").source(), names)
    assert names["result"](names["combine"](names["lift"](2), names["lift"](3))) == 1


@serial(where=lambda v: v < 0 and v > 0)
def squares(x: i32):
    s = 0
    for v in x:
        s = s * s + v
    return s


@serial(where=lambda v: v < v)
def sums(x: f32):
    s = 0
    for v in x:
        s = s + v
    return s


@pytest.mark.parametrize("promised", [squares, sums])
def test_a_promise_that_no_element_meets_is_a_mistake(promised: Serial) -> None:
    """Whether the loop has an operator or not: everything would be proved of no element."""
    with pytest.raises(SwizzleError, match=f"no element meets the promise of {promised.name}") as mistake:
        operator_of(promised.loop)
    assert mistake.value.place == promised.loop.place is not None


def test_a_promise_that_hardly_an_element_meets_is_no_crash() -> None:
    """Random elements do not meet it, but one does."""

    @serial(where=lambda v: v * 3 == 1234567 * 3)
    def rare(x: i32):
        s = 0
        for v in x:
            s = s * s + v
        return s

    assert operator_of(rare.loop).status != "proved"


def test_commutative_means_any_order() -> None:
    """Whose operator is proved commutative may take its elements in any order; who is refuted, may not."""
    for name, commutes in [("total", True), ("ones", True), ("recurrence", False), ("segmented_sum", False)]:
        found, rng = found_of(name), random.Random(name)
        assert found.carrier is not None and found.proofs is not None
        assert found.proofs.laws["commutative"].verdict == ("proved" if commutes else "refuted")
        results = set()
        rows = random_rows(getattr(loops, name).loop, rng, 4)
        for order in itertools.permutations(rows):
            results.add(found.carrier.finished(in_parts(found.carrier, list(order), rng)))
        assert (len(results) == 1) == commutes


@pytest.mark.slow
def test_what_is_proved_of_integers_is_shown_with_its_proofs() -> None:
    """Where words alone are not decided, but no word overflows, the laws shown are those of integers."""

    @serial
    def twice_the_last(x: bool):  # type: ignore[no-untyped-def]
        s, t = 1, -1
        for v in x:
            s = t + t
            t = 1 if v else 0
        return s, t

    found = operator_of(twice_the_last.loop)
    assert found.status == "proved" and found.proofs is not None
    assert {found.proofs.laws[name].verdict for name in found.proofs.needed} == {"proved"}


def test_the_result_of_no_element_is_compared() -> None:
    """An identity changes nothing beside elements; alone it may give another result than the loop."""

    @serial
    def starts_below(x: bool):  # type: ignore[no-untyped-def]
        t, u = 0, -1
        for v in x:
            t = t + (1 if v else 0)
            u = min(t, t)
        return u

    assert operator_of(starts_below.loop).empty == ((0,), (-1,))
    assert found_of("total").empty is None


def test_the_identity_is_found_where_most_elements_absorb() -> None:
    """Of a few samples none shows that a factor of 0 changes something."""

    @serial
    def number(x: u32):  # type: ignore[no-untyped-def]
        n = 0
        for v in x:
            n = n * 10 + (v - 48) if 48 <= v <= 57 else 0
        return n

    found = operator_of(number.loop)
    assert found.status == "proved" and found.proofs is not None and found.proofs.identity is not None
    assert [each.value for each in found.proofs.identity.values()] == [1, 0]


def test_constants_wrap_in_the_header() -> None:
    """C's compilers warn of an `int` that is 5000000000."""

    @serial
    def steps(x: i32):  # type: ignore[no-untyped-def]
        n = 0
        for _ in x:
            n += 5_000_000_000
        return n

    found = operator_of(steps.loop)
    assert "words.n = 705032704;" in cub(found.with_identity, [])


def test_integers_beside_real_numbers_wrap_too() -> None:
    """A product with a real number elsewhere in the loop is no promise of small numbers."""

    @serial
    def beside(x: i32, y: f32):  # type: ignore[no-untyped-def]
        here, s = 0, 0
        for v, w in zip(x, y, strict=True):
            here = max(0, here + v)
            s = s + v * w
        return here, s

    @serial(length=1000, where=lambda v, w: -1000 <= v <= 1000)
    def promised(x: i32, y: f32):  # type: ignore[no-untyped-def]
        here, s = 0, 0
        for v, w in zip(x, y, strict=True):
            here = max(0, here + v)
            s = s + v * w
        return here, s

    @serial
    def counted(x: i32, y: f32):  # type: ignore[no-untyped-def]
        n, s = 0, 0
        for v, w in zip(x, y, strict=True):
            n = n + v
            s = s + v * w
        return n, s

    found = operator_of(beside.loop)
    assert found.status == "refuted" and "no i32" in found.witness
    assert operator_of(beside.loop, "integers").status == "proved"
    assert operator_of(promised.loop).status == operator_of(counted.loop).status == "proved"


@serial
def least_from_50(x: i32):
    s = 50
    for v in x:
        s = min(s, v)
    return s


@serial
def greatest_from_minus_1000(x: f32):
    s = -1000
    for v in x:
        if v > s:
            s = v
    return s


@serial
def no_softmax(x: i32):
    s, t = 0, 0
    for v in x:
        s = s + v
        t = t * s
    return t + s


@pytest.mark.parametrize("loop", [least_from_50, greatest_from_minus_1000], ids=lambda each: each.name)
def test_a_start_bounds_the_words_that_elements_make(loop: Serial) -> None:
    """A minimum that begins with 50 is never above it: the step needs that."""
    found = operator_of(loop.loop)
    assert found.status == "proved" and found.proofs is not None and found.proofs.laws["step"].on_carrier


def test_whole_numbers_are_no_exponentials() -> None:
    """The maximum, 0, of a sum that is scaled by 1, is no online softmax where words are whole numbers."""
    found = operator_of(no_softmax.loop)
    assert found.status == "proved" and "exp" not in found.source()
