"""Texts that may be another text for another compiler are told, with the place; what is the same for all is not."""

from __future__ import annotations

import pytest

from cuda_out.c.directives import asks_for_its_reader
from cuda_out.c.printer import print_cuda
from tests.cuda_out.examples import EXAMPLES

HOST = """
#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
inline cudaError_t launch_k(float* y) { k<<<1, 1>>>(y); return cudaGetLastError(); }
#endif
"""
TEXT = 'extern "C" __global__ void k(float* y) {\n  y[0] = 1.0f;\n}\n' + HOST


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("  y[0]", "#ifdef __CUDACC_RTC__\n  y[0] = 2;\n#endif\n  y[0]", 2, "#ifdef __CUDACC_RTC__"),
        ("  y[0]", "# if 1\n#endif\n  y[0]", 2, "#if 1"),
        ("  y[0]", "%:if 1\n%:endif\n  y[0]", 2, "#if 1"),
        ("  y[0]", "#i\\\nf 1\n#endif\n  y[0]", 2, "#i f 1"),
        ("  y[0]", "  // a comment \\\n#if 0\n  y[0]", 0, ""),
        ("  y[0]", "/* a\n comment */ #if 1\n#endif\n  y[0]", 3, "#if 1"),
        ("1.0f", "__CUDA_ARCH__ > 1000 ? 2.0f : 1.0f", 2, "__CUDA_ARCH__"),
        ("1.0f", "1.0f * __LINE__", 2, "__LINE__"),
        ("1.0f", "__builtin_constant_p(y) ? 2.0f : 1.0f", 2, "__builtin_constant_p"),
        ("1.0f", "__NVCC__", 2, "__NVCC__"),
        ("extern", "#define ONE __CUDACC_VER_MAJOR__\nextern", 1, "__CUDACC_VER_MAJOR__"),
        ("extern", "#include <other.h>\nextern", 1, "#include <other.h>"),
        ("extern", "#pragma nv_diag_suppress 177\nextern", 1, "#pragma nv_diag_suppress 177"),
        ("extern", HOST + "extern", 2, "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)"),
        ("inline", "#define k(y) k(y + 1)\ninline", 6, "#define k(y) k(y + 1)"),
        ("inline", "__device__ int more;\ninline", 6, "__device__"),
        ("#endif", "#else\nint other;\n#endif", 7, "#else"),
        ("&& !defined", "|| !defined", 5, "#if defined(__CUDACC__) || !defined(__CUDACC_RTC__)"),
    ],
)
def test_what_other_compilers_would_read(old: str, new: str, line: int, words: str) -> None:
    """Conditions, however they are spelled, what compilers define, and what only one of them is shown."""
    assert old in TEXT
    found = asks_for_its_reader(TEXT.replace(old, new, 1), "k")
    assert (found.line, found.words) == (line, words) if found else not words


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("extern", "#define ONE 1.0f\n#pragma once\n#include <cuda_fp16.h>\nextern"),
        ("  y[0]", "  #pragma unroll 4\n  y[0]"),
        ("  y[0]", '  // "#if\n  /* #if */ const char* text = "#if __CUDA_ARCH__";\n  y[0]'),
        ("1.0f", "1.0f + __float_as_int(2.0f) + __shfl_sync(~0u, 1, 2)"),
    ],
)
def test_what_is_the_same_for_all(old: str, new: str) -> None:
    assert asks_for_its_reader(TEXT.replace(old, new, 1), "k") is None


@pytest.mark.parametrize("name", EXAMPLES)
def test_printed_texts_ask_for_nothing(name: str) -> None:
    source = print_cuda(EXAMPLES[name])
    assert asks_for_its_reader(source.text, source.entry) is None
