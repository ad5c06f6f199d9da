"""The script that tries mutants and harmless edits of printed texts: its short form, and that it can fail."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from cuda_out.compile.toolchain import available_tools

pytestmark = pytest.mark.skipif(
    not available_tools() or not (shutil.which("g++") or shutil.which("clang++")),
    reason="needs a CUDA compiler (nvcc or NVRTC) and a C++ compiler",
)


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parent.parent / "bench"))
        import printed_mutants

        yield printed_mutants
    del sys.modules["printed_mutants"]


def test_no_mutant_survives_and_no_harmless_edit_is_refused(script: ModuleType) -> None:
    """`make mutants` on one kernel, and on some mutants of its text only."""
    tried, lines = script.try_case("aos_sum:crc", 6)
    assert lines == [] and "harmless edits" in tried


@pytest.mark.slow
def test_what_gets_through_is_told(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An equal text as a mutant, a wrong one as harmless: both are defects, and the script's status says so."""
    monkeypatch.setattr(script, "PTX", (("nothing", r"ret;", "ret ;"),))
    monkeypatch.setattr(script, "ASKED", (("nothing", r"\n", "\n"),))
    monkeypatch.setattr(script, "EDITED", (("nothing by hand", r"\n\n", "\n"),))
    monkeypatch.setattr(script, "HARMLESS", (("another place", r"y\[begin", "y[1 + begin"),))
    assert script.main(["--only", "aos_sum:crc", "--at-most", "1"]) == 1
    said = capsys.readouterr().out
    assert (
        "PTX, nothing: equal" in said
        and "nothing: not seen" in said
        and "nothing by hand: equal" in said
        and "another place: refused" in said
    )
