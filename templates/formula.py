"""Chosen functions put into a program, as index expressions and as text; how they read in words ('rotate by k'); and
what templates build expressions with.

Factors above half the modulus are written negative: `(lane - k) % 32`, not `(lane + 31 * k) % 32`.

The words of a `?sw_xform` say from where places are filled: 'fan by 3, then rotate by k' fills place i with element
`(3 * i + k) mod n`. They mean exactly this, on n elements:

| words | place i takes element |
|---|---|
| as it is | i |
| rotate by R | (i + R) mod n |
| reverse | n - 1 - i |
| fan by c | c * i mod n |
| fan by c, one further after every d | (c * i + i // d) mod n |
| transpose a p x q matrix | i % p * q + i // p |
| broadcast element R | R mod n |
| exclusive or with K | i ^ K |
| reverse the bits | the number whose bits are those of i, the highest first |
| Gray code, inverse Gray code | i ^ (i >> 1), and back |
| bits A, B, ... | the number whose bits are these, the lowest first; i2 is bit 2 of i |
| X, then Y | Y(X(i)): X gives a number, and Y is applied to that |
| X in groups of g | X on each run of g neighbours, n being g there |
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from msgspec.structs import replace

from symbolic.algebra.expansion import in_words
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.index import lanes_of
from symbolic.ir.program import BinaryOp, DType, Expr, Hole, Program
from symbolic.ir.python_text import BINARY_OPS, COMPARE_OPS, python_text
from symbolic.ir.walk import rewrite_expression, rewrite_program, subexpressions
from templates.chooser import Choice
from templates.holes import SCAN_KINDS, kind_of
from templates.template import Template

_NOWHERE = Place("", 0, 0)


def plain(hole: Hole, template: Template, choice: Choice) -> Expr:
    """Return the formula of a chosen function, which is right for all arguments, not only at the points that are asked.

    The hole's arguments stand in it as the variables `0`, `1`, ..., those that are numbers as numbers.
    """
    return template.expression(choice, parameters(hole.arguments), _NOWHERE)


def parameters(arguments: Sequence[str]) -> list[Expr]:
    """Return what stands for a hole's arguments in its formula."""
    return [
        number(int(text), _NOWHERE) if _is_number(text) else ir.Var(str(place), DType.INDEX, _NOWHERE)
        for place, text in enumerate(arguments)
    ]


def fill(program: Program, formulas: Sequence[Expr]) -> Program:
    """Return the program with every hole replaced by its formula."""

    def rule(node: Expr) -> Expr:
        return applied(formulas[node.hole], node.args, node.place) if isinstance(node, ir.HoleCall) else node

    return in_words(replace(rewrite_program(program, rule), holes=()))


def fill_some(program: Program, formulas: Mapping[int, Expr]) -> Program:
    """Return the program with the holes of these numbers replaced; the others keep their names and their order."""
    kept = [number for number in range(len(program.holes)) if number not in formulas]
    renumbered = {old: new for new, old in enumerate(kept)}

    def rule(node: Expr) -> Expr:
        if not isinstance(node, ir.HoleCall):
            return node
        if node.hole in formulas:
            return applied(formulas[node.hole], node.args, node.place)
        return replace(node, hole=renumbered[node.hole])

    filled = replace(rewrite_program(program, rule), holes=tuple(program.holes[number] for number in kept))
    return filled if kept else in_words(filled)


def formula_text(hole: Hole, formula: Expr) -> str:
    """Return a formula as Python text over the sketch's own spelling of the arguments."""
    return python_text(applied(formula, [_spelt(text, hole.place) for text in hole.arguments], hole.place))


def nameless(hole: Hole) -> Hole:
    """Return a hole whose arguments are spelt `a0`, `a1`, ...: its formulas have one text in every sketch."""
    texts = [text if _is_number(text) else f"a{place}" for place, text in enumerate(hole.arguments)]
    return replace(hole, arguments=tuple(texts))


def formula_of_text(hole: Hole, text: str) -> Expr:
    """Return the formula that has a text; ValueError where it is none over the hole's arguments."""
    spelt = {ast.dump(_syntax(argument)): number for number, argument in reversed(list(enumerate(hole.arguments)))}
    if hole.kind in SCAN_KINDS:
        spelt[_ANY_DIVISOR] = 1
    return (_condition if kind_of(hole).gives is DType.BOOL else _index)(_syntax(text), spelt)


