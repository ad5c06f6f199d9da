"""Templates: the three readings of one description agree, and the spaces hold what the paper says."""

import inspect
import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swizzle.language.surface import HOLES
from symbolic.ir.program import DType
from symbolic.solve.answer import Possible
from symbolic.solve.guard_solver import GuardSolver
from symbolic.values.guard import Guards
from templates.chooser import ColumnChooser, OneChoice, OpenChooser
from templates.cond import Cond, Part
from templates.holes import BY_SPELLING, HOLE_KINDS, SPACES, Point
from templates.registry import FAMILIES
from templates.template import Template, matching
from templates.xform import Xform


def all_choices(made: Template) -> list[Any]:
    return list(itertools.product(*made.components))


def small_templates() -> list[tuple[str, Template, list[Point]]]:
    found = []
    for space in SPACES:
        grid = list(itertools.product(range(4), range(3)))
        found.append((f"xform {space}", Xform(4, grid, space), grid))
        found.append((f"xform without k {space}", Xform(6, [(i,) for i in range(6)], space), [(i,) for i in range(6)]))
        found.append((f"cond {space}", Cond(2, grid, space), grid))
        found.append((f"part {space}", Part(2, 2, grid, space), grid))
    found.append(("part of three", Part(3, 1, [(i,) for i in range(3)], "2"), [(i,) for i in range(3)]))
    return found


