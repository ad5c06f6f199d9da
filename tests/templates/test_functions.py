"""Sets of functions against the templates' own definition, one choice at a time."""

import itertools
from random import Random

import numpy as np
import pytest

from templates import xform_functions
from templates.chooser import Choice, OneChoice
from templates.cond import Cond
from templates.functions import Functions, Rows, Simplest
from templates.holes import Point
from templates.part import Part
from templates.template import Template
from templates.xform import Xform
from templates.xform_functions import Xforms


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
    for _ in range(8):
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


def test_too_many_functions_are_refused() -> None:
    """A partition into many parts has more functions than fit side by side."""
    points = grid(32, 8)
    assert Part(5, 2, points, "2").functions(points) is None
    assert Xform(512, grid(512, 64), "3").functions(grid(512, 64)) is None


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
