"""A serial function taken apart: what stands before its loop, the loop over the arrays, what stands behind it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import NoReturn

from msgspec import Struct

from symbolic.errors import SwizzleError
from symbolic.lifting.lifted_text import Code


class Parts(Struct, frozen=True):
    """The statements of a serial function.

    `elements` are what the loop's body calls the elements, in the order of `arrays`; `counter` is the name that counts
    them, from `first` on (0 where that is None).
    """

    before: tuple[ast.stmt, ...]
    node: ast.For
    body: tuple[ast.stmt, ...]
    behind: tuple[ast.stmt, ...]
    arrays: tuple[str, ...]
    elements: tuple[str, ...]
    counter: str | None
    first: ast.expr | None


def parts_of(code: Code, arrays: Sequence[str]) -> Parts:
    """Take a function apart; SwizzleError with a place where it is no loop once over all of its arrays."""
    return _Cut(code, tuple(arrays)).parts()


class _Cut:
    """One function that is taken apart."""

    def __init__(self, code: Code, arrays: tuple[str, ...]) -> None:
        self.code = code
        self.arrays = arrays

    def parts(self) -> Parts:
        node = self._loop()
        place = self.code.body.index(node)
        before, behind = self.code.body[:place], self.code.body[place + 1 :]
        if not behind:
            self._fail(node, f"{self.code.name} returns nothing", "a result behind the loop", "return total")
        indexed = _indexed(node)
        if indexed is not None:
            body = _by_elements(node.body, indexed, self.arrays)
            names = tuple(f"{array}_{indexed}" for array in self.arrays)
            found = Parts(before, node, body, behind, self.arrays, names, indexed, None)
        else:
            counter, first, target, sequence = self._counted(node)
            arrays = self._sequences(node, sequence)
            found = Parts(before, node, tuple(node.body), behind, arrays, self._names(target, arrays), counter, first)
        self._only_once(found)
        return found

    def _loop(self) -> ast.For:
        loops = [each for each in self.code.body if isinstance(each, ast.For) and self._is_over(each.iter)]
        if not loops:
            self._fail(
                self.code.node,
                f"{self.code.name} has no loop over its arrays",
                "one loop, at the function's own level",
                f"for v in {self.arrays[0]}:",
            )
        node, *others = loops
        if others:
            self._fail(
                others[0],
                f"{self.code.name} goes over its arrays {len(loops)} times",
                "one loop, at the function's own level",
                "one loop that does both",
            )
        if node.orelse:
            leaves = any(isinstance(each, ast.Break) for each in own_statements(node.body))
            fix = "left = True; break, and behind the loop: if not left: ..." if leaves else "move it down"
            self._fail(node.orelse[0], "`else` of a serial loop", "statements behind the loop", fix)
        for each in own_statements(node.body):
            if isinstance(each, ast.Return):
                self._fail(each, "`return` inside a serial loop", "a flag, and `break`", "found = True; break")
        return node

    def _is_over(self, node: ast.expr) -> bool:
        return any(isinstance(each, ast.Name) and each.id in self.arrays for each in ast.walk(node))

    def _counted(self, node: ast.For) -> tuple[str | None, ast.expr | None, ast.expr, ast.expr]:
        """Return the counter of `enumerate` and where it begins, the target, and what is gone over."""
        match node.iter:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *start]) if len(start) < 2:
                match node.target:
                    case ast.Tuple(elts=[ast.Name(id=name), target]):
                        return name, (start[0] if start else None), target, inner
                self._fail(node.target, "this target of enumerate", "a number and an element", "for i, v in ...")
        return None, None, node.target, node.iter

    def _sequences(self, node: ast.For, sequence: ast.expr) -> tuple[str, ...]:
        found: list[ast.expr] = [sequence]
        if isinstance(sequence, ast.Call) and isinstance(sequence.func, ast.Name) and sequence.func.id == "zip":
            found = sequence.args
        names = tuple(each.id for each in found if isinstance(each, ast.Name))
        if len(names) != len(found) or sorted(names) != sorted(self.arrays):
            wanted = self.arrays[0] if len(self.arrays) == 1 else f"zip({', '.join(self.arrays)})"
            self._fail(
                node.iter,
                f"a loop over `{ast.unparse(node.iter)}`",
                f"one pass over all arrays: {', '.join(self.arrays)}",
                f"for ... in {wanted}:",
            )
        return names

    def _names(self, target: ast.expr, arrays: tuple[str, ...]) -> tuple[str, ...]:
        targets = [target] if len(arrays) == 1 else getattr(target, "elts", [target])
        names = tuple(each.id for each in targets if isinstance(each, ast.Name))
        if len(names) != len(arrays) or len(targets) != len(arrays):
            self._fail(
                target,
                f"`{ast.unparse(target)}` for the elements of {', '.join(arrays)}",
                "a name for each",
                f"for {', '.join('vwuabcde'[place] for place in range(len(arrays)))} in ...",
            )
        return names

    def _only_once(self, parts: Parts) -> None:
        for each in (*parts.before, *parts.body, *parts.behind):
            for node in ast.walk(each):
                if isinstance(node, ast.Name) and node.id in self.arrays and node.id not in parts.elements:
                    self._fail(
                        node, f"{node.id} outside of its loop", "its elements, one after the other", "for v in x:"
                    )

    def _fail(self, node: ast.AST, found: str, expected: str, fix: str) -> NoReturn:
        raise SwizzleError(found, place=self.code.text.place(node), expected=expected, fix=fix)


def _indexed(node: ast.For) -> str | None:
    """Return the index of `for i in range(len(x))`."""
    match node.iter, node.target:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"))]), ast.Name(id=name):
            return name
    return None


def _by_elements(body: Sequence[ast.stmt], index: str, arrays: Sequence[str]) -> tuple[ast.stmt, ...]:
    """Return statements with names for the elements at an index."""

    class Elements(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
            match node:
                case ast.Subscript(value=ast.Name(id=array), slice=ast.Name(id=at)) if array in arrays and at == index:
                    return ast.copy_location(ast.Name(f"{array}_{index}", ast.Load()), node)
            self.generic_visit(node)
            return node

    return tuple(Elements().visit(copy.deepcopy(each)) for each in body)


# ---- statements --------------------------------------------------------------------------------------------------


def names_assigned(body: Sequence[ast.AST]) -> set[str]:
    """Return the names that statements assign."""
    nodes = (each for statement in body for each in ast.walk(statement))
    return {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def names_read(body: Sequence[ast.AST]) -> set[str]:
    """Return the names that statements read."""
    nodes = (each for statement in body for each in ast.walk(statement))
    return {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def first_use(body: Sequence[ast.AST], name: str) -> tuple[int, int]:
    """Return where statements have a name first: line and column."""
    nodes = (each for statement in body for each in ast.walk(statement))
    return min((each.lineno, each.col_offset) for each in nodes if isinstance(each, ast.Name) and each.id == name)


def own_statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a loop's body, with those of loops in it but for what ends only these."""
    found: list[ast.stmt] = []

    def visit(statements: Sequence[ast.stmt], inner: bool) -> None:
        for each in statements:
            if not (inner and isinstance(each, ast.Break)):
                found.append(each)
            below = inner or isinstance(each, ast.For | ast.While)
            for name in ("body", "orelse"):
                visit(getattr(each, name, []), below)

    visit(body, False)
    return found
