"""The table, generated: candidates by their number of leaves, tried on numbers, then judged at full width."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from swizzle.operators.elementary.entries import TYPES, Elementary, as_lists, of_lists
from swizzle.operators.elementary.enumeration import SampleColumns, Trees, columns_of, samples
from swizzle.operators.elementary.judging import elementary, swapped
from symbolic.expressions.expression import Expression
from symbolic.expressions.formulas import Sort


class TableCandidate(Struct, frozen=True):
    """An operator that passed on numbers, and what identities it may have."""

    combine: tuple[Expression, ...]
    identities: tuple[tuple[str, ...], ...]


class GenerationTally(Struct):
    """How many functions there were, and what became of them."""

    functions: int = 0
    candidates: int = 0
    proved: int = 0
    refuted: int = 0
    unknown: int = 0
    seconds: float = 0.0


# ---- candidates --------------------------------------------------------------------------------------------------


def singles(sort: Sort, most: int, tally: GenerationTally) -> Iterator[TableCandidate]:
    """Yield the single words of at most so many leaves that are associative on numbers and may have an identity."""
    columns = columns_of(sort, 1)
    trees = Trees(("x0", "y0", "k"), columns.columns)

    def wanted(values: Any) -> Any:
        found = np.zeros(len(values), bool)
        for kind, side in columns.neutral:
            found |= columns.fits(values, 0, kind, side)
        return found

    for size in range(2, most + 1):
        level = trees.grow(wanted if size == most else None)
        tally.functions += len(level.made)
        for place in np.flatnonzero(wanted(level.values)):
            row = level.made[place].tolist()
            if _associative(trees, (row,), sort):
                node = trees.expression(row)
                if {"x0", "y0"} <= node.names:
                    yield TableCandidate((node,), _identities(columns, [level.values[place]]))


def pairs(sort: Sort, most: int, tally: GenerationTally) -> Iterator[TableCandidate]:
    """Yield the pairs, of at most so many leaves a word, that are no two single words side by side."""
    columns = columns_of(sort, 2)
    trees = Trees(("x0", "y0", "x1", "y1"), columns.columns)

    def wanted(values: Any) -> Any:
        found = np.zeros(len(values), bool)
        for kind, side in columns.neutral:
            found |= columns.fits(values, 0, kind, side) | columns.fits(values, 1, kind, side)
        return found

    levels = [trees.levels[0], *(trees.grow(wanted if size == most else None) for size in range(2, most + 1))]
    made = [row for level in levels for row in level.made.tolist()]
    values = np.concatenate([level.values for level in levels])
    tally.functions += len(made)
    x, y, z = _triple(sort, 2, *QUICK)
    early, late = (
        np.stack([trees.value(row, _named(*sides)) for row in made]) for sides in ((x, y), (y, z))
    )  # what each function makes of the first two parts, and of the last two
    nodes = [trees.expression(row) for row in made]
    mixed = [{name[0] for name in node.names} == {"x", "y"} for node in nodes]
    alone = [{name[1] for name in node.names} for node in nodes]
    seen: set[tuple[Expression, ...]] = set()
    for kind, side in columns.neutral:
        firsts, seconds = (
            np.array([place for place in np.flatnonzero(columns.fits(values, word, kind, side)) if mixed[place]], int)
            for word in range(2)
        )
        for first in firsts:
            # is the first word associative, with each of the others beside it?
            one = trees.value(made[first], _named([early[first][None], early[seconds]], z))
            other = trees.value(made[first], _named(x, [late[first][None], late[seconds]]))
            for second in seconds[np.broadcast_to((one == other).all(axis=1), len(seconds))]:
                combine = (nodes[first], nodes[second])
                if (alone[first] == {"0"} and alone[second] == {"1"}) or combine in seen or swapped(combine) in seen:
                    continue
                if _associative(trees, (made[first], made[second]), sort):
                    seen.add(combine)
                    yield TableCandidate(combine, _identities(columns, [values[first], values[second]]))


def _identities(columns: SampleColumns, values: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
    found = {
        kind: None for kind, side in columns.neutral
        if all(columns.fits(row[None], word, kind, side)[0] for word, row in enumerate(values))
    }  # fmt: skip
    return tuple(found)


QUICK: Final = (12, 2)
THOROUGH: Final = (400, 3)
"""How many samples of three parts there are, and where random numbers begin."""


@lru_cache(maxsize=32)
def _triple(sort: Sort, words: int, count: int, seed: int) -> list[list[Any]]:
    """Return samples of three parts and of k, as one row more; numbers of them are often equal."""
    rng = np.random.default_rng(seed)
    pool = np.stack([samples(sort, count, rng) for _ in range(3)])
    everyone = np.arange(count)
    return [[pool[rng.integers(0, 3, count), everyone] for _ in range(words)] for _ in range(3)]


@lru_cache(maxsize=32)
def _constant(sort: Sort, count: int) -> Any:
    return samples(sort, count, np.random.default_rng(7))


def _named(first: Sequence[Any], second: Sequence[Any]) -> dict[str, Any]:
    """Return the words of two parts under their names."""
    return {f"{side}{place}": each for side, some in zip("xy", (first, second), strict=True)
            for place, each in enumerate(some)}  # fmt: skip


def _associative(trees: Trees, rows: Sequence[Sequence[int]], sort: Sort) -> bool:
    """Tell whether functions are associative on samples."""
    for count, seed in (QUICK, THOROUGH):
        x, y, z = _triple(sort, len(rows), count, seed)
        k = {"k": _constant(sort, count)}

        def together(a: Sequence[Any], b: Sequence[Any], k: Any = k) -> list[Any]:
            return [trees.value(row, {**_named(a, b), **k}) for row in rows]

        one, other = together(together(x, y), z), together(x, together(y, z))
        if not all(bool((p == q).all()) for p, q in zip(one, other, strict=True)):
            return False
    return True


# ---- judged, and kept --------------------------------------------------------------------------------------------


def generate(
    kept: Path, types: Sequence[str], single: int, pair: int, say: Callable[[str], None] = lambda _: None
) -> None:
    """Judge the candidates of at most `single` leaves, and pairs of at most `pair` leaves a word, of every type.

    `kept` gets a line for each candidate as soon as it is judged; what is there already is not judged again. Candidates
    of 64 bits are those of 32 bits.
    """
    known = {row["key"]: row for row in _rows(kept)} if kept.exists() else {}
    candidates: dict[tuple[str, int], list[TableCandidate]] = {}
    with kept.open("a", encoding="utf-8") as file:
        for name in types:
            for words, some in ((1, singles), (2, pairs)):
                tally, started = GenerationTally(), time.process_time()
                if (name[0], words) not in candidates:
                    candidates[name[0], words] = list(some(TYPES[name], single if words == 1 else pair, tally))
                for candidate in candidates[name[0], words]:
                    verdict = _judged(name, candidate, known, file)["verdict"]
                    tally.candidates += 1
                    setattr(tally, verdict, getattr(tally, verdict) + 1)
                tally.seconds = time.process_time() - started
                say(f"{name} {'single words' if words == 1 else 'pairs'}: {tally}")


def _rows(kept: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, kept.read_text(encoding="utf-8").splitlines())


def collected(kept: Path) -> list[Elementary]:
    """Return the operators with an identity among what was judged, those of several types once; smallest first."""
    found: dict[tuple[Any, ...], dict[str, None]] = {}
    for row in _rows(kept):
        if row["identity"]:
            name, *lists = json.loads(row["key"])
            combine = tuple(map(of_lists, lists))
            found.setdefault((combine, tuple(row["identity"].split()), row["laws"]), {})[name] = None
    some = [
        Elementary(combine, identity, "l" in laws, "r" in laws, "c" in laws, tuple(names))
        for (combine, identity, laws), names in found.items()
    ]
    return sorted(some, key=lambda each: (len(each.combine), sum(node.size for node in each.combine)))


def _judged(name: str, candidate: TableCandidate, known: dict[str, Any], file: Any) -> dict[str, Any]:
    lists = [as_lists(each) for each in candidate.combine]
    key = json.dumps([name, *lists], separators=(",", ":"))
    if key not in known:
        operator, law = elementary(candidate.combine, candidate.identities, (name,))
        assert tuple(map(of_lists, lists)) == candidate.combine
        laws = (
            "" if operator is None
            else "l" * operator.left + "r" * operator.right + "c" * operator.commutative
        )  # fmt: skip
        identity = "" if operator is None else " ".join(operator.identity)
        known[key] = {"key": key, "verdict": law.verdict, "witness": law.witness, "identity": identity, "laws": laws}
        file.write(json.dumps(known[key]) + "\n")
        file.flush()
    found: dict[str, Any] = known[key]
    return found
