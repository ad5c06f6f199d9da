"""How far a right kernel's floats may be from the specification's, output by output: a bound of its rounding errors.

Kernels may reorder sums and products, fuse a product with a sum, and divide by a reciprocal, so the bound is one for
all of these: each operation rounds once, on what is at most the sum of all magnitudes. Where every partial result is
exact in any order, as for small whole numbers, the bound is 0, and results are compared bit for bit. A quotient by a
constant that is printed as a product with the reciprocal has two roundings even there; where it is the last operation
of the kernel, it must be the quotient or that very product.

A bound of the rounding errors of a kernel as it computes: where terms of the specification cancel, it may not.

Of `(a + b) - (b + c)` the specification's term has no `b`, whose rounding a right kernel has. So the machine runs the
kernel once more, on numbers each of which is a magnitude and a bound of its error.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.c.types import products, reciprocal
from swizzle.language.specs.specification import Meaning, outputs
from symbolic.algebra.choices import is_choice
from symbolic.algebra.conversions import WIDEN
from symbolic.algebra.numbers import NUMPY_DTYPES, Lanes, Numbers, as_numbers, float_limits
from symbolic.algebra.terms import UNWRITTEN, Term
from symbolic.ir import program as ir
from symbolic.ir.functions import ChoiceFunction, Gather, MathFunction, WordFunction, row_of
from symbolic.ir.matrices import MatrixProduct
from symbolic.ir.program import DType, Program
from symbolic.ir.walk import own_expressions, statements, subexpressions
from symbolic.machine.machine import Machine


class _NoBound(Exception):
    """An operation whose errors nothing is known of."""


class Errors(Numbers):
    """Complex numbers: the magnitude of a value, and as the imaginary part how far it may be from it."""

    def blank(self, size: int, dtype: DType) -> Lanes:
        return np.zeros(size, np.complex128)

    def constant(self, value: Any, dtype: DType) -> Any:
        return self._rounded(np.asarray(abs(float(value)), np.complex128), dtype)

    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes:
        if op == "~":
            raise _NoBound
        return a

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        match op:
            case "+" | "-":
                return self._rounded(a + b, dtype)
            case "*":
                error = a.real * b.imag + b.real * a.imag + a.imag * b.imag
                return self._rounded(a.real * b.real + 1j * error, dtype)
            case "min" | "max":
                return self._largest([a, b])
        raise _NoBound

    def apply(self, function: ir.FunctionName, operands: Sequence[Lanes], dtype: DType) -> Lanes:
        if str(function) == "fma":
            a, b, c = operands
            return self.binary("+", self.binary("*", a, b, dtype), c, dtype)
        raise _NoBound

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        if not (source.is_float and target.is_float):
            raise _NoBound
        return self._rounded(a, target)

    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes:
        total: Lanes = np.full(active[0].shape if active else (), 0 if init is None else init, np.complex128)
        for on, value in zip(active, values, strict=True):
            total = np.where(on, self.binary(op, total, value, dtype), total)
        return total

    def _rounded(self, value: Lanes, dtype: DType) -> Lanes:
        if not dtype.is_float:
            return value
        unit = float_limits(dtype).eps / 2
        return np.asarray(value + 1j * unit * (value.real + value.imag))

    def _largest(self, values: Sequence[Lanes]) -> Lanes:
        real, error = (np.maximum.reduce([part(v) for v in values]) for part in (np.real, np.imag))
        return np.asarray(real + 1j * error)


def computed_errors(
    launches: Sequence[tuple[Program, Sequence[str]]], given: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return how far each output of kernels that run one after the other may be from what they compute without
    rounding, by the arrays' names; None where an operation has no bound."""
    memory = {name: np.abs(np.asarray(array, float)).astype(np.complex128) for name, array in given.items()}
    try:
        with np.errstate(all="ignore"):
            for program, arrays in launches:
                names = dict(zip((p.name for p in program.parameters), arrays, strict=True))
                own = {p.name: memory[names[p.name]].reshape(-1) for p in program.parameters if p.role != "out"}
                run = Machine(program, Errors(), own).run()
                for p in outputs(program):
                    left = run.memories[p.name]
                    before = memory.get(names[p.name], np.zeros(p.shape, np.complex128)).reshape(-1)
                    memory[names[p.name]] = np.where(left.written, left.data, before).reshape(p.shape)
    except _NoBound:
        return None
    return {name: array.imag for name, array in memory.items()}


Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
DIVISION: Final = 4
"""Roundings that a division may take: of the reciprocal, of the product, and of an approximation."""

