"""The second count of conflicts and sectors, against the first one and against a wrong one."""

from __future__ import annotations

from typing import Any

import pytest

from cuda_out.passes.printed_accesses import printed_moves
from swizzle.commands.report import as_text
from swizzle.sketches.sketch import Sketch
from swizzle.solving.audit.second_count import extra_turns, touched_sectors
from swizzle.solving.costs.counted import Conflicts, Sectors
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.ir.program import Program
from tests.cuda_out.passes.test_vectors import CASES, SHARED
from tests.sketches import kernel

PROGRAMS = {
    **{f"global: {name}": case[0] for name, case in CASES.items()},
    **{n: case[0] for n, case in SHARED.items()},
}
TURNED = """
lane = cuda.laneid
tile = cuda.shared.array((8, 8), f32)
for r in range(8):
    tile[r, ?sw_xform(lane, 8, r)] = x[r, lane]
cuda.syncwarp()
far = cuda.shfl_xor_sync(cuda.FULL_MASK, lane, 3)
near = far ^ 3
for c in range(8):
    y[near, c] = tile[near, c] if lane < 6 else tile[lane, c]
"""


def turned() -> Sketch:
    """A tile whose rows are permuted, read by columns: through an index that was shuffled, and under a condition."""
    spec = "[[x[r, c] for c in range(8)] for r in range(8)]"
    return kernel(TURNED, spec=spec, arguments="x=f32[8, 8], y=f32.out[8, 8]", warp_size=8)


def counts(program: Program, banks: int = 32) -> tuple[int, int]:
    """Return conflicts and sectors as the search counts them."""
    filled: Any = type("Filled", (), {"accesses": printed_moves(program).accesses})
    return Conflicts(banks).of_run(filled), Sectors().of_run(filled)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_counts_agree(name: str) -> None:
    """Words and vectors of every width, in rows, under bounds, in global and in shared memory."""
    program = PROGRAMS[name]
    for banks in (32, 8):
        assert (extra_turns(program, banks, 4), touched_sectors(program)) == counts(program, banks)


def test_the_counts_are_those_of_the_hardware() -> None:
    """By hand: six lanes and then two of a column want one bank; a row of 8 floats is a sector."""
    program = solve(turned()).best.program
    assert extra_turns(program, 8, 4) == 8 * (5 + 1) == counts(program, 8)[0]
    assert touched_sectors(program) == 8 + 2 * 8  # the columns leave as two vectors a lane


@pytest.mark.parametrize(("cost", "wrong"), [(Conflicts(8), "extra_turns"), (Sectors(), "touched_sectors")])
def test_a_wrong_count_is_caught(cost: Any, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the second count differs, an assertion names the cost and both numbers."""
    found = solve(turned(), Limits(certify=True, space="1"), cost=[cost])
    assert found.certificate["counted_again"] == {cost.name: "confirmed"} and "counted_once" not in found.certificate
    assert f"certify {cost.name}: confirmed, counted again thread by thread\n" in as_text(found, [])
    right = type(cost).of_run
    monkeypatch.setattr(type(cost), "of_run", lambda self, filled: right(self, filled) + 1)
    with pytest.raises(AssertionError, match=f"{cost.name} are \\d+, and \\d+ when they are counted again"):
        solve(turned(), Limits(certify=True, space="1"), cost=[cost])
