"""What a file is compiled with: headers of its own and of the machine, macros, and what of it is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.strangers.reading.compiled import compiled, entry_of, is_named
from swizzle.strangers.reading.launch import chosen_kernel, said_flags, with_said_options
from swizzle.strangers.reading.text import CudaText
from symbolic.errors import SwizzleError

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
with_nvcc = pytest.mark.skipif("nvcc" not in available_tools(), reason="no nvcc, which reads the machine's headers")
KERNEL = "__global__ void k(float* x) {{ x[threadIdx.x] = {}; }}\n"


def ptx_of(text: CudaText, name: str = "k") -> str:
    """Return the PTX of a kernel, which must be one that is understood."""
    kernel, instance = chosen_kernel(text, name)
    ptx = compiled(with_said_options(text, kernel), kernel, instance)
    assert is_named(entry_of(ptx, kernel).name, kernel.name)
    return ptx


@pytest.mark.slow
def test_own_headers(tmp_path: Path) -> None:
    """Beside the file, in a folder of -I, and in a header of a header; host code and kernels in them are left out."""
    (tmp_path / "more" / "deep").mkdir(parents=True)
    (tmp_path / "beside.cuh").write_text(
        "#pragma once\n#include <vector>\n#include <deep/inner.h>\nstd::vector<int> all();\n"
        "inline int host(std::vector<int> v) { return v[0]; }\n__global__ void other() { undefined(); }\n"
        "DEVICE float twice(float v) { return INNER * v; }\n"
    )
    (tmp_path / "more" / "deep" / "inner.h").write_text('#include "next.h"\n#define INNER NEXT\n')
    (tmp_path / "more" / "deep" / "next.h").write_text(
        "#define NEXT 2.0f\n#define DEVICE inline HOST\n#define HOST __device__\n"
    )
    text = f'#include "beside.cuh"\n{KERNEL.format("twice(x[1])")}'
    read = CudaText(str(tmp_path / "k.cu"), text, [str(tmp_path / "more")])
    assert "add" in ptx_of(read) and not read.own_headers_left_out and read.tool == available_tools()[0]
    with pytest.raises(SwizzleError) as raised:
        ptx_of(CudaText(str(tmp_path / "k.cu"), text))
    assert raised.value.fix and "deep/inner.h" in raised.value.fix and "-I DIR" in raised.value.fix


def test_what_is_no_header_is_not_read(tmp_path: Path) -> None:
    """No file of another kind, and none by its whole path."""
    (tmp_path / "secret").write_text("a secret\n")
    (tmp_path / "secret.h").write_text("a secret\n")
    for name in ("secret", str(tmp_path / "secret.h")):
        text = CudaText(str(tmp_path / "k.cu"), f'#include "{name}"\n{KERNEL.format(1)}')
        assert "st.global" in ptx_of(text) and text.own_headers_left_out == [f'"{name}"'] and not text.headers


@pytest.mark.slow
def test_macros_of_the_build(tmp_path: Path) -> None:
    """-D on the command line goes before that of a comment, and a comment for the kernel before one for all."""
    kernel = KERNEL.replace("float", "int").format("V")
    text = f"// swizzle doctor: -D V=5\n// swizzle prove: --kernel k -DV=6 -D W -I .\n{kernel}"
    assert re.search(r", 6;", ptx_of(CudaText("k.cu", text)))
    assert re.search(r", 7;", ptx_of(CudaText("k.cu", text, defines=["V=7"])))
    assert said_flags(CudaText("k.cu", text))[1].defines == ("V=6", "W")
    with pytest.raises(SwizzleError, match='identifier "V" is undefined') as raised:
        ptx_of(CudaText("k.cu", kernel))
    assert raised.value.place and raised.value.place.column == kernel.index("V") + 1
    assert raised.value.fix and "-D V=VALUE" in raised.value.fix


@pytest.mark.parametrize(
    "text",
    [
        '#include "cuda_fp16.h"\n' + KERNEL.format("__half2float(__half(1))"),
        KERNEL.format("uint(x[1]) + ushort(x[2]) + ulong(x[3])"),
        "#include <math.h>\n" + KERNEL.format("float(M_SQRT1_2 * M_PI_4 + M_E)"),
        "#include <algorithm>\nusing std::max;\nusing namespace std;\n" + KERNEL.format("max(x[1], x[2])"),
        KERNEL.format(1) + "template <class T> void launch(T* x) { k<<<1, 9>>>(x); }\n"
        "template void launch<float>(float*);",
        "#include <vector>\nclass Host { std::vector<int> v; };\n" + KERNEL.format(1),
        KERNEL.format(1) + 'const char* text = R"X(} "{ )X"; // said "so"\n',
        KERNEL.format(1) + "__device__ missing helper();\n__global__ void bad() { undefined(1); }\n",
        "__device__ int helper() { return undefined; }\n__global__ void bad() { helper(); }\n" + KERNEL.format(1),
    ],
)  # fmt: skip
def test_what_other_compilers_know(text: str) -> None:
    """CUDA's headers in quotes, types and macros of the machine's headers, names of std, host code, bad neighbours."""
    assert "st.global" in ptx_of(CudaText("k.cu", text))


@with_nvcc
def test_headers_of_the_machine() -> None:
    """What NVRTC does not find, nvcc does: std types in what a kernel uses."""
    text = CudaText(
        "k.cu", "#include <limits>\n#include <gone.h>\n" + KERNEL.format("std::numeric_limits<float>::max()")
    )
    assert "2139095039" in ptx_of(text) and text.tool == "nvcc" and text.own_headers_left_out == ["<gone.h>"]
    assert text.altered("").tool == "nvcc"


@pytest.mark.slow
def test_a_mistake_in_a_header(tmp_path: Path) -> None:
    """Its place is the header's."""
    (tmp_path / "own.h").write_text("\n__device__ float wrong() { return nothing; }\n")
    with pytest.raises(SwizzleError, match='"nothing" is undefined') as raised:
        ptx_of(CudaText(str(tmp_path / "k.cu"), f'#include "own.h"\n{KERNEL.format("wrong()")}'))
    place = raised.value.place
    assert place and (Path(place.file).name, place.line, place.column) == ("own.h", 2, 35)


