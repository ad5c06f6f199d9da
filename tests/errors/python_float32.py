from swizzle import cuda, f32, sketch, spec


@spec
def wanted(x):
    return [x[i] for i in range(64)]


@sketch(spec=wanted, block=64, x=float32[64], y=f32.out[64])
def kernel(x, y):
    i = cuda.grid(1)
    y[i] = x[i]
