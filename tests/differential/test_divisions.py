"""Random sketches that divide and shift, at times by zero and by negative amounts; and others asked for another
operator's values, which no filling gives.

Every one is answered, as trying every filling answers, or refused with its place; no warning of NumPy's is let pass.
"""

from __future__ import annotations

import re
from random import Random

import pytest

from swizzle import SwizzleError, solve
from swizzle.sketches.sketch import Sketch
from templates.registry import template
from tests.differential import test_rich_sketches
from tests.differential.random_sketches import RandomSketch, specification_of, without_question
from tests.sketches import sketch_of
from tests.slow_cases import slow_unless

DIVIDE = ("//", "%", "//", "%", ">>", "<<")


class DividingSketch(RandomSketch):
    """A random sketch with divisions and shifts of indices and of data."""

    def divided(self, index: str) -> str:
        random, k = self.random, self.loop or "t"
        op = random.choice(DIVIDE)
        if random.random() < 0.12:
            right = random.choice(["lane", "t", "i", "b", "t - 1", "2 - lane", k, f"{k} - 1"])
        else:
            right = random.choice(["1", "2", "3", "lane + 1", "t % 3 + 1", "4 - lane", f"{k} + 1"])
        return f"({index} {op} ({right}))"

    def index(self, n: int) -> str:
        found = super().index(n)
        if self.random.random() < 0.25:
            found = self.divided(found)
            found = f"({found} % {n})" if self.random.random() < 0.7 else found
        return found

    def condition(self, uniform: bool = False) -> str:
        found = super().condition(uniform)
        if not uniform and self.random.random() < 0.15:
            return f"({found} and {self.divided('t')} == {self.random.randrange(3)})"
        return found

    def data(self, depth: int) -> str:
        random, found = self.random, super().data(depth)
        if not depth or random.random() > 0.3:
            return found
        op = random.choice(DIVIDE)
        if op in ("<<", ">>"):
            return f"({found} {op} {random.choice('123')})"
        numbers = [f"i32({self.index(3)} + 1)", f"i32({self.index(3)})", "i32(lane + 1)", "i32(lane)", "i32(-1)"]
        return f"({found} {op} {random.choice([self.leaf(), *numbers])})"


def answered(seed: int) -> str:
    """Solve a random sketch from small spaces to large, for what one of its fillings computes."""
    random = Random(seed)
    try:
        sketch = DividingSketch(random).sketch()
        probe = without_question(sketch.program)
    except SwizzleError as error:
        return error.found
    made = [template(h, p, "2") for h, p in zip(sketch.program.holes, probe.points, strict=True)]
    chosen = tuple(tuple(random.choice(component) for component in each.components) for each in made)
    spec = specification_of(sketch.program, made, chosen, random)
    try:
        found = solve(Sketch(sketch.name, sketch.program, spec, {}, sketch.place))  # type: ignore[arg-type]
    except SwizzleError as error:
        return error.found
    return found.status


OPERATORS = {
    "+": "({} + {})",
    "^": "({} ^ {})",
    "|": "({} | {})",
    "&": "({} & {})",
    "min": "min({}, {})",
    "*": "({} * {})",
}
ANOTHER = """
@spec
def f(x, w):
    return [{wanted} for i in range({size})]

@sketch(spec=f, block={lanes}, warp_size={lanes}, grid={grid}, x=u32[{size} + {k}], w=u32.const[{k}], y=u32.out[{size}])
def another(x, w, y):
    lane = cuda.laneid
    kept = cuda.local.array(2, u32)
    warp_load(x, kept, offset=cuda.blockIdx.x * {lanes})
    out = accumulator(u32, outer="{outer}"{inner})
    for k in range({k}):
        v = cuda.shfl_sync(cuda.FULL_MASK, kept[?sw_part(2, lane, k)], ?sw_xform(lane, {lanes}, k))
        out.accumulate(v{weight})
    y[cuda.grid(1)] = out.value
"""


def another(seed: int) -> tuple[Sketch, bool]:
    """Return a sketch that reduces, and whether its specification reduces by the same operators."""
    random = Random(seed)
    k, lanes, grid = random.choice((2, 3, 5)), random.choice((4, 8, 32)), random.choice((1, 2))
    outer, inner, asked = (random.choice(list(OPERATORS)) for _ in range(3))
    weighted = inner != outer and random.random() < 0.7
    items = [f"x[i + {j}]" for j in range(k)]
    if weighted:
        items = [OPERATORS[inner].format(item, f"w[{j}]") for j, item in enumerate(items)]
    wanted = items[0]
    for item in items[1:]:
        wanted = OPERATORS[asked].format(wanted, item)
    about = {"wanted": wanted, "size": lanes * grid, "lanes": lanes, "grid": grid, "k": k, "outer": outer}
    about["inner"] = f', inner="{inner}"' if weighted else ""
    about["weight"] = f", w[?sw_xform(k, {k}, lane)]" if weighted else ""
    return sketch_of(ANOTHER.format(**about)), outer == asked


@pytest.mark.parametrize("first", slow_unless(range(0, 2000, 20), (0).__eq__))
def test_divisions_and_shifts(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What every filling gives, in one space; an answer in any order of spaces."""
    monkeypatch.setattr(test_rich_sketches, "RandomSketch", DividingSketch)
    for seed in range(first, first + 20):
        try:
            test_rich_sketches.compare(seed, "123"[seed % 3], most=60)
        except SwizzleError as error:
            assert re.search("division by zero|a shift by|mixes an index", error.found), error
        answered(seed)


@pytest.mark.parametrize("first", slow_unless(range(0, 1000, 20), (0).__eq__))
def test_another_operator(first: int) -> None:
    """A reduction by its own operator is found; one by another is none, or not decided."""
    for seed in range(first, first + 20):
        sketch, same = another(seed)
        assert (solve(sketch).status == "sat") == same, seed
