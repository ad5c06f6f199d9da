"""Compare two checkouts on the benchmark table: `python bench/compare.py --before DIR`.

Each row runs in both, one after the other, the order changing from round to round, so that what else the machine does
meets both alike. Printed are the medians of processor time, which other work changes least, their ratio, the ratio of
wall times, and whether the answers are the same: status, cost and formulas. The exit status is 1 where an answer
differs or a row takes more than `--bound` times the processor time that it took.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import BENCHMARKS, Benchmark
from kept import write_whole

HERE = Path(__file__).resolve().parent
NOISE = 0.05  # seconds by which two runs of the same process differ


@dataclass(slots=True)
class Row:
    """One benchmark on one checkout: the seconds of each run, of the processor and by the clock, and the answer."""

    processor: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)
    answer: Any = None


def processor_time() -> float:
    """Return the seconds of the processor that all ended children have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_once(benchmark: Benchmark, checkout: Path, row: Row) -> None:
    """Run a benchmark in a fresh process of a checkout, without its cache."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their bytecode
    command = [sys.executable, "-m", "swizzle", *benchmark.arguments, "--no-cache"]
    started, spent = time.perf_counter(), processor_time()
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    row.clock.append(time.perf_counter() - started)
    row.processor.append(processor_time() - spent)
    found = json.loads(done.stdout) if done.stdout.startswith("{") else {"status": f"exit {done.returncode}"}
    formulas = [hole["formula"] for hole in found.get("holes", ())]
    row.answer = [found["status"], found.get("cost"), found.get("solutions"), formulas]


def same(before: Sequence[Any], after: Sequence[Any]) -> str:
    """Say how two answers differ: '' where they do not, 'formulas' where both are as good."""
    if before[:3] != after[:3]:
        return f"{before[:3]} before, {after[:3]} after"
    return "" if before == after else "other formulas"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="DIR", help="the other checkout")
    parser.add_argument("--after", type=Path, default=HERE.parent, metavar="DIR", help="default: this one")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose name contains this")
    parser.add_argument("--without", metavar="TEXT", help="no rows whose name contains this")
    parser.add_argument("--runs", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--bound", type=float, default=1.15, help="the largest ratio that is not slower")
    parser.add_argument("-o", "--output", type=Path, help="write all rows as JSON")
    options = parser.parse_args(arguments)
    rows, worse = [], 0
    for benchmark in BENCHMARKS:
        if options.only not in benchmark.name or (options.without and options.without in benchmark.name):
            continue
        before, after = Row(), Row()
        for number in range(options.runs):
            sides = [(options.before.resolve(), before), (options.after.resolve(), after)]
            for checkout, row in sides[:: -1 if number % 2 else 1]:
                run_once(benchmark, checkout, row)
        was, now = statistics.median(before.processor), statistics.median(after.processor)
        difference = same(before.answer, after.answer)
        slower = now / was > options.bound and now - was > NOISE
        worse += slower or difference not in ("", "other formulas")
        note = f"{'  SLOWER' if slower else ''}{'  ' + difference if difference else ''}"
        clock = statistics.median(after.clock) / statistics.median(before.clock)
        print(f"{benchmark.name:<52} {was:8.3f} {now:8.3f} {now / was:6.2f} {clock:6.2f}{note}", flush=True)
        rows.append(
            {
                "name": benchmark.name,
                "before": {"processor_s": before.processor, "clock_s": before.clock},
                "after": {"processor_s": after.processor, "clock_s": after.clock},
                "difference": difference,
            }
        )
        if options.output is not None:
            write_whole(options.output, json.dumps(rows, indent=1) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
