"""How far each command runs over its limits: `python -m bench.limits [WORD...]`, those whose name holds a word.

Each command is run as users run it, with `--timeout` or `--memory`, on work that takes longer or more. Start is what
the same command took just before on a file that is not there: Python and its imports. Over is what the process took
beyond that and the seconds it was given.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).resolve().parent.parent

SLOW_SPEC: Final = """
from swizzle import cuda, f32, sketch, spec, sw_xform

@spec
def turned(x):
    n = 0
    while n < 10**12:
        n = n + 1
    return [x[(i + 1) % 32] for i in range(32)]

@sketch(spec=turned, block=32, x=f32[32], y=f32.out[32])
def turn(x, y):
    t = cuda.threadIdx.x
    y[t] = cuda.shfl_sync(cuda.FULL_MASK, x[t], sw_xform(t, 32))
"""
SWZ: Final = """
@spec
def turned(x):
    n = 0
    for i in range(3000):
        for j in range(3000):
            n = n + i * j
    return [x[(i + 1) % 32] for i in range(32)]

@sketch(spec=turned, block=32, x=f32[32], y=f32.out[32])
def turn(x, y):
    t = cuda.threadIdx.x
    y[t] = cuda.shfl_sync(cuda.FULL_MASK, x[t], ?sw_xform(t, 32))
"""
LOADING: Final = "while True:\n    pass\n"
GATHERED: Final = """
from swizzle import cuda, f32, sketch, spec, sw_xform

N = 720

@spec
def summed(x):
    return [x[(7 * i + 3) % N] + x[(8 * i + 3) % N] + x[(9 * i + 3) % N] + x[(10 * i + 3) % N] for i in range(N)]

@sketch(spec=summed, block=N, x=f32[N], y=f32.out[N])
def gather(x, y):
    t = cuda.threadIdx.x
    total = f32(0)
    for k in range(4):
        total = total + x[sw_xform(t, N, k)]
    y[t] = total
"""
SHUFFLED: Final = """
from swizzle import cuda, f32, sketch, spec, sw_cond, sw_xform

@spec
def summed(x):
    found, total = [], 0
    for i in range(64):
        total = total + x[i]
        found.append(total)
    return found

@sketch(spec=summed, block=64, warp_size=64, x=f32[64], y=f32.out[64])
def reduce(x, y):
    t = cuda.threadIdx.x
    total = x[t]
    for k in range(6):
        other = cuda.shfl_sync(cuda.FULL_MASK, total, sw_xform(t, 64, k))
        if sw_cond(t, k):
            total += other
    y[t] = total
"""
LOOP: Final = """
from swizzle import f32, i32, serial

@serial
def recurrence(a: f32, b: f32):
    x, y, z = 0, 1, 1
    for v, w in zip(a, b):
        x, y, z = max(x + v, y * w), max(y + w, z + v), max(z * v, x + w)
    return x
