"""Sketch files that are made to hurt: one clear message each, in little time."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from case_studies.conv1d import conv1d
from swizzle import SwizzleError, solve
from swizzle.commands.process import execute
from swizzle.solving.solution.saved import FORMAT

SKETCH = """\
@spec
def wanted(x):
    return {spec}

@sketch(spec=wanted, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def k(x, y):
    lane = cuda.laneid
    {body}
"""
PLAIN = {"spec": "[x[i] for i in range(8)]", "body": "y[lane] = x[lane]"}
IMPORTS = "from swizzle import cuda, f32, sketch, spec\n\n"
NOTS = "not " * 400

IN_SWZ = {
    "a sum of many": ({"spec": "[x[i] + sum(range(10**9)) for i in range(8)]"}, "a list of more than 4,194,304"),
    "many rounds": ({"spec": "[x[i] for i in range(8) for j in range(10**30)]"}, "more than 200,000 steps"),
    "many outputs": ({"spec": "[x[i % 8] for i in range(10**30)]"}, "than 4,194,304 elements|than 200,000 steps"),
    "many digits": ({"spec": "[x[i] for i in range(10**(10**9))]"}, "an int of more than 4096 bits"),
    "a long list": ({"spec": "[0.0] * 10**12"}, "a list of more than 4,194,304"),
    "many signs": ({"spec": f"[x[{'-' * 4000}i] for i in range(8)]"}, "nested too deeply"),
}
IN_BOTH = {
    "400 nested not": ({"body": f"if {NOTS}lane < 3:\n        y[lane] = x[lane]"}, "402 operations within each other"),
    "600 signs": ({"body": f"y[{'-' * 600}lane] = x[lane]"}, "601 operations within each other"),
    "a kernel of many rounds": ({"body": "for i in range(10**30):\n        y[lane] = x[lane]"}, "more than 64 bits"),
    "many brackets": ({"body": f"y[lane] = {'(' * 400}x[lane]{')' * 400}"}, "too many nested parentheses"),
}


def swizzle(*words: object) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    status = execute([*map(str, words)], out, err)
    return status, out.getvalue() + err.getvalue()


@pytest.mark.parametrize("kind", [*IN_SWZ, *IN_BOTH])
def test_too_much_is_one_message(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its place, and what is allowed; of a Python file too, where the kernel is what is too large."""
    monkeypatch.setattr("symbolic.lifting.budget.STEPS", 200_000)
    changes, said = {**IN_SWZ, **IN_BOTH}[kind]
    text = SKETCH.format(**{**PLAIN, **changes})
    for name in ("k.swz", "k.py") if kind in IN_BOTH else ("k.swz",):
        (tmp_path / name).write_text((IMPORTS if name == "k.py" else "") + text)
        status, out = swizzle("check", tmp_path / name)
        assert status == 2 and re.search(said, out), out
        assert out.startswith(f"{tmp_path / name}:") and "  expected: " in out and max(map(len, out.splitlines())) < 300


NAMES = ["new\nline", "new\n#error no", "\x1b[31mred", "\u202eright", "bad\udcff", 'quo"te', "a\\"]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_file_will_do(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, and written into comments, as far as it can be printed; the solution finds the file again."""
    monkeypatch.chdir(tmp_path)
    folder = Path(name)
    file = folder / f"{name}.swz"
    folder.mkdir()
    file.write_text(SKETCH.format(**PLAIN))
    status, out = swizzle("solve", file, "-o", folder, "-q", "--emit", "cuda,header,numba")
    assert status == 0, out
    for printed in ("k.cu", "k.cuh", "k_numba.py"):
        text = (folder / printed).read_text()
        assert text.splitlines()[1].split(None, 1)[1].startswith("k, made by swizzle")
        assert all(line.isprintable() for line in text.splitlines())
        assert not any(line.lstrip().startswith(("line", "#error")) for line in text.splitlines())
    compile((folder / "k_numba.py").read_text(), "k_numba.py", "exec")
    assert swizzle("check", folder / "k.json")[0] == 0
    file.write_text("k = [")
    status, out = swizzle("check", file)
    assert status == 2 and all(line.isprintable() for line in out.splitlines())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
@pytest.mark.parametrize("name", ["p.swz", "p.py", "p.json", "p.cu"])
def test_a_pipe_is_no_file(name: str, tmp_path: Path) -> None:
    """Nobody writes to it, and nobody waits: of a sketch, a solution, a kernel, and what options name."""
    os.mkfifo(tmp_path / name)
    (tmp_path / "k.swz").write_text(SKETCH.format(**PLAIN))
    commands: list[list[object]] = [["check", tmp_path / name], ["show", tmp_path / name]]
    if name == "p.cu":
        commands = [["doctor", tmp_path / name]]
    elif name == "p.py":
        commands += [
            ["solve", tmp_path / "k.swz", f"--{what}", f"{tmp_path / name}:X"] for what in ("families", "cost")
        ]
        commands += [["solve", tmp_path / "k.swz", "--operators", tmp_path / name], ["operator", tmp_path / name]]
    elif name == "p.json":
        commands.append(["solve", tmp_path / "k.swz", "--fill", tmp_path / name])
    for command in commands:
        status, out = swizzle(*command)
        assert status == 2 and "it is a pipe, a socket or a device, and no file" in out, out


@pytest.mark.parametrize("kind", ["py", "swz"])
@pytest.mark.parametrize("domain", ["range(10**30)", "range(8, 10**30, 8)", "range(-(10**30), 9)", "(8, 10**40)"])
def test_a_domain_of_huge_numbers_is_one_message(domain: str, kind: str, tmp_path: Path) -> None:
    text = f"N = parameter('n', 8, domain={domain})\n" + SKETCH.format(**PLAIN)
    file = tmp_path / f"k.{kind}"
    file.write_text((IMPORTS.replace("import", "import parameter,") if kind == "py" else "") + text)
    for command in ("check", "explain", "solve"):
        status, out = swizzle(command, file)
        assert status == 2 and re.search(r"error: the domain of n reaches (\d{30}|a number of \d+ bits)", out), out


@pytest.mark.parametrize("domain", ["range(8, 10**18, 8)", "range(10**18, 0, -1)"])
def test_a_long_domain_is_not_walked_through(domain: str, tmp_path: Path) -> None:
    """Neither to describe it, nor to look for the values next to the one that it has."""
    file = tmp_path / "k.swz"
    file.write_text(
        f"N = parameter('n', 8, domain={domain})\n" + SKETCH.format(**{**PLAIN, "body": "y[lane] = x[lane ^ 1]"})
    )
    status, out = swizzle("explain", file, "-q")
    assert status == 1, out
    status, out = swizzle("check", file, "-D", f"n={10**18 + 1}")
    assert status == 2 and "which is not in its domain" in out, out
    file.write_text("PAD = ?sw_pad(8, 10**12)\n" + SKETCH.format(**PLAIN))
    status, out = swizzle("check", file)
    assert status == 2 and "the most that is added of sw_pad is 1000000000000" in out, out


@pytest.mark.parametrize("where", ["found_in", "formula", "name", "made_by", "key", "text"])
@pytest.mark.parametrize("said", ["\ud800", "a\0b"])
def test_what_no_text_has_is_refused_in_a_solution(where: str, said: str, tmp_path: Path) -> None:
    """Wherever it stands: it would be written into comments, or onto a terminal."""
    body = "y[lane] = cuda.shfl_sync(cuda.FULL_MASK, x[lane], ?sw_xform(lane, 8))"
    (tmp_path / "k.swz").write_text(SKETCH.format(**{**PLAIN, "body": body}))
    assert swizzle("solve", tmp_path / "k.swz", "-q", "-o", tmp_path)[0] == 0
    content = json.loads((tmp_path / "k.json").read_text())
    if where == "key":
        content[said] = 1
    elif where in ("made_by", "text"):
        content[where] = said
    else:
        content["holes"][0][where] = said
    (tmp_path / "k.json").write_text(json.dumps(content))
    for command in (["show"], ["check", "--emitted"], ["run"], ["solve", tmp_path / "k.swz", "--fill"]):
        status, out = swizzle(*command, tmp_path / "k.json")
        assert status == 2 and re.search(r"not a solution file: .* U\+(D800|0000), which is part of no text", out), out


def test_a_locale_without_the_letters_of_a_name(tmp_path: Path) -> None:
    """The sketch is found; a file that cannot be made is one message."""
    (tmp_path / "k.swz").write_text(SKETCH.format(**PLAIN).replace("def k(", "def gr\u00f6\u00dfe("), encoding="utf-8")
    environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}

    def run(*words: str) -> tuple[int, bytes]:
        command = [sys.executable, "-m", "swizzle", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
        return done.returncode, done.stderr

    assert run("check", "k.swz:gr\u00f6\u00dfe")[0] == 0
    status, said = run("solve", "k.swz", "-q", "-o", ".")
    assert status == 2 and said.startswith(b"error: this locale has no file names such as"), said
    assert b"  fix: set PYTHONUTF8=1, or LC_ALL=C.UTF-8\n" in said
    assert [path.name for path in tmp_path.iterdir()] == ["k.swz"]


def test_a_process_tells_of_names_that_are_no_text(tmp_path: Path) -> None:
    """Whatever its streams are able to write."""
    command = [sys.executable, "-m", "swizzle", "check", b"none\xff\x1b[31m.swz"]
    environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 2 and done.stderr.startswith(b"error: none\\udcff\\x1b[31m.swz cannot be read")


@pytest.mark.parametrize("key", ["file", "operators"])
@pytest.mark.parametrize(
    "name",
    ["a" * 300 + ".py", "a/" * 3000 + "b.py", "a\0b.swz", "\ud800.py"],
    ids=["name", "path", "zero", "surrogate"],
)
def test_a_solution_that_names_an_impossible_file_is_one_message(key: str, name: str, tmp_path: Path) -> None:
    """Of its sketch, or of an operator's: whatever command reads it."""
    content = {"format": FORMAT, "file": "k.swz", "sketch": "k", "parameters": {}, "holes": [], "cost": {}}
    content |= {"file": name} if key == "file" else {"operators": [{"name": "op", "file": name}]}
    (tmp_path / "turn.json").write_text(json.dumps(content))
    for command in ("show", "check", "run"):
        status, out = swizzle(command, tmp_path / "turn.json")
        assert status == 2 and re.search(
            r"turn.json is not a solution file: it names the file .* which no system has", out
        ), out


@pytest.mark.parametrize("target", ["{}.py", "{}.json", "{}", "{}/k.swz:k"])
def test_a_name_that_is_too_long_is_one_message(target: str) -> None:
    status, out = swizzle("check", target.format("a" * 5000))
    assert status == 2 and re.search("too long|not a sketch file", out), out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("def wanted(x)", "def wanted(x, x)", "k.swz:2:15: error: the parameter x is given twice"),
        ("def k(x, y)", "def k(x, x)", "k.swz:6:10: error: the parameter x is given twice"),
        ("x=f32[8]", "x=f32[8], x=f32[8]", "k.swz:5:54: error: the argument x is given twice"),
        ("[x[i] for", "[(lambda a, a: a)(x[i], 1) for", "k.swz:3:24: error: the parameter a is given twice"),
        ("x[lane]", "x[f(a=1, a=lane)]", "k.swz:8:24: error: the argument a is given twice"),
        ("@spec", "def f(v, v):\n    return v\n\n@spec", "k.swz:1:10: error: the parameter v is "),
    ],
)  # fmt: skip
def test_a_name_is_given_once(old: str, new: str, said: str, tmp_path: Path) -> None:
    """What Python's compiler refuses and its parser lets through is no `.swz` either: the last one was taken."""
    (tmp_path / "k.swz").write_text(SKETCH.format(**PLAIN).replace(old, new, 1))
    status, text = swizzle("check", tmp_path / "k.swz")
    assert status == 2 and text.count("error: ") == 1 and said in text


