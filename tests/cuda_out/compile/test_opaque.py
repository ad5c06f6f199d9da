"""The text that is validated in the place of one with functions of mathematics says what that one says."""

from __future__ import annotations

import pytest

from cuda_out.compile.opaque import with_opaque_calls

EXTERNAL = """
/// The function one, with its text in the sketch.
__device__ __forceinline__ float one() {
  return 1.0f;
}  // one
"""
KERNEL = 'extern "C" __global__ void k(float* y) {\n  y[0] = 2.0f;\n}\n'


def test_a_function_of_the_users_own_is_declared_only() -> None:
    changed = with_opaque_calls(EXTERNAL + KERNEL)
    assert 'extern "C" __device__ float one();' in changed and "1.0f" not in changed and "2.0f" in changed


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("y[0] = expf(y[0]);", "y[0] = swizzle_opaque_expf(y[0]);"),
        ("y[0] = :: expf (y[0]);", "y[0] = :: swizzle_opaque_expf (y[0]);"),
        ("auto expf = f; y[0] = expf(0);", "auto swizzle_opaque_expf = f; y[0] = swizzle_opaque_expf(0);"),
        ("y[0] = s.expf(0);", "y[0] = s.expf(0);"),
        ("float expf = 0;", "float expf = 0;"),
    ],
)  # fmt: skip
def test_a_name_is_changed_wherever_it_stands(body: str, changed: str) -> None:
    """A variable that hides a function hides what is called in its place."""
    assert f"  {changed}\n" in with_opaque_calls(KERNEL.replace("y[0] = 2.0f;", body))
