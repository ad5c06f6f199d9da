"""`where`, its element types, comparisons of data that have a name, and what Python's own functions are."""

from __future__ import annotations

import pytest

from swizzle import SwizzleError
from swizzle.language.parameters import Parameters
from swizzle.language.specs.verify import verify
from swizzle.sketches.swz_file import read_swz

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


NAMED = """
@spec
def wanted(x, w):
    y = zeros(32)
    for i in range(32):
        c = x[i] < w[0]
        d = not c and x[i] < w[1]
        c = (x[i] < w[1]) if i < 7 else (x[i] < w[0])
        y[i] = where(c, w[0], 2) + 10 * where(d or i == 3, x[i], 0) + where(c and d, 1, 2) * math.rint(x[i])
    return y

@sketch(spec=wanted, block=32, x=f32[32], w=f32[2], y=f32.out[32])
def k(x, w, y):
    i = cuda.laneid
    c = x[i] < w[0]
    d = not c and x[i] < w[1]
    limit = w[0]
    if i < 7:
        limit = w[1]
        c = x[i] < limit
    else:
        c = x[i] < limit
    limit = f32(5)
    y[i] = where(c, w[0], 2) + 10 * where(d or i == 3, x[i], 0) + where(c and d, 1, 2) * math.rint(x[i])
"""


def test_a_comparison_with_a_name_keeps_its_operands() -> None:
    """What the variables hold where it is made, on each branch, and not where it chooses."""
    (sketch,) = read_swz(NAMED, "named.swz", Parameters())
    assert verify(sketch.program, sketch.spec).equal
    (wrong,) = read_swz(NAMED.replace("        c = x[i] < limit\n    else", "    else"), "named.swz", Parameters())
    assert not verify(wrong.program, wrong.spec).equal


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("y[i] = c", "c, a comparison of data, where a value or a condition is needed"),
        ("if c:\n        y[i] = x[i]", "c, a comparison of data, where a value or a condition is needed"),
        ("y[i] = x[i] * f32(c)", "c, a comparison of data, where a value or a condition is needed"),
        ("c = 1", "c is a comparison of data already"),
        ("c = x[i] < 1 and x[i] > 0", "c becomes a comparison of another form"),
        ("if i < 3:\n        e = x[i] < 0\n    y[i] = where(e, x[i], 1)", "e may have no value here"),
    ],
)
def test_what_a_comparison_with_a_name_is_not_for(line: str, found: str) -> None:
    text = NAMED[: NAMED.index("    limit = w[0]")] + f"    {line}\n"
    with pytest.raises(SwizzleError) as caught:
        read_swz(text, "named.swz", Parameters())
    assert caught.value.found == found and caught.value.fix
