"""Kernels with loops, as files of sketches, and random schedules of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from swizzle.derive.schedules.schedule_space import ScheduleSpace
from swizzle.sketches.loading import SketchFile
from symbolic.choices.propagation import ContradictionError, PartialAssignment, Propagator
from symbolic.choices.search import bits_of

HEAD = "from swizzle import accumulator, f32, math, maximum, parameter, sketch, spec\n\n"


def _lengths(**lengths: int) -> str:
    return "".join(f'{n} = parameter("{n}", {value}, domain=range(1, 1 << 27))\n' for n, value in lengths.items())


AXPY = (
    HEAD
    + _lengths(N=1 << 16)
    + """
@spec
def axpy_spec(alpha, x, y):
    return [alpha * x[i] + y[i] for i in range(N)]

@sketch(spec=axpy_spec, block=1, alpha=f32.scalar, x=f32[N], y=f32[N], out=f32.out[N])
def axpy(alpha, x, y, out):
    for i in range(N):
        out[i] = alpha * x[i] + y[i]
"""
)

MATMUL = (
    HEAD
    + _lengths(M=256, N=256, K=32)
    + """
@spec
def product(a, b):
    rows, inner = a.shape
    return [[sum(a[i, k] * b[k, j] for k in range(inner)) for j in range(b.shape[1])] for i in range(rows)]

@sketch(spec=product, block=1, a=f32[M, K], b=f32[K, N], c=f32.out[M, N])
def matmul(a, b, c):
    for i in range(M):
        for j in range(N):
            total = accumulator(f32, outer="+", inner="*")
            for k in range(K):
                total.accumulate(a[i, k], b[k, j])
            c[i, j] = total.value
"""
)

STRIDED = (
    MATMUL.replace("a[i, k]", "a[i, k, 0]")
    .replace("f32[M, K]", "f32[M, K, 32]")
    .replace("rows, inner = a.shape", "rows, inner, _ = a.shape")
)

BATCHED = (
    HEAD
    + _lengths(B=8, M=128, N=128, K=32)
    + """
@spec
def products(a, b):
    batches, rows, inner = a.shape
    columns = b.shape[2]
    return [[[sum(a[h, i, k] * b[h, k, j] for k in range(inner)) for j in range(columns)] for i in range(rows)]
            for h in range(batches)]

@sketch(spec=products, block=1, a=f32[B, M, K], b=f32[B, K, N], c=f32.out[B, M, N])
def batched(a, b, c):
    for h in range(B):
        for i in range(M):
            for j in range(N):
                total = accumulator(f32, outer="+", inner="*")
                for k in range(K):
                    total.accumulate(a[h, i, k], b[h, k, j])
                c[h, i, j] = total.value
"""
)

GESUMMV = (
    HEAD
    + _lengths(M=512, N=512)
    + """
@spec
def gesummv_spec(alpha, beta, a, b, x):
    rows, columns = a.shape
    return [alpha * sum(a[i, j] * x[j] for j in range(columns)) + beta * sum(b[i, j] * x[j] for j in range(columns))
            for i in range(rows)]

@sketch(spec=gesummv_spec, block=1, alpha=f32.scalar, beta=f32.scalar, a=f32[M, N], b=f32[M, N], x=f32[N],
        y=f32.out[M])
def gesummv(alpha, beta, a, b, x, y):
    for i in range(M):
        left = accumulator(f32, outer="+", inner="*")
        right = accumulator(f32, outer="+", inner="*")
        for j in range(N):
            left.accumulate(a[i, j], x[j])
            right.accumulate(b[i, j], x[j])
        y[i] = alpha * left.value + beta * right.value
"""
)

CONV2D = (
    HEAD
    + _lengths(M=64, N=64)
    + """
@spec
def conv2d_spec(x, w):
    return [[sum(x[i + r, j + s] * w[r, s] for r in range(3) for s in range(3)) for j in range(N)] for i in range(M)]

@sketch(spec=conv2d_spec, block=1, x=f32[M + 2, N + 2], w=f32.const[3, 3], y=f32.out[M, N])
def conv2d(x, w, y):
    for i in range(M):
        for j in range(N):
            total = accumulator(f32, outer="+", inner="*")
            for r in range(3):
                for s in range(3):
                    total.accumulate(x[i + r, j + s], w[r, s])
            y[i, j] = total.value
"""
)

STENCIL = (
    HEAD
    + _lengths(M=64, N=64)
    + """
