"""Try the search on random sketches with partial sums: `python -m bench.partial_sums 0 2000`.

Each seed is a kernel of some rounds whose values go to other lanes by way of holes and are put together. Whether
there is a filling, how many there are and what the cheapest costs must be what trying all fillings finds
(tests/differential/test_partial_sums.py). Ends with status 1 if any seed differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from symbolic.values import mapped
from tests.differential.test_partial_sums import check


def tried(seeds: range) -> Counter[str]:
    """Try each seed; print those that differ, and return how often each end was met."""
    ends, began = Counter[str](), time.process_time()
    for seed in seeds:
        try:
            ends[check(seed) or "not asked, as the filling drawn breaks a rule"] += 1
        except AssertionError as wrong:
            ends["different"] += 1
            print(f"seed {seed}: {wrong}", flush=True)
        if (seed + 1) % 100 == 0:
            print(f"{seed + 1}: {time.process_time() - began:.0f} s of processor time, {dict(ends)}", flush=True)
    return ends


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("end", type=int, help="the seed after the last")
    options = parser.parse_args()
    mapped.FEW = 1  # values are asked item by item even where they are few
    ends = tried(range(options.first, options.end))
    print(", ".join(f"{count} {end}" for end, count in sorted(ends.items())))
    return 1 if ends["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
