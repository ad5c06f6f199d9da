"""Terms moved into block 0: many at once are those of one after the other."""

from __future__ import annotations

import random
from typing import Any

import pytest

from swizzle.answers.emit.any_length import continuation
from swizzle.answers.emit.any_length.continuation import MeaningAt, SharedTerms
from symbolic.algebra.terms import Terms

SHAPES = {"a": (6, 5), "x": (9,), "s": ()}


class _Program:
    parameters: tuple[Any, ...] = ()


@pytest.mark.parametrize("seed", range(6))
def test_many_terms_are_moved_as_each_by_itself(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Elements that leave their array, scalars, products within products, and what was moved before."""
    rng, terms = random.Random(seed), Terms()
    source = MeaningAt({}, _Program(), terms, {})  # type: ignore[arg-type]
    source.__dict__["shapes"] = SHAPES
    pool = [terms.atom("a", i) for i in range(30)] + [terms.atom("x", i) for i in range(9)]
    pool += [terms.atom("s", 0), terms.const(2), terms.const(-1)]
    for _ in range(200):
        op = rng.choice(("*", "*", "*", "+", "max", "/"))
        pool.append(terms.apply(op, rng.choices(pool, k=2 if op == "/" else rng.choice((2, 2, 3)))))
    by = {"a": (rng.randrange(2), rng.randrange(2)), "x": (rng.randrange(3),), "s": ()}
    found = []
    for many in (0, 1 << 30):
        monkeypatch.setattr(continuation, "_MANY", many)
        shared, memo = SharedTerms(), dict[int, int | None]()
        shared.translate_all(source, pool[:120], by, memo)
        shared.translate_all(source, pool, by, memo)
        found.append([None if memo[term] is None else shared.terms.show(memo[term] or 0) for term in pool])
        assert {part for term in pool for part in terms.made_of(term, ())} == set(memo)
        moved = {each for each in memo.values() if each is not None}
        greatest = shared.greatest(moved, lambda _, number: number)
        assert all(greatest[t] == max((n for _, n in shared.elements(t)), default=0) for t in moved)
    assert found[0] == found[1]
    assert (None in found[0]) == any(any(distance) for distance in by.values())
