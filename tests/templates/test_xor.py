"""Maps that are affine over bits: against brute force, and against their own formulas, words and constants."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pysmt.shortcuts import FALSE, TRUE

from symbolic.errors import Place
from symbolic.ir.program import Hole
from symbolic.solve.answer import Possible
from symbolic.solve.guard_solver import GuardSolver
from symbolic.values.guard import Guards
from templates.chooser import OneChoice, OpenChooser
from templates.either import Either
from templates.formula import formula_text, plain, values_of
from templates.holes import Point
from templates.registry import function_of, template
from templates.second.xform import XorHole
from templates.xor import Xor, make
from templates.xor_functions import AffineMaps
from tests.slow_cases import slow_unless

PLACE = Place("xor.py", 1, 1)
Values = tuple[int, ...]


def hole(n: int) -> Hole:
    return Hole("xform1", "xform", n, ("lane", "k"), PLACE)


def grid(n: int, extent: int) -> list[Point]:
    return [(i, k) for i in range(n) for k in range(extent)]


def template_at(n: int, points: Sequence[Point]) -> Xor:
    made = make(n, 2, tuple(points), "4")
    assert made is not None
    return made


def every_map(n: int, points: Sequence[Point]) -> set[Values]:
    """Return the affine maps by their definition: f(0), and what each bit of i and of k changes."""
    bits, extent = n.bit_length() - 1, max(k for _, k in points).bit_length()
    found = set()
    for c, *columns in itertools.product(range(n), repeat=1 + bits + extent):
        values = []
        for i, k in points:
            value = c
            for j, column in enumerate(columns):
                value ^= column if (i | k << bits) >> j & 1 else 0
            values.append(value)
        found.add(tuple(values))
    return found


CASES = [
    (2, grid(2, 3)),
    (4, grid(4, 1)),
    (4, grid(4, 2)),
    (4, [(0, 1), (3, 2), (2, 2)]),
    (8, grid(8, 1)),
    (8, [(1, 0), (6, 0), (7, 0), (2, 0)]),
]


@pytest.mark.parametrize(("n", "points"), CASES)
def test_the_functions_are_the_affine_maps(n: int, points: list[Point]) -> None:
    """All of them and no other, read by the set, by `at` and by `apply`."""
    made = template_at(n, points)
    columns = [np.array(column) for column in zip(*points, strict=True)]
    found = set()
    for choice in AffineMaps(made, points).choices():
        values = tuple(np.broadcast_to(made.apply(choice, columns), len(points)).tolist())
        assert values == tuple(made.at(OneChoice(choice), point) for point in points)
        found.add(values)
    assert found == every_map(n, points)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("n", "points"), CASES)
def test_ruling_values_out(n: int, points: list[Point]) -> None:
    """No map with allowed values is lost; values that are said to be there are; where one is left, all have it."""
    maps, draw = every_map(n, points), random.Random(n)
    for _ in range(30):
        left, wanted = AffineMaps(template_at(n, points), points), maps
        told = np.ones((len(points), n), np.bool_)
        for _ in range(4):
            places = np.array(draw.sample(range(len(points)), min(len(points), draw.choice((1, 1, 2, 3)))))
            lines = [[draw.random() < draw.choice((0.2, 0.5, 0.8)) for _ in range(n)] for _ in places]
            allowed = np.array(lines)
            if draw.random() < 0.3:
                left = left.keep_any(places, allowed)
                kept = {m for m in wanted if any(line[m[p]] for p, line in zip(places, lines, strict=True))}
            else:
                left = left.keep(places, allowed)
                told[places] &= allowed
                kept = {m for m in wanted if all(line[m[p]] for p, line in zip(places, lines, strict=True))}
            wanted = kept
            whole = left.given(np.arange(len(points)), np.ones((len(points), n), np.bool_))
            assert all(whole[p, value] for m in wanted for p, value in enumerate(m))
            assert not (whole & ~told).any()
            if not left.count:
                assert not wanted
                break
            fixed = np.flatnonzero(whole.sum(axis=1) == 1)
            columns = [np.array(column) for column in zip(*points, strict=True)]
            for choice in itertools.islice(left.choices(), 20):
                values = np.broadcast_to(left.of.apply(choice, columns), len(points))  # type: ignore[attr-defined]
                assert all(whole[p, values[p]] for p in fixed)
        only = [(maps, m) for m in draw.sample(sorted(maps), min(5, len(maps)))]
        for _, m in only:
            exact = AffineMaps(template_at(n, points), points).keep(
                np.arange(len(points)), np.eye(n, dtype=bool)[list(m)]
            )
            assert (
                exact.count
                and tuple(exact.given(np.arange(len(points)), np.ones((len(points), n), bool)).argmax(1)) == m
            )


@pytest.mark.parametrize(("n", "points"), CASES)
def test_values_of_a_point_are_those_of_the_maps_left(n: int, points: list[Point]) -> None:
    """Whatever was worked out before some maps were left out: the values are neither more nor fewer."""
    draw, everywhere = random.Random(n), np.arange(len(points))
    columns = [np.array(column) for column in zip(*points, strict=True)]
    for _ in range(10):
        left, told = AffineMaps(template_at(n, points), points), np.ones((len(points), n), np.bool_)
        for place in draw.sample(range(len(points)), min(len(points), 4)):
            allowed = np.array([[draw.random() < 0.6 for _ in range(n)]])
            told[place] &= allowed[0]
            left = left.keep(np.array([place]), allowed)
            given = left.given(everywhere, np.ones_like(told))
            if left.count > 256:
                continue
            wanted = np.zeros_like(told)
            for choice in left.choices() if left.count else ():
                wanted[everywhere, left.of.apply(choice, columns)] = True  # type: ignore[attr-defined]
            assert (given == wanted & told).all()


@pytest.mark.parametrize(("n", "points"), CASES)
def test_sets_of_values_side_by_side(n: int, points: list[Point]) -> None:
    """A line of sets that some map goes through is never refused; one of single values, or with none, exactly."""
    every, draw = np.array(sorted(every_map(n, points))), np.random.default_rng(n)
    through = every[draw.integers(len(every), size=20)]
    drawn = np.concatenate(
        [through, np.where(draw.random(through.shape) < 0.2, draw.integers(n, size=through.shape), through)]
    )
    few = np.concatenate([drawn[:, :, None] == np.arange(n), np.zeros((1, len(points), n), np.bool_)])
    for sets in (few, few | (draw.random(few.shape) < 0.2)):
        packed = (sets << np.arange(n)).sum(axis=-1).astype(np.uint64)
        found = AffineMaps(template_at(n, points), points).may_have(np.arange(len(points)), packed)
        right = [bool(line[np.arange(len(points)), every].all(axis=1).any()) for line in sets]
        assert (found >= right).all()
        if sets is few:
            assert found.tolist() == right


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("n", "points"), CASES)
def test_values_that_are_to_be_had_somewhere(n: int, points: list[Point]) -> None:
    """Each of some values at one of some points: no map with them is lost, and some sets without any are empty."""
    maps, draw, refused = every_map(n, points), random.Random(n), 0
    for _ in range(60):
        left, wanted = AffineMaps(template_at(n, points), points), maps
        for _ in range(2):
            places = np.array(draw.sample(range(len(points)), draw.randrange(1, len(points) + 1)))
            some = draw.choice(sorted(wanted))
            for value in {some[place] for place in places} | ({draw.randrange(n)} if draw.random() < 0.5 else set()):
                left = left.keep_any(places, np.broadcast_to(np.arange(n) == value, (len(places), n)))
                wanted = {m for m in wanted if any(m[place] == value for place in places)}
            whole = left.given(np.arange(len(points)), np.ones((len(points), n), np.bool_))
            assert all(whole[p, value] for m in wanted for p, value in enumerate(m))
            if not wanted:
                refused += not left.count
                break
    assert refused


@pytest.mark.parametrize("n", [2, 4, 8])
def test_every_function_is_found_or_refused(n: int) -> None:
    """Of all functions of n indices, or many, those that are affine are found, and no other."""
    points = grid(n, 1)
    maps, made, draw = every_map(n, points), template_at(n, points), random.Random(1)
    some = itertools.product(range(n), repeat=n) if n < 8 else (draw.choices(range(n), k=n) for _ in range(300))
    for values in [*map(tuple, some), *maps]:
        choice = made.simplest(points, values)
        assert (choice is not None) == (values in maps)
        assert choice is None or tuple(int(made.apply(choice, p)) for p in points) == values


def matrix(draw: random.Random, n: int, extent: int) -> Any:
    """Return a random affine map, by its definition."""
    c, *columns = [draw.randrange(n) for _ in range(1 + n.bit_length() - 1 + extent.bit_length())]

    def function(i: int, k: int) -> int:
        value = c
        for j, column in enumerate(columns):
            value ^= column * ((i | k << n.bit_length() - 1) >> j & 1)
        return value

    return function


@pytest.mark.parametrize(
    ("n", "extent"), slow_unless([(8, 3), (32, 1), (32, 32), (64, 5), (1024, 4)], lambda case: case[0] < 1024)
)
def test_random_matrices_are_found_again(n: int, extent: int) -> None:
    """From their values; the printed formula, the words and the constants say the same map."""
    points, draw = grid(n, extent), random.Random(n)
    made = template_at(n, points)
    lanes = [np.array(column) for column in zip(*points, strict=True)]
    for _ in range(4):
        function = matrix(draw, n, extent - 1)
        values = [function(*point) for point in points]
        choice = made.simplest(points, values)
        assert choice is not None
        assert np.broadcast_to(made.apply(choice, lanes), len(points)).tolist() == values
        text = formula_text(hole(n), plain(hole(n), made, choice))
        said = eval(text, {"lane": lanes[0], "k": lanes[1]})
        assert np.broadcast_to(said, len(points)).tolist() == values
        assert np.broadcast_to(values_of(plain(hole(n), made, choice), lanes), len(points)).tolist() == values
        read, again = function_of(hole(n), made.constants(choice))
        assert (
            formula_text(hole(n), plain(hole(n), read, again)) == text and made.parse(made.constants(choice)) == choice
        )
        step = element(made.words(choice, ("lane", "k")), n)
        assert all(step(i, k) == value for (i, k), value in zip(points[:200], values, strict=False))


@pytest.mark.parametrize("n", [8, 32])
def test_random_permutations_are_refused(n: int) -> None:
    """Next to none of them is affine; each is refused by its first few values."""
    points, draw = grid(n, 1), random.Random(2)
    made = template_at(n, points)
    for _ in range(20):
        values = draw.sample(range(n), n)
        affine = all(values[a ^ b] == values[a] ^ values[b] ^ values[0] for a in range(n) for b in range(n))
        assert (made.simplest(points, values) is not None) == affine


def element(words: str, n: int) -> Any:
    """Return from where place i is filled in iteration k, from the words alone."""
    bits = n.bit_length() - 1

    def one(step: str, i: int, k: int) -> int:
        if step == "as it is":
            return i
        if step == "reverse the bits":
            return int(f"{i:0{bits}b}"[::-1], 2)
        if step == "Gray code":
            return i ^ i >> 1
        if step == "inverse Gray code":
            return next(j for j in range(n) if j ^ j >> 1 == i)
        if found := re.fullmatch(r"exclusive or with (.+)", step):
            return int(i ^ eval(found[1], {"k": k}))
        if found := re.fullmatch(r"broadcast element (.+)", step):
            return int(eval(found[1], {"k": k}))
        assert step.startswith("bits ")
        names = {f"i{j}": i >> j & 1 for j in range(bits)}
        return sum(eval(text, names) << r for r, text in enumerate(step.removeprefix("bits ").split(", ")))

    def whole(i: int, k: int) -> int:
        for step in words.split(", then "):
            i = one(step, i, k)
        return i

    return whole


NAMED = [
    (lambda i, k: i ^ k, 32, "lane ^ k", "exclusive or with k"),
    (lambda i, k: i ^ k, 4, "lane ^ k", "exclusive or with k"),
    (lambda i, k: i ^ (k & 31), 64, "lane ^ (k & 31)", "exclusive or with k & 31"),
    (lambda i, k: i ^ 4 * k ^ 3, 8, "lane ^ 4 * k ^ 3", "exclusive or with 4 * k ^ 3"),
    (lambda i, k: i ^ (k << 2 & 28), 32, "lane ^ ((k << 2) & 28)", "exclusive or with (k << 2) & 28"),
    (lambda i, k: i ^ i >> 1, 1, "lane ^ (lane >> 1)", "Gray code"),
    (lambda i, k: i ^ i >> 1 ^ 7, 1, "lane ^ (lane >> 1) ^ 7", "Gray code, then exclusive or with 7"),
    (
        lambda i, k: i ^ i >> 1 ^ i >> 2 ^ i >> 3 ^ i >> 4,
        1,
        "lane ^ (lane >> 1) ^ (lane >> 2) ^ (lane >> 3) ^ (lane >> 4)",
        "inverse Gray code",
    ),
    (lambda i, k: i & 24 ^ k, 8, "(lane & 24) ^ k", "bits 0, 0, 0, i3, i4, then exclusive or with k"),
    (lambda i, k: 5, 2, "5", "broadcast element 5"),
    (lambda i, k: k ^ 1, 8, "k ^ 1", "broadcast element k ^ 1"),
    (lambda i, k: i, 3, "lane", "as it is"),
    (
        lambda i, k: int(f"{i:05b}"[::-1], 2),
        1,
        "(lane & 4) ^ ((lane << 2) & 8) ^ ((lane >> 2) & 2) ^ ((lane << 4) & 16) ^ (lane >> 4)",
        "reverse the bits",
    ),
]


@pytest.mark.parametrize(("function", "extent", "text", "words"), NAMED)
def test_maps_that_read_well(function: Any, extent: int, text: str, words: str) -> None:
    """What a person would write, and say."""
    points = grid(32, extent)
    made = template_at(32, points)
    choice = made.simplest(points, [function(*point) for point in points])
    assert choice is not None
    assert (formula_text(hole(32), plain(hole(32), made, choice)), made.words(choice, ("lane", "k"))) == (text, words)
    step = element(words, 32)
    assert all(step(*point) == function(*point) for point in points)


def test_what_the_points_leave_open_is_light() -> None:
    """Asked at even lanes only, an index that stays is printed as such."""
    points = [(i, 0) for i in range(0, 32, 2)]
    made = template_at(32, points)
    choice = made.simplest(points, [i for i, _ in points])
    assert choice is not None and formula_text(hole(32), plain(hole(32), made, choice)) == "lane"


@pytest.mark.parametrize(
    "constants",
    [
        {"xor": 1, "c": 0, "i_0": 1, "i_1": 2},
        {"xor": 1, "c": 8, "i_0": 1, "i_1": 2, "i_2": 4},
        {"xor": 1, "c": 0, "i_0": 1, "i_1": 2, "i_2": -4},
        {"xor": 1, "c": 0, "i_0": 1, "i_1": 2, "i_2": True},
    ],
)
def test_constants_that_are_no_map(constants: dict[str, Any]) -> None:
    """Whatever a file says, only a map of the hole's size fills it."""
    with pytest.raises(ValueError, match="of xform1"):
        function_of(hole(8), constants)
    with pytest.raises(ValueError, match="xor has no functions for xform1, of size 6"):
        function_of(hole(6), {"xor": 1, "c": 0})


