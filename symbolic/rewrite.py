"""Rewriting programs: apply a function to every expression, bottom up, and rebuild only what changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from typing_extensions import assert_never

from symbolic.program import (
    Accumulate,
    AccumulatorValue,
    Assign,
    Barrier,
    Binary,
    Cast,
    Compare,
    Const,
    Coordinate,
    DeclareAccumulator,
    DeclareArray,
    Expr,
    For,
    HoleCall,
    If,
    Load,
    Logic,
    Program,
    Select,
    Shuffle,
    Stmt,
    Store,
    Unary,
    Var,
)

Rule = Callable[[Expr], Expr]


def rewrite_expression(node: Expr, rule: Rule) -> Expr:
    """Return the expression with `rule` applied to every node, children first."""

    def go(part: Expr) -> Expr:
        return rewrite_expression(part, rule)

    match node:
        case Const() | Var() | Coordinate():
            return rule(node)
        case Unary() | Cast():
            return rule(replace(node, operand=go(node.operand)))
        case Binary() | Compare() | Logic():
            return rule(replace(node, left=go(node.left), right=go(node.right)))
        case Select():
            return rule(replace(node, condition=go(node.condition), then=go(node.then), otherwise=go(node.otherwise)))
        case Load() | AccumulatorValue():
            return rule(replace(node, indices=tuple(map(go, node.indices))))
        case Shuffle():
            mask = None if node.mask is None else go(node.mask)
            return rule(replace(node, mask=mask, value=go(node.value), lane=go(node.lane)))
        case HoleCall():
            return rule(replace(node, args=tuple(map(go, node.args))))
        case _:
            assert_never(node)


def rewrite_statement(node: Stmt, rule: Rule) -> Stmt:
    """Return the statement with every expression in it rewritten."""

    def go(part: Expr) -> Expr:
        return rewrite_expression(part, rule)

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(rewrite_statement(s, rule) for s in body)

    match node:
        case Assign():
            return replace(node, value=go(node.value))
        case Store():
            return replace(node, indices=tuple(map(go, node.indices)), value=go(node.value))
        case DeclareAccumulator():
            if node.final is None:
                return node
            return replace(node, final=replace(node.final, body=go(node.final.body)))
        case Accumulate():
            condition = None if node.condition is None else go(node.condition)
            operands = tuple(map(go, node.operands))
            return replace(node, indices=tuple(map(go, node.indices)), operands=operands, condition=condition)
        case For():
            return replace(node, start=go(node.start), stop=go(node.stop), step=go(node.step), body=each(node.body))
        case If():
            return replace(node, condition=go(node.condition), then=each(node.then), otherwise=each(node.otherwise))
        case DeclareArray() | Barrier():
            return node
        case _:
            assert_never(node)


def rewrite_program(program: Program, rule: Rule) -> Program:
    """Return the program with every expression rewritten."""
    return replace(program, body=tuple(rewrite_statement(s, rule) for s in program.body))
