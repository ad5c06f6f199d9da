"""Loops over constants: one body, whose variables are formulas of an index, and Python's values in Python's order."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuda_out.passes.pipeline import optimize
from swizzle import SwizzleError, solve
from swizzle.language.specs.verify import verify
from symbolic.ir.program import For
from symbolic.ir.walk import statements
from tests.cuda_out.numba.test_printer import assert_text_computes
from tests.sketches import sketch_of
from tests.swizzle.spelling import read, spelled

FILE = """{head}
@cuda.jit(device=True)
def added(s, v):
    for p in {inner}:
        s = s * 3 + v * i32(p)
    return s

@spec
def wanted(x):
    s = x[0]
    for {targets} in {items}:
        for p in {inner}:
            s = s * 3 + x[1] * p
        s = s * 5 + ({sum}) * x[0]
    for {targets} in {items}:
        s = s * 7 + {sum}
    return [s]

@sketch(spec=wanted, block=1, x=i32[2], y=i32.out[1])
def kernel(x, y):
    s = x[0]
    for {targets} in {items}:
        s = added(s, x[1])
        s = s * 5 + i32({sum}) * x[0]
    for {targets} in {items}:
        s = s * 7 + i32({sum})
    y[0] = s
"""


@pytest.mark.parametrize(
    ("items", "value"),
    [
        ("(16, 8, 4, 2, 1)", "16 >> m_index"),
        ("(1, 2, 4, 8)", "1 << m_index"),
        ("(9, 4, 2, 1)", "9 >> m_index"),
        ("(9, 4, 1, 0)", "9 if m_index < 1 else 4 if m_index < 2 else 1 if m_index < 3 else 0"),
        ("(5, 5, 5)", "5"),
        ("(4, 1, 1, 7)", "4 if m_index < 1 else 1 if m_index < 3 else 7"),
    ],
)
def test_a_variable_is_a_formula_of_the_index(items: str, value: str) -> None:
    """Halves, doubles and one value are formulas; the rest is chosen, each run of equal values once."""
    count = len(eval(items))
    assert spelled(f"for m in {items}:\n    y[m] = x[m]") == [
        f"for m_index in 0, {count}, 1",
        f"  m = {value}",
        "  y[m] = x[m]",
    ]


def test_what_counts_is_the_loop_s_variable() -> None:
    """Numbers equally far from each other, and those of enumerate, need no index of their own."""
    assert spelled("for m in (6, 4, 2):\n    y[m] = x[m]") == ["for m in 6, 0, -2", "  y[m] = x[m]"]
    assert spelled("for n, (a, b) in enumerate(zip((7, 5, 3), (2, 9, 4)), 1):\n    y[a] = x[b + n]") == [
        "for n in 1, 4, 1",
        "  a = 7 - (n - 1) * 2",
        "  b = 2 if n - 1 < 1 else 9 if n - 1 < 2 else 4",
        "  y[a] = x[b + n]",
    ]


def test_names_stay_apart() -> None:
    """A name that other loops have, too, is no counter in one place and assigned in another."""
    text = "for m in range(2):\n    y[m] = x[m]\nfor m in (5, 2, 9):\n    y[m] = x[m]"
    assert spelled(text)[2:] == [
        "for m_index in 0, 3, 1",
        "  m_1 = 5 if m_index < 1 else 2 if m_index < 2 else 9",
        "  y[m_1] = x[m_1]",
    ]


def test_a_hole_is_one_hole() -> None:
    """A hole inside is the same function in all iterations, and may depend on the variable."""
    sketch = sketch_of(
        "@spec\ndef wanted(x):\n    return [sum(x) for i in range(8)]\n"
        "@sketch(spec=wanted, block=8, warp_size=8, x=i32[8], y=i32.out[8])\ndef kernel(x, y):\n"
        "    v = x[cuda.laneid]\n    for m in (4, 2, 1):\n"
        "        v += cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(cuda.laneid, 8, m))\n    y[cuda.laneid] = v\n"
    )
    assert len(sketch.program.holes) == 1
    assert solve(sketch).best.holes[0].formula in ("(cuda.laneid + m) % 8", "(cuda.laneid - m) % 8")


def items(width: int) -> Any:
    """Tuples, ranges, and zip and enumerate of them: `width` values in each iteration."""
    numbers = st.lists(st.integers(-9, 40), min_size=3, max_size=3)
    bits = st.tuples(st.integers(1, 40), st.sampled_from([">>", "<<"])).map(
        lambda found: [found[0] >> n if found[1] == ">>" else found[0] << n for n in range(3)]
    )
    one = st.one_of(
        st.one_of(numbers, bits).map(lambda v: str(tuple(v))),
        st.tuples(st.integers(-5, 5), st.sampled_from([-3, -1, 1, 2])).map(
            lambda v: f"range({v[0]}, {v[0] + 3 * v[1]}, {v[1]})"
        ),
    )
    if width == 1:
        return one
    return st.one_of(
        st.tuples(items(width - 1), st.integers(-2, 3)).map(lambda v: f"enumerate({v[0]}, {v[1]})"),
        st.tuples(one, items(width - 1)).map(lambda v: f"zip({v[0]}, {v[1]})"),
    )


@settings(max_examples=10, deadline=None)
@given(data=st.data(), width=st.integers(1, 3))
def test_the_iterations_are_python_s(data: st.DataObject, width: int) -> None:
    """A loop, nested in another and in a device function, does what the same loop does in the specification;
    so do its optimized form and the text printed for numba."""
    chosen, inner = data.draw(items(width)), data.draw(items(1))
    names = ["a", "b", "c"][:width]
    targets = names[0] if width == 1 else f"{names[0]}, {names[1]}" if width == 2 else "a, (b, c)"
    text = FILE.format(
        head="",
        targets=targets,
        items=chosen,
        inner=inner,
        sum=" + ".join(f"{n + 2} * {v}" for n, v in enumerate(names)),
    )
    sketch = sketch_of(text)
    found = verify(sketch.program, sketch.spec)
    assert found.equal, text
    optimized = optimize(sketch.program)
    assert verify(optimized, sketch.spec).equal, text
    assert_text_computes(sketch.program, optimized)
    assert sum(isinstance(s, For) for s in statements(sketch.program.body)) == 3


def test_module_constants_and_shapes() -> None:
    """A tuple of a module, one of tuples, and an array's shape are constants, too."""
    head = "STEPS = (16, 4, 9)"
    assert spelled("for m in STEPS:\n    y[m] = x[m]", head=head)[0] == "for m_index in 0, 3, 1"
    assert spelled("for m in z.shape:\n    y[m] = x[m]", arrays="x=f32[64]; z=f32[4, 8]; y=f32.out[64]") == [
        "for m in 4, 12, 4",
        "  y[m] = x[m]",
    ]


def test_very_long_tuples_are_refused() -> None:
    """A loop over constants has at most 1024."""
    with pytest.raises(SwizzleError, match="a loop over 5000 constants"):
        read("for n, m in enumerate(range(5000)):\n    y[n] = x[m]")
