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
from symbolic.core.values import all_of, any_of, bitvector, boolean, integer, select
from symbolic.solve.answer import Model, Sat, Unsat
from symbolic.solve.solver import Solver

m = get_env().formula_manager
ENGINES = [
    pytest.param("z3", 40),
    pytest.param("cvc5", 8),
    pytest.param("portfolio", 4),
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


def values_that_fit(symbols: list[Any], domains: list[range], condition: Any) -> list[tuple[int, ...]]:
    """Return every assignment under which the condition holds, by trying all."""
    boolean_ = all(domain == range(2) for domain in domains)
    found = []
    for values in itertools.product(*domains):
        given = [bool(v) for v in values] if boolean_ else values
        if Model({s.formula: v for s, v in zip(symbols, given, strict=True)}.get).value(condition.formula):
            found.append(values)
    return found


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
