"""What a demand asks of one hole alone holds of every filling that is right, and says something."""

import pytest

from swizzle.sketches.loading import load
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.point_values import PointValue, Projector
from swizzle.solving.search.tables import Tables
from templates.holes import Space
from tests.sketches import kernel
from tests.test_case_studies import CASES


def quiet(_: str) -> None:
    pass


def test_a_value_that_a_case_needs() -> None:
    """Whether hole 0 is 0 or 1 at its only point, hole 1 must be 2 at its first point or 0 at its second."""
    projector = Projector()
    projector.add(0, 0, (0,), [2, 3])
    projector.add(1, 0, (0,), [4, 5, 6])
    projector.add(1, 1, (1,), [7, 8, 9])
    (found,) = projector.projections([[2, 3], [-2, 6], [-3, 7]])
    assert set(found) == {PointValue(1, 0, 2), PointValue(1, 1, 0)}


def test_values_that_can_be_done_without() -> None:
    """What a third value allows is not asked; a clause that any value meets asks nothing."""
    projector = Projector()
    projector.add(0, 0, (0,), [2, 3, 7])
    projector.add(1, 0, (0,), [4, 5, 6])
    assert not list(projector.projections([[-2, 6], [-3, 4]]))
    assert not list(projector.projections([[-2, 4, 5, 6]]))
    assert not list(projector.projections([]))


def test_each_of_several_values_that_are_needed() -> None:
    """Two cases of a hole at two points, and both are needed: each value is to be had at one of the points."""
    projector = Projector()
    projector.add(0, 0, (0,), [2, 3, 4])
    projector.add(0, 1, (1,), [5, 6, 7])
    found = projector.projections([[8, 9], [-8, 2], [-9, 5], [10, 11], [-10, 3], [-11, 6]])
    assert {frozenset(spots) for spots in found} == {
        frozenset((PointValue(0, 0, 0), PointValue(0, 1, 0))),
        frozenset((PointValue(0, 0, 1), PointValue(0, 1, 1))),
    }


def test_one_of_several_values_at_points_that_are_alike() -> None:
    """Neither value is needed at both times 0 and 1, but one of some is at each; the points are (time, lane)."""
    projector = Projector()
    for time in (0, 1):
        first = 10 * time + 2
        projector.add(0, time, (time,), [first, first + 1])
        for lane in (0, 1):
            guards = [first + 2 + 3 * lane + value for value in range(3)]
            projector.add(1, 2 * time + lane, (time, lane), guards)
    cases = [
        [-(10 * time + 2 + lane), 10 * time + 4 + 3 * lane, 10 * time + 5 + 3 * lane]
        for time in (0, 1)
        for lane in (0, 1)
    ]
    found = {frozenset((spot.line, spot.value) for spot in some) for some in projector.projections(cases)}
    assert found == {frozenset((2 * time + lane, value) for lane in (0, 1) for value in (0, 1)) for time in (0, 1)}


def test_conditions_are_called_for_by_either_sign() -> None:
    """A condition that must hold at one of two points, or not hold at a third."""
    projector = Projector()
    projector.add(0, 0, (0,), [2, 3])
    for line, guard in enumerate((4, 5, 6)):
        projector.add(1, line, (line,), [-guard, guard])
    (found,) = projector.projections([[2, 3], [-2, 4, -6], [-3, 5]])
    assert set(found) == {PointValue(1, 0, 1), PointValue(1, 1, 1), PointValue(1, 2, 0)}


@pytest.mark.parametrize("struct_size", [2, 3])
@pytest.mark.parametrize("sketch", ["rcr", "crc"])
@pytest.mark.parametrize("space", ["1", "3"])
def test_no_right_filling_is_left_out(sketch: str, struct_size: int, space: Space) -> None:
    """Every solution takes one of the spots that each projection names, and some functions take none."""
    found = load(str(CASES / "aos_store.py"), sketch, {"warp_size": 4, "struct_size": struct_size})[0]
    problem = Problem.of(found.program, found.spec)
    with Tables(problem, None, quiet) as tables:
        solutions = [problem.answers(tables.templates, c.choices) for c in tables.candidates(space)]
        for some in tables._one_of:
            points = [tables._values.asked[spot.hole].points[spot.line] for spot in some]
            for answers in solutions:
                assert any(dict(answers[s.hole])[p] == s.value for s, p in zip(some, points, strict=True))
        every = [made.functions(points) for made, points in zip(tables.templates, problem.points, strict=True)]
        left = [tables._functions[number, made][0] for number, made in enumerate(tables.templates)]
        assert any(whole and some.count < whole.count for whole, some in zip(every, left, strict=True))


def test_a_hole_without_functions_ends_the_search() -> None:
    """No function of Space 1 reverses the lanes and keeps the first one where it is."""
    sketch = kernel(
        "t = cuda.threadIdx.x\ny[t] = x[?sw_xform(t, 8)]", spec="[x[0], x[7], x[6], x[5], x[4], x[3], x[1], x[2]]"
    )
    with Tables(Problem.of(sketch.program, sketch.spec), None, quiet) as tables:
        assert not list(tables.candidates("1"))
        assert tables.nodes <= 1
