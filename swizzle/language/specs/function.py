"""A function of the sequential part; what reads it (`symbolic.lifting`) is loaded when there is one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from swizzle.language.source.kernel_source import Source

if TYPE_CHECKING:
    from symbolic.lifting.environment import Closure


class SequentialFunction(Struct, eq=False):
    """A `def` or `lambda` of the sequential part; calling it interprets it with a budget of its own."""

    name: str
    node: ast.FunctionDef | ast.Lambda
    source: Source
    closure: Closure

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return what it gives for NumPy's arrays, or symbolic ones; raises `SwizzleError` with a place."""
        from symbolic.lifting.functions import run

        return run(self.closure, arguments, keywords)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        return tuple(argument.arg for argument in self.node.args.args)
