"""Lengths that a host function in C++ treats in a way of its own, found by what the compiled function compares.

GCC can call a function before each comparison (`-fsanitize-coverage=trace-cmp`). With the numbers on both sides,
`singled_out` finds where a comparison turns: also where a text computes the length from several numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from cuda_out.c.printer import CudaSource
from cuda_out.compile.children import TooLong, run_child
from cuda_out.compile.keeper import scratch_folder
from cuda_out.compile.toolchain import CompileError
from cuda_out.emulate.building import INCLUDES, compile_with, compiler, linker
from cuda_out.emulate.host import FLAGS, LINKED, PATIENCE, HostCall, NotRun, calls, given_lengths, noting, spelled
from cuda_out.emulate.lengths import singled_out

Tracer = Callable[[int, Sequence[int]], list[Mapping[Hashable, int]]]
"""From an axis's place and lengths along it to the difference of the sides of each comparison, for each length."""
_WORDS: Final = 4
"""Of a comparison: `at`, where it is, and its sides."""


def calls_compared(source: CudaSource, text: str) -> Iterator[HostCall]:
    """Yield calls with the lengths beside which a comparison of a text's host function turns; none where the compiler
    cannot tell. Raises NotRun as a run of the function does."""
    if source.tiling is None:
        return
    standard = list(calls(source))
    with _tracer(source, text) as trace:
        for place, axis in enumerate(source.tiling.axes if trace else ()):
            start = {call.lengths[place] for call in standard if 0 <= call.lengths[place] < 2**62}

            def along(lengths: Sequence[int], place: int = place) -> list[Mapping[Hashable, int]]:
                assert trace is not None
                return trace(place, lengths)

            for length in singled_out(along, start, axis.step):
                yield given_lengths(source, place, length)


@contextmanager
def _tracer(source: CudaSource, text: str) -> Iterator[Tracer | None]:
    """Compile a text's host function once, to be called with lengths of the command line."""
    lengths = [f"(place == {place} ? length : {declared}ll)" for place, declared in enumerate(source.lengths())]
    called = spelled(source, source.launcher, next(iter(calls(source))), lengths)
    unit = f"""#include "compared.h"
#include "kernel.cu"
#include <cstdlib>
int main(int count, char** words) {{
  const int place = atoi(words[1]);
  for (int each = 2; each < count; ++each) {{
    const long long length = atoll(words[each]);
    swizzle_host::call(cudaSuccess, {source.shared_bytes}, [=] {{ return {called}; }});
  }}
}}
"""
    cpp, flags = compiler(), (*FLAGS, "-fsanitize-coverage=trace-cmp", *INCLUDES)
    with scratch_folder() as scratch:
        Path(scratch, "kernel.cu").write_bytes(noting(source, text).encode())
        Path(scratch, "unit.cpp").write_bytes(unit.encode())
        program = scratch / "program"
        made = False
        with suppress(
            CompileError
        ):  # a compiler without such calls; what is wrong in the text itself is told elsewhere
            compile_with([cpp, *flags, *LINKED, *linker(), f"{scratch}/unit.cpp", "-o", str(program)], text, program)
            made = True

        def trace(place: int, lengths: Sequence[int]) -> list[Mapping[Hashable, int]]:
            try:
                done = run_child([str(program), str(place), *map(str, lengths)], seconds=PATIENCE, starts=False)
            except TooLong:
                raise NotRun(f"{source.launcher} still runs after {PATIENCE} seconds") from None
            lines = [line for line in done.text.splitlines() if " status " in line]
            if done.status or len(lines) != len(lengths):
                raise NotRun(f"{source.launcher} ends with status {done.status} at one of many lengths")
            return [_compared(line) for line in lines]

        yield trace if made else None


def _compared(line: str) -> Mapping[Hashable, int]:
    """Return the differences of what a call compared; a comparison that is made again is one of its own."""
    found: dict[Hashable, int] = {}
    words = line.split()
    for start in (at for at, word in enumerate(words) if word == "at" and len(words) >= at + _WORDS):
        _, where, left, right = words[start : start + _WORDS]
        nth = 0
        while (where, nth) in found:
            nth += 1
        found[where, nth] = _difference(left, right)
    return found


def _difference(left: str, right: str) -> int:
    if "x" not in left + right and "n" not in left + right:
        return int(left) - int(right)
    a, b = float.fromhex(left), float.fromhex(right)  # of which the sign will do
    return (a > b) - (a < b)
