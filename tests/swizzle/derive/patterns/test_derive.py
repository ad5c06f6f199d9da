"""`swizzle derive FILE`: kernels that a derivation leads to are solved, proved and written; what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from swizzle.commands.process import execute

BLAS = """\
from swizzle import f32, spec
from swizzle.derive.patterns import add, derivation, hole, map, mul, reduce


def dot(u, v):
    return reduce(add, map(mul, u, v), 0)


@spec
def gemv_spec(A, x, z, a, b):
    return map(lambda row, v: a * dot(row, x) + b * v, A, z)


@derivation(spec=dot, u=f32["n"], v=f32["n"], n=32)
def dots(d):
    d.at("dot").strided(16).chunks(16).to_blocks()
    d.at("dot_chunk").chunks(2).to_threads().shared()
    d.at("dot_chunk").tree()


@derivation(spec=gemv_spec, A=f32["m", "k"], x=f32["k"], z=f32["m"], a=f32.scalar, b=f32.scalar, m=4, k=64)
def gemv(d):
    d.split(2).to_blocks().to_warps()
    d.at("dot").strided(32).part(32).to_lanes().registers()
    d.at("dot").butterfly()
"""


def derive(text: str, tmp_path: Path, name: str = "", *options: str) -> tuple[int, str, str]:
    """Return the exit status of the command on a file of this text, and what it prints."""
    path = tmp_path / "blas.py"
    path.write_text(text)
    out, err = io.StringIO(), io.StringIO()
    target = f"{path}:{name}" if name else str(path)
    return execute(["derive", target, *options], out, err), out.getvalue(), err.getvalue()


def test_a_dot_product_of_any_length_of_two_kernels(tmp_path: Path) -> None:
    status, out, _ = derive(BLAS, tmp_path, "dots", "-o", str(tmp_path / "out"))
    assert status == 0
    assert out.startswith(
        "dots: derived in 10 steps, equal to its specification, verified for all inputs (dots_1 then "
    )
    assert "  sizes   any length: u[n], v[n], y[1]\n" in out
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["dots.cu", "dots.derivation.json", "dots.py"]
    text = (tmp_path / "out" / "dots.py").read_text()
    assert "        acc += u[i * 16 + block * 8 + t] * v[i * 16 + block * 8 + t]\n    tile[t] = acc\n" in text
    assert "def dot(u, v):\n    return reduce(add, map(mul, u, v), 0)\n" in text  # the user's own function


def test_a_row_a_warp(tmp_path: Path) -> None:
    status, out, _ = derive(BLAS, tmp_path, "gemv", "--json")
    said = json.loads(out)
    assert status == 0 and said["verdict"] == "proved" and said["kernels"] == ["gemv"]
    assert [each["figure"] for each in said["steps"]][:3] == ["3c", "4a", "4a"]
    assert said["steps"][0]["facts"] == ["2 divides m"]
    assert said["expression"].splitlines()[-1].startswith("join o map_block(map_warp(")


@pytest.mark.slow
def test_a_row_a_warp_with_lanes_found_by_the_solver(tmp_path: Path) -> None:
    text = BLAS.replace("butterfly()", "butterfly(lanes=hole)")
    status, out, _ = derive(text, tmp_path, "gemv", "--json")
    (hole,) = json.loads(out)["solution"]["holes"]
    assert status == 0 and hole["formula"] in ("lane ^ mask", "(lane + mask) % 32")


def test_steps_are_saved_and_taken_again(tmp_path: Path) -> None:
    derive(BLAS, tmp_path, "dots", "-o", str(tmp_path / "out"))
    script = tmp_path / "out" / "dots.derivation.json"
    without = BLAS.replace('    d.at("dot").strided(16).chunks(16).to_blocks()\n', "    return\n")
    status, out, _ = derive(without, tmp_path, "dots", "--script", str(script))
    assert status == 0 and "derived in 10 steps" in out
    saved = json.loads(script.read_text())
    saved["steps"][2]["arguments"]["size"] = "12"
    script.write_text(json.dumps(saved))
    status, _, err = derive(BLAS, tmp_path, "dots", "--script", str(script))
    assert status == 2 and "step 3 does not hold any more" in err


@pytest.mark.parametrize(
    "old, new, line, found",
    [
        ('d.at("dot")', 'd.at("dott")', 16, "no position is called 'dott'"),
        ("strided(16)", "strides(16)", 16, "no rule strides"),
        ("strided(16)", "strided(24)", 14, "that 24 divides n is not so of n = 32"),
        ("reduce(add, map(mul, u, v), 0)", "reduce(lambda a, b: a - b, u, 0)", 16, "is not so"),
        (".to_threads().shared()", ".to_lanes()", 17, "map_lane outside map_warp"),
        (", n=32)", ")", 14, "no length for n"),
        ('v=f32["n"], n', 'v=f32["m"], n', 6, "zip of lengths [n, m]"),
        ("to_blocks()", "to_threads()", 16, "map_local outside map_block"),
        (".tree()", ".tree(size=5)", 18, "8 elements, reduced by 5 in each round"),
    ],
)
def test_what_is_refused(old: str, new: str, line: int, found: str, tmp_path: Path) -> None:
    assert old in BLAS
    status, _, err = derive(BLAS.replace(old, new, 1), tmp_path, "dots", "-o", str(tmp_path / "out"))
    assert status == 2 and f"blas.py:{line}:" in err and found in err
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_wrong_start_is_not_equal_to_the_specification(tmp_path: Path) -> None:
    """Nothing of a derivation is believed: its start may be any function, and the kernels are compared at the end."""
    start = "def other(u, v):\n    return reduce(add, map(lambda a, b: a * b + a, u, v), 0)\n\n\n"
    text = BLAS.replace("@derivation(spec=dot,", f"{start}@derivation(spec=dot, start=other,", 1).replace(
        'd.at("dot")', 'd.at("other")'
    )
    text = text.replace('d.at("dot_chunk")', 'd.at("other_chunk")')
    status, out, _ = derive(text, tmp_path, "dots", "-o", str(tmp_path / "out"))
    assert status == 1 and "dots: derived in 10 steps, refuted" in out
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


SCAL = """\
from swizzle import f32, spec
from swizzle.derive.patterns import derivation, map


