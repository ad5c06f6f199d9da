"""A tile of a product of matrices of bytes, on tensor cores: y = x @ w.T in 32 bits, 32 x 32 by four warps.

A row of 16 bytes that ldmatrix moves is 16 elements, and a lane gets four of them: the fragments of m16n8k32 lie as
those of m16n8k16 do, two bytes for each half. Open are the layout of the tiles, the row that a lane names, and the
place that its sums belong to: `swizzle solve case_studies/tensor_cores/int8_gemm.py --cost conflicts`.
"""

from swizzle import cuda, i8, i32, parameter, sketch, spec, sw_index, sw_xform

K = parameter("K", 64, domain=(64, 128))
M = N = 32


@spec
def product(x, w):
    return [[sum(i32(x[r, k]) * i32(w[n, k]) for k in range(K)) for n in range(N)] for r in range(M)]


@cuda.jit(device=True)
def cell(row, chunk):
    """Where chunk `chunk` of a row is kept."""
    return sw_index(chunk, K // 16, row, families="xor, rotate")


@cuda.jit(device=True)
def fill(tile, source):
    """Let the block load 32 rows of K bytes, four to a thread."""
    words = K // 4  # of four bytes, in a row
    for r0 in range(0, 32, 128 // words):
        row, word = r0 + cuda.threadIdx.x // words, cuda.threadIdx.x % words
        for i in range(4):
            tile[row, cell(row, word // 4) * 16 + 4 * (word % 4) + i] = source[row, 4 * word + i]


@sketch(spec=product, block=128, x=i8[M, K], w=i8[N, K], y=i32.out[M, N])
def int8_gemm(x, w, y):
    tile_x = cuda.shared.array((M, K), i8)
    tile_w = cuda.shared.array((N, K), i8)
    a = cuda.fragment("A", "m16n8k32", i8)
    b = cuda.fragment("B", "m16n8k32", i8, shape=2)
    c = cuda.fragment("C", "m16n8k32", i32, shape=2)
    lane, warp = cuda.laneid, cuda.warpid
    first_row, first_column = warp // 2 * 16, warp % 2 * 16
    fill(tile_x, x)
    fill(tile_w, w)
    cuda.syncthreads()
    for k0 in range(0, K, 32):
        p = sw_xform(lane, 32)  # hole: the row and the chunk that a lane names, of A
        row = first_row + p % 16
        cuda.ldmatrix(a, tile_x[row, cell(row, k0 // 16 + p // 16) * 16])
        column = first_column + lane // 16 * 8 + lane % 8
        cuda.ldmatrix((b[0], b[1]), tile_w[column, cell(column, k0 // 16 + lane // 8 % 2) * 16])
        for n in range(2):
            cuda.mma("m16n8k32", a, b[n], c[n])
    o = sw_xform(lane, 32)  # hole: whose place in y a lane's sums belong to
    for n in range(2):
        for h in range(2):
            for i in range(2):
                y[first_row + 8 * h + o // 4, first_column + 8 * n + 2 * (o % 4) + i] = c[n, 2 * h + i].value
