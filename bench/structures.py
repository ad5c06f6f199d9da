"""Arrays of structures of 2 to 16 words: instructions a structure, ours and trove's: `python -m bench.structures`.

Each kernel is compiled for sm_90, disassembled and counted as `bench.sass` does; nothing runs. Of ours there are two
forms. *Shuffled*: a warp loads its structures in neighbouring vectors, and swizzles bring each lane its own: word by
word for odd sizes, in vectors of 2 or 4 words where the size has that factor. *Direct*: each lane loads its own
structure by such vectors, without a shuffle. A thread takes one structure, or several: six by its own loads, four by
shuffles, and two of more than ten words, loaded together, as a compiler would not unroll a loop over them.

`--trove DIR` compiles trove (bryancatanzaro/trove) from a checkout by nvcc: whole warps only, its fast way, and one
structure a thread. Without it the recorded counts are compared. Both are shown with the warps that a multiprocessor
holds. What a multiprocessor has under way at least are the structures that its warps load before they store any: by
Little's law 3.35 TB/s, at 600 ns, of 132 multiprocessors need 15 KiB in each. The status is 1 if trove takes fewer
instructions at any size than the best of ours, or if that has less than 15 KiB under way.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from pathlib import Path
from typing import Final

from bench.sass import HAND, SKETCHES, Count, Row, count, counted, printed
from cuda_out.compile.children import scratch_folder

SIZES: Final = range(2, 17)
OURS: Final = {"sum": ("aos_sum", "load_sum"), "store": ("aos_store", "store")}
UNDER_WAY: Final = 15  # KiB
# Trove at commit 097faca by nvcc 13.0 for sm_90, sizes 2, 3, ..., 16; all take 32 registers or fewer: 64 warps.
RECORDED: Final[Mapping[str, tuple[int, ...]]] = {
    "sum": (20, 61, 21, 81, 72, 103, 73, 120, 104, 139, 93, 157, 138, 174, 146),
    "store": (22, 68, 30, 93, 86, 120, 92, 142, 128, 166, 122, 189, 172, 211, 190),
}


def rows(form: str, words: int) -> Iterator[tuple[str, Row]]:
    """Yield our kernels, each with the name of its column."""
    case, sketch = OURS[form]
    vector = gcd(words, 4)
    if vector == 1:
        yield "shuffled", Row(f"case_studies/{case}.py:crc", {"struct_size": words, "warps": 4}, 1, ())
    shuffled = {"structs": 4} if words <= 10 else {"structs": 2, "at_once": 2}
    for given in ({"structs": 1}, shuffled):
        if 1 < vector < words or (vector == 1 and given is shuffled):
            row = {"struct_size": words, "vector": vector, **given}
            yield "shuffled", Row(f"{SKETCHES}/aos.py:{sketch}", row, given["structs"], ())
    for structs in (1, 6) if vector > 1 else ():
        row = {"struct_size": words, "vector": vector, "structs": structs, "direct": 1}
        yield "direct", Row(f"{SKETCHES}/aos.py:{sketch}", row, structs, ())


def trove(form: str, words: int, folder: Path | None) -> int:
    """Return the instructions of trove's kernel."""
    if folder is None:
        return RECORDED[form][words - SIZES[0]]
    with scratch_folder() as scratch:
        made = Path(scratch, "trove.cubin")
        command = ["nvcc", "-std=c++17", "-w", "-cubin", "-arch=sm_90", f"-DS={words}", f"-I{folder}", "-o", str(made)]
        subprocess.run([*command, str(HAND / "trove.cu")], check=True)
        return counted(made.read_bytes(), f"trove_{form}").thread


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--trove", type=Path, metavar="DIR", help="a checkout of bryancatanzaro/trove")
    options.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="words of a structure")
    given = options.parse_args(arguments)
    behind = False
    for form in OURS:
        print(f"| {form}: words | shuffled: one, several | direct: one, six | trove | best of ours | warps | KiB |")
        print("|---|---|---|---|---|---|---|")
        for words in given.sizes:
            counts: dict[str, list[tuple[float, Count, Row]]] = {"shuffled": [], "direct": []}
            for column, row in rows(form, words):
                found = count(*printed(row))
                assert not found.local, f"{row.label} uses local memory"
                assert not found.loops, f"{row.label} has a loop, which would count once"
                counts[column].append((found.thread / row.outputs, found, row))
            theirs = trove(form, words, given.trove)
            best, found, row = min((each for column in counts.values() for each in column), key=lambda each: each[0])
            under_way = found.warps * 32 * row.parameters.get("at_once", 1) * words * 4 / 1024
            behind |= best > theirs or under_way < UNDER_WAY
            cells = [", ".join(f"{each:.1f}" for each, *_ in column) for column in counts.values()]
            cells += [str(theirs), f"{best:.1f}: {row.label}", str(found.warps), f"{under_way:.0f}"]
            print("|", " | ".join([str(words), *cells]), "|", flush=True)
    return int(behind)


if __name__ == "__main__":
    sys.exit(main())
