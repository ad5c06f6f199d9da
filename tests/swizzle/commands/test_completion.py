"""Completion: what is offered, by reading files only; and that the shells understand it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from swizzle.commands.cli import cli
from swizzle.commands.completion import SHELLS, declared_parameters, decorated, script

SOURCE = """
import os, swizzle
from swizzle import parameter, sketch
os.abort()
K = parameter("K", 3, domain=range(1, 4))
W = swizzle.parameter("warp_size", default=32, domain=(4, 8, 32))
N = parameter("n", 3, domain=range(K))

@sketch(spec=a, block=8)
def first(x): ...

@swizzle.sketch(spec=b)
def second(x): ...

@other
def third(x): ...
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.py").write_text(SOURCE)
    (tmp_path / "b.swz").write_text(
        "@sketch(block=8)\ndef only(x):\n    x[?sw_xform(1, 2)]\n@serial\ndef total(x: i32): pass"
    )
    (tmp_path / "wrong.py").write_text("def (:")
    (tmp_path / "k.cu").write_text("__global__ void turn(float* x) {}\n__global__ void take(float* x) {}\nint t() {}")
    (tmp_path / "wrong.cu").write_text("__global__ void turn(float* x) {")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(*words: str) -> list[str]:
    """Return what is offered for the last word."""
    found = ShellComplete(cli, {}, "swizzle", "_SWIZZLE_COMPLETE").get_completions(list(words[:-1]), words[-1])
    return [f"<{item.type}>" if item.type != "plain" else item.value for item in found]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("so", ["solve"]),
        ("solve a", ["<file>"]),
        ("solve a.py", ["a.py", "a.py:first", "a.py:second"]),
        ("solve a.py:", ["a.py:first", "a.py:second"]),
        ("check a.py:se", ["a.py:second"]),
        ("run b.swz:", ["b.swz:only"]),
        ("operator b.swz:", ["b.swz:total"]),
        ("operator b.swz:o", []),
        ("solve wrong.py:", []),
        ("doctor k.cu --kernel t", ["turn", "take"]),
        ("doctor wrong.cu --kernel ", []),
        ("solve a.py -D ", ["K=", "warp_size=", "n="]),
        ("solve a.py:first -q -D w", ["warp_size="]),
        ("solve a.py -D K=", ["K=1", "K=2", "K=3"]),
        ("solve a.py -D warp_size=3", ["warp_size=32"]),
        ("solve a.py -D n=", []),
        ("solve a.py -D nothing=", []),
        ("solve nowhere.py -D ", []),
        ("solve a.py --space ", ["1", "2", "3", "4", "all"]),
        ("completion z", ["zsh"]),
    ],
)
def test_what_is_offered(words: str, expected: list[str]) -> None:
    """Commands, files, sketches, parameters with their values; the file is not run."""
    assert offered(*words.split(" ")) == expected


def test_parameters_are_described(folder: Path) -> None:
    """Default and domain as they are spelled."""
    assert [d.summary for d in declared_parameters("a.py")] == [
        "default 3, domain range(1, 4)",
        "default 32, domain (4, 8, 32)",
        "default 3, domain range(K)",
    ]
    assert decorated(str(folder), "sketch") == []


def in_shell(shell: str, text: str, folder: Path) -> str:
    """Run a shell's script with this `swizzle` on its path."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    command = folder / "bin" / "swizzle"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m swizzle "$@"\n')
    command.chmod(0o755)
    (folder / "script").write_text(script(shell))  # type: ignore[arg-type]
    environment = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "HOME": str(folder)}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[3])
    flags = ["-f"] if shell == "zsh" else []
    done = subprocess.run(
        [shell, *flags, "-c", text], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout


BASH = """
source ./script
compopt() { :; }
for line in "swizzle solve a.py:" "swizzle solve a.py -D K="; do
    COMP_LINE="$line" COMP_POINT=${#line} COMPREPLY=()
    _swizzle_completion swizzle
    echo "${COMPREPLY[@]}"
done
"""


def test_bash_gets_what_follows_its_word_breaks(folder: Path) -> None:
    """Bash breaks words at colons and equals signs: it is given the rest."""
    assert in_shell("bash", BASH, folder) == "first second\n1 2 3\n"


def test_fish_gets_whole_words(folder: Path) -> None:
    """Fish completes words as they are."""
    assert in_shell("fish", 'source script; complete -C "swizzle solve a.py:f"', folder) == "a.py:first\n"


def test_zsh_reads_the_script(folder: Path) -> None:
    """The script is zsh, and what it calls answers."""
    assert in_shell("zsh", "zsh -n script && echo fine", folder) == "fine\n"
    assert in_zsh_form("swizzle solve a.py:f") == "plain\na.py:first\n_\n"


def in_zsh_form(line: str) -> str:
    asked = {"_SWIZZLE_COMPLETE": "zsh_complete", "COMP_WORDS": line, "COMP_CWORD": "2"}
    environment = {**os.environ, **asked, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    command = [sys.executable, "-m", "swizzle"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_command_prints_the_script() -> None:
    """`swizzle completion SHELL` is what the shell evaluates."""
    for shell in SHELLS:
        assert "_SWIZZLE_COMPLETE" in script(shell)
    assert isinstance(cli.commands["completion"], click.Command)


def test_choices_are_completed_as_parameters_are(tmp_path: Path) -> None:
    """With their values."""
    file = tmp_path / "tile.swz"
    file.write_text('BM = choice("BM", (16, 32))\nBN = choice(name="BN", values=(8,))\n')
    declared = declared_parameters(str(file))
    assert [each.name for each in declared] == ["BM", "BN"] and declared[0].values == (16, 32)
