"""`gather(x, c)` in a kernel: an element of a read-only array whose index is data within the array by a declared range.

Data steers nothing, so no check of the machine can say that such an index is inside. It is what the program's text
says of ranges: `c=i32.below(64)[130]` is assumed, and what is computed from it has a range (`symbolic/ir/facts.py`),
which holds wherever a variable or an array is assigned.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from swizzle.language.frontend import operators
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.resolve import element
from swizzle.language.frontend.scope import ArrayName
from symbolic.errors import SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.facts import NOTHING, Facts, Range, launch_facts, numbers_of, range_of, trip_range
from symbolic.ir.functions import Gather, gather
from symbolic.ir.program import Apply, Cast, DType, Expr, HoleCall, Load, Program, Stmt
from symbolic.ir.python_text import python_text
from symbolic.ir.walk import own_expressions, statements, subexpressions

ROUNDS: Final = 8
"""Passes over a kernel in which ranges may grow; what grows in a later one may be anything."""


def read_gather(reader: ExpressionReader, nodes: Sequence[ast.expr], node: ast.Call) -> Expr:
    """Read `gather(x, i, ...)`; without data among the indices it is `x[i, ...]`."""
    array, *given = nodes
    meaning = reader.scope.meanings.get(array.id) if isinstance(array, ast.Name) else None
    if not isinstance(array, ast.Name) or not isinstance(meaning, ArrayName):
        reader.mistake(array, f"gather from {ast.unparse(array)}", "an array parameter of the kernel", "gather(x, c)")
    if meaning.role not in ("in", "const"):
        what = f"the {meaning.role} parameter" if meaning.role else f"the {meaning.memory} array"
        reader.mistake(
            node,
            f"gather from {what} {array.id}",
            "a read-only parameter: an in or const array",
            "read it with an index that is no data",
        )
    if len(given) != len(meaning.shape):
        reader.mistake(
            node,
            f"{len(given)} {'index' if len(given) == 1 else 'indices'} for {array.id}, which has {len(meaning.shape)} "
            f"{'dimension' if len(meaning.shape) == 1 else 'dimensions'}",
            f"gather({element(array.id, meaning.shape).replace('[', ', ').replace(']', '')})",
            "write one index for each dimension",
        )
    place, name = reader.kernel.source.place(node), reader.scope.named(array.id)
    values = [_wide(operators.settled(reader.value(each))) for each in given]
    kinds = list(dict.fromkeys(value.dtype for value in values if value.dtype.is_data))
    for value, extent in zip(values, meaning.shape, strict=True):
        if value.dtype.is_float or value.dtype is DType.BOOL:
            what = "a condition" if value.dtype is DType.BOOL else f"{value.dtype.value} data"
            fix = f"declare the indices as i32.below({extent})[...] in @sketch(...)"
            operators.fail(value.place, f"{what} as an index of gather", "integer data, or an index", fix)
    if len(kinds) > 1:
        mixed = f"{kinds[0].value} data and {kinds[1].value} data"
        operators.fail(
            place, f"gather mixes {mixed}", "indices of one dtype", f"convert one of them: {kinds[0].value}(...)"
        )
    if not kinds:
        return Load(name, tuple(values), meaning.dtype, place)
    operands = tuple(value if value.dtype.is_data else Cast(value, kinds[0], value.place) for value in values)
    return Apply(gather(name, meaning.shape).name, operands, meaning.dtype, place)


def _wide(value: Expr) -> Expr:
    """Return integers of 8 and 16 bits as 32, as places in an array may be more than they hold."""
    return Cast(value, DType.I32, value.place) if value.dtype.is_narrow else value


def check_gathers(program: Program) -> None:
    """Refuse a gather whose index may be outside of its array by what the text says of ranges."""
    gathers = [
        (part, part.function.row, stmt)
        for stmt in statements(program.body)
        for expr in (*own_expressions(stmt), *_final(stmt))
        for part in subexpressions(expr)
        if isinstance(part, Apply) and isinstance(part.function.row, Gather)
    ]
    if not gathers:
        return
    facts = _settled(program)
    for node, row, stmt in gathers:
        given = {stmt.final.parameter} if isinstance(stmt, ir.DeclareAccumulator) and stmt.final else set()
        known = {name: found for name, found in facts.items() if name not in given}
        for extent, operand in zip(row.shape, node.operands, strict=True):
            if not (isinstance(operand, Cast) and not operand.operand.dtype.is_data):
                _check(program, range_of(operand, known), row.array, extent, operand)


def _check(program: Program, found: Range, array: str, extent: int, operand: Expr) -> None:
    if found.within(0, extent - 1):
        return
    dtype = operand.dtype
    loaded = next((p.array for p in subexpressions(operand) if isinstance(p, Load)), "")
    known = next((p for p in program.parameters if p.name == loaded), None)
    said = f"may be any {dtype.value}" if found == numbers_of(dtype) else f"may be from {found.lo:g} to {found.hi:g}"
    holes = any(isinstance(part, HoleCall) for part in subexpressions(operand))  # which have no names yet
    spelled = "..." if holes else python_text(operand)
    clamp = f"min(max({spelled}, 0), {extent - 1})"
    declare = (
        f"declare {loaded}={known.dtype.value}.below({extent})[...] in @sketch(...), or "
        if known and not known.below
        else ""
    )
    raise SwizzleError(
        f"the index{'' if holes else f' {spelled}'} of gather {said}",
        place=operand.place,
        expected=f"data from 0 to {extent - 1}, within {array}",
        fix=f"{declare}clamp it: {clamp}",
    )


def _final(stmt: Stmt) -> tuple[Expr, ...]:
    return (stmt.final.body,) if isinstance(stmt, ir.DeclareAccumulator) and stmt.final else ()


def _settled(program: Program) -> Facts:
    """Return the ranges of variables and arrays, whatever runs when: they grow until nothing changes, and what does not
    stop growing may be anything."""
    facts = dict(launch_facts(program))
    parameters = {f"{p.name}[]" for p in program.parameters}
    facts |= {f"{p.name}[]": Range(0, p.below - 1) for p in program.parameters if p.below}
    facts |= {f"?{number}": Range(0, hole.size - 1) for number, hole in enumerate(program.holes)}
    given: list[tuple[str, DType, ir.Assign | ir.Store | ir.For]] = []
    for stmt in statements(program.body):
        match stmt:
            case ir.Assign(name=name, value=value):
                given.append((name, value.dtype, stmt))
            case ir.Store(array=array, value=value) if f"{array}[]" not in parameters:
                given.append((f"{array}[]", value.dtype, stmt))
            case ir.For(variable=name):
                given.append((name, DType.INDEX, stmt))
    facts |= {name: NOTHING for name, _, _ in given}
    rounds, before = 0, dict[str, Range]()
    while facts != before:
        rounds, before = rounds + 1, dict(facts)
        for name, dtype, stmt in given:
            found = trip_range(stmt, facts) if isinstance(stmt, ir.For) else range_of(stmt.value, facts)
            old, new = facts[name], facts[name].join(found or NOTHING)
            facts[name] = numbers_of(dtype) if new != old and rounds > ROUNDS else new
    return facts
