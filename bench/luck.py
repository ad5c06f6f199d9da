"""How much of Mult-64's time is luck: `python bench/luck.py --seeds 10` shuffles the order of clauses and asks again.

Each seed is one process, started cold, in which every batch of clauses reaches the SAT solver in another order; seed 0
leaves the order as it is. Seconds are of processor time, so that other work on the machine hardly matters. Each run is
kept in `results/luck.json`. If you start it again, it continues where it stopped, unless the code, the machine or the
limit changed. In the end it prints the table of `README.md`: the median, and the worst over the median.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from kept import rows_so_far, write_whole
from run import fingerprint, machine

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "luck.json"
FORMS, SPACES = ("register", "shared"), ("1", "2", "3")


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many (default: 10)")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each run, by the clock (default: 120)")
    parser.add_argument("--forms", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--spaces", nargs="+", default=SPACES, choices=SPACES)
    parser.add_argument("-D", dest="parameters", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where runs are kept (default: %(default)s)")
    parser.add_argument("--afresh", action="store_true", help="forget the runs that were kept")
    parser.add_argument("--one", nargs=3, metavar=("FORM", "SPACE", "SEED"), help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not kept yet, and print the table."""
    options = arguments(given)
    if options.one:
        one(*options.one, options.parameters, options.limit)
        return 0
    mark = fingerprint(1) + json.dumps([options.limit, options.parameters])
    rows = {} if options.afresh else rows_so_far(options.results, mark)
    for form in options.forms:
        for space in options.spaces:
            for seed in range(options.seeds):
                name = f"{form} {space} {seed}"
                if name not in rows:
                    rows[name] = _run(form, space, seed, options)
                    content = {"fingerprint": mark, "machine": machine(), "rows": rows}
                    write_whole(options.results, json.dumps(content, indent=1) + "\n")
                print(f"{name}: {rows[name]['answer']} {rows[name]['seconds']:.2f} s", flush=True)
    print("\n".join(table(rows)))
    return 0


def table(rows: Mapping[str, dict[str, Any]]) -> list[str]:
    """Return the lines of the table, in which each row is a form in a space."""
    lines = ["| Mult-64 | answer | seeds | median, s | worst, s | worst / median |", "|---|---|---|---|---|---|"]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, run in rows.items():
        form, space, _ = name.split()
        groups.setdefault((form, space), []).append(run)
    for (form, space), runs in groups.items():
        seconds, answers = [run["seconds"] for run in runs], "/".join(sorted({run["answer"] for run in runs}))
        middle, worst = median(seconds), max(seconds)
        what = f"{form}, Space {space}"
        lines.append(f"| {what} | {answers} | {len(runs)} | {middle:.1f} | {worst:.1f} | {worst / middle:.2f} |")
    return lines


def _run(form: str, space: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    parameters = [word for value in options.parameters for word in ("-D", value)]
    command = [sys.executable, __file__, "--one", form, space, str(seed), "--limit", str(options.limit), *parameters]
    answer, seconds = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return {"answer": answer, "seconds": float(seconds)}


def one(form: str, space: str, seed: str, parameters: Sequence[str], limit: float) -> None:
    """Solve once, with the clauses of this seed's order, and print the answer and the seconds of processor time."""
    sys.path.insert(0, str(ROOT))
    from swizzle import load
    from swizzle.solving.search.metasketch import solve
    from swizzle.solving.solution.solution import Limits
    from symbolic.values.guard import Guards

    take, order = Guards.take, random.Random(int(seed))

    def shuffled(guards: Any) -> list[list[int]]:
        batch = take(guards)
        order.shuffle(batch)
        return batch

    if seed != "0":
        Guards.take = shuffled  # type: ignore[method-assign]
    values = {name: int(value) for name, _, value in (each.partition("=") for each in parameters)}
    (sketch,) = load(ROOT / "case_studies" / "mult64.py", form, values)
    started = _spent()
    found = solve(sketch, Limits(space=space, timeout=limit))  # type: ignore[arg-type]
    print(found.status, round(_spent() - started, 3))


def _spent() -> float:
    return time.process_time() + sum(os.times()[2:4])  # of all threads, and of processes that have ended


if __name__ == "__main__":
    sys.exit(main())
