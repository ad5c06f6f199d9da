"""An array of structures is loaded coalesced and stored as a structure of arrays: AoS-load-store (paper, 7.3).

A warp holds 32 structures of `struct_size` words. `crc` moves them by a column, a row and a column shuffle
(Catanzaro's decomposition, Listing 4); `rcr` permutes while loading and while storing, with one column shuffle
between, and needs no shuffle instruction at all.
"""

from swizzle import cuda, i32, parameter, permute_local, sketch, spec, sw_xform, warp_load

S = parameter("struct_size", 3, domain=range(1, 17))
WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32, 64))
WARPS = parameter("warps", 1, domain=range(1, 33))
GRID = parameter("grid", 2, domain=range(1, 65))

STRUCTS = WARP * WARPS * GRID


@spec
def to_arrays(x):
    return [[x[structure * S + word] for structure in range(STRUCTS)] for word in range(S)]


@sketch(spec=to_arrays, block=WARP * WARPS, grid=GRID, warp_size=WARP, x=i32[STRUCTS * S], y=i32.out[S, STRUCTS])
def crc(x, y):
    lane = cuda.laneid
    first = cuda.grid(1) - lane
    words = cuda.local.array(S, i32)
    warp_load(x, words, offset=first * S)
    permute_local(words, lambda r: sw_xform(r, S, lane))
    for r in range(S):
        words[r] = cuda.shfl_sync(cuda.FULL_MASK, words[r], sw_xform(lane, WARP, r))
    permute_local(words, lambda r: sw_xform(r, S, lane))
    for r in range(S):
        y[r, first + lane] = words[r]


@sketch(spec=to_arrays, block=WARP * WARPS, grid=GRID, warp_size=WARP, x=i32[STRUCTS * S], y=i32.out[S, STRUCTS])
def rcr(x, y):
    lane = cuda.laneid
    first = cuda.grid(1) - lane
    words = cuda.local.array(S, i32)
    warp_load(x, words, offset=first * S, shfl=lambda lane, r: sw_xform(lane, WARP, r))
    permute_local(words, lambda r: sw_xform(r, S, lane))
    for r in range(S):
        y[r, first + sw_xform(lane, WARP, r)] = words[r]
