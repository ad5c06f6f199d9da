"""Fuzz the reader of PTX against ptxas: `python bench/fuzz_ptx.py --count 10000`.

Each text is the PTX of a small kernel with one or two changes of its tokens. What the reader takes and ptxas refuses is
printed and counts as a failure: something in it was not looked at. What ptxas takes and the reader refuses is only
counted, by the complaint, as the reader knows a part of PTX. Nothing but NotInterpreted may be raised.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from cuda_out.compile.toolchain import compile_to_ptx
from cuda_out.ptx.reading.lexer import END, Token, tokens
from cuda_out.ptx.reading.parse import parse
from cuda_out.ptx.syntax import NotInterpreted

ARCH = "sm_80"
KERNELS = (
    """extern "C" __global__ void __launch_bounds__(64) sums(const float* __restrict__ x, float* y, long long n) {
  const long long begin = blockIdx.x * 64ll;
  const int left = n - begin < 64 ? int(n - begin) : 64, i = threadIdx.x;
  float v = i < left ? x[begin + i] : 0.0f;
  v += __shfl_sync(0xffffffffu, v, (i + 1) & 31) * 3.0f;
  if (i < left) y[begin + i] = v / 3.0f;
}""",
    """extern "C" __global__ void tiles(const int* x, int4* y, double z) {
  __shared__ int tile[32][33];
  const int i = threadIdx.x;
  for (int k = 0; k < 4; ++k) tile[k][i] = x[32 * k + i] ^ (x[i] >> 3);
  __syncthreads();
  y[i] = make_int4(tile[0][i], max(tile[1][31 - i], 5), tile[2][i] * (z > 1.0), __syncwarp(), 4);
}""".replace("__syncwarp(), 4", "int(z)"),
    """__device__ const unsigned table[4] = {1, 2, 3, 5};
