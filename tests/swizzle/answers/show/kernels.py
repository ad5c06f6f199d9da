"""Kernels that the pictures are tried on: small, and different from each other and from the case studies."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

from swizzle.answers.show.picture import Picture, picture_of
from swizzle.sketches.sketch import Sketch
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Solution
from symbolic.ir.program import Hole
from tests.sketches import sketch_of

CONVOLUTION = """
@spec
def conv_spec(x, w):
    return [sum(w[k] * x[i + k] for k in range(3)) for i in range(16)]

@sketch(spec=conv_spec, block=8, grid=2, warp_size=4, x=f32[18], w=f32.const[3], y=f32.out[16])
def conv(x, w, y):
    lane = cuda.laneid
    i = cuda.grid(1)
    inp = cuda.local.array(2, f32)
    warp_load(x, inp, offset=i - lane)
    out = accumulator(f32, outer="+", inner="*")
    for k in range(3):
        mine = inp[?sw_part(2, lane, k)]
        v = cuda.shfl_sync(cuda.FULL_MASK, mine, ?sw_xform(lane, 4, k))
        out.accumulate(v, w[?sw_xform(k, 3, lane)])
    y[i] = out.value
"""

BUTTERFLY = """
@spec
def sum_spec(x):
    total = x[0]
    for i in range(1, 8):
        total = total + x[i]
    return [total for i in range(8)]

@sketch(spec=sum_spec, block=8, warp_size=8, x=i32[8], y=i32.out[8])
def butterfly(x, y):
    lane = cuda.laneid
    v = x[lane]
    for d in range(3):
        v += cuda.shfl_xor_sync(cuda.FULL_MASK, v, 1 << d)
    y[lane] = v
"""

TRANSPOSE = """
@spec
def transposed(x):
    return [[x[r, c] for r in range(4)] for c in range(8)]

