"""Canonical data values: interned terms over the elements of the input arrays (paper, sections 4.1 and 4.2).

A term is an int, its place in one table; equal terms are the same int, so no solver ever reasons about arithmetic
on data. Operators that are commutative and associative hold their arguments as a sorted multiset (a set for the
idempotent ones, those that are there an odd number of times for `^`), flattened; an operator that only associates
holds them in their order. Constants are folded and identities dropped. A user's operator folds no constants, as its
meaning may depend on the type. A sum holds each item once, with a coefficient; numbers distribute over sums, so that
equal linear forms are one term. Canonicalisation is sound and incomplete: `a * (b + c)` and `a * b + a * c` stay
different. Of a choice by several comparisons the order in which they are asked does not matter
(`symbolic.algebra.choices`).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from symbolic.algebra.choices import Choices, is_choice
from symbolic.algebra.conversions import ROUNDED, WIDEN, holds, may_keep
from symbolic.algebra.exact import content, folded, is_finite, over, reciprocal
from symbolic.algebra.joined_words import JoinedWords
from symbolic.algebra.operator_laws import LAWS, Law, find_law, infix, law_of
from symbolic.algebra.shifts import is_bit_field, shifted, shifts
from symbolic.algebra.states import StateLaw, States
from symbolic.algebra.whole_ranges import WholeRanges
from symbolic.ir.functions import (
    AND_THEN,
    GROUPED,
    ChoiceFunction,
    Gather,
    Joined,
    StateFunction,
    WordFunction,
    joined_of,
    row_of,
)
from symbolic.ir.program import FunctionName, OperatorName

Term: TypeAlias = int
LONG = 16  # items of a sum: the mean of more stays a quotient, and is no multiple of each of them
TOGETHER = 256  # nodes of variables that are made at once
_CUT = frozenset({"to_i8", "to_u8", "to_i16", "to_u16"})  # nothing is computed in these types
UNWRITTEN: Term = 0  # what a cell holds before its first write; equal to no value of a specification


def _least_of_all(law: Law, value: Any) -> bool:
    """Tell whether a number is what a maximum or minimum of floats starts from; no other type has it."""
    return bool(law.bound) and value == (-math.inf if law.bound == "least" else math.inf)


_COMMUTING = frozenset(op for op, law in LAWS.items() if law.commutes)


@lru_cache(maxsize=32)
def _atom_nodes(array: str, first: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the nodes of some elements of an array, which stand in every table."""
    return [("atom", (array, place)) for place in range(first, first + TOGETHER)]


