"""The C++ compiler of the host, which reads printed texts after a header of ours."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from cuda_out.compile.children import refused
from cuda_out.compile.keeper import scratch_folder
from cuda_out.compile.opaque import own_function_at
from cuda_out.compile.toolchain import CompileError, run_compiler
from symbolic.errors import SwizzleError

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
