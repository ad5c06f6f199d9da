"""Laplace operator of a periodic box, 4 x 4 x 4, in shared memory: six neighbours, each direction's index a hole."""

from swizzle import cuda, f32, sketch, spec, sw_xform

N = 4


@spec
def laplace(u):
    def around(z, y, x):
        return sum(u[(z + d) % N][y][x] + u[z][(y + d) % N][x] + u[z][y][(x + d) % N] for d in (-1, 1))

    return [[[around(z, y, x) - 6 * u[z][y][x] for x in range(N)] for y in range(N)] for z in range(N)]


@sketch(spec=laplace, block=(N, N, N), u=f32[N, N, N], out=f32.out[N, N, N])
def laplace3d(u, out):
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    tile = cuda.shared.array((N, N, N), f32)
    tile[z, y, x] = u[z, y, x]
    cuda.syncthreads()
    s = -6 * tile[z, y, x]
    for k in range(2):
        s += tile[sw_xform(z, N, k), y, x]
        s += tile[z, sw_xform(y, N, k), x]
        s += tile[z, y, sw_xform(x, N, k)]
    out[z, y, x] = s
