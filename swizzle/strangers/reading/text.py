"""The text of somebody's CUDA file: its kernels and functions, and the headers of its own.

The text is read by its brackets and words, not by C++'s grammar: what is not recognised is left as it is, and refused
where it would have to be changed. What a compiler made of the text has the last word on everything (`proof.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Literal
from zlib import crc32

from msgspec import Struct

from cuda_out.compile.toolchain import Tool
from symbolic.errors import Place, SwizzleError

MOST_BYTES: Final = 1 << 20
"""As long as a file or a header of it may be."""
_HIDDEN: Final = re.compile(
    r'\b(?:u8|[uUL])?R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"'
    r"|\.?\b\d(?:\'?\w|\.|(?<=[eEpP])[+-])*|//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)"
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
    re.S,
)
_DIRECTIVE: Final = re.compile(r"^[ \t]*(?:\#|%:|\?\?=)(?:[^\n\\]|\\(?:[ \t\r]*\n)?)*", re.M)
READ: Final = re.compile(
    r"[<\"](?:cuda_(?:fp4|fp6|fp8|fp16|bf16|pipeline|pipeline_primitives|awbarrier|awbarrier_primitives)\.h|mma\.h"
    r"|math_constants\.h|cuComplex\.h|cooperative_groups(?:/\w+)?\.h|(?:cuda|cub|nv)/[\w/.]+)[>\"]"
)
"""The headers of CUDA that NVRTC reads; they are the compiler's own."""
_LIBRARIES: Final = re.compile(
    r"\"(?:cuda|cuda_runtime|cuda_runtime_api|device_launch_parameters|device_functions|device_atomic_functions"
    r"|vector_types|vector_functions|math_functions|cuda_device_runtime_api|driver_types|texture_types"
    r"|assert|ctype|errno|float|limits|math|memory|signal|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|time)\.h\""
)
"""Headers of libraries that people name in quotes; nothing of them is missed that a kernel needs."""
_SUFFIXES: Final = frozenset(
    (".h", ".hh", ".hpp", ".hxx", ".cuh", ".cu", ".inl", ".inc", ".ipp", ".impl", ".def", ".c", ".cc", ".cpp")
)
"""What the file of a header is called: no other file is read for an `#include`."""
INTEGERS: Final = (
    "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t; "
    "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; "
    "typedef unsigned long long uint64_t; typedef unsigned long long uintptr_t;"
)
_TYPE: Final = re.compile(r"\s*(?:typedef\s+)?(?:struct|class|union|enum)\b")
_TEMPLATE: Final = re.compile(r"\s*template\s*<")
_BRACKET: Final = re.compile(r"[()\[\]{}]")
_SUBSCRIPT: Final = re.compile(r"\s*\[")
WORD: Final = re.compile(r"[A-Za-z_]\w*")


class SpelledParameter(Struct, frozen=True):
    """A parameter of a kernel as it is spelled: its type without the name, and the name."""

    type: str
    name: str


class CudaKernel(Struct, frozen=True):
    """A kernel: from where to where it stands, and its parameters. `template` says that it is one of many."""

    name: str
    begin: int
    body: int
    end: int
    line: int
    parameters: tuple[SpelledParameter, ...]
    template: bool


class SpelledFunction(Struct, frozen=True):
    """A function for the GPU: from where to where it stands, where each parameter is spelled, and where its template's
    parameters end, 0 if it is no template."""

    name: str
    begin: int
    end: int
    parameters: tuple[tuple[int, int], ...]
    template_end: int


class TopEntity(Struct, frozen=True):
    """What stands at the top level: from where to where, and where its body begins, -1 for none. What is `broken` has
    brackets that do not match, and ends where a line begins with a brace."""

    kind: Literal["function", "statement", "broken"]
    begin: int
    body: int
    end: int


