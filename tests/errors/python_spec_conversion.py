from swizzle import cuda, f32, i32, sketch, spec
@spec
def s(x):
    return [i32(v) for v in x]

@sketch(spec=s, block=32, x=f32[32], y=i32.out[32])
def k(x, y):
    i = cuda.grid(1)
    y[i] = i32(x[i])
