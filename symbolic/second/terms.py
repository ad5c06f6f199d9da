"""Data of the second reading as terms: what a value may be, each with its formula, and when it is a wanted term.

An accumulator is a bag: what joins it under which formula. A bag is compared with a wanted term by counting, item by
item. Where this reading cannot say what a value is, it says that it may be what is wanted: whoever uses it to show
that there is no filling looks at more fillings than there are, never at fewer.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any, TypeAlias

from msgspec import Struct
from pysmt.environment import get_env
from pysmt.fnode import FNode

from symbolic.algebra.conversions import WIDEN, conversion
from symbolic.algebra.operator_laws import find_law, law_of
from symbolic.algebra.terms import UNWRITTEN, Term, Terms, binary, unary
from symbolic.ir.program import DeclareAccumulator, DType, FunctionName
from symbolic.second.formulas import both, exactly, is_odd, no, some_of
from symbolic.second.forward import NotCovered

MOST_PRODUCTS = 50_000
MOST_CONTRIBUTIONS = 20_000  # to one accumulator in which something may cancel
MOST_SUMS = 2_000  # of the coefficients of one item


class OpenAccumulator(Struct, frozen=True, eq=False):
    """An accumulator under holes: entries of a formula and the operands' cases."""

    outer: str
    inner: str | None
    init: Term | None
    entries: tuple[tuple[FNode, tuple[dict[Any, FNode], ...]], ...]


class Applied(Struct, frozen=True):
    """An operator applied to values, of which at least one is a bag or made of one."""

    op: str
    operands: tuple[Any, ...]


Memo: TypeAlias = "dict[Term | OpenAccumulator | Applied, FNode]"


