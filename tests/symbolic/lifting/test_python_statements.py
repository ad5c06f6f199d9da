"""Statements and expressions of Python against Python: patterns, `:=`, stars, f-strings, enums, NumPy's ints, changes.

Each function of `FUNCTIONS` is run once on a symbol; for each number its value under a model is what Python computes,
and something that must hold is broken exactly where Python raises.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from symbolic import assume, boolean, integer, lifted, obligations, solve, verify
from symbolic.core.outcome import evaluated
from symbolic.solve.answer import Model

X = integer("statements x")
NUMBERS = range(-6, 45, 3)


class Colour(enum.Enum):
    """Without numbers."""

    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    """With numbers."""

    LOW = 0
    HIGH = 1


@dataclass(frozen=True)
class Literal:
    """A number."""

    value: Any


@dataclass(frozen=True)
class Added:
    """A sum."""

    left: Any
    right: Any


@lifted
def value_of(node: Any) -> Any:
    """Of several kinds of values."""
    match node:
        case Literal(v):
            return v
        case Added(Literal(0), r):
            return value_of(r)
        case Added(left, right=q):
            return value_of(left) + value_of(q)
        case [a, *rest] if a > 12:
            return a + len(rest)
        case (a, b) | [a, _, b]:
            return a - b
        case Colour.RED:
            return 7
        case None | True:
            return -1
        case int(n) if n < 25:
            return n * 100
        case 30 | 33 as n:
            return n
        case {"key": k, **others}:
            return k + len(others)
        case _:
            return 0


def kinds(x: Any) -> Any:
    """A value of each kind."""
    if x < 0:
        return Added(Literal(x % 2), Added(Literal(x), Literal(2)))
    if x < 9:
        return [x + 8, 2, 3]
    if x < 12:
        return None
    return x if x < 36 else Colour.RED if x < 40 else (x, 1)


def patterns(x: Any) -> Any:
    """The names of a pattern stay known behind the `match`."""
    match (x, x % 3):
        case (a, 0) if a > 20:
            pass
        case (b, a):
            a = b
    return value_of(kinds(x)), a


def walrus(x: Any) -> Any:
    """Also in what is only asked on some paths."""
    first = second = 0
    if (n := x * 2) > 4 and (first := n + 1) < 29:
        return first
    k = (second := x + 1) if x > 30 else 3
    while (n := n - 50) > 0:
        k += n
    return n + k, first, second


def many(a: Any, *xs: Any, k: Any = 1, **others: Any) -> Any:
    """Any number of arguments."""
    total = a * k
    for x in xs:
        total += x
    return total + len(xs) + len(others)


def stars(x: Any) -> Any:
    """In calls and assignments."""
    t, others = (x, 2), {"u": x, "k": 3}
    a, *b, c = [x, 3, x + 1, 4]
    [*d] = t
    return many(*t, *b, **others) + a - c, b, d


def texts(x: Any) -> Any:
    """Of what is known, in the branches of what is not."""
    n = 5
    if x < 0:
        raise ValueError(f"{x} is negative")
    return f"{n:03d} {'a' if x < 9 else 'b'}{n!r}" if x < 12 else "no"


def enums(x: Any) -> Any:
    """As values, compared, and with what is in them."""
    c, level = Colour.RED if x < 9 else Colour.GREEN, Level.LOW if x < 3 else Level.HIGH
    return c is Colour.RED, c == Colour.GREEN, level == 1, level + x, c.value


def ranges(x: Any) -> Any:
    """The lengths of ranges."""
    return len(range(x)) + len(range(x, 10, 3)) + len(range(10, x, -2)), len(range(3, x))


def numpys(x: Any) -> Any:
    """NumPy's whole numbers are ints."""
    return x + np.int64(3) if x < np.int32(5) else [x, x + 1][np.int8(1)] * np.uint8(2)


def changing(x: Any) -> Any:
    """Lists that a callee changes, under conditions, of any depth, and a closure's."""
    a = [1]
    b, log = a, []

    def note(y: Any) -> Any:
        log.append(y)
        return len(log)

    rows = [a, [5], a]
    n = push(b, x > 0, x)
    rows[1].append(7)
    rows[2][0] = x
    for row in rows:
        row.append(9)
    m = note(n)
    if x > 9:
        m = note(x)
        push(rows[1], x > 12, m)
    return a, b, rows, log, n, m


