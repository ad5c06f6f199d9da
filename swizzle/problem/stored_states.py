"""What a kernel stores of a state, asked as the state itself.

`y[i] = op.result(s)` is right if s is the state whose result is wanted, and reductions are asked item by item, of many
fillings side by side. So where all stores to an output take the same of a state, the state takes its place, in the
program that is searched and in what is wanted of it. That is the same question as long as no two states have the
same result: a word of several parts is that of one state; one of a single part may be, of others (`unchanged`).

A kernel may also compute with several results of a state, `y[i] = exp(x[i] - m) / total`. Where what is wanted of an
element has words of one state alone, it is this state that is wanted, if the value is right of it (`tried`): what is
made of another state has that one's words.
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

Wanted = Mapping[str, Sequence[Term]]


class StoredStates(Struct, frozen=True):
    """A program that stores states, and the states that are wanted; `results` is what is taken of those of an output,
    `taken` what the specification wants of it. Of the outputs `computed`, values are made of states and of more;
    `tried` is the program that reads what is wanted of these in the place of its states."""

    program: Program
    wanted: dict[str, list[Term]]
    results: Mapping[str, Expr]
    taken: dict[str, list[Term]]
    computed: frozenset[str] = frozenset()
    tried: Program | None = None

    def given(self) -> dict[str, Lanes]:
        """Return the states that `tried` reads, by its names of them."""
        return {_read(name): np.array(self.wanted[name], np.int64) for name in self.computed}

    def are_right(self, run: Run) -> bool:
        """Say whether a run of `tried` leaves what is wanted, whatever the holes are."""
        return not run.violations and all(
            not seen.diffuse
            and seen.written.all()
            and (seen.version < 0).all()
            and seen.data.tolist() == self.taken[name]
            for name in self.computed
            for seen in [run.memories[name].snapshot()]
        )

    def unchanged(self, terms: Terms) -> bool:
        """Say whether each result is still that of one state, now that the states of a run are in the table."""
        if self.computed and (terms.states.open or terms.states.nested()):
            return False
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
    program, computed = _with_results_in_place(program), dict[str, list[Term]]()
    for parameter in program.parameters:
        stores = [s for s in statements(program.body) if isinstance(s, Store) and s.array == parameter.name]
        if any(stmt.atomic for stmt in stores):
            continue
        stored = [stmt.value for stmt in stores]
        found = [_result(value) for value in stored]
        first = found[0] if found and parameter.role == "out" else None
        if first is None or any(each is None or spelling(each) != spelling(first) for each in found):
            if parameter.role == "out" and stored and all(map(_state_in, stored)):
                made_of = [_only_state(terms, term) for term in said[parameter.name]]
                if None not in made_of:
                    computed[parameter.name] = [state for state in made_of if state is not None]
            continue
        whole = [_state(terms, first, term) for term in said[parameter.name]]
        if None not in whole:
            results[parameter.name] = first
            states[parameter.name] = [state for state in whole if state is not None]
    tried = replace(
        program,
        parameters=(*program.parameters, *(_states_of(p) for p in program.parameters if p.name in computed)),
        body=_storing(program.body, computed, _reading),
    )
    program = replace(program, body=_storing(program.body, {**results, **computed}, lambda stmt: _of(stmt.value)))
    return StoredStates(program, states | computed, results, said, frozenset(computed), tried if computed else None)


def _read(name: str) -> str:
    return f"{name}, its states"


def _states_of(parameter: Parameter) -> Parameter:
    """Return the parameter that `tried` reads the states of an output from."""
    return Parameter(_read(parameter.name), DType.STATE, parameter.shape, "in", parameter.place)


def _reading(stmt: Store) -> Expr:
    """Return what is stored, made of a state that is read."""
    whole = spelling(_of(stmt.value))

    def read(expr: Expr) -> Expr:
        if expr.dtype is DType.STATE and spelling(expr) == whole:
            return Load(_read(stmt.array), stmt.indices, DType.STATE, expr.place)
        return rebuild(expr, read)

    return read(stmt.value)


def _state_in(value: Expr) -> bool:
    """Say whether a value is made of one state, and maybe of more."""
    found, waiting = set[tuple[object, ...]](), [value]
    while waiting:
        part = waiting.pop()
        if part.dtype is DType.STATE:
            found.add(spelling(part))
        else:
            waiting += children(part)
    return len(found) == 1


def _only_state(terms: Terms, term: Term) -> Term | None:
    """Return the state of several parts that a term has words of, if it is the only one."""
    found, known, waiting = set[Term](), set[Term](), [term]
    while waiting:
        part = waiting.pop()
        op, args = terms.nodes[part]
        if part in known or op in ("atom", "const", "unwritten"):
            continue
        known.add(part)
        packed = op.row.packed if isinstance(op, FunctionName) else None
        if packed is None:
            waiting += args
        elif packed.word is None or terms.nodes[args[0]][0] != packed.operator:
            return None
        else:
            found.add(args[0])
    return found.pop() if len(found) == 1 else None


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
            if stmt.value.dtype is DType.STATE or not steady or not _state_in(value):
                continue
            if _computes(value, pure, _ANYWHERE):
                moved[stmt.name] = value
            elif id(stmt) in outside and _computes(value, pure, _TOGETHER):
                shuffled[stmt.name] = value

    def changed(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store):
            known = moved | shuffled if id(stmt) in outside else moved
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


def _storing(body: Body, results: Container[str], value: Callable[[Store], Expr]) -> Body:
    """Return statements that store other values to these outputs."""

    def changed(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and stmt.array in results:
            return replace(stmt, value=value(stmt))
        return map_bodies(stmt, lambda inner: tuple(map(changed, inner)))

    return tuple(map(changed, body))


def _of(value: Expr) -> Expr:
    """Return the state of which something is taken."""
    return next(part for part in subexpressions(value) if part.dtype is DType.STATE)


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
            case Apply(function=function) if not (function.row.defined or function.row.compares or function.row.array):
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
