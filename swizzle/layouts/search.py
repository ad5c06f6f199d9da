"""The best layout of a tile for several accesses at once, with its proof.

Layouts are compared by turns, then bytes, then instructions of the index. A bound by counting (`requests.py`) ends most
searches at the first layout that reaches it. A batch of layouts is looked at on a few phases first, those at which the
plain layout is bad; what is left is counted at all of them. What is answered was evaluated at every cell: vectors are
whole, no two cells share an address, and the printed formula says the same.

The xor map without conflicts whose bit matrix has fewest ones is found, or proved not to be, by itself. An xor map
sends the address x to x ^ L(x): each high bit of x flips bits of the field that picks the bank. Such a map is linear
over the field of two elements. So two vectors of a phase meet in a bank exactly where the map sends the exclusive or of
their addresses to a number whose bank bits are 0: only differences count, not phases. Each difference forbids one value
of the column of its highest bit, once the columns below are chosen; the columns are tried in order, matrices with few
ones first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct

from swizzle.layouts.access import Access, access, is_int, mistake
from swizzle.layouts.answer import Counted, FoundLayout, counted
from swizzle.layouts.families import Base, Batch, bases, pads, rotations, swizzles
from swizzle.layouts.layout import TMA_MODES, Layout, agrees, checked_bits, checked_shape
from swizzle.layouts.requests import Requests, requests_of
from swizzle.layouts.steps import Addresses, FlipBits, FlipRun, Listed, Step, swizzle
from swizzle.layouts.tables import spread_evenly
from symbolic.machine.accesses import BANKS, WORD

_MOST_NODES, _MOST_LOOKED_AT = 4_000, 4_000_000  # columns tried, and differences seen in all of them


def lightest(requests: Requests, x: Addresses) -> FlipBits | Literal["unknown"] | None:
    """Return the lightest matrix under which every phase takes one turn; None where no xor map of `x` has that.

    `x` holds the address of each cell before the map. 'unknown' where the search is given up.
    """
    unit = max(requests.unit, requests.per_word)
    low, high = unit.bit_length() - 1, requests.cycle.bit_length() - 1
    if 1 << low != unit or 1 << high != requests.cycle:
        return None
    columns = max(0, int(x.max()).bit_length() - high)
    forbidden = _differences(requests, x, low, high)
    values = sorted(range(1 << (high - low)), key=lambda value: (value.bit_count(), value))
    search = _MatrixSearch(forbidden, columns, values)
    for ones in range(columns * (high - low) + 1):
        chosen = search.first(ones)
        if chosen is not None:
            return FlipBits((0,) * high + tuple(value << low for value in chosen))
        if search.given_up:
            return "unknown"
        if not search.short:
            return None
    return None


def _differences(requests: Requests, x: Addresses, low: int, high: int) -> Addresses:
    """Return the exclusive ors whose bank bits must not become 0, as rows (high bits, bank bits)."""
    flat, found = x.reshape(-1), [np.empty(0, np.int64)]
    for each in requests.phases:
        own = max(each.width, requests.per_word).bit_length() - 1
        places = np.where(each.cells >= 0, flat[each.cells], 0)
        for distance in range(1, places.shape[1]):
            both = (each.cells[:, distance:] >= 0) & (each.cells[:, :-distance] >= 0)
            some = (places[:, distance:] ^ places[:, :-distance])[both]
            inside = (some >> own) & ((1 << (low - own)) - 1)  # the place within the longest vector, which stays
            found.append(some[(inside == 0) & (some >> high != 0)])  # in low bits only: never the same bank
    every = np.unique(np.concatenate(found) >> low)
    return np.stack([every >> (high - low), every & ((1 << (high - low)) - 1)], axis=1)


class _MatrixSearch:
    """Depth first over columns; `short` says that some matrix was left out only because it had too many ones."""

    def __init__(self, differences: Addresses, columns: int, values: Sequence[int]) -> None:
        self.rest, self.own, self.columns, self.values = differences[:, 0], differences[:, 1], columns, values
        self.tops = [np.flatnonzero(self.rest >> j == 1) for j in range(columns)]
        self.nodes, self.short = 0, False

    @property
    def given_up(self) -> bool:
        return self.nodes > _MOST_NODES or self.nodes * len(self.rest) > _MOST_LOOKED_AT

    def first(self, ones: int) -> tuple[int, ...] | None:
        """Return columns with at most so many ones."""
        self.short = False
        return self._below((), self.own, ones)

    def _below(self, chosen: tuple[int, ...], own: Addresses, ones: int) -> tuple[int, ...] | None:
        """Choose the next column; `own` is what the columns so far make of the bank bits of each difference."""
        j = len(chosen)
        if j == self.columns:
            return chosen
        self.nodes += 1
        if self.given_up:
            return None
        forbidden = set(own[self.tops[j]].tolist())
        for value in self.values:
            if value in forbidden:
                continue
            if value.bit_count() > ones:
                self.short = True
                break
            after = own ^ ((self.rest >> j) & 1) * value if value else own
            found = self._below((*chosen, value), after, ones - value.bit_count())
            if found is not None:
                return found
        return None


Family = Literal["xor", "rotate", "pad", "table"]
FAMILIES: tuple[Family, ...] = get_args(Family)
_KINDS = {"plain": 0, "xor": 1, "rotate": 2, "pad": 3, "table": 4}  # of equals, the earlier is taken
_LOOKED_AT = 6  # phases of an access, before all are counted
MOST_CELLS = 1 << 20


def best(
    shape: Sequence[int],
    accesses: Sequence[Any],
    *,
    bits: int = 32,
    banks: int = BANKS,
    word: int = WORD,
    families: Sequence[Family] = FAMILIES,
    at_most: int | None = None,
    tma: bool = False,
) -> FoundLayout:
    """Return the layout of a shared tile with the fewest turns over all accesses, then the fewest bytes, instructions.

    `shape` counts elements of `bits` bits (8 to 128). An access is a pattern (`rows()`, `ldmatrix(4)`, ...), or a
    function from a lane to a cell, which stands for `access(function)`. Shared memory has `banks` banks of `word`
    bytes.
    `families` are what is tried beside plain row- and column-major order; a table only where no formula of them is as
    good. `at_most` limits the bytes of the tile. With `tma`, only layouts that a mode of TMA stores are looked at.
    Raises SwizzleError for what does not fit together, at the caller's line.
    """
    sizes = _searched_shape(shape)
    requests = _requests(sizes, accesses, bits, banks, word)
    if not isinstance(families, Sequence) or isinstance(families, str) or not set(families) <= set(FAMILIES):
        mistake(f"the families are {families!r}", f"some of {', '.join(map(repr, FAMILIES))}", 'families=["pad"]')
    if at_most is not None and not is_int(at_most):
        mistake(
            f"at_most is {at_most!r}", "how many bytes the tile may take", fix="write an int of bytes, or leave it out"
        )
    return search(requests, families, at_most, tma=tma, solver=True)


def search(
    requests: Requests,
    families: Sequence[Family] = FAMILIES,
    at_most: int | None = None,
    *,
    tma: bool = False,
    row_major: bool = False,
    solver: bool = False,
) -> FoundLayout:
    """Return the best layout for requests that are made already; with `row_major`, axes stay in their order.

    With `solver`, one is asked for a table, or for the proof that none is better, where nothing else settles it.
    """
    return _Search(requests, tuple(families), at_most, tma, row_major, solver).answer()


def count(layout: Layout, accesses: Sequence[Any], *, banks: int = BANKS, word: int = WORD) -> Counted:
    """Return the turns that accesses take under a layout of one's own, beside the least of any layout.

    Raises SwizzleError where the layout tears a vector of an access apart.
    """
    if not isinstance(layout, Layout):
        mistake(f"the layout is {layout!r}", "a layout of swizzle.layouts", "layouts.padded((32, 32), 33)")
    requests = _requests(layout.shape, accesses, layout.bits, banks, word)
    table = layout.table()
    if not requests.whole(table):
        mistake(
            f"{layout!r} does not keep the vectors of {', '.join(each.name for each in requests.phases)} whole",
            "vectors that lie in order, each at a multiple of its size",
            "narrower accesses, or a pitch and a swizzle in whole vectors",
        )
    return counted(requests, table)


def _searched_shape(given: Any) -> tuple[int, ...]:
    shape = checked_shape(given, "best((32, 32), [rows(), columns()])")
    if np.prod(shape, dtype=object) > MOST_CELLS:
        mistake(
            f"the shape is {tuple(shape)}",
            f"a tile of at most {MOST_CELLS} elements",
            fix="cut the tile into smaller ones that are alike",
        )
    if len(shape) > 4:
        mistake(f"the shape has {len(shape)} axes", "at most 4", fix="put axes together that are accessed as one")
    return shape


def _requests(shape: tuple[int, ...], accesses: Any, bits: Any, banks: Any, word: Any) -> Requests:
    checked_bits(bits)
    for what, value, least in (("banks", banks, 1), ("bytes in a word", word, 4)):
        if not is_int(value) or value < least or value & (value - 1):
            mistake(
                f"shared memory has {value!r} {what}",
                f"a power of two from {least}",
                fix="leave it out for the value of NVIDIA's GPUs",
            )
    if isinstance(accesses, Access) or callable(accesses):
        accesses = [accesses]
    if not isinstance(accesses, tuple | list) or not accesses:
        mistake(f"the accesses are {accesses!r}", "a list of accesses", "[layouts.rows(), layouts.columns()]")
    return requests_of(shape, [a if isinstance(a, Access) else access(a) for a in accesses], bits, banks, word)


class _Found(Struct, frozen=True):
    """A layout that was counted: the turns that it takes, and by what else it is preferred to others."""

    turns: int
    bytes: int
    others: tuple[Any, ...]
    layout: Layout


def _preferred(found: _Found) -> tuple[Any, ...]:
    return found.turns, found.bytes, found.others


class _Search:
    def __init__(
        self,
        requests: Requests,
        families: tuple[Family, ...],
        at_most: int | None,
        tma: bool,
        row_major: bool,
        solver: bool,
    ) -> None:
        self.requests, self.families, self.at_most, self.tma = requests, families, at_most, tma
        self.solver, self.asked = solver, False
        axes = range(len(requests.shape))
        self.orders = [tuple(axes)] if row_major else sorted(permutations(axes))
        self.tried, self.least = 0, requests.least
        self.notes: list[str] = []
        self._instructions: dict[tuple[Any, ...], int] = {}

    def answer(self) -> FoundLayout:
        """Return the best layout."""
        requests = self.requests
        if requests.contradiction:
            return FoundLayout(requests, None, None, f"none: {requests.contradiction}", False, 0, requests.least)
        found = self._tma() if self.tma else self._all()
        if found is None:
            return FoundLayout(requests, None, None, f"none found: {self._limits()}", False, self.tried, self.least)
        assert agrees(found.layout) and requests.whole(found.layout.table()), "what is answered is a layout"
        by_access = counted(requests, found.layout.table())
        assert by_access.turns == found.turns
        return FoundLayout(
            requests, found.layout, by_access, self._proof(found), found.turns == self.least, self.tried, self.least
        )

    def _limits(self) -> str:
        if self.tma:
            return "no mode of TMA keeps the vectors whole"
        tail = f" within {self.at_most} bytes" if self.at_most is not None else ""
        return f"no layout of the families keeps the vectors whole{tail}"

    # -- the stages, by bytes and instructions -----------------------------------------------------------------------

    def _all(self) -> _Found | None:
        some = bases(self.requests, self.orders)
        plain = [found for base in some if (found := self._counted(base, base.steps, ("plain",))) is not None]
        reached = self._reached(plain)
        if reached is not None and reached.bytes == self._tight:
            return reached
        stages = [lambda: plain, *self._stages(some)]
        others: list[_Found] = []
        for stage in stages:
            others += stage()
            reached = self._reached(others)
            if reached is not None and (stage is not stages[0]):
                return reached
        if "table" in self.families and (table := self._table()) is not None:
            return table
        batches = [batch for base in some for batch in self._batches(base)]
        known = self._fewest(batches, min(others, key=_preferred, default=None))
        return known and self._asked(known)

    @property
    def _tight(self) -> int:
        """The bytes of the tile, without any that are free."""
        return -(-int(np.prod(self.requests.shape)) * self.requests.bits // 8)

    def _stages(self, some: Sequence[Base]) -> list[Any]:
        """Return what to try, in order of bytes and instructions: each stage gives those that take the least turns."""
        xor, rotate, pad = (family in self.families for family in ("xor", "rotate", "pad"))
        requests = self.requests

        def light() -> list[_Found]:
            batches = [swizzles(base, requests) for base in some if xor]
            batches += [rotations(base, requests, per=False) for base in some if rotate]
            return self._at_least(batches, in_place=True)

        def matrices() -> list[_Found]:
            return self._matrices(some) if xor else []

        def heavy() -> list[_Found]:
            return self._at_least([rotations(base, requests, per=True) for base in some if rotate], in_place=True)

        def runs() -> list[_Found]:
            return self._runs(some) if xor and len(requests.shape) == 1 else []

        def larger() -> list[_Found]:
            batches = [swizzles(base, requests) for base in some if xor] + [
                pads(base, requests) for base in some if pad
            ]
            return self._at_least(batches, in_place=False)

        return [light, matrices, heavy, runs, larger]

    def _batches(self, base: Base) -> list[Batch]:
        found = [swizzles(base, self.requests)] if "xor" in self.families else []
        if "rotate" in self.families:
            found += [rotations(base, self.requests, per=False), rotations(base, self.requests, per=True)]
        return found + ([pads(base, self.requests)] if "pad" in self.families else [])

    def _reached(self, found: Sequence[_Found]) -> _Found | None:
        return min((each for each in found if each.turns == self.requests.least), key=_preferred, default=None)

    def _counted(self, base: Base, steps: tuple[Step, ...], tie: tuple[Any, ...]) -> _Found | None:
        """Count a layout at all phases; None where it tears vectors or is too large."""
        layout = Layout(self.requests.shape, self.requests.bits, base.order, steps)
        table = layout.table()
        size = -(-(int(table.max()) + 1) * layout.bits // 8)
        if (self.at_most is not None and size > self.at_most) or not self.requests.whole(table):
            return None
        self.tried += 1
        turns = sum(self.requests.turns(table))
        cost = self._instructions_of(layout, (base.order, tie))
        others = (layout.table_bytes, cost, _KINDS[tie[0]], base.order, tie[1:])
        return _Found(turns, size, others, layout)

    def _instructions_of(self, layout: Layout, key: tuple[Any, ...]) -> int:
        if key not in self._instructions:
            self._instructions[key] = layout.instructions
        return self._instructions[key]

    # -- batches -----------------------------------------------------------------------------------------------------

    def _at_least(self, batches: Sequence[Batch], *, in_place: bool) -> list[_Found]:
        """Return the best layout of some batches that takes the least turns, counted; [] where none does."""
        ready: list[tuple[Any, ...]] = []
        for number, batch in enumerate(batches):
            above = self._above(batch)
            self.tried += batch.count
            for k in np.flatnonzero(above == 0).tolist():
                steps = batch.steps(k)
                layout = Layout(self.requests.shape, self.requests.bits, batch.base.order, steps)
                size = int(batch.sizes[k]) if batch.sizes is not None else int(layout.table().max()) + 1
                if in_place and size > batch.base.size:
                    continue
                key = (batch.base.order, batch.alike(k))
                ready.append((size, self._instructions_of(layout, key), number, k))
        for _, _, number, k in sorted(ready):
            found = self._counted(batches[number].base, batches[number].steps(k), batches[number].alike(k))
            if found is not None and found.turns == self.requests.least:
                return [found]
        return []

    def _above(self, batch: Batch) -> Any:
        """Return by how many turns each layout is above the least, at least: at a few phases."""
        above = np.zeros(batch.count, np.int64)
        left = np.arange(batch.count)
        x = batch.base.x.reshape(-1)
        for cells, phases in self._hard(batch.base):
            if not len(left):
                break
            on = phases.cells[cells] >= 0
            places = batch.of(np.where(on, x[phases.cells[cells]], 0).reshape(-1), left)
            lanes = on.shape[1]
            turns = self.requests.turns_of(
                phases, places.reshape(-1, lanes), np.broadcast_to(on, (len(left), *on.shape)).reshape(-1, lanes)
            )
            above[left] += turns.reshape(len(left), -1).sum(axis=1) - int(phases.least[cells].sum())
            left = left[above[left] == 0]
        return above

    def _hard(self, base: Base) -> Iterator[tuple[Any, Any]]:
        """Yield phases to look at first: of each access a first one that is bad in the plain order, then some more."""
        flat, later = base.x.reshape(-1), []
        for each in self.requests.phases:
            turns = self.requests.turns_of(each, flat[each.cells], each.cells >= 0)
            bad = np.flatnonzero(turns > each.least)
            if len(bad):
                yield bad[:1], each
                later.append((bad[np.unique(np.linspace(0, len(bad) - 1, _LOOKED_AT).astype(int))[1:]], each))
        for some, each in later:
            if len(some):
                yield some, each

    def _fewest(self, batches: Sequence[Batch], known: _Found | None) -> _Found | None:
        """Return the best layout of some batches and what is known, whatever it takes."""
        least = self.requests.least
        ready = sorted(
            (int(above), number, k)
            for number, batch in enumerate(batches)
            for k, above in enumerate(self._above(batch).tolist())
        )
        for above, number, k in ready:
            if known is not None and least + above > known.turns:
                break
            found = self._counted(batches[number].base, batches[number].steps(k), batches[number].alike(k))
            if found is not None and (known is None or _preferred(found) < _preferred(known)):
                known = found
        return known

    # -- matrices, tables, modes -------------------------------------------------------------------------------------

    def _matrices(self, some: Sequence[Base]) -> list[_Found]:
        if self.requests.least != self.requests.free:
            return []
        found = []
        for base in some:
            if base.size % self.requests.cycle:
                continue  # flipped bits would lead out of the tile
            xor = lightest(self.requests, base.x)
            if xor is None:
                self.notes.append("no exclusive or of address bits is free of conflicts")
            elif xor != "unknown":
                each = self._counted(base, (*base.steps, xor), ("xor", *xor.columns))
                if each is not None and each.bytes == self._tight:
                    found.append(each)
        return found

    def _runs(self, some: Sequence[Base]) -> list[_Found]:
        """Return the layouts for trees in one array, counted."""
        shift = self.requests.cycle.bit_length() - 1
        found = (
            self._counted(base, (*base.steps, FlipRun(shift, ones)), ("xor", -1 - ones))
            for base in some
            for ones in (True, False)
        )
        return [each for each in found if each is not None and each.bytes == self._tight]

    def _table(self) -> _Found | None:
        """Return a table under which every phase takes its least turns, where it is known that there is one."""
        values = spread_evenly(self.requests)
        if values is None:
            return None
        found = self._listed(values)
        assert found is None or found.turns == self.requests.least, "an edge colouring spreads every set evenly"
        return found

    def _listed(self, values: Addresses) -> _Found | None:
        base = Base(tuple(range(len(self.requests.shape))), (), np.empty(0, np.int64), 0, 0, 0)
        return self._counted(base, (Listed(tuple(values.tolist())),), ("table",))

    def _asked(self, known: _Found) -> _Found:
        """Return a table with fewer turns than what is known, if a solver finds one; what it proves is kept."""
        if not self.solver or "table" not in self.families or known.turns == self.least:
            return known
        from swizzle.layouts.solved import fewest

        answer = fewest(self.requests, known.turns)
        self.least, self.asked = answer.bound, True
        found = None if answer.addresses is None else self._listed(answer.addresses)
        assert found is None or found.turns == self.least, "what a solver found is counted again"
        return found or known

    def _tma(self) -> _Found | None:
        requests, found = self.requests, []
        for base in bases(requests, self.orders):
            row = base.pitch * requests.bits // 8
            if base.steps or row % 16:
                continue
            found.append(self._counted(base, (), ("plain",)))
            if row in TMA_MODES and requests.bits <= 64:
                b, scale = TMA_MODES[row][0], (requests.bits // 8).bit_length() - 1
                found.append(self._counted(base, (swizzle(b, 4 - scale, 3),), ("xor", b)))
        return min((each for each in found if each is not None), key=_preferred, default=None)

    # -- words -------------------------------------------------------------------------------------------------------

    def _proof(self, found: _Found) -> str:
        requests, layout = self.requests, found.layout
        if found.turns == requests.least == requests.free:
            phases = f"each of {requests.free} phases" if requests.free > 1 else "the only phase"
            text = f"free of conflicts: {phases} takes one turn, and none can take less"
        elif found.turns == requests.least:
            text = f"{requests.free} phases take {found.turns} turns, and no layout has fewer: {requests.forced}"
        elif found.turns == self.least:
            text = f"{requests.free} phases take {found.turns} turns, and no layout has fewer, which a solver proves"
        else:
            shown = "counting shows" if self.least == requests.least else "a solver proves"
            text = (
                f"{found.turns} turns, fewest of {self.tried} layouts that were tried; {shown} that no layout "
                f"has fewer than {self.least}. Whether one in between exists is open"
            )
        if any(isinstance(step, Listed) for step in layout.steps):
            how = "a solver" if self.asked else "edge colouring"
            return f"{text}. By {how}: none of {self.tried} formulas that were tried is as good"
        if found.bytes > self._tight and not self.tma:
            return f"{text}. Of {self.tried} layouts that were tried, none as good takes less memory"
        return text
