"""The host function of a printed text, run with a launch that is only noted: which grid, block, stream and arguments.

A compiler for the host reads the text with the kernel's body replaced, and `name<<<grid, block, shared, stream>>>(...)`
as two calls (`host.h`). Each `HostCall` says what the function is given and must do: launch once, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.kernel_text import NoKernel, argument_spans, blanked, closing, kernel_extent, parameters
from cuda_out.c.printer import MAX_BLOCKS, MAX_LENGTH, CudaSource
from cuda_out.c.types import C_TYPE
from cuda_out.compile.children import TooLong, process_folder, run_child, scratch_folder
from cuda_out.emulate.emulate import (
    COMMON_FLAGS,
    INCLUDES,
    compile_with,
    compiled_header,
    compiler,
    included,
    linker,
    with_emulated_matrices,
    with_ptx_called,
)
from symbolic.ir.program import DType

SUCCESS: Final = 0
FAILED: Final = 719
"""cudaErrorLaunchFailure: what the launch of some calls comes to."""
_LAUNCH: Final = re.compile(r"\b(\w+)\s*(<[^<>;]*>)?\s*<<<")
_FLAGS: Final = (*COMMON_FLAGS, "-O0", "-ffunction-sections")
_LINKED: Final = ("-no-pie", "-Wl,--gc-sections", "-Wl,--unresolved-symbols=ignore-all")
_PATIENCE: Final = 20


def _scalars(dtype: DType) -> tuple[int, ...]:
    """Return bits of scalars that no narrower type holds: of all digits, with all bits or the greatest, minus zero."""
    bits, digits = dtype.bits, dtype.row.digits
    if not digits:
        return 0x9ABC_DEF1_2345_6789 >> 64 - bits, 2**bits - 1, 2 ** (bits - 1) - 1
    one = 2 ** (bits - digits - 1) - 1 << digits - 1
    infinity = 2 ** (bits - digits) - 1 << digits - 1
    return one + round(0.1 * 2.0 ** (digits - 1)), 2 ** (bits - 1) + infinity - 1, 2 ** (bits - 1)


class HostCall(Struct, frozen=True):
    """A call of a host function: addresses of arrays, the bits of scalars and the first bytes of structures,
    in order, lengths, and a stream, or none where it is left out.

    `blocks` are those that it must launch; None: it must not launch, and return `status`, any error where that is None.
    The device has as much shared memory as the kernel takes, and no more; or `short`, a byte less.
    """

    addresses: tuple[int, ...]
    lengths: tuple[int, ...]
    stream: int | None
    blocks: tuple[int, int, int] | None
    status: int | None
    short: bool = False

    def __str__(self) -> str:
        given = [f"{address:#x}" for address in self.addresses] + [str(length) for length in self.lengths]
        where = " where the device has less shared memory" if self.short else ""
        return f"called with {', '.join(given)}{'' if self.stream is None else f' on stream {self.stream:#x}'}{where}"


class NotRun(Exception):
    """A host function that cannot be run here, and why."""


def calls(source: CudaSource) -> Iterator[HostCall]:
    """Yield the calls that a host function is tried on: lengths that cut blocks, the most blocks and one more, nothing,
    negative lengths and what is no multiple, addresses that are not aligned, streams, a launch that fails."""
    passed = {*source.scalars, *source.by_value}
    plain, arrays = _plain(source), [n for n, name in enumerate(source.arguments) if name not in passed]
    yield _call(source, plain, source.lengths(), None)
    yield _call(source, plain, source.lengths(), 0x51)
    yield replace(_call(source, plain, source.lengths(), 0x52), status=FAILED)
    if source.shared_bytes:
        yield HostCall(plain, source.lengths(), 0x56, None, None, short=True)
    for number in arrays:
        bytes_ = source.alignment[number]
        if bytes_ > 1:
            for off in (bytes_ // 2, 1):
                moved = tuple(address + off * (place == number) for place, address in enumerate(plain))
                yield HostCall(moved, source.lengths(), None, None, None)
        yield _call(source, (*plain[:number], plain[number] + 256, *plain[number + 1 :]), source.lengths(), None)
    if len(arrays) > 1:
        same = tuple(plain[arrays[0]] if number in arrays else word for number, word in enumerate(plain))
        yield _call(source, same, source.lengths(), 0x54)
        for before, number in pairwise(arrays):
            yield _call(source, (*plain[:number], plain[before], *plain[number + 1 :]), source.lengths(), None)
    for number, name in enumerate(source.arguments):
        for word in _scalars(source.scalars[name])[1:] if name in source.scalars else ():
            yield _call(source, (*plain[:number], word, *plain[number + 1 :]), source.lengths(), None)
    if source.tiling is None:
        return
    for place, axis in enumerate(source.tiling.axes):
        most, step = MAX_LENGTH if axis.axis == "k" else axis.tile * MAX_BLOCKS[axis.axis], axis.step
        wanted = {step, axis.tile - step, axis.tile, axis.tile + step, 2 * axis.tile - step, 7 * axis.tile}
        wanted |= {most, most - axis.tile, most + step, 2**31, 2**31 + axis.tile, 2**32 + axis.tile, 2**63 - 1, 0}
        wanted |= {most + axis.tile * 2**32, -step, -axis.tile, -(2**63), 2**32 * axis.tile}
        wanted |= {axis.tile + step // 2} if step > 1 else set()
        for length in sorted(wanted):
            lengths = source.lengths()
            yield _call(source, plain, (*lengths[:place], length, *lengths[place + 1 :]), 0x53)


def _plain(source: CudaSource) -> tuple[int, ...]:
    """Return an address for each array, the bits of a number for each scalar, the first bytes of each structure, all
    different."""

    def word(number: int, name: str) -> int:
        if name in source.scalars:
            return _scalars(source.scalars[name])[0] + number
        if name in source.by_value:
            return (0xA1B2_C3D4_E5F6_9788 + number) & (1 << 8 * min(8, source.by_value[name])) - 1
        return 0x7F00_0000_0000 + 0x1_0000 * number

    return tuple(word(number, name) for number, name in enumerate(source.arguments))


def _call(source: CudaSource, addresses: tuple[int, ...], lengths: tuple[int, ...], stream: int | None) -> HostCall:
    """Return a call with what must come of it."""
    if source.tiling is None:
        return HostCall(addresses, lengths, stream, source.grid, SUCCESS)
    of_axis = dict(zip((axis.axis for axis in source.tiling.axes), lengths, strict=True))
    axes = source.tiling.axes
    if any(
        of_axis[axis.axis] < 0 or of_axis[axis.axis] % axis.step or 0 < of_axis[axis.axis] < axis.least for axis in axes
    ) or not all(axis.least <= of_axis["k"] <= MAX_LENGTH for axis in axes if axis.axis == "k"):
        return HostCall(addresses, lengths, stream, None, None)
    if any(of_axis[axis.axis] == 0 for axis in axes):
        return HostCall(addresses, lengths, stream, None, SUCCESS)
    blocks = {axis.axis: axis.blocks(of_axis[axis.axis]) for axis in source.tiling.of_grid}
    if any(count > MAX_BLOCKS[axis] for axis, count in blocks.items()):
        return HostCall(addresses, lengths, stream, None, None)
    x, y, z = (blocks.get(axis, size) for axis, size in zip("xyz", source.grid, strict=True))  # type: ignore[call-overload]
    return HostCall(addresses, lengths, stream, (x, y, z), SUCCESS)


def wrong_mutants(source: CudaSource, text: str, variants: Sequence[str], tried: Sequence[HostCall]) -> list[bool]:
    """Run mutants of a text's host function, all in one program; tell which of them do something wrong."""
    end = text.rindex("#endif")
    functions, names = [], []
    for number, variant in enumerate(variants):
        name = f"{source.launcher}_{number}"
        functions.append(_host_function(variant, source.launcher).replace(f"{source.launcher}(", f"{name}(", 1))
        names.append(name)
    every = text[:end] + "\n".join(functions) + "\n" + text[end:]
    runs = [(name, call) for name in names for call in tried]
    lines = _run(source, every, runs)
    wrong = [bool(_difference(source, call, said)) for (_, call), said in zip(runs, lines, strict=True)]
    return [any(wrong[n * len(tried) : (n + 1) * len(tried)]) for n in range(len(names))]


