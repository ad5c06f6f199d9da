"""Compare the core with plain z3py by hand. `python -m bench.core_ratio [--only TEXT] [--runs N]`.

Each row asks one question twice: of `symbolic`, and of z3 by its own Python interface, as somebody would write it who
knows z3. Both functions check their answers. Printed is the processor time of whole calls, building included, the
median of runs that take turns, and the ratio of both; below it the geometric mean and the worst. Every run begins with
names that no run before had, so that no formula is met again.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from math import exp, log
from typing import Any

import z3

from symbolic import (
    Session,
    any_of,
    assume,
    bitvector,
    boolean,
    choose,
    distinct,
    function,
    hole,
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
)  # fmt: skip

Question = Callable[[str], None]
ROWS: dict[str, tuple[Question, Question]] = {}
"""By name: the question to the core and the one to z3, each given the beginning of its names."""


def row(name: str, by_hand: Question) -> Callable[[Question], Question]:
    """Count a function among the rows, beside the one that asks z3."""

    def counted(ours: Question) -> Question:
        ROWS[name] = ours, by_hand
        return ours

    return counted


def z3_solver(*conditions: Any, logic: str = "") -> Any:
    """Return z3's solver with these conditions."""
    solver = z3.SolverFor(logic) if logic else z3.Solver()
    solver.add(*conditions)
    return solver


# ---- integers --------------------------------------------------------------------------------------------------

LETTERS = "SENDMORY"


def _words(letters: dict[str, Any]) -> tuple[Any, Any, Any]:
    def value(word: str) -> Any:
        return sum(letters[c] * 10 ** (len(word) - i - 1) for i, c in enumerate(word))

    return value("SEND"), value("MORE"), value("MONEY")


def _money_by_hand(p: str) -> None:
    letters = {c: z3.Int(p + c) for c in LETTERS}
    send, more, money = _words(letters)
    solver = z3_solver(*(z3.And(each >= 0, each <= 9) for each in letters.values()))
    solver.add(z3.Distinct(*letters.values()), letters["S"] > 0, letters["M"] > 0, send + more == money)
    assert solver.check() == z3.sat and solver.model().eval(money).as_long() == 10652


@row("SEND + MORE = MONEY", _money_by_hand)
def _(p: str) -> None:
    letters = {c: integer(p + c) for c in LETTERS}
    send, more, money = _words(letters)
    outcome = solve(
        *((each >= 0) & (each <= 9) for each in letters.values()),
        distinct(*letters.values()), letters["S"] > 0, letters["M"] > 0, send + more == money,
    )  # fmt: skip
    assert outcome[money] == 10652


def _linear_by_hand(p: str) -> None:
    x, y, w = z3.Ints([p + c for c in "xyw"])
    claim = z3.Implies(z3.And(x >= y, y >= w), 3 * x + w >= 2 * y + 2 * w)
    assert z3_solver(z3.Not(z3.Implies(w >= 0, claim))).check() == z3.unsat


@row("a linear inequality, verified", _linear_by_hand)
def _(p: str) -> None:
    x, y, w = (integer(p + c) for c in "xyw")
    with obligations():
        assume(w >= 0)
        assume((x >= y) & (y >= w))
        assert verify(3 * x + w >= 2 * y + 2 * w).status == "unsat"


def _square_by_hand(p: str) -> None:
    cells = [[z3.Int(f"{p}{i}{j}") for j in range(3)] for i in range(3)]
    flat = [each for some in cells for each in some]
    sums = [z3.Sum(some) for some in [*cells, *zip(*cells, strict=True)]]
    sums += [z3.Sum([cells[i][i] for i in range(3)]), z3.Sum([cells[i][2 - i] for i in range(3)])]
    solver = z3_solver(*(z3.And(each >= 1, each <= 9) for each in flat), z3.Distinct(*flat))
    solver.add(*(each == 15 for each in sums))
    assert solver.check() == z3.sat and solver.model()[cells[1][1]].as_long() == 5


@row("a magic square", _square_by_hand)
def _(p: str) -> None:
    cells = [[integer(f"{p}{i}{j}") for j in range(3)] for i in range(3)]
    flat = [each for some in cells for each in some]
    sums = [sum(some) for some in [*cells, *zip(*cells, strict=True)]]
    sums += [sum(cells[i][i] for i in range(3)), sum(cells[i][2 - i] for i in range(3))]
    outcome = solve(*((each >= 1) & (each <= 9) for each in flat), distinct(*flat), *(each == 15 for each in sums))
    assert outcome[cells[1][1]] == 5


