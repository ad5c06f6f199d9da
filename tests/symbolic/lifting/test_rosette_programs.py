"""Programs of Rosette's guide and tutorials that the gallery does not have, as one of its users would port them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from symbolic import (
    assume,
    boolean,
    choose,
    cost,
    function,
    grammar,
    integer,
    lifted,
    obligations,
    solve,
    synthesize,
    verify,
)

P, Q = boolean("rosette p"), boolean("rosette q")


# ---- a language of circuits: an interpreter, verification, the smallest circuit --------------------------------------


@dataclass(frozen=True)
class Nand:
    """A gate; what is no gate is the number of an input."""

    left: Any
    right: Any


@lifted
def output(circuit: Any, inputs: Any) -> Any:
    """Run a circuit."""
    if isinstance(circuit, Nand):
        return not (output(circuit.left, inputs) and output(circuit.right, inputs))
    return inputs[circuit]


@grammar
def gates(a: Any, b: Any, depth: int) -> Any:
    """Circuits of a depth, as expressions."""
    if depth == 0:
        return choose(a, b)
    return choose(gates(a, b, depth - 1), not (gates(a, b, depth - 1) and gates(a, b, depth - 1)))


@lifted
def circuit(a: Any, b: Any) -> Any:
    """An unknown circuit."""
    return gates(a, b, 3)


def test_a_circuit_is_verified_and_the_smallest_found() -> None:
    """The textbook's exclusive or of four gates, one of them used twice, and the smallest tree, which has five."""
    middle = Nand(0, 1)
    assert verify(output(Nand(Nand(0, middle), Nand(1, middle)), [P, Q]) == P ^ Q).status == "unsat"
    wrong = verify(output(Nand(Nand(0, middle), 1), [P, Q]) == P ^ Q)
    assert wrong.status == "sat" and output(Nand(Nand(0, middle), 1), wrong[P, Q]) != (wrong[P] ^ wrong[Q])
    outcome = synthesize(inputs=[P, Q], guarantee=circuit(P, Q) == P ^ Q, minimize=cost(circuit), timeout=60)
    assert outcome.optimal and outcome[cost(circuit)] == 10
    found = outcome[circuit]
    assert found.source.count("and") == found.source.count("not") == 5
    assert all(found(a, b) == (a != b) for a, b in itertools.product([False, True], repeat=2))


# ---- a stack machine whose program is symbolic: what can go wrong ----------------------------------------------------


@dataclass(frozen=True)
class Push:
    """Put a number on the stack."""

    value: Any


@dataclass(frozen=True)
class Add:
    """Replace the two uppermost numbers by their sum."""


@dataclass(frozen=True)
class Halt:
    """Nothing more is done."""


@lifted
def instruction(kind: Any, value: Any) -> Any:
    """An instruction that may be any."""
    if kind == 0:
        return Push(value)
    return Add() if kind == 1 else Halt()


@lifted
def machine(program: Any) -> Any:
    """Run a program; return the stack."""
    stack: Any = ()
    for each in program:
        if isinstance(each, Halt):
            break
        stack = (*stack, each.value) if isinstance(each, Push) else (*stack[:-2], stack[-2] + stack[-1])
    return stack


@lifted
def height(stack: Any) -> Any:
    """How many numbers are left."""
    return len(stack)


def test_a_program_that_breaks_the_machine_is_found_and_the_rest_is_proved() -> None:
    """An Add of too few numbers; and programs that differ in their numbers alone leave stacks of one height."""
    kinds = [integer(f"rosette kind{i}") for i in range(4)]
    some, others = ([integer(f"rosette {name}{i}") for i in range(4)] for name in ("a", "b"))
    with obligations() as made:
        for kind in kinds:
            assume((kind >= 0) & (kind <= 2))
        first = [instruction(kind, value) for kind, value in zip(kinds, some, strict=True)]
        second = [instruction(kind, value) for kind, value in zip(kinds, others, strict=True)]
        one, other = machine(first), machine(second)
        outcome = verify()
        assert outcome.broken[0].text.startswith("IndexError")
        program = outcome[first]
        stack = 0
        for each in program:
            if isinstance(each, Halt):
                break
            stack += 1 if isinstance(each, Push) else -1
            if stack < 1:
                break
        assert stack < 1, program
        fine = made.assertions
    with obligations():
        for kind, condition in itertools.zip_longest(kinds, fine):
            if kind is not None:
                assume((kind >= 0) & (kind <= 2))
            assume(condition)
        assert verify(height(one) == height(other)).status == "unsat"
        assert verify(height(one) == 0).status == "sat"


# ---- an automaton, and uninterpreted functions -----------------------------------------------------------------------


@lifted
def accepts(word: Any) -> Any:
    """The automaton of c(a|d)*r, its states as names."""
    state = "begin"
    for letter in word:
        if state == "begin":
            state = "more" if letter == 0 else "no"
        elif state == "more":
            state = "more" if letter in (1, 2) else "end" if letter == 3 else "no"
        else:
            state = "no"
    return state == "end"


@lifted
def accepts_beginning(word: Any, length: Any) -> Any:
    """The same of a word whose length is open."""
    return accepts(word[:length])


def test_words_of_an_automaton() -> None:
    """One of each length is found, none shorter than two is there, and all solutions of one length are those."""
    letters = [integer(f"rosette letter{i}") for i in range(6)]
    length = integer("rosette length")
    inside = [(each >= 0) & (each <= 3) for each in letters]
    for wanted in range(2, 7):
        outcome = solve(accepts_beginning(letters, length), length == wanted, *inside)
        word = "".join("cadr"[each] for each in outcome[letters][:wanted])
        assert word[0] == "c" and word[-1] == "r" and set(word[1:-1]) <= set("ad") and len(word) == wanted
    assert solve(accepts_beginning(letters, length), length >= 0, length < 2, *inside).status == "unsat"


def test_functions_as_in_the_guide() -> None:
    """`(f (g 1 (f 2)))` and not `(f (g 2 (f 1)))`: the tables say so."""
    f, g = function("rosette f", [integer], boolean), function("rosette g", [integer, boolean], integer)
    outcome = solve(f(g(1, f(2))), ~f(g(2, f(1))))
    f_table, g_table = outcome[f], outcome[g]
    assert f_table(g_table(1, f_table(2))) and not f_table(g_table(2, f_table(1)))
