"""One interpreter for functions on symbolic values: predicated states that part at a test and meet at its end.

A branch whose condition is not decided runs both ways, each on a state of its own whose path says when it is the one;
behind the construct the states are joined (`states.join`), so that there is one again. Whoever leaves early, by
`return`, `break` or `continue`, waits where it is going to. No solver is asked, and `bool()` never forks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final

from msgspec import Struct, field

from symbolic.errors import SwizzleError
from symbolic.lifting.aliases import KeptList
from symbolic.lifting.budget import CERTAIN_ROUNDS, ROUND
from symbolic.lifting.calls import CHANGING
from symbolic.lifting.conditions import conditions
from symbolic.lifting.lifted_text import names_given
from symbolic.lifting.patterns import PatternMatching
from symbolic.lifting.profiles import current_profile
from symbolic.lifting.states import UNSET, Dead, State, join
from symbolic.lifting.values import SharedName, new_name
from symbolic.values.guard import FALSE, TRUE


class _Loop(Struct):
    """Who left the body of a loop early."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


MOST_ROUNDS: Final = 1_000_000
"""A loop over what is there whatever the inputs are runs so often at most."""


class Activation(PatternMatching):
    """One call of a function: its names, and the states that have returned."""

    def run(self, names: dict[str, Any]) -> Any:
        """Return the result for these parameters; `Dead` where no path returns."""
        known = {**self.function.captured, **names}
        known |= {each: SharedName((known.get(each, UNSET),), frozenset({new_name()})) for each in self.code.cells}
        end = self.block(self.code.body, State(self.path, known))
        if end is not None:
            self._return(None, end)
        found = join(self._returned)
        if found is None:
            raise Dead
        self.changes = {name: value for name, value in found.names.items() if isinstance(name, KeptList)}
        return found.names[""]

    def _return(self, result: Any, state: State) -> None:
        kept = {name: value for name, value in state.names.items() if isinstance(name, KeptList)}
        self._returned.append(State(state.path, {**kept, "": result}))

    # -- statements --------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt], state: State | None) -> State | None:
        """Run statements on a state's paths; return the paths that go on behind them."""
        profile = current_profile()
        for statement in body:
            if state is None:
                return None
            try:
                if profile is None:
                    state = self._statement(statement, state)
                else:
                    with profile.at(self.place(statement)):
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
        self.statement = None if isinstance(node, ast.AugAssign) else getattr(node, "value", None), state
        match node:
            case ast.Assign(targets=targets, value=value):
                result = self._changing_value(value, state)
                if self.function.grammar:
                    self.named += names_given(node)
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
                    return self.block(body, state)
                if guard == FALSE:
                    return self.block(orelse, state)
                return join([self.block(body, state.on(guard)), self.block(orelse, state.on(-guard))])
            case ast.Match():
                return self.match(node, state)
            case ast.While():
                return self._while(node, state)
            case ast.For():
                return self._for(node, state)
            case ast.Return(value=value):
                result = None if value is None else self.value(value, state)
                self.returns.append(value)
                self._return(result, state)
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
                self.give(node.name, node, self.closure(node, state), state)
            case ast.Pass() | ast.Nonlocal():
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
        return join([*left, self.block(node.orelse, join(ended))] if node.orelse else left)

    def _for(self, node: ast.For, state: State) -> State | None:
        start, count, left, ended = state.path, 0, list[State](), list[State]()
        sequence = self.value(node.iter, state)
        known = self.known_elements(sequence)
        over = [sequence, *self._run_over(node.iter)]
        self.running.append([tuple(known) if known is not None and not isinstance(known, range) else sequence, *over])
        try:
            current: State | None = state
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
            self.running.pop()
        if current is not None:
            (ended if node.orelse else left).append(current)
        return join([*left, self.block(node.orelse, join(ended))] if node.orelse else left)

    def _for_each(self, node: ast.For, known: Sequence[Any], state: State, left: list[State]) -> State | None:
        """Run the rounds of a loop over elements that are there whatever the inputs are."""
        current: State | None = state
        for place in range(len(known)):
            assert current is not None
            item = known[place] if isinstance(known, range) else self.running[-1][0][place]  # a round may change it
            if place >= MOST_ROUNDS:
                raise self.error(
                    node,
                    f"more than {MOST_ROUNDS:,} rounds of this loop, whatever the inputs are",
                    "fewer",
                    "a formula",
                )
            try:
                if type(node.target) is ast.Name and node.target.id not in self.code.shared:
                    current.names[node.target.id] = item
                else:
                    self.store(node.target, item, current)
            except Dead:
                return None
            current = self._round(node, current, left)
            if current is None:
                break
        return current

    def _run_over(self, node: ast.expr) -> Iterator[Any]:
        """Yield what an expression runs over without keeping a copy: the arguments of `enumerate` and the like."""
        if node in self.lazy:
            assert isinstance(node, ast.Call)
            yield from self.lazy[node]
            for each in node.args:
                yield from self._run_over(each)

    def _round(self, node: ast.For | ast.While, state: State, left: list[State]) -> State | None:
        """Run a loop's body once; paths that break are not in the state that is left."""
        self.budget.left -= ROUND
        if self.budget.left < self.budget.pause:
            self.tired(node)
        loop = _Loop()
        self._loops.append(loop)
        end = self.block(node.body, state)
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
