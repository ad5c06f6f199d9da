"""Conditions that real numbers decide beforehand and floating-point numbers do not: tests for NaN, for infinities, and
for what rounding leaves.

An operator is found and proved over real numbers, where `v != v` is false and is dropped; a loop that asks it means a
number that is none. So every comparison that a function's text makes is looked at where it is asked, under the tests
before it: where one answer to it is impossible of real numbers, and possible of floating-point ones, it is refused.

Floating-point numbers are modelled here as NaN, the two infinities, or a real number, with IEEE 754's rules for each
operation. A result may be rounded: off by a factor near 1, unless it is a product with a power of two.
"""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias

import pysmt.operators as op
from msgspec import Struct
from msgspec.structs import replace
from pysmt.fnode import FNode
from pysmt.typing import BOOL, REAL

from symbolic.bottom_up import bottom_up
from symbolic.expressions.expression import FALSE, NAME, TRUE, subtract, terms
from symbolic.expressions.formulas import MORE, REALS, decide
from symbolic.expressions.quotients import expanded, same_ratio
from symbolic.expressions.reading import Unreadable, read_formula
from symbolic.solve.answer import IRRATIONAL, Sat, Unknown, Unsat
from symbolic.solve.evaluate import evaluate
from symbolic.solve.floor_division import manager
from symbolic.solve.solver import Solver
from symbolic.solve.tables import Value

WORK: Final = 600_000
"""Steps of the solver for one question, a second's or less."""
SECONDS: Final = 1.0
"""Of effort for one question about exponentials and logarithms, beside what the solver is asked."""
MOST: Final = 400
"""So many nodes are looked at under the tests before them; of what is left, each alone."""
QUESTIONS: Final = 60
"""So many comparisons are asked of a solver together with tests before them."""
TESTS: Final = 8
"""As many of the tests before a comparison are asked with it, the last ones."""
TRIES: Final = 300
"""So many numbers are tried where the solver does not know whether some meet conditions."""
NUMBERS: Final = tuple(Fraction(each) for each in ("0", "1", "-1", "2", "-2", "1/2", "-1/2", "3", "-3", "10", "-10"))
OFF: Final = Fraction(1, 10**9)
"""A function's value is computed less than this part of it off."""
ROUNDING: Final = Fraction(1, 8)
"""A rounded result is off by less than this part of it: more than any type's, so that few models are asked for."""

KINDS: Final = ("NaN", "an infinity", "rounding")
"""What may be asked for that real numbers do not have."""

Path: TypeAlias = tuple[FNode, ...]


def decided_beforehand(
    formulas: Iterable[FNode], noted: Collection[FNode], premises: Sequence[FNode] = ()
) -> tuple[tuple[FNode, str] | None, int]:
    """Return a comparison, among `noted` ones in formulas, that real numbers decide and floating-point ones do not, and
    of which kind these are; None where there is none. `premises` hold of all inputs. Such a one is also what nobody
    decides of real numbers: no solver, and none of the numbers that were tried. Behind it stands how many comparisons
    were not looked at under all the tests before them, which may decide them."""
    known: dict[FNode, FNode] = {}
    asked = {_divided(each, known): each for each in noted}
    check = _Check(asked, tuple(_divided(each, known) for each in premises))
    found = next(filter(None, (check.look(_divided(each, known)) for each in formulas)), None)
    return None if found is None else (asked[found[0]], found[1]), len(check.apart)


def _divided(formula: FNode, known: dict[FNode, FNode]) -> FNode:
    """Return a formula in which a quotient is one where its divisor is zero, too, and not 0 there."""

    def made(node: FNode, inner: list[FNode]) -> FNode:
        if node.is_ite() and inner[2].is_div() and inner[1].is_constant(value=0):
            numerator, divisor = inner[2].args()
            if divisor.is_ite() and divisor.arg(0) is inner[0] and divisor.arg(1).is_constant(value=1):
                return manager().Div(numerator, divisor.arg(2))
        if all(map(operator.is_, inner, node.args())):
            return node
        return manager().create_node(node.node_type(), tuple(inner), node._content.payload)

    return bottom_up(formula, FNode.args, made, known)


