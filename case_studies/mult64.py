"""Multiplication of polynomials over GF(2) with 64 coefficients: Mult-64 (paper, section 7.2).

Each warp multiplies two polynomials, bit-sliced: word p holds coefficient p of 32 independent problems. Thread t
computes coefficients t, t + 32, t + 64 and t + 96 of the product. In iteration k it obtains two words of each
factor, a0, a1, b0, b1, and may add each of their four products to each of its four answers: 16 conditional
accumulates, of which as few as possible should remain.
"""

from swizzle import accumulator, cuda, parameter, sketch, spec, sw_cond, sw_part, sw_xform, u32

WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32, 64))
GRID = parameter("grid", 2, domain=range(1, 65))
N = 2 * WARP


@spec
def product(a, b):
    found = []
    for problem in range(GRID):
        for s in range(2 * N):
            total = 0
            for p in range(max(0, s - N + 1), min(N, s + 1)):
                total = total ^ (a[problem * N + p] & b[problem * N + s - p])
            found.append(total)
    return found


@sketch(spec=product, block=WARP, grid=GRID, warp_size=WARP, a=u32[GRID * N], b=u32[GRID * N], c=u32.out[GRID * 2 * N])
def register(a, b, c):
    lane = cuda.laneid
    first = cuda.blockIdx.x * N + lane
    ra = cuda.local.array(2, u32)
    rb = cuda.local.array(2, u32)
    for r in range(2):
        ra[r] = a[first + r * WARP]
        rb[r] = b[first + r * WARP]
    answer = accumulator(u32, outer="^", inner="&", shape=4)
    for k in range(WARP):
        a0 = cuda.shfl_sync(cuda.FULL_MASK, ra[sw_part(2, lane, k)], sw_xform(lane, WARP, k))
        a1 = cuda.shfl_sync(cuda.FULL_MASK, ra[sw_part(2, lane, k)], sw_xform(lane, WARP, k))
        b0 = cuda.shfl_sync(cuda.FULL_MASK, rb[sw_part(2, lane, k)], sw_xform(lane, WARP, k))
        b1 = cuda.shfl_sync(cuda.FULL_MASK, rb[sw_part(2, lane, k)], sw_xform(lane, WARP, k))
        answer[0].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[0].accumulate(a0, b1, when=sw_cond(lane, k))
        answer[0].accumulate(a1, b0, when=sw_cond(lane, k))
        answer[0].accumulate(a1, b1, when=sw_cond(lane, k))
        answer[1].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[1].accumulate(a0, b1, when=sw_cond(lane, k))
        answer[1].accumulate(a1, b0, when=sw_cond(lane, k))
        answer[1].accumulate(a1, b1, when=sw_cond(lane, k))
        answer[2].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[2].accumulate(a0, b1, when=sw_cond(lane, k))
        answer[2].accumulate(a1, b0, when=sw_cond(lane, k))
        answer[2].accumulate(a1, b1, when=sw_cond(lane, k))
        answer[3].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[3].accumulate(a0, b1, when=sw_cond(lane, k))
        answer[3].accumulate(a1, b0, when=sw_cond(lane, k))
        answer[3].accumulate(a1, b1, when=sw_cond(lane, k))
    for j in range(4):
        c[cuda.blockIdx.x * 2 * N + j * WARP + lane] = answer[j].value


@sketch(spec=product, block=WARP, grid=GRID, warp_size=WARP, a=u32[GRID * N], b=u32[GRID * N], c=u32.out[GRID * 2 * N])
def shared(a, b, c):
    lane = cuda.laneid
    first = cuda.blockIdx.x * N + lane
    sa = cuda.shared.array((2, WARP), u32)
    sb = cuda.shared.array((2, WARP), u32)
    for r in range(2):
        sa[r, lane] = a[first + r * WARP]
        sb[r, lane] = b[first + r * WARP]
    cuda.syncthreads()
    answer = accumulator(u32, outer="^", inner="&", shape=4)
    for k in range(WARP):
        a0 = sa[sw_part(2, lane, k), sw_xform(lane, WARP, k)]
        a1 = sa[sw_part(2, lane, k), sw_xform(lane, WARP, k)]
        b0 = sb[sw_part(2, lane, k), sw_xform(lane, WARP, k)]
        b1 = sb[sw_part(2, lane, k), sw_xform(lane, WARP, k)]
        answer[0].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[0].accumulate(a0, b1, when=sw_cond(lane, k))
        answer[0].accumulate(a1, b0, when=sw_cond(lane, k))
        answer[0].accumulate(a1, b1, when=sw_cond(lane, k))
        answer[1].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[1].accumulate(a0, b1, when=sw_cond(lane, k))
        answer[1].accumulate(a1, b0, when=sw_cond(lane, k))
        answer[1].accumulate(a1, b1, when=sw_cond(lane, k))
        answer[2].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[2].accumulate(a0, b1, when=sw_cond(lane, k))
        answer[2].accumulate(a1, b0, when=sw_cond(lane, k))
        answer[2].accumulate(a1, b1, when=sw_cond(lane, k))
        answer[3].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[3].accumulate(a0, b1, when=sw_cond(lane, k))
        answer[3].accumulate(a1, b0, when=sw_cond(lane, k))
        answer[3].accumulate(a1, b1, when=sw_cond(lane, k))
    for j in range(4):
        c[cuda.blockIdx.x * 2 * N + j * WARP + lane] = answer[j].value
