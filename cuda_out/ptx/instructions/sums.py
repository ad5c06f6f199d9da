"""Rows of arithmetic that is written out: sums and products, of integers and floats."""

from __future__ import annotations

from typing import Final

import numpy as np

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import FTZ, INTEGERS, Forms, InstructionRow, Maybe, Operation
from cuda_out.ptx.instructions.polynomials import plus, product_of
from cuda_out.ptx.kinds import KINDS, Typed
from symbolic.algebra.terms import Term


def _of(head: str, low: str = "") -> Forms:
    """Return the names of an operator on integers and floats; `low` is what it is called besides on integers."""
    return (
        (rf"{head}{low}\.(?P<t>{INTEGERS})", "=t t t"),
        (rf"{head}(?:\.rn)?{FTZ}\.(?P<t>f16|f32|f64)", "=t t t"),
    )


def _difference(o: Operation, n: Normal, v: Maybe) -> Maybe:
    assert v[1] is not None
    return [v[0], n.scaled(o.result, -1, v[1])]


def _product_and_summand(o: Operation, n: Normal, v: Maybe) -> Maybe:
    return [None if v[0] is None or v[1] is None else n.multiply(o.result, v[0], v[1]), *v[2:]]


def _fused(o: Operation, a: Typed, b: Typed, c: Typed) -> Typed:
    """A fused multiply-add rounds once, by way of double precision; f64: twice."""
    if o.result in ("f16", "f32"):
        a, b, c = (each.astype(np.float64) for each in (a, b, c))
    found: Typed = a * b + c
    return found.astype(KINDS[o.result])


def _wide(o: Operation, a: Typed, b: Typed, *c: Typed) -> Typed:
    whole: Typed = a.astype(KINDS[o.result]) * b.astype(KINDS[o.result])
    return whole + c[0] if c else whole


def _wide_term(o: Operation, n: Normal, v: list[Term]) -> Term:
    kind = o.sources[0]
    return n.add(o.result, n.multiply(o.result, n.extended(kind, v[0]), n.extended(kind, v[1])), *v[2:])


def _high(o: Operation, a: Typed, b: Typed, *c: Typed) -> Typed:
    if o.size < 64:
        long = KINDS[f"{o.result[0]}{2 * o.size}"]
        high: Typed = (a.astype(long) * b.astype(long) >> o.size).astype(KINDS[o.result])
    else:
        whole = a.astype(object) * b.astype(object) >> o.size
        high = np.array([int(v) & (1 << 64) - 1 for v in whole], np.uint64).view(KINDS[o.result])
    return high + c[0] if c else high


def _high_term(o: Operation, n: Normal, v: list[Term]) -> Term:
    found = o.opaque(n, v)
    return n.quotient(o.size, found, 0) or found if o.says("op") == "mul" and o.result[0] == "u" else found


def _directed(o: Operation, *values: Typed) -> Typed:
    """Round toward zero, down or up."""
    a, b, *c = (value.astype(np.float64) for value in values)
    exact: Typed = a * b + c[0] if c else {"add": a + b, "sub": a - b, "mul": a * b}[o.says("op")]
    near = exact.astype(np.float32)
    end, beyond = {
        "rz": (0, np.abs(near) > np.abs(exact)), "rm": (-np.inf, near > exact), "rp": (np.inf, near < exact),
    }[o.says("rounds")]  # fmt: skip
    found: Typed = np.where(beyond, np.nextafter(near, np.float32(end)), near)
    return found


def _parts(o: Operation) -> tuple[int, int, int]:
    """Return the bits of the parts of the first number, how many they are, and the first byte of the second number."""
    return (8, 4, 0) if o.says("op") == "dp4a" else (16, 2, 2 * (o.says("half") == ".hi"))


def _dot_product(o: Operation, a: Typed, b: Typed, c: Typed) -> Typed:
    wide, count, first = _parts(o)

    def part(kind: str, number: Typed, bits: int, place: int) -> Typed:
        found: Typed = number.astype(np.int64) >> bits * place & (1 << bits) - 1
        return found - (found >> bits - 1 << bits) if kind == "s32" else found

    one, other, _ = o.sources
    parts = (part(one, a, wide, place) * part(other, b, 8, place + first) for place in range(count))
    return sum(parts, c.astype(np.int64)).astype(np.int32)


