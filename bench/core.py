"""Time the core on what its users write: the rows of docs/core.md. `python -m bench.core [--only TEXT] [--runs N]`.

Each row is a function that checks its own answer; printed is the median of the wall times of whole calls in this
process, building included. Solvers are a matter of luck, and of who else uses the machine: compare figures of one run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from symbolic import (
    Session,
    all_of,
    assert_,
    assume,
    bitvector,
    choose,
    cost,
    grammar,
    hole,
    integer,
    lifted,
    obligations,
    select,
    solve,
    synthesize,
    verify,
)  # fmt: skip

ROWS: dict[str, Callable[[], None]] = {}


def row(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Count a function among the rows."""

    def counted(function: Callable[[], None]) -> Callable[[], None]:
        ROWS[name] = function
        return function

    return counted


@lifted(bound=17)
def root(n: Any) -> Any:
    """The integer square root (Rosette guide, section 2.4.3)."""
    if n < 2:
        return n
    small = root(n >> 2) << 1
    large = small + 1
    return small if large * large > n else large


@lifted(bound=12)
def find(xs: Any, key: Any) -> Any:
    """Binary search."""
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] == key:
            return middle
        if xs[middle] < key:
            low = middle + 1
        else:
            high = middle
    return -1


@lifted
def found_rightly(xs: Any, key: Any, place: Any) -> None:
    """What binary search promises."""
    if place >= 0:
        assert xs[place] == key
    else:
        assert all(x != key for x in xs)


@lifted
def insertion_sort(given: Any) -> Any:
    """By exchanging neighbours."""
    xs = list(given)
    for i in range(1, len(xs)):
        j = i
        while j > 0 and xs[j - 1] > xs[j]:
            xs[j - 1], xs[j] = xs[j], xs[j - 1]
            j -= 1
    return xs


@lifted
def kadane(xs: Any) -> Any:
    """The greatest sum of neighbours."""
    best, run = 0, 0
    for x in xs:
        run = run + x if run + x > 0 else 0
        if run > best:
            best = run
    return best


@lifted
def greatest_sum(xs: Any) -> Any:
    """The same by trying all."""
    best = 0
    for i in range(len(xs)):
        total = 0
        for j in range(i, len(xs)):
            total += xs[j]
            best = max(best, total)
    return best


@lifted
def segments(p: Any, q: Any) -> Any:
    """Kadane's operator: the best sum, the best of a beginning and of an end, and all."""
    best = max(p[0], q[0], p[2] + q[1])
    return (best, max(p[1], p[3] + q[1]), max(q[2], q[3] + p[2]), p[3] + q[3])


@lifted
def run(program: Any, x: Any, y: Any) -> Any:
    """A stack machine of nine opcodes."""
    stack: list[Any] = []
    for op, k in program:
        if op == 0:
            stack = stack + [x]  # noqa: RUF005
        elif op == 1:
            stack = stack + [y]  # noqa: RUF005
        elif op == 2:
            stack = stack + [k]  # noqa: RUF005
        elif op == 3:
            stack = stack + [stack[-1]]  # noqa: RUF005
        elif op == 4:
            stack = stack[:-1] + [stack[-1] >> 1]  # noqa: RUF005
        else:
            a, b = stack[-2], stack[-1]
            c = a + b if op == 5 else a - b if op == 6 else a & b if op == 7 else a ^ b
            stack = stack[:-2] + [c]  # noqa: RUF005
    assert len(stack) == 1
    return stack[0]


def shortest(spec: Any, x: Any, y: Any, most: int) -> int:
    """Return the length of the shortest program, which is found after all shorter ones are excluded."""
    for length in range(1, most + 1):
        with obligations():
            program = [(hole(width=4), hole(width=16)) for _ in range(length)]
            for op, _ in program:
                assume(op < 9)
            if synthesize(inputs=[x, y], guarantee=run(program, x, y) == spec).status == "sat":
                return length
    raise AssertionError("there is none")


