"""How the kernels make a scan of any length: what is launched, and the proof that their words fit together.

A *word* is the elements from one place to another, in their order. By their specifications, the totals are the words
of the whole parts, the scan of the totals (of fewer words, so that this is an induction) has the words from the
beginning to the end of each part, and each part is scanned behind such a word. What is left to prove is where words
begin and end, for every length: integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from swizzle.device_scans.kernels import TILE, Kind
from symbolic.core.obligations import assume, obligations
from symbolic.core.query import verify
from symbolic.core.values import implies, integer


class ScanLaunch(Struct, frozen=True):
    """A kernel on so many parts (totals, rest) or elements (first, tail), from the element `at` on.

    `before` is the first word of the scanned totals that it reads. Of the length 0 nothing is launched.
    """

    kind: Kind
    length: Any
    at: Any = 0
    before: Any = 0


def launches(n: Any) -> tuple[ScanLaunch, ScanLaunch, ScanLaunch, ScanLaunch]:
    """Return what is launched for more elements than a part has; behind the totals, these are scanned themselves."""
    parts, left = n // TILE, n % TILE
    return (
        ScanLaunch("totals", (n - 1) // TILE),
        ScanLaunch("first", TILE),
        ScanLaunch("rest", parts - 1, TILE),
        ScanLaunch("tail", left, n - left, parts - 1),
    )


@lru_cache(maxsize=1)
def composition() -> Mapping[str, str]:
    """Prove that the words of the kernels fit together at every length; return each claim with its verdict."""
    n, b = integer("n"), integer("b")
    totals, first, rest, tail = launches(n)
    is_block = (b >= 0) & (b < rest.length)
    claims = {
        "each total is the word of a whole part": implies(
            (b >= 0) & (b < totals.length), (totals.at + b * TILE == b * TILE) & ((b + 1) * TILE <= n)
        ),
        "there are fewer totals than elements": (totals.length > 0) & (totals.length < n),
        "each part of rest goes on where the word before it ends": implies(
            is_block, (rest.before + b < totals.length) & ((rest.before + b + 1) * TILE == rest.at + b * TILE)
        ),
        "tail goes on where the word before it ends": implies(
            tail.length > 0, (tail.before < totals.length) & ((tail.before + 1) * TILE == tail.at)
        ),
        "first, rest and tail have every element once": (rest.at == first.at + first.length)
        & (tail.at == rest.at + rest.length * TILE)
        & (tail.at + tail.length == n)
        & (rest.length >= 0)
        & (tail.length >= 0)
        & (tail.length < TILE),
    }
    verdicts = {}
    for name, claim in claims.items():
        with obligations():
            assume(n > TILE)
            verdicts[name] = {"unsat": "proved", "sat": "refuted"}.get(verify(claim).status, "unknown")
    return verdicts
