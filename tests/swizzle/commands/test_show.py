"""`swizzle show`: what it prints, what it writes, and what it says where there is nothing to draw."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from swizzle.commands.process import execute
from tests.swizzle.answers.show.kernels import BUTTERFLY, CONVOLUTION, TRANSPOSE


def call(*arguments: str) -> tuple[int, str, str]:
    """Run a command line in this process; return exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    return execute(arguments, out, err), out.getvalue(), err.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "conv.swz").write_text(CONVOLUTION, encoding="utf-8")
    (tmp_path / "both.swz").write_text(BUTTERFLY + TRANSPOSE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_words(folder: Path) -> None:
    """Without -o: the holes in words, what each access costs, and how to see it; nothing is written."""
    assert call("show", "conv.swz", "-q") == (
        0,
        """conv: block 0 of 2, warp 0 of 2, 5 steps
    part1   0 when lane >= k, else 1   at conv.swz:14:20
    xform1  rotate by k                at conv.swz:15:50
    xform2  as it is                   at conv.swz:16:29
    line 11 loads from x (global): 1 sector of 32 bytes in 1 line of 128: as few as possible (2 times)
    line 16 loads from w (global): 1 sector of 32 bytes in 1 line of 128: as few as possible (3 times)
    line 17 stores to y (global): 1 sector of 32 bytes in 1 line of 128: as few as possible
  to see it: -o conv.html, a page to explore, or -o conv.svg, a figure
""",
        "",
    )
    assert sorted(path.name for path in folder.iterdir()) == ["both.swz", "conv.swz"]


@pytest.mark.parametrize(("name", "begins"), [("a.svg", "<svg "), ("deep/b.html", "<!doctype html>")])
def test_a_picture_is_written(folder: Path, name: str, begins: str) -> None:
    """The file's ending says what is drawn."""
    status, out, _ = call("show", "conv.swz", "-q", "-o", name)
    assert status == 0 and out.endswith(f"  wrote {name}\n")
    assert (folder / name).read_text(encoding="utf-8").startswith(begins)


def test_a_saved_solution_is_drawn_without_solving(folder: Path) -> None:
    """NAME.json gives the same figure as the sketch that it solves."""
    assert call("solve", "conv.swz", "-o", "out", "-q")[0] == 0
    assert call("show", "conv.swz", "-o", "solved.svg", "-q")[0] == 0
    status, out, err = call("show", "out/conv.json", "-o", "saved.svg")
    assert (status, err) == (0, "") and "rotate by k" in out
    assert (folder / "saved.svg").read_text(encoding="utf-8") == (folder / "solved.svg").read_text(encoding="utf-8")


def test_another_warp_and_another_kernel(folder: Path) -> None:
    """--block and --warp choose whose lanes are drawn; FILE:SKETCH which kernel."""
    assert call("show", "conv.swz", "--block", "1", "--warp", "1", "-q")[1].startswith(
        "conv: block 1 of 2, warp 1 of 2"
    )
    assert call("show", "both.swz:transpose")[1].splitlines()[0] == "transpose: block 0 of 1, warp 0 of 4, 1 step"
    status, _, err = call("show", "both.swz")
    assert status == 2 and "both.swz holds 2 sketches" in err


def test_a_wrong_kernel_is_drawn_and_said_to_be_wrong(folder: Path) -> None:
    """Outputs that differ from the specification are counted."""
    (folder / "wrong.swz").write_text(BUTTERFLY.replace("range(3)", "range(2)"), encoding="utf-8")
    status, out, _ = call("show", "wrong.swz", "-o", "wrong.svg")
    assert status == 0
    assert (
        "  8 outputs of the grid differ from the specification's terms; the picture marks those of this warp\n" in out
    )


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (
            ("conv.swz", "-o", "conv.png"),
            2,
            "conv.png is not a file name for a picture\n  expected: a file that ends in .svg",
        ),
        (("conv.swz", "--warp", "2", "-q"), 2, "there is no warp 2\n  expected: 0 to 1"),
        (("both.swz:butterfly", "--block", "1"), 2, "there is no block 1\n  expected: the only one is block 0"),
        (("missing.swz",), 2, "missing.swz cannot be read"),
    ],
)
def test_mistakes(folder: Path, arguments: tuple[str, ...], status: int, said: str) -> None:
    """A mistake is said before anything is written."""
    found, _, err = call("show", *arguments)
    assert found == status and said in err
    assert not list(folder.glob("*.png"))


def test_a_sketch_without_a_solution_is_not_drawn(folder: Path) -> None:
    """The answer of `solve` is printed, with its exit status."""
    text = CONVOLUTION.replace("local.array(2", "local.array(1").replace("?sw_part(2, lane, k)", "0")
    (folder / "none.swz").write_text(text, encoding="utf-8")
    status, out, _ = call("show", "none.swz", "-q", "-o", "none.svg")
    assert status == 1 and "no filling in Space 4" in out
    assert not (folder / "none.svg").exists()
