"""Kernels as people write them against plain specifications: softmax, norms, activations, attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.opaque import with_called_functions
from cuda_out.compile.toolchain import ByHand, available_tools, compile_to_ptx
from cuda_out.ptx.running.validate import Validation, Validator, WrittenOut
from swizzle import math
from symbolic.algebra.datum import Datum, symbolic_input
from symbolic.algebra.terms import Terms
from symbolic.ir.functions import applied, where
from symbolic.ir.program import DType, Parameter, Program
from tests.cuda_out.build import HERE
from tests.slow_cases import slow_unless

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

BEFORE = """
#define INF __int_as_float(0x7f800000)
__device__ float sum(float v) { for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o); return v; }
__device__ float largest(float v) { for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o)); return v; }
"""


def proved(
    body: str, spec: Callable[..., Any], shapes: dict[str, tuple[int, ...]], scalars: Sequence[Any] = (),
    signature: str = "int n",
) -> Validation:  # fmt: skip
    """Validate a kernel of one block against a specification; the last array is the output."""
    *inputs, output = shapes
    arrays = ", ".join([*(f"const float* {name}" for name in inputs), f"float* {output}"])
    text = f'{BEFORE}extern "C" __global__ void k({arrays}, {signature}) {{ int t = threadIdx.x; {body} }}\n'
    ptx = compile_to_ptx(with_called_functions(text), by_hand=ByHand())
    parameters = tuple(
        Parameter(name, DType.F32, shape, "out" if name == output else "in", HERE) for name, shape in shapes.items()
    )
    program, terms = Program("k", parameters, (), (), (32, 1, 1), (1, 1, 1), 32, HERE), Terms()
    terms.types = dict.fromkeys(inputs, DType.F32)
    said = spec(*(symbolic_input(terms, name, shapes[name]) for name in inputs))
    values = np.array(said, dtype=object).reshape(-1).tolist()
    wanted = {output: [each.term if isinstance(each, Datum) else terms.const(each) for each in values]}
    return Validator(program, wanted, WrittenOut(terms, parameters)).validate(ptx, "k", scalars)


def total(values: Sequence[Any]) -> Any:
    return reduce(lambda a, b: a + b, values)


def row(x: Any) -> list[Any]:
    return [x[i] for i in range(x.shape[0])]


def softmax(x: Any) -> list[Any]:
    m = reduce(lambda a, b: a.reduce_with("max", b), row(x))
    e = [math.exp(v - m) for v in row(x)]
    return [v / total(e) for v in e]


def losses(x: Any) -> list[Any]:
    m = reduce(lambda a, b: a.reduce_with("max", b), row(x))
    return [m + math.log(total([math.exp(v - m) for v in row(x)])) - x[3]]


def normed(x: Any, g: Any) -> list[Any]:
    n = x.shape[0]
    mean = total(row(x)) / n
    variance = total([(v - mean) * (v - mean) for v in row(x)]) / n
    return [(v - mean) / math.sqrt(variance + 1e-5) * g[i] for i, v in enumerate(row(x))]


def root_mean_square(x: Any, g: Any) -> list[Any]:
    scale = math.rsqrt(total([v * v for v in row(x)]) / x.shape[0] + 1e-6)
    return [v * scale * g[i] for i, v in enumerate(row(x))]


ONLINE = (
    "float m = -INF, l = 0; for (int i = t; i < n; i += 32) {"
    "float v = x[i], mm = fmaxf(m, v); l = l * __expf(m - mm) + __expf(v - mm); m = mm; }"
    "for (int o = 16; o; o >>= 1) { float m2 = __shfl_xor_sync(~0u, m, o), l2 = __shfl_xor_sync(~0u, l, o);"
    "float mm = fmaxf(m, m2); l = l * __expf(m - mm) + l2 * __expf(m2 - mm); m = mm; }"
)
KERNELS: dict[str, tuple[str, Callable[..., Any], dict[str, str]]] = {
    "softmax in three passes": (
        "float m = -INF; for (int i = t; i < n; i += 32) m = fmaxf(m, x[i]); m = largest(m);"
        "float l = 0; for (int i = t; i < n; i += 32) l += expf(x[i] - m); l = sum(l);"
        "for (int i = t; i < n; i += 32) y[i] = expf(x[i] - m) / l;",
        softmax, {"l += expf(x[i] - m)": "l += expf(x[i])", "m = largest(m)": "", "l = sum(l)": ""}),
    "softmax, online": (
        ONLINE + "for (int i = t; i < n; i += 32) y[i] = __expf(x[i] - m) / l;",
        softmax, {"l * __expf(m - mm) + __expf": "l + __expf", "l2 * __expf(m2 - mm)": "l2 * __expf(m - mm)"}),
    "softmax, online, by a branch and exponentials of 2": (
        "const float L = 1.4426950408889634f; float m = x[t], l = 1;"
        "for (int i = t + 32; i < n; i += 32) { float v = x[i];"
        "if (v > m) { l = l * exp2f((m - v) * L) + 1; m = v; } else l += exp2f((v - m) * L); }"
        "float top = largest(m); l = sum(l * exp2f((m - top) * L)); float f = 1 / l;"
        "for (int i = t; i < n; i += 32) y[i] = exp2f((x[i] - top) * L) * f;",
        softmax, {"+ 1; m = v": "+ 1", "1.4426950408889634f": "1.4426960408889634f", "v > m": "v < m"}),
    "cross-entropy": (
        ONLINE + "if (t == 0) y[0] = logf(l) + m - x[3];", losses, {"+ m - x[3]": "- m - x[3]", "logf(l)": "log2f(l)"}),
    "log-sum-exp without its maximum, by log2": (
        "float l = 0; for (int i = t; i < n; i += 32) l += expf(x[i]); l = sum(l);"
        "if (t == 0) y[0] = log2f(l) * 0.693147181f - x[3];", losses, {"0.693147181f": "0.6931481f"}),
    "layer norm in two passes": (
        "float s = 0; for (int i = t; i < n; i += 32) s += x[i]; float mean = sum(s) / n, q = 0;"
        "for (int i = t; i < n; i += 32) { float d = x[i] - mean; q += d * d; } float r = rsqrtf(sum(q) / n + 1e-5f);"
        "for (int i = t; i < n; i += 32) y[i] = (x[i] - mean) * r * g[i];",
        normed, {"q += d * d": "q += d", "1e-5f": "1e-6f", "(x[i] - mean) * r": "(x[i] + mean) * r"}),
    "layer norm by moments": (
        "float s = 0, q = 0; for (int i = t; i < n; i += 32) { s += x[i]; q += x[i] * x[i]; }"
        "float mean = sum(s) / n, v = sum(q) / n - mean * mean, r = 1 / sqrtf(v + 1e-5f);"
        "for (int i = t; i < n; i += 32) y[i] = x[i] * r * g[i] - mean * r * g[i];",
        normed, {"- mean * mean": "- mean", "/ n - mean * mean": "/ n - s * mean", "sqrtf(v": "(v"}),
    "layer norm by Welford": (
        "float mean = 0, q = 0, c = 0; for (int i = t; i < n; i += 32) {"
        "c += 1; float d = x[i] - mean; mean += d / c; q += d * (x[i] - mean); }"
        "for (int o = 16; o; o >>= 1) { float d = __shfl_xor_sync(~0u, mean, o) - mean;"
        "q += __shfl_xor_sync(~0u, q, o) + d * d * c / 2; mean += d / 2; c *= 2; }"
        "float r = rsqrtf(q / n + 1e-5f); for (int i = t; i < n; i += 32) y[i] = (x[i] - mean) * r * g[i];",
        normed, {"d * d * c / 2": "d * d * c"}),
    "RMS norm": (
        "float q = 0; for (int i = t; i < n; i += 32) q += x[i] * x[i]; float r = 1 / sqrtf(sum(q) / n + 1e-6f);"
        "for (int i = t; i < n; i += 32) y[i] = x[i] * r * g[i];",
        root_mean_square, {"1 / sqrtf": "sqrtf", " + 1e-6f": ""}),
}  # fmt: skip


SIZES = {"layer norm in two passes": 256, "layer norm by moments": 256, "layer norm by Welford": 32, "RMS norm": 160}


def of_row(name: str, body: str, n: int = 0) -> Validation:
    n = n or SIZES.get(name, 64)
    spec = KERNELS[name][1]
    shapes = {"x": (n,), **({"g": (n,)} if "g[i]" in body else {}), "y": (1,) if spec is losses else (n,)}
    return proved(body, spec, shapes, [np.int32(n)])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", KERNELS)
def test_rows(name: str) -> None:
    found = of_row(name, KERNELS[name][0])
    assert found.verdict == "equal", found.findings
    fast = "__expf" in KERNELS[name][0]
    assert found.assumes == (("approximations count as what they approximate: __expf",) if fast else ())


MUTANTS = [(name, old) for name in KERNELS for old in KERNELS[name][2]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "old"), slow_unless(MUTANTS, MUTANTS[::3].__contains__))
def test_mutants_of_rows(name: str, old: str) -> None:
    body, _, mutants = KERNELS[name]
    assert old in body
    assert of_row(name, body.replace(old, mutants[old])).verdict == "different"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in KERNELS if "Welford" not in name])
def test_long_rows(name: str) -> None:
    """Rows of 1024 take about a second each."""
    assert of_row(name, KERNELS[name][0], 1024).verdict == "equal"


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)))":
        lambda v: 0.5 * v * (1 + math.tanh(0.7978845608 * (v + 0.044715 * v * v * v))),
    "v / (1 + __expf(-2 * 0.7978845608f * (v + 0.044715f * powf(v, 3))))":
        lambda v: 0.5 * v * (1 + math.tanh(0.7978845608 * (v + 0.044715 * v * v * v))),
    "v * normcdff(v)": lambda v: 0.5 * v * (1 + math.erf(v * 0.7071067811865476)),
    "0.5f * v * erfcf(-v * 0.70710678f)": lambda v: 0.5 * v * (1 + math.erf(v * 0.7071067811865476)),
    "__fdividef(v, 1 + __expf(-v))": lambda v: v / (1 + math.exp(-v)),
    "v * expf(v) / (1 + expf(v))": lambda v: v / (1 + math.exp(-v)),
    "v > 20 ? v : log1pf(expf(v))": lambda v: applied(where(">"), [v, 20, v, math.log(1 + math.exp(v))]),
    "fmaxf(v, 0) + log1pf(expf(-fabsf(v)))": lambda v: math.log(1 + math.exp(v)),
    "(expf(2 * v) - 1) / (expf(2 * v) + 1)": math.tanh,
    "log2f(1 + v * v) * 0.69314718f": lambda v: math.log(1 + v * v),
    "(float)exp((double)v)": math.exp,
    "std::max(v, 0.f) + std::abs(v)": lambda v: v.reduce_with("max", 0 * v) + abs(v),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("expression", FUNCTIONS)
def test_functions_of_an_element(expression: str) -> None:
    spec = FUNCTIONS[expression]
    body = f"float v = x[t]; y[t] = {expression};"
    shapes = {"x": (32,), "y": (32,)}
    assert proved(body, lambda x: [spec(v) for v in row(x)], shapes, [np.int32(32)]).verdict == "equal"
    wrong = proved(
        body.replace("v = x[t]", "v = 1.001f * x[t]"), lambda x: [spec(v) for v in row(x)], shapes, [np.int32(0)]
    )
    assert wrong.verdict == "different"


def test_what_overflows_and_cancels_is_said() -> None:
    """exp(100 x) * exp(-100 x) is 1 as a real number."""
    shapes = {"x": (32,), "y": (32,)}
    found = proved("y[t] = expf(x[t] * 100) * expf(x[t] * -100) * x[t];", row, shapes, [np.int32(32)])
    assert found.verdict == "equal" and found.cancels


ATTENTION = """
  const int D = 8, B = 8; __shared__ float ks[B][D], vs[B][D]; float q[D], acc[D], s[B], m = -INF, l = 0;
  for (int d = 0; d < D; ++d) { q[d] = Q[t * D + d] * scale; acc[d] = 0; }
  for (int first = 0; first < n; first += B) {
    for (int i = t; i < B * D; i += blockDim.x) {
      ks[i / D][i % D] = K[first * D + i]; vs[i / D][i % D] = V[first * D + i];
    }
    __syncthreads();
    float top = m;
    for (int j = 0; j < B; ++j) {
      float a = 0; for (int d = 0; d < D; ++d) a += q[d] * ks[j][d];
      if (CAUSAL && first + j > t) a = -INF;
      s[j] = a; top = fmaxf(top, a);
    }
    float c = __expf(m - top); l *= c; m = top;
    for (int d = 0; d < D; ++d) acc[d] *= c;
    for (int j = 0; j < B; ++j) {
      float p = __expf(s[j] - m); l += p; for (int d = 0; d < D; ++d) acc[d] += p * vs[j][d];
    }
    __syncthreads();
  }
  for (int d = 0; d < D; ++d) O[t * D + d] = acc[d] / l;
