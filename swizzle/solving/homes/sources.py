"""Which element an `exchange` has to bring where: worked out from the specification, before any way is chosen.

The kernel runs once on canonical terms. What the exchange gives are fresh variables; in the end each output is a term
over these, and comparing it with the specification's term says what they must be. Whoever has that among `mine`, in
every run of the exchange and in every block, is where the element comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.language.specs.specification import Meaning, outputs
from swizzle.solving.homes.matching import Matching, Preference
from swizzle.solving.homes.recorder import Recorder
from swizzle.solving.homes.trials import tried_ways
from symbolic.algebra.terms import UNWRITTEN, Terms
from symbolic.ir.index import cell_name
from symbolic.ir.program import LANES, DeclareArray, HoleCall, Load, Program
from symbolic.ir.walk import own_expressions, statements, subexpressions
from symbolic.machine.run import Run
from templates.holes import HOME

Places: TypeAlias = npt.NDArray[np.int64]


class Exchange(Struct, frozen=True):
    """An exchange of a program: its hole, and the array under it that takes `mine` and gives `theirs`."""

    hole: int
    declared: DeclareArray

    @property
    def array(self) -> str:
        return self.declared.name


class Sources(Struct, frozen=True):
    """Where each element comes from: `mine[warp, lane, slot]` and `theirs` have one number for what is the same.

    -1 is what nobody has, or asks for. There is one warp where all warps exchange alike. `times` is how often a warp
    does it, over all warps of the grid; elements have `bits` bits. It is not `decided` where elements of several
    threads may be in any order.
    """

    mine: Places
    theirs: Places
    times: int
    bits: int
    decided: bool = True


class NoSources(Struct, frozen=True):
    """Why an exchange cannot be worked out. `proved`: no exchange gives what the specification says."""

    why: str
    proved: bool


def exchanges_of(program: Program) -> list[Exchange]:
    """Return the exchanges of a program, in the order of its holes."""
    arrays = {each.name: each for each in program.body if isinstance(each, DeclareArray)}
    found = {}
    for statement in statements(program.body):
        for expr in (part for own in own_expressions(statement) for part in subexpressions(own)):
            at = expr.indices[0] if isinstance(expr, Load) and expr.indices else None
            if isinstance(expr, Load) and isinstance(at, HoleCall) and program.holes[at.hole].kind == HOME:
                found[at.hole] = arrays[expr.array]
    return [Exchange(hole, found[hole]) for hole in sorted(found)]


def reads_only(program: Program, hole: int) -> bool:
    """Say whether a hole says nothing but which elements of parameters are read."""
    parameters = {each.name for each in program.parameters}
    calls, reads = 0, 0
    for own in (expr for statement in statements(program.body) for expr in own_expressions(statement)):
        for part in subexpressions(own):
            calls += isinstance(part, HoleCall) and part.hole == hole
            if isinstance(part, Load) and part.array in parameters:
                inner = [each for index in part.indices for each in subexpressions(index)]
                reads += sum(isinstance(each, HoleCall) and each.hole == hole for each in inner)
    return calls == reads


def sources_of(program: Program, meaning: Meaning, *, others_open: bool = False) -> Iterator[list[Sources] | NoSources]:
    """Yield what each exchange brings where, for a program whose only open holes are exchanges.

    There are several answers where what one exchange gives goes into another: either may bring an element to its place.
    `others_open` says that other holes were filled to try: outputs that have nothing of an exchange say nothing of it,
    and need not be right yet. Holes that only read parameters may be open: they read what suits.
    """
    exchanges, terms = exchanges_of(program), meaning.terms
    machine = Recorder(program, terms, [each.array for each in exchanges])
    run = machine.run()
    if machine.gives_chosen:
        yield NoSources("it is given what another hole reads", False)
        return
    preferences: tuple[Preference, ...] = ("early",)
    if machine.chained:
        block = machine.shape.block_threads
        preferences = "early", "late", *(1 << bit for bit in range((block - 1).bit_length()))
    known = False
    for preference in preferences:
        for by_lines in (True, False) if machine.chosen else (False,):
            matching = Matching(terms, machine, preference, by_lines)
            found = _sources(program, meaning, exchanges, run, matching, others_open)
            if not isinstance(found, NoSources):
                break
        known |= not isinstance(found, NoSources)
        yield found
    if machine.chained and not known and not others_open:
        ways = tried_ways(program, meaning, [each.array for each in exchanges])
        if ways is not None:
            yield [_at_distance(each, machine, way) for each, way in zip(exchanges, ways, strict=True)]


def _at_distance(exchange: Exchange, machine: Recorder, way: Places) -> Sources:
    """Return the sources of an exchange in which each thread has what one other thread of its block has."""
    takes, gives = machine.sizes(exchange.array)
    block, count = machine.shape.block_threads, machine.shape.count
    team = LANES if (way // LANES == np.arange(count) // LANES).all() else block
    mine = np.arange(team * takes).reshape(team // LANES, LANES, takes)
    theirs = np.full((team, gives), -1, np.int64)
    slots = min(takes, gives)
    theirs[:, :slots] = way[:team, None] * takes + np.arange(slots)
    times = machine.asked[exchange.array] // max(1, gives) * count // LANES
    bits = exchange.declared.dtype.bits
    return Sources(mine, theirs.reshape(team // LANES, LANES, gives), times, bits, decided=False)


def _sources(
    program: Program, meaning: Meaning, exchanges: Sequence[Exchange], run: Run, matching: Matching, others_open: bool
) -> list[Sources] | NoSources:
    machine, terms, pairs = matching.machine, meaning.terms, []
    for parameter in outputs(program):
        memory = run.memories[parameter.name]
        got = np.where(memory.written, memory.data, UNWRITTEN).tolist()
        wanted = meaning.wanted[parameter.name]
        pairs += [(one, other, parameter, n) for n, (one, other) in enumerate(zip(got, wanted, strict=True))]
    for one, other, parameter, address in sorted(pairs, key=lambda pair: matching.order(pair[0], pair[1])):
        if not matching.equal(one, other) and not (others_open and not machine.is_open(one)):
            cell = cell_name(parameter.name, parameter.shape, address)
            return NoSources(f"{cell} is {matching.why(one, other)}", matching.is_decided(one))
    threads, block = machine.shape.count, machine.shape.block_threads
    found = []
    for each in exchanges:
        slots = [np.array(some, np.int64) for some in (matching.given_to(each.array), matching.bound_of(each.array))]
        takes, gives = machine.sizes(each.array)
        if not takes:  # it never runs
            one, none = (np.full((1, LANES, n), -1, np.int64) for n in (1, 0))
            found.append(Sources(one, none, 0, each.declared.dtype.bits))
            continue
        mine, theirs = (
            some.reshape(-1, sizes, threads).transpose(0, 2, 1)
            for some, sizes in zip(slots, (takes, gives), strict=True)
        )
        placed = _by_place(mine, theirs, LANES) or _by_place(mine, theirs, block)
        if placed is None:
            return _nowhere(mine, theirs, block, terms)
        team = LANES * len(placed[0])  # that something is wanted of
        times = int((theirs.reshape(-1, team * theirs.shape[2]) >= 0).any(axis=1).sum()) * len(placed[0])
        decided = matching.decided and placed[2] and not machine.chained
        found.append(Sources(placed[0], placed[1], times, each.declared.dtype.bits, decided))
    return found


def _by_place(mine: Places, theirs: Places, team: int) -> tuple[Places, Places, bool] | None:
    """Return numbers for what is held and wanted, if all teams of so many threads exchange alike, at all times.

    Both arrays have the shape (times, threads, slots). The third says whether it is clear where each element comes
    from: what is not wanted each time may be at several places then; the thread's own are taken first.
    """

    def columns(some: Places) -> Places:
        times, threads, slots = some.shape
        return some.reshape(times * (threads // team), team * slots)

    have, want = columns(mine), columns(theirs)
    numbers: dict[bytes, int] = {}
    held = np.full(have.shape[1], -1, np.int64)
    for place in range(have.shape[1]):
        if (have[:, place] != UNWRITTEN).any():
            held[place] = numbers.setdefault(have[:, place].tobytes(), len(numbers))
    wanted, clear = np.full(want.shape[1], -1, np.int64), True
    for place in range(want.shape[1]):
        column = want[:, place]
        asked = column >= 0
        if not asked.any():
            continue
        if asked.all():
            number = numbers.get(np.ascontiguousarray(column).tobytes())
        else:
            fits = np.flatnonzero((have[asked] == column[asked, None]).all(axis=0))
            owner, thread = fits // mine.shape[2], place // theirs.shape[2]
            fits = fits[np.lexsort((owner // LANES != thread // LANES, owner != thread))]
            number = int(held[fits[0]]) if len(fits) else None
            clear &= bool((owner == thread).any()) or len(np.unique(held[fits])) <= 1
        if number is None:
            return None
        wanted[place] = number
    warps = team // LANES
    return held.reshape(warps, LANES, -1), wanted.reshape(warps, LANES, -1), clear


def _nowhere(mine: Places, theirs: Places, block: int, terms: Terms) -> NoSources:
    """Say which element does not come from one place: it is there each time, and each time at another."""
    times, threads, _ = mine.shape
    have = mine.reshape(times * (threads // block), -1)
    want = theirs.reshape(times * (threads // block), block, -1)
    for thread in range(block):
        for slot in range(want.shape[2]):
            column = want[:, thread, slot]
            asked = column >= 0
            if not (have[asked] == column[asked, None]).all(axis=0).any():
                some = ", ".join(terms.show(int(term)) for term in column[asked][:3])
                return NoSources(
                    f"theirs[{slot}] of thread {thread} is {some}, ..., which no one place of `mine` holds each time",
                    False,
                )
    raise AssertionError("what is somewhere each time is found")
