"""Split a gather from registers into a fixed permutation, which costs nothing, and a rotation by the thread's amount.

A loop `b[j] = a[index]` may take the elements in an order that is the same for all threads but for where it begins, as
in `(3 * (j + lane) + (j + lane) % 12 // 4) % 12`. Thread x then has the order of the first thread, rotated by
`c * x + x // d + b`. The elements are first put into that thread's order, at indices that the compiler knows. What is
left is `b[j] = ordered[(j + c * x + x // d + b) % n]`, which `cuda_out.passes.barrel` turns into a barrel rotation.
Like there, only the values of the index matter.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from cuda_out.analysis.registers import local_arrays
from cuda_out.analysis.values import Column, evaluate, is_computable, leaves_in, points
from cuda_out.passes.index_rules import constant
from cuda_out.passes.rotation import Reference, find_rotation
from cuda_out.passes.simplify import simplify_expression
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, launch_facts, leaf, loop_facts
from symbolic.ir.program import BinaryOp, DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, FreshNames, all_names, map_bodies, rewrite_expression, subexpressions, substitute

LEAST = 3  # elements: two are exchanged by one choice each


def split_permutations(program: Program) -> Program:
    """Return the same program with gathers from registers in a fixed order split in two."""
    fresh, arrays, facts = FreshNames(all_names(program)), local_arrays(program), launch_facts(program)

    def body(some: Body) -> Body:
        return tuple(new for stmt in some for new in _split(program, map_bodies(stmt, body), arrays, facts, fresh))

    return replace(program, body=body(program.body))


def _split(
    program: Program, stmt: Stmt, arrays: dict[str, ir.DeclareArray], facts: Facts, fresh: FreshNames
) -> Iterator[Stmt]:
    match stmt:
        case ir.For(
            variable=j,
            start=ir.Const(value=0),
            stop=ir.Const(value=size),
            step=ir.Const(value=1),
            body=(ir.Store(indices=(ir.Var(name=to),), value=ir.Load(array=name, indices=(index,)) as load) as store,),
        ) if to == j and name in arrays and store.array != name and arrays[name].shape == (size,) and size >= LEAST:
            there = loop_facts(stmt, facts)
            found = _order(program, index, j, int(size), there)
        case _:
            found = None
    if found is None:
        yield stmt
        return
    first, amount = found
    place = stmt.place
    ordered = replace(arrays[name], name=fresh.take(f"{name}_ordered"))
    k = fresh.loop_variable("k")
    fixed = replace(load, indices=(substitute(first, j, ir.Var(k, DType.INDEX, place)),))
    put = ir.Store(ordered.name, (ir.Var(k, DType.INDEX, place),), fixed, place)
    turned = simplify_expression(_modulo(_both("+", ir.Var(j, DType.INDEX, place), amount), int(size)), there)
    yield ordered
    yield replace(stmt, variable=k, body=(put,))
    yield replace(stmt, body=(replace(store, value=replace(load, array=ordered.name, indices=(turned,))),))


def _order(program: Program, index: Expr, j: str, size: int, facts: Facts) -> tuple[Expr, Expr] | None:
    """Return the index of the first thread, and by how much each thread is ahead of it; None if it is not so."""
    leaves = leaves_in([index]) - {j}
    if len(leaves) != 1 or not is_computable(index, facts):
        return None
    (name,) = leaves
    threads = points(program, [name], facts)
    if "." not in name or threads is None:
        return None
    x = np.unique(threads[name])
    rows: Column = np.broadcast_to(evaluate(index, {name: x[:, None], j: np.arange(size)[None, :]}), (len(x), size))
    place_of = np.full(size, -1)
    if rows.min() < 0 or rows.max() >= size:
        return None
    place_of[rows[0]] = np.arange(size)
    ahead = place_of[rows[:, 0]]
    turned = rows[0][(np.arange(size)[None, :] + ahead[:, None]) % size]
    reference = Reference(index, index, ((j, tuple(range(size))),), facts, size)
    if (place_of < 0).any() or (turned != rows).any() or find_rotation(program, reference, facts) is not None:
        return None
    amount = _amount(x, ahead, size)
    if amount is None:
        return None
    thread = next(part for part in subexpressions(index) if leaf(part) == name)

    def at_first(part: Expr) -> Expr:
        return constant(int(x[0]), part.place) if leaf(part) == name else part

    factor, period, offset = amount
    found = _both("*", constant(factor, thread.place), thread)
    if period:
        found = _both("+", found, _both("//", thread, constant(period, thread.place)))
    found = _both("+", found, constant(offset, thread.place))
    return simplify_expression(rewrite_expression(index, at_first), facts), simplify_expression(found, facts)


def _amount(x: Column, ahead: Column, size: int) -> tuple[int, int, int] | None:
    """Return c, d and b with `(c * x + x // d + b) % size` for each thread; d 0 leaves x // d out."""
    for period in range(int(x.max(initial=0)) + 1):
        later = x // period if period else 0 * x
        for factor in range(size):
            offset = int(ahead[0] - factor * x[0] - later[0]) % size
            if ((factor * x + later + offset - ahead) % size == 0).all():
                return factor, period, offset
    return None


def _both(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    return ir.Binary(op, left, right, DType.INDEX, left.place)


def _modulo(expr: Expr, size: int) -> Expr:
    return _both("%", expr, constant(size, expr.place))
