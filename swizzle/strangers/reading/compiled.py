"""What a compiler makes of a stranger's text: PTX whose instructions have the lines of the file.

NVRTC is shown what is for the GPU: it is fast, and comes with this package, but has no headers of C++ and of the
machine. Where that does not compile, nvcc is shown the same with all headers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from cuda_out.compile.opaque import with_called_functions, with_standard_names
from cuda_out.compile.toolchain import (
    ByHand,
    CompileError,
    Resources,
    Tool,
    available_tools,
    compile_to_ptx,
    resources_of,
)
from cuda_out.ptx.reading.parse import parse
from cuda_out.ptx.syntax import Kernel, NotInterpreted
from swizzle.strangers.reading.shown import for_device, helps
from swizzle.strangers.reading.text import INTEGERS, CudaKernel, CudaText, shown_as
from symbolic.errors import Place, SwizzleError

Made = TypeVar("Made")
ARCHITECTURES: Final = ("sm_80", "sm_90")
"""What is compiled for: the first that the text compiles for."""
_LIMITS: Final = {
    "INFINITY": " __int_as_float(0x7f800000)", "NAN": " __int_as_float(0x7fffffff)",
    "HUGE_VALF": " __int_as_float(0x7f800000)", "FLT_MAX": " 3.402823466e+38f", "FLT_MIN": " 1.175494351e-38f",
    "FLT_EPSILON": " 1.192092896e-07f", "DBL_MAX": " 1.7976931348623158e+308", "DBL_MIN": " 2.2250738585072014e-308",
    "DBL_EPSILON": " 2.2204460492503131e-16", "INT_MAX": " 2147483647", "INT_MIN": " (-2147483647 - 1)",
    "UINT_MAX": " 4294967295u", "LLONG_MAX": " 9223372036854775807ll", "CHAR_BIT": " 8",
    "M_E": " 2.7182818284590452354", "M_LOG2E": " 1.4426950408889634074", "M_LOG10E": " 0.43429448190325182765",
    "M_LN2": " 0.69314718055994530942", "M_LN10": " 2.30258509299404568402", "M_PI": " 3.14159265358979323846",
    "M_PI_2": " 1.57079632679489661923", "M_PI_4": " 0.78539816339744830962", "M_1_PI": " 0.31830988618379067154",
    "M_2_PI": " 0.63661977236758134308", "M_2_SQRTPI": " 1.12837916709551257390",
    "M_SQRT2": " 1.41421356237309504880", "M_SQRT1_2": " 0.70710678118654752440",
    "SCHAR_MAX": " 127", "UCHAR_MAX": " 255", "SHRT_MAX": " 32767", "USHRT_MAX": " 65535", "LLONG_MIN":
    " (-9223372036854775807ll - 1)", "ULLONG_MAX": " 18446744073709551615ull", "INT8_MAX": " 127",
    "UINT8_MAX": " 255", "INT16_MAX": " 32767", "UINT16_MAX": " 65535", "INT32_MIN": " (-2147483647 - 1)",
    "INT64_MAX": " 9223372036854775807ll", "UINT64_MAX": " 18446744073709551615ull",
    "INT32_MAX": " 2147483647", "UINT32_MAX": " 4294967295u",
    "assert": "(condition) ((void)0)",
}  # fmt: skip
"""Macros and types of the headers of C and of its library, and what they stand for."""


class Undecided(Exception):
    """Why nothing can be said of a kernel."""


_STD: Final = ("algorithm", "cassert", "cfloat", "climits", "cmath", "cstdint", "cstdio", "limits", "type_traits")
_TYPES: Final = "typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong;\n"
"""Types that the headers of the machine have."""
_ERROR: Final = re.compile(
    r"^(?P<file>[^\s(:][^(:\n]*)(?:\((?P<line>\d+)\)|:(?P<at>\d+):\d+)\s*:\s*(?:catastrophic |fatal )?error\s*:?\s*"
    r"(?:#\S+:\s*)?(?P<what>[^\n]*)", re.M
)  # fmt: skip
_NOT_FOUND: Final = re.compile(r"fatal error: ([^\s:]+): No such file or directory")


def compiled(text: CudaText, kernel: CudaKernel, instance: str = "", added: Sequence[tuple[int, str]] = ()) -> str:
    """Return the PTX of one kernel of a file, with lines; raise SwizzleError at the first mistake's place.

    `instance` has the arguments of a template as they are spelled, `<32, float>`; `added` texts are put before offsets.
    A text that was compiled once keeps its compiler.
    """
    return _made(text, kernel, instance, added, compile_to_ptx)


def compiled_to_calls(text: CudaText, kernel: CudaKernel, instance: str = "") -> str:
    """Return the same, where functions of mathematics are calls (`cuda_out.compile.opaque`), if it compiles
    so: a text that gives their names to what is its own does not."""

    def to_calls(source: str, *given: Any, **options: Any) -> str:
        headers = tuple(options["by_hand"].headers.values())
        return compile_to_ptx(with_called_functions(source, headers), *given, **options)

    try:
        return _made(text, kernel, instance, (), to_calls)
    except SwizzleError:
        return compiled(text, kernel, instance)


def assembled(text: CudaText, kernel: CudaKernel, instance: str, ptx: str) -> Resources:
    """Return what ptxas says that a kernel takes which was compiled to PTX; raise Undecided where it refuses it."""
    target = re.search(r"^\s*\.target\s+(sm_\w+)", ptx, re.M)
    assert target is not None

    def taken(source: str, *given: Any, **options: Any) -> Mapping[str, Resources]:
        return resources_of(with_standard_names(source), *given, **options)

    try:
        found = _made(text, kernel, instance, (), taken, [target[1]])
    except SwizzleError as error:
        raise Undecided(
            f"ptxas does not take it: {error.found.removeprefix('the kernel does not compile: ')}"
        ) from None
    return next(resources for symbol, resources in found.items() if is_named(symbol, kernel.name))


def _made(
    text: CudaText, kernel: CudaKernel, instance: str, added: Sequence[tuple[int, str]], how: Callable[..., Made],
    architectures: Sequence[str] = ARCHITECTURES,
) -> Made:  # fmt: skip
    """Return what a compiler makes of one kernel, by `how` it is asked."""
    name = f"{kernel.name}{instance}"
    if instance:
        added = [*added, (kernel.end, f" template __global__ decltype({name}) {name};")]
    errors: dict[Tool, CompileError] = {}
    tools = available_tools() if text.tool is None else [text.tool]
    shown = partial(for_device, text, kernel, added, instances=not instance)
    for tool, helped in itertools.product(tools, (False, True) if text.helped is None else (text.helped,)):
        logs = []
        for architecture in architectures:
            before, source = _helps(text, tool) if helped else "", partial(shown, used=helped)
            try:
                made = (_by_nvcc if tool == "nvcc" else _by_nvrtc)(text, architecture, source, before, how)
            except CompileError as error:
                errors.setdefault(tool, error)
                logs.append(error.log)
            else:
                text.tool, text.helped = tool, helped
                return made
        if len(set(logs)) == 1:  # it is no matter of the architecture
            architectures = architectures[:1]
    if not tools:
        compile_to_ptx("")  # says that there is none
    raise _mistake(text, next(reversed(errors.values())))


def _helps(text: CudaText, tool: Tool) -> str:
    """Return what is put before a text that does not compile: headers that ones which are not read may bring along."""
    lines = [f"#include <{name}>" for name in helps(text)]
    if tool == "nvcc":
        return "\n".join([*(f"#include <{name}>" for name in _STD), *lines, '#line 1 "kernel.cu"\n'])
    return "\n".join([*lines, INTEGERS, '#line 1 "kernel.cu"\n'])


def _by_nvrtc(
    text: CudaText, architecture: str, shown: Callable[..., str], before: str, how: Callable[..., Made]
) -> Made:
    by_hand = ByHand(text.defines, headers=_headers(text, whole=False))
    return how(before + _with_limits(shown(whole=False)), architecture, by_hand=by_hand, tool="nvrtc")


def _by_nvcc(
    text: CudaText, architecture: str, shown: Callable[..., str], before: str, how: Callable[..., Made]
) -> Made:
    """Compile with the headers of the machine; what it does not find is left out, and said."""
    while True:
        by_hand = ByHand(text.defines, text.includes, _headers(text, whole=True))
        try:
            return how(before + shown(whole=True), architecture, by_hand=by_hand, tool="nvcc")
        except CompileError as error:
            absent = _NOT_FOUND.search(error.log)
            if absent is None or absent[1] in text.missing:
                raise
            text.missing.add(absent[1])


def _headers(text: CudaText, *, whole: bool) -> dict[str, str]:
    """Return the headers of a file's own, as a compiler is shown them, by the names that they have there."""
    return {shown_as(file): for_device(each, None, whole=whole) for file, each in text.headers.items()}


