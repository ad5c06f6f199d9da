"""Other arguments of holes in a loop that goes on with what it has put together: a step that doubles, or that halves.

A reduction or a scan in log2(n) rounds moves by `1 << k` or by `n >> (k + 1)`. No template makes such a step out of `k`
alone, and whether some other function of `k` does may take minutes to decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from swizzle.answers.explain.variants import swap
from symbolic.ir.program import (
    Assign,
    Binary,
    Const,
    DeclareArray,
    DType,
    Expr,
    For,
    HoleCall,
    Load,
    Program,
    Store,
    Var,
)
from symbolic.ir.walk import assigned_in, own_expressions, rewrite_statement, statements, subexpressions
from templates.holes import kind_of

MOST_ROUNDS: Final = 10
"""A block has 1024 threads at most, so no step is longer than 1 << 9."""


def doubled_steps(program: Program) -> Iterator[tuple[str, Program]]:
    """Yield a change and its program: holes take a step that doubles, or one that halves, not a loop's variable."""
    for halves in (False, True):
        changed, words = program, list[str]()
        for number in range(len(_loops(program))):
            loop = _loops(changed)[number]
            if _rounds(loop) and _goes_on(changed, loop):
                changed, said = _with_steps(changed, loop, halves=halves)
                words += said
        if words:
            yield "; ".join(words), changed


def _with_steps(program: Program, loop: For, *, halves: bool) -> tuple[Program, list[str]]:
    """Return the program whose holes in a loop take a step instead of the loop's variable, and this in words."""
    first, op = (1 << (_rounds(loop) - 1), ">>") if halves else (1, "<<")
    step = f"{first} {op} {loop.variable}"
    holes, given = list(program.holes), dict[str, None]()

    def rule(node: Expr) -> Expr:
        if not isinstance(node, HoleCall):
            return node
        hole = holes[node.hole]
        arguments, names = list(node.args), list(hole.arguments)
        for position in range(1 if kind_of(hole).moves else 0, len(arguments)):
            argument = arguments[position]
            if isinstance(argument, Var) and argument.name == loop.variable:
                start = Const(first, DType.INDEX, node.place)
                arguments[position] = Binary(op, start, argument, DType.INDEX, node.place)  # type: ignore[arg-type]
                names[position] = step
                given[f"{hole.name} (line {hole.place.line})"] = None
        holes[node.hole] = replace(hole, arguments=tuple(names))
        return replace(node, args=tuple(arguments))

    changed = rewrite_statement(loop, rule)
    words = [f"{step} in place of {loop.variable} in {' and '.join(given)}"] if given else []
    return replace(program, body=swap(program.body, loop, (changed,)), holes=tuple(holes)), words


def _loops(program: Program) -> list[For]:
    return [node for node in statements(program.body) if isinstance(node, For)]


def _rounds(loop: For) -> int:
    """Return how often a loop over `range(n)` runs, 0 where that is no number of rounds for a step that doubles."""
    bounds = [bound.value for bound in (loop.start, loop.stop, loop.step) if isinstance(bound, Const)]
    return int(bounds[1]) if bounds[::2] == [0, 1] and 2 <= bounds[1] <= MOST_ROUNDS else 0


def _goes_on(program: Program, loop: For) -> bool:
    """Tell whether a loop's rounds read what the rounds before have left in a variable or in an array."""
    inside = list(statements(loop.body))
    read = [part for node in inside for expr in own_expressions(node) for part in subexpressions(expr)]
    within = {node.name for node in inside if isinstance(node, DeclareArray)}
    arrays = {node.array for node in inside if isinstance(node, Store)} - within
    if arrays & {part.array for part in read if isinstance(part, Load)}:
        return True
    own = {id(node) for node in inside}
    before = {node.name for node in statements(program.body) if isinstance(node, Assign) and id(node) not in own}
    names = assigned_in(loop.body) & before
    return bool(names & {part.name for part in read if isinstance(part, Var)})
