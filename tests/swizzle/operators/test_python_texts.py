"""Operators as texts for Triton, numba and JAX: run as they stand, where the library is not there on a stand-in."""

from __future__ import annotations

import math
import random
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle import SwizzleError
from swizzle.operators import operator_of
from swizzle.operators.find import Found
from swizzle.operators.loop import BOOL
from swizzle.operators.python_texts import DIALECTS, python_text
from swizzle.operators.samples import random_rows
from swizzle.sketches.loading import load_names
from symbolic.algebra.numbers import NUMPY_DTYPES
from tests.swizzle.operators.found import found_of

NAMES = [
    "total", "product", "argmax", "second_largest", "segmented_sum", "best_run", "average", "is_sorted", "softmax",
    "recurrence", "polynomial", "log_sum_exp", "parity", "flags_kept", "longest_run", "clamped",
    "odd_tens", "thirds",
]  # fmt: skip


class _Tensor(np.ndarray[Any, Any]):
    """What Triton's functions compute with: an array with a `.to`."""

    def to(self, kind: Any) -> Any:
        return self.astype(kind)


def _language() -> dict[str, types.ModuleType]:
    """Return modules with the names of each library that the texts use; their arrays are NumPy's."""
    tl, triton, jnp, jax = (types.ModuleType(name) for name in ("triton.language", "triton", "jax.numpy", "jax"))

    def tensor(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: np.asarray(function(*given)).view(_Tensor)

    for name in ("where", "maximum", "minimum", "exp", "log"):
        setattr(tl, name, tensor(getattr(np, name)))
    tl.where = tensor(lambda test, *some: np.where(test, *(np.int32(x) if type(x) is int else x for x in some)))  # type: ignore[attr-defined]
    tl.full = tensor(np.full)  # type: ignore[attr-defined]
    triton.jit, triton.language = (lambda function: function), tl  # type: ignore[attr-defined]
    for name in ("where", "maximum", "minimum", "exp", "log", "full", "shape", "asarray", "logical_and", "logical_or"):
        setattr(jnp, name, getattr(np, name))
    jnp.logical_not, jnp.inf, jnp.bool_ = np.logical_not, np.inf, np.bool_  # type: ignore[attr-defined]
    for kind in ("int32", "int64", "uint32", "uint64", "float32", "float64"):
        setattr(tl, kind, getattr(np, kind))
        setattr(jnp, kind, getattr(np, kind))
    jax.numpy = jnp  # type: ignore[attr-defined]
    return {"triton": triton, "triton.language": tl, "jax": jax, "jax.numpy": jnp, "numba": _numba()}


def _numba() -> types.ModuleType:
    """Return a module whose integers are Python's until they are converted, which wraps, as numba's 64 bits do."""
    numba = types.ModuleType("numba")

    def converted(kind: str) -> Callable[[Any], Any]:
        if kind.startswith("float"):
            return lambda value: float(getattr(np, kind)(value))
        bits, least = int(kind.lstrip("uint")), 0 if kind[0] == "u" else -(1 << int(kind.lstrip("int")) - 1)
        return lambda value: (int(value) - least) % (1 << bits) + least

    for kind in ("int32", "int64", "uint32", "uint64", "float32", "float64"):
        setattr(numba, kind, converted(kind))
    numba.cuda = types.SimpleNamespace(jit=lambda **_: lambda function: function)  # type: ignore[attr-defined]
    return numba


def run(text: str) -> dict[str, Any]:
    """Run a text, on the stand-ins, and return its names."""
    stand_ins, before = _language(), dict(sys.modules)
    sys.modules.update(stand_ins)
    try:
        names: dict[str, Any] = {}
        exec(compile(text, "operator.py", "exec"), names)
        return names
    finally:
        for name in stand_ins:
            sys.modules.pop(name)
            if name in before:
                sys.modules[name] = before[name]


def columns(found: Found, count: int) -> list[Any]:
    """Return random elements, an array each."""
    rows = random_rows(found.loop, random.Random(5), count)
    kinds = [np.bool_ if d is BOOL else NUMPY_DTYPES[d] for d in found.loop.elements.values()]
    return [
        np.array([float(each) for each in column], kind)
        for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)
    ]


