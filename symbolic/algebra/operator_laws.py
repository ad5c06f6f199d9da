"""The associative operators on data, most of which also commute: one row each, which every other module reads.

A row says what the operator does to numbers (fold, identity, absorber, inverse, the NumPy function), in which sense
its items may be counted (the order), and how it is spelt: in sketches, in printed text, in labels. What
has no row here (`-`, `/`, `//`, `%`, shifts) is a binary operator without laws.
A user's operator is a row that is in no table: its name carries it (`symbolic.ir.program.OperatorName`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec import Struct

from symbolic.elements import DType, limits
from symbolic.ir.functions import OperatorName
from symbolic.ir.functions import Order as Order

FLOATS: Final = frozenset(dtype for dtype in DType if dtype.is_float)
INTEGERS: Final = frozenset({DType.I32, DType.U32, DType.I64, DType.U64})


class Law(Struct, frozen=True):
    """An associative operator on data; it commutes unless its order is a sequence.

    `identity` is the number that changes nothing; None where it is a `bound` of the type, as the greatest number is
    for min, or where there is none. `absorber` is the number that leaves nothing else. `inverse(result, known)` is the
    other number. `infix` says whether texts write it between its operands or as a call, `sign` is what a label writes
    before many items, `words` are further names in sketches, `types` are the data that it takes. `numpy` is the name
    of NumPy's function, or a function on arrays; '' is the fold, number by number.

    A user's operator (`own`) is printed as a function of the parameters `operands`: `cuda` is its body as C++, in which
    T is the type, and `python` a whole `def`, both '' where nobody has said. Numbers that it is applied to stay as they
    are, since what the fold makes of them may depend on the type.
    """

    symbol: str
    fold: Callable[[Any, Any], Any]
    order: Order
    numpy: str | Callable[[Any, Any], Any] = ""
    identity: int | float | None = None
    absorber: int | float | None = None
    inverse: Callable[[Any, Any], Any] | None = None
    bound: Literal["", "least", "greatest"] = ""
    infix: bool = True
    sign: str = ""
    words: tuple[str, ...] = ()
    types: frozenset[DType] = FLOATS | INTEGERS
    own: bool = False
    operands: tuple[str, str] = ("a", "b")
    cuda: str = ""
    python: str = ""

    @property
    def name(self) -> Any:
        """The operator as programs and terms hold it (`ReductionOp`)."""
        return OperatorName(self.symbol, self) if self.own else self.symbol

    @property
    def row(self) -> tuple[Any, ...]:
        """What terms, and so answers, depend on."""
        return self.symbol, self.order, self.identity, self.absorber

    @property
    def commutes(self) -> bool:
        """Say whether items may change places."""
        return self.order != "sequence"

    @property
    def idempotent(self) -> bool:
        """Say whether an item that is there twice counts once."""
        return self.order == "set"

    def takes(self, dtype: DType) -> bool:
        """Say whether the operator has a meaning for data of this type."""
        return dtype in self.types

    def start(self, dtype: DType) -> Any:
        """Return the number of this type that a reduction starts from when the sketch gives none.

        >>> LAWS["min"].start(DType.I32), LAWS["&"].start(DType.U32), LAWS["max"].start(DType.F32)
        (2147483647, 4294967295, -inf)
        """
        if self.identity is None:
            assert self.bound
            least, greatest = (-math.inf, math.inf) if dtype.is_float else limits(dtype)
            return least if self.bound == "least" else greatest
        if self.identity < 0 and not dtype.is_float:
            least, greatest = limits(dtype)
            return self.identity if least < 0 else self.identity % (greatest + 1)
        return self.identity


def quotient(a: Any, b: Any) -> Any:
    """Return the number that gives `a` times `b`: whole where it can be.

    >>> quotient(6, 3), quotient(3, 2)
    (2, 1.5)
    """
    whole = isinstance(a, int) and isinstance(b, int) and a % b == 0
    return a // b if whole else a / b


LAWS: dict[str, Law] = {
    law.symbol: law
    for law in (
        Law("+", operator.add, "linear", "add", identity=0, inverse=operator.sub, sign="Σ"),
        Law("*", operator.mul, "bag", "multiply", identity=1, absorber=0, inverse=quotient, sign="Π"),
        Law("min", min, "set", "minimum", bound="greatest", infix=False),
        Law("max", max, "set", "maximum", bound="least", infix=False),
        Law("&", operator.and_, "set", "bitwise_and", identity=-1, absorber=0, sign="&", words=("and",),
            types=INTEGERS),
        Law("|", operator.or_, "set", "bitwise_or", identity=0, absorber=-1, sign="|", words=("or",),
            types=INTEGERS),
        Law("^", operator.xor, "parity", "bitwise_xor", identity=0, inverse=operator.xor, sign="⊕", words=("xor",),
            types=INTEGERS),
    )
}  # fmt: skip


def find_law(op: str) -> Law | None:
    """Return the row of a binary operator, None where it has none."""
    return op.law if isinstance(op, OperatorName) else LAWS.get(op)


def law_of(op: str) -> Law:
    """Return the row of an operator that has one."""
    return op.law if isinstance(op, OperatorName) else LAWS[op]


def infix(op: str) -> bool:
    """Say whether texts write a binary operator between its operands; the others are calls."""
    law = find_law(op)
    return law is None or law.infix