@spec
def scal(a, x):
    return map(lambda v: a * v, x)


@derivation(spec=scal, a=f32.scalar, x=f32["n"], n=64)
def scaled(d):
    d.split(32).to_blocks().to_threads()
"""


def test_that_a_specification_goes_on_is_proved(tmp_path: Path) -> None:
    """At lengths at which it is not compared, too: each block is the first one, of inputs that are moved along."""
    status, out, _ = derive(SCAL, tmp_path, "scaled", "-o", str(tmp_path / "out"))
    assert status == 0
    assert out.endswith(
        "  sizes   any length: x[n], y[n]\n"
        "          that the traced expression of scal goes on along n in blocks of 32 is proved;\n"
        "          that scal computes this is compared, at the lengths that the .cu file names\n"
    )  # fmt: skip
    _, out, _ = derive(SCAL, tmp_path, "scaled", "-o", str(tmp_path / "out"), "--json")
    assert json.loads(out)["specification_goes_on"] == {
        "n": {"of": "the traced expression", "block": 32, "proved": True}
    }
    assert "was compared at n = " in (tmp_path / "out" / "scaled.cu").read_text().replace("\n// ", " ")


CONVOLUTION = """\
from swizzle import f32, spec
from swizzle.derive.patterns import add, derivation, map, mul, reduce, slide, transpose, join


@spec
def conv2d(x, w):
    def point(win):
        return reduce(add, join(map(lambda a, b: map(mul, a, b), win, w)), 0)

    def row(wins):
        return map(point, wins)

    return map(row, map(transpose, slide(3, 1, map(lambda r: slide(3, 1, r), x))))


@derivation(spec=conv2d, x=f32["m", "n"], w=f32[3, 3], m=34, n=50)
def tiled(d):
    d.slide_tiles_2d(16)
    d.at("row").map_of_join()
    d.at("row_chunks").map_fusion()
    d.at("row").map_fusion()
    d.at("point").map_of_join()
    d.at("row").map_fission()
    d.at("row_first").map_of_transpose()
    d.at("row_chunks").map_fusion()
    d.at("row_first").map_fusion()
    d.at("row_chunks").to_blocks("y")
    d.at("row_first").to_blocks()
    d.at("point_chunks").to_threads("y")
    d.at("point").to_threads()
