"""`swizzle prove` on wrong kernels: texts of tests/swizzle/strangers/proving/kernels with one thing changed.

    python -m bench.prove_mutants [--count 500] [--seed 0] [--kernel NAME]

Of all mutants in a random order so many are tried that compile.

What is called equal is run beside the kernel that it was made of, on random numbers, by the C++ compiler of the host
(`cuda_out.emulate`), which knows nothing of proofs: no mutant that is called equal may give other numbers, or do what
CUDA leaves undefined. The exit status is 1 where one does.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cuda_out.compile.toolchain import CompileError, Tool, available_tools
from cuda_out.emulate.emulate import EmulationError, emulate
from swizzle.strangers.proving.launched import KIND_NAMES, LaunchedKernel, chain_of
from swizzle.strangers.proving.prove import prove
from swizzle.strangers.reading.launch import GivenArgument, number_of
from swizzle.strangers.reading.text import CudaText
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType
from tests.swizzle.strangers.proving.proved import CHAINS, KERNELS, SPECIFICATIONS

CHANGES = (
    (r"(?<![\w.])\d+(?![\w.])", ("{} + 1", "{} - 1", "2 * {}")),
    (r"(?<![\w.])\d+\.\d*f?", ("2 * {}", "-{}")),
    (r"<(?![<=])(?=\s)", ("<=", ">")), (r"<=", ("<",)), (r"(?<!-)>(?![>=])(?=\s)", (">=",)), (r">=", (">",)),
    (r"==", ("!=",)), (r"!=", ("==",)), (r"&&", ("||",)), (r"\|\|", ("&&",)),
    (r"(?<=\s)\+(?=\s)", ("-", "*")), (r"(?<=\s)-(?=\s)", ("+",)), (r"(?<=\s)\*(?=\s)", ("+",)),
    (r"(?<=\s)/(?=\s)", ("*",)), (r"(?<=\s)%(?=\s)", ("/",)), (r">>(?!=)", ("<<",)), (r"<<", (">>",)),
    (r"\+=", ("-=", "=")), (r"\*=", ("+=",)), (r"/= 2", ("/= 4",)), (r"\+\+", ("--",)),
    (r"__sync(?:threads|warp)\([^)]*\);", ("",)), (r"\.x\b", (".y", ".z")), (r"\.y\b", (".x",)),
    (r"\bthreadIdx\b", ("blockIdx",)), (r"\bblockIdx\b", ("threadIdx",)), (r"\bblockDim\b", ("gridDim",)),
    (r"\bgridDim\b", ("blockDim",)), (r"\bint (?=\w+ =)", ("short ", "unsigned char ", "unsigned ", "float ")),
    (r"\bfloat (?=\w+ =)", ("int ", "double ", "__half ")), (r"\(float\)", ("(int)",)),
    (r"\bif \(", ("if (!", "if (1 || ")), (r"0x?f{8}u?", ("0xffffu", "0x7fffffffu")),
    (r"\bfmaxf\b", ("fminf", "fmaf")), (r"\bexpf\b", ("exp2f", "logf")), (r"_xor_sync", ("_down_sync", "_up_sync")),
    (r"_down_sync", ("_up_sync", "_xor_sync")), (r"_up_sync", ("_down_sync",)),
    (r"\batomicAdd\b", ("atomicExch", "atomicMax")), (r"\bcontinue\b|\breturn\b(?=;)", ("",)),
)  # fmt: skip
"""What may be written instead of what; `{}` is what was found."""
SEEDS = 3
STEPS = 20_000
"""Instructions after which a kernel counts as one that does not end."""


def mutants(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is changed, and the text, of the code from the first kernel on."""
    begin = text.index("__global__")
    begin = text.index("{", begin)
    code = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), text)
    found = [
        (match.start(), match.end(), new.replace("{}", match[0]))
        for pattern, others in CHANGES
        for match in re.compile(pattern).finditer(code, begin)
        for new in others
    ]
    names = sorted(
        set(re.findall(r"\b[a-z]\w{0,5}\b", code[begin:])) - {"int", "float", "if", "for", "const", "return"}
    )
    used = [match for match in re.finditer(r"(?<=\[)\s*\w+|(?<=[+*] )[a-z]\w*", code) if match.start() >= begin]
    found += [(m.start(), m.end(), name) for m in used for name in names if name != m[0]]
    for first, last, new in found:
        line = text.count("\n", 0, first) + 1
        yield f"line {line}: {text[first:last]!r} -> {new!r}", text[:first] + new + text[last:]


