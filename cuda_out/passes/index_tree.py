"""From an index to a tree of decisions with static indices at its leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from cuda_out.analysis.unroll import is_static
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, facts_where, range_of
from symbolic.ir.program import DType, Expr
from symbolic.ir.walk import rebuild, subexpressions

LARGEST: Final = 64  # elements that one reference may choose among
CHAIN: Final = 4  # up to here the elements are compared with one by one, beyond by the index's bits


class Decision(Struct, frozen=True):
    """A decision between two trees of static indices."""

    condition: Expr
    then: Tree
    otherwise: Tree


Tree: TypeAlias = Decision | Expr
Definitions: TypeAlias = dict[str, Expr]  # let-bound selects, by the variable's name


def leaves(tree: Tree) -> int:
    return leaves(tree.then) + leaves(tree.otherwise) if isinstance(tree, Decision) else 1


def index_tree(
    index: Expr, extent: int | None, facts: Facts, known: Definitions, static: frozenset[str], largest: int = LARGEST
) -> Tree:
    """Return the decisions that lead to static indices, or the index itself if there would be too many.

    `extent` is the size of the dimension. It is None for a part of an index, whose values are not told apart.
    """
    if is_static(index, static):
        return index
    match index:
        case ir.Select(condition, then, otherwise):
            return Decision(
                condition,
                index_tree(then, extent, facts_where(condition, True, facts), known, static, largest),
                index_tree(otherwise, extent, facts_where(condition, False, facts), known, static, largest),
            )
        case ir.Var(name=name) if name in known:
            return index_tree(known[name], extent, facts, known, static, largest)
        case ir.Binary(op=op, left=left, right=right, place=place) if _selects(left, known) != _selects(right, known):
            # (c ? i : j) + r, with a static r: the operation moves to the leaves.
            left_tree, right_tree = (index_tree(side, None, facts, known, static, largest) for side in (left, right))
            if _is_settled(left_tree, static) and _is_settled(right_tree, static):
                return _leafwise(
                    lambda i: _leafwise(lambda j: ir.Binary(op, i, j, DType.INDEX, place), right_tree), left_tree
                )
        case _:
            pass
    if extent is None:
        return index
    # Out of bounds is an error of the program, so only indices in bounds are told apart.
    possible = range_of(index, facts).meet(0, extent - 1)
    if possible.hi - possible.lo >= largest:
        return index
    values = list(range(int(possible.lo), int(possible.hi) + 1))
    return _chain(index, values) if len(values) <= CHAIN else _by_bits(index, values)


def _selects(expr: Expr, known: Definitions) -> bool:
    return any(
        isinstance(part, ir.Select) or (isinstance(part, ir.Var) and part.name in known)
        for part in subexpressions(expr)
    )


def _is_settled(tree: Tree, static: frozenset[str]) -> bool:
    if isinstance(tree, Decision):
        return _is_settled(tree.then, static) and _is_settled(tree.otherwise, static)
    return is_static(tree, static)


def _leafwise(change: Callable[[Expr], Tree], tree: Tree) -> Tree:
    if isinstance(tree, Decision):
        return Decision(tree.condition, _leafwise(change, tree.then), _leafwise(change, tree.otherwise))
    return change(tree)


def _constant(value: int, place: Place) -> Expr:
    return ir.Const(value, DType.INDEX, place)


def _chain(index: Expr, values: Sequence[int]) -> Tree:
    """Compare the index with one value after the other; what remains is the last."""
    place = index.place
    first = _constant(values[0], place)
    if len(values) == 1:
        return first
    return Decision(ir.Compare("==", index, first, place), first, _chain(index, values[1:]))


def _by_bits(index: Expr, values: Sequence[int]) -> Tree:
    """Choose by the index's bits, highest first: as many conditions as bits, not as many as values."""
    place = index.place
    if len(values) == 1:
        return _constant(values[0], place)
    differing = 0
    for value in values:
        differing |= value ^ values[0]
    bit = 1 << differing.bit_length() - 1
    masked = ir.Binary("&", index, _constant(bit, place), DType.INDEX, place)
    return Decision(
        ir.Compare("!=", masked, _constant(0, place), place),
        _by_bits(index, [value for value in values if value & bit]),
        _by_bits(index, [value for value in values if not value & bit]),
    )


def compared(tree: Tree) -> list[Expr]:
    """Return the values that a tree's conditions compare with numbers."""
    if not isinstance(tree, Decision):
        return []
    return [*subexpressions(tree.condition), *compared(tree.then), *compared(tree.otherwise)]


def map_conditions(tree: Tree, old: Expr, new: Expr) -> Tree:
    if not isinstance(tree, Decision):
        return tree

    def swap(expr: Expr) -> Expr:
        return new if expr is old else rebuild(expr, swap)

    return Decision(swap(tree.condition), map_conditions(tree.then, old, new), map_conditions(tree.otherwise, old, new))
