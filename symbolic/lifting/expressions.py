"""Expressions of lifted functions: what each is on a state's paths, and the guard that it counts as true.

Nothing is compiled or executed: a name means what the environment says, a call what the table in `builtins` says.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from types import FunctionType, MethodType
from typing import Any, Final

from msgspec.structs import replace

from symbolic.core.structures import fields_of, is_record
from symbolic.core.value_types import Boolean, Number, describe
from symbolic.errors import Place, SwizzleError
from symbolic.lifting import builtins, operations, unknowns
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Closure, Expansion, Root, closure_of
from symbolic.lifting.merging import merge, truth_value
from symbolic.lifting.operations import for_all, spread
from symbolic.lifting.reading import code_of, parameters_of
from symbolic.lifting.sharing import Shared, Sharing, slots
from symbolic.lifting.states import UNSET, Dead, Site, State
from symbolic.lifting.values import Alternatives, Items, as_integer, inward, outward
from symbolic.suggest import near
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.union import Union

OPERATORS: Final = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Div: "/", ast.MatMult: "@",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
DEEPEST_GRAMMAR: Final = 12
INNER: Final = ("formula", "lift", "like")
"""What symbolic values have for the core alone."""
CHANGING: Final = ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort")


class Expressions(ABC):
    """One call of a function, as far as its expressions go; `Activation` runs its statements."""

    def __init__(
        self, function: Closure, path: Guard, *, caller: Expressions | None = None, called_from: Place | None = None,
        expanded: object = None,
    ) -> None:  # fmt: skip
        self.function = function
        self.code = function.code
        self.path = path
        self.caller = caller
        self._called_from = called_from
        self.returns: list[ast.expr | None] = []
        self.sketch, self.instance = function.sketch, function.instance
        if function.grammar and caller is not None:
            self.sketch, self.instance = caller.sketch, (*caller.instance, expanded)
        self._outside: dict[str, Any] = {}
        self._sharing: Sharing | None = None
        self.plain: dict[str, Any] = {}

    @abstractmethod
    def run(self, names: dict[str, Any]) -> Any:
        """Return the result for these parameters; `Dead` where no path returns."""

    @abstractmethod
    def store(self, target: ast.expr, value: Any, state: State) -> None:
        """Assign to a target."""

    @abstractmethod
    def too_far(self, node: ast.AST, state: State, what: str) -> None:
        """Say of the paths that would go on that nobody takes them."""

    # -- places and sites --------------------------------------------------------------------------------------

    def place(self, node: ast.AST) -> Place:
        """Return the place of a node, with the calls that lead here."""
        return self.code.text.place(node, self.code.name, self._called_from)

    def site(self, node: ast.AST, state: State) -> Site:
        """Return where a node is met."""
        return Site(state.path, lambda: self.place(node))

    def error(self, node: ast.AST, found: str, expected: str = "", fix: str = "") -> SwizzleError:
        """Return the mistake of a user at a node."""
        return SwizzleError(found, place=self.place(node), expected=expected, fix=fix)

    # -- expressions -------------------------------------------------------------------------------------------

    def value(self, node: ast.expr, state: State) -> Any:
        """Return what an expression is on a state's paths."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise self.error(node, f"`{ast.unparse(node)}` in a lifted function", "another expression")
        try:
            return handler(self, node, state)
        except SwizzleError as error:
            if error.place is not None:
                raise
            raise SwizzleError(error.found, place=self.place(node), expected=error.expected, fix=error.fix) from None

    def condition(self, node: ast.expr, state: State) -> Guard:
        """Return the guard that an expression counts as true; what decides it alone is all that is asked."""
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
                        found = table.both(found, sign * self.condition(each, inner))
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
                        found = table.both(found, operations.compare(self.site(node, inner), symbol, a, b))
                    except Dead:
                        inner.leave(state)
                        return FALSE
                    a, next_state = b, inner.on(found)
                    if next_state is None:
                        break
                    inner = next_state
                return found
        return operations.truth(self.site(node, state), self.value(node, state))

    def _truth_value(self, node: ast.expr, state: State) -> Any:
        return truth_value(conditions(), self.condition(node, state))

    def _unary(self, node: ast.UnaryOp, state: State) -> Any:
        if isinstance(node.op, ast.Not):
            return self._truth_value(node, state)
        return operations.unary(self.site(node, state), OPERATORS[type(node.op)], self.value(node.operand, state))

    def _binary(self, node: ast.BinOp, state: State) -> Any:
        left, right = self.value(node.left, state), self.value(node.right, state)
        return operations.binary(self.site(node, state), OPERATORS[type(node.op)], left, right)

    def _bool_op(self, node: ast.BoolOp, state: State) -> Any:
        """`a and b` is a where a counts as false, else b."""
        found = self.value(node.values[-2], state) if len(node.values) == 2 else self._bool_op(
            ast.copy_location(ast.BoolOp(node.op, node.values[:-1]), node), state
        )  # fmt: skip
        guard = operations.truth(self.site(node, state), found)
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
                except Dead:
                    continue
        if not found:
            raise Dead
        return merge(found)

    def _name(self, node: ast.Name, state: State) -> Any:
        name = node.id
        if name in state.names:
            value = state.names[name]
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
        if name not in self._outside:
            self._outside[name] = inward(self._find(node, name), operations.THEIRS)
        return self._outside[name]

    def _unassigned(self, node: ast.Name, state: State) -> None:
        if state.path != TRUE:
            self.site(node, state).fail(f"UnboundLocalError: {node.id} has no value")
        raise self.error(node, f"{node.id} has no value yet", "an assignment before", f"{node.id} = ...")

    def _find(self, node: ast.Name, name: str) -> Any:
        try:
            return self.function.environment.find(name)
        except KeyError:
            known = [*self.code.local, *self.function.environment.names()]
            raise self.error(
                node, f"{name} is not defined", "a name of the function, of its file, or a built-in one",
                near(name, known),
            ) from None  # fmt: skip

    def _sequence(self, node: ast.Tuple | ast.List, state: State) -> Any:
        if not any(isinstance(each, ast.Starred) for each in node.elts):
            items = tuple(self.value(each, state) for each in node.elts)
            return items if isinstance(node, ast.Tuple) else Items.new(items)
        site, found = self.site(node, state), ()
        for each in node.elts:
            if isinstance(each, ast.Starred):
                more = self.value(each.value, state)
                found = spread(site, lambda at, some, xs: some + self.items(at, xs), found, more)
            else:
                one = self.value(each, state)
                found = spread(site, lambda _, some, one=one: (*some, one), found)
        return found if isinstance(node, ast.Tuple) else spread(site, lambda _, some: Items.new(some), found)

    def _subscript(self, node: ast.Subscript, state: State) -> Any:
        sequence = self.value(node.value, state)
        return operations.read(self.site(node, state), sequence, self.value(node.slice, state))

    def _slice(self, node: ast.Slice, state: State) -> slice:
        return slice(*(each and self.value(each, state) for each in (node.lower, node.upper, node.step)))

    def _attribute(self, node: ast.Attribute, state: State) -> Any:
        return self._looked_up(node, self.value(node.value, state), state)

    def _looked_up(self, node: ast.Attribute, holder: Any, state: State) -> Any:
        name = node.attr

        def look(site: Site, each: Any) -> Any:
            if is_record(each) and name in fields_of(each):
                return getattr(each, name)
            if isinstance(each, tuple) and name in getattr(type(each), "_fields", ()):
                return getattr(each, name)
            if isinstance(each, Items | Union):
                site.fail(f"AttributeError: {describe(outward(each))} has no `.{name}`")
            known = getattr(type(each), name, None)
            if is_record(each) and isinstance(known, property) and isinstance(known.fget, FunctionType):
                return self._called(site, node, MethodType(known.fget, each), [], {}, state)
            if is_record(each) and isinstance(known, FunctionType):
                return MethodType(known, each)
            if not self.function.environment.trusted or name.startswith("_"):
                raise self.error(node, f"`.{name}` of {describe(outward(each))}", "a field of a record", "a name")
            try:
                return inward(getattr(each, name), operations.THEIRS)
            except AttributeError as error:
                if isinstance(each, Boolean | Number):
                    known = [has for has in dir(each) if not has.startswith("_") and has not in INNER]
                    raise self.error(
                        node, f"{describe(each)} has no `.{name}`", f"one of {', '.join(known)}" if known else "",
                        near(name, known) or "its operators, or a loop over its bits",
                    ) from None  # fmt: skip
                site.fail(f"AttributeError: {error}")

        return spread(self.site(node, state), look, holder)

    # -- what can be run over ----------------------------------------------------------------------------------

    def elements(self, site: Site, sequence: Any) -> Iterator[tuple[Guard, Callable[[Site], Any]]]:
        """Yield, of each element, the guard that there is one and what gives it; without end for symbolic ranges."""
        table = conditions()
        match sequence:
            case Items(items=items):
                yield from ((TRUE, _given(item)) for item in items)
            case builtins.SymbolicRange():
                number = sequence.start
                while True:
                    guard = operations.compare(site, "<" if sequence.step > 0 else ">", number, sequence.stop)
                    yield guard, _given(number)
                    number = operations.binary(site, "+", number, sequence.step)
            case Alternatives(parts=parts):
                lengths = [(guard, self._length(site.narrowed(guard), part), part) for guard, part in parts]
                for place in range(max(length for _, length, _ in lengths)):
                    some = [(guard, part) for guard, length, part in lengths if place < length]
                    present = table.any(guard for guard, _ in some)
                    yield present, _read_at(some, place)
            case tuple() | range() | str() | list():
                yield from ((TRUE, _given(inward(item, operations.THEIRS))) for item in sequence)
            case dict():
                yield from ((TRUE, _given(item)) for item in list(sequence))
            case _:
                site.fail(f"TypeError: {describe(outward(sequence))} is no sequence")

    def _length(self, site: Site, value: Any) -> int:
        try:
            length = operations.length_of(site, value)
        except Dead:
            return 0
        assert isinstance(length, int)
        return length

    def items(self, site: Site, sequence: Any) -> tuple[Any, ...]:
        """Return the elements of a sequence of one known length."""
        found = []
        for present, item in self.elements(site, sequence):
            if present != TRUE:
                raise SwizzleError(
                    "a sequence whose length depends on a condition", place=site.where(),
                    expected="one of a known length", fix="a loop: for x in xs: ...",
                )  # fmt: skip
            found.append(item(site))
        return tuple(found)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, state: State) -> Any:
        found: Any = Items.new(())
        for guard, item in self.generated(node, state):
            longer = spread(self.site(node, state), _longer(item), found)
            found = merge([(guard, longer), (-guard, found)])
        return found

    def generated(self, node: ast.ListComp | ast.GeneratorExp, state: State) -> Iterator[tuple[Guard, Any]]:
        """Yield the elements of a comprehension, each with the guard that it is one."""

        def inner(generators: list[ast.comprehension], on: State, guard: Guard) -> Iterator[tuple[Guard, Any]]:
            if not generators:
                yield guard, self.value(node.elt, on)
                return
            first, *rest = generators
            count = 0
            for present, item in self.elements(self.site(first.iter, on), self.value(first.iter, on)):
                asked = State(conditions().both(on.path, state.path), on.names)  # fewer, once some are decided
                here = asked.on(present)
                if here is None:
                    return
                count += present != TRUE
                if count > self.function.bound:
                    self.too_far(first.iter, here, f"more than {self.function.bound} elements")
                    return
                both = conditions().both(guard, present)
                try:
                    self.store(first.target, item(self.site(first.iter, here)), here)
                    for test in first.ifs:
                        passed = self.condition(test, here)
                        both, on_now = conditions().both(both, passed), here.on(passed)
                        if on_now is None:
                            break
                        here = on_now
                    else:
                        yield from inner(rest, here, both)
                except Dead:
                    here.leave(state)

        yield from inner(node.generators, State(state.path, dict(state.names)), TRUE)

    # -- calls -------------------------------------------------------------------------------------------------

    def _lambda(self, node: ast.Lambda, state: State) -> Closure:
        return self.closure(node, state)

    def closure(self, node: ast.Lambda | ast.FunctionDef, state: State) -> Closure:
        code = code_of(node, self.code.text)
        free = {each.id: each for each in ast.walk(node) if isinstance(each, ast.Name)}
        captured = dict(self.function.captured)
        for name in free.keys() & self.code.local - code.local:
            if self.code.bindings[name] > 1 and name != code.name:
                raise self.error(
                    free[name], f"{name} changes, and {code.name} sees only what it is here",
                    "a name that is assigned once", f"fixed = {name}",
                )  # fmt: skip
            if name in state.names:
                captured[name] = state.names[name]
        parameters = parameters_of(node.args)
        positional = [*node.args.posonlyargs, *node.args.args]
        given = zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults, strict=True)
        named = [(p, d) for p, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
        defaults = {p.arg: self.value(d, state) for p, d in [*given, *named]}
        assert set(defaults) <= {p.arg for p in parameters}
        made = replace(
            self.function, code=code, captured=captured, defaults=defaults, sketch=self.sketch, instance=self.instance,
            grammar=False,
        )  # fmt: skip
        if isinstance(node, ast.FunctionDef):
            captured[code.name] = made  # for recursion
        return made

    def _call(self, node: ast.Call, state: State) -> Any:
        if isinstance(node.func, ast.Attribute):
            holder = self.value(node.func.value, state)
            if node.func.attr in CHANGING and _is_list(holder) and not isinstance(node.func.value, ast.Name):
                shown = ast.unparse(node.func.value)
                raise self.error(
                    node, f"`.{node.func.attr}` of {shown}, which has no name of its own", "a new element",
                    f"{shown} = {shown} + [...]",
                )  # fmt: skip
            if node.func.attr in CHANGING and _is_list(holder):
                raise self.error(
                    node, f"`.{node.func.attr}` changes a list inside of an expression", "a statement of its own",
                    f"result = {ast.unparse(node)}",
                )  # fmt: skip
            if _is_list(holder):
                return self._list_method(node, holder, state)
            function = self._looked_up(node.func, holder, state)
        else:
            function = self.value(node.func, state)
        special = builtins.SPECIAL.get(function) if _hashable(function) else None
        if special is not None and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return special(self, node, node.args[0], state)
        if _hashable(function) and function in unknowns.UNKNOWN:
            return self.unknown(function, node, state)
        arguments = [self.value(each, state) for each in node.args]
        keywords = {each.arg: self.value(each.value, state) for each in node.keywords if each.arg is not None}
        if len(keywords) != len(node.keywords):
            raise self.error(node, "`**` takes a dict apart", "each argument by its name", "f(x=1)")
        return spread(
            self.site(node, state), lambda at, each: self._called(at, node, each, arguments, keywords, state), function
        )

    def unknown(self, function: Any, node: ast.Call, state: State) -> Any:
        """Return the hole or choice of a place."""
        return unknowns.UNKNOWN[function](self, node, state)

    def _called(
        self, site: Site, node: ast.AST, function: Any, arguments: list[Any], keywords: dict[str, Any], state: State
    ) -> Any:
        if isinstance(function, MethodType):
            arguments, function = [inward(function.__self__), *arguments], function.__func__
            if isinstance(function, FunctionType):
                function = closure_of(function, self.function.bound, self.function.beyond)
        lifted = getattr(function, "closure", None)
        if isinstance(lifted, Closure):
            function = lifted
        if isinstance(function, Closure):
            return self.enter(site, node, function, arguments, keywords)
        handler = builtins.HANDLED.get(function) if _hashable(function) else None
        if handler is not None:
            return handler(self, site, node, arguments, keywords)
        if not callable(function):
            site.fail(f"TypeError: {describe(outward(function))} is called")
        if _hashable(function) and function in builtins.FORBIDDEN:
            raise self.error(
                node, f"{function.__name__} in a lifted function", "values and their operators", "another way"
            )
        if isinstance(function, type) and _stores_only(function):
            try:
                return function(*arguments, **keywords)
            except TypeError as error:
                raise self.error(node, str(error), f"the fields of {function.__name__}") from None
        if not self.function.environment.trusted:
            raise self.error(
                node, f"{getattr(function, '__name__', function)} cannot be called here", "a lifted function"
            )
        return operations.native(site, function, arguments, keywords)

    def enter(
        self, site: Site, node: ast.AST, function: Closure, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """Call a lifted function; of a grammar, what its call in the text stands for."""
        if not function.grammar or not isinstance(node, ast.Call):
            return self._entered(site, node, function, arguments, keywords)[0]
        slot, shared = node, self._sharing
        if shared is None or node not in shared.slots:
            result, inner = self._entered(site, node, function, arguments, keywords)
        else:
            slot = shared.slots[node]
            if slot not in shared.calls:

                def call(path: Guard) -> tuple[Any, Expressions]:
                    return self._entered(Site(path, site.where), slot, function, arguments, keywords)

                shared.calls[slot] = Shared.run(shared.path, call)
            result, inner = shared.calls[slot].used(site.path)
        self.sketch.expansions[(*self.instance, node)] = expansion = inner.expansion(node)
        value = as_integer(result)
        if not self.function.grammar and isinstance(value, Number | Boolean):
            names = bound_names(function, arguments, keywords, None)
            root = Root(expansion.instance, function, names, value.formula)
            self.sketch.roots[root.instance, root.result] = root
        return result

    def _entered(
        self, site: Site, node: ast.AST, function: Closure, arguments: list[Any], keywords: dict[str, Any]
    ) -> tuple[Any, Expressions]:
        """Run a lifted function; return its result, and the run."""
        place = site.where()
        names = bound_names(function, arguments, keywords, place)
        inner = type(self)(function, site.path, caller=self, called_from=place, expanded=node)
        depth = inner.depth()
        if function.grammar and depth > DEEPEST_GRAMMAR:
            raise SwizzleError(
                f"the grammar {function.code.name} has more than {DEEPEST_GRAMMAR} calls within each other",
                place=place, expected="a depth that ends", fix="if depth == 0: return ...",
            )  # fmt: skip
        if depth > function.bound:
            what = f"more than {function.bound} calls of {function.code.name} within each other"
            if site.path == TRUE:
                raise SwizzleError(
                    what, place=place, expected="an end that is reached", fix=f"@lifted(bound={2 * function.bound})"
                )
            site.require(FALSE, f"beyond the bound: {what}", demanded=function.beyond == "assert")
            raise Dead
        inner.plain = {name: value for name, value in names.items() if isinstance(value, int | str | None)}
        return inner.run(names), inner

    def expansion(self, node: ast.Call) -> Expansion:
        """Return what a call of this grammar, as it was run here, stands for."""
        if len(self.returns) != 1 or self.returns[0] is None:
            raise self.error(
                self.code.node, f"the grammar {self.code.name} returns at {len(self.returns)} places",
                "tests of numbers that are known, such as a depth", "choose(...)",
            )  # fmt: skip
        plain = {name: ast.parse(repr(value), mode="eval").body for name, value in self.plain.items()}
        return Expansion(self.returns[0], {**self.code.arguments(node), **plain}, self.instance)

    @contextmanager
    def sharing(self, choice: ast.Call, state: State) -> Iterator[None]:
        """Let the alternatives of a choice share the calls of grammars in them."""
        if self._sharing is not None:  # one within another: what they share is known
            yield
            return
        found = self.sketch.slots.get(choice)
        if found is None:
            found = self.sketch.slots[choice] = slots(choice, self._named)
        self._sharing = Sharing(state.path, found)
        try:
            yield
            self._sharing.settle()
        finally:
            self._sharing = None

    def _named(self, node: ast.Call) -> Any:
        """Return the function that a call names, as far as that is known without running it."""
        if not isinstance(node.func, ast.Name) or node.func.id in self.code.local:
            return None
        with suppress(KeyError):
            found = self.function.environment.find(node.func.id)
            return getattr(found, "closure", found)
        return None

    def depth(self) -> int:
        """Return how many calls of this function are within each other, each on fewer paths than the one around it."""
        paths = []
        activation: Expressions | None = self
        while activation is not None:
            if activation.code is self.code:
                paths.append(activation.path)
            activation = activation.caller
        return sum(inner != outer for inner, outer in pairwise(paths))

    def call(self, site: Site, node: ast.AST, function: Any, *arguments: Any) -> Any:
        """Call a function that a handler was given."""
        state = State(site.path, {})
        return spread(site, lambda at, each: self._called(at, node, each, list(arguments), {}, state), function)

    def _list_method(self, node: ast.Call, holder: Any, state: State) -> Any:
        assert isinstance(node.func, ast.Attribute)
        method = builtins.LIST_METHODS.get(node.func.attr)
        if method is None or node.keywords:
            known = ", ".join(sorted([*builtins.LIST_METHODS, *builtins.LIST_CHANGES]))
            raise self.error(node, f"`.{node.func.attr}` of a list", f"one of {known}", "a loop")
        arguments = [self.value(each, state) for each in node.args]
        return spread(self.site(node, state), lambda at, xs: method(self, at, node, [xs, *arguments], {}), holder)


def _given(item: Any) -> Callable[[Site], Any]:
    return lambda _: item


def _read_at(parts: list[tuple[Guard, Any]], place: int) -> Callable[[Site], Any]:
    return lambda at: for_all(at, parts, lambda where, part: operations.read(where, part, place))


def _longer(item: Any) -> Callable[[Site, Items], Items]:
    return lambda _, xs: Items((*xs.items, item), xs.names)


_HANDLERS: Final[dict[type[ast.AST], Callable[[Expressions, Any, State], Any]]] = {
    ast.Constant: lambda _, node, __: node.value,
    ast.Name: Expressions._name,
    ast.UnaryOp: Expressions._unary,
    ast.BinOp: Expressions._binary,
    ast.BoolOp: Expressions._bool_op,
    ast.Compare: Expressions._truth_value,
    ast.IfExp: Expressions._if_expression,
    ast.Tuple: Expressions._sequence,
    ast.List: Expressions._sequence,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.Attribute: Expressions._attribute,
    ast.ListComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.Lambda: Expressions._lambda,
    ast.Call: Expressions._call,
}


def bound_names(
    function: Closure, arguments: list[Any], keywords: Mapping[str, Any], place: Place | None
) -> dict[str, Any]:
    """Return what each parameter is; SwizzleError where arguments do not fit."""
    spec = function.code.parameters
    positional = [*spec.posonlyargs, *spec.args]
    names = {parameter.arg: value for parameter, value in zip(positional, arguments, strict=False)}
    by_name = {parameter.arg for parameter in [*spec.args, *spec.kwonlyargs]}
    expected = f"{function.code.name}({ast.unparse(spec)})"
    found = ""
    if len(arguments) > len(positional):
        found = f"{function.code.name} is given {len(arguments)} arguments and takes {len(positional)}"
    for name, value in keywords.items():
        if name not in by_name or name in names:
            found = found or f"{function.code.name} " + (
                f"is given {name} twice" if name in names else f"has no parameter {name}"
            )
        names[name] = value
    names = {**function.defaults, **names}
    missing = [parameter.arg for parameter in parameters_of(spec) if parameter.arg not in names]
    if missing and not found:
        found = f"{function.code.name} is called without {', '.join(missing)}"
    if found:
        raise SwizzleError(found, place=place, expected=expected, fix="as many arguments as parameters")
    return names


def _is_list(value: Any) -> bool:
    return isinstance(value, Items) or (
        isinstance(value, Alternatives) and all(isinstance(part, Items) for _, part in value.parts)
    )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except (TypeError, SwizzleError):
        return False
    return True


def _stores_only(kind: type) -> bool:
    """Tell whether making an instance does nothing but keep the fields."""
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return True
    parameters = getattr(kind, "__dataclass_params__", None)
    code = getattr(getattr(kind, "__init__", None), "__code__", None)
    generated = code is not None and code.co_filename == "<string>"
    return parameters is not None and parameters.frozen and generated and not hasattr(kind, "__post_init__")
