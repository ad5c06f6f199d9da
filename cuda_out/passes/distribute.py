"""Distribute references to register arrays over their indices (paper, section 6.3, 'Distributing Array References').

CUDA puts an array that is indexed dynamically into local memory, which is slow, off-chip memory. So `a[c ? i : j]`
becomes `c ? a[i] : a[j]`. Any other dynamic index into a small array becomes a choice among the elements that it can
name, and a store becomes a choice of stores. The value that a lane passes to a shuffle is distributed in the lane
itself, before the shuffle, because the source lane's index counts.

The remaining indices are made of constants and of the variables of loops, which are then unrolled
(`cuda_out.analysis.registers`), so that the array is kept in registers.

From an index to a tree of decisions with static indices at its leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.analysis.registers import is_static, operand_arrays, static_names
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, after, facts_where, launch_facts, loop_facts, range_of
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    assigned_in,
    map_own,
    names_in,
    rebuild,
    statements,
    subexpressions,
)

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


def distribute(program: Program, largest: int = LARGEST) -> Program:
    """Return the same program with register arrays indexed statically, as far as `largest` allows."""
    return replace(program, body=_Distributor(program, largest).body(program.body, launch_facts(program), {}))


class _Distributor:
    """Holds the program's arrays; walks it with the facts and the definitions still valid at each statement."""

    def __init__(self, program: Program, largest: int) -> None:
        self._largest = largest
        self._arrays = operand_arrays(program)
        self._static = static_names(program)
        self._fresh = FreshNames(all_names(program))
        self._shapes: dict[str, tuple[int, ...]] = {p.name: p.shape for p in program.parameters if p.by_value}
        for stmt in statements(program.body):
            if isinstance(stmt, ir.DeclareArray | ir.DeclareAccumulator):
                self._shapes[stmt.name] = stmt.shape

    def body(self, body: Body, facts: Facts, known: Definitions) -> Body:
        """Return the body distributed; `known` gains the definitions that hold after it."""
        found: list[Stmt] = []
        for stmt in body:
            match stmt:
                case ir.For(variable=variable, body=inner):
                    _forget(known, assigned_in(inner) | {variable})
                    found.append(replace(stmt, body=self.body(inner, loop_facts(stmt, facts), dict(known))))
                case ir.If(condition=condition, then=then, otherwise=otherwise):
                    first = self.body(then, facts_where(condition, True, facts), dict(known))
                    second = self.body(otherwise, facts_where(condition, False, facts), dict(known))
                    found.append(replace(stmt, then=first, otherwise=second))
                    _forget(known, assigned_in((*then, *otherwise)))
                case _:
                    found += _Statement(self, stmt, facts, known).distributed()
            if isinstance(stmt, ir.Assign):
                _forget(known, frozenset({stmt.name}))
                value = stmt.value
                if isinstance(value, ir.Select) and _is_plain(value) and stmt.name not in names_in(value):
                    known[stmt.name] = value
            facts = after(stmt, facts)
        return tuple(found)


