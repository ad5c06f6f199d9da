"""Reading a serial function as a loop.

What stands before the loop runs once, on numbers; the loop's body runs once, on a state and an element that could be
any; what stands behind it runs once, on any state. The interpreter is that of lifted functions (`symbolic.lifting`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, NoReturn

from msgspec.structs import replace

from swizzle.language.element_types import ElementType
from swizzle.language.surface import ELEMENT_TYPES
from swizzle.operators.exact import ExactNames, asks_for, check_comparisons, exact_body
from swizzle.operators.loop import BOOL, Loop, Promise, name_of
from swizzle.operators.parts import first_use, names_assigned, names_read, own_statements, parts_of
from symbolic.bottom_up import bottom_up, deep_stack, reached
from symbolic.core.obligations import obligations
from symbolic.core.value_types import Boolean, Real, as_condition, describe
from symbolic.core.values import bitvector, boolean, integer, real
from symbolic.elements import limits
from symbolic.errors import Place, SwizzleError, near
from symbolic.expressions.expression import Expression, constant, either, select, subexpressions
from symbolic.expressions.formulas import MORE
from symbolic.expressions.reading import Unreadable, cancelled_in, expression_of
from symbolic.ir.program import DType
from symbolic.lifting.builtins import elementary_functions
from symbolic.lifting.comparisons import NotedComparisons, noted_comparisons
from symbolic.lifting.environment import Closure, KnownFunction
from symbolic.lifting.interpreter import Activation
from symbolic.lifting.lifted_text import code_of, parameters_of
from symbolic.lifting.states import Dead
from symbolic.lifting.values import inward, outward
from symbolic.solve.floor_division import manager
from symbolic.values.guard import TRUE

ELEMENT: Final = "the element"
"""What the loop's body calls its element: no name that a text can have."""
STOPPED: Final = "stopped"
A_ROUND: Final = "a round of the loop"
THE_RESULT: Final = "the result"
REACHED: Final = 3
"""Comparisons are looked at of the states before so many rounds."""
MOST_COMPARED: Final = 32
"""More comparisons are not looked at of these states, and refused."""
BITS: Final = 512
"""A constant of a formula has at most so many bits."""
_HUGE: Final = 1 << BITS
DEEPEST: Final = 250
"""Operations within each other, of which a sum or a maximum is one however long it is."""
_BITS: Final = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert, ast.LShift, ast.RShift)
_KEYWORDS: Final = ("length", "where")


def loop_of(closure: Closure, length: int | None = None, run: Callable[..., Any] | None = None) -> Loop:
    """Return a serial function as a loop; SwizzleError with a place for what is none.

    `length` promises at most so many elements; `run` is the function itself.
    """
    try:
        return _Reader(replace(closure, environment=ExactNames(closure.environment))).loop(length, run)
    except RecursionError:
        raise too_deep(closure.code.name, closure.code.text.place(closure.code.node)) from None


def too_deep(name: str, place: Place | None) -> SwizzleError:
    """Return the mistake of a loop whose formulas nobody can read."""
    return SwizzleError(
        f"what {name} computes for one element is nested too deeply",
        place=place,
        expected="a few hundred operations within each other",
        fix="fewer rounds of the loops inside, or an end to what calls itself",
    )


