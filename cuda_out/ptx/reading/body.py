"""Read what stands between the braces of a PTX kernel or function: declarations, labels, instructions and calls."""

from __future__ import annotations

import re

from msgspec.structs import replace

from cuda_out.ptx.instructions.table import form
from cuda_out.ptx.reading.checker import Checker
from cuda_out.ptx.reading.lexer import Token
from cuda_out.ptx.reading.token_reader import TokenReader
from cuda_out.ptx.syntax import (
    SPECIAL,
    Address,
    Group,
    Immediate,
    Instruction,
    Kernel,
    Name,
    NotInterpreted,
    Operand,
    PtxVariable,
    SourceLines,
)


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


class BodyReader:
    """Reads what stands between the braces of a kernel or function; names of inner scopes are made distinct."""

    def __init__(self, reader: TokenReader, kernel: Kernel, variables: list[PtxVariable]) -> None:
        self.reader, self.kernel = reader, kernel
        self.arrays = list(variables)
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.registers: dict[str, str] = {}
        self.scopes = [_Scope("")]
        self.count = 0
        self.source: SourceLines = ()
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
                self.source = reader.location()
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
        if form(tuple(op)) is None:  # whose operands may be of any kind
            while reader.take().text != ";":
                pass
            text = " ".join(reader.ptx[begin.begin : reader.tokens[reader.at - 1].begin].split())
            raise NotInterpreted(f"line {begin.line}: {text}")
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
        found = Instruction(tuple(op), tuple(operands), guard, begin.line, text, self.source)
        if guard is not None and self.registers.get(guard.text) != "pred":
            raise NotInterpreted(f"{found} ({guard.text} is no predicate)")
        if bar != (op[0] in ("shfl", "match") and len(operands) == {"shfl": 6, "match": 4}.get(op[0])):
            raise NotInterpreted(
                f"{found} (a bar stands between the value and the predicate of a shuffle or match, and nowhere else)"
            )
        self.checker.check(found)
        self.instructions.append(replace(found, operands=_looked_at(found)))

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


def _looked_at(instruction: Instruction) -> tuple[Operand, ...]:
    """Return the operands, 0 for those of which no bit matters: compilers name registers there that nothing sets."""
    if instruction.op not in (("prmt", "b32"), ("lop3", "b32")):
        return instruction.operands
    target, *sources, last = instruction.operands
    if not isinstance(last, Immediate):
        return instruction.operands
    if instruction.op[0] == "prmt":
        used = [any(last.bits >> 4 * place & 4 == high for place in range(4)) for high in (0, 4)]
    else:
        used = [any((last.bits >> row ^ last.bits >> (row ^ bit)) & 1 for row in range(8)) for bit in (4, 2, 1)]
    return (target, *(each if kept else Immediate(0, 0) for each, kept in zip(sources, used, strict=True)), last)
