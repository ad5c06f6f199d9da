"""Expressions against plain Python: what is built, what it means as a formula, and its text."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any

import pytest

from symbolic.core.values import bitvector, boolean, integer, select
from symbolic.expressions import expression as e
from symbolic.expressions import quotients
from symbolic.expressions.expression import Expression, constant, number_name, truth_name
from symbolic.expressions.formulas import INTEGER, REALS, TRUTH, Formulas, Sort, decide
from symbolic.expressions.meaning import function_of, value_of, wrapped
from symbolic.expressions.reading import expression_of
from symbolic.expressions.text import text_of
from symbolic.solve.evaluate import evaluate

NAMES = ("x", "y", "z")
FLAGS = ("p", "q")
WORDS = [Sort("word", 32), Sort("word", 32, False), Sort("word", 64)]
EDGES = (0, 1, 3, -1, -4, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 32) - 1, 1 << 30)


def random_tree(rng: random.Random, depth: int, truth: bool, bits: bool) -> Any:
    """Return nested tuples: an operator and its arguments; leaves are names and numbers."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(FLAGS) if truth else rng.choice([*NAMES, *NAMES, rng.choice(EDGES)])

    def inner(truth: bool) -> Any:
        return random_tree(rng, depth - 1, truth, bits)

    if truth:
        kind = rng.choice(["and", "or", "not", "<", "<=", "==", "select"])
        if kind in ("<", "<=", "=="):
            return kind, inner(False), inner(False)
        count = {"not": 1, "select": 3}.get(kind, 2)
        return kind, *(inner(True) for _ in range(count))
    kind = rng.choice(["+", "*", "max", "min", "select", "-", *(["&", "|", "^"] if bits else [])])
    if kind == "select":
        return kind, inner(True), inner(False), inner(False)
    return kind, inner(False), inner(False)


def built(tree: Any) -> Expression:
    """Return a tree as an expression, which is simplified on the way."""
    if isinstance(tree, int):
        return constant(tree)
    if isinstance(tree, str):
        return truth_name(tree) if tree in FLAGS else number_name(tree)
    kind, *arguments = tree
    parts = [built(each) for each in arguments]
    return e.subtract(*parts) if kind == "-" else e.BUILDERS[kind](*parts)


def plain(tree: Any, values: dict[str, Any], sort: Sort) -> Any:
    """Return what a tree is, by Python alone."""

    def cut(number: int) -> int:
        return wrapped(number, sort)

    if isinstance(tree, int):
        return cut(tree)
    if isinstance(tree, str):
        return values[tree]
    kind, *arguments = tree
    a, *more = (plain(each, values, sort) for each in arguments)
    match kind:
        case "+":
            return cut(a + more[0])
        case "-":
            return cut(a - more[0])
        case "*":
            return cut(a * more[0])
        case "max" | "min":
            return max(a, more[0]) if kind == "max" else min(a, more[0])
        case "select":
            return more[0] if a else more[1]
        case "<" | "<=" | "==":
            return {"<": a < more[0], "<=": a <= more[0], "==": a == more[0]}[kind]
        case "and" | "or":
            return (a and more[0]) if kind == "and" else (a or more[0])
        case "&" | "|" | "^":
            return cut({"&": a & more[0], "|": a | more[0], "^": a ^ more[0]}[kind])
    return not a


@pytest.mark.parametrize("sort", [INTEGER, *WORDS], ids=str)
def test_random_expressions_mean_what_python_means(sort: Sort) -> None:
    """Simplified expressions, evaluated and as formulas, are what the tree is: of integers, and of words that wrap."""
    rng, wrap = random.Random(7), sort.kind == "word"
    sorts = {**dict.fromkeys(NAMES, sort), **dict.fromkeys(FLAGS, TRUTH)}
    for _ in range(400):
        truth = rng.random() < 0.4
        tree = random_tree(rng, rng.randrange(1, 5), truth, bits=wrap)
        node = built(tree)
        formulas = Formulas(sorts)
        formula = formulas.truth(node) if truth else formulas.number(node, sort).value
        for _ in range(6):
            values: dict[str, Any] = {name: wrapped(rng.choice(EDGES) + rng.randrange(-2, 3), sort) for name in NAMES}
            values |= {name: rng.random() < 0.5 for name in FLAGS}
            wanted = plain(tree, values, sort)
            assert value_of(node, values, sorts) == wanted
            found = evaluate(formula, lambda symbol, v=values: _number(v[symbol.symbol_name().partition("!")[0]], sort))
            assert (wrapped(found, sort) if wrap and not truth else found) == wanted
            if not wrap:
                assert function_of([*NAMES, *FLAGS], [node])(*values.values()) == (wanted,)


def _number(value: Any, sort: Sort) -> Any:
    return value % (1 << sort.bits) if sort.kind == "word" and not isinstance(value, bool) else value


