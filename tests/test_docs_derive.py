"""docs/derive.md is true: its derivations are made, its kernel is the one that is written, its mistake is told so."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from swizzle.commands.process import execute
from tests.pages import DOCS, blocks_of, files_of, run_again, text_of

PAGE = text_of("derive.md")


@pytest.fixture
def _page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files_of(PAGE).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_page")
def test_the_sessions_print_what_is_shown() -> None:
    first, *others = blocks_of(PAGE, "console")
    assert run_again(first) == first
    assert others and [run_again(each) for each in others] == others
    shown = re.search(r"^```python dots_1\n(.*?)    \.\.\.\n^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown is not None and shown[1] in Path("out/dots.py").read_text()


@pytest.mark.usefixtures("_page")
def test_the_mistake_is_told_as_it_is_shown() -> None:
    out, err = io.StringIO(), io.StringIO()
    assert execute(["derive", "wrong.py"], out, err) == 2
    assert f"```\n{err.getvalue()}```\n" in PAGE


@pytest.mark.slow
def test_the_product_by_rules_takes_any_lengths(tmp_path: Path) -> None:
    """13 rules lead to tiles in shared memory; one barrier stands behind both, and one ends the loop."""
    out, err = io.StringIO(), io.StringIO()
    file = DOCS / "examples" / "derive" / "product.py"
    assert execute(["derive", str(file), "-o", str(tmp_path)], out, err) == 0, err.getvalue()
    assert "tiled: derived in 13 steps, equal to its specification, verified for all inputs" in out.getvalue()
    assert "  sizes   any length: A[n_y, n_k], B[n_k, n_x], y[n_y, n_x]\n" in out.getvalue()
    assert (tmp_path / "tiled.py").read_text().count("cuda.syncthreads()") == 2


@pytest.mark.slow
def test_tiles_that_a_function_says_are_spread_and_proved() -> None:
    out, err = io.StringIO(), io.StringIO()
    assert execute(["derive", str(DOCS / "examples" / "derive" / "tiles.py")], out, err) == 0, err.getvalue()
    found = re.findall(r"^(\w+): derived in (\d+) steps?, equal to its specification", out.getvalue(), re.MULTILINE)
    assert found == [("registers", "16"), ("shared", "10"), ("norm", "1")]


@pytest.mark.slow
def test_rows_and_tiles_are_proved_with_what_is_left_to_the_solver() -> None:
    """The layout has no conflict; the registers are exchanged."""
    out, err = io.StringIO(), io.StringIO()
    assert execute(["derive", str(DOCS / "examples" / "derive" / "rows.py")], out, err) == 0, err.getvalue()
    found = re.findall(r"^(\w+): derived in \d+ steps, equal to its specification", out.getvalue(), re.MULTILINE)
    assert found == ["in_blocks", "in_warps", "one_head", "mean", "in_lanes", "through_shared", "in_registers"]
    assert "  index1 = column ^ row\n  cost    0 conflicts, proved minimal\n" in out.getvalue()
    assert re.search(r"^  home1 = \w+$", out.getvalue(), re.MULTILINE)


@pytest.mark.slow
def test_scans_in_chunks_are_three_kernels_that_are_proved(tmp_path: Path) -> None:
    """The chunk that a block scans is cut again among its threads; no array keeps what is only passed on."""
    out, err = io.StringIO(), io.StringIO()
    file = DOCS / "examples" / "derive" / "scans.py"
    assert execute(["derive", str(file), "-o", str(tmp_path)], out, err) == 0, err.getvalue()
    found = re.findall(r"^(\w+): derived in \d+ steps, .* for all inputs \((.*)\)$", out.getvalue(), re.MULTILINE)
    assert [name for name, _ in found] == ["in_blocks", "in_threads", "prefix_maxima"]
    assert all(kernels.count("then") == 2 for _, kernels in found)
    assert "cuda.local" not in (tmp_path / "in_blocks.py").read_text()
