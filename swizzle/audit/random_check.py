"""A test of 'equal for all inputs' that uses no terms: kernel and specification on random numbers, exactly.

Floats are residues modulo a large prime (`symbolic.algebra.residues`); integers use the whole range of their type.
Agreement is evidence, not proof: the proof is the machine over canonical terms.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from swizzle.specs.specification import inputs, outputs, returned
from symbolic.algebra.numbers import CONVERT, NUMPY_DTYPES, Lanes, bounds_of
from symbolic.algebra.residues import PRIME, Residue, Residues, converted
from symbolic.ir.layout import cell_name
from symbolic.ir.program import Parameter, Program
from symbolic.machine.machine import Machine

INPUTS = 3


def disagreement(program: Program, spec: Callable[..., Any]) -> str:
    """Return the first output element on which a kernel and its specification differ on random inputs, or ''."""
    assert not program.holes, "the random check wants a program without holes"
    for seed in range(INPUTS):
        rng = np.random.default_rng([seed, PRIME])
        given = {p.name: _random(p, rng) for p in inputs(program)}
        with np.errstate(all="ignore"):
            token = CONVERT.set(converted)
            try:
                wanted = returned(program, spec, [given[p.name].copy() for p in inputs(program)])
            finally:
                CONVERT.reset(token)
            run = Machine(program, Residues(), {name: array.reshape(-1) for name, array in given.items()}).run()
        for parameter in outputs(program):
            memory, want = run.memories[parameter.name], _flat(wanted[parameter.name], parameter)
            for address in range(len(want)):
                if not memory.written[address] or memory.data[address] != want[address]:
                    return cell_name(parameter.name, parameter.shape, address)
    return ""


def _random(parameter: Parameter, rng: np.random.Generator) -> Lanes:
    if parameter.dtype.is_float:
        found = np.empty(prod(parameter.shape), object)
        found[:] = [Residue(int(v)) for v in rng.integers(1, PRIME, len(found))]
        return found.reshape(parameter.shape)
    dtype: Any = np.dtype(NUMPY_DTYPES[parameter.dtype])
    return np.asarray(rng.integers(*bounds_of(parameter), parameter.shape, dtype=dtype, endpoint=True))


def _flat(value: Any, parameter: Parameter) -> list[Any]:
    """Return a specification's output, each element in the form that the kernel stores."""
    flat = np.array(value, object).reshape(-1).tolist()
    if parameter.dtype.is_float:
        return [Residue.of(v) for v in flat]
    bits = np.iinfo(NUMPY_DTYPES[parameter.dtype]).bits
    whole = np.array([int(v) % (1 << bits) for v in flat], f"u{bits // 8}")
    return list(whole.astype(NUMPY_DTYPES[parameter.dtype]))
