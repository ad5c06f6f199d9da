"""One step of the wave equation in one dimension: three neighbours through shuffles, then ordinary arithmetic."""

from swizzle import cuda, f32, sketch, spec, sw_cond, sw_xform

W, N = 32, 128


@spec
def step(x, before):
    return [2 * x[i + 1] - before[i] + 0.25 * (x[i] - 2 * x[i + 1] + x[i + 2]) for i in range(len(before))]


@sketch(spec=step, block=64, grid=2, warp_size=W, x=f32[N + W], before=f32[N], y=f32.out[N])
def wave(x, before, y):
    lane, i = cuda.laneid, cuda.grid(1)
    a, b = x[i], x[i + W]
    left = cuda.shfl_sync(cuda.FULL_MASK, a if sw_cond(lane) else b, sw_xform(lane, W))
    here = cuda.shfl_sync(cuda.FULL_MASK, a if sw_cond(lane) else b, sw_xform(lane, W))
    right = cuda.shfl_sync(cuda.FULL_MASK, a if sw_cond(lane) else b, sw_xform(lane, W))
    y[i] = 2 * here - before[i] + 0.25 * (left - 2 * here + right)
