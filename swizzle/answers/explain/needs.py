"""Why one output cannot be produced whatever the holes are: inputs that never reach it, or too few accumulates.

What a value may be is over-approximated (`symbolic.values.data.possible`), so whatever is called impossible here really
is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final, TypeAlias

from msgspec import Struct

from swizzle.answers.explain.explanation import PartNames, atoms_of, listing
from swizzle.solving.problem.problem import Output, Problem
from swizzle.solving.solution.in_words import count
from symbolic.algebra.operator_laws import law_of
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.index import cell_name
from symbolic.machine.accumulators import Reduced
from symbolic.machine.contributions import EntriesOf, Entry
from symbolic.machine.memory import Read
from symbolic.values.data import DataVector, possible
from symbolic.values.mapped import Mapped
from symbolic.values.moved import Gathered, Selected, Shuffled
from symbolic.values.vector import reach

MOST_PRODUCTS: Final = 20_000
"""Products of an accumulate's operands that are looked at."""


def reasons(problem: Problem, names: PartNames, output: Output) -> list[str]:
    """Say why an output can never be what it should be; empty if no simple reason is found."""
    whatever = ", whatever the holes are" if problem.program.holes else ""
    memory, seen = problem.run.memories[output.array], problem.finals[output.array]
    if output.term == UNWRITTEN:
        return []
    sources = list(memory.sources(seen, output.address))
    if not sources:
        return ["no thread ever stores to it"]
    if len(sources) == 1:
        ((value, t),) = sources
        known = possible(value, t)
        if known is not None and len(known) == 1 and output.term not in known:
            never = never_written(problem, output)
            said = f"made of {listing(never, 3)}, never written before" if never else names.term(next(iter(known)))
            return [f"it is {said}{whatever}"]
    few = problem.too_few(output)
    if few is not None:
        return [f"it is made of {few[0]} elements; {few[1]} at most are put together{whatever}"]
    return (
        _missing(problem, names, output, sources)
        or _accumulates(problem, names, output, sources)
        or _never(names, output, sources)
    )


# ---- what never reaches an output ------------------------------------------------------------------------------


def other_shape(problem: Problem, output: Output) -> tuple[str, ...]:
    """Say that an output is computed otherwise than specified, if its inputs reach it and it is no plain reduction."""
    terms, known = problem.terms, AtomsOf()
    sources = problem.run.memories[output.array].sources(problem.finals[output.array], output.address)
    reached = [reachable_atoms(terms, value, t, known) for value, t in sources]
    parts = [part for part in terms.nodes[output.term][1] if isinstance(part, int)]
    if None in reached or all(terms.nodes[part][0] in ("atom", "const") for part in parts):
        return ()
    return (
        "its inputs reach it, but the kernel's statements make no term of this shape of them; if the numbers are "
        "right, write the specification as the kernel computes it (docs/solving.md)",
    )


def _missing(
    problem: Problem, names: PartNames, output: Output, sources: Sequence[tuple[DataVector, int]]
) -> list[str]:
    terms = problem.terms
    reachable: set[Term] = set()
    known: AtomsOf = {}
    for value, t in sources:
        some = reachable_atoms(terms, value, t, known)
        if some is None:
            return []
        reachable |= some
    missing = sorted(atoms_of(terms, output.term) - reachable)
    if not missing:
        return []
    arrays = {terms.nodes[atom][1][0] for atom in missing}
    alike = [atom for atom in reachable if terms.nodes[atom][1][0] in arrays]
    only = f"only {names.atoms(alike)} can reach it" if alike else "no element of that array can reach it"
    lines = [f"it needs {names.atoms(missing)}; whatever the holes are, {only}"]
    held = _holders(problem, names, missing[0])
    if held:
        lines.append(f"{names.atoms(missing[:1])} is held by {held}")
    return lines


AtomsOf: TypeAlias = dict[tuple[int, int], tuple[DataVector, frozenset[Term] | None]]
"""What is known of values, by the ids of their vectors (which are kept, so that no id is used again), in threads."""


