"""Rows of conversions between numbers: of integers, of floats, and from one to the other."""

from __future__ import annotations

from typing import Final

import numpy as np

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import INTEGERS, Compute, InstructionRow, Operation
from cuda_out.ptx.kinds import KINDS, Typed, width
from symbolic.algebra.terms import Term

_ROUND: Final = "(?P<round>rni|rzi|rmi|rpi)"
_ROUNDERS: Final[dict[str, tuple[Compute, str]]] = {
    "rmi": (np.floor, "floor:f64"), "rpi": (np.ceil, "ceil:f64"), "rni": (np.rint, "rint:f64"),
    "rzi": (np.trunc, "trunc:f64"),
}  # fmt: skip
"""What conversions to whole numbers round by, on numbers and as functions of mathematics."""
_BYTES: Final = r"[us](?:8|16|32|64)"


def _cast(o: Operation, a: Typed) -> Typed:
    return a.astype(KINDS[o.result])


def _of_integers_term(o: Operation, n: Normal, v: list[Term]) -> Term:
    """Extension by the source's sign, or the low bits."""
    (source,) = o.sources
    if o.size <= width(source):
        return n.narrowed(o.result, v[0])
    return n.distance(source, o.result, v[0]) or n.extended(source, v[0])


def _whole(o: Operation, a: Typed) -> Typed:
    """Round; what is none of the type is its nearest, and what is no number 0."""
    whole, limits = _ROUNDERS[o.says("round")][0](a), np.iinfo(KINDS[o.result])
    least, most = float(limits.min), float(limits.max)
    inside = np.clip(np.nan_to_num(whole.astype(np.float64), nan=0.0, posinf=most, neginf=least), least, most)
    return np.array([min(max(int(v), limits.min), limits.max) for v in inside.tolist()], KINDS[o.result])


def _whole_term(o: Operation, n: Normal, v: list[Term]) -> Term:
    mode = o.says("round")
    whole = v[0] if mode == "rzi" else n.terms.apply(_ROUNDERS[mode][1], v)
    return n.terms.apply(f"trunc.{o.result}", (whole,))


def _to_tf32(o: Operation, a: Typed) -> Typed:
    bits = np.ascontiguousarray(a).view(np.uint32)
    found: Typed = (bits + np.uint32(0x1000) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(a), found, a)


CONVERSIONS: Final = (
    InstructionRow(
        ((rf"cvt\.(?P<t>{_BYTES})\.(?P<s>{_BYTES})", "=wider s"),),
        name="cvt.{t}.{s}",
        numbers=_cast,
        term=_of_integers_term,
        index=lambda o, t, v, row: t.value(
            t.wider(v[0], o.sources[0]) if o.size > width(o.sources[0]) else v[0], o.size
        ),
    ),
    InstructionRow(
        ((rf"cvt\.rn\.(?P<t>f(?:16|32|64))\.(?P<s>{_BYTES})", "=t s"),),
        name="cvt.{t}.{s}",
        numbers=_cast,
        term=lambda o, n, v: n.rounded(o.result, n.real_of(o.sources[0], v[0])),
        converts=("", ""),
    ),
    InstructionRow(
        ((rf"cvt\.{_ROUND}(?:\.ftz(?!\.\w+\.f64))?\.(?P<t>{INTEGERS})\.(?P<s>f16|f32|f64)", "=t s"),),
        name="cvt.{round}.{t}.{s}",
        numbers=_whole,
        term=_whole_term,
    ),
    InstructionRow(
        (
            (rf"cvt\.{_ROUND}(?:\.ftz)?\.(?P<t>f32)\.(?P<s>f32)", "=t s"),
            (rf"cvt\.{_ROUND}\.(?P<t>f64)\.(?P<s>f64)", "=t s"),
            (rf"cvt\.{_ROUND}\.(?P<t>f16)\.(?P<s>f16)", "=t s"),
        ),
        name="cvt.{round}.{t}.{s}",
        numbers=lambda o, a: _ROUNDERS[o.says("round")][0](a),
        term=lambda o, n, v: n.terms.apply(_ROUNDERS[o.says("round")][1], v),
    ),
    InstructionRow(
        (
            (r"cvt(?:\.ftz)?\.(?P<t>f32)\.(?P<s>f16)", "=t s"),
            (r"cvt(?:\.ftz)?\.(?P<t>f64)\.(?P<s>f32)", "=t s"),
            (r"cvt\.(?P<t>f64)\.(?P<s>f16)", "=t s"),
            (r"cvt\.rn(?:\.ftz)?\.(?P<t>f32)\.(?P<s>f64)", "=t s"),
            (r"cvt\.rn\.(?P<t>f16)\.(?P<s>f(?:32|64))", "=t s"),
        ),
        name="cvt.{t}.{s}",
        numbers=_cast,
        term=lambda o, n, v: v[0],
        converts=("", ""),
    ),
    InstructionRow(  # to the nearest, of two as near the one away from 0
        ((r"cvt\.rna\.tf32\.(?P<t>f32)", "=t t"),),
        name="tf32",
        numbers=_to_tf32,
    ),
    InstructionRow(  # a number between 0 and 1; what is no number is 0
        ((r"cvt\.sat(?:\.ftz)?\.(?P<t>f32)\.(?P<s>f32)", "=t s"),),
        name="cvt.sat.{t}.{s}",
        numbers=lambda o, a: np.nan_to_num(np.clip(a, np.float32(0), np.float32(1)), nan=0.0),
    ),
)
