"""A step of the n-body problem, its force along x: each thread adds up the pull of a tile of bodies on its own.

The bodies are read from a shared tile. Lane i begins with body i and goes round, so that no two lanes wait for one
bank; any order will do for the sum.
"""

from swizzle import accumulator, cuda, f32, math, parameter, sketch, spec

W = parameter("warp_size", 32, domain=(4, 8, 16, 32))
SOFTENING = 0.01


@spec
def accelerations(x, y, mass):
    found = []
    for i in range(W):
        total = 0
        for j in range(W):
            dx, dy = x[j] - x[i], y[j] - y[i]
            near = math.rsqrt(math.fma(dx, dx, math.fma(dy, dy, SOFTENING)))
            total += mass[j] * dx * (near * near * near)
        found.append(total)
    return found


@sketch(spec=accelerations, block=W, warp_size=W, x=f32[W], y=f32[W], mass=f32[W], a=f32.out[W])
def nbody(x, y, mass, a):
    i = cuda.grid(1)
    px = cuda.shared.array(W, f32)
    py = cuda.shared.array(W, f32)
    pm = cuda.shared.array(W, f32)
    px[i] = x[i]
    py[i] = y[i]
    pm[i] = mass[i]
    cuda.syncthreads()
    out = accumulator(f32, outer="+")
    for j in range(W):
        other = (i + j) % W
        dx, dy = px[other] - x[i], py[other] - y[i]
        near = math.rsqrt(math.fma(dx, dx, math.fma(dy, dy, SOFTENING)))
        out.accumulate(pm[other] * dx * (near * near * near))
    a[i] = out.value
