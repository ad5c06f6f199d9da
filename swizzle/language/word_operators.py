"""Operators on words in sketches: `lift`, `combine` and `result` of an operator that was found and proved.

    best = scan_operator(best_run)
    here, most = best.combine(here_a, most_a, here_b, most_b)

In a kernel and in a specification alike, each takes its words one by one and gives one value, or a tuple of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from symbolic.errors import SwizzleError
from symbolic.ir.functions import WordFunction, applied
from symbolic.ir.program import DType, OperatorName


class FixedWord(Struct, frozen=True):
    """A word that is the same number whatever the arguments are."""

    value: int | float
    result: DType


class WordsFunction(Struct, frozen=True, eq=False):
    """A function from words to words. Each value is a row, a number, or the place of the argument that it is."""

    name: str
    operands: tuple[str, ...]
    given: tuple[DType, ...]
    values: tuple[WordFunction | FixedWord | int, ...]
    state: OperatorName | None = None
    """The operator on states of several words, if its words are such: `takes` says of how many states."""
    takes: int = 0
    gives: bool = False
    """Whether its values are a state."""

    @property
    def types(self) -> tuple[DType, ...]:
        """The types of its values."""
        return tuple(self.given[each] if isinstance(each, int) else each.result for each in self.values)

    def __call__(self, *words: Any) -> Any:
        """Apply the function to numbers, NumPy's arrays or data; all words of a state may be passed as one tuple."""
        if self.takes and len(words) == self.takes and all(isinstance(each, tuple) for each in words):
            words = tuple(word for each in words for word in each)
        if len(words) != len(self.operands):
            raise SwizzleError(
                f"{self.name} with {len(words)} argument{'s' * (len(words) != 1)}",
                expected=f"{self.name}({', '.join(self.operands)})",
                fix="pass one value for each word",
            )
        found = tuple(self._value(each, words) for each in self.values)
        return found[0] if len(found) == 1 else found

    @staticmethod
    def _value(each: WordFunction | FixedWord | int, words: Sequence[Any]) -> Any:
        if isinstance(each, FixedWord):
            return each.value
        return words[each] if isinstance(each, int) else applied(each, list(words))


class ScanOperator(Struct, frozen=True, eq=False):
    """An associative operator on words, whose laws are proved.

    `lift` makes the words of one element, `combine` of the words of two parts those of both, the one that comes first
    on the left, and `result` what is wanted of words. `elements` and `words` are the types of data by name; conditions
    are `i32`, 0 or 1.
    """

    name: str
    elements: dict[str, DType]
    words: dict[str, DType]
    lift: WordsFunction
    combine: WordsFunction
    result: WordsFunction
    state: OperatorName | None = None
    """What combines states, in which all words are one value; None where there is only one."""
    operator: OperatorName | None = None
    """What combines all words as one value, also where there is one word only: what an accumulator reduces by."""

    def scan(self, *arrays: Sequence[Any]) -> list[Any]:
        """Return the words of each part of arrays that begins with their first elements, one list of words for each."""
        found: list[Any] = []
        for row in zip(*arrays, strict=True):
            words = self.several(self.lift(*row))
            found.append(words if not found else self.several(self.combine(*found[-1], *words)))
        return found

    @staticmethod
    def several(value: Any) -> tuple[Any, ...]:
        """Return one value or a tuple as a tuple."""
        return value if isinstance(value, tuple) else (value,)
