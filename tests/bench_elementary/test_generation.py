"""The table of elementary operators: what is in it, and how it is made."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.elementary import generation, judging
from bench.elementary.enumeration import Trees, columns_of, corners
from bench.elementary.generation import collected, generate
from bench.elementary.integers import equal_as_integers
from bench.elementary.orders import associative_by_order
from bench.elementary.sieve import Sieve
from swizzle.operators.elementary import TYPES, of_lists, table
from symbolic.expressions import expression as e
from symbolic.expressions.columns import on_columns
from symbolic.expressions.expression import Expression, subexpressions
from symbolic.expressions.formulas import Sort
from symbolic.expressions.meaning import value_of
from symbolic.expressions.text import text_of
from tests.bench_elementary.halide import HALIDE, Row


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
        assert tuple(of_lists(judging.as_lists(each)) for each in entry.combine) == entry.combine
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


@pytest.mark.slow
def test_what_is_left_out_says_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices of a part by a condition on it, and operators with another constant: nothing else is left out."""
    some = (each.combine[0] for each in table(1) if "i32" in each.types)
    whole = {node for node in some if leaves(node) <= 4 and not any(each.constant for each in subexpressions(node))}
    monkeypatch.setattr(generation, "WHOLE", 3)
    kept = {each.combine[0] for each in generation.singles(TYPES["i32"], 4, generation.GenerationTally())}
    x, y, z, k = corners(TYPES["i32"], 500)[:4].astype(object) % 1000  # plain integers

    def of(node: Expression, x: Any, y: Any, k: Any) -> Any:
        return on_columns(node, {"x0": x, "y0": y, "k": k}).astype(object)

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
            return np.broadcast_to(on_columns(node, {"x0": a, "y0": b, "k": k}), len(k))

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


def leaves(node: Expression) -> int:
    """Return how many names and numbers an expression has, as the table counts them: a factor -1 is a difference."""
    if node.operator == "*" and node.arguments[0].constant and node.arguments[0].value == -1:
        return sum(map(leaves, node.arguments[1:]))
    return sum(map(leaves, node.arguments)) if node.arguments else 1
