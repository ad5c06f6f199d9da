"""The tokens of CUDA C++, as every compiler takes them: what the readers of printed and of edited texts stand on.

Nothing is refused here; a character that begins no token is one of the kind `other`, and so is what does not end. Which
texts are read in one way only says `cuda_out.c.directives`: no line of those goes on in the next one, so that a token
is where it stands.
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
    re.VERBOSE | re.DOTALL,
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
