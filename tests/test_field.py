"""Field multiplication: the printed text on the CPU emulation against galois, an implementation that is not ours."""

from __future__ import annotations

import random
import shutil
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cuda_out.emulate.emulate import emulate_checked
from swizzle import Sketch, Solution, load, solve
from swizzle.answers.emit.emitters import cuda_source
from swizzle.language.specs.verify import verify
from swizzle.solving.solution.filling import fill_from
from tests.slow_cases import slow_unless

FIELD = Path(__file__).parents[1] / "case_studies" / "field.py"
DEGREES = (32, 64, 96, 128, 192, 256, 320, 384)
needs_cpp = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler (g++ or clang++)"
)


@pytest.fixture(scope="module")
def galois() -> ModuleType:
    return pytest.importorskip("galois")


def polynomial(galois: ModuleType, degree: int) -> Any:
    """Return the polynomial that the specification reduces by: what x times x^(degree - 1) becomes, and x^degree."""
    (sketch,) = load(FIELD, "register", {"degree": degree, "grid": 1})
    x, highest = np.zeros((2, degree), np.uint32)
    x[1] = highest[degree - 1] = 1
    low = [int(word) for word in sketch.spec(x, highest)]
    return galois.Poly.Degrees([degree, *(p for p in range(degree) if low[p])])


def sliced(elements: list[int], degree: int) -> np.ndarray[Any, Any]:
    """Return 32 elements bit-sliced: bit j of word p is coefficient p of element j."""
    return np.array([sum((e >> p & 1) << j for j, e in enumerate(elements)) for p in range(degree)], np.uint32)


@pytest.mark.parametrize("degree", slow_unless(DEGREES, (64).__eq__))
def test_the_polynomial_is_irreducible(galois: ModuleType, degree: int) -> None:
    """What the specification reduces by makes a field."""
    assert polynomial(galois, degree).is_irreducible()


@cache
def part(name: str) -> Solution:
    """Return the solution of a sketch of one device function, at two chunks."""
    (sketch,) = load(FIELD, name, {"degree": 64, "grid": 1})
    return solve(sketch).best


def composed(name: str, degree: int, grid: int = 2) -> Sketch:
    """Return a field multiplication, filled with what was found at two chunks."""
    (sketch,) = load(FIELD, name, {"degree": degree, "grid": grid})
    for source in sketch.filled_from:
        sketch = fill_from(sketch, part(source.name))
    assert sketch.program.holes == ()
    return sketch


@pytest.mark.parametrize(
    ("name", "degree"),
    slow_unless(((n, d) for n in ("register", "shared") for d in (64, 96)), lambda case: case == ("shared", 64)),
)
def test_all_inputs(name: str, degree: int) -> None:
    """The kernel is the schoolbook product and long division, for all inputs."""
    sketch = composed(name, degree, grid=1)
    assert verify(sketch.program, sketch.spec).equal


@pytest.mark.slow
def test_the_whole_is_solved_from_its_parts() -> None:
    """The sketches of the device functions are solved first; the answer says which hole is from which."""
    (sketch,) = load(FIELD, "register", {"degree": 32, "warp_size": 16, "grid": 1})
    result = solve(sketch)
    assert (result.status, result.best.program.holes) == ("sat", ())
    assert [hole.found_in for hole in result.best.holes] == ["product"] * 3 + ["shift"] * 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["product", "product_shared"])
def test_the_product_is_found(name: str) -> None:
    """One statement multiplies any number of chunks."""
    (sketch,) = load(FIELD, name, {"degree": 64, "grid": 1})
    result = solve(sketch)
    assert (result.status, result.space, result.optimal) == ("sat", "1", True)
    assert result.best.cost == {"accumulates": 1}


@needs_cpp
@pytest.mark.parametrize(
    ("name", "degree"),
    slow_unless(
        [*(("register", degree) for degree in DEGREES), ("shared", 32), ("shared", 384)],
        lambda case: case in (("register", 32), ("shared", 32)),
    ),
)
def test_the_printed_text_multiplies_in_the_field(galois: ModuleType, name: str, degree: int) -> None:
    """Two warps of random elements, 0, 1, and the largest are multiplied as galois does it."""
    sketch = composed(name, degree)
    source, modulus, rng = cuda_source(sketch.program), polynomial(galois, degree), random.Random(degree)
    most = (1 << degree) - 1
    a = [0, 1, most, most, *(rng.getrandbits(degree) for _ in range(60))]
    b = [most, most, most, 1 << degree - 1, *(rng.getrandbits(degree) for _ in range(60))]
    inputs = [np.concatenate([sliced(e[:32], degree), sliced(e[32:], degree)]) for e in (a, b)]
    found = np.zeros(2 * degree, np.uint32)
    emulate_checked(source.text, source.entry, sketch.program.grid, sketch.program.block, [*inputs, found])
    products = [int(galois.Poly.Int(x) * galois.Poly.Int(y) % modulus) for x, y in zip(a, b, strict=True)]
    wanted = np.concatenate([sliced(products[:32], degree), sliced(products[32:], degree)])
    np.testing.assert_array_equal(found, wanted)
