"""Max reduction: every lane has the largest of all lanes."""

from swizzle import cuda, f32, parameter, sketch, spec, sw_xform
from swizzle import maximum as larger

W = 32
STEPS = parameter("steps", 5, domain=range(1, 6))


@spec
def largest(x):
    found = x[0]
    for i in range(1, W):
        found = larger(found, x[i])
    return [found for _ in range(W)]


@sketch(spec=largest, block=W, warp_size=W, x=f32[W], y=f32.out[W])
def maximum(x, y):
    lane = cuda.laneid
    s = x[lane]
    for k in range(STEPS):
        s = max(s, cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W, 1 << k)))
    y[lane] = s
