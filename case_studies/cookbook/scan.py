"""Warp scan (Kogge and Stone): lane i has the sum of lanes 0 to i. In `blind`, the condition cannot see the step."""

from swizzle import cuda, f32, parameter, sketch, spec, sw_cond, sw_xform

W = 32
STEPS = parameter("steps", 5, domain=range(1, 6))


@spec
def prefix(x):
    return [sum(x[j] for j in range(i + 1)) for i in range(W)]


@sketch(spec=prefix, block=W, warp_size=W, x=f32[W], y=f32.out[W])
def scan(x, y):
    lane = cuda.laneid
    s = x[lane]
    for k in range(STEPS):
        t = cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W, 1 << k))
        s = s + t if sw_cond(lane, 1 << k) else s
    y[lane] = s


@sketch(spec=prefix, block=W, warp_size=W, x=f32[W], y=f32.out[W])
def blind(x, y):
    lane = cuda.laneid
    s = x[lane]
    for k in range(STEPS):
        t = cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W, 1 << k))
        s = s + t if sw_cond(lane) else s
    y[lane] = s