@sketch(spec=transposed, block=(8, 4), warp_size=8, x=f32[4, 8], y=f32.out[8, 4])
def transpose(x, y):
    c, r = cuda.threadIdx.x, cuda.threadIdx.y
    tile = cuda.shared.array((4, 9), f32)
    tile[r, c] = x[r, c]
    cuda.syncthreads()
    t = r * 8 + c
    y[t // 4, t % 4] = tile[t % 4, t // 4]
"""

TWO_SUMS = """
@spec
def sums(x):
    even = [x[2 * i] + x[(2 * i + 2) % 16] for i in range(8)]
    best = [maximum(x[2 * i + 1], x[(2 * i + 3) % 16]) * 2 for i in range(8)]
    return even, best

@sketch(spec=sums, block=8, warp_size=8, x=f64[16], y=f64.out[8], z=f64.out[8])
def pairs(x, y, z):
    lane = cuda.laneid
    mine = cuda.local.array(2, f64)
    warp_load(x, mine, stride=2)
    total = accumulator(f64, outer="+")
    best = accumulator(f64, outer="max", final=lambda m: m * 2, shape=1)
    for j in range(2):
        a = cuda.shfl_sync(cuda.FULL_MASK, mine[0], ?sw_xform(lane, 8, j))
        total.accumulate(a)
        best[0].accumulate(cuda.shfl_sync(cuda.FULL_MASK, mine[1], ?sw_xform(lane, 8, j)))
    if lane < 8:
        y[lane] = total.value
    z[lane] = best[0].value
"""

HALVES = """
@spec
def halves(x, z):
    return [x[i] + x[i + 4] if i < 4 else z[i] for i in range(8)]

@sketch(spec=halves, block=8, warp_size=4, x=f32[8], z=f32.inout[8])
def halves_kernel(x, z):
    i = cuda.grid(1)
    if i < 4:
        a = x[i]
        b = x[i + 4] if i < 4 else 0
        z[i] = a + b
    cuda.syncthreads()
"""

LARGE_CONVOLUTION = """
@spec
def conv_spec(x, w):
    taps = range(7)
    return [[sum(w[a, b] * x[r + a, c + b] for a in taps for b in taps) for c in range(8)] for r in range(4)]

@sketch(spec=conv_spec, block=32, x=f32[10, 14], w=f32.const[7, 7], y=f32.out[4, 8])
def large_convolution(x, w, y):
    r, c = cuda.laneid // 8, cuda.laneid % 8
    patch = cuda.local.array((3, 2), f32)
    warp_load(x, patch, shape=(4, 8))
    out = accumulator(f32, outer="+", inner="*")
    for a in range(7):
        for b in range(7):
            row = (4 if r < a % 4 else 0) + a // 4 * 4
            mine = patch[row // 4, 1 if c < b else 0]
            v = cuda.shfl_sync(cuda.FULL_MASK, mine, (r + a) % 4 * 8 + (c + b) % 8)
            out.accumulate(v, w[a, b])
    y[r, c] = out.value
"""

LARGE_PRODUCT = """
@spec
def product(a, b):
    found = []
    for s in range(128):
        total = 0
        for p in range(max(0, s - 63), min(64, s + 1)):
            total = total ^ (a[p] & b[s - p])
        found.append(total)
    return found

@sketch(spec=product, block=32, a=u32[64], b=u32[64], y=u32.out[128])
def large_product(a, b, y):
    lane = cuda.laneid
    sa = cuda.shared.array((2, 32), u32)
    sb = cuda.shared.array((2, 32), u32)
    for r in range(2):
        sa[r, lane] = a[r * 32 + lane]
        sb[r, lane] = b[r * 32 + lane]
    cuda.syncthreads()
    answer = accumulator(u32, outer="^", inner="&", shape=4)
    for k in range(32):
        a0, a1 = sa[0, (lane - k) % 32], sa[1, (lane - k) % 32]
        b0, b1 = sb[0 if lane < k else 1, k], sb[1 if lane < k else 0, k]
        answer[0].accumulate(a0, b1, when=lane >= k)
        answer[1].accumulate(a0, b0)
        answer[1].accumulate(a1, b1, when=lane >= k)
        answer[2].accumulate(a0, b1, when=lane < k)
        answer[2].accumulate(a1, b0)
        answer[3].accumulate(a1, b1, when=lane < k)
    for j in range(4):
        y[j * 32 + lane] = answer[j].value
"""

ALL = {"conv": CONVOLUTION, "butterfly": BUTTERFLY, "transpose": TRANSPOSE, "pairs": TWO_SUMS, "halves": HALVES}


def random_constants(hole: Hole, random: Random) -> dict[str, int]:
    """Return constants of Space 3 for a hole."""

    def condition(suffix: str) -> dict[str, int]:
        left, right = sorted(random.randrange(max(1, len(hole.arguments))) for _ in range(2))
        drawn = {"left": left, "sign": random.choice((-1, 1)), "right": right, "threshold": random.randrange(-2, 4)}
        drawn |= {"equal": random.randrange(2), "negated": random.randrange(2)}
        return {name + suffix: value for name, value in drawn.items()}

    if hole.kind == "cond":
        return condition("")
    if hole.kind == "part":
        return {name: value for j in range(hole.size - 1) for name, value in condition(f"_{j}").items()}
    n = hole.size
    gs = random.choice([g for g in range(1, n + 1) if n % g == 0])
    d_f = random.choice([d for d in range(1, gs + 1) if gs % d == 0])
    c_f = random.choice(range(0, gs, gs // d_f))
    turn = {"c_r": random.randrange(n), "d_r": random.randrange(3), "c": random.randrange(n)}
    return {"gs": gs, "c_f": c_f, "d_f": d_f, "wrap": random.randrange(2), **turn}


@cache
def solved(text: str) -> tuple[Sketch, Solution]:
    """Return the only sketch of a `.swz` text with its best solution; a kernel without holes is its own."""
    sketch = sketch_of(text)
    return sketch, solve(sketch).best if sketch.program.holes else Solution(sketch.program, (), {})


def picture(text: str, **where: Any) -> Picture:
    """Draw the only sketch of a `.swz` text, solved."""
    sketch, solution = solved(text)
    return picture_of(solution, sketch.spec, **where)
