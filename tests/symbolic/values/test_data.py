"""Data asked backward: a value is a term of the specification exactly where brute force says so."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.algebra.tally import Unwritten
from symbolic.algebra.terms import Terms
from symbolic.errors import Place, SwizzleError
from symbolic.machine.accumulators import Reduced
from symbolic.machine.contributions import Entry
from symbolic.values.data import DataVector, equals, is_natural
from symbolic.values.guard import FALSE, TRUE, Guard, Guards
from symbolic.values.mapped import Mapped
from symbolic.values.moved import Selected
from symbolic.values.union import Union
from symbolic.values.vector import Deferred, Encoding, boolean_union
from tests.symbolic.assignments import assignments

HERE = Place("test", 1, 1)
ON = np.array([True])


def new_encoding() -> Encoding:
    return Encoding(Guards(), Terms(), lambda hole, point: Union.single(0))


def lanes(term: int) -> np.ndarray[Any, Any]:
    return np.array([term])


def choice(guard: Guard) -> Deferred:
    """Return a BOOL vector that is a guard."""
    return Deferred(lambda encoding, t: boolean_union(guard), lambda t: frozenset((False, True)))


def two_way(guards: Guards, a: int, b: int) -> tuple[DataVector, list[Guard]]:
    """Return a value that is one of two terms, and the guard that decides."""
    if a == b:
        return lanes(a), []
    g = guards.fresh()
    return Selected(choice(g), lanes(a), lanes(b)), [g]


ORDERS = [
    ("+", "*"),
    ("+", None),
    ("min", "+"),
    ("^", "&"),
    ("^", None),
    ("max", None),
    ("*", "+"),
    ("+", "^"),
    ("&", "^"),
]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_random_accumulators_agree_with_brute_force(data: st.DataObject) -> None:
    """The requirement holds in just those assignments in which the reduction is the wanted term."""
    outer, inner = data.draw(st.sampled_from(ORDERS))
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    pool = [terms.atom("x", i) for i in range(3)]
    if outer == "+":
        pool.append(terms.const(0))
    if inner is None and outer == "+":
        pool.append(terms.apply("+", pool[:2]))
        pool += [terms.times(-1, pool[0]), terms.times(2, pool[1])]
    inputs: list[Guard] = []
    entries: list[tuple[Guard, list[tuple[int, int, Guard]]]] = []
    built = []
    for _ in range(data.draw(st.integers(1, 4 if outer == "^" else 3))):
        active = TRUE
        if data.draw(st.booleans()):
            active = guards.fresh()
            inputs.append(active)
        operands, plain = [], []
        for _ in range(1 if inner is None else data.draw(st.integers(2, 3))):
            a, b = data.draw(st.sampled_from(pool)), data.draw(st.sampled_from(pool))
            operand, free = two_way(guards, a, b)
            operands.append(operand)
            inputs += free
            plain.append((a, b, free[0] if free else TRUE))
        built.append(Entry(ON if active == TRUE else choice(active), tuple(operands)))
        entries.append((active, plain))

    def some(of: list[tuple[int, int, Guard]]) -> int:
        drawn = [data.draw(st.sampled_from(pool)) for _ in of]
        return terms.apply(inner, drawn) if inner else drawn[0]

    wanted = terms.apply(outer, [some(plain) for _, plain in entries[: data.draw(st.integers(1, len(entries)))]])
    when = guards.fresh()
    try:
        Reduced(terms, outer, inner, built, None, HERE).require(encoding, 0, wanted, (-when,))
    except SwizzleError as refused:  # numbers among contributions that holes decide
        assert "constant" in refused.found
        return
    assert not encoding.narrowed
    free_inputs = inputs[:9]
    for values, holds in assignments(guards, [when, *free_inputs]):
        if not values[0]:
            assert holds is not None
            continue
        truth = dict(zip(free_inputs, values[1:], strict=True)) | {TRUE: True}
        if any(g not in truth for g in inputs):
            continue
        items = []
        for active, plain in entries:
            if truth[active]:
                chosen = [a if truth[g] else b for a, b, g in plain]
                items.append(terms.apply(inner, chosen) if inner else chosen[0])
        equal = not (not items and outer in ("min", "max")) and terms.apply(outer, items) == wanted
        assert (holds is not None) == equal


def test_a_definite_constant_counts() -> None:
    """An initial value that is a number must be in the specification too."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    x, five = terms.atom("x", 0), terms.const(5)
    g = guards.fresh()
    Reduced(terms, "+", None, [Entry(choice(g), (lanes(x),))], five, HERE).require(
        encoding, 0, terms.apply("+", (x, five))
    )
    assert [holds is not None for _, holds in assignments(guards, [g])] == [False, True]