def test_the_solver_sees_the_same_maps() -> None:
    """The open template allows each map, and no other function."""
    points = grid(4, 2)
    made, maps, draw = template_at(4, points), every_map(4, points), random.Random(5)
    some = [tuple(draw.randrange(4) for _ in points) for _ in range(60)] + draw.sample(sorted(maps), 40)
    for values in some:
        guards = Guards()
        opened = OpenChooser[Any](guards, made.components)
        wanted = [made.at(opened, p).is_(v) for p, v in zip(points, values, strict=True)]
        solver = GuardSolver(guards, "cadical")
        answer = solver.check(wanted)
        assert isinstance(answer, Possible) == (values in maps)
        solver.close()


def test_the_second_description_is_the_same() -> None:
    """Both describe the affine maps."""
    points = grid(4, 2)
    columns = [np.array(column) for column in zip(*points, strict=True)]
    mine, seen = XorHole(4, points), set()
    for held in itertools.product(*(group.literals for group in mine.groups)):
        model = SimpleNamespace(true=lambda literal, held=held: literal in held)
        values = tuple(np.broadcast_to(mine.filled(model)(columns), len(points)).tolist())
        seen.add(values)
        if len(seen) % 16 == 1:  # the formulas say what the function does
            held_or_not = {
                some: TRUE() if some in held else FALSE() for group in mine.groups for some in group.literals
            }
            for point, value in zip(points, values, strict=True):
                cases = mine.at(point).items()
                assert [v for v, f in cases if f.substitute(held_or_not).simplify().is_true()] == [value]
    assert seen == every_map(4, points)


def test_a_hole_of_space_4_is_either() -> None:
    """A rotation or an exclusive or; where the size is no power of two, or k negative, there is nothing more."""
    points = grid(8, 4)
    made = template(hole(8), points, "4")
    assert isinstance(made, Either)
    for function, text, family in (
        (lambda i, k: (i + k) % 8, "(lane + k) % 8", "gs"),
        (lambda i, k: i ^ k, "lane ^ k", "xor"),
    ):
        choice = made.simplest(points, [function(*p) for p in points])
        assert choice is not None and formula_text(hole(8), plain(hole(8), made, choice)) == text
        constants = made.constants(choice)
        assert family in constants and formula_text(hole(8), plain(hole(8), *function_of(hole(8), constants))) == text
        assert made.constants(made.parse(constants)) == constants
        assert all(made.at(OneChoice(choice), p) == function(*p) for p in points)
    for n, some in ((6, grid(6, 4)), (8, [(i, k - 1) for i, k in points]), (1, [(0, 0)])):
        assert template(hole(n), some, "4") is template(hole(n), some, "3")
