"""The command line on a real terminal (a pseudo-terminal): the live view, its end, Ctrl-C; and plain text in pipes."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

ROOT = Path(__file__).resolve().parents[2]
SWIZZLE = [sys.executable, "-m", "swizzle"]
LONG = ["solve", "case_studies/mult64.py:register", "-D", "warp_size=8", "--space", "all", "--no-light"]
"""The first solution is there at once, the search for a cheaper one takes minutes."""
VIEW = re.compile(r"Space \d · .*\r\n.* s · (?:best \d+ accumulates|no solution yet) · \d+ candidates?, \d+ counterex")
BEST = "best 8 accumulates"


def environment(**changes: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return {**inherited, "TERM": "xterm-256color", "NO_COLOR": "", **changes}


def on_terminal(
    *words: str, until: str = "", key: bytes = b"\x03", columns: int = 100, both: bool = True, **changes: str
) -> tuple[int, str, str]:
    """Run a command line on a terminal; press a key once the terminal has shown `until`.

    Returns the exit status, what the terminal received (without its own echo of Ctrl-C), and stdout where that is a
    pipe (`both` false).
    """
    outside, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, (24).to_bytes(2, "little") + columns.to_bytes(2, "little") + bytes(4))
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *SWIZZLE, *words],
        cwd=ROOT,
        env=environment(**changes),
        stdin=inside,
        stdout=inside if both else subprocess.PIPE,
        stderr=inside,
    )
    os.close(inside)
    received = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([outside], [], [], 0.05)
        if ready:
            try:
                part = os.read(outside, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            received += part
            if until and until in received.decode(errors="replace"):
                os.write(outside, key)
                until = ""
        elif process.poll() is not None:
            break
    os.close(outside)
    out, _ = process.communicate(timeout=10)
    return process.returncode, received.decode().replace("^C", ""), "" if out is None else out.decode()


def screen(received: str) -> list[str]:
    """Return the lines that a terminal shows in the end; fails on an escape sequence that it does not know."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", received):
        match part[0], part[-1]:
            case "\r", _:
                column = 0
            case "\n", _:
                row += 1
                lines += [""] * (row + 1 - len(lines))
            case "\x1b", "A":
                row = max(0, row - int(part[2:-1] or 1))
            case "\x1b", "K":
                assert part == "\x1b[2K"
                lines[row] = ""
            case "\x1b", "m" | "h" | "l":
                pass
            case "\x1b", _:
                raise AssertionError(f"an unknown sequence {part!r}")
            case _:
                lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + len(part) :]
                column += len(part)
    return [line.rstrip() for line in lines if line.strip()]


def test_the_view_appears_and_is_erased_and_ctrl_c_keeps_the_best(tmp_path: Path) -> None:
    """While it searches: two lines that change. After Ctrl-C: the best so far alone, printed and written, status 3."""
    status, received, _ = on_terminal(*LONG, "-o", str(tmp_path / "out"), until=BEST)
    assert status == 3
    assert VIEW.search(re.sub(r"\x1b\[[\d;]*m", "", received))
    assert " MiB" in received
    shown = screen(received)
    assert shown[0] == "register: solved, verified for all inputs"
    assert not any("Space 2 ·" in line or " MiB" in line for line in shown)
    assert "  cost    8 accumulates, not proved minimal over all spaces" in shown
    assert "  reason  interrupted" in shown
    assert "\x1b[?25h" in received[received.rindex("\x1b[?25l") :]  # the cursor is back
    assert json.loads((tmp_path / "out" / "register.json").read_text())["cost"] == {"accumulates": 8}


def test_a_narrow_terminal_without_colour_and_stdout_in_a_pipe() -> None:
    """Each line is cut to the width; NO_COLOR has none; the pipe gets the answer alone."""
    status, received, out = on_terminal(*LONG, until="Space 2", columns=36, both=False, NO_COLOR="1")
    assert status == 3
    assert out.startswith("register: solved, verified for all inputs\n")
    assert "\x1b" not in out
    assert not re.search(r"\x1b\[[\d;]*(?:3[0-7]|9[0-7])m", received)
    drawn = re.split(r"[\r\n]+", re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", received))
    assert max(map(len, drawn)) <= 36
    assert screen(received) == []


@pytest.mark.parametrize("words", [["-q"], ["--json"]])
def test_no_view_when_quiet(words: list[str]) -> None:
    """Not a character on the terminal."""
    status, received, out = on_terminal(*LONG, "--timeout", "0.6", *words, both=False)
    assert (status, received) == (3, "")
    assert out


def test_a_dumb_terminal_gets_plain_lines() -> None:
    """No cursor movement where the terminal has none."""
    status, received, _ = on_terminal(*LONG, "--timeout", "0.6", TERM="dumb")
    assert status == 3
    assert "\x1b" not in received
    assert received.startswith("register: Space 1 · interpreting the sketch")


def test_pipes_get_plain_text() -> None:
    """Neither stream has an escape sequence; progress is lines of its own on stderr."""
    done = subprocess.run(
        [*SWIZZLE, *LONG, "--timeout", "0.4"], cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr.startswith("register: Space 1 · interpreting the sketch")


def test_ctrl_c_while_starting_is_no_traceback() -> None:
    """Interrupted at any moment after the package is found: status 3 and one word."""
    for module in (
        "swizzle.language.cuda_namespace",
        "ast",
        "swizzle.commands.cli",
        "click",
        "numpy",
        "swizzle.commands.solve",
    ):
        text = (
            "import os, signal, sys\n"
            "class Interrupting:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name == {module!r}:\n"
            "            os.kill(os.getpid(), signal.SIGINT)\n"
            "sys.meta_path.insert(0, Interrupting())\n"
            "sys.argv = ['swizzle', 'solve', 'case_studies/conv1d.swz']\n"
            f"sys.modules.pop({module!r}, None)\n"
            "from swizzle.commands.process import main\n"
            "main()\n"
        )
        done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr.strip()) == (3, "", "interrupted"), module


def test_ctrl_c_that_comes_more_than_once_keeps_what_was_found() -> None:
    """As from `timeout`, which sends the signal to the process and to its group: one interrupt, nothing lost."""
    words = ["solve", "case_studies/aos_store.py:rcr", "-D", "struct_size=16", "--space", "3", "--all", "--no-cache"]
    with subprocess.Popen(
        [*SWIZZLE, *words], cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "fillings so far" in line)
        for wait in (0.0, 0.0003, 0.003):
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=60)
    assert process.returncode == 3 and "internal error" not in rest
    assert re.search(r"^  found   \d+ distinct solutions?; there may be more$", out, re.MULTILINE)
    assert "  reason  interrupted\n" in out
    assert "  cost    0 accumulates, proved minimal in Space 3\n" in out  # which takes no other solution to see


def test_a_program_that_imports_swizzle_keeps_its_signals() -> None:
    """The guard is for the command line's own process."""
    text = "import signal, swizzle; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True\n", "")
