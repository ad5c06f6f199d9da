"""Device functions that printed kernels may call, and the coordinates of a thread as C++ text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cuda_out.c.expressions import PRIMARY, UNARY, CText, external_name, function_name
from cuda_out.c.types import C_TYPE
from symbolic.algebra.states import INLINED
from symbolic.errors import SwizzleError
from symbolic.ir.functions import External, WordFunction
from symbolic.ir.program import DType, OperatorName, Program

HELPERS: Mapping[str, str] = {
    "chosen": """\
/// One of two values, both of which are computed.
template <typename T>
__device__ __forceinline__ T chosen(bool condition, T then, T otherwise) {
  return condition ? then : otherwise;
}
""",
    "known": """\
/// A condition that is known when the kernel is compiled.
template <bool condition>
struct known {
  __device__ constexpr operator bool() const { return condition; }
};
""",
    "greater": """\
/// The greater of two numbers.
template <typename T>
__device__ __forceinline__ T greater(T a, T b) {
  return a < b ? b : a;
}
""",
    "lesser": """\
/// The lesser of two numbers.
template <typename T>
__device__ __forceinline__ T lesser(T a, T b) {
  return b < a ? b : a;
}
""",
    "element_of": """\
/// An element of 8 or 16 bits of a word, the lowest first.
template <typename T>
__device__ __forceinline__ T element_of(unsigned word, int at) {
  return T(word >> at * 8 * int(sizeof(T)));
}
""",
    "with_element": """\
/// A word with another element of 8 or 16 bits in one place.
template <typename T>
__device__ __forceinline__ unsigned with_element(unsigned word, int at, T element) {
  const int bits = 8 * int(sizeof(T));
  const unsigned mask = (1u << bits) - 1u;
  return (word & ~(mask << at * bits)) | (unsigned(element) & mask) << at * bits;
}
""",
    "floor_div": """\
/// a / b, rounded down.
template <typename T>
__device__ __forceinline__ T floor_div(T a, T b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
""",
    "wrapping_abs": """\
/// |a|; the least number, which has no counterpart, stays as it is.
__device__ __forceinline__ int wrapping_abs(int a) {
  return a < 0 ? int(0u - unsigned(a)) : a;
}
__device__ __forceinline__ long long wrapping_abs(long long a) {
  return a < 0 ? static_cast<long long>(0ull - static_cast<unsigned long long>(a)) : a;
}
""",
    "commit_copies": """\
/// Makes a group of the copies that this thread has begun.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}
""",
    "wait_copies": """\
/// Waits for all but the last groups of copies of this thread.
template <int left>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(left) : "memory");
}
""",
    "floor_mod": """\
