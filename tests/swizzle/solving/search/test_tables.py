"""Search by function tables and search by a solver say the same."""

import functools
import itertools
import operator
import random

import numpy as np
import pytest

from swizzle.sketches.loading import load
from swizzle.solving.problem.candidate import Candidate, NoFilling
from swizzle.solving.problem.many import Many
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.cegis import Cegis
from swizzle.solving.search.metasketch import solve
from swizzle.solving.search.tables import Tables, TooManyNodes
from swizzle.solving.solution.solution import Limits
from templates.chooser import Choice
from templates.holes import Space
from templates.template import Template
from templates.xform import Xform
from tests.sketches import kernel
from tests.slow_cases import slow_unless
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


MOVED = "t = cuda.threadIdx.x\nfor k in range(2):\n    y[k * 8 + ?sw_xform(t, 8, k)] = x[k * 8 + ?sw_xform(t, 8, k)]"
SHUFFLED = """
t = cuda.threadIdx.x
own = cuda.local.array(3, i32)
for r in range(3):
    own[r] = x[t + 8 * r]
permute_local(own, lambda r: ?sw_xform(r, 3, t))
for r in range(3):
    y[8 * r + t] = cuda.shfl_sync(cuda.FULL_MASK, own[r], ?sw_xform(t, 8, r))
"""


def in_space_4(draw: random.Random, rounds: int, wild: float) -> list[int]:
    """Return, for each thread of 8 in each round, one of the round's numbers: by maps of bits, turns, or at random."""
    found = []
    columns, offset, turn = [draw.randrange(8) for _ in range(3)], draw.randrange(8), draw.randrange(8)
    for k in range(rounds):
        bits = [[c for j, c in enumerate(columns) if t >> j & 1] for t in range(8)]
        row = [((offset ^ functools.reduce(operator.xor, some, 0)) + k * turn) % 8 for some in bits]
        found += [8 * k + (draw.randrange(8) if draw.random() < wild else value) for value in row]
    return found


@pytest.mark.parametrize("seed", slow_unless(range(40), lambda seed: seed in (0, 1, 2, 4)))
def test_space_4_after_space_3_and_alone_is_as_a_solver_says(seed: int) -> None:
    """Random gathers: what some hole must be a map of bits for is found after Space 3 has nothing, and only then."""
    draw = random.Random(seed)
    rounds = draw.choice((2, 3))
    wanted = in_space_4(draw, rounds, draw.choice((0, 0, 0.1)))
    if rounds == 3:  # rows of different registers
        registers = [draw.randrange(3) if seed % 2 else n // 8 for n in range(24)]
        wanted = [8 * register + place % 8 for register, place in zip(registers, wanted, strict=True)]
    spec = f"[{', '.join(f'x[{place}]' for place in wanted)}]"
    sketch = kernel(
        MOVED if rounds == 2 else SHUFFLED,
        spec=spec,
        warp_size=8,
        arguments=f"x=i32[{8 * rounds}], y=i32.out[{8 * rounds}]",
    )
    posed = Problem.of(sketch.program, sketch.spec)
    with Tables(posed, None, quiet) as tables, Tables(posed, None, quiet) as alone:
        before = next(tables.candidates("3"), None)
        after = next(tables.candidates("4"), None)
        found = next(alone.candidates("4"), None)
    with Cegis(posed, "4", "cadical", None, quiet) as cegis:
        assert isinstance(cegis.find(), Candidate) == (found is not None) == (after is not None)
    assert before is None or found is not None


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


@pytest.mark.slow
@pytest.mark.parametrize("size", [18, 30, 36, 40, 48, 62])
def test_sums_of_structures_are_decided_in_all_spaces(size: int) -> None:
    """In each round, one word of each structure is read by some lane: that leaves few functions, or none."""
    (sketch,) = load(str(CASES / "aos_sum.py"), "crc", {"struct_size": size})
    found = solve(sketch, Limits(timeout=300))
    assert (found.status, found.certificate["proved"][-1]["space"]) == ("unsat", "4")


def test_what_was_learnt_in_one_space_says_nothing_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Space by space in any order, with a fresh start after every failure: each has the solutions that it has alone."""
    monkeypatch.setattr("swizzle.solving.search.tables.FIRST_FAILURES", 1)
    monkeypatch.setattr("swizzle.solving.search.tables.MORE_FAILURES", 1.1)
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


def test_a_leaf_may_be_known_to_be_wrong_by_the_time_it_is_run() -> None:
    """The last of several that are run together may be alone, and what is wrong with it was shown since."""
    found = kernel(
        "i = cuda.threadIdx.x\ny[i] = x[i]\nv = x[?sw_xform(i, 6)]\nif ?sw_cond(i):\n    y[i] = v",
        spec="[x[j] for j in [0, 3, 2, 3, 4, 5]]",
        arguments="x=f32[6], y=f32.out[6]",
        block=6,
        grid=1,
    )
    posed = Problem.of(found.program, found.spec)
    with Tables(posed, None, quiet) as tables:
        assert len(list(tables.candidates("2"))) == 7  # by trying all
    with Tables(posed, None, quiet) as tables:
        assert len(list(tables.candidates("3"))) == 14
