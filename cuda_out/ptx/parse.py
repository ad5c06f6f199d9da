"""Read the text of PTX by its grammar: a module, its variables, functions and kernels, and their instructions.

What is not understood is refused, with its line: a directive, a word between declarations, an instruction in no form
(`cuda_out.ptx.forms`), a name that was not declared. What is wrong in the body of one kernel or function is said when
that one is asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod
from typing import Final

from msgspec.structs import replace

from cuda_out.ptx.forms import SPECIAL, Checker
from cuda_out.ptx.kinds import KINDS, width
from cuda_out.ptx.lexer import END, Token, number, tokens
from cuda_out.ptx.syntax import (
    Address,
    Group,
    Immediate,
    Instruction,
    Kernel,
    Name,
    NotInterpreted,
    Operand,
    PtxVariable,
)

_LINKING: Final = frozenset((".visible", ".weak", ".extern", ".common"))
_PRAGMAS: Final = re.compile(r'"(nounroll|enable_smem_spilling|frequency \d+|used_bytes_mask (0x[0-9a-f]+|\d+))"')
_TUNING: Final = frozenset((".minnctapersm", ".maxnctapersm", ".maxnreg"))
"""What a kernel says of itself that changes no value, each with one number."""


@lru_cache(maxsize=8)
def parse(ptx: str) -> dict[str, Kernel]:
    """Return every kernel of a PTX module, by name; raise NotInterpreted for a module that is not understood."""
    return _Module(ptx).read()


class _Reader:
    """A place in the tokens of a text."""

    def __init__(self, ptx: str) -> None:
        self.ptx, self.tokens, self.at = ptx, tokens(ptx), 0

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

    def variable(self, space: str) -> PtxVariable:
        """Read a variable behind its state space, up to its semicolon."""
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
            if self.next.text == "]":
                raise NotInterpreted(f"line {begin.line}: {name}, an array whose size the launch gives")
            count = self.integer()
            self.expect("]")
        data = bytes(count * item) if space in ("const", "global") else None
        if self.found("="):
            if data is None:
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

    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Read what a kernel or a function takes or gives, in brackets."""
        found: list[tuple[str, str]] = []
        self.expect("(")
        while not self.found(")"):
            if found:
                self.expect(",")
            found.append(self.parameter())
        if len({name for name, _ in found}) < len(found):
            raise self.refused(self.tokens[self.at - 1], "two parameters have one name")
        return tuple(found)

    def parameter(self) -> tuple[str, str]:
        """Read one, from `.param` to its name."""
        begin = self.expect(".param")
        self._alignment()
        kind = self.kind()
        if self.found(".ptr"):
            self.found(".global")
            self._alignment()
        name = self.word()
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

    def location(self) -> None:
        """Read the place in a source file behind `.loc`, which ends with its last number."""
        for _ in range(3):
            self.integer()
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
            for _ in range(3):
                self.integer()


