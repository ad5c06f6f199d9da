"""`@lifted`: an ordinary Python function that takes symbolic values, too."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from msgspec.structs import replace

from symbolic.bottom_up import deep_stack
from symbolic.core.obligations import current_path
from symbolic.core.outcome import shown_by
from symbolic.core.value_types import Integer
from symbolic.errors import SwizzleError
from symbolic.lifting import printing
from symbolic.lifting.aliases import only_name
from symbolic.lifting.calls import bound_names
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Beyond, Closure, NameTable, closure_of
from symbolic.lifting.interpreter import Activation
from symbolic.lifting.lifted_text import Code, check_grammar, read
from symbolic.lifting.operations import THEIRS
from symbolic.lifting.states import Dead, State
from symbolic.lifting.unknowns import UNKNOWN, ChoicePoint
from symbolic.lifting.values import FOREIGN, Mutable, OwnLists, inward, is_plain, outward, own_lists, parts_inside
from symbolic.solve.answer import Model
from symbolic.solve.floor_division import manager
from symbolic.values.guard import TRUE

if TYPE_CHECKING:
    from pysmt.fnode import FNode

    from symbolic.lifting.enumeration import Enumeration

P = ParamSpec("P")
T = TypeVar("T")


class Lifted(Generic[P, T]):
    """A function on symbolic and on plain values; with plain ones it is the Python function that was written."""

    def __init__(self, function: Callable[P, T], bound: int, beyond: Beyond, *, grammar: bool = False) -> None:
        read(function)  # says who is no function
        if not isinstance(bound, int) or bound < 1:
            raise SwizzleError(f"bound={bound!r}", expected="how many rounds and calls are looked at", fix="bound=32")
        if beyond not in ("assert", "assume"):
            raise SwizzleError(f"beyond={beyond!r}", expected="'assert' or 'assume'", fix="beyond='assume'")
        self.function = function
        self.order = 0
        self.closure: Closure = closure_of(cast(FunctionType, function), bound, beyond, grammar=grammar)
        local = self.closure.code.local
        names = (each for each in ast.walk(self.closure.code.node) if isinstance(each, ast.Name))
        self._free = sorted({name.id for name in names} - local)
        functools.update_wrapper(self, function)
        shown_by(self)

    def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> T:
        """Return the result; what must hold for it is noted in the block of obligations around.

        Raises SwizzleError with a place for what the function cannot do, and where no input returns.
        """
        if is_plain(arguments) and all(map(is_plain, keywords.values())) and not self.needs_machine():
            return self.function(*arguments, **keywords)
        return cast(T, _value(self.closure, arguments, keywords))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<lifted {self.closure.code.name}>"

    def evaluated(self, model: Model) -> printing.SynthesizedFunction:
        """Return the function with its unknowns replaced by what they are under a model: `outcome[function]`."""
        made = printing.filled(self.closure, model)

        def run(*arguments: Any, **keywords: Any) -> Any:
            return _value(made, arguments, keywords)

        return printing.SynthesizedFunction(printing.source(made), run)

    def unknowns(self) -> set[FNode]:
        """Return the symbols of its holes and choices, as far as it was called."""
        found: set[FNode] = set()
        for unknown in self.closure.sketch.unknowns.values():
            if isinstance(unknown, ChoicePoint):
                for guard in unknown.guards:
                    found |= manager().env.fvo.get_free_variables(conditions().formula(guard))
            else:
                found.add(unknown.formula)
        return found

    def needs_machine(self, seen: frozenset[int] = frozenset()) -> bool:
        """Tell whether it computes with more than its arguments: holes, choices, symbolic values around it."""
        for name in self._free:
            try:
                value = self.closure.environment.find(name)
            except KeyError:
                continue
            if isinstance(value, Lifted):
                if id(value) not in seen and value.needs_machine(seen | {id(self)}):
                    return True
            elif isinstance(value, FunctionType):
                if value in UNKNOWN:
                    return True
            elif not is_plain(value):
                return True
        return self.closure.grammar


@overload
def lifted(function: Callable[P, T], /) -> Lifted[P, T]: ...
@overload
def lifted(*, bound: int = 32, beyond: Beyond = "assert") -> Callable[[Callable[P, T]], Lifted[P, T]]: ...
def lifted(function: Any = None, /, *, bound: int = 32, beyond: Beyond = "assert") -> Any:
    """Let a function take symbolic values: `if`, loops, early returns, recursion, lists and records as in Python.

    Of a loop that ends when a condition says so, `bound` rounds are run, and of a recursion as many calls within each
    other. What would go on is demanded not to (`beyond='assert'`), or assumed not to ('assume').
    Raises SwizzleError with a place for what is not in the language.
    """
    if function is None:
        return lambda given: Lifted(given, bound, beyond)
    return Lifted(function, bound, beyond)


def closure_with_defaults(code: Code, names: NameTable) -> Closure:
    """Return a function of a text whose names a table gives; its parameters' defaults are computed now."""
    spec = code.parameters
    bare = Closure(code, names)
    missing = Activation(bare, TRUE)
    given = zip(spec.args[len(spec.args) - len(spec.defaults) :], spec.defaults, strict=True)
    return replace(bare, defaults={each.arg: missing.value(default, State(TRUE, {})) for each, default in given})


