"""The process that answers jobs, one after the other: a line of JSON in, a line of JSON out.

A mistake, and the end of a job's time or memory, are answers. What the work prints goes nowhere. A process that holds
much when a job is done ends, and says so with that answer: the next job gets a new one.
"""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from symbolic.errors import SwizzleError
from symbolic.limits import Interruption, OutOfMemory, harden, limited, released, resident

READY: Final = "ready"
LARGE: Final = 512 << 20
"""Bytes that a process may hold between two jobs."""
LATER: Final = 1.0
"""Seconds that the work's own limits come before ours: it knows what it has found."""

Work = Callable[[dict[str, Any]], dict[str, Any]]


def main(call: str, memory: str) -> None:
    """Answer the lines of standard input on standard output with `call`, 'MODULE:FUNCTION'; end with the input.

    `memory` is in bytes and holds for jobs that name no limit; 0 is none.
    """
    jobs, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    module, _, name = call.partition(":")
    work: Work = getattr(import_module(module), name)
    print(READY, file=answers, flush=True)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    for line in jobs:
        job = {"memory": int(memory) or None, **json.loads(line)}
        if job["memory"] is not None:
            harden(job["memory"])
        said = answered(work, job)
        if resident() > LARGE:
            gc.collect()
            released()
        said["last"] = resident() > LARGE
        print(json.dumps(said), file=answers, flush=True)
        if said["last"]:
            break
    os._exit(0)  # to free a large search object by object takes seconds


def answered(work: Work, job: dict[str, Any]) -> dict[str, Any]:
    """Return the status of a job, its answer, and the seconds that it took."""
    began, seconds = time.monotonic(), job.get("timeout")
    until = None if seconds is None else began + seconds + LATER
    try:
        with limited(until, job.get("memory"), said=f"timeout after {seconds} s"):
            answer = work(job)
        status = _status(answer)
    except SwizzleError as error:
        place = f"{error.place.file}:{error.place.line}:{error.place.column}" if error.place else None
        said = {"found": error.found, "place": place, "expected": error.expected, "fix": error.fix}
        status, answer = "mistake", {"status": "mistake", "error": said}
    except (Interruption, MemoryError) as stopped:
        status = "memory" if isinstance(stopped, OutOfMemory | MemoryError) else "timeout"
        answer = {"status": status, "reason": str(stopped) or "out of memory"}
    except (Exception, SystemExit) as error:
        status, answer = "bug", {"status": "bug", "reason": f"{type(error).__name__}: {error}"}
    return {"status": status, "answer": answer, "seconds": round(time.monotonic() - began, 6)}


def _status(answer: Mapping[str, Any]) -> str:
    """Return what an answer says, or which limit kept it from saying that."""
    found = "done" if "best" not in answer else "found" if answer["best"] else "none"
    status = str(answer.get("status") or answer.get("verdict") or found)
    why = str(reason(answer))
    for limit, said in (("timeout", "timeout"), ("memory", "out of memory")):
        if status in ("unknown", "undecided") and why.startswith(said):
            return limit
    return status


def reason(answer: Mapping[str, Any]) -> str:
    """Return why an answer says no more than it does, '' where it doesn't say that."""
    certificate = answer.get("certificate") or {}
    mistake = answer.get("error") or {}
    found = ": ".join(part for part in (mistake.get("place"), mistake.get("found")) if part)
    return str(answer.get("reason") or answer.get("why") or certificate.get("reason") or found)