def test_natural_terms() -> None:
    """Sums without a negative coefficient or number, or a fraction; 0 is one."""
    terms = Terms()
    x, y = (terms.atom("x", i) for i in range(2))
    for natural in (terms.const(0), x, terms.apply("+", (terms.times(2, x), y, terms.const(3)))):
        assert is_natural(terms, natural)
    for other in (terms.const(-1), terms.times(-2, x), terms.apply("+", (terms.times(2, x), terms.times(-1, y)))):
        assert not is_natural(terms, other)


def test_few_values_of_a_reduction_are_enumerated() -> None:
    """With an initial value, entries that may be missing, and products."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    x = [terms.atom("x", i) for i in range(3)]
    either, _ = two_way(guards, x[0], x[1])
    entries = [Entry(choice(guards.fresh()), (either, lanes(x[2]))), Entry(ON, (lanes(x[2]), lanes(x[2])))]
    square = terms.apply("*", (x[2], x[2]))
    some = [[square], *([terms.apply("*", (each, x[2])), square] for each in x[:2])]
    assert Reduced(terms, "+", "*", entries, x[0], HERE).possible(0) == {terms.apply("+", (x[0], *s)) for s in some}


def test_a_minimum_of_nothing_was_never_written() -> None:
    """A sum of nothing is 0."""
    for outer, missing in (("min", [True, False]), ("+", [False, False])):
        encoding = new_encoding()
        guards, terms = encoding.guards, encoding.terms
        g = guards.fresh()
        reduced = Reduced(terms, outer, None, [Entry(choice(g), (lanes(terms.atom("x", 0)),))], None, HERE)
        asked = reduced.held(encoding, 0, Unwritten()).get(1, FALSE)
        assert [holds is not None and holds(asked) for _, holds in assignments(guards, [g])] == missing


def test_nested_reductions_match_as_wholes() -> None:
    """A minimum of sums equals the specification's minimum of the same sums, in any order."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    x = [terms.atom("x", i) for i in range(4)]
    g = guards.fresh()
    either = Selected(choice(g), lanes(x[0]), lanes(x[2]))
    first = Reduced(terms, "+", None, [Entry(ON, (either,)), Entry(ON, (lanes(x[1]),))], None, HERE)
    second = Reduced(terms, "+", None, [Entry(ON, (lanes(x[2]),)), Entry(ON, (lanes(x[3]),))], None, HERE)
    wanted = terms.apply("min", (terms.apply("+", x[2:]), terms.apply("+", x[:2])))
    Reduced(terms, "min", None, [Entry(ON, (first,)), Entry(ON, (second,))], None, HERE).require(encoding, 0, wanted)
    assert [holds is not None for _, holds in assignments(guards, [g])] == [False, True]


def test_arithmetic_is_asked_by_enumeration() -> None:
    """A sum of two open values is a term just where its operands are the term's parts."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    x = [terms.atom("x", i) for i in range(3)]
    a, (g,) = two_way(guards, x[0], x[1])
    b, (h,) = two_way(guards, x[1], x[2])
    total = Mapped(terms, "+", (a, b), HERE)
    asked = equals(total, encoding, 0, terms.apply("+", (x[1], x[2])))
    found = {values: holds(asked) for values, holds in assignments(guards, [g, h]) if holds}
    assert found == {(g_, h_): (not g_ and not h_) for g_ in (False, True) for h_ in (False, True)}
    assert total.possible(0) == {terms.apply("+", (p, q)) for p in x[:2] for q in x[1:]}
