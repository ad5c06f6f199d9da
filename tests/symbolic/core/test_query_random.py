"""Random small queries of every sort on every engine, against trying all values."""

from __future__ import annotations

import itertools
import operator
import random
from fractions import Fraction
from typing import Any

import pytest
from pysmt.environment import get_env
from pysmt.typing import REAL

from symbolic.core.query import solve, verify
from symbolic.core.values import all_of, any_of, bitvector, boolean, function, integer, real, select
from symbolic.solve.answer import Model, Sat, Unsat
from symbolic.solve.solver import Solver
from symbolic.solve.tables import Table

m = get_env().formula_manager
ENGINES = [
    pytest.param("z3", 40),
    pytest.param("cvc5", 5),
    pytest.param("portfolio", 2),
    pytest.param("z3", 300, marks=pytest.mark.slow),
    pytest.param("cvc5", 300, marks=pytest.mark.slow),
    pytest.param("portfolio", 300, marks=pytest.mark.slow),
]
SMALL = range(-3, 4)


def number(chosen: random.Random, symbols: list[Any], depth: int) -> Any:
    """Return a random expression over symbols of one kind."""
    if depth == 0 or chosen.random() < 0.2:
        return chosen.choice(symbols) + (chosen.randrange(4) if chosen.random() < 0.5 else 0)
    a, b = (number(chosen, symbols, depth - 1) for _ in range(2))
    kind = chosen.randrange(6)
    if kind == 0:
        return select(truth(chosen, symbols, depth - 1), a, b)
    if kind == 1:
        return chosen.choice([operator.floordiv, operator.mod])(a, chosen.choice([2, 3]))
    return chosen.choice([operator.add, operator.sub, operator.mul])(a, b)


def truth(chosen: random.Random, symbols: list[Any], depth: int) -> Any:
    """Return a random condition over symbols of one kind."""
    if depth > 0 and chosen.random() < 0.5:
        a, b = (truth(chosen, symbols, depth - 1) for _ in range(2))
        return chosen.choice([all_of, any_of, operator.xor])(a, b)
    a, b = (number(chosen, symbols, max(0, depth - 1)) for _ in range(2))
    return chosen.choice([operator.eq, operator.eq, operator.ne, operator.lt, operator.ge])(a, b)


def proposition(chosen: random.Random, symbols: list[Any], depth: int) -> Any:
    """Return a random condition over Booleans."""
    if depth == 0:
        return chosen.choice(symbols)
    a, b = (proposition(chosen, symbols, depth - 1) for _ in range(2))
    return chosen.choice([all_of, any_of, operator.xor, operator.eq, lambda p, q: select(p, q, ~p)])(a, b)


def query(chosen: random.Random, sort: str) -> tuple[list[Any], list[range], Any]:
    """Return symbols, the values that each may have, and a condition on them."""
    if sort == "integer":
        symbols: list[Any] = [integer(f"random_{name}") for name in "xy"]
        inside = all_of(*(all_of(s >= SMALL[0], s <= SMALL[-1]) for s in symbols))
        return symbols, [SMALL, SMALL], all_of(inside, truth(chosen, symbols, 2))
    if sort == "boolean":
        symbols = [boolean(f"random_{name}") for name in "pqr"]
        return symbols, [range(2)] * 3, all_of(*(proposition(chosen, symbols, 2) for _ in range(3)))
    signed, width = sort == "signed", chosen.choice([3, 4])
    symbols = [bitvector(f"random_{name}{width}", width, signed=signed) for name in "vw"]
    return symbols, [range(1 << width)] * 2, truth(chosen, symbols, 2)


def conversion(chosen: random.Random) -> tuple[list[Any], list[Any], Any]:
    """Return a condition on an integer and the bits of a word, each as the other."""
    width, signed = chosen.choice([2, 3]), chosen.random() < 0.5
    x, v = integer("random_x"), bitvector(f"random_v{width}", width, signed=signed)
    to = chosen.randrange(1, 6)

    def numbers(depth: int) -> Any:
        a = chosen.choice([x, v.to_integer(), x.to_bitvector(to, signed=signed).to_integer()])
        return a if depth == 0 else chosen.choice([operator.add, operator.sub])(a, numbers(depth - 1))

    def words(depth: int) -> Any:
        a = chosen.choice([x.to_bitvector(to, signed=signed), v.resize(to), numbers(1).to_bitvector(to, signed=signed)])
        return a if depth == 0 else chosen.choice([operator.add, operator.xor, operator.sub])(a, words(depth - 1))

    make = chosen.choice([numbers, words])
    tests = [chosen.choice([operator.eq, operator.ne, operator.lt])(make(1), make(1)) for _ in "12"]
    return [x, v], [SMALL, range(1 << width)], all_of((x >= SMALL[0]) & (x <= SMALL[-1]), any_of(*tests))


