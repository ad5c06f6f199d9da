"""What a hole that says where threads store must be like, against all its functions, one by one."""

import itertools
import random

import numpy as np
import pytest

from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.search.storing import Storing, storing
from swizzle.solving.search.tables import Tables
from swizzle.solving.solution.solution import Limits, SpaceName
from templates.chooser import Functions
from templates.template import Template
from templates.xor import Xor
from tests.sketches import kernel

SIZES = [(3, 4, 1), (2, 4, 2), (4, 4, 1), (6, 4, 1), (3, 8, 1), (6, 8, 1), (5, 8, 2)]


def transposition(words: int, lanes: int, warps: int) -> Sketch:
    overrides = {"struct_size": words, "warp_size": lanes, "warps": warps, "grid": 1}
    (sketch,) = load("case_studies/aos_store.py", "rcr", overrides)
    return sketch


def known(problem: Problem) -> Storing:
    (found,) = storing(problem)
    return found


def is_right(values: np.ndarray, words: int, lanes: int) -> bool:
    """Say whether holes before it can make this last hole of `rcr` right; `values` is a line for each lane.

    Each lane stores words of a register each, and each word of each structure is stored.
    """
    registers = (values * words + np.arange(words)) // lanes
    permuted = all(len(set(column)) == lanes for column in values.T.tolist())
    return permuted and all(len(set(line)) == words for line in registers.tolist())


def values_of(part: Template, functions: Functions, lanes: int, words: int) -> set[bytes]:
    lane, word = (some.reshape(-1) for some in np.meshgrid(np.arange(lanes), np.arange(words), indexing="ij"))
    found = set[bytes]()
    for choice in functions.choices():
        values = np.broadcast_to(np.asarray(part.apply(choice, [lane, word])), lane.shape)
        found.add(values.astype(np.int64).tobytes())
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("words", "lanes", "warps"), SIZES)
def test_what_is_left_is_what_the_holes_before_can_make_right(words: int, lanes: int, warps: int) -> None:
    sketch = transposition(words, lanes, warps)
    problem = Problem.of(sketch.program, sketch.spec)
    storing_hole = known(problem)
    part, maps = problem.templates("4")[2].parts
    every = part.functions(problem.points[2])
    assert every is not None
    right = {
        values
        for values in values_of(part, every, lanes, words)
        if is_right(np.frombuffer(values, np.int64).reshape(lanes, words), words, lanes)
    }
    assert values_of(part, storing_hole.left(every), lanes, words) == right
    some = maps.functions(problem.points[2])
    assert some is not None
    if storing_hole.left(some).count == 0 and some.count <= 1 << 14:
        assert not any(
            is_right(np.frombuffer(values, np.int64).reshape(lanes, words), words, lanes)
            for values in values_of(maps, some, lanes, words)
        )


def test_sizes_without_maps_of_bits_are_told() -> None:
    counts = []
    for words in (8, 6):
        sketch = transposition(words, 8, 1)
        problem = Problem.of(sketch.program, sketch.spec)
        maps = problem.templates("4")[2].parts[1].functions(problem.points[2])
        assert maps is not None
        counts.append(known(problem).left(maps).count)
    assert counts[0] and not counts[1]


@pytest.mark.parametrize("seed", range(12))
def test_linear_parts_that_differences_leave_none_of(seed: int) -> None:
    """Against all linear parts, for two bits of the index and two of the shift."""
    rng = random.Random(seed)
    maps = Xor(4, 2).functions([(0, 0)])
    assert maps is not None
    allowed = {f << 1: np.array([rng.random() < 0.45 for _ in range(4)]) for f in rng.sample(range(1, 16), 6)}
    possible = False
    for columns in itertools.product(range(4), repeat=4):
        sent = {f: _sum(columns, f >> 1) for f in allowed}
        possible |= all(allowed[f][value] for f, value in sent.items())
    assert (maps.within(allowed).count > 0) == possible  # type: ignore[attr-defined]


