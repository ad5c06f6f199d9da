from swizzle import cuda, f32, i32, maximum, sketch, spec, sw_xform, u32


@spec
def wanted(x):
    return [x[i] for i in range(64)]


@sketch(spec=wanted, block=64, x=f32[64], y=f32.out[64])
async def kernel(x, y):
    i = cuda.grid(1)
    y[i] = x[sw_xform(i, 64)]
