"""Canonical terms: equal as reductions are equal, different where the paper's form is incomplete."""

import operator
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbolic.algebra.canonical import Canonical, apply_pairs
from symbolic.algebra.datum import Datum, SymbolicArray
from symbolic.algebra.terms import UNWRITTEN, Terms
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType


@given(st.permutations(range(4)), st.sampled_from(["+", "*", "min", "max", "^", "&", "|"]), st.randoms())
def test_order_and_grouping_do_not_matter(order: list[int], op: str, rng: random.Random) -> None:
    """A reduction is one term however it is grouped and ordered."""
    terms = Terms()
    atoms = [terms.atom("x", i) for i in range(4)]
    straight = terms.apply(op, atoms)
    parts = [atoms[i] for i in order]
    while len(parts) > 1:
        i = rng.randrange(len(parts) - 1)
        parts[i : i + 2] = [terms.apply(op, parts[i : i + 2])]
    assert parts[0] == straight


def test_multiplicity_counts_for_sums_and_not_for_minima() -> None:
    """x + x is 2 * x and not x; min(x, x) is x."""
    terms = Terms()
    x = terms.atom("x", 0)
    assert terms.apply("+", (x, x)) == terms.apply("*", (x, terms.const(2))) != x
    assert terms.apply("min", (x, x)) == x and terms.apply("|", (x, x)) == x


def test_two_of_a_kind_cancel_in_a_parity() -> None:
    """x ^ x is 0, x ^ y ^ x is y, however it is grouped; what was never written cancels with nothing."""
    terms = Terms()
    x, y, z = (terms.atom("x", i) for i in range(3))
    xor = lambda *args: terms.apply("^", args)  # noqa: E731
    assert xor(x, x) == terms.const(0) and xor(x, y, x) == y
    assert xor(xor(x, y), xor(y, z)) == xor(x, z)
    assert xor(x, terms.const(5), x, terms.const(5), y) == y
    assert xor(UNWRITTEN, UNWRITTEN) == UNWRITTEN


def test_identities_and_annihilators_fold() -> None:
    """0 and 1 vanish where they do nothing, 0 swallows a product, constants meet."""
    terms = Terms()
    x, zero, one = terms.atom("x", 0), terms.const(0), terms.const(1)
    assert terms.apply("+", (x, zero)) == x and terms.apply("*", (x, one)) == x
    assert terms.apply("*", (x, zero)) == zero
    assert terms.apply("+", (terms.const(2), terms.const(3))) == terms.const(5)
    assert terms.apply("+", (zero, zero)) == zero


def test_the_form_is_incomplete_where_the_paper_says_so() -> None:
    """Distribution is not known: a * (b + c) stays different from a * b + a * c (section 4.1)."""
    terms = Terms()
    a, b, c = (Datum(terms, terms.atom("x", i)) for i in range(3))
    assert (a * (b + c)).term != (a * b + a * c).term
    assert (a - b).term == (-b + a).term


def test_unwritten_is_contagious() -> None:
    """Whatever is computed from an unwritten cell equals no value of a specification."""
    terms = Terms()
    assert terms.apply("+", (terms.atom("x", 0), UNWRITTEN)) == UNWRITTEN


def test_arrays_index_like_numpy() -> None:
    """Rows, tuples, slices and negative indices; out of bounds raises IndexError."""
    terms = Terms()
    x = SymbolicArray(terms, "x", (2, 3))
    assert len(x) == 2 and x.shape == (2, 3)
    assert x[1, 2].term == x[1][2].term == x[-1, -1].term == terms.atom("x", 5)
    assert [d.term for d in x[0][1:]] == [terms.atom("x", 1), terms.atom("x", 2)]
    with pytest.raises(IndexError, match="index 2 is out of bounds for x with size 2"):
        x[2]


@pytest.mark.parametrize(
    "use",
    [
        bool,
        int,
        float,
        iter,
        lambda d: bool(d == d),
        lambda d: bool(d < 1),
        lambda d: [1, 2][d],
        lambda d: sum([d], d) and 1,
    ],
)
def test_data_refuses_to_steer(use) -> None:  # type: ignore[no-untyped-def]
    """A specification that branches, compares or indexes on data is told so."""
    terms = Terms()
    with pytest.raises(SwizzleError, match=r"the data value x\[0\]|the data value 2\*x\[0\]"):
        use(Datum(terms, terms.atom("x", 0)))


