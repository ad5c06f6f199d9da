"""Structures: what an expression can be rewritten to by so many steps, each expression once.

Most rewritings differ in a size, in who computes a map, or in a memory. Those are decisions; what is left when they are
taken away is the structure, of which there are few. An expression is known up to the names that it binds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from symbolic.errors import SwizzleError
from symbolic.expressions.expression import ONE
from symbolic.patterns import terms as t
from symbolic.patterns.terms import PatternNode, Term, canonical, children, operand, sizes_of, term, with_children
from symbolic.patterns.types import Typing, ValueType, same_type
from symbolic.rewriting.derivation import PatternDerivation, arguments_of, positions, replaced_at
from symbolic.rewriting.laws import AskLaw, prove_law
from symbolic.rewriting.nesting import faults
from symbolic.rewriting.rule import RULES, NotApplicable, Surroundings


class RewriteMove(Struct, frozen=True):
    """A rule with arguments that a search may apply."""

    rule: str
    arguments: Mapping[str, Any] = {}


class Reached(Struct, frozen=True, eq=False):
    """An expression that a search has reached, by which rewriting of which other one."""

    term: Term
    depth: int
    move: RewriteMove | None = None
    path: tuple[int, ...] = ()
    before: Reached | None = None


class Explored(Struct):
    """What a search has found: all expressions, each once; how many of each depth; how many rewritings were tried."""

    reached: list[Reached] = field(default_factory=list)
    by_depth: list[int] = field(default_factory=list)
    rewritings: int = 0
    complete: bool = True
    """Whether everything of that depth was found: the limit on expressions was not reached."""

    @property
    def structures(self) -> list[Reached]:
        """The first expression of each structure."""
        found: dict[PatternNode, Reached] = {}
        for each in self.reached:
            found.setdefault(canonical(structure(each.term)), each)
        return list(found.values())


def explore(
    start: Term, inputs: Mapping[str, ValueType], moves: Iterable[RewriteMove], depth: int, limit: int = 20_000,
    ask: AskLaw = prove_law,
) -> Explored:  # fmt: skip
    """Rewrite an expression in all ways, breadth first, up to a depth or to a number of expressions."""
    kind = Typing().type_of(start, inputs)
    known = [(move, arguments_of(RULES[move.rule], move.arguments)) for move in moves]
    seen = {canonical(start)}
    front = [Reached(start, 0)]
    found = Explored([*front], [1])
    for level in range(1, depth + 1):
        following = []
        for each in front:
            for move, path, made in _rewritten(each.term, inputs, known, ask):
                found.rewritings += 1
                key = canonical(made)
                if key in seen or not _is_right(made, inputs, kind):
                    continue
                if len(seen) == limit:
                    found.complete = False
                    break
                seen.add(key)
                following.append(Reached(made, level, move, path, each))
            if not found.complete:
                break
        front = following
        found.reached += front
        found.by_depth.append(len(front))
        if not front or not found.complete:
            break
    return found


def derivation_of(reached: Reached, inputs: Mapping[str, ValueType], ask: AskLaw = prove_law) -> PatternDerivation:
    """Return the derivation of an expression that a search has reached, with the positions that its steps name."""
    steps: list[Reached] = []
    while reached.before is not None:
        steps.append(reached)
        reached = reached.before
    made = PatternDerivation(reached.term, inputs, ask)
    for step in reversed(steps):
        assert step.move is not None
        made.apply_at(step.path, step.move.rule, **step.move.arguments)
    return made


def structure(node: PatternNode) -> PatternNode:
    """Return a term without decisions: kinds, memories, vectors, orders and sizes; not to be evaluated."""
    inner = operand(node)
    if isinstance(node, t.ToMemory | t.AsVector | t.AsScalar | t.Reorder | t.ReorderStride) and inner is not None:
        return structure(inner)
    made = with_children(node, [structure(each) for each in children(node)])
    match made:
        case t.Map():
            return replace(made, kind="map", axis="x", label="")
        case t.Reduce():
            return replace(made, kind="reduce", label="")
        case t.Lambda():
            return replace(made, width=0, name="")
    return replace(made, **dict.fromkeys(sizes_of(made), ONE))


def _rewritten(
    whole: Term, inputs: Mapping[str, ValueType], moves: list[tuple[RewriteMove, dict[str, Any]]], ask: AskLaw
) -> Iterator[tuple[RewriteMove, tuple[int, ...], Term]]:
    typing = Typing()
    for position in positions(whole, inputs):
        for move, arguments in moves:
            here = Surroundings(position.names, position.nest, typing, ask)
            try:
                made = RULES[move.rule].apply(position.term, here, **arguments)
            except NotApplicable:
                continue
            yield move, position.path, term(replaced_at(whole, position.path, made))


def _is_right(made: Term, inputs: Mapping[str, ValueType], kind: ValueType) -> bool:
    try:
        return same_type(Typing().type_of(made, inputs), kind) and not any(faults(made))
    except SwizzleError:
        return False
