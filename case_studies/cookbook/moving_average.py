"""Moving average of K elements: a plain sum of what comes through shuffles, divided at the end."""

from swizzle import cuda, f32, parameter, sketch, spec, sw_cond, sw_xform

W, N = 32, 128
K = parameter("K", 5, domain=range(2, 33))


@spec
def average(x):
    return [sum(x[i + k] for k in range(K)) / K for i in range(N)]


@sketch(spec=average, block=64, grid=2, warp_size=W, x=f32[N + W], y=f32.out[N])
def moving_average(x, y):
    lane, i = cuda.laneid, cuda.grid(1)
    a, b = x[i], x[i + W]
    s = a
    for k in range(1, K):
        s += cuda.shfl_sync(cuda.FULL_MASK, a if sw_cond(lane, k) else b, sw_xform(lane, W, k))
    y[i] = s / K