def reachable_atoms(terms: Terms, value: DataVector, t: int, known: AtomsOf) -> frozenset[Term] | None:
    """Return the input elements on which thread t's value may depend; None if that is not known."""
    key = id(value), t
    if key not in known:
        known[key] = value, _reachable_atoms(terms, value, t, known)
    return known[key][1]


def _reachable_atoms(terms: Terms, value: DataVector, t: int, known: AtomsOf) -> frozenset[Term] | None:
    some = possible(value, t)
    if some is not None:
        return atoms_of(terms, *some)
    parts = _parts(value, t)
    if parts is None:
        return None
    found: set[Term] = set()
    for part, u in parts:
        held = reachable_atoms(terms, part, u, known)
        if held is None:
            return None
        found |= held
    return frozenset(found)


def _parts(value: DataVector, t: int) -> list[tuple[DataVector, int]] | None:
    """Return what thread t's value may be made of, each with its thread; None if that is not known."""
    match value:
        case Reduced():
            return [(o, t) for e in value.entries for o in e.operands]
        case Mapped():
            return [(o, t) for o in value.operands]
        case Selected():
            return [(value.yes, t), (value.no, t)]
        case Gathered():
            return [(value.value, int(value.giver[t]))]
        case Shuffled():
            base = int(value.base[t])
            return [(value.value, base + lane) for lane in range(value.width)]
        case Read():
            return [s for a in reach(value.address, t) for s in value.memory.sources(value.seen, a)]
        case _:
            return None


def never_written(problem: Problem, output: Output) -> list[str]:
    """Return the cells, none of them written, one of which goes into an output whatever the holes are; or none."""
    sources = list(problem.run.memories[output.array].sources(problem.finals[output.array], output.address))
    return _never_written(*sources[0]) if len(sources) == 1 else []


def _never_written(value: DataVector, t: int) -> list[str]:
    if possible(value, t) != frozenset((UNWRITTEN,)):
        return []
    parts = _parts(value, t)
    if isinstance(value, Read) and not parts:
        memory, cells = value.memory, sorted(reach(value.address, t))
        return [cell_name(memory.name, memory.shape, a % memory.cells) for a in cells if a >= 0]
    return next((found for part, u in parts or () if (found := _never_written(part, u))), [])


def _holders(problem: Problem, names: PartNames, atom: Term) -> str:
    """Say which registers and shared cells hold an input element."""
    found = []
    inputs = {p.name for p in problem.program.parameters}
    for name, memory in problem.run.memories.items():
        if name in inputs:
            continue
        for address in memory.snapshot().places.get(atom, ())[:2]:
            cell = cell_name(name, memory.shape, address % memory.cells)
            threads = memory.sharers(address)
            shared = len(threads) > 1
            owner = f"block {threads[0] // problem.run.shape.block_threads}" if shared else names.thread(threads[0])
            found.append(f"{cell} of {owner}")
    return listing(found, 3)


def _never(names: PartNames, output: Output, sources: Sequence[tuple[DataVector, int]]) -> list[str]:
    """A value whose possibilities are all known, and the wanted term is none of them."""
    found: set[Term] = set()
    for value, t in sources:
        known = possible(value, t)
        if known is None:
            return []
        found |= known
    if output.term in found or not found:
        return []
    texts = [names.term(term) for term in sorted(found - {UNWRITTEN})]
    return [f"whatever the holes are, what is stored there is one of {listing(texts)}"]


# ---- accumulates -----------------------------------------------------------------------------------------------


class PossibleContribution(Struct, frozen=True):
    """What one accumulate may contribute to one output: which of the output's items, and whether it always runs."""

    entry: Entry
    items: frozenset[Term]
    always: bool


