"""The sequential part of `.swz` files: what its names mean to the interpreter of lifted functions, which reads it.

A specification computes with data, NumPy's or symbolic, and is steered by ints. No name, attribute or function leads
out of it; steps, sizes, calls within each other and time are limited (`symbolic.lifting.budget`), so a stranger's file
can waste a minute but neither the memory nor the machine. A specification in a `.py` file is run by Python itself.
"""

from __future__ import annotations

import ast
import builtins
import math as python_math
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any, Final

from msgspec.structs import replace

from swizzle.language.cuda_namespace import DeviceFunction
from swizzle.language.gpu import gpu_numbers
from swizzle.language.mathematics import DataFunction, gather, math, where
from swizzle.language.operators import Operator, ScanOperator
from swizzle.language.source.kernel_source import Source
from swizzle.language.specs.function import SequentialFunction
from swizzle.language.specs.syntax import BUILTINS, NAMESPACES, PART, PATTERN_NAMES, check_sequential
from swizzle.language.surface import ELEMENT_TYPES, maximum, minimum, zeros
from symbolic.algebra.operator_laws import LAWS
from symbolic.core.value_types import Boolean, IntegerLike, Real
from symbolic.errors import Place, SwizzleError
from symbolic.extensions import extension_names
from symbolic.lifting.builtins import HANDLED, Caller
from symbolic.lifting.comparisons import truth
from symbolic.lifting.environment import Closure, KnownFunction, Namespace, NameTable
from symbolic.lifting.functions import closure_with_defaults
from symbolic.lifting.lifted_text import TextOrigin, code_of
from symbolic.lifting.merging import merge
from symbolic.lifting.states import PathSite
from symbolic.lifting.values import DIRECT, Alternatives, Items, is_data, outward, shape_of
from symbolic.values.union import Union

_SYMBOLIC: Final = (Boolean, IntegerLike, Real, Union, Alternatives)
"""What a serial loop computes with."""


class SourceText(TextOrigin, frozen=True):
    """The text that a sequential function stands in; its `map` and `zip` are patterns, which make lists."""

    source: Source | None = None
    lazy: tuple[str, ...] = ("enumerate", "reversed")

    def place(self, node: ast.AST, function: str = "", called_from: Place | None = None) -> Place:
        """Return the place of a node, and the calls that lead there."""
        assert self.source is not None
        place = self.source.place(node)
        return place if called_from is None else replace(place, function=function, called_from=called_from)


