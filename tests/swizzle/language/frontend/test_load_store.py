"""Load and store helpers: what they move is what section 6.2 of the paper says, by the machine.

`permute_local`: element i of a local array becomes what element shfl(i) was.
"""

import pytest

from swizzle.language.parameters import Parameters
from swizzle.language.specs.verify import verify
from swizzle.sketches.swz_file import read_swz
from tests.swizzle.spelling import lines, read, spelled


def is_equal(kernel: str, spec: str, arrays: str, launch: str) -> bool:
    """Say whether the kernel computes its specification, for all inputs."""
    body = "\n".join("    " + line for line in kernel.strip().split("\n"))
    text = (
        f"@spec\ndef wanted(x):\n    return {spec}\n\n@sketch(spec=wanted, {launch}, {arrays})\ndef k(x, y):\n{body}\n"
    )
    (sketch,) = read_swz(text, "inline.swz", Parameters())
    verdict = verify(sketch.program, sketch.spec)
    assert not verdict.violations
    return not verdict.mismatches


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("shfl", ["t", "(t + r) % 8", "7 - t", "t ^ 1"])
def test_warp_load_follows_the_formula(stride: int, shfl: str) -> None:
    """Round r, lane t: element offset + (r * warp + shfl(t)) * stride + e comes to slot r * stride + e."""
    size = 2 * stride
    kernel = f"""
v = cuda.local.array({size}, f32)
warp_load(x, v, offset=3, stride={stride}, shfl=lambda t, r: {shfl}, fill=9)
for s in range({size}):
    y[cuda.laneid * {size} + s] = v[s]
"""
    position = f"3 + (r * 8 + ({shfl})) * {stride} + e"
    cells = f"[x[{position}] if {position} < 30 else 9 for t in range(8) for r in range(2) for e in range({stride})]"
    assert is_equal(kernel, cells, f"x=f32[30], y=f32.out[{8 * size}]", "block=8, warp_size=8")


@pytest.mark.parametrize("shfl", ["t", "(t + r) % 8"])
def test_warp_store_undoes_warp_load(shfl: str) -> None:
    """Loading and storing with the same arguments copies, by two warps, past the end of neither array."""
    arguments = f"offset=cuda.warpid * 32, stride=2, shfl=lambda t, r: {shfl}"
    kernel = f"v = cuda.local.array(4, f32)\nwarp_load(x, v, {arguments})\nwarp_store(v, y, {arguments})"
    spec = "[x[i] for i in range(50)]"
    assert is_equal(kernel, spec, "x=f32[60], y=f32.out[50]", "block=16, warp_size=8")
    assert not is_equal(kernel, "[x[i + 1] for i in range(50)]", "x=f32[60], y=f32.out[50]", "block=16, warp_size=8")


@pytest.mark.parametrize("block", ["8", "(4, 2)", "(2, 2, 2)"])
@pytest.mark.parametrize("stride", [1, 2])
def test_block_load_and_store(block: str, stride: int) -> None:
    """A block moves a whole shared array, also when its size is not a multiple of a round."""
    kernel = f"""
t = cuda.shared.array(21, f32)
block_load(x, t, offset=1, stride={stride}, fill=4)
cuda.syncthreads()
block_store(t, y, stride={stride})
"""
    spec = "[x[i + 1] if i < 19 else 4 for i in range(21)]"
    assert is_equal(kernel, spec, "x=f32[20], y=f32.out[21]", f"block={block}, warp_size=8")


def test_block_load_with_shfl() -> None:
    """Thread t's place in the shared array receives slice shfl(t)."""
    kernel = """
t = cuda.shared.array(16, f32)
block_load(x, t, shfl=lambda t: 7 - t)
cuda.syncthreads()
y[cuda.threadIdx.x] = t[cuda.threadIdx.x]
y[cuda.threadIdx.x + 8] = t[cuda.threadIdx.x + 8]
"""
    assert is_equal(
        kernel,
        "[x[r * 8 + 7 - t] for r in range(2) for t in range(8)]",
        "x=f32[16], y=f32.out[16]",
        "block=8, warp_size=8",
    )


@pytest.mark.parametrize("team", ["warp", "block"])
@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (1, 3)])
def test_two_dimensions_follow_the_formula(team: str, stride: tuple[int, int]) -> None:
    """Along each dimension, in round r, thread t moves from offset + (r * width + shfl(t)) * stride."""
    (height, width), (rounds_y, rounds_x), (sy, sx) = (2, 4), (2, 1), stride
    rows, columns = rounds_y * sy * height, rounds_x * sx * width
    shape = (rounds_y * sy, rounds_x * sx) if team == "warp" else (rows, columns)
    memory = "local" if team == "warp" else "shared"
    ty, tx = "cuda.laneid // 4", "cuda.laneid % 4"
    kernel = f"""
v = cuda.{memory}.array({shape}, f32)
{team}_load(x, v, offset=(1, 2), stride={stride}, shape=(2, 4), shfl=(lambda t: 1 - t, lambda t, r: (t + r + 1) % 4))
cuda.syncthreads()
for r in range({rounds_y}):
    for e in range({sy}):
        for f in range({sx}):
            y[(r * 2 + {ty}) * {sy} + e, ({tx}) * {sx} + f] = v[{{slot}}]
"""
    slot = f"r * {sy} + e, f" if team == "warp" else f"(r * 2 + {ty}) * {sy} + e, ({tx}) * {sx} + f"
    row = f"1 + ((i // {sy}) // 2 * 2 + 1 - (i // {sy}) % 2) * {sy} + i % {sy}"
    column = f"2 + (j // {sx} + 1) % 4 * {sx} + j % {sx}"
    cell = f"x[{row}, {column}] if {row} < 4 and {column} < 9 else 0"
    assert is_equal(
        kernel.replace("{slot}", slot),
        f"[[{cell} for j in range({columns})] for i in range({rows})]",
        f"x=f32[4, 9], y=f32.out[{rows}, {columns}]",
        "block=8, warp_size=8",
    )


