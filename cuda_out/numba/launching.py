"""The launch function of a module for numba.cuda, interpreted: what it launches, and what it refuses. Nothing is run.

The words of the printed function are understood, on stand-ins for arrays that have a type and a shape and no elements,
so that lengths may be as large as they like. Anything else is `NotRead`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from math import lcm
from typing import Any, Final

from msgspec import Struct, field

from cuda_out.numba.reading import TYPES, NotRead, NumbaModule, plain_parameters, refuse


class GivenArray(Struct, frozen=True):
    """An array that is passed: its name, type and shape. `seen` says that numba was asked to see it as an array."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    seen: bool = False


class GivenNumber(Struct, frozen=True):
    """A number that is passed, of numba's type once it was converted."""

    name: str
    type: str = ""


class GivenStream(Struct, frozen=True):
    """A stream that is passed."""


class NumbaLaunch(Struct, frozen=True):
    """What was launched: grid and block, the stream, and the kernel's arguments in order."""

    grid: Any
    block: Any
    stream: Any
    arguments: tuple[Any, ...]


class NumbaCall(Struct, frozen=True):
    """A call of another launch function of the module: its arguments in order, and the stream."""

    function: str
    arguments: tuple[Any, ...]
    stream: Any

    def __str__(self) -> str:
        return f"{self.function}({', '.join(getattr(each, 'name', str(each)) for each in self.arguments)})"


class RaisedError(Exception):
    """The function raised an exception: it refuses what it was given."""


class _Returned(Exception):
    pass


