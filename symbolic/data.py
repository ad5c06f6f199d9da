"""Data under holes, asked backward: not 'what may this value be?' but 'when is it this term?'.

A specification's term is asked of the value stored; the question travels back through selects, shuffles, reads and
reductions to the cells that hold the term, and comes out as a guard over the holes' choices. Of everything that a
value may be, only what the specification mentions is ever built.

An accumulator under holes is one multiset of guarded entries (paper, section 4.2). It equals a term when each item
of the term is contributed by exactly one of the entries that could, and no entry contributes anything else:
cardinality over guards, no arithmetic.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from symbolic.errors import Place, SwizzleError
from symbolic.guard import FALSE, TRUE, Guard
from symbolic.terms import REDUCTIONS, UNWRITTEN, Term, Terms
from symbolic.undo import undo
from symbolic.vector import Deferred, Encoding, Lanes, Vector, at, conjunction, guard_at, reach

EXPANSION_LIMIT = 100_000  # combinations of operand values that are looked at one by one
POSSIBLE_LIMIT = 256  # values of an accumulator that are enumerated, so that arithmetic can go on with them
Possible: TypeAlias = "frozenset[Term] | None"  # the terms a value may be, None for 'not enumerated'


class Data(ABC):
    """One data value per thread, each depending on holes."""

    def __init__(self) -> None:
        self._possible: dict[int, Possible] = {}
        self.known_kinds: dict[int, Kinds] = {}

    def equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        """Return the guard under which thread t's value is `term`, built once per encoding."""
        memo = encoding.equal.get(self)
        if memo is None:
            memo = encoding.equal[self] = {}
        found = memo.get((t, term))
        if found is None:
            possible = self.possible(t)
            known = possible is not None and term not in possible
            found = memo[t, term] = FALSE if known else self._equals(encoding, t, term)
        return found

    def require(self, encoding: Encoding, t: int, term: Term, when: Guard = TRUE) -> None:
        """Require, where `when` holds, that thread t's value is `term`."""
        encoding.guards.add((-when, self.equals(encoding, t, term)))

    def possible(self, t: int) -> Possible:
        """Return every term that thread t's value may be, whatever the holes are, or None if there are too many."""
        if t not in self._possible:
            self._possible[t] = self._find_possible(t)
        return self._possible[t]

    def kinds(self, terms: Terms, t: int) -> Kinds:
        """Say as much of thread t's value as `kinds` wants to know where it is not enumerated."""
        return None

    @abstractmethod
    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard: ...

    @abstractmethod
    def _find_possible(self, t: int) -> Possible: ...


DataVector: TypeAlias = "Lanes | Data"
Kinds: TypeAlias = "frozenset[str] | None"


def equals(value: DataVector, encoding: Encoding, t: int, term: Term) -> Guard:
    """Return the guard under which a data vector is `term` for thread t."""
    if isinstance(value, Data):
        return value.equals(encoding, t, term)
    return TRUE if value[t] == term else FALSE


def possible(value: DataVector, t: int) -> Possible:
    """Return every term that a data vector may be for thread t."""
    if isinstance(value, Data):
        return value.possible(t)
    return frozenset((int(value[t]),))


def kinds(terms: Terms, value: DataVector, t: int) -> Kinds:
    """Return the operators that a data vector may be made by for thread t ('atom', 'const' too), None for any."""
    if not isinstance(value, Data):
        return frozenset((terms.nodes[value[t]][0],))
    if t not in value.known_kinds:
        values = value.possible(t)
        value.known_kinds[t] = value.kinds(terms, t) if values is None else frozenset(terms.nodes[v][0] for v in values)
    return value.known_kinds[t]


def require(value: DataVector, encoding: Encoding, t: int, term: Term, when: Guard = TRUE) -> None:
    """Require, where `when` holds, that a data vector is `term` for thread t."""
    if isinstance(value, Data):
        value.require(encoding, t, term, when)
    elif value[t] != term:
        encoding.guards.add((-when,))


