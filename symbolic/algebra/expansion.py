"""A program on states as one on words: a variable for each word of a variable, an array for each word of an array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from symbolic.algebra.states import StateLaw
from symbolic.errors import SwizzleError
from symbolic.ir.functions import StateFunction, row_of
from symbolic.ir.program import (
    Accumulate,
    AccumulatorValue,
    Apply,
    Assign,
    Binary,
    Const,
    DeclareAccumulator,
    DeclareArray,
    DType,
    Expr,
    FunctionName,
    If,
    Load,
    OperatorName,
    Program,
    Select,
    Shuffle,
    Stmt,
    Store,
    Var,
)
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    map_bodies,
    map_own,
    own_expressions,
    rebuild,
    spelling,
    statements,
    subexpressions,
)


def in_words(program: Program) -> Program:
    """Return the program with words for states."""
    return _Expansion(program, state_names(program)).expanded() if _has_states(program) else program


def state_operators(program: Program) -> tuple[OperatorName, ...]:
    """Return the operators of a program's states, in order."""
    found = dict[OperatorName, None]()
    for stmt in statements(program.body) if _has_states(program) else ():
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                if (operator := _made_by(part)) is not None:
                    found[operator] = None
    return tuple(found)


def state_names(program: Program) -> dict[str, OperatorName]:
    """Return the variables, arrays and accumulators of states, each with the operator of these.

    Raises SwizzleError where states of two operators meet.
    """
    held: dict[str, OperatorName] = {}
    if not _has_states(program):
        return held
    known = -1
    while known < len(held):
        known = len(held)
        for name, value in _given(program.body):
            found = _operator(value, held)
            if found is not None:
                held.setdefault(name, found)
    for stmt in statements(program.body):
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                _check(part, held)
    for name, value in _given(program.body):
        _agree(held.get(name), _operator(value, held), value)
    return held


def _given(body: Body) -> Iterator[tuple[str, Expr]]:
    """Yield the names that are given states, each with what it is given."""
    for stmt in statements(body):
        match stmt:
            case Assign(name=name, value=value) | Store(array=name, value=value) if value.dtype is DType.STATE:
                yield name, value
            case Accumulate(accumulator=name, operands=(value,)) if value.dtype is DType.STATE:
                yield name, value
            case _:
                pass


def _made_by(expr: Expr) -> OperatorName | None:
    """Return the operator of a state that is made, combined or taken apart here."""
    match expr:
        case Apply(FunctionName(row=StateFunction(operator=operator))):
            return operator
        case Binary(op=OperatorName() as op, dtype=DType.STATE):
            return op
    return None


def _operator(expr: Expr, held: dict[str, OperatorName]) -> OperatorName | None:
    """Return the operator of a state, None where it is not known yet."""
    match expr:
        case Var(name=name) | Load(array=name) | AccumulatorValue(accumulator=name):
            return held.get(name)
        case Select(then=then, otherwise=otherwise):
            return _operator(then, held) or _operator(otherwise, held)
        case Shuffle(value=value):
            return _operator(value, held)
    return _made_by(expr)


def _check(expr: Expr, held: dict[str, OperatorName]) -> None:
    match expr:
        case Apply(FunctionName(row=StateFunction()), (whole,)) if whole.dtype is DType.STATE:
            _agree(_made_by(expr), _operator(whole, held), whole)
        case Binary(left=left, right=right, dtype=DType.STATE):
            for side in (left, right):
                _agree(_made_by(expr), _operator(side, held), side)
        case Select(then=then, otherwise=otherwise, dtype=DType.STATE):
            _agree(_operator(then, held), _operator(otherwise, held), otherwise)


def _agree(wanted: OperatorName | None, found: OperatorName | None, expr: Expr) -> None:
    if wanted is not None and found is not None and wanted != found:
        raise SwizzleError(
            f"a state of {found} where one of {wanted} is needed",
            place=expr.place,
            expected="states of one operator: their words are not the same",
            fix=f"make it with {wanted}.lift(...)",
        )


def _has_states(program: Program) -> bool:
    return any(_has_state(expr) for stmt in statements(program.body) for expr in own_expressions(stmt))


