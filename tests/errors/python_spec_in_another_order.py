from swizzle import cuda, f32, sketch, spec, sw_xform


@spec
def scaled(values, x, n):
    return [values[i] * n + x[i] for i in range(32)]


@sketch(spec=scaled, block=32, x=f32[32], bias=f32[32], n=f32.scalar, y=f32.out[32])
def k(x, bias, n, y):
    i = cuda.threadIdx.x
    y[i] = x[sw_xform(i, 32)] * n + bias[i]
