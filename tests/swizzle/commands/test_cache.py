"""`swizzle cache`, and what the other commands say of it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from swizzle.commands.process import execute

SHIFT = """
LANES = parameter("lanes", 8, domain=(4, 8))

@spec
def right_neighbour(x):
    return [x[(i + 1) % LANES] for i in range(LANES)]

@sketch(spec=right_neighbour, block=LANES, warp_size=LANES, x=f32[LANES], y=f32.out[LANES])
def shift(x, y):
    y[cuda.laneid] = x[?sw_xform(cuda.laneid, LANES)]
"""


def call(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return execute(words, out, err), out.getvalue(), err.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "shift.swz"
    path.write_text(SHIFT)
    return str(path)


def test_the_answer_says_that_it_was_kept(file: str) -> None:
    """In words and in the object; --no-cache neither reads nor writes."""
    kept = [json.loads(call("solve", file, "--json", *words)[1])["cached"] for words in (["--no-cache"], [], [])]
    assert kept == [False, False, True]
    assert json.loads(call("solve", file, "--json", "--no-cache")[1])["cached"] is False
    status, text, news = call("solve", file)
    assert (status, news) == (0, "")
    assert "\n  cached  answered before: the solution was verified again; --no-cache solves afresh\n" in text
    assert "cached" not in call("solve", file, "--no-cache")[1]


def test_the_files_are_the_same(file: str, tmp_path: Path) -> None:
    """What -o writes does not depend on where the answer came from."""
    for folder in ("first", "second"):
        call("solve", file, "-o", str(tmp_path / folder))
    for name in ("shift.cu", "shift.json"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_show_and_clear(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where, how many, how much, and each answer with its parameters; then nothing."""
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(tmp_path / "mine"))
    call("solve", file, "-q")
    call("solve", file, "-q", "-D", "lanes=4")
    (tmp_path / "mine" / "answers" / f"{'a' * 64}.json").write_text("{")
    status, out, _ = call("cache")
    head, *rows, last = out.splitlines()
    assert status == 0
    assert head.startswith(f"{tmp_path}/mine/answers: 2 answers, ")
    shown = sorted(row.split("  ")[1:3] for row in rows)
    assert shown == [[f"shift.swz:shift lanes={n}", "0 accumulates, proved minimal in Space 1"] for n in (4, 8)]
    assert last == "  1 damaged file, ignored"
    listing = json.loads(call("cache", "--json")[1])
    assert (listing["answers"], len(listing["entries"]), listing["entries"][0]["status"]) == (2, 2, "sat")
    assert call("cache", "clear")[1].startswith("removed 3 answers, ")
    assert call("cache", "show")[1] == f"{tmp_path}/mine/answers: 0 answers, 0 bytes\n"
    assert call("cache", "burn")[0] == 2


def test_a_folder_of_others_is_told(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `solve`, which goes on without it, and by `swizzle cache`."""
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(tmp_path / "shared"))
    call("solve", file, "-q")
    (tmp_path / "shared" / "answers").chmod(0o777)
    status, out, err = call("solve", file, "-q")
    said = f"note: no answer is looked for in {tmp_path}/shared/answers, or kept there: others may write to it\n"
    assert (status, "cached" in out, err) == (0, False, said)
    assert call("cache")[1].endswith("  not used: others may write to it\n")
    assert json.loads(call("cache", "--json")[1])["unused"] == "others may write to it"


def test_without_a_home(monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    """Nothing is kept, solving works, and `swizzle cache` says what to do."""
    monkeypatch.delenv("SWIZZLE_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "nowhere")
    assert call("solve", file, "-q")[0] == 0
    status, _, err = call("cache")
    assert (status, "set SWIZZLE_CACHE_DIR to a folder" in err) == (2, True)


def test_operators_of_one_name_are_other_questions(tmp_path: Path) -> None:
    """What is known of functions on words is part of the question: of two with the same texts, one may commute."""
    text = """
from swizzle import cuda, i32, operator, scan_operator, sketch, spec, sw_xform

@operator
def f(a: (i32, i32), b: (i32, i32)):
    return BOTH

words = scan_operator(f)

@spec
def turned(x, z):
    return [words.scan(x, z)[-1][0]], [x[1], x[0]]

@sketch(spec=turned, block=2, warp_size=2, x=i32[2], z=i32[2], y=i32.out[1], w=i32.out[2])
def kernel(x, z, y, w):
    w[cuda.laneid] = x[sw_xform(cuda.laneid, 2)]
    a, b = words.lift(x[1], z[1])
    c, d = words.lift(x[0], z[0])
    value, rest = words.combine(a, b, c, d)
    if cuda.laneid == 0:
        y[0] = value
"""
    found = []
    for name, both in (("keeps", "a if a[0] >= b[0] else b"), ("adds", "(a[0] + b[0], a[1] + b[1])")):
        file = tmp_path / f"{name}.py"
        file.write_text(text.replace("BOTH", both))
        found.append(json.loads(call("solve", str(file), "--json")[1]))
    assert [(each["status"], each["cached"]) for each in found] == [("unsat", False), ("sat", False)]
