"""Random complete assignments of real kernels: each text is proved equal to the specification."""

from __future__ import annotations

import random
from typing import Any

import pytest

from swizzle.derive.schedules.proof import prove_schedule
from symbolic.choices.propagation import Propagator
from tests.swizzle.derive.schedules.kernels import KERNELS, SMALL, descent, schedules


def proved(name: str, count: int, seed: int = 0, **given: Any) -> int:
    """Prove that many random schedules of a kernel, and return how many were too large to be run."""
    space, chooser, large = schedules(name, **given), random.Random(seed), 0
    propagation = Propagator(space.space)
    root = propagation.root()
    while count:
        path = descent(space, propagation, root, chooser)
        if not path:
            continue
        assignment = propagation.assignment(path[-1])
        proof = prove_schedule(space, assignment)
        if proof.found is None:
            large += 1
            continue
        assert proof.equal, f"{space.text(assignment)}\n{proof.lengths}\n{proof.found}"
        count -= 1
    return large


@pytest.mark.parametrize("name", ["axpy", "matmul", "transposition"])
def test_schedules_are_right(name: str) -> None:
    """Three of each."""
    proved(name, 3, sizes=SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_many_schedules_are_right(name: str) -> None:
    """More than two hundred together, of all kernels."""
    proved(name, 24, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_dead_ends_are_rare(name: str) -> None:
    """At most one descent in twenty ends in a contradiction (section 5.2 has 0.1 to 14 in a hundred)."""
    space, chooser = schedules(name), random.Random(5)
    propagation = Propagator(space.space)
    root = propagation.root()
    assert sum(not descent(space, propagation, root, chooser) for _ in range(100)) <= 5
