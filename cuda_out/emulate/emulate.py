"""Run the very text of a printed `.cu` on the CPU: the third witness beside the machine and a GPU.

`emulate.h` makes CUDA C++ out of a host C++ compiler; the program that comes out runs in a process of its own, one
fiber per thread, and is stricter than hardware: see `emulate_scheduler.cpp` (masks, barriers, lane orders) and
`emulate_memory.cpp` (exact bounds, races). Numbers are those of IEEE arithmetic without contraction to fma; signed
integers wrap.

The C++ compiler of the host, which reads printed texts after a header of ours.

Device functions that are instructions of a whole warp are put as a host compiler takes them: what is inline PTX in a
body of `cuda_out.c.warp_text` becomes a call of `emulate_matrices.h`, on as many lines.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from cuda_out.compile.children import TooLong, process_folder, refused, run_child, scratch_folder
from cuda_out.compile.launch import Shape3, check_shapes, qualified
from cuda_out.compile.opaque import own_function_at
from cuda_out.compile.toolchain import CompileError, run_compiler
from symbolic.errors import SwizzleError

_FUNCTION: Final = re.compile(
    r"^(__device__ __forceinline__ void (?:mma_m(?P<m>\d+)n8k(?P<k>\d+)|(?P<move>ldmatrix|stmatrix|movmatrix)_x\d"
    r"(?P<trans>_trans)?)\((?P<parameters>[^{]*)\)) \{\n(?P<body>(?:  .*\n)+)\}$",
    re.MULTILINE,
)


def with_emulated_matrices(text: str) -> str:
    """Return a text without inline PTX of matrices."""
    return _FUNCTION.sub(_emulated, text) if "asm volatile" in text else text


def included(text: str) -> str:
    """Return the line that includes what such a text calls, '' if it calls nothing."""
    return '#include "emulate_matrices.h"\n' if "swizzle_emulation::" in text else ""


def _emulated(found: re.Match[str]) -> str:
    names = re.findall(r"\(&(\w+)\)", found["parameters"])
    if found["move"] is None:
        call = f"multiply<{found['m']}, {found['k']}>({', '.join(names)})"
    elif found["move"] == "movmatrix":
        call = f"move_matrix({', '.join(names)})"
    else:
        kind, trans = "load" if found["move"] == "ldmatrix" else "store", "true" if found["trans"] else "false"
        call = f"{kind}_matrices<{trans}>(row, {', '.join(names)})"
    lines = found["body"].count("\n")
    return f"{found[1]} {{\n  swizzle_emulation::{call};" + "\n" * lines + "}"


HERE: Final = Path(__file__).parent
INCLUDES: Final = ("-I", str(HERE), "-I", str(HERE / "emulate_include"))
COMMON_FLAGS: Final = ("-std=c++17", "-w", "-fno-pie", "-U_FORTIFY_SOURCE", "-fno-exceptions")


def compile_with(command: list[str], text: str, made: Path, reads: Sequence[Path] = ()) -> None:
    """Run the compiler in the folder of what it makes; raise CompileError with its words, without the folder's name."""
    done = run_compiler(command, made, reads)
    if done.status:
        log = done.log.replace(f"{made.parent}/", "")
        if name := own_function_at(log, text):
            complaint = (
                next((line for line in log.splitlines() if "error:" in line), log).partition("error:")[2].strip()
            )
            raise SwizzleError(
                f"the C++ text of {name} does not compile: {complaint}",
                expected="the body of a function in CUDA C++ that the host's compiler takes, too",
                fix=f"mend the text in @cuda.external(...) above {name}",
            )
        raise CompileError(log, text)


