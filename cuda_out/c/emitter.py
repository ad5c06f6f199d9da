"""An emitter of indented C text: lines, blocks, and long lines folded at spaces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from symbolic.errors import Place

WIDTH = 110

_TYPE_GOES_ON = ("long", "unsigned")
_BEFORE = ("? ", ": ", "&& ", "|| ", "+ ", "- ")


def fold(
    text: str,
    width: int,
    later: int = WIDTH - 8,
    *,
    before: tuple[str, ...] = _BEFORE,
    goes_on: tuple[str, ...] = _TYPE_GOES_ON,
    bracketed: bool = False,
) -> list[str]:
    """Split code at spaces into pieces of at most `width`, then `later`, outside as many brackets as possible.

    A piece rather begins with one of `before`, and hardly ends in one of `goes_on`. Python may be split within brackets
    alone (`bracketed`).

    >>> fold("y = first(a, b) + second(c, d);", 20)
    ['y = first(a, b)', '+ second(c, d);']
    """
    pieces, outer = [], 0
    while len(text) > width:
        best, depth = None, outer
        for at, character in enumerate(text[: width + 1]):
            depth += (character in "([") - (character in ")]")
            if character == " " and at > width // 3 and (depth > 0 or not bracketed):
                begins = text[at + 1 :].startswith(before) or text[at - 1] == ","
                rank = (text[:at].endswith(goes_on), depth, not begins, -at)
                best = min(best, rank) if best else rank
        if best is None:
            break
        piece, text = text[: -best[-1]], text[1 - best[-1] :]
        outer += sum((c in "([") - (c in ")]") for c in piece)
        pieces.append(piece)
        width = min(width, later)
    return [*pieces, text]


class Emitter:
    """Collects lines; `block` nests them in braces. Each line keeps the `origin` that was set when it was added."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[str] = []
        self._depth = depth
        self.origin: Place | None = None
        self.origins: list[Place | None] = []

    def line(self, text: str = "") -> None:
        """Add one line at the present depth; code that is too long continues on the next lines, indented further."""
        indent = "  " * self._depth
        if text.startswith(("#", "//")):
            self._add(indent + text)
            return
        for number, piece in enumerate(fold(text, WIDTH - len(indent))):
            self._add(indent + ("    " if number else "") + piece)

    def _add(self, line: str) -> None:
        self._lines.append(line.rstrip())
        self.origins.append(self.origin)

    def indent(self, by: int) -> None:
        """Move the depth of the lines that follow."""
        self._depth += by

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Indent what follows."""
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        """Nest what follows in `head {` ... `}`, or another `end`."""
        self.line(f"{head} {{".lstrip())
        with self.nested():
            yield
        self.line(end)

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)