class _Module(_Reader):
    """Reads a module from its version to its end."""

    def read(self) -> dict[str, Kernel]:
        self._header()
        kernels: dict[str, Kernel] = {}
        functions: dict[str, Kernel] = {}
        variables: list[PtxVariable] = []
        names: set[str] = set()
        while self.next.kind != END:
            begin = self.next
            if self.found(".file"):
                self.integer()
                self._string()
                if self.found(","):
                    self.integer()
                    self.expect(",")
                    self.integer()
                continue
            if self.found(".section"):  # what a debugger reads
                section = self.take()
                if section.kind != "modifier" or not section.text.startswith(".debug_"):
                    raise self.refused(begin)
                self.skip_braces()
                continue
            linking = self.take().text if self.next.text in _LINKING else ""
            if self.found(".entry"):
                kernel = self._kernel(variables)
                self._declare(begin, kernel.name, names)
                kernels[kernel.name] = kernel
            elif self.found(".func"):
                function = self._function(variables)
                if function.name not in functions:
                    self._declare(begin, function.name, names)
                    functions[function.name] = function
                elif functions[function.name].refused == _DECLARED:
                    functions[function.name] = function
                elif function.refused != _DECLARED:
                    raise self.refused(begin, "a function is defined twice")
            elif self.next.text in (".global", ".const", ".shared") and linking != ".extern":
                variable = self.variable(self.take().text[1:])
                variables.append(replace(variable, data=None) if linking == ".common" else variable)
                self._declare(begin, variables[-1].name, names)
            else:
                raise self.refused(begin)
        called: dict[str, Kernel] = {}
        for name, function in functions.items():
            called[name] = replace(function, functions=called)
        return {name: replace(kernel, functions=called) for name, kernel in kernels.items()}

    def _header(self) -> None:
        self.expect(".version")
        if self.take().kind != "version":
            raise self.refused(self.tokens[self.at - 1], "a version was expected")
        self.expect(".target")
        if not re.fullmatch(r"sm_\d+[af]?", self.next.text):
            raise self.unexpected("an architecture")
        self.take()
        while self.found(","):  # where it was compiled for a debugger
            self.expect("debug")
        self.expect(".address_size")
        if self.integer() != 64:
            raise self.refused(self.tokens[self.at - 1], "addresses of 64 bits were expected")

    def _string(self) -> None:
        if self.next.kind != "string":
            raise self.unexpected("a string")
        self.take()

    def _declare(self, begin: Token, name: str, names: set[str]) -> None:
        if name in names:
            raise self.refused(begin, f"{name} is declared twice")
        names.add(name)

    def _kernel(self, variables: list[PtxVariable]) -> Kernel:
        name = self.word()
        parameters = self.parameters() if self.next.text == "(" else ()
        most, block = None, None
        while self.next.text != "{":
            begin = self.take()
            if begin.text in (".maxntid", ".reqntid"):
                shape = [self.integer()]
                while self.found(",") and len(shape) < 3:
                    shape.append(self.integer())
                if begin.text == ".maxntid":
                    most = prod(shape)
                else:
                    block = (*shape, 1, 1)[:3]
            elif begin.text in _TUNING:
                self.integer()
            elif begin.text == ".pragma":
                self.pragma()
            else:
                raise self.refused(begin)
        kernel = Kernel(name, parameters, most_threads=most, block=block)
        return self._with_body(kernel, variables)

    def _function(self, variables: list[PtxVariable]) -> Kernel:
        result = self.parameters() if self.next.text == "(" else ()
        name = self.word()
        parameters = self.parameters() if self.next.text == "(" else ()
        while self.found(".noreturn"):
            pass
        function = Kernel(name, parameters, result=result[0] if len(result) == 1 else None)
        if self.found(";"):
            return replace(function, refused=_DECLARED)
        return self._with_body(function, variables)

    def _with_body(self, kernel: Kernel, variables: list[PtxVariable]) -> Kernel:
        begin = self.at
        try:
            return _Body(self, kernel, variables).read()
        except NotInterpreted as error:
            self.at = begin
            self.skip_braces()
            return replace(kernel, refused=str(error))


_DECLARED: Final = "a function without a body"


