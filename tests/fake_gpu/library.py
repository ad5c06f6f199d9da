"""The driver of driver.cpp, and the CPU emulation behind its launches."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from cuda_out.c.kernel_text import parameters
from cuda_out.emulate.emulate import EmulationError, emulate

ILLEGAL_ADDRESS = 700
STRUCTURE = re.compile(r"struct (\w+) \{\n  (\w+) at\[(\d+)\];")
"""An array by value, as it is printed: its name, the elements' type, how many there are."""
TYPES = {"float4": "f4", "float": "f4", "unsigned long long": "u8", "long long": "i8", "unsigned": "u4", "int": "i4"}
ON_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_void_p),
)


def build(folder: Path) -> Path:
    """Compile the driver against the toolkit's cuda.h, under the name that everybody looks for."""
    library = folder / "libcuda.so.1"
    command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", "-cudart", "none", "-o", str(library)]
    subprocess.run([*command, str(Path(__file__).with_name("driver.cpp")), "-ldl"], check=True)
    return library


def opened(library: Path) -> ctypes.CDLL:
    found = ctypes.CDLL(str(library))
    found.fake_size.argtypes, found.fake_size.restype = [ctypes.c_uint64], ctypes.c_size_t
    found.fake_allocations.restype = ctypes.c_size_t
    found.fake_last_stream.restype = ctypes.c_void_p
    return found


def element(declaration: str) -> np.dtype[Any]:
    """Return the type of a declared parameter, or of what it points to."""
    words = declaration.replace("const ", "").replace("__restrict__", "")
    return np.dtype(next(code for name, code in TYPES.items() if words.startswith(name)))


def run_on_cpu(
    library: ctypes.CDLL, text: str, entry: str, grid: Any, block: Any, arguments: Any,
    cache: Path | None = None, shared: int = 0,
) -> int:  # fmt: skip
    """Run a launch on the emulation, as its text declares its arguments; return what CUDA's status would be."""
    given: list[Any] = []
    structures = {name: element(of).itemsize * int(count) for name, of, count in STRUCTURE.findall(text)}
    for position, declaration in enumerate(parameters(text, entry)):
        place = arguments[position]
        if size := structures.get(declaration.replace("const ", "").split()[0]):
            given.append(np.void(ctypes.string_at(place, size)))
            continue
        dtype = element(declaration)
        if "*" not in declaration:
            given.append(np.frombuffer(ctypes.string_at(place, dtype.itemsize), dtype)[0])
            continue
        address = ctypes.c_uint64.from_address(place).value
        size = library.fake_size(address)
        assert size, f"{entry}: {declaration} is no allocation"
        given.append(np.frombuffer((ctypes.c_char * size).from_address(address), dtype, size // dtype.itemsize))
    try:
        emulate(text, entry, tuple(grid[:3]), tuple(block[:3]), given, cache_dir=cache, shared_bytes=shared)
    except EmulationError as error:
        print(f"{entry}: {error}")
        return ILLEGAL_ADDRESS
    return 0
