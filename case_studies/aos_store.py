"""An array of structures is loaded coalesced and stored as a structure of arrays: AoS-load-store (paper, 7.3).

A warp holds 32 structures of `struct_size` words. `crc` moves them by a column, a row and a column shuffle
(Catanzaro's decomposition); `rcr` permutes while loading and while storing, with one column shuffle between, and
needs no shuffle instruction at all.
"""

from swizzle import cuda, i32, parameter, sketch, spec, sw_xform

S = parameter("struct_size", 3, domain=range(1, 17))
WARP = parameter("warp_size", 32, domain=(4, 8, 16, 32))
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
    loaded = cuda.local.array(S, i32)
    rows = cuda.local.array(S, i32)
    for r in range(S):
        loaded[r] = x[first * S + r * WARP + lane]
    for r in range(S):
        offered = loaded[sw_xform(r, S, lane)]
        rows[r] = cuda.shfl_sync(cuda.FULL_MASK, offered, sw_xform(lane, WARP, r))
    for r in range(S):
        y[r, first + lane] = rows[sw_xform(r, S, lane)]


@sketch(spec=to_arrays, block=WARP * WARPS, grid=GRID, warp_size=WARP, x=i32[STRUCTS * S], y=i32.out[S, STRUCTS])
def rcr(x, y):
    lane = cuda.laneid
    first = cuda.grid(1) - lane
    loaded = cuda.local.array(S, i32)
    for r in range(S):
        loaded[r] = x[first * S + r * WARP + sw_xform(lane, WARP, r)]
    for r in range(S):
        y[r, first + sw_xform(lane, WARP, r)] = loaded[sw_xform(r, S, lane)]
