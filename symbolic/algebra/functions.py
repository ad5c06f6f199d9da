"""Functions on data that mean nothing to a proof: one row each, which every printer and every interpreter reads.

All that a proof knows of `math.exp` is that equal arguments give equal values. A row says how the function is called
in sketches, CUDA and numba, what it is on NumPy's numbers, and how far CUDA's is from it at most; there is no second
table. `where(a < b, x, y)` is such a function too, of four arguments, and so is `gather(x, c)`, which reads an element
of a read-only array whose index is data: the array's name is the function's. A row may be `defined`: what it means is
then written with other operators and rows, which is what a proof sees, and it keeps its own spelling in printed text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from msgspec import Struct, field

from symbolic.algebra.operator_laws import FLOATS, Order
from symbolic.ir.program import DType, FunctionName, OperatorName

Build = Callable[..., Any]
"""Makes a value of an operator (`"+"`), or of a function, and of its operands."""


AND_THEN: Final = ", and then"
GROUPED: Final = ", grouped"


class External(Struct, frozen=True, eq=False):
    """A function of the user's own: the types of its operands and of its result, all floats or all integers, the body
    of a function in CUDA C++, and what it is on numbers, one at a time. Equal texts are one function."""

    kinds: tuple[DType, ...]
    gives: DType
    text: str
    function: Callable[..., Any]

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from others."""
        return *(kind.value for kind in self.kinds), self.gives.value, self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, External) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def on_numbers(self, arguments: list[Any]) -> Any:
        """Return the function of NumPy's numbers or arrays; floats are in double precision, what fails is no number."""
        import numpy as np

        given = [np.asarray(a).astype(_numpy_name(kind)) for a, kind in zip(arguments, self.kinds, strict=True)]
        rows = np.broadcast_arrays(*given)
        found = [self._one(row) for row in zip(*(column.reshape(-1) for column in rows), strict=True)]
        with np.errstate(all="ignore"):
            return np.array(found).astype(_numpy_name(self.gives)).reshape(rows[0].shape)[()]

    def _one(self, row: tuple[Any, ...]) -> Any:
        try:
            return self.function(*row)
        except (ArithmeticError, ValueError):
            if self.gives.is_float:
                return math.nan
            raise


def _numpy_name(dtype: DType) -> str:
    """Return NumPy's name of a type, in which floats have double precision."""
    return "float64" if dtype.is_float else dtype.row.numpy


class MadeWords(Struct, frozen=True):
    """How the words of one element are made: each is a function of all elements, the element of a number, or always
    the same number of a type."""

    elements: int
    words: tuple[FunctionName | int | tuple[DType, int | float], ...]

    @property
    def row(self) -> tuple[Any, ...]:
        """What terms, and so answers, depend on."""
        return self.elements, *(word.row.row if isinstance(word, FunctionName) else word for word in self.words)


class Joined(Struct, frozen=True):
    """Which word of an operator on words a function is: of `words` words that come first and as many that come behind.

    `operator` is the operator's name with its law, whose order says what counts of the parts: of all parts, or, where
    it says how the words of one element are made (`lifted`), of parts that are made of elements. Then `of_any` is what
    counts of parts of any other words; None where it counts how they are grouped, too. `empty` are the words of no
    element, each with its type, where there are such; they change no words that elements make, or, with
    `empty_of_any`, no words at all.
    """

    operator: OperatorName
    word: int
    words: int
    lifted: MadeWords | None = None
    of_any: Order | None = None
    empty: tuple[tuple[DType, int | float], ...] | None = None
    empty_of_any: bool = True

    @property
    def row(self) -> tuple[Any, ...]:
        """What terms, and so answers, depend on."""
        lifted = None if self.lifted is None else self.lifted.row
        return self.operator.law.row, self.word, self.words, lifted, self.of_any, self.empty, self.empty_of_any

    @property
    def link(self) -> str:
        """The operator of terms that are a sequence of parts and then one part more."""
        return f"{self.operator}{AND_THEN}"

    @property
    def pair(self) -> str:
        """The operator of terms that are two sequences of which it counts how they are grouped."""
        return f"{self.operator}{GROUPED}"


class Packed(Struct, frozen=True):
    """What a function has to do with states (`symbolic.algebra.states`): it makes one of its words, or is its word of
    the number `word`. `operator` combines states."""

    operator: OperatorName
    word: int | None = None


