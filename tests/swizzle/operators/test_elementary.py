"""The table of elementary operators: what is in it, how it is made, and what is found in it."""

from __future__ import annotations

import itertools
import json
import random
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.divide_and_conquer import times_of_the_greatest
from bench.rfactor import complex_product
from swizzle import f32, i32, serial, u32
from swizzle.operators import operator_of
from swizzle.operators.decomposition import subgraphs
from swizzle.operators.elementary import generation, judging
from swizzle.operators.elementary.entries import TYPES, as_lists, leaves, of_lists, table
from swizzle.operators.elementary.enumeration import Trees, columns_of, corners
from swizzle.operators.elementary.generation import collected, generate
from swizzle.operators.elementary.integers import equal_as_integers
from swizzle.operators.elementary.matching import matched
from swizzle.operators.elementary.orders import associative_by_order
from swizzle.operators.elementary.sieve import Sieve
from swizzle.operators.elementary.together import Together
from swizzle.operators.proof import Prover
from swizzle.operators.serial import Serial
from swizzle.operators.splits import on_arrays
from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression, subexpressions
from symbolic.expressions.formulas import Sort
from symbolic.expressions.numbers import value_of
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


def test_entries_are_proved_again() -> None:
    """Some single words, with the sides of their identities: nothing says otherwise, and most are proved."""
    rng = random.Random(4)
    verdicts = []
    for entry in rng.sample(table(1), 12):
        sort = TYPES[rng.choice(entry.types)]
        verdicts.append(judging.associative(entry.combine, sort, 0.3).verdict)
        for side in ["left"] * entry.left + ["right"] * entry.right:
            verdicts.append(judging.identity(entry.combine, entry.identity, sort, side, 0.3).verdict)
    assert "refuted" not in verdicts and verdicts.count("proved") > len(verdicts) // 2


def test_entries_the_other_way_round_have_the_other_sides() -> None:
    """Where the table has an operator both ways round, an identity of one side is one of the other side."""
    entries = {(entry.combine, name): entry for entry in table(1) for name in entry.types}
    both = [(entry, other) for (combine, name), entry in entries.items()
            if (other := entries.get((judging.other_way_round(combine), name)))]  # fmt: skip
    assert len(both) > len(entries) // 3
    for one, other in both:
        assert one.commutative == other.commutative
        assert one.identity != other.identity or (one.left, one.right) == (other.right, other.left)


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


