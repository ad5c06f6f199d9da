"""Multiplication in the finite fields GF(2^degree), degree 32 to 384 (paper, section 7.2).

Each warp multiplies two elements, bit-sliced: word p holds coefficient p of 32 independent problems. An element
consists of `CHUNKS` chunks. A chunk has one word for each thread of the warp: thread t holds word t of each chunk.

The work is in device functions. `multiply_by_shuffles` is Mult-32 and Mult-64 (mult32.py, mult64.py) for any number of
chunks. In iteration k, each thread obtains one word of every chunk of `a`, and CHUNKS + 1 words of `b`. For a word of
`b`, a part chooses between two neighbouring chunks; beyond the outermost chunks there are zeros. So an iteration needs
CHUNKS * (CHUNKS + 1) products: 2 and 6 for one and two chunks, as in mult32.py and mult64.py. `multiply_by_reads` does
the same in shared memory, where all threads read the same words of `a`. `shifted` moves an element's words up.

Each function's holes are found in a sketch of its own: `product`, `product_shared` and `shift`. `register` and `shared`
multiply in the field. They call the same functions and take the holes from these sketches, because one search for all
would take long. They reduce by x^degree + x^R + x^S + x^T + 1, which adds each high word to four low ones. The whole
kernel is verified for all inputs.

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
def moved_up(x):
    return [[x[s - by] if by <= s < DEGREE + by else 0 for s in range(DEGREE + WARP)] for by in (R, S, T)]


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


@cuda.jit(device=True)
def multiply_by_shuffles(a, b, first, answer):
    """Add to `answer` the product of the two elements that begin at `first`."""
    lane = cuda.laneid
    ra = cuda.local.array(CHUNKS, u32)
    rb = cuda.local.array(CHUNKS + 2, u32)
    rb[0] = 0
    rb[CHUNKS + 1] = 0
    for i in range(CHUNKS):
        ra[i] = a[first + i * WARP + lane]
        rb[i + 1] = b[first + i * WARP + lane]
    a0 = cuda.local.array(CHUNKS, u32)
    for k in range(WARP):
        for i in range(CHUNKS):
            a0[i] = cuda.shfl_sync(cuda.FULL_MASK, ra[i], sw_xform(lane, WARP, k))
        for j in range(CHUNKS + 1):
            b0 = cuda.shfl_sync(cuda.FULL_MASK, rb[j + sw_part(2, lane, k)], sw_xform(lane, WARP, k))
            for i in range(CHUNKS):
                answer[i + j].accumulate(a0[i], b0)


@cuda.jit(device=True)
def multiply_by_reads(a, b, first, window, answer):
    """Add to `answer` the product of the two elements that begin at `first`; `window` keeps `b` between zeros."""
    lane = cuda.laneid
    sa = cuda.shared.array(DEGREE, u32)
    window[lane] = 0
    window[DEGREE + WARP + lane] = 0
    for i in range(CHUNKS):
        sa[i * WARP + lane] = a[first + i * WARP + lane]
        window[(i + 1) * WARP + lane] = b[first + i * WARP + lane]
    cuda.syncthreads()
    a0 = cuda.local.array(CHUNKS, u32)
    for k in range(WARP):
        for i in range(CHUNKS):
            a0[i] = sa[i * WARP + sw_xform(k, WARP)]
        for j in range(CHUNKS + 1):
            b0 = window[(j + sw_part(2, lane, k)) * WARP + sw_xform(lane, WARP, k)]
            for i in range(CHUNKS):
                answer[i + j].accumulate(a0[i], b0)
    cuda.syncthreads()


@cuda.jit(device=True)
def shifted(words, chunk, by):
    """Return this thread's word of a chunk after all words have moved up by `by`; words[0] is below the first chunk."""
    lane = cuda.laneid
    return cuda.shfl_sync(cuda.FULL_MASK, words[chunk + sw_part(2, lane, by)], sw_xform(lane, WARP, by))


@cuda.jit(device=True)
def folded(high, chunk):
    """Return what the high words add to this thread's word of a chunk besides the word itself."""
    return shifted(high, chunk, R) ^ shifted(high, chunk, S) ^ shifted(high, chunk, T)


@sketch(spec=polynomials, block=WARP, grid=GRID, warp_size=WARP, a=u32[SIZE], b=u32[SIZE], c=u32.out[2 * SIZE])
def product(a, b, c):
    answer = accumulator(u32, outer="^", inner="&", shape=2 * CHUNKS)
    multiply_by_shuffles(a, b, cuda.blockIdx.x * DEGREE, answer)
    for i in range(2 * CHUNKS):
        c[2 * cuda.blockIdx.x * DEGREE + i * WARP + cuda.laneid] = answer[i].value


@sketch(spec=polynomials, block=WARP, grid=GRID, warp_size=WARP, a=u32[SIZE], b=u32[SIZE], c=u32.out[2 * SIZE])
def product_shared(a, b, c):
    window = cuda.shared.array(DEGREE + 2 * WARP, u32)
    answer = accumulator(u32, outer="^", inner="&", shape=2 * CHUNKS)
    multiply_by_reads(a, b, cuda.blockIdx.x * DEGREE, window, answer)
    for i in range(2 * CHUNKS):
        c[2 * cuda.blockIdx.x * DEGREE + i * WARP + cuda.laneid] = answer[i].value


@sketch(spec=moved_up, block=WARP, warp_size=WARP, x=u32[DEGREE], y=u32.out[3, DEGREE + WARP])
def shift(x, y):
    lane = cuda.laneid
    words = cuda.local.array(CHUNKS + 2, u32)
    words[0] = 0
    words[CHUNKS + 1] = 0
    for i in range(CHUNKS):
        words[i + 1] = x[i * WARP + lane]
    for i in range(CHUNKS + 1):
        y[0, i * WARP + lane] = shifted(words, i, R)
        y[1, i * WARP + lane] = shifted(words, i, S)
        y[2, i * WARP + lane] = shifted(words, i, T)


@sketch(
    spec=multiply,
    filled_from=(product, shift),
    block=WARP,
    grid=GRID,
    warp_size=WARP,
    a=u32[SIZE],
    b=u32[SIZE],
    c=u32.out[SIZE],
)
def register(a, b, c):
    first = cuda.blockIdx.x * DEGREE
    answer = accumulator(u32, outer="^", inner="&", shape=2 * CHUNKS)
    multiply_by_shuffles(a, b, first, answer)
    high = cuda.local.array(CHUNKS + 2, u32)
    high[0] = 0
    high[CHUNKS + 1] = 0
    for i in range(CHUNKS):
        high[i + 1] = answer[CHUNKS + i].value
    # What a high word adds beyond x^(degree - 1) is high once more: it is added to the first of the high words.
    high[1] ^= folded(high, CHUNKS)
    for i in range(CHUNKS):
        c[first + i * WARP + cuda.laneid] = answer[i].value ^ high[i + 1] ^ folded(high, i)


@sketch(
    spec=multiply,
    filled_from=product_shared,
    block=WARP,
    grid=GRID,
    warp_size=WARP,
    a=u32[SIZE],
    b=u32[SIZE],
    c=u32.out[SIZE],
)
def shared(a, b, c):
    lane = cuda.laneid
    first = cuda.blockIdx.x * DEGREE
    window = cuda.shared.array(DEGREE + 2 * WARP, u32)  # between two chunks of zeros: first b, then the high words
    answer = accumulator(u32, outer="^", inner="&", shape=2 * CHUNKS)
    multiply_by_reads(a, b, first, window, answer)
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
        c[first + i * WARP + lane] = answer[i].value ^ reduced
