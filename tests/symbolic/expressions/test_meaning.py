"""What every operator is in every domain, at the edges: the values are written out, or are Python's own."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from swizzle.operators.elementary import Together
from swizzle.operators.scan_operators import on_arrays
from symbolic.expressions import expression as e
from symbolic.expressions.columns import FLOATS, ON_COLUMNS, WHOLE, on_columns
from symbolic.expressions.expression import BUILDERS, Expression, constant, number_name
from symbolic.expressions.formulas import INTEGER, REALS, Sort, decide
from symbolic.expressions.meaning import NUMBERS, ON_NUMBERS, NumberDomain, evaluate, function_of, value_of
from symbolic.expressions.text import text_of
from symbolic.ir.program import DType

x, y, z = map(number_name, "xyz")
NAN, INF = math.nan, math.inf
LEAST = -(2**31)
ERROR = "error"
Values = dict[str, Any]

I32 = Sort("word", 32)


def typed(dtype: DType) -> Callable[[Expression, Values], Any]:
    def value(node: Expression, values: Values) -> Any:
        types = dict.fromkeys(values, dtype)
        columns = {name: np.array([each]) for name, each in values.items()}
        with np.errstate(all="ignore"):
            return on_arrays(node, DType.BOOL if node.truth else dtype, columns, types)[0].item()

    return value


def one_row(kind: type, domain: NumberDomain) -> Callable[[Expression, Values], Any]:
    def value(node: Expression, values: Values) -> Any:
        with np.errstate(all="ignore"):
            columns = {name: np.array([each]).astype(kind) for name, each in values.items()}
            return np.ravel(on_columns(node, columns, domain))[0].item()

    return value


def in_the_table(node: Expression, values: Values) -> Any:
    columns = {name: np.array([float(each)]) for name, each in values.items()}
    return Together([[[node.operator, *(each.value for each in node.arguments)]]]).values(columns).item()


def of_python(node: Expression, values: Values) -> Any:
    """Return what the function of an expression gives, once it is sure that node by node it is the same."""
    made = function_of(list(values), [node, node])
    try:
        wanted = evaluate(node, values, NUMBERS)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            made(*values.values())
        raise
    found = made(*values.values())
    assert repr(found) == repr((wanted, wanted))
    return found[0]


DOMAINS: dict[str, Callable[[Expression, Values], Any]] = {
    "Python": of_python,
    "integers": lambda node, values: value_of(node, values, dict.fromkeys(values, INTEGER)),
    "reals": lambda node, values: value_of(node, values, dict.fromkeys(values, REALS)),
    "words": lambda node, values: value_of(node, values, dict.fromkeys(values, I32)),
    "int64": one_row(np.int64, WHOLE),
    "doubles": one_row(np.float64, FLOATS),
    "table": in_the_table,
    "i32": typed(DType.I32),
    "f64": typed(DType.F64),
    "f32": typed(DType.F32),
}
WHOLE = ("Python", "integers", "words", "int64", "i32")
FLOATING = ("doubles", "table", "f64", "f32")

EDGES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    # divisors of 0: as in formulas, the quotient is 0 and the remainder is the dividend; in Python there is none
    ("//", (7, 0), {**dict.fromkeys((*WHOLE, *FLOATING), 0), "Python": ERROR}),
    ("//", (-7, 0), {**dict.fromkeys((*WHOLE, *FLOATING), 0), "Python": ERROR}),
    ("%", (7, 0), {**dict.fromkeys((*WHOLE, *FLOATING), 7), "Python": ERROR}),
    ("%", (-7, 0), {**dict.fromkeys((*WHOLE, *FLOATING), -7), "Python": ERROR}),
    ("/", (7, 0), {**dict.fromkeys(FLOATING, INF), "Python": ERROR, "reals": ERROR}),
    ("/", (-7.0, 0.0), {**dict.fromkeys(FLOATING, -INF), "Python": ERROR, "reals": ERROR}),
    ("/", (0, 0), {**dict.fromkeys(FLOATING, NAN), "Python": ERROR, "reals": ERROR}),
    # negatives
    ("//", (-7, 2), dict.fromkeys((*WHOLE, *FLOATING), -4)),
    ("//", (7, -2), dict.fromkeys((*WHOLE, *FLOATING), -4)),
    ("%", (-7, 2), dict.fromkeys((*WHOLE, *FLOATING), 1)),
    ("%", (7, -2), dict.fromkeys((*WHOLE, *FLOATING), -1)),
    ("//", (LEAST, -1), {**dict.fromkeys((*WHOLE, *FLOATING), -LEAST), "words": LEAST, "i32": LEAST}),
    # words wrap, and shifts take amounts as words do
    ("+", (2**31 - 1, 1), {**dict.fromkeys((*WHOLE, *FLOATING), -LEAST), "words": LEAST, "i32": LEAST}),
    ("*", (2**16, 2**16), {**dict.fromkeys((*WHOLE, *FLOATING), 2**32), "words": 0, "i32": 0}),
    ("<<", (1, 33), {**dict.fromkeys(("Python", "integers", "int64"), 2**33), "words": 0, "i32": 0}),
    ("<<", (3, 32), {"words": 0, "i32": 0}),
    ("<<", (1, 64), {"int64": 0, "Python": 2**64, "integers": 2**64}),
    ("<<", (1, -1), {"Python": ERROR, "integers": ERROR, "words": 0, "int64": 0, "i32": 0}),
    (">>", (-8, 33), dict.fromkeys(WHOLE, -1)),
    (">>", (8, 33), dict.fromkeys(WHOLE, 0)),
    (">>", (-8, -1), {"Python": ERROR, "integers": ERROR, "words": -1, "int64": -1, "i32": -1}),
    (">>", (8, -1), {"Python": ERROR, "integers": ERROR, "words": 0, "int64": 0, "i32": 0}),
    ("&", (-1, 6), dict.fromkeys(WHOLE, 6)),
    ("|", (-8, 3), dict.fromkeys(WHOLE, -5)),
    ("^", (-1, 6), dict.fromkeys(WHOLE, -7)),
    # whole numbers beside floats
    ("/", (7, 3), {**dict.fromkeys(("Python", "doubles", "table", "f64"), 7 / 3), "reals": Fraction(7, 3)}),
    ("==", (2**53, 2**53 + 1), {"Python": False, "integers": False, "int64": False, "doubles": True, "f64": True}),
    ("==", (2**24, 2**24 + 1), {"Python": False, "int64": False, "doubles": False, "i32": False, "f32": True}),
    ("max", (-3, 2), dict.fromkeys((*WHOLE, *FLOATING), 2)),
    ("min", (-3, 2), dict.fromkeys((*WHOLE, *FLOATING), -3)),
    # NaN, infinities, signed zeros
    ("max", (NAN, 1.0), dict.fromkeys(("Python", *FLOATING), NAN)),
    ("max", (1.0, NAN), dict.fromkeys(("Python", *FLOATING), 1.0)),
    ("min", (NAN, 1.0), dict.fromkeys(("Python", *FLOATING), NAN)),
    ("min", (1.0, NAN), dict.fromkeys(("Python", *FLOATING), 1.0)),
    ("max", (-0.0, 0.0), dict.fromkeys(("Python", *FLOATING), -0.0)),
    ("min", (0.0, -0.0), dict.fromkeys(("Python", *FLOATING), 0.0)),
    ("+", (-0.0, -0.0), dict.fromkeys(("Python", "reals", *FLOATING), -0.0)),
    ("+", (INF, -INF), dict.fromkeys(("Python", *FLOATING), NAN)),
    ("*", (0.0, INF), dict.fromkeys(("Python", *FLOATING), NAN)),
    ("<", (NAN, 1.0), dict.fromkeys(("Python", *FLOATING), False)),
    ("<=", (NAN, NAN), dict.fromkeys(("Python", *FLOATING), False)),
    ("==", (NAN, NAN), dict.fromkeys(("Python", *FLOATING), False)),
    ("//", (INF, 2.0), dict.fromkeys(("Python", *FLOATING), NAN)),
    ("%", (7.0, -INF), dict.fromkeys(("Python", *FLOATING), -INF)),
    # functions
    ("exp", (710.0,), dict.fromkeys(("Python", "reals", *FLOATING), INF)),
    ("exp", (705.0,), dict.fromkeys(("Python", "reals", "doubles", "table", "f64"), pytest.approx(math.e**705))),
    ("exp", (NAN,), dict.fromkeys(("Python", "reals", *FLOATING), NAN)),
    ("exp", (-(10**400),), {"Python": 0.0, "reals": 0.0}),
    ("exp", (-INF,), dict.fromkeys(("Python", "reals", *FLOATING), 0.0)),
    ("log", (0.0,), dict.fromkeys(("Python", "reals", *FLOATING), -INF)),
    ("log", (-1.0,), {**dict.fromkeys(FLOATING, NAN), "Python": ERROR, "reals": ERROR}),
]  # fmt: skip


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, float) and not (wanted and math.isfinite(wanted)):
        return struct.pack("d", abs(found) if found != found else found) == struct.pack("d", wanted)
    return bool(found == wanted)


@pytest.mark.parametrize(("operator", "given", "wanted"), EDGES, ids=lambda what: str(what).partition("{")[0])
def test_edges_are_the_same_in_every_domain(operator: str, given: tuple[Any, ...], wanted: dict[str, Any]) -> None:
    """Where a domain has no number for it, that is an error of Python's numbers, and NaN or an infinity of columns."""
    node = BUILDERS[operator](*(x, y)[: len(given)])
    assert node.operator == operator and len(node.arguments) == len(given)
    values = dict(zip("xy", given, strict=False))
    if operator in "&|^==":
        node = BUILDERS[operator](*map(number_name, values))
    for domain, value in wanted.items():
        if value == ERROR:
            with pytest.raises(ZeroDivisionError):
                DOMAINS[domain](node, values)
        else:
            found = DOMAINS[domain](node, values)
            assert _same(found, value), f"{domain}: {found}"


