"""Run saved solutions (NAME.json) one after the other in one process: what compute-sanitizer is put around.

python tests/run_saved.py cpu|cuda FILE ...
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main(device: Literal["cpu", "cuda"], files: Sequence[str]) -> int:
    """Run each at its own lengths and at others, on random data; return 1 if one is not its specification."""
    from swizzle.commands.run import RunArguments, run

    statuses = []
    for file in files:
        print(f"== {file}", flush=True)
        statuses.append(run(RunArguments(file, device=device), sys.stdout, sys.stderr))
    return int(any(statuses))


if __name__ == "__main__":
    device, *files = sys.argv[1:]
    assert device in ("cpu", "cuda"), device
    sys.exit(main("cuda" if device == "cuda" else "cpu", files))
