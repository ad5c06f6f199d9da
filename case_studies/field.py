"""Multiplication in the finite fields GF(2^degree), degree 32 to 384 (paper, section 7.2).

Each warp multiplies two elements, bit-sliced: word p holds coefficient p of 32 independent problems. An element is
`CHUNKS` chunks of as many words as a warp has threads; thread t holds word t of each.

`product` multiplies the polynomials, with holes: Mult-32 and Mult-64 (mult32.py, mult64.py) for any number of chunks.
In iteration k each thread obtains one word of every chunk of `a`, and CHUNKS + 1 words of `b`: a part chooses between
two neighbouring chunks, the outermost of which are zeros. So CHUNKS * (CHUNKS + 1) products in an iteration do: 2 and 6
for one and two chunks, as many accumulates as those two have.

`register` and `shared` multiply in the field: the product, with those holes filled as found (sums under open holes
cannot be shuffled and summed again: docs/solving.md), and the reduction modulo x^degree + x^R + x^S + x^T + 1, which
adds each high word to four low ones. `register` asks other lanes for the words, `shared` reads them from shared memory.
The polynomials are the first irreducible pentanomials in lexicographic order, as in G. Seroussi's Table of Low-Weight
Binary Irreducible Polynomials (HPL-98-135); there are no irreducible trinomials of these degrees.
"""

from swizzle import accumulator, cuda, parameter, sketch, spec, sw_part, sw_xform, u32

WARP = parameter("warp_size", 32, domain=(16, 32))
DEGREE = parameter("degree", 64, domain=(32, 64, 96, 128, 192, 256, 320, 384))
GRID = parameter("grid", 2, domain=range(1, 65))
CHUNKS = DEGREE // WARP
SIZE = GRID * DEGREE
EXPONENTS = {
    32: (7, 3, 2),
    64: (4, 3, 1),
    96: (10, 9, 6),
    128: (7, 2, 1),
    192: (7, 2, 1),
    256: (10, 5, 2),
    320: (4, 3, 1),
    384: (12, 3, 2),
}
R, S, T = EXPONENTS[DEGREE]  # R is less than WARP: a word moves into the next chunk at most


def coefficients(a, b, first):
    """Return the words of one product: coefficient s is the sum of a[p] * b[s - p]."""
    found = []
    for s in range(2 * DEGREE):
        total = 0
        for p in range(max(0, s - DEGREE + 1), min(DEGREE, s + 1)):
            total = total ^ (a[first + p] & b[first + s - p])
        found.append(total)
    return found


@spec
def polynomials(a, b):
    return [word for first in range(0, len(a), DEGREE) for word in coefficients(a, b, first)]


@spec
def multiply(a, b):
    found = []
    for first in range(0, len(a), DEGREE):
        words = coefficients(a, b, first)
        for s in range(2 * DEGREE - 1, DEGREE - 1, -1):  # x^s is x^(s - degree) * (x^R + x^S + x^T + 1)
            for exponent in (R, S, T, 0):
                words[s - DEGREE + exponent] = words[s - DEGREE + exponent] ^ words[s]
        found += words[:DEGREE]
    return found


@sketch(spec=polynomials, block=WARP, grid=GRID, warp_size=WARP, a=u32[SIZE], b=u32[SIZE], c=u32.out[2 * SIZE])
def product(a, b, c):
    lane = cuda.laneid
    first = cuda.blockIdx.x * DEGREE + lane
    ra = cuda.local.array(CHUNKS, u32)
    rb = cuda.local.array(CHUNKS + 2, u32)
    rb[0] = 0
    rb[CHUNKS + 1] = 0
    for i in range(CHUNKS):
        ra[i] = a[first + i * WARP]
        rb[i + 1] = b[first + i * WARP]
    answer = accumulator(u32, outer="^", inner="&", shape=2 * CHUNKS)
    a0 = cuda.local.array(CHUNKS, u32)
    for k in range(WARP):
        for i in range(CHUNKS):
            a0[i] = cuda.shfl_sync(cuda.FULL_MASK, ra[i], sw_xform(lane, WARP, k))
        for j in range(CHUNKS + 1):
            b0 = cuda.shfl_sync(cuda.FULL_MASK, rb[j + sw_part(2, lane, k)], sw_xform(lane, WARP, k))
            for i in range(CHUNKS):
                answer[i + j].accumulate(a0[i], b0)
    for i in range(2 * CHUNKS):
        c[2 * cuda.blockIdx.x * DEGREE + i * WARP + lane] = answer[i].value


