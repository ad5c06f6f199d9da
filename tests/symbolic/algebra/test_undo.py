"""Undoing an operator finds the operand that was there, and nothing that gives another result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbolic.algebra.operator_laws import LAWS
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.algebra.undo import undo

OPERATORS = ["+", "*", "^", "min", "max", "&", "|", "/", "//", "%", "<<", ">>"]


def pool(terms: Terms) -> list[Term]:
    x = [terms.atom("x", i) for i in range(3)]
    numbers = [terms.const(n) for n in (0, 1, -1, 2, 6)]
    return [*x, *numbers, terms.apply("+", x[:2]), terms.apply("*", (numbers[3], x[0])), terms.apply("max", x[1:])]


@given(st.sampled_from(OPERATORS), st.booleans(), st.integers(0, 10), st.integers(0, 10))
def test_a_known_operand_is_taken_off(op: str, right: bool, first: int, second: int) -> None:
    """What is found gives the result back, and the operand that was applied is among it where that is promised."""
    terms = Terms()
    known, operand = pool(terms)[first], pool(terms)[second]
    wanted = terms.apply(op, (known, operand) if right else (operand, known))
    found = undo(terms, op, known, right, wanted)
    if found is None:
        assert wanted == known, "only a result that any operand gives has too many"
        return
    assert all(terms.apply(op, (known, f) if right else (f, known)) == wanted for f in found)
    own = op in LAWS and LAWS[op].idempotent and (terms.is_const(operand) or terms.nodes[operand][0] == op)
    assert operand in found or own


@pytest.mark.parametrize("op", ["~", "abs", "to_f32"])
def test_unary_operators_are_undone(op: str) -> None:
    """A unary operator's operand is found, and none where another operator made the result."""
    terms = Terms()
    x = terms.apply("+", (terms.atom("x", 0), terms.atom("x", 1)))
    made = terms.apply(op, (x,))
    assert undo(terms, op, None, False, made) == ((x, made) if op == "to_f32" else (x,))  # rounding twice is once
    assert undo(terms, op, None, False, x) == ()


def test_nothing_gives_what_cannot_be() -> None:
    """No operand turns a known one into an unrelated result."""
    terms = Terms()
    x, y, z = (terms.atom("x", i) for i in range(3))
    assert undo(terms, "*", x, False, terms.apply("*", (y, z))) == ()
    assert undo(terms, "min", x, False, y) == ()
    assert undo(terms, "*", terms.const(0), False, x) == ()
    assert undo(terms, "/", x, True, terms.apply("/", (y, z))) == ()
    assert undo(terms, "+", UNWRITTEN, False, x) == ()
