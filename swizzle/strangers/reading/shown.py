"""What of a stranger's text a compiler is shown: one kernel and what is for the GPU, each line in its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from swizzle.strangers.reading.text import INTEGERS, READ, WORD, CudaKernel, CudaText, TopEntity, shown_as
from symbolic.errors import SwizzleError

_KEPT: Final = re.compile(
    r"\b(?:__device__|__constant__|__shared__|__global__|__managed__|typedef|using|struct|class|union|enum|template"
    r"|constexpr|static_assert|namespace)\b|\bconst\b[^*&]*="
)
_INSTANCE: Final = re.compile(r"\s*(?:extern\s+)?template\b(?!\s*<)")
_OF_STD: Final = re.compile(r"\s*using\s+(?:namespace\s+std\s*|std\s*::\s*\w+\s*);")


def for_device(
    text: CudaText,
    kernel: CudaKernel | None,
    added: Sequence[tuple[int, str]] = (),
    *,
    instances: bool = True,
    whole: bool = False,
    used: bool = False,
) -> str:
    """Return the text without host functions and other kernels; lines stay in place.

    Each text that is `added` stands before an offset of the file. `instances`: templates' explicit instances of
    kernels stay. Other headers than CUDA's and one's own are left out, too, but in a text that is `whole`, for a
    compiler that finds them. `used`: functions and types that the kernel does not name, directly or by what it
    names, are left out as well.
    """
    out = [*text.text, ""]

    def blank(begin: int, end: int) -> None:
        out[begin:end] = [c if c == "\n" else " " for c in out[begin:end]]

    wanted = _reached(text, kernel) if used and kernel is not None else None
    for entity in text.entities:
        head = text.head(entity)
        begin = entity.begin + len(head) - len(head.lstrip())
        if _is_left_out(text, entity, kernel, instances, whole) or (wanted is not None and entity not in wanted):
            blank(begin, entity.end)
    text.left_out = []
    for begin, end in text.directives:
        _directive(text, begin, end, out, whole)
    for at, more in added:
        out[at] = more + out[at]
    return "".join(out)


def _is_left_out(text: CudaText, entity: TopEntity, kernel: CudaKernel | None, instances: bool, whole: bool) -> bool:
    """Say whether a compiler for the GPU is not shown a function or statement of the top level."""
    head = text.head(entity)
    if entity.kind == "broken":
        return True
    if entity.kind == "function":
        other = "__global__" in head and not (kernel and entity.begin <= kernel.begin < entity.end)
        return other or not text.annotated(head)
    if _INSTANCE.match(head):  # of a class it makes nothing that its uses do not
        is_kernel = "__global__" in head or (kernel and re.search(rf"\b{kernel.name}\b", head))
        return not (instances and is_kernel)
    if not whole and _OF_STD.match(head):
        return True
    return not (_KEPT.search(head) or text.annotations.intersection(WORD.findall(head)))


def _reached(text: CudaText, kernel: CudaKernel) -> list[TopEntity]:
    """Return what a kernel may use: what it names, what that names in turn, and all that has no name of its own."""
    named = [(_declared(text, each), each) for each in text.entities]
    words = {word for begin, end in text.directives for word in WORD.findall(text.plain[begin:end])}
    for header in text.headers.values():
        words.update(WORD.findall(header.code))
    waiting, found = list(named), list[TopEntity]()
    while ready := [
        (name, each) for name, each in waiting if name in words or not name or each.begin <= kernel.begin < each.end
    ]:
        waiting = [each for each in waiting if each not in ready]
        for _, each in ready:
            found.append(each)
            words.update(WORD.findall(text.code[each.begin : each.end]))
    return found


def _directive(text: CudaText, begin: int, end: int, out: list[str], whole: bool) -> None:
    said = re.sub(r"\\[ \t\r]*\n", "", text.plain[begin:end])
    words = re.match(r"\s*(?:#|%:|\?\?=)\s*(\w*)", said)
    assert words is not None
    if words[1] in ("import", "embed", "include_next"):
        raise SwizzleError(
            f"#{words[1]}", place=text.place(begin + len(said) - len(said.lstrip())),
            expected="a kernel's own text", fix="put what the kernel needs into this file",
        )  # fmt: skip
    if words[1] != "include":
        return
    name = text.included(begin, end) or "a header"
    file = text.header(name)
    if not file and (READ.fullmatch(name) or whole) and name[1:-1] not in text.missing:
        return
    for at in range(begin, end):
        if out[at] != "\n":
            out[at] = " "
    if file and (whole or file in text.headers):
        out[begin] = f'#include "{shown_as(file) if file in text.headers else file}"'
    elif name[1:-1] in ("stdint.h", "cstdint", "inttypes.h", "cinttypes"):
        out[begin] = INTEGERS if INTEGERS not in text.left_out else " "
        text.left_out.append(INTEGERS)
    else:
        text.left_out.append(name)


def helps(text: CudaText) -> list[str]:
    """The headers of CUDA that have a type which this file or a header of its own names."""
    texts = " ".join(each.code for each in (text, *text.headers.values()))
    found = {
        "cuda_fp16.h": r"half2?|__half2?",
        "cuda_bf16.h": r"(?:__)?nv_bfloat162?",
        "cuda_fp8.h": r"__nv_fp8\w+",
    }
    return [name for name, types in found.items() if re.search(rf"\b(?:{types})\b", texts)]


def _declared(text: CudaText, entity: TopEntity) -> str:
    """Return the only name that a function or a type is known by, '' where there may be others."""
    if entity.kind == "function":
        return text.owner(entity.body)[0]
    begin = text.behind_templates(entity.begin)
    typed = re.compile(r"\s*(?:struct|class)\s+(?:(?:__align__|alignas)\s*\(\w+\)\s*)?(\w+)\s*[^;{}()]*\{")
    match = typed.match(text.code, begin, entity.end)
    if match:
        return match[1] if text.code[text.closing(match.end() - 1) + 1 : entity.end].strip() == ";" else ""
    forms = (
        r"[^=;{}()]*[\w&*>]\s+[&*]*(\w+)\s*\([^=;{}]*\)\s*;",  # a function that is declared
        r"\s*using\s+(\w+)\s*=[^;]*;",
        r"\s*typedef\b[^;{}()\[\]]*\b(\w+)\s*;",
        r"(?:[^=;{}()]*[\w&*>]\s+[&*]*)(\w+)\s*(?:\[[^\]]*\]\s*)*=[^;]*;",  # a variable
    )
    matches = (re.compile(form).fullmatch(text.code, begin, entity.end) for form in forms)
    return next((match[1] for match in matches if match), "")
