"""Measure printed kernels on a GPU against the machine's ceilings and against what else there is.

Rows are kept as they are measured: started again, it goes on where it was, unless the code, the device or an option
changed. `--budget` ends it in time and keeps what there is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu import aos, conv, multiply, tiles
from bench.gpu.backend import Backend, Emulation
from bench.gpu.contenders import Setup
from bench.gpu.device import Gpu, compile_all
from bench.gpu.driver import DriverError, Refused
from bench.gpu.guard import Guard
from bench.gpu.kernels import TEXTS, Kernel
from bench.gpu.measure import Run, differ_kernel, fill_kernel, measure, sweep_kernel
from bench.gpu.missing import Missing, in_a_line
from bench.gpu.page import write_page, write_results
from bench.gpu.problem import Case
from bench.gpu.roofline import RATES, copy_kernel, measure_roofline, rate_kernel
from bench.gpu.solved import ROOT, Sketch, Store, digest_of_sources, jobs_here
from bench.kept import keep_rows, rows_so_far
from cuda_out.compile.toolchain import compile_cuda
from symbolic.errors import SwizzleError

GIB = 1 << 30
EMULATED_BYTES = 1 << 14
RESULTS = ROOT / "bench" / "results"
CUBINS = ROOT / "build" / "gpu" / "cubins"
BLOCKS_PER_MULTIPROCESSOR, LOOPS = 32, 256
"""How much the kernels compute that measure rates: some milliseconds' work."""


TELLING = (
    *(f"AoS load-store, {words}" for words in (3, 4, 7)),
    *(f"2D convolution, filter side, {side}" for side in (3, 5, 7)),
    "Transposition, rows, 32",
    "Multiplication of polynomials, coefficients, 32",
)
"""The cases that are measured first, as time may end before the others."""


def all_cases(setup: Setup) -> list[Case]:
    return [*chain(aos.cases(setup), conv.cases(setup), tiles.cases(setup), multiply.cases(setup))]


def all_sketches(wanted: Sequence[Case]) -> list[Sketch]:
    """Return what has to be solved for some cases."""
    return [each for case in wanted for variants in case.sketches().values() for each in variants]


def kernels_of(case: Case) -> list[Kernel]:
    return [kernel for c in case.contenders() for variant in c.variants for kernel in variant.kernels]


def fingerprint(backend: Backend, options: argparse.Namespace) -> str:
    """Return what rows must have in common to stand in one table."""
    asked = {
        name: str(value) for name, value in vars(options).items() if name in ("bytes", "runs", "trove", "field_mult")
    }
    found = hashlib.sha256(json.dumps([backend.facts(), asked]).encode())
    here = TEXTS.parent
    for path in sorted([*here.rglob("*.py"), *here.rglob("*.cu")]):
        if path.name != "page.py":  # what is written, not what is measured
            found.update(path.read_bytes())
    found.update(digest_of_sources().encode())
    return found.hexdigest()


def tools() -> list[Kernel]:
    """Return the kernels of the measurement itself, which compare nobody."""
    rates = [rate_kernel(entry, LOOPS) for entry, *_ in RATES.values()]
    both = [make(dtype) for make in (fill_kernel, differ_kernel) for dtype in ("float32", "uint32")]
    return [copy_kernel(), sweep_kernel(), *rates, *both]


