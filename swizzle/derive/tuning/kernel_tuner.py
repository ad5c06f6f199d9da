"""Candidates as a cache file of Kernel Tuner (schema 1.1.0), so that its tools show them."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import Any, Final

from swizzle.derive.tuning.tune import Tuned

ERRORS: Final = {
    "none": "VerificationFailed", "undecided": "VerificationFailed", "refused": "InvalidConfig",
    "not compiled": "CompilationFailedConfig",
}  # fmt: skip


def kernel_tuner_cache(tuned: Tuned) -> dict[str, Any]:
    """Return the candidates that were tried; their objective is the cost, in milliseconds, an estimate."""
    names = list(tuned.tried[0].decisions) if tuned.tried else []
    now = datetime.now(timezone.utc).isoformat()
    cache: dict[str, dict[str, Any]] = {}
    for each in tuned.tried:
        right = math.isfinite(each.cost)
        line: dict[str, Any] = dict(each.decisions)
        line["time"] = each.cost * 1e3 if right else ERRORS.get(each.record.status, "RuntimeFailedConfig")
        if right:
            line["times"] = [each.cost * 1e3]
        if each.record.static is not None:
            line |= {
                "registers": each.record.static.registers,
                "instructions_per_output": each.record.static.per_output,
            }
        taken = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")
        cache[",".join(str(each.decisions[name]) for name in names)] = {
            **line, **dict.fromkeys(taken, 0), "timestamp": now
        }  # fmt: skip
    values = {name: sorted({each.decisions[name] for each in tuned.tried}, key=_in_order) for name in names}
    return {
        "schema_version": "1.1.0",
        "device_name": f"{tuned.device.title} (estimated, not measured)",
        "kernel_name": tuned.name, "problem_size": "1", "tune_params_keys": names, "tune_params": values,
        "objective": "time", "cache": cache,
    }  # fmt: skip


def _in_order(value: object) -> tuple[bool, Any]:
    return (isinstance(value, str), value)
