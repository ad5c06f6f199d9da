"""docs/checking.md is true: its commands print what the page shows, but for figures that are a compiler's."""

import io
import re
import shutil
from pathlib import Path

import pytest

from cuda_out.compile.report import disassembler
from cuda_out.compile.toolchain import available_tools
from swizzle.commands.process import execute

ROOT = Path(__file__).resolve().parent.parent
(CONSOLE,) = re.findall(
    r"^```console\n(.*?)^```$", (ROOT / "docs" / "checking.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


def figures_blanked(text: str) -> str:
    """Blank out what depends on the compiler's version and on the passes: figures of the text, times, tolerances."""
    text = re.sub(r"^  time .*$", "  time", text, flags=re.MULTILINE)
    return re.sub(r"\d+(\.\d+)?(e-\d+)?", "#", text)


@pytest.mark.slow
@pytest.mark.skipif(
    not available_tools() or disassembler() is None or not (shutil.which("g++") or shutil.which("clang++")),
    reason="needs a CUDA compiler, nvdisasm and a C++ compiler",
)
def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve, then check the text, in a folder with the case studies."""
    shutil.copytree(ROOT / "case_studies", tmp_path / "case_studies", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    printed = ""
    for command in re.findall(r"^\$ swizzle (.*)$", CONSOLE, re.MULTILINE):
        out = io.StringIO()
        assert execute(command.split(), out, io.StringIO()) == 0, out.getvalue()
        printed += f"$ swizzle {command}\n{out.getvalue()}"
    shown = CONSOLE if shutil.which("nvcc") else re.sub(r"^.*: nvcc compiles .*\n", "", CONSOLE, flags=re.MULTILINE)
    assert figures_blanked(printed) == figures_blanked(shown)
    assert " 0 unseen" in printed and "no local memory" in printed
