"""`exp` and `log` of symbolic numbers: names in formulas, for those who read these and do not solve them."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from symbolic.core.value_types import Integer
from symbolic.errors import SwizzleError
from symbolic.lifting import operations
from symbolic.lifting.states import PathSite
from symbolic.lifting.values import as_integer
from symbolic.solve.floor_division import manager

ELEMENTARY: Final[dict[Callable[..., Any], str]] = {math.exp: "exp", math.log: "log"}
_named: ContextVar[bool] = ContextVar("elementary_functions", default=False)


@contextmanager
def elementary_functions() -> Iterator[None]:
    """Let `exp` and `log` of symbolic numbers stand in formulas by their names."""
    token = _named.set(True)
    try:
        yield
    finally:
        _named.reset(token)


def handler(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a call of an elementary function does in a lifted function."""
    name = ELEMENTARY[function]

    def handle(_: object, site: PathSite, __: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if len(arguments) != 1 or keywords:
            site.fail(f"TypeError: {name} of {len(arguments)} arguments")
        return operations.spread(site, applied, arguments[0])

    def applied(site: PathSite, value: Any) -> Any:
        formula = getattr(as_integer(value), "formula", None)
        if formula is None or formula.is_constant():
            return operations.attempt(site, function, value)
        from pysmt.environment import get_env
        from pysmt.typing import FunctionType

        kind = get_env().stc.get_type(formula)
        if not _named.get() or not (kind.is_int_type() or kind.is_real_type()):
            raise SwizzleError(
                f"{name} of a symbolic number, which solvers know nothing of", place=site.where(),
                expected="a number", fix="compute it outside, or leave it out of the query",
            )  # fmt: skip
        symbol = manager().Symbol(f"{name}: {kind}", FunctionType(kind, [kind]))
        result = manager().Function(symbol, [formula])
        return value.like(result) if hasattr(value, "like") else Integer(result)

    return handle
