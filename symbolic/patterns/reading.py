"""Expressions of patterns read back from their text (`symbolic/patterns/text.py`)."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from fractions import Fraction
from io import StringIO
from keyword import iskeyword
from token import NAME as NAME_TOKEN
from tokenize import TokenError, TokenInfo, generate_tokens
from typing import Any, Final, NoReturn, get_args

from symbolic.elements import DType
from symbolic.errors import Place, SwizzleError, near
from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression, constant, number_name
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import length
from symbolic.patterns.terms import ELEMENTARY, PATTERNS, Boundary, Term, formula, free, fresh_name, told
from symbolic.patterns.types import NumberOf, TupleOf, ValueType, array_of

_INFIX: Final[Mapping[type, Callable[[Expression, Expression], Expression]]] = {
    ast.Add: e.add, ast.Sub: e.subtract, ast.Mult: e.multiply, ast.Div: e.divide, ast.FloorDiv: e.floor_divide,
    ast.Mod: e.modulo, ast.Lt: e.less, ast.LtE: e.less_equal, ast.Gt: lambda a, b: e.less(b, a),
    ast.GtE: lambda a, b: e.less_equal(b, a), ast.Eq: e.equal, ast.NotEq: lambda a, b: e.negation(e.equal(a, b)),
    ast.BitAnd: lambda a, b: e.bits("&", a, b), ast.BitOr: lambda a, b: e.bits("|", a, b),
    ast.BitXor: lambda a, b: e.bits("^", a, b), ast.LShift: lambda a, b: e.bits("<<", a, b),
    ast.RShift: lambda a, b: e.bits(">>", a, b), ast.And: e.both, ast.Or: e.either,
}  # fmt: skip
_CALLED: Final[Mapping[str, Callable[..., Expression]]] = {
    "max": e.maximum, "min": e.minimum, "exp": e.exponential, "log": e.logarithm,
}  # fmt: skip


def read_pattern(text: str, file: str = "<pattern>", opaque: Collection[str] = ()) -> Term:
    """Return the expression that a text is: definitions of functions, and the expression in the last line.

    `opaque` are names of functions of which nothing is known.

    >>> read_pattern("join o split(4) o xs")
    JoinChunks(array=Split(size=4, array=Variable(name='xs')))
    """
    reader = _Reader(file, opaque)
    *definitions, last = reader.parsed(text)
    for each in definitions:
        if not isinstance(each, ast.Assign) or not isinstance(each.targets[0], ast.Name):
            reader.refuse(each, "something before the expression", "name = lambda ...")
        name = each.targets[0].id
        made = reader.function(each.value, name)
        reader.functions[name] = made
    if not isinstance(last, ast.Expr):
        reader.refuse(last, "no expression in the last line", "an expression of patterns")
    return reader.term(last.value)


def read_type(text: str) -> ValueType:
    """Return the type that a text is.

    >>> str(read_type("(f32, i32)[n, 4]"))
    '(f32, i32)[n, 4]'
    """
    reader = _Reader("<type>")
    (statement,) = reader.parsed(text)
    assert isinstance(statement, ast.Expr)
    return reader.kind(statement.value)


def _with_compositions(text: str) -> str:
    """Return a text in which `o` between two operands is `@`; elsewhere it is a name.

    >>> _with_compositions("map(f) o o if o else lambda o: o + 1")
    'map(f) @ o if o else lambda o: o + 1'
    """
    lines = text.splitlines(keepends=True)
    tokens: list[TokenInfo] = []
    with suppress(TokenError, IndentationError):  # whoever parses the text says so
        tokens.extend(each for each in generate_tokens(StringIO(text).readline) if each.string.strip())
    for before, here, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        ends = before.string in (")", "]") or (before.type == NAME_TOKEN and not iskeyword(before.string))
        begins = after.string in ("(", "[") or (after.type == NAME_TOKEN and not iskeyword(after.string))
        if here.string == "o" and ends and begins:
            row, column = here.start
            lines[row - 1] = f"{lines[row - 1][:column]}@{lines[row - 1][column + 1 :]}"
    return "".join(lines)


def read_length(text: str) -> Expression:
    """Return the length that a text is.

    >>> read_length("n / 4 * 4")
    n
    """
    reader = _Reader("<length>")
    statement, *more = reader.parsed(text)
    if more or not isinstance(statement, ast.Expr):
        reader.refuse(statement, f"`{text}` where a length is expected", "n / 4")
    return reader.length(statement.value)


class _Reader:
    def __init__(self, file: str, opaque: Collection[str] = ()) -> None:
        self.file = file
        self.elementary = {*ELEMENTARY, *opaque}
        self.functions: dict[str, t.Lambda] = {}

    def parsed(self, text: str) -> list[ast.stmt]:
        try:
            found = ast.parse(_with_compositions(text))
        except SyntaxError as error:
            place = Place(self.file, error.lineno or 1, error.offset or 1)
            raise SwizzleError(
                f"{error.msg}", place=place, expected="an expression of patterns", fix="mend the text"
            ) from None
        if not found.body:
            raise SwizzleError("no expression", expected="an expression of patterns", fix="write one")
        return found.body

    def refuse(self, node: ast.AST, found: str, expected: str, fix: str = "") -> NoReturn:
        place = Place(
            self.file,
            getattr(node, "lineno", 1),
            getattr(node, "col_offset", 0) + 1,
            (getattr(node, "end_col_offset", 0) or 0) + 1,
        )
        raise SwizzleError(found, place=place, expected=expected, fix=fix or "mend the text")

    # -- types and lengths -------------------------------------------------------------------------------------------

    def kind(self, node: ast.expr) -> ValueType:
        match node:
            case ast.Name(id=name) if name in {each.value for each in DType}:
                return NumberOf(DType(name))
            case ast.Tuple(elts=items):
                return TupleOf(tuple(map(self.kind, items)))
            case ast.Subscript(value=inner, slice=ast.Tuple(elts=lengths)):
                return array_of(self.kind(inner), *map(self.length, lengths))
            case ast.Subscript(value=inner, slice=one):
                return array_of(self.kind(inner), self.length(one))
        self.refuse(node, f"`{ast.unparse(node)}` where a type is expected", "f32[n, 4]")

    def length(self, node: ast.expr) -> Expression:
        """Return a length: sums, products and quotients of names and whole numbers."""
        for each in ast.walk(node):
            whole = isinstance(each, ast.Constant) and type(each.value) is int
            if isinstance(each, ast.expr) and not whole and not isinstance(each, ast.Name | ast.BinOp | ast.UnaryOp):
                self.refuse(each, f"`{ast.unparse(each)}` where a length is expected", "n / 4")
            match each:
                case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=by) if self.length(by) is e.ZERO:
                    self.refuse(each, f"`{ast.unparse(each)}`, a division by 0", "n / 4")
        return length(self.expression(node, lambda name: t.Variable(name), lambda term: number_name(term.name)))

    def whole(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return value
        self.refuse(node, f"`{ast.unparse(node)}`", "a whole number")

    # -- terms -------------------------------------------------------------------------------------------------------

    def term(self, node: ast.expr) -> Term:
        match node:
            case ast.Name(id=name) if name != "inf":
                return t.Variable(name)
            case ast.Tuple(elts=items):
                return t.Tupled(tuple(map(self.term, items)))
            case ast.Subscript(value=inner, slice=place):
                return t.Item(self.term(inner), self.whole(place))
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self.pattern(left, self.term(right))
            case ast.Call(func=ast.Name(id="zip"), args=arrays):
                return t.Zip(tuple(map(self.term, arrays)))
            case ast.Call(func=ast.Name(id="at"), args=[array, index]):
                return t.Indexed(self.term(array), self.term(index))
            case ast.Call(func=ast.Name(id="let"), args=[value, ast.Lambda() as made]):
                called = self.function(made)
                return t.Let(called.parameters[0], self.term(value), called.body)
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in self.elementary and name not in _CALLED:
                return t.ElementaryCall(name, tuple(map(self.term, arguments)))
        kept: dict[Term, Expression] = {}

        def leaf(term: Term) -> Expression:
            return kept.setdefault(term, number_name(f"x{len(kept)}"))

        arithmetic = self.expression(node, t.Variable, leaf)
        return formula(arithmetic, tuple(kept))

    def expression(
        self, node: ast.expr, variable: Callable[[str], Any], leaf: Callable[[Any], Expression]
    ) -> Expression:
        """Return the expression of the house that arithmetic is, whatever is no arithmetic being a leaf."""

        def inner(each: ast.expr) -> Expression:
            return self.expression(each, variable, leaf)

        match node:
            case ast.Constant(value=bool(value) | int(value)):
                return constant(value)
            case ast.Constant(value=float(value)):
                decimal = Fraction(repr(value))  # as expressions are written: short ones are what they show
                return constant(decimal if decimal.denominator < 1000 else value)
            case ast.Name(id="inf"):
                return constant(math.inf)
            case ast.Name(id=name):
                return leaf(variable(name))
            case ast.UnaryOp(op=ast.USub(), operand=one):
                return e.negate(inner(one)) if ast.unparse(one) != "inf" else constant(-math.inf)
            case ast.UnaryOp(op=ast.Not(), operand=one):
                return e.negation(inner(one))
            case ast.BinOp(left=a, op=operator, right=b) if type(operator) in _INFIX:
                return _INFIX[type(operator)](inner(a), inner(b))
            case ast.Compare(left=a, ops=[operator], comparators=[b]) if type(operator) in _INFIX:
                return _INFIX[type(operator)](inner(a), inner(b))
            case ast.BoolOp(op=operator, values=values):
                return (e.both if isinstance(operator, ast.And) else e.either)(*map(inner, values))
            case ast.IfExp(test=test, body=yes, orelse=no):
                return e.select(inner(test), inner(yes), inner(no))
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in _CALLED:
                return _CALLED[name](*map(inner, arguments))
            case ast.Call() | ast.Subscript() | ast.Tuple() | ast.BinOp(op=ast.MatMult()):
                return self._opaque(node, leaf)
        self.refuse(node, f"`{ast.unparse(node)}`", "an expression of patterns")

    def _opaque(self, node: ast.expr, leaf: Callable[[Any], Expression]) -> Expression:
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id not in {"zip", "at", "let", *self.elementary}:
            names = {"zip", "at", "let", *self.elementary, *_CALLED, *PATTERNS}
            self.refuse(node, f"an unknown function `{called.id}`", "a pattern or a function", near(called.id, names))
        return leaf(self.term(node))

    # -- patterns ----------------------------------------------------------------------------------------------------

    def pattern(self, head: ast.expr, array: Term) -> Term:
        """Return a pattern, or a composition of such, applied to an array."""
        if isinstance(head, ast.BinOp) and isinstance(head.op, ast.MatMult):
            return self.pattern(head.left, self.pattern(head.right, array))
        called = head.func if isinstance(head, ast.Call) else head
        if isinstance(called, ast.Name) and called.id in PATTERNS:
            kind, said = PATTERNS[called.id]
            fields, given = told(called.id), head.args if isinstance(head, ast.Call) else []
            if len(fields) == len(given) and bool(fields) == isinstance(head, ast.Call):
                values = {own: self._told(kind, own, each) for own, each in zip(fields, given, strict=True)}
                for each in getattr(head, "keywords", ()):
                    if each.arg in ("axis", "label") and each.arg in kind.__struct_fields__:
                        values[each.arg] = getattr(each.value, "value", "")
                made: Term = kind(array=array, **said, **values)
                return made
        self.refuse(
            head, f"`{ast.unparse(called)}` where a pattern is expected", "map, reduce, split, ...",
            near(ast.unparse(called), PATTERNS),
        )  # fmt: skip

    def _told(self, kind: type[Any], name: str, node: ast.expr) -> Any:
        """Return what a pattern is told in a field."""
        what = kind.__annotations__[name]
        if what == "Boundary":
            if not isinstance(node, ast.Constant) or node.value not in get_args(Boundary):
                self.refuse(node, f"`{ast.unparse(node)}`", f"one of {', '.join(get_args(Boundary))}")
            return node.value
        read: Mapping[str, Callable[[ast.expr], Any]] = {
            "Lambda": self.function, "Term": self.term, "Length": self.length, "int": self.whole
        }  # fmt: skip
        return read[what](node)

    def function(self, node: ast.expr, name: str = "") -> t.Lambda:
        """Return a function: one that has been defined, parameters and a body, or a composition of patterns."""
        match node:
            case ast.Name(id=known) if known in self.functions:
                return self.functions[known]
            case ast.Lambda(args=arguments, body=body):
                return t.Lambda(tuple(each.arg for each in arguments.args), self.term(body), name)
            case ast.Call(func=ast.Name(id="vect"), args=[width, inner]):
                made = self.function(inner)
                return t.Lambda(made.parameters, made.body, made.name, self.whole(width))
        outside = free(self.pattern(node, t.Tupled(())))
        parameter = fresh_name("xs", outside)
        return t.Lambda((parameter,), self.pattern(node, t.Variable(parameter)), name)