"""


def test_a_convolution_in_tiles_that_overlap(tmp_path: Path) -> None:
    """In two dimensions, of any lengths: 13 rules lead to the kernel that one would write."""
    status, out, _ = derive(CONVOLUTION, tmp_path, "tiled", "-o", str(tmp_path / "out"))
    assert status == 0
    assert out.endswith(
        "  sizes   any length: x[n_y + 2, n_x + 2], w[3, 3], y[n_y, n_x]\n"
        "          that the traced expression of conv2d goes on along m in blocks of 16 and n in blocks of 16 is "
        "proved;\n          that conv2d computes this is compared, at the lengths that the .cu file names\n"
    )
    assert (
        (tmp_path / "out" / "tiled.py")
        .read_text()
        .endswith(
            "    for i in range(3):\n"
            "        for j in range(3):\n"
            "            acc += w[i, j] * x[by * 16 + ty + i, bx * 16 + tx + j]\n"
            "    y[by * 16 + ty, bx * 16 + tx] = acc\n"
        )
    )


PRODUCT = """\
from swizzle import f32, spec
from swizzle.derive.patterns import add, derivation, map, mul, reduce, transpose


@spec
def product(A, B):
    def row(r):
        def cell(c):
            return reduce(add, map(mul, r, c), 0)

        return map(cell, transpose(B))

    return map(row, A)


@derivation(spec=product, A=f32["m", "k"], B=f32["k", "n"], m=32, k=32, n=32)
def tiled(d):
    d.lower_reduce()
    d.reduce_map_fusion()
    d.at("row").split(16)
    d.at("cell").split(16)
    d.at("row").map_fission()
    d.at("row_first").interchange()
    d.reduce_tiles(16)
    d.at("row_chunks").to_blocks("y")
    d.at("cell_chunks").to_blocks()
    d.keep_tile(0)
    d.keep_tile(1, True)
    d.at("row_first").to_threads("y")
    d.at("cell").to_threads()
"""


@pytest.mark.slow
def test_a_product_in_tiles_by_13_rules(tmp_path: Path) -> None:
    """Both tiles in shared memory, the sum in place; any length along all three axes."""
    status, out, _ = derive(PRODUCT, tmp_path, "tiled", "-o", str(tmp_path / "out"))
    assert status == 0 and out.startswith("tiled: derived in 13 steps, equal to its specification")
    assert "  sizes   any length: A[n_y, n_k], B[n_k, n_x], y[n_y, n_x]\n" in out
    text = (tmp_path / "out" / "tiled.py").read_text()
    assert text.count("cuda.syncthreads()") == 2 and "            acc += tile[j, tx] * tile_2[ty, j]\n" in text


LANES = """\
from swizzle import f32
from swizzle.derive.patterns import add, derivation, hole, map, mul, reduce, slide


def convolution(x, w):
    def window(elements):
        return reduce(add, map(mul, elements, w), 0)

    return map(window, slide(3, 1, x))


@derivation(spec=convolution, x=f32["n + 2"], w=f32.const[3], n=128)
def registers(d):
    d.tiles(32).split(2).to_blocks().to_warps()
    d.at("window").to_lanes()
    d.at("tiles").cached("registers", "lane", lanes=hole)
"""


@pytest.mark.parametrize("lanes", ["hole", "None"])
def test_a_tile_in_the_lanes_of_a_warp(lanes: str, tmp_path: Path) -> None:
    """With holes, the solver finds whom each lane asks, and which of two registers; without, both are asked."""
    status, out, _ = derive(LANES.replace("lanes=hole", f"lanes={lanes}"), tmp_path, "", "-o", str(tmp_path / "out"))
    assert status == 0 and "registers: derived in 11 steps, equal to its specification" in out
    assert ("  part1 = 0 if lane >= i else 1\n  xform1 = (lane + i) % 32\n" in out) is (lanes == "hole")
    assert "  sizes   any length: x[n + 2], w[3], y[n]\n" in out


KEPT = """\
from swizzle import f32, spec
from swizzle.derive.patterns import derivation, hole, join, map, split, transpose


@spec
def computed(A):
    return SPEC


def twice(A):
    def load(row):
        return map(lambda v: v, row)

    def store(row):
        return map(lambda v: v + 1, row)

    def each(t):
        return STORED

    return START


