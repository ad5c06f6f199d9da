"""`where` and its element types."""

from __future__ import annotations

import pytest

from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz
from swizzle.specs.verify import verify

TEXT = """
@spec
def wanted(x):
    return [where(x[i] < 3, 1, 2) for i in range(32)]

@sketch(spec=wanted, block=32, x=f32[32], y=TYPE.out[32])
def k(x, y):
    y[cuda.laneid] = where(x[cuda.laneid] < 3, YES, NO)
"""


@pytest.mark.parametrize(
    ("yes", "no"), [("i32(1)", "i32(2)"), ("i32(1)", "2"), ("1", "i32(2)"), ("f32(1)", "2"), ("1", "2")]
)
def test_constants_have_the_type_that_they_are_given(yes: str, no: str) -> None:
    """Only literals take the type of what is compared."""
    kind = "i32" if "i32" in yes + no else "f32"
    text = TEXT.replace("TYPE", kind).replace("YES", yes).replace("NO", no)
    (sketch,) = read_swz(text, "choice.swz", Parameters())
    assert verify(sketch.program, sketch.spec).equal
