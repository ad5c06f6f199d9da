"""Read the text of PTX: kernels with their parameters, arrays, labels and instructions, each with its line.

What an instruction means is no business of this file; only text that is not PTX is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from math import prod
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace


class NotInterpreted(Exception):
    """PTX that the interpreter does not know: nothing is claimed of a kernel that has it."""


class Name(Struct, frozen=True):
    """A register, a special register, a variable or a label; `negated` for `!%p1`, `offset` for `array+4`."""

    text: str
    negated: bool = False
    offset: int = 0


class Immediate(Struct, frozen=True):
    """A literal, as its bits: 64 for integers, 32 or 64 (`width`) for floats."""

    bits: int
    width: int


class Address(Struct, frozen=True):
    """`[base+offset]`."""

    base: str
    offset: int


class Group(Struct, frozen=True):
    """`{a, b}`: the elements of a vector access, or the halves of a register."""

    items: tuple[Name | Immediate, ...]


Operand: TypeAlias = Name | Immediate | Address | Group


class Instruction(Struct, frozen=True):
    """`@guard op operands`, with the line of the PTX that it stands on."""

    op: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Name | None
    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


class Array(Struct, frozen=True):
    """A variable in a state space; `data` holds the bytes that it starts with, if any."""

    name: str
    space: str
    align: int
    size: int
    data: bytes | None


class Kernel(Struct, frozen=True):
    """One `.entry`; `labels` say before which instruction they stand, `parameters` are name and type, in order.

    A block has at most `most_threads` (.maxntid), and the shape `block` (.reqntid), where those are not None.
    `functions` are those of the module, which it may call. A function (`.func`) is read as a kernel is; `result` is the
    name and type of what it returns.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    arrays: tuple[Array, ...]
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    most_threads: int | None = None
    block: tuple[int, ...] | None = None
    functions: Mapping[str, Kernel] = field(default_factory=dict)
    result: tuple[str, str] | None = None


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?")
_FUNCTION = re.compile(r"\.func\s*(?:\(([^)]*)\))?\s*([\w$]+)\s*\(([^)]*)\)([\s.\w]*)([{;])")
_BOUND = re.compile(r"\.(maxntid|reqntid)\s+(\d+(?:\s*,\s*\d+)*)")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s*(?:\.ptr[^%$\w]*(?:\.\w+\s+)*(?:\.align\s+\d+\s+)?)?"
)
_VARIABLE = re.compile(
    r"\.(shared|local|const|global)\s+(?:\.attribute\(.*?\)\s*)?(?:\.align\s+(\d+)\s+)?\.([a-z]\d+)\s+"
    r"([\w$]+)\s*(?:\[(\d*)\])?\s*(?:=\s*(.*))?$",
    re.S,
)
_INSTRUCTION = re.compile(r"(?:@(!?)\s*([%\w$]+)\s+)?([a-z][\w.:]*)\s*(.*)$", re.S)
_LABEL = re.compile(r"\s*([\w$]+)\s*:(?!:)")
_MARKS = re.compile(r"[{}\[\]();:]")
_BRACES = re.compile(r"[{}]")
_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


@lru_cache(maxsize=8)
def parse(ptx: str) -> dict[str, Kernel]:
    """Return every kernel of a PTX module, by name."""
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), ptx)
    functions, text = _functions(text)
    kernels: dict[str, Kernel] = {}
    outside, at = [], 0
    for entry in _ENTRY.finditer(text):
        begin = text.find("{", entry.end())
        if begin < 0:
            raise NotInterpreted("a kernel without its opening brace")
        end = _closing(text, begin)
        outside.append(text[at : entry.start()])
        at = end + 1
        parameters = tuple(_parameter(part) for part in (entry[2] or "").split(",") if part.strip())
        body = _Body(text.count("\n", 0, begin) + 1)
        body.read(text[begin + 1 : end])
        kernels[entry[1]] = Kernel(
            entry[1],
            parameters,
            tuple(body.arrays),
            tuple(body.instructions),
            dict(body.labels),
            *_bounds(text[entry.end() : begin]),
        )
    outside.append(text[at:])
    module = tuple(_module_arrays("".join(outside)))
    called: dict[str, Kernel] = {}
    for name, function in functions.items():
        called[name] = replace(function, arrays=(*module, *function.arrays), functions=called)
    return {
        name: replace(kernel, arrays=(*module, *kernel.arrays), functions=called) for name, kernel in kernels.items()
    }


