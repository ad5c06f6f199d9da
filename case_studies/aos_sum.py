"""An array of structures is loaded coalesced and each structure's words are summed: AoS-load-sum (paper, 7.3).

A warp holds 32 structures of `struct_size` words. A column and a row shuffle bring each lane the words of its
structure, in any order. That is enough for a sum, so Catanzaro's decomposition needs no second column shuffle here.
"""

from swizzle import accumulator, cuda, i32, parameter, permute_local, sketch, spec, sw_xform, warp_load

S = parameter("struct_size", 3, domain=range(1, 65))
WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32, 64))
WARPS = parameter("warps", 1, domain=range(1, 33))
GRID = parameter("grid", 2, domain=range(1, 65))

STRUCTS = WARP * WARPS * GRID


@spec
def sums(x):
    return [sum(x[structure * S + word] for word in range(S)) for structure in range(STRUCTS)]


@sketch(spec=sums, block=WARP * WARPS, grid=GRID, warp_size=WARP, x=i32[STRUCTS * S], y=i32.out[STRUCTS])
def crc(x, y):
    lane = cuda.laneid
    i = cuda.grid(1)
    words = cuda.local.array(S, i32)
    warp_load(x, words, offset=(i - lane) * S)
    permute_local(words, lambda r: sw_xform(r, S, lane))
    total = accumulator(i32, outer="+")
    for r in range(S):
        total.accumulate(cuda.shfl_sync(cuda.FULL_MASK, words[r], sw_xform(lane, WARP, r)))
    y[i] = total.value