def test_terms_read_as_python() -> None:
    """Terms show as the expressions a user would write."""
    terms = Terms()
    x, w = SymbolicArray(terms, "x", (4,)), SymbolicArray(terms, "w", (2,))
    shown = terms.show((w[1] * x[2] + w[0] * x[1]).term)
    assert shown == "w[0]*x[1] + w[1]*x[2]"
    assert terms.show(terms.apply("min", (x[0].term, x[1].term))) == "min(x[0], x[1])"


def test_widening_passes_elements_and_not_sums() -> None:
    """A narrow sum wraps, so widening it is an operation; widening what was loaded is none."""
    terms = Terms()
    a, b = terms.atom("x", 0), terms.atom("x", 1)
    assert terms.apply("widen_to_u64", (a,)) == a
    total = terms.apply("+", (a, b))
    assert terms.apply("widen_to_u64", (total,)) != total


FOLD: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "*": operator.mul,
    "^": operator.xor,
    "&": operator.and_,
    "|": operator.or_,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("op", FOLD)
def test_what_vanishes_or_absorbs_does_so_for_all_numbers(op: str) -> None:
    """With a constant, a term is the constant or the variable just where Python's numbers are."""
    terms, numbers = Terms(), range(-8, 9)
    x = terms.atom("x", 0)
    for c in range(-4, 5):
        found, values = terms.apply(op, (x, terms.const(c))), [FOLD[op](v, c) for v in numbers]
        assert (found == x) == (values == list(numbers)), c
        assert terms.is_const(found) == (len(set(values)) == 1), c
        if terms.is_const(found):
            assert terms.nodes[found] == ("const", (values[0],))
        assert terms.apply(op, (terms.const(c), terms.const(3))) == terms.const(FOLD[op](c, 3))
    assert (terms.apply(op, (x, x)) == x) == all(FOLD[op](v, v) == v for v in numbers)


@pytest.mark.parametrize("amount", [0, 2, 31])
def test_a_shift_keeps_the_order_of_its_operands(amount: int) -> None:
    """Data by a number, in either direction."""
    terms = Terms()
    x = Datum(terms, terms.atom("x", 0))
    for found, op in ((x << amount, "<<"), (x >> amount, ">>")):
        assert found.term in (terms.apply(op, (x.term, terms.const(amount))), x.term if amount == 0 else None)


def test_a_node_is_what_its_own_arguments_give() -> None:
    """So what is found in the table need not be made again: in either order where an operator commutes, only then."""
    rng, terms = random.Random(0), Terms()
    pool = [terms.atom("x", i) for i in range(4)] + [terms.const(v) for v in (0, 1, -1, 2, 3)]
    for _ in range(900):
        op = rng.choice(("+", "*", "min", "max", "&", "|", "^", "/", "//", "<<"))
        a, b, *more = rng.choices(pool, k=rng.choice((2, 3)) if op not in ("/", "//", "<<") else 2)
        if not more:
            first = (
                terms.pair(op, a, b) if rng.random() < 0.5 else apply_pairs(terms, op, np.array([a]), np.array([b]))[0]
            )
            assert first == terms.apply(op, (a, b))
        made, fresh = terms.apply(op, (a, b, *more)), Terms()
        copied = fresh.apply(op, [copy(terms, fresh, each) for each in (a, b, *more)])
        assert copied == copy(terms, fresh, made), (op, *map(terms.show, (a, b, *more)))
        if op in ("/", "//", "<<") and a != b and not terms.is_const(b) and not terms.is_const(a):
            assert terms.apply(op, (b, a)) != made
        if len(terms.nodes[made][1]) < 5:
            pool.append(made)


def copy(source: Terms, target: Terms, term: int) -> int:
    """Make a term in a table that has not met it."""
    op, args = source.nodes[term]
    if op == "atom":
        return target.atom(*args)
    return target.const(args[0]) if op == "const" else target.apply(op, [copy(source, target, each) for each in args])


