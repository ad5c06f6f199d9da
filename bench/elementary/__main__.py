"""Generate the table of elementary operators. `python -m bench.elementary KEPT.jsonl` goes on where it stopped.

Each candidate is judged once, and kept as a line of KEPT.jsonl with its verdict, the numbers that refute it, and its
identity. The operators that have one are written to `swizzle/operators/elementary.json`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from bench.elementary.generation import collected, generate, written
from bench.elementary.judging import SECONDS
from swizzle.operators.elementary import TABLE, TYPES, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--leaves", type=int, default=7, help="of a single word")
    parser.add_argument("--pair", type=int, default=4, help="of each word of a pair; 1: pairs stay as they are")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for the proof of a law")
    parser.add_argument("--table", type=Path, default=TABLE)
    given = parser.parse_args()
    types = given.types.split(",")
    generate(given.kept, types, given.leaves, given.pair, lambda text: print(text, flush=True), given.seconds)
    found = collected(given.kept) + (list(table(2)) if given.pair < 2 else [])
    given.table.write_text(written(found), encoding="utf-8")
    print(f"{len(found)} operators with an identity, {time.process_time():.0f} s of processor time")


if __name__ == "__main__":
    main()