"""
FILES: Final = {
    "slow.py": SLOW_SPEC, "slow.swz": SWZ, "loading.py": LOADING, "gathered.py": GATHERED, "shuffled.py": SHUFFLED,
    "loop.py": LOOP,
}  # fmt: skip


class Row(Struct, frozen=True):
    """A command; `limit` is in seconds, or in MiB where it is of memory."""

    name: str
    words: str
    limit: float
    of_memory: bool = False


def studies() -> dict[str, str]:
    """Return the texts that are made of case studies: with an operator for which there is no solution."""
    mult = ROOT / "case_studies" / "mult32.py"
    return {"or32.py": mult.read_text().replace('outer="^"', 'outer="|"')}


ROWS: Final = (
    Row("a file that does not end", "solve loading.py", 1),
    Row("a specification in Python", "solve slow.py", 1),
    Row("a specification in .swz", "solve slow.swz", 1),
    Row("solve, early", "solve gathered.py", 0.3),
    Row("solve, building", "solve gathered.py", 2),
    Row("solve, Space 1", "solve shuffled.py --space 1", 2),
    Row("solve, Space 3", "solve shuffled.py --space 3", 3),
    Row("solve, all spaces", "solve shuffled.py --space all", 5),
    Row("solve, z3", "solve shuffled.py --solver z3", 2),
    Row("solve, cvc5", "solve shuffled.py --solver cvc5", 2),
    Row("solve, portfolio", "solve shuffled.py --solver portfolio", 3),
    Row("solve, naive template", "solve STUDIES/mult32.py:register --template naive-2", 2),
    Row("solve, every solution", "solve STUDIES/mult64.py:register --all", 4),
    Row("solve --certify", "solve STUDIES/mult64.py:register --certify", 4),
    Row("solve -o, any length", "solve STUDIES/stencil2d.py -o OUT", 1),
    Row("solve -o, printing", "solve STUDIES/conv2d.py -o OUT", 1),
    Row("explain", "explain shuffled.py --space 1", 2),
    Row("explain, no answer", "explain or32.py:register", 3),
    Row("operator", "operator loop.py", 1),
    Row("check", "check OUT/shared.json", 0.3),
    Row("check --emitted", "check OUT/shared.json --emitted", 1),
    Row("check --emitted, longer", "check OUT/shared.json --emitted", 3),
    Row("check --emitted --mutate", "check OUT/shared.json --emitted --mutate", 6),
    Row("run", "run OUT/shared.json --device cpu", 1),
    Row("memory: building", "solve gathered.py", 600, True),
    Row("memory: solver", "solve shuffled.py", 300, True),
    Row("memory: portfolio", "solve shuffled.py --solver portfolio", 400, True),
    Row("memory: explain", "explain gathered.py", 500, True),
)


def main() -> None:
    """Print a row for each command that is asked for."""
    wanted = sys.argv[1:]
    rows = [row for row in ROWS if not wanted or any(word in row.name for word in wanted)]
    with TemporaryDirectory(prefix="swizzle-limits-") as name:
        folder = Path(name)
        for file, text in {**FILES, **studies()}.items():
            (folder / file).write_text(text)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SWIZZLE_CACHE": str(folder / "cache")}
        if any("OUT/" in row.words for row in rows):
            words = ["solve", f"{ROOT}/case_studies/mult64.py:shared", "-o", str(folder / "OUT"), "-q"]
            subprocess.run([sys.executable, "-m", "swizzle", *words], env=environment, capture_output=True)
        print("| command | limit | start | took | over | MiB | status | says |\n|---|---|---|---|---|---|---|---|")
        for row in rows:
            print(measured(row, folder, environment), flush=True)


def measured(row: Row, folder: Path, environment: dict[str, str]) -> str:
    """Run a command and return its row of the table."""
    words = row.words.replace("STUDIES", str(ROOT / "case_studies")).split()
    limit = ["--memory", f"{row.limit:g}M"] if row.of_memory else ["--timeout", f"{row.limit:g}"]
    fresh = [] if words[0] in ("operator", "check", "explain") or "OUT/" in row.words else ["--no-cache"]
    command = [sys.executable, "-m", "swizzle", *words, *limit, *fresh, "-q"]
    started = time.monotonic()
    nothing = [sys.executable, "-m", "swizzle", words[0], "missing.py"]
    subprocess.run(nothing, cwd=folder, env=environment, capture_output=True)
    start, started = time.monotonic() - started, time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    took = time.monotonic() - started
    peak = used.ru_maxrss / 1024
    over = f"{peak - row.limit:.0f} MiB" if row.of_memory else f"{took - start - row.limit:.2f} s"
    allowed = f"{row.limit:g} MiB" if row.of_memory else f"{row.limit:g} s"
    lines = [line.strip() for line in said.splitlines() if "reason" in line or "undecided" in line] or said.splitlines()
    last = lines[-1].strip()[:80] if lines else ""
    ended = os.waitstatus_to_exitcode(status)
    return f"| {row.name} | {allowed} | {start:.2f} | {took:.2f} | {over} | {peak:.0f} | {ended} | {last} |"


if __name__ == "__main__":
    main()