class FunctionRow(Struct, frozen=True):
    """A function on data. All arguments of a function of mathematics have the type of the result.

    `numpy` is NumPy's name of the function, or a function on arrays, of double precision. `cuda` is its name for each
    type, `numba` that for numba.cuda. `ulp` are the largest errors of `cuda` in units of the last place, from the CUDA
    C++ Programming Guide (Mathematical Functions). `lipschitz` bounds the slope; None where the function is monotone in
    each argument. `compares` is the comparison of a `where`, `array` what a `gather` reads, which has the extents
    `shape`, `external` a function of the user's own. `shown` is how texts write a call, '' for `math.name(a, b)`. A row
    with `joined` is one word of an associative operator on several words (`symbolic.algebra.word_functions`), one with
    `packed` makes a state of words, or takes a word of one.
    """

    symbol: str
    operands: tuple[str, ...]
    numpy: str | Callable[..., Any] = ""
    cuda: Mapping[DType, str] = field(default_factory=dict)
    numba: str = ""
    ulp: Mapping[DType, float] = field(default_factory=dict)
    lipschitz: float | None = None
    defined: Callable[..., Any] | None = None
    compares: str = ""
    array: str = ""
    shape: tuple[int, ...] = ()
    external: External | None = None
    shown: str = ""
    types: frozenset[DType] = FLOATS
    joined: Joined | None = None
    packed: Packed | None = None

    @property
    def name(self) -> FunctionName:
        """The function as programs and terms hold it."""
        return FunctionName(self.symbol, self) if self.array or self.external or self.packed else _name(self.symbol)

    @property
    def row(self) -> tuple[Any, ...]:
        """What terms, and so answers, depend on."""
        own = self.external.identity if self.external else self.joined.row if self.joined else ()
        return "function", self.symbol, *self.shape, *own

    def takes(self, dtype: DType) -> bool:
        """Say whether the function has a meaning for data of this type."""
        return dtype in self.types

    def text(self, arguments: list[str]) -> str:
        """Return a call as texts show it."""
        return (self.shown or f"math.{self.symbol}({{}})").format(
            *(arguments if self.shown else [", ".join(arguments)])
        )

    def on_numbers(self, arguments: list[Any]) -> Any:
        """Return the function of NumPy numbers or arrays, computed in double precision unless it only chooses."""
        import numpy as np

        if self.external is not None:
            return self.external.on_numbers(arguments)
        if self.compares:
            condition = COMPARE[self.compares](*arguments[:2])
            if np.ndim(condition):
                return np.where(condition, *arguments[2:])
            return arguments[2] if condition else arguments[3]
        function: Any = getattr(np, self.numpy) if isinstance(self.numpy, str) else self.numpy
        with np.errstate(all="ignore"):
            kind = np.result_type(*(a if hasattr(a, "dtype") else np.float64(a) for a in arguments))
            found = function(*(np.asarray(a, np.float64) for a in arguments))
            return np.asarray(found).astype(kind if kind.kind == "f" else np.float64)[()]


COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def _less(swap: bool, exchange: bool) -> Callable[..., Any]:
    def defined(build: Build, a: Any, b: Any, x: Any, y: Any) -> Any:
        (a, b), (x, y) = (b, a) if swap else (a, b), (y, x) if exchange else (x, y)
        return build(where("<").name, a, b, x, y)

    return defined


def _unequal(build: Build, a: Any, b: Any, x: Any, y: Any) -> Any:
    return build(where("==").name, a, b, y, x)


def _fused(build: Build, a: Any, b: Any, c: Any) -> Any:
    return build("+", build("*", a, b), c)


def _each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """Return a function of numbers on arrays."""

    def on_arrays(x: Any) -> Any:
        import numpy as np

        return np.vectorize(function, otypes=[np.float64])(x)

    return on_arrays


def _row(
    symbol: str, numpy: Any, single: float, double: float, lipschitz: float | None = None, operands: str = "x",
    numba: str = "", defined: Any = None,
) -> FunctionRow:  # fmt: skip
    """A function of mathematics: CUDA's has its name in double precision, and an f behind it in single."""
    return FunctionRow(
        symbol, tuple(operands.split()), numpy, {DType.F32: f"{symbol}f", DType.F64: symbol},
        numba or f"math.{symbol}", {DType.F32: single, DType.F64: double}, lipschitz, defined,
    )  # fmt: skip


