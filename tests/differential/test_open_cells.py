"""Partial sums in shared memory whose cells are holes: whether there is a filling is what trying all of them finds.

A solver is asked, and values are asked what they hold, item by item, even where both could be done without.
"""

import itertools
import random

import pytest

from swizzle.solving.problem.problem import Problem
from swizzle.solving.search import trying
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.values import mapped
from tests.differential.test_partial_sums import ARGUMENTS, spec_of
from tests.differential.test_search_against_brute_force import functions
from tests.sketches import kernel
from tests.slow_cases import slow_unless

MOST = 3_000  # fillings


@pytest.fixture(autouse=True)
def _by_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "FEW", 1)
    monkeypatch.setattr(trying, "FILLINGS", 0)  # a solver is asked


def body(rng: random.Random) -> str:
    """Return a kernel of some rounds: threads put cells together, and what comes out goes to a cell."""
    lines = ["i = cuda.laneid", "tile = cuda.shared.array(4, i32)", "tile[i] = x[i]", "cuda.syncthreads()"]
    op, loop = rng.choice("+++^"), rng.random() < 0.4
    rounds = 1 if loop else rng.randint(2, 3)
    written = rng.sample(range(3 * rounds), 2)  # at which places there are holes

    def cell(place: int) -> str:
        if place in written:
            return f"?sw_xform(i, 4{', k' if loop and rng.random() < 0.4 else ''})"
        return rng.choice(("i", "3 - i", "(i + 1) % 4"))

    for step in range(rounds):
        to, one, other = map(cell, range(3 * step, 3 * step + 3))
        some = rng.choice((f"tile[{one}] {op} tile[{other}]", f"tile[{one}] {op} x[{other}]"))
        when = rng.choice(("", "", "if i < 2: ", "if i == 3: "))
        part = [f"v{step} = {some}", "cuda.syncthreads()"]
        part += [
            *([when.strip()] if when else []),
            f"{'    ' if when else ''}tile[{to}] = v{step}",
            "cuda.syncthreads()",
        ]
        lines += ["for k in range(2):", *("    " + line for line in part)] if loop else part
    return "\n".join([*lines, f"y[i] = tile[i] {op} tile[{rng.choice(('i', '3 - i'))}]"])


def check(seed: int) -> str:
    """Compare one random sketch; return the search's status, '' where nothing is asked."""
    rng = random.Random(seed)
    text = body(rng)
    spec = spec_of(text, rng)
    if spec is None:
        return ""
    posed = kernel(text, spec=spec, arguments=ARGUMENTS, block=4, warp_size=4)
    problem = Problem.of(posed.program, posed.spec)
    made = problem.templates("1")
    every = [functions(t, p) for t, p in zip(made, problem.points, strict=True)]
    found = solve(posed, Limits(space="1")).status
    for choices in itertools.islice(itertools.product(*every), MOST):
        run, wrong = problem.candidate(made, choices)
        if not run.violations and not wrong:
            assert found == "sat"
            return "sat"
    assert found == "unsat" or len(every[0]) * len(every[1]) > MOST
    return found


@pytest.mark.parametrize("seed", slow_unless(range(300), lambda seed: seed in (1, 2, 5, 13)))
def test_random_sketches(seed: int) -> None:
    check(seed)
