"""The host function of a printed text, run with launches that are noted: whatever is wrong in it is found."""

from __future__ import annotations

import re
import shutil

import pytest

from cuda_out.c.printer import CudaSource, print_cuda
from cuda_out.emulate.host import NotRun, calls, wrong_calls, wrong_mutants
from cuda_out.passes.pipeline import optimize
from swizzle.answers.emit.emitters import cuda_source
from tests.cuda_out.examples import EXAMPLES
from tests.slow_cases import slow_unless
from tests.test_case_studies import answer

pytestmark = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")


def printed(target: str, parameters: dict[str, int]) -> tuple[CudaSource, str]:
    """Return a case study's text and its header form."""
    filled = answer(target, parameters)[1]
    assert filled is not None
    header = cuda_source(filled.program, filled.head, filled.sizes, form="header").text
    return cuda_source(filled.program, filled.head, filled.sizes), header


@pytest.fixture(scope="module")
def stencil() -> tuple[CudaSource, str]:
    return printed("stencil2d", {})


@pytest.fixture(scope="module")
def vectors() -> tuple[CudaSource, str]:
    """A kernel of a fixed size whose output must be aligned to 16 bytes."""
    program = optimize(EXAMPLES["rotate_4"])
    return print_cuda(program), print_cuda(program, form="header").text


def test_printed_host_functions_are_right(stencil: tuple[CudaSource, str], vectors: tuple[CudaSource, str]) -> None:
    """In both forms; lengths that cut blocks, too many blocks, addresses that are not aligned."""
    for source, header in (stencil, vectors):
        tried = list(calls(source))
        assert len(tried) > 5 and {call.blocks is None for call in tried} == {True, False}
        assert wrong_calls(source, source.text, tried) == wrong_calls(source, header, tried) == []


WRONG = {
    "grid turned": (r"unsigned\(blocks_x\), unsigned\(blocks_y\)", "unsigned(blocks_y), unsigned(blocks_x)"),
    "one block more": (r"/ (\d+) \+ 1;", r"/ \1 + 2;"),
    "rounded down": (r"\(n_x - 1\) / (\d+) \+ 1", r"n_x / \1"),
    "of the sketch's size": (r"unsigned\(blocks_x\)", "2"),
    "narrow": (r"const long long blocks_y", "const int blocks_y"),
    "truncated": (r"unsigned\(blocks_x\)", "unsigned(blocks_x) & 0xffff"),
    "another block": (r"dim3\((\d+), 1, 1\), 0", r"dim3(\1 / 2, 2, 1), 0"),
    "a smaller block": (r"dim3\((\d+), 1, 1\), 0", r"dim3(\1 - 1, 1, 1), 0"),
    "grid and block": (r"<<<(dim3\(.*\)), (dim3\(\d+, 1, 1\)), 0", r"<<<\2, \1, 0"),
    "shared memory": (r", 0, stream>>>", ", 48, stream>>>"),
    "no stream": (r", 0, stream>>>", ">>>"),
    "arguments turned": (r">>>\(x, y,", ">>>(y, const_cast<float*>(x),"),
    "lengths turned": (r"n_x, n_y\);", "n_y, n_x);"),
    "another length": (r"n_x, n_y\);", "n_x, n_x);"),
    "one element less": (r"n_x, n_y\);", "n_x - 1, n_y);"),
    "a pointer moved": (r">>>\(x, y,", ">>>(x + 1, y,"),
    "negative lengths": (r"n_x < 0 \|\| n_y < 0", "n_x < 0"),
    "empty": (r"n_x == 0 \|\| n_y == 0", "n_x == 0 && n_y == 0"),
    "empty is an error": (r"return cudaSuccess;", "return cudaErrorInvalidValue;"),
    "too many blocks": (r"blocks_y > 65535", "blocks_y > 65536"),
    "too many blocks along x": (r"blocks_x > 2147483647 \|\| ", ""),
    "too many is success": (r"return cudaErrorInvalidConfiguration;", "return cudaSuccess;"),
    "one too few": (r"blocks_y > 65535", "blocks_y >= 65535"),
    "errors are lost": (r"return cudaGetLastError\(\);", "return cudaSuccess;"),
    "launched twice": (r"(\w+(?:<>)?<<<[^;]*;)", r"\1 \1"),
    "never launched": (r"(\w+(?:<>)?<<<[^;]*;)", r"if (n_x < 0) \1"),
    "not above a size": (r"(\w+(?:<>)?<<<[^;]*;)", r"if (n_x < (1ll << 31)) \1"),
    "on the default stream for some": (r", 0, stream>>>", ", 0, n_x > 1 ? nullptr : stream>>>"),
}