def test_random_expressions_are_their_text() -> None:
    """The printed Python text is the same function."""
    rng = random.Random(8)
    for _ in range(400):
        tree = random_tree(rng, 4, rng.random() < 0.4, bits=False)
        text = text_of(built(tree))
        values: dict[str, Any] = {name: rng.randrange(-5, 6) for name in NAMES}
        values |= {name: rng.random() < 0.5 for name in FLAGS}
        assert eval(text, {"max": max, "min": min}, values) == plain(tree, values, INTEGER), text


def test_the_difference_of_equal_polynomials_is_zero() -> None:
    """Expanding is enough to see that polynomials are equal."""
    x, y, z = map(number_name, NAMES)
    left = e.multiply(e.add(x, y), e.subtract(x, y), z)
    right = e.subtract(e.multiply(x, x, z), e.multiply(z, y, y))
    assert left is not right and quotients.expanded(e.subtract(left, right)) is e.ZERO
    assert quotients.expanded(e.subtract(left, e.multiply(x, x, z))) is not e.ZERO


def test_infinities_are_exact() -> None:
    """What is proved of names that may be an infinity holds of it: all of them are tried."""
    x, y, z = map(number_name, NAMES)
    sorts, below = dict.fromkeys(NAMES, INTEGER), dict.fromkeys(NAMES, -1)
    law = (e.add(e.maximum(x, y), z), e.maximum(e.add(x, z), e.add(y, z)))
    assert decide([law], sorts, infinite=below).verdict == "proved"
    for values in itertools.product([float("-inf"), -1, 2], repeat=3):
        left, right = function_of(NAMES, law)(*values)
        assert left == right
    wrong = (e.maximum(x, e.add(x, constant(1))), x)
    found = decide([wrong], sorts, infinite=below)
    assert found.verdict == "refuted" and found.values["x"] != float("-inf")
    assert decide([(e.less(x, y), e.constant(True))], sorts, [e.equal(x, e.LEAST), e.less(e.LEAST, y)],
                  infinite=below).verdict == "proved"  # fmt: skip


def test_exponentials_turn_sums_into_products() -> None:
    """What holds of exp is proved; what does not is never refuted by numbers that are no exponentials."""
    x, y, z = map(number_name, NAMES)
    sorts = dict.fromkeys(NAMES, REALS)
    shifted = e.multiply(e.exponential(e.subtract(x, y)), e.exponential(e.subtract(y, z)))
    assert decide([(shifted, e.exponential(e.subtract(x, z)))], sorts).verdict == "proved"
    assert decide([(e.less(e.exponential(x), e.exponential(y)), e.less(x, y))], sorts).verdict == "proved"
    assert decide([(e.exponential(x), e.exponential(y))], sorts).verdict == "unknown"
    one = e.logarithm(e.add(e.exponential(e.logarithm(e.add(e.exponential(x), e.exponential(y)))), e.exponential(z)))
    assert decide([(one, e.logarithm(e.add(*map(e.exponential, (x, y, z)))))], sorts).verdict == "proved"


def test_the_exponential_of_a_part_is_not_that_of_the_whole() -> None:
    """Of half a logarithm, maximum or choice, where the whole one would be taken apart."""
    x, y, p = number_name("x"), number_name("y"), truth_name("p")
    for whole in (e.logarithm(x), e.maximum(x, y), e.minimum(x, y), e.select(p, x, y)):
        half = e.exponential(e.multiply(constant(Fraction(1, 2)), whole))
        sorts = {"x": REALS, "y": REALS, "p": TRUTH}
        assert decide([(half, e.exponential(whole))], sorts).verdict == "unknown"


def test_what_holds_of_quotients_is_proved() -> None:
    """Of names, in every whole type: the quotient and the remainder make the number again."""
    x, y = number_name("x"), number_name("y")
    again = e.add(e.multiply(e.floor_divide(x, y), y), e.modulo(x, y))
    for sort in (INTEGER, Sort("word", 8), Sort("word", 8, False)):
        sorts = dict.fromkeys(("x", "y"), sort)
        below = [e.less(e.ZERO, x), e.less(x, y)]
        assert decide([(e.modulo(x, y), x), (e.floor_divide(x, y), e.ZERO)], sorts, below).verdict == "proved"
        assert decide([(again, x)], sorts, [e.equal(y, constant(3))]).verdict == "proved"


def test_the_greatest_of_choices_by_one_condition_is_one_choice() -> None:
    """So a maximum of a choice and a number, and of two choices, is taken side by side; one choice is that choice."""
    x, y, z, p, q = *map(number_name, NAMES), *map(truth_name, FLAGS)
    one, other = e.select(p, x, y), e.select(p, y, z)
    assert e.maximum(one, constant(3)) is e.select(p, e.maximum(x, constant(3)), e.maximum(y, constant(3)))
    assert e.minimum(one, other) is e.select(p, e.minimum(x, y), e.minimum(y, z))
    assert e.maximum(one) is one and e.maximum(one, e.select(q, x, y)).operator == "max"


