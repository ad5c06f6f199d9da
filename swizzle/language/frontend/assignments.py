"""Assignments in a kernel: to scalars, to array elements, to several targets, and in place."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final, Literal

from swizzle.language.frontend import operators
from swizzle.language.frontend.calls import positional
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.functions import chosen_by_data
from swizzle.language.frontend.operators import INDEX, Value, coerce, settled
from swizzle.language.frontend.scope import (
    AccumulatorName,
    ArrayName,
    ComparisonName,
    GivenName,
    LoopName,
    ScalarName,
    Scope,
    StaticName,
    VectorArrayName,
    VectorName,
)
from symbolic.errors import SwizzleError
from symbolic.ir.program import Assign, Const, DType, Expr, Load, Stmt, Store, Var
from symbolic.ir.python_text import BINARY_OPS
from symbolic.ir.walk import subexpressions


def assign_tuple(
    reader: ExpressionReader, target: ast.Tuple | ast.List, values: Sequence[Value] | None, node: ast.stmt
) -> tuple[Stmt, ...]:
    """Assign the values of `a, b = ...`, None where it is one: all are taken before the first target changes."""
    if values is None or len(values) != len(target.elts):
        count = "one value" if values is None else f"{len(values)} values"
        reader.mistake(
            node,
            f"{count} for {len(target.elts)} targets",
            "as many values as targets",
            f"write {len(target.elts)} values",
        )
    statements: list[Stmt] = []
    ready: list[Value] = list(values)
    if any(_reads(reader.scope, v, target.elts[:position]) for position, v in enumerate(values)):
        for position, expr in enumerate(map(settled, values)):
            if not isinstance(expr, Const):
                name = reader.scope.fresh("before")
                statements.append(Assign(name, expr, expr.place))
                ready[position] = Var(name, expr.dtype, expr.place)
    for element, v in zip(target.elts, ready, strict=True):
        statements.append(store(reader, element, v, node))
    return tuple(statements)


def store(reader: ExpressionReader, target: ast.expr, value: Value, node: ast.stmt) -> Stmt:
    """Give `value` to a scalar or an array element."""
    place = reader.kernel.source.place(node)
    match target:
        case ast.Name(id=name):
            expr = _scalar_for(reader, target, value)
            variable = reader.scope.named(name)
            if reader.scope.is_bound_once(name):
                learn(reader, variable, expr)
            reader.scope.declare(name, ScalarName(expr.dtype))
            return Assign(variable, expr, place)
        case ast.Subscript(value=ast.Name(id=name)) if isinstance(reader.scope.meanings.get(name), ArrayName):
            name, meaning, indices = reader.array_element(target)
            _require_writable(reader, target, name, meaning)
            stored = coerce(value, meaning.dtype, f"the value stored to {name}")
            return Store(reader.scope.named(name), indices, stored, place)
        case ast.Subscript(value=ast.Name(id=name)) if isinstance(reader.scope.meanings.get(name), GivenName):
            reader.mistake(
                target,
                f"a store to the scalar {name}",
                "an out or inout array, a local array or a shared array",
                "a kernel reads its scalars only: declare an output, y=f32.out[...], in @sketch(...)",
            )
        case ast.Subscript(value=ast.Name(id=name)) if isinstance(
            vectors := reader.scope.meanings.get(name), VectorArrayName
        ):
            made = f"{vectors.type!r}({', '.join('abcd'[: vectors.type.lanes])})"
            reader.mistake(
                target, f"{operators.describe(value)} stored to {name}, an array of {vectors.type.name}",
                "a vector, or a store to a component",
                f"write {ast.unparse(target)} = {made}, or {ast.unparse(target)}.x",
            )  # fmt: skip
        case ast.Attribute(value=ast.Name(id=name), attr="x" | "y" | "z" | "w") if name not in reader.scope.meanings:
            reader.mistake(
                target, f"a component of {name}, which has no value yet", "a vector",
                f"begin with all of it: {name} = cuda.float4(0, 0, 0, 0)",
            )  # fmt: skip
        case ast.Subscript(value=ast.Name() as base):
            reader.value(target)
            reader.mistake(
                target,
                f"{base.id} is not an array",
                "an out array, a local array or a shared array",
                fix="declare an array, cuda.local.array(2, f32), or assign to the name itself",
            )
        case ast.Attribute() if (number := reader.component(target, stored=True)) is not None:
            stored = coerce(value, number.dtype, f"the value of {ast.unparse(target)}")
            return Store(number.array, number.indices, stored, place)
        case ast.Attribute():
            reader.mistake(
                target, "an assignment to an attribute", "a name or an array element", fix="assign to a name of its own"
            )
        case ast.Starred():
            reader.mistake(target, "`*` in an assignment", "one target for each value", fix="write out the targets")
        case _:
            reader.mistake(
                target,
                "an assignment to this",
                "a name or an array element",
                fix="write `name = ...` or `array[i] = ...`",
            )


def _scalar_for(reader: ExpressionReader, target: ast.Name, value: Value) -> Expr:
    """Return `value` as what the name `target` can hold."""
    meaning = reader.scope.meanings.get(target.id)
    if target.id in reader.bound:
        meaning = None
    match meaning:
        case None:
            return settled(value)
        case ScalarName(dtype=dtype):
            if dtype is not DType.BOOL and operators.dtype_of(value) not in (None, dtype, INDEX):
                given = operators.describe(value)
                held = "an index" if dtype is INDEX else f"{dtype.value} data"
                data = operators.dtype_of(value)
                fix = f"begin with data: {target.id} = {data.value}(0)" if data and data.is_data else ""
                reader.mistake(target, f"{target.id} holds {held} and is now given {given}", "one dtype", fix)
            return coerce(value, dtype, f"the new value of {target.id}")
        case LoopName():
            reader.mistake(
                target, f"an assignment to the loop variable {target.id}", "a variable of your own", "use another name"
            )
        case GivenName():
            reader.mistake(
                target,
                f"an assignment to the scalar parameter {target.id}",
                "a variable of your own: a kernel's parameters keep their values",
                f"write v = {target.id}, and change v",
            )
        case _:
            reader.mistake(target, f"{target.id} is {kind(meaning)} already", "a name of its own", "use another name")


def learn(reader: ExpressionReader, name: str, expr: Expr) -> None:
    """Remember the value of a scalar that is assigned only here."""
    if expr.dtype is not INDEX:
        return
    number = reader.known(expr)
    if number is not None:
        reader.scope.known[name] = number
    if reader.is_steady(expr):
        reader.scope.steady.add(name)


def _require_writable(reader: ExpressionReader, node: ast.AST, name: str, meaning: ArrayName) -> None:
    if not meaning.is_writable:
        shape = ", ".join(map(str, meaning.shape))
        reader.mistake(
            node,
            f"a store to the read-only parameter {name}",
            "an out or inout array, a local array or a shared array",
            f"declare it {reader.scope.named(name)}={meaning.dtype.value}.inout[{shape}] in @sketch(...)",
        )


ADDED: Final = frozenset({DType.F32, DType.F64, DType.I32, DType.U32, DType.U64})
"""The types that CUDA's atomicAdd takes on every architecture."""


