"""Compositions and column-major order: against brute force, and against their own formulas and constants."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from symbolic.errors import Place
from symbolic.ir.program import Hole
from templates import column_major, compose
from templates.chooser import Choice, OneChoice
from templates.compose import peeled, steps
from templates.formula import plain, values_of
from templates.holes import Point
from templates.primitives import rates_of
from templates.registry import FAMILIES, function_of, template
from templates.template import Template
from templates.xform import Xform

PLACE = Place("compose.py", 1, 1)


def grid(n: int, extent: int) -> tuple[Point, ...]:
    return tuple((i, k) for i in range(n) for k in range(extent))


def made_for(family: str, n: int, extent: int) -> Template:
    found = FAMILIES[family].make(n, 2, grid(n, extent), "4")
    assert found is not None
    return found


def some_choices(made: Template, count: int, seed: int = 0) -> list[Choice]:
    random = np.random.default_rng(seed)
    return [tuple(c[random.integers(len(c))] for c in made.components) for _ in range(count)]


def values(made: Template, choice: Choice, points: Sequence[Point]) -> list[int]:
    columns = [np.array(column) for column in zip(*points, strict=True)]
    return np.broadcast_to(made.apply(choice, columns), len(points)).tolist()


@pytest.mark.parametrize(("family", "n", "extent"), [("compose", 6, 4), ("compose", 8, 5), ("column_major", 12, 5)])
def test_a_choice_is_one_function_however_it_is_said(family: str, n: int, extent: int) -> None:
    """`at`, `apply`, the formula, and the constants read back."""
    made, points = made_for(family, n, extent), grid(n, extent)
    hole = Hole("xform1", "xform", n, ("i", "k"), PLACE)
    columns = [np.array(column) for column in zip(*points, strict=True)]
    for choice in some_choices(made, 40):
        wanted = values(made, choice, points)
        assert [made.at(OneChoice(choice), point) for point in points] == wanted
        assert np.broadcast_to(values_of(plain(hole, made, choice), columns), len(points)).tolist() == wanted
        again, same = function_of(hole, dict(made.constants(choice)))
        assert values(again, same, points) == wanted
        assert made.words(choice, ("i", "k"))


@pytest.mark.parametrize(("family", "n", "extent"), [("compose", 6, 4), ("compose", 24, 7), ("column_major", 12, 5)])
def test_a_function_is_recognised_by_its_values(family: str, n: int, extent: int) -> None:
    """What is recognised has the values; and every function of the family is."""
    made, points = made_for(family, n, extent), grid(n, extent)
    for choice in some_choices(made, 25, seed=1):
        wanted = values(made, choice, points)
        found = made.recognised(points, wanted)
        assert found is not None
        assert values(made, found, points) == wanted
        if family == "column_major":
            some = [value if number % 3 else None for number, value in enumerate(wanted)]
            found = made.recognised(points, some)
            assert found is not None
            got = values(made, found, points)
            assert all(a is None or a == b for a, b in zip(some, got, strict=True))


def test_column_major_recognises_no_other_function() -> None:
    """Against all functions, one by one, for 4 places and 3 shifts."""
    made, points = made_for("column_major", 4, 3), grid(4, 3)
    every = {tuple(values(made, choice, points)) for choice in itertools.product(*made.components)}
    random = np.random.default_rng(2)
    for change in range(300):
        wanted = list(sorted(every)[random.integers(len(every))])
        wanted[random.integers(len(points))] = int(random.integers(4))
        assert (made.recognised(points, wanted) is not None) == (tuple(wanted) in every), change


def test_peeled_finds_all_compositions_and_no_other() -> None:
    """Against all compositions of three steps of 6 places, with all rotations, put together one by one."""
    n, x = 6, np.arange(6)
    tables = steps(n)[1].astype(np.int64)
    every = set()
    for first, then, last in itertools.product(tables, repeat=3):
        for turn, between in itertools.product(range(n), repeat=2):
            every.add(tuple(last[(then[first[(x + turn) % n]] + between) % n].tolist()))
    for permutation in itertools.permutations(range(n)):
        found = peeled(np.array(permutation))
        assert (found is not None) == (permutation in every)
        if found is not None:
            both = found.then.of(found.first.of((x + found.turn) % n))
            assert tuple(found.last.of((both + found.between) % n).tolist()) == permutation


@pytest.mark.parametrize("n", [7, 12])
def test_rates_are_told_by_their_values(n: int) -> None:
    """All of them, and no other, against all pairs."""
    x = np.array([0, 1, 2, 3, 5, 8])
    for c, d in itertools.product(range(n), range(6)):
        wanted = (c * x + (x // d if d else 0) + 3) % n
        every = [
            (a, b) for a in range(n) for b in range(6) if len({*((a * x + (x // b if b else 0) - wanted) % n)}) == 1
        ]
        assert sorted(rates_of(x, wanted, n, range(6))) == sorted(every)


def test_an_xform_without_groups_is_recognised() -> None:
    """With its values at some points only, too; in Space 1 no other than those of Space 1."""
    points = grid(12, 5)
    whole, small = Xform(12, points, "3"), Xform(12, points, "1")
    for choice in [((12, 5, 12, False), (3, 0), 4), ((12, 3, 4, False), (1, 2), 0), ((12, 1, 12, False), (0, 3), 1)]:
        wanted = values(whole, choice, points)
        some = [value if number % 4 else None for number, value in enumerate(wanted)]
        for asked in (wanted, some):
            found = whole.recognised(points, asked)
            assert found is not None
            got = values(whole, found, points)
            assert all(a is None or a == b for a, b in zip(asked, got, strict=True))
        assert (small.recognised(points, wanted) is not None) == (choice[1][1] == 0 and choice[0][2] == 12)


def test_light_choices_come_from_light_to_heavy() -> None:
    """The identity and rotations first; all of them are functions of the space."""
    points = grid(12, 5)
    made = Xform(12, points, "3")
    few = list(itertools.islice(made.lightest(), 200))
    assert ((12, 1, 12, False), (1, 0), 0) in few[:12]
    lines = made.tables(few, list(np.array(points).T)).tolist()
    assert lines == [values(made, choice, points) for choice in few]
    known = set(map(tuple, lines[:40]))
    assert all(made.simplest(points, list(wanted)) is not None for wanted in sorted(known)[:5])


def test_families_on_request_join_space_4_alone() -> None:
    """By their objects; without them, no hole has them."""
    hole, points = Hole("xform1", "xform", 12, ("i", "k"), PLACE), grid(12, 5)
    asked = (column_major.FAMILY, compose.FAMILY)
    assert len(template(hole, points, "4", families=asked).parts) == 3
    assert len(template(hole, points, "4").parts) == 1
    assert len(template(hole, points, "3", families=asked).parts) == 1