def scanned(names: Mapping[str, Any], library: str, given: Sequence[Any]) -> list[Any]:
    """Return the results after each element: words by doubling, as `associative_scan` combines them, or a tree."""
    count = len(given[0])
    if library == "numba":
        words = [names["lift"](*(column[i].item() for column in given)) for i in range(count)]
    elif library == "triton":
        lifted = names["lift"](*(column.view(_Tensor) for column in given))
        lifted = lifted if isinstance(lifted, tuple) else (lifted,)
        words = [np.asarray(each) for each in lifted]
    else:
        words = [np.asarray(each) for each in names["lift"](*given)]
    step = 1
    while step < count:
        if library == "numba":
            words = [*words[:step], *(names["combine"](words[i - step], words[i]) for i in range(step, count))]
        else:
            left, right = [each[:-step] for each in words], [each[step:] for each in words]
            if library == "triton":
                both = names["combine"](*(each.view(_Tensor) for each in (*left, *right)))
                both = both if isinstance(both, tuple) else (both,)
            else:
                both = names["combine"](tuple(left), tuple(right))
            assert [np.asarray(each).dtype for each in both] == [each.dtype for each in words]
            words = [np.concatenate([old[:step], new]) for old, new in zip(words, both, strict=True)]
        step *= 2
    if library == "numba":
        results = [names["result"](each) for each in words]
        return list(zip(*results, strict=True)) if isinstance(results[0], tuple) else [results]
    results = names["result"](*words) if library == "triton" else names["result"](tuple(words))
    return list(results) if isinstance(results, tuple) else [results]


def check(name: str, library: str, names: Mapping[str, Any]) -> None:
    """Compare the results after each of some elements with the loop's own."""
    found = found_of(name)
    given = columns(found, 13)
    got = scanned(names, library, given)
    state = found.loop.start()
    for place, row in enumerate(zip(*(column.tolist() for column in given), strict=True)):
        state = found.loop.after([row], state)
        for result, want in zip(got, found.loop.finished(state), strict=True):
            assert math.isclose(float(result[place]), float(want), rel_tol=1e-4, abs_tol=1e-4), (name, place)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("library", DIALECTS)
def test_texts_scan_as_the_loops_do(library: str) -> None:
    """Every text, as it stands, on random elements."""
    for name in NAMES:
        assert found_of(name).status == "proved"
        check(name, library, run(python_text(found_of(name).with_identity, library, ["a test"])))


SHIFTED = """from swizzle import i32, serial

@serial
def shifted(x: i32):
    p, q = -1, 0
    for v in x:
        q = p if v == -1 else 3 * v
        p = v * v
    return q

@serial
def none(x: i32):
    s = 0
    for v in x:
        s = s + v
    return 3
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("library", DIALECTS)
def test_a_word_that_is_a_number_after_two_parts(library: str, tmp_path: Path) -> None:
    """It is an array like the others, and a part that is not read no warning; without a word nothing is scanned."""
    (tmp_path / "loops.py").write_text(SHIFTED)
    loops = load_names(tmp_path / "loops.py")
    found = operator_of(loops["shifted"].loop)  # type: ignore[attr-defined]
    assert any(each.constant for each in found.with_identity.combine.values())
    given, state = columns(found, 13), found.loop.start()
    got = scanned(run(python_text(found.with_identity, library, [])), library, given)
    for place, value in enumerate(given[0].tolist()):
        state = found.loop.after([[value]], state)
        assert got[0][place] == found.loop.finished(state)[0]
    if library != "numba":
        with pytest.raises(SwizzleError, match="none has no words"):
            python_text(operator_of(loops["none"].loop).with_identity, library, [])  # type: ignore[attr-defined]


def test_an_operator_for_triton() -> None:
    """The whole text: words one by one, conditions as numbers, a number that no element changes as a tensor."""
    text = python_text(found_of("average").with_identity, "triton", ["average"])
    assert text.startswith("# average\n\nimport triton\nimport triton.language as tl\n")
    assert "@triton.jit\ndef lift(" in text and "tl.full(v.shape, 1, tl." in text


@pytest.mark.parametrize("name", ["longest_run", "clamped"])
def test_infinities_of_whole_numbers(name: str) -> None:
    """They are the least and the greatest number of the type, and what is added to them changes nothing."""
    found = found_of(name)
    names = run(python_text(found.with_identity, "numba", []))
    carrier = found.with_identity
    assert carrier.identity is not None
    stands = {-math.inf: -(1 << 31), math.inf: (1 << 31) - 1}
    assert names["identity"] == tuple(stands.get(each.value, each.value) for each in carrier.identity.values())
    rng = random.Random(8)
    for rows in (random_rows(found.loop, rng, count) for count in (1, 2, 5)):
        words = names["identity"]
        for row in rows:
            lifted = names["lift"](*row)
            assert names["combine"](names["identity"], lifted) == names["combine"](lifted, names["identity"]) == lifted
            words = names["combine"](words, lifted)
        result = names["result"](words)
        assert (result if isinstance(result, tuple) else (result,)) == found.loop.finished(found.loop.after(rows))


@pytest.mark.skipif(find_spec("jax") is None, reason="needs JAX")
def test_jax_scans_it() -> None:
    """JAX itself, with its own associative scan."""
    import jax

    names: dict[str, Any] = {}
    exec(python_text(found_of("argmax").with_identity, "jax", []), names)
    given = columns(found_of("argmax"), 40)
    words = jax.lax.associative_scan(names["combine"], names["lift"](*given))
    wanted = np.maximum.accumulate(given[0])
    assert np.allclose(np.asarray(names["result"](words)[0]), wanted)
