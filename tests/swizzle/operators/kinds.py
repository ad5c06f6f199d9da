"""Serial loops by the kind of operator that they need, beside those of `loops.py`; `test_kinds.py` asks for each."""

from __future__ import annotations

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: SIM108, SIM113
from swizzle import f32, i32, i64, serial, u32

BIG = 2147483647


# ---- products with signs: the greatest and the least together ------------------------------------------------------


@serial(length=12, where=lambda v: -4 <= v <= 4)
def least_product_of_a_prefix(x: i32):
    p, m = 1, BIG
    for v in x:
        p = p * v
        m = min(m, p)
    return m


@serial(length=12, where=lambda v: -4 <= v <= 4)
def least_product_of_a_suffix(x: i32):
    low, high = 1, 1
    for v in x:
        low, high = min(low * v, high * v, 1), max(low * v, high * v, 1)
    return low


@serial(length=12, where=lambda v: -4 <= v <= 4)
def least_product_of_a_run(x: i32):
    low, high, m = 1, 1, 1
    for v in x:
        low, high = min(low * v, high * v, 1), max(low * v, high * v, 1)
        m = min(m, low)
    return m


@serial
def greatest_product_of_a_suffix_of_reals(x: f32):
    high, low = 1, 1
    for v in x:
        a, b = high * v, low * v
        high, low = max(a, b, 1), min(a, b, 1)
    return high


# ---- places that are carried with an extremum ----------------------------------------------------------------------


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def place_of_the_best_suffix_counted(x: i32):
    place, best, n = 0, 0, 0
    for v in x:
        n += 1
        if best + v < 0:
            place = n
        best = max(0, best + v)
    return place


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def place_of_the_best_suffix_or_none(x: i32):
    place, best = -1, 0
    for i, v in enumerate(x):
        if best + v < 0:
            place = i
        best = max(0, best + v)
    return place


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def place_of_the_least_prefix(x: i32):
    s, m, place = 0, 0, 0
    for i, v in enumerate(x):
        s += v
        if s < m:
            m, place = s, i + 1
    return place


# ---- remainders -------------------------------------------------------------------------


@serial(length=1 << 20)
def longest_ones_of_even_length(x: bool):
    here, best = 0, 0
    for v in x:
        here = here + 1 if v else 0
        best = max(best, here) if here % 2 == 0 else best
    return best


# ---- values of an element and the one before -----------------------------------------------------------------------


@serial
def total_variation(x: f32):
    s, p, some = 0, 0, False
    for v in x:
        if some:
            s += abs(v - p)
        p, some = v, True
    return s


@serial
def trapezoid(t: f32, y: f32):
    s, before, height, some = 0, 0, 0, False
    for a, b in zip(t, y, strict=True):
        if some:
            s += (a - before) * (b + height) * 0.5
        before, height, some = a, b, True
    return s


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def smallest_gap(x: i32):
    d, p, some = 100000, 0, False
    for v in x:
        if some:
            d = min(d, abs(v - p))
        p, some = v, True
    return d


@serial(length=1 << 20, where=lambda v: 0 <= v <= 1000)
def rises(x: i32):
    s, p = 0, 1000
    for v in x:
        s += max(0, v - p)
        p = v
    return s


@serial
def largest_step(x: f32):
    m, p = 0, 0
    for v in x:
        m = max(m, abs(v - p))
        p = v
    return m


@serial
def work_of_a_path(x: f32, y: f32):
    s, a, b = 0, 0, 0
    for v, w in zip(x, y, strict=True):
        s += (v - a) * (w + b)
        a, b = v, w
    return s


@serial
def changes_of_sign(x: f32):
    n, p = 0, 0
    for v in x:
        n += 1 if v * p < 0 else 0
        p = v
    return n


@serial
def runs(x: f32):
    n, p, first = 0, 0, True
    for v in x:
        if first or v != p:
            n += 1
        p, first = v, False
    return n


@serial(length=1 << 20)
def runs_by_their_number(x: i32):
    n, p = 0, 0
    for v in x:
        if n == 0 or v != p:
            n += 1
        p = v
    return n


# ---- remainders by M -----------------------------------------------------------------------------------------------


@serial(length=1 << 20, where=lambda v: 0 <= v <= 255)
def rabin_karp(x: u32):
    h = 0
    for v in x:
        h = (h * 256 + v) % 65521
    return h


@serial(length=1 << 12, where=lambda v: 0 <= v <= 255)
def adler(x: u32):
    a, b = 1, 0
    for v in x:
        a = (a + v) % 65521
        b = (b + a) % 65521
    return b * 65536 + a


