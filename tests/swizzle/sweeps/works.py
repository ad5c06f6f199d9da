"""What workers call in tests: work that is done, or goes wrong in every way."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from symbolic.errors import Place, SwizzleError

CALL = "tests.swizzle.sweeps.works:work"


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Do what the job says; `options` has a folder in which what was begun leaves a mark."""
    options = job.get("options", {})
    if "marks" in options:
        with open(Path(options["marks"], job["target"]), "a", encoding="ascii") as marks:
            marks.write(f"{os.getpid()} {os.getppid()}\n")
    match job["do"]:
        case "mistake":
            raise SwizzleError("no such thing", place=Place("a.py", 3, 4), expected="a thing", fix="make one")
        case "bug":
            raise ZeroDivisionError("ours")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die once" if Path(options["marks"], job["target"]).read_text(encoding="ascii").count("\n") == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        case "leave":
            os._exit(3)
        case "end Dask's worker":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        case "fill memory":
            held = []
            while True:
                held.append(b"x" * (1 << 20))
        case "sleep":
            time.sleep(options["seconds"])
        case "deaf":  # to the watch: it is in one call, as in a solver's
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            time.sleep(options["seconds"])
        case "say":
            print("this goes nowhere", flush=True)
            os.write(1, b"nor does this\n")
            return {"status": "done", "text": "x" * options["length"]}
        case "unknown":
            return {"status": "unknown", "certificate": {"reason": options["reason"]}}
    return {"status": "done", "value": job["set"].get("n", 0) ** 2}
