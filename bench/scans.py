"""Time scan networks: the scan paper's table, and every network forward and backward. `python -m bench.scans`.

Each row is a process of its own. Printed are its processor time behind the imports, what the paper's table 1 says with
its input size in brackets, and what came out, which is checked. `--whole` counts the imports, too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import cache

from swizzle import f32, i32, layouts, scan_operator, scans, serial
from swizzle.commands.process import execute
from swizzle.language.specs.verify import verify
from swizzle.scans import Network, Scan
from tests.swizzle.scans.examples import FAMILIES, blelloch, brent_kung, kogge_stone, sklansky

BLOCK = 1024


@serial(length=1 << 20, where=lambda v: -1000 <= v <= 1000)
def best_run(x: i32):
    here, best = 0, 0
    for v in x:
        here = max(0, here + v)
        best = max(best, here)
    return best


@serial
def segmented_sum(x: f32, head: bool):
    s = 0
    for v, new in zip(x, head, strict=True):
        s = v if new else s + v
    return s


@serial
def segmented_sum_from_behind(x: f32, tail: bool):
    s = 0
    for v, last in zip(x, tail, strict=True):
        s = v if last else s + v
    return s


def seconds() -> float:
    """Return this process's processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@cache
def solved(example: Network) -> Scan:
    """Return what an example becomes, proved."""
    found = scans.solve(like=example)
    assert found.status == "proved"
    return found


def checked(scan: Scan, loop: object = None, size: int = BLOCK) -> str:
    """Return what the kernel of a block is, verified by the machine."""
    made = scan.kernel(size) if loop is None else scan.kernel(size, operator=scan_operator(loop))  # type: ignore[arg-type]
    sketch = made.sketch
    assert verify(sketch.program, sketch.spec).equal and made.placement is not None
    counted = made.placement.counted
    assert counted is not None and made.placement.layout is not None
    formula = made.placement.layout.formula.replace("x", "j")
    return f"{size} by {made.threads} threads, element j at {formula}, {counted.conflicts} conflicts"


def example_to_scan() -> str:
    return str(len(solved(brent_kung(16)).loops.loops)) + " loops, proved up to 2^30"


def operator_of(loop: object) -> str:
    return f"{len(scan_operator(loop).words)} words, proved"  # type: ignore[arg-type]


def placement() -> str:
    scan = solved(brent_kung(16))
    asked = scan.accesses(512)
    best = {family: layouts.best((512,), asked, banks=16, families=[family]) for family in ("pad", "xor")}
    told = [f"{found.layout} {found.counted.conflicts}" for found in best.values() if found.counted and found.layout]
    before = layouts.count(layouts.row_major((512,)), asked, banks=16).conflicts
    return f"512 elements, 16 banks: {before} conflicts in order; " + "; ".join(told)


def base_three() -> str:
    found = scans.solve(like=brent_kung(27, 3))
    assert found.status == "proved"
    before = layouts.count(layouts.row_major((729,)), found.accesses(729)).conflicts
    return f"proved up to 3^18; {checked(found, size=729)} ({before} in order)"


@cache
def turned() -> Scan:
    """Return the backward scan of a forward one."""
    return scans.solve(relaxed_from=solved(brent_kung(16)), backward=True)


def backward() -> str:
    found = turned()
    assert found.status == "proved" and found.network(64) == brent_kung(64).mirrored()
    return "proved up to 2^30"


def segmented_backward() -> str:
    return checked(turned(), segmented_sum_from_behind, 64)


def segmented() -> str:
    return checked(solved(brent_kung(16)), segmented_sum, 64)


def warp_scan() -> str:
    sketch = os.path.join(os.path.dirname(__file__), "..", "case_studies", "cookbook", "scan.py:scan")
    with open(os.devnull, "w", encoding="utf-8") as null:
        assert execute(["solve", sketch, "--no-cache", "-q"], null, null) == 0
    return "32 lanes, proved minimal"


