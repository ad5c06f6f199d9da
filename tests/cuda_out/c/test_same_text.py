"""What of an edited text is not its kernel must be what is printed: no wrong edit passes, and no harmless one is
refused."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cuda_out.c.kernel_text import NoKernel, kernel_extent
from cuda_out.c.printer import print_cuda
from cuda_out.c.same_text import asks_for_its_reader, difference
from cuda_out.passes.pipeline import optimize
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.sizes import sizes_of
from swizzle.language.parameters import Parameters
from swizzle.sketches.loading import load
from swizzle.sketches.swz_file import read_swz
from tests.cuda_out.c import test_dynamic_shared
from tests.cuda_out.c.text_edits import entry_of, harmless_edits, wrong_edits
from tests.cuda_out.examples import EXAMPLES
from tests.cuda_out.ptx.running import test_own_operators
from tests.swizzle import test_scalars
from tests.swizzle.answers.emit import test_by_value
from tests.swizzle.answers.emit.any_length import test_state_loops
from tests.test_case_studies import answer

SKETCHES = {"dynamic": test_dynamic_shared.TEXT, "by_value": test_by_value.TEXT, "scalars": test_scalars.TEXT}
NAMES = (*SKETCHES, "states", "own_operator", "conv1d", "stencil2d", "rotate_4", "lookup", "arithmetic_f16")
"""Dynamic shared memory, structures, scalars, states, operators of the user's, lengths along one axis and two,
alignment, a table, helpers."""


@cache
def texts(name: str) -> tuple[str, str]:
    """Return both forms of a printed text."""
    if name in EXAMPLES:
        program = optimize(EXAMPLES[name])
        return print_cuda(program).text, print_cuda(program, form="header").text
    if name == "states":
        with TemporaryDirectory() as folder:
            file = Path(folder) / "states.py"
            file.write_text(test_state_loops.FILTERS)
            (sketch,) = load(file, None, {})
        program, sizes = sketch.program, sizes_of(sketch.program, sketch)
    elif name == "own_operator":
        sketch = test_own_operators.reduced("gcd", "u32")
        program, sizes = sketch.program, sizes_of(sketch.program, sketch)
    elif name in SKETCHES:
        *_, sketch = read_swz(SKETCHES[name], name, Parameters())
        program, sizes = sketch.program, sizes_of(sketch.program, sketch)
    else:
        filled = answer(name, {})[1]
        assert filled is not None
        program, sizes = filled.program, filled.sizes
    return cuda_source(program, (), sizes).text, cuda_source(program, (), sizes, form="header").text


def refused(text: str, printed: str) -> str:
    """Return why a text is not the printed one, '' where it is."""
    try:
        if asked := asks_for_its_reader(text, entry_of(printed), printed):
            return asked.why
        return str(difference(text, printed, entry_of(printed)) or "")
    except NoKernel as missing:
        return f"without {missing}"


BOTH = [(name, form) for name in NAMES for form in (0, 1)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "form"), BOTH)
def test_no_wrong_edit_passes(name: str, form: int) -> None:
    """Words deleted, doubled and exchanged, statements, declarations and directives put in, names that are taken."""
    printed = texts(name)[form]
    edits = list(wrong_edits(printed, most=8))
    assert len(edits) >= 40 and [kind for kind, text in edits if not refused(text, printed)] == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), BOTH)
def test_no_wrong_edit_of_thousands_passes(name: str, form: int) -> None:
    """With `most=None` there are many times as many."""
    printed = texts(name)[form]
    edits = list(wrong_edits(printed, most=100))
    assert len(edits) > 400 and [kind for kind, text in edits if not refused(text, printed)] == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "form"), BOTH)
def test_no_harmless_edit_is_refused(name: str, form: int) -> None:
    """Comments, spaces, names of what is local, in the host function and between all that is declared."""
    printed = texts(name)[form]
    edits = list(harmless_edits(printed, most=20))
    assert len(edits) == 20 and [(kind, why) for kind, text in edits if (why := refused(text, printed))] == []


def test_where_it_differs() -> None:
    """The place, what stands there, and what is printed; the end of a text is a place, too."""
    _, printed = texts("stencil2d")
    found = difference(printed.replace("cudaSuccess", "cudaErrorUnknown", 1), printed, "stencil2d")
    line = next(n for n, each in enumerate(printed.splitlines(), 1) if "cudaSuccess" in each)
    assert found is not None
    assert (found.line, found.found, found.printed) == (line, "cudaErrorUnknown", "cudaSuccess")
    assert printed.splitlines()[line - 1][found.column - 1 :].startswith("cudaSuccess")
    shorter, longer = printed[: printed.rindex("}")], f"{printed}\nint x;"
    for text, words in ((shorter, ("", "}")), (longer, ("int", ""))):
        end = difference(text, printed, "stencil2d")
        assert end is not None and (end.found, end.printed) == words


def test_directives_are_compared() -> None:
    """Of those that a text may have, it has the printed ones; blanks in them are free."""
    printed = texts("arithmetic_f16")[1]
    edits = [
        ("cuda_fp16", "cuda_bf16", False),
        ("#pragma once", "#pragma unroll", False),
        ("#include <", " #include  <", True),
        ("#pragma once", "#pragma\tonce  // a note", True),
        ("#pragma once", "#pragma\u00a0once", False),
    ]
    for old, new, same in edits:
        edited = printed.replace(old, new)
        assert edited != printed and (difference(edited, printed, entry_of(printed)) is None) == same


KERNEL = [
    (r"\btx\b", "column_of_thread", True),
    (r"\bpatch\b", "tile", True),
    (r"\bbegin_x\b", "x0", True),
    (r"\bn_y\b", "rows", True),  # in the host function it is n_y
    (r"\bn_x\b(?=.*\bn_y\b)", "n_y", False),
    (r"\btx\b", "ty", False),
    (r"\btx\b", "threadIdx", False),
    (r"\bx\b", "a", False),
    (r"threadIdx\.x", "threadIdx.y", False),
    (r"\bint\b", "long", False),
    (r" \+ ", " - ", False),
]


@pytest.mark.parametrize(("old", "new", "same"), KERNEL)
def test_a_kernel_is_compared_where_it_is_asked_for(old: str, new: str, same: bool) -> None:
    """As that of a header; a member is no variable, and has no other name."""
    printed = texts("stencil2d")[1]
    start, end = kernel_extent(printed, "stencil2d")
    edited = printed[:start] + re.sub(old, new, printed[start:end]) + printed[end:]
    assert edited != printed and (difference(edited, printed, "stencil2d", kernel=True) is None) == same
    assert difference(edited, printed, "stencil2d") is None


@pytest.mark.parametrize(
    ("name", "taken"),
    [("rows", False), ("index_2", False), ("N", True), ("cudaMalloc", True), ("uint", True), ("size_t", True),
     ("emit", True), ("rad1", True), ("import", True), ("Success", True),
     ("float4", True), ("major", True), ("st_atime", True), ("printf", True), ("_x", True), ("a__b", True),
     ("final", False), ("xor", True), ("make_float4", True), ("known", True), ("stencil2d", True)],
)  # fmt: skip
def test_names_that_something_else_may_have(name: str, taken: bool) -> None:
    """Macros, types and functions, of this file or of libraries."""
    printed = texts("stencil2d")[0]
    edited = re.sub(r"\bblocks_x\b", name, printed)
    assert (difference(edited, printed, "stencil2d") is not None) == taken


def test_what_is_declared_elsewhere_keeps_its_name() -> None:
    """An array of shared memory whose size the launch gives is no variable of the kernel's own; one beside it is."""
    printed = texts("dynamic")[1]
    for name, same in (("shared_memory", False), ("t", True)):
        edited = re.sub(rf"\b{name}\b", "fresh", printed)
        assert (difference(edited, printed, entry_of(printed), kernel=True) is None) == same


HEADS = [
    ("__global__ void", "__global__ static void"),
    ("__global__ void", "__global__ void __cluster_dims__(2)"),
    ("__global__ void", "__global__ void __attribute__((constructor))"),
    ("n_y) {", "n_y) noexcept {"),
]


@pytest.mark.parametrize(("old", "new"), HEADS)
def test_another_head_is_of_no_kernel(old: str, new: str) -> None:
    printed = texts("stencil2d")[0]
    assert old in printed
    with pytest.raises(NoKernel):
        difference(printed.replace(old, new), printed, "stencil2d")


def test_bounds_and_names_of_parameters_may_be_others() -> None:
    """PTX shows the bounds, and the parameters' types are compared elsewhere."""
    printed = texts("stencil2d")[0]
    edited = re.sub(r"__launch_bounds__\(\d+\)", "__launch_bounds__(32, 7)", printed).replace(
        "  long long n_x,", "  long long,"
    )
    assert edited.count("\n") == printed.count("\n") and difference(edited, printed, "stencil2d") is None
