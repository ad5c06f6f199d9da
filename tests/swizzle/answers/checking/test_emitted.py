"""`swizzle check --emitted`: what it says of a text that is right, of one that is not, and of what it cannot know."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cuda_out.c.printer import CudaSource
from cuda_out.compile.children import is_confined
from cuda_out.compile.sandbox import no_sandbox
from cuda_out.compile.toolchain import available_tools
from cuda_out.ptx.running.machine import PtxMachine
from swizzle.answers.checking import emitted, on_disk
from swizzle.answers.checking.on_disk import KernelText
from swizzle.answers.checking.trial import Compared
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.commands.check import CheckArguments, check
from swizzle.commands.solve import SolveArguments, solve
from swizzle.commands.target import Target
from symbolic.errors import SwizzleError
from tests.swizzle.commands.test_check_and_run import checked, kernel, one_array

pytestmark = pytest.mark.skipif(
    not available_tools() or not (shutil.which("g++") or shutil.which("clang++")),
    reason="needs a CUDA compiler (nvcc or NVRTC) and a C++ compiler",
)


@pytest.fixture(autouse=True)
def one_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile for one architecture with one tool, to be quick; what docs/checking.md shows is made with all tools."""
    monkeypatch.setattr("cuda_out.compile.report.report.__defaults__", (("sm_80",),))
    monkeypatch.setattr(emitted, "available_tools", lambda: available_tools()[:1])
    monkeypatch.setattr("cuda_out.compile.report.disassembler", lambda: None)


