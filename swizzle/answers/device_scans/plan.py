"""How the kernels make a scan of any length: what is launched, and the proof that their words fit together.

A *word* is the elements from one place to another, in their order. By their specifications, the totals are the words
of the whole parts, the scan of the totals (of fewer words, so that this is an induction) has the words from the
beginning to the end of each part, and each part is scanned behind such a word. What is left to prove is where words
begin and end, for every length: integer arithmetic.

In one pass (`look_back.py`), a block tells words of its own part or of all parts up to it, and a warp that looks back
puts such words together: where these begin and end is proved likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from swizzle.answers.device_scans.kernels import TILE, Kind
from symbolic.core.obligations import assume, obligations
from symbolic.core.query import verify
from symbolic.core.values import boolean, implies, integer, select
from symbolic.ir.program import LANES


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
    return _verdicts(claims, n > TILE)


def _verdicts(claims: Mapping[str, Any], given: Any) -> Mapping[str, str]:
    verdicts = {}
    for name, claim in claims.items():
        with obligations():
            assume(given)
            verdicts[name] = {"unsat": "proved", "sat": "refuted"}.get(verify(claim).status, "unknown")
    return verdicts


@lru_cache(maxsize=1)
def look_back_composition() -> Mapping[str, str]:
    """Prove of a scan in one pass what `composition` proves of one in three; return each claim with its verdict.

    A warp looks at the parts in front of part `end`: lane i at number `end - 1 - i`. `last` is the lane that has met
    the words of all parts up to its own (`all`), or else the last one; `own(i, k)` is the first part of those whose
    words lane i has when the distance of the next step is k.
    """
    n, part, end, last, lane, k = map(integer, ("n", "part", "end", "last", "lane", "k"))
    is_all = boolean("all")
    parts, left = n // TILE, n % TILE

    def own(i: Any, k: Any) -> Any:
        so_far = select(i + k - 1 < last, i + k - 1, last)
        return select(is_all & (so_far == last), 0, end - 1 - so_far)

    linked = select(part > 0, 1, 0)
    blocks = {
        "a block has a whole part, the first or one behind it": ((part - linked) * TILE + linked * TILE == part * TILE)
        & ((part + 1) * TILE <= n),
        "what is left over goes on where the words of the last part end": (parts * TILE == n - left) & (left < TILE),
    }
    takes = lane + k <= last
    windows = {
        "a block waits for parts before its own only": implies(lane <= last, end - 1 - lane < part),
        "lanes take words of parts that there are": implies(lane <= last, end - 1 - lane >= 0),
        "a lane begins with the words of one part, or of all up to it": implies(
            lane <= last, own(lane, 1) == select(is_all & (lane == last), 0, end - 1 - lane)
        ),
        "what a lane takes ends where its own words begin": implies(takes, end - 1 - (lane + k) + 1 == own(lane, k)),
        "each step doubles what a lane has": select(takes, own(lane + k, k), own(lane, k)) == own(lane, 2 * k),
        "at last the first lane has all, or 32 parts": own(0, LANES) == select(is_all, 0, end - LANES),
        "behind 32 parts that have not told all there is another": implies(~is_all, end - LANES > 0),
    }
    window = (end > 0) & (end <= part) & (lane >= 0) & (lane < LANES) & (k > 0) & (last >= 0) & (last < LANES)
    # what lane `last` has met was told by a part that there is, and the first part tells the words of all up to it only
    met = (last < end) & implies(~is_all, (last == LANES - 1) & (end - 1 - last > 0))
    is_block = (n >= TILE) & (part >= 0) & (part < parts)
    return {**_verdicts(blocks, is_block), **_verdicts(windows, is_block & (part > 0) & window & met)}
