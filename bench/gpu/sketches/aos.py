"""Arrays of structures of any size from 1 to 16 words, by vector loads: the crc decomposition on vectors.

A structure of `struct_size` words is `CHUNKS` vectors of `vector` words, the widest that divide it. What is moved is
vectors: 6 words are 3 vectors of 2, 12 are 3 of 4, so that sizes which the paper's template cannot permute word by word
(those with a divisor in common with the warp) become sizes that it can. With `direct`, each lane loads its own
structures, so that nothing is moved: fewer instructions, in lines that a warp reads in several turns.

Each thread takes `structs` structures, and stores `at_once` of them before the next are loaded, so that few are in
registers: a compiler still loads ahead as far as its registers allow.
"""

from swizzle import accumulator, cuda, i32, parameter, sketch, spec, sw_xform

S = parameter("struct_size", 3, domain=range(1, 17))
VECTOR = parameter("vector", 1, domain=(1, 2, 4))
DIRECT = parameter("direct", 0, domain=(0, 1))
STRUCTS = parameter("structs", 2, domain=range(1, 17))
AT_ONCE = parameter("at_once", 1, domain=range(1, 17))
WARPS = parameter("warps", 4, domain=range(1, 33))
GRID = parameter("grid", 2, domain=range(1, 65))
WARP = 32

CHUNKS = S // VECTOR
MOVED = CHUNKS > 1 and not DIRECT
CHUNK_STEP, LANE_STEP = (1, CHUNKS) if DIRECT else (WARP, 1)  # between the vectors of one lane, and of two lanes
STEP = WARPS * WARP  # between the structures of one lane
TOTAL = STEP * STRUCTS * GRID


@spec
def to_arrays(x):
    return [[x[structure * S + word] for structure in range(TOTAL)] for word in range(S)]


@spec
def sums(x):
    return [sum(x[structure * S + word] for word in range(S)) for structure in range(TOTAL)]


@sketch(spec=to_arrays, block=WARP * WARPS, grid=GRID, x=i32[TOTAL * S], y=i32.out[S, TOTAL])
def store(x, y):
    lane = cuda.laneid
    first = (cuda.blockIdx.x * WARPS * STRUCTS + cuda.warpid) * WARP
    words = cuda.local.array((AT_ONCE, CHUNKS, VECTOR), i32)
    mine = cuda.local.array((AT_ONCE, CHUNKS, VECTOR), i32)
    for start in range(0, STRUCTS * STEP, AT_ONCE * STEP):
        for u in range(AT_ONCE):
            for c in range(CHUNKS):
                for v in range(VECTOR):
                    at = (start + u * STEP) * S + c * CHUNK_STEP * VECTOR + v
                    words[u, c, v] = x[first * S + lane * LANE_STEP * VECTOR + at]
        for u in range(AT_ONCE):
            for c in range(CHUNKS):
                for v in range(VECTOR):
                    if MOVED:
                        word = words[u, sw_xform(c, CHUNKS, lane), v]
                        mine[u, c, v] = cuda.shfl_sync(cuda.FULL_MASK, word, sw_xform(lane, WARP, c))
                    else:
                        mine[u, c, v] = words[u, c, v]
        for u in range(AT_ONCE):
            for c in range(CHUNKS):
                for v in range(VECTOR):
                    if MOVED:
                        y[c * VECTOR + v, first + lane + start + u * STEP] = mine[u, sw_xform(c, CHUNKS, lane), v]
                    else:
                        y[c * VECTOR + v, first + lane + start + u * STEP] = mine[u, c, v]


@sketch(spec=sums, block=WARP * WARPS, grid=GRID, x=i32[TOTAL * S], y=i32.out[TOTAL])
def load_sum(x, y):
    lane = cuda.laneid
    first = (cuda.blockIdx.x * WARPS * STRUCTS + cuda.warpid) * WARP
    words = cuda.local.array((AT_ONCE, CHUNKS, VECTOR), i32)
    for start in range(0, STRUCTS * STEP, AT_ONCE * STEP):
        total = accumulator(i32, outer="+", shape=AT_ONCE)
        for u in range(AT_ONCE):
            for c in range(CHUNKS):
                for v in range(VECTOR):
                    at = (start + u * STEP) * S + c * CHUNK_STEP * VECTOR + v
                    words[u, c, v] = x[first * S + lane * LANE_STEP * VECTOR + at]
        for u in range(AT_ONCE):
            for c in range(CHUNKS):
                for v in range(VECTOR):
                    if MOVED:
                        word = words[u, sw_xform(c, CHUNKS, lane), v]
                        total[u].accumulate(cuda.shfl_sync(cuda.FULL_MASK, word, sw_xform(lane, WARP, c)))
                    else:
                        total[u].accumulate(words[u, c, v])
        for u in range(AT_ONCE):
            y[first + lane + start + u * STEP] = total[u].value
