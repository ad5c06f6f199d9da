"""Guards mean what they were built from, in every assignment."""

from collections.abc import Callable, Sequence
from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.values.guard import FALSE, TRUE, Guard, Guards
from tests.symbolic.assignments import assignments


def test_simplification_needs_no_new_guard() -> None:
    """Constants, repeats and complements are decided while building."""
    guards = Guards()
    a = guards.fresh()
    before = guards.variables
    assert guards.both(a, TRUE) == a and guards.both(a, a) == a
    assert guards.both(a, -a) == FALSE and guards.both(a, FALSE) == FALSE
    assert guards.any([a, -a]) == TRUE and guards.any([a, FALSE]) == a and guards.any([]) == FALSE
    assert guards.variables == before


def test_equal_guards_are_one() -> None:
    """The same conjunction or disjunction built twice is the same literal."""
    guards = Guards()
    a, b, c = guards.fresh(), guards.fresh(), guards.fresh()
    assert guards.both(a, b) == guards.both(b, a)
    assert guards.any([a, b, c]) == guards.any([c, b, a])


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_formulas_agree_with_python(data: st.DataObject) -> None:
    """A guard built from and, or, not has Python's truth value in every assignment."""
    guards = Guards()
    inputs = [guards.fresh() for _ in range(3)]
    built: list[tuple[Guard, object]] = [(g, lambda v, i=i: v[i]) for i, g in enumerate(inputs)]
    for _ in range(data.draw(st.integers(1, 5))):
        (a, f), (b, g) = data.draw(st.sampled_from(built)), data.draw(st.sampled_from(built))
        if data.draw(st.booleans()):
            a, f = -a, (lambda v, f=f: not f(v))
        if data.draw(st.booleans()):
            built.append((guards.both(a, b), lambda v, f=f, g=g: f(v) and g(v)))
        else:
            built.append((guards.any([a, b]), lambda v, f=f, g=g: f(v) or g(v)))
    for values, holds in assignments(guards, inputs):
        assert holds is not None
        for guard, meaning in built:
            assert holds(guard) == meaning(values)  # type: ignore[operator]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_clauses_over_conjunctions_mean_what_they_say(data: st.DataObject) -> None:
    """Clauses may hold conjunctions of conjunctions, in both signs and before or after others of their parts."""
    guards = Guards()
    inputs = [guards.fresh() for _ in range(4)]
    built: list[tuple[Guard, Callable[[tuple[bool, ...]], bool]]] = [(g, itemgetter(i)) for i, g in enumerate(inputs)]

    def drawn() -> tuple[Guard, Callable[[tuple[bool, ...]], bool]]:
        guard, meaning = data.draw(st.sampled_from(built))
        return (-guard, lambda v: not meaning(v)) if data.draw(st.booleans()) else (guard, meaning)

    clauses = []
    for _ in range(data.draw(st.integers(1, 8))):
        if data.draw(st.integers(0, 3)):
            (a, f), (b, g) = drawn(), drawn()
            built.append((guards.both(a, b), lambda v, f=f, g=g: f(v) and g(v)))
        else:
            some = [drawn() for _ in range(data.draw(st.integers(1, 3)))]
            guards.add([g for g, _ in some])
            clauses.append([m for _, m in some])
    for values, holds in assignments(guards, inputs):
        assert (holds is not None) == all(any(m(values) for m in clause) for clause in clauses)
        assert holds is None or all(holds(guard) == meaning(values) for guard, meaning in built)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_exactly_counts(size: int, count: int) -> None:
    """`exactly` allows just the assignments with that many true."""
    guards = Guards()
    inputs = [guards.fresh() for _ in range(size)]
    guards.exactly(count, inputs)
    for values, holds in assignments(guards, inputs):
        assert (holds is not None) == (sum(values) == count)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_exactly_under_a_guard_binds_only_there(count: int) -> None:
    """Where `when` does not hold, anything goes."""
    guards = Guards()
    when, *inputs = [guards.fresh() for _ in range(4)]
    guards.exactly(count, inputs, when)
    for values, holds in assignments(guards, [when, *inputs]):
        assert (holds is not None) == (not values[0] or sum(values[1:]) == count)


@pytest.mark.parametrize("encoding", [Guards.at_most_one, Guards.at_most_one_by_rectangle])
@pytest.mark.parametrize("size", [1, 2, 4, 6, 7, 9])
def test_at_most_one(size: int, encoding: Callable[[Guards, Sequence[Guard]], None]) -> None:
    """Both encodings allow none or one."""
    guards = Guards()
    inputs = [guards.fresh() for _ in range(size)]
    encoding(guards, inputs)
    for values, holds in assignments(guards, inputs):
        assert (holds is not None) == (sum(values) <= 1)


@pytest.mark.parametrize("shape", [[0, 0], [0, 0, 1, 1], [0, 1, 0], [0, 1, 1]])
@pytest.mark.parametrize("count", [1, 2])
def test_a_guard_may_be_counted_more_than_once(shape: list[int], count: int) -> None:
    """The same guard twice counts twice."""
    guards = Guards()
    inputs = [guards.fresh(), guards.fresh()]
    guards.exactly(count, [inputs[i] for i in shape])
    for values, holds in assignments(guards, inputs):
        assert (holds is not None) == (sum(values[i] for i in shape) == count)


def test_counter_counts_up_to_its_limit() -> None:
    """The j-th output holds exactly when more than j inputs do."""
    guards = Guards()
    inputs = [guards.fresh() for _ in range(5)]
    totals = guards.counter(inputs, 3)
    for values, holds in assignments(guards, inputs):
        assert holds is not None
        assert [holds(t) for t in totals] == [sum(values) > j for j in range(3)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_parities_agree_with_counting(data: st.DataObject) -> None:
    """An odd number, or an even one: of guards, their negations, conjunctions, constants and repetitions."""
    guards = Guards()
    a, b, c, when = (guards.fresh() for _ in range(4))
    pool = [a, -a, b, -b, c, TRUE, FALSE, guards.both(a, b), -guards.both(b, c), guards.any([a, c])]
    chosen = data.draw(st.lists(st.sampled_from(pool), max_size=6))
    is_odd = data.draw(st.booleans())
    guards.odd(chosen, when, is_odd)
    for values, holds in assignments(guards, [a, b, c, when]):
        x, y, z, asked = values
        truth = dict(zip(pool, [x, not x, y, not y, z, True, False, x and y, not (y and z), x or z], strict=True))
        assert (holds is not None) == (not asked or sum(truth[g] for g in chosen) % 2 == is_odd)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sums_agree_with_adding(data: st.DataObject) -> None:
    """Of the numbers that guards bring, each sum has the guard that it is."""
    guards = Guards()
    a, b, c = (guards.fresh() for _ in range(3))
    pool = [a, -a, b, c, TRUE, FALSE, guards.both(a, b), -guards.both(b, c)]
    numbers = st.sampled_from([1, 2, -1, -3, 0.5])
    chosen = data.draw(st.lists(st.tuples(st.sampled_from(pool), numbers), max_size=5))
    found = guards.sums(chosen)
    named = {total: guards.named(guard) for total, guard in found.items()}
    for values, holds in assignments(guards, [a, b, c]):
        x, y, z = values
        truth = dict(zip(pool, [x, not x, y, z, True, False, x and y, not (y and z)], strict=True))
        total = sum(number for guard, number in chosen if truth[guard])
        assert holds is not None
        assert [t for t, guard in named.items() if guard == TRUE or (guard != FALSE and holds(guard))] == [total]