def moved() -> str:
    """Move, drop and add every edge of every network of 16 elements."""
    refused, still = 0, 0
    for family in FAMILIES.values():
        network = family(16)
        for at, step in enumerate(network.steps):
            for i in range(16):
                for source in (-1, *range(16)):
                    if source in (i, step[i]):
                        continue
                    changed = (*step[:i], source, *step[i + 1 :])
                    made = Network(16, (*network.steps[:at], changed, *network.steps[at + 1 :]))
                    refused, still = refused + bool(made.wrong), still + (not made.wrong)
    return f"{refused} refused with a witness; {still} are scans still"


def exclusive() -> str:
    """Move, drop and add every edge of Blelloch's network of 16; every element drops its words, or keeps them."""
    network, refused, still = blelloch(16), 0, 0
    assert not network.wrong and network.exclusive
    for at, (step, gone) in enumerate(zip(network.steps, network.dropped, strict=True)):
        for i, source, drops in itertools.product(range(16), range(-1, 16), (False, True)):
            if source != i and (source, drops) != (step[i], i in gone):
                steps, dropped = list(network.steps), list(network.dropped)
                steps[at], dropped[at] = (*step[:i], source, *step[i + 1 :]), gone - {i} | ({i} if drops else set())
                made = Network(16, steps, dropped)
                refused, still = refused + bool(made.wrong), still + (not made.wrong)
    return f"{refused} refused with a witness; {still} are scans still"


def discovery() -> str:
    found = {depth: list(scans.discover(8, depth)) for depth in (3, 4, 5)}
    assert sklansky(8) in found[3] and kogge_stone(8) in set(scans.discover(8, 3, 17))
    return "; ".join(f"depth {depth}: {len(each)} of {each[0].operations}" for depth, each in found.items())


ROWS: dict[str, tuple[str, Callable[[], str]]] = {
    "example to scan": ("1 min (16)", example_to_scan),
    "segmented sum, operator": ("1 s (8)", lambda: operator_of(segmented_sum)),
    "fewest bank conflicts": ("1 min (8)", placement),
    "bk3": ("1 min (8)", base_three),
    "forward to backward": ("1 s (8)", backward),
    "backward to segmented backward": ("1 min (8)", segmented_backward),
    "forward to segmented forward": ("1 min (8)", segmented),
    "MSS, operator": ("1 h (8)", lambda: operator_of(best_run)),
    "warp scan of two holes": ("", warp_scan),
    "one edge moved": ("", moved),
    "Blelloch, exclusive, one edge moved": ("", exclusive),
    "all networks of 8, fewest operations": ("", discovery),
}
for _name, _family in {**FAMILIES, "Blelloch, exclusive": blelloch}.items():
    _said = _name.replace("_", "-")
    ROWS[f"{_said}, forward"] = ("", lambda family=_family: f"{solved(family(16)).proof.questions} questions")  # type: ignore
    ROWS[f"{_said}, backward"] = (
        "",
        lambda family=_family: f"{solved(family(16).mirrored()).proof.questions} questions",  # type: ignore
    )
    ROWS[f"{_said}, MSS, a block of {BLOCK}"] = ("", lambda family=_family: checked(solved(family(16)), best_run))


GIVEN: dict[str, Callable[[], Scan]] = {
    "forward to backward": lambda: solved(brent_kung(16)),
    "backward to segmented backward": turned,
    "forward to segmented forward": lambda: solved(brent_kung(16)),
}
"""What rows begin with, that is not counted."""


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--whole", action="store_true", help="count the imports")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        if options.row in GIVEN:
            GIVEN[options.row]()
        before = 0.0 if options.whole else seconds()
        said = ROWS[options.row][1]()
        print(json.dumps([said, seconds() - before]))
        return
    print("| | paper | seconds | |\n|---|---|---|---|")
    for name, (paper, _) in ROWS.items():
        if options.only in name:
            command = [sys.executable, "-m", "bench.scans", "--row", name, *(["--whole"] if options.whole else [])]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
            said, taken = json.loads(run.stdout)
            print(f"| {name} | {paper} | {taken:.2f} | {said} |", flush=True)


if __name__ == "__main__":
    main()