def test_what_is_left_out_says_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices of a part by a condition on it, and operators with another constant: nothing else is left out."""
    some = (each.combine[0] for each in table(1) if "i32" in each.types)
    whole = {node for node in some if leaves(node) <= 4 and not any(each.constant for each in subexpressions(node))}
    monkeypatch.setattr(generation, "WHOLE", 3)
    kept = {each.combine[0] for each in generation.singles(TYPES["i32"], 4, generation.GenerationTally())}
    x, y, z, k = corners(TYPES["i32"], 500)[:4].astype(object) % 1000  # plain integers

    def of(node: Expression, x: Any, y: Any, k: Any) -> Any:
        return on_arrays(node, {"x0": x, "y0": y, "k": k}).astype(object)

    others = [of(each, x, y, h) for each in kept for h in (0 * k, 0 * k + 1, 0 * k + 2, 0 * k - 1, 2 * k, k * k, -k)]
    assert whole - kept
    for node in whole - kept:
        one, other = of(node, x, y, k), of(node, x, z, k)
        choice = ((one == x) | (one == y)).all() and ((other == x) | (other == z)).all()
        assert choice or any((one == each).all() for each in others), text_of(node)


def test_orders_decide_what_plain_arithmetic_says() -> None:
    """Exactly, of maxima, minima, comparisons and choices; nothing that is wrong of conditions that compute."""
    rng = random.Random(3)
    sort, verdicts = TYPES["i32"], []
    x, y, z, k = (each.ravel().astype(float) for each in np.meshgrid(*[np.arange(4)] * 4))
    for _ in range(90):
        node, computes = random_choice(rng, 2), rng.random() < 0.4
        if computes:
            node = substituted_tests(node, rng)

        def of(a: Any, b: Any, node: Expression = node) -> Any:
            return np.broadcast_to(on_arrays(node, {"x0": a, "y0": b, "k": k}), len(k))

        found = associative_by_order(node, lambda _: None)
        if computes:
            assert not found or judging.tried((node,), sort, rng.randrange(99), 40) is None, text_of(node)
        else:
            assert found == bool((of(of(x, y), z) == of(x, of(y, z))).all()), text_of(node)
        verdicts.append((computes, found))
    assert min(verdicts.count((computes, found)) for computes in (True, False) for found in (True, False)) > 5


def test_words_as_integers_are_the_words() -> None:
    """The oracle is all words of 3 bits: what is shown holds; and without products, what holds is shown."""
    rng = random.Random(5)
    verdicts = []
    for signed in (True, False) * 15:
        sort = Sort("word", 3, signed)
        sorts = dict.fromkeys(("x0", "y0", "k"), sort)
        node, products = random_sum(rng, 2), rng.random() < 0.3
        other = rng.choice([e.maximum(node, node), e.subtract(e.add(node, e.number_name("k")), e.number_name("k")),
                            e.minimum(node, e.add(node, e.constant(8))), random_sum(rng, 1)])  # fmt: skip
        if products:
            node, other = (e.multiply(each, e.add(e.number_name("x0"), e.constant(1))) for each in (node, other))
        low, high = sort.limits
        all_words = itertools.product(range(low, high + 1), repeat=3)
        holds = all(value_of(node, values, sorts) == value_of(other, values, sorts)
                    for values in (dict(zip(sorts, words, strict=True)) for words in all_words))  # fmt: skip
        found = equal_as_integers([node], [other], sort, 20)
        assert found <= holds if products else found == holds, (text_of(node), text_of(other), sort)
        verdicts.append(found)
    assert 5 < verdicts.count(True) < 25


def random_sum(rng: random.Random, depth: int) -> Expression:
    """Return sums, differences, maxima, minima and choices of x0, y0, k and numbers."""
    if depth == 0:
        return rng.choice([e.number_name(rng.choice(["x0", "y0", "k"])), e.constant(rng.randrange(-3, 4))])
    a, b = (random_sum(rng, depth - 1) for _ in range(2))
    if rng.random() < 0.2:
        return e.select(e.less(a, random_sum(rng, depth - 1)), a, b)
    return rng.choice([e.maximum, e.minimum, e.add, e.subtract])(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["i32", "u32", "f32"])
def test_compiled_code_finds_what_arrays_find(name: str) -> None:
    """The functions of 5 leaves that pass, whether their parts of 4 leaves are kept or not."""
    sort, found = TYPES[name], []
    columns = columns_of(sort, 1)
    inputs = [column[None] for column in columns.columns.values()]
    for kept in (4, 4, 3):
        trees = Trees(("x0", "y0", "k"), columns.columns)
        for _ in range(1, kept):
            trees.grow()
        if found:
            sieve = Sieve(trees, columns, generation._triples(sort))
            rows = [sieve.of(size) for size in range(kept + 1, 6)][-1]
            assert len(generation._associative_rows(trees, rows, sort, generation.THOROUGH)) == len(rows)
        else:
            rows = generation._associative_rows(
                trees, generation._uncompiled(trees, columns), sort, generation.THOROUGH
            )
        with np.errstate(all="ignore"):
            keys = trees.keys(trees.values_of(rows, inputs)).tolist()
        found.append({key for key, row in zip(keys, rows, strict=True) if generation._holds(trees, row, sort)
                      and {"x0", "y0"} <= trees.expression(row).names})  # fmt: skip
    assert found[0] <= found[1] <= found[2] and len(found[0]) > 50, list(map(len, found))


def random_choice(rng: random.Random, depth: int) -> Expression:
    """Return maxima, minima and choices of x0, y0 and k."""
    if depth == 0:
        return e.number_name(rng.choice(["x0", "y0", "k", "x0", "y0"]))
    a, b = (random_choice(rng, depth - 1) for _ in range(2))
    if rng.random() < 0.6:
        return rng.choice([e.maximum, e.minimum])(a, b)
    return e.select(rng.choice([e.less, e.less_equal])(random_choice(rng, 0), random_choice(rng, 0)), a, b)


def substituted_tests(node: Expression, rng: random.Random) -> Expression:
    """Return a choice by a condition that computes with x0 or y0, or with both alike."""
    name = e.number_name(rng.choice(["x0", "y0"]))
    other = e.number_name("x0" if name.value == "y0" else "y0")
    keys = [e.add(e.number_name("k"), e.multiply(each, each)) for each in (name, other)]
    test = rng.choice([e.less(e.multiply(name, name), e.add(name, e.number_name("k"))), e.less_equal(*keys)])
    return e.select(test, rng.choice([name, node]), rng.choice([e.number_name("y0"), e.number_name("x0")]))


def test_entries_together_are_entries_one_by_one() -> None:
    """What is computed for all of them at once is what each of them is."""
    rng = np.random.default_rng(2)
    for words in (1, 2):
        names = [f"{side}{place}" for side in "xy" for place in range(words)] + ["k"]
        columns = {name: rng.integers(-5, 6, 8).astype(float) for name in names}
        entries = table(words)[::7]
        values = Together([each.lists for each in entries]).values(columns)
        for entry, row in zip(entries, values, strict=True):
            for node, own in zip(entry.combine, row, strict=True):
                assert (own == on_arrays(node, columns)).all(), entry


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
     (times_of_the_greatest, 2, "the step itself"),
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


@serial
def least_of_some(x: i32):
    s = 10
    for v in x:
        if s > v and v > 2:
            s = v
    return s


@serial
def second_least(x: i32):
    m, t = 1000, 1000
    for v in x:
        t = min(t, max(m, v))
        m = min(m, v)
    return t


@pytest.mark.parametrize("loop", [least_of_some, second_least], ids=lambda each: each.name)
def test_words_that_wrap_have_limits_instead_of_infinities(loop: Serial) -> None:
    """Laws of such words are asked of words, and their identity is one of them."""
    found = operator_of(loop.loop)
    assert found.status == "proved" and found.carrier is not None and found.proofs is not None
    assert not any(node.infinite for each in found.carrier.lift.values() for node in subexpressions(each))
    assert {each.value for each in (found.proofs.identity or {}).values()} == {2**31 - 1}
    words = found.carrier
    for rows in itertools.product([-(2**31), 2, 3, 9, 10, 2**31 - 1], repeat=3):
        last = words.joined(words.lifted(rows[1:2]), words.lifted(rows[2:]))
        whole = words.finished(words.joined(words.lifted(rows[:1]), last))
        assert whole == loop.loop.finished(loop.loop.after([(v,) for v in rows])), rows


def test_subgraphs() -> None:
    """Of what needs what: an arg-maximum and an arg-minimum have two words each, and sums stand alone."""
    assert subgraphs(eight.loop) == [
        ("total",), ("squares",), ("most", "at_most"), ("least", "at_least"), ("product",), ("count",)
    ]  # fmt: skip