def _host_function(text: str, launcher: str) -> str:
    """Return the function that launches, from its first word to its brace."""
    body = blanked(text)
    at = body.index(f"{launcher}(")
    opening = body.index("{", closing(body, body.index("(", at)))
    return text[body.rindex("\n", 0, at) + 1 : closing(body, opening) + 1]


def wrong_calls(source: CudaSource, text: str, tried: Sequence[HostCall]) -> list[str]:
    """Run the host function of a text, in either form, on some calls; return what is wrong of each that is.

    Raises NotRun where the text has no such function, or one that cannot be run here.
    """
    found = []
    for call, said in zip(tried, _run(source, text, [(source.launcher, call) for call in tried]), strict=True):
        if why := _difference(source, call, said):
            found.append(f"{source.launcher}, {call}: {why}")
    return found


def _difference(source: CudaSource, call: HostCall, said: str) -> str:
    *launches, end = (part.split() for part in re.split(r" launch| status", said)[1:])
    status = int(end[0])
    if call.blocks is None:
        if launches:
            return f"it launches a grid of ({', '.join(launches[0][:3])}), and must not launch"
        if call.status is None and status == SUCCESS:
            return "it returns cudaSuccess, and must return an error"
        if call.status is not None and status != call.status:
            return f"it returns error {status}, and must return {call.status}"
        return ""
    if len(launches) != 1:
        return f"it launches {len(launches)} times and returns {status}, and must launch once"
    numbers = [int(word) for word in launches[0]]
    wanted = [
        *call.blocks,
        *source.block,
        source.shared_bytes,
        call.stream or 0,
        *call.addresses,
        *map(_word, call.lengths),
    ]
    names = ["grid x", "grid y", "grid z", "block x", "block y", "block z", "the shared memory", "the stream"]
    names += [*source.arguments, *source.length_names]
    for name, number, want in zip(names, numbers, wanted, strict=True):
        if number != want:
            return f"{name} is {number}, and must be {want}"
    return "" if status == call.status else f"it returns {status}, and must return {call.status}"


