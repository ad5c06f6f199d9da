"""Comparisons and sources as texts that read the same in Python and in C: bits and comparisons in parentheses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from symbolic.expressions.expression import ONE, Expression, terms

_ATOM, _PRODUCT, _SUM, _COMPARE, _AND, _OR = 5, 4, 3, 2, 1, 0
_TURNED: Final[Mapping[str, str]] = {"<": ">", "<=": ">=", "==": "==", "!=": "!="}


def shown(expression: Expression) -> str:
    """Return an expression over whole numbers as a text, with `i` on the left of a comparison where there is one.

    >>> from symbolic.expressions.expression import ZERO, bits, equal, less_equal, negation, number_name
    >>> i, d = number_name("i"), number_name("d")
    >>> shown(less_equal(d, i)), shown(negation(equal(bits("&", d, i), ZERO)))
    ('i >= d', '(i & d) != 0')
    """
    return _text(expression)[0]


def _inner(node: Expression, least: int) -> str:
    text, level = _text(node)
    return text if level >= least else f"({text})"


def _text(node: Expression) -> tuple[str, int]:
    match node.operator:
        case "constant":
            return str(node.value), _ATOM if node.truth or node.value >= 0 else _SUM
        case "name":
            return str(node.value), _ATOM
        case "+":
            return _sum(node), _SUM
        case "max" | "min":
            return f"{node.operator}({', '.join(shown(each) for each in node.arguments)})", _ATOM
        case "and" | "or":
            level = _AND if node.operator == "and" else _OR
            ordered = sorted(node.arguments, key=lambda each: (each.size, shown(each).lstrip("(")))
            return f" {node.operator} ".join(_inner(each, level + 1) for each in ordered), level
        case "not" if node.arguments[0].operator == "==":
            return _compared("!=", *node.arguments[0].arguments)
        case "not":
            return f"not ({shown(node.arguments[0])})", _AND
        case "<" | "<=" | "==":
            return _compared(node.operator, *node.arguments)
        case "select":
            condition, yes, no = (shown(each) for each in node.arguments)
            return f"{yes} if {condition} else {no}", -1
        case "*" if node.arguments[0].constant and node.arguments[0].value == -1:
            return f"-{_inner(node.arguments[1], _ATOM)}", _SUM
        case "*":
            ordered = sorted(node.arguments, key=lambda each: (not each.constant, _rank(each)))
            return " * ".join(_inner(each, _ATOM) for each in ordered), _PRODUCT
    a, b = node.arguments
    if node.operator in "&|^" and _rank(b) < _rank(a):
        a, b = b, a
    least = _PRODUCT if node.operator == "%" and a.operator not in "%*" else _ATOM
    text = f"{_inner(a, least)} {node.operator} {_inner(b, _ATOM)}"
    return text, _PRODUCT if node.operator in ("%", "//") else _OR - 1


def _rank(node: Expression) -> tuple[bool, bool, int, str]:
    """Return a key by which what is about `i` comes first, and numbers last; no two are alike."""
    return "i" not in node.names, node.constant, node.size, shown(node)


def _compared(operator: str, a: Expression, b: Expression) -> tuple[str, int]:
    if _rank(b) < _rank(a):
        a, b, operator = b, a, _TURNED[operator]
    return f"{_inner(a, _SUM)} {operator} {_inner(b, _SUM)}", _COMPARE


def _sum(node: Expression) -> str:
    found = ""
    for coefficient, what in sorted(terms(node), key=lambda term: (term[0] < 0, term[1] is ONE, _rank(term[1]))):
        size = abs(coefficient)
        least = _PRODUCT if size == 1 or what.operator == "*" else _ATOM
        shown_term = str(size) if what is ONE else _inner(what, least)
        if what is not ONE and size != 1:
            shown_term = f"{size} * {shown_term}"
        found += (
            (" - " if coefficient < 0 else " + ") + shown_term
            if found
            else ("-" if coefficient < 0 else "") + shown_term
        )
    return found
