"""Kernels of somebody's file as they are launched: one, or a chain of them, each with what it is given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.compile.toolchain import Resources
from cuda_out.ptx.kinds import width
from cuda_out.ptx.running.machine import STEPS
from cuda_out.ptx.syntax import Instruction, Kernel, PtxVariable, names_of
from swizzle.strangers.reading.compiled import (
    Undecided,
    assembled,
    compiled_to_calls,
    entry_of,
    in_words,
    line_of,
    own_name,
)
from swizzle.strangers.reading.launch import (
    KINDS,
    GivenArgument,
    KernelLaunch,
    arguments_of,
    check_counts,
    chosen_kernel,
    flags_of,
    launch_of,
    said_chain,
    spelled,
    with_said_options,
)
from swizzle.strangers.reading.run import flat_arguments
from swizzle.strangers.reading.text import CudaKernel, CudaText
from symbolic.errors import SwizzleError

KIND_NAMES: Final = {ptx: name for name, ptx in KINDS.items()}
_ROUNDS: Final = ("add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
_MOVES: Final = ("mov", "selp", "max", "min", "neg", "abs", "shfl", "cvt")


class LaunchedKernel(Struct, frozen=True):
    """One launch of one kernel of a file: the arguments of a template as they are spelled, its PTX, and what it is
    given: its parameters, then variables of the module that the host sets, which are `entry`'s last parameters. A run
    executes `steps` instructions at most."""

    text: CudaText
    kernel: CudaKernel
    instance: str
    ptx: str
    entry: Kernel
    launch: KernelLaunch
    arguments: tuple[GivenArgument, ...]
    steps: int = STEPS

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def given(self) -> list[GivenArgument]:
        """What it is given, of a structure each field."""
        return flat_arguments(self.arguments)

    @property
    def used(self) -> set[str]:
        """The registers and variables that its instructions name."""
        return {name for i in self.entry.instructions for part in (*i.operands, i.guard) for name in names_of(part)}

    @property
    def set_by_host(self) -> set[str]:
        """The module's variables that it is given, as its PTX names them."""
        return {name for name, _ in self.entry.parameters[len(self.kernel.parameters) :]}

    @property
    def static_shared(self) -> int:
        """The bytes of shared memory that it declares with their sizes."""
        return sum(each.size for each in self.entry.arrays if each.space == "shared" and each.name in self.used)

    @property
    def jumps(self) -> bool:
        """Whether it compares floats that are rounded, or makes whole numbers of them."""
        rounded, before = set[str](), -1
        floats = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
        while len(rounded) > before:
            before = len(rounded)
            for each in self.entry.instructions:
                result, *taken = [name for part in each.operands for name in names_of(part)] or [""]
                if (each.op[0] in _ROUNDS and each.op[-1] in floats) or (
                    each.op[0] in _MOVES and rounded.intersection(taken)
                ):
                    rounded.add(result)
        return any(
            each.op[0] in ("setp", "set", "slct") or (each.op[0] == "cvt" and {*each.op} & {"rni", "rzi", "rmi", "rpi"})
            for each in self.entry.instructions
            if rounded.intersection(name for part in each.operands[1:] for name in names_of(part))
        )

    @property
    def other_signs(self) -> list[str]:
        """What --args gives a sign that the kernel's text does not, or the other way round, in words."""
        return [
            f"{each.name}, which the kernel has as {own}, holds what {KIND_NAMES[each.kind]} says"
            for each, parameter in zip(self.arguments, self.kernel.parameters, strict=False)
            if each.shape and (own := spelled(parameter)[0]).startswith(("i", "u"))
            and KIND_NAMES[each.kind][0] != own[0]
        ]  # fmt: skip

    @property
    def spelled(self) -> str:
        """Its name, with the arguments of a template."""
        return f"{self.kernel.name}{self.instance}"

    def assembled(self) -> Resources:
        """Return what ptxas says that it takes; raises Undecided where it refuses it."""
        return assembled(self.text, self.kernel, self.instance, self.ptx)

    def in_words(self, message: str) -> str:
        """Return a message about its PTX in the names and lines of its file."""
        return in_words(self.ptx, message)

    def line(self, instruction: Instruction | None) -> int:
        """Return the line of the file that an instruction comes from, 0 where that is not known."""
        return 0 if instruction is None else line_of(self.entry, instruction.source)


