"""What single instructions compute, against Python's integers and NumPy."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cuda_out.ptx.instructions import table
from cuda_out.ptx.instructions.operation import InstructionRow
from cuda_out.ptx.instructions.table import ROWS, decode
from cuda_out.ptx.kinds import KINDS, typed, untyped, width
from cuda_out.ptx.running.run import interpret
from cuda_out.ptx.syntax import NotInterpreted


def computed(instruction: str, *rows: int) -> int:
    """Return the bits that an instruction gives for operands' bits."""
    operation = decode(tuple(instruction.split(".")))
    lanes = [typed(np.array([r & (1 << 64) - 1], np.uint64), k) for r, k in zip(rows, operation.sources, strict=True)]
    with np.errstate(all="ignore"):
        return int(untyped(operation.compute(*lanes), operation.result)[0])


def wrapped(value: int, kind: str) -> int:
    """Read an integer's low bits in a type."""
    value &= (1 << width(kind)) - 1
    return value - (1 << width(kind)) if kind[0] == "s" and value >> width(kind) - 1 else value


PYTHON: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "mad.lo": lambda a, b, c: a * b + c,
    "mul.hi": lambda a, b: a * b >> 32,
    "mul.wide": lambda a, b: a * b,
    "mad.wide": lambda a, b, c: a * b + c,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "neg": lambda a: -a,
    "shl": lambda a, n: a << n if n < 32 else 0,
    "shr": lambda a, n: a >> min(n, 64),
    "div": lambda a, b: 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "lop3": lambda a, b, c, t: sum(((t >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1))) & 1) << i
                                   for i in range(32)),
    "bfi": lambda a, b, p, n: b if n == 0 or p > 31 else
           (b & ~(((1 << n) - 1) << p)) | ((a & (1 << n) - 1) << p),
    "popc": lambda a: (a & 0xFFFFFFFF).bit_count(),
}  # fmt: skip


@pytest.mark.parametrize("name", PYTHON)
def test_integers_against_python(name: str) -> None:
    """Random and extreme operands, signed and unsigned."""
    choose = random.Random(name)
    extremes = [0, 1, 2, 31, 32, 2**31 - 1, 2**31, 2**32 - 1, 7, 2**16]
    plain = name in ("and", "or", "xor", "not", "lop3", "bfi", "popc")
    for kind in ("b32",) if plain else ("s32",) if name == "neg" else ("s32", "u32"):
        instruction = f"{name}.{'b32' if name == 'shl' else kind}"
        sources = decode(tuple(instruction.split("."))).sources
        for _ in range(200):
            rows = [choose.choice(extremes) if choose.random() < 0.3 else choose.getrandbits(32) for _ in sources]
            if name in ("shl", "shr", "bfi"):
                rows[-1] %= 40 if name != "bfi" else 33
            if name == "bfi":
                rows[2] %= 33
            if name == "lop3":
                rows[3] &= 255
            if name == "div" and rows[1] == 0:
                continue
            given = [wrapped(r, k) for r, k in zip(rows, sources, strict=True)]
            got = computed(instruction, *rows)
            assert got == PYTHON[name](*given) & (1 << (64 if "wide" in name else 32)) - 1, (instruction, rows)


def bits(value: Any, kind: str) -> int:
    return int(untyped(np.array([value], KINDS[kind]), kind)[0])


FLOATS: list[tuple[str, tuple[float, ...], float]] = [
    ("fma.rn.f32", (1.5, 2.0, 0.25), 3.25),
    ("fma.rn.f32", (1 + 2.0**-23, 1 - 2.0**-23, -1.0), -(2.0**-46)),
    ("min.f32", (np.nan, 3.0), 3.0),
    ("abs.f64", (-2.5,), 2.5),
    ("div.rn.f32", (1.0, 4.0), 0.25),
    ("rcp.rn.f64", (8.0,), 0.125),
    ("add.f16", (0.5, 0.25), 0.75),
    ("cvt.rmi.f32.f32", (-0.5,), -1.0),
    ("add.rz.f32", (1.0, 2.0**-24 + 2.0**-40), 1.0),
    ("copysign.f32", (-1.0, 3.0), -3.0),
    ("fma.rm.f32", (1 + 2.0**-23, 1 + 2.0**-23, 0.0), 1 + 2.0**-22),
    ("fma.rp.f32", (1 + 2.0**-23, 1 + 2.0**-23, 0.0), 1 + 2.0**-22 + 2.0**-23),
    ("fma.rm.f32", (1 - 2.0**-24, 1 + 2.0**-23, 0.0), 1.0),
    ("ex2.approx.ftz.f32", (-3.0,), 0.125),
    ("lg2.approx.f32", (8.0,), 3.0),
    ("rsqrt.approx.f32", (16.0,), 0.25),
    ("sub.rz.f32", (1.0, 2.0**-40), 1 - 2.0**-24),
    ("sqrt.rn.f32", (6.25,), 2.5),
    ("cvt.sat.f32.f32", (1.5,), 1.0),
    ("cvt.sat.f32.f32", (np.nan,), 0.0),
]


