"""A convolution on tensor cores, as a product of matrices that is nowhere stored: 16 channels to 8, 3 by 3 weights.

Row r of the product's A is a pixel of the output, column c of its B an output channel, and k goes through the input
channels of one weight after the other. So A is the image itself: for each weight, ldmatrix loads rows of 16 bytes, a
pixel's 8 channels each, from where the shifted window begins. The hole is which pixel and which half of its channels a
lane names. A warp has 16 pixels of a row; `swizzle solve case_studies/tensor_cores/convolution.py`.
"""

from swizzle import cuda, f16, f32, parameter, sketch, spec, sw_xform

H = parameter("H", 2, domain=(1, 2, 4))  # rows of the output, a warp each
W, C, N = 16, 16, 8  # pixels of a row, input channels, output channels


@spec
def convolution_spec(x, w):
    def pixel(r, c, n):
        weights = [(p, q, k) for p in range(3) for q in range(3) for k in range(C)]
        return sum(x[r + p, c + q, k] * w[n, 3 * p + q, k] for p, q, k in weights)

    return [[[pixel(r, c, n) for n in range(N)] for c in range(W)] for r in range(H)]


@sketch(spec=convolution_spec, block=32 * H, x=f16[H + 2, W + 2, C], w=f16[N, 9, C], y=f32.out[H, W, N])
def convolution(x, w, y):
    image = cuda.shared.array((H + 2, W + 2, C), f16)
    a = cuda.fragment("A", "m16n8k16", f16)
    b = cuda.fragment("B", "m16n8k16", f16)
    c = cuda.fragment("C", "m16n8k16", f32)
    lane, row = cuda.laneid, cuda.warpid
    for first in range(0, (H + 2) * (W + 2) * 2, 32 * H):  # eight channels at once
        chunk = first + cuda.threadIdx.x
        if chunk < (H + 2) * (W + 2) * 2:
            pixel = chunk // 2
            r, s, k = pixel // (W + 2), pixel % (W + 2), chunk % 2 * 8
            cuda.copy_async(image[r, s, k], x[r, s, k], 8)
    cuda.commit_copies()
    cuda.wait_copies(0)
    cuda.syncthreads()
    for p in range(3):
        for q in range(3):
            j = sw_xform(lane, 32)  # hole: the pixel and the half of its channels that a lane names
            cuda.ldmatrix(a, image[row + p, j % 16 + q, j // 16 * 8])
            for i in range(4):
                b[i] = w[lane // 4, 3 * p + q, 8 * (i // 2) + 2 * (lane % 4) + i % 2]
            cuda.mma("m16n8k16", a, b, c)
    for i in range(4):
        y[row, lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2] = c[i].value
