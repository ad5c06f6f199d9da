"""Divide and conquer: 43 serial loops, and the operators that are found of them. `python -m bench.divide_and_conquer`.

The tasks are those that the literature on lifting asks about, written as the plain loop that one would write, without
helpers: the 36 of AutoLifter's list of divide-and-conquer tasks, and seven others. A line has what was found, how, and
the processor time; arguments name the loops that are asked about.
"""

from __future__ import annotations

import sys
import time
from math import inf

from swizzle import f32, i32, serial
from swizzle.operators import operator_of
from swizzle.operators.serial import Serial

LEAST, MOST = -(1 << 31), (1 << 31) - 1


@serial
def total(x: i32):
    s = 0
    for v in x:
        s += v
    return s


@serial
def least(x: i32):
    m = MOST
    for v in x:
        m = min(m, v)
    return m


@serial
def greatest(x: i32):
    m = LEAST
    for v in x:
        m = max(m, v)
    return m


@serial
def length(x: i32):
    n = 0
    for _ in x:
        n += 1
    return n


@serial
def average(x: f32):
    s, n = 0, 0
    for v in x:
        s, n = s + v, n + 1
    return s, n


@serial(where=lambda v: -1000000 <= v <= 1000000)
def spread(x: i32):
    low, high = 1000000, -1000000
    for v in x:
        low, high = min(low, v), max(high, v)
    return high - low


@serial
def second_least(x: i32):
    a, b = MOST, MOST
    for v in x:
        a, b = min(a, v), min(b, max(a, v))
    return b


@serial
def third_least(x: i32):
    a, b, c = MOST, MOST, MOST
    for v in x:
        a, b, c = min(a, v), min(b, max(a, v)), min(c, max(b, max(a, v)))
    return c


@serial
def times_of_the_greatest(x: i32):
    m, n = LEAST, 0
    for v in x:
        if v > m:
            m, n = v, 1
        elif v == m:
            n += 1
    return n


@serial
def argmax(x: f32):
    best, at = -inf, -1
    for i, v in enumerate(x):
        if v > best:
            best, at = v, i
    return at


@serial
def hamming(x: i32, y: i32):
    n = 0
    for v, w in zip(x, y, strict=True):
        n += 1 if v != w else 0
    return n


@serial
def dot(x: f32, y: f32):
    s = 0
    for v, w in zip(x, y, strict=True):
        s += v * w
    return s


@serial
def polynomial(x: f32):
    value, power = 0, 1
    for v in x:
        value, power = value + v * power, power * 3
    return value


@serial
def atoi(x: i32):
    n = 0
    for v in x:
        n = 10 * n + v
    return n


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def best_prefix(x: i32):
    s, m = 0, 0
    for v in x:
        s += v
        m = max(m, s)
    return m


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def best_suffix(x: i32):
    m = 0
    for v in x:
        m = max(0, m + v)
    return m


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def best_run(x: i32):
    here, best = 0, 0
    for v in x:
        here = max(0, here + v)
        best = max(best, here)
    return best


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def end_of_the_best_prefix(x: i32):
    s, m, at, n = 0, 0, 0, 0
    for v in x:
        s, n = s + v, n + 1
        if s > m:
            m, at = s, n
    return at


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def begin_of_the_best_suffix(x: i32):
    m, at, n = 0, 0, 0
    for v in x:
        m, n = m + v, n + 1
        if m < 0:
            m, at = 0, n
    return at


@serial
def is_sorted(x: i32):
    last, fine = LEAST, True
    for v in x:
        fine = fine and last <= v
        last = v
    return fine


@serial(length=1 << 30)
def longest_increasing_run(x: i32):
    last, here, best = MOST, 0, 0
    for v in x:
        here = here + 1 if last < v else 1
        best = max(best, here)
        last = v
    return best


@serial(length=1 << 30)
def sorted_prefix(x: i32):
    last, fine, n = LEAST, True, 0
    for v in x:
        fine = fine and last <= v
        n += 1 if fine else 0
        last = v
    return n


@serial
def drop_while(x: i32):
    dropping, n = True, 0
    for v in x:
        dropping = dropping and v == 0
        n += 1 if dropping else 0
    return n


@serial(length=1 << 30)
def balanced(x: bool):
    depth, fine = 0, True
    for opens in x:
        depth += 1 if opens else -1
        fine = fine and depth >= 0
    return fine and depth == 0


@serial
def zeros_then_ones(x: bool):
    one, fine = False, True
    for v in x:
        fine = fine and (v or not one)
        one = one or v
    return fine


