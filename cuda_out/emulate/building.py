"""The C++ compiler of the host, which reads printed texts after a header of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Final

from cuda_out.compile.toolchain import CompileError
from symbolic.errors import SwizzleError

HERE: Final = Path(__file__).parent
COMMON_FLAGS: Final = ("-std=c++17", "-w", "-fno-pie", "-U_FORTIFY_SOURCE", "-fno-exceptions")


def compile_with(command: list[str], text: str, scratch: str) -> None:
    """Run the compiler; raise CompileError with its words, the scratch folder's name taken out."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise CompileError(done.stderr.replace(f"{scratch}/", ""), text)


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


def missing_compiler() -> str:
    """Return why nothing can be emulated here, '' where it can."""
    try:
        compiler()
    except SwizzleError as error:
        return error.found
    return ""
