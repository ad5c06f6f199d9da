"""What a `?sw_cond` may be in Space 4, by its definition: all functions on some points, one by one."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence

from templates.holes import Point

COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
Values = tuple[bool, ...]


def compared(values: Sequence[int]) -> Iterator[Values]:
    """Yield all comparisons of a number with a constant."""
    for constant, compare in itertools.product(range(min(values) - 1, max(values) + 2), COMPARISONS):
        yield tuple(compare(value, constant) for value in values)


def plain(points: Sequence[Point]) -> set[Values]:
    """Space 3: `v cmp I`, `v cmp I + v'`, `v cmp I - v'`."""
    arity = len(points[0])
    found = set(compared([0] * len(points)))
    for v, u in itertools.product(range(arity), repeat=2):
        for sign in (1, -1) if v != u else (0,):
            found |= set(compared([p[v] + sign * p[u] for p in points]))
    return found


def remainders(points: Sequence[Point]) -> set[Values]:
    """`v % m cmp I`, and of the sum or the difference of two; m is up to 32 and to the largest argument."""
    arity, largest = len(points[0]), min(32, max(abs(v) for p in points for v in p))
    found: set[Values] = set()
    for m in range(2, largest + 1):
        for v, u in itertools.combinations_with_replacement(range(arity), 2):
            for sign in (1, -1) if v != u else (0,):
                found |= set(compared([(p[v] + sign * p[u]) % m for p in points]))
    return found


def scaled(points: Sequence[Point]) -> set[Values]:
    """`a * v + b * v' cmp I`: without a common divisor, up to 8 beside a 1, up to 4 beside another."""
    found: set[Values] = set()
    for v, u in itertools.combinations(range(len(points[0])), 2):
        for a, b in itertools.product(range(1, 9), range(-8, 9)):
            if b and math.gcd(a, b) == 1 and (1 in (a, abs(b)) or max(a, abs(b)) <= 4):
                found |= set(compared([a * p[v] + b * p[u] for p in points]))
    return found


def joined(points: Sequence[Point]) -> set[Values]:
    """Two conditions of Space 3, with `and` or `or`."""
    some = plain(points)
    pairs = list(itertools.combinations_with_replacement(some, 2))
    found = {tuple(a and b for a, b in zip(first, second, strict=True)) for first, second in pairs}
    return found | {tuple(a or b for a, b in zip(first, second, strict=True)) for first, second in pairs}


def every_condition(points: Sequence[Point]) -> set[Values]:
    """Space 4, where few conditions differ."""
    return plain(points) | remainders(points) | scaled(points) | joined(points)
