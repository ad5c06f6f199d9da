"""Kernels and their reference on numbers: inputs on which they differ, and how far floats are off where they do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Final

import numpy as np
from msgspec import Struct

from cuda_out.ptx.kinds import typed
from cuda_out.ptx.syntax import Immediate
from swizzle.strangers.proving.proof import Counterexample, FloatError
from swizzle.strangers.proving.reference import ProofReference
from swizzle.strangers.proving.running import Array, ChainRun, on_numbers
from swizzle.strangers.proving.subject import Subject
from symbolic.algebra.numbers import NUMPY_DTYPES, as_numbers, bounds_of
from symbolic.errors import SwizzleError
from symbolic.ir.index import cell_name
from symbolic.ir.program import DType, Parameter

SCALES: Final = (1.0, 30.0, 1000.0)
"""The magnitudes of inputs at which floats are compared."""
_TOLERANCE: Final = {16: 2.0**-5, 32: 2.0**-10, 64: 2.0**-30}
"""Of the largest output, by the bits of the narrowest float: what no rounding of a right kernel on small numbers is
taken to change. A smaller difference is a counterexample where it is systematic (`_Rounding`)."""
_HALF_UNIT: Final = {16: 2.0**-9, 32: 2.0**-24, 64: 2.0**-53}
"""Half a unit in the last place of 1, by the same bits."""
GENEROUS: Final = 8
"""So many times half a unit for each instruction is taken for rounding, and so many times what the difference changes
by when inputs do a little."""
_NUDGED: Final = 3
"""Inputs are changed a little so many times, by at most this part of themselves:"""
_NUDGE: Final = 2.0**-10
_WHOLE: Final = ((1, 1), (0, 1), (-3, 3), (-8, 8))
"""Between which whole numbers the first inputs are."""
SMALL: Final = 0.001
"""A small magnitude of inputs."""
APART: Final = 0.125
"""By how much large numbers differ that cancel."""
WORST: Final = 2.0**-4
"""An error of floats, relative to the largest output, from which on equal real numbers say nothing."""
MOST_CONSTANTS: Final = 24
_EXTREME: Final = 1e6
SHRINKING: Final = 48
"""So many runs make a counterexample smaller."""


class OneTry(Struct, frozen=True):
    """Kernels and reference on the same inputs."""

    inputs: Mapping[str, Array]
    found: Mapping[str, Array]
    wanted: Mapping[str, Array]
    ran: ChainRun


Differing = Callable[[Subject, OneTry], tuple[Parameter, int] | None]


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
    tries, differing = list[OneTry](), partial(_differing, whole_numbers=whole_numbers)
    for inputs in islice(_inputs(subject), len(_WHOLE) if whole_numbers else 0, None):
        tries.append(on_both(subject, reference, inputs))
        if differing(subject, tries[-1]) is not None:
            return _simplest(subject, reference, tries[-1], differing)
    if whole_numbers:
        return None
    small = _Rounding(reference)
    return next((_simplest(subject, reference, each, small) for each in tries if small(subject, each)), None)


def _simplest(
    subject: Subject, reference: ProofReference, tried: OneTry, differing: Differing
) -> tuple[Counterexample, OneTry]:  # fmt: skip
    tried = _simpler(subject, reference, tried, differing)
    element = differing(subject, tried)
    assert element is not None
    return _told(subject, reference, tried, *element), tried


def _differing(
    subject: Subject, tried: OneTry, most: float | None = None, whole_numbers: bool = False
) -> tuple[Parameter, int] | None:
    """Return the first output element whose numbers differ by more than rounding explains, or by more than a part of
    the largest output or 1."""
    most = tolerance(subject) if most is None else most
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
                wrong = np.isfinite(said) & ~(
                    np.abs(wide - said) <= most * max(1.0, float(np.max(finite, initial=0.0)))
                )
        if wrong.any():
            return each, int(np.flatnonzero(wrong)[0])
    return None


class _Rounding:
    """Tells small differences from rounding: they are larger than each executed instruction's, and change by far less
    than themselves when inputs do a little, of which roundings know nothing."""

    def __init__(self, reference: ProofReference) -> None:
        self.reference = reference

    def __call__(self, subject: Subject, tried: OneTry) -> tuple[Parameter, int] | None:
        executed = sum(machine.executed for machine in tried.ran.machines)
        most = GENEROUS * executed * _HALF_UNIT[_narrowest(subject)] * max(1.0, *map(_largest, tried.inputs.values()))
        if most >= tolerance(subject) or _differing(subject, tried, most) is None:
            return None
        rng = np.random.default_rng(0)
        before, noise = _off(subject, tried), 0.0
        for _ in range(_NUDGED):
            near = {each.name: _nudged(each, tried.inputs[each.name], rng) for each in subject.inputs}
            after = _off(subject, on_both(subject, self.reference, near))
            noise = max(noise, *(_largest(after[name] - before[name]) for name in before))
        return _differing(subject, tried, most + GENEROUS * noise)


def _largest(array: Array) -> float:
    """Return the largest magnitude of floats, 0 of integers."""
    return float(np.max(np.abs(array), initial=0.0)) if array.dtype.kind == "f" else 0.0


def _nudged(parameter: Parameter, array: Array, rng: np.random.Generator) -> Array:
    if not parameter.dtype.is_float:
        return array
    return np.asarray(as_numbers(array * (1 + _NUDGE * rng.uniform(-1, 1, array.shape)), parameter.dtype))


def _off(subject: Subject, tried: OneTry) -> dict[str, Array]:
    """Return how far each output of floats is off, as parts of the largest one or 1."""
    found = dict[str, Array]()
    for each in subject.outputs:
        if each.dtype.is_float:
            got, want = (np.asarray(some[each.name]).astype(np.float64) for some in (tried.found, tried.wanted))
            with np.errstate(all="ignore"):
                found[each.name] = np.nan_to_num((got - want) / max(1.0, _largest(np.nan_to_num(want))), nan=np.inf)
    return found


def tolerance(subject: Subject) -> float:
    """Return how far outputs may be off, relative to the largest, before their numbers count as different."""
    return _TOLERANCE[_narrowest(subject)]


def _narrowest(subject: Subject) -> int:
    """Return the bits of the narrowest float."""
    doubles = all(each.dtype is DType.F64 for each in subject.program.parameters if each.dtype.is_float)
    return 16 if _has_halves(subject) else 64 if doubles else 32


def _has_halves(subject: Subject) -> bool:
    """Return whether anything is a float of 16 bits."""
    given = [each for kernel in subject.kernels for each in kernel.given]
    return any(each.kind in ("f16", "b16") for each in given) or any(
        "f16" in op or "bf16" in op or op.endswith(("f16x2", "bf16x2"))
        for kernel in subject.kernels
        for instruction in kernel.entry.instructions
        for op in instruction.op
    )


def _simpler(subject: Subject, reference: ProofReference, tried: OneTry, differing: Differing) -> OneTry:
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
            if differing(subject, now) is not None:
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
    """Return how far the kernels' own floats are from the reference's numbers at inputs of several magnitudes, at such
    as cancel, and at ties; of what has no floats at one, where all must agree."""
    kinds = [each.dtype for each in (*subject.inputs, *subject.outputs)]
    if not any(kind.is_float for kind in kinds):
        return (_error_at(subject, reference, "any integers", 1.0, _at_scale(subject, 1.0)),)
    found = [
        _error_at(subject, reference, f"inputs near {scale:g}", scale, _at_scale(subject, scale)) for scale in SCALES
    ]
    for name, scale, inputs in (
        (f"inputs near {SMALL:g}", SMALL, _at_scale(subject, SMALL)),
        (f"{SCALES[-1]:g} and up to {APART:g} more or less", SCALES[-1], _close(subject)),
        ("ties and zeros", 1.0, _ties(subject)),
    ):
        try:
            found.append(_error_at(subject, reference, name, scale, inputs, plain=False))
        except SwizzleError:  # a specification need not take every number
            continue
    return tuple(found)


def _at_scale(subject: Subject, scale: float) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    return {each.name: _drawn(each, rng, scale if each.dtype.is_float else 1.0) for each in subject.inputs}


def _close(subject: Subject) -> dict[str, Array]:
    """Return inputs that are large, and almost the same: differences of them cancel."""
    rng = np.random.default_rng(0)
    return {
        each.name: np.asarray(as_numbers(SCALES[-1] + APART * rng.uniform(-1, 1, each.shape), each.dtype))
        if each.dtype.is_float
        else _drawn(each, rng, 1.0)
        for each in subject.inputs
    }


def _ties(subject: Subject) -> dict[str, Array]:
    """Return zeros, ones, and the numbers that the kernels' code names, each with its neighbours, in a random order."""
    rng, found = np.random.default_rng(0), dict[str, Array]()
    named = _constants(subject)
    for each in subject.inputs:
        found[each.name] = _drawn(each, rng, 1.0)
        if each.dtype.is_float:
            own = np.asarray(as_numbers(np.array(named), each.dtype))
            sides = [np.nextafter(own[2:], own.dtype.type(side)) for side in (-np.inf, np.inf)]
            some = np.unique(np.asarray(as_numbers(np.concatenate([own, *sides]), each.dtype)))
            drawn = np.resize(rng.permutation(some), max(1, found[each.name].size))
            found[each.name] = rng.permutation(drawn).reshape(each.shape)
    return found


