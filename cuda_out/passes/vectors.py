"""Which loops move neighbouring words between memory and registers, so that one vector access can replace them?

Such a loop runs over 0, 1 or 0 .. 3 and contains one statement, `mine[e] = x[base + e]` or `x[base + e] = mine[e]`. The
base must be a multiple of the vector's width for every thread. That is proved from the index expression, by finding a
number of which each of its parts is a multiple. Arrays must begin where cudaMalloc puts them, or at a multiple of 16
bytes; the host function that launches the kernel checks that. Shared arrays are declared with the alignment that their
vectors need. Four words of half precision are moved by their bits, as CUDA has no vector of four; to a compiler that
is another type, so those of an array that a kernel reads and writes are moved in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from cuda_out.analysis.unroll import is_static, register_arrays, static_names
from cuda_out.analysis.values import leaves_in
from cuda_out.passes.linear import ScaledAtom, terms_of
from cuda_out.passes.references import Definitions, forget, update_definitions
from cuda_out.passes.simplify import simplify_expression
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Parameter, Program
from symbolic.ir.walk import Body, assigned_in, bodies, statements, substitute

InMemory: TypeAlias = Parameter | ir.DeclareArray


class VectorAccess(Struct, frozen=True):
    """One access of `width` words: the parameter's first and last index, and the register for each word."""

    array: str
    dtype: DType
    width: int
    is_store: bool
    indices: tuple[Expr, ...]
    last: tuple[Expr, ...]
    registers: tuple[ir.Load, ...]

    @property
    def type_name(self) -> str:
        row = self.dtype.row
        return self._bits if self.by_bits else f"{row.c if row.half else row.vector}{self.width}"

    @property
    def maker(self) -> str:
        return f"make_{self._bits if self.by_bits else f'{self.dtype.row.vector}{self.width}'}"

    @property
    def by_bits(self) -> bool:
        """Whether the vector's type has the bits of the words, and not the words."""
        return self.dtype.row.half is not None and self.width > 2

    @property
    def _bits(self) -> str:
        return f"ushort{self.width}"

    @property
    def bytes(self) -> int:
        return self.width * self.dtype.bits // 8


def arrays_in_memory(program: Program) -> dict[str, InMemory]:
    """Return the parameters that are arrays in memory and the shared arrays, by name."""
    found: dict[str, InMemory] = {p.name: p for p in program.parameters if p.shape and not p.by_value}
    for stmt in statements(program.body):
        if isinstance(stmt, ir.DeclareArray) and stmt.memory == "shared":
            found[stmt.name] = stmt
    return found


def vector_accesses(program: Program) -> dict[ir.For, VectorAccess]:
    """Return the loops that can be one vector access each."""
    found: dict[ir.For, VectorAccess | None] = {}
    finder = _Finder(program, found)
    finder.body(program.body, {}, {})
    return {stmt: vector for stmt, vector in found.items() if vector is not None}


class _Finder:
    def __init__(self, program: Program, found: dict[ir.For, VectorAccess | None]) -> None:
        self._far = arrays_in_memory(program)
        self._registers = register_arrays(program)
        self._static = static_names(program)
        self._found = found

    def body(self, body: Body, known: Definitions, steps: Mapping[str, int]) -> None:
        for stmt in body:
            inner = dict(known)
            if isinstance(stmt, ir.For):
                forget(inner, assigned_in((stmt,)))
                vector = self._vector(stmt, inner, steps)
                # The same loop may stand in two places: it must be fit for a vector in both.
                self._found[stmt] = vector if self._found.get(stmt, vector) == vector else None
                steps = {**steps, stmt.variable: step_of(stmt, inner, steps)}
            for nested in bodies(stmt):
                self.body(nested, dict(inner), steps)
            update_definitions(stmt, known, {})

    def _vector(self, stmt: ir.For, known: Definitions, steps: Mapping[str, int]) -> VectorAccess | None:
        match stmt:
            case ir.For(start=ir.Const(value=0), stop=ir.Const(value=2 | 4 as width), step=ir.Const(value=1)):
                pass
            case _:
                return None
        match stmt.body:
            case (ir.Store(array=array, indices=indices, value=ir.Load(array=source, indices=read), atomic=False),):
                if array in self._far and source in self._registers:
                    memory, far, near, register, is_store = self._far[array], indices, read, source, True
                elif array in self._registers and source in self._far:
                    memory, far, near, register, is_store = self._far[source], read, indices, array, False
                else:
                    return None
            case _:
                return None
        variable = frozenset({stmt.variable})
        if not all(is_static(index, self._static | variable) for index in near):
            return None
        if not is_contiguous(memory, far, stmt.variable, int(width), known, steps):
            return None
        registers = tuple(
            ir.Load(register, tuple(_at(index, stmt.variable, e) for index in near), memory.dtype, stmt.place)
            for e in range(int(width))
        )
        first, last = (tuple(_at(index, stmt.variable, e) for index in far) for e in (0, int(width) - 1))
        return VectorAccess(memory.name, memory.dtype, int(width), is_store, first, last, registers)


