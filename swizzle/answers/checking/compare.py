"""Run a printed text at several sizes on random data, on some device, and say how it compares."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.c.printer import CudaSource
from cuda_out.compile.launch import launch, structure
from cuda_out.emulate.emulate import EmulationError, emulate_checked
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.run import interpret
from swizzle.answers.checking.sizes import LaunchSize, at_the_lengths
from swizzle.answers.checking.trial import Array, trials
from swizzle.answers.status import CheckStatus
from swizzle.solving.solution.in_words import rounds_in_any_order
from symbolic.ir.index import cell_name
from symbolic.ir.program import Parameter

Argument: TypeAlias = "Array | np.generic"
ORDERS = (0, 1, 2, 3)
"""In how many orders of lanes, warps and blocks the emulation runs a kernel: up, down, and two at random."""


class Runner(Struct, frozen=True):
    """`run` runs a text at a size on its arrays, in the order of the parameters, changing outputs in place.

    It raises EmulationError where the text does what CUDA leaves undefined; `watched` says what else was looked for.
    """

    run: Callable[[LaunchSize, list[Array]], None]
    watched: str = ""


class Compared(Struct, frozen=True):
    """How the numbers compare: an exit status, and lines for the user."""

    status: CheckStatus
    lines: tuple[str, ...]


def arguments(size: LaunchSize, arrays: Sequence[Array]) -> list[Argument]:
    """Return what the kernel takes: its arrays, scalars and structures, then its lengths."""
    given = zip(size.filled.program.parameters, arrays, strict=True)
    values = [structure(array) if p.by_value else array if p.shape else array[()] for p, array in given]
    return [*values, *map(np.int64, size.lengths)]


def on_cpu(source: CudaSource) -> Runner:
    """Run the text in the emulation, in several orders."""

    def run(size: LaunchSize, arrays: list[Array]) -> None:
        grid = size.filled.program.grid
        alike = not rounds_in_any_order(size.filled.program)
        given = arguments(size, arrays)
        emulate_checked(
            source.text, source.entry, grid, source.block, given,
            orders=ORDERS, alike=alike, shared_bytes=source.shared_bytes,
        )  # fmt: skip

    return Runner(run, f"emulated in {len(ORDERS)} orders of lanes, warps and blocks: no race, no access out of bounds")


def on_gpu(source: CudaSource) -> Runner:
    """Run the text on a GPU."""

    def run(size: LaunchSize, arrays: list[Array]) -> None:
        grid, given = size.filled.program.grid, arguments(size, arrays)
        launch(
            source.text, source.entry, grid, source.block, given,
            alignment=source.alignment, shared_bytes=source.shared_bytes,
        )  # fmt: skip

    return Runner(run)


def on_ptx(source: CudaSource, ptx: str) -> Runner:
    """Run the PTX that a compiler made of the text in the interpreter; raises NotInterpreted where it cannot."""

    def run(size: LaunchSize, arrays: list[Array]) -> None:
        try:
            given, shared = arguments(size, arrays), source.shared_bytes
            interpret(ptx, source.entry, size.filled.program.grid, source.block, given, shared)
        except Broken as error:
            raise EmulationError(str(error)) from None

    return Runner(run)


def compare(sizes: Sequence[LaunchSize], runner: Runner, seed: int) -> Compared:
    """Compare at the first size on all kinds of data, at the others on the first kind."""

    lines: list[str] = []
    also, status = [], CheckStatus.EQUAL
    for size in sizes:
        own, program = size is sizes[0], size.filled.program
        where = "" if own else f"at length {size}, "
        try:
            for trial in trials(program, size.numbers, partial(runner.run, size), seed, size.rounding):
                if own or not trial.equal:
                    lines.append(f"{where}{trial}")
                if not trial.equal:
                    status = CheckStatus.DIFFERENT
                if not own:
                    also += [str(size)] if trial.equal else []
                    break
        except EmulationError as error:
            return Compared(CheckStatus.DIFFERENT, (f"{where}not equal: {with_names(str(error), program.parameters)}",))
    if also and status == CheckStatus.EQUAL:
        lines.append(f"{at_the_lengths(also)} too: all outputs are the specification's")
    return Compared(status, (*([runner.watched] if runner.watched else []), *lines))


def with_names(finding: str, parameters: Sequence[Parameter]) -> str:
    """Name the arrays in a finding of the emulation about 'argument 0', and the element where it says which."""

    def cell(match: re.Match[str]) -> str:
        parameter, at = parameters[int(match[1])], match[2]
        if at.startswith("("):
            return f"{parameter.name}[{at.strip('(,)')}]"
        return cell_name(parameter.name, parameter.shape, int(at))

    finding = re.sub(r"argument (\d+), element (\d+|\([\d, ]+\))", cell, finding)
    return re.sub(r"argument (\d+)", lambda match: parameters[int(match[1])].name, finding)
