"""Structures of some words, a thread each: which home an exchange gets. `python -m bench.exchanges [--sizes 3,6,48]`.

A warp loads 32 structures in the order of memory and lets each lane sum up one of its own (docs/conversions.md). Clocks
are those of a warp by the bound of pipes, seconds of the processor in one process, for the whole answer.
"""

from __future__ import annotations

import argparse
import time

from swizzle import solve
from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz

SKETCH = """
@spec
def sums(x):
    return [sum(x[{size} * i + r] for r in range({size})) for i in range(32)]

@sketch(spec=sums, block=32, x=f32[32 * {size}], y=f32.out[32])
def structures(x, y):
    mine = cuda.local.array({size}, f32)
    theirs = cuda.local.array({size}, f32)
    warp_load(x, mine)
    exchange(mine, theirs)
    total = f32(0)
    for r in range({size}):
        total += theirs[r]
    y[cuda.laneid] = total
"""
SIZES = "2,3,4,5,6,7,8,10,12,14,16,24,31,48"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=SIZES)
    print("| words | home | clocks | proved least | seconds | the others |\n|---|---|---|---|---|---|")
    for size in map(int, parser.parse_args().sizes.split(",")):
        (sketch,) = read_swz(SKETCH.format(size=size), "structures.swz", Parameters())
        before = time.process_time()
        found = solve(sketch)
        seconds = time.process_time() - before
        others = []
        for each in found.certificate["homes"]:
            (home,) = each["homes"]
            if home != found.best.holes[0].formula:
                clocks = each.get("clocks", each.get("expected"))
                others.append(f"{home} {clocks}" if clocks else f"{home} {each['least']} or more")
        best, clocks = found.best.holes[0].formula, found.best.cost["clocks"]
        proved = "yes" if found.optimal else "open"
        print(f"| {size} | {best} | {clocks} | {proved} | {seconds:.2f} | {', '.join(others)} |", flush=True)


if __name__ == "__main__":
    main()