def printing(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Let the printer make a mistake."""
    right = on_disk.cuda_source

    def wrong(*arguments: object, **options: object) -> CudaSource:
        source = right(*arguments, **options)  # type: ignore[arg-type]
        assert old in source.text
        return replace(source, text=source.text.replace(old, new))

    monkeypatch.setattr(on_disk, "cuda_source", wrong)


@pytest.mark.slow
def test_text_and_json_say_the_same(tmp_path: Path) -> None:
    """Resources, validation, the run, and mutants where asked for."""
    status, out = checked(kernel(tmp_path), emitted=True, mutate=True)
    assert status == 0
    assert "  sm_80: compiles without warnings, " in out and "stack frame 0 bytes, no local memory" in out
    assert "  header form: compiles without warnings\n" in out
    assert "  host function, in both forms: grid, block, stream, arguments and errors are right in " in out
    assert (
        "'s PTX for sm_80: equal to the specification, validated for all inputs (64 outputs; at the length 32 too)"
        in out
    )
    seen = (
        r"  \d\d mutants .*: \d\d seen by translation validation and by the emulation, \d proved .* nothing, 0 unseen\n"
    )
    assert re.search(seen, out), out
    status, out = checked(kernel(tmp_path), emitted=True, json_object=True)
    found = json.loads(out)
    assert (status, found["kernel"], found["status"], found["outputs"]) == (0, "add_neighbour", "equal", 64)
    (architecture,), details = found["emitted"]["architectures"], found["emitted"]
    assert (architecture["architecture"], architecture["local_memory"], architecture["stack_bytes"]) == (
        "sm_80", False, 0,
    )  # fmt: skip
    assert architecture["instructions"] is None  # there is no disassembler
    assert details["translation_validation"][0]["status"] == details["run"]["status"] == "equal"
    assert "mutation" not in details


def test_json_of_a_wrong_kernel(tmp_path: Path) -> None:
    """The findings, and no `emitted`: the text of a wrong kernel is not looked at."""
    status, out = checked(kernel(tmp_path, step=2), emitted=True, json_object=True)
    found = json.loads(out)
    assert (status, found["status"], "emitted" in found) == (1, "different", False)
    assert found["findings"][0].startswith("y[0] is ")


def test_a_mistake_of_the_printer_is_found_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms differ, and so do the numbers: status 1, with the instruction that stored the wrong element."""
    printing(monkeypatch, "+ 1", "+ 2")
    status, out = checked(kernel(tmp_path), emitted=True)
    assert status == 1
    assert "PTX for sm_80: not equal to the specification: whole numbers: 64 of 64 outputs are wrong" in out
    assert "y[0] is x[0] + x[2], the specification says x[0] + x[1] (stored by block (0, 0, 0)" in out


def test_undefined_behaviour_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs no numbers."""
    printing(monkeypatch, "y[", "y[1 + ")
    status, out = checked(kernel(tmp_path), emitted=True)
    assert (status, "PTX for sm_80: not equal to the specification\n" in out) == (1, True)
    assert "writes y[64], out of bounds: y has 64 elements" in out


def test_what_is_not_interpreted_is_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without branches on data: status 3, as nothing is shown; numbers are tried all the same."""
    monkeypatch.setattr("cuda_out.ptx.running.validate.BranchingMachine", PtxMachine)
    path = one_array(tmp_path, "x[t] // (x[0] | 1)", "x[i] // (x[0] | 1)", "i64")
    status, out = checked(path, emitted=True)
    assert status == 3
    assert "not shown equal: the numbers agree on random inputs, but not everything in it is interpreted" in out
    assert "depends on data" in out


def test_terms_that_differ_are_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signed quotient is another term in PTX; where no solver is asked of it, numbers agree: status 3."""
    monkeypatch.setattr("cuda_out.ptx.instructions.words.LARGEST", 1)
    status, out = checked(one_array(tmp_path, "x[t] // 7", "x[i] // 7"), emitted=True)
    assert (status, "the numbers agree on random inputs, but terms differ:" in out) == (3, True)


def test_without_a_cpp_compiler_the_ptx_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says so; what it finds counts."""

    def none() -> str:
        raise SwizzleError("no C++ compiler found, which running a kernel on the CPU needs", fix="install one")

    monkeypatch.setattr("cuda_out.emulate.emulate.compiler", none)
    status, out = checked(kernel(tmp_path), emitted=True)
    assert status == 0
    assert "running its PTX for sm_80 instead of the text: no C++ compiler found" in out
    assert "whole numbers: 64 of 64 outputs are the specification's, exactly" in out


def test_without_a_cuda_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says so; the emulation still runs."""
    monkeypatch.setattr(emitted, "available_tools", lambda: [])
    status, out = checked(kernel(tmp_path), emitted=True)
    assert (status, emitted.NO_COMPILER in out, "whole numbers: 64 of 64" in out) == (0, True, True)


def test_mutate_needs_emitted(tmp_path: Path) -> None:
    """The error says what to add."""
    with pytest.raises(SwizzleError, match="--mutate without --emitted"):
        check(CheckArguments(str(kernel(tmp_path)), mutate=True), io.StringIO(), io.StringIO())


@pytest.mark.slow
def test_a_mutant_that_nobody_sees_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blind emulation is a defect of the checks: status 1, with the mutant and what each check said."""
    monkeypatch.setattr("swizzle.answers.checking.emitted.first_wrong_trial", lambda *_: "")
    status, out = checked(kernel(tmp_path), emitted=True, mutate=True)
    assert status == 1
    assert re.search(r"\d\d mutants .*, [1-9]\d* unseen", out)
    assert "unseen: line " in out and "emulation: equal)" in out


# ---- any length, and the file on disk --------------------------------------------------------------------------

ONCE = """
N = parameter("n", 64, domain=range(32, 256, 32))

@spec
def shifted(x):
    return [x[i] for i in range(N)]

@sketch(spec=shifted, block=32, grid=N // 32, x=f32[N], y=f32.out[N])
def shift(x, y):
    i = cuda.grid(1)
    y[i] = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(cuda.laneid, 32))
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A solution and, beside it, both forms of its text; its specification is made for one length only."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "shift.swz").write_text(ONCE)
    arguments = SolveArguments(str(folder / "shift.swz"), output=folder, quiet=True, emit=("cuda", "header"))
    assert solve(arguments, io.StringIO(), io.StringIO()) == 0
    return folder


@pytest.fixture
def files(once: Path, tmp_path: Path) -> Path:
    """The same, to be edited."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_file_as_printed(files: Path) -> None:
    """The comment at its head may be any; the specification is cut off at lengths that it is not made for."""
    edit(files / "shift.cu", "// SPDX-License-Identifier: MIT-0\n", "// Ours\n\n// now\n")
    status, out = checked(files / "shift.json", emitted=True)
    assert status == 0, out
    assert f"  {files / 'shift.cu'}: the text that is printed from this solution\n" in out
    assert f"  {files / 'shift.cuh'}: the text that is printed from this solution\n" in out
    assert "(64 outputs; at the lengths 1, 31, 33 too)" in out
    assert "at the lengths 1, 31, 33 too: all outputs are the specification's" in out


TAILS = [
    ("n - begin < 32", "n - begin >= 32"),
    ("i < left", "i <= left"),
    ("i < left", "i + 1 < left"),
    ("if (whole || i < left) y", "y"),
    ("i < left ? x", "i < 32 ? x"),
    ("i < left ? x", "i < left - 1 ? x"),
    ("blockIdx.x * 32ll", "(blockIdx.x & 0) * 32ll"),
    ("int(n - begin) : 32", "int(n - begin) + 1 : 32"),
]


@pytest.mark.parametrize(
    ("old", "new"),
    [pytest.param(*each, marks=[pytest.mark.slow] if number != 0 else []) for number, each in enumerate(TAILS)],
)
@pytest.mark.slow
def test_an_edited_tail_is_seen_by_both(files: Path, old: str, new: str) -> None:
    """Also where it is right at the sketch's own length: status 1, and the length."""
    edit(files / "shift.cu", old, new)
    (files / "shift.cuh").unlink()
    status, out = checked(files / "shift.json", emitted=True, json_object=True)
    found = json.loads(out)["emitted"]
    assert (status, found["text"]["edited"]) == (1, True), out
    (validation,) = found["translation_validation"]
    assert (validation["status"], found["run"]["status"]) == ("different", "different"), out


@pytest.mark.slow
def test_the_ptx_beside_a_solution(files: Path) -> None:
    """It is validated as it stands, at every length, and what is no kernel of this name is not shown equal."""
    arguments = SolveArguments(str(files / "shift.swz"), output=files, quiet=True, emit=("ptx",))
    assert solve(arguments, io.StringIO(), io.StringIO()) == 0
    ptx = files / "shift.ptx"
    status, out = checked(files / "shift.json", emitted=True)
    said = "equal to the specification, validated for all inputs (64 outputs; at the lengths 1, 31, 33 too)"
    said += ", for every block of every length"
    assert status == 0 and f"  {ptx}: {said}\n" in out
    right = ptx.read_text()
    assert "setp.ge.s32" in right
    ptx.write_text(right.replace("setp.ge.s32", "setp.gt.s32"))
    status, out = checked(files / "shift.json", emitted=True, json_object=True)
    found = json.loads(out)["emitted"]["ptx"]
    assert (status, found["file"], found["status"]) == (1, str(ptx), "different")
    assert found["findings"][0].startswith("at length ")
    ptx.write_text(right.replace("shift", "other"))
    status, out = checked(files / "shift.json", emitted=True)
    assert status == 3 and "    not interpreted: a module without shift: it has other\n" in out
    assert f"  {ptx}: not shown equal, and not run: not everything in it is interpreted:\n" in out
    assert ".maxntid 32" in right
    ptx.write_text(right.replace(".maxntid 32", ".maxntid 16"))
    status, out = checked(files / "shift.json", emitted=True)
    assert status == 1 and "a block of 32 threads: .maxntid allows 16\n" in out
    ptx.write_text(right.replace(".visible .entry", ".entry"))
    status, out = checked(files / "shift.json", emitted=True)
    assert status == 3 and "  not shown equal: its entry is not .visible, so that none is found as shift\n" in out


@pytest.mark.slow
def test_the_ptx_beside_a_solution_says_how_its_floats_differ(tmp_path: Path) -> None:
    """As an edited text does; as the printed text's own PTX it says nothing."""
    (tmp_path / "sums.swz").write_text(
        "@spec\ndef sums_spec(x):\n    return [x[i] + x[i + 1] for i in range(32)]\n"
        "@sketch(spec=sums_spec, block=32, grid=1, x=f32[33], y=f32.out[32])\n"
        "def sums(x, y):\n    y[cuda.laneid] = x[cuda.laneid] + x[cuda.laneid + 1]\n"
    )
    arguments = SolveArguments(str(tmp_path / "sums.swz"), output=tmp_path, quiet=True, emit=("ptx",))
    assert solve(arguments, io.StringIO(), io.StringIO()) == 0
    ptx, says = tmp_path / "sums.ptx", "as real numbers; from the printed text it differs in: "
    status, out = checked(tmp_path / "sums.json", emitted=True)
    assert status == 0 and says not in out
    ptx.write_text(ptx.read_text().replace("add.f32", "add.ftz.f32"))
    status, out = checked(tmp_path / "sums.json", emitted=True)
    assert status == 0 and f"  {says}approximations: add.ftz.f32\n" in out, out


@pytest.mark.slow
def test_a_right_edit_is_right(files: Path) -> None:
    """The file that was edited is what is checked, and said to be: an equal text stays equal, and needs no form."""
    edit(files / "shift.cu", "if (whole || i < left) y", "if (whole || !(i >= left)) y")
    (files / "shift.cuh").unlink()
    status, out = checked(files / "shift.json", emitted=True)
    assert status == 0
    assert "shift.cu: edited, or printed by another version (line " in out
    assert "if (whole || !(i >= left)) y[begin + i] = " in out and "); it is this file that is checked\n" in out


@pytest.mark.slow
def test_how_an_edited_text_that_is_equal_differs_is_said(files: Path) -> None:
    """In one line, and in JSON: what real numbers do not show. A text as printed differs in nothing."""
    status, out = checked(files / "shift.json", emitted=True, json_object=True)
    (validation,) = json.loads(out)["emitted"]["translation_validation"]
    assert (validation["arithmetic"], validation["cancels"]) == ([], False)
    text = (files / "shift.cu").read_text()
    (files / "shift.cu").write_text(re.sub(r"(?<=y\[begin \+ i\] = )(.*);", r"\1 + 0.0f;", text))
    (files / "shift.cuh").unlink()
    status, out = checked(files / "shift.json", emitted=True)
    said = ["constants: 0 (printed: none)", "roundings: 64 (printed: 0)"]
    assert status == 0 and f"  as real numbers; from the printed text it differs in: {'; '.join(said)}\n" in out, out
    status, out = checked(files / "shift.json", emitted=True, json_object=True)
    (validation,) = json.loads(out)["emitted"]["translation_validation"]
    assert (status, validation["arithmetic"]) == (0, said)


@pytest.mark.slow
def test_an_edited_header_alone(files: Path) -> None:
    """Its kernel is checked as that of a `.cu` would be."""
    (files / "shift.cu").unlink()
    edit(files / "shift.cuh", "if (whole || i < left) y", "if (whole || i < left - 1) y")
    status, out = checked(files / "shift.json", emitted=True)
    assert (status, "shift.cuh: edited, or printed" in out, "is never written" in out) == (1, True, True)


@pytest.mark.slow
def test_two_kernels_are_not_one(files: Path) -> None:
    """Where the header holds another kernel than the `.cu`, that is undecided, not equal."""
    edit(files / "shift.cuh", "if (whole || i < left) y", "if (whole || !(i >= left)) y")
    status, out = checked(files / "shift.json", emitted=True)
    assert (status, "its kernel is not the one of" in out) == (3, True)


def test_an_edited_host_function_is_not_what_is_printed(files: Path) -> None:
    """A handle that is refused, which no sample of calls would show: the place is told, and it is not run."""
    edit(
        files / "shift.cu",
        "  const long long blocks_x",
        "  if (size_t(stream) > 4095) return cudaErrorInvalidValue;\n  const long long blocks_x",
    )
    status, out = checked(files / "shift.json", emitted=True, json_object=True)
    found = json.loads(out)["emitted"]
    line = (
        (files / "shift.cu")
        .read_text()
        .splitlines()
        .index("  if (size_t(stream) > 4095) return cudaErrorInvalidValue;")
    )
    said = f"{files / 'shift.cu'}:{line + 1}:3: not what is printed: `if` in the place of `const`"
    assert (status, found["text"]["unlike"]) == (3, [said])
    assert (found["host"]["status"], found["host"]["calls"]) == ("unknown", 0)
    assert {each["status"] for each in found["translation_validation"]} == {found["run"]["status"]} == {"equal"}


UNLIKE = [
    ("shift.cu", "#endif", "inline cudaError_t launch_shift(float* x, float* y, int n) {}\n#endif", "`inline` in"),
    ("shift.cu", "extern", "__device__ int more() { return 1; }\nextern", "`__device__` in the place of `extern`"),
    ("shift.cu", "return condition; }", "return true; }", "`true` in the place of `condition`"),
    ("shift.cuh", "return condition; }", "return true; }", "`true` in the place of `condition`"),
    ("shift.cuh", "typename = void", "typename = int", "`int` in the place of `void`"),
    ("shift.cuh", "}  //", "  int more;\n}  //", "`int` in the place of `}`"),
    ("shift.cuh", "shift<><<<", "shift<><<<1 + ", "`1` in the place of `dim3`"),
    ("shift.cuh", "threadIdx.x", "threadIdx.y", "its kernel is not the one of"),
    ("shift.cuh", "__launch_bounds__(32)", "__launch_bounds__(32, 2)", "its kernel is not the one of"),
]  # fmt: skip


def texts_of(files: Path) -> KernelText:
    filled = Target.of(str(files / "shift.json"), {}).kernel()
    assert isinstance(filled, FilledKernel)
    return on_disk.text_to_check(filled, files / "shift.json")


@pytest.mark.parametrize(("name", "old", "new", "said"), UNLIKE)
def test_all_but_the_kernel_is_compared(files: Path, name: str, old: str, new: str, said: str) -> None:
    """Overloads, helpers, templates, in the text and in its header; of a header beside it, the kernel, too."""
    edit(files / name, old, new)
    (line,) = texts_of(files).unlike
    assert said in line and str(files / name) in line


@pytest.mark.parametrize(
    "directive", ["#define cudaSuccess cudaErrorUnknown", "#undef dim3", "#if 1", "#pragma pack(1)"]
)
@pytest.mark.parametrize("name", ["shift.cu", "shift.cuh"])
def test_directives_are_refused(files: Path, name: str, directive: str) -> None:
    """Between the kernel and the host function, where no other check would look, with the place."""
    edit(files / name, "#if defined", f"{directive}\n#if defined")
    with pytest.raises(SwizzleError, match=re.escape(f"{directive}, a directive")) as caught:
        texts_of(files)
    place = caught.value.place
    assert place is not None and (files / name).read_text().splitlines()[place.line - 1] == directive


@pytest.mark.slow
def test_names_and_spaces_are_free(files: Path) -> None:
    """Of what is local: in the host function, in the kernel of the text, and in that of a header beside it."""
    edit(files / "shift.cu", "long long blocks_x", "long  long  many /* of them */")
    edit(files / "shift.cu", "blocks_x", "many")
    edit(
        files / "shift.cu",
        "__global__ void __launch_bounds__(32) shift(",
        "__global__\nvoid __launch_bounds__( 32 ) shift (",
    )
    edit(files / "shift.cuh", "template <typename = void>", "template<typename=void>")
    for name, new in (("left", "rest"), ("begin", "first_element")):
        text = (files / "shift.cuh").read_text()
        (files / "shift.cuh").write_text(re.sub(rf"\b{name}\b", new, text).replace("\n", "\r\n"))
    assert texts_of(files).unlike == ()
    status, out = checked(files / "shift.json", emitted=True)
    assert status == 0 and "  host function, in both forms: grid, block" in out, out


@pytest.mark.slow
def test_names_and_spaces_are_free_in_a_header_alone(files: Path) -> None:
    """Whose kernel is checked as that of a `.cu`, also with mutants."""
    (files / "shift.cu").unlink()
    edit(files / "shift.cuh", "template <typename = void>", "template<typename=void>")
    edit(files / "shift.cuh", "launch_shift(", "launch_shift  (")
    edit(files / "shift.cuh", " shift(", " shift (")
    status, out = checked(files / "shift.json", emitted=True, mutate=True)
    assert status == 0 and re.search(r"\d\d mutants .* 0 unseen", out), out


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("const float* __restrict__ x", "const double* __restrict__ x", "takes (const double* __restrict__ x"),
        ("const float* __restrict__ x", "float* __restrict__ x", "takes (float* __restrict__ x"),
        (" shift(\n", " shoft(\n", "is without a kernel shift"),
        ("y[begin + i] = ", "y[begin + i] = nothing + ", "does not compile"),
    ],
)
def test_a_file_that_is_not_the_kernel(files: Path, old: str, new: str, complaint: str) -> None:
    """The user's mistake, with the file's name."""
    edit(files / "shift.cu", old, new)
    with pytest.raises(SwizzleError) as caught:
        checked(files / "shift.json", emitted=True)
    assert str(files / "shift.cu") in caught.value.found and complaint in caught.value.found


