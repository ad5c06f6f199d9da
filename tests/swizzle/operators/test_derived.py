"""Operators made of operators: laws on letters for all of them, and the loops that they stand for."""

from __future__ import annotations

import random
from typing import Any

import pytest

from swizzle import f32, i32, operator, serial
from swizzle.commands.operator import beside
from swizzle.operators import Found, found_of, product, reversed, segmented
from swizzle.operators.derived import _segments, associative_on_letters
from swizzle.operators.proof import Prover
from swizzle.operators.samples import random_rows
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import either
from tests.swizzle.operators import loops
from tests.swizzle.operators.found import found_of as base_of

NAMES = ["total", "argmax", "best_run", "recurrence", "second_largest", "average", "is_sorted"]


@operator
def minimum_at(a: (f32, i32), b: (f32, i32)):  # type: ignore[valid-type]
    return a if a[0] <= b[0] else b


def joined(found: Found, rows: list[tuple[Any, ...]], rng: random.Random) -> tuple[Any, ...]:
    """Return the words of elements, combined in a random grouping."""
    carrier = found.with_identity
    parts = [carrier.lifted(row) for row in rows]
    while len(parts) > 1:
        at = rng.randrange(len(parts) - 1)
        parts[at : at + 2] = [carrier.joined(parts[at], parts[at + 1])]
    return carrier.finished(parts[0])


def after(found: Found, rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return what a loop returns after elements."""
    return found.loop.finished(found.loop.after(rows))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_segments_do_not_see_each_other(name: str) -> None:
    """In any grouping, the result is the loop's since the last place where a segment begins."""
    base, found, rng = base_of(name), found_of(segmented(getattr(loops, name))), random.Random(1)
    assert found.status == "proved" and found.loop.name == f"segmented_{name}"
    for count in (1, 2, 3, 7):
        for rows in (random_rows(base.loop, rng, count) for _ in range(8)):
            flags = [rng.random() < 0.4 for _ in rows]
            last = max((place for place, flag in enumerate(flags) if flag), default=0)
            whole = [(*row, flag) for row, flag in zip(rows, flags, strict=True)]
            assert joined(found, whole, rng) == pytest.approx(after(base, rows[last:]))
            assert after(found, whole) == pytest.approx(after(base, rows[last:]))


@pytest.mark.parametrize("name", ["argmax", "recurrence"])
def test_reversed_operators_begin_at_the_end(name: str) -> None:
    """In any grouping, the result is the loop's of the elements from the last to the first."""
    base, found, rng = base_of(name), found_of(reversed(getattr(loops, name))), random.Random(2)
    assert found.status == "proved"
    for rows in (random_rows(base.loop, rng, count) for count in (1, 2, 3, 9)):
        assert joined(found, rows, rng) == pytest.approx(after(base, rows[::-1]))
    twice = found_of(reversed(reversed(getattr(loops, name)))).carrier
    assert twice is not None and base.carrier is not None and twice.combine == base.carrier.combine


def test_products_keep_their_words_apart() -> None:
    """Two loops with the same names, side by side, with an operator of the user's beside them."""
    base, rng = base_of("argmax"), random.Random(3)
    found = found_of(product(loops.argmax, segmented(loops.argmax)))
    assert found.status == "proved" and len(found.loop.elements) == 3
    for rows in (random_rows(base.loop, rng, count) for count in (1, 2, 3, 9)):
        others = random_rows(base.loop, rng, len(rows))
        whole = [(*row, *other, False) for row, other in zip(rows, others, strict=True)]
        assert joined(found, whole, rng) == (*after(base, rows), *after(base, others))
    mixed = found_of(product(minimum_at, loops.total))
    assert mixed.status == "proved" and mixed.proofs is not None and mixed.carrier is not None
    assert mixed.proofs.laws["commutative"].verdict == "refuted"
    assert joined(mixed, [(2.0, 1, 5), (1.0, 7, 6), (1.0, 8, 7)], rng) == (1.0, 7, 18)


@pytest.mark.parametrize("make", [segmented, reversed, lambda given: product(given, loops.total)])
def test_the_prover_says_the_same(make: Any) -> None:
    """What is proved on letters, once, the solver proves of the words themselves."""
    for name in ("total", "recurrence"):
        found = found_of(make(getattr(loops, name)))
        assert found.carrier is not None and found.proofs is not None
        prover = Prover(found.carrier, found.proofs.domain)
        assert prover.associative().verdict == found.proofs.laws["associative"].verdict == "proved"
        if found.loop.state:
            assert prover.step().verdict == "proved"
        identity = found.proofs.identity
        assert identity is not None
        assert [law.verdict for law in prover.identity(identity)[1:]] == ["proved", "proved"]


def test_a_wrong_construction_is_refuted_on_letters() -> None:
    """The wrong flag decides; a flag that is forgotten; operands that change places."""
    assert associative_on_letters(_segments, True)

    def first_flag(join: Any, choose: Any, a: Any, b: Any) -> Any:
        return either(a[0], b[0]), choose(a[0], b[1], join(a[1], b[1]))

    def forgotten(join: Any, choose: Any, a: Any, b: Any) -> Any:
        return b[0], choose(b[0], b[1], join(a[1], b[1]))

    def swapped(join: Any, choose: Any, a: Any, b: Any) -> Any:
        return either(a[0], b[0]), choose(b[0], join(b[1], a[1]), join(a[1], b[1]))

    assert not any(associative_on_letters(each, True) for each in (first_flag, forgotten, swapped))


@serial
def compensated(x: f32):  # type: ignore[no-untyped-def, valid-type]
    s, t = 0, 0
    for v in x:  # type: ignore[attr-defined]
        y = v - t
        u = s + y
        t = (u - s) - y
        s = u
    return s


@serial
def harmonic(x: f32):  # type: ignore[no-untyped-def, valid-type]
    s = 0
    for v in x:  # type: ignore[attr-defined]
        s += 1 / v
    return s


def test_what_is_said_beside_the_laws_is_said_of_what_is_made_of_them() -> None:
    """What rounding leaves, and what is divided by, under the names that words have there."""
    said = list(beside(found_of(compensated)))
    assert said == list(beside(found_of(segmented(compensated)))) and said[0][0] == "rounding"
    both = list(beside(found_of(product(compensated, product(compensated, harmonic)))))
    titles = [title for title, _ in both]
    assert titles == ["rounding", "rounding", "divides by"] and both[0] == said[0] != both[1]
    assert "t_1" in both[1][1] and "x" not in both[1][1]


def test_only_what_is_proved_is_built_upon() -> None:
    """Sums that wrap under a maximum are no operator, in segments either."""
    with pytest.raises(SwizzleError) as error:
        found_of(segmented(loops.best_suffix_of_any))
    assert error.value.found.startswith("segmented of best_suffix_of_any, of which no operator is proved: ")
    with pytest.raises(SwizzleError) as error:
        segmented(len)  # type: ignore[arg-type]
    assert error.value.expected == "a serial loop, or an operator: what @serial or @operator made"