class _Reader:
    """Reads one serial function."""

    def __init__(self, closure: Closure) -> None:
        self.closure = closure
        self.code = closure.code
        self.arrays = {each.arg: self._type(each) for each in parameters_of(self.code.parameters)}
        if not self.arrays:
            self._fail(self.code.node, f"{self.code.name} has no array", "a parameter for each", "def total(x: f32):")
        self.parts = parts_of(self.code, list(self.arrays))
        by_array = dict(zip(self.parts.arrays, self.parts.elements, strict=True))
        self.elements = {by_array[array]: dtype for array, dtype in self.arrays.items()}
        self._spelled: dict[str, str] = {}
        self._cancelled: dict[str, tuple[str, ...]] = {}
        self._apart: dict[str, int] = {}
        self._compared: dict[str, tuple[tuple[Any, ...], NotedComparisons]] = {}  # of each part that ran last
        nodes = [node for each in (*self.parts.body, *self.parts.behind) for node in ast.walk(each)]
        words = any(not each.is_float and each is not BOOL for each in self.arrays.values())
        self._has_floats = any(each.is_float for each in self.arrays.values())
        self._has_bits = words and any(isinstance(getattr(node, "op", None), _BITS) for node in nodes)

    def loop(self, length: int | None, run: Callable[..., Any] | None) -> Loop:
        """Return the function as a loop."""
        parts, node = self.parts, self.parts.node
        changed = names_assigned(parts.body)
        before = self._before()
        state = [name for name in before if name in changed]
        fixed = {name: value for name, value in before.items() if name not in changed}
        if parts.counter is not None:
            first = [] if parts.first is None else self._run([_returned([parts.first])], {}, "the first number")
            before[parts.counter] = first[0] if first else 0
            state = [parts.counter, *(name for name in state if name != parts.counter)]
        late = (changed - set(state) - set(parts.elements)) & names_read(parts.behind)
        if late:
            name = min(late)
            self._fail(node, f"{name} has no value where no element is", "one before the loop", f"{name} = 0")
        last = {*parts.elements, parts.counter} & names_read(parts.behind)
        if last:
            name = min(filter(None, last))
            said = f"{name} is read behind the loop, where it is what the last round had"
            self._fail(node, said, "the names of the state", f"a name of its own, kept in the loop: last = {name}")
        initial = {name: self._constant(name, before[name]) for name in state}
        types = self._state_types(initial, fixed)
        step = self._step(types, fixed)
        self._check_whole({name: (initial[name], step[name]) for name in types}, types)
        stopped = step.pop(STOPPED)
        result = self._behind(types, fixed)
        self._check_reached(types, initial)
        self._check_whole({"the result": result}, types)
        self._check_compared([*step.values(), stopped, *result], {**self.elements, **types}, initial)
        if any(isinstance(each, ast.Break) for each in own_statements(parts.body)):
            types[STOPPED], initial[STOPPED] = BOOL, constant(False)
            gone = name_of(STOPPED, BOOL)
            step = {name: select(gone, name_of(name, types[name]), each) for name, each in step.items()}
            step[STOPPED] = either(gone, stopped)
        promised = Promise(self._length(length), self._where())
        place = self.code.text.place(self.code.node)
        cancelled = {name: some for name, some in self._cancelled.items() if some}
        return Loop(self.code.name, place, self.elements, types, initial, step, result, promised, run, cancelled,
                    compared_apart=sum(self._apart.values()))  # fmt: skip

    # -- types -------------------------------------------------------------------------------------------------

    def _type(self, parameter: ast.arg) -> DType:
        node = parameter.annotation
        found: Any = None
        if isinstance(node, ast.Name | ast.Constant):
            name = node.id if isinstance(node, ast.Name) else str(node.value)
            try:
                found = bool if name == "bool" else self.closure.environment.find(name)
            except KeyError:
                found = None
        if found is bool:
            return BOOL
        if isinstance(found, KnownFunction):  # as a text that is interpreted holds it
            found = ELEMENT_TYPES.get(found.name)
        if not isinstance(found, ElementType) or found.dtype.is_narrow or found.dtype is DType.BF16:
            said = f"{parameter.arg} has no" if node is None else f"{ast.unparse(node)} is no"
            known = "f16, f32, f64, i32, u32, i64, u64 or bool"
            self._fail(parameter, f"{said} element type", known, f"{parameter.arg}: f32")
        return found.dtype

    def _state_types(self, initial: Mapping[str, Expression], fixed: Mapping[str, Any]) -> dict[str, DType]:
        """Return the type of each word of the state: floating-point where it ever meets such a number."""
        kinds = [each for each in self.arrays.values() if each is not BOOL]
        real = next((each for each in kinds if each.is_float), None)
        whole = (each for each in kinds if not each.is_float)
        number = max(whole, key=lambda dtype: int(dtype.value[1:]), default=DType.I32)
        types = {name: BOOL if each.truth else number for name, each in initial.items()}
        if real is None:
            return types
        for name, each in initial.items():
            if not each.truth and not isinstance(each.value, int):
                types[name] = real
        while True:
            try:
                step = self._step(types, fixed)
            except SwizzleError:  # of a word that begins with a whole number and is divided, say
                if number not in types.values():
                    raise
                types = {name: dtype if dtype is BOOL else real for name, dtype in types.items()}
                continue
            words = [name for name in types if name != self.parts.counter]
            computed = dict(zip(words, self._compared[A_ROUND][0], strict=False))
            all_types = {**self.elements, **types}
            met = [
                name for name, dtype in types.items() if dtype is number and (
                    isinstance(computed.get(name), Real) or _is_real(step[name], all_types)
                    or _meets_real(name, step, all_types)
                )
            ]  # fmt: skip
            if not met:
                return types
            types |= dict.fromkeys(met, real)

    def _check_whole(self, some: Mapping[str, Sequence[Expression]], types: Mapping[str, DType]) -> None:
        """Refuse fractions of words that are all whole numbers."""
        all_types = {**self.elements, **types}
        whole = [each for each in all_types.values() if each is not BOOL]
        if any(each.is_float for each in whole):
            return
        for name, expressions in some.items():
            if any(_is_real(each, all_types, infinite=False) for each in expressions):
                said = (
                    f"{name} becomes a fraction, and the words are {', '.join(sorted({each.value for each in whole}))}"
                )
                self._fail(self.parts.node, said, "whole numbers, or an array of floating-point ones", "x: f32")

    def _check_compared(
        self, some: Iterable[Expression], types: Mapping[str, DType], initial: Mapping[str, Expression]
    ) -> None:
        """Refuse comparisons that words of a type have otherwise than numbers, although nothing in them overflows."""
        for node in dict.fromkeys(each for one in some for each in subexpressions(one)):
            if node.operator not in ("<", "<=", "==", "max", "min"):
                continue
            if any(each.truth for each in node.arguments):
                continue
            kinds = {types[name] for each in node.arguments for name in numbers_of(each)} - {BOOL}
            if not kinds or any(each.is_float for each in kinds):
                continue
            widest = max(kinds, key=lambda dtype: (int(dtype.value[1:]), dtype.value[0] == "u"))
            signed = [each for each in kinds if each.value[0] == "i"]
            if widest.value[0] == "u" and signed:
                said = (
                    f"{signed[0].value} and {widest.value} are compared, of which neither has all numbers of the other"
                )
                self._fail(self.parts.node, said, "numbers of one type", "arrays of one type, or of a wider one: i64")
            least, greatest = limits(widest)
            for name, each in initial.items():
                if name in node.names and isinstance(each.value, int) and not each.truth:
                    low, high = limits(types[name])
                    if not low <= each.value <= high:
                        said = f"{name} begins with {each.value}, is compared, and is {types[name].value}"
                        self._fail(self.parts.node, said, f"a number from {low} to {high}", "arrays of a wider type")
            wraps = node.operator != "==" or node.names <= self.elements.keys()
            for each in node.arguments if wraps else ():
                if each.constant and isinstance(each.value, int) and not least <= each.value <= greatest:
                    said = f"{each.value} is compared with numbers of {widest.value}, and is none"
                    self._fail(self.parts.node, said, f"numbers from {least} to {greatest}", "arrays of a wider type")

    def _symbol(self, name: str, dtype: DType) -> Any:
        if dtype is BOOL:
            found: Any = boolean(name)
        elif self._has_bits and not dtype.is_float:
            found = bitvector(name, int(dtype.value[1:]), signed=dtype.value[0] == "i")
        else:
            found = real(name) if dtype.is_float else integer(name)
        self._spelled[found.formula.symbol_name()] = name
        return found

    # -- running the parts ---------------------------------------------------------------------------------------

    def _run(self, body: Sequence[ast.stmt], names: Mapping[str, Any], what: str) -> tuple[Any, ...]:
        """Return what statements return, run on these names."""
        for each in body:
            if not hasattr(each, "lineno"):
                ast.copy_location(each, self.code.node)
            ast.fix_missing_locations(each)
        local = frozenset({*self.code.local, *names})
        closure = replace(self.closure, code=replace(self.code, body=exact_body(body), local=local))
        with obligations() as found, elementary_functions(), deep_stack(), self._noted() as noted:
            try:
                result = Activation(closure, TRUE).run({name: inward(value) for name, value in names.items()})
            except Dead:
                self._fail(self.code.node, f"{what} fails for every input", "one that does not", "")
        for demand in found.made:
            if demand.demanded and not demand.text.startswith("division by zero"):
                raise SwizzleError(
                    f"{demand.text}, for some inputs of {what}",
                    place=demand.place,
                    expected="what cannot fail",
                    fix="a test before it",
                )
        returned = outward(result)
        values = returned if isinstance(returned, tuple) else (returned,)
        self._apart[what] = check_comparisons(values, noted, self._promised) if noted else 0
        self._compared[what] = values, noted
        return values

    def _noted(self) -> AbstractContextManager[NotedComparisons]:
        return noted_comparisons() if self._has_floats else nullcontext({})

    def _before(self) -> dict[str, Any]:
        """Return what the names hold before the loop, in the order in which they are assigned."""
        before = self.parts.before
        names = [name for name in names_assigned(before) if name in self.code.local]
        ordered = sorted(names, key=lambda name: (first_use(before, name), name))
        if not ordered:
            return {}
        values = self._run([*before, _names_returned(ordered)], {}, "the start")
        return dict(zip(ordered, values, strict=True))

    def _constant(self, name: str, value: Any) -> Expression:
        if not isinstance(value, bool | int | float | Fraction):
            found = f"{name} is {describe(value)} before the loop"
            self._fail(self.parts.node, found, "a number or a truth value", f"{name} = 0")
        if value != value:
            raise asks_for(f"{name} begins with NaN, which", "what is no number", self.code.text.place(self.parts.node))
        if _is_huge(constant(value)):
            found = f"{name} begins with a number of more than {BITS} bits"
            self._fail(self.parts.node, found, "a smaller one", f"{name} = 0")
        return constant(value)

    def _step(self, types: Mapping[str, DType], fixed: Mapping[str, Any]) -> dict[str, Expression]:
        """Return what the state becomes with an element, and whether the loop is left (`stopped`)."""
        parts, node = self.parts, self.parts.node
        state = {name: self._symbol(name, dtype) for name, dtype in types.items()}
        given = tuple(self._symbol(name, self.elements[name]) for name in parts.elements)
        stop, go_on = (ast.Assign([ast.Name(STOPPED, ast.Store())], ast.Constant(each)) for each in (True, False))
        target = ast.Tuple([ast.Name(name, ast.Store()) for name in parts.elements], ast.Store())
        once = ast.For(target, ast.Name(ELEMENT, ast.Load()), list(parts.body), [go_on])
        words = [*(name for name in types if name != parts.counter), STOPPED]
        held = [name for name, value in fixed.items() if isinstance(value, list | tuple)]
        returned = _names_returned([*words, *held])
        body: list[ast.stmt] = [ast.copy_location(each, node) for each in (stop, once, returned)]
        values = self._run(body, {**fixed, **state, ELEMENT: (given,)}, A_ROUND)
        for name, value in zip(held, values[len(words) :], strict=True):
            if not _unchanged(fixed[name], value):
                self._fail(
                    node, f"the list {name} changes in the loop", "numbers as state", f"a name for each: {name}0"
                )
        found = {name: self._read(node, name, each) for name, each in zip(words, values[: len(words)], strict=True)}
        if parts.counter is not None:
            found = {parts.counter: self._read(node, parts.counter, state[parts.counter] + 1), **found}
        for name, dtype in types.items():
            if found[name].truth != (dtype is BOOL):
                kinds = ("a truth value", "a number") if dtype is BOOL else ("a number", "a truth value")
                said = f"{name} is {kinds[0]} before the loop and {kinds[1]} in it"
                self._fail(node, said, "one of them", f"{name} = {'0' if dtype is BOOL else 'False'}")
        return found

    def _behind(self, types: Mapping[str, DType], fixed: Mapping[str, Any]) -> tuple[Expression, ...]:
        state = {name: self._symbol(name, dtype) for name, dtype in types.items()}
        values = self._run(self.parts.behind, {**fixed, **state}, THE_RESULT)
        return tuple(self._read(self.parts.behind[-1], "the result", value) for value in values)

    def _read(self, node: ast.AST, name: str, value: Any) -> Expression:
        try:
            with deep_stack():
                found = expression_of(value, self._spelled)
            self._cancelled[name] = cancelled_in(value, self._spelled)
            if _depth(found) > DEEPEST:
                raise too_deep(self.code.name, self.code.text.place(self.code.node))
            if any(_is_huge(node) for node in subexpressions(found)):
                self._fail(node, f"{name} becomes a formula with a number of more than {BITS} bits", "smaller ones", "")
            return found
        except Unreadable as error:
            fix = "divide by a constant, and not by the type's least number" if "division" in str(error) else ""
            self._fail(node, f"{name} becomes {error}", "numbers, conditions, and operators on them", fix)

    def _check_reached(self, types: Mapping[str, DType], initial: Mapping[str, Expression]) -> None:
        """Refuse comparisons with one answer in all the states before the first rounds, and another of NaN: a sum of
        squares is never below 0. Of a word that begins with an infinity nothing is known."""
        counter = self.parts.counter
        values, _ = self._compared[A_ROUND]
        begun = {name: each.value for name, each in initial.items()}
        symbols = {name: self._symbol(name, dtype) for name, dtype in types.items()}
        after = dict(zip([name for name in types if name != counter], values, strict=False))
        if counter is not None:
            after[counter] = symbols[counter] + 1
        kinds = {name: values for name, values in self._compared.items() if name in (A_ROUND, THE_RESULT) and values[1]}
        numbers = {symbol.formula for symbol in symbols.values()}
        kinds = {name: (values, {each: what for each, what in noted.items() if numbers & each.get_free_variables()})
                 for name, (values, noted) in kinds.items()}  # fmt: skip
        asked = [what for _, noted in kinds.values() for what in noted.values()]
        if not asked:
            return
        if len(asked) > MOST_COMPARED * MORE.get():
            raise SwizzleError(
                f"{len(asked)} comparisons ask about the state, too many to look for tests of NaN among them",
                place=asked[0].place,
                expected=f"at most {MOST_COMPARED}",
                fix="--effort, which looks at so many times more",
            )
        known = [name for name, value in begun.items() if not isinstance(value, float)]
        elements = {name: self._symbol(name, dtype).formula for name, dtype in self.elements.items()}
        promised = self._promised.formula if isinstance(self._promised, Boolean) else None
        state = {symbols[name].formula: _as(symbols[name], begun[name]) for name in known}
        reached, premises = state, list[Any]()
        for k in range(1, REACHED):
            others = {each: self._symbol(f"{name} before {k}", self.elements[name]).formula
                      for name, each in elements.items()}  # fmt: skip
            unknown = {symbols[name].formula: self._symbol(f"{name} before {k}", types[name]).formula
                       for name in types if name not in known}  # fmt: skip
            before = {**state, **unknown, **others}
            state = {symbols[name].formula: _as(symbols[name], after[name]).substitute(before) for name in known}
            earlier = boolean(f"before {k}").formula
            reached = {each: manager().Ite(earlier, reached[each], found) for each, found in state.items()}
            premises += [] if promised is None else [promised.substitute(others)]
        premises += [] if promised is None else [promised]
        for name, (some, noted) in kinds.items():
            of_reached = [Boolean(each.formula.substitute(reached)) for each in some if hasattr(each, "formula")]
            of_state = {each.substitute(reached): what for each, what in noted.items()}
            apart = check_comparisons(of_reached, of_state, Boolean(manager().And(premises)))
            self._apart[name] = max(apart, self._apart[name])

    # -- what is promised ----------------------------------------------------------------------------------------

    def _length(self, length: Any) -> int | None:
        if length is not None and (not isinstance(length, int) or isinstance(length, bool) or length < 1):
            self._fail(self.code.node, f"length={length!r}", "how many elements there are at most", "length=1 << 20")
        return length

    def _where(self) -> Expression:
        """Return the condition that `where=` states of an element, read from the decorator's text."""
        for name, node in self._keywords.items():
            if name is not None and name not in _KEYWORDS:
                fix = near(name, _KEYWORDS) or "leave it out"
                self._fail(node, f"{name}= of @serial", "length= and where=", fix)
        where = self._where_node
        return constant(True) if where is None else self._read(where, "where", self._promised)

    @cached_property
    def _keywords(self) -> dict[str | None, ast.expr]:
        """What the decorator's text gives by name."""
        assert isinstance(self.code.node, ast.FunctionDef)
        calls = [each for each in self.code.node.decorator_list if isinstance(each, ast.Call)]
        return {keyword.arg: keyword.value for call in calls for keyword in call.keywords}

    @property
    def _where_node(self) -> ast.expr | None:
        node = self._keywords.get("where")
        return None if isinstance(node, ast.Constant) and node.value is None else node

    @cached_property
    def _promised(self) -> Any:
        """What `where=` states, as a symbolic value; True where it states nothing."""
        node = self._where_node
        if node is None:
            return True
        names = ", ".join(self.elements)
        if not isinstance(node, ast.Lambda) or len(parameters_of(node.args)) != len(self.elements):
            self._fail(node, f"where={ast.unparse(node)}", f"a lambda of {names}", f"where=lambda {names}: ...")
        symbols = [self._symbol(name, dtype) for name, dtype in self.elements.items()]
        parameters = [each.arg for each in parameters_of(node.args)]
        closure = replace(self.closure, code=code_of(node, self.code.text))
        with obligations(), elementary_functions(), deep_stack():
            found = outward(Activation(closure, TRUE).run(dict(zip(parameters, symbols, strict=True))))
        if not isinstance(found, bool | Boolean):
            self._fail(node.body, f"`{ast.unparse(node.body)}` is no condition", "what each element meets", "v >= 0")
        return found

    def _fail(self, node: ast.AST, found: str, expected: str, fix: str) -> NoReturn:
        raise SwizzleError(found, place=self.code.text.place(node), expected=expected, fix=fix)


