"""How a chosen function reads: as an index expression of the program, as text, as constants.

Factors above half the modulus are written negative: `(lane - k) % 32`, not `(lane + 31 * k) % 32`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from symbolic.errors import Place
from symbolic.ir.index import lanes_of
from symbolic.ir.program import (
    Binary,
    BinaryOp,
    Compare,
    Const,
    DType,
    Expr,
    Hole,
    HoleCall,
    Program,
    Select,
    Unary,
    Var,
)
from symbolic.ir.text import python_text
from symbolic.ir.walk import rewrite_program
from templates.chooser import Choice
from templates.holes import Cond, CondChoice, Part, Template, Xform, XformChoice
from templates.naive import Leaf, NaiveXform, Tree

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


def constants(template: Template, choice: Choice) -> Mapping[str, int]:
    """Return the template's constants by name."""
    if isinstance(template, Xform):
        return {name: int(v) for name, v in asdict(template.named(choice)).items()}
    if isinstance(template, NaiveXform):
        return {}
    if isinstance(template, Cond):
        return _condition_constants(template.named(choice), "")
    assert isinstance(template, Part)
    found: dict[str, int] = {}
    for j, (condition, part) in enumerate(zip(template.conditions, template.slices(), strict=True)):
        found |= _condition_constants(condition.named(choice[part]), f"_{j}")
    return found


def _condition_constants(named: CondChoice, suffix: str) -> dict[str, int]:
    relation = {"equal": int(named.relation == "=="), "negated": int(named.negated), "threshold": named.threshold}
    form = {"left": named.left, "sign": named.sign, "right": named.right}
    return {name + suffix: value for name, value in {**form, **relation}.items()}


