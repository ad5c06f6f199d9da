from swizzle import cuda, f32


@cuda.external("return x / (1.0f + expf(-x));")
def silu(x: f32) -> f32: ...
