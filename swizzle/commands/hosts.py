"""`swizzle solve`, `check` and `run` of host functions: kernels, one after the other, with one specification."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np
from msgspec.structs import replace

from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import CompileError, available_tools, compile_both_forms, compile_to_ptx
from cuda_out.emulate.building import missing_compiler
from cuda_out.emulate.emulate import EmulationError, emulate_checked
from cuda_out.ptx.validate import Validator, WrittenOut
from swizzle.commands.compare import ORDERS, with_names
from swizzle.commands.difference import KINDS
from swizzle.commands.emitted import NO_COMPILER
from swizzle.commands.exit_status import DONE, NO, UNDECIDED
from swizzle.commands.rounding import Rounding
from swizzle.commands.trial import Array, Kind, random_argument, trials
from swizzle.emit.files import write_all
from swizzle.hosts.composition import Composition, FilledHost, composed
from swizzle.hosts.running import filled_host
from swizzle.hosts.text import host_text, kernel_sources
from swizzle.sketches.host import HostSketch
from swizzle.sketches.sketch import Sketch
from swizzle.solution.version import __version__
from swizzle.solution.words import assumed, count, rounds_in_any_order
from swizzle.specs.launching import launched
from swizzle.specs.specification import Meaning, numbers
from symbolic.algebra.numbers import in_memory
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program

ARCHITECTURES: Final = ("sm_80", "sm_100")
_WORDS: Final = {DONE: "equal", NO: "different", UNDECIDED: "unknown"}


def without_holes(kernel: Sketch) -> Program:
    """Refuse a kernel with holes, where nothing is solved."""
    raise SwizzleError(
        f"{kernel.name} has {count(len(kernel.program.holes), 'hole')}",
        place=kernel.program.holes[0].place,
        expected="kernels without holes",
        fix="solve the host function: swizzle solve FILE:NAME -o DIR",
    )


def check_host(
    host: HostSketch, out: TextIO, *, fill: Callable[[Sketch], Program] = without_holes, emitted: bool = False,
    json_object: bool = False,
) -> int:  # fmt: skip
    """Verify a host function for all inputs; on request try its printed text, too."""
    filled = filled_host(host, fill)
    found = composed(filled)
    status, lines = _verdict(filled, found)
    if emitted and status == DONE:
        more, status = _emitted(filled)
        lines += more
    _tell(host, status, lines, json_object, out)
    return status


def solve_host(
    host: HostSketch, out: TextIO, *, fill: Callable[[Sketch], Program], folder: Path | None,
    kinds: Sequence[str] | None, json_object: bool = False,
) -> int:  # fmt: skip
    """Solve a host function's kernels, verify that together they are right, and write its text."""
    filled = filled_host(host, fill)
    status, lines = _verdict(filled, composed(filled))
    if status == DONE and folder is not None:
        head = [
            f"{host.name}, made by swizzle {__version__} from {Path(host.place.file).name}: "
            f"{', '.join(launch.kernel.name for launch in host.launches)}, one after the other.",
            "Verified for all inputs, at these sizes.",
            *(f"{name} = {value}" for name, value in host.values.items()),
            *(f"Assumes {each}." for each in assumed(host.face)),
        ]
        texts = {}
        for kind in kinds or ("cuda",):
            if kind not in ("cuda", "header"):
                raise SwizzleError(
                    f"--emit {kind} of {host.name}, a host function", expected="cuda or header",
                    fix="emit its kernels by name, if they have specifications of their own",
                )  # fmt: skip
            suffix, form = (".cu", "cu") if kind == "cuda" else (".cuh", "header")
            texts[folder / f"{host.name}{suffix}"] = host_text(filled, head, form)  # type: ignore[arg-type]
        write_all(texts)
        lines += [f"wrote {path}" for path in texts]
    _tell(host, status, lines, json_object, out)
    return status


def run_host(host: HostSketch, out: TextIO, *, fill: Callable[[Sketch], Program], seed: int) -> int:
    """Run the printed kernels one after the other on random data, and compare what they leave."""
    filled = filled_host(host, fill)
    lines, status = _run(filled, seed)
    out.write(f"{host.name}: running the printed kernels, {count(len(host.launches), 'launch')}, on the CPU\n")
    out.writelines(f"  {line}\n" for line in lines)
    return status


def _tell(host: HostSketch, status: int, lines: Sequence[str], json_object: bool, out: TextIO) -> None:
    if json_object:
        out.write(json.dumps({"host": host.name, "status": _WORDS[status], "lines": lines}, indent=2) + "\n")
    else:
        out.write("\n  ".join(lines) + "\n")


def _verdict(filled: FilledHost, found: Composition) -> tuple[int, list[str]]:
    host = filled.host
    if not found.findings:
        kernels = " then ".join(launch.kernel.name for launch in host.launches)
        covered = f"{count(found.elements, 'output')}, {kernels}"
        lines = [f"{host.name}: equal to its specification, verified for all inputs ({covered})"]
        return DONE, [*lines, *(f"assumes {each}" for each in assumed(host.face))]
    if found.broken:
        return NO, [f"{host.name}: not equal to its specification", *found.findings]
    wrong = _numeric_difference(filled)
    if wrong:
        return NO, [f"{host.name}: not equal to its specification", wrong, *found.findings]
    agree = f"the numbers agree on {count(len(KINDS), 'random input')}, but the terms differ"
    return UNDECIDED, [f"{host.name}: not shown equal: {agree}:", *found.findings]