def union_of(parts: Sequence[Possible]) -> Possible:
    """Return all possibilities of several values together."""
    found: set[Term] = set()
    for part in parts:
        if part is None:
            return None
        found |= part
    return frozenset(found)


def kinds_of(terms: Terms, values: Sequence[tuple[DataVector, int]]) -> Kinds:
    """Return the kinds of several values (each with its thread) together."""
    found: set[str] = set()
    for value, t in values:
        some = kinds(terms, value, t)
        if some is None:
            return None
        found |= some
    return frozenset(found)


class Selected(Data):
    """`yes` where a BOOL vector holds, else `no`."""

    def __init__(self, chosen: Vector, yes: DataVector, no: DataVector) -> None:
        super().__init__()
        self.chosen, self.yes, self.no = chosen, yes, no

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, g = encoding.guards, guard_at(self.chosen, encoding, t)
        yes = guards.both(g, equals(self.yes, encoding, t, term)) if g != FALSE else FALSE
        no = guards.both(-g, equals(self.no, encoding, t, term)) if g != TRUE else FALSE
        return guards.any((yes, no))

    def _find_possible(self, t: int) -> Possible:
        if not isinstance(self.chosen, Deferred):
            return possible(self.yes if self.chosen[t] else self.no, t)
        return union_of([possible(self.yes, t), possible(self.no, t)])

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds_of(terms, [(self.yes, t), (self.no, t)])


class Shuffled(Data):
    """What lane `source` of the warp that begins at thread `base` offers."""

    def __init__(self, value: DataVector, source: Vector, base: Lanes, width: int) -> None:
        super().__init__()
        self.value, self.source, self.base, self.width = value, source, base, width
        self._holders: dict[int, dict[Term, list[int]] | None] = {}

    def holders(self, base: int) -> dict[Term, list[int]] | None:
        """Return which lanes of a warp may offer each term, or None if some lane's terms are not enumerated."""
        if base not in self._holders:
            found: dict[Term, list[int]] | None = {}
            for lane in range(self.width):
                terms = possible(self.value, base + lane)
                if terms is None:
                    found = None
                    break
                assert found is not None
                for term in terms:
                    found.setdefault(term, []).append(lane)
            self._holders[base] = found
        return self._holders[base]

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, base = encoding.guards, int(self.base[t])
        lanes = at(self.source, encoding, t).values
        holders = self.holders(base)
        if holders is not None:
            lanes = {lane: lanes[lane] for lane in holders.get(term, ()) if lane in lanes}
        return guards.any(guards.both(g, equals(self.value, encoding, base + lane, term)) for lane, g in lanes.items())

    def _find_possible(self, t: int) -> Possible:
        holders = self.holders(int(self.base[t]))
        return None if holders is None else frozenset(holders)

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds_of(terms, [(self.value, int(self.base[t]) + lane) for lane in range(self.width)])


class Gathered(Data):
    """Another thread's value, the giver known for each thread."""

    def __init__(self, value: Data, giver: Lanes) -> None:
        super().__init__()
        self.value, self.giver = value, giver

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        return self.value.equals(encoding, int(self.giver[t]), term)

    def require(self, encoding: Encoding, t: int, term: Term, when: Guard = TRUE) -> None:
        self.value.require(encoding, int(self.giver[t]), term, when)

    def _find_possible(self, t: int) -> Possible:
        return self.value.possible(int(self.giver[t]))

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return kinds(terms, self.value, int(self.giver[t]))


