"""Random sketches with their statements moved into device functions are the same programs as they were.

The functions take what the statements use as parameters; some call others. Only the names of variables and the
numbers of holes may differ, and neither means anything.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from swizzle.language.source.hole_marks import find_marks
from swizzle.sketches.sketch import Sketch
from swizzle.solving.cache.key import normal_form
from symbolic.ir.program import Expr, HoleCall, Program
from symbolic.ir.walk import rewrite_program
from tests import sketches
from tests.differential import random_sketches
from tests.differential.random_sketches import RandomSketch
from tests.slow_cases import slow_unless

LANGUAGE = {"cuda", "i32", "min", "max", "range", "accumulator", "sw_xform", "sw_part", "sw_cond"}


def texts(seed: int) -> tuple[Sketch, str, dict[str, Any]]:
    """Return a random sketch, its kernel's text and how that was made a sketch."""
    kept: dict[str, Any] = {}

    def kernel(body: str, **options: Any) -> Sketch:
        kept.update(body=body, options=options)
        return sketches.kernel(body, **options)

    with patch.object(random_sketches, "kernel", kernel):
        sketch = RandomSketch(Random(seed)).sketch()
    return sketch, kept["body"], kept["options"]


class Outliner:
    """Moves statements into functions; `functions` are their texts."""

    def __init__(self, body: str, random: Random) -> None:
        marked, self.marks = find_marks(body, "test.swz")
        self.tree, self.random = ast.parse(marked), random
        self.functions: list[str] = []

    def outlined(self, nodes: Sequence[ast.stmt]) -> str:
        return "\n".join(self._statement(node) for node in nodes)

    def _statement(self, node: ast.stmt) -> str:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function)) if _declares(function):
                return self._text(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return f"{name} = {self._function(f'return {self._text(value)}')}"
            case ast.For() | ast.If():
                text = self._nested(node) if self.random.random() < 0.6 else self._text(node)
                return text if _gives_values(node) or self.random.random() < 0.3 else self._function(text)
            case _:
                return self._function(self._text(node))

    def _nested(self, node: ast.For | ast.If) -> str:
        """Return a loop or a condition whose own statements are moved."""
        head = f"for k in {self._text(node.iter)}:" if isinstance(node, ast.For) else f"if {self._text(node.test)}:"
        text = f"{head}\n{_indented(self.outlined(node.body))}"
        return text + (f"\nelse:\n{_indented(self.outlined(node.orelse))}" if node.orelse else "")

    def _function(self, text: str) -> str:
        """Make a function of a text, and return its call."""
        used = {node.id for node in ast.walk(ast.parse(find_marks(text, "")[0])) if isinstance(node, ast.Name)}
        made = {line.split("(")[0].removeprefix("def ") for line in "\n".join(self.functions).splitlines()}
        own = {"k"} if text.startswith("for k") else set()
        names = sorted(name for name in used - LANGUAGE - made - own - {"p"} if not name.startswith("_sw_"))
        self.random.shuffle(names)
        name, parameters = f"part{len(self.functions)}", [f"{n}_" if self.random.random() < 0.3 else n for n in names]
        renamed = text
        for old, new in zip(names, parameters, strict=True):
            renamed = _renamed(renamed, old, new)
        self.functions.append(f"@cuda.jit(device=True)\ndef {name}({', '.join(parameters)}):\n{_indented(renamed)}\n")
        return f"{name}({', '.join(names)})"

    def _text(self, node: ast.AST) -> str:
        return ast.unparse(node).replace("_sw_", "?sw_")


def _renamed(text: str, old: str, new: str) -> str:
    class Renamer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.Name(new, node.ctx) if node.id == old else node

    return ast.unparse(Renamer().visit(ast.parse(find_marks(text, "")[0]))).replace("_sw_", "?sw_")


def _declares(function: ast.expr) -> bool:
    return ast.unparse(function) in ("accumulator", "cuda.local.array", "cuda.shared.array")


def _gives_values(node: ast.stmt) -> bool:
    """Say whether a statement assigns a variable, which a function cannot do for its caller."""
    stores = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return any(name.id != "k" for name in stores)


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def renumbered(program: Program) -> Any:
    """Return a program's normal form with its holes numbered by their first use."""
    order: dict[int, int] = {}

    def rule(node: Expr) -> Expr:
        if isinstance(node, HoleCall):
            order.setdefault(node.hole, len(order))
        return node

    rewrite_program(program, rule)

    def number(node: Expr) -> Expr:
        return replace(node, hole=order[node.hole]) if isinstance(node, HoleCall) else node

    holes = sorted((new, program.holes[old].kind, program.holes[old].size) for old, new in order.items())
    return normal_form(rewrite_program(program, number).body, {}), holes


@pytest.mark.sampled(25)
@pytest.mark.parametrize("seed", slow_unless(range(150), lambda seed: seed < 75))
def test_outlined_statements(seed: int) -> None:
    """Calls written out are the text that they were made of."""
    sketch, body, options = texts(seed)
    outliner = Outliner(body, Random(seed))
    moved = outliner.outlined(outliner.tree.body)
    assert outliner.functions
    again = sketches.kernel(moved, head="\n".join([*outliner.functions, ""]), **options)
    assert renumbered(again.program) == renumbered(sketch.program)
