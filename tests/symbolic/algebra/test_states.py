"""States in a table of terms: made of words, taken apart, and the same again of all their words in their places."""

from __future__ import annotations

from symbolic.algebra.states import packing, state_operator, word_of
from symbolic.algebra.terms import Terms
from symbolic.ir.functions import FUNCTIONS
from symbolic.ir.program import DType

OPERATOR = state_operator("best", "sequence", [FUNCTIONS["exp"].name] * 2, [DType.I32] * 2, ["sum", "most"])


def test_words_of_a_state() -> None:
    """A state of words has these words; the words of one in their places are it, in other places another state."""
    terms = Terms()
    x, y, whole = (terms.intern("atom", (name, 0)) for name in "xys")
    made = terms.apply(packing(OPERATOR), [x, y])
    words = [word_of(OPERATOR, place) for place in range(2)]
    assert [terms.apply(word, [made]) for word in words] == [x, y]
    taken = [terms.apply(word, [whole]) for word in words]
    assert terms.apply(packing(OPERATOR), taken) == whole != terms.apply(packing(OPERATOR), taken[::-1])
    assert terms.apply(packing(OPERATOR), [taken[0], y]) != whole
    exponential = terms.apply(FUNCTIONS["exp"].name, [x])
    assert terms.apply(words[0], [exponential]) not in (x, exponential)
    assert [terms.show(each) for each in (taken[1], made)] == ["s[0].most", "best.state(x[0], y[0])"]