class TermValues:
    """Values as cases of terms, bags, and operators on bags."""

    whole = True

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._true, self._false = get_env().formula_manager.TRUE(), get_env().formula_manager.FALSE()
        self._products: dict[Any, dict[Term, list[tuple[Term, ...]]]] = {}

    def atom(self, array: str, index: int) -> Memo:
        return {self.terms.atom(array, index): self._true}

    def number(self, value: Any, dtype: DType) -> Memo:
        return {self.terms.const(value): self._true}

    def unwritten(self) -> Memo:
        return {UNWRITTEN: self._true}

    def is_unwritten(self, value: Memo) -> FNode:
        return value.get(UNWRITTEN, self._false)

    def choose(self, cases: Sequence[tuple[FNode, Memo]]) -> Memo:
        groups: dict[Any, list[FNode]] = {}
        for formula, some in cases:
            for key, inner in some.items():
                found = both(formula, inner)
                if not found.is_false():
                    groups.setdefault(key, []).append(found)
        return {key: some_of(formulas) for key, formulas in groups.items()}

    def apply(self, op: str, operands: Sequence[Memo], dtype: DType) -> Memo:
        if prod(len(o) for o in operands) > MOST_PRODUCTS:
            raise NotCovered(f"`{op}` on values that may be too much")
        found = []
        for keys in itertools.product(*operands):
            made: Any = self._apply(op, keys)
            found.append((both(*(o[k] for o, k in zip(operands, keys, strict=True))), {made: self._true}))
        return self.choose(found)

    def cast(self, value: Memo, source: DType, target: DType) -> Memo:
        for op in conversion(source, target):
            value = self.choose([(f, {self._cast(op, key, source): self._true}) for key, f in value.items()])
        return value

    def _cast(self, op: str, key: Any, source: DType) -> Any:
        if op.startswith(WIDEN) and isinstance(key, int) and self.terms.is_const(key):
            bits = source.bits
            value = int(self.terms.nodes[key][1][0]) % 2**bits
            return self.terms.const(value - 2**bits if source.value[0] == "i" and value >= 2 ** (bits - 1) else value)
        return self._apply(op, (key,))

    def _apply(self, op: str, keys: tuple[Any, ...]) -> Any:
        if all(isinstance(key, int) for key in keys):
            if isinstance(op, FunctionName):
                return self.terms.apply(op, keys)
            return unary(self.terms, op, keys[0]) if len(keys) == 1 else binary(self.terms, op, keys[0], keys[1])
        if op == "-":
            negative = self._apply("*", (self.terms.const(-1), keys[-1]))
            return negative if len(keys) == 1 else self._apply("+", (keys[0], negative))
        return Applied(op, keys)

    def total(self, declared: DeclareAccumulator, entries: Sequence[tuple[FNode, Sequence[Memo]]]) -> Memo:
        init = None if declared.init is None else self.terms.const(declared.init.value)
        bag = OpenAccumulator(declared.outer, declared.inner, init, tuple((f, tuple(o)) for f, o in entries))
        if all(f.is_true() and all(len(o) == 1 for o in operands) for f, operands in bag.entries):
            items = [] if init is None else [init]
            for _, operands in bag.entries:
                keys = [next(iter(o)) for o in operands]
                if not all(isinstance(k, int) for k in keys):
                    return {bag: self._true}
                items.append(keys[0] if len(keys) == 1 else self.terms.apply(declared.inner or "", keys))
            empty = not items and law_of(declared.outer).identity is None
            return {UNWRITTEN if empty else self.terms.apply(declared.outer, items): self._true}
        return {bag: self._true}

    # -- what a value is ------------------------------------------------------------------------------------

    def may_be(self, value: Memo, term: Term) -> FNode:
        """Return a formula that holds wherever the value is the term."""
        return some_of(both(formula, self._key_may_be(key, term)) for key, formula in value.items())

    def _key_may_be(self, key: Any, term: Term) -> FNode:
        if isinstance(key, OpenAccumulator):
            return self._bag_is(key, term)
        if not isinstance(key, Applied):
            return self._true if key == term else self._false
        if find_law(key.op) is not None:
            return self._reduced_may_be(key, term)
        return some_of(
            both(*(self._key_may_be(k, a) for k, a in zip(key.operands, args, strict=True)))
            for args in self.terms.spellings(key.op, term)
            if len(args) == len(key.operands)
        )

    def _reduced_may_be(self, key: Applied, term: Term) -> FNode:
        """Take the known operands off the wanted term, and ask whether the bag is what remains."""
        known = [k for k in key.operands if isinstance(k, int)]
        (only, *others) = [k for k in key.operands if not isinstance(k, int)]
        if (
            law_of(key.op).order in ("linear", "parity")
            and len(known) == 1
            and not others
            and isinstance(only, OpenAccumulator)
        ):
            taken = unary(self.terms, "-", known[0]) if key.op == "+" else known[0]
            return self._true if UNWRITTEN in known else self._key_may_be(only, self.terms.apply(key.op, (term, taken)))
        if (
            others
            or not isinstance(only, OpenAccumulator)
            or not self._is_plain(only, key.op)
            or self._vanishes(known, key.op)
            or not law_of(key.op).commutes
        ):
            return self._true
        left = self.terms.multiset(term, key.op)
        left.subtract(self.terms.items(known[0], key.op))
        rest = list(left.elements())
        return self._key_may_be(only, rest[0]) if len(rest) == 1 and min(left.values()) >= 0 else self._false

    def _vanishes(self, known: Sequence[Term], op: str) -> bool:
        return any(self.terms.nodes[k] == ("const", (law_of(op).absorber,)) or k == UNWRITTEN for k in known)

    def _is_plain(self, bag: OpenAccumulator, op: str) -> bool:
        """Say whether a bag's value folds with nothing under an operator: it is neither a number nor made by it."""
        if op in (bag.outer, bag.inner) or bag.init is not None or law_of(op).idempotent:
            return False
        keys = [key for _, operands in bag.entries for o in operands for key in o]
        atoms = all(isinstance(k, int) and self.terms.nodes[k][0] == "atom" for k in keys)
        return atoms and any(f.is_true() for f, _ in bag.entries)

    def _bag_is(self, bag: OpenAccumulator, term: Term) -> FNode:
        terms, law = self.terms, law_of(bag.outer)
        if not law.commutes or any(
            not isinstance(key, int) for _, operands in bag.entries for o in operands for key in o
        ):
            return self._true
        if law.order == "linear" and any(number != 1 for number in self._coefficients(bag)):
            return self._linear_is(bag, term)
        if law.order == "parity" and self._contributions(bag) <= MOST_CONTRIBUTIONS:
            return self._parity_is(bag, term)
        wanted = terms.multiset(term, bag.outer)
        if any(not isinstance(n, int) or n < 0 for item, n in wanted.items()):
            return self._false
        uses: dict[Term, list[FNode]] = {item: [] for item in wanted}
        rules: list[FNode] = []
        if bag.init is not None:
            rules.append(self._use(terms.multiset(bag.init, bag.outer), self._true, uses, bag.outer))
        for active, operands in bag.entries:
            fits = []
            for product, ways in self._products_of(bag.inner, operands).items():
                if terms.is_const(product) and terms.items(product, bag.outer):
                    return self._true  # numbers fold, so items are not counted one by one
                items = terms.multiset(product, bag.outer)
                if product != UNWRITTEN and all(item in wanted for item in items):
                    some = some_of(both(*(o[k] for o, k in zip(operands, keys, strict=True))) for keys in ways)
                    fits.append(some)
                    self._use(items, both(active, some), uses, bag.outer)
            rules.append(some_of((no(active), *fits)))
        if any(terms.is_const(item) for item in wanted) and bag.entries:
            return self._true
        for item, count in wanted.items():
            rules.append(some_of(uses[item]) if law.idempotent else exactly(count, uses[item]))
        return both(*rules)

    def _parity_is(self, bag: OpenAccumulator, term: Term) -> FNode:
        """Say that what is wanted comes in an odd number of times, and everything else an even one."""
        terms, outer = self.terms, bag.outer
        wanted = set(terms.items(term, outer))
        uses: dict[Term, list[FNode]] = {item: [] for item in wanted}
        for item in () if bag.init is None else terms.items(bag.init, outer):
            uses.setdefault(item, []).append(self._true)
        rules: list[FNode] = []
        for active, operands in bag.entries:
            fits = []
            for product, ways in self._products_of(bag.inner, operands).items():
                items = terms.items(product, outer)
                if any(terms.is_const(item) for item in items):
                    return self._true  # numbers fold, so items are not counted one by one
                if product != UNWRITTEN:
                    some = some_of(both(*(o[k] for o, k in zip(operands, keys, strict=True))) for keys in ways)
                    fits.append(some)
                    for item in items:
                        uses.setdefault(item, []).append(both(active, some))
            rules.append(some_of((no(active), *fits)))
        if any(terms.is_const(item) for item in wanted) and bag.entries:
            return self._true
        return both(*rules, *(is_odd(found) if item in wanted else no(is_odd(found)) for item, found in uses.items()))

    def _coefficients(self, bag: OpenAccumulator) -> set[Any]:
        """Return the coefficients that items may join a sum with."""
        products = [p for _, operands in bag.entries for p in self._products_of(bag.inner, operands)]
        return {n for p in products if p != UNWRITTEN for n in self.terms.multiset(p, bag.outer).values()}

    def _linear_is(self, bag: OpenAccumulator, term: Term) -> FNode:
        """Say of each item that its coefficients add up to the wanted one."""
        terms, outer = self.terms, bag.outer
        if self._contributions(bag) > MOST_CONTRIBUTIONS:
            return self._true
        wanted = terms.multiset(term, outer)
        uses: dict[Term, list[tuple[FNode, Any]]] = {item: [] for item in wanted}
        rules: list[FNode] = []
        for item, number in (Counter[Term]() if bag.init is None else terms.multiset(bag.init, outer)).items():
            uses.setdefault(item, []).append((self._true, number))
        for active, operands in bag.entries:
            fits = []
            for product, ways in self._products_of(bag.inner, operands).items():
                items = terms.multiset(product, outer)
                if any(terms.is_const(item) for item in items):
                    return self._true  # numbers fold, so items are not counted one by one
                if product != UNWRITTEN:
                    some = some_of(both(*(o[k] for o, k in zip(operands, keys, strict=True))) for keys in ways)
                    fits.append(some)
                    for item, number in items.items():
                        uses.setdefault(item, []).append((both(active, some), number))
            rules.append(some_of((no(active), *fits)))
        if any(terms.is_const(item) for item in wanted) and bag.entries:
            return self._true
        return both(*rules, *(self._adds_up(wanted[item], found) for item, found in uses.items()))

    def _adds_up(self, wanted: Any, uses: Sequence[tuple[FNode, Any]]) -> FNode:
        """Return that the numbers of those that hold add up to a wanted one; TRUE where there are too many sums."""
        reached: dict[Fraction, FNode] = {Fraction(0): self._true}
        for formula, number in uses:
            grown: dict[Fraction, list[FNode]] = {}
            for total, before in reached.items():
                grown.setdefault(total, []).append(both(before, no(formula)))
                grown.setdefault(total + Fraction(number), []).append(both(before, formula))
            reached = {total: some_of(formulas) for total, formulas in grown.items()}
            if len(reached) > MOST_SUMS:
                return self._true
        return reached.get(Fraction(wanted), self._false)

    def _contributions(self, bag: OpenAccumulator) -> int:
        """Return in how many ways something may join a bag."""
        return sum(prod(len(o) for o in operands) for _, operands in bag.entries)

    def _use(self, items: Counter[Term], when: FNode, uses: dict[Term, list[FNode]], outer: str) -> FNode:
        for item, count in items.items():
            if item not in uses:
                return self._false
            uses[item] += [when] * count
        return self._true

    def _products_of(
        self, inner: str | None, operands: tuple[dict[Any, FNode], ...]
    ) -> dict[Term, list[tuple[Term, ...]]]:
        """Return what an entry may bring, and by which operands."""
        key = (inner, *(tuple(o) for o in operands))
        if key not in self._products:
            if prod(len(o) for o in operands) > MOST_PRODUCTS:
                raise NotCovered("an accumulator of products that may be too much")
            found: dict[Term, list[tuple[Term, ...]]] = {}
            for keys in itertools.product(*operands):
                product = keys[0] if len(keys) == 1 else self.terms.apply(inner or "", keys)
                found.setdefault(product, []).append(keys)
            self._products[key] = found
        return self._products[key]
