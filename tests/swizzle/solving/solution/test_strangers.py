"""A stranger's saved solution: nothing that it names is run, and nothing outside its folder is read, unasked."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path

import pytest

from swizzle.commands.process import execute
from swizzle.solving.solution.saved import load_saved
from swizzle.solving.solution.seal import is_sealed, seal
from symbolic.errors import SwizzleError

SKETCH = """\
@spec
def wanted(x):
    return [x[(i + 1) % 8] for i in range(8)]

@sketch(spec=wanted, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def turn(x, y):
    lane = cuda.laneid
    y[lane] = x[?sw_xform(lane, 8)]
"""
OPERATOR = """\
from swizzle import operator

@operator(order="set", cuda="return a < b ? b : a;")
def most(a, b):
    return max(a, b)
"""
PYTHON = "from swizzle import cuda, f32, sketch, spec, sw_xform\n\n" + SKETCH.replace("?sw", "sw")
EVIL = "open('ran', 'w').close()\n"


def swizzle(*words: object) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    status = execute([*map(str, words)], out, err)
    return status, out.getvalue() + err.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder mine with two sketches, and their solutions in mine/out; the folder theirs, with copies of those."""
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "rust.swz").write_text(SKETCH.replace("turn(", "rust("))
    (mine / "turn.py").write_text(PYTHON)
    for file in ("rust.swz", "turn.py"):
        assert swizzle("solve", mine / file, "-o", mine / "out", "-q")[0] == 0
    shutil.copytree(mine / "out", tmp_path / "theirs")
    return tmp_path


def changed(path: Path, **changes: object) -> Path:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path


def test_ones_own_solution_is_run(folder: Path) -> None:
    """It was solved here, from this very text, wherever that lies and whatever it is."""
    for name in ("rust", "turn"):
        assert swizzle("check", f"mine/out/{name}.json") == (
            0, f"{name}: equal to its specification, verified for all inputs (8 outputs of 1 block)\n",
        )  # fmt: skip


@pytest.mark.parametrize(
    "command", [["check"], ["run", "--device", "cpu"], ["show"], ["solve", "mine/rust.swz", "--fill"]]
)
@pytest.mark.parametrize("where", ["evil.py", "../evil.py", "{folder}/evil.py"])
def test_a_strangers_python_is_not_run(folder: Path, where: str, command: list[str]) -> None:
    """Beside the solution, above it, by an absolute path: one message that says what would be run, and the word."""
    (folder / "theirs" / "evil.py").write_text(EVIL + PYTHON)
    (folder / "evil.py").write_text(EVIL + PYTHON)
    named = changed(folder / "theirs" / "turn.json", file=where.format(folder=folder))
    status, said = swizzle(*command, named)
    assert status == 2 and not Path("ran").exists()
    assert "evil.py, which would be run, and it is not what you solved here" in said and "add --trust" in said


def test_with_the_word_it_is_run(folder: Path) -> None:
    (folder / "theirs" / "evil.py").write_text(EVIL + PYTHON)
    assert swizzle("check", changed(folder / "theirs" / "turn.json", file="evil.py"), "--trust")[0] == 0
    assert Path("ran").exists()


def test_what_was_edited_since_is_a_strangers(folder: Path) -> None:
    """The seal is of the text, not of its name; and another user's seal is none."""
    text = (folder / "mine" / "turn.py").read_text()
    (folder / "mine" / "turn.py").write_text(EVIL + text)
    assert swizzle("check", "mine/out/turn.json")[0] == 2 and not Path("ran").exists()
    assert is_sealed(text, seal(text)) and not is_sealed(text, seal(EVIL + text)) and not is_sealed(text, "é" * 64)


