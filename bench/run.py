"""Measure synthesis as whole, cold processes, and write the results file and the table in docs/.

A benchmark is data: a sketch file, `-D` overrides, flags. Nothing here knows what a case study does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("interpret", "search", "verify", "total")
VERSIONS = ("pysmt", "z3-solver", "cvc5", "python-sat", "numpy")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One row: what is solved, and the answer's status that makes the measurement count."""

    name: str
    sketch: str
    overrides: tuple[tuple[str, int], ...] = ()
    flags: tuple[str, ...] = ()
    status: str = "sat"

    @property
    def arguments(self) -> list[str]:
        defines = [word for name, value in self.overrides for word in ("-D", f"{name}={value}")]
        return ["solve", self.sketch, *defines, *self.flags, "--json", "--no-cache"]


def case(file: str, sketch: str = "", space: str = "", status: str = "sat", **overrides: int) -> Benchmark:
    """Return the row of a case study at warp size 32: to the first space with an answer, or in one space."""
    values = ", ".join(f"{name}={value}" for name, value in overrides.items())
    name = " ".join(part for part in (file, sketch, values, space and f"Space {space}") if part)
    path = f"case_studies/{file}.py{sketch and ':' + sketch}"
    return Benchmark(name, path, tuple(overrides.items()), ("--space", space) if space else (), status)


BENCHMARKS = (
    Benchmark("conv1d K=3 .swz", "case_studies/conv1d.swz"),
    Benchmark("conv1d K=3, all spaces", "case_studies/conv1d.py", flags=("--space", "all")),
    case("stencil1d"),
    case("stencil1d", space="3"),
    *(case("conv1d", K=k, space=space) for k in (3, 5, 7, 9) for space in ("", "3")),
    *(case(file, K=k) for file in ("stencil2d", "conv2d") for k in (3, 5, 7)),
    *(case("mult32", sketch) for sketch in ("register", "shared")),
    *(case("mult64", sketch, space="1") for sketch in ("register", "shared")),
    *(case("aos_sum", "crc", struct_size=s) for s in (1, 2, 3, 5, 7)),
    *(case("aos_store", sketch, struct_size=s) for sketch in ("crc", "rcr") for s in (1, 2, 3, 4, 5, 7)),
    *(case("aos_store", "crc", status="unsat", struct_size=s) for s in (6, 10, 12)),
    case("transpose"),
)


@dataclass(frozen=True, slots=True)
class Run:
    """One process: wall seconds, the largest resident set in MiB, and the JSON object it printed."""

    wall: float
    peak_mib: float
    answer: dict[str, Any] = field(repr=False)


def run_once(benchmark: Benchmark) -> Run:
    """Solve in a fresh process; a failed process or an unexpected status ends the whole measurement."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "swizzle.cli", *benchmark.arguments], cwd=ROOT, stdout=out, stderr=err
        )
        _, wait_status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(wait_status)
        out.seek(0)
        err.seek(0)
        text, complaint = out.read(), err.read()
    if not text.strip():
        sys.exit(f"{benchmark.name}: exit status {process.returncode}\n{complaint}")
    answer = json.loads(text)
    if answer["status"] != benchmark.status:
        sys.exit(f"{benchmark.name}: expected {benchmark.status}, the answer is {answer['status']}\n{complaint}")
    kib_per_unit = 1 / 1024 if platform.system() == "Darwin" else 1
    return Run(wall, usage.ru_maxrss * kib_per_unit / 1024, answer)


def summary(benchmark: Benchmark, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the medians over all runs, and the answer, which must not change from run to run."""
    answers = {json.dumps([run.answer[key] for key in ("status", "space", "optimal", "cost")]) for run in runs}
    if len(answers) != 1:
        sys.exit(f"{benchmark.name}: the answer changed between runs: {sorted(answers)}")
    status, space, optimal, cost = json.loads(answers.pop())
    return {
        "name": benchmark.name,
        "command": " ".join(["swizzle", *benchmark.arguments]),
        "runs": len(runs),
        "status": status,
        "space": space,
        "optimal": optimal,
        "cost": cost,
        "wall_s": round(statistics.median(run.wall for run in runs), 3),
        "seconds": {part: round(statistics.median(run.answer["seconds"][part] for run in runs), 4) for part in PARTS},
        "peak_mib": round(max(run.peak_mib for run in runs), 1),
    }


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


def table(results: dict[str, Any]) -> str:
    """Return docs/benchmarks.md."""
    on = results["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in on["packages"].items())
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`; how it measures: [bench/README.md](../bench/README.md). Whole cold processes,",
        "medians in seconds; memory is the largest resident set.",
        "",
        f"{on['cpu']}, {on['cores']} cores, Python {on['python']}, {packages}.",
        "",
        "| benchmark | answer | space | accumulates | wall | interpret | search | verify | MiB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in results["benchmarks"]:
        answer = row["status"] + (", proved minimal" if row["optimal"] else "")
        parts = " | ".join(f"{row['seconds'][part]:.3f}" for part in ("interpret", "search", "verify"))
        cost = (row["cost"] or {}).get("accumulates", "")
        lines.append(
            f"| {row['name']} | {answer} | {row['space'] or ''} | {cost} | {row['wall_s']:.2f} | {parts} "
            f"| {row['peak_mib']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def write_whole(path: Path, text: str) -> None:
    """Write a file that is either there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "only", nargs="?", default="", help="run the benchmarks whose name contains this; write nothing"
    )
    parser.add_argument("--runs", type=int, default=5, help="processes per benchmark (default 5)")
    options = parser.parse_args(arguments)
    rows = []
    for benchmark in BENCHMARKS:
        if options.only in benchmark.name:
            row = summary(benchmark, [run_once(benchmark) for _ in range(options.runs)])
            print(
                f"{row['name']:<28} {row['status']:<8} wall {row['wall_s']:7.3f} s   {row['peak_mib']:6.0f} MiB",
                flush=True,
            )
            rows.append(row)
    if not rows:
        sys.exit(f"no benchmark's name contains {options.only!r}; there are: {', '.join(b.name for b in BENCHMARKS)}")
    if not options.only:
        results = {"machine": machine(), "benchmarks": rows}
        write_whole(ROOT / "bench" / "results" / "synthesis.json", json.dumps(results, indent=2) + "\n")
        write_whole(ROOT / "docs" / "benchmarks.md", table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
