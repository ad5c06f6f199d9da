"""The tile of hgemm.py with asynchronous copies: each thread copies 16 bytes at a time, STAGES - 1 buffers ahead.

What is open is the same: the layout of the tiles, the rows that lanes name to ldmatrix, and whose place in y a lane's
sums belong to. `swizzle solve case_studies/tensor_cores/hgemm_stages.py --cost conflicts`.
"""

from swizzle import cuda, f16, f32, parameter, sketch, spec, sw_index, sw_xform

K = parameter("K", 128, domain=(128, 256))  # columns of both matrices
STAGES = parameter("STAGES", 3, domain=(2, 3, 4))  # buffers
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
def fetch(tile, source, stage, k0, rows):
    """Let the block copy `rows` rows of D halves, eight to a thread."""
    for r0 in range(0, rows, 32):
        row, chunk = r0 + cuda.threadIdx.x // 4, cuda.threadIdx.x % 4
        cuda.copy_async(tile[stage, row, cell(row, chunk) * 8], source[row, k0 + chunk * 8], 8)


@sketch(spec=product, block=128, x=f16[M, K], w=f16[N, K], y=f32.out[M, N])
def hgemm_stages(x, w, y):
    tile_x = cuda.shared.array((STAGES, M, D), f16)
    tile_w = cuda.shared.array((STAGES, N, D), f16)
    a = cuda.fragment("A", "m16n8k16", f16, shape=FM)
    b = cuda.fragment("B", "m16n8k16", f16, shape=FN)
    c = cuda.fragment("C", "m16n8k16", f32, shape=(FM, FN))
    lane, warp = cuda.laneid, cuda.warpid
    first_row, first_column = warp // 2 * 16 * FM, warp % 2 * 8 * FN
    for s in range(STAGES - 1):
        fetch(tile_x, x, s, s * D, M)
        fetch(tile_w, w, s, s * D, N)
        cuda.commit_copies()
    for s in range(K // D):
        cuda.wait_copies(STAGES - 2)
        cuda.syncthreads()
        if s + STAGES - 1 < K // D:
            fetch(tile_x, x, (s + STAGES - 1) % STAGES, (s + STAGES - 1) * D, M)
            fetch(tile_w, w, (s + STAGES - 1) % STAGES, (s + STAGES - 1) * D, N)
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
                    y[row, column] = c[m, n, 2 * h + i].value
