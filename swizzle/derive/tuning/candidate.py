"""One candidate: its sketch solved, proved, printed, compiled and counted; what came of it, and why nothing did."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.compile.toolchain import CompileError, available_tools
from cuda_out.devices.device import Device
from swizzle.answers.emit.sizes import sizes_of
from swizzle.derive.tuning.static_cost import StaticCost, static_cost
from swizzle.language.specs.specification import Meaning
from swizzle.language.specs.verify import explain_mismatch
from swizzle.sketches.sketch import Sketch
from swizzle.solving.cache.key import key
from swizzle.solving.cache.solve import solve
from swizzle.solving.solution.solution import Limits, Result

Status: TypeAlias = Literal["proved", "none", "refused", "undecided", "not compiled"]
"""Proved right; no filling is right; no sketch with these values; a limit was reached; its text does not compile."""


class CandidateRecord(Struct, frozen=True):
    """What came of a candidate, kept by the hash of what it is; `reason` says why it is not proved.

    `static` is its cost without running it.
    """

    key: str
    status: Status
    reason: str = ""
    static: StaticCost | None = None
    holes: dict[str, str] = {}

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def candidate_key(sketch: Sketch, device: Device) -> str:
    """Return a hash of what a candidate is: its kernel and its specification, and for which GPU it is counted by what.

    Two assignments that make one kernel have one key, and whatever else can be chosen makes no difference.
    """
    meaning = Meaning.of(sketch.program, sketch.spec)
    question = key(replace(sketch, parameters={}), meaning, Limits())
    return hashlib.sha256(f"{question} {device.hash} {_tools()}".encode()).hexdigest()


@lru_cache(maxsize=1)
def _tools() -> str:
    from importlib.metadata import PackageNotFoundError, version

    def of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return ""

    names = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvdisasm")
    return " ".join([*available_tools(), *map(of, names)])


def evaluate(
    sketch: Sketch, name: str, device: Device, limits: Limits, *, any_length: bool
) -> tuple[CandidateRecord, Result]:
    """Solve and prove a candidate, print it, and count what it costs.

    `name` is its key. With `any_length` it is counted as it is printed for arrays of any length, where that is shown.
    """
    result = solve(sketch, limits, None)
    if result.status == "unsat":
        reasons = explain_mismatch(sketch.program, sketch.spec) if not sketch.program.holes else []
        return CandidateRecord(name, "none", "; ".join(reasons) or "no filling of its holes is right"), result
    if result.status == "unknown":
        return CandidateRecord(name, "undecided", result.reason or "the search was stopped"), result
    best = result.best
    holes = {hole.name: hole.shown for hole in best.holes}
    try:
        static = static_cost(best.program, sizes_of(best.program, sketch) if any_length else None, device)
    except CompileError as error:
        return CandidateRecord(name, "not compiled", str(error).partition("\n")[0], holes=holes), result
    return CandidateRecord(name, "proved", static=static, holes=holes), result
