"""The ways of an exchange: by shuffles, through shared memory by words, or by vectors; and what each takes at least.

Clocks are those of the pipes (docs/conversions.md): a shuffle takes one clock of a warp, a turn of shared memory one, a
select half a clock. What a way takes at least is worked out before the way is, so that one that cannot win is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from swizzle.layouts.conversions.bounds import SelectBound, bound_of, ways_of
from swizzle.layouts.conversions.convert import in_registers
from swizzle.layouts.conversions.network import ExchangeNetwork, Input
from swizzle.layouts.conversions.shared import SharedPlan, through_shared
from swizzle.layouts.distribution import MOST_SLOTS, Distribution
from swizzle.layouts.search import FAMILIES
from swizzle.solving.homes.sources import NoSources, Places, Sources
from symbolic.ir.program import LANES

Home: TypeAlias = Literal["shuffle", "shared", "vector"]
FAR: Final = 1.5
"""How much longer than shared memory at its best a network may take, to be improved upon: variants differ by less."""
MOST_COUNTED: Final = 16
"""Of more words, no bound of selects is worked out: shared memory is faster."""
ACROSS: Final = "elements go from warp to warp"
NOTHING: Final = "nothing is wanted"
UNLIKE: Final = "the warps of a block do not exchange alike"
FORMULAS: Final = tuple(family for family in FAMILIES if family != "table")


class Floor(Struct, frozen=True):
    """The clocks that every program of a home takes for a warp, at least, and why; None: there is none at all."""

    clocks: float | None
    why: str


class Way(Struct, frozen=True):
    """A program for an exchange: a network of shuffles, or stores and loads of shared memory.

    Of a plan, `loaded` says which slot of `theirs` each of its slots is. The others need no load: a slot of `kept` is
    one of the thread's own, and one of `again` is another one of `theirs`; each is (slot, the slot that it is).
    """

    home: Home
    network: ExchangeNetwork | None
    plan: SharedPlan | None
    loaded: tuple[int, ...] = ()
    kept: tuple[tuple[int, int], ...] = ()
    again: tuple[tuple[int, int], ...] = ()

    def pipes(self, bits: int) -> tuple[float, float]:
        """The clocks of a warp of both pipes, for elements of so many bits: of shuffles and turns, and of selects."""
        words = max(1, bits // 32)
        if self.network is not None:
            return self.network.shuffles * words, self.network.selects * words / 2
        assert self.plan is not None
        return self.plan.passes / self.plan.warps, 0

    @property
    def instructions(self) -> int:
        """How many instructions of a warp move or choose elements."""
        if self.network is not None:
            return self.network.shuffles + self.network.selects
        return sum(self._moved)

    @property
    def _moved(self) -> tuple[int, int]:
        """How many stores and loads of shared memory it has."""
        assert self.plan is not None
        return int(self.plan.stores.on.any(axis=1).sum()), len(self.plan.loads.slots)

    @property
    def words(self) -> str:
        """Its instructions for a warp, in words."""
        if self.network is not None:
            return f"{_plural(self.network.shuffles, 'shuffle')}, {_plural(self.network.selects, 'select')}"
        assert self.plan is not None
        turns = self.plan.passes / self.plan.warps
        said = " and ".join(
            f"{_plural(n, what)} of {side.width * side.bits} bits"
            for n, what, side in zip(self._moved, ("store", "load"), (self.plan.stores, self.plan.loads), strict=True)
        )
        return f"{said}, {turns:g} turns"


def floor_of(home: Home, sources: Sources, *, single: bool = False) -> Floor:
    """Return what a home takes at least. `single`: it is the only exchange, whose selects no other one's hide."""
    bits, (mine, theirs) = sources.bits, (sources.mine, sources.theirs)
    if not (theirs >= 0).any():
        return Floor(0, NOTHING)
    if home == "shuffle":
        away = _away(mine.reshape(len(mine), -1), theirs.reshape(len(theirs), -1))
        if away.any():
            return Floor(None, ACROSS)
        if len(mine) > 1:
            return Floor(None, UNLIKE)
        least = bound_of(mine[0], theirs[0], max(1, 32 // bits))
        words = max(1, bits // 32)
        fewer = _fewer(mine[0], theirs[0], least.shuffles) if single and bits == 32 else None
        if fewer is not None and fewer.clocks > least.shuffles:
            return Floor(fewer.clocks, f"{fewer.shuffles} shuffles take {fewer.selects} selects at least")
        return Floor(least.shuffles * words, least.reason)
    warps = len(mine)
    away = _away(mine.reshape(-1, mine.shape[2]), theirs.reshape(-1, theirs.shape[2]))
    if not away.any():
        return Floor(0, "each lane has what it wants")
    elements = np.where(away, theirs.reshape(away.shape), -1)
    loaded = [sum(len(np.unique(row[row >= 0])) for row in some) for some in elements.reshape(warps, LANES, -1)]
    moved = np.unique(elements[away])
    holds = np.array([np.isin(moved, some) for some in mine])  # a warp stores what it alone has
    stored = (holds & (holds.sum(axis=0) == 1)).sum(axis=1).tolist()
    size = bits if home == "vector" else max(bits, 32)

    def turns_of(counts: Sequence[int]) -> int:
        return sum(-(-count * size // (32 * LANES)) for count in counts)

    turns = (turns_of(loaded) + max(turns_of(stored), turns_of([len(moved)]))) / warps
    what = "128 bytes" if home == "vector" or bits >= 32 else "32 elements"
    return Floor(turns, f"a turn stores or loads {what}")


def _fewer(mine: Places, theirs: Places, shuffles: int) -> SelectBound | None:
    """Return the bound of selects where words are permuted; None where it is not known."""
    slots, held = mine.shape[1], mine >= 0
    if not shuffles or slots > MOST_COUNTED or len(np.unique(mine[held])) < held.sum():
        return None
    where = np.full(int(max(mine.max(), theirs.max())) + 2, -1, np.int64)  # the last is that of -1
    where[mine[held]] = np.flatnonzero(held)
    ways = ways_of(where[theirs].T, slots)
    return None if ways is None else ways.bound(shuffles)


def _away(mine: Places, theirs: Places) -> npt.NDArray[np.bool_]:
    """Say of each element that is wanted whether it is none of those in the same row of `mine`."""
    has = [np.isin(want, have) for have, want in zip(mine, theirs, strict=True)]
    return (theirs >= 0) & ~np.array(has).reshape(theirs.shape)


def way_of(home: Home, sources: Sources, *, alone: bool = False) -> Way | None:
    """Return the best program of a home that is found; None where there is none.

    Unless it is `alone`, it is not the best network of shuffles where shared memory takes far fewer clocks.
    """
    if not (sources.theirs >= 0).any():  # any register will do
        return Way(home, ExchangeNetwork(1, 1, (Input(0),), (0,) * sources.theirs.shape[2]), None)
    if home == "shuffle":
        return _in_registers(sources, alone)
    loaded, kept, again = _split(sources)
    if not loaded:
        return _kept(home, sources, kept, again)
    lowest = (floor_of(home, sources).clocks or 0) * len(sources.mine)
    plan = _plan(
        replace(sources, theirs=sources.theirs[:, :, loaded]), 128 if home == "vector" else sources.bits, lowest
    )
    return Way(home, None, plan, loaded, kept, again)


def best_sources(
    answers: Iterable[list[Sources] | NoSources], homes: Sequence[Sequence[Home]]
) -> list[Sources] | NoSources:
    """Return which of several answers takes the fewest clocks, if each exchange has the best of its homes."""
    every = list(answers)
    found = [each for each in every if not isinstance(each, NoSources)]
    if not found:
        return every[0]
    if len(found) == 1:
        return found[0]
    best, least = found[0], inf
    seen = set[tuple[bytes, ...]]()
    for some in found:
        key = tuple(side.tobytes() for each in some for side in (each.mine, each.theirs))
        pairs = list(zip(some, homes, strict=True))
        if key not in seen and sum(_least(each, named) for each, named in pairs) < least:
            clocks = sum(_clocks(each, named) for each, named in pairs)
            best, least = (some, clocks) if clocks < least else (best, least)
        seen.add(key)
    return best


def _least(sources: Sources, homes: Sequence[Home]) -> float:
    floors = (floor_of(home, sources).clocks for home in homes)
    return min((clocks * sources.times for clocks in floors if clocks is not None), default=inf)


def _clocks(sources: Sources, homes: Sequence[Home]) -> float:
    possible = (home for home in homes if floor_of(home, sources).clocks is not None)
    found = (way for home in possible if (way := way_of(home, sources)) is not None)
    return min((max(way.pipes(sources.bits)) * sources.times for way in found), default=inf)


def _plan(sources: Sources, widest: int, lowest: float) -> SharedPlan:
    """Return the best plan that is found, in vectors of up to `widest` bits; `lowest` is what all take at least."""
    bits, plans = sources.bits, list[SharedPlan]()
    for families in (FORMULAS, FAMILIES):  # a table only where no formula is as good
        for mine, theirs in _numberings(sources):
            plans.append(through_shared(mine, theirs, bits, widest, families))
            sides = plans[-1].stores, plans[-1].loads
            if plans[-1].passes <= lowest and all(side.width * bits >= widest for side in sides):
                return plans[-1]
        if min(plan.passes for plan in plans) <= lowest:
            break
    return min(plans, key=_rank)


Pairs: TypeAlias = tuple[tuple[int, int], ...]


def _split(sources: Sources) -> tuple[tuple[int, ...], Pairs, Pairs]:
    """Return the slots of `theirs` that are to be loaded, those that are one of `mine` in every thread that wants
    them, and those that are the same as one of the former: the last two with the slot that they are."""
    loaded, kept, again = list[int](), list[tuple[int, int]](), list[tuple[int, int]]()
    for slot in range(sources.theirs.shape[2]):
        want = sources.theirs[:, :, slot, None]
        own = np.flatnonzero(((want < 0) | (want == sources.mine)).all(axis=(0, 1)))
        same = [n for n in loaded if (sources.theirs[:, :, n] == want[..., 0]).all()]
        if len(own):
            kept.append((slot, int(own[0])))
        elif same:
            again.append((slot, same[0]))
        else:
            loaded.append(slot)
    return tuple(loaded), tuple(kept), tuple(again)


def _kept(home: Home, sources: Sources, kept: Pairs, again: Pairs) -> Way:
    """Return the way in which each thread keeps what it has."""
    assert not again, "what is the same as a slot that is kept is kept, too"
    slots = sorted({own for _, own in kept})
    outputs = tuple(slots.index(own) for _, own in sorted(kept))
    return Way(home, ExchangeNetwork(sources.mine.shape[2], 1, tuple(map(Input, slots)), outputs), None)


def _rank(plan: SharedPlan) -> tuple[int, int, int]:
    return plan.passes, len(plan.stores.slots) + len(plan.loads.slots), plan.layout.instructions


def _in_registers(sources: Sources, alone: bool) -> Way | None:
    """Return the network of shuffles: on words of several small elements, or on elements as words."""
    if len(sources.mine) > 1 or max(sources.mine.shape[2], sources.theirs.shape[2]) > MOST_SLOTS:
        return None
    mine, theirs = (_distribution(each) for each in (sources.mine, sources.theirs))
    shared = floor_of("vector", sources).clocks or 0
    enough = inf if alone else FAR * max(2, shared / max(1, sources.bits // 32))
    found = [in_registers(mine, theirs, bits, enough) for bits in sorted({32, min(sources.bits, 32)}, reverse=True)]
    slots = sources.mine.shape[2], sources.theirs.shape[2]

    def rank(network: ExchangeNetwork) -> tuple[float, int]:
        """Of as many clocks, the fewest instructions, what packs and unpacks words one by one included."""
        packs = sum(n - -(-n // network.per) for n in slots)
        return network.clocks, network.instructions + packs

    best = min((each for each in found if each is not None), key=rank, default=None)
    return None if best is None else Way("shuffle", best, None)


def _numberings(sources: Sources) -> Iterator[tuple[Distribution, Distribution]]:
    """Yield the two sides with their cells numbered in the orders in which vectors may lie: by lanes and by slots."""
    theirs = _settled(sources.theirs)
    wanted = np.isin(sources.mine, theirs).any(axis=(0, 1))
    mine = np.where(wanted, sources.mine, -1)
    seen = set()
    for side in (theirs, mine):
        for order in (side, side.transpose(2, 0, 1)):
            first = dict.fromkeys(order[order >= 0].tolist())
            numbers = np.full(int(sources.mine.max()) + 2, -1, np.int64)
            for new, old in enumerate([*first, *(set(mine[mine >= 0].tolist()) - first.keys())]):
                numbers[old] = new
            some = tuple(_distribution(numbers[each]) for each in (mine, theirs))
            key = some[0].cells.tobytes()
            if key not in seen:
                seen.add(key)
                yield some[0], some[1]


def _settled(theirs: Places) -> Places:
    """Let threads that want nothing load what another one of their warp loads at once; that takes no turn."""
    found = theirs.copy()
    for warp in range(theirs.shape[0]):
        for slot in range(theirs.shape[2]):
            some = theirs[warp, :, slot]
            if (some >= 0).any():
                found[warp, some < 0, slot] = some[some >= 0][0]
    return found


def _distribution(cells: Places) -> Distribution:
    return Distribution((int(cells.max()) + 1,), cells, "")


def _plural(number: float, noun: str) -> str:
    return f"{number:g} {noun}" if number == 1 else f"{number:g} {noun}s"
