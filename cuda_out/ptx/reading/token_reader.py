"""A place in the tokens of a PTX text, and what modules and bodies have in common: types, variables, parameters."""

from __future__ import annotations

import re
from typing import Final

from cuda_out.ptx.kinds import KINDS, width
from cuda_out.ptx.reading.lexer import END, Token, number, tokens
from cuda_out.ptx.syntax import (
    SPECIAL,
    Immediate,
    NotInterpreted,
    PtxVariable,
    SourceLines,
)

_PRAGMAS: Final = re.compile(r'"(nounroll|enable_smem_spilling|frequency \d+|used_bytes_mask (0x[0-9a-f]+|\d+))"')

_POINTED: Final = 4
"""The alignment in bytes that `.ptr` says without a number ("PTX ISA", Kernel Parameter Attributes)."""

_CALLS: Final = 16
"""As deep calls within calls are followed."""


class TokenReader:
    """A place in the tokens of a text."""

    def __init__(self, ptx: str) -> None:
        self.ptx, self.tokens, self.at = ptx, tokens(ptx), 0
        self.calls: dict[tuple[int, int, int], SourceLines] = {}
        self.promised: dict[str, int] = {}

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += token.kind != END
        return token

    def found(self, *texts: str) -> bool:
        """Take the next token if it is one of some."""
        if self.next.text in texts and self.next.kind not in ("string", END):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        if self.next.text != text or self.next.kind in ("string", END):
            raise self.unexpected(f"`{text}`")
        return self.take()

    def word(self) -> str:
        if self.next.kind != "word":
            raise self.unexpected("a name")
        return self.take().text

    def integer(self) -> int:
        if self.next.kind != "integer":
            raise self.unexpected("a number")
        return number(self.take()).bits

    def literal(self) -> Immediate:
        """Take a number, with its sign."""
        minus = self.found("-")
        if self.next.kind not in ("integer", "float") or (minus and self.next.kind == "float"):
            raise self.unexpected("a number")
        value = number(self.take())
        return Immediate(-value.bits & (1 << 64) - 1, 0) if minus else value

    def unexpected(self, wanted: str) -> NotInterpreted:
        return self.refused(self.next, f"{wanted} was expected")

    def refused(self, token: Token, why: str = "") -> NotInterpreted:
        """Return the complaint about what stands at a token, up to the end of its statement."""
        rest = re.split(r"[;{}\n]", self.ptx[token.begin : token.begin + 100], maxsplit=1)[0].strip()
        shown = " ".join((rest or token.text).split())
        return NotInterpreted(f"line {token.line}: `{shown}`" + (f", where {why}" if why else ""))

    def skip_braces(self) -> None:
        """Go behind what the next brace encloses."""
        opening, depth = self.expect("{"), 1
        while depth:
            token = self.take()
            if token.kind == END:
                raise NotInterpreted(f"line {opening.line}: a brace that is not closed")
            if token.kind == "mark":
                depth += {"{": 1, "}": -1}.get(token.text, 0)

    # -- what stands in modules and in bodies ------------------------------------------------------------------

    def kind(self) -> str:
        """Take a type such as `.f32`."""
        name = self.next.text[1:]
        if self.next.kind != "modifier" or name not in KINDS:
            raise self.unexpected("a type")
        self.take()
        return name

    def variable(self, space: str, *, external: bool = False) -> PtxVariable:
        """Read a variable behind its state space, up to its semicolon; one that is `external` may have no size yet."""
        begin = self.next
        align = self._alignment()
        kind = self.kind()
        if kind == "pred":
            raise self.refused(begin)
        name, item = self.word(), width(kind) // 8
        if name in SPECIAL:
            raise self.refused(begin)
        count = 1
        if self.found("["):
            if self.next.text == "]" and external:
                self.take()
                self.expect(";")
                return PtxVariable(name, space, align or item, 0, None)
            if self.next.text == "]":
                raise NotInterpreted(f"line {begin.line}: {name}, an array whose size the launch gives")
            count = self.integer()
            self.expect("]")
        data = None
        if self.found("="):
            if space not in ("const", "global"):
                raise self.refused(begin)
            data = self._initial(item, count)
        self.expect(";")
        if count == 0 or (align or item) % item:
            raise self.refused(begin)
        return PtxVariable(name, space, align or item, count * item, data)

    def _alignment(self) -> int:
        if not self.found(".align"):
            return 0
        begin, bytes_ = self.next, self.integer()
        if bytes_ == 0 or bytes_ & bytes_ - 1:
            raise self.refused(begin, "a power of two was expected")
        return bytes_

    def _initial(self, item: int, count: int) -> bytes:
        values = []
        if self.found("{"):
            while not self.found("}"):
                values.append(self.literal())
                if self.next.text != "}":
                    self.expect(",")
        else:
            values.append(self.literal())
        if len(values) > count or any(value.width not in (0, 8 * item) for value in values):
            raise self.unexpected("as many values as the array has, of its type,")
        mask = (1 << 8 * item) - 1
        data = b"".join((value.bits & mask).to_bytes(item, "little") for value in values)
        return data.ljust(count * item, b"\0")

    def parameters(self, *, records: bool = False) -> tuple[tuple[str, str], ...]:
        """Read what a kernel or a function takes or gives, in brackets; `records`: structures may be among them."""
        found: list[tuple[str, str]] = []
        self.expect("(")
        while not self.found(")"):
            if found:
                self.expect(",")
            found.append(self.parameter(records=records))
        if len({name for name, _ in found}) < len(found):
            raise self.refused(self.tokens[self.at - 1], "two parameters have one name")
        return tuple(found)

    def parameter(self, *, records: bool = False) -> tuple[str, str]:
        """Read one, from `.param` to its name; bytes that are aligned as a number of their size are one (`__half`),
        other ones a structure (`record24`)."""
        begin = self.expect(".param")
        align = self._alignment()
        kind = self.kind()
        promised = 0
        if self.found(".ptr"):
            self.found(".global")
            promised = self._alignment() or _POINTED
        name = self.word()
        if promised:
            self.promised[name] = promised
        if kind == "b8" and self.found("["):
            size = self.integer()
            self.expect("]")
            if size == align and size in (2, 4, 8):
                return name, f"b{8 * size}"
            if records:
                return name, f"record{size}"
            raise NotInterpreted(f"{self.refused(begin)}, a parameter that is no number and no pointer")
        if kind == "pred" or self.next.text == "[":
            raise NotInterpreted(f"{self.refused(begin)}, a parameter that is no number and no pointer")
        return name, kind

    def pragma(self) -> None:
        """Read a pragma behind its name: those that are known change no value."""
        begin = self.next
        if begin.kind != "string" or not _PRAGMAS.fullmatch(begin.text):
            raise self.refused(begin, "a pragma that is known was expected")
        self.take()
        self.expect(";")

    def location(self) -> SourceLines:
        """Read the place in a source file behind `.loc`, which ends with its last number.

        Of a call within a call each place names the next one, which stood before by itself.
        """
        place = file, line, _ = self.integer(), self.integer(), self.integer()
        found: SourceLines = ((file, line),)
        if self.next.text == ",":
            self.take()
            if self.word() != "function_name":
                raise self.unexpected("`function_name`")
            self.word()
            if self.found("+"):
                self.integer()
            self.expect(",")
            if self.word() != "inlined_at":
                raise self.unexpected("`inlined_at`")
            outer = file, line, _ = self.integer(), self.integer(), self.integer()
            found = (*found, *self.calls.get(outer, ((file, line),))[:_CALLS])
        self.calls[place] = found
        return found
