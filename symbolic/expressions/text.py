"""Expressions as Python source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from symbolic.expressions.expression import ONE, Expression, terms

_CHOICE, _OR, _AND, _NOT, _COMPARE, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _SUM, _PRODUCT, _UNARY, _ATOM = range(13)
_INFIX: Final[Mapping[str, int]] = {
    "or": _OR, "and": _AND, "<": _COMPARE, "<=": _COMPARE, "==": _COMPARE, "|": _BIT_OR, "^": _BIT_XOR, "&": _BIT_AND,
    "<<": _SHIFT, ">>": _SHIFT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "*": _PRODUCT,
}  # fmt: skip


def text_of(expression: Expression, spelled: Callable[[str], str] = str) -> str:
    """Return an expression as Python source; `spelled` says what its names are called.

    >>> from symbolic.expressions.expression import maximum, number_name, subtract
    >>> a, b = number_name("a"), number_name("b")
    >>> text_of(maximum(subtract(a, b), b))
    'max(b, a - b)'
    """
    return _text(expression, spelled)[0]


def _text(node: Expression, spelled: Callable[[str], str]) -> tuple[str, int]:
    def inner(each: Expression, least: int) -> str:
        text, level = _text(each, spelled)
        return text if level >= least else f"({text})"

    match node.operator:
        case "constant":
            return _number(node.value)
        case "name":
            return spelled(node.value), _ATOM
        case "+":
            return _sum(node, inner), _SUM
        case "max" | "min" | "exp" | "log":
            return f"{node.operator}({', '.join(inner(each, _CHOICE) for each in node.arguments)})", _ATOM
        case "not":
            (argument,) = node.arguments
            if argument.operator == "==":
                a, b = argument.arguments[::-1] if argument.arguments[0].constant else argument.arguments
                return f"{inner(a, _COMPARE + 1)} != {inner(b, _COMPARE + 1)}", _COMPARE
            return f"not {inner(argument, _NOT)}", _NOT
        case "select":
            condition, yes, no = node.arguments
            return f"{inner(yes, _CHOICE + 1)} if {inner(condition, _CHOICE + 1)} else {inner(no, _CHOICE)}", _CHOICE
        case "*" if node.arguments[0].constant and node.arguments[0].value == -1:
            text = _joined("*", node.arguments[1:], inner)
            if _begins_with_quotient(node.arguments[1]):
                return f"-({text})", _UNARY
            return f"-{text}", _UNARY if len(node.arguments) == 2 else _PRODUCT
    level = _INFIX[node.operator]
    if node.operator in ("and", "or", "*"):
        return _joined(node.operator, node.arguments, inner), level
    a, b = node.arguments
    if node.operator in ("<", "<=") and a.constant and not b.constant:  # the name first: x > 0, not 0 < x
        a, b, symbol = b, a, {"<": ">", "<=": ">="}[node.operator]
        return f"{inner(a, level + 1)} {symbol} {inner(b, level + 1)}", level
    if node.operator == "==" and a.constant:
        a, b = b, a
    left = level + 1 if level == _COMPARE else level
    return f"{inner(a, left)} {node.operator} {inner(b, level + 1)}", level


def _joined(operator: str, arguments: Sequence[Expression], inner: Callable[[Expression, int], str]) -> str:
    return f" {operator} ".join(inner(each, _INFIX[operator] + (place > 0)) for place, each in enumerate(arguments))


def _sum(node: Expression, inner: Callable[[Expression, int], str]) -> str:
    found = ""
    summands = sorted(terms(node), key=lambda term: (term[0] < 0, term[1] is ONE))
    for coefficient, what in summands:
        sign, size = ("-", -coefficient) if coefficient < 0 else ("+", coefficient)
        if what is ONE:
            shown = _number(size)[0]
        else:
            alone = size == 1 and (found or sign == "+")
            apart = not alone and _begins_with_quotient(what)
            shown = inner(what, _ATOM if apart else _PRODUCT if size == 1 or what.operator == "*" else _UNARY)
            shown = shown if size == 1 else f"{_number(size)[0]} * {shown}"
        found += f" {sign} {shown}" if found else f"-{shown}" if sign == "-" else shown
    return found


def _begins_with_quotient(what: Expression) -> bool:
    """Tell whether a sign or a factor in front would be taken into a quotient that is rounded, or a remainder."""
    first = what.arguments[0] if what.operator == "*" else what
    return first.operator in ("//", "%")


def _number(value: Any) -> tuple[str, int]:
    if isinstance(value, bool):
        return str(value), _ATOM
    if isinstance(value, float):
        return ("inf", _ATOM) if value > 0 else ("-inf", _UNARY)
    if isinstance(value, Fraction):
        if value.denominator & (value.denominator - 1) == 0 or (value.denominator < 1000 and _decimal(value)):
            return str(float(value)), _ATOM if value >= 0 else _UNARY
        return f"{value.numerator} / {value.denominator}", _PRODUCT
    return str(value), _ATOM if value >= 0 else _UNARY


def _decimal(value: Fraction) -> bool:
    return Fraction(str(float(value))) == value