@pytest.mark.parametrize(("name", "made", "points"), small_templates(), ids=lambda p: p if isinstance(p, str) else "")
def test_at_agrees_with_the_formula_on_lanes(name: str, made: Template, points: list[Point]) -> None:
    """The structured description equals the paper's formula computed by NumPy, for every choice, one or many."""
    lanes = [np.array(c) for c in zip(*points, strict=True)]
    some = all_choices(made)[:: 1 + int(made.size()) // 500]
    assert tuple(each[0] for each in made.components) == made.some
    for choice, line in zip(some, made.tables(some, lanes).tolist(), strict=True):
        structured = [made.at(OneChoice(choice), p) for p in points]
        assert structured == np.broadcast_to(made.apply(choice, lanes), len(points)).tolist() == line, choice


@pytest.mark.parametrize(("name", "made", "points"), small_templates(), ids=lambda p: p if isinstance(p, str) else "")
def test_columns_are_all_choices_side_by_side(name: str, made: Template, points: list[Point]) -> None:
    """A column holds, row by row, what each single choice gives."""
    everything = ColumnChooser.everything(made.components)
    for point in points[:3]:
        column = made.at(everything, point)
        for row in range(0, len(everything), 1 + len(everything) // 300):
            expected = made.at(OneChoice(everything.choice(row)), point)
            assert column.values[column.codes[row]] == expected


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_an_open_hole_agrees_with_the_choice_that_the_solver_made(data: st.DataObject) -> None:
    """Asked for a value at a point, the solver's model is a choice that has it; unsat means that none has."""
    name, made, points = data.draw(st.sampled_from(small_templates()))
    point = data.draw(st.sampled_from(points))
    other = data.draw(st.sampled_from(points))
    value, second = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    guards = Guards()
    open_hole: OpenChooser[Any] = OpenChooser(guards, made.components)
    guards.add([made.at(open_hole, point).is_(value)])
    guards.add([made.at(open_hole, other).is_(second)])
    with GuardSolver(guards, "z3") as solver:
        answer = solver.check()
        expected = [c for c in all_choices(made) if made.at(OneChoice(c), point) == value]
        expected = [c for c in expected if made.at(OneChoice(c), other) == second]
        assert isinstance(answer, Possible) == bool(expected), name
        if isinstance(answer, Possible):
            chosen = open_hole.chosen(answer.holds)
            assert chosen in expected


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_simplest_denotes_the_same_function(data: st.DataObject) -> None:
    """The simplest formula of a function has that function's values, also where some are free."""
    _, made, points = data.draw(st.sampled_from(small_templates()))
    choice = data.draw(st.sampled_from(all_choices(made)))
    free = data.draw(st.sets(st.sampled_from(points)))
    values = [None if p in free else made.at(OneChoice(choice), p) for p in points]
    found = made.simplest(points, values)
    assert found is not None
    assert all(v is None or made.at(OneChoice(found), p) == v for p, v in zip(points, values, strict=True))


def test_matching_finds_every_choice_of_a_function() -> None:
    """Matching against one function returns exactly the choices that denote it."""
    points = list(itertools.product(range(4), range(3)))
    made = Xform(4, points, "3")
    target = [(i + k) % 4 for i, k in points]
    expected = [c for c in all_choices(made) if [made.at(OneChoice(c), p) for p in points] == target]
    rows = matching(made, points, target)
    assert sorted(map(repr, (rows.choice(r) for r in range(len(rows))))) == sorted(map(repr, expected))
    assert expected


def test_spaces_grow() -> None:
    """Each space holds every function of the one before, and Space 3 of sw_xform holds more."""
    points = list(itertools.product(range(6), range(4)))

    def functions(made: Template) -> set[tuple[Any, ...]]:
        return {tuple(made.at(OneChoice(c), p) for p in points) for c in all_choices(made)}

    one, three = functions(Xform(6, points, "1")), functions(Xform(6, points, "3"))
    assert one < three
    narrow, wide = functions(Cond(2, points, "1")), functions(Cond(2, points, "2"))
    assert narrow < wide


def test_space_1_of_cond_has_no_constant() -> None:
    """With I = 0 the conditions are comparisons of a - b, a + b, 2a with zero, and the two constants."""
    points = list(itertools.product(range(3), range(3)))
    made = Cond(2, points, "1")
    found = {tuple(made.at(OneChoice(c), p) for p in points) for c in all_choices(made)}
    expected = set()
    for form in (lambda a, b: a - b, lambda a, b: a + b, lambda a, b: 2 * a, lambda a, b: 2 * b, lambda a, b: 0):
        for test in (
            lambda v: v == 0,
            lambda v: v != 0,
            lambda v: v <= 0,
            lambda v: v > 0,
            lambda v: v < 0,
            lambda v: v >= 0,
        ):
            expected.add(tuple(test(form(a, b)) for a, b in points))
    assert found == expected


def test_the_full_space_of_cond_is_the_grammar_of_section_5_1() -> None:
    """Space 2 is v cmp (I + v') and v cmp (I - v') for every integer I."""
    points = list(itertools.product(range(3), range(4)))
    made = Cond(2, points, "2")
    found = {tuple(made.at(OneChoice(c), p) for p in points) for c in all_choices(made)}
    comparisons = (
        lambda a, b: a == b,
        lambda a, b: a != b,
        lambda a, b: a >= b,
        lambda a, b: a > b,
        lambda a, b: a <= b,
        lambda a, b: a < b,
    )
    expected = set()
    for left, right, constant, way in itertools.product((0, 1), (0, 1), range(-12, 13), (1, -1)):
        for compare in comparisons:
            expected.add(tuple(compare(p[left], constant + way * p[right]) for p in points))
    assert found == expected


def test_space_3_of_xform_is_equations_2_to_7() -> None:
    """Every choice of constants that the equations allow, by brute force over the primitives."""
    from templates.primitives import xform

    points = list(itertools.product(range(4), range(3)))
    made = Xform(4, points, "3")
    found = {tuple(made.at(OneChoice(c), p) for p in points) for c in all_choices(made)}
    expected = set()
    for gs in (1, 2, 4):
        for d_f in (d for d in range(1, gs + 1) if gs % d == 0):
            for c_f, wrap, c_r, d_r, c in itertools.product(range(gs), (False, True), range(4), range(1, 4), range(4)):
                if c_f % (gs // d_f) == 0 and not (wrap and gs == d_f):
                    expected.add(tuple(xform(gs, c_f, d_f, wrap, k * c_r + k // d_r + c, i) for i, k in points))
    assert found == expected


def test_the_language_has_the_holes_of_the_registry() -> None:
    """The surface's functions, written out for their documentation, take what the table of holes says."""
    assert list(HOLES) == list(BY_SPELLING)
    for name, function in HOLES.items():
        kind, parameters = BY_SPELLING[name], inspect.signature(function).parameters
        assert list(parameters) == [argument.name for argument in kind.arguments]
        for argument in kind.arguments:
            parameter = parameters[argument.name]
            many = parameter.kind is inspect.Parameter.VAR_POSITIONAL
            assert many == (argument.role == "indices")
            assert parameter.annotation == ("str" if argument.role == "families" else "int")
            assert parameter.default == (inspect.Parameter.empty if argument.default is None else argument.default)
        assert inspect.signature(function).return_annotation == ("bool" if kind.gives is DType.BOOL else "int")
        text = (function.__doc__ or "").replace("\n", " ")
        assert kind.size is not None or f"at most {kind.largest}" in re.sub(" +", " ", text)


def test_every_family_is_where_a_hole_names_it() -> None:
    """The table of holes names families of the registry, each of its own kind of hole or one like it."""
    for kind in HOLE_KINDS.values():
        assert tuple(kind.spaces) == SPACES
        for names in kind.spaces.values():
            assert all(FAMILIES[name].kind == kind.family_kind for name in names)


def test_a_comparison_of_arguments_reads_better_than_one_with_a_number() -> None:
    """Where one of them is always the same, both are the same function."""
    points = [(v, 4) for v in range(8)]
    made = Cond(2, points, "2")
    for right, words in ((lambda v: v < 4, "keep when lane < k"), (lambda v: v <= 4, "keep when lane <= k")):
        choice = made.simplest(points, [right(v) for v, _ in points])
        assert choice is not None and made.words(choice, ("lane", "k")) == words
