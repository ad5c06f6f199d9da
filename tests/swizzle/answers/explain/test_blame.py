"""A hole that cannot see the loops around it is shown them as other holes see them."""

import pytest

from swizzle.answers.explain.blame import with_loops
from swizzle.answers.explain.explain import explain
from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from tests.sketches import kernel

BLIND = """
lane = cuda.laneid
s = x[?sw_xform(lane, 8)]
for k in range(3):
    t = cuda.shfl_sync(cuda.FULL_MASK, s, {source})
    s = s + t if ?sw_cond(lane) else s
y[lane] = s
"""


def blind(source: str) -> Sketch:
    return kernel(
        BLIND.format(source=source),
        spec="[sum(x[j] for j in range(i + 1)) for i in range(8)]",
        arguments="x=i32[8], y=i32.out[8]",
        block=8,
        warp_size=8,
    )


def test_a_hole_sees_the_loops_as_others_do() -> None:
    """By what another hole is given, else by their variables; not a second time, and not outside of them."""

    def shown(source: str) -> list[tuple[str, ...] | None]:
        program = blind(source).program
        changed = [with_loops(program, number) for number in range(len(program.holes))]
        return [each and each.holes[number].arguments for number, each in enumerate(changed)]

    assert shown("?sw_xform(lane, 8, 1 << k)") == [None, None, ("lane", "1 << k")]
    assert shown("(lane - (1 << k)) % 8") == [None, ("lane", "k")]


@pytest.mark.slow
def test_it_is_solved_with_them() -> None:
    """Sums of what holes move are tried with ordinary templates, and the answer says which condition was missing."""
    found = explain(load("case_studies/cookbook/scan.py", "blind")[0])
    assert [t.detail for t in found.trials if " as cond1 " in t.change] == ["for example lane >= (1 << k)"]
