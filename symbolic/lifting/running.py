"""One call of a function that is interpreted: what all parts of the interpreter know of it, and its places."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from symbolic.errors import Place, SwizzleError
from symbolic.lifting.budget import Budget
from symbolic.lifting.environment import Closure
from symbolic.lifting.states import PathSite, State
from symbolic.lifting.unknowns import Sharing
from symbolic.lifting.values import new_name
from symbolic.values.guard import Guard


class Running(ABC):
    """One call of a function: iteration, expressions, calls and statements are a class each, `Activation` is all."""

    def __init__(
        self, function: Closure, path: Guard, *, caller: Running | None = None,
        called_from: Callable[[], Place] | None = None, expanded: object = None,
    ) -> None:  # fmt: skip
        self.function = function
        self.code = function.code
        self.path = path
        self.caller = caller
        self.level: int = 1 if caller is None else caller.level + 1
        self.outermost: Running = self if caller is None else caller.outermost
        self.recursions = 0  # counted by the outermost: calls of functions within themselves, on paths of their own
        self.budget: Budget = function.environment.budget() if caller is None else caller.budget
        self._called_from = called_from
        self.returns: list[ast.expr | None] = []
        self.named: list[tuple[str, ast.expr]] = []  # what a grammar has named
        self.sketch, self.instance = function.sketch, function.instance
        if function.grammar and caller is not None:
            self.sketch, self.instance = caller.sketch, (*caller.instance, expanded)
        self._outside = function.environment.met
        self._sharing: Sharing | None = None
        self.plain: dict[str, Any] = {}
        self.statement: tuple[ast.AST | None, State] = (None, State(path, {}))  # the value of the one that runs
        self.direct = False  # whether a call runs the function that it names, and no handler between them
        self._start = new_name()  # lists that were there before have lesser names
        self.running: list[list[Any]] = []  # what each loop runs over: the rounds' elements, and what has none yet
        self.lazy: dict[ast.AST, list[Any]] = {}  # what `enumerate` and the like were given, by their calls
        self._returned: list[State] = []
        self._loops: list[Any] = []
        self.changes: dict[Any, Any] = {}  # the newest versions of lists that were there before, by `aliases.KeptList`

    @abstractmethod
    def run(self, names: dict[str, Any]) -> Any:
        """Return the result for these parameters; `Dead` where no path returns."""

    @abstractmethod
    def block(self, body: Sequence[ast.stmt], state: State | None) -> State | None:
        """Run statements on a state's paths; return the paths that go on behind them."""

    @abstractmethod
    def taken_over(self, site: PathSite, node: ast.AST, changes: dict[Any, Any], name: str) -> None:
        """Take over what a call changed of lists that were there before."""

    @abstractmethod
    def value(self, node: ast.expr, state: State) -> Any:
        """Return what an expression is on a state's paths."""

    @abstractmethod
    def condition(self, node: ast.expr, state: State) -> Guard:
        """Return the guard under which an expression counts as true; no more of it is evaluated than decides that."""

    @abstractmethod
    def closure(self, node: ast.Lambda | ast.FunctionDef, state: State) -> Closure:
        """Return the function that a `lambda` or a `def` makes."""

    @abstractmethod
    def called(self, node: ast.Call, state: State) -> Any:
        """Return what a call gives."""

    @abstractmethod
    def call(self, site: PathSite, node: ast.AST, function: Any, *arguments: Any) -> Any:
        """Call a function with these values."""

    @abstractmethod
    def store(self, target: ast.expr, value: Any, state: State) -> None:
        """Assign to a target."""

    @abstractmethod
    def too_far(self, node: ast.AST, state: State, what: str) -> None:
        """Note that no input takes the paths that would go on."""

    # -- places and sites --------------------------------------------------------------------------------------

    def place(self, node: ast.AST) -> Place:
        """Return the place of a node, with the calls that lead here."""
        return self.code.text.place(node, self.code.name, self._called_from and self._called_from())

    def site(self, node: ast.AST, state: State) -> PathSite:
        """Return where a node is met."""
        return PathSite(state.path, lambda: self.place(node), self.budget)

    def error(self, node: ast.AST, found: str, expected: str, fix: str) -> SwizzleError:
        """Return the mistake of a user at a node."""
        return SwizzleError(found, place=self.place(node), expected=expected, fix=fix)

    def tired(self, node: ast.AST) -> None:
        """Raise SwizzleError where the text has used up the work that it may ask for."""
        self.budget.look(lambda: self.place(node))

    def mistaken(self, node: ast.AST, error: Exception) -> SwizzleError:
        """Return the error that Python raised on plain values as a mistake in a stranger's text."""
        if isinstance(error, IndexError):
            return self.error(
                node, str(error), "an index inside the shape", "check it against the shapes in @sketch(...)"
            )
        return self.error(
            node, f"{type(error).__name__}: {error}", self.budget.part, "compute with numbers and array elements"
        )

    def placed(self, node: ast.AST, error: SwizzleError) -> SwizzleError:
        """Return a mistake with its place."""
        if error.place is not None:
            return error
        return SwizzleError(error.found, place=self.place(node), expected=error.expected, fix=error.fix)
