"""Conditions of Space 4: small factors, remainders, two at once; described twice, found, printed and refused."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from swizzle import Limits, Result, load, solve
from swizzle.commands.process import execute
from symbolic.errors import Place
from symbolic.ir.program import Hole
from templates import cond
from templates.cond import Cond
from templates.either import Either
from templates.formula import formula_of_text, formula_text, length_of, plain, values_of
from templates.holes import Point
from templates.registry import function_of, template
from templates.second.registry import hole_of
from templates.users import UsersTemplate
from tests.templates.conditions import every_condition
from tests.templates.second.test_templates import function
from tests.templates.second.test_templates import values_of as values_at

HERE = Place("test", 1, 1)
LANES: list[Point] = [(i,) for i in range(8)]
PAIRS: list[Point] = [(i, k) for i in range(5) for k in range(3)]


def hole(points: list[Point]) -> Hole:
    return Hole("h", "cond", 2, ("i", "k", "j")[: len(points[0])], HERE)


def made(points: list[Point]) -> Either:
    found = template(hole(points), points, "4")
    assert isinstance(found, Either)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "points",
    [
        LANES,
        PAIRS,
        [(i, -i) for i in range(5)],
        [(i, 2 * i, 3) for i in range(4)],
        [(0, 0), (1, 1)],
        [(-3,), (4,), (7,)],
        [(-v,) for v in range(8)],
        [(0, 1), (0, 5), (2, 0), (2, 4), (5, 0), (5, 4), (6, 1)],
    ],
)
def test_the_functions_are_those_of_the_definition(points: list[Point]) -> None:
    """The templates, their second descriptions, and the definition written out."""
    wanted = every_condition(points)
    columns = [np.array(c) for c in zip(*points, strict=True)]
    found: set[Any] = set()
    for part in made(points).parts:
        for choice in itertools.product(*part.components):
            found.add(tuple(np.broadcast_to(np.asarray(part.apply(choice, columns)), len(points)).tolist()))
    assert found == wanted
    again: set[Any] = set()
    for part in hole_of(hole(points), points, "4").groups[0].rows:
        for rows in itertools.product(*(group.literals for group in part.groups)):
            again.add(tuple(map(bool, values_at(function(part, rows), points, len(points[0])))))
    assert again == wanted


@pytest.mark.parametrize("points", [LANES, PAIRS, [(i, j, k) for i in range(3) for j in range(2) for k in range(2)]])
def test_a_choice_is_one_function_however_it_is_said(points: list[Point]) -> None:
    """`at`, `apply`, the formula and its text, and the constants read back; formulas say how long they are."""
    random, some = Random(1), hole(points)
    columns = [np.array(c) for c in zip(*points, strict=True)]
    for name, part in zip(made(points).names, made(points).parts, strict=True):
        UsersTemplate(name, part).compare(points, 2)
        for _ in range(12):
            choice = tuple(random.choice(c) for c in part.components)
            values = np.broadcast_to(np.asarray(part.apply(choice, columns)), len(points)).tolist()
            own = plain(some, part, choice)
            text = formula_text(some, own)
            assert np.broadcast_to(values_of(formula_of_text(some, text), columns), len(points)).tolist() == values
            read, again = function_of(some, part.constants(choice))
            assert np.broadcast_to(np.asarray(read.apply(again, columns)), len(points)).tolist() == values
            assert formula_text(some, plain(some, read, again)) == text
            assert part.words(choice, some.arguments)
            simplest = part.simplest(points, values)
            assert simplest is not None and length_of(plain(some, part, simplest)) <= length_of(own)


def test_constants_that_are_no_condition_are_refused() -> None:
    """Each argument is one that the hole takes, also where Python would count from the end."""
    made = Cond(2, PAIRS, "3")
    right = {"left": 0, "sign": -1, "right": 1, "equal": 0, "negated": 1, "threshold": 2}
    assert made.constants(made.parse(right)) == right
    for wrong in ({"left": -1}, {"left": 2}, {"right": -1}, {"right": 2}, {"sign": 0}):
        with pytest.raises(ValueError, match="in the hole, which takes 2"):
            made.parse(right | wrong)


def test_too_many_conditions_are_not_joined() -> None:
    """Where more than 700 differ, those by `==` are left out; where still more do, there are no two at once."""
    points: list[Point] = [(i,) for i in range(200)]
    some = cond.make_both(2, 1, tuple(points), "4")
    assert some is not None and {one.relation for one in some.components[0]} == {"<="}
    assert cond.make_both(2, 1, tuple((i,) for i in range(400)), "4") is None
    assert {type(part).__name__ for part in hole_of(hole(points), points[:9], "4").groups[0].rows} == {
        "CondHole",
        "RemainderHole",
        "ScaledHole",
        "BothHole",
    } - {"ScaledHole"}


TEXT = """
D = parameter("D", 3, domain=(2, 3, 4, 8, 11))
LAST = parameter("LAST", 31, domain=(30, 31))

