"""What variables must be, so that a kernel's terms are those of its specification.

Where a reduction takes several elements in any order, they are matched in the order of the inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from swizzle.solving.homes.recorder import ChosenRead, Recorder
from symbolic.algebra.operator_laws import Law, find_law
from symbolic.algebra.terms import UNWRITTEN, Term, Terms

STEPS = 20_000
"""How many pairs of terms are compared for one output at most."""
MOST_LINES = 1 << 15
Preference: TypeAlias = Literal["early", "late"] | int
"""Where what one exchange gives goes into another: the first one brings elements to the threads that want them, or
leaves them with those that have them, or else a thread takes what is not its own from the one so far away (by xor)."""


class Matching:
    """Finds out what variables must be, so that terms are equal.

    `bound` also has what is made of variables and goes into another exchange. Where it is open which of these is to be
    what that exchange gives, `preference` says what is tried first. `by_lines`: other holes read what a function
    (a * i + b * k + c) % size says.
    """

    def __init__(self, terms: Terms, machine: Recorder, preference: Preference, by_lines: bool) -> None:
        self.terms, self.machine, self.preference, self.by_lines = terms, machine, preference, by_lines
        self.bound: dict[Term, Term] = {}
        self.steps, self.decided = 0, True
        block = machine.shape.block_threads
        self._there: dict[tuple[str, int, int], dict[Term, set[tuple[int, int]]]] = {}
        self._places: dict[tuple[str, int, int], set[tuple[int, int]]] = {}
        """Of each read by a thread of the block, the slots and threads from which it is each time, so far."""
        self._parts: dict[tuple[int, object], bool] = {}
        self._opens: dict[int, list[tuple[Term, int, int]]] = {}
        self._block = block

    def bound_of(self, array: str) -> list[list[Term]]:
        """Return what each read of an exchange must give to each thread, -1 where that is of no matter."""
        found = [[-1] * self.machine.shape.count for _ in range(self.machine.asked[array])]
        for term, (name, number, thread) in self.machine.variables.items():
            if name == array:
                found[number][thread] = self.bound.get(term, -1)
        return found

    def given_to(self, array: str) -> list[list[Term]]:
        """Return what each thread gives to an exchange each time; UNWRITTEN where nobody wants it."""
        return [
            [self.bound.get(term, UNWRITTEN) if self.machine.is_open(term) else term for term in some]
            for some in self.machine.given[array]
        ]

    def equal(self, got: Term, wanted: Term) -> bool:
        """Make a term equal to another one, which has no variables; return False, and change nothing, if it fails."""
        self.steps, before = 0, len(self.bound)
        done = self._equal([(got, wanted)])
        for variable in list(self.bound)[before:]:
            if variable not in self.machine.variables:
                continue
            read, where = self._read_of(variable), self._where(variable).get(self.bound[variable])
            if where is None:  # it is what another exchange gave
                continue
            self._places[read] = self._places.get(read, where) & where
        return done

    def _equal(self, left: list[tuple[Term, Term]]) -> bool:
        """Make all pairs equal, the last first."""
        trail: list[Term] = []
        pairs = list(left)
        while pairs:
            got, wanted = pairs.pop()
            if got == wanted:
                continue
            self.steps += 1
            fits, more = self._step(got, wanted, trail)
            if fits and more is None:
                some = self._of_another if got in self.machine.variables else self._any_order
                if some(got, wanted, pairs):
                    return True
                fits = False
            if not fits or self.steps > STEPS:
                for term in trail:
                    del self.bound[term]
                return False
            pairs += more or ()
        return True

    def _step(self, got: Term, wanted: Term, trail: list[Term]) -> tuple[bool, list[tuple[Term, Term]] | None]:
        """Say whether two terms may be equal, and what must be equal then; None where that is to be tried."""
        nodes = self.terms.nodes
        if got in self.bound:
            return self.bound[got] == wanted, []
        if got in self.machine.chosen:
            fits = wanted in self.machine.chosen[got].elements
            if fits:
                self.bound[got] = wanted
                trail.append(got)
            return fits and (not self.by_lines or self._is_line(self.machine.chosen[got])), []
        if got in self.machine.variables:
            open_terms = self._open_of(got)
            known = any(self.bound.get(term) == wanted for term, _, _ in open_terms) and not self._has_room(
                got, open_terms
            )
            if known or wanted in self._among_mine(got):
                self.bound[got] = wanted
                trail.append(got)
                return True, []
            return bool(open_terms), None if open_terms else []
        (op, args), (other, others) = nodes[got], nodes[wanted]
        law = find_law(op)
        if law is not None and law.commutes:
            return self.machine.is_open(got), None
        if op != other or not self.machine.is_open(got) or len(args) != len(others):
            return False, []
        pairs = [(a, b) for a, b in zip(args, others, strict=True) if isinstance(a, int) and isinstance(b, int)]
        fits = len(pairs) == len(args) or all(
            a == b for a, b in zip(args, others, strict=True) if not isinstance(a, int)
        )
        return fits, pairs[::-1]

    def _is_line(self, reading: ChosenRead) -> bool:
        """Say whether what a hole reads, as far as is known, is (a * i + b * k + c) % size of its arguments."""
        count, size = len(reading.arguments), reading.size
        if not size or size ** (count + 1) > MOST_LINES:
            return True
        *factors, line = np.indices((size,) * (count + 1), np.int64)
        fits = np.ones(line.shape, np.bool_)
        for term, each in self.machine.chosen.items():
            if each.hole == reading.hole and term in self.bound:
                said = sum((factor * n for factor, n in zip(factors, each.arguments, strict=True)), line)
                fits &= said % size == each.elements[self.bound[term]]
        return bool(fits.any())

    def _of_another(self, got: Term, wanted: Term, then: list[tuple[Term, Term]]) -> bool:
        """Make a variable equal to a term by what another exchange gave to some thread, and then the other pairs."""
        for term, _, _ in sorted(self._open_of(got), key=partial(self._by_preference, got, wanted)):
            if self.steps > STEPS:
                return False
            known = dict(self.bound)
            if self._equal([(term, wanted)]):
                self.bound[term] = self.bound[got] = wanted
                if self._equal(then):
                    return True
            self.bound = known
        return False

    def _has_room(self, got: Term, others: Sequence[tuple[Term, int, int]]) -> bool:
        """Say whether a thread is to be brought what a variable is early, and may be: it has a place for it."""
        thread = self.machine.variables[got][2] % self._block
        return self.preference == "early" and any(
            other == thread and term in self.machine.variables and term not in self.bound for term, _, other in others
        )

    def _by_preference(self, got: Term, wanted: Term, given: tuple[Term, int, int]) -> tuple[Any, ...]:
        """Sort what other exchanges gave: by the preference, then what is known, then what is near."""
        term, slot, other = given
        array, number, thread = self.machine.variables[got]
        thread %= self._block
        match self.preference:
            case "early":
                first: tuple[int, ...] = (other != thread,)
            case "late":
                first = (
                    -self._held_before(
                        term, wanted, other + self.machine.variables[got][2] // self._block * self._block
                    ),
                )
            case distance:
                first = other != thread, other ^ thread != distance
        unknown = not self.machine.variables_of(term) <= self.bound.keys()
        place = number % self.machine.sizes(array)[1]
        return *first, unknown, other ^ thread, slot != place, slot

    def _held_before(self, term: Term, wanted: Term, thread: int) -> int:
        """Return how many parts of a term a thread has among what it gives to the exchanges of another term."""
        parts, stack = set[Term](), [wanted]
        while stack:
            part = stack.pop()
            op, args = self.terms.nodes[part]
            if part not in parts and op != "const":
                parts.add(part)
                stack += [arg for arg in args if isinstance(arg, int)] if op != "atom" else []
        count = 0
        for array, time in {self.machine.time_of(each) for each in self.machine.variables_of(term)}:
            takes = self.machine.sizes(array)[0]
            count += sum(some[thread] in parts for some in self.machine.given[array][time * takes : (time + 1) * takes])
        return count

    def _any_order(self, got: Term, wanted: Term, then: list[tuple[Term, Term]]) -> bool:
        """Make a reduction equal to a term in some order of its items, and then the other pairs."""
        op, items = self.terms.nodes[got]
        law = find_law(op)
        assert law is not None
        own, args = self.terms.nodes[wanted]
        if own == "const" and args[0] == law.absorber:  # one item will do: 0, for a product
            some = [item for item in items if item in self.machine.variables]
            return any(self._then(item, wanted, [], [], then) for item in some)
        return any(
            self._in_order(op, list(items), others, then) for others in self._items_of(wanted, op, law, len(items))
        )

    def _items_of(self, wanted: Term, op: object, law: Law, count: int) -> Iterator[list[Term]]:
        """Yield a term as so many items of a reduction: with what changes nothing, or items again, to fill it up."""
        own, args = self.terms.nodes[wanted]
        empty = own == "const" and args[0] == law.identity
        plain: list[Term] = list(args) if own == op else [] if empty else [wanted]
        readings = [plain]
        if law.order == "linear":  # 2 * x is x and x
            apart = [term for item in plain for term in self._apart(item, count)]
            readings += [apart] if apart != plain else []
        for some in readings:
            if len(some) < count and law.identity is not None:
                yield some + [self.terms.const(law.identity)] * (count - len(some))
            if len(some) < count and law.idempotent and some:
                yield [some[n % len(some)] for n in range(count)]
            if len(some) == count:
                yield list(some)

    def _apart(self, item: Term, count: int) -> list[Term]:
        """Return a multiple of a term as that term so many times, at most `count` times."""
        own, args = self.terms.nodes[item]
        if own == "*" and len(args) == 2:
            for factor, term in (args, args[::-1]):
                node = self.terms.nodes[factor]
                if node[0] == "const" and node[1][0] in range(2, count + 1):
                    return [term] * int(node[1][0])
        return [item]

    def _in_order(self, op: object, items: list[Term], others: list[Term], then: list[tuple[Term, Term]]) -> bool:
        """Make items equal to others in some order, and then the other pairs."""
        for item in list(items):
            if not self.machine.is_open(item):
                if item not in others:
                    return False
                items.remove(item)
                others.remove(item)
        if len(items) > 1 and len(frozenset[int]().union(*map(self.machine.threads_of, items))) > 1:
            self.decided = False
        if len(items) > 1 and any(self._takes_parts(item, op) for item in items):
            self.decided = False
        items.sort(key=self._complexity)
        others.sort(key=self.terms.reading_order)
        return self._in_some_order(items, others, then)

    def _in_some_order(self, items: list[Term], others: list[Term], then: list[tuple[Term, Term]]) -> bool:
        if not items:
            return self._equal(then)
        first, *rest = items
        for other in sorted(dict.fromkeys(others), key=lambda other: not self._fits_others(first, other)):
            if self.steps > STEPS:
                return False
            left = list(others)
            left.remove(other)
            if self._is_like(first, other) and self._then(first, other, rest, left, then):
                return True
        return False

    def _then(
        self, first: Term, other: Term, rest: list[Term], left: list[Term], then: list[tuple[Term, Term]]
    ) -> bool:
        known = dict(self.bound)
        if self._equal([(first, other)]) and self._in_some_order(rest, left, then):
            return True
        self.bound = known
        return False

    def _is_like(self, got: Term, wanted: Term) -> bool:
        op = self.terms.nodes[wanted][0]
        known = got in self.machine.variables or got in self.machine.chosen
        return known or self.terms.nodes[got][0] == op or op == "const"

    def _takes_parts(self, item: Term, op: object) -> bool:
        """Say whether, by what is in `mine`, an item may be a reduction itself, a multiple, or what changes nothing."""
        nodes = self.terms.nodes
        inner = [item, *(term for term in nodes[item][1] if nodes[item][0] == "*")]
        return any(self._has_parts(each, op) for each in inner if each in self.machine.variables)

    def _has_parts(self, variable: Term, op: object) -> bool:
        where, nodes = self._where(variable), self.terms.nodes
        key = id(where), op  # `where` is kept
        if key not in self._parts:
            self._parts[key] = any(nodes[term][0] in (op, "*", "const") for term in where)
        return self._parts[key]

    def _fits_others(self, variable: Term, term: Term) -> bool:
        """Say whether a term is where the same read of another block, or time, is from."""
        if variable not in self.machine.variables:
            return True
        known = self._places.get(self._read_of(variable))
        return known is None or not known.isdisjoint(self._where(variable).get(term, ()))

    def _read_of(self, variable: Term) -> tuple[str, int, int]:
        array, number, thread = self.machine.variables[variable]
        return array, number % self.machine.sizes(array)[1], thread % self._block

    def order(self, got: Term, wanted: Term) -> tuple[bool, bool, bool]:
        """Sort what is just a variable first, those last of them whose exchange takes what others gave; and at the very
        end what has fewer items than another block may have."""
        nodes, alone = self.terms.nodes, got in self.machine.variables
        return not alone, alone and self._takes_open(got), len(nodes[got][1]) != len(nodes[wanted][1])

    def _complexity(self, term: Term) -> tuple[bool, object]:
        """Sort what has parts before what is a variable, which anything may be; those by their order in the kernel."""
        return (term in self.machine.variables, self.machine.variables.get(term, ("", 0, term)))

    def _among_mine(self, variable: Term) -> Collection[Term]:
        """Return what some thread of the block has, when a variable's exchange runs."""
        return self._where(variable).keys()

    def _where(self, variable: Term) -> dict[Term, set[tuple[int, int]]]:
        """Return the same, with the slots and the threads that have it."""
        array, number, thread = self.machine.variables[variable]
        takes, gives = self.machine.sizes(array)
        time, block = number // gives, thread // self._block
        found = self._there.get((array, time, block))
        if found is None:
            own = slice(block * self._block, (block + 1) * self._block)
            lists = self.machine.given[array][time * takes : (time + 1) * takes]
            found = self._there[array, time, block] = {}
            for slot, some in enumerate(lists):
                for t, term in enumerate(some[own]):
                    found.setdefault(term, set()).add((slot, t))
            found.pop(UNWRITTEN, None)
        return found

    def _open_of(self, variable: Term) -> list[tuple[Term, int, int]]:
        """Return what threads of the block have of other exchanges, when a variable's exchange runs: the term, the
        slot, and the thread in the block."""
        where = self._where(variable)
        if id(where) not in self._opens:  # `where` is kept
            self._opens[id(where)] = [
                (term, slot, thread)
                for term, places in where.items() if self.machine.is_open(term)
                for slot, thread in sorted(places)[:1]
            ]  # fmt: skip
        return self._opens[id(where)]

    def is_decided(self, got: Term) -> bool:
        """Say whether an output is just what an exchange gives, or nothing of it: no other exchange makes it right.

        Such outputs are compared before all others.
        """
        if got in self.machine.variables and got not in self.bound:
            return not self._takes_open(got)
        if got in self.machine.variables:  # where exchanges are chained, it may have been a choice
            return not self.machine.chained
        return not self.machine.is_open(got)

    def _takes_open(self, variable: Term) -> bool:
        """Say whether some of what its exchange is given comes of an exchange, so that it is not known."""
        return self.machine.chained and any(self.machine.is_open(term) for term in self._among_mine(variable))

    def why(self, got: Term, wanted: Term) -> str:
        """Say why an output cannot be what the specification says."""
        says = f"the specification says {self.terms.show(wanted)}"
        if not self.machine.is_open(got):
            return f"{self.terms.show(got)}, whatever is exchanged; {says}"
        if got in self.machine.variables and got in self.bound:
            return f"what has to be {self.terms.show(self.bound[got])} somewhere else; {says}"
        if got in self.machine.variables and self._takes_open(got):
            return (
                f"what an exchange gives of elements that another one gave; {says}, which no way that was tried brings"
            )
        if got in self.machine.variables:
            return f"what the exchange gives; {says}, which no thread of its block has in `mine`"
        return f"not comparable term by term with what {says}"
