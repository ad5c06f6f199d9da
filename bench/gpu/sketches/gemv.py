"""A matrix times a vector, as in case_studies/gemv.py; a warp has `each` rows, and reads them by vectors.

Each lane reads `chunks` neighbours of a row and of the vector, whose elements are read once for all rows of the warp.
"""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_xform

CHUNKS = parameter("chunks", 2, domain=(2, 4, 8))
EACH = parameter("each", 2, domain=range(1, 9))
GRID = parameter("grid", 2, domain=range(1, 9))
WARP = 32
ROWS = EACH * GRID
COLUMNS = WARP * CHUNKS


@spec
def product(a, x):
    return [sum(a[r, c] * x[c] for c in range(COLUMNS)) for r in range(ROWS)]


@sketch(spec=product, block=WARP, grid=GRID, a=f32[ROWS, COLUMNS], x=f32[COLUMNS], y=f32.out[ROWS])
def packed(a, x, y):
    lane, first = cuda.laneid, cuda.blockIdx.x * EACH
    mine = cuda.local.array((EACH, CHUNKS), f32)
    others = cuda.local.array(CHUNKS, f32)
    for k in range(CHUNKS):
        others[k] = x[CHUNKS * sw_xform(lane, WARP) + k]
    for r in range(EACH):
        for k in range(CHUNKS):
            mine[r, k] = a[first + r, CHUNKS * lane + k]
    part = accumulator(f32, outer="+", inner="*", shape=EACH)
    for r in range(EACH):
        for k in range(CHUNKS):
            part[r].accumulate(mine[r, k], others[k])
        total = part[r].value
        for k in range(5):
            total += cuda.shfl_xor_sync(cuda.FULL_MASK, total, WARP >> (k + 1))
        if lane == 0:
            y[first + r] = total
