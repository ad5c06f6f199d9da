from swizzle import cuda


@cuda.jit("f4(f4[:], i4)", device=True)
def pick(x, i):
    return x[i]
