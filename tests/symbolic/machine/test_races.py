"""Races: what a barrier orders, and for whom."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.algebra.numbers import Numbers
from symbolic.ir.program import LANES
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.machine import Machine
from symbolic.machine.rules import Touched, races
from tests.sketches import kernel

HEAD = "t = cuda.threadIdx.x\ni = cuda.grid(1)\ns = cuda.shared.array(8, i32)\ns[t] = x[i]\n"
CASES = {
    "cuda.syncthreads()\ny[i] = s[7 - t]": False,
    "y[i] = s[7 - t]": True,
    "cuda.syncwarp()\ny[i] = s[t ^ 1]": False,
    "cuda.syncwarp()\ny[i] = s[7 - t]": True,
    "if cuda.blockIdx.x == 0:\n    cuda.syncthreads()\ny[i] = s[7 - t]": True,
    "if cuda.blockIdx.x == 0:\n    cuda.syncthreads()\nelse:\n    cuda.syncthreads()\ny[i] = s[7 - t]": False,
    "if t < 4:\n    cuda.syncwarp()\ny[i] = s[t ^ 1]": True,
    "cuda.syncthreads()\nv = s[7 - t]\ns[t] = v\ny[i] = v": True,
    "s[t] = x[i]\ny[i % 8] = s[t]": True,
    "y[i] = x[i]\ncuda.syncthreads()\nif t == 8:\n    y[0] = x[i]": False,
}


@pytest.mark.parametrize("body", list(CASES))
def test_barriers_order_those_who_pass_them(body: str) -> None:
    """Two blocks of two warps: a barrier that some of them skip orders nothing there."""
    program = kernel(HEAD + body, arguments="x=i32[16], y=i32.out[16]", grid=2).program
    run = Machine(program, Numbers(), {"x": np.arange(16, dtype=np.int32)}).run()
    assert bool(run.violations) == CASES[body]


SHAPE = LaunchShape((4, 1, 1), (2, 1, 1), 2)  # two blocks of two warps of two lanes


def assert_races_of_all_pairs(accesses: list[Touched[int]], between_blocks: bool) -> None:
    """Compare with every pair of threads that touch one cell."""
    single = [
        (access.key, access.writes, *map(int, row), access.atomic, access.in_block)
        for access in accesses
        for row in zip(access.threads, access.addresses, access.block_epoch, access.warp_epoch, strict=True)
    ]

    def meet(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        _, writes, t, cell, block_epoch, warp_epoch, atomic, in_block = one
        _, also, u, place, block_other, warp_other, atomic_other, in_block_other = other
        if t == u or cell != place or not (writes or also):
            return False
        one_block = t // SHAPE.block_threads == u // SHAPE.block_threads
        if atomic and atomic == atomic_other and (one_block or not (in_block or in_block_other)):
            return False
        if one_block and block_epoch != block_other:
            return False
        return SHAPE.warp_base[t] != SHAPE.warp_base[u] or warp_epoch == warp_other

    pairs = [(one, other) for one, other in itertools.combinations(single, 2) if meet(one, other)]
    found = list(races(accesses, SHAPE, between_blocks))
    assert {race.address for race in found} == {one[3] for one, _ in pairs}
    known = {(one[0], one[2], one[3], other[0], other[2]) for pair in pairs for one, other in (pair, pair[::-1])}
    for race in found:
        assert race.first.key <= race.second.key
        assert (race.first.key, race.first_thread, race.address, race.second.key, race.second_thread) in known


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_races_are_those_of_all_pairs(data: st.DataObject) -> None:
    """In global memory blocks meet, whatever barriers each has passed; a cell of shared memory belongs to a block."""
    between_blocks = data.draw(st.booleans())
    accesses = []
    epochs = st.integers(0, 1)
    for number in range(data.draw(st.integers(1, 3))):
        threads = sorted(data.draw(st.sets(st.integers(0, SHAPE.count - 1), max_size=4)))
        rows = []
        for thread in threads:
            cell = data.draw(st.integers(0, 2)) + (0 if between_blocks else 3 * (thread // SHAPE.block_threads))
            block_epoch = data.draw(epochs)
            rows.append((thread, cell, block_epoch, block_epoch + data.draw(epochs)))
        columns = np.array(rows, np.int64).reshape(-1, 4).T
        atomic, in_block = data.draw(st.sampled_from([("", False), ("add", False), ("add", True), ("max", True)]))
        writes = bool(atomic) or data.draw(st.booleans())
        accesses.append(Touched(number, writes, *columns, atomic=atomic, in_block=in_block))
    assert_races_of_all_pairs(accesses, between_blocks)


@pytest.mark.parametrize("threads", [(0, 1, 2), (1, 0, 4), (0, 2, 3), (0, 4, 5)])
def test_races_of_three_threads_at_one_cell(threads: tuple[int, ...]) -> None:
    """Each of them after no barrier, a warp's or a block's, in every combination; each reads or writes."""
    ways = list(itertools.product((False, True), ((0, 0), (0, 1), (1, 1))))
    for chosen in itertools.product(ways, repeat=3):
        columns = [np.array([[t], [0], [block], [warp]]) for t, (_, (block, warp)) in zip(threads, chosen, strict=True)]
        accesses = [Touched(i, chosen[i][0], *columns[i]) for i in range(3)]
        assert_races_of_all_pairs(accesses, True)


@pytest.mark.parametrize("writer_first", [False, True])
@pytest.mark.parametrize("lanes", [(0, 1), (1, 0)])
@pytest.mark.parametrize("met", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_barriers_of_a_part_of_a_warp_order_those_who_meet(
    met: tuple[int, ...], lanes: tuple[int, int], writer_first: bool
) -> None:
    """Two lanes touch a cell before and after a barrier of some lanes: a race unless both of them were there."""
    shape = LaunchShape((4, 1, 1), (1, 1, 1), 4)
    accesses = []
    for number, writes in enumerate((writer_first, not writer_first)):
        known = np.zeros((1, LANES), np.int64)
        if number == 1 and lanes[1] in met:
            known[0, list(met)] = 1
        lane, nothing = np.array([lanes[number]]), np.zeros(1, np.int64)
        accesses.append(Touched(number, writes, lane, nothing, nothing, nothing, known))
    found = list(races(accesses, shape, between_blocks=False))
    assert [(race.first_thread, race.second_thread) for race in found] == ([] if {0, 1} <= set(met) else [lanes])
