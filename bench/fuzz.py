"""Try what a stranger's files and a sudden end do to Swizzle: `python -m bench.fuzz --budget 60`.

Each kind has its part of the time: damaged sketches, solutions and kernels, whose commands must end in order and
run nothing that they name; commands that a signal ends, which must leave no process, no folder, and no kernel without
its solution; and damaged PTX, of which our reader may take no text that ptxas refuses. Each try has a seed of its own.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from bench import fuzz_ptx
from swizzle.commands.process import execute
from swizzle.sweeps.driver import drive
from swizzle.sweeps.job import SweepJob
from swizzle.sweeps.journal import Journal
from swizzle.sweeps.sweep import processors
from swizzle.sweeps.worker import JobAnswer
from tests.mutations import as_swz, mutated

ROOT: Final = Path(__file__).resolve().parent.parent
CASES: Final = {
    path.name: path.read_text(encoding="utf-8") for path in (ROOT / "case_studies").iterdir() if path.is_file()
}
SOURCES: Final = {
    **CASES,
    **{f"{Path(name).stem}_as.swz": as_swz(text) for name, text in CASES.items() if name.endswith(".py")},
    **{path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "errors").glob("*.swz")},
}
SMALL: Final = """\
@spec
def turned(x):
    return [x[(i + 1) % 32] for i in range(32)]

@sketch(spec=turned, block=32, x=f32[32], y=f32.out[32])
def turn(x, y):
    lane = cuda.laneid
    y[lane] = cuda.shfl_sync(cuda.FULL_MASK, x[lane], ?sw_xform(lane, 32))
"""
EVIL: Final = "open('ran', 'w').close()\nfrom swizzle import *\n"
STRANGE: Final = (
    None, True, -1, 0, 2**31, 10**30, 1e308, "", "\ud800", "\x1b[31m", "new\nline", "evil.py", "../evil.py",
    "/etc/passwd", "evil.swz", "/dev/zero", ".", "a" * 5000, [], {}, [[]], {"file": "evil.py"}, "swizzle solution 1",
)  # fmt: skip
"""What a value of a solution may become."""
CALL: Final = "bench.fuzz:attempt"
MOST: Final = 10_000
"""Tries of a kind, where there is time for them."""
PATIENCE: Final = 10
"""Seconds after which nothing of a process that was ended may be left."""


class Tried(Struct):
    """What became of the tries of one kind: how often each end was met, and what was wrong, with the seed."""

    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def take(self, answer: JobAnswer, job: SweepJob) -> None:
        """Take in a try; one that ended its process is wrong."""
        said = json.loads(answer.answer)
        self.ends[said.get("end", answer.status)] += 1
        self.wrong += said["wrong"] if answer.status == "tried" else [f"{job.do}, seed {job.set['seed']}: {said}"]

    def __str__(self) -> str:
        ends = ", ".join(f"{times} {end}" for end, times in sorted(self.ends.items()))
        return f"{self.ends.total()} tried in {self.seconds:.0f} s: {ends}; {len(self.wrong)} wrong"


def fuzz(kinds: Sequence[str], seed: int, budget: float, most: int = MOST) -> Mapping[str, Tried]:
    """Try each kind for its part of `budget` seconds, or `most` times; each try is a job in another process."""
    found = {kind: Tried() for kind in kinds}
    for kind, tried in found.items():
        with tempfile.TemporaryDirectory() as folder, Journal(Path(folder, "tries.sqlite")) as journal:
            tries = {job.key: job for number in range(most) for job in [SweepJob(kind, set={"seed": seed + number})]}
            journal.enlist(tries.values())
            begin = time.monotonic()
            for answer in drive(journal, CALL, workers=processors(), retries=0):
                if answer is not None:
                    tried.take(answer, tries[answer.key])
                if time.monotonic() > begin + budget / len(kinds):
                    break
            tried.seconds = time.monotonic() - begin
    return found


def attempt(job: Mapping[str, Any]) -> dict[str, Any]:
    """Try what a job says in a folder of its own."""
    kind, number = job["do"], job["set"]["seed"]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, chdir(folder):
        end, wrong = KINDS[kind](random.Random(f"{kind} {number}"), number)
    return {"status": "tried", "end": end, "wrong": [f"{kind}, seed {number}: {each}" for each in wrong]}


@contextmanager
def chdir(folder: str) -> Iterator[None]:
    """Work in a folder, and return (contextlib has it from Python 3.11 on)."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


# ---- damaged files ----------------------------------------------------------------------------------------------


def sketch(rng: random.Random, number: int) -> tuple[str, list[str]]:
    """Solve or check a damaged sketch."""
    name, text = rng.choice(sorted(SOURCES.items()))
    file = Path(f"mutant{Path(name).suffix}")
    file.write_text(mutated(text, rng), encoding="utf-8")
    small = ["-D", "warp_size=4"] if 'parameter("warp_size"' in text else []
    command = ["solve", "--timeout", "0.2", "--no-cache"] if rng.random() < 0.5 else ["check"]
    return ends([*command, str(file), "-q", *small])


def solution(rng: random.Random, number: int) -> tuple[str, list[str]]:
    """Check or draw a damaged solution in a folder with a Python file that must not be run."""
    solve(Path("theirs"))
    file = Path("theirs", "turn.json")
    text = file.read_text()
    if rng.random() < 0.3:
        file.write_text(mutated(text, rng), encoding="utf-8", errors="surrogatepass")
    elif rng.random() < 0.2:
        raw = bytearray(text.encode())
        raw[rng.randrange(len(raw))] = rng.randrange(256)
        file.write_bytes(raw)
    else:
        content = json.loads(text)
        for _ in range(rng.choice((1, 1, 2, 3))):
            change(content, rng)
        file.write_text(json.dumps(content))
    for place in ("evil.py", "theirs/evil.py"):
        Path(place).write_text(EVIL)
    end, wrong = ends([rng.choice(("check", "show")), str(file)])
    return end, wrong + ["a Python file was run"] * Path("ran").exists()


