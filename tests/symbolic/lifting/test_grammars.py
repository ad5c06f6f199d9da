"""Grammars: what is shared by alternatives, against the programs that they stand for, run as Python."""

from __future__ import annotations

import random
from typing import Any

import pytest

from symbolic import choose, grammar, integer, lifted, obligations
from symbolic.solve.answer import Model

X, Y = integer("grammar x"), integer("grammar y")


@grammar
def arithmetic(x: Any, y: Any, depth: int) -> Any:
    """Operators of several arities, choices within choices, and what may fail."""
    if depth == 0:
        return choose(x, y, 1, 0)
    return choose(
        x,
        arithmetic(x, y, depth - 1) - arithmetic(x, y, depth - 1),
        arithmetic(x, y, depth - 1) // arithmetic(x, y=y, depth=depth - 1),
        -arithmetic(x, y, depth - 1),
        choose(arithmetic(y, x, depth - 1), 3 * arithmetic(x, y, depth - 1)) - arithmetic(x, y, depth - 1),
        arithmetic(x, y, depth - 1) if arithmetic(x, y, 0) < arithmetic(x, y, depth - 1) else arithmetic(y, x, 0),
    )


@lifted
def program(x: Any, y: Any) -> Any:
    """Two calls that are one unknown, and one by itself."""
    return choose(arithmetic(x, y, 2), 10 + arithmetic(x, y, 2)) - arithmetic(y, x, 1)


def test_shared_alternatives_are_the_programs_that_they_stand_for() -> None:
    """Whatever is chosen, the value is what the program's text computes, and an obligation is broken where it fails."""
    chosen, failed, texts = random.Random(0), 0, set()
    with obligations() as collected:
        value = program(X, Y)
    holes = sorted(program.unknowns(), key=str)
    assert 10 < len(holes) < 250
    for _ in range(400):
        given = {hole: chosen.random() < 0.3 for hole in holes}
        x, y = chosen.randrange(-5, 6), chosen.randrange(-5, 6)
        model = Model({**given, X.formula: x, Y.formula: y}.get)
        filled = program.evaluated(model)
        texts.add(filled.source)
        names: dict[str, Any] = {}
        exec(filled.source, names)
        broken = [each for each in collected.made if not model.value(each.condition.formula)]
        try:
            expected = names["program"](x, y)
        except ZeroDivisionError:
            failed += 1
            assert broken and broken[0].text == "division by zero: `//`"
        else:
            assert not broken, filled.source
            assert model.value(value.formula) == expected, filled.source
    assert len(texts) > 200 and 20 < failed < 380


@pytest.mark.parametrize(("depth", "most"), [(3, 40), (4, 90), (6, 400)])
def test_a_grammar_grows_with_its_largest_program(depth: int, most: int) -> None:
    """Of three operators of two operands each depth has about twice the unknowns of the one before, not six times."""

    @grammar
    def sums(x: Any, y: Any, depth: int) -> Any:
        if depth == 0:
            return choose(x, y)
        return choose(
            x,
            sums(x, y, depth - 1) + sums(x, y, depth - 1),
            sums(x, y, depth - 1) - sums(x, y, depth - 1),
            sums(x, y, depth - 1) * sums(x, y, depth - 1),
        )

    @lifted
    def f(x: Any, y: Any) -> Any:
        return sums(x, y, depth)

    f(X, Y)
    assert 2**depth < len(f.unknowns()) < most
