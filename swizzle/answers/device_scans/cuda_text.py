"""A scan as CUDA C++: its kernels, each as any kernel is printed, and the host functions that launch them.

`scratch_bytes(n)` says how much device memory `scan` needs, which allocates none and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from cuda_out.c.emitter import c_name, c_names
from cuda_out.c.printer import CudaSource
from cuda_out.c.types import C_TYPE
from swizzle.answers.device_scans.device import DeviceScan
from swizzle.answers.device_scans.kernels import THREADS, TILE, Level, backward_source
from swizzle.answers.device_scans.look_back import look_back_source
from swizzle.answers.emit.emitters import cuda_source

ROOM: Final = 256
"""Arrays in scratch memory begin at multiples of so many bytes, behind its beginning."""
_MISALIGNED: Final = "reinterpret_cast<size_t>(scratch) % 8 != 0"


def source_of(scan: DeviceScan, lifts: bool, kind: str, form: Literal["cu", "header"] = "cu") -> CudaSource:
    """Return the printed text of one of a scan's kernels."""
    checked = scan.kernels[lifts, kind]  # type: ignore[index]
    if scan.backward and lifts:
        return backward_source(checked.kernel, checked.tiling, form)
    return cuda_source(checked.kernel.program, (), checked.tiling, form=form)


def text_of(scan: DeviceScan, head: Sequence[str], form: Literal["cu", "header"] = "cu") -> str:
    """Return a scan as one file; `head` are the lines of its first comment."""
    lines = ["// SPDX-License-Identifier: MIT-0", *(f"// {line}".rstrip() for line in head)]
    lines += ["#pragma once"] if form == "header" else []
    for checked in scan.distinct:
        if checked.tiling is None:
            text = look_back_source(checked.kernel, form, backward=scan.backward).text
        else:
            level, kind = next(key for key, each in scan.kernels.items() if each is checked)
            text = source_of(scan, level, kind, form).text
        printed = text.splitlines()
        lines += [line for line in printed if line not in ("// SPDX-License-Identifier: MIT-0", "#pragma once")]
    return "\n".join([*lines, "", *(_host(scan) if scan.form == "three-pass" else _one_pass_host(scan, form)), ""])


def _host(scan: DeviceScan) -> Iterator[str]:
    words = [C_TYPE[dtype] for dtype in scan.operator.words.values()]
    room = " + ".join(f"2 * room(n, sizeof({kind}))" for kind in words)
    yield from _opening(scan)
    yield "/// Bytes of device memory that scan() needs for n elements: the totals of parts, and their scans."
    yield "inline size_t scratch_bytes(long long n) {"
    yield "  size_t bytes = 0;"
    yield "  while (n > part) {\n    n = (n - 1) / part;"
    yield f"    bytes += {room};\n  }}\n  return bytes;\n}}"
    if len(scan.levels) > 1:
        yield from _level(scan, scan.levels[1], "scan_words")
    yield from _level(scan, scan.levels[0], "scan")
    yield from _closing(scan)


def _opening(scan: DeviceScan) -> Iterator[str]:
    yield f"namespace swizzle_{c_name(scan.name)} {{"
    yield from ("", "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)")
    yield f"/// Elements that one block scans.\nconstexpr long long part = {TILE};"
    yield "/// Bytes of an array in scratch memory."
    yield "inline size_t room(long long count, size_t size) {"
    yield f"  return (size_t(count) * size + {ROOM - 1}) / {ROOM} * {ROOM};\n}}"


def _closing(scan: DeviceScan) -> Iterator[str]:
    yield from ("#endif", "", f"}}  // namespace swizzle_{c_name(scan.name)}")


def _one_pass_host(scan: DeviceScan, form: Literal["cu", "header"]) -> Iterator[str]:
    """Yield the host function of a scan in one pass."""
    source = look_back_source(scan.kernels[True, "linked"].kernel, form, backward=scan.backward)
    told, words = C_TYPE[source.told], [C_TYPE[dtype] for dtype in source.words]
    arrays = [("parts", C_TYPE[dtype], f"handed{place}") for place, dtype in enumerate(source.handed)]
    arrays += [("1", dtype, f"last{place}") for place, dtype in enumerate(words)]
    yield from _opening(scan)
    yield "/// Bytes that say what blocks have told, zero at first.\ninline size_t zeros(long long parts) {"
    yield f"  return room(1, sizeof(unsigned int)) + room(parts, sizeof({told}));\n}}"
    yield "/// Bytes of device memory that scan() needs for n elements: what blocks hand to each other."
    yield "inline size_t scratch_bytes(long long n) {\n  const long long parts = n / part;"
    rooms = " + ".join(["zeros(parts)", *(f"room({many}, sizeof({kind}))" for many, kind, _ in arrays)])
    yield f"  return n <= part ? 0 : {rooms};\n}}"
    yield from _head(scan, scan.levels[0], "scan")
    names = _names(scan.levels[0])
    given, made = [names[each] for each in scan.levels[0].given], [names[each] for each in scan.levels[0].made]
    yield f"  if (n <= part) return {_launch(scan, True, 'first', *given, *made, 'n')};"
    yield "  const long long parts = n / part, left = n % part;"
    yield "  if (parts > 2147483647) return cudaErrorInvalidConfiguration;"
    yield f"  if ({_MISALIGNED}) return cudaErrorMisalignedAddress;"
    for name, bytes_ in zip((*given, *made), source.alignment, strict=True):
        if bytes_ > 1:
            yield f"  if (reinterpret_cast<size_t>({name}) % {bytes_} != 0) return cudaErrorMisalignedAddress;"
    yield "  char* next = static_cast<char*>(scratch);"
    for many, kind, name in (("1", "unsigned int", "begun"), ("parts", told, "told"), *arrays):
        yield f"  {kind}* const {name} = reinterpret_cast<{kind}*>(next);\n  next += room({many}, sizeof({kind}));"
    yield "  cudaError_t error = cudaMemsetAsync(scratch, 0, zeros(parts), stream);"
    whole = [f"{each} + left" if scan.backward else each for each in (*given, *made)]
    passed = ", ".join([*whole, "begun", "told", *(name for _, _, name in arrays)])
    kernel = f"{source.namespace}::{source.entry}{'<>' if form == 'header' else ''}"
    yield "  if (error != cudaSuccess) return error;"
    yield f"  {kernel}<<<dim3(unsigned(parts), 1, 1), dim3({THREADS}, 1, 1), 0, stream>>>({passed});"
    yield "  error = cudaGetLastError();"
    moved = [given, made] if scan.backward else [[f"{each} + (n - left)" for each in some] for some in (given, made)]
    last = [name for many, _, name in arrays if many == "1"]
    rest = _launch(scan, True, "tail", *moved[0], *last, *moved[1], "left")
    yield f"  if (error == cudaSuccess && left > 0) error = {rest};"
    yield "  return error;\n}"
    yield from _closing(scan)


