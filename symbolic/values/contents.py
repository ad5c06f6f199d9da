"""Reductions with more possible values than can be listed: is one equal to a given term, and what does it hold?

The questions are asked item by item (`symbolic.algebra.tally`), and so are exact, for each is.
"""

from __future__ import annotations

from symbolic.algebra.orders import accumulation
from symbolic.algebra.tally import Constant, Held, Others, Size, Tally
from symbolic.algebra.terms import UNWRITTEN, Term
from symbolic.values.data import SCALED, Data, brings, held, is_term, kinds, natural
from symbolic.values.guard import FALSE, Guard
from symbolic.values.vector import Encoding

OTHERS_LIMIT = 64  # items of which it is asked one by one whether they cancel


def is_reduction(value: Data, op: str, encoding: Encoding, t: int, term: Term) -> Guard:
    """Return the guard that what an operator makes of other values is a term: each item as often, and no other.

    Others may come in and be taken off again. Where those are too many to be asked one by one, such fillings are left
    out, and the encoding is narrowed.
    """
    guards, terms = encoding.guards, encoding.terms
    order, plain = accumulation(terms, op), natural(terms, value, t)
    constant = Constant(op)
    found = constant.says(guards, held(value, encoding, t, constant), order.number(order.items(term)))
    if order.absorbs(term) or found == FALSE:
        return found
    size = Size(op, 0, at_least=True, by_coefficients=False)
    most, wanted = value.sizes(terms, t, size)[1], size.of(terms, term)
    if most < wanted:
        return FALSE
    for question, answer in order.questions(term).items():
        tally = order.tally(question, (answer,), plain, single=most == wanted)  # no item may come twice, or cancel
        found = guards.both(found, tally.says(guards, held(value, encoding, t, tally), answer))
        if found == FALSE:
            return FALSE
        if (open_for_few := guards.left_open(found)) is not None:
            return open_for_few
    items = frozenset(item for item in order.items(term) if not terms.is_number(item, op))
    signed = encoding.signed and order.law.order == "linear" and not plain
    taken_off = [terms.times(-1, item) for item in items] if signed else []
    others = held(value, encoding, t, Others(op, items.union(taken_off)))
    if not others or not order.may_cancel(plain) or most <= wanted + 1:  # what cancels comes in twice
        return guards.both(found, -others.get(1, FALSE))
    brought = brings(terms, value, op, t)
    if brought is None or UNWRITTEN in brought or len(brought) > OTHERS_LIMIT:
        encoding.narrowed = True
        return guards.both(found, -others.get(1, FALSE))
    for item in sorted(brought - items):
        if not terms.is_number(item, op):
            tally = order.tally(item, (0,), plain)
            found = guards.both(found, tally.says(guards, held(value, encoding, t, tally), 0))
    return found


def held_whole(value: Data, encoding: Encoding, t: int, tally: Tally) -> Held:
    """Return what a value holds that is one item of `tally.op`, made by another operator.

    Where it may be something else, such as a multiple of an item, that is left out, and the encoding is narrowed. An
    item that is taken off is looked at in a `signed` encoding only.
    """
    terms, some = encoding.terms, kinds(encoding.terms, value, t)
    assert tally.op is not None
    encoding.narrowed |= some is None or bool(some & {tally.op, "const", SCALED})

    def is_it(item: Term, number: int = 1) -> Guard:
        if number != 1 and not encoding.signed:
            encoding.unsigned = True
            return FALSE
        return is_term(value, encoding, t, terms.times(number, item))

    return tally.whole(encoding.guards, is_it)