@serial
def a_zero_after_a_one(x: bool):
    one, found = False, False
    for v in x:
        found = found or (one and not v)
        one = one or v
    return found


@serial
def count_of_ones(x: bool):
    n = 0
    for v in x:
        n += 1 if v else 0
    return n


@serial
def blocks_of_ones(x: bool):
    inside, n = False, 0
    for v in x:
        n += 1 if v and not inside else 0
        inside = v
    return n


@serial
def one_then_zeros(x: bool):
    started, counted, n = False, False, 0
    for v in x:
        if v:
            started, counted = True, False
        elif started and not counted:
            counted = True
            n += 1
    return n


@serial
def one_zeros_two(x: i32):
    started, n = False, 0
    for v in x:
        n += 1 if v == 2 and started else 0
        started = v == 1 or (v == 0 and started)
    return n


@serial(length=1 << 30)
def longest_ones(x: bool):
    here, best = 0, 0
    for v in x:
        here = here + 1 if v else 0
        best = max(best, here)
    return best


@serial(length=1 << 30)
def longest_even_zeros(x: bool):
    here, even, best = 0, True, 0
    for v in x:
        here, even = (0, True) if v else (here + 1, not even)
        best = max(best, here) if even else best
    return best


@serial
def line_of_sight(x: f32):
    highest, visible = -inf, False
    for v in x:
        visible = v > highest
        highest = max(highest, v)
    return visible


@serial(length=1 << 30)
def longest_way_between_zeros(x: bool):
    here, best = 0, 0
    for v in x:
        best = max(best, here) if not v else best
        here = here + 1 if v else 0
    return best


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def greatest_sum_between_ones(x: i32):
    here, best = 0, 0
    for v in x:
        here = 0 if v == 1 else here + v
        best = max(best, here)
    return best


@serial
def alternates(x: bool):
    some, last, fine = False, False, True
    for v in x:
        fine = fine and not (some and v == last)
        some, last = True, v
    return fine


@serial(length=16, where=lambda v: -3 <= v <= 3)
def greatest_product_of_a_prefix(x: i32):
    product, best = 1, LEAST
    for v in x:
        product = product * v
        best = max(best, product)
    return best


@serial(length=16, where=lambda v: -3 <= v <= 3)
def greatest_product_of_a_suffix(x: i32):
    high, low = 1, 1
    for v in x:
        a, b = high * v, low * v
        high = max(a, b, 1)
        low = min(a, b, 1)
    return high


@serial(length=16, where=lambda v: -3 <= v <= 3)
def greatest_product_of_a_run(x: i32):
    high, low, best = 1, 1, 1
    for v in x:
        a, b = high * v, low * v
        high = max(a, b, 1)
        low = min(a, b, 1)
        best = max(best, high)
    return best


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def place_of_the_best_suffix(x: i32):
    place, best = 0, 0
    for i, v in enumerate(x):
        if best + v < 0:
            place = i + 1
        best = max(0, best + v)
    return place


@serial(length=1 << 20)
def place_of_the_longest_ones(x: bool):
    here, best, place = 0, 0, 0
    for i, v in enumerate(x):
        here = here + 1 if v else 0
        if here > best:
            best, place = here, i - here + 1
    return place


@serial(length=1 << 20)
def greatest_even_of_zeros(x: bool):
    here, most, even = 0, 0, 0
    for v in x:
        here = here + 1 if not v else 0
        most = max(most, here)
        even = most if most % 2 == 0 else even
    return even


@serial(length=1 << 20)
def longest_odd_alternation(x: i32):
    one, zero, here, best = False, False, 0, 0
    for v in x:
        one, zero = zero and v == 1, v == 0
        here = here + 1 if one else here if zero else 0
        best = max(best, here) if here % 2 == 1 else best
    return best


TASKS = {name: each for name, each in list(globals().items()) if isinstance(each, Serial)}


def main(names: list[str]) -> None:
    proved = 0
    for name in names or TASKS:
        started = time.process_time()
        found = operator_of(TASKS[name].loop)
        seconds = time.process_time() - started
        proved += found.status == "proved"
        how = "no operator" if found.carrier is None else f"{len(found.carrier.words)} words, {found.carrier.how}"
        print(f"{name:28} {found.status:8} {how} {seconds:.2f} s", flush=True)
        for each in () if found.status == "proved" else (*found.tried, found.witness):
            print(f"    {each}", flush=True)
    print(f"{proved} of {len(names or TASKS)}")


if __name__ == "__main__":
    main(sys.argv[1:])
