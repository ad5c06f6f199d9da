"""Functions of mathematics, conversions of bf16, and functions on words, as calls, for translation validation.

A compiler puts `expf` in place, as a dozen instructions that nothing can be said of. So the text that is validated
calls a declared function instead, `swizzle_opaque_expf`, which its PTX still calls: everything else in it is the
compiler's work on the printed text. What is trusted beyond other validations: that the compiler puts CUDA's function
where the call stands (docs/checking.md). A function of the user's own (`cuda.external`) loses its body for the same
reason. A function on words keeps its body and is not inlined, so that its PTX is there to be tried by itself
(`cuda_out.ptx.running.operators`).
"""

from __future__ import annotations

import re
from typing import Final

from symbolic.algebra.word_functions import INLINED
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
    no other comment may say so (`cuda_out.c.directives`)."""
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
