"""Users' functions alike: those that Python runs, and those that are read from `.swz` files and interpreted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from msgspec import Struct

from swizzle.language.specs.function import SequentialFunction
from swizzle.language.specs.spec import Spec
from symbolic.errors import Place, SwizzleError, definition_place


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
        another = isinstance(now, FunctionType)
        raise SwizzleError(
            f"{self.name} is another function than the specification" if another
            else f"no {self.name} at the file's top level",
            place=definition_place(now.__code__) if isinstance(now, FunctionType) else place,
            expected=f"{self.name} of line {self.place.line} alone: what is derived is compared with it by name",
            fix="define the specification at the file's top level, under a name of its own",
        )  # fmt: skip


def user_function(given: object) -> UserFunction | None:
    """Return a user's function, with `@spec` above it or not; None of anything else."""
    made = given.function if isinstance(given, Spec) else given
    if isinstance(made, SequentialFunction):
        marked, known = bool(getattr(made.node, "decorator_list", ())), made.closure.environment.names()
        return UserFunction(made, made.name, made.parameters, made.source.place(made.node), marked, known, True)
    if not isinstance(made, FunctionType):
        return None
    code, names = made.__code__, made.__globals__
    inputs = code.co_varnames[: code.co_argcount]
    return UserFunction(made, made.__name__, inputs, definition_place(code), isinstance(given, Spec), names)
