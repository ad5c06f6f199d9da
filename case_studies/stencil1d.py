"""One-dimensional stencil with a register cache: a moving average of `K` elements (paper, section 7.1).

As in conv1d.py, each warp loads the inputs of its outputs into registers, and in iteration k a lane offers one of its
registers and receives one from another lane. There are no weights: the sum is divided once, by the final function.
"""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_part, sw_xform, warp_load

K = parameter("K", 3, domain=range(1, 34))
WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32, 64))
WARPS = parameter("warps", 2, domain=range(1, 33))
GRID = parameter("grid", 2, domain=range(1, 65))
ROUNDS = parameter("rounds", 1 + -(-(K - 1) // WARP), domain=range(1, 34))

BLOCK = WARPS * WARP
OUTPUTS = BLOCK * GRID
INPUTS = OUTPUTS + K - 1


@spec
def moving_average(x):
    return [sum(x[i + k] for k in range(K)) / K for i in range(len(x) - K + 1)]


@sketch(spec=moving_average, block=BLOCK, grid=GRID, warp_size=WARP, x=f32[INPUTS], y=f32.out[OUTPUTS])
def stencil1d(x, y):
    lane = cuda.laneid
    i = cuda.grid(1)
    inp = cuda.local.array(ROUNDS, f32)
    warp_load(x, inp, offset=i - lane)
    out = accumulator(f32, outer="+", final=lambda s: s / K)
    for k in range(K):
        mine = inp[sw_part(ROUNDS, lane, k)]
        out.accumulate(cuda.shfl_sync(cuda.FULL_MASK, mine, sw_xform(lane, WARP, k)))
    y[i] = out.value