def _as(symbol: Any, value: Any) -> Any:
    """Return the formula of a value of a symbol's kind."""
    return as_condition(value) if isinstance(symbol, Boolean) else symbol.lift(value, exact=True).formula


def _depth(expression: Expression) -> int:
    """Return how many operations are within each other."""
    return bottom_up(expression, lambda node: node.arguments, lambda _, inner: 1 + max(inner, default=0))


def _is_huge(node: Expression) -> bool:
    """Tell whether an expression is a number of too many bits, or a shift by so many."""
    if node.operator == "<<" and node.arguments[1].constant:
        return bool(node.arguments[1].value > BITS)
    return node.constant and isinstance(node.value, int | Fraction) and not -_HUGE < node.value < _HUGE


def _is_real(expression: Expression, types: Mapping[str, DType], *, infinite: bool = True) -> bool:
    """Tell whether a number may be no whole one, by an infinity only if these are `infinite`."""
    for node in _numbers_in(expression):
        if node.operator == "name":
            if types[node.value].is_float:
                return True
        elif node.constant:
            if not isinstance(node.value, int) and (infinite or not node.infinite):
                return True
        elif node.operator in ("/", "exp", "log"):
            return True
    return False


def _numbers_in(expression: Expression) -> Iterable[Expression]:
    """Return a number and those that it is made of, but for those in its conditions."""
    nodes = reached([expression], lambda node: () if node.truth else node.arguments)
    return (node for node in nodes if not node.truth)


def numbers_of(expression: Expression) -> Iterable[str]:
    """Yield the names of a number, but for those in its conditions."""
    return (node.value for node in _numbers_in(expression) if node.operator == "name")


def _meets_real(name: str, step: Mapping[str, Expression], types: Mapping[str, DType]) -> bool:
    """Tell whether a whole number is ever computed with, or compared with, a real one."""
    nodes = (node for each in step.values() for node in subexpressions(each) if name in node.names)
    return any(
        any(types[other].is_float for other in node.names)
        for node in nodes
        if node.operator not in ("select", "and", "or", "not", "name")
    )


def _unchanged(before: Any, after: Any) -> bool:
    """Tell whether a list has the very numbers that it had."""
    if isinstance(before, list | tuple):
        same = isinstance(after, list | tuple) and len(before) == len(after)
        return same and all(map(_unchanged, before, after))
    return before is after or (
        type(before) is type(after) and isinstance(before, bool | int | float | str | Fraction) and before == after
    )


def _names_returned(names: Sequence[str]) -> ast.Return:
    return _returned([ast.Name(name, ast.Load()) for name in names])


def _returned(values: Sequence[ast.expr]) -> ast.Return:
    return ast.Return(ast.Tuple(list(values), ast.Load()))