@spec
def dilated_spec(x, w):
    return [sum(x[i + D * k] * w[k] for k in range(3)) for i in range(32)]

@sketch(spec=dilated_spec, block=32, x=f32[64], w=f32[3], y=f32.out[32])
def dilated(x, w, y):
    lane = cuda.laneid
    mine = cuda.local.array(2, f32)
    mine[0], mine[1] = x[lane], x[32 + lane]
    out = accumulator(f32, outer="+", inner="*")
    for k in range(3):
        offered = mine[0] if ?sw_cond(OF) else mine[1]
        out.accumulate(cuda.shfl_sync(cuda.FULL_MASK, offered, (lane + D * k) % 32), w[k])
    y[lane] = out.value

@spec
def strided_spec(x, w):
    return [sum(x[2 * i + k] * w[k] for k in range(3)) for i in range(32)]

@sketch(spec=strided_spec, block=32, x=f32[96], w=f32[3], y=f32.out[32])
def strided(x, w, y):
    lane = cuda.laneid
    mine = cuda.local.array(3, f32)
    for j in range(3):
        mine[j] = x[32 * j + lane]
    out = accumulator(f32, outer="+", inner="*")
    for k in range(3):
        low = cuda.shfl_sync(cuda.FULL_MASK, mine[0], (2 * lane + k) % 32)
        middle = cuda.shfl_sync(cuda.FULL_MASK, mine[1], (2 * lane + k) % 32)
        high = cuda.shfl_sync(cuda.FULL_MASK, mine[2], (2 * lane + k) % 32)
        rest = middle if ?sw_cond(OF) else high
        out.accumulate(low if ?sw_cond(OF) else rest, w[k])
    y[lane] = out.value

@spec
def edge_spec(x):
    return [x[max(i - 1, 0)] + x[i] + x[min(i + 1, LAST)] for i in range(32)]

@sketch(spec=edge_spec, block=32, x=f32[32], y=f32.out[32])
def edge(x, y):
    lane = cuda.laneid
    out = accumulator(f32, outer="+")
    for k in range(3):
        shifted = cuda.shfl_sync(cuda.FULL_MASK, x[lane], (lane + k - 1) % 32)
        out.accumulate(shifted if ?sw_cond(OF) else x[lane])
    y[lane] = out.value

@spec
def tile_spec(x):
    return [[x[r, c] if r >= 3 and c + LAST >= 36 else x[0, 0] for c in range(16)] for r in range(16)]

@sketch(spec=tile_spec, block=(16, 16), warp_size=32, x=f32[16, 16], y=f32.out[16, 16])
def tile(x, y):
    lane, k = cuda.threadIdx.x, cuda.threadIdx.y
    y[k, lane] = x[k, lane] if ?sw_cond(OF) else x[0, 0]

@spec
def every_third_spec(x):
    return [x[i] if i % 3 == 1 else x[0] for i in range(32)]

@sketch(spec=every_third_spec, block=32, x=f32[32], y=f32.out[32])
def every_third(x, y):
    lane, k = cuda.laneid, 0
    y[lane] = x[lane] if ?sw_cond(OF) else x[0]
