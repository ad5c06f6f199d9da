"""Every instruction, in all its readings: what terms and index values say of it is what it computes on numbers.

The readings of an instruction stand in one row and are descriptions of their own, each checked against the others here
on random operands, however the instruction is spelled. How what grows from trip to trip goes on is read off the index
values (`test_slopes`).
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from cuda_out.ptx.instructions import symbolic
from cuda_out.ptx.instructions.halves import of_half
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.table import ROWS, decode
from cuda_out.ptx.kinds import Typed, is_float, typed, untyped, width
from cuda_out.ptx.syntax import NotInterpreted
from symbolic.algebra.terms import Terms
from tests.cuda_out.ptx.instructions.evaluate import Evaluated, bits_of, read
from tests.cuda_out.ptx.instructions.spellings import spellings

DATA = {"shl": 1, "shr": 1, "shf": 2, "bfe": 1, "bfi": 2, "lop3": 3, "prmt": 2}
"""Of instructions whose last operands are numbers, as a rule, how many are data."""
REALS = (0.0, 1.0, -1.0, 2.5, -0.5, 3.0, 4.0, 0.25, -8.0, 16.0)
SELECTORS = (0x9910, 0x8810, 0xDD54, 0x3210, 0x5410, 0x7531, 0x9991, 0xBBB3, 0x0123, 0xE8, 0x96, 31, 8, 5, 3, 1, 0)


def operand(kind: str, choose: random.Random, op: str, place: int) -> Any:
    """Return a number of a type, edge numbers included."""
    if is_float(kind):
        return abs(choose.choice(REALS)) + 1 if op in ("sqrt", "rsqrt", "lg2", "rcp", "div") else choose.choice(REALS)
    if kind == "pred":
        return choose.getrandbits(1)
    if op in DATA and place >= DATA[op]:
        return choose.choice(SELECTORS)
    size = width(kind)
    number = choose.choice((choose.getrandbits(size), choose.getrandbits(4), 1 << size - 1, (1 << size) - 1))
    return read(kind, number or 1)


def lanes(kind: str, value: Any) -> Typed:
    return typed(np.array([bits_of(kind, value)], np.uint64), kind)


def result(operation: Operation, values: list[Any]) -> int:
    """Return the bits that an operation gives for numbers."""
    with np.errstate(all="ignore"):
        columns = [lanes(kind, value) for kind, value in zip(operation.sources, values, strict=True)]
        found = untyped(operation.compute(*columns), operation.result)
    return int(found[0]) & (1 << width(operation.result)) - 1


def agree(operation: Operation, got: int, wanted: int) -> bool:
    """Tell whether registers hold one number; floats up to roundings and signs of 0, which terms leave out."""
    kind = operation.result
    if (
        operation.row
        and operation.row.converts
        and operation.row.converts[1] == "bf16"
        and (got | wanted) & 0x7FFF == 0
    ):
        return True
    if not is_float(kind):
        return (got ^ wanted) & (1 << width(kind)) - 1 == 0
    a, b = typed(np.array([got, wanted], np.uint64), kind).astype(np.float64)
    return not np.isfinite(b) or bool(np.isclose(a, b, rtol=1e-3))


@pytest.mark.sampled(25)
@pytest.mark.parametrize("pattern", [pattern for row in ROWS for pattern, _ in row.forms])
def test_terms_are_what_numbers_are(pattern: str) -> None:
    """Some operands are elements of arrays, others numbers; where a term says what is computed, it is that."""
    for spelled in spellings(pattern):
        op, choose = tuple(spelled.split(".")), random.Random(spelled)
        operation = decode(op)
        if of_half(op):  # which the machine computes half by half
            with pytest.raises(NotInterpreted, match="each half"):
                result(operation, [1] * len(operation.sources))
            assert decode(of_half(op) or ()).result in ("f16", "b16")
        for _ in () if of_half(op) else range(60 if op[0] in DATA else 12):
            terms = Terms()
            kinds = {f"x{n}": kind if kind != "pred" else "u32" for n, kind in enumerate(operation.sources)}
            normal = Normal(terms, kinds)
            values = [operand(kind, choose, op[0], n) for n, kind in enumerate(operation.sources)]
            if "bf16" in op and operation.sources[0] == "b16":  # numbers of bf16
                values = [bits_of("f32", choose.choice(REALS)) >> 16 for _ in values]
            row = list[tuple[int, int]]()
            for n, (kind, value) in enumerate(zip(operation.sources, values, strict=True)):
                if choose.random() < 0.3 or n >= DATA.get(op[0], 9):
                    row.append((bits_of(kind, value), 0))
                elif kind == "pred":
                    row.append((0, normal.equal("b32", terms.atom(f"x{n}", 0), terms.const(1))))
                else:
                    row.append((0, terms.atom(f"x{n}", 0)))
            if operation.ring is None:
                rounds = operation.narrows if is_float(operation.sources[0]) else None
                bits, term = symbolic.evaluate(normal, operation, tuple(row), rounds)
            else:
                bits, term = symbolic.evaluate_sum(normal, operation, [(operation, tuple(row), None)])
            arrays = {f"x{n}": np.array([value]) for n, value in enumerate(values)}
            found = Evaluated(terms, arrays, operation)
            got = found.bits(operation.result, term) if term else bits
            assert agree(operation, got, result(operation, values)), (spelled, values, terms.show(term))
