"""Sites: where a node stands in its program, as a path that means the same in every equal program.

A statement's site says how to walk to it: its place in the body, then for each body it is nested in the body's number
(0 for a loop's body or a `then`, 1 for an `else`) and its place there. An expression's site is that of its statement
followed by -1 - its place among the statement's own expressions, and then its place among each parent's operands.
The meaning of a warp's instruction counts as a body of it.

    for k in range(4):              # (0,)
        if lane < k:                # (0, 0, 0); its condition (0, 0, 0, -1), the k in it (0, 0, 0, -1, 1)
            out[lane] = x[k]        # (0, 0, 0, 0, 0); the value (0, 0, 0, 0, 0, -2)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from symbolic.ir.program import DeclareAccumulator, Expr, Program, Stmt, WarpInstruction
from symbolic.ir.walk import Body, bodies, children, own_expressions
from symbolic.ir.warp_meaning import meaning

Site: TypeAlias = tuple[int, ...]
Key: TypeAlias = tuple[Site, tuple[int, ...], str]
"""One execution of a node under one rule: its site, the values of the loop variables around it, the rule's name."""
KEPT = 8  # programs whose sites are kept


class Sites:
    """The site of every node of one program. A node that stands in it twice has the site where it comes first."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[int, tuple[Stmt | Expr, Site]] = {}
        self._meanings: dict[int, Body] = {}
        for site, node in walk(program):
            self._known.setdefault(id(node), (node, site))
            if isinstance(node, WarpInstruction) and id(node) not in self._meanings:
                self._meanings[id(node)] = statements = meaning(node)
                for place, stmt in enumerate(statements):
                    for inner_site, inner in _walk_statement(stmt, (*site, 0, place)):
                        self._known.setdefault(id(inner), (inner, inner_site))

    @staticmethod
    def in_program(program: Program) -> Sites:
        """Return a program's sites; those of the last few programs are kept."""
        for sites in _recent:
            if sites.program is program:
                return sites
        found = Sites(program)
        _recent[:] = [found, *_recent[: KEPT - 1]]
        return found

    def of(self, node: Stmt | Expr) -> Site:
        """Return where a node stands."""
        return self._known[id(node)][1]

    @property
    def nodes(self) -> dict[Site, Stmt | Expr]:
        """Every node by its site, those of what instructions of warps mean among them."""
        return {site: node for node, site in self._known.values()}

    def meaning(self, node: WarpInstruction) -> Body:
        """Return what an instruction means, whose nodes have sites, too."""
        return self._meanings[id(node)]

    def stand_in(self, node: Expr, original: Expr) -> None:
        """Let a node that is not of the program count as one that is."""
        self._known[id(node)] = node, self.of(original)


_recent: list[Sites] = []


def walk(program: Program) -> Iterator[tuple[Site, Stmt | Expr]]:
    """Yield every statement and expression of a program with its site, each before what it holds."""
    for place, stmt in enumerate(program.body):
        yield from _walk_statement(stmt, (place,))


def _walk_statement(stmt: Stmt, here: Site) -> Iterator[tuple[Site, Stmt | Expr]]:
    yield here, stmt
    final = (stmt.final.body,) if isinstance(stmt, DeclareAccumulator) and stmt.final is not None else ()
    for number, expr in enumerate((*own_expressions(stmt), *final)):
        yield from _walk_expression(expr, (*here, -1 - number))
    for number, inner in enumerate(bodies(stmt)):
        for place, nested in enumerate(inner):
            yield from _walk_statement(nested, (*here, number, place))


def _walk_expression(expr: Expr, site: Site) -> Iterator[tuple[Site, Expr]]:
    yield site, expr
    for place, child in enumerate(children(expr)):
        yield from _walk_expression(child, (*site, place))