JOINED: Final = frozenset({DType.I32, DType.U32, DType.U64})
"""The types of the other atomic operations; those of minima are also signed numbers of 64 bits."""
ATOMICS: Final[dict[str, Literal["+", "min", "max", "&", "|", "^"]]] = {
    "cuda.atomic.add": "+", "cuda.atomic.min": "min", "cuda.atomic.max": "max", "cuda.atomic.and_": "&",
    "cuda.atomic.or_": "|", "cuda.atomic.xor": "^",
}  # fmt: skip


def atomic_addition(reader: ExpressionReader, name: str, node: ast.Call) -> Stmt:
    """Read `cuda.atomic.add(array, index, value)` and its kin; the index of several dimensions is a tuple."""
    called, op = name, ATOMICS[name]
    target, index, value = positional(reader, node, called, 3, 3)
    place = reader.kernel.source.place(node)
    if not isinstance(target, ast.Name) or not isinstance(reader.scope.meanings.get(target.id), ArrayName):
        reader.mistake(target, "an atomic addition to this", "the name of an array", f"write {called}(y, i, v)")
    element = ast.copy_location(ast.Subscript(target, index, ast.Load()), node)
    element.end_lineno, element.end_col_offset = index.end_lineno, index.end_col_offset
    try:
        name, meaning, indices = reader.array_element(element)
    except SwizzleError as error:
        if not error.found.startswith("data-dependent control"):
            raise
        raise SwizzleError(
            error.found, place=error.place, expected=error.expected,
            fix="count each bin: for b in range(BINS): cuda.atomic.add(h, b, where(v == i32(b), 1, 0))",
        ) from None  # fmt: skip
    _require_writable(reader, target, name, meaning)
    reader.require_readable(target, name, meaning)
    allowed = ADDED if op == "+" else JOINED | {DType.I64} if op in ("min", "max") else JOINED
    if op != "+" and (meaning.dtype not in allowed or meaning.memory == "local"):
        types = ", ".join(dtype.value for dtype in DType if dtype in allowed)
        reader.mistake(
            target, f"{called} on {'a local array' if meaning.memory == 'local' else f'{meaning.dtype.value} data'}",
            f"an inout or shared array of {types}", "reduce by shuffles, and let one thread store",
        )  # fmt: skip
    if meaning.dtype not in allowed or meaning.memory == "local":
        what = "a local array" if meaning.memory == "local" else f"{meaning.dtype.value} data"
        reader.mistake(
            target, f"an atomic addition to {what}", "an inout or shared array of f32, f64, i32, u32 or u64",
            "write +=: no other thread sees it" if meaning.memory == "local" else "add in i32, or in f32",
        )  # fmt: skip
    added = coerce(reader.value(value), meaning.dtype, f"the value added to {name}")
    return Store(reader.scope.named(name), indices, added, place, atomic=True, joins=op)


