"""How many instructions the printed kernels take, beside kernels written by hand: `python bench/sass.py`.

Each kernel is compiled for sm_90 and disassembled; nothing runs. Three numbers are printed of each:

- *thread*: the instructions on the way of a thread that moves the most bytes, and of such ways the shortest: no slow
  path of a division, and of a text for inner blocks and a text for the edge, the one for inner blocks. Instructions
  whose predicate is off count, as they take their turn. Where a loop is on the way, which counts once, there is a `+`.
- *output*: the same for each output.
- *all*: all instructions of the kernel, with the functions that it calls.

*Warps* are those that a multiprocessor holds at once, of 64, by registers, shared memory and the sizes of blocks (the
formula of the CUDA occupancy calculator for compute capability 9.0).

In the end, each case study is compared: the instructions an output of its own kernel, the fewest of ours, with several
outputs a thread too, and the fewest by hand, with their warps and the outputs of all of them. The status is 1 if a
ratio is above 1.1, or if a kernel of ours uses local memory.

`--only stencil` takes the rows whose name contains that; `--arch sm_100` is another GPU. The
kernels written by hand are in hand/; each row says with which constants.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import prod
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.compile.children import scratch_folder
from cuda_out.compile.report import disassembler, parse, shortest
from cuda_out.compile.toolchain import compile_cuda
from cuda_out.devices.device import device
from cuda_out.devices.occupancy import resident_blocks
from swizzle import solve
from swizzle.answers.emit.calling import solution_sizes
from swizzle.answers.emit.emitters import cuda_source
from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch

ROOT = Path(__file__).resolve().parent.parent
HAND = ROOT / "bench" / "hand"
SKETCHES = "bench/gpu/sketches"
TUNED = "case_studies/tuning/filters.py"
TUNED_2D = {
    3: {"columns": 4, "rows": 8, "warps": 8},
    5: {"columns": 4, "rows": 8, "warps": 8},
    7: {"columns": 2, "rows": 8, "warps": 8},
}
"""What `swizzle tune` found for a filter in two dimensions, by its width."""
WANTED = 1.1  # times the instructions of the best kernel written by hand
DEFAULTS = {"S": 1, "V": 1, "U": 1, "T": 8, "R": 1}


class Hand(Struct, frozen=True):
    """A kernel written by hand: FILE:KERNEL in hand/, its constants, and the outputs of a thread."""

    name: str
    constants: Mapping[str, int]
    outputs: int

    def __hash__(self) -> int:
        return hash(self.label)

    @property
    def label(self) -> str:
        return " ".join([self.name.partition(":")[2], *(f"{key}={value}" for key, value in self.constants.items())])


class Row(Struct, frozen=True):
    """A sketch with values of its parameters, the outputs of a thread, and whom it is compared with."""

    target: str
    parameters: Mapping[str, int]
    outputs: int
    against: tuple[Hand, ...]
    cost: str = "accumulates"

    @property
    def label(self) -> str:
        name = self.target.removeprefix("case_studies/").removeprefix("bench/gpu/sketches/").replace(".py", "")
        return " ".join([name, *(f"{key}={value}" for key, value in self.parameters.items())])


class Count(Struct, frozen=True):
    """What was counted of one kernel; `block` is its threads, `shared` its bytes of shared memory."""

    thread: int
    loops: bool
    total: int
    registers: int
    local: bool
    block: int = 32
    shared: int = 0

    @property
    def blocks(self) -> int:
        """How many blocks a multiprocessor of compute capability 9.0 holds at once."""
        return resident_blocks(device("h100"), self.block, self.registers, self.shared)

    @property
    def warps(self) -> int:
        """How many warps a multiprocessor holds at once."""
        return self.blocks * -(-self.block // 32)


class Compared(Struct, frozen=True):
    """What the summary says of one kernel: instructions an output, resident warps, outputs of a thread."""

    instructions: float
    warps: int
    outputs: int


def rows() -> Iterator[Row]:
    """Yield the table's rows."""

    def filters(kernel: str, k: int, *columns: int) -> tuple[Hand, ...]:
        return tuple(Hand(f"filters.cu:{kernel}", {"K": k, "C": c}, c) for c in columns)

    def windows(kernel: str, k: int, *rows: int) -> tuple[Hand, ...]:
        return tuple(Hand(f"windows.cu:{kernel}", {"K": k, "R": r}, r) for r in rows)

    def several(kernel: str, outputs: Sequence[int], name: str, **constants: int) -> tuple[Hand, ...]:
        return tuple(Hand(kernel, {**constants, name: each}, each) for each in outputs)

    for case, ours, kind in (("conv1d", "packed", "filter"), ("stencil1d", "packed_average", "average")):
        one_d = (*filters(f"{kind}_1d", 3, 1, 4, 8), Hand(f"filters.cu:packed_{kind}_1d", {"K": 3, "C": 4}, 4))
        yield Row(f"case_studies/{case}.py", {}, 1, one_d)
        for columns in (4, 8):
            yield Row(f"{SKETCHES}/conv1d.py:{ours}", {"columns": columns}, columns, one_d)
        if case == "conv1d":
            yield Row(f"{TUNED}:conv1d", {"columns": 8, "warps": 8}, 8, one_d)
    average = windows("average_2d", 3, 1, 4, 8)
    yield Row("case_studies/stencil2d.py", {}, 1, average)
    yield Row(f"{SKETCHES}/conv2d.py:average", {"rows": 16, "min_blocks": 32}, 64, average)
    yield Row(f"{TUNED}:stencil2d", {"columns": 4, "rows": 8, "warps": 8}, 32, average)
    for k in (3, 5, 7):
        filter_2d = windows("filter_2d", k, 1, 4, 8)
        yield Row("case_studies/conv2d.py", {"K": k}, 1, filter_2d)
        by_value = {"by_value": 1} if k == 7 else {}
        columns, rows, blocks = {3: (4, 16, 32), 5: (2, 16, 24), 7: (2, 14, 24)}[k]
        shape = {"columns": columns, "rows": rows, "min_blocks": blocks}
        yield Row(f"{SKETCHES}/conv2d.py:packed", {"K": k, **shape, **by_value}, columns * rows, filter_2d)
        yield Row(
            f"{TUNED}:conv2d", {"K": k, **TUNED_2D[k]}, prod((TUNED_2D[k]["columns"], TUNED_2D[k]["rows"])), filter_2d
        )
        if k > 3:  # fewer instructions, and fewer warps
            yield Row(f"{SKETCHES}/conv2d.py:packed", {"K": k, "rows": 8}, 32, filter_2d)
    tiles = (Hand("others.cu:transpose_tile", {"T": 8}, 4), Hand("others.cu:transpose_tile", {"T": 4}, 8))
    yield Row("case_studies/transpose.py", {}, 1, tiles)
    for rows in (8, 4):
        yield Row(f"{SKETCHES}/transpose.py", {"rows": rows}, 32 // rows, tiles)
    for name, vectors, kind in (("aos_sum", "load_sum", "sum"), ("aos_store", "store", "store")):
        for words in (3, 7):
            hand = (Hand(f"structs.cu:shuffled_{kind}", {"S": words}, 1),)
            yield Row(f"case_studies/{name}.py:crc", {"struct_size": words}, 1, hand)
            yield Row(f"case_studies/{name}.py:crc", {"struct_size": words, "warps": 4}, 1, hand)
        for words in (4, 8):
            hand = several(f"structs.cu:vectors_{kind}", (1, 4), "U", S=words, V=4)
            yield Row(f"case_studies/{name}.py:crc", {"struct_size": words}, 1, hand)
            one = {"struct_size": words, "vector": 4}
            structs = {4: 8, 8: 6}[words]
            yield Row(f"{SKETCHES}/aos.py:{vectors}", {**one, "structs": structs, "direct": 1}, structs, hand)
    yield Row("case_studies/mult32.py:register", {}, 2, (Hand("others.cu:multiply", {}, 2),))
    products = several("others.cu:row_product", (1, 2, 4), "R")
    yield Row("case_studies/gemv.py", {}, 1, products)
    yield Row(f"{SKETCHES}/gemv.py", {"each": 4}, 4, products)
    yield Row("case_studies/softmax.py", {}, 1, (Hand("others.cu:softmax_row", {}, 1),))
    tile = (Hand("matrices.cu:product_tile", {"K": 128}, 32),)
    yield Row("case_studies/tensor_cores/hgemm.py", {"K": 128}, 32, tile, "conflicts")
    yield Row("case_studies/tensor_cores/hgemm_stages.py", {}, 32, tile, "conflicts")


def printed(row: Row) -> tuple[str, str]:
    """Return the text of a row's kernel, and the kernel's name in it."""
    file, _, name = row.target.partition(":")
    (sketch,) = load(ROOT / file, name or None, dict(row.parameters))
    assert isinstance(sketch, Sketch)
    best = solve(sketch, cost=row.cost).best
    source = cuda_source(best.program, (), solution_sizes(best))
    return source.text, source.entry


def written(hand: Hand) -> tuple[str, str]:
    """Return the text of a kernel written by hand without the others of its file, and its name."""
    file, _, name = hand.name.partition(":")
    text = (HAND / file).read_text(encoding="utf-8")
    head = "".join(f"#define {key} {value}\n" for key, value in {**DEFAULTS, **hand.constants}.items())
    first, *kernels = re.split(r'(?=^extern "C" )', text, flags=re.M)
    mine = next(each for each in kernels if f" {name}(" in each)
    # What stands between two kernels are functions that later ones use.
    shared = "".join(re.sub(r"\A.*?^}\n", "", each, flags=re.M | re.S) for each in kernels[: kernels.index(mine)])
    return head + first + shared + mine, name


def count(text: str, entry: str, arch: str = "sm_90") -> Count:
    """Compile a text and count the instructions of one kernel."""
    compiled = compile_cuda(text, arch)
    resources = compiled.kernels[entry]
    found = counted(compiled.cubin, entry)
    threads = re.search(rf"\.entry {entry}\([^)]*\)\s*\.maxntid (\d+), (\d+), (\d+)", compiled.ptx)
    assert threads, "each kernel says how many threads a block has"
    return replace(
        found,
        registers=resources.registers,
        local=bool(resources.stack_bytes or resources.spill_load or resources.spill_store),
        block=prod(map(int, threads.groups())),
        shared=resources.shared_bytes,
    )


def counted(cubin: bytes, entry: str) -> Count:
    """Disassemble a cubin and count the instructions of one kernel; what only ptxas says is left out."""
    tool = disassembler()
    assert tool is not None, "nvdisasm is not installed"
    with scratch_folder() as scratch:
        file = Path(scratch, "kernel.cubin")
        file.write_bytes(cubin)
        listing = subprocess.run([tool, "-c", str(file)], capture_output=True, text=True, check=True).stdout
    code, labels = parse(listing, entry)
    way = shortest(code, labels)
    return Count(
        len(way.instructions),
        way.loops,
        sum(each.head != "NOP" for each in code),
        0,
        any(each.head == "LDL" for each in code),
    )


@cache
def count_hand(hand: Hand, arch: str) -> Count:
    return count(*written(hand), arch)


def line(name: str, found: Count, outputs: int) -> str:
    """Return one line of the table."""
    more = "+" if found.loops else ""
    local = ", local memory" if found.local else ""
    each = found.thread / outputs
    thread = f"{found.thread}{more} | {each:.1f} | {found.total}"
    return f"| {name} | {outputs} | {thread} | {found.registers}{local} | {found.warps} |"


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="", help="rows whose name contains this")
    options.add_argument("--arch", default="sm_90", help="the GPU that is compiled for")
    given = options.parse_args(arguments)
    print("| kernel | outputs | thread | output | all | registers | warps |\n|---|---|---|---|---|---|---|")
    ours: dict[tuple[Hand, ...], dict[str, Compared]] = {}
    spilled = False
    for row in rows():
        if given.only in row.label:
            found = count(*printed(row), given.arch)
            print(line(f"**{row.label}**", found, row.outputs), flush=True)
            if row.against not in ours:
                for hand in row.against:
                    print(line(hand.label, count_hand(hand, given.arch), hand.outputs), flush=True)
            ours.setdefault(row.against, {})[row.label] = compared(found, row.outputs)
            spilled |= found.local
    hands = {against: {h.label: compared(count_hand(h, given.arch), h.outputs) for h in against} for against in ours}
    lines, worst = summary([(ours[against], hands[against]) for against in ours])
    print("\n".join(["", *lines]))
    return int(worst > WANTED or spilled)


