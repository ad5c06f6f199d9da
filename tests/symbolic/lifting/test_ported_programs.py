"""Programs that a user of Rosette writes, each as a whole: interpreters, puzzles, protocols, an optimiser, repairs."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import pytest

from symbolic import (
    all_of,
    any_of,
    assume,
    bitvector,
    boolean,
    choose,
    hole,
    implies,
    integer,
    lifted,
    obligations,
    optimize,
    real,
    select,
    soft,
    solve,
    synthesize,
    unsat_core,
    verify,
)
from symbolic.errors import SwizzleError

# ---- sudoku ----------------------


@lifted
def distinct(xs: Any) -> Any:
    """No two are equal."""
    return all(xs[i] != xs[j] for i in range(len(xs)) for j in range(i))


@lifted
def sudoku(grid: Any) -> None:
    """The rules of a grid."""
    for k in range(9):
        assert distinct(grid[k])
        assert distinct([grid[r][k] for r in range(9)])
        assert distinct([grid[k // 3 * 3 + i // 3][k % 3 * 3 + i % 3] for i in range(9)])


def test_sudoku() -> None:
    """A grid of integers."""
    given = [
        "53..7....",
        "6..195...",
        ".98....6.",
        "8...6...3",
        "4..8.3..1",
        "7...2...6",
        ".6....28.",
        "...419..5",
        "....8..79",
    ]
    grid = [[int(c) if c != "." else integer(f"cell {i}{j}") for j, c in enumerate(row)] for i, row in enumerate(given)]
    with obligations():
        assume(all_of(*((each >= 1) & (each <= 9) for row in grid for each in row if not isinstance(each, int))))
        sudoku(grid)
        found = solve()[grid]
    assert ["".join(map(str, row)) for row in found][::4] == ["534678912", "426853791", "345286179"]


# ---- a register machine: two programs compared, and one found ----------------------


@dataclass(frozen=True)
class Instruction:
    """What is done, where the result goes, and where the operands are."""

    op: Any
    to: Any
    a: Any
    b: Any


@lifted
def machine(program: Any, registers: Any) -> Any:
    """Run a program."""
    registers = list(registers)
    for each in program:
        x, y = registers[each.a], registers[each.b]
        if each.op == 0:
            value = x + y
        elif each.op == 1:
            value = x & y
        elif each.op == 2:
            value = x ^ y
        elif each.op == 3:
            value = x << 1
        else:
            assert each.op == 4
            value = ~x
        registers[each.to] = value
    return registers[0]


def test_a_register_machine() -> None:
    """`x + y` is `(x ^ y) + ((x & y) << 1)`; the shortest program for `2 * (x ^ y)` is found with symbolic opcodes."""
    x, y = bitvector("machine x", 8), bitvector("machine y", 8)
    start = [x, y, x * 0, x * 0]
    longer = [Instruction(*each) for each in ((2, 2, 0, 1), (1, 3, 0, 1), (3, 3, 3, 0), (0, 0, 2, 3))]
    assert verify(machine(longer, start) == machine([Instruction(0, 0, 0, 1)], start)).status == "unsat"
    statuses = []
    for length in (1, 2):
        program = [Instruction(hole(width=3), *(hole(width=2) for _ in range(3))) for _ in range(length)]
        with obligations():
            outcome = synthesize(inputs=[x, y], guarantee=machine(program, start) == 2 * (x ^ y))
        statuses.append(outcome.status)
    assert statuses == ["unsat", "sat"]
    assert verify(machine(outcome[program], start) == 2 * (x ^ y)).status == "unsat"


# ---- an optimiser of expressions, by what kind each is ----------------------


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: Any


@dataclass(frozen=True)
class Name:
    """A variable."""

    place: int


@dataclass(frozen=True)
class Sum:
    """a + b."""

    a: Any
    b: Any


@dataclass(frozen=True)
class Product:
    """a * b."""

    a: Any
    b: Any


@dataclass(frozen=True)
class If:
    """A choice."""

    test: Any
    yes: Any
    no: Any


@lifted
def value(e: Any, names: Any) -> Any:
    """Compute an expression."""
    if isinstance(e, Number):
        return e.value
    if isinstance(e, Name):
        return names[e.place]
    if isinstance(e, Sum):
        return value(e.a, names) + value(e.b, names)
    if isinstance(e, Product):
        return value(e.a, names) * value(e.b, names)
    return value(e.yes, names) if value(e.test, names) != 0 else value(e.no, names)


@lifted
def simpler(e: Any) -> Any:
    """Simplify it."""
    if isinstance(e, Product):
        a, b = simpler(e.a), simpler(e.b)
        if isinstance(a, Number) and a.value == 0:
            return Number(0)
        if isinstance(a, Number) and a.value == 1:
            return b
        return Sum(a, a) if isinstance(b, Number) and b.value == 2 else Product(a, b)
    if isinstance(e, Sum):
        return Sum(simpler(e.a), simpler(e.b))
    if isinstance(e, If):
        test = simpler(e.test)
        if isinstance(test, Number):
            return simpler(e.yes) if test.value != 0 else simpler(e.no)
        return If(test, simpler(e.yes), simpler(e.no))
    return e


def test_an_optimiser_is_proved() -> None:
    """What it returns is of several kinds; behind an `isinstance` it is of one, and nothing else has to hold."""
    x, y, k, m = (integer(f"optimiser {name}") for name in "xykm")
    e = If(Number(k), Sum(Product(Number(m), Name(0)), Name(1)), Product(Sum(Name(1), Number(k)), Number(m)))
    assert verify(value(simpler(e), [x, y]) == value(e, [x, y])).status == "unsat"  # no block: nothing must hold
    wrong = verify(value(If(e.test, e.no, e.yes), [x, y]) == value(e, [x, y]))
    assert wrong.status == "sat" and value(wrong[e], wrong[[x, y]]) == wrong[value(e, [x, y])]


# ---- state machines under any schedule ----------------------


@lifted
def moved(state: Any, me: Any) -> Any:
    """Peterson's lock: one step of one of two threads."""
    at, wants, turn = state
    other = 1 - me
    at, wants = list(at), list(wants)
    if at[me] == 0:
        wants[me] = True
        at[me] = 1
    elif at[me] == 1:
        turn = other
        at[me] = 2
    elif at[me] == 2:
        if not wants[other] or turn == me:
            at[me] = 3
    else:
        wants[me] = False
        at[me] = 0
    return at, wants, turn


