"""What built-in functions and the core's own do in a lifted function; `exp` and `log` are names in formulas.

A call means what this table says; what is not in it is called as it is, from a trusted environment only.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import math
import operator
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import reduce
from types import FunctionType, UnionType
from typing import Any, Final, Protocol

from symbolic.core.structures import fields_of, has_fields, record
from symbolic.core.value_types import BitVector, Boolean, Integer, IntegerLike, Real, describe
from symbolic.core.values import all_of, any_of, implies, lookup, select
from symbolic.errors import SwizzleError
from symbolic.lifting import comparisons, operations, sequences
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Closure
from symbolic.lifting.merging import gathered, merge, truth_value
from symbolic.lifting.operations import spread, stores_only
from symbolic.lifting.states import Dead, PathSite, State
from symbolic.lifting.values import (
    DIRECT,
    Fields,
    Items,
    SymbolicRange,
    as_integer,
    inward,
    is_plain,
    kind_of,
    outward,
    parts_inside,
    said,
)
from symbolic.solve.floor_division import manager
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union

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


class Caller(Protocol):
    """What a handler needs of the running function."""

    def items(self, site: PathSite, sequence: Any) -> tuple[Any, ...]:
        """Return the elements of a sequence of one known length."""

    def error(self, node: ast.AST, found: str, expected: str, fix: str) -> SwizzleError:
        """Return the mistake of a user at a node."""

    def generated(self, node: ast.ListComp | ast.GeneratorExp, state: State) -> Iterator[tuple[Guard, Any]]:
        """Yield the elements of a comprehension, each with the guard that it is one."""

    def call(self, site: PathSite, node: ast.AST, function: Any, *arguments: Any) -> Any:
        """Call a function."""

    def site(self, node: ast.AST, state: State) -> PathSite:
        """Return where a node is met."""


Handler = Callable[[Caller, PathSite, ast.AST, list[Any], dict[str, Any]], Any]


def fixed(low: int, high: int, named: tuple[str, ...] = ()) -> Callable[[Handler], Handler]:
    """Check the number of arguments, and that they are not named."""

    def decorated(function: Handler) -> Handler:
        def checked(
            machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]
        ) -> Any:
            name = function.__name__.strip("_")
            unknown = [key for key in keywords if key not in named]
            if unknown or not low <= len(arguments) <= high:
                raise SwizzleError(
                    f"{name} with " + (f"{unknown[0]}=" if unknown else f"{len(arguments)} arguments"),
                    expected=f"{name} of {low if low == high else f'{low} to {high}'}", fix="help(" + name + ")",
                )  # fmt: skip
            return function(machine, site, node, arguments, keywords)

        return checked

    return decorated


MANY: Final = 1_000


@fixed(1, 1)
def _len(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    return sequences.length_of(site, arguments[0])


@fixed(1, 3)
def _range(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    if all(type(each) is int for each in arguments) and (len(arguments) < 3 or arguments[2]):
        return range(*arguments)
    start, stop, step = {1: (0, *arguments, 1), 2: (*arguments, 1)}.get(len(arguments), tuple(arguments))

    def made(at: PathSite, first: Any, last: Any) -> Any:
        if all(type(each) in (int, bool) for each in (first, last, step)):
            return operations.attempt(at, range, first, last, step)
        if site.budget.limited and not all(isinstance(each, operations.Number) for each in (first, last, step)):
            raise SwizzleError(
                "a range of something else than ints", expected="ints: sizes, loop variables, constants",
                fix="divide with `//`",
            )  # fmt: skip
        if type(step) is not int or step == 0:
            raise SwizzleError("a range's step", expected="a number other than 0", fix="range(a, b, 2)")
        if not all(isinstance(each, operations.Number) for each in (first, last)):
            wrong = said(next(each for each in (first, last) if not isinstance(each, operations.Number)))
            if any(hasattr(type(each), "__index__") for each in (first, last)):
                raise SwizzleError(f"a range to {wrong}", expected="a Python int", fix="int(...)")
            at.fail(f"TypeError: a range to {wrong}")
        return SymbolicRange(first, last, step)

    return spread(site, made, start, stop)


@fixed(1, 1)
def _abs(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    def made(at: PathSite, value: Any) -> Any:
        if isinstance(value, Union):
            return gathered([(guard, abs(number)) for number, guard in value.values.items()])
        return abs(value) if isinstance(value, IntegerLike) else operations.attempt(at, abs, value)

    return spread(site, made, arguments[0])


def _extreme(symbol: str) -> Handler:
    def handler(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        name, key = "min" if symbol == "<" else "max", keywords.get("key")
        unknown = keywords.keys() - ({"key", "default"} if len(arguments) == 1 else {"key"})
        if unknown:
            raise SwizzleError(f"{name} with {min(unknown)}=", expected=f"{name}(xs), key= and default=", fix="if")

        def least(at: PathSite, given: Any) -> Any:
            items = _known(machine, at, given)
            if not items and "default" in keywords:
                return keywords["default"]
            if not items:
                at.fail(f"ValueError: {name} of nothing")
            best = items[0]
            best_key = machine.call(at, node, key, best) if key is not None else best
            for item in items[1:]:
                item_key = machine.call(at, node, key, item) if key is not None else item
                better = comparisons.compare(at, symbol, item_key, best_key)
                best = merge([(better, item), (-better, best)])
                best_key = merge([(better, item_key), (-better, best_key)])
            return best

        return spread(site, least, arguments[0] if len(arguments) == 1 else tuple(arguments))

    return handler


@fixed(1, 2, ("start",))
def _sum(machine: Caller, site: PathSite, _: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    def total(at: PathSite, given: Any) -> Any:
        found = arguments[1] if len(arguments) == 2 else keywords.get("start", 0)
        for item in _known(machine, at, given):
            if DIRECT[type(found)] and DIRECT[type(item)] and type(item) is not type(None):
                try:
                    found = found + item
                    continue
                except operations.FAILURES as error:  # who fails, and where, is said below
                    if at.budget.limited and isinstance(error, OverflowError):  # below, NumPy's integers are Python's
                        at.fail(f"OverflowError: {error}")
            found = operations.binary(at, "+", found, item)
        return found

    return spread(site, total, arguments[0])


def _quantifier(wanted: bool) -> Handler:
    def handler(machine: Caller, site: PathSite, _: ast.AST, arguments: list[Any], __: dict[str, Any]) -> Any:
        table, sign = conditions(), 1 if wanted else -1
        (given,) = arguments

        def found(at: PathSite, sequence: Any) -> Any:
            guards = [sign * comparisons.truth(at, item) for item in _known(machine, at, sequence)]
            return truth_value(table, sign * table.all(guards))

        return spread(site, found, given)

    return handler


def _lazy_quantifier(wanted: bool) -> Callable[[Caller, ast.AST, ast.GeneratorExp, State], Any]:
    """`all` and `any` of a generator: what follows the element that decides is not computed."""

    def handler(machine: Caller, node: ast.AST, generator: ast.GeneratorExp, state: State) -> Any:
        table, sign, undecided = conditions(), 1 if wanted else -1, TRUE
        going = State(state.path, dict(state.names))
        elements = machine.generated(generator, going)
        while True:
            try:
                present, item = next(elements, (FALSE, None))
                guard = comparisons.truth(machine.site(node, going), item) if present != FALSE else FALSE
            except Dead:
                going.leave(state)
                break
            if present == FALSE:
                break
            undecided = table.both(undecided, -table.both(present, -sign * guard))
            going.path = table.both(state.path, undecided)
            if going.path == FALSE:
                break
        return truth_value(table, sign * undecided)

    return handler


@fixed(0, 1)
def _list(machine: Caller, site: PathSite, _: ast.AST, arguments: list[Any], __: dict[str, Any]) -> Any:
    return spread(site, lambda at, xs: Items.new(_known(machine, at, xs)), *arguments) if arguments else Items.new(())


@fixed(0, 1)
def _tuple(machine: Caller, site: PathSite, _: ast.AST, arguments: list[Any], __: dict[str, Any]) -> Any:
    return spread(site, lambda at, xs: _known(machine, at, xs), *arguments) if arguments else ()


@fixed(1, 1)
def _reversed(machine: Caller, site: PathSite, _: ast.AST, arguments: list[Any], __: dict[str, Any]) -> Any:
    return spread(site, lambda at, xs: _known(machine, at, xs)[::-1], *arguments)


@fixed(1, 2, ("start",))
def _enumerate(machine: Caller, site: PathSite, _: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    first = arguments[1] if len(arguments) == 2 else keywords.get("start", 0)

    def counted(at: PathSite, xs: Any) -> tuple[Any, ...]:
        items = _known(machine, at, xs)
        return tuple((operations.binary(at, "+", first, place), item) for place, item in enumerate(items))

    return spread(site, counted, arguments[0])


@fixed(0, MANY, ("strict",))
def _zip(machine: Caller, site: PathSite, _: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    def zipped(at: PathSite, *sequences: Any) -> tuple[Any, ...]:
        known = [_known(machine, at, sequence) for sequence in sequences]
        if keywords.get("strict") is True and len(set(map(len, known))) > 1:
            at.fail("ValueError: zip of sequences of several lengths")
        return tuple(zip(*known, strict=False))

    return spread(site, zipped, *arguments)


@fixed(2, MANY)
def _map(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], __: dict[str, Any]) -> Any:
    function, *sequences = arguments

    def each(at: PathSite, *given: Any) -> tuple[Any, ...]:
        rows = zip(*(_known(machine, at, sequence) for sequence in given), strict=False)
        return tuple(machine.call(at, node, function, *row) for row in rows)

    return spread(site, each, *sequences)


@fixed(2, 3)
def _reduce(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], __: dict[str, Any]) -> Any:
    function, sequence, *first = arguments

    def folded(at: PathSite, given: Any) -> Any:
        items = [*first, *_known(machine, at, given)]
        if not items:
            at.fail("TypeError: reduce of an empty sequence")
        return reduce(lambda a, b: machine.call(at, node, function, a, b), items)

    return spread(site, folded, sequence)


@fixed(1, 1, ("key", "reverse"))
def _sorted(machine: Caller, site: PathSite, node: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    key, backward = keywords.get("key"), keywords.get("reverse", False)
    if not isinstance(backward, bool):
        raise SwizzleError(
            f"sorted with reverse={said(backward)}",
            place=site.where(),
            expected="True or False",
            fix="two calls, each under an `if`",
        )

    def ordered(at: PathSite, given: Any) -> Any:
        items = list(_known(machine, at, given))
        site.budget.spend(len(items) * len(items).bit_length(), site.where)
        site.budget.measure(tuple(items), parts_inside, site.where)
        keys = items if key is None else [machine.call(at, node, key, each) for each in items]
        if is_plain(outward(Items.new(keys))):
            shown = [outward(each) for each in keys]
            places = operations.attempt(
                at, lambda: tuple(sorted(range(len(items)), key=shown.__getitem__, reverse=backward))
            )
            return tuple(items[place] for place in outward(places))
        pairs = list(zip(keys, items, strict=True))
        for last in range(len(pairs) - 1, 0, -1):  # neighbours change places, the greatest goes up
            for place in range(last):
                a, b = pairs[place], pairs[place + 1]
                swap = (
                    comparisons.compare(at, "<", a[0], b[0]) if backward else comparisons.compare(at, "<", b[0], a[0])
                )
                pairs[place] = (merge([(swap, b[0]), (-swap, a[0])]), merge([(swap, b[1]), (-swap, a[1])]))
                pairs[place + 1] = (merge([(swap, a[0]), (-swap, b[0])]), merge([(swap, a[1]), (-swap, b[1])]))
        return tuple(item for _, item in pairs)

    return spread(site, lambda at, xs: Items.new(ordered(at, xs)), *arguments)


@fixed(0, 1)
def _bool(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    return truth_value(conditions(), comparisons.truth(site, arguments[0])) if arguments else False


@fixed(0, 1)
def _int(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    def made(at: PathSite, value: Any) -> Any:
        if isinstance(value, Union | Integer):
            return value
        if isinstance(value, Boolean):
            return operations.binary(at, "+", value, 0)
        if isinstance(value, BitVector):
            raise SwizzleError(f"int of {describe(value)}", expected="the bit-vector itself", fix="x.to_integer()")
        if site.budget.limited and not isinstance(value, int):
            raise SwizzleError(
                f"int of {kind_of(value)}", expected="an int: sizes, loop variables and constants",
                fix="a specification computes with data; it does not index with it",
            )  # fmt: skip
        return operations.attempt(at, int, value)

    return spread(site, made, *arguments) if arguments else 0


_STAND_FOR: Final[tuple[tuple[Any, type, type], ...]] = (
    (Union | Integer, int, Integer), (Real, Fraction, Real), (Boolean, bool, Boolean), (Items, list, list),
    (SymbolicRange, range, range), (Closure, FunctionType, FunctionType),
)  # fmt: skip
"""What a value is in Python."""


def _kinds_in(kinds: Any) -> Iterator[Any]:
    """Yield the classes of a tuple of them, or of `int | None`."""
    if isinstance(kinds, UnionType) or typing.get_origin(kinds) is typing.Union:
        kinds = typing.get_args(kinds)
    if isinstance(kinds, tuple):
        for kind in kinds:
            yield from _kinds_in(kind)
    else:
        yield typing.get_origin(kinds) or kinds


@fixed(2, 2)
def _isinstance(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    value, kinds = arguments
    asked = tuple(_kinds_in(kinds))
    if not all(isinstance(kind, type) for kind in asked):
        raise SwizzleError(
            f"isinstance of {said(kinds)}", place=site.where(), expected="a class, or a tuple of such", fix="int"
        )

    def tell(_: PathSite, each: Any) -> bool:
        for own, stands_for, symbolic in _STAND_FOR:
            if isinstance(each, own):
                return any(kind is symbolic or issubclass(stands_for, kind) for kind in asked)
        return issubclass(each.kind, asked) if isinstance(each, Fields) else isinstance(each, asked)

    return spread(site, tell, value)


@fixed(1, 1)
def _type(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    def tell(_: PathSite, each: Any) -> type:
        if isinstance(each, Union | Integer):
            return int
        if isinstance(each, Real):
            return Fraction
        if isinstance(each, Boolean):
            return bool
        return each.kind if isinstance(each, Fields) else list if isinstance(each, Items) else type(each)

    return spread(site, tell, arguments[0])


@fixed(2, 2)
def _divmod(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    return tuple(operations.binary(site, symbol, *arguments) for symbol in ("//", "%"))


@fixed(2, 2)
def _pow(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    return operations.binary(site, "**", *arguments)


# ---- the core's own --------------------------------------------------------------------------------------------


@fixed(3, 3)
def _select(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    guard = comparisons.truth(site, arguments[0])
    return merge([(guard, arguments[1]), (-guard, arguments[2])])


@fixed(2, 2)
def _lookup(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    sequence, index = arguments
    site.require(comparisons.compare(site, ">=", index, 0), "IndexError: a negative index")
    return sequences.read(site, sequence, index)


def _connective(wanted: bool) -> Handler:
    def handler(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
        table, sign = conditions(), 1 if wanted else -1
        return truth_value(table, sign * table.all(sign * comparisons.truth(site, each) for each in arguments))

    return handler


@fixed(2, 2)
def _implies(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    premise, conclusion = (comparisons.truth(site, each) for each in arguments)
    return truth_value(conditions(), -conditions().both(premise, -conclusion))


def _replace(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    (given,) = arguments

    def made(at: PathSite, each: Any) -> Any:
        if isinstance(each, Fields):
            return inward(made(at, each.record))
        if not has_fields(each):
            raise SwizzleError(
                f"replace of {said(each)}", place=at.where(), expected="a record", fix="@dataclass(frozen=True)"
            )
        unknown = keywords.keys() - fields_of(each).keys()
        if unknown:
            raise SwizzleError(
                f"{type(each).__name__} has no field {min(unknown)}",
                expected=", ".join(fields_of(each)),
                fix="a field",
            )
        if not stores_only(type(each)):
            return operations.native(at, dataclasses.replace, [each], keywords)
        return record(type(each), {**fields_of(each), **keywords})

    return spread(site, made, given)


def _known(machine: Caller, site: PathSite, sequence: Any) -> tuple[Any, ...]:
    """Return the elements of a sequence of one length."""
    if isinstance(sequence, Items):
        return sequence.items
    if isinstance(sequence, tuple):
        return sequence
    return machine.items(site, sequence)


SPECIAL: Final[dict[Any, Callable[[Caller, ast.AST, ast.GeneratorExp, State], Any]]] = {
    builtins.all: _lazy_quantifier(True),
    builtins.any: _lazy_quantifier(False),
}
"""What looks at a generator's elements one by one."""

