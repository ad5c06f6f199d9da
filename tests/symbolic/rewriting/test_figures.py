"""The paper's Figures 2, 8 and 9: derived, with its labels and its values, saved and replayed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from symbolic.errors import SwizzleError
from symbolic.patterns.meaning import value_of_term
from symbolic.patterns.reading import read_pattern
from symbolic.patterns.terms import canonical
from symbolic.rewriting.derivation import PatternDerivation, replay
from tests.symbolic.rewriting import figures

NAMES = "mul3 = lambda v: v * 3\nabs = lambda v: max(v, -v)\nadd = lambda a, b: a + b\n"
NAMES += "absAndPlus = lambda a, v: a + max(v, -v)\nid = lambda v: v\n"

PAPER = {
    "figure_2": "join o map_block(asScalar o map_local(vect(4, mul3)) o asVector(4)) o split(1024) o x",
    "figure_8": "reduce(add, 0) o join o map(reduce_seq(absAndPlus, 0)) o split(s) o x",
    "figure_9a": "reduce_seq(add, 0) o join o map_block(join o toGlobal o map_local(map_seq(id)) o split(1) "
    "o iterate(7, join o map_local(reduce_seq(add, 0)) o split(2)) "
    "o join o toShared o map_local(reduce_seq(absAndPlus, 0)) o split(2048) o reorder_stride(128)) "
    "o split(262144) o x",
    "figure_9b": "reduce_seq(add, 0) o asScalar o join o map_block(join o toGlobal o map_local(map_seq(id)) o split(1) "
    "o iterate(8, join o map_local(reduce_seq(vect(4, add), 0)) o split(2)) "
    "o join o toShared o map_local(reduce_seq(vect(4, absAndPlus), 0)) o split(2) o reorder_stride(256)) "
    "o split(512) o asVector(4) o x",
    "figure_9c": "reduce_seq(add, 0) o asScalar o join o map_block("
    "join o map_local(reduce_seq(vect(4, absAndPlus), 0)) o split(8192)) o split(8192) o asVector(4) o x",
}
FACTS = {
    "figure_2": ["1024 divides n"], "figure_8": ["s divides n"], "figure_9a": ["262144 divides n"],
    "figure_9b": ["2048 divides n"], "figure_9c": ["32768 divides n"],
}  # fmt: skip


@pytest.mark.parametrize("name", PAPER)
def test_figure_is_derived(name: str) -> None:
    """The last expression is the paper's, of any length that meets the facts; a saved derivation gives the same."""
    made: PatternDerivation = getattr(figures, name)()
    assert canonical(made.now) == canonical(read_pattern(NAMES + PAPER[name]))
    assert made.facts == FACTS[name]
    again = replay(json.dumps(made.as_data()))
    assert again.as_data() == made.as_data()


def test_figure_8_has_the_papers_eight_expressions_and_labels() -> None:
    """The paper writes some two steps as one: (2) and (7)."""
    made = figures.figure_8()
    eight = [
        "reduce(add, 0) o map(abs) o x",
        "reduce(add, 0) o join o map(part_red(add, 0, 1)) o split(s) o map(abs) o x",
        "reduce(add, 0) o join o map(part_red(add, 0, 1)) o split(s) o join o map(map(abs)) o split(s) o x",
        "reduce(add, 0) o join o map(part_red(add, 0, 1)) o map(map(abs)) o split(s) o x",
        "reduce(add, 0) o join o map(part_red(add, 0, 1) o map(abs)) o split(s) o x",
        "reduce(add, 0) o join o map(part_red(add, 0, 1) o map_seq(abs)) o split(s) o x",
        "reduce(add, 0) o join o map(reduce_seq(add, 0) o map_seq(abs)) o split(s) o x",
        "reduce(add, 0) o join o map(reduce_seq(absAndPlus, 0)) o split(s) o x",
    ]
    found = [canonical(each) for each in made.expressions]
    assert [canonical(read_pattern(NAMES + text)) for text in eight] == [found[at] for at in (0, 2, 3, 4, 5, 6, 8, 9)]
    assert [step.figure for step in made.steps] == ["3d", "3d", "3c", "3e", "3f", "4a", "3d", "4b", "3f"]


@pytest.mark.parametrize(("name", "length"), [("figure_2", 3072), ("figure_8", 24), ("figure_9b", 6144)])
def test_each_step_keeps_the_values(name: str, length: int) -> None:
    """Every expression is the first one on NumPy's arrays."""
    made: PatternDerivation = getattr(figures, name)()
    inputs = {"x": np.random.default_rng(1).integers(-9, 9, length).astype(float)}
    values = [value_of_term(each, inputs, {"n": length, "s": 4}) for each in made.expressions]
    assert all(np.array_equal(each, values[0]) for each in values)


def test_a_tiled_product_is_derived_in_13_steps() -> None:
    """Of any lengths that the tiles divide: both tiles in shared memory, sums in place; each step keeps the values."""
    made = figures.tiled_product()
    assert len(made.steps) == 13 and made.facts == ["16 divides k", "16 divides m", "16 divides n"]
    a, b = (np.arange(rows * columns).reshape(rows, columns) % 7 for rows, columns in ((32, 48), (48, 16)))
    lengths = {"m": 32, "k": 48, "n": 16}
    for each in made.expressions:
        assert np.array_equal(value_of_term(each, {"A": a, "B": b}, lengths), a @ b)
    assert replay(json.dumps(made.as_data())).as_data() == made.as_data()


