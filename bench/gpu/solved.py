"""The kernels that Swizzle prints for the benchmarks: solved once, kept on file, so that a GPU is not kept waiting.

A machine with a GPU then needs no solver, only the file (`python -m bench.gpu --prepare` writes it).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.gpu.kernels import Kernel
from bench.gpu.missing import Missing, in_a_line
from bench.kept import write_whole

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "build" / "gpu" / "kernels.json"
SOURCES = ("swizzle", "symbolic", "templates", "cuda_out")
ELSEWHERE = (
    *(
        "swizzle/answers/show",
        "swizzle/answers/explain",
        "swizzle/commands/cli.py",
        "swizzle/commands/completion.py",
        "swizzle/commands/help.py",
        "swizzle/commands/process.py",
    ),
    *(
        "cuda_out/ptx",
        "cuda_out/emulate/emulate.py",
        "cuda_out/compile/launch.py",
        "cuda_out/c/mutate.py",
        "cuda_out/compile/report.py",
    ),
    "cuda_out/compile/toolchain.py",
)
"""Sources that have no part in what is solved and printed."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A sketch of the tree with values of its parameters: FILE:NAME, relative to the root."""

    target: str
    parameters: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        return " ".join([self.target, *(f"{name}={value}" for name, value in self.parameters)])

    @property
    def label(self) -> str:
        """What tells this variant from the others of its sketch."""
        return ", ".join(f"{name} {value}" for name, value in self.parameters)


def sketch(target: str, **parameters: int) -> Sketch:
    return Sketch(target, tuple(parameters.items()))


def solve(wanted: Sketch) -> dict[str, Any]:
    """Return a solved kernel as the store keeps it, or why there is none."""
    from swizzle.answers.emit.calling import solution_sizes
    from swizzle.answers.emit.emitters import cuda_source, provenance
    from swizzle.sketches.loading import load
    from swizzle.solving.search.metasketch import solve as search
    from swizzle.solving.solution.solution import Limits

    file, _, name = wanted.target.partition(":")
    (found,) = load(ROOT / file, name, dict(wanted.parameters))
    result = search(found, Limits(timeout=900.0))
    if result.status != "sat":
        why = "proved to have no solution in any space" if result.status == "unsat" else result.reason
        return {"missing": f"{file}:{name}: {why}", "failed": result.status == "unknown"}
    best = result.best
    sizes = solution_sizes(best)
    source = cuda_source(best.program, provenance(best, [], found.parameters), sizes)
    if source.tiling is None:
        return {"missing": f"{file}:{name}: for fixed sizes only: {sizes}"}
    kernel = Kernel(
        source.text,
        source.entry,
        source.block,
        source.arguments,
        "".join(axis.axis for axis in source.tiling.axes),
        tuple(axis.tile for axis in source.tiling.axes),
        wanted.name,
    )
    return {"kernel": asdict(kernel), "seconds": dict(result.seconds)}


class Store:
    """Solved kernels by the name of their sketch; what was solved by other sources is not taken."""

    def __init__(self, path: Path = STORE) -> None:
        self.path = path
        try:
            self._rows: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._rows = {}

    def known(self, wanted: Sketch) -> dict[str, Any] | None:
        row = self._rows.get(wanted.name)
        return row if row is not None and row.get("sources") == sources_mark(wanted) else None

    def kernel(self, wanted: Sketch) -> Kernel:
        """Return the kernel of a sketch, solved now if it was not before; raise Missing where there is none."""
        row = self.known(wanted)
        if row is None:
            row = self._keep(wanted, _solved_or_why(wanted))
        if "missing" in row:
            raise Missing(row["missing"])
        fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in row["kernel"].items()}
        return Kernel(**fields)

    def prepare(self, wanted: Iterable[Sketch], jobs: int, say: Callable[[str], None] = print) -> list[str]:
        """Solve what is not known yet, several at once; return a line for each sketch that could not be decided.

        Such a sketch is kept, too, so that a GPU is not kept waiting for it, and is tried again the next time.
        """
        known = {each: self.known(each) for each in wanted}
        open_ = [each for each, row in known.items() if row is None or row.get("failed")]
        failed = []
        for number, (each, solved) in enumerate(_solved_by(open_, jobs), 1):
            row = self._keep(each, solved)
            outcome = row.get("missing") or f"{row['seconds']['total']:.1f} s"
            if row.get("failed"):
                failed.append(f"{each.name}: {outcome}")
            say(f"{number}/{len(open_)} {each.name}: {outcome}")
        return failed

    def _keep(self, wanted: Sketch, row: Mapping[str, Any]) -> dict[str, Any]:
        kept = {**row, "sources": sources_mark(wanted)}
        if not row.get("passing"):
            self._rows[wanted.name] = kept
            write_whole(self.path, json.dumps(self._rows) + "\n")
        return kept


def _solved_or_why(wanted: Sketch) -> dict[str, Any]:
    """Solve a sketch; whatever goes wrong is said of this one. Where no solver is installed, that is not kept."""
    try:
        return solve(wanted)
    except ImportError as error:
        return {"missing": f"not solved before, and this machine has no solver ({error})", "passing": True}
    except Exception as error:
        return {"missing": in_a_line(error), "failed": True}


def _solved_by(wanted: Sequence[Sketch], jobs: int) -> Iterator[tuple[Sketch, dict[str, Any]]]:
    """Yield each sketch with its row, as they come, from so many processes.

    A process that dies takes all the others with it. Then a single one goes on until it is known which sketch did it.
    """
    left, alone = dict.fromkeys(wanted), False
    while left:
        with ProcessPoolExecutor(1 if alone else jobs, mp_context=get_context("spawn")) as pool:
            running = {pool.submit(_solved_or_why, each): each for each in left}
            try:
                for done in running if alone else as_completed(running):
                    row = done.result()
                    del left[running[done]]
                    yield running[done], row
            except BrokenProcessPool:
                first = next(iter(left))
                if alone:
                    del left[first]
                    yield first, {"missing": "the process that solved it died", "failed": True}
                alone = not alone


@lru_cache
def digest_of_sources() -> str:
    found = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.relative_to(ROOT).as_posix().startswith(ELSEWHERE):
                found.update(path.read_bytes())
    return found.hexdigest()


def sources_mark(wanted: Sketch) -> str:
    """Return what a kernel depends on besides its parameters: our sources, and the sketch's file."""
    file = ROOT / wanted.target.partition(":")[0]
    return hashlib.sha256(digest_of_sources().encode() + file.read_bytes()).hexdigest()[:24]


def jobs_here() -> int:
    return max(1, (os.cpu_count() or 2) // 2)
