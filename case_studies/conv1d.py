"""One-dimensional convolution with a register cache: the paper's running example (section 2, Listings 1 to 3).

Each warp loads the inputs of its outputs into registers, `rounds` to a lane. In iteration k a lane offers one of its
registers, receives one from another lane, and multiplies it with a weight. Which register, which lane and which
weight are the three holes.
"""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_part, sw_xform, warp_load

K = parameter("K", 3, domain=range(1, 34))
WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32))
WARPS = parameter("warps", 2, domain=range(1, 33))
GRID = parameter("grid", 2, domain=range(1, 65))
ROUNDS = parameter("rounds", 1 + -(-(K - 1) // WARP), domain=range(1, 34))

BLOCK = WARPS * WARP
OUTPUTS = BLOCK * GRID
INPUTS = OUTPUTS + K - 1


@spec
def conv1d_spec(x, w):
    return [sum(w[k] * x[i + k] for k in range(K)) for i in range(len(x) - K + 1)]


@sketch(spec=conv1d_spec, block=BLOCK, grid=GRID, warp_size=WARP, x=f32[INPUTS], w=f32.const[K], y=f32.out[OUTPUTS])
def conv1d(x, w, y):
    lane = cuda.laneid
    i = cuda.grid(1)
    inp = cuda.local.array(ROUNDS, f32)
    warp_load(x, inp, offset=i - lane, rounds=ROUNDS)
    out = accumulator(f32, outer="+", inner="*")
    for k in range(K):
        mine = inp[sw_part(ROUNDS, lane, k)]
        v = cuda.shfl_sync(cuda.FULL_MASK, mine, sw_xform(lane, WARP, k))
        out.accumulate(v, w[sw_xform(k, K, lane)])
    if i < len(y):
        y[i] = out.value
