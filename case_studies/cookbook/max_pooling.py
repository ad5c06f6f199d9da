"""Max pooling, 2 x 2: a warp loads two rows of 64 pixels coalesced, and stores a row of 32."""

from swizzle import cuda, f32, maximum, sketch, spec, sw_cond, sw_xform

W, ROWS = 32, 4


@spec
def pooled(x):
    def of_row(r, c):
        return maximum(x[r][2 * c], x[r][2 * c + 1])

    return [[maximum(of_row(2 * r, c), of_row(2 * r + 1, c)) for c in range(W)] for r in range(ROWS)]


@sketch(spec=pooled, block=(W, ROWS), warp_size=W, x=f32[2 * ROWS, 2 * W], y=f32.out[ROWS, W])
def max_pooling(x, y):
    lane, r = cuda.laneid, cuda.threadIdx.y
    a = max(x[2 * r, lane], x[2 * r + 1, lane])
    b = max(x[2 * r, lane + W], x[2 * r + 1, lane + W])
    from_a = cuda.shfl_sync(cuda.FULL_MASK, a, sw_xform(lane, W))
    from_b = cuda.shfl_sync(cuda.FULL_MASK, b, sw_xform(lane, W))
    left = from_a if sw_cond(lane, W // 2) else from_b
    from_a = cuda.shfl_sync(cuda.FULL_MASK, a, sw_xform(lane, W))
    from_b = cuda.shfl_sync(cuda.FULL_MASK, b, sw_xform(lane, W))
    right = from_a if sw_cond(lane, W // 2) else from_b
    y[r, lane] = max(left, right)
