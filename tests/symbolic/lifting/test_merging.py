"""Guards of paths, and values that meet, against trying all paths."""

from __future__ import annotations

import itertools
import operator
import random
from dataclasses import dataclass
from typing import Any

import pytest
from pysmt.environment import get_env

from symbolic.core.obligations import obligations
from symbolic.core.outcome import evaluated
from symbolic.core.query import solve
from symbolic.core.values import bitvector, boolean, integer
from symbolic.lifting.conditions import Conditions, conditions
from symbolic.lifting.functions import lifted
from symbolic.lifting.merging import FEW, kind_to_merge, merge
from symbolic.lifting.states import State, join
from symbolic.lifting.values import Alternatives, Items, inward, outward
from symbolic.solve.answer import Model
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union

ATOMS = [boolean(f"merging_test_{i}") for i in range(4)]
NUMBER, BITS = integer("merging_test_number"), bitvector("merging_test_bits", 4)
WORLDS = list(itertools.product([False, True], repeat=len(ATOMS)))


@dataclass(frozen=True)
class Point:
    """A record."""

    x: Any
    y: Any


def model_of(world: tuple[bool, ...]) -> Model:
    """Return the model in which the atoms are these."""
    known = {atom.formula: value for atom, value in zip(ATOMS, world, strict=True)}
    return Model(lambda symbol: known.get(symbol, 5 if symbol == NUMBER.formula else 3))


MODELS = [model_of(world) for world in WORLDS]


def worlds(table: Conditions, guard: Guard) -> frozenset[int]:
    """Return in which worlds a guard holds."""
    return frozenset(i for i, model in enumerate(MODELS) if model.value(table.formula(guard)))


def random_guard(rng: random.Random, table: Conditions, depth: int) -> Guard:
    """Return a guard over the atoms."""
    if depth == 0:
        return rng.choice([1, -1]) * table.guard(rng.choice(ATOMS).formula)
    parts = [random_guard(rng, table, depth - 1) for _ in range(rng.randint(1, 3))]
    return rng.choice([1, -1]) * rng.choice([table.all, table.any])(parts)


@pytest.mark.parametrize("seed", range(300))
def test_guards_mean_what_they_say(seed: int) -> None:
    """Conjunction, disjunction and negation are those of sets of worlds, and formulas come back as the same guard."""
    rng, table = random.Random(seed), conditions()
    a, b, c = (random_guard(rng, table, 3) for _ in range(3))
    p, q, r = (worlds(table, guard) for guard in (a, b, c))
    assert worlds(table, -a) == frozenset(range(len(WORLDS))) - p
    assert worlds(table, table.both(a, b)) == p & q
    assert worlds(table, table.either(a, b)) == p | q
    assert worlds(table, table.all([a, b, c])) == p & q & r
    assert worlds(table, table.any([a, b, c])) == p | q | r
    assert worlds(table, table.guard(table.formula(a))) == p


def test_a_term_is_one_constant() -> None:
    """Random guards over `x == 0 ... 3`, also written the other way round, mean what they say; two at once are FALSE,
    and the formula of one does not say that the others do not hold."""
    table, x = conditions(), bitvector("merging_test_digit", 2)
    m = get_env().formula_manager
    digits = [table.guard((x == each).formula) for each in range(4)]
    digits += [table.guard(m.Equals(m.BV(each, 2), x.formula)) for each in range(4)]
    models = [Model({x.formula: each}.get) for each in range(4)]

    def holds(guard: Guard) -> list[bool]:
        return [bool(model.value(table.formula(guard))) for model in models]

    rng = random.Random(4)
    for _ in range(300):
        parts = [rng.choice(digits) * rng.choice([1, -1, -1]) for _ in range(rng.randrange(1, 6))]
        found = table.all(parts)
        assert holds(found) == [all(each) for each in zip(*map(holds, parts), strict=True)]
        assert holds(-found) == [not each for each in holds(found)]
    assert table.both(digits[1], digits[2]) == FALSE
    assert table.formula(table.all([-digits[0], -digits[1], digits[2]])) is (x == 2).formula


def test_what_parts_meets_again() -> None:
    """The paths of a chain of tests are together the path before it, whatever that was."""
    table = conditions()
    before, *tests = (table.guard(atom.formula) for atom in ATOMS)
    for start in (TRUE, before, -before):
        paths, left = [], start
        for test in tests:
            paths.append(table.both(left, test))
            left = table.both(left, -test)
        assert table.any([*paths, left]) == start
        assert table.both(left, tests[0]) == FALSE


def random_value(rng: random.Random, depth: int) -> Any:
    """Return a value as a user has it."""
    if depth and rng.random() < 0.4:
        items = [random_value(rng, depth - 1) for _ in range(rng.randint(0, 2))]
        return rng.choice([items, tuple(items), Point(random_value(rng, depth - 1), 1)])
    return rng.choice([0, 1, 2, 7, 7, True, False, None, "a", NUMBER, NUMBER + 1, BITS, BITS ^ 1, ATOMS[0], ~ATOMS[1]])


