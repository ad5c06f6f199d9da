"""Small sketches for tests, written in the language itself."""

from typing import Any

import numpy as np

from swizzle.language.parameters import Parameters
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from symbolic.machine.run import Run


def accumulates_of(run: Run) -> int:
    """Return how many accumulate statements of a run without holes have a predicate that holds somewhere."""
    return len({entry.site for entry in run.accumulated if np.any(entry.mask)})


def sketch_of(text: str, **parameters: int) -> Sketch:
    """Return the only sketch of a `.swz` text."""
    (found,) = read_swz(text, "test.swz", Parameters(parameters))
    return found


def kernel(
    body: str, *, spec: str = "[0]", arguments: str = "x=i32[8], y=i32.out[8]", head: str = "", **options: Any
) -> Sketch:
    """Return a sketch whose kernel has this body; `spec` is its specification's result, `head` what stands above."""
    launch = ", ".join(f"{k}={v}" for k, v in ({"block": 8, "grid": 1, "warp_size": 4} | options).items())
    names = [part.split("=")[0].strip() for part in arguments.split(", ") if "=" in part]
    inputs = [n for n in names if f"{n}=" in arguments and ".out" not in arguments.split(f"{n}=")[1].split(",")[0]]
    indented = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return sketch_of(
        f"{head}@spec\ndef wanted({', '.join(inputs)}):\n    return {spec}\n\n"
        f"@sketch(spec=wanted, {launch}, {arguments})\ndef k({', '.join(names)}):\n{indented}\n"
    )
