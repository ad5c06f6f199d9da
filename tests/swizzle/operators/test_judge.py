"""Users' own operators: proved, or refuted with numbers; random ones against brute force on words of 3 bits."""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from swizzle import f32, i32, operator, u32
from swizzle.language.operators import TypedOperator
from swizzle.operators import judged
from swizzle.operators.scan_operators import on_arrays
from symbolic.errors import SwizzleError
from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression, number_name, substituted
from symbolic.expressions.formulas import Sort, decide
from symbolic.expressions.meaning import function_of, value_of
from symbolic.expressions.reading import expression_of
from symbolic.ir.program import DType
from symbolic.solve.floor_division import bit_vector_type, floor_div, manager, signed_floor_div, signed_floor_mod

HALF = 0.5


@operator
def argmin(a: (f32, i32), b: (f32, i32)):  # type: ignore[no-untyped-def]
    return a if a[0] <= b[0] else b


@operator
def affine(a: (f32, f32), b: (f32, f32)):  # type: ignore[no-untyped-def]
    return a[0] * b[0], a[1] * b[0] + b[1]


@operator
def velocities(a: f32, b: f32):  # type: ignore[no-untyped-def]
    return (a + b) / (1 + a * b)


@operator
def mean(a: f32, b: f32):  # type: ignore[no-untyped-def]
    return (a + b) * 0.5


@operator
def weighted(a: f32, b: f32):  # type: ignore[no-untyped-def]
    return a + b + HALF * a * b - 1.5 * (a - a)


@operator
def shares(a: i32, b: i32):  # type: ignore[no-untyped-def]
    return a // b


@operator
def halves(a: i32, b: i32):  # type: ignore[no-untyped-def]
    return a // 2 + b // 2


@operator
def saturating(a: u32, b: u32):  # type: ignore[no-untyped-def]
    return min(a + b, 255)


@operator
def difference(a: i32, b: i32):  # type: ignore[no-untyped-def]
    return a - b


@operator
def discounted(a: f32, b: f32):  # type: ignore[no-untyped-def]
    return a * 3 + b


@operator
def gaussian(a: (i32, i32), b: (i32, i32)):  # type: ignore[no-untyped-def]
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@operator
def shifted(a: f32, b: f32):  # type: ignore[no-untyped-def]
    return a + b - 0.25


@operator
def every(a: bool, b: bool):  # type: ignore[no-untyped-def]
    return a and b


def laws(given: Any) -> tuple[str, dict[str, str]]:
    found = judged(given)
    assert found.proofs is not None
    return found.status, {name: law.verdict for name, law in found.proofs.laws.items()}


@pytest.mark.parametrize(
    "given, status, commutes, repeats",
    [
        (argmin, "proved", "refuted", "proved"),
        (affine, "proved", "refuted", "refuted"),
        (gaussian, "proved", "proved", "refuted"),
        (weighted, "proved", "proved", "refuted"),
        (shifted, "proved", "proved", "refuted"),
        (every, "proved", "proved", "proved"),
        (saturating, "refuted", "proved", "refuted"),
        (difference, "refuted", "refuted", "refuted"),
        (discounted, "refuted", "refuted", "refuted"),
    ],
)
def test_laws_of_typed_operators(given: Any, status: str, commutes: str, repeats: str) -> None:
    """Tuples and single words, products that wrap, a saturation that wraps before it saturates."""
    assert isinstance(given, TypedOperator)
    found, verdicts = laws(given)
    assert (found, verdicts["commutative"], verdicts["idempotent"]) == (status, commutes, repeats)
    assert verdicts["associative"] == status


def test_the_identity_of_a_shifted_sum_is_its_shift() -> None:
    """a + b - 0.25 has 0.25, which stands in its text."""
    proofs = judged(shifted).proofs
    assert proofs is not None and proofs.laws["left_identity"].verdict == "proved"
    assert proofs.identity is not None and [each.value for each in proofs.identity.values()] == [0.25]


