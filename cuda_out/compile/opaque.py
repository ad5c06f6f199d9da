"""Functions of mathematics, conversions of bf16, and functions on words, as calls, for translation validation.

A compiler puts `expf` in place, as a dozen instructions that nothing can be said of. So the text that is validated
calls a declared function instead, `swizzle_opaque_expf`, which its PTX still calls: everything else in it is the
compiler's work on the printed text. What is trusted beyond other validations: that the compiler puts CUDA's function
where the call stands (docs/checking.md). A function of the user's own (`cuda.external`) loses its body for the same
reason. A function on words keeps its body and is not inlined, so that its PTX is there to be tried by itself
(`cuda_out.ptx.running.operators`).

A text that somebody wrote by hand stays as it is. Macros in front of it, behind the headers that it includes, give each
function that it names another name, wherever it stands: in templates, as `::expf`, as `std::exp`, in functions of the
text's own. What the new names stand for are functions that are declared only, overloads of those, and functions that
are made of those: of half precision they are computed in single precision and rounded, as CUDA does. A fast
approximation (`__expf`) is called by its own name, so that what it approximates is told from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from symbolic.algebra.states import INLINED
from symbolic.ir.functions import FUNCTIONS, MathFunction
from symbolic.ir.program import DType

_TYPE: Final = {DType.F32: "float", DType.F64: "double"}
CALLED: Final = "static __device__ __noinline__ __attribute__((used))"
PREFIX: Final = "swizzle_opaque_"
SPELLED: Final[dict[str, tuple[MathFunction, DType]]] = {
    name: (row, dtype) for row in FUNCTIONS.values() if row.defined is None for dtype, name in row.cuda.items()
}
"""The functions that are made calls, by CUDA's names; of the others the instructions are known."""
FAST: Final[dict[str, tuple[MathFunction, DType]]] = {
    f"__{symbol}f": (FUNCTIONS[symbol], DType.F32)
    for symbol in ("exp", "log", "log2", "log10", "sin", "cos", "pow", "tanh")
}
"""CUDA's fast approximations, and what they approximate."""
_CALLED: Final = re.compile(rf"\b({'|'.join(SPELLED)})(?=\s*\()")
_NAMED: Final = r"(?<![\w.>:])((?:::\s*)?)({})\b"
"""Functions wherever they are named, so that a variable which hides one still does."""
BF16: Final = {"__bfloat162float": "float", "__float2bfloat16": "__nv_bfloat16"}
"""The conversions of bf16 and what they give: on some architectures they are branches on bits."""
_BF16_CALLED: Final = re.compile(rf"\b({'|'.join(BF16)})(?=\s*\()")
_EXTERNAL: Final = re.compile(
    r"(?<=\n)/// The function \w+, with its text in the sketch\.\n"
    r"__device__ __forceinline__ ([^\n]*?(\w+)\([^\n]*\)) \{\n.*?\n\}  // \2\n",
    re.DOTALL,
)


_DEFINED: Final = re.compile(
    rf"({re.escape(CALLED)} ([\w ]+?)\s+\w+\(([^)]*)\) \{{\n)((?:(?!\n\}}).)*?)  return ([^;]*);\n\}}\n",
    re.DOTALL,
)
_OPERAND: Final = {
    "int": "r", "unsigned int": "r", "long long": "l", "unsigned long long": "l", "float": "f", "double": "d",
}  # fmt: skip


def _closed(match: re.Match[str]) -> str:
    """Return a function on words that reads all its operands, and of whose result a caller knows nothing: compilers
    pass nothing for what is not read, and go on with an operand that is returned as it is. Then it is not known of
    which words a word was made."""
    head, kind, given, before, value = match.groups()
    operands = [each.rpartition(" ") for each in re.split(r",\s*", given)]
    read = ", ".join(f'"{_OPERAND[kind]}"({name})' for kind, _, name in operands)
    return (
        f'{head}  asm volatile("" :: {read});\n{before}  {kind} swizzle_result = {value};\n'
        f'  asm volatile("" : "+{_OPERAND[kind]}"(swizzle_result));\n  return swizzle_result;\n}}\n'
    )


def with_opaque_calls(text: str) -> str:
    """Return CUDA C++ text in which functions of mathematics and the user's own are declared only, and those on words
    are not inlined; the same text where it calls none. Where they begin and end is read off comments as well, so that
    no other comment may say so (`cuda_out.c.same_text`)."""
    text = _EXTERNAL.sub(r'extern "C" __device__ \1;\n', text)
    if called := dict.fromkeys(_CALLED.findall(text)):
        text = re.sub(_NAMED.format("|".join(called)), rf"\1{PREFIX}\2", text)
    changed = _DEFINED.sub(_closed, text.replace(INLINED, CALLED))
    declared = []
    for name in called:
        row, dtype = SPELLED[name]
        of = ", ".join([_TYPE[dtype]] * len(row.operands))
        declared.append(f'extern "C" __device__ {_TYPE[dtype]} {PREFIX}{name}({of});\n')
    if _BF16_CALLED.search(changed):
        changed = re.sub(rf"\b({'|'.join(BF16)})\b", rf"{PREFIX}\1", changed)
        declared.append("#include <cuda_bf16.h>\n")
        for (name, gives), takes in zip(BF16.items(), reversed(BF16.values()), strict=True):
            declared.append(f'extern "C" __device__ {gives} {PREFIX}{name}({takes});\n')
    return "".join(declared) + changed


def own_function_at(log: str, text: str) -> str:
    """Return the user's own function in whose body a compiler found the first mistake, '' where it is elsewhere."""
    found = re.search(r"kernel\.cu:(\d+):(?:\d+:)? (?:fatal )?error", log)
    if found is None:
        return ""
    place = sum(map(len, text.splitlines(keepends=True)[: int(found[1]) - 1]))
    for each in _EXTERNAL.finditer(text):
        if each.start() <= place < each.end():
            return each[0].split()[3].rstrip(",")
    return ""


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
