"""Plant mutants and see which of them no test notices: `python bench/mutants.py --count 300 --seed 0`.

The tree is copied to a temporary folder, and everything happens there. First the tests run once to find out which of
them run which functions (kept beside the report, and renewed for test files that changed); then each mutant of a random
sample meets the tests that run its function, up to the first failure. A mutant that makes them run too long counts as
killed. Survivors are printed with what was changed; those that `mutants.json` explains count as equivalent.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from covering import covering, stale
from planting import Mutant, mutants

HERE = Path(__file__).resolve().parent
FOLDERS = (
    "symbolic",
    "templates",
    *(f"swizzle/{room}" for room in ("search", "problem", "costs")),
    *(f"cuda_out/{room}" for room in ("passes", "analysis")),
)
TESTS = (
    "tests/symbolic",
    "tests/templates",
    "tests/swizzle/solving/cache",
    "tests/swizzle/solving/audit",
    "tests/swizzle/operators",
    "tests/swizzle/language/specs",
    "tests/differential",
    "tests/cuda_out/passes",
)
TESTS += (*(f"tests/{folder}" for folder in FOLDERS[2:5]), "tests/cuda_out/analysis")
TESTS += ("tests/cuda_out/test_barrel.py", "tests/cuda_out/test_passes.py", "tests/cuda_out/test_index_arithmetic.py")
MEMORY = 8 << 30  # bytes that the tests of a mutant may use
SLOWER = (
    4  # times what its tests took when they were mapped, and the patience, in processor time: then it runs too long
)


WAITING = 10  # seconds by the clock, at most, for a second of processor time: the machine may be busy


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=300, help="how many mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="which sample (default: 0)")
    parser.add_argument("--only", action="append", default=[], metavar="FILE[:LINE]", help="these, all of them")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="the tree that is copied")
    parser.add_argument("--folders", nargs="+", default=FOLDERS, help="where mutants are planted")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="what is run against them")
    parser.add_argument("--known", type=Path, default=HERE / "mutants.json", help="why mutants are equivalent")
    parser.add_argument("--report", type=Path, default=HERE.parent / "build" / "mutants.json")
    parser.add_argument("--resume", action="store_true", help="keep what the report has")
    parser.add_argument("--retry", action="store_true", help="keep what the report has, but meet survivors again")
    parser.add_argument(
        "--budget", type=float, default=20, help="processor seconds of tests for a mutant (default: 20)"
    )
    parser.add_argument("--patience", type=float, default=20, help=f"seconds, and {SLOWER} times its tests' own")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Plant, run, report; the exit status is 1 where a mutant survives unexplained."""
    options = arguments(given)
    explained = json.loads(options.known.read_text()) if options.known.exists() else {}
    report: dict[str, Any] = {}
    if (options.resume or options.retry) and options.report.exists():
        report = json.loads(options.report.read_text())
    options.report.parent.mkdir(parents=True, exist_ok=True)
    chosen = sample(options)
    with _copied(options.root) as tree:
        known = _mapped(tree, options)
        for number, mutant in enumerate(chosen, 1):
            before = report.get(mutant.key, {}).get("outcome")
            if before is None or (options.retry and before in ("survived", "not covered")):
                report[mutant.key] = meet(tree, mutant, known, options)
                options.report.write_text(json.dumps(report, indent=1) + "\n")
            if mutant.key in explained and report[mutant.key]["outcome"] != "killed":
                report[mutant.key]["outcome"] = "equivalent"
            found = report[mutant.key]
            print(f"{number}/{len(chosen)} {found['outcome']:>12} {found['seconds']:6.1f} s  {mutant.key}", flush=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    return summary(chosen, report)


def sample(options: argparse.Namespace) -> list[Mutant]:
    """Return the mutants that are asked for: all of some lines, or a sample of all."""
    wanted = [each.partition(":") for each in options.only]
    every: list[Mutant] = []
    for folder in options.folders:
        for path in sorted((options.root / folder).rglob("*.py")):
            name = path.relative_to(options.root).as_posix()
            if not wanted or any(file == name for file, _, _ in wanted):
                every += mutants(name, path.read_text())
    if wanted:
        return [m for m in every if any(f == m.file and (not at or int(at) == m.line) for f, _, at in wanted)]
    chooser = random.Random(options.seed)
    return chooser.sample(every, min(options.count, len(every)))


def summary(chosen: Sequence[Mutant], report: Mapping[str, Any]) -> int:
    """Print survivors with what was changed, and how many there are of each kind."""
    outcomes = Counter(report[mutant.key]["outcome"] for mutant in chosen)
    alive = [mutant for mutant in chosen if report[mutant.key]["outcome"] in ("survived", "not covered")]
    for mutant in sorted(alive, key=lambda m: (m.file, m.line)):
        outcome = report[mutant.key]["outcome"]
        print(f"\n{mutant.file}:{mutant.line} in {mutant.function} ({outcome})\n- {mutant.before}\n+ {mutant.after}")
    print(f"\n{len(chosen)} mutants: " + ", ".join(f"{count} {what}" for what, count in sorted(outcomes.items())))
    return 1 if alive else 0


def meet(tree: Path, mutant: Mutant, known: Mapping[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Run the tests of a mutant's function with the mutant planted in the copied tree."""
    tests = covering(dict(known), mutant.file, mutant.function, options.budget)
    started = time.monotonic()
    about = {"file": mutant.file, "line": mutant.line, "function": mutant.function, "tests": len(tests)}
    outcome = "not covered"
    if tests:
        seconds = sum(known[f]["tests"][test]["seconds"] for f, _, test in (t.partition("::") for t in tests))
        path = tree / mutant.file
        before, text = path.stat(), path.read_text()
        path.write_text(mutant.source)
        os.utime(path, (before.st_atime, before.st_mtime + 10_000))  # so that the original's bytecode is not its own
        try:
            outcome = _outcome(tree, tests, options.patience + SLOWER * seconds)
        finally:
            path.write_text(text)
            os.utime(path, (before.st_atime, before.st_mtime))
    return {**about, "outcome": outcome, "seconds": round(time.monotonic() - started, 2)}


def _outcome(tree: Path, tests: Sequence[str], limit: float) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "slow or not slow", *tests]
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=_environment(tree),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: _confine(round(limit)),
    )
    try:
        return "survived" if process.wait(WAITING * limit) == 0 else "killed"
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _confine(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{tree}:{HERE}", "PYTHONDONTWRITEBYTECODE": "1"}


@contextlib.contextmanager
def _copied(root: Path) -> Iterator[Path]:
    """Copy what git knows of a tree, or all of it where there is no git, with its bytecode ready."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        listed = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        if (root / ".git").exists():
            names = subprocess.run(listed, capture_output=True, check=True, text=True).stdout.split("\0")
            for name in names:
                if name and (root / name).is_file() and not (root / name).is_symlink():
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(root / name, tree / name)
        else:
            shutil.copytree(root, tree)
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(tree)], check=False, stdout=subprocess.DEVNULL)
        yield tree


def _mapped(tree: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return which tests run which functions; what is not known yet is found out."""
    path = options.report.with_name("mutants-map.json")
    files: list[str] = []
    for each in options.tests:
        found = [tree / each] if each.endswith(".py") else sorted((tree / each).rglob("test_*.py"))
        files += [file.relative_to(tree).as_posix() for file in found]
    for file in stale(json.loads(path.read_text()) if path.exists() else {}, tree, files):
        print(f"mapping {file}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "covering", "-p", "no:cacheprovider", file]
        subprocess.run(
            command,
            cwd=tree,
            env={**_environment(tree), "COVERING": str(path.resolve())},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    known = json.loads(path.read_text()) if path.exists() else {}
    return {file: known[file] for file in files if file in known}


if __name__ == "__main__":
    sys.exit(main())