def _sum(columns: tuple[int, ...], bits: int) -> int:
    found = 0
    for number, column in enumerate(columns):
        found ^= column if bits >> number & 1 else 0
    return found


OTHERS = {
    "every_second_round_backward": kernel(
        "t = cuda.threadIdx.x\nr = cuda.local.array(2, i32)\nfor i in range(2):\n"
        "    r[i] = x[i * 8 + ?sw_xform(t, 8, i)]\n"
        "for i in range(2):\n    y[i * 8 + ?sw_xform(t, 8, i)] = r[i]",
        arguments="x=i32[16], y=i32.out[16]",
        spec="[x[i] for i in range(8)] + [x[15 - i] for i in range(8)]",
    ),
    "only_what_is_asked_twice": kernel(
        "t = cuda.threadIdx.x\nr = cuda.local.array(2, i32)\nr[0] = x[?sw_xform(t, 8)]\nr[1] = x[?sw_xform(t, 8)]\n"
        "for i in range(2):\n    y[i * 8 + ?sw_xform(t, 8, i)] = r[i]",
        arguments="x=i32[8], y=i32.out[16]",
        spec="[x[i] for i in range(8)] + [x[i ^ 5] for i in range(8)]",
    ),
    "no_permutation": kernel(
        "t = cuda.threadIdx.x\ny[?sw_xform(t, 8)] = x[?sw_xform(t, 8)]",
        spec="[x[i * i % 8] for i in range(8)]",
    ),
    "not_all_are_stored": kernel(
        "t = cuda.threadIdx.x\ny[2 * ?sw_xform(t, 8)] = x[?sw_xform(t, 8)]",
        arguments="x=i32[8], y=i32.inout[16]",
        spec="[x[i // 2] if i % 2 == 0 else y[i] for i in range(16)]",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("space", ["3", "4"])
@pytest.mark.parametrize("name", OTHERS)
def test_solutions_are_those_without_it(name: str, space: SpaceName, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked here before every search, where it may find that there is an answer, too."""

    def ways(self: Tables) -> list[int | None]:
        self._leave_out()
        return [None]

    limits = Limits(space=space, all_solutions=space == "3")  # of Space 4 there are thousands
    alone = solve(OTHERS[name], limits)
    monkeypatch.setattr(Tables, "_ways", ways)
    told = solve(OTHERS[name], limits)
    assert list(storing(Problem.of(OTHERS[name].program, OTHERS[name].spec)))
    assert (told.status, len(told.solutions)) == (alone.status, len(alone.solutions))


def test_a_store_that_a_later_one_may_overwrite_says_nothing() -> None:
    sketch = kernel(
        "t = cuda.threadIdx.x\ny[?sw_xform(t, 8)] = x[?sw_xform(t, 8)]\n"
        "cuda.syncthreads()\ny[?sw_xform(t, 8)] = x[?sw_xform(t, 8)]",
        spec="[x[7 - i] for i in range(8)]",
    )
    assert not list(storing(Problem.of(sketch.program, sketch.spec)))


def test_a_struct_of_six_words_has_no_answer_in_space_4() -> None:
    """Nothing is searched there, as no function of the last hole is left; the tree had 4626 nodes."""
    found = solve(transposition(6, 32, 1))
    (claim,) = (claim for claim in found.certificate["proved"] if claim["space"] == "4")
    assert (found.status, claim["nodes"]) == ("unsat", 0)


@pytest.mark.parametrize(("spec", "status"), [("x[31 - i]", "sat"), ("x[i * i % 32]", "unsat")])
def test_a_hole_that_no_thread_asks_is_in_nobodys_way(spec: str, status: str) -> None:
    body = """
i = cuda.laneid
v = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(i, 32))
for k in range(0):
    v = x[?sw_xform(i, 32, k)]
y[i] = v
"""
    arguments = "x=f32[32], y=f32.out[32]"
    sketch = kernel(body, spec=f"[{spec} for i in range(32)]", arguments=arguments, block=32, warp_size=32)
    assert solve(sketch).status == status