def test_types_that_a_missing_header_brings() -> None:
    """Halves, bfloat16 and widths, where a header that would include theirs is not there."""
    body = "__nv_bfloat16 b = float(half(x[1])); uint32_t word = 1u + float(b);"
    text = CudaText("k.cu", f"#include <torch/extension.h>\n{KERNEL.format('word').replace('{ x', '{ ' + body + ' x')}")
    assert "st.global" in ptx_of(text) and text.helped


def test_a_kernel_that_a_condition_hides() -> None:
    """It is said to be hidden, at its place."""
    text = CudaText("k.cu", f"\n#ifdef WIDE\n{KERNEL.format(1)}#endif\n")
    with pytest.raises(SwizzleError, match="k is compiled to 0 kernels") as raised:
        ptx_of(text)
    assert raised.value.place and raised.value.place.line == 3 and "-D NAME" in str(raised.value.fix)


def test_a_kernel_whose_brackets_do_not_match() -> None:
    """It is no obstacle for another one, before or behind it; of itself it is said where."""
    bad = "__global__ void bad(float* x) {\n  x[0 = (1;\n  if (x[1]) {\n}\n"
    for text in (bad + KERNEL.format(1), KERNEL.format(1) + bad, bad + bad.replace("bad", "worse") + KERNEL.format(1)):
        assert "st.global" in ptx_of(CudaText("k.cu", text))
        with pytest.raises(SwizzleError, match="is not closed"):
            chosen_kernel(CudaText("k.cu", text), "bad")
        with pytest.raises(SwizzleError, match="is not closed"):
            chosen_kernel(CudaText("k.cu", text), None)


def test_a_folder_of_cuda_is_no_folder_of_ones_own(tmp_path: Path) -> None:
    """A build may name it: its headers are the compiler's."""
    (tmp_path / "cuda_runtime.h").write_text("")
    (tmp_path / "own.h").write_text("#error of CUDA\n")
    text = "#include <own.h>\n#include <cuda_fp16.h>\n" + KERNEL.format("__half2float(__half(1))")
    read = CudaText(str(tmp_path / "sub" / "k.cu"), text, [str(tmp_path)])
    assert not read.headers and "st.global" in ptx_of(read)


HOST = """\
#include <map>
using Names = std::map<int, int>;
typedef std::map<int, Names> Tables;
static const std::map<int, int> numbers[] = {{}, {}};
struct Host { Tables tables; };
Names host(const Host& h);
"""


@pytest.mark.skipif("nvrtc" not in available_tools(), reason="no NVRTC")
def test_host_code_without_the_headers_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kernel does not name is left out where it does not compile; what it names is not."""
    monkeypatch.setattr("swizzle.strangers.reading.compiled.available_tools", lambda: ["nvrtc"])
    assert "st.global" in ptx_of(CudaText("k.cu", HOST + KERNEL.format(1)))
    with pytest.raises(SwizzleError) as raised:
        ptx_of(CudaText("k.cu", HOST + KERNEL.format("sizeof(Host)")))
    assert raised.value.fix and "install nvcc" in raised.value.fix and "<map>" in raised.value.fix