def _dot_product_term(o: Operation, n: Normal, v: list[Term]) -> Term:
    wide, count, first = _parts(o)
    total, kinds = v[2], (f"{o.sources[0][0]}{wide}", f"{o.sources[1][0]}8")
    for pair in zip(n.split(wide, count, v[0]), n.split(8, 4, v[1])[first : first + count], strict=True):
        a, b = (n.extended(kind, n.of_kind(kind, side)) for kind, side in zip(kinds, pair, strict=True))
        total = n.add("s32", total, n.multiply("s32", a, b))
    return total


SUMS: Final = (
    InstructionRow(
        _of("add"),
        name="add",
        numbers=lambda o, a, b: a + b,
        parts=lambda o, n, v: v,
        index=lambda o, t, v, row: t.value(plus(v[0], v[1]), o.size),
        summands=(0, 1), commutes=True, rounds_once=True,
    ),
    InstructionRow(
        _of("sub"),
        name="sub",
        numbers=lambda o, a, b: a - b,
        parts=_difference,
        index=lambda o, t, v, row: t.value(plus(v[0], v[1], -1), o.size),
        summands=(0,), rounds_once=True,
    ),
    InstructionRow(
        _of("mul", r"\.lo"),
        name="mul",
        numbers=lambda o, a, b: a * b,
        parts=_product_and_summand,
        term=lambda o, n, v: n.multiply(o.result, v[0], v[1]),
        index=lambda o, t, v, row: t.value(product_of(v[0], v[1]), o.size),
        commutes=True, rounds_once=True,
    ),
    InstructionRow(
        ((rf"mad\.lo\.(?P<t>{INTEGERS})", "=t t t t"), (rf"fma\.rn{FTZ}\.(?P<t>f16|f32|f64)", "=t t t t")),
        name="mad",
        numbers=_fused,
        parts=_product_and_summand,
        index=lambda o, t, v, row: t.value(plus(product_of(v[0], v[1]), v[2]), o.size),
        summands=(2,), factors=2, commutes=True,
    ),
    InstructionRow(
        ((r"mul\.wide\.(?P<t>[us](?:16|32))", "=w t t"), (r"mad\.wide\.(?P<t>[us](?:16|32))", "=w t t w")),
        name="{op}.wide.{t}",
        numbers=_wide,
        term=_wide_term,
        index=lambda o, t, v, row: t.value(
            plus(product_of(*(t.integer(each, o.sources[0]) for each in v[:2])), v[2] if v[2:] else {}), o.size
        ),
        commutes=True,
    ),
    InstructionRow(
        ((rf"mul\.hi\.(?P<t>{INTEGERS})", "=t t t"), (rf"mad\.hi\.(?P<t>{INTEGERS})", "=t t t t")),
        name="{op}.hi.{t}",
        numbers=_high,
        term=_high_term,
        commutes=True,
    ),
    InstructionRow(
        ((r"(?:add|mul)\.(?P<rounds>rz)(?:\.ftz)?\.(?P<t>f32)", "=t t t"),),
        name="{op}.rz", numbers=_directed, commutes=True, rounds_once=True,
    ),
    InstructionRow(
        ((r"sub\.(?P<rounds>rz)(?:\.ftz)?\.(?P<t>f32)", "=t t t"),),
        name="{op}.rz", numbers=_directed, rounds_once=True,
    ),
    InstructionRow(
        ((r"fma\.(?P<rounds>rz|rm|rp)(?:\.ftz)?\.(?P<t>f32)", "=t t t t"),), name="{op}.{rounds}", numbers=_directed
    ),
    InstructionRow(
        ((rf"neg{FTZ}\.(?P<t>f16|f32|f64)", "=t t"), (r"neg\.(?P<t>s(?:16|32|64))", "=t t")),
        name="neg",
        numbers=lambda o, a: -a,
        term=lambda o, n, v: n.scaled(o.result, -1, v[0]),
        index=lambda o, t, v, row: t.value(plus({}, v[0], -1), o.size),
        chooses=True,
    ),
    InstructionRow(
        (
            (r"dp4a\.(?P<t>[us]32)\.(?P<s>[us]32)", "=s32 t s s32"),
            (r"dp2a(?P<half>\.lo|\.hi)\.(?P<t>[us]32)\.(?P<s>[us]32)", "=s32 t s s32"),
        ),
        name="{op}{half}.{t}.{s}",
        numbers=_dot_product,
        term=_dot_product_term,
    ),
)  # fmt: skip
