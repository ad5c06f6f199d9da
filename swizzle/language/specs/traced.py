"""A function of patterns, called on names: what it computes becomes an expression (`symbolic/patterns`).

While a function is traced, its arguments are `Traced` values. Arithmetic on them, `swizzle.math`, `where`, `gather` and
the functions of `patterns.py` make terms; each is typed at once, so that what does not fit is an error at the line that
says it. A pattern is labelled with the user's function in which it was called, which names its position in derivations.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, NoReturn

from swizzle.language.specs.spec import UserFunction
from symbolic.algebra.datum import DataComparison
from symbolic.errors import Place, SwizzleError, shown, users_code
from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression, number_name
from symbolic.ir.functions import ChoiceFunction, FunctionName
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import length_text
from symbolic.patterns.terms import Term, formula, fresh_name, number
from symbolic.patterns.types import ArrayOf, NumberOf, TupleOf, Typing, ValueType

OURS: Final = tuple(str(Path(__file__).resolve().parents[3] / name) for name in ("swizzle", "symbolic"))
HIDDEN: Final = ("<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<module>")
"""Code that has no name of the user's."""


class PatternTracer:
    """One function that is being traced: names with their types, and the places of terms."""

    def __init__(self) -> None:
        self.names: dict[str, ValueType] = {}
        self.places: dict[Term, Place] = {}
        self.typing = Typing(self.places.get)

    def value(self, made: Term) -> TracedValue:
        """Return a term as a value, typed; it stands where the user called Swizzle."""
        if (place := user_line()[0]) is not None:
            self.places.setdefault(made, place)
        return TracedValue(made, self.typing.type_of(made, self.names))

    def function(self, called: Callable[..., Any], given: Sequence[ValueType]) -> t.Lambda:
        """Trace a function of values of these types."""
        taken = frozenset(self.names)
        names = []
        for wish in _parameters(called, len(given)):
            names.append(fresh_name(wish, taken))
            taken |= {names[-1]}
        self.names.update(zip(names, given, strict=True))
        made = called(*(TracedValue(t.Variable(name), kind) for name, kind in zip(names, given, strict=True)))
        own = getattr(called, "__name__", "")
        return t.Lambda(tuple(names), lifted(made), own if own.isidentifier() else "")

    @property
    def label(self) -> str:
        """The innermost function of the user's that is running and has a name; '' where there is none."""
        return user_line()[1]


_TRACING: Final[ContextVar[PatternTracer | None]] = ContextVar("_TRACING", default=None)


def tracer() -> PatternTracer:
    """Return what is being traced."""
    found = _TRACING.get()
    assert found is not None, "a traced value outlives its trace"
    return found


_READING: Final[ContextVar[tuple[Place | None, str] | None]] = ContextVar("_READING", default=None)


@contextmanager
def reading(place: Place | None, name: str) -> Iterator[None]:
    """Say which line of a file that is read, and not run, stands for the line that is running: `user_line`."""
    token = _READING.set((place, name))
    try:
        yield
    finally:
        _READING.reset(token)


def trace(function: UserFunction, types: Mapping[str, ValueType]) -> tuple[Term, PatternTracer]:
    """Return what a function computes of inputs of these names and types."""
    found = PatternTracer()
    found.names.update(types)
    token, subject = _TRACING.set(found), f"{function.name}, called on names,"
    values = [TracedValue(t.Variable(each), kind) for each, kind in types.items()]
    read = reading(None, function.name) if function.is_read else nullcontext()
    try:
        with users_code(subject, function.called, "a function of patterns of its inputs"), read:
            made = function.called(*(each.taken_apart if function.is_read else each for each in values))
        return lifted(made, function.place), found
    finally:
        _TRACING.reset(token)


def user_line() -> tuple[Place | None, str]:
    """Return the line of the user's that is running, and the name of the innermost function of theirs that has one.

    In a file that is read the place is None where nothing but the interpreter knows it.
    """
    if (read := _READING.get()) is not None:
        return read
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    place = Place(frame.f_code.co_filename, frame.f_lineno, _column(frame))
    while frame.f_back is not None and (_is_ours(frame) or frame.f_code.co_name in HIDDEN):
        frame = frame.f_back
    return place, frame.f_code.co_name


def _is_ours(frame: Any) -> bool:
    return bool(frame.f_code.co_filename.startswith(OURS))


