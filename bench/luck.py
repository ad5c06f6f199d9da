"""How much of Mult-64's time is luck: `python bench/luck.py --seeds 10` shuffles the order of clauses and asks again.

Each seed is one process, started cold, in which every batch of clauses reaches the SAT solver in another order; seed 0
leaves the order as it is. Printed are the seconds of each, the median, and the worst over the median.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FORMS, SPACES = ("register", "shared"), ("1", "2", "3")


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many (default: 10)")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each run (default: 120)")
    parser.add_argument("--forms", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--spaces", nargs="+", default=SPACES, choices=SPACES)
    parser.add_argument("-D", dest="parameters", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--one", nargs=3, metavar=("FORM", "SPACE", "SEED"), help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main() -> int:
    """Print one line for each form and space."""
    options = arguments()
    if options.one:
        one(*options.one, options.parameters, options.limit)
        return 0
    print("form      space  answer   median   worst  worst/median  all, in seconds")
    for form in options.forms:
        for space in options.spaces:
            runs = [_run(form, space, seed, options) for seed in range(options.seeds)]
            seconds = [run[1] for run in runs]
            answers = "/".join(sorted({run[0] for run in runs}))
            middle, worst = median(seconds), max(seconds)
            each = " ".join(f"{s:.1f}" for s in seconds)
            print(
                f"{form:<9} {space:<5}  {answers:<7} {middle:7.1f} {worst:7.1f} {worst / middle:13.2f}  {each}",
                flush=True,
            )
    return 0


def _run(form: str, space: str, seed: int, options: argparse.Namespace) -> tuple[str, float]:
    given = [word for value in options.parameters for word in ("-D", value)]
    command = [sys.executable, __file__, "--one", form, space, str(seed), "--limit", str(options.limit), *given]
    answer, seconds = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return answer, float(seconds)


def one(form: str, space: str, seed: str, parameters: Sequence[str], limit: float) -> None:
    """Solve once, with the clauses of this seed's order, and print the answer and the seconds."""
    sys.path.insert(0, str(ROOT))
    from swizzle import load
    from swizzle.search.metasketch import solve
    from swizzle.solution.solution import Limits
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
    started = time.monotonic()
    found = solve(sketch, Limits(space=space, timeout=limit))  # type: ignore[arg-type]
    print(found.status, round(time.monotonic() - started, 3))


if __name__ == "__main__":
    sys.exit(main())