def test_every_operator_is_in_the_table() -> None:
    """Of numbers and of columns: an operator that is built has a meaning."""
    assert set(ON_NUMBERS) == set(ON_COLUMNS) == set(BUILDERS)


@pytest.mark.parametrize("operator", ["//", "%"])
@pytest.mark.parametrize("sort", [INTEGER, I32, Sort("word", 32, False)], ids=str)
def test_dividing_by_zero_is_what_formulas_say(operator: str, sort: Sort) -> None:
    """A solver proves what the evaluator says of a divisor that is 0, for every dividend."""
    sorts = {"x": sort, "y": sort}
    zero = [e.equal(y, e.ZERO)]
    node = BUILDERS[operator](x, y)
    claimed = e.ZERO if operator == "//" else x
    assert decide([(node, claimed)], sorts, zero, effort=20).verdict == "proved"
    for number in (7, 0, 2**31 - 1):
        values = {"x": number, "y": 0}
        assert value_of(node, values, sorts) == value_of(claimed, values, sorts)


def test_what_a_choice_divides_by_may_be_zero_elsewhere() -> None:
    """Only what is divided is not divided by zero: of the other side of a choice a proof says what it is."""
    zero, quotient = e.equal(x, e.ZERO), e.divide(y, x)
    sorts = {"x": REALS, "y": REALS}
    five, seven = (e.select(zero, constant(each), quotient) for each in (5, 7))
    answer = decide([(five, seven)], sorts)
    assert answer.verdict == "refuted" and answer.values["x"] == 0
    assert decide([(e.multiply(x, quotient), y)], sorts).verdict == "proved"
    assert decide([(five, quotient)], sorts).verdict == "proved"  # wherever it is a number at all
    assert decide([(five, quotient)], sorts, [e.negation(zero)]).verdict == "proved"
    guarded = e.both(e.negation(zero), e.less(e.ZERO, quotient))
    assert decide([(guarded, e.FALSE)], sorts, [zero]).verdict == "proved"
    assert decide([(e.either(zero, e.less(e.ZERO, quotient)), e.TRUE)], sorts, [zero]).verdict == "proved"
    assert decide([(e.either(zero, e.less(e.ZERO, quotient)), e.FALSE)], sorts, [zero]).verdict == "refuted"


