"""A specification cut off at a shorter length says what it says when it is asked there."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from swizzle.answers.emit.any_length.continuation import MeaningAt
from swizzle.answers.emit.any_length.cut import meaning_cut, numbers_cut
from swizzle.language.specs.specification import Meaning, numbers
from symbolic.errors import Place
from symbolic.ir.program import DType, Parameter, Program
from tests.cuda_out.build import kernel


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
