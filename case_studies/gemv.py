"""A matrix times a vector, `y = alpha * A x + beta * y`, one row a warp: the row is read in whole lines.

The hole is which element of the vector, kept in a register cache, belongs to what a lane has read of the row.
"""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_xform

W = parameter("warp_size", 32, domain=(4, 8, 16, 32))
ROWS = parameter("rows", 2, domain=range(1, 9))
CHUNKS = parameter("chunks", 2, domain=range(1, 9))
STEPS = W.bit_length() - 1


@spec
def product(a, x):
    return [sum(a[r, c] * x[c] for c in range(W * CHUNKS)) for r in range(ROWS)]


@sketch(spec=product, block=W, grid=ROWS, warp_size=W, a=f32[ROWS, W * CHUNKS], x=f32[W * CHUNKS], y=f32.out[ROWS])
def gemv(a, x, y):
    lane, row = cuda.laneid, cuda.blockIdx.x
    part = accumulator(f32, outer="+", inner="*")
    for k in range(CHUNKS):
        part.accumulate(a[row, W * k + lane], x[W * k + sw_xform(lane, W, k)])
    total = part.value
    for k in range(STEPS):
        total += cuda.shfl_xor_sync(cuda.FULL_MASK, total, W >> (k + 1))
    if lane == 0:
        y[row] = total
