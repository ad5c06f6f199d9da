"""`swizzle tune`: a search proposes candidates of a space; they are proved, counted, kept, and the best is written."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct, field

from cuda_out.devices.device import Device
from cuda_out.devices.device import device as device_table
from swizzle.derive.schedules.schedule_space import ScheduleSpace
from swizzle.derive.tuning.candidate import CandidateRecord, Status, candidate_key, evaluate
from swizzle.derive.tuning.elsewhere import PendingCandidates, TuningEngine, candidate_job
from swizzle.derive.tuning.elsewhere import records as tried_by
from swizzle.derive.tuning.files import winner_files
from swizzle.derive.tuning.search import SEARCHES, BranchAndBound, CandidateSearch
from swizzle.derive.tuning.spaces import ParameterSpace, ProofTooLargeError, ScheduledKernels, Tunable, decided
from swizzle.derive.tuning.store import CandidateStore
from swizzle.language.gpu import USUAL, tuning_for
from swizzle.sketches.loading import SketchFile
from swizzle.sketches.sketch import Sketch
from swizzle.solving.cache.entries import cache_folder
from swizzle.solving.solution.solution import Limits, Result
from swizzle.sweeps.job import SweepJob
from symbolic.choices.conditions import Value
from symbolic.choices.propagation import PartialAssignment, Propagator
from symbolic.choices.search import SpaceSize, assignments, estimate
from symbolic.errors import SwizzleError
from symbolic.limits import Interruption

MOST_COUNTED: Final = 20_000
"""Spaces that seem to have at most so many candidates are counted one by one."""
WALKS: Final = 8
"""Random walks that say how large others are."""
EACH_SECONDS: Final = 60.0
"""What the search for one candidate's holes may take."""
MODEL_SECONDS: Final = 20.0
"""Processor seconds that branch and bound over the bounds of schedules may take."""
SearchName = Literal["tag", "bound", "random"]


class SearchBudget(Struct, frozen=True):
    """What a search may take: processor seconds of this process and its compilers, seconds by the clock, or a number
    of candidates."""

    kind: Literal["processor", "wall", "candidates"] = "processor"
    amount: float = 300.0

    @staticmethod
    def of(text: str) -> SearchBudget:
        """Read '300', '5m', 'wall:300' or 'candidates:40'; raises SwizzleError for anything else."""
        kind, colon, rest = text.rpartition(":")
        factor = {"s": 1, "m": 60, "h": 3600}.get(rest[-1:], 0)
        try:
            amount = float(rest[:-1] if factor else rest) * (factor or 1)
        except ValueError:
            amount = math.nan
        known: dict[str, Literal["processor", "wall", "candidates"]] = {
            "processor": "processor", "": "processor", "wall": "wall", "candidates": "candidates"
        }  # fmt: skip
        if kind not in known or not 0 < amount < math.inf or (colon and not kind):
            raise SwizzleError(
                f"a budget of {text!r:.60}",
                expected="processor seconds such as 300 or 5m, seconds by the clock, or a number of candidates",
                fix="write 300, 5m, wall:300 or candidates:40",
            )
        return SearchBudget(known[kind], amount)

    def __str__(self) -> str:
        if self.kind == "candidates":
            return f"{self.amount:g} candidates"
        return f"{self.amount:g} s" + (" of processor time" if self.kind == "processor" else " by the clock")


class TriedCandidate(Struct, frozen=True):
    """A candidate that was tried: its decisions, its bound in seconds and what that is made of, what it came to, and
    the cost by which candidates are compared, infinity for one that is not proved."""

    decisions: Mapping[str, Value]
    bound: float
    why: str
    record: CandidateRecord
    cost: float

    def as_json(self) -> dict[str, Any]:
        kept = self.record.as_json()
        return {
            "decisions": dict(self.decisions), "bound": self.bound, "status": kept["status"], "reason": kept["reason"],
            "static": kept["static"], "measured": None, "holes": kept["holes"],
        }  # fmt: skip


