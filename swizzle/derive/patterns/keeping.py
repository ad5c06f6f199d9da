"""What is computed now, for what is read later: sums, arrays in shared memory and in registers, values of lanes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from swizzle.derive.patterns.kernel_text import WARP, ThreadLevel
from swizzle.derive.patterns.numbers_text import update
from swizzle.derive.patterns.reading import ReadPatterns
from swizzle.derive.patterns.scope import OWNED, PatternScope, element_of, extents, halving, kinds_of, level_of
from swizzle.derive.patterns.views import (
    ArrayCell,
    PatternValue,
    PatternView,
    VectorView,
    cells,
    constant_of,
    number,
    together,
    view_of,
)
from symbolic.expressions.expression import Expression, number_name, substituted
from symbolic.ir.program import Expr
from symbolic.ir.python_text import python_text
from symbolic.ir.walk import same
from symbolic.patterns.terms import Folding, Formula, Iterate, Map, PartialReduce, Reduce, Term, free
from symbolic.patterns.types import ArrayOf, NumberOf, TupleOf, ValueType, VectorOf


class KeptPatterns(ReadPatterns):
    """Sums, and what is kept in a memory."""

    # -- sums --------------------------------------------------------------------------------------------------------

    def reduced(self, term: Reduce | PartialReduce, scope: PatternScope) -> PatternValue:
        """Return what a reduction makes: an array of one, or as many as there are parts."""
        source = view_of(self.value(term.array, scope))
        parts = int(term.parts.value) if isinstance(term, PartialReduce) else 1
        chunk = source.length // parts

        def part(i: Expr) -> PatternValue:
            if parts == 1:
                return self._sum(term, source, scope)
            own = PatternView(chunk, lambda j: source.at(self.indices.row(i, chunk, j)))
            return self._sum(term, own, scope)

        if parts == 1:
            only = part(number(0))
            return PatternView(1, lambda _: only)
        return PatternView(parts, part)

    def _sum(self, term: Reduce | PartialReduce, source: PatternView, scope: PatternScope) -> PatternValue:
        """Emit a loop that combines all elements, and return its result."""
        kinds = self._parameter_types(term, scope)
        if isinstance(kinds[0], ArrayOf):
            return self._sum_of_arrays(term, source, scope, kinds)
        if (extreme := self._extreme(term, source, scope, kinds)) is not None:
            return extreme
        kind, width = kinds[0], term.operator.width
        if width and isinstance(kind, NumberOf):
            kind = VectorOf(width, kind.dtype)
        acc = self._started(self.value(term.start, scope), kind)

        def step(i: Expr) -> None:
            self._accumulate(acc, term, source.at(i), scope)

        self._each(source, step)
        return acc

    def _each(self, source: PatternView, step: Callable[[Expr], None]) -> None:
        """Emit a loop over an array; over what was joined of rows, two."""
        if not source.row:
            self.out.loop(source.length, step)
            return
        size = source.row
        self.out.loop(
            source.length // size,
            lambda i: self.out.loop(size, lambda j: step(self.indices.row(i, size, j))),
        )

    def _started(self, start: PatternValue, kind: ValueType, wish: str = "acc") -> PatternValue:
        """Return variables that begin with a value."""
        if isinstance(kind, TupleOf):
            values = start if isinstance(start, tuple) else (start,) * len(kind.items)
            return tuple(self._started(v, k, wish) for v, k in zip(values, kind.items, strict=True))
        if isinstance(kind, VectorOf):
            places = self._places(start, kind.width)
            return VectorView(
                kind.width, None, tuple(self.as_number(self._started(p, NumberOf(kind.dtype), wish)) for p in places)
            )
        assert isinstance(kind, NumberOf)
        value = self.as_number(start)
        text = self.out.numbers.text(value)
        return number_name(self.out.assign(f"{kind.dtype.value}({text})" if value.constant else text, wish))

    def _accumulate(self, acc: PatternValue, term: Folding, element: PatternValue, scope: PatternScope) -> None:
        made = self._applied([acc, element], term, scope)
        self.assign(acc, made)

    def assign(self, into: PatternValue, made: PatternValue) -> None:
        """Emit the assignment of a value to variables or cells, which may be in the value."""
        cells_, values = self._leaves(into), self._numbers_of(made)
        names = {each.text for each in cells_}
        if all(
            self.out.numbers.names_in(each) & names <= {cell.text} for cell, each in zip(cells_, values, strict=True)
        ):
            updates = [update(cell.text, each) for cell, each in zip(cells_, values, strict=True)]
            texts = self.out.numbers.texts(
                [each if own is None else own[1] for each, own in zip(values, updates, strict=True)]
            )
            for cell, text, value, own in zip(cells_, texts, values, updates, strict=True):
                typed = f"{cell.dtype}({text})" if cell.dtype and value.constant else text
                self.out.store(cell, typed, "=" if own is None else f"{own[0]}=")
            return
        self.out.emit(f"{', '.join(each.text for each in cells_)} = {', '.join(self.out.numbers.texts(values))}")

    def _leaves(self, into: PatternValue) -> list[ArrayCell]:
        match into:
            case ArrayCell():
                return [into]
            case Expression():
                return [ArrayCell(str(into.value), (), True)]
            case VectorView(cell=None):
                return [ArrayCell(str(each.value), (), True) for each in into.places]
            case tuple():
                return [leaf for each in into for leaf in self._leaves(each)]
        raise AssertionError(into)

    def _numbers_of(self, made: PatternValue) -> list[Expression]:
        match made:
            case VectorView():
                return list(self._places(made, made.width))
            case tuple():
                return [each for part in made for each in self._numbers_of(part)]
        return [self.as_number(made)]

    def _extreme(
        self, term: Reduce | PartialReduce, source: PatternView, scope: PatternScope, kinds: Sequence[ValueType]
    ) -> PatternValue | None:
        """Return the greatest or the least element by an accumulator, where it begins with an infinity."""
        start = term.start
        infinite = isinstance(start, Formula) and start.expression.infinite
        if not infinite or not isinstance(kinds[0], NumberOf):
            return None
        made = self.value(term.operator.body, PatternScope(
            {**scope.values, **dict(zip(term.operator.parameters, map(number_name, ("\x00a", "\x00b")), strict=True))},
            {**scope.types, **dict(zip(term.operator.parameters, kinds, strict=True))},
        ))  # fmt: skip
        assert isinstance(made, Expression)
        rest = [each for each in made.arguments if each is not number_name("\x00a")]
        if made.operator not in ("max", "min") or len(rest) != len(made.arguments) - 1:
            self.out.refuse(
                "a reduction that begins with an infinity and is neither max nor min", "a start that is a number",
                "begin with an element",
            )  # fmt: skip
        name = self.out.fresh.take("most" if made.operator == "max" else "least")
        self.out.emit(f'{name} = accumulator({kinds[0].dtype.value}, outer="{made.operator}")')

        def step(i: Expr) -> None:
            element = self.as_number(source.at(i))
            given = [substituted(each, {"\x00b": element}) for each in rest]
            text = (
                self.out.numbers.text(given[0])
                if len(given) == 1
                else f"{made.operator}({', '.join(self.out.numbers.texts(given))})"
            )
            self.out.emit(f"{name}.accumulate({text})")

        self._each(source, step)
        return number_name(f"{name}.value")

    def _sum_of_arrays(
        self, term: Any, source: PatternView, scope: PatternScope, kinds: Sequence[ValueType]
    ) -> PatternValue:
        """Emit a reduction of arrays, made in place: in registers, of which each thread has its own part."""
        out = self._registers(kinds[0], kinds_of(term.operator.body), "acc")
        self.copy(out, self.value(term.start, scope), kinds[0], kinds_of(term.operator.body))
        return self._sum_into(out, term, source, scope, kinds)

    def _sum_into(
        self, out: PatternValue, term: Any, source: PatternView, scope: PatternScope, kinds: Sequence[ValueType]
    ) -> PatternValue:
        def step(i: Expr) -> None:
            inner = scope.bind(term.operator.parameters, [out, source.at(i)], kinds)
            self.write(term.operator.body, out, inner)

        self._each(source, step)
        return out

    # -- memories ----------------------------------------------------------------------------------------------------

    def kept(self, term: Term, memory: str, scope: PatternScope) -> PatternValue:
        """Compute a term now, and keep it in a memory."""
        kind = self.type_of(term, scope)
        if memory == "registers":
            if (one := self._one_each(term, scope, kind)) is not None:
                return one
            if isinstance(term, Map) and term.kind == "lane" and isinstance(element_of(kind), NumberOf):
                return self._in_lanes(term, scope, kind)
            out = self._registers(kind, kinds_of(term), "mine")
            self.write(term, out, scope)
            return out
        around = [level for level in self.out.bound if not level.startswith("block")]
        shape = [n for n in (*map(self.out.shape.extent, around), *extents(kind)) if n > 1] or [1]
        if len(shape) > 3:
            self.out.refuse(f"a shared array of {len(shape)} dimensions", "at most three", "join some of them")
        element = element_of(kind)
        at = tuple(self.out.coordinate(level) for level in around if self.out.shape.extent(level) > 1)
        at = at if shape != [1] else (number(0),)
        arrays, names = list[PatternValue](), list[str]()
        for item in element.items if isinstance(element, TupleOf) else (element,):
            names.append(self.out.declare("tile", "shared", shape, self._element_text(item)))
            asked = "layout" in self.holes and len(shape) > 1 and isinstance(item, NumberOf)
            layout = self.out.layout(names[-1], shape[-1]) if asked else ""
            arrays.append(self._cells(names[-1], extents(kind), item, at, layout))
        out = together(arrays, len(extents(kind)))
        self.write(term, out, scope)
        for name in names:
            self.out.fill(name)
        return out

    def _one_each(self, term: Term, scope: PatternScope, kind: ValueType) -> PatternValue | None:
        """Return what maps make of which each thread has one element: a variable, and no array."""
        maps, shape = kinds_of(term), extents(kind)
        owned = [n == 1 or (at < len(maps) and maps[at].kind in OWNED) for at, n in enumerate(shape)]
        if not all(owned) or isinstance(element_of(kind), TupleOf) or not isinstance(term, Map):
            return None
        levels: list[ThreadLevel] = []
        inner = scope
        value: Term = term
        while isinstance(value, Map) and value.kind in OWNED:
            level = level_of(value)
            source = view_of(self.value(value.array, inner))
            if source.length != self.out.shape.extent(level):
                return None
            levels.append(level)
            if value.function.width:
                return None
            types = self._parameter_types(value, inner)
            inner = inner.bind(value.function.parameters, [source.at(self.out.coordinate(level))], types)
            value = value.function.body
        with self.out.binding(*levels):
            made = self.value(value, inner)
            for _ in shape[len(levels) :]:
                made = view_of(made).at(number(0))
            if isinstance(made, VectorView):
                return None
            text = self.out.numbers.text(self.as_number(made))
        name = text if text.isidentifier() else self.out.assign(text, "mine")
        return self._spread(name, shape, [at < len(levels) for at in range(len(shape))], maps, (), element_of(kind))

    def _in_lanes(self, term: Map, scope: PatternScope, kind: ValueType) -> PatternValue:
        """Keep an array in the registers of a warp's lanes, element i in register i // 32 of lane i % 32."""
        (count, *inner), lane = extents(kind), self.out.coordinate("lane")
        if any(n > 1 for n in inner) or self.out.divergent:
            self.out.refuse("arrays in the lanes of a warp", "numbers, and whole warps", "keep them in shared memory")
        rounds = -(-count // WARP)
        name = self.out.declare("mine", "local", [rounds], self._element_text(element_of(kind)))
        source = view_of(self.value(term.array, scope))
        for each in range(rounds):
            index = self.indices.row(number(each), WARP, lane)
            made = self._applied([source.at(index)], term, scope)
            while isinstance(made, PatternView):
                made = made.at(number(0))
            text, left = self.out.numbers.text(self.as_number(made)), count - WARP * each
            self.out.emit(
                f"{name}[{each}] = {text}" + (f" if {python_text(lane)} < {left} else 0" if left < WARP else "")
            )

        def one(value: PatternValue, sizes: Sequence[int]) -> PatternValue:
            return PatternView(1, lambda _: one(value, sizes[1:])) if sizes else value

        return PatternView(count, lambda i: one(self._asked(name, rounds, i), inner))

    def _asked(self, name: str, rounds: int, i: Expr) -> PatternValue:
        """Return element i of an array in the lanes of a warp, for which each lane asks another one."""
        if self.out.divergent:
            self.out.refuse("lanes that ask others where not all are there", "a whole warp", "let all lanes ask")
        lane, ix = python_text(self.out.coordinate("lane")), self.indices
        if "lanes" in self.holes:
            around = "".join(f", {loop}" for loop in self.out.loops[-1:])
            offered = f"{name}[sw_part({rounds}, {lane}{around})]" if rounds > 1 else f"{name}[0]"
            text = f"cuda.shfl_sync(cuda.FULL_MASK, {offered}, sw_xform({lane}, {WARP}{around}))"
            return number_name(self.out.assign(text, "other"))
        asked = python_text(ix.made("%", i, WARP))
        texts = [f"cuda.shfl_sync(cuda.FULL_MASK, {name}[{each}], {asked})" for each in range(rounds)]
        found = [self.out.assign(text, "other") for text in texts]
        index = python_text(i)
        last = found.pop()
        for each, own in reversed(list(enumerate(found, 1))):
            last = f"{own} if {index} < {WARP * each} else {last}"
        return number_name(self.out.assign(last, "asked") if found else last)

    def _cells(
        self, name: str, shape: tuple[int, ...], element: ValueType, at: tuple[Expr, ...], layout: str
    ) -> PatternValue:
        found = cells(name, shape, at, ones=False, layout=layout)
        if not isinstance(element, VectorOf):
            return found
        width = element.width

        def vectors(value: PatternValue) -> PatternValue:
            if isinstance(value, PatternView):
                return PatternView(value.length, lambda i: vectors(value.at(i)), value.base)
            assert isinstance(value, ArrayCell)
            return VectorView(width, value)

        return vectors(found)

    def _element_text(self, element: ValueType) -> str:
        if isinstance(element, VectorOf):
            return f"cuda.float{element.width}"
        if not isinstance(element, NumberOf):
            self.out.refuse(f"an array of {element} in memory", "an array of numbers", "keep each item by itself")
        assert isinstance(element, NumberOf)
        return element.dtype.value

    def _registers(self, kind: ValueType, maps: Sequence[Map], wish: str) -> PatternValue:
        """Return an array in registers: an axis that threads have is not indexed, and each has its own part."""
        element, shape = element_of(kind), extents(kind)
        if isinstance(kind, TupleOf):
            return tuple(self._registers(each, maps, wish) for each in kind.items)
        owned = [at < len(maps) and maps[at].kind in OWNED for at in range(len(shape))]
        own = [n for n, mine in zip(shape, owned, strict=True) if not mine and n > 1]
        text = self._element_text(element)
        name = self.out.declare(wish, "local", own, text) if own else self.out.fresh.take(wish)
        self.kept_in_registers = name
        return self._spread(name, shape, owned, maps, (), element)

    def exchanged(self, term: Map, scope: PatternScope) -> PatternView:
        """Return an array in the registers of threads, of which each gets the elements that a map gives to it."""
        self.value(term.array, scope)
        kind, mine = self.type_of(term.array, scope), self.kept_in_registers
        shape, element = extents(kind), element_of(kind)
        name = self.out.declare("theirs", "local", shape[1:], self._element_text(element))
        self.out.emit(f'exchange({mine}, {name}, home=sw_home("shuffle", "shared", "vector"))')
        return view_of(self._spread(name, shape, [True] + [False] * len(shape[1:]), [term], (), element))

    def _spread(
        self, name: str, shape: tuple[int, ...], owned: Sequence[bool], maps: Sequence[Map], at: tuple[Expr, ...],
        element: ValueType,
    ) -> PatternValue:  # fmt: skip
        if not shape:
            cell = ArrayCell(name, at, True, "" if at or isinstance(element, VectorOf) else self._element_text(element))
            return VectorView(element.width, cell) if isinstance(element, VectorOf) else cell
        level = level_of(maps[0]) if owned[0] else ""

        def part(i: Expr) -> PatternValue:
            inner = (*at, i) if not owned[0] and shape[0] > 1 else at
            found = self._spread(name, shape[1:], owned[1:], maps[1:], inner, element)
            return self._own(found, i, level, shape[0]) if level else found

        return PatternView(shape[0], part)

    def _own(self, found: PatternValue, i: Expr, level: ThreadLevel, count: int) -> PatternValue:
        """Return an element that the thread has itself, or asks a lane of its warp for."""
        mine = self.out.coordinate(level)
        if count == 1 or same(i, mine) or constant_of(self.indices.made("-", i, mine)) == 0:
            return found
        if level != "lane" or not isinstance(found, ArrayCell):
            self.out.refuse(
                f"element {python_text(i)} of an array in registers, which is another thread's",
                "each thread to use its own elements, or lanes of a warp",
                "keep it in shared memory",
            )
        assert isinstance(found, ArrayCell)
        if self.out.divergent:
            self.out.refuse("lanes that ask others where not all are there", "a whole warp", "let all lanes ask")
        lane = f"sw_xform(lane, 32, {', '.join(self.out.loops)})" if "lanes" in self.holes else python_text(i)
        return number_name(self.out.assign(f"cuda.shfl_sync(cuda.FULL_MASK, {found.text}, {lane})", "other"))

    def iterated(self, term: Iterate, scope: PatternScope, times: int) -> PatternValue:
        """Return an array to which a function was applied so many times; each round is written out."""
        value, kind = self.value(term.array, scope), self.type_of(term.array, scope)
        pairs = halving(term)
        if times == term.times and pairs is not None and view_of(value).length == WARP:
            return self._butterfly(term, pairs, view_of(value), scope, kind)
        for _ in range(times):
            inner = scope.bind(term.function.parameters, [value], [kind])
            kind, value = self.type_of(term.function.body, inner), self.value(term.function.body, inner)
        return value

    def _butterfly(
        self, term: Iterate, inner: Reduce, source: PatternView, scope: PatternScope, kind: ValueType
    ) -> PatternValue:
        """Combine what the lanes of a warp have, by shuffles in which all lanes take part."""
        assert isinstance(kind, ArrayOf)
        if self.out.divergent:
            self.out.refuse("a warp of which not all lanes are there", "a whole warp", "let all lanes take part")
        mine = source.at(self.out.coordinate("lane"))
        acc = self._started(mine, kind.element, "total")
        masks = "(" + "".join(f"{1 << each}, " for each in reversed(range(term.times))).rstrip(", ") + ")"
        name = self.out.fresh.loop_variable("mask")
        with self.out.inside(f"for {name} in {masks}:"):
            leaves = self._leaves(acc)
            others = []
            for leaf in leaves:
                text = f"cuda.shfl_xor_sync(cuda.FULL_MASK, {leaf.text}, {name})"
                if "lanes" in self.holes:
                    lane = python_text(self.out.coordinate("lane"))
                    text = f"cuda.shfl_sync(cuda.FULL_MASK, {leaf.text}, sw_xform({lane}, {WARP}, {name}))"
                others.append(number_name(self.out.assign(text, "other")))
            other = others[0] if len(others) == 1 and not isinstance(acc, tuple) else tuple(others)
            chunk = scope.bind([*free(inner.array)], [source], [kind])
            self._accumulate(acc, inner, other, chunk)
        return PatternView(1, lambda _: acc)

    # -- by those who write ----------------------------------------------------------------------------------------

    @abstractmethod
    def write(self, term: Term, out: PatternValue, scope: PatternScope) -> None: ...

    @abstractmethod
    def copy(self, out: PatternValue, value: PatternValue, kind: ValueType, maps: Sequence[Map]) -> None: ...
