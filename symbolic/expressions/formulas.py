"""Expressions as formulas of a domain: integers, reals, or words that wrap; and the solver's word on what holds.

A number of integers or reals that may be an infinity is three formulas: its value, whether it is below all numbers, and
whether it is above. Where that is known to be neither, only the value is left. Words have no infinities.

`exp` is a function of reals of which three facts are used: it is positive, `exp(a + b)` is `exp(a) * exp(b)`, and it
grows. So each name has an unknown positive number that is its exponential, and `exp(2 * a - b)` is a product of
such. What is proved of all of these holds of the real ones; a counterexample is none, and the answer is unknown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec import field as by_default
from pysmt.fnode import FNode
from pysmt.typing import BOOL, INT, REAL, PySMTType

from symbolic.bottom_up import bottom_up
from symbolic.expressions.divisors import divisors_in
from symbolic.expressions.expression import (
    NAME,
    ONE,
    SMALL,
    Expression,
    constant,
    exponential,
    multiply,
    negation,
    subexpressions,
    terms,
)
from symbolic.solve.answer import Answer, Sat, Unknown, Unsat
from symbolic.solve.evaluate import as_signed
from symbolic.solve.floor_division import (
    bit_vector_type,
    floor_div,
    floor_mod,
    manager,
    signed_floor_div,
    signed_floor_mod,
    unsigned_floor_div,
)
from symbolic.solve.solver import Solver


class Sort(Struct, frozen=True):
    """The numbers that a name stands for: 'integer', 'real', or 'word' of some bits; or 'truth'."""

    kind: Literal["truth", "integer", "real", "word"]
    bits: int = 0
    signed: bool = True

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest word."""
        half = 1 << (self.bits - 1)
        return (-half, half - 1) if self.signed else (0, 2 * half - 1)

    @property
    def formula_type(self) -> PySMTType:
        """What PySMT calls it."""
        return {"truth": BOOL, "integer": INT, "real": REAL}.get(self.kind) or bit_vector_type(self.bits)


TRUTH: Final = Sort("truth")
INTEGER: Final = Sort("integer")
REALS: Final = Sort("real")


STEPS: Final = {
    "linear": 8_000_000, "words": 6_000_000, "divided words": 2_000_000, "integers": 3_000_000, "reals": 400_000,
}  # fmt: skip
"""Of the solver in about a second: of linear arithmetic, of words, whose quotients and remainders are large circuits,
and where integers or reals are multiplied."""
MORE: Final = ContextVar("MORE", default=1.0)
"""So many times the steps are taken for every question."""
VAIN: Final[ContextVar[list[float] | None]] = ContextVar("VAIN", default=None)
"""How much effort may still come to nothing, where all questions have a limit together."""
A_TRY: Final = 0.2
AT_LEAST: Final = 0.5
"""Effort for a question where nothing is left, and what it counts at least, as bits are made of words before."""
TOO_LONG: Final = "resource limit"
"""What the solver says where they are too few."""


class Meaningless(Exception):
    """An expression has no meaning in the domain."""


class Extended(Struct, frozen=True):
    """A number, or an infinity where `low` or `high` holds."""

    value: FNode
    low: FNode
    high: FNode


Value: TypeAlias = bool | int | Fraction | float
Verdict: TypeAlias = Literal["proved", "refuted", "unknown"]


