"""Measure one case: is every contender right, at small sizes by NumPy, at full size by another one; how fast is it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from statistics import median, quantiles
from typing import Any

import numpy as np

from bench.gpu.backend import Backend, Buffer
from bench.gpu.driver import Refused
from bench.gpu.kernels import Kernel, Lengths, by_hand
from bench.gpu.missing import Missing
from bench.gpu.problem import Array, ArraySpec, Bound, Case, Contender, Problem, Variant
from bench.gpu.roofline import Roofline
from cuda_out.compile.toolchain import CompileError
from cuda_out.emulate.emulate import EmulationError
from symbolic.errors import SwizzleError

TRIAL_RUNS = 7
"""Runs of each variant, to find the fastest."""
AT_MOST_MS = 2000.0
"""What the timed runs of a variant may take together; there are at least so many of them:"""
AT_LEAST_RUNS = 11


@dataclass(frozen=True, slots=True)
class Run:
    """How a measurement goes: the bytes of a problem's inputs, and how often the fastest variant runs.

    `sweep` empties the cache before each timed run. `broken` has the reason for contenders ('case: contender') that
    are not to be run again; `guard` is entered around each, with the case's name and the contender's.
    """

    backend: Backend
    roofline: Roofline | None
    bytes: int
    runs: int
    sweep: Callable[[], None] = lambda: None
    broken: Mapping[str, str] = field(default_factory=dict)
    guard: Callable[[str, str], AbstractContextManager[object]] = lambda case, contender: nullcontext()


class Wrong(Exception):
    """A variant's result is not the specification's."""


def fill_kernel(dtype: str) -> Kernel:
    return by_hand("tools.cu", "fill_floats" if dtype == "float32" else "fill_words", 256, "x", (1024,))


def differ_kernel(dtype: str) -> Kernel:
    return by_hand("tools.cu", "differ_floats" if dtype == "float32" else "differ_words", 256, "xyc", (8 * 1024,))


def sweep_kernel() -> Kernel:
    return by_hand("tools.cu", "sweep", 256, "xs", (1024,))


@dataclass(slots=True)
class Arrays:
    """The arrays of a problem on a device."""

    backend: Backend
    problem: Problem
    buffers: dict[str, Buffer] = field(default_factory=dict)

    def __enter__(self) -> Arrays:
        try:
            for number, array in enumerate(self.problem.arrays):
                self.buffers[array.name] = self.backend.empty(array.shape, array.dtype)
                if array.role == "in":
                    self._fill(array, number)
        except Refused:  # memory, for one
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for buffer in self.buffers.values():
            self.backend.release(buffer)
        self.buffers.clear()

    def _fill(self, array: ArraySpec, seed: int) -> None:
        kernel = fill_kernel(array.dtype)
        fill = self.backend.load(kernel)
        count = array.words
        fill(kernel.grid({"x": count}), [self.buffers[array.name], np.uint32(seed + 1), np.int64(count)])

    @property
    def output(self) -> Buffer:
        return self.buffers[self.problem.output.name]

    def inputs(self) -> dict[str, Array]:
        return {a.name: self.backend.download(self.buffers[a.name]) for a in self.problem.arrays if a.role == "in"}

    def differences(self, wanted: Buffer, tolerance: float) -> int:
        """Count the elements in which the output differs from another buffer."""
        array = self.problem.output
        kernel = differ_kernel(array.dtype)
        grid = kernel.grid({"x": array.words})
        counts = self.backend.empty((grid[0] * 8,), "uint32")
        arguments = [self.output, wanted, counts, np.float32(tolerance), np.int64(array.words)]
        self.backend.load(kernel)(grid, arguments)
        found = int(self.backend.download(counts).sum(dtype=np.int64))
        self.backend.release(counts)
        return found


def measure(case: Case, run: Run) -> dict[str, Any]:
    """Return the row of a case."""
    contenders = [_unless_broken(each, run.broken.get(f"{case.name}: {each.name}")) for each in case.contenders()]
    run.backend.prepare([k for c in contenders for v in c.variants for k in v.kernels])
    rows = [
        {"name": c.name, "ours": c.ours, "status": "missing" if not c.variants else "open", "reason": c.missing}
        for c in contenders
    ]
    right = {c.name: list(c.variants) for c in contenders}
    for lengths in case.small:
        _small(case, lengths, contenders, right, rows, run)
    full = case.problem(case.full(run.bytes))
    _full(case.name, full, contenders, right, rows, run)
    floor_s, bound = run.roofline.floor_s(full) if run.roofline else (None, None)
    return {
        "name": case.name,
        "group": case.group,
        "at": case.at,
        "unit": case.unit,
        "lengths": dict(full.lengths),
        "items": full.items,
        "bytes": full.bytes,
        "operations": dict(full.operations),
        "roofline": run.roofline.as_json() if run.roofline else None,
        "floor_ms": None if floor_s is None else floor_s * 1000,
        "bound": bound,
        "contenders": rows,
    }


def _unless_broken(contender: Contender, reason: str | None) -> Contender:
    return contender if reason is None else replace(contender, variants=(), missing=reason)


def _tolerance(problem: Problem, contender: Contender) -> float:
    return problem.tolerance if contender.exact else max(problem.tolerance, 1e-4 * problem.largest)


def _small(
    case: Case,
    lengths: Lengths,
    contenders: Sequence[Contender],
    right: dict[str, list[Variant]],
    rows: Sequence[dict[str, Any]],
    run: Run,
) -> None:
    """Compare every variant with NumPy; one that is wrong or does not run is not looked at again.

    A row's 'wrong' has the labels of those that are wrong, whatever the others are.
    """
    with Arrays(run.backend, case.problem(lengths)) as arrays:
        wanted = case.expected(arrays.inputs()).reshape(arrays.problem.output.shape)
        for contender, row in zip(contenders, rows, strict=True):
            tolerance = _tolerance(arrays.problem, contender)
            for variant in list(right[contender.name]):
                try:
                    with run.guard(case.name, contender.name):
                        _check_small(variant, arrays, wanted, tolerance, lengths)
                except (Missing, Refused, Wrong, CompileError, EmulationError, SwizzleError) as why:
                    right[contender.name].remove(variant)
                    row["reason"] = _said(row["reason"], why, variant)
                    absent = isinstance(why, Missing | Refused | SwizzleError)
                    if not absent:
                        row.setdefault("wrong", []).append(variant.label)
                    if not right[contender.name]:
                        row["status"] = "missing" if absent else "wrong"


def _said(before: str, why: Exception, variant: Variant) -> str:
    reason = str(why) if isinstance(why, Missing) else f"{variant.label}: {str(why).splitlines()[0]}"
    return "; ".join(dict.fromkeys([*filter(None, [before]), reason]))


def _check_small(variant: Variant, arrays: Arrays, wanted: Array, tolerance: float, lengths: Lengths) -> None:
    backend = arrays.backend
    backend.poison(arrays.output)
    bound = variant.bind(backend, arrays.problem, arrays.buffers)
    try:
        bound.run()
        bound.finish()
        found = backend.download(arrays.output)
    finally:
        bound.release()
    different = ~(np.abs(found - wanted) <= tolerance) if found.dtype.kind == "f" else found != wanted
    if different.any():
        at = tuple(int(i) for i in np.argwhere(different)[0])
        size = " x ".join(map(str, lengths.values()))
        raise Wrong(
            f"{int(different.sum())} of {found.size} are wrong at {size}: {at} is {found[at]}, not {wanted[at]}"
        )


def _full(
    case: str,
    problem: Problem,
    contenders: Sequence[Contender],
    right: Mapping[str, Sequence[Variant]],
    rows: Sequence[dict[str, Any]],
    run: Run,
) -> None:
    """Compare results at full size, then time each variant, and the fastest of each contender often."""
    backend = run.backend
    with Arrays(backend, problem) as arrays:
        wanted = backend.empty(problem.output.shape, problem.output.dtype)
        reference = ""
        try:
            for contender, row in zip(contenders, rows, strict=True):
                if row["status"] != "open":
                    continue
                for variant in right[contender.name]:
                    with run.guard(case, contender.name):
                        first = not reference
                        if _one_variant(variant, contender, arrays, wanted, reference, row, run) and first:
                            reference = contender.name
                row["compared_with"] = reference if contender.name != reference else "NumPy, at small sizes"
                row["status"] = "measured" if row.get("variants") else row.pop("failed", "missing")
                if row["status"] == "measured" and not backend.on_gpu:
                    row["status"] = "right"
        finally:
            backend.release(wanted)


def _one_variant(
    variant: Variant,
    contender: Contender,
    arrays: Arrays,
    wanted: Buffer,
    reference: str,
    row: dict[str, Any],
    run: Run,
) -> bool:
    """Compare a variant with the reference, or make it that where there is none, and time it; say whether it ran."""
    backend, problem, bound = arrays.backend, arrays.problem, Bound(lambda: None)
    try:
        bound = variant.bind(backend, problem, arrays.buffers)
        backend.poison(arrays.output)
        bound.run()
        bound.finish()
        if not reference:
            backend.copy(arrays.output, wanted)
        elif count := arrays.differences(wanted, _tolerance(problem, contender)):
            differs = Wrong(f"differs from {reference} in {count} of {problem.output.words}")
            row["reason"], row["failed"] = _said(row["reason"], differs, variant), "wrong"
            row.setdefault("wrong", []).append(variant.label)
            return False
        _time(row, variant, bound, run)
    except (Missing, Refused) as why:  # arrays that do not fit, for one
        row["reason"] = _said(row["reason"], why, variant)
        return False
    finally:
        bound.release()
    return True


def _time(row: dict[str, Any], variant: Variant, bound: Bound, run: Run) -> None:
    """Time a variant; where it is the fastest so far, often enough for the table."""
    backend = run.backend
    backend.milliseconds(bound.run, 2, run.sweep)
    trial = backend.milliseconds(bound.run, TRIAL_RUNS, run.sweep)
    row.setdefault("variants", {})[variant.label] = median(trial) if trial else None
    if trial and median(trial) < row.get("trial_ms", float("inf")):
        row["trial_ms"] = median(trial)
        runs = max(min(run.runs, int(AT_MOST_MS / row["trial_ms"])), min(run.runs, AT_LEAST_RUNS))
        row |= summary(backend.milliseconds(bound.run, runs, run.sweep))
        row["variant"], row["about"] = variant.label, dict(bound.about)


def summary(times: Sequence[float]) -> dict[str, Any]:
    """Return the median of some times in milliseconds, and how far they are apart."""
    low, high = (times[0], times[0]) if len(times) < 2 else (lambda q: (q[0], q[-1]))(quantiles(times, n=10))
    return {"ms": median(times), "p10_ms": low, "p90_ms": high, "runs": len(times)}
