"""What counting products adds to a search takes no filling away, and says at once that too few are there."""

from pathlib import Path
from typing import Any

import pytest

from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem import demands
from swizzle.solving.problem.demands import require_scarce
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.cegis import Cegis
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from tests.sketches import kernel

SHARED = (
    "t = cuda.threadIdx.x\nacc = accumulator(i32, outer='{outer}', shape=2)\nfor k in range({rounds}):\n"
    "    v = x[?sw_xform(t, 4, k)]\n"
    "    acc[0].accumulate(v, when=?sw_cond(t, k))\n    acc[1].accumulate(v, when=?sw_cond(t, k))\n"
    "y[t] = acc[0].value\ny[t + 4] = acc[1].value"
)


def shared(outer: str, rounds: int, items: list[list[list[int]]]) -> Sketch:
    """Return a sketch whose threads share what they load between two sums, `items[sum][thread]` of `x`."""
    sums = [f" {outer} ".join(f"x[{i}]" for i in some) if some else "0" for own in items for some in own]
    spec = f"[{', '.join(sums)}]"
    return kernel(
        SHARED.format(outer=outer, rounds=rounds), spec=spec, arguments="x=i32[4], y=i32.out[8]", block=4, warp_size=4
    )


SPLITS: list[list[list[int]]] = [
    [[(t + k) % 4 for k in range(4) if t >= k] for t in range(4)],
    [[(t + k) % 4 for k in range(4) if t < k] for t in range(4)],
]
ONE_APART: list[list[list[int]]] = [
    [[2 * t % 4] for t in range(4)],
    [[(t + k) % 4 for k in range(4) if t != k] for t in range(4)],
]


@pytest.mark.parametrize(("outer", "rounds"), [("+", 3), ("^", 4), ("+", 5)])
def test_every_filling_is_still_there(outer: str, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that are too few, just enough, and more."""

    def answers(items: list[list[list[int]]]) -> list[Any]:
        found = solve(shared(outer, rounds, items), Limits(space="1", all_solutions=True))
        return [found.status, sorted(map(repr, found.solutions))]

    counted = [answers(items) for items in (SPLITS, ONE_APART)]
    monkeypatch.setattr(demands, "require_scarce", lambda *_: None)
    assert counted == [answers(items) for items in (SPLITS, ONE_APART)]
    if rounds < 5:
        assert [status for status, _ in counted] == ["sat" if rounds == 4 else "unsat"] * 2


def test_products_that_are_just_enough_are_all_used() -> None:
    """In the two sums of a thread nothing can cancel where each product is needed; where there are more, it may."""
    for rounds, exact in ((4, 2), (5, 0)):
        problem = Problem.of((sketch := shared("^", rounds, SPLITS)).program, sketch.spec)
        with Cegis(problem, "1", "glucose", None, lambda _: None) as engine:
            require_scarce(problem, engine.examples.encoding, 1)
            assert [t for _, t in engine.examples.encoding.exact].count(1) == exact


def test_what_cancels_is_counted_out() -> None:
    """A parity of products that are just enough has its minimum proved, of all fillings."""
    found = solve(shared("^", 4, ONE_APART), Limits(space="1"))
    assert "cancelling" not in found.certificate
    assert found.optimal


def mult96(warp: int) -> str:
    """Return Mult-96 in registers: mult64.py with three words of each factor."""
    text = Path("case_studies/mult64.py").read_text().split("@sketch")[0].replace("N = 2 * WARP", "N = 3 * WARP")
    words = [(factor, word) for factor in "ab" for word in range(3)]
    fetch = "".join(
        f"        {f}{w} = cuda.shfl_sync(cuda.FULL_MASK, r{f}[sw_part(3, lane, k)], sw_xform(lane, WARP, k))\n"
        for f, w in words
    )
    products = "".join(
        f"        answer[{j}].accumulate(a{p}, b{q}, when=sw_cond(lane, k))\n"
        for j in range(6)
        for p in range(3)
        for q in range(3)
    )
    return (
        f"{text}@sketch(spec=product, block=WARP, warp_size=WARP, grid=GRID, a=u32[GRID * N], b=u32[GRID * N], "
        "c=u32.out[GRID * 2 * N])\ndef register(a, b, c):\n    lane = cuda.laneid\n"
        "    ra = cuda.local.array(3, u32)\n    rb = cuda.local.array(3, u32)\n    for r in range(3):\n"
        "        ra[r] = a[cuda.blockIdx.x * N + lane + r * WARP]\n"
        "        rb[r] = b[cuda.blockIdx.x * N + lane + r * WARP]\n"
        '    answer = accumulator(u32, outer="^", inner="&", shape=6)\n    for k in range(WARP):\n'
        f"{fetch}{products}"
        "    for j in range(6):\n        c[cuda.blockIdx.x * 2 * N + j * WARP + lane] = answer[j].value\n"
    ).replace('"warp_size", 32', f'"warp_size", {warp}')


@pytest.mark.slow
def test_mult_96_in_registers(tmp_path: Path) -> None:
    """Its minimum is proved: 18 accumulates in Space 1, 12 in every space."""
    (tmp_path / "mult96.py").write_text(mult96(8))
    (sketch,) = load(tmp_path / "mult96.py")
    for space, least in (("1", 18), ("2", 12)):
        found = solve(sketch, Limits(space=space))  # type: ignore[arg-type]
        assert found.optimal and found.best.cost == {"accumulates": least}
