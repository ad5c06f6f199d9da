"""What a tuned number does: `python bench/tuned.py tables.FEW 2 4 8 16` solves case studies with each value of it.

Without values, those of its experiment on file are taken, and `--all` runs every experiment. Each run is a process of
its own, without the cache; the seconds of interpreting, searching and verifying are printed as a table, a line for
each question. The value that the code has is marked. `--list` prints the numbers.
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
NUMBERS: dict[str, dict[str, tuple[float, ...]]] = {
    "swizzle.solving.search.tables": {
        "TOGETHER": (8, 64, 512),
        "FIRST_FAILURES": (10, 40, 160),
        "MORE_FAILURES": (1.1, 1.3, 2.0),
        "FEW": (2, 8, 32),
        "OF_HOLE": (0.0, 0.05, 0.5),
        "MANY": (1 << 16, 1 << 32, 1 << 62),
        "STORES": (8, 32, 128),
    },
    "swizzle.solving.search.plan": {
        "WORTH_IT": (1.0, 1.5, 4.0),
        "LARGE": (32, 128, 512),
        "NODE_LIMIT": (200, 2_000, 20_000),
        "OF_SMALL_SPACE": (200_000, 2_000_000, 20_000_000, 200_000_000),
    },
    "swizzle.solving.search.joined": {"MOST": (1_000_000, 8_000_000), "TIED": (2, 8, 16)},
    "swizzle.solving.search.chains": {
        "DENSE": (0, 4, 16),
        "ROWS": (1 << 20, 1 << 22),
        "AT_ONCE": (1 << 15, 1 << 18),
        "PAIRS": (1 << 20, 1 << 25),
    },
    "swizzle.solving.search.chain_search": {
        "TRIED": (200, 1_000, 5_000),
        "FIRST": (1, 8, 64),
        "TOGETHER": (8, 64, 512),
        "SAMPLE": (16, 64, 256),
        "COMPETING": (512, 4096),
        "SIEVE": (64, 256, 1024),
    },
    "swizzle.solving.search.differing": {"OUTPUTS": (512, 2048, 8192), "WORTH_IT": (0, 100_000, 10_000_000)},
    "swizzle.solving.search.bit_maps": {"CASES": (512, 4096, 32_768), "ROUNDS": (0, 2, 8, 1000), "MOST": (0, 1 << 32)},
    "swizzle.solving.search.lightest": {
        "TRIED": (400, 4_000),
        "FIRST": (1, 8, 64),
        "THREADS": (1 << 12, 1 << 15),
        "FEW": (128, 512),
    },
    "swizzle.solving.search.metasketch": {"COUNTED": (16, 64, 256)},
    "swizzle.solving.search.layouts": {"COUNTED": (16, 64, 256)},
    "swizzle.solving.problem.nested": {"MOST": (1 << 10, 1 << 12, 1 << 14)},
    "swizzle.solving.search.coloured": {"CONFLICTS": (2_000, 20_000), "PAIRS": (1 << 22, 1 << 26)},
    "swizzle.solving.search.readback": {"TOGETHER": (8, 64, 512)},
    "swizzle.solving.search.cegis": {"MATCHING_LIMIT": (200_000, 20_000_000)},
    "swizzle.solving.search.hopeless": {
        "OUTPUTS": (2, 4, 16),
        "CONFLICTS": (100, 1000, 10_000),
        "LARGEST": (5_000, 15_000, 200_000),
        "LARGEST_MOVED": (1_000, 5_000, 15_000),
    },
    "swizzle.solving.search.trying": {
        "FILLINGS": (10**9, 10**12, 10**15),
        "PARTS": (6, 12, 100),
        "FUNCTIONS": (20_000, 50_000, 200_000),
        "VALUES": (4_000_000, 40_000_000),
        "TOGETHER": (200_000, 2_000_000),
        "LIGHTEST": (100, 1_000, 4_000),
        "AT_ONCE": (1 << 12, 1 << 15, 1 << 17),
        "QUESTIONS": (6, 24, 96),
        "IN_VAIN": (1, 3, 9),
        "FEW": (8, 64, 512),
        "MOST_RUN": (512, 4_096),
        "SHARE": (8, 64, 512),
    },
    "swizzle.solving.search.shorter": {
        "SHORT": (3, 5, 7),
        "FUNCTIONS": (3, 9, 27),
        "THREADS": (1 << 12, 1 << 14),
        "SCREENED": (1 << 16, 1 << 20),
        "DEALT": (1 << 20, 1 << 24),
        "ITEMS": (1 << 10, 1 << 12),
        "TRIED": (2, 6, 12),
        "NODES": (16, 64, 256),
        "STATEMENTS": (4, 8),
        "DEALS": (4, 16, 64),
    },
    "swizzle.solving.search.screening": {
        "WORK": (1 << 20, 1 << 24),
        "FEW": (1 << 10, 1 << 14),
        "READ": (1, 16, 64),
        "CONFIRMED": (16, 64, 256),
    },
    "swizzle.solving.search.storing": {"PAIRS": (1 << 20, 1 << 25)},
    "swizzle.solving.problem.demands": {"VIOLATIONS": (1, 2, 8)},
    "swizzle.solving.problem.problem": {"ALL_SIZED": (16, 64, 256), "SIZED": (4, 16, 64)},
    "swizzle.solving.problem.many": {"AT_ONCE": (1 << 12, 1 << 15, 1 << 18)},
    "templates.chooser": {"MOST_ROWS": (400_000, 4_000_000), "FIRST_PLACES": (4, 16, 64), "FEW_ROWS": (0, 4, 20)},
    "templates.template": {"FEW_CHOICES": (200, 2_000, 20_000), "FEW": (8, 64, 512), "COMPARED": (64, 1024, 16_384)},
    "templates.xform_functions": {
        "MOST_SETS": (1_000_000, 10_000_000, 50_000_000),
        "AT_ONCE": (20_000, 200_000, 2_000_000),
        "LARGE": (800, 8_000, 80_000),
        "PART": (2, 4, 16),
    },
    "templates.xor_functions": {"MOST_PARTS": (1 << 12, 1 << 18, 1 << 22)},
    "templates.xform_lists": {
        "MOST_LISTED": (20_000, 200_000, 2_000_000),
        "STEP": (200_000, 2_000_000, 20_000_000),
        "FIRST_BLOCK": (8, 64, 512),
    },
}
"""The numbers that were chosen by experiment, by their modules, each with the values that its experiment compares."""
FIXED = {
    "swizzle.solving.search.chains.NOWHERE",
    "swizzle.solving.search.metasketch.BETWEEN_COUNTS",
    "swizzle.solving.search.screening.DIGITS",
    "swizzle.solving.search.screening.LARGEST",
    "templates.xform_functions.WORD",
}
"""Numbers that change no time of a question here: what is no cell, how often progress is shown, which numbers
fillings are run on, and the bits of a word."""

QUESTIONS = (
    "transpose | 3",
    "aos_store:rcr struct_size=7 | 3 | all",
    "aos_store:crc struct_size=6 | 3",
    "conv2d K=3 | ",
    "mult32:register | ",
    "mult64:shared | ",
)
"""Kernels with their parameters, the space that is asked for (none: the first with an answer), and 'all' for all."""


def main(given: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("number", nargs="?", help="a module's last name, and the number's: tables.FEW")
    parser.add_argument("values", nargs="*", help="what it is set to")
    parser.add_argument("--questions", nargs="+", default=QUESTIONS, metavar="'KERNEL NAME=VALUE | SPACE'")
    parser.add_argument("--runs", type=int, default=1, help="of which the median counts (default: 1)")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each run (default: 60)")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="print the numbers with their values")
    parser.add_argument("--all", action="store_true", help="run the experiment of every number")
    options = parser.parse_args(given)
    sys.path.insert(0, str(ROOT))
    if options.all:
        for module, names in NUMBERS.items():
            for name in names:
                options.number, options.values = f"{module}.{name}", []
                table(options, module, name)
        return 0
    if options.list or not options.number:
        for module, names in NUMBERS.items():
            values = [f"{name} = {getattr(importlib.import_module(module), name):,}" for name in names]
            print(f"{module}: {', '.join(values)}")
        return 0
    module, name = where(options.number)
    if options.one:
        print(*one(module, name, options.values[0], options.questions[0], options.limit))
        return 0
    table(options, module, name)
    return 0


def table(options: argparse.Namespace, module: str, name: str) -> None:
    """Print what each value of one number makes of the questions."""
    options.values = options.values or [repr(value) for value in NUMBERS[module][name]]
    today = getattr(importlib.import_module(module), name)
    heads = [f"*{value}*" if ast.literal_eval(value) == today else value for value in options.values]
    print(f"| {module}.{name} | " + " | ".join(heads) + " |\n|---" + "|---" * len(heads) + "|")
    for question in options.questions:
        cells = [_run(options, value, question) for value in options.values]
        target, space, every = asked(question)
        print(f"| {target}{f', Space {space}' if space else ''}{', all' if every else ''} | {' | '.join(cells)} |")
    print(flush=True)


def asked(question: str) -> tuple[str, str, bool]:
    """Return the kernel with its parameters, the space, and whether all solutions are asked for."""
    target, space, every = [*(part.strip() for part in question.split("|")), "", ""][:3]
    return target, space, every == "all"


def where(number: str) -> tuple[str, str]:
    """Return the module and the name of a number that is written `tables.FEW`, or `FEW` where only one has it."""
    last, _, name = number.rpartition(".")
    found = [
        each for each, names in NUMBERS.items() if name in names and f".{each}".endswith(f".{last}" if last else "")
    ]
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
    """Set the number wherever it was imported, solve, and return the answer and the seconds."""
    from swizzle import load
    from swizzle.solving.search.metasketch import solve
    from swizzle.solving.solution.solution import Limits

    set_everywhere(module, name, ast.literal_eval(value))
    target, space, every = asked(question)
    kernel, *given = target.split()
    file, _, form = kernel.partition(":")
    values = {key: int(number) for key, _, number in (each.partition("=") for each in given)}
    (sketch,) = load(ROOT / "case_studies" / f"{file}.py", form or None, values)
    started = time.monotonic()
    found = solve(sketch, Limits(space or None, every, limit))  # type: ignore[arg-type]
    return found.status, time.monotonic() - started


def set_everywhere(module: str, name: str, value: object) -> None:
    """Set a number in its own module and in those that have it by `from ... import`."""
    home = importlib.import_module(module)
    assert hasattr(home, name), f"{module} has no {name}"
    for other in list(sys.modules.values()):
        path = getattr(other, "__file__", None)
        if path and Path(path).is_relative_to(ROOT) and name in vars(other):
            tree = ast.parse(Path(path).read_text(encoding="utf-8"))
            origins = {
                node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                for alias in node.names if alias.name == name
            }  # fmt: skip
            if other is home or module in origins:
                setattr(other, name, value)


if __name__ == "__main__":
    sys.exit(main())