def _mistake(text: CudaText, error: CompileError) -> SwizzleError:
    """Return what a compiler found first, at its place in the file or in a header of it."""
    first, place = _ERROR.search(error.log), None
    what = first["what"] if first else error.log.strip().splitlines()[0]
    if first:
        line = int(first["line"] or first["at"])
        headers = {shown_as(file): (file, each.text) for file, each in text.headers.items()}
        file, read = next((headers[name] for name in headers if first["file"].endswith(name)), (text.path, text.text))
        lines = read.splitlines()
        word = re.search(r'"([^"]+)"', what)
        column = lines[line - 1].find(word[1]) + 1 if word and line <= len(lines) else 0
        place = Place(file, line, max(1, column))
    fixes = []
    if name := re.search(r"identifier \"([A-Z_]\w*)\" is undefined", what):
        fixes.append(f"-D {name[1]}=VALUE, if the build defines it")
    if left_out := list(dict.fromkeys(text.headers_left_out)):
        fixes.append(f"what it needs of {', '.join(left_out[:4])}, which is not read, belongs into this file")
        fixes.append("-I DIR, the folder of a header")
        if "nvcc" not in available_tools():
            fixes.append("install nvcc, which reads headers of C++")
    fix = "; or ".join(fixes) or "compile it by itself: nvcc -ptx"
    return SwizzleError(f"the kernel does not compile: {what}", place=place, expected="CUDA C++ for the GPU", fix=fix)


