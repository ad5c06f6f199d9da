"""The words of no element in every text: together they are themselves, so that a tree may be filled up with them."""

from __future__ import annotations

import subprocess
from functools import cache
from math import exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle import f32, operator, scan_operator, serial
from swizzle.operators import found_of
from swizzle.operators.find import Found
from swizzle.operators.python_texts import DIALECTS, python_text
from swizzle.sketches.loading import load_names
from tests.swizzle.operators.test_cub import COMPILER, printed, program
from tests.swizzle.operators.test_python_texts import run

ELEMENTS = (1.0, 2.0, 4.0)


@serial
def variance(x: f32):  # type: ignore[no-untyped-def]
    n, mean, m2 = 0, 0.0, 0.0
    for v in x:
        n = n + 1
        d = v - mean
        mean = mean + d / n
        m2 = m2 + d * (v - mean)
    return m2


@serial
def softmax(x: f32):  # type: ignore[no-untyped-def]
    m, s = -inf, 0
    for v in x:
        n = max(m, v)
        s = s * exp(m - n) + exp(v - n)
        m = n
    return s


@serial
def log_sum_exp(x: f32):  # type: ignore[no-untyped-def]
    s = -inf
    for v in x:
        s = log(exp(s) + exp(v))
    return s


@serial
def mean(x: f32):  # type: ignore[no-untyped-def]
    s, n = 0, 0
    for v in x:
        s += v
        n += 1
    return s / n


@serial
def best_run(x: f32):  # type: ignore[no-untyped-def]
    here, best = 0, -inf
    for v in x:
        here = max(here + v, v)
        best = max(best, here)
    return best


@serial
def weighted_mean(x: f32, w: f32):  # type: ignore[no-untyped-def]
    n, m = 0, 0
    for v, q in zip(x, w, strict=True):
        n = n + q
        m = m + (v - m) * q / n
    return m


LOOPS = {each.name: each for each in (variance, softmax, log_sum_exp, mean, best_run)}


@cache
def found(name: str) -> Found:
    """Return what is found of a loop."""
    return found_of(LOOPS[name])


def tree(combine: Any, words: list[Any]) -> Any:
    """Combine neighbours, as a warp does that has words of no element in its last lanes."""
    while len(words) > 1:
        words = [combine(*words[at : at + 2]) for at in range(0, len(words), 2)]
    return words[0]


