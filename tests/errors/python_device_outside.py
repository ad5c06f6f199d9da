from swizzle import cuda, f32, sketch, spec


@cuda.jit(device=True)
def pick(x, i):
    return x[i]


pick([1, 2], 0)