def launched(text: CudaText, kernel: str | None, launch: str | None, args: str | None) -> LaunchedKernel:
    """Compile a kernel and read how it is launched; raises SwizzleError for a mistake, Undecided for PTX that is not
    known."""
    found, instance = chosen_kernel(text, kernel)
    text = with_said_options(text, found)
    words, args, said = flags_of(text, found, launch, args)
    ptx = compiled_to_calls(text, found, instance)
    entry = _initialised(text, entry_of(ptx, found, text.path, text.code))
    variables = {own_name(each.name): each for each in entry.arrays if each.space in ("global", "const")}
    arguments = arguments_of(text, found, args, variables)
    set_by_host = [variables[each.name] for each in arguments[len(found.parameters) :]]
    entry = replace(entry, parameters=(*entry.parameters, *((each.name, "u64") for each in set_by_host)))
    how = launch_of(text, found, words, said, entry.most_threads)
    made = LaunchedKernel(text, found, instance, ptx, entry, how, tuple(arguments))
    for variable, argument in zip(set_by_host, arguments[len(found.parameters) :], strict=True):
        _check_variable(made, variable, argument)
    _check_shared_size(made)
    _check_host_data(made)
    return made


def chain_of(
    text: CudaText,
    kernels: Sequence[str],
    launches: Sequence[str],
    args: Sequence[str],
) -> list[LaunchedKernel]:
    """Return the launches of one kernel or of several in order; flags that are left out stand in the file."""
    names: list[str | None] = list(kernels) or [None]
    if not kernels and (chain := said_chain(text)):
        names = [each.flags["--kernel"] for each in chain]
        launches = launches or [each.flags["--launch"] for each in chain if "--launch" in each.flags]
        args = args or [each.flags["--args"] for each in chain if "--args" in each.flags]
    check_counts(launches, args, len(names))
    rows = zip(names, _padded(launches, len(names)), _padded(args, len(names)), strict=True)
    return [launched(text, *row) for row in rows]


def _padded(words: Sequence[str], count: int) -> list[str | None]:
    return [*words, *[None] * (count - len(words))]


def _check_shared_size(made: LaunchedKernel) -> None:
    """Refuse a launch that does not say how large an array in shared memory is that it must size."""
    if made.launch.dynamic == 0 and any(array.size == 0 and array.space == "shared" for array in made.entry.arrays):
        raise SwizzleError(
            f"{made.name} has shared memory whose size the launch gives, and nothing says it",
            place=made.text.place(made.kernel.begin), expected="a third number, of bytes",
            fix=f"--launch {made.launch},4096",
        )  # fmt: skip


def _check_variable(made: LaunchedKernel, variable: PtxVariable, argument: GivenArgument) -> None:
    """Refuse a variable of the module that is given another number of bytes than it has, or as an output."""
    size = width(argument.kind) // 8 * max(1, argument.size) if not argument.fields else 0
    if size != variable.size or argument.role not in ("in", "const"):
        raise SwizzleError(
            f"--args: {argument.name}, a variable of {variable.size} bytes that the host sets, as "
            + ("an output" if size == variable.size else f"one of {size} bytes"),
            place=made.text.place(made.kernel.begin), expected=f"an input of {variable.size} bytes",
            fix=f"{argument.name}:f32[{variable.size // 4}], for floats",
        )  # fmt: skip


def _initialised(text: CudaText, entry: Kernel) -> Kernel:
    """Return a kernel whose module's variables hold zeros where its text says so: PTX leaves out an initialiser of
    zeros, as if there was none."""
    statements = [
        file.code[entity.begin : entity.end]
        for file in (text, *text.headers.values())
        for entity in file.entities
        if entity.kind != "function"
    ]
    said = [each for each in statements if re.search(r"__(?:device|constant|managed)__", each)]

    def has_zeros(array: PtxVariable) -> bool:
        name = re.escape(own_name(array.name))
        initialiser = rf"\b{name}\s*(?:\[[^\]]*\]\s*)*[={{]"
        return array.data is None and any(re.search(initialiser, each) for each in said)

    arrays = [replace(a, data=bytes(a.size)) if has_zeros(a) else a for a in entry.arrays]
    return replace(entry, arrays=tuple(arrays))


def _check_host_data(made: LaunchedKernel) -> None:
    """Refuse a kernel that uses data of the module which the host may have set, and nothing says what it holds."""
    for each in made.entry.arrays:
        if each.space in ("global", "const") and each.data is None and each.name in made.used - made.set_by_host:
            name, count = own_name(each.name), each.size // 4
            example = f"{name}:f32[{count}]" if count > 1 else f"{name}:f32"
            raise Undecided(
                f"{made.name} uses {name}, which the host may have set, as it has no initialiser: give it one, or make "
                f"it an input, behind the parameters in --args: {example}, as it is declared"
            )