extern "C" __global__ void bits(const unsigned long long* x, unsigned* y, unsigned short* h) {
  const int i = threadIdx.x;
  const unsigned long long v = x[i];
  y[i] = unsigned(v >> 7) + table[i & 3] + __funnelshift_l(unsigned(v), unsigned(v >> 32), 5);
  h[i] = static_cast<unsigned short>((v & 0xff) + (i > 3 && v > 9 ? 1 : 2));
  __syncwarp();
}""",
)
WORDS = (
    ".pragma", '"//"', '"nounroll"', ".loc", ".file", ";", ",", "{", "}", "(", ")", "[", "]", "@", "!", "-", "+", "|",
    "0", "1", "32", "-1", "0xff", "010", "4294967296", "0f3F800000", "0d3FF0000000000000", "1.5", ".global", ".shared",
    ".local", ".const", ".param", ".nc", ".volatile", ".relaxed", ".v2", ".v4", ".lo", ".hi", ".wide", ".rn", ".rz",
    ".rzi", ".ftz", ".sat", ".approx", ".sync", ".aligned", ".uni", ".to", ".and", ".eq", ".lt", ".ltu", ".x", ".y",
    ".u8", ".u16", ".u32", ".u64", ".s16", ".s32", ".s64", ".b16", ".b32", ".b64", ".f16", ".f32", ".f64", ".pred",
    ".visible", ".extern", ".weak", ".entry", ".func", ".reg", ".align", ".maxntid", ".reqntid", ".minnctapersm",
    ".maxnreg", ".reqnctapercluster", ".explicitcluster", ".noreturn", "%p1", "%p99", "%r1", "%r2", "%rd1", "%rd2",
    "%f1", "%rs1", "%tid.x", "%laneid", "%clock", "WARP_SZ", "_", "nowhere", "ret", "exit", "trap", "mov", "add", "mul",
    "mad", "fma", "selp", "setp", "cvt", "cvta", "ld", "st", "and", "shl", "shr", "bra", "bar", "bar.sync 0;",
    "membar.cta;", "ret;", "mov.u32 %r1, 1;", "add.s32 %r1, %r1, %r2;", "{ }", "/*", "*/", "//", "\n",
)  # fmt: skip


@dataclass
class Outcome:
    """What became of some texts: how often the two agree, and where they do not."""

    both: int = 0
    neither: int = 0
    only_ptxas: Counter[str] = field(default_factory=Counter)
    only_reader: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        count = self.both + self.neither + self.only_ptxas.total() + len(self.only_reader)
        return (
            f"{count} texts: {self.both} taken by both, {self.neither} by neither, {self.only_ptxas.total()} by ptxas "
            f"alone, {len(self.only_reader)} by the reader alone"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int, default=10_000, help="texts to try (default 10000)")
    options.add_argument("--seed", type=int, default=0, help="of the first text; each has a seed of its own")
    options.add_argument("--jobs", type=int, default=2, help="ptxas at a time (default 2)")
    given = options.parse_args(arguments)
    if shutil.which("ptxas") is None:
        print("no ptxas on the PATH", file=sys.stderr)
        return 2
    outcome = fuzz(range(given.seed, given.seed + given.count), given.jobs)
    for complaint, times in outcome.only_ptxas.most_common(40):
        print(f"  ptxas alone, {times}: {complaint}")
    for text in outcome.only_reader:
        print(f"  reader alone: {text}")
    print(outcome)
    return 1 if outcome.only_reader else 0


def fuzz(seeds: Sequence[int], jobs: int = 2) -> Outcome:
    """Try a text for each seed."""
    outcome, texts = Outcome(), [for_ptxas(compile_to_ptx(kernel, ARCH)) for kernel in KERNELS]
    with tempfile.TemporaryDirectory(prefix="swizzle-fuzz-") as folder, ThreadPoolExecutor(jobs) as pool:
        waiting = iter(seeds)
        while some := list(islice(waiting, 64 * jobs)):
            mutated = [altered(texts[seed % len(texts)], random.Random(seed)) for seed in some]
            files = [Path(folder, f"{seed}.ptx") for seed in some]
            taken = pool.map(assembles, (text for text, _ in mutated), files)
            for seed, (text, change), assembled in zip(some, mutated, taken, strict=True):
                complaint = refusal(text)
                if assembled and complaint:
                    outcome.only_ptxas[re.sub(r"line \d+: ", "", complaint)[:110]] += 1
                elif assembled:
                    outcome.both += 1
                elif complaint:
                    outcome.neither += 1
                else:
                    outcome.only_reader.append(f"seed {seed}: {change}")
    return outcome


def for_ptxas(ptx: str) -> str:
    """Say the version that this ptxas knows, where the compiler is newer."""
    said = subprocess.run(["ptxas", "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"release (\d+)\.(\d+)", said)
    assert release is not None
    newest = (int(release[1]) - 4, int(release[2]))  # CUDA 12.0 brought PTX 8.0, CUDA 13.0 PTX 9.0
    version = re.search(r"\.version (\d+)\.(\d+)", ptx)
    assert version is not None
    least = min(newest, (int(version[1]), int(version[2])))
    return ptx.replace(version[0], f".version {least[0]}.{least[1]}", 1)


def altered(ptx: str, rng: random.Random) -> tuple[str, str]:
    """Return a text with one or two changes, behind its header, and the changes in words."""
    said = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        try:
            found = [token for token in tokens(ptx) if token.kind != END]
        except NotInterpreted:
            break
        first = 1 + next(n for n, token in enumerate(found) if token.text == ".address_size")
        number = rng.randrange(first + 1, len(found))
        ptx, change = _change(ptx, found, number, rng)
        said.append(f"line {found[number].line}: {change}")
    return ptx, "; ".join(said)


def _change(ptx: str, found: Sequence[Token], number: int, rng: random.Random) -> tuple[str, str]:
    token = found[number]
    begin, end, old = token.begin, token.end, token.text
    way = rng.choices(("alike", "modifier", "delete", "twice", "insert", "other", "line"), (45, 12, 8, 5, 10, 5, 15))[0]
    if way == "line":
        return _line(ptx, token.line - 1, rng)
    if way == "delete":
        return ptx[:begin] + ptx[end:], f"without {old}"
    if way == "twice":
        return ptx[:end] + (" " if old[0] != "." else "") + old + ptx[end:], f"{old} twice"
    if way == "insert":
        word = rng.choice(WORDS)
        return f"{ptx[:begin]} {word} {ptx[begin:]}", f"{word} before {old}"
    same = {each.text for each in found if each.kind == token.kind and (each.text[0] == "%") == (old[0] == "%")}
    if way == "modifier" and token.kind == "modifier":
        same = {word for word in WORDS if word[0] == "."}
    new = rng.choice(sorted(same - {old}) or WORDS) if way != "other" else rng.choice(WORDS)
    return ptx[:begin] + new + ptx[end:], f"{new} for {old}"


def _line(ptx: str, at: int, rng: random.Random) -> tuple[str, str]:
    """Drop a line, say it twice, or move it."""
    lines = ptx.split("\n")
    old, to = lines[at], rng.randrange(max(at - 9, 12), min(at + 9, len(lines)))
    way = rng.choice(("without", "twice", "moved"))
    if way != "twice":
        del lines[at]
    if way != "without":
        lines.insert(to, old)
    return "\n".join(lines), f"{way}: {old.strip()}"


def assembles(text: str, file: Path) -> bool:
    """Say whether ptxas takes a text."""
    file.write_text(text)
    command = ["ptxas", f"-arch={ARCH}", "-O0", "-o", f"{file}.cubin", str(file)]
    try:
        return subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    finally:
        file.unlink()
        Path(f"{file}.cubin").unlink(missing_ok=True)


def refusal(text: str) -> str:
    """Return the reader's complaint about a module and its kernels, '' where it takes them."""
    try:
        kernels = parse(text)
    except NotInterpreted as error:
        return str(error)
    for kernel in kernels.values():
        for part in (kernel, *kernel.functions.values()):
            if part.refused:
                return part.refused
    return "" if kernels else "no kernel"


if __name__ == "__main__":
    sys.exit(main())