class Mapped(Data):
    """An operator on data values: arithmetic, a conversion, an accumulator's final function.

    Where all operands can be enumerated, every combination is looked at. Where one cannot (an accumulator's value),
    the operator is undone: what must that operand be, given each value of the other?
    """

    def __init__(self, terms: Terms, op: str, operands: Sequence[DataVector], place: Place) -> None:
        super().__init__()
        self.terms, self.op, self.operands, self.place = terms, op, tuple(operands), place

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, found = encoding.guards, []
        for chosen in self._combinations(t, term):
            guard = TRUE
            for operand, value in zip(self.operands, chosen, strict=True):
                guard = guards.both(guard, equals(operand, encoding, t, value)) if guard != FALSE else FALSE
            found.append(guard)
        return guards.any(found)

    def require(self, encoding: Encoding, t: int, term: Term, when: Guard = TRUE) -> None:
        ways = list(self._combinations(t, term))
        if len(ways) != 1:
            super().require(encoding, t, term, when)
            return
        for operand, value in zip(self.operands, ways[0], strict=True):
            require(operand, encoding, t, value, when)

    def kinds(self, terms: Terms, t: int) -> Kinds:
        """What an operator makes of a value that cannot fold with the other operand is made by that operator."""
        sets, (position,) = self._sets(t)
        reduction = REDUCTIONS.get(self.op)
        if reduction is None:
            return frozenset((self.op,))
        known = [terms.nodes[v] for s in sets if s is not None for v in s]
        folds = {reduction.identity, reduction.annihilator} & {args[0] for op, args in known if op == "const"}
        some = kinds(terms, self.operands[position], t)
        if self.op not in ("+", "*", "^") or folds or some is None or some & {"const", self.op}:
            return None
        return frozenset((self.op,))

    def _find_possible(self, t: int) -> Possible:
        sets, positions = self._sets(t)
        if positions:
            return None
        return frozenset(self.terms.apply(self.op, c) for c in itertools.product(*(s for s in sets if s is not None)))

    def _sets(self, t: int) -> tuple[list[Possible], list[int]]:
        """Return what the operands may be, and which one of them cannot be enumerated, if any."""
        sets = [possible(o, t) for o in self.operands]
        positions = [i for i, s in enumerate(sets) if s is None]
        if len(positions) > 1 or prod(len(s) for s in sets if s is not None) > EXPANSION_LIMIT:
            raise too_many(self.place)
        return sets, positions

    def _combinations(self, t: int, term: Term) -> Iterator[tuple[Term, ...]]:
        """Yield the operands' values that give a term."""
        sets, positions = self._sets(t)
        for chosen in itertools.product(*(sorted(s) for s in sets if s is not None)):
            if positions:
                (i,) = positions
                yield from ((*chosen[:i], value, *chosen[i:]) for value in self._undo(t, i, chosen, term))
            elif self.terms.apply(self.op, chosen) == term:
                yield chosen

    def _undo(self, t: int, position: int, others: tuple[Term, ...], term: Term) -> tuple[Term, ...]:
        terms, op = self.terms, self.op
        found = undo(terms, op, others[0] if others else None, position == 1, term)
        if op in REDUCTIONS and REDUCTIONS[op].idempotent:
            some = kinds(terms, self.operands[position], t)
            found = None if some is None or some & {"const", op} else found
        if found is None:
            raise too_many(self.place)
        return found


class Number(Data):
    """A steering value that depends on holes, cast to data."""

    def __init__(self, index: Deferred, cast: Callable[[int], Term]) -> None:
        super().__init__()
        self.index, self.cast = index, cast

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        values = self.index.at(encoding, t).values
        return encoding.guards.any(g for value, g in values.items() if self.cast(value) == term)

    def _find_possible(self, t: int) -> Possible:
        return frozenset(self.cast(value) for value in self.index.reach(t))


