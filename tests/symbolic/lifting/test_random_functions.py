"""Lifted functions against Python: random functions, run once on symbolic inputs, evaluated on random numbers.

On each input the obligations hold exactly where Python raises nothing, and the result is Python's. No solver is
asked: formulas are evaluated, so that only the interpreter is tried.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from symbolic.core.obligations import obligations
from symbolic.core.outcome import evaluated
from symbolic.core.values import integer
from symbolic.errors import SwizzleError
from symbolic.lifting.functions import lifted
from symbolic.solve.answer import Model
from tests.symbolic.lifting.random_functions import Box, Pair, Writer, function

NAMES = ["a", "b", "c", "x0", "x1", "x2"]
RAISED = (ArithmeticError, LookupError, TypeError, ValueError, AssertionError, NameError)

ALWAYS = ("whatever the inputs are", "returns for no input", "has no value yet")
"""What is said where a function fails for all inputs."""


def python_gives(run: Any, numbers: list[int]) -> Any:
    """Return what Python computes, or None with the error that it raises."""
    try:
        return run(*numbers[:3], list(numbers[3:])), None
    except RAISED as error:
        return None, error


def differences(seed: int, inputs: int) -> tuple[list[str], int]:
    """Return what differs for one function, and on how many inputs Python raised nothing."""
    text = Writer(seed).text()
    plain: dict[str, Any] = {"Pair": Pair, "Box": Box, "replace": replace}
    run = function(text, f"<plain {seed}>", plain)
    names = dict(plain)
    symbolic = function(text, f"<lifted {seed}>", names)
    names["g"] = lifted(names["g"])
    symbols = [integer(f"random_function_{name}") for name in NAMES]
    rng, wrong, returned = random.Random(seed), list[str](), 0
    rows = [[rng.randint(-4, 6) for _ in NAMES] for _ in range(inputs)]
    result: Any = None
    with obligations() as made:
        try:
            result = lifted(symbolic)(*symbols[:3], symbols[3:])
        except SwizzleError as error:
            if not any(said in error.found for said in ALWAYS):
                raise AssertionError(f"{error}\n{text}") from error
            return [f"{row}: {error}\n{text}" for row in rows if python_gives(run, row)[1] is None], 0
    for row in rows:
        known = {f"random_function_{name}": number for name, number in zip(NAMES, row, strict=True)}
        model = Model(lambda symbol, known=known: known[symbol.symbol_name()])
        broken = [each for each in made.made if not model.value(each.condition.formula)]
        wanted, error = python_gives(run, row)
        returned += error is None
        if bool(broken) != (error is not None):
            wrong.append(f"{row}: Python raised {error!r}, broken: {[(b.text, str(b.place)) for b in broken]}\n{text}")
        elif not broken and (found := evaluated(result, model)) != wanted:
            wrong.append(f"{row}: {found} and not {wanted}\n{text}")
    return wrong, returned


def tried(seeds: range, inputs: int) -> None:
    """Require that nothing differs, and that most functions return on some input."""
    returned = 0
    for seed in seeds:
        wrong, some = differences(seed, inputs)
        assert not wrong, wrong[0]
        returned += some > 0
    assert returned > len(seeds) // 2


def test_some_random_functions() -> None:
    """The first thirty."""
    tried(range(30), 12)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_three_thousand_random_functions(part: int) -> None:
    """All three thousand, in ten parts."""
    tried(range(300 * part, 300 * part + 300), 20)
