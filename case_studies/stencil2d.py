"""Two-dimensional stencil with a register cache: the average of a `K` x `K` window (paper, section 7.1).

A warp has a shape of rows and columns and computes a tile of outputs of that shape. The inputs of the tile are spread
over the lanes' registers round by round, so that each lane holds a small two-dimensional patch. In iteration (ky, kx)
a lane offers one element of its patch and receives one from another lane. The element's row, its column, and the row
and the column of the lane that is asked are four holes.
"""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_part, sw_xform, warp_load

K = parameter("K", 3, domain=(3, 5, 7))
WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32))
SIDES = tuple(side for side in (1, 2, 4, 8, 16, 32) if side <= WARP)
COLUMNS = parameter("warp_columns", SIDES[len(SIDES) // 2], domain=SIDES)
WARPS = parameter("warps", 2, domain=range(1, 33))
GRID_X = parameter("grid_x", 1, domain=range(1, 65))
GRID_Y = parameter("grid_y", 2, domain=range(1, 65))

ROWS = WARP // COLUMNS
PATCH_ROWS = 1 + -(-(K - 1) // ROWS)
PATCH_COLUMNS = 1 + -(-(K - 1) // COLUMNS)
HEIGHT = ROWS * GRID_Y
WIDTH = COLUMNS * WARPS * GRID_X


@spec
def window_average(x):
    return [
        [sum(x[r + ky, c + kx] for ky in range(K) for kx in range(K)) / (K * K) for c in range(WIDTH)]
        for r in range(HEIGHT)
    ]


@sketch(
    spec=window_average,
    block=WARP * WARPS,
    grid=(GRID_X, GRID_Y),
    warp_size=WARP,
    x=f32[HEIGHT + K - 1, WIDTH + K - 1],
    y=f32.out[HEIGHT, WIDTH],
)
def stencil2d(x, y):
    ty, tx = cuda.laneid // COLUMNS, cuda.laneid % COLUMNS
    row = cuda.blockIdx.y * ROWS
    column = (cuda.blockIdx.x * WARPS + cuda.warpid) * COLUMNS
    patch = cuda.local.array((PATCH_ROWS, PATCH_COLUMNS), f32)
    warp_load(x, patch, offset=(row, column), shape=(ROWS, COLUMNS))
    out = accumulator(f32, outer="+", final=lambda s: s / (K * K))
    for ky in range(K):
        for kx in range(K):
            mine = patch[sw_part(PATCH_ROWS, ty, ky), sw_part(PATCH_COLUMNS, tx, kx)]
            other = sw_xform(ty, ROWS, ky) * COLUMNS + sw_xform(tx, COLUMNS, kx)
            out.accumulate(cuda.shfl_sync(cuda.FULL_MASK, mine, other))
    y[row + ty, column + tx] = out.value
