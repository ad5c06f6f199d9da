"""How a chosen function reads in words: 'rotate by k', 'fan by 3 in groups of 8', 'keep when lane < 32 - k'.

The words of a `?sw_xform` say from where places are filled: 'fan by 3, then rotate by k' fills place i with element
`(3 * i + k) mod n`. They mean exactly this, on n elements:

| words | place i takes element |
|---|---|
| as it is | i |
| rotate by R | (i + R) mod n |
| reverse | n - 1 - i |
| fan by c | c * i mod n |
| fan by c, one further after every d | (c * i + i // d) mod n |
| transpose a p x q matrix | i % p * q + i // p |
| broadcast element R | R mod n |
| exclusive or with K | i ^ K |
| reverse the bits | the number whose bits are those of i, the highest first |
| Gray code, inverse Gray code | i ^ (i >> 1), and back |
| bits A, B, ... | the number whose bits are these, the lowest first; i2 is bit 2 of i |
| X, then Y | Y(X(i)): X gives a number, and Y is applied to that |
| X in groups of g | X on each run of g neighbours, n being g there |
"""

from __future__ import annotations

from collections.abc import Sequence


def grouped(parts: Sequence[str], gs: int, n: int) -> str:
    """Return steps one after the other, each in groups of `gs` of the n elements."""
    if not parts or gs == 1:
        return "as it is"
    if gs == n:
        return ", then ".join(parts)
    return f"in groups of {gs}: {', then '.join(parts)}" if len(parts) > 1 else f"{parts[0]} in groups of {gs}"


def nearest_to_zero(c: int, m: int) -> int:
    """Return the number nearest to 0 that is c modulo m."""
    return c % m if c % m <= m // 2 else c % m - m


def sum_of(terms: Sequence[tuple[int, str]], offset: int) -> str:
    """Return a sum of multiples as text, `0` when it is empty."""
    parts = [(factor, text if abs(factor) == 1 else f"{abs(factor)} * {text}") for factor, text in terms]
    parts += [(offset, str(abs(offset)))] if offset else []
    parts.sort(key=lambda part: part[0] < 0)
    if not parts:
        return "0"
    first, *rest = parts
    head = f"-{first[1]}" if first[0] < 0 else first[1]
    return head + "".join(f" {'-' if factor < 0 else '+'} {text}" for factor, text in rest)


def atom(text: str) -> str:
    """Return an argument's own spelling, in parentheses unless it is one name or number."""
    return text if text.replace(".", "").isidentifier() or text.isdigit() else f"({text})"
