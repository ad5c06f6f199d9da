"""The patterns of `.swz` files: what calls of `reduce`, `split` and their like are to their interpreter."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any, Final

from swizzle.language.specs.function import SequentialFunction
from swizzle.language.specs.patterns import PATTERN_FUNCTIONS
from swizzle.language.specs.traced import TracedValue, put_together, reading, user_line
from symbolic.lifting.builtins import Caller
from symbolic.lifting.environment import Closure, KnownFunction
from symbolic.lifting.states import PathSite
from symbolic.lifting.values import Items, inward


def _patterned(name: str) -> Callable[[Caller, PathSite, ast.AST, list[Any], dict[str, Any]], Any]:
    """Return how a pattern is called: on lists and arrays, or traced."""
    pattern = PATTERN_FUNCTIONS[name]

    def call(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        try:
            inspect.signature(pattern).bind(*arguments, **keywords)
        except TypeError as error:
            raise machine.error(
                node, f"a wrong call of {name}: {error}", f"{name}{inspect.signature(pattern)}".replace("'", ""),
                "give it these",
            ) from None  # fmt: skip
        place = site.where()
        named = (each.function for each in (place, *place.callers) if each.function not in ("", "lambda"))
        with reading(place, next(named, user_line()[1])):
            given = [_as_python(machine, site, node, each) for each in arguments]
            words = {key: _as_python(machine, site, node, each) for key, each in keywords.items()}
            made = pattern(*given, **words)
            return made.taken_apart if isinstance(made, TracedValue) else inward(made)

    return call


def _as_python(machine: Caller, site: PathSite, node: ast.AST, value: Any) -> Any:
    """Return a value of the interpreter as patterns take it: lists, and functions that Python can call."""
    match value:
        case Items() | range():
            return [_as_python(machine, site, node, each) for each in machine.items(site, value)]
        case tuple():
            return put_together(tuple(_as_python(machine, site, node, each) for each in value))
        case KnownFunction() if PATTERNS.get(value.name) is value:
            return PATTERN_FUNCTIONS[value.name]
        case KnownFunction() | Closure() | SequentialFunction():
            return _called(machine, site, node, value)
        case int():
            site.budget.check_length(abs(value), site.where)
    return value


def _called(
    machine: Caller, site: PathSite, node: ast.AST, function: KnownFunction | Closure | SequentialFunction
) -> Callable[..., Any]:
    """Return a function of the interpreter as one of Python's, of the same name and parameters."""

    def called(*values: Any) -> Any:
        with reading(None, user_line()[1]):
            some = (each.taken_apart if isinstance(each, TracedValue) else inward(each) for each in values)
            return _as_python(machine, site, node, machine.call(site, node, function, *some))

    known = isinstance(function, KnownFunction)
    called.__module__ = "swizzle.language" if known else ""
    if isinstance(function, KnownFunction):
        called.__name__ = function.name
        return called
    code = function.closure.code if isinstance(function, SequentialFunction) else function.code
    called.__name__ = "<lambda>" if code.name == "lambda" else code.name
    each = inspect.Parameter.POSITIONAL_OR_KEYWORD
    called.__signature__ = inspect.Signature([inspect.Parameter(own.arg, each) for own in code.parameters.args])  # type: ignore[attr-defined]
    return called


PATTERNS: Final = {name: KnownFunction(name, _patterned(name)) for name in PATTERN_FUNCTIONS}
"""What names of patterns mean."""
