"""Random specifications mean what Python means: the same text, run by Python, gives the same numbers and terms."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from swizzle import SwizzleError, maximum, minimum, zeros
from swizzle.language.source.kernel_source import Source, split_lines
from swizzle.language.specs.function import SequentialFunction
from swizzle.language.specs.swz_names import define, names_of
from symbolic.algebra.datum import Datum, SymbolicArray
from symbolic.algebra.terms import Terms
from tests.swizzle.language.specs.random_specifications import SHAPES, Writer


def read(text: str) -> SequentialFunction:
    """Return the last function of a text, as a `.swz` file has it."""
    names: dict[str, Any] = {}
    source, meaning = Source("random.swz", split_lines(text)), names_of(names, {})
    for node in ast.parse(text).body:
        assert isinstance(node, ast.FunctionDef)
        names[node.name] = define(node, source, meaning)
    return names["wanted"]  # type: ignore[no-any-return]


def plain(value: Any) -> Any:
    """Return what can be compared: terms by their numbers, arrays and tuples as lists with their types."""
    if isinstance(value, np.ndarray):
        return [plain(part) for part in value.tolist()] if value.dtype == object else value.tolist()
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(plain, value)]
    return ("term", value.term) if isinstance(value, Datum) else value


def given(terms: Terms | None) -> list[Any]:
    """Return the inputs: symbols, or numbers."""
    if terms is not None:
        return [SymbolicArray(terms, name, shape) for name, shape in SHAPES.items()]
    return [np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) * 3 - 7 for shape in SHAPES.values()]


def ended(function: Any, terms: Terms | None) -> tuple[Any, str]:
    """Return what a function gives, or the exception that it raises."""
    try:
        with np.errstate(all="ignore"):
            return plain(function(*given(terms))), ""
    except (ArithmeticError, LookupError, ValueError, AssertionError, RecursionError, SwizzleError) as error:
        return None, type(error).__name__ + f": {error}"


def extreme(numbers: Callable[..., Any], data: Callable[..., Any]) -> Callable[..., Any]:
    """Return Python's `min` or `max`, of ints as it is and of data as a Python specification writes it."""

    def chosen(*values: Any) -> Any:
        items = values[0] if len(values) == 1 else values
        return numbers(items) if all(type(item) is int for item in items) else data(*items)

    return chosen


PYTHON: dict[str, Any] = {
    "zeros": zeros, "minimum": extreme(min, minimum), "maximum": extreme(max, maximum), "max": extreme(max, maximum),
}  # fmt: skip
"""What is not Python's own."""


def tried(seeds: range) -> None:
    """Compare with Python, on symbols and on numbers; most specifications return."""
    returned = 0
    for seed in seeds:
        text = Writer(seed).text()
        module = dict(PYTHON)
        exec(compile(text, "random.swz", "exec"), module)
        function = read(text)
        for terms in (Terms(), None):
            wanted, error = ended(module["wanted"], terms)
            found, mistake = ended(function, terms)
            if "more than 4096 bits" in mistake:  # a limit that Python has not
                continue
            assert bool(error) == bool(mistake), (
                f"seed {seed}: Python {error or wanted}, here {mistake or found}\n{text}"
            )
            assert found == wanted, f"seed {seed}: {found}, and Python {wanted}\n{text}"
            returned += not error
    assert returned > len(seeds)  # of two runs each


def test_some_random_specifications() -> None:
    """The first eighty."""
    tried(range(80))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_random_specifications(part: int) -> None:
    """Five thousand more, in ten parts."""
    tried(range(80 + 500 * part, 580 + 500 * part))
