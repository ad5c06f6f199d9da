"""A matrix transposed in three steps, each within columns or within rows (paper, Listing 4 and section 8).

m rows of n words come into a block, and out come their n runs of m words as columns: what lane j of a warp wants if it
loads n structures of m words. Each step permutes within columns or within rows, so that a warp does the second one by
shuffles and the others in registers (`aos_store.py`). Here a block does all of them in shared memory, at any size:
Spaces 1 to 3 have an answer where m and n are equal or have no common divisor, and for some more. With the families
`column_major` and `compose` every size up to 64 x 64 has one.
"""

from swizzle import cuda, i32, parameter, sketch, spec, sw_xform

M = parameter("m", 5, domain=range(1, 65))
N = parameter("n", 8, domain=range(1, 65))
GRID = parameter("grid", 2, domain=range(1, 65))
ROWS = min(M, 1024 // N)
ROUNDS = -(-M // ROWS)


@spec
def runs(x):
    flat = [element for row in x for element in row]
    return [flat[i::M] for i in range(M)]


@sketch(spec=runs, block=(N, ROWS), grid=GRID, x=i32[GRID * M, N], y=i32.out[M, GRID * N])
def crc(x, y):
    columns = cuda.shared.array((M, N), i32)
    rows = cuda.shared.array((M, N), i32)
    j = cuda.threadIdx.x
    for part in range(ROUNDS):
        i = part * ROWS + cuda.threadIdx.y
        if i < M:
            columns[i, j] = x[cuda.blockIdx.x * M + sw_xform(i, M, j), j]
    cuda.syncthreads()
    for part in range(ROUNDS):
        i = part * ROWS + cuda.threadIdx.y
        if i < M:
            rows[i, j] = columns[i, sw_xform(j, N, i)]
    cuda.syncthreads()
    for part in range(ROUNDS):
        i = part * ROWS + cuda.threadIdx.y
        if i < M:
            y[i, cuda.blockIdx.x * N + j] = rows[sw_xform(i, M, j), j]
