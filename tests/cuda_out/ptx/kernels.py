"""CUDA text to PTX, and the terms that the concrete machine gives, for the tests of the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod

import numpy as np

from cuda_out.c.printer import CudaSource, print_cuda
from cuda_out.compile.toolchain import compile_to_ptx
from cuda_out.passes.pipeline import optimize
from swizzle import solve
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.program import Program
from symbolic.machine.machine import Machine
from tests.test_case_studies import answer


@lru_cache(maxsize=64)
def compiled(program: Program, arch: str = "sm_80") -> tuple[CudaSource, str]:
    """Print a program and compile it."""
    source = print_cuda(optimize(program))
    return source, compile_to_ptx(source.text, arch)


def machine_terms(program: Program, terms: Terms) -> dict[str, list[Term]]:
    """Return what the machine leaves in the outputs, over the variables of the inputs."""
    given = [p for p in program.parameters if p.role != "out"]
    inputs = {p.name: np.array([terms.atom(p.name, i) for i in range(prod(p.shape))]) for p in given}
    memories = Machine(program, Canonical(terms), inputs).run().memories
    return {
        p.name: np.where(memories[p.name].written, memories[p.name].data, UNWRITTEN).tolist()
        for p in program.parameters
        if p.role in ("out", "inout")
    }


def filled_kernel(target: str, texts: Mapping[str, str], **parameters: int) -> FilledKernel:
    """Return the answer to a sketch: that of a text under this name, or else a case study."""
    if target not in texts:
        found = answer(target, parameters)[1]
        assert found is not None
        return found
    (sketch,) = read_swz(texts[target], f"{target}.swz", Parameters())
    program = solve(sketch).best.program
    return FilledKernel(program, sketch.spec, (), sizes_of(program, sketch))
