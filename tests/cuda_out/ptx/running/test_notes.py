"""Values that are written out late are what they are when every step is written out at once."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cuda_out.ptx.columns import FIRST
from cuda_out.ptx.instructions import symbolic
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.symbolic import Value
from cuda_out.ptx.instructions.table import decode
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.running.registers import Register
from symbolic.algebra.terms import Terms

OPERATIONS = [
    *(decode((name, "b32")) for name in ("xor", "and", "or", "not")),
    *(decode(op) for op in (("add", "s32"), ("sub", "s32"), ("mul", "lo", "s32"), ("mad", "lo", "s32"))),
]


def at_once(normal: Normal, name: str, row: tuple[Value, ...]) -> Value:
    """Evaluate one instruction, sums too, without notes."""
    operation = next(each for each in OPERATIONS if each.name == name)
    if operation.ring is None:
        return symbolic.evaluate(normal, operation, row)
    return symbolic.evaluate_sum(normal, operation, [(operation, row, None)])


@pytest.mark.parametrize("seed", range(8))
def test_notes_come_to_the_same_terms(seed: int) -> None:
    """Random programs over atoms and numbers, with values that are used once, often, and never."""
    choose = random.Random(seed)
    terms = Terms()
    normal = Normal(terms, {"x": "s32"})
    deferred = Notes(normal)
    lanes = 3
    late = [
        (np.zeros(lanes, np.uint64), np.array([terms.atom("x", 3 * i + j) for j in range(lanes)])) for i in range(4)
    ]
    late.append((np.array([0, 5, 2**32 - 1], np.uint64), np.zeros(lanes, np.int64)))
    early = [[(int(b), int(t)) for b, t in zip(*each, strict=True)] for each in late]
    for _ in range(25):
        operation = choose.choice(OPERATIONS)
        recent = range(max(0, len(late) - 6), len(late))
        at = [choose.choice([*recent, choose.randrange(5)]) for _ in operation.sources]
        if at.count(4) == len(at):
            continue
        operands = [late[i] for i in at]
        if not all(any(t[lane] for _, t in operands) for lane in range(lanes)):
            continue  # an instruction on numbers is no note
        late.append((np.zeros(lanes, np.uint64), deferred.apply(operation, operands)))
        rows = zip(*(early[i] for i in at), strict=True)
        early.append([at_once(normal, operation.name, row) for row in rows])
    assert any((t >= FIRST).any() for _, t in late)
    for (bits, found), wanted in zip(late[::-1], early[::-1], strict=True):
        bits, found = deferred.written_out(bits, found)
        assert list(zip(bits.tolist(), found.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("seed", range(12))
def test_dot_products_come_to_the_same_terms(seed: int) -> None:
    """Chains of fused multiply-adds of elements: some twice, times a number or each other, begun at 0 or more."""
    choose = random.Random(seed)
    terms = Terms()
    normal = Normal(terms, {"x": "f32", "i": "s32"})
    deferred = Notes(normal)
    fused = decode(("fma", "rn", "f32"))
    elements = [(0, terms.atom("x", i)) for i in range(4)]
    strange = [(0, terms.atom("i", 0)), (0x40000000, 0)]  # bits of an integer, and the number 2
    total = late = choose.choice([(0, 0), (0x3F800000, 0), elements[0]])
    operands = [*elements, *elements, *strange] if seed % 2 else elements
    for _ in range(choose.randrange(2, 12)):
        a, b = (choose.choice(operands) for _ in range(2))
        if not (a[1] or b[1]):
            continue
        row = [(np.array([bits], np.uint64), np.array([term], np.int64)) for bits, term in (a, b, late)]
        late = (0, int(deferred.apply(fused, row)[0]))
        total = symbolic.evaluate_sum(normal, fused, [(fused, (a, b, total), None)])
    bits, found = deferred.written_out(np.zeros(1, np.uint64), np.array([late[1]], np.int64))
    assert (int(bits[0]), int(found[0])) == total


def test_what_was_never_written_stays_so() -> None:
    """The first operand that is nothing is what comes of it."""
    terms = Terms()
    deferred = Notes(Normal(terms, {"x": "s32"}))
    x = np.array([terms.atom("x", 0), terms.atom("x", 1)])
    none = np.zeros(2, np.uint64)
    operands = [(none, x), (none, np.array([-7, x[0]])), (none, np.array([-3, -5]))]
    found = deferred.apply(decode(("mad", "lo", "s32")), operands)
    assert found.tolist() == [-7, -5]


def test_equal_instructions_are_one_note() -> None:
    """Also in another run over the same table."""
    terms = Terms()
    deferred = Notes(Normal(terms, {"x": "s32"}))
    x, y = (np.array([terms.atom("x", i)]) for i in range(2))
    none, add = np.zeros(1, np.uint64), decode(("add", "s32"))
    first, again = (deferred.apply(add, [(none, x), (none, y)]) for _ in range(2))
    assert first.tolist() == again.tolist() and first[0] >= FIRST
    assert deferred.written_out(none, first)[1].tolist() == [terms.apply("+", (int(x[0]), int(y[0])))]


def test_what_is_computed_alike_is_the_same_to_the_bit() -> None:
    """Operands of a sum may be exchanged, not the order of sums; a difference has its order."""
    terms = Terms()
    notes = Notes(Normal(terms, {"x": "f32"}))
    a, b, c = ((np.zeros(1, np.uint64), np.array([terms.atom("x", i)])) for i in range(3))
    add, sub, none = decode(("add", "f32")), decode(("sub", "f32")), np.zeros(1, np.uint64)

    def noted(operation: Operation, *operands: Register) -> Register:
        return none, notes.apply(operation, operands)

    one = noted(add, noted(add, a, b), c)
    same = noted(add, c, noted(add, b, a))
    other = noted(add, a, noted(add, b, c))
    numbers = notes.computed_alike(np.concatenate([each[1] for each in (one, same, other)]))
    assert numbers[0] == numbers[1] != numbers[2]
    more = notes.computed_alike(np.concatenate([each[1] for each in (noted(sub, a, b), noted(sub, b, a), same)]))
    assert len(set(more.tolist())) == 3 and more[2] == numbers[0]


def test_what_was_never_written_is_no_operand() -> None:
    """Nothing is asked about it where a later conversion is."""
    terms = Terms()
    deferred, none = Notes(Normal(terms, {"x": "f32"})), np.zeros(2, np.uint64)
    x = none, np.array([terms.atom("x", 0), terms.atom("x", 1)])
    never = none, np.array([-5, terms.atom("x", 1)])
    total = deferred.apply(decode(("add", "f32")), [x, never])
    assert total[0] == -5 and total[1] >= FIRST
    wide = none, deferred.apply(decode(("cvt", "f64", "f32")), [x])
    narrow = none, deferred.apply(decode(("cvt", "rn", "f32", "f64")), [wide])
    assert deferred.written_out(*narrow)[1].tolist() == x[1].tolist()