class _Check:
    """Looks at comparisons, each under the tests before it."""

    def __init__(self, noted: Collection[FNode], premises: Path) -> None:
        self.noted, self.premises = noted, premises
        self._seen: set[tuple[FNode, frozenset[FNode]]] = set()
        self._names: dict[FNode, frozenset[FNode]] = {}
        self._asked = 0
        self.apart: set[FNode] = set()
        """Comparisons that were looked at without some of the tests before them."""

    def look(self, root: FNode) -> tuple[FNode, str] | None:
        """Go through a formula from its root, into what is chosen and what is asked for it, up to such a comparison."""
        pending: list[tuple[FNode, Path, bool]] = [(root, (), True)]
        while pending:
            node, path, whole = pending.pop()
            key = (node, frozenset(path))
            if key in self._seen:
                continue
            self._seen.add(key)
            if node in self.noted:
                self.apart.update(() if whole else (node,))
                kind = self._kind(node, path)
                if kind:
                    return node, kind
            longer = path if len(self._seen) < MOST * MORE.get() else ()
            whole = whole and longer == path and not (len(node.args()) > TESTS and (node.is_and() or node.is_or()))
            pending.extend(reversed([(*each, whole) for each in self._inside(node, longer)]))
        return None

    def _inside(self, node: FNode, path: Path) -> Iterator[tuple[FNode, Path]]:
        m, arguments = manager(), node.args()
        if node.is_ite():
            condition, yes, no = arguments
            yield condition, path
            yield yes, (*path, condition)
            yield no, (*path, m.Not(condition))
        elif node.is_and() or node.is_or():
            divides = [bool(_divisors([each])) for each in arguments]
            for place, each in enumerate(arguments):  # in this order, or the last of them: which one is asked first
                tests = [  # in a text nobody knows, but that a test of a divisor is asked before its quotient
                    m.TRUE() if divides[at] and not divides[place] else other if node.is_and() else m.Not(other)
                    for at, other in enumerate(arguments)
                ]  # fmt: skip
                yield each, (*path, *tests[:place])
                if place + 1 < len(tests) <= TESTS:
                    yield each, (*path, *tests[:place], *tests[place + 1 :])
        elif node.is_iff():
            one, other = arguments
            yield one, path
            yield other, (*path, one)
            yield other, (*path, m.Not(one))
        else:
            for each in arguments:
                yield each, path

    # -- one comparison --------------------------------------------------------------------------------------------

    def _kind(self, node: FNode, path: Path) -> str:
        """Return what a comparison asks for that is no real number; '' if nothing."""
        near, alone = self._near(node, (*self.premises, *path[-TESTS:])), self._near(node, self.premises)
        if len(near) > len(self.premises):
            self._asked += 1
            near = near if self._asked <= QUESTIONS * MORE.get() else alone
        if len(near) < len(self._near(node, (*self.premises, *path))):
            self.apart.add(node)
        if not near and _is_open(node):
            return ""
        known = _by_functions(node)
        for answer in (node, manager().Not(node)):
            asked = [*near, answer]
            impossible = known is (answer is not node) or _is_impossible(asked)
            if impossible or impossible is None:
                kind = next((kind for kind in KINDS if _possible(asked, kind)), "")
                if kind or _is_rounding(node):
                    return (kind or KINDS[-1]) + ("" if impossible else ", or is too hard to decide of real numbers")
        return ""

    def _near(self, node: FNode, path: Path) -> list[FNode]:
        """Return what on a path is about the names of a comparison, or about names beside these."""
        names, left, found = set(self._names_of(node)), list(path), list[FNode]()
        while more := [each for each in left if self._names_of(each) & names]:
            found += more
            left = [each for each in left if each not in more]
            names.update(*map(self._names_of, more))
        return found

    def _names_of(self, node: FNode) -> frozenset[FNode]:
        return bottom_up(
            node, FNode.args, lambda each, inner: frozenset({each} if each.is_symbol() else ()).union(*inner),
            self._names,
        )  # fmt: skip


def _is_impossible(conditions: Sequence[FNode]) -> bool | None:
    """Tell whether no real numbers meet conditions; None where that is not known."""
    m, functions = manager(), _functions(conditions)
    facts = [m.GT(each, m.Real(0)) for each in functions
             if _is_exponential(each) and each.function_name().symbol_type().return_type.is_real_type()]  # fmt: skip
    facts += [m.Not(m.Equals(each, m.Real(0))) for each in _divisors(conditions)]
    with Solver("z3", work=WORK, alone=True) as solver:
        solver.add([*conditions, *facts])
        answer = solver.check()
    if isinstance(answer, Unsat):
        return True
    some = isinstance(answer, Sat) or (isinstance(answer, Unknown) and answer.reason == IRRATIONAL)
    if some and not functions:  # of an exponential the solver knows but that it is positive
        return False
    return False if _are_met(conditions, functions) else None


