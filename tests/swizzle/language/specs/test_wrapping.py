"""Unsigned elements and Python's ints: one meaning, modulo two to the number of bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from swizzle import maximum, minimum
from swizzle.language.specs.specification import numbers
from swizzle.language.specs.verify import verify
from swizzle.language.specs.wrapping import unwrapped, wrapping_array
from tests.sketches import kernel

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: -1 * a + b,
        lambda a, b: a - 3 - b,
        lambda a, b: 5 - a,
        lambda a, b: -a,
        lambda a, b: ~a & b | -2,
        lambda a, b: (a ^ b) >> 3,
        lambda a, b: a << 5,
        lambda a, b: a // 7 + b % 5,
        lambda a, b: minimum(a, b) + maximum(-1, a),
    ],
)
def test_arithmetic_is_that_of_ints_modulo_the_range(function: Any, dtype: type[np.unsignedinteger[Any]]) -> None:
    """Each operator against Python's own ints."""
    top = int(np.iinfo(dtype).max) + 1
    a, b = RNG.integers(0, top, (2, 50), dtype=dtype)
    got = unwrapped([function(x, y) for x, y in zip(wrapping_array(a), wrapping_array(b), strict=True)])
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    extreme = "maximum" in function.__code__.co_names  # of -1, which is the largest
    wanted = [min(x, y) + top - 1 if extreme else function(x, y) for x, y in pairs]
    assert [int(value) for value in got] == [value % top for value in wanted]
    assert {type(value) for value in got} == {dtype}


@pytest.mark.parametrize("spec", ["[-1 * v for v in x]", "[0 - v for v in x]", "[-v for v in x]"])
def test_a_negated_unsigned_specification_has_numbers(spec: str) -> None:
    """What is proved on terms also runs on NumPy arrays."""
    sketch = kernel("i = cuda.grid(1)\ny[i] = -x[i]", spec=spec, arguments="x=u32[8], y=u32.out[8]")
    assert verify(sketch.program, sketch.spec).equal
    x = np.arange(8, dtype=np.uint32)
    assert numbers(sketch.program, sketch.spec, {"x": x})["y"].tolist() == [0, *range(2**32 - 1, 2**32 - 8, -1)]