FUNCTIONS: Final[dict[str, FunctionRow]] = {
    row.symbol: row
    for row in (
        _row("exp", "exp", 2, 1),
        _row("exp2", "exp2", 2, 1, numba="libdevice.exp2"),
        _row("expm1", "expm1", 1, 1),
        _row("log", "log", 1, 1),
        _row("log2", "log2", 1, 1),
        _row("log10", "log10", 2, 1),
        _row("log1p", "log1p", 1, 1),
        _row("sqrt", "sqrt", 0.5, 0.5),
        _row("rsqrt", lambda x: 1 / x**0.5, 2, 1, numba="libdevice.rsqrt"),
        _row("sin", "sin", 2, 2, 1),
        _row("cos", "cos", 2, 2, 1),
        _row("asin", "arcsin", 2, 2),
        _row("acos", "arccos", 2, 2),
        _row("atan", "arctan", 2, 2),
        _row("sinh", "sinh", 3, 2),
        _row("tanh", "tanh", 2, 2),
        _row("erf", _each(math.erf), 2, 2),
        _row("erfc", _each(math.erfc), 4, 5),
        _row("pow", "power", 4, 2, operands="x y"),
        *(_row(name, name, 0, 0, numba=f"libdevice.{name}") for name in ("floor", "ceil", "trunc", "rint")),
        _row("fma", lambda a, b, c: a * b + c, 0.5, 0.5, operands="a b c", numba="cuda.fma", defined=_fused),
    )
}
"""The functions of mathematics, as `math.exp` and its like."""

_WHERE: Final = {
    op: FunctionRow(
        f"where{op}", ("a", "b", "x", "y"), compares=op, shown=f"where({{0}} {op} {{1}}, {{2}}, {{3}})",
        types=frozenset(dtype for dtype in DType if dtype.is_data and dtype is not DType.STATE), defined=defined,
    )
    for op, defined in {
        "<": None, "==": None, ">": _less(True, False), "<=": _less(True, True), ">=": _less(False, True),
        "!=": _unequal,
    }.items()
}  # fmt: skip


def where(op: str) -> FunctionRow:
    """Return the choice between two values by a comparison of two others. Numbers are totally ordered to a proof, as
    floats are real numbers: all that it knows is `<` and `==`."""
    return _WHERE[op]


def gather(array: str, shape: tuple[int, ...]) -> FunctionRow:
    """Return the function that reads an element of a read-only array of this shape by an index for each dimension."""
    operands = tuple("ijk"[: len(shape)])
    shown = f"gather({', '.join([array, *['{}'] * len(shape)])})"
    return FunctionRow(f"gather {array}", operands, array=array, shape=shape, shown=shown, types=frozenset(DType))


@cache
def gathered(array: str) -> FunctionName:
    """Return the function that terms have for `gather`: of one number, the place in the array, row-major."""
    return FunctionRow(f"gather {array}", ("i",), array=array, shown=f"{array}[{{}}]", types=frozenset(DType)).name


@cache
def _name(symbol: str) -> FunctionName:
    row = FUNCTIONS.get(symbol) or next(row for row in _WHERE.values() if row.symbol == symbol)
    return FunctionName(symbol, row)


def applied(row: FunctionRow, arguments: list[Any]) -> Any:
    """Return a function of values of a specification: numbers, NumPy's arrays, or symbolic data."""
    for value in arguments:
        if hasattr(value, "apply_function"):
            return defined_with(_on_values, row, arguments)
    return row.on_numbers(arguments)


def defined_with(build: Build, row: FunctionRow, arguments: Any) -> Any:
    """Return what `build` makes of a function: of what defines it, where something does."""
    return build(row.name, *arguments) if row.defined is None else row.defined(build, *arguments)


def _on_values(op: str, *arguments: Any) -> Any:
    if isinstance(op, FunctionName):
        symbolic = next(value for value in arguments if hasattr(value, "apply_function"))
        return symbolic.apply_function(op, arguments)
    a, b = arguments
    return a + b if op == "+" else a * b
