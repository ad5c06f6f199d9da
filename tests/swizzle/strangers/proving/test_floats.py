"""Kernels that are right as real numbers and lose what their specification keeps: none is called equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools
from tests.swizzle.strangers.proving.proved import proof_of
from tests.swizzle.strangers.proving.test_traps import one_warp

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

LESS = "float m = x[0]; for (int j = 1; j < 32; ++j) m = {}(m, x[j]);\n"
SUM = "float s = 0; for (int j = 0; j < 32; ++j) s += expf(x[j] - m); y[i] = expf(x[i] - m) / s;"
MOMENTS = "float s = 0, q = 0; for (int j = 0; j < 32; ++j) { s += x[j]; q += x[j] * x[j]; } s /= 32;\n"
CENTRED = "float s = 0, q = 0; for (int j = 0; j < 32; ++j) s += x[j]; s /= 32;\n"


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max())
    return powers / powers.sum()


def bare_softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum()


def variance(x: Any) -> Any:
    return [x.var() for _ in range(32)]


LOST = {
    "the least is subtracted": (LESS.format("fminf") + SUM, softmax, "inputs near 30"),
    "nothing is subtracted": ("float m = 0;" + SUM, softmax, "inputs near 1000"),
    "a sigmoid of large numbers": ("float e = expf(x[i]); y[i] = e / (1 + e);", lambda x: 1 / (1 + np.exp(-x)), "1000"),
    "a variance of squares": (MOMENTS + "y[i] = q / 32 - s * s;", variance, "1000 and up to 0.125 more or less"),
    "a large number between": ("y[i] = (x[i] + 1e4f) - 1e4f;", lambda x: x, "inputs near 0.001"),
    "a threshold of another type": (
        "y[i] = x[i] <= 0.1f;", lambda x: (x.astype(np.float64) <= 0.1).astype(np.float32), "ties and zeros",
    ),
    "a quotient of zeros": ("y[i] = (x[i] > 0.f) * 2.f / x[i];", lambda x: np.where(x > 0, 2 / x, 0), "ties and zeros"),
}  # fmt: skip
KEPT = {
    "the greatest is subtracted": (LESS.format("fmaxf") + SUM, softmax),
    "the specification loses it, too": ("float m = 0;" + SUM, bare_softmax),
    "a variance of differences": (
        CENTRED + "for (int j = 0; j < 32; ++j) q += (x[j] - s) * (x[j] - s); y[i] = q / 32;", variance,
    ),
    "a threshold of the same type": ("y[i] = x[i] <= 0.1f;", lambda x: (x <= 0.1).astype(np.float32)),
    "a quotient that is guarded": ("y[i] = x[i] > 0.f ? 2.f / x[i] : 0.f;", lambda x: np.where(x > 0, 2 / x, 0)),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LOST)
def test_what_floats_lose(tmp_path: Path, name: str) -> None:
    """The answer says first at which inputs."""
    body, meant, where = LOST[name]
    found = proof_of(tmp_path, one_warp(body), meant)
    assert found.verdict == "undecided" and "far off at" in found.why and where in found.why, found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", KEPT)
def test_what_floats_keep(tmp_path: Path, name: str) -> None:
    """What is near where the specification is near in the same floats is equal."""
    body, meant = KEPT[name]
    assert proof_of(tmp_path, one_warp(body), meant)
