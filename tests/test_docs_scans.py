"""docs/scans.md is true: its sessions print what is shown, and so do its sketches."""

from __future__ import annotations

import doctest
import io
import runpy
from pathlib import Path

import pytest

from swizzle.commands.process import execute
from swizzle.language.specs.verify import verify
from swizzle.sketches.loading import load
from tests.pages import blocks_of, files_of, text_of
from tests.swizzle.scans.examples import blelloch


def test_the_sessions() -> None:
    """One after the other, in one namespace."""
    blocks = blocks_of(text_of("scans.md"), "pycon")
    assert len(blocks) >= 8
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "scans.md", "docs/scans.md", 0)
    printed: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    assert runner.run(parsed, out=printed.append).failed == 0, "".join(printed)


def test_an_operator_on_words(tmp_path: Path) -> None:
    (tmp_path / "runs.py").write_text(files_of(text_of("scans.md"))["runs.py"], encoding="utf-8")
    runpy.run_path(str(tmp_path / "runs.py"))


@pytest.mark.slow
def test_blelloch(tmp_path: Path) -> None:
    """The literature's order of operands is wrong, unless the operator commutes."""
    text = files_of(text_of("scans.md"))["blelloch.py"]
    swapped = text.replace("smooth.combine(a[i], left)", "smooth.combine(left, a[i])")
    commutes = swapped.replace("h = g * h + v", "h += g * v")
    for number, (each, equal) in enumerate([(text, True), (swapped, False), (commutes, True)]):
        (tmp_path / f"kernel{number}.py").write_text(each, encoding="utf-8")
        (kernel,) = load(tmp_path / f"kernel{number}.py")
        assert verify(kernel.program, kernel.spec).equal is equal


def test_the_sketches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = text_of("scans.md")
    (tmp_path / "sketches.py").write_text(files_of(page)["sketches.py"], encoding="utf-8")
    runpy.run_path(str(tmp_path / "sketches.py"), run_name="__main__")
    assert capsys.readouterr().out == blocks_of(page, "text")[1]


def test_loops_of_an_exclusive_scan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The textbook's loops are refuted as shown, and what is right is said beside it; the figure is the network."""
    page = text_of("scans.md")
    text = files_of(page)["exclusive.py"]
    (tmp_path / "exclusive.py").write_text(text, encoding="utf-8")
    runpy.run_path(str(tmp_path / "exclusive.py"), run_name="__main__")
    assert capsys.readouterr().out == blocks_of(page, "text")[0]
    mended = text.replace("a[i] = a[i - d] + a[i]      # a[i] + a[i - d] is right", "a[i] = a[i] + a[i - d]")
    (tmp_path / "mended.py").write_text(mended, encoding="utf-8")
    assert runpy.run_path(str(tmp_path / "mended.py"))["textbook"].solve().status == "proved"
    assert (Path(__file__).parent.parent / "docs/images/blelloch.svg").read_text(encoding="utf-8") == blelloch(16).svg()


def test_a_kernel_with_holes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`swizzle solve` prints what the page shows, but for the costs, the time and the files."""
    page = text_of("scans.md")
    (tmp_path / "scan.swz").write_text(files_of(page)["scan.swz"], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    assert execute(["solve", "scan.swz", "-q"], out, io.StringIO()) == 0
    shown = blocks_of(page, "console")[0].splitlines()[1:-1]
    assert out.getvalue().splitlines()[: len(shown)] == shown
