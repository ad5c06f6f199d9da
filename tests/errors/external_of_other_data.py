from swizzle import cuda, f32, f64, sketch, spec


@cuda.external("return x / (1.0f + expf(-x));")
def silu(x: f32) -> f32:
    return x / (1 + 2.718281828459045**-x)


@spec
def active(x):
    return [silu(x[i]) for i in range(32)]


@sketch(spec=active, block=32, x=f64[32], y=f32.out[32])
def activate(x, y):
    y[cuda.laneid] = silu(x[cuda.laneid])