@lifted
def exclusive(schedule: Any) -> None:
    """Never are both inside."""
    state = ([0, 0], [False, False], 0)
    for who in schedule:
        state = moved(state, who)
        assert state[0] != [3, 3]


@lifted
def poured(state: Any, move: Any) -> Any:
    """Two jugs of 3 and 5."""
    a, b = state
    if move == 0:
        return (3, b)
    if move == 1:
        return (a, 5)
    if move == 2:
        return (0, b)
    if move == 3:
        return (a, 0)
    if move == 4:
        much = min(a, 5 - b)
        return (a - much, b + much)
    much = min(b, 3 - a)
    return (a + much, b - much)


def test_a_lock_and_jugs() -> None:
    """No schedule of seven steps breaks the lock; three moves are too few to get 1, and four do."""
    with obligations():
        exclusive([select(boolean(f"thread {i}"), 1, 0) for i in range(7)])
        assert verify().status == "unsat"
    for count, status in ((3, "unsat"), (4, "sat")):
        moves = [integer(f"pour {count} {i}") for i in range(count)]
        state: Any = (0, 0)
        for move in moves:
            state = poured(state, move)
        outcome = solve(any_of(state[0] == 1, state[1] == 1), *((m >= 0) & (m < 6) for m in moves))
        assert outcome.status == status
    state = (0, 0)
    for move in outcome[moves]:
        state = poured(state, move)
    assert 1 in state


# ---- lists that grow and shrink ----------------------


@lifted
def by_two_stacks(operations: Any) -> Any:
    """A queue out of two stacks."""
    behind, front, taken = [], [], []
    for push, each in operations:
        if push:
            behind.append(each)
        elif behind or front:
            if not front:
                while behind:
                    last = behind.pop()
                    front.append(last)
            first = front.pop()
            taken.append(first)
    return taken


@lifted
def by_a_list(operations: Any) -> Any:
    """The queue itself."""
    waiting, taken = [], []
    for push, each in operations:
        if push:
            waiting.append(each)
        elif waiting:
            taken.append(waiting[0])
            waiting = waiting[1:]
    return taken


@lifted
def same(a: Any, b: Any) -> Any:
    """Two values are equal."""
    return a == b


@lifted
def turned(xs: Any) -> Any:
    """A list, reversed by recursion."""
    return turned(xs[1:]) + [xs[0]] if xs else []  # noqa: RUF005


@lifted
def beginning(xs: Any, count: Any) -> Any:
    """The first elements."""
    return xs[:count]


