"""Measure synthesis as whole processes; write the results file, the tables in docs/ and the charts.

What is measured is in `benchmarks.py`; nothing here knows what a case study does. A row is a job of a sweep, with one
worker: a measurement that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import BENCHMARKS, Benchmark
from kept import write_whole
from report import charts, page

from swizzle.sweeps.driver import drive
from swizzle.sweeps.job import SweepJob
from swizzle.sweeps.journal import Journal

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "synthesis.json"
UNFINISHED = RESULTS.with_name("unfinished.sqlite")
CALL = "run:answer_job"
PARTS = ("interpret", "search", "verify", "total")
VERSIONS = ("pysmt", "z3-solver", "cvc5", "python-sat", "numpy")
SOURCES = ("swizzle", "symbolic", "templates", "cuda_out", "case_studies", "bench")


@dataclass(frozen=True, slots=True)
class Run:
    """One process: exit status, wall seconds, the largest resident set in MiB, what it printed."""

    status: int
    wall: float
    peak_mib: float
    out: str = field(repr=False)
    err: str = field(repr=False)


def run_once(arguments: Sequence[str], cache: str | None = None) -> Run:
    """Run the command line in a fresh process; the cache is in a folder of its own, or not used."""
    command = [sys.executable, "-m", "swizzle", *arguments]
    if arguments[0] == "solve" and cache is None:
        command.append("--no-cache")
    environment = {**os.environ, **({"SWIZZLE_CACHE_DIR": cache} if cache else {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their bytecode
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=err, env=environment)
        _, wait_status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(wait_status)
        out.seek(0)
        err.seek(0)
        kib_per_unit = 1 / 1024 if platform.system() == "Darwin" else 1
        return Run(process.returncode, wall, usage.ru_maxrss * kib_per_unit / 1024, out.read(), err.read())


def answer_of(benchmark: Benchmark, run: Run) -> dict[str, Any]:
    """Return the answer of a run; a failed process or an answer that does not count ends the whole measurement."""
    if not run.out.strip():
        sys.exit(f"{benchmark.name}: exit status {run.status}\n{run.err}")
    answer: dict[str, Any] = json.loads(run.out)
    if benchmark.statuses and answer["status"] not in benchmark.statuses:
        wanted = " or ".join(benchmark.statuses)
        sys.exit(f"{benchmark.name}: expected {wanted}, the answer is {answer['status']}\n{run.err}")
    return answer


def measure(benchmark: Benchmark, runs: int) -> dict[str, Any]:
    """Run a benchmark several times, cold, and warm where it is a kernel's first question; return its row."""
    done = [run_once(benchmark.arguments) for _ in range(runs if benchmark.statuses else 1)]
    warm: list[Run] = []
    if benchmark.question == "first":
        with tempfile.TemporaryDirectory() as cache:
            run_once(benchmark.arguments, cache)
            warm = [run_once(benchmark.arguments, cache) for _ in done]
    return summary(benchmark, done, warm)


def summary(
    benchmark: Benchmark, runs: Sequence[Run], warm: Sequence[Run] = (), check_s: float | None = None
) -> dict[str, Any]:
    """Return the medians over all runs, and the answer, which must not change from run to run."""
    answers = [answer_of(benchmark, run) for run in (*runs, *warm)]
    kept = {json.dumps([a[key] for key in ("status", "space", "optimal", "cost", "solutions")]) for a in answers}
    if len(kept) != 1 and answers[0]["status"] != "unknown":
        sys.exit(f"{benchmark.name}: the answer changed between runs: {sorted(kept)}")
    answer, cold = answers[0], answers[: len(runs)]
    return {
        "name": benchmark.name,
        "kernel": benchmark.kernel,
        "question": benchmark.question,
        "command": " ".join(["swizzle", *benchmark.arguments]),
        "runs": len(runs),
        **{key: answer[key] for key in ("status", "space", "optimal", "cost", "solutions", "certificate")},
        "wall_s": round(statistics.median(run.wall for run in runs), 3),
        "warm_s": round(statistics.median(run.wall for run in warm), 3) if warm else None,
        "check_s": check_s,
        "seconds": {part: round(statistics.median(a["seconds"][part] for a in cold), 4) for part in PARTS},
        "peak_mib": round(max(run.peak_mib for run in runs), 1),
    }


