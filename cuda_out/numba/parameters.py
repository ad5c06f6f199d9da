"""The PTX of a kernel for numba.cuda with the parameters of one in CUDA C++: pointers and lengths.

numba passes an array as words: its owner twice, the number of elements, the bytes of one, the address, the extents, and
the bytes from one to the next along each dimension. A kernel for arrays whose elements lie together, the last index
first, reads of these the address and the extents, which are computed from the lengths here. Nothing else is changed,
but that the sign of an index is asked for by a comparison: what was shifted right by 63 is the same.
"""

from __future__ import annotations

import re
from typing import Final

from cuda_out.ptx.syntax import NotInterpreted
from cuda_out.tiling.tiling import Tiling
from symbolic.ir.program import Parameter, Program


def with_lengths(ptx: str, entry: str, program: Program, tiling: Tiling | None) -> str:
    """Return a module whose only kernel is called `entry`, and takes an address or a number for each of the program's
    parameters, and the lengths of the tiling; raises NotInterpreted for one that is not like numba's."""
    return _Module(ptx, entry, program, tiling).text()


_DECLARED: Final = re.compile(r"\.param\s+\.(\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)?\.align\s+\d+\s+)?(\w+)")

_COMMON: Final = re.compile(r"^\.common \.global [^;]*?(\w+);\n", re.MULTILINE)
"""What numba keeps for a host that asks for errors, and no kernel looks at."""


class _Module:
    def __init__(self, ptx: str, entry: str, program: Program, tiling: Tiling | None) -> None:
        found = re.search(r"\.entry\s+(\w+)\(([^)]*)\)([^{]*)\{", ptx)
        if found is None:
            raise NotInterpreted("a module without a kernel of numba's")
        self.ptx, self.found, self.entry, self.tiling = ptx, found, entry, tiling
        self.parameters = program.parameters
        self.lengths = list(tiling.declared) if tiling else []
        self.signs = 0
        declared: list[tuple[str, str]] = re.findall(
            r"\.param\s+\.(\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)?\.align\s+\d+\s+)?(\w+)", found[2]
        )
        words = [(number, word) for number, p in enumerate(self.parameters) for word in _words(p)]
        if len(words) != len(declared):
            raise NotInterpreted(f"a kernel of {len(declared)} words, where numba passes {len(words)}")
        self.words = {name: word for (_, name), word in zip(declared, words, strict=True)}
        numbers = {number: kind for (kind, _), (number, word) in zip(declared, words, strict=True) if word == "number"}
        kinds = [numbers.get(number, "u64") for number in range(len(self.parameters))] + ["u64"] * len(self.lengths)
        self.given = [f".param .{kind} {self._given(number)}" for number, kind in enumerate(kinds)]

    def text(self) -> str:
        behind = self.ptx[self.found.end() :]
        before = _COMMON.sub(lambda of: of[0] * (self.ptx.count(of[1]) > 1), self.ptx[: self.found.start()])
        end = re.search(r"^\}", behind, re.MULTILINE)
        body, rest = (behind[: end.start()], behind[end.start() :]) if end else (behind, "")
        body = re.sub(r"ld\.param\.(\w+)\s+(%\w+), \[(\w+)\];", self._load, body)
        body = re.sub(r"shr\.s64\s+(%\w+), (%\w+), 63;", self._sign, body)
        registers = f".reg .pred %sign<{self.signs + 1}>;"
        return f"{before}.entry {self.entry}(\n{','.join(self.given)}\n){self.found[3]}{{\n{registers}\n{body}{rest}"

    def _given(self, number: int) -> str:
        return f"{self.entry}_given_{number}"

    def _load(self, match: re.Match[str]) -> str:
        kind, register, name = match.groups()
        if name not in self.words:  # what a function returns
            return match[0]
        number, word = self.words[name]
        p = self.parameters[number]
        if word in ("number", "address"):
            return f"ld.param.{kind} {register}, [{self._given(number)}];"
        if word.isdecimal():
            return self._extent(register, p, int(word))
        raise NotInterpreted(f"{match[0]}, {word} of {p.name}")

    def _extent(self, register: str, p: Parameter, dimension: int) -> str:
        span = self.tiling.spans[p.name][dimension] if self.tiling else None
        if span is None:
            return f"mov.u64 {register}, {p.shape[dimension]};"
        length = self._given(len(self.parameters) + self.lengths.index(span.axis))
        scaled = f" mul.lo.s64 {register}, {register}, {span.scale};" if span.scale != 1 else ""
        moved = f" add.s64 {register}, {register}, {span.halo};" if span.halo else ""
        return f"ld.param.u64 {register}, [{length}];{scaled}{moved}"

    def _sign(self, match: re.Match[str]) -> str:
        register, value = match.groups()
        sign = f"%sign{self.signs}"
        self.signs += 1
        return f"setp.lt.s64 {sign}, {value}, 0; selp.b64 {register}, -1, 0, {sign};"


def _words(p: Parameter) -> list[str]:
    """Return what the words of a parameter are: extents by their numbers."""
    if p.is_scalar:
        return ["number"]
    strides = ["the distance of elements"] * len(p.shape)
    return [*["the owner"] * 2, "the number of elements", "the size of an element", "address",
            *map(str, range(len(p.shape))), *strides]  # fmt: skip
