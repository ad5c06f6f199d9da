"""The command line's surface: options, exit statuses, and what reaches the user when something goes wrong."""

from __future__ import annotations

import gc
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import swizzle.commands.help
from swizzle.commands import startup
from swizzle.commands.check import CheckArguments
from swizzle.commands.explain import ExplainArguments
from swizzle.commands.process import execute
from swizzle.commands.run import RunArguments
from swizzle.commands.solve import SolveArguments
from swizzle.solving.solution.version import __version__
from symbolic.errors import Place, SwizzleError

CONV = Path(__file__).resolve().parents[3] / "case_studies" / "conv1d.py"


def call(*arguments: str) -> tuple[int, str, str]:
    """Run a command line in this process; return exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    return execute(arguments, out, err), out.getvalue(), err.getvalue()


def recorded(monkeypatch: pytest.MonkeyPatch, command: str) -> list[object]:
    """Replace a command by one that remembers its arguments and leaves with 0."""
    seen: list[object] = []

    def remember(arguments: object, out: object, err: object) -> int:
        seen.append(arguments)
        return 0

    monkeypatch.setattr(f"swizzle.commands.{command}.{command}", remember)
    return seen


@pytest.mark.parametrize(
    "words", [["--help"], ["solve", "--help"], ["check", "--help"], ["run", "-h"], ["explain", "-h"]]
)
def test_help_everywhere(words: list[str]) -> None:
    """Every command explains itself, its exit statuses included, on stdout."""
    status, out, err = call(*words)
    assert (status, err) == (0, "")
    assert out.startswith("Usage: swizzle")
    assert "70 a bug of swizzle" in out


def test_every_option_of_explain_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options become fields of ExplainArguments."""
    seen = recorded(monkeypatch, "explain")
    words = "explain a.py:k -D K=5 --space 2 --timeout 2.5 --solver z3 --json -q"
    assert call(*words.split())[0] == 0
    assert seen == [ExplainArguments("a.py:k", {"K": 5}, "2", 2.5, "z3", True, True)]


@pytest.mark.parametrize("name", ["START", "SOLVE", "CHECK", "RUN", "CACHE"])
def test_the_examples_of_the_help_are_command_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is accepted as it stands, with its options."""
    seen = [recorded(monkeypatch, command) for command in ("solve", "check", "run", "cache")]
    lines = re.findall(r"^  (?:\w+=\w+ )?swizzle (.*?)  +\w", getattr(swizzle.commands.help, name), re.MULTILINE)
    assert len(lines) >= 3
    for line in lines:
        assert call(*line.split())[0] == 0, line
    assert sum(map(len, seen)) + any("--help" in line for line in lines) == len(lines)


def test_version() -> None:
    """--version says the version, and a process that only does so loads no more than Python does."""
    assert call("--version") == (0, f"swizzle, version {__version__}\n", "")
    seen = (
        "import sys, swizzle.commands.entry as e; e.main(); print(*sys.modules.keys() & {'click', 'msgspec', 'numpy'})"
    )
    done = subprocess.run([sys.executable, "-c", seen, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"swizzle, version {__version__}\n\n"
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "swizzle", "--version"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2 and b"No space left" in done.stderr


def test_every_option_of_solve_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options become fields of SolveArguments, with their types."""
    seen = recorded(monkeypatch, "solve")
    words = "solve a.py:k -D K=5 -D n=0x10 -o out --space all --all --timeout 2.5 --solver cvc5 --certify --json -q"
    assert call(*words.split(), "--no-cache", "--cost", "conflicts,sectors")[0] == 0
    assert seen == [
        SolveArguments(
            target="a.py:k",
            overrides={"K": 5, "n": 16},
            output=Path("out"),
            space="all",
            all_solutions=True,
            timeout=2.5,
            solver="cvc5",
            certify=True,
            json_object=True,
            no_cache=True,
            quiet=True,
            cost=("conflicts", "sectors"),
        )
    ]


