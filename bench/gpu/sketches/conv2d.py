"""Two-dimensional convolution and average with `rows` times `columns` outputs per thread; inputs are a register cache.

A warp walks down the rows of its inputs and adds each to all the outputs that it belongs to, so that every input is
loaded once for all of a thread's rows; a row of outputs is stored as soon as it is complete, so that few are in
registers at a time. The elements of a row lie in the lanes' registers in one of two ways, by sketch:

`spread`: lane t holds the elements t, t + 32, t + 64, ... Loads and stores are coalesced; every element but a thread's
own comes by a shuffle, `K - 1` of them for each output of a row.
`packed`: lane t holds `columns` neighbours. `K - 1` shuffles do for all the outputs of a row, but loads are strided.
`average`: packed too; a row of a window is summed once, for all the windows that it is in.

With `by_value`, the weights are arguments of the launch instead of a pointer; `min_blocks` bounds the registers.
In each, the last round holds the halo, and which of two registers a lane offers and whom it asks are holes.
"""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_part, sw_xform

K = parameter("K", 3, domain=range(2, 34))
COLUMNS = parameter("columns", 4, domain=range(1, 17))
ROWS = parameter("rows", 4, domain=range(1, 17))
WARPS = parameter("warps", 2, domain=range(1, 33))
MIN_BLOCKS = parameter("min_blocks", 0, domain=range(33))
WEIGHTS = f32.by_value if parameter("by_value", 0, domain=(0, 1)) else f32.const
GRID_X = parameter("grid_x", 1, domain=range(1, 65))
GRID_Y = parameter("grid_y", 1, domain=range(1, 65))
WARP = 32
WIDTH = WARP * COLUMNS * GRID_X
HEIGHT = ROWS * WARPS * GRID_Y


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
    spec=conv2d_spec,
    block=WARP * WARPS,
    grid=(GRID_X, GRID_Y),
    min_blocks=MIN_BLOCKS,
    x=f32[HEIGHT + K - 1, WIDTH + K - 1],
    w=WEIGHTS[K, K],
    y=f32.out[HEIGHT, WIDTH],
)
def spread(x, w, y):
    lane = cuda.laneid
    row = (cuda.blockIdx.y * WARPS + cuda.warpid) * ROWS
    column = cuda.blockIdx.x * WARP * COLUMNS + lane
    line = cuda.local.array(COLUMNS + 1, f32)
    out = accumulator(f32, outer="+", inner="*", shape=(ROWS, COLUMNS))
    for i in range(ROWS + K - 1):
        for m in range(COLUMNS):
            line[m] = x[row + i, column + m * WARP]
        if lane < K - 1:
            line[COLUMNS] = x[row + i, column + COLUMNS * WARP]
        for m in range(COLUMNS):
            for n in range(max(0, i - K + 1), min(ROWS, i + 1)):
                out[n, m].accumulate(line[m], w[i - n, 0])
        for kx in range(1, K):
            for m in range(COLUMNS):
                mine = line[m + sw_part(2, lane, kx)]
                v = cuda.shfl_sync(cuda.FULL_MASK, mine, sw_xform(lane, WARP, kx))
                for n in range(max(0, i - K + 1), min(ROWS, i + 1)):
                    out[n, m].accumulate(v, w[i - n, kx])
        for n in range(max(0, i - K + 1), i - K + 2):
            for m in range(COLUMNS):
                y[row + n, column + m * WARP] = out[n, m].value


@sketch(
    spec=conv2d_spec,
    block=WARP * WARPS,
    grid=(GRID_X, GRID_Y),
    min_blocks=MIN_BLOCKS,
    x=f32[HEIGHT + K - 1, WIDTH + K - 1],
    w=WEIGHTS[K, K],
    y=f32.out[HEIGHT, WIDTH],
)
def packed(x, w, y):
    lane = cuda.laneid
    row = (cuda.blockIdx.y * WARPS + cuda.warpid) * ROWS
    column = (cuda.blockIdx.x * WARP + lane) * COLUMNS
    line = cuda.local.array((2, COLUMNS), f32)
    out = accumulator(f32, outer="+", inner="*", shape=(ROWS, COLUMNS))
    for i in range(ROWS + K - 1):
        for m in range(COLUMNS):
            line[0, m] = x[row + i, column + m]
        for m in range(COLUMNS):
            if lane * COLUMNS + m < K - 1:
                line[1, m] = x[row + i, column + WARP * COLUMNS + m]
        for o in range(COLUMNS):  # the element o columns to the right of a lane's first, its own and then others'
            for n in range(max(0, i - K + 1), min(ROWS, i + 1)):
                for m in range(max(0, o - K + 1), o + 1):
                    out[n, m].accumulate(line[0, o], w[i - n, o - m])
        for o in range(COLUMNS, COLUMNS + K - 1):
            mine = line[sw_part(2, lane, o // COLUMNS), o % COLUMNS]
            v = cuda.shfl_sync(cuda.FULL_MASK, mine, sw_xform(lane, WARP, o // COLUMNS))
            for n in range(max(0, i - K + 1), min(ROWS, i + 1)):
                for m in range(max(0, o - K + 1), COLUMNS):
                    out[n, m].accumulate(v, w[i - n, o - m])
        for n in range(max(0, i - K + 1), i - K + 2):
            for m in range(COLUMNS):
                y[row + n, column + m] = out[n, m].value


@sketch(
    spec=window_average,
    block=WARP * WARPS,
    grid=(GRID_X, GRID_Y),
    min_blocks=MIN_BLOCKS,
    x=f32[HEIGHT + K - 1, WIDTH + K - 1],
    y=f32.out[HEIGHT, WIDTH],
)
def average(x, y):
    lane = cuda.laneid
    row = (cuda.blockIdx.y * WARPS + cuda.warpid) * ROWS
    column = (cuda.blockIdx.x * WARP + lane) * COLUMNS
    line = cuda.local.array((2, COLUMNS), f32)
    out = accumulator(f32, outer="+", shape=(ROWS, COLUMNS), final=lambda s: s / (K * K))
    for i in range(ROWS + K - 1):
        for m in range(COLUMNS):
            line[0, m] = x[row + i, column + m]
        for m in range(COLUMNS):
            if lane * COLUMNS + m < K - 1:
                line[1, m] = x[row + i, column + WARP * COLUMNS + m]
        sums = accumulator(f32, outer="+", shape=COLUMNS)
        for o in range(COLUMNS):
            for m in range(max(0, o - K + 1), o + 1):
                sums[m].accumulate(line[0, o])
        for o in range(COLUMNS, COLUMNS + K - 1):
            mine = line[sw_part(2, lane, o // COLUMNS), o % COLUMNS]
            v = cuda.shfl_sync(cuda.FULL_MASK, mine, sw_xform(lane, WARP, o // COLUMNS))
            for m in range(max(0, o - K + 1), COLUMNS):
                sums[m].accumulate(v)
        for m in range(COLUMNS):
            for n in range(max(0, i - K + 1), min(ROWS, i + 1)):
                out[n, m].accumulate(sums[m].value)
        for n in range(max(0, i - K + 1), i - K + 2):
            for m in range(COLUMNS):
                y[row + n, column + m] = out[n, m].value
