"""Expressions as text: Python reads the same tree back, and no pair of parentheses could be left out, but for readers.

Around shifts and other bit operators inside of `&`, `|` and `^` Python needs none, and few people know that.
"""

from __future__ import annotations

import ast
import itertools

from symbolic.ir.program import Expr
from symbolic.ir.python_text import python_text
from tests.cuda_out.build import op, select, un, var

BINARY = ["|", "^", "&", "<<", ">>", "+", "-", "*", "/", "//", "%"]
COMPARE, LOGIC, UNARY = ["==", "<", ">="], ["and", "or"], ["-", "~"]


def texts(operator: str, left: tuple[Expr, str], right: tuple[Expr, str]) -> tuple[Expr, str]:
    """Return a tree and its text with every pair of parentheses."""
    return op(operator, left[0], right[0]), f"({left[1]} {operator} {right[1]})"


def leaf(name: str) -> tuple[Expr, str]:
    return var(name), name


def shortest(full: str) -> int:
    """Return how long the text is without the parentheses that Python does not need."""
    return len(ast.unparse(ast.parse(full, mode="eval")))


def trees() -> list[tuple[Expr, str]]:
    a, b, c, d = map(leaf, "abcd")
    found = []
    for first, second in itertools.product([*BINARY, *COMPARE, *LOGIC], repeat=2):
        if second in BINARY or (first in LOGIC and second in COMPARE):
            inner = texts(second, b, c)
            found += [texts(first, a, inner), texts(first, inner, a)]
    for sign, operator in itertools.product(UNARY, BINARY):
        inner = texts(operator, a, b)
        found += [(un(sign, inner[0]), f"({sign}{inner[1]})"), texts(operator, (un(sign, a[0]), f"({sign}a)"), b)]
    for operator in BINARY:
        condition = texts("<", c, d)
        chosen = (select(condition[0], a[0], b[0]), f"(a if {condition[1]} else b)")
        found += [texts(operator, chosen, d), texts(operator, d, chosen)]
    return found


def test_python_reads_the_same_tree() -> None:
    """Of each two operators, the one inside the other on either side."""
    for tree, full in trees():
        text = python_text(tree)
        assert ast.dump(ast.parse(text, mode="eval")) == ast.dump(ast.parse(full, mode="eval")), full
        assert len(text) == shortest(full) or any(f" {bits} " in text for bits in "&|^"), full


def test_bit_operators_are_kept_apart_for_readers() -> None:
    """What is inside one of them stands in parentheses, unless it is arithmetic or the same operator again."""
    a, b, c = map(var, "abc")
    assert python_text(op("|", a, op("^", b, c))) == "a | (b ^ c)"
    assert python_text(op("&", op(">>", a, b), c)) == "(a >> b) & c"
    assert python_text(op("^", op("^", a, b), c)) == "a ^ b ^ c"
    assert python_text(op("&", op("+", a, b), c)) == "a + b & c"
