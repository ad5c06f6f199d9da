"""Which element an `exchange` has to bring where: worked out from the specification, before any way is chosen.

The kernel runs once on canonical terms. What the exchange gives are fresh variables; in the end each output is a term
over these, and comparing it with the specification's term says what they must be. Whoever has that among `mine`, in
every run of the exchange and in every block, is where the element comes from. Where a reduction takes several elements
in any order, they are matched in the order of the inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.specs.specification import Meaning, outputs, symbolic_inputs
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.operator_laws import Law, find_law
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.layout import cell_name
from symbolic.ir.program import DeclareArray, Expr, HoleCall, Load, Program, Stmt, Store
from symbolic.ir.walk import own_expressions, statements, subexpressions
from symbolic.machine.machine import Machine
from symbolic.machine.run import Run
from symbolic.values.vector import Vector
from templates.holes import HOME

WARP = 32
STEPS = 20_000
"""How many pairs of terms are compared for one output at most."""
Preference: TypeAlias = Literal["early", "late"] | int
"""Where what one exchange gives goes into another: the first one brings elements to the threads that want them, or
leaves them with those that have them, or else a thread takes what is not its own from the one so far away (by xor)."""
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


def sources_of(program: Program, meaning: Meaning, *, others_open: bool = False) -> Iterator[list[Sources] | NoSources]:
    """Yield what each exchange brings where, for a program whose only open holes are exchanges.

    There are several answers where what one exchange gives goes into another: either may bring an element to its place.
    `others_open` says that other holes were filled to try: outputs that have nothing of an exchange say nothing of it,
    and need not be right yet.
    """
    exchanges, terms = exchanges_of(program), meaning.terms
    machine = _Recorder(program, terms, [each.array for each in exchanges])
    run = machine.run()
    preferences: tuple[Preference, ...] = ("early",)
    if machine.chained:
        block = machine.shape.block_threads
        preferences = "early", "late", *(1 << bit for bit in range((block - 1).bit_length()))
    for preference in preferences:
        yield _sources(program, meaning, exchanges, run, _Matching(terms, machine, preference), others_open)


def _sources(
    program: Program, meaning: Meaning, exchanges: Sequence[Exchange], run: Run, matching: _Matching, others_open: bool
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
            one, none = (np.full((1, WARP, n), -1, np.int64) for n in (1, 0))
            found.append(Sources(one, none, 0, each.declared.dtype.bits))
            continue
        mine, theirs = (
            some.reshape(-1, sizes, threads).transpose(0, 2, 1)
            for some, sizes in zip(slots, (takes, gives), strict=True)
        )
        placed = _by_place(mine, theirs, WARP) or _by_place(mine, theirs, block)
        if placed is None:
            return _nowhere(mine, theirs, block, terms)
        team = WARP * len(placed[0])  # that something is wanted of
        times = int((theirs.reshape(-1, team * theirs.shape[2]) >= 0).any(axis=1).sum()) * len(placed[0])
        decided = matching.decided and placed[2] and not machine.chained
        found.append(Sources(placed[0], placed[1], times, each.declared.dtype.bits, decided))
    return found


class _Recorder(Machine):
    """The machine, with variables for what exchanges give; it keeps what they are given."""

    def __init__(self, program: Program, terms: Terms, arrays: Sequence[str]) -> None:
        super().__init__(program, Canonical(terms), symbolic_inputs(program, terms))
        self.terms = terms
        self.given: dict[str, list[list[Term]]] = {array: [] for array in arrays}
        self.asked: dict[str, int] = dict.fromkeys(arrays, 0)
        self.variables: dict[Term, tuple[str, int, int]] = {}
        """Of each variable the array, the number of the read, and the thread."""
        self._variables: dict[Term, frozenset[Term]] = {}
        self._threads: dict[Term, frozenset[int]] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        self._order: dict[str, list[bool]] = {array: [] for array in arrays}

    def execute(self, statement: Stmt, mask: Vector) -> None:
        if not isinstance(statement, Store) or statement.array not in self.given:
            super().execute(statement, mask)
            return
        value = self.data(statement.value, mask)
        assert isinstance(value, np.ndarray) and isinstance(mask, np.ndarray), "exchanges stand beside no open hole"
        self.given[statement.array].append(np.where(mask, value, UNWRITTEN).tolist())
        self._order[statement.array].append(True)

    def value(self, node: Expr, mask: Vector) -> Any:
        if not isinstance(node, Load) or node.array not in self.given:
            return super().value(node, mask)
        number, threads = self.asked[node.array], self.shape.count
        self.asked[node.array] += 1
        self._order[node.array].append(False)
        made = [self.terms.atom(node.array, number * threads + t) for t in range(threads)]
        self.variables |= {term: (node.array, number, t) for t, term in enumerate(made)}
        return np.array(made, np.int64)

    def sizes(self, array: str) -> tuple[int, int]:
        """Return how many elements an exchange takes, and how many it gives, each time."""
        if array not in self._sizes:
            order = [*self._order[array], False]
            takes = order.index(False)
            self._sizes[array] = takes, [*order[takes:-1], True].index(True)
        return self._sizes[array]

    @cached_property
    def chained(self) -> bool:
        """Whether an exchange is given what depends on what one gave."""
        given = {term for lists in self.given.values() for some in lists for term in some}
        return any(self.is_open(term) for term in given if term != UNWRITTEN)

    def time_of(self, variable: Term) -> tuple[str, int]:
        """Return which exchange gives a variable, and at which time."""
        array, number, _ = self.variables[variable]
        return array, number // self.sizes(array)[1]

    def is_open(self, term: Term) -> bool:
        """Say whether a term has such a variable in it."""
        return bool(self.variables_of(term))

    def threads_of(self, term: Term) -> frozenset[int]:
        """Return the threads whose variables a term has in it."""
        found = self._threads.get(term)
        if found is None:
            found = self._threads[term] = frozenset(self.variables[each][2] for each in self.variables_of(term))
        return found

    def variables_of(self, term: Term) -> frozenset[Term]:
        """Return the variables that a term has in it."""
        found = self._variables.get(term)
        if found is None:
            op, args = self.terms.nodes[term]
            found = frozenset({term} if term in self.variables else ())
            if not found and op not in ("atom", "const", "unwritten"):
                found = found.union(*(self.variables_of(arg) for arg in args if isinstance(arg, int)))
            self._variables[term] = found
        return found


class _Matching:
    """Finds out what variables must be, so that terms are equal.

    `bound` also has what is made of variables and goes into another exchange. Where it is open which of these is to be
    what that exchange gives, `preference` says what is tried first.
    """

    def __init__(self, terms: Terms, machine: _Recorder, preference: Preference) -> None:
        self.terms, self.machine, self.preference = terms, machine, preference
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
        return got in self.machine.variables or self.terms.nodes[got][0] == op or op == "const"

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
            fits = fits[np.lexsort((owner // WARP != thread // WARP, owner != thread))]
            number = int(held[fits[0]]) if len(fits) else None
            clear &= bool((owner == thread).any()) or len(np.unique(held[fits])) <= 1
        if number is None:
            return None
        wanted[place] = number
    warps = team // WARP
    return held.reshape(warps, WARP, -1), wanted.reshape(warps, WARP, -1), clear


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
