"""What the tests of documentation pages share: a page's blocks, and its console sessions run again."""

from __future__ import annotations

import io
import re
from pathlib import Path

from swizzle.commands.process import execute

DOCS = Path(__file__).resolve().parent.parent / "docs"
ECHO = "; echo $?"


def text_of(name: str) -> str:
    """Return a page's text."""
    return (DOCS / name).read_text(encoding="utf-8")


def files_of(page: str) -> dict[str, str]:
    """Return the text of each block whose fence names a file: ```` ```python twice.py ````."""
    return dict(re.findall(r"^```\w+ (\w+\.\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def blocks_of(page: str, language: str) -> list[str]:
    """Return the blocks of a language whose fence names no file."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def run_again(console: str) -> str:
    """Run each `$ swizzle ...` of a session here, and return the session; `; echo $?` shows the exit status."""
    printed = ""
    for command in re.findall(r"^\$ (.*)$", console, re.MULTILINE):
        program, *arguments = command.removesuffix(ECHO).split()
        assert program == "swizzle"
        out, err = io.StringIO(), io.StringIO()
        status = execute([*arguments, "-q"], out, err) if arguments[0] != "check" else execute(arguments, out, err)
        assert command.endswith(ECHO) or "explain" in command or status == 0, err.getvalue()
        printed += f"$ {command}\n{out.getvalue()}" + (f"{status}\n" if command.endswith(ECHO) else "")
    return printed


def untimed(text: str) -> str:
    """Blank out every measured time."""
    return re.sub(r"^  time .*$", "  time", text, flags=re.MULTILINE)
