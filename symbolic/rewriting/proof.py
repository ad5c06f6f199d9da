"""That two expressions of patterns are equal at all lengths and for all data, proved.

Both are taken element by element (`elements.py`): what is left are claims about indices, which the house's solver layer
decides over the integers. Reductions are compared by lemmas on folds, each of which `induction.py` proves by
induction:

- congruence: folds of equal steps over equal elements are equal;
- promotion: a fold of folds of chunks is the fold of all, by an associative operator with a neutral start;
- in order: a fold that goes on in each chunk where it stopped in the one before is the fold of all;
- permutation: the order does not count, by an associative and commutative operator;
- starts: a fold of folds of chunks, whatever they start with, is the fold of all and of as many starts more, by such an
  operator;
- pointwise: element i of a fold of arrays is the fold of elements i, where a step combines each with its own;
- one element: the fold of one element is that, from a neutral start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from symbolic.expressions.expression import (
    ONE,
    TRUE,
    ZERO,
    Expression,
    add,
    both,
    either,
    equal,
    floor_divide,
    less,
    less_equal,
    modulo,
    multiply,
    negation,
    number_name,
    replaced,
    subexpressions,
    substituted,
    subtract,
)
from symbolic.expressions.formulas import INTEGER, decide
from symbolic.patterns.lengths import LengthFact, is_whole, normal, quotient
from symbolic.patterns.terms import Term
from symbolic.patterns.types import ArrayOf, TupleOf, ValueType
from symbolic.rewriting.elements import (
    DataElement,
    ElementArray,
    Elementwise,
    Fold,
    Made,
    NotPointwise,
    Ranges,
    rejoined,
)

EFFORT: Final = 1.0
"""The solver's steps for one claim, as many as it does in so many seconds."""


class Equality(Struct, frozen=True):
    """Whether two expressions were proved equal, by which lemmas; else why not."""

    proved: bool
    lemmas: tuple[str, ...]
    why: str = ""
    claims: int = 0


class _Unproved(Exception):
    pass


def prove_equal(
    first: Term, second: Term, inputs: dict[str, ValueType], laws: Iterable[str] = (), sizes: Iterable[str] = (),
) -> Equality:  # fmt: skip
    """Prove that two expressions are equal for all inputs of some types.

    All operators of reductions are taken to have the laws; names of lengths are at least 0, and `sizes` at least 1.
    """
    prover = EqualityProver(frozenset(laws), tuple(sizes))
    return prover.compared(prover.equal, (first, second), inputs)


def prove_order(first: Term, second: Term, inputs: dict[str, ValueType], sizes: Iterable[str] = ()) -> Equality:
    """Prove that an array has the elements of another one, each once, in some order."""
    prover = EqualityProver(frozenset(), tuple(sizes))
    return prover.compared(prover.permuted, (first, second), inputs)


def follows(fact: LengthFact, known: Collection[LengthFact], sizes: Iterable[str] = ()) -> bool:
    """Tell whether a fact on lengths is known, or follows from those that are."""
    if fact.kind == "divides" or fact in known:
        return fact in known
    prover = EqualityProver(frozenset(), tuple(sizes))
    prover.given = [less_equal(each.first, each.second) for each in known if each.kind == "is at most"]
    try:
        prover.holds(less_equal(fact.first, fact.second), "lengths")
    except _Unproved:
        return False
    return True


