"""Environments say what the free names of a function mean; a closure is a function with its environment."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from msgspec.structs import replace

from symbolic.lifting.budget import UNLIMITED, Budget
from symbolic.lifting.lifted_text import Code, read

if TYPE_CHECKING:
    from pysmt.fnode import FNode

Beyond: TypeAlias = Literal["assert", "assume"]


class Environment(Protocol):
    """What the names of a function mean that it does not assign.

    An environment that is not `trusted` is a stranger's: nothing is called and no attribute read but what the
    interpreter itself knows.
    """

    @property
    def trusted(self) -> bool:
        """Whether the text may call and look into whatever its names mean."""

    @property
    def wanted(self) -> str:
        """What is expected where a name means nothing."""

    @property
    def advice(self) -> str:
        """How to mend that, where no name is near."""

    @property
    def met(self) -> dict[str, Any]:
        """What names were found to mean, as the interpreter holds it, for as long as they mean it."""

    def budget(self) -> Budget:
        """Return what work the text may ask for, in one run."""

    def find(self, name: str) -> Any:
        """Return what a name means; KeyError where it means nothing."""

    def names(self) -> list[str]:
        """Return the names that mean something."""


@dataclass(frozen=True, slots=True)  # a type checker would bind the function of a Struct as a method
class PythonNames:
    """What names mean in a Python function now: its enclosing functions', its file's, the built-in ones."""

    function: FunctionType
    trusted: bool = True
    wanted: str = "a name of the function, of its file, or a built-in one"
    advice: str = ""

    @property
    def met(self) -> dict[str, Any]:
        """Nothing: a file may give its names another meaning."""
        return {}

    def budget(self) -> Budget:
        """Return that there is no limit but Python's."""
        return UNLIMITED

    def find(self, name: str) -> Any:
        """Return what a name means; KeyError where it means nothing."""
        free = self.function.__code__.co_freevars
        if name in free:
            try:
                return (self.function.__closure__ or ())[free.index(name)].cell_contents
            except ValueError:
                raise KeyError(name) from None
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return vars(builtins)[name]

    def names(self) -> list[str]:
        """Return the names that mean something."""
        return [*self.function.__code__.co_freevars, *self.function.__globals__, *vars(builtins)]


class KnownFunction(Struct, frozen=True, eq=False):
    """A function that the interpreter is told how to call: what calling it means is said here and nowhere else.

    `call` gets the running function, the site, the node of the call, arguments and named arguments, all as the
    interpreter holds values (`symbolic.lifting.builtins.Handler`).
    """

    name: str
    call: Callable[[Any, Any, ast.AST, list[Any], dict[str, Any]], Any]


class Namespace(Struct, frozen=True, eq=False):
    """A name that holds others: `math.exp`. What it has is `KnownFunction`, or a number."""

    name: str
    members: Mapping[str, Any]


class NameTable(Struct, frozen=True, eq=False):
    """What names mean by a table, for a text that may be a stranger's; no name ever means something else later.

    What is in the table is a value, a function with a `closure`, one of Python's that `builtins.HANDLED` knows, or
    `KnownFunction`: nothing else is called. Errors call the text `what`, say that it may hold
    `part` and of an unknown name that `wanted` was expected, and what to do by `advice`.
    """

    table: Mapping[str, Any]
    what: str = "the text"
    part: str = "values and their operators"
    wanted: str = "a name of the function, of its file, or a built-in one"
    advice: str = ""
    trusted: bool = False
    met: dict[str, Any] = field(default_factory=dict)

    def budget(self) -> Budget:
        """Return the limits of a stranger's text."""
        return Budget(True, self.what, self.part)

    def find(self, name: str) -> Any:
        """Return what a name means; KeyError where it means nothing."""
        return self.table[name]

    def names(self) -> list[str]:
        """Return the names that mean something."""
        return list(self.table)


class Expansion(Struct, frozen=True):
    """What a call of a grammar stands for: the expression that it returns, what its parameters are in it (an expression
    of the caller, or a number that is known), by which way its own unknowns are found, and what it named before, each
    by an expression of its own."""

    returned: ast.expr
    parameters: Mapping[str, ast.expr]
    instance: tuple[object, ...]
    named: tuple[tuple[str, ast.expr], ...] = ()


@dataclass(frozen=True, eq=False)
class Root:
    """A call of a grammar from a function that is none: what it was given, and the formula of its value."""

    instance: tuple[object, ...]
    function: Closure
    names: Mapping[str, Any]
    result: FNode


class FunctionSketch(Struct, eq=False):
    """The unknowns of a function: for each place of `hole()` and `choose()`, and way through grammars to it, what was
    made there; how each call of a grammar was expanded; which calls in a choice are expanded together; and from where
    grammars were called."""

    unknowns: dict[tuple[object, ...], Any] = field(default_factory=dict)
    expansions: dict[tuple[object, ...], Expansion] = field(default_factory=dict)
    slots: dict[ast.AST, dict[ast.Call, ast.Call]] = field(default_factory=dict)
    roots: dict[object, Root] = field(default_factory=dict)


class Closure(Struct, frozen=True, eq=False):
    """A function with what its free names mean.

    `bound` rounds of a loop and calls within each other are looked at; that no input needs more is demanded
    (`beyond='assert'`) or assumed. One made inside another shares its `sketch`; a grammar is expanded anew by every
    call, with unknowns of its own.
    """

    code: Code
    environment: Environment
    captured: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    bound: int = 32
    beyond: Beyond = "assert"
    grammar: bool = False
    sketch: FunctionSketch = field(default_factory=FunctionSketch)
    instance: tuple[object, ...] = ()


_READ: WeakKeyDictionary[FunctionType, Closure] = WeakKeyDictionary()


def closure_of(function: FunctionType, bound: int, beyond: Beyond, *, grammar: bool = False) -> Closure:
    """Return a Python function as the interpreter calls it; SwizzleError for what is not in the language."""
    found = _READ.get(function)
    if found is None:
        code = read(function)
        positional = [*code.parameters.posonlyargs, *code.parameters.args]
        given = function.__defaults__ or ()
        defaults = {p.arg: d for p, d in zip(positional[len(positional) - len(given) :], given, strict=True)}
        defaults |= function.__kwdefaults__ or {}
        found = Closure(code, PythonNames(function), {}, defaults, bound, beyond, grammar)
        _READ[function] = found
    return replace(found, bound=bound, beyond=beyond, grammar=grammar)  # its unknowns are the same
