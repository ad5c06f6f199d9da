"""The table, generated: candidates by their number of leaves, tried on numbers, then judged at full width."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from bench.elementary.enumeration import (
    SampleColumns,
    Trees,
    columns_of,
    corners,
    of_neutral,
    samples,
    within,
)
from bench.elementary.judging import SECONDS, Judged, as_lists, elementary, other_way_round, swapped
from bench.elementary.sieve import Sieve
from swizzle.operators.elementary import TYPES, Elementary, of_lists
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
    """Yield the single words of at most so many leaves that are associative on numbers and may have an identity.

    Two kinds are left out of what has more than `WHOLE` leaves, as they say nothing new: choices of one part by a
    condition on it, whatever that is (`x0 if P(x0) else y0` is associative for every P), and operators that are a
    smaller one with another constant, as k * k.
    """
    columns = columns_of(sort, 1)
    trees = Trees(("x0", "y0", "k"), columns.columns)
    inputs = [columns.columns[name][None] for name in trees.names]
    own = trees.keys(trees.numbers.values)
    instances: set[int] = set()
    sieve: Sieve | None = None
    for size in range(2, most + 1):
        if size <= WHOLE:
            rows = _associative_rows(trees, _uncompiled(trees, columns), sort, THOROUGH)
        else:
            sieve = sieve or Sieve(trees, columns, _triples(sort))
            rows = sieve.of(size)
        if size > WHOLE:
            rows = rows[~_choices(trees, rows, sort)]
        tally.functions += len(trees.numbers.made)
        with np.errstate(all="ignore"):
            values = trees.values_of(rows, inputs)
        for row, found, key in zip(rows, values, trees.keys(values), strict=True):
            if key in own or (size > WHOLE and key in instances):
                continue
            kinds = _identities(columns, [found])
            identities = tuple(kind for kind in kinds if _changes_nothing(trees, row, kind, sort))
            if not identities or not _holds(trees, row, sort):
                continue
            node = trees.expression(row)
            if {"x0", "y0"} <= node.names:
                instances.update(_instances(trees, row, columns))
                yield TableCandidate((node,), identities)
        if size < most - (most > WHOLE + 1):
            trees.grow()


def _uncompiled(trees: Trees, columns: SampleColumns) -> Any:
    """Return the functions of one leaf more than are kept that pass, as `Sieve` does of many leaves."""
    few = np.array([where.start for where in columns.neutral.values()])
    target = np.array([columns.columns["y0" if side == "left" else "x0"][where.start]
                       for (_, side), where in columns.neutral.items()])  # fmt: skip

    def fits(values: Any) -> Any:
        return (values == target).any(axis=1)

    def wanted(values: Any) -> Any:
        found = np.zeros(len(values), bool)
        for kind, side in columns.neutral:
            found |= columns.fits(values, 0, kind, side)
        return found

    sought = (rows[wanted(trees.values(rows))] for rows in trees.sought(few, fits))
    blocks = [_associative_rows(trees, rows[(trees.uses(rows) & 3) == 3], columns.sort, QUICK) for rows in sought]
    rows = np.concatenate(blocks)
    keys, places = np.unique(trees.keys(trees.values(rows)), return_index=True)
    return rows[np.sort(places[~within(keys, trees.numbers.seen)])]


def _triples(sort: Sort) -> Any:
    """Return the samples of x, y, z and k that candidates are tried on in compiled code."""
    some = [np.stack([*(part[0] for part in _triple(sort, 1, *which)), _constant(sort, which[0])])
            for which in (QUICK, THOROUGH)]  # fmt: skip
    return np.concatenate([*some, corners(sort, CORNERS)[:4, :EARLIER]], axis=1)


def _associative_rows(trees: Trees, rows: Any, sort: Sort, which: tuple[int, int]) -> Any:
    """Return the functions that are associative on samples: most are not on the first one."""
    parts = [part[0][None] for part in _triple(sort, 1, *which)]
    constant = _constant(sort, which[0])[None]
    with np.errstate(all="ignore"):
        for some in (slice(0, 1), slice(1, 3), slice(3, 12), slice(12, 60), slice(60, None)):
            x, y, z, k = (each[:, some] for each in (*parts, constant))
            if not k.size:
                break
            left = trees.values_of(rows, [trees.values_of(rows, [x, y, k]), z, k])
            right = trees.values_of(rows, [x, trees.values_of(rows, [y, z, k]), k])
            rows = rows[_same(left, right).all(axis=1)]
    return rows


def _same(left: Any, right: Any) -> Any:
    """Compare numbers, of which those in double precision may be rounded."""
    return left == right if left.dtype.kind != "f" else np.isclose(left, right, rtol=1e-12, atol=0)


def _choices(trees: Trees, rows: Any, sort: Sort) -> Any:
    """Tell which functions choose x or y by a condition on one of them alone, on samples."""
    x, y, z = (part[0][None] for part in _triple(sort, 1, *THOROUGH))
    k = _constant(sort, THOROUGH[0])[None]
    found = np.zeros(len(rows), bool)
    with np.errstate(all="ignore"):
        own = trees.values_of(rows, [x, y, k])
        for others, mine, theirs in (([x, z, k], x, z), ([z, y, k], y, z)):
            again = trees.values_of(rows, others)
            one = ((own == x) | (own == y)).all(axis=1) & ((again == mine) | (again == theirs)).all(axis=1)
            told = (x != y) & (mine != theirs)
            found |= one & (((own == mine) == (again == mine)) | ~told).all(axis=1)
    return found


def _instances(trees: Trees, row: Any, columns: SampleColumns) -> list[int]:
    """Return the keys of a function with other constants: numbers, and what is made of k."""
    if not trees.uses(row[None])[0] & 4:
        return []
    k, one = columns.columns["k"], columns.columns["k"].dtype.type(1)
    with np.errstate(all="ignore"):
        others = [np.full_like(k, number) for number in (0, 1, 2, 3)]
        others += [np.zeros_like(k) - number for number in (one, one + one)]
        others += [k + k, k + k + k, k * k, k * k * k, np.zeros_like(k) - k, k + one, k - one, np.zeros_like(k) - k - k,
                   np.zeros_like(k) - k * k, k + k * k, k * k - k, k - k * k]  # fmt: skip
        values = [trees.value(row, {**columns.columns, "k": each}) for each in others]
    found: list[int] = trees.keys(np.stack(values)).tolist()
    return found


def _holds(trees: Trees, row: Any, sort: Sort) -> bool:
    """Tell whether a function is associative of numbers that are small, near the limits of the type, or equal."""
    x, y, z, k = corners(sort, CORNERS)[:4]

    def together(a: Any, b: Any) -> Any:
        return trees.value(row, {"x0": a, "y0": b, "k": k})

    return bool(_same(together(together(x, y), z), together(x, together(y, z))).all())


def _changes_nothing(trees: Trees, row: Any, identity: tuple[str, ...], sort: Sort) -> bool:
    """Tell whether a word is an identity on one side, of the same numbers."""
    x, _, _, k = corners(sort, CORNERS)[:4]
    none = of_neutral(identity[0], sort, k)
    return any(
        bool(_same(trees.value(row, {one: x, other: none, "k": k}), x).all())
        for one, other in (("x0", "y0"), ("y0", "x0"))
    )


def pairs(sort: Sort, most: int, tally: GenerationTally) -> Iterator[TableCandidate]:
    """Yield the pairs, of at most so many leaves a word, that are no two single words side by side."""
    columns = columns_of(sort, 2)
    trees = Trees(("x0", "y0", "x1", "y1"), columns.columns)

    def wanted(values: Any) -> Any:
        found = np.zeros(len(values), bool)
        for kind, side in columns.neutral:
            found |= columns.fits(values, 0, kind, side) | columns.fits(values, 1, kind, side)
        return found

    if most < 2:
        return
    for _ in range(2, most):
        trees.grow()
    last = np.concatenate([trees.numbers.made[:0], *trees.sought(np.arange(len(columns.columns["x0"])), wanted)])
    keys, places = np.unique(trees.keys(trees.values(last)), return_index=True)
    last = last[np.sort(places[~within(keys, trees.numbers.seen)])]
    made = np.concatenate([trees.numbers.made, last])
    values = np.concatenate([trees.numbers.values, trees.values(last)])
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
CORNERS: Final = 20_000
"""Samples of numbers near the limits."""
EARLIER: Final = 500
"""How many of them are tried before it is asked whether a function was met."""
WHOLE: Final = 5
"""Leaves up to which every function is an entry, and nothing is compiled for."""


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
    kept: Path,
    types: Sequence[str],
    single: int,
    pair: int,
    say: Callable[[str], None] = lambda _: None,
    seconds: float = SECONDS,
) -> None:
    """Judge the candidates of at most `single` leaves, and pairs of at most `pair` leaves a word, of every type.

    `kept` gets a line for each candidate as soon as it is judged; what is there already is not judged again, but where
    it is unknown and a law has more seconds now. Candidates of 64 bits are those of 32 bits.
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
                    verdict = _judged(name, candidate, known, file, seconds)["verdict"]
                    tally.candidates += 1
                    setattr(tally, verdict, getattr(tally, verdict) + 1)
                tally.seconds = time.process_time() - started
                say(f"{name} {'single words' if words == 1 else 'pairs'}: {tally}")