class _Statement:
    """The distribution of one statement: new names for what would be computed twice come before it."""

    def __init__(self, parent: _Distributor, stmt: Stmt, facts: Facts, known: Definitions) -> None:
        self._parent, self._stmt, self._facts, self._known = parent, stmt, facts, known
        self._before: list[Stmt] = []

    def distributed(self) -> Body:
        stmt = map_own(self._stmt, lambda expr: self._expression(expr, self._facts))
        match stmt:
            case ir.Store(array=array, indices=indices, value=value) if array in self._parent._arrays:
                trees = self._trees(array, indices, self._facts)
                if any(isinstance(tree, Decision) for tree in trees):
                    value = self._named(f"{array}_value", value)
                    return (*self._before, *_choose_statement(trees, lambda at: replace(stmt, indices=at, value=value)))
            case ir.Accumulate(accumulator=name, indices=indices) if name in self._parent._arrays:
                trees = self._trees(name, indices, self._facts)
                return (*self._before, *_choose_statement(trees, lambda at: replace(stmt, indices=at)))
            case _:
                pass
        return (*self._before, stmt)

    def _expression(self, expr: Expr, facts: Facts) -> Expr:
        if isinstance(expr, ir.Select):
            condition = self._expression(expr.condition, facts)
            then = self._expression(expr.then, facts_where(expr.condition, True, facts))
            otherwise = self._expression(expr.otherwise, facts_where(expr.condition, False, facts))
            return replace(expr, condition=condition, then=then, otherwise=otherwise)
        expr = rebuild(expr, lambda child: self._expression(child, facts))
        match expr:
            case ir.Load(array=name, indices=indices) | ir.AccumulatorValue(accumulator=name, indices=indices):
                if name in self._parent._arrays:
                    return _choose_expression(
                        self._trees(name, indices, facts), lambda at: replace(expr, indices=at), expr
                    )
            case _:
                pass
        return expr

    def _trees(self, array: str, indices: tuple[Expr, ...], facts: Facts) -> list[Tree]:
        """Return a tree for each index, or the indices as they are when they name too many elements together."""
        parent = self._parent
        found: list[Tree] = []
        for index, extent in zip(indices, parent._shapes[array], strict=True):
            tree = index_tree(index, extent, facts, self._known, parent._static, parent._largest)
            if isinstance(tree, Decision) and leaves(tree) > 2 and index in compared(tree):
                # The index is compared with several numbers: compute it once.
                named = self._named(f"{array}_index", index)
                tree = map_conditions(tree, index, named)
            found.append(tree)
        return found if math.prod(map(leaves, found)) <= parent._largest else list(indices)

    def _named(self, wish: str, value: Expr) -> Expr:
        """Return a variable that holds the value, computed before the statement; a plain value is left alone."""
        if isinstance(value, ir.Var | ir.Const | ir.Coordinate) or not _may_move(value, self._stmt):
            return value
        name = self._parent._fresh.take(wish)
        self._before.append(ir.Assign(name, value, value.place))
        return ir.Var(name, value.dtype, value.place)


def _may_move(value: Expr, stmt: Stmt) -> bool:
    """Say whether a value may be computed before its statement, by lanes that might not have computed it in it.

    A whole stored value is computed anyway; of an index only what cannot fail and needs no other lane may move.
    """
    if isinstance(stmt, ir.Store) and value is stmt.value:
        return True
    return value.dtype.is_data or _is_plain(value)


def _is_plain(expr: Expr) -> bool:
    """Say whether evaluating the expression has no rule to break: no load, no shuffle, no division by a variable."""
    for part in subexpressions(expr):
        match part:
            case ir.Load() | ir.Shuffle() | ir.AccumulatorValue() | ir.HoleCall():
                return False
            case ir.Binary(op="//" | "%", right=right) if not (isinstance(right, ir.Const) and right.value):
                return False
            case _:
                pass
    return True


def _forget(known: Definitions, changed: frozenset[str]) -> None:
    for name in [name for name, value in known.items() if name in changed or names_in(value) & changed]:
        del known[name]


def _choose_expression(trees: Sequence[Tree], at: Callable[[tuple[Expr, ...]], Expr], like: Expr) -> Expr:
    """Return the nested selects over all trees, with `at(indices)` at the leaves."""
    for number, tree in enumerate(trees):
        if isinstance(tree, Decision):
            sides = [[*trees[:number], side, *trees[number + 1 :]] for side in (tree.then, tree.otherwise)]
            then, otherwise = (_choose_expression(side, at, like) for side in sides)
            return ir.Select(tree.condition, then, otherwise, like.dtype, like.place)
    return at(tuple(trees))  # type: ignore[arg-type]


def _choose_statement(trees: Sequence[Tree], at: Callable[[tuple[Expr, ...]], Stmt]) -> Body:
    """Return the nested ifs over all trees, with `at(indices)` at the leaves."""
    for number, tree in enumerate(trees):
        if isinstance(tree, Decision):
            sides = [[*trees[:number], side, *trees[number + 1 :]] for side in (tree.then, tree.otherwise)]
            then, otherwise = (_choose_statement(side, at) for side in sides)
            return (ir.If(tree.condition, then, otherwise, tree.condition.place),)
    return (at(tuple(trees)),)  # type: ignore[arg-type]
