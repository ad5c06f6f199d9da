"""What instructions make of numbers that grow: the slope is right in every trip that it is said to hold for."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cuda_out.ptx.instructions.slopes import FOREVER, NoSlope, slope_of
from cuda_out.ptx.instructions.table import decode
from cuda_out.ptx.kinds import KINDS, Bits, typed, untyped, width

OPERATIONS = [
    tuple(each.split("."))
    for each in [
        "add.s32",
        "sub.s64",
        "mul.lo.u32",
        "mad.lo.s32",
        "mul.wide.s32",
        "mul.wide.u16",
        "mad.wide.u32",
        "neg.s32",
        "not.b32",
        "shl.b32",
        "shr.u32",
        "shr.s32",
        "and.b32",
        "or.b32",
        "xor.b32",
        "min.s32",
        "max.u32",
        "setp.lt.s32",
        "setp.ge.u32",
        "setp.gt.s32",
        "setp.le.s64",
        "setp.eq.b32",
        "setp.ne.s32",
        "setp.lt.and.s32",
        "selp.b32",
        "cvt.s64.s32",
        "cvt.u64.u32",
        "cvt.u32.u64",
        "cvt.s32.s16",
    ]
]


@pytest.mark.parametrize("op", OPERATIONS, ids=".".join)
def test_a_slope_is_what_trips_give(op: tuple[str, ...]) -> None:
    """Against the instruction on numbers, trip by trip; comparisons and wider types end it somewhere."""
    operation, rng, ended = decode(op), random.Random(str(op)), 0
    for _ in range(120):
        near = rng.random() < 0.5
        small = (4 if near else 200, rng.choice((1, 8)))
        grows = rng.randrange(len(operation.sources))
        start, by = list[int](), list[int]()
        for place, kind in enumerate(operation.sources):
            top = rng.choice((0, 0, (1 << width(kind) - 1) - 20)) if kind != "pred" else 0
            start.append(rng.randrange(2) if kind == "pred" else top + small[1] * rng.randrange(20))
            fixed = kind == "pred" or (op[0] in ("shl", "shr") and place == 1) or (near and place != grows)
            by.append(0 if fixed else small[1] * rng.randrange(-small[0], small[0] + 1))
        values = [int(typed(_bits(v, kind, 0), kind)[0]) for v, kind in zip(start, operation.sources, strict=True)]
        try:
            slope, most = slope_of(operation, values, by)
        except NoSlope:
            continue
        trips = np.arange(min(most, 40) + 1)
        columns = [
            typed(np.concatenate([_bits(v, kind, s * t) for t in trips.tolist()]), kind)
            for v, s, kind in zip(values, by, operation.sources, strict=True)
        ]
        with np.errstate(all="ignore"):
            found = untyped(operation.compute(*columns), operation.result)
        size = max(width(operation.result), 8)
        wanted = [(int(found[0]) + slope * t) % (1 << size) for t in trips.tolist()]
        assert [each % (1 << size) for each in found.tolist()] == wanted, (values, by)
        ended += most < FOREVER
    assert ended or op[0] in ("add", "sub", "mul", "mad", "neg", "not", "shl", "and", "or", "xor", "selp", "cvt")


def _bits(value: int, kind: str, more: int) -> Bits:
    if kind == "pred":
        return np.array([value], np.uint64)
    return untyped(np.array([(value + more) % (1 << width(kind))], f"u{width(kind) // 8}").view(KINDS[kind]), kind)
