from swizzle import cuda, f32, i32, maximum, sketch, spec, sw_xform, u32


@spec
def wanted(x):
    return x


@sketch(spec=wanted, block=32, grid=2, x=f32[64], y=f32.out[64])
def move(x, y):
    i = cuda.grid(1)
    y[i] = x[i]


move(1, 2)