class EqualityProver:
    """Compares values element by element; what it finds unequal, or cannot prove, ends the comparison."""

    def __init__(self, laws: frozenset[str] = frozenset(), sizes: tuple[str, ...] = ()) -> None:
        self.laws = laws
        self.sizes = sizes
        self.ranges = Ranges()
        self.lemmas = self.ranges.lemmas
        self.given: list[Expression] = []
        self.claims = 0

    def compared(
        self, how: Callable[[Any, Any], None], terms: Sequence[Term], inputs: dict[str, ValueType]
    ) -> Equality:
        """Compare the values of two expressions."""
        names = {name: self.data(name, kind) for name, kind in inputs.items()}
        evaluator = Elementwise(self.ranges)
        return self.attempt(lambda: how(*(evaluator.value(each, names) for each in terms)))

    def attempt(self, comparison: Callable[[], None]) -> Equality:
        """Return whether a comparison comes to an end."""
        try:
            comparison()
        except (_Unproved, NotPointwise) as why:
            return Equality(False, tuple(sorted(self.lemmas)), str(why), self.claims)
        return Equality(True, tuple(sorted(self.lemmas)), claims=self.claims)

    def data(
        self, name: str, kind: ValueType, indices: tuple[Expression, ...] = (), shift: tuple[Expression, ...] = ()
    ) -> Any:
        """Return an input; its elements are those of a whole one, in which it begins `shift` later along its axes."""
        match kind:
            case ArrayOf(length, element):
                by = shift[len(indices)] if len(indices) < len(shift) else ZERO
                return ElementArray(
                    length, lambda i: self.data(name, element, (*indices, rejoined(normal(add(i, by)))), shift)
                )
            case TupleOf():
                some = enumerate(kind.items)
                return tuple(self.data(f"{name}.{place}", each, indices, shift) for place, each in some)
        return DataElement(name, indices)

    # -- indices -----------------------------------------------------------------------------------------------------

    def holds(self, claim: Expression, about: str) -> None:
        """Prove a claim about indices, or raise."""
        if claim is TRUE:
            return
        self.claims += 1
        (claim,) = self.by_division(claim)
        premises = [*self.given, *self._known(claim.names.union(*(each.names for each in self.given)))]
        names = claim.names.union(*(each.names for each in premises))
        answer = decide([(claim, TRUE)], dict.fromkeys(names, INTEGER), premises, effort=EFFORT)
        if answer.verdict != "proved":
            values = ", ".join(f"{name} = {value}" for name, value in sorted(answer.values.items()))
            raise _Unproved(f"{about}: {claim} is {answer.verdict}{f' for {values}' if values else ''}")

    def by_division(self, *some: Expression) -> Sequence[Expression]:
        """Return expressions in which an index that is divided by a size is written as quotient and remainder."""
        nodes = {node for each in some for node in subexpressions(each) if node.operator in ("//", "%")}
        for node in sorted(nodes, key=lambda node: node.serial):
            index, size = node.arguments
            over = quotient(self.ranges.below.get(index.value, ZERO), size)
            if index.value in self.ranges.below and is_whole(over):
                i, j = self.ranges.index(over), self.ranges.index(size)
                parts = {floor_divide(index, size): i, modulo(index, size): j}
                whole = {index.value: add(multiply(i, size), j)}
                return self.by_division(*(substituted(replaced(each, parts), whole) for each in some))
        return some

    def _known(self, names: frozenset[str]) -> Iterator[Expression]:
        """Yield what is known of names, and of those that they are known by."""
        reached, pending = set[str](), set(names)
        orders = {name.value: key for key, name in self.ranges.opaque.items() if isinstance(key, tuple)}
        while pending:
            name = pending.pop()
            reached.add(name)
            made = number_name(name)
            if name in self.ranges.below:
                length = self.ranges.below[name]
                yield self.below(made, length)
                pending |= length.names - reached
                if name in orders:
                    pending |= orders[name][3].names - reached
            else:
                yield less_equal(ONE if name in self.sizes else ZERO, made)
        some = [(number_name(name), orders[name]) for name in sorted(reached) if name in orders]
        for place, (one, (_, where, length, index)) in enumerate(some):
            for other, (_, there, its, second) in some[:place]:
                if (where, length) == (there, its):  # a permutation is one function, and takes no two from one place
                    yield equal(equal(one, other), equal(index, second))

    @staticmethod
    def below(index: Expression, length: Expression) -> Expression:
        """Return the claim that an index is one of so many elements."""
        return both(less_equal(ZERO, index), less(index, length))

    def same_index(self, a: Expression, b: Expression, about: str) -> None:
        if a is not b and normal(subtract(a, b)) is not ZERO:
            self.holds(equal(a, b), about)

    # -- values ------------------------------------------------------------------------------------------------------

    def equal(self, a: Any, b: Any) -> None:
        """Prove that two values are equal, or raise."""
        if isinstance(a, Fold) or isinstance(b, Fold):
            return self.equal_folds(a, b)
        if type(a) is not type(b):
            raise _Unproved(f"{_shown(a)} and {_shown(b)}")
        if isinstance(a, ElementArray):
            self.same_index(a.length, b.length, "lengths")
            i = self.ranges.index(a.length)
            try:
                return self.equal(a.at(i), b.at(i))
            except _Unproved:  # chunk by chunk, which is the same index
                sizes = [size for size in map(number_name, self.sizes) if is_whole(quotient(a.length, size))]
                if not sizes or a.length is sizes[0]:
                    raise
                i = add(
                    multiply(self.ranges.index(quotient(a.length, sizes[0])), sizes[0]), self.ranges.index(sizes[0])
                )
                return self.equal(a.at(i), b.at(i))
        if isinstance(a, Expression):
            return self.same_index(a, b, "numbers")
        if isinstance(a, tuple):
            return self.several(a, b)
        if isinstance(a, DataElement):
            if a.name != b.name:
                raise _Unproved(f"elements of {a.name} and {b.name}")
            return self.several(a.indices, b.indices)
        assert isinstance(a, Made)
        if a.what != b.what:
            raise _Unproved(f"{_shown(a)} and {_shown(b)}")
        return self.several(a.arguments, b.arguments)

    def several(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> None:
        if len(a) != len(b):
            raise _Unproved(f"{len(a)} values and {len(b)}")
        for one, other in zip(a, b, strict=True):
            self.equal(one, other)

    # -- folds -------------------------------------------------------------------------------------------------------

    def equal_folds(self, a: Any, b: Any) -> None:
        a, b = self.flat(a), self.flat(b)
        if not isinstance(a, Fold) or not isinstance(b, Fold):
            if not isinstance(a, Fold) and not isinstance(b, Fold):
                return self.equal(a, b)
            raise _Unproved(f"{_shown(a)} and {_shown(b)}")
        self.same_index(a.array.length, b.array.length, "lengths of reductions")
        self.same_index(a.starts, b.starts, "how often the start is reduced")
        self.equal(a.start, b.start)
        try:
            self.lemmas.add("congruence")
            i, accumulated = self.ranges.index(a.array.length), self.accumulator()
            return self.equal(a.step(accumulated, a.array.at(i)), b.step(accumulated, b.array.at(i)))
        except _Unproved:
            if not {"associative", "commutative"} <= self.laws or a.key is None or a.key != b.key:
                raise
        self.permuted(a.array, b.array)

    def accumulator(self) -> DataElement:
        return DataElement(f"accumulated'{next(self.ranges.serial)}")

    def flat(self, fold: Any) -> Any:
        """Return a fold over elements that are no folds by the same operator, where lemmas allow it."""
        if isinstance(fold, Made) and (whole := self.gone_on(fold)) is not None:
            return whole
        if not isinstance(fold, Fold):
            return fold
        k = self.ranges.index(fold.array.length)
        accumulated = self.accumulator()
        element = fold.array.at(k)
        if (
            isinstance(element, Fold)
            and fold.key is not None
            and element.key == fold.key
            and self.laws >= {"associative"}
        ):
            one_length = not {k.value} & (element.array.length.names | element.starts.names)
            if self.laws & {"neutral", "commutative"} and one_length and self.is_same(element.start, fold.start):
                starts = ZERO  # of the chunks: they count, unless they are neutral
                if "neutral" not in self.laws:
                    starts = add(fold.starts, multiply(fold.array.length, add(element.starts, ONE)))
                self.lemmas.add("starts" if "neutral" not in self.laws else "promotion")
                return self.flat(Fold(fold.step, fold.start, self.joined(fold, lambda e: e), fold.key, starts))
        once = fold.step(accumulated, element)
        in_order = isinstance(once, Fold) and once.start == accumulated and once.key is not None
        if in_order and k.value not in once.array.length.names:
            self.lemmas.add("in order")
            inner = self.joined(fold, lambda e: fold.step(accumulated, e))
            return self.flat(Fold(once.step, fold.start, inner, once.key))
        if fold.array.length is ONE and "neutral" in self.laws and fold.key is not None:
            self.lemmas.add("one element")
            return self.flat(fold.array.at(ZERO))
        return fold

    def gone_on(self, made: Made) -> Fold | None:
        """Return the fold that two make, one of elements and one of those behind them, combined by their operator."""
        match made.arguments:
            case (Fold() as a, Fold() as b) if a.key is not None and a.key == b.key:
                a, b = self.flat(a), self.flat(b)
                one, other = self.accumulator(), self.accumulator()
                k = self.ranges.index(b.array.length)
                if (
                    self.laws >= {"associative", "neutral"}
                    and a.step(one, other) == Made(made.what, (one, other))
                    and self.is_same(a.start, b.start)
                    and self.is_same(a.array.at(add(a.array.length, k)), b.array.at(k))
                ):
                    self.lemmas.add("promotion")
                    return Fold(a.step, a.start, ElementArray(add(a.array.length, b.array.length), a.array.at), a.key)
        return None

    def joined(self, fold: Fold, chunk: Any) -> ElementArray:
        """Return the elements of all chunks."""
        size = chunk(fold.array.at(self.ranges.index(fold.array.length))).array.length

        def at(k: Expression) -> Any:
            i, j = self.ranges.split(k, size)
            return chunk(fold.array.at(i)).array.at(j)

        return ElementArray(normal(multiply(fold.array.length, size)), at)

    def is_same(self, a: Any, b: Any) -> bool:
        try:
            self.equal(a, b)
        except _Unproved:
            return False
        return True

    def permuted(self, a: ElementArray, b: ElementArray) -> None:
        """Prove that an array has the elements of another one in some order."""
        self.lemmas.add("permutation")
        i, k, other = (self.ranges.index(a.length) for _ in range(3))
        places = [place for place, each in enumerate(_leaves(a.at(i))) if each is i]
        if not places:
            raise _Unproved("an order that is not seen")

        def taken(index: Expression) -> Expression:
            leaves = _leaves(b.at(index))
            leaf = leaves[places[0]] if len(leaves) > places[0] else None
            if not isinstance(leaf, Expression):
                raise _Unproved("another order")
            return leaf

        first, second = taken(k), taken(other)
        self.holds(self.below(first, a.length), "an element that there is not")
        self.equal(a.at(first), b.at(k))
        source, target = self.by_division(first, k)
        if target.names & self.ranges.below.keys() <= self.ranges.recovered(source):
            return
        self.holds(either(negation(equal(first, second)), equal(k, other)), "an element that is taken twice")


def _leaves(value: Any) -> list[Any]:
    """Return the indices in an element, in order."""
    match value:
        case DataElement():
            return list(value.indices)
        case Made():
            return [leaf for each in value.arguments for leaf in _leaves(each)]
        case tuple():
            return [leaf for each in value for leaf in _leaves(each)]
    return []


def _shown(value: Any) -> str:
    return type(value).__name__ if isinstance(value, ElementArray | Fold) else repr(value)
