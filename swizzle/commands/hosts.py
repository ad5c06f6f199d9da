"""`swizzle solve`, `check` and `run` of host functions: kernels, one after the other, with one specification."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.printer import CudaSource
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import CompileError, available_tools, compile_both_forms, compile_to_ptx
from cuda_out.emulate.emulate import EmulationError, emulate_checked, missing_compiler
from swizzle.answers.checking.emitted import NO_COMPILER
from swizzle.answers.checking.numba_text import try_host_numba
from swizzle.answers.checking.trial import (
    ORDERS,
    Array,
    Compared,
    Kind,
    LaunchSize,
    Runner,
    at_the_lengths,
    compare,
    other_sizes,
    random_argument,
    sizes_to_try,
    with_names,
)
from swizzle.answers.checking.validator import KINDS, SizesValidator
from swizzle.answers.emit.any_length.conditions import FixedSize
from swizzle.answers.emit.emitters import FILE_KINDS, Sizes, about_sizes, sizes_as_json, sizes_text
from swizzle.answers.emit.files import write_all
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.hosts.lengths import Composition, FilledHost, HostTiling, MovedMeaning, composed
from swizzle.answers.hosts.running import filled_host, host_lengths
from swizzle.answers.hosts.texts import host_numba, host_text, kernel_sources, length_names
from swizzle.answers.status import CheckStatus, worst
from swizzle.language.specs.launching import launched
from swizzle.language.specs.specification import Remembered, numbers
from swizzle.sketches.hole_formula import holes_as_json
from swizzle.sketches.host import HostSketch
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.in_words import assumed, count, rounds_in_any_order
from swizzle.solving.solution.solution import Result, Solution
from swizzle.solving.solution.version import __version__
from symbolic.algebra.numbers import in_memory
from symbolic.errors import SwizzleError, printable
from symbolic.ir.program import Program

ARCHITECTURES: Final = ("sm_80", "sm_100")


def without_holes(kernel: Sketch) -> Program:
    """Refuse a kernel with holes, where nothing is solved."""
    raise SwizzleError(
        f"{kernel.name} has {count(len(kernel.program.holes), 'hole')}",
        place=kernel.program.holes[0].place,
        expected="kernels without holes",
        fix="solve the host function: swizzle solve FILE:NAME -o DIR",
    )


class Told(Struct):
    """What was found out about a host function: an exit status, the worst of all, lines for people, and JSON."""

    status: CheckStatus
    lines: list[str]
    json: dict[str, Any]

    def settle(self, status: CheckStatus) -> None:
        self.status = worst([self.status, status])

    def tell(self, host: HostSketch, json_object: bool, out: TextIO) -> int:
        if json_object:
            said = {"host": host.name, "status": self.status.word, **self.json}
            out.write(json.dumps(said, indent=2) + "\n")
        else:
            out.write("\n  ".join(self.lines) + "\n")
        return self.status


def check_host(host: HostSketch, out: TextIO, *, emitted: bool = False, json_object: bool = False) -> int:
    """Verify a host function for all inputs; on request try its printed text, too."""
    filled = filled_host(host, without_holes)
    told = _verdict(filled, composed(filled))
    if emitted and told.status == CheckStatus.EQUAL:
        _emitted(filled, told)
    return told.tell(host, json_object, out)


def solve_host(
    host: HostSketch, out: TextIO, *, fill: Callable[[Sketch], Program], folder: Path | None,
    kinds: Sequence[str] | None, json_object: bool = False, results: Mapping[str, Result] | None = None,
) -> int:  # fmt: skip
    """Solve a host function's kernels, verify that together they are right, and write its text.

    `results` has what `fill` found of each kernel with holes.
    """
    filled = filled_host(host, without_holes)
    told = _verdict(filled, composed(filled))
    solutions = [f"{name}: {line}" for name, result in (results or {}).items() for line in hole_lines(result.best)]
    told.lines[1:1] = solutions
    told.json["holes"] = {name: holes_as_json(result.best.holes) for name, result in (results or {}).items()}
    if told.status == CheckStatus.EQUAL and folder is not None:
        sizes = host_lengths(filled)
        head = [
            f"{host.name}, made by swizzle {__version__} from {Path(host.place.file).name}: "
            f"{', '.join(launch.kernel.name for launch in host.launches)}, one after the other.",
            *(["Solution:"] if solutions else []),
            *(f"  {line}" for line in solutions),
            "Verified for all inputs.",
            *(f"{name} = {value}" for name, value in host.values.items()),
            *(f"Assumes {each}." for each in assumed(host.face)),
            *about_sizes(host.face, *_told_sizes(filled, sizes)),
        ]
        texts = {}
        for kind in kinds or ("cuda",):
            if kind == "ptx":
                raise SwizzleError(
                    f"--emit ptx of {host.name}, a host function", expected="cuda, header or numba",
                    fix="compile the .cu file: PTX has no function of the host that launches the kernels",
                )  # fmt: skip
            texts[folder / f"{host.name}{FILE_KINDS[kind].suffix}"] = (
                host_numba(filled, head, sizes)
                if kind == "numba"
                else host_text(filled, head, "cu" if kind == "cuda" else "header", sizes)
            )
        write_all(texts)
        told.json |= {"files": list(map(str, texts)), "sizes": sizes_as_json(host.face, *_told_sizes(filled, sizes))}
        told.lines += [f"wrote   {printable(str(path))}" for path in texts]
        told.lines.append(f"sizes   {sizes_text(host.face, *_told_sizes(filled, sizes))}")
    return told.tell(host, json_object, out)


def hole_lines(solution: Solution) -> list[str]:
    """Return a line for each hole of a kernel: what it became, and where it stands."""
    return [f"{hole.name} = {hole.formula}   at {hole.place}" for hole in solution.holes]


def _told_sizes(filled: FilledHost, sizes: HostTiling | FixedSize) -> tuple[Sizes, Sequence[str]]:
    """Return the lengths of a host function as those of a kernel are told, and their names."""
    if isinstance(sizes, FixedSize):
        return sizes, ()
    return sizes.tiling, tuple(length_names(filled, sizes.tiling).values())


def run_host(host: HostSketch, out: TextIO, *, fill: Callable[[Sketch], Program], seed: int) -> int:
    """Run the printed kernels one after the other on random data, and compare what they leave."""
    filled = filled_host(host, fill)
    out.write(f"{host.name}: running the printed kernels, {count(len(host.launches), 'launch')}, on the CPU\n")
    told = Told(CheckStatus.EQUAL, [], {})
    _run(filled, host_lengths(filled), seed, told)
    out.writelines(f"  {line}\n" for line in told.lines)
    return told.status


def _verdict(filled: FilledHost, found: Composition) -> Told:
    host = filled.host
    kernels = [launch.kernel.name for launch in host.launches]
    json: dict[str, Any] = {"launches": kernels, "outputs": found.elements, "assumes": list(assumed(host.face))}
    if not found.findings:
        covered = f"{count(found.elements, 'output')}, {' then '.join(kernels)}"
        lines = [f"{host.name}: equal to its specification, verified for all inputs ({covered})"]
        return Told(CheckStatus.EQUAL, [*lines, *(f"assumes {each}" for each in assumed(host.face))], json)
    json["findings"] = list(found.findings)
    if found.broken:
        return Told(CheckStatus.DIFFERENT, [f"{host.name}: not equal to its specification", *found.findings], json)
    if wrong := _numeric_difference(filled):
        json["findings"].insert(0, wrong)
        return Told(
            CheckStatus.DIFFERENT, [f"{host.name}: not equal to its specification", wrong, *found.findings], json
        )
    agree = f"the numbers agree on {count(len(KINDS), 'random input')}, but the terms differ"
    return Told(CheckStatus.UNDECIDED, [f"{host.name}: not shown equal: {agree}:", *found.findings], json)


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


def _emitted(filled: FilledHost, told: Told) -> None:
    """Compile the text, validate each kernel's PTX against the kernel at the lengths that it takes, and run them."""
    sizes = host_lengths(filled)
    sources = kernel_sources(filled, sizes)
    told.json["emitted"] = {"any_length": isinstance(sizes, HostTiling), "validation": []}
    if not available_tools():
        told.lines.append(NO_COMPILER)
        told.settle(CheckStatus.UNDECIDED)
    every_tried = dict[str, Sequence[LaunchSize]]()
    for kernel in filled.host.kernels:
        source, program = sources[kernel.name], filled.programs[kernel.name]
        tiling = sizes.kernels.get(kernel.name) if isinstance(sizes, HostTiling) else None
        spec = kernel.spec if tiling is None else Remembered(MovedMeaning(program, tiling))
        tried = every_tried[kernel.name] = sizes_to_try(FilledKernel(program, spec, ()), source)
        if not available_tools():
            continue
        validator = SizesValidator(tried, source)
        for arch in ARCHITECTURES:
            found = validator.validate(compile_to_ptx(with_opaque_calls(source.text), arch), source.entry)
            at = f" at the declared size, and {at_the_lengths(tried[1:])}" if tried[1:] else ""
            every = ", and for every block of every length" if found.everywhere else ""
            every += f", and in blocks far out, such as {found.far[0]}" if found.far else ""
            told.lines.append(
                f"{kernel.name}: PTX for {arch}: {found.verdict}" + (at + every) * (found.verdict == "equal")
            )
            told.lines += [f"  {finding}" for finding in found.findings]
            told.settle(
                {"equal": CheckStatus.EQUAL, "different": CheckStatus.DIFFERENT}.get(
                    found.verdict, CheckStatus.UNDECIDED
                )
            )
            told.json["emitted"]["validation"].append({
                "kernel": kernel.name, "architecture": arch, "status": found.verdict,
                "every_length": found.everywhere, "far_blocks": list(found.far),
                "findings": list(found.findings),
            })  # fmt: skip
    if "nvcc" in available_tools():
        for text in (host_text(filled, (), "cu", sizes), host_text(filled, (), "header", sizes)):
            compile_both_forms(text, "", next(iter(sources.values())).namespace, ARCHITECTURES[0])
        told.lines.append("both forms, the host function included: nvcc compiles them without warnings")
    module = try_host_numba(filled, sizes, None, every_tried)
    told.lines += module.lines
    told.settle(module.status)
    told.json["emitted"]["numba"] = module.json
    _run(filled, sizes, 0, told)


