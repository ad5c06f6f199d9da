"""Accumulators under guards equal a specification's term exactly where brute force says so."""

from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.accumulator import Entry, Multiset, require_equal
from symbolic.guard import TRUE, Guard, Guards
from symbolic.terms import Terms
from symbolic.union import Union
from symbolic.vector import Encoding
from tests.symbolic.assignments import assignments


def new_encoding() -> Encoding:
    return Encoding(Guards(), Terms(), lambda hole, point: Union.single(0))


def two_way(guards: Guards, a: int, b: int) -> tuple[Union, list[Guard]]:
    if a == b:
        return Union.single(a), []
    g = guards.fresh()
    return Union({a: g, b: -g}), [g]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_accumulators_agree_with_brute_force(data: st.DataObject) -> None:
    """The requirement holds in just those assignments in which the reduction is the wanted term."""
    outer, inner = data.draw(st.sampled_from([("+", "*"), ("+", None), ("min", "+"), ("^", "&"), ("max", None)]))
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    pool = [terms.atom("x", i) for i in range(3)]
    if outer == "+":
        pool.append(terms.const(0))
    if inner is None and outer == "+":
        pool.append(terms.apply("+", pool[:2]))
    inputs: list[Guard] = []
    entries = []
    for _ in range(data.draw(st.integers(1, 3))):
        active = TRUE
        if data.draw(st.booleans()):
            active = guards.fresh()
            inputs.append(active)
        operands = []
        for _ in range(1 if inner is None else data.draw(st.integers(1, 3))):
            union, free = two_way(guards, data.draw(st.sampled_from(pool)), data.draw(st.sampled_from(pool)))
            operands.append(union)
            inputs += free
        entries.append(Entry(active, tuple(operands), inner))
    wanted = terms.apply(
        outer,
        [
            terms.apply(inner, [data.draw(st.sampled_from(pool)) for _ in range(len(entry.operands))])
            if inner
            else data.draw(st.sampled_from(pool))
            for entry in entries[: data.draw(st.integers(1, len(entries)))]
        ],
    )
    inputs = inputs[:9]
    when = guards.fresh()
    require_equal(encoding, Multiset(outer, tuple(entries), None), wanted, when)
    for values, holds in assignments(guards, [when, *inputs]):
        if not values[0]:
            assert holds is not None
            continue
        truth = dict(zip(inputs, values[1:], strict=True))

        def on(g: Guard, truth: dict[Guard, bool] = truth) -> bool | None:
            if g == TRUE:
                return True
            known = truth.get(abs(g))
            return None if known is None else known == (g > 0)

        if any(on(g) is None for e in entries for g in (e.active, *(g for o in e.operands for g in o.values.values()))):
            continue
        items = []
        for entry in entries:
            if on(entry.active):
                chosen = [next(t for t, g in o.values.items() if on(g)) for o in entry.operands]
                items.append(terms.apply(inner, chosen) if inner else chosen[0])
        empty = not items and outer in ("min", "max")
        equal = not empty and terms.apply(outer, items) == wanted
        assert (holds is not None) == equal


def test_a_definite_constant_counts() -> None:
    """An initial value that is a number must be in the specification too."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    x, five = terms.atom("x", 0), terms.const(5)
    g = guards.fresh()
    start, entry = Entry(TRUE, (Union.single(five),), None), Entry(g, (Union.single(x),), None)
    require_equal(encoding, Multiset("+", (start, entry), None), terms.apply("+", (x, five)))
    assert [holds is not None for _, holds in assignments(guards, [g])] == [False, True]


def test_nested_reductions_match_as_wholes() -> None:
    """A minimum of sums equals the specification's minimum of the same sums, in any order."""
    encoding = new_encoding()
    guards, terms = encoding.guards, encoding.terms
    x = [terms.atom("x", i) for i in range(4)]
    g = guards.fresh()
    first = Multiset("+", (Entry(TRUE, (Union({x[0]: g, x[2]: -g}),), None), Entry(TRUE, (Union.single(x[1]),), None)), None)
    second = Multiset("+", (Entry(TRUE, (Union.single(x[2]),), None), Entry(TRUE, (Union.single(x[3]),), None)), None)
    wanted = terms.apply("min", (terms.apply("+", x[2:]), terms.apply("+", x[:2])))
    require_equal(encoding, Multiset("min", (Entry(TRUE, (first,), None), Entry(TRUE, (second,), None)), None), wanted)
    assert [holds is not None for _, holds in assignments(guards, [g])] == [False, True]
