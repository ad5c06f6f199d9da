"""Kernels of many kinds are proved from plain specifications, and their mutants are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.strangers.proving.prove import prove
from symbolic.errors import SwizzleError
from tests.swizzle.strangers.proving.proved import CHAINS, KERNELS, MUTANTS, SPECIFICATIONS, proof_of

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_a_kernel_is_proved(name: str) -> None:
    """Its text is compiled as it stands; its floats are near."""
    found = prove(KERNELS / f"{name}.cu", SPECIFICATIONS[name], kernel=CHAINS.get(name))
    assert found, found
    assert found.verdict == "equal" and not found.findings and found.numbers is None
    assert all(each.error < 1e-5 and not each.lost for each in found.errors if each.plain)


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("name", "old", "new", "verdict"), MUTANTS)
def test_a_mutant_is_not_proved(tmp_path: Path, name: str, old: str, new: str, verdict: str) -> None:
    """What is different is so on numbers, which are told; what is undefined has a line."""
    text = (KERNELS / f"{name}.cu").read_text()
    assert text.count(old) >= 1
    found = proof_of(tmp_path, text.replace(old, new, 1), SPECIFICATIONS[name], kernel=CHAINS.get(name))
    assert found.verdict == verdict, found
    assert not found and (found.findings[0].line or found.findings[0].thread == "no thread stores it")
    assert (found.numbers is not None) == (verdict == "different")


CHAIN = """// swizzle prove: --kernel k1 --kernel k2 --launch 1,4 --args f32.out[4],f32[4] --launch 1,4 {args}
__global__ void k1(float* t, const float* a) {{ t[threadIdx.x] = a[threadIdx.x] + 1.f; }}
__global__ void k2(float* o, const float* t, const float* a) {{ o[threadIdx.x] = t[threadIdx.x] * a[threadIdx.x]; }}
"""


def test_one_comment_says_a_chain(tmp_path: Path) -> None:
    """Several --kernel of a comment are the chain that the same flags are."""
    text = CHAIN.format(args="--args f32.out[4],f32[4],f32[4]")
    found = proof_of(tmp_path, text, lambda a: (a + 1) * a)
    assert found and found.kernel == "k1, k2" and found.launch == "1,4; 1,4"
    assert proof_of(tmp_path, text, lambda a: (a + 2) * a).verdict == "different"


def test_a_comment_with_more_words_than_kernels(tmp_path: Path) -> None:
    """The mistake has the comment's place."""
    text = CHAIN.format(args="--launch 1,4 --args f32.out[4],f32[4],f32[4]")
    with pytest.raises(SwizzleError, match="--launch is given 3 times for 2 kernels") as raised:
        proof_of(tmp_path, text, lambda a: (a + 1) * a)
    assert raised.value.place is not None and raised.value.place.line == 1


WINDOWS = """// swizzle prove: --launch 1,32 --args i32[34],i32.out[32]
__global__ void w(const int* x, int* y) { int i = threadIdx.x; y[i] = x[i] + x[i + 1] + x[i + 2]; }
"""


def stored(x: Any) -> Any:
    y = np.zeros(32, np.int32)
    for i in range(32):
        y[i] = x[i : i + 3].sum()
    return y


def wrapped(x: Any) -> Any:
    y = np.zeros(32, np.int32)
    for i in range(32):
        y[i] = x[i : i + 3].sum(dtype=np.int32)
    return y


def test_what_numpy_does_not_store(tmp_path: Path) -> None:
    """A sum in 64 bits raises where it is stored in 32; the message names the type to sum in, which is proved."""
    with pytest.raises(OverflowError):
        np.zeros(1, np.int32)[0] = np.full(3, 2**31 - 1, np.int32).sum(dtype=np.int64)
    with pytest.raises(SwizzleError, match="out of bounds for int32") as raised:
        proof_of(tmp_path, WINDOWS, stored)
    assert "x.sum(dtype=np.int32)" in (raised.value.fix or "")
    assert proof_of(tmp_path, WINDOWS, wrapped)
    assert proof_of(tmp_path, WINDOWS.replace("x[i + 2]", "x[i + 1]"), wrapped).verdict == "different"


