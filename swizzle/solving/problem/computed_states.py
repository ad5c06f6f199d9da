"""Values that are computed with a state, `y[i] = exp(x[i] - m) / total`, asked as that state.

All such values are read off one run, in which each is made of a state of its own that nothing is known of. What is
wanted of an element names its state, if it has words of one of several parts. Otherwise it may be a state of a single
part, whose words are not seen as such: then all of those are tried. An element in whose place no state is stored is
asked as it is.

That is the same question as long as no other state makes what is wanted. What is made of another state of several parts
has that one's words; those of a single part are all in the table of terms, unless too many may be made (`open`).
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from symbolic.algebra.terms import Term, Terms
from symbolic.ir.functions import StateFunction, row_of
from symbolic.ir.program import Const, DType, Expr, Load, Parameter, Program, Stmt, Store
from symbolic.ir.walk import Body, children, map_bodies, rebuild, spelling, subexpressions
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