def test_a_witness_is_one() -> None:
    """The three words that refute saturation give two results, by plain arithmetic on 32 bits."""
    witness = judged(saturating).witness
    a, b, c = (int(part.split(" = ")[1].split(":")[0]) for part in witness.split("; "))

    def pair(x: int, y: int) -> int:
        return min((x + y) % (1 << 32), 255)

    assert pair(pair(a, b), c) != pair(a, pair(b, c))


def test_what_was_said_of_an_operator_is_proved() -> None:
    """An identity, an order: of the operators that accumulators take, whose laws are otherwise tried on numbers."""

    @operator(identity=0, order="parity", types=(i32, u32))
    def gf(a, b):  # type: ignore[no-untyped-def]
        return a ^ b

    @operator(order="set", types=(i32,))
    def larger(a, b):  # type: ignore[no-untyped-def]
        return max(a, b)

    for given in (gf, larger):
        status, verdicts = laws(given)
        assert status == "proved" and verdicts["commutative"] == "proved"
    assert laws(larger)[1]["idempotent"] == "proved"


def test_a_loop_of_unknown_length_is_undecided() -> None:
    """What would need more rounds than are looked at is neither proved nor refuted."""

    @operator
    def gcd(a: i32, b: i32):  # type: ignore[no-untyped-def]
        while b:
            a, b = b, a % b
        return a

    found = judged(gcd)
    assert found.status == "unknown" and "beyond the bound" in found.tried[0]


def test_mistakes() -> None:
    """Two types, a result of another shape."""
    with pytest.raises(SwizzleError, match="takes values of several types"):

        @operator
        def mixed(a: f32, b: i32):  # type: ignore[no-untyped-def]
            return a

    @operator
    def half(a: (f32, f32), b: (f32, f32)):  # type: ignore[no-untyped-def]
        return a[0]

    with pytest.raises(SwizzleError, match="half returns 1 values"):
        judged(half)


def random_expression(rng: random.Random, depth: int) -> Expression:
    a, b = number_name("a"), number_name("b")
    if depth == 0:
        return rng.choice([a, b])
    kind = rng.choice(["+", "*", "max", "min", "&", "|", "^", "-", "select"])
    x, y = (random_expression(rng, depth - 1) for _ in range(2))
    if kind == "select":
        return e.select(rng.choice([e.less, e.less_equal, e.equal])(a, b), x, y)
    return e.subtract(x, y) if kind == "-" else e.BUILDERS[kind](x, y)


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_operators_against_brute_force(count: int) -> None:
    """Associative, or not, on words of 3 bits: all 512 triples are tried, and numbers that refute do."""
    rng, sort = random.Random(count), Sort("word", 3)
    sorts = dict.fromkeys("abc", sort)
    associative = 0
    for _ in range(count):
        op = random_expression(rng, rng.randrange(1, 4))
        a, b, c = map(number_name, "abc")

        def on(x: Expression, y: Expression, op: Expression = op) -> Expression:
            return substituted(op, {"a": x, "b": y})

        left, right = on(on(a, b), c), on(a, on(b, c))
        table = {(x, y): value_of(op, {"a": x, "b": y}, {"a": sort, "b": sort})
                 for x, y in itertools.product(range(-4, 4), repeat=2)}  # fmt: skip
        wanted = all(
            table[table[x, y], z] == table[x, table[y, z]] for x, y, z in itertools.product(range(-4, 4), repeat=3)
        )
        found = decide([(left, right)], sorts)
        assert (found.verdict == "proved") == wanted and found.verdict != "unknown"
        if not wanted:
            x, y, z = (found.values[name] for name in "abc")
            assert table[table[x, y], z] != table[x, table[y, z]]
        associative += wanted
    assert 0.05 * count < associative < 0.95 * count


def test_what_was_said_wrongly_is_refuted() -> None:
    """The laws are tried on numbers when an operator is made; what these miss, the proof finds."""

    @operator(order="parity", identity=0, types=(i32,))
    def odd(a, b):  # type: ignore[no-untyped-def]
        return a ^ b

    assert laws(odd)[1]["self_inverse"] == "proved"

    @operator(types=(i32,))
    def nearly(a, b):  # type: ignore[no-untyped-def]
        return (a ^ b) ^ (1 if a == 123456789 else 0)

    found = judged(nearly)
    assert found.status == "refuted" and "123456789" in found.witness


