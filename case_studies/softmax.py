"""The softmax of rows, one row a warp: the largest element and the sum of the exponentials come by shuffles.

The hole is whom a lane reads for the weight that it writes to its place of the reversed row.
"""

from swizzle import cuda, f32, math, maximum, parameter, sketch, spec, sw_xform

W = parameter("warp_size", 32, domain=(4, 8, 16, 32))
ROWS = parameter("rows", 2, domain=range(1, 9))
STEPS = W.bit_length() - 1


@spec
def weights(x):
    found = []
    for r in range(ROWS):
        top = maximum(*[x[r, c] for c in range(W)])
        powers = [math.exp(x[r, c] - top) for c in range(W)]
        found.append([powers[W - 1 - c] / sum(powers) for c in range(W)])
    return found


@sketch(spec=weights, block=W, grid=ROWS, warp_size=W, x=f32[ROWS, W], y=f32.out[ROWS, W])
def softmax(x, y):
    lane, row = cuda.laneid, cuda.blockIdx.x
    top = x[row, lane]
    for k in range(STEPS):
        top = max(top, cuda.shfl_xor_sync(cuda.FULL_MASK, top, W >> (k + 1)))
    power = math.exp(x[row, lane] - top)
    total = power
    for k in range(STEPS):
        total += cuda.shfl_xor_sync(cuda.FULL_MASK, total, W >> (k + 1))
    y[row, lane] = cuda.shfl_sync(cuda.FULL_MASK, power / total, sw_xform(lane, W))
