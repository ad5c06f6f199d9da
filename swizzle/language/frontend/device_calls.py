"""Calls of device functions: each is written out where it stands, as a compiler that inlines does.

Scalars are passed by value, arrays and accumulators by name. The function's names are renamed apart from the kernel's
(`Scope.call`), its arrays are declared at the top of the kernel, and its holes are the same ones in every call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn, Protocol, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from typing_extensions import assert_never

from swizzle.language.cuda_namespace import DeviceFunction
from swizzle.language.frontend.assignments import learn
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.operators import FloatLiteral, Value, VectorValue, settled
from swizzle.language.frontend.scope import AccumulatorName, ArrayName, ScalarName, Scope, VectorArrayName, VectorName
from swizzle.language.frontend.vectors import declare, fill, read_vector
from symbolic.errors import near
from symbolic.ir.program import (
    Accumulate,
    Assign,
    Barrier,
    Const,
    Coordinate,
    CopyAsync,
    CopyGroup,
    DeclareAccumulator,
    DeclareArray,
    DType,
    For,
    If,
    Load,
    Stmt,
    Store,
    Var,
    WarpInstruction,
)

MAX_CALLS: Final = 4096
"""Written out in one kernel: calls in calls multiply."""

Passed: TypeAlias = Value | tuple[str, ArrayName | VectorArrayName | VectorName | AccumulatorName]
"""An argument: a value, or the name that an array, a vector or an accumulator has in the program, and what it is."""


class Statements(Protocol):
    """How a function's statements are read (`swizzle.language.frontend.statements`)."""

    expressions: ExpressionReader
    depth: int
    scratch: list[DeclareArray]

    @property
    def scope(self) -> Scope: ...
    def block(self, nodes: Sequence[ast.stmt]) -> tuple[Stmt, ...]: ...


