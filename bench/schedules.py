"""Prove random complete schedules of kernels: `python -m bench.schedules assignments.jsonl --each 250`.

Each number of a kernel is a random descent through its space of schedules, whose text is proved at a few tiles of each
loop. FILE gets a line for each: what it came to, why, the work and the processor seconds of its proof. What FILE has
is not tried again, so the same command goes on where it was stopped, and a larger `--each` adds to it. At the end a
table says how many were proved, how many were refused and for which reason, and how many different texts there are.
Ends with status 1 if any text is not equal to its specification, and 3 if any is undecided.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from swizzle.derive.schedules.proof import prove_schedule
from swizzle.derive.schedules.schedule_space import MOST_WORK, ScheduleSpace
from swizzle.sweeps.driver import answers_of
from swizzle.sweeps.worker import AskedJob
from symbolic.choices.propagation import PartialAssignment, Propagator
from symbolic.errors import SwizzleError
from tests.swizzle.derive.schedules.kernels import KERNELS, descent, schedules

CALL = "bench.schedules:outcome"
SECONDS = 600
"""By the clock, after which a proof is undecided."""


@lru_cache(maxsize=2)
def space_of(kernel: str) -> tuple[ScheduleSpace, Propagator, PartialAssignment]:
    """Return the schedules of a kernel at its usual sizes, and all of them as a candidate."""
    space = schedules(kernel)
    propagation = Propagator(space.space)
    return space, propagation, propagation.root()


def outcome(job: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the schedule of a number and prove it: what a worker calls.

    The status is `proved`, `wrong` (no proof, or a text that the front end refuses) or `undecided` (more work than is
    run on terms, or no answer of a solver).
    """
    space, propagation, root = space_of(job["kernel"])
    chooser, path, dead = random.Random(f"{job['seed']} {job['kernel']} {job['number']}"), [], -1
    while not path:
        path, dead = descent(space, propagation, root, chooser), dead + 1
    assignment = propagation.assignment(path[-1])
    text, lengths = space.text(assignment), space.proof_lengths(assignment)
    said = {"dead_ends": dead, "work": space.nests(assignment, lengths).work, "lengths": lengths}
    said |= {"text": hashlib.sha256(text.encode()).hexdigest()[:16], "reason": ""}
    began = time.process_time()
    try:
        found = prove_schedule(space, assignment, text).found
        if found is None:
            status, said["reason"] = "undecided", f"more than {MOST_WORK:,} statements"
        else:
            status = "proved" if found.equal else "wrong"
            said["reason"] = "; ".join(map(str, [*found.violations[:1], *found.mismatches[:1]]))
    except SwizzleError as error:
        status, said["reason"] = "wrong", f"refused: {error.found}"
    return {**said, "status": status, "seconds": round(time.process_time() - began, 3)}


class OpenNumbers:
    """The numbers that FILE does not have: the feed of an engine."""

    def __init__(self, jobs: list[dict[str, Any]]) -> None:
        self.jobs = {key_of(job): job for job in jobs}
        self.waiting = list(self.jobs)[::-1]

    def next(self) -> AskedJob | None:
        if not self.waiting:
            return None
        key = self.waiting.pop()
        return AskedJob(key, json.dumps(self.jobs[key]), SECONDS)

    @property
    def over(self) -> bool:
        return not self.waiting


def key_of(job: Mapping[str, Any]) -> str:
    return f"{job['kernel']} {job['seed']} {job['number']}"


def known_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of FILE that were written whole."""
    for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what came of the schedules of each kernel."""
    yield "| kernel | schedules | texts | proved | wrong | undecided | dead ends | s a proof |"
    yield "|---|---|---|---|---|---|---|---|"
    for kernel in [*dict.fromkeys(line["kernel"] for line in lines), "all"]:
        own = [line for line in lines if kernel in (line["kernel"], "all")]
        ends, dead = Counter(line["status"] for line in own), sum(line.get("dead_ends", 0) for line in own)
        seconds = sum(line.get("seconds", 0.0) for line in own) / len(own)
        texts = len({(line["kernel"], line.get("text", line["number"])) for line in own})
        share = f"{dead} of {len(own) + dead}"
        wrong = ends["wrong"] + ends["bug"]
        counts = ends["proved"], wrong, len(own) - ends["proved"] - wrong
        yield f"| {kernel} | {len(own)} | {texts} | {' | '.join(map(str, counts))} | {share} | {seconds:.2f} |"
    for (kernel, reason), times in Counter((line["kernel"], line["reason"]) for line in lines).most_common():
        if reason:
            yield f"{kernel}, {times} times: {reason}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="what came of each schedule, a line of JSON for each")
    parser.add_argument("--each", type=int, default=250, help="so many schedules of each kernel")
    parser.add_argument("--kernels", default=",".join(KERNELS), help=f"of {', '.join(KERNELS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    kernels = options.kernels.split(",")
    if unknown := set(kernels) - KERNELS.keys():
        parser.error(f"no kernel {', '.join(sorted(unknown))}; there are {', '.join(KERNELS)}")
    asked = [
        {"kernel": kernel, "seed": options.seed, "number": number}
        for kernel in kernels
        for number in range(options.each)
    ]
    known = {key_of(line): line for line in known_lines(options.file)}
    feed = OpenNumbers([job for job in asked if key_of(job) not in known])
    with options.file.open("a", encoding="utf-8") as file:
        file.write("\n" if known else "")  # whatever was cut off ends here
        for said in answers_of(feed, CALL, engine="local", workers=options.workers):
            if said is not None:
                line = {"reason": "", **feed.jobs[said.key], **json.loads(said.answer), "status": said.status}
                known[said.key] = line
                file.write(json.dumps(line) + "\n")
                file.flush()
    lines = [known[key_of(job)] for job in asked]
    print("\n".join(table(lines)))
    ends = {line["status"] for line in lines}
    return 1 if ends & {"wrong", "bug"} else 0 if ends == {"proved"} else 3


if __name__ == "__main__":
    sys.exit(main())
