"""Warp reduction: every lane has the sum of all lanes. `shared` has one hole for all steps, `apart` one a step."""

from swizzle import cuda, f32, parameter, sketch, spec, sw_xform

W = 32
STEPS = parameter("steps", 5, domain=range(1, 6))


@spec
def total(x):
    return [sum(x[i] for i in range(W)) for _ in range(W)]


@sketch(spec=total, block=W, warp_size=W, x=f32[W], y=f32.out[W])
def shared(x, y):
    lane = cuda.laneid
    s = x[lane]
    for k in range(STEPS):
        s += cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W, 1 << k))
    y[lane] = s


@sketch(spec=total, block=W, warp_size=W, x=f32[W], y=f32.out[W])
def apart(x, y):
    lane = cuda.laneid
    s = x[lane]
    s += cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W))
    s += cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W))
    s += cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W))
    s += cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W))
    s += cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W))
    y[lane] = s