/// a - floor(a / b) * b: the remainder that has the sign of b.
template <typename T>
__device__ __forceinline__ T floor_mod(T a, T b) {
  const T remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
""",
}

_COPY = """\
/// Begins to copy {bytes} bytes to shared memory.
__device__ __forceinline__ void copy_async_{bytes}(void* to, const void* from) {{
  asm volatile("cp.async.{cache}.shared.global [%0], [%1], {bytes};" : :
      "r"(unsigned(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)) : "memory");
}}
"""
_COPY_OR_ZERO = """\
/// Begins to copy {bytes} bytes to shared memory, or to fill them with zeros.
__device__ __forceinline__ void copy_async_or_zero_{bytes}(void* to, const void* from, bool copied) {{
  asm volatile("cp.async.{cache}.shared.global [%0], [%1], {bytes}, %2;" : :
      "r"(unsigned(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)), "r"(copied ? {bytes} : 0) :
      "memory");
}}
"""
_FLOAT_MOD = """\
/// a - floor(a / b) * b: the remainder that has the sign of b.
__device__ __forceinline__ {type} floor_mod({type} a, {type} b) {{
  const {type} remainder = {fmod}(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}}
"""
_FLOAT_DIV = """\
/// a / b, rounded down.
__device__ __forceinline__ {type} floor_div({type} a, {type} b) {{
  const {type} remainder = {fmod}(a, b);
  const {type} quotient = (a - remainder) / b - (remainder != 0 && (remainder < 0) != (b < 0) ? 1 : 0);
  return {floor}(quotient + {half});
}}
"""
_HALF = """\
/// The same in single precision, rounded to half.
__device__ __forceinline__ __half {name}(__half a, __half b) {{
  return __float2half({name}(__half2float(a), __half2float(b)));
}}
"""


def helper_text(names: frozenset[str]) -> list[str]:
    """Return the definitions of the named helpers ('floor_mod', 'floor_div_f32', ...), in a fixed order."""
    found = [HELPERS[name] for name in sorted(names & HELPERS.keys())]
    for name, template in (("floor_div", _FLOAT_DIV), ("floor_mod", _FLOAT_MOD)):
        half = f"{name}_f16" in names
        if half or f"{name}_f32" in names:
            found.append(template.format(type="float", fmod="fmodf", floor="floorf", half="0.5f"))
        if half:
            found.append(_HALF.format(name=name))
        if f"{name}_f64" in names:
            found.append(template.format(type="double", fmod="fmod", floor="floor", half="0.5"))
    for name, template in (("copy_async", _COPY), ("copy_async_or_zero", _COPY_OR_ZERO)):
        sizes = (size for size in (4, 8, 16) if f"{name}_{size}" in names)
        found += [template.format(bytes=size, cache="cg" if size == 16 else "ca") for size in sizes]
    return found


def operator_text(op: OperatorName, dtype: DType, program: Program) -> str:
    """Return the device function of a user's operator on data of a type, with its body as the user wrote it.

    It is called, not inlined, so that a reader of the PTX finds the operator there and can try it by itself. Raises
    SwizzleError if the operator has no C++ body.
    """
    law, kind = op.law, C_TYPE[dtype]
    if not law.cuda:
        raise SwizzleError(
            f"the operator {op} has no CUDA text",
            place=program.place,
            expected=f"the body of a function of {' and '.join(law.operands)}, for a kernel that is printed",
            fix='write @operator(..., cuda="...")',
        )
    a, b = law.operands
    alias = [f"using T = {kind};"] if re.search(r"\bT\b", law.cuda) else []
    body = "".join(f"  {line}".rstrip() + "\n" for line in [*alias, *law.cuda.splitlines()])
    head = f"static __device__ __noinline__ {kind} {function_name(op, dtype)}({kind} {a}, {kind} {b})"
    return f"/// The operator {op} on {dtype.value}.\n{head} {{\n{body}}}\n"


def external_text(row: External) -> str:
    """Return the device function of a function of the user's own, with its body as it was written.

    What stands around it is known to `cuda_out.compile.opaque`, which leaves the declaration only.
    """
    pairs = zip(row.kinds, row.operands, strict=True)
    given = ", ".join(f"{C_TYPE[kind]} {operand}" for kind, operand in pairs)
    name = external_name(row)
    body = "".join(f"  {line}".rstrip() + "\n" for line in row.body.splitlines())
    head = f"__device__ __forceinline__ {C_TYPE[row.gives]} {name}({given})"
    return f"/// The function {row.symbol}, with its text in the sketch.\n{head} {{\n{body}}}  // {name}\n"


def word_function_text(row: WordFunction) -> str:
    """Return the device function of a function on words."""
    parameters = ", ".join(f"{C_TYPE[dtype]} {name}" for dtype, name in zip(row.given, row.operands, strict=True))
    head = f"{INLINED} {C_TYPE[row.result]} {row.spelled}({parameters})"
    return f"/// {row.symbol}.\n{head} {{\n  return {row.body};\n}}\n"


def coordinate_text(program: Program) -> dict[tuple[str, str], CText]:
    """Return the text of each coordinate of the launch: the builtin as an int; lane and warp from the linear thread."""
    found = {
        (name, axis): CText(f"int({name}.{axis})", PRIMARY)
        for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")
        for axis in "xyz"
    }
    size_x, size_y, size_z = program.block
    terms = [
        *(["threadIdx.x"] if size_x > 1 else []),
        *([f"{size_x} * threadIdx.y" if size_x > 1 else "threadIdx.y"] if size_y > 1 else []),
        *([f"{size_x * size_y} * threadIdx.z" if size_x * size_y > 1 else "threadIdx.z"] if size_z > 1 else []),
    ]
    threads, warp = size_x * size_y * size_z, program.warp_size
    linear = " + ".join(terms) or "0"
    if threads <= warp:
        found["laneid", "x"] = CText(f"int({linear})" if terms else "0", PRIMARY)
        found["warpid", "x"] = CText("0", PRIMARY)
    else:  # unsigned, so that a division is a shift and a remainder a mask
        linear = f"({linear})" if len(terms) > 1 or "*" in linear else linear
        found["laneid", "x"] = CText(f"int({linear} % {warp})", PRIMARY)
        found["warpid", "x"] = CText(f"int({linear} / {warp})", PRIMARY)
    found["warpsize", "x"] = CText(str(warp), UNARY)
    return found
