"""What a specification says at every length, where it treats the ends of arrays apart: padding, clamping, borders.

Along each axis, a few outputs at either end are told one by one: by their distance from the start, or from the end. All
others say the same, moved. Lengths at which the ends meet are told one by one, too. That a specification goes on in
this way is compared at more lengths, as for one without edges (`continuation`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any, Final, TypeAlias

from msgspec import Struct

from cuda_out.tiling.tiling import Tiling
from swizzle.answers.emit.any_length.continuation import Index, MeaningAt, SharedTerms, index_of, meaning_at
from swizzle.language.specs.specification import Meaning, outputs
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.index import unflattened
from symbolic.ir.program import Axis, Program

_ZERO: Final = 1 << 20
"""The number of an element that is at the place which others are told from."""
_FEW: Final = 7
"""Units along the other axes, while the ends of one are looked for."""
_MOST: Final = 1 << 15
"""Outputs that are asked for, at all short lengths together."""

_Position: TypeAlias = tuple[str, int, int]


class Rest(Struct, frozen=True):
    """What a block has along an axis: whether it is the first, and so much or, with `more`, at least so much left."""

    first: bool
    left: int
    more: bool = False


class NotEven(Exception):
    """A specification does not go on evenly between its ends: one sentence without its full stop, '' of no ends."""


class NearEnds:
    """The terms of a specification at every length. `low` and `high` units at the ends of an axis are told one by one;
    no length is shorter than `least`. Raises NotEven.
    """

    def __init__(self, tiling: Tiling, program: Program, spec: Callable[..., Any]) -> None:
        self.tiling, self.program, self.spec = tiling, program, spec
        self.low, self.high, self.least = dict[Axis, int](), dict[Axis, int](), dict[Axis, int]()
        self.evidence: list[tuple[int, ...]] = []
        self._shared = SharedTerms()
        self._said: dict[tuple[str, tuple[_Position, ...], Index], Term] = {}
        meaning = Meaning.of(program, spec)
        self._declared = MeaningAt(tiling.declared, program, meaning.terms, meaning.wanted)
        for axis in tiling.declared:
            self._margins(axis)
        if not any(self.low.values()) and not any(self.high.values()):
            raise NotEven("")
        self._collect()
        self._moved: dict[object, dict[Term, Term]] = {}

    # -- what is said ---------------------------------------------------------------------------------------

    def wanted(
        self, rests: Mapping[Axis, Rest], name: str, local: Index, into: Terms, atom: Callable[[str, Index], Term]
    ) -> Term:
        """Return what an output must be, of which a block is told by what it has along each axis.

        Elements are counted from the block's beginning, also in what `atom` is asked for: a variable of `into`.
        """
        positions, anchors = [], dict[Axis, int]()
        units = self._units(name, local)
        for axis, rest in rests.items():
            position, anchors[axis] = self._position(axis, rest, units[axis])
            positions.append(position)
        term = self._said[name, tuple(positions), self._within(name, local)]
        key = (id(into), atom, tuple(sorted(anchors.items())))
        return self._placed(term, anchors, into, atom, self._moved.setdefault(key, {}))

    def _placed(
        self, term: Term, anchors: Mapping[Axis, int], into: Terms, atom: Callable[[str, Index], Term],
        memo: dict[Term, Term],
    ) -> Term:  # fmt: skip
        source = self._shared.terms
        for part in source.made_of(term, memo):
            op, args = source.nodes[part]
            if op == "atom":
                name, spans = args[0], self.tiling.spans[args[0]]
                pairs = zip(index_of(args[1], len(spans)), spans, strict=True)
                memo[part] = atom(name, tuple(i - _ZERO + s.scale * anchors[s.axis] if s else i for i, s in pairs))
            elif op == "const":
                memo[part] = into.const(args[0])
            elif op == "unwritten":
                memo[part] = UNWRITTEN
            else:
                memo[part] = into.apply(op, [memo[arg] for arg in args])
        return memo[term]

    def _position(self, axis: Axis, rest: Rest, unit: int) -> tuple[_Position, int]:
        """Return which of the things that are said holds for a unit of a block, and from where it is told."""
        low, high = self.low[axis], self.high[axis]
        if rest.first and not rest.more and rest.left <= low + high:
            return ("short", rest.left, unit), 0
        if rest.first and unit < low:
            return ("low", unit, 0), 0
        if not rest.more and rest.left - unit <= high:
            return ("high", rest.left - unit, 0), rest.left
        return ("between", 0, 0), unit

    def _units(self, name: str, index: Index) -> dict[Axis, int]:
        spans = self.tiling.spans[name]
        return {span.axis: at // span.scale for at, span in zip(index, spans, strict=True) if span}

    def _within(self, name: str, index: Index) -> Index:
        """Return where an element is in its unit, and in dimensions that follow no length."""
        spans = self.tiling.spans[name]
        return tuple(at % span.scale if span else at for at, span in zip(index, spans, strict=True))

    # -- how it is learned ----------------------------------------------------------------------------------

    def _elements(self, source: MeaningAt) -> Iterator[tuple[str, Index, Term]]:
        for parameter in outputs(source.program):
            for flat, term in enumerate(source.wanted[parameter.name]):
                yield parameter.name, unflattened(parameter.shape, flat), term

    def _from(self, source: MeaningAt, term: Term, anchors: Mapping[Axis, int]) -> Term:
        """Return a term with its elements counted from an anchor along each axis."""
        by = {
            name: tuple(s.scale * anchors[s.axis] - _ZERO if s and s.axis in anchors else 0 for s in spans)
            for name, spans in self.tiling.spans.items()
        }
        found = self._shared.translate(source, term, by, self._shared.translated(source, by))
        assert found is not None, "no element is that far from its anchor"
        return found

    def _margins(self, axis: Axis) -> None:
        """Find how many units at each end of an axis are not like those in the middle."""
        declared = self.tiling.declared
        few = {a: n if a == axis else min(n, _FEW) for a, n in declared.items()}
        source = meaning_at(self.tiling, self.program, self.spec, few) if few != declared else None
        source = source or self._declared
        length = declared[axis]
        middle, even = length // 2, [True] * length
        rows: dict[tuple[str, tuple[tuple[Axis, int], ...], Index], dict[int, Term]] = {}
        for name, index, term in self._elements(source):
            units = self._units(name, index)
            unit = units.pop(axis)
            key = name, tuple(units.items()), self._within(name, index)
            rows.setdefault(key, {})[unit] = self._from(source, term, {axis: unit})
        for row in rows.values():
            for unit, term in row.items():
                even[unit] &= term == row[middle]
        self.low[axis] = next((unit + 1 for unit in range(middle, -1, -1) if not even[unit]), 0)
        self.high[axis] = next((length - unit for unit in range(middle, length) if not even[unit]), 0)
        tile = next(each.tile for each in self.tiling.axes if each.axis == axis)
        wide = self.low[axis] + self.high[axis]
        if wide > length - 2:
            raise NotEven(f"the specification says something else of each place along {axis}, not near the ends only")
        if wide > tile:
            raise NotEven(f"the specification's ends are {wide} wide along {axis}, and a block takes {tile}")

    def _collect(self) -> None:
        """Learn what is said near the ends and between, at lengths where they meet, and compare it at others."""
        axes = [each.axis for each in self.tiling.axes]
        shortest = {axis: self.low[axis] + self.high[axis] + 1 for axis in axes}
        outputs_of = sum(1 for _ in self._elements(self._declared)) / prod(self.tiling.declared.values())
        for axis in axes:
            others = {a: n for a, n in shortest.items() if a != axis}
            short = list(range(1, shortest[axis]))
            if outputs_of * sum(short) * prod(n * (n + 1) // 2 for n in others.values()) > _MOST:
                self.least[axis] = shortest[axis]
            else:
                told = {n: self._ask({**others, axis: n}) for n in short}
                self.least[axis] = max((n for n in short if told[n] is None), default=0) + 1
        every = [range(self.least[axis], shortest[axis] + 1) for axis in axes]
        wanted = [dict(zip(axes, lengths, strict=True)) for lengths in itertools.product(*every)]
        for each in self.tiling.axes:
            more = (each.tile - 1, each.tile, each.tile + 1, each.declared, each.declared + each.tile + 1)
            wanted += [{**shortest, each.axis: n} for n in more if n > shortest[each.axis]]
        for lengths in wanted:
            source = self._ask(lengths)
            if source is None:
                where = " x ".join(map(str, lengths.values()))
                raise NotEven(
                    f"the specification gives nothing at length {where}: write it with len(x), not with a number"
                )
            self._learn(source)
        self._learn(self._declared)

    def _ask(self, lengths: Mapping[Axis, int]) -> MeaningAt | None:
        return meaning_at(self.tiling, self.program, self.spec, lengths)

    def _learn(self, source: MeaningAt) -> None:
        rests = {axis: Rest(True, length) for axis, length in source.lengths.items()}
        for name, index, term in self._elements(source):
            units = self._units(name, index)
            found = [self._position(axis, rest, units[axis]) for axis, rest in rests.items()]
            anchors = {axis: anchor for axis, (_, anchor) in zip(rests, found, strict=True)}
            said = self._from(source, term, anchors)
            key = name, tuple(position for position, _ in found), self._within(name, index)
            if self._said.setdefault(key, said) != said:
                where = f"{name}[{', '.join(map(str, index))}]"
                size = " x ".join(map(str, source.lengths.values()))
                other = " (an end that depends on the other one, or on the length, is not supported)"
                raise NotEven(
                    f"at length {size}, the specification's {where} is not that of other lengths, moved{other}"
                )
        self.evidence.append(tuple(source.lengths.values()))