def _has_state(expr: Expr) -> bool:
    return any(part.dtype is DType.STATE for part in subexpressions(expr))


def _once(stmts: Iterable[Assign | Store]) -> list[Stmt]:
    """Return statements that are one: what accumulates a state is counted once."""
    return [replace(stmt, accumulates=stmt.accumulates and not number) for number, stmt in enumerate(stmts)]


class _Expansion:
    """Writes a program's states out; statements that come first are collected in `before`."""

    def __init__(self, program: Program, held: dict[str, OperatorName]) -> None:
        self.program, self.held = program, held
        self.fresh = FreshNames(all_names(program))
        laws: dict[str, StateLaw] = {name: operator.law for name, operator in held.items()}
        self.names = {name: [self.fresh.take(f"{name}_{word}") for word in law.names] for name, law in laws.items()}
        self.before: list[Stmt] = []
        self.known: dict[object, tuple[Expr, ...]] = {}

    def expanded(self) -> Program:
        return replace(self.program, body=self._body(self.program.body))

    def _body(self, body: Body) -> Body:
        found = list[Stmt]()
        for stmt in body:
            outer, self.before, self.known = (self.before, self.known), [], {}
            made = self._statement(stmt)
            found += [*self.before, *made]
            self.before, self.known = outer
        return tuple(found)

    def _statement(self, stmt: Stmt) -> list[Stmt]:
        match stmt:
            case Assign(name=name, value=value) if value.dtype is DType.STATE:
                return self._assigned(name, value, stmt)
            case Store(array=name, value=value) if value.dtype is DType.STATE:
                indices = tuple(self._kept(self._plain(index), "at") for index in stmt.indices)
                words = self._words(value)
                arrays = zip(self.names[name], words, strict=True)
                return _once(replace(stmt, array=each, indices=indices, value=word) for each, word in arrays)
            case DeclareArray(name=name, dtype=DType.STATE):
                law = self.held[name].law if name in self.held else None
                kinds = zip(self.names[name], law.kinds, strict=True) if law is not None else ()
                return [replace(stmt, name=each, dtype=kind) for each, kind in kinds]
            case DeclareAccumulator() | Accumulate():
                assert not isinstance(stmt, DeclareAccumulator) or stmt.dtype is not DType.STATE
                return [map_own(stmt, self._in_place)]
        return [map_bodies(map_own(stmt, self._plain), self._body)]

    def _assigned(self, name: str, value: Expr, stmt: Assign) -> list[Stmt]:
        """Give a state to a variable: a choice between states that are to be made is a branch."""
        targets, place = self.names[name], stmt.place
        if isinstance(value, Select) and not all(_is_at_hand(each) for each in (value.then, value.otherwise)):
            condition = self._kept(self._plain(value.condition), f"{name}_if")
            branches = list[Body]()
            for each in (value.then, value.otherwise):
                trivial = isinstance(each, Var) and each.name == name
                branches.append(() if trivial else self._body((replace(stmt, value=each),)))
            return [If(condition, branches[0], branches[1], place)]
        words = self._words(value)
        if not all(_is_at_hand(word) for word in words) and not isinstance(value, Select | Load):
            words = tuple(self._kept(word, target) for word, target in zip(words, targets, strict=True))
        return _once(replace(stmt, name=target, value=word) for target, word in zip(targets, words, strict=True))

    def _kept(self, value: Expr, wish: str) -> Expr:
        """Return a variable that holds a value from here on, or what is as short."""
        if isinstance(value, Const | Var):
            return value
        name = self.fresh.take(wish)
        self.before.append(Assign(name, value, value.place))
        return Var(name, value.dtype, value.place)

    def _plain(self, expr: Expr) -> Expr:
        """Return an expression that is no state, whose states are computed before it."""
        if not _has_state(expr):
            return expr
        if isinstance(expr, Select):  # what is read in a branch is read nowhere else
            return self._in_place(expr)
        if (word := self._word(expr)) is not None:
            whole = expr.operands[0]  # type: ignore[union-attr]
            key = spelling(whole)
            if key not in self.known:
                self.known[key] = self._words(whole)
            return self.known[key][word]
        return rebuild(expr, self._plain)

    def _in_place(self, expr: Expr) -> Expr:
        """Return an expression that is no state, whose states are written out within it."""
        if (word := self._word(expr)) is not None:
            return self._word_in_place(expr.operands[0], word)  # type: ignore[union-attr]
        return rebuild(expr, self._in_place)

    @staticmethod
    def _word(expr: Expr) -> int | None:
        """Return which word of a state an expression is."""
        row = row_of(expr.function) if isinstance(expr, Apply) else None
        return row.word if isinstance(row, StateFunction) else None

    def _words(self, expr: Expr) -> tuple[Expr, ...]:
        """Return the words of a state, of which those that take work are kept."""
        place, law = expr.place, self._law(expr)
        wishes = [f"{word}_of" for word in law.names]
        match expr:
            case Var(name=name):
                return tuple(Var(each, kind, place) for each, kind in zip(self.names[name], law.kinds, strict=True))
            case Apply(operands=operands):
                return tuple(self._kept(self._plain(each), wish) for each, wish in zip(operands, wishes, strict=True))
            case Binary(left=left, right=right):
                given = (*self._words(left), *self._words(right))
                joined = (
                    Apply(function, given, kind, place) for function, kind in zip(law.combine, law.kinds, strict=True)
                )
                return tuple(self._kept(each, wish) for each, wish in zip(joined, wishes, strict=True))
            case Shuffle(value=value, lane=lane, mask=mask):
                source = self._kept(self._plain(lane), "source")
                named = None if mask is None else self._kept(self._plain(mask), "mask")
                moved = (
                    replace(expr, value=word, lane=source, mask=named, dtype=word.dtype) for word in self._words(value)
                )
                return tuple(self._kept(each, wish) for each, wish in zip(moved, wishes, strict=True))
            case Load(array=array, indices=indices):
                at = tuple(self._kept(self._plain(index), "at") for index in indices)
                loads = (Load(each, at, kind, place) for each, kind in zip(self.names[array], law.kinds, strict=True))
                return tuple(self._kept(each, wish) for each, wish in zip(loads, wishes, strict=True))
            case Select() if all(_is_at_hand(each) for each in (expr.then, expr.otherwise)):
                condition = self._kept(self._plain(expr.condition), "chosen")
                then, otherwise = self._words(expr.then), self._words(expr.otherwise)
                return tuple(
                    Select(condition, yes, no, yes.dtype, place) for yes, no in zip(then, otherwise, strict=True)
                )
        return tuple(self._word_in_place(expr, word) for word in range(len(law.names)))

    def _word_in_place(self, expr: Expr, word: int) -> Expr:
        """Return one word of a state, written out."""
        law, place = self._law(expr), expr.place
        kind = law.kinds[word]
        match expr:
            case Var(name=name):
                return Var(self.names[name][word], kind, place)
            case Apply(operands=operands):
                return self._in_place(operands[word])
            case Binary(left=left, right=right):
                sides = ((side, each) for side in (left, right) for each in range(len(law.names)))
                given = tuple(self._word_in_place(side, each) for side, each in sides)
                return Apply(law.combine[word], given, kind, place)
            case Select(condition=condition, then=then, otherwise=otherwise):
                yes, no = self._word_in_place(then, word), self._word_in_place(otherwise, word)
                return Select(self._in_place(condition), yes, no, kind, place)
            case Shuffle(value=value):
                moved = self._word_in_place(value, word)
                mask = None if expr.mask is None else self._in_place(expr.mask)
                return replace(expr, value=moved, lane=self._in_place(expr.lane), mask=mask, dtype=kind)
            case Load(array=array, indices=indices):
                return Load(self.names[array][word], tuple(map(self._in_place, indices)), kind, place)
        raise AssertionError(expr)

    def _law(self, expr: Expr) -> StateLaw:
        operator = _operator(expr, self.held)
        assert operator is not None, "every state is made by an operator"
        law: StateLaw = operator.law
        return law


def _is_at_hand(expr: Expr) -> bool:
    """Say whether a value is a variable or a number, which nothing has to be done for."""
    return isinstance(expr, Var | Const)
