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
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from typing_extensions import Self

from symbolic.elements import DType

Build = Callable[..., Any]
"""Makes a value of an operator (`"+"`), or of a function, and of its operands."""


Order: TypeAlias = Literal["bag", "linear", "set", "parity", "sequence"]
"""What of an operator's items counts: how often each is there, with which coefficient, whether it is there, whether it
is there an odd number of times, or in which order they come."""


class _RowName(str):
    """The name of a row that is in no table and travels with whatever mentions it. Two of one name are the same only if
    their rows are equal."""

    __slots__ = ("row",)
    row: Any

    def __new__(cls, name: str, row: Any) -> Self:
        made = super().__new__(cls, name)
        made.row = row
        return made

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self.row is other.row or self.row == other.row)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class OperatorName(_RowName):
    """The name of a user's operator; its row is a `symbolic.algebra.operator_laws.Law`."""

    __slots__ = ()

    @property
    def law(self) -> Any:
        return self.row


class FunctionName(_RowName):
    """The name of a function on data; its row says what it is."""

    __slots__ = ()
    row: FunctionRow


AND_THEN: Final = ", and then"
GROUPED: Final = ", grouped"


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


class _Function(Struct, frozen=True):
    """What all functions on data have: a name, and names of their operands."""

    symbol: str
    operands: tuple[str, ...]

    @property
    def name(self) -> FunctionName:
        """The function as programs and terms hold it."""
        return FunctionName(self.symbol, self)

    @property
    def row(self) -> tuple[Any, ...]:
        """What terms, and so answers, depend on."""
        return "function", self.symbol

    def text(self, arguments: list[str]) -> str:
        """Return a call as texts show it."""
        return f"{self.symbol}({', '.join(arguments)})"


class MathFunction(_Function, frozen=True, eq=False):
    """A function of mathematics on floats, all of the result's type.

    `numpy` is NumPy's name of the function, or a function on arrays, of double precision. `cuda` is its name for each
    type, `numba` that for numba.cuda. `ulp` are the largest errors of `cuda` in units of the last place, from the CUDA
    C++ Programming Guide (Mathematical Functions). `lipschitz` bounds the slope; None where the function is monotone in
    each argument.
    """

    numpy: str | Callable[..., Any]
    cuda: Mapping[DType, str]
    numba: str
    ulp: Mapping[DType, float]
    lipschitz: float | None = None
    defined: Callable[..., Any] | None = None

    @property
    def name(self) -> FunctionName:
        return _name(self)

    def text(self, arguments: list[str]) -> str:
        return f"math.{super().text(arguments)}"

    def on_numbers(self, arguments: list[Any]) -> Any:
        """Return the function of NumPy numbers or arrays, computed in double precision."""
        import numpy as np

        function: Any = getattr(np, self.numpy) if isinstance(self.numpy, str) else self.numpy
        with np.errstate(all="ignore"):
            kind = np.result_type(*(a if hasattr(a, "dtype") else np.float64(a) for a in arguments))
            found = function(*(np.asarray(a, np.float64) for a in arguments))
            return np.asarray(found).astype(kind if kind.kind == "f" else np.float64)[()]


class ChoiceFunction(_Function, frozen=True, eq=False):
    """One of two values of any type by a comparison, `compares`, of two others."""

    compares: str
    defined: Callable[..., Any] | None = None

    @property
    def name(self) -> FunctionName:
        return _name(self)

    def text(self, arguments: list[str]) -> str:
        a, b, *chosen = arguments
        return f"where({a} {self.compares} {b}, {', '.join(chosen)})"

    def on_numbers(self, arguments: list[Any]) -> Any:
        """Return what is chosen of NumPy numbers or arrays, as it is."""
        import numpy as np

        condition = COMPARE[self.compares](*arguments[:2])
        if np.ndim(condition):
            return np.where(condition, *arguments[2:])
        return arguments[2] if condition else arguments[3]