def test_other_parameters_are_not_the_files(files: Path) -> None:
    """With -D the text is printed for them; the file was for others."""
    edit(files / "shift.cu", "y[begin + i] = ", "y[begin + i] = 1 + ")
    status, out = checked(files / "shift.json", emitted=True, overrides={"n": 96})
    assert (status, "shift.cu" in out) == (0, False)


@pytest.mark.slow
def test_a_text_for_its_own_size(files: Path) -> None:
    """A file whose kernel takes no length is launched without."""
    filled = Target.of(str(files / "shift.json"), {}).kernel()
    assert isinstance(filled, FilledKernel)
    (files / "shift.cu").write_text(cuda_source(filled.program).text)
    (files / "shift.cuh").unlink()
    status, out = checked(files / "shift.json", emitted=True)
    assert (status, "validated for all inputs (64 outputs)\n" in out) == (0, True)


def test_lengths_on_ptx_without_a_cpp_compiler(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter runs mutants and lengths too."""

    def none() -> str:
        raise SwizzleError("no C++ compiler found, which running a kernel on the CPU needs", fix="install one")

    monkeypatch.setattr("cuda_out.emulate.emulate.compiler", none)
    status, out = checked(files / "shift.json", emitted=True, mutate=True)
    assert (status, "at the lengths 1, 31, 33 too: all outputs" in out) == (0, True)
    assert re.search(r"\d\d mutants .* 0 unseen", out)


# ---- a stranger's text -----------------------------------------------------------------------------------------

AT_START = """
extern "C" int open(const char*, int, ...);
namespace { struct AtStart { AtStart() { open("FILE", 0101, 0666); } } at_start; }
"""


def at_start(path: Path, file: Path) -> None:
    """Let a text make a file as soon as it is run on the host; the kernel stays as it was."""
    edit(path, "\n#endif", AT_START.replace("FILE", str(file)) + "\n#endif")


@pytest.mark.skipif(bool(no_sandbox()), reason=no_sandbox() or "there is a sandbox")
def test_an_edited_text_is_run_in_a_sandbox(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is trusted. Its host function is compared, and not run, nor is what is declared beside it."""
    run, where = emitted.compare, list[bool]()

    def compare(*arguments: Any) -> Compared:
        where.append(is_confined())
        return run(*arguments)

    monkeypatch.setattr(emitted, "compare", compare)
    made = [files / "made by cu", files / "made by cuh"]
    for suffix, file in zip((".cu", ".cuh"), made, strict=True):
        at_start(files / f"shift{suffix}", file)
    status, out = checked(files / "shift.json", emitted=True)
    assert "emulated in 4 orders" in out and out.count("not what is printed: `extern` in the place of `#endif`") == 2
    assert (status, checked(files / "shift.json", emitted=True, trust=True)[0], where) == (3, 3, [True, False])
    assert not any(file.exists() for file in made)


def test_without_a_sandbox_an_edited_text_is_interpreted(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is run: its PTX is interpreted, and its host function is compared only."""
    monkeypatch.setattr("cuda_out.compile.children.no_sandbox", lambda: "this kernel has no Landlock")
    if not available_tools() or available_tools()[0] != "nvrtc":
        pytest.skip("without NVRTC nothing of it is compiled either")
    at_start(files / "shift.cu", files / "made")
    status, out = checked(files / "shift.json", emitted=True)
    assert (status, (files / "made").exists()) == (3, False), out
    assert "instead of the text: this kernel has no Landlock; --trust runs it without one\n" in out
    assert "PTX for sm_80: equal to the specification" in out and "  host function: not known, " in out
    assert "  nvcc does not compile an edited text: this kernel has no Landlock; --trust lets it\n" in out
