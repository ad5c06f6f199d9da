"""Random derivations: whatever rules apply one after the other, values, types and texts stay right."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from symbolic.errors import SwizzleError
from symbolic.patterns.meaning import value_of_term
from symbolic.patterns.reading import read_pattern, read_type
from symbolic.patterns.terms import canonical
from symbolic.patterns.text import pattern_text
from symbolic.rewriting.derivation import PatternDerivation, replay
from symbolic.rewriting.evidence import evens_first, same_values, sample
from symbolic.rewriting.rule import RULES

ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "split_join": [{"size": 2}, {"size": 4}, {"size": 8}],
    "reduce_part": [{"parts": 2}, {"parts": 4}],
    "part_split": [{"size": 4}, {"size": 8}],
    "part_iterate": [{"times": 1, "size": 2}, {"times": 2, "size": 2}, {"times": 3, "size": 2}],
    "iterate_split": [{"times": 1}, {"times": 2}],
    "lower_map": [{"kind": kind} for kind in ("global", "block", "local", "warp", "lane", "seq")],
    "reorder_stride": [{"stride": 2}, {"stride": 4}],
    "to_memory": [{"memory": memory} for memory in ("shared", "global", "registers")],
    "vectorise": [{"width": 2}, {"width": 4}],
    "vectorise_part": [{"width": 2}],
    "reduce_chunks": [{"size": 4}],
    "reduce_seq_chunks": [{"size": 2}, {"size": 4}],
    "scan_chunks": [{"size": 2}, {"size": 4}],
    "slide_tiles": [{"tile": 2}, {"tile": 4}],
    "share": [{"name": "y"}],
    "slide_tiles_2d": [{"tile": 2}],
    "reduce_tiles": [{"size": 2}, {"size": 4}],
    "keep_tile": [{"item": item, "turned": turned} for item in (0, 1) for turned in (False, True)],
    "share_name": [{"of": "x", "name": "y"}, {"of": "p", "name": "y", "place": 0}],
}  # fmt: skip
SELDOM = {
    "copy": 0.1,
    "no_copy": 0.3,
    "share": 0.1,
    "transposed": 0.2,
    "keep_tile": 9,
    "reduce_tiles": 9,
    "share_name": 0.1,
}
NAMES = (
    "add = lambda a, b: a + b\nabs = lambda v: max(v, -v)\nmul = lambda p: p[0] * p[1]\nhigh = lambda a, b: max(a, b)\n"
    "line = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])\n"
)
STARTS: list[tuple[str, dict[str, str]]] = [
    ("map(lambda v: v * 3) o x", {"x": "f32[32]"}),
    ("reduce(add, 0) o map(abs) o x", {"x": "f32[32]"}),
    ("reduce(high, -inf) o map(abs) o map(lambda v: v + a) o x", {"x": "f32[32]", "a": "f32"}),
    ("reduce(add, 0) o map(mul) o zip(x, y)", {"x": "f32[32]", "y": "f32[32]"}),
    ("map(lambda w: at(reduce(add, 0) o map(abs) o w, 0)) o slide(3, 1) o map(lambda v: v + 1) o x", {"x": "f32[34]"}),
    ("map(lambda r: map(lambda c: at(reduce(add, 0) o map(mul) o zip(r, c), 0)) o transpose o B) o A",
     {"A": "f32[4, 8]", "B": "f32[8, 4]"}),
    ("map(lambda p: p[0] + p[1]) o zip(map(lambda r: a * at(reduce(add, 0) o map(mul) o zip(r, x), 0)) o A, "
     "map(abs) o y)", {"A": "f32[8, 16]", "x": "f32[16]", "y": "f32[8]", "a": "f32"}),
    ("iterate(3, join o map(reduce(add, 0)) o split(2)) o map(abs) o x", {"x": "f32[32]"}),
    ("reduce_seq(lambda a, v: 2 * a + v, 1) o map(abs) o x", {"x": "f32[16]"}),
    ("scan(add, 0) o map(abs) o x", {"x": "f32[16]"}),
    ("scan(line, (1, 0)) o zip(x, y)", {"x": "f32[16]", "y": "f32[16]"}),
    ("map(map(lambda w: at(at(w, 0), 1) + at(at(w, 1), 0))) o map(transpose) o slide(2, 1) o map(slide(2, 1)) o x",
     {"x": "f32[5, 7]"}),
    ("join o map_block(lambda t: map(lambda r: map(lambda c: at(reduce_seq(lambda a, p: a + p[0] * p[1], 0) o "
     "zip(r, c), 0)) o B) o t) o split(2) o A", {"A": "f32[4, 8]", "B": "f32[3, 8]"}),
    ("map(map(abs)) o transpose o x", {"x": "f32[4, 8]"}),
    ("let(map(abs) o x, lambda y: map(lambda p: p[0] - p[1]) o zip(y, x))", {"x": "f32[32]"}),
]  # fmt: skip


def walk(rng: random.Random, steps: int, tally: Counter[str]) -> PatternDerivation:
    """Take random steps, and look at the values after each."""
    text, inputs = rng.choice(STARTS)
    made = PatternDerivation(read_pattern(NAMES + text), {name: read_type(kind) for name, kind in inputs.items()})
    data = {name: sample(kind, at + rng.randrange(9)) for at, (name, kind) in enumerate(made.inputs.items())}
    wanted = value_of_term(made.now, data, {})
    for _ in range(steps):
        names = sorted(RULES, key=lambda name: -rng.random() * SELDOM.get(name, 1))
        for name in names:
            arguments = rng.choice(ARGUMENTS.get(name, [{}]))
            found = made.places(name, **arguments)
            if not found:
                continue
            try:
                made.apply(name, nth=rng.randrange(len(found)) if len(found) > 1 else None, **arguments)
            except SwizzleError:  # a nesting that is wrong around it
                tally["refused"] += 1
                continue
            break
        if len(pattern_text(made.now, made.inputs)) > 1200:
            break
        tally[made.steps[-1].rule] += 1
        for order in (np.arange, evens_first):
            assert same_values(value_of_term(made.now, data, {}, order), wanted), made.text()
        assert canonical(read_pattern(pattern_text(made.now, made.inputs))) == canonical(made.now)
    assert canonical(replay(json.dumps(made.as_data())).now) == canonical(made.now)
    return made


@pytest.mark.parametrize(
    ("steps", "seed"), [(60, 1), pytest.param(5000, 2, marks=pytest.mark.slow)], ids=["quick", "slow"]
)
def test_random_derivations_keep_values(steps: int, seed: int) -> None:
    """No rule gives a wrong value, whatever has been applied before it, and each derivation is replayed."""
    rng, tally, taken = random.Random(seed), Counter[str](), 0
    while taken < steps:
        taken += len(walk(rng, rng.randrange(3, 15), tally).steps)
    print(dict(tally))
    if steps > 1000:
        assert tally.keys() - {"refused"} == RULES.keys()