def compared(found: Count, outputs: int) -> Compared:
    return Compared(found.thread / outputs, found.warps, outputs)


def summary(pairs: Iterable[tuple[Mapping[str, Compared], Mapping[str, Compared]]]) -> tuple[list[str], float]:
    """Return a table of the fewest instructions an output, ours and by hand, and the largest ratio of the two.

    The first of ours is the case study itself. In flight are the outputs of all threads that are resident. The last
    column is the fewest of ours that have three quarters of the other's warps or more.
    """
    lines = [
        "| case study | its own | best of ours | best by hand | ratio | warps | outputs in flight | 3/4 of its warps |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    worst = 0.0
    for ours, hands in pairs:
        (case, own), best, hand = (
            next(iter(ours.items())),
            min(ours, key=lambda name: ours[name].instructions),
            min(hands, key=lambda name: hands[name].instructions),
        )
        mine, theirs = ours[best], hands[hand]
        ratio = mine.instructions / theirs.instructions
        worst = max(worst, ratio)
        cells = [
            case,
            f"{own.instructions:.1f}",
            f"{mine.instructions:.1f}: {best}",
            f"{theirs.instructions:.1f}: {hand}",
        ]
        cells += [f"{ratio:.2f}", f"{mine.warps}, {theirs.warps}"]
        cells.append(f"{32 * mine.warps * mine.outputs}, {32 * theirs.warps * theirs.outputs}")
        wide = {name: each for name, each in ours.items() if 4 * each.warps >= 3 * theirs.warps}
        name = min(wide, key=lambda each: wide[each].instructions, default="")
        cells.append(_versus(wide[name], theirs, "" if name == best else f": {name}") if name else "none")
        lines.append("| " + " | ".join(cells) + " |")
    return lines, worst


def _versus(mine: Compared, theirs: Compared, name: str) -> str:
    return f"{mine.instructions / theirs.instructions:.2f} with {mine.warps}{name}"


if __name__ == "__main__":
    sys.exit(main())
