"""Data that is computed from data, or from a steering value that depends on holes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from math import prod
from typing import Any, TypeAlias

from symbolic.algebra.choices import CHOOSING, is_choice
from symbolic.algebra.conversions import may_keep
from symbolic.algebra.operator_laws import Law, find_law
from symbolic.algebra.orders import undo
from symbolic.algebra.tally import Held, Is, Others, Size, Tally, Unwritten
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.errors import Place
from symbolic.ir.program import FunctionName
from symbolic.values.data import (
    EXPANSION_LIMIT,
    MANY,
    SCALED,
    Data,
    DataVector,
    Kinds,
    Need,
    PossibleTerms,
    TooManyWays,
    brings,
    by_items,
    combines,
    equals,
    held,
    held_whole,
    is_natural,
    is_reduction,
    is_term,
    kinds,
    kinds_of,
    kinds_of_term,
    possible,
    require,
    sized,
    sizes,
    too_many,
    united,
)
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.vector import Deferred, Encoding

FEW = 1_500  # combinations of the operands' values, up to which they are looked at one by one
CHAIN = 96  # operations of one operator within each other, up to which each is a value of two operands
_Holding: TypeAlias = "tuple[Sequence[tuple[tuple[Term, ...], Held]], Sequence[tuple[Term, ...]] | None]"


class Mapped(Data):
    """An operator on data values: arithmetic, a conversion, an accumulator's final function.

    Where all operands can be enumerated, every combination is looked at. Where one cannot (an accumulator's value),
    the operator is undone: what must that operand be, given each value of the other?
    """

    def __init__(self, terms: Terms, op: str, operands: Sequence[DataVector], place: Place) -> None:
        super().__init__()
        self.terms, self.op, self.place = terms, op, place
        self._given = tuple(operands)
        inner = (each.depth for each in operands if isinstance(each, Mapped) and each.op == op)
        self.depth: int = 1 + max(inner, default=0)

    @cached_property
    def operands(self) -> tuple[DataVector, ...]:
        """What the operator is applied to: of a long chain of an associative one, such as what a loop adds up, all that
        it is made of, so that no question goes as deep as the chain is long."""
        if self.depth <= CHAIN or find_law(self.op) is None:
            return self._given
        found, pending = list[DataVector](), list(self._given[::-1])
        while pending:
            operand = pending.pop()
            if type(operand) is Mapped and operand.op == self.op:
                pending.extend(operand._given[::-1])
            else:
                found.append(operand)
        return tuple(found)

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        guards, found = encoding.guards, []
        for chosen in self._combinations(t, term):
            guard = TRUE
            for operand, value in zip(self.operands, chosen, strict=True):
                guard = guards.both(guard, equals(operand, encoding, t, value)) if guard != FALSE else FALSE
            found.append(guard)
        return guards.any(found)

    def _require_cases(self, encoding: Encoding, t: int, term: Term, unless: tuple[Guard, ...]) -> bool:
        ways = list(self._combinations(t, term))
        if len(ways) != 1:
            return False
        for operand, value in zip(self.operands, ways[0], strict=True):
            require(operand, encoding, t, value, unless)
        return True

    def need(self, t: int, term: Term) -> Need | None:
        try:
            ways = list(self._combinations(t, term))
        except TooManyWays:  # it is asked item by item, which says nothing of its operands
            return None
        positions = [i for i, operand in enumerate(self.operands) if possible(operand, t) is None]
        if len(ways) != 1 or not positions:
            return None
        operand = self.operands[positions[0]]
        return operand.need(t, ways[0][positions[0]]) if isinstance(operand, Data) else None

    def kinds(self, terms: Terms, t: int) -> Kinds:
        """What an operator makes of a value that cannot fold with the other operand is made by that operator."""
        law = find_law(self.op)
        if may_keep(self.op):
            some = kinds(terms, self.operands[0], t)
            return None if some is None else some | {self.op}
        if law is None:
            return CHOOSING if is_choice(self.op) else frozenset((self.op,))
        if self.by_items(t):
            return self._kinds_of_all(law, terms, t)
        sets, (position,) = self._sets(t)
        known = {v for s in sets if s is not None for v in s}
        known_kinds = frozenset[str]().union(*(kinds_of_term(terms, v) for v in known))
        folds = {law.identity, law.absorber} & {terms.nodes[v][1][0] for v in known if terms.is_const(v)}
        some = kinds(terms, self.operands[position], t)
        if self.op in ("+", "*") and known_kinds == {"const"} and not folds:  # what is no number stays none
            return None if some is None or "const" in some else some | {self.op, SCALED}
        if law.order == "set" or folds or some is None or some & {"const", self.op}:
            return None
        match law.order:
            case "parity" if some & known_kinds:
                return None  # the operands may be one term, and cancel
            case "linear" if SCALED in some or self.op in known_kinds or any(terms.scale(v)[1] <= 0 for v in known):
                return None
            case "linear" if some & known_kinds or SCALED in known_kinds:
                return frozenset((self.op, "*", SCALED))  # a multiple of one term
            case "bag" if "+" in some | known_kinds or "const" in known_kinds or SCALED in known_kinds:
                return frozenset((self.op, SCALED, *(["+"] if "+" in some else ())))
            case _:
                return frozenset((self.op,))

    # -- item by item ---------------------------------------------------------------------------------------

    def _held(self, encoding: Encoding, t: int, tally: Tally) -> Held:
        guards, operands = encoding.guards, self.operands
        if isinstance(tally, Unwritten) or (tally.op == self.op and find_law(self.op) is not None):
            return reduce(partial(tally.joined, guards), (held(o, encoding, t, tally) for o in operands))
        if tally.op == "+" and self.op == "*":
            for factor, other in (operands, operands[::-1]):
                numbers = self._numbers(factor, t)
                if numbers is not None:
                    whole = held(other, encoding, t, tally)
                    cases = [(is_term(factor, encoding, t, v), tally.scaled(whole, n)) for v, n in numbers.items()]
                    return tally.chosen(guards, cases)
        if self._few(t):
            return self._held_by_value(encoding, t, tally)
        if isinstance(tally, Is):
            return tally.once(self._is(encoding, t, tally.term))
        return held_whole(self, encoding, t, tally)

    def _numbers(self, operand: DataVector, t: int) -> dict[Term, Any] | None:
        """Return the numbers that an operand may be, None where it may be anything else."""
        values, nodes = possible(operand, t), self.terms.nodes
        if values is None or not all(self.terms.is_const(v) for v in values):
            return None
        return {v: nodes[v][1][0] for v in sorted(values)}

    def _few(self, t: int) -> bool:
        """Say whether all combinations of the operands' values are few."""
        sets = [possible(o, t) for o in self.operands]
        return prod(EXPANSION_LIMIT if s is None else len(s) for s in sets) < EXPANSION_LIMIT

    def _held_by_value(self, encoding: Encoding, t: int, tally: Tally) -> Held:
        guards, found = encoding.guards, dict[Any, list[Guard]]()
        some, others = self._that_hold(encoding, tuple(possible(o, t) or frozenset() for o in self.operands), tally)
        if others is not None:
            return tally.once(-guards.any(self._are(encoding, t, chosen) for chosen in others))
        for chosen, here in some:
            guard = self._are(encoding, t, chosen)
            for amount in here:
                found.setdefault(amount, []).append(guard)
        return {amount: guard for amount, some in found.items() if (guard := guards.any(some)) != FALSE}

    def _that_hold(self, encoding: Encoding, sets: tuple[frozenset[Term], ...], tally: Tally) -> _Holding:
        """Return the combinations of operands that hold anything, or those that hold nothing where they are fewer;
        other threads and rounds ask for the same ones."""
        key = self.op, sets, tally
        found = encoding.holding.get(key)
        if found is None:
            terms, others = self.terms, None
            if isinstance(tally, Others):
                few = self._made_by_item(sets, tally.op)
                inside = {c: term for item in (None, *tally.items) for c, term in few.get(item, ())}
                others = sorted(c for c, term in inside.items() if not tally.of(terms, term))
                some: list[tuple[tuple[Term, ...], Held]] = []
            else:
                every = (
                    self._made_of(sets)
                    if tally.about is None
                    else self._made_by_item(sets, tally.op).get(tally.about, ())
                )
                answers = ((chosen, tally.of(terms, term)) for chosen, term in every)
                some = [(chosen, here) for chosen, here in answers if here]
            found = encoding.holding[key] = some, others
        return found

    def _made_of(self, sets: tuple[frozenset[Term], ...]) -> Sequence[tuple[tuple[Term, ...], Term]]:
        """Return all combinations of operands, each with what the operator makes of it."""
        key = "made", self.op, sets
        found: list[tuple[tuple[Term, ...], Term]] | None = self.terms.of_sets.get(key)
        if found is None:
            every = itertools.product(*map(sorted, sets))
            found = self.terms.of_sets[key] = [(chosen, self.terms.apply(self.op, chosen)) for chosen in every]
        return found

    def _made_by_item(
        self, sets: tuple[frozenset[Term], ...], op: str | None
    ) -> dict[Term | None, list[tuple[tuple[Term, ...], Term]]]:
        """Return the same by what is made and, of a reduction by `op`, by its items; None are those without items."""
        key = "made by item", self.op, sets, op
        found: dict[Term | None, list[tuple[tuple[Term, ...], Term]]] | None = self.terms.of_sets.get(key)
        if found is None:
            found = self.terms.of_sets[key] = {}
            for made in self._made_of(sets):
                items = () if op is None else self.terms.multiset(made[1], op)
                alone = op is not None and all(self.terms.is_number(item, op) for item in items)
                for each in {made[1], *items, *([None] if alone else [])}:
                    found.setdefault(each, []).append(made)
        return found

    def _is(self, encoding: Encoding, t: int, term: Term) -> Guard:
        """Return the guard that the value is a term, exactly."""
        guards, terms, op = encoding.guards, self.terms, self.op
        multiple = self._is_multiple(t)
        if op == "*" and not multiple and any(possible(operand, t) is not None for operand in self.operands):
            return guards.any(self._are(encoding, t, chosen) for chosen in self._combinations(t, term))
        if find_law(op) is not None:
            return is_reduction(self, "+" if multiple else op, encoding, t, term)
        return guards.any(self._are(encoding, t, chosen) for chosen in terms.spellings(op, term))

    def _are(self, encoding: Encoding, t: int, chosen: Sequence[Term]) -> Guard:
        """Return the guard that the operands are these terms."""
        found = TRUE
        for operand, value in zip(self.operands, chosen, strict=True):
            found = encoding.guards.both(found, is_term(operand, encoding, t, value)) if found != FALSE else FALSE
        return found

    @cached_property
    def combines(self) -> bool:
        return sum(isinstance(o, Data) for o in self.operands) > 1 or any(map(combines, self.operands))

    def _find_brings(self, terms: Terms, op: str, t: int) -> frozenset[Term] | None:
        if self.op != op:
            return super()._find_brings(terms, op, t)
        return united(brings(terms, operand, op, t) for operand in self.operands)

    def sources(self, t: int) -> list[tuple[DataVector, int]]:
        return [(operand, t) for operand in self.operands]

    def _find_sizes(self, terms: Terms, t: int, size: Size) -> tuple[int, int]:
        some = [sizes(terms, operand, t, size) for operand in self.operands]
        if self.op == size.op:
            return sum(least for least, _ in some), min(MANY, sum(most for _, most in some))
        if find_law(self.op) is None and not may_keep(self.op):
            return 1, 1
        made_of = kinds_of(terms, [(operand, t) for operand in self.operands])
        multiples = {"+", SCALED} if size.by_coefficients else set()
        if self.op == "*" and size.op == "+" and made_of is not None and not made_of & {"const", *multiples}:
            return 1, 1  # a product of sums is one item, unless it is a multiple of one
        if self.op == "*" and size.op == "+" and not size.by_coefficients:
            return 0, max(1, *(most for _, most in some))  # one item, or a multiple of one of them
        if self.op == "*" and size.op == "+" and self._is_multiple(t):
            (least, most), times = some[self._multiplied(t)], self._times(t)
            return least * min(times), min(MANY, most * max(times))
        return 0, MANY

    def _needs(self, encoding: Encoding, t: int, size: Size) -> Iterator[tuple[Guard, ...]]:
        if self.op == size.op:
            limits = [sizes(self.terms, operand, t, size)[size.at_least] for operand in self.operands]
            for operand, own in zip(self.operands, limits, strict=True):
                yield (sized(operand, encoding, t, size.less(sum(limits) - own)),)
        elif self._is_multiple(t) and size.op == "+" and size.at_least and size.number > 1:
            operand, most = self.operands[self._multiplied(t)], max(self._times(t)) if size.by_coefficients else 1
            yield (sized(operand, encoding, t, replace(size, number=-(-size.number // most))) if most else FALSE,)

    def reduced_by(self, t: int) -> frozenset[str]:
        return frozenset(("+" if self._is_multiple(t) else self.op,))

    def _is_multiple(self, t: int) -> bool:
        """Say whether the value is a number times another one."""
        return self.op == "*" and any(self._numbers(operand, t) is not None for operand in self.operands)

    def _multiplied(self, t: int) -> int:
        """Return which operand of a multiple is multiplied."""
        return int(self._numbers(self.operands[0], t) is not None)

    def _times(self, t: int) -> list[int]:
        """Return the natural numbers by which a value is multiplied."""
        return list((self._numbers(self.operands[1 - self._multiplied(t)], t) or {}).values())

    def _is_by_items(self, t: int) -> bool:
        if any(by_items(operand, t) for operand in self.operands):
            return True
        sets = [possible(o, t) for o in self.operands]
        several = [s for s in sets if s is None or len(s) > 1]
        return len(several) > 1 and prod(EXPANSION_LIMIT if s is None else len(s) for s in several) > FEW

    def _is_natural(self, terms: Terms, t: int) -> bool:
        keeps = find_law(self.op) is not None or may_keep(self.op)
        return not keeps or super()._is_natural(terms, t)

    # -- all that it may be ---------------------------------------------------------------------------------

    def _kinds_of_all(self, law: Law, terms: Terms, t: int) -> Kinds:
        """What the operator makes of operands that are none of them told apart."""
        some = kinds_of(terms, [(operand, t) for operand in self.operands])
        if some is None or "const" in some:
            return None
        match law.order:
            case "set":
                return some | {self.op}
            case "linear" if self.natural(terms, t):
                return frozenset((self.op, "*", SCALED))
            case "bag":
                return frozenset((self.op, *((SCALED,) if some & {"+", SCALED} else ())))
            case _:
                return None

    def _find_possible(self, t: int) -> PossibleTerms:
        sets = [possible(o, t) for o in self.operands]
        known = [s for s in sets if s is not None]
        if len(known) < len(sets) or prod(map(len, known)) > EXPANSION_LIMIT or self.by_items(t):
            return None
        key = self.op, *known
        found: PossibleTerms = self.terms.of_sets.get(key)
        if found is None:
            every = (self.terms.apply(self.op, chosen) for chosen in itertools.product(*known))
            found = self.terms.of_sets[key] = frozenset(every)
        return found

    def _sets(self, t: int) -> tuple[list[PossibleTerms], list[int]]:
        """Return what the operands may be, and which one of them cannot be enumerated, if any."""
        sets = [possible(o, t) for o in self.operands]
        positions = [i for i, s in enumerate(sets) if s is None]
        if len(positions) > 1 or prod(len(s) for s in sets if s is not None) > EXPANSION_LIMIT:
            raise too_many(self.place)
        return sets, positions

    def _combinations(self, t: int, term: Term) -> Iterator[tuple[Term, ...]]:
        """Yield the operands' values that give a term."""
        if isinstance(self.op, FunctionName) and term != UNWRITTEN:  # equal arguments are all that is known of it
            yield from self.terms.spellings(self.op, term)
            return
        sets, positions = self._sets(t)
        for chosen in itertools.product(*(sorted(s) for s in sets if s is not None)):
            if positions:
                (i,) = positions
                yield from ((*chosen[:i], value, *chosen[i:]) for value in self._undo(t, i, chosen, term))
            elif self.terms.apply(self.op, chosen) == term:
                yield chosen

    def _undo(self, t: int, position: int, others: tuple[Term, ...], term: Term) -> tuple[Term, ...]:
        terms, op = self.terms, self.op
        key = "undone", op, others, position, term
        if key not in terms.of_sets and len(others) > 1:  # first what stands behind, then what stands before
            before, behind = others[:position], others[position:]
            left = undo(terms, op, terms.apply(op, behind), False, term) if behind else (term,)
            other = terms.apply(op, before) if before else None
            ways = [(each,) if other is None else undo(terms, op, other, True, each) for each in left or ()]
            unknown = left is None or None in ways
            terms.of_sets[key] = None if unknown else tuple(dict.fromkeys(x for way in ways for x in way or ()))
        elif key not in terms.of_sets:
            terms.of_sets[key] = undo(terms, op, others[0] if others else None, position == 1, term)
        found: tuple[Term, ...] | None = terms.of_sets[key]
        law = find_law(op)
        if law is not None and law.idempotent:
            some = kinds(terms, self.operands[position], t)
            found = None if some is None or some & {"const", op} else found
        if found is None:
            raise too_many(self.place)
        return found


class StateOf(Mapped):
    """A state whose words are all computed from the same values: one function of those values.

    Asked word by word, the words would be chosen one apart from the other: 8 elements that four words may be of give
    4,096 combinations, where only 8 states are possible.
    """

    def __init__(self, terms: Terms, op: str, words: Sequence[DataVector], place: Place) -> None:
        leaves = dict[DataVector, None]()
        self.words = tuple(words)
        for word in words:
            _note_leaves(word, leaves)
        super().__init__(terms, op, tuple(leaves), place)

    def _states(self, t: int) -> dict[Term, list[tuple[Term, ...]]]:
        """Return the states that there may be, each with the values that give it; empty where those are too many."""
        sets = [possible(leaf, t) for leaf in self.operands]
        known = [s for s in sets if s is not None]
        if len(known) < len(sets) or prod(map(len, known)) > EXPANSION_LIMIT:
            return {}
        key = "states", self.op, tuple(_shape(word, self.operands, t) for word in self.words), *known
        found: dict[Term, list[tuple[Term, ...]]] | None = self.terms.of_sets.get(key)
        if found is None:
            found = self.terms.of_sets[key] = {}
            for chosen in itertools.product(*map(sorted, known)):
                values = dict(zip(self.operands, chosen, strict=True))
                words = [_value(self.terms, word, values, t) for word in self.words]
                found.setdefault(self.terms.apply(self.op, words), []).append(chosen)
        return found

    def _find_possible(self, t: int) -> PossibleTerms:
        return frozenset(self._states(t)) or None

    def _few(self, t: int) -> bool:
        return False

    def _combinations(self, t: int, term: Term) -> Iterator[tuple[Term, ...]]:
        yield from self._states(t).get(term, ())

    def _is(self, encoding: Encoding, t: int, term: Term) -> Guard:
        return encoding.guards.any(self._are(encoding, t, chosen) for chosen in self._combinations(t, term))


def state_of(terms: Terms, op: str, words: Sequence[DataVector], threads: int, place: Place) -> Mapped:
    """Return the state that threads make of words, as one function of what the words depend on where that is little."""
    whole = StateOf(terms, op, words, place)
    if all(whole.possible(t) is not None for t in range(threads)):
        return whole
    by_words = Mapped(terms, op, words, place)
    terms.states.open |= any(by_words.possible(t) is None for t in range(threads))
    return by_words


def _note_leaves(value: DataVector, leaves: dict[DataVector, None]) -> None:
    """Note the values under a tree of operators that depend on holes and are not computed themselves."""
    if type(value) is Mapped:
        for operand in value.operands:
            _note_leaves(operand, leaves)
    elif isinstance(value, Data):
        leaves[value] = None


def _shape(value: DataVector, leaves: Sequence[DataVector], t: int) -> Any:
    """Return a tree of operators of thread t: operators, places of leaves, and terms."""
    if type(value) is Mapped:
        return value.op, *(_shape(operand, leaves, t) for operand in value.operands)
    return ("leaf", leaves.index(value)) if isinstance(value, Data) else int(value[t])


def _value(terms: Terms, value: DataVector, leaves: dict[DataVector, Term], t: int) -> Term:
    """Return what a tree of operators is of values of its leaves."""
    if type(value) is Mapped:
        return terms.apply(value.op, [_value(terms, operand, leaves, t) for operand in value.operands])
    return leaves[value] if isinstance(value, Data) else int(value[t])


class WordOf(Mapped):
    """A word of a state: it may be whatever the state was made of, of which nothing is known.

    Of states that are made of words that depend on holes, all are in the table of terms, or else `States.open` holds.
    """

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        encoding.narrowed |= self.terms.states.open
        return super()._equals(encoding, t, term)

    def _is(self, encoding: Encoding, t: int, term: Term) -> Guard:
        encoding.narrowed |= self.terms.states.open
        return super()._is(encoding, t, term)

    def kinds(self, terms: Terms, t: int) -> Kinds:
        return None

    def reduced_by(self, t: int) -> frozenset[str]:
        return frozenset()

    def _find_sizes(self, terms: Terms, t: int, size: Size) -> tuple[int, int]:
        return 0, MANY

    def _is_natural(self, terms: Terms, t: int) -> bool:
        return False


class CastIndex(Data):
    """A steering value that depends on holes, cast to data."""

    def __init__(self, index: Deferred, cast: Callable[[int], Term]) -> None:
        super().__init__()
        self.index, self.cast = index, cast

    def _equals(self, encoding: Encoding, t: int, term: Term) -> Guard:
        values = self.index.at(encoding, t).values
        return encoding.guards.any(g for value, g in values.items() if self.cast(value) == term)

    def _held(self, encoding: Encoding, t: int, tally: Tally) -> Held:
        values = self.index.at(encoding, t).values
        cases = [(g, tally.of(encoding.terms, self.cast(value))) for value, g in values.items()]
        return tally.chosen(encoding.guards, cases)

    @cached_property
    def combines(self) -> bool:
        return False

    def sources(self, t: int) -> list[tuple[DataVector, int]]:
        return []

    def _is_natural(self, terms: Terms, t: int) -> bool:
        return all(is_natural(terms, self.cast(value)) for value in self.index.reach(t))

    def _find_possible(self, t: int) -> PossibleTerms:
        return frozenset(self.cast(value) for value in self.index.reach(t))