HANDLED: Final[dict[Any, Handler]] = {
    reduce: _reduce,
    builtins.len: _len, builtins.range: _range, builtins.abs: _abs, builtins.min: _extreme("<"),
    builtins.max: _extreme(">"), builtins.sum: _sum, builtins.all: _quantifier(True), builtins.any: _quantifier(False),
    builtins.list: _list, builtins.tuple: _tuple, builtins.reversed: _reversed, builtins.enumerate: _enumerate,
    builtins.zip: _zip, builtins.map: _map, builtins.sorted: _sorted, builtins.bool: _bool, builtins.int: _int,
    builtins.isinstance: _isinstance, builtins.type: _type, builtins.divmod: _divmod, builtins.pow: _pow,
    dataclasses.replace: _replace, operator.index: _int, select: _select, lookup: _lookup, implies: _implies,
    all_of: _connective(True), any_of: _connective(False), **{function: handler(function) for function in ELEMENTARY},
}  # fmt: skip

FORBIDDEN: Final = frozenset({
    builtins.eval, builtins.exec, builtins.compile, builtins.open, builtins.input, builtins.__import__,
    builtins.globals, builtins.locals, builtins.vars, builtins.setattr, builtins.delattr, builtins.getattr,
    builtins.iter, builtins.next, builtins.set, builtins.dict, builtins.frozenset, builtins.str, builtins.repr,
    builtins.float, builtins.hash, builtins.id, builtins.filter, builtins.print,
})  # fmt: skip
"""What a lifted function has no use for."""