@pytest.mark.parametrize(
    ("name", "library"),
    [
        (name, library)
        for name in LOOPS for library in DIALECTS
        if (name, library) != ("log_sum_exp", "numba")  # whose stand-in has Python's log, of 0 too
    ],
)  # fmt: skip
def test_a_tree_that_is_filled_up(name: str, library: str) -> None:
    """Three elements in eight places, in each Python text."""
    names = run(python_text(found(name).with_identity, library, []))
    flat = library == "triton"  # which takes the words of both parts one by one

    def combine(a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):  # where() has what it does not choose, too
            both = names["combine"](*a, *b) if flat else names["combine"](a, b)
        return both if isinstance(both, tuple) else (both,)

    def lifted(v: float) -> Any:
        words = names["lift"](np.float32(v).view() if library == "numba" else np.full((), v, np.float32))
        return words if isinstance(words, tuple) else (words,)

    empty = names["identity"] if library == "numba" else tuple(map(np.float32, names["identity"]))
    assert tuple(map(float, combine(empty, empty))) == tuple(map(float, empty))
    words = tree(combine, [*map(lifted, ELEMENTS), *[empty] * 5])
    result = names["result"](*words) if flat else names["result"](words)
    assert float(result) == pytest.approx(LOOPS[name](list(ELEMENTS)), rel=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", LOOPS)
def test_a_tree_that_is_filled_up_in_c(name: str, tmp_path: Path) -> None:
    """The same of the header for CUB, whose struct has `identity()`."""
    assert COMPILER is not None
    (tmp_path / "operator.cuh").write_text(printed(found(name)))
    text = program(found(name), len(ELEMENTS))
    count = len(ELEMENTS)
    text = text.replace(f"Words w[{count}];", "Words w[8];")
    text = text.replace(f"Words all = tree(w, {count});", "Words all = tree8(w);")
    eight = (
        "static Words tree8(Words *w) {\n"
        f"    for (int i = {count}; i < 8; i++) w[i] = identity();\n"
        "    for (int d = 4; d; d /= 2) for (int i = 0; i < d; i++) w[i] = Combine()(w[2 * i], w[2 * i + 1]);\n"
        "    return w[0];\n}\nint main() {"
    )
    (tmp_path / "main.cpp").write_text(text.replace("int main() {", eight))
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror"]
    subprocess.run([COMPILER, *flags, "main.cpp", "-o", "main"], cwd=tmp_path, check=True)
    given = " ".join(map(str, ELEMENTS))
    done = subprocess.run([tmp_path / "main"], input=given, capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(LOOPS[name](list(ELEMENTS)), rel=1e-5)


def test_a_kernel_s_operator_is_the_same() -> None:
    """What sketches and scans take has the same words of no element, and the same combine."""
    for name in LOOPS:
        assert scan_operator(LOOPS[name]).operator is not None


def test_words_that_are_not_themselves_together_are_no_identity() -> None:
    """Of an operator that somebody wrote down nothing is changed: it has no words of no element."""

    @operator
    def summed(a: (f32, f32), b: (f32, f32)):  # type: ignore[no-untyped-def, valid-type]
        m = max(a[0], b[0])
        return m, a[1] * exp(a[0] - m) + b[1] * exp(b[0] - m)

    judged = found_of(summed)
    assert judged.status == "proved" and judged.proofs is not None and judged.proofs.identity is None
    assert "together with themselves" in judged.proofs.laws["left_identity"].reason


def test_divisors_that_elements_may_make_zero_are_said() -> None:
    """Weights may cancel; the number of elements does not. An element of no weight changes nothing."""
    unsaid, said = found(variance.name), found_of(weighted_mean)
    assert unsaid.divisors == () and said.divisors == ("q", "n_a + n_b")
    carrier = said.with_identity
    words = carrier.joined(carrier.lifted((3.0, 2.0)), carrier.lifted((7.0, 0.0)))
    assert carrier.finished(words) == (3.0,)

    @serial(where=lambda v, q: q > 0)
    def weighed(x: f32, w: f32):  # type: ignore[no-untyped-def]
        n, m = 0, 0
        for v, q in zip(x, w, strict=True):
            n = n + q
            m = m + (v - m) * q / n
        return m

    assert found_of(weighed).divisors == ()


def test_a_result_that_no_element_has() -> None:
    """A mean of nothing is no number, of the loop and of the operator: nothing is said, and nothing fails."""
    assert found("mean").empty is None
    assert found("mean").status == "proved"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("s = s * v / v + w", ("v",)),
        ("s = (s * w + v * w) / w", ("w",)),
        ("s = s + v / w", ("w",)),
        ("s = s / (1 + s)", ("s + 1",)),
        ("s = s + (v / w if w != 0 else 5)", ()),
        ("s = s * v / v + w if v != 0 else s", ()),
        ("s = s + v / (1 + w * w)", ()),
    ],
)
def test_divisors_that_cancel_are_said(tmp_path: Path, step: str, said: tuple[str, ...]) -> None:
    """Real numbers have `s * v / v` for s, and the loop has no number there where v is 0."""
    text = f"@serial\ndef f(x: f32, y: f32):\n    s = 1\n    for v, w in zip(x, y):\n        {step}\n    return s\n"
    (tmp_path / "loops.py").write_text(f"from swizzle import f32, serial\n{text}")
    judged = found_of(load_names(tmp_path / "loops.py")["f"])  # type: ignore[arg-type]
    assert (judged.status, judged.divisors) == ("proved", said)


@pytest.mark.parametrize("value", ["a * b / a", "a / a * b"])
def test_an_operator_that_divides_by_a_value_has_laws(tmp_path: Path, value: str) -> None:
    """Samples of words of which one is 0 say nothing of it."""
    text = f"from swizzle import f32, operator\n@operator\ndef f(a: f32, b: f32):\n    return {value}\n"
    (tmp_path / "operators.py").write_text(text)
    assert found_of(load_names(tmp_path / "operators.py")["f"]).divisors == ("value_a",)  # type: ignore[arg-type]
