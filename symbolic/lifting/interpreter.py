"""One interpreter for functions on symbolic values: predicated states that part at a test and meet at its end.

A branch whose condition is not decided runs both ways, each on a state of its own whose path says when it is the one;
behind the construct the states are joined (`states.join`), so that there is one again. Whoever leaves early, by
`return`, `break` or `continue`, waits where it is going to. No solver is asked, and `bool()` never forks.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Any, Final

from msgspec import Struct, field

from symbolic.errors import Place, SwizzleError
from symbolic.lifting import calls, operations, sequences
from symbolic.lifting.budget import CERTAIN_ROUNDS, ROUND
from symbolic.lifting.calls import CHANGING, FunctionCalls
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Closure
from symbolic.lifting.expressions import OPERATORS
from symbolic.lifting.lifted_text import LAZY
from symbolic.lifting.merging import merge
from symbolic.lifting.operations import has_elements, spread
from symbolic.lifting.running import Running
from symbolic.lifting.states import Dead, PathSite, State, join
from symbolic.lifting.values import (
    DIRECT,
    Items,
    SymbolicRange,
    has_no_aliases,
    kind_of,
    list_names,
    new_name,
    said,
    shape_of,
)
from symbolic.values.guard import FALSE, TRUE, Guard


class _Loop(Struct):
    """Who left the body of a loop early."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


MOST_ROUNDS: Final = 1_000_000
"""A loop over what is there whatever the inputs are runs so often at most."""