def sweeping(backend: Backend, l2_bytes: int) -> Any:
    """Return what is done before each timed run: a buffer of twice the cache is read."""
    words = max(l2_bytes // 2, 1024)
    kernel = sweep_kernel()
    buffer, sink = backend.empty((words,), "uint32"), backend.empty((1,), "uint32")
    backend.poison(buffer)
    loaded = backend.load(kernel)
    return partial(loaded, kernel.grid({"x": words}), [buffer, sink, np.int64(words)])


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    add = parser.add_argument
    add("--prepare", action="store_true", help="only solve the sketches, into build/gpu/kernels.json; needs no GPU")
    add("--arch", metavar="sm_90", default="", help="with --prepare: compile too, into build/gpu/cubins")
    add("--emulate", action="store_true", help="rehearse on the CPU emulation at tiny sizes: compared, not timed")
    add("--page", type=Path, metavar="FILE", help="only write the page and its charts again, from a results file")
    add("--only", metavar="TEXT", default="", help="the cases whose name contains this")
    add("--budget", metavar="SECONDS", type=float, default=float("inf"), help="start no case that may not end in time")
    add("--bytes", metavar="N", type=int, default=GIB, help="bytes of a problem's input (default 1 GiB)")
    add("--runs", type=int, default=51, help="timed runs of each contender's fastest variant (default 51)")
    add("--trove", type=Path, metavar="DIR", help="a checkout of bryancatanzaro/trove")
    add("--field-mult", type=Path, metavar="DIR", help="a checkout of HamilM/GpuBinFieldMult")
    add("--afresh", action="store_true", help="forget the rows of an unfinished measurement")
    add("--partial", action="store_true", help="write the results even if rows are missing")
    add("--jobs", type=int, default=jobs_here(), help="sketches that are solved at the same time")
    add("--results", type=Path, default=RESULTS, metavar="DIR", help="where results and kept rows go")
    add("--docs", type=Path, default=ROOT / "docs", metavar="DIR", help="where the page and its charts go")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    started, options = time.monotonic(), options_of(arguments)
    checkouts = {"trove": options.trove, "field": options.field_mult}
    setup = Setup(Store(), {name: path for name, path in checkouts.items() if path is not None})
    cases = all_cases(setup)
    wanted = [case for case in cases if options.only in case.name]
    if not wanted:
        sys.exit(f"no case's name contains {options.only!r}; there are: {', '.join(case.name for case in cases)}")
    if options.page:
        kept = json.loads(options.page.read_text(encoding="utf-8"))
        write_page(kept["cases"], kept["device"], len(cases), options.page.name, options.docs)
        return 0
    wanted.sort(key=lambda case: TELLING.index(case.name) if case.name in TELLING else len(TELLING))
    if options.prepare:
        return prepare(wanted, setup.store, options)
    if options.emulate:
        return rehearse(wanted)
    backend = device()
    unfinished, broken_file = options.results / "unfinished-gpu.json", options.results / "broken-gpu.json"
    mark = fingerprint(backend, options)
    rows, broken = ({}, {}) if options.afresh else (rows_so_far(path, mark) for path in (unfinished, broken_file))
    guard = Guard(broken_file, mark, broken, arguments, options.budget, started)
    reasons = {name: row["reason"] for name, row in broken.items()}
    run = replace(begin(backend, options), broken=reasons, guard=guard)
    longest = 0.0
    for case in wanted:
        if case.name in rows:
            continue
        now = time.monotonic()
        if now - started + 1.5 * longest > options.budget:
            print(f"the budget of {options.budget:.0f} s is spent; started again, it goes on here", flush=True)
            break
        rows[case.name] = row_of(case, run, guard.around(case.name))
        longest = max(longest, time.monotonic() - now)
        print(line(rows[case.name]), flush=True)
        keep_rows(unfinished, mark, rows)
    complete = all(case.name in rows for case in cases)
    if rows and (complete or options.partial):
        in_order = [rows[case.name] for case in cases if case.name in rows]
        for path in write_results(in_order, backend.facts(), len(cases), options.results, options.docs):
            print(f"wrote {path}")
    if complete:
        unfinished.unlink()
        broken_file.unlink(missing_ok=True)
    return 1 if any("failed" in row for row in rows.values()) else 0


def row_of(case: Case, run: Run, guarded: AbstractContextManager[object]) -> dict[str, Any]:
    """Return the row of a case, or, whatever the cause, one that says why it could not be measured: others go on."""
    if case.name in run.broken:
        return {"name": case.name, "group": case.group, "at": case.at, "failed": run.broken[case.name]}
    try:
        with guarded:
            return measure(case, run)
    except Exception as error:
        if isinstance(error, DriverError) and not isinstance(error, Refused):
            raise  # the device is of no more use to this process
        return {"name": case.name, "group": case.group, "at": case.at, "failed": in_a_line(error)}


def prepare(wanted: Sequence[Case], store: Store, options: argparse.Namespace) -> int:
    """Solve and compile what a machine with a GPU needs; return 1 where a sketch or a text failed, with a line each."""
    if options.arch:  # before all the work: is there a compiler for it?
        compile_cuda('extern "C" __global__ void empty() {}', options.arch)
    failed = store.prepare(all_sketches(wanted), options.jobs, partial(print, flush=True))
    if options.arch:
        kernels = [*tools(), *(kernel for case in wanted for kernel in kernels_of(case))]
        reasons = compile_all(kernels, options.arch, CUBINS)
        for kernel, why in reasons.items():
            said = f"{kernel.origin}: {kernel.entry}: {in_a_line(why)}"
            if isinstance(why, Missing):  # other people's
                print(f"not compiled: {said}")
            else:
                failed.append(said)
        print(f"{len(dict.fromkeys(kernels)) - len(reasons)} kernels are compiled for {options.arch}")
    print("\n".join(f"failed: {each}" for each in failed) or "nothing failed")
    return 1 if failed else 0


def rehearse(wanted: Sequence[Case]) -> int:
    """Run everything but the clock on the CPU emulation; return 1 where a result is wrong, or a case fails."""
    backend = Emulation(ROOT / "build" / "emulated")
    measure_roofline(backend, EMULATED_BYTES, 1, blocks=1, loops=1)
    run, wrong, right = Run(backend, None, EMULATED_BYTES, 1, sweeping(backend, EMULATED_BYTES)), list[str](), 0
    for case in wanted:
        row = row_of(case, run, nullcontext())
        if "failed" in row:
            print(line(row), flush=True)
            wrong.append(f"{case.name}: {row['failed']}")
            continue
        contenders = row["contenders"]
        print(f"{case.name:<48} " + ", ".join(f"{c['name']} {c['status']}" for c in contenders), flush=True)
        wrong += [f"{case.name}: {c['name']}: {c['reason']}" for c in contenders if "wrong" in c]
        right += sum(c["status"] == "right" for c in contenders)
    print("\n".join(wrong) or f"{right} contenders ran, and every result is the specification's; nothing was timed")
    return 1 if wrong else 0


def device() -> Backend:
    """Return the GPU of this machine, or end with the reason why there is none."""
    from cuda_out.compile.launch import driver_available

    available, reason = driver_available()
    if not available:
        sys.exit(f"{reason}; `python -m bench.gpu --emulate` rehearses without one")
    return Gpu(CUBINS)


def begin(backend: Backend, options: argparse.Namespace) -> Run:
    """Measure the ceilings, and say what all cases have in common."""
    facts = backend.facts()
    bytes_ = min(options.bytes, backend.free_bytes() // 8)
    blocks = BLOCKS_PER_MULTIPROCESSOR * facts["multiprocessors"]
    roofline = measure_roofline(backend, bytes_, options.runs, blocks=blocks, loops=LOOPS)
    assert roofline is not None, "a GPU takes time"
    print("; ".join(f"{name}: {value:.3g}" for name, value in roofline.as_json().items()), flush=True)
    return Run(backend, roofline, bytes_, options.runs, sweeping(backend, facts["l2_bytes"]))


def line(row: dict[str, Any]) -> str:
    """Return what is printed when a case is done."""
    if "failed" in row:
        return f"{row['name']:<48} failed: {row['failed']}"

    def best(ours: bool) -> str:
        timed = [c for c in row["contenders"] if c["ours"] is ours and c["status"] == "measured"]
        if not timed:
            return "none"
        first = min(timed, key=lambda c: c["ms"])
        return f"{first['name']} {first['ms']:.3f} ms"

    return f"{row['name']:<48} floor {row['floor_ms']:.3f} ms ({row['bound']}); {best(True)}; rival {best(False)}"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SwizzleError as error:
        sys.exit(str(error))
