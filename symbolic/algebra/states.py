"""States: all words of an operator on several as one value, which holes may move about and combine in any way.

While a sketch has holes, its words travel together: a state is one value of data (`DType.STATE`), made of words by one
function, taken apart by others, and combined by an operator that the machine knows like any other. So words of
different states cannot meet. A program without holes has words only (`in_words`, in `symbolic.algebra.expansion`);
whatever was found of states is verified of words.

A specification is run on words, too, and what it says is then said of states (`of_states`).

Functions on words make words of an element, one word of two parts together, or a result of words. They are functions on
data that belong to one operator (`swizzle.operators`), not to the language: the row holds their types, what they are on
NumPy's arrays, and their bodies in C++ and Python. A proof knows of the words of two parts together that the operator
is associative (`Terms`), and of the others what it knows of every function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from msgspec.structs import replace

from symbolic.algebra.joined_words import JoinedWords
from symbolic.algebra.operator_laws import Law, Order
from symbolic.ir.functions import StateFunction, WordFunction, joined_of, row_of
from symbolic.ir.program import Apply, DType, Expr, FunctionName, OperatorName, Program
from symbolic.ir.walk import functions_of, rewrite_program

Term: TypeAlias = int


class StateLaw(Law, frozen=True, kw_only=True):
    """An operator on states. `combine` are the functions that give the words of two parts together, of the types
    `kinds`, each of all words of the first part and then those of the second; `names` are the words' names, and `empty`
    the words of no element, None where there are none."""

    combine: tuple[FunctionName, ...]
    kinds: tuple[DType, ...]
    names: tuple[str, ...]
    empty: tuple[int | float, ...] | None = None

    @property
    def row(self) -> tuple[Any, ...]:
        """What terms, and so answers, depend on."""
        return *super().row, self.empty, self.names, *(each.row.row for each in self.combine)


def state_operator(
    name: str, order: Order, combine: Sequence[FunctionName], kinds: Sequence[DType], names: Sequence[str],
    empty: tuple[int | float, ...] | None = None,
) -> OperatorName:  # fmt: skip
    """Return the operator on states that combines words by functions."""
    found: OperatorName = StateLaw(
        name, _by_words, order, infix=False, own=True, types=frozenset((DType.STATE,)),
        combine=tuple(combine), kinds=tuple(kinds), names=tuple(names), empty=empty,
    ).name  # fmt: skip
    return found


def _by_words(a: Any, b: Any) -> Any:
    raise AssertionError("states are combined word by word")


def packing(operator: OperatorName) -> FunctionName:
    """Return the function that makes a state of its words."""
    law = operator.law
    return StateFunction(f"{law.symbol}.state", law.names, operator).name


def word_of(operator: OperatorName, word: int) -> FunctionName:
    """Return the function that takes a word of a state."""
    law = operator.law
    return StateFunction(f"{law.symbol}.{law.names[word]}", ("s",), operator, word).name


class _Table(Protocol):
    """The table of terms."""

    nodes: list[tuple[str, tuple[Any, ...]]]
    words: JoinedWords

    def intern(self, op: str, args: tuple[Any, ...], /) -> Term: ...

    def apply(self, op: str, args: Sequence[Term], /) -> Term: ...

    def const(self, value: Any, /) -> Term: ...


class States:
    """The states in a table of terms. A word of a state that was just made is that word, and a state that is made of
    all words of one is it again."""

    def __init__(self, terms: _Table) -> None:
        self.terms = terms
        self.open = False  # a state was made that may be too many for all of them to be in the table
        self._empty: dict[str, Term | None] = {}
        self._made: dict[tuple[str, int, Term], list[Term]] = {}
        self._known: dict[tuple[OperatorName, ...], dict[Term, Term]] = {}

    def empty(self, operator: Any) -> Term | None:
        """Return the state of no element; None where there is none."""
        if operator not in self._empty:
            words = operator.law.empty
            numbers = None if words is None else [self.terms.const(word) for word in words]
            self._empty[operator] = None if numbers is None else self.terms.apply(packing(operator), numbers)
        return self._empty[operator]

    def apply(self, op: FunctionName, packed: StateFunction, args: Sequence[Term]) -> Term:
        """Return a state of words, or a word of a state."""
        if packed.word is not None:
            made_by, words = self.terms.nodes[args[0]]
            return (
                words[packed.word] if isinstance(row_of(made_by), StateFunction) else self.terms.intern(op, tuple(args))
            )
        whole = self._taken_apart(packed, args)
        if whole is not None:
            return whole
        count, found = len(self.terms.nodes), self.terms.intern(op, tuple(args))
        if found == count:
            for word, term in enumerate(args):
                self._made.setdefault((packed.operator, word, term), []).append(found)
        return found

    def nested(self) -> bool:
        """Say whether a state was made of what is made of states."""
        packed = {state for states in self._made.values() for state in states}
        words = {word for state in packed for word in self.terms.nodes[state][1]}
        known, waiting = set[Term](), list(words)
        while waiting:
            part = waiting.pop()
            op, args = self.terms.nodes[part]
            if part in known or op in ("atom", "const", "unwritten"):
                continue
            if isinstance(row_of(op), StateFunction):
                return True
            known.add(part)
            waiting += args
        return False

    def _taken_apart(self, packed: StateFunction, words: Sequence[Term]) -> Term | None:
        """Return the state of which these are all words, in their places."""
        found = set[Term]()
        for place, word in enumerate(words):
            made_by, args = self.terms.nodes[word]
            own = row_of(made_by)
            if not isinstance(own, StateFunction) or own.word != place or own.operator != packed.operator:
                return None
            found.add(args[0])
        return found.pop() if len(found) == 1 else None

    def of_one_part(self, operator: OperatorName) -> list[Term]:
        """Return the states that were made of words, rather than combined."""
        found = {state: None for (own, *_), states in self._made.items() if own == operator for state in states}
        return list(found)

    def replaced(self, term: Term, old: Term, new: Term) -> Term:
        """Return a term with another one in the place of a state."""

        def made(part: Term, inner: list[Term]) -> Term:
            op, args = self.terms.nodes[part]
            return self.terms.apply(op, inner) if inner and inner != list(args) else part

        return self._rewritten(term, {old: new}, made)

    def _rewritten(self, term: Term, known: dict[Term, Term], made: Callable[[Term, list[Term]], Term]) -> Term:
        """Return what a term becomes, of what its parts became."""
        waiting = [term]
        while waiting:
            part = waiting[-1]
            op, args = self.terms.nodes[part]
            inner = () if op in ("atom", "const", "unwritten") else args
            missing = [each for each in inner if each not in known]
            if not missing:
                waiting.pop()
                if part not in known:
                    known[part] = made(part, [known[each] for each in inner])
            waiting += missing
        return known[term]

    def spellings(self, op: FunctionName, packed: StateFunction, term: Term) -> Iterable[tuple[Term, ...]]:
        """Return the arguments of which a function makes a term, as far as states are in the table."""
        made_by, args = self.terms.nodes[term]
        if packed.word is None:
            operator = packed.operator
            words = (word_of(operator, word) for word in range(len(operator.law.names)))
            return [tuple(self.terms.apply(word, (term,)) for word in words)]
        whole = [args] if made_by == op else []
        return [*whole, *((state,) for state in self._made.get((packed.operator, packed.word, term), ()))]

    def of_states(self, term: Term, operators: tuple[OperatorName, ...]) -> Term:
        """Return a term on words as one on states of these operators."""
        known = self._known.setdefault(operators, {})
        return self._rewritten(term, known, lambda part, inner: self._of_states(part, inner, known, operators))

    def _of_states(
        self, term: Term, inner: Sequence[Term], known: Mapping[Term, Term], operators: Sequence[OperatorName]
    ) -> Term:
        """Return a term on words as one on states, given what it is made of."""
        op, args = self.terms.nodes[term]
        joined = joined_of(op)
        if joined is None:
            return term if tuple(inner) == args or not inner else self.terms.apply(op, inner)
        operator = next((each for each in operators if op in each.law.combine), None)
        if operator is None:
            return term
        if self.terms.nodes[args[0]][0] == joined.pair:  # no kernel makes states of such words
            return term
        parts = [self.terms.nodes[part][1] for part in self.terms.words.parts(joined, args[0])]
        states = [self.terms.apply(packing(operator), [known[word] for word in words]) for words in parts]
        whole = self.terms.apply(operator, states)
        return self.terms.apply(word_of(operator, joined.word), (whole,))


INLINED: Final = "static __device__ __forceinline__"
"""How the definitions of functions on words begin in printed texts, and nothing else there."""


def named_apart(program: Program) -> tuple[Program, dict[FunctionName, WordFunction]]:
    """Return a program whose functions on words have names of their own in printed texts, with these functions by what
    they are in the program as it was: two operators may have one name. Which of two has a number depends on their texts
    alone.
    """
    rows = word_functions_of(program)
    apart, taken = dict[FunctionName, WordFunction](), {row.spelled for row in rows}
    for place, row in enumerate(sorted(rows, key=_text)):
        found = row.spelled
        if found in {each.spelled for each in apart.values()}:
            found = next(f"{found}_{n}" for n in range(2, place + 3) if f"{found}_{n}" not in taken)
            taken.add(found)
        apart[row.name] = replace(row, spelled=found)
    if all(apart[row.name].spelled == row.spelled for row in rows):
        return program, {row.name: row for row in rows}

    def renamed(expr: Expr) -> Expr:
        if not isinstance(expr, Apply) or expr.function not in apart:
            return expr
        return replace(expr, function=apart[expr.function].name)

    return rewrite_program(program, renamed), apart


def _text(row: WordFunction) -> tuple[Any, ...]:
    return row.spelled, row.body, row.operands, [kind.value for kind in (*row.given, row.result)]


def word_functions_of(program: Program) -> tuple[WordFunction, ...]:
    """Return the functions on words of a program, in order."""
    return tuple(name.row for name, _ in functions_of(program) if isinstance(name.row, WordFunction))