def _names(level: Level) -> dict[str, str]:
    """Return the arrays' names in a host function."""
    own = ["n", "part", "parts", "left", "scratch", "stream", "error", "next", "totals", "rest", "begun", "told"]
    own += ["room", "zeros", "scratch_bytes", "scan"] + [f"{each}{k}" for each in ("handed", "last") for k in range(64)]
    return c_names([*level.given, *level.made], taken=own)


def _launch(scan: DeviceScan, lifts: bool, kind: str, *arguments: str) -> str:
    source = source_of(scan, lifts, kind)
    return f"{source.namespace}::{source.launcher}({', '.join([*arguments, 'stream'])})"


def _head(scan: DeviceScan, level: Level, name: str) -> Iterator[str]:
    """Yield the beginning of a host function."""
    names = _names(level)
    if level.lifts:
        made = ", ".join(names[each] for each in level.made)
        which = "i to n - 1" if scan.backward else "0 to i"
        yield f"/// Scans n elements: {made}[i] is what the loop returns after elements {which}."
        yield "/// All are device pointers, to arrays apart from each other; scratch has scratch_bytes(n) bytes,"
        yield "/// aligned to 8, which are this scan's alone until it has ended."
    parameters = [f"const {C_TYPE[dtype]}* {names[each]}" for each, dtype in level.given.items()]
    parameters += [f"{C_TYPE[dtype]}* {names[each]}" for each, dtype in level.made.items()]
    parameters += ["long long n", "void* scratch", "cudaStream_t stream = nullptr"]
    yield f"inline cudaError_t {name}({', '.join(parameters)}) {{"
    yield "  if (n < 0) return cudaErrorInvalidValue;"


def _level(scan: DeviceScan, level: Level, name: str) -> Iterator[str]:
    """Yield the host function of a level, which is `launches` in C++ (`swizzle.answers.device_scans.plan`)."""
    arrays = _names(level)
    words = [C_TYPE[dtype] for dtype in scan.operator.words.values()]
    given, made = [arrays[each] for each in level.given], [arrays[each] for each in level.made]
    total, before = ([f"{prefix}{place}_" for place in range(len(words))] for prefix in ("total", "before"))

    def moved(names: Sequence[str], at: str, length: str) -> list[str]:
        """So many elements in the order of the scan, from one on."""
        if scan.backward and level.lifts:
            at = {"0": f"(n - {length})", "part": "left", "(n - left)": "0"}[at]
        return [f"{each} + {at}" for each in names] if at != "0" else list(names)

    def launch(kind: str, *arguments: str) -> str:
        return _launch(scan, level.lifts, kind, *arguments)

    yield from _head(scan, level, name)
    yield f"  if (n <= part) return {launch('first', *given, *made, 'n')};"
    yield "  const long long totals = (n - 1) / part, rest = n / part - 1, left = n % part;"
    if level.lifts:
        yield f"  if ({_MISALIGNED}) return cudaErrorMisalignedAddress;"
    yield "  char* next = static_cast<char*>(scratch);"
    for some in (total, before):
        for each, kind in zip(some, words, strict=True):
            yield f"  {kind}* const {each} = reinterpret_cast<{kind}*>(next);"
            yield f"  next += room(totals, sizeof({kind}));"
    yield f"  cudaError_t error = {launch('totals', *moved(given, '0', '(totals * part)'), *total, 'totals')};"
    deeper = "scan_words" if len(scan.levels) > 1 else "scan"
    inner = ", ".join([*total, *before, "totals", "next", "stream"])
    yield f"  if (error == cudaSuccess) error = {deeper}({inner});"
    yield f"  if (error == cudaSuccess) error = {launch('first', *moved([*given, *made], '0', 'part'), 'part')};"
    at, length = "part", "(rest * part)"
    inner = launch("rest", *moved(given, at, length), *before, *moved(made, at, length), "rest")
    yield f"  if (error == cudaSuccess && rest > 0) error = {inner};"
    at, words_before = "(n - left)", [f"{each} + rest" for each in before]
    inner = launch("tail", *moved(given, at, "left"), *words_before, *moved(made, at, "left"), "left")
    yield f"  if (error == cudaSuccess && left > 0) error = {inner};"
    yield "  return error;\n}"
