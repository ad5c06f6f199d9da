"""A kernel's expressions: from Python's syntax tree to the typed, placed expressions of `symbolic.ir.program`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Final, NoReturn, Protocol

from msgspec import field
from msgspec.structs import replace

from swizzle.language.cuda_namespace import DeviceFunction
from swizzle.language.element_types import COMPONENTS, VectorType, checked_shape
from swizzle.language.frontend import operators
from swizzle.language.frontend.operators import BOOL, INDEX, Value, VectorValue, coerce, settled
from swizzle.language.frontend.resolve import MISSING, NameReader, element, spell
from swizzle.language.frontend.scope import AccumulatorName, ArrayName, GivenName, VectorArrayName, VectorName
from swizzle.language.other_names import EXPRESSIONS, NOT_EXPRESSIONS
from symbolic.errors import Place
from symbolic.ir.program import (
    AccumulatorValue,
    Const,
    DType,
    Expr,
    Hole,
    HoleCall,
    Load,
    Stmt,
    UnaryOp,
)
from symbolic.ir.python_text import BINARY_OPS, COMPARE_OPS
from symbolic.ir.walk import subexpressions

_UNARY_OPS: Final[dict[type[ast.unaryop], UnaryOp]] = {ast.USub: "-", ast.Invert: "~", ast.Not: "not"}


class Calls(Protocol):
    """How calls are read (`swizzle.language.frontend.calls`)."""

    def read_call(self, reader: ExpressionReader, node: ast.Call) -> Value: ...
    def read_tuple_call(self, reader: ExpressionReader, node: ast.Call) -> Sequence[Value | VectorValue] | None: ...


class Devices(Protocol):
    """How calls of device functions are written out (`swizzle.language.frontend.device_calls`)."""

    def value(self, node: ast.Call, function: DeviceFunction) -> Value: ...
    def any_value(self, node: ast.Call, function: DeviceFunction) -> Value | VectorValue: ...
    def call(self, node: ast.Call, function: DeviceFunction) -> Sequence[Value | VectorValue]: ...
    def held(self, value: VectorValue, node: ast.expr) -> tuple[str, VectorName]: ...
    def gives_several(self, function: DeviceFunction) -> bool: ...


class ExpressionReader(NameReader, kw_only=True):
    """Reads the expressions of one kernel and of the device functions that it calls; collects its holes.

    `before` collects the statements of device functions, which come before the statement that is being read. Where
    none can, it is a text that says where that is.
    """

    holes: list[Hole] = field(default_factory=list)
    before: list[Stmt] | str = field(default_factory=list)
    devices: Devices | None = None
    calls: Calls

    @contextmanager
    def expressions_only(self, where: str | None) -> Iterator[None]:
        """Read what is not evaluated once and before everything else: no statements can come before it.

        `where` says what it is, for an error; None makes no difference.
        """
        outer = self.before
        self.before = outer if where is None or isinstance(outer, str) else where
        yield
        self.before = outer

    @contextmanager
    def binding(self, parameters: dict[str, Value]) -> Iterator[None]:
        """Let a lambda's parameters stand for these values."""
        outer = self.bound
        self.bound = {**outer, **parameters}
        with self.expressions_only("in a lambda"):
            yield
        self.bound = outer

    def hole(self, found: Hole, use: Place) -> int:
        """Return the number of a hole; in a device function it is one hole for all calls."""
        if use.called_from is None:
            self.holes.append(found)
            return len(self.holes) - 1
        for number, hole in enumerate(self.holes):
            if hole.place == found.place:
                if hole.size != found.size:
                    operators.fail(
                        use,
                        f"the size n of a hole is {found.size} in this call and {hole.size} in another",
                        "one size: a hole of a device function is the same one in all of its calls",
                        "write a function for each size, or make the size a constant",
                    )
                return number
        self.holes.append(found)
        return len(self.holes) - 1

    # ---- what a use asks for ----

    def value(self, node: ast.expr) -> Value:
        """Read an expression of any type; a float literal may still be without a dtype."""
        match node:
            case ast.Constant():
                return self._literal(node)
            case ast.Name() | ast.Attribute():
                return self._name(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self.calls.read_call(self, node)
        place = self.kernel.source.place(node)
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, ast.Pow):
                    return operators.power(self.value(left), self.value(right), place)
                if type(op) not in BINARY_OPS:
                    self.mistake(node, "`@` in a kernel", "the operators + - * / // % << >> & | ^", "write the sum")
                return operators.binary(BINARY_OPS[type(op)], self.value(left), self.value(right), place)
            case ast.UnaryOp(op=op, operand=operand):
                value = self.value(operand)
                return value if isinstance(op, ast.UAdd) else operators.unary(_UNARY_OPS[type(op)], value, place)
            case ast.BoolOp(op=bool_op, values=values):
                return self._bool_op("and" if isinstance(bool_op, ast.And) else "or", values, node)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.condition(test, "the condition of `if ... else`")
                if isinstance(condition, Const):
                    return self.value(body if condition.value else orelse)
                with self.expressions_only("inside `... if ... else ...`"):
                    return operators.select(condition, self.value(body), self.value(orelse), place)
            case ast.Tuple():
                self.mistake(node, "a tuple where one value is needed", "one value", "assign the elements one by one")
            case _:
                found, fix = NOT_EXPRESSIONS.get(type(node), (f"`{type(node).__name__}`", ""))
                self.mistake(node, f"{found} is not part of the kernel language", EXPRESSIONS, fix)

    def scalar(self, node: ast.expr) -> Expr:
        """Read an expression that has a dtype by itself."""
        return settled(self.value(node))

    def index(self, node: ast.expr, what: str) -> Expr:
        """Read an INDEX expression; `what` names its use."""
        return coerce(self.value(node), INDEX, what)

    def condition(self, node: ast.expr, what: str) -> Expr:
        """Read a BOOL expression; `what` names its use."""
        return coerce(self.value(node), BOOL, what)

    def data(self, node: ast.expr, dtype: DType, what: str) -> Expr:
        """Read data of `dtype`; `what` names its use."""
        return coerce(self.value(node), dtype, what)

    def static(self, node: ast.expr, what: str) -> int:
        """Read an int that is known now."""
        return self._static_value(self.value(node), node, what)

    def _static_value(self, value: Value, node: ast.expr, what: str) -> int:
        expr = coerce(value, INDEX, what)
        if any(isinstance(part, HoleCall) for part in subexpressions(expr)):
            self.mistake(node, f"a hole in {what}", "a constant", "a hole may stand in an index or a condition only")
        number = self.known(expr)
        if number is None:
            self.mistake(
                node,
                f"{what} is not a constant",
                "an int that is known before the kernel runs",
                "use a number, a module-level constant, or an int argument of @sketch(..., n=128)",
            )
        return number

    def statics(self, node: ast.expr, what: str) -> tuple[int, ...]:
        """Read one int or a tuple of ints that are known now."""
        parts = self.several(node)
        values = [self.value(node)] if parts is None else parts
        return tuple(self._static_value(value, node, what) for value in values)

    def shape(self, node: ast.expr, what: str) -> tuple[int, ...]:
        """Read a shape: one to three static ints."""
        sizes = self.statics(node, f"the shape of {what}")
        return checked_shape(sizes if len(sizes) != 1 else sizes[0], what, self.kernel.source.place(node))

    def several(self, node: ast.expr) -> Sequence[Value] | None:
        """Read an expression that stands for several values, or return None when it is a single one."""
        source = self.kernel.source
        match node:
            case ast.Tuple(elts=elements):
                return [self.value(element) for element in elements]
            case ast.Call():
                given = self.calls.read_tuple_call(self, node)
                vector = next((value for value in given or () if isinstance(value, VectorValue)), None)
                if vector is not None:
                    self.mistake(
                        node, f"{vector.type.noun} among several values, where numbers are needed",
                        "a variable for each", "write v, w = ... on a line before",
                    )  # fmt: skip
                return None if given is None else [v for v in given if not isinstance(v, VectorValue)]
            case ast.Attribute(value=ast.Name(id=name), attr="shape"):
                meaning = self.scope.meanings.get(name)
                if isinstance(meaning, ArrayName | VectorArrayName):
                    return [Const(size, INDEX, source.place(node)) for size in meaning.shape]
        static = self.resolve(node) if isinstance(node, ast.Name | ast.Attribute) else MISSING
        if isinstance(static, tuple):
            return [self.constant(part, node) for part in static]
        return None

    # ---- literals and names ----

    def _literal(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str | bytes):
            self.mistake(node, "a string is not part of the kernel language", EXPRESSIONS, "write a number")
        return self.constant(node.value, node)

    def _name(self, node: ast.Name | ast.Attribute) -> Value:
        if isinstance(node, ast.Name) and node.id in self.bound:
            return replace(self.bound[node.id], place=self.kernel.source.place(node))
        if isinstance(node, ast.Name) and self.scope.is_local(node.id):
            return self.local(node)
        if isinstance(node, ast.Attribute):
            local = self._local_attribute(node)
            if local is not None:
                return local
        return self.global_name(node)

    def _local_attribute(self, node: ast.Attribute) -> Value | None:
        """Read `x.shape`, `x.size`, `x.ndim`, `out.value`; None when the base is not an array or accumulator."""
        component = self.component(node)
        if component is not None:
            return component
        base = node.value
        name = base.value.id if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Name) else None
        name = base.id if isinstance(base, ast.Name) else name
        if name is None or not self.scope.is_local(name):
            return None
        meaning, place = self.scope.meanings.get(name), self.kernel.source.place(node)
        if isinstance(meaning, AccumulatorName):
            if node.attr != "value":
                self.mistake(
                    node,
                    f"an accumulator has no `{node.attr}`"
                    if node.attr != "accumulate"
                    else "accumulate gives no value",
                    "`value`, and the statement `accumulate(...)`",
                    fix="write `out.accumulate(a, b)` in a line of its own, and read `out.value`",
                )
            indices = self.accumulator_indices(base)
            return AccumulatorValue(self.scope.named(name), indices, meaning.dtype, place)
        if isinstance(meaning, ArrayName | VectorArrayName) and isinstance(base, ast.Name):
            if node.attr == "size":
                return Const(prod(meaning.shape), INDEX, place)
            if node.attr == "ndim":
                return Const(len(meaning.shape), INDEX, place)
            if node.attr == "shape":
                self.mistake(
                    node,
                    "a tuple where one value is needed",
                    f"one of its sizes: {name}.shape[0]",
                    f"write {name}.shape[0]",
                )
            self.mistake(
                node, f"an array has no `{node.attr}`", "`shape`, `size` or `ndim`", "index its elements: a[i]"
            )
        if isinstance(meaning, GivenName):
            self.mistake(node, f"{name} has no `{node.attr}`: it is one number", f"its value: {name}", "leave it out")
        self.mistake(node, f"{name} has no `{node.attr}`", "an array or an accumulator", "leave it out")

    # ---- array elements ----

    def _subscript(self, node: ast.Subscript) -> Value:
        base = node.value
        if isinstance(base, ast.Name) and isinstance(self.scope.meanings.get(base.id), ArrayName):
            return self.load(node)
        if isinstance(base, ast.Name) and isinstance(meaning := self.scope.meanings.get(base.id), VectorArrayName):
            self.mistake(
                node,
                f"{meaning.type.noun} where one number is needed",
                f"one of its components: {spell(node)}.x",
                f"write {spell(node)}.x, or v = {spell(node)} on a line before, and v.x",
            )
        if isinstance(base, ast.Name) and isinstance(self.scope.meanings.get(base.id), AccumulatorName):
            self.mistake(
                node,
                "an accumulator where one value is needed",
                f"its value: {spell(node)}.value",
                f"write {spell(node)}.value",
            )
        if isinstance(base, ast.Subscript):
            self.mistake(node, "two subscripts in a row", "one subscript with all indices", "write a[i, j] for a[i][j]")
        if isinstance(base, ast.Name) and isinstance(self.scope.meanings.get(base.id), GivenName):
            self.refuse_scalar(node, base.id, "an index of the scalar")
        if isinstance(base, ast.Name) and (base.id in self.bound or self.scope.is_local(base.id)):
            if base.id not in self.bound:
                self.local(base)
            self.mistake(
                node,
                f"{base.id} is not an array",
                "an array parameter, or cuda.local.array or cuda.shared.array",
                fix="index an array, or leave out the brackets",
            )
        parts = self.several(base)
        if parts is None:
            if isinstance(base, ast.Name | ast.Attribute):
                self.global_name(base)
            if isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute) and base.func.attr == "view":
                name = spell(base.func.value)
                self.mistake(
                    node, f"an element of the view {spell(base)}, which has no name", "a view with a name",
                    f"write v = {spell(base)} at the top, and v[i] here, if {name} is an array",
                )  # fmt: skip
            self.mistake(
                node,
                f"{spell(base)} is not an array",
                "an array parameter, a local array or a shared array",
                fix="index an array, or leave out the brackets",
            )
        at = self.value(node.slice)
        if isinstance(at, Expr) and at.dtype is INDEX and self.known(at) is None:
            self.mistake(
                node.slice, "the index of a tuple is not a constant", "an int that is known before the kernel runs",
                f"loop over the tuple itself: for v in {spell(base)}, or for n, v in enumerate({spell(base)})",
            )  # fmt: skip
        position = self._static_value(at, node.slice, "the index of a tuple")
        if not 0 <= position < len(parts):
            self.mistake(
                node,
                f"index {position} of a tuple of {len(parts)}",
                f"0 to {len(parts) - 1}",
                fix="write an index in this range",
            )
        return replace(parts[position], place=self.kernel.source.place(node))

    def refuse_scalar(self, node: ast.AST, name: str, what: str) -> NoReturn:
        """Refuse a scalar parameter where an array is meant."""
        meaning = self.scope.meanings[name]
        assert isinstance(meaning, GivenName)
        declared = f"declare it {self.scope.named(name)}={meaning.dtype.value}[...] in @sketch(...) if it is an array"
        self.mistake(node, f"{what} {name}", f"its value, which is one number: {name}", declared)

    def load(self, node: ast.Subscript) -> Load:
        """Read an array element."""
        name, meaning, indices = self.array_element(node)
        self.require_readable(node, name, meaning)
        return Load(self.scope.named(name), indices, meaning.dtype, self.kernel.source.place(node))

    def require_readable(self, node: ast.AST, name: str, meaning: ArrayName) -> None:
        """Refuse to read an out parameter."""
        if not meaning.is_readable:
            shape = ", ".join(map(str, meaning.shape))
            fix = f"declare it {self.scope.named(name)}={meaning.dtype.value}.inout[{shape}] in @sketch(...)"
            self.mistake(node, f"a read of the out parameter {name}", "an in, const or inout array", fix)

    def array_element(self, node: ast.Subscript) -> tuple[str, ArrayName, tuple[Expr, ...]]:
        """Read `array[i, j]` without deciding whether it is loaded or stored."""
        assert isinstance(node.value, ast.Name)
        name = node.value.id
        meaning = self.scope.meanings[name]
        assert isinstance(meaning, ArrayName)
        if name not in self.scope.assigned:
            self.local(node.value)
        return name, meaning, self._indices(node, name, meaning.shape)

    # ---- vectors ----

    def vector_element(self, node: ast.Subscript, *, stored: bool = False) -> Callable[[Expr], Load] | None:
        """Read `p[i]` of an array of vectors, as what gives the number of a lane; None for other arrays."""
        base, place = node.value, self.kernel.source.place(node)
        meaning = self.scope.meanings.get(base.id) if isinstance(base, ast.Name) else None
        if not isinstance(base, ast.Name) or not isinstance(meaning, VectorArrayName):
            return None
        if base.id not in self.scope.assigned:
            self.local(base)
        numbers, lanes = meaning.numbers, meaning.type.lanes
        if not (numbers.is_writable if stored else numbers.is_readable):
            what = f"a store to the {numbers.role} parameter" if stored else "a read of the out parameter"
            self.mistake(
                node,
                f"{what} {base.id}",
                "an out or inout array, a local array or a shared array" if stored else "an in, const or inout array",
                f"declare {meaning.array} with .inout in @sketch(...)",
            )
        *rows, last = self._indices(node, base.id, meaning.shape)

        def number(lane: Expr) -> Load:
            if not meaning.is_view:
                return Load(meaning.array, (*rows, last, lane), numbers.dtype, place)
            first = operators.binary("*", last, Const(lanes, INDEX, place), place)
            at = coerce(operators.binary("+", first, lane, place), INDEX, "an index")
            return Load(meaning.array, (*rows, at), numbers.dtype, place)

        return number

    def held(self, name: str, kind: VectorType, place: Place) -> VectorValue:
        """Return what a variable holds, by the program's name for it."""
        return VectorValue(kind, place, at=lambda lane: Load(name, (lane,), kind.dtype, place))

    def vector(self, node: ast.expr) -> VectorValue | None:
        """Read a vector variable, or an element of an array of vectors; None for anything else."""
        place = self.kernel.source.place(node)
        match node:
            case ast.Name(id=name) if name not in self.bound and isinstance(
                held := self.scope.meanings.get(name), VectorName
            ):
                if name not in self.scope.assigned:
                    self.local(node)
                return self.held(self.scope.named(name), held.type, place)
            case ast.Subscript(value=ast.Name(id=name)) if (number := self.vector_element(node)) is not None:
                meaning = self.scope.meanings[name]
                assert isinstance(meaning, VectorArrayName)
                return VectorValue(meaning.type, place, at=number)
        return None

    def component(self, node: ast.Attribute, *, stored: bool = False) -> Load | None:
        """Read `v.x` of a vector, or `p[i].x` of an array of vectors; None when the base is neither."""
        base, place = node.value, self.kernel.source.place(node)
        name = base.value if isinstance(base, ast.Subscript) else base
        meaning = self.scope.meanings.get(name.id) if isinstance(name, ast.Name) else None
        if not isinstance(meaning, VectorName | VectorArrayName) or isinstance(meaning, VectorName) != (base is name):
            return None
        lane = COMPONENTS[: meaning.type.lanes].find(node.attr) if len(node.attr) == 1 else -1
        if lane < 0:
            words = ", ".join(f".{c}" for c in COMPONENTS[: meaning.type.lanes])
            self.mistake(
                node, f"{meaning.type.noun} has no `{node.attr}`", f"one of its components: {words}",
                f"write {spell(base)}.x, a number at a time",
            )  # fmt: skip
        at = Const(lane, INDEX, place)
        if isinstance(base, ast.Subscript):
            number = self.vector_element(base, stored=stored)
            assert number is not None
            return replace(number(at), place=place)
        assert isinstance(base, ast.Name)
        if base.id not in self.scope.assigned:
            self.local(base)
        return Load(self.scope.named(base.id), (at,), meaning.type.dtype, place)

    def _indices(self, node: ast.Subscript, name: str, shape: tuple[int, ...]) -> tuple[Expr, ...]:
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(nodes) != len(shape):
            self.mistake(
                node,
                f"{len(nodes)} {'index' if len(nodes) == 1 else 'indices'} for {name}, which has {len(shape)} "
                f"{'dimension' if len(shape) == 1 else 'dimensions'}",
                f"{element(name, shape)}",
                "write one index for each dimension",
            )
        indices = tuple(self.index(n, f"an index of {name}") for n in nodes)
        for index, index_node in zip(indices, nodes, strict=True):
            if isinstance(index, Const) and index.value < 0:
                self.mistake(
                    index_node,
                    f"the negative index {index.value} of {name}",
                    "an index from 0 on: indices do not wrap around in a kernel",
                    f"count from the start: len({name}) - {-index.value}"
                    if len(shape) == 1
                    else "count from the start",
                )
        return indices

    def accumulator_indices(self, node: ast.expr) -> tuple[Expr, ...]:
        """Read the accumulator `out` or `out[i]`; returns the indices."""
        base = node.value if isinstance(node, ast.Subscript) else node
        assert isinstance(base, ast.Name)
        meaning = self.scope.meanings[base.id]
        assert isinstance(meaning, AccumulatorName)
        if base.id not in self.scope.assigned:
            self.local(base)
        if isinstance(node, ast.Subscript):
            return self._indices(node, base.id, meaning.shape)
        if meaning.shape:
            self.mistake(
                node,
                f"{base.id} is an array of accumulators",
                f"one of them: {element(base.id, meaning.shape)}",
                fix=f"write which: {element(base.id, meaning.shape)}",
            )
        return meaning.at

    # ---- conditions ----

    def _bool_op(self, op: str, nodes: list[ast.expr], whole: ast.expr) -> Expr:
        what = f"an operand of `{op}`"
        result = self.condition(nodes[0], what)
        for node in nodes[1:]:
            if isinstance(result, Const) and bool(result.value) is (op == "or"):
                break
            result = operators.logic(op, result, self.condition(node, what), self.kernel.source.place(whole))
        return result

    def _compare(self, node: ast.Compare) -> Expr:
        place = self.kernel.source.place(node)
        values = [self.value(side) for side in (node.left, *node.comparators)]
        result: Expr | None = None
        for op, left, right in zip(node.ops, values, values[1:], strict=False):
            if type(op) not in COMPARE_OPS:
                self.mistake(node, "`is` or `in` in a kernel", "== != < <= > >=", "compare with one of these")
            link = operators.compare(COMPARE_OPS[type(op)], left, right, place)
            result = link if result is None else operators.logic("and", result, link, place)
        assert result is not None
        return result
