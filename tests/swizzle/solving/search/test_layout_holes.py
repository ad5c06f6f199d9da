"""A layout is a device function with one hole, called where a tile is written and where it is read."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import numpy as np
import pytest

from swizzle import Limits, load, solve
from swizzle.commands.process import execute
from swizzle.solving.search.metasketch import COUNTED
from swizzle.solving.solution.saved import load_saved
from templates.template import Template
from templates.xform import RotateXform
from templates.xor import Xor

TILE = """
from swizzle import cuda, f32, parameter, sketch, spec, sw_index

M = parameter("m", 32, domain=range(1, 65))
N = parameter("n", 32, domain=range(1, 65))

@spec
def transposed(x):
    return [[x[r, c] for r in range(M)] for c in range(N)]

@cuda.jit(device=True)
def cell(r, c):
    return sw_index(c, N, r{families})

@sketch(spec=transposed, block=32, x=f32[M, N], y=f32.out[N, M])
def transpose(x, y):
    tile = cuda.shared.array((M, N), f32)
    lane = cuda.laneid
    for r in range(M):
        if lane < N:
            tile[r, cell(r, lane)] = x[r, lane]
    cuda.syncthreads()
    for c in range(N):
        if lane < M:
            y[c, lane] = tile[lane, cell(lane, c)]
"""


@pytest.fixture
def tile(tmp_path: Path) -> Path:
    path = tmp_path / "tile.py"
    path.write_text(TILE.replace("{families}", ""), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("m", "n", "families", "formula"),
    [
        (32, 32, "", "c ^ r"),
        (32, 32, ', families="rotate, xor"', "(c + r) % 32"),
        (16, 24, ', families="rotate"', "(c + r // 2) % 24"),
    ],
)
def test_a_tile_without_conflicts(tmp_path: Path, m: int, n: int, families: str, formula: str) -> None:
    """The first family's functions come first, and of these the light ones."""
    path = tmp_path / "tile.py"
    path.write_text(TILE.replace("{families}", families), encoding="utf-8")
    (sketch,) = load(path, overrides={"m": m, "n": n})
    result = solve(sketch, cost="conflicts")
    best = result.best
    assert best is not None
    assert (best.cost, result.optimal, result.space) == ({"conflicts": 0}, True, "1")
    if m == n:
        assert best.holes[0].formula == formula


def test_the_answer_is_kept_and_checked(tile: Path, tmp_path: Path) -> None:
    """Its constants are read back by the family that they name."""
    out = io.StringIO()
    solved = ["solve", str(tile), "--cost", "conflicts", "-o", str(tmp_path / "out"), "--no-cache"]
    assert execute(solved, out, io.StringIO()) == 0, out.getvalue()
    assert "index1 = c ^ r" in out.getvalue()
    saved = tmp_path / "out" / "transpose.json"
    sketch, solution = load_saved(saved, {}, trust=True)
    assert (sketch.name, solution.holes[0].formula) == ("transpose", "c ^ r")
    assert "xor" in solution.holes[0].constants
    assert "tile[r][lane ^ r]" in (tmp_path / "out" / "transpose.cu").read_text(encoding="utf-8")
    assert execute(["check", str(saved), "--trust"], out, io.StringIO()) == 0, out.getvalue()


def test_without_a_cost_the_lightest_function_will_do(tile: Path) -> None:
    best = solve(load(tile)[0]).best
    assert best is not None
    assert best.holes[0].formula == "c"


def test_a_cost_without_a_floor_is_not_proved(tile: Path) -> None:
    """There are more functions than can be counted; it says so."""
    result = solve(load(tile, overrides={"m": 4, "n": 8})[0], cost=("conflicts", "terms"))
    assert result.best is not None
    assert result.proved["conflicts"]
    assert COUNTED >= 32
    assert result.optimal or "too many for all" in result.reason


POINTS = [(i, k) for i in range(8) for k in range(8)]


@pytest.mark.parametrize("made", [Xor(8, 3), RotateXform(8, POINTS, "3")])
def test_light_functions_are_functions_of_the_family(made: Template) -> None:
    """The identity is the first; each is recognised by its values."""
    columns = [np.array(column) for column in zip(*POINTS, strict=True)]
    few = list(itertools.islice(made.lightest(), 60))
    tables = [np.broadcast_to(made.apply(choice, columns), len(POINTS)).tolist() for choice in few]
    assert [i for i, _ in POINTS] in tables[:2]
    for values in tables:
        found = made.recognised(POINTS, values)
        assert found is not None
        assert np.broadcast_to(made.apply(found, columns), len(POINTS)).tolist() == values
    wrong = list(tables[0])
    wrong[9] = (wrong[9] + 1) % 8
    assert made.recognised(POINTS, wrong) is None


