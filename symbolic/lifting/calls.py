"""Calls in lifted functions: of built-in functions, of methods of lists, of lifted functions, which run in turn, and of
grammars.

A call of a grammar stands for an expression; `Expansion` says which one, for the source of what is found.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from types import FunctionType, MethodType
from typing import Any, Final

from msgspec.structs import replace

from symbolic.core.structures import is_record
from symbolic.core.value_types import Boolean, IntegerLike
from symbolic.errors import Place, SwizzleError
from symbolic.lifting import builtins, comparisons, operations, sequences, unknowns
from symbolic.lifting.budget import CALL, COMPARISON
from symbolic.lifting.builtins import HANDLED, Caller, Handler, fixed
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Closure, Expansion, KnownFunction, Root, closure_of
from symbolic.lifting.expressions import Expressions
from symbolic.lifting.lifted_text import LAZY, code_of, parameters_of
from symbolic.lifting.merging import gathered, truth_value
from symbolic.lifting.operations import spread, stores_only
from symbolic.lifting.running import Running
from symbolic.lifting.states import Dead, PathSite, State
from symbolic.lifting.unknowns import Shared, Sharing, slots
from symbolic.lifting.values import Alternatives, Items, as_integer, inward, kind_of, parts_inside, said
from symbolic.values.guard import FALSE, TRUE, Guard


def _popped(site: PathSite, xs: Items, index: Any = -1) -> tuple[Items, Any]:
    value = sequences.read(site, xs, index)
    if type(index) is not int:
        raise SwizzleError(
            "pop at an index that depends on a condition", expected="a number",
            fix="x = xs[i]; xs = xs[:i] + xs[i + 1:]",
        )  # fmt: skip
    place = index % len(xs)
    return xs.edited(place, place + 1, ()), value


def _inserted(_: PathSite, xs: Items, index: Any, value: Any) -> tuple[Items, Any]:
    if type(index) is not int:
        raise SwizzleError(
            "insert at an index that depends on a condition", expected="a number", fix="xs[:i] + [x] + xs[i:]"
        )
    place = range(len(xs) + 1)[slice(index, None)].start
    return xs.edited(place, place, (value,)), None


def _extended(site: PathSite, xs: Items, more: Any) -> tuple[Items, Any]:
    if not isinstance(more, Items | tuple):
        raise SwizzleError(
            "extend by something else than one list or tuple", expected="a list of a known length",
            fix="for x in more: xs.append(x)",
        )  # fmt: skip
    site.budget.check_length(len(xs) + len(more), site.where)
    return xs.edited(len(xs), len(xs), more.items if isinstance(more, Items) else more), None


LIST_CHANGES: Final[dict[str, Callable[..., tuple[Items, Any]]]] = {
    "append": lambda _, xs, value: (xs.edited(len(xs), len(xs), (value,)), None),
    "pop": _popped,
    "insert": _inserted,
    "extend": _extended,
    "clear": lambda _, xs: (Items((), xs.names), None),
    "reverse": lambda _, xs: (Items(xs.items[::-1], xs.names), None),
}
"""What changes a list: the site, the list and the arguments to the list after it and the call's value."""


