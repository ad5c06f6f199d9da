"""The functions that the sequential part has without defining them, and what its values are called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, Final, NoReturn, Protocol

from msgspec import Struct

from swizzle.language.surface import maximum, minimum, zeros
from symbolic.algebra.law import LAWS


class Running(Protocol):
    """What a function without a definition needs of its caller (`swizzle.specs.interpreter.Interpretation`)."""

    def fail(self, node: ast.AST, found: str, expected: str = "", fix: str = "") -> NoReturn: ...
    def attempt(self, node: ast.AST, action: Callable[..., Any], *arguments: Any) -> Any: ...
    def binary(self, op: ast.operator, left: Any, right: Any, node: ast.AST) -> Any: ...
    def decide(self, value: Any, node: ast.AST) -> bool: ...
    def items(self, value: Any, node: ast.AST) -> Iterator[Any]: ...
    def spend(self, steps: int, node: ast.AST) -> None: ...
    def check_length(self, length: int, node: ast.AST) -> None: ...


class Builtin(Struct, frozen=True):
    """A function that the sequential part has without defining it."""

    name: str

    def __call__(self, *_: object) -> NoReturn:
        raise AssertionError(f"{self.name} is called by the interpreter only")


ARGUMENTS: Final[dict[str, tuple[int, int]]] = {
    "sum": (1, 2),
    "range": (1, 3),
    "len": (1, 1),
    "min": (1, 99),
    "max": (1, 99),
    "minimum": (1, 99),
    "maximum": (1, 99),
    "abs": (1, 1),
    "zip": (1, 9),
    "enumerate": (1, 2),
    "any": (1, 1),
    "all": (1, 1),
    "zeros": (1, 1),
    "list": (1, 1),
    "tuple": (1, 1),
    "reversed": (1, 1),
}
"""How many arguments each builtin takes: at least, at most."""

BUILTINS: Final[dict[str, Builtin]] = {name: Builtin(name) for name in ARGUMENTS}


def call_builtin(run: Running, name: str, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """Call the builtin function `name`."""
    least, most = ARGUMENTS[name]
    if keywords or not least <= len(arguments) <= most:
        run.fail(
            node,
            f"a wrong call of {name}",
            f"{name} of {least if least == most else f'{least} to {most}'} arguments, without keywords",
            "write the arguments one by one",
        )
    first = arguments[0]
    match name:
        case "range":
            if not all(isinstance(argument, int) for argument in arguments):
                run.fail(
                    node,
                    "a range of something else than ints",
                    "ints: sizes, loop variables, constants",
                    "divide with `//`",
                )
            return run.attempt(node, range, *arguments)
        case "len":
            if isinstance(first, list | tuple | range) or shape_of(first):
                return len(first)
            run.fail(node, f"the length of {kind(first)}", "a list or an array")
        case "sum":
            start = arguments[1] if len(arguments) == 2 else 0
            add = ast.Add()
            return reduce(lambda total, item: run.binary(add, total, item, node), _spent(run, first, node), start)
        case "min" | "max":
            items = list(_spent(run, first, node)) if len(arguments) == 1 else arguments
            return _extreme(run, name, items, node)
        case "minimum" | "maximum":
            return _extreme(run, name[:3], arguments, node)
        case "abs":
            return run.attempt(node, abs, first)
        case "any" | "all":
            truths = [run.decide(item, node) for item in _spent(run, first, node)]
            return any(truths) if name == "any" else all(truths)
        case "zip":
            columns = [_spent(run, argument, node) for argument in arguments]
            return _collected(run, zip(*columns, strict=False), node)
        case "enumerate":
            return _collected(run, run.attempt(node, enumerate, _spent(run, first, node), *arguments[1:]), node)
        case "list":
            return _collected(run, _spent(run, first, node), node)
        case "tuple":
            return tuple(_collected(run, _spent(run, first, node), node))
        case "reversed":
            return _collected(run, _spent(run, first, node), node)[::-1]
        case "zeros":
            array = run.attempt(node, zeros, first)
            run.spend(array.size, node)
            return array
        case _:
            raise AssertionError(name)


def _extreme(run: Running, name: str, items: Sequence[Any], node: ast.AST) -> Any:
    """Return the least or greatest item; data as `minimum` and `maximum` do."""
    if not items or any(isinstance(item, list | tuple | range) for item in items):
        run.fail(
            node,
            f"{name} of nothing" if not items else f"{name} of lists",
            f"{name} of one number or more",
            "give it a first value" if not items else "give it their elements",
        )
    if all(isinstance(item, int | float) for item in items):
        return reduce(LAWS[name].fold, items)
    choose = {"min": minimum, "max": maximum}[name]
    return reduce(lambda a, b: run.attempt(node, choose, a, b), items)


def _spent(run: Running, value: Any, node: ast.AST) -> Iterator[Any]:
    for item in run.items(value, node):
        run.spend(1, node)
        yield item


def _collected(run: Running, items: Iterator[Any], node: ast.AST) -> list[Any]:
    result = []
    for item in items:
        result.append(item)
        run.check_length(len(result), node)
    return result


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an array, or () for anything else."""
    shape = () if isinstance(value, int | float) else getattr(value, "shape", ())
    return shape if isinstance(shape, tuple) else ()


def kind(value: Any) -> str:
    """Say what a value is, for an error."""
    match value:
        case None:
            return "None"
        case bool():
            return "a condition"
        case int():
            return "an int"
        case float():
            return "a float"
        case list() | tuple() | range():
            return f"a {type(value).__name__}"
        case _ if callable(value):
            return "a function"
        case _:
            return "an array" if shape_of(value) else "data"
