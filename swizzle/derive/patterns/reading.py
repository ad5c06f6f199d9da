"""Expressions of patterns as what can be read: arrays are views, numbers are texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from swizzle.derive.patterns.kernel_text import KernelShape, KernelWriter
from swizzle.derive.patterns.scope import COMPONENTS, PatternScope, element_of, extents
from swizzle.derive.patterns.views import (
    ArrayCell,
    PatternValue,
    PatternView,
    VectorView,
    constant_of,
    number,
    tuple_of,
    view_of,
)
from symbolic.errors import Place
from symbolic.expressions.expression import Expression, less, number_name, substituted
from symbolic.ir.program import Expr
from symbolic.ir.python_text import python_text
from symbolic.ir.walk import FreshNames
from symbolic.patterns import terms as t
from symbolic.patterns.terms import Applying, Term, function_of, operand_of
from symbolic.patterns.types import NumberOf, Typing, ValueType, VectorOf


class ReadPatterns(ABC):
    """What can be read: views; statements are emitted where something has to be computed first."""

    def __init__(
        self, shape: KernelShape, taken: Sequence[str], place: Place | None, holes: frozenset[str], known: FreshNames
    ) -> None:
        self.out = KernelWriter(shape, taken, place, known)
        self.indices, self.holes = self.out.indices, holes
        self.vector_views: dict[tuple[str, int], str] = {}
        self.kept_in_registers = ""

    # -- what can be read --------------------------------------------------------------------------------------------

    def value(self, term: Term, scope: PatternScope) -> PatternValue:
        """Return a term as what can be read; statements are emitted where something has to be computed first."""
        match term:
            case t.Variable():
                return scope.values[term.name]
            case t.Formula():
                given = {f"x{at}": self.number(each, scope) for at, each in enumerate(term.arguments)}
                return substituted(term.expression, given)
            case t.ElementaryCall():
                arguments = [self.number(each, scope) for each in term.arguments]
                if term.function == "where_less":
                    return self.out.numbers.call("where", [less(*arguments[:2]), *arguments[2:]])
                return self.out.numbers.call(f"math.{term.function}", arguments)
            case t.Tupled():
                return tuple(self.value(each, scope) for each in term.items)
            case t.Item():
                return tuple_of(self.value(term.of, scope))[term.place]
            case t.Indexed():
                return self._indexed(term, scope)
            case t.Let():
                return self.value(term.body, self._with_let(term, scope))
            case t.Map():
                if term.kind in ("block", "global"):
                    self.out.refuse(
                        "what blocks make, read by the same kernel", "maps over blocks outside of all others",
                        "spread it over threads, or over lanes",
                    )  # fmt: skip
                if term.kind not in ("map", "seq"):
                    return self.kept(term, "registers" if term.kind == "lane" else "shared", scope)
                source = view_of(self.value(term.array, scope))
                return PatternView(source.length, lambda i: self._applied([source.at(i)], term, scope), row=source.row)
            case t.Reduce() | t.PartialReduce():
                return self.reduced(term, scope)
            case t.ToMemory():
                return (
                    self.value(term.array, scope)
                    if term.memory == "global"
                    else self.kept(term.array, term.memory, scope)
                )
            case t.Iterate():
                return self.iterated(term, scope, term.times)
            case t.PrefixScan():
                return self.kept(term, "registers", scope)
            case t.Zip():
                views = [view_of(self.value(each, scope)) for each in term.arrays]
                row = max(each.row for each in views)
                return PatternView(views[0].length, lambda i: tuple(each.at(i) for each in views), row=row)
        array = operand_of(term)
        return self.moved(term, view_of(self.value(array, scope)), self.type_of(array, scope))

    def number(self, term: Term, scope: PatternScope) -> Expression:
        """Return a term's value, which is one number."""
        return self.as_number(self.value(term, scope))

    def as_number(self, value: PatternValue) -> Expression:
        if isinstance(value, ArrayCell):
            return value.number
        assert isinstance(value, Expression), "typing has shown that it is a number"
        return value

    def type_of(self, term: Term, scope: PatternScope) -> ValueType:
        return Typing().type_of(term, scope.types)

    def moved(self, term: Term, of: PatternView, kind: ValueType) -> PatternView:
        """Return what a pattern that only moves elements makes of a view of an array of some type."""
        ix, n = self.indices, of.length
        match term:
            case t.Split():
                size = int(term.size.value)
                return PatternView(n // size, lambda i: PatternView(size, lambda j: of.at(ix.row(i, size, j))))
            case t.JoinChunks():
                size = extents(kind)[1]
                return PatternView(
                    n * size, lambda i: view_of(of.at(ix.made("//", i, size))).at(ix.made("%", i, size)), row=size
                )
            case t.Transpose():
                size = extents(kind)[1]
                return PatternView(size, lambda i: PatternView(n, lambda j: view_of(of.at(j)).at(i)))
            case t.Slide():
                size, step = int(term.size.value), int(term.step.value)
                return PatternView(
                    (n - size) // step + 1, lambda i: PatternView(size, lambda j: of.at(ix.row(i, step, j)))
                )
            case t.Reorder():
                return of
            case t.ReorderStride():
                stride = int(term.stride.value)
                rows = n // stride
                return PatternView(n, lambda i: of.at(ix.row(ix.made("%", i, rows), stride, ix.made("//", i, rows))))
            case t.PadEnds():
                return self._padded(term, of)
            case t.AsVector():
                return PatternView(n // term.width, lambda i: self._vector(of, i, term.width))
            case t.AsScalar():
                vector = element_of(kind)
                assert isinstance(vector, VectorOf)
                return PatternView(n * vector.width, lambda i: self._component(of, i, vector.width))
        raise AssertionError(term)

    def _padded(self, term: t.PadEnds, of: PatternView) -> PatternView:
        n, left = of.length, term.left
        ix = self.indices

        def folded(i: Expr) -> PatternValue:
            moved = ix.made("-", i, left)
            if term.boundary == "clamp":
                return of.at(ix.made("min", ix.made("max", moved, 0), n - 1))
            if term.boundary == "wrap":
                return of.at(ix.made("%", moved, n))
            if term.boundary == "mirror":
                under = ix.made("max", moved, ix.made("-", number(-1), moved))
                return of.at(ix.made("min", under, ix.made("-", number(2 * n - 1), moved)))
            inside = self.as_number(of.at(moved))
            asked = self._within(moved, n)
            return number_name(f"({inside.value} if {asked} else 0)") if asked else inside

        return PatternView(n + left + term.right, folded)

    def _within(self, index: Expr, count: int) -> str:
        """Return the condition that an index is one of an array, '' where it is anyhow."""
        found = self.indices.range(index)
        text = python_text(index)
        if found.lo < 0 and found.hi >= count:
            return f"0 <= {text} < {count}"
        return f"{text} >= 0" if found.lo < 0 else f"{text} < {count}" if found.hi >= count else ""

    def _indexed(self, term: t.Indexed, scope: PatternScope) -> PatternValue:
        array = view_of(self.value(term.array, scope))
        if isinstance(term.index, t.Formula) and term.index.expression.constant:
            return array.at(number(int(term.index.expression.value)))
        if not array.base:
            self.out.refuse(
                "an index that is data, into what is no input", "gather of an input array",
                "gather before elements are moved",
            )  # fmt: skip
        index = self.out.numbers.text(self.number(term.index, scope))
        return number_name(f"gather({array.base}, {index})")

    def _with_let(self, term: t.Let, scope: PatternScope) -> PatternScope:
        kind = self.type_of(term.value, scope)
        value = self.value(term.value, scope)
        if isinstance(kind, NumberOf):
            text = self.out.numbers.text(self.as_number(value))
            value = number_name(text if text.isidentifier() else self.out.assign(text, term.name))
        return scope.bind([term.name], [value], [kind])

    def _applied(self, given: Sequence[PatternValue], term: Applying, scope: PatternScope) -> PatternValue:
        """Return what a pattern's function makes of values."""
        called, kinds = function_of(term), self._parameter_types(term, scope)
        if not called.width:
            return self.value(called.body, scope.bind(called.parameters, given, kinds))
        places = []
        columns = [self._places(each, called.width) for each in given]
        for at in range(called.width):
            own = scope.bind(called.parameters, [column[at] for column in columns], kinds)
            places.append(self.number(called.body, own))
        return VectorView(called.width, None, tuple(places))

    def _parameter_types(self, term: Applying, scope: PatternScope) -> list[ValueType]:
        return Typing().given(term, scope.types)

    # -- vectors -----------------------------------------------------------------------------------------------------

    def _vector(self, of: PatternView, i: Expr, width: int) -> PatternValue:
        """Return so many neighbours as one: an element of the array's view as vectors, where they are aligned."""
        first, second = (of.at(self.indices.row(i, width, number(at))) for at in (0, 1))
        if (
            isinstance(first, ArrayCell)
            and isinstance(second, ArrayCell)
            and first.array == second.array
            and first.indices
            and not first.layout
        ):
            *front, last = first.indices
            step = self.indices.made("-", second.indices[-1], last)
            if constant_of(step) == 1 and constant_of(self.indices.made("%", last, width)) == 0:
                name = self._vectors_of(first.array, width)
                return VectorView(width, ArrayCell(name, (*front, self.indices.made("//", last, width)), first.private))
        places = [self.as_number(of.at(self.indices.row(i, width, number(at)))) for at in range(width)]
        return VectorView(width, None, tuple(places))

    def _vectors_of(self, array: str, width: int) -> str:
        if (array, width) not in self.vector_views:
            name = self.vector_views[array, width] = self.out.fresh.take(f"{array}{width}")
            self.out.written.heads.append(f"    {name} = {array}.view(cuda.float{width})")
        return self.vector_views[array, width]

    def _places(self, value: PatternValue, width: int) -> Sequence[Expression]:
        """Return the numbers of a vector; of a number beside vectors, the same for all places."""
        if not isinstance(value, VectorView):
            return [self.as_number(value)] * width
        if value.cell is None:
            return value.places
        name = self.out.assign(value.cell.text)
        return [number_name(f"{name}.{each}") for each in COMPONENTS[:width]]

    def _component(self, of: PatternView, i: Expr, width: int) -> PatternValue:
        vector = of.at(self.indices.made("//", i, width))
        place = constant_of(self.indices.made("%", i, width))
        assert isinstance(vector, VectorView)
        if place is not None:
            return self._places(vector, width)[place]
        if vector.cell is not None:
            array = next(
                name for (name, by), own in self.vector_views.items() if own == vector.cell.array and by == width
            )
            *front, last = vector.cell.indices
            return ArrayCell(array, (*front, self.indices.row(last, width, self.indices.made("%", i, width))))
        self.out.refuse("a place of a vector that depends on a loop", "vectors that are stored whole", "")
        raise AssertionError

    # -- by those who keep what is computed ------------------------------------------------------------------------

    @abstractmethod
    def reduced(self, term: t.Reduce | t.PartialReduce, scope: PatternScope) -> PatternValue: ...

    @abstractmethod
    def iterated(self, term: t.Iterate, scope: PatternScope, times: int) -> PatternValue: ...

    @abstractmethod
    def kept(self, term: Term, memory: str, scope: PatternScope) -> PatternValue: ...
