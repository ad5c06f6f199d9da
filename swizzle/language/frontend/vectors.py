"""Vectors as values: `v = p[i]`, `p[i] = cuda.float4(a, b, c, d)`, `x4 = x.view(cuda.float4)`.

A program knows no vectors. A variable is a local array of numbers; a whole vector is moved by a loop over its lanes,
which the passes print as one access (`cuda_out/passes/vectors.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Protocol

from swizzle.language.element_types import COMPONENTS, VECTOR_TYPES, VectorType
from swizzle.language.frontend import operators
from swizzle.language.frontend.assignments import kind, store
from swizzle.language.frontend.calls import device_called, positional, shuffle_of
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.operators import INDEX, Value, VectorValue, coerce
from swizzle.language.frontend.resolve import spell
from swizzle.language.frontend.scope import ArrayName, VectorArrayName, VectorName
from symbolic.errors import Place
from symbolic.ir.program import Assign, Const, DeclareArray, Expr, For, Load, Select, Stmt, Store, Var
from symbolic.ir.walk import subexpressions


class Scratch(Protocol):
    """Where statements are read: `scratch` collects local arrays that belong to the top of the kernel."""

    expressions: ExpressionReader
    scratch: list[DeclareArray]


def read_vector(reader: ExpressionReader, node: ast.expr) -> Value | VectorValue:
    """Read an expression that may be a vector."""
    found, place = reader.vector(node), reader.kernel.source.place(node)
    if found is not None:
        return found
    match node:
        case ast.Call() if isinstance(made := reader.resolve(node.func), VectorType):
            return _made(reader, made, node)
        case ast.Call() if (shuffled := shuffle_of(reader, node)) is not None and (
            moved := reader.vector(shuffled.value)
        ) is not None:
            return VectorValue(
                moved.type, place, tuple(map(shuffled.number, map(moved.number, range(moved.type.lanes))))
            )
        case ast.Call() if (device := device_called(reader, node)) is not None:
            assert reader.devices is not None
            return reader.devices.any_value(node, device)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            condition = reader.condition(test, "the condition of `if ... else`")
            if isinstance(condition, Const):
                return read_vector(reader, body if condition.value else orelse)
            with reader.expressions_only("inside `... if ... else ...`"):
                then, otherwise = read_vector(reader, body), read_vector(reader, orelse)
            if not isinstance(then, VectorValue) and not isinstance(otherwise, VectorValue):
                return operators.select(condition, then, otherwise, place)
            return _chosen(reader, condition, then, otherwise, node)
        case _:
            return reader.value(node)


def _made(reader: ExpressionReader, made: VectorType, node: ast.Call) -> VectorValue:
    """Read `cuda.float4(a, b, c, d)`."""
    words, place = COMPONENTS[: made.lanes], reader.kernel.source.place(node)
    if node.keywords or len(node.args) != made.lanes:
        reader.mistake(
            node,
            f"a wrong call of {made!r}",
            f"{made!r}({', '.join(words)}): {made.lanes} numbers, without keywords",
            "write the components in order",
        )
    parts = tuple(
        coerce(reader.value(argument), made.dtype, f"the component {word} of {made!r}")
        for word, argument in zip(words, node.args, strict=True)
    )
    first = parts[0]
    if all(isinstance(part, Const) and isinstance(first, Const) and part.value == first.value for part in parts):
        return VectorValue(made, place, at=lambda _: first)
    return VectorValue(made, place, parts)


def _chosen(
    reader: ExpressionReader,
    condition: Expr,
    then: Value | VectorValue,
    otherwise: Value | VectorValue,
    node: ast.IfExp,
) -> VectorValue:
    """Choose between two vectors."""
    place = reader.kernel.source.place(node)
    if not isinstance(then, VectorValue) or not isinstance(otherwise, VectorValue) or then.type != otherwise.type:
        one, other = (
            f"{each.type.noun}" if isinstance(each, VectorValue) else operators.describe(each)
            for each in (then, otherwise)
        )
        vector = then if isinstance(then, VectorValue) else otherwise
        assert isinstance(vector, VectorValue)
        reader.mistake(
            node, f"a choice between {one} and {other}", "two vectors of one type",
            f"write {vector.type!r}({', '.join('0' * vector.type.lanes)}) for zeros",
        )  # fmt: skip
    of, other_of, dtype = then.at, otherwise.at, then.type.dtype
    if of is not None and other_of is not None:
        return VectorValue(then.type, place, at=lambda lane: Select(condition, of(lane), other_of(lane), dtype, place))
    parts = (
        Select(condition, then.number(lane), otherwise.number(lane), dtype, place) for lane in range(then.type.lanes)
    )
    return VectorValue(then.type, place, tuple(parts))


# ---- assignments ----


def assign_vector(into: Scratch, target: ast.expr, vector: VectorValue, node: ast.stmt) -> list[Stmt]:
    """Give a vector to a variable, or store it to an element of an array of vectors."""
    reader, place = into.expressions, into.expressions.kernel.source.place(node)
    scope, given = reader.scope, vector.type
    match target:
        case ast.Name(id=name):
            meaning = scope.meanings.get(name)
            if meaning is None:
                scope.declare(name, VectorName(given))
                declare(into, scope.named(name), given, place)
            elif meaning != VectorName(given):
                reader.mistake(
                    target, f"{name} is {kind(meaning)} already, and is now given {given.noun}",
                    "a name of its own", "use another name",
                )  # fmt: skip
            scope.assigned.add(name)
            return fill(reader, scope.named(name), vector, place)
        case ast.Subscript(value=ast.Name(id=name)) if number := reader.vector_element(target, stored=True):
            meaning = scope.meanings[name]
            assert isinstance(meaning, VectorArrayName)
            if meaning.type != given:
                reader.mistake(
                    node, f"{given.noun} stored to {name}, which has elements of {meaning.type.name}", "one type",
                    f"store {meaning.type.noun}",
                )  # fmt: skip
            statements: list[Stmt] = []
            at = vector.at
            if at is None:
                made = scope.fresh("made")
                declare(into, made, given, place)
                statements += fill(reader, made, vector, place)
                at = reader.held(made, given, place).at
                assert at is not None
            return [*statements, _each(reader, given, number, at, place)]
        case _:
            reader.mistake(
                target, f"{given.noun} given to {spell(target)}",
                "a variable, or an element of an array of such vectors",
                f"declare the array as {given!r}[...], or store to a view of it: y4 = y.view({given!r})",
            )  # fmt: skip


def assign_several(
    into: Scratch, targets: list[ast.expr], values: Sequence[Value | VectorValue], node: ast.stmt
) -> list[Stmt]:
    """Assign several values, a vector among them: all are taken before the first target changes."""
    reader, place = into.expressions, into.expressions.kernel.source.place(node)
    if len(values) != len(targets):
        reader.mistake(
            node, f"{len(values)} values for {len(targets)} targets", "as many values as targets",
            f"write {len(targets)} values",
        )  # fmt: skip
    statements, ready = list[Stmt](), list[Value | VectorValue]()
    for found in values:
        name = reader.scope.fresh("before")
        if isinstance(found, VectorValue):
            declare(into, name, found.type, place)
            statements += fill(reader, name, found, place)
            ready.append(reader.held(name, found.type, place))
        elif isinstance(found, operators.FloatLiteral | Const):
            ready.append(found)
        else:
            statements.append(Assign(name, found, place))
            ready.append(Var(name, found.dtype, place))
    for target, taken in zip(targets, ready, strict=True):
        if isinstance(taken, VectorValue):
            statements += assign_vector(into, target, taken, node)
        else:
            statements.append(store(reader, target, taken, node))
    return statements


def holds_vector(reader: ExpressionReader, node: ast.expr) -> bool:
    """Say whether an expression is a vector, by its form; of a device function's call that is not known."""
    match node:
        case ast.Name(id=name):
            return name not in reader.bound and isinstance(reader.scope.meanings.get(name), VectorName)
        case ast.Subscript(value=ast.Name(id=name)):
            return isinstance(reader.scope.meanings.get(name), VectorArrayName)
        case ast.Call():
            shuffled = shuffle_of(reader, node)
            if shuffled is not None:
                return holds_vector(reader, shuffled.value)
            return isinstance(reader.resolve(node.func), VectorType)
        case ast.IfExp():
            return holds_vector(reader, node.body)
    return False


