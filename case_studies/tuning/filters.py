"""Plain filters, whose shape is left to `swizzle tune`: how many outputs a thread computes, and how large a block is.

Nothing is exchanged here: a thread loads what its outputs need, a row at a time, and neighbouring loads become vectors.
With few outputs a thread, each input is loaded for many of them; with many, few warps fit a multiprocessor.
"""

from swizzle import accumulator, choice, cuda, f32, gpu, parameter, require, sketch, spec

K = parameter("K", 3, domain=(3, 5, 7))
GRID_X = parameter("grid_x", 1, domain=range(1, 65))
GRID_Y = parameter("grid_y", 1, domain=range(1, 65))
COLUMNS = choice("columns", (1, 2, 4, 8, 16))
ROWS = choice("rows", (1, 2, 4, 8))
WARPS = choice("warps", (1, 2, 4, 8))
MIN_BLOCKS = choice("min_blocks", (0, 8, 16))

require(COLUMNS * ROWS <= 32, "outputs of a thread stay in registers")
require(gpu.threads_per_multiprocessor >= 32 * WARPS * MIN_BLOCKS, "as many blocks fit a multiprocessor")

WIDTH = 32 * COLUMNS * GRID_X
HEIGHT = WARPS * ROWS * GRID_Y
LENGTH = 32 * WARPS * COLUMNS * GRID_X


@spec
def conv1d_spec(x, w):
    return [sum(w[k] * x[i + k] for k in range(K)) for i in range(LENGTH)]


@spec
def conv2d_spec(x, w):
    return [
        [sum(w[ky, kx] * x[r + ky, c + kx] for ky in range(K) for kx in range(K)) for c in range(WIDTH)]
        for r in range(HEIGHT)
    ]


@spec
def window_average(x):
    return [
        [sum(x[r + ky, c + kx] for ky in range(K) for kx in range(K)) / (K * K) for c in range(WIDTH)]
        for r in range(HEIGHT)
    ]


@sketch(
    spec=conv1d_spec,
    block=32 * WARPS,
    grid=GRID_X,
    min_blocks=MIN_BLOCKS,
    x=f32[LENGTH + K - 1],
    w=f32.const[K],
    y=f32.out[LENGTH],
)
def conv1d(x, w, y):
    first = cuda.grid(1) * COLUMNS
    out = accumulator(f32, outer="+", inner="*", shape=COLUMNS)
    line = cuda.local.array(COLUMNS + K - 1, f32)
    for m in range(COLUMNS + K - 1):
        line[m] = x[first + m]
    for k in range(K):
        for m in range(COLUMNS):
            out[m].accumulate(line[m + k], w[k])
    for m in range(COLUMNS):
        y[first + m] = out[m].value


@sketch(
    spec=conv2d_spec,
    block=(32, WARPS),
    grid=(GRID_X, GRID_Y),
    min_blocks=MIN_BLOCKS,
    x=f32[HEIGHT + K - 1, WIDTH + K - 1],
    w=f32.const[K, K],
    y=f32.out[HEIGHT, WIDTH],
)
def conv2d(x, w, y):
    column = (cuda.blockIdx.x * 32 + cuda.threadIdx.x) * COLUMNS
    row = (cuda.blockIdx.y * WARPS + cuda.threadIdx.y) * ROWS
    out = accumulator(f32, outer="+", inner="*", shape=(ROWS, COLUMNS))
    line = cuda.local.array(COLUMNS + K - 1, f32)
    for i in range(ROWS + K - 1):
        for m in range(COLUMNS + K - 1):
            line[m] = x[row + i, column + m]
        for n in range(max(0, i - K + 1), min(ROWS, i + 1)):
            for kx in range(K):
                for m in range(COLUMNS):
                    out[n, m].accumulate(line[m + kx], w[i - n, kx])
        for n in range(max(0, i - K + 1), i - K + 2):
            for m in range(COLUMNS):
                y[row + n, column + m] = out[n, m].value


@sketch(
    spec=window_average,
    block=(32, WARPS),
    grid=(GRID_X, GRID_Y),
    min_blocks=MIN_BLOCKS,
    x=f32[HEIGHT + K - 1, WIDTH + K - 1],
    y=f32.out[HEIGHT, WIDTH],
)
def stencil2d(x, y):
    column = (cuda.blockIdx.x * 32 + cuda.threadIdx.x) * COLUMNS
    row = (cuda.blockIdx.y * WARPS + cuda.threadIdx.y) * ROWS
    out = accumulator(f32, outer="+", shape=(ROWS, COLUMNS), final=lambda s: s / (K * K))
    line = cuda.local.array(COLUMNS + K - 1, f32)
    for i in range(ROWS + K - 1):
        for m in range(COLUMNS + K - 1):
            line[m] = x[row + i, column + m]
        sums = accumulator(f32, outer="+", shape=COLUMNS)
        for kx in range(K):
            for m in range(COLUMNS):
                sums[m].accumulate(line[m + kx])
        for m in range(COLUMNS):
            for n in range(max(0, i - K + 1), min(ROWS, i + 1)):
                out[n, m].accumulate(sums[m].value)
        for n in range(max(0, i - K + 1), i - K + 2):
            for m in range(COLUMNS):
                y[row + n, column + m] = out[n, m].value
