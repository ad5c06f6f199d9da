"""Numbers that grow by the same in each trip of a loop, and what instructions make of them.

A register of n bits holds v + t * s in trip t, modulo 2^n; s is its *slope*. Sums and products with what stays the same
have a slope whatever t is. What reads such a register as a number (a comparison, a wider type) says for how many trips
it holds: until the number leaves its type, or until the comparison has another answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cuda_out.ptx.instructions.concrete import Operation
from cuda_out.ptx.instructions.polynomials import signed
from cuda_out.ptx.kinds import is_float, width

FOREVER: Final = 1 << 64
"""More trips than any loop has."""


class NoSlope(Exception):
    """What an instruction gives does not grow by the same in each trip."""


def slope_of(operation: Operation, values: Sequence[int], slopes: Sequence[int]) -> tuple[int, int]:
    """Return the slope of what an operation gives in trip 0, and up to which trip it holds; raise NoSlope.

    `values` are the numbers in trip 0 as the operation's types read them.

        >>> from cuda_out.ptx.instructions.concrete import decode
        >>> slope_of(decode(("mad", "lo", "s32")), (5, 12, 7), (2, 0, 1))
        (25, 18446744073709551616)
        >>> slope_of(decode(("setp", "lt", "s32")), (5, 12), (2, 0))  # 5, 7, 9, 11 are less, 13 is not
        (0, 3)
    """
    kinds, result = operation.sources, operation.result
    head, _, rest = operation.name.partition(".")
    if any(is_float(kind) or kind == "pred" for kind, slope in zip(kinds, slopes, strict=True) if slope):
        raise NoSlope
    found, most, v, s = 0, FOREVER, values, slopes
    match head:
        case "add" | "sub" if not rest:
            found = s[0] + s[1] if head == "add" else s[0] - s[1]
        case "neg" | "not" if not rest:
            found = -s[0]
        case "mul" | "mad" if not rest or rest.startswith("wide."):
            if s[0] and s[1]:
                raise NoSlope
            if rest:
                most = min(within(a, b, kind) for a, b, kind in zip(v[:2], s[:2], kinds[:2], strict=True))
            found = s[0] * v[1] + s[1] * v[0] + (s[2] if head == "mad" else 0)
        case "shl" if not s[1]:
            found = s[0] << v[1] if v[1] < width(result) else 0
        case "shr" if not s[1]:
            by = min(v[1], width(result))
            if s[0] % (1 << by):
                raise NoSlope
            found, most = s[0] >> by, within(v[0], s[0], kinds[0])
        case "cvt" if not is_float(result) and rest.count(".") == 1:
            found = s[0]
            if width(result) > width(kinds[0]):
                most = within(v[0], s[0], kinds[0])
        case "and" | "or" | "xor" if not (s[0] and s[1]):
            found = _bitwise(head, v[0] if s[1] else v[1], s[1] or s[0], width(result))
        case "min" | "max":
            less, most = _less(v, s, kinds)
            found = s[0] if less == (head == "min") else s[1]
        case "setp":
            most = _until(rest.split(".")[0], v, s, kinds)
        case "selp":
            found = s[0] if v[2] else s[1]
        case _:
            raise NoSlope
    return signed(found, width(result)), most


def within(value: int, slope: int, kind: str) -> int:
    """Return up to which trip a number stays in its type."""
    size = width(kind)
    least = -(1 << size - 1) if kind[0] == "s" else 0
    if slope > 0:
        return (least + (1 << size) - 1 - value) // slope
    return (value - least) // -slope if slope else FOREVER


def _bitwise(head: str, other: int, slope: int, size: int) -> int:
    """Return the slope where the other number's bits are all below those that change, or, of a conjunction, all set."""
    below, other = (slope & -slope) - 1, other & (1 << size) - 1
    if other & ~below == 0:
        return 0 if head == "and" else slope
    if head == "and" and other | below == (1 << size) - 1:
        return slope
    raise NoSlope


def _less(v: Sequence[int], s: Sequence[int], kinds: Sequence[str]) -> tuple[bool, int]:
    """Tell whether the first number is less than the second, and up to which trip that stays so."""
    most = min(within(a, b, kind) for a, b, kind in zip(v[:2], s[:2], kinds[:2], strict=True))
    apart, grows = v[0] - v[1], s[0] - s[1]
    if apart < 0:
        return True, min(most, (-apart - 1) // grows) if grows > 0 else most
    return False, min(most, apart // -grows) if grows < 0 else most


def _until(how: str, v: Sequence[int], s: Sequence[int], kinds: Sequence[str]) -> int:
    """Return up to which trip a comparison has the same answer."""
    swapped = (v[1], v[0]), (s[1], s[0]), (kinds[1], kinds[0])
    (less, most), (more, till) = _less(v, s, kinds), _less(*swapped)
    if how in ("lt", "ge") or less:
        return most
    if how in ("gt", "le") or more:
        return till
    return most if s[0] == s[1] else 0