class Activation(FunctionCalls):
    """One call of a function: its names, and the states that have returned."""

    def __init__(
        self, function: Closure, path: Guard, *, caller: Running | None = None,
        called_from: Callable[[], Place] | None = None, expanded: object = None,
    ) -> None:  # fmt: skip
        super().__init__(function, path, caller=caller, called_from=called_from, expanded=expanded)
        self._returned: list[State] = []
        self._loops: list[_Loop] = []
        self._running: list[Any] = []  # what the loops run over
        self._start = new_name()

    def run(self, names: dict[str, Any]) -> Any:
        """Return the result for these parameters; `Dead` where no path returns."""
        end = self._block(self.code.body, State(self.path, names))
        if end is not None:
            self._returned.append(State(end.path, {"": None}))
        found = join(self._returned)
        if found is None:
            raise Dead
        return found.names[""]

    # -- statements --------------------------------------------------------------------------------------------

    def _block(self, body: tuple[ast.stmt, ...] | list[ast.stmt], state: State | None) -> State | None:
        for statement in body:
            if state is None:
                return None
            try:
                state = self._statement(statement, state)
            except Dead:
                return None
            except SwizzleError as error:
                raise self.placed(statement, error) from None
        return state

    def _statement(self, node: ast.stmt, state: State) -> State | None:
        self.budget.left -= 1
        if self.budget.left < self.budget.pause:
            self.tired(node)
        match node:
            case ast.Assign(targets=targets, value=value):
                result = self._changing_value(value, state)
                for target in targets:
                    self.store(target, result, state)
            case ast.AnnAssign(target=target, value=value):
                assert value is not None
                self.store(target, self._changing_value(value, state), state)
            case ast.AugAssign(target=target, op=op, value=value):
                self._augment(node, target, op, value, state)
            case ast.If(test=test, body=body, orelse=orelse):
                guard = self.condition(test, state)
                if guard == TRUE:
                    return self._block(body, state)
                if guard == FALSE:
                    return self._block(orelse, state)
                return join([self._block(body, state.on(guard)), self._block(orelse, state.on(-guard))])
            case ast.While():
                return self._while(node, state)
            case ast.For():
                return self._for(node, state)
            case ast.Return(value=value):
                result = None if value is None else self.value(value, state)
                self.returns.append(value)
                self._returned.append(State(state.path, {"": result}))
                return None
            case ast.Break():
                self._loops[-1].breaks.append(state)
                return None
            case ast.Continue():
                self._loops[-1].continues.append(state)
                return None
            case ast.Assert(test=test, msg=message):
                guard = self.condition(test, state)
                said = message.value if isinstance(message, ast.Constant) else ast.unparse(test)
                assert not isinstance(said, bytes)
                self.site(node, state).require(guard, f"AssertionError: {said}")
            case ast.Raise(exc=error):
                self.site(node, state).fail(f"raised: {ast.unparse(error) if error else 'the error before'}")
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attr)) as call) if attr in CHANGING:
                self._changing_value(call, state)
            case ast.Expr(value=value):
                self.value(value, state)
            case ast.FunctionDef():
                state.names[node.name] = self.closure(node, state)
            case ast.Pass():
                pass
            case _:
                raise self.error(
                    node, f"`{ast.unparse(node).splitlines()[0]}` in a lifted function", "another statement",
                    "leave it out, or do it before the call",
                )  # fmt: skip
        return state

    def _while(self, node: ast.While, state: State) -> State | None:
        start, count, certain, left, ended = state.path, 0, 0, list[State](), list[State]()
        most = max(CERTAIN_ROUNDS, self.function.bound) if self.function.environment.trusted else inf
        current: State | None = state
        while current is not None:
            try:
                guard = self.condition(node.test, current)
            except Dead:
                break
            if guard == FALSE:
                (ended if node.orelse else left).append(current)
                break
            if guard != TRUE:
                if (leaving := current.on(-guard)) is not None:
                    (ended if node.orelse else left).append(leaving)
                current = current.on(guard)
                if current is None:
                    break
            if current.path != start:
                count += 1
                if count > self.function.bound:
                    self.too_far(node, current, f"more than {self.function.bound} rounds of this loop")
                    break
            elif (certain := certain + 1) > most:
                raise self.error(
                    node, f"more than {most:,} rounds of this loop, whatever the inputs are", "an end that is reached",
                    f"make its test false, or `break`; @lifted(bound={2 * most}) if it is to run that long",
                )  # fmt: skip
            current = self._round(node, current, left)
        return join([*left, self._block(node.orelse, join(ended))] if node.orelse else left)

    def _for(self, node: ast.For, state: State) -> State | None:
        start, count, left, ended = state.path, 0, list[State](), list[State]()
        sequence = self.value(node.iter, state)
        self._running.append((sequence, *self._run_over(node.iter, state)))
        try:
            current: State | None = state
            known = self.known_elements(sequence)
            if known is not None:
                current = self._for_each(node, known, state, left)
            for present, item in self.elements(self.site(node.iter, state), sequence) if known is None else ():
                assert current is not None
                if (leaving := current.on(-present)) is not None:
                    (ended if node.orelse else left).append(leaving)
                current = current.on(present)
                if current is None:
                    break
                if present != TRUE and current.path != start:
                    count += 1
                    if count > self.function.bound:
                        self.too_far(node, current, f"more than {self.function.bound} rounds of this loop")
                        current = None
                        break
                try:
                    self.store(node.target, item(self.site(node.iter, current)), current)
                except Dead:
                    current = None
                    break
                current = self._round(node, current, left)
                if current is None:
                    break
        finally:
            self._running.pop()
        if current is not None:
            (ended if node.orelse else left).append(current)
        return join([*left, self._block(node.orelse, join(ended))] if node.orelse else left)

    def _for_each(self, node: ast.For, known: Iterable[Any], state: State, left: list[State]) -> State | None:
        """Run the rounds of a loop over elements that are there whatever the inputs are."""
        current: State | None = state
        for place, item in enumerate(known):
            assert current is not None
            if place >= MOST_ROUNDS:
                raise self.error(
                    node,
                    f"more than {MOST_ROUNDS:,} rounds of this loop, whatever the inputs are",
                    "fewer",
                    "a formula",
                )
            try:
                if type(node.target) is ast.Name:
                    current.names[node.target.id] = item
                else:
                    self.store(node.target, item, current)
            except Dead:
                return None
            current = self._round(node, current, left)
            if current is None:
                break
        return current

    def _run_over(self, node: ast.expr, state: State) -> Iterator[Any]:
        """Yield what an expression runs over without keeping a copy: the arguments of `enumerate` and the like."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in LAZY:
                for each in arguments:
                    yield from self._run_over(each, state)
            case ast.Name(id=name) if name in state.names:
                yield state.names[name]
            case ast.Subscript(value=ast.Name(id=name)) if name in state.names:
                yield state.names[name]

    def _round(self, node: ast.For | ast.While, state: State, left: list[State]) -> State | None:
        """Run a loop's body once; paths that break are not in the state that is left."""
        self.budget.left -= ROUND
        if self.budget.left < self.budget.pause:
            self.tired(node)
        loop = _Loop()
        self._loops.append(loop)
        end = self._block(node.body, state)
        self._loops.pop()
        if loop.breaks:
            left += loop.breaks
        return join([*loop.continues, end]) if loop.continues else end

    def too_far(self, node: ast.AST, state: State, what: str) -> None:
        """Note that no input takes the paths that would go on."""
        site = self.site(node, state)
        if conditions().both(site.path, TRUE) == TRUE:
            raise self.error(node, what, "an end that is reached", f"@lifted(bound={2 * self.function.bound})")
        site.require(FALSE, f"beyond the bound: {what}", demanded=self.function.beyond == "assert")

    # -- assignment --------------------------------------------------------------------------------------------

    def store(self, target: ast.expr, value: Any, state: State) -> None:
        match target:
            case ast.Name(id=name):
                state.names[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                fits = type(value) is tuple and len(value) == len(targets)
                items = value if fits else self._taken_apart(target, value, len(targets), state)
                for each, item in zip(targets, items, strict=True):
                    self.store(each, item, state)
            case ast.Subscript() | ast.Attribute():
                if self._stored(target, value, state):
                    return
                root, steps = self._way(target, state)
                changed = self._changed(target, state.names[root], steps, value, root, state)
                state.names[root] = changed
            case _:
                raise self.error(
                    target, f"an assignment to `{ast.unparse(target)}`", "a name or an element", "name = ..."
                )

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

    def _way(self, target: ast.expr, state: State) -> tuple[str, list[tuple[ast.expr, Any]]]:
        """Return the name from which an element is reached, and the steps to it: indices or names of fields."""
        match target:
            case ast.Name(id=name):
                if name not in self.code.local:
                    raise self.error(
                        target, f"{name} is changed, which was not made in {self.code.name}", "a list made here",
                        f"new = list({name})",
                    )  # fmt: skip
                self.value(ast.copy_location(ast.Name(name, ast.Load()), target), state)
                return name, []
            case ast.Subscript(value=below, slice=index):
                if isinstance(index, ast.Slice):
                    raise self.error(target, "an assignment to a slice", "a new list", "xs = xs[:i] + new + xs[j:]")
                root, steps = self._way(below, state)
                return root, [*steps, (target, self.value(index, state))]
            case ast.Attribute(value=below, attr=name):
                shown = ast.unparse(below)
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
        """Refuse to change a list that somebody else would see changing, and to put it into itself."""
        for value in added:
            if not DIRECT[type(value)] and not list_names(value).isdisjoint(changed.names):
                raise self.error(node, f"{root} would hold itself", "a list of other values", f"list({root})")
        if min(changed.names, default=0) < self._start:
            raise self.error(
                node, f"{self.code.name} changes a list that it was given", "a list made here", f"{root} = list({root})"
            )
        for name, value in state.names.items():
            if name == root or DIRECT[type(value)]:
                continue
            if type(value) is tuple:
                self.budget.left -= len(value)
            if not list_names(value).isdisjoint(changed.names):
                raise self.error(
                    node, f"{root} changes, and {name} would change with it", "a list that one name holds",
                    f"{'fixed' if isinstance(value, Closure) else name} = list({root})",
                )  # fmt: skip
        if any(not list_names(sequence).isdisjoint(changed.names) for sequence in self._running):
            raise self.error(
                node, f"{root} changes while a loop runs over it", "a loop over a copy", f"for x in list({root}):"
            )

    def _check_single(self, node: ast.AST, holder: Any, root: str, state: State) -> None:
        """Refuse to change a list that its holder holds twice."""
        if not (holder.distinct if isinstance(holder, Items) else has_no_aliases(holder)):
            raise self.error(
                node, f"{root} holds one list at two places, and both would change", "a list for each place",
                "[list(row) for ...]",
            )  # fmt: skip

    def _augment(self, node: ast.stmt, target: ast.expr, op: ast.operator, value: ast.expr, state: State) -> None:
        if isinstance(target, ast.Attribute):
            self._way(target, state)  # which refuses
        load: ast.expr = (
            ast.Subscript(target.value, target.slice, ast.Load())
            if isinstance(target, ast.Subscript)
            else ast.Name(target.id if isinstance(target, ast.Name) else "", ast.Load())
        )
        old, new = self.value(ast.copy_location(load, target), state), self.value(value, state)
        symbol = OPERATORS[type(op)]
        if symbol == "+" and isinstance(target, ast.Name) and isinstance(old, Items):
            more = self.items(self.site(node, state), new)
            self._check_own(node, old, target.id, state, more)
            self.budget.check_length(len(old) + len(more), lambda: self.place(node))
            state.names[target.id] = old.edited(len(old), len(old), more)
            return
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
                    root in self.code.local and not node.keywords
                ):  # fmt: skip
                    self._check_own(node, listed, root, state, arguments)
                    self.count(len(listed) + 1, lambda: self.place(node))
                    state.names[root] = listed.edited(len(listed), len(listed), arguments)
                    return None
                if root not in self.code.local:
                    self._way(ast.copy_location(ast.Subscript(holder, ast.Constant(0), ast.Store()), node), state)
                change = calls.LIST_CHANGES.get(method)
                if change is None or node.keywords:
                    raise self.error(
                        node, f"`.{method}` of a list", "a list that is made anew",
                        f"{root} = sorted({root})" if method == "sort" else "xs = [... for x in xs]",
                    )  # fmt: skip
                results: list[tuple[Guard, Any]] = []

                def changed(at: PathSite, each: Any) -> Any:
                    if not isinstance(each, Items):
                        at.fail(f"AttributeError: {said(each)} has no `.{method}`")
                    self._check_own(node, each, root, state, arguments)
                    new, result = change(at, each, *arguments)
                    results.append((at.path, result))
                    return new

                try:
                    state.names[root] = spread(self.site(node, state), changed, listed)
                except TypeError:
                    raise self.error(
                        node,
                        f"`.{method}` with {len(arguments)} arguments",
                        "what a list takes",
                        fix=f"see Python's list.{method}",
                    ) from None
                table = conditions()
                apart = table.apart(path for path, _ in results)
                return merge(zip(apart, (result for _, result in results), strict=True))
        return self.value(node, state)


def _is_simple(node: ast.expr) -> bool:
    """Tell whether an index is arithmetic on names and constants, which may be computed twice."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_simple(left) and _is_simple(right)
    return False