def augmented(reader: ExpressionReader, node: ast.AugAssign) -> Stmt:
    """Read `s += v` or `a[i] += v`."""
    target = node.target
    place = reader.kernel.source.place(node)
    if type(node.op) not in BINARY_OPS:
        reader.mistake(
            node,
            "this operator in an assignment",
            "+= -= *= /= //= %= <<= >>= &= |= ^=",
            fix="write the assignment out: v = v ... x",
        )
    op = BINARY_OPS[type(node.op)]
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        meaning = reader.scope.meanings.get(target.value.id)
        if isinstance(meaning, ArrayName):
            name, meaning, indices = reader.array_element(target)
            _require_writable(reader, target, name, meaning)
            reader.require_readable(target, name, meaning)
            array = reader.scope.named(name)
            old = Load(array, indices, meaning.dtype, reader.kernel.source.place(target))
            value = operators.binary(op, old, reader.value(node.value), place)
            return Store(array, indices, coerce(value, meaning.dtype, f"the value stored to {name}"), place)
    if isinstance(target, ast.Attribute) and (number := reader.component(target, stored=True)) is not None:
        reader.component(target)  # it must have a value
        value = operators.binary(op, number, reader.value(node.value), place)
        changed = coerce(value, number.dtype, f"the value of {ast.unparse(target)}")
        return Store(number.array, number.indices, changed, place)
    if not isinstance(target, ast.Name):
        reader.mistake(
            target, "an assignment to this", "a name or an array element", fix="write `name = ...` or `array[i] = ...`"
        )
    if isinstance(reader.scope.meanings.get(target.id), LoopName):
        reader.mistake(
            target, f"an assignment to the loop variable {target.id}", "a variable of your own", "use another name"
        )
    old_value = reader.value(ast.copy_location(ast.Name(target.id, ast.Load()), target))
    right = _counted(reader, node.value, operators.dtype_of(old_value))
    held, given = operators.dtype_of(old_value), operators.dtype_of(right)
    if held is INDEX and (given is None or given.is_data):
        dtype = "f32" if given is None else given.value
        reader.mistake(
            node,
            f"{target.id} holds an index and is now given {operators.describe(right)}",
            "one dtype",
            f"begin with data: {target.id} = {dtype}(0)",
        )
    return store(reader, target, operators.binary(op, old_value, right, place), node)


def _counted(reader: ExpressionReader, node: ast.expr, dtype: DType | None) -> Value:
    """Read what is added: a comparison counts as 1 where it holds, and as 0."""
    if not isinstance(node, ast.Compare) or dtype is DType.BOOL:
        return reader.value(node)
    place, of = reader.kernel.source.place(node), dtype or INDEX
    one, zero = (Const(float(n) if of.is_float else n, of, place) for n in (1, 0))
    return chosen_by_data(reader, node, one, zero, place)


def _reads(scope: Scope, value: Value, targets: Sequence[ast.expr]) -> bool:
    """Say whether `value` reads what an assignment to `targets` changes."""
    words = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    names = {scope.named(word) for word in words if scope.is_local(word)}
    if isinstance(value, operators.FloatLiteral):
        return False
    reads = [part.name if isinstance(part, Var) else getattr(part, "array", "") for part in subexpressions(value)]
    return not names.isdisjoint(reads)


def kind(meaning: object) -> str:
    """Say what a name stands for, for an error."""
    match meaning:
        case VectorArrayName(numbers=ArrayName(memory="parameter")):
            return "a parameter"
        case ArrayName(memory="parameter") | GivenName() | StaticName():
            return "a parameter"
        case ArrayName() | VectorArrayName():
            return "an array"
        case VectorName():
            return f"{meaning.type.noun}"
        case AccumulatorName():
            return "an accumulator"
        case LoopName():
            return "a loop variable"
        case ComparisonName():
            return "a comparison of data"
        case _:
            return "a variable"