def test_symbolic_values_are_read() -> None:
    """What the core has built comes back as the expression that it is."""
    x, y, p = integer("read_x"), integer("read_y"), boolean("read_p")
    read = expression_of(select(p, select(x < y, y, x), x * y - x // 3 * 3))
    values = {"read_x": 7, "read_y": -2, "read_p": False}
    assert value_of(read, values, {"read_x": INTEGER, "read_y": INTEGER, "read_p": TRUTH}) == -14 - 6
    assert text_of(expression_of(select(x < y, y, x), {"read_x": "x", "read_y": "y"})) == "max(x, y)"
    assert text_of(expression_of(x % 3)) == "read_x % 3"
    read = expression_of((bitvector("read_b", 8, signed=True) & 3) + 100, {"read_b": "x"})
    assert value_of(read, {"x": -1}, {"x": Sort("word", 8)}) == 103
    assert expression_of(Fraction(1, 2)) is constant(0.5)


def test_the_variance_of_parts_is_associative() -> None:
    """As quotients of polynomials: nothing is left of the difference."""

    def together(a: list[Expression], b: list[Expression]) -> list[Expression]:
        count, apart = e.add(a[0], b[0]), e.subtract(b[1], a[1])
        mean = e.add(a[1], e.divide(e.multiply(apart, b[0]), count))
        return [count, mean, e.add(a[2], b[2], e.divide(e.multiply(apart, apart, a[0], b[0]), count))]

    a, b, c = ([number_name(f"{side}{place}") for place in range(3)] for side in "abc")
    left, right = together(together(a, b), c), together(a, together(b, c))
    assert all(quotients.same_ratio(p, q) for p, q in zip(left, right, strict=True))


def test_equal_quotients_are_recognised() -> None:
    """What two parts make of a mean is associative as quotients of polynomials; random ones agree with fractions."""
    x, y, z = map(number_name, NAMES)
    left = e.divide(e.add(e.divide(x, y), z), e.add(y, z))
    right = e.divide(e.add(x, e.multiply(y, z)), e.multiply(y, e.add(y, z)))
    assert quotients.same_ratio(left, right) and not quotients.same_ratio(left, e.divide(x, y))
    rng = random.Random(4)

    def some(depth: int) -> Expression:
        if depth == 0:
            return rng.choice([x, y, z, constant(2)])
        build = rng.choice([e.add, e.multiply, e.divide, e.subtract])
        return build(some(depth - 1), some(depth - 1))

    for _ in range(60):
        a = some(3)
        top, bottom = quotients.ratio(a)
        values = {name: Fraction(rng.randrange(1, 50), rng.randrange(1, 50)) for name in NAMES}
        try:
            wanted, over, under = (value_of(each, values, dict.fromkeys(NAMES, REALS)) for each in (a, top, bottom))
        except ZeroDivisionError:
            continue
        assert over == wanted * under


def test_an_infinity_absorbs_what_is_finite() -> None:
    """Of a sum; both infinities have none."""
    x = number_name("x")
    for infinite in (e.LEAST, e.GREATEST):
        assert e.add(x, infinite, constant(3)) is e.add(infinite, infinite) is infinite
    with pytest.raises(ArithmeticError):
        e.add(e.LEAST, x, e.GREATEST)


@pytest.mark.parametrize(("a", "b"), [(7, 2), (2, 7), (6, 3), (0, 5)])
def test_quotients_of_numbers_are_pythons(a: int, b: int) -> None:
    """Of small numbers that are known; a divisor that is 0 has no meaning, and stays."""
    assert e.floor_divide(constant(a), constant(b)) is constant(a // b)
    assert e.modulo(constant(a), constant(b)) is constant(a % b)
    assert e.modulo(constant(a), constant(0)).operator == "%"


def test_products_and_quotients_are_read_back() -> None:
    """Operators of one level, in both orders: the text means what the expression means."""
    x, y, z = map(number_name, NAMES)
    pairs = [e.multiply, e.floor_divide, e.modulo]
    for outer, inner in itertools.product(pairs, repeat=2):
        for made in (outer(x, inner(y, z)), outer(inner(x, y), z)):
            (found,) = function_of(NAMES, [made])(29, 7, 4)
            assert found == value_of(made, {"x": 29, "y": 7, "z": 4}, dict.fromkeys(NAMES, INTEGER)), text_of(made)


def test_a_clamp_may_be_written_with_tests() -> None:
    """All choices between a bound and a bounded number: one is a `max` or `min` only where it means that."""
    x, bounds = number_name("x"), [constant(each) for each in (-2, 0, 3)]
    clamps = 0
    for compare, low, high in itertools.product((e.less, e.less_equal), bounds, bounds):
        for edge, bounded in itertools.product((low, high), (e.minimum(x, high), e.maximum(x, low))):
            for condition, (yes, no) in itertools.product(
                (compare(x, edge), compare(edge, x)), ((edge, bounded), (bounded, edge))
            ):
                made = e.select(condition, yes, no)
                run = function_of(["x"], [made, condition, yes, no])
                clamps += made.operator in ("max", "min")
                for number in range(-5, 6):
                    found, holds, first, second = run(number)
                    assert found == (first if holds else second)
    assert clamps > 20
    assert e.select(e.less(x, bounds[1]), bounds[1], e.minimum(x, bounds[2])) is e.maximum(
        bounds[1], e.minimum(x, bounds[2])
    )
