import numpy as np
from swizzle import cuda, f32, i32, maximum, sketch, spec, sw_xform, u32


@spec
def wanted(x):
    return np.sort(x)


@sketch(spec=wanted, block=64, x=f32[64], y=f32.out[64])
def kernel(x, y):
    i = cuda.grid(1)
    y[i] = x[sw_xform(i, 64)]
