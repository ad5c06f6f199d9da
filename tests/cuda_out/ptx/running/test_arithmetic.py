"""Where texts are equal as real numbers, how their arithmetic differs is said, by what the PTX does."""

from __future__ import annotations

import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.arithmetic import differences
from cuda_out.ptx.running.validate import Validator, WrittenOut
from symbolic.algebra.terms import Terms
from symbolic.ir.program import DType, Parameter, Program
from tests.cuda_out.build import HERE

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
PRINTED = "y[i] = x[i] * z[i] + x[i ^ 1] / z[i ^ 1];"


def ptx(body: str) -> str:
    text = f'extern "C" __global__ void k(const float* x, const float* z, float* y) {{ int i = threadIdx.x; {body} }}\n'
    return compile_to_ptx("#include <cuda_fp16.h>\n" + text, "sm_80")


def validator() -> Validator:
    names = (("x", "in"), ("z", "in"), ("y", "out"))
    parameters = tuple(Parameter(name, DType.F32, (32,), role, HERE) for name, role in names)  # type: ignore[arg-type]
    program, terms = Program("k", parameters, (), (), (32, 1, 1), (1, 1, 1), 32, HERE), Terms()

    def said(i: int) -> int:
        x, z, other, divisor = (terms.atom(name, place) for place in (i, i ^ 1) for name in "xz")
        return terms.apply("+", (terms.apply("*", (x, z)), terms.apply("/", (other, divisor))))

    return Validator(program, {"y": [said(i) for i in range(32)]}, WrittenOut(terms, parameters))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("body", "said"), [
    (PRINTED, ()),
    ("const float a = x[i]; const float b = x[i ^ 1] / z[i ^ 1]; y[i] = z[i] * a + b;", ()),
    ("y[i] = x[i] * z[i] + __fdividef(x[i ^ 1], z[i ^ 1]);", ("approximations: div.approx.f32",)),
    (f"{PRINTED[:-1]} + 0.0f * x[i];", ("constants: 0 (printed: none)", "products with 0", "roundings: 96 (printed")),
    ("y[i] = (x[i] * 4.0f) * (z[i] * 0.25f) + x[i ^ 1] / z[i ^ 1];", ("constants: 0.25, 4 (printed", "roundings")),
    ("y[i] = __fmul_rn(x[i], z[i]) + x[i ^ 1] / z[i ^ 1];", ("roundings: 96 (printed: 64)",)),
    ("y[i] = x[i] * z[i] + __half2float(__hmul(__float2half(x[i ^ 1]), hrcp(__float2half(z[i ^ 1]))));", None),
    ("y[i] = x[i] * z[i] + __frcp_rn(z[i ^ 1]) * x[i ^ 1];", ("roundings",)),
    ("const float a = x[i] * z[i] + x[i ^ 1] / z[i ^ 1]; y[i] = a < a * 0.5f ? fminf(a, a) : a;", ()),
    ("const float a = x[i] * z[i] + x[i ^ 1] / z[i ^ 1]; y[i] = a > z[i] ? (a < z[i] ? z[i] : a) : a;", None),
    ("asm(\"{ .reg .f32 p; mul.ftz.f32 p, %1, %2; div.rn.f32 %0, %3, %4; add.f32 %0, %0, p; }\" : \"=f\"(y[i]) : "
     "\"f\"(x[i]), \"f\"(z[i]), \"f\"(x[i ^ 1]), \"f\"(z[i ^ 1]));", ("approximations: mul.ftz.f32", "roundings")),
])  # fmt: skip
def test_what_differs_is_named(body: str, said: tuple[str, ...] | None) -> None:
    checks = validator()
    assert checks.validate(ptx(body), "k").verdict in ("equal", "different")
    found = differences(*(checks.arithmetic(ptx(each), "k") for each in (body, PRINTED)))
    if said is not None:
        assert len(found) >= len(said) and bool(found) == bool(said), found
        assert all(any(each in line for line in found) for each in said), found


def test_a_compensation_that_is_dropped_is_said() -> None:
    """Kahan's sum is a plain one as real numbers; a plain one has nothing that is dropped."""
    plain = "float s = x[i] * z[i]; s += x[i ^ 1] / z[i ^ 1]; y[i] = s;"
    kahan = (
        "float s = x[i] * z[i], c = 0.f; const float v = x[i ^ 1] / z[i ^ 1]; "
        "const float w = v - c, t = s + w; c = (t - s) - w; y[i] = t - c;"
    )
    found = [validator().validate(ptx(body), "k") for body in (plain, kahan, PRINTED)]
    assert [each.verdict for each in found] == ["equal"] * 3
    assert [each.cancels for each in found] == [False, True, False]
