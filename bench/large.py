"""Holes of hundreds of elements, for the table of `make bench`: `N` is how many.

`turned` has one hole and a k; `exchanged` two that go through shared memory, `unmatched` two that cannot, as squares
are no function of theirs; `windows` a condition.
"""

from swizzle import cuda, f32, parameter, sketch, spec, sw_cond, sw_xform

N = parameter("N", 1024, domain=range(16, 1025))


@spec
def turned_spec(x):
    return [x[(i + 3 * k + k // 2) % N] for k in range(8) for i in range(N)]


@sketch(spec=turned_spec, block=N, x=f32[N], y=f32.out[8 * N])
def turned(x, y):
    t = cuda.threadIdx.x
    for k in range(8):
        y[k * N + t] = x[sw_xform(t, N, k)]


@spec
def exchanged_spec(x):
    return [x[(7 * i + 3) % N] for i in range(N)]


@sketch(spec=exchanged_spec, block=N, x=f32[N], y=f32.out[N])
def exchanged(x, y):
    t = cuda.threadIdx.x
    s = cuda.shared.array(N, f32)
    s[sw_xform(t, N)] = x[t]
    cuda.syncthreads()
    y[t] = s[sw_xform(t, N)]


@spec
def squares(x):
    return [x[i * i % N] for i in range(N)]


@sketch(spec=squares, block=N, x=f32[N], y=f32.out[N])
def unmatched(x, y):
    t = cuda.threadIdx.x
    s = cuda.shared.array(N, f32)
    s[sw_xform(t, N)] = x[t]
    cuda.syncthreads()
    y[t] = s[sw_xform(t, N)]


@spec
def windows_spec(x):
    return [x[k] if i + 3 >= 2 * k + N // 2 else x[i] for k in range(8) for i in range(N)]


@sketch(spec=windows_spec, block=N, x=f32[N], y=f32.out[8 * N])
def windows(x, y):
    t = cuda.threadIdx.x
    for k in range(8):
        y[k * N + t] = x[k] if sw_cond(t, k) else x[t]
