"""The paper's section 8: transpositions in three steps, at all sizes, found by the search and verified.

    python -m bench.transposes [--most 64] [--every 1] [--space 4] [--apart]

With `--every K`, every K-th size is done; with `--apart`, each without what the others became. Times are of the
processor, in one process.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from contextlib import nullcontext
from math import gcd
from pathlib import Path

from bench.sweeps import sweeping
from swizzle import Limits, load, solve
from swizzle.sketches.loading import family_of

FILE = Path(__file__).resolve().parent.parent / "case_studies" / "transpose_steps.py"
FAMILIES = ("column_major", "compose")


def sort_of(m: int, n: int) -> str:
    """Return the row of the paper's table 3."""
    if m == n:
        return "m = n"
    if gcd(m, n) == 1:
        return "gcd 1"
    return "m divides n" if n % m == 0 else "n divides m" if m % n == 0 else "other"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most", type=int, default=64)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--space", default="4")
    parser.add_argument("--apart", action="store_true")
    arguments = parser.parse_args()
    (sketch,) = load(FILE)
    family = family_of(sketch)
    assert family is not None
    families = FAMILIES if arguments.space == "4" else ()
    sizes = [(m, n) for m in range(1, arguments.most + 1) for n in range(1, arguments.most + 1)][:: arguments.every]
    found: Counter[tuple[str, str]] = Counter()
    slowest, started = (0.0, (0, 0)), time.process_time()
    with nullcontext() if arguments.apart else sweeping():
        for m, n in sizes:
            before = time.process_time()
            result = solve(family.at({"m": m, "n": n, "grid": 1}), Limits(space=arguments.space, families=families))
            found[sort_of(m, n), result.status] += 1
            slowest = max(slowest, (time.process_time() - before, (m, n)))
    for (sort, status), count in sorted(found.items()):
        print(f"{sort:12} {status:8} {count}")
    seconds = time.process_time() - started
    each = f"{seconds / len(sizes) * 1e3:.0f} ms each; slowest {slowest[0]:.2f} s at {slowest[1]}"
    print(f"{len(sizes)} sizes in {seconds:.1f} s, {each}")


if __name__ == "__main__":
    main()