def test_the_defaults_of_the_command_line_are_those_of_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calling a command with a file alone is the same either way."""
    for name, arguments in (
        ("solve", SolveArguments("a.py")),
        ("check", CheckArguments("a.py")),
        ("run", RunArguments("a.py")),
    ):
        seen = recorded(monkeypatch, name)
        assert call(name, "a.py")[0] == 0
        assert seen == [arguments]


def test_options_of_check_and_run_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    """-D is taken by every command."""
    checked, ran = recorded(monkeypatch, "check"), recorded(monkeypatch, "run")
    call("check", "a.json", "--emitted", "-D", "K=5", "-q")
    call("run", "a.swz", "--device", "cpu", "-D", "K=5", "--seed", "7", "-q")
    assert checked == [CheckArguments("a.json", {"K": 5}, emitted=True, quiet=True)]
    assert ran == [RunArguments("a.swz", {"K": 5}, "cpu", seed=7, quiet=True)]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("solve", "Missing argument 'FILE[:SKETCH]'"),
        ("solve a.py --space 5", "'5' is not one of '1', '2', '3', '4', 'all'"),
        ("solve a.py --timeout 0", "seconds, more than 0 and at most 1000000, not 0"),
        ("solve a.py --timeout -1", "at most 1000000, not -1"),
        ("solve a.py --timeout inf", "at most 1000000, not inf"),
        ("solve a.py --timeout nan", "at most 1000000, not nan"),
        ("solve a.py --timeout 1e400", "at most 1000000, not inf"),
        ("run a.py --seed -1", "-1 is not in the range x>=0"),
        ("solve a.py -D K", "NAME=VALUE with an integer VALUE, not 'K'"),
        ("solve a.py -D K=three", "NAME=VALUE with an integer VALUE, not 'K=three'"),
        ("solve a.py -D 3=K", "NAME=VALUE with an integer VALUE, not '3=K'"),
        ("run a.py -D K=3 -D K=4", "K is given twice, as 3 and as 4"),
        ("run a.py --device tpu", "'tpu' is not one of 'auto', 'cpu', 'cuda'"),
        ("fly a.py", "No such command 'fly'"),
        ("solve a.py --fast", "No such option '--fast'"),
        ("solve a.py b.py", "Got unexpected extra argument (b.py)"),
    ],
)
def test_a_wrong_command_line_is_the_users_mistake(words: str, complaint: str) -> None:
    """Status 2, the complaint on stderr, nothing on stdout."""
    status, out, err = call(*words.split())
    assert (status, out) == (2, "")
    assert complaint in err.replace(".\n", "\n")


def raising(monkeypatch: pytest.MonkeyPatch, exception: BaseException) -> None:
    def fail(*_: object) -> int:
        raise exception

    monkeypatch.setattr("swizzle.commands.solve.solve", fail)


def test_a_swizzle_error_is_shown_without_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Place, what was found, expected, fix; status 2."""
    raising(monkeypatch, SwizzleError("a while loop", place=Place("k.py", 3, 5), expected="for", fix="write for"))
    expected = "k.py:3:5: error: a while loop\n  expected: for\n  fix: write for\n"
    assert call("solve", "k.py") == (2, "", expected)


def test_a_bug_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other exception: status 70, one line, no traceback."""
    monkeypatch.delenv("SWIZZLE_DEBUG", raising=False)
    raising(monkeypatch, AssertionError("merge of\nnothing"))
    status, out, err = call("solve", "k.py")
    assert (status, out) == (70, "")
    assert err == ("internal error: AssertionError: merge of nothing; please report it (SWIZZLE_DEBUG=1 shows where)\n")


def test_a_bug_of_ours_has_a_traceback_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """SWIZZLE_DEBUG=1 shows where."""
    monkeypatch.setenv("SWIZZLE_DEBUG", "1")
    raising(monkeypatch, ValueError("boom"))
    status, _, err = call("solve", "k.py")
    assert status == 70
    assert "Traceback (most recent call last)" in err
    assert err.rstrip().splitlines()[-1].startswith("internal error: ValueError: boom")


def test_an_interruption_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C where there is no best-so-far: status 3."""
    raising(monkeypatch, KeyboardInterrupt())
    status, out, err = call("solve", "k.py")
    assert (status, out, err.strip()) == (3, "", "interrupted")


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`swizzle ... | head` ends quietly."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "swizzle", "--help"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_device_is_no_bug() -> None:
    """What cannot be written is said in one line: status 2."""
    with open("/dev/full", "w") as full:
        for words in (["--help"], ["--version"], ["solve", str(CONV), "-q"]):
            done = subprocess.run(
                [sys.executable, "-m", "swizzle", *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
            assert (done.returncode, done.stderr) == (2, "error: cannot write: No space left on device\n")
        words = [sys.executable, "-m", "swizzle", "solve", "missing.swz"]
        assert subprocess.run(words, stderr=full, check=False).returncode == 2


def test_an_interruption_outside_a_command_is_undecided() -> None:
    """Ctrl-C while modules are still being imported: status 3, no traceback."""
    program = """if True:
        import swizzle.commands.process

        def interrupted(*_):
            raise KeyboardInterrupt

        swizzle.commands.process.execute = interrupted
        swizzle.commands.process.main()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "interrupted\n")


def test_the_module_is_a_program_too() -> None:
    """`python -m swizzle` is the command line."""
    done = subprocess.run([sys.executable, "-m", "swizzle", "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == f"swizzle, version {__version__}\n"


def test_emit_takes_a_list_of_known_kinds() -> None:
    """An unknown kind is a mistake that names the known ones."""
    out, err = io.StringIO(), io.StringIO()
    assert execute(["solve", "x.py", "-o", "out", "--emit", "cuda,tensor"], out, err) == 2
    assert "expected: some of cuda, header, numba, ptx, separated by commas, not 'tensor'" in err.getvalue()


def test_the_collector_is_on_when_work_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is off while the command line's process imports."""
    monkeypatch.setattr(startup, "is_command_line", lambda: True)
    gc.disable()
    try:
        startup.work_begins()
        assert gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
