"""Sum of a block by a tree in shared memory: who adds in a step, and whose element, are holes."""

from swizzle import cuda, f32, parameter, sketch, spec, sw_cond, sw_xform

N = parameter("threads", 128, domain=(32, 64, 128))
STEPS = parameter("steps", N.bit_length() - 1, domain=range(1, 8))


@spec
def total(x):
    return [sum(x[i] for i in range(N))]


@sketch(spec=total, block=N, x=f32[N], y=f32.out[1])
def tree(x, y):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(N, f32)
    tile[t] = x[t]
    cuda.syncthreads()
    for k in range(STEPS):
        if sw_cond(t, N >> (k + 1)):
            tile[t] = tile[t] + tile[sw_xform(t, N, N >> (k + 1))]
        cuda.syncthreads()
    if t == 0:
        y[0] = tile[0]
