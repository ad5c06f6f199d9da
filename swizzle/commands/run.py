"""`swizzle run`: run the printed text on a GPU or on the CPU, and compare it with the specification."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

from swizzle.commands.console import count, wants_colour
from swizzle.commands.emit import cuda_source, lengths_text, proved, provenance
from swizzle.commands.exit_status import DONE, NO
from swizzle.commands.solve import SolveArguments, answer, exit_status, solved
from swizzle.commands.target import Filled, load_kernel, sizes_of
from swizzle.sketch import Sketch
from symbolic.errors import SwizzleError
from symbolic.launch_shape import require_hardware_warp
from symbolic.program import Parameter, Program
from symbolic.store import cell_name

if TYPE_CHECKING:
    import numpy as np

    from cuda_out.printer import CudaSource
    from swizzle.commands.trial import Array, Trial

ORDERS = (0, 1, 2, 3)
"""In how many orders of lanes, warps and blocks the emulation runs a kernel: up, down, and two at random."""


@dataclass(frozen=True, slots=True)
class RunArguments:
    """`swizzle run`."""

    target: str
    overrides: Mapping[str, int] = field(default_factory=dict)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    seed: int = 0
    quiet: bool = False
    no_cache: bool = False


def run(arguments: RunArguments, out: TextIO, err: TextIO) -> int:
    """Run the printed text of a kernel, solved first where it has holes, on random data against its specification."""
    with redirect_stdout(err):
        filled = load_kernel(arguments.target, arguments.overrides)
        device, why = _device(arguments.device)
        require_hardware_warp(filled.program)
        if isinstance(filled, Sketch):
            asked = SolveArguments(arguments.target, quiet=arguments.quiet, no_cache=arguments.no_cache)
            result = solved(filled, asked, err)
            if result.status != "sat":
                out.write(answer(result, [], asked, colour=wants_colour(out)))
                return exit_status(result)
            best = result.best
            head = provenance(best, proved(result, every_space=False), filled.parameters)
            filled = Filled(best.program, filled.spec, tuple(head), sizes_of(best.program, filled))
        return try_kernel(filled, device, why, arguments.seed, out)


def _device(wanted: Literal["auto", "cpu", "cuda"]) -> tuple[Literal["cpu", "cuda"], str]:
    """Return where to run, and why not on a GPU where that was left open."""
    from cuda_out.launch import gpu_available

    if wanted == "cpu":
        return "cpu", ""
    available, why = gpu_available()
    if available:
        return "cuda", ""
    if wanted == "cuda":
        raise SwizzleError(why, expected="an NVIDIA GPU", mend="run it on the CPU: --device cpu")
    return "cpu", why


def try_kernel(filled: Filled, device: Literal["cpu", "cuda"], why: str, seed: int, out: TextIO) -> int:
    """Run the printed text on random data and say how it compares."""
    from cuda_out.emulate import EmulationError
    from swizzle.commands.trial import trials
    from swizzle.search.specification import numbers

    program = filled.program
    source = cuda_source(program, filled.head, filled.sizes)
    runner = _on_cpu if device == "cpu" else _on_gpu
    where = "the GPU" if device == "cuda" else "the CPU" + (f"; no GPU: {why}" if why else "")
    out.write(f"{program.name}: running the printed kernel, {_launch_text(program)}, on {where}\n")
    try:
        found = trials(program, partial(numbers, program, filled.spec), partial(runner, source, program), seed)
        others = _other_lengths(filled, source, runner, seed)
    except EmulationError as error:
        out.write(f"  not equal: {with_names(str(error), program.parameters)}\n")
        return NO
    if device == "cpu":
        out.write(f"  emulated in {len(ORDERS)} orders of lanes, warps and blocks: no race, no access out of bounds\n")
    for trial in found:
        out.write(f"  {trial}\n")
    wrong = {text: trial for text, trial in others.items() if not trial.equal}
    for text, trial in wrong.items():
        out.write(f"  at length {text}, {trial}\n")
    if others and not wrong:
        out.write(f"  at the lengths {', '.join(others)} too: all outputs are the specification's\n")
    return DONE if all(trial.equal for trial in (*found, *others.values())) else NO


Runner: TypeAlias = "Callable[[CudaSource, Program, list[Array]], None]"


def _on_cpu(source: CudaSource, program: Program, arrays: list[Array], orders: Sequence[int] = ORDERS) -> None:
    from cuda_out.emulate import emulate_checked

    given: list[Array | np.int64] = [*arrays, *_lengths(source, program)]
    emulate_checked(source.text, source.entry, program.grid, program.block, given, orders=orders)


def _on_gpu(source: CudaSource, program: Program, arrays: list[Array]) -> None:
    from cuda_out.launch import launch

    given = [*arrays, *_lengths(source, program)]
    launch(source.text, source.entry, program.grid, program.block, given, alignment=source.alignment)


def _lengths(source: CudaSource, program: Program) -> list[np.int64]:
    """Return what a kernel of any length takes after its arrays, for a program of the wanted sizes."""
    import numpy as np

    if source.tiling is None:
        return []
    return [np.int64(length) for length in source.lengths(source.tiling.lengths(program))]


def _other_lengths(filled: Filled, source: CudaSource, runner: Runner, seed: int) -> dict[str, Trial]:
    """Run the same text at other lengths, where the specification is made for them."""
    from swizzle.commands.trial import trials
    from swizzle.search.specification import numbers

    found: dict[str, Trial] = {}
    tiling = source.tiling
    for lengths in tiling.evidence if tiling else ():
        assert tiling is not None
        at = dict(zip([axis.axis for axis in tiling.axes], lengths, strict=True))
        if at == tiling.declared:
            continue
        program = tiling.at(filled.program, at)
        try:
            first, *_ = trials(program, partial(numbers, program, filled.spec), partial(runner, source, program), seed)
        except SwizzleError:
            continue  # the specification is made for the sketch's own sizes
        found[lengths_text(lengths)] = first
    return found


def with_names(finding: str, parameters: Sequence[Parameter]) -> str:
    """Name the arrays in a finding of the emulation about 'argument 0', and the element where it says which."""

    def cell(match: re.Match[str]) -> str:
        parameter, at = parameters[int(match[1])], match[2]
        if at.startswith("("):
            return f"{parameter.name}[{at.strip('(,)')}]"
        return cell_name(parameter.name, parameter.shape, int(at))

    finding = re.sub(r"argument (\d+), element (\d+|\([\d, ]+\))", cell, finding)
    return re.sub(r"argument (\d+)", lambda match: parameters[int(match[1])].name, finding)


def _launch_text(program: Program) -> str:
    blocks, threads = prod(program.grid), prod(program.block)
    return f"{count(blocks, 'block')} of {count(threads, 'thread')}"
