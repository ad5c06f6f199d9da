"""What a program with holes has become, as source: every unknown replaced by what a query found for it.

A hole is its number, `choose(...)` the alternative that was chosen, a call of a grammar what it was expanded to.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from symbolic.core.outcome import evaluated
from symbolic.core.value_types import Integer
from symbolic.lifting import operations
from symbolic.lifting.environment import Closure, FunctionSketch
from symbolic.lifting.lifted_text import code_of
from symbolic.lifting.merging import merge
from symbolic.lifting.states import PathSite
from symbolic.lifting.unknowns import ChoicePoint
from symbolic.lifting.values import as_integer
from symbolic.solve.answer import Model
from symbolic.values.guard import TRUE

OPERATIONS: Final = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Subscript)


class SynthesizedFunction(Struct, frozen=True):
    """A function without unknowns: `source` as Python, and a call on plain or symbolic values."""

    source: str
    run: Callable[..., Any]

    def __str__(self) -> str:
        return self.source

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return what the function that was found gives."""
        return self.run(*arguments, **keywords)


def filled(closure: Closure, model: Model) -> Closure:
    """Return a function with its unknowns replaced by what they are under a model."""
    node = copy.copy(closure.code.node)
    filler = _Filler(closure.sketch, model)
    if isinstance(node, ast.FunctionDef):
        node.body = [filler.statement(each) for each in node.body]
        node.decorator_list = []
    return Closure(
        code_of(ast.fix_missing_locations(node), closure.code.text, trusted=closure.code.trusted),
        closure.environment, closure.captured, closure.defaults, closure.bound, closure.beyond,
    )  # fmt: skip


def source(closure: Closure) -> str:
    """Return the text of a function."""
    return ast.unparse(closure.code.node)


class _Filler(Struct, frozen=True):
    sketch: FunctionSketch
    model: Model

    def statement(self, node: ast.stmt) -> ast.stmt:
        """Return a statement, filled."""
        return self._rebuilt(node, (), {})  # type: ignore[no-any-return]

    def _filled(self, node: ast.AST, instance: tuple[object, ...], names: Mapping[str, ast.expr]) -> Any:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.Call):
            key = (*instance, node)
            if key in self.sketch.expansions:
                expansion = self.sketch.expansions[key]
                inner = {name: self._filled(each, instance, names) for name, each in expansion.parameters.items()}
                for name, each in expansion.named:
                    inner[name] = self._filled(each, expansion.instance, inner)
                return self._filled(expansion.returned, expansion.instance, inner)
            unknown = self.sketch.unknowns.get(key)
            if isinstance(unknown, ChoicePoint):
                return self._filled(node.args[unknown.made(self.model)], instance, names)
            if unknown is not None:
                return ast.parse(repr(evaluated(unknown, self.model)), mode="eval").body
        return self._rebuilt(node, instance, names)

    def _rebuilt(self, node: ast.AST, instance: tuple[object, ...], names: Mapping[str, ast.expr]) -> Any:
        new = copy.copy(node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                each = [self._filled(v, instance, names) if isinstance(v, ast.AST) else v for v in value]
                setattr(new, field, each)
            elif isinstance(value, ast.AST):
                setattr(new, field, self._filled(value, instance, names))
        return new


def cost_of(closure: Closure) -> int | Integer:
    """Return the number of operators, calls and look-ups in a filled function's text, as a formula of its choices."""
    site, sketch = PathSite(TRUE, lambda: closure.code.text.place(closure.code.node)), closure.sketch

    def total(costs: list[Any]) -> Any:
        found: Any = 0
        for each in costs:
            found = operations.binary(site, "+", found, each)
        return found

    known: dict[tuple[object, ...], Any] = {}

    def cost(node: ast.AST, instance: tuple[object, ...], names: Mapping[str, Any]) -> Any:
        own = int(isinstance(node, OPERATIONS))
        if isinstance(node, ast.Name):
            return names.get(node.id, 0)
        if isinstance(node, ast.Call):
            key = (*instance, node)
            expansion = sketch.expansions.get(key)
            if expansion is not None:
                if expansion.instance not in known:
                    inside: dict[str, Any] = {}
                    for name, each in expansion.named:
                        inside[name] = cost(each, expansion.instance, inside)
                    known[expansion.instance] = cost(expansion.returned, expansion.instance, inside)
                return known[expansion.instance]
            unknown = sketch.unknowns.get(key)
            if isinstance(unknown, ChoicePoint):
                chosen = zip(unknown.guards, node.args, strict=True)
                return merge([(guard, cost(each, instance, names)) for guard, each in chosen])
            if unknown is not None:
                return 0
        return total([own, *(cost(each, instance, names) for each in ast.iter_child_nodes(node))])

    body = closure.code.body
    found = total([cost(each, (), {}) for each in body])
    return found if type(found) is int else as_integer(found)
