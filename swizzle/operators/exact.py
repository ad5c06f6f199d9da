"""Floating-point numbers taken as real ones: a text's floats as fractions, which solvers take; and the one mistake of
tests for what is no real number, which loops and operators may not make.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from swizzle.language.mathematics import where
from symbolic.core.value_types import Boolean
from symbolic.core.values import select as symbolic_select
from symbolic.errors import Place, SwizzleError
from symbolic.expressions.floats import decided_beforehand
from symbolic.lifting.budget import Budget
from symbolic.lifting.comparisons import NotedComparisons
from symbolic.lifting.environment import Closure, Environment


def exact(closure: Closure) -> Closure:
    """Return a function whose constants, and those that it finds under a name, are exact."""
    code = replace(closure.code, body=exact_body(closure.code.body))
    return replace(closure, code=code, environment=ExactNames(closure.environment))


def exact_body(body: Sequence[ast.stmt]) -> tuple[ast.stmt, ...]:
    """Return statements with exact constants."""
    return tuple(_Exact().visit(copy.deepcopy(each)) for each in body)


class ExactNames:
    """What names mean, in exact numbers."""

    def __init__(self, names: Environment) -> None:
        self._names = names
        self.trusted, self.wanted, self.advice = names.trusted, names.wanted, names.advice
        self.met: dict[str, Any] = {}

    def budget(self) -> Budget:
        return self._names.budget()

    def find(self, name: str) -> Any:
        found = self._names.find(name)
        return symbolic_select if found is where else _exact(found)

    def names(self) -> list[str]:
        return self._names.names()


def _exact(value: Any) -> Any:
    """Return a number as solvers take it: a fraction in place of a float that is one."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return int(value) if value.is_integer() else Fraction(value)


class _Exact(ast.NodeTransformer):
    """Makes the fractions of a text exact: 0.1 is the number that it is rounded to, as in a kernel."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(_exact(node.value)), node)


def check_comparisons(values: Iterable[Any], noted: NotedComparisons, promised: Any = True) -> int:
    """Raise SwizzleError for a comparison, among `noted` ones, that has one answer for all real numbers, but another
    for NaN, an infinity, or what was rounded.

    `values` are symbolic values, in whose formulas the comparisons are; `promised` holds of all inputs. What
    nobody decides of real numbers is refused, too. Returned is how many were not looked at under all the tests before
    them.
    """
    formulas = [each.formula for each in values if hasattr(each, "formula")]
    premises = [promised.formula] if isinstance(promised, Boolean) else []
    found, apart = decided_beforehand(formulas, noted, premises) if noted else (None, 0)
    if found is not None:
        comparison, kind = found
        raise asks_for(noted[comparison].text, kind, noted[comparison].place)
    return apart


def asks_for(what: str, kind: str, place: Place | None) -> SwizzleError:
    """Return the mistake of a text that asks for what no real number is."""
    return SwizzleError(
        f"{what} asks for {kind}, and floating-point numbers are taken as real numbers here",
        place=place,
        expected="a condition on numbers",
        fix="flags of what counts, as a bool array beside it",
    )