@pytest.mark.parametrize("shape", [(1, 2, 4), (2, 2, 2), (1, 1, 8)])
def test_a_store_undoes_a_load_in_three_dimensions(shape: tuple[int, int, int]) -> None:
    """Whatever shape the warp has, loading and storing with the same arguments copies, up to the ends of the array."""
    rounds = tuple(-(-size // width) for size, width in zip((3, 4, 7), shape, strict=True))
    kernel = f"v = cuda.local.array({rounds}, f32)\nwarp_load(x, v, shape={shape})\nwarp_store(v, y, shape={shape})"
    spec = "[[[x[i, j, k] for k in range(7)] for j in range(4)] for i in range(3)]"
    assert is_equal(kernel, spec, "x=f32[3, 4, 7], y=f32.out[3, 4, 7]", "block=8, warp_size=8")


@pytest.mark.parametrize(
    ("block", "shape"), [("(4, 2)", ""), ("(2, 4)", ", shape=(2, 4)"), ("8", ", shape=(4, 2)"), ("8", "")]
)
def test_a_block_transposes(block: str, shape: str) -> None:
    """With transpose=True the shared array has the dimensions reversed, also where it is not a multiple of a round."""
    kernel = f"""
v = cuda.shared.array((5, 3), f32)
block_load(x, v, offset=(1, 0), transpose=True{shape})
cuda.syncthreads()
block_store(v, y{shape})
"""
    spec = "[[x[1 + j, i] if j < 2 else 0 for j in range(3)] for i in range(5)]"
    assert is_equal(kernel, spec, "x=f32[3, 6], y=f32.out[5, 3]", f"block={block}, warp_size=8")


def test_a_hole_for_each_dimension() -> None:
    """Each entry of shfl may hold a hole, in a lambda of its dimension's thread and round or as an index."""
    sketch = read(
        "v = cuda.local.array((1, 2), f32)\n"
        "warp_load(x, v, shape=(4, 8), shfl=(lambda t, r: ?sw_xform(t, 4, r), ?sw_xform(cuda.laneid % 8, 8)))",
        arrays="x=f32[4, 16]; y=f32.out[64]",
    )
    assert list(lines(sketch.program.body)) == [
        "local f32 v[1, 2]",
        "for r_1 in 0, 2, 1",
        "  row = ?hole0(cuda.laneid // 8, 0)",
        "  column = r_1 * 8 + ?hole1(cuda.laneid % 8, 0)",
        "  v[0, r_1] = x[row, column] if row < 4 and column < 16 else 0.0",
    ]
    assert [hole.arguments for hole in sketch.program.holes] == [("t", "r"), ("cuda.laneid % 8", "0")]


PERMUTED = """
@spec
def wanted(x):
    return [x[(t // 4) * 4 + (t % 4 * 3 + {turns} * (t // 4)) % 4] for t in range(32)]

@sketch(spec=wanted, block=8, warp_size=8, x=f32[32], y=f32.out[32])
def k(x, y):
    lane = cuda.laneid
    v = cuda.local.array(4, f32)
    for i in range(4):
        v[i] = x[lane * 4 + i]
    if lane < 8:
        permute_local(v, lambda i: (i * 3 + lane) % 4)
    for j in range(2):
        permute_local(v, shfl=lambda j: (j + lane) % 4)
    for i in range(4):
        y[lane * 4 + i] = v[i]
"""


def test_it_is_two_loops_over_a_second_array() -> None:
    """The array is gathered in the new order and copied back; the second array stands at the top of the kernel."""
    body = (
        "v = cuda.local.array(3, f32)\n"
        "for k in range(2):\n    permute_local(v, lambda r: ?sw_xform(r, 3, cuda.laneid + k))"
    )
    assert spelled(body) == [
        "local f32 permuted[3]",
        "local f32 v[3]",
        "for k in 0, 2, 1",
        "  for i in 0, 3, 1",
        "    permuted[i] = v[?hole0(i, cuda.laneid + k)]",
        "  for i_1 in 0, 3, 1",
        "    v[i_1] = permuted[i_1]",
    ]


def test_it_permutes_each_lanes_own_array() -> None:
    """Twice in a loop and under a condition, by the machine; another order is not equal."""
    for turns, equal in ((7, True), (2, False)):
        (sketch,) = read_swz(PERMUTED.replace("{turns}", str(turns)), "inline.swz", Parameters())
        verdict = verify(sketch.program, sketch.spec)
        assert not verdict.violations
        assert (not verdict.mismatches) == equal