class Tuned(Struct):
    """What a search over a space came to.

    Attributes:
        name, space: the kernel, and the hash of the space.
        choices: how many there are.
        size: how many candidates; exact where its ends are equal.
        device: the GPU that was counted for.
        per_output: whether times are of one output.
        open: the decisions that are open in the whole space.
        tried: all candidates in the order in which they were tried.
        cut: partial candidates that were left out for their bounds.
        best: the one with the least cost; None where none is proved.
        finished: whether nothing in the space is better by the model.
        least: a time that no candidate of the space falls below by the device table.
        stopped: why the search ended before it was finished; ''.
        files: what was written.
        barriers: of a schedule how many barriers the best one has, in words; ''.
    """

    name: str
    space: str
    choices: int
    size: SpaceSize
    device: Device
    per_output: bool
    open: tuple[str, ...] = ()
    tried: list[TriedCandidate] = field(default_factory=list)
    cut: int = 0
    best: TriedCandidate | None = None
    finished: bool = False
    least: float = 0.0
    stopped: str = ""
    files: list[Path] = field(default_factory=list)
    barriers: str = ""
    result: Result | None = None

    @property
    def statuses(self) -> Counter[str]:
        """How many candidates came to what."""
        return Counter(each.record.status for each in self.tried)

    @property
    def optimal(self) -> str:
        """'proved by the model' where no candidate is better by costs and bounds of the device table, or 'open'."""
        if self.best is None or not self.finished:
            return "open"
        undecided = self.statuses["undecided"] and self.best.cost > self.least
        return "open" if undecided else "proved by the model"

    def as_json(self) -> dict[str, Any]:
        best = None if self.best is None else self.best.as_json()
        low, high = (_finite(self.size.low), _finite(self.size.high))
        return {
            "space": {
                "hash": self.space, "choices": self.choices,
                "count": {"estimate": self.size.estimate, "low": low, "high": high},
            },
            "device": {"name": self.device.name, "hash": self.device.hash},
            "tried": len(self.tried), "cut": self.cut, "proved": self.statuses["proved"], "best": best,
            "optimal": self.optimal, "files": [str(file) for file in self.files],
            "reasons": dict(Counter(f"{t.record.status}: {t.record.reason}" for t in self.tried if t.record.reason)),
            "stopped": self.stopped, "barriers": self.barriers,
        }  # fmt: skip


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


Listener = Callable[[Tuned], None]


def space_of(
    target: str | Path | ScheduleSpace,
    selector: str | None,
    overrides: Mapping[str, int],
    table: Device,
    folder: Path,
) -> Tunable:
    """Return the space of a file's choices; where it declares none, that of the schedules of its kernel with loops."""
    if isinstance(target, ScheduleSpace):
        return ScheduledKernels(target, folder)
    file = SketchFile.read(target)
    with tuning_for(table):
        if not file.choices(overrides).declared:
            return ScheduledKernels(ScheduleSpace(file, selector, overrides), folder)
    return ParameterSpace(file, selector, overrides, table)


def count_candidates(propagation: Propagator, root: PartialAssignment, walks: int = WALKS) -> SpaceSize:
    """Return how many complete candidates there are, exactly where they are few, by random walks otherwise."""
    combinations = math.prod(root.masks[variable].bit_count() for variable in propagation.open_variables(root))
    size = estimate(propagation, walks=walks, candidate=root) if combinations > MOST_COUNTED else None
    if size is not None and size.high > MOST_COUNTED:
        return size
    number = sum(1 for _ in assignments(propagation, root))
    return SpaceSize(number, number, number, 0)


def start(space: Tunable) -> tuple[Propagator, PartialAssignment]:
    """Return the whole space as a candidate."""
    propagation = Propagator(space.space)
    return propagation, propagation.root()


def tune(
    target: str | Path | Sketch | ScheduleSpace,
    name: str | None = None,
    *,
    device: str = USUAL,
    budget: str = "5m",
    fix: Mapping[str, int] | None = None,
    search: SearchName = "tag",
    seed: int = 0,
    resume: bool = False,
    output: str | Path | None = None,
    progress: Listener | None = None,
    engine: TuningEngine | None = None,
) -> Tuned:
    """Search a space for its cheapest proved candidate.

    Args:
        target: a sketch file with choices or a kernel with loops, one of its sketches, or a schedule space.
        name: which of the file's sketches.
        device: the GPU, or the file of a table of one's own.
        budget: what the search may take: '300' or '5m' of processor time, 'wall:300', 'candidates:40'.
        fix: values of choices and parameters that are set.
        search: by threshold ascent, branch and bound, or at random.
        seed: of random choices.
        resume: take what an earlier search of this very space tried as tried here, without making it again.
        output: the folder where the best one and all records are written; None keeps records in the cache's folder.
        progress: called after each candidate.
        engine: what tries several candidates at once; None tries them here, one after the other.

    Raises:
        NothingLeftError: no values are allowed together.
        SwizzleError: for any other mistake in what was given.
    """
    table, limit = device_table(device), SearchBudget.of(budget)
    folder = None if output is None else Path(output)
    if isinstance(target, Sketch):
        name, target = target.name, target.place.file
    with tempfile.TemporaryDirectory(prefix="swizzle-tune-") as scratch, tuning_for(table):
        space = space_of(target, name, fix or {}, table, Path(scratch))
        run = _Run(space, table, limit, search, seed, folder, resume, progress)
        return run.run() if engine is None else run.run(engine, device)


