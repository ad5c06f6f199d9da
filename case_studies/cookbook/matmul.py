"""Matrix product, tile by tile: blocks of threads share tiles of both matrices, for matrices of any size."""

from swizzle import accumulator, cuda, f32, parameter, sketch, spec, sw_xform

T = parameter("tile", 8, domain=(4, 8, 16))
N = parameter("inner", 16, domain=(16, 32, 64))


@spec
def product(a, b):
    rows, columns = len(a), b.shape[1]
    return [[sum(a[r, k] * b[k, c] for k in range(N)) for c in range(columns)] for r in range(rows)]


@sketch(spec=product, block=(T, T), grid=(2, 2), a=f32[2 * T, N], b=f32[N, 2 * T], y=f32.out[2 * T, 2 * T])
def matmul(a, b, y):
    left = cuda.shared.array((T, T), f32)
    right = cuda.shared.array((T, T), f32)
    c, r = cuda.grid(2)
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    products = accumulator(f32, outer="+", inner="*")
    for k in range(0, N, T):
        left[i, j] = a[r, k + j]
        right[i, j] = b[k + i, c]
        cuda.syncthreads()
        for e in range(T):
            products.accumulate(left[i, (e + j) % T], right[sw_xform(e, T, j), j])
        cuda.syncthreads()
    y[r, c] = products.value
