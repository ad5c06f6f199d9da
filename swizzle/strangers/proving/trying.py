"""Kernels and their reference on numbers: inputs on which they differ, and how far floats are off where they do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import numpy as np
from msgspec import Struct

from swizzle.strangers.proving.proof import Counterexample, FloatError
from swizzle.strangers.proving.reference import ProofReference
from swizzle.strangers.proving.running import Array, ChainRun, on_numbers
from swizzle.strangers.proving.subject import Subject
from symbolic.algebra.numbers import NUMPY_DTYPES, as_numbers, bounds_of
from symbolic.ir.index import cell_name
from symbolic.ir.program import DType, Parameter

SCALES: Final = (1.0, 30.0, 1000.0)
"""The magnitudes of inputs at which floats are compared."""
_TOLERANCE: Final = {16: 2.0**-5, 32: 2.0**-10, 64: 2.0**-30}
"""Of the largest output, by the bits of the narrowest float: what no rounding of a right kernel on small numbers is
taken to change. A difference that is smaller is no counterexample."""
_WHOLE: Final = ((1, 1), (0, 1), (-3, 3), (-8, 8))
"""Between which whole numbers the first inputs are."""
SHRINKING: Final = 48
"""So many runs make a counterexample smaller."""


class OneTry(Struct, frozen=True):
    """Kernels and reference on the same inputs."""

    inputs: Mapping[str, Array]
    found: Mapping[str, Array]
    wanted: Mapping[str, Array]
    ran: ChainRun


def on_both(subject: Subject, reference: ProofReference, inputs: Mapping[str, Array]) -> OneTry:
    """Run kernels and their reference. Raises Undefined and Undecided of the kernels."""
    found, ran = on_numbers(subject, inputs)
    return OneTry(inputs, found, reference.numbers(inputs), ran)


# ---- inputs ------------------------------------------------------------------------------------------------------


def _inputs(subject: Subject) -> Iterator[dict[str, Array]]:
    """Yield inputs to try: small whole numbers, then fractions, tiny ones, and integers of every magnitude."""
    for seed, (low, high) in enumerate(_WHOLE):
        rng = np.random.default_rng(seed)
        yield {each.name: _whole(each, rng, low, high) for each in subject.inputs}
    for seed, scale in enumerate((1.0, 2.0**-8), len(_WHOLE)):
        rng = np.random.default_rng(seed)
        yield {each.name: _drawn(each, rng, scale) for each in subject.inputs}
    if any(not each.dtype.is_float for each in subject.inputs):
        for end in (1, 0, 2):
            yield {each.name: _extreme(each, end) for each in subject.inputs}


def _extreme(parameter: Parameter, end: int) -> Array:
    """Return the least, the greatest or the last number in each place, and ones among floats."""
    if parameter.dtype.is_float:
        return np.ones(parameter.shape, NUMPY_DTYPES[parameter.dtype])
    low, high = bounds_of(parameter)
    return np.full(parameter.shape, (low, high, max(low, -1))[end], NUMPY_DTYPES[parameter.dtype])


def _whole(parameter: Parameter, rng: np.random.Generator, low: int, high: int) -> Array:
    if not parameter.dtype.is_float:
        least, most = bounds_of(parameter)
        low, high = max(low, least), min(max(high, 0), most)
    drawn = np.asarray(rng.integers(low, high, parameter.shape, endpoint=True))
    return drawn.astype(NUMPY_DTYPES[parameter.dtype])


def _drawn(parameter: Parameter, rng: np.random.Generator, scale: float) -> Array:
    if parameter.dtype.is_float:
        return np.asarray(as_numbers(scale * rng.standard_normal(parameter.shape), parameter.dtype))
    low, high = bounds_of(parameter)
    if scale < 1:
        few = sorted({low, max(low, -1), 0, min(1, high), high - 1, high})
        return rng.choice(np.array(few, NUMPY_DTYPES[parameter.dtype]), parameter.shape)
    return np.asarray(rng.integers(low, high, parameter.shape, NUMPY_DTYPES[parameter.dtype], endpoint=True))


# ---- counterexamples ---------------------------------------------------------------------------------------------


def counterexample(
    subject: Subject, reference: ProofReference, whole_numbers: bool = False
) -> tuple[Counterexample, OneTry] | None:
    """Return inputs on which kernels and reference differ, made as simple as a few runs make them; None for none found.
    Of `whole_numbers` only outputs of integers count, and inputs are of every magnitude.

    Raises Undefined and Undecided of the kernels.
    """
    if whole_numbers and all(each.dtype.is_float for each in subject.outputs):
        return None
    for inputs in islice(_inputs(subject), len(_WHOLE) if whole_numbers else 0, None):
        tried = on_both(subject, reference, inputs)
        if _differing(subject, tried, whole_numbers) is not None:
            tried = _simpler(subject, reference, tried, whole_numbers)
            found = _differing(subject, tried, whole_numbers)
            assert found is not None
            return _told(subject, reference, tried, *found), tried
    return None


def _differing(subject: Subject, tried: OneTry, whole_numbers: bool = False) -> tuple[Parameter, int] | None:
    """Return the first output element whose numbers differ by more than rounding explains."""
    for each in subject.outputs:
        got, want = (np.ravel(some[each.name]) for some in (tried.found, tried.wanted))
        if whole_numbers and each.dtype.is_float:
            continue
        if not each.dtype.is_float:
            wrong = got != want.astype(got.dtype)
        else:
            with np.errstate(all="ignore"):
                wide, said = got.astype(np.float64), as_numbers(want, each.dtype).astype(np.float64)
                finite = np.abs(said[np.isfinite(said)])
                allowed = tolerance(subject) * max(1.0, float(np.max(finite, initial=0.0)))
                wrong = np.isfinite(said) & ~(np.abs(wide - said) <= allowed)
        if wrong.any():
            return each, int(np.flatnonzero(wrong)[0])
    return None


def tolerance(subject: Subject) -> float:
    """Return how far outputs may be off, relative to the largest, before their numbers count as different."""
    given = [each for kernel in subject.kernels for each in kernel.given]
    halves = any(each.kind in ("f16", "b16") for each in given) or any(
        "f16" in op or "bf16" in op or op.endswith(("f16x2", "bf16x2"))
        for kernel in subject.kernels
        for instruction in kernel.entry.instructions
        for op in instruction.op
    )
    doubles = all(each.dtype is DType.F64 for each in subject.program.parameters if each.dtype.is_float)
    return _TOLERANCE[16 if halves else 64 if doubles else 32]


def _simpler(subject: Subject, reference: ProofReference, tried: OneTry, whole_numbers: bool) -> OneTry:
    """Return a try that differs, too, of whose inputs fewer are not 0."""
    left = SHRINKING
    for name in sorted(tried.inputs, key=lambda name: tried.inputs[name].size):
        parts = [np.arange(tried.inputs[name].size)]
        while parts and left:
            part, left = parts.pop(0), left - 1
            flat = tried.inputs[name].reshape(-1)
            if not flat[part].any():
                continue
            changed = flat.copy()
            changed[part] = 0
            with np.errstate(all="ignore"):
                now = on_both(subject, reference, {**tried.inputs, name: changed.reshape(tried.inputs[name].shape)})
            if _differing(subject, now, whole_numbers) is not None:
                tried = now
            elif len(part) > 1:
                parts += [part[: len(part) // 2], part[len(part) // 2 :]]
    return tried


def _told(
    subject: Subject, reference: ProofReference, tried: OneTry, parameter: Parameter, cell: int
) -> Counterexample:
    got, want = (np.ravel(some[parameter.name])[cell] for some in (tried.found, tried.wanted))
    machine, kernel = tried.ran.machine(parameter.name), subject.kernels[tried.ran.last[parameter.name]]
    region = machine.arrays[parameter.name]
    place = cell * (len(region.bits) // max(1, int(np.prod(parameter.shape))))
    writer, thread = int(region.writer[place]), "no thread stores it"
    if writer >= 0:
        thread = machine.shape.describe(int(region.thread[place]))
    line = kernel.line(machine.kernel.instructions[writer]) if writer >= 0 else 0
    inputs = {name: _listed(array) for name, array in tried.inputs.items()}
    where = cell_name(parameter.name, parameter.shape, cell)
    found = got.item() if writer >= 0 or parameter.role == "inout" else "never written"
    return Counterexample(inputs, where, found, want.item(), line, thread, reference.says)


def _listed(array: Array) -> Any:
    """Return numbers as JSON has them; whole floats as integers."""
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.rint(array)).all():
        return np.rint(array).astype(np.int64).tolist()
    return array.astype(np.float64).tolist() if array.dtype.kind == "f" else array.tolist()


# ---- floats ------------------------------------------------------------------------------------------------------


def float_errors(subject: Subject, reference: ProofReference) -> tuple[FloatError, ...]:
    """Return how far the kernels' own floats are from the reference's numbers at inputs of several magnitudes; of what
    has no floats at one, where all must agree."""
    kinds = [each.dtype for each in (*subject.inputs, *subject.outputs)]
    return tuple(
        _error_at(subject, reference, scale) for scale in (SCALES if any(k.is_float for k in kinds) else SCALES[:1])
    )


def _error_at(subject: Subject, reference: ProofReference, scale: float) -> FloatError:
    rng = np.random.default_rng(0)
    inputs = {each.name: _drawn(each, rng, scale) for each in subject.inputs}
    tried, most, lost = on_both(subject, reference, inputs), 0.0, 0
    for each in subject.outputs:
        got, want = np.asarray(tried.found[each.name]), np.asarray(tried.wanted[each.name])
        if not each.dtype.is_float:
            most = max(most, float(np.any(got != want.astype(got.dtype))))
            continue
        with np.errstate(all="ignore"):
            wide, said = got.astype(np.float64), want.astype(np.float64)
            there = np.isfinite(np.asarray(as_numbers(want, each.dtype)).astype(np.float64))
            lost += int(np.count_nonzero(there & ~np.isfinite(wide)))
            both = there & np.isfinite(wide)
            largest = float(np.max(np.abs(said[both]), initial=0.0))
            error = float(np.max(np.abs(wide - said)[both], initial=0.0))
        most = max(most, error / largest if largest else error)
    return FloatError(scale, most, lost)
