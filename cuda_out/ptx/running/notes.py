"""Values that are written out when they are asked for.

A kernel makes many partial sums, each as long as what has been summed, and only its outputs are compared. So an
instruction on terms is noted, not computed: equal instructions on equal operands are one note. What is asked for in
the end is written out from the notes below it, each note once, and a chain of sums in one piece: the partial sums that
only the next one uses are never made. Where an exponential multiplies such a sum, as an online softmax does, it
multiplies what the sum is made of instead, each once with all that come behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Final, TypeAlias

import numpy as np

from cuda_out.ptx.columns import FIRST, is_known, is_note, is_unwritten
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.roundings import WIDER, FloatTypes, of_bits
from cuda_out.ptx.instructions.symbolic import Summand, Value, evaluate, evaluate_sum, of_value
from cuda_out.ptx.kinds import Bits, is_float, width
from cuda_out.ptx.running.memory import Lanes
from symbolic.algebra.terms import Term

_EXPONENTIALS: Final = frozenset(("math.exp", "math.exp2", "ex2.f32"))
Operands: TypeAlias = tuple[int, ...]
"""A term for each operand, or the complement of a number's place in the table of numbers."""


class Notes:
    """The notes on one table of terms; they may serve several runs, which then share what they have in common.

    Arithmetic of a float type is that of real numbers, and what it gives is rounded where another type reads it. One
    operation on numbers of a type that is computed in a wider one and rounded at once is arithmetic of that type: so
    bf16 is computed. Where a text says such a rounding for itself, it is one: `written_out` gives both readings.
    `in_types` are the types in which that made a difference.
    """

    def __init__(self, normal: Normal) -> None:
        self.normal = normal
        self._notes: list[tuple[Operation, Operands]] = []
        self._known: dict[tuple[str, tuple[str, ...], str], dict[Operands, Term]] = {}
        self._numbers: list[int] = []
        self._number: dict[int, int] = {}
        self._forms: dict[bool, dict[Term, Value]] = {False: {}, True: {}}
        self._rounding, self._written = False, self._forms[False]
        self._inside_type: dict[tuple[str, Term], Value] = {}
        self.in_types = set[str]()
        self._cancelling = set[Term]()
        self._types: list[FloatTypes] = []
        self._alike: list[Term] = []
        self._first_alike: dict[tuple[int, Operands], Term] = {}
        self._instructions: dict[tuple[str, tuple[str, ...], str], int] = {}
        self._exponentials = set[Term]()
        self._elements = set[Term]()

    def apply(self, operation: Operation, operands: Sequence[tuple[Bits, Lanes]]) -> Lanes:
        """Note an operation for some threads, of whose operands at least one is a term each; return its terms."""
        written = ~np.logical_or.reduce([is_unwritten(terms) for _, terms in operands])
        rows = zip(*(self._codes(bits, terms)[written].tolist() for bits, terms in operands), strict=True)
        known = self._known.setdefault((operation.name, operation.sources, operation.result), {})
        notes, found = self._notes, []
        for row in rows:
            term = known.get(row)
            if term is None:
                term = known[row] = FIRST + len(notes)
                notes.append((operation, row))
                if operation.name in _EXPONENTIALS:
                    self._exponentials.add(term)
            found.append(term)
        result: Lanes = np.zeros(len(written), np.int64)
        result[written] = found
        for _, terms in reversed(operands):  # what was never written, of the first operand that is so
            result = np.where(is_unwritten(terms), terms, result)
        return result

    def made_of(self, term: Term) -> Sequence[Term]:
        """Return the terms that a term is made of."""
        if term >= FIRST:
            return [code for code in self._notes[term - FIRST][1] if code > 0]
        op, operands = self.normal.terms.nodes[term]
        return () if op in ("atom", "const") else operands

    def below(self, terms: Iterable[Term]) -> Iterator[tuple[Operation, list[tuple[int, int]]]]:
        """Yield the operations that some terms are made by, each once, with the numbers among their operands."""
        waiting = [term for term in set(terms) if term >= FIRST]
        seen = set(waiting)
        while waiting:
            operation, row = self._notes[waiting.pop() - FIRST]
            yield operation, [(place, self._numbers[~code]) for place, code in enumerate(row) if code < 0]
            new = {code for code in row if code >= FIRST} - seen
            seen |= new
            waiting += new

    def operations(self) -> set[tuple[str, str]]:
        """Return all operations that were noted: their names, and the types that they give."""
        return {(name, result) for name, _, result in self._known}

    def cancel(self, terms: Iterable[Term]) -> bool:
        """Tell whether some terms that were written out are made of a sum of floats of which a part was 0 as a real
        number, or of a product of exponentials that was a constant."""
        asked = [term for term in set(terms) if term >= FIRST] if self._cancelling else []
        seen = set(asked)
        while asked:
            term = asked.pop()
            if term in self._cancelling:
                return True
            new = {code for code in self._notes[term - FIRST][1] if code >= FIRST} - seen
            seen |= new
            asked += new
        return False

    def _codes(self, bits: Bits, terms: Lanes) -> Lanes:
        if terms.all():
            return terms
        distinct, places = np.unique(bits, return_inverse=True)
        codes = []
        for number in distinct.tolist():
            code = self._number.get(number)
            if code is None:
                code = self._number[number] = len(self._numbers)
                self._numbers.append(number)
            codes.append(~code)
        found: Lanes = np.where(is_known(terms), np.array(codes, np.int64)[places.reshape(-1)], terms)
        return found

    def written_out(self, bits: Bits, terms: Lanes, *, rounding: bool = False) -> tuple[Bits, Lanes]:
        """Return registers without notes: terms, and numbers where a note turns out to be one. With `rounding`, each
        conversion of floats rounds."""
        at = np.flatnonzero(is_note(terms))
        if len(at) == 0:
            return bits, terms
        self._rounding, self._written = rounding, self._forms[rounding]
        bits, terms = bits.copy(), terms.copy()
        asked = terms[at].tolist()
        self._write_out(asked)
        values = [self._written[term] for term in asked]
        bits[at], terms[at] = [b for b, _ in values], [t for _, t in values]
        return bits, terms

    def computed_alike(self, terms: Lanes) -> Lanes:
        """Return a number for each term: the same for notes of the same instructions on the same operands, in any order
        where the order makes no difference. So what has one number is the same to the bit."""
        alike, kinds = self._alike, dict[int, tuple[int, bool]]()
        for operation, row in self._notes[len(alike) :]:
            kind = kinds.get(id(operation))
            if kind is None:
                name = operation.name, operation.sources, operation.result
                number = self._instructions.setdefault(name, len(self._instructions))
                kind = kinds[id(operation)] = number, operation.row.commutes
            operands = tuple([alike[code - FIRST] if code >= FIRST else code for code in row])
            if kind[1] and operands[0] > operands[1]:
                operands = operands[1], operands[0], *operands[2:]
            alike.append(self._first_alike.setdefault((kind[0], operands), FIRST + len(alike)))
        found = [self._alike[term - FIRST] if term >= FIRST else term for term in terms.tolist()]
        return np.array(found, np.int64)

    def _write_out(self, asked: Iterable[Term]) -> None:
        notes, written, scales = self._notes, self._written, bool(self._exponentials)
        needed, inner, shared = set(asked), set[Term](), set[Term]()
        waiting = list(needed)
        while waiting:
            term = waiting.pop()
            if term in written:
                continue
            operation, row = notes[term - FIRST]
            open_to, sums = operation.row.summands, operation.ring
            if scales and (scaled := self._scaled(term)) >= 0:
                open_to, sums = (*open_to, scaled), self._summed_in(term)
            for place, operand in enumerate(row):
                if operand < FIRST or operand in written:
                    continue
                if place in open_to:
                    made_in = self._summed_in(operand) if scales else notes[operand - FIRST][0].ring
                    if made_in == sums:
                        inner.add(operand)
                if operand in needed:  # asked for, or an operand of another note or in another place
                    shared.add(operand)
                else:
                    needed.add(operand)
                    waiting.append(operand)
        inner -= shared
        needed -= inner
        for term in sorted(needed):  # operands are older than what is made of them
            if term not in written:
                written[term] = self._evaluate(term, inner)

    def _scaled(self, term: Term) -> int:
        """Return which factor of a product of floats an exponential multiplies; -1 for any other note."""
        if self._exponentials:
            operation, row = self._notes[term - FIRST]
            if operation.name in ("mul", "mad") and is_float(operation.result):
                for place in (0, 1):
                    if row[1 - place] in self._exponentials:
                        return place
        return -1

    def _summed_in(self, term: Term) -> tuple[str, bool, int] | None:
        """Return the sums of which a note may be a part: as one itself, or as one that an exponential multiplies."""
        operation = self._notes[term - FIRST][0]
        return ("+", True, operation.size) if operation.ring is None and self._scaled(term) >= 0 else operation.ring

    def _evaluate(self, term: Term, inside: set[Term]) -> Value:
        operation, row = self._notes[term - FIRST]
        ring = operation.ring
        if ring is None and inside.isdisjoint(row):
            given = tuple(map(self._read, row, operation.sources, repeat(operation)))
            kind, rounds = operation.narrows, None
            if kind is not None and is_float(operation.sources[0]):
                inner = None if self._rounding else self._of_type(kind, row[0], operation.sources[0])
                if inner is None:
                    rounds = kind
                else:
                    given = (inner,)
                    if inner != self._operand(row[0]):
                        self.in_types.add(kind)
            vanished = self.normal.vanished
            value = evaluate(self.normal, operation, given, rounds or operation.widens)
            if operation.name == "mul" and self.normal.vanished > vanished:
                self._cancelling.add(term)
            return value
        products, rest = self._dot_product(term, inside) if ring is not None and ring[1] else ([], term)
        sums, waiting, kept = list[Summand](), list[tuple[Term, Term | None]](), list[Value]()
        if rest is not None:
            waiting.append((rest, None))
        first = operation
        while waiting:
            part, by = waiting.pop()
            operation, row = self._notes[part - FIRST]
            scaled = self._scaled(part)
            values = []
            for place, (code, kind) in enumerate(zip(row, operation.sources, strict=True)):
                values.append(None if code in inside else self._read(code, kind, operation))
                if code in inside:
                    times = by
                    if place == scaled:
                        factor = of_value(self.normal, kind, self._read(row[1 - place], kind, operation))
                        times = factor if by is None else self.normal.multiply(kind, by, factor)
                    waiting.append((code, times))
            sums.append((operation, tuple(values), by))
            kept += [value for value in values[operation.row.factors :] if value and by is None]
        value = evaluate_sum(self.normal, first, sums, products)
        if ring is not None and ring[1] and self.normal.cancels(value[1], [part[1] for part in kept]):
            self._cancelling.add(term)
        return value

    def _dot_product(self, term: Term, inside: set[Term]) -> tuple[list[tuple[Term, Term]], Term | None]:
        """Return the products of two elements each that a chain of fused multiply-adds of floats adds last, and the
        note that it adds them to; None where that is 0."""
        notes, products, part = self._notes, list[tuple[Term, Term]](), term
        while True:
            operation, row = notes[part - FIRST]
            if operation.name != "mad":
                return products, part
            a, b, more = row
            last = more < 0 and not self._numbers[~more]
            if not (last or more in inside) or not (self._is_element(a) and self._is_element(b)):
                return products, part
            products.append((a, b) if a < b else (b, a))
            if last:
                return products, None
            part = more

    def _is_element(self, code: int) -> bool:
        """Tell whether an operand is an element of an array of floats, as it is."""
        if code in self._elements:
            return True
        normal = self.normal
        if not 0 < code < FIRST or normal.terms.nodes[code][0] != "atom" or not normal.is_real(code):
            return False
        self._elements.add(code)
        return True

    def _of_type(self, kind: str, code: int, source: str) -> Value | None:
        """Return what a type's own arithmetic gives where it is computed in a wider one; None for what is no more than
        rounded to the type."""
        if code < FIRST:
            return self._operand(code) if kind in self._held(code, source) else None
        operation, row = self._notes[code - FIRST]
        if kind in self._held(code, source):
            return self._within(kind, code)
        operands = [self._held(code, source) for code, source in zip(row, operation.sources, strict=True) if code >= 0]
        if not (operation.row.rounds_once and all(kind in each for each in operands)):  # constants are of any type
            return None
        self.in_types.add(kind)
        return self._evaluated(operation, [self._within(kind, operand) for operand in row])

    def _within(self, kind: str, code: int) -> Value:
        """Return a number of a type as the type's own arithmetic reads it: as it was before it was widened."""
        chosen, waiting = self._inside_type, [code]
        while waiting:
            part = waiting[-1]
            operation, row = self._notes[part - FIRST] if part >= FIRST else (None, ())
            if operation is None or (kind, part) in chosen or not (operation.row.chooses or operation.widens == kind):
                chosen.setdefault((kind, part), self._operand(part))
                waiting.pop()
            elif operation.widens == kind:
                chosen[kind, part] = evaluate(self.normal, operation, tuple(map(self._operand, row)))
                waiting.pop()
            elif missing := [operand for operand in row if (kind, operand) not in chosen]:
                waiting += missing
            else:
                chosen[kind, part] = self._evaluated(operation, [chosen[kind, operand] for operand in row])
                waiting.pop()
        return chosen[kind, code]

    def _evaluated(self, operation: Operation, given: Sequence[Value]) -> Value:
        if operation.ring is not None:
            return evaluate_sum(self.normal, operation, [(operation, tuple(given), None)])
        return evaluate(self.normal, operation, tuple(given))

    def _held(self, code: int, kind: str) -> FloatTypes:
        """Return the float types that hold an operand which is read as a number of a type."""
        if code < 0:
            return of_bits(kind, self._numbers[~code])
        if code < FIRST:
            return WIDER.get(kind, frozenset()) | self.normal.held(code)
        if code - FIRST < len(self._types):
            return self._types[code - FIRST]
        for operation, row in self._notes[len(self._types) : code - FIRST + 1]:  # operands are older
            self._types.append(operation.held(list(map(self._held, row, operation.sources))))
        return self._types[code - FIRST]

    def _read(self, code: int, kind: str, operation: Operation) -> Value:
        """Return an operand's value; of a float that an integer instruction reads, the bits of this computation."""
        bits, term = self._operand(code)
        if code >= FIRST and term > 0 and not is_float(kind) and not (operation.row.moves or operation.widens):
            term = self.normal.exact_bits(width(kind), term, code)
        return bits, term

    def packed_of(self, terms: Lanes, packing: Operation) -> list[tuple[Bits, Lanes]] | None:
        """Return the parts of values that were all put together in a way; None where one was not."""
        distinct, places = np.unique(terms, return_inverse=True)
        notes = [self._notes[term - FIRST] if term >= FIRST else None for term in distinct.tolist()]
        if not notes or any(note is None or note[0] is not packing for note in notes):
            return None
        codes = np.array([note[1] for note in notes if note], np.int64)
        known = np.array(
            [[self._numbers[~code] if code < 0 else 0 for code in row] for row in codes.tolist()], np.uint64
        )
        places = places.reshape(-1)
        return [(known[places, n], np.maximum(codes[places, n], 0)) for n in range(codes.shape[1])]

    def bits_of(self, size: int, terms: Lanes, written: Lanes) -> Lanes:
        """Return registers' terms, written out, as what is put together from their bits."""
        pairs = zip(terms.tolist(), written.tolist(), strict=True)
        found = [self.normal.exact_bits(size, w, t) if t >= FIRST and w > 0 else w for t, w in pairs]
        return np.array(found, np.int64)

    def _operand(self, code: int) -> Value:
        if code < 0:
            return self._numbers[~code], 0
        return self._written[code] if code >= FIRST else (0, code)
