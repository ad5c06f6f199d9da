"""Dot product by a warp: each lane sums some products, and a tree of shuffles sums the lanes."""

from swizzle import cuda, f32, parameter, sketch, spec, sw_xform

W = 32
ROUNDS = parameter("rounds", 4, domain=range(1, 9))
STEPS = parameter("steps", 5, domain=range(1, 6))


@spec
def product(x, w):
    return [sum(x[i] * w[i] for i in range(W * ROUNDS))]


@sketch(spec=product, block=W, warp_size=W, x=f32[W * ROUNDS], w=f32[W * ROUNDS], y=f32.out[1])
def dot(x, w, y):
    lane = cuda.laneid
    s = x[lane] * w[sw_xform(lane, W)]
    for k in range(1, ROUNDS):
        s += x[W * k + lane] * w[W * k + sw_xform(lane, W, k)]
    for k in range(STEPS):
        s += cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W, 1 << k))
    if lane == 0:
        y[0] = s
