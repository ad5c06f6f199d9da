"""What a tuned number does: `python bench/tuned.py tables.FEW 2 4 8 16` solves case studies with each value of it.

Each run is a process of its own, without the cache; the seconds of interpreting, searching and verifying are printed as
a table, a line for each case study. The value that the code has is marked. `--list` prints the numbers that are known.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
NUMBERS = {
    "swizzle.search.tables": ("TOGETHER", "FIRST_FAILURES", "MORE_FAILURES", "FEW", "OF_HOLE"),
    "swizzle.search.plan": ("WORTH_IT", "LARGE", "NODE_LIMIT", "OF_SMALL_SPACE"),
    "swizzle.search.reading": ("TOGETHER",),
    "templates.functions": ("MOST_ROWS", "MOST_SETS", "AT_ONCE", "LARGE", "PART", "FIRST_PLACES"),
    "templates.holes": ("FEW",),
}
"""The numbers that were chosen by experiment, by their modules."""

QUESTIONS = (
    "conv1d K=5 | ",
    "stencil1d K=7 | ",
    "conv2d K=3 | ",
    "aos_store:crc struct_size=5 | 3",
    "aos_sum:crc | ",
    "mult32:register | ",
    "mult64:shared | ",
)
"""Kernels with their parameters, and the space that is asked for: none is the first with an answer."""


def main(given: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("number", nargs="?", help="a module's last name, and the number's: tables.FEW")
    parser.add_argument("values", nargs="*", help="what it is set to")
    parser.add_argument("--questions", nargs="+", default=QUESTIONS, metavar="'KERNEL NAME=VALUE | SPACE'")
    parser.add_argument("--runs", type=int, default=1, help="of which the median counts (default: 1)")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each run (default: 60)")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(given)
    sys.path.insert(0, str(ROOT))
    if options.list or not options.number:
        for module, names in NUMBERS.items():
            values = [f"{name} = {getattr(importlib.import_module(module), name):,}" for name in names]
            print(f"{module}: {', '.join(values)}")
        return 0
    module, name = where(options.number)
    if options.one:
        print(*one(module, name, options.values[0], options.questions[0], options.limit))
        return 0
    today = getattr(importlib.import_module(module), name)
    heads = [f"*{value}*" if ast.literal_eval(value) == today else value for value in options.values]
    print(f"| {module}.{name} | " + " | ".join(heads) + " |\n|---" + "|---" * len(heads) + "|")
    for question in options.questions:
        cells = [_run(options, value, question) for value in options.values]
        target, _, space = (part.strip() for part in question.partition("|"))
        print(f"| {target}{', Space ' if space else ''}{space} | " + " | ".join(cells) + " |", flush=True)
    return 0


def where(number: str) -> tuple[str, str]:
    """Return the module and the name of a number that is written `tables.FEW`, or `FEW` where only one has it."""
    last, _, name = number.rpartition(".")
    found = [each for each, names in NUMBERS.items() if name in names and each.endswith(last)]
    if len(found) != 1:
        sys.exit(f"{number}: {'one of ' + ', '.join(found) if found else 'not known; see --list'}")
    return found[0], name


def _run(options: argparse.Namespace, value: str, question: str) -> str:
    command = [sys.executable, __file__, options.number, value, "--one"]
    command += ["--limit", str(options.limit), "--questions", question]
    outputs = [
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
        for _ in range(options.runs)
    ]
    answers = {answer for answer, _ in outputs} - {"sat"}
    return " ".join([f"{median(float(seconds) for _, seconds in outputs):.2f} s", *sorted(answers)])


def one(module: str, name: str, value: str, question: str, limit: float) -> tuple[str, float]:
    """Set the number, solve, and return the answer and the seconds."""
    from swizzle import load
    from swizzle.search.metasketch import solve
    from swizzle.solution.solution import Limits

    setattr(importlib.import_module(module), name, ast.literal_eval(value))
    target, _, space = (part.strip() for part in question.partition("|"))
    kernel, *given = target.split()
    file, _, form = kernel.partition(":")
    values = {key: int(number) for key, _, number in (each.partition("=") for each in given)}
    (sketch,) = load(ROOT / "case_studies" / f"{file}.py", form or None, values)
    started = time.monotonic()
    found = solve(sketch, Limits(space=space or None, timeout=limit))  # type: ignore[arg-type]
    return found.status, time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main())
