"""Every misuse of `tests/errors/core/misuses.py` gets its whole message, in `messages.txt` beside it.

After a message was changed on purpose: `SWIZZLE_WRITE_ERRORS=1 pytest tests/symbolic/lifting/test_misuses.py`, read the
difference, and `make docs-errors`.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symbolic.errors import SwizzleError
from tests.slow_cases import slow_unless

FOLDER = Path(__file__).resolve().parents[2] / "errors" / "core"
FILE, MESSAGES = FOLDER / "misuses.py", FOLDER / "messages.txt"
WRITE = os.environ.get("SWIZZLE_WRITE_ERRORS") == "1"


def misuses() -> dict[str, Callable[[], None]]:
    """Return the functions by name, in the order of the file; places in it have its bare name."""
    text = FILE.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    linecache.cache[FILE.name] = (len(text), None, text.splitlines(keepends=True), FILE.name)
    exec(compile(text, FILE.name, "exec"), names)
    found = re.findall(r"^def (\w+)\(\):", text, re.MULTILINE)
    return {name: names[name] for name in found}


def pinned() -> dict[str, str]:
    """Return the messages by name."""
    parts = re.split(r"^## (\w+)\n", MESSAGES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: message.strip("\n") for name, message in zip(parts[::2], parts[1::2], strict=True)}


MISUSES = misuses()


def message(name: str) -> str:
    """Return what the user is told."""
    with pytest.raises(SwizzleError) as caught:
        MISUSES[name]()
    return str(caught.value)


@pytest.mark.skipif(not WRITE, reason="messages are only written when that is asked for")
def test_write_the_messages() -> None:
    """Pin what is said now."""
    MESSAGES.write_text("\n\n".join(f"## {name}\n{message(name)}" for name in MISUSES) + "\n", encoding="utf-8")


@pytest.mark.sampled(50)
@pytest.mark.parametrize("name", slow_unless(MISUSES, lambda name: name != "loop_that_always_goes_on"))
def test_a_misuse_gives_its_message(name: str) -> None:
    """The whole text: place and line where there is one, what was found, what was expected, how to fix it."""
    assert message(name) == pinned()[name]


def test_every_message_says_what_to_do() -> None:
    """All are pinned, there are sixty and more, and each has something to go on."""
    found = pinned()
    assert list(found) == list(MISUSES)
    assert len(found) >= 60
    assert all("\n  expected: " in text or "\n  fix: " in text for text in found.values())
