"""Terms moved into block 0: many at once are those of one after the other.

A specification cut off at a shorter length says what it says when it is asked there.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from swizzle.answers.emit.any_length import continuation
from swizzle.answers.emit.any_length.continuation import MeaningAt, SharedTerms, meaning_cut, numbers_cut
from swizzle.language.specs.specification import Meaning, numbers
from symbolic.algebra.terms import Terms
from symbolic.errors import Place
from symbolic.ir.program import DType, Parameter, Program
from tests.cuda_out.build import kernel

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


def box(x: Any, y: Any) -> Any:
    """Return sums of neighbours in two dimensions; `y`, which is overwritten, counts too."""
    rows, columns = len(y), len(y[0])
    return [[x[r][c] + x[r + 1][c + 2] - y[r][c] for c in range(columns)] for r in range(rows)]


def sized(rows: int, columns: int) -> Program:
    place = Place("k.py", 1, 1)
    x = Parameter("x", DType.I32, (rows + 1, columns + 2), "in", place)
    y = Parameter("y", DType.I32, (rows, columns), "inout", place)
    return replace(kernel("box", [], []), parameters=(x, y))


def test_cut_off_or_asked_there() -> None:
    """Terms and numbers are the same."""
    large = Meaning.of(sized(5, 6), box)
    whole = MeaningAt({}, sized(5, 6), large.terms, large.wanted)
    rng = np.random.default_rng(0)
    for shape in ((5, 6), (3, 4), (1, 6), (5, 1)):
        program = sized(*shape)
        asked, cut = Meaning.of(program, box), meaning_cut(whole, program)
        assert [asked.terms.show(t) for t in asked.wanted["y"]] == [cut.terms.show(t) for t in cut.wanted["y"]]
        given = {p.name: rng.integers(-9, 9, p.shape).astype(np.int32) for p in program.parameters}
        want, got = numbers(program, box, given), numbers_cut(sized(5, 6), box, program, given)
        np.testing.assert_array_equal(want["y"], got["y"])


def test_what_is_cut_off_is_no_element() -> None:
    """A specification that looks beyond the end asks for what no kernel can load."""

    def backwards(x: Any, y: Any) -> Any:
        return [[x[-1][-1] for _ in row] for row in y]

    large = Meaning.of(sized(5, 6), backwards)
    cut = meaning_cut(MeaningAt({}, sized(5, 6), large.terms, large.wanted), sized(3, 6))
    (term,) = set(cut.wanted["y"])
    op, (name, _) = cut.terms.nodes[term]
    assert (op, name) == ("atom", "x, beyond its end,")
