from swizzle import cuda, f32, i32, sketch, spec
@spec
def s(x):
    return [v * i32(3) for v in x]

@sketch(spec=s, block=32, x=i32[32], y=i32.out[32])
def k(x, y):
    i = cuda.grid(1)
    y[i] = x[i] * 3