@derivation(spec=computed, start=twice, A=f32[SHAPE], n=N)
def tile(d):
    d.at("each").to_blocks()
    d.at("store").to_threads()
    d.at("load").to_threads().HOLE
"""
LAYOUT = {
    "SPEC": "map(transpose, map(lambda t: map(lambda r: map(lambda v: v + 1, r), t), A))", "START": "map(each, A)",
    "STORED": "map(store, transpose(map(load, t)))", "SHAPE": '"n", 8, 8', "N": "2", "HOLE": "shared(layout=hole)",
}  # fmt: skip
EXCHANGE = {
    "SPEC": "map(lambda v: v + 1, A)", "START": "join(map(each, split(64, A)))",
    "STORED": "join(map(store, split(2, join(transpose(map(load, transpose(split(32, t))))))))", "SHAPE": '"n"',
    "N": "128", "HOLE": "registers(exchange=hole)",
}  # fmt: skip


@pytest.mark.parametrize("kept", [LAYOUT, EXCHANGE], ids=["layout", "exchange"])
def test_how_a_tile_is_kept_is_found_by_the_solver(kept: dict[str, str], tmp_path: Path) -> None:
    """Rows in shared memory get a layout without conflicts, and threads get what others have in registers."""
    text = KEPT
    for name, value in kept.items():
        text = text.replace(name, value)
    status, out, err = derive(text, tmp_path, "", "-o", str(tmp_path / "out"))
    assert status == 0 and "equal to its specification" in out, out + err
    assert "  index1 = " in out and "cost    0 conflicts" in out if kept is LAYOUT else "  home1 = shuffle\n" in out
    again = derive(text, tmp_path, "", "--script", str(tmp_path / "out" / "tile.derivation.json"))
    assert again[0] == 0 and again[1].splitlines()[0] == out.splitlines()[0]


def test_solve_says_that_a_specification_of_patterns_goes_on(tmp_path: Path) -> None:
    """Of an expression, for all lengths, beside the sizes and in the kernel's head; of no other function."""
    text = KEPT
    for name, value in (EXCHANGE | {"HOLE": "shared()"}).items():
        text = text.replace(name, value)
    assert derive(text, tmp_path, "", "-o", str(tmp_path))[0] == 0
    line = "that the traced expression of computed goes on along n in blocks of 64 is proved;"
    for old, new in (("", ""), ("return map(lambda v: v + 1, A)", "return [v + 1 for v in A]")):
        written = tmp_path / "tile.py"
        written.write_text(written.read_text().replace(old, new))
        out, err = io.StringIO(), io.StringIO()
        assert execute(["solve", str(written), "-o", str(tmp_path / "out")], out, err) == 0, err.getvalue()
        head = " ".join((tmp_path / "out" / "tile.cu").read_text().split("namespace")[0].replace("//", "").split())
        assert (f"          {line}\n" in out.getvalue()) == (f"T{line[1:]}" in head) == (not old), out.getvalue()


NUMBERS = """\
from swizzle import f32, spec
from swizzle.derive.patterns import add, derivation, map, reduce


@spec
def thirds(x, a):
    def third(v):
        return VALUE

    return map(third, x)


@derivation(spec=thirds, x=f32["n"], a=f32.scalar, n=32)
def each(d):
    d.to_grid()
"""


@pytest.mark.parametrize(
    "value, text",
    [
        ("v / 9", "x[t] / 9"),
        ("(v + a) / 9", "(a + x[t]) / 9"),
        ("2 * v * a / 7", "2 * a * x[t] / 7"),
        ("v + 1 / 4 * a", "(a / 4) + x[t]"),
        ("v + a / 3", "(a / 3) + x[t]"),
        ("v / 10", "x[t] / 10"),
        ("a / (v / 9)", "a / (x[t] / 9)"),
    ],
)
def test_numbers_are_divided_as_kernels_divide_them(value: str, text: str, tmp_path: Path) -> None:
    """A kernel has no quotients of whole numbers, so that a third is taken of a number of its own."""
    status, out, err = derive(NUMBERS.replace("VALUE", value), tmp_path, "each", "-o", str(tmp_path / "out"))
    assert status == 0 and "verified for all inputs" in out, err
    print((tmp_path / "out" / "each.py").read_text())
    assert text in (tmp_path / "out" / "each.py").read_text()