def _run(source: CudaSource, text: str, tried: Sequence[tuple[str, HostCall]]) -> list[str]:
    """Return for each call what was launched and returned."""
    main = "".join(
        f"  swizzle_host::call(cudaError_t({_result(call)}), {source.shared_bytes - call.short}, "
        f"[] {{ return {_spelled(source, name, call)}; }});\n"
        for name, call in tried
    )
    text = with_emulated_matrices(text)
    unit = f'#include "host.h"\n{included(text)}#include "kernel.cu"\nint main() {{\n{main}}}\n'
    cpp, flags = compiler(), (*_FLAGS, *INCLUDES)
    header = compiled_header("host.h", cpp, flags, process_folder())
    with scratch_folder() as scratch:
        Path(scratch, "kernel.cu").write_bytes(with_ptx_called(_noting(source, text)).encode())
        Path(scratch, "unit.cpp").write_bytes(unit.encode())
        program = scratch / "program"
        command = [cpp, "-I", str(header), *flags, *_LINKED, *linker(), f"{scratch}/unit.cpp", "-o", str(program)]
        compile_with(command, text, program, [header])
        try:
            done = run_child([str(program)], seconds=_PATIENCE, starts=False)
        except TooLong:
            raise NotRun(f"{source.launcher} still runs after {_PATIENCE} seconds") from None
    lines = done.text.splitlines()
    if done.status or len(lines) != len(tried):
        name, call = tried[min(len(lines), len(tried) - 1)]
        raise NotRun(f"{name}, {call}, ends with status {done.status}")
    return lines


def _result(call: HostCall) -> int:
    return call.status if call.blocks is not None and call.status is not None else SUCCESS


def _spelled(source: CudaSource, name: str, call: HostCall) -> str:
    """Return a call in C++."""
    words = [*call.addresses, *map(_word, call.lengths), *([] if call.stream is None else [call.stream])]
    kinds = [
        f"Scalar<{C_TYPE[source.scalars[n]]}>"
        if n in source.scalars
        else "Record"
        if n in source.by_value
        else "Argument"
        for n in source.arguments
    ]
    kinds += ["Argument"] * (len(words) - len(kinds))
    given = [f"swizzle_host::{kind}{{{word}ull}}" for kind, word in zip(kinds, words, strict=True)]
    return f"{source.namespace}::{name}({', '.join(given)})"


def _word(number: int) -> int:
    return number & (1 << 64) - 1


def _noting(source: CudaSource, text: str) -> str:
    """Return a text whose kernel notes what it is given, with its launches as calls; raise NotRun where it has none."""
    try:
        start, end = kernel_extent(text, source.entry)
        names = [re.findall(r"(\w+)\s*$", each)[0] for each in parameters(text, source.entry)]
    except NoKernel as missing:
        raise NotRun(f"the text is without {missing}") from None
    if not re.search(rf"\b{re.escape(source.launcher)}\s*\(", blanked(text)):
        raise NotRun(f"the text has no function {source.launcher}")
    body = blanked(text)
    opening = body.index("{", closing(body, body.index("(", body.index(f"{source.entry}(", start))))
    noted = ", ".join(f"swizzle_host::word({name})" for name in names)
    lines = "\n" * text.count("\n", opening, end)
    made = "<>" if re.search(rf"\b{re.escape(source.entry)}\s*<>\s*<<<", body) else ""  # a template, in a header
    kernel = f"reinterpret_cast<const void*>(&{source.entry}{made})" if source.shared_bytes else "nullptr"
    text = f"{text[:opening]}{{ swizzle_host::launched({kernel}, {{{noted}}}); {lines}}}{text[end:]}"
    found = list(_LAUNCH.finditer(blanked(text)))
    if not found:
        raise NotRun(f"{source.launcher} launches nothing")
    for launch in reversed(found):
        text = _as_calls(text, launch)
    return text


def _as_calls(text: str, launch: re.Match[str]) -> str:
    body = blanked(text)
    stop = body.find(">>>", launch.end())
    if stop < 0 or body[stop + 3 :].lstrip()[:1] != "(":
        raise NotRun("a launch that is not understood")
    opening = body.index("(", stop + 3)
    end = closing(body, opening) + 1
    if not 1 <= len(argument_spans(body, launch.end(), stop)) <= 4:
        raise NotRun("a launch that is not understood")
    name = launch[1] + (launch[2] or "")
    configured = f"::swizzle_host::configure({text[launch.end() : stop]})"
    return f"{text[: launch.start()]}({configured}, {name}{text[opening:end]}){text[end:]}"
