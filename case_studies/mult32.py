"""Multiplication of polynomials over GF(2) with 32 coefficients: Mult-32 (paper, section 7.2).

Each warp multiplies two polynomials, bit-sliced: word p holds coefficient p of 32 independent problems. Thread t
computes coefficients t and t + 32 of the product. In iteration k it obtains one word of each factor. Two conditions
decide to which of its two answers it adds their product. `register` asks other lanes for the words, `shared`
reads them from shared memory.
"""

from swizzle import accumulator, cuda, parameter, sketch, spec, sw_cond, sw_xform, u32

WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32, 64))
GRID = parameter("grid", 2, domain=range(1, 65))
N = WARP


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
    ra = a[cuda.blockIdx.x * N + lane]
    rb = b[cuda.blockIdx.x * N + lane]
    answer = accumulator(u32, outer="^", inner="&", shape=2)
    for k in range(WARP):
        a0 = cuda.shfl_sync(cuda.FULL_MASK, ra, sw_xform(lane, WARP, k))
        b0 = cuda.shfl_sync(cuda.FULL_MASK, rb, sw_xform(lane, WARP, k))
        answer[0].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[1].accumulate(a0, b0, when=sw_cond(lane, k))
    for j in range(2):
        c[cuda.blockIdx.x * 2 * N + j * WARP + lane] = answer[j].value


@sketch(spec=product, block=WARP, grid=GRID, warp_size=WARP, a=u32[GRID * N], b=u32[GRID * N], c=u32.out[GRID * 2 * N])
def shared(a, b, c):
    lane = cuda.laneid
    sa = cuda.shared.array(WARP, u32)
    sb = cuda.shared.array(WARP, u32)
    sa[lane] = a[cuda.blockIdx.x * N + lane]
    sb[lane] = b[cuda.blockIdx.x * N + lane]
    cuda.syncthreads()
    answer = accumulator(u32, outer="^", inner="&", shape=2)
    for k in range(WARP):
        a0 = sa[sw_xform(lane, WARP, k)]
        b0 = sb[sw_xform(lane, WARP, k)]
        answer[0].accumulate(a0, b0, when=sw_cond(lane, k))
        answer[1].accumulate(a0, b0, when=sw_cond(lane, k))
    for j in range(2):
        c[cuda.blockIdx.x * 2 * N + j * WARP + lane] = answer[j].value