@pytest.mark.parametrize("signed", [True, False])
def test_shifts_are_what_formulas_say(signed: bool) -> None:
    """Of words of three bits, by every amount; of words of 32 bits as typed columns have them."""
    sort = Sort("word", 3, signed)
    low, high = sort.limits
    for operator in ("<<", ">>"):
        node = e.bits(operator, x, y)
        claims = []
        for number in range(low, high + 1):
            for amount in range(low, high + 1):
                found = value_of(node, {"x": number, "y": amount}, {"x": sort, "y": sort})
                here = e.both(e.equal(x, constant(number)), e.equal(y, constant(amount)))
                claims.append((e.select(here, node, e.ZERO), e.select(here, constant(found), e.ZERO)))
        assert decide(claims, {"x": sort, "y": sort}, effort=20).verdict == "proved"
    dtype, wide = (DType.I32, Sort("word", 32)) if signed else (DType.U32, Sort("word", 32, False))
    low, high = wide.limits
    for amount in (0, 1, 31, 32, 63, low, high):
        for number in (low, high, 5):
            values = {"x": number, "y": amount}
            for operator in ("<<", ">>"):
                node = e.bits(operator, x, y)
                assert typed(dtype)(node, values) == value_of(node, values, dict.fromkeys("xy", wide))


