"""Finding the kernel in a text that may have been edited."""

from __future__ import annotations

import pytest

from cuda_out.c.kernel_text import NoKernel, code, instantiated, kernel_extent, parameters, with_kernel
from cuda_out.c.printer import print_cuda
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from tests.cuda_out.examples import EXAMPLES

TEXT = """// __global__ void k(int never) {}
extern "C" __global__ void __launch_bounds__(64, 2) k(
    const float* x,  // in f32[n), or (
    /* a } */ long long n) {
  if (n > 0) { }
}
void after() {}
"""


def test_the_kernel_and_what_it_takes() -> None:
    """Comments hide neither its end nor its parameters."""
    start, end = kernel_extent(TEXT, "k")
    assert TEXT[start:].startswith('extern "C"') and TEXT[:end].endswith("}\n}")
    assert parameters(TEXT, "k") == ("const float* x", "long long n")


@pytest.mark.parametrize(
    "text", ["", TEXT.replace(" k(", " j("), TEXT[: TEXT.index("if")], TEXT[: TEXT.index("const")]]
)
def test_no_kernel(text: str) -> None:
    """It is not there, or without an end."""
    with pytest.raises(NoKernel):
        kernel_extent(text, "k")


def edit_in(text: str, entry: str) -> str:
    end = kernel_extent(text, entry)[1]
    return text[: end - 1] + "return; }" + text[end:]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_header_and_a_source_hold_the_same_kernel(name: str) -> None:
    """So the source with the header's kernel is the source, and one with an edited kernel has the edit."""
    cu, header = print_cuda(EXAMPLES[name]), print_cuda(EXAMPLES[name], form="header")
    assert with_kernel(cu.text, header.text, cu.entry) == cu.text
    edited, expected = (edit_in(text, cu.entry) for text in (header.text, cu.text))
    assert with_kernel(cu.text, edited, cu.entry) == expected != cu.text


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
def test_an_instantiated_header_has_its_kernel_compiled() -> None:
    """A template that nobody uses would hide its errors."""
    source = print_cuda(next(iter(EXAMPLES.values())), form="header")
    assert ".entry" not in compile_to_ptx(source.text)
    assert ".entry" in compile_to_ptx(instantiated(source.text, source.entry, source.namespace))


def test_the_head_is_no_code() -> None:
    """Comments before the first line of code do not count, later ones do."""
    assert code("// a\n\n// b\nint x; // c\n") == "int x; // c"
