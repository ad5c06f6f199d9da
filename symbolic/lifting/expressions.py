"""Expressions of lifted functions: what each is on a state's paths, and the guard that it counts as true.

Nothing is compiled or executed: a name means what the environment says, a call what the table in `builtins` says.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from contextlib import suppress
from math import prod
from types import FunctionType, MethodType
from typing import Any, Final

from symbolic.core.structures import fields_of, is_record
from symbolic.core.value_types import Boolean, IntegerLike, describe
from symbolic.errors import SwizzleError, near
from symbolic.lifting import comparisons, operations, sequences
from symbolic.lifting.budget import BITS
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Closure, Namespace
from symbolic.lifting.merging import merge, truth_value
from symbolic.lifting.operations import spread
from symbolic.lifting.sequences import Iteration
from symbolic.lifting.states import UNSET, Dead, PathSite, State
from symbolic.lifting.values import (
    DIRECT,
    Alternatives,
    Fields,
    Items,
    SharedName,
    SymbolicRange,
    inward,
    is_data,
    is_data_condition,
    is_plain,
    kind_of,
    list_names,
    outward,
    said,
    shape_of,
)  # fmt: skip
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union

OPERATORS: Final = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Div: "/", ast.MatMult: "@",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_GROWING: Final = ("**", "<<")
_LARGE: Final = 1 << BITS
_INDICES: Final = frozenset({int})
_ELSEWHERE: Final = object()
INNER: Final = ("described", "formula", "lift", "like")
"""What symbolic values have for the core alone."""


class Expressions(Iteration):
    """One call of a function, as far as its expressions go."""

    def value(self, node: ast.expr, state: State) -> Any:
        """Return what an expression is on a state's paths."""
        self.budget.left -= 1
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise self.error(
                node, f"`{ast.unparse(node)}` in a lifted function", "another expression", "compute it before the call"
            )
        try:
            return handler(self, node, state)
        except SwizzleError as error:
            raise self.placed(node, error) from None

    def condition(self, node: ast.expr, state: State) -> Guard:
        """Return the guard that an expression counts as true; what decides it alone is all that is asked."""
        if type(node) is ast.Compare and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            return self._compared(node, state)
        table = conditions()
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return -self.condition(operand, state)
            case ast.BoolOp(op=op, values=values):
                sign = 1 if isinstance(op, ast.And) else -1
                found = sign * self.condition(values[0], state)
                for each in values[1:]:
                    inner = state.on(found)
                    if inner is None:
                        return sign * FALSE
                    try:
                        holds = self.condition(each, inner)
                        self.absorbed(inner, found, state)
                        found = table.both(found, sign * holds)
                    except Dead:
                        inner.leave(state)
                        return sign * FALSE
                return sign * found
            case ast.Compare(left=left, ops=ops, comparators=others):
                found, a, inner = TRUE, self.value(left, state), state
                for each_op, other in zip(ops, others, strict=True):
                    symbol = OPERATORS[type(each_op)]
                    try:
                        b = self.value(other, inner)
                        self.absorbed(inner, found, state)
                        found = table.both(
                            found, comparisons.compared_in_text(self.site(node, inner), node, symbol, a, b)
                        )
                    except Dead:
                        inner.leave(state)
                        return FALSE
                    a, next_state = b, inner.on(found)
                    if next_state is None:
                        break
                    inner = next_state
                return found
        value = self.value(node, state)
        if type(value) is bool:
            return TRUE if value else FALSE
        return comparisons.truth(self.site(node, state), value)

    def _compared(self, node: ast.Compare, state: State) -> Guard:
        """Return the guard of one comparison."""
        self.budget.left -= 1
        return self._related(node, self.value(node.left, state), self.value(node.comparators[0], state), state)

    def _comparison(self, node: ast.Compare, state: State) -> Any:
        """Return a comparison as a value: of data it is data, for a `where`."""
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARE:
            return self._truth_value(node, state)
        a, b = self.value(node.left, state), self.value(node.comparators[0], state)
        if DIRECT[type(a)] and DIRECT[type(b)] and (is_data(type(a)) or is_data(type(b))):
            return _COMPARE[type(node.ops[0])](a, b)
        return truth_value(conditions(), self._related(node, a, b, state))

    def _related(self, node: ast.Compare, a: Any, b: Any, state: State) -> Guard:
        kind = type(node.ops[0])
        try:
            if DIRECT[type(a)] and DIRECT[type(b)]:
                found = None
                with suppress(*operations.FAILURES):  # who fails, and where, is said below
                    found = _COMPARE[kind](a, b)
                if type(found) is bool:
                    return TRUE if found else FALSE
            return comparisons.compared_in_text(self.site(node, state), node, OPERATORS[kind], a, b)
        except SwizzleError as error:
            raise self.placed(node, error) from None

    def _truth_value(self, node: ast.expr, state: State) -> Any:
        return truth_value(conditions(), self.condition(node, state))

    def _unary(self, node: ast.UnaryOp, state: State) -> Any:
        if isinstance(node.op, ast.Not):
            if not self.budget.limited:
                return self._truth_value(node, state)
            value = self.value(node.operand, state)
            if is_data_condition(value):
                return ~value
            return truth_value(conditions(), -comparisons.truth(self.site(node, state), value))
        value = self.value(node.operand, state)
        if type(value) in (int, float) and isinstance(node.op, ast.USub):
            return -value
        return operations.unary(self.site(node, state), OPERATORS[type(node.op)], value)

    def _binary(self, node: ast.BinOp, state: State) -> Any:
        return self.computed(
            node, OPERATORS[type(node.op)], self.value(node.left, state), self.value(node.right, state), state
        )

    def computed(self, node: ast.AST, symbol: str, a: Any, b: Any, state: State) -> Any:
        """Return `a symbol b`: numbers and data at once, what depends on conditions by `operations`."""
        if DIRECT[type(a)] and DIRECT[type(b)]:
            if symbol in _GROWING and isinstance(a, int) and isinstance(b, int):
                self.budget.check_operation(symbol, a, b, lambda: self.place(node))
            try:
                found = operations.ARITHMETIC[symbol](a, b)
                if type(found) is int and not -_LARGE < found < _LARGE:
                    self.budget.check_operation("", found, 0, lambda: self.place(node))
                return found
            except SwizzleError:
                raise
            except Exception as error:
                if self.budget.limited and state.path == TRUE:
                    raise self.mistaken(node, error) from None
                if not isinstance(error, operations.FAILURES):
                    raise
        return operations.binary(self.site(node, state), symbol, a, b)

    def _bool_op(self, node: ast.BoolOp, state: State) -> Any:
        """`a and b` is a where a counts as false, else b; comparisons of data are combined, for a `where`."""
        found = self.value(node.values[-2], state) if len(node.values) == 2 else self._bool_op(
            ast.copy_location(ast.BoolOp(node.op, node.values[:-1]), node), state
        )  # fmt: skip
        if self.budget.limited and is_data_condition(found):
            other = self.value(node.values[-1], state)
            if not isinstance(other, bool) and not is_data_condition(other):
                raise self.error(
                    node.values[-1], f"{kind_of(other)} beside a comparison of data", "a comparison",
                    "x != 0 for a number",
                )  # fmt: skip
            return found & other if isinstance(node.op, ast.And) else found | other
        guard = comparisons.truth(self.site(node, state), found)
        guard = guard if isinstance(node.op, ast.And) else -guard
        return self._either(state, guard, lambda on: self.value(node.values[-1], on), lambda _: found)

    def _if_expression(self, node: ast.IfExp, state: State) -> Any:
        guard = self.condition(node.test, state)
        return self._either(state, guard, lambda on: self.value(node.body, on), lambda on: self.value(node.orelse, on))

    def _either(self, state: State, guard: Guard, yes: Callable[[State], Any], no: Callable[[State], Any]) -> Any:
        found: list[tuple[Guard, Any]] = []
        for part, branch in ((guard, yes), (-guard, no)):
            on = state.on(part)
            if on is not None:
                try:
                    found.append((part, branch(on)))
                    self.absorbed(on, part, state)
                except Dead:
                    continue
        if not found:
            raise Dead
        return merge(found)

    def _name(self, node: ast.Name, state: State) -> Any:
        name = node.id
        value = state.names.get(name, _ELSEWHERE)
        if value is not _ELSEWHERE:
            if DIRECT[type(value)]:
                return value
            if type(value) is SharedName:
                value = value.at(0)
            if value is UNSET:
                self._unassigned(node, state)
            if isinstance(value, Alternatives) and any(part is UNSET for _, part in value.parts):
                site = self.site(node, state)
                unset = next(guard for guard, part in value.parts if part is UNSET)
                site.require(-unset, f"UnboundLocalError: {name} has no value")
                return merge((guard, part) for guard, part in value.parts if part is not UNSET)
            return value
        if name in self.code.local:
            self._unassigned(node, state)
        if name in self.function.captured:
            return self.function.captured[name]
        found = self._outside.get(name, UNSET)
        if found is UNSET:
            found = inward(self._find(node, name), operations.THEIRS)
            if type(found) is dict or list_names(found) <= operations.THEIRS:  # what was given may change
                self._outside[name] = found
        return found

    def _walrus(self, node: ast.NamedExpr, state: State) -> Any:
        assert isinstance(node.target, ast.Name)
        found = self.value(node.value, state)
        self.store(node.target, found, state)
        return found

    def absorbed(self, inner: State, guard: Guard, state: State) -> None:
        """Let a state know what names were given on a part of its paths, by `:=`."""
        if self.code.names_inside and inner is not state:
            for name, value in inner.names.items():
                old = state.names.get(name, UNSET)
                if value is not old:
                    state.names[name] = merge([(guard, value), (-guard, old)])

    def _text(self, node: ast.JoinedStr, state: State) -> Any:
        """Return text made of values that Python knows; of alternatives, each one's."""
        parts = [self.value(each, state) for each in node.values]
        return spread(self.site(node, state), lambda _, *some: "".join(some), *parts)

    def _formatted(self, node: ast.FormattedValue, state: State) -> Any:
        conversions: dict[int, Callable[[Any], Any]] = {-1: lambda each: each, 115: str, 114: repr, 97: ascii}
        conversion = conversions[node.conversion]
        layout = "" if node.format_spec is None else self.value(node.format_spec, state)

        def shown(site: PathSite, value: Any, spec: Any) -> Any:
            if not is_plain(value) or isinstance(value, SymbolicRange | Closure):
                raise self.error(
                    node, f"text made of {said(value)}", "values that Python knows", "return the values themselves"
                )
            return operations.attempt(site, lambda each, like: format(conversion(each), like), value, spec)

        return spread(self.site(node, state), shown, self.value(node.value, state), layout)

    def _unassigned(self, node: ast.Name, state: State) -> None:
        if state.path != TRUE:
            self.site(node, state).fail(f"UnboundLocalError: {node.id} has no value")
        raise self.error(node, f"{node.id} has no value yet", "an assignment before", f"{node.id} = ...")

    def _find(self, node: ast.Name, name: str) -> Any:
        try:
            return self.function.environment.find(name)
        except KeyError:
            environment = self.function.environment
            close = near(name, [*self.code.local, *environment.names()]) or environment.advice
            raise self.error(node, f"{name} is not defined", environment.wanted, close) from None

    def _sequence(self, node: ast.Tuple | ast.List, state: State) -> Any:
        if ast.Starred not in map(type, node.elts):
            items = tuple([self.value(each, state) for each in node.elts])
            return items if type(node) is ast.Tuple else Items.new(items)
        site, found = self.site(node, state), ()
        for each in node.elts:
            if isinstance(each, ast.Starred):
                more = self.value(each.value, state)
                found = spread(site, lambda at, some, xs: some + self.items(at, xs), found, more)
            else:
                one = self.value(each, state)
                found = spread(site, lambda _, some, one=one: (*some, one), found)
        return found if isinstance(node, ast.Tuple) else spread(site, lambda _, some: Items.new(some), found)

    def _dict(self, node: ast.Dict, state: State) -> Any:
        """Return a dict, whose keys Python knows."""
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                more = self.value(value, state)
                if not isinstance(more, dict):
                    raise self.error(value, f"`**` of {said(more)}", "a dict", "{key: value}")
                made |= more
            else:
                made[self._key(key, self.value(key, state))] = self.value(value, state)
        return made

    def _set(self, node: ast.Set, state: State) -> Any:
        return {self._key(each, self.value(each, state)) for each in node.elts}

    def _keyed_comprehension(self, node: ast.DictComp | ast.SetComp, state: State) -> Any:
        """Return the dict or the set of a comprehension, whose elements are there whatever the inputs are."""
        pair = ast.Tuple([node.key, node.value], ast.Load()) if isinstance(node, ast.DictComp) else node.elt
        rows = ast.copy_location(ast.GeneratorExp(ast.copy_location(pair, node), node.generators), node)
        found: list[Any] = []
        for guard, row in self.generated(rows, state):
            if guard != TRUE:
                raise self.error(
                    node, "an element that is there on a condition", "elements whose number is known",
                    "a list: [x for x in xs if ...]",
                )  # fmt: skip
            found.append(row)
        if isinstance(node, ast.DictComp):
            return {self._key(node.key, key): value for key, value in found}
        return {self._key(node.elt, each) for each in found}

    def _key(self, node: ast.expr, key: Any) -> Any:
        if not is_plain(outward(key)) or isinstance(key, Items | Closure | SymbolicRange | dict | set):
            raise self.error(
                node, f"a key or an element of a set that is {said(key)}", "one that Python knows, and can hash",
                "a list of pairs, or a tuple: x in (a, b)",
            )  # fmt: skip
        return key

    def _subscript(self, node: ast.Subscript, state: State) -> Any:
        sequence, index = self.value(node.value, state), self.value(node.slice, state)
        if type(sequence) is Items and type(index) is int and 0 <= index < len(sequence):
            return sequence.at(index)
        if shape_of(sequence) or hasattr(type(sequence), "gather"):
            return self.element(node, sequence, index, state)
        if self.budget.limited:
            self.check_index(node, index)
        return sequences.read(self.site(node, state), sequence, index)

    def element(self, node: ast.Subscript, array: Any, index: Any, state: State) -> Any:
        """Return an element or a part of an array."""
        if type(index) is int or (type(index) is tuple and _INDICES.issuperset(map(type, index))):
            pass
        elif self.budget.limited:
            self.check_index(node, index)
        elif not is_plain(index):
            return sequences.read(self.site(node, state), array, index)
        try:
            found = array[index]
        except operations.FAILURES as error:
            if self.budget.limited and state.path == TRUE:
                raise self.mistaken(node, error) from None
            return sequences.read(self.site(node, state), array, index)
        if DIRECT[type(found)]:
            return found
        self.budget.left -= prod(shape_of(found)) if not isinstance(found, list) else len(found)
        return inward(found, operations.THEIRS)

    def check_index(self, node: ast.Subscript, index: Any) -> None:
        """Refuse an index that is data."""
        parts = zip(node.slice.elts, index, strict=True) if (
            isinstance(node.slice, ast.Tuple) and isinstance(index, tuple)
        ) else [(node.slice, index)]  # fmt: skip
        for at, part in parts:
            ends = (part.start, part.stop, part.step) if isinstance(part, slice) else (part,)
            for each in ends:
                if isinstance(each, float) or is_data(type(each)) or shape_of(each):
                    raise self.error(
                        at, f"an index that is {kind_of(each)}", "an int: sizes, loop variables and constants",
                        "a specification computes with data; an input is read at an index that is data by gather(x, i)",
                    )  # fmt: skip

    def _slice(self, node: ast.Slice, state: State) -> slice:
        return slice(*(each and self.value(each, state) for each in (node.lower, node.upper, node.step)))

    def _attribute(self, node: ast.Attribute, state: State) -> Any:
        return self.looked_up(node, self.value(node.value, state), state)

    def looked_up(self, node: ast.Attribute, holder: Any, state: State) -> Any:
        """Return an attribute of a value."""
        name = node.attr

        def look(site: PathSite, each: Any) -> Any:
            if is_record(each) and name in fields_of(each):
                return getattr(each, name)
            if isinstance(each, Fields) and (place := each.place(name)) is not None:
                return each.at(place)
            if isinstance(each, tuple) and name in getattr(type(each), "_fields", ()):
                return getattr(each, name)
            if isinstance(each, Items | Union):
                kind = list if isinstance(each, Items) else int
                if hasattr(kind, name):
                    raise self.error(
                        node, f"`.{name}` of {said(each)}", "operators, or a method of a list where it is called",
                        "compute it outside, or write it with operators",
                    )  # fmt: skip
                site.fail(f"AttributeError: {said(each)} has no `.{name}`")
            if isinstance(each, Namespace):
                if name not in each.members:
                    raise self.error(
                        node, f"{each.name} has no `{name}`", f"one of {', '.join(each.members)}",
                        near(name, each.members, f"{each.name}."),
                    )  # fmt: skip
                return each.members[name]
            kind = each.kind if isinstance(each, Fields) else type(each)
            known = getattr(kind, name, None)
            if isinstance(each, Fields) or is_record(each):
                if isinstance(known, property) and isinstance(known.fget, FunctionType):
                    return self.call(site, node, MethodType(known.fget, each))
                if isinstance(known, FunctionType) or hasattr(known, "closure"):
                    return MethodType(known, each)  # type: ignore[arg-type]
            if name == "shape" and shape_of(each):
                return shape_of(each)
            if name == "_replace" and isinstance(each, tuple):
                made = ", ".join(f"{field}=..." for field in getattr(each, "_fields", ("...",)))
                raise self.error(node, f"`._replace` of {said(each)}", "a new record", f"{type(each).__name__}({made})")
            if not self.function.environment.trusted or name.startswith("_"):
                raise self.error(
                    node, f"`.{name}` of {said(each)}", "a field of a record, or a function of a scan's operator",
                    f"leave `.{name}` out",
                )  # fmt: skip
            try:
                return inward(getattr(kind if isinstance(each, Fields) else each, name), operations.THEIRS)
            except AttributeError as error:
                if isinstance(each, Boolean | IntegerLike):
                    known = [has for has in dir(each) if not has.startswith("_") and has not in INNER]
                    raise self.error(
                        node, f"{describe(each)} has no `.{name}`", f"one of {', '.join(known)}" if known else "",
                        near(name, known) or "its operators, or a loop over its bits",
                    ) from None  # fmt: skip
                site.fail(f"AttributeError: {error}")

        return spread(self.site(node, state), look, holder)


_HANDLERS: Final[dict[type[ast.AST], Callable[[Expressions, Any, State], Any]]] = {
    ast.Constant: lambda _, node, __: node.value,
    ast.Name: Expressions._name,
    ast.UnaryOp: Expressions._unary,
    ast.BinOp: Expressions._binary,
    ast.BoolOp: Expressions._bool_op,
    ast.Compare: Expressions._comparison,
    ast.IfExp: Expressions._if_expression,
    ast.Tuple: Expressions._sequence,
    ast.List: Expressions._sequence,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.Attribute: Expressions._attribute,
    ast.ListComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.Dict: Expressions._dict,
    ast.Set: Expressions._set,
    ast.DictComp: Expressions._keyed_comprehension,
    ast.SetComp: Expressions._keyed_comprehension,
    ast.NamedExpr: Expressions._walrus,
    ast.JoinedStr: Expressions._text,
    ast.FormattedValue: Expressions._formatted,
    ast.Lambda: lambda self, node, state: self.closure(node, state),
    ast.Call: lambda self, node, state: self.called(node, state),
}
