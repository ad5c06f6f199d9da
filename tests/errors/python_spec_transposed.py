from swizzle import cuda, f32, sketch, spec, sw_xform


@spec
def wanted(x):
    return 2 * x.T


@sketch(spec=wanted, block=32, x=f32[8, 4], y=f32.out[8, 4])
def kernel(x, y):
    i = cuda.laneid
    y[i // 4, i % 4] = 2 * x[i // 4, sw_xform(i % 4, 4)]