@pytest.mark.parametrize("said", [{"identity": 1}, {"order": "sequence"}, {"absorber": 0}])
def test_what_is_said_of_an_operator_with_types_is_not_dropped(said: dict[str, Any]) -> None:
    """Its laws are found; what would be said beside them was read by nobody."""
    with pytest.raises(SwizzleError, match=f"{next(iter(said))}= of total, whose parameters have element types"):

        @operator(**said)
        def total(a: i32, b: i32):  # type: ignore[no-untyped-def]
            return a + b


@operator
def compared_with_no_word(a: u32, b: u32):  # type: ignore[no-untyped-def]
    return a if a > -1 else b


def test_a_comparison_with_no_word_is_refused() -> None:
    """As a word -1 would be the greatest one."""
    with pytest.raises(SwizzleError, match="-1 is compared with words of u32, and is none"):
        judged(compared_with_no_word)


def test_quotients_of_reals() -> None:
    """Laws hold wherever nothing is divided by zero, as in witnesses; quotients of words by words are not read."""
    found = judged(velocities)
    assert found.status == "proved" and found.proofs is not None
    assert found.proofs.identity == {"value": e.ZERO}
    found = judged(mean)
    assert found.status == "refuted" and "one way and" in found.witness
    assert judged(halves).status == "refuted"
    found = judged(shares)
    assert found.status == "unknown" and "a division or a remainder of words" in found.tried[0]
    assert found.next_step.startswith("write it without divisions of integers")


@pytest.mark.parametrize("by", [-(2**31) + 1, -8, -3, -1, 1, 3, 8, 2**31 - 1])
def test_quotients_of_words_by_a_number_are_rounded_down(by: int) -> None:
    """Those of Python and NumPy, by numbers of either sign, at the ends of the type, too."""
    words = np.array([-(2**31), -(2**31) + 1, -9, -8, -3, -1, 0, 1, 3, 7, 8, 2**31 - 2, 2**31 - 1], np.int32)
    number, v = manager().BV(by % 2**32, 32), manager().Symbol("quotients_v", bit_vector_type(32))
    for made, wanted in ((signed_floor_div, words.astype(np.int64) // by), (signed_floor_mod, words % np.int64(by))):
        found = expression_of(SimpleNamespace(formula=made(v, number), signed=True), {"quotients_v": "v"})
        got = on_arrays(found, DType.I32, {"v": words}, {"v": DType.I32})
        assert np.broadcast_to(got, words.shape).tolist() == wanted.astype(np.int32).tolist()


def test_quotients_of_integers_by_a_number_below_0_do_not_wrap() -> None:
    """The least word by -2 is half its size, though there is no word of its size."""
    v = manager().Symbol("quotients_i", manager().env.type_manager.INT())
    found = expression_of(SimpleNamespace(formula=floor_div(v, manager().Int(-2)), signed=True), {"quotients_i": "v"})
    words = np.array([-(2**31), -3, -2, 0, 5, 2**31 - 1], np.int32)
    got = on_arrays(found, DType.I32, {"v": words}, {"v": DType.I32})
    assert got.tolist() == (words.astype(np.int64) // -2).tolist()


def test_signs_and_factors_in_front_of_quotients() -> None:
    """What is written is what is meant: -(v // 2) is not -v // 2."""
    v, w = number_name("v"), number_name("w")
    half = e.floor_divide(v, e.constant(2))
    for number in (-1, -3, 3):
        for what in (half, e.multiply(half, w), e.modulo(v, e.constant(2))):
            for more in (e.ZERO, e.constant(5), w):
                found = e.add(e.multiply(e.constant(number), what), more)
                for a, b in ((-5, 3), (7, -2)):
                    wanted = number * {0: a // 2, 1: a // 2 * b, 2: a % 2}[
                        0 if what is half else 1 if what.operator == "*" else 2
                    ] + (0 if more is e.ZERO else 5 if more.constant else b)
                    assert function_of(["v", "w"], [found])(a, b) == (wanted,)
