"""Smallest conflicts and hitting sets are what trying every set gives."""

import itertools
from random import Random

import pytest

from swizzle.answers.explain.conflicts import Conflict, Met, hitting_set, shrink, smallest
from swizzle.answers.explain.explanation import listing, spans
from swizzle.answers.explain.needs import deficient

SIZE = 7


def order(element: int) -> tuple[int, ...]:
    return (element,)


def random_conflicts(random: Random) -> list[frozenset[int]]:
    return [
        frozenset(random.sample(range(SIZE), random.choice([1, 2, 3, 3, 4]))) for _ in range(random.randrange(1, 6))
    ]


@pytest.mark.parametrize("seed", range(40))
def test_smallest_conflict(seed: int) -> None:
    """Deletion leaves a conflict that needs every part; the search finds one that has the fewest."""
    random = Random(seed)
    conflicts = random_conflicts(random)
    asked: list[frozenset[int]] = []

    def check(some: frozenset[int]) -> Met[int] | Conflict[int]:
        asked.append(some)
        inside = [c for c in conflicts if c <= some]
        if inside:
            return Conflict(random.choice(inside))
        met = set(some)  # a filling meets what was asked, and by chance a little more
        for element in random.sample(range(SIZE), SIZE):
            if random.random() < 0.5 and not any(c <= met | {element} for c in conflicts):
                met.add(element)
        return Met(frozenset(range(SIZE)) - met)

    everything = frozenset(range(SIZE))
    shrunk = shrink(everything, check, order)
    assert shrunk.needed and any(c <= shrunk.parts for c in conflicts)
    assert all(not any(c <= shrunk.parts - {part} for c in conflicts) for part in shrunk.parts)
    found = smallest(everything, check, order, look_for=SIZE)
    assert found.smallest and found.needed and found.parts in conflicts
    assert len(found.parts) == min(map(len, conflicts))


def test_undecided_parts_stay() -> None:
    """What cannot be decided in time is kept, and nothing is said to be needed or smallest."""
    found = smallest(frozenset(range(4)), lambda some: None, order, look_for=3)
    assert found == Conflict(frozenset(range(4)), needed=False, smallest=False)


def test_an_empty_conflict_is_the_smallest() -> None:
    """Where nothing at all can be met, nothing is to blame."""
    assert smallest(frozenset((1, 2)), lambda some: Conflict(frozenset[int]()), order, look_for=3).parts == frozenset()


@pytest.mark.parametrize("seed", range(40))
def test_hitting_set(seed: int) -> None:
    """A hitting set of a size is found exactly when there is one."""
    random = Random(seed)
    sets = random_conflicts(random)
    for size in range(4):
        found = hitting_set(sets, size, order)
        exists = any(
            all(some & set(chosen) for some in sets) for chosen in itertools.combinations(range(SIZE), min(size, SIZE))
        )
        assert (found is not None) == exists
        assert found is None or (len(found) <= size and all(some & found for some in sets))


@pytest.mark.parametrize("seed", range(40))
def test_deficient(seed: int) -> None:
    """Some have too few partners exactly when not all can have one of their own; fewer partners than they are."""
    random = Random(seed)
    choices = {n: [p for p in range(4) if random.random() < 0.45] for n in range(random.randrange(1, 5))}
    matched = any(len(set(chosen)) == len(choices) for chosen in itertools.product(*choices.values()))
    few = deficient(choices)
    assert matched == (not few)
    assert not few or len({p for n in few for p in choices[n]}) < len(few)


def test_enumerations() -> None:
    """Lists are cut, runs of numbers are joined."""
    assert [listing(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listing(list("abcdef"), limit=3) == "a, b, c and 3 more"
    assert spans([4, 0, 1, 2, 5]) == [(0, 2), (4, 5)]
