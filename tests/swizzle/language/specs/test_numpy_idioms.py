"""Specifications written with NumPy mean on data what NumPy makes of numbers, idiom by idiom."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from textwrap import dedent, indent
from typing import Any

import numpy as np
import pytest

from swizzle.language.specs.numpy_names import Names
from swizzle.language.specs.typed_scalars import symbolic_array
from symbolic.algebra.terms import Terms
from symbolic.ir.program import DType
from tests.swizzle.language.specs.numbers_of_terms import Numbers
from tests.swizzle.language.specs.numpy_idioms import BODIES, EXPRESSIONS, FLOATS, INTEGERS, OTHERS

TYPES = {
    **dict.fromkeys(FLOATS, DType.F32), **dict.fromkeys(INTEGERS, DType.I32),
    "u": DType.U32, "b": DType.I8, "i": DType.I32,
}  # fmt: skip
SHAPES = {**FLOATS, **INTEGERS, **OTHERS}
SEEDS = range(6)


def function_of(name: str, body: str) -> Callable[..., Any]:
    """Return the function that an idiom is, as if its text stood in a file."""
    body = dedent(body).strip()
    text = f"import numpy as np\ndef idiom({', '.join(SHAPES)}):\n{indent(body, '    ')}\n"
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    module: dict[str, Any] = {}
    exec(compile(text, file, "exec"), module)
    return module["idiom"]  # type: ignore[no-any-return]


def idioms() -> dict[str, Callable[..., Any]]:
    some = {name: f"return {text}" for name, text in EXPRESSIONS.items()} | BODIES
    assert len(some) == len(EXPRESSIONS) + len(BODIES)
    return {name: function_of(name, body) for name, body in some.items()}


def inputs(seed: int) -> dict[str, Any]:
    """Return numbers: odd ones at first; then small halves, among which there are zeros and twins."""
    random = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for name, shape in FLOATS.items():
        found[name] = random.uniform(-2, 2, shape) if seed % 2 else random.integers(-3, 4, shape) / 2
    found["p"] = np.abs(found["p"]) + 0.5
    for name, shape in INTEGERS.items():
        found[name] = random.integers(-9, 10, shape, dtype=np.int32)
    found["q"][found["q"] == 0] = 4
    found["u"] = random.integers(0, 100, OTHERS["u"], dtype=np.uint32)
    found["b"] = random.integers(-128, 128, OTHERS["b"]).astype(np.int32)  # as a specification is given them
    found["i"] = random.integers(0, 6, OTHERS["i"], dtype=np.int32)
    return {name: value if np.ndim(value) else np.asarray(value)[()] for name, value in found.items()}


def on_data(function: Callable[..., Any], terms: Terms) -> Any:
    terms.types.update(TYPES)
    return Names().of(function)(*(symbolic_array(terms, name, shape) for name, shape in SHAPES.items()))


def elements(value: Any) -> list[Any]:
    """Return what is in nested lists and arrays, with the shapes."""
    if isinstance(value, list | tuple):
        return [len(value), *(each for part in value for each in elements(part))]
    if isinstance(value, np.ndarray):
        return [*([] if value.ndim == 0 else [value.shape[0]]), *(
            [value.item()] if value.ndim == 0 else [each for part in value.tolist() for each in elements(part)]
        )]  # fmt: skip
    return [value]


def agrees(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, float | np.floating):
        return bool(np.isclose(float(found), float(wanted), rtol=1e-5, atol=1e-6, equal_nan=True))
    return bool(found == wanted)


def check(function: Callable[..., Any]) -> None:
    """Compare what a function makes of data, on numbers, with what NumPy makes of the numbers."""
    terms = Terms()
    returned = elements(on_data(function, terms))
    for seed in SEEDS:
        given = inputs(seed)
        numbers = Numbers(terms, given)
        wanted = elements(function(*(np.array(value) if np.ndim(value) else value for value in given.values())))
        assert len(returned) == len(wanted)
        for at, (element, want) in enumerate(zip(returned, wanted, strict=True)):
            assert agrees(numbers.value(element), want), (seed, at, numbers.value(element), want)


IDIOMS = idioms()


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_is_what_numpy_says(name: str) -> None:
    """Exactly for integers, to rounding for floats, with the same shapes."""
    with np.errstate(all="ignore"):
        check(IDIOMS[name])
