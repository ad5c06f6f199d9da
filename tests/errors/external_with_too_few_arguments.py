from swizzle import cuda, f32, sketch, spec


@cuda.external("return x + y;")
def joined(x: f32, y: f32) -> f32:
    return x + y


@spec
def wanted(x):
    return [joined(x[i], x[i]) for i in range(32)]


@sketch(spec=wanted, block=32, x=f32[32], y=f32.out[32])
def join(x, y):
    y[cuda.laneid] = joined(x[cuda.laneid])
