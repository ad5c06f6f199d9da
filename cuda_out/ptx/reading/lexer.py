"""The tokens of PTX, each with its line: words, numbers, strings, modifiers such as `.global`, and marks."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from cuda_out.ptx.syntax import Immediate, NotInterpreted

END: Final = "end"
"""The kind of the token behind the last one."""
_TOKEN: Final = re.compile(
    r"""
      (?P<blank>[ \t\r\n\f\v]+ | //[^\n]* | /\*.*?\*/)
    | (?P<string>"[^"\\\n]*")
    | (?P<float>0[fF][0-9a-fA-F]{8} | 0[dD][0-9a-fA-F]{16})(?![\w$.])
    | (?P<version>\d+\.\d+)(?![\w$.])
    | (?P<integer>(?:0[xX][0-9a-fA-F]+ | 0[bB][01]+ | 0[0-7]* | [1-9][0-9]*)U?)(?![\w$.])
    | (?P<word>[A-Za-z][\w$]* | [_$%][\w$]+ | _)
    | (?P<modifier>\.(?:[A-Za-z_]\w*|[1-3]d\b)(?:::\w+)*)
    | (?P<mark>[{}\[\]();,:|@!+\-=<>])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class Token(Struct, frozen=True):
    """`kind` is a group of the pattern above, or END; the token stands at `begin` to `end` of the text."""

    kind: str
    text: str
    line: int
    begin: int
    end: int


def tokens(ptx: str) -> list[Token]:
    """Return the tokens of a text, then one of the kind END; raise NotInterpreted for characters that are none."""
    found, at, line = [], 0, 1
    while at < len(ptx):
        match = _TOKEN.match(ptx, at)
        if match is None:
            raise NotInterpreted(f"line {line}: `{ptx[at : at + 20].split(chr(10))[0]}`, which is no word of PTX")
        text, kind = match[0], match.lastgroup
        assert kind is not None
        if kind == "blank":
            line += text.count("\n")
        else:
            found.append(Token(kind, text, line, at, match.end()))
        at = match.end()
    return [*found, Token(END, "the end of the text", line, at, at)]


def number(token: Token) -> Immediate:
    """Return the literal that a token of the kind `integer` or `float` is.

    >>> number(Token("integer", "010", 1, 0, 3)), number(Token("float", "0f3F800000", 1, 0, 10))
    (Immediate(bits=8, width=0), Immediate(bits=1065353216, width=32))
    """
    text = token.text
    if token.kind == "float":
        return Immediate(int(text[2:], 16), 32 if text[1] in "fF" else 64)
    digits = text.rstrip("U")
    octal = digits[0] == "0" and digits.isdigit()
    value = int(digits, 8) if octal else int(digits, 0)
    if value >= 1 << 64:
        raise NotInterpreted(f"line {token.line}: {text}, an integer of more than 64 bits")
    return Immediate(value, 0)
