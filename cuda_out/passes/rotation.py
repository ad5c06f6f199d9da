"""Recognise a rotation in an index: each thread uses the same elements, rotated by an amount of its own.

An index is seen as a function of the loop variables (*iterations*) and of everything else (*threads*). It is a rotation
if the elements form windows of `size` neighbours, each iteration has a `place`, the same for all threads, and each
thread an `amount`, the same in all iterations, such that

    index == start + place // size * size + (place + amount) % size        (or `place ^ amount`: an exchange)

Only the values of the index matter, not its spelling: `(j + lane) % 8`, `(5 - 2 * j - lane) % 7`,
`j + lane - (8 if j + lane >= 8 else 0)` and `j // 4 * 4 + (j + lane) % 4` are all rotations, in j, by an amount that
depends on the lane.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.analysis.values import Column, Points, evaluate, is_computable, leaves_in, points
from cuda_out.passes.index_rules import constant
from cuda_out.passes.simplify import simplify_expression
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts
from symbolic.ir.program import DType, Expr, Program
from symbolic.ir.walk import same, substitute

Kind: TypeAlias = Literal["+", "^"]
Loops: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]  # variables of loops around the index, and their values


class Rotation(Struct, frozen=True):
    """How an array's elements start .. start + extent - 1 move along one axis.

    Element k of the rotated array is element start + k // size * size + (k + amount) % size, or with k ^ amount.
    `amount` (0 <= amount < size) does not depend on the iterations, and `bits` are the bits that may be set in it.
    `known` is the amount with all known variables replaced by their values.
    """

    kind: Kind
    start: int
    extent: int
    size: int
    amount: Expr
    known: Expr
    bits: int


class Reference(Struct, frozen=True):
    """One index as it is printed, the same index with all known variables replaced, and the loops around it."""

    index: Expr
    full: Expr
    loops: Loops
    facts: Facts
    extent: int


def find_rotation(program: Program, reference: Reference, outside: Facts) -> Rotation | None:
    """Return the rotation in an index, or None; an index that is the same for all threads is no rotation.

    `outside` are the facts at the place where the rotation would be made.
    """
    values = _values(program, reference)
    if values is None:
        return _find_sum(reference, outside)
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= reference.extent or not (values[:1] != values).any():
        return None
    rows = np.unique(values, axis=0)
    for start in dict.fromkeys((low, 0)):
        for kind, size in _windows(high - start + 1, reference.extent - start):
            extent = -(-(high - start + 1) // size) * size
            amounts = (rows[:, :1] - start) % size
            if start + extent > reference.extent or _places(rows - start, amounts, kind, size) is None:
                continue
            amount, known = (
                ir.Binary("-", _at_first(expr, reference.loops), constant(start, expr.place), DType.INDEX, expr.place)
                for expr in (reference.index, reference.full)
            )
            bits = int(np.bitwise_or.reduce(amounts, axis=None))
            return Rotation(kind, start, extent, size, _modulo(amount, size, outside), _modulo(known, size, {}), bits)
    return None


def static_index(program: Program, reference: Reference, rotation: Rotation) -> Expr | None:
    """Return where in the rotated array the index finds its element, or None when it does not move with it."""
    found = _values(program, reference, rotation.known)
    if found is None:
        return _sum_place(reference, rotation)
    values, amounts = found[:, 1:] - rotation.start, found[:, :1]
    if values.min() < 0 or values.max() >= rotation.extent:
        return None
    places = _places(values, amounts, rotation.kind, rotation.size)
    return None if places is None else _formula(places, reference, rotation.size)


def _windows(used: int, extent: int) -> Iterator[tuple[Kind, int]]:
    """Yield the kinds and window sizes to try, small windows first."""
    for size in range(2, used + 1):
        yield "+", size
    if used < extent:
        yield "+", extent
    for bits in range(2, used.bit_length() + 1):
        yield "^", 1 << bits


def _places(values: Column, amounts: Column, kind: Kind, size: int) -> Column | None:
    """Return the place of each iteration, or None unless all threads agree on it."""
    windows = values // size
    inside = (values - amounts) % size if kind == "+" else (values ^ amounts) % size
    if (windows != windows[:1]).any() or (inside != inside[:1]).any():
        return None
    found: Column = windows[0] * size + inside[0]
    return found


def _values(program: Program, reference: Reference, *first: Expr) -> Column | None:
    """Return the index's value for each thread (row) and iteration (column), behind a column for each of `first`."""
    variables = {name for name, _ in reference.loops}
    full = reference.full
    if not all(is_computable(expr, reference.facts) for expr in (full, *first)):
        return None
    iterations = _iterations(reference.loops)
    count = len(next(iter(iterations.values()), np.zeros(1)))
    threads = points(program, leaves_in([full, *first]) - variables, reference.facts, (1 << 20) // max(count, 1))
    if threads is None or not threads:
        return None
    at = {name: column[:, None] for name, column in threads.items()}
    rows = len(next(iter(threads.values())))
    columns = [np.broadcast_to(evaluate(expr, at), (rows, 1)) for expr in first]
    everything = {**at, **{name: column[None, :] for name, column in iterations.items()}}
    columns.append(np.broadcast_to(evaluate(full, everything), (rows, count)))
    return np.concatenate(columns, axis=1)


def _iterations(loops: Loops) -> Points:
    combinations = list(itertools.product(*(values for _, values in loops)))
    return {name: np.array([each[at] for each in combinations]) for at, (name, _) in enumerate(loops)}


def _at_first(expr: Expr, loops: Loops) -> Expr:
    """Return the index in the first iteration."""
    return reduce(lambda found, loop: substitute(found, loop[0], constant(loop[1][0], found.place)), loops, expr)


# ---- places as formulas ----------------------------------------------------------------------------------------


def _formula(places: Column, reference: Reference, size: int) -> Expr | None:
    """Return the places as an expression of the loop variables: a sum of multiples, perhaps taken modulo the size."""
    place = reference.index.place
    if not reference.loops:
        return constant(int(places[0]), place)
    shape = [len(values) for _, values in reference.loops]
    table = places.reshape(shape)
    origin = int(table.flat[0])
    iterations = _iterations(reference.loops)
    for modulus in (0, size):
        factors = []
        for axis, (_, values) in enumerate(reference.loops):
            if len(values) < 2:
                factors.append(0)
                continue
            neighbour = tuple(int(each == axis) for each in range(len(shape)))
            step, distance = int(table[neighbour]) - origin, values[1] - values[0]
            factors.append(_factor(step, distance, modulus))
        shift = origin - sum(factor * values[0] for factor, (_, values) in zip(factors, reference.loops, strict=True))
        names = [name for name, _ in reference.loops]
        guess = sum((factor * iterations[name] for factor, name in zip(factors, names, strict=True)), np.int64(shift))
        if np.array_equal(guess % modulus if modulus else guess, places):
            return _linear(factors, names, shift, modulus, reference)
    return None


def _factor(step: int, distance: int, modulus: int) -> int:
    """Return c with c * distance == step (modulo the modulus, if any), the one nearest to 0; 0 when there is none."""
    if not modulus:
        return step // distance
    fitting = [c for c in range(-(modulus // 2), modulus // 2 + 1) if (c * distance - step) % modulus == 0]
    return min(fitting, key=lambda c: (abs(c), -c), default=0)


def _linear(factors: Sequence[int], names: Sequence[str], shift: int, modulus: int, reference: Reference) -> Expr:
    place = reference.index.place
    if modulus:
        shift %= modulus
    found: Expr = constant(shift, place)
    for factor, name in zip(factors, names, strict=True):
        term = ir.Binary("*", ir.Var(name, DType.INDEX, place), constant(abs(factor), place), DType.INDEX, place)
        if factor:
            found = ir.Binary("+" if factor > 0 else "-", found, term, DType.INDEX, place)
    if modulus:
        found = ir.Binary("%", found, constant(modulus, place), DType.INDEX, place)
    return simplify_expression(found, reference.facts)


# ---- sums modulo the size, for what has no finite range --------------------------------------------------------


def _split(reference: Reference) -> tuple[Expr, Expr, int] | None:
    """Split `(a + b) % n` into what moves with the iterations, what moves with the threads, and n."""
    match reference.index:
        case ir.Binary(op="%", left=inner, right=ir.Const(value=value)) if int(value) > 1:
            size = int(value)
        case ir.Binary(op="&", left=inner, right=ir.Const(value=value)) if int(value) & (int(value) + 1) == 0 < value:
            size = int(value) + 1
        case _:
            return None
    variables = {name for name, _ in reference.loops}
    place = inner.place
    sums: dict[bool, Expr] = {False: constant(0, place), True: constant(0, place)}
    for sign, term in _terms(inner, 1):
        names = leaves_in([term])
        moves = bool(names & variables)
        if moves and not names <= variables:
            return None
        sums[moves] = ir.Binary("+" if sign > 0 else "-", sums[moves], term, DType.INDEX, place)
    if size > reference.extent or not is_computable(reference.index, reference.facts):
        return None
    return sums[True], sums[False], size


def _terms(expr: Expr, sign: int) -> Iterator[tuple[int, Expr]]:
    match expr:
        case ir.Binary(op="+" | "-" as op, left=left, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if op == "+" else -sign)
        case ir.Unary(op="-", operand=operand):
            yield from _terms(operand, -sign)
        case _:
            yield sign, expr


def _modulo(expr: Expr, size: int, facts: Facts) -> Expr:
    found = ir.Binary("%", expr, constant(size, expr.place), DType.INDEX, expr.place)
    return simplify_expression(found, facts)


def _find_sum(reference: Reference, outside: Facts) -> Rotation | None:
    found = _split(reference)
    if found is None or not leaves_in([found[1]]):
        return None
    _, amount, size = found
    bits = (1 << (size - 1).bit_length()) - 1
    return Rotation("+", 0, size, size, _modulo(amount, size, outside), _modulo(amount, size, {}), bits)


def _sum_place(reference: Reference, rotation: Rotation) -> Expr | None:
    found = _split(reference)
    if found is None or found[2] != rotation.size or rotation.start or rotation.kind != "+":
        return None
    place, amount, size = found
    if not same(_modulo(amount, size, {}), rotation.known):
        return None
    return _modulo(place, size, reference.facts)