class DeviceCalls(Struct):
    """Writes out the calls of one kernel; `active` are the functions that are being read, the outermost first.

    `alone` is the call that makes up its whole statement, which alone may change what other expressions read.
    `shared` has the shared arrays of each function: as in CUDA, one for all of its calls.
    """

    statements: Statements
    active: list[DeviceFunction] = field(default_factory=list)
    alone: ast.expr | None = None
    calls: int = 0
    shared: dict[tuple[object, ...], str] = field(default_factory=dict)

    def value(self, node: ast.Call, function: DeviceFunction) -> Value:
        """Write out a call that gives one number, and return that."""
        value = self.any_value(node, function)
        if isinstance(value, VectorValue):
            self._mistake(
                node,
                f"{function.name}(...) gives {value.type.noun}, where one number is needed",
                "a variable for it",
                f"write v = {function.name}(...) on a line before, and v.x",
            )
        return value

    def any_value(self, node: ast.Call, function: DeviceFunction) -> Value | VectorValue:
        """Write out a call that gives one value, and return that."""
        values = self.call(node, function)
        if len(values) != 1:
            several = f"gives {len(values)} values" if values else "gives no value"
            self._mistake(
                node,
                f"{function.name}(...) {several}",
                "one variable for each" if values else "a statement of its own",
                f"write {', '.join('ijklmn'[: len(values)])} = {function.name}(...)"
                if values
                else "put it on a line of its own, or let it end with `return`",
            )
        return values[0]

    def gives_several(self, function: DeviceFunction) -> bool:
        """Tell whether a function returns a tuple, without writing out a call."""
        result, seen = function.result, [function]
        while isinstance(result, ast.Call) and isinstance(result.func, ast.Name):
            inner = seen[-1].kernel.environment.get(result.func.id)
            if not isinstance(inner, DeviceFunction) or inner in seen:
                return False
            result, seen = inner.result, [*seen, inner]
        return isinstance(result, ast.Tuple)

    def call(self, node: ast.Call, function: DeviceFunction) -> Sequence[Value | VectorValue]:
        """Write out a call: its statements come before the one that is being read. Return what it gives."""
        reader = self.statements.expressions
        self._refuse_endless(node, function)
        passed = self._passed(node, function)
        scope = reader.scope.call(function.kernel.definition)
        before = reader.before
        bound, opening = self._bind(passed, scope, isinstance(before, list))
        values: Sequence[Value | VectorValue] = ()
        with self._inside(node, function, scope, bound):
            body = [*opening, *self.statements.block(_body(function))]
            if function.result is not None:
                reader.before = before if isinstance(before, str) else body
                values = self._values(function.result)
        if isinstance(before, list):
            self._require_alone(
                node, function, body, {p[0]: name for name, p in passed.items() if isinstance(p, tuple)}
            )
            before.extend(body)
        elif body:
            self._mistake(
                node,
                f"a call of {function.name}, which has statements of its own, {before}",
                "a value that is there before the line begins",
                f"write v = {function.name}(...) on a line before, and use v here",
            )
        return values

    def declared_shared(self, target: str, shape: tuple[int, ...], dtype: DType) -> bool:
        """Give a function's shared array its name in the program; return whether an earlier call has declared it."""
        scope, key = self.statements.scope, (self.active[-1].kernel.definition, target, shape, dtype)
        known = key in self.shared
        if known:
            scope.alias(target, ArrayName(dtype, shape, "shared"), self.shared[key])
        self.shared[key] = scope.named(target)
        return known

    # ---- arguments ----

    def _passed(self, node: ast.Call, function: DeviceFunction) -> Mapping[str, Passed]:
        """Read the arguments of a call, by the names of the parameters."""
        given: dict[str, ast.expr] = {}
        parameters = function.parameters
        spelled = f"{function.name}({', '.join(parameters)})"
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(argument, ast.Starred):
                self._mistake(argument, "`*` in a call", "plain arguments", "write the arguments one by one")
        for keyword in node.keywords:
            if keyword.arg is None:
                self._mistake(keyword, "`**` in a call", "plain arguments", "write the arguments one by one")
            if keyword.arg not in parameters:
                fix = near(keyword.arg, parameters)
                self._mistake(keyword, f"{function.name} has no parameter `{keyword.arg}`", spelled, fix)
        for name, argument in (*zip(parameters, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)):
            if name in given:
                self._mistake(
                    argument,
                    f"the parameter {name} of {function.name} is given twice",
                    spelled,
                    fix="leave one of them out",
                )
            given[str(name)] = argument
        missing = [name for name in parameters if name not in given]
        if missing or len(node.args) > len(parameters):
            count = len(node.args) + len(node.keywords)
            self._mistake(
                node,
                f"{count} argument{'s' * (count != 1)} for {function.name}, which takes {len(parameters)}",
                spelled,
                f"add {' and '.join(missing)}" if missing else "leave the others out",
            )
        return {name: self._argument(given[name]) for name in parameters}

    def _argument(self, node: ast.expr) -> Passed:
        reader = self.statements.expressions
        if isinstance(node, ast.Name) and node.id not in reader.bound:
            meaning = reader.scope.meanings.get(node.id)
            if (
                isinstance(meaning, ArrayName | VectorArrayName | VectorName | AccumulatorName)
                and node.id in reader.scope.assigned
            ):
                return reader.scope.named(node.id), meaning
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            meaning = reader.scope.meanings.get(node.value.id)
            if isinstance(meaning, AccumulatorName) and meaning.shape:
                at = reader.accumulator_indices(node)
                return reader.scope.named(node.value.id), replace(meaning, shape=(), at=at)
        value = read_vector(reader, node)
        return self.held(value, node) if isinstance(value, VectorValue) else value

    def held(self, value: VectorValue, node: ast.expr) -> tuple[str, VectorName]:
        """Put a vector into a variable of its own, before the statement that is being read; return its name."""
        reader = self.statements.expressions
        if isinstance(reader.before, str):
            self._mistake(
                node, f"{value.type.noun} given to a function {reader.before}", "a variable that holds it",
                f"write v = {ast.unparse(node)} on a line before, and give v",
            )  # fmt: skip
        name = reader.scope.fresh("given")
        declare(self.statements, name, value.type, value.place)
        reader.before.extend(fill(reader, name, value, value.place))
        return name, VectorName(value.type)

    def _bind(self, passed: Mapping[str, Passed], scope: Scope, may_state: bool) -> tuple[dict[str, Value], list[Stmt]]:
        """Return the parameters that stand for a value, and the assignments that give the others theirs."""
        bound: dict[str, Value] = {}
        opening: list[Stmt] = []
        for name, argument in passed.items():
            if isinstance(argument, tuple) and isinstance(argument[1], VectorName) and scope.changes(name):
                given, place = argument[1].type, self.statements.expressions.kernel.place
                declare(self.statements, scope.named(name), given, place)
                copied = self.statements.expressions.held(argument[0], given, place)
                opening += fill(self.statements.expressions, scope.named(name), copied, place)
                scope.declare(name, argument[1])
            elif isinstance(argument, tuple):
                scope.alias(name, argument[1], argument[0])
            elif scope.is_bound_once(name) and (_is_plain(argument) or not may_state):
                bound[name] = argument
            else:
                value = settled(argument)
                variable = scope.named(name)
                if scope.is_bound_once(name):
                    learn(self.statements.expressions, variable, value)
                scope.declare(name, ScalarName(value.dtype))
                opening.append(Assign(variable, value, value.place))
        return bound, opening

    # ---- the body ----

    @contextmanager
    def _inside(
        self, node: ast.Call, function: DeviceFunction, scope: Scope, bound: dict[str, Value]
    ) -> Iterator[None]:
        """Read the function's text for this call."""
        reader, statements = self.statements.expressions, self.statements
        outer = reader.kernel, reader.scope, reader.bound, reader.before, statements.depth, self.alone
        source = replace(function.kernel.source, called_from=reader.kernel.source.place(node), function=function.name)
        self.active.append(function)
        reader.kernel, reader.scope, reader.bound = replace(function.kernel, source=source), scope, bound
        statements.depth = 0
        yield
        reader.kernel, reader.scope, reader.bound, reader.before, statements.depth, self.alone = outer
        self.active.pop()

    def _values(self, result: ast.expr) -> Sequence[Value | VectorValue]:
        self.alone = result
        reader = self.statements.expressions
        if isinstance(result, ast.Tuple):
            return [read_vector(reader, each) for each in result.elts]
        given = reader.calls.read_tuple_call(reader, result) if isinstance(result, ast.Call) else reader.several(result)
        return [read_vector(reader, result)] if given is None else given

    def _require_alone(
        self, node: ast.Call, function: DeviceFunction, body: Sequence[Stmt], given: Mapping[str, str]
    ) -> None:
        """Refuse a call that changes something, where what stands beside it may be read before or after."""
        changed = next(_changes(body, {**{name: name for name in self.shared.values()}, **given}), None)
        if changed is not None and node is not self.alone:
            self._mistake(
                node,
                f"{function.name} {changed}, in the middle of an expression",
                f"a statement of its own: {function.name}(...), or v = {function.name}(...)",
                "put it on a line of its own",
            )

    def _refuse_endless(self, node: ast.Call, function: DeviceFunction) -> None:
        """Refuse recursion, and calls that multiply beyond measure."""
        if function in self.active:
            chain = [f.name for f in self.active[self.active.index(function) :]]
            through = f" through {' and '.join(chain[1:])}" if chain[1:] else ""
            self._mistake(
                node,
                f"{function.name} calls itself{through}",
                "functions that call others only: each call is written out",
                "write a loop",
            )
        self.calls += 1
        if self.calls > MAX_CALLS:
            self._mistake(node, f"more than {MAX_CALLS} calls are written out in one kernel", "fewer", "use loops")

    def _mistake(self, node: ast.AST, found: str, expected: str, fix: str) -> NoReturn:
        self.statements.expressions.mistake(node, found, expected, fix)


