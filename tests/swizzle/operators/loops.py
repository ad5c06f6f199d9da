"""Serial loops that many people write: what `swizzle operator` is asked about."""

from __future__ import annotations

from math import exp, inf, log

from swizzle import f32, i32, math, serial, u32, u64

LEAST = -(1 << 31)
DECAY = 0.75


@serial
def total(x: i32):
    s = 0
    for v in x:
        s += v
    return s


@serial
def product(x: i32):
    p = 1
    for v in x:
        p = p * v
    return p


@serial
def least(x: i32):
    m = (1 << 31) - 1
    for v in x:
        m = min(m, v)
    return m


@serial
def argmax(x: f32):
    best, at = -inf, -1
    for i, v in enumerate(x):
        if v > best:
            best, at = v, i
    return best, at


@serial
def second_largest(x: i32):
    first, second = LEAST, LEAST
    for v in x:
        if v > first:
            first, second = v, first
        elif v > second:
            second = v
    return second


@serial
def second_largest_by_order(x: i32):
    first, second = LEAST, LEAST
    for v in x:
        second = max(second, min(first, v))
        first = max(first, v)
    return second


@serial
def average(x: f32):
    s, n = 0, 0
    for v in x:
        s += v
        n += 1
    return s, n


@serial
def segmented_sum(x: f32, head: bool):
    s = 0
    for v, new in zip(x, head, strict=True):
        s = v if new else s + v
    return s


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def best_run(x: i32):
    here, best = 0, 0
    for v in x:
        here = max(0, here + v)
        best = max(best, here)
    return best


@serial
def best_run_of_any(x: i32):
    here, best = 0, 0
    for v in x:
        here = max(0, here + v)
        best = max(best, here)
    return best


@serial
def best_suffix_of_any(x: i32):
    m = 0
    for v in x:
        m = max(0, m + v)
    return m


@serial
def best_suffix(x: f32):
    m = 0
    for v in x:
        m = max(0, m + v)
    return m


@serial
def best_prefix(x: f32):
    s, m = 0, 0
    for v in x:
        s += v
        m = max(m, s)
    return m


@serial
def atoi(x: i32):
    n = 0
    for v in x:
        n = 10 * n + v
    return n


@serial
def ones(x: i32):
    n = 0
    for v in x:
        if v == 1:
            n += 1
    return n


@serial
def blocks(x: i32):
    n, inside = 0, False
    for v in x:
        if v == 1 and not inside:
            n += 1
        inside = v == 1
    return n


@serial
def one_zeros_two(x: i32):
    n, started = 0, False
    for v in x:
        if v == 2 and started:
            n += 1
        started = v == 1 or (v == 0 and started)
    return n


@serial(length=1 << 30)
def longest_run(x: bool):
    here, best = 0, 0
    for v in x:
        here = here + 1 if v else 0
        best = max(best, here)
    return best


@serial(length=1 << 30)
def balanced(x: bool):
    depth, fine = 0, True
    for opens in x:
        depth += 1 if opens else -1
        fine = fine and depth >= 0
    return fine and depth == 0


@serial
def is_sorted(x: i32):
    last, fine = LEAST, True
    for v in x:
        fine = fine and last <= v
        last = v
    return fine


@serial
def line_of_sight(x: f32):
    highest, visible = -inf, False
    for v in x:
        visible = v > highest
        highest = max(highest, v)
    return visible


@serial
def polynomial(x: f32):
    value, power = 0, 1
    for v in x:
        value += v * power
        power *= 3
    return value


@serial
def recurrence(x: f32, a: f32):
    h = 0
    for v, g in zip(x, a, strict=True):
        h = g * h + v
    return h


@serial
def smoothed(x: f32):
    h, n = 0.5, 0.0
    for v in x:
        h = DECAY * h + 0.25 * v if v > -0.5 else h / 2
        n += 0.1
    return h, n * 2.0


