"""The printed C++ of operators, compiled by the host's compiler and run against the serial loop."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_out.c.emitter import c_name, c_names
from cuda_out.compile.toolchain import available_tools, compile_cuda
from swizzle import serial, u32
from swizzle.operators import operator_of
from swizzle.operators.cub import C_TYPES, cub
from swizzle.operators.find import Found
from swizzle.operators.samples import random_rows
from swizzle.sketches.loading import load_names
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import bits, constant, modulo, multiply
from tests.slow_cases import slow_unless
from tests.swizzle.operators.found import found_of

COMPILER = shutil.which("g++") or shutil.which("clang++")
NAMES = [
    "total", "argmax", "second_largest", "segmented_sum", "best_run", "atoi", "blocks", "balanced", "is_sorted",
    "line_of_sight", "odd_tens", "recurrence", "softmax", "log_sum_exp", "average", "flags_kept", "seen",
    "longest_run", "clamped", "polynomial", "thirds",
]  # fmt: skip


def printed(found: Found) -> str:
    """Return the header of an operator that was proved."""
    assert found.carrier is not None
    return cub(found.with_identity, ["a test"])


def program(found: Found, count: int) -> str:
    """Return a program that reads elements, combines them as a tree, from both ends, and prints the results."""
    loop = found.loop
    arrays = "\n".join(f"    static {C_TYPES[t]} {c_name(n)}[{count}];" for n, t in loop.elements.items())
    names = c_names(loop.elements)
    reads = "\n".join(
        f'        {{ double d; if (scanf("%lf", &d) != 1) return 1; {names[n]}[i] = ({C_TYPES[t]})d; }}'
        for n, t in loop.elements.items()
    )
    results = [f"Result{'' if len(loop.result) == 1 else place}" for place in range(len(loop.result))]
    shown = "\n".join(f'    printf("%.17g ", (double){name}()(all));' for name in results)
    taken = ", ".join(f"{names[n]}[i]" for n in loop.elements)
    return f"""
#include "operator.cuh"
#include <stdio.h>
using namespace {loop.name}_operator;
static Words tree(const Words *w, int count) {{
    if (count == 1) return w[0];
    int half = count * 2 / 3 > 0 ? count * 2 / 3 : 1;
    return Combine()(tree(w, half), tree(w + half, count - half));
}}
int main() {{
{arrays}
    static Words w[{count}];
    for (int i = 0; i < {count}; i++) {{
{reads}
        w[i] = Lift()({taken});
    }}
    Words all = tree(w, {count});
{shown}
    return 0;
}}
"""


@pytest.mark.sampled(4)
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", slow_unless(NAMES, lambda name: NAMES.index(name) % 2 == 0))
def test_the_printed_operator_computes_the_loop(name: str, tmp_path: Path) -> None:
    """Warnings are errors; 40 elements, results of a tree against plain Python."""
    found, rng = found_of(name), random.Random(name)
    assert COMPILER is not None and found.status == "proved"
    (tmp_path / "operator.cuh").write_text(printed(found))
    (tmp_path / "main.cpp").write_text(program(found, 40))
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run([COMPILER, *flags, "main.cpp", "-o", "main"], cwd=tmp_path, check=True)
    for _ in range(5):
        rows = random_rows(found.loop, rng, 40)
        given = "\n".join(" ".join(str(float(value)) for value in row) for row in rows)
        done = subprocess.run([tmp_path / "main"], input=given, capture_output=True, text=True, check=True)
        result = [float(text) for text in done.stdout.split()]
        assert result == pytest.approx(_expected(found, rows), rel=1e-4)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("step", ["s = v", "s, t = t, v", "s = 5 if s < 5 else 5\n        t = t + v"])
def test_a_part_that_is_not_read_is_no_warning(step: str, tmp_path: Path) -> None:
    """Nor is an element."""
    text = f"@serial\ndef f(x: i32):\n    s, t = 0, 0\n    for v in x:\n        {step}\n    return s, t\n"
    (tmp_path / "loops.py").write_text(f"from swizzle import i32, serial\n{text}")
    judged = operator_of(load_names(tmp_path / "loops.py")["f"].loop)  # type: ignore[attr-defined]
    (tmp_path / "main.cpp").write_text(printed(judged).replace("#pragma once", "") + "int main() { return 0; }\n")
    assert COMPILER is not None
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    subprocess.run([COMPILER, *flags, "main.cpp"], cwd=tmp_path, check=True)


@pytest.mark.sampled(8)
@pytest.mark.skipif(not available_tools(), reason="no CUDA compiler")
@pytest.mark.parametrize("name", slow_unless(NAMES, lambda name: name != "polynomial"))
def test_the_printed_operator_is_device_code(name: str) -> None:
    """A kernel lifts, combines and gives results; warnings are errors."""
    found = found_of(name)
    loop, names = found.loop, c_names(found.loop.elements)
    parameters = ", ".join(f"const {C_TYPES[dtype]} *{names[each]}" for each, dtype in loop.elements.items())
    taken = [", ".join(f"{names[each]}[{place}]" for each in loop.elements) for place in range(2)]
    result = "Result" if len(loop.result) == 1 else "Result0"
    body = f"out[0] = (double){result}()(Combine()(Lift()({taken[0]}), Lift()({taken[1]})));"
    text = (
        printed(found)
        + f"""
using namespace {loop.name}_operator;
extern "C" __global__ void kernel({parameters}, double *out) {{ {body} }}
"""
    )
    assert "kernel" in compile_cuda(text, "sm_80").ptx


def _expected(found: Found, rows: list[Any]) -> list[float]:
    """Return what the serial loop makes of elements, in words that wrap."""
    state: Any = found.loop.finished(found.loop.after(rows))
    whole = not any(dtype.is_float for dtype in found.loop.elements.values())
    return [float(_wrapped(value) if whole else value) for value in state]


def _wrapped(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value + (1 << 31)) % (1 << 32) - (1 << 31)
    return value


def test_what_unsigned_words_are_divided_by() -> None:
    """Any number of the type, in the upper half, too."""

    @serial
    def quotients(x: u32):  # type: ignore[no-untyped-def]
        s = 0
        for v in x:
            s = s ^ (v // 4294967295) ^ (v % 2147483648)
        return s

    found = operator_of(quotients.loop)
    assert found.carrier is not None
    text = cub(found.carrier, [])
    assert "v / 4294967295u" in text and "v & 2147483647u" in text


def test_what_c_has_not() -> None:
    """A product with an infinity of integers, a remainder of what varies, a shift by more bits than there are."""
    total = found_of("total")
    v = total.with_identity.lift["s"]
    for wrong in (modulo(v, v), modulo(v, constant(-3)), bits("<<", v, constant(32))):
        with pytest.raises(SwizzleError, match=r"(divides by what is no number above 0|shifts by what is no number)"):
            cub(replace(total.with_identity, lift={"s": wrong}), [])
    longest = found_of("longest_run")
    carrier = longest.with_identity
    twice = {word: multiply(constant(2), each) for word, each in carrier.combine.items()}
    with pytest.raises(SwizzleError, match="may be an infinity, which i32 has not, and more than sums"):
        cub(replace(carrier, combine=twice), [])
