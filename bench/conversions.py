"""Conversions between distributions of a tile, beside their bounds. `python -m bench.conversions [--sass]`.

For each conversion: what `swizzle.layouts.convert` returns, the way in registers with the fewest clocks and the one
with the fewest shuffles, what shuffles and clocks take there at least, the turns of shared memory, the clocks of
Triton's way, and the processor time of the answer.
Triton's way is what its sources say (lib/Analysis/Utility.cpp and ConvertLayoutOpToLLVM.cpp): one exchange of a bit of
the register with a bit of the lane in registers, anything more through shared memory, here without conflicts. With
`--sass`, the printed function is compiled and its SHFL, SEL and PRMT are counted.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from cuda_out.compile.report import instruction_counts
from cuda_out.compile.toolchain import compile_cuda
from swizzle import layouts
from swizzle.layouts import Conversion, convert, mma


def structures(words: int) -> tuple[Any, Any, dict[str, Any]]:
    """Coalesced words to structures of so many words, one a lane."""
    source = layouts.distribution(lambda register, lane: 32 * register + lane, registers=words, name="coalesced")
    target = layouts.distribution(lambda register, lane: words * lane + register, registers=words, name="structures")
    return source, target, {"bits": 32}


CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "tf32": (mma("C", "m16n8k8"), mma("A", "m16n8k8"), {"bits": 32, "shape": (16, 8)}),
    "f16": (mma("C", "m16n8k16"), mma("A", "m16n8k16"), {"bits": 16, "shape": (16, 16)}),
    "fp8": (mma("C", "m16n8k32"), mma("A", "m16n8k32"), {"bits": 8, "shape": (16, 32)}),
    "8x8 b16": ("c0 | c1 c2 r0 r1 r2", "r0 | r1 r2 c0 c1 c2", {"bits": 16}),
    "16x16 b16": ("c0 r3 c3 | c1 c2 r0 r1 r2", "r0 c3 r3 | r1 r2 c0 c1 c2", {"bits": 16}),
    "rows to A": ("c0 c1 c2 | c3 r0 r1 r2 r3", mma("A", "m16n8k16"), {"bits": 16, "shape": (16, 16)}),
    "C to float4 rows": ("c0 r3 c3 c4 | c1 c2 r0 r1 r2", "c0 c1 r2 r3 | c2 c3 c4 r0 r1", {"bits": 32}),
    "blocked": ("c0 c1 r3 | c2 c3 r0 r1 r2", "r0 r1 c3 | r2 r3 c0 c1 c2", {"bits": 32}),
    "quads": ("a b | c d x y z", "c d | a b x y z", {"bits": 32}),
    "octets": ("a b e | c d f y z", "c d f | a b e y z", {"bits": 32}),
    "32x32": ("c0 c1 c2 c3 c4 | r0 r1 r2 r3 r4", "r0 r1 r2 r3 r4 | c0 c1 c2 c3 c4", {"bits": 32}),
    "warps": ("c0 c1 | c2 c3 r0 r1 r2 | r3 r4", "r0 r1 | r2 r3 c0 c1 c2 | c3 r4", {"bits": 16}),
    **{f"AoS {words}": structures(words) for words in range(3, 9)},
}
TRITON: dict[str, tuple[str, str]] = {
    "tf32": ("c0 r3 | c1 c2 r0 r1 r2", "r3 c2 | c0 c1 r0 r1 r2"),
    "fp8": ("c0 r3 c3 c4 | c1 c2 r0 r1 r2", "c0 c1 r3 c4 | c2 c3 r0 r1 r2"),
    "rows to A": ("c0 c1 c2 | c3 r0 r1 r2 r3", "c0 r3 c3 | c1 c2 r0 r1 r2"),
    "AoS 4": ("e5 e6 | e0 e1 e2 e3 e4", "e0 e1 | e2 e3 e4 e5 e6"),
    "AoS 8": ("e5 e6 e7 | e0 e1 e2 e3 e4", "e0 e1 e2 | e3 e4 e5 e6 e7"),
}
"""The bits of cases that are given otherwise."""


def tritons_clocks(name: str) -> float | None:
    """Return the clocks of Triton's way by the same bound of pipes; None for what is no permutation of bits."""
    source, target, options = CASES[name]
    source, target = TRITON.get(name, (source, target))
    if not isinstance(source, str) or not isinstance(target, str) or source.count("|") > 1:
        return None
    (registers, lanes), (_, to) = ([part.split() for part in each.split("|")] for each in (source, target))
    mixed = sum(bit in to for bit in registers)
    packed = min((32 // options["bits"]).bit_length() - 1, len(registers) - mixed) if mixed < 2 else 0
    count = 1 << len(registers) - packed
    still = all(bit not in to or to.index(bit) == k for k, bit in enumerate(lanes))
    if mixed == 0 and still:
        return 0
    if mixed == 1 and still:
        return max(count / 2, 1.5 * count / 2)
    return float(count) if mixed < 2 else 2.0 * max(1, count * options["bits"] // 32)


def kernel_text(conversion: Conversion, times: int = 1) -> str:
    """Return a kernel `k` that converts the registers of a block, `times` times on different registers."""
    threads = conversion.source.warps * 32
    before, after = words(conversion.source.slots, conversion.bits), words(conversion.target.slots, conversion.bits)
    tile, call = "", "convert(x, y);"
    if conversion.shared is not None:
        size, at = conversion.shared.layout.bytes, conversion.shared.layout.alignment
        tile = f"    __shared__ __align__({at}) unsigned char tile[{size}];\n"
        call = "convert(x, y, tile);"
    body = "".join(
        f"    {{\n        unsigned x[{before}], y[{after}];\n"
        f"        for (int i = 0; i < {before}; ++i) x[i] = in[(i + {n * before}) * {threads} + threadIdx.x];\n"
        f'        for (int i = 0; i < {before}; ++i) asm volatile("" : "+r"(x[i]));\n'  # no load of a chosen word
        f"        {call}\n"
        f"        for (int i = 0; i < {after}; ++i) out[(i + {n * after}) * {threads} + threadIdx.x] = y[i];\n    }}\n"
        for n in range(times)
    )
    head = 'extern "C" __global__ void k(const unsigned* __restrict__ in, unsigned* __restrict__ out) {\n'
    return f"{conversion.cuda('convert')}\n{head}{tile}{body}}}\n"


def words(slots: int, bits: int) -> int:
    """Return how many registers so many elements take."""
    return -(-slots * bits // 32)


def sass_counts(conversion: Conversion, arch: str = "sm_90") -> tuple[int, int] | None:
    """Return the shuffles and the selects that one more conversion takes: what lanes are is worked out once.

    None without a disassembler.
    """
    counts = []
    for times in (1, 2):
        found = instruction_counts(compile_cuda(kernel_text(conversion, times), arch).cubin, "k")
        if found is None:
            return None
        counts.append((found.get("SHFL", 0), found.get("SEL", 0) + found.get("PRMT", 0)))
    (shuffles, selects), (more, others) = counts
    return more - shuffles, others - selects


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sass", action="store_true", help="compile, and count instructions")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args()
    print("| | returned | clocks | clocks in registers | fewest shuffles | bound | at least | shared | Triton | s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, (source, target, given) in CASES.items():
        if options.only not in name:
            continue
        before = time.process_time()
        best = convert(source, target, **given)
        seconds = time.process_time() - before
        shared = convert(source, target, via="shared", **given)
        inside: list[str] = []
        least = 0.0
        for fewest in ("clocks", "shuffles") if best.source.warps == 1 else ():
            found = convert(source, target, via="shuffles", fewest=fewest, **given)  # type: ignore[arg-type]
            least = max(least, found.clocks_bound)
            counted = sass_counts(found) if options.sass else None
            inside.append(f"{found.shuffles}/{found.selects}{f' (SASS {counted[0]}/{counted[1]})' if counted else ''}")
        triton = tritons_clocks(name)
        assert triton is None or best.clocks <= triton, name
        cells = [
            f"{best.shuffles}/{best.selects}" if best.via == "shuffles" else "shared",
            f"{best.clocks:g}", *(inside or ["", ""]), str(best.bound if inside else ""),
            f"{least:g}" if inside else "", f"{shared.clocks:g}",
            "" if triton is None else f"{triton:g}", f"{seconds:.2f}",
        ]  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