def _constants(subject: Subject) -> list[float]:
    """Return 0 and 1, and the floats that instructions have as operands, of no extreme magnitude."""
    found = dict.fromkeys((0.0, 1.0))
    for kernel in subject.kernels:
        for instruction in kernel.entry.instructions:
            for operand in instruction.operands:
                if isinstance(operand, Immediate) and operand.width in (32, 64):
                    value = float(typed(np.array([operand.bits], np.uint64), f"f{operand.width}")[0])
                    if abs(value) < _EXTREME:
                        found[value] = None
    return list(found)[:MOST_CONSTANTS]


def _error_at(
    subject: Subject, reference: ProofReference, name: str, scale: float, inputs: Mapping[str, Array],
    *, plain: bool = True,
) -> FloatError:  # fmt: skip
    tried = on_both(subject, reference, inputs)
    try:
        plainly = reference.in_floats(inputs, halves=_has_halves(subject)) or tried.wanted
    except SwizzleError:  # it computes in double precision only
        plainly = tried.wanted
    most, lost, far = 0.0, 0, False
    for each in subject.outputs:
        got, want, own = (np.asarray(some[each.name]) for some in (tried.found, tried.wanted, plainly))
        if not each.dtype.is_float:
            wrong = got != want.astype(got.dtype)
            most, far = max(most, float(np.any(wrong))), far or bool(np.any(wrong & (own == want)))
            continue
        with np.errstate(all="ignore"):
            wide, said, near = (some.astype(np.float64) for some in (got, want, own))
            there = np.isfinite(np.asarray(as_numbers(want, each.dtype)).astype(np.float64))
            lost += int(np.count_nonzero(there & ~np.isfinite(wide)))
            both = there & np.isfinite(wide)
            largest = float(np.max(np.abs(said[both]), initial=0.0))
            error = float(np.max(np.abs(wide - said)[both], initial=0.0))
            bound = WORST * (float(np.max(np.abs(said[there]), initial=0.0)) or 1.0)
            counts = there & (np.abs(near - said) <= bound / 4)
            far |= bool(np.any(counts & ~(np.abs(wide - said) <= bound)))
        most = max(most, error / largest if largest else error)
    return FloatError(name, plain, scale, most, lost, far)