@fixed(2, 2)
def _count(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    xs, value = arguments
    site.budget.spend(COMPARISON * len(xs), site.where)
    found: Any = 0
    for item in parts_inside(xs) or ():
        found = operations.binary(site, "+", found, truth_value(conditions(), comparisons.equal(site, item, value)))
    return found


@fixed(2, 2)
def _index(_: Caller, site: PathSite, __: ast.AST, arguments: list[Any], ___: dict[str, Any]) -> Any:
    xs, value = arguments
    site.budget.spend(COMPARISON * len(xs), site.where)
    table, found, missing = conditions(), list[tuple[Guard, int]](), TRUE
    for place, item in enumerate(parts_inside(xs) or ()):
        here = table.both(missing, comparisons.equal(site, item, value))
        missing = table.both(missing, -here)
        found.append((here, place))
    site.require(-missing, "ValueError: index of an element that is not there")
    found = [(guard, place) for guard, place in found if guard != FALSE]
    if not found:
        raise Dead
    return gathered(found)


LIST_METHODS: Final[dict[str, Handler]] = {"copy": HANDLED[list], "count": _count, "index": _index}
"""What changes nothing."""


DEEPEST_GRAMMAR: Final = 12
MOST_RECURSIONS: Final = 5_000
"""Of functions that call themselves more than once, as Fibonacci's numbers do, each call doubles the paths."""
CHANGING: Final = ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort")


class FunctionCalls(Expressions):
    """One call of a function, as far as its expressions and the calls in them go."""

    def closure(self, node: ast.Lambda | ast.FunctionDef, state: State) -> Closure:
        """Return the function that a `lambda` or a `def` makes."""
        code = code_of(node, self.code.text, trusted=self.code.trusted)
        body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
        free = {each.id: each for part in body for each in ast.walk(part) if isinstance(each, ast.Name)}
        around = self.function.captured.items()
        captured = {name: state.names.get(name, value) for name, value in around if name not in code.local}
        for name in free.keys() & self.code.local - code.local:
            if self.code.bindings[name] > 1 and name != code.name and name not in self.code.shared:
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

    def called(self, node: ast.Call, state: State) -> Any:
        """Return what a call gives."""
        if isinstance(node.func, ast.Attribute):
            holder = self.value(node.func.value, state)
            if node.func.attr in CHANGING and is_list(holder) and not isinstance(node.func.value, ast.Name):
                shown = ast.unparse(node.func.value)
                raise self.error(
                    node, f"`.{node.func.attr}` of {shown}, which has no name of its own", "a new element",
                    f"{shown} = {shown} + [...]",
                )  # fmt: skip
            if node.func.attr in CHANGING and is_list(holder):
                raise self.error(
                    node, f"`.{node.func.attr}` changes a list inside of an expression", "a statement of its own",
                    f"result = {ast.unparse(node)}",
                )  # fmt: skip
            if is_list(holder) or (type(holder) is tuple and node.func.attr in ("count", "index")):
                return self._list_method(node, holder, state)
            if node.func.attr == "bit_length" and isinstance(holder, int) and not (node.args or node.keywords):
                return holder.bit_length()
            function = self.looked_up(node.func, holder, state)
        else:
            function = self.value(node.func, state)
        if not isinstance(function, Alternatives | KnownFunction | Closure) and _hashable(function):
            special = builtins.SPECIAL.get(function)
            if special is not None and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
                return special(self, node, node.args[0], state)
            if function in unknowns.UNKNOWN:
                return self.unknown(function, node, state)
        arguments, keywords = self._arguments(node, state)
        if isinstance(node.func, ast.Name) and node.func.id in LAZY:
            self.lazy[node] = arguments
        self.budget.left -= CALL
        if self.budget.left < self.budget.pause:
            self.tired(node)
        site = self.site(node, state)
        for each in node.args:
            if type(each) is ast.GeneratorExp and hasattr(function, "closure"):
                raise self.error(
                    each, "a generator is given to a function, of which it is not known how far it will be asked",
                    "a list", f"[{ast.unparse(each)[1:-1]}]",
                )  # fmt: skip
        self.direct = True
        try:
            return spread(site, lambda at, each: self._called(at, node, each, arguments, keywords), function)
        finally:
            self.direct = False

    def _arguments(self, node: ast.Call, state: State) -> tuple[list[Any], dict[str, Any]]:
        """Return what a call gives, by position and by name."""
        arguments: list[Any] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                arguments += self.items(self.site(each, state), self.value(each.value, state))
            else:
                arguments.append(self.value(each, state))
        keywords: dict[str, Any] = {}
        for named in node.keywords:
            value = self.value(named.value, state)
            apart = {named.arg: value} if named.arg is not None else value
            if not isinstance(apart, dict) or not all(isinstance(key, str) for key in apart):
                raise self.error(node, "`**` takes a dict apart", "each argument by its name", "f(x=1)")
            if twice := apart.keys() & keywords.keys():
                raise self.error(node, f"{min(twice)} is given twice", "each argument once", "f(x=1)")
            keywords |= {name: inward(each) for name, each in apart.items()}
        return arguments, keywords

    def unknown(self, function: Any, node: ast.Call, state: State) -> Any:
        """Return the hole or choice of a place."""
        return unknowns.UNKNOWN[function](self, node, state)

    def _called(
        self, site: PathSite, node: ast.AST, function: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        if isinstance(function, KnownFunction):
            return function.call(self, site, node, arguments, keywords)
        if isinstance(function, partial) and not self.budget.limited:
            first = [inward(each, operations.THEIRS) for each in function.args]
            named = {name: inward(each, operations.THEIRS) for name, each in function.keywords.items()}
            return self._called(site, node, function.func, [*first, *arguments], {**named, **keywords})
        if isinstance(function, MethodType) and not type(function.__self__).__module__.startswith("symbolic.core."):
            arguments, function = [inward(function.__self__), *arguments], function.__func__
            if isinstance(function, FunctionType):
                function = closure_of(function, self.function.bound, self.function.beyond)
        lifted = getattr(function, "closure", None)
        if isinstance(lifted, Closure):
            function = lifted
        function = getattr(function, "on_numbers", function)
        if isinstance(function, Closure):
            return self.enter(site, node, function, arguments, keywords)
        handler = builtins.HANDLED.get(function) if _hashable(function) else None
        if handler is not None:
            self.direct = False
            return handler(self, site, node, arguments, keywords)
        if self.budget.limited and not isinstance(function, type):
            raise self._uncalled(node, function)
        if not callable(function):
            site.fail(f"TypeError: {said(function)} is called")
        if _hashable(function) and function in builtins.FORBIDDEN:
            raise self.error(
                node,
                f"{function.__name__} in a lifted function",
                "values and their operators",
                "do it outside, with what the function returns",
            )
        if isinstance(function, type) and stores_only(function):
            try:
                made = function(*arguments, **keywords)
                return made if isinstance(made, tuple) or is_record(made) else inward(made)
            except TypeError as error:
                raise self.error(
                    node,
                    str(error),
                    f"the fields of {function.__name__}",
                    fix="give each field once, by position or by name",
                ) from None
        if self.budget.limited:
            raise self._uncalled(node, function)
        found = operations.native(site, function, arguments, keywords)
        comparisons.note_inside(site, found, ast.unparse(node))
        return found

    def _uncalled(self, node: ast.AST, function: Any) -> SwizzleError:
        """Return the mistake of a stranger's text that calls what it may not, or what is no function."""
        name = getattr(function, "__name__", None) if callable(function) else None
        found = f"a call of {kind_of(function)}" if name is None else f"{name} cannot be called here"
        return self.error(
            getattr(node, "func", node),
            found,
            f"a function of {self.budget.what}",
            fix="call a function of the language, or one that is lifted",
        )

    def enter(
        self, site: PathSite, node: ast.AST, function: Closure, arguments: list[Any], keywords: dict[str, Any]
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

                def call(path: Guard) -> tuple[Any, FunctionCalls]:
                    return self._entered(PathSite(path, site.where), slot, function, arguments, keywords)

                shared.calls[slot] = Shared.run(shared.path, call)
            result, inner = shared.calls[slot].used(site.path)
        self.sketch.expansions[(*self.instance, node)] = expansion = inner.expansion(node)
        value = as_integer(result)
        if not self.function.grammar and isinstance(value, IntegerLike | Boolean):
            names = bound_names(function, arguments, keywords, site.where)
            root = Root(expansion.instance, function, names, value.formula)
            self.sketch.roots[root.instance, root.result] = root
        return result

    def _entered(
        self, site: PathSite, node: ast.AST, function: Closure, arguments: list[Any], keywords: dict[str, Any]
    ) -> tuple[Any, FunctionCalls]:
        """Run a lifted function; return its result, and the run."""
        names = bound_names(function, arguments, keywords, site.where)
        inner = type(self)(function, site.path, caller=self, called_from=site.where, expanded=node)
        if inner.level > self.budget.depth:
            raise self.error(
                node, f"more than {self.budget.depth} calls within each other", "an end that is reached",
                "write a loop instead of a recursion",
            )  # fmt: skip
        depth = 0 if site.path == TRUE and not function.grammar else inner.depth()
        if function.grammar and depth > DEEPEST_GRAMMAR:
            raise SwizzleError(
                f"the grammar {function.code.name} has more than {DEEPEST_GRAMMAR} calls within each other",
                place=site.where(), expected="a depth that ends", fix="if depth == 0: return ...",
            )  # fmt: skip
        if depth > function.bound:
            what = f"more than {function.bound} calls of {function.code.name} within each other"
            if site.path == TRUE:
                raise SwizzleError(
                    what,
                    place=site.where(),
                    expected="an end that is reached",
                    fix=f"@lifted(bound={2 * function.bound})",
                )
            site.require(FALSE, f"beyond the bound: {what}", demanded=function.beyond == "assert")
            raise Dead
        self.outermost.recursions += depth > 0
        if self.outermost.recursions > MOST_RECURSIONS:
            raise SwizzleError(
                f"{function.code.name} is called within itself more than {MOST_RECURSIONS:,} times: its end depends on "
                "symbolic values", place=site.where(), expected="fewer paths",
                fix=f"@lifted(bound={max(1, function.bound // 4)}), or a loop",
            )  # fmt: skip
        inner.plain = {name: value for name, value in names.items() if isinstance(value, int | str | None)}
        result = inner.run(names)
        if inner.changes:
            self.taken_over(site, node, inner.changes, function.code.name)
        return result, inner

    def expansion(self, node: ast.Call) -> Expansion:
        """Return what a call of this grammar, as it was run here, stands for."""
        if len(self.returns) != 1 or self.returns[0] is None:
            raise self.error(
                self.code.node, f"the grammar {self.code.name} returns at {len(self.returns)} places",
                "tests of numbers that are known, such as a depth", "choose(...)",
            )  # fmt: skip
        plain = {name: ast.parse(repr(value), mode="eval").body for name, value in self.plain.items()}
        return Expansion(
            self.returns[0], {**self.code.arguments(node), **plain}, self.instance, tuple(self.named)
        )  # fmt: skip

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
        activation: Running | None = self
        while activation is not None:
            if activation.code is self.code:
                paths.append(activation.path)
            activation = activation.caller
        return sum(inner != outer for inner, outer in pairwise(paths))

    def call(self, site: PathSite, node: ast.AST, function: Any, *arguments: Any) -> Any:
        """Call a function with these values, as handlers do that are given one."""
        return spread(site, lambda at, each: self._called(at, node, each, list(arguments), {}), function)

    def _list_method(self, node: ast.Call, holder: Any, state: State) -> Any:
        assert isinstance(node.func, ast.Attribute)
        method = LIST_METHODS.get(node.func.attr)
        if method is None or node.keywords:
            known = ", ".join(sorted([*LIST_METHODS, *LIST_CHANGES]))
            raise self.error(node, f"`.{node.func.attr}` of a list", f"one of {known}", "a loop")
        arguments = [self.value(each, state) for each in node.args]
        return spread(self.site(node, state), lambda at, xs: method(self, at, node, [xs, *arguments], {}), holder)


def bound_names(
    function: Closure, arguments: list[Any], keywords: Mapping[str, Any], where: Callable[[], Place | None]
) -> dict[str, Any]:
    """Return what each parameter is; SwizzleError where arguments do not fit."""
    spec = function.code.parameters
    stars = (spec.vararg, spec.kwarg) != (None, None)
    if not (keywords or stars or spec.posonlyargs or spec.kwonlyargs) and len(arguments) == len(spec.args):
        return {parameter.arg: value for parameter, value in zip(spec.args, arguments, strict=True)}
    positional = [*spec.posonlyargs, *spec.args]
    names = {parameter.arg: value for parameter, value in zip(positional, arguments, strict=False)}
    by_name = {parameter.arg for parameter in [*spec.args, *spec.kwonlyargs]}
    found = ""
    if len(arguments) > len(positional) and spec.vararg is None:
        found = f"{function.code.name} is given {len(arguments)} arguments and takes {len(positional)}"
    rest: dict[str, Any] = {}
    for name, value in keywords.items():
        if name not in by_name and spec.kwarg is not None:
            rest[name] = value
            continue
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
        raise SwizzleError(
            found, place=where(), expected=f"{function.code.name}({ast.unparse(spec)})",
            fix="as many arguments as parameters",
        )  # fmt: skip
    for star, value in ((spec.vararg, tuple(arguments[len(positional) :])), (spec.kwarg, rest)):
        if star is not None:
            names[star.arg] = value
    return names


def is_list(value: Any) -> bool:
    """Tell whether a value is a list, on all paths."""
    return isinstance(value, Items) or (
        isinstance(value, Alternatives) and all(isinstance(part, Items) for _, part in value.parts)
    )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except (TypeError, SwizzleError):
        return False
    return True
