"""Functions of mathematics in text that somebody wrote by hand, as calls, for translation validation.

The text itself stays as it is. Macros in front of it, behind the headers that it includes, give each function that it
names another name, wherever it stands: in templates, as `::expf`, as `std::exp`, in functions of the text's own. What
the new names stand for are functions that are declared only (`cuda_out.compile.opaque`), overloads of those, and
functions that are made of those: of half precision they are computed in single precision and rounded, as CUDA does.
A fast approximation (`__expf`) is called by its own name, so that what it approximates is told from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from cuda_out.compile.opaque import FAST, PREFIX
from symbolic.ir.functions import FUNCTIONS, MathFunction
from symbolic.ir.program import DType

_INSTRUCTIONS: Final = frozenset(("sqrt", "floor", "ceil", "trunc", "rint"))
"""The functions that compilers turn into instructions, which are understood."""
_WHOLE: Final = ("int", "unsigned", "long", "unsigned long", "long long", "unsigned long long")
_OF_HALVES: Final = ("exp", "exp2", "log", "log2", "log10", "sin", "cos", "rsqrt", "tanh")
_HALVES: Final = {
    "__half": ("__half2float", "__float2half_rn"),
    "__nv_bfloat16": ("__bfloat162float", "__float2bfloat16_rn"),
}
"""The types of 16 bits, and how they become single precision and back."""
_MADE: Final = {
    "normcdf": (("x",), "{T}(0.5) * ({T}(1) + {erf}(x * {T}(0.70710678118654752440)))"),
    "erfcx": (("x",), "{exp}(x * x) * {erfc}(x)"),
    "exp10": (("x",), "{exp}(x * {T}(2.30258509299404568402))"),
    "cosh": (("x",), "{T}(0.5) * ({exp}(x) + {exp}(-x))"),
    "tan": (("x",), "{sin}(x) / {cos}(x)"),
}  # fmt: skip
"""Functions that are others' values: their operands and what they are."""
_STD: Final = (
    "abs",
    "fabs",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "round",
    "fmax",
    "fmin",
    "fma",
    "fmod",
    "isnan",
    "isinf",
)
_INCLUDED: Final = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<[^>\n]*>", re.M)
_COMMENT: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def with_called_functions(text: str, included: Sequence[str] = ()) -> str:
    """Return text in which functions of mathematics are calls; its own lines stay what they are (`kernel.cu`).
    `included` are the texts of headers of its own, in which they are calls as well."""
    plain = _COMMENT.sub(" ", "\n".join([text, *included]))
    words = set(re.findall(r"[A-Za-z_]\w*", plain))
    lines = [*_declared(words), *_of_halves(words, plain), *_made(words)]
    if "std" in words:
        lines += _standard(words)
    if not lines:
        return text
    headers = [match[0] for part in (text, *included) for match in _INCLUDED.finditer(part)]
    return "\n".join([*headers, '#line 1 "functions.h"', *lines, '#line 1 "kernel.cu"', text])


def with_standard_names(text: str) -> str:
    """Return text for which namespace std has the functions of mathematics that it names, also where a compiler has
    none of its headers; its own lines stay what they are."""
    words = set(re.findall(r"[A-Za-z_]\w*", _COMMENT.sub(" ", text)))
    if "std" not in words:
        return text
    every = [name for row in FUNCTIONS.values() for name in row.cuda.values()]
    return "\n".join([*_standard(words, sorted({*_STD, *every})), '#line 1 "kernel.cu"', text])


def _declared(words: set[str]) -> Iterator[str]:
    """Yield the functions that the text names, each with its overloads, and the macros that name them."""
    needed = {row.symbol for row in FUNCTIONS.values() if words & _needed_by(row)}
    for row in FUNCTIONS.values():
        if row.symbol not in needed or row.defined is not None or row.symbol in _INSTRUCTIONS:
            continue
        single, double, fast = row.cuda[DType.F32], row.cuda[DType.F64], f"__{row.cuda[DType.F32]}"
        for name, kind in ((single, "float"), (double, "double"), *([(fast, "float")] if fast in FAST else [])):
            yield f'extern "C" __device__ {kind} {PREFIX}{name}({_operands(kind, row.operands)});'
            if name != double:
                yield f"#define {name} {PREFIX}{name}"
        given = ", ".join(row.operands)
        for kind, name in (("float", single), ("double", double)):
            yield _inline(
                kind, f"swizzle_{double}", [kind] * len(row.operands), row.operands, f"{PREFIX}{name}({given})"
            )
        for whole in _WHOLE:
            kinds = [whole] * len(row.operands)
            yield _inline("double", f"swizzle_{double}", kinds, row.operands, f"{PREFIX}{double}({given})")
        if len(row.operands) == 2:
            for kinds in (["float", "int"], ["double", "int"], ["float", "double"], ["double", "float"]):
                result = "float" if kinds == ["float", "int"] else "double"
                name = single if result == "float" else double
                yield _inline(result, f"swizzle_{double}", kinds, row.operands, f"{PREFIX}{name}({given})")
        yield f"#define {double} swizzle_{double}"
        yield f"namespace std {{ using ::swizzle_{double}; using ::{PREFIX}{single}; }}"


