"""A product of half-precision matrices of any sizes, on tensor cores: y = x @ w.T, a block of four warps for each tile.

Asynchronous copies fill STAGES buffers in turn, and what is left open is as in hgemm_stages.py. The sizes below are
what the proof begins with: a grid of two by two tiles, and a round along k for each buffer. The printed kernel takes
matrices of any sizes, whose ends no tile has to divide. `swizzle solve case_studies/tensor_cores/gemm.py --cost
conflicts`.
"""

from swizzle import cuda, f16, f32, parameter, sketch, spec, sw_index, sw_xform

STAGES = parameter("STAGES", 2, domain=(2, 3))  # buffers
FM = parameter("FM", 2, domain=(1, 2, 4))  # fragments of 16 rows that a warp has
FN = parameter("FN", 4, domain=(2, 4, 8))  # fragments of 8 columns
ROWS, COLUMNS, D = 32 * FM, 16 * FN, 32  # a block's tile of y, and the columns of a buffer
M, N, K = 2 * ROWS, 2 * COLUMNS, STAGES * D


@spec
def product(x, w):
    return [[sum(x[r, k] * w[n, k] for k in range(len(x[0]))) for n in range(len(w))] for r in range(len(x))]


@cuda.jit(device=True)
def cell(row, chunk):
    """Where chunk `chunk` of a row is kept."""
    return sw_index(chunk, D // 8, row, families="xor, rotate")


@cuda.jit(device=True)
def fetch(tile, source, stage, first, k0, rows):
    """Let the block copy `rows` rows of D halves, eight to a thread."""
    for r0 in range(0, rows, 32):
        row, chunk = r0 + cuda.threadIdx.x // 4, cuda.threadIdx.x % 4
        cuda.copy_async(tile[stage, row, cell(row, chunk) * 8], source[first + row, k0 + chunk * 8], 8)


@sketch(spec=product, block=128, grid=(2, 2), x=f16[M, K], w=f16[N, K], y=f32.out[M, N])
def gemm(x, w, y):
    tile_x = cuda.shared.array((STAGES, ROWS, D), f16)
    tile_w = cuda.shared.array((STAGES, COLUMNS, D), f16)
    a = cuda.fragment("A", "m16n8k16", f16, shape=FM)
    b = cuda.fragment("B", "m16n8k16", f16, shape=FN)
    c = cuda.fragment("C", "m16n8k16", f32, shape=(FM, FN))
    lane, warp = cuda.laneid, cuda.warpid
    block_row, block_column = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    first_row, first_column = warp // 2 * 16 * FM, warp % 2 * 8 * FN
    for s in range(STAGES - 1):
        fetch(tile_x, x, s, block_row, s * D, ROWS)
        fetch(tile_w, w, s, block_column, s * D, COLUMNS)
        cuda.commit_copies()
    for s in range(K // D):
        cuda.wait_copies(STAGES - 2)
        cuda.syncthreads()
        if s + STAGES - 1 < K // D:
            fetch(tile_x, x, (s + STAGES - 1) % STAGES, block_row, (s + STAGES - 1) * D, ROWS)
            fetch(tile_w, w, (s + STAGES - 1) % STAGES, block_column, (s + STAGES - 1) * D, COLUMNS)
        cuda.commit_copies()
        for k0 in range(0, D, 16):
            p = sw_xform(lane, 32)  # hole: the row and the chunk that a lane names, of A
            q = sw_xform(lane, 32)  # hole: and of B, two fragments at once
            for m in range(FM):
                row = first_row + 16 * m + p % 16
                cuda.ldmatrix(a[m], tile_x[s % STAGES, row, cell(row, k0 // 8 + p // 16) * 8])
            for n in range(0, FN, 2):
                row = first_column + 8 * n + q // 16 * 8 + q % 8
                cuda.ldmatrix((b[n], b[n + 1]), tile_w[s % STAGES, row, cell(row, k0 // 8 + q // 8 % 2) * 8])
            for m in range(FM):
                for n in range(FN):
                    cuda.mma("m16n8k16", a[m], b[n], c[m, n])
    o = sw_xform(lane, 32)  # hole: whose place in y a lane's sums belong to
    for m in range(FM):
        for n in range(FN):
            for h in range(2):
                for i in range(2):
                    row, column = first_row + 16 * m + 8 * h + o // 4, first_column + 8 * n + 2 * (o % 4) + i
                    y[block_row + row, block_column + column] = c[m, n, 2 * h + i].value