@spec
def stencil_spec(x):
    return [[(x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j] + x[i + 1, j + 2]) * 0.25 - x[i + 1, j + 1]
             for j in range(N)] for i in range(M)]

@sketch(spec=stencil_spec, block=1, x=f32[M + 2, N + 2], y=f32.out[M, N])
def stencil(x, y):
    for i in range(M):
        for j in range(N):
            around = x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j] + x[i + 1, j + 2]
            y[i, j] = around * 0.25 - x[i + 1, j + 1]
"""
)

TRANSPOSITION = (
    HEAD
    + _lengths(M=256, N=256)
    + """
@spec
def transposed(x):
    return [[x[j, i] for j in range(x.shape[0])] for i in range(x.shape[1])]

@sketch(spec=transposed, block=1, x=f32[N, M], y=f32.out[M, N])
def transposition(x, y):
    for i in range(M):
        for j in range(N):
            y[i, j] = x[j, i]
"""
)

SOFTMAX = (
    HEAD
    + _lengths(M=128, N=64)
    + """
@spec
def softmax_spec(x):
    rows = []
    for i in range(M):
        top = maximum(*[x[i, k] for k in range(N)])
        parts = [math.exp(x[i, k] - top) for k in range(N)]
        rows.append([part / sum(parts) for part in parts])
    return rows

@sketch(spec=softmax_spec, block=1, x=f32[M, N], y=f32.out[M, N])
def softmax(x, y):
    for i in range(M):
        top = accumulator(f32, outer="max")
        for k in range(N):
            top.accumulate(x[i, k])
        total = accumulator(f32, outer="+")
        for k in range(N):
            total.accumulate(math.exp(x[i, k] - top.value))
        for j in range(N):
            y[i, j] = math.exp(x[i, j] - top.value) / total.value
"""
)

KERNELS: Mapping[str, str] = {
    "axpy": AXPY,
    "matmul": MATMUL,
    "strided": STRIDED,
    "batched": BATCHED,
    "gesummv": GESUMMV,
    "conv2d": CONV2D,
    "stencil": STENCIL,
    "transposition": TRANSPOSITION,
    "softmax": SOFTMAX,
}


SCALE = (
    HEAD
    + _lengths(N=12)
    + """
@spec
def scale_spec(a, x):
    return [a[0] * x[i] for i in range(N)]

@sketch(spec=scale_spec, block=1, a=f32[1], x=f32[N], y=f32.out[N])
def scale(a, x, y):
    for i in range(N):
        y[i] = a[0] * x[i]
"""
)
"""So small that all schedules can be looked at."""

FOUR = (
    HEAD
    + _lengths(A=4, B=4, C=4, D=4)
    + """
@spec
def four_spec(x):
    return [[[2 * x[a, b, c] for c in range(C * D)] for b in range(B)] for a in range(A)]

@sketch(spec=four_spec, block=1, x=f32[A, B, C * D], y=f32.out[A, B, C * D])
def four(x, y):
    for a in range(A):
        for b in range(B):
            for c in range(C):
                for d in range(D):
                    y[a, b, c * D + d] = 2 * x[a, b, c * D + d]
"""
)

"""A kernel with more loops over outputs than a grid has dimensions."""

SMALL = {"i": ((2, 4), (1, 2)), "j": ((2, 4), (1, 2)), "k": ((2,),)}
"""Levels of a few elements, so that proofs are short."""


def schedules(name: str, **given: Any) -> ScheduleSpace:
    """Return the schedules of one of the kernels, or of two more; `given` is what `ScheduleSpace` takes."""
    text, file = {**KERNELS, "scale": SCALE, "four": FOUR}[name], f"<{name}>.py"
    return ScheduleSpace(SketchFile(file, text), **given)


def descent(
    space: ScheduleSpace, propagation: Propagator, root: PartialAssignment, chooser: random.Random
) -> list[PartialAssignment]:
    """Return the candidates of a random descent, the last one complete; an empty list for a dead end.

    Each value that is not refuted at once is as likely as the others, as in section 5.2.
    """
    path = [root]
    for variable in space.variables:
        while (mask := path[-1].masks[variable]) & (mask - 1):
            bits = bits_of(mask)
            chooser.shuffle(bits)
            for bit in bits:
                try:
                    path.append(propagation.decide(path[-1], variable, bit))
                    break
                except ContradictionError:
                    continue
            else:
                return []
    return path