class CudaText:
    """A file's text; `code` is the text with comments, strings and directives as blanks, each in its place.

    `includes` are the folders of its own headers, besides its own folder, and `defines` its macros, `NAME=VALUE`.
    """

    def __init__(
        self,
        path: str,
        text: str,
        includes: Sequence[str] = (),
        defines: Sequence[str] = (),
        root: CudaText | None = None,
    ) -> None:
        self.path, self.text, self.root = path, text, root or self
        self.includes, self.defines = tuple(includes), tuple(defines)
        self.tool: Tool | None = None  # the compiler that reads it, as soon as one has
        self.helped: bool | None = None  # whether it needed help: what it does not name left out, more headers
        self.missing: set[str] = root.missing if root else set()  # the headers that no compiler finds
        plain = _HIDDEN.sub(_blank, text)
        self.directives = [(match.start(), match.end()) for match in _DIRECTIVE.finditer(plain)]
        self.plain = plain
        self.code = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), plain)
        self.mistakes: list[tuple[int, int, SwizzleError]] = []  # what is broken, from where to where
        self.entities = list(self._entities())
        self.left_out: list[str] = []

    def altered(self, text: str) -> CudaText:
        """Return another text of this file, to be compiled as this one is."""
        found = CudaText(self.path, text, self.includes, self.defines)
        found.tool, found.helped, found.missing = self.tool, self.helped, self.missing
        return found

    def with_options(self, includes: Sequence[str], defines: Sequence[str]) -> CudaText:
        """Return this text with more folders of headers and macros, which yield to those that it has."""
        if not includes and not defines:
            return self
        return CudaText(self.path, self.text, (*self.includes, *includes), (*defines, *self.defines))

    # -- headers -----------------------------------------------------------------------------------------------------

    def header(self, name: str) -> str:
        """Return the file of a header of one's own, which an `#include` names with its quotes; '' for others.

        CUDA's own headers are none, also where a build names their folder.
        """
        bare, quoted = name[1:-1], name.startswith('"')
        folders = [*([str(Path(self.path).parent)] if quoted else []), *self.includes]
        if Path(bare).suffix in _SUFFIXES and not Path(bare).is_absolute() and (quoted or not READ.fullmatch(name)):
            for folder in folders:
                if Path(folder, "cuda_runtime.h").is_file():
                    continue
                if (file := Path(folder, bare)).is_file():
                    return str(file.resolve())
        return ""

    @cached_property
    def headers(self) -> dict[str, CudaText]:
        """The headers of one's own that this file includes, and those that they include, by their files."""
        if self.root is not self:
            return self.root.headers
        found: dict[str, CudaText] = {}
        waiting: list[CudaText] = [self]
        while waiting:
            text = waiting.pop()
            for begin, end in text.directives:
                file = text.header(text.included(begin, end))
                if file and file not in found and (said := _read(file)) is not None:
                    found[file] = CudaText(file, said, self.includes, self.defines, self)
                    waiting.append(found[file])
        return found

    def included(self, begin: int, end: int) -> str:
        """Return the name of a header with its quotes, '' where a directive is no `#include` or a macro has it."""
        said = re.sub(r"\\[ \t\r]*\n", "", self.text[begin:end])
        named = re.match(r"\s*(?:#|%:|\?\?=)\s*include\s*(<[^>\n]*>|\"[^\"\n]*\")", said)
        return named[1] if named else ""

    def place(self, begin: int, end: int = 0) -> Place:
        """Return where an offset stands in the file."""
        line = self.text.count("\n", 0, begin)
        column = begin - self.text.rfind("\n", 0, begin)
        return Place(self.path, line + 1, column, column + max(1, end - begin))

    def line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    # -- the top level -----------------------------------------------------------------------------------------------

    def _entities(self) -> Iterator[TopEntity]:
        """Yield functions and statements of the top level, of namespaces and of `extern "C"` blocks."""
        at = 0
        while at < len(self.code):
            found = self._entities_from(at)
            try:
                for entity in found:
                    at = entity.end
                    yield entity
                return
            except SwizzleError as error:
                end = re.compile(r"^\}[^\S\n]*;?", re.M).search(self.code, at)
                if end is None:
                    raise
                self.mistakes.append((at, end.end(), error))
                yield TopEntity("broken", at, -1, end.end())
                at = end.end()

    def _entities_from(self, at: int) -> Iterator[TopEntity]:
        code, begin = self.code, at
        while at < len(code):
            mark = code[at]
            if mark in "([":
                at = self.closing(at) + 1
            elif mark == ";":
                yield TopEntity("statement", begin, -1, at + 1)
                at = begin = at + 1
            elif mark == "}":
                at = begin = at + 1
            elif mark == "{":
                head = code[begin:at]
                if re.fullmatch(r'\s*(?:extern\s*"[^"]*"|(?:inline\s+)?namespace\b[\w\s:]*)\s*', head):
                    at = begin = at + 1
                    continue
                end = self.closing(at) + 1
                if (
                    "(" in head
                    and not re.search(r"=\s*$", head)
                    and not _TYPE.match(self.code, self.behind_templates(begin), at)
                ):
                    yield TopEntity("function", begin, at, end)
                    begin = end
                at = end
            else:
                at += 1

    def behind_templates(self, at: int) -> int:
        """Return where a declaration goes on behind `template <...>`, whose parameters may be templates."""
        while match := _TEMPLATE.match(self.code, at):
            at = self._angles_end(match.end()) + 1
        return at

    def closing(self, opening: int) -> int:
        """Return where the bracket closes that opens at an offset, or the end of the text."""
        pairs = {"(": ")", "[": "]", "{": "}"}
        waiting = [opening]
        for match in _BRACKET.finditer(self.code, opening + 1):
            if match[0] in pairs:
                waiting.append(match.start())
            elif pairs[self.code[waiting[-1]]] != match[0]:
                break
            else:
                waiting.pop()
                if not waiting:
                    return match.start()
        opening = waiting[-1]
        raise SwizzleError(
            f"`{self.code[opening]}` is not closed", place=self.place(opening), expected="CUDA C++",
            fix="close it; a bracket that a macro closes is not seen",
        )  # fmt: skip

    def head(self, entity: TopEntity) -> str:
        return self.code[entity.begin : entity.body if entity.body >= 0 else entity.end]

    def annotated(self, head: str) -> bool:
        """Say whether a function is one for the GPU, or for both."""
        return any(word == "constexpr" or word in self.annotations for word in WORD.findall(head))

    @cached_property
    def annotations(self) -> set[str]:
        """The macros that stand for `__device__` or `__global__`."""
        if self.root is not self:
            return self.root.annotations
        defined = {}
        for text in (self, *self.headers.values()):
            for begin, end in text.directives:
                define = re.match(r"\s*#\s*define\s+(\w+)(.*)", text.plain[begin:end], re.S)
                if define:
                    defined[define[1]] = set(WORD.findall(define[2]))
        found = {"__device__", "__global__"}
        while more := {name for name, words in defined.items() if words & found} - found:
            found |= more
        return found

    def kernels(self) -> list[CudaKernel]:
        """Return the kernels that have a body, in order."""
        found = []
        for entity in self.entities:
            head = self.head(entity)
            if entity.kind != "function" or not re.search(r"\b__global__\b", head):
                continue
            bare = re.sub(
                r"\b(?:__launch_bounds__|__cluster_dims__|__block_size__|__align__|alignas)\s*\(", _same, head
            )
            opening = self._parameters_at(entity, bare)
            if opening is None:
                continue
            name = re.search(r"([A-Za-z_]\w*)\s*$", self.code[entity.begin : opening])
            if name is not None:
                at, inside = entity.begin + name.start(), (opening + 1, self.closing(opening))
                begin = entity.begin + len(head) - len(head.lstrip())
                template = re.match(r"\s*template\b", head) is not None
                parts = begin, entity.body + 1, entity.end, self.line(at), self._parameters(*inside)
                found.append(CudaKernel(name[1], *parts, template))
        return found

    def _parameters_at(self, entity: TopEntity, bare: str) -> int | None:
        """Return where the parameters begin: the last bracket that opens at the top of a function's head."""
        at, found = entity.begin, None
        while at < entity.begin + len(bare):
            if bare[at - entity.begin] == "(":
                found = at
                at = self.closing(at)
            elif self.code[at] in "([":
                at = self.closing(at)
            at += 1
        return found

    def _parameters(self, begin: int, end: int) -> tuple[SpelledParameter, ...]:
        found = []
        for first, last in self.split(begin, end):
            text = self.code[first:last].split("=")[0]
            bare = re.sub(r"\b(?:__restrict__|__restrict|__grid_constant__|volatile)\b", " ", text)
            name = re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)?$", bare)
            if name is None or not bare[: name.start()].strip():
                found.append(SpelledParameter(" ".join(bare.split()), ""))
            else:
                star = "*" if "[" in bare[name.start() :] else ""
                spelled = " ".join((bare[: name.start()] + star).split()).replace(" *", "*")
                found.append(SpelledParameter(spelled, name[1]))
        return tuple(found) if self.code[begin:end].strip() not in ("", "void") else ()

    def split(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Return the parts between commas that stand in no bracket, those of templates included."""
        found, at, first, angles = [], begin, begin, 0
        while at < end:
            mark = self.code[at]
            if mark in "([{":
                at = self.closing(at)
            elif mark == "<":
                angles += 1
            elif mark == ">" and angles:
                angles -= 1
            elif mark == "," and not angles:
                found.append((first, at))
                first = at + 1
            at += 1
        return [*found, (first, end)]

    # -- what is compiled --------------------------------------------------------------------------------------------

    @property
    def is_slow_to_compile(self) -> bool:
        """Whether the file includes headers that take a compiler a second."""
        slow = re.compile(r"#\s*include\s*[<\"](?:cooperative_groups|mma|cuda_pipeline|cuda/|cub/)")
        return self.tool == "nvcc" or any(slow.search(each.text) for each in (self, *self.headers.values()))

    @property
    def headers_left_out(self) -> list[str]:
        texts = (self, *self.headers.values())
        return [name for text in texts for name in text.left_out if name != INTEGERS]

    @property
    def own_headers_left_out(self) -> list[str]:
        """The headers that are not of any library: what they define may make another kernel of the file."""
        return [
            name
            for name in dict.fromkeys(self.headers_left_out)
            if name[1:-1] in self.missing or (name.startswith('"') and not _LIBRARIES.fullmatch(name))
        ]

    def structures(self) -> set[str]:
        """Return the names of structures."""
        return set(
            re.findall(r"\b(?:struct|class)\s+(?:__align__\s*\(\w+\)\s*)?(\w+)\s*(?::[^{;]*)?\{", self.code)
        ) | set(re.findall(r"\btypedef\s+struct\b[^{;]*\{[^{}]*\}\s*(\w+)", self.code))

    def owner(self, at: int) -> tuple[str, int]:
        for entity in self.entities:
            if entity.begin <= at < entity.end:
                head = self.head(entity)
                start = entity.begin + len(head) - len(head.lstrip())
                if entity.kind == "function" and at >= entity.body:
                    opening = self._parameters_at(entity, re.sub(r"\b__launch_bounds__\s*\(", _same, head))
                    name = opening and re.search(r"([A-Za-z_]\w*)\s*$", self.code[entity.begin : opening])
                    return (name[1] if name else ""), start
                return "", start
        return "", 0

    def subscripted(self, at: int) -> tuple[list[tuple[int, int]], int]:
        """Return the insides of the subscripts that follow a name, and where the last of them ends."""
        found = []
        while opening := _SUBSCRIPT.match(self.code, at):
            close = self.closing(opening.end() - 1)
            found.append((opening.end(), close))
            at = close + 1
        return found, at

    def device_functions(self) -> Iterator[SpelledFunction]:
        """Yield the functions for the GPU that have a body and are no kernels."""
        for entity in self.entities:
            head = self.head(entity)
            if entity.kind != "function" or re.search(r"\b__global__\b", head) or not self.annotated(head):
                continue
            opening = self._parameters_at(entity, head)
            name = opening and re.search(r"([A-Za-z_]\w*)\s*$", self.code[entity.begin : opening])
            if opening is None or not name:
                continue
            begin = entity.begin + len(head) - len(head.lstrip())
            angles = _TEMPLATE.match(self.code, begin)
            parts = self.split(opening + 1, self.closing(opening))
            behind = self._angles_end(angles.end()) if angles else 0
            yield SpelledFunction(name[1], begin, entity.end, tuple(parts), behind)

    def _angles_end(self, at: int) -> int:
        """Return where the `>` stands that closes the parameters of a template."""
        depth = 1
        for match in re.compile(r"[<>]").finditer(self.code, at):
            depth += 1 if match[0] == "<" else -1
            if depth == 0:
                return match.start()
        return len(self.code)

    def others_with(self, names: set[str], kernel: CudaKernel) -> list[CudaKernel]:
        """Return the other kernels that may use what has some names, or what uses it."""
        named = [(self._named(each), each) for each in self.entities]
        while more := {
            name
            for name, each in named
            if name and name not in names and self._mentions(max(each.begin, each.body), each.end, names)
        }:
            names = names | more
        return [each for each in self.kernels() if each.begin != kernel.begin and each.name in names]

    def _named(self, entity: TopEntity) -> str:
        """Return the name of a function or a structure."""
        if entity.kind == "function":
            return self.owner(entity.body)[0]
        match = re.search(r"\b(?:struct|class|union)\s+(\w+)", self.code[entity.begin : entity.end])
        return match[1] if match else ""

    def _mentions(self, begin: int, end: int, names: set[str]) -> bool:
        return re.search(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b", self.code[begin:end]) is not None


def shown_as(file: str) -> str:
    """Return the name under which a compiler is shown a header of one's own.

    >>> shown_as("/home/me/include/own.h")
    'header_31a0b7a4/own.h'
    """
    return f"header_{crc32(str(Path(file).parent).encode()):08x}/{Path(file).name}"


def _read(file: str) -> str | None:
    """Return the text of a header, None for one that no compiler reads either."""
    try:
        if Path(file).stat().st_size > MOST_BYTES:
            return None
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _blank(match: re.Match[str]) -> str:
    """Return as many blanks as a comment or string is long; numbers stay, and the quotes of strings."""
    text = match[0]
    if text.lstrip(".")[:1].isdigit():
        return text
    if text[0] in "\"'uULR":
        return text[-1] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1]
    return re.sub(r"[^\n]", " ", text)


def _same(match: re.Match[str]) -> str:
    """Return as many characters, without a bracket that opens parameters."""
    return re.sub(r"\(", "[", match[0])


def replaced(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """Return a text with some parts, which do not overlap, replaced."""
    for begin, end, new in sorted(changes, reverse=True):
        text = text[:begin] + new + text[end:]
    return text
