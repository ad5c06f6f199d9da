"""How a specification continues at other lengths: the same for each block, cut off, or apart at the ends of arrays.

One block: its terms are compared with those of all others, at several lengths.

Terms of runs at different lengths are brought into one table, in which an element of an input array is known by its
index in each dimension. So 'the same, shifted by three blocks' is equality of two terms.

Cut off: an output inside its array depends only on inputs inside theirs (`conditions`, 4). So at a smaller length, a
specification says the same as at its own length, with any values behind the ends of the inputs.

Apart at the ends (padding, clamping, borders): along each axis, a few outputs at either end are told one by one: by
their distance from the start, or from the end. All others say the same, moved. Lengths at which the ends meet are told
one by one, too. That a specification goes on in this way is compared at more lengths, as for one without edges
(`continuation`).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cuda_out.tiling.tiling import Tiling
from swizzle.language.specs.specification import Meaning, inputs, numbers, outputs
from symbolic.algebra.canonical import apply_pairs, distinct_terms
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.errors import SwizzleError
from symbolic.ir.index import flat_index, unflattened
from symbolic.ir.program import Axis, Program

Index: TypeAlias = tuple[int, ...]
Lengths: TypeAlias = Mapping[Axis, int]
Block: TypeAlias = tuple[tuple[Axis, int], ...]
_BITS = 40
_MANY: Final = 256
"""So many parts of terms are worth arrays."""


def cell_at(name: str, index: Sequence[int]) -> str:
    """Return what a complaint calls an element."""
    return f"{name}[{', '.join(map(str, index))}]"


def code(index: Index) -> int:
    """Return a number for an index, different for different indices, whatever the array's shape.

    >>> index_of(code((3, 0, 7)), 3)
    (3, 0, 7)
    """
    found = 0
    for each in index:
        assert 0 <= each < 1 << _BITS
        found = found << _BITS | each
    return found


def index_of(number: int, dimensions: int) -> Index:
    return tuple(number >> _BITS * (dimensions - 1 - d) & (1 << _BITS) - 1 for d in range(dimensions))


class MeaningAt(Struct, frozen=True, dict=True):
    """What a specification says at some lengths: the term of each output element, row-major, in a table."""

    lengths: Lengths
    program: Program
    terms: Terms
    wanted: Mapping[str, list[Term]]

    @cached_property
    def shapes(self) -> dict[str, Index]:
        return {parameter.name: parameter.shape for parameter in self.program.parameters}


def meaning_at(tiling: Tiling, program: Program, spec: Callable[..., Any], lengths: Lengths) -> MeaningAt | None:
    """Evaluate a specification at some lengths; None if it does not accept them."""
    at = tiling.at(program, lengths)
    try:
        meaning = Meaning.of(at, spec)
    except SwizzleError:
        return None
    return MeaningAt(dict(lengths), at, meaning.terms, meaning.wanted)


class SharedTerms:
    """One table of terms whose variables are known by array and index."""

    def __init__(self) -> None:
        self.terms = Terms()
        self._translated: dict[object, dict[Term, Term | None]] = {}

    def translated(self, source: MeaningAt, by: Mapping[str, Index]) -> dict[Term, Term | None]:
        """Return the cache of translations by a distance, from the same table and with the same shapes."""
        inner = tuple((name, shape[1:], by[name]) for name, shape in source.shapes.items())
        return self._translated.setdefault((source.terms, inner), {})

    def atom(self, name: str, index: Index) -> Term:
        """Return the variable for an element."""
        return self.terms.atom(name, code(index))

    def translate_all(
        self, source: MeaningAt, terms: Iterable[Term], by: Mapping[str, Index], memo: dict[Term, Term | None]
    ) -> None:
        """Translate what many terms, which have much in common, are made of; elements and their products at once."""
        parts = source.terms.made_of_all(terms, memo)
        for part in parts if len(parts) < _MANY else self._translate_leaves(source, parts, by, memo):
            memo[part] = self._translate_one(source, part, by, memo)

    def _translate_leaves(
        self, source: MeaningAt, parts: list[Term], by: Mapping[str, Index], memo: dict[Term, Term | None]
    ) -> list[Term]:
        """Translate elements and products of two of them, all at once; return what else there is."""
        nodes = source.terms.nodes
        made = list(map(nodes.__getitem__, parts))
        are_atoms = [op == "atom" and source.shapes[args[0]] != () for op, args in made]
        are_pairs = [op == "*" and len(args) == 2 for op, args in made]
        places = defaultdict[str, dict[Term, int]](dict)
        for part, (_, (name, place)) in zip(compress(parts, are_atoms), compress(made, are_atoms), strict=True):
            places[name][part] = place
        for name, flat in places.items():
            columns = np.unravel_index(list(flat.values()), source.shapes[name])
            moved = ((column - d).tolist() for column, d in zip(columns, by[name], strict=True))
            for part, index in zip(flat, zip(*moved, strict=True), strict=True):
                memo[part] = self.atom(name, index) if min(index) >= 0 else None
        pairs = np.array([args for _, args in compress(made, are_pairs)], np.int64).reshape(-1, 2)
        known = distinct_terms(source.terms, pairs)
        at = np.full(len(nodes), UNWRITTEN)
        at[known] = [memo.get(part) or UNWRITTEN for part in known]
        sides = at[pairs]
        whole = sides.all(axis=1)
        products = np.array(list(compress(parts, are_pairs)), np.int64)[whole]
        found = apply_pairs(self.terms, "*", sides[whole, 0], sides[whole, 1])
        memo.update(zip(products.tolist(), found.tolist(), strict=True))
        return [part for part in parts if part not in memo]

    def translate(
        self, source: MeaningAt, term: Term, by: Mapping[str, Index], memo: dict[Term, Term | None]
    ) -> Term | None:
        """Return a term with each array element shifted down `by` its distance; None if that leaves the array."""
        if term not in memo:
            self.translate_all(source, [term], by, memo)
        return memo[term]

    def _translate_one(
        self, source: MeaningAt, term: Term, by: Mapping[str, Index], memo: Mapping[Term, Term | None]
    ) -> Term | None:
        op, args = source.terms.nodes[term]
        match op:
            case "unwritten":
                return UNWRITTEN
            case "const":
                return self.terms.const(args[0])
            case "atom":
                name, flat = args
                index = tuple(i - d for i, d in zip(unflattened(source.shapes[name], flat), by[name], strict=True))
                return self.atom(name, index) if min(index, default=0) >= 0 else None
            case _:
                known = list(map(memo.__getitem__, args))
                if None in known:
                    return None
                return self.terms.pair(op, *known) if len(known) == 2 else self.terms.apply(op, known)  # type: ignore

    def elements(self, term: Term) -> Iterator[tuple[str, int]]:
        """Yield the array and the index's code of each input element in a term."""
        seen, waiting = {term}, [term]
        while waiting:
            op, args = self.terms.nodes[waiting.pop()]
            if op == "atom":
                yield args
            elif op != "const":
                waiting += [arg for arg in args if arg not in seen]
                seen.update(args)

    def greatest(self, asked: Iterable[Term], of: Callable[[str, int], int]) -> dict[Term, int]:
        """Return the greatest number that `of` gives an input element in each term: of its array and its index's code.

        Terms have more in common than not, so each is looked at once; 0 where a term has no elements.
        """
        found: dict[Term, int] = {}
        for term in self.terms.made_of_all(asked, found):
            op, args = self.terms.nodes[term]
            if op == "atom":
                found[term] = of(*args)
            else:
                found[term] = max(map(found.__getitem__, () if op == "const" else args), default=0)
        return found


