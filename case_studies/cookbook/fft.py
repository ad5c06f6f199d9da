"""An FFT of 32 points, decimation in frequency, of one real part: every shuffle, condition and weight is a hole.

Its outputs come in bit-reversed order. `short` has one round too few. In `blind`, the last round's condition cannot
tell a lane from its neighbour.
"""

from swizzle import cuda, f32, sketch, spec, sw_cond, sw_xform

W = 32


@spec
def transformed(x, w):
    v = list(x)
    for step in range(5):
        d = 16 >> step
        v = [v[i] + v[i ^ d] if i & d == 0 else (v[i ^ d] - v[i]) * w[(i % d) << step] for i in range(W)]
    return v


@sketch(spec=transformed, block=W, warp_size=W, x=f32[W], w=f32[W // 2], y=f32.out[W])
def fft(x, w, y):
    lane = cuda.laneid
    v = x[lane]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    v = v + o if sw_cond(lane, 16) else (o - v) * w[sw_xform(lane % 16, 16)]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    v = v + o if sw_cond(lane % 16, 8) else (o - v) * w[sw_xform(lane % 8, 16)]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    v = v + o if sw_cond(lane % 8, 4) else (o - v) * w[sw_xform(lane % 4, 16)]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    v = v + o if sw_cond(lane % 4, 2) else (o - v) * w[sw_xform(lane % 2, 16)]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    y[lane] = v + o if sw_cond(lane % 2, 1) else (o - v) * w[0]


@sketch(spec=transformed, block=W, warp_size=W, x=f32[W], w=f32[W // 2], y=f32.out[W])
def short(x, w, y):
    lane = cuda.laneid
    v = x[lane]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    v = v + o if sw_cond(lane, 16) else (o - v) * w[sw_xform(lane % 16, 16)]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    v = v + o if sw_cond(lane % 16, 8) else (o - v) * w[sw_xform(lane % 8, 16)]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    v = v + o if sw_cond(lane % 8, 4) else (o - v) * w[sw_xform(lane % 4, 16)]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    y[lane] = v + o if sw_cond(lane % 4, 2) else (o - v) * w[0]


@sketch(spec=transformed, block=W, warp_size=W, x=f32[W], w=f32[W // 2], y=f32.out[W])
def blind(x, w, y):
    lane = cuda.laneid
    v = x[lane]
    for d in (16, 8, 4, 2):
        o = cuda.shfl_sync(cuda.FULL_MASK, v, lane ^ d)
        v = v + o if lane & d == 0 else (o - v) * w[lane % d * (16 // d)]
    o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, W))
    y[lane] = v + o if sw_cond(lane // 2) else (o - v) * w[0]