@serial
def softmax(x: f32):
    m, s = -inf, 0
    for v in x:
        new = max(m, v)
        s = s * exp(m - new) + exp(v - new)
        m = new
    return m, s


@serial
def softmax_by_swizzles_functions(x: f32):
    m, s = -math.inf, 0
    for v in x:
        new = max(m, v)
        s = s * math.exp(m - new) + math.exp(v - new)
        m = new
    return m, s


@serial
def log_sum_exp(x: f32):
    t = -inf
    for v in x:
        t = log(exp(t) + exp(v))
    return t


@serial(where=lambda v: 0 <= v <= 1)
def automaton(x: i32):
    q = 0
    for v in x:
        q = (2 * q + v) % 3
    return q == 0


@serial
def by_thirteen(x: i32):
    q = 0
    for v in x:
        q = (10 * q + v % 10) % 13
    return q


@serial
def of_two_words(x: i32):
    q, p = 0, 0
    for v in x:
        if q == 0 and v > 2:
            q = 1
        elif q == 1 and p < 2:
            q = 2
        else:
            q = 0
        p = (p + v) % 4
    return p + q


@serial
def caught(x: i32):
    """An automaton with a state that it never leaves."""
    q = 0
    for v in x:
        if q == 0:
            q = 1 if v > 0 else 2
        elif q == 1:
            q = 3 if v == 7 else 2
        elif q == 2:
            q = 1 if v < 5 else 4
        elif q == 3:
            q = 0 if v > 5 else 3
    return q


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def clamped(x: i32):
    s = 0
    for v in x:
        s = min(max(s + v, -100), 100)
    return s


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def clamped_by_tests(x: i32):
    s = 0
    for v in x:
        s = s + v
        if s < 0:
            s = 0
        elif s > 100:
            s = 100
    return s


@serial
def majority(x: i32):
    candidate, votes = 0, 0
    for v in x:
        if votes == 0:
            candidate = v
        votes += 1 if v == candidate else -1
    return candidate


@serial
def parity(x: u32):
    s = 0
    for v in x:
        s = s ^ v
    return s


@serial
def flags_met(x: i32):
    s = 0
    for v in x:
        s = s | (v & 6)
    return s


@serial
def flags_kept(x: i32, m: i32):
    s, kept = 0, -1
    for v, k in zip(x, m, strict=True):
        s, kept = (s & k) ^ v, kept & k
    return s, kept


@serial
def shifted_bits(x: u32):
    s = 1
    for v in x:
        s = (s >> 1) & v
    return s


@serial
def seen(x: f32):
    s = -inf
    for _ in x:
        s = 1
    return s


@serial
def both_infinities(x: f32):
    s, t = -inf, 0
    for _ in x:
        if s > 0:
            s = t
        t = 0 - s
    return s, t


@serial
def infinity_times_an_element(x: f32):
    s = -inf
    for v in x:
        s = s * (v * v + 1)
    return s


@serial
def odd_tens(x: i32):
    s = 0
    for v in x:
        if v // 10 % 3 == 1:
            s = 1 - s
    return s


@serial
def thirds(x: i32):
    s = 0
    for v in x:
        if ((v << 1) >> 2) % 3 == 1:
            s = s ^ 1
    return s


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def furthest(x: i32):
    s, m = 0, 0
    for v in x:
        s = s + v
        m = max(m, abs(s))
    return m


@serial(length=19, where=lambda v: 0 <= v <= 3)
def best_product(x: i32):
    m, s = 0, 1
    for v in x:
        s = s * v
        m = max(m, s)
    return m


@serial
def spread(x: u64):
    low, n = 2**64 - 1, 0
    for v in x:
        low = min(low, v)
        n = n + 3 * v + 1
    return n - low


@serial
def affine(x: i32, f: i32):
    h = 1
    for v, g in zip(x, f, strict=True):
        h = g * h + v
    return h
