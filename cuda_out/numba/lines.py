"""Lines of Python as they are printed: indented, folded inside brackets, with names that are legal, not reserved, and
not used by the printed module itself.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from cuda_out.c.emitter import WIDTH, different_names, fold
from symbolic.ir.program import DType

NUMBA_TYPE: Final = {dtype: dtype.row.numba for dtype in DType if dtype.row.numba}
"""numba's types of values; half precision is missing, because numba does not compute with it."""
OWN: Final = frozenset(
    ["cuda", "math", "libdevice", "inf", "nan", "stream", "checks", "name", "array", "dtype", "shape", "found"]
).union(NUMBA_TYPE.values())


def python_name(name: str) -> str:
    """Return the name, with an underscore added if Python or the printed module reserves it."""
    reserved = keyword.iskeyword(name) or hasattr(builtins, name) or name in OWN
    return f"{name}_" if reserved else name


def python_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a Python name for each name, all different."""
    return different_names(names, python_name, taken)


_VALUE = re.compile(r"([^\W\d]\w*(?:\[.*?\])? [-+*&|^]?= )(.*)")
_CONDITION = re.compile(r"((?:el)?if )(.*):")
COOKIE: Final = re.compile(r"[ \t\f]*#.*?coding[:=]")
"""What Python takes for the name of an encoding, in the first two lines of a file."""
_GOES_ON: Final = ("if ", "else ", "and ", "or ", "+ ", "- ", "^ ", "| ", "& ")


def first_comment(lines: Iterable[str]) -> list[str]:
    """Return the comment at the top of a file, none of whose lines names an encoding."""
    comment = [f"# {line}".rstrip() for line in "\n".join(lines).splitlines()]
    while named := [at for at, line in enumerate(comment[:2]) if COOKIE.match(line)]:
        comment.insert(named[0], "#")
    return comment


def bracketed(text: str) -> str:
    """Return a statement with brackets around its value or condition, so that it can be folded there."""
    if condition := _CONDITION.fullmatch(text):
        return f"{condition[1]}({condition[2]}):"
    value = _VALUE.fullmatch(text)
    return f"{value[1]}({value[2]})" if value else text


def _folded(text: str, width: int) -> list[str]:
    """Split a statement at spaces inside its brackets into pieces of at most `width`, if possible.

    >>> _folded("y = (first[a, b] + second[c, d])", 24)
    ['y = (first[a, b]', '+ second[c, d])']
    """
    return fold(text, width, width, before=_GOES_ON, goes_on=(), bracketed=True)


class PythonLines:
    """The lines of a module or of a function's body."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[str] = []
        self._depth = depth

    def line(self, text: str = "") -> None:
        indent = "    " * self._depth
        if len(indent + text) <= WIDTH or text.startswith("#"):
            self._lines.append((indent + text).rstrip())
            return
        for number, piece in enumerate(_folded(bracketed(text), WIDTH - len(indent) - 4)):
            self._lines.append(indent + ("    " if number else "") + piece)

    @contextmanager
    def nested(self, head: str) -> Iterator[None]:
        """Indent what follows under `head`; a body without statements gets a `pass`."""
        self.line(head)
        count = len(self._lines)
        self._depth += 1
        yield
        if len(self._lines) == count:
            self.line("pass")
        self._depth -= 1

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)