@serial(length=1 << 12, where=lambda v: 0 <= v <= 255)
def fletcher(x: u32):
    a, b = 0, 0
    for v in x:
        a = (a + v) % 255
        b = (b + a) % 255
    return a, b


@serial(where=lambda v: 0 <= v <= 9)
def digits_modulo_97(x: i32):
    h = 0
    for v in x:
        h = (h * 10 + v) % 97
    return h


@serial(length=1 << 20, where=lambda v: 0 <= v < 1 << 62)
def sum_modulo_1000(x: i64):
    h = 0
    for v in x:
        h = (h + v) % 1000
    return h


@serial
def sum_modulo_256(x: u32):
    h = 0
    for v in x:
        h = (h + v) % 256
    return h


# ---- linear fractions, statistics ----------------------------------------------------------------------------------


@serial
def tridiagonal(a: f32, b: f32, c: f32):
    z = 0
    for p, q, r in zip(a, b, c, strict=True):
        z = r / (q - p * z)
    return z


@serial
def riccati(x: f32):
    p = 1
    for q in x:
        p = (p + q) / (p + q + 1)
    return p


@serial
def kalman(z: f32, r: f32):
    x, p = 0, 1
    for v, w in zip(z, r, strict=True):
        x, p = (x * w + p * v) / (p + w), p * w / (p + w)
    return x


@serial
def co_moment(x: f32, y: f32):
    n, mx, my, c = 0, 0, 0, 0
    for a, b in zip(x, y, strict=True):
        n += 1
        dx = a - mx
        mx = mx + dx / n
        my = my + (b - my) / n
        c = c + dx * (b - my)
    return n, mx, my, c


@serial
def third_moment(x: f32):
    n, m, m2, m3 = 0, 0, 0, 0
    for v in x:
        n += 1
        d = v - m
        t = d / n
        u = d * t * (n - 1)
        m += t
        m3 += u * t * (n - 2) - 3 * t * m2
        m2 += u
    return m3


# ---- conditions on sums, automata with a counter -------------------------------------------------------------------


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def steep(x: i32):
    s, before = True, 0
    for v in x:
        s = s and v > before
        before = before + v
    return s


@serial(length=1 << 20)
def debounced(x: bool):
    out, n = False, 0
    for v in x:
        if v == out:
            n = 0
        else:
            n = n + 1
        if n == 3:
            out, n = v, 0
    return out


# ---- where the greatest is ---------------------------------------------------------------------------------------


@serial(length=1 << 20)
def last_place_of_the_longest_ones(x: bool):
    here, best, place = 0, 0, 0
    for i, v in enumerate(x):
        here = here + 1 if v else 0
        if here >= best:
            best, place = here, i - here + 1
    return place


@serial(length=1 << 20)
def end_of_the_longest_zeros(x: i32):
    here, best, end = 0, 0, -1
    for i, v in enumerate(x):
        if v == 0:
            here += 1
            if here > best:
                best, end = here, i
        else:
            here = 0
    return end


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def end_of_the_best_run(x: i32):
    here, best, end = 0, 0, 0
    for i, v in enumerate(x):
        here = max(0, here + v)
        if here > best:
            best, end = here, i
    return best, end


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def start_of_the_best_run(x: i32):
    here, best, start, at = 0, 0, 0, 0
    for i, v in enumerate(x):
        if here + v < 0:
            here, at = 0, i + 1
        else:
            here += v
        if here > best:
            best, start = here, at
    return best, start


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def lowest_end(x: i32):
    here, low, end, n = 0, 0, 0, 0
    for v in x:
        n += 1
        here = min(here + v, v)
        if here <= low:
            low, end = here, n
    return end, here


# ---- words whose sum goes on by itself, saturating counters, decaying extremes ------------------------------------


@serial(length=1 << 20)
def matched_brackets(x: bool):
    depth, pairs = 0, 0
    for opens in x:
        if opens:
            depth += 1
        elif depth > 0:
            depth, pairs = depth - 1, pairs + 1
    return pairs


@serial(length=1 << 20)
def greatest_odd_of_ones(x: bool):
    here, most, odd = 0, 0, 0
    for v in x:
        here = here + 1 if v else 0
        most = max(most, here)
        odd = most if most % 2 == 1 else odd
    return odd


@serial
def decaying(x: f32):
    m = 0
    for v in x:
        m = max(v, 0.5 * m)
    return m


@serial
def leaky(x: f32):
    m = 0
    for v in x:
        m = min(max(0.5 * m + v, 0), 3)
    return m