def test_lists_of_symbolic_lengths() -> None:
    """A queue out of two stacks is one, whatever is pushed and taken; turned twice a beginning is itself."""
    operations = [(boolean(f"push {i}"), integer(f"pushed {i}")) for i in range(5)]
    with obligations():
        assert verify(same(by_two_stacks(operations), by_a_list(operations))).status == "unsat"
    xs, count = [integer(f"list {i}") for i in range(5)], integer("length")
    with obligations():
        assume((count >= 0) & (count <= 5))
        assert verify(same(turned(turned(beginning(xs, count))), beginning(xs, count))).status == "unsat"


# ---- an angel, a debugger, a machine of words, fractions ----------------------


@lifted
def parted(xs: Any, left: Any) -> None:
    """Both sides weigh the same."""
    weights = [0, 0]
    for x, side in zip(xs, left, strict=True):
        weights[1 if side else 0] += x
    assert weights[0] == weights[1]


@lifted
def greatest(a: Any, b: Any, c: Any) -> Any:
    """With two tests to be repaired."""
    found = a
    if choose(b < found, b > found):
        found = b
    if choose(c < found, c > found, c > b):
        found = c
    return found


@lifted
def accepts(text: Any, table: Any, final: Any) -> Any:
    """An automaton."""
    state = 0
    for each in text:
        state = table[state][each]
    return state in final


@lifted
def grown(start: Any, rate: Any, years: Any) -> Any:
    """Interest."""
    for _ in range(years):
        start = start * (1 + rate)
    return start


def test_small_queries_of_many_kinds() -> None:
    """Angelic choices, a repair, wishes, a core, a word that tells two automata apart, a rate."""
    weights = [13, 7, 22, 5, 9, 31, 14, 8, 21, 10]
    left = [boolean(f"left {i}") for i in range(10)]
    with obligations():
        parted(weights, left)
        outcome = solve()
    assert sum(w for w, side in zip(weights, outcome[left], strict=True) if side) == sum(weights) // 2

    a, b, c = integer("repair a"), integer("repair b"), integer("repair c")
    top = greatest(a, b, c)
    promise = (top >= a) & (top >= b) & (top >= c) & any_of(top == a, top == b, top == c)
    repaired = synthesize(inputs=[a, b, c], guarantee=promise)
    assert repaired[greatest](4, 9, 2) == 9 and "c > found" in repaired.show()

    features = [boolean(f"feature {i}") for i in range(4)]
    rules = [implies(features[0], features[1]), implies(features[1], ~features[2]), features[2] | features[3]]
    assert optimize(*rules, *map(soft, features))[features] == [True, True, False, True]
    assert unsat_core(a < b, b < c, c < a, a > 0) == [0, 1, 2]

    text = [integer(f"letter {i}") for i in range(5)]
    ends_in_01, ends_in_10 = [[1, 0], [1, 2], [1, 0]], [[0, 1], [2, 1], [0, 1]]
    with obligations():
        assume(all_of(*((each >= 0) & (each < 2) for each in text)))
        outcome = solve(accepts(text, ends_in_01, (2,)), accepts(text, ends_in_10, [0, 1]))
        assert outcome[text][-2:] == [0, 1]
        assert verify(implies(accepts(text, ends_in_01, (2,)), ~accepts(text, ends_in_10, (2,)))).status == "unsat"
    rate = real("rate")
    assert str(solve(grown(100, rate, 2) == 121, rate > 0)[rate]) == "1/10"


# ---- what Python's library has ----------------------


def test_folding_and_methods_of_words() -> None:
    """`functools.reduce` takes a lambda; methods of symbolic values are called, not interpreted."""

    @lifted
    def folded(xs: Any, n: Any) -> Any:
        return functools.reduce(lambda a, b: 2 * a + b, xs[:n], 0)

    x = integer("folded x")
    with obligations():
        assume((x >= 0) & (x <= 3))
        assert solve(folded([1, 1, 1], x) == 3)[x] == 2
    assert folded([1, 1, 1], 3) == 7

    @lifted
    def halves_swapped(v: Any) -> Any:
        return v.extract(3, 0).concat(v.extract(7, 4))

    v = bitvector("halves", 8)
    assert verify(halves_swapped(halves_swapped(v)) == v).status == "unsat"

    @lifted
    def wrong(v: Any) -> Any:
        return v.extract(0, 3)

    with pytest.raises(SwizzleError, match=r"test_ported_programs.py:\d+:16: error: in extract: bits 0 to 3"):
        wrong(v)

    @lifted
    def product(x: Any) -> Any:
        return [a * b for a, b in itertools.product([x, 1], [2, 3])]

    assert product(4) == [8, 12, 2, 3]
    with pytest.raises(SwizzleError, match="product gives an iterator, which is used up"):
        product(x)