def _needed_by(row: MathFunction) -> set[str]:
    """Return the names in a text that ask for a function."""
    names = {*row.cuda.values(), f"__{row.cuda[DType.F32]}"}
    names |= {f"{name}{end}" for name, (_, text) in _MADE.items() if f"{{{row.symbol}}}" in text for end in ("", "f")}
    if row.symbol in _OF_HALVES:
        names |= {f"h{row.symbol}", f"h2{row.symbol}"}
    if row.symbol in ("sin", "cos"):
        names |= {"sincos", "sincosf", "__sincosf"}
    return names


def _operands(kind: str, operands: Sequence[str]) -> str:
    return ", ".join(f"{kind} {name}" for name in operands)


def _inline(result: str, name: str, kinds: Sequence[str], operands: Sequence[str], value: str) -> str:
    given = ", ".join(f"{kind} {operand}" for kind, operand in zip(kinds, operands, strict=True))
    return f"__device__ __forceinline__ {result} {name}({given}) {{ return {value}; }}"


def _of_halves(words: set[str], plain: str) -> Iterator[str]:
    """Yield the functions of half precision and of bfloat16."""
    types = {"__half": "cuda_fp16.h" in plain, "__nv_bfloat16": "cuda_bf16.h" in plain}
    for symbol in _OF_HALVES:
        call = f"{PREFIX}{FUNCTIONS[symbol].cuda[DType.F32]}"
        for name in (f"h{symbol}", f"h2{symbol}"):
            if name not in words:
                continue
            for kind, (widened, narrowed) in _HALVES.items():
                if not types[kind]:
                    continue
                if name == f"h{symbol}":
                    yield _inline(kind, f"swizzle_{name}", [kind], ["x"], f"{narrowed}({call}({widened}(x)))")
                else:
                    sides = ", ".join(f"{narrowed}({call}({widened}(x.{side})))" for side in "xy")
                    yield _inline(f"{kind}2", f"swizzle_{name}", [f"{kind}2"], ["x"], f"{kind}2({sides})")
            yield f"#define {name} swizzle_{name}"


def _made(words: set[str]) -> Iterator[str]:
    """Yield the functions that others' values are."""
    for name, (operands, text) in _MADE.items():
        if not words & {name, f"{name}f"}:
            continue
        for kind, own in (("float", f"{name}f"), ("double", name)):
            parts = {
                row.symbol: PREFIX + row.cuda[DType(f"f{32 if kind == 'float' else 64}")] for row in FUNCTIONS.values()
            }
            yield _inline(kind, f"swizzle_{own}", [kind], operands, text.format(T=kind, **parts))
            if kind == "float":
                yield _inline(kind, f"swizzle_{name}", [kind], operands, f"swizzle_{own}({operands[0]})")
            yield f"#define {own} swizzle_{own}"
        yield f"namespace std {{ using ::swizzle_{name}; using ::swizzle_{name}f; }}"
    if words & {"sincos", "sincosf", "__sincosf"}:
        for kind, end in (("float", "f"), ("double", "")):
            yield (
                f"__device__ __forceinline__ void swizzle_sincos{end}({kind} x, {kind}* s, {kind}* c) "
                f"{{ *s = {PREFIX}sin{end}(x); *c = {PREFIX}cos{end}(x); }}"
            )
            yield f"#define sincos{end} swizzle_sincos{end}"
        yield "#define __sincosf swizzle_sincosf"


def _standard(words: set[str], names: Sequence[str] = _STD) -> Iterator[str]:
    """Yield what namespace std has on the GPU of what the text names, which not every compiler declares there."""
    yield "#if defined(__CUDACC_RTC__)\nnamespace std {"
    yield from (f"using ::{name};" for name in names if name in words)
    for name, sign in (("max", "<"), ("min", ">")):
        if name in words:
            yield (
                f"template <class T> __device__ __forceinline__ constexpr const T& {name}(const T& a, const T& b) "
                f"{{ return a {sign} b ? b : a; }}"
            )
    yield "}\n#endif"
