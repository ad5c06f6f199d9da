"""Unions: exclusive, exhaustive, and equal to the plain values in every assignment."""

from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.values.guard import Guard, Guards
from symbolic.values.union import Union, combine, merge
from tests.symbolic.assignments import assignments


def some_union(guards: Guards, values: list[int]) -> tuple[Union, list[Guard]]:
    """Return a union over these distinct values and the guards to vary."""
    if len(values) == 1:
        return Union.single(values[0]), []
    chosen = [guards.fresh() for _ in values]
    guards.exactly_one(chosen)
    return Union(dict(zip(values, chosen, strict=True))), chosen


distinct = st.lists(st.integers(-3, 3), min_size=1, max_size=3, unique=True)


@settings(max_examples=40, deadline=None)
@given(distinct, distinct, st.sampled_from(["+", "*", "<", "min"]))
def test_combine_is_the_operator_in_every_assignment(left: list[int], right: list[int], op: str) -> None:
    """The combined union has exactly one value, the operator's."""
    function = {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "<": lambda a, b: a < b, "min": min}[op]
    guards = Guards()
    a, first = some_union(guards, left)
    b, second = some_union(guards, right)
    both = combine(guards, function, a, b)
    for _, holds in assignments(guards, first + second):
        if holds is None:
            continue
        (x,) = [v for v, g in a.values.items() if holds(g)]
        (y,) = [v for v, g in b.values.items() if holds(g)]
        assert [v for v, g in both.values.items() if holds(g)] == [function(x, y)]


@settings(max_examples=30, deadline=None)
@given(distinct, distinct)
def test_merge_takes_the_part_whose_guard_holds(left: list[int], right: list[int]) -> None:
    """Merging is `if` over unions; equal values share one guard."""
    guards = Guards()
    g = guards.fresh()
    a, first = some_union(guards, left)
    b, second = some_union(guards, right)
    merged = merge(guards, [(g, a), (-g, b)])
    assert set(merged.values) == set(left) | set(right)
    for _, holds in assignments(guards, [g, *first, *second]):
        if holds is None:
            continue
        part = a if holds(g) else b
        assert [v for v, h in merged.values.items() if holds(h)] == [v for v, h in part.values.items() if holds(h)]


def test_a_map_to_one_value_is_certain() -> None:
    """Alternatives that become equal need no guard."""
    guards = Guards()
    g = guards.fresh()
    assert Union({1: g, 3: -g}).map(guards, lambda v: v % 2) == Union.single(1)
