"""The safe interpreter of the language's sequential part, in which `.swz` files write their specifications.

It runs Python's syntax over ints, floats, lists and whatever arrays it is given, NumPy's or symbolic ones. No name,
attribute or builtin leads out of it; steps, sizes and depth are bounded, so a stranger's file can waste a minute but
neither the memory nor the machine. A specification in a `.py` file is run by Python itself.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from swizzle.language.device_function import DeviceFunction
from swizzle.language.operators import Operator
from swizzle.source.kernel_source import Source
from swizzle.specs.builtins import BUILTINS, Builtin, call_builtin, kind, shape_of
from swizzle.specs.syntax import PART, check_sequential
from symbolic.errors import SwizzleError
from symbolic.extensions import extension_names
from symbolic.suggest import near

MAX_STEPS: Final = 50_000_000
MAX_LENGTH: Final = 1 << 22
MAX_BITS: Final = 4096
MAX_DEPTH: Final = 40

_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True, slots=True)
class SequentialFunction:
    """A `def` or `lambda` of the sequential part; calling it interprets it with a budget of its own."""

    name: str
    node: ast.FunctionDef | ast.Lambda
    source: Source
    environment: Mapping[str, Any]

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        run = Interpretation(self.source)
        result = run.call(self, arguments, keywords, self.node)
        run.measure(result, self.node)
        return result

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        return tuple(argument.arg for argument in self.node.args.args)


def define(node: ast.FunctionDef, source: Source, environment: Mapping[str, Any]) -> SequentialFunction:
    """Make a function of `node`, after checking that all of it is in the sequential part."""
    check_sequential(node, source)
    return SequentialFunction(node.name, node, source, environment)


def evaluate(node: ast.expr, source: Source, environment: Mapping[str, Any]) -> Any:
    """Evaluate one expression."""
    check_sequential(node, source)
    return Interpretation(source).guarded(node, lambda run: run.value(node, Frame({}, environment)))


class _Nothing:
    """What a block gives that did not return."""


_NOTHING: Final = _Nothing()


@dataclass(slots=True)
class Frame:
    """The names of one call (or comprehension), and where to look after them."""

    values: dict[str, Any]
    outer: Frame | Mapping[str, Any]

    def __contains__(self, name: object) -> bool:
        return name in self.values or name in self.outer

    def __getitem__(self, name: str) -> Any:
        return self.values[name] if name in self.values else self.outer[name]


@dataclass(slots=True)
class Interpretation:
    """One run of the interpreter: what is left of its budget."""

    source: Source
    steps: int = MAX_STEPS
    depth: int = 0
    names: Mapping[str, Any] = field(default_factory=lambda: BUILTINS)

    def guarded(self, node: ast.AST, action: Callable[[Interpretation], Any]) -> Any:
        """Interpretation `action`; a nesting too deep for Python is the user's mistake."""
        try:
            return action(self)
        except RecursionError:
            self.fail(node, "the sequential part is nested too deeply", fix="write a loop instead of a recursion")

    def call(
        self, function: SequentialFunction, arguments: Sequence[Any], keywords: Mapping[str, Any], at: ast.AST
    ) -> Any:
        """Call a function of the sequential part."""
        if self.depth >= MAX_DEPTH:
            self.fail(at, f"more than {MAX_DEPTH} calls inside each other", fix="write a loop instead of a recursion")
        values = self._bind(function, arguments, keywords, at)
        frame = Frame(values, function.environment)
        self.depth += 1
        if isinstance(function.node, ast.Lambda):
            body = function.node.body
            result = self.guarded(at, lambda run: run.value(body, frame))
        else:
            statements = function.node.body
            result = self.guarded(at, lambda run: run.block(statements, frame))
        self.depth -= 1
        return None if result is _NOTHING else result

    def _bind(
        self, function: SequentialFunction, arguments: Sequence[Any], keywords: Mapping[str, Any], at: ast.AST
    ) -> dict[str, Any]:
        names, defaults = function.parameters, function.node.args.defaults
        signature = f"{function.name}({', '.join(names)})"
        if len(arguments) > len(names):
            self.fail(at, f"{len(arguments)} arguments for {function.name}", signature)
        values = dict(zip(names, arguments, strict=False))
        for name, value in keywords.items():
            if name not in names or name in values:
                self.fail(at, f"a wrong argument {name} for {function.name}", signature)
            values[name] = value
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            if name not in values:
                values[name] = self.value(default, Frame({}, function.environment))
        missing = [name for name in names if name not in values]
        if missing:
            self.fail(at, f"no argument {missing[0]} for {function.name}", signature)
        return values

    # ---- statements ----

    def block(self, statements: Sequence[ast.stmt], frame: Frame) -> Any:
        """Interpretation statements in order; returns the value of a `return` among them, or the marker of none."""
        for statement in statements:
            result = self._statement(statement, frame)
            if result is not _NOTHING:
                return result
        return _NOTHING

    def _statement(self, node: ast.stmt, frame: Frame) -> Any:
        self.spend(1, node)
        match node:
            case ast.Return(value=value):
                return None if value is None else self.value(value, frame)
            case ast.Assign(targets=targets, value=value):
                result = self.value(value, frame)
                for target in targets:
                    self._store(target, result, frame)
            case ast.AugAssign(target=target, op=op, value=value):
                load = _as_load(target)
                self._store(target, self.binary(op, self.value(load, frame), self.value(value, frame), node), frame)
            case ast.For(target=target, iter=iterable, body=body):
                for item in self.items(self.value(iterable, frame), iterable):
                    self.spend(1, node)
                    self._store(target, item, frame)
                    result = self.block(body, frame)
                    if result is not _NOTHING:
                        return result
            case ast.If(test=test, body=body, orelse=orelse):
                return self.block(body if self._truth(test, frame) else orelse, frame)
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    self.value(value, frame)
            case ast.Pass():
                pass
            case _:
                raise AssertionError(f"check_sequential let {type(node).__name__} pass")
        return _NOTHING

    def _store(self, target: ast.expr, value: Any, frame: Frame) -> None:
        match target:
            case ast.Name(id=name):
                frame.values[name] = value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                items = list(self.items(value, target))
                if len(items) != len(elements):
                    self.fail(target, f"{len(items)} values for {len(elements)} targets", "as many values as targets")
                for element, item in zip(elements, items, strict=True):
                    self._store(element, item, frame)
            case ast.Subscript(value=base, slice=key):
                array = self.value(base, frame)
                index = self._key(key, frame)
                if isinstance(array, tuple | range) or isinstance(key, ast.Slice):
                    self.fail(target, "a store that is not to one element", "an element of a list or an array", "loop")
                if shape_of(array) and not hasattr(array, "__setitem__"):
                    self.fail(
                        target,
                        "a store to an input array of the specification",
                        "an array of its own",
                        "write to zeros(shape), and return it",
                    )
                self.attempt(target, operator.setitem, array, index, value)
            case _:
                raise AssertionError(f"check_sequential let {type(target).__name__} pass")

    # ---- expressions ----

    def value(self, node: ast.expr, frame: Frame) -> Any:
        """Evaluate an expression."""
        self.spend(1, node)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._name(name, node, frame)
            case ast.Tuple(elts=elements):
                return tuple(self.value(element, frame) for element in elements)
            case ast.List(elts=elements):
                return [self.value(element, frame) for element in elements]
            case (
                ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators)
            ):
                return self._comprehension(node, element, generators, frame)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.value(left, frame), self.value(right, frame), node)
            case ast.UnaryOp(op=unary, operand=operand):
                return self._unary(unary, operand, frame, node)
            case ast.BoolOp(op=bool_op, values=values):
                wanted = isinstance(bool_op, ast.Or)
                return wanted if any(self._truth(v, frame) is wanted for v in values) else not wanted
            case ast.Compare():
                return self._compare(node, frame)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self._truth(test, frame) else orelse, frame)
            case ast.Subscript(value=base, slice=key):
                return self.attempt(node, operator.getitem, self._indexable(base, frame), self._key(key, frame))
            case ast.Attribute(value=base):
                return self._shape(self.value(base, frame), node)
            case ast.Lambda():
                return SequentialFunction("lambda", node, self.source, frame)  # type: ignore[arg-type]
            case ast.Call():
                return self._call(node, frame)
            case ast.Slice():
                self.fail(
                    node,
                    "a slice where a number is needed",
                    "a number",
                    "a slice stands in an index of a list or an array only",
                )
            case _:
                raise AssertionError(f"check_sequential let {type(node).__name__} pass")

    def _name(self, name: str, node: ast.AST, frame: Frame) -> Any:
        if name in frame:
            return frame[name]
        if name in self.names:
            return self.names[name]
        outer: Frame | Mapping[str, Any] = frame
        while isinstance(outer, Frame):
            outer = outer.outer
        self.fail(
            node,
            f"{name} is not defined",
            "a name defined above, or a function of the sequential part",
            near(name, [*self.names, *outer, *extension_names("operators")]) or "define it above the specification",
        )

    def _comprehension(
        self, node: ast.expr, element: ast.expr, generators: Sequence[ast.comprehension], frame: Frame
    ) -> list[Any]:
        result: list[Any] = []

        def descend(level: int, inner: Frame) -> None:
            if level == len(generators):
                result.append(self.value(element, inner))
                self.check_length(len(result), node)
                return
            generator = generators[level]
            for item in self.items(self.value(generator.iter, inner), generator.iter):
                self.spend(1, node)
                self._store(generator.target, item, inner)
                if all(self._truth(test, inner) for test in generator.ifs):
                    descend(level + 1, inner)

        descend(0, Frame({}, frame))
        return result

    def binary(self, op: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        """Compute `left op right`, within the bounds on sizes."""
        lists = isinstance(left, list | tuple), isinstance(right, list | tuple)
        if any(lists):
            return self._combine_lists(op, left, right, node)
        if isinstance(left, int) and isinstance(right, int):
            self._check_bits(op, left, right, node)
        shapes = [s for s in (shape_of(left), shape_of(right)) if s]
        if len(shapes) == 2 and shapes[0] != shapes[1]:
            self.fail(node, f"arithmetic on arrays of shapes {shapes[0]} and {shapes[1]}", "equal shapes")
        return self.attempt(node, _BINARY[type(op)], left, right)

    def _combine_lists(self, op: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        if isinstance(op, ast.Add) and type(left) is type(right):
            length = len(left) + len(right)
        elif isinstance(op, ast.Mult) and isinstance(left, list | tuple) and isinstance(right, int):
            length = len(left) * right
        elif isinstance(op, ast.Mult) and isinstance(left, int) and isinstance(right, list | tuple):
            length = left * len(right)
        else:
            self.fail(node, "arithmetic on a list", "list + list, or list * int", "write a comprehension")
        self.check_length(length, node)
        self.spend(max(length, 0), node)
        return _BINARY[type(op)](left, right)

    def _check_bits(self, op: ast.operator, left: int, right: int, node: ast.AST) -> None:
        match op:
            case ast.Mult():
                bits = left.bit_length() + right.bit_length()
            case ast.Pow():
                bits = left.bit_length() * max(right, 0)
            case ast.LShift():
                bits = left.bit_length() + max(right, 0)
            case _:
                bits = 0
        if bits > MAX_BITS:
            self.fail(node, f"an int of more than {MAX_BITS} bits", "smaller numbers")

    def _unary(self, op: ast.unaryop, operand: ast.expr, frame: Frame, node: ast.AST) -> Any:
        match op:
            case ast.Not():
                return not self._truth(operand, frame)
            case ast.USub():
                return self.attempt(node, operator.neg, self._number(operand, frame))
            case ast.Invert():
                return self.attempt(node, operator.invert, self._number(operand, frame))
            case _:
                return self._number(operand, frame)

    def _number(self, node: ast.expr, frame: Frame) -> Any:
        value = self.value(node, frame)
        if isinstance(value, list | tuple | range | SequentialFunction | Builtin):
            self.fail(node, f"{kind(value)} where a number is needed", "a number")
        return value

    def _compare(self, node: ast.Compare, frame: Frame) -> Any:
        left = self._number(node.left, frame)
        result: Any = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self._number(right_node, frame)
            result = self.attempt(node, _COMPARE[type(op)], left, right)
            if len(node.ops) > 1 and not self.decide(result, node):
                return False
            left = right
        return result

    def _truth(self, node: ast.expr, frame: Frame) -> bool:
        return self.decide(self.value(node, frame), node)

    def decide(self, value: Any, node: ast.AST) -> bool:
        """Return a condition's truth; data is none."""
        if not isinstance(value, bool | int):
            self.fail(
                node,
                f"data-dependent control: this condition is {kind(value)}",
                "a condition on ints: sizes, loop variables and constants",
                "a specification computes with data; it does not branch on it",
            )
        return bool(value)

    # ---- arrays ----

    def items(self, value: Any, node: ast.AST) -> Iterator[Any]:
        """Iterate over a range, a list, a tuple or an array's first dimension."""
        if isinstance(value, range | list | tuple):
            return iter(value)
        if shape_of(value):
            return (value[i] for i in range(len(value)))
        self.fail(node, f"a loop over {kind(value)}", "a range, a list or an array", "write range(n)")

    def _indexable(self, node: ast.expr, frame: Frame) -> Any:
        value = self.value(node, frame)
        if not isinstance(value, list | tuple | range) and not shape_of(value):
            self.fail(node, f"an index into {kind(value)}", "a list or an array")
        return value

    def _key(self, node: ast.expr, frame: Frame) -> Any:
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self._index(part, frame) for part in parts))
        if isinstance(node, ast.Tuple):
            return tuple(self._key(element, frame) for element in node.elts)
        return self._index(node, frame)

    def _index(self, node: ast.expr, frame: Frame) -> int:
        value = self.value(node, frame)
        if not isinstance(value, int):
            self.fail(
                node,
                f"an index that is {kind(value)}",
                "an int: sizes, loop variables and constants",
                "a specification computes with data; it does not index with it",
            )
        return value

    def _shape(self, value: Any, node: ast.expr) -> Any:
        shape = shape_of(value)
        if not shape:
            self.fail(node, f"the shape of {kind(value)}", "an array")
        return shape

    # ---- calls ----

    def _call(self, node: ast.Call, frame: Frame) -> Any:
        function = node.func
        if isinstance(function, ast.Attribute):
            target = self.value(function.value, frame)
            arguments = [self.value(argument, frame) for argument in node.args]
            if not isinstance(target, list) or len(arguments) != 1:
                self.fail(node, "a wrong call of append", "a_list.append(value)")
            self.check_length(len(target) + 1, node)
            target.append(arguments[0])
            return None
        called = self.value(function, frame)
        arguments = [self.value(argument, frame) for argument in node.args]
        keywords = {str(keyword.arg): self.value(keyword.value, frame) for keyword in node.keywords}
        if isinstance(called, Builtin):
            return call_builtin(self, called.name, arguments, keywords, node)
        if isinstance(called, DeviceFunction):
            self.fail(
                function,
                f"a call of the device function {called.name} outside a kernel",
                "a function of the sequential part",
                "write a function without a decorator for the specification",
            )
        if isinstance(called, Operator):
            return self._operate(called, arguments, keywords, node)
        if not isinstance(called, SequentialFunction):
            self.fail(function, f"a call of {kind(called)}", "a function of the sequential part")
        return self.call(called, arguments, keywords, node)

    def _operate(self, called: Operator, arguments: list[Any], keywords: Mapping[str, Any], node: ast.Call) -> Any:
        """Apply a user's operator to its arguments, or to the items of the only one."""
        if keywords or not arguments:
            name = called.name
            self.fail(node, f"a wrong call of {name}", f"two values or more, or a list: {name}(a, b), {name}(values)")
        values = list(self.items(arguments[0], node)) if len(arguments) == 1 else arguments
        self.spend(len(values), node)
        return self.attempt(node, called, values)

    # ---- bounds and mistakes ----

    def spend(self, steps: int, node: ast.AST) -> None:
        """Take steps from the budget."""
        self.steps -= steps
        if self.steps < 0:
            self.fail(
                node, f"the sequential part takes more than {MAX_STEPS} steps", "a smaller problem, or a shorter loop"
            )

    def measure(self, result: Any, node: ast.AST) -> None:
        """Spend a step for each element that a reader of `result` would meet: a list may hold itself many times."""
        parts = [result]
        while parts:
            part = parts.pop()
            if isinstance(part, list | tuple):
                self.spend(len(part), node)
                parts.extend(inner for inner in part if isinstance(inner, list | tuple))

    def check_length(self, length: int, node: ast.AST) -> None:
        """Refuse a list that is too long."""
        if length > MAX_LENGTH:
            self.fail(node, f"a list of more than {MAX_LENGTH} elements", "a smaller problem")

    def attempt(self, node: ast.AST, action: Callable[..., Any], *arguments: Any) -> Any:
        """Do what may fail on the values given, and say where it did."""
        try:
            return action(*arguments)
        except SwizzleError as error:
            place = self.source.place(node)
            raise SwizzleError(error.found, place=place, expected=error.expected, fix=error.fix) from None
        except RecursionError:
            raise
        except IndexError as error:
            self.fail(node, str(error), "an index inside the shape", "check it against the shapes in @sketch(...)")
        except Exception as error:
            self.fail(node, f"{type(error).__name__}: {error}", PART, "compute with numbers and array elements")

    def fail(self, node: ast.AST, found: str, expected: str = "", fix: str = "") -> NoReturn:
        """Raise the user's mistake at `node`."""
        self.source.mistake(node, found, expected, fix)


def _as_load(target: ast.expr) -> ast.expr:
    """Return an assignment's target as an expression that reads it."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    assert isinstance(target, ast.Subscript)
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
