"""Searching structures: each expression once, counted, and each with its derivation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symbolic.patterns.meaning import value_of_term
from symbolic.patterns.reading import read_pattern, read_type
from symbolic.patterns.terms import canonical
from symbolic.rewriting.evidence import same_values, sample
from symbolic.rewriting.structures import RewriteMove, derivation_of, explore, structure

SIZES: list[tuple[str, dict[str, Any]]] = [
    *((name, {"size": size}) for name in ("split_join", "part_split") for size in (8, 32)),
    ("reduce_part", {"parts": 4}), ("part_iterate", {"times": 3, "size": 2}), ("reorder_stride", {"stride": 32}),
    ("vectorise", {"width": 4}), ("to_memory", {"memory": "shared"}),
    *(("lower_map", {"kind": kind}) for kind in ("block", "local", "seq", "warp", "lane", "global")),
]  # fmt: skip
OTHERS = "part_reduce split_join_id map_fusion reduce_map_fusion lower_reduce part_reorder reorder_of_map reorder_id"
MOVES = [*(RewriteMove(*each) for each in SIZES), *map(RewriteMove, OTHERS.split())]
SCAL = "mul3 = lambda v: v * 3\nmap(mul3) o x"
ASUM = "abs = lambda v: max(v, -v)\nadd = lambda a, b: a + b\nreduce(add, 0) o map(abs) o x"
INPUTS = {"x": read_type("f32[1024]")}


def test_everything_of_a_depth_is_found_once() -> None:
    """Of a map: block, seq, global; vectors; two sizes of chunks; then what each of these can become."""
    found = explore(read_pattern(SCAL), INPUTS, MOVES, 2)
    assert found.complete and found.by_depth[:2] == [1, 6]
    assert len({canonical(each.term) for each in found.reached}) == len(found.reached) == sum(found.by_depth)
    assert len(found.structures) == 4
    assert {canonical(structure(each.term)) for each in found.reached} == {
        canonical(structure(each.term)) for each in found.structures
    }


@pytest.mark.parametrize("text", [SCAL, ASUM])
def test_what_is_found_keeps_the_values_and_has_a_derivation(text: str) -> None:
    """Each expression of depth 2 is the first one, and its derivation leads to it."""
    found = explore(read_pattern(text), INPUTS, MOVES, 2)
    data = {"x": sample(INPUTS["x"])}
    wanted = value_of_term(read_pattern(text), data, {})
    for each in found.reached:
        assert same_values(value_of_term(each.term, data, {}, np.arange), wanted)
    for each in found.reached[:: max(1, len(found.reached) // 12)]:
        made = derivation_of(each, INPUTS)
        assert canonical(made.now) == canonical(each.term) and len(made.steps) == each.depth


def test_a_limit_is_said() -> None:
    """What is left out is not called complete."""
    found = explore(read_pattern(ASUM), INPUTS, MOVES, 5, limit=60)
    assert len(found.reached) == 60 and not found.complete