@pytest.mark.parametrize(
    ("families", "index", "formula"),
    [
        ("rotate", "(i + 1 - k) % 4", "(lane + 1 - k) % 4"),
        ("xor", "i ^ 2 * k ^ 1", "lane ^ 2 * k ^ 1"),
        ("rotate, xor", "i ^ 2 * k ^ 1", "lane ^ 2 * k ^ 1"),
    ],
)
def test_a_long_formula_of_named_families(tmp_path: Path, families: str, index: str, formula: str) -> None:
    """Shorter functions are tried in its place, and none of them fits."""
    path = tmp_path / "rows.swz"
    path.write_text(f"""
@spec
def rows_spec(x):
    return [[x[{index}] for k in range(2)] for i in range(4)]

@sketch(spec=rows_spec, block=4, warp_size=4, x=f32[4], y=f32.out[4, 2])
def rows(x, y):
    lane = cuda.laneid
    for k in range(2):
        y[lane, k] = x[?sw_index(lane, 4, k, families="{families}")]
""")
    (hole,) = solve(load(path)[0]).best.holes
    assert hole.formula == formula


def test_where_no_family_fits_rotations_are_whole(tmp_path: Path) -> None:
    """They are those of `rotate`, with quotients; the second description has them, too."""
    path = tmp_path / "turned.swz"
    path.write_text("""
@spec
def turned_spec(x):
    return [[x[(i + 5 * k + k // 2 + 9) % 12] for k in range(3)] for i in range(12)]

@sketch(spec=turned_spec, block=12, x=f32[12], y=f32.out[12, 3])
def turned(x, y):
    i = cuda.threadIdx.x
    for k in range(3):
        y[i, k] = x[?sw_index(i, 12, k, families="xor")]
""")
    result = solve(load(path)[0], Limits(all_solutions=True, certify=True))
    (hole,) = result.best.holes
    assert hole.formula == "(i + 5 * k + k // 2 + 9) % 12" and len(result.solutions) == 1
    assert [each["verdict"] for each in result.certificate["confirmed"]] == ["confirmed"]


@pytest.mark.parametrize(("index", "found"), [("(i + 9) % 12", ["(i + 9) % 12"]), ("7 * i % 12", [])])
def test_a_family_without_functions_of_a_hole_leaves_nothing_open(tmp_path: Path, index: str, found: list[str]) -> None:
    """Without a k there is no wrapped turn; rotations are tried in its place, all of them."""
    path = tmp_path / "turned.swz"
    path.write_text(f"""
@spec
def turned_spec(x):
    return [x[{index}] for i in range(12)]

@sketch(spec=turned_spec, block=12, x=f32[12], y=f32.out[12])
def turned(x, y):
    i = cuda.threadIdx.x
    y[i] = x[?sw_index(i, 12, families="column_major")]
""")
    result = solve(load(path)[0], Limits(all_solutions=True, certify=True))
    assert result.status == ("sat" if found else "unsat")
    assert [hole.formula for each in result.solutions for hole in each.holes] == found
    assert {each["verdict"] for each in result.certificate["confirmed"]} == {"confirmed"}


STRUCTURES = """
from swizzle import cuda, f32, sketch, spec, sw_index

@spec
def sums(x):
    return [sum(x[4 * i + r] for r in range(4)) for i in range(32)]

@cuda.jit(device=True)
def cell(i):
    return sw_index(i, 128, families="xor")

@sketch(spec=sums, block=32, x=f32[128], y=f32.out[32])
def structures(x, y):
    tile = cuda.shared.array(128, f32)
    lane = cuda.laneid
    for i in range(4):
        tile[cell(32 * i + lane)] = x[32 * i + lane]
    cuda.syncthreads()
    total = f32(0)
    for i in range(4):
        total += tile[cell(4 * lane + i)]
    y[lane] = total
"""


def test_an_index_that_counts_all_cells(tmp_path: Path) -> None:
    """Parts of the index itself are light where nothing else is given: the row that it is in turns its column."""
    (tmp_path / "k.py").write_text(STRUCTURES)
    found = solve(load(str(tmp_path / "k.py"))[0], Limits(cost=("conflicts",)))
    assert found.best is not None and found.best.cost["conflicts"] == 0 and found.optimal
    assert found.best.holes[0].formula == "i ^ (i >> 5)"


def test_two_holes_that_are_one_layout(tmp_path: Path) -> None:
    """They are solved, and it is said what would be searched as a layout; one hole is not spoken of."""
    apart = TILE.format(families="").replace("tile[r, cell(r, lane)]", "tile[r, sw_index(lane, N, r)]")
    for text, hints in ((apart, 1), (TILE.format(families=""), 0)):
        (tmp_path / "k.py").write_text(text)
        out = io.StringIO()
        assert execute(["solve", str(tmp_path / "k.py"), "-D", "m=8", "-D", "n=8", "-q"], out, io.StringIO()) == 0
        assert out.getvalue().count("  hint    index1 and index2 are the layout of tile: one hole in a device") == hints