def _value(function: Closure, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Call a function whose result is for Python: no function of the interpreter's."""
    result = run(function, arguments, keywords)
    if isinstance(result, Closure):
        raise SwizzleError(
            f"{function.code.name} returns a function", place=function.code.text.place(function.code.node),
            expected="values", fix="call it inside, and return what it gives",
        )  # fmt: skip
    return result


def run(function: Closure, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Call a function from outside of any other, with values as users have them."""
    with own_lists() as own:
        return _run(function, arguments, keywords, own)


def _run(function: Closure, arguments: Sequence[Any], keywords: Mapping[str, Any], own: OwnLists) -> Any:
    around = current_path()
    path = TRUE if around is None else conditions().guard(around)
    given = [inward(argument, THEIRS, own) for argument in arguments]
    named = {name: inward(argument, THEIRS, own) for name, argument in keywords.items()}
    names = bound_names(function, given, named, lambda: None)
    outermost = Activation(function, path, expanded=object())
    try:
        with deep_stack():
            result = outermost.run(names)
            outermost.budget.measure(result, parts_inside, lambda: outermost.place(function.code.node))
            _give_back(function, outermost, own)
            return outward(result)
    except Dead:
        raise SwizzleError(
            f"{function.code.name} returns for no input", expected="an input that no assertion excludes",
            fix="look at what is asserted on its way",
        ) from None  # fmt: skip
    except RecursionError:
        raise SwizzleError(
            f"{function.code.name} calls itself deeper than Python allows",
            place=function.code.text.place(function.code.node), expected="an end that is reached",
            fix="a test on what becomes smaller",
        ) from None  # fmt: skip


def _give_back(function: Closure, run: Activation, own: OwnLists) -> None:
    """Change the lists and records of who called as the function has changed them."""
    lists = dict(own.lists.values())

    def given(value: Any) -> Any:
        theirs = lists.get(only_name(value) or FOREIGN) if isinstance(value, Mutable) else None
        return outward(value) if theirs is None else theirs

    for kept, version in run.changes.items():
        if not isinstance(version, Mutable):
            raise SwizzleError(
                f"{function.code.name} changes a list that it was given, whose length then depends on a condition",
                place=function.code.text.place(function.code.node), expected="a list of one length",
                fix="return a new list",
            )  # fmt: skip
        theirs, items = lists[kept.number], [given(item) for item in version.items]
        if isinstance(theirs, list):
            theirs[:] = items
        else:
            for field, item in zip(dataclasses.fields(theirs), items, strict=True):
                setattr(theirs, field.name, item)


def grammar(function: Callable[P, T], /) -> Lifted[P, T]:
    """Make a grammar of a function: each call in a lifted function is expanded anew, with choices of its own.

    Its body names expressions, each name once, and returns one, under tests of its parameters; it may call itself, with
    a depth that ends::

        @grammar
        def expr(x, y, depth):
            if depth == 0:
                return choose(x, y, hole(width=8))
            return choose(x, y, expr(x, y, depth - 1) + expr(x, y, depth - 1))

    Raises SwizzleError with a place for anything else in it.
    """
    made = Lifted(function, 64, "assert", grammar=True)
    check_grammar(made.closure.code)
    return made


@dataclass(frozen=True, slots=True, eq=False)
class OperatorCount(Integer):
    """The number of operators of a function, for `minimize=`; it knows how to try all programs in their order."""

    function: Closure

    __hash__ = Integer.__hash__

    def enumeration(self, claim: FNode, inputs: set[FNode]) -> Enumeration | None:
        """Return how to try the programs of a claim about all inputs; None where a solver must look for them."""
        from symbolic.lifting.enumeration import enumeration

        return enumeration(self.function, self.formula, claim, inputs)


def cost(function: Lifted[P, T]) -> int | Integer:
    """Return how many operators, calls and look-ups a function has once its unknowns are filled, for `minimize=`.

    Raises SwizzleError where it was not called yet, so that nothing is known of its choices.
    """
    if not isinstance(function, Lifted) or not function.closure.sketch.unknowns:
        raise SwizzleError(
            f"the cost of {getattr(function, '__name__', function)}, which has no choices yet",
            expected="a lifted function that was called", fix="call it in the guarantee first",
        )  # fmt: skip
    found = printing.cost_of(function.closure)
    return found if isinstance(found, int) else OperatorCount(found.formula, function.closure)
