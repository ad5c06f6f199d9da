from swizzle import cuda, f32, gather, i32, sketch, spec
@spec
def s(x, c):
    return [gather(x, v) for v in c]

@sketch(spec=s, block=32, x=f32[8], c=i32[32].below(8), y=f32.out[32])
def k(x, c, y):
    y[cuda.laneid] = gather(x, c[cuda.laneid])
