"""A counterexample as files: its arrays for NumPy, and a host program that launches the kernels on them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Final

import numpy as np

from cuda_out.ptx.kinds import width
from swizzle.answers.emit.files import write_all
from swizzle.strangers.proving.launched import LaunchedKernel
from swizzle.strangers.proving.proof import Counterexample
from swizzle.strangers.proving.running import Array
from swizzle.strangers.proving.subject import Subject
from swizzle.strangers.proving.trying import OneTry, tolerance
from swizzle.strangers.reading.launch import KINDS, GivenArgument, number_of
from symbolic.algebra.numbers import in_memory
from symbolic.ir.program import DType

_WORDS: Final = {8: "unsigned char", 16: "unsigned short", 32: "unsigned int", 64: "unsigned long long"}
_TYPES: Final = {
    "f16": "__half", "bf16": "__nv_bfloat16", "f32": "float", "f64": "double", "i8": "signed char",
    "u8": "unsigned char", "i16": "short", "u16": "unsigned short", "i32": "int", "u32": "unsigned int",
    "i64": "long long", "u64": "unsigned long long",
}  # fmt: skip
_NAMES: Final = {ptx: name for name, ptx in KINDS.items()}


def write_reproducer(folder: Path, subject: Subject, tried: OneTry, numbers: Counterexample) -> list[Path]:
    """Write NAME.npz with inputs, outputs and what they should be, NAME_reproduce.cu, and the kernel's own file."""
    name = subject.kernels[0].name
    arrays = {**tried.inputs, **{f"found_{n}": a for n, a in tried.found.items()}}
    arrays |= {f"wanted_{n}": a for n, a in tried.wanted.items()}
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]
    text = subject.kernels[0].text
    own = folder / Path(text.path).name
    contents: dict[Path, str | bytes] = {
        folder / f"{name}.npz": packed.getvalue(),
        folder / f"{name}_reproduce.cu": _host_program(subject, tried, numbers, own.name),
    }
    if not (own.exists() and Path(text.path).exists() and own.samefile(text.path)):
        contents[own] = text.text
    write_all(contents)
    return list(contents)


def _host_program(subject: Subject, tried: OneTry, numbers: Counterexample, file: str) -> str:
    given = {each.name: each for kernel in subject.kernels for each in kernel.given if each.shape}
    variables = {
        each.name: each for kernel in subject.kernels for each in kernel.arguments[len(kernel.kernel.parameters) :]
    }
    cell = _flat(numbers.where, tried)
    name = numbers.where.partition("[")[0]
    kind = _NAMES[given[name].kind]
    shown = f"(double)({'float' if kind in ('f16', 'bf16') else _TYPES[kind]}){name}_host[{cell}]"
    lines = [
        f"// {numbers.where} is {numbers.found} on a GPU, where {numbers.reference} says {numbers.wanted}.",
        f"// nvcc {subject.kernels[0].name}_reproduce.cu -o reproduce && ./reproduce",
        "#include <cstdio>", "#include <cstring>", "#include <cuda_bf16.h>", "#include <cuda_fp16.h>",
        "#define main main_of_the_file", f'#include "{file}"', "#undef main", "",
        "int main() {",
        *(f"    {line}" for each in given.values() if each.name not in variables
          for line in _array(each, tried.inputs.get(each.name))),
        *(f"    {line}" for each in variables.values() for line in _variable(each, tried)),
        *(f"    {_launch(kernel, tried)}" for kernel in subject.kernels),
        f"    cudaError_t error = cudaMemcpy({name}_host, {name}, sizeof {name}_host, cudaMemcpyDeviceToHost);",
        '    if (error != cudaSuccess) { std::printf("%s\\n", cudaGetErrorString(error)); return 2; }',
        f"    double found = {shown}, wanted = {float(numbers.wanted)!r};",
        f'    std::printf("{numbers.where} is %.9g, wanted %.9g\\n", found, wanted);',
        "    double off = found < wanted ? wanted - found : found - wanted;",
        f"    return off <= {_allowed(subject, tried, name, numbers)!r} ? 0 : 1;",
        "}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _allowed(subject: Subject, tried: OneTry, name: str, numbers: Counterexample) -> float:
    """Return from where on a GPU shows the difference: half of it, where it is smaller than the usual tolerance."""
    wanted = np.asarray(tried.wanted[name])
    if wanted.dtype.kind != "f":
        return 0.0
    usual = tolerance(subject) * max(1.0, float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)))
    off = abs(float(numbers.wanted) - float(numbers.found)) if numbers.found != "never written" else np.inf
    return min(usual, off / 2) if np.isfinite(off) else usual