def _queens_by_hand(p: str) -> None:
    rows = [z3.Int(f"{p}{i}") for i in range(8)]
    solver = z3_solver(*(z3.And(each >= 0, each < 8) for each in rows))
    for i, j in itertools.combinations(range(8), 2):
        solver.add(rows[i] != rows[j], rows[i] - rows[j] != j - i, rows[i] - rows[j] != i - j)
    assert solver.check() == z3.sat


@row("eight queens", _queens_by_hand)
def _(p: str) -> None:
    rows = [integer(f"{p}{i}") for i in range(8)]
    board = [(each >= 0) & (each < 8) for each in rows]
    for i, j in itertools.combinations(range(8), 2):
        board += [rows[i] != rows[j], rows[i] - rows[j] != j - i, rows[i] - rows[j] != i - j]
    assert solve(*board).status == "sat"


def _all_queens_by_hand(p: str) -> None:
    rows = [z3.Int(f"{p}{i}") for i in range(6)]
    solver = z3_solver(*(z3.And(each >= 0, each < 6) for each in rows))
    for i, j in itertools.combinations(range(6), 2):
        solver.add(rows[i] != rows[j], rows[i] - rows[j] != j - i, rows[i] - rows[j] != i - j)
    count = 0
    while solver.check() == z3.sat:
        model, count = solver.model(), count + 1
        solver.add(z3.Or([each != model[each] for each in rows]))
    assert count == 4


@row("all solutions of six queens", _all_queens_by_hand)
def _(p: str) -> None:
    rows = [integer(f"{p}{i}") for i in range(6)]
    board = [(each >= 0) & (each < 6) for each in rows]
    for i, j in itertools.combinations(range(6), 2):
        board += [rows[i] != rows[j], rows[i] - rows[j] != j - i, rows[i] - rows[j] != i - j]
    with Session(*board) as session:
        assert sum(1 for _ in session.solutions(*rows)) == 4


PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"


def _groups(cells: Any) -> list[list[Any]]:
    boxes = [[cells[3 * a + i][3 * b + j] for i in range(3) for j in range(3)] for a in range(3) for b in range(3)]
    return [*cells, *zip(*cells, strict=True), *boxes]