@pytest.mark.parametrize("size", ["9" * 22 + "G", "9" * 400, "9" * 6000])
def test_more_memory_than_there_can_be_is_one_message(size: str, tmp_path: Path) -> None:
    """The system takes no such limit, and a float no such number."""
    (tmp_path / "k.swz").write_text(SKETCH.format(**PLAIN))
    status, text = swizzle("check", tmp_path / "k.swz", "--memory", size)
    assert status == 2 and text.count("error: ") == 1 and "a size, such as 4G" in text


@pytest.mark.parametrize("limit", ["timeout", "memory"])
@pytest.mark.parametrize("digits", [400, 6000])
def test_a_limit_of_thousands_of_digits_is_a_mistake(limit: str, digits: int) -> None:
    """Python refuses to write such an int."""
    with pytest.raises(SwizzleError, match=r"an int of [0-9]+ bits"):
        solve(conv1d, **{limit: 10**digits})


def test_a_folder_cannot_speak_for_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line feed in its name begins no line."""
    monkeypatch.chdir(tmp_path)
    Path("k.swz").write_text(SKETCH.format(**PLAIN))
    status, text = swizzle("solve", "k.swz", "-q", "-o", "out\nk: not equal")
    assert status == 0 and "wrote   out\\nk: not equal/k.cu" in text and "\nk: not equal" not in text
    status, text = swizzle("show", "k.swz", "-q", "-o", "a\nb.svg")
    assert status == 0 and "wrote a\\nb.svg" in text


@pytest.mark.filterwarnings("error")
def test_a_coroutine_is_no_specification(tmp_path: Path) -> None:
    """It was called, and Python complained of it behind the message."""
    text = IMPORTS + SKETCH.format(**PLAIN).replace("def wanted", "async def wanted")
    for body in ("return [x[i]", "yield [x[i]"):
        (tmp_path / "k.py").write_text(text.replace("return [x[i]", body))
        status, said = swizzle("check", tmp_path / "k.py")
        assert status == 2 and "k.py:4:11: error: the specification wanted is an async function" in said


def test_a_comparison_is_no_element(tmp_path: Path) -> None:
    """It is called what a user calls it."""
    (tmp_path / "k.swz").write_text(SKETCH.format(**{**PLAIN, "spec": "[x[i] > 0 for i in range(8)]"}))
    status, said = swizzle("check", tmp_path / "k.swz")
    assert status == 2 and "the specification gives a comparison as an element of y" in said and "where(a < b" in said


@pytest.mark.parametrize("words", [(), ("layouts",)])
def test_no_command_is_answered_by_the_help(words: tuple[str, ...]) -> None:
    """It is no error that has the help as its text."""
    status, text = swizzle(*words)
    assert status == 0 and text.startswith("Usage: swizzle") and "error" not in text and "\n  fix:" not in text


@pytest.mark.parametrize("name", ["k.swz", "k.py"])
@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
def test_what_is_no_text_has_its_place(byte: bytes, name: str, tmp_path: Path) -> None:
    """Python says of a null byte only that there is one."""
    (tmp_path / name).write_bytes(b"# two\n" + "# \u00e4".encode() + byte + b"\n")
    status, text = swizzle("check", tmp_path / name)
    assert status == 2 and f"{name}:2:4: error: the byte 0x{byte.hex()} is no" in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("block=8", "block=10**5000", "error: running the file failed: ValueError"),
        ("x=f32[8]", "x=f32[10**5000]", "error: running the file failed: ValueError"),
        ("[x[i] for", "[x[i] * 10**5000 for", "error: an int of thousands of digits"),
        ("[x[i] for", "[10**5000 for", "error: an int of thousands of digits"),
    ],
)
def test_an_int_that_python_does_not_write(old: str, new: str, said: str, tmp_path: Path) -> None:
    """A message that would quote it is a mistake of the file's, too."""
    imports = "from swizzle import cuda, f32, sketch, spec\n\n\n"
    (tmp_path / "k.py").write_text(imports + SKETCH.format(**PLAIN).replace(old, new, 1))
    status, text = swizzle("check", tmp_path / "k.py")
    assert status == 2 and text.count("error: ") == 1 and said in text
