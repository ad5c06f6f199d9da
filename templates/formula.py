"""Chosen functions put into a program: as index expressions, as text; and what templates build expressions with.

Factors above half the modulus are written negative: `(lane - k) % 32`, not `(lane + 31 * k) % 32`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from symbolic.errors import Place
from symbolic.ir.index import lanes_of
from symbolic.ir.program import Binary, BinaryOp, Const, DType, Expr, Hole, HoleCall, Program, Unary, Var
from symbolic.ir.text import python_text
from symbolic.ir.walk import rewrite_program
from templates.chooser import Choice
from templates.template import Template

_NOWHERE = Place("", 0, 0)


def fill(program: Program, templates: Sequence[Template], choices: Sequence[Choice]) -> Program:
    """Return the program with every hole replaced by the expression of its chosen function."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, HoleCall):
            return expression(templates[node.hole], choices[node.hole], node.args, node.place)
        return node

    return replace(rewrite_program(program, rule), holes=())


def fill_some(program: Program, chosen: Mapping[int, tuple[Template, Choice]]) -> Program:
    """Return the program with the holes of these numbers replaced; the others keep their names and their order."""
    kept = [number for number in range(len(program.holes)) if number not in chosen]
    renumbered = {old: new for new, old in enumerate(kept)}

    def rule(node: Expr) -> Expr:
        if not isinstance(node, HoleCall):
            return node
        if node.hole in chosen:
            return expression(*chosen[node.hole], node.args, node.place)
        return replace(node, hole=renumbered[node.hole])

    return replace(rewrite_program(program, rule), holes=tuple(program.holes[number] for number in kept))


def formula(hole: Hole, template: Template, choice: Choice) -> str:
    """Return the chosen function as Python text over the sketch's own spelling of the arguments."""
    arguments = tuple(_spelt(text, hole.place) for text in hole.arguments)
    return python_text(expression(template, choice, arguments, hole.place))


def printed_values(template: Template, choice: Choice, arguments: Sequence[Any]) -> Any:
    """Return what the printed formula gives for lanes of arguments, worked out by itself and not by the template."""
    names = [Var(str(number), DType.INDEX, _NOWHERE) for number in range(len(arguments))]
    printed = expression(template, choice, names, _NOWHERE)
    return lanes_of(printed, {str(number): argument for number, argument in enumerate(arguments)})


def expression(template: Template, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
    """Return the chosen function applied to arguments, as an index expression; a number where all of them are."""
    found = template.expression(choice, arguments, place)
    if isinstance(found, Const) or not all(isinstance(argument, Const) for argument in arguments):
        return found
    value = np.asarray(lanes_of(found, {})).item()
    return Const(value, DType.BOOL if isinstance(value, bool) else DType.INDEX, place)


def _spelt(text: str, place: Place) -> Expr:
    """Return an argument as the sketch spells it: a number or a name, whatever it stands for."""
    return number(int(text), place) if re.fullmatch(r"-?\d+", text) else Var(text, DType.INDEX, place)


# ---- what expressions are built with ---------------------------------------------------------------------------


def number(value: int, place: Place) -> Const:
    return Const(value, DType.INDEX, place)


def binary(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    return Binary(op, left, right, DType.INDEX, left.place)


def signed(factor: int, modulus: int) -> int:
    return factor if factor <= modulus // 2 else factor - modulus


def times(factor: int, node: Expr) -> Expr | None:
    if factor == 0 or (isinstance(node, Const) and node.value == 0):
        return None
    if factor == 1:
        return node
    return binary("*", number(factor, node.place), node)


def total(terms: Sequence[Expr | None], place: Place, offset: int = 0) -> Expr:
    """Return the sum of terms and a constant: positive terms first, negative ones subtracted."""
    split: list[tuple[int, Expr]] = []
    for term in terms:
        if term is None or (isinstance(term, Const) and term.value == 0):
            continue
        if isinstance(term, Binary) and term.op == "*" and isinstance(term.left, Const) and term.left.value < 0:
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
            found = Unary("-", _positive(term), DType.INDEX, place) if _factor(term) == -1 else term
        else:
            found = binary("-", found, _positive(term))
    return found


def _factor(term: Expr) -> int:
    """Return the constant that a term is a multiple of."""
    return int(term.left.value) if isinstance(term, Binary) and isinstance(term.left, Const) else 1


def _positive(term: Expr) -> Expr:
    """Return the negation of a negative term."""
    if isinstance(term, Const):
        return number(-int(term.value), term.place)
    assert isinstance(term, Binary)
    factor = -_factor(term)
    return term.right if factor == 1 else replace(term, left=number(factor, term.place))


def remainder(node: Expr, modulus: int) -> Expr:
    if isinstance(node, Const):
        return number(int(node.value) % modulus, node.place)
    if modulus == 1:
        return number(0, node.place)
    return binary("%", node, number(modulus, node.place))
