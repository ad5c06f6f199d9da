"""Matrix times vector: a warp for each row, whose lanes' sums are put together by shuffles."""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_xform

W, ROWS = 32, 4
ROUNDS = parameter("rounds", 2, domain=range(1, 9))
STEPS = parameter("steps", 5, domain=range(1, 6))


@spec
def product(a, x):
    return [sum(a[r][c] * x[c] for c in range(W * ROUNDS)) for r in range(ROWS)]


@sketch(spec=product, block=(W, ROWS), warp_size=W, a=f32[ROWS, W * ROUNDS], x=f32[W * ROUNDS], y=f32.out[ROWS])
def matvec(a, x, y):
    lane, row = cuda.laneid, cuda.threadIdx.y
    products = accumulator(f32, outer="+", inner="*")
    for k in range(ROUNDS):
        products.accumulate(a[row, W * k + lane], x[W * k + sw_xform(lane, W, k)])
    s = products.value
    for k in range(STEPS):
        s += cuda.shfl_sync(cuda.FULL_MASK, s, sw_xform(lane, W, 1 << k))
    if lane == 0:
        y[row] = s
