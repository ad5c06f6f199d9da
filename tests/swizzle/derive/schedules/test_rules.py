"""What the rules are good for: an assignment that only a missing rule allows is refused by the proof."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from swizzle.derive.schedules.proof import prove_schedule
from symbolic.choices.propagation import Propagator
from symbolic.errors import SwizzleError
from tests.swizzle.derive.schedules.kernels import SMALL, descent, schedules


def outcomes(name: str, rule: str, count: int, seed: int = 2) -> Counter[str]:
    """Prove random assignments of a space without a rule, and count what comes of them.

    What is no kernel at all is refused by the front end: an index that differs between threads, a value that is not
    there yet. What has no text is not expressible.
    """
    space, chooser = schedules(name, sizes=SMALL, without=frozenset({rule})), random.Random(seed)
    propagation, found = Propagator(space.space), Counter[str]()
    root = propagation.root()
    while found.total() < count:
        if not (path := descent(space, propagation, root, chooser)):
            continue
        try:
            proof = prove_schedule(space, propagation.assignment(path[-1]))
            found["equal" if proof.equal else "refused"] += 1
        except SwizzleError:
            found["refused"] += 1
        except KeyError:
            found["not expressible"] += 1
    return found


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("transposition", "values go point to point"),
        ("transposition", "a hardware dimension has one extent"),
        ("transposition", "shared memory holds what threads and unrolled loops make"),
        ("transposition", "a copy in registers is its load"),
        pytest.param("matmul", "values go point to point", marks=pytest.mark.slow),
        pytest.param("matmul", "a value is not used inside the loop that makes it", marks=pytest.mark.slow),
        pytest.param("matmul", "values are made before they are used", marks=pytest.mark.slow),
        pytest.param("matmul", "orders fit together", marks=pytest.mark.slow),
    ],
)
def test_a_missing_rule_is_found_by_the_proof(name: str, rule: str) -> None:
    """Some assignments that the rule forbids are wrong. With all rules, random ones are proved by other tests."""
    assert outcomes(name, rule, 16)["refused"]


def test_without_a_nest_there_is_no_text() -> None:
    """A loop that is not around its statement has no value there."""
    assert outcomes("axpy", "what a nest is", 8)["not expressible"] >= 4


def test_a_block_has_as_many_threads_along_a_dimension_as_cuda_has() -> None:
    """1,024 along x and y, 64 along z: a longer dimension is refused by the front end."""
    space = schedules("axpy")
    universe = {axis: space.space.values[space.decisions[f"threads(THREAD.{axis})"]] for axis in "xyz"}
    assert (max(universe["x"]), max(universe["y"]), max(universe["z"])) == (1024, 1024, 64)