def _functions(text: str) -> tuple[dict[str, Kernel], str]:
    """Return the functions of a module, and the module with them blanked out."""
    found: dict[str, Kernel] = {}
    kept, at = [], 0
    for head in _FUNCTION.finditer(text):
        if head.start() < at:
            continue
        end = head.end() if head[5] == ";" else _closing(text, head.end() - 1) + 1
        kept += [text[at : head.start()], "\n" * text.count("\n", head.start(), end)]
        at = end
        if head[5] == "{":
            with suppress(NotInterpreted):  # whoever calls it says so
                found[head[2]] = _function(text, head, end)
    return found, "".join(kept) + text[at:]


def _function(text: str, head: re.Match[str], end: int) -> Kernel:
    result, parameters = (
        tuple(_parameter(part) for part in (group or "").split(",") if part.strip()) for group in (head[1], head[3])
    )
    body = _Body(text.count("\n", 0, head.end()) + 1)
    body.read(text[head.end() : end - 1])
    arrays, instructions = tuple(body.arrays), tuple(body.instructions)
    returned = result[0] if result else None
    return Kernel(head[2], parameters, arrays, instructions, dict(body.labels), result=returned)


def _bounds(text: str) -> tuple[int | None, tuple[int, ...] | None]:
    """Return what the directives of a kernel allow: the most threads of a block, and its shape, None without one."""
    said = {found[1]: tuple(map(int, found[2].split(","))) for found in _BOUND.finditer(text)}
    shape = said.get("reqntid")
    most = said.get("maxntid")
    return prod(most) if most else None, (*shape, 1, 1)[:3] if shape else None


def _parameter(text: str) -> tuple[str, str]:
    found = _PARAMETER.match(text.strip())
    name = re.search(r"([\w$]+)\s*(\[\d+\])?\s*$", text.strip())
    if found is None or name is None or name[2]:
        raise NotInterpreted(f"a parameter such as `{' '.join(text.split())}`")
    return name[1], found[1]


def _closing(text: str, begin: int) -> int:
    depth = 0
    for brace in _BRACES.finditer(text, begin):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    raise NotInterpreted("a kernel without its closing brace")


def _module_arrays(text: str) -> Iterator[Array]:
    for statement in text.split(";"):
        if found := re.search(r"\.(?:shared|const|global)\s.*", statement, re.S):
            yield _array(found[0])


def _array(text: str) -> Array:
    found = _VARIABLE.match(" ".join(text.split()))
    if found is None:
        raise NotInterpreted(f"a variable such as `{' '.join(text.split())}`")
    space, align, kind, name, count, values = found.groups()
    item = _BYTES[kind[1:]]
    data = None
    if space in ("const", "global"):
        listed = re.findall(r"[^\s{},]+", values or "")
        if any(not re.fullmatch(r"-?(0[xfd])?[0-9a-fA-F]+", v) for v in listed):
            raise NotInterpreted(f"the initial value of {name}")
        numbers = [_number(v).bits & (1 << 8 * item) - 1 for v in listed]
        data = b"".join(n.to_bytes(item, "little") for n in numbers)
    if count == "":
        raise NotInterpreted(f"{name}, an array whose size the launch gives")
    size = item * int(count or 1)
    return Array(name, space, int(align or item), size, None if data is None else data.ljust(size, b"\0"))