def _accumulates(
    problem: Problem, names: PartNames, output: Output, sources: Sequence[tuple[DataVector, int]]
) -> list[str]:
    if len(sources) != 1 or not isinstance(sources[0][0], Reduced):
        return []
    value, t = sources[0]
    assert isinstance(value, Reduced)
    terms = problem.terms
    wanted = terms.multiset(output.term, value.outer)
    if value.init is not None or value.dissolved or any(terms.is_const(item) for item in wanted):
        return []
    if any(not isinstance(number, int) or number < 1 for number in wanted.values()):
        return []
    uses = list(_uses(terms, value, t, wanted))
    if len(uses) != sum(1 for e in value.entries if True in reach(e.mask, t)):
        return []
    items = sorted(wanted.elements())
    few = deficient({n: [u for u, use in enumerate(uses) if item in use.items] for n, item in enumerate(items)})
    if few:
        return _too_few(names, [items[n] for n in few], [use for use in uses if use.items & {items[n] for n in few}])
    if value.order.spare(EntriesOf(value.contributions, t), wanted):
        idle = []
    elif law_of(value.outer).idempotent:
        idle = [u for u, use in enumerate(uses) if use.always and not use.items][:1]
    else:
        sure = [u for u, use in enumerate(uses) if use.always]
        idle = deficient({u: [n for n, item in enumerate(items) if item in uses[u].items] for u in sure})
    return _too_many(names, [uses[u] for u in idle], items) if idle else []


def _uses(terms: Terms, value: Reduced, t: int, wanted: Mapping[Term, int]) -> Iterator[PossibleContribution]:
    """Yield what each accumulate may contribute, if that is one item at a time."""
    for entry in value.entries:
        on = reach(entry.mask, t)
        if True not in on:
            continue
        sets = [possible(o, t) for o in entry.operands]
        known: list[frozenset[Term]] = [s for s in sets if s is not None]
        if len(known) < len(sets) or prod(map(len, known)) > MOST_PRODUCTS:
            return
        if len(known) == 1:
            given = known[0]
        else:
            assert value.inner is not None
            given = frozenset(terms.apply(value.inner, chosen) for chosen in itertools.product(*known))
        if any(terms.multiset(term, value.outer) != {term: 1} or terms.is_const(term) for term in given - {UNWRITTEN}):
            return
        yield PossibleContribution(entry, frozenset(given & wanted.keys()), on == {True})


def deficient(choices: Mapping[int, Sequence[int]]) -> list[int]:
    """Return some that together have too few partners (Hall's theorem); empty if each can have a partner of its own.

    >>> deficient({0: [7], 1: [7, 8], 2: [7, 8]})
    [0, 1, 2]
    """
    taken: dict[int, int] = {}

    def place(some: int, seen: set[int]) -> bool:
        for partner in choices[some]:
            if partner not in seen:
                seen.add(partner)
                if partner not in taken or place(taken[partner], seen):
                    taken[partner] = some
                    return True
        return False

    for some in sorted(choices, key=lambda c: len(choices[c])):
        seen: set[int] = set()
        if not place(some, seen):
            return sorted({some, *(taken[partner] for partner in seen)})
    return []


def _too_few(names: PartNames, items: Sequence[Term], uses: Sequence[PossibleContribution]) -> list[str]:
    texts = listing([names.term(item) for item in items])
    if not uses:
        return [f"no accumulate can ever contribute {texts}"]
    return [
        f"it needs {texts}: {len(items)} terms, and only {count(len(uses), 'accumulate')} can contribute them "
        f"({_which(names, uses)})"
    ]


def _too_many(names: PartNames, uses: Sequence[PossibleContribution], items: Sequence[Term]) -> list[str]:
    fits = sorted(frozenset[Term]().union(*(use.items for use in uses)))
    which, always = _which(names, uses), "always runs" if len(uses) == 1 else "always run"
    if not fits:
        return [f"the accumulate at {which} {always} and can contribute nothing that it needs"]
    return [
        f"{count(len(uses), 'accumulate')} {always} ({which}) and can contribute only "
        f"{listing([names.term(item) for item in fits])} of what it needs"
    ]


def _which(names: PartNames, uses: Sequence[PossibleContribution]) -> str:
    return listing([names.iteration(use.entry.tag.statement, use.entry.tag.loops) for use in uses])
