"""A test of 'equal for all inputs' that uses no terms: kernel and specification on random numbers, exactly.

Floats are residues modulo a large prime (`symbolic.algebra.residues`); integers use the whole range of their type.
Agreement is evidence, not proof: the proof is the machine over canonical terms.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from swizzle.language.specs.specification import inputs, numbers, outputs, returned
from symbolic.algebra.numbers import CONVERT, NUMPY_DTYPES, Lanes, Numbers, bounds_of
from symbolic.algebra.residues import PRIME, Residue, Residues, converted
from symbolic.ir.index import cell_name
from symbolic.ir.program import Parameter, Program
from symbolic.machine.machine import Machine

INPUTS = 3
SMALL_INPUTS = 8
SMALL = 3
DIGITS = 1e-5


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


def small_difference(program: Program, spec: Callable[..., Any]) -> str:
    """Return the first output element on which a kernel and its specification differ on small whole numbers, or ''.

    Laws of operators on several words hold of these: nothing overflows, and floats round little.
    """
    for seed in range(SMALL_INPUTS):
        rng = np.random.default_rng([seed, SMALL])
        given = {p.name: _small(p, rng) for p in inputs(program)}
        wanted = numbers(program, spec, given)
        flat = {name: array.reshape(-1) for name, array in given.items()}
        with np.errstate(all="ignore"):
            run = Machine(program, Numbers(), flat).run()
        for parameter in outputs(program):
            memory, want = run.memories[parameter.name], wanted[parameter.name].reshape(-1)
            scale = DIGITS * max(1.0, float(np.abs(want).max(initial=0))) if parameter.dtype.is_float else 0
            with np.errstate(all="ignore"):
                same = (memory.data == want) | (np.abs(memory.data - want) <= scale)
            wrong = np.flatnonzero(~memory.written | ~same)
            if len(wrong):
                return cell_name(parameter.name, parameter.shape, int(wrong[0]))
    return ""


def _small(parameter: Parameter, rng: np.random.Generator) -> Lanes:
    least, greatest = bounds_of(parameter) if not parameter.dtype.is_float else (-SMALL, SMALL)
    found = rng.integers(max(-SMALL, least), min(SMALL, greatest), parameter.shape, endpoint=True)
    return np.asarray(found).astype(NUMPY_DTYPES[parameter.dtype])


def _random(parameter: Parameter, rng: np.random.Generator) -> Lanes:
    if parameter.dtype.is_float:
        found = np.empty(prod(parameter.shape), object)
        found[:] = [Residue.element(int(v), parameter.dtype) for v in rng.integers(1, PRIME, len(found))]
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
