"""What the independent route says a hole may be: against `templates`, and the naive template against brute force."""

import itertools
import time
from collections.abc import Callable, Iterator
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pysmt.shortcuts import FALSE, TRUE

from symbolic.errors import Place
from symbolic.ir.program import Hole
from symbolic.limits import OutOfTime
from templates.naive import naive_xform
from templates.registry import template
from templates.second.groups import Description
from templates.second.registry import hole_of
from templates.second.xform import NaiveHole

PLACE = Place("-", 1, 1)
PAIRS = [(i, k) for i in range(4) for k in range(3)]
HOLES = [
    (Hole("a", "xform", 4, ("i", "k"), PLACE), PAIRS),
    (Hole("a", "xform", 6, ("i",), PLACE), [(i,) for i in range(6)]),
    (Hole("a", "cond", 2, ("i", "k"), PLACE), PAIRS),
    (Hole("a", "cond", 2, ("i",), PLACE), [(i,) for i in (-1, 0, 3)]),
    (Hole("a", "part", 3, ("i",), PLACE), [(i,) for i in range(3)]),
    (Hole("a", "index", 4, ("i", "k"), PLACE, ("rotate",)), PAIRS),
    (Hole("a", "index", 30, ("i",), PLACE, ("pad",)), [(i,) for i in range(18)]),
    (Hole("a", "index", 3, ("i",), PLACE, ("xor", "rotate")), [(i,) for i in range(3)]),
]
NAIVE = [
    (Hole("a", "xform", 3, ("i", "k"), PLACE), [(i, k) for i in range(3) for k in range(2)]),
    (Hole("a", "xform", 2, ("i", "k", "j"), PLACE), [(0, 0, 3), (1, 2, 0), (1, 0, 1)]),
    (Hole("a", "xform", 5, ("i",), PLACE), [(i,) for i in range(5)]),
    (Hole("a", "xform", 4, ("i", "k"), PLACE), [(i, k) for i in range(4) for k in (-2, 5)]),
    (Hole("a", "xform", 4, ("i",), PLACE), []),
]


def fillings(mine: Description) -> Iterator[tuple[Any, ...]]:
    """Yield every choice of a hole, as the literals that hold; of a naive hole, what its production leaves out is 0."""
    literals = [group.literals for group in mine.groups]
    if not isinstance(mine, NaiveHole):
        yield from itertools.product(*literals)
        return
    (plus, minus, by), left, right, scaled = literals
    yield from itertools.product((plus, minus), left, right, scaled[:1])
    yield from itertools.product((by,), left[:1], right[:1], scaled)


def function(mine: Description, rows: tuple[Any, ...]) -> Callable[[Any], Any]:
    return mine.filled(SimpleNamespace(true=lambda literal: literal in rows))


def values_of(function: Callable[[Any], Any], points: Any, arity: int) -> tuple[int, ...]:
    columns = [np.array([p[j] for p in points], np.int64) for j in range(arity)]
    return tuple(np.broadcast_to(np.asarray(function(columns)), (len(points),)).astype(int).tolist())


@pytest.mark.parametrize(("hole", "points"), HOLES)
@pytest.mark.parametrize("space", ["1", "2", "3"])
def test_the_templates_are_the_same(hole: Hole, points: Any, space: Any) -> None:
    """Both descriptions of a template denote the same functions."""
    mine, arity = hole_of(hole, points, space), len(hole.arguments)
    made = template(hole, points, space)
    assert {values_of(function(mine, rows), points, arity) for rows in fillings(mine)} == {
        values_of(lambda columns, c=c: made.apply(c, columns), points, arity)  # type: ignore[misc]
        for c in itertools.product(*made.components)
    }


def texts(depth: int, names: tuple[str, ...], last: int, values: Callable[[str], Any]) -> list[str]:
    """Return equation 1's expressions as Python text, one of each function."""
    found = [*names, *map(str, range(last + 1))]
    if depth:
        below = texts(depth - 1, names, last, values)
        found += [f"({a}) {op} ({b})" for op in "+-" for a in below for b in below]
        found += [f"({a}) {op} {c}" for op in ("*", "//", "%") for a in below for c in range(1, last + 1)]
    return list({values(text): text for text in found}.values())


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("hole", "points"), NAIVE)
@pytest.mark.parametrize("depth", [1, 2])
def test_the_naive_template_is_equation_1(hole: Hole, points: Any, depth: Any) -> None:
    """Its functions are those of all expressions, evaluated by Python, and those of the search's template."""
    n, names = hole.size, hole.arguments
    last = max([n, *(v for p in points for v in p)])
    mine = hole_of(hole, points, "1", depth)
    found = {values_of(function(mine, rows), points, len(names)) for rows in fillings(mine)}

    def values(text: str) -> tuple[int, ...]:
        code = compile(text, "-", "eval")
        return tuple(eval(code, dict(zip(names, p, strict=True))) for p in points)

    brute = texts(depth, names, last, values)
    assert found == {tuple(v % n for v in values(text)) for text in brute}
    made = naive_xform(hole, tuple(points), depth)
    assert found == {
        values_of(lambda columns, c=c: made.apply(c, columns), points, len(names))  # type: ignore[misc]
        for c in itertools.product(*made.components)
    }


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("hole", "points", "depth"), [(*h, 0) for h in HOLES] + [(*h, d) for h in NAIVE for d in (1, 2)]
)
def test_the_formulas_say_what_the_function_does(hole: Hole, points: Any, depth: Any) -> None:
    """At each point, the one case that holds of a choice is the value of the function that it is filled with."""
    mine = hole_of(hole, points, "2", depth)
    every, random = list(fillings(mine)), Random(0)
    for rows in random.sample(every, min(12, len(every))):
        wanted = values_of(function(mine, rows), points, len(hole.arguments))
        held = {literal: TRUE() if literal in rows else FALSE() for g in mine.groups for literal in g.literals}
        assert all(g.rule.substitute(held).simplify().is_true() for g in mine.groups)
        for point, value in zip(points, wanted, strict=True):
            cases = mine.at(point)
            assert [v for v, f in cases.items() if f.substitute(held).simplify().is_true()] == [value]


def test_expressions_are_written_down_until_the_deadline() -> None:
    """A hole with too many expressions ends in time."""
    hole, points = Hole("a", "xform", 1024, ("i",), PLACE), [(i,) for i in range(1024)]
    with pytest.raises(OutOfTime):
        hole_of(hole, points, "1", 2, time.monotonic() + 0.2)