@pytest.mark.parametrize(
    ("instruction", "operands", "result"),
    FLOATS,
)
def test_floats(instruction: str, operands: tuple[float, ...], result: float) -> None:
    """A fused multiply-add rounds once; minimum prefers the number; rounding modes are kept."""
    kind = instruction[-3:]
    assert computed(instruction, *(bits(v, kind) for v in operands)) == bits(result, kind)


CONVERSIONS: list[tuple[str, int, int]] = [
    ("cvt.s64.s32", 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF),
    ("cvt.u64.u32", 0xFFFFFFFF, 0xFFFFFFFF),
    ("cvt.u16.u32", 0x12345678, 0x5678),
    ("cvt.s32.s16", 0x8000, 0xFFFF8000),
    ("cvt.rzi.s32.f32", 0xC0200000, 0xFFFFFFFE),  # -2.5
    ("cvt.rni.s32.f32", 0x7F800000, 0x7FFFFFFF),  # infinity
    ("cvt.rzi.u32.f32", 0xC0200000, 0),
    ("cvt.rn.f16.f32", 0x3FC00000, 0x3E00),
    ("cvt.rna.tf32.f32", 0x3F801000, 0x3F802000),
    ("cvt.rn.f32.s32", 0xFFFFFFFF, 0xBF800000),
    ("cvt.rn.bf16.f32", 0x3F808000, 0x3F80),  # of two as near the even one
    ("cvt.rn.relu.bf16.f32", 0xBF800000, 0),
    ("cvt.f32.bf16", 0xBF80, 0xBF800000),
    ("brev.b32", 1, 0x80000000),
    ("clz.b32", 1, 31),
    ("bfind.u32", 0x50, 6),
    ("bfind.shiftamt.u32", 0x50, 25),
    ("bfind.u32", 0, 0xFFFFFFFF),
]


@pytest.mark.parametrize(
    ("instruction", "operand", "result"),
    CONVERSIONS,
)
def test_conversions_and_bits(instruction: str, operand: int, result: int) -> None:
    """Extension by the source's sign, saturation, rounding."""
    assert computed(instruction, operand) == result


