"""Texts that may be another text for another compiler are told, with the place; what is the same for all is not."""

from __future__ import annotations

import pytest

from cuda_out.c.printer import print_cuda
from cuda_out.c.same_text import asks_for_its_reader
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
        ("  y[0]", "#i\\\nf 1\n#endif\n  y[0]", 2, "\\"),
        ("  y[0]", "  // a comment \\\n#if 0\n  y[0]", 2, "\\"),
        ("  y[0]", "  // a comment \\ \t\r\n  return;\n  y[0]", 2, "\\"),
        ("  y[0]", "  // a comment ??/\n  return;\n  y[0]", 2, "\\"),
        ("  y[0]", "  // a comment\r  return;\n  y[0]", 2, "U+000D"),
        ("  y[0]", "  // a comment\f\n  y[0]", 2, "U+000C"),
        ("  y[0]", "  // a comment\0\n  y[0]", 2, "U+0000"),
        ("  y[0]", "  // a comment\x1a\n  y[0]", 2, "U+001A"),
        ("  y[0]", "  // a comment\u2028  return;\n  y[0]", 2, "U+2028"),
        ("extern", "// \u202e\nextern", 1, "U+202E"),
        ("  y[0]", "  /*\n__device__ __forceinline__ int f() {\n*/ return; /*\n}  // f\n*/ y[0]", 2, "/*"),
        ("  y[0]", "#pragma unroll /*\n*/ y[0] = 2.0f;\n  y[0]", 2, "#pragma unroll"),
        ("  y[0]", "#pragma unroll /* one */ 2\n  y[0]", 2, "#pragma unroll"),
        ("  y[0]", "; /*\n*/ #pragma unroll\n  y[0]", 3, "#"),
        ("extern", "#define ONE 1.0f\nextern", 1, "#define ONE 1.0f"),
        ("extern", "#undef ONE\nextern", 1, "#undef ONE"),
        ("extern", '# 7 "other.cu"\nextern', 1, '#7 "other.cu"'),
        ("1.0f", "CUDA ## ARCH", 2, "##"),
        ("1.0f", "CUDA %:%: ARCH", 2, "%:"),
        ("y[0]", "y<:0:>", 2, "<:"),
        ("1.0f;", "1.0f; <% y[1] = 2.0f; %>", 2, "<%"),
        ("1.0f", "y ??!??! y", 2, "?"),
        ("1.0f", "'??/'", 2, "'??/'"),
        ("1.0f", "_\\u005fCUDA_ARCH__", 2, "\\"),
        ("1.0f", "\\U0001d465", 2, "\\"),
        ("1.0f", "\u03b1", 2, "\u03b1"),
        ("1.0f", "$", 2, "$"),
        ("1.0f", "__LIN\\\nE__", 2, "\\"),
        ("1.0f", 'R"(#if 1)"', 2, "R"),
        ("1.0f", 'u8R"(#if 1)"', 2, "u8R"),
        ("1.0f", '"an end that is not there', 2, '"'),
        ("  y[0]", '  _Pragma("unroll") y[0]', 2, "_Pragma"),
        ("  y[0]", "  __pragma(unroll) y[0]", 2, "__pragma"),
        ("1.0f", "__has_include(<math.h>)", 2, "__has_include"),
        ("1.0f", "__COUNTER__", 2, "__COUNTER__"),
        ("1.0f", "__FILE__[0]", 2, "__FILE__"),
        ("1.0f", "__func__[0]", 2, "__func__"),
        ("1.0f", "__cplusplus", 2, "__cplusplus"),
        ("1.0f", "__x86_64__", 2, "__x86_64__"),
        ("1.0f", "__k8", 2, "__k8"),
        ("1.0f", "__float_something__", 2, "__float_something__"),
        ("1.0f", "sizeof(INT_MAX)", 2, "INT_MAX"),
        ("1.0f", "sizeof(NULL)", 2, "NULL"),
        ("1.0f", "linux", 2, "linux"),
        ("1.0f", "M_PI", 2, "M_PI"),
        ("1.0f", "sizeof(long)", 2, "long"),
        ("1.0f", "(unsigned long int)(1) << 40", 2, "long"),
        ("1.0f", "sizeof(long double)", 2, "long"),
        ("1.0f", "(1l << 40)", 2, "1l"),
        ("1.0f", "0x10LU", 2, "0x10LU"),
        ("1.0f", "1.0L", 2, "1.0L"),
        ("1.0f", "int(char(200))", 2, "char"),
        ("1.0f", "'a'", 2, "'a'"),
        ("1.0f", "u8'\\xff'", 2, "u8'\\xff'"),
        ("1.0f", '"\\xff"[0]', 2, '"\\xff"'),
        ("  y[0]", '  asm("" :: "r"(int("a"[0]))); y[0]', 2, '"a"'),
        ("1.0f", "sizeof(wchar_t)", 2, "wchar_t"),
        ("1.0f", "sizeof(int_fast16_t)", 2, "int_fast16_t"),
        ("1.0f", "make_ulong2(1, 2).x", 2, "make_ulong2"),
        ("  y[0]", "  float requires = 1; y[0]", 2, "requires"),
        ("  y[0]", "  float typeof = 1; y[0]", 2, "typeof"),
        ("  y[0]", "  float near = 1; y[0]", 2, "near"),
        ("  y[0]", "  __assume(y != nullptr); y[0]", 2, "__assume"),
        ("  y[0]", "/* a\n comment */ #if 1\n#endif\n  y[0]", 3, "#if 1"),
        ("1.0f", "__CUDA_ARCH__ > 1000 ? 2.0f : 1.0f", 2, "__CUDA_ARCH__"),
        ("1.0f", "1.0f * __LINE__", 2, "__LINE__"),
        ("1.0f", "__builtin_constant_p(y) ? 2.0f : 1.0f", 2, "__builtin_constant_p"),
        ("1.0f", "__NVCC__", 2, "__NVCC__"),
        ("extern", "#define ONE __CUDACC_VER_MAJOR__\nextern", 1, "#define ONE __CUDACC_VER_MAJOR__"),
        ("extern", "#include <other.h>\nextern", 1, "#include <other.h>"),
        ("extern", "#pragma nv_diag_suppress 177\nextern", 1, "#pragma nv_diag_suppress 177"),
        ("extern", HOST + "extern", 2, "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)"),
        ("inline", "#define k(y) k(y + 1)\ninline", 6, "#define k(y) k(y + 1)"),
        ("inline", "__device__ int more;\ninline", 6, "__device__"),
        ("#endif", "#else\nint other;\n#endif", 7, "#else"),
        ("  y[0]", "  return\u00a0; y[0]", 2, "\u00a0"),
        ("return", "return\u3000", 6, "\u3000"),
        ("extern", "#pragma\u00a0once\nextern", 1, "#pragma\u00a0once"),
        ("  y[0]", "  #pragma unroll\u2003\n  y[0]", 2, "#pragma unroll\u2003"),
        ("  y[0]", "  #pragma unroll \u0664\n  y[0]", 2, "#pragma unroll \u0664"),
        ("#if def", "#if\u00a0def", 5, "#if\u00a0defined(__CUDACC__) && !defined(__CUDACC_RTC__)"),
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
        ("extern", "#pragma once\n#include <cuda_fp16.h>\nextern"),
        ("  y[0]", "  #pragma unroll 4 /* rounds */ // four\r\n  y[0]"),
        ("  y[0]", "  // l\u00e4nger \u00a0 (really??) a \\ b\n  y[0]"),
        ("  y[0]", '  // "#if\n  /* #if */ asm volatile("// #if __CUDA_ARCH__" : "+f"(y[0]));\n  y[0]'),
        ("1.0f", "(unsigned long long)(1ull) + 0x1full + (signed char)(1) + (char unsigned)(2) + 0x1Fu"),
        ("1.0f", "1.0f + __float_as_int(2.0f) + __shfl_sync(~0u, 1, 2)"),
        ("1.0f", "__fmaf_rn(__ldg(y), __int2float_rn(__popc(3)), __expf(1.0f)) + __low2float(__hadd2(y, y))"),
    ],
)
def test_what_is_the_same_for_all(old: str, new: str) -> None:
    assert asks_for_its_reader(TEXT.replace(old, new, 1), "k") is None


def test_names_of_the_printed_text_are_no_macros() -> None:
    """A sketch may have an array that is called like one."""
    text = TEXT.replace("1.0f", "X_MAX[0]")
    assert asks_for_its_reader(text, "k") and asks_for_its_reader(text, "k", TEXT.replace("y", "X_MAX")) is None
    text = TEXT.replace("1.0f", "(long)(1)")
    assert asks_for_its_reader(text, "k") and asks_for_its_reader(text, "k", "(long)") is None


@pytest.mark.parametrize("name", EXAMPLES)
def test_printed_texts_ask_for_nothing(name: str) -> None:
    source = print_cuda(EXAMPLES[name])
    assert asks_for_its_reader(source.text, source.entry) is None
