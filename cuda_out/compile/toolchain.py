"""Compile printed CUDA C++ with nvcc or NVRTC, whichever is installed; needs no GPU and no driver.

Printed text must compile without a warning. The resources that ptxas reports (registers, stack, spills) are kept with
the result as evidence. nvcc also compiles the host function that launches the kernel; NVRTC reads device code only, so
that function is guarded by `#if !defined(__CUDACC_RTC__)`.

Which GPU architectures have the instructions that a text asks for by name is a table here.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct
from typing_extensions import assert_never

from cuda_out.compile.children import Done, TooLong, call_child, is_confined, refused, run_child, scratch_folder
from symbolic.errors import Portable, SwizzleError
from symbolic.ir.matrices import MatrixMove, MatrixProduct

Tool: TypeAlias = Literal["nvcc", "nvrtc"]


COMPILE_SECONDS: Final = 300
"""As long a compiler may take over one text."""


class Resources(Struct, frozen=True):
    """The resources of one kernel, as ptxas reports them, in bytes; shared memory without its dynamic part."""

    registers: int
    stack_bytes: int
    spill_store: int
    spill_load: int
    shared_bytes: int


class Compiled(Struct, frozen=True):
    """The outcome of one compilation. The keys of `kernels` are the names in the object file, mangled for C++."""

    ptx: str
    cubin: bytes
    log: str
    kernels: Mapping[str, Resources]
    tool: Tool


class CompileError(Portable, RuntimeError):
    """Text that Swizzle printed does not compile, or not without warnings: a bug of ours, not a mistake of the user."""

    def __init__(self, log: str, text: str) -> None:
        super().__init__(log.strip() + _excerpts(log, text))
        self.log = log
        self.text = text


def compile_cuda(
    text: str, arch: str = "sm_80", *, tool: Literal["nvcc", "nvrtc", "auto"] = "auto", name: str = "kernel.cu"
) -> Compiled:
    """Compile CUDA C++ `text` for one architecture, to PTX and to a cubin.

    `tool` 'auto' takes NVRTC if it is installed, else nvcc. `name` is the file name in messages. Raises SwizzleError if
    the tool is missing or does not know `arch`, and CompileError on any error or warning.
    """
    _check_arch(arch)
    match _choose(tool):
        case "nvrtc":
            return _compile_nvrtc(text, arch, name)
        case "nvcc":
            return _compile_nvcc(text, arch, name)
        case never:
            assert_never(never)


class ByHand(Struct, frozen=True):
    """What a text that was written by hand is compiled with: macros, `NAME=VALUE`, the texts of headers by their names,
    and, for nvcc, folders of more headers."""

    defines: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}


def compile_to_ptx(
    text: str,
    arch: str = "sm_80",
    *,
    by_hand: ByHand | None = None,
    tool: Literal["nvcc", "nvrtc", "auto"] = "auto",
) -> str:
    """Compile CUDA C++ `text` to PTX only, and ignore warnings: for text that is altered on purpose.

    Functions that are declared only stay calls. Of a text that was written `by_hand`, each instruction has its line
    (`.loc`, of a file kernel.cu), and functions without annotation, which are constexpr, are for the GPU as well.
    """
    return _compile_only(text, arch, by_hand, tool)[0]


def resources_of(text: str, arch: str, *, by_hand: ByHand, tool: Tool) -> Mapping[str, Resources]:
    """Ask ptxas what the kernels of a text take that was written by hand; raise CompileError where it refuses them."""
    return _resources(_compile_only(text, arch, by_hand, tool, assemble=True)[1])


def _compile_only(
    text: str, arch: str, by_hand: ByHand | None, tool: Literal["nvcc", "nvrtc", "auto"], *, assemble: bool = False
) -> tuple[str, str]:
    """Compile to PTX, and with `assemble` on to what ptxas makes of it; return the PTX, where it is asked for, and what
    was said."""
    _check_arch(arch)
    separate = made_apart(text)
    match _choose(tool):
        case "nvrtc":
            options = [f"--gpu-architecture={arch if assemble else arch.replace('sm_', 'compute_')}", *separate]
            options += ["--ptxas-options=-v"] if assemble else []
            if by_hand is not None:
                options += ["--generate-line-info", "--device-as-default-execution-space"]
                options += [f"--define-macro={each}" for each in by_hand.defines]
            log, ptx, _ = _run_nvrtc(text, arch, "kernel.cu", options, by_hand)
            return ptx, log
        case "nvcc":
            with scratch_folder() as scratch:
                source = Path(scratch, "kernel.cu")
                source.write_bytes(text.encode())
                made = Path(scratch, "kernel.cubin" if assemble else "kernel.ptx")
                more, reads = separate, list[Path]()
                if by_hand is not None:
                    more = [*separate, "-lineinfo", "-DNDEBUG", "--expt-relaxed-constexpr", "--expt-extended-lambda"]
                    more += [*(f"-D{each}" for each in by_hand.defines), *(f"-I{each}" for each in by_hand.includes)]
                    more += [f"-I{scratch}"] if by_hand.headers else []
                    reads = [Path(folder) for folder in by_hand.includes]
                    for name, header in by_hand.headers.items():
                        Path(scratch, name).parent.mkdir(exist_ok=True)
                        Path(scratch, name).write_bytes(header.encode())
                more += ["-cubin", "-Xptxas", "-v"] if assemble else ["-ptx"]
                command = ["nvcc", "-std=c++17", f"-arch={arch}", "-w", *more, "-o", str(made), str(source)]
                done = run_compiler(command, made, reads)
                if done.status:
                    raise CompileError(done.log, text)
                return "" if assemble else made.read_text(encoding="utf-8"), done.log
        case never:
            assert_never(never)


def made_apart(text: str) -> list[str]:
    """Return the option by which a function that is only declared in a text stays a call."""
    return ["--relocatable-device-code=true"] if re.search(r'^extern "C" __device__ [^{]*;', text, re.M) else []


def compile_both_forms(text: str, header: str, namespace: str, arch: str) -> None:
    """Compile a printed text and its header, host functions included, with nvcc; raise CompileError as it warns.

    They are one translation unit, the header's namespace renamed, as two take twice the time.
    """
    with scratch_folder() as scratch:
        unit = f'#include "kernel.cu"\n#define {namespace} {namespace}_header\n#include "kernel.cuh"\n'
        for name, part in (("kernel.cu", text), ("kernel.cuh", header), ("unit.cu", unit)):
            Path(scratch, name).write_bytes(part.encode())
        command = ["nvcc", "-std=c++17", f"-arch={arch}", "-c", "-o", "unit.o", "unit.cu"]
        done = run_compiler(command, scratch / "unit.o")
    log = done.log
    if "Unsupported gpu architecture" not in log:
        _refuse_warnings(done.status != 0, log, header if "kernel.cuh(" in log else text)


def run_compiler(command: Sequence[str], made: Path, reads: Sequence[Path] = ()) -> Done:
    """Run a compiler in the folder of what it is to make, which is there afterwards, or its status is not 0.

    Raises SwizzleError for a compiler that does not end, has no room, or is out of order: one that cannot compile an
    empty file either.
    """
    tool = Path(command[0]).name
    try:
        done = run_child(command, seconds=COMPILE_SECONDS, folder=made.parent, reads=reads)
    except TooLong:
        raise SwizzleError(
            f"{tool} still ran after {COMPILE_SECONDS} seconds, and was ended",
            expected="a compiler that comes to an end",
            fix=f"try it by itself, or take it off the PATH: {command[0]}",
        ) from None
    if done.status == 0 and made.exists():
        return done
    if full := re.search(r"No space left on device|Disk quota exceeded", done.log):
        raise SwizzleError(
            f"{tool} cannot write into {made.parent.parent}: {full[0]}",
            expected="a folder with room for scratch files",
            fix="make room, or name another folder in TMPDIR",
        )
    if why := out_of_order(command[0]):
        raise SwizzleError(
            why,
            expected="a compiler that compiles an empty file",
            fix=f"install it anew, or take it off the PATH: {command[0]}",
        )
    if done.status == 0:
        raise SwizzleError(
            f"{tool} ended well and wrote nothing", expected=made.name, fix=f"install it anew: {command[0]}"
        )
    return done


def out_of_order(compiler: str) -> str:
    """Return how a compiler fails at an empty file, '' where it does not."""
    with scratch_folder() as scratch:
        source, made = scratch / "empty.cu", scratch / "empty.o"
        source.touch()
        language = [] if "nvcc" in Path(compiler).name else ["-x", "c++"]
        try:
            done = run_child([compiler, *language, "-c", str(source), "-o", str(made)], seconds=60, folder=scratch)
        except TooLong:
            return f"{compiler} comes to no end"
        if done.status == 0 and made.exists():
            return ""
        said = done.log.strip().splitlines()[:1]
        how = f"ended with status {done.status}" if done.status else "wrote nothing"
        return f"{compiler} compiles nothing: of an empty file it {how}" + (f" and said: {said[0]}" if said else "")


def available_tools() -> list[Tool]:
    """List the compilers of this machine, the preferred one first."""
    tools: list[Tool] = []
    if _nvrtc() is not None:
        tools.append("nvrtc")
    if shutil.which("nvcc") and not refused():
        tools.append("nvcc")
    return tools


def uses_local(ptx: str) -> bool:
    """Say whether PTX keeps anything in local memory.

    An array appears as a `.local` depot exactly if it is indexed dynamically, or spilled by hand. ptxas may later turn
    a small one into selects, so this detects more than the size of the stack frame does.
    """
    return re.search(r"\.local\b", ptx) is not None


def include_directories() -> list[str]:
    """List the folders with CUDA's own headers (`cuda_fp16.h`), for NVRTC, which does not know them."""
    candidates = [Path(root, "include") for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")) if root]
    if nvcc := shutil.which("nvcc"):
        candidates.append(Path(nvcc).resolve().parent.parent / "include")
    try:
        from cuda import pathfinder

        # Preferred: headers installed as a wheel match an NVRTC that was installed as one.
        if found := pathfinder.find_nvidia_header_directory("cudart"):
            candidates.insert(0, Path(found))
    except (ImportError, AttributeError):  # not installed, or older than that function
        pass
    found = [folder for folder in candidates if (folder / "cuda_fp16.h").is_file()][:1]
    return [str(part) for folder in found for part in (folder, folder / "cccl") if part.is_dir()]


def _check_arch(arch: str) -> None:
    if not re.fullmatch(r"sm_\d+[af]?", arch):
        raise SwizzleError(
            f"GPU architecture {arch!r}",
            expected="a name such as sm_80 or sm_90",
            fix="write sm_ and the compute capability without its point: 8.6 is sm_86",
        )


def _choose(tool: Literal["nvcc", "nvrtc", "auto"]) -> Tool:
    tools = available_tools()
    if tool == "auto" and tools:
        return tools[0]
    if tool != "auto" and tool in tools:
        return tool
    missing = "no CUDA compiler" if tool == "auto" else f"no {tool}"
    raise SwizzleError(
        f"{missing} on this machine",
        expected="NVRTC in this Python environment, or nvcc on the PATH",
        fix="pip install 'swizzle-inventor[nvrtc]', or install the CUDA toolkit",
    )


# ---- nvcc ------------------------------------------------------------------------------------------------------


def _compile_nvcc(text: str, arch: str, name: str) -> Compiled:
    """Run nvcc once, host code included, and collect the intermediate files."""
    with scratch_folder() as scratch:
        source = Path(scratch, "kernel.cu")  # one fixed name, so that the intermediate files' names are known
        source.write_bytes(text.encode())
        command = ["nvcc", "-std=c++17", f"-arch={arch}", "-Xptxas", "-v", "--keep"]
        command += ["--keep-dir", str(scratch), "-c", "-o", f"{scratch}/kernel.o", str(source)]
        done = run_compiler(command, scratch / "kernel.o")
        log = done.log.replace(str(source), name)
        if "Unsupported gpu architecture" in log:
            raise _unknown_arch(arch, "nvcc")
        _refuse_warnings(done.status != 0, log, text)
        ptx = Path(scratch, "kernel.ptx").read_text(encoding="utf-8")
        cubin = next(Path(scratch).glob("*.cubin")).read_bytes()
    return Compiled(ptx, cubin, log, _resources(log), "nvcc")


# ---- NVRTC -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _nvrtc() -> Any:
    """Import NVRTC's bindings; None when they or the library are not there."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()  # loads the library
    except (ImportError, RuntimeError, OSError):  # also what the bindings raise for a library that is not there
        return None
    return nvrtc


def _compile_nvrtc(text: str, arch: str, name: str) -> Compiled:
    log, ptx, cubin = _run_nvrtc(text, arch, name, [f"--gpu-architecture={arch}", "--ptxas-options=-v"])
    _refuse_warnings(False, log, text)
    return Compiled(ptx, cubin, log, _resources(log), "nvrtc")


class _Answer(Struct, array_like=True):
    """What NVRTC made of a text; `well` says whether it compiled."""

    well: bool
    log: str
    ptx: str = ""
    cubin: bytes = b""


def _run_nvrtc(
    text: str, arch: str, name: str, options: Sequence[str], by_hand: ByHand | None = None
) -> tuple[str, str, bytes]:
    """Compile and return the log, the PTX and the cubin (empty where the options name no real architecture).

    A stranger's text is compiled in a process of its own, with a time limit.
    """
    nvrtc = _nvrtc()
    if int(re.sub(r"\D", "", arch)) not in _call(nvrtc, nvrtc.nvrtcGetSupportedArchs()):
        raise _unknown_arch(arch, "NVRTC")

    def answer() -> _Answer:
        return _nvrtc_answer(text, name, options, by_hand.headers if by_hand is not None else {})

    if is_confined() and not refused():
        code = [Path(folder) for folder in {sys.prefix, sys.base_prefix, *include_directories()}]
        try:
            said = call_child(lambda: msgspec.msgpack.encode(answer()), seconds=COMPILE_SECONDS, reads=code)
        except TooLong:
            raise CompileError(f"NVRTC has no answer after {COMPILE_SECONDS} seconds, or broke down", text) from None
        found = msgspec.msgpack.decode(said, type=_Answer)
    else:
        found = answer()
    if not found.well:
        raise CompileError(found.log, text)
    return found.log, found.ptx, found.cubin


def _nvrtc_answer(text: str, name: str, options: Sequence[str], headers: Mapping[str, str]) -> _Answer:
    nvrtc = _nvrtc()
    includes = [f"--include-path={folder}" for folder in include_directories()]
    words = [word.encode() for word in ("--std=c++17", *options, *includes)]
    named = [[part.encode() for part in parts] for parts in (headers.values(), headers.keys())]
    program = _call(nvrtc, nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), len(headers), *named))
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(words), words)
        log = _text(nvrtc, program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            return _Answer(False, log)
        ptx = _text(nvrtc, program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        cubin = _bytes(nvrtc, program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return _Answer(True, log, ptx, cubin)


def _call(nvrtc: Any, answer: tuple[Any, ...]) -> Any:
    """Unpack what a binding returns: a status, then at most one value."""
    status, *values = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise AssertionError(f"NVRTC: {nvrtc.nvrtcGetErrorString(status)[1].decode()}")
    return values[0] if values else None


def _bytes(nvrtc: Any, program: Any, size: Any, get: Any) -> bytes:
    buffer = bytearray(_call(nvrtc, size(program)))
    _call(nvrtc, get(program, buffer))
    return bytes(buffer)


def _text(nvrtc: Any, program: Any, size: Any, get: Any) -> str:
    return _bytes(nvrtc, program, size, get).rstrip(b"\0").decode(errors="replace")


# ---- logs ------------------------------------------------------------------------------------------------------

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def _resources(log: str) -> dict[str, Resources]:
    """Read ptxas's -v report: for each entry function a line with its frame, then one with its registers."""
    kernels: dict[str, Resources] = {}
    name, frame = "", (0, 0, 0)
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name, frame = entry[1], (0, 0, 0)
        elif sizes := _FRAME.search(line):
            frame = (int(sizes[1]), int(sizes[2]), int(sizes[3]))
        elif (used := _USED.search(line)) and name:
            shared = _SHARED.search(line)
            kernels[name] = Resources(int(used[1]), *frame, int(shared[1]) if shared else 0)
    return kernels


def _refuse_warnings(failed: bool, log: str, text: str) -> None:
    """Refuse all warnings but one: an architecture that holds fewer blocks than the kernel asks for leaves that out."""
    said = re.sub(
        r"warning *: Value of minnctapersm for entry \w+ is out of range. minnctapersm will be ignored", "", log
    )
    if failed or re.search(r"\bwarning\b", said):
        raise CompileError(log, text)


def _unknown_arch(arch: str, tool: str) -> SwizzleError:
    return SwizzleError(
        f"{tool} here does not compile for {arch}",
        expected="an architecture that it knows",
        fix="name another, or install a CUDA toolkit that knows it",
    )


def _excerpts(log: str, text: str) -> str:
    """Quote the numbered lines of the text that the log speaks of: `name(12): error` or `name:12:5: error`."""
    lines = text.splitlines()
    named = {int(a or b) for a, b in re.findall(r"\((\d+)\): (?:error|warning)|:(\d+):\d+: (?:fatal )?error", log)}
    shown = sorted({n for line in named for n in range(line - 2, line + 3) if 1 <= n <= len(lines)})
    return "".join(f"\n{n:5d}{' >' if n in named else '  '} {lines[n - 1]}" for n in shown)


ARCHITECTURES: Final = ("sm_75", "sm_80", "sm_90", "sm_100")
_PRODUCT: Final = re.compile(r"\bmma\.sync\.aligned\.m(\d+)n(\d+)k(\d+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.\w+")
_MOVE: Final = re.compile(r"\b(ldmatrix|stmatrix|movmatrix)\.sync\.aligned")
_OTHERS: Final = ((re.compile(r"\bcp\.async\."), 80),)


def _needs(text: str) -> Iterator[tuple[int, str]]:
    for found in _PRODUCT.finditer(text):
        m, n, k = (int(found[part]) for part in (1, 2, 3))
        row = MatrixProduct(m, n, k, found[5], found[6], found[4])
        yield row.architecture, f"mma.{row.shape} of {row.a}"
    for found in _MOVE.finditer(text):
        yield MatrixMove(found[1], 1, False).architecture, found[1]  # type: ignore[arg-type]
    for pattern, least in _OTHERS:
        if match := pattern.search(text):
            yield least, match[0].strip(".")


def least_architecture(text: str) -> tuple[str, str]:
    """Return the oldest architecture that a text may be compiled for, and which instruction needs it, '' for none."""
    least, why = max(_needs(text), default=(0, ""), key=lambda need: need[0])
    if least <= _number(ARCHITECTURES[0]):
        return ARCHITECTURES[0], ""
    return f"sm_{least}", why


def architectures_of(text: str) -> tuple[str, ...]:
    """Return the architectures of ours that have what a text asks for."""
    least, _ = least_architecture(text)
    return tuple(each for each in ARCHITECTURES if _number(each) >= _number(least))


def _number(architecture: str) -> int:
    return int(architecture.removeprefix("sm_"))