def _body(function: DeviceFunction) -> Sequence[ast.stmt]:
    """Return the statements before the last `return`."""
    body = function.kernel.definition.body
    return body[:-1] if isinstance(body[-1], ast.Return) else body


def _is_plain(value: Value) -> bool:
    """Say whether a value may be written wherever its parameter stands: it reads well, and nothing changes it."""
    given = isinstance(value, Load) and not value.indices  # a scalar parameter of the kernel
    return given or isinstance(value, FloatLiteral | Const | Coordinate | Var)


def _changes(body: Sequence[Stmt], given: Mapping[str, str]) -> Iterator[str]:
    """Say what a call changes that others may read: arrays and accumulators it was given, shared memory.

    `given` says what the function calls them, by their names in the program.
    """
    for statement in body:
        match statement:
            case Store(array=name) | CopyAsync(array=name) if name in given:
                yield f"writes to {given[name]}"
            case Accumulate(accumulator=name) if name in given:
                yield f"accumulates in {given[name]}"
            case Barrier():
                yield "has a barrier"
            case WarpInstruction(row=row):
                yield f"has {row.name.partition('.')[0]}"
            case CopyGroup():
                yield "commits or waits for copies"
            case For(body=inner):
                yield from _changes(inner, given)
            case If(then=then, otherwise=otherwise):
                yield from _changes((*then, *otherwise), given)
            case Store() | CopyAsync() | Accumulate() | Assign() | DeclareAccumulator() | DeclareArray():
                pass
            case _:
                assert_never(statement)