def test_a_tiled_convolution_is_derived_in_13_steps() -> None:
    """Tiles overlap in both dimensions; each step keeps the values."""
    made = figures.tiled_convolution()
    assert len(made.steps) == 13
    assert made.facts == ["16 divides m - 18", "16 divides n - 18", "18 is at most m", "18 is at most n"]
    x, w = np.arange(34 * 50).reshape(34, 50) % 7, np.arange(9).reshape(3, 3)
    wanted = sum(w[i, j] * x[i : i + 32, j : j + 48] for i in range(3) for j in range(3))
    for each in made.expressions:
        assert np.array_equal(value_of_term(each, {"x": x, "w": w}, {"m": 34, "n": 50}), wanted)
    assert replay(json.dumps(made.as_data())).as_data() == made.as_data()


def test_steps_are_shown_with_the_changed_part_marked() -> None:
    """Of each step the figure, the arguments and the facts stand under the expression."""
    assert figures.figure_2().text() == (
        "     map(mul3) o x\n"
        "  1. [[ join o map(map(mul3)) o split(1024) ]] o x\n"
        "     3c: split_join, size=1024; 1024 divides n\n"
        "  2. join o map([[ asScalar o map(vect(4, mul3)) o asVector(4) ]]) o split(1024) o x\n"
        "     4e: vectorise at mul3, width=4\n"
        "  3. join o [[ map_block(asScalar o map(vect(4, mul3)) o asVector(4)) ]] o split(1024) o x\n"
        "     4a: lower_map at mul3_chunks, kind=block\n"
        "  4. join o map_block(asScalar o [[ map_local(vect(4, mul3)) ]] o asVector(4)) o split(1024) o x\n"
        "     4a: lower_map at mul3, kind=local"
    )


REFUSED: dict[str, tuple[Callable[[PatternDerivation], Any], str]] = {
    "no such rule": (lambda d: d.apply("split"), "no rule is called `split`"),
    "no such argument": (lambda d: d.apply("split_join", chunk=4), "split_join has no argument `chunk`"),
    "no such name": (
        lambda d: d.apply("split_join", at="mul", size=4),
        "split_join (3c) does not apply at mul: there is no `mul`; there are abs, add",
    ),
    "lengths": (
        lambda d: d.apply("split_join", size=7), "split_join (3c) does not apply: 7 does not divide 64",
    ),
    "nesting": (
        lambda d: d.apply("lower_map", kind="local"), "lower_map (4a) does not apply: map_local outside map_block",
    ),
    "nesting downward": (
        lambda d: d.apply("split_join", size=8).apply("lower_map", at="abs", kind="global")
        .apply("lower_map", at="abs_chunks", kind="global"),
        "lower_map (4a) does not apply at abs_chunks: map_global along x inside another one",
    ),
    "several places": (
        lambda d: d.apply("split_join", size=8).apply("lower_map", kind="seq"),
        "lower_map (4a) applies at 2 places: abs_chunks, abs",
    ),
    "form": (lambda d: d.apply("map_fusion"), "map_fusion (3f) does not apply"),
    "powers": (
        lambda d: d.apply("part_iterate", times=5, size=2),
        "part_iterate (3d) does not apply: 64 elements where 32 are reduced",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_step_that_does_not_hold_is_refused(name: str) -> None:
    """One error says what is missing, and the derivation stays as it was."""
    act, found = REFUSED[name]
    made = figures.begun(figures.ASUM, x="f32[64]")
    with pytest.raises(SwizzleError) as refused:
        act(made)
    assert refused.value.found == found


@pytest.mark.parametrize(
    ("operator", "start", "said"),
    [
        ("a - b", "0", "that add is associative is not so"),
        ("(a + b) / 2", "0", "that add is associative is not so"),
        ("a + b", "1", "that 1 is neutral to add is not so"),
        ("max(a, b)", "0", "that 0 is neutral to add is not so"),
        ("a * sqrt(b)", "1", "that add is associative is not proved: ElementaryCall in an operator"),
    ],
)
def test_laws_are_asked_of_the_operator(operator: str, start: str, said: str) -> None:
    """Nothing is declared: an operator without the law is refused, with numbers for which it fails."""
    made = figures.begun(f"add = lambda a, b: {operator}\nreduce(add, {start}) o x", x="f32[64]")
    with pytest.raises(SwizzleError) as refused:
        made.apply("reduce_part", parts=4)
    assert said in refused.value.found


@pytest.mark.parametrize(
    ("operator", "start"),
    [("max(a, b)", "-inf"), ("min(a, b)", "inf"), ("a * b", "1"), ("a + b + a * b", "0"), ("b if b != 0 else a", "0")],
)
def test_proved_laws_let_a_reduction_be_parted(operator: str, start: str) -> None:
    """Any operator that is proved will do."""
    made = figures.begun(f"add = lambda a, b: {operator}\nreduce(add, {start}) o x", x="f32[64]")
    assert made.apply("reduce_part", parts=4).steps[0].facts[0] == "add is associative"


def test_replay_is_refused_at_a_step_that_no_longer_holds() -> None:
    """Another length, another operator, or another expression than was saved."""
    saved = figures.begun(figures.ASUM, x="f32[64]").apply("reduce_part", parts=8).apply("part_split", size=8).as_data()
    for change, found in (
        ({"inputs": {"x": "f32[60]"}}, "step 1 does not hold any more: reduce_part (3d) does not apply"),
        ({"expression": saved["expression"].replace("a + b", "a - b")}, "step 1 does not hold any more: reduce_part"),
    ):
        with pytest.raises(SwizzleError) as refused:
            replay({**saved, **change})
        assert refused.value.found.startswith(found)
    saved["steps"][1]["expression"] = saved["steps"][0]["expression"]
    with pytest.raises(SwizzleError, match="step 2 does not hold any more: part_split gives"):
        replay(saved)
    with pytest.raises(SwizzleError, match="a derivation without 'inputs'"):
        replay("{}")