def numbers(argument: GivenArgument, chance: np.random.Generator) -> Any:
    """Return random numbers for an array, all bits 1 where it is only written, or for a number that is open."""
    dtype = np.dtype(DType(KIND_NAMES[argument.kind]).row.numpy)
    if argument.role == "out":
        return np.full(argument.shape, -1, f"i{dtype.itemsize}").view(dtype)
    if dtype.kind == "f":
        return chance.standard_normal(argument.shape).astype(dtype)
    return chance.integers(0, argument.below or 100, argument.shape).astype(dtype)


def outputs(text: str, chain: list[LaunchedKernel], seed: int) -> dict[str, Any]:
    """Return what kernels leave in their arrays; raises EmulationError for what is undefined."""
    chance, memory = np.random.default_rng(seed), dict[str, Any]()
    for kernel in chain:
        given = []
        for each in kernel.arguments:
            if each.value is not None:
                given.append(number_of(each).view(DType(KIND_NAMES[each.kind]).row.numpy))
                continue
            held = memory.setdefault(each.name, numbers(each, chance))
            given.append(held if each.shape else held[()])
        emulate(text, kernel.spelled, kernel.launch.grid, kernel.launch.block, given, order=seed,
                shared_bytes=kernel.launch.dynamic)  # fmt: skip
    return {each.name: memory[each.name] for kernel in chain for each in kernel.given if each.role in ("out", "inout")}


def wrong(original: str, mutant: str, kernels: tuple[str, ...]) -> str:
    """Return what shows that a mutant is not what it was made of, '' for nothing."""
    for seed in range(SEEDS):
        try:
            wanted = outputs(original, chain_of(CudaText("kernel.cu", original), kernels, (), ()), seed)
            found = outputs(mutant, chain_of(CudaText("kernel.cu", mutant), kernels, (), ()), seed)
        except EmulationError as error:
            return str(error)
        for name, want in wanted.items():
            some, large = found[name], float(np.nanmax(np.abs(want.astype(np.float64))))
            if not np.allclose(some.astype(np.float64), want, rtol=0, atol=1e-4 * max(1.0, large), equal_nan=True):
                return f"{name} is {some.ravel()[:4]}..., not {want.ravel()[:4]}..."
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernel", choices=sorted(SPECIFICATIONS), default=None)
    arguments = parser.parse_args()
    every = [
        (name, what, text)
        for name in ([arguments.kernel] if arguments.kernel else sorted(SPECIFICATIONS))
        for what, text in mutants((KERNELS / f"{name}.cu").read_text())
    ]
    compiler: Tool | None = "nvrtc" if "nvrtc" in available_tools() else None  # nvcc takes seconds to refuse a mutant
    random.Random(arguments.seed).shuffle(every)
    verdicts, tried, bad, begun = Counter[str](), 0, 0, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for name, what, text in every:
            if tried == arguments.count:
                break
            file, kernels = Path(folder, "kernel.cu"), CHAINS.get(name, ())
            file.write_text(text)
            try:
                verdict = prove(
                    file, SPECIFICATIONS[name], kernel=kernels or None, compiler=compiler, steps=STEPS
                ).verdict
            except SwizzleError as error:
                verdict = "not compiled" if error.place is not None else f"an error without a place: {error.found}"
            tried += verdict != "not compiled"
            if verdict != "not compiled":
                print(f"{tried} {name}: {verdict}: {what}", flush=True)
            if verdict == "equal":
                try:
                    shown = wrong((KERNELS / f"{name}.cu").read_text(), text, kernels)
                except (CompileError, SwizzleError) as error:
                    verdict = f"equal, and not emulated: {str(error)[:60]!r}"
                else:
                    verdict = "equal, and WRONG" if shown else "equal, as numbers are"
                    bad += bool(shown)
                print(f"{name}: {verdict}: {what} {shown}", flush=True)
            verdicts[verdict] += 1
    print(f"{tried} mutants of {len(every)}, {time.process_time() - begun:.0f} s: {dict(verdicts)}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