def values_of(formula: Expr, arguments: Sequence[Any]) -> Any:
    """Return what a formula gives for lanes of arguments, worked out by itself and not by a template."""
    return lanes_of(formula, {str(number): argument for number, argument in enumerate(arguments)})


def length_of(formula: Expr) -> int:
    """Return how long a formula is: its operators, arguments and numbers, each counted once.

    `k` has 1, `lane + k` 3, `(lane + k) % 32` 5 and `0 if lane >= k else 1` 6: a choice counts as one operator, and so
    does a table beside its entries.
    """
    return sum(1 + (len(part.entries) if isinstance(part, ir.Lookup) else 0) for part in subexpressions(formula))


def applied(formula: Expr, arguments: Sequence[Expr], place: Place) -> Expr:
    """Return a formula applied to arguments, as an index expression; a number where all of them are."""

    def rule(node: Expr) -> Expr:
        return arguments[int(node.name)] if isinstance(node, ir.Var) else replace(node, place=place)

    found = rewrite_expression(formula, rule)
    if isinstance(found, ir.Const) or not all(isinstance(argument, ir.Const) for argument in arguments):
        return found
    value = np.asarray(lanes_of(found, {})).item()
    return ir.Const(value, DType.BOOL if isinstance(value, bool) else DType.INDEX, place)


def _spelt(text: str, place: Place) -> Expr:
    """Return an argument as the sketch spells it: a number or a name, whatever it stands for."""
    return number(int(text), place) if _is_number(text) else ir.Var(text, DType.INDEX, place)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+", text) is not None


# ---- texts read back -------------------------------------------------------------------------------------------

_LARGEST: Final = 1 << 31


def _syntax(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"the formula {text!r} of the hole is no expression") from None


_Spelt: TypeAlias = Mapping[str, int]  # the number of each argument, by its syntax tree
_ANY_DIVISOR: Final = "any divisor"
"""Among spelt arguments: a distance may stand on the right of `//` and `%`, which the machine looks at."""


def _condition(node: ast.expr, spelt: _Spelt) -> Expr:
    match node:
        case ast.Constant(value=bool(value)):
            return ir.Const(value, DType.BOOL, _NOWHERE)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE_OPS:
            return ir.Compare(COMPARE_OPS[type(op)], _index(left, spelt), _index(right, spelt), _NOWHERE)
        case ast.BoolOp(op=joint, values=values):
            word: Literal["and", "or"] = "and" if isinstance(joint, ast.And) else "or"
            return reduce(lambda a, b: ir.Logic(word, a, b, _NOWHERE), [_condition(value, spelt) for value in values])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ir.Unary("not", _condition(operand, spelt), DType.BOOL, _NOWHERE)
    raise ValueError(f"the formula of the hole has {ast.unparse(node)!r}, which is no condition")


def _index(node: ast.expr, spelt: _Spelt) -> Expr:
    argument = spelt.get(ast.dump(node))
    if argument is not None and not isinstance(node, ast.Constant):
        return ir.Var(str(argument), DType.INDEX, _NOWHERE)
    match node:
        case ast.Constant(value=value) if type(value) is int and value < _LARGEST:
            return number(value, _NOWHERE)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if type(value) is int and value == _LARGEST:
            return number(-value, _NOWHERE)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found = _index(operand, spelt)
            return _positive(found) if isinstance(found, ir.Const) else ir.Unary("-", found, DType.INDEX, _NOWHERE)
        case ast.BinOp(left=left, op=way, right=right) if type(way) in BINARY_OPS and type(way) is not ast.Div:
            made = binary(BINARY_OPS[type(way)], _index(left, spelt), _index(right, spelt))
            safe = _ANY_DIVISOR in spelt or _divides(made.right, made.op)
            if made.op in ("//", "%", "<<", ">>") and not safe:
                raise ValueError(f"the formula of the hole has {ast.unparse(right)!r} on the right of {made.op}")
            return made
        case ast.IfExp(test=test, body=then, orelse=otherwise):
            parts = _condition(test, spelt), _index(then, spelt), _index(otherwise, spelt)
            return ir.Select(*parts, DType.INDEX, _NOWHERE)
        case ast.Subscript(value=ast.Tuple(elts=elements), slice=index) if elements:
            entries = tuple(each.value for each in elements if isinstance(each, ast.Constant))
            if len(entries) == len(elements) and all(type(each) is int and each < _LARGEST for each in entries):
                return ir.Lookup(entries, _index(index, spelt), _NOWHERE)  # type: ignore[arg-type]
    raise ValueError(f"the formula of the hole has {ast.unparse(node)!r}, which is neither an argument nor a number")


