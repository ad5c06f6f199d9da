"""Assignments in lifted functions: to names, to elements of lists and arrays, and calls that change lists.

A list that one name holds is changed in place (`Items.edited`); one that others hold, too, for all of them (`aliases`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import fields
from functools import partial
from typing import Any, TypeAlias

from symbolic.core.structures import is_record
from symbolic.lifting import calls, operations, sequences
from symbolic.lifting.aliases import KeptList, only_name, replaced
from symbolic.lifting.calls import CHANGING, FunctionCalls
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Closure
from symbolic.lifting.expressions import OPERATORS
from symbolic.lifting.merging import merge
from symbolic.lifting.operations import has_elements, spread
from symbolic.lifting.states import PathSite, State
from symbolic.lifting.values import (
    DIRECT,
    FOREIGN,
    Alternatives,
    Fields,
    Items,
    SharedName,
    SymbolicRange,
    has_no_aliases,
    kind_of,
    list_names,
    note_changed,
    parts_inside,
    said,
    shape_of,
)
from symbolic.values.guard import TRUE, Guard

ListChange: TypeAlias = Callable[..., tuple[Items, Any]]


class _Shared(Exception):
    """The list that is to be changed is held by others, too."""


class Assignments(FunctionCalls):
    """One call of a function, as far as it changes what names hold."""

    def store(self, target: ast.expr, value: Any, state: State) -> None:
        match target:
            case ast.Name(id=name):
                self.give(name, target, value, state)
            case ast.Tuple(elts=targets) | ast.List(elts=targets) if any(isinstance(t, ast.Starred) for t in targets):
                for each, item in zip(targets, self._with_rest(target, value, targets, state), strict=True):
                    self.store(each.value if isinstance(each, ast.Starred) else each, item, state)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                fits = type(value) is tuple and len(value) == len(targets)
                items = value if fits else self._taken_apart(target, value, len(targets), state)
                for each, item in zip(targets, items, strict=True):
                    self.store(each, item, state)
            case ast.Attribute(value=holder, attr=name) if _has_fields(held := self.value(holder, state)):
                self._store_field(target, held, name, value, state)
            case ast.Subscript() | ast.Attribute():
                try:
                    if not self._stored(target, value, state):
                        root, steps = self._way(target, state)
                        state.names[root] = self._changed(target, state.names[root], steps, value, root, state)
                except _Shared:
                    assert isinstance(target, ast.Subscript)
                    self._store_shared(target, value, state)
            case _:
                raise self.error(
                    target, f"an assignment to `{ast.unparse(target)}`", "a name or an element", "name = ..."
                )

    def give(self, name: str, node: ast.AST, value: Any, state: State) -> None:
        """Let a name be a value, for all functions that share it."""
        old = state.names.get(name)
        if name not in self.code.shared or not isinstance(old, SharedName):
            state.names[name] = value
            return
        if not list_names(value).isdisjoint(old.names):
            raise self.error(node, f"{name} would be a function that sees itself by a name that changes",
                             "another name", "def f(...): ...")  # fmt: skip
        self._change(node, old, SharedName((value,), old.names), name, state)

    def _store_field(self, target: ast.Attribute, held: Any, name: str, value: Any, state: State) -> None:
        """Set a field of a record, for all who hold it."""
        shown = ast.unparse(target.value)

        def changed(at: PathSite, each: Any) -> Any:
            place = each.place(name) if isinstance(each, Fields) else None
            if place is None:
                if isinstance(each, Fields):
                    raise self.error(
                        target, f"{each.kind.__name__} has no field {name}",
                        ", ".join(field.name for field in fields(each.kind)), f"{name}: ... in the class",
                    )  # fmt: skip
                at.fail(f"AttributeError: a field of {said(each)} is set")
            if not list_names(value).isdisjoint(each.names):
                raise self.error(target, f"{shown} would hold itself", "another value", f"replace({shown})")
            return each.edited(place, place + 1, (value,))

        self._change(target, held, spread(self.site(target, state), changed, held), shown, state)

    def _store_shared(self, target: ast.Subscript, value: Any, state: State) -> None:
        """Store an element of a list that others hold, too."""
        holder, index = self.value(target.value, state), self.value(target.slice, state)
        if only_name(holder) in list_names(value):
            shown = ast.unparse(target.value)
            raise self.error(target, f"{shown} would hold itself", "a list of other values", f"list({shown})")
        changed = spread(self.site(target, state), lambda at, xs: sequences.store(at, xs, index, value), holder)
        self._change(target, holder, changed, ast.unparse(target.value), state)

    def _change(self, node: ast.AST, old: Any, new: Any, root: str, state: State) -> None:
        """Let a list be another one, for all who hold it."""
        number = only_name(old, of_those_that_change=True)
        if isinstance(old, Fields) and number == FOREIGN:
            raise self.error(
                node, f"{root} is changed, which was not made in {self.code.name}", "a record made here, or given",
                f"new = replace({root})",
            )  # fmt: skip
        if number is None or number == FOREIGN:
            what, copy = ("record", "replace") if isinstance(old, Fields) else ("list", "list")
            raise self.error(
                node, f"{root} changes, and it may be one of several {what}s",
                f"a {what} of which it is known who holds it", f"new = {copy}({root})",
            )  # fmt: skip
        self._let_be({KeptList(number, old): new}, node, root, state, TRUE)

    def _let_be(self, new: dict[KeptList, Any], node: ast.AST, root: str, state: State, guard: Guard) -> None:
        """Let lists have new versions on the paths of a state on which a guard holds."""
        versions = {kept.number: version for kept, version in new.items()}
        note_changed(versions)
        for loop in self.running:
            if any(_is_one_of(each, versions) for each in loop[1:]) or (
                isinstance(loop[0], Alternatives) and not list_names(loop[0]).isdisjoint(versions)
            ):  # fmt: skip
                raise self.error(
                    node, f"{root} changes while a loop runs over it", "a loop over a copy", f"for x in list({root}):"
                )
            here = guard if state.path == self.path else conditions().both(state.path, guard)
            for place, each in enumerate(loop):
                loop[place] = self._with(versions, each, here, node)
        for name, value in state.names.items():
            if not DIRECT[type(value)] and (not isinstance(name, KeptList) or name not in new):
                state.names[name] = self._with(versions, value, guard, node)
        for kept, version in new.items():
            if kept.number < self._start:
                old = state.names.get(kept, kept.original)
                state.names[kept] = version if guard == TRUE else merge([(guard, version), (-guard, old)])

    def _with(self, versions: dict[int, Any], value: Any, guard: Guard, node: ast.AST) -> Any:
        met: dict[int, Any] = {}
        changed = replaced(value, versions, met)
        self.budget.spend(sum(len(parts_inside(each) or ()) for each in met.values()), lambda: self.place(node))
        return value if changed is value else changed if guard == TRUE else merge([(guard, changed), (-guard, value)])

    def taken_over(self, site: PathSite, node: ast.AST, changes: dict[KeptList, Any], name: str) -> None:
        """Take over what a call changed of lists that were there before; the call is a statement of its own."""
        call, state = self.statement
        if call is not node or not self.direct:
            shown = ast.unparse(node) if isinstance(node, ast.expr) else name
            kinds: dict[type, str] = {SharedName: "a name of the function around it", Fields: "a record"}
            what = kinds.get(type(next(iter(changes)).original), "a list")
            raise self.error(
                node, f"{name} changes {what} inside of an expression", "a statement of its own", f"result = {shown}"
            )
        guard = TRUE if site.path == state.path else site.path
        self._let_be(changes, node, ast.unparse(node), state, guard)

    def _stored(self, target: ast.Subscript | ast.Attribute, value: Any, state: State) -> bool:
        """Store an element of a list or an array, where no condition is involved; False where one may be."""
        places: list[ast.expr] = []
        below: ast.expr = target
        while type(below) is ast.Subscript:
            places.append(below.slice)
            below = below.value
        if type(below) is not ast.Name:
            return False
        root, holder = below.id, state.names.get(below.id)
        if type(holder) is not Items:
            if len(places) != 1 or not shape_of(holder):
                return False
            assert isinstance(target, ast.Subscript)
            self._store_in_array(target, holder, self.value(target.slice, state), value, state.path)
            return True
        if state.path != TRUE or not all(map(_is_simple, places)):
            return False
        lists: list[tuple[Items, int]] = []
        within: Any = holder
        for each in reversed(places):
            index = self.value(each, state)
            if type(within) is not Items or type(index) is not int or not 0 <= index < len(within):
                return False
            lists.append((within, index))
            within = within.at(index)
        if len(lists) > 1 and not holder.distinct:
            return False
        self._check_own(target, lists[-1][0], root, state, (value,))
        for changed, index in reversed(lists):
            value = changed.edited(index, index + 1, (value,))
        state.names[root] = value
        return True

    def _store_in_array(self, target: ast.Subscript, array: Any, index: Any, value: Any, path: Guard) -> None:
        """Store an element of an array, which changes for all who have it, as in Python."""
        if not hasattr(array, "__setitem__"):
            raise self.error(
                target, "a store to an input array of the specification", "an array of its own",
                "write to zeros(shape), and return it",
            )  # fmt: skip
        if path != TRUE:
            raise self.error(
                target, "a store to an array on a path that depends on a condition", "a list of its own",
                "xs = [...]; xs[i] = ...",
            )  # fmt: skip
        self.check_index(target, index)
        if isinstance(index, slice) or (isinstance(index, tuple) and any(isinstance(each, slice) for each in index)):
            raise self.error(target, "a store that is not to one element", "an element of a list or an array", "a loop")
        if not DIRECT[type(value)] and not shape_of(value):
            raise self.error(
                target,
                f"{kind_of(value)} is stored in an array",
                "a number or data",
                "a list, or an array of one more dimension",
            )
        try:
            array[index] = value
        except operations.FAILURES as error:
            raise self.mistaken(target, error) from None

    def _taken_apart(self, node: ast.AST, value: Any, count: int, state: State) -> tuple[Any, ...]:
        site = self.site(node, state)

        def take(at: PathSite, each: Any) -> tuple[Any, ...]:
            if self.known_elements(each) is not None or isinstance(each, SymbolicRange) or has_elements(each):
                each = self.items(at, each)
            items = tuple(each) if isinstance(each, str) else each
            if not isinstance(items, tuple):
                at.fail(f"TypeError: {said(each)} is taken apart")
            if len(items) != count:
                at.fail(f"ValueError: {len(items)} values for {count} names")
            return items

        found: tuple[Any, ...] = tuple(spread(site, take, value))
        return found

    def _with_rest(self, node: ast.AST, value: Any, targets: list[ast.expr], state: State) -> Any:
        """Return a value taken apart for targets of which one, with a `*`, gets the list of what is left."""
        place = next(i for i, each in enumerate(targets) if isinstance(each, ast.Starred))
        after = len(targets) - place - 1

        def take(at: PathSite, each: Any) -> Any:
            items = self.items(at, each)
            if len(items) < place + after:
                at.fail(f"ValueError: {len(items)} values for {place + after} names and more")
            end = len(items) - after
            return (*items[:place], Items.new(items[place:end]), *items[end:])

        return spread(self.site(node, state), take, value)

    def _way(self, target: ast.expr, state: State) -> tuple[str, list[tuple[ast.expr, Any]]]:
        """Return the name from which an element is reached, and the steps to it: indices or names of fields."""
        match target:
            case ast.Name(id=name):
                if name not in self.code.local and name not in self.function.captured:
                    raise self.error(
                        target, f"{name} is changed, which was not made in {self.code.name}", "a list made here",
                        f"new = list({name})",
                    )  # fmt: skip
                self.value(ast.copy_location(ast.Name(name, ast.Load()), target), state)
                if isinstance(state.names.get(name), SharedName):
                    raise _Shared
                return name, []
            case ast.Subscript(value=below, slice=index):
                if isinstance(index, ast.Slice):
                    raise self.error(target, "an assignment to a slice", "a new list", "xs = xs[:i] + new + xs[j:]")
                root, steps = self._way(below, state)
                return root, [*steps, (target, self.value(index, state))]
            case ast.Attribute(value=below, attr=name):
                shown, holder = ast.unparse(below), self.value(below, state)
                if _has_fields(holder):
                    raise _Shared
                raise self.error(
                    target, f"a field of {shown} is changed, which is a value", "a new record",
                    f"{shown} = replace({shown}, {name}=...)",
                )  # fmt: skip
        raise self.error(
            target, f"`{ast.unparse(target)}` is changed, which has no name", "a list with a name", "xs = ..."
        )

    def _changed(
        self, node: ast.AST, holder: Any, steps: list[tuple[ast.expr, Any]], value: Any, root: str, state: State
    ) -> Any:
        """Return the holder with the value at the end of the steps."""
        (at, index), *rest = steps
        site = self.site(at, state)

        def change(here: PathSite, each: Any) -> Any:
            if shape_of(each):
                assert isinstance(at, ast.Subscript)
                if rest:
                    self._changed(node, self.element(at, each, index, state), rest, value, root, state)
                else:
                    self._store_in_array(at, each, index, value, here.path)
                return each
            if not isinstance(each, Items):
                if hasattr(type(each), "__setitem__"):
                    raise self.error(
                        node, f"an element of {said(each)} is changed", "a list made here", "outside of the function"
                    )
                here.fail(f"TypeError: an element of {said(each)} is changed")
            inner = value
            if rest:
                inner = self._changed(node, sequences.read(here, each, index), rest, value, root, state)
            else:
                self._check_own(node, each, root, state, (value,))
            return sequences.store(here, each, index, inner)

        if rest:
            self._check_single(node, holder, root, state)
        return spread(site, change, holder)

    def _check_own(self, node: ast.AST, changed: Items, root: str, state: State, added: Sequence[Any]) -> None:
        """Refuse to change a list that it is not known who holds, and to put it into itself; raise `_Shared` where
        others would see it changing."""
        for value in added:
            if not DIRECT[type(value)] and not list_names(value).isdisjoint(changed.names):
                raise self.error(node, f"{root} would hold itself", "a list of other values", f"list({root})")
        number = only_name(changed)
        if FOREIGN in changed.names or (number is None and min(changed.names, default=0) < self._start):
            raise self.error(
                node, f"{self.code.name} changes a list that it was given", "a list made here", f"{root} = list({root})"
            )
        shared = number is not None and number < self._start
        for name, value in state.names.items():
            if name == root or DIRECT[type(value)]:
                continue
            if type(value) is tuple:
                self.budget.left -= len(value)
            if not list_names(value).isdisjoint(changed.names):
                if number is None:
                    raise self.error(
                        node, f"{root} changes, and {name} would change with it", "a list that one name holds",
                        f"{'fixed' if isinstance(value, Closure) else name} = list({root})",
                    )  # fmt: skip
                shared = True
        for loop in self.running:
            if any(not list_names(sequence).isdisjoint(changed.names) for sequence in loop):
                if number is None:
                    raise self.error(
                        node, f"{root} changes while a loop runs over it", "a loop over a copy",
                        f"for x in list({root}):",
                    )  # fmt: skip
                shared = True
        if shared:
            raise _Shared

    def _check_single(self, node: ast.AST, holder: Any, root: str, state: State) -> None:
        """Note that a list is at two places of its holder; raise `_Shared`, so that both change."""
        if not (holder.distinct if isinstance(holder, Items) else has_no_aliases(holder)):
            raise _Shared

    def _augment(self, node: ast.stmt, target: ast.expr, op: ast.operator, value: ast.expr, state: State) -> None:
        if isinstance(target, ast.Attribute) and is_record(self.value(target.value, state)):
            self._way(target, state)  # which refuses
        load = copy(target)
        load.ctx = ast.Load()  # type: ignore[attr-defined]
        old, new = self.value(ast.copy_location(load, target), state), self.value(value, state)
        symbol = OPERATORS[type(op)]
        if symbol == "+" and calls.is_list(old):
            more = self.items(self.site(node, state), new)
            known = only_name(old) not in (None, FOREIGN)
            if isinstance(target, ast.Name) or known:
                root = target.id if isinstance(target, ast.Name) and target.id not in self.code.shared else ""
                self._changed_by(
                    node, ast.unparse(target), "+=", calls.LIST_CHANGES["extend"], old, [more], root, state
                )
                return
            root, _ = self._way(target, state)
            try:
                self._check_single(node, state.names[root], root, state)
                for part in [old] if isinstance(old, Items) else [part for _, part in old.parts]:
                    self._check_own(node, part, root, state, more)
            except _Shared:
                self._change(node, old, old, root, state)  # which refuses
        self.store(target, self.computed(node, symbol, old, new, state), state)

    def _changing_value(self, node: ast.expr, state: State) -> Any:
        """Return a value that is assigned, or is a statement by itself: here a call may change a list."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=root) as holder, attr=method), args=args) if (
                method in CHANGING
            ):
                arguments = [self.value(each, state) for each in args]
                listed = self.value(holder, state)
                if method == "append" and len(arguments) == 1 and type(listed) is Items and state.path == TRUE and (
                    root in self.code.local and not node.keywords and not isinstance(state.names.get(root), SharedName)
                ):  # fmt: skip
                    with suppress(_Shared):
                        self._check_own(node, listed, root, state, arguments)
                        self.count(len(listed) + 1, lambda: self.place(node))
                        state.names[root] = listed.edited(len(listed), len(listed), arguments)
                        return None
                if root not in self.code.local and root not in self.function.captured:
                    self._way(ast.copy_location(ast.Subscript(holder, ast.Constant(0), ast.Store()), node), state)
                change = calls.LIST_CHANGES.get(method)
                if change is None or node.keywords:
                    raise self.error(
                        node, f"`.{method}` of a list", "a list that is made anew",
                        f"{root} = sorted({root})" if method == "sort" else "xs = [... for x in xs]",
                    )  # fmt: skip
                shared = isinstance(state.names.get(root), SharedName)
                return self._changed_by(node, root, method, change, listed, arguments, "" if shared else root, state)
            case ast.Call(func=ast.Attribute(value=holder, attr=method), args=args, keywords=[]) if (
                method in calls.LIST_CHANGES and only_name(listed := self.value(holder, state)) not in (None, FOREIGN)
            ):
                arguments = [self.value(each, state) for each in args]
                change, shown = calls.LIST_CHANGES[method], ast.unparse(holder)
                return self._changed_by(node, shown, method, change, listed, arguments, "", state)
        return self.value(node, state)

    def _changed_by(
        self, node: ast.AST, shown: str, method: str, change: ListChange, listed: Any, arguments: Sequence[Any],
        root: str, state: State,
    ) -> Any:  # fmt: skip
        """Change the list that a name, if any, holds, by one of Python's methods; return what this gives."""
        results: list[tuple[Guard, Any]] = []

        def changed(at: PathSite, each: Any, *, alone: bool) -> Any:
            if not isinstance(each, Items):
                at.fail(f"AttributeError: {said(each)} has no `.{method}`")
            try:
                self._check_own(node, each, shown, state, arguments)
            except _Shared:
                if alone:
                    raise
            new, result = change(at, each, *arguments)
            results.append((at.path, result))
            return new

        site = self.site(node, state)
        try:
            if not root:
                raise _Shared
            state.names[root] = spread(site, partial(changed, alone=True), listed)
        except _Shared:
            results.clear()
            self._change(node, listed, spread(site, partial(changed, alone=False), listed), shown, state)
        except TypeError:
            raise self.error(
                node, f"`.{method}` with {len(arguments)} arguments", "what a list takes",
                fix=f"see Python's list.{method}",
            ) from None  # fmt: skip
        apart = conditions().apart(path for path, _ in results)
        return merge(zip(apart, (result for _, result in results), strict=True))


def _has_fields(value: Any) -> bool:
    """Tell whether a value may be a record that changes."""
    return isinstance(value, Fields) or (
        isinstance(value, Alternatives) and any(isinstance(part, Fields) for _, part in value.parts)
    )


def _is_one_of(value: Any, numbers: Iterable[int]) -> bool:
    """Tell whether a value may be one of these lists."""
    parts = [part for _, part in value.parts] if isinstance(value, Alternatives) else [value]
    return any(isinstance(part, Items) and not part.names.isdisjoint(numbers) for part in parts)


def _is_simple(node: ast.expr) -> bool:
    """Tell whether an index is arithmetic on names and constants, which may be computed twice."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_simple(left) and _is_simple(right)
    return False
