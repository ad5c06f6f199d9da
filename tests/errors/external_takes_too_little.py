from swizzle import cuda, f32


@cuda.external("return x + y + z;", takes=(f32, f32))
def total(x, y, z):
    return x + y + z
