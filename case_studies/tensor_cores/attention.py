"""Attention of 16 queries by one warp, forward, on tensor cores: y = softmax(x @ k.T) @ v, by tiles of 8 keys.

A tile's scores are the sums of one product, and their powers the factors of the next: a lane holds them in other
columns than a fragment A has. As sums may go through the keys in any order, rows of v are taken in the lanes' order
instead, and which these are is the hole. The keys are gone through twice: first for the maximum of each row, then for
the powers. `swizzle solve case_studies/tensor_cores/attention.py`.
"""

from swizzle import cuda, f32, math, maximum, parameter, sketch, spec, sw_xform

N = parameter("N", 16, domain=(8, 16, 32, 64))  # keys, 8 of them in a tile
E = 8  # columns of queries and keys


@spec
def attention_spec(x, k, v):
    rows = []
    for r in range(16):
        scores = [sum(x[r, e] * k[j, e] for e in range(E)) for j in range(N)]
        most = maximum(scores)
        powers = [math.exp(s - most) for s in scores]
        rows.append([sum(powers[j] * v[j, n] for j in range(N)) / sum(powers) for n in range(8)])
    return rows


@cuda.jit(device=True)
def scores(s, a, b, k, j0):
    """The scores of 8 keys from `j0` on."""
    for i in range(4):
        s[i] = f32(0)
    for i in range(2):
        b[i] = k[j0 + cuda.laneid // 4, cuda.laneid % 4 + 4 * i]
    cuda.mma("m16n8k8", a, b, s)


@sketch(spec=attention_spec, block=32, x=f32[16, E], k=f32[N, E], v=f32[N, 8], y=f32.out[16, 8])
def attention(x, k, v, y):
    a = cuda.fragment("A", "m16n8k8", f32)
    b = cuda.fragment("B", "m16n8k8", f32)
    p = cuda.fragment("A", "m16n8k8", f32)
    s = cuda.local.array(4, f32)
    o = cuda.fragment("C", "m16n8k8", f32)
    most = cuda.local.array(2, f32)
    total = cuda.local.array(2, f32)
    g, t = cuda.laneid // 4, cuda.laneid % 4
    for i in range(4):
        a[i] = x[g + 8 * (i % 2), t + 4 * (i // 2)]
    for j0 in range(0, N, 8):
        scores(s, a, b, k, j0)
        for h in range(2):
            m = max(s[2 * h], s[2 * h + 1])
            most[h] = max(most[h], m) if j0 > 0 else m
    for h in range(2):
        for lanes in (1, 2):
            most[h] = max(most[h], cuda.shfl_xor_sync(cuda.FULL_MASK, most[h], lanes))
        total[h] = f32(0)
    for j0 in range(0, N, 8):
        scores(s, a, b, k, j0)
        for h in range(2):
            for i in range(2):
                p[2 * i + h] = math.exp(s[2 * h + i] - most[h])
                total[h] += p[2 * i + h]
        for i in range(2):
            j = sw_xform(4 * i + t, 8)  # hole: the key whose power is this lane's factor
            b[i] = v[j0 + j, g]
        cuda.mma("m16n8k8", p, b, o)
    for h in range(2):
        for lanes in (1, 2):
            total[h] += cuda.shfl_xor_sync(cuda.FULL_MASK, total[h], lanes)
        for i in range(2):
            y[g + 8 * h, 2 * t + i] = o[2 * h + i].value / total[h]
