"""Sums and differences that came through holes, for the table of `make bench`: few functions together, tried side by
side.

`walsh` is a butterfly whose lane is a hole, in `both` its condition too; `bodies` sums forces over a tile whose index
is a hole; `fir` is a filter of 17 taps as a plain sum. With `rounds` below 5 a butterfly has too few steps.
"""

from swizzle import cuda, f32, parameter, sketch, spec, sw_cond, sw_xform

N = 32
rounds = parameter("rounds", 5, domain=range(1, 6))


@spec
def walsh_spec(x):
    return [
        sum((1 - 2 * (sum(i // 2**b % 2 * (j // 2**b % 2) for b in range(5)) % 2)) * x[j] for j in range(N))
        for i in range(N)
    ]


@sketch(spec=walsh_spec, block=N, x=f32[N], y=f32.out[N])
def walsh(x, y):
    lane = cuda.laneid
    v = x[lane]
    for step in range(rounds):
        m = 1 << step
        o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, N, m))
        v = v + o if lane % (2 * m) < m else o - v
    y[lane] = v


@sketch(spec=walsh_spec, block=N, x=f32[N], y=f32.out[N])
def both(x, y):
    lane = cuda.laneid
    v = x[lane]
    for step in range(rounds):
        m = 1 << step
        o = cuda.shfl_sync(cuda.FULL_MASK, v, sw_xform(lane, N, m))
        v = v + o if sw_cond(lane % (2 * m), m) else o - v
    y[lane] = v


@spec
def bodies_spec(px, py, m):
    return [sum((px[j] - px[i]) * (px[j] - px[i]) * (py[j] - py[i]) * m[j] for j in range(N)) for i in range(N)]


@sketch(spec=bodies_spec, block=N, px=f32[N], py=f32[N], m=f32[N], y=f32.out[N])
def bodies(px, py, m, y):
    lane = cuda.laneid
    x_of = cuda.shared.array(N, f32)
    y_of = cuda.shared.array(N, f32)
    m_of = cuda.shared.array(N, f32)
    x_of[lane], y_of[lane], m_of[lane] = px[lane], py[lane], m[lane]
    cuda.syncthreads()
    total = f32(0.0)
    for k in range(N):
        j = sw_xform(lane, N, k)
        dx = x_of[j] - px[lane]
        total += dx * dx * (y_of[j] - py[lane]) * m_of[j]
    y[lane] = total


@spec
def fir_spec(x, w):
    return [sum(x[i + k] * w[k] for k in range(17)) for i in range(N)]


@sketch(spec=fir_spec, block=N, x=f32[2 * N], w=f32[17], y=f32.out[N])
def fir(x, w, y):
    lane = cuda.laneid
    low, high = x[lane], x[N + lane]
    total = f32(0.0)
    for k in range(17):
        offered = low if sw_cond(lane, k) else high
        total += cuda.shfl_sync(cuda.FULL_MASK, offered, sw_xform(lane, N, k)) * w[sw_xform(k, 17)]
    y[lane] = total
