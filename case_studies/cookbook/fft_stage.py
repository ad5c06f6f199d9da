"""The first stage of an FFT of 32 points, decimation in frequency, of one real part: butterflies and twiddles.

In `blind`, the condition may not look at the lane.
"""

from swizzle import cuda, f32, sketch, spec, sw_cond, sw_xform

W, HALF = 32, 16


@spec
def stage(x, w):
    return [x[i] + x[i + HALF] if i < HALF else (x[i - HALF] - x[i]) * w[i - HALF] for i in range(W)]


@sketch(spec=stage, block=W, warp_size=W, x=f32[W], w=f32[HALF], y=f32.out[W])
def fft_stage(x, w, y):
    lane = cuda.laneid
    a = x[lane]
    b = cuda.shfl_sync(cuda.FULL_MASK, a, sw_xform(lane, W))
    y[lane] = a + b if sw_cond(lane, HALF) else (b - a) * w[sw_xform(lane % HALF, HALF)]


@sketch(spec=stage, block=W, warp_size=W, x=f32[W], w=f32[HALF], y=f32.out[W])
def blind(x, w, y):
    lane = cuda.laneid
    a = x[lane]
    b = cuda.shfl_sync(cuda.FULL_MASK, a, sw_xform(lane, W))
    y[lane] = a + b if sw_cond(lane % HALF) else (b - a) * w[sw_xform(lane % HALF, HALF)]