@row("factor x*x - 1")
def _() -> None:
    x, a, b = integer("x"), hole(), hole()
    assert synthesize(inputs=[x], guarantee=x * x - 1 == (x - a) * (x - b))[a + b] == 0


@row("square root, 24 bits, bound 17")
def _() -> None:
    n = bitvector("n", 24)
    with obligations():
        assume(n < 2**23)
        r = root(n)
        assert_((r * r <= n) & (n < (r + 1) * (r + 1)) & (r < 2**12))
        assert verify().status == "unsat"


def _search(size: int) -> None:
    keys, key = [integer(f"key {i}") for i in range(size)], integer("key")
    with obligations():
        for low, high in pairwise(keys):
            assume(low < high)
        found_rightly(keys, key, find(keys, key))
        assert verify().status == "unsat"


ROWS["binary search, 15 keys"] = lambda: _search(15)
ROWS["binary search, 255 keys"] = lambda: _search(255)


@row("insertion sort of 6 bytes")
def _() -> None:
    xs, wanted = [bitvector(f"element {i}", 8) for i in range(6)], bitvector("wanted", 8)
    ys = insertion_sort(xs)
    before, after = (sum(select(each == wanted, 1, 0) for each in some) for some in (xs, ys))
    assert verify(all_of(*(a <= b for a, b in pairwise(ys))), before == after).status == "unsat"


@row("Kadane equals brute force, 8 numbers")
def _() -> None:
    xs = [integer(f"x{i}") for i in range(8)]
    assert verify(kadane(xs) == greatest_sum(xs)).status == "unsat"


@row("Kadane's operator is associative")
def _() -> None:
    p, q, r = (tuple(integer(f"{name}{i}") for i in range(4)) for name in "pqr")
    a, b = segments(segments(p, q), r), segments(p, segments(q, r))
    assert verify(all_of(*(x == y for x, y in zip(a, b, strict=True)))).status == "unsat"


@row("stack machine: 5 instructions, x & (x - 1)")
def _() -> None:
    x, y = bitvector("stack x", 16), bitvector("stack y", 16)
    assert shortest(x & (x - 1), x, y, 5) == 5


@row("stack machine: 8 instructions, average without overflow")
def _() -> None:
    x, y = bitvector("stack x", 16), bitvector("stack y", 16)
    average = ((x.resize(17) + y.resize(17)) >> 1).resize(16)
    with obligations():
        program = [(hole(width=4), hole(width=16)) for _ in range(8)]
        for op, _ in program:
            assume(op < 9)
        assert synthesize(inputs=[x, y], guarantee=run(program, x, y) == average).status == "sat"


def _delight(width: int) -> None:
    """Six programs of Hacker's Delight, the shortest of each by length."""
    x, y = bitvector(f"hd x{width}", width, signed=True), bitvector(f"hd y{width}", width, signed=True)
    wide = x.resize(width + 1) + y.resize(width + 1)
    one = x * 0 + 1
    usual: Callable[[Any, Any], Sequence[Any]] = lambda a, b: [a & b, a | b, a ^ b, a + b, a - b, -a, ~a]  # noqa: E731
    tasks: list[tuple[Any, Callable[[Any, Any], Sequence[Any]]]] = [
        (x & (x - 1), usual),
        (x & -x, usual),
        (abs(x), lambda a, b: [a ^ b, a - b, a >> (width - 1)]),
        ((wide >> 1).resize(width), lambda a, b: [a & b, a ^ b, a + b, a >> 1]),
        (select(x >= y, x, y), lambda a, b: [a & b, a ^ b, a - b, -select(a >= b, one, one * 0)]),
        (((wide + 1) >> 1).resize(width), lambda a, b: [a | b, a ^ b, a - b, a >> 1]),
    ]
    for spec, operations in tasks:
        for length in range(1, 5):
            values = [x, y, one]
            for _ in range(length):
                values.append(choose(*operations(choose(*values), choose(*values))))
            if synthesize(inputs=[x, y], guarantee=values[-1] == spec).status == "sat":
                break
        else:
            raise AssertionError("there is none")