def _numeric_difference(filled: FilledHost) -> str:
    """Return an output on which the kernels, run by the machine on numbers, and the specification differ."""

    def run(memory: dict[str, Any]) -> None:
        for launch in filled.host.launches:
            program = filled.programs[launch.kernel.name]
            pairs = list(zip(program.parameters, launch.arrays, strict=True))
            left = launched(program, [memory[name] for p, name in pairs if p.role != "out"])
            memory.update({name: left[p.name] for p, name in pairs if p.role in ("out", "inout")})

    face = filled.host.face
    floats = any(p.dtype.is_float for program in filled.programs.values() for p in program.parameters)
    for seed in range(len(KINDS)):
        rng = np.random.default_rng(seed)
        kind: Kind = "all magnitudes" if seed % 2 and not floats else "whole numbers"
        given = {p.name: random_argument(p, rng, kind) for p in face.parameters}
        wanted = numbers(face, filled.spec, given)
        run(given)
        for name, want in wanted.items():
            different = np.argwhere(~np.isclose(given[name].astype(float), want.astype(float), 1e-3, 1e-3, True))
            if len(different):
                at = tuple(different[0].tolist())
                cell = f"{name}[{', '.join(map(str, at))}]"
                return f"on random input {seed}, {cell} is {given[name][at]}, the specification says {want[at]}"
    return ""


def _emitted(filled: FilledHost) -> tuple[list[str], int]:
    """Compile the text, validate each kernel's PTX against the kernel, and run them."""
    lines, status = list[str](), DONE
    sources = kernel_sources(filled)
    if not available_tools():
        lines.append(NO_COMPILER)
        status = UNDECIDED
    for kernel in filled.host.kernels if available_tools() else ():
        source, program = sources[kernel.name], filled.programs[kernel.name]
        meaning = Meaning.of(program, kernel.spec)
        validator = Validator(program, meaning.wanted, WrittenOut(meaning.terms, program.parameters), source.alignment)
        for arch in ARCHITECTURES:
            ptx = compile_to_ptx(with_opaque_calls(source.text), arch)
            found = validator.validate(ptx, source.entry, shared_bytes=source.shared_bytes)
            lines.append(f"{kernel.name}: PTX for {arch}: {found.verdict}")
            lines += [f"  {finding}" for finding in found.findings]
            status = max(status, {"equal": DONE, "different": NO}.get(found.verdict, UNDECIDED))
    if "nvcc" in available_tools():
        for text in (host_text(filled, ()), host_text(filled, (), "header")):
            compile_both_forms(text, "", next(iter(sources.values())).namespace, ARCHITECTURES[0])
        lines.append("both forms, the host function included: nvcc compiles them without warnings")
    more, ran = _run(filled, 0)
    return [*lines, *more], max(status, ran)


def _run(filled: FilledHost, seed: int) -> tuple[list[str], int]:
    if why := missing_compiler():
        return [f"not run: {why}"], UNDECIDED
    host, face = filled.host, filled.host.face
    sources, meaning = kernel_sources(filled), Meaning.of(filled.host.face, filled.spec)

    def wanted(given: Mapping[str, Array]) -> Mapping[str, Array]:
        return numbers(face, filled.spec, given)

    def run(arrays: list[Array]) -> None:
        memory = {p.name: array for p, array in zip(host.parameters, arrays, strict=True)}
        rng = np.random.default_rng(seed)
        for p in host.scratch:
            as_new = random_argument(_unwritten(p), rng, "whole numbers")
            memory[p.name] = np.array(in_memory(as_new, p.dtype))
        for launch in host.launches:
            source, program = sources[launch.kernel.name], filled.programs[launch.kernel.name]
            given = [memory[name] if memory[name].ndim else memory[name][()] for name in launch.arrays]
            try:
                alike = not rounds_in_any_order(program)
                emulate_checked(
                    source.text,
                    source.entry,
                    program.grid,
                    source.block,
                    given,
                    orders=ORDERS,
                    alike=alike,
                    shared_bytes=source.shared_bytes,
                )
            except EmulationError as error:
                raise EmulationError(f"{launch.kernel.name}: {with_names(str(error), program.parameters)}") from None

    lines, status = [], DONE
    try:
        for trial in trials(face, wanted, run, seed, Rounding(filled.face, meaning)):
            lines.append(str(trial))
            status = status if trial.equal else NO
    except EmulationError as error:
        return [f"not equal: {error}"], NO
    except CompileError as error:
        return [f"the emulation does not compile it: {error}"], UNDECIDED
    return [f"emulated in {len(ORDERS)} orders of lanes, warps and blocks: no race, no access out of bounds", *lines], (
        status
    )


def _unwritten(parameter: Any) -> Any:
    return replace(parameter, role="out")
