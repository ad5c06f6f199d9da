"""Transposition of a matrix of tiles through shared memory, square or rectangular (paper, section 7.3).

A block transposes one tile of `rows` x `columns` elements. Global memory is read along the tile's rows and written
along the rows of the transposed tile, so both are coalesced; the reordering happens in shared memory. To which row
and column of it a thread writes, and from which it reads after the barrier, are four holes.
"""

from swizzle import cuda, f32, parameter, sketch, spec, sw_xform

WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32))
ROWS = parameter("rows", WARP, domain=range(1, 33))
COLUMNS = parameter("columns", WARP, domain=range(1, 33))
GRID = parameter("grid", 2, domain=range(1, 65))

WIDTH = COLUMNS * GRID


@spec
def transposed(x):
    return [[x[r, c] for r in range(ROWS)] for c in range(WIDTH)]


@sketch(
    spec=transposed,
    block=(COLUMNS, ROWS),
    grid=GRID,
    warp_size=WARP,
    x=f32[ROWS, WIDTH],
    y=f32.out[WIDTH, ROWS],
)
def transpose(x, y):
    c, r = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * COLUMNS
    tile = cuda.shared.array((ROWS, COLUMNS), f32)
    tile[r, sw_xform(c, COLUMNS, r)] = x[r, first + c]
    cuda.syncthreads()
    t = r * COLUMNS + c
    i, j = t // ROWS, t % ROWS
    y[first + i, j] = tile[j, sw_xform(i, COLUMNS, j)]
