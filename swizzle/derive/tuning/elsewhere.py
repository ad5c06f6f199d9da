"""Candidates tried by workers: several at once, on this machine or on a cluster, each a job of a sweep."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from cuda_out.devices.device import device
from swizzle.derive.tuning.candidate import CandidateRecord, evaluate
from swizzle.language.gpu import tuning_for
from swizzle.sketches.loading import SketchFile
from swizzle.solving.solution.solution import Limits
from swizzle.sweeps.driver import Engine, answers_of
from swizzle.sweeps.files import with_files
from swizzle.sweeps.folder import job_folder
from swizzle.sweeps.job import SweepJob
from swizzle.sweeps.worker import AskedJob
from symbolic.choices.propagation import PartialAssignment

CALL: Final = "swizzle.derive.tuning.elsewhere:candidate"


class TuningEngine(Struct, frozen=True):
    """Where candidates are tried: on `engine`, at an address of Dask if one is given, by so many workers."""

    engine: Engine
    scheduler: str | None
    workers: int


def candidate(job: Mapping[str, Any]) -> dict[str, Any]:
    """Solve, prove and count a candidate: what a worker calls."""
    options = job["options"]
    with job_folder(job):
        table = device(options["device"])
        path, _, selector = job["target"].partition(":")
        with tuning_for(table):
            (sketch,) = SketchFile.read(path).load(selector or None, job["set"])
        limits, as_written = Limits(timeout=options["seconds"]), options["any_length"]
        record, _ = evaluate(sketch, options["key"], table, limits, any_length=as_written)
    return {"status": record.status, "record": record.as_json()}


def candidate_job(target: str, values: Mapping[str, int], options: Mapping[str, Any], folder: Path) -> SweepJob:
    """Return the job of a candidate: a file, a sketch of it, values of all its choices and parameters, and how it is
    counted: `device`, `key`, `seconds` at most, `any_length`."""
    return with_files(SweepJob("candidate", target, values, options), folder)


class PendingCandidates(Struct):
    """What workers are trying: the feed of an engine. `ask` returns the next candidate with its job, None where there
    is none now, and `over` says whether there will be none."""

    ask: Callable[[], tuple[PartialAssignment, SweepJob] | None]
    over: bool = False
    leaves: dict[str, PartialAssignment] = field(default_factory=dict)
    asked: int = 0

    def next(self) -> AskedJob | None:
        """Return the next candidate's job; each has a name of its own."""
        if self.over or (found := self.ask()) is None:
            return None
        leaf, job = found
        self.asked += 1
        key = f"{job.key}-{self.asked}"
        self.leaves[key] = leaf
        return AskedJob(key, json.dumps({**job.as_json(), "files": dict(job.files)}), None)


def records(
    pending: PendingCandidates, engine: TuningEngine
) -> Iterator[tuple[PartialAssignment, CandidateRecord, float]]:
    """Yield what comes of candidates, with the seconds that each took, until there are none."""
    answers = answers_of(pending, CALL, engine=engine.engine, scheduler=engine.scheduler, workers=engine.workers)
    try:
        for said in answers:
            if said is not None:
                leaf, answer = pending.leaves.pop(said.key), json.loads(said.answer)
                if "record" in answer:
                    yield leaf, msgspec.convert(answer["record"], CandidateRecord), said.seconds
                else:
                    why = answer.get("reason") or answer["error"]["found"]
                    yield leaf, CandidateRecord(said.key, "undecided", f"{said.status}: {why}"), said.seconds
    finally:
        answers.close()
