"""Laws of exponentials, logarithms, quotients and choices: they change no value, and make equal what is equal."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cuda_out.ptx.instructions.cases import CaseSplit
from cuda_out.ptx.instructions.normal import Normal
from symbolic.algebra.terms import Term, Terms

REAL = {"x": "f32", "y": "f32", "z": "f32"}
POINT = {"x": 0.37, "y": -0.81, "z": 1.29}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "erf": math.erf, "sin": math.sin, "cos": math.cos,
}  # fmt: skip


def value_of(normal: Normal, term: Term) -> float:
    """Return a term's value in double precision, where the variables are those of POINT."""
    op, args = normal.terms.nodes[term]
    if op == "atom":
        return POINT[args[0]]
    if op == "const":
        return float(args[0])
    parts = [value_of(normal, arg) for arg in args]
    head = op.partition(".")[0].partition(":")[0]
    match head:
        case "+":
            return math.fsum(parts)
        case "*":
            return math.prod(parts)
        case "inverse":
            return 1 / parts[0]
        case "max" | "min":
            return max(parts) if head == "max" else min(parts)
        case "abs":
            return abs(parts[0])
        case "lt":
            return float(parts[0] < parts[1])
        case "^":
            return float(sum(bool(part) for part in parts) % 2)
        case "&":
            return float(all(parts))
        case "select":
            return parts[1] if parts[0] else parts[2]
        case _:
            return _FUNCTIONS[head](*parts)


class Mirror:
    """A real number as a term, and as what it is at POINT."""

    def __init__(self, normal: Normal, term: Term, value: float) -> None:
        self.normal, self.term, self.value = normal, term, value

    def __add__(self, other: Mirror) -> Mirror:
        return Mirror(self.normal, self.normal.add("f64", self.term, other.term), self.value + other.value)

    def __mul__(self, other: Mirror) -> Mirror:
        return Mirror(self.normal, self.normal.multiply("f64", self.term, other.term), self.value * other.value)

    def __neg__(self) -> Mirror:
        return Mirror(self.normal, self.normal.scaled("f64", -1, self.term), -self.value)

    def inverse(self) -> Mirror:
        return Mirror(self.normal, self.normal.inverse("f64", self.term), 1 / self.value)

    def of(self, name: str, function: Callable[[float], float]) -> Mirror:
        return Mirror(self.normal, self.normal.function_of(f"{name}:f64", [self.term]), function(self.value))

    def exp(self) -> Mirror:
        return self.of("exp", math.exp)

    def largest(self, other: Mirror) -> Mirror:
        return Mirror(
            self.normal, self.normal.extreme("max", "f32", self.term, other.term), max(self.value, other.value)
        )

    def chosen(self, other: Mirror, yes: Mirror, no: Mirror) -> Mirror:
        condition = self.normal.less("f32", self.term, other.term)
        value = yes.value if self.value < other.value else no.value
        return Mirror(self.normal, self.normal.select("f32", condition, yes.term, no.term), value)


def mirrors() -> tuple[Normal, list[Mirror]]:
    terms = Terms()
    normal = Normal(terms, REAL)
    return normal, [Mirror(normal, terms.atom(name, 0), POINT[name]) for name in REAL]


def constant(normal: Normal, value: float) -> Mirror:
    return Mirror(normal, normal.real(value), value)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(60))
def test_no_law_changes_a_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    normal, numbers = mirrors()
    numbers += [constant(normal, value) for value in (1, -1, 2, 0.5)]
    positive = [constant(normal, 1), numbers[0].exp()]
    for _ in range(40):
        a, b, c, d = (numbers[int(n)] for n in rng.integers(0, len(numbers), 4))
        p, q = (positive[int(n)] for n in rng.integers(0, len(positive), 2))
        made: list[Mirror] = [
            a + b, a * b, -a, a.chosen(b, c, d), a.largest(b), a.of("tanh", math.tanh), a.of("erf", math.erf),
            p.of("log", math.log), p.of("log2", math.log2), a.of("sin", math.sin), a.of("erfc", math.erfc),
            a.chosen(b, p, q) + a.chosen(b, q, p), (a + -b).exp() * p * q.inverse(), p.of("rsqrt", lambda v: v**-0.5),
        ]  # fmt: skip
        grown: list[Mirror] = [
            p + q,
            p * q,
            p.inverse(),
            a.exp(),
            (-a).exp(),
            a.of("exp2", math.exp2),
            (p + q).inverse(),
        ]
        for among, new in ((numbers, made), (positive, grown)):
            choice = new[int(rng.integers(len(new)))]
            if 1e-6 < abs(choice.value) < 50 and len(normal.terms.show(choice.term)) < 600:
                among.append(choice)
        numbers.append(positive[-1])
    for each in (*numbers, *positive):
        assert value_of(normal, each.term) == pytest.approx(each.value, rel=1e-6, abs=1e-6)


def sigmoid(normal: Normal, x: Mirror) -> Mirror:
    return (constant(normal, 1) + (-x).exp()).inverse()


def softmax(items: list[Mirror], shift: Mirror) -> list[Term]:
    values = [(each + -shift).exp() for each in items]
    total = values[0]
    for value in values[1:]:
        total = total + value
    return [(value * total.inverse()).term for value in values]