class Gather(_Function, frozen=True):
    """An element of the read-only array `array`, by an index for each of its extents `shape`; by its place in the
    array, row-major, where there is no `shape`."""

    array: str
    shape: tuple[int, ...] = ()

    @property
    def row(self) -> tuple[Any, ...]:
        return *super().row, *self.shape

    def text(self, arguments: list[str]) -> str:
        return f"gather({', '.join([self.array, *arguments])})" if self.shape else f"{self.array}[{arguments[0]}]"


class External(_Function, frozen=True, eq=False):
    """A function of the user's own: the types of its operands and of its result, all floats or all integers, the `body`
    of a function in CUDA C++, and what it is on numbers, one at a time. Equal texts are one function."""

    kinds: tuple[DType, ...]
    gives: DType
    body: str
    function: Callable[..., Any]

    @property
    def row(self) -> tuple[Any, ...]:
        return *super().row, *(kind.value for kind in self.kinds), self.gives.value, self.body

    def __eq__(self, other: object) -> bool:
        return isinstance(other, External) and (self.operands, self.row) == (other.operands, other.row)

    def __hash__(self) -> int:
        return hash(self.row)

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


class WordFunction(_Function, frozen=True):
    """A function on words (`symbolic.algebra.states`), of values of the types `given`, that gives one of the
    type `result`.

    `function` is what it is on NumPy's arrays, `spelled` its name in printed texts, `body` what it returns in C++, in
    its operands' names; `helpers` are the device functions that the body calls. `python` is the `def` of it for
    numba.cuda. `joined` says which word of an associative operator it is, where it is one.
    """

    function: Callable[..., Any]
    given: tuple[DType, ...]
    result: DType
    spelled: str
    body: str
    helpers: tuple[str, ...] = ()
    python: str = ""
    joined: Joined | None = None

    def __hash__(self) -> int:
        return hash(self.symbol)

    @property
    def row(self) -> tuple[Any, ...]:
        kinds = [kind.value for kind in (*self.given, self.result)]
        joined = self.joined.row if self.joined else ()
        return *super().row, *joined, self.operands, self.body, self.helpers, kinds

    def on_numbers(self, arguments: list[Any]) -> Any:
        """Return the function of NumPy numbers or arrays, each of its own type."""
        import numpy as np

        with np.errstate(all="ignore"):
            return self.function(*arguments)


class StateFunction(_Function, frozen=True):
    """A state (`symbolic.algebra.states`) of its words, or its word number `word`; `operator` combines states."""

    operator: OperatorName
    word: int | None = None

    def text(self, arguments: list[str]) -> str:
        if self.word is None:
            return super().text(arguments)
        return f"{arguments[0]}.{self.operator.law.names[self.word]}"


FunctionRow: TypeAlias = MathFunction | ChoiceFunction | Gather | External | WordFunction | StateFunction
"""A function on data."""
Computed: TypeAlias = MathFunction | ChoiceFunction | External | WordFunction
"""One whose values follow from those of its operands alone."""


def row_of(op: object) -> FunctionRow | None:
    """Return the function that an operator of a term is, None where it is none."""
    found: FunctionRow | None = op.row if isinstance(op, FunctionName) else None
    return found


def joined_of(op: object) -> Joined | None:
    """Return which word of an operator on words a function is, None where it is none."""
    row = row_of(op)
    return row.joined if isinstance(row, WordFunction) else None


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


def mathematics(
    symbol: str, numpy: Any, single: float, double: float, lipschitz: float | None = None, operands: str = "x",
    numba: str = "", defined: Any = None,
) -> MathFunction:  # fmt: skip
    """A function of mathematics: CUDA's has its name in double precision, and an f behind it in single."""
    return MathFunction(
        symbol, tuple(operands.split()), numpy, {DType.F32: f"{symbol}f", DType.F64: symbol},
        numba or f"math.{symbol}", {DType.F32: single, DType.F64: double}, lipschitz, defined,
    )  # fmt: skip