ROWS["Hacker's Delight, six programs, 32 bits"] = lambda: _delight(32)
ROWS["Hacker's Delight, six programs, 64 bits"] = lambda: _delight(64)


@grammar
def word(a: Any, b: Any, depth: int) -> Any:
    """Words of Hacker's Delight: nine operators."""
    if depth == 0:
        return choose(a, b, 0, 1)
    return choose(
        word(a, b, depth - 1),
        word(a, b, depth - 1) & word(a, b, depth - 1),
        word(a, b, depth - 1) | word(a, b, depth - 1),
        word(a, b, depth - 1) ^ word(a, b, depth - 1),
        word(a, b, depth - 1) + word(a, b, depth - 1),
        word(a, b, depth - 1) - word(a, b, depth - 1),
        word(a, b, depth - 1) >> 1,
        word(a, b, depth - 1) >> 31,
        ~word(a, b, depth - 1),
        -word(a, b, depth - 1),
    )


def _grammar(depth: int) -> None:
    """The first nine programs of Hacker's Delight and the average, each proved cheapest."""
    x, y = (bitvector(f"grammar {name}", 32, signed=True) for name in "xy")
    average = ((x.resize(33) + y.resize(33)) >> 1).resize(32)
    specs = [x & (x - 1), x & (x + 1), x & -x, x ^ (x - 1), x | (x - 1), x | (x + 1), ~x & (x + 1), (x - 1) & ~x]
    for spec, least in zip([*specs, abs(x), average], [2] * 6 + [3, 3, 4, 4], strict=True):

        @lifted
        def program(a: Any, b: Any) -> Any:
            return word(a, b, depth)

        outcome = synthesize(inputs=[x, y], guarantee=program(x, y) == spec, minimize=cost(program))
        assert outcome.optimal and outcome[cost(program)] == least


ROWS["a grammar of depth 3, ten programs, 32 bits"] = lambda: _grammar(3)
ROWS["a grammar of depth 4, ten programs, 32 bits"] = lambda: _grammar(4)


@row("a small query (of 200)")
def _() -> None:
    v = bitvector("small", 32)
    for k in range(200):
        assert solve(v * 3 == k * 3 + 1).status == "sat"


@row("92 solutions of 8 queens")
def _() -> None:
    rows = [integer(f"row {i}") for i in range(8)]
    pairs = [(i, j) for i in range(8) for j in range(i)]
    board = [(each >= 0) & (each < 8) for each in rows]
    board += [all_of(*(rows[i] - rows[j] != d for d in (0, i - j, j - i))) for i, j in pairs]
    with Session(*board) as session:
        assert sum(1 for _ in session.solutions(*rows)) == 92


PARTS = {"a small query (of 200)": 200, "Hacker's Delight, six programs, 32 bits": 6}
PARTS["Hacker's Delight, six programs, 64 bits"] = 6
PARTS |= {f"a grammar of depth {depth}, ten programs, 32 bits": 10 for depth in (3, 4)}
"""What a row does several times: the figure is of one."""


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print("| | seconds | processor |\n|---|---|---|")
    for name, function in ROWS.items():
        if options.only in name:
            walls, cpus = [], []
            for _ in range(options.runs):
                wall, cpu = time.perf_counter(), time.process_time()
                function()
                walls.append((time.perf_counter() - wall) / PARTS.get(name, 1))
                cpus.append((time.process_time() - cpu) / PARTS.get(name, 1))
            print(f"| {name} | {statistics.median(walls):.3g} | {statistics.median(cpus):.3g} |", flush=True)


if __name__ == "__main__":
    main()