class _Body:
    """Reads the statements of a kernel; names that an inner scope declares are made distinct."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.arrays: list[Array] = []
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.scopes: list[dict[str, str]] = [{}]
        self.count = 0

    def read(self, text: str) -> None:
        start, depth, line, counted = 0, 0, self.line, 0
        for mark in _MARKS.finditer(text):
            at, character = mark.start(), mark[0]
            if character in "{}" and text[start:at].strip() == "":
                if character == "{":
                    self.scopes.append({})
                else:
                    self.scopes.pop()
                start = at + 1
            elif character in "{[(":
                depth += 1
            elif character in "}])":
                depth -= 1
            elif character == ":" and depth == 0 and (label := _LABEL.fullmatch(text[start : at + 1])):
                self.labels[self._renamed(label[1])] = len(self.instructions)
                start = at + 1
            elif character == ";" and depth == 0:
                statement = text[start:at]
                begin = start + len(statement) - len(statement.lstrip())
                line, counted = line + text.count("\n", counted, begin), begin
                self._statement(statement.strip(), line)
                start = at + 1
        if text[start:].strip():
            raise NotInterpreted(f"`{text[start:].strip()}`, which no semicolon ends")

    def _statement(self, text: str, line: int) -> None:
        flat = " ".join(text.split())
        if text.startswith("."):
            directive = re.match(r"\.\w+", text)
            match directive[0] if directive else "":
                case ".reg" | ".param":
                    self._declare(flat)
                case ".shared" | ".local" | ".const" | ".global":
                    self.arrays.append(_array(text))
                case ".pragma" | ".loc" | ".maxntid" | ".minnctapersm" | ".reqntid":
                    pass
                case _:
                    raise NotInterpreted(f"`{flat}` (line {line})")
            return
        found = _INSTRUCTION.match(flat)
        if found is None:
            raise NotInterpreted(f"`{flat}` (line {line})")
        guard = None if found[2] is None else Name(self._renamed(found[2]), bool(found[1]))
        operands = tuple(self._operand(part) for part in _parts(found[4]))
        self.instructions.append(Instruction(tuple(found[3].split(".")), operands, guard, line, flat))

    def _declare(self, text: str) -> None:
        if len(self.scopes) == 1:
            return
        for name in re.findall(r"[%$\w]+(?=\s*(?:,|$))", text.split(None, 2)[2]):
            self.count += 1
            self.scopes[-1][name] = f"{name}@{self.count}"

    def _renamed(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def _operand(self, text: str) -> Operand:
        if text[0] in "{(":
            items = tuple(self._operand(part) for part in _parts(text[1:-1]))
            return Group(tuple(item for item in items if isinstance(item, Name | Immediate)))
        if text.startswith("["):
            base, _, offset = text[1:-1].partition("+")
            return Address(self._renamed(base.strip()), int(offset.strip() or "0", 0))
        if re.match(r"-?\d", text):
            return _number(text)
        negated = text.startswith("!")
        base, _, offset = text.lstrip("!").strip().partition("+")
        return Name(self._renamed(base.strip()), negated, int(offset.strip() or "0", 0))


def _parts(text: str) -> list[str]:
    """Split operands at commas, and at the bar between a result and its predicate, outside brackets.

    >>> _parts("%r1|%p2, {%r3, %r4}, [%rd1+4]")
    ['%r1', '%p2', '{%r3, %r4}', '[%rd1+4]']
    """
    parts, depth, part = [], 0, ""
    for character in text:
        depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(character, 0)
        if character in ",|" and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    return [*parts, part.strip()] if part.strip() else parts


def _number(text: str) -> Immediate:
    if text[:2].lower() == "0f":
        return Immediate(int(text[2:], 16), 32)
    if text[:2].lower() == "0d":
        return Immediate(int(text[2:], 16), 64)
    return Immediate(int(text.rstrip("U"), 0) & (1 << 64) - 1, 0)