def _column(frame: Any) -> int:
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:
        return 1
    found = list(positions())[frame.f_lasti // 2]
    return (found[2] or 0) + 1


def _parameters(called: Callable[..., Any], count: int) -> list[str]:
    try:
        names = [each.name for each in inspect.signature(called).parameters.values()]
    except (TypeError, ValueError):
        names = []
    return names if len(names) == count else list("abcdefgh"[:count])


def lifted(value: Any, place: Place | None = None) -> Term:
    """Return what a user's function has returned, or was given, as a term; a mistake is told at a place."""
    if isinstance(value, TracedValue):
        return value.term
    if isinstance(value, tuple) and len(value) > 1:
        made = t.Tupled(tuple(lifted(each, place) for each in value))
        return _together(made) or made
    large = isinstance(value, int) and value.bit_length() > 1000
    if (isinstance(value, bool | int | float) and not large) or (
        type(value).__module__ == "numpy" and not getattr(value, "ndim", 1)
    ):
        return number(value if isinstance(value, bool | int | float) else value.item())
    raise SwizzleError(
        f"{shown(value) if large or value == () else f'a {type(value).__name__}'} where a pattern is traced",
        place=place or user_line()[0],
        expected="a value made of the inputs by patterns and arithmetic, a number, or a tuple of two or more such",
        fix="write lists as map(f, x), and loops as reduce(f, x, start)",
    )  # fmt: skip


def _together(made: t.Tupled) -> Term | None:
    """Return the value whose items a tuple has, all of them in order."""
    first = made.items[0]
    if not isinstance(first, t.Item) or made.items != tuple(t.Item(first.of, at) for at in range(len(made.items))):
        return None
    kind = tracer().typing.type_of(first.of, tracer().names)
    return first.of if isinstance(kind, TupleOf) and len(kind.items) == len(made.items) else None


def put_together(values: tuple[Any, ...]) -> Any:
    """Return the traced value that a tuple has the items of; another tuple as it is."""
    if not values or not all(isinstance(each, TracedValue) for each in values):
        return values
    found = _together(t.Tupled(tuple(each.term for each in values)))
    return values if found is None else tracer().value(found)


class TracedComparison(DataComparison):
    """A comparison of traced numbers, for `where`."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise SwizzleError(
            "a branch on data, while a pattern is traced", place=user_line()[0], expected="where(a < b, x, y)",
            fix="write where(condition, then, otherwise)",
        )  # fmt: skip


def _comparison(op: str) -> Any:
    return lambda self, other: TracedComparison(op, (self, other))


def _arithmetic(
    build: Callable[[Expression, Expression], Expression], swapped: bool = False, only: str = ""
) -> Any:  # fmt: skip
    """Return a method of arithmetic; `only` is that of numbers of a kind, 'floats' or 'integers'."""

    def method(self: TracedValue, other: Any) -> Any:
        if isinstance(other, DataComparison):
            return NotImplemented
        if only and isinstance(self.kind, NumberOf) and self.kind.dtype.is_float != (only == "floats"):
            found, other = ("/", "//") if only == "floats" else ("// or %", "/")
            self._refuse(f"{found} of {self.kind} data", only, f"write {other}, or declare {only}")
        sides = (other, self) if swapped else (self, other)
        return tracer().value(formula(build(number_name("x0"), number_name("x1")), [lifted(each) for each in sides]))

    return method


def _no_operator(op: str) -> Any:
    def method(self: TracedValue, _: Any = None) -> NoReturn:
        self._refuse(
            f"`{op}` of data", "arithmetic: +, -, *, /, //, %, **", "write it with these, or with swizzle.math"
        )

    return method


class TracedValue:
    """A value that is not there yet: a term, and its type."""

    __array_ufunc__ = None

    def __init__(self, term: Term, kind: ValueType) -> None:
        self.term, self.kind = term, kind

    def __repr__(self) -> str:
        return f"<traced {self.kind}>"

    __add__, __radd__ = _arithmetic(e.add), _arithmetic(e.add, True)
    __sub__, __rsub__ = _arithmetic(e.subtract), _arithmetic(e.subtract, True)
    __mul__, __rmul__ = _arithmetic(e.multiply), _arithmetic(e.multiply, True)
    __truediv__, __rtruediv__ = _arithmetic(e.divide, only="floats"), _arithmetic(e.divide, True, "floats")
    __floordiv__, __rfloordiv__ = (_arithmetic(e.floor_divide, swapped, "integers") for swapped in (False, True))
    __mod__, __rmod__ = (_arithmetic(e.modulo, swapped, "integers") for swapped in (False, True))
    __lshift__, __rlshift__, __rshift__, __rrshift__ = map(_no_operator, ("<<", "<<", ">>", ">>"))
    __and__, __rand__, __or__, __ror__ = map(_no_operator, "&&||")
    __xor__, __rxor__, __matmul__, __rmatmul__ = map(_no_operator, "^^@@")
    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("<", "<=", ">", ">="))
    __eq__, __ne__ = _comparison("=="), _comparison("!=")
    __hash__ = object.__hash__

    __invert__, __round__, __divmod__ = map(_no_operator, ("~", "round", "divmod"))

    def __neg__(self) -> TracedValue:
        return tracer().value(formula(e.negate(number_name("x0")), [self.term]))

    def __abs__(self) -> TracedValue:
        x = number_name("x0")
        return tracer().value(formula(e.maximum(x, e.negate(x)), [self.term]))

    def __pow__(self, exponent: Any) -> TracedValue:
        if not isinstance(exponent, int) or not 1 <= exponent <= 64:
            self._refuse(f"a power of {exponent!r}", "an int from 1 to 64", "write math.pow(x, y)")
        return tracer().value(formula(e.power(number_name("x0"), exponent), [self.term]))

    def __bool__(self) -> bool:
        self._refuse("a branch on data", "where(a < b, x, y)", "write where(condition, then, otherwise)")

    def __index__(self) -> int:
        self._refuse("data as an index", "gather(x, i)", "write gather(x, i)")

    def __float__(self) -> float:
        self._refuse("a function of Python's own of data", "swizzle.math", "from swizzle import math")

    def __len__(self) -> int:
        if isinstance(self.kind, TupleOf):
            return len(self.kind.items)
        if not isinstance(self.kind, ArrayOf):
            self._refuse(f"the length of {self.kind}", "an array", "take the length of an array")
        if not self.kind.length.constant:
            self._refuse(
                f"len of {self.kind}, whose length {length_text(self.kind.length)} is left open",
                "a length that is a number",
                "declare it as a number in @derivation(...)",
            )
        return int(self.kind.length.value)

    def __iter__(self) -> Iterator[TracedValue]:
        if not isinstance(self.kind, TupleOf):
            self._refuse(f"a loop over {self.kind}", "a pattern", "write map(f, x), or reduce(f, x, start)")
        return (self[place] for place in range(len(self.kind.items)))

    def __getitem__(self, place: Any) -> TracedValue:
        if isinstance(place, bool) or not isinstance(place, int):
            self._refuse(f"an index {place!r}", "an int", "write gather(x, i) for an index that is data")
        if isinstance(self.kind, TupleOf) and isinstance(self.term, t.Tupled) and 0 <= place < len(self.term.items):
            return tracer().value(self.term.items[place])
        made = t.Item(self.term, place) if isinstance(self.kind, TupleOf) else t.Indexed(self.term, number(place))
        return tracer().value(made)

    @property
    def taken_apart(self) -> Any:
        """The value, a tuple where it is one: an interpreter takes tuples apart itself."""
        if not isinstance(self.kind, TupleOf):
            return self
        return tuple(self[place].taken_apart for place in range(len(self.kind.items)))

    @property
    def shape(self) -> tuple[Expression, ...]:
        """The lengths of an array, the outermost first."""
        found, kind = [], self.kind
        while isinstance(kind, ArrayOf):
            found.append(kind.length)
            kind = kind.element
        return tuple(found)

    # -- what swizzle.math, where, maximum and gather ask of data ----------------------------------------------------

    def apply_function(self, op: FunctionName, arguments: Sequence[Any]) -> TracedValue:
        """Return a function of numbers, or a choice between two."""
        row, given = op.row, [lifted(each) for each in arguments]
        names = [number_name(f"x{at}") for at in range(len(given))]
        if isinstance(row, ChoiceFunction):
            a, b, then, otherwise = names
            asked = {"where<": e.less, "where==": e.equal}[row.symbol](a, b)
            made = tracer().value(formula(e.select(asked, then, otherwise), given))
            extreme = isinstance(made.term, t.Formula) and made.term.expression.operator in ("max", "min")
            return tracer().value(t.ElementaryCall("where_less", tuple(given))) if extreme else made
        own = {"exp": e.exponential, "log": e.logarithm}.get(row.symbol)
        return tracer().value(formula(own(*names), given) if own else t.ElementaryCall(row.symbol, tuple(given)))

    def reduce_with(self, op: str, other: Any, swapped: bool = False) -> TracedValue:
        """Return the greater or the lesser of two numbers."""
        build = {"max": e.maximum, "min": e.minimum}[op]
        return tracer().value(formula(build(number_name("x0"), number_name("x1")), [self.term, lifted(other)]))

    def gather(self, indices: Sequence[Any]) -> TracedValue:
        """Return the element at an index that is data."""
        found = self
        for index in indices:
            found = tracer().value(t.Indexed(found.term, lifted(index)))
        return found

    def _refuse(self, found: str, expected: str, fix: str) -> NoReturn:
        raise SwizzleError(f"{found}, while a pattern is traced", place=user_line()[0], expected=expected, fix=fix)