"""


def attended(body: str, causal: bool) -> Validation:
    def spec(queries: Any, keys: Any, values: Any) -> list[Any]:
        out = []
        for i in range(32):
            seen = range(i + 1 if causal else 24)
            scores = [total([queries[i, d] * keys[j, d] for d in range(8)]) * 0.35355338 for j in seen if j < 24]
            top = reduce(lambda a, b: a.reduce_with("max", b), scores)
            weights = [math.exp(score - top) for score in scores]
            out.append([total([w * values[j, d] for j, w in enumerate(weights)]) / total(weights) for d in range(8)])
        return out

    shapes = {"Q": (32, 8), "K": (24, 8), "V": (24, 8), "O": (32, 8)}
    text = body.replace("CAUSAL", str(int(causal)))
    return proved(text, spec, shapes, [np.int32(24), np.float32(0.35355338)], signature="int n, float scale")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention(causal: bool) -> None:
    found = attended(ATTENTION, causal)
    assert found.verdict == "equal", found.findings


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("old", "new"),
    slow_unless([
        ("acc[d] *= c;", ""), ("l *= c;", ""), ("__expf(m - top)", "__expf(top - m)"), ("+ j > t", "+ j > t + 1"),
        ("* scale", ""), ("vs[j][d]", "ks[j][d]"), ("top = fmaxf(top, a)", "top = fmaxf(m, a)"),
    ], lambda case: case[0] in ("l *= c;", "+ j > t")),
)  # fmt: skip
def test_mutants_of_flash_attention(old: str, new: str) -> None:
    assert old in ATTENTION
    found = attended(ATTENTION.replace(old, new), causal=True)
    assert found.verdict == "different"
