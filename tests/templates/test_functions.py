"""Function tables against the templates' own definition."""

from random import Random

import numpy as np
import pytest

from templates.chooser import OneChoice
from templates.functions import functions
from templates.holes import Cond, Part, Template, Xform

TEMPLATES = [
    (Xform(6, [(i, k) for i in range(6) for k in range(3)], "3"), [(i, k) for i in range(6) for k in range(3)]),
    (Xform(4, [(i, k) for i in (0, 3) for k in (0, 1, 5)], "3"), [(i, k) for i in (0, 3) for k in (0, 1, 5)]),
    (Xform(4, [(i,) for i in range(4)], "1"), [(i,) for i in range(4)]),
    (Cond(2, [(i, k) for i in range(4) for k in range(3)], "2"), [(i, k) for i in range(4) for k in range(3)]),
    (Part(3, 1, [(i,) for i in range(3)], "2"), [(i,) for i in range(3)]),
    (Part(1, 1, [(0,)], "1"), [(0,)]),
]


@pytest.mark.parametrize(("template", "points"), TEMPLATES)
def test_rows_are_what_their_constants_denote(template: Template, points: list[tuple[int, ...]]) -> None:
    """A row's values are those of its choice, at every point."""
    table = functions(template, points)
    assert table is not None
    some = np.array(Random(0).sample(range(table.count), min(table.count, 300)), np.int32)
    values = table.values(points, some)
    for column, row in enumerate(some.tolist()):
        choice = table.choice(row)
        assert values[:, column].tolist() == [int(template.at(OneChoice(choice), p)) for p in points]


@pytest.mark.parametrize(("template", "points"), TEMPLATES)
@pytest.mark.parametrize("told_apart_by", [1, 2, None])
def test_no_function_is_missing(template: Template, points: list[tuple[int, ...]], told_apart_by: int | None) -> None:
    """On the points that tell functions apart, the rows have every behaviour that a choice has."""
    some = points[:told_apart_by]
    table = functions(template, some)
    assert table is not None
    rows = table.values(some, np.arange(table.count, dtype=np.int32)).T
    choices = Random(1).sample(range(int(template.size())), min(int(template.size()), 2000))
    shape = [len(c) for c in template.components]
    wanted = set()
    for number in choices:
        picked = np.unravel_index(number, shape)
        choice = tuple(c[int(j)] for c, j in zip(template.components, picked, strict=True))
        wanted.add(tuple(int(template.at(OneChoice(choice), p)) for p in some))
    assert wanted <= set(map(tuple, rows.tolist()))


def test_too_many_rows_are_refused() -> None:
    """A partition into many parts has more functions than fit side by side."""
    points = [(i, k) for i in range(32) for k in range(8)]
    assert functions(Part(5, 2, points, "2"), points) is None