def expression(template: Template, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
    """Return the chosen function applied to arguments, as an index expression; a number where all of them are."""
    found = _expression(template, choice, arguments, place)
    if isinstance(found, Const) or not all(isinstance(argument, Const) for argument in arguments):
        return found
    value = np.asarray(lanes_of(found, {})).item()
    return Const(value, DType.BOOL if isinstance(value, bool) else DType.INDEX, place)


def _spelt(text: str, place: Place) -> Expr:
    """Return an argument as the sketch spells it: a number or a name, whatever it stands for."""
    return _int(int(text), place) if re.fullmatch(r"-?\d+", text) else Var(text, DType.INDEX, place)


def _expression(template: Template, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
    if isinstance(template, Xform):
        return _xform(template, template.named(choice), arguments, place)
    if isinstance(template, NaiveXform):
        tree = template.tree(choice)
        found = _tree(tree, arguments, place)
        return found if template.stays_inside(tree) else _mod(found, template.n)
    if isinstance(template, Cond):
        return _cond(template.named(choice), arguments, place)
    assert isinstance(template, Part)
    value: Expr = _int(template.n - 1, place)
    for j, part in reversed(list(enumerate(template.slices()))):
        condition = _cond(template.conditions[j].named(choice[part]), arguments, place)
        if isinstance(condition, Const):
            value = _int(j, place) if condition.value else value
        elif not (isinstance(value, Const) and value.value == j):
            value = Select(condition, _int(j, place), value, DType.INDEX, place)
    return value


def _tree(tree: Tree, arguments: Sequence[Expr], place: Place) -> Expr:
    if isinstance(tree, Leaf):
        return arguments[tree.value] if tree.kind == "argument" else _int(tree.value, place)
    return _op(tree.op, _tree(tree.left, arguments, place), _tree(tree.right, arguments, place))


def _xform(template: Xform, named: XformChoice, arguments: Sequence[Expr], place: Place) -> Expr:
    n, i = template.n, arguments[0]
    k = arguments[1] if len(arguments) > 1 else _int(0, place)
    gs = named.gs
    whole = gs == n
    inner = i if whole else _op("%", i, _int(gs, place))
    m = gs // named.d_f if named.wrap else gs
    spread = [
        _times(_signed(named.c_f, gs), inner),
        _op("//", inner, _int(named.d_f, place)) if named.d_f != gs else None,
    ]
    amount = [_times(_signed(named.c_r % m, m), k), _op("//", k, _int(named.d_r, place)) if named.d_r else None]
    offset = named.c % m
    if named.wrap:
        inside = _sum(spread, place)
        if not (named.c_f == 1 and named.d_f == gs):
            inside = _mod(inside, gs)
        start = _op("*", _op("//", inside, _int(m, place)), _int(m, place))
        value = _sum([start, _mod(_sum([_op("%", inside, _int(m, place)), *amount], place, offset), m)], place)
    elif named.c_f == 1 and named.d_f == gs and not any(amount) and offset == 0:
        value = inner
    elif whole and not any(spread) and named.c_r == 1 and not named.d_r and offset == 0 and template.k_is_index:
        value = k
    else:
        value = _mod(_sum([*spread, *amount], place, offset), gs)
    if whole:
        return value
    return _sum([_op("*", _op("//", i, _int(gs, place)), _int(gs, place)), value], place)


def _cond(named: CondChoice, arguments: Sequence[Expr], place: Place) -> Expr:
    left, right, bound = arguments[named.left], arguments[named.right], named.threshold
    equal = named.relation == "=="
    if named.left == named.right:
        if named.sign < 0:
            return Const((bound == 0 if equal else bound >= 0) != named.negated, DType.BOOL, place)
        if equal and bound % 2:
            return Const(named.negated, DType.BOOL, place)
        return _compare(left, named, _int(0, place), bound // 2, place)
    if named.sign > 0:
        return _compare(_op("+", left, right), named, _int(0, place), bound, place)
    return _compare(left, named, right, bound, place)


def _compare(left: Expr, named: CondChoice, right: Expr, bound: int, place: Place) -> Expr:
    """Return `left relation right + bound`; `<= -1` reads as `< 0`."""
    if named.relation == "==":
        return Compare("!=" if named.negated else "==", left, _sum([right], place, bound), place)
    strict = bound == -1 and not (isinstance(right, Const) and right.value != 0)
    if strict:
        return Compare(">=" if named.negated else "<", left, right, place)
    return Compare(">" if named.negated else "<=", left, _sum([right], place, bound), place)


def _int(value: int, place: Place) -> Const:
    return Const(value, DType.INDEX, place)


def _op(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    return Binary(op, left, right, DType.INDEX, left.place)


def _signed(factor: int, modulus: int) -> int:
    return factor if factor <= modulus // 2 else factor - modulus


def _times(factor: int, node: Expr) -> Expr | None:
    if factor == 0 or (isinstance(node, Const) and node.value == 0):
        return None
    if factor == 1:
        return node
    return _op("*", _int(factor, node.place), node)


def _sum(terms: Sequence[Expr | None], place: Place, offset: int = 0) -> Expr:
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
        split.append((1 if offset > 0 else -1, _int(offset, place)))
    split.sort(key=lambda part: -part[0])
    total: Expr = _int(0, place)
    for number, (way, term) in enumerate(split):
        if way > 0:
            total = term if number == 0 else _op("+", total, term)
        elif number == 0:
            total = Unary("-", _positive(term), DType.INDEX, place) if _factor(term) == -1 else term
        else:
            total = _op("-", total, _positive(term))
    return total


def _factor(term: Expr) -> int:
    """Return the constant that a term is a multiple of."""
    return int(term.left.value) if isinstance(term, Binary) and isinstance(term.left, Const) else 1


def _positive(term: Expr) -> Expr:
    """Return the negation of a negative term."""
    if isinstance(term, Const):
        return _int(-int(term.value), term.place)
    assert isinstance(term, Binary)
    factor = -_factor(term)
    return term.right if factor == 1 else replace(term, left=_int(factor, term.place))


def _mod(node: Expr, modulus: int) -> Expr:
    if isinstance(node, Const):
        return _int(int(node.value) % modulus, node.place)
    if modulus == 1:
        return _int(0, node.place)
    return _op("%", node, _int(modulus, node.place))
