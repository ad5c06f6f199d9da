"""Branches on data: both ways merged by choices, and never more claimed than every input has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import untyped
from cuda_out.ptx.running.arguments import LaunchArray
from cuda_out.ptx.running.branches import BranchingMachine
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.running.run import interpret, kernel_of, launch_shape
from swizzle import math
from symbolic.algebra.terms import Terms
from symbolic.ir.functions import applied, where
from tests.cuda_out.ptx.instructions.evaluate import Evaluated
from tests.cuda_out.ptx.running.test_not_equal import verdict

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")


def chosen(a: Any, op: str, b: Any, x: Any, y: Any) -> Any:
    return applied(where(op), [a, b, x, y])


def summed(values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def until_negative(x: Any, k: int = 0) -> Any:
    return 0 if k == 8 else chosen(x[k], "<", 0, 0, math.exp(x[k]) + until_negative(x, k + 1))


RIGHT: dict[str, tuple[str, Callable[[Any, Any, int], Any]]] = {
    "if (x[i] > 0) y[i] = x[i]; else y[i] = 0;": ("relu", lambda x, z, i: x[i].reduce_with("max", 0 * x[i])),
    "float v = x[i]; y[i] = v > 0 ? v : expf(v) - 1.f;": (
        "elu", lambda x, z, i: chosen(x[i], ">", 0, x[i], math.exp(x[i]) - 1)),
    "y[i] = 1.f; if (x[i] > 2.f) y[i] = expf(x[i]);": (
        "a store", lambda x, z, i: chosen(x[i], ">", 2, math.exp(x[i]), 1)),
    "float v = x[i], r; if (v > 1) { if (v > 3) r = expf(v); else r = logf(v); } else r = tanhf(v); y[i] = r;": (
        "nested", lambda x, z, i: chosen(
            x[i], ">", 1, chosen(x[i], ">", 3, math.exp(x[i]), math.log(x[i])), math.tanh(x[i]))),
    "if (x[i] < 0) { y[i] = 0; return; } y[i] = expf(x[i]);": (
        "an early return", lambda x, z, i: chosen(x[i], "<", 0, 0, math.exp(x[i]))),
    "float v = x[i]; if (v >= 0) y[i] = 1 / (1 + expf(-v)); else { float e = expf(v); y[i] = e / (1 + e); }": (
        "choices inside quotients", lambda x, z, i: chosen(
            x[i], ">=", 0, 1 / (1 + math.exp(-x[i])), math.exp(x[i]) / (1 + math.exp(x[i])))),
    "bool p = false; if (x[i] > 0) p = x[i] > 2; y[i] = p ? 1 : 0;": (
        "a predicate set on both ways", lambda x, z, i: chosen(x[i], ">", 2, 1, 0)),
    "float s = 0; for (int k = 0; k < 32; ++k) { if (x[k] < 0) continue; s += expf(x[k]); } y[i] = s;": (
        "a sum of some", lambda x, z, i: summed([chosen(x[k], "<", 0, 0, math.exp(x[k])) for k in range(32)])),
    "float s = 0; for (int k = 0; k < 8; ++k) { if (x[k] < 0) break; s += expf(x[k]); } y[i] = s;": (
        "a loop that is left", lambda x, z, i: until_negative(x)),
    "int n = 0; for (int k = 0; k < 6; ++k) if (expf(x[k]) > z[k]) ++n; y[i] = n;": (
        "a count", lambda x, z, i: summed([chosen(math.exp(x[k]), ">", z[k], 1, 0) for k in range(6)])),
    "y[i] = 0; __syncthreads(); if (x[i] > 0) atomicAdd(&y[0], expf(x[i]));": (
        "an atomic sum", lambda x, z, i: 0 if i else summed(
            [chosen(x[k], ">", 0, math.exp(x[k]), 0) for k in range(32)])),
    "if (x[0] > 0) y[i] = expf(x[i]); else y[31 - i] = logf(x[i]);": (
        "one condition of all threads", lambda x, z, i: chosen(
            x[0], ">", 0, math.exp(x[i]), math.log(x[31 - i]))),
    "__shared__ float s[32]; s[i] = 0; __syncthreads(); if (x[i] > 0) s[i] = expf(x[i]); __syncthreads();"
    "y[i] = s[31 - i];": (
        "shared memory", lambda x, z, i: chosen(x[31 - i], ">", 0, math.exp(x[31 - i]), 0)),
    "float v = z[i]; if (x[i] > 0) { float w = expf(v); v = x[i] > 1 ? w : v; } y[i] = v;": (
        "a choice of a choice", lambda x, z, i: chosen(
            x[i], ">", 0, chosen(x[i], ">", 1, math.exp(z[i]), z[i]), z[i])),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("body", RIGHT, ids=[name for name, _ in RIGHT.values()])
def test_both_ways_are_merged(body: str) -> None:
    found = verdict(body, RIGHT[body][1])
    assert found.verdict == "equal", found


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("body", "old", "new"),
    [(body, *mutant) for body in RIGHT for mutant in ((" > ", " < "), ("expf(", "tanhf(")) if mutant[0] in body],
)
def test_mutants_are_not_equal(body: str, old: str, new: str) -> None:
    found = verdict(body.replace(old, new), RIGHT[body][1])
    assert found.verdict != "equal", found


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("if (x[i] > 2) y[i] = expf(x[i]);", "one way does not set"),
        ("__shared__ float s[32]; if (x[i] > 0) s[i] = x[i]; __syncwarp(); y[i] = s[i];", "one way does not set"),
        ("y[i] = x[i]; if (x[i] > 0) y[0] = x[0];", "race on y[0]"),
        ("if (x[i] > 0) y[i] = x[i]; else y[i ^ 1] = 0;", "on different ways from a branch on data"),
        ("y[i] = 0; if (x[i] > 0) y[i + 1] = expf(z[i]);", "out of bounds: y has 32 elements, on one way"),
        ("float v = x[i]; if (v > 0) v += __shfl_xor_sync(~0u, v, 1); y[i] = v;", "shfl"),
        ("float v = x[i]; if (v > 0) __syncthreads(); y[i] = v;", "bar.sync"),
        ("float v = x[i]; while (v > 1) v -= 1; y[i] = v;", "a loop whose end depends on data"),
        (
            "volatile __shared__ float s[1]; if (!i) s[0] = 0; __syncthreads(); bool c = x[0] > 0; float r = x[i];"
            "if (i == 1) c = !c; if (i < 2 && c) { if (!i) s[0] = expf(x[0]); r = s[0]; } y[i] = r;",
            "race on",
        ),
    ],
)
def test_what_one_way_does_wrong_is_not_equal(body: str, why: str) -> None:
    found = verdict(body, lambda x, z, i: x[i])
    assert found.verdict != "equal" and not found.broken and why in found.findings[0], found


def _random_body(rng: np.random.Generator, depth: int = 0) -> str:
    """Statements on integers a, b, c, on 32 elements of x and on an element of y, without a race."""
    lines = []
    for _ in range(int(rng.integers(2, 5))):
        name, one, two = (str(rng.choice(list("abc"))) for _ in range(3))
        op, number = str(rng.choice(["+", "-", "*", "^", "&"])), int(rng.integers(-3, 4))
        match int(rng.integers(0, 7 if depth < 3 else 3)):
            case 0:
                lines.append(f"{name} = {one} {op} {two};")
            case 1:
                lines.append(f"{name} = {one} {op} x[(i + {number}) & 31];")
            case 2:
                lines.append(f"y[i] = {one} {op} y[i];" if rng.integers(2) else f"s[i] {op}= {one};")
            case 3:
                lines.append(f"for (int k = 0; k < 3; ++k) {{ {_random_body(rng, depth + 2)} }}")
            case _:
                compare = str(rng.choice(["<", ">", "==", "!=", "<="]))
                other = f"else {{ {_random_body(rng, depth + 1)} }}" if rng.integers(2) else ""
                lines.append(f"if ({one} {compare} {number}) {{ {_random_body(rng, depth + 1)} }} {other}")
    return " ".join(lines)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_random_kernels_have_the_values_of_the_run(seed: int) -> None:
    """What both ways leave, evaluated at an input, is what a run on that input gives."""
    rng = np.random.default_rng(seed)
    body = _random_body(rng) + _random_body(rng) + _random_body(rng)
    text = (
        'extern "C" __global__ void k(const int* x, int* y) { int i = threadIdx.x; __shared__ volatile int s[32];'
        f"int a = x[i], b = x[i ^ 1], c = x[31 - i]; s[i] = c; y[i] = b; {body} y[i] += a ^ s[i]; }}"
    )
    ptx, terms = compile_to_ptx(text), Terms()
    data = {"x": rng.integers(-3, 4, 32).astype(np.int32)}
    given = [
        LaunchArray("x", "s32", untyped(data["x"], "s32"), np.array(terms.atoms("x", 32)), True, False),
        LaunchArray("y", "s32", np.zeros(32, np.uint64), np.zeros(32, np.int64), False, True),
    ]
    machine = BranchingMachine(
        kernel_of(ptx, "k"), launch_shape((1, 1, 1), (32, 1, 1)), given, Notes(Normal(terms, {"x": "s32"}))
    )
    machine.run()
    y = np.zeros(32, np.int32)
    interpret(ptx, "k", (1, 1, 1), (32, 1, 1), [data["x"], y])
    value, (bits, found) = Evaluated(terms, data), machine.contents("y")
    for cell, want in enumerate(untyped(y, "s32").tolist()):
        term = int(found[cell])
        assert (value.value(term) if term else int(bits[cell])) == want, (cell, text)