_ARITHMETIC: Final[Mapping[type, Callable[[int, int], int]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.RShift: operator.rshift,
}  # fmt: skip
_COMPARE: Final[Mapping[type, Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
WIDEST: Final = 1 << 12
"""Numbers have no more bits than this."""


class Stepped(int):
    """A whole number that a quotient or a remainder of lengths went into: from one length to the next it goes up by the
    same each time, once in `period` lengths."""

    period = 1


def _period(number: int) -> int:
    return number.period if isinstance(number, Stepped) else 1


class Launcher(Struct):
    """One call of a launch function, which may call other `functions` of the module.

    `compared` has, for each comparison of whole numbers by its place, the difference of its sides when last made.
    `period` is one of all its numbers (`Stepped`), and `made` is how many arrays it has made.
    """

    module: NumbaModule
    functions: frozenset[str] = frozenset()
    calls: list[NumbaCall] = field(default_factory=list)
    made: int = 0
    scope: dict[str, Any] = field(default_factory=dict)
    launches: list[NumbaLaunch] = field(default_factory=list)
    compared: dict[tuple[int, int], int] = field(default_factory=dict)
    period: int = 1

    def call(self, given: Sequence[GivenArray | GivenNumber], stream: GivenStream | None) -> list[NumbaLaunch]:
        """Return what is launched; raises RaisedError where it raises, NotRead for what is not understood."""
        function = self.module.launcher
        names = plain_parameters(function, defaults=1)
        if names[-1:] != ["stream"] or len(names) != len(given) + 1 or ast.unparse(function.args.defaults[0]) != "0":
            raise NotRead(function, f"{function.name} takes ({ast.unparse(function.args)})")
        for name in names:
            self._free(function, name)
        self.scope = {**dict(zip(names, given, strict=False)), "stream": 0 if stream is None else stream}
        body = function.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        try:
            self._body(body)
        except _Returned:
            pass
        except (TypeError, IndexError, ZeroDivisionError, ValueError) as error:
            raise RaisedError(str(error)) from None
        return self.launches

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for stmt in body:
            self._statement(stmt)

    def _statement(self, stmt: ast.stmt) -> None:
        match stmt:
            case ast.Pass():
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(stmt, name, self._value(value))
            case ast.If(test=test, body=then, orelse=otherwise):
                self._body(then if self._truth(test) else otherwise)
            case ast.For(target=ast.Tuple(elts=targets), iter=ast.Name() as over, body=body, orelse=[]):
                rows = self._value(over)
                if not isinstance(rows, tuple) or not all(isinstance(t, ast.Name) for t in targets):
                    refuse(stmt)
                for row in rows:
                    if not isinstance(row, tuple) or len(row) != len(targets):
                        raise RaisedError("a tuple of another length")
                    for target, value in zip(targets, row, strict=True):
                        self._assign(stmt, ast.unparse(target), value)
                    self._body(body)
            case ast.Raise(exc=ast.Call(func=ast.Name(id="ValueError"), args=[message], keywords=[]), cause=None):
                raise RaisedError(str(self._value(message)))
            case ast.Return(value=None):
                raise _Returned
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[*args, stream], keywords=[])) if (
                name in self.functions
            ):
                self.calls.append(NumbaCall(name, tuple(map(self._value, args)), self._value(stream)))
            case ast.Expr(
                value=ast.Call(func=ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple() as how)) as call
            ):
                configuration = self._value(how)
                if name in self.scope or name != self.module.kernel.name or len(configuration) != 3 or call.keywords:
                    refuse(stmt)
                given = tuple(self._value(each) for each in call.args)
                grid, block, stream = configuration
                self.launches.append(NumbaLaunch(grid, block, stream, given))
            case _:
                refuse(stmt)

    def _assign(self, stmt: ast.stmt, name: str, value: Any) -> None:
        self._free(stmt, name)
        self.scope[name] = value

    def _free(self, stmt: ast.AST, name: str) -> None:
        """Refuse a name that is given another meaning."""
        if name in TYPES or name in ("cuda", "min", "max", "ValueError", self.module.kernel.name, *self.functions):
            refuse(stmt, f"`{name}` is assigned, a name that means something else here")

    def _truth(self, node: ast.expr) -> bool:
        found = self._value(node)
        if not isinstance(found, bool | int):
            refuse(node)
        return bool(found)

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | str() as value):
                return value
            case ast.Name(id=name) if name in self.scope:
                return self.scope[name]
            case ast.Tuple(elts=parts):
                return tuple(self._value(each) for each in parts)
            case ast.Attribute(value=owner, attr="dtype" | "shape" as attribute):
                array = self._value(owner)
                if not isinstance(array, GivenArray) or not array.seen:
                    refuse(node)
                return getattr(array, attribute)
            case ast.Subscript(value=of, slice=at):
                row, place = self._value(of), self._value(at)
                if not isinstance(row, tuple) or not isinstance(place, int) or isinstance(place, bool):
                    refuse(node)
                return row[place]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._truth(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self._whole(operand)
                return self._stepped(ast.Sub(), 0, number, -number)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                a, b = self._whole(left), self._whole(right)
                found = _ARITHMETIC[type(op)](a, b)
                if found.bit_length() > WIDEST:
                    refuse(node)
                return self._stepped(op, a, b, found)
            case ast.BoolOp(op=op, values=values):
                stop = isinstance(op, ast.Or)
                return any(map(self._truth, values)) if stop else all(map(self._truth, values))
            case ast.Compare(left=left, ops=ops, comparators=rest):
                return self._compare(node, left, ops, rest)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self._value(then if self._truth(test) else otherwise)
            case ast.JoinedStr(values=values):
                return "".join(str(self._value(each)) for each in values)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return str(self._value(value))
            case ast.Call(args=[arg], keywords=[]) if ast.unparse(node.func) == "cuda.as_cuda_array":
                array = self._value(arg)
                if not isinstance(array, GivenArray):
                    raise RaisedError("no array")
                return GivenArray(array.name, array.dtype, array.shape, seen=True)
            case ast.Call(
                args=[shape, ast.Constant(value=str() as dtype)],
                keywords=[ast.keyword(arg="stream", value=ast.Name(id="stream"))],
            ) if self.functions and ast.unparse(node.func) == "cuda.device_array":
                extents = self._value(shape)
                if not isinstance(extents, tuple) or not all(type(each) in (int, Stepped) for each in extents):
                    refuse(node)
                if any(each < 0 for each in extents):
                    raise RaisedError("an array of less than no elements")
                self.made += 1
                return GivenArray(f"new {self.made - 1}", dtype, extents, seen=True)
            case ast.Call(func=ast.Name(id=name), args=[arg], keywords=[]) if name in TYPES:
                number = self._value(arg)
                if not isinstance(number, GivenNumber) or number.type not in ("", name):
                    refuse(node)
                return GivenNumber(number.name, name)
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=[_, _, *_] as args, keywords=[]):
                whole = [self._whole(each) for each in args]
                return min(whole) if name == "min" else max(whole)
            case _:
                refuse(node)

    def _whole(self, node: ast.expr) -> int:
        found = self._value(node)
        if not isinstance(found, int):
            refuse(node)
        return found if isinstance(found, Stepped) else int(found)

    def _stepped(self, op: ast.operator, a: int, b: int, found: int) -> int:
        """Return a number with its period."""
        match op:
            case ast.FloorDiv() | ast.Mod():
                by = abs(b)
            case ast.RShift():
                by = 1 << min(b, WIDEST)
            case ast.BitAnd() | ast.BitOr() | ast.BitXor():
                by = 1 << min(abs(a), abs(b)).bit_length()
            case _:
                by = 1
        period = lcm(_period(a), _period(b)) * by
        self.period = lcm(self.period, period)
        made = Stepped(found)
        made.period = period
        return made

    def _compare(self, node: ast.expr, left: ast.expr, ops: Sequence[ast.cmpop], rest: Sequence[ast.expr]) -> bool:
        a = self._value(left)
        for number, (op, right) in enumerate(zip(ops, rest, strict=True)):
            b = self._value(right)
            whole = isinstance(a, int) and isinstance(b, int)  # of types, < asks what can be converted
            if type(op) not in _COMPARE or not (whole or isinstance(op, ast.Eq | ast.NotEq)):
                refuse(node)
            if isinstance(a, int) and isinstance(b, int):
                self.compared[node.lineno, 100 * node.col_offset + number] = a - b
            if not _COMPARE[type(op)](a, b):
                return False
            a = b
        return True