def change(content: Any, rng: random.Random) -> None:
    """Replace a value somewhere in an object."""
    while True:
        keys = list(content) if isinstance(content, dict) else list(range(len(content)))
        key = rng.choice(keys)
        if isinstance(content[key], dict | list) and content[key] and rng.random() < 0.7:
            content = content[key]
            continue
        content[key] = rng.choice(STRANGE)
        return


def text(rng: random.Random, number: int) -> tuple[str, list[str]]:
    """Check a damaged kernel, with a static constructor that must not reach a file."""
    solve(Path("theirs"))
    file = Path("theirs", "turn.cu")
    printed = file.read_text()
    made = Path("ran").absolute()
    evil = f'extern "C" int open(const char*, int, ...);\nstruct At {{ At() {{ open("{made}", 0101, 0666); }} }} at;\n'
    at = printed.index("\n#endif")
    file.write_text(mutated(printed, rng) if rng.random() < 0.7 else f"{printed[:at]}\n{evil}{printed[at:]}")
    end, wrong = ends(["check", "theirs/turn.json", "--emitted"])
    return end, wrong + ["the kernel's text changed a file"] * made.exists()


def solve(folder: Path) -> None:
    """Put a solved sketch into a folder."""
    Path("turn.swz").write_text(SMALL)
    assert execute(["solve", "turn.swz", "-o", str(folder), "-q"], io.StringIO(), io.StringIO()) == 0


def ends(command: Sequence[str]) -> tuple[str, list[str]]:
    """Run a command line; return its status, and what is wrong with how it ended."""
    out, err = io.StringIO(), io.StringIO()
    status = execute(command, out, err)
    said, wrong = err.getvalue(), []
    if status not in (0, 1, 2, 3) or "Traceback" in said or "internal error" in said:
        wrong.append(f"{' '.join(command)} ends with {status}: {said.strip()}")
    elif status == 2:
        if "error: " not in said or not re.search("^  (expected|fix): ", said, re.MULTILINE):
            wrong.append(f"{' '.join(command)} says no clear mistake: {said.strip()}")
        elif not all(line.isprintable() or "\t" in line for line in said.splitlines()):
            wrong.append(f"{' '.join(command)} says what no terminal prints: {said!r}")
    return f"status {status}", wrong


# ---- the end at any moment --------------------------------------------------------------------------------------


def kill(rng: random.Random, number: int) -> tuple[str, list[str]]:
    """End a command at a random moment; look for what is left of it."""
    solve(Path("out"))
    Path("tmp").mkdir()
    tmp = Path("tmp").absolute()
    command = rng.choice((
        ["solve", str(ROOT / "case_studies" / "conv2d.py"), "--solver", "portfolio", "--no-cache", "-o", "new"],
        ["solve", str(ROOT / "case_studies" / "conv1d.py"), "--no-cache", "-o", "new", "--emit", "cuda,header,numba"],
        ["check", "out/turn.json", "--emitted"],
        ["run", "out/turn.json", "--device", "cpu"],
    ))  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "swizzle", *command],
        env={**os.environ, "TMPDIR": str(tmp), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(3 * rng.random())
    except subprocess.TimeoutExpired:
        process.send_signal(rng.choice((signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGKILL)))
    status = process.wait()
    until = time.monotonic() + PATIENCE
    while (left := remains(tmp)) and time.monotonic() < until:
        time.sleep(0.02)
    without = [file.name for file in Path().glob("new/*.cu*") if not file.with_suffix(".json").exists()]
    wrong = [f"{' '.join(command)}, ended by {status}, leaves {', '.join(left)}"] if left else []
    end = signal.Signals(-status).name if status < 0 else f"status {status}"
    return end, wrong + [f"{file} without its solution" for file in without]


def remains(tmp: Path) -> list[str]:
    """Return what is left of a process whose scratch files are in a folder: files, and processes."""
    left = [path.name for path in tmp.iterdir()]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                said = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(tmp) in said:
                left.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:80])
    return left


def ptx(rng: random.Random, number: int) -> tuple[str, list[str]]:
    """Let our reader and ptxas read a damaged PTX text."""
    if shutil.which("ptxas") is None:
        return "no ptxas", []
    outcome = fuzz_ptx.fuzz(range(16 * number, 16 * number + 16), 2)
    return "of 16 texts", [f"the reader alone takes {text}" for text in outcome.only_reader]


KINDS: Final[Mapping[str, Callable[[random.Random, int], tuple[str, list[str]]]]] = {
    "sketches": sketch,
    "solutions": solution,
    "kernels": text,
    "kills": kill,
    "ptx": ptx,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz for a time; the status is 1 where something is wrong."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--budget", type=float, default=60, help="seconds (default 60)")
    options.add_argument("--seed", type=int, default=0, help="of the first try of each kind")
    options.add_argument("--kinds", default=",".join(KINDS), help=f"some of {','.join(KINDS)}")
    given = options.parse_args(arguments)
    found = fuzz(given.kinds.split(","), given.seed, given.budget)
    for kind, tried in found.items():
        for each in tried.wrong:
            print(f"  {each}")
        print(f"{kind}: {tried}")
    return int(any(tried.wrong for tried in found.values()))


if __name__ == "__main__":
    sys.exit(main())