class _Scope:
    """The names that a pair of braces declares: registers one by one and in rows, and parameters of calls."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.names: dict[str, str] = {}
        self.rows: dict[str, tuple[int, str]] = {}

    def kind_of(self, name: str) -> str | None:
        """Return the type of a register that is declared here."""
        if name in self.names:
            return self.names[name]
        digits = re.search(r"\d*$", name)
        assert digits is not None
        for split in range(digits.start(), len(name)):
            prefix, rest = name[:split], name[split:]
            if prefix in self.rows and str(int(rest)) == rest and int(rest) < self.rows[prefix][0]:
                return self.rows[prefix][1]
        return None


class _Body:
    """Reads what stands between the braces of a kernel or function; names of inner scopes are made distinct."""

    def __init__(self, reader: _Reader, kernel: Kernel, variables: list[PtxVariable]) -> None:
        self.reader, self.kernel = reader, kernel
        self.arrays = list(variables)
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.registers: dict[str, str] = {}
        self.scopes = [_Scope("")]
        self.count = 0
        self.passed = dict(kernel.parameters)
        self.spaces = {array.name: array.space for array in variables}
        self.checker = Checker(self.registers, self.spaces, self.passed)
        if kernel.result is not None:
            self.passed[kernel.result[0]] = kernel.result[1]

    def read(self) -> Kernel:
        reader = self.reader
        reader.expect("{")
        while self.scopes:
            token = reader.next
            if reader.found("{"):
                self.count += 1
                self.scopes.append(_Scope(f"@{self.count}"))
            elif reader.found("}"):
                self.scopes.pop()
            elif token.kind == "modifier":
                self._directive()
            elif token.kind == "word" and reader.tokens[reader.at + 1].text == ":":
                name = reader.word()
                reader.expect(":")
                if name in (*self.labels, *self.spaces, *self.passed, self.kernel.name):
                    raise reader.refused(token, "a label stands for the second time, or is another name")
                self.labels[name] = len(self.instructions)
            else:
                self._instruction()
        for each in self.instructions:
            if each.op[0] == "bra" and not (
                isinstance(each.operands[0], Name) and each.operands[0].text in self.labels
            ):
                raise NotInterpreted(f"{each} (no such label)")
        return replace(
            self.kernel,
            arrays=tuple(self.arrays),
            instructions=tuple(self.instructions),
            labels=self.labels,
            registers=self.registers,
        )

    def _directive(self) -> None:
        reader, begin = self.reader, self.reader.next
        match reader.take().text:
            case ".reg":
                self._registers(begin)
            case ".param":
                reader.at -= 1
                name, kind = reader.parameter()
                reader.expect(";")
                self._new(begin, name, kind)
                self.passed[name + self.scopes[-1].mark] = kind
                self.scopes[-1].names[name] = kind
            case ".shared" | ".local" as space:
                array = reader.variable(space[1:])
                if len(self.scopes) > 1 or array.name in self.spaces:
                    raise reader.refused(begin)
                self.arrays.append(array)
                self.spaces[array.name] = array.space
            case ".pragma":
                reader.pragma()
            case ".loc":
                reader.location()
            case _:
                raise reader.refused(begin)

    def _registers(self, begin: Token) -> None:
        reader, scope = self.reader, self.scopes[-1]
        kind = reader.kind()
        while True:
            name = reader.word()
            self._new(begin, name, kind)
            if reader.found("<"):
                count = reader.integer()
                reader.expect(">")
                if name in scope.rows:
                    raise reader.refused(begin, f"{name} is declared twice")
                scope.rows[name] = count, kind
            else:
                scope.names[name] = kind
            if not reader.found(","):
                break
        reader.expect(";")

    def _new(self, begin: Token, name: str, kind: str) -> None:
        if name in SPECIAL or name in self.spaces or self.scopes[-1].kind_of(name) is not None:
            raise self.reader.refused(begin, f"{name} is declared twice")
        if kind in ("s8", "u8", "b8"):
            raise self.reader.refused(begin, "registers of 16 bits or more were expected")

    def _renamed(self, name: str) -> str:
        """Return the name of what a name means here, with the scope that declares it."""
        for scope in reversed(self.scopes):
            kind = scope.kind_of(name)
            if kind is not None:
                distinct = f"{name}{scope.mark}"
                if distinct not in self.passed:
                    self.registers[distinct] = kind
                return distinct
        return name

    # -- instructions ------------------------------------------------------------------------------------------

    def _instruction(self) -> None:
        reader, begin, guard = self.reader, self.reader.next, None
        if reader.found("@"):
            negated = reader.found("!")
            guard = Name(self._renamed(reader.word()), negated)
        if reader.next.kind != "word":
            raise reader.refused(begin)
        op = [reader.word()]
        while reader.next.kind == "modifier":
            op.append(reader.take().text[1:])
        operands: list[Operand] = []
        bar = False
        while reader.next.text != ";":
            if len(operands) == 1:
                bar = reader.found("|")
            if operands and not (reader.found(",") or (bar and len(operands) == 1)):
                raise reader.unexpected("`,` or `;`")
            operands.append(self._operand())
        end = reader.expect(";")
        text = " ".join(re.sub(r"//[^\n]*|/\*.*?\*/", " ", reader.ptx[begin.begin : end.begin], flags=re.S).split())
        found = Instruction(tuple(op), tuple(operands), guard, begin.line, text)
        if guard is not None and self.registers.get(guard.text) != "pred":
            raise NotInterpreted(f"{found} ({guard.text} is no predicate)")
        if bar != (op[0] == "shfl" and len(operands) == 6):
            raise NotInterpreted(
                f"{found} (a bar stands between the value and the predicate of a shuffle, and nowhere else)"
            )
        self.checker.check(found)
        self.instructions.append(found)

    def _operand(self) -> Operand:
        reader = self.reader
        if reader.next.text in ("{", "("):
            closing = {"{": "}", "(": ")"}[reader.take().text]
            items: list[Name | Immediate] = []
            while not reader.found(closing):
                if items:
                    reader.expect(",")
                items.append(self._item())
            return Group(tuple(items))
        if reader.found("["):
            base = self._renamed(reader.word())
            offset = self._offset()
            reader.expect("]")
            return Address(base, offset)
        if reader.found("!"):
            return Name(self._renamed(reader.word()), negated=True)
        return self._item()

    def _item(self) -> Name | Immediate:
        reader = self.reader
        if reader.next.kind != "word":
            return reader.literal()
        name = reader.word()
        if name.startswith("%") and reader.next.kind == "modifier":
            name += reader.take().text
            return Name(name)
        return Name(self._renamed(name), offset=self._offset())

    def _offset(self) -> int:
        """Read what is added to an address: `+4`, `+-4`, or nothing."""
        if not self.reader.found("+"):
            return 0
        bits = self.reader.literal()
        if bits.width:
            raise self.reader.unexpected("a whole number")
        return bits.bits - (1 << 64) if bits.bits >> 63 else bits.bits
