"""Laws that are in no table: terms, their undoing, residues and numbers read the row that a name carries."""

from __future__ import annotations

import itertools
import math
import operator
import random
from functools import reduce
from typing import Any

import numpy as np
import pytest

from symbolic.algebra.counterexample import counterexample
from symbolic.algebra.numbers import Numbers
from symbolic.algebra.operator_laws import Law, find_law, law_of
from symbolic.algebra.orders import undo
from symbolic.algebra.residues import Residue
from symbolic.algebra.terms import Terms
from symbolic.ir.program import DType, OperatorName

GCD = Law("gcd", math.gcd, "set", "gcd", identity=0, absorber=1, infix=False, own=True)
PRODUCT = Law("mulmod", lambda a, b: a * b % 97, "bag", identity=1, absorber=0, infix=False, own=True)
NIM = Law("nim", operator.xor, "parity", identity=0, infix=False, own=True)
PLAIN = Law("both", lambda a, b: a + b + 1, "bag", infix=False, own=True)
LAWS = (GCD, PRODUCT, NIM, PLAIN)


def random_tree(rng: random.Random, terms: Terms, law: Law, depth: int) -> tuple[int, list[int | str]]:
    """Return a term and its leaves: numbers, and names of elements."""
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.3:
            number = rng.choice([0, 1, 6, 10])
            return terms.const(number), [number]
        index = rng.randrange(3)
        return terms.atom("x", index), [f"x{index}"]
    (a, left), (b, right) = (random_tree(rng, terms, law, depth - 1) for _ in range(2))
    return terms.apply(law.name, (a, b)), left + right


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.symbol)
def test_equal_terms_are_equal_numbers(law: Law) -> None:
    """What is one term folds to one number on any data; reordered and regrouped leaves are one term."""
    rng, terms = random.Random(1), Terms()
    met: dict[int, list[list[int | str]]] = {}
    for _ in range(600):
        term, leaves = random_tree(rng, terms, law, 3)
        met.setdefault(term, []).append(leaves)
        shuffled = [terms.const(leaf) if isinstance(leaf, int) else terms.atom("x", int(leaf[1])) for leaf in leaves]
        rng.shuffle(shuffled)
        assert reduce(lambda a, b: terms.apply(law.name, (a, b)), shuffled) == term
    assert any(len(some) > 5 for some in met.values())
    for some in met.values():
        for values in ([2, 3, 5], [12, 18, 30], [0, 96, 1]):
            numbers = {reduce(law.fold, [v if isinstance(v, int) else values[int(v[1])] for v in e]) for e in some}
            assert len(numbers) == 1


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.symbol)
def test_undo_finds_every_operand(law: Law) -> None:
    """Of all small terms, those that give the wanted one with a known one are found; a set leaves out numbers."""
    terms = Terms()
    leaves = [terms.const(0), terms.const(1), terms.const(6), *(terms.atom("x", i) for i in range(3))]
    some = {*leaves, *(terms.apply(law.name, pair) for pair in itertools.product(leaves, repeat=2))}
    for known, wanted in itertools.product(some, repeat=2):
        found = undo(terms, law.name, known, False, wanted)
        right = {t for t in some if terms.apply(law.name, (t, known)) == wanted}
        if law.order == "set":
            right = {t for t in right if not terms.is_const(t) and terms.nodes[t][0] != law.name}
            assert found is None or right <= set(found)
        elif found is not None:
            assert right <= set(found)
            assert all(terms.apply(law.name, (t, known)) == wanted for t in found)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.symbol)
def test_residues_keep_the_law(law: Law) -> None:
    """Floats are tried on numbers modulo a prime, where an operator has its order, its identity and its absorber."""
    rng = random.Random(2)
    some = [Residue(0), Residue(1), Residue(6), *(Residue(rng.randrange(1 << 60)) for _ in range(4))]

    def apply(a: Residue, b: Residue) -> Residue:
        return a.reduce_with(law.name, b)

    for a, b, c in itertools.product(some, repeat=3):
        assert apply(a, b) == apply(b, a)
        assert apply(a, apply(b, c)) == apply(apply(a, b), c)
    for a in some:
        assert law.identity is None or apply(a, Residue.of(law.identity)) == a
        assert law.absorber is None or apply(a, Residue.of(law.absorber)) == Residue.of(law.absorber)
        assert law.order != "set" or apply(a, a) == a
        assert law.order != "parity" or apply(a, a) == Residue.of(law.identity)
    assert len({apply(a, b) for a, b in itertools.combinations(some[3:], 2)}) > 1


def test_numbers_fold_where_numpy_has_no_function() -> None:
    """A named function of NumPy's, a function on arrays, or the fold number by number."""
    numbers, a, b = Numbers(), np.array([12, 18, 5], np.uint32), np.array([18, 12, 0], np.uint32)
    by_fold = Law("other", math.gcd, "set", identity=0, infix=False, own=True)
    by_function = Law("third", math.gcd, "set", lambda x, y: np.gcd(x, y), identity=0, infix=False, own=True)
    for law in (GCD, by_fold, by_function):
        found = numbers.binary(law.name, a, b, DType.U32)
        assert found.dtype == np.uint32 and found.tolist() == [6, 6, 5]


def test_one_name_may_be_two_operators() -> None:
    """A name carries its law: terms of two laws are not confused, and a plain text is neither."""
    other = Law("gcd", math.gcd, "bag", identity=0, infix=False, own=True)
    terms = Terms()
    x = terms.atom("x", 0)
    assert GCD.name == GCD.name != other.name != "gcd"
    assert law_of(other.name) is other and find_law("gcd") is None and isinstance(GCD.name, OperatorName)
    assert terms.apply(GCD.name, (x, x)) == x != terms.apply(other.name, (x, x))
    assert terms.show(terms.apply(other.name, (terms.atom("x", 0), terms.const(6)))) == "gcd(6, x[0])"


def test_what_holds_is_not_refuted() -> None:
    """Of floats up to their rounding, of whole numbers as long as they stay in their type."""
    floats = frozenset(dtype for dtype in DType if dtype.is_float)
    whole = frozenset((DType.I32, DType.U32, DType.I64, DType.U64))
    options: dict[str, Any] = {"identity": 0, "infix": False, "own": True}
    assert counterexample(Law("total", operator.add, "bag", types=floats, **options)) == ""
    assert counterexample(Law("any", operator.or_, "set", types=whole, **options)) == ""
    assert "which is no i32" in counterexample(Law("total", operator.add, "bag", types=whole, **options))
    assert "not associative" in counterexample(Law("mean", lambda a, b: (a + b) / 2, "bag", types=floats, own=True))
