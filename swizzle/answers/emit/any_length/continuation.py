"""How a specification continues: its terms for one block, compared with those for all others, at several lengths.

Terms of runs at different lengths are brought into one table, in which an element of an input array is known by its
index in each dimension. So 'the same, shifted by three blocks' is equality of two terms.

A specification for one size only, evaluated at smaller lengths: what it says there, cut off.

An output inside its array depends only on inputs inside theirs (`conditions`, 4). So at a smaller length, a
specification says the same as at its own length, with any values behind the ends of the inputs.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import compress
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