def applied(chosen: random.Random) -> tuple[list[Any], list[Any], Any]:
    """Return a condition on two words of a bit, at times of two, and a function of them."""
    width = 1 if chosen.random() < 0.9 else 2
    v, w = bitvector(f"random_v{width}", width), bitvector(f"random_w{width}", width)
    f, size = function(f"random_f{width}", [v], v), 1 << width

    def word(depth: int) -> Any:
        if depth == 0:
            return chosen.choice([v, w])
        return chosen.choice([lambda: f(word(depth - 1)), lambda: f(word(depth - 1)), lambda: word(depth - 1) + 1])()

    tests = [chosen.choice([operator.eq, operator.ne, operator.lt])(word(2), word(1)) for _ in range(3)]
    tables = [Table({(i,): t for i, t in enumerate(row)}, 0) for row in itertools.product(range(size), repeat=size)]
    return [v, w, f], [range(size), range(size), tables], chosen.choice([all_of, all_of, any_of])(*tests)


def values_that_fit(symbols: list[Any], domains: list[Any], condition: Any) -> list[tuple[Any, ...]]:
    """Return every assignment under which the condition holds, by trying all."""
    boolean_ = all(domain == range(2) for domain in domains)
    found = []
    for values in itertools.product(*domains):
        given = [bool(v) for v in values] if boolean_ else values
        if Model({getattr(s, "symbol", None) or s.formula: v for s, v in zip(symbols, given, strict=True)}.get).value(
            condition.formula
        ):
            found.append(values)
    return found


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("solver", "count"), ENGINES)
@pytest.mark.parametrize("sort", ["boolean", "integer", "unsigned", "signed"])
def test_solve_and_verify_agree_with_trying_all_values(solver, count, sort):
    """A query is sat exactly where some values fit, its values are such, and what is verified holds of all."""
    chosen = random.Random(f"{solver} {sort}")
    verdicts = set()
    for _ in range(count):
        symbols, domains, condition = query(chosen, sort)
        fitting = values_that_fit(symbols, domains, condition)
        outcome = solve(condition, solver=solver)
        assert outcome.status == ("sat" if fitting else "unsat"), condition.formula.serialize()
        verdicts.add(outcome.status)
        if fitting:
            assert (
                tuple(
                    int(outcome[s]) % len(d) if d[0] == 0 else outcome[s] for s, d in zip(symbols, domains, strict=True)
                )
                in fitting
            )
        always = len(fitting) == len(list(itertools.product(*domains)))
        if sort != "integer":
            assert verify(condition, solver=solver).status == ("unsat" if always else "sat")
    assert count < 40 or verdicts == {"sat", "unsat"}, "both answers are tried"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("solver", "count"), ENGINES)
@pytest.mark.parametrize("sort", [conversion, applied])
def test_conversions_and_functions_agree_with_trying_all_values(solver, count, sort):
    """A query is sat exactly where some values, and some function, fit; what is found is such."""
    chosen, verdicts = random.Random(f"{solver} {sort.__name__}"), set()
    for _ in range(count):
        symbols, domains, condition = sort(chosen)
        fitting = values_that_fit(symbols, domains, condition)
        outcome = solve(condition, solver=solver)
        assert outcome.status == ("sat" if fitting else "unsat"), condition.formula.serialize()
        verdicts.add(outcome.status)
        if fitting:
            assert outcome[condition] is True
            table = outcome[symbols[-1]]
            if isinstance(table, Table):
                found = tuple(table(i) for i in range(4))
                assert (*outcome[symbols[:-1]], found) in [(*row, tuple(t(i) for i in range(4))) for *row, t in fitting]
    assert count < 40 or verdicts == {"sat", "unsat"}, "both answers are tried"


