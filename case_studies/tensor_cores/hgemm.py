"""A tile of a product of half-precision matrices, on tensor cores: y = x @ w.T, 64 x 64 by four warps, two buffers.

Three things are left open, each of which is hard to get right by hand: where a row's chunks of 8 halves are kept in the
shared tiles (`cell`), so that ldmatrix has no bank conflicts; which row and which chunk a lane names to ldmatrix; and
which lane's place in y a lane's sums belong to. `swizzle solve case_studies/tensor_cores/hgemm.py --cost conflicts`.
"""

from swizzle import cuda, f16, f32, parameter, sketch, spec, sw_index, sw_xform

K = parameter("K", 64, domain=(64, 128, 256))  # columns of both matrices
FM = parameter("FM", 2, domain=(1, 2, 4))  # fragments of 16 rows that a warp has
FN = parameter("FN", 4, domain=(2, 4, 8))  # fragments of 8 columns
M, N, D = 32 * FM, 16 * FN, 32  # the block's tile, and the columns of a buffer


@spec
def product(x, w):
    return [[sum(x[r, k] * w[n, k] for k in range(K)) for n in range(N)] for r in range(M)]


@cuda.jit(device=True)
def cell(row, chunk):
    """Where chunk `chunk` of a row is kept."""
    return sw_index(chunk, D // 8, row, families="xor, rotate")


@cuda.jit(device=True)
def fill(tile, source, stage, k0, rows):
    """Let the block load `rows` rows of D halves, two to a thread."""
    for r0 in range(0, rows, 8):
        row, pair = r0 + cuda.threadIdx.x // 16, cuda.threadIdx.x % 16
        for i in range(2):
            tile[stage, row, cell(row, pair // 4) * 8 + 2 * (pair % 4) + i] = source[row, k0 + 2 * pair + i]


@sketch(spec=product, block=128, x=f16[M, K], w=f16[N, K], y=f32.out[M, N])
def hgemm(x, w, y):
    tile_x = cuda.shared.array((2, M, D), f16)
    tile_w = cuda.shared.array((2, N, D), f16)
    a = cuda.fragment("A", "m16n8k16", f16, shape=FM)
    b = cuda.fragment("B", "m16n8k16", f16, shape=FN)
    c = cuda.fragment("C", "m16n8k16", f32, shape=(FM, FN))
    lane, warp = cuda.laneid, cuda.warpid
    first_row, first_column = warp // 2 * 16 * FM, warp % 2 * 8 * FN
    fill(tile_x, x, 0, 0, M)
    fill(tile_w, w, 0, 0, N)
    for s in range(K // D):
        cuda.syncthreads()
        if s + 1 < K // D:
            fill(tile_x, x, (s + 1) % 2, (s + 1) * D, M)
            fill(tile_w, w, (s + 1) % 2, (s + 1) * D, N)
        for k0 in range(0, D, 16):
            p = sw_xform(lane, 32)  # hole: the row and the chunk that a lane names, of A
            q = sw_xform(lane, 32)  # hole: and of B, two fragments at once
            for m in range(FM):
                row = first_row + 16 * m + p % 16
                cuda.ldmatrix(a[m], tile_x[s % 2, row, cell(row, k0 // 8 + p // 16) * 8])
            for n in range(0, FN, 2):
                row = first_column + 8 * n + q // 16 * 8 + q % 8
                cuda.ldmatrix((b[n], b[n + 1]), tile_w[s % 2, row, cell(row, k0 // 8 + q // 8 % 2) * 8])
            for m in range(FM):
                for n in range(FN):
                    cuda.mma("m16n8k16", a[m], b[n], c[m, n])
    o = sw_xform(lane, 32)  # hole: whose place in y a lane's sums belong to
    for m in range(FM):
        for n in range(FN):
            for h in range(2):
                for i in range(2):
                    row, column = first_row + 16 * m + 8 * h + o // 4, first_column + 8 * n + 2 * (o % 4) + i
                    y[row, column] = c[m, n, 2 * h + i].value
