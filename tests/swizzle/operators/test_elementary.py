"""The table of elementary operators: what is in it, how it is made, and what is found in it."""

from __future__ import annotations

import json
import random
from math import inf
from pathlib import Path

import pytest

from bench.rfactor import complex_product
from swizzle import f32, i32, serial, u32
from swizzle.operators import operator_of
from swizzle.operators.decomposition import subgraphs
from swizzle.operators.elementary import judging
from swizzle.operators.elementary.entries import TYPES, as_lists, of_lists, table
from swizzle.operators.elementary.generation import collected, generate
from swizzle.operators.elementary.matching import matched
from swizzle.operators.proof import Prover
from swizzle.operators.serial import Serial
from symbolic.expressions.text import text_of
from tests.swizzle.operators.halide import HALIDE, Row


@pytest.mark.parametrize("row", HALIDE, ids=lambda row: row[0])
def test_the_table_that_halide_ships(row: Row) -> None:
    """Each pattern is reproduced, or refuted by numbers, which are computed with again."""
    _, sort, combine, identity, _, wanted = row
    laws = {
        "associative": judging.associative(combine, sort, 30),
        "left": judging.identity(combine, identity, sort, "left", 30),
        "right": judging.identity(combine, identity, sort, "right", 30),
        "commutative": judging.commutative(combine, sort, 30),
    }
    assert " ".join(name for name, law in laws.items() if law.verdict == "proved") == wanted
    assert all(law.verdict == "proved" or " and (" in law.witness for law in laws.values())


def test_entries_are_associative_on_random_numbers() -> None:
    """The oracle of what is kept: plain arithmetic, in the type of the entry."""
    rng = random.Random(1)
    entries = rng.sample([*table(1), *table(2)], 40)
    for entry in entries:
        name = rng.choice(entry.types)
        assert judging.tried(entry.combine, TYPES[name], rng.randrange(99), 20) is None, entry
        assert tuple(of_lists(as_lists(each)) for each in entry.combine) == entry.combine
    assert {name for entry in [*table(1), *table(2)] for name in entry.types} == set(TYPES)


def test_generation_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """What was judged is not judged again; and three leaves have the operators that everybody knows."""
    kept = tmp_path / "kept.jsonl"
    generate(kept, ["i32"], 3, 1)
    text = kept.read_text()
    kept.write_text(text[: text.index("\n") + 1])
    generate(kept, ["i32"], 3, 1)
    assert sorted(kept.read_text().splitlines()) == sorted(text.splitlines())
    found = {text_of(each.combine[0]): each for each in collected(kept)}
    assert {"x0 + y0", "x0 * y0", "max(x0, y0)", "min(x0, y0)", "max(y0, min(k, x0))"} <= set(found)
    assert found["max(y0, min(k, x0))"].left and not found["max(y0, min(k, x0))"].right
    verdicts = [json.loads(line)["verdict"] for line in text.splitlines()]
    assert verdicts.count("proved") == len(verdicts)


# ---- updates -----------------------------------------------------------------------------------------------------


@serial
def band(x: i32):
    s = 100
    for v in x:
        s = max(min(s, 1000), v * v)
    return s


@serial
def either_way(x: f32):
    s = 0
    for v in x:
        s = s * (1 - v) + v  # s + v - s * v, written in another way
    return s


@serial
def velocity(x: f32):
    s = 0
    for v in x:
        s = (s + v) / (1 + s * v)  # of -1 and 1 it divides by zero
    return s


@serial
def with_a_carry(low: u32, high: u32):
    a, b = 0, 0
    for v, w in zip(low, high, strict=True):
        s = a + v
        b = b + w + (1 if s < v else 0)
        a = s
    return a, b


@serial
def eight(x: f32, i: i32, n: i32):
    total, squares, most, at_most, least, at_least, product, count = 0, 0, -inf, 0, inf, 0, 1, 0
    for v, p, c in zip(x, i, n, strict=True):
        total, squares, product, count = total + v, squares + v * v, product * c, count + c
        if v > most:
            most, at_most = v, p
        if v < least:
            least, at_least = v, p
    return total, squares, most, at_most, least, at_least, product, count


@pytest.mark.parametrize(
    ("loop", "words", "how"),
    [(either_way, 1, ""), (velocity, 1, "the step itself"), (complex_product, 2, "the step itself"),
     (with_a_carry, 2, "the step itself"), (eight, 8, "in parts")],
    ids=lambda each: getattr(each, "name", ""),
)  # fmt: skip
def test_updates_are_matched_and_taken_apart(loop: Serial, words: int, how: str) -> None:
    """As many words as the loop has; and random groupings give what the loop gives."""
    found = operator_of(loop.loop)
    assert found.status == "proved" and found.carrier is not None, found
    assert len(found.carrier.words) == words and found.carrier.how.startswith(how)
    rng = random.Random(3)
    for _ in range(30):
        rows = [tuple(rng.randrange(0, 9) for _ in loop.loop.elements) for _ in range(rng.randrange(2, 8))]
        words_of = [found.carrier.lifted(row) for row in rows]
        while len(words_of) > 1:
            at = rng.randrange(len(words_of) - 1)
            words_of[at : at + 2] = [found.carrier.joined(words_of[at], words_of[at + 1])]
        assert found.carrier.finished(words_of[0]) == pytest.approx(
            loop.loop.finished(loop.loop.after(rows)), rel=1e-12
        )


def test_the_table_knows_functions_not_spellings() -> None:
    """The same operator, whichever way it is written; none where there is none."""
    (found,) = list(matched(either_way.loop))[:1]
    assert text_of(found.combine["s"], lambda name: name.replace(".", "_")) == "a_s + b_s - a_s * b_s"
    found = next(matched(band.loop))  # a start of 100 comes before all parts
    assert text_of(found.state["s"]) == "max(s, 100)" and text_of(found.lift["s"]) == "v * v"
    assert Prover(found, "words").step().verdict == "proved"
    assert not list(matched(subtracted_from.loop))


@serial
def subtracted_from(x: i32):
    s = 0
    for v in x:
        s = v - s
    return s


@serial(length=20, where=lambda v: 0 <= v <= 2)
def greatest_product(x: i32):
    m, s = 0, 1
    for v in x:
        s = s * v
        m = max(m, s)
    return m


def test_an_operator_of_the_table_fits_the_first_element() -> None:
    """m_a + s_a * m_b - s_a is right of all states but the first one, of m = 0 and s = 1."""
    assert not list(matched(greatest_product.loop))


def test_subgraphs() -> None:
    """Of what needs what: an arg-maximum and an arg-minimum have two words each, and sums stand alone."""
    assert subgraphs(eight.loop) == [
        ("total",), ("squares",), ("most", "at_most"), ("least", "at_least"), ("product",), ("count",)
    ]  # fmt: skip