def test_what_is_taken_off_all_exponents_makes_no_difference() -> None:
    normal, (x, y, z) = mirrors()
    wanted = softmax([x, y, z], constant(normal, 0))
    assert softmax([x, y, z], x.largest(y).largest(z)) == softmax([x, y, z], x * y) == wanted
    assert softmax([x, y, z], x)[::-1] != wanted
    plain, shifted = ((x + -m).exp() + (y + -m).exp() for m in (constant(normal, 0), x.largest(y)))
    assert (shifted.of("log", math.log) + x.largest(y)).term == plain.of("log", math.log).term


def test_sigmoids_have_one_form() -> None:
    normal, (x, *_) = mirrors()
    one, two = constant(normal, 1), constant(normal, 2)
    wanted = sigmoid(normal, x)
    assert (x.exp() * (one + x.exp()).inverse()).term == wanted.term == (one + -sigmoid(normal, -x)).term
    tanh, e = x.of("tanh", math.tanh), (two * x).exp()
    assert ((e + -one) * (e + one).inverse()).term == tanh.term == (-(-x).of("tanh", math.tanh)).term
    assert (two * sigmoid(normal, two * x) + -one).term == tanh.term != wanted.term


def test_an_exponential_of_minus_infinity_is_0() -> None:
    normal, (x, y, _) = mirrors()
    low = Mirror(normal, normal.real(-math.inf), -math.inf)
    assert (low + -x).exp().term == low.exp().term == normal.terms.const(0)
    assert (low + -low).exp().term != normal.terms.const(0)
    assert (low.largest(x) + -x).exp().term == normal.terms.const(1)
    assert (-(low + x)).exp().term != normal.terms.const(0)
    assert (low * y + x).exp().term != normal.terms.const(0)  # of which nothing is known: y may be 0


@pytest.mark.parametrize("factor", [1, 0.5, 0.125, 1.75])
def test_a_rounded_factor_of_an_exponent_of_2_is_the_one_it_stands_for(factor: float) -> None:
    normal, (x, *_) = mirrors()
    for kind, number in (("f32", np.float32), ("f64", np.float64)):
        rounded = constant(normal, float(number(factor * math.log2(math.e))))
        found = normal.function_of("exp2:f64", [(x * rounded).term], kind)
        assert found == (x * constant(normal, factor)).exp().term
    near = constant(normal, float(np.nextafter(np.float32(factor * math.log2(math.e)), np.float32(9))))
    assert normal.function_of("exp2:f64", [(x * near).term], "f32") != (x * constant(normal, factor)).exp().term
    single = constant(normal, float(np.float32(factor * math.log2(math.e))))
    assert normal.function_of("exp2:f64", [(x * single).term], "f64") != (x * constant(normal, factor)).exp().term


def test_powers_are_products_quotients_and_roots() -> None:
    normal, (x, y, _) = mirrors()

    def power(exponent: Any) -> Term:
        return normal.function_of("pow:f64", [x.term, normal.real(Fraction(exponent))])

    assert power(3) == (x * x * x).term and power(-1) == x.inverse().term and power(0) == normal.terms.const(1)
    assert power("1/2") == normal.function_of("sqrt:f64", [x.term])
    assert power("-1/2") == normal.function_of("rsqrt:f64", [x.term])
    assert normal.function_of("pow:f64", [x.term, y.term]) != power("1/3")


def test_a_choice_by_which_is_greater_is_a_rescaled_sum() -> None:
    """One step of an online softmax that tests whether its maximum grows is one that takes the maximum."""
    normal, (x, y, z) = mirrors()
    before, one = (y + -x).exp() + constant(normal, 1), constant(normal, 1)
    tested = x.chosen(z, before * (x + -z).exp() + one, before + (z + -x).exp())
    top = x.largest(z)
    assert tested.term == (before * (x + -top).exp() + (z + -top).exp()).term
    wrong = x.chosen(z, before * (z + -x).exp() + one, before + (z + -x).exp())
    assert wrong.term != tested.term


def test_cases() -> None:
    normal, (x, y, z) = mirrors()
    cases = CaseSplit(normal, lambda a, b: a == b)
    zero, one, two = (constant(normal, value) for value in (0, 1, 2))
    inside = x.chosen(y, y, z) * x.chosen(y, z.exp(), one).inverse()
    outside = x.chosen(y, y * (-z).exp(), z)
    assert inside.term != outside.term and cases.equal(inside.term, outside.term)
    assert not cases.equal(inside.term, x.chosen(y, y * z.exp(), z).term)
    soft = (one + x.exp()).of("log", math.log)
    stable = x.largest(zero) + (one + (-x.largest(-x)).exp()).of("log", math.log)
    assert cases.equal(soft.term, stable.term) and not cases.equal((soft + one).term, stable.term)
    both = zero.chosen(x, one, zero) + x.chosen(zero, one, zero)  # 1, but for x = 0
    assert not cases.equal((both * x.largest(y)).term, x.largest(y).term)
    at_0 = zero.chosen(x, y, x.chosen(zero, y, x.largest(zero)))
    assert not cases.equal(at_0.term, zero.chosen(x, y, x.chosen(zero, y, x + one)).term)
    never = x.chosen(one, two.chosen(x, y, z), z)  # x < 1 and 2 < x
    assert cases.equal(never.term, z.term)
    sometimes = x.chosen(two, one.chosen(x, y, z), z)
    assert not cases.equal(sometimes.term, z.term)
