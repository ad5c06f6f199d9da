"""Specifications: what `@spec` makes."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from swizzle.language.element_types import caller_place
from swizzle.language.specs.function import SequentialFunction
from swizzle.language.specs.rewriting import rewritten
from symbolic.algebra.terms import Terms
from symbolic.errors import Place, SwizzleError, definition_place


class Spec(Struct, frozen=True):
    """A specification: a sequential function from the kernel's inputs, arrays and scalars, to its output arrays.

    `parameters` are the names of its inputs; `constants` are its int arguments that the sketch has fixed.
    """

    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    place: Place | None
    constants: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        return f"<specification {self.name}({', '.join(self.parameters)}){where}>"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        if not self.constants:
            return self.function(*arrays, **named)
        return self.function(**dict(zip(self.parameters, arrays, strict=False)), **named, **self.constants)

    def on_symbols(self, terms: Terms, *arrays: Any) -> Any:
        """Run it on many symbols: comprehensions at once where they can be."""
        from swizzle.language.specs import comprehensions

        function = self.function
        found = rewritten(function) if isinstance(function, types.FunctionType) else None
        if found is None:
            return self(*arrays)
        named = dict(zip(self.parameters, arrays, strict=False)) if self.constants else {}
        return comprehensions.run(found, terms, () if named else arrays, {**named, **self.constants})


def spec(function: Callable[..., Any]) -> Spec:
    """Mark a sequential function as a specification; it can still be called.

    It takes the kernel's in, const and inout arrays, in the kernel's order, and returns its out and inout arrays: one
    array or nested list, a tuple of them in order, or a dict by name. It runs on symbols and on NumPy arrays alike. So
    it may compute with data, by NumPy's functions, too (docs/specifications.md), but may branch and index on ints only.
    """
    if isinstance(function, Spec):
        return function
    if isinstance(function, SequentialFunction):
        place = function.source.place(function.node)
        if isinstance(function.node, ast.FunctionDef):  # a specification has a name, a lambda has none
            column = place.column + len("def ")
            place = Place(place.file, place.line, column, column + len(function.name))
        return Spec(function.name, function, function.parameters, place)
    if not isinstance(function, types.FunctionType):
        raise SwizzleError(
            f"@spec on a {type(function).__name__}",
            place=caller_place(),
            expected="a function defined with `def`",
            fix="write @spec above one `def`",
        )
    code = function.__code__
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise SwizzleError(
            f"the specification {function.__name__} is an async function",
            place=definition_place(code),
            expected="a function that returns the out arrays when it is called",
            fix="write def in the place of async def",
        )
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise SwizzleError(
                f"the specification {function.__name__} has the parameter {parameter}",
                place=definition_place(code),
                expected="plain parameters: the kernel's input arrays",
                fix="give each input array a parameter of its own name, without `*`, `**` and `/`",
            )
        names.append(parameter.name)
    return Spec(function.__name__, function, tuple(names), definition_place(code))


class UserFunction(Struct, frozen=True, eq=False):
    """A function: how it is called, its name, its inputs and its place, whether `@spec` stands above it, the names
    that its file has at its top level, and whether it is read and not run."""

    called: Callable[..., Any]
    name: str
    inputs: tuple[str, ...]
    place: Place
    marked: bool
    known: Iterable[str]
    is_read: bool = False

    def require_named(self, place: Place) -> None:
        """Refuse a function that its file does not know by its name at its end: a text that names it would be wrong."""
        if self.is_read:
            return
        now = getattr(self.called, "__globals__", {}).get(self.name)
        now = now.function if isinstance(now, Spec) else now
        if now is self.called:
            return
        another = isinstance(now, types.FunctionType)
        raise SwizzleError(
            f"{self.name} is another function than the specification" if another
            else f"no {self.name} at the file's top level",
            place=definition_place(now.__code__) if isinstance(now, types.FunctionType) else place,
            expected=f"{self.name} of line {self.place.line} alone: what is derived is compared with it by name",
            fix="define the specification at the file's top level, under a name of its own",
        )  # fmt: skip


def user_function(given: object) -> UserFunction | None:
    """Return a user's function, with `@spec` above it or not; None of anything else."""
    made = given.function if isinstance(given, Spec) else given
    if isinstance(made, SequentialFunction):
        marked, known = bool(getattr(made.node, "decorator_list", ())), made.closure.environment.names()
        return UserFunction(made, made.name, made.parameters, made.source.place(made.node), marked, known, True)
    if not isinstance(made, types.FunctionType):
        return None
    code, names = made.__code__, made.__globals__
    inputs = code.co_varnames[: code.co_argcount]
    return UserFunction(made, made.__name__, inputs, definition_place(code), isinstance(given, Spec), names)
