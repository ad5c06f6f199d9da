"""What a lowering handles: numbers as text, cells of arrays, arrays that can be read or written, indices with ranges.

A *view* is an array as a function of the index: what only moves elements (split, join, zip, transpose, slide) changes
that function and emits nothing. NumberTexts are expressions whose names are texts: `x[i]`, a variable, a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from cuda_out.passes.simplify import simplify_expression
from symbolic.errors import Place
from symbolic.expressions.expression import Expression, number_name
from symbolic.ir import program as ir
from symbolic.ir.facts import Range, range_of
from symbolic.ir.program import DType, Expr
from symbolic.ir.python_text import python_text

NOWHERE: Final = Place("<lowered>", 1, 1)


class ArrayCell(Struct, frozen=True):
    """An element of an array of the kernel, to be read or written; without indices a variable, of some type.

    It is `private` where each thread has one of its own. A `layout` is the device function that says in which place of
    its row an element is kept.
    """

    array: str
    indices: tuple[Expr, ...]
    private: bool = False
    dtype: str = ""
    layout: str = ""

    @property
    def text(self) -> str:
        texts = list(map(python_text, self.indices))
        if self.layout:
            texts[-1] = f"{self.layout}({', '.join(texts[-2:])})"
        return f"{self.array}[{', '.join(texts)}]" if texts else self.array

    @property
    def number(self) -> Expression:
        return number_name(self.text)


class VectorView(Struct, frozen=True):
    """Several numbers as one: an element of an array of vectors, or its places, which are there already."""

    width: int
    cell: ArrayCell | None = None
    places: tuple[Expression, ...] = ()


class PatternView(Struct, frozen=True):
    """An array: its length and its elements by index. `base` is the input that it is as a whole, '' for others.

    It was joined of rows of `row` elements, 0 where it was not.
    """

    length: int
    at: Callable[[Expr], PatternValue]
    base: str = ""
    row: int = 0


PatternValue: TypeAlias = "Expression | ArrayCell | VectorView | PatternView | tuple[PatternValue, ...]"


class IndexRanges:
    """Arithmetic of indices, folded by what is known of the ranges of names."""

    def __init__(self) -> None:
        self.facts: dict[str, Range] = {}

    def name(self, name: str, count: int) -> Expr:
        """Return a name for indices below `count`."""
        if count == 1:
            return number(0)
        self.facts[name] = Range(0, count - 1)
        return ir.Var(name, DType.INDEX, NOWHERE)

    def made(self, op: ir.BinaryOp, left: Expr, right: Expr | int) -> Expr:
        """Return an operation of two indices in its simplest form."""
        right = number(right) if isinstance(right, int) else right
        return simplify_expression(ir.Binary(op, left, right, DType.INDEX, NOWHERE), self.facts)

    def row(self, i: Expr, size: int, j: Expr) -> Expr:
        """Return `i * size + j`."""
        return self.made("+", self.made("*", i, size), j)

    def range(self, index: Expr) -> Range:
        return range_of(index, self.facts)


def number(value: int) -> Expr:
    return ir.Const(value, DType.INDEX, NOWHERE)


def constant_of(index: Expr) -> int | None:
    return int(index.value) if isinstance(index, ir.Const) else None


def cells(
    array: str, shape: tuple[int, ...], indices: tuple[Expr, ...] = (), *, ones: bool = True, layout: str = ""
) -> PatternValue:
    """Return an array of the kernel, or an element of it where all indices are there; without `ones`, an axis of one
    element has no index."""
    if not shape:
        return ArrayCell(array, indices, layout=layout)
    size, inner = shape[0], shape[1:]

    def part(i: Expr) -> PatternValue:
        return cells(array, inner, (*indices, i) if ones or size > 1 else indices, ones=ones, layout=layout)

    return PatternView(size, part, array if not indices else "")


def view_of(value: PatternValue) -> PatternView:
    assert isinstance(value, PatternView), "typing has shown that it is an array"
    return value


def tuple_of(value: PatternValue) -> tuple[PatternValue, ...]:
    assert isinstance(value, tuple), "typing has shown that it is a tuple"
    return value


def together(arrays: Sequence[PatternValue], depth: int) -> PatternValue:
    """Return arrays of one shape as one array of tuples; one alone as it is."""
    if len(arrays) == 1:
        return arrays[0]
    if not depth:
        return tuple(arrays)
    views = [view_of(each) for each in arrays]
    return PatternView(views[0].length, lambda i: together([each.at(i) for each in views], depth - 1))
