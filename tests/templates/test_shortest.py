"""The shortest formulas: equal to the function wherever it is asked, and none is shorter."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from symbolic.errors import Place
from symbolic.ir.program import Hole
from templates.chooser import OneChoice
from templates.formula import formula_of_text, formula_text, length_of, plain
from templates.holes import Point
from templates.registry import template
from templates.shortest import Shortest
from templates.template import matching
from tests.slow_cases import slow_unless

HERE = Place("test", 1, 1)


def hole(n: int, *arguments: str) -> Hole:
    return Hole("h", "xform", n, arguments or ("i", "k"), HERE)


def shortened(some: Hole, points: list[Point], own: str, values: list[int | None]) -> str:
    found = Shortest(some.size, some.arguments, points).of(formula_of_text(some, own), values)
    return formula_text(some, found)


def values_at(text: str, points: list[Point]) -> list[int | None]:
    return [eval(text, dict(zip("ik", point, strict=False))) for point in points]


LANES = [(i, k) for i in range(32) for k in range(4)]


@pytest.mark.parametrize(
    ("points", "own", "text"),
    [
        (LANES, "(i + k) % 32", "(i + k) % 32"),
        (LANES, "k % 32", "k"),
        (LANES, "(31 - i) % 32", "31 - i"),
        (LANES, "(3 - k) % 32", "3 - k"),
        (LANES, "i // 2 * 2 + (i + 1) % 2", "i ^ 1"),
        (LANES, "(16 + i) % 32", "i ^ 16"),
        (LANES, "i // 4 * 4 + (i % 4 + k) % 4", "i // 4 * 4 + (i + k) % 4"),
        ([(i, k) for i, k in LANES if i >= 3 * k], "(i - 3 * k) % 32", "i - 3 * k"),
        ([(i, k) for i, k in LANES if i + k < 32], "(i + k) % 32", "i + k"),
        ([(i, 2 * i + 3) for i in range(14)], "(9 - 2 * i - 15 * k) % 32", "28"),
        ([(7, k) for k in range(4)], "(9 - 2 * i - 15 * k) % 32", "(27 - 15 * k) % 32"),
        ([(8 * i, k) for i in range(4) for k in range(4)], "(i + k) % 32", "i + k"),
        ([(i, 16) for i in range(32)], "(i + k) % 32", "i ^ 16"),
        ([(i, 0) for i in range(32)], "(i + 5 * k) % 32", "i"),
        ([(5, 1)], "(2 * i + 30 * k) % 32", "8"),
    ],
)
def test_what_a_person_would_write(points: list[Point], own: str, text: str) -> None:
    """Remainders that change nothing are left out, and what is asked at few points is short."""
    assert shortened(hole(32), points, own, values_at(own, points)) == text


def test_an_argument_is_read_as_one() -> None:
    """An argument that is a sum or a number in the sketch."""
    some = hole(32, "lane", "1 << r")
    points = [(i, 1 << r) for r in range(3) for i in range(3 << r, 32)]
    assert (
        shortened(some, points, "(lane - 3 * (1 << r)) % 32", [i - 3 * k for i, k in points]) == "lane - 3 * (1 << r)"
    )
    some = hole(8, "0", "k")
    assert shortened(some, [(0, k) for k in range(4)], "(2 * 0 + 3 - k) % 8", [3 - k for k in range(4)]) == "3 - k"


def test_free_points_are_free() -> None:
    """A point of no value may have any."""
    points = [(i,) for i in range(8)]
    some = hole(8, "i")
    assert shortened(some, points, "7 * i % 8", [None, None, None, 5, None, None, None, None]) == "5"
    assert shortened(some, points, "7 * i % 8", [0, 7, *[None] * 6]) == "7 * i"
    assert shortened(some, points, "7 * i % 8", [None] * 8) == "7 * i % 8"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", slow_unless(range(40), lambda seed: seed < 16))
def test_random_functions_of_the_template(seed: int) -> None:
    """Python's value of the text is the function's at every point that is asked, and it is never longer than before."""
    chance = random.Random(seed)
    n = chance.choice([2, 4, 6, 8, 12, 16, 32])
    points = [(i, k) for i in range(n) for k in range(chance.choice([1, 2, 5])) if chance.random() < 0.8] or [(0, 0)]
    some = hole(n)
    made = template(some, points, chance.choice(["1", "3", "4"]))
    for _ in range(25):
        choice = tuple(chance.choice(c) for c in made.components)
        own = plain(some, made, choice)
        values = [made.at(OneChoice(choice), point) if chance.random() < 0.9 else None for point in points]
        found = Shortest(n, some.arguments, points).of(own, values)  # type: ignore[arg-type]
        text = formula_text(some, found)
        printed = [p for p, value in zip(values_at(text, points), values, strict=True) if value is not None]
        assert printed == [value for value in values if value is not None], (text, formula_text(some, own))
        assert length_of(found) <= length_of(own)


def every(columns: dict[str, Any], largest: int) -> Iterator[tuple[int, Any]]:
    """Yield all formulas of up to five terms, one by one: their length and their values."""
    numbers = [(1, np.full(len(next(iter(columns.values()))), c)) for c in range(-largest, largest + 1)]
    arguments = [(1, column) for column in columns.values()]
    known = {1: numbers + arguments}
    known[2] = [(2, -v) for _, v in arguments]
    for length in (3, 4, 5):
        known[length] = list(binaries(known, length, largest))
    for some in known.values():
        yield from some


def binaries(known: dict[int, list[tuple[int, Any]]], length: int, largest: int) -> Iterator[tuple[int, Any]]:
    for left in range(1, length - 1):
        for (_, a), (_, b) in itertools.product(known[left], known[length - 1 - left]):
            yield from ((length, some) for some in (a + b, a - b))
            if (a >= 0).all() and (b >= 0).all():
                yield length, a ^ b
    for _, a in known[length - 2]:
        for d in range(2, largest + 1):
            yield from ((length, some) for some in (a * d, a * -d, a // d, a % d))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_no_shorter_formula_is_equal(seed: int) -> None:
    """Brute force over every formula of up to five terms, on small holes: where one is equal, ours is as short."""
    chance = random.Random(seed)
    n = chance.choice([3, 4, 5])
    points = [(i, k) for i in range(n) for k in range(chance.choice([1, 2, 3])) if chance.random() < 0.8] or [(0, 0)]
    columns = {name: np.array(column) for name, column in zip("ik", zip(*points, strict=True), strict=True)}
    lengths: dict[bytes, int] = {}
    for length, values in every(columns, n):
        lengths.setdefault(values.astype(np.int64).tobytes(), length)
    some = hole(n)
    made = template(some, points, "4")
    search, short = Shortest(n, some.arguments, points), 0
    for _ in range(200):
        choice = tuple(chance.choice(c) for c in made.components)
        values = [made.at(OneChoice(choice), point) for point in points]
        own = plain(some, made, choice)
        found = search.of(own, values)  # type: ignore[arg-type]
        least = lengths.get(np.array(values, np.int64).tobytes())
        text = formula_text(some, found)
        assert length_of(found) <= (least or length_of(own)), text
        assert least or length_of(found) > 5 or set(text) & set("&<>"), text  # of a template's own operators
        short += length_of(found) <= 6
    assert short


@pytest.mark.parametrize("seed", range(20))
def test_no_shorter_condition_is_equal(seed: int) -> None:
    """Of all choices of a condition, and of a part, that are right at the points, the simplest is the shortest."""
    chance = random.Random(seed)
    points = [(i, k) for i in range(4) for k in range(3) if chance.random() < 0.7] or [(0, 0)]
    for kind, size in (("cond", 2), ("part", 2), ("part", 3)):
        some = Hole("h", kind, size, ("i", "k"), HERE)
        made = template(some, points, chance.choice(["1", "2"]) if size < 3 else "1")
        for _ in range(10):
            choice = tuple(chance.choice(c) for c in made.components)
            values = [made.at(OneChoice(choice), point) if chance.random() < 0.8 else None for point in points]
            fits = matching(made, points, values)
            lengths = [length_of(plain(some, made, fits.choice(row))) for row in range(len(fits))]
            simplest = made.simplest(points, values)
            assert simplest is not None and length_of(plain(some, made, simplest)) == min(lengths), (points, values)