class SequentialNames(Mapping[str, Any]):
    """What names mean in the sequential part: a file's constants and functions, the language's, users' operators."""

    def __init__(self, names: Mapping[str, Any], operators: Mapping[str, Operator]) -> None:
        self._names, self._operators = names, operators

    def __getitem__(self, name: str) -> Any:
        if name in self._names:
            found = self._names[name]
        elif name in BUILTINS or name in NAMESPACES:
            return _MEANINGS.get(name) or getattr(builtins, name)
        elif name in ELEMENT_TYPES:
            return KnownFunction(name, _converting(name))
        elif name in PATTERN_NAMES and name not in self._operators:
            from swizzle.language.specs.swz_patterns import PATTERNS

            return PATTERNS[name]
        elif name == "gpu" and name not in self._operators:
            return Namespace(name, gpu_numbers())
        else:
            found = self._operators[name]
        match found:
            case Operator():
                return KnownFunction(name, _operating(found))
            case DeviceFunction():
                return KnownFunction(name, _refusing(found))
            case ScanOperator():
                functions = {each: getattr(found, each) for each in ("lift", "combine", "result", "scan")}
                members = {each: KnownFunction(f"{name}.{each}", _on_words(f)) for each, f in functions.items()}
                return Namespace(name, members)
        return found

    def __iter__(self) -> Iterator[str]:
        own = [*BUILTINS, *NAMESPACES, *self._names, *self._operators]
        return iter(dict.fromkeys([*own, *extension_names("operators")]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def names_of(names: Mapping[str, Any], operators: Mapping[str, Operator]) -> NameTable:
    """Return what the names of a file's sequential part mean; `names` may grow, and changes in no other way."""
    return NameTable(
        SequentialNames(names, operators), "the sequential part", PART,
        "a name defined above, or a function of the sequential part", "define it above the specification",
    )  # fmt: skip


def define(node: ast.FunctionDef, source: Source, names: NameTable) -> SequentialFunction:
    """Make a function of `node`, after checking that all of it is in the sequential part."""
    return _function(node.name, node, source, names)


def evaluate(node: ast.expr, source: Source, names: NameTable) -> Any:
    """Return what an expression of the top level is."""
    if isinstance(node, ast.Lambda):
        return _function("lambda", node, source, names)
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        if isinstance(part, ast.Slice):
            source.mistake(
                part, "a slice where a number is needed", "a number",
                "a slice stands in an index of a list or an array only",
            )  # fmt: skip
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    made = _function("lambda", ast.copy_location(ast.Lambda(nothing, node), node), source, names)
    found = made()
    return SequentialFunction(found.code.name, found.code.node, source, found) if isinstance(found, Closure) else found


def _function(name: str, node: ast.FunctionDef | ast.Lambda, source: Source, names: NameTable) -> SequentialFunction:
    try:
        check_sequential(node if isinstance(node, ast.FunctionDef) else node.body, source)
        code = code_of(node, SourceText(source.file, source=source), _Eating(names))
        closure = closure_with_defaults(code, names)
    except RecursionError:
        source.mistake(
            node, "the sequential part is nested too deeply", PART, "write a loop instead, or name parts of it"
        )
    return SequentialFunction(name, node, source, closure)


class _Eating:
    """The names of what takes a generator's elements at once, users' operators, and of what is not known yet."""

    def __init__(self, names: NameTable) -> None:
        self._names = names

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and name not in BUILTINS and isinstance(self._names.table[name], KnownFunction)
        except KeyError:
            return True  # a call says what it is


# ---- what the language's own functions do ----------------------------------------------------------------------


def _extreme(name: str) -> Callable[[Caller, PathSite, ast.AST, list[Any], dict[str, Any]], Any]:
    """Return how `min`, `max`, `minimum` and `maximum` are called: on data as well as on numbers."""
    least, choose = ("min", minimum) if name.startswith("min") else ("max", maximum)

    def call(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if name == least and keywords:
            return HANDLED[getattr(builtins, name)](machine, site, node, arguments, keywords)
        if keywords:
            raise SwizzleError(f"{name} with {min(keywords)}=", expected=f"{name}(a, b, ...)", fix="leave it out")
        several = len(arguments) != 1 or name != least
        items = tuple(arguments) if several else machine.items(site, arguments[0])
        if not items or any(isinstance(item, Items | range) or shape_of(item) for item in items):
            raise SwizzleError(
                f"{name} of {'lists' if items else 'nothing'}", expected=f"{name} of one number or more",
                fix="give it their elements" if items else "give it a first value",
            )  # fmt: skip
        if all(type(item) in (int, bool, float) for item in items):
            return reduce(LAWS[least].fold, items)
        if any(is_data(type(item)) for item in items):
            return reduce(choose, items)
        return HANDLED[getattr(builtins, least)](machine, site, node, [items], {})

    return call


def _zeros(_: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if len(arguments) != 1 or keywords:
        raise SwizzleError(f"zeros with {len(arguments)} arguments", expected="a shape", fix="zeros((m, n))")
    try:
        array = zeros(outward(arguments[0]))
    except SwizzleError as error:
        raise SwizzleError(error.found, place=site.where(), expected=error.expected, fix=error.fix) from None
    site.budget.spend(array.size, site.where)
    return array


def _operating(operator: Operator) -> Callable[[Caller, PathSite, ast.AST, list[Any], dict[str, Any]], Any]:
    """Return how a user's operator is called: on its arguments, or on the items of the only one."""
    name = operator.name

    def call(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if keywords or not arguments:
            raise SwizzleError(
                f"a wrong call of {name}", expected="two values or more, or a list",
                fix=f"{name}(a, b), {name}(values)",
            )  # fmt: skip
        values = machine.items(site, arguments[0]) if len(arguments) == 1 else arguments
        site.budget.spend(len(values), site.where)
        try:
            return operator(list(values))
        except SwizzleError as error:
            raise SwizzleError(error.found, place=site.where(), expected=error.expected, fix=error.fix) from None
        except Exception as error:
            raise SwizzleError(
                f"{type(error).__name__}: {error}", expected=PART, fix="compute with numbers and array elements"
            ) from None

    return call


def _on_words(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return how a function of a scan's operator is called: on words, or on whole arrays."""

    def call(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if keywords:
            raise SwizzleError(
                "words with names", place=site.where(), expected="words in their order", fix="leave the names out"
            )
        lists = [isinstance(each, Items | range) or bool(shape_of(each)) for each in arguments]
        given = [machine.items(site, each) if some else each for each, some in zip(arguments, lists, strict=True)]
        site.budget.spend(sum(len(each) for each in given if isinstance(each, tuple)), site.where)
        try:
            found = function(*given)
        except SwizzleError as error:
            raise SwizzleError(error.found, place=site.where(), expected=error.expected, fix=error.fix) from None
        except Exception as error:
            raise SwizzleError(
                f"{type(error).__name__}: {error}", place=site.where(),
                expected="words, or lists of one length for scan",
                fix="see docs/from-a-loop-to-a-scan.md, 'In a kernel of your own'",
            ) from None  # fmt: skip
        return tuple(found) if isinstance(found, list) else found

    return call


def _spread_or_traced(name: str) -> Callable[[Caller, PathSite, ast.AST, list[Any], dict[str, Any]], Any]:
    """Return how `map` and `zip` are called: Python's, and the patterns where a value is traced."""

    def call(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if not any(hasattr(type(each), "taken_apart") for each in arguments):
            return HANDLED[getattr(builtins, name)](machine, site, node, arguments, keywords)
        from swizzle.language.specs.swz_patterns import PATTERNS

        return PATTERNS[name].call(machine, site, node, arguments, keywords)

    return call


def _refusing(function: DeviceFunction) -> Callable[[Caller, PathSite, ast.AST, list[Any], dict[str, Any]], Any]:
    """Return the mistake that calling a device function is."""

    def call(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise machine.error(
            getattr(node, "func", node), f"a call of the device function {function.name} outside a kernel",
            "a function of the sequential part", "write a function without a decorator for the specification",
        )  # fmt: skip

    return call


def _converting(name: str) -> Callable[[Caller, PathSite, ast.AST, list[Any], dict[str, Any]], Any]:
    """Return how a conversion of data is called; of anything else it is a mistake."""

    def call(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if len(arguments) == 1 and not keywords and is_data(type(arguments[0])) and not shape_of(arguments[0]):
            return ELEMENT_TYPES[name](arguments[0])
        raise machine.error(
            getattr(node, "func", node), f"a conversion, {name}(...), of what is no data",
            "a value that is computed from the kernel's inputs; other numbers have no types in a specification",
            "leave it out; a comparison becomes a number by where(a < b, 1, 0)",
        )  # fmt: skip

    return call


def _computing(name: str, function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return how a function on data is called: of `count` numbers or data."""

    def call(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        wrong = [each for each in arguments if not DIRECT[type(each)] or each is None]
        if len(arguments) == count and not keywords and any(isinstance(each, _SYMBOLIC) for each in arguments):
            return _symbolic(name, machine, site, node, arguments)
        if keywords or len(arguments) != count or wrong:
            raise SwizzleError(
                f"a wrong call of {name}", place=site.where(), expected=f"{count} numbers or data, without names",
                fix="give it the elements of lists one by one" if wrong else "write the arguments in order",
            )  # fmt: skip
        try:
            return function(*arguments)
        except SwizzleError as error:
            raise SwizzleError(error.found, place=site.where(), expected=error.expected, fix=error.fix) from None

    return call


def _gathering(_: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    array = bool(arguments) and (shape_of(arguments[0]) or hasattr(type(arguments[0]), "gather"))
    if keywords or len(arguments) < 2 or not array or not all(DIRECT[type(i)] for i in arguments[1:]):
        raise SwizzleError(
            "a wrong call of gather", place=site.where(), expected="gather(x, i), with an input array and its indices",
            fix="give it an array of the kernel's, and an index for each of its dimensions",
        )  # fmt: skip
    try:
        return gather(*arguments)
    except SwizzleError as error:
        raise SwizzleError(error.found, place=site.where(), expected=error.expected, fix=error.fix) from None
    except IndexError as error:
        raise SwizzleError(
            str(error),
            place=site.where(),
            expected="indices within the array",
            fix="clamp the index: min(max(i, 0), n - 1)",
        ) from None


def _symbolic(name: str, machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any]) -> Any:
    """Return a function of symbolic numbers, which are those of a serial loop."""
    if name == "where":
        condition, then, otherwise = arguments
        guard = truth(site, condition)
        return merge([(guard, then), (-guard, otherwise)])
    known = HANDLED.get(getattr(python_math, name.removeprefix("math."), None))
    if known is None:
        raise machine.error(
            getattr(node, "func", node), f"{name} in a serial loop", "math.exp, math.log and arithmetic",
            "compute it before the loop, and read it from an array",
        )  # fmt: skip
    return known(machine, site, node, arguments, {})


_MATH: Final = {
    name: KnownFunction(f"math.{name}", _computing(f"math.{name}", value, len(value.row.operands)))
    if isinstance(value, DataFunction)
    else value
    for name, value in vars(math).items()
}
_MEANINGS: Final[dict[str, Any]] = {
    name: KnownFunction(name, _extreme(name)) for name in ("min", "max", "minimum", "maximum")
} | {
    "map": KnownFunction("map", _spread_or_traced("map")),
    "zip": KnownFunction("zip", _spread_or_traced("zip")),
    "zeros": KnownFunction("zeros", _zeros),
    "where": KnownFunction("where", _computing("where", where, 3)),
    "gather": KnownFunction("gather", _gathering),
    "math": Namespace("math", _MATH),
}
"""What names mean that Python does not have, or has for numbers only."""
