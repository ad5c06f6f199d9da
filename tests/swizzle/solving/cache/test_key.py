"""The key of a solve job: equal for what means the same, different for whatever can change the answer."""

from __future__ import annotations

import re

import pytest

from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.cache.key import engine, key
from swizzle.solving.solution.solution import Limits

SKETCH = """
K = parameter("K", 2, domain=range(1, 5))

@spec
def wanted(x, w):
    return [sum(w[k] * x[i + k] for k in range(K)) for i in range(8)]

@sketch(spec=wanted, block=8, warp_size=8, x=f32[12], w=f32.const[K], y=f32.out[8])
def conv(x, w, y):
    lane = cuda.laneid
    out = accumulator(f32, outer="+", inner="*", final=lambda s: s * 1)
    held = cuda.local.array(1, f32)
    for k in range(K):
        held[0] = x[?sw_xform(lane, 12, k)]
        out.accumulate(held[0], w[k], when=?sw_cond(lane, k))
    y[lane] = out.value
"""


def key_of(text: str, limits: Limits | None = None, *, file: str = "a.swz", **overrides: int) -> str:
    (sketch,) = read_swz(text, file, Parameters(overrides))
    return key(sketch, Meaning.of(sketch.program, sketch.spec), limits or Limits())


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ("lane = cuda.laneid", "lane  =  cuda.laneid  # whose turn it is\n"),
        ("\n@spec", "\n\n# a comment\n@spec"),
        (r"\blane\b", "thread"),
        (r"\bout\b(?!\[)", "total"),
        (r"\bheld\b", "register"),
        (r"\bconv\b", "convolution"),
        (r"\bwanted\b", "specification"),
        (r"\bs\b", "t"),
        (r"w\[k\] \* x\[i \+ k\]", "x[i + k] * w[k]"),
        (r"for k in range\(K\)\) for", "for k in reversed(range(K))) for"),
        (r"\bx\b", "image"),
    ],
)
def test_spelling_makes_no_difference(found: str, instead: str) -> None:
    """Comments, space, names, and how the specification computes its terms are not part of the question."""
    text = re.sub(found, instead, SKETCH)
    assert text != SKETCH
    assert key_of(text) == key_of(SKETCH)


def test_the_file_makes_no_difference() -> None:
    """A copy elsewhere is the same sketch."""
    assert key_of(SKETCH, file="elsewhere/b.swz") == key_of(SKETCH)


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ("block=8", "block=8, grid=2"),
        ("warp_size=8", "warp_size=4"),
        ("f32", "f64"),
        ("x=f32[12]", "x=f32[13]"),
        ('outer="+"', 'outer="+", init=1'),
        ("s * 1", "s * 2"),
        (", 12, k", ", 12"),
        ("sw_xform(lane, 12, k)", "sw_xform(k, 12, lane)"),
        ("sw_cond(lane, k)", "sw_cond(k, lane)"),
        ("when=?sw_cond(lane, k)", "when=lane < k"),
        ("held[0] = x", "held[0] = 1 * x"),
        ("x[i + k] for", "x[i] for"),
        ("w[k] * x", "x[0] * x"),
        ("w[k] * x[i + k] for", "w[k] - x[i + k] for"),
        ("for i in range(8)]", "for i in reversed(range(8))]"),
        ("y[lane]", "y[7 - lane]"),
        ("y[lane] =", "if lane < 8:\n        y[lane] ="),
    ],
)
def test_whatever_can_change_the_answer_does(found: str, instead: str) -> None:
    """Every part of the program and of the specification's terms is part of the question."""
    text = SKETCH.replace(found, instead)
    assert text != SKETCH
    assert key_of(text) != key_of(SKETCH)


def test_swapped_names_are_not_one_renaming() -> None:
    """Two arrays of one type are told apart by their part in the specification."""
    one = SKETCH.replace("w=f32.const[K]", "w=f32[12]").replace("range(1, 5)", "range(1, 13)")
    other = one.replace("w[k] * x[i + k]", "x[k] * w[i + k]")
    assert key_of(one) != key_of(other)


def test_parameters_and_limits() -> None:
    """Limits that change the answer are part of the question; how long to look is not."""
    keys = [
        key_of(SKETCH),
        key_of(SKETCH, K=3),
        key_of(SKETCH, Limits(space="1")),
        key_of(SKETCH, Limits(space="all")),
        key_of(SKETCH, Limits(all_solutions=True)),
        key_of(SKETCH, Limits(solver="z3")),
        key_of(SKETCH, Limits(certify=True)),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of(SKETCH, Limits(timeout=1.0)) == key_of(SKETCH)


def test_one_number_has_one_key() -> None:
    """1 and 1.0 are one term, whichever the specification says first."""
    spec = "return [w[0] * x[i] + {} * x[0] + {} for i in range(8)]"
    texts = [
        re.sub(r"return .*", spec.format(*pair), SKETCH, count=1) for pair in (("3", "3.0"), ("3.0", "3"), ("3", "3"))
    ]
    assert len({key_of(text) for text in texts}) == 1
    assert key_of(re.sub(r"return .*", spec.format("3", "2.5"), SKETCH, count=1)) != key_of(texts[0])


def test_another_engine_has_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another version of the code proved is not believed."""
    assert len(engine()) == 64
    before = key_of(SKETCH)
    monkeypatch.setattr("swizzle.solving.cache.key.engine", lambda: "another")
    assert key_of(SKETCH) != before


@pytest.mark.parametrize(
    ("text", "swapped", "alike"),
    [
        ("w[0] - x[i]", "x[i] - w[0]", False),
        ("w[0] / x[i]", "x[i] / w[0]", False),
        ("w[0] + x[i]", "x[i] + w[0]", True),
        ("w[0] * x[i]", "x[i] * w[0]", True),
        ("maximum(w[0], x[i])", "maximum(x[i], w[0])", True),
        ("w[0] - x[i] / x[0]", "w[0] - x[0] / x[i]", False),
        ("w[0] - x[i] * x[0]", "w[0] - x[0] * x[i]", True),
    ],
)
def test_the_order_of_arguments_counts_where_it_matters(text: str, swapped: str, alike: bool) -> None:
    """A difference and a quotient have a first argument; sums, products and maxima do not."""
    one, other = (
        re.sub(r"return .*", f"return [{each} for i in range(8)]", SKETCH, count=1) for each in (text, swapped)
    )
    assert (key_of(one) == key_of(other)) == alike
