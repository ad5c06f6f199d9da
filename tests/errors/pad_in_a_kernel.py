from swizzle import cuda, f32, sketch, spec, sw_pad


@spec
def turned(x):
    return [x[31 - i] for i in range(32)]


@sketch(spec=turned, block=32, x=f32[32], y=f32.out[32])
def turn(x, y):
    tile = cuda.shared.array(sw_pad(32), f32)
    tile[cuda.laneid] = x[cuda.laneid]
    cuda.syncthreads()
    y[cuda.laneid] = tile[31 - cuda.laneid]