def time_to_check(benchmark: Benchmark, runs: int) -> float | None:
    """Return the median time to read, interpret and verify a given solution of a kernel; None if it has none."""
    with tempfile.TemporaryDirectory() as folder:
        answer = json.loads(run_once(["solve", *benchmark.target, "--json", "-o", folder]).out)
        saved = [file for file in answer["files"] if file.endswith(".json")]
        if not saved:
            return None
        done = [run_once(["check", saved[0]]) for _ in range(runs)]
    assert all(run.status == 0 for run in done), f"a solution of {benchmark.kernel} is not equal when it is checked"
    return round(statistics.median(run.wall for run in done), 3)


def machine() -> dict[str, Any]:
    """Return what the figures depend on besides our code."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in VERSIONS},
    }


def pace() -> float:
    """Return the median time of ten million additions in Python: two machines, or two days of one, compare by it."""
    loop = "total = 0\nfor i in range(10_000_000):\n    total += i"
    return round(statistics.median(timeit.repeat(loop, number=1, repeat=5)), 3)


def fingerprint(runs: int) -> str:
    """Return what rows must have in common to stand in one table: the code, the machine, how often they ran."""
    found = hashlib.sha256(json.dumps([machine(), runs]).encode())
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


def write_results(rows: Mapping[str, dict[str, Any]]) -> None:
    """Write the results file, the page and its charts."""
    results = {"machine": {**machine(), "loop_s": pace()}, "benchmarks": list(rows.values())}
    anchors = json.loads((ROOT / "bench" / "anchors.json").read_text(encoding="utf-8"))
    write_whole(RESULTS, json.dumps(results, indent=2) + "\n")
    write_whole(ROOT / "docs" / "benchmarks.md", page(results, anchors))
    for name, text in charts(results).items():
        write_whole(ROOT / "docs" / "images" / name, text)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="measure the rows whose name contains this")
    parser.add_argument("--runs", type=int, default=3, help="processes per row (default 3)")
    parser.add_argument("--afresh", action="store_true", help="forget the rows of an unfinished measurement")
    parser.add_argument("--partial", action="store_true", help="write the tables even if rows are missing")
    options = parser.parse_args(arguments)
    wanted = [b for b in BENCHMARKS if options.only in b.name]
    if not wanted:
        sys.exit(f"no row's name contains {options.only!r}; there are: {', '.join(b.name for b in BENCHMARKS)}")
    mark = fingerprint(options.runs)
    with Journal(UNFINISHED) as journal:
        journal.enlist(asked(wanted, options.runs, mark))
        journal.ask_again(["bug", "killed", *(["measured"] if options.afresh else [])])
        for answer in drive(journal, CALL, workers=1, shared=False):
            if answer is not None:
                said = json.loads(answer.answer)
                if answer.status != "measured":
                    sys.exit(said["reason"].removeprefix("SystemExit: "))
                if row := said.get("row"):
                    state = f"{row['status']:<8} {row['wall_s']:8.3f} s {row['peak_mib']:6.0f} MiB"
                    print(f"{row['name']:<52} {state}", flush=True)
    with Journal(UNFINISHED) as journal:
        journal.enlist(asked(BENCHMARKS, options.runs, mark))
        told = [record.answer for record in journal.records() if record.answer is not None]
    checks = {each["kernel"]: each["check_s"] for each in told if "kernel" in each}
    found = {each["row"]["name"]: each["row"] for each in told if "row" in each}
    rows = {name: {**row, "check_s": checks.get(row["kernel"])} for name, row in found.items()}
    complete = all(b.name in rows for b in BENCHMARKS)
    if complete or options.partial:
        write_results({b.name: rows[b.name] for b in BENCHMARKS if b.name in rows})
    if complete:
        UNFINISHED.unlink()
    return 0


def asked(benchmarks: Sequence[Benchmark], runs: int, mark: str) -> Iterator[SweepJob]:
    """Yield the jobs that measure some rows, and before each kernel's first one how long it takes to check it."""
    options, checked = {"runs": runs, "of": mark}, set[str]()
    for benchmark in benchmarks:
        if benchmark.statuses == ("sat",) and benchmark.kernel not in checked:
            checked.add(benchmark.kernel)
            yield SweepJob("check", benchmark.name, options={**options, "kernel": benchmark.kernel})
        yield SweepJob("measure", benchmark.name, options=options)


def answer_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a row, or the time that a kernel's check takes: what a worker calls, one at a time."""
    (benchmark,) = (each for each in BENCHMARKS if each.name == job["target"])
    if job["do"] == "check":
        seconds = time_to_check(benchmark, job["options"]["runs"])
        return {"status": "measured", "kernel": benchmark.kernel, "check_s": seconds}
    return {"status": "measured", "row": measure(benchmark, job["options"]["runs"])}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
