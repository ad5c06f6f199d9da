"""Printed CUDA text, read: its tokens, where a kernel's definition is, and which parameters it has.

The text was printed by Swizzle and may have been edited by hand since.

Nothing is refused here; a character that begins no token is one of the kind `other`, and so are what does not end and
blanks that are not ASCII, which not every compiler passes over. Which texts are read in one way only says
`cuda_out.c.same_text`: no line of those goes on in the next one, so that a token is where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, cast, get_args

from msgspec import Struct

Kind: TypeAlias = Literal["comment", "directive", "name", "number", "string", "character", "operator", "other"]

_TOKEN: Final = re.compile(
    r"""
      (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    | (?P<number>\.?[0-9](?:'?[A-Za-z0-9_]|\.|(?<=[eEpP])[+-])*)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<operator><:|:>|<%|%>|%:|<<<|>>>|<<=|>>=|<=>|->\*|\.\.\.|::|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|->|\.\*|\#\#
        |[-+*/%&|^]=|[-+*/%&|^~!=<>?:;,.(){}\[\]\#])
    | (?P<other>[^\s])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_DIRECTIVE: Final = re.compile(r"(?:[^\n/]|/(?![/*]))*")
assert {*_TOKEN.groupindex, "directive"} == {*get_args(Kind)}


class CudaToken(Struct, frozen=True):
    """A token, and where it begins in its text. A directive reaches to the end of its line, or to a comment."""

    kind: Kind
    text: str
    at: int

    @property
    def end(self) -> int:
        return self.at + len(self.text)


def tokens(text: str, *, comments: bool = False) -> Iterator[CudaToken]:
    """Yield the tokens of a text in order, on request with its comments; spaces and ends of lines are none."""
    at, begins_line = 0, True
    while match := _TOKEN.search(text, at):
        kind = cast(Kind, match.lastgroup)
        begins_line = begins_line or "\n" in text[at : match.start()]
        if begins_line and match[0] in ("#", "##", "%:"):
            line = _DIRECTIVE.match(text, match.start())
            assert line is not None
            kind, match = "directive", line
        begins_line = begins_line and kind == "comment"
        at = match.end()
        if comments or kind != "comment":
            yield CudaToken(kind, match[0], match.start())


class NoKernel(Exception):
    """A text does not have the kernel that was looked for."""


def blanked(text: str) -> str:
    """Return the text with comments, directives and what strings say, but "C", replaced by blanks; all positions stay
    the same."""
    parts, at = [], 0
    for token in tokens(text, comments=True):
        if token.kind in ("comment", "directive"):
            hidden = token.text
        elif token.kind in ("string", "character") and token.text != '"C"':
            hidden = token.text[1:-1]
        else:
            continue
        begin = token.at + token.text.index(hidden)
        parts += [text[at:begin], re.sub(r"[^\n]", " ", hidden)]
        at = begin + len(hidden)
    return "".join([*parts, text[at:]])


def kernel_extent(text: str, entry: str) -> tuple[int, int]:
    """Return where the definition of a kernel begins, at `extern` or `__global__`, and where it ends."""
    start, opening = signature(text, entry)
    body = blanked(text)
    end = body.find("{", closing(body, opening))
    if end < 0:
        raise NoKernel(f"a body of {entry}")
    return start, closing(body, end) + 1


def parameters(text: str, entry: str) -> tuple[str, ...]:
    """Return the declarations of the kernel's parameters, without comments."""
    body, (_, opening) = blanked(text), signature(text, entry)
    parts = argument_spans(body, opening + 1, closing(body, opening))
    return tuple(" ".join(body[slice(*part)].split()) for part in parts if body[slice(*part)])


def signature(text: str, entry: str) -> tuple[int, int]:
    """Return where a definition begins, and where the bracket of its parameters opens."""
    launch_bounds = r"(?:__launch_bounds__\s*\([^()]*\)\s*)?"
    pattern = rf'(?:extern\s*"C"\s*)?\b__global__\s+void\s+{launch_bounds}{re.escape(entry)}\s*\('
    found = re.search(pattern, blanked(text))
    if found is None:
        raise NoKernel(f"a kernel {entry}")
    return found.start(), found.end() - 1


def argument_spans(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return where the arguments between two places begin and end."""
    found, depth, begin = [], 0, start
    for place in range(start, stop + 1):
        character = text[place]
        if place == stop or (character == "," and depth == 0):
            inside = text[begin:place]
            found.append((begin + len(inside) - len(inside.lstrip()), begin + len(inside.rstrip())))
            begin = place + 1
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
    return found


def closing(text: str, at: int) -> int:
    """Return the position of the bracket that closes the one at a position."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise NoKernel("an end of its brackets")


def with_kernel(printed: str, header: str, entry: str) -> str:
    """Return a printed text with the kernel that a header holds in the place of its own."""
    (start, stop), (begin, end) = kernel_extent(printed, entry), kernel_extent(header, entry)
    start, begin = (text.index("__global__", at) for text, at in ((printed, start), (header, begin)))
    return printed[:start] + header[begin:end] + printed[stop:]


def instantiated(header: str, entry: str, namespace: str) -> str:
    """Return a printed header with a use of its kernel added, so that a compiler compiles all of it."""
    types = ", ".join(parameters(header, entry))
    return f"{header}\ntemplate __global__ void {namespace}::{entry}<void>({types});\n"


def code(text: str) -> str:
    """Return a text without the comment at its head, which says where the text comes from."""
    return "\n".join(_without_blanks(line) for line in text[len(head(text)) :].removesuffix("\n").split("\n"))


def head(text: str) -> str:
    """Return the comment at the head of a text, and the empty lines around it."""
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if line.strip(" \t\r") and not line.startswith("//")), len(lines))
    return "".join(f"{line}\n" for line in lines[:first])[: len(text)]


def _without_blanks(line: str) -> str:
    """Return a line without the blanks at its end, but for those behind a backslash, where they mean something."""
    plain = line.rstrip(" \t\r")
    return line if plain.endswith("\\") else plain