"""


def solved(folder: Path, name: str, of: str = "lane, k", space: Any = None, **parameters: int) -> Result:
    (folder / "borders.swz").write_text(TEXT.replace("OF", of), encoding="utf-8")
    (sketch,) = load(folder / "borders.swz", name, parameters)
    return solve(sketch, Limits(space=space))


def windows(x: Any, step: int, dilation: int) -> Any:
    return np.stack([x[dilation * k : dilation * k + 32 * step : step] for k in range(3)])


WEIGHTS = np.array([2, -3, 5], np.float32)
INPUT = np.random.default_rng(1).integers(-9, 9, 96).astype(np.float32)
TILE = INPUT[:16, None] + np.arange(16, dtype=np.float32)
INSIDE = np.logical_and.outer(np.arange(16) >= 3, np.arange(16) >= 5)


@pytest.mark.parametrize(
    ("name", "parameters", "inputs", "wanted", "formulas"),
    [
        ("dilated", {}, [INPUT[:64], WEIGHTS], WEIGHTS @ windows(INPUT, 1, 3), ["lane >= 3 * k"]),
        pytest.param(
            *("dilated", {"D": 8}, [INPUT[:64], WEIGHTS], WEIGHTS @ windows(INPUT, 1, 8), ["lane >= 8 * k"]),
            marks=pytest.mark.slow,
        ),
        pytest.param("strided", {}, [INPUT, WEIGHTS], WEIGHTS @ windows(INPUT, 2, 1), None, marks=pytest.mark.slow),
        (
            "edge",
            {},
            [INPUT[:32]],
            sum(INPUT[np.clip(np.arange(32) + k, 0, 31)] for k in (-1, 0, 1)),
            ["lane + k > 0 and lane + k <= 32"],
        ),
        (
            "tile",
            {},
            [TILE],
            np.where(INSIDE, TILE, TILE[0, 0]),
            None,
        ),
        ("every_third", {}, [INPUT[:32]], np.where(np.arange(32) % 3 == 1, INPUT[:32], INPUT[0]), ["lane % 3 == 1"]),
    ],
)
def test_stencils_at_warp_size_32(
    tmp_path: Path, name: str, parameters: Any, inputs: Any, wanted: Any, formulas: list[str] | None
) -> None:
    """Solved in Space 4 with the condition open, printed, and run on numbers; no smaller space has an answer."""
    found = solved(tmp_path, name, **parameters)
    assert (found.status, found.space, found.optimal) == ("sat", "4", True)
    assert formulas is None or [hole.formula for hole in found.best.holes] == formulas
    out = np.zeros_like(wanted, np.float32)
    found.best(*(np.ascontiguousarray(some) for some in inputs), out)
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize(
    ("name", "of", "parameters"),
    [
        ("dilated", "lane", {}),
        ("dilated", "lane, k", {"D": 11}),
        ("strided", "lane", {}),
        ("edge", "lane", {}),
        ("edge", "lane, k", {"LAST": 30}),
        ("tile", "lane", {}),
        ("every_third", "k", {}),
    ],
)
def test_near_misses_have_no_solution(tmp_path: Path, name: str, of: str, parameters: Any) -> None:
    """A hole that lacks an argument, a factor that is too large, another edge: proved in every space."""
    found = solved(tmp_path, name, of, **parameters)
    assert (found.status, found.reason) == ("unsat", "")


@pytest.mark.slow
def test_what_was_found_is_kept_certified_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the file of a solution, from the cache, and by the second description."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "borders.swz").write_text(TEXT.replace("OF", "lane, k"), encoding="utf-8")
    for sketch, formula in (("dilated", "lane >= 3 * k"), ("edge", "lane + k > 0 and lane + k <= 32")):
        for _ in range(2):
            out = io.StringIO()
            assert execute(["solve", f"borders.swz:{sketch}", "-o", "out", "--json"], out, io.StringIO()) == 0
            assert json.loads(out.getvalue())["holes"][0]["formula"] == formula
        assert json.loads(out.getvalue())["cached"]
        assert execute(["check", f"out/{sketch}.json"], out, io.StringIO()) == 0
    (edge,) = load(tmp_path / "borders.swz", "edge", {"LAST": 30})
    certified = solve(edge, Limits(certify=True))
    assert certified.status == "unsat"
    assert {claim["verdict"] for claim in certified.certificate["confirmed"]} == {"confirmed"}