def push(xs: Any, c: Any, v: Any) -> Any:
    """Append on a condition."""
    if c:
        xs.append(v)
    return len(xs)


def dicts(x: Any) -> Any:
    """Literals and comprehensions with keys that are known; read at what is not; lists in them change."""
    xs = [x]
    d = {"a": xs, 1: x + 1, **{2: 5, 3: 6}}
    e = {1: 2, "a": [3]} if x > 9 else {1: 3, "a": [4]}
    push(xs, True, 2)
    squares = {i: i * x for i in range(4)}
    total = 0
    for key, value in squares.items():
        total += key * value
    known = {"+", "-"}
    for key in e:
        total += len(e) if key in known or key == 1 else 0
    return d["a"], d[x % 2 + 1], e[1] + len(d), squares[x % 4], total, x in {3, 6, 9}, "+" in known, e, d.get("b", 7)


def exchange(xs: Any, i: Any, j: Any) -> None:
    """Two elements change places."""
    xs[i], xs[j] = xs[j], xs[i]


def quicksort(xs: Any, low: Any, high: Any) -> None:
    """In place."""
    if low >= high:
        return
    pivot, i = xs[high], low
    for j in range(low, high):
        if xs[j] < pivot:
            exchange(xs, i, j)
            i += 1
    exchange(xs, i, high)
    quicksort(xs, low, i - 1)
    quicksort(xs, i + 1, high)


def in_place(x: Any) -> Any:
    """What recursions change, at places that depend on conditions; a closure that calls itself."""
    xs, out = [x, 7, x % 5, 20 - x], []
    ys = xs
    quicksort(ys, 0, 3)

    def walk(n: Any) -> Any:
        if n <= 0:
            return
        out.append(n)
        walk(n - 1)
        if n > 1:
            out.append(-n)

    walk(x % 4)
    return xs, out


FUNCTIONS = [
    pytest.param(in_place, marks=pytest.mark.slow),
    dicts,
    patterns,
    walrus,
    stars,
    texts,
    enums,
    ranges,
    numpys,
    changing,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_a_function_is_pythons(function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lifted with what it calls, on a symbol; and as it is."""
    wanted: dict[int, Any] = {}
    for number in NUMBERS:
        try:
            wanted[number] = function(number)
        except ValueError:
            continue
    for helper in (kinds, many, push, exchange, quicksort):
        monkeypatch.setitem(function.__globals__, helper.__name__, lifted(bound=8)(helper))
    with obligations() as made:
        found = lifted(bound=8)(function)(X)
    for number in NUMBERS:
        model = Model(lambda _, number=number: number)
        holds = all(model.value(each.condition.formula) for each in made.made)
        assert holds == (number in wanted), number
        assert not holds or evaluated(found, model) == wanted[number], number


def test_enums_outside_of_functions() -> None:
    """A value that is one of several enums may be compared."""
    p = boolean("statements p")

    @lifted
    def pick(q: Any) -> Any:
        return Level.LOW if q else Level.HIGH

    assert solve(pick(p) == Level.HIGH)[p] is False
    assert verify(pick(p) == pick(~p)).status == "sat" and verify(pick(p) != pick(~p)).status == "unsat"


def test_lists_of_who_calls() -> None:
    """They change in place, nested ones too, and each stays the list that it was."""
    i, y = integer("statements i"), integer("statements y")

    @lifted
    def put(rows: Any, place: Any, value: Any) -> None:
        rows[0][place] = value
        rows[1].append(value)

    one, two = [X, 0, 0], [1]
    rows = [one, two, one]
    with obligations():
        assume((i >= 0) & (i < 3))
        put(rows, i, y)
        assert rows[0] is one and rows[2] is one and rows[1] is two
        outcome = solve(i == 2, X == 5, y == 7)
        assert outcome[rows] == [[5, 0, 7], [1, 7], [5, 0, 7]]
    assert len(two) == 2 and two[1] is y