@pytest.mark.parametrize("form", slow_unless([0, 1], lambda form: form == 1))
def test_wrong_host_functions_are_found(form: int, stencil: tuple[CudaSource, str]) -> None:
    """In the text, and in the header form; all of a form are compiled as one program."""
    source, header = stencil
    text = (source.text, header)[form]
    edits = {kind: re.subn(old, new, text) for kind, (old, new) in WRONG.items()}
    assert all(count for _, count in edits.values()), edits
    found = wrong_mutants(source, text, [mutant for mutant, _ in edits.values()], list(calls(source)))
    assert [kind for kind, wrong in zip(edits, found, strict=True) if not wrong] == []


@pytest.mark.parametrize("kind", slow_unless(WRONG, ("rounded down", "errors are lost").__contains__))
def test_a_wrong_host_function_is_found_by_itself(kind: str, stencil: tuple[CudaSource, str]) -> None:
    """As `check --emitted` looks at a file."""
    source, header = stencil
    mutant = re.sub(*WRONG[kind], header if len(kind) % 2 else source.text)
    assert wrong_calls(source, mutant, list(calls(source))) != []


@pytest.mark.parametrize(("old", "new"), [(r"% (\d+) != 0\)", r"% \1 == 7)"), (r"% \d+ != 0\)", "% 1 != 0)")])
def test_alignment_is_looked_at(old: str, new: str, vectors: tuple[CudaSource, str]) -> None:
    """An address in the middle of a vector must be refused."""
    source, _ = vectors
    assert any(bytes_ > 1 for bytes_ in source.alignment)
    mutant, count = re.subn(old, new, source.text)
    assert count and wrong_calls(source, mutant, list(calls(source))) != []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"if \(n_x < 0", "// nothing to do\n  if (n_x < 0"),
        (r"\bblocks_x\b", "many"),
        (r"n_x == 0 \|\| n_y == 0", "!n_x or !n_y"),
        (r"return cudaErrorInvalidConfiguration;", "return cudaErrorInvalidValue;"),
        (r"(\w+)<<<(.*)>>>", r"\1 <<< \2 >>> "),
    ],
)
def test_harmless_edits_are_accepted(old: str, new: str, stencil: tuple[CudaSource, str]) -> None:
    """Comments, names, spaces, other words for the same."""
    source, _ = stencil
    mutant, count = re.subn(old, new, source.text)
    assert count and wrong_calls(source, mutant, list(calls(source))) == []


def test_what_cannot_be_run_is_said(stencil: tuple[CudaSource, str]) -> None:
    """No function at all, and one of another name."""
    source, _ = stencil
    without = source.text[: source.text.index("#if defined")] + "}\n"
    for text in (without, source.text.replace(source.launcher, "start")):
        with pytest.raises(NotRun, match="no function"):
            wrong_calls(source, text, list(calls(source)))


def opening(text: str, words: str) -> str:
    """Return a stencil's text whose host function begins with some words."""
    edited, count = re.subn(r"(?=\n +if \(n_x < 0)", f"\n  {words}", text)
    assert count == 1
    return edited


def test_equal_pointers_and_a_second_call_are_tried(stencil: tuple[CudaSource, str]) -> None:
    """An array may be given twice; what is counted shows when every call is made again."""
    source, _ = stencil
    first, second = source.arguments[:2]
    equal = opening(source.text, f"if ((const void*){first} == (const void*){second}) return cudaSuccess;")
    assert any("it launches 0 times" in each for each in wrong_calls(source, equal, list(calls(source))))
    standard = list(calls(source))
    later = opening(source.text, f"static int made; if (++made > {len(standard)}) return cudaSuccess;")
    assert wrong_calls(source, later, standard) == [] != wrong_calls(source, later, standard * 2)