def _sudoku_by_hand(p: str) -> None:
    cells = [[z3.Int(f"{p}{i}{j}") for j in range(9)] for i in range(9)]
    solver = z3_solver(*(z3.And(each >= 1, each <= 9) for some in cells for each in some))
    solver.add(*(z3.Distinct(*group) for group in _groups(cells)))
    solver.add(*(cells[i // 9][i % 9] == int(c) for i, c in enumerate(PUZZLE) if c != "."))
    assert solver.check() == z3.sat and solver.model()[cells[8][0]].as_long() == 3


@row("sudoku", _sudoku_by_hand)
def _(p: str) -> None:
    cells = [[integer(f"{p}{i}{j}") for j in range(9)] for i in range(9)]
    outcome = solve(
        *((each >= 1) & (each <= 9) for some in cells for each in some),
        *(distinct(*group) for group in _groups(cells)),
        *(cells[i // 9][i % 9] == int(c) for i, c in enumerate(PUZZLE) if c != "."),
    )
    assert outcome[cells[8][0]] == 3


def _factor_by_hand(p: str) -> None:
    x, y = z3.Ints([p + "x", p + "y"])
    solver = z3_solver(x * y == 8633, x > 1, y >= x)
    assert solver.check() == z3.sat and {solver.model()[x].as_long()} <= {89}


@row("a product of two primes", _factor_by_hand)
def _(p: str) -> None:
    x, y = integer(p + "x"), integer(p + "y")
    assert solve(x * y == 8633, x > 1, y >= x)[x] == 89


# ---- words -----------------------------------------------------------------------------------------------------


def _powers_by_hand(p: str) -> None:
    v = z3.BitVec(p + "v", 32)
    powers = z3.Or([v == 1 << i for i in range(32)])
    assert z3_solver(z3.Not(powers == z3.And(v != 0, v & (v - 1) == 0))).check() == z3.unsat


@row("powers of two", _powers_by_hand)
def _(p: str) -> None:
    v = bitvector(p + "v", 32)
    powers = any_of(*(v == 1 << i for i in range(32)))
    assert verify(powers == ((v != 0) & (v & (v - 1) == 0))).status == "unsat"


def _count_by_hand(p: str) -> None:
    v = z3.BitVec(p + "v", 32)
    slow = sum(z3.LShR(v, i) & 1 for i in range(32))
    w = v - (z3.LShR(v, 1) & 0x55555555)
    w = (w & 0x33333333) + (z3.LShR(w, 2) & 0x33333333)
    w = (w + z3.LShR(w, 4)) & 0x0F0F0F0F
    assert z3_solver(z3.LShR(w * 0x01010101, 24) != slow, logic="QF_BV").check() == z3.unsat


@row("a count of bits, 32 bits", _count_by_hand)
def _(p: str) -> None:
    v = bitvector(p + "v", 32)
    slow = sum((v >> i) & 1 for i in range(32))
    w = v - ((v >> 1) & 0x55555555)
    w = (w & 0x33333333) + ((w >> 2) & 0x33333333)
    w = (w + (w >> 4)) & 0x0F0F0F0F
    assert verify((w * 0x01010101) >> 24 == slow).status == "unsat"


def _average_by_hand(p: str) -> None:
    x, y = z3.BitVecs([p + "x", p + "y"], 64)
    wide = z3.Extract(63, 0, z3.LShR(z3.ZeroExt(1, x) + z3.ZeroExt(1, y), 1))
    assert z3_solver((x & y) + z3.LShR(x ^ y, 1) != wide).check() == z3.unsat


@row("an average without overflow, 64 bits", _average_by_hand)
def _(p: str) -> None:
    x, y = bitvector(p + "x", 64), bitvector(p + "y", 64)
    assert verify((x & y) + ((x ^ y) >> 1) == ((x.resize(65) + y.resize(65)) >> 1).resize(64)).status == "unsat"


def _overflow_by_hand(p: str) -> None:
    x, y = z3.BitVecs([p + "x", p + "y"], 16)
    assert z3_solver(x * y == 0x1234, z3.UGT(x, 2), z3.UGT(y, x)).check() == z3.sat


@row("a product of words that wraps", _overflow_by_hand)
def _(p: str) -> None:
    x, y = bitvector(p + "x", 16), bitvector(p + "y", 16)
    assert solve(x * y == 0x1234, x > 2, y > x).status == "sat"


def _network_by_hand(p: str) -> None:
    xs = [z3.BitVec(f"{p}{i}", 8) for i in range(5)]
    ys = list(xs)
    for i, j in NETWORK:
        less = z3.ULE(ys[i], ys[j])
        ys[i], ys[j] = z3.If(less, ys[i], ys[j]), z3.If(less, ys[j], ys[i])
    assert z3_solver(z3.Or([z3.UGT(a, b) for a, b in itertools.pairwise(ys)])).check() == z3.unsat


NETWORK = [(0, 3), (1, 4), (0, 2), (1, 3), (0, 1), (2, 4), (1, 2), (3, 4), (2, 3)]


@lifted
def exchanged(xs: Any) -> Any:
    """Run a network of comparators."""
    ys = list(xs)
    for i, j in NETWORK:
        if ys[i] > ys[j]:
            ys[i], ys[j] = ys[j], ys[i]
    return ys


@row("a sorting network of five bytes", _network_by_hand)
def _(p: str) -> None:
    ys = exchanged([bitvector(f"{p}{i}", 8) for i in range(5)])
    assert verify(*(a <= b for a, b in itertools.pairwise(ys))).status == "unsat"


# ---- Booleans, functions, reals, quantifiers ---------------------------------------------------------------------


def _pigeons_by_hand(p: str) -> None:
    sits = [[z3.Bool(f"{p}{i}{j}") for j in range(6)] for i in range(7)]
    solver = z3_solver(*(z3.Or(each) for each in sits))
    for hole_ in zip(*sits, strict=True):
        solver.add(*(z3.Or(z3.Not(a), z3.Not(b)) for a, b in itertools.combinations(hole_, 2)))
    assert solver.check() == z3.unsat


@row("seven pigeons", _pigeons_by_hand)
def _(p: str) -> None:
    sits = [[boolean(f"{p}{i}{j}") for j in range(6)] for i in range(7)]
    alone = [~a | ~b for each in zip(*sits, strict=True) for a, b in itertools.combinations(each, 2)]
    assert solve(*(any_of(*each) for each in sits), *alone).status == "unsat"


def _function_by_hand(p: str) -> None:
    f, x = z3.Function(p + "f", z3.IntSort(), z3.IntSort()), z3.Int(p + "x")
    times = [x]
    for _ in range(5):
        times.append(f(times[-1]))
    assert z3_solver(times[3] == x, times[5] == x, times[1] != x).check() == z3.unsat


@row("an uninterpreted function", _function_by_hand)
def _(p: str) -> None:
    f, x = function(p + "f", [integer], integer), integer(p + "x")
    times = [x]
    for _ in range(5):
        times.append(f(times[-1]))
    with obligations():
        assume((times[3] == x) & (times[5] == x))
        assert solve(times[1] != x).status == "unsat"


def _reals_by_hand(p: str) -> None:
    x, y, w = z3.Reals([p + c for c in "xyw"])
    solver = z3_solver(3 * x + 2 * y - w == 1, 2 * x - 2 * y + 4 * w == -2, -2 * x + y - 2 * w == 0)
    solver.check()
    assert solver.model()[x].as_long() == 1


@row("three linear equations over the reals", _reals_by_hand)
def _(p: str) -> None:
    x, y, w = (real(p + c) for c in "xyw")
    assert solve(3 * x + 2 * y - w == 1, 2 * x - 2 * y + 4 * w == -2, -2 * x + y - 2 * w == 0)[x] == 1


# ---- optimisation and cores ---------------------------------------------------------------------------------------


def _program_by_hand(p: str) -> None:
    x, y = z3.Ints([p + "x", p + "y"])
    optimum = z3.Optimize()
    optimum.add(x >= 0, y >= 0, 2 * x + y <= 100, x + 3 * y <= 150)
    most = optimum.maximize(3 * x + 4 * y)
    assert optimum.check() == z3.sat and most.value().as_long() == 250


@row("a small linear program", _program_by_hand)
def _(p: str) -> None:
    x, y = integer(p + "x"), integer(p + "y")
    best = optimize(x >= 0, y >= 0, 2 * x + y <= 100, x + 3 * y <= 150, maximize=3 * x + 4 * y)
    assert best.optimal and best[3 * x + 4 * y] == 250


WEIGHTS, VALUES = [3, 4, 5, 9, 14, 7, 6, 11], [3, 4, 4, 10, 15, 8, 5, 12]


def _bag_by_hand(p: str) -> None:
    take = [z3.Bool(f"{p}{i}") for i in range(8)]
    optimum = z3.Optimize()
    optimum.add(z3.Sum([z3.If(t, w, 0) for t, w in zip(take, WEIGHTS, strict=True)]) <= 30)
    most = optimum.maximize(z3.Sum([z3.If(t, v, 0) for t, v in zip(take, VALUES, strict=True)]))
    assert optimum.check() == z3.sat and most.value().as_long() == 33


@row("a bag packed with the most", _bag_by_hand)
def _(p: str) -> None:
    take = [boolean(f"{p}{i}") for i in range(8)]
    weight, value = (sum(select(t, n, 0) for t, n in zip(take, some, strict=True)) for some in (WEIGHTS, VALUES))
    best = optimize(weight <= 30, maximize=value)
    assert best.optimal and best[value] == 33


def _soft_by_hand(p: str) -> None:
    edges = [(i, j) for i, j in itertools.combinations(range(7), 2) if (i * j + i + j) % 3]
    sides = [z3.Bool(f"{p}{i}") for i in range(7)]
    optimum = z3.Optimize()
    for i, j in edges:
        optimum.add_soft(z3.Xor(sides[i], sides[j]))
    assert optimum.check() == z3.sat
    model = optimum.model()
    cut = sum(z3.is_true(model.eval(z3.Xor(sides[i], sides[j]), True)) for i, j in edges)
    assert cut == CUT


CUT = 12


@row("the largest cut, by soft conditions", _soft_by_hand)
def _(p: str) -> None:
    edges = [(i, j) for i, j in itertools.combinations(range(7), 2) if (i * j + i + j) % 3]
    sides = [boolean(f"{p}{i}") for i in range(7)]
    wishes = [soft(sides[i] ^ sides[j]) for i, j in edges]
    best = optimize(*wishes)
    assert best.optimal and sum(best[wishes]) == CUT


def _core_by_hand(p: str) -> None:
    xs = [z3.Int(f"{p}{i}") for i in range(12)]
    solver, names = z3_solver(), [z3.Bool(f"{p}n{i}") for i in range(13)]
    solver.set("core.minimize", True)
    for name, (a, b) in zip(names, itertools.pairwise(xs), strict=False):
        solver.assert_and_track(a < b, name)
    solver.assert_and_track(xs[8] < xs[3], names[11])
    solver.assert_and_track(xs[0] > 5, names[12])
    assert solver.check() == z3.unsat and len(solver.unsat_core()) == 6


@row("a core of 13 conditions", _core_by_hand)
def _(p: str) -> None:
    xs = [integer(f"{p}{i}") for i in range(12)]
    found = unsat_core(*(a < b for a, b in itertools.pairwise(xs)), xs[8] < xs[3], xs[0] > 5)
    assert found is not None and len(found) == 6


# ---- synthesis ----------------------------------------------------------------------------------------------------


def by_counterexamples(inputs: list[Any], holes: list[Any], claim: Any) -> Any:
    """Return z3's model of holes for which a claim holds of all inputs; None where there is none."""
    guesses, checks = z3_solver(), z3_solver()
    checks.add(z3.Not(claim))
    start = [(each, z3.BitVecVal(n, each.size()) if z3.is_bv(each) else z3.IntVal(n)) for n, each in enumerate(inputs)]
    guesses.add(z3.substitute(claim, *start))
    while guesses.check() == z3.sat:
        model = guesses.model()
        checks.push()
        checks.add(*(each == model.eval(each, True) for each in holes))
        if checks.check() == z3.unsat:
            return model
        wrong = checks.model()
        checks.pop()
        guesses.add(z3.substitute(claim, *((each, wrong.eval(each, True)) for each in inputs)))
    return None


def _lowest_by_hand(p: str) -> None:
    v, h = z3.BitVec(p + "v", 16), z3.BitVec(p + "h", 16)
    model = by_counterexamples([v], [h], v & (v - h) == v ^ (v & -v))
    assert model[h].as_long() == 1


@row("a constant for the lowest bit, 16 bits", _lowest_by_hand)
def _(p: str) -> None:
    v, h = bitvector(p + "v", 16), hole(width=16)
    assert synthesize(inputs=[v], guarantee=(v & (v - h)) == (v ^ (v & -v)))[h] == 1


def _choices_by_hand(p: str) -> None:
    x, y = z3.BitVecs([p + "x", p + "y"], 8)
    fresh, holes = itertools.count(), list[Any]()

    def chosen(*values: Any) -> Any:
        found = values[-1]
        for value in reversed(values[:-1]):
            holes.append(z3.Bool(f"{p}c{next(fresh)}"))
            found = z3.If(holes[-1], value, found)
        return found

    values: list[Any] = [x, y]
    for _ in range(3):
        a, b = chosen(*values), chosen(*values)
        values.append(chosen(a & b, a | b, a ^ b, a + b, a - b))
    assert by_counterexamples([x, y], holes, values[-1] == (x | y) - (x & y) + x) is not None


@row("choices among operators, three steps", _choices_by_hand)
def _(p: str) -> None:
    x, y = bitvector(p + "x", 8), bitvector(p + "y", 8)
    values = [x, y]
    for _ in range(3):
        a, b = choose(*values), choose(*values)
        values.append(choose(a & b, a | b, a ^ b, a + b, a - b))
    assert synthesize(inputs=[x, y], guarantee=values[-1] == (x | y) - (x & y) + x).status == "sat"


def _roots_by_hand(p: str) -> None:
    x, a, b = z3.Ints([p + c for c in "xab"])
    model = by_counterexamples([x], [a, b], x * x - 2 * x - 3 == (x - a) * (x - b))
    assert model[a].as_long() + model[b].as_long() == 2


@row("a polynomial's factors", _roots_by_hand)
def _(p: str) -> None:
    x, a, b = integer(p + "x"), hole(), hole()
    assert synthesize(inputs=[x], guarantee=x * x - 2 * x - 3 == (x - a) * (x - b))[a + b] == 2


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    fresh, ratios = itertools.count(), dict[str, float]()

    def seconds(question: Question) -> float:
        start = time.process_time()
        question(f"run{next(fresh)}_")
        return time.process_time() - start

    print("| | the core, ms | z3py, ms | ratio |\n|---|---|---|---|")
    for name, both in ROWS.items():
        if options.only in name:
            for question in both:
                seconds(question)
            times = [[seconds(question) for question in both] for _ in range(options.runs)]
            ours, theirs = (statistics.median(some) for some in zip(*times, strict=True))
            ratios[name] = ours / theirs
            print(f"| {name} | {1000 * ours:.3g} | {1000 * theirs:.3g} | {ratios[name]:.2g} |", flush=True)
    mean, worst = exp(statistics.mean(map(log, ratios.values()))), max(ratios, key=lambda name: ratios[name])
    print(f"\n{len(ratios)} questions: geometric mean {mean:.2f}, worst {ratios[worst]:.2g} ({worst})")


if __name__ == "__main__":
    main()
