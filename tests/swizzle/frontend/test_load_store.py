"""Load and store helpers: what they move is what section 6.2 of the paper says, by the machine."""

import pytest

from swizzle.frontend.swz_file import read_swz
from swizzle.parameters import Parameters
from swizzle.search.verify import verify


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
    """A block moves a whole shared array, also when its size is no multiple of a round."""
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
