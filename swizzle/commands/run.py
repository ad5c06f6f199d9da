"""`swizzle run`: run the printed text on a GPU or on the CPU, and compare it with the specification."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import redirect_stdout
from math import prod
from typing import Literal, TextIO

from msgspec import Struct, field

from cuda_out.compile.launch import gpu_available
from swizzle.answers.checking.trial import compare, on_cpu, on_gpu, sizes_to_try
from swizzle.answers.emit.emitters import cuda_source, proved, provenance
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from swizzle.commands.bounds import Bounds
from swizzle.commands.hosts import run_host
from swizzle.commands.progress import wants_colour
from swizzle.commands.solve import SolveArguments, answer, exit_status, kernel_filler, solved
from swizzle.commands.target import Target
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.in_words import count
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program
from symbolic.machine.launch_shape import require_hardware_warp


class RunArguments(Struct, frozen=True):
    """`swizzle run`."""

    target: str
    overrides: Mapping[str, int] = field(default_factory=dict)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    seed: int = 0
    quiet: bool = False
    no_cache: bool = False
    trust: bool = False
    timeout: float | None = None
    memory: int | None = None


def run(arguments: RunArguments, out: TextIO, err: TextIO) -> int:
    """Run the printed text of a kernel, solved first where it has holes, on random data against its specification."""
    bounds = Bounds(arguments.timeout, arguments.memory)
    with redirect_stdout(err), bounds.hold():
        target = Target.of(arguments.target, arguments.overrides)
        hosts, alone = target.hosts()
        if alone and len(hosts) == 1:
            asked = SolveArguments(arguments.target, quiet=arguments.quiet, no_cache=arguments.no_cache)
            return run_host(hosts[0], out, fill=kernel_filler(asked, err, bounds), seed=arguments.seed)
        filled = target.kernel(trust=arguments.trust)
        device, why = _device(arguments.device)
        require_hardware_warp(filled.program)
        if isinstance(filled, Sketch):
            asked = SolveArguments(
                arguments.target, timeout=arguments.timeout, quiet=arguments.quiet, no_cache=arguments.no_cache
            )
            result = solved(filled, asked, err, bounds)
            if result.status != "sat":
                out.write(answer(result, [], asked, colour=wants_colour(out)))
                return exit_status(result)
            best = result.best
            head = provenance(best, proved(result, every_space=False), filled.parameters)
            filled = FilledKernel(best.program, filled.spec, tuple(head), sizes_of(best.program, filled))
        return try_kernel(filled, device, why, arguments.seed, out)


def _device(wanted: Literal["auto", "cpu", "cuda"]) -> tuple[Literal["cpu", "cuda"], str]:
    """Return where to run, and why not on a GPU where that was left open."""

    if wanted == "cpu":
        return "cpu", ""
    available, why = gpu_available()
    if available:
        return "cuda", ""
    if wanted == "cuda":
        raise SwizzleError(why, expected="an NVIDIA GPU", fix="run it on the CPU: --device cpu")
    return "cpu", why


def try_kernel(filled: FilledKernel, device: Literal["cpu", "cuda"], why: str, seed: int, out: TextIO) -> int:
    """Run the printed text on random data and say how it compares."""

    program = filled.program
    source = cuda_source(program, filled.head, filled.sizes)
    where = "the GPU" if device == "cuda" else "the CPU" + (f"; no GPU: {why}" if why else "")
    out.write(f"{program.name}: running the printed kernel, {_launch_text(program)}, on {where}\n")
    runner = on_cpu(source) if device == "cpu" else on_gpu(source)
    found = compare(sizes_to_try(filled, source), runner, seed)
    out.writelines(f"  {line}\n" for line in found.lines)
    return found.status


def _launch_text(program: Program) -> str:
    blocks, threads = prod(program.grid), prod(program.block)
    return f"{count(blocks, 'block')} of {count(threads, 'thread')}"