class _Run:
    def __init__(
        self, space: Tunable, table: Device, budget: SearchBudget, search: SearchName, seed: int, folder: Path | None,
        resume: bool, progress: Listener | None,
    ) -> None:  # fmt: skip
        self.space, self.table, self.budget, self.folder, self.resume = space, table, budget, folder, resume
        self.progress = progress
        self.propagation, self.root = start(space)
        size = count_candidates(self.propagation, self.root)
        left = {name: self.root.masks[variable] for name, variable in space.decisions.items()}
        several = tuple(name for name, mask in left.items() if mask & (mask - 1) or isinstance(space, ParameterSpace))
        self.tuned = Tuned(space.name, space.hash, len(space.decisions), size, table, space.per_output, several)
        self.store = CandidateStore(store_path(space.name, folder))
        self.bounds: dict[PartialAssignment, tuple[float, str]] = {}
        first = list(space.decisions.values())
        self.search: CandidateSearch = SEARCHES[search](self.propagation, self.root, first, self.bound, seed)
        self.best_leaf: PartialAssignment | None = None
        self.results: dict[str, Result] = {}
        self.begun, self.fresh, self.elsewhere = spent(budget.kind), 0, 0.0

    def bound(self, candidate: PartialAssignment) -> float:
        if candidate not in self.bounds:
            found = self.space.bound(candidate, self.table)
            self.bounds[candidate] = found.seconds, found.why
        return self.bounds[candidate][0]

    def next_leaf(self) -> PartialAssignment | None:
        """Return a candidate to be tried; None where the search has none, or the budget is spent."""
        while (leaf := self.search.ask()) is not None:
            kept = self.resume and self.store.known(self.space.hash, decided(self.space, leaf))
            if not kept:
                used = self.fresh if self.budget.kind == "candidates" else spent(self.budget.kind) - self.begun
                if used + self.elsewhere >= self.budget.amount:
                    self.tuned.stopped = f"the budget of {self.budget} is spent"
                    return None
                self.fresh += 1
                return leaf
            self.count(leaf, kept)
        return None

    def run(self, engine: TuningEngine | None = None, device_name: str = "") -> Tuned:
        """Try candidates until nothing is left or the budget is spent; with an engine, several at once."""
        tuned = self.tuned
        tuned.least = self.bound(self.root)
        try:
            if isinstance(self.space, ScheduledKernels):
                if unlike := self.space.schedules.unlike_specification():
                    what = "the kernel as it is written is not equal to its specification, and so no schedule is"
                    tuned.stopped, tuned.finished = f"{what}: {'; '.join(unlike)}", True
                    return tuned
                self.try_least()
            if engine is not None:
                self.run_on(engine, device_name)
            while engine is None and (leaf := self.next_leaf()) is not None:
                found = self.made(leaf)
                self.keep(leaf, found if isinstance(found, CandidateRecord) else self.evaluated(*found))
        except KeyboardInterrupt:
            tuned.stopped = "interrupted"
        except Interruption as stopped:
            tuned.stopped = str(stopped)
        tuned.finished, tuned.cut = self.search.finished, self.search.cut
        self.write()
        return tuned

    def try_least(self) -> None:
        """Find the schedule with the least bound, by branch and bound over bounds alone, and try it first.

        Its bound is a time that no schedule of the space falls below, where the search for it comes to its end.
        """
        first, begun, best = list(self.space.decisions.values()), spent("processor"), None
        search = BranchAndBound(self.propagation, self.root, first, self.bound)
        for leaf in search.steps():
            if leaf is not None:
                best = leaf
                search.tell(leaf, self.bound(leaf))
            if spent("processor") - begun > MODEL_SECONDS:
                break
        else:
            self.tuned.least = search.best
        if best is not None:
            found = self.made(best)
            self.fresh += 1
            self.keep(best, found if isinstance(found, CandidateRecord) else self.evaluated(*found))

    def run_on(self, engine: TuningEngine, device_name: str) -> None:
        """Have candidates tried by workers; a candidate that is under way is not asked for again."""
        under_way: set[PartialAssignment] = set()

        def ask() -> tuple[PartialAssignment, SweepJob] | None:
            while (leaf := self.next_leaf()) is not None and leaf not in under_way:
                found = self.made(leaf)
                if isinstance(found, CandidateRecord):
                    self.keep(leaf, found)
                    continue
                under_way.add(leaf)
                target, values = self.space.target(self.propagation.assignment(leaf))
                options = {
                    "device": device_name,
                    "key": found[1],
                    "seconds": EACH_SECONDS,
                    "any_length": self.space.per_output,
                }
                return leaf, candidate_job(target, values, options, Path.cwd())
            self.fresh -= leaf is not None
            pending.over = leaf is None
            return None

        pending = PendingCandidates(ask)
        for leaf, record, seconds in tried_by(pending, engine):
            under_way.discard(leaf)
            self.elsewhere += seconds if self.budget.kind == "processor" else 0
            self.keep(leaf, record)

    def made(self, leaf: PartialAssignment) -> CandidateRecord | tuple[Sketch, str]:
        """Return a candidate's sketch and key; what came of it where that is known, or where there is no sketch."""
        try:
            sketch = self.space.sketch(self.propagation.assignment(leaf))
            name = candidate_key(sketch, self.table)
        except SwizzleError as error:
            decisions = decided(self.space, leaf)
            status: Status = "undecided" if isinstance(error, ProofTooLargeError) else "refused"
            return CandidateRecord(f"{status} {self.space.hash} {sorted(decisions.items())}", status, error.found)
        return self.store.records.get(name) or (sketch, name)

    def keep(self, leaf: PartialAssignment, record: CandidateRecord) -> None:
        """Keep what came of a candidate, and count it."""
        if record.status != "undecided":
            self.store.put(record, self.space.hash, decided(self.space, leaf))
        self.count(leaf, record)

    def evaluated(self, sketch: Sketch, name: str) -> CandidateRecord:
        """Prove and count a candidate; what was solved is kept of the best so far."""
        limits, as_written = Limits(timeout=EACH_SECONDS), self.space.per_output
        record, result = evaluate(sketch, name, self.table, limits, any_length=as_written)
        best = self.tuned.best
        self.results = {key: kept for key, kept in self.results.items() if best and key == best.record.key}
        self.results[name] = result
        return record

    def tried(self, leaf: PartialAssignment, record: CandidateRecord) -> TriedCandidate:
        """Return a candidate with its cost."""
        bound, why = self.bound(leaf), self.bounds[leaf][1]
        cost = math.inf
        if record.static is not None:
            scale = self.space.scale(self.propagation.assignment(leaf))
            cost = max(record.static.seconds * scale / (record.static.outputs if self.space.per_output else 1), bound)
        return TriedCandidate(decided(self.space, leaf), bound, why, record, cost)

    def count(self, leaf: PartialAssignment, record: CandidateRecord) -> None:
        tried = self.tried(leaf, record)
        self.tuned.tried.append(tried)
        if tried.cost < self.search.best:
            self.tuned.best, self.best_leaf = tried, leaf
        self.search.tell(leaf, tried.cost)
        self.tuned.cut = self.search.cut
        if self.progress is not None:
            self.progress(self.tuned)

    def write(self) -> None:
        """Write the best one; where it was proved by another run, prove it again: a file is no word for a kernel."""
        best, leaf = self.tuned.best, self.best_leaf
        if leaf is None or best is None:
            return
        assignment, name = self.propagation.assignment(leaf), best.record.key
        if isinstance(self.space, ScheduledKernels):
            self.space.folder = self.folder or self.space.folder  # of all texts, the best one stays
            sketch, self.tuned.barriers = self.space.with_least_barriers(assignment)
            name = candidate_key(sketch, self.table)
        else:
            sketch = self.space.sketch(assignment)
        if name not in self.results:
            record = self.evaluated(sketch, name)
            assert record.status == "proved", f"it was proved, and now it is {record.status}: {record.reason}"
            if name != best.record.key:  # with fewer barriers than it was tried with
                self.tuned.best = self.tried(leaf, record)
                self.tuned.tried[self.tuned.tried.index(best)] = self.tuned.best
        result = self.tuned.result = self.results[name]
        if self.folder is not None:
            self.tuned.files = winner_files(sketch, result, self.tuned.as_json(), self.folder)


def store_path(name: str, folder: Path | None) -> Path | None:
    """Return the file of the records: in the output folder, or beside the cache of answers."""
    if folder is not None:
        return folder / f"{name}.tune.jsonl"
    cache = cache_folder()
    return None if cache is None else cache.parent / "tune" / f"{name}.jsonl"


def spent(kind: str) -> float:
    """Return seconds by the clock, or those of this process's processors with its children's that have ended."""
    if kind == "wall":
        return time.monotonic()
    return sum(os.times()[:4])
