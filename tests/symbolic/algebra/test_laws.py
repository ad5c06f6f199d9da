"""The laws against numbers: what is one term is one number, in every type; and the identities that must be found."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from symbolic.algebra.canonical import Canonical
from symbolic.algebra.datum import Datum
from symbolic.algebra.numbers import NUMPY_DTYPES, Numbers
from symbolic.algebra.operator_laws import LAWS
from symbolic.algebra.residues import PRIME, Residue, Residues
from symbolic.algebra.terms import UNWRITTEN, Terms
from symbolic.ir.program import DType

WHOLE = [DType.I32, DType.U32, DType.I64, DType.U64]
FLOATS = [DType.F16, DType.F32, DType.F64]
Expression = Any  # an atom's number, ("const", value), or an operator with its operands

IDENTITIES = [
    ("x - x", "0"),
    ("x + x", "2 * x"),
    ("2 * x - x", "x"),
    ("x + x - 2 * x + y", "y"),
    ("-(x - y)", "y - x"),
    ("2 * (x + y)", "2 * x + 2 * y"),
    ("2 * (x + y) - 2 * x", "y + y"),
    ("3 * (x - (y - z)) + 3 * y", "3 * x + 3 * z"),
    ("2 * (x + 3)", "2 * x + 6"),
    ("(2 * (x + y)) * z", "2 * ((x + y) * z)"),
    ("(2 * x + 4 * y) * z", "(x + 2 * y) * z * 2"),
    ("(x - y) * (y - x)", "-((x - y) * (x - y))"),
    ("x * y - y * x", "0"),
    ("0.5 * (x + y) + 0.5 * (x - y)", "x"),
    ("0.1 * x + 0.2 * x + 0.3 * x", "0.3 * x + 0.2 * x + 0.1 * x"),
    ("0.1 * (x + 3 * y) * z", "(x + 3 * y) * z * 0.1"),
    ("(x ^ y) ^ x", "y"),
    ("x ^ x", "0"),
    ("(x ^ 5) ^ (y ^ 5) ^ x", "y"),
    ("(x & y) ^ (y & x)", "0"),
    ("(x + y) ^ (y + x)", "0"),
    ("(x ^ x) + x - x", "0"),
]


@pytest.mark.parametrize(("left", "right"), IDENTITIES)
def test_identities_are_found(left: str, right: str) -> None:
    """Both sides are one term."""
    terms = Terms()
    names = {name: Datum(terms, terms.atom(name, 0)) for name in "xyz"}
    sides = [eval(text, {}, names) for text in (left, right)]
    a, b = (side.term if isinstance(side, Datum) else terms.const(side) for side in sides)
    assert a == b, f"{terms.show(a)} and {terms.show(b)}"


def test_what_was_never_written_cancels_with_nothing() -> None:
    """It stays what it is under every operator."""
    terms = Terms()
    for op in LAWS:
        assert terms.apply(op, (UNWRITTEN, UNWRITTEN)) == UNWRITTEN
    assert terms.apply("+", (UNWRITTEN, terms.times(-1, UNWRITTEN))) == UNWRITTEN
    assert terms.apply("*", (terms.const(0), UNWRITTEN)) == UNWRITTEN


def test_infinities_do_not_cancel() -> None:
    """Nothing is computed with what is no number."""
    terms = Terms()
    x, infinity = terms.atom("x", 0), terms.const(float("inf"))
    product = terms.apply("*", (x, infinity))
    assert terms.scale(product) == (product, 1)
    assert terms.apply("+", (product, x)) == terms.apply("+", (x, product)) != product


def random_expression(random: Random, operators: list[str], numbers: list[Any], depth: int) -> Expression:
    if depth == 0 or random.random() < 0.15:
        return random.choice(["x", "x", "y", "z", ("const", random.choice(numbers))])
    op = random.choice(operators)
    arity = 1 if op in ("neg", "~", "abs") else 2
    return (op, *(random_expression(random, operators, numbers, depth - 1) for _ in range(arity)))


def rewritten(random: Random, e: Expression) -> Expression:
    """Return an expression that is equal by the laws of rings: operands exchanged, regrouped, distributed, doubled."""
    if isinstance(e, str) or e[0] == "const":
        match random.randrange(6):
            case 0:
                return ("-", ("+", e, "y"), "y")
            case 1:
                return ("-", ("*", ("const", 2), e), e)
            case _:
                return e
    op, *parts = e
    parts = [rewritten(random, part) for part in parts]
    if op in ("+", "*", "&", "|", "^", "min", "max") and random.random() < 0.5:
        parts.reverse()
    if op == "*" and parts[0][0] == "const" and parts[1][0] in ("+", "-"):
        inner, a, b = parts[1]
        return (inner, ("*", parts[0], a), ("*", parts[0], b))
    if op == "-":
        return ("+", parts[0], ("neg", parts[1]))
    if op in ("+", "*", "^") and parts[0][0] == op:
        return (op, parts[0][1], (op, parts[0][2], parts[1]))
    return (op, *parts)


def evaluated(algebra: Any, e: Expression, atoms: Any, dtype: DType) -> Any:
    if isinstance(e, str):
        return atoms[e]
    op, *parts = e
    if op == "const":
        found = np.empty(len(atoms["x"]), atoms["x"].dtype)
        found[:] = [algebra.constant(parts[0], dtype)] * len(found)
        return found
    values = [evaluated(algebra, part, atoms, dtype) for part in parts]
    if len(values) == 1:
        return algebra.unary("-" if op == "neg" else op, values[0], dtype)
    return algebra.binary(op, *values, dtype)


def canonical(terms: Terms, e: Expression, dtype: DType) -> int:
    atoms = {name: np.array([terms.atom(name, 0)], np.int64) for name in "xyz"}
    return int(evaluated(Canonical(terms), e, atoms, dtype)[0])


def residues(random: Random) -> dict[str, Any]:
    found = {}
    for name in "xyz":
        found[name] = np.empty(4, object)
        found[name][:] = [Residue(random.randrange(PRIME)) for _ in range(4)]
    return found


def of_type(dtype: DType) -> Callable[[Random], dict[str, Any]]:
    kind = NUMPY_DTYPES[dtype]
    info = np.iinfo(kind)
    return lambda random: {
        name: np.array([random.randrange(int(info.min), int(info.max) + 1) for _ in range(4)], kind) for name in "xyz"
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", WHOLE + FLOATS)
def test_what_is_one_term_is_one_number(dtype: DType) -> None:
    """Random expressions, and what the laws make of them, agree wherever their terms do: whole numbers in their type,
    which wraps, floats as residues modulo a prime."""
    random = Random(dtype.value)
    same = 0
    for _ in range(60):
        if dtype.is_float:
            operators, numbers = ["+", "+", "-", "*", "neg", "/"], [0, 1, -1, 2, 0.5, 0.1, 3]
            algebra, atoms = Residues(), residues(random)
        else:
            operators = ["+", "+", "-", "*", "neg", "^", "^", "&", "|", "~"]
            numbers = [0, 1, -1, 2, 3, 2**31, -(2**31)] if dtype is not DType.U32 else [0, 1, 2, 2**32 - 1, 2**31]
            algebra, atoms = Numbers(), of_type(dtype)(random)
        terms = Terms()
        known: dict[int, Any] = {}
        first = random_expression(random, operators, numbers, 4)
        variants = [first, rewritten(random, first), random_expression(random, operators[:5], numbers[:4], 2)]
        variants += [rewritten(random, variants[1]), ("-", first, variants[1]), ("+", first, first), ("const", 0)]
        with np.errstate(all="ignore"):
            for e in variants:
                value = evaluated(algebra, e, atoms, dtype)
                term = canonical(terms, e, dtype)
                if term in known:
                    same += 1
                    assert list(known[term]) == list(value), (e, terms.show(term))
                known[term] = value
    assert same > 100


@pytest.mark.parametrize("seed", range(40))
def test_equal_linear_forms_are_one_term(seed: int) -> None:
    """Sums, differences and multiples of sums come to the same term as their coefficients written out."""
    random = Random(seed)
    terms = Terms()
    x = [terms.atom("x", i) for i in range(4)]

    def form(depth: int) -> tuple[int, list[int]]:
        if depth == 0:
            i = random.randrange(4)
            return x[i], [int(i == j) for j in range(4)]
        (a, m), (b, n) = form(depth - 1), form(depth - 1)
        k = random.choice([-2, -1, 1, 2, 3])
        total = terms.apply("+", (terms.times(k, a), b)) if random.random() < 0.5 else None
        if total is not None:
            return total, [k * p + q for p, q in zip(m, n, strict=True)]
        return terms.times(k, terms.apply("+", (a, b))), [k * (p + q) for p, q in zip(m, n, strict=True)]

    found, numbers = form(4)
    wanted = [terms.times(n, t) for n, t in zip(numbers, x, strict=True) if n]
    assert found == terms.apply("+", wanted)


@pytest.mark.parametrize("op", sorted(LAWS))
def test_rows_are_laws(op: str) -> None:
    """A row's identity, absorber and inverse are those of its fold, and NumPy computes the same."""
    law = LAWS[op]
    for a in (0, 1, -1, 6, 13):
        if law.identity is not None:
            assert law.fold(a, law.identity) == a
        if law.absorber is not None:
            assert law.fold(a, law.absorber) == law.absorber
        for b in (1, 2, -3, 6):
            assert law.fold(a, b) == law.fold(b, a) == int(getattr(np, law.numpy)(np.int64(a), np.int64(b)))
            if law.inverse is not None:
                assert law.inverse(law.fold(a, b), b) == a
            assert (law.fold(a, a) == a) or law.order != "set"
    for dtype in (DType.I32, DType.U64, DType.F32):
        if law.takes(dtype):
            assert law.fold(NUMPY_DTYPES[dtype](5), NUMPY_DTYPES[dtype](law.start(dtype))) == 5
