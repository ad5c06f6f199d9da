"""Scan networks of a file, for `swizzle show`: what FILE.py:NAME names if it is no sketch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from swizzle.answers.emit.files import write_whole
from swizzle.commands.output import DONE
from swizzle.commands.target import split_target
from swizzle.scans.algorithm import sizes
from swizzle.scans.kernel import ScanKernel
from swizzle.scans.network import Network
from swizzle.scans.solving import Scan
from swizzle.sketches.loading import load_names
from swizzle.sketches.sketch import Sketch
from symbolic.errors import SwizzleError, printable

SHOWN = 16
"""Elements of a solved scan that are drawn, or the next power."""


def scan_of(target: str, overrides: Mapping[str, int]) -> Network | ScanKernel | None:
    """Return the network, or the kernel of a scan, that a target names; of a solved scan its network."""
    path, selector = split_target(target)
    if path.suffix != ".py" or selector is None:
        return None
    found = load_names(path, overrides).get(selector)
    if isinstance(found, Scan) and found.algorithm is not None:
        base = found.algorithm.base
        return found.network(next(size for size in sizes(base, SHOWN * base) if size >= SHOWN))
    return found if isinstance(found, Network | ScanKernel) else None


def shown(target: str, overrides: Mapping[str, int], output: Path | None, out: TextIO) -> Sketch | int | None:
    """Draw the network that a target names, and return the exit status; of a scan's kernel, return the sketch."""
    found = scan_of(target, overrides)
    if found is None or isinstance(found, ScanKernel):
        return None if found is None else found.sketch
    name = target.rpartition(":")[2]
    out.write(f"{name}: {repr(found).strip('<>')}, at most {found.fan_out} take the same one\n{found}\n")
    if output is None:
        out.write(f"  to see it: -o {name}.svg, a figure\n")
        return DONE
    if output.suffix != ".svg":
        raise SwizzleError(f"{output} for a network", expected="a figure", fix=f"-o {name}.svg")
    write_whole(output, found.svg())
    out.write(f"  wrote {printable(str(output))}\n")
    return DONE