def _with_limits(source: str) -> str:
    """Return a text with those macros of the headers of C that it uses, and the types of the machine's."""
    used = [
        f"#ifndef {name}\n#define {name}{value}\n#endif\n"
        for name, value in _LIMITS.items()
        if re.search(rf"\b{name}\b", source)
        and not re.search(rf"#\s*define\s+{name}\b|\btypedef\b[^;]*\b{name}\s*;|\busing\s+{name}\b", source)
    ]
    types = [_TYPES] if re.search(r"\b(?:uint|ushort|ulong)\b", source) else []
    return "".join([*types, *used, '#line 1 "kernel.cu"\n', source]) if used or types else source


def code_of(ptx: str) -> str:
    """Return PTX without what it says of its source: comments, places, and what follows behind the code.

    >>> code_of('// by a compiler\\n\\t.loc 1 2 3\\n\\tret;\\n\\t.file 1 "a.cu"\\n.section .debug_str')
    'ret;'
    """
    lines = (line.split("//")[0].strip() for line in ptx.split("\n\t.file")[0].splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(".loc"))


def entry_of(ptx: str, kernel: CudaKernel, path: str = "kernel.cu", code: str = "") -> Kernel:
    """Return the kernel of a module that is compiled of one kernel's text, a file that `path` names; `code` is looked
    through for an instance of a template that is launched."""
    try:
        kernels = parse(ptx)
    except NotInterpreted as error:
        raise Undecided(refusal(path, ptx, str(error))) from None
    named = [found for symbol, found in kernels.items() if is_named(symbol, kernel.name)]
    kernels = {found.name: found for found in named} or kernels
    if len(kernels) != 1:
        instance = re.search(rf"\b{kernel.name}\s*(<[^<>;{{}}]*>)\s*<<<", code)
        raise SwizzleError(
            f"{kernel.name} is compiled to {len(kernels)} kernels" + (f": {', '.join(kernels)}" if kernels else ""),
            place=Place(path, kernel.line, 1),
            expected="one kernel: of a template, one instance",
            fix=f"--kernel '{kernel.name}{instance[1] if instance else '<...>'}'"
            if kernel.template
            else "-D NAME=VALUE for the #if that it stands in",
        )
    (found,) = kernels.values()
    if found.refused:
        raise Undecided(refusal(path, ptx, found.refused))
    return found