def _run(filled: FilledHost, sizes: HostTiling | FixedSize, seed: int, told: Told) -> None:
    if why := missing_compiler():
        told.lines.append(f"not run: {why}")
        told.settle(CheckStatus.UNDECIDED)
        return
    sources, tiling = kernel_sources(filled, sizes), sizes.tiling if isinstance(sizes, HostTiling) else None
    own = FilledKernel(filled.face, filled.spec, ())
    launches = tuple((filled.programs[each.kernel.name], each.arrays) for each in filled.host.launches)
    declared = tuple(tiling.declared.values()) if tiling else ()
    tried = (LaunchSize(own, declared, launches=launches), *other_sizes(own, tiling))
    runner = Runner(
        lambda size, arrays: _launch_all(filled, sizes, sources, size, arrays, seed),
        f"emulated in {len(ORDERS)} orders of lanes, warps and blocks: no race, no access out of bounds",
    )
    try:
        found = compare(tried, runner, seed)
    except CompileError as error:
        found = Compared(CheckStatus.UNDECIDED, (f"the emulation does not compile it: {error}",))
    told.lines += found.lines
    told.settle(found.status)
    told.json["run"] = {"status": found.status.word, "findings": list(found.lines)}


def _launch_all(
    filled: FilledHost, sizes: HostTiling | FixedSize, sources: Mapping[str, CudaSource], size: LaunchSize,
    arrays: list[Array], seed: int,
) -> None:  # fmt: skip
    """Run the printed kernels in the emulation, at some lengths, on a host function's arrays."""
    host = filled.host
    memory = {p.name: array for p, array in zip(host.parameters, arrays, strict=True)}
    tiling = sizes.tiling if isinstance(sizes, HostTiling) else None
    lengths = dict(zip(tiling.declared, size.lengths, strict=True)) if tiling else {}
    rng = np.random.default_rng(seed)
    for p in host.scratch:
        shape = tiling.shape(p, lengths) if tiling else p.shape
        as_new = random_argument(replace(p, role="out", shape=shape), rng, "whole numbers")
        memory[p.name] = np.array(in_memory(as_new, p.dtype))
    for number, launch in enumerate(host.launches):
        source, program = sources[launch.kernel.name], filled.programs[launch.kernel.name]
        given: list[Any] = [memory[name] if memory[name].ndim else memory[name][()] for name in launch.arrays]
        grid = program.grid
        if isinstance(sizes, HostTiling) and source.tiling is not None:
            own = {axis: length.at(lengths) for axis, length in sizes.launches[number].items()}
            grid = source.tiling.grid(program, own)
            given += map(np.int64, source.lengths(own))
        try:
            emulate_checked(
                source.text, source.entry, grid, source.block, given, orders=ORDERS,
                alike=not rounds_in_any_order(program), shared_bytes=source.shared_bytes,
            )  # fmt: skip
        except EmulationError as error:
            raise EmulationError(f"{launch.kernel.name}: {with_names(str(error), program.parameters)}") from None
