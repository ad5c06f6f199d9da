"""Exchanges whose elements go into further exchanges, found by trying simple ways one after the other.

Each exchange lets every thread have what the thread at one distance has, by xor or by a turn, slot by slot. Such are
the stages of a reduction, of a scan and of a ring. After each stage, what is given to the next one has to be a part of
what the specification says; so few ways are looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swizzle.language.specs.specification import Meaning, outputs
from swizzle.solving.homes.recorder import Recorder
from symbolic.algebra.operator_laws import find_law
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.program import LANES, Expr, Load, Program, Stmt, Store
from symbolic.machine.run import Run
from symbolic.values.vector import Vector

MOST_TRIALS = 400
Ints = npt.NDArray[np.int64]


class _Trial(Recorder):
    """The machine, where some exchanges give what is at a thread's `ways`; variables stand for what the others give."""

    def __init__(self, program: Program, terms: Terms, arrays: Sequence[str], ways: Mapping[str, Ints]) -> None:
        super().__init__(program, terms, arrays)
        self.ways = ways
        self.taken: dict[str, list[Ints]] = {array: [] for array in arrays}
        self.read: dict[str, int] = dict.fromkeys(arrays, 0)

    def execute(self, statement: Stmt, mask: Vector) -> None:
        super().execute(statement, mask)
        if isinstance(statement, Store) and statement.array in self.given:
            if self.read[statement.array]:
                self.taken[statement.array], self.read[statement.array] = [], 0
            self.taken[statement.array].append(np.array(self.given[statement.array][-1], np.int64))

    def value(self, node: Expr, mask: Vector) -> Any:
        found = super().value(node, mask)
        if not isinstance(node, Load) or node.array not in self.given:
            return found
        slot = self.read[node.array]
        self.read[node.array] += 1
        if node.array not in self.ways or slot >= len(self.taken[node.array]):
            return found
        return self.taken[node.array][slot][self.ways[node.array]]


def tried_ways(program: Program, meaning: Meaning, arrays: Sequence[str]) -> list[Ints] | None:
    """Return, for each exchange, the thread that each thread of the grid has its elements from; None if none is found.

    With these, the kernel gives what the specification says.
    """
    wanted = {parameter.name: meaning.wanted[parameter.name] for parameter in outputs(program)}
    parts = _Parts(meaning.terms, [term for terms in wanted.values() for term in terms])
    trials = 0

    def search(ways: dict[str, Ints]) -> list[Ints] | None:
        """Find the ways of further exchanges; of one's, those first after which there is most to be given on."""
        nonlocal trials
        if len(ways) == len(arrays):
            return [ways[array] for array in arrays]
        found = []
        for number, way in enumerate(simple):
            if trials == MOST_TRIALS:
                return None
            trials += 1
            here = {**ways, arrays[len(ways)]: way}
            machine = _Trial(program, meaning.terms, arrays, here)
            done = _done(machine, machine.run(), wanted, parts)
            if done is not None:
                found.append((-done, number, here))
        return next(filter(None, (search(here) for _, _, here in sorted(found, key=lambda each: each[:2]))), None)

    shape = Recorder(program, meaning.terms, arrays).shape
    simple = list(_simple(shape.count, shape.block_threads))
    return search({})


def _simple(count: int, block: int) -> Iterator[Ints]:
    """Yield ways from thread to thread of a block: by xor, by turns of the block or of each warp, and reversed."""
    thread = np.arange(count)
    own, first = thread % block, thread // block * block
    distances = [1 << bit for bit in range((block - 1).bit_length())]
    if block & block - 1 == 0:
        yield from (first + (own ^ distance) for distance in distances)
    for size in sorted({LANES, block}, reverse=True):
        base, place = first + own // size * size, own % size
        for distance in distances:
            if distance < size:
                yield base + (place + distance) % size
                yield base + (place - distance) % size
        yield base + size - 1 - place


def _done(machine: Recorder, run: Run, wanted: Mapping[str, Sequence[Term]], parts: _Parts) -> int | None:
    """Return how many items there are in all that is given on, and known; None where that, or an output, is wrong."""
    for name, terms in wanted.items():
        memory = run.memories[name]
        got = np.where(memory.written, memory.data, UNWRITTEN).tolist()
        if any(one != other and not machine.is_open(one) for one, other in zip(got, terms, strict=True)):
            return None
    given = Counter(term for lists in machine.given.values() for some in lists for term in some if term != UNWRITTEN)
    known = {term: times for term, times in given.items() if not machine.is_open(term)}
    if any(term not in parts for term in known):
        return None
    return sum(len(machine.terms.nodes[term][1]) * times for term, times in known.items())


class _Parts:
    """What the terms of a specification have in them: terms, and some of the items of a reduction."""

    def __init__(self, terms: Terms, wanted: Sequence[Term]) -> None:
        self.terms = terms
        self.whole: set[Term] = set()
        self.reductions: dict[Any, list[Counter[Term]]] = {}
        self.known: dict[Term, bool] = {}
        stack = list(dict.fromkeys(wanted))
        while stack:
            term = stack.pop()
            if term in self.whole or term == UNWRITTEN:
                continue
            self.whole.add(term)
            op, args = terms.nodes[term]
            if op in ("atom", "const", "unwritten"):
                continue
            law = find_law(op)
            if law is not None and law.commutes:
                self.reductions.setdefault(op, []).append(Counter(args))
            stack += [arg for arg in args if isinstance(arg, int)]

    def __contains__(self, term: Term) -> bool:
        if term not in self.known:
            op, args = self.terms.nodes[term]
            self.known[term] = term in self.whole or any(
                Counter(args) <= items for items in self.reductions.get(op, ())
            )
        return self.known[term]