def test_an_index_is_an_int_whatever_was_read_before() -> None:
    """What an array was asked for is kept for ints only."""
    x, y = SymbolicArray(Terms(), "x", (2, 3)), SymbolicArray(Terms(), "y", (4,))
    assert x[1, 2].term == x[1][2].term == x[-1, -1].term and y[1].term == y[-3].term
    for array, key in ((x, (1.0, 2)), (x, (1, 2.0)), (y, 1.0)):
        with pytest.raises(TypeError):
            array[key]
    with pytest.raises(IndexError):
        x[2, 0]
    assert [each.term for each in y[1:3]] == [y[1].term, y[2].term]


def test_a_term_without_end_is_shown_at_once() -> None:
    """Each step of an arg-minimum uses the best so far twice: the term is small, its text doubles, and is cut."""
    terms = Terms()
    x = [Datum(terms, terms.atom("x", i)) for i in range(100)]
    best, other = x[0], x[1]
    for element in x[2:]:
        best, other = best * other + element, best + other * element
    text = terms.show(best.term)
    assert len(text) <= 400 and text.endswith(" ...") and "x[" in text
    assert terms.show(best.term, 80)[:70] == text[:70]
    assert terms.show((x[0] + x[1]).term) == "x[0] + x[1]"


def test_many_rows_are_those_of_one_after_the_other() -> None:
    """Also when they are asked again, in a table that has grown; other rows and other operators are told apart."""
    terms = Terms()
    algebra, rng = Canonical(terms), np.random.default_rng(4)
    lanes = np.array([terms.atom("x", i) for i in range(8)] + [terms.const(v) for v in (0, 1, 2)])
    a, b = (lanes[rng.integers(0, len(lanes), 400)] for _ in range(2))
    for _ in range(2):
        for op in ("+", "*", "max", "/"):
            for left, right in ((a, b), (b, a)):
                one_by_one = [terms.apply(op, (int(p), int(q))) for p, q in zip(left, right, strict=True)]
                assert algebra.binary(op, left, right, DType.F32).tolist() == one_by_one
        for init in (None, 3):
            on = [np.arange(400) % 3 > 0, np.full(400, True)]
            start = [] if init is None else [terms.const(init)]
            sums = algebra.reduce("+", on, [a, b], init, DType.F32)
            items = ([*start, *([int(p)] if first else []), int(q)] for p, q, first in zip(a, b, on[0], strict=True))
            assert sums.tolist() == [terms.apply("+", some) for some in items]
        terms.apply("+", [terms.atom("z", 0), terms.atom("z", 1)])


def test_a_power_of_data_is_a_product() -> None:
    """x**2 is x * x, a sum squared is the product of it with itself; other powers have a way out."""
    terms = Terms()
    x, y = (Datum(terms, terms.atom("x", i)) for i in range(2))
    assert (x**2).term == (x * x).term and (x**1).term == x.term
    assert ((x - y) ** 3).term == ((x - y) * (x - y) * (x - y)).term
    for wrong in (lambda: x**0.5, lambda: x**-1, lambda: x**y, lambda: 2**x, lambda: x**1000):
        with pytest.raises(SwizzleError, match="takes a power") as caught:
            wrong()
        assert "math.sqrt(x)" in caught.value.fix


@pytest.mark.parametrize("divisor", [2, 4, 0.5, -8, 3, 1, 0])
def test_a_division_by_a_power_of_two_is_a_multiplication(divisor: float) -> None:
    """Floats and real numbers agree on it; other divisors round, and 0 is no number's."""
    terms = Terms()
    x, y = terms.atom("x", 0), terms.atom("x", 1)
    whole = terms.apply("+", (x, terms.apply("*", (terms.const(3), y))))
    quotient = terms.apply("/", (whole, terms.const(divisor)))
    if divisor in (3, 1, 0):
        assert terms.nodes[quotient][0] == "/"
    else:
        assert quotient == terms.apply("*", (terms.const(1 / divisor), whole))


def test_a_mean_of_many_stays_a_quotient() -> None:
    """Else `x[0] - mean` would be a multiple of each element, and its square has all products of two."""
    terms = Terms()
    for count in (16, 32):
        total = terms.apply("+", tuple(terms.atoms("x", count)))
        mean = terms.apply("/", (total, terms.const(count)))
        assert terms.nodes[mean][0] != "/" if count == 16 else terms.nodes[mean][0] == "/"