def too_many(place: Place | None) -> SwizzleError:
    return SwizzleError(
        f"a data value depends on holes in more than {EXPANSION_LIMIT:,} ways, or on accumulators' values",
        place=place,
        expected="arithmetic on few values that depend on holes, reductions as accumulators",
        mend="accumulate the values instead of adding them up, and apply what follows in the accumulator's final=",
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """One accumulate: under `mask`, `inner(operands)` joins the multiset. `tag` says which one it was."""

    mask: Vector
    operands: tuple[DataVector, ...]
    tag: Any = None


class Reduced(Data):
    """An accumulator: a reduction by `outer` of guarded entries, each a reduction by `inner`.

    An entry that is itself a reduction by `outer` is dissolved into that one's entries.
    """

    def __init__(
        self, terms: Terms, outer: str, inner: str | None, entries: Sequence[Entry], init: Term | None, place: Place
    ) -> None:
        super().__init__()
        self.terms, self.outer, self.place, self.init = terms, outer, place, init
        self.inner = inner if any(len(e.operands) > 1 for e in entries) else None
        self.entries: tuple[Entry, ...] = ()
        self.dissolved: tuple[Entry, ...] = ()
        for entry in entries:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        only = entry.operands[0] if len(entry.operands) == 1 else None
        if not isinstance(only, Reduced) or only.outer != self.outer or only.init is not None:
            self.entries += (entry,)
            return
        if self.inner and only.inner and self.inner != only.inner:
            self.entries += (entry,)
            return
        self.inner = self.inner or only.inner

        def within(e: Entry) -> Entry:
            return Entry(conjunction(entry.mask, e.mask), e.operands, e.tag)

        self.dissolved += (entry, *map(within, only.dissolved))
        self.entries += tuple(map(within, only.entries))

    def _find_possible(self, t: int) -> Possible:
        """Enumerate what few entries may give."""
        terms, parts, total = self.terms, [], 1
        for entry in self.entries:
            sets = [possible(o, t) for o in entry.operands]
            total *= 1 + prod(len(s) if s is not None else POSSIBLE_LIMIT for s in sets)
            if total > POSSIBLE_LIMIT:
                return None
            on = reach(entry.mask, t)
            values: set[Term | None] = {None} if False in on else set()
            if True in on:
                values |= {
                    terms.apply(self.inner, chosen) if self.inner and len(chosen) > 1 else chosen[0]
                    for chosen in itertools.product(*(s for s in sets if s is not None))
                }
            parts.append(values)
        init = () if self.init is None else (self.init,)
        found = set()
        for chosen in itertools.product(*parts):
            items = (*init, *(c for c in chosen if c is not None))
            empty = not items and REDUCTIONS[self.outer].identity is None
            found.add(UNWRITTEN if empty else terms.apply(self.outer, items))
        if self.dissolved and REDUCTIONS[self.outer].identity is None:
            found.add(UNWRITTEN)
        return frozenset(found)

    def kinds(self, terms: Terms, t: int) -> Kinds:
        """A sum to which two entries always contribute, neither of them a number, is a sum."""
        if self.outer not in ("+", "^"):
            return None
        certain = 0
        for entry in self.entries:
            some = kinds_of(terms, [(o, t) for o in entry.operands])
            folding = {"const", self.inner if self.inner in ("&", "|") else "const"}
            certain += reach(entry.mask, t) == {True} and some is not None and not some & folding
        return frozenset((self.outer,)) if certain >= 2 else None

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        """Return a guard that implies equality; the solver may leave it false, which no one-way use minds."""
        if term == UNWRITTEN:
            return FALSE
        found = encoding.guards.fresh()
        self.require(encoding, t, term, found)
        return found

    def require(self, encoding: Encoding, t: int, term: Term, when: Guard = TRUE) -> None:
        guards, terms, reduction = encoding.guards, self.terms, REDUCTIONS[self.outer]
        wanted = terms.multiset(term, self.outer) if term != UNWRITTEN else Counter({UNWRITTEN: 1})
        for entry in self.dissolved:
            self._require_some(encoding, entry, t, when)
        certain, open_entries = self._split(encoding, t)
        settled = terms.apply(self.outer, certain) if certain else None
        if settled is not None and terms.is_const(settled) and terms.nodes[settled][1][0] == reduction.annihilator:
            guards.add((-when, TRUE if settled == term else FALSE))
            return
        uses: dict[Term, list[Guard]] = {item: [] for item in wanted}
        for item in () if settled is None else terms.items(settled, self.outer):
            if item in uses:
                uses[item].append(TRUE)
            else:
                guards.add((-when,))
        for entry, active in open_entries:
            if self._pairs(entry, t):
                self._use_pairs(encoding, entry, t, active, when, uses)
                continue
            fits = []
            for guard, items in self._contributions(encoding, entry, t, wanted):
                fits.append(guard)
                for item, count in items.items():
                    uses[item] += [guards.both(active, guard)] * count
            guards.add([-when, -active, *fits])
        for item, count in wanted.items():
            if reduction.idempotent:
                guards.add([-when, *uses[item]])
            else:
                guards.exactly(count, uses[item], when)

    def _split(self, encoding: Encoding, t: int) -> tuple[list[Term], list[tuple[Entry, Guard]]]:
        """Return the terms that are contributed for certain, and the other entries that may be active."""
        certain, open_entries = [] if self.init is None else [self.init], []
        for entry in self.entries:
            active = guard_at(entry.mask, encoding, t)
            encoding.active.append((entry.tag, t, active))
            if active != FALSE:
                only = self._certain(entry, t, active)
                if only is None:
                    open_entries.append((entry, active))
                else:
                    certain.append(only)
        return certain, open_entries

    def _require_some(self, encoding: Encoding, entry: Entry, t: int, when: Guard) -> None:
        """A reduction without an identity that joins another one is not empty."""
        active = guard_at(entry.mask, encoding, t)
        encoding.active.append((entry.tag, t, active))
        if REDUCTIONS[self.outer].identity is None and active != FALSE:
            (inner,) = entry.operands
            assert isinstance(inner, Reduced)
            some = [guard_at(e.mask, encoding, t) for e in inner.entries]
            encoding.guards.add((-when, -active, *some))

    def _pairs(self, entry: Entry, t: int) -> bool:
        """Say whether an entry is a product of two values that do not fold, so that its items name its factors."""
        if len(entry.operands) != 2 or self.inner == self.outer:
            return False
        return all(self._plain(operand, t) for operand in entry.operands)

    def _use_pairs(
        self, encoding: Encoding, entry: Entry, t: int, active: Guard, when: Guard, uses: dict[Term, list[Guard]]
    ) -> None:
        """Say what a product contributes: each wanted left factor calls for one of its wanted partners.

        With one partner, 'active and the left factor is a' is itself the use of the item, as it implies the partner.
        A factor that makes the product vanish frees the other one.
        """
        guards, (left, right) = encoding.guards, entry.operands
        zero = self._vanishing()
        vanishes = [FALSE if zero is None else equals(o, encoding, t, zero) for o in (left, right)]
        partners: dict[Term, list[tuple[Term, Term]]] = {}
        for item in uses:
            for a, b in self._factors(item):
                partners.setdefault(a, []).append((b, item))
        lefts = []
        for a, found in partners.items():
            is_left = equals(left, encoding, t, a)
            if is_left == FALSE:
                continue
            lefts.append(is_left)
            here = guards.both(active, is_left)
            rights = [(equals(right, encoding, t, b), item) for b, item in found]
            guards.add([-when, -here, *(g for g, _ in rights), vanishes[1]])
            implied = len(rights) == 1 and vanishes[1] == FALSE
            for g, item in rights:
                if g != FALSE:
                    uses[item].append(here if implied else guards.both(here, g))
        guards.add([-when, -active, *lefts, *vanishes])

    def _certain(self, entry: Entry, t: int, active: Guard) -> Term | None:
        """Return what an entry always contributes, if that is settled."""
        sets = [possible(o, t) for o in entry.operands]
        if active != TRUE or any(s is None or len(s) != 1 for s in sets):
            return None
        chosen = [term for s in sets if s is not None for term in s]
        return chosen[0] if len(chosen) == 1 else self.terms.apply(self.inner or "", chosen)

    def _contributions(
        self, encoding: Encoding, entry: Entry, t: int, wanted: Counter[Term]
    ) -> Iterator[tuple[Guard, Counter[Term]]]:
        """Yield what an entry may contribute without spoiling the wanted term: the guard and the items."""
        guards, operands = encoding.guards, entry.operands
        for chosen, term in self._fitting(entry, t, wanted):
            guard = TRUE
            for operand, value in zip(operands, chosen, strict=True):
                guard = guards.both(guard, equals(operand, encoding, t, value))
                if guard == FALSE:
                    break
            if guard != FALSE:
                yield guard, self.terms.multiset(term, self.outer)

    def _fitting(self, entry: Entry, t: int, wanted: Counter[Term]) -> Iterator[tuple[tuple[Term, ...], Term]]:
        """Yield the operand values whose product fits into the wanted multiset, with the product."""
        terms, operands = self.terms, entry.operands
        sets = [possible(o, t) for o in operands]
        if len(operands) == 1:
            (only,) = sets
            if only is None:
                some = kinds(terms, operands[0], t)
                if some is None or some & {"const", self.outer}:
                    raise too_many(self.place)
            for term in wanted if only is None else only:
                self._refuse_constant(term)
                if self._fits(term, wanted):
                    yield (term,), term
            return
        assert self.inner is not None
        if any(s is None for s in sets) or prod(len(s) for s in sets if s is not None) > EXPANSION_LIMIT:
            raise too_many(self.place)
        for chosen in itertools.product(*(sorted(s) for s in sets if s is not None)):
            term = terms.apply(self.inner, chosen)
            self._refuse_constant(term)
            if self._fits(term, wanted):
                yield chosen, term

    def _fits(self, term: Term, wanted: Counter[Term]) -> bool:
        if term in wanted:
            return True
        if term == UNWRITTEN:
            return False
        items = self.terms.multiset(term, self.outer)
        if REDUCTIONS[self.outer].idempotent:
            return all(item in wanted for item in items)
        return all(wanted[item] >= count for item, count in items.items())

    def _factors(self, item: Term) -> set[tuple[Term, Term]]:
        """Return the ordered pairs whose product by `inner` is an item, for values that do not fold."""
        assert self.inner is not None
        op, args = self.terms.nodes[item]
        if op == self.inner:
            found = {(args[0], args[1]), (args[1], args[0])} if len(args) == 2 else set()
        else:
            found = {(item, item)} if REDUCTIONS[self.inner].idempotent else set()
        return found

    def _plain(self, operand: DataVector, t: int) -> bool:
        """Say whether a factor folds with no other one under `inner`, but for one that makes the product vanish."""
        terms, zero, values = self.terms, self._vanishing(), possible(operand, t)
        if values is None:
            some = kinds(terms, operand, t)
            return some is not None and not some & {"const", self.inner}
        return not any((terms.is_const(v) and v != zero) or terms.nodes[v][0] == self.inner for v in values)

    def _vanishing(self) -> Term | None:
        """Return the factor that makes a product contribute nothing: 0 in a sum of products."""
        assert self.inner is not None
        zero = REDUCTIONS[self.inner].annihilator
        return self.terms.const(zero) if zero is not None and zero == REDUCTIONS[self.outer].identity else None

    def _refuse_constant(self, term: Term) -> None:
        if any(self.terms.is_const(i) for i in self.terms.items(term, self.outer)) and term != UNWRITTEN:
            raise SwizzleError(
                f"an accumulator may receive the constant {self.terms.show(term)} depending on a hole",
                place=self.place,
                expected="accumulated values that come from the input arrays",
                mend="pass the constant in as an element of a `const` array",
            )