def _divisors(conditions: Sequence[FNode]) -> list[FNode]:
    """Return what is divided by whatever is chosen."""
    found, pending = dict[FNode, None](), [*conditions]
    while pending:
        node = pending.pop()
        if node.is_div() and not node.arg(1).is_constant():
            found[node.arg(1)] = None
        pending += node.args()[:1] if node.is_ite() or node.is_and() or node.is_or() else node.args()
    return list(found)


def _are_met(conditions: Sequence[FNode], functions: Sequence[FNode]) -> bool:
    """Tell whether numbers that are tried meet conditions; with functions, by more than their values are off."""
    names: list[FNode] = sorted({name for each in conditions for name in each.get_free_variables()
                    if not name.symbol_type().is_function_type()}, key=FNode.symbol_name)  # fmt: skip
    said = sorted({each.constant_value() for each in _nodes(conditions) if each.is_real_constant()})[:8]
    pool = dict.fromkeys([*NUMBERS, *(number + more for number in said for more in (0, -1, 1))])
    some: dict[str, Sequence[Value]] = {
        "Bool": (False, True), "Int": [int(each) for each in pool if each.denominator == 1], "Real": list(pool)
    }  # fmt: skip
    if any(str(each.symbol_type()) not in some for each in names):
        return False
    rng = random.Random(0)
    for _ in range(TRIES):
        values = {each: rng.choice(some[str(each.symbol_type())]) for each in names}
        if all(_meet(conditions, functions, values, up) for up in ((0, 0), (1, 1), (-1, -1), (1, -1), (-1, 1))[
            : 5 if functions else 1]):  # fmt: skip
            return True
    return False


def _meet(
    conditions: Sequence[FNode], functions: Sequence[FNode], values: dict[FNode, Value], off: Sequence[int]
) -> bool:
    """Tell whether numbers meet conditions, with the values of functions off to one side and the other in turn."""
    known: dict[FNode, Value] = {}
    for each, side in zip(functions, itertools.cycle(off), strict=False):
        argument: Any = evaluate(each.arg(0), values.__getitem__, known)
        exponential = _is_exponential(each)
        if abs(argument) > 600 or (argument <= 0 and not exponential):
            return False
        exact = argument == (0 if exponential else 1)
        number = Fraction((math.exp if exponential else math.log)(argument))
        known[each] = number * (1 + (0 if exact else side) * OFF)
    if not all(evaluate(each, values.__getitem__, known) for each in conditions):
        return False
    if any(node.is_div() and known.get(node.arg(1)) == 0 for node in known):
        return False
    compared = [node.args() for node in known if node.is_equals() or node.is_le() or node.is_lt()] if functions else []
    sides: list[list[Any]] = [[known.get(each, 0) for each in pair] for pair in compared]
    return not any(0 < abs(a - b) <= max(abs(a), abs(b)) / 10**6 for a, b in sides)


def _nodes(conditions: Iterable[FNode]) -> list[FNode]:
    """Return all that conditions are made of, what is inside first."""
    known: dict[FNode, FNode] = {}
    for each in conditions:
        bottom_up(each, FNode.args, lambda node, _: node, known)
    return list(known)


def _is_exponential(node: FNode) -> bool:
    return bool(node.function_name().symbol_name().startswith("exp"))


def _sides(node: FNode) -> tuple[Any, Any] | None:
    """Return the sides of a comparison of numbers as expressions, where they are such."""
    try:
        a, b = (read_formula(each) for each in node.args())
    except (Unreadable, ArithmeticError, ValueError):
        return None
    return a, b


def _is_open(node: FNode) -> bool:
    """Tell whether numbers meet a comparison and others do not, as a name has it either way."""
    sides = _sides(node)
    if sides is None:
        return False
    summands = terms(expanded(subtract(*sides)))
    return any(
        what.operator == NAME and not any(what.value in other.names for _, other in summands if other is not what)
        for _, what in summands
    )


def _by_functions(node: FNode) -> bool | None:
    """Return what a comparison of exponentials and logarithms is of all real numbers; None where it is not known."""
    if not _functions([node]):
        return None
    try:
        holds = read_formula(node)
    except (Unreadable, ArithmeticError, ValueError):
        return None
    sorts = dict.fromkeys(holds.names, REALS)
    for each in (TRUE, FALSE):
        if decide([(holds, each)], sorts, effort=SECONDS).verdict == "proved":
            return each is TRUE
    return None