SLACK: Final = 1.01
"""What bounds of rounding errors are taken with, as they leave out products of errors."""
MOST: Final = 512
"""The largest number that inputs are made multiples of."""


class ElementBounds(Struct, frozen=True):
    """How far each element of an output may be from what the specification gives, and another number that it may be."""

    bound: Array
    product: Array


class _Node(Struct, frozen=True):
    """A value in double precision, a bound of its error, and of the magnitude of every partial result; all are
    multiples of `unit`, a power of two, or 0 where that is not known."""

    value: float
    error: float
    magnitude: float
    unit: float


class _Batch(Struct, frozen=True):
    """Terms that an operation makes of as many operands each: their places in a table, and their operands'."""

    op: str
    terms: list[Term]
    made: Array
    operands: Array


class _Nodes:
    """What terms are for one input, as columns of values, errors, magnitudes and units; an error that is no number:
    nothing is known of it."""

    def __init__(self, places: Mapping[Term, int]) -> None:
        self.places, self.table = places, np.zeros((4, len(places)))

    def of(self, term: Term) -> _Node:
        found = _Node(*self.table[:, self.places[term]].tolist())
        if math.isnan(found.error):
            raise _Unknown
        return found


class Rounding:
    """The bounds of one program's outputs, by what its specification means."""

    def __init__(
        self, program: Program, meaning: Meaning, launches: Sequence[tuple[Program, Sequence[str]]] = ()
    ) -> None:
        self.program, self.meaning = program, meaning
        self.launches = launches or [(program, [p.name for p in program.parameters])]
        self.computed_in = _computed_in(program)
        self._orders = dict[str, tuple[dict[Term, int], list[_Batch]]]()
        self.products = _products(program, {_mantissa(value) for value in self._divisors()})

    def _by_reciprocal(self, term: Term, dtype: DType) -> bool:
        op, args = self.meaning.terms.nodes[term]
        return op == "const" and bool(reciprocal(float(args[0]), dtype))

    def _divisors(self) -> Iterator[float]:
        nodes = self.meaning.terms.nodes
        return (float(nodes[args[1]][1][0]) for op, args in nodes if op == "/" and nodes[args[1]][0] == "const")

    def bounds(self, given: Mapping[str, Array]) -> dict[str, ElementBounds] | None:
        """Return what every element of each float output may be; None where the specification has other operations."""
        found = dict[str, ElementBounds]()
        for parameter in outputs(self.program):
            if not parameter.dtype.is_float:
                continue
            wanted, dtype = self.meaning.wanted[parameter.name], self.computed_in or parameter.dtype
            try:
                with np.errstate(all="ignore"):
                    known = self._nodes(parameter.name, dtype, given)
                    nodes = list(map(known.of, wanted))
                    if dtype is not parameter.dtype:
                        nodes = [_stored(node, parameter.dtype) for node in nodes]
            except _Unknown:
                return None
            most = float_limits(parameter.dtype).max  # partial sums may overflow
            errors = [math.inf if most < node.magnitude < math.inf else node.error for node in nodes]
            products = [math.nan for _ in nodes]
            for place, term in enumerate(wanted) if self.products == "last" else ():
                product = self._product(term, dtype, known)
                if product is not None:
                    errors[place], products[place] = 0.0, product
            shape = parameter.shape
            found[parameter.name] = ElementBounds(np.array(errors).reshape(shape), np.array(products).reshape(shape))
        return found

    def computed(self, given: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return how far each output may be by what the kernel itself computes, where the terms cancel what it adds."""
        return computed_errors(self.launches, given) or {}

    def undecided(self, given: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return which elements of outputs of integers rounding decides: a float is converted, or compared, whose
        rounding error reaches another whole number, or the other outcome."""
        found, memo = dict[str, Array](), dict[Term, bool]()
        for parameter in outputs(self.program):
            if parameter.dtype.is_float or self.computed_in is None:
                continue
            with np.errstate(all="ignore"):
                known = self._nodes(parameter.name, self.computed_in, given)
            some = [self._is_open(term, known, memo) for term in self.meaning.wanted[parameter.name]]
            found[parameter.name] = np.array(some).reshape(parameter.shape)
        return found

    def _is_open(self, term: Term, known: _Nodes, memo: dict[Term, bool]) -> bool:
        nodes, waiting = self.meaning.terms.nodes, [term]
        while waiting:
            part = waiting[-1]
            op, args = nodes[part]
            below = [] if part == UNWRITTEN or op in ("atom", "const") else args
            if open_ := [arg for arg in below if arg not in memo]:
                waiting += open_
                continue
            waiting.pop()
            memo[part] = any(memo[arg] for arg in below)
            compares = is_choice(op)
            converts = not isinstance(op, ir.FunctionName) and op.startswith("to_") and not DType(op[3:]).is_float
            if not memo[part] and (compares or converts) and any(map(self._is_float, below[: 2 if compares else 1])):
                try:
                    sides = list(map(known.of, below[: 2 if compares else 1]))
                except _Unknown:
                    continue
                error = SLACK * sum(side.error for side in sides)
                if compares:
                    memo[part] = error > 0 and not abs(sides[0].value - sides[1].value) > error
                else:
                    low, high = sides[0].value - error, sides[0].value + error
                    memo[part] = error > 0 and not (math.isfinite(error) and math.trunc(low) == math.trunc(high))
        return memo[term]

    def _is_float(self, term: Term) -> bool:
        """Tell whether a term has floats, and no conversion makes a whole number of them."""
        op, args = self.meaning.terms.nodes[term]
        if op in ("atom", "const"):
            return op == "atom" and any(p.dtype.is_float for p in self.program.parameters if p.name == args[0])
        if isinstance(row := row_of(op), Gather):
            return any(p.dtype.is_float for p in self.program.parameters if p.name == row.array)
        if isinstance(row, ChoiceFunction):
            args = args[2:]
        elif row is None and op.startswith(("to_", WIDEN)):
            return DType(op.rpartition("_")[2]).is_float
        return any(map(self._is_float, args))

    def _product(self, term: Term, dtype: DType, known: _Nodes) -> float | None:
        """Return an exact number times the reciprocal of a constant as the printed text rounds it."""
        op, args = self.meaning.terms.nodes[term]
        if op != "/" or self.meaning.terms.nodes[args[1]][0] != "const":
            return None
        dividend, divisor = map(known.of, args)
        if dividend.error or divisor.error or not math.isfinite(dividend.magnitude):
            return None
        kind = NUMPY_DTYPES[DType.F32 if dtype is DType.F16 else dtype]
        product = kind(dividend.value) * (kind(1) / kind(divisor.value))
        return float(as_numbers(product, dtype))

    def spreads(self) -> bool:
        """Tell whether a NaN in an input reaches the outputs: there are no extremes, which may leave it out."""
        return not any(op in ("min", "max") or isinstance(op, ir.FunctionName) for op, _ in self.meaning.terms.nodes)

    def keeps_infinities(self) -> bool:
        """Tell whether infinities in the inputs are infinities or no numbers in each precision: a function of
        mathematics may be 0 in single precision and tiny in double."""
        kinds = (type(row_of(op)) for op, _ in self.meaning.terms.nodes)
        return {type(None), ChoiceFunction, Gather}.issuperset(kinds)

    def divisor(self) -> int:
        """Return what all inputs should be a multiple of, so that quotients by whole constants are whole."""
        found = 1
        for value in self._divisors():
            if value == int(value) != 0 and math.lcm(found, int(value)) <= MOST:
                found = math.lcm(found, int(value))
        return found

    def _nodes(self, output: str, dtype: DType, given: Mapping[str, Array]) -> _Nodes:
        """Return what an output's terms, and all that they are made of, are for an input."""
        places, batches = self._ordered(output)
        flat, found = {name: np.asarray(array).reshape(-1) for name, array in given.items()}, _Nodes(places)
        for batch in batches:
            v = found.table[:, batch.operands]
            if batch.op in ("+", "*"):
                found.table[:, batch.made] = _joined(batch.op, v, dtype)
                continue
            for number, (term, place) in enumerate(zip(batch.terms, batch.made.tolist(), strict=True)):
                op, args = self.meaning.terms.nodes[term]
                values = list(itertools.starmap(_Node, v[:, :, number].T.tolist()))
                exact = op != "/" or self.products == "none" or not self._by_reciprocal(args[1], dtype)
                try:
                    node = _combined(op, args, values, dtype, flat, exact)
                except _Unknown:
                    node = _Node(0.0, math.nan, 0.0, 0.0)
                found.table[:, place] = node.value, node.error, node.magnitude, node.unit
        return found

    def _ordered(self, output: str) -> tuple[dict[Term, int], list[_Batch]]:
        """Return places for an output's terms and what they are made of, and these in batches, operands first."""
        if output not in self._orders:
            nodes = self.meaning.terms.nodes
            order = self.meaning.terms.made_of_all(self.meaning.wanted[output], ())
            places, level = {term: place for place, term in enumerate(order)}, dict[Term, int]()
            batches = defaultdict[tuple[int, str, int], list[Term]](list)
            for term in order:
                op, args = nodes[term]
                below = () if op in ("atom", "const") else args
                level[term] = 1 + max(map(level.__getitem__, below), default=0)
                batches[level[term], op, len(below)].append(term)
            found = list[_Batch]()
            for (_, op, count), some in sorted(batches.items(), key=lambda item: item[0][0]):
                sources = [[places[arg] for arg in nodes[term][1][:count]] if count else [] for term in some]
                made, operands = np.array([places[term] for term in some]), np.array(sources, np.int64).T
                found.append(_Batch(op, some, made, operands))
            self._orders[output] = places, found
        return self._orders[output]


class _Unknown(Exception):
    """An operation whose errors nothing is known of."""


def _combined(
    op: str, args: Any, v: list[_Node], dtype: DType, given: Mapping[str, Array], quotients: bool
) -> _Node:  # fmt: skip
    """Return the node of an operation; `quotients` that are numbers of their type are computed without an error."""
    limits = float_limits(dtype)
    u, tiny = limits.eps / 2, limits.tiny
    errors, unit = sum(n.error for n in v), min((n.unit for n in v), default=1.0)
    if any(math.isnan(n.error) for n in v):
        raise _Unknown
    match op:
        case "unwritten":
            return _exact(0.0)
        case "atom":
            return _exact(float(given[args[0]][args[1]]))
        case "const":
            value = float(args[0])
            exact = float(as_numbers(value, dtype)) == value
            return _exact(value) if exact else _Node(value, u * abs(value), abs(value) * (1 + u), 0.0)
        case "/":
            a, b = v
            value = float(np.float64(a.value) / np.float64(b.value))
            magnitude, unit, least = abs(value), _unit(value), abs(b.value) - b.error
            if errors or not quotients or value * b.value != a.value or not _fits(magnitude, unit, u, tiny):
                errors = (abs(a.value) + a.error) / least - magnitude if least > 0 else math.inf
                errors += DIVISION * (u * (a.magnitude / least + errors) + tiny) if least > 0 else 0.0
        case "min" | "max":
            value, magnitude = (min if op == "min" else max)(n.value for n in v), max(n.magnitude for n in v)
            errors = max(n.error for n in v)
        case "abs":
            value, magnitude = abs(v[0].value), v[0].magnitude
        case ir.FunctionName(row=Gather(array=array)):
            return _exact(float(given[array][int(v[0].value)]))
        case ir.FunctionName(row=ChoiceFunction() | MathFunction() | WordFunction() as row):
            value, errors, magnitude = _function(row, [(n.value, n.error) for n in v], u, tiny, dtype)
        case _:
            raise _Unknown
    if math.isnan(errors):
        errors = math.inf
    return _Node(value, errors, magnitude + errors, 0.0 if errors else unit)


def _joined(op: str, v: Array, dtype: DType) -> Array:
    """Return the columns of sums or products of columns: `v` is of shape (4, operands, how many there are)."""
    (values, errors, magnitudes, units), joins = v, v.shape[1] - 1
    u, tiny = float_limits(dtype).eps / 2, float_limits(dtype).tiny
    error = errors.sum(axis=0)
    unknown = np.isnan(error)
    if op == "+":
        value, magnitude = (np.array([_sum(each) for each in part.T.tolist()]) for part in (values, magnitudes))
        unit, least = units.min(axis=0), 0.0
    else:
        value, magnitude, unit = (part.prod(axis=0) for part in (values, magnitudes, units))
        error, least = np.where(error != 0, (abs(values) + errors).prod(axis=0) - abs(value), 0.0), tiny
    rounds = (error != 0) | (unit < tiny) | ~((magnitude <= unit / u) | np.isinf(magnitude))
    error = error + np.where(rounds, joins * (u * (magnitude + error) + least), 0.0)
    error = np.where(unknown, np.nan, np.where(np.isnan(error), np.inf, error))
    return np.stack([value, error, magnitude + error, np.where(error != 0, 0.0, unit)])


def _function(
    row: ChoiceFunction | MathFunction | WordFunction,
    given: list[tuple[float, float]],
    u: float,
    tiny: float,
    dtype: DType,
) -> tuple[float, float, float]:
    """Return a function's value, how far it may be from what CUDA gives, and its magnitude."""
    values = [value for value, _ in given]
    found = float(row.on_numbers(values))
    if isinstance(row, ChoiceFunction):
        (a, least), (b, most), *chosen = given
        decided = abs(a - b) > least + most or (least == most == 0)  # else rounding may choose the other one
        error = max(error for _, error in chosen) + (0.0 if decided else abs(chosen[0][0] - chosen[1][0]))
        return found, error, max(abs(value) for value, _ in chosen)
    slope, known = 0.0, row if isinstance(row, MathFunction) else None
    if known is not None and known.lipschitz is not None:
        slope = known.lipschitz * sum(error for _, error in given)
    elif any(error for _, error in given):
        corners = itertools.product(*((value - error, value + error) for value, error in given))
        slope = max(abs(float(row.on_numbers(list(corner))) - found) for corner in corners)
    units = 1.0 if known is None else known.ulp.get(dtype, 0.0 if set(known.ulp.values()) == {0} else 1.0)
    if not units:  # what rounds to whole numbers is exact in every type
        return found, slope, abs(found)
    return found, slope + 2 * units * u * (abs(found) + slope) + tiny * max(1, units), abs(found)


def _computed_in(program: Program) -> DType | None:
    """Return the least precise type that a kernel computes or keeps floats in; None where it only moves them. What
    outputs round in the end does not count. What factors lose that are truncated to tf32, of 11 bits and the exponents
    of f32, is less than what bf16 rounds of their product."""
    stored = {p.name for p in outputs(program)}
    found = set[DType]()
    for stmt in statements(program.body):
        if isinstance(stmt, ir.DeclareAccumulator):
            found.add(stmt.dtype)
        if isinstance(stmt, ir.WarpInstruction) and isinstance(stmt.row, MatrixProduct):
            found |= {stmt.operands[-1].dtype} | ({DType.BF16} if stmt.row.a == "tf32" else set())
        for expr in own_expressions(stmt):
            rounds = expr if isinstance(stmt, ir.Store) and expr is stmt.value and stmt.array in stored else None
            found |= {
                part.dtype
                for part in subexpressions(expr)
                if isinstance(part, ir.Binary | ir.Apply) or (isinstance(part, ir.Cast) and part is not rounds)
            }
    return max(filter(lambda dtype: dtype.is_float, found), key=lambda dtype: float_limits(dtype).eps, default=None)


def _stored(node: _Node, dtype: DType) -> _Node:
    """Return a value as an output of another type has it."""
    limits, error = float_limits(dtype), node.error
    if math.isfinite(node.value) and (error or float(as_numbers(node.value, dtype)) != node.value):
        error += limits.eps / 2 * (abs(node.value) + error) + limits.tiny
    return _Node(node.value, error, node.magnitude, node.unit)


def _products(program: Program, divisors: set[float]) -> Literal["none", "last", "anywhere"]:
    """Tell where a kernel has quotients by constants that are printed as products.

    They are the last operations where each is stored as it is, and its divisor is one of the specification's, given up
    to powers of two.
    """
    found = list(products(program))
    for stmt, quotient in found:
        assert isinstance(quotient.right, ir.Const)
        stored = isinstance(stmt, ir.Store) and quotient is stmt.value
        if not stored or _mantissa(float(quotient.right.value)) not in divisors:
            return "anywhere"
    return "last" if found else "none"


def _mantissa(value: float) -> float:
    return math.frexp(abs(value))[0]


def _exact(value: float) -> _Node:
    return _Node(value, 0.0, abs(value), _unit(value))


def _unit(value: float) -> float:
    """Return the largest power of two that a number is a multiple of, up to 1; infinities and 0 are of 1."""
    if value == 0 or not math.isfinite(value):
        return 1.0
    denominator = value.as_integer_ratio()[1]
    return 1.0 / denominator if denominator < 1 << 1000 else 0.0


def _fits(magnitude: float, unit: float, u: float, tiny: float) -> bool:
    """Tell whether all multiples of a unit up to a magnitude are numbers of a type of this precision."""
    return unit >= tiny and (magnitude <= unit / u or math.isinf(magnitude))


def _sum(values: list[float]) -> float:
    """Return a sum, exact where it is finite."""
    return math.fsum(values) if all(map(math.isfinite, values)) else sum(values)