def is_named(symbol: str, name: str) -> bool:
    """Say whether a symbol of PTX is a function with a name of its own, in a namespace or not, or an instance.

    >>> is_named("_ZN3own4turnIfEEvPT_", "turn"), is_named("_Z5returnPf", "turn"), is_named("turn", "turn")
    (True, False, True)
    """
    at, last = re.match(r"(?:_ZN?K?)?", symbol).end(), symbol  # type: ignore[union-attr]
    while length := re.compile(r"L?(\d+)").match(symbol, at):
        at = length.end() + int(length[1])
        last = symbol[length.end() : at]
        if not symbol.startswith("_ZN"):
            break
    return last == name


_REFUSED: Final = {
    r"\b(?:tex|tld4|txq)\.": "a texture; hand the kernel an array, and read x[i] instead of tex1Dfetch, tex1D or tex2D",
    r"\b(?:suld|sust|sured|suq)\.": "a surface; hand the kernel an array, and read and write x[i]",
    r"\bwmma\.": "WMMA, whose fragments lie where the compiler wants: `swizzle prove` reads factors of one type; "
    "mma.sync and ldmatrix, in inline PTX, are read",
    r"\b(?:wgmma|tcgen05)\.": "a product of a warp group; mma.sync and ldmatrix are read",
    r"\bcp\.(?:reduce\.)?async\.bulk": "a copy by TMA; cp.async, as <cuda_pipeline.h> makes it, is read",
    r"\b(?:mbarrier|cp\.async\.mbarrier)\.": "an mbarrier, of cuda::barrier or of a pipeline that threads share; a "
    "pipeline of a thread (cuda::make_pipeline()), or __pipeline_wait_prior, with __syncthreads() is read",
    r"%(?:clock|clock64|clock_hi|globaltimer\w*)\b": "a clock, of which nothing is known; leave out what measures time",
    r"%(?:smid|nsmid|warpid|nwarpid|gridid)\b": "a number that the launch does not settle; make it of threadIdx",
    r"%(?:is_explicit_|n)?cluster|\bmapa\.|barrier\.cluster": "a cluster of blocks; blocks by themselves are read",
    r"where a number was expected": "a table of functions or of addresses; call functions by their names",
    r"%envreg": "a barrier of the whole grid (grid.sync()); a kernel for each part is read",
    r"a barrier for a part of the block|bar(?:rier)?(?:\.cta)?\.arrive": "a barrier that not all threads of the block "
    "wait at; __syncthreads() is read, and bar.sync that all reach",
    r"\b(?:malloc|free)\b": "memory that a kernel allocates; hand it an array",
    r"cudaLaunchDevice|cudaCDP|cudaGetParameterBuffer": "a kernel that a kernel launches; look at each by itself",
    r"\b(?:ld|st)\.(?:relaxed|acquire|release|mmio)": "an access that orders others; use __syncthreads() or atomics",
    r"\bcvt\.r[zmp]\.(?:sat\.)?b?f16": "a conversion to 16 bits away from the nearest; __float2half_rn(x) is read",
    r"depends on data": "an element decides; write c ? a : b where no branch or index is needed",
}
"""What is not read, and what to write instead."""


