"""Sketches that reduce by an operator of one's own, against every filling tried on random numbers with the function.

Warps of four lanes; holes in shuffles, in what an accumulator reads and in when it does; every order. A
specification is what one filling computes, at times spoilt, so that some sketches have no solution. The search knows
the law and nothing else; brute force knows the function and nothing else.
"""

from __future__ import annotations

import itertools
import math
from random import Random
from typing import Any

import numpy as np
import pytest

from swizzle import operator, solve, u64
from swizzle.language.parameters import Parameters
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.problem.problem import Problem
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.numbers import Numbers
from symbolic.machine.machine import Machine
from symbolic.machine.run import Run
from symbolic.values import mapped
from templates.template import Template
from tests.differential.test_search_against_brute_force import functions, specification_of
from tests.sketches import accumulates_of
from tests.slow_cases import slow_unless

MOST = 2**64 - 1


def then(a: int, b: int) -> int:
    """Two maps x -> p*x + q of words of 32 bits, one after the other, each packed into 64: this does not commute."""
    (p, q), (r, s) = divmod(a, 2**32), divmod(b, 2**32)
    return (p * r % 2**32 << 32) | (q * r + s) % 2**32


OWN = {
    "gcd": operator(math.gcd, order="set", identity=0, absorber=1, types=u64, numpy="gcd"),
    "satadd": operator(lambda a, b: min(a + b, MOST), name="satadd", identity=0, absorber=MOST, types=u64),
    "nim": operator(lambda a, b: a ^ b, name="nim", order="parity", identity=0, types=u64),
    "then": operator(then, order="sequence", identity=1 << 32, types=u64),
}
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)

TEXT = """
@spec
def wanted(x):
    return [0 for i in range(4)]

@sketch(spec=wanted, block=4, warp_size=4, x=u64[8], y=u64.out[4])
def k(x, y):
    lane = cuda.laneid
    r = cuda.local.array(2, u64)
    r[0] = x[lane]
    r[1] = x[lane + 4]
    a = accumulator(u64, outer="{name}"{init})
    for k in range({rounds}):
        v = cuda.shfl_sync(cuda.FULL_MASK, r[{part}], {lane})
        a.accumulate({value}{when})
    y[lane] = {result}
"""


def random_sketch(random: Random, name: str) -> Sketch:
    conditional = random.random() < 0.5
    text = TEXT.format(
        name=name,
        init=random.choice(["", "", ", init=12"]),
        rounds=random.choice([1, 2, 2]),
        part="k % 2" if conditional else random.choice(["?sw_part(2, k, lane)", "k % 2"]),
        lane=random.choice(["?sw_xform(lane, 4, k)", "?sw_xform(lane, 4)"]),
        value=random.choice(["v", f"{name}(v, x[3 - lane])", f"{name}(v, v)", f"{name}(v, 18)", f"{name}(x[lane], v)"]),
        when=", when=?sw_cond(lane, k)" if conditional else "",
        result=random.choice(["a.value", f"{name}(a.value, x[lane])", f"{name}(x[lane], a.value)"]),
    )
    (found,) = read_swz(text, "own.swz", Parameters(operators=OWN))
    return found


def data(name: str, random: Random) -> np.ndarray[Any, Any]:
    """Return numbers whose reductions tell their items apart: nothing saturates, divisors abound."""
    if name == "gcd":
        return np.array([math.prod(p for p in PRIMES if random.random() < 0.7) for _ in range(8)], np.uint64)
    return np.array([random.randrange(2**58) for _ in range(8)], np.uint64)


def run_on(program: Any, made: list[Template], choices: tuple[Any, ...], x: np.ndarray[Any, Any]) -> Run:
    def hole(number: int, arguments: Any, mask: Any) -> Any:
        return np.broadcast_to(np.asarray(made[number].apply(choices[number], arguments)), arguments[0].shape)

    return Machine(program, Numbers(), {"x": x}, hole).run()


def posed_by(sketch: Sketch, made: list[Template], truth: tuple[Any, ...], spoilt: bool) -> Sketch:
    """Return the sketch whose specification is what a filling computes, on symbols and on numbers."""
    symbolic = specification_of(sketch.program, made, truth, spoilt)

    def spec(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return symbolic(x)
        y = run_on(sketch.program, made, truth, x).memories["y"].data.copy()
        return y[[3, 1, 2, 0]] if spoilt else y

    return Sketch(sketch.name, sketch.program, spec, {}, sketch.place)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", slow_unless(range(12), (2).__eq__))
@pytest.mark.parametrize("name", sorted(OWN))
def test_search_against_numbers(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there is a filling, and the least number of accumulates, are what the function says on numbers.

    Half of the sketches are asked item by item even where values are few.
    """
    if seed % 2:
        monkeypatch.setattr(mapped, "FEW", 1)
    random = Random(f"{name} {seed}")
    sketch = random_sketch(random, name)
    program = sketch.program
    probe = Problem.of(program, sketch.spec)
    made = probe.templates("1")
    each = [functions(t, p) for t, p in zip(made, probe.points, strict=True)]
    assert math.prod(map(len, each)) <= 4_000
    truth, spoilt = tuple(random.choice(some) for some in each), random.random() < 0.4
    draws = [data(name, random) for _ in range(6)]
    wanted = []
    for x in draws:
        y = run_on(program, made, truth, x).memories["y"].data.copy()
        if spoilt:
            y[[0, -1]] = y[[-1, 0]]
        wanted.append(y)
    costs = []
    for choices in itertools.product(*each):
        for x, y in zip(draws, wanted, strict=True):
            run = run_on(program, made, choices, x)
            if run.violations or (run.memories["y"].data != y).any():
                break
        else:
            costs.append(accumulates_of(run))
    posed = posed_by(sketch, made, truth, spoilt)
    found = solve(posed, Limits(space="1", certify=True))
    assert found.status == ("sat" if costs else "unsat")
    assert not costs or found.best.cost["accumulates"] == min(costs)


def test_some_sketches_of_the_comparison_have_no_solution() -> None:
    """The random sketches are of both kinds: what the comparison says of spoilt ones means something."""
    statuses = set()
    for seed in range(12):
        random = Random(f"nim {seed}")
        sketch = random_sketch(random, "nim")
        probe = Problem.of(sketch.program, sketch.spec)
        made = probe.templates("1")
        each = [functions(t, p) for t, p in zip(made, probe.points, strict=True)]
        truth, spoilt = tuple(random.choice(some) for some in each), random.random() < 0.4
        statuses.add(solve(posed_by(sketch, made, truth, spoilt), Limits(space="1")).status)
    assert statuses == {"sat", "unsat"}