ONE_SUM = """// swizzle prove: --launch 1,1 --args f32[64],f32.out[1]
__global__ void k(const float* x, float* y) { float s = 0; for (int i = 0; i < 64; ++i) s += x[i]; *y = s; }
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "method", ["reshape(1)", "reshape((1,))", "ravel()", "astype(np.float32).reshape(-1)", "item()"]
)
def test_a_total_is_a_number_of_numpy(tmp_path: Path, method: str) -> None:
    """What a sum over all elements gives has the methods that a NumPy number has."""
    meant = {
        "reshape(1)": lambda x: x.sum().reshape(1), "reshape((1,))": lambda x: x.sum().reshape((1,)),
        "ravel()": lambda x: x.sum().ravel(), "item()": lambda x: [x.sum().item()],
    }.get(method, lambda x: x.sum().astype(np.float32).reshape(-1))  # fmt: skip
    assert proof_of(tmp_path, ONE_SUM, meant)
    wrong = proof_of(tmp_path, ONE_SUM.replace("i = 0", "i = 1"), meant)
    assert wrong.verdict == "different"


ROWS = """// swizzle prove: --launch 1,32 --args {args}
__global__ void rows(const int* ids, const float* w, float* y) {{
  int i = threadIdx.x; y[i] = w[ids[i / 8] * 8 + i % 8];
}}
"""


def test_index_data_has_a_range(tmp_path: Path) -> None:
    """A range of --args is assumed, and the answer says so; numbers that are tried are in it."""
    text = ROWS.format(args="i32[4]<10,f32[10,8],f32.out[4,8]")
    found = proof_of(tmp_path, text, lambda ids, w: w[ids])
    assert found and "0 <= ids < 10" in found.assumed
    wrong = proof_of(tmp_path, text, lambda ids, w: w[9 - ids])
    assert wrong.verdict == "different" and wrong.numbers is not None
    assert all(0 <= each < 10 for each in wrong.numbers.inputs["ids"])
    for args in ("i32[4]<11,f32[10,8],f32.out[4,8]", "i32[4],f32[10,8],f32.out[4,8]"):
        assert not proof_of(tmp_path, ROWS.format(args=args), lambda ids, w: w[ids])


@pytest.mark.parametrize("args", ["i32[4]<10,f32[10,8]<2,f32.out[4,8]", "i32[4]<0,f32[10,8],f32.out[4,8]"])
def test_a_wrong_range(tmp_path: Path, args: str) -> None:
    """A range of floats and an empty one are mistakes."""
    with pytest.raises(SwizzleError, match=", a range"):
        proof_of(tmp_path, ROWS.format(args=args), lambda ids, w: w[ids])


def test_what_pytest_shows(tmp_path: Path) -> None:
    """One line of a proof that fails, all lines explained; of a mistake no frame but the caller's."""
    found = proof_of(tmp_path, WINDOWS.replace("+ x[i + 2]", ""), wrapped)
    assert repr(found) == "; ".join(found.lines()[:2]) and "wanted" in repr(found) and "\n" not in repr(found)
    assert found.explained() == str(found) and found.explained().count("\n  ") == len(found.lines()) - 1
    with pytest.raises(SwizzleError) as raised:
        prove(tmp_path / "kernel.cu", wrapped, args="i32[34]")
    assert [frame.name for frame in raised.traceback] == ["test_what_pytest_shows", "prove"]


def test_a_template_that_the_file_launches(tmp_path: Path) -> None:
    """The instance that a host function has is the one to name."""
    text = (
        "template <int N, int M> __global__ void k(float* x) { x[threadIdx.x] += N * M; }\n"
        "void host(float* x) { k<32, 2><<<1, 32>>>(x); }\n"
    )
    with pytest.raises(SwizzleError, match="compiled to 0 kernels") as raised:
        proof_of(tmp_path, text, lambda x: x, launch="1,32", args="f32.inout[32]")
    assert raised.value.fix == "--kernel 'k<32, 2>'"
