"""`swizzle layouts`: words ask what the library is asked, and mistakes are those of the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from swizzle import layouts
from swizzle.commands.layouts import HELD, PATTERNS, pattern_of, presets
from swizzle.commands.process import execute


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return execute(["layouts", *words], out, err), out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("words", "accesses"),
    [
        ("rows columns", [layouts.rows(), layouts.columns()]),
        ("rows:4 columns", [layouts.rows(4), layouts.columns()]),
        ("rows linear:row --width 2", [layouts.rows(2), layouts.linear("row", 2)]),
        ("blocks:4:8 ldmatrix:2:trans", [layouts.blocks(4, 8), layouts.ldmatrix(2, trans=True)]),
        ("mma:B:m16n8k8:along=1 blocks:4:8:vector=2", [layouts.mma("B", "m16n8k8", along=1), layouts.blocks(4, 8, 2)]),
    ],
)
def test_the_best_layout(words: str, accesses: list[layouts.Access]) -> None:
    found = layouts.best((32, 32), accesses)
    status, out, _ = run("best", "32x32", *words.split(), "--name", "at")
    assert status == int(found.layout is None) and out.startswith(f"{found!r}\n")
    assert found.layout is None or out.endswith(f"\n\n{found.layout.cuda('at')}")
    status, out, _ = run("best", "32x32", *words.split(), "--json")
    said = json.loads(out)
    assert said["proof"] == found.proof and said.get("turns") == found.passes


def test_where_there_is_none() -> None:
    status, out, err = run("best", "32x32", "rows", "columns", "--width", "4")
    assert (status, err) == (1, "") and out.startswith("none: columns(4)") and "try    --width only" in out
    assert out.rstrip().endswith(": rows:width=4")
    for words in (("mma:B:m16n8k16", "rows:8", "--bits", "16"), ("rows", "mma:B:m16n8k16", "--bits", "16")):
        status, out, err = run("best", "32x32", *words, "--width", "8")
        assert (status, err) == (1, "") and "try" not in out  # one pattern at most takes the width


def test_a_conversion_and_its_files(tmp_path: Path) -> None:
    figure, header = tmp_path / "new" / "quads.svg", tmp_path / "quads.cuh"
    before, after = "a b | c d x y z", "c d | a b x y z"
    status, out, _ = run("convert", before, after, "--bits", "8", "-o", str(figure), "-o", str(header), "--json")
    found, said = layouts.convert(before, after, bits=8), json.loads(out)
    assert status == 0 and said["files"] == [str(figure), str(header)] and said["cuda"] == found.cuda()
    assert (said["shuffles"], said["selects"], said["clocks"], said["bound"]) == (2, 2, 2, 2)
    assert figure.read_text() == found.svg() and header.read_text() == f"#pragma once\n\n{found.cuda()}"
    assert "3 shuffles, 6 selects" in run("convert", "striped:3", "blocked:3", "--bits", "32")[1]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("best 32x32 row", "error: no pattern is 'row'\n  expected: one of rows, "),
        ("best 32x32 row", "\n  fix: did you mean rows?\n"),
        ("best 32x rows", "error: the shape '32x'\n"),
        ("best 32x32 mma:A", "error: 'mma:A' has no shape\n  expected: mma:OPERAND:SHAPE:K:ALONG\n"),
        ("best 32x32 rows:1:2", "error: 'rows:1:2' has '2'\n  expected: at most rows:WIDTH\n"),
        ("best 32x32 rows:width=1:width=2", "error: 'rows:width=1:width=2' has 'width=2'\n"),
        ("best 32x32 rows:x", "error: the width of an access is 'x'\n"),
        ("best 32x30 rows:4", "error: rows(4) takes pieces of 4, which do not fill 30\n"),
        ("best 32x32 rows --families xro", "\n  fix: did you mean xor?\n"),
        ("best 32x32 rows --name 3x", "error: --name 3x\n"),
        ("best 32x32 rows --name int", "error: --name int\n"),
        ("best 32x32 rows -o a.png", "\n  fix: -o a.svg\n"),
        ("best 32x32", "error: Missing argument 'PATTERN...'\n"),
        ("convert mma:C:m16n8k8 mma:A:m16n8k8", "error: no shape\n"),
        ("convert striped:3 blocked:4", "error: dst wants the cell (96,)"),
        ("convert c0 blocked:4", "or bits: 'c0 r3 | c1 c2 r0 r1 r2'"),
    ],
)
def test_mistakes(words: str, error: str) -> None:
    status, out, err = run(*words.split())
    assert (status, out) == (2, "") and error in err and err.startswith("error: ")
    assert "\n  expected: " in err and "\n  fix: " in err


@pytest.mark.parametrize("held", [False, True])
def test_what_is_completed_is_understood(held: bool) -> None:
    """Each pattern is offered, and each that is offered is one."""
    patterns = HELD if held else PATTERNS
    assert {each.partition(":")[0] for each in presets(held)} == patterns.keys()
    for each in presets(held):
        assert isinstance(pattern_of(each, patterns, None), layouts.Access | layouts.Distribution)
