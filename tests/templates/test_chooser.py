"""Sets of functions against the templates' own definition, one choice at a time."""

import itertools
from random import Random

import numpy as np
import pytest

from templates import xform_functions, xform_lists
from templates.chooser import Choice, Functions, OneChoice, Rows, Simplest
from templates.cond import Cond, Part
from templates.holes import Point
from templates.template import Template
from templates.xform import Xform
from templates.xform_functions import Xforms
from templates.xform_lists import ListedXforms


def grid(i: int, k: int) -> list[Point]:
    return [(a, b) for a in range(i) for b in range(k)]


TEMPLATES: list[tuple[Template, list[Point]]] = [
    (Xform(6, grid(6, 3), "3"), grid(6, 3)),
    (Xform(4, [(i, k) for i in (0, 3) for k in (0, 1, 5)], "3"), [(i, k) for i in (0, 3) for k in (0, 1, 5)]),
    (Xform(8, grid(8, 5), "3"), grid(8, 5)),
    (Xform(4, [(i,) for i in range(4)], "1"), [(i,) for i in range(4)]),
    (Xform(1, [(0, 0), (0, 1)], "3"), [(0, 0), (0, 1)]),
    (Cond(2, grid(4, 3), "2"), grid(4, 3)),
    (Part(3, 1, [(i,) for i in range(3)], "2"), [(i,) for i in range(3)]),
    (Part(1, 1, [(0,)], "1"), [(0,)]),
]
WIDE: list[tuple[Template, list[Point]]] = [
    (Xform(64, [(0,), (5,), (63,)], "1"), [(0,), (5,), (63,)]),
    (Xform(66, [(0, 0), (1, 1), (65, 1)], "1"), [(0, 0), (1, 1), (65, 1)]),
    (Xform(96, [(3,), (95,)], "1"), [(3,), (95,)]),
]


def every(template: Template, points: list[Point]) -> Functions:
    found = template.functions(points)
    assert found is not None
    return found


def vectors(template: Template, points: list[Point]) -> list[tuple[tuple[int, ...], Choice]]:
    """Every choice there is, with its values at all points."""
    return [
        (tuple(int(template.at(OneChoice(choice), p)) for p in points), choice)
        for choice in itertools.product(*template.components)
    ]


def size_of(template: Template) -> int:
    return template.n if isinstance(template, Xform | Part) else 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("template", "points"), [*TEMPLATES, *WIDE])
def test_what_is_kept_and_given_is_what_choices_say(template: Template, points: list[Point]) -> None:
    """After values are ruled out at random, step by step, the functions left are those that avoid them all."""
    random, size = Random(0), size_of(template)
    some = vectors(template, points) if template.size() < 20_000 else None
    if some is None:
        shape = [len(c) for c in template.components]
        numbers = [np.unravel_index(random.randrange(int(template.size())), shape) for _ in range(2000)]
        choices = [tuple(c[int(j)] for c, j in zip(template.components, n, strict=True)) for n in numbers]
        some = [(tuple(int(template.at(OneChoice(c), p)) for p in points), c) for c in choices]
    whole = template.size() < 20_000
    for _ in range(4):
        left, still = every(template, points), some
        for _ in range(4):
            places = np.array(random.sample(range(len(points)), random.randint(1, len(points))))
            allowed = np.array([[random.random() < 0.7 for _ in range(size)] for _ in places])
            how, which = random.choice([(left.keep, all), (left.keep_any, any)])
            left = how(places, allowed)
            still = [s for s in still if which(a[s[0][p]] for p, a in zip(places, allowed, strict=True))]
            given = left.given(np.arange(len(points)), np.ones((len(points), size), np.bool_))
            assert (left.count > 0) == (len(still) > 0) or not whole
            wanted = np.zeros((len(points), size), np.bool_)
            for values, _choice in still:
                wanted[np.arange(len(points)), values] = True
            assert (given >= wanted).all(), "no function is lost"
            if whole:
                assert (given == wanted).all(), "and none is there that was ruled out"
            for choice in itertools.islice(left.choices(), 20):
                values = [int(template.at(OneChoice(choice), p)) for p in points]
                assert given[np.arange(len(points)), values].all()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("at_once", [1, 100])