def compiled_header(header: str, cpp: str, flags: Sequence[str], folder: Path) -> Path:
    """Return where GCC finds a header of ours compiled, which saves a third to two thirds of a text's time.

    For the first text that is not worth it: the place is empty, and the compiler reads the header itself.
    """
    place = folder / f"header-{digest(sources_digest(), header, cpp, *flags)}"
    made = place / f"{header}.gch"
    if place.exists() and not made.exists():
        with scratch_folder(folder) as scratch:
            new = scratch / made.name
            compile_with([cpp, *flags, "-x", "c++-header", str(HERE / header), "-o", str(new)], "", new)
            os.replace(new, made)
    place.mkdir(exist_ok=True)
    return place


@lru_cache
def sources_digest() -> str:
    """Return a digest of our headers and sources."""
    files = [*HERE.glob("*.h"), *HERE.glob("*.cpp"), *HERE.glob("emulate_include/*.h")]
    return digest(*(file.read_text(encoding="utf-8") for file in sorted(files)))


def digest(*parts: str) -> str:
    """Return a digest of texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


@lru_cache
def compiler() -> str:
    for name in (os.environ.get("CXX", ""), "g++", "clang++"):
        if name and (path := shutil.which(name)):
            return path
    raise SwizzleError(
        "no C++ compiler found, which running a kernel on the CPU needs",
        expected="g++ or clang++ on the PATH, or its name in CXX",
        fix="install one, for example with `apt-get install g++`",
    )


@lru_cache
def linker() -> tuple[str, ...]:
    """Return the option for gold where it is there, which links in a third of the time."""
    return ("-fuse-ld=gold",) if shutil.which("ld.gold") else ()


def missing_compiler() -> str:
    """Return why nothing can be emulated here, '' where it can."""
    if why := refused():
        return f"{why}; --trust runs it without one"
    try:
        compiler()
    except SwizzleError as error:
        return error.found
    return ""


Argument: TypeAlias = "np.ndarray[Any, np.dtype[Any]] | np.generic"

_DTYPES = ("f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
_RUNTIME_FLAGS = (*COMMON_FLAGS, "-O1")
_KERNEL_FLAGS = (
    *COMMON_FLAGS,
    "-O1",
    "-g1",
    "-gdwarf-4",  # binutils mixes up the files of GCC's version 5
    "-fstack-clash-protection",  # large local arrays hit the guard page, not another thread's stack
    "-ffp-contract=off",
    "-fwrapv",
    "-fsanitize=thread,bounds,alignment,shift-exponent,integer-divide-by-zero",
)
_DYNAMIC_SHARED = re.compile(
    r"extern\s+__shared__\s+((?:__align__\s*\(\s*\d+\s*\)\s+)?)([\w: ]+?)\s+(\w+)\s*\[\s*\]\s*;"
)
_POINTER = r'"r"\(unsigned\(__cvta_generic_to_shared\((\w+)\)\)\),\s*"l"\(__cvta_generic_to_global\((\w+)\)\)'
_PTX: Final = tuple(
    (re.compile(rf'asm\s+volatile\("{instruction};"\s*:\s*:{operands}\s*:\s*"memory"\);'), call)
    for instruction, operands, call in (
        (r"cp\.async\.c[ag]\.shared\.global \[%0\], \[%1\], (\d+)", rf"\s*{_POINTER}", r"copy_async(\2, \3, \1, \1);"),
        (
            r"cp\.async\.c[ag]\.shared\.global \[%0\], \[%1\], (\d+), %2", rf'\s*{_POINTER},\s*"r"\(([^"]+)\)',
            r"copy_async(\2, \3, \1, \4);",
        ),
        (r"cp\.async\.commit_group", "", "commit_copies();"),
        (r"cp\.async\.wait_group %0", r'\s*"n"\((\w+)\)', r"wait_copies(\1);"),
    )
)  # fmt: skip
"""The instructions of PTX that printed texts write out, and the functions of `emulate.h` that do the same."""


class EmulationError(RuntimeError):
    """The printed kernel does what CUDA leaves undefined; the message says what, which thread, and where."""


def emulate(
    text: str,
    kernel: str,
    grid: Shape3,
    block: Shape3,
    arguments: Sequence[Argument],
    *,
    order: int = 0,
    resident: int = 1,
    warp_size: int = 32,
    shared_bytes: int = 0,
    timeout: int = 60,
    cache_dir: Path | None = None,
) -> None:
    """Run `kernel` of the CUDA C++ `text` on the CPU; arrays are changed in place, as device memory would be.

    `kernel` may be qualified and instantiated: `ns::scale<float, 3>`; a namespace may be left out. Arguments are
    NumPy arrays and NumPy scalars of exactly the kernel's types, `np.void` for a structure. `order` says in which order
    lanes, warps and blocks take turns (0 ascending, 1 descending, more: pseudo-random) and what uninitialised shared
    memory holds.
    So many `resident` blocks take turns, the others wait until one has ended; where there are several, volatile stores
    are seen late, and out of order where no `__threadfence()` orders them, and volatile loads may give older values.
    `warp_size` is a power of two up to 64; a mask of all ones means every lane of the warp. `timeout` is in
    seconds, `shared_bytes` is the size of an `extern __shared__` array. Compiled programs live in `cache_dir`, by
    default until the process ends.

    Raises EmulationError for accesses out of bounds, races, lanes missing from a mask, divergent barriers, blocks that
    wait for ever and the like; SwizzleError for arguments that do not fit; CompileError when the text does not compile.
    """
    _check_launch(grid, block, warp_size, arguments)
    program = _program(text, qualified(text, kernel), cache_dir)
    request = [struct.pack("<12Q", *grid, *block, warp_size, order, resident, shared_bytes, timeout, len(arguments))]
    for argument in arguments:
        is_array = isinstance(argument, np.ndarray)
        kind, item_bytes = argument.dtype.kind.encode(), argument.dtype.itemsize
        request.append(struct.pack("<c?6xQQ", kind, is_array, item_bytes, argument.nbytes))
    request += [argument.tobytes() for argument in arguments]
    try:
        # The program ends itself at the limit and says which thread still ran; the margin is for one that cannot.
        done = run_child([str(program)], seconds=timeout + 10, given=b"".join(request), starts=False)
    except TooLong:
        raise EmulationError(f"{kernel} still runs after {timeout} seconds") from None
    answer = done.out
    if answer[:1] == b"K":
        _copy_back(answer, arguments)
        return
    if answer[:1] == b"A":
        raise SwizzleError(answer[9:].decode(), fix="pass NumPy arrays and scalars of the kernel's own types")
    if answer[:1] == b"E":
        (program_counter,) = struct.unpack_from("<Q", answer, 1)
        raise EmulationError(answer[9:].decode(errors="replace") + _place(program, program_counter))
    raise EmulationError(f"the emulation of {kernel} ended with status {done.status} and no answer")


def emulate_checked(
    text: str,
    kernel: str,
    grid: Shape3,
    block: Shape3,
    arguments: Sequence[Argument],
    *,
    orders: Sequence[int] = (0, 1, 2, 3),
    warp_size: int = 32,
    shared_bytes: int = 0,
    timeout: int = 60,
    cache_dir: Path | None = None,
    alike: bool = True,
) -> None:
    """Run `kernel` as `emulate` does, once in each order; raise EmulationError where the results differ, unless they
    need not be `alike`, as sums of floats by atomic additions.

    Arrays hold the first order's result afterwards; when the results differ they are left as they were.
    """
    results: list[list[Argument]] = []
    for order in orders:
        copies = [_copy(argument) for argument in arguments]
        emulate(
            text,
            kernel,
            grid,
            block,
            copies,
            order=order,
            warp_size=warp_size,
            shared_bytes=shared_bytes,
            timeout=timeout,
            cache_dir=cache_dir,
        )
        results.append(copies)
        for position, (first, other) in enumerate(zip(results[0], copies, strict=True) if alike else ()):
            if isinstance(first, np.ndarray):
                _compare(position, first, np.asarray(other), orders[0], order)
    for argument, result in zip(arguments, results[0], strict=True):
        if isinstance(argument, np.ndarray) and argument.flags.writeable:
            argument[...] = result


def _copy(argument: Argument) -> Argument:
    copy = argument.copy()
    if isinstance(argument, np.ndarray) and isinstance(copy, np.ndarray):
        copy.flags.writeable = argument.flags.writeable
    return copy


def _compare(position: int, first: Any, other: Any, first_order: int, order: int) -> None:
    """Raise where two results differ in a bit, naming array and element."""
    bits = np.dtype(f"u{first.dtype.itemsize}")
    first_bits, other_bits = np.ascontiguousarray(first).view(bits), np.ascontiguousarray(other).view(bits)
    different = np.argwhere(first_bits != other_bits)
    if len(different):
        element = tuple(int(i) for i in different[0])
        raise EmulationError(
            f"the result depends on the order of lanes: argument {position}, element {element} is {first[element]} "
            f"in order {first_order} and {other[element]} in order {order}"
        )


def _check_launch(grid: Shape3, block: Shape3, warp_size: int, arguments: Sequence[Argument]) -> None:
    check_shapes(grid, block)
    if warp_size not in (1, 2, 4, 8, 16, 32, 64):
        raise SwizzleError(
            f"warp size {warp_size}",
            expected="a power of two up to 64",
            fix="use a warp size of 1, 2, 4, 8, 16, 32 or 64",
        )
    arrays: list[tuple[int, Any]] = []
    for position, argument in enumerate(arguments):
        if not isinstance(argument, np.ndarray | np.generic):
            raise SwizzleError(
                f"argument {position} is a {type(argument).__name__}",
                expected="a NumPy array, or a NumPy scalar such as np.int32(5)",
                fix="convert it: np.asarray(...), np.float32(...)",
            )
        known = argument.dtype.str[1:] in _DTYPES and argument.dtype.isnative
        if not known and not isinstance(argument, np.void):
            raise SwizzleError(
                f"argument {position} has dtype {argument.dtype}",
                expected=f"one of {_DTYPES}",
                fix="convert it: array.astype(np.float32)",
            )
        if isinstance(argument, np.ndarray):
            for earlier, array in arrays:
                if np.may_share_memory(array, argument) and (array.flags.writeable or argument.flags.writeable):
                    raise SwizzleError(
                        f"arguments {earlier} and {position} share memory", fix="pass a copy of one of them"
                    )
            arrays.append((position, argument))


def _copy_back(answer: bytes, arguments: Sequence[Argument]) -> None:
    flags, at = answer[1 : 1 + len(arguments)], 1 + len(arguments)
    for position, argument in enumerate(arguments):
        if flags[position : position + 1] != b"W":
            continue
        assert isinstance(argument, np.ndarray)
        if not argument.flags.writeable:
            raise SwizzleError(
                f"argument {position} is a read-only array, but the kernel writes it", fix="pass a copy: array.copy()"
            )
        argument[...] = np.frombuffer(answer, argument.dtype, argument.size, at).reshape(argument.shape)
        at += argument.nbytes
    assert at == len(answer), "the emulation's answer has another size than its arrays"


# ---- building --------------------------------------------------------------------------------------------------


def _program(text: str, kernel: str, cache_dir: Path | None) -> Path:
    """Build the program that runs this kernel, or find it by the hash of everything that goes into it."""
    cpp = compiler()
    folder = process_folder() if cache_dir is None else cache_dir
    folder.mkdir(parents=True, exist_ok=True)
    runtime = _runtime_object(cpp, folder)
    text = with_ptx_called(with_emulated_matrices(_DYNAMIC_SHARED.sub(_point_at_dynamic_shared, text)))
    flags = (*_KERNEL_FLAGS, *_options(cpp), *INCLUDES)
    program = folder / f"kernel-{digest(sources_digest(), cpp, *flags, kernel, text)}"
    if not program.exists():
        header = compiled_header("emulate.h", cpp, flags, folder)
        with scratch_folder(folder) as scratch:
            unit, new = Path(scratch, "unit.cpp"), Path(scratch, "program")
            Path(scratch, "kernel.cu").write_bytes(text.encode())
            unit.write_text(f'#include "emulate.h"\n{included(text)}#include "kernel.cu"\nSWIZZLE_KERNEL({kernel})\n')
            compiled = scratch / "unit.o"
            command = [cpp, "-I", str(header), *flags, "-c", str(unit), "-o", str(compiled)]
            compile_with(command, text, compiled, [header])
            # Linked without -fsanitize: the runtime answers the sanitizers' calls itself.
            compile_with([cpp, *linker(), "-no-pie", str(compiled), str(runtime), "-o", str(new)], text, new, [runtime])
            os.replace(new, program)
    return program


def with_ptx_called(text: str) -> str:
    """Return a text with calls in the place of instructions of PTX; line breaks stay."""
    for instruction, call in _PTX:

        def called(found: re.Match[str], call: str = call) -> str:
            return f"swizzle_emulation::{found.expand(call)}" + "\n" * found[0].count("\n")

        text = instruction.sub(called, text)
    return text


def _runtime_object(cpp: str, folder: Path) -> Path:
    """Compile what every program is linked with, once a folder: one unit, as three take twice the time."""
    made = folder / f"runtime-{digest(sources_digest(), cpp, *_RUNTIME_FLAGS)}.o"
    if not made.exists():
        with scratch_folder(folder) as scratch:
            unit, new = Path(scratch, "unit.cpp"), Path(scratch, "runtime.o")
            unit.write_text("".join(f'#include "emulate_{part}.cpp"\n' for part in ("main", "memory", "scheduler")))
            compile_with([cpp, *_RUNTIME_FLAGS, "-I", str(HERE), "-c", str(unit), "-o", str(new)], "", new)
            os.replace(new, made)
    return made


def _point_at_dynamic_shared(declaration: re.Match[str]) -> str:
    """Rewrite `extern __shared__ T name[];`, which C++ has no like of, to a pointer; line breaks stay."""
    _, dtype, name = declaration.groups()
    breaks = "\n" * declaration[0].count("\n")
    return f"{dtype}* const {name} = static_cast<{dtype}*>(swizzle_emulation::dynamic_shared_memory());{breaks}"


@lru_cache
def _options(cpp: str) -> tuple[str, ...]:
    """Return those options that this compiler has, of these: variables that are never set are filled with a pattern, so
    that they are not zero by chance; volatile accesses are told from others."""
    volatile = ("--param=tsan-distinguish-volatile=1", "-mllvm -tsan-distinguish-volatile=1")
    options = ("-ftrivial-auto-var-init=pattern", *volatile)
    return tuple(word for option in options if _has(cpp, option.split()) for word in option.split())


def _has(cpp: str, option: Sequence[str]) -> bool:
    command = [cpp, "-fsanitize=thread", *option, "-x", "c++", "-fsyntax-only", os.devnull]
    try:
        return not run_child(command, seconds=60).status
    except TooLong:
        raise SwizzleError(
            f"{cpp} comes to no end",
            expected="a compiler that compiles an empty file",
            fix=f"install it anew, or take it off the PATH: {cpp}",
        ) from None


def _place(program: Path, program_counter: int) -> str:
    """Say which line of the kernel an instruction belongs to, as ' (kernel.cu:12)', or '' when nobody knows."""
    tool = shutil.which("addr2line")
    if not program_counter or tool is None:
        return ""
    command = [tool, "-i", "-e", str(program), hex(program_counter - 1)]
    try:
        found = re.search(r"\bkernel\.cu:(\d+)", run_child(command, seconds=20, reads=[program]).text)
    except TooLong:
        return ""
    return f" ({found[0]})" if found else ""
