from swizzle import cuda, f32, i32


@cuda.external("return int(x);")
def whole(x: f32) -> i32:
    return int(x)
