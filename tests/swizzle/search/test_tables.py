"""Search by function tables and search by a solver say the same."""

import itertools

import numpy as np
import pytest

from swizzle.problem.candidate import Candidate, NoFilling
from swizzle.problem.many import Many
from swizzle.problem.problem import Problem
from swizzle.search.cegis import Cegis
from swizzle.search.metasketch import solve
from swizzle.search.tables import Tables, TooManyNodes
from swizzle.sketches.loading import load
from swizzle.solution.solution import Limits
from templates.chooser import Choice
from templates.holes import Space
from templates.template import Template
from templates.xform import Xform
from tests.sketches import kernel
from tests.test_case_studies import CASES


def quiet(_: str) -> None:
    pass


def problem(file: str, sketch: str, **parameters: int) -> Problem:
    found = load(str(CASES / file), sketch, parameters)[0]
    return Problem.of(found.program, found.spec)


@pytest.mark.parametrize(
    ("file", "sketch", "parameters"),
    [
        ("aos_store.py", "crc", {"warp_size": 4, "struct_size": 3}),
        ("aos_store.py", "crc", {"warp_size": 8, "struct_size": 2}),
        ("aos_store.py", "rcr", {"warp_size": 4, "struct_size": 3}),
        ("aos_sum.py", "crc", {"warp_size": 4, "struct_size": 3}),
        ("aos_sum.py", "crc", {"warp_size": 8, "struct_size": 2}),
        ("conv1d.py", "conv1d", {"warp_size": 4}),
    ],
)
@pytest.mark.parametrize("space", ["1", "3"])
def test_all_solutions_are_those_of_a_solver(file: str, sketch: str, parameters: dict[str, int], space: Space) -> None:
    """Every solution the tables give is new to the solver, and with all of them ruled out it finds none."""
    posed = problem(file, sketch, **parameters)
    with Tables(posed, None, quiet) as tables, Cegis(posed, space, "cadical", None, quiet) as cegis:
        for count, candidate in enumerate(tables.candidates(space)):
            if count == 40:
                return
            assert isinstance(cegis.find(), Candidate)
            cegis.forbid(candidate)
        assert isinstance(cegis.find(), NoFilling)


@pytest.mark.parametrize(
    ("file", "sketch", "space"),
    [
        ("aos_store.py", "rcr", "1"),
        ("aos_store.py", "rcr", "3"),
        ("aos_sum.py", "crc", "3"),
        ("conv1d.py", "conv1d", "2"),
    ],
)
def test_solutions_come_with_their_values_and_simplest_formulas(file: str, sketch: str, space: Space) -> None:
    """What a candidate says of itself is what its choices give, and no choice with those values reads simpler."""
    posed = problem(file, sketch, warp_size=4)
    templates, many = posed.templates(space), Many(posed)
    with Tables(posed, None, quiet) as tables:
        for candidate in itertools.islice(tables.candidates(space), 20):
            given = many.chosen(templates, candidate.choices)
            assert candidate.values is not None and all(map(np.array_equal, candidate.values, given))
            for made, choice, points, values in zip(templates, candidate.choices, posed.points, given, strict=True):
                assert complexity(made, choice) == complexity(made, made.simplest(points, values.tolist()))


def complexity(made: Template, choice: Choice | None) -> object:
    """Return how a choice reads, or the choice itself."""
    return made.weight(choice) if isinstance(made, Xform) and choice is not None else choice


def test_sizes_that_share_a_factor_with_the_warp_in_a_way_no_template_has() -> None:
    """Structures of six words cannot be transposed by column, row and column shuffles of any space."""
    with Tables(problem("aos_store.py", "crc", struct_size=6), None, quiet) as tables:
        assert list(tables.candidates("3")) == []


@pytest.mark.parametrize(
    ("name", "size", "status"),
    [
        pytest.param("rcr", 48, "unsat", marks=pytest.mark.slow),
        pytest.param("rcr", 64, "sat", marks=pytest.mark.slow),
        pytest.param("crc", 48, "unsat", marks=pytest.mark.slow),
        pytest.param("crc", 64, "sat", marks=pytest.mark.slow),
    ],
)
def test_large_structures_are_decided(name: str, size: int, status: str) -> None:
    """Tables hold the functions of 64 words; a solver was asked before, and came to no end."""
    (sketch,) = load(str(CASES / "aos_store.py"), name, {"struct_size": size})
    assert solve(sketch, Limits(timeout=100)).status == status


def test_what_was_learnt_in_one_space_says_nothing_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Space by space in any order, with a fresh start after every failure: each has the solutions that it has alone."""
    monkeypatch.setattr("swizzle.search.tables.FIRST_FAILURES", 1)
    monkeypatch.setattr("swizzle.search.tables.MORE_FAILURES", 1.1)
    posed = problem("aos_store.py", "rcr", warp_size=4, struct_size=3)

    def alone(space: Space) -> int:
        with Tables(posed, None, quiet) as tables:
            return len(list(tables.candidates(space)))

    with Tables(posed, None, quiet) as tables:
        for space in ("1", "3", "1", "2", "3"):
            assert len(list(tables.candidates(space))) == alone(space)


def test_a_point_that_no_thread_asks_is_not_a_point_of_the_tables() -> None:
    """Where only some threads store, the others' arguments are no points of the hole, and demand nothing."""
    text = "lane = cuda.laneid\nif lane < 2:\n    y[?sw_xform(lane, 4, lane // 2)] = x[?sw_xform(lane, 4)]"
    found = kernel(text, spec="[x[1], x[2]]", arguments="x=i32[4], y=i32.out[2]", block=4, grid=1)
    posed = Problem.of(found.program, found.spec)
    with Tables(posed, None, quiet) as tables, Cegis(posed, "3", "cadical", None, quiet) as cegis:
        solutions = list(tables.candidates("3"))
        for candidate in solutions:
            assert isinstance(cegis.find(), Candidate)
            cegis.forbid(candidate)
        assert solutions and isinstance(cegis.find(), NoFilling)


def test_the_limit_on_nodes_holds() -> None:
    """Past it the search gives up rather than answer."""
    posed = problem("aos_store.py", "crc", struct_size=6)
    with Tables(posed, None, quiet) as tables, pytest.raises(TooManyNodes):
        list(tables.candidates("3", node_limit=1))


def test_wrong_fillings_are_counted() -> None:
    """Each filling that the problem's run refutes is one counterexample, and is reported."""
    posed, told = problem("aos_store.py", "rcr", warp_size=4, struct_size=3), list[str]()
    with Tables(posed, None, told.append) as tables:
        assert list(tables.candidates("1"))
        assert tables.counterexamples == told.count("looking for a filling") > 0