class Answered(Struct, frozen=True):
    """Whether a claim holds; where it does not, values of its names for which it fails."""

    verdict: Verdict
    values: Mapping[str, Value] = by_default(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class Formulas:
    """What expressions mean, given the sorts of their names, and which may be an infinity of which sign."""

    sorts: Mapping[str, Sort]
    infinite: Mapping[str, int] = field(default_factory=dict)
    facts: list[FNode] = field(default_factory=list)
    exact: bool = True
    kind: str = "linear"
    """What says how long a solver's steps take."""
    _exponentials: dict[Expression, FNode] = field(default_factory=dict)
    _sorts: dict[Expression, Sort | None] = field(default_factory=dict)
    _known: dict[tuple[Expression, Sort | None], Any] = field(default_factory=dict)
    _simple: dict[FNode, FNode] = field(default_factory=dict)

    # -- sorts ---------------------------------------------------------------------------------------------------

    def sort_of(self, node: Expression) -> Sort | None:
        """Return the sort of an expression; None of a number that could be any."""
        return bottom_up(node, _of_its_sort, self._sort_of, self._sorts)

    def _sort_of(self, node: Expression, inner: list[Sort | None]) -> Sort | None:
        if node.operator == NAME:
            return self.sorts[node.value]
        if node.truth:
            return TRUTH
        return REALS if node.operator in ("/", "exp", "log") else reduce(self._joined, inner, None)

    def common_sort(self, *some: Expression) -> Sort:
        """Return the sort of numbers that nothing else says a sort of: that of all names.

        Numbers that every type has are the same in all, when there are several.
        """
        found = {sort for sort in self.sorts.values() if sort.kind != "truth"}
        if len(found) > 1 and any(sort.kind == "word" for sort in found):
            nodes = [node for each in some for node in subexpressions(each) if node.constant and not node.truth]
            if not all(node.infinite or (isinstance(node.value, int) and abs(node.value) < SMALL) for node in nodes):
                raise Meaningless("numbers alone, among words of several types")
            return INTEGER
        return next(iter(found)) if len(found) == 1 else REALS if REALS in found else INTEGER

    def _joined(self, a: Sort | None, b: Sort | None) -> Sort | None:
        if a is None or b is None or a == b:
            return a or b
        if {a.kind, b.kind} == {"integer", "real"}:
            return REALS
        raise Meaningless("words of several types in one operation")

    # -- truths --------------------------------------------------------------------------------------------------

    def truth(self, node: Expression) -> FNode:
        """Return the formula of a condition."""
        key = (node, TRUTH)
        if key not in self._known:
            self._known[key] = self._truth(node)
        found: FNode = self._known[key]
        return found

    def _truth(self, node: Expression) -> FNode:
        m, arguments = manager(), node.arguments
        match node.operator:
            case "constant":
                return m.Bool(node.value)
            case "name":
                return _symbol(node.value, BOOL)
            case "and":
                return m.And([self.truth(each) for each in arguments])
            case "or":
                return m.Or([self.truth(each) for each in arguments])
            case "not":
                return m.Not(self.truth(arguments[0]))
            case "select":
                return m.Ite(*map(self.truth, arguments))
            case "==":
                return self.same(*arguments)
            case "<" | "<=":
                sort = self._joined(*map(self.sort_of, arguments)) or self.common_sort(*arguments)
                a, b = (self.number(each, sort) for each in arguments)
                below = self._compare(node.operator, a.value, b.value, sort)
                strictly = m.Or(self._both(a.low, m.Not(b.low)), self._both(b.high, m.Not(a.high)))
                finite = m.Not(m.Or(a.low, a.high, b.low, b.high))
                alike = (
                    m.Or(self._both(a.low, b.low), self._both(a.high, b.high)) if node.operator == "<=" else m.FALSE()
                )
                return self._simplified(m.Or(strictly, m.And(finite, below), alike))
        raise AssertionError(node.operator)

    def same(self, a: Expression, b: Expression) -> FNode:
        """Return the formula that two numbers or two conditions are equal."""
        m = manager()
        if a.truth:
            return m.Iff(self.truth(a), self.truth(b))
        if any(each.operator == "log" for both in (a, b) for each in subexpressions(both)):
            a, b = map(exponential, (a, b))  # exp grows, so that equal exponentials are of equal numbers
        sort = self._joined(self.sort_of(a), self.sort_of(b)) or self.common_sort(a, b)
        x, y = self.number(a, sort), self.number(b, sort)
        finite = m.Or(x.low, x.high, m.Equals(x.value, y.value))
        return self._simplified(m.And(m.Iff(x.low, y.low), m.Iff(x.high, y.high), finite))

    def _compare(self, operator: str, a: FNode, b: FNode, sort: Sort) -> FNode:
        m = manager()
        table = {
            ("<", "word"): m.BVSLT if sort.signed else m.BVULT,
            ("<=", "word"): m.BVSLE if sort.signed else m.BVULE,
        }  # fmt: skip
        found: FNode = table.get((operator, sort.kind), m.LT if operator == "<" else m.LE)(a, b)
        return found

    # -- numbers -------------------------------------------------------------------------------------------------

    def number(self, node: Expression, sort: Sort) -> Extended:
        """Return the formulas of a number of a sort."""
        key = (node, sort)
        if key not in self._known:
            own = self.sort_of(node)
            if own is not None and own != sort:
                if (own.kind, sort.kind) != ("integer", "real"):
                    raise Meaningless("words of several types in one operation")
                inner = self.number(node, own)
                self._known[key] = Extended(manager().ToReal(inner.value), inner.low, inner.high)
            else:
                self._known[key] = self._number(node, sort)
        found: Extended = self._known[key]
        return found

    def _finite(self, value: FNode) -> Extended:
        return Extended(value, manager().FALSE(), manager().FALSE())

    def _constant(self, value: Any, sort: Sort) -> Extended:
        m = manager()
        if isinstance(value, float):
            if sort.kind == "word":
                raise Meaningless("an infinity among words")
            return Extended(self._constant(0, sort).value, m.Bool(value < 0), m.Bool(value > 0))
        if sort.kind == "real":
            return self._finite(m.Real(Fraction(value)))
        if isinstance(value, Fraction):
            raise Meaningless(f"{value} among whole numbers")
        if sort.kind == "word":
            return self._finite(m.BV(value % (1 << sort.bits), sort.bits))
        return self._finite(m.Int(value))

    def _number(self, node: Expression, sort: Sort) -> Extended:
        m, arguments = manager(), node.arguments
        match node.operator:
            case "constant":
                return self._constant(node.value, sort)
            case "name":
                sign = self.infinite.get(node.value, 0)
                if sign and sort.kind == "word":
                    raise Meaningless("an infinity among words")
                infinite = _symbol(f"{node.value}!infinite", BOOL) if sign else m.FALSE()
                value = _symbol(node.value, sort.formula_type)
                return Extended(value, infinite if sign < 0 else m.FALSE(), infinite if sign > 0 else m.FALSE())
            case "select":
                condition = self.truth(arguments[0])
                return self._choice(condition, self.number(arguments[1], sort), self.number(arguments[2], sort))
            case "max" | "min":
                found = self.number(arguments[0], sort)
                for each in arguments[1:]:
                    found = self._extreme(node.operator == "max", found, self.number(each, sort), sort)
                return found
            case "+":
                numbers = [self.number(each, sort) for each in arguments]
                low, high = (
                    self._simplified(m.Or(some)) for some in zip(*((x.low, x.high) for x in numbers), strict=True)
                )
                if not low.is_false() and not high.is_false():
                    raise Meaningless("a sum that may be of both infinities")
                plus = m.BVAdd if sort.kind == "word" else m.Plus
                return Extended(_folded(plus, [each.value for each in numbers]), low, high)
            case "*":
                return self._product(node, sort)
            case "/":
                self.kind = "reals"
                a, b = (self._only(each, sort) for each in arguments)
                return self._finite(m.Div(a, b))
            case "//" | "%":
                a, b = (self._only(each, sort) for each in arguments)
                return self._finite(self._whole(node.operator, a, b, sort))
            case "exp":
                return self._finite(self._exponential(arguments[0]))
            case "&" | "|" | "^" | "<<" | ">>" if sort.kind == "word":
                table: dict[str, Callable[[FNode, FNode], FNode]] = {
                    "&": m.BVAnd, "|": m.BVOr, "^": m.BVXor, "<<": m.BVLShl,
                    ">>": m.BVAShr if sort.signed else m.BVLShr,
                }  # fmt: skip
                return self._finite(table[node.operator](*(self._only(each, sort) for each in arguments)))
        raise Meaningless(f"`{node.operator}` of {sort.kind}s")

    def _whole(self, operator: str, a: FNode, b: FNode, sort: Sort) -> FNode:
        if sort.kind == "real":
            raise Meaningless(f"`{operator}` of reals")
        if sort.kind == "integer":
            return (floor_div if operator == "//" else floor_mod)(a, b)
        if sort.signed:
            return (signed_floor_div if operator == "//" else signed_floor_mod)(a, b)
        remainder: FNode = manager().BVURem(a, b)
        return unsigned_floor_div(a, b) if operator == "//" else remainder

    def divisible(self, expressions: Iterable[Expression]) -> list[FNode]:
        """Return the formulas that nothing is divided by zero in expressions, where something is divided at all."""
        m, divisors = manager(), divisors_in(expressions)
        return [
            m.Or(self.truth(negation(asked)), m.Not(m.Equals(self._only(each, REALS), m.Real(0))))
            for each, asked in divisors.items()
        ]  # fmt: skip

    def _only(self, node: Expression, sort: Sort) -> FNode:
        """Return the formula of a number that is never an infinity."""
        found = self.number(node, sort)
        if not found.low.is_false() or not found.high.is_false():
            raise Meaningless("an operation on an infinity")
        return found.value

    def _product(self, node: Expression, sort: Sort) -> Extended:
        m = manager()
        first, *others = node.arguments
        times = m.BVMul if sort.kind == "word" else m.Times
        if sort.kind != "word" and self.kind != "reals" and not (first.constant and len(others) == 1):
            self.kind = f"{sort.kind}s"
        rest = [self.number(each, sort) for each in others]
        infinite = [each for each in rest if not (each.low.is_false() and each.high.is_false())]
        if infinite and (len(rest) > 1 or not first.constant):
            raise Meaningless("a product with an infinity")
        value = _folded(times, [self._only(first, sort), *(each.value for each in rest)])
        if not infinite:
            return self._finite(value)
        (one,) = infinite
        return Extended(value, *((one.low, one.high) if first.value > 0 else (one.high, one.low)))

    def _choice(self, condition: FNode, a: Extended, b: Extended) -> Extended:
        m = manager()
        low = a.low if a.low is b.low else self._simplified(m.Ite(condition, a.low, b.low))
        high = a.high if a.high is b.high else self._simplified(m.Ite(condition, a.high, b.high))
        return Extended(a.value if a.value is b.value else m.Ite(condition, a.value, b.value), low, high)

    def _extreme(self, greatest: bool, a: Extended, b: Extended, sort: Sort) -> Extended:
        """Return the greater or the lesser of two numbers."""
        m = manager()
        if not greatest:  # the same, upside down
            a, b = Extended(a.value, a.high, a.low), Extended(b.value, b.high, b.low)
        better = self._compare("<=", b.value, a.value, sort) if greatest else self._compare(
            "<=", a.value, b.value, sort
        )  # fmt: skip
        first = self._simplified(m.Or(b.low, a.high, m.And(m.Not(a.low), m.Not(b.high), better)))
        value = a.value if first.is_true() else b.value if first.is_false() else m.Ite(first, a.value, b.value)
        found = Extended(value, self._both(a.low, b.low), self._simplified(m.Or(a.high, b.high)))
        return found if greatest else Extended(found.value, found.high, found.low)

    def _exponential(self, node: Expression) -> FNode:
        m = manager()
        match node.operator:
            case "max" | "min":
                first, *others = node.arguments
                found = self._exponential(first)
                for each in others:
                    other = self._exponential(each)
                    low, high = (found, other) if node.operator == "max" else (other, found)
                    found = m.Ite(m.LE(low, high), other, found)
                return found
            case "select":
                return m.Ite(self.truth(node.arguments[0]), *(self._exponential(each) for each in node.arguments[1:]))
            case "log":
                argument = self._only(node.arguments[0], REALS)
                self.facts.append(m.GT(argument, m.Real(0)))
                return argument
        factors: list[FNode] = []
        divisors: list[FNode] = []
        for coefficient, what in terms(node):
            whole = isinstance(coefficient, int) and what is not ONE
            if whole and what.operator in ("max", "min", "select", "log"):
                base = self._exponential(what)
            else:
                base = self._atom(what if whole else multiply(constant(coefficient), what))
            (divisors if whole and coefficient < 0 else factors).extend([base] * (abs(coefficient) if whole else 1))
        over = _folded(m.Times, factors or [m.Real(1)])
        return m.Div(over, _folded(m.Times, divisors)) if divisors else over

    def _atom(self, what: Expression) -> FNode:
        """Return the unknown positive number that is e to something; larger for what is larger."""
        found = self._exponentials.get(what)
        if found is None:
            m = manager()
            self.exact = False
            found = self._exponentials[what] = _symbol(f"exp!{what!r}", REAL)
            self.facts.append(m.GT(found, m.Real(0)))
            if what.operator == NAME:
                for other, its in self._exponentials.items():
                    if other is not what and other.operator == NAME:
                        a, b = (self.number(each, REALS).value for each in (what, other))
                        self.facts += [m.Iff(m.LT(a, b), m.LT(found, its)), m.Iff(m.LT(b, a), m.LT(its, found))]
        return found

    # -- answers -------------------------------------------------------------------------------------------------

    def answered(self, answer: Answer, seconds: float) -> Answered:
        """Return what a solver's answer is to whether claims hold."""
        match answer:
            case Unsat():
                return Answered("proved", seconds=seconds)
            case Sat(model) if self.exact:
                values: dict[str, Value] = {}
                for name, sort in self.sorts.items():
                    sign = self.infinite.get(name, 0)
                    value: Any = model.value(_symbol(name, sort.formula_type))
                    if sign and model.value(_symbol(f"{name}!infinite", BOOL)):
                        value = sign * float("inf")
                    if sort.kind == "word" and sort.signed:
                        value = as_signed(value, sort.bits)
                    values[name] = value
                return Answered("refuted", values, seconds=seconds)
            case Sat():
                reason = "a counterexample of any growing function is none of exp"
                return Answered("unknown", reason=reason, seconds=seconds)
        reason = "it takes the solver too long" if TOO_LONG in answer.reason else answer.reason
        return Answered("unknown", reason=reason, seconds=seconds)

    # -- conditions without constants ----------------------------------------------------------------------------

    def _both(self, a: FNode, b: FNode) -> FNode:
        return self._simplified(manager().And(a, b))

    def _simplified(self, formula: FNode) -> FNode:
        """Return a condition without constants among its arguments."""
        if formula not in self._simple:
            self._simple[formula] = self._without_constants(formula)
        return self._simple[formula]

    def _without_constants(self, formula: FNode) -> FNode:
        m, arguments = manager(), [self._simplified(each) if each.is_bool_op() else each for each in formula.args()]
        if formula.is_and() or formula.is_or():
            neutral, absorber = (m.TRUE(), m.FALSE()) if formula.is_and() else (m.FALSE(), m.TRUE())
            if absorber in arguments:
                return absorber
            kept = [each for each in arguments if each is not neutral]
            return (m.And if formula.is_and() else m.Or)(kept) if kept else neutral
        if formula.is_not() and arguments[0].is_constant():
            return m.Bool(not arguments[0].is_true())
        if formula.is_iff() and arguments[0] is arguments[1]:
            return m.TRUE()
        if formula.is_ite():
            condition, yes, no = arguments
            if condition.is_constant():
                return yes if condition.is_true() else no
            if yes is no:
                return yes
            if yes.is_false():
                return self._simplified(m.And(m.Not(condition), no))
            if no.is_false():
                return self._simplified(m.And(condition, yes))
        return formula


def _of_its_sort(node: Expression) -> Sequence[Expression]:
    """Return the arguments whose sort an expression has."""
    return () if node.truth or node.operator in ("/", "exp", "log") else node.arguments[node.operator == "select" :]


def _symbol(name: str, kind: PySMTType) -> FNode:
    """Return the symbol of a name: one for each type that it has, and none that anybody else has made."""
    found: FNode = manager().Symbol(f"{name}!{kind}", kind)
    return found


def _folded(operator: Any, values: Sequence[FNode]) -> FNode:
    found = values[0]
    for each in values[1:]:
        found = operator(found, each)
    return found


# ---- claims ------------------------------------------------------------------------------------------------------


def decide(
    claims: Iterable[tuple[Expression, Expression]],
    sorts: Mapping[str, Sort],
    premises: Iterable[Expression] = (),
    *,
    infinite: Mapping[str, int] | None = None,
    effort: float | None = None,
) -> Answered:
    """Decide whether, under the premises, the two sides of all claims are equal, for all values of the names.

    `effort` limits the solver's steps, to about as many as it does in so many seconds; `MORE` multiplies it.
    """
    with closing(answers(list(claims), premises, Formulas(sorts, infinite or {}), effort)) as found:
        return next(found)


@contextmanager
def in_vain(effort: float) -> Iterator[None]:
    """Limit the effort of all questions together that the solver does not answer."""
    token = VAIN.set([effort])
    try:
        yield
    finally:
        VAIN.reset(token)


def answers(
    claims: Sequence[tuple[Expression, Expression]], premises: Iterable[Expression], formulas: Formulas,
    effort: float | None = None,
) -> Generator[Answered, Collection[int], None]:  # fmt: skip
    """Yield whether claims hold, as `decide` says; then, as often as places are sent, of all claims but those there."""
    m = manager()
    lost: Collection[int] = ()
    given = [*premises]
    try:
        wrong = [m.FALSE() if a is b else m.Not(formulas.same(a, b)) for a, b in claims]
        divided = formulas.divisible([*(side for a, b in claims if a is not b for side in (a, b)), *given])
        facts = [*map(formulas.truth, given), *divided]
    except Meaningless as error:
        yield Answered("unknown", reason=str(error))
        return
    kind = "words" if any(each.kind == "word" for each in formulas.sorts.values()) else formulas.kind
    vain = None if kind == "reals" else VAIN.get()  # whose questions end soon
    if vain is not None and effort is not None:
        effort = min(effort, max(A_TRY, vain[0]))
    sides = (side for claim in claims for side in claim)
    if kind == "words" and any(node.operator in ("//", "%") for side in sides for node in subexpressions(side)):
        kind = "divided words"
    work = None if effort is None else max(1, int(effort * STEPS[kind] * MORE.get()))
    with Solver("z3", work=work) as solver:
        solver.add([*facts, *formulas.facts])
        while True:
            left = [each for place, each in enumerate(wrong) if place not in lost and not each.is_false()]
            started = time.perf_counter()
            solver.add([m.Or(left)] if left else [])
            tired = vain is not None and vain[0] <= -AT_LEAST
            answer = Unsat(()) if not left else Unknown(TOO_LONG) if tired else solver.check()
            if vain is not None and effort is not None and isinstance(answer, Unknown) and not lost:
                vain[0] -= max(effort, AT_LEAST)
            lost = yield formulas.answered(answer, time.perf_counter() - started)