def test_what_is_done_in_parts_is_the_same(at_once: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few shifts at a time, and a part of the functions asked first: what is kept and given does not change."""
    random, points, size = Random(seed), grid(6, 5), 6
    whole = every(Xform(size, points, "3"), points)
    places = np.array(sorted(random.sample(range(len(points)), 10)))
    allowed = np.array([[random.random() < 0.8 for _ in range(size)] for _ in places])
    asked = np.arange(len(points)), np.array([[random.random() < 0.9 for _ in range(size)] for _ in points])

    def looked_at() -> list[object]:
        kept, any_kept = whole.keep(places, allowed), whole.keep_any(places, allowed)
        return [(some.count, some.given(*asked).tolist(), set(some.choices())) for some in (kept, any_kept)]

    at_a_time = looked_at()
    monkeypatch.setattr(xform_functions, "LARGE", 1)
    monkeypatch.setattr(xform_functions, "AT_ONCE", at_once)
    assert looked_at() == at_a_time


@pytest.mark.parametrize(("template", "points"), [*TEMPLATES[:2], *TEMPLATES[3:5], WIDE[0]])
def test_functions_that_agree_have_no_two_values_that_exclude_each_other(
    template: Template, points: list[Point]
) -> None:
    """Of sets of 32 and of 64 bits alike."""
    random, size, known = Random(3), size_of(template), vectors(template, points)
    for _ in range(3):
        pairs = random.sample(list(itertools.combinations(range(len(points)), 2)), 1 + (len(points) > 2))
        apart = {pair: np.array([[random.random() < 0.4 for _ in range(size)] for _ in range(size)]) for pair in pairs}
        left = every(template, points)
        assert isinstance(left, Xforms)
        agree = {c for v, c in known if not any(out[v[a], v[b]] for (a, b), out in apart.items())}
        assert set(left.agreeing(apart).choices()) == agree


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("template", "points"), TEMPLATES[:5])
def test_functions_one_by_one_are_those_that_choices_say(template: Template, points: list[Point]) -> None:
    draw, places = Random(len(points)), np.arange(len(points))
    left = every(template, points).keep(places[:1], np.array([[draw.random() < 0.7 for _ in range(size_of(template))]]))
    assert isinstance(left, Xforms)
    while left.count:
        listed = left.values(places)
        values = {tuple(int(template.at(OneChoice(choice), p)) for p in points) for choice in left.choices()}
        assert {tuple(line) for line in listed.tolist()} == values
        some = np.array([draw.random() < 0.5 for _ in listed])
        left = left.only(some)
        assert left.values(places).tolist() == listed[some].tolist()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("template", "points"), TEMPLATES)
def test_the_choices_left_are_those_that_fit(template: Template, points: list[Point]) -> None:
    """Of one function, all choices that are it are found, and no others."""
    known = vectors(template, points)
    for values, _ in Random(1).sample(known, min(len(known), 20)):
        only = np.arange(size_of(template)) == np.array(values)[:, None]
        left = every(template, points).keep(np.arange(len(points)), only)
        if isinstance(template, Xform):
            assert isinstance(left, Xforms)
        else:
            assert isinstance(left, Rows)
        assert {c for v, c in known if v == values} == set(left.choices())
        assert left.choice() in set(left.choices()) and left.count >= 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("template", "points"), TEMPLATES)
def test_the_simplest_choice_is_the_templates(template: Template, points: list[Point]) -> None:
    """What reads best is what `Template.simplest` says; of a function that the template lacks, nothing does."""
    simplest, known = Simplest(template, points), vectors(template, points)
    for values, _ in Random(2).sample(known, min(len(known), 30)):
        wanted, found = template.simplest(points, values), simplest.of(values)
        assert wanted is not None and found is not None
        if isinstance(template, Xform):
            assert template.weight(found) == template.weight(wanted)
            assert tuple(int(template.at(OneChoice(found), p)) for p in points) == values
        else:
            assert found == wanted
    strange = tuple(place % 2 for place in range(len(points)))
    assert (simplest.of(strange) is None) == (strange not in {v for v, _ in known})


LISTED: list[tuple[int, str, list[Point]]] = [
    (6, "3", grid(6, 3)),
    (8, "3", [(i, k) for i in range(8) for k in (-2, -1, 3)]),
    (12, "3", grid(12, 1)),
    (9, "3", [(i,) for i in (1, 4, 7)]),
    (4, "3", [(i, k) for i in (0, 3) for k in (0, 1, 5)]),
    (6, "1", [(i, k) for i in range(6) for k in (1, 3)]),
    (1, "3", grid(1, 2)),
]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("most", [1_000_000, 300, 0])
@pytest.mark.parametrize(("n", "space", "points"), LISTED)
def test_of_a_large_hole_no_function_is_lost(
    n: int, space: str, points: list[Point], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept as amounts of shapes is a superset, what is listed is exact, and so is one value a point."""
    monkeypatch.setattr(xform_lists, "MOST_LISTED", most)
    random, template, everywhere = Random(n), Xform(n, points, space), np.arange(len(points))
    some = vectors(template, points)
    for _ in range(3):
        left, still = ListedXforms.everything(template, points), some
        for _ in range(4):
            target, rate = random.choice(still)[0], random.choice([0.0, 0.1, 0.5, 0.9])
            places = np.array(random.sample(range(len(points)), random.randint(1, len(points) if rate else 2)))
            allowed = np.array([[random.random() < rate or v == target[p] for v in range(n)] for p in places])
            how, which = random.choice([(left.keep, all), (left.keep_any, any)])
            left = how(places, allowed)
            still = [s for s in still if which(a[s[0][p]] for p, a in zip(places, allowed, strict=True))]
            given = left.given(everywhere, np.ones((len(points), n), np.bool_))
            wanted = np.zeros_like(given)
            for values, _choice in still:
                wanted[everywhere, values] = True
            assert (given >= wanted).all() and left.count >= len({values for values, _ in still})
            if most == 1_000_000:
                assert left.listed is not None and (given == wanted).all()
            assert most != 1_000_000 or len(still) > 500 or set(left.choices()) == {choice for _, choice in still}
        target = random.choice(still)[0]
        left = left.keep(everywhere, np.array(target)[:, None] == np.arange(n))
        assert set(left.choices()) == {choice for values, choice in some if values == target} & {c for _, c in still}
        assert values_at(template, left.simplest(), points) == target
        strange = tuple((v * v + p) % n for p, v in enumerate(target))
        none = ListedXforms.everything(template, points).keep(everywhere, np.array(strange)[:, None] == np.arange(n))
        assert (none.count > 0) == (strange in {values for values, _ in some})


def values_at(template: Template, choice: Choice, points: list[Point]) -> tuple[int, ...]:
    return tuple(int(template.at(OneChoice(choice), p)) for p in points)


def test_a_hole_of_1024_elements_has_all_its_functions_in_hand() -> None:
    """Two thousand million of Space 3, of which a few points single out one, and then say that there is none."""
    points = grid(1024, 8)
    template = Xform(1024, points, "3")
    whole = every(template, points)
    wanted = np.array([(i // 256 * 256 + (5 * i + 3 * k + k // 2) % 256) for i, k in points])
    places = np.array([0, 7, 8, 4095, 8191])
    left = whole.keep(places, wanted[places, None] == np.arange(1024))
    assert 1 <= left.count < 5000
    left = left.keep(np.arange(len(points)), wanted[:, None] == np.arange(1024))
    assert values_at(template, left.simplest(), points) == tuple(wanted.tolist())
    assert left.keep(places, (wanted[places, None] + 1) % 1024 == np.arange(1024)).count == 0


def test_too_many_functions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition into many parts has more functions than fit side by side, an index shapes and rates at most."""
    points = grid(32, 8)
    assert Part(5, 2, points, "2").functions(points) is None
    monkeypatch.setattr("templates.xform.MOST_SETS", 1000)
    assert Xform(32, points, "3").functions(points) is None


def test_what_is_free_makes_formulas_simpler() -> None:
    """Values that nobody asks for may be anything."""
    points = grid(8, 3)
    template = Xform(8, points, "3")
    simplest = Simplest(template, points)
    for _, choice in Random(3).sample(vectors(Xform(8, points, "1"), points), 10):
        values = [int(template.at(OneChoice(choice), p)) for p in points]
        free = [None if p[0] > 3 else v for p, v in zip(points, values, strict=True)]
        found, wanted = simplest.of(free), template.simplest(points, free)
        assert found is not None and wanted is not None
        assert template.weight(found) == template.weight(wanted) <= template.weight(choice)
        assert all(f is None or int(template.at(OneChoice(found), p)) == f for p, f in zip(points, free, strict=True))
