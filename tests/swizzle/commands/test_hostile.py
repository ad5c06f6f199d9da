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

from swizzle.commands.cli import execute
from swizzle.solution.saved import FORMAT

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