def test_another_user_has_another_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made once, for the user alone; where none can be kept, nothing is sealed, and solving works."""
    mine = seal("text")
    monkeypatch.setenv("SWIZZLE_STATE_DIR", str(folder / "state"))
    assert not is_sealed("text", mine) and not (folder / "state").exists()
    assert seal("text") == seal("text") != mine
    assert [(path.name, path.stat().st_mode & 0o777) for path in (folder / "state").iterdir()] == [("key", 0o600)]
    assert swizzle("check", "mine/out/turn.json")[0] == 2
    monkeypatch.setenv("SWIZZLE_STATE_DIR", str(folder / "mine" / "turn.py"))
    assert seal("text") == "" and not is_sealed("text", "")
    assert swizzle("solve", "mine/turn.py", "-o", "out", "-q", "--no-cache")[0] == 0
    assert swizzle("check", "out/turn.json")[0] == 2


def test_a_text_that_is_only_read_is_kept(folder: Path) -> None:
    """What lies outside the folder is not read; nor is it missed."""
    (folder / "rust.swz").write_text("secret\n" * 3)
    (folder / "theirs" / "link.swz").symlink_to(folder / "rust.swz")
    for file in ("../rust.swz", "link.swz", str(folder / "rust.swz"), "gone.swz"):
        status, said = swizzle("check", changed(folder / "theirs" / "rust.json", file=file))
        assert (status, "secret" in said, "rust: equal to its spec" in said) == (0, False, True), said
        assert f"the text that {folder / 'theirs' / 'rust.json'} keeps is used" in said
    shutil.copy(folder / "mine" / "rust.swz", folder / "theirs" / "near.swz")
    assert "note" not in swizzle("check", changed(folder / "theirs" / "rust.json", file="near.swz"))[1]
    assert "secret" in swizzle("check", changed(folder / "theirs" / "rust.json", file="link.swz"), "--trust")[1]


def test_a_kept_text_is_the_one_that_was_solved(folder: Path) -> None:
    """By its hash; mistakes in it have their lines."""
    theirs = folder / "theirs" / "rust.json"
    wrong = SKETCH.replace("turn(", "rust(").replace("y[lane] = ", "y[lane + 1] = ")
    with pytest.raises(SwizzleError, match="'sha256' is not that of the 'text'"):
        load_saved(changed(theirs, text=wrong, file="gone.swz"), {})
    changed(theirs, text=None)
    with pytest.raises(SwizzleError, match=r"rust\.swz, outside its own folder"):
        load_saved(changed(theirs, file="../mine/rust.swz", seal="0"), {})


def test_a_strangers_operator_is_not_run(folder: Path) -> None:
    """Nor is the Python file of an operator; one's own is."""
    (folder / "most.py").write_text(OPERATOR)
    text = SKETCH.replace("x[(i + 1) % 8]", "most(x[i], x[(i + 1) % 8])").replace("f32", "i32")
    text = text.replace("x[?sw_xform(lane, 8)]", "most(x[lane], x[?sw_xform(lane, 8)])")
    (folder / "turn.swz").write_text(text)
    assert swizzle("solve", "turn.swz", "--operators", "most.py", "-o", "out", "-q")[0] == 0
    assert swizzle("check", "out/turn.json")[0] == 0
    (folder / "most.py").write_text(EVIL + OPERATOR)
    status, said = swizzle("check", "out/turn.json")
    assert (status, "most.py, which would be run" in said, Path("ran").exists()) == (2, True, False)
    assert swizzle("check", "out/turn.json", "--trust")[0] == 0 and Path("ran").exists()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large"])
def test_a_text_beside_a_solution_is_a_file_of_its_folder(folder: Path, kind: str) -> None:
    """A link out of the folder would show another file's lines; a pipe would not end."""
    (folder / "secret").write_text("secret\n")
    file = folder / "theirs" / "rust.cu"
    file.unlink()
    if kind == "link":
        file.symlink_to(folder / "secret")
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        with file.open("wb") as sparse:
            sparse.truncate(1 << 30)
    changed(folder / "theirs" / "rust.json", file="rust.swz")
    status, said = swizzle("check", "theirs/rust.json", "--emitted")
    assert (status, "secret" in said) == (2, False) and "rust.cu is no file of its folder" in said


def test_a_file_that_is_gone_is_not_an_empty_one(folder: Path) -> None:
    """The text that the solution keeps is checked then, whoever is trusted."""
    changed(folder / "theirs" / "rust.json", file="gone/turn.swz")
    for words in ([], ["--trust"]):
        status, said = swizzle("check", "theirs/rust.json", *words)
        assert status == 0 and "turn.swz cannot be read: the text that theirs/rust.json keeps is used" in said
