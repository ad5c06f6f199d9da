"""Words: what is asked of them tells them apart, and the answers of two parts make up that of the whole.

Undoing an operator finds the operand that was there, and nothing that gives another result.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbolic.algebra.operator_laws import LAWS, Law
from symbolic.algebra.orders import Ordered, Pair, Projection, undo
from symbolic.algebra.tally import FALSE, TRUE
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.values.guard import Guards

THEN = Law("then", lambda a, b: a, "sequence", identity=1, absorber=0, infix=False, own=True).name


def words(terms: Terms, letters: str, most: int) -> dict[str, int]:
    """Return the term of every word of so many letters at most."""
    atoms = {letter: terms.atom("x", number) for number, letter in enumerate(letters)}
    return {
        "".join(word): terms.apply(THEN, [atoms[letter] for letter in word])
        for length in range(1, most + 1)
        for word in itertools.product(letters, repeat=length)
    }


def test_a_term_is_its_word() -> None:
    """Grouping makes no difference, order does; identities go, and what absorbs leaves nothing else."""
    terms = Terms()
    a, b, c, one = *(terms.atom("x", i) for i in range(3)), terms.const(1)
    whole = terms.apply(THEN, (a, b, c))
    assert (
        whole
        == terms.apply(THEN, (terms.apply(THEN, (a, one, b)), c))
        == terms.apply(THEN, (a, terms.apply(THEN, (b, c))))
    )
    assert whole != terms.apply(THEN, (b, a, c))
    assert terms.apply(THEN, (a, terms.const(0), b)) == terms.const(0)
    assert terms.show(terms.apply(THEN, (b, a))) == "then(x[1], x[0])"
    assert len(set(words(terms, "abc", 4).values())) == 3 + 9 + 27 + 81


def test_questions_tell_all_words_apart() -> None:
    """A word that answers every question of another one rightly, and has its letters only, is that word."""
    terms = Terms()
    order, some = Ordered(terms, THEN), words(terms, "abc", 4)
    for (first, a), (second, b) in itertools.product(some.items(), repeat=2):
        right = all(order.answer(question, b) == answer for question, answer in order.questions(a).items())
        assert (right and set(second) <= set(first)) == (first == second)
        assert (order.different(b, a) == []) == (first == second)


def test_parts_make_up_the_whole() -> None:
    """Of every word behind another one, each tally says of every answer whether it is the right one."""
    terms, guards = Terms(), Guards()
    some = words(terms, "abc", 3)
    a, b = some["a"], some["b"]
    answers = ((), (a,), (b,), (a, b))
    tallies = (
        Pair(THEN, a, b),
        Projection(THEN, (a, b), frozenset(answers)),
        Projection(THEN, (a, b), frozenset(((a, b, a),))),
    )
    held = {(tally, word): tally.of(terms, term) for tally in tallies for word, term in some.items()}
    for tally, left, right in itertools.product(tallies, some, some):
        joined = tally.joined(guards, held[tally, left], held[tally, right])
        found = tuple(some[letter] for letter in left + right if letter != "c")
        for answer in answers if tally is not tallies[2] else ((a, b, a),):
            assert tally.says(guards, joined, answer) == (TRUE if found == answer else FALSE), (tally, left, right)


def test_the_tally_of_a_question_fits_its_answers() -> None:
    """Two letters that are there once each are a pair; letters that come again are a projection."""
    terms = Terms()
    order, some = Ordered(terms, THEN), words(terms, "abc", 4)
    for word, term in some.items():
        for question, answer in order.questions(term).items():
            once = len(question) == len(answer) == len(set(question)) == 2
            assert isinstance(order.tally(question, (answer,), natural=True), Pair if once else Projection), word


@pytest.mark.parametrize("right", [False, True])
def test_what_is_known_is_taken_off_its_own_end(right: bool) -> None:
    """The operand that is looked for is what is left of the wanted word, on its side; none where nothing is."""
    terms = Terms()
    order, some = Ordered(terms, THEN), words(terms, "ab", 3)
    of_term = {term: word for word, term in some.items()} | {terms.const(1): ""}
    for (wanted, whole), (known, part) in itertools.product(some.items(), repeat=2):
        found = order.take_off(whole, part, right)
        assert found is not None
        ways = [word for word in of_term.values() if (known + word if right else word + known) == wanted]
        assert [of_term[term] for term in found] == ways


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