def _is_rounding(node: FNode) -> bool:
    """Tell whether both sides of a comparison are one number, or apart by a number, and are not computed alike."""
    a, b = node.args()
    sides = _sides(node)
    if a is b or sides is None or not (sides[0].names or sides[1].names):
        return False
    return same_ratio(*sides) or expanded(subtract(*sides)).constant


def _functions(conditions: Iterable[FNode]) -> list[FNode]:
    return [each for each in _nodes(conditions) if each.is_function_application()]


# ---- floating-point numbers ----------------------------------------------------------------------------------------


class Float(Struct, frozen=True):
    """A number: NaN, below all others, above all others, or else a value."""

    nan: FNode
    low: FNode
    high: FNode
    value: FNode


def _possible(conditions: Sequence[FNode], kind: str) -> bool:
    """Tell whether floating-point numbers may meet conditions: real ones, or one of a kind."""
    model = _Floats(kind)
    with Solver("z3", work=WORK, alone=True) as solver:
        found = [model.condition(each) for each in conditions]
        solver.add([*found, *model.facts])
        return not isinstance(solver.check(), Unsat)


@dataclass(slots=True)
class _Floats:
    """Formulas over real numbers as formulas over floating-point ones of a kind."""

    kind: str
    facts: list[FNode] = field(default_factory=list)
    known: dict[FNode, Any] = field(default_factory=dict)

    def condition(self, formula: FNode) -> FNode:
        """Return the condition of floating-point numbers."""
        found: FNode = bottom_up(formula, FNode.args, self._made, self.known)
        return found

    def _made(self, node: FNode, inner: list[Any]) -> Any:
        m = manager()
        numbers = [each for each in inner if isinstance(each, Float)]
        kind = node.node_type()
        if kind == op.ITE and isinstance(inner[1], Float):
            condition, a, b = inner
            if _is_extreme(
                node
            ):  # which may keep NaN of either side, as the texts that are written put them in any order
                nan = m.Or(a.nan, b.nan)
                a, b = replace(a, nan=nan), replace(b, nan=nan)
            parts = ((getattr(a, name), getattr(b, name)) for name in ("nan", "low", "high", "value"))
            return Float(*(one if one is other else m.Ite(condition, one, other) for one, other in parts))
        if kind in (op.LE, op.LT, op.EQUALS) and numbers:
            return self._compared(kind, *numbers)
        if node.is_symbol() and node.symbol_type().is_real_type():
            return self._unknown(node.symbol_name(), node)
        if node.is_real_constant():
            return self._finite(node)
        if kind == op.TOREAL:
            return self._finite(m.ToReal(inner[0]))
        if kind in (op.PLUS, op.MINUS) and numbers:
            first, *others = numbers
            for each in others:
                first = self._sum(first, each if kind == op.PLUS else self._negative(each))
            return self._off(node, first)
        if kind == op.TIMES and numbers:
            first, *others = numbers
            for each in others:
                first = self._product(first, each)
            return first if _is_scaled(node) else self._off(node, first)
        if kind == op.DIV and numbers:
            return self._off(node, self._quotient(*numbers))
        if kind == op.POW and numbers:
            found = numbers[0]
            for _ in range(int(node.arg(1).constant_value()) - 1):
                found = self._product(found, numbers[0])
            return self._off(node, found)
        if kind == op.FUNCTION and numbers:
            return self._function(node, numbers[0])
        return m.create_node(kind, tuple(inner), node._content.payload) if inner else node

    # -- numbers ---------------------------------------------------------------------------------------------------

    def _finite(self, value: FNode) -> Float:
        false = manager().FALSE()
        return Float(false, false, false, value)

    def _unknown(self, name: str, value: FNode) -> Float:
        m = manager()
        nan, low, high = (m.Symbol(f"{name}!{what}", BOOL) for what in ("nan", "low", "high"))
        match self.kind:
            case "NaN":
                return Float(nan, m.FALSE(), m.FALSE(), value)
            case "an infinity":
                self.facts.append(m.Not(m.And(low, high)))
                return Float(m.FALSE(), low, high, value)
        return self._finite(value)

    def _off(self, node: FNode, exact: Float) -> Float:
        """Return a result rounded, which is no sign's change and no zero more; the same each time it is computed."""
        m = manager()
        if self.kind != KINDS[-1] or exact.value.is_constant():
            return exact
        factor = m.Symbol(f"rounding of {len(self.known)}", REAL)
        self.facts += [m.LE(m.Real(1 - ROUNDING), factor), m.LE(factor, m.Real(1 + ROUNDING))]
        return Float(exact.nan, exact.low, exact.high, m.Times(exact.value, factor))

    def _negative(self, a: Float) -> Float:
        return Float(a.nan, a.high, a.low, manager().Times(manager().Real(-1), a.value))

    def _sum(self, a: Float, b: Float) -> Float:
        m = manager()
        nan = m.Or(a.nan, b.nan, m.And(a.low, b.high), m.And(a.high, b.low))
        low, high = (m.And(m.Not(nan), m.Or(*some)) for some in ((a.low, b.low), (a.high, b.high)))
        return Float(nan, low, high, m.Plus(a.value, b.value))

    def _product(self, a: Float, b: Float) -> Float:
        m, zero = manager(), manager().Real(0)
        signs = [(m.And(m.Not(x.low), m.Or(x.high, m.GT(x.value, zero))),
                  m.And(m.Not(x.high), m.Or(x.low, m.LT(x.value, zero)))) for x in (a, b)]  # fmt: skip
        (up, down), (rise, fall) = signs
        infinite = m.Or(a.low, a.high, b.low, b.high)
        same, other = m.Or(m.And(up, rise), m.And(down, fall)), m.Or(m.And(up, fall), m.And(down, rise))
        nan = m.Or(a.nan, b.nan, m.And(infinite, m.Not(same), m.Not(other)))
        low, high = (m.And(m.Not(nan), infinite, each) for each in (other, same))
        return Float(nan, low, high, m.Times(a.value, b.value))

    def _quotient(self, a: Float, b: Float) -> Float:
        m = manager()
        zero, above = m.Real(0), m.Symbol(f"sign of {len(self.known)}", BOOL)
        ends, below = m.Or(a.low, a.high), m.Or(b.low, b.high)
        by_zero = m.And(m.Not(below), m.Equals(b.value, zero))  # of either sign
        nan = m.Or(a.nan, b.nan, m.And(ends, below), m.And(by_zero, m.Not(ends), m.Equals(a.value, zero)))
        up = m.Ite(by_zero, above, m.GT(b.value, zero))
        positive = m.And(m.Not(a.low), m.Or(a.high, m.GT(a.value, zero)))
        low, high = (m.And(m.Not(nan), m.Or(ends, by_zero), each)
                     for each in (m.Not(m.Iff(positive, up)), m.Iff(positive, up)))  # fmt: skip
        return Float(nan, low, high, m.Ite(below, m.Real(0), m.Div(a.value, b.value)))

    def _function(self, node: FNode, a: Float) -> Float:
        """Return e to a number, or a logarithm, of which no more is known than what infinities give."""
        m = manager()
        value = m.Symbol(f"value of {len(self.known)}", REAL)
        if _is_exponential(node):
            self.facts.append(m.GE(value, m.Real(0)))
            return Float(a.nan, m.FALSE(), a.high, m.Ite(a.low, m.Real(0), value))
        return Float(m.Or(a.nan, a.low), m.FALSE(), a.high, value)

    def _compared(self, kind: int, a: Float, b: Float) -> FNode:
        m = manager()
        finite = m.Not(m.Or(a.low, a.high, b.low, b.high))
        alike = m.Or(m.And(a.low, b.low), m.And(a.high, b.high))
        if kind == op.EQUALS:
            holds = m.Or(alike, m.And(finite, m.Equals(a.value, b.value)))
        else:
            strictly = m.Or(m.And(a.low, m.Not(b.low)), m.And(b.high, m.Not(a.high)))
            below = (m.LT if kind == op.LT else m.LE)(a.value, b.value)
            holds = m.Or([strictly, m.And(finite, below), *([alike] if kind == op.LE else [])])
        return m.And(m.Not(a.nan), m.Not(b.nan), holds)


def _is_extreme(node: FNode) -> bool:
    """Tell whether a choice is the maximum or the minimum of two numbers."""
    condition, a, b = node.args()
    return (condition.is_le() or condition.is_lt()) and {*condition.args()} == {a, b}


def _is_scaled(node: FNode) -> bool:
    """Tell whether a product is a number times a power of two, which is not rounded."""
    numbers = [abs(each.constant_value()) for each in node.args() if each.is_real_constant()]
    return len(numbers) == len(node.args()) - 1 and all(
        number > 0 and math.frexp(float(number))[0] == 0.5 for number in numbers
    )