def block_of(tiling: Tiling, name: str, index: Index) -> dict[Axis, int]:
    """Return the block that owns an element of an output, along each tiled axis."""
    tiles = {each.axis: each.tile for each in tiling.axes}
    return {
        span.axis: at // (span.scale * tiles[span.axis])
        for at, span in zip(index, tiling.spans[name], strict=True)
        if span
    }


def distance(tiling: Tiling, name: str, block: Mapping[Axis, int]) -> Index:
    """Return how far an array's elements are shifted in a block, in each dimension."""
    tiles = {each.axis: each.tile for each in tiling.axes}
    return tuple(span.scale * tiles[span.axis] * block[span.axis] if span else 0 for span in tiling.spans[name])


def by_block(
    tiling: Tiling, source: MeaningAt, shared: SharedTerms, *, first_only: bool = False
) -> Iterator[tuple[str, Index, Index, Term | None]]:
    """Yield for each output element its array, its index, its index shifted into block 0, and its term shifted with it.

    `first_only` leaves out all blocks but block 0.
    """
    moves, memos = dict[object, dict[str, Index]](), dict[object, dict[Term, Term | None]]()
    tiles = {each.axis: each.tile for each in tiling.axes}
    for parameter in outputs(source.program):
        ends = [
            min(extent, span.scale * tiles[span.axis]) if span and first_only else extent
            for extent, span in zip(parameter.shape, tiling.spans[parameter.name], strict=True)
        ]
        elements: list[tuple[Index, Term, Block]] = []
        waiting = defaultdict[Block, list[Term]](list)
        for index in itertools.product(*map(range, ends)):
            term = source.wanted[parameter.name][flat_index(parameter.shape, index)]
            block = block_of(tiling, parameter.name, index)
            key = tuple(sorted(block.items()))
            if key not in moves:
                moves[key] = {p.name: distance(tiling, p.name, block) for p in source.program.parameters}
                memos[key] = shared.translated(source, moves[key])
            elements.append((index, term, key))
            waiting[key].append(term)
        for index, term, key in elements:
            by, memo = moves[key], memos[key]
            if key in waiting:
                shared.translate_all(source, waiting.pop(key), by, memo)
            local = tuple(i - d for i, d in zip(index, by[parameter.name], strict=True))
            yield parameter.name, index, local, memo[term]


