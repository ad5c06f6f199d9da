"""Words: what is asked of them tells them apart, and the answers of two parts make up that of the whole."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from symbolic.algebra.law import Law
from symbolic.algebra.sequence import Ordered, Pair, Projection
from symbolic.algebra.tally import FALSE, TRUE
from symbolic.algebra.terms import Terms
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


@pytest.mark.parametrize("seed", range(60))
def test_parts_make_up_the_whole(seed: int) -> None:
    """Of a value that is one of two, each chosen by a guard, put behind another one: what is said is what holds."""
    random, terms, guards = Random(seed), Terms(), Guards()
    some = words(terms, "abc", 3)
    order, wanted = Ordered(terms, THEN), random.choice(sorted(some))
    left, right = (random.choice(sorted(some)) for _ in range(2))
    for question, answer in order.questions(some[wanted]).items():
        for tally in (order.tally(question, (answer,), natural=True), Projection(THEN, question, frozenset((answer,)))):
            held = tally.joined(guards, tally.of(terms, some[left]), tally.of(terms, some[right]))
            said = tally.says(guards, held, answer)
            letters = [letter for letter in left + right if some[letter] in question]
            assert said in (TRUE, FALSE)
            assert (said == TRUE) == (tuple(some[letter] for letter in letters) == answer)
    assert all(isinstance(order.tally(q, (q, ()), natural=True), Pair) for q in order.questions(some["abc"]))


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
