"""Two-dimensional convolution (not separable) with a register cache (paper, section 7.1).

As in stencil2d.py, a warp in the shape of rows and columns computes a tile of outputs, and each lane holds a
two-dimensional patch of the inputs. In iteration (ky, kx) a lane offers one element of its patch, receives one from
another lane and multiplies it with a weight. Every row, column and lane is a hole, and so is the weight's place.
"""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_part, sw_xform, warp_load

K = parameter("K", 3, domain=(3, 5, 7))
WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32, 64))
SIDES = tuple(side for side in (1, 2, 4, 8, 16, 32, 64) if side <= WARP)
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
def conv2d_spec(x, w):
    return [
        [sum(w[ky, kx] * x[r + ky, c + kx] for ky in range(K) for kx in range(K)) for c in range(WIDTH)]
        for r in range(HEIGHT)
    ]


@sketch(
    spec=conv2d_spec,
    block=WARP * WARPS,
    grid=(GRID_X, GRID_Y),
    warp_size=WARP,
    x=f32[HEIGHT + K - 1, WIDTH + K - 1],
    w=f32.const[K, K],
    y=f32.out[HEIGHT, WIDTH],
)
def conv2d(x, w, y):
    ty, tx = cuda.laneid // COLUMNS, cuda.laneid % COLUMNS
    row = cuda.blockIdx.y * ROWS
    column = (cuda.blockIdx.x * WARPS + cuda.warpid) * COLUMNS
    patch = cuda.local.array((PATCH_ROWS, PATCH_COLUMNS), f32)
    warp_load(x, patch, offset=(row, column), shape=(ROWS, COLUMNS))
    out = accumulator(f32, outer="+", inner="*")
    for ky in range(K):
        for kx in range(K):
            mine = patch[sw_part(PATCH_ROWS, ty, ky), sw_part(PATCH_COLUMNS, tx, kx)]
            other = sw_xform(ty, ROWS, ky) * COLUMNS + sw_xform(tx, COLUMNS, kx)
            v = cuda.shfl_sync(cuda.FULL_MASK, mine, other)
            out.accumulate(v, w[sw_xform(ky, K, ty), sw_xform(kx, K, tx)])
    y[row + ty, column + tx] = out.value