def tree(rng: random.Random, atoms: list[Any], depth: int) -> tuple[Any, dict[int, Any]]:
    """Return the merge of a random tree of tests, and the value in each world; some joins are of many at once."""
    table = conditions()
    if depth == 0:
        value = random_value(rng, 2)
        return inward(value), {i: evaluated(value, model) for i, model in enumerate(MODELS)}
    left, parts, wanted = TRUE, [], {}
    for test in rng.sample(atoms, rng.randint(1, 3)):
        guard = rng.choice([1, -1]) * table.guard(test.formula)
        here, left = table.both(left, guard), table.both(left, -guard)
        value, known = tree(rng, atoms, depth - 1)
        parts.append((here, value))
        wanted |= {i: known[i] for i in worlds(table, here)}
    value, known = tree(rng, atoms, depth - 1)
    parts.append((left, value))
    wanted |= {i: known[i] for i in worlds(table, left)}
    return merge(parts), wanted


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are equal and of one type: 1 is not True."""
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Point) and isinstance(b, Point):
        return same(a.x, b.x) and same(a.y, b.y)
    return type(a) is type(b) and a == b


def well_formed(value: Any) -> None:
    """Require the invariants of unions and alternatives."""
    match value:
        case Union():
            assert 2 <= len(value.values) <= FEW
            assert FALSE not in value.values.values()
            exclusive(list(value.values.values()))
        case Alternatives():
            kinds = [kind_to_merge(part) for _, part in value.parts]
            assert len(set(kinds)) == len(kinds) >= 2
            assert not any(isinstance(part, Alternatives) for _, part in value.parts)
            exclusive([guard for guard, _ in value.parts])
        case Items():
            for item in value.items:
                well_formed(item)


def exclusive(guards: list[Guard]) -> None:
    """Require that exactly one guard holds in every world."""
    found = [worlds(conditions(), guard) for guard in guards]
    assert sum(map(len, found)) == len(WORLDS) == len(frozenset().union(*found))


def merges(seeds: range) -> None:
    """Compare random merges with the value of each path."""
    for seed in seeds:
        rng = random.Random(seed)
        found, wanted = tree(rng, ATOMS, rng.randint(1, 3))
        well_formed(found)
        for i, model in enumerate(MODELS):
            assert same(evaluated(outward(found), model), wanted[i]), (seed, WORLDS[i], found, wanted[i])


def test_some_random_merges() -> None:
    """The first hundred and fifty."""
    merges(range(150))


@pytest.mark.slow
def test_a_thousand_random_merges() -> None:
    """All thousand."""
    merges(range(1000))


def test_states_that_meet() -> None:
    """Of two states, a name has the value of the path; one that only one of them knows has none on the other."""
    table = conditions()
    guard = table.guard(ATOMS[0].formula)
    found = join([State(guard, {"a": 1, "b": 2}), None, State(-guard, {"a": 1})])
    assert found is not None
    assert (found.path, found.names["a"]) == (TRUE, 1)
    assert repr(found.names["b"]) == "one of 2, nothing"
    assert join([None, None]) is None


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_a_term_exclude_and_imply_each_other(seed: int) -> None:
    """Random guards over comparisons with constants mean what Python says, and are FALSE where no number fits."""
    table, rng = conditions(), random.Random(seed)
    n = integer("merging_test_n") if seed else bitvector("merging_test_v", 4, signed=True)
    compare = [operator.lt, operator.le, operator.gt, operator.ge]
    values = range(-6, 7)
    models = [Model(lambda _, value=value: value if seed else value % 16) for value in values]
    for _ in range(60):
        made: list[tuple[int, Any]] = []
        for _ in range(6):
            how, number = rng.choice(compare), rng.randrange(-3, 4)
            guard = table.guard(how(n, number).formula)
            made.append((guard, lambda value, how=how, number=number: how(value, number)))
        for _ in range(5):
            (p, f), (q, g) = rng.sample(made, 2)
            made.append((-p, lambda value, f=f: not f(value)))
            made.append((table.both(p, q), lambda value, f=f, g=g: f(value) and g(value)))
            made.append((table.either(p, q), lambda value, f=f, g=g: f(value) or g(value)))
        for guard, holds in made:
            wanted = [holds(value) for value in values]
            assert [model.value(table.formula(guard)) for model in models] == wanted
        cube = table.all(table.guard(how(n, rng.randrange(-3, 4)).formula) for how in rng.sample(compare, 3))
        assert (cube == FALSE) == (not any(model.value(table.formula(cube)) for model in models))


def test_a_list_over_two_ranges_has_one_case_for_each_length() -> None:
    """Ends of ranges imply each other, so that no case is made that cannot be: 43 lengths, of 101 at most."""

    @lifted(bound=10)
    def table_of(n: Any, m: Any) -> Any:
        return [i * 10 + j for i in range(n) for j in range(m)]

    n, m = integer("merging_test_rows"), integer("merging_test_columns")
    with obligations():
        found = table_of(n, m)
        outcome = solve(n == 7, m == 9)
    assert len(found.parts) == len({i * j for i in range(11) for j in range(11)}) == 43
    assert outcome[found] == table_of(7, 9)
