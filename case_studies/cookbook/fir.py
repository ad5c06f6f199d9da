"""FIR filter of 17 taps: the register, the lane and the tap of each product are holes."""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_cond, sw_xform

W, N = 32, 128
TAPS = parameter("taps", 17, domain=range(2, 33))


@spec
def filtered(x, w):
    return [sum(w[k] * x[i + k] for k in range(TAPS)) for i in range(N)]


@sketch(spec=filtered, block=64, grid=2, warp_size=W, x=f32[N + W], w=f32[TAPS], y=f32.out[N])
def fir(x, w, y):
    lane, i = cuda.laneid, cuda.grid(1)
    a, b = x[i], x[i + W]
    s = accumulator(f32, outer="+", inner="*")
    for k in range(TAPS):
        moved = cuda.shfl_sync(cuda.FULL_MASK, a if sw_cond(lane, k) else b, sw_xform(lane, W, k))
        s.accumulate(moved, w[sw_xform(k, TAPS)])
    y[i] = s.value