def _flat(where: str, tried: OneTry) -> int:
    name, _, index = where.rstrip("]").partition("[")
    shape = tried.found[name].shape
    return int(np.ravel_multi_index(tuple(int(at) for at in index.split(", ")), shape)) if index else 0


def _array(each: GivenArgument, array: Array | None) -> Iterator[str]:
    """Yield what declares an array on both sides: elements that are not 0 one by one."""
    size, kind = prod(each.shape), _TYPES[_NAMES[each.kind]]
    yield f"static {kind} {each.name}_host[{size}]; {kind}* {each.name};"
    yield from _filled(each, array)
    yield f"cudaMalloc(&{each.name}, sizeof {each.name}_host);"
    yield f"cudaMemcpy({each.name}, {each.name}_host, sizeof {each.name}_host, cudaMemcpyHostToDevice);"


def _variable(each: GivenArgument, tried: OneTry) -> Iterator[str]:
    """Yield what sets a variable of the module."""
    kind = _TYPES[_NAMES[each.kind]]
    if each.shape:
        yield f"static {kind} {each.name}_host[{prod(each.shape)}];"
        yield from _filled(each, tried.inputs[each.name])
    else:
        yield f"{kind} {each.name}_host = ({kind}){_value(each, tried)};"
    yield f"cudaMemcpyToSymbol({each.name}, &{each.name}_host, sizeof {each.name}_host);"


def _filled(each: GivenArgument, array: Array | None) -> Iterator[str]:
    word = _WORDS[width(each.kind)]
    if array is not None:
        memory = np.ravel(np.asarray(in_memory(array, DType(_NAMES[each.kind]))))
        bits = np.ascontiguousarray(memory).view(f"u{memory.itemsize}")
        places = np.flatnonzero(bits)
        if len(places):
            at = ", ".join(map(str, places.tolist()))
            yield f"{{ static const unsigned at[] = {{{at}}};"
            yield f"  static const {word} bits[] = {{{', '.join(f'{b}ull' for b in bits[places].tolist())}}};"
            copy = f"std::memcpy(&{each.name}_host[at[i]], &bits[i], sizeof *bits)"
            yield f"  for (int i = 0; i < {len(places)}; ++i) {copy}; }}"
    else:
        yield f"std::memset({each.name}_host, 0xff, sizeof {each.name}_host);"


def _launch(kernel: LaunchedKernel, tried: OneTry) -> str:
    words = []
    for parameter, argument in zip(kernel.kernel.parameters, kernel.arguments, strict=False):
        kind = re.sub(r"\s*&\s*$", "", parameter.type)
        if argument.fields:
            words.append(f"{kind}{{{', '.join(_value(each, tried) for each in argument.fields)}}}")
        else:
            words.append(f"({kind}){_value(argument, tried)}")
    grid, block = (f"dim3({', '.join(map(str, shape))})" for shape in (kernel.launch.grid, kernel.launch.block))
    dynamic = f", {kernel.launch.dynamic}" if kernel.launch.dynamic else ""
    return f"{kernel.spelled}<<<{grid}, {block}{dynamic}>>>({', '.join(words)});"


def _value(argument: GivenArgument, tried: OneTry) -> str:
    if argument.shape:
        return argument.name
    value = number_of(argument) if argument.value is not None else tried.inputs[argument.name]
    number = np.asarray(value).item() if argument.value is None else argument.value
    return repr(number) if np.isfinite(float(number)) else f"({number})"
