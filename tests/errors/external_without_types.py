from swizzle import cuda, f32


@cuda.external("return x;")
def silu(x: f32, beta) -> f32:
    return x