Arrays: TypeAlias = Mapping[str, "npt.NDArray[Any]"]


class _Flat(SharedTerms):
    """A table whose variables are the elements of a program's arrays; elements outside are variables that no kernel
    can load."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.shapes = {parameter.name: parameter.shape for parameter in program.parameters}

    def atom(self, name: str, index: Index) -> Term:
        if all(i < extent for i, extent in zip(index, self.shapes[name], strict=True)):
            return self.terms.atom(name, flat_index(self.shapes[name], index))
        return self.terms.atom(f"{name}, beyond its end,", super().atom(name, index))


def meaning_cut(whole: MeaningAt, program: Program) -> Meaning:
    """Return what a specification says of the outputs of `program`, which has smaller arrays than it was asked for."""
    shared, memo = _Flat(program), dict[Term, Term | None]()
    still = {parameter.name: (0,) * len(parameter.shape) for parameter in program.parameters}
    wanted: dict[str, list[Term]] = {}
    for parameter in outputs(program):
        said, shape = whole.wanted[parameter.name], whole.shapes[parameter.name]
        wanted[parameter.name] = []
        for address in range(int(np.prod(parameter.shape))):
            at = flat_index(shape, unflattened(parameter.shape, address))
            term = shared.translate(whole, said[at], still, memo)
            assert term is not None, "elements that stay where they are never leave the array"
            wanted[parameter.name].append(term)
    return Meaning(shared.terms, wanted)


def numbers_cut(whole: Program, spec: Callable[..., Any], program: Program, given: Arrays) -> Arrays:
    """Return the outputs of `program` by a specification made for the larger arrays of `whole`."""
    shapes = {parameter.name: parameter.shape for parameter in whole.parameters}
    padded = {}
    for parameter in inputs(program):
        array = given[parameter.name]
        ends = [(0, after - extent) for extent, after in zip(array.shape, shapes[parameter.name], strict=True)]
        padded[parameter.name] = np.pad(array, ends, constant_values=parameter.below != 1) if ends else array
    found = numbers(whole, spec, padded)
    return {p.name: found[p.name][tuple(map(slice, p.shape))] for p in outputs(program)}


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
