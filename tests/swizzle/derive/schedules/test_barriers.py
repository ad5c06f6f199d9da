"""Barriers: enough of them follow from the text, and a proof says which can be left out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from swizzle.derive.schedules.barriers import BARRIER, KernelLine, NestedLines, rendered, with_barriers
from swizzle.derive.schedules.candidates import Assignment
from swizzle.derive.schedules.proof import every_length, least_barriers, prove_schedule
from swizzle.derive.schedules.schedule_space import ScheduleSpace
from swizzle.derive.tuning.spaces import ScheduledKernels
from symbolic.choices.propagation import Propagator
from tests.swizzle.derive.schedules.kernels import SMALL, descent, schedules


def in_shared_memory(
    name: str, copies: tuple[str, ...], count: int, **decided: str | int
) -> Iterator[tuple[ScheduleSpace, Assignment]]:
    """Yield random schedules of a kernel with tiles in shared memory, and other decisions."""
    space, chooser = schedules(name, sizes=SMALL), random.Random(4)
    propagation = Propagator(space.space)
    shared = {f"memory({copy})": "SHARED" for copy in copies}
    at = space.decide(propagation, propagation.root(), {**shared, **decided})
    while count:
        if path := descent(space, propagation, at, chooser):
            count -= 1
            yield space, propagation.assignment(path[-1])


def test_barriers_stand_between_stores_and_loads() -> None:
    """Before what loads, and before what stores again in the next trip, as far outside as may be."""
    store = NestedLines("for i in range(4):", (KernelLine("s[i] = x[i]", stores=frozenset("s")),))
    load = NestedLines("for j in range(4):", (KernelLine("v = s[j]", loads=frozenset("s")),))
    once = rendered(with_barriers([store, load]))
    assert once == [
        "    for i in range(4):",
        "        s[i] = x[i]",
        f"    {BARRIER}",
        "    for j in range(4):",
        "        v = s[j]",
    ]
    again = rendered(with_barriers([NestedLines("for k in range(4):", (store, load))]))
    assert [line.strip() for line in again].count(BARRIER) == 2
    assert again[1].strip() == BARRIER
    assert BARRIER not in "".join(rendered(with_barriers([store, store])))


def test_without_barriers_nothing_is_proved() -> None:
    """A thread that loads what another one stores has to wait."""
    refused = 0
    for space, assignment in in_shared_memory("transposition", ("copy_x",), 8):
        text = space.text(assignment)
        assert BARRIER in text
        assert prove_schedule(space, assignment, text).equal
        without = "\n".join(line for line in text.split("\n") if BARRIER not in line)
        refused += not prove_schedule(space, assignment, without).equal
    assert refused >= 6


def test_none_of_the_least_barriers_can_be_left_out() -> None:
    """With one line less the proof fails; with them it holds."""
    for space, assignment in in_shared_memory("transposition", ("copy_x",), 6):
        text, count, shown = least_barriers(space, assignment)
        assert shown
        assert prove_schedule(space, assignment, text).equal
        lines = text.split("\n")
        assert sum(BARRIER in line for line in lines) == count
        for number, line in enumerate(lines):
            if BARRIER in line:
                fewer = "\n".join(lines[:number] + lines[number + 1 :])
                assert not prove_schedule(space, assignment, fewer).equal


def test_threads_do_not_wait_for_themselves() -> None:
    """Where each thread loads what it has stored there are barriers in the text, and none is needed."""
    decided = {"threads(THREAD.y)": 1, "threads(THREAD.x)": 4, "size(i1)": 4, "size(i2)": 1, "size(j2)": 1}
    decided |= {f"kind({nest}.i1)": "THREAD.x" for nest in ("load_x", "copy_x", "store_y")}
    for space, assignment in in_shared_memory("transposition", ("copy_x",), 2, **decided):
        assert BARRIER in space.text(assignment)
        assert least_barriers(space, assignment)[1] == 0


def test_the_best_schedule_has_the_least_barriers(tmp_path: Path) -> None:
    """What `swizzle tune` writes has none that a proof can do without, and says how many are left."""
    decided = {"threads(THREAD.y)": 1, "threads(THREAD.x)": 4, "size(i1)": 4, "size(i2)": 1, "size(j2)": 1}
    alone = decided | {f"kind({nest}.i1)": "THREAD.x" for nest in ("load_x", "copy_x", "store_y")}
    words = []
    for one in (alone, {"kind(load_x.i1)": "THREAD.x", "kind(copy_x.j1)": "THREAD.x"}):
        ((space, assignment),) = in_shared_memory("transposition", ("copy_x",), 1, **one)
        sketch, said = ScheduledKernels(space, tmp_path).with_least_barriers(assignment)
        text = Path(sketch.place.file).read_text()
        assert text.count(BARRIER) == int(said.partition(",")[0] if said[0].isdigit() else 0) < 3
        assert text.count(BARRIER) < space.text(assignment).count(BARRIER) or said[0].isdigit()
        words.append(said)
    assert words[0] == "none is needed"
    assert "the least set: without one the proof fails" in words[1]


@pytest.mark.slow
def test_a_tiled_product_is_proved_for_every_length() -> None:
    """Blocks along both axes and shared tiles along the sum: any M, N and K."""
    decided = {"kind(store_c.i0)": "BLOCK", "kind(store_c.j0)": "BLOCK"}
    ((space, assignment),) = in_shared_memory("matmul", ("copy_a", "copy_b"), 1, **decided)
    proof = prove_schedule(space, assignment)
    assert proof.equal
    assert str(every_length(space, proof)) == "proved for every M and N and K"
