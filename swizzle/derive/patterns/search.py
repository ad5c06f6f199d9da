"""Structures times decisions: what a specification can be derived to, counted, ranked by what its text moves.

A *structure* is what the algorithmic rules make of the expression (`symbolic/rewriting/structures.py`): few. A
*decision* is who computes each map, how large chunks are, in which stride elements are taken: many, in a space of
`symbolic/choices` whose rules are the hierarchy of a grid. Of all candidates some are lowered, and their texts give
what warps move, without a GPU and without a proof. Whether a candidate is right only its proof says.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import islice
from math import prod
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.passes.printed_accesses import printed_moves
from swizzle.derive.patterns.declared import DeclaredDerivation
from swizzle.derive.patterns.deriving import LoweredDerivation, lowered
from swizzle.derive.patterns.launches import lengths_in
from swizzle.derive.patterns.scope import only_moves
from swizzle.derive.patterns.steps import DerivationProgress
from swizzle.sketches.loading import SketchFile
from symbolic.choices.conditions import Condition
from symbolic.choices.grounding import ground
from symbolic.choices.propagation import PartialAssignment, Propagator
from symbolic.choices.search import assignments
from symbolic.choices.space import ChoiceSpace
from symbolic.errors import SwizzleError
from symbolic.ir.program import Program
from symbolic.patterns.terms import Map, Reorder
from symbolic.rewriting.derivation import PatternDerivation, positions
from symbolic.rewriting.structures import Explored, Reached, RewriteMove, derivation_of, explore

SIZES: Final = ("s", "t")
"""Names of the sizes of chunks."""
MOVES: Final = (
    *(RewriteMove(rule, {"size": size}) for rule in ("split_join", "reduce_chunks") for size in SIZES),
    RewriteMove("reduce_reorder"),
    RewriteMove("vectorise", {"width": 4}),
)
DEPTH: Final = 3
KINDS: Final = ("block", "local", "global", "seq")
RESIDENT: Final = 2112
"""Warps that work at once on a GPU of 132 multiprocessors, a quarter of those that fit."""
LAUNCH: Final = 20.0
"""What another kernel costs, in accesses of a warp."""


class PatternCandidate(Struct, frozen=True):
    """A structure with decisions: sizes, kinds by the maps' positions, strides by those of reorders."""

    structure: Reached
    number: int
    sizes: Mapping[str, int]
    kinds: Mapping[tuple[int, ...], str]
    strides: Mapping[tuple[int, ...], str]


class RankedCandidate(Struct, frozen=True):
    """A candidate that was lowered, and what it costs."""

    candidate: PatternCandidate
    made: LoweredDerivation
    cost: float


class PatternSearch(Struct, frozen=True):
    """What was found: structures, how many candidates there are, and the best of those that were lowered."""

    explored: Explored
    structures: int
    candidates: int
    tried: int
    refused: int
    ranked: tuple[RankedCandidate, ...]


def searched(declared: DeclaredDerivation, most: int) -> PatternSearch:
    """Rank `most` candidates of a derivation's specification; all candidates are counted."""
    start, _ = declared.traced()
    explored = explore(start, declared.types, MOVES, DEPTH)
    structures = explored.structures
    spaces = [_Decisions(declared, reached, number) for number, reached in enumerate(structures)]
    every = [list(space.all()) for space in spaces]
    for some in every:
        random.Random(len(some)).shuffle(some)
    ranked: list[RankedCandidate] = []
    begun: dict[int, PatternDerivation] = {}
    refused = tried = 0
    for candidate in islice(_in_turn(list(map(iter, every))), most):
        tried += 1
        try:
            if candidate.number not in begun:
                begun[candidate.number] = derivation_of(candidate.structure, declared.types)
            made = _lowered(declared, candidate, begun[candidate.number])
            cost = _cost(made)
        except SwizzleError:
            refused += 1
            continue
        ranked.append(RankedCandidate(candidate, made, cost))
    ranked.sort(key=lambda each: each.cost)
    return PatternSearch(explored, len(structures), sum(map(len, every)), tried, refused, tuple(ranked))


def _in_turn(some: list[Iterator[PatternCandidate]]) -> Iterator[PatternCandidate]:
    """Yield one candidate of each structure after the other."""
    while some:
        left = []
        for each in some:
            found = next(each, None)
            if found is not None:
                yield found
                left.append(each)
        some = left


