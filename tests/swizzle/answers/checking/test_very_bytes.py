"""What is checked of an edited text is its bytes, as NVRTC and nvcc read them: not what Python makes of its lines."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.commands.process import execute

pytestmark = pytest.mark.skipif(
    not available_tools() or not (shutil.which("g++") or shutil.which("clang++")),
    reason="needs a CUDA compiler (nvcc or NVRTC) and a C++ compiler",
)
SKETCH = """\
@spec
def turned(x):
    return [x[i] for i in range(len(x))]

@sketch(spec=turned, block=32, x=f32[32], y=f32.out[32])
def turn(x, y):
    i = cuda.grid(1)
    y[i] = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(cuda.laneid, 32))
"""
PASTED = "#define SWZ_S(x) #x\n#define SWZ_STR(x) SWZ_S(x)\n#define SWZ_CAT(a, b, c) a##b##c\nnamespace"
ASKS_FOR_NVCC = """\
template <typename T>
__device__ constexpr auto with_host(T** p) -> decltype(cudaMalloc(p, 1), true) { return true; }
__device__ constexpr bool with_host(...) { return false; }

extern"""


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("solved")
    (folder / "turn.swz").write_text(SKETCH)
    out = io.StringIO()
    assert execute(["solve", str(folder / "turn.swz"), "-o", str(folder), "-q"], out, out) == 0, out.getvalue()
    return folder


@pytest.fixture
def folder(solved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The solution, to be edited; compiled for one architecture, to be quick."""
    monkeypatch.setattr("cuda_out.compile.report.report.__defaults__", (("sm_80",),))
    monkeypatch.setattr("cuda_out.compile.report.disassembler", lambda: None)
    shutil.copytree(solved, tmp_path / "here")
    return tmp_path / "here"


def checked(folder: Path, *edits: tuple[str, str]) -> tuple[int, str]:
    """Edit the kernel, and check it."""
    text = (folder / "turn.cu").read_bytes().decode()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "turn.cu").write_bytes(text.encode())
    out = io.StringIO()
    return execute(["check", str(folder / "turn.json"), "--emitted"], out, out), out.getvalue()


BODY = "  const long long begin"
EDITS = {
    "pasting": ("  if (SWZ_STR(SWZ_CAT(_, _, CUDA_ARCH__))[1] == '2') return;\n", ": error: #define SWZ_S"),
    "a macro of nvcc": ("  if (SWZ_STR(INT_MAX)[0] != 'I') return;\n", ": error: #define SWZ_S"),
    "a spliced name": ("  if (__\\\nCUDA_ARCH__ > 1000) return;\n", r"error: \, a backslash at the end"),
    "a backslash and a blank": ("  // nothing \\ \n  return;\n", r"error: \, a backslash at the end"),
    "a lone CR": ("  // nothing\r  return;\n", "error: U+000D, a control character"),
    "a zero": ("  // \0\n  return;\n", "error: U+0000, a control character"),
    "an escape": ("  /* \x1b[2K\x1b[1A */\n", "error: U+001B, a control character"),
}


@pytest.mark.parametrize("kind", EDITS)
def test_what_other_compilers_read_otherwise_is_refused(folder: Path, kind: str) -> None:
    inserted, said = EDITS[kind]
    macros = [("namespace", PASTED)] if "SWZ_" in inserted else []
    status, out = checked(folder, *macros, (BODY, inserted + BODY))
    assert status == 2 and said in out and "  fix: " in out, out
    assert all(line.isprintable() for line in out.splitlines())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("// turn,", "// turn\r#error no\r// turn,", ":2:8: error: U+000D, a control character"),
        ("\nnamespace", "\n// \\\nnamespace", r":4: error: \, a backslash at the end"),
    ],
)
def test_a_head_that_goes_on_is_refused(folder: Path, old: str, new: str, said: str) -> None:
    """What stands behind it is as printed, line by line."""
    status, out = checked(folder, (old, new))
    assert status == 2 and said in out, out


@pytest.mark.slow
def test_lines_may_end_as_on_windows(folder: Path) -> None:
    """A repository may change that; it is the same text for every compiler."""
    path = folder / "turn.cu"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    status, out = checked(folder)
    assert status == 0 and "turn.cu: the text that is printed" in out, out
    status, out = checked(folder, (BODY, f"  // a comment: \u03b1\r\n{BODY}"))
    assert status == 0 and "turn.cu: edited" in out, out


@pytest.mark.slow
@pytest.mark.skipif(len(available_tools()) < 2, reason="needs both NVRTC and nvcc")
def test_what_nvcc_alone_does_is_seen(folder: Path) -> None:
    """Without a macro or a directive: a function that only nvcc has been told of (what declares it is not printed)."""
    before = (folder / "turn.cu").read_bytes()
    status, out = checked(folder, ("extern", ASKS_FOR_NVCC), (BODY, f"  if (with_host(x)) return;\n{BODY}"))
    both = "NVRTC's and nvcc's PTX for sm_80: equal"
    assert status == 3 and both in out and "not what is printed: `template` in the place of" in out, out
    (folder / "turn.cu").write_bytes(before)
    asked = f"  float* none = nullptr;\n  if (with_host(&none)) return;\n{BODY}"
    status, out = checked(folder, ("extern", ASKS_FOR_NVCC), (BODY, asked))
    assert status == 1, out
    assert "NVRTC's PTX for sm_80: equal to" in out and "nvcc's PTX for sm_80: not equal to" in out, out


@pytest.mark.slow
def test_a_header_is_read_as_it_stands(folder: Path) -> None:
    """A helper of it that is another one is not seen in the kernel's text."""
    out = io.StringIO()
    arguments = ["solve", str(folder / "turn.swz"), "-o", str(folder), "-q", "--emit", "cuda,header"]
    assert execute(arguments, out, out) == 0
    header = folder / "turn.cuh"
    text = header.read_text()
    assert "return condition; }" in text
    header.write_text(text.replace("return condition; }", "return true; }"))
    status, said = checked(folder)
    assert status == 1 and "header form: " in said and "turn.cu: the text that is printed" in said, said


def test_nothing_that_a_terminal_obeys_is_quoted(folder: Path) -> None:
    """Of a PTX file, of a solution, and of what Python says of a sketch."""
    said = "\x1b[2K\x1b[1A\x1b]0;pwned\x07"
    (folder / "turn.ptx").write_text(f".version 8.0\n// {said}\n{said} join;\n")
    status, out = checked(folder)
    assert status == 3 and "turn.ptx: not shown equal" in out and r"line 3: `\x1b[2K" in out, out
    out += run("check", write(folder / "raises.py", f"raise ValueError({said!r})"))
    saved = json.loads((folder / "turn.json").read_text())
    saved["holes"][0]["found_in"] = said
    out += run("show", write(folder / "turn.json", json.dumps(saved)))
    saved["sketch"] = said
    out += run("check", write(folder / "turn.json", json.dumps(saved)))
    assert out.count("pwned") >= 4 and all(line.isprintable() for line in out.splitlines()), out


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def run(*words: object) -> str:
    out = io.StringIO()
    execute([*map(str, words)], out, out)
    return out.getvalue()