def _at(expr: Expr, name: str, value: int) -> Expr:
    """Return the expression for one value of the variable, its sums folded."""
    if name not in leaves_in([expr]):
        return expr

    return simplify_expression(substitute(expr, name, ir.Const(value, DType.INDEX, expr.place)), {})


def step_of(stmt: ir.For, known: Definitions, steps: Mapping[str, int]) -> int:
    """Return a number of which every value of the loop's variable is a multiple."""
    return math.gcd(multiple_of(stmt.start, known, steps), multiple_of(stmt.step, known, steps))


def is_contiguous(
    array: InMemory,
    indices: tuple[Expr, ...],
    variable: str,
    width: int,
    known: Definitions,
    steps: Mapping[str, int],
) -> bool:
    """Say whether the element moves by one word with the variable, and starts at a multiple of the width."""
    if not array.dtype.row.vector or width * array.dtype.bits > 128:
        return False
    if array.dtype.row.half and width > 2 and (isinstance(array, ir.DeclareArray) or array.role == "inout"):
        return False
    stride = 1
    for number, index in enumerate(reversed(indices)):
        rest = without(index, variable) if number == 0 else index
        if rest is None or variable in leaves_in([rest]) or multiple_of(rest, known, steps) * stride % width:
            return False
        stride *= array.shape[-1 - number]
    return True


def without(index: Expr, variable: str) -> Expr | None:
    """Return the sum without the variable, or None unless the variable is added exactly once."""
    terms = list(terms_of(index))
    own = [term for term in terms if isinstance(term, ScaledAtom) and leaves_in([term.atom]) == {variable}]
    if len(own) != 1 or own[0].factor != 1 or not isinstance(own[0].atom, ir.Var):
        return None
    return substitute(index, variable, ir.Const(0, DType.INDEX, index.place))


def multiple_of(expr: Expr, known: Definitions, steps: Mapping[str, int]) -> int:
    """Return a number of which every value of an index expression is a multiple; 0 if the index is always 0."""

    def inner(part: Expr) -> int:
        return multiple_of(part, known, steps)

    match expr:
        case ir.Const(value=value):
            return abs(int(value))
        case ir.Var(name=name):
            return inner(known[name]) if name in known else steps.get(name, 1)
        case ir.Binary(op="+" | "-" | "min" | "max", left=left, right=right):
            return math.gcd(inner(left), inner(right))
        case ir.Binary(op="*", left=left, right=right):
            return inner(left) * inner(right)
        case ir.Binary(op="<<", left=left, right=ir.Const(value=by)) if 0 <= by < 32:
            return inner(left) << int(by)
        case ir.Binary(op="&", left=left, right=right):
            return max(_twos(inner(left)), _twos(inner(right)))
        case ir.Binary(op="%", left=left, right=right):
            return math.gcd(inner(left), inner(right))
        case ir.Binary(op="//", left=left, right=ir.Const(value=by)) if by and inner(left) % int(by) == 0:
            return abs(inner(left) // int(by))
        case ir.Binary(op=">>", left=left, right=ir.Const(value=by)) if (
            0 <= by < 32 and inner(left) % (1 << int(by)) == 0
        ):
            return inner(left) >> int(by)
        case ir.Unary(op="-" | "abs", operand=operand):
            return inner(operand)
        case ir.Select(then=then, otherwise=otherwise):
            return math.gcd(inner(then), inner(otherwise))
        case ir.Lookup(entries=entries):
            return math.gcd(*entries)
        case _:
            return 1


def _twos(value: int) -> int:
    """Return the largest power of two that divides the value."""
    return value & -value if value else 1 << 31