FIELDS: list[tuple[str, tuple[int, ...], int]] = [
    ("fma.rn.bf16", (0x4000, 0x4040, 0x3F80), 0x40E0),  # 2 * 3 + 1
    ("add.bf16", (0x4380, 0x3F80), 0x4380),  # 256 + 1 has nine bits
    ("neg.bf16", (0x3F80,), 0xBF80),
    ("bfe.u32", (0xABCD1234, 8, 8), 0x12),
    ("bfe.s32", (0xABCD1234, 28, 4), 0xFFFFFFFA),
    ("bfe.s32", (0x80000000, 24, 16), 0xFFFFFF80),
    ("prmt.b32", (0x33221100, 0x77665544, 0x7520), 0x77552200),
    ("prmt.b32", (0x80, 0, 0x8888), 0xFFFFFFFF),
    ("dp4a.s32.s32", (0xFF020304, 0x80010203, 5), 128 + 2 + 6 + 12 + 5),
    ("dp4a.u32.s32", (0xFF020304, 0x80010203, 5), -255 * 128 + 2 + 6 + 12 + 5 & 0xFFFFFFFF),
    ("dp2a.lo.s32.s32", (0xFFFF0003, 0x80010203, 5), -2 + 9 + 5),
    ("dp2a.hi.u32.s32", (0xFFFF0003, 0x80010203, 5), -128 * 0xFFFF + 3 + 5 & 0xFFFFFFFF),
    ("dp4a.u32.u32", (0xFF020304, 0x80010203, 5), 255 * 128 + 2 + 6 + 12 + 5),
    ("shf.l.wrap.b32", (0x80000000, 1, 1), 3),
    ("shf.r.clamp.b32", (0x11111111, 0x22222222, 40), 0x22222222),
    ("setp.lt.u32", (1, 0xFFFFFFFF), 1),
    ("setp.lt.s32", (1, 0xFFFFFFFF), 0),
    ("sad.s32", (3, -4 & 0xFFFFFFFF, 5), 12),
    ("sad.u32", (3, 0xFFFFFFFC, 5), 0xFFFFFFFE),
    ("setp.geu.f32", (0x7FC00000, 0), 1),
    ("setp.ltu.f32", (0, 0x7FC00000), 1),
    ("setp.num.and.f32", (0, 0, 1), 1),
    ("setp.ge.f32", (0x7FC00000, 0), 0),
    ("setp.eq.and.s32", (3, 3, 0), 0),
    ("selp.b32", (5, 6, 1), 5),
    ("rem.s32", (-7 & 0xFFFFFFFF, 3), -1 & 0xFFFFFFFF),
    ("mul.hi.u64", (2**63, 6), 3),
    ("mul.hi.s64", (-(2**63), 2), 2**64 - 1),
]


@pytest.mark.parametrize(
    ("instruction", "operands", "result"),
    FIELDS,
)
def test_fields_comparisons_and_products(instruction: str, operands: tuple[int, ...], result: int) -> None:
    """As PTX defines them."""
    assert computed(instruction, *operands) == result


@pytest.mark.parametrize(
    "instruction", ["add.sat.s32", "fma.rm.f64", "sin.rz.f32", "dp2a.lo.s16.s32", "cvt.rp.f32.f64", "add.cc.u32"]
)
def test_what_is_not_known_is_refused(instruction: str) -> None:
    """Another rounding, saturation, carries, special functions."""
    with pytest.raises(NotInterpreted):
        decode(tuple(instruction.split(".")))


def test_every_row_has_an_example() -> None:
    """An instruction costs a row and a line here; what is a function of its operands and no more has no numbers."""
    examples = {row[0] for row in (*FLOATS, *CONVERSIONS, *FIELDS)}
    examples |= {f"{name}.{kind}" for name in PYTHON for kind in ("s32", "b32")}
    for row in ROWS:
        patterns = [pattern for pattern, _ in row.forms]
        known = any(re.fullmatch(pattern, each) for pattern in patterns for each in examples)
        assert known or row.name == "{whole}", patterns  # pairs are computed half by half


def test_a_row_is_all_that_an_instruction_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An instruction that is not read today is refused; with a row it is read, held to its operands, and run."""
    body = ".reg .b32 %r<3>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; cnot.b32 %r2, %r1;"
    kernel = f".visible .entry k(.param .u64 p) {{ {body} st.global.u32 [%rd1], %r2; ret; }}"
    ptx = f".version 8.0\n.target sm_80\n.address_size 64\n{kernel}"
    data = np.array([0], np.int32)
    with pytest.raises(NotInterpreted, match="cnot"):
        interpret(ptx, "k", (1, 1, 1), (1, 1, 1), [data])
    for cached in (table._found, table.decode):
        cached.cache_clear()
    row = InstructionRow(((r"cnot\.(?P<t>b32)", "=t t"),), numbers=lambda o, a: (a == 0).astype(a.dtype))
    monkeypatch.setattr(table, "_PATTERNS", [*table._PATTERNS, (re.compile(row.forms[0][0]), (("=t", "t"),), row)])
    interpret(ptx.replace("visible .entry k", "visible .entry k1"), "k1", (1, 1, 1), (1, 1, 1), [data])
    assert data[0] == 1
    with pytest.raises(NotInterpreted, match=r"%rd1 is \.b64, not \.b32"):
        interpret(ptx.replace("cnot.b32 %r2, %r1", "cnot.b32 %r2, %rd1"), "k", (1, 1, 1), (1, 1, 1), [data])
    for cached in (table._found, table.decode):
        cached.cache_clear()
