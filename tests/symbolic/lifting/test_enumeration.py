"""Programs of a grammar by cost: each is what its derivation says, and none has the values of a cheaper one."""

from __future__ import annotations

from typing import Any

import pysmt.operators as op
import pysmt.shortcuts as smt

from symbolic.lifting.enumeration import _Programs
from symbolic.lifting.rules import Alternative, Productions, Slot
from symbolic.solve.columns import column
from symbolic.solve.floor_division import manager

GIVEN = {"x": [3, -7, 0, 12], "y": [5, 5, -2, 1]}
X, Y, S, T = (manager().Symbol(f"enumerated_{name}", smt.INT) for name in "xyst")


def rules_over(inner: Productions) -> Productions:
    """Return rules of x, and sums, differences and products by -1 of what inner rules give."""
    both = (Slot(S, inner, None), Slot(T, inner, None))
    alternatives = [
        Alternative(0, X, ()),
        Alternative(1, manager().Plus(S, T), both),
        Alternative(2, manager().Minus(S, T), both),
        Alternative(1, manager().Times(S, manager().Int(-1)), both[:1]),
    ]
    return Productions(tuple(alternatives), None)


def test_a_program_is_what_its_derivation_says() -> None:
    """Of three levels of rules: each row of a bank, by its own alternatives, one after the other."""
    leaves = Productions((Alternative(0, X, ()), Alternative(0, Y, ()), Alternative(1, manager().Int(1), ())), None)
    rules = rules_over(rules_over(leaves))
    programs = _Programs({X: column(GIVEN["x"], smt.INT), Y: column(GIVEN["y"], smt.INT)}, 4, lambda: False)

    def value(inner: Productions, derivation: Any) -> tuple[int, list[int]]:
        number, parts = derivation
        alternative = inner.alternatives[number]
        given = [value(slot.rules, part) for slot, part in zip(alternative.slots, parts, strict=True)]
        columns = [each for _, each in given]
        leaf = GIVEN["x"] if alternative.formula is X else GIVEN["y"] if alternative.formula is Y else [1] * 4
        match alternative.formula.node_type():
            case op.PLUS:
                made = [a + b for a, b in zip(*columns, strict=True)]
            case op.MINUS:
                made = [a - b for a, b in zip(*columns, strict=True)]
            case op.TIMES:
                made = [-a for a in columns[0]]
            case _:
                made = leaf
        return alternative.own + sum(cost for cost, _ in given), made

    seen = set[tuple[int, ...]]()
    for cost in range(rules.most + 1):
        level, bank = programs.level(rules, cost)
        for place in level:
            row = [int(number) for number in bank.rows[place]]
            assert value(rules, programs.derivation(rules, place)) == (cost, row)
            assert tuple(row) not in seen
            seen.add(tuple(row))
    assert rules.most == 10 and len(seen) > 100
