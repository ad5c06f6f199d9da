"""What a kernel stores of a state, asked as the state itself.

`y[i] = op.result(s)` is right if s is the state whose result is wanted, and reductions are asked item by item, of many
fillings side by side. So where all stores to an output take the same of a state, the state takes its place, in the
program that is searched and in what is wanted of it. That is the same question as long as no two states have the same
result: a word of several parts is that of one state; one of a single part may be, of others (`unchanged`).

A kernel may also compute with several results of a state (`swizzle.solving.problem.stored_states`).

Values that are computed with a state, `y[i] = exp(x[i] - m) / total`, asked as that state.

All such values are read off one run, in which each is made of a state of its own that nothing is known of. What is
wanted of an element names its state, if it has words of one of several parts. Otherwise it may be a state of a single
part, whose words are not seen as such: then all of those are tried. An element in whose place no state is stored is
asked as it is.

That is the same question as long as no other state makes what is wanted. What is made of another state of several parts
has that one's words; those of a single part are all in the table of terms, unless too many may be made (`open`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from symbolic.algebra.expansion import state_operators
from symbolic.algebra.terms import Term, Terms
from symbolic.ir.functions import External, MathFunction, StateFunction, WordFunction, row_of
from symbolic.ir.program import (
    Apply,
    Assign,
    Binary,
    Cast,
    Compare,
    Const,
    Coordinate,
    DType,
    Expr,
    For,
    FunctionName,
    HoleCall,
    If,
    Load,
    Logic,
    Parameter,
    Program,
    Select,
    Shuffle,
    Stmt,
    Store,
    Unary,
    Var,
)
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    children,
    map_bodies,
    names_in,
    rebuild,
    rewrite_expression,
    spelling,
    statements,
    subexpressions,
)
from symbolic.machine.run import Run
from symbolic.values.vector import Lanes


class ComputedStates(Struct, frozen=True):
    """Outputs whose elements are computed with states, and the program that reads these states instead."""

    names: tuple[str, ...]
    program: Program

    @staticmethod
    def of(program: Program, names: Container[str]) -> ComputedStates:
        """Return what these outputs of a program are computed of."""
        computed = [p for p in program.parameters if p.name in names]
        given = (Parameter(_read(p.name), DType.STATE, p.shape, "in", p.place) for p in computed)
        marks = (Parameter(_mark(p.name), DType.I32, p.shape, "out", p.place) for p in computed)
        tried = replace(program, parameters=(*program.parameters, *given, *marks), body=_reading(program.body, names))
        return ComputedStates(tuple(p.name for p in computed), tried)

    def given(self, terms: Terms) -> dict[str, Lanes]:
        """Return the states that the program reads, by its names of them."""
        sizes = {p.name: int(np.prod(p.shape)) for p in self.program.parameters}
        read = map(_read, self.names)
        return {name: np.array(terms.atoms(name, sizes[name]), np.int64) for name in read}

    def states(self, terms: Terms, run: Run, name: str, taken: list[Term]) -> list[Term] | None:
        """Return what must be stored in an output in the place of what is taken of it; None where that is not known.

        `run` is one of the program, and the states of the kernel itself are in the table.
        """
        value, mark = (run.memories[each].snapshot() for each in (name, _mark(name)))
        known = value.written.all() and (value.version < 0).all() and (mark.version < 0).all()
        if not known or value.diffuse or mark.diffuse:
            return None
        found = list[Term]()
        unknown = terms.atoms(_read(name), len(taken))
        for address, (got, term) in enumerate(zip(value.data.tolist(), taken, strict=True)):
            if mark.written[address]:
                state = _state_of(terms, got, unknown[address], term)
                if state is None:
                    return None
                found.append(state)
            elif got == term:
                found.append(term)
            else:
                return None
        return found


def _read(name: str) -> str:
    return f"{name}, its states"


def _mark(name: str) -> str:
    return f"{name}, of states"


def _reading(body: Body, names: Container[str]) -> Body:
    """Return statements that read the states of these outputs, and mark what is computed of these."""
    found = list[Stmt]()
    for stmt in body:
        if isinstance(stmt, Store) and stmt.array in names and state_in(stmt.value):
            found.append(replace(stmt, value=_of_read(stmt)))
            found.append(replace(stmt, array=_mark(stmt.array), value=Const(1, DType.I32, stmt.place)))
        else:
            found.append(map_bodies(stmt, lambda inner: _reading(inner, names)))
    return tuple(found)


def _of_read(stmt: Store) -> Expr:
    """Return what is stored, made of a state that is read."""
    whole = spelling(state_of(stmt.value))

    def read(expr: Expr) -> Expr:
        if expr.dtype is DType.STATE and spelling(expr) == whole:
            return Load(_read(stmt.array), stmt.indices, DType.STATE, expr.place)
        return rebuild(expr, read)

    return read(stmt.value)


def state_of(value: Expr) -> Expr:
    """Return the state of which something is taken."""
    return next(part for part in subexpressions(value) if part.dtype is DType.STATE)


def state_in(value: Expr) -> bool:
    """Say whether a value is made of one state, and maybe of more."""
    found, waiting = set[tuple[object, ...]](), [value]
    while waiting:
        part = waiting.pop()
        if part.dtype is DType.STATE:
            found.add(spelling(part))
        else:
            waiting += children(part)
    return len(found) == 1


def _state_of(terms: Terms, value: Term, unknown: Term, wanted: Term) -> Term | None:
    """Return the only state in the place of an unknown one of which a value is what is wanted; None if there is none,
    or more than one."""
    operators = {row.operator for row, state in _words(terms, value) if state == unknown}
    inside = {state for _, state in _words(terms, wanted)}
    if len(operators) != 1 or len(inside) > 1:
        return None
    operator = operators.pop()
    if inside:
        tried = [state for state in inside if terms.nodes[state][0] == operator]
    else:
        tried = terms.states.of_one_part(operator)
    right = [state for state in tried if terms.states.replaced(value, unknown, state) == wanted]
    return right[0] if len(right) == 1 else None


def _words(terms: Terms, term: Term) -> list[tuple[StateFunction, Term]]:
    """Return the words of states that a term has, each with its state; a state that is made there counts as one."""
    found, known, waiting = list[tuple[StateFunction, Term]](), set[Term](), [term]
    while waiting:
        part = waiting.pop()
        op, args = terms.nodes[part]
        if part in known or op in ("atom", "const", "unwritten"):
            continue
        known.add(part)
        if isinstance(row := row_of(op), StateFunction):
            found.append((row, part if row.word is None else args[0]))
        else:
            waiting += args
    return found


Wanted = Mapping[str, Sequence[Term]]


class StoredStates(Struct, frozen=True):
    """A program that stores states, and the states that are wanted; `results` is what is taken of those of an output,
    `taken` what the specification wants of it, and `computed` what is said of outputs whose values are made of states
    and of more."""

    program: Program
    wanted: dict[str, list[Term]]
    results: Mapping[str, Expr]
    taken: dict[str, list[Term]]
    computed: ComputedStates | None = None

    def settled(self, terms: Terms, tried: Run | None) -> dict[str, list[Term]] | None:
        """Return the states that are wanted, now that those of a run are in the table; None where it is not the same
        question. `tried` is a run of `computed`."""
        found = dict(self.wanted)
        if self.computed is not None:
            assert tried is not None
            if terms.states.open or terms.states.nested():
                return None
            for name in self.computed.names:
                states = self.computed.states(terms, tried, name, self.taken[name])
                if states is None:
                    return None
                found[name] = states
        return found if self._unchanged(terms) else None

    def _unchanged(self, terms: Terms) -> bool:
        """Say whether each result is still that of one state."""
        parts = [state for name in self.results for state in self.wanted[name] if _is_one_part(terms, state)]
        if not parts:
            return True
        return not terms.states.open and all(
            _state(terms, result, term) == state
            for name, result in self.results.items()
            for term, state in zip(self.taken[name], self.wanted[name], strict=True)
        )


def with_states(program: Program, wanted: Wanted, terms: Terms) -> StoredStates:
    """Return a program with what is wanted of it, said of states; both as they are where it has no states."""
    operators = state_operators(program)
    if not operators:
        every = {name: list(some) for name, some in wanted.items()}
        return StoredStates(program, every, {}, every)
    said = {name: [terms.states.of_states(term, operators) for term in some] for name, some in wanted.items()}
    results, states = dict[str, Expr](), dict(said)
    program, computed = _in_branches(_with_results_in_place(_with_named_states(program))), set[str]()
    for parameter in program.parameters:
        stores = [s for s in statements(program.body) if isinstance(s, Store) and s.array == parameter.name]
        if parameter.role != "out" or any(stmt.atomic for stmt in stores):
            continue
        stored = [stmt.value for stmt in stores]
        found = [_result(value) for value in stored]
        first = found[0] if found else None
        if first is not None and all(each is not None and spelling(each) == spelling(first) for each in found):
            whole = [_state(terms, first, term) for term in said[parameter.name]]
            if None not in whole:
                results[parameter.name] = first
                states[parameter.name] = [state for state in whole if state is not None]
                continue
        made = [value for value in stored if any(part.dtype is DType.STATE for part in subexpressions(value))]
        if made and all(map(state_in, made)):
            computed.add(parameter.name)
    of_more = ComputedStates.of(program, computed) if computed else None
    program = replace(program, body=_storing(program.body, {*results, *computed}))
    return StoredStates(program, states, results, said, of_more)


def _in_branches(program: Program) -> Program:
    """Return a program with branches for choices that are stored, where only one side may be of a state."""

    def changed(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and isinstance(stmt.value, Select) and _chooses_states(stmt.value):
            sides = (changed(replace(stmt, value=each)) for each in (stmt.value.then, stmt.value.otherwise))
            yes, no = ((side,) for side in sides)
            return If(stmt.value.condition, yes, no, stmt.place)
        return map_bodies(stmt, lambda inner: tuple(map(changed, inner)))

    return replace(program, body=tuple(map(changed, program.body)))


def _chooses_states(value: Select) -> bool:
    sides = [any(part.dtype is DType.STATE for part in subexpressions(each)) for each in (value.then, value.otherwise)]
    return any(sides) and not all(sides) and not any(isinstance(p, HoleCall) for p in subexpressions(value.condition))


def _with_named_states(program: Program) -> Program:
    """Return a program in which variables are computed of states that have names, and so may be computed again.

    A shuffle of a word is the word of a shuffled state.
    """
    fresh, known = FreshNames(all_names(program)), dict[object, Assign]()

    def named(expr: Expr, before: list[Stmt]) -> Expr:
        if isinstance(expr, Select | Var):  # what is read in a branch is read nowhere else
            return expr
        if isinstance(expr, Shuffle) and isinstance(expr.value, Apply) and _is_of_states(expr.value):
            words = (replace(expr, value=each, dtype=each.dtype) for each in expr.value.operands)
            return named(replace(expr.value, operands=tuple(words)), before)
        if expr.dtype is not DType.STATE:
            return rebuild(expr, lambda part: named(part, before))
        key = spelling(expr)
        if key not in known:
            known[key] = Assign(fresh.take("state"), expr, expr.place)
            before.append(known[key])
        return Var(known[key].name, DType.STATE, expr.place)

    def body(some: Body) -> Body:
        found = list[Stmt]()
        known.clear()
        for stmt in some:
            if isinstance(stmt, Assign) and stmt.value.dtype is not DType.STATE:
                before = list[Stmt]()
                changed = replace(stmt, value=named(stmt.value, before))
                found += [*before, changed]
                for key, state in [*known.items()]:
                    if stmt.name in names_in(state.value):
                        del known[key]
            else:
                found.append(map_bodies(stmt, body))
                known.clear()
        return tuple(found)

    return replace(program, body=body(program.body))


def _is_of_states(value: Apply) -> bool:
    """Say whether a function is a word of a state, or is of such words and nothing else."""
    return all(
        each.dtype is DType.STATE or (isinstance(each, Apply) and _is_of_states(each)) for each in value.operands
    )


def _with_results_in_place(program: Program) -> Program:
    """Return a program that stores what it computed of a state before, where the state is still the same."""
    order = list(statements(program.body))
    looped = {id(inner) for stmt in order if isinstance(stmt, For) for inner in statements(stmt.body)}
    given = defaultdict[str, list[int]](list)
    for number, stmt in enumerate(order):
        if isinstance(stmt, Assign):
            given[stmt.name].append(number)
    pure = {parameter.name for parameter in program.parameters if parameter.role in ("in", "const", "by_value")}
    outside = set(map(id, program.body))
    moved, shuffled = dict[str, Expr](), dict[str, Expr]()  # what may stand anywhere, and outside branches

    def in_place(known: Mapping[str, Expr]) -> Callable[[Expr], Expr]:
        return lambda expr: known.get(expr.name, expr) if isinstance(expr, Var) else expr

    for number, stmt in enumerate(order):
        if isinstance(stmt, Assign) and len(given[stmt.name]) == 1 and id(stmt) not in looped:
            value = rewrite_expression(stmt.value, in_place(moved | shuffled))
            steady = all(each < number for name in names_in(value) for each in given[name])
            if stmt.value.dtype is DType.STATE or not steady or not state_in(value):
                continue
            if _computes(value, pure, _ANYWHERE):
                moved[stmt.name] = value
            elif id(stmt) in outside and _computes(value, pure, _TOGETHER):
                shuffled[stmt.name] = value

    def changed(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store):
            branches = any(isinstance(part, Select) for part in subexpressions(stmt.value))
            known = moved | shuffled if id(stmt) in outside and not branches else moved
            return replace(stmt, value=rewrite_expression(stmt.value, in_place(known)))
        return map_bodies(stmt, lambda inner: tuple(map(changed, inner)))

    return replace(program, body=tuple(map(changed, program.body)))


_ANYWHERE: Final = (Const, Var, Coordinate, Apply, Binary, Unary, Cast)
_TOGETHER: Final = (*_ANYWHERE, Shuffle, HoleCall, Select, Compare, Logic)
"""What all lanes compute together."""


def _computes(expr: Expr, pure: Container[str], known: tuple[type[Any], ...]) -> bool:
    """Say whether an expression gives the same wherever it stands: what it reads is never written."""
    own = isinstance(expr, known) or (isinstance(expr, Load) and expr.array in pure)
    return own and all(_computes(part, pure, known) for part in children(expr))


def _storing(body: Body, names: Container[str]) -> Body:
    """Return statements that store the states of which they store something to these outputs."""

    def changed(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and stmt.array in names and state_in(stmt.value):
            return replace(stmt, value=state_of(stmt.value))
        return map_bodies(stmt, lambda inner: tuple(map(changed, inner)))

    return tuple(map(changed, body))


def _result(value: Expr) -> Expr | None:
    """Return what is taken of a state, which the variable `s` stands for; None where it is not taken of one alone."""
    states = dict[tuple[object, ...], None]()

    def taken(expr: Expr) -> Expr:
        match expr:
            case _ if expr.dtype is DType.STATE:
                states[spelling(expr)] = None
                return Var("s", DType.STATE, expr.place)
            case Const():
                return expr
            case Apply(FunctionName(row=StateFunction() | WordFunction() | External() | MathFunction(defined=None))):
                return rebuild(expr, taken)
        states[()] = None
        return expr

    found = taken(value)
    return found if len(states) == 1 and () not in states else None


def _state(terms: Terms, result: Expr, term: Term) -> Term | None:
    """Return the one state of which a term is taken; None where there is none, or more than one."""
    found = _states(terms, result, term)
    return found.pop() if found is not None and len(found) == 1 else None


def _states(terms: Terms, result: Expr, term: Term) -> set[Term] | None:
    """Return the states of which a term may be taken; None for all."""
    match result:
        case Const(value=value):
            return None if terms.const(value) == term else set()
        case Var():
            return {term}
    assert isinstance(result, Apply)
    found = set[Term]()
    for arguments in terms.spellings(result.function, term):
        inner = [_states(terms, each, argument) for each, argument in zip(result.operands, arguments, strict=True)]
        several = [each for each in inner if each is not None]
        if not several:
            return None
        found |= set.intersection(*several)
    return found


def _is_one_part(terms: Terms, state: Term) -> bool:
    return getattr(getattr(terms.nodes[state][0], "row", None), "packed", None) is not None