def line(chosen: random.Random, x: Any, depth: int) -> tuple[Any, list[tuple[Fraction, Fraction]], list[Fraction]]:
    """Return a number made of a real x by pieces, the lines a * x + b of its pieces, and where it may change."""
    if depth == 0 or chosen.random() < 0.4:
        a, b = (Fraction(chosen.randrange(-4, 5), chosen.randrange(1, 4)) for _ in "ab")
        return chosen.choice([a * x + b, b - x * -a]), [(a, b)], []
    condition, changes = real_condition(chosen, x, depth - 1)
    (p, ps, one), (q, qs, other) = (line(chosen, x, depth - 1) for _ in "pq")
    return select(condition, p, q), ps + qs, changes + one + other


def real_condition(chosen: random.Random, x: Any, depth: int) -> tuple[Any, list[Fraction]]:
    """Return a condition on a real x, and where it may change."""
    if depth > 0 and chosen.random() < 0.5:
        (a, one), (b, other) = (real_condition(chosen, x, depth - 1) for _ in "ab")
        return chosen.choice([operator.and_, operator.or_, operator.xor])(a, b), one + other
    (p, ps, one), (q, qs, other) = (line(chosen, x, depth) for _ in "pq")
    meet = [(d - b) / (a - c) for a, b in ps for c, d in qs if a != c]
    return chosen.choice([operator.eq, operator.ne, operator.lt, operator.ge])(p, q), one + other + meet


@pytest.mark.parametrize(("solver", "count"), ENGINES)
def test_conditions_on_a_real_agree_with_looking_between_all_changes(solver, count):
    """What is piecewise linear is tried where it may change, and between, and beyond."""
    x, chosen, verdicts = real("random_real"), random.Random(f"{solver} lines"), set()
    for _ in range(count):
        condition, changes = real_condition(chosen, x, 2)
        condition &= (x >= -3) & (x * 2 <= 7)
        edges = sorted({*changes, Fraction(-3), Fraction(7, 2)})
        points = [*edges, *((a + b) / 2 for a, b in itertools.pairwise(edges))]
        fits = [Model({x.formula: point}.get).value(condition.formula) for point in points]
        outcome = solve(condition, solver=solver)
        assert outcome.status == ("sat" if any(fits) else "unsat"), condition.formula.serialize()
        verdicts.add(outcome.status)
        if any(fits):
            assert outcome[condition] is True and isinstance(outcome[x], Fraction)
    assert count < 40 or verdicts == {"sat", "unsat"}, "both answers are tried"


@pytest.mark.parametrize(("solver", "count"), ENGINES)
def test_reals_agree_with_elimination(solver, count):
    """Two random equations over two reals have the solution that Cramer's rule gives, or none, or many."""
    x, y = m.Symbol("random_real_x", REAL), m.Symbol("random_real_y", REAL)
    chosen = random.Random(f"{solver} reals")
    for _ in range(count):
        (a, b, e), (c, d, f) = [
            [Fraction(chosen.randrange(-9, 10), chosen.randrange(1, 4)) for _ in range(3)] for _ in "12"
        ]
        rows = [
            m.Equals(m.Plus(m.Times(m.Real(p), x), m.Times(m.Real(q), y)), m.Real(r))
            for p, q, r in ((a, b, e), (c, d, f))
        ]
        with Solver(solver) as engine:
            engine.add(rows)
            answer = engine.check()
        determinant = a * d - b * c
        if determinant:
            assert isinstance(answer, Sat)
            assert answer.model.value(x) == (e * d - b * f) / determinant
            assert answer.model.value(y) == (a * f - e * c) / determinant
        else:
            contradiction = a * f != e * c or b * f != e * d or (a, b, c, d) == (0, 0, 0, 0) != (e, f)
            none = contradiction or ((a, b) == (0, 0) and e != 0) or ((c, d) == (0, 0) and f != 0)
            assert isinstance(answer, Unsat if none else Sat)


def test_z3_keeps_each_of_many_values():
    """Values that are read one after the other do not turn into the last one."""
    symbols = [integer(f"random_many_{i}") for i in range(50)]
    outcome = solve(*(s == i - 25 for i, s in enumerate(symbols)))
    assert [outcome[s] for s in symbols] == list(range(-25, 25))


def test_an_irrational_answer_is_unknown():
    """The square root of two is no Fraction: z3's answer is unknown, not a wrong number."""
    r = m.Symbol("random_root", REAL)
    with Solver("z3") as engine:
        engine.add([m.Equals(m.Times(r, r), m.Real(2))])
        assert "irrational" in engine.check().reason