FUNCTIONS: Final[dict[str, MathFunction]] = {
    row.symbol: row
    for row in (
        mathematics("exp", "exp", 2, 1),
        mathematics("exp2", "exp2", 2, 1, numba="libdevice.exp2"),
        mathematics("expm1", "expm1", 1, 1),
        mathematics("log", "log", 1, 1),
        mathematics("log2", "log2", 1, 1),
        mathematics("log10", "log10", 2, 1),
        mathematics("log1p", "log1p", 1, 1),
        mathematics("sqrt", "sqrt", 0.5, 0.5),
        mathematics("rsqrt", lambda x: 1 / x**0.5, 2, 1, numba="libdevice.rsqrt"),
        mathematics("sin", "sin", 2, 2, 1),
        mathematics("cos", "cos", 2, 2, 1),
        mathematics("asin", "arcsin", 2, 2),
        mathematics("acos", "arccos", 2, 2),
        mathematics("atan", "arctan", 2, 2),
        mathematics("sinh", "sinh", 3, 2),
        mathematics("tanh", "tanh", 2, 2),
        mathematics("erf", _each(math.erf), 2, 2),
        mathematics("erfc", _each(math.erfc), 4, 5),
        mathematics("pow", "power", 4, 2, operands="x y"),
        *(mathematics(name, name, 0, 0, numba=f"libdevice.{name}") for name in ("floor", "ceil", "trunc", "rint")),
        mathematics("fma", lambda a, b, c: a * b + c, 0.5, 0.5, operands="a b c", numba="cuda.fma", defined=_fused),
    )
}
"""The functions of mathematics, as `math.exp` and its like."""

_WHERE: Final = {
    op: ChoiceFunction(f"where{op}", ("a", "b", "x", "y"), op, defined)
    for op, defined in {
        "<": None, "==": None, ">": _less(True, False), "<=": _less(True, True), ">=": _less(False, True),
        "!=": _unequal,
    }.items()
}  # fmt: skip


def where(op: str) -> ChoiceFunction:
    """Return the choice between two values by a comparison of two others. Numbers are totally ordered to a proof, as
    floats are real numbers: all that it knows is `<` and `==`."""
    return _WHERE[op]


def gather(array: str, shape: tuple[int, ...]) -> Gather:
    """Return the function that reads an element of a read-only array of this shape by an index for each dimension."""
    return Gather(f"gather {array}", tuple("ijk"[: len(shape)]), array, shape)


@cache
def gathered(array: str) -> FunctionName:
    """Return the function that terms have for `gather`: of one number, the place in the array, row-major."""
    return Gather(f"gather {array}", ("i",), array).name


@cache
def _name(row: MathFunction | ChoiceFunction) -> FunctionName:
    return FunctionName(row.symbol, row)


def applied(row: Computed, arguments: list[Any]) -> Any:
    """Return a function of values of a specification: numbers, NumPy's arrays, or symbolic data."""
    for value in arguments:
        if hasattr(value, "apply_function"):
            return defined_with(_on_values, row, arguments)
    return row.on_numbers(arguments)


def defined_with(build: Build, row: FunctionRow, arguments: Any) -> Any:
    """Return what `build` makes of a function: of what defines it, where something does."""
    defined = row.defined if isinstance(row, MathFunction | ChoiceFunction) else None
    return build(row.name, *arguments) if defined is None else defined(build, *arguments)


def _on_values(op: str, *arguments: Any) -> Any:
    if isinstance(op, FunctionName):
        some = [value for value in arguments if hasattr(value, "apply_function")]
        symbolic = max(some, key=lambda value: getattr(value, "ndim", 0))  # an array, if there is one
        return symbolic.apply_function(op, arguments)
    a, b = arguments
    return a + b if op == "+" else a * b
