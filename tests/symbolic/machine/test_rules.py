"""Rules that depend on holes: the obligation holds in just those assignments in which the rule does."""

from __future__ import annotations

import numpy as np
import pytest

from symbolic.algebra.terms import Terms
from symbolic.ir.program import Barrier, Program
from symbolic.ir.sites import Sites
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.rules import Rules
from symbolic.machine.run import Run
from symbolic.values.guard import Guards
from symbolic.values.union import Union
from symbolic.values.vector import Deferred, Encoding, boolean_union
from tests.symbolic.assignments import assignments
from tests.symbolic.values.test_data import HERE

SHAPE = LaunchShape((6, 1, 1), (1, 1, 1), 3)


@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("thread", [0, 1, 4])
def test_all_of_a_group_or_none_get_there(thread: int, conditional: bool) -> None:
    """Of a warp's three lanes, whichever are on; where a condition says that it matters."""
    encoding = Encoding(Guards(), Terms(), lambda hole, point: Union.single(0))
    guards = encoding.guards
    on, when = [guards.fresh() for _ in range(SHAPE.count)], guards.fresh()
    mask = Deferred(lambda encoding, t: boolean_union(on[t]), lambda t: frozenset((False, True)))
    run = Run(SHAPE, {}, [], [], {})
    barrier = Barrier("warp", HERE)
    sites = Sites(Program("only", (), (barrier,), (), (SHAPE.count, 1, 1), (1, 1, 1), 3, HERE))
    Rules(sites, SHAPE, run, 1).all_present(barrier, mask, SHAPE.warp_base, "lanes of the warp")
    (obligation,) = run.obligations.values()
    if conditional:
        obligation(encoding, thread, when)
    else:
        obligation(encoding, thread)
    group = np.flatnonzero(SHAPE.warp_base == SHAPE.warp_base[thread]).tolist()
    for values, holds in assignments(guards, [*(on[t] for t in group), when]):
        *lanes, matters = values
        assert (holds is not None) == (len(set(lanes)) == 1 or (conditional and not matters))