def _divides(node: Expr, op: BinaryOp) -> bool:
    """Say whether an operand may stand on the right of `//`, `%`, `<<` or `>>`: a number, or a place in a word."""
    match node:
        case ir.Const(value=value):
            limits = (1, _LARGEST) if op in ("//", "%") else (0, 31)
            return limits[0] <= value < limits[1]
        case ir.Binary(
            op="*", left=ir.Binary(op="%", right=ir.Const(value=modulus)), right=ir.Const(value=factor)
        ):  # of a table
            return op == ">>" and modulus > 0 and factor >= 0 and (modulus - 1) * factor < 32
    return False


# ---- what expressions are built with ---------------------------------------------------------------------------


def number(value: int, place: Place) -> ir.Const:
    return ir.Const(value, DType.INDEX, place)


def binary(op: BinaryOp, left: Expr, right: Expr) -> ir.Binary:
    return ir.Binary(op, left, right, DType.INDEX, left.place)


def signed(factor: int, modulus: int) -> int:
    return factor if factor <= modulus // 2 else factor - modulus


def times(factor: int, node: Expr) -> Expr | None:
    if factor == 0 or (isinstance(node, ir.Const) and node.value == 0):
        return None
    if factor == 1:
        return node
    return binary("*", number(factor, node.place), node)


def total(terms: Sequence[Expr | None], place: Place, offset: int = 0) -> Expr:
    """Return the sum of terms and a constant: positive terms first, negative ones subtracted, numbers in one."""
    split: list[tuple[int, Expr]] = []
    for term in terms:
        if term is None:
            continue
        if isinstance(term, ir.Const):
            offset += int(term.value)
        elif isinstance(term, ir.Binary) and term.op == "*" and isinstance(term.left, ir.Const) and term.left.value < 0:
            split.append((-1, term))
        else:
            split.append((1, term))
    if offset:
        split.append((1 if offset > 0 else -1, number(offset, place)))
    split.sort(key=lambda part: -part[0])
    found: Expr = number(0, place)
    for place_in_sum, (way, term) in enumerate(split):
        if way > 0:
            found = term if place_in_sum == 0 else binary("+", found, term)
        elif place_in_sum == 0:
            found = ir.Unary("-", _positive(term), DType.INDEX, place) if _factor(term) == -1 else term
        else:
            found = binary("-", found, _positive(term))
    return found


def _factor(term: Expr) -> int:
    """Return the constant that a term is a multiple of."""
    return int(term.left.value) if isinstance(term, ir.Binary) and isinstance(term.left, ir.Const) else 1


def _positive(term: Expr) -> Expr:
    """Return the negation of a negative term."""
    if isinstance(term, ir.Const):
        return number(-int(term.value), term.place)
    assert isinstance(term, ir.Binary)
    factor = -_factor(term)
    return term.right if factor == 1 else replace(term, left=number(factor, term.place))


def remainder(node: Expr, modulus: int) -> Expr:
    if isinstance(node, ir.Const):
        return number(int(node.value) % modulus, node.place)
    if modulus == 1:
        return number(0, node.place)
    return binary("%", node, number(modulus, node.place))


def grouped(parts: Sequence[str], gs: int, n: int) -> str:
    """Return steps one after the other, each in groups of `gs` of the n elements."""
    if not parts or gs == 1:
        return "as it is"
    if gs == n:
        return ", then ".join(parts)
    return f"in groups of {gs}: {', then '.join(parts)}" if len(parts) > 1 else f"{parts[0]} in groups of {gs}"


def nearest_to_zero(c: int, m: int) -> int:
    """Return the number nearest to 0 that is c modulo m."""
    return c % m if c % m <= m // 2 else c % m - m


def sum_of(terms: Sequence[tuple[int, str]], offset: int) -> str:
    """Return a sum of multiples as text, `0` when it is empty."""
    parts = [(factor, text if abs(factor) == 1 else f"{abs(factor)} * {text}") for factor, text in terms]
    parts += [(offset, str(abs(offset)))] if offset else []
    parts.sort(key=lambda part: part[0] < 0)
    if not parts:
        return "0"
    first, *rest = parts
    head = f"-{first[1]}" if first[0] < 0 else first[1]
    return head + "".join(f" {'-' if factor < 0 else '+'} {text}" for factor, text in rest)


def atom(text: str) -> str:
    """Return an argument's own spelling, in parentheses unless it is one name or number."""
    return text if text.replace(".", "").isidentifier() or text.isdigit() else f"({text})"
