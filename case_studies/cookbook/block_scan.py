"""Scan of a block (Hillis and Steele) in shared memory."""

from swizzle import cuda, f32, parameter, sketch, spec, sw_cond, sw_xform

N = parameter("threads", 128, domain=(32, 64, 128))
STEPS = parameter("steps", N.bit_length() - 1, domain=range(1, 8))


@spec
def prefix(x):
    return [sum(x[j] for j in range(i + 1)) for i in range(N)]


@sketch(spec=prefix, block=N, x=f32[N], y=f32.out[N])
def block_scan(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(N, f32)
    tile[t] = x[t]
    cuda.syncthreads()
    for k in range(STEPS):
        s = tile[t] + tile[sw_xform(t, N, 1 << k)] if sw_cond(t, 1 << k) else tile[t]
        cuda.syncthreads()
        tile[t] = s
        cuda.syncthreads()
    y[t] = tile[t]