class Terms:
    """The table of terms. `nodes[t]` is ('atom', (array, index)), ('const', (value,)) or (operator, arguments).

    `scalars` are the names of inputs that are one number, the only element of an array that is not shown as one.
    """

    def __init__(self) -> None:
        self.scalars: set[str] = set()
        self.types: dict[str, Any] = {}  # of the elements of arrays, where that is known
        self.whole: WholeRanges | None = None  # of a specification in NumPy's own types
        self.nodes: list[tuple[str, tuple[Any, ...]]] = [("unwritten", ())]
        self._index: dict[tuple[str, tuple[Any, ...]], Term] = {}
        self.lanes: dict[tuple[str, int], Any] = {}  # variables of arrays, as arrays of numbers
        self._arrays: dict[tuple[str, int], tuple[Term, ...]] = {}
        self._constants: set[Term] = set()
        self._scales: dict[Term, tuple[Term, Any]] = {}  # of products with a number: the rest, and the number
        self._primitives: dict[Term, tuple[Term, Any]] = {}
        self._orders: dict[Term, tuple[Any, ...]] = {}
        self._cancelled = set[Term]()  # what sums have brought and taken off again
        self.unrounded: dict[Any, str] = {}  # what a float type rounds, and counts as a real number: in words
        self._own: dict[OperatorName, None] = {}
        self._looked_at = 0
        self.words = JoinedWords(self)
        self.states = States(self)
        self.of_rows: dict[Any, Any] = {}  # what operators give for the values of many threads (`Canonical`)
        self.of_sets: dict[Any, Any] = {}  # what was worked out of sets of terms, which many threads have in common
        self.choices = Choices(self)
        self.one = self.const(1)

    def intern(self, op: str, args: tuple[Any, ...]) -> Term:
        """Return the term of a node as it stands."""
        key = (op, args)
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self.nodes)
            self.nodes.append(key)
        return found

    def atom(self, array: str, index: int) -> Term:
        """Return the variable that stands for element `index` (row-major) of an input array."""
        return self.intern("atom", (array, index))

    def atoms(self, array: str, count: int) -> Sequence[Term]:
        """Return the variables that stand for the elements of an input array."""
        known = self._arrays.get((array, count))
        if known is None:
            parts = (_atom_nodes(array, first) for first in range(0, count, TOGETHER))
            nodes = list(itertools.islice(itertools.chain.from_iterable(parts), count))
            fresh = range(len(self.nodes), len(self.nodes) + count)
            if not self._index.keys().isdisjoint(nodes):
                known = tuple(self.atoms_at(array, range(count)))
            else:
                known = tuple(fresh)
                self.nodes += nodes
                self._index.update(zip(nodes, fresh, strict=True))
            self._arrays[array, count] = known
        return known

    def atoms_at(self, array: str, places: Iterable[int]) -> list[Term]:
        """Return the variables that stand for some elements of an input array."""
        terms, nodes, found = self._index, self.nodes, list[Term]()
        for place in places:
            key = ("atom", (array, place))
            term = terms.get(key)
            if term is None:
                term = terms[key] = len(nodes)
                nodes.append(key)
            found.append(term)
        return found

    def const(self, value: Any) -> Term:
        """Return a number."""
        found = self.intern("const", (value,))
        self._constants.add(found)
        return found

    def is_const(self, term: Term) -> bool:
        return term in self._constants

    def is_number(self, item: Term, op: str) -> bool:
        """Say whether an item of a reduction is a number that folds with others; of a user's operator, one that absorbs
        them all."""
        law = law_of(op)
        return item in self._constants and (not law.own or self.nodes[item][1][0] == law.absorber)

    def apply(self, op: str, args: Sequence[Term]) -> Term:
        """Return the canonical term `op(args)`; UNWRITTEN if any argument is."""
        if len(args) == 2:  # a node that is there is canonical, and so what it is made of gives
            a, b = args
            known = self._index.get((op, (a, b) if a < b else (b, a)))
            if known is not None and (a < b or op in _COMMUTING):
                return known
        elif op in _COMMUTING:
            known = self._index.get((op, tuple(sorted(args))))
            if known is not None:
                return known
        if UNWRITTEN in args:
            return UNWRITTEN
        law = LAWS.get(op) or find_law(op)
        if law is None:
            if args and self._keeps(op, args[0]):
                return args[0]
            match op:
                case "<<" | ">>" if self.is_const(args[1]):
                    return shifted(self, op, *args)
                case "/" if (factor := self.as_factor(args[1])) is not None and len(self.items(args[0], "+")) <= LONG:
                    return self.apply("*", (args[0], self.const(factor)))
                case FunctionName(row=ChoiceFunction()):
                    return self.choices.apply(op, *args)
                case FunctionName(row=StateFunction() as row):
                    return self.states.apply(op, row, args)
                case FunctionName(row=WordFunction(joined=Joined() as joined)) if len(args) > 1:
                    return self.words.apply(op, joined, args)
                case FunctionName(row=WordFunction() as row) if self._constants.issuperset(args):
                    found = row.on_numbers([self.nodes[arg][1][0] for arg in args]).item()  # as a specification has it
                    return self.const(found) if found == found else self.intern(op, tuple(args))
            return self.intern(op, tuple(args))
        if isinstance(law, StateLaw) and (empty := self.states.empty(op)) is not None and empty in args:
            args = [arg for arg in args if arg != empty] or [empty]
            if len(args) == 1:
                return args[0]
        nodes, constants = self.nodes, self._constants
        if len(args) == 2:  # the common case, and one in which there is nothing to do
            a, b = args
            if nodes[a][0] != op and nodes[b][0] != op and a not in constants and b not in constants and a != b:
                if law.order != "linear" and op != "*":
                    return self.intern(op, (a, b) if a < b or law.order == "sequence" else (b, a))
                if op == "*" and nodes[a][0] != "+" != nodes[b][0]:
                    return self.intern(op, (a, b) if a < b else (b, a))
                if op == "+" and self.scale(a)[0] != self.scale(b)[0]:
                    return self.intern(op, (a, b) if a < b else (b, a))
        return self._put_together(op, law, args)

    def _put_together(self, op: str, law: Law, args: Sequence[Term]) -> Term:
        """Return what an operator makes of its operands' items and constants, put together by its law."""
        nodes, constants, constant = self.nodes, self._constants, law.identity
        items: list[Term] = []
        taken_off = False  # a number, by one about as large
        for arg in args:
            inner, found = nodes[arg]
            if inner != op:
                found = (arg,)
            if constants.isdisjoint(found):
                items += found
                continue
            for item in found:
                if item not in constants:
                    items.append(item)
                    continue
                value = nodes[item][1][0]
                if not law.own:
                    total = value if constant is None else folded(law.fold, constant, value)
                    if op == "+" and constant:
                        taken_off |= abs(total) < min(abs(constant), abs(value))
                    constant = total
                elif value == law.absorber:
                    return self.const(value)
                elif value != law.identity:
                    items.append(item)
        if taken_off:
            self._cancelled.update(items)
        if constant is not None and constant == law.absorber:
            return self.const(constant)
        if op == "*":
            return self._product(items, constant)
        match law.order:
            case "set":
                items = list(set(items))
            case "parity":
                items = [item for item, number in Counter(items).items() if number % 2]
            case "linear":
                items = self._collected(items)
        if constant is not None and constant != law.identity and not (items and _least_of_all(law, constant)):
            items.append(self.const(constant))
        if not items:
            return self.const(law.identity)
        if len(items) == 1:
            return items[0]
        return self.intern(op, tuple(sorted(items) if law.commutes else items))

    def known(self, nodes: Sequence[tuple[str, tuple[Any, ...]]]) -> list[Term | None]:
        """Return the terms of nodes as they stand, None of those that are not there."""
        return list(map(self._index.get, nodes))

    def add(
        self, nodes: Sequence[tuple[str, tuple[Any, ...]]], known: Sequence[Term | None], distinct: bool
    ) -> Sequence[Term]:
        """Return the terms of canonical nodes; `known` has those that are there, `distinct` says that all differ."""
        first, index = len(self.nodes), self._index
        new: Sequence[tuple[str, tuple[Any, ...]]] = list(itertools.compress(nodes, [term is None for term in known]))
        if not distinct:
            new = list(dict.fromkeys(new))
        index.update(zip(new, itertools.count(first), strict=False))
        self.nodes += new
        if len(new) == len(nodes):
            return range(first, len(self.nodes))
        return list(map(index.__getitem__, nodes))

    def has_multiples(self, terms: Iterable[Term]) -> bool:
        """Say whether one of some terms is a number times another one."""
        return not self._scales.keys().isdisjoint(terms)

    def as_factor(self, divisor: Term) -> Any:
        """Return what multiplies as this divides, of a power of two that is not 1; None of others."""
        return reciprocal(self.nodes[divisor][1][0]) if divisor in self._constants else None

    def pair(self, op: str, a: Term, b: Term) -> Term:
        """Return the canonical term of two arguments; most are there, or products of variables, which are canonical."""
        if op not in _COMMUTING:
            return self.apply(op, (a, b))
        key = (op, (a, b) if a < b else (b, a))
        found = self._index.get(key)
        if found is None:
            if op != "*" or not self.nodes[a][0] == "atom" == self.nodes[b][0]:
                return self.apply(op, (a, b))
            found = self._index[key] = len(self.nodes)
            self.nodes.append(key)
        return found

    def multiple(self, number: Any, factors: tuple[Term, ...]) -> Term:
        """Return a number times one or more factors, in their order; none of them is a number, a sum or a product."""
        whole = factors[0] if len(factors) == 1 else self.intern("*", factors)
        if number == 1:
            return whole
        found = self.intern("*", tuple(sorted((*factors, self.const(number)))))
        self._scales[found] = whole, number
        return found

    def product_of_two(self, a: Term, b: Term) -> Term | None:
        """Return the canonical product of two terms; None where it is not there and one of them is a product."""
        key = ("*", (a, b) if a < b else (b, a))
        found = self._index.get(key)
        if found is None:
            nodes = self.nodes
            first, second = nodes[a][0], nodes[b][0]
            if first == "atom" == second:
                found = self._index[key] = len(nodes)
                nodes.append(key)
            elif first != "*" != second:
                return self.apply("*", key[1])
        return found

    def own_operators(self) -> Iterable[OperatorName]:
        """Return the users' operators in the table."""
        new = dict.fromkeys(map(operator.itemgetter(0), itertools.islice(self.nodes, self._looked_at, None)))
        self._own.update(dict.fromkeys(op for op in new if type(op) is OperatorName))
        self._looked_at = len(self.nodes)
        return self._own

    def _is_kept(self, op: str, term: Term) -> bool:
        """Say whether a conversion leaves a term as it is."""
        return holds(self, ROUNDED[op], term) if op in ROUNDED else self._is_narrow(term)

    def _is_narrow(self, term: Term) -> bool:
        """Say whether a term is its own value in each type, so that nothing is lost before it is widened: elements,
        and what is chosen among such values, or made of their bits or by dividing them."""
        waiting, seen = [term], {term}
        while waiting:
            op, args = self.nodes[waiting.pop()]
            if op == "const":
                if not 0 <= args[0] < 2**31:
                    return False
            elif op == "&" and is_bit_field(self, args):
                continue
            elif op != "atom" and op not in _CUT:
                divides = op in ("//", "%", ">>") and self.is_const(args[1])
                if not (divides or op in ("min", "max", "&", "|", "^") or is_choice(op)):
                    return False
                items = [item for item in (args[2:] if is_choice(op) else args) if item not in seen]
                waiting += items
                seen.update(items)
        return True

    def _keeps(self, op: str, term: Term) -> bool:
        """Say whether an operator is a conversion that leaves a term as it is."""
        if op in ("to_i32", "to_u32"):
            made_by, args = self.nodes[term]
            return made_by == "&" and is_bit_field(self, args)
        return may_keep(op) and self._is_kept(op, term)

    def spellings(self, op: str, term: Term) -> Iterable[tuple[Term, ...]]:
        """Return all arguments of which an operator that knows no law but those of choices makes a term."""
        if is_choice(op):
            return self.choices.spellings(op, term)
        if isinstance(op, FunctionName) and isinstance(op.row, StateFunction):
            return self.states.spellings(op, op.row, term)
        if op in ("<<", ">>"):
            return [*shifts(self, op, term)]
        made_by, arguments = self.nodes[term]
        kept = [(term,)] if self._keeps(op, term) else []
        return [arguments, *kept] if made_by == op else kept

    # -- linear forms ---------------------------------------------------------------------------------------

    def scale(self, term: Term) -> tuple[Term, Any]:
        """Write a term as a number times another term, which is not a multiple itself."""
        return self._scales.get(term) or (term, 1)

    def times(self, number: Any, term: Term) -> Term:
        """Return a multiple of a term."""
        return term if number == 1 else self.apply("*", (self.const(number), term))

    def _collected(self, items: list[Term]) -> list[Term]:
        """Return the items of a sum, each once, with its coefficient."""
        if self._scales.keys().isdisjoint(items) and len(set(items)) == len(items):
            return items
        coefficients: dict[Term, Any] = {}
        for item in items:
            whole, number = self.scale(item)
            before = coefficients.get(whole, 0)
            coefficients[whole] = folded(operator.add, before, number)
        if len(coefficients) == len(items):
            return items
        self._cancelled.update(whole for whole, number in coefficients.items() if number == 0)
        return [self.times(number, whole) for whole, number in coefficients.items() if number != 0]

    def cancels_floats(self) -> bool:
        """Say whether a float was taken off again in some sum, which rounding may not do."""
        waiting, seen = list(self._cancelled), set(self._cancelled)
        while waiting:
            op, args = self.nodes[waiting.pop()]
            array = args[0] if op == "atom" else row.array if isinstance(row := row_of(op), Gather) else ""
            kind = self.types.get(array) if array else ROUNDED.get(op)
            if kind is not None and kind.is_float:
                return True
            if op != "const" and not array and not op.startswith(("to_", WIDEN)):
                new = [arg for arg in args if arg not in seen]
                waiting += new
                seen.update(new)
        return False

    def _product(self, items: list[Term], constant: Any) -> Term:
        """Return a product; a number goes into a sum that it is the only factor of, and is taken out of the others."""
        nodes = self.nodes
        if not items:
            return self.const(constant)
        if len(items) == 1:
            op, args = nodes[items[0]]
            if constant == 1:
                return items[0]
            if op == "+" and is_finite(constant):
                return self.apply("+", [self.times(constant, arg) for arg in args])
        else:
            parts = [self.primitive(item) if nodes[item][0] == "+" else (item, 1) for item in items]
            for _, number in parts:
                constant = folded(operator.mul, constant, number)
            items = [part for part, _ in parts]
        whole = items[0] if len(items) == 1 else self.intern("*", tuple(sorted(items)))
        if constant == 1:
            return whole
        found = self.intern("*", tuple(sorted((*items, self.const(constant)))))
        if is_finite(constant):
            self._scales[found] = (whole, constant)
        return found

    def primitive(self, term: Term) -> tuple[Term, Any]:
        """Write a sum as a number times another sum, which is the same for all its multiples.

        Its coefficients are whole numbers without a common divisor, the one of its oldest item is positive.
        """
        found = self._primitives.get(term)
        if found is None:
            parts = [
                (self.one, self.nodes[t][1][0]) if self.is_const(t) else self.scale(t) for t in self.nodes[term][1]
            ]
            common = content(number for _, number in parts) if all(is_finite(number) for _, number in parts) else 1
            oldest = min((whole, number) for whole, number in parts if whole != self.one)
            common = -common if oldest[1] < 0 else common
            found = (term, 1)
            if common != 1:
                found = self.apply("+", [self.times(over(number, common), whole) for whole, number in parts]), common
            self._primitives[term] = found
        return found

    # -- items ----------------------------------------------------------------------------------------------

    def items(self, term: Term, op: str) -> tuple[Term, ...]:
        """Return what `term` contributes to a reduction by `op`: its arguments if it is one itself."""
        node = self.nodes[term]
        if node[0] == op:
            return node[1]
        if op == "*" and node[0] == "+":
            whole, number = self.primitive(term)
            return (term,) if number == 1 else (self.const(number), whole)
        law = law_of(op)
        if node[0] == "const" and node[1][0] == law.identity and law.identity is not None:
            return ()
        return () if isinstance(law, StateLaw) and term == self.states.empty(law.name) else (term,)

    def empty(self, op: str) -> Term | None:
        """Return the reduction of nothing by an operator; None where it has no identity."""
        law = law_of(op)
        if isinstance(law, StateLaw):
            return self.states.empty(law.name)
        return None if law.identity is None else self.const(law.identity)

    def multiset(self, term: Term, op: str) -> Counter[Term]:
        """Return the items of a reduction with their multiplicities, those of a sum with their coefficients."""
        if law_of(op).order == "linear":
            return Counter(dict(map(self.scale, self.items(term, op))))
        return Counter(self.items(term, op))

    def made_of_all(self, terms: Iterable[Term], known: Container[Term]) -> list[Term]:
        """Return what `made_of` gives for some terms together, each part once."""
        needed, level = set[Term](), {term for term in terms if term not in known}
        while level:
            needed |= level
            made_by = [node for node in map(self.nodes.__getitem__, level) if node[0] not in ("atom", "const")]
            level = set[Term]().union(*map(operator.itemgetter(1), made_by)) - needed
            level = {term for term in level if term not in known}
        return sorted(needed)  # arguments are older than what is made of them

    def made_of(self, term: Term, known: Container[Term]) -> list[Term]:
        """Return a term and what it is made of, arguments first, without what is known and what that is made of."""
        return self.made_of_all((term,), known)

    def show(self, term: Term, longest: int = 400) -> str:
        """Return the term as text, `w[0]*x[3] + w[1]*x[4]`; what is longer than that many characters ends in ' ...'.

        It takes time by nodes, not by length: the best value so far of an argmin, which each step uses twice, has few
        nodes, and a text without end.
        """
        text = self._text(term, longest, {})
        return text if len(text) <= longest else text[: longest - 4] + " ..."

    def _text(self, term: Term, longest: int, texts: dict[Term, str]) -> str:
        """Return how the term's text begins; `texts` has those that are known."""
        if term not in texts:
            # What is cut is as long as all that is shown of any text around it, so that no cut is seen there.
            texts[term] = self._spelled(term, longest, texts)[: longest + 1]
        return texts[term]

    def _spelled(self, term: Term, longest: int, texts: dict[Term, str]) -> str:
        op, args = self.nodes[term]
        match op:
            case "atom":
                return args[0] if args[0] in self.scalars else f"{args[0]}[{args[1]}]"
            case "const":
                return str(float(args[0]) if isinstance(args[0], Fraction) else args[0])
            case "unwritten":
                return "an unwritten cell"
        if isinstance(op, FunctionName) and (joined := joined_of(op)) is not None:
            return op.row.text([self._text(part, longest, texts) for part in self.words.parts(joined, args[0])])
        if op.endswith((AND_THEN, GROUPED)):
            found = ", ".join(self._text(part, longest, texts) for part in args)
            return f"({found})" if op.endswith(GROUPED) else found
        law = find_law(op)
        if law is not None and law.commutes:
            args = tuple(sorted(args, key=self.reading_order))
        parts = [self._text(arg, longest, texts) for arg in args]
        if isinstance(op, FunctionName):
            return op.row.text(parts)
        if op == "~":
            return f"~{parts[0]}"
        if not infix(op) or not (find_law(op) or len(op) <= 2):
            return f"{op}({', '.join(parts)})"
        if op == "*":
            return "*".join(f"({t})" if " " in t else t for t in parts)
        return f" {op} ".join(f"({t})" if " " in t and op != "+" else t for t in parts)

    def reading_order(self, term: Term) -> tuple[Any, ...]:
        """Sort constants first, then elements by array and index, then the rest by what they hold."""
        if term not in self._orders:  # orders that share what they hold are compared by it at once
            op, args = self.nodes[term]
            match op:
                case "const":
                    self._orders[term] = (0, "", args[0])
                case "atom":
                    self._orders[term] = (1, *args)
                case _:
                    held = sorted(self.reading_order(arg) for arg in args if isinstance(arg, int))
                    self._orders[term] = (2, op, held)
        return self._orders[term]


def unary(terms: Terms, op: str, a: Term) -> Term:
    """Return the canonical term of a unary operator on data; `-a` is `(-1)*a`."""
    return terms.apply("*", (terms.const(-1), a)) if op == "-" else terms.apply(op, (a,))


def binary(terms: Terms, op: str, a: Term, b: Term) -> Term:
    """Return the canonical term of a binary operator on data; `a - b` is `a + (-1)*b`."""
    if op == "-":
        return terms.apply("+", (a, terms.apply("*", (terms.const(-1), b))))
    return terms.apply(op, (a, b))