def refusal(path: str, ptx: str, message: str) -> str:
    """Return why a kernel is not interpreted: the instruction, what it is, what to write instead, its place."""
    why = in_source(ptx, message, instructions=True)
    helps = next((help_ for pattern, help_ in _REFUSED.items() if re.search(pattern, message)), "")
    number = re.search(r"\bline (\d+): ", message)
    line, column = own_place(ptx, int(number[1])) if number else ("", "")
    where = f" ({path}:{line}:{column})" if line else ""
    return f"not interpreted: {why}{helps and f': {helps}'}{where}"


def in_source(ptx: str, message: str, *, instructions: bool = False) -> str:
    """Return what is said of lines of PTX as said of the lines of the file that they come from.

    The instructions are left out, unless it is them that matter.

    >>> ptx = '.loc 1 7 3\\nst.f32 [%r1], %f2;\\n.file 1 "kernel.cu"'
    >>> in_source(ptx, "race (line 2: st.f32 [%r1], %f2)"), in_source(ptx, "line 2: st.f32", instructions=True)
    ('race (line 7)', 'line 7: st.f32')
    """
    lines = ptx.splitlines()
    said: dict[str, str] = {}
    for number in map(int, re.findall(r"\bline (\d+): ", message)):
        line, _ = own_place(ptx, number)
        where = f"line {line}" if line else "the compiler's own"
        text = " ".join(lines[number - 1].split("//")[0].strip().rstrip(";").split()) if number <= len(lines) else ""
        if text and not instructions:
            said[f"line {number}: {text}"] = where
        said[f"line {number}: "] = f"{where}: "
    return re.sub("|".join(map(re.escape, said)), lambda match: said[match[0]], message) if said else message


def in_words(ptx: str, message: str) -> str:
    """Return a message about PTX in the names and lines of the file."""
    return re.sub(r"\b_Z\w+", lambda match: own_name(match[0]), in_source(ptx, message))


def own_name(symbol: str) -> str:
    """Return the last name in a mangled one.

    >>> own_name("_ZZ4turnIfLi32EEvPKfE4a2bc"), own_name("_ZN3own5tilesE"), own_name("tile")
    ('a2bc', 'tiles', 'tile')
    """
    found = [
        (match.start(), symbol[match.end() : match.end() + int(match[1])])
        for match in re.finditer(r"(\d+)(?=[A-Za-z_])", symbol)
        if re.fullmatch(r"E?(?:_\d+)?", symbol[match.end() + int(match[1]) :])
    ]
    inner = [name for at, name in found if symbol[at - 1] == "E"]  # of a function: behind its own name
    return (inner[-1:] or [name for _, name in found[:1]] or [symbol])[0]


def own_place(ptx: str, number: int) -> tuple[str, str]:
    """Return the line of the file that a line of PTX comes from, and the column, '' for none.

    Of a call within a call each place names the next one, which stood before by itself.
    """
    own = [number for number, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.M) if _is_own(name)]
    wanted = ""
    for line in reversed(ptx.splitlines()[:number]):
        found = re.match(r"\s*\.loc\s+(\d+ \d+ \d+)(?:.*\binlined_at (\d+ \d+ \d+))?", line)
        if not found or wanted not in ("", found[1]):
            continue
        for place in filter(None, found.groups()):
            file, found_line, column = str(place).split()
            if file in own:
                return found_line, column
        wanted = found[2]
        if not wanted:
            return "", ""
    return "", ""


def _is_own(name: str) -> bool:
    return Path(name).name == "kernel.cu"


def line_of(kernel: Kernel, source: Sequence[tuple[int, int]]) -> int:
    """Return the line of the file that an instruction comes from: where it was inlined, if it is from a header."""
    for file, line in source:
        if _is_own(kernel.files.get(file, "")):
            return line
    return 0
