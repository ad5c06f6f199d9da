"""Functions on words: what makes words of an element, one word of two parts together, a result of words.

They are functions on data that belong to one operator (`swizzle.operators`), not to the language: the row holds their
types, what they are on NumPy's arrays, and their bodies in C++. A proof knows of the words of two parts together that
the operator is associative (`Terms`), and of the others what it knows of every function.
"""

from __future__ import annotations

from typing import Any, Final

from symbolic.algebra.functions import FunctionRow
from symbolic.ir.program import DType, FunctionName, Program
from symbolic.ir.walk import functions_of

INLINED: Final = "static __device__ __forceinline__"
"""How the definitions of functions on words begin in printed texts, and nothing else there."""


class WordFunction(FunctionRow, frozen=True, kw_only=True):
    """A function of values of the types `given` that gives one of the type `result`.

    `spelled` is its name in C++, `body` what it returns there, in its operands' names; `helpers` are the device
    functions that the body calls.
    """

    given: tuple[DType, ...]
    result: DType
    spelled: str
    body: str
    helpers: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.symbol)

    @property
    def name(self) -> FunctionName:
        return FunctionName(self.symbol, self)

    def text(self, arguments: list[str]) -> str:
        return f"{self.symbol}({', '.join(arguments)})"

    def on_numbers(self, arguments: list[Any]) -> Any:
        """Return the function of NumPy numbers or arrays, each of its own type."""
        import numpy as np

        assert not isinstance(self.numpy, str)
        with np.errstate(all="ignore"):
            return self.numpy(*arguments)


def word_functions_of(program: Program) -> tuple[WordFunction, ...]:
    """Return the functions on words of a program, in order."""
    return tuple(name.row for name, _ in functions_of(program) if isinstance(name.row, WordFunction))
