"""The reductions of the paper on rfactor, and what it states as failures: `swizzle operator bench/rfactor.py`.

Its histogram has a word for each bin, all of them like `one_bin`.
"""

from math import inf

from swizzle import f32, i32, serial, u64

LEAST = -(1 << 31)


@serial
def maximum(x: i32):
    m = LEAST
    for v in x:
        m = max(m, v)
    return m


@serial
def dot(x: f32, y: f32):
    s = 0
    for v, w in zip(x, y, strict=True):
        s = s + v * w
    return s


@serial
def complex_product(re: f32, im: f32):
    a, b = 1, 0
    for p, q in zip(re, im, strict=True):
        a, b = a * p - b * q, a * q + b * p
    return a, b


@serial
def argmin2(x: f32, i: i32, j: i32):
    m, at_i, at_j = inf, 0, 0
    for v, p, q in zip(x, i, j, strict=True):
        at_i = at_i if m <= v else p
        at_j = at_j if m <= v else q
        m = min(m, v)
    return m, at_i, at_j


@serial
def argmin4(x: f32, i: i32, j: i32, k: i32, n: i32):
    m, at_i, at_j, at_k, at_l = inf, 0, 0, 0, 0
    for v, p, q, r, t in zip(x, i, j, k, n, strict=True):
        if v < m:
            m, at_i, at_j, at_k, at_l = v, p, q, r, t
    return m, at_i, at_j, at_k, at_l


@serial
def subtraction(x: i32):
    s = 100
    for v in x:
        s = s - v
    return s


@serial
def one_bin(x: i32):
    n = 0
    for v in x:
        n = n + 1 if v == 7 else n
    return n


@serial
def eight(x: f32, i: i32, n: i32):
    total, most, least, at_most, at_least, product, count, squares = 0, -inf, inf, 0, 0, 1, 0, 0
    for v, p, c in zip(x, i, n, strict=True):
        total = total + v
        squares = squares + v * v
        product = product * c
        count = count + c
        if v > most:
            most, at_most = v, p
        if v < least:
            least, at_least = v, p
    return total, most, least, at_most, at_least, product, count, squares


@serial
def carry(lo: u64, hi: u64):
    a, b = 0, 0
    for v, w in zip(lo, hi, strict=True):
        s = a + v
        b = b + w + (1 if s < v else 0)
        a = s
    return a, b


@serial
def matrix2(p: f32, q: f32, r: f32, s: f32):
    a, b, c, d = 1, 0, 0, 1
    for w, x, y, z in zip(p, q, r, s, strict=True):
        a, b, c, d = a * w + b * y, a * x + b * z, c * w + d * y, c * x + d * z
    return a, b, c, d


@serial
def matrix4(
    xe00: f32,
    xe01: f32,
    xe02: f32,
    xe03: f32,
    xe10: f32,
    xe11: f32,
    xe12: f32,
    xe13: f32,
    xe20: f32,
    xe21: f32,
    xe22: f32,
    xe23: f32,
    xe30: f32,
    xe31: f32,
    xe32: f32,
    xe33: f32,
):
    m00, m01, m02, m03, m10, m11, m12, m13, m20, m21, m22, m23, m30, m31, m32, m33 = (
        1,
        0,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        1,
    )
    for e00, e01, e02, e03, e10, e11, e12, e13, e20, e21, e22, e23, e30, e31, e32, e33 in zip(
        xe00, xe01, xe02, xe03, xe10, xe11, xe12, xe13, xe20, xe21, xe22, xe23, xe30, xe31, xe32, xe33, strict=True
    ):
        m00, m01, m02, m03, m10, m11, m12, m13, m20, m21, m22, m23, m30, m31, m32, m33 = (
            m00 * e00 + m01 * e10 + m02 * e20 + m03 * e30,
            m00 * e01 + m01 * e11 + m02 * e21 + m03 * e31,
            m00 * e02 + m01 * e12 + m02 * e22 + m03 * e32,
            m00 * e03 + m01 * e13 + m02 * e23 + m03 * e33,
            m10 * e00 + m11 * e10 + m12 * e20 + m13 * e30,
            m10 * e01 + m11 * e11 + m12 * e21 + m13 * e31,
            m10 * e02 + m11 * e12 + m12 * e22 + m13 * e32,
            m10 * e03 + m11 * e13 + m12 * e23 + m13 * e33,
            m20 * e00 + m21 * e10 + m22 * e20 + m23 * e30,
            m20 * e01 + m21 * e11 + m22 * e21 + m23 * e31,
            m20 * e02 + m21 * e12 + m22 * e22 + m23 * e32,
            m20 * e03 + m21 * e13 + m22 * e23 + m23 * e33,
            m30 * e00 + m31 * e10 + m32 * e20 + m33 * e30,
            m30 * e01 + m31 * e11 + m32 * e21 + m33 * e31,
            m30 * e02 + m31 * e12 + m32 * e22 + m33 * e32,
            m30 * e03 + m31 * e13 + m32 * e23 + m33 * e33,
        )
    return m00, m01, m02, m03, m10, m11, m12, m13, m20, m21, m22, m23, m30, m31, m32, m33