class _Decisions:
    """The decisions of one structure, as a space of choices."""

    def __init__(self, declared: DeclaredDerivation, reached: Reached, number: int) -> None:
        self.declared, self.reached, self.number = declared, reached, number
        every = list(positions(reached.term, declared.types))
        maps = [each for each in every if isinstance(each.term, Map) and not only_moves(each.term)]
        self.maps = {f"map {'.'.join(map(str, each.path))}": each for each in maps}
        self.reorders = [each for each in every if isinstance(each.term, Reorder)]
        self.sizes = [name for name in SIZES if name in lengths_in(reached.term)]
        self.space = ChoiceSpace(f"structure {number}")
        self._declare()

    def _declare(self) -> None:
        space = self.space
        maps = space.set("maps", self.maps)
        sizes = space.set("sizes", self.sizes)
        orders = space.set("orders", [f"order {at}" for at in range(len(self.reorders))])
        self.kind = space.enum("kind", [maps], KINDS)
        self.size = space.integer("size", [sizes], lambda _: self._divisors())
        self.order = space.enum("order", [orders], ("as it is", *(f"n / {name}" for name in SIZES)))
        space.require("blocks stand outside, local threads in a block", [maps], self._nested)
        for name in self.maps:
            for other in self.maps:
                if name != other and self._inside(name, other):
                    space.require(
                        f"{name} stands in {other}", [maps, maps],
                        lambda a, b, pair=(name, other): self._compatible(a, b) if (a, b) == pair else True,
                    )  # fmt: skip

    def _divisors(self) -> list[int]:
        n = max((value for value in self.declared.lengths.values()), default=1)
        return [1 << bit for bit in range(2, 11) if n % (1 << bit) == 0 and 1 << bit < n] or [1]

    def _inside(self, name: str, other: str) -> bool:
        path, around = self.maps[name].path, (*self.maps[other].path, 0)
        return path[: len(around)] == around

    def _nested(self, name: str) -> Condition | bool:
        around = [other for other in self.maps if other != name and self._inside(name, other)]
        not_local: Condition | bool = self.kind(name).is_not("local")
        for other in around:
            not_local = not_local | self.kind(other).is_("block")
        return not_local

    def _compatible(self, name: str, other: str) -> Condition | bool:
        """Return what may stand in what: in a block local threads, in all others nothing but what is sequential."""
        sequential = self.kind(name).is_("seq")
        return sequential | (self.kind(other).is_("block") & self.kind(name).is_("local")) | (
            self.kind(other).is_("seq") & self.kind(name).is_("local")
        )  # fmt: skip

    def all(self) -> Iterator[PatternCandidate]:
        """Yield all assignments as candidates."""
        propagation = Propagator(ground(self.space))
        for found in assignments(propagation):
            yield self._candidate(propagation, found)

    def _candidate(self, propagation: Propagator, found: PartialAssignment) -> PatternCandidate:
        def chosen(about: Any) -> Any:
            (value,) = propagation.values_left(found, propagation.space.variable(about))
            return value

        return PatternCandidate(
            self.reached, self.number,
            {name: chosen(self.size(name)) for name in self.sizes},
            {each.path: chosen(self.kind(name)) for name, each in self.maps.items()},
            {each.path: chosen(self.order(f"order {at}")) for at, each in enumerate(self.reorders)},
        )  # fmt: skip


def _lowered(declared: DeclaredDerivation, candidate: PatternCandidate, begun: PatternDerivation) -> LoweredDerivation:
    """Take the decisions as steps behind those of the structure, and write the kernels."""
    derivation = begun.copy()
    for path, kind in candidate.kinds.items():
        derivation.apply_at(path, "lower_map", kind=kind)
    for path, stride in sorted(candidate.strides.items(), reverse=True):
        if stride == "as it is":
            derivation.apply_at(path, "reorder_id")
        else:
            length = next(iter(declared.lengths))
            derivation.apply_at(path, "reorder_stride", stride=stride.replace("n", length, 1))
    lengths = {**declared.lengths, **candidate.sizes}
    sized = replace(declared, lengths=lengths)
    return lowered(sized, DerivationProgress(derivation, set()))


def _cost(made: LoweredDerivation) -> float:
    """Return what the warps of all kernels move, shared among those that work at once."""
    file = SketchFile(made.file, made.text).instance({})
    programs = [
        each.program for each in file.sketches.values() if not file.hosts or each.program.name in made.kernels.names
    ]
    return sum(_moved(program) for program in dict.fromkeys(programs)) + LAUNCH * (len(programs) - 1)


def _moved(program: Program) -> float:
    threads, blocks = prod(program.block), prod(program.grid)
    warps = -(-threads // program.warp_size) * blocks
    moves = printed_moves(program)
    turns = sum(access.passes if access.memory == "shared" else access.lines for access in moves.accesses)
    return (turns + moves.shuffles) / min(warps, RESIDENT)
