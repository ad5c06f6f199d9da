"""Random movements of arrays: what is proved equal is equal, and what is not proved equal differs somewhere."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from symbolic.errors import SwizzleError
from symbolic.patterns.meaning import value_of_term
from symbolic.patterns.reading import read_pattern, read_type
from symbolic.patterns.types import ValueType, type_of
from symbolic.rewriting.evidence import same_values
from symbolic.rewriting.proof import prove_equal

MOVES = [
    "split(s)", "split(m)", "join", "transpose", "reorder_stride(s)", "reorder_stride(m)", "map(reorder_stride(s))",
    "map(split(s))", "map(join)", "map(transpose)", "slide(s, s)", "slide(1, 1)", "asVector(2)", "asScalar",
    "map(lambda v: sqrt(v))", "map(lambda r: reduce(lambda a, b: pow(a, b), 0) o r)",
]  # fmt: skip
INPUTS: dict[str, ValueType] = {"x": read_type("f32[m * s]"), "y": read_type("f32[m, s]")}
LENGTHS = [{"m": 2, "s": 3}, {"m": 3, "s": 2}, {"m": 4, "s": 4}, {"m": 1, "s": 3}, {"m": 6, "s": 2}]


def chains(rng: random.Random, count: int) -> dict[str, list[str]]:
    """Return well-typed chains of movements that need nothing of lengths, by their type."""
    found: dict[str, list[str]] = {}
    while count:
        text = rng.choice(["x", "y"])
        for _ in range(rng.randrange(1, 6)):
            longer = f"{rng.choice(MOVES)} o {text}"
            try:
                type_of(read_pattern(longer), INPUTS)
            except SwizzleError:
                continue
            text = longer
        kind = str(type_of(read_pattern(text), INPUTS))
        found.setdefault(kind, []).append(text)
        count -= 1
    return found


def values_at(text: str, lengths: dict[str, int]) -> object:
    """Return a chain's value at some lengths, None where there is none."""
    m, s = lengths["m"], lengths["s"]
    data = {"x": np.arange(m * s) % 7 + 0.25, "y": (np.arange(m * s) % 7 + 10.25).reshape(m, s)}
    try:
        return value_of_term(read_pattern(text), data, lengths)
    except SwizzleError:
        return None


@pytest.mark.parametrize(
    ("pairs", "seed"), [(60, 1), pytest.param(3000, 2, marks=pytest.mark.slow)], ids=["quick", "slow"]
)
def test_what_is_proved_is_equal(pairs: int, seed: int) -> None:
    """Of chains that have values, at several lengths."""
    rng, tally = random.Random(seed), Counter[str]()
    groups = [each for each in chains(rng, 400).values() if len(each) > 1]
    for _ in range(pairs):
        first, second = rng.sample(rng.choice(groups), 2)
        proved = prove_equal(read_pattern(first), read_pattern(second), INPUTS, (), ("s",)).proved
        both = [(values_at(first, each), values_at(second, each)) for each in LENGTHS]
        some = [(a, b) for a, b in both if a is not None and b is not None]
        equal = all(same_values(a, b) for a, b in some)
        assert equal or not proved, f"{first} = {second}"
        tally["proved" if proved else "equal where tried" if equal and some else "different"] += 1
    print(dict(tally))
    assert tally["proved"] and tally["different"]
