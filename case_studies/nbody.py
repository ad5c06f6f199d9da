"""A step of the n-body problem: the pull, along x, of a tile of bodies on each of n others, one a thread.

The tile is read into shared memory once for each block. Lane i begins with body i and goes round, so that no two lanes
wait for one bank; any order will do for the sum.
"""

from swizzle import accumulator, cuda, f32, math, parameter, sketch, spec

W = parameter("warp_size", 32, domain=(4, 8, 16, 32))
GRID = parameter("grid", 2, domain=range(1, 65))
N = W * GRID
SOFTENING = 0.01


@spec
def accelerations(x, y, tile_x, tile_y, mass):
    found = []
    for i in range(len(x)):
        total = 0
        for j in range(W):
            dx, dy = tile_x[j] - x[i], tile_y[j] - y[i]
            near = math.rsqrt(math.fma(dx, dx, math.fma(dy, dy, SOFTENING)))
            total += mass[j] * dx * (near * near * near)
        found.append(total)
    return found


@sketch(
    spec=accelerations, block=W, grid=GRID, warp_size=W, x=f32[N], y=f32[N], tile_x=f32[W], tile_y=f32[W],
    mass=f32[W], a=f32.out[N],
)  # fmt: skip
def nbody(x, y, tile_x, tile_y, mass, a):
    i, lane = cuda.grid(1), cuda.laneid
    px = cuda.shared.array(W, f32)
    py = cuda.shared.array(W, f32)
    pm = cuda.shared.array(W, f32)
    px[lane] = tile_x[lane]
    py[lane] = tile_y[lane]
    pm[lane] = mass[lane]
    cuda.syncthreads()
    out = accumulator(f32, outer="+")
    for j in range(W):
        other = (lane + j) % W
        dx, dy = px[other] - x[i], py[other] - y[i]
        near = math.rsqrt(math.fma(dx, dx, math.fma(dy, dy, SOFTENING)))
        out.accumulate(pm[other] * dx * (near * near * near))
    a[i] = out.value
