"""Transposition of tiles of 32 x 32 by 32 x `rows` threads, each with several elements.

Rows in shared memory are padded, which takes the place of the exchange of case_studies/transpose.py; where an element
of the transposed tile stands is left open.
"""

from swizzle import cuda, f32, parameter, sketch, spec, sw_xform

ROWS = parameter("rows", 8, domain=(2, 4, 8, 16))
GRID = parameter("grid", 2, domain=range(1, 65))
WARP = 32
WIDTH = WARP * GRID


@spec
def transposed(x):
    return [[x[r, c] for r in range(WARP)] for c in range(WIDTH)]


@sketch(spec=transposed, block=(WARP, ROWS), grid=GRID, x=f32[WARP, WIDTH], y=f32.out[WIDTH, WARP])
def several(x, y):
    c, r = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * WARP
    tile = cuda.shared.array((WARP, WARP + 1), f32)
    for m in range(0, WARP, ROWS):
        tile[r + m, c] = x[r + m, first + c]
    cuda.syncthreads()
    for m in range(0, WARP, ROWS):
        y[first + r + m, c] = tile[sw_xform(c, WARP, r + m), sw_xform(r + m, WARP, c)]
