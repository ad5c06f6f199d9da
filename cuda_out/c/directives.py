"""Words that let one compiler read another text than the next: conditions of the preprocessor and what they ask for.

A text is compiled, validated and run as NVRTC and the host's compiler read it. What nvcc reads, or what is read for an
architecture that was not tried, must be the same, so a text may ask for none of that outside its host function.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from cuda_out.c.kernel_text import kernel_extent

_GUARD: Final = "if defined(__CUDACC__) && !defined(__CUDACC_RTC__)"
_PLAIN: Final = re.compile(
    r"pragma once|pragma unroll(\s*\(?\s*\d+\s*\)?)?|include <cuda_(fp16|bf16)\.h>|(define|undef)\b.*"
)
_HIDDEN: Final = re.compile(
    r'\.?\b\d(?:\'?\w|\.|(?<=[eEpP])[+-])*|//(?:\\\r?\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
    re.S,
)
_ASKS: Final = re.compile(
    r"\b(__[A-Z]\w*|_[A-Z]\w*|__(?:cplusplus|has_\w+|cuda\w*|clang\w*|gnu\w*|nv\w*|linux\w*|unix\w*|x86\w*|builtin\w*)"
    r"|if_target|NV_\w+|linux|unix)\b|\b(?:u8|[uUL])?R(?=\")"
)


class Directive(Struct, frozen=True):
    """What stands on a line of a text, and why it may mean something else elsewhere."""

    line: int
    column: int
    words: str
    why: str


def asks_for_its_reader(text: str, entry: str) -> Directive | None:
    """Return the first words of a text by which it may be another text for another compiler, None for none.

    The host function, behind the kernel, stands between `#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)` and
    `#endif`.
    """
    # A number is kept: what stands between the quotes of 1'000'000 is no character. A raw string is refused, as it ends
    # elsewhere than a string would.
    plain = _HIDDEN.sub(lambda m: m[0] if m[0].lstrip(".")[:1].isdigit() else re.sub(r"[^\n\"']", " ", m[0]), text)
    # A line that ends in a backslash goes on in the next one; both keep their places.
    plain = re.sub(r"\\[ \t\r]*\n", lambda match: " " * (len(match[0]) - 1) + "\f", plain)
    kernel_end, inside, at = kernel_extent(text, entry)[1], False, 0
    for line in plain.split("\n"):
        begin, at = at, at + len(line) + 1
        directive = re.match(r"\s*(?:#|%:|\?\?=)\s*(.*)", line.replace("\f", " "))
        said = " ".join(directive[1].split()) if directive else ""
        if directive is None:
            pass
        elif said == _GUARD and not inside and begin > kernel_end:
            inside = True
            continue
        elif said == "endif" and inside:
            inside = False
            continue
        elif inside or not _PLAIN.fullmatch(said):
            where = "in the host function" if inside else "where one compiler may read another text than the next"
            return _asked(text, begin + len(line) - len(line.lstrip()), f"#{said}", f"a directive {where}")
        if asked := _ASKS.search(line):
            raw = asked[0].endswith("R") and plain[begin + asked.end() :].startswith('"')
            why = (
                "a raw string, in which a directive may hide"
                if raw
                else "a name that compilers define, each in its way"
            )
            return _asked(text, begin + asked.start(), asked[0], why)
        if inside and (kind := re.search(r"\b__(?:global|device|constant|shared)__\b", line)):
            return _asked(text, begin + kind.start(), kind[0], "code for the GPU that NVRTC does not see")
    return None


def _asked(text: str, at: int, words: str, why: str) -> Directive:
    before = text[:at]
    return Directive(before.count("\n") + 1, at - before.rfind("\n"), words, why)