def declare(into: Scratch, name: str, type: VectorType, place: Place) -> None:
    """Declare the local array that a variable is in the program."""
    into.scratch.append(DeclareArray(name, "local", (type.lanes,), type.dtype, place))


def fill(reader: ExpressionReader, name: str, vector: VectorValue, place: Place) -> list[Stmt]:
    """Return the statements that put a vector into a variable, given by the program's name for it."""
    type = vector.type
    if vector.at is not None:
        return [_each(reader, type, lambda lane: Load(name, (lane,), type.dtype, place), vector.at, place)]
    statements: list[Stmt] = []
    parts = list(vector.parts)
    for lane, part in enumerate(parts):
        if any(isinstance(each, Load) and each.array == name for each in subexpressions(part)):
            before = reader.scope.fresh("before")
            statements.append(Assign(before, part, place))
            parts[lane] = Var(before, type.dtype, place)
    lanes = enumerate(parts)
    return statements + [Store(name, (Const(lane, INDEX, place),), part, place) for lane, part in lanes]


def _each(
    reader: ExpressionReader,
    type: VectorType,
    target: Callable[[Expr], Load],
    value: Callable[[Expr], Expr],
    place: Place,
) -> Stmt:
    """Return the loop that moves a vector, lane by lane."""
    lane = Var(reader.scope.free_counter("e"), INDEX, place)
    number = target(lane)
    body = Store(number.array, number.indices, value(lane), place)
    zero, count, one = (Const(n, INDEX, place) for n in (0, type.lanes, 1))
    return For(lane.name, zero, count, one, (body,), place)


# ---- views ----


def viewed(reader: ExpressionReader, node: ast.expr) -> VectorArrayName | None:
    """Read `x.view(cuda.float4)`, an array of numbers as one of vectors; None for what is no view of an array."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as base, attr="view")) if isinstance(
            meaning := reader.scope.meanings.get(name), ArrayName
        ):
            pass
        case _:
            return None
    (argument,) = positional(reader, node, f"{name}.view", 1, 1)
    found = reader.resolve(argument)
    last = meaning.shape[-1]
    if not isinstance(found, VectorType) or found.dtype is not meaning.dtype:
        fitting = [each for each in VECTOR_TYPES.values() if each.dtype is meaning.dtype and last % each.lanes == 0]
        reader.mistake(
            argument, f"a view of {name}, which is {meaning.dtype.value} data, as {ast.unparse(argument)}",
            "a type of vectors of its numbers", f"write {name}.view({fitting[-1]!r})" if fitting else "leave it out",
        )  # fmt: skip
    if last % found.lanes:
        reader.mistake(
            node, f"a view of {name} as {found!r}, of {last} numbers in a row", f"a multiple of {found.lanes} numbers",
            f"declare {name} with {last + -last % found.lanes} of them",
        )  # fmt: skip
    if name not in reader.scope.assigned:
        reader.local(base)
    return VectorArrayName(reader.scope.named(name), meaning, found, is_view=True)