def test_typed_columns_divide_and_shift_in_their_own_type() -> None:
    """What is shifted as 64 bits is cut to 32 before it is compared as such, as in printed texts."""
    node, types = e.maximum(z, e.bits(">>", x, e.ONE)), {"x": DType.I64, "z": DType.I32}
    values = {"x": np.array([2**33 + 4, 2**33 + 12, -3]), "z": np.array([5, 5, -7])}
    assert on_arrays(node, DType.I32, values, types).tolist() == [5, 6, -2]
    node = e.maximum(z, e.floor_divide(x, constant(2)))
    assert on_arrays(node, DType.I32, values, types).tolist() == [5, 6, -2]


def test_only_what_is_chosen_is_computed_of_numbers() -> None:
    """A guard in Python's text keeps what it guards from being computed, as in Python."""
    guarded = e.select(e.equal(y, e.ZERO), constant(-1), e.floor_divide(x, y))
    run = function_of(["x", "y"], [guarded, e.both(e.less(e.ZERO, y), e.less(e.modulo(x, y), constant(2)))])
    assert run(7, 0) == (-1, False) and run(7, 2) == (3, True) and run(7, 4) == (1, False)
    assert value_of(e.select(e.equal(y, e.ZERO), x, e.divide(x, y)), {"x": 1, "y": 0}, {"x": REALS, "y": REALS}) == 1
    big = e.select(e.less(y, constant(32)), e.bits("<<", x, y), e.ZERO)
    assert function_of(["x", "y"], [big])(1, 10**12) == (0,)
    twice = e.maximum(e.floor_divide(x, y), e.modulo(e.floor_divide(x, y), z))
    several = [e.select(e.equal(y, e.ZERO), constant(-1), twice), e.both(e.less(e.ZERO, y), e.less(twice, z))]
    assert function_of(["x", "y", "z"], several)(7, 0, 5) == (-1, False)
    assert function_of(["x", "y", "z"], several)(7, 2, 5) == (3, True)


def test_what_is_shared_is_computed_once_or_too_long_to_write() -> None:
    """A part that is in the next one twice, forty times over: a text without sharing had a billion of them."""
    sure, chosen = x, x
    for place in range(40):
        sure = e.maximum(e.modulo(sure, constant(1009)), e.bits("^", sure, constant(place)))
        chosen = e.select(e.less(y, chosen), e.bits("^", chosen, constant(place)), e.modulo(chosen, constant(1009)))
    values = {"x": 3, "y": 5}
    assert [DOMAINS["Python"](node, values) for node in (sure, chosen)] == [
        DOMAINS["int64"](node, values) for node in (sure, chosen)
    ]


@pytest.mark.slow
def test_deep_expressions_have_values_in_every_domain() -> None:
    """As deep as a loop has rounds: Python's stack holds a thousand calls."""
    node, wanted = x, 3
    for place in range(4000):
        node = e.maximum(e.modulo(e.add(node, y), constant(1009)), constant(place % 7))
        wanted = max((wanted + 5) % 1009, place % 7)
    for name in ("Python", "integers", "words", "int64", "doubles", "i32", "f64"):
        assert DOMAINS[name](node, {"x": 3, "y": 5}) == wanted, name
    node = x
    for _ in range(300):  # short enough to write, and too deep for Python's parser
        node = e.modulo(node, y)
    assert DOMAINS["Python"](node, {"x": 8, "y": 5}) == 3


def test_python_numbers_are_what_the_printed_text_computes() -> None:
    """Texts are a second reading of expressions: of random ones, whole and not, they give the same number."""
    rng = random.Random(5)

    def made(depth: int) -> Expression:
        if not depth:
            return rng.choice([x, y, z, constant(rng.randrange(-3, 9)), constant(Fraction(rng.randrange(9), 3))])
        a, b = made(depth - 1), made(depth - 1)
        kind = rng.choice(["+", "*", "max", "min", "//", "%", "/", "select"])
        return e.select(e.less(a, x), b, a) if kind == "select" else BUILDERS[kind](a, b)

    computed = 0
    for _ in range(300):
        node = made(3)
        values = {name: rng.randrange(-9, 10) for name in "xyz"}
        try:
            wanted = eval(text_of(node), {"max": max, "min": min}, values)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                DOMAINS["Python"](node, values)
            continue
        computed += 1
        assert DOMAINS["Python"](node, values) == pytest.approx(wanted, rel=1e-12, abs=1e-12), text_of(node)
    assert computed > 100