@sketch(spec=multiply, block=WARP, grid=GRID, warp_size=WARP, a=u32[SIZE], b=u32[SIZE], c=u32.out[SIZE])
def register(a, b, c):
    lane = cuda.laneid
    first = cuda.blockIdx.x * DEGREE + lane
    ra = cuda.local.array(CHUNKS, u32)
    rb = cuda.local.array(CHUNKS + 2, u32)
    rb[0] = 0
    rb[CHUNKS + 1] = 0
    for i in range(CHUNKS):
        ra[i] = a[first + i * WARP]
        rb[i + 1] = b[first + i * WARP]
    answer = accumulator(u32, outer="^", inner="&", shape=2 * CHUNKS)
    a0 = cuda.local.array(CHUNKS, u32)
    for k in range(WARP):
        for i in range(CHUNKS):
            a0[i] = cuda.shfl_sync(cuda.FULL_MASK, ra[i], WARP - 1 - k)
        for j in range(CHUNKS + 1):
            b0 = cuda.shfl_sync(cuda.FULL_MASK, rb[j + (0 if lane > k else 1)], (lane + k + 1) % WARP)
            for i in range(CHUNKS):
                answer[i + j].accumulate(a0[i], b0)

    low = cuda.local.array(CHUNKS, u32)
    high = cuda.local.array(CHUNKS + 1, u32)
    high[0] = 0
    for i in range(CHUNKS):
        low[i] = answer[i].value
        high[i + 1] = answer[CHUNKS + i].value
    # What a high word adds beyond x^(degree - 1) is high once more: it is added to the first of the high words.
    by_r = cuda.shfl_sync(cuda.FULL_MASK, high[CHUNKS], (lane - R) % WARP)
    by_s = cuda.shfl_sync(cuda.FULL_MASK, high[CHUNKS], (lane - S) % WARP)
    by_t = cuda.shfl_sync(cuda.FULL_MASK, high[CHUNKS], (lane - T) % WARP)
    beyond = accumulator(u32, outer="^")
    beyond.accumulate(by_r, when=lane < R)
    beyond.accumulate(by_s, when=lane < S)
    beyond.accumulate(by_t, when=lane < T)
    high[1] ^= beyond.value
    for i in range(CHUNKS):
        by_r = cuda.shfl_sync(cuda.FULL_MASK, high[i + (1 if lane < WARP - R else 0)], (lane - R) % WARP)
        by_s = cuda.shfl_sync(cuda.FULL_MASK, high[i + (1 if lane < WARP - S else 0)], (lane - S) % WARP)
        by_t = cuda.shfl_sync(cuda.FULL_MASK, high[i + (1 if lane < WARP - T else 0)], (lane - T) % WARP)
        c[first + i * WARP] = low[i] ^ high[i + 1] ^ by_r ^ by_s ^ by_t


@sketch(spec=multiply, block=WARP, grid=GRID, warp_size=WARP, a=u32[SIZE], b=u32[SIZE], c=u32.out[SIZE])
def shared(a, b, c):
    lane = cuda.laneid
    first = cuda.blockIdx.x * DEGREE + lane
    sa = cuda.shared.array(DEGREE, u32)
    window = cuda.shared.array(DEGREE + 2 * WARP, u32)  # between two chunks of zeros: first b, then the high words
    window[lane] = 0
    window[DEGREE + WARP + lane] = 0
    for i in range(CHUNKS):
        sa[i * WARP + lane] = a[first + i * WARP]
        window[(i + 1) * WARP + lane] = b[first + i * WARP]
    cuda.syncthreads()
    answer = accumulator(u32, outer="^", inner="&", shape=2 * CHUNKS)
    a0 = cuda.local.array(CHUNKS, u32)
    for k in range(WARP):
        for i in range(CHUNKS):
            a0[i] = sa[i * WARP + k]
        for j in range(CHUNKS + 1):
            b0 = window[(j + 1) * WARP + lane - k]
            for i in range(CHUNKS):
                answer[i + j].accumulate(a0[i], b0)

    cuda.syncthreads()
    for i in range(CHUNKS):
        window[(i + 1) * WARP + lane] = answer[CHUNKS + i].value
    cuda.syncthreads()
    # What a high word adds beyond x^(degree - 1) is high once more: it is added to the first of the high words.
    end = DEGREE + WARP + lane
    beyond = window[end - R] ^ window[end - S] ^ window[end - T]
    cuda.syncthreads()
    window[WARP + lane] ^= beyond
    cuda.syncthreads()
    for i in range(CHUNKS):
        at = (i + 1) * WARP + lane
        reduced = window[at] ^ window[at - R] ^ window[at - S] ^ window[at - T]
        c[first + i * WARP] = answer[i].value ^ reduced