def _rows(kept: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, kept.read_text(encoding="utf-8").splitlines())


def collected(kept: Path) -> list[Elementary]:
    """Return the operators with an identity among what was judged, those of several types once; smallest first."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for row in _rows(kept):
        if row["identity"]:
            name, *lists = json.loads(row["key"])
            found.setdefault((json.dumps(lists), row["identity"], row["laws"]), {})[name] = None
    some = [
        Elementary(
            tuple(json.loads(lists)), tuple(identity.split()), "l" in laws, "r" in laws, "c" in laws,
            tuple(name for name in TYPES if name in names),
        )
        for (lists, identity, laws), names in found.items()
    ]  # fmt: skip
    return sorted(some, key=lambda each: (len(each.lists), sum(node.size for node in each.combine)))


def _judged(name: str, candidate: TableCandidate, known: dict[str, Any], file: Any, seconds: float) -> dict[str, Any]:
    key = _key(name, candidate.combine)
    had = known.get(key)
    if had is None or (had["verdict"] == "unknown" and had.get("seconds", SECONDS) < seconds):
        turned = known.get(_key(name, other_way_round(candidate.combine)), {"verdict": "refuted"})
        as_turned = turned["verdict"] != "refuted" and turned.get("seconds", SECONDS) >= seconds
        law = Judged(turned["verdict"]) if as_turned else None
        known[key] = {"key": key, **_verdict(name, candidate, seconds, law), "seconds": seconds}
        file.write(json.dumps(known[key]) + "\n")
        file.flush()
    found: dict[str, Any] = known[key]
    return found


def _key(name: str, combine: Sequence[Expression]) -> str:
    lists = [as_lists(each) for each in combine]
    assert tuple(map(of_lists, lists)) == tuple(combine)
    return json.dumps([name, *lists], separators=(",", ":"))


def _verdict(name: str, candidate: TableCandidate, seconds: float, law: Judged | None) -> dict[str, str]:
    operator, law = elementary(candidate.combine, candidate.identities, (name,), seconds, law)
    laws = (
        "" if operator is None
        else "l" * operator.left + "r" * operator.right + "c" * operator.commutative
    )  # fmt: skip
    identity = "" if operator is None else " ".join(operator.identity)
    return {"verdict": law.verdict, "witness": law.witness, "identity": identity, "laws": laws}


def written(some: Iterable[Elementary]) -> str:
    """Return the text of a table, an operator a line."""
    rows = (
        [list(one.lists), " ".join(one.identity), "".join(
            letter for letter, holds in (("l", one.left), ("r", one.right), ("c", one.commutative)) if holds
        ), " ".join(one.types)]
        for one in some
    )  # fmt: skip
    return "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n"
