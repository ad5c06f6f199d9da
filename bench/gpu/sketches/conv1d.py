"""One-dimensional convolution and moving average with several outputs per thread.

As in case_studies/conv1d.py, but each warp computes `columns` times 32 neighbouring outputs: the elements that two
rounds share are loaded once, and there are more loads under way. One more round holds the halo. In `packed`, a lane has
`columns` neighbours, which it loads and stores by vectors: only the halo comes from the next lane.
"""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_part, sw_xform

K = parameter("K", 3, domain=range(2, 34))
COLUMNS = parameter("columns", 4, domain=range(1, 17))
WARPS = parameter("warps", 4, domain=range(1, 33))
GRID = parameter("grid", 2, domain=range(1, 65))
WARP = 32
OUTPUTS = WARP * COLUMNS * WARPS * GRID
INPUTS = OUTPUTS + K - 1
WHOLE, REST = divmod(K - 1, COLUMNS)
"""Lanes that have `columns` elements of the halo in `packed`, and how many the next lane has."""


@spec
def conv1d_spec(x, w):
    return [sum(w[k] * x[i + k] for k in range(K)) for i in range(len(x) - K + 1)]


@spec
def moving_average(x):
    return [sum(x[i + k] for k in range(K)) / K for i in range(len(x) - K + 1)]


@sketch(spec=conv1d_spec, block=WARP * WARPS, grid=GRID, x=f32[INPUTS], w=f32.const[K], y=f32.out[OUTPUTS])
def convolution(x, w, y):
    lane = cuda.laneid
    first = (cuda.blockIdx.x * WARPS + cuda.warpid) * WARP * COLUMNS + lane
    line = cuda.local.array(COLUMNS + 1, f32)
    for m in range(COLUMNS):
        line[m] = x[first + m * WARP]
    if lane < K - 1:
        line[COLUMNS] = x[first + COLUMNS * WARP]
    out = accumulator(f32, outer="+", inner="*", shape=COLUMNS)
    for k in range(K):
        for m in range(COLUMNS):
            mine = line[m + sw_part(2, lane, k)]
            out[m].accumulate(cuda.shfl_sync(cuda.FULL_MASK, mine, sw_xform(lane, WARP, k)), w[sw_xform(k, K, lane)])
    for m in range(COLUMNS):
        y[first + m * WARP] = out[m].value


@sketch(spec=moving_average, block=WARP * WARPS, grid=GRID, x=f32[INPUTS], y=f32.out[OUTPUTS])
def average(x, y):
    lane = cuda.laneid
    first = (cuda.blockIdx.x * WARPS + cuda.warpid) * WARP * COLUMNS + lane
    line = cuda.local.array(COLUMNS + 1, f32)
    for m in range(COLUMNS):
        line[m] = x[first + m * WARP]
    if lane < K - 1:
        line[COLUMNS] = x[first + COLUMNS * WARP]
    out = accumulator(f32, outer="+", shape=COLUMNS, final=lambda s: s / K)
    for k in range(K):
        for m in range(COLUMNS):
            mine = line[m + sw_part(2, lane, k)]
            out[m].accumulate(cuda.shfl_sync(cuda.FULL_MASK, mine, sw_xform(lane, WARP, k)))
    for m in range(COLUMNS):
        y[first + m * WARP] = out[m].value


@sketch(spec=conv1d_spec, block=WARP * WARPS, grid=GRID, x=f32[INPUTS], w=f32.const[K], y=f32.out[OUTPUTS])
def packed(x, w, y):
    lane = cuda.laneid
    first = cuda.grid(1) * COLUMNS
    line = cuda.local.array((2, COLUMNS), f32)
    for m in range(COLUMNS):
        line[0, m] = x[first + m]
    for m in range(COLUMNS if WHOLE > 0 else 0):
        if lane < WHOLE:
            line[1, m] = x[first + WARP * COLUMNS + m]
    for m in range(REST):
        if lane == WHOLE:
            line[1, m] = x[first + WARP * COLUMNS + m]
    out = accumulator(f32, outer="+", inner="*", shape=COLUMNS)
    for o in range(COLUMNS):
        for m in range(max(0, o - K + 1), o + 1):
            out[m].accumulate(line[0, o], w[o - m])
    for o in range(COLUMNS, COLUMNS + K - 1):
        mine = line[sw_part(2, lane, o // COLUMNS), o % COLUMNS]
        v = cuda.shfl_sync(cuda.FULL_MASK, mine, sw_xform(lane, WARP, o // COLUMNS))
        for m in range(max(0, o - K + 1), COLUMNS):
            out[m].accumulate(v, w[o - m])
    for m in range(COLUMNS):
        y[first + m] = out[m].value


@sketch(spec=moving_average, block=WARP * WARPS, grid=GRID, x=f32[INPUTS], y=f32.out[OUTPUTS])
def packed_average(x, y):
    lane = cuda.laneid
    first = cuda.grid(1) * COLUMNS
    line = cuda.local.array((2, COLUMNS), f32)
    for m in range(COLUMNS):
        line[0, m] = x[first + m]
    for m in range(COLUMNS if WHOLE > 0 else 0):
        if lane < WHOLE:
            line[1, m] = x[first + WARP * COLUMNS + m]
    for m in range(REST):
        if lane == WHOLE:
            line[1, m] = x[first + WARP * COLUMNS + m]
    out = accumulator(f32, outer="+", shape=COLUMNS, final=lambda s: s / K)
    for o in range(COLUMNS):
        for m in range(max(0, o - K + 1), o + 1):
            out[m].accumulate(line[0, o])
    for o in range(COLUMNS, COLUMNS + K - 1):
        mine = line[sw_part(2, lane, o // COLUMNS), o % COLUMNS]
        v = cuda.shfl_sync(cuda.FULL_MASK, mine, sw_xform(lane, WARP, o // COLUMNS))
        for m in range(max(0, o - K + 1), COLUMNS):
            out[m].accumulate(v)
    for m in range(COLUMNS):
        y[first + m] = out[m].value
